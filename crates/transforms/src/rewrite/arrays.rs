//! Changes of arrays, whether arguments or temporaries.

use loopwright_kernel_ir::{AddressSpace, Arg, Array, Diagnostic, KernelData, LoopKernel, Name};

use crate::rewrite::require_array;

/// Changes the array of this name, an argument or a temporary.
pub(crate) fn change_array(data: &mut KernelData, name: &Name, change: impl FnMut(&mut Array)) {
    let arguments = data.args.iter_mut().filter_map(|arg| match arg {
        Arg::Array(array) => Some(array),
        Arg::Scalar(_) => None,
    });
    arguments.chain(&mut data.temporaries).filter(|a| a.name == *name).for_each(change);
}

/// The kernel with a changed array in global memory, for steps about caches.
pub(crate) fn edit_global(
    kernel: &LoopKernel,
    name: &Name,
    mut change: impl FnMut(&mut Array),
) -> Result<LoopKernel, Diagnostic> {
    let array = require_array(kernel, name)?;
    if array.space != AddressSpace::Global {
        return Err(Diagnostic::new(
            "not-global",
            format!("`{name}` is {}: cache hints apply to arrays in global memory", array.space),
        )
        .help(format!("move it there: `make_global({name})`")));
    }
    kernel.edit(|data| {
        change_array(data, name, &mut change);
        Ok(())
    })
}
