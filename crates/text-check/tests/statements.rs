//! Every statement and every type: the printed text pinned, compiled, run, and compared with the
//! expected results.

use crate::common;
use crate::programs;

use loopwright_cuda_target::cuda_source;
use loopwright_program::{Program, Stmt};
use loopwright_text_check::{Checker, Order};
use programs::{Case, cases, statements};

#[test]
fn texts_are_as_reviewed() {
    for Case { name, program, .. } in cases() {
        let source = cuda_source(&program).unwrap();
        assert!(source.text.lines().all(|line| line.len() <= 100 && !line.ends_with(' ')), "{name}");
        assert_eq!(source.text.lines().count(), source.map.len());
        insta::assert_snapshot!(name, source.text);
    }
}

#[test]
fn texts_compute_what_the_programs_say() {
    let cases = cases();
    let programs: Vec<Program> = cases.iter().map(|c| c.program.clone()).collect();
    let checker = Checker::new().unwrap();
    for (compiled, case) in checker.compile_all(&programs).into_iter().zip(&cases) {
        let compiled = compiled.unwrap_or_else(|e| panic!("{}: {e}", case.name));
        for order in [Order::Forwards, Order::Backwards] {
            let mut arguments = case.arguments.clone();
            compiled.run(&mut arguments, order).unwrap_or_else(|e| panic!("{}: {e}", case.name));
            for (array, expected) in &case.expected {
                let found = &arguments.arrays[&**array];
                let first = found.iter().zip(expected).position(|(a, b)| a != b);
                assert_eq!((found.len(), first), (expected.len(), None), "{}: {array}, {order:?}", case.name);
            }
        }
    }
}

#[test]
fn lines_know_their_instruction() {
    let Case { program, .. } = statements();
    let source = cuda_source(&program).unwrap();
    let of = |text: &str| {
        let line =
            source.text.lines().position(|l| l.trim_start() == text).unwrap_or_else(|| panic!("{text}")) + 1;
        source.leaf_of_line(line).map(|leaf| program.leaves[leaf.0].part.to_string())
    };
    assert_eq!(of("x_tile[t] = x[t];").as_deref(), Some("x_fetch"));
    assert_eq!(of("acc = fmaxf(acc, x[i]);").as_deref(), Some("best"));
    assert_eq!(of("for (int i = t; i < n; i += 64) {").as_deref(), Some("best"));
    assert_eq!(of("const int t = threadIdx.x;"), None);
    assert_eq!(source.leaf_of_line(0), None);
    assert_eq!(source.leaf_of_line(source.map.len() + 1), None);
}

#[test]
fn a_barrier_that_not_all_threads_reach_is_found() {
    let Case { mut program, arguments, .. } = statements();
    let guard = program.kernels[0].body.iter_mut().rev().find_map(|stmt| match stmt {
        Stmt::If { body, .. } => Some(body),
        _ => None,
    });
    let barrier = Stmt::Sync { scope: loopwright_program::Scope::Block, note: common::note("") };
    guard.unwrap().push(barrier);
    let compiled = Checker::new().unwrap().compile(&program).unwrap();
    let error = compiled.run(&mut arguments.clone(), Order::Forwards).unwrap_err();
    assert!(error.message.contains("not all threads reach a barrier"), "{error}");
}
