//! Warms up NVRTC while other work is being done.
//!
//! The first compilation of a process takes 20 to 30 ms longer than the others: the library is
//! mapped and linked, its builtins are opened, and its tables are filled. Opening a device takes
//! longer and needs one thread, so that the two run in parallel, and the warm-up thread has ended
//! when the device is open: a process must not exit while a thread is inside the library.

use std::sync::Once;

use super::compile::compile;
use super::library::library;
use super::options::CompileOptions;
use crate::arch::Arch;

/// Does the work and returns its result. Meanwhile, the first call in a process loads NVRTC in
/// another thread and compiles an empty source. Failures of this are ignored: the first compilation
/// reports them.
pub fn warm_up_beside<R>(work: impl FnOnce() -> R) -> R {
    static DONE: Once = Once::new();
    let mut first = false;
    DONE.call_once(|| first = true);
    if !first {
        return work();
    }
    std::thread::scope(|scope| {
        // Failure to start a thread is not a failure of the work.
        let _ = std::thread::Builder::new().name("nvrtc warm-up".to_owned()).spawn_scoped(scope, || {
            if library().is_ok() {
                let _ = compile("", &CompileOptions::new(Arch::SM_80));
            }
        });
        work()
    })
}
