//! The kernels and pipelines of the examples, lowered.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock},
};

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

/// A kernel of the examples after the steps of a pipeline, and its program.
#[derive(Default)]
struct Proved {
    transformed: OnceLock<LoopKernel>,
    program: OnceLock<Program>,
}

/// What is known of a pipeline: several tests run each, and its steps are proved once for all.
fn proved(name: &str, pipeline: &str) -> Arc<Proved> {
    static KNOWN: Mutex<BTreeMap<(String, String), Arc<Proved>>> = Mutex::new(BTreeMap::new());
    KNOWN.lock().unwrap().entry((name.into(), pipeline.into())).or_default().clone()
}

/// A kernel after the steps of a pipeline.
pub fn transformed(name: &str, pipeline: &str) -> LoopKernel {
    let applied = || {
        let file = folder().join("pipelines").join(name).join(format!("{pipeline}.pipe"));
        let steps = Pipeline::parse(&fs::read_to_string(file).unwrap()).unwrap_or_else(|e| panic!("{e}"));
        steps.apply(&kernel(name)).unwrap_or_else(|e| panic!("{name} {pipeline}: {e}"))
    };
    proved(name, pipeline).transformed.get_or_init(applied).clone()
}

/// The lowered program of a kernel with a pipeline.
pub fn lowered(name: &str, pipeline: &str) -> Program {
    let made = || {
        let kernel = transformed(name, pipeline);
        lower(&kernel, LowerOptions::default()).unwrap_or_else(|e| panic!("{name} {pipeline}: {e}"))
    };
    proved(name, pipeline).program.get_or_init(made).clone()
}
