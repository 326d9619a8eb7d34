//! Each execution comes once, and dependent ones in the order of the kernel: programs of the
//! examples in which a statement or a loop stands twice, two dependent statements stand the other
//! way round, or a statement of no part writes what the kernel has, are refused.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{LoopKernel, Part};
use loopwright_lowering::{
    LowerOptions, lower,
    program::{Memory, Program, Stmt, Value, ValueKind, VarId},
    verify::verify_kernel,
};
use loopwright_transforms::Pipeline;

use crate::common;

/// The programs, each with the kernel that it is held to.
fn programs() -> Vec<(String, LoopKernel, Program)> {
    let mut found = Vec::new();
    for example in common::examples().iter().chain(common::polybench()) {
        let (name, kernel) = (example.name(), example.transformed());
        if let Some((kernel, program)) = common::held_to_kernel(&name, &kernel) {
            found.push((name, kernel, program));
        }
    }
    found
}

/// Calls `f` for each statement outside of joins with the body that it is in and its number there,
/// until it changes something.
fn each(body: &mut Vec<Stmt>, f: &mut dyn FnMut(&mut Vec<Stmt>, usize) -> bool) -> bool {
    for k in 0..body.len() {
        if f(body, k) {
            return true;
        }
        if !matches!(body[k], Stmt::Collective { .. }) && body[k].bodies_mut().any(|b| each(b, f)) {
            return true;
        }
    }
    false
}

/// Refuses each variant of each program: `change` changes a body at a statement, and says whether
/// it did. Gives the number of variants, and those that are accepted.
fn accepted(change: &dyn Fn(&Program, &mut Vec<Stmt>, usize) -> bool) -> (usize, Vec<String>) {
    let (mut asked, mut passed) = (0, Vec::new());
    for (name, kernel, program) in programs() {
        for number in 0.. {
            let (mut variant, mut left) = (program.clone(), number);
            let mut here = |body: &mut Vec<Stmt>, k: usize| {
                let mut changed = body.clone();
                if !change(&program, &mut changed, k) {
                    return false;
                }
                if left == 0 {
                    *body = changed;
                    return true;
                }
                left -= 1;
                false
            };
            if !variant.kernels.iter_mut().any(|kernel| each(&mut kernel.body, &mut here)) {
                break;
            }
            asked += 1;
            if verify_kernel(&kernel, &variant).refusal().is_none() {
                passed.push(format!("{name}: {number}"));
            }
        }
    }
    (asked, passed)
}

/// Whether a statement, or one inside, gives a value that may be given once only.
fn counts(program: &Program, stmt: &Stmt) -> bool {
    let given = Stmt::given(std::slice::from_ref(stmt), &program.leaves);
    given.iter().any(|leaf| !matches!(program.leaves[leaf.0].part.part, Part::Init(_)))
}

#[test]
fn what_stands_twice_is_refused() {
    let (asked, passed) = accepted(&|program, body, k| {
        let again = body[k].clone();
        body.insert(k, again);
        counts(program, &body[k])
    });
    assert!(passed.is_empty(), "{}", passed.join("\n"));
    assert!(asked >= 300, "only {asked} statements were doubled");
}

/// What a statement and those inside write, and what they read.
#[derive(Default)]
struct Effects {
    writes: BTreeSet<Memory>,
    reads: BTreeSet<Memory>,
    assigns: BTreeSet<VarId>,
    names: BTreeSet<VarId>,
}

impl Effects {
    fn of(stmt: &Stmt) -> Effects {
        let mut found = Effects::default();
        Stmt::visit(std::slice::from_ref(stmt), &mut |s| {
            found.writes.extend(s.written().map(|to| to.element.memory));
            found.assigns.extend(s.assigned());
            s.each_read(&mut |from| {
                found.reads.insert(from.element.memory);
            });
            s.visit_values(&mut |value| {
                if let ValueKind::Var(var) = value.kind {
                    found.names.insert(var);
                }
            });
        });
        found
    }

    /// Whether one of two neighbours reads what the other writes.
    fn feed(&self, other: &Effects) -> bool {
        !self.writes.is_disjoint(&other.reads) || !self.assigns.is_disjoint(&other.names)
    }
}

/// Neighbours that access other elements of one array: the diagonal and what is below, the border
/// and the rest.
const INDEPENDENT: [&str; 3] = ["cholesky/cholesky: 2", "fdtd-2d/fdtd-2d: 0", "lu/lu: 2"];

