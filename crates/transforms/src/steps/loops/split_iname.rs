//! Splits a loop into an outer and an inner one.

use loopwright_kernel_ir::{Aff, Constraint, Definition, Diagnostic, Domain, LoopKernel, Name, Tree};
use loopwright_legality::Judgement;

use crate::{
    Number, Transform,
    rewrite::{replace_in_lists, require_iname, require_untagged, split_names},
};

step! {
    /// `split_iname(i, 128)`: the loop over `i` becomes a loop over `i_outer` around one over
    /// `i_inner`, which has 128 iterations.
    ///
    /// # Meaning
    ///
    /// The inames `i_outer` and `i_inner` come with `0 <= i_inner < 128` and the definition
    /// `i = 128*i_outer + i_inner`; expressions and constraints still refer to `i`, so that the
    /// range of `i_outer` follows from that of `i`. In the loop tree, around instructions and in
    /// reductions, `i` is replaced by `i_outer, i_inner`.
    ///
    /// # Legality
    ///
    /// A split in place is always legal: executions and their order stay the same, since
    /// `(i_outer, i_inner) -> i` is a monotone bijection on `0 <= i_inner < 128`. Names that are in
    /// use, inames that are no longer loops, and tagged inames are refused.
    ///
    /// In text: `split_iname(i, 128)`, `split_iname(i, $block, outer=io, inner=ii)`.
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
    /// split_iname(s, 4, outer=so, inner=si)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel segmented_sum(x: f32[nseg, len], out: f32[nseg], nseg: i32, len: i32)
    /// assume 1 <= nseg and 0 <= len
    /// domain { [s] : 0 <= s < nseg }
    /// domain { [i] : 0 <= i < len }
    /// domain { [i_outer, i_inner] : 0 <= i_inner <= 127 }
    /// domain { [so, si] : 0 <= si <= 3 }
    /// let i = 128*i_outer + i_inner
    /// let s = 4*so + si
    /// out[s] = sum([i_outer, i_inner], x[s, i]) {id=total, inames=so:si}
    /// tree {
    ///     for so {
    ///         for si {
    ///             total.init
    ///             for i_outer {
    ///                 for i_inner {
    ///                     total.update
    ///                 }
    ///             }
    ///             total.finish
    ///         }
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct SplitIname as "split_iname" {
        /// The iname of the loop, without a tag.
        pub iname: Name = next("the iname to split"),
        /// Iterations of the inner loop, at least 1.
        pub length: Number = next("the length of the inner loop"),
        /// Name of the outer loop; by default the iname with the suffix `_outer`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub outer: Option<Name> = option(),
        /// Name of the inner loop; by default the iname with the suffix `_inner`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub inner: Option<Name> = option(),
    }
    table: "split_iname(i, 128)" => "`split_iname(k, \"i\", 128)`",
    methods: {
        /// See [`SplitIname`].
        fn split_iname(&self, iname: &str, length: impl Into<Number>) -> Result<Self, Diagnostic> {
            self.step(SplitIname::new(iname, length))
        }
        /// See [`SplitIname`].
        fn split_iname_as(
            &self,
            iname: &str,
            length: impl Into<Number>,
            outer: &str,
            inner: &str,
        ) -> Result<Self, Diagnostic> {
            self.step(SplitIname::new(iname, length).named(outer, inner))
        }
    }
}

impl SplitIname {
    /// A split with default names.
    pub fn new(iname: impl Into<Name>, length: impl Into<Number>) -> Self {
        SplitIname { iname: iname.into(), length: length.into(), outer: None, inner: None }
    }

    /// Names the two loops, instead of `i_outer` and `i_inner`.
    pub fn named(mut self, outer: impl Into<Name>, inner: impl Into<Name>) -> Self {
        (self.outer, self.inner) = (Some(outer.into()), Some(inner.into()));
        self
    }
}

impl Transform for SplitIname {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let iname = &self.iname;
        require_iname(kernel, iname)?;
        require_untagged(kernel, iname, "split")?;
        let length = self.length.at_least(1, "the length of the inner loop")?;
        let (outer, inner) = split_names(kernel, iname, self.outer.as_ref(), self.inner.as_ref())?;
        kernel.edit(|data| {
            let (o, i) = (Aff::var(&outer), Aff::var(&inner));
            data.domains.push(Domain {
                inames: vec![outer.clone(), inner.clone()],
                constraints: vec![Constraint::nonneg(i.clone()), Constraint::lt(&i, &Aff::constant(length))?],
            });
            let value = o.scale(length)?.add(&i)?;
            data.definitions.push(Definition { iname: iname.clone(), value });
            let by = [outer, inner];
            replace_in_lists(data, iname, &by);
            data.tree = Tree::replace_loop(&data.tree, iname, &by);
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("a split in place keeps all executions and their order")
    }
}
