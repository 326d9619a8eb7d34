//! A few lanes of a warp for each row, several rows a thread.
//!
//! Rows up to a line of the cache are loaded at once, by as many lanes; longer ones get half as
//! many lanes as they have loads, or half a warp, since joining the partial results of twice as
//! many is another shuffle for each row. But lanes that have a load more than others of their warp
//! diverge, in the remainder that a compiler puts before its unrolled loop: that costs more than
//! idle lanes. So where the loads are no multiple of half as many lanes, all are taken at once,
//! unless the last round would have a single load, which is in a sector that the next row needs as
//! well; what a warp has too few lanes for is taken in as few rounds as possible.
//!
//! Single elements, of which a line has as many as a warp has lanes or more, are loaded by a whole
//! warp. Where loads are narrower than could be otherwise, or partial results are larger than a
//! word, there are half as many lanes as a row has loads.
//!
//! All that is for launches that keep the device busy for several rounds of blocks. Where it holds
//! the threads of all rows at once even if each row has all lanes, they have: nothing else would
//! take the places, and more loads are under way. A thread with a single load of each row has
//! several rows as well, others as few as that takes.
//!
//! Where results are stored in waves, which takes a warp's instructions for each store, four rows a
//! thread share them, and as few lanes a row as need two rounds, or three if most of them were idle
//! in the second.
//!
//! The loads of a thread that are in flight follow from Little's law. A block begins without any
//! and ends by joining and storing, so that a row that is loaded at once is under way for a quarter
//! of the time, and others are for half of it.
//!
//! `crates/tuner/tests/recorded/short_rows.txt` has the times for sixteen lengths.

use loopwright_kernel_ir::Name;

use super::Row;
use crate::{
    Launch, Nest, Proposal,
    grid::{AXES, Along, on_axes},
    rounding::{ceil, power_above},
    text::{split, split_as},
};

/// Threads of a block: few, so that many blocks of a multiprocessor are at different stages.
const THREADS: i64 = 128;
/// Rows of a thread, at least and at most: each has registers of its own.
const ROWS: (i64, i64) = (2, 4);
/// One part in so many of its time a block has loads in flight, if it loads everything at once, and
/// otherwise.
const AT_ONCE: i64 = 4;
const IN_ROUNDS: i64 = 2;

/// Lanes of a row, and rows of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lanes {
    lanes: i64,
    rows: i64,
}

/// The lanes that a row has work for.
fn most_lanes(loads: i64, warp: i64) -> i64 {
    power_above(loads.max(2)).min(warp)
}

/// Whether rows of so many loads suit results in waves: not where several of up to half a warp of
/// lanes are idle, and rows take few instructions otherwise.
pub(super) fn suit_waves(loads: i64, warp: i64) -> bool {
    let most = most_lanes(loads, warp);
    loads > warp / 2 || loads % (most / 2) == 0 || 16 * loads >= 13 * most
}

/// What the choice depends on.
#[derive(Clone, Copy, Debug)]
struct Short {
    loads: i64,
    /// Loads of a line of the cache.
    line: i64,
    warp: i64,
    /// Whether results are stored in waves that suit such rows.
    in_waves: bool,
    /// Whether loads are the widest, and a partial result is a word: otherwise lanes that are idle,
    /// and the joins of more of them, cost more than another round.
    is_cheap: bool,
    /// Whether an element is less than a word, and has to be converted.
    converts: bool,
    /// How many rows there are, if that is known.
    count: Option<i64>,
    /// The threads that the device holds at a time.
    places: i64,
}

impl Short {
    /// The form with all lanes for each row, of which a thread has fewer where the device has
    /// places for that; none where it has too few for the form as it is.
    fn at_once(&self, form: Lanes) -> Option<Lanes> {
        let threads = self.count?.saturating_mul(form.lanes);
        let rows = power_above(ceil(threads, self.places).max(1));
        let rows = if self.loads > form.lanes { rows } else { rows.max(form.rows) };
        (rows <= form.rows).then_some(Lanes { rows, ..form })
    }
}

