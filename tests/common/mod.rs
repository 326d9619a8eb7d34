//! The example pipelines, as files: `examples/pipelines/KERNEL/NAME.pipe` for `examples/kernels/KERNEL.lw`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use loopwright_kernel_ir::LoopKernel;
use loopwright_lowering::{LowerOptions, lower, program::Program};
use loopwright_transforms::{Pipeline, Registry};

/// One pipeline of one kernel.
pub struct Example {
    /// The kernel's file, without its extension.
    pub kernel: String,
    /// The pipeline's file, without its extension.
    pub pipeline: String,
    /// As declared.
    pub declared: LoopKernel,
    /// The steps.
    pub steps: Pipeline,
}

impl Example {
    /// `KERNEL/NAME`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.kernel, self.pipeline)
    }

    /// The kernel after all steps.
    pub fn transformed(&self) -> LoopKernel {
        self.steps.apply(&self.declared).unwrap_or_else(|d| panic!("{}: {d}", self.name()))
    }

    /// The lowered program.
    pub fn program(&self) -> Program {
        lower(&self.transformed(), LowerOptions::default()).unwrap_or_else(|d| panic!("{}: {d}", self.name()))
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).expect("the folder is there").map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("a file's name").to_string_lossy().into_owned()
}

/// All example pipelines, in the order of their names.
pub fn examples() -> Vec<Example> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut found = Vec::new();
    for folder in entries(&root.join("pipelines")) {
        let kernel = stem(&folder);
        let file = root.join("kernels").join(format!("{kernel}.lw"));
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let declared = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{}: {d}", file.display()));
        for path in entries(&folder) {
            let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let steps = Pipeline::parse_file(&path.to_string_lossy(), &text, &Registry::default())
                .unwrap_or_else(|d| panic!("{}: {d}", path.display()));
            found.push(Example {
                kernel: kernel.clone(),
                pipeline: stem(&path),
                declared: declared.clone(),
                steps,
            });
        }
    }
    assert!(found.len() >= 15, "only {} example pipelines found", found.len());
    found
}
