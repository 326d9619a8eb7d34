//! The user's device functions on the emulator: closures, or their CUDA C, compiled for the host.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
};

use loopwright_emulator::{DeviceClosure, Options};
use loopwright_kernel_ir::{DeviceFunction, Diagnostic, Name};
use loopwright_text_check::device_functions;

type Compiled = Result<BTreeMap<Name, DeviceClosure>, Diagnostic>;

/// The options with all functions of a kernel, of which `called` are called. Those without a
/// closure are compiled by the system's C++ compiler, once in a process for the same texts.
///
/// Errors: `missing-function` where there is no compiler; `device-function` of a function that
/// cannot be compiled for the host.
pub(super) fn with_functions<'a>(
    options: &Options,
    functions: &[DeviceFunction],
    called: impl IntoIterator<Item = &'a Name>,
) -> Result<Options, Diagnostic> {
    let missing: Vec<&Name> =
        called.into_iter().filter(|name| !options.functions.contains_key(*name)).collect();
    let mut options = options.clone();
    if missing.is_empty() {
        return Ok(options);
    }
    let mut compiled = compiled(functions).map_err(|error| match error.code {
        "no-c++-compiler" => Diagnostic::new(
            "missing-function",
            format!(
                "`{}` has no closure, and there is no compiler for its CUDA C: {}",
                missing[0], error.message
            ),
        )
        .help(error.help.clone().unwrap_or_default()),
        _ => error,
    })?;
    for name in missing {
        if let Some(function) = compiled.remove(name) {
            options.functions.insert(name.clone(), function);
        }
    }
    Ok(options)
}

fn compiled(functions: &[DeviceFunction]) -> Compiled {
    static KNOWN: Mutex<Option<HashMap<Vec<DeviceFunction>, Compiled>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if let Some(compiled) = known.get(functions) {
        return compiled.clone();
    }
    let compiled = device_functions(functions);
    known.insert(functions.to_vec(), compiled.clone());
    compiled
}
