//! The user's device functions, for evaluation on the host: their CUDA C, compiled by the system's
//! C++ compiler.
//!
//! All functions are one translation unit, so that a function may call those before it. Each has an
//! entry that takes its arguments, and leaves its result, as the bits of numbers, a word of 64 bits
//! each. As on a GPU, signed integers wrap; products are not contracted, as in the emulator.
//!
//! A function has to depend on its arguments alone: what knows its thread, talks to others of its
//! warp or accesses memory has no meaning here, and is refused.

use std::{collections::BTreeMap, fmt::Write, process::Command, sync::Arc};

use libloading::Library;
use loopwright_kernel_ir::{DType, DeviceFunction, Diagnostic, Name, Number};
use loopwright_program::Target;

use crate::{
    compile::{Checker, FOR_HOST},
    wrapper::SHIM_NAME,
};

/// A device function that the host can call, with numbers of the types of its parameters.
pub type HostFunction = Arc<dyn Fn(&[Number]) -> Number + Send + Sync>;

/// Options besides [`FOR_HOST`]: integers wrap, and there are no warnings, which are for the text's
/// author to see on a GPU.
const OPTIONS: &[&str] = &["-fwrapv", "-w"];

/// How words begin that mean more than a function of numbers has: its thread, other threads, or
/// memory.
const BEYOND: &[&str] = &[
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    "atomic",
    "asm",
    "__shfl",
    "__sync",
    "__ballot",
    "__any",
    "__all",
    "__activemask",
    "__match",
    "__reduce",
    "__shared__",
    "__constant__",
    "__threadfence",
    "clock",
];

type Entry = unsafe extern "C" fn(*const u64, *mut u64);

/// The functions, compiled.
///
/// Errors: `no-c++-compiler`; `device-function`, if the text of one does not compile, or means more
/// than a function of its arguments.
pub fn device_functions(functions: &[DeviceFunction]) -> Result<BTreeMap<Name, HostFunction>, Diagnostic> {
    for function in functions {
        if let Some(word) = beyond_arguments(&function.source) {
            return Err(Diagnostic::new(
                "device-function",
                format!(
                    "`{}` cannot be evaluated on the host: `{word}` is no function of its arguments",
                    function.name
                ),
            )
            .help("pass what it depends on as an argument, or run on a GPU"));
        }
    }
    let folder = tempfile::tempdir().map_err(|e| {
        Diagnostic::new("device-function", format!("there is no folder for temporary files: {e}"))
    })?;
    let checker = Checker::with_folder(folder.path())?;
    let unit = translation_unit(functions);
    let (text, library) = (folder.path().join("functions.cpp"), folder.path().join("functions.so"));
    std::fs::write(&text, &unit)
        .map_err(|e| Diagnostic::new("device-function", format!("`{}`: {e}", text.display())))?;
    let output = Command::new(checker.compiler())
        .args(FOR_HOST.iter().chain(OPTIONS))
        .arg("-I")
        .arg(checker.headers())
        .arg(&text)
        .arg("-o")
        .arg(&library)
        .output()
        .map_err(|e| {
            Diagnostic::new("device-function", format!("the C++ compiler cannot be started: {e}"))
        })?;
    if !output.status.success() {
        let names: Vec<String> = functions.iter().map(|f| format!("`{}`", f.name)).collect();
        return Err(Diagnostic::new(
            "device-function",
            format!("{} cannot be compiled for the host", names.join(", ")),
        )
        .witness(String::from_utf8_lossy(&output.stderr).trim_end().to_string())
        .help("use what CUDA C and C++ have in common, or run on a GPU"));
    }
    // SAFETY: the library was made here, in a folder of this process alone; its initialisation runs
    // nothing but what the user's own text says.
    let library = unsafe { Library::new(&library) }.map_err(|e| {
        Diagnostic::new("device-function", format!("the compiled functions cannot be loaded: {e}"))
    })?;
    let library = Arc::new(library);
    functions.iter().map(|f| Ok((f.name.clone(), host_function(&library, f)?))).collect()
}

/// A function of a library, which stays loaded as long as it can be called.
fn host_function(library: &Arc<Library>, function: &DeviceFunction) -> Result<HostFunction, Diagnostic> {
    let entry = entry(&function.name);
    // SAFETY: the translation unit declares the entry with this type.
    let call: Entry = *unsafe { library.get::<Entry>(entry.as_bytes()) }
        .map_err(|e| Diagnostic::new("device-function", format!("`{}` is not there: {e}", function.name)))?;
    let (library, result, arity) = (library.clone(), function.result, function.params.len());
    Ok(Arc::new(move |args: &[Number]| {
        let _loaded = &library;
        let mut words: Vec<u64> = args.iter().map(|number| number.bits()).collect();
        words.resize(arity, 0);
        let mut bits = 0;
        // SAFETY: there is a word for each parameter, and one for the result.
        unsafe { call(words.as_ptr(), &mut bits) };
        Number::from_bits(result, bits)
    }))
}

/// The first word of a text that means more than a function of its arguments.
fn beyond_arguments(text: &str) -> Option<String> {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c: char| !is_of_word(c))
        .find(|word| BEYOND.iter().any(|beyond| word.starts_with(beyond)))
        .map(str::to_string)
}

fn entry(name: &Name) -> String {
    format!("loopwright_function_{name}")
}

fn translation_unit(functions: &[DeviceFunction]) -> String {
    let language = Target::cuda().language;
    let c_type = |dtype: DType| language.type_name(&dtype.to_string()).unwrap_or("int");
    let mut text =
        format!("#include \"{SHIM_NAME}\"\nalignas(16) thread_local unsigned char shared_memory[16];\n");
    // A function may have the name of one of the C library, which the shim has declared.
    for function in functions {
        let _ = writeln!(text, "#define {0} loopwright_user_{0}", function.name);
    }
    for (number, function) in functions.iter().enumerate() {
        let _ = writeln!(text, "#line 1 \"{}.cu\"\n{}", function.name, function.source);
        let _ = write!(
            text,
            "#line 1 \"entries.cpp\"\nextern \"C\" void {}(const unsigned long long *arguments, unsigned \
             long long *result) {{\n",
            entry(&function.name)
        );
        let mut arguments = Vec::new();
        for (k, param) in function.params.iter().enumerate() {
            let _ = write!(
                text,
                "    {} a{k};\n    memcpy((void *)&a{k}, &arguments[{k}], sizeof a{k});\n",
                c_type(*param)
            );
            arguments.push(format!("a{k}"));
        }
        let _ = write!(
            text,
            "    const {} found{number} = {}({});\n    *result = 0;\n    memcpy(result, (const void \
             *)&found{number}, sizeof found{number});\n}}\n",
            c_type(function.result),
            function.name,
            arguments.join(", ")
        );
    }
    text
}
