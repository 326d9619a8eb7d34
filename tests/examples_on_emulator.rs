//! Every example pipeline on the emulator, all checks on: the results of the declared kernel, and no barrier too many.

#[path = "common/cases.rs"]
mod cases;
mod common;

use loopwright_emulator::{FaultKind, Options, run};
use loopwright_lowering::program::{Program, Stmt};

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

/// Takes the barrier of this number out of a list of statements; `None` once it is found.
fn remove_barrier(body: &mut Vec<Stmt>, number: usize) -> Option<usize> {
    let mut left = number;
    for k in 0..body.len() {
        left = match &mut body[k] {
            Stmt::Sync { .. } if left == 0 => {
                body.remove(k);
                return None;
            }
            Stmt::Sync { .. } => left - 1,
            Stmt::For { body, .. } | Stmt::Collective { body, .. } => remove_barrier(body, left)?,
            Stmt::If { body, otherwise, .. } => {
                let left = remove_barrier(body, left)?;
                remove_barrier(otherwise, left)?
            }
            _ => left,
        };
    }
    Some(left)
}

/// The program without each of its barriers in turn.
fn without_each_barrier(program: &Program) -> Vec<Program> {
    let mut variants = Vec::new();
    for kernel in 0..program.kernels.len() {
        loop {
            let mut variant = program.clone();
            let number = variants.len();
            let before: usize = program.kernels[..kernel].iter().map(|k| barriers(&k.body)).sum();
            if remove_barrier(&mut variant.kernels[kernel].body, number - before).is_some() {
                break;
            }
            variants.push(variant);
        }
    }
    variants
}

fn barriers(body: &[Stmt]) -> usize {
    let mut count = 0;
    Stmt::visit(body, &mut |s| count += usize::from(matches!(s, Stmt::Sync { .. })));
    count
}

#[test]
fn every_barrier_of_every_example_pipeline_is_needed() {
    let mut removed = 0;
    for example in common::examples() {
        let program = example.program();
        let variants = without_each_barrier(&program);
        assert_eq!(variants.len(), program.kernels.iter().map(|k| barriers(&k.body)).sum::<usize>());
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
