//! Rows that a few lanes of a warp share, several rows a thread.

use crate::ir::Diagnostic;
use crate::tuner::Space;

use super::forms::{Form, WARP, assumed, list, vector_tag, vectors};

/// Lanes of a warp, no more than a row of `whole` vectors has work for.
pub(super) fn most_lanes(whole: usize) -> usize {
    whole.next_power_of_two().clamp(2, WARP)
}

/// Blocks of `$block_rows` rows, `$rows` at a time, by lanes that load `$width` elements at a time.
fn steps(v: usize) -> String {
    let (split, lane) = vectors(v, "i_inner", "i_lane");
    format!(
        "{}split_iname(s, $block_rows)\n\
         split_iname(s_inner, $rows, outer=s_part, inner=s_row)\n\
         split_iname(i, $width)\n{split}\
         tag_inames(s_outer: block.x, s_row: thread.y, {lane}: thread.x{}, s_part: ilp)\n",
        assumed(v, true),
        vector_tag(v)
    )
}

/// A few lanes of a warp per row, several rows per thread.
///
/// The number of iterations per lane matters more than the estimate accounts for. In NVRTC's code
/// for sm_90a (f32, f16) the loop over four rows is unrolled twice and that over two rows four
/// times (f64: both four times), with the remainder first. If some lanes of a warp have one
/// iteration more than others, they may diverge there: with rows of 18 vectors, 16 lanes and four
/// rows per thread, 14 lanes execute their only iteration as such a remainder, while the other two
/// skip it and issue both of theirs after the first have waited for their loads. Rows of 72 f32
/// then take 1.18 times as long as with 32 lanes (`crates/tuner/tests/recorded/short_rows.txt`).
/// Lanes stay together if
///
/// * all have the same number of iterations, or at most one: as many lanes as a row has vectors,
///   rounded up to a power of two;
/// * two rows per thread take up to three iterations, all of which are remainder. For rows that a
///   warp has enough lanes for, idle lanes cost less than a second iteration, unless one vector
///   remains, which is in a sector that the next row needs as well: with 9 and 17 vectors, all
///   lanes take 4 and 5 % more than half of them.
///
/// For longer rows, half the lanes would take four iterations or more; the fewest iterations are
/// used.
///
/// `together`: only these choices. Otherwise, with shorter loads or expensive joins, idle lanes
/// cost more, and the estimate decides.
pub(super) fn of(v: usize, whole: usize, together: bool) -> Result<Form, Diagnostic> {
    let steps = steps(v);
    let most = most_lanes(whole);
    let half = most / 2;
    let two_rows = "block_rows == 2 * rows";
    let up_to_four = format!("{two_rows} or block_rows == 4 * rows");
    let (lanes, condition) = if together && whole == most && v == 8 {
        // One vector per lane: f16 rows of 64 take 3.7 % longer with half as many lanes, which have
        // twice the conversions.
        (vec![most], up_to_four)
    } else if !together || whole.is_multiple_of(half) {
        (vec![half, most], up_to_four)
    } else if whole > most {
        (if whole <= 3 * half { vec![half, most] } else { vec![most] }, two_rows.to_owned())
    } else if whole == half + 1 {
        (vec![half], two_rows.to_owned())
    } else {
        (vec![most], up_to_four)
    };
    let space = Space::new()
        .parameter("width", list(lanes.into_iter().filter(|l| *l >= 2).map(|l| l * v)))
        .parameter("rows", [4, 8, 16, 32, 64])
        .parameter("block_rows", [8, 16, 32, 64, 128, 256])
        .require(&format!("rows * width // {v} >= 128 and rows * width // {v} <= 256"))?
        .require(&condition)?;
    Form::new("a few lanes a row", &steps, space)
}

/// Whether storing the results of rows of `whole` vectors in waves costs less than it saves: not
/// where several of up to sixteen lanes are idle, and rows take few instructions otherwise.
pub(super) fn suit_waves(whole: usize) -> bool {
    let most = most_lanes(whole);
    whole > WARP / 2 || whole.is_multiple_of(most / 2) || 16 * whole >= 13 * most
}

/// The same where results are stored in waves, for rows of whole vectors of 16 bytes; the stores
/// then have to take few instructions. As few lanes share a row as need two iterations, or three if
/// most of them were idle in the second, or all lanes one if hardly any is idle. Measured at 13,
/// 15, 17, 18, 20, 21, 25, 28, 30, 34, 40, 46, 50, 75 and 125 vectors (f32) with four rows a
/// thread: other lanes take up to 20 % more, the best choices without waves up to 4 % more. Where
/// lanes are never idle, the estimate decides as it does without waves.
pub(super) fn in_waves(v: usize, whole: usize, together: bool) -> Result<Form, Diagnostic> {
    let most = most_lanes(whole);
    if whole.is_multiple_of(most / 2) || !suit_waves(whole) {
        return of(v, whole, together);
    }
    let hardly_idle = whole <= WARP && 16 * whole >= 15 * WARP;
    let lanes = if whole > 3 * WARP / 2 || most < WARP || hardly_idle {
        most
    } else if whole > WARP || 4 * whole > 3 * WARP {
        WARP / 2
    } else {
        WARP / 4
    };
    let rows = 128 / lanes;
    let space = Space::new()
        .parameter("width", list([lanes * v]))
        .parameter("rows", list([rows]))
        .parameter("block_rows", list([4 * rows]));
    Form::new("a few lanes a row", &steps(v), space)
}

/// Several rows per block, each read by some lanes of a warp in whole vectors, counted from the
/// last multiple of 16 bytes before each row. The number of lanes is chosen for four to eight
/// iterations, as measured at 19 lengths from 113 to 897 f32, and at 97 to 257 f64 and f16.
pub(super) fn from_before(full: usize, whole: usize) -> Result<Form, Diagnostic> {
    let lanes = if whole <= 60 {
        WARP / 4
    } else if whole <= 120 {
        WARP / 2
    } else {
        WARP
    };
    let steps = format!(
        "split_iname(s, $rows)\n\
         split_iname(i, $width)\n\
         split_iname(i_inner, {full}, outer=i_lane, inner=i_vec)\n\
         tag_inames(s_outer: block.x, s_inner: thread.y, i_lane: thread.x, i_vec: vec)\n"
    );
    let space = Space::new().parameter("width", list([lanes * full])).parameter("rows", list([128 / lanes]));
    Form::new("a few lanes a row, by vectors from before its beginning", &steps, space)
}
