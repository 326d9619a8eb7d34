//! Renames an iname.

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Expr, KernelData, LoopKernel, Name};
use loopwright_legality::Judgement;

use crate::{
    Transform,
    rewrite::{is_declared, map_expressions, replace_in_lists, require_fresh, require_iname, tree},
};

step! {
    /// `rename_iname(i, row)`: renames an iname everywhere.
    ///
    /// # Meaning
    ///
    /// The iname keeps its place, its range and its tag. Instructions remember the value of the
    /// declared iname.
    ///
    /// # Legality
    ///
    /// The step is always legal. A name that is in use is refused: two loops become one by fusion,
    /// not by renaming.
    ///
    /// In text: `rename_iname(i, row)`.
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
    /// split_iname(i, 4)
    /// rename_iname(i, column)
    /// rename_iname(s, row)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel segmented_sum(x: f32[nseg, len], out: f32[nseg], nseg: i32, len: i32)
    /// assume 1 <= nseg and 0 <= len
    /// domain { [row] : 0 <= row < nseg }
    /// domain { [column] : 0 <= column < len }
    /// domain { [i_outer, i_inner] : 0 <= i_inner <= 3 }
    /// let column = 4*i_outer + i_inner
    /// out[row] = sum([i_outer, i_inner], x[row, column]) {id=total, inames=row, map=[i: column, s: row]}
    /// tree {
    ///     for row {
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
    pub struct RenameIname as "rename_iname" {
        /// An iname of a domain, or one that a step has defined.
        pub iname: Name = next("the iname"),
        /// A name that nothing in the kernel has.
        pub new: Name = next("its new name"),
    }
    table: "rename_iname(i, row)" => "`rename_iname(k, \"i\", \"row\")`",
    methods: {
        /// See [`RenameIname`].
        fn rename_iname(&self, iname: &str, new: &str) -> Result<Self, Diagnostic> {
            self.step(RenameIname::new(iname, new))
        }
    }
}

impl RenameIname {
    /// Gives the iname a name that nothing in the kernel has.
    pub fn new(iname: impl Into<Name>, new: impl Into<Name>) -> Self {
        RenameIname { iname: iname.into(), new: new.into() }
    }
}

impl Transform for RenameIname {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let (iname, new) = (&self.iname, &self.new);
        if kernel.definition(iname).is_none() {
            require_iname(kernel, iname)?;
        }
        if new == iname {
            return Ok(kernel.clone());
        }
        require_fresh(kernel, new, "new")?;
        let users: Vec<Name> = users_of(kernel, iname);
        kernel.edit(|data| {
            let aff = |n: &Name| (n == iname).then(|| Aff::var(new));
            let expr = |e: &Expr| e.substitute(&|n| (n == iname).then(|| Expr::Name(new.clone())));
            for domain in &mut data.domains {
                for n in domain.inames.iter_mut().filter(|n| *n == iname) {
                    *n = new.clone();
                }
                domain.constraints = domain
                    .constraints
                    .iter()
                    .map(|c: &Constraint| c.substitute(&aff))
                    .collect::<Result<_, _>>()?;
            }
            for definition in &mut data.definitions {
                if definition.iname == *iname {
                    definition.iname = new.clone();
                }
                definition.value = definition.value.substitute(&aff)?;
            }
            replace_in_lists(data, iname, std::slice::from_ref(new));
            tree::rename_loops(&mut data.tree, &|n| (n == iname).then(|| new.clone()));
            data.copy_tag(iname, new);
            data.take_tag(iname);
            let declared = is_declared(data, iname);
            for instruction in &mut data.instructions {
                map_expressions(instruction, &mut |e| expr(e));
                for value in instruction.map.values_mut() {
                    *value = value.substitute(&aff)?;
                }
                for axis in instruction.atom.iter_mut().flat_map(|atom| &mut atom.axes) {
                    if axis == iname {
                        *axis = new.clone();
                    }
                }
                if !declared && instruction.scan.as_ref() == Some(iname) {
                    instruction.scan = Some(new.clone());
                }
                if declared && users.contains(&instruction.id) {
                    instruction.map.entry(iname.clone()).or_insert_with(|| Aff::var(new));
                }
            }
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("a new name changes nothing")
    }
}

/// The instructions that run over an iname, around them or in their reductions.
pub(crate) fn users_of(data: &KernelData, iname: &Name) -> Vec<Name> {
    let base = data.base_of(iname);
    data.instructions
        .iter()
        .filter(|i| {
            let reduced = i.reductions().into_iter().flat_map(|r| r.inames.clone()).collect::<Vec<_>>();
            base.iter().any(|b| i.within.contains(b) || reduced.contains(b))
        })
        .map(|i| i.id.clone())
        .collect()
}
