//! Whether the layouts that are set of arrays are layouts of them, and keep vectors together.
//!
//! Everything else in the check speaks of elements by their subscripts. What is left to show for
//! arrays that do not lie row-major is that different elements have different places, all inside
//! the storage, that offsets are written as the layout says (both by enumeration, for each array),
//! and that where several neighbours are accessed at once, from an aligned address, these are
//! neighbours. That an address is aligned shows when it is not: the access fails.

use std::collections::BTreeMap;

use loopwright_kernel_ir::Diagnostic;

use crate::{DeviceKernel, LocalArray, MemRef, Memory, Program, Stmt};

fn array<'k>(kernel: &'k DeviceKernel, element: &MemRef) -> Option<&'k LocalArray> {
    match element.memory {
        Memory::Global(_) => None,
        Memory::Shared(n) => kernel.shared.get(n),
        Memory::Private(n) => kernel.private.get(n),
    }
    .filter(|array| array.layout.is_some())
}

/// What is wrong with the layout of an array, if anything.
pub(super) fn wrong_layout(program: &Program) -> Option<Diagnostic> {
    program.kernels.iter().find_map(|kernel| in_kernel(program, kernel))
}

fn in_kernel(program: &Program, kernel: &DeviceKernel) -> Option<Diagnostic> {
    let mut arrays = kernel.shared.iter().chain(&kernel.private);
    if arrays.clone().all(|array| array.layout.is_none()) {
        return None;
    }
    if let Some(wrong) = arrays.find_map(|array| array.wrong_layout(program.index)) {
        return Some(Diagnostic::new("wrong-layout", wrong));
    }
    // Each array, with how many neighbours are accessed at once: enumerated once.
    let mut vectors: BTreeMap<(&str, i64), &LocalArray> = BTreeMap::new();
    let mut all = |element: &MemRef, lanes: i64| {
        if let Some(array) = array(kernel, element) {
            vectors.insert((array.name.as_str(), lanes), array);
        }
    };
    Stmt::visit(&kernel.body, &mut |stmt| {
        let several = stmt.written().into_iter().chain(stmt.source()).filter(|access| access.lanes > 1);
        several.for_each(|access| all(access.element, access.lanes.into()));
        // The elements of a fragment follow each other as far as the atom has some.
        if let Stmt::Mma { a, b, .. } = stmt {
            [a, b].into_iter().for_each(|fragment| all(fragment, i64::MAX));
        }
    });
    vectors.into_iter().find(|((_, lanes), array)| *lanes == i64::MAX || !array.keeps_vectors(*lanes)).map(
        |((name, lanes), _)| {
            let message = match lanes {
                i64::MAX => {
                    format!("`{name}` is a fragment, whose elements follow each other, and has a layout")
                }
                _ => format!(
                    "{lanes} neighbours of `{name}` are accessed at once, which its layout takes apart"
                ),
            };
            Diagnostic::new("wrong-layout", message)
        },
    )
}
