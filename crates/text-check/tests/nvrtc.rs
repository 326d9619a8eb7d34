//! Every printed text is accepted by NVRTC for three architectures, without a warning.
//!
//! Where NVRTC is not to be had, the tests are listed as ignored with the reason.

#[path = "common/mod.rs"]
mod common;
#[path = "common/programs.rs"]
mod programs;

use std::{path::Path, process::ExitCode};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use loopwright_cuda_target::cuda_source;
use loopwright_kernel_ir::LoopKernel;
use loopwright_lowering::lower;
use loopwright_runtime::{
    Arch,
    nvrtc::{self, CompileOptions, compile},
};
use loopwright_transforms::Pipeline;

const ARCHITECTURES: [Arch; 3] = [Arch::SM_80, Arch::SM_90A, Arch::SM_100A];

fn accepted(text: &str, kernels: usize) -> Result<(), Failed> {
    for arch in ARCHITECTURES {
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

/// A text for each example pipeline, made when its test runs.
fn example(kernel: &Path, pipeline: &Path) -> Result<(), Failed> {
    let kernel = LoopKernel::parse(&std::fs::read_to_string(kernel)?)?;
    let kernel = Pipeline::parse(&std::fs::read_to_string(pipeline)?)?.apply(&kernel)?;
    let source = cuda_source(&lower(&kernel, Default::default())?)?;
    accepted(&source.text, source.kernels.len())
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
            accepted(&source.text, source.kernels.len())
        };
        add(case.name, Box::new(test));
    }
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let listed = |folder: &Path| {
        let mut paths: Vec<_> =
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|f| f.path()).collect();
        paths.sort();
        paths
    };
    for folder in listed(&examples.join("pipelines")) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kernel = examples.join(format!("kernels/{name}.lw"));
        for pipeline in listed(&folder) {
            let stem = pipeline.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let kernel = kernel.clone();
            add(format!("{name}/{stem}"), Box::new(move || example(&kernel, &pipeline)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
