//! Whether something gives a value to all that is read.
//!
//! A value of a thread that no statement gives may be left out of a program, if nothing reads it.
//! So a variable, or an array of the thread or of the block, that is read has to be given a value
//! somewhere in its kernel. That this comes first is not asked here; the emulator sees it.

use std::collections::HashSet;

use loopwright_kernel_ir::Name;

use crate::{DeviceKernel, Memory, Program, Stmt, ValueKind};

/// The first variable or local array of a program that is read and never given a value, and its
/// kernel.
pub(super) fn not_given(program: &Program) -> Option<(Name, Name)> {
    program.kernels.iter().find_map(|kernel| Some((of_kernel(kernel)?, kernel.name.clone())))
}

fn of_kernel(kernel: &DeviceKernel) -> Option<Name> {
    let (mut assigned, mut written) = (HashSet::new(), HashSet::new());
    Stmt::visit(&kernel.body, &mut |stmt| {
        assigned.extend(stmt.assigned());
        written.extend(stmt.written().map(|to| to.element.memory));
    });
    let mut found = None;
    Stmt::visit(&kernel.body, &mut |stmt| {
        stmt.visit_values(&mut |value| {
            if let ValueKind::Var(var) = value.kind
                && !assigned.contains(&var)
            {
                found = found.take().or_else(|| kernel.vars.get(var.0).map(|v| v.name.clone()));
            }
        });
        stmt.each_read(&mut |from| {
            let memory = from.element.memory;
            let array = match memory {
                Memory::Global(_) => None,
                Memory::Shared(k) => kernel.shared.get(k),
                Memory::Private(k) => kernel.private.get(k),
            };
            if let Some(array) = array.filter(|_| !written.contains(&memory)) {
                found = found.take().or_else(|| Some(array.name.clone()));
            }
        });
    });
    found
}
