//! The kernels of `examples/codegen_time.rs`: their printed text, compiled by the system's C++
//! compiler, and the emulator both compute what the kernels declare.

#[path = "common/cases.rs"]
mod cases;
#[path = "../examples/common/speed_cases.rs"]
mod speed_cases;
#[path = "../examples/common/speed_report.rs"]
#[allow(dead_code, reason = "the example reports more than is tested")]
mod speed_report;

use loopwright_emulator::{Options, run};
use loopwright_kernel_ir::{DType, LoopKernel};
use loopwright_lowering::{LowerOptions, lower};
use loopwright_text_check::{Arguments, Checker, Order, Scalar};
use loopwright_transforms::Pipeline;

/// The arguments in the form that the text check takes.
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

#[test]
fn the_questions_of_tiled_kernels_are_told() {
    assert_eq!(speed_report::QUESTIONS, ["questions", "question_median_ms", "question_worst_ms"]);
    let turns = speed_report::Turns { warm_up: 0, counted: 1, middle: speed_report::best };
    for (name, steps) in [("matmul", 3), ("stencil", 2)] {
        let case = speed_cases::all().into_iter().find(|c| c.name == name).expect("a case");
        let report = speed_report::Report::of(&case, turns).unwrap_or_else(|e| panic!("{name}: {e}"));
        // One check for each step that no theorem covers (tags and prefetches), and one for the
        // program.
        assert_eq!(report.questions.len(), steps + 1, "{name}");
        let [count, median, worst] = report.of_questions();
        assert_eq!(count, report.questions.len() as f64);
        assert!(0.0 < median && median <= worst, "{name}: {:?}", report.questions);
        // Every stage is part of the total.
        assert!(report.stages.iter().all(|ms| *ms > 0.0), "{name}: {:?}", report.stages);
    }
}
