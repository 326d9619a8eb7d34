//! Products of matrices and other contractions: sums of products whose factors are each the same
//! for many results.
//!
//! Of two loops around the sum, one factor does not depend on the first, another not on the second:
//! a block that takes a tile of results loads each element once for a row or a column of them. The
//! factors' tiles are copied to shared memory, and each thread has several results along both
//! loops in registers, so that an element is read there once for several updates. Tiles are as long
//! as two halves of 16 threads with a vector each; of types of 8 and 16 bits, tensor cores multiply
//! where an instruction fits (`fragments`). Whole tiles are copied ahead of their use (`ring`,
//! `fragment_ring`). A launch with few results gets smaller tiles, so that each multiprocessor has
//! one (`filling`, `small`); if its sums are long, blocks share them, and their partial results are
//! joined. Other reductions of the same statement, such as what a row is divided by, may stand
//! beside it, if what they read belongs to a row or a column of the tile.
//!
//! A sum over several loops, such as the channels and the window of a convolution, is a product at
//! each place of the others: the loop along which neighbours lie in memory, or else the longest, is
//! divided into steps, and the others stay around them. Where lengths are known, all steps are one
//! loop, and loops of the results that the grid has no axes for are joined (`joined`).
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel gram(a: f64[m, l], c: f64[m, m], m: i32, l: i32)
//! assume 0 <= m and 0 <= l
//! domain { [i, j] : 0 <= i < m and 0 <= j < m }
//! domain { [k] : 0 <= k < l }
//! c[i, j] = sum(k, a[i, k]*a[j, k]) {id=gram}
//! ")?;
//! let found = auto(&kernel, &Target::default());
//! assert_eq!(found.decisions[0].rule, Some("product"));
//! // Both rows of `a` are copied to shared memory.
//! assert_eq!(found.kernel.temporaries.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod filling;
mod fragment_ring;
mod fragments;
mod ring;
mod small;
mod sum;

use std::cmp::Reverse;

use loopwright_kernel_ir::{Expr, Name};
use loopwright_lowering::Target;

use crate::{
    Nest, Proposal, Rule, Site, Stride,
    grid::{AXES, Along, on_axes},
    joined,
    nest::MOST,
    site,
    text::{split, split_as, tag},
};

pub struct Product;

impl Product {
    /// Whether a nest is one.
    pub fn is(nest: &Nest<'_>) -> bool {
        shape(nest).is_some()
    }
}

/// Threads of a block along each side of its tile.
const SIDE: i64 = 16;
/// The length from which a side of a tile is never longer than its loop.
const LONG: i64 = 256;
/// Bytes of the widest vector that is copied.
const VECTOR_BYTES: i64 = 16;

/// A contraction: `x` and `y` are the loops around the sum over `k` whose tiles a block takes.
struct Shape<'n> {
    nest: &'n Nest<'n>,
    x: Name,
    y: Name,
    k: Name,
    /// The other loops of the sum, from the outside. They stay around the steps of `k`.
    places: Vec<Name>,
    /// The other loops of the results, from the outside: joined, they have an axis of the grid.
    batch: Vec<Name>,
    /// The factors: what the sum reads that does not depend on one of the two.
    factors: Vec<&'n Site>,
    /// What other reductions of the instruction read, each of one side alone, with their loops.
    beside: Vec<(Name, &'n Site)>,
    instruction: Name,
}

impl Rule for Product {
    fn name(&self) -> &'static str {
        "product"
    }

    fn propose(&self, nest: &Nest<'_>, target: &Target) -> Vec<Proposal> {
        let Some(shape) = shape(nest) else { return Vec::new() };
        let mut proposals = Vec::new();
        let bytes = shape.factors.iter().map(|s| s.bytes).max().unwrap_or(4);
        let width = i64::try_from(target.widest_access as usize / bytes.max(4)).unwrap_or(1);
        if shape.beside.is_empty() {
            if shape.factors.iter().all(|s| s.bytes == 2) && !fragments::shares_sums(&shape) {
                proposals.extend(fragment_ring::fragment_ring(&shape, target));
            }
            proposals.extend(fragments::proposals(&shape, target));
            proposals.extend(filling::plain(&shape, target, width));
        } else {
            proposals.push(registers(&shape, width));
        }
        proposals.push(tiles(&shape));
        if !shape.beside.is_empty() {
            // A result has an accumulator for each reduction, of which a thread has room for few.
            proposals.reverse();
        }
        proposals
    }
}

