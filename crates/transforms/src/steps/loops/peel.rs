//! Loop peeling: separates iterations at the ends of a loop.

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, KernelData, LoopKernel, Name};

use crate::{
    IndexSetSplit, Number, Transform,
    rewrite::{LoopBound, loop_bounds, parts_with_inames, require_iname, require_untagged},
};

step! {
    /// `peel(i, first=1, last=1)`: peels the first and the last iterations off a loop into loops of
    /// their own.
    ///
    /// # Meaning
    ///
    /// The first iterations become a loop over `i_first`, the last ones a loop over `i_last`,
    /// around copies of the loop's body; `i` keeps the iterations between them. On the outer loop
    /// of a split, it separates the remainder: after `split_iname(i, 128)`, `peel(i_outer, last=1)`
    /// leaves tiles in the middle that are known to be full and need no guards.
    ///
    /// # Legality
    ///
    /// It is an [`IndexSetSplit`](crate::IndexSetSplit), which keeps all instances and their order:
    /// `{ S[i] : lo <= i < lo + first }`, `{ S[i] : lo + first <= i <= hi - last }`, `{ S[i] : hi -
    /// last < i <= hi }`. The first (last) value of the iname has to be a single function of outer
    /// loops and parameters.
    ///
    /// In text: `peel(i, first=1)`, `peel(i, last=2)`, or both.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel twice(x: f32[n], y: f32[n], n: i32)
    /// assume 1 <= n
    /// domain { [i] : 0 <= i < n }
    /// y[i] = 2.0 * x[i] {id=set}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// split_iname(i, 32)
    /// peel(i_outer, last=1)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel twice(x: f32[n], y: f32[n], n: i32)
    /// assume 1 <= n
    /// domain { [i] : 0 <= i < n }
    /// domain { [i_outer, i_inner] : 0 <= i_inner <= 31 and i_outer <= floor((n + 31)/32) - 2 }
    /// domain { [i_outer_last, i_inner_last] : 0 <= 32*i_outer_last + i_inner_last < n and 0 <= i_inner_last <= 31 and floor((n + 31)/32) <= i_outer_last + 1 }
    /// let i = 32*i_outer + i_inner
    /// y[i] = 2.0 * x[i] {id=set, inames=i_outer:i_inner}
    /// y[32 * i_outer_last + i_inner_last] = 2.0 * x[32 * i_outer_last + i_inner_last] {id=set_last, inames=i_outer_last:i_inner_last, does=set, map=[i: 32*i_outer_last + i_inner_last]}
    /// tree {
    ///     for i_outer {
    ///         for i_inner {
    ///             set
    ///         }
    ///     }
    ///     for i_outer_last {
    ///         for i_inner_last {
    ///             set_last
    ///         }
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Peel as "peel" {
        /// The iname of the loop, without a tag.
        pub iname: Name = next("the iname"),
        /// The number of iterations that are peeled off at the beginning.
        #[serde(default = "none")]
        pub first: Number = option(none()),
        /// The number of iterations that are peeled off at the end.
        #[serde(default = "none")]
        pub last: Number = option(none()),
    }
    table: "peel(i, first=1, last=1)" => "`split_iname(..., slabs=(1, 1))` after a split",
    methods: {
        /// See [`Peel`].
        fn peel(
            &self,
            iname: &str,
            first: impl Into<Number>,
            last: impl Into<Number>,
        ) -> Result<Self, Diagnostic> {
            self.step(Peel::new(iname, first, last))
        }
    }
}

fn none() -> Number {
    Number::Known(0)
}

impl Peel {
    /// Peels iterations off at both ends.
    pub fn new(iname: impl Into<Name>, first: impl Into<Number>, last: impl Into<Number>) -> Self {
        Peel { iname: iname.into(), first: first.into(), last: last.into() }
    }
}

/// The bounds of a loop, on which all parts inside must agree.
fn common_bounds(data: &KernelData, iname: &Name) -> Result<(LoopBound, LoopBound), Diagnostic> {
    let mut found: Option<(LoopBound, LoopBound)> = None;
    for (part, _) in parts_with_inames(data).into_iter().filter(|(_, inames)| inames.contains(iname)) {
        let own = loop_bounds(data, iname, &part)?;
        found = Some(match found {
            None => own,
            Some(all) => (agreed(iname, all.0, own.0), agreed(iname, all.1, own.1)),
        });
    }
    found
        .ok_or_else(|| Diagnostic::new("not-nested", format!("no instruction runs in a loop over `{iname}`")))
}

fn agreed(iname: &Name, all: LoopBound, own: LoopBound) -> LoopBound {
    let (all, own) = (all?, own?);
    if all == own {
        return Ok(all);
    }
    Err(Diagnostic::new(
        "no-least-value",
        format!(
            "`{iname}` cannot be peeled: its bound is {all} for some instructions and {own} for \
             others"
        ),
    )
    .help("split it with `index_set_split` at a condition of your choice"))
}

impl Transform for Peel {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let iname = &self.iname;
        require_iname(kernel, iname)?;
        require_untagged(kernel, iname, "peeled")?;
        let first = self.first.at_least(0, "the number of iterations to peel")?;
        let last = self.last.at_least(0, "the number of iterations to peel")?;
        if first == 0 && last == 0 {
            return Err(Diagnostic::new(
                "peel-nothing",
                format!("no iterations of `{iname}` are to be peeled"),
            )
            .help("write `first=1`, `last=1` or both"));
        }
        let (lower, upper) = common_bounds(kernel, iname)?;
        let value = Aff::var(iname);
        let mut kernel = kernel.clone();
        if first > 0 {
            let keep = Constraint::le(&lower?.add_constant(first)?, &value)?;
            kernel = IndexSetSplit::new(iname, keep).suffixed("_first").apply(&kernel)?;
        }
        if last > 0 {
            let keep = Constraint::le(&value, &upper?.add_constant(-last)?)?;
            kernel = IndexSetSplit::new(iname, keep).suffixed("_last").apply(&kernel)?;
        }
        Ok(kernel)
    }
}
