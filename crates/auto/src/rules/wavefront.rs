//! Nests in which every loop carries a dependence, on neighbours in several directions: sweeps in
//! place.
//!
//! Along a skewed direction `w`, a sum of the inames with small coefficients, every dependence goes
//! forward: `w` becomes a loop of the host, and the points of one `w` are independent. The
//! distances of dependences follow from subscripts that differ by constants; the smallest
//! coefficients for which all distances are positive are proposed. The last iname of the nest is
//! replaced.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel sweep(x: f32[n, n], n: i32)
//! assume 2 <= n
//! domain { [i, j] : 1 <= i < n and 1 <= j < n }
//! x[i, j] = x[i - 1, j] + x[i, j - 1] {id=add}
//! ")?;
//! assert_eq!(auto(&kernel, &Target::default()).pipeline.to_string(), "\
//! map_domain([i, j] -> [w, i], w = i + j)
//! split_iname(i, 128)
//! tag_inames(w: host, i_inner: thread.x, i_outer: block.x)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_lowering::Target;

use crate::{
    Nest, Proposal, Rule,
    grid::{AXES, Along, on_axes},
    text::{names, split, tag},
};

pub struct Wavefront;

/// The greatest coefficient of an iname.
const MOST: i64 = 6;

impl Rule for Wavefront {
    fn name(&self) -> &'static str {
        "wavefront"
    }

    fn propose(&self, nest: &Nest<'_>, _: &Target) -> Vec<Proposal> {
        let band = &nest.band;
        if !nest.inner.is_empty() || !(2..=3).contains(&band.len()) || !nest.is_map() {
            return Vec::new();
        }
        let w = nest.fresh();
        let Some((w, (last, kept))) = w.zip(band.split_last()) else { return Vec::new() };
        let Some(coefficients) = distances(nest).and_then(|d| direction(&d, kept.len())) else {
            return Vec::new();
        };
        let terms = kept.iter().zip(&coefficients).map(|(n, c)| match c {
            1 => n.to_string(),
            c => format!("{c}*{n}"),
        });
        let sum = terms.chain([last.to_string()]).collect::<Vec<_>>().join(" + ");
        let listed = |all: Vec<String>| all.join(", ");
        let old = listed(band.iter().map(ToString::to_string).collect());
        let new =
            listed(std::iter::once(w.to_string()).chain(kept.iter().map(ToString::to_string)).collect());
        let reason = format!(
            "each of {} carries a dependence, and all go forward along `{w} = {sum}`: the host launches \
                 the points of one `{w}`",
            names(band)
        );
        let mut proposal = Proposal::new(reason).step(format!("map_domain([{old}] -> [{new}], {w} = {sum})"));
        let mut tags = vec![(w.to_string(), "host")];
        let lengths = if kept.len() == 1 { [128, 1] } else { [64, 4] };
        let mut loops = Vec::new();
        for ((n, axis), length) in kept.iter().rev().zip(["thread.x", "thread.y"]).zip(lengths) {
            proposal = proposal.step(split(n, length));
            loops.push(Along::outer(n, length));
            tags.push((format!("{n}_inner"), axis));
        }
        let (proposal, grid) = on_axes(nest, proposal, loops, &AXES);
        tags.extend(grid);
        vec![proposal.step(tag(&tags))]
    }
}

/// Distances that dependences may have, in the inames of the band, each lexicographically positive;
/// `None` if some subscripts do not differ by constants.
fn distances(nest: &Nest<'_>) -> Option<Vec<Vec<i64>>> {
    let band = &nest.band;
    let mut found: Vec<Vec<i64>> = Vec::new();
    for write in nest.sites.iter().filter(|s| s.is_write) {
        for other in nest.sites.iter().filter(|s| s.array == write.array) {
            let mut apart: Vec<Option<i64>> = vec![None; band.len()];
            for (a, b) in write.index.iter().zip(&other.index) {
                let (a, b) = (a.as_ref()?, b.as_ref()?);
                let difference = a.sub(b).ok()?.as_constant()?;
                let moving: Vec<usize> = (0..band.len()).filter(|k| a.mentions(&band[*k])).collect();
                match *moving {
                    [k] if a.coefficient(&band[k]) == 1 => apart[k] = Some(difference),
                    [] if difference == 0 => {}
                    // Constants that differ are cells that never meet; other forms are not looked
                    // at.
                    _ => return None,
                }
            }
            // A loop without a subscript meets the same cells in each iteration: only the
            // outermost.
            if apart.iter().skip(1).any(Option::is_none) {
                return None;
            }
            let mut distance: Vec<i64> = apart.iter().map(|d| d.unwrap_or(0)).collect();
            if distance.iter().find(|d| **d != 0).is_some_and(|first| *first < 0) {
                distance.iter_mut().for_each(|d| *d = -*d);
            }
            if distance.iter().any(|d| *d != 0) {
                found.push(distance.clone());
            }
            if apart.first().is_some_and(Option::is_none) {
                let later: Vec<i64> =
                    distance.iter().enumerate().map(|(k, d)| if k == 0 { 1 } else { -d }).collect();
                found.push(later);
            }
        }
    }
    Some(found)
}

/// The smallest coefficients of all inames but the last, whose coefficient is 1, with which every
/// distance is positive.
fn direction(distances: &[Vec<i64>], kept: usize) -> Option<Vec<i64>> {
    let mut all: Vec<Vec<i64>> = vec![Vec::new()];
    for _ in 0..kept {
        let longer = |c: &Vec<i64>| {
            let c = c.clone();
            (1..=MOST).map(move |k| [c.as_slice(), &[k]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all.sort_by_key(|c| c.iter().sum::<i64>());
    let along = |c: &[i64], d: &[i64]| d.iter().zip(c.iter().chain([&1])).map(|(d, c)| d * c).sum::<i64>();
    all.into_iter().find(|c| distances.iter().all(|d| along(c, d) > 0))
}
