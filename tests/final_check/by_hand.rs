//! The final check of hand-written programs: errors that only one part of it detects, each next to
//! a correct variant.

use loopwright_kernel_ir::{DType, Dim, LoopKernel, Name};
use loopwright_lowering::{
    LowerOptions, lower,
    program::{BinOp, Memory, Note, Program, Stmt, Value, ValueKind},
    verify::{Finding, verify, verify_kernel},
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
    Value { dtype: DType::I32, kind: ValueKind::ThreadIdx(Dim::X) }
}

/// Visits the loops, outer before inner.
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

/// Rounds in which the threads exchange values, in a loop whose number of iterations is unknown.
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

/// A loop around barriers whose number of iterations differs between threads of the block, through
/// its lower or its upper bound alone.
#[test]
fn bounds_around_a_barrier_are_asked_on_both_sides() {
    is_proved(&rounds());
    // The threads of the second warp enter one round later, or leave one round earlier.
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
                "error[divergent-barrier]: not all threads of a block of `rounds` reach the \
                 barrier of"
            ),
            "{why}"
        );
        assert!(why.contains("does and thread") && why.contains("(32, 0, 0)"), "{why}");
    }
}

/// A loop up to the greater of two bounds runs as often as both say. Where one of them cannot be
/// read, it is not known which iterations there are, whatever a condition inside leaves of them.
#[test]
fn a_loop_to_the_greater_of_two_bounds_needs_both() {
    let upto = |other: Value| {
        let mut program = program(
            "kernel k(y: f32[8], m: i32)\ndomain { [k] : 0 <= k < 8 }\ny[k] = 1.0 + m {id=set}\n",
            "",
        );
        loops(&mut program.kernels[0].body, &mut |stmt| {
            let Stmt::For { var, upper, body, .. } = stmt else { return };
            *upper = Value::binary(BinOp::Max, int(4), other.clone());
            let counter = Value { dtype: DType::I32, kind: ValueKind::Var(*var) };
            let cond = Value::binary(BinOp::Lt, counter, int(8));
            let guarded = std::mem::take(body);
            body.push(Stmt::If { cond, body: guarded, otherwise: Vec::new(), note: Default::default() });
        });
        program
    };
    is_proved(&upto(int(8)));
    let m = Value { dtype: DType::I32, kind: ValueKind::Param(Name::new("m")) };
    let found = verify(&upto(Value::binary(BinOp::Mul, m.clone(), m)));
    assert!(!matches!(found, Finding::Proved { .. }), "{found}");
}

/// Accesses in two non-adjacent rounds, where the barrier between rounds may be skipped.
#[test]
fn rounds_further_apart_meet_where_no_barrier_is_certain() {
    // Each round passes a row to the round after the next, which reads it mirrored.
    let rounds = program(
        "\
kernel rounds(a: f32[10, 64], x: f32[8, 64], y: f32[8, 64], m: i32)
domain { [k, t, u] : 0 <= k < 8 and 0 <= t < 64 and 0 <= u < 64 }
a[k + 2, t] = x[k, t] {id=hand, inames=k:t}
y[k, u] = a[k, 63 - u] + m {id=take, inames=k:u}
",
        "tag_inames(t: thread.x, u: thread.x)",
    );
    // With the barrier in every round, only adjacent rounds could conflict, and these touch
    // different rows.
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
            "error[unordered]: different threads of one block may touch one element of `a` in \
             `rounds`: hand writes it, take reads it, and no barrier is between them"
        )
    );
}

