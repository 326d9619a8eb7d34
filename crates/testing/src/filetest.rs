//! Filetests: a kernel's text, a pipeline, and what becomes of them.
//!
//! A file has three sections: the kernel, `==== pipeline`, and the outcome, which is `==== refused`
//! with the rendered diagnostic or `==== cuda` with the printed CUDA C. Where the verdict on a step
//! refuses it, `==== lowering the refused` says what lowering would do. `LOOPWRIGHT_BLESS=1` writes
//! what is found into the files; read the difference before keeping it.

use std::{fs, path::Path};

use loopwright_cuda_target::cuda_source;
use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_lowering::{LowerOptions, lower, program::Program};
use loopwright_transforms::Pipeline;

/// One file.
#[derive(Clone, Debug)]
pub struct FileTest {
    /// Its path from the folder.
    pub name: String,
    /// The kernel's text.
    pub kernel: String,
    /// The pipeline's text.
    pub pipeline: String,
    /// The last section with its heading.
    pub expected: String,
}

/// What a kernel and a pipeline give.
pub enum Outcome {
    /// The kernel, the transformed kernel, its program and the printed text.
    Accepted(Box<Accepted>),
    /// The refusal: of the kernel's text, a step, lowering, or the printer.
    Refused(String),
}

/// What an accepted pipeline gives.
pub struct Accepted {
    /// The kernel as declared.
    pub declared: LoopKernel,
    /// The lowered program.
    pub program: Program,
    /// Its CUDA C.
    pub cuda: String,
}

/// Takes a kernel through a pipeline, lowering and the printer.
pub fn outcome(kernel: &str, pipeline: &str) -> Outcome {
    let refused = |d: &dyn std::fmt::Display| Outcome::Refused(d.to_string());
    let declared = match LoopKernel::parse(kernel) {
        Ok(kernel) => kernel,
        Err(d) => return refused(&d),
    };
    let printed = || -> Result<Accepted, Diagnostic> {
        let transformed = Pipeline::parse(pipeline)?.apply(&declared)?;
        let program = lower(&transformed, LowerOptions::default())?;
        let cuda = cuda_source(&program)?.text;
        Ok(Accepted { declared: declared.clone(), program, cuda })
    };
    let refusal = match printed() {
        Ok(accepted) => return Outcome::Accepted(Box::new(accepted)),
        Err(d) => d,
    };
    // Lowering is the second line of defence: what does it say where a step was refused for its
    // verdict?
    let forced = Pipeline::parse(pipeline).and_then(|p| p.apply_unjudged(&declared));
    match forced {
        Ok(kernel) if is_verdict(&refusal) => {
            let second = match lower(&kernel, LowerOptions::default()) {
                Ok(_) => "nothing against it".to_string(),
                Err(d) => d.to_string(),
            };
            Outcome::Refused(format!("{refusal}\n==== lowering the refused\n{second}"))
        }
        _ => refused(&refusal),
    }
}

/// Whether a refusal is the verdict on a step.
fn is_verdict(d: &Diagnostic) -> bool {
    const VERDICTS: [&str; 8] = [
        "race",
        "dependence-violated",
        "stale-value",
        "unwritten-value",
        "wrong-cell",
        "instances-lost",
        "reduction-points",
        "legality-unknown",
    ];
    VERDICTS.contains(&d.code) && d.message.starts_with("step ")
}

impl Outcome {
    /// The section that states it.
    pub fn section(&self) -> String {
        match self {
            Outcome::Accepted(a) => format!("==== cuda\n{}", a.cuda),
            Outcome::Refused(d) => format!("==== refused\n{d}\n"),
        }
    }
}

/// The text of a file with the outcome as it is found: how a random case becomes a test.
pub fn text(kernel: &str, pipeline: &str) -> String {
    let line = |text: &str| if text.ends_with('\n') { text.to_string() } else { format!("{text}\n") };
    format!("{}==== pipeline\n{}{}", line(kernel), line(pipeline), outcome(kernel, pipeline).section())
}

/// The files of a folder in the order of their names.
///
/// # Panics
/// Where a file cannot be read or has no pipeline.
pub fn read(folder: &Path) -> Vec<FileTest> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|e| e.map(|e| e.path()))
        .collect::<Result<_, _>>()
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    files.sort();
    files
        .iter()
        .map(|file| {
            let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            let (kernel, rest) = text
                .split_once("==== pipeline\n")
                .unwrap_or_else(|| panic!("{} has no section `==== pipeline`", file.display()));
            let (pipeline, expected) = rest.find("==== ").map_or((rest, ""), |k| rest.split_at(k));
            FileTest {
                name: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                kernel: kernel.into(),
                pipeline: pipeline.into(),
                expected: expected.into(),
            }
        })
        .collect()
}

/// Holds the files of a folder to what they expect, or writes what is found into them.
///
/// # Panics
/// With all differences, where a file's outcome is another than the one that it expects.
pub fn check(folder: &Path) {
    let bless = std::env::var_os("LOOPWRIGHT_BLESS").is_some();
    let mut failures = String::new();
    for test in read(folder) {
        let found = outcome(&test.kernel, &test.pipeline).section();
        if found == test.expected {
            continue;
        }
        if bless {
            let text = text(&test.kernel, &test.pipeline);
            fs::write(folder.join(&test.name), text).unwrap_or_else(|e| panic!("{}: {e}", test.name));
        } else {
            failures.push_str(&format!("---- {}\nexpected {}found {found}\n", test.name, test.expected));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
