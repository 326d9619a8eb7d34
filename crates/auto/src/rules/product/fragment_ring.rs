//! Products of 16-bit numbers in whole tiles, on tensor cores: fragments are loaded a step ahead of
//! their use, also across the edges of tiles, and tiles are copied into a ring of three slots.
//!
//! A block of eight warps takes 256 x 128 results, a warp 64 x 64 of them, 64 terms of the sum at a
//! time. The first fragments of the next tile are loaded behind the last products of this one,
//! before the barrier, so that tensor cores do not wait for either. Eight blocks one below the
//! other, or as many as divide the rows of a launch, come one after the other and read the same
//! tiles of the right factor, which the cache serves. Copies are issued between the first products
//! of a tile. Results leave through shared memory, as whole vectors of rows.

use loopwright_lowering::Target;

use super::{Shape, fragments};
use crate::{
    Proposal,
    text::{split, split_as, tag},
};

/// Results of a block along each side, and terms of the sum in a slot.
const TILES: [i64; 2] = [256, 128];
const DEPTH: i64 = 64;

/// Threads of a block: a warp of 32 for 64 x 64 results.
const THREADS: i64 = TILES[0] / 64 * TILES[1] / 64 * 32;

/// The most blocks one below the other that are launched one after the other.
const RASTER: i64 = 8;

/// Elements of a vector of 16 bytes.
const VECTOR: i64 = 8;

/// Bytes of shared memory of a block: three slots of both tiles, and results in padded rows.
const SHARED: i64 = 2 * (3 * DEPTH * (TILES[0] + TILES[1]) + TILES[0] * (TILES[1] + VECTOR));

/// The proposal, for a product of two matrices in any order whose result has 16 bits, too.
pub(super) fn fragment_ring(shape: &Shape<'_>, device: &Target) -> Option<Proposal> {
    let Shape { nest, x, y, k, .. } = shape;
    let ([left, right], target) = shape.matrices_of_halves()?;
    // The grid has no axis for a batch.
    if !shape.has_room(device, 1, SHARED) || shape.batch.is_some() {
        return None;
    }
    // Where blocks are for less than half of the multiprocessors, smaller tiles are better.
    if shape.blocks(TILES).is_some_and(|blocks| 2 * blocks < i64::from(nest.launch().multiprocessors)) {
        return None;
    }
    // Groups of blocks have to be whole, too.
    let divides = |raster: &i64| nest.extent(y).is_none_or(|rows| rows % (raster * TILES[0]) == 0);
    let raster = [RASTER, RASTER / 2, RASTER / 4].into_iter().find(divides).unwrap_or(1);
    let whole = shape.loops([raster * TILES[0], TILES[1]], DEPTH);
    if !nest.are_multiples(&whole, "fragments that are loaded while the ones before are multiplied") {
        return None;
    }
    let mut proposal = Proposal::new(format!(
        "the factors have 16 bits, and an instruction of tensor cores does the updates: a block takes {} x {} \
         results, a warp 64 x 64, while the next fragments are loaded and the next tiles are on their way to \
         shared memory",
        TILES[0], TILES[1]
    ))
    .step(split(y, TILES[0]))
    .step(split(x, TILES[1]))
    .step(split(k, DEPTH))
    .step(split_as(format!("{y}_outer"), raster, format!("{y}_group"), format!("{y}_raster")));
    for (n, length) in [(y, 16), (x, 8)] {
        let part = |part: &str| format!("{n}_{part}");
        proposal = proposal.step(split_as(part("inner"), 64, part("warp"), part("tile"))).step(split_as(
            part("tile"),
            length,
            part("mma"),
            part("box"),
        ));
    }
    proposal = proposal
        .step(split_as(format!("{k}_inner"), 16, format!("{k}_mma"), format!("{k}_box")))
        .step(tag(&[
            (format!("{y}_raster"), "block.x"),
            (format!("{x}_outer"), "block.y"),
            (format!("{y}_group"), "block.z"),
            (format!("{y}_warp"), "thread.z"),
            (format!("{x}_warp"), "thread.y"),
            (format!("{y}_mma"), "ilp"),
            (format!("{x}_mma"), "ilp"),
        ]))
        .step(format!("map_to_atom({})", shape.instruction))
        .step(format!("untag_inames({x}_box_reg)"))
        .step(tag(&[(format!("{x}_box_reg"), "vec")]));
    let lane = nest.next_name("lane");
    for (factor, side, length) in [(left, y, TILES[0]), (right, x, TILES[1])] {
        let sweep = [
            format!("{side}_warp"),
            format!("{side}_mma"),
            format!("{side}_box_reg"),
            lane.clone(),
            format!("{k}_mma"),
            format!("{k}_box"),
        ];
        let (copy, tile) = shape.prefetch(factor, &sweep, &format!(", vec={VECTOR}, via=cp_async"));
        let row = if shape.row(factor) == k { DEPTH } else { length };
        proposal = proposal.step(copy).step(fragments::swizzle(&tile, row));
    }
    let (a, b) = (&left.array, &right.array);
    proposal = fragments::buffered(shape, target, &lane, proposal)
        .step(format!("prefetch_fragments({})", shape.instruction))
        .step(format!("pipeline({k}_mma, [{a}_fragment, {b}_fragment], stages=2)"))
        .step(format!("pipeline({k}_outer, [{a}_tile, {b}_tile], stages=3)"))
        .step(format!("advance({k}_outer, [{a}_load_first, {b}_load_first])"));
    // Loops of their own for the copies of the ring say which part of an address differs between
    // them: the swizzle of a row is the same for all that a thread copies.
    for array in [a, b] {
        let loops = ["f_outer_outer_outer", "f_outer_outer_inner", "f_outer_inner", "f_inner", "f1_vec"];
        let loops = loops.map(|part| format!("{array}_{part}")).join(", ");
        proposal = proposal.step(format!("duplicate_inames([{loops}], [{array}_fetch])"));
    }
    // Half of a thread's copies in each of the first two steps, behind the loads of the next step's
    // fragments: before them, the loads would wait for the addresses of all copies.
    let [of_a, of_b] = TILES.map(|length| length * DEPTH / VECTOR / THREADS / 2);
    let copies = |array: &str| format!("{array}_f_outer_outer_outer_dup");
    let step = format!("{k}_step");
    proposal = proposal.step(format!("untag_inames({}, {})", copies(a), copies(b)));
    for (array, half) in [(a, of_a), (b, of_b)] {
        let [outer, inner] = [format!("{array}_half"), format!("{array}_copy")];
        proposal = proposal.step(split_as(copies(array), half, outer, inner));
    }
    proposal = proposal.step(format!("fuse_loops([{a}_half, {b}_half, {k}_mma], new={step})"));
    for array in [a, b] {
        proposal = proposal.step(format!("move_statement({array}_copy, before={k}_box)"));
    }
    for unrolled in [step, format!("{a}_copy"), format!("{b}_copy")] {
        proposal = proposal.step(format!("unroll({unrolled})"));
    }
    Some(proposal)
}
