//! Partial tiles that the sample has but the problem does not.
//!
//! Counts are scaled from the sample to the problem as if both were alike. If the length of a tile
//! divides a size of the problem but not that of the sample, the sample ends in a partial tile: its
//! idle lanes and guarded accesses are counted and scaled, although the problem has none. Long
//! tiles are affected most, and may rank last although they are best.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{Aff, Diagnostic, LoopKernel, Name};
use loopwright_runtime::{Args, known};

use crate::Point;
use crate::candidate::Plan;
use crate::points::ranges;

/// One sentence for each size of the sample that tiles of the points do not divide although they
/// divide the problem's, with a size that they divide. The length of a tile depends on a single
/// parameter, so one point for each candidate of each parameter suffices.
pub(crate) fn notes(plan: &Plan<'_>, points: &[Point], sample: &Args) -> Result<Vec<String>, Diagnostic> {
    let declared = plan.kernel.declared();
    let (problem, smaller) = (known(declared, plan.args)?.integers, known(declared, sample)?.integers);
    let (whole, part) = (ranges(declared, &problem), ranges(declared, &smaller));
    let mut sizes: Vec<(Name, i64, i64)> = Vec::new();
    for iname in declared.base_inames() {
        if let (Some(all), Some(few)) = (whole.get(&iname), part.get(&iname)) {
            sizes.push((iname, length(*all), length(*few)));
        }
    }
    sizes.retain(|(_, all, few)| all != few && *few > 0);
    let mut tiles: BTreeMap<&Name, BTreeSet<i64>> = BTreeMap::new();
    for point in one_for_each_candidate(points) {
        // A point that cannot be made is reported elsewhere.
        let bound = plan.pipeline.bind(point.values().map(|(n, v)| (n.as_str(), v)));
        let Ok(kernel) = bound.and_then(|p| p.apply_unjudged(plan.kernel)) else { continue };
        for (iname, all, few) in &sizes {
            let lengths = tiles_of(&kernel, iname);
            tiles
                .entry(iname)
                .or_default()
                .extend(lengths.into_iter().filter(|t| all % t == 0 && few % t != 0));
        }
    }
    let mut notes = Vec::new();
    for (iname, all, few) in &sizes {
        let Some(lengths) = tiles.get(iname).filter(|lengths| !lengths.is_empty()) else { continue };
        let named = problem.iter().find(|(n, v)| **v == *all && smaller.get(*n) == Some(few));
        let size = named.map_or_else(|| format!("the range of `{iname}`"), |(n, _)| n.to_string());
        // It divides the problem's size, as all of them do.
        let multiple = lengths.iter().fold(1, |m, t| m / gcd(m, *t) * t);
        let listed: Vec<String> = lengths.iter().map(i64::to_string).collect();
        notes.push(format!(
            "tiles of {} divide the problem's {size}={all} and not the sample's {size}={few}: what \
             partial tiles cost there is counted, and the problem has none; take a sample with \
             {size}={}",
            listed.join(", "),
            (few + multiple - 1) / multiple * multiple
        ));
    }
    Ok(notes)
}

fn length((low, high): (f64, f64)) -> i64 {
    (high - low + 1.0) as i64
}

/// The first point with each candidate of each parameter.
fn one_for_each_candidate(points: &[Point]) -> Vec<&Point> {
    let mut seen: BTreeSet<(&Name, i64)> = BTreeSet::new();
    let mut taken = Vec::new();
    for point in points {
        let before = seen.len();
        seen.extend(point.values());
        if seen.len() > before {
            taken.push(point);
        }
    }
    taken
}

/// The lengths of the tiles that an iname was split into, including nested tiles.
fn tiles_of(kernel: &LoopKernel, iname: &Name) -> Vec<i64> {
    let expanded = kernel.definition(iname).and_then(|definition| kernel.expand(definition).ok());
    let factors = |aff: Aff| -> Vec<i64> {
        let names = aff.names();
        let inames = names.iter().filter(|n| kernel.is_iname(n));
        inames.map(|n| aff.coefficient(n).saturating_abs()).filter(|factor| *factor > 1).collect()
    };
    expanded.map_or_else(Vec::new, factors)
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
