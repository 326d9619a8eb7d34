//! Products of 16-bit numbers in whole tiles, on tensor cores: fragments are loaded a step ahead of
//! their use, also across the edges of tiles, and tiles are copied into a ring of three slots.
//!
//! A block of eight warps takes 256 x 128 results, a warp 64 x 64 of them, 64 terms of the sum at a
//! time. Of a launch whose last wave of such blocks would leave many multiprocessors idle, tiles
//! are shorter, so that as many blocks fill a wave as can ([`FORMS`]). The first fragments of the
//! next tile are loaded behind the last products of this one, before the barrier, so that tensor
//! cores do not wait for either. Eight blocks one below the other, or as many as divide the rows of
//! a launch, come one after the other and read the same tiles of the right factor, which the cache
//! serves. Copies are issued between the first products of a tile. Results of 16 bits leave through
//! shared memory, as whole vectors of rows.

use loopwright_lowering::Target;

use super::{Shape, filling::rate, fragments};
use crate::{
    Proposal, Site,
    text::{split, split_as, tag},
};

/// Terms of the sum in a slot.
const DEPTH: i64 = 64;

/// The tile of a block, and how fast such blocks are.
struct Form {
    /// Rows and columns of results of a block.
    tile: [i64; 2],
    /// Warps of a block along the rows and along the columns.
    warps: [i64; 2],
    /// How many blocks of it a multiprocessor holds.
    resident: u32,
    /// Its rate where there are enough blocks, relative to that of the first form. Measured
    /// (`benches/RESULTS.md`).
    speed: f64,
}

/// The forms, the fastest first. Rows of results are a power of two vectors, so that a warp stores
/// whole rows.
const FORMS: [Form; 3] = [
    Form { tile: [256, 128], warps: [4, 2], resident: 1, speed: 1.0 },
    Form { tile: [96, 128], warps: [2, 2], resident: 2, speed: 0.89 },
    Form { tile: [96, 64], warps: [2, 2], resident: 3, speed: 0.74 },
];

/// The most blocks one below the other that are launched one after the other.
const RASTER: i64 = 8;

/// Elements of a vector of 16 bytes.
const VECTOR: i64 = 8;

impl Form {
    /// The form by which the most is done in a launch, and the fastest one where the launch is not
    /// known. `None` where smaller tiles are better: blocks of it are for less than half of the
    /// multiprocessors.
    fn of(
        shape: &Shape<'_>,
        ([left, right], target): ([&Site; 2], &Site),
        device: &Target,
    ) -> Option<&'static Form> {
        let fits = |form: &&Form| {
            let [rows, columns] = form.tile;
            // The swizzle of a tile is of rows that are powers of two.
            let has_rows = |factor, length: i64| shape.row(factor) == &shape.k || length.count_ones() == 1;
            has_rows(left, rows)
                && has_rows(right, columns)
                && shape.has_room(device, form.resident.into(), form.shared(target))
        };
        let rate = |form: &Form| rate(shape, form.tile, 1, form.speed, form.resident.into());
        let whole = FORMS.iter().filter(|form| shape.divide(&shape.loops(form.tile, DEPTH)) && fits(form));
        let best = whole.rev().max_by(|a, b| rate(a).total_cmp(&rate(b)));
        let form = best.or(FORMS.first().filter(fits))?;
        let multiprocessors = i64::from(shape.nest.launch().multiprocessors);
        shape.blocks(form.tile).is_none_or(|blocks| 2 * blocks >= multiprocessors).then_some(form)
    }

    fn threads(&self, device: &Target) -> i64 {
        self.warps.iter().product::<i64>() * i64::from(device.warp_size)
    }

    /// Bytes of shared memory of a block: three slots of both tiles, and results in padded rows.
    fn shared(&self, target: &Site) -> i64 {
        let [rows, columns] = self.tile;
        let results = if fragments::is_buffered(target) { rows * (columns + VECTOR) } else { 0 };
        2 * (3 * DEPTH * (rows + columns) + results)
    }
}

/// The proposal, for a product of two matrices in any order.
pub(super) fn fragment_ring(shape: &Shape<'_>, device: &Target) -> Option<Proposal> {
    let Shape { nest, x, y, k, .. } = shape;
    let ([left, right], target) = shape.rows_of_vectors()?;
    // The grid has no axis for a batch.
    if !shape.batch.is_empty() {
        return None;
    }
    let form = Form::of(shape, ([left, right], target), device)?;
    let [rows, columns] = form.tile;
    let of_warp = [0, 1].map(|side| form.tile[side] / form.warps[side]);
    // Groups of blocks have to be whole, too.
    let divides = |raster: &i64| nest.extent(y).is_none_or(|length| length % (raster * rows) == 0);
    let raster = [RASTER, RASTER / 2, RASTER / 4].into_iter().find(divides).unwrap_or(1);
    let whole = shape.loops([raster * rows, columns], DEPTH);
    if !nest.are_multiples(&whole, "fragments that are loaded while the ones before are multiplied") {
        return None;
    }
    let proposal = shape.begin_fragments(format!(
        "the factors have 16 bits, and an instruction of tensor cores does the updates: a block takes {rows} x \
         {columns} results, a warp {} x {}, while the next fragments are loaded and the next tiles are on their \
         way to shared memory",
        of_warp[0], of_warp[1]
    ))
    .step(split(y, rows))
    .step(split(x, columns))
    .step(split_as(format!("{y}_outer"), raster, format!("{y}_group"), format!("{y}_raster")));
    let (mut proposal, steps) = shape.split_steps(proposal, DEPTH);
    for (n, of_warp, length) in [(y, of_warp[0], 16), (x, of_warp[1], 8)] {
        let part = |part: &str| format!("{n}_{part}");
        proposal = proposal
            .step(split_as(part("inner"), of_warp, part("warp"), part("tile")))
            .step(split_as(part("tile"), length, part("mma"), part("box")));
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
    for (factor, side, length) in [(left, y, rows), (right, x, columns)] {
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
        proposal = proposal.step(copy).step(fragments::swizzle(&tile, row, VECTOR));
    }
    let (a, b) = (&left.array, &right.array);
    if fragments::is_buffered(target) {
        proposal = fragments::buffered(shape, target, &lane, proposal);
    }
    proposal = proposal
        .step(format!("prefetch_fragments({})", shape.instruction))
        .step(format!("pipeline({k}_mma, [{a}_fragment, {b}_fragment], stages=2)"))
        .step(format!("pipeline({steps}, [{a}_tile, {b}_tile], stages=3)"))
        .step(format!("advance({steps}, [{a}_load_first, {b}_load_first])"));
    // Loops of their own for the copies of the ring say which part of an address differs between
    // them: the swizzle of a row is the same for all that a thread copies.
    for array in [a, b] {
        let loops = ["f_outer_outer_outer", "f_outer_outer_inner", "f_outer_inner", "f_inner", "f1_vec"];
        let loops = loops.map(|part| format!("{array}_{part}")).join(", ");
        proposal = proposal.step(format!("duplicate_inames([{loops}], [{array}_fetch])"));
    }
    // Half of a thread's copies in each of the first two steps, behind the loads of the next step's
    // fragments: before them, the loads would wait for the addresses of all copies.
    let [of_a, of_b] = form.tile.map(|length| length * DEPTH / VECTOR / form.threads(device) / 2);
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
