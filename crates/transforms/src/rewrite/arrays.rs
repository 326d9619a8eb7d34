//! Changes of arrays, whether arguments or temporaries.

use loopwright_kernel_ir::{
    Access, AddressSpace, Arg, Array, Diagnostic, Expr, Instruction, KernelData, LoopKernel, Name, Role,
};

use crate::rewrite::{map_expressions, require_array};

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

/// Makes all accesses of one array accesses of another, whose cells have the same subscripts. Copies
/// of it become copies of the other.
pub(crate) fn rename_array(data: &mut KernelData, old: &Name, new: &Name) {
    for instruction in &mut data.instructions {
        rename_in(instruction, old, new);
        if let Role::Copies { source } = &mut instruction.role
            && source == old
        {
            *source = new.clone();
        }
    }
}

/// Makes all accesses of one array in an instruction accesses of another.
fn rename_in(instruction: &mut Instruction, old: &Name, new: &Name) {
    fn renamed(e: &Expr, old: &Name, new: &Name) -> Expr {
        match e {
            Expr::Name(n) if n == old => Expr::Name(new.clone()),
            Expr::Subscript(a) if a.array == *old => {
                let index = a.index.iter().map(|e| renamed(e, old, new)).collect();
                Expr::Subscript(Access::new(new, index))
            }
            _ => e.map_children(&mut |child| renamed(child, old, new)),
        }
    }
    map_expressions(instruction, &mut |e| renamed(e, old, new));
    for target in instruction.targets.iter_mut().filter(|t| t.array == *old) {
        target.array = new.clone();
    }
}
