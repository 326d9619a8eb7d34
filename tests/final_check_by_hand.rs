//! The final check of programs that are put together by hand: what only one part of it notices,
//! each beside its harmless neighbour.

use loopwright_kernel_ir::{DType, LoopKernel, Name};
use loopwright_lowering::{
    LowerOptions, lower,
    program::{BinOp, Program, Stmt, Value, ValueKind},
    verify::{Finding, verify},
};
use loopwright_transforms::Pipeline;

fn program(kernel: &str, pipeline: &str) -> Program {
    let kernel = LoopKernel::parse(kernel).unwrap_or_else(|d| panic!("{d}"));
    let kernel = Pipeline::parse(pipeline).and_then(|p| p.apply(&kernel)).unwrap_or_else(|d| panic!("{d}"));
    lower(&kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{d}"))
}

fn int(v: i64) -> Value {
    Value::int(DType::I32, v)
}

fn thread() -> Value {
    Value { dtype: DType::I32, kind: ValueKind::ThreadIdx(0) }
}

/// Visits the loops, the outer ones first.
fn loops<'a>(body: &'a mut [Stmt], f: &mut dyn FnMut(&mut Stmt)) {
    for stmt in body {
        if let Stmt::For { .. } = stmt {
            f(stmt);
        }
        if let Stmt::For { body, .. } | Stmt::If { body, .. } = stmt {
            loops(body, f);
        }
    }
}

fn refuted(program: &Program) -> String {
    match verify(program) {
        Finding::Refuted(why) => why.to_string(),
        other => panic!("{other}"),
    }
}

fn is_proved(program: &Program) {
    let found = verify(program);
    assert!(matches!(found, Finding::Proved { .. }), "{found}");
}

/// Rounds in which the threads hand their values to each other, around a loop of as many rounds as
/// nobody counts.
fn rounds() -> Program {
    program(
        "\
kernel rounds(x: f32[8, 64], y: f32[8, 64])
domain { [k, t, u] : 0 <= k < 8 and 0 <= t < 64 and 0 <= u < 64 }
temp row: f32[64] shared
row[t] = x[k, t] {id=fill, inames=k:t}
y[k, u] = row[63 - u] {id=use, inames=k:u}
",
        "tag_inames(t: thread.x, u: thread.x)",
    )
}

/// A loop around barriers that does not go on equally long for all threads of the block, by its
/// lower or its upper bound alone.
#[test]
fn bounds_around_a_barrier_are_asked_on_both_sides() {
    is_proved(&rounds());
    // The threads of the second warp come one round later, or leave one round earlier.
    let late = || Value::binary(BinOp::FloorDiv, thread(), int(32));
    let mut lower = rounds();
    loops(&mut lower.kernels[0].body, &mut |stmt| {
        if let Stmt::For { lower, .. } = stmt {
            *lower = late();
        }
    });
    let mut upper = rounds();
    loops(&mut upper.kernels[0].body, &mut |stmt| {
        if let Stmt::For { upper, .. } = stmt {
            *upper = Value::binary(BinOp::Sub, upper.clone(), late());
        }
    });
    for program in [lower, upper] {
        let why = refuted(&program);
        assert!(
            why.starts_with(
                "error[divergent-barrier]: not all threads of a block of `rounds` come to the barrier of"
            ),
            "{why}"
        );
        assert!(why.contains("does and thread") && why.contains("(32, 0, 0)"), "{why}");
    }
}

/// What two rounds that are not neighbours touch, where the barrier between rounds may be left out.
#[test]
fn rounds_further_apart_meet_where_no_barrier_is_certain() {
    // Each round hands a row to the one after the next, which reads it mirrored.
    let rounds = program(
        "\
kernel rounds(a: f32[10, 64], x: f32[8, 64], y: f32[8, 64], m: i32)
domain { [k, t, u] : 0 <= k < 8 and 0 <= t < 64 and 0 <= u < 64 }
a[k + 2, t] = x[k, t] {id=hand, inames=k:t}
y[k, u] = a[k, 63 - u] + m {id=take, inames=k:u}
",
        "tag_inames(t: thread.x, u: thread.x)",
    );
    // With the barrier in every round only neighbours could meet, and these touch different rows.
    is_proved(&rounds);
    let sometimes = |cond: Value| {
        let mut program = rounds.clone();
        let mut barriers = 0;
        loops(&mut program.kernels[0].body, &mut |stmt| {
            let Stmt::For { body, .. } = stmt else { return };
            for stmt in body.iter_mut().filter(|s| matches!(s, Stmt::Sync { .. })) {
                barriers += 1;
                let body = vec![stmt.clone()];
                *stmt =
                    Stmt::If { cond: cond.clone(), body, otherwise: Vec::new(), note: Default::default() };
            }
        });
        assert_eq!(barriers, 1, "one barrier a round");
        program
    };
    let m = Value { dtype: DType::I32, kind: ValueKind::Param(Name::new("m")) };
    let why = verify(&sometimes(Value::binary(BinOp::Lt, int(0), m))).refusal();
    assert_eq!(
        why.map(|d| d.to_string()).as_deref(),
        Some(
            "error[unordered]: different threads of one block may touch one element of `a` in `rounds`: hand writes it, take reads it, and no barrier is between them"
        )
    );
}
