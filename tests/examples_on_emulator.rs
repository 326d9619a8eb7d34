//! Every example pipeline on the emulator with all checks: it computes the results of the declared
//! kernel, and every barrier is needed.

use crate::barriers;
use crate::cases;
use crate::common;

use loopwright_emulator::{Asynchrony, FaultKind, Options, run};
use loopwright_lowering::{
    program::{Async, Program, Stmt},
    verify::verify,
};
use rayon::prelude::*;

/// The options of runs: asynchronous copies take effect as early, as late and as randomly as they
/// may.
fn modes(program: &Program) -> Vec<Options> {
    let asynchronous = program.kernels.iter().any(|k| Stmt::copies_asynchronously(&k.body));
    let modes: &[Asynchrony] = if asynchronous { &Asynchrony::ALL } else { &[Asynchrony::Late] };
    modes.iter().map(|mode| Options { asynchrony: *mode, ..Options::default() }).collect()
}

#[test]
fn every_example_pipeline_computes_what_its_kernel_declares() {
    common::examples().par_iter().for_each(|example| {
        let program = example.program();
        let mut runs = 0;
        for sizes in cases::sizes(&example.kernel) {
            if !cases::allowed(&program, &sizes) {
                continue;
            }
            let given = cases::arguments(&program, &sizes);
            let expected = cases::expected(&example.declared, &given);
            for options in modes(&program) {
                let mut arguments = given.clone();
                run(&program, &mut arguments, &options)
                    .unwrap_or_else(|fault| panic!("{} {sizes:?}: {}", example.name(), fault.diagnostic()));
                for (name, buffer) in &expected {
                    let got = arguments.buffer(name).expect("the array is an argument");
                    assert!(
                        cases::agree(&example.kernel, got, buffer),
                        "{} {sizes:?} {options:?}: `{name}` is {got:?}, expected {buffer:?}",
                        example.name()
                    );
                }
            }
            assert!(!expected.is_empty());
            runs += 1;
        }
        assert!(runs >= 2, "{}: only {runs} sizes fulfil its assumptions", example.name());
    });
}

#[test]
fn every_barrier_of_every_example_pipeline_is_needed() {
    let examples = common::examples();
    let removed = examples.par_iter().map(|example| {
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
                            let is_race = matches!(fault.kind, FaultKind::Race | FaultKind::UnderWay);
                            assert!(is_race, "{}: {}", example.name(), fault.diagnostic());
                            true
                        }
                    }
                }
            });
            assert!(raced, "{}: no race without barrier {number}", example.name());
        }
        variants.len()
    });
    let removed: usize = removed.sum();
    assert!(removed >= 10, "only {removed} barriers were taken away");
}

/// Applies a change to the wait with this number; `None` once it is found.
fn change_wait(body: &mut Vec<Stmt>, number: usize, change: fn(&mut Vec<Stmt>, usize)) -> Option<usize> {
    let mut left = number;
    for k in 0..body.len() {
        left = match &mut body[k] {
            Stmt::Async(Async::Wait { .. }) if left == 0 => {
                change(body, k);
                return None;
            }
            Stmt::Async(Async::Wait { .. }) => left - 1,
            Stmt::For { body, .. } => change_wait(body, left, change)?,
            Stmt::If { body, otherwise, .. } => {
                let left = change_wait(body, left, change)?;
                change_wait(otherwise, left, change)?
            }
            _ => left,
        };
    }
    Some(left)
}

/// A wait that is taken away, leaves one group more under way, or stands behind its barrier, is
/// refused and seen in a run.
#[test]
fn every_wait_of_every_example_pipeline_is_needed() {
    let changes: [fn(&mut Vec<Stmt>, usize); 3] = [
        |body, k| drop(body.remove(k)),
        |body, k| {
            if let Stmt::Async(Async::Wait { pending, .. }) = &mut body[k] {
                *pending += 1;
            }
        },
        |body, k| body.swap(k, k + 1),
    ];
    let mut changed = 0;
    for example in common::examples() {
        let program = example.program();
        for (change, number) in changes.iter().flat_map(|change| (0..4).map(move |n| (*change, n))) {
            let mut variant = program.clone();
            let body = &mut variant.kernels[0].body;
            // The last wait is for copies of iterations that do not exist.
            if change_wait(&mut body.clone(), number + 1, |_, _| ()).is_some()
                || change_wait(body, number, change).is_some()
            {
                continue;
            }
            assert!(verify(&variant).refusal().is_some(), "{}: wait {number}", example.name());
            let seen = cases::sizes(&example.kernel).iter().any(|sizes| {
                cases::allowed(&variant, sizes)
                    && modes(&variant).iter().any(|options| {
                        let mut arguments = cases::arguments(&variant, sizes);
                        run(&variant, &mut arguments, options).is_err()
                    })
            });
            assert!(seen, "{}: no fault without wait {number}", example.name());
            changed += 1;
        }
    }
    assert!(changed >= 6, "only {changed} waits were changed");
}
