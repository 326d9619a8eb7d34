//! Calls, and the texts that they are expected to give.

use std::{fmt::Write, path::Path};

use loopwright_kernel_ir::{Diagnostics, LoopKernel};

/// What a call gives: the kernel's text, or the refusals as they are shown.
pub type Made = Result<LoopKernel, Diagnostics>;

/// Compares what calls give with a file of this folder; `LOOPWRIGHT_BLESS=1` rewrites it.
pub fn check(file: &str, calls: &[(&str, Made)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
    let mut found = String::new();
    for (call, made) in calls {
        let text = match made {
            Ok(kernel) => kernel.to_string(),
            Err(refusals) => refusals.0.iter().map(|d| d.render() + "\n").collect(),
        };
        let _ = writeln!(found, "==== {call}\n{text}");
    }
    if std::env::var_os("LOOPWRIGHT_BLESS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{file} differs; this is what the calls give:\n{found}");
}

/// Calls, each with its text.
#[macro_export]
macro_rules! calls {
    ($($call:expr),* $(,)?) => {
        [$((stringify!($call), $call)),*]
    };
}
