//! Comparison of two pipelines, and bisection for the step that made a property false.

use std::fmt;

use loopwright_kernel_ir::{Diagnostic, LoopKernel};

use crate::{Pipeline, TextDiff, Transform};

/// The first point at which two pipelines produce different kernels.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// Number of steps of each after which the kernels are still equal; the next step is the first
    /// that differs.
    pub equal_steps: usize,
    /// The next step of each pipeline, if it has one, and the kernel that it produces.
    pub sides: [(Option<String>, Result<LoopKernel, Diagnostic>); 2],
    /// The lines in which the two kernels differ, or a kernel and a refusal.
    pub difference: TextDiff,
    /// Whether the final kernels are equal nevertheless.
    pub same_end: bool,
}

/// The step that made a property false.
#[derive(Clone, Debug)]
pub struct Culprit {
    /// Its index in the pipeline, from zero.
    pub number: usize,
    /// Its text, as in a pipeline.
    pub step: String,
    /// Earlier steps after which the property could not be evaluated; one of these may be the
    /// culprit instead.
    pub unknown: Vec<usize>,
    /// The last kernel that has the property.
    pub before: LoopKernel,
    /// The first kernel that does not have it.
    pub after: LoopKernel,
}

/// The result of the search for the step that made a property false.
#[derive(Clone, Debug)]
pub enum Bisection {
    /// The final kernel has the property, and so has every kernel for which it could be evaluated.
    Holds,
    /// The kernel did not have the property before the first step.
    NeverHeld,
    /// The property is lost at this step.
    Found(Box<Culprit>),
}

impl Pipeline {
    /// Applies two pipelines to one kernel in lockstep, with every check, up to the first step
    /// after which the kernels differ; `None` if they are equal throughout. A refusal differs from
    /// any kernel.
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let kernel = LoopKernel::parse("\
    /// kernel twice(x: f32[n], y: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// y[i] = 2.0 * x[i] {id=double}
    /// ")?;
    /// let narrow = Pipeline::parse("split_iname(i, 32)\ntag_inames(i_outer: block.x, i_inner: thread.x)")?;
    /// let wide = Pipeline::parse("split_iname(i, 64)\ntag_inames(i_outer: block.x, i_inner: thread.x)")?;
    /// let divergence = narrow.compare(&wide, &kernel).unwrap();
    /// assert_eq!(divergence.equal_steps, 0);
    /// assert_eq!(divergence.to_string(), "\
    /// step 1 differs
    ///   first:  split_iname(i, 32)
    ///   second: split_iname(i, 64)
    /// - domain { [i_outer, i_inner] : 0 <= i_inner <= 31 }
    /// - let i = 32*i_outer + i_inner
    /// + domain { [i_outer, i_inner] : 0 <= i_inner <= 63 }
    /// + let i = 64*i_outer + i_inner
    /// ");
    /// assert!(narrow.compare(&narrow.clone(), &kernel).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compare(&self, other: &Pipeline, kernel: &LoopKernel) -> Option<Divergence> {
        let mut equal = kernel.clone();
        for number in 0..self.steps().len().max(other.steps().len()) {
            let (first, second) = (self.steps().get(number), other.steps().get(number));
            if first == second {
                // A refusal is the same on both sides: nothing after it can differ.
                equal = first.map_or(Ok(equal.clone()), |s| s.apply(&equal)).ok()?;
                continue;
            }
            let after = |step: Option<&crate::Step>| step.map_or(Ok(equal.clone()), |s| s.apply(&equal));
            let sides = [after(first), after(second)];
            if let [Ok(a), Ok(b)] = &sides
                && a == b
            {
                equal = a.clone();
                continue;
            }
            let text = |side: &Result<LoopKernel, Diagnostic>| match side {
                Ok(kernel) => kernel.to_string(),
                Err(refusal) => refusal.to_string(),
            };
            let difference = TextDiff::of(&text(&sides[0]), &text(&sides[1]));
            let same_end = match (self.apply(kernel), other.apply(kernel)) {
                (Ok(a), Ok(b)) => a == b,
                _ => false,
            };
            let [a, b] = sides;
            let name = |step: Option<&crate::Step>| step.map(ToString::to_string);
            return Some(Divergence {
                equal_steps: number,
                sides: [(name(first), a), (name(second), b)],
                difference,
                same_end,
            });
        }
        None
    }

