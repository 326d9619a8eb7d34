//! Loop peeling: separates iterations at the ends of a loop.

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, KernelData, LoopKernel, Name};

use crate::{
    IndexSetSplit, Number, Transform,
    rewrite::{LoopBound, loop_bounds_over, parts_with_inames, require_iname, require_untagged},
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
    /// loops and parameters. It is that of the loop itself: of `0 <= j < n`, the first is 0, also
    /// if a loop over `k < j` inside has no iteration then.
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

/// The bounds of a loop. If its parts do not agree, as some stand in inner loops that are empty for
/// the first values, they are those of the inames that all parts have.
fn common_bounds(data: &KernelData, iname: &Name) -> Result<(LoopBound, LoopBound), Diagnostic> {
    let mut parts = parts_with_inames(data);
    parts.retain(|(_, inames)| inames.contains(iname));
    let Some((_, first)) = parts.first() else {
        return Err(Diagnostic::new("not-nested", format!("no instruction runs in a loop over `{iname}`")));
    };
    let mut shared = first.clone();
    shared.retain(|n| parts.iter().all(|(_, inames)| inames.contains(n)));
    let all = parts.iter().map(|(_, inames)| loop_bounds_over(data, iname, inames));
    let (lower, upper): (Vec<_>, Vec<_>) = all.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    let common = loop_bounds_over(data, iname, &shared)?;
    Ok((agreed(&lower, common.0), agreed(&upper, common.1)))
}

/// The bound that all parts have, or else that of what they share.
fn agreed(bounds: &[LoopBound], common: LoopBound) -> LoopBound {
    match bounds {
        [Ok(first), others @ ..] if others.iter().all(|other| other.as_ref() == Ok(first)) => {
            Ok(first.clone())
        }
        _ => common,
    }
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
