//! Unrolls loops.

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name, Tag};
use loopwright_legality::Judgement;

use crate::{TagInames, Transform};

step! {
    /// `unroll(i)`: unrolls the loop over `i`, whose length must be constant; the same as
    /// `tag_inames(i: unroll)`.
    ///
    /// # Legality
    ///
    /// The order of executions stays the same, so the step is always legal.
    ///
    /// In text: `unroll(i, j)`.
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
    /// fix_parameters(len=1024)
    /// split_iname(i, 128)
    /// unroll(i_outer)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel segmented_sum(x: f32[nseg, 1024], out: f32[nseg], nseg: i32, len: i32)
    /// assume 1 <= nseg and 0 <= len and len = 1024
    /// domain { [s] : 0 <= s < nseg }
    /// domain { [i] : 0 <= i <= 1023 }
    /// domain { [i_outer, i_inner] : 0 <= i_inner <= 127 }
    /// let i = 128*i_outer + i_inner
    /// tag i_outer: unroll
    /// out[s] = sum([i_outer, i_inner], x[s, i]) {id=total, inames=s}
    /// tree {
    ///     for s {
    ///         total.init
    ///         for i_outer {
    ///             for i_inner {
    ///                 total.update
    ///             }
    ///         }
    ///         total.finish
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[serde(transparent)]
    pub struct Unroll as "unroll" {
        /// Inames whose lengths are bounded by constants.
        pub inames: Vec<Name> = names("the inames to unroll") of Inames,
    }
    table: "unroll(i)" => "`tag_inames(k, \"i:unr\")`",
    methods: {
        /// See [`Unroll`].
        fn unroll(&self, inames: impl IntoNames) -> Result<Self, Diagnostic> {
            self.step(Unroll { inames: inames.into_names() })
        }
    }
}

impl Unroll {
    /// Unrolls these loops, whose lengths have to be bounded by constants.
    pub fn new<N: Into<Name>>(inames: impl IntoIterator<Item = N>) -> Self {
        Unroll { inames: inames.into_iter().map(Into::into).collect() }
    }
}

impl Transform for Unroll {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        TagInames { tags: self.inames.iter().map(|i| (i.clone(), Tag::Unroll)).collect() }.apply(kernel)
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("unrolling keeps all executions and their order")
    }
}
