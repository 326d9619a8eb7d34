//! The text of programs that lowering produces: a printed program reads back as the same program,
//! which is printed, checked and run like the original.

use crate::examples;

use std::{fs, path::PathBuf};

use examples::{lowered, pipelines};
use loopwright_cuda_target::cuda_source;
use loopwright_kernel_ir::{DType, LoopKernel};
use loopwright_lowering::{LowerOptions, lower};
use loopwright_program::{Program, verify::verify};
use loopwright_testing::{
    case::{Case, Refusals},
    check,
};
use loopwright_transforms::Pipeline;
use rayon::prelude::*;

/// Prints a program and reads it back.
fn read_back(name: &str, program: &Program) -> Program {
    let text = program.to_text();
    let again = Program::parse(&text)
        .unwrap_or_else(|d| panic!("{name} does not read back:\n{}\n{text}", d.render()));
    assert_eq!(again.to_text(), text, "{name}: another text");
    let plain = program.plain();
    // A NaN does not equal itself; the text has its bits.
    if again != plain {
        let (again, plain) = (format!("{again:#?}"), format!("{plain:#?}"));
        let differs = again.lines().zip(plain.lines()).find(|(a, b)| a != b);
        assert_eq!(again.lines().count(), plain.lines().count(), "{name}: {differs:?}\n{text}");
        assert!(differs.is_none(), "{name} reads back as a different program: {differs:?}\n{text}");
    }
    again
}

/// The examples in `examples/kernels`, each with its pipelines, and those of PolyBench.
fn all() -> Vec<(String, Program)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let stems = |folder: PathBuf, extension: &str| {
        let files = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path());
        let files = files.filter(|f| f.extension().is_some_and(|e| e == extension));
        let mut names: Vec<String> =
            files.map(|f| f.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let mut all = Vec::new();
    for kernel in stems(folder.join("kernels"), "lw") {
        for pipeline in pipelines(&kernel) {
            all.push((format!("{kernel}/{pipeline}"), lowered(&kernel, &pipeline)));
        }
    }
    for name in stems(folder.join("polybench"), "pipe") {
        let file = |extension| folder.join(format!("polybench/{name}.{extension}"));
        let read = |extension| fs::read_to_string(file(extension)).unwrap();
        let kernel = LoopKernel::parse(&read("lw")).unwrap_or_else(|d| panic!("{name}: {d}"));
        let steps = Pipeline::parse(&read("pipe")).unwrap_or_else(|d| panic!("{name}: {d}"));
        let kernel = steps.apply(&kernel).unwrap_or_else(|d| panic!("{name}: {d}"));
        for index in [DType::I32, DType::I64] {
            let program = lower(&kernel, LowerOptions::new(index)).unwrap_or_else(|d| panic!("{name}: {d}"));
            all.push((format!("{name}/{index}"), program));
        }
    }
    all
}

#[test]
fn programs_of_the_examples() {
    let all = all();
    assert!(all.len() >= 60, "{} programs", all.len());
    all.par_iter().for_each(|(name, program)| {
        let again = read_back(name, program);
        let source = |p: &Program| cuda_source(p).unwrap_or_else(|d| panic!("{name}: {d}")).text;
        assert_eq!(source(&again), source(program), "{name}");
    });
}

/// The final check makes the same queries for a program and for its text.
#[test]
fn verdicts_on_texts() {
    for (kernel, pipeline) in
        [("segmented_sum", "block_per_segment"), ("transpose", "tiled"), ("ragged_sum", "flattened")]
    {
        let program = lowered(kernel, pipeline);
        let again = read_back(kernel, &program);
        assert_eq!(verify(&again), verify(&program), "{kernel}/{pipeline}");
    }
}

/// Random kernels after random steps, as text, compute what the kernel declares.
#[test]
fn random_programs() {
    (0..50u64).into_par_iter().for_each(|seed| {
        let case = Case::random(seed, &mut Refusals::default());
        let built = case.build().unwrap_or_else(|d| panic!("seed {seed}: {d}"));
        let again = read_back(&format!("seed {seed}"), &built.program);
        if seed % 10 == 0 {
            let found = |p: &Program| {
                let sizes = loopwright_testing::case::sizes();
                sizes.iter().map(|sizes| check::run(&built.declared, p, sizes)).collect::<Vec<_>>()
            };
            assert_eq!(found(&again), found(&built.program), "seed {seed}");
            assert_eq!(verify(&again), verify(&built.program), "seed {seed}");
        }
    });
}
