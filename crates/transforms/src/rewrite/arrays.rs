//! Changes of arrays, arguments and temporaries alike.

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

/// The kernel with an array in global memory changed, for steps about caches.
pub(crate) fn edit_global(
    kernel: &LoopKernel,
    name: &Name,
    mut change: impl FnMut(&mut Array),
) -> Result<LoopKernel, Diagnostic> {
    let array = require_array(kernel, name)?;
    if array.space != AddressSpace::Global {
        return Err(Diagnostic::new(
            "not-global",
            format!("`{name}` is {}: caches are asked for what is in global memory", array.space),
        )
        .help(format!("`make_global({name})` moves it there")));
    }
    kernel.edit(|data| {
        change_array(data, name, &mut change);
        Ok(())
    })
}
