//! Products of 16-bit numbers, 8-bit integers and f64 on tensor cores, in tiles of any length.
//!
//! A block has four warps, each with a quarter of the tile. Tiles are 128 x 128, or shorter where
//! so many blocks would leave multiprocessors without one, or be full in part only: 64 x 64 or
//! 32 x 32. A slot of the ring has 64 or 128 bytes of a row, of 8-bit integers always 128, and less
//! where elements go through registers that have no room for so many. Where tiles are known to be
//! whole, results are stored as vectors, those of 16 bits through shared memory, and the loop over
//! the sum is divided where there is nothing more to copy, so that its first part asks nothing.

use loopwright_kernel_ir::{BinaryOp, DType, Expr, Name, Reduce};
use loopwright_lowering::Target;
use loopwright_transforms::Step;

use super::{Shape, VECTOR_BYTES};
use crate::{
    Proposal, Site, Wish,
    text::{split, split_as, tag},
};

/// Elements of 16 bits in a vector.
const VECTOR: i64 = 8;

/// Warps of a block.
const WARPS: i64 = 4;

/// What depends on the type of the factors.
#[derive(Clone, Copy)]
struct Kind {
    /// Bytes of an element.
    bytes: i64,
    /// Rows of results and terms of the sum of an instruction, which has eight columns.
    rows: i64,
    terms: i64,
    /// The tiles, the longest first: a longer one reads each element for more results.
    tiles: &'static [Tile],
}

impl Kind {
    /// `None` if no instruction takes elements of this type.
    fn of(dtype: DType, architecture: u32) -> Option<Kind> {
        match dtype {
            DType::F16 | DType::BF16 => Some(Kind { bytes: 2, rows: 16, terms: 16, tiles: &HALVES }),
            DType::I8 | DType::U8 => Some(Kind { bytes: 1, rows: 16, terms: 32, tiles: &BYTES }),
            DType::F64 if architecture >= 90 => Some(Kind { bytes: 8, rows: 16, terms: 16, tiles: &DOUBLES }),
            DType::F64 => Some(Kind { bytes: 8, rows: 8, terms: 4, tiles: &DOUBLES }),
            _ => None,
        }
    }

    /// Elements of a vector.
    fn vector(&self) -> i64 {
        VECTOR_BYTES / self.bytes
    }

    /// Registers of an element that is copied.
    fn of_element(&self) -> i64 {
        (self.bytes / 4).max(1)
    }
}

/// A block's tile.
#[derive(Clone, Copy)]
struct Tile {
    /// Results along each side.
    side: i64,
    /// Terms of the sum in a slot.
    depth: i64,
}

const HALVES: [Tile; 3] =
    [Tile { side: 128, depth: 32 }, Tile { side: 64, depth: 64 }, Tile { side: 32, depth: 64 }];
const BYTES: [Tile; 3] =
    [Tile { side: 128, depth: 128 }, Tile { side: 64, depth: 128 }, Tile { side: 32, depth: 128 }];
/// Accumulators take two registers.
const DOUBLES: [Tile; 2] = [Tile { side: 64, depth: 16 }, Tile { side: 32, depth: 16 }];

impl Tile {
    /// The longest tile of which each multiprocessor gets one; the usual one where the launch is
    /// not known.
    fn of(shape: &Shape<'_>, tiles: &[Tile]) -> Option<Tile> {
        let wanted = i64::from(shape.nest.launch().multiprocessors);
        let fills = |tile: &&Tile| {
            let sides = [tile.side; 2];
            // Of other tiles, most would be beside the results.
            let is_used = shape.used(sides) > 0.5;
            let shares = if is_used { shape.shares(sides, tile.depth) } else { 1 };
            let are_many = |blocks: i64| blocks.saturating_mul(shares) >= wanted;
            shape.blocks(sides).is_none_or(|blocks| is_used && are_many(blocks))
        };
        tiles.iter().find(fills).or(tiles.last()).copied()
    }

    /// With as many terms in a slot as half of a thread's registers hold, if copies go by way of
    /// these: the other half are for results, and for where they are. Compilers load all that a
    /// thread copies of both factors before they store the first of it, and elements that come one
    /// by one, each under its condition, have a register each until they are packed.
    fn by_registers(self, kind: Kind, device: &Target) -> Tile {
        let threads = WARPS * i64::from(device.warp_size);
        let copied = |depth: i64| 2 * self.side * depth / threads * kind.of_element();
        let mut depth = self.depth;
        while depth > kind.terms && copied(depth) > i64::from(device.thread_registers) / 2 {
            depth /= 2;
        }
        Tile { depth, ..self }
    }

    /// The loops that tiles divide, with the lengths of tiles.
    fn loops<'s>(&self, shape: &'s Shape<'_>) -> [(&'s Name, i64); 3] {
        shape.loops([self.side; 2], self.depth)
    }
}

