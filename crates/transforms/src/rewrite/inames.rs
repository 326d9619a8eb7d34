//! Lists of inames: around instructions and in reductions.

use loopwright_kernel_ir::{Expr, KernelData, Lookup, Name, PartRef};

use crate::rewrite::expressions::map_reductions;

/// Replaces an iname by others wherever inames are listed: around instructions and in reductions.
pub(crate) fn replace_in_lists(data: &mut KernelData, iname: &Name, by: &[Name]) {
    let swap = |list: &[Name]| -> Vec<Name> {
        list.iter().flat_map(|n| if n == iname { by.to_vec() } else { vec![n.clone()] }).collect()
    };
    for instruction in &mut data.instructions {
        instruction.within = swap(&instruction.within);
        if !instruction.value.reductions().iter().any(|r| r.inames.contains(iname)) {
            continue;
        }
        instruction.value = map_reductions(&instruction.value, &mut |mut r| {
            r.inames = swap(&r.inames);
            Expr::Reduce(r.into())
        });
    }
}

/// All parts, each with its base inames.
pub(crate) fn parts_with_inames(data: &KernelData) -> Vec<(PartRef, Vec<Name>)> {
    let lookup = Lookup::new(data);
    let parts = |i| {
        data.parts(i).into_iter().map(|p| {
            let inames = lookup.inames_of(i, p.part);
            (p, inames)
        })
    };
    data.instructions.iter().flat_map(parts).collect()
}

/// Whether the declared kernel has this iname.
pub(crate) fn is_declared(data: &KernelData, iname: &Name) -> bool {
    data.declared.as_ref().is_some_and(|d| d.is_iname(iname))
}
