//! Moves temporaries between private, shared and global memory.

use loopwright_kernel_ir::{AddressSpace, Diagnostic, LoopKernel, Name};

use crate::{
    Transform,
    arguments::{Args, Argument},
    rewrite::require_no_table,
    step::TextForm,
};

step! {
    /// `set_address_space(t, shared)`: moves a temporary to the memory of each thread, of each
    /// block, or of the launch.
    ///
    /// # Meaning
    ///
    /// A private temporary has one copy per thread, a shared one a copy per block, a global one a
    /// single copy. Values that other threads read have to be shared, values that other blocks read
    /// have to be global.
    ///
    /// # Legality
    ///
    /// Arguments remain global. Whether each reader still sees its value, and whether threads
    /// conflict on a cell, is judged when the kernel is lowered.
    ///
    /// In text: `set_address_space(t, shared)`; `make_global(t)` is short for
    /// `set_address_space(t, global)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel two(x: f32[n], y: f32[n], z: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// temp t: f32[n] global
    /// temp q: f32 private
    /// t[i] = 2.0 * x[i] {id=first}
    /// q = x[i] {id=load}
    /// y[i] = t[i] + q {id=second}
    /// z[i] = t[i] {id=third}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// set_address_space(t, shared)
    /// make_global(t)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel two(x: f32[n], y: f32[n], z: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// temp t: f32[n] global
    /// temp q: f32 private
    /// t[i] = 2.0 * x[i] {id=first, inames=i}
    /// q = x[i] {id=load, inames=i}
    /// y[i] = t[i] + q {id=second, inames=i}
    /// z[i] = t[i] {id=third, inames=i}
    /// tree {
    ///     for i {
    ///         first
    ///         load
    ///         second
    ///         third
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct SetAddressSpace as "set_address_space" | "make_global", by hand {
        /// A temporary, not an argument.
        pub temporary: Name,
        /// The memory that it moves to.
        pub space: AddressSpace,
    }
    table:
        "set_address_space(t, shared)" => "`set_temporary_address_space(k, \"t\", \"local\")`",
        "make_global(t)" => "`set_temporary_address_space(k, \"t\", \"global\")`",
    methods: {
        /// See [`SetAddressSpace`].
        fn set_address_space(&self, temporary: &str, space: AddressSpace) -> Result<Self, Diagnostic> {
            self.step(SetAddressSpace::new(temporary, space))
        }
        /// See [`SetAddressSpace`].
        fn make_global(&self, temporary: &str) -> Result<Self, Diagnostic> {
            self.set_address_space(temporary, AddressSpace::Global)
        }
    }
}

impl SetAddressSpace {
    /// Moves a temporary into this address space.
    pub fn new(temporary: impl Into<Name>, space: AddressSpace) -> Self {
        SetAddressSpace { temporary: temporary.into(), space }
    }
}

impl TextForm for SetAddressSpace {
    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let temporary = args.next("the temporary")?;
        if args.called() == "make_global" {
            return Ok(SetAddressSpace { temporary, space: AddressSpace::Global });
        }
        Ok(SetAddressSpace { temporary, space: args.next("`private`, `shared` or `global`")? })
    }

    fn arguments(&self) -> Vec<String> {
        vec![self.temporary.text(), self.space.text()]
    }
}

impl Transform for SetAddressSpace {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let name = &self.temporary;
        require_no_table(kernel, name)?;
        if kernel.temporary(name).is_none() {
            return Err(Diagnostic::new(
                "argument-space",
                format!("`{name}` is an argument: arguments are in global memory"),
            )
            .help(format!("`add_prefetch({name}, [...])` copies parts of it to shared or private memory")));
        }
        kernel.edit(|data| {
            for t in data.temporaries.iter_mut().filter(|t| t.name == *name) {
                t.space = self.space;
            }
            Ok(())
        })
    }
}
