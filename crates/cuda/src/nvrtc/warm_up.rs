//! Making NVRTC ready while something else is waited for.
//!
//! The first compilation of a process takes 20 to 30 ms longer than the others: the library is
//! mapped and linked, its builtins are opened, and its tables are filled. Opening a device takes
//! longer than that and needs one thread, so that the two go side by side, and the thread has ended
//! when the device is open: a process that ends may not have one inside of the library.

use std::sync::Once;

use super::compile::compile;
use super::library::library;
use super::options::CompileOptions;
use crate::arch::Arch;

/// Does the work and returns its result. The first call in a process loads NVRTC meanwhile, in
/// another thread, and compiles an empty source. Failures of that are ignored: the first
/// compilation reports them.
pub fn warm_up_beside<R>(work: impl FnOnce() -> R) -> R {
    static DONE: Once = Once::new();
    let mut first = false;
    DONE.call_once(|| first = true);
    if !first {
        return work();
    }
    std::thread::scope(|scope| {
        // No thread to be had is no failure of the work.
        let _ = std::thread::Builder::new().name("nvrtc warm-up".to_owned()).spawn_scoped(scope, || {
            if library().is_ok() {
                let _ = compile("", &CompileOptions::new(Arch::SM_80));
            }
        });
        work()
    })
}
