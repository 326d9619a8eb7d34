//! Prefix sums and other reductions over the points up to one's own.
//!
//! Read as it stands, each result sums all points before it. `realize_scan` makes it one pass;
//! threads along a row then scan it in rounds. A block has barriers in each round, at which all its
//! loads end, so that few are under way; a warp has none. So where there are rows, each gets a
//! warp, unless it consists of whole vectors, of which a block loads enough. Columns of a matrix go
//! to neighbouring threads, several of which scan one.
//!
//! A single row, or a few long ones, would leave most of the device idle: its tiles go to blocks,
//! each of which looks back over the tiles before its own. A thread scans neighbouring points,
//! which come and go by way of shared memory, so that a warp reads and writes whole lines; the
//! swizzle spreads the points of neighbouring threads over the banks.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel prefix(x: f32[m, n], out: f32[m, n], m: i32, n: i32)
//! assume 1 <= m and 0 <= n
//! domain { [s] : 0 <= s < m }
//! domain { [i] : 0 <= i < n }
//! domain { [j] : 0 <= j <= i }
//! out[s, i] = sum(j, x[s, j]) {id=prefix}
//! ")?;
//! assert_eq!(auto(&kernel, &Target::default()).pipeline.to_string(), "\
//! realize_scan(i, j)
//! split_iname(i, 32)
//! split_iname(s, 8)
//! tag_inames(s_outer: block.x, s_inner: thread.y, i_inner: thread.x)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::{Expr, Name, Reduce};
use loopwright_lowering::{Language, Target};

use crate::{
    Nest, Proposal, Rule, Site, Stride, bounds,
    grid::{AXES, Along, on_axes},
    text::{split, split_as, tag},
};

pub struct Scan;

/// Threads of each block.
const THREADS: i64 = 256;
/// Warps of a block whose warps work on rows of their own.
const WARPS: i64 = 8;
/// Threads along a column.
const ALONG: i64 = 16;
/// Points of a tile whose block looks back, and of a thread of it.
const TILE: i64 = 4096;
const OWN: i64 = 32;
/// The same of a short row, of which a thread has one point: more blocks, and no copies.
const SHORT_TILE: i64 = 1024;
/// The longest row that has short tiles.
const SHORT: i64 = 16 * TILE;

/// The loop that a scan goes along.
struct Sweep<'n> {
    /// The loop of the nest.
    i: &'n Name,
    /// What it is called once the reductions are scans: another name if it has been reversed, as
    /// for sums over all points behind one's own.
    run: Name,
}

impl<'n> Sweep<'n> {
    fn of(nest: &Nest<'_>, parallel: &[Name], i: &'n Name, all: &[Name]) -> Sweep<'n> {
        let Some(j) = all.first() else { return Sweep { i, run: i.clone() } };
        let mut steps: Vec<String> = inside_out(nest, parallel, i).into_iter().collect();
        steps.push(format!("realize_scan({i}, {j})"));
        let new = nest.applied(&steps).and_then(|after| {
            let loops = after.instructions.iter().filter(|x| x.scan.is_some()).flat_map(|x| &x.within);
            loops.into_iter().find(|n| !nest.kernel.is_iname(n)).cloned()
        });
        Sweep { i, run: new.unwrap_or_else(|| i.clone()) }
    }

    /// If each of several reductions is a scan along the loop, but not all together, as where some
    /// go up and others down: a nest for each.
    fn apart(&self, nest: &Nest<'_>, parallel: &[Name], all: &[Name]) -> Option<Proposal> {
        if all.len() < 2 {
            return None;
        }
        let first: Vec<String> = inside_out(nest, parallel, self.i).into_iter().collect();
        let is_scan = |scans: &[Name]| {
            let realized = self.realized(Proposal::new(""), scans).steps.into_iter().map(|(text, _)| text);
            nest.applied(&first.iter().cloned().chain(realized).collect::<Vec<String>>()).is_some()
        };
        if is_scan(all) || !all.iter().all(|j| is_scan(std::slice::from_ref(j))) {
            return None;
        }
        let reason = format!(
            "{} reductions are scans along `{}`, which do not go the same way: each gets a nest of its own",
            all.len(),
            self.i
        );
        let apart = |proposal: Proposal, n: &Name| proposal.step(format!("distribute({n})"));
        Some(nest.band.iter().rev().fold(Proposal::new(reason), apart))
    }

    fn is_reversed(&self) -> bool {
        self.run != *self.i
    }

    /// What makes it one.
    fn reason(&self) -> String {
        let before = if self.is_reversed() { "behind" } else { "before" };
        format!("each `{}` reduces what the one {before} it does and one point more", self.i)
    }

    /// With the loops of all of these reductions as scans.
    fn realized(&self, proposal: Proposal, all: &[Name]) -> Proposal {
        let sweeps = std::iter::once(self.i).chain(std::iter::repeat(&self.run));
        sweeps.zip(all).fold(proposal, |proposal, (i, j)| proposal.step(format!("realize_scan({i}, {j})")))
    }

    /// Its blocks, which take tiles of so many points.
    fn tiles(&self, each: i64) -> Along {
        Along { blocks: format!("{}_outer", self.run), ..Along::outer(self.i, each) }
    }

    /// Its points in a tile.
    fn inner(&self) -> String {
        format!("{}_inner", self.run)
    }
}

