//! Gives a temporary a copy for each iteration of loops.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{AddressSpace, Aff, Axis, Diagnostic, Expr, LoopKernel, Name};

use crate::{
    Transform,
    rewrite::{extent, map_accesses, require_iname, require_temporary, touches},
};

step! {
    /// `privatize_temporary(t, [i])`: gives a temporary a copy for each value of an iname.
    ///
    /// # Meaning
    ///
    /// The temporary gets a leading axis for each of the inames, as long as its range, and each
    /// access the subscripts `i - lo`: `t` becomes `t[i]`. This is scalar expansion, which enables
    /// [`Distribute`](crate::Distribute), lanes, or threads that share the temporary. A layout that
    /// `set_layout` has set is that of each copy.
    ///
    /// # Legality
    ///
    /// Each instruction that accesses the temporary runs over the inames. For a private or shared
    /// temporary, the inames need a constant length. The step is legal if no value flows from one
    /// iteration to another: { w -> r : w writes t, r reads what w wrote, i(w) != i(r) } is empty.
    ///
    /// In text: `privatize_temporary(t, [i, j])`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel pass(x: f32[n], y: f32[n], n: i32)
    /// assume 1 <= n
    /// domain { [i] : 0 <= i < n }
    /// temp t: f32 global
    /// t = 2.0 * x[i] {id=first}
    /// y[i] = t + 1.0 {id=second}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// privatize_temporary(t, [i])
    /// distribute(i)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel pass(x: f32[n], y: f32[n], n: i32)
    /// assume 1 <= n
    /// domain { [i] : 0 <= i < n }
    /// domain { [i_2] : 0 <= i_2 < n }
    /// temp t: f32[n] global
    /// t[i] = 2.0 * x[i] {id=first, inames=i}
    /// y[i_2] = t[i_2] + 1.0 {id=second, inames=i_2, map=[i: i_2]}
    /// tree {
    ///     for i {
    ///         first
    ///     }
    ///     for i_2 {
    ///         second
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct PrivatizeTemporary as "privatize_temporary" {
        /// A temporary that bounds no loop.
        pub temporary: Name = next("the temporary"),
        /// The inames, one for each new axis.
        pub inames: Vec<Name> = list("the inames, as `[i]`") of Inames,
    }
    table: "privatize_temporary(t, [i])" => "`privatize_temporaries_with_inames(k, \"i\", \"t\")`",
    methods: {
        /// See [`PrivatizeTemporary`].
        fn privatize_temporary(&self, temporary: &str, inames: impl IntoNames) -> Result<Self, Diagnostic> {
            self.step(PrivatizeTemporary::new(temporary, inames.into_names()))
        }
    }
}

impl PrivatizeTemporary {
    /// A copy for each value of these inames.
    pub fn new<N: Into<Name>>(temporary: impl Into<Name>, inames: impl IntoIterator<Item = N>) -> Self {
        PrivatizeTemporary {
            temporary: temporary.into(),
            inames: inames.into_iter().map(Into::into).collect(),
        }
    }
}

impl Transform for PrivatizeTemporary {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let t = &self.temporary;
        require_temporary(kernel, t)?;
        let space = kernel.temporary(t).map_or(AddressSpace::Private, |a| a.space);
        let mut axes = Vec::new();
        let mut subscripts = Vec::new();
        let mut listed = BTreeSet::new();
        for iname in &self.inames {
            require_iname(kernel, iname)?;
            if !listed.insert(iname) {
                return Err(Diagnostic::new("iname-listed-twice", format!("`{iname}` is listed twice")));
            }
            let range = extent::range(kernel, iname)?.ok_or_else(|| {
                Diagnostic::new(
                    "no-least-value",
                    format!(
                        "`{t}` cannot get an axis for `{iname}`: its least value is not a single \
                         function of the parameters"
                    ),
                )
            })?;
            let length: Aff = match (range.length, &range.upper) {
                (Some(length), _) => length.into(),
                (None, Some(upper)) if space == AddressSpace::Global => {
                    upper.sub(&range.lower)?.add_constant(1)?
                }
                _ => {
                    return Err(Diagnostic::new(
                        "not-constant-length",
                        format!(
                            "`{t}` is {space} and cannot get an axis for `{iname}`, whose \
                            length is not constant"
                        ),
                    )
                    .help(
                        "split the iname and use its inner part, or move the temporary to global \
                         memory",
                    ));
                }
            };
            axes.push(Axis::new(Expr::from_aff(&length)));
            subscripts.push(Expr::from_aff(&Aff::var(iname).sub(&range.lower)?));
        }
        for instruction in kernel.instructions.iter().filter(|i| touches(i, t)) {
            if let Some(missing) = self.inames.iter().find(|n| !instruction.within.contains(n)) {
                return Err(Diagnostic::new(
                    "outside-the-loop",
                    format!("`{}` accesses `{t}` outside the loop over `{missing}`", instruction.id),
                )
                .help("choose inames that all instructions with the temporary run over"));
            }
        }
        kernel.edit(|data| {
            for a in data.temporaries.iter_mut().filter(|a| a.name == *t) {
                let added = axes.len();
                // A layout that is set is that of each copy.
                let slots = axes.iter().map(|axis| axis.length.to_aff()?.as_constant());
                if let (true, Some(slots)) = (a.layout.modes.is_some(), slots.collect::<Option<Vec<i64>>>()) {
                    slots.iter().rev().for_each(|slots| a.add_slots(*slots));
                    continue;
                }
                a.axes.splice(0..0, axes.iter().cloned());
                if !a.order.is_empty() {
                    a.order = (0..added).chain(a.order.iter().map(|k| k + added)).collect();
                }
            }
            for instruction in &mut data.instructions {
                map_accesses(instruction, t, &|index| {
                    subscripts.iter().cloned().chain(index.iter().cloned()).collect()
                });
            }
            Ok(())
        })
    }
}
