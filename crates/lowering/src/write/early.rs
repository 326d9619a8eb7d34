//! Which kernels may start before the launch before them has ended.
//!
//! Between two launches of a stream a device is idle for a microsecond or more, since the second
//! starts when the last block of the first is done. From compute capability 9.0 on, a launch can
//! start as soon as all blocks of the one before it are running or done (programmatic dependent
//! launch, CUDA C++ Programming Guide), if its threads wait for the end of that launch themselves.
//! A kernel that follows another launch of its program does: its threads begin with `wait`, so that
//! nothing else about the order changes. It therefore ends after all launches before it, whatever
//! they are.
//!
//! A compiler may assume that the target of a `const ... *__restrict__` is constant while the
//! kernel runs, and load it ahead of the wait. So an array that such a kernel reads and any kernel
//! of the program writes is passed without that promise.

use std::collections::BTreeSet;

use crate::program::{DeviceKernel, Global, HostStmt, Param};
use crate::write::device_kernel::globals_read;

/// Marks the kernels that follow another launch.
pub(crate) fn mark(host: &[HostStmt], kernels: &mut [DeviceKernel], globals: &[Global]) {
    let mut later = BTreeSet::new();
    launches_after(host, &mut false, &mut later);
    for (_, kernel) in kernels.iter_mut().enumerate().filter(|(number, _)| later.contains(number)) {
        kernel.early = true;
        let read = globals_read(&kernel.body);
        for param in &mut kernel.params {
            if let Param::Global { global, exchanged, .. } = param {
                *exchanged |= read.contains(global) && globals[*global].written;
            }
        }
    }
}

/// The kernels that are launched after another launch, in some iteration of the loops around them.
fn launches_after(stmts: &[HostStmt], any: &mut bool, later: &mut BTreeSet<usize>) {
    for stmt in stmts {
        match stmt {
            HostStmt::Launch(kernel) => {
                if *any {
                    later.insert(*kernel);
                }
                *any = true;
            }
            HostStmt::For { body, .. } => {
                launches_after(body, any, later);
                launches_after(body, any, later);
            }
        }
    }
}
