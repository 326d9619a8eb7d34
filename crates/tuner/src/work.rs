//! How the work of a kernel grows with its sizes, to scale what a sample shows to the problem.
//!
//! The work of an instruction is how often its part runs that runs most often: a formula of the
//! parameters (crate `counts`), which is exact for boxes, triangles and their splits. Where an
//! instruction has no formula, the product of its loops' ranges takes its place (`points`), by
//! which a triangle counts as its square; which instructions these are, and why, can be asked for.

use std::collections::BTreeMap;

use loopwright_counts::{Formula, executions};
use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name, Part, PartRef};

use crate::points::{product, ranges};

/// The work of a kernel, as a function of its sizes.
pub(crate) struct Work<'k> {
    kernel: &'k LoopKernel,
    instructions: Vec<OfInstruction>,
}

/// The parts of an instruction, each with its formula, or why it has none.
struct OfInstruction {
    id: Name,
    parts: Vec<(PartRef, Result<Formula, Diagnostic>)>,
}

impl<'k> Work<'k> {
    /// That of a declared kernel, where the reductions of some instructions are scans, which add
    /// one point in each iteration of the loops around them.
    pub fn of(kernel: &'k LoopKernel, is_scan: &dyn Fn(&Name) -> bool) -> Work<'k> {
        let mut counted = executions(kernel);
        let instructions = kernel.instructions.iter().map(|instruction| {
            let mut parts = kernel.parts(instruction);
            if is_scan(&instruction.id) {
                parts.retain(|p| !matches!(p.part, Part::Update(_)));
            }
            let mut formula = |part: &PartRef| match &mut counted {
                Ok(counted) => match counted.iter().position(|found| found.part == *part) {
                    Some(at) => counted.swap_remove(at).total.formula,
                    None => Err(Diagnostic::new("count-undecided", format!("`{part}` is not counted"))),
                },
                Err(refusal) => Err(refusal.clone()),
            };
            let parts = parts.into_iter().map(|part| (part.clone(), formula(&part))).collect();
            OfInstruction { id: instruction.id.clone(), parts }
        });
        let instructions = instructions.collect();
        Work { kernel, instructions }
    }

    /// The work at these sizes, up to a factor that cancels in ratios of two sizes; `None` if a
    /// bound depends on data.
    pub fn at(&self, integers: &BTreeMap<Name, i64>) -> Option<f64> {
        let mut known = None;
        let mut sum = 0.0;
        for instruction in &self.instructions {
            let exact = instruction.parts.iter().map(|(_, formula)| {
                let value = formula.as_ref().ok()?.eval(&|name| integers.get(name).copied())?;
                Some(value as f64)
            });
            let of_parts = match exact.collect::<Option<Vec<f64>>>() {
                Some(exact) => exact,
                None => {
                    let ranges = known.get_or_insert_with(|| ranges(self.kernel, integers));
                    let by_ranges =
                        |(part, _): &(PartRef, _)| product(ranges, &self.kernel.part_inames(part));
                    instruction.parts.iter().map(by_ranges).collect::<Option<Vec<f64>>>()?
                }
            };
            sum += of_parts.into_iter().fold(0.0, f64::max);
        }
        Some(sum)
    }

    /// A sentence for each instruction without a formula.
    pub fn estimated(&self) -> Vec<String> {
        let without = self.instructions.iter().filter_map(|instruction| {
            let refusal = instruction.parts.iter().find_map(|(_, formula)| formula.as_ref().err())?;
            Some(format!(
                "the work of `{}` has no formula, and is taken to grow with the ranges of its loops, or \
                 with the arrays where data decide: {}",
                instruction.id, refusal.message
            ))
        });
        without.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(text: &str) -> LoopKernel {
        LoopKernel::parse(text).expect("a kernel")
    }

    fn at(work: &Work<'_>, n: i64) -> f64 {
        work.at(&BTreeMap::from([(Name::new("n"), n)])).expect("known bounds")
    }

    /// A triangle beside a square: their sizes add up as they are.
    #[test]
    fn triangles_count_as_triangles() {
        let kernel = kernel(
            "kernel k(x: f32[n, n], y: f32[n, n], n: i32)\nassume 0 <= n\n\
             domain { [i, j] : 0 <= i < n and 0 <= j < n }\ndomain { [p, q] : 0 <= p < n and 0 <= q < p }\n\
             x[i, j] = 1.0\ny[p, q] = 2.0\n",
        );
        let work = Work::of(&kernel, &|_| false);
        assert_eq!(at(&work, 10), 100.0 + 45.0);
        assert!(work.estimated().is_empty());
    }

    /// What has no formula is said; where data decide, ranges say nothing either.
    #[test]
    fn what_has_no_formula_is_said() {
        let kernel = kernel(
            "kernel k(x: f32[m], off: i32[n + 1], y: f32[n], n: i32, m: i32)\nassume 0 <= n and 0 <= m\n\
             fact monotone(off)\nfact 0 <= off <= m\n\
             domain { [s] : 0 <= s < n }\ndomain { [i] : lo <= i < hi }\n\
             temp lo: i32 private\ntemp hi: i32 private\n\
             lo = off[s]\nhi = off[s + 1]\ny[s] = sum(i, x[i])\n",
        );
        let work = Work::of(&kernel, &|_| false);
        let sizes = BTreeMap::from([(Name::new("n"), 3), (Name::new("m"), 10)]);
        assert_eq!((work.estimated().len(), work.at(&sizes)), (1, None));
    }
}
