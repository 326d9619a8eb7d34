//! Products of 32-bit numbers in whole tiles: asynchronous copies into a ring of three slots,
//! issued between the steps of the product.
//!
//! A block of four warps takes 128 x 128 results, a thread 8 x 16 of them, 16 terms of the sum at a
//! time. What a thread copies of the tiles after the next is spread over the terms, so that no
//! thread waits for its addresses. Results leave through shared memory: stored as vectors from
//! registers, they would bind accumulators to the bank of registers of the element that they are
//! multiplied with, and half of the multiplications would take a second cycle. For the same reason
//! a thread's loop over the rows of its results is the inner one.
//!
//! Partial tiles would need conditions at each copy, so that sizes have to be multiples of a tile:
//! known to be, or, in a launch whose sizes are, assumed.

use loopwright_kernel_ir::Name;
use loopwright_lowering::Target;

use super::Shape;
use crate::{
    Proposal, Stride,
    text::{split, split_as, tag},
};

/// Results of a block along each side, and terms of the sum in a slot.
pub(super) const TILE: i64 = 128;
const DEPTH: i64 = 16;

/// Elements of a vector of 16 bytes.
const VECTOR: i64 = 4;

/// Bytes of shared memory of a block: three slots of both tiles, one of them padded, and results.
const SHARED: i64 = 4 * (3 * DEPTH * (2 * TILE + VECTOR) + TILE * TILE);

/// The loops whose tiles have to be whole, with the lengths of tiles.
pub(super) fn whole<'s>(shape: &'s Shape<'_>) -> [(&'s Name, i64); 3] {
    shape.loops([TILE; 2], DEPTH)
}

/// Whether the factors lie as it needs them: one with neighbours along the sum, one with neighbours
/// along the rows of the result.
pub(super) fn is_possible(shape: &Shape<'_>, device: &Target) -> bool {
    let Some([left, right]) = shape.matrices() else { return false };
    let lie_so = left.stride(&shape.k) == Stride::Unit
        && right.stride(&shape.x) == Stride::Unit
        && shape.has_aligned_rows(right);
    // One block alone would be too few warps for a multiprocessor.
    let has_room = shape.has_room(device, 2, SHARED);
    lie_so && left.bytes == 4 && right.bytes == 4 && shape.result().is_some() && has_room
}

/// The proposal, if it is possible and tiles are known to be whole.
pub(super) fn ring(shape: &Shape<'_>, device: &Target) -> Option<Proposal> {
    let Shape { nest, x, y, k, .. } = shape;
    let [left, right] = shape.matrices().filter(|_| is_possible(shape, device))?;
    let target = shape.result()?;
    if !nest.are_multiples(&whole(shape), "tiles that are copied while the ones before are multiplied") {
        return None;
    }
    let proposal = shape.begin(format!(
        "each element of the factors serves many results: a block takes {TILE} x {TILE} of them, a thread 8 \
         x 16 in registers, and {DEPTH} terms of the sum at a time through shared memory, copied two tiles \
         ahead of their use"
    ))
    .step(split(y, TILE))
    .step(split(x, TILE));
    let (mut proposal, steps) = shape.split_steps(proposal, DEPTH);
    for (n, quarter) in [(y, 8 * VECTOR), (x, 4 * VECTOR)] {
        let part = |part: &str| format!("{n}_{part}");
        proposal = proposal
            .step(split_as(part("inner"), TILE / 2, part("warp"), part("strip")))
            .step(split_as(part("strip"), quarter, part("half"), part("quarter")))
            .step(split_as(part("quarter"), VECTOR, part("thread"), part("vec")));
    }
    let lane = nest.next_name("lane");
    proposal = proposal
        .step(format!(
            "reorder([{y}_outer, {x}_outer, {y}_warp, {x}_warp, {y}_thread, {x}_thread, {x}_half, {x}_vec, \
             {y}_half, {y}_vec])"
        ))
        .step(format!("join_inames([{y}_thread, {x}_thread], {lane})"));
    let (begun, mut tags) = shape.grid(proposal, TILE);
    tags.extend([
        (lane.clone(), "thread.x"),
        (format!("{y}_warp"), "thread.y"),
        (format!("{x}_warp"), "thread.z"),
    ]);
    let in_registers = [
        (format!("{y}_half"), "ilp"),
        (format!("{x}_half"), "ilp"),
        (format!("{y}_vec"), "vec"),
        (format!("{x}_vec"), "vec"),
    ];
    let sweep = |n: &Name| {
        [format!("{n}_warp"), format!("{n}_half"), lane.clone(), format!("{n}_vec"), format!("{k}_inner")]
    };
    let (copy_left, left_tile) = shape.prefetch(left, &sweep(y), ", via=cp_async");
    let (copy_right, right_tile) = shape.prefetch(right, &sweep(x), &format!(", vec={VECTOR}, via=cp_async"));
    proposal = begun
        .step(tag(&tags))
        .step(tag(&in_registers))
        .step(copy_left)
        .step(copy_right)
        .step(format!("tag_array_axes({left_tile}, f)"))
        .step(format!("pad_array_axis({left_tile}, 0, {VECTOR})"))
        .step(format!(
            "buffer_array({}, [{y}_warp, {x}_warp, {x}_half, {lane}, {x}_vec, {y}_half, {y}_vec], \
             space=shared, init=none)",
            target.array
        ))
        // Of eight rows that a warp writes at once, three bits of the row are added to those of
        // the column.
        .step(format!("swizzle({}_buf, 3, 0, {})", target.array, TILE.ilog2() + VECTOR.ilog2()))
        .step(format!("pipeline({steps}, [{left_tile}, {right_tile}], stages=3)"));
    Some(between_terms(proposal, k, [&left.array, &right.array]))
}

/// Puts a thread's 16 copies of the left tile, two at a time, and its four of the right one before
/// the terms of the sum.
fn between_terms(proposal: Proposal, k: &str, [left, right]: [&str; 2]) -> Proposal {
    let copies = |array: &str| format!("{array}_f_outer_outer_outer");
    proposal
        .step(split_as(format!("{k}_inner"), 4, format!("{k}_four"), format!("{k}_two")))
        .step(split_as(format!("{k}_two"), 2, format!("{k}_pair"), format!("{k}_one")))
        .step(format!("untag_inames({}, {})", copies(left), copies(right)))
        .step(split_as(copies(left), 4, format!("{left}_four"), format!("{left}_two")))
        .step(split_as(format!("{left}_two"), 2, format!("{left}_pair"), format!("{left}_one")))
        .step(format!("fuse_loops([{}, {left}_four, {k}_four], new={k}_quarter)", copies(right)))
        .step(format!("fuse_loops([{left}_pair, {k}_pair], new={k}_pair)"))
        .step(format!("unroll({k}_quarter)"))
        .step(format!("unroll({k}_pair)"))
        .step(format!("unroll({k}_one)"))
        .step(format!("unroll({left}_one)"))
        .step("min_blocks_per_multiprocessor(2)")
}
