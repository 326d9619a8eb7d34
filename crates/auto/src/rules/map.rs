//! Loops that are parallel, without reductions: element-wise maps, copies, stencils, updates.
//!
//! The iname along which most accesses are neighbours goes to neighbouring threads, so that the
//! lanes of a warp ask for whole sectors. A thread of a single loop takes several elements: as a
//! vector where all accesses are shown to be whole and aligned, otherwise elements a block's width
//! apart, whose loads are in flight together. Of two and three loops a block takes a box, so that
//! neighbours in the other directions, as a stencil reads them, are found in the first-level cache.
//! Where rows of a box of two loops are whole vectors, a thread takes one.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel scale(x: f32[m, n], y: f32[m, n], m: i32, n: i32)
//! assume 0 <= m and 0 <= n
//! domain { [i, j] : 0 <= i < m and 0 <= j < n }
//! y[i, j] = 2*x[i, j] {id=scale}
//! ")?;
//! assert_eq!(auto(&kernel, &Target::default()).pipeline.to_string(), "\
//! split_iname(j, 32)
//! split_iname(i, 8)
//! split_iname(i_outer, 65535, outer=i_far, inner=i_near)
//! tag_inames(j_outer: block.x, i_near: block.y, i_far: block.z, j_inner: thread.x, i_inner: thread.y)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::{Instruction, Name};
use loopwright_lowering::Target;

use crate::{
    Nest, Proposal, Rule, Stride, Wish,
    grid::{AXES, Along, on_axes},
    site,
    text::{names, split, split_as, tag},
};

pub struct Map;

/// Threads of a block; enough for every multiprocessor to be filled by a few blocks, few enough for
/// blocks to be many.
const THREADS: i64 = 256;
/// Elements of a thread whose accesses are not vectors.
const IN_FLIGHT: i64 = 4;

impl Rule for Map {
    fn name(&self) -> &'static str {
        "map"
    }

    fn propose(&self, nest: &Nest<'_>, target: &Target) -> Vec<Proposal> {
        let parallel = nest.parallel();
        let Some(x) = nest.best(&parallel) else { return Vec::new() };
        let (unit, moving) = nest.neighbours(&x);
        if unit == 0 {
            wish_for_order(nest, &x);
        }
        let coalesced =
            format!("neighbours of `{x}` are neighbours in memory for {unit} of {moving} accesses along it");
        let joined = joined(nest, &x, &parallel, &coalesced, target);
        joined.into_iter().chain(apart(nest, &x, &parallel, &coalesced, target)).collect()
    }
}

/// Which arguments would have to lie in the other order for neighbours along `x` to be neighbours
/// in memory, if nothing else of the kernel accesses them: those with their first axis along it
/// alone.
fn wish_for_order(nest: &Nest<'_>, x: &Name) {
    let mut arrays: Vec<Name> = Vec::new();
    for site in nest.sites.iter().filter(|s| s.stride(x) != Stride::Same) {
        let is_along = |k: usize| site.index[k].as_ref().is_none_or(|aff| aff.mentions(x));
        let is_first = site.index.first().and_then(Option::as_ref).is_some_and(|aff| {
            aff.is_affine() && aff.coefficient(x).abs() == 1 && !(1..site.index.len()).any(is_along)
        });
        let is_plain = site.index.len() > 1 && site.dense == Some(site.index.len() - 1);
        let is_argument = nest.kernel.args.iter().any(|arg| *arg.name() == site.array);
        if !is_first || !is_plain || !is_argument {
            return;
        }
        if !arrays.contains(&site.array) {
            arrays.push(site.array.clone());
        }
    }
    let is_elsewhere = |i: &Instruction| nest.instructions.iter().all(|own| own.id != i.id);
    let others = nest.kernel.instructions.iter().filter(|i| is_elsewhere(i));
    let taken = others.flat_map(|i| site::sites(nest.kernel, i)).any(|s| arrays.contains(&s.array));
    if !taken && !arrays.is_empty() {
        nest.wish(Wish::Order { arrays, iname: x.clone() });
    }
}

/// The forms in which the loops stay apart, the one over `x` along a warp.
fn apart(nest: &Nest<'_>, x: &Name, parallel: &[Name], coalesced: &str, target: &Target) -> Vec<Proposal> {
    let mut others: Vec<Name> = parallel.iter().filter(|n| *n != x).cloned().collect();
    // The innermost of the others comes first.
    others.reverse();
    match others.as_slice() {
        [] => one(nest, x, coalesced, target),
        [y] => {
            let form = boxed(nest, x, 1, &[(y, 8, Some("thread.y"))], coalesced, target);
            let width = nest.vector(x, target.widest_access as usize);
            let is_filled = |length: i64| length >= i64::from(target.warp_size) * width;
            if width > 1 && nest.extent(x).is_none_or(is_filled) {
                let vectors = boxed(nest, x, width, &[(y, 8, Some("thread.y"))], coalesced, target);
                return vec![vectors, form];
            }
            let copied = read_around(nest);
            let mut tiled = copied.iter().fold(form.clone(), |form, array| {
                form.step(format!("add_prefetch({array}, [{y}_inner, {x}_inner])"))
            });
            tiled.reason +=
                &format!(", and copies what it reads of {} to shared memory first", names(&copied));
            // Caches serve neighbours as well, without a barrier.
            if copied.is_empty() { vec![form] } else { vec![form, tiled] }
        }
        [y, z, ..] => vec![
            boxed(nest, x, 1, &[(y, 4, Some("thread.y")), (z, 4, None)], coalesced, target),
            boxed(nest, x, 1, &[(y, 8, Some("thread.y"))], coalesced, target),
        ],
    }
}