fn choose(short: Short, rows: impl Fn(i64) -> i64) -> Lanes {
    let Short { loads, line, warp, in_waves, is_cheap, converts, .. } = short;
    let most = most_lanes(loads, warp);
    let half = most / 2;
    let of = |lanes: i64, in_flight: i64| Lanes { lanes, rows: rows(in_flight) };
    let usual = of(most, if loads <= most { AT_ONCE } else { IN_ROUNDS });
    if let Some(all) = short.at_once(usual) {
        return all;
    }
    if loads == 1 {
        return usual;
    }
    if !is_cheap {
        // In the second round most lanes may be idle.
        let in_flight = if 4 * loads <= 5 * half { AT_ONCE } else { IN_ROUNDS };
        return of(half.max(2), in_flight);
    }
    if loads % half == 0 {
        return match loads <= line || (converts && loads == most) {
            true => of(most, AT_ONCE),
            false => of(half, IN_ROUNDS),
        };
    }
    if in_waves {
        let hardly_idle = loads <= warp && 16 * loads >= 15 * warp;
        let lanes = if loads > 3 * warp / 2 || most < warp || hardly_idle {
            most
        } else if loads > warp || 4 * loads > 3 * warp {
            warp / 2
        } else {
            warp / 4
        };
        return Lanes { lanes, rows: ROWS.1 };
    }
    match loads {
        _ if loads > warp && loads <= 3 * half => of(half, IN_ROUNDS),
        _ if loads > warp => of(most, IN_ROUNDS),
        _ if loads == half + 1 => of(half.max(2), IN_ROUNDS),
        _ => of(most, AT_ONCE),
    }
}

/// The form for rows of this length.
pub(super) fn proposal(
    nest: &Nest<'_>,
    row: &Row<'_>,
    parallel: &[Name],
    last: &Name,
    in_waves: bool,
) -> Proposal {
    let Row { length, width, warp, .. } = *row;
    let of_thread = |idle: i64| rows_of_thread(nest.launch(), row, idle);
    let loads = row.loads();
    let short = Short {
        loads,
        line: (row.line / width).max(2),
        warp,
        in_waves: in_waves && suit_waves(loads, warp),
        is_cheap: row.is_widest && row.is_cheap(),
        converts: row.bytes < 4,
        count: nest.count(parallel),
        places: nest.launch().places(),
    };
    let Lanes { lanes, rows: parts } = match width {
        1 if !row.is_widest && loads > warp => Lanes { lanes: warp, rows: of_thread(IN_ROUNDS) },
        _ => choose(short, of_thread),
    };
    let rows = THREADS / lanes;
    let reason = format!(
        "rows of {length} are short: {lanes} lanes for each, {}{} rows a block",
        if width > 1 { format!("in whole vectors of {width}, ") } else { String::new() },
        rows * parts
    );
    let mut proposal = Proposal::new(reason).step(split(last, rows * parts));
    let inner = format!("{last}_inner");
    let mut own = vec![(inner.clone(), "thread.y")];
    if parts > 1 {
        let (part, row) = (format!("{last}_part"), format!("{last}_row"));
        proposal = proposal.step(split_as(inner, rows, &part, &row));
        own = vec![(row, "thread.y"), (part, "ilp")];
    }
    let (proposal, mut tags) = around(nest, proposal, parallel, last, rows * parts);
    tags.extend(own);
    row.threads(proposal, lanes, tags)
}

/// Rows of a thread that has loads in flight for one part in `idle` of its time.
fn rows_of_thread(launch: &Launch, row: &Row<'_>, idle: i64) -> i64 {
    launch.loads_of_each(launch.places(), row.bytes_at_a_time(), idle).clamp(ROWS.0, ROWS.1)
}

/// The form for rows that are not aligned, in vectors that are counted from before their beginning:
/// four to eight for each lane.
pub(super) fn misaligned(nest: &Nest<'_>, row: &Row<'_>, parallel: &[Name], last: &Name) -> Proposal {
    let Row { length, width, .. } = *row;
    let lanes = match row.loads() {
        loads if loads <= 15 * row.warp / 8 => row.warp / 4,
        loads if loads <= 15 * row.warp / 4 => row.warp / 2,
        _ => row.warp,
    };
    let rows = THREADS / lanes;
    let reason = format!(
        "rows of {length} are short: {lanes} lanes for each, in vectors of {width} from before its \
         beginning, {rows} rows a block"
    );
    let proposal = Proposal::new(reason).step(split(last, rows));
    let (proposal, mut tags) = around(nest, proposal, parallel, last, rows);
    tags.push((format!("{last}_inner"), "thread.y"));
    row.threads(proposal, lanes, tags)
}

