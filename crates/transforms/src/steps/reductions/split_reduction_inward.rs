//! Moves some inames of a reduction into an inner one.

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
use loopwright_legality::Judgement;

use super::split_reduction::{Side, split};
use crate::Transform;

step! {
    /// `split_reduction_inward(i_inner)`: `sum([i_outer, i_inner], e)` becomes
    /// `sum(i_outer, sum(i_inner, e))`.
    ///
    /// # Meaning
    ///
    /// The listed inames go to an inner reduction of the same operator, the others stay with the
    /// outer one. The inner reduction begins inside the loops of the outer one, and its result is
    /// the input of one update of the outer one.
    ///
    /// # Legality
    ///
    /// The operator's state must be its one input and its one result, as for sum, product, min,
    /// max, any and all; the loops of the outer reduction must be outside those of the inner one.
    /// The result is the same up to reassociation.
    ///
    /// In text: `split_reduction_inward(i_inner)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel segmented_sum(x: f32[nseg, len], out: f32[nseg], nseg: i32, len: i32)
    /// assume 1 <= nseg and 0 <= len
    /// domain { [s] : 0 <= s < nseg }
    /// domain { [i] : 0 <= i < len }
    /// out[s] = sum(i, x[s, i]) {id=total}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// split_iname(i, 128)
    /// split_reduction_inward(i_inner)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel segmented_sum(x: f32[nseg, len], out: f32[nseg], nseg: i32, len: i32)
    /// assume 1 <= nseg and 0 <= len
    /// domain { [s] : 0 <= s < nseg }
    /// domain { [i] : 0 <= i < len }
    /// domain { [i_outer, i_inner] : 0 <= i_inner <= 127 and 0 <= i_outer and 128*i_outer < len }
    /// let i = 128*i_outer + i_inner
    /// out[s] = sum(i_outer, sum(i_inner, x[s, i])) {id=total, inames=s}
    /// tree {
    ///     for s {
    ///         total.init1
    ///         for i_outer {
    ///             total.init
    ///             for i_inner {
    ///                 total.update
    ///             }
    ///             total.update1
    ///         }
    ///         total.finish
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[serde(transparent)]
    pub struct SplitReductionInward as "split_reduction_inward" {
        /// Some of the inames of a reduction.
        pub inames: Vec<Name> = names("some of the inames of a reduction") of Inames,
    }
    table: "split_reduction_inward(i_inner)" => "`split_reduction_inward(k, \"i_inner\")`",
    methods: {
        /// See [`SplitReductionInward`].
        fn split_reduction_inward(&self, inames: impl IntoNames) -> Result<Self, Diagnostic> {
            self.step(SplitReductionInward { inames: inames.into_names() })
        }
    }
}

impl SplitReductionInward {
    /// Splits the reductions over these inames.
    pub fn new<N: Into<Name>>(inames: impl IntoIterator<Item = N>) -> Self {
        SplitReductionInward { inames: inames.into_iter().map(Into::into).collect() }
    }
}

impl Transform for SplitReductionInward {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        split(kernel, &self.inames, Side::Inward)
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("the same points are joined, up to reassociation")
    }
}