#[test]
fn neighbours_that_stand_the_other_way_round_are_refused() {
    let (asked, passed) = accepted(&|_, body, k| {
        if k + 1 >= body.len() {
            return false;
        }
        let (a, b) = (Effects::of(&body[k]), Effects::of(&body[k + 1]));
        body.swap(k, k + 1);
        a.feed(&b) || b.feed(&a)
    });
    let passed: BTreeSet<&str> = passed.iter().map(String::as_str).collect();
    assert_eq!(passed, BTreeSet::from(INDEPENDENT));
    assert!(asked >= 200, "only {asked} pairs were exchanged");
}

#[test]
fn writes_of_no_part_are_refused() {
    let (asked, passed) = accepted(&|program, body, k| {
        if !counts(program, &body[k]) {
            return false;
        }
        let again = match &body[k] {
            Stmt::Store { to, .. } if matches!(to.memory, Memory::Global(_)) => {
                let Memory::Global(array) = to.memory else { return false };
                let value = Value::int(program.globals[array].dtype, 0);
                Stmt::Store { to: to.clone(), value, leaf: None }
            }
            Stmt::Set { var, value, .. } => Stmt::Set { var: *var, value: value.clone(), leaf: None },
            _ => return false,
        };
        body.insert(k + 1, again);
        true
    });
    assert!(passed.is_empty(), "{}", passed.join("\n"));
    assert!(asked >= 50, "only {asked} statements were put in");
}

/// Eight lanes are two vectors: without one of them, some are not stored.
#[test]
fn a_part_in_two_vectors_needs_both() {
    let kernel = "\
kernel k(x: f32[8*m], y: f32[8*m], m: i32)
assume 1 <= m
domain { [j] : 0 <= j < 8*m }
y[j] = 2.0 * x[j] {id=double}
";
    let steps = "split_iname(j, 8)\ntag_inames(j_outer: block.x, j_inner: vec)";
    let kernel = LoopKernel::parse(kernel).unwrap();
    let kernel = Pipeline::parse(steps).unwrap().apply(&kernel).unwrap();
    let program = lower(&kernel, LowerOptions::default()).unwrap();
    let stored =
        |s: &Stmt| matches!(s, Stmt::VectorCopy { to, .. } if matches!(to.memory, Memory::Global(_)));
    let vectors: Vec<usize> =
        (0..program.kernels[0].body.len()).filter(|k| stored(&program.kernels[0].body[*k])).collect();
    assert_eq!(vectors.len(), 2);
    for number in vectors {
        let (mut less, mut more) = (program.clone(), program.clone());
        let vector = less.kernels[0].body.remove(number);
        more.kernels[0].body.push(vector);
        let code = |program: &Program| verify_kernel(&kernel, program).refusal().map(|d| d.code);
        assert_eq!(code(&less), Some("lost-instance"));
        // Two that store the same lanes are no halves of one whole.
        assert!(code(&more).is_some());
    }
}

/// Data decide which thread of a flattened nest runs which instance, but not what it may access.
#[test]
fn a_flattened_nest_writes_its_target_and_reads_its_arrays() {
    let examples = common::examples();
    let example = examples.iter().find(|e| e.name() == "ragged_sum/flattened").unwrap();
    let (kernel, program) = (example.transformed(), example.program());
    let array = |name: &str| Memory::Global(program.globals.iter().position(|g| *g.name == *name).unwrap());
    let (out, x) = (array("out"), array("x"));
    let refused = |change: &mut dyn FnMut(&mut Stmt) -> bool| {
        let mut variant = program.clone();
        let mut here = |body: &mut Vec<Stmt>, k: usize| change(&mut body[k]);
        let changed = variant.kernels.iter_mut().any(|kernel| each(&mut kernel.body, &mut here));
        assert!(changed);
        verify_kernel(&kernel, &variant).refusal().map(|d| d.code)
    };
    assert_eq!(verify_kernel(&kernel, &program).refusal(), None);
    // A result that belongs to no part.
    let stray = refused(&mut |stmt| match stmt {
        Stmt::Store { to, leaf, .. } if to.memory == out => leaf.take().is_some(),
        _ => false,
    });
    assert_eq!(stray, Some("stray-write"));
    // A result that is stored among the operands.
    let elsewhere = refused(&mut |stmt| match stmt {
        Stmt::Store { to, .. } if to.memory == out => {
            to.memory = x;
            true
        }
        _ => false,
    });
    assert_eq!(elsewhere, Some("wrong-value"));
    // Operands that are read from the results.
    let operands = refused(&mut |stmt| match stmt {
        Stmt::VectorCopy { from, .. } if from.memory == x => {
            from.memory = out;
            true
        }
        _ => false,
    });
    assert_eq!(operands, Some("wrong-value"));
}
