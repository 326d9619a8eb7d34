//! The number of points of a declared kernel at given sizes, roughly: whether there are any, and
//! whether a problem is small. How work grows is asked of `work`.
//!
//! The range of each iname is taken over the ranges of those around it, as in interval arithmetic,
//! so that a triangle counts as its square. This is used for ratios of two sizes of one kernel, in
//! which the factor cancels.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Aff, Kind, LoopKernel, Name};

/// The work of a declared kernel at these sizes, up to a factor that cancels in ratios of two
/// sizes: the sum over instructions of the product of their inames' ranges. `None` if a bound
/// depends on data.
pub fn points(kernel: &LoopKernel, integers: &BTreeMap<Name, i64>) -> Option<f64> {
    let ranges = ranges(kernel, integers);
    let mut sum = 0.0;
    for instruction in &kernel.instructions {
        let parts = kernel.parts(instruction);
        let of_parts = parts.iter().map(|p| product(&ranges, &kernel.part_inames(p)));
        sum += of_parts.collect::<Option<Vec<_>>>()?.into_iter().fold(0.0, f64::max);
    }
    Some(sum)
}

/// The product of the lengths of inames' ranges; `None` if the range of one is not known. An empty
/// range around one that depends on data still leaves nothing.
pub(crate) fn product(ranges: &BTreeMap<Name, (f64, f64)>, inames: &[Name]) -> Option<f64> {
    let lengths = inames.iter().map(|i| ranges.get(i).map(|(low, high)| (high - low + 1.0).max(0.0)));
    let lengths: Vec<Option<f64>> = lengths.collect();
    if lengths.contains(&Some(0.0)) { Some(0.0) } else { lengths.into_iter().product() }
}

/// The least and the greatest value of each iname and of each parameter; inames whose bounds depend
/// on data are left out.
pub(crate) fn ranges(kernel: &LoopKernel, integers: &BTreeMap<Name, i64>) -> BTreeMap<Name, (f64, f64)> {
    let bounds = bounds(kernel);
    let of = |n: i64| (n as f64, n as f64);
    let mut known: BTreeMap<Name, (f64, f64)> =
        integers.iter().map(|(name, v)| (name.clone(), of(*v))).collect();
    let first = completed(kernel, &bounds, known.clone());
    // A bound of a loop may have been passed over for one of its parts, since another part had no
    // range yet; their own lengths say less. Bounds by other loops do not count: those inside may
    // be empty in some iterations.
    for definition in &kernel.definitions {
        let parts = kernel.expand(&definition.value).map(|aff| aff.names()).unwrap_or_default();
        let is_own = |n: &Name| parts.contains(n) || integers.contains_key(n);
        let own: Vec<Aff> = bounds.iter().filter(|aff| aff.names().iter().all(is_own)).cloned().collect();
        let mut ranges: BTreeMap<Name, (f64, f64)> =
            parts.iter().chain(integers.keys()).filter_map(|n| Some((n.clone(), *first.get(n)?))).collect();
        // Twice: the first ones may need those of the last.
        for iname in parts.iter().chain(&parts) {
            let Some((low, high)) = ranges.get(iname).copied() else { continue };
            if let Some((new_low, new_high)) = range(&own, iname, &ranges) {
                let low = low.max(new_low);
                ranges.insert(iname.clone(), (low, high.min(new_high).max(low - 1.0)));
            }
        }
        ranges.retain(|n, range| first.get(n).is_some_and(|before| before != range));
        known.extend(ranges);
    }
    if known.len() == integers.len() { first } else { completed(kernel, &bounds, known) }
}

/// These ranges, and those that follow from them.
fn completed(
    kernel: &LoopKernel,
    bounds: &[Aff],
    mut ranges: BTreeMap<Name, (f64, f64)>,
) -> BTreeMap<Name, (f64, f64)> {
    let mut open = kernel.base_inames();
    open.retain(|iname| !ranges.contains_key(iname));
    // An iname may be bounded by one that comes later, as after a change of directions.
    loop {
        let before = open.len();
        open.retain(|iname| match range(bounds, iname, &ranges) {
            Some(range) => {
                ranges.insert(iname.clone(), range);
                false
            }
            None => true,
        });
        if open.len() == before {
            return ranges;
        }
    }
}

/// The functions that are at least zero, over base inames.
fn bounds(kernel: &LoopKernel) -> Vec<Aff> {
    let mut found = Vec::new();
    for constraint in kernel.domains.iter().flat_map(|d| &d.constraints) {
        let aff = kernel.expand(&constraint.aff).unwrap_or_else(|_| constraint.aff.clone());
        if constraint.kind == Kind::Eq {
            found.extend(aff.neg());
        }
        found.push(aff);
    }
    found
}

