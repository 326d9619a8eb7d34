//! Loops that are parallel, without reductions: element-wise maps, copies, stencils, updates.
//!
//! The iname along which most accesses are neighbours goes to neighbouring threads, so that the
//! lanes of a warp ask for whole sectors. A thread of a single loop takes several elements: as a
//! vector where all accesses are shown to be whole and aligned, otherwise elements a block's width
//! apart, whose loads are in flight together. Of two and three loops a block takes a box, so that
//! neighbours in the other directions, as a stencil reads them, are found in the first-level cache.
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
//! tag_inames(j_outer: block.x, j_inner: thread.x, i_outer: block.y, i_inner: thread.y)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::Name;
use loopwright_lowering::Target;

use crate::{
    Nest, Proposal, Rule,
    nest::MOST_BLOCKS,
    text::{split, split_as, tag},
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
        let coalesced =
            format!("neighbours of `{x}` are neighbours in memory for {unit} of {moving} accesses along it");
        let mut others: Vec<Name> = parallel.iter().filter(|n| **n != x).cloned().collect();
        // The innermost of the others comes first.
        others.reverse();
        match others.as_slice() {
            [] => one(nest, &x, &coalesced, target),
            [y] => {
                let form = boxed(nest, &x, &[(y, 8, "block.y", Some("thread.y"))], &coalesced, target);
                let copied = read_around(nest);
                let mut tiled = copied.iter().fold(form.clone(), |form, array| {
                    form.step(format!("add_prefetch({array}, [{y}_inner, {x}_inner])"))
                });
                tiled.reason += &format!(
                    ", and copies what it reads of {} to shared memory first",
                    crate::text::names(&copied)
                );
                // Caches serve neighbours as well, without a barrier.
                if copied.is_empty() { vec![form] } else { vec![form, tiled] }
            }
            [y, z, ..] => vec![
                boxed(
                    nest,
                    &x,
                    &[(y, 4, "block.y", Some("thread.y")), (z, 4, "block.z", None)],
                    &coalesced,
                    target,
                ),
                boxed(nest, &x, &[(y, 8, "block.y", Some("thread.y"))], &coalesced, target),
            ],
        }
    }
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

/// Boxes of a warp's width along `x`, and of these lengths along others, each with the axes of its
/// parts.
fn boxed(
    nest: &Nest<'_>,
    x: &Name,
    others: &[(&Name, i64, &'static str, Option<&'static str>)],
    coalesced: &str,
    target: &Target,
) -> Proposal {
    let warp = i64::from(target.warp_size);
    let shape: Vec<String> =
        others.iter().rev().map(|(_, n, ..)| n.to_string()).chain([warp.to_string()]).collect();
    let mut reason = format!("{coalesced}; a block takes a box of {}", shape.join(" x "));
    // Only x has room for whatever length. Neighbouring blocks had better be neighbours in memory,
    // unless there are few of them anyway.
    let long = others.first().filter(|(y, of_block, ..)| !nest.fits_grid(y, *of_block));
    let turned = long.filter(|_| nest.fits_grid(x, warp)).map(|(y, _, axis, _)| (*y, *axis));
    let room = others
        .iter()
        .filter(|(n, of_block, ..)| !nest.fits_grid(n, *of_block) && turned.is_none_or(|(y, _)| y != *n));
    let room: Vec<String> =
        room.map(|(n, of_block, ..)| format!("{} `{n}`", MOST_BLOCKS * of_block)).collect();
    if let Some((y, _)) = turned {
        reason += &format!(", and blocks along `{y}`, of which there may be many, are on the axis with room");
    }
    if !room.is_empty() {
        reason += &format!("; the grid has room for {}", room.join(" and "));
    }
    let mut proposal = Proposal::new(reason).step(split(x, warp));
    let own = turned.map_or("block.x", |(_, axis)| axis);
    let mut tags = vec![(format!("{x}_outer"), own), (format!("{x}_inner"), "thread.x")];
    for (other, length, outer, inner) in others {
        proposal = proposal.step(split(other, *length));
        let outer = if turned.is_some_and(|(y, _)| y == *other) { &"block.x" } else { outer };
        tags.push((format!("{other}_outer"), *outer));
        if let Some(inner) = *inner {
            tags.push((format!("{other}_inner"), inner));
        }
    }
    proposal.step(tag(&tags))
}