/// The blocks of rows, with the loops around them.
pub(super) fn around(
    nest: &Nest<'_>,
    proposal: Proposal,
    parallel: &[Name],
    last: &Name,
    of_block: i64,
) -> (Proposal, Vec<(String, &'static str)>) {
    let rest = parallel.iter().rev().filter(|n| *n != last).map(Along::whole);
    let loops = std::iter::once(Along::outer(last, of_block)).chain(rest).collect();
    on_axes(nest, proposal, loops, &AXES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four rows a thread if a row is loaded at once, otherwise two.
    fn rows(idle: i64) -> i64 {
        idle
    }

    /// Vectors of four f32, eight of which are a line.
    fn of(loads: i64, in_waves: bool) -> Short {
        Short {
            loads,
            line: 8,
            warp: 32,
            in_waves,
            is_cheap: true,
            converts: false,
            count: None,
            places: 270_336,
        }
    }

    #[test]
    fn lanes_follow_the_loads_of_a_row() {
        let lanes = |loads| choose(of(loads, false), rows).lanes;
        assert_eq!([1, 2, 3, 4, 5, 6, 8, 9, 10, 15].map(lanes), [2, 2, 2, 4, 4, 8, 8, 8, 16, 16]);
        assert_eq!([16, 17, 18, 25, 32, 33, 48, 50, 128].map(lanes), [8, 16, 32, 32, 16, 16, 16, 32, 16]);
        // Joins of several words, and loads that are converted.
        let dear = |loads| choose(Short { is_cheap: false, ..of(loads, false) }, rows);
        assert_eq!([2, 8, 16, 25, 50].map(|n| dear(n).lanes), [2, 4, 8, 16, 16]);
        assert_eq!([10, 16].map(|n| dear(n).rows), [4, 2]);
        let halves = |loads| choose(Short { converts: true, ..of(loads, false) }, rows).lanes;
        assert_eq!([16, 32, 64].map(halves), [16, 32, 16]);
    }

    /// A warp for each of 8192 rows of 512 are 262 144 threads, which an H200 holds at once; for
    /// each of 16 384 they are as many with two rows a thread. Rows of 64 that are loaded at once
    /// have four rows a thread.
    #[test]
    fn few_rows_have_all_lanes() {
        let of = |loads, count| {
            let Lanes { lanes, rows } = choose(Short { count: Some(count), ..of(loads, false) }, rows);
            (lanes, rows)
        };
        let long = [128, 8192, 16_384, 32_768].map(|count| of(128, count));
        assert_eq!(long, [(32, 1), (32, 1), (32, 2), (16, 2)]);
        assert_eq!([1024, 65_536, 1 << 22].map(|count| of(16, count)), [(16, 4), (16, 4), (8, 2)]);
    }

    #[test]
    fn rows_in_waves_share_stores() {
        let in_waves = |loads| choose(of(loads, true), rows);
        assert_eq!([7, 13, 15, 17, 20].map(|n| in_waves(n).lanes), [8, 16, 16, 8, 8]);
        assert_eq!([25, 28, 30, 34, 46, 50].map(|n| in_waves(n).lanes), [16, 16, 32, 16, 16, 32]);
        assert!([7, 17, 25, 30, 50].iter().all(|n| in_waves(*n).rows == 4));
        // Where lanes are never idle, waves change nothing.
        assert!([4, 8, 16, 32, 64].iter().all(|n| in_waves(*n) == choose(of(*n, false), rows)));
        let suit: Vec<i64> = (1..=20).filter(|n| suit_waves(*n, 32)).collect();
        assert_eq!(suit, [1, 2, 4, 7, 8, 13, 14, 15, 16, 17, 18, 19, 20]);
    }
}