/// How tiles come to shared memory.
#[derive(Clone, Copy, PartialEq)]
enum Copies {
    /// Asynchronously, into a ring, and all of them whole.
    Whole,
    /// Asynchronously, into a ring.
    Ahead,
    /// By way of registers.
    Plain,
    /// By way of registers, element by element: rows need not consist of vectors.
    Elements,
}

impl Copies {
    fn are_ahead(self) -> bool {
        matches!(self, Copies::Whole | Copies::Ahead)
    }
}

/// What the factors are, and the tile.
fn chosen(shape: &Shape<'_>) -> Option<(Kind, Tile)> {
    let mut types = shape.factors.iter().map(|f| shape.nest.kernel.array(&f.array)?.dtype.known());
    let first = types.next()??;
    let kind = Kind::of(first, shape.nest.launch().architecture)?;
    Some((kind, Tile::of(shape, kind.tiles).filter(|_| types.all(|dtype| dtype == Some(first)))?))
}

/// Whether blocks share the sums of these few results.
pub(super) fn shares_sums(shape: &Shape<'_>) -> bool {
    chosen(shape).is_some_and(|(_, tile)| shape.chunk([tile.side; 2], tile.depth).is_some())
}

/// The proposals, the best first.
pub(super) fn proposals(shape: &Shape<'_>, device: &Target) -> Vec<Proposal> {
    let Some((kind, tile)) = chosen(shape) else { return Vec::new() };
    if !have_two_factors(shape) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let is_shared = shape.chunk([tile.side; 2], tile.depth).is_some();
    if !is_shared {
        found.extend(whole(shape, kind, tile, device));
    }
    let is_whole = || shape.rows_of_vectors().is_some() && shape.divide(&tile.loops(shape));
    let have_vectors = shape.factors.iter().all(|f| shape.has_aligned_rows(f));
    if let Some(factors) = shape.matrices()
        && have_vectors
        && (is_shared || !is_whole())
    {
        // Whole vectors can be copied asynchronously, which is a wish where it is not known.
        let rows = factors.map(|f| (shape.row(f), kind.vector()));
        let _ = shape.nest.are_multiples(&rows, "tiles that are copied while the ones before are multiplied");
    }
    let by_registers = tile.by_registers(kind, device);
    if have_vectors {
        found.push(fragments(shape, kind, tile, Copies::Ahead));
        found.push(fragments(shape, kind, by_registers, Copies::Plain));
    }
    found.push(fragments(shape, kind, by_registers, Copies::Elements));
    found
}

/// Whether each term is the product of two elements, as an instruction computes it. A third factor
/// could be multiplied with the sum instead, where the user allows results to be rounded elsewhere.
fn have_two_factors(shape: &Shape<'_>) -> bool {
    let nest = shape.nest;
    let has_three = |r: &Reduce| r.inames.contains(&shape.k) && r.args.iter().any(|e| count_factors(e) > 2);
    if !nest.reductions().iter().any(|(_, r)| has_three(r)) {
        return true;
    }
    let step = format!("collect_common_factors({}, rounding=any)", shape.instruction);
    let taken = Step::parse(&step).and_then(|step| step.proved(nest.kernel));
    if taken.is_ok_and(|after| after.instructions != nest.kernel.instructions) {
        nest.wish(Wish::step(step, "tensor cores, which multiply two elements for each term"));
    }
    false
}

fn count_factors(e: &Expr) -> usize {
    match e {
        Expr::Binary(BinaryOp::Mul, a, b) => count_factors(a) + count_factors(b),
        _ => 1,
    }
}

/// Whole tiles, of a product of two matrices whose rows are vectors, in a launch whose sizes are
/// known.
fn whole(shape: &Shape<'_>, kind: Kind, tile: Tile, device: &Target) -> Option<Proposal> {
    let (_, target) = shape.rows_of_vectors()?;
    // Four slots of both tiles, and results in padded rows.
    let results = if is_buffered(target) { 2 * tile.side * (tile.side + VECTOR) } else { 0 };
    let shared = kind.bytes * 4 * 2 * tile.side * tile.depth + results;
    if !shape.has_room(device, 1, shared) {
        return None;
    }
    let loops = tile.loops(shape);
    let are_whole = shape.divide(&loops) && shape.nest.are_multiples(&loops, "whole tiles on tensor cores");
    are_whole.then(|| fragments(shape, kind, tile, Copies::Whole))
}