    /// The first step that made a property of the kernel false. All steps are applied, with every
    /// check, and the property is evaluated before the first step and after each one, in order,
    /// since it need not be monotone. Where it cannot be evaluated (it may be impossible to lower
    /// the kernel in the middle of a pipeline), `property` returns an error and the step is
    /// skipped.
    ///
    /// To test a property of the lowered program, or of a run on the emulator, lower the kernel in
    /// `property`.
    ///
    /// Errors: a step that is refused.
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::{Bisection, Pipeline};
    ///
    /// let kernel = LoopKernel::parse("\
    /// kernel twice(x: f32[n], y: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// y[i] = 2.0 * x[i] {id=double}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// split_iname(i, 256)
    /// tag_inames(i_outer: block.x)
    /// split_iname(i_inner, 32)
    /// tag_inames(i_inner_inner: thread.x)
    /// ")?;
    /// // Which step brought in the threads?
    /// let found = steps.bisect(&kernel, |k| Ok(!k.tags.values().any(|t| t.is_in_block())))?;
    /// let Bisection::Found(culprit) = found else { panic!("{found:?}") };
    /// assert_eq!((culprit.number, culprit.step.as_str()), (3, "tag_inames(i_inner_inner: thread.x)"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bisect(
        &self,
        kernel: &LoopKernel,
        mut property: impl FnMut(&LoopKernel) -> Result<bool, Diagnostic>,
    ) -> Result<Bisection, Diagnostic> {
        let trace = self.apply_traced(kernel)?;
        if let Ok(false) = property(kernel) {
            return Ok(Bisection::NeverHeld);
        }
        let mut before = kernel;
        let mut unknown = Vec::new();
        for (number, traced) in trace.iter().enumerate() {
            match property(&traced.kernel) {
                Ok(true) => {
                    unknown.clear();
                    before = &traced.kernel;
                }
                Ok(false) => {
                    return Ok(Bisection::Found(Box::new(Culprit {
                        number,
                        step: traced.step.clone(),
                        unknown,
                        before: before.clone(),
                        after: traced.kernel.clone(),
                    })));
                }
                Err(_) => unknown.push(number),
            }
        }
        Ok(Bisection::Holds)
    }
}

/// The two steps, and the lines in which the resulting kernels differ.
impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "step {} differs", self.equal_steps + 1)?;
        for (name, (step, outcome)) in ["first: ", "second:"].iter().zip(&self.sides) {
            let refused = if outcome.is_err() { ", refused" } else { "" };
            let step = step.as_deref().unwrap_or("no step");
            let mut lines = step.lines();
            writeln!(f, "  {name} {}{refused}", lines.next().unwrap_or_default())?;
            lines.try_for_each(|line| writeln!(f, "          {line}"))?;
        }
        write!(f, "{}", self.difference)?;
        if self.same_end {
            writeln!(f, "the final kernels are equal")?;
        }
        Ok(())
    }
}

impl fmt::Display for Bisection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let culprit = match self {
            Bisection::Holds => return writeln!(f, "no step made it false"),
            Bisection::NeverHeld => return writeln!(f, "it does not hold before the first step"),
            Bisection::Found(culprit) => culprit,
        };
        let step = format!("step {}, `{}`", culprit.number + 1, culprit.step);
        let numbers: Vec<String> = culprit.unknown.iter().map(|n| (n + 1).to_string()).collect();
        match numbers.as_slice() {
            [] => writeln!(f, "{step}, made it false")?,
            [one] => writeln!(f, "{step}, or step {one}, after which it cannot be evaluated, made it false")?,
            _ => writeln!(
                f,
                "{step}, or one of the steps {}, after which it cannot be evaluated, made it false",
                numbers.join(", ")
            )?,
        }
        write!(f, "{}", TextDiff::of(&culprit.before.to_string(), &culprit.after.to_string()))
    }
}