/// A loop that is too short for the lanes of a warp, joined with those around it.
fn joined(
    nest: &Nest<'_>,
    x: &Name,
    parallel: &[Name],
    coalesced: &str,
    target: &Target,
) -> Option<Proposal> {
    let warp = i64::from(target.warp_size);
    let mut count = nest.extent(x).filter(|n| 0 < *n && *n < warp)?;
    if nest.band.last() != Some(x) || !nest.inner.is_empty() {
        return None;
    }
    let mut loops = vec![x.clone()];
    for n in nest.band.iter().rev().skip(1).take_while(|n| parallel.contains(n)) {
        if count >= 2 * warp {
            break;
        }
        count = count.saturating_mul(nest.extent(n).unwrap_or(i64::MAX));
        loops.insert(0, n.clone());
    }
    if loops.len() < 2 {
        return None;
    }
    let all = nest.next_name(&format!("{x}_all"));
    let reason =
        format!("{coalesced}; a warp has lanes for more than one `{x}`: {} are one loop", names(&loops));
    let list: Vec<&str> = loops.iter().map(|n| &**n).collect();
    let proposal = Proposal::new(reason)
        .step(format!("join_inames([{}], {all})", list.join(", ")))
        .step(split(&all, THREADS));
    let around = parallel.iter().rev().filter(|n| !loops.contains(n)).map(Along::whole);
    let blocks = Along { of: x.clone(), each: THREADS, blocks: format!("{all}_outer"), length: Some(count) };
    let (proposal, mut tags) =
        on_axes(nest, proposal, std::iter::once(blocks).chain(around).collect(), &AXES);
    tags.push((format!("{all}_inner"), "thread.x"));
    Some(proposal.step(tag(&tags)))
}

/// The arrays that are read at three places or more around each point.
fn read_around(nest: &Nest<'_>) -> Vec<Name> {
    let mut found: Vec<Name> = Vec::new();
    for site in nest.sites.iter().filter(|s| !s.is_write) {
        let same = nest.sites.iter().filter(|s| !s.is_write && s.array == site.array);
        if same.count() >= 3 && !found.contains(&site.array) {
            found.push(site.array.clone());
        }
    }
    found
}

/// The forms of a single loop.
fn one(nest: &Nest<'_>, x: &Name, coalesced: &str, target: &Target) -> Vec<Proposal> {
    let mut proposals = Vec::new();
    let width = nest.vector(x, target.widest_access as usize);
    if width > 1 {
        let reason = format!("{coalesced}, in whole vectors of {width}");
        proposals.push(
            Proposal::new(reason)
                .step(split(x, THREADS * width))
                .step(split_as(format!("{x}_inner"), width, format!("{x}_thread"), format!("{x}_vec")))
                .step(tag(&[
                    (format!("{x}_outer"), "block.x"),
                    (format!("{x}_thread"), "thread.x"),
                    (format!("{x}_vec"), "vec"),
                ])),
        );
    }
    let plain = nest.inner.is_empty() && nest.instructions.iter().all(|i| i.update.is_none());
    if nest.band.len() == 1 && plain && nest.neighbours(x).0 > 0 {
        let reason = format!(
            "{coalesced}; {IN_FLIGHT} elements a thread are in flight at a time, since rows are not \
             known to consist of whole vectors"
        );
        proposals.push(
            Proposal::new(reason)
                .step(split(x, IN_FLIGHT * THREADS / 2))
                .step(split_as(format!("{x}_inner"), THREADS / 2, format!("{x}_part"), format!("{x}_thread")))
                .step(tag(&[
                    (format!("{x}_outer"), "block.x"),
                    (format!("{x}_thread"), "thread.x"),
                    (format!("{x}_part"), "ilp"),
                ])),
        );
    }
    // The last one is for neighbours of nests whose blocks are boxes.
    for threads in [THREADS, i64::from(target.warp_size)] {
        proposals.push(
            Proposal::new(coalesced)
                .step(split(x, threads))
                .step(tag(&[(format!("{x}_outer"), "block.x"), (format!("{x}_inner"), "thread.x")])),
        );
    }
    proposals
}

/// Boxes of a warp's width along `x`, a vector of this width for each thread, and of these lengths
/// along others, each with the axis of its inner part.
fn boxed(
    nest: &Nest<'_>,
    x: &Name,
    width: i64,
    others: &[(&Name, i64, Option<&'static str>)],
    coalesced: &str,
    target: &Target,
) -> Proposal {
    let row = i64::from(target.warp_size) * width;
    let shape: Vec<String> =
        others.iter().rev().map(|(_, n, _)| n.to_string()).chain([row.to_string()]).collect();
    let vectors = if width > 1 { format!(", in whole vectors of {width}") } else { String::new() };
    let reason = format!("{coalesced}; a block takes a box of {}{vectors}", shape.join(" x "));
    let mut proposal = Proposal::new(reason).step(split(x, row));
    let mut loops = vec![Along::outer(x, row)];
    let mut inner = vec![(format!("{x}_inner"), "thread.x")];
    if width > 1 {
        let (thread, vec) = (format!("{x}_thread"), format!("{x}_vec"));
        proposal = proposal.step(split_as(format!("{x}_inner"), width, &thread, &vec));
        inner = vec![(thread, "thread.x"), (vec, "vec")];
    }
    for (other, length, axis) in others {
        proposal = proposal.step(split(other, *length));
        loops.push(Along::outer(other, *length));
        inner.extend(axis.map(|axis| (format!("{other}_inner"), axis)));
    }
    let (proposal, mut tags) = on_axes(nest, proposal, loops, &AXES);
    tags.extend(inner);
    proposal.step(tag(&tags))
}
