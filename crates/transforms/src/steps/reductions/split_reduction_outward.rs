//! Leaves some inames of a reduction to an outer one.

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
use loopwright_legality::Judgement;

use super::split_reduction::{Side, split};
use crate::Transform;

step! {
    /// `split_reduction_outward(i_outer)`: `sum([i_outer, i_inner], e)` becomes
    /// `sum(i_outer, sum(i_inner, e))`.
    ///
    /// As [`SplitReductionInward`](crate::SplitReductionInward), but the listed inames stay with
    /// the outer reduction and the others go to the inner one.
    ///
    /// # Legality
    ///
    /// That of [`SplitReductionInward`](crate::SplitReductionInward): the points of the reduction
    /// are grouped, which its operator has to allow.
    ///
    /// In text: `split_reduction_outward(i_outer)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel two_sums(x: f32[n, n], y: f32[n], out: f32[n], n: i32)
    /// domain { [s, i, j] : 0 <= s < n and 0 <= i < n and 0 <= j < n }
    /// out[s] = y[s] + sum([i, j], x[i, j] * y[s]) * sum([i, j], x[j, i]) {id=both}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// split_reduction_outward(i)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel two_sums(x: f32[n, n], y: f32[n], out: f32[n], n: i32)
    /// domain { [s, i, j] : 0 <= s < n and 0 <= i < n and 0 <= j < n }
    /// out[s] = y[s] + sum(i, sum(j, x[i, j] * y[s])) * sum(i, sum(j, x[j, i])) {id=both, inames=s}
    /// tree {
    ///     for s {
    ///         both.init1
    ///         both.init3
    ///         for i {
    ///             both.init2
    ///             both.init
    ///             for j {
    ///                 both.update
    ///                 both.update2
    ///             }
    ///             both.update1
    ///             both.update3
    ///         }
    ///         both.finish
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[serde(transparent)]
    pub struct SplitReductionOutward as "split_reduction_outward" {
        /// Some of the inames of a reduction.
        pub inames: Vec<Name> = names("some of the inames of a reduction") of Inames,
    }
    table: "split_reduction_outward(i_outer)" => "`split_reduction_outward(k, \"i_outer\")`",
    methods: {
        /// See [`SplitReductionOutward`].
        fn split_reduction_outward(&self, inames: impl IntoNames) -> Result<Self, Diagnostic> {
            self.step(SplitReductionOutward { inames: inames.into_names() })
        }
    }
}

impl SplitReductionOutward {
    /// Splits the reductions over these inames.
    pub fn new<N: Into<Name>>(inames: impl IntoIterator<Item = N>) -> Self {
        SplitReductionOutward { inames: inames.into_iter().map(Into::into).collect() }
    }
}

impl Transform for SplitReductionOutward {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        split(kernel, &self.inames, Side::Outward)
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("the same points are joined, up to reassociation")
    }
}
