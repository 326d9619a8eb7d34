//! Filetests: a kernel's text, a pipeline, and their outcome.
//!
//! A file has three sections: the kernel, `==== pipeline`, and the outcome, which is `==== refused`
//! with the rendered diagnostic or `==== cuda` with the printed CUDA C. Before the outcome,
//! `==== index` names the type of indices, which is `i32` without it. If the verdict on a step
//! refuses it, `==== lowering the refused` says what lowering would do. See
//! [`loopwright_filetest`].

use std::path::Path;

use loopwright_cuda_target::cuda_source;
use loopwright_filetest::Filetest;
use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel};
use loopwright_lowering::{LowerOptions, lower, program::Program};
use loopwright_transforms::Pipeline;

/// The outcome of a kernel and a pipeline.
pub enum Outcome {
    /// The kernel, the transformed kernel, its program and the printed text.
    Accepted(Box<Accepted>),
    /// The refusal: of the kernel's text, a step, lowering, or the printer.
    Refused(String),
}

/// The results of an accepted pipeline.
pub struct Accepted {
    /// The kernel as declared.
    pub declared: LoopKernel,
    /// The kernel after the steps of the pipeline.
    pub transformed: LoopKernel,
    /// The program that the transformed kernel was lowered to.
    pub program: Program,
    /// The program printed as CUDA C.
    pub cuda: String,
}

/// Takes a kernel through a pipeline, lowering and the printer.
pub fn outcome(kernel: &str, pipeline: &str) -> Outcome {
    outcome_with(kernel, pipeline, LowerOptions::default())
}

fn outcome_with(kernel: &str, pipeline: &str, options: LowerOptions) -> Outcome {
    let refused = |d: &dyn std::fmt::Display| Outcome::Refused(d.to_string());
    let declared = match LoopKernel::parse(kernel) {
        Ok(kernel) => kernel,
        Err(d) => return refused(&d),
    };
    let printed = || -> Result<Accepted, Diagnostic> {
        let transformed = Pipeline::parse(pipeline)?.apply(&declared)?;
        let program = lower(&transformed, options)?;
        let cuda = cuda_source(&program)?.text;
        Ok(Accepted { declared: declared.clone(), transformed, program, cuda })
    };
    let refusal = match printed() {
        Ok(accepted) => return Outcome::Accepted(Box::new(accepted)),
        Err(d) => d,
    };
    // Lowering is the second line of defence: its outcome for a step refused by its verdict.
    let forced = Pipeline::parse(pipeline).and_then(|p| p.apply_unjudged(&declared));
    match forced {
        Ok(kernel) if is_verdict(&refusal) => {
            let second = match lower(&kernel, options) {
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
    /// The section with this outcome.
    pub fn section(&self) -> String {
        match self {
            Outcome::Accepted(a) => format!("==== cuda\n{}", a.cuda),
            Outcome::Refused(d) => format!("==== refused\n{d}\n"),
        }
    }
}

/// The sections of a file that are inputs, in addition to the kernel.
const INPUTS: [&str; 2] = ["pipeline", "index"];

/// The text of a file with the actual outcome: how a random case becomes a test.
pub fn text(kernel: &str, pipeline: &str) -> String {
    let test = Filetest {
        name: String::new(),
        text: kernel.into(),
        inputs: vec![(INPUTS[0].into(), pipeline.into())],
        expected: String::new(),
    };
    test.with(&outcome(kernel, pipeline).section())
}

/// The files of a folder in the order of their names.
///
/// # Panics
/// If there is none, or one cannot be read.
pub fn read(folder: &Path) -> Vec<Filetest> {
    loopwright_filetest::read(folder, "test", &INPUTS)
}

/// Compares the files of a folder with their actual outcomes, or writes these into them.
///
/// # Panics
/// With all differences, if the outcome of a file is not the expected one.
pub fn check(folder: &Path) -> Vec<Filetest> {
    loopwright_filetest::check(folder, "test", &INPUTS, |test| {
        let options = match test.optional(INPUTS[1]).map(str::trim) {
            None => LowerOptions::default(),
            Some("i32") => LowerOptions::new(DType::I32),
            Some("i64") => LowerOptions::new(DType::I64),
            Some(other) => panic!("{}: `{other}` is no type of indices", test.name),
        };
        outcome_with(&test.text, test.input(INPUTS[0]), options).section()
    })
}
