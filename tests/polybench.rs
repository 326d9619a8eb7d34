//! The PolyBench kernels of `examples/polybench`: the declared kernel computes what the plain loops
//! compute, both in the reference interpreter and lowered without any step; and so does its
//! pipeline on the emulator with all checks.

use crate::sequential;
use crate::suite;

use std::collections::BTreeMap;

use loopwright::prelude::*;
use loopwright_kernel_ir::Arg;
use loopwright_reference::{Inputs, Mode, interpret};

#[test]
fn declared_kernels_in_the_reference_interpreter() {
    for case in suite::cases() {
        let kernel = case.declared();
        for sizes in case.small {
            let mut problem = case.problem(sizes);
            let mut inputs = Inputs::new();
            for arg in &kernel.args {
                inputs = match arg {
                    Arg::Array(a) => {
                        let grid = &problem.arrays[a.name.as_str()];
                        let dtype = a.dtype.known().expect("the suite's types are known");
                        let tensor = Tensor::from_slice(&grid.shape, &grid.values).unwrap().cast(dtype);
                        inputs.array(a.name.clone(), tensor.buffer().clone())
                    }
                    Arg::Scalar(s) => {
                        let value = match s.name.as_str() {
                            "alpha" => Number::F64(sequential::ALPHA),
                            "beta" => Number::F64(sequential::BETA),
                            size => Number::I64(problem.sizes[size] as i64).cast(DType::I32),
                        };
                        inputs.scalar(s.name.clone(), value)
                    }
                };
            }
            let outputs =
                interpret(&kernel, &inputs, Mode::Exact).unwrap_or_else(|d| panic!("{}: {d}", case.name));
            let got: BTreeMap<String, Vec<f64>> = outputs
                .iter()
                .map(|(n, b)| (n.to_string(), b.numbers().map(Number::as_f64).collect()))
                .collect();
            (case.sequential)(&mut problem);
            let difference = suite::difference(&problem, &got);
            assert!(!got.is_empty() && difference <= 1.0, "{} {sizes:?}: {difference}", case.name);
        }
    }
}

#[test]
fn declared_kernels_lowered_as_they_stand() {
    for case in suite::cases() {
        let kernel = case.declared();
        for sizes in case.small {
            let run = suite::run(&case, &kernel, &Device::emulator(), sizes)
                .unwrap_or_else(|d| panic!("{} {sizes:?}: {d}", case.name));
            assert!(run.difference <= 1.0, "{} {sizes:?}: {}", case.name, run.difference);
            assert_eq!(run.kernels, 1, "{}", case.name);
        }
    }
}

#[test]
fn pipelines_on_the_emulator() {
    for case in suite::cases() {
        let steps = case.steps().unwrap_or_else(|d| panic!("{d}"));
        let kernel = case.declared().pipeline(&steps).unwrap_or_else(|d| panic!("{}: {d}", case.name));
        for sizes in case.small {
            let run = suite::run(&case, &kernel, &Device::emulator(), sizes)
                .unwrap_or_else(|d| panic!("{} {sizes:?}: {d}", case.name));
            assert!(run.difference <= 1.0, "{} {sizes:?}: {}", case.name, run.difference);
        }
    }
}

#[test]
fn launches_are_large() {
    for case in suite::cases() {
        let steps = case.steps().unwrap_or_else(|d| panic!("{d}"));
        let kernel = case.declared().pipeline(&steps).unwrap_or_else(|d| panic!("{}: {d}", case.name));
        let program =
            lower(&kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{}: {d}", case.name));
        for sizes in case.large {
            let threads = suite::threads(&program, sizes);
            assert!(threads >= 1024, "{} {sizes:?}: {threads} threads", case.name);
        }
        let axes = |block: bool| {
            kernel.tags.values().any(|t| if block { t.is_over_blocks() } else { t.is_in_block() })
        };
        assert!(axes(true) && axes(false), "{}", case.name);
    }
}
