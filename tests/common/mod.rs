//! The example pipelines as files: `examples/pipelines/KERNEL/NAME.pipe` for
//! `examples/kernels/KERNEL.lw`.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use loopwright_kernel_ir::LoopKernel;
use loopwright_lowering::{LowerOptions, Target, lower, program::Program, realized};
use loopwright_transforms::{Pipeline, Registry};

/// One pipeline of one kernel.
pub struct Example {
    /// The name of the kernel's file, without its extension.
    pub kernel: String,
    /// The name of the pipeline's file, without its extension.
    pub pipeline: String,
    /// The declared kernel.
    pub declared: LoopKernel,
    /// The steps of the pipeline.
    pub steps: Pipeline,
    transformed: OnceLock<LoopKernel>,
    program: OnceLock<Program>,
}

#[allow(dead_code, reason = "not every test that shares the examples needs all of it")]
impl Example {
    /// The example's name, `KERNEL/NAME`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.kernel, self.pipeline)
    }

    /// The kernel after all steps, which are proved once for all tests of a process.
    pub fn transformed(&self) -> LoopKernel {
        let transformed =
            || self.steps.apply(&self.declared).unwrap_or_else(|d| panic!("{}: {d}", self.name()));
        self.transformed.get_or_init(transformed).clone()
    }

    /// The lowered program.
    pub fn program(&self) -> Program {
        let lowered = || {
            lower(&self.transformed(), LowerOptions::default())
                .unwrap_or_else(|d| panic!("{}: {d}", self.name()))
        };
        self.program.get_or_init(lowered).clone()
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).expect("the folder is there").map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn pipelines(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|file| file.extension().is_some_and(|e| e == "pipe")).collect()
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("a file's name").to_string_lossy().into_owned()
}

fn example(kernel: &Path, pipeline: &Path) -> Example {
    let read = |file: &Path| fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let declared = LoopKernel::parse(&read(kernel)).unwrap_or_else(|d| panic!("{}: {d}", kernel.display()));
    let steps = Pipeline::parse_file(&pipeline.to_string_lossy(), &read(pipeline), &Registry::default())
        .unwrap_or_else(|d| panic!("{}: {d}", pipeline.display()));
    Example {
        kernel: stem(kernel),
        pipeline: stem(pipeline),
        declared,
        steps,
        transformed: OnceLock::new(),
        program: OnceLock::new(),
    }
}

/// All example pipelines, sorted by name.
pub fn examples() -> &'static [Example] {
    static EXAMPLES: OnceLock<Vec<Example>> = OnceLock::new();
    EXAMPLES.get_or_init(read_examples)
}

fn read_examples() -> Vec<Example> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut found = Vec::new();
    for folder in entries(&root.join("pipelines")) {
        let kernel = root.join("kernels").join(format!("{}.lw", stem(&folder)));
        found.extend(pipelines(&folder).iter().map(|pipeline| example(&kernel, pipeline)));
    }
    assert!(found.len() >= 15, "only {} example pipelines found", found.len());
    found
}

/// The pipelines of PolyBench, each with its kernel.
#[allow(dead_code, reason = "not every test that shares the examples reads these")]
pub fn polybench() -> &'static [Example] {
    static POLYBENCH: OnceLock<Vec<Example>> = OnceLock::new();
    POLYBENCH.get_or_init(read_polybench)
}

fn read_polybench() -> Vec<Example> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/polybench");
    let files = pipelines(&folder).into_iter();
    let found: Vec<Example> = files.map(|pipe| example(&pipe.with_extension("lw"), &pipe)).collect();
    assert!(found.len() >= 16, "only {} pipelines of PolyBench found", found.len());
    found
}

/// The fastest products, and one with an epilogue, which takes the steps of a plain one.
#[allow(dead_code, reason = "not every test that shares the examples reads these")]
pub fn products() -> Vec<Example> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let kernel = root.join("kernels/matmul_bf16.lw");
    let mut found: Vec<Example> =
        pipelines(&root.join("products")).iter().map(|pipeline| example(&kernel, pipeline)).collect();
    let steps = root.join("pipelines/matmul_bf16/mma_swizzled.pipe");
    found.push(example(&root.join("products/gelu.lw"), &steps));
    found
}

/// The situations of loopy's tests that have a pipeline and are not refused, which those in the
/// README's table with a column for the code are.
#[allow(dead_code, reason = "not every test that shares the examples reads these")]
pub fn from_loopy() -> Vec<Example> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/from_loopy");
    let readme = fs::read_to_string(folder.join("README.md")).expect("the folder has a README");
    let refused = |path: &Path| {
        let link = format!("]({}.lw)", stem(path));
        let row = readme.lines().find(|line| line.contains(&link)).expect("a situation has a row");
        row.trim_matches('|').split(" | ").count() == 4
    };
    let found = pipelines(&folder).into_iter().filter(|path| !refused(path));
    found.map(|pipe| example(&pipe.with_extension("lw"), &pipe)).collect()
}

/// The lowered program of a transformed kernel, and the kernel that it is held to; `None` if it has
/// flattened nests, about whose instances data decide.
#[allow(dead_code, reason = "not every test that shares the examples reads these")]
pub fn held_to_kernel(name: &str, kernel: &LoopKernel) -> Option<(LoopKernel, Program)> {
    let program = lower(kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{name}: {d}"));
    if program.leaves.iter().any(|l| l.decided_by_data) {
        return None;
    }
    let kernel = realized(kernel, &Target::cuda()).unwrap_or_else(|d| panic!("{name}: {d}"));
    Some((kernel.kernel().clone(), program))
}