fn shape<'n>(nest: &'n Nest<'n>) -> Option<Shape<'n>> {
    let reductions = nest.reductions();
    if nest.instructions.len() != 1 || !nest.inner.is_empty() || nest.band.len() < 2 || reductions.is_empty()
    {
        return None;
    }
    let loops: Vec<Name> = reductions.iter().flat_map(|(_, r)| r.inames.clone()).collect();
    let parallel = nest.parallel();
    if let [(_, only)] = reductions.as_slice() {
        let places = |k: &Name| only.inames.iter().filter(|n| *n != k).cloned().collect();
        return along(nest, &only.inames).find_map(|k| around(nest, &parallel, k, places(k), &[]));
    }
    if reductions.iter().any(|(_, r)| r.inames.len() > 1) {
        return None;
    }
    let others = |k: &Name| loops.iter().filter(|n| *n != k).cloned().collect::<Vec<Name>>();
    loops.iter().find_map(|k| around(nest, &parallel, k, Vec::new(), &others(k)))
}

/// The loops of a sum that may be divided into steps, the best first: those along which neighbours
/// lie in memory, and the longest of them. Of several loops, one that is known to be short is none:
/// it would leave most of a step empty.
fn along<'n>(nest: &Nest<'_>, loops: &'n [Name]) -> impl Iterator<Item = &'n Name> {
    let is_long = |n: &Name| nest.extent(n).is_none_or(|length| length >= SIDE);
    let neighbours = |n: &Name| nest.sites.iter().filter(|s| s.stride(n) == Stride::Unit).count();
    let mut found: Vec<&Name> = loops.iter().filter(|n| loops.len() == 1 || is_long(n)).collect();
    found.sort_by_key(|n| Reverse((neighbours(n), nest.extent(n).unwrap_or(i64::MAX))));
    found.into_iter()
}

/// The contraction over `k`, at each of these places, with the loops of other reductions of its
/// instruction beside it.
fn around<'n>(
    nest: &'n Nest<'n>,
    parallel: &[Name],
    k: &Name,
    places: Vec<Name>,
    others: &[Name],
) -> Option<Shape<'n>> {
    let instruction = nest.instructions.first()?;
    let inside: Vec<&Site> =
        nest.sites.iter().filter(|s| s.inames.contains(k) && s.stride(k) != Stride::Same).collect();
    let lacks = |n: &Name| inside.iter().any(|s| s.stride(n) == Stride::Same);
    let shared: Vec<&Name> = parallel.iter().filter(|n| lacks(n)).collect();
    // Two loops, each of which some factor depends on that does not depend on the other.
    let serves = |a: &Name, b: &Name| {
        inside.iter().any(|s| s.stride(a) != Stride::Same && s.stride(b) == Stride::Same)
    };
    let target = nest.sites.iter().find(|s| s.is_write)?;
    let x = shared.iter().rev().find(|n| target.stride(n) == Stride::Unit).or(shared.last())?;
    // The longest, as far as tiles make use of it; of equal ones the innermost.
    let sides = shared.iter().filter(|n| *n != x && serves(n, x) && serves(x, n));
    let y = sides.max_by_key(|n| nest.extent(n).map_or(LONG, |length| length.min(LONG)))?;
    let batch: Vec<Name> = parallel.iter().filter(|n| n != x && n != y).cloned().collect();
    let one_side = |s: &&Site| (s.stride(x) == Stride::Same) != (s.stride(y) == Stride::Same);
    let mut factors: Vec<&Site> = Vec::new();
    for s in inside.iter().copied().filter(one_side) {
        if !factors.iter().any(|f| f.array == s.array && f.text == s.text) {
            factors.push(s);
        }
    }
    // Of a diagonal, `a[i, i, k]`, the tile would be the whole square.
    let is_box = |s: &&Site| {
        let axes = |n: &Name| s.index.iter().flatten().filter(|subscript| subscript.mentions(n)).count();
        [*x, *y, k].into_iter().all(|n| axes(n) <= 1)
    };
    if !factors.iter().all(is_box) {
        return None;
    }
    // Few terms are loaded sooner than shared, and of few results a tile would be nearly empty.
    let is_short = |n: Option<i64>| n.is_some_and(|n| n < SIDE / 2);
    let terms = nest.count(&places.iter().chain([k]).cloned().collect::<Vec<Name>>());
    if others.is_empty() && (is_short(terms) || [x, y].into_iter().all(|n| is_short(nest.extent(n)))) {
        return None;
    }
    // Where a factor is the array of the results, those of a tile may be terms of one another.
    let is_in_place = factors.iter().any(|s| s.array == target.array);
    if is_in_place && ![*y, *x].into_iter().all(|n| nest.is_parallel_in_pieces(n)) {
        return None;
    }
    let beside: Vec<(Name, &Site)> = others
        .iter()
        .flat_map(|n| nest.sites.iter().filter(|s| s.inames.contains(n)).map(|s| ((*n).clone(), s)))
        .collect();
    if !beside.iter().all(|(_, s)| one_side(s) && is_box(s)) {
        return None;
    }
    Some(Shape {
        nest,
        x: (*x).clone(),
        y: (*y).clone(),
        k: k.clone(),
        places,
        batch,
        factors,
        beside,
        instruction: instruction.id.clone(),
    })
}

