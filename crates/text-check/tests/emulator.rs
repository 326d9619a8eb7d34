//! The emulator, with all its checks on, computes the same as the printed texts: both read the same
//! programs.

use crate::programs;

use std::sync::Arc;

use loopwright_emulator::{Arguments as EmulatorArguments, Options, run};
use loopwright_kernel_ir::{Buffer, DType, Number};
use loopwright_program::{Owner, Program};
use loopwright_text_check::{Arguments, Scalar};
use programs::{Case, cases};

/// The same arguments for the emulator. What the program only writes is uninitialised before.
fn converted(program: &Program, arguments: &Arguments) -> EmulatorArguments {
    let mut result = EmulatorArguments::new();
    for global in program.globals.iter().filter(|g| g.owner == Owner::Caller) {
        let bytes = arguments.arrays[&global.name].clone();
        result = result.array(&global.name, Buffer::from_bytes(global.dtype, bytes).unwrap());
    }
    for scalar in program.scalars() {
        let number = match arguments.scalars[&scalar.name] {
            Scalar::Int(v) => Number::I64(v).cast(scalar.dtype),
            Scalar::Float(v) => Number::F64(v).cast(scalar.dtype),
        };
        result = result.scalar(&scalar.name, number);
    }
    result
}

#[test]
fn the_emulator_computes_what_the_texts_compute() {
    let mut options = Options::default();
    let scaled = |args: &[Number]| match args {
        [x, k] => Number::F64(x.as_f64() * k.as_f64()).cast(DType::F32),
        _ => Number::F32(f32::NAN),
    };
    options.functions.insert("scaled".into(), Arc::new(scaled));
    for Case { name, program, arguments, expected } in cases() {
        let mut arguments = converted(&program, &arguments);
        run(&program, &mut arguments, &options).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        for (array, expected) in expected {
            let found = arguments.buffer(&array).unwrap();
            let size = found.dtype().bytes();
            for (k, (found, expected)) in found.bytes().chunks(size).zip(expected.chunks(size)).enumerate() {
                assert_eq!(found, expected, "{name}: {array}[{k}]");
            }
        }
    }
}
