//! Every printed text is accepted by NVRTC without a warning: those of this crate's programs for
//! three architectures, those that filetests pin for the oldest that can run them, or for all of
//! these if that is not the oldest of all. The examples are compiled by `tests/spills.rs`.
//!
//! If NVRTC is not available, the tests are listed as ignored with the reason.

#[path = "common/mod.rs"]
mod common;
#[path = "common/programs.rs"]
mod programs;

use std::{path::Path, process::ExitCode};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use loopwright_cuda::{
    Arch,
    nvrtc::{self, CompileOptions, compile},
};
use loopwright_cuda_target::cuda_source;

/// The folders with pinned texts: those of the filetests, and of the crate outside the workspace.
const PINNED: [&str; 3] =
    ["tests/filetests/accepted", "tests/filetests/cuda", "tests/external-crate/tests/snapshots"];

const ARCHITECTURES: [Arch; 3] = [Arch::SM_80, Arch::SM_90A, Arch::SM_100A];

/// The first architecture that has all instructions of a text, which says so where it is not the
/// first of all.
fn since(text: &str) -> u32 {
    let of = |line: &str| line.strip_prefix("// For sm_")?.strip_suffix(" and later.")?.parse().ok();
    text.lines().filter_map(of).max().unwrap_or_default()
}

/// Whether a text compiles without a warning for as many of the architectures that it is for, from
/// the oldest on.
fn accepted(text: &str, kernels: usize, architectures: usize) -> Result<(), Failed> {
    let can = ARCHITECTURES.into_iter().filter(|arch| arch.number() >= since(text));
    for arch in can.take(architectures) {
        let compiled =
            compile(text, &CompileOptions::new(arch)).map_err(|e| format!("{arch}: {e}\n{text}"))?;
        let warnings: Vec<String> = compiled.warnings().map(|w| w.to_string()).collect();
        if !warnings.is_empty() {
            return Err(format!("{arch}: {}\n{text}", warnings.join("\n")).into());
        }
        if compiled.resources.len() != kernels {
            return Err(format!("{arch}: {} kernels, not {kernels}", compiled.resources.len()).into());
        }
    }
    Ok(())
}

/// The CUDA C that a snapshot or a filetest pins: everything after the head, up to the next
/// section.
fn pinned(path: &Path) -> Option<String> {
    let file = std::fs::read_to_string(path).ok()?;
    let text = match path.extension()?.to_str()? {
        "snap" => file.splitn(3, "---\n").nth(2)?,
        "test" => file.split_once("==== cuda\n")?.1.split("\n==== ").next()?,
        _ => return None,
    };
    text.contains("__global__").then(|| text.to_owned())
}

fn main() -> ExitCode {
    let missing = nvrtc::library().err().map(|e| e.to_string());
    let mut trials = Vec::new();
    let mut add = |name: String, test: Box<dyn FnOnce() -> Result<(), Failed> + Send>| {
        let reason = missing.clone();
        trials.push(Trial::ignorable_test(name, move || match reason {
            Some(reason) => Ok(Completion::ignored_with(reason)),
            None => test().map(|()| Completion::Completed),
        }));
    };
    for case in programs::cases() {
        let test = move || {
            let source = cuda_source(&case.program)?;
            accepted(&source.text, source.kernels.len(), ARCHITECTURES.len())
        };
        add(case.name, Box::new(test));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for folder in PINNED {
        let mut paths: Vec<_> =
            std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten().map(|f| f.path()).collect();
        paths.sort();
        let texts: Vec<_> = paths.into_iter().filter_map(|path| Some((pinned(&path)?, path))).collect();
        assert!(!texts.is_empty(), "no CUDA C in {folder}");
        for (text, path) in texts {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let kernels = text.matches("extern \"C\" __global__").count();
            let architectures =
                if since(&text) > ARCHITECTURES[0].number() { ARCHITECTURES.len() } else { 1 };
            let test = move || accepted(&text, kernels, architectures);
            add(format!("{folder}/{stem}"), Box::new(test));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
