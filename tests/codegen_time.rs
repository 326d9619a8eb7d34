//! The kernels of `examples/codegen_time.rs`: their printed text, compiled by the system's C++ compiler, gives what they declare, and so
//! does the emulator.

#[path = "common/cases.rs"]
mod cases;
#[path = "../examples/common/speed_cases.rs"]
mod speed_cases;

use loopwright_emulator::{Options, run};
use loopwright_kernel_ir::{DType, LoopKernel};
use loopwright_lowering::{LowerOptions, lower};
use loopwright_text_check::{Arguments, Checker, Order, Scalar};
use loopwright_transforms::Pipeline;

/// The arguments as the text check takes them.
fn for_text(arguments: &loopwright_emulator::Arguments) -> Arguments {
    let mut text = Arguments::new();
    for (name, array) in &arguments.arrays {
        text = text.array(name.clone(), array.buffer.bytes());
    }
    for (name, number) in &arguments.scalars {
        let scalar = match number.dtype() {
            DType::F32 => Scalar::from(number.as_f64()),
            _ => Scalar::from(number.as_i64().expect("an integer")),
        };
        text = text.scalar(name.clone(), scalar);
    }
    text
}

#[test]
fn the_texts_compute_what_the_kernels_declare() {
    let cases = speed_cases::all();
    let made: Vec<_> = cases
        .iter()
        .map(|case| {
            let declared = LoopKernel::parse(&case.kernel).unwrap_or_else(|d| panic!("{}: {d}", case.name));
            let kernel = Pipeline::parse(&case.pipeline)
                .and_then(|p| p.apply(&declared))
                .unwrap_or_else(|d| panic!("{}: {d}", case.name));
            let program =
                lower(&kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{}: {d}", case.name));
            (declared, program)
        })
        .collect();
    let programs: Vec<_> = made.iter().map(|(_, program)| program.clone()).collect();
    let texts = Checker::new().expect("a C++ compiler").compile_all(&programs);
    for ((case, (declared, program)), text) in cases.iter().zip(&made).zip(texts) {
        let text = text.unwrap_or_else(|d| panic!("{}: {d}", case.name));
        let sizes = &cases::sizes(&declared.name)[0];
        assert!(cases::allowed(program, sizes), "{}", case.name);
        let arguments = cases::arguments(program, sizes);
        let expected = cases::expected(declared, &arguments);
        assert!(!expected.is_empty());

        let mut emulated = arguments.clone();
        run(program, &mut emulated, &Options::default())
            .unwrap_or_else(|fault| panic!("{}: {}", case.name, fault.diagnostic()));
        for order in [Order::Forwards, Order::Backwards] {
            let mut printed = for_text(&arguments);
            text.run(&mut printed, order).unwrap_or_else(|d| panic!("{}: {d}", case.name));
            for (name, buffer) in &expected {
                assert!(emulated.buffer(name) == Some(buffer), "{}: `{name}` on the emulator", case.name);
                assert!(
                    printed.arrays.get(name).map(Vec::as_slice) == Some(buffer.bytes()),
                    "{}: `{name}` of the text",
                    case.name
                );
            }
        }
    }
}
