//! Changes of arrays, whether arguments or temporaries.

use loopwright_kernel_ir::{
    Access, AddressSpace, Arg, Array, Diagnostic, KernelData, LoopKernel, Name, Role,
};

use crate::rewrite::{expressions::map_all, require_no_table};

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
    let array = require_no_table(kernel, name)?;
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

/// Makes all accesses of one array accesses of another, whose cells have the same subscripts.
/// Copies of it become copies of the other.
pub(crate) fn rename_array(data: &mut KernelData, old: &Name, new: &Name) {
    for instruction in &mut data.instructions {
        map_all(instruction, old, &mut |index| Access::new(new, index.to_vec()));
        if let Role::Copies { source } = &mut instruction.role
            && source == old
        {
            *source = new.clone();
        }
    }
}

/// The number of an axis; negative ones count from the end.
pub(crate) fn axis_of(array: &Array, axis: i64) -> Result<usize, Diagnostic> {
    let axes = array.axes.len();
    let count = i64::try_from(axes).unwrap_or(i64::MAX);
    let number = if axis < 0 { axis.saturating_add(count) } else { axis };
    usize::try_from(number).ok().filter(|k| *k < axes).ok_or_else(|| {
        Diagnostic::new("axis-count", format!("`{}` has {axes} axes, and no axis {axis}", array.name))
    })
}
