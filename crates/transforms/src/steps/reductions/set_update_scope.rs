//! Says among whom an update is one step.

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name, UpdateScope};
use loopwright_legality::Judgement;

use crate::{Transform, rewrite::unknown_instruction};

step! {
    /// `set_update_scope(count, block)`: an update is one step among the threads of a block, of the
    /// device, or of the whole system.
    ///
    /// # Meaning
    ///
    /// An update reads an element and writes it, and no other access to it by those in the scope
    /// comes between. The scope is the device unless said, which is right for any kernel. `block`
    /// is narrower: the threads of one block alone update the element during a launch, as where
    /// each block has a row of bins, so that nothing has to be kept in order with other blocks.
    /// `system` is wider: the host or other devices may update the same array while the kernel
    /// runs. It is printed as `atomicAdd_block` or `atomicAdd_system`.
    ///
    /// An update that no other thread can meet is a plain read and write, whatever its scope, but
    /// for `system`: there, those who may come between are no part of the kernel. Shared memory is
    /// a block's, so that its updates have no other scope.
    ///
    /// # Legality
    ///
    /// A scope changes no order. That no two blocks of a launch update one element, where it is
    /// `block`, depends on the tags; it is proved when the kernel is lowered, and once more of the
    /// program: { (x, y) : same cell, different blocks, same launch } is empty, or the kernel is
    /// refused (`update-scope`, or a launch ends between two instructions). For `system`, the array
    /// is the caller's, and nothing else in the kernel accesses it: what others change at any time
    /// has no value that a read could be in order with. A kernel that is declared with `system`
    /// says so of the caller's memory, and keeps it.
    ///
    /// In text: `set_update_scope(count, block)`; in a kernel `out[k] += v {scope=block}`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel rows(k: i32[n, m], h: i32[n, 256], n: i32, m: i32)
    /// fact 0 <= k < 256
    /// domain { [r, i] : 0 <= r < n and 0 <= i < m }
    /// h[r, k[r, i]] += 1 {id=count}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// set_update_scope(count, block)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel rows(k: i32[n, m], h: i32[n, 256], n: i32, m: i32)
    /// fact 0 <= k < 256
    /// domain { [r, i] : 0 <= r < n and 0 <= i < m }
    /// h[r, k[r, i]] += 1 {id=count, inames=r:i, scope=block}
    /// tree {
    ///     for r {
    ///         for i {
    ///             count
    ///         }
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct SetUpdateScope as "set_update_scope" {
        /// The id of an update.
        pub instruction: Name = next("the instruction"),
        /// Among whom it is one step.
        pub scope: UpdateScope = next("`block`, `device` or `system`"),
    }
    table: "set_update_scope(id, block)" => "`atomic` on an instruction, which has no scope",
    methods: {
        /// See [`SetUpdateScope`].
        fn set_update_scope(&self, instruction: &str, scope: UpdateScope) -> Result<Self, Diagnostic> {
            self.step(SetUpdateScope::new(instruction, scope))
        }
    }
}

impl SetUpdateScope {
    /// The update of this instruction is one step among those in the scope.
    pub fn new(instruction: impl Into<Name>, scope: UpdateScope) -> Self {
        SetUpdateScope { instruction: instruction.into(), scope }
    }
}

impl Transform for SetUpdateScope {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let id = &self.instruction;
        let Some(instruction) = kernel.instruction(id) else {
            return Err(unknown_instruction(kernel, id));
        };
        let refuse = |message: String, help: &str| Err(Diagnostic::new("update-scope", message).help(help));
        if instruction.update.is_none() {
            return refuse(
                format!("`{id}` is no update, and has no scope"),
                "a reduction over blocks that `reduce_atomically` joins has the device's",
            );
        }
        if self.scope == UpdateScope::System {
            let shorter = "leave the step out: the device's scope is right for it";
            instruction.check_system_scope(kernel).map_err(|refusal| refusal.help(shorter))?;
        }
        let declared = instruction.role.declared().and_then(|of| kernel.declared().instruction(of));
        if self.scope != UpdateScope::System && declared.is_some_and(|d| d.scope == UpdateScope::System) {
            return refuse(
                format!("`{id}` is declared with `scope=system`, and `{}` is narrower", self.scope.word()),
                "others than this kernel may update the array: no step knows that they do not",
            );
        }
        kernel.edit(|data| {
            for instruction in data.instructions.iter_mut().filter(|i| i.id == *id) {
                instruction.scope = self.scope;
            }
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("a scope changes no order, and lowering proves that it is wide enough")
    }
}