/// Tiles on blocks that look back, where there are too few rows for the multiprocessors. HIP's
/// printer has no such blocks.
fn across_blocks(
    nest: &Nest<'_>,
    parallel: &[Name],
    sweep: &Sweep<'_>,
    j: &Name,
    reason: &str,
    target: &Target,
) -> Vec<Proposal> {
    let Sweep { i, run } = sweep;
    let i: &Name = i;
    let around: Vec<Name> = parallel.iter().rev().filter(|n| *n != i).cloned().collect();
    let multiprocessors = i64::from(nest.launch().multiprocessors);
    let is_few = around.is_empty() || nest.count(&around).is_some_and(|rows| rows < multiprocessors);
    let length = nest.extent(i);
    // A block for a row of one tile would do; down columns its lanes lie apart.
    let least = if nest.score(i) < 0.0 { SHORT_TILE } else { TILE };
    if !is_few || length.is_some_and(|n| n <= least) || target.language != Language::CUDA_C {
        return Vec::new();
    }
    let form = |tile: i64, what: &str| {
        let reason = format!(
            "{reason}; blocks take tiles of {tile} points, and each looks back over those before its \
             own{what}"
        );
        let proposal = turned(nest, parallel, i, Proposal::new(reason));
        sweep.realized(proposal, std::slice::from_ref(j)).step(split(run, tile))
    };
    let on_grid = |proposal: Proposal, tile: i64, inner: &[(String, &'static str)]| {
        let loops = std::iter::once(sweep.tiles(tile)).chain(around.iter().map(Along::whole));
        let (proposal, mut tags) = on_axes(nest, proposal, loops.collect(), &AXES);
        tags.extend_from_slice(inner);
        proposal.step(tag(&tags))
    };
    let short = on_grid(form(SHORT_TILE, ""), SHORT_TILE, &[(sweep.inner(), "thread.x")]);
    if length.is_some_and(|n| n <= SHORT) {
        return vec![short];
    }
    let reads: Vec<&Site> = nest.sites.iter().filter(|s| !s.is_write).collect();
    let writes: Vec<&Site> = nest.sites.iter().filter(|s| s.is_write).collect();
    let ([read], [write]) = (reads.as_slice(), writes.as_slice()) else { return vec![short] };
    if read.stride(j) != Stride::Unit || write.stride(i) != Stride::Unit {
        return vec![short];
    }
    let staged = |width: i64| {
        let what = format!(": a thread has {OWN} neighbours, which pass through shared memory");
        let parts = [format!("{run}_thread"), format!("{run}_own")];
        let staged = form(TILE, &what).step(split_as(sweep.inner(), OWN, &parts[0], &parts[1]));
        let sweep = format!("[{}]", parts.join(", "));
        let inner: Vec<(String, &'static str)> = parts.into_iter().zip(["thread.x", "ilp"]).collect();
        let vectors = if width > 1 { format!(", vec={width}") } else { String::new() };
        let tile = nest.next_name(&format!("{}_tile", read.array));
        let buffer = nest.next_name(&format!("{}_buf", write.array));
        // As many bits as number the vectors of a thread.
        let (vector, number) = (width.ilog2(), (OWN / width).ilog2());
        on_grid(staged, TILE, &inner)
            .step(format!("add_prefetch({}, {sweep}{vectors})", read.array))
            .step(format!("swizzle({tile}, {number}, {vector}, {number})"))
            .step(format!("buffer_array({}, {sweep}, space=shared, init=none{vectors})", write.array))
            .optional(format!("alias_temporaries([{tile}, {buffer}])"))
            .optional(format!("swizzle({buffer}, {number}, {vector}, {number})"))
    };
    let widest = i64::from(target.widest_access) / i64::try_from(read.bytes.max(write.bytes)).unwrap_or(1);
    let is_whole = widest > 1
        && widest <= OWN
        && nest.had_better_be_multiples(&[(i, widest)], &format!("whole vectors of {widest} along `{i}`"));
    let vectors = is_whole.then(|| staged(widest));
    vectors.into_iter().chain([staged(1), short]).collect()
}

/// With the loops that stand inside of the scan outside of it.
fn turned(nest: &Nest<'_>, parallel: &[Name], i: &Name, proposal: Proposal) -> Proposal {
    inside_out(nest, parallel, i).into_iter().fold(proposal, Proposal::step)
}

/// The step that puts the loops that stand inside of the scan outside of it, if there are any.
fn inside_out(nest: &Nest<'_>, parallel: &[Name], i: &Name) -> Option<String> {
    let at = |n: &Name| nest.band.iter().position(|m| m == n);
    let inside: Vec<String> =
        parallel.iter().filter(|n| *n != i && at(n) > at(i)).map(ToString::to_string).collect();
    (!inside.is_empty()).then(|| format!("reorder({}, {i})", inside.join(", ")))
}

/// Scans down columns, where neighbouring columns are neighbours in memory: the loop over columns
/// goes to the outside, and neighbouring threads take neighbouring columns.
fn columns(
    nest: &Nest<'_>,
    parallel: &[Name],
    sweep: &Sweep<'_>,
    all: &[Name],
    target: &Target,
) -> Vec<Proposal> {
    let i = sweep.i;
    let others: Vec<&Name> = parallel.iter().filter(|n| *n != i).collect();
    let Some(x) = nest.best(others.iter().copied()).filter(|x| nest.score(x) > nest.score(i).max(0.0)) else {
        return Vec::new();
    };
    let warp = i64::from(target.warp_size);
    let form = |along: Option<i64>| {
        let shared = match along {
            Some(threads) => format!(", each scanned by {threads} threads"),
            None => String::new(),
        };
        let reason = format!(
            "{}; neighbouring columns `{x}` are neighbours in memory, and go to neighbouring \
             threads{shared}",
            sweep.reason()
        );
        let mut proposal = turned(nest, parallel, i, Proposal::new(reason));
        proposal = sweep.realized(proposal, all).step(split(&x, warp));
        let mut inner = vec![(format!("{x}_inner"), "thread.x")];
        if let Some(threads) = along {
            proposal = proposal.step(split(&sweep.run, threads));
            inner.push((sweep.inner(), "thread.y"));
        }
        let rest = others.iter().rev().filter(|n| ***n != x).map(|n| Along::whole(n));
        let loops = std::iter::once(Along::outer(&x, warp)).chain(rest).collect();
        let (proposal, mut tags) = on_axes(nest, proposal, loops, &AXES);
        tags.extend(inner);
        proposal.step(tag(&tags))
    };
    vec![form(Some(ALONG)), form(None)]
}

/// A warp for each row, several rows a block. A block ends its loads at the barriers of each round;
/// a warp has none.
fn by_warps(
    nest: &Nest<'_>,
    parallel: &[Name],
    sweep: &Sweep<'_>,
    all: &[Name],
    target: &Target,
) -> Option<Proposal> {
    let mut around = parallel.iter().rev().filter(|n| *n != sweep.i);
    let last = around.next()?;
    let reason =
        format!("{}; a warp for each row, which meets no barriers: {WARPS} rows a block", sweep.reason());
    let proposal = sweep.realized(Proposal::new(reason), all);
    let proposal = proposal.step(split(&sweep.run, i64::from(target.warp_size))).step(split(last, WARPS));
    let loops = std::iter::once(Along::outer(last, WARPS)).chain(around.map(Along::whole));
    let (proposal, mut tags) = on_axes(nest, proposal, loops.collect(), &AXES);
    tags.extend([(format!("{last}_inner"), "thread.y"), (sweep.inner(), "thread.x")]);
    Some(proposal.step(tag(&tags)))
}

/// A thread for each row.
fn by_threads(nest: &Nest<'_>, parallel: &[Name], sweep: &Sweep<'_>, all: &[Name]) -> Option<Proposal> {
    let mut around = parallel.iter().rev().filter(|n| *n != sweep.i);
    let last = around.next()?;
    let proposal = sweep.realized(Proposal::new(format!("{}; a thread for each row", sweep.reason())), all);
    let proposal = proposal.step(split(last, THREADS));
    let loops = std::iter::once(Along::outer(last, THREADS)).chain(around.map(Along::whole));
    let (proposal, mut tags) = on_axes(nest, proposal, loops.collect(), &AXES);
    tags.push((format!("{last}_inner"), "thread.x"));
    Some(proposal.step(tag(&tags)))
}

impl Rule for Scan {
    fn name(&self) -> &'static str {
        "scan"
    }

    fn propose(&self, nest: &Nest<'_>, target: &Target) -> Vec<Proposal> {
        let reductions = nest.reductions();
        let of = |r: &Reduce| if let [j] = r.inames.as_slice() { Some(j.clone()) } else { None };
        let all: Option<Vec<Name>> = reductions.iter().map(|(_, r)| of(r)).collect();
        let Some(all) = all.filter(|all| all.len() == 1 || all.len() == nest.instructions.len()) else {
            return Vec::new();
        };
        // What is reduced is the same for each.
        let is_fixed = |i: &Name| {
            let args = reductions.iter().flat_map(|(_, r)| &r.args);
            args.flat_map(Expr::names).all(|n| !nest.kernel.base_of(&n).contains(i))
        };
        let is_scanned = |i: &&Name| all.iter().all(|j| bounds::depend_on(nest.kernel, j, i)) && is_fixed(i);
        let parallel = nest.parallel();
        let mut proposals = Vec::new();
        for i in parallel.iter().filter(is_scanned) {
            let sweep = Sweep::of(nest, &parallel, i, &all);
            if let Some(apart) = sweep.apart(nest, &parallel, &all) {
                proposals.push(apart);
                continue;
            }
            let run = &sweep.run;
            let reason = sweep.reason();
            let realized = |reason: &str| sweep.realized(Proposal::new(reason), &all);
            // A block for each row.
            let begun = || {
                let around = parallel.iter().rev().filter(|n| *n != i).map(Along::whole).collect();
                on_axes(nest, realized(&reason), around, &AXES)
            };
            let columns = columns(nest, &parallel, &sweep, &all, target);
            let across = match all.as_slice() {
                [j] => across_blocks(nest, &parallel, &sweep, j, &reason, target),
                // What blocks pass on is the state of one scan.
                _ => Vec::new(),
            };
            // Columns that do not fill a warp have more lanes along the scan.
            let around: Vec<Name> = parallel.iter().filter(|n| *n != i).cloned().collect();
            let is_narrow = || nest.count(&around).is_some_and(|count| count < target.warp_size.into());
            let narrow = !around.is_empty() && is_narrow();
            let (first, second) = if narrow { (across, columns) } else { (columns, across) };
            proposals.extend(first.into_iter().chain(second));
            // The lanes of a vector go upwards.
            let width = if sweep.is_reversed() { 1 } else { nest.vector(i, target.widest_access as usize) };
            if width > 1 {
                let (proposal, mut tags) = begun();
                tags.extend([(format!("{i}_thread"), "thread.x"), (format!("{i}_vec"), "vec")]);
                proposals.push(
                    proposal
                        .step(split(i, THREADS * width))
                        .step(split_as(
                            format!("{i}_inner"),
                            width,
                            format!("{i}_thread"),
                            format!("{i}_vec"),
                        ))
                        .step(tag(&tags)),
                );
            }
            proposals.extend(by_warps(nest, &parallel, &sweep, &all, target));
            let (proposal, mut tags) = begun();
            tags.push((sweep.inner(), "thread.x"));
            proposals.push(proposal.step(split(run, THREADS)).step(tag(&tags)));
        }
        // Rows that have more to do than the scan, such as reading their ends.
        for i in nest.inner.iter().filter(is_scanned) {
            let sweep = Sweep::of(nest, &parallel, i, &all);
            // A loop at whose barriers threads meet has bounds that all threads know.
            if !bounds::are_data(nest.kernel, i) {
                proposals.extend(by_warps(nest, &parallel, &sweep, &all, target));
            }
            proposals.extend(by_threads(nest, &parallel, &sweep, &all));
        }
        proposals
    }
}
