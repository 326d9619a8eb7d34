//! Gives the later values of a temporary a temporary of their own.

use loopwright_kernel_ir::{Diagnostic, Expr, LoopKernel, Name, Role, Tree};

use crate::{
    Transform,
    rewrite::{fresh, require_fresh, require_temporary, touches, unknown_instruction},
};

step! {
    /// `split_live_range(t, id)`: from the instruction `id` on, which writes the temporary `t`, its
    /// values are in a temporary of their own.
    ///
    /// # Meaning
    ///
    /// The new temporary has the shape, the type and the memory of the old one, and is called
    /// `t_2`, or as `new=...` says. `id` writes it, and all instructions behind `id` in the order
    /// of the loop tree access it; what `id` itself reads is the old one. A scalar that a kernel
    /// uses for two things so stops tying them together: their loops can be distributed, moved and
    /// fused apart.
    ///
    /// # Legality
    ///
    /// `t` bounds no loop, and no step has made copies of it. The step is legal if every read still
    /// sees the value that it saw: { w -> r : r sees what w wrote to `t`, one of them is behind the
    /// cut and the other one is not } is empty. A value that is carried around a loop to an earlier
    /// instruction, or that `id` writes in some instances only, is refused with such a pair.
    ///
    /// In text: `split_live_range(t, id)`, `split_live_range(t, id, new=u)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel twice(x: f32[n], y: f32[n], z: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// temp t: f32 private
    /// t = 2.0 * x[i] {id=first}
    /// y[i] = t {id=use_first, inames=i}
    /// t = x[i] * x[i] {id=second}
    /// z[i] = t {id=use_second, inames=i}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// split_live_range(t, second)
    /// distribute(i, before=[second])
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel twice(x: f32[n], y: f32[n], z: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// domain { [i_2] : 0 <= i_2 < n }
    /// temp t: f32 private
    /// temp t_2: f32 private
    /// t = 2.0 * x[i] {id=first, inames=i}
    /// y[i] = t {id=use_first, inames=i}
    /// t_2 = x[i_2] * x[i_2] {id=second, inames=i_2, map=[i: i_2]}
    /// z[i_2] = t_2 {id=use_second, inames=i_2, map=[i: i_2]}
    /// tree {
    ///     for i {
    ///         first
    ///         use_first
    ///     }
    ///     for i_2 {
    ///         second
    ///         use_second
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct SplitLiveRange as "split_live_range" {
        /// The temporary of which a part of the values gets an array of its own.
        pub temporary: Name = next("the temporary"),
        /// The instruction that writes it from which on its values move, by its id.
        pub first: Name = next("the instruction from which on its values are other ones"),
        /// The name of the new temporary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub new: Option<Name> = option(),
    }
    table: "split_live_range(t, id)" => "–",
    methods: {
        /// See [`SplitLiveRange`], which has an option.
        fn split_live_range(&self, temporary: &str, first: &str) -> Result<Self, Diagnostic> {
            self.step(SplitLiveRange::new(temporary, first))
        }
    }
}

impl SplitLiveRange {
    /// A new temporary for the values from an instruction on.
    pub fn new(temporary: impl Into<Name>, first: impl Into<Name>) -> Self {
        SplitLiveRange { temporary: temporary.into(), first: first.into(), new: None }
    }
}

/// The expression with another name for an array or a scalar.
fn renamed(e: &Expr, old: &Name, new: &Name) -> Expr {
    let e = e.map_children(&mut |child| renamed(child, old, new));
    match e {
        Expr::Name(n) if n == *old => Expr::Name(new.clone()),
        Expr::Subscript(mut access) if access.array == *old => {
            access.array = new.clone();
            Expr::Subscript(access)
        }
        e => e,
    }
}

impl Transform for SplitLiveRange {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let (t, from) = (&self.temporary, &self.first);
        require_temporary(kernel, t)?;
        let refuse = |why: String, help: &str| {
            Err(Diagnostic::new("live-range", format!("the values of `{t}` cannot be told apart: {why}"))
                .help(help))
        };
        let Some(first) = kernel.instruction(from) else { return Err(unknown_instruction(kernel, from)) };
        if first.targets.iter().all(|x| x.array != *t) {
            return refuse(format!("`{from}` does not write it"), "name an instruction that does");
        }
        if first.update.is_some() {
            return refuse(
                format!("`{from}` updates what it holds"),
                "name an instruction that assigns to it",
            );
        }
        let is_copied = |role: &Role| matches!(role, Role::Copies { source } if source == t);
        if let Some(copy) = kernel.instructions.iter().find(|i| is_copied(&i.role)) {
            return refuse(format!("`{}` copies it", copy.id), "apply the step earlier");
        }
        // In the order of the tree, by their first parts.
        let mut order: Vec<&Name> = Vec::new();
        for part in kernel.tree.iter().flat_map(Tree::leaves) {
            if !order.contains(&&part.instruction) {
                order.push(&part.instruction);
            }
        }
        let place = |id: &Name| order.iter().position(|n| *n == id);
        let is_later = |id: &Name| place(id) > place(from);
        let touching = || kernel.instructions.iter().filter(|i| touches(i, t) && i.id != *from);
        if !touching().any(|i| !is_later(&i.id)) {
            return refuse(format!("nothing before `{from}` accesses it"), "there is one range of values");
        }
        let new = match &self.new {
            Some(new) => {
                require_fresh(kernel, new, "new")?;
                new.clone()
            }
            None => fresh(kernel, t),
        };
        kernel.edit(|data| {
            let at = data.temporaries.iter().position(|a| a.name == *t).unwrap_or_default();
            let mut array = data.temporaries[at].clone();
            array.name = new.clone();
            data.temporaries.insert(at + 1, array);
            for i in &mut data.instructions {
                let later = order.iter().position(|n| **n == i.id) > place(from);
                if !later && i.id != *from {
                    continue;
                }
                for target in &mut i.targets {
                    if target.array == *t {
                        target.array = new.clone();
                    }
                    if later {
                        target.index = target.index.iter().map(|e| renamed(e, t, &new)).collect();
                    }
                }
                if later {
                    i.value = renamed(&i.value, t, &new);
                    i.predicate = i.predicate.as_ref().map(|p| renamed(p, t, &new));
                }
            }
            Ok::<(), Diagnostic>(())
        })
    }
}