/// The most iterations that a loop inside of these has each time: one for a loop from `k` to `k`,
/// however large `k` may be. `None` if it has no bound in one direction.
pub(crate) fn iterations(
    kernel: &LoopKernel,
    iname: &Name,
    outside: &[Name],
    integers: &BTreeMap<Name, i64>,
) -> Option<f64> {
    let (ranges, bounds) = (ranges(kernel, integers), bounds(kernel));
    // Loops elsewhere, and those inside, have bounds of their own.
    let is_known = |n: &Name| n == iname || outside.contains(n) || integers.contains_key(n);
    let own = |aff: &&Aff| aff.names().iter().all(is_known);
    let of = |factor: i64| bounds.iter().filter(own).filter(move |aff| aff.coefficient(iname) == factor);
    let (low, high) = ranges.get(iname)?;
    let mut most = high - low;
    for begin in of(1) {
        let between = of(-1).filter_map(|end| greatest(&begin.add(end).ok()?, iname, &ranges));
        most = between.fold(most, f64::min);
    }
    Some((most + 1.0).max(0.0))
}

/// The range of an iname over those that are known; none if it has no bound in one direction.
fn range(bounds: &[Aff], iname: &Name, ranges: &BTreeMap<Name, (f64, f64)>) -> Option<(f64, f64)> {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    for aff in bounds {
        let factor = aff.coefficient(iname) as f64;
        if factor == 0.0 {
            continue;
        }
        // factor * iname + rest >= 0, where the rest is at most this.
        let Some(rest) = greatest(aff, iname, ranges) else { continue };
        if factor > 0.0 {
            low = low.max((-rest / factor).ceil());
        } else {
            high = high.min((rest / -factor).floor());
        }
    }
    (low.is_finite() && high.is_finite()).then(|| (low, high.max(low - 1.0)))
}

/// The greatest value of a function without its term in `iname`; none if a name has no range.
fn greatest(aff: &Aff, iname: &Name, ranges: &BTreeMap<Name, (f64, f64)>) -> Option<f64> {
    if !aff.is_affine() {
        return None;
    }
    let mut sum = aff.constant_term() as f64;
    for name in aff.names().iter().filter(|n| *n != iname) {
        let (low, high) = ranges.get(name)?;
        let factor = aff.coefficient(name) as f64;
        sum += (factor * low).max(factor * high);
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, n: i64) -> Option<f64> {
        let kernel = LoopKernel::parse(text).expect("a kernel");
        points(&kernel, &BTreeMap::from([(Name::new("n"), n)]))
    }

    /// Parts of a loop are bounded by the whole, too.
    #[test]
    fn parts_of_loops_have_the_ranges_of_the_whole() {
        let text = "kernel k(c: f32[n], n: i32)\nassume 1 <= n\n\
                    domain { [i] : 0 <= i < n }\nc[i] = 1.0\n";
        let kernel = LoopKernel::parse(text).expect("a kernel");
        let split = "split_iname(i, 8)\nsplit_iname(i_outer, 65535, outer=p, inner=a)";
        let kernel = loopwright_transforms::Pipeline::parse(split).and_then(|p| p.apply(&kernel));
        let kernel = kernel.expect("legal steps");
        let integers = BTreeMap::from([(Name::new("n"), 64)]);
        let at = |iname: &str| iterations(&kernel, &Name::new(iname), &[], &integers);
        assert_eq!(["p", "a", "i_inner"].map(at), [Some(1.0), Some(8.0), Some(8.0)]);
    }

    #[test]
    fn products_of_ranges() {
        let matmul = "kernel k(a: f32[n, n], b: f32[n, n], c: f32[n, n], n: i32)\nassume 0 <= n\n\
                      domain { [i, j, k] : 0 <= i < n and 0 <= j < n and 0 <= k < n }\n\
                      c[i, j] = sum(k, a[i, k] * b[k, j])\n";
        assert_eq!(of(matmul, 10), Some(1000.0));
        let triangle = "kernel k(c: f32[n, n], n: i32)\nassume 0 <= n\n\
                        domain { [i, j] : 0 <= i < n and 0 <= j <= i }\nc[i, j] = 1.0\n";
        assert_eq!(of(triangle, 10), Some(100.0));
        assert_eq!(of(triangle, 0), Some(0.0));
        let ragged = "kernel k(x: f32[n], o: i32[n + 1], y: f32[n], n: i32)\n\
                      assume 0 <= n\n\
                      fact monotone(o)\n\
                      fact 0 <= o <= n\n\
                      domain { [s] : 0 <= s < n }\n\
                      domain { [i] : lo <= i < hi }\n\
                      temp lo: i32 private\n\
                      temp hi: i32 private\n\
                      lo = o[s]\n\
                      hi = o[s + 1]\n\
                      y[s] = sum(i, x[i])\n";
        assert_eq!(of(ragged, 10), None);
    }
}