impl Shape<'_> {
    /// The loop of the product's result over which a factor varies: `x` or `y`.
    fn side(&self, factor: &Site) -> &Name {
        if factor.stride(&self.x) == Stride::Same { &self.y } else { &self.x }
    }

    /// Whether a factor's own loop and that of the sum are in a subscript each.
    fn is_matrix(&self, factor: &Site) -> bool {
        let (side, k) = (self.side(factor), &self.k);
        factor.index.iter().flatten().filter(|s| s.mentions(k) || s.mentions(side)).count() == 2
    }

    /// The factors of a product of two matrices: the one over y, and the one over x.
    fn matrices(&self) -> Option<[&Site; 2]> {
        let of_side = |side: &Name| {
            let mut own = self.factors.iter().copied().filter(|f| self.side(f) == side);
            own.next().filter(|f| own.next().is_none() && self.is_matrix(f))
        };
        let (left, right) = (of_side(&self.y)?, of_side(&self.x)?);
        (left.array != right.array).then_some([left, right])
    }

    /// The result, if nothing else of it is read, so that it can be kept elsewhere and stored once.
    fn result(&self) -> Option<&Site> {
        let target = self.nest.sites.iter().find(|s| s.is_write)?;
        let is_read = self.nest.sites.iter().any(|s| !s.is_write && s.array == target.array);
        (!is_read).then_some(target)
    }

    /// The blocks of a launch with tiles of these sides along y and x, if its sizes are known.
    fn blocks(&self, [of_y, of_x]: [i64; 2]) -> Option<i64> {
        let along = |n: &Name, each: i64| Some((self.nest.extent(n)?.max(1) - 1) / each + 1);
        let batches = self.nest.count(&self.batch)?;
        let blocks = along(&self.y, of_y)?.saturating_mul(along(&self.x, of_x)?);
        Some(blocks.saturating_mul(batches).min(MOST))
    }

    /// The part of tiles of these sides along y and x that are results; 1 if lengths are not known.
    fn used(&self, [of_y, of_x]: [i64; 2]) -> f64 {
        let along = |n: &Name, each: i64| {
            self.nest
                .extent(n)
                .map_or(1.0, |length| length as f64 / (length as u64).next_multiple_of(each as u64) as f64)
        };
        along(&self.y, of_y) * along(&self.x, of_x)
    }

    /// A proposal for this reason, whose first steps make one loop of those that the grid has no
    /// axes for.
    fn begin(&self, reason: String) -> Proposal {
        match joined::loops(self.nest, &self.batch) {
            Some(joined) => joined.steps(Proposal::new(reason)),
            None => Proposal::new(reason),
        }
    }

    /// As [`Shape::begin`], with the loop over y outside of that over x, as the lanes of an
    /// instruction are.
    fn begin_fragments(&self, reason: String) -> Proposal {
        let proposal = self.begin(reason);
        let at = |of: &Name| self.nest.band.iter().position(|n| n == of);
        if at(&self.y) < at(&self.x) {
            return proposal;
        }
        proposal.step(format!("reorder({}, {})", self.y, self.x))
    }

    /// The loops that tiles of these sides along y and x and of this depth divide, with lengths.
    fn loops(&self, [of_y, of_x]: [i64; 2], depth: i64) -> [(&Name, i64); 3] {
        [(&self.y, of_y), (&self.x, of_x), (&self.k, depth)]
    }

    /// The loop along which neighbours of a matrix lie in memory: that of the sum, or its own one.
    fn row(&self, factor: &Site) -> &Name {
        if factor.stride(&self.k) == Stride::Unit { &self.k } else { self.side(factor) }
    }

    /// Whether the rows of a factor's tiles begin where vectors do: not beside an offset that
    /// varies, such as the place in the window of a convolution.
    fn has_aligned_rows(&self, factor: &Site) -> bool {
        let row = self.row(factor);
        let along = factor.dense.and_then(|axis| factor.index.get(axis)?.as_ref());
        let vector = VECTOR_BYTES / i64::try_from(factor.bytes.max(1)).unwrap_or(VECTOR_BYTES);
        along.is_some_and(|subscript| {
            let only = subscript.is_affine() && subscript.names().iter().all(|n| **n == **row);
            only && subscript.coefficient(row) == 1 && subscript.constant_term() % vector.max(1) == 0
        })
    }

    /// Two factors whose rows are copied as vectors, and their result with neighbours along x.
    fn rows_of_vectors(&self) -> Option<([&Site; 2], &Site)> {
        let (factors, target) = (self.matrices()?, self.result()?);
        let lie_so = factors.iter().all(|f| self.has_aligned_rows(f));
        (lie_so && target.stride(&self.x) == Stride::Unit).then_some((factors, target))
    }

    /// Whether the known lengths of these loops are multiples of so many iterations.
    fn divide(&self, loops: &[(&Name, i64)]) -> bool {
        loops.iter().all(|(n, by)| self.nest.extent(n).is_some_and(|length| length % by == 0))
    }

    /// Whether shared memory has room for so many blocks with so many bytes each.
    fn has_room(&self, target: &Target, blocks: u64, bytes: i64) -> bool {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        bytes <= target.dynamic_shared && blocks.saturating_mul(bytes) <= self.nest.launch().shared
    }

    /// A copy of a factor's tile, swept over these inames, and the name of the tile.
    fn prefetch(&self, factor: &Site, sweep: &[String], options: &str) -> (String, String) {
        let array = &factor.array;
        let same =
            || self.factors.iter().chain(self.beside.iter().map(|(_, s)| s)).filter(|f| f.array == *array);
        let sweep = sweep.join(", ");
        if same().count() == 1 && !self.is_read_elsewhere(array) {
            return (format!("add_prefetch({array}, [{sweep}]{options})"), format!("{array}_tile"));
        }
        // Each read has a tile of its own.
        let text: Vec<String> = factor.text.iter().map(Expr::to_string).collect();
        let side = self.side(factor);
        let before = same().filter(|f| self.side(f) == side).take_while(|f| f.text != factor.text).count();
        let tile = match before {
            0 => format!("{array}_{side}"),
            before => format!("{array}_{side}_{}", before + 1),
        };
        let access = format!("{array}[{}]", text.join(", "));
        (format!("add_prefetch({array}, [{sweep}], name={tile}, accesses=[{access}]{options})"), tile)
    }

    /// How many times as many statements the update of a result has as that of a plain product: of
    /// complex numbers, under a condition, of elements that data lead to. So many fewer terms are
    /// unrolled.
    fn effort(&self) -> i64 {
        let pairs = i64::try_from(self.factors.len() / 2).unwrap_or(1).max(1);
        let is_guarded = self.nest.instructions.iter().any(|i| i.predicate.is_some());
        let leads = self.factors.iter().any(|f| f.index.iter().any(Option::is_none));
        (pairs * (1 + i64::from(is_guarded)) * (1 + i64::from(leads))).min(4)
    }

    /// Whether another instruction reads the array.
    fn is_read_elsewhere(&self, array: &Name) -> bool {
        let kernel = self.nest.kernel;
        kernel
            .instructions
            .iter()
            .filter(|i| i.id != *self.instruction)
            .any(|other| site::sites(kernel, other).iter().any(|s| !s.is_write && s.array == *array))
    }

    /// With tiles for what the other reductions read, so many terms at a time; a side of a tile
    /// consists of these parts.
    fn copied_beside(&self, mut proposal: Proposal, depth: i64, parts: &[&str]) -> Proposal {
        let mut split_before: Vec<&Name> = Vec::new();
        for (k, site) in &self.beside {
            if !split_before.contains(&k) {
                proposal = proposal.optional(split(k, depth));
                split_before.push(k);
            }
            let side = self.side(site);
            let sweep = parts.iter().map(|part| format!("{side}_{part}"));
            let sweep: Vec<String> = sweep.chain([format!("{k}_inner")]).collect();
            let text: Vec<String> = site.text.iter().map(Expr::to_string).collect();
            proposal = proposal.optional(format!(
                "add_prefetch({0}, [{1}], name={0}_{k}, accesses=[{0}[{2}]], pad=1)",
                site.array,
                sweep.join(", "),
                text.join(", ")
            ));
        }
        proposal
    }

    /// The blocks of tiles of this length on the grid. Where millions of results along y fit on one
    /// axis, a second one is only taken if they are known to be more.
    fn grid(&self, proposal: Proposal, tile: i64) -> (Proposal, Vec<(String, &'static str)>) {
        let sides = [&self.x, &self.y].map(|n| Along::outer(n, tile));
        let batch = match joined::loops(self.nest, &self.batch) {
            Some(joined) => Some(joined.along()),
            None => self.batch.last().map(Along::whole),
        };
        let loops: Vec<Along> = sides.into_iter().chain(batch).collect();
        let have_room = self.nest.most_blocks().saturating_mul(tile) >= 1 << 22;
        let is_long = !have_room || self.nest.is_too_long(&self.y, tile);
        let taken = if is_long { AXES.len() } else { loops.len() };
        on_axes(self.nest, proposal, loops, &AXES[..taken])
    }
}

