//! The kernels and pipelines of the examples, lowered.

use std::{fs, path::PathBuf};

use loopwright_kernel_ir::LoopKernel;
use loopwright_lowering::{LowerOptions, lower, program::Program};
use loopwright_transforms::Pipeline;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// The declared kernel.
pub fn kernel(name: &str) -> LoopKernel {
    let text = fs::read_to_string(folder().join(format!("kernels/{name}.lw"))).unwrap();
    LoopKernel::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The names of its pipelines.
pub fn pipelines(name: &str) -> Vec<String> {
    let files = fs::read_dir(folder().join("pipelines").join(name)).unwrap();
    let mut names: Vec<String> =
        files.map(|f| f.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The lowered program of a kernel with a pipeline.
pub fn lowered(name: &str, pipeline: &str) -> Program {
    let file = folder().join("pipelines").join(name).join(format!("{pipeline}.pipe"));
    let steps = Pipeline::parse(&fs::read_to_string(file).unwrap()).unwrap_or_else(|e| panic!("{e}"));
    let transformed = steps.apply(&kernel(name)).unwrap_or_else(|e| panic!("{name} {pipeline}: {e}"));
    lower(&transformed, LowerOptions::default()).unwrap_or_else(|e| panic!("{name} {pipeline}: {e}"))
}
