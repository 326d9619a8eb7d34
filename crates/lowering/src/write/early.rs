//! Which kernels may be started before the launch ahead of them has ended.
//!
//! Between two launches of a stream a device stands idle for a microsecond or more: the second is
//! started when the last block of the first is done. From compute capability 9.0 on, a launch can
//! be started as soon as all blocks of the one before it are running or done (programmatic
//! dependent launch, CUDA C++ Programming Guide), if its threads wait for the end of that launch
//! themselves. A kernel that some launch of its program comes before does: `wait` is the first
//! thing that its threads do, so that nothing else about its order changes. Its own end is then
//! behind the end of all launches before it, whatever they are.
//!
//! A compiler may take what is behind a `const ... *__restrict__` for constant as long as the
//! kernel runs, and load it ahead of the wait. So an array that such a kernel reads and any kernel
//! of the program writes is handed over without that promise.

use std::collections::BTreeSet;

use crate::program::{DeviceKernel, Global, HostStmt, Param};
use crate::write::device_kernel::globals_read;

/// Marks the kernels that launches come before.
pub(crate) fn mark(host: &[HostStmt], kernels: &mut [DeviceKernel], globals: &[Global]) {
    let mut behind = BTreeSet::new();
    launches_behind(host, &mut false, &mut behind);
    for (_, kernel) in kernels.iter_mut().enumerate().filter(|(number, _)| behind.contains(number)) {
        kernel.early = true;
        let read = globals_read(&kernel.body);
        for param in &mut kernel.params {
            if let Param::Global { global, exchanged, .. } = param {
                *exchanged |= read.contains(global) && globals[*global].written;
            }
        }
    }
}

/// The kernels that are launched behind another launch, in some iteration of the loops around them.
fn launches_behind(stmts: &[HostStmt], any: &mut bool, behind: &mut BTreeSet<usize>) {
    for stmt in stmts {
        match stmt {
            HostStmt::Launch(kernel) => {
                if *any {
                    behind.insert(*kernel);
                }
                *any = true;
            }
            HostStmt::For { body, .. } => {
                launches_behind(body, any, behind);
                launches_behind(body, any, behind);
            }
        }
    }
}