/// Tiles of two halves of 16 vectors on both sides.
fn registers(shape: &Shape<'_>, width: i64) -> Proposal {
    let Shape { x, y, k, .. } = shape;
    let (half, depth) = (SIDE * width, 8 * width / shape.effort());
    let reason = format!(
        "each element of the factors serves many results: a block takes {0} x {0} of them, a thread {1} x \
         {1} in registers, and {depth} terms of the sum at a time through shared memory",
        2 * half,
        2 * width
    );
    let proposal = shape.begin(reason).step(split(y, 2 * half)).step(split(x, 2 * half));
    let (mut proposal, _) = shape.split_steps(proposal, depth);
    for n in [y, x] {
        proposal =
            proposal.step(split_as(format!("{n}_inner"), half, format!("{n}_half"), format!("{n}_quarter")));
    }
    for n in [y, x] {
        let (thread, vec) = (format!("{n}_thread"), format!("{n}_vec"));
        proposal = proposal.step(split_as(format!("{n}_quarter"), width, thread, vec));
    }
    let (begun, mut tags) = shape.grid(proposal, 2 * half);
    tags.extend([(format!("{y}_thread"), "thread.y"), (format!("{x}_thread"), "thread.x")]);
    proposal = begun.step(tag(&tags)).step(tag(&[
        (format!("{y}_half"), "ilp"),
        (format!("{x}_half"), "ilp"),
        (format!("{y}_vec"), "vec"),
        (format!("{x}_vec"), "vec"),
    ]));
    for factor in &shape.factors {
        let side = shape.side(factor);
        let own = [format!("{side}_half"), format!("{side}_thread"), format!("{side}_vec")];
        // The tile has its axes in the array's order, however that lies in memory.
        let turned = factor.index.last().is_some_and(|s| s.as_ref().is_some_and(|s| s.mentions(k)));
        let sweep: Vec<String> = own.into_iter().chain([format!("{k}_inner")]).collect();
        let (copy, tile) = shape.prefetch(factor, &sweep, "");
        proposal = proposal.optional(copy);
        if turned && shape.is_matrix(factor) {
            // Neighbouring results read neighbours in the tile, whatever the order in memory.
            proposal = proposal
                .optional(format!("tag_array_axes({tile}, f)"))
                .optional(format!("pad_array_axis({tile}, 0, {width})"));
        }
    }
    shape.copied_beside(proposal.step(format!("unroll({k}_inner)")), depth, &["half", "thread", "vec"])
}

/// Tiles with a result for each thread.
fn tiles(shape: &Shape<'_>) -> Proposal {
    let Shape { x, y, k, .. } = shape;
    let reason = format!(
        "each element of the factors serves many results: a block takes {SIDE} x {SIDE} of them, and {SIDE} \
         terms of the sum at a time through shared memory"
    );
    let proposal = shape.begin(reason).step(split(y, SIDE)).step(split(x, SIDE));
    let (proposal, _) = shape.split_steps(proposal, SIDE);
    let (proposal, mut tags) = shape.grid(proposal, SIDE);
    tags.extend([(format!("{y}_inner"), "thread.y"), (format!("{x}_inner"), "thread.x")]);
    let mut proposal = proposal.step(tag(&tags));
    for factor in &shape.factors {
        let sweep = [format!("{}_inner", shape.side(factor)), format!("{k}_inner")];
        proposal = proposal.optional(shape.prefetch(factor, &sweep, "").0);
    }
    shape.copied_beside(proposal, SIDE, &["inner"])
}