/// Tiles whose updates tensor-core instructions do.
fn fragments(shape: &Shape<'_>, kind: Kind, tile: Tile, copies: Copies) -> Proposal {
    let Shape { x, y, k, .. } = shape;
    let Tile { side, depth } = tile;
    let reason = format!(
        "the factors have {2} bits, and an instruction of tensor cores does the updates: a block takes {side} x \
         {side} results, a warp {0} x {0}{1}",
        side / 2,
        if copies.are_ahead() { ", while the next tiles are on their way to shared memory" } else { "" },
        8 * kind.bytes
    );
    let chunk = shape.chunk([side; 2], depth).filter(|_| copies != Copies::Whole);
    let proposal = shape.begin_fragments(reason).step(split(y, side)).step(split(x, side));
    let (mut proposal, steps, shares) = shape.split_sum(proposal, chunk, depth);
    for n in [y, x] {
        let (warp, tile) = (format!("{n}_warp"), format!("{n}_tile"));
        proposal = proposal.step(split_as(format!("{n}_inner"), side / 2, warp, tile));
    }
    for (n, of, length) in [(y, "tile", kind.rows), (x, "tile", 8), (k, "inner", kind.terms)] {
        let (outer, inner) = (format!("{n}_mma"), format!("{n}_box"));
        proposal = proposal.step(split_as(format!("{n}_{of}"), length, outer, inner));
    }
    let (begun, mut tags) = shape.grid(proposal, side);
    tags.extend([
        (format!("{y}_warp"), "thread.z"),
        (format!("{x}_warp"), "thread.y"),
        (format!("{y}_mma"), "ilp"),
        (format!("{x}_mma"), "ilp"),
    ]);
    tags.extend(shares);
    proposal = begun.step(tag(&tags)).step(format!("map_to_atom({})", shape.instruction));
    if copies == Copies::Whole {
        let registers = format!("{x}_box_reg");
        proposal = proposal.step(format!("untag_inames({registers})")).step(tag(&[(registers, "vec")]));
    }
    let mut tiles = Vec::new();
    let lane = shape.nest.next_name("lane");
    for factor in &shape.factors {
        let along = shape.side(factor);
        // Of eight rows, a lane has one.
        let parts = if along == y && kind.rows == 8 { 2 } else { 3 };
        let parts = &["warp", "mma", "box_reg"][..parts];
        let sweep: Vec<String> = parts.iter().map(|part| format!("{along}_{part}")).collect();
        let rest = [lane.clone(), format!("{k}_mma"), format!("{k}_box")];
        let sweep: Vec<String> = sweep.into_iter().chain(rest).collect();
        let vector = match copies {
            Copies::Elements => String::new(),
            _ => format!(", vec={}", kind.vector()),
        };
        let options = vector + if copies.are_ahead() { ", via=cp_async" } else { "" };
        let (copy, name) = shape.prefetch(factor, &sweep, &options);
        proposal = proposal.step(copy);
        proposal = match copies {
            Copies::Plain | Copies::Elements => {
                proposal.optional(format!("pad_array_axis({name}, 1, {})", kind.vector()))
            }
            _ => {
                let row = if shape.row(factor) == k { depth } else { side };
                proposal.optional(swizzle(&name, row, kind.vector()))
            }
        };
        tiles.push(name);
    }
    if copies == Copies::Whole
        && let Some(target) = shape.result().filter(|target| is_buffered(target))
    {
        proposal = buffered(shape, target, &lane, proposal);
    }
    let tiles = tiles.join(", ");
    proposal = match copies {
        Copies::Whole => proposal
            .step(format!("pipeline({steps}, [{tiles}], stages=4, issue=last)"))
            .step(format!("tag_inames({steps}: partition)")),
        Copies::Ahead => proposal.step(format!("pipeline({steps}, [{tiles}], stages=3)")),
        Copies::Plain | Copies::Elements => proposal,
    };
    proposal.step(format!("unroll({k}_mma)"))
}

/// Whether results leave through shared memory: neighbouring lanes have neighbours of them, which
/// are whole sectors unless they have 16 bits.
pub(super) fn is_buffered(target: &Site) -> bool {
    target.bytes <= 2
}

/// Has results leave through shared memory as whole vectors of rows, which are padded by one.
pub(super) fn buffered(shape: &Shape<'_>, target: &Site, lane: &str, proposal: Proposal) -> Proposal {
    let (Shape { x, y, .. }, c) = (shape, &target.array);
    proposal
        .step(format!(
            "buffer_array({c}, [{y}_warp, {y}_mma, {y}_box_reg, {lane}, {x}_warp, {x}_mma, {x}_box_reg], \
             space=shared, init=none, vec={VECTOR})"
        ))
        .step(format!("pad_array_axis({c}_buf, 1, {VECTOR})"))
}

/// Has the vectors of eight rows of a tile lie in different banks: bits of the row are added to
/// those of the vector within it. Rows of fewer than eight vectors lie side by side in the banks.
/// Of f64, lanes load single elements, those of four neighbouring rows at a time, four of each.
pub(super) fn swizzle(tile: &str, row: i64, vector: i64) -> String {
    if vector == 2 {
        return format!("swizzle({tile}, 2, 2, {})", row.ilog2() - 2);
    }
    let vectors = row.ilog2() - vector.ilog2();
    format!("swizzle({tile}, {}, {}, {})", vectors.min(3), vector.ilog2(), vectors.max(3))
}
