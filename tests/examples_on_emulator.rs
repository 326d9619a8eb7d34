//! Every example pipeline on the emulator with all checks: it computes the results of the declared
//! kernel, and every barrier is needed.

#[path = "common/barriers.rs"]
mod barriers;
#[path = "common/cases.rs"]
mod cases;
mod common;

use loopwright_emulator::{FaultKind, Options, run};

#[test]
fn every_example_pipeline_computes_what_its_kernel_declares() {
    for example in common::examples() {
        let program = example.program();
        let mut runs = 0;
        for sizes in cases::sizes(&example.kernel) {
            if !cases::allowed(&program, &sizes) {
                continue;
            }
            let mut arguments = cases::arguments(&program, &sizes);
            let expected = cases::expected(&example.declared, &arguments);
            run(&program, &mut arguments, &Options::default())
                .unwrap_or_else(|fault| panic!("{} {sizes:?}: {}", example.name(), fault.diagnostic()));
            for (name, buffer) in &expected {
                let got = arguments.buffer(name).expect("the array is an argument");
                assert!(
                    cases::agree(&example.kernel, got, buffer),
                    "{} {sizes:?}: `{name}` is {got:?}, expected {buffer:?}",
                    example.name()
                );
            }
            assert!(!expected.is_empty());
            runs += 1;
        }
        assert!(runs >= 2, "{}: only {runs} sizes fulfil its assumptions", example.name());
    }
}

#[test]
fn every_barrier_of_every_example_pipeline_is_needed() {
    let mut removed = 0;
    for example in common::examples() {
        let program = example.program();
        let variants = barriers::without_each(&program);
        for (number, variant) in variants.iter().enumerate() {
            // A barrier is needed if any of the sizes shows it.
            let raced = cases::sizes(&example.kernel).iter().any(|sizes| {
                cases::allowed(variant, sizes) && {
                    let mut arguments = cases::arguments(variant, sizes);
                    match run(variant, &mut arguments, &Options::default()) {
                        Ok(_) => false,
                        Err(fault) => {
                            assert_eq!(
                                fault.kind,
                                FaultKind::Race,
                                "{}: {}",
                                example.name(),
                                fault.diagnostic()
                            );
                            true
                        }
                    }
                }
            });
            assert!(raced, "{}: no race without barrier {number}", example.name());
            removed += 1;
        }
    }
    assert!(removed >= 10, "only {removed} barriers were taken away");
}