/// A condition in 16 bits that holds for no thread over the integers and, since it wraps, for every
/// thread from the 32nd on: anything under it may run. Lowering's claim about it is not used.
#[test]
fn a_condition_that_may_wrap_rules_nothing_out() {
    let small = |v: i64| Value::int(DType::I16, v);
    let wrapping = |factor: i64| {
        let thread = Value { dtype: DType::I16, kind: ValueKind::Cast(Box::new(thread())) };
        Value::binary(BinOp::Lt, Value::binary(BinOp::Mul, thread, small(factor)), small(0))
    };
    let under = |cond: Value| {
        let mut program = rounds();
        loops(&mut program.kernels[0].body, &mut |stmt| {
            let Stmt::For { body, .. } = stmt else { return };
            body.retain(|s| !matches!(s, Stmt::Sync { .. }));
            for stmt in body.iter_mut().filter(|s| matches!(s, Stmt::Store { .. })) {
                let Stmt::Store { value: Value { kind: ValueKind::Load(from), .. }, .. } = stmt else {
                    continue;
                };
                if matches!(from.memory, Memory::Shared(_)) {
                    let body = vec![stmt.clone()];
                    let note = Note::predicate();
                    *stmt = Stmt::If { cond: cond.clone(), body, otherwise: Vec::new(), note };
                }
            }
        });
        // Instances that do not run are not the subject here.
        program.leaves.iter_mut().for_each(|leaf| leaf.instances = None);
        program
    };
    // 63 times 512 is below 2^15; 32 times 1024 is not.
    is_proved(&under(wrapping(512)));
    let why = verify(&under(wrapping(1024))).refusal().expect("two threads race").to_string();
    assert!(why.starts_with("error[unordered]"), "{why}");
    // The same for a selected value.
    let chosen = |cond: Value| {
        let mut program = under(Value { dtype: DType::Bool, kind: ValueKind::Bool(true) });
        loops(&mut program.kernels[0].body, &mut |stmt| {
            let Stmt::For { body, .. } = stmt else { return };
            for stmt in body.iter_mut() {
                let Stmt::If { body, .. } = stmt else { continue };
                let Some(Stmt::Store { value, .. }) = body.first_mut() else { continue };
                let zero = Value { dtype: value.dtype, kind: ValueKind::Float(0.0) };
                let kind = ValueKind::Select(Box::new(cond.clone()), Box::new(value.clone()), Box::new(zero));
                *value = Value { dtype: value.dtype, kind };
            }
        });
        program
    };
    is_proved(&chosen(wrapping(512)));
    let why = verify(&chosen(wrapping(1024))).refusal().expect("two threads race").to_string();
    assert!(why.starts_with("error[unordered]"), "{why}");
}

/// The same around a barrier: over the integers no thread reaches it; with wrapping, half of them
/// do.
#[test]
fn a_condition_that_may_wrap_is_the_same_for_all_threads_only_where_it_is_shown() {
    let thread = Value { dtype: DType::I16, kind: ValueKind::Cast(Box::new(thread())) };
    let small = |v: i64| Value::int(DType::I16, v);
    let under = |factor: i64| {
        let product = Value::binary(BinOp::Mul, thread.clone(), small(factor));
        let cond = Value::binary(BinOp::Ge, product, small(0));
        let mut program = rounds();
        loops(&mut program.kernels[0].body, &mut |stmt| {
            let Stmt::For { body, .. } = stmt else { return };
            for stmt in body.iter_mut().filter(|s| matches!(s, Stmt::Sync { .. })) {
                let body = vec![stmt.clone()];
                let note = Note::predicate();
                *stmt = Stmt::If { cond: cond.clone(), body, otherwise: Vec::new(), note };
            }
        });
        program.leaves.iter_mut().for_each(|leaf| leaf.instances = None);
        verify(&program).refusal().map(|d| d.code.to_string())
    };
    assert_eq!(under(1024).as_deref(), Some("divergent-barrier"));
    // Shown not to wrap, it holds for all threads, so that the barrier counts.
    assert_eq!(under(512), None);
}

/// What `assume_legal` vouches for reaches the executions of one part, and no others: the threads
/// of the reading part still have to wait for those of the scatter.
#[test]
fn vouching_for_a_scatter_does_not_reach_what_reads_its_results() {
    let kernel = LoopKernel::parse(
        "\
kernel sort(to: i32[64], x: f32[64], b: f32[64], y: f32[64])
fact 0 <= to < 64
domain { [t, u] : 0 <= t < 64 and 0 <= u < 64 }
b[to[t]] = x[t] {id=put, inames=t}
y[u] = b[u] {id=get, inames=u}
",
    )
    .unwrap();
    let steps = "assume_legal(\"to is a permutation\")\ntag_inames(t: thread.x)\ntag_inames(u: thread.x)";
    let kernel = Pipeline::parse(steps).and_then(|p| p.apply(&kernel)).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(kernel.vouched.len(), 1);
    let mut program = lower(&kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{d}"));
    let found = verify_kernel(&kernel, &program);
    assert!(matches!(found, Finding::Proved { .. }), "{found}");
    // Of a program without its kernel, nothing is vouched for.
    let Finding::Unknown(why) = verify(&program) else { panic!("two threads may put one element") };
    assert!(why.message.contains("put writes it, put writes it"), "{why}");
    program.kernels[0].body.retain(|stmt| !matches!(stmt, Stmt::Sync { .. }));
    let Finding::Unknown(why) = verify_kernel(&kernel, &program) else { panic!("nothing is waited for") };
    assert_eq!(why.code, "unordered");
    assert!(why.message.contains("put writes it, get reads it"), "{why}");
}
