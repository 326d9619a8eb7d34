//! The final check of finished programs: it proves those of all example pipelines (lowering has
//! already run it on them), and refuses each spoilt variant, naming two executions.

use loopwright_kernel_ir::{DType, Diagnostic, Dim, LoopKernel};
use loopwright_lowering::{
    LowerOptions, Target, lower,
    program::{BinOp, MemRef, Memory, Program, Scope, Stmt, Value, ValueKind},
    realized,
    verify::{Finding, verify, verify_kernel},
};
use loopwright_transforms::Pipeline;

use crate::{barriers, common, spoilt};

fn refuted(program: &Program, what: &str) -> Diagnostic {
    match verify(program) {
        Finding::Refuted(why) => *why,
        other => panic!("{what}: {other}"),
    }
}

/// Whether data decide which elements of shared memory a program touches.
fn is_scattered(program: &Program) -> bool {
    let mut found = false;
    for kernel in &program.kernels {
        Stmt::visit(&kernel.body, &mut |stmt| {
            found |= matches!(stmt, Stmt::Update { to, .. } if matches!(to.memory, Memory::Shared(_)));
        });
    }
    found
}

fn is_flattened(program: &Program) -> bool {
    program.leaves.iter().any(|l| l.decided_by_data)
}

#[test]
fn without_any_of_its_barriers_no_example_pipeline_passes() {
    let mut removed = 0;
    for example in common::examples() {
        for (number, variant) in barriers::without_each(&example.program()).iter().enumerate() {
            removed += 1;
            // Which elements conflict depends on the data there: refused nevertheless, but without
            // two threads as a witness.
            if is_flattened(variant) || is_scattered(variant) {
                let Finding::Unknown(why) = verify(variant) else { panic!("{}: passes", example.name()) };
                assert_eq!(why.code, "unordered", "{}: {why}", example.name());
                continue;
            }
            let why = refuted(variant, &format!("{} without barrier {number}", example.name()));
            assert_eq!(why.code, "unordered", "{}: {why}", example.name());
            assert!(why.witness.is_some(), "{}: {why}", example.name());
        }
    }
    assert!(removed >= 10, "only {removed} barriers were taken away");
}

#[test]
fn a_guard_a_loop_or_a_statement_that_is_spoilt_is_refused() {
    let mut passed = Vec::new();
    for example in common::examples().iter().chain(common::polybench()) {
        let program = example.program();
        // Data decide which thread runs which instance of a flattened nest: the final check runs it
        // (tests/final_check/segments.rs).
        if is_flattened(&program) {
            continue;
        }
        let kernel = realized(&example.transformed(), &Target::cuda());
        let kernel = kernel.unwrap_or_else(|d| panic!("{}: {d}", example.name()));
        let spoilt = spoilt::ALL.map(|spoil| (format!("{spoil:?}"), spoilt::variants(&program, spoil)));
        let small = ("SmallGrid".to_string(), spoilt::small_grids(&program));
        for (what, variants) in spoilt.into_iter().chain([small]) {
            for (number, variant) in variants.iter().enumerate() {
                // A guard between a vector and its zeros chooses what is stored, not whether.
                let passes = matches!(verify(variant), Finding::Proved { .. })
                    && matches!(verify_kernel(kernel.kernel(), variant), Finding::Proved { .. });
                if passes {
                    passed.push(format!("{}: {what} {number}", example.name()));
                }
            }
        }
    }
    assert!(passed.is_empty(), "{passed:?}");
}

/// Kernels with joins that do not occur in the examples, each with a pipeline.
const OTHER_JOINS: [(&str, &str); 6] = [
    (SUMS, "split_iname(j, 4)\ntag_inames(i: block.x, j_inner: ilp)"),
    (
        SUMS,
        "split_iname(j, 256)\n\
         split_iname(j_inner, 4)\n\
         tag_inames(i: block.x, j_inner_outer: thread.x, j_inner_inner: ilp)",
    ),
    (ARGMAX, "split_iname(j, 128)\ntag_inames(i: block.x, j_inner: thread.x)"),
    (ARGMAX, "split_iname(j, 4)\ntag_inames(i: block.x, j_inner: ilp)"),
    (SCANNED, "realize_scan(k, j)\nsplit_iname(k, 128)\ntag_inames(i: block.x, k_inner: thread.x)"),
    (
        SCANNED,
        "realize_scan(k, j)\n\
         split_iname(k, 64)\n\
         split_iname(k_inner, 2, outer=k_thread, inner=k_part)\n\
         tag_inames(i: block.x, k_thread: thread.x, k_part: ilp)",
    ),
];

const SUMS: &str = "\
kernel k(x: f32[n, m], y: f32[n], n: i32, m: i32)
assume 0 <= n and 0 <= m
domain { [i, j] : 0 <= i < n and 0 <= j < m }
y[i] = sum(j, x[i, j]) {id=total}
";

const ARGMAX: &str = "\
kernel k(x: f32[n, m], y: f32[n], z: i32[n], n: i32, m: i32)
assume 0 <= n and 0 <= m
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j < m }
y[i], z[i] = argmax(j, x[i, j], j) {id=best}
";

const SCANNED: &str = "\
kernel k(x: f32[n, m], y: f32[n, m], n: i32, m: i32)
assume 0 <= n and 0 <= m
domain { [i] : 0 <= i < n }
domain { [k] : 0 <= k < m }
domain { [j] : 0 <= j <= k }
y[i, k] = sum(j, x[i, j]) {id=sums}
";

/// The programs with joins, each with the kernel that it is checked against.
fn joining() -> Vec<(String, LoopKernel, Program)> {
    let examples = common::examples().iter().chain(common::polybench());
    let mut kernels: Vec<(String, LoopKernel)> = examples.map(|e| (e.name(), e.transformed())).collect();
    for (number, (kernel, pipeline)) in OTHER_JOINS.iter().enumerate() {
        let kernel = LoopKernel::parse(kernel).unwrap_or_else(|d| panic!("{d}"));
        let steps = Pipeline::parse(pipeline).unwrap_or_else(|d| panic!("{number}: {d}"));
        let kernel = steps.apply(&kernel).unwrap_or_else(|d| panic!("{number}: {d}"));
        kernels.push((format!("join {number}"), kernel));
    }
    let mut found = Vec::new();
    for (name, kernel) in kernels {
        let program = lower(&kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{name}: {d}"));
        if is_flattened(&program) {
            continue;
        }
        let kernel = realized(&kernel, &Target::cuda()).unwrap_or_else(|d| panic!("{name}: {d}"));
        let kernel = kernel.kernel().clone();
        assert_eq!(verify_kernel(&kernel, &program).refusal(), None, "{name}");
        found.push((name, kernel, program));
    }
    found
}

#[test]
fn a_join_that_lacks_a_statement_is_refused() {
    let (mut refused, mut passed) = (0, Vec::new());
    for (name, kernel, program) in joining() {
        for (number, variant) in spoilt::joins(&program).iter().enumerate() {
            match verify_kernel(&kernel, variant) {
                Finding::Proved { .. } => passed.push(format!("{name}: {number}")),
                Finding::Refuted(_) | Finding::Unknown(_) => refused += 1,
            }
        }
    }
    assert!(passed.is_empty(), "{passed:?}");
    assert!(refused >= 100, "only {refused} statements were taken away");
}

/// Warps that do the same are followed once: those that do something else are not taken for these.
#[test]
fn a_join_that_one_warp_does_is_none_of_others() {
    let (mut refused, mut passed) = (0, Vec::new());
    for (name, kernel, program) in joining() {
        for (number, variant) in spoilt::joins_of_one_warp(&program).iter().enumerate() {
            match verify_kernel(&kernel, variant) {
                Finding::Proved { .. } => passed.push(format!("{name}: {number}")),
                Finding::Refuted(_) | Finding::Unknown(_) => refused += 1,
            }
        }
    }
    assert!(passed.is_empty(), "{passed:?}");
    assert!(refused >= 20, "only {refused} statements were run by one warp");
}

#[test]
fn a_join_by_another_operation_is_refused() {
    let (mut refused, mut passed) = (0, Vec::new());
    for (name, kernel, program) in joining() {
        for (number, variant) in spoilt::operations_of_joins(&program).iter().enumerate() {
            match verify_kernel(&kernel, variant) {
                Finding::Proved { .. } => passed.push(format!("{name}: {number}")),
                Finding::Refuted(d) | Finding::Unknown(d) => {
                    assert_eq!(d.code, "wrong-join", "{name}: {number}: {d}");
                    refused += 1;
                }
            }
        }
    }
    assert!(passed.is_empty(), "{passed:?}");
    assert!(refused >= 30, "only {refused} operations were changed");
}

fn program(kernel: &str, pipeline: &str) -> Program {
    let kernel = LoopKernel::parse(kernel).unwrap_or_else(|d| panic!("{d}"));
    let kernel = Pipeline::parse(pipeline).and_then(|p| p.apply(&kernel)).unwrap_or_else(|d| panic!("{d}"));
    lower(&kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{d}"))
}

/// Each of the eight rounds writes a row in shared memory and reads it mirrored.
fn column() -> Program {
    program(
        "\
kernel column(x: f32[n, 64], y: f32[n, 64], n: i32)
assume 1 <= n
domain { [b, k, t, u] : 0 <= b < n and 0 <= k < 8 and 0 <= t < 64 and 0 <= u < 64 }
temp row: f32[64] shared
row[t] = x[b, t] * k {id=fill}
y[b, u] = y[b, u] + row[63 - u] {id=use, inames=b:k:u}
",
        "tag_inames(b: block.x, t: thread.x, u: thread.x)",
    )
}

#[test]
fn a_barrier_around_a_back_edge_is_needed() {
    let program = column();
    let witnesses: Vec<String> = barriers::without_each(&program)
        .iter()
        .map(|p| refuted(p, "column").witness.expect("an example"))
        .collect();
    assert_eq!(
        witnesses,
        [
            "thread (0, 0, 0) in fill at k=0 writes row[0], thread (63, 0, 0) in use at k=0 reads \
             it; block (0, 0, 0), n=1",
            "thread (0, 0, 0) in use at k=0 reads row[63], thread (63, 0, 0) in fill at k=1 \
             writes it; block (0, 0, 0), n=1",
        ]
    );
}

#[test]
fn blocks_that_write_one_element_are_refused() {
    let mut program = column();
    fn spoil(body: &mut [Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::For { body, .. } => spoil(body),
                Stmt::Store { to, .. } if to.subscripts.len() == 2 => {
                    to.subscripts[0] = Value::int(to.subscripts[0].dtype, 0);
                    *to.offset = to.subscripts[1].clone();
                }
                _ => {}
            }
        }
    }
    spoil(&mut program.kernels[0].body);
    assert_eq!(
        refuted(&program, "all blocks write the first row").to_string(),
        "\
error[unordered]: different blocks may touch one element of `y` in `column`: use reads it, use writes it, and no kernel boundary is between them
  witness: thread (0, 0, 0) of block (0, 0, 0) in use at k=0 reads y[0, 0], thread (0, 0, 0) of block (1, 0, 0) in use at k=0 writes it; n=2"
    );
}

#[test]
fn a_barrier_that_some_threads_pass_by_is_refused() {
    let mut program = column();
    fn spoil(body: &mut [Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::For { body, .. } => spoil(body),
                Stmt::Sync { .. } => {
                    let thread = Value { dtype: DType::I32, kind: ValueKind::ThreadIdx(Dim::X) };
                    let cond = Value::binary(BinOp::Lt, thread, Value::int(DType::I32, 63));
                    let body = vec![stmt.clone()];
                    *stmt = Stmt::If { cond, body, otherwise: Vec::new(), note: Default::default() };
                }
                _ => {}
            }
        }
    }
    spoil(&mut program.kernels[0].body);
    assert_eq!(
        refuted(&program, "a barrier for all threads but one").to_string(),
        "\
error[divergent-barrier]: not all threads of a block of `column` reach the barrier of `fill writes row, use reads it`
  witness: thread (0, 0, 0) does and thread (63, 0, 0) does not, or not as often; block (0, 0, 0), n=1"
    );
}

/// A warp barrier that some lanes may skip is refused, before anybody asks what it orders.
#[test]
fn a_barrier_of_a_warp_that_some_lanes_pass_by_is_refused() {
    fn spoil(body: &mut [Stmt], spoilt: &mut usize) {
        for stmt in body {
            match stmt {
                Stmt::For { body, .. } => spoil(body, spoilt),
                Stmt::If { body, otherwise, .. } => {
                    spoil(body, spoilt);
                    spoil(otherwise, spoilt);
                }
                Stmt::Sync { scope: Scope::Warp, .. } => {
                    *spoilt += 1;
                    let thread = Value { dtype: DType::I32, kind: ValueKind::ThreadIdx(Dim::X) };
                    let cond = Value::binary(BinOp::Lt, thread, Value::int(DType::I32, 31));
                    let body = vec![stmt.clone()];
                    *stmt = Stmt::If { cond, body, otherwise: Vec::new(), note: Default::default() };
                }
                _ => {}
            }
        }
    }
    let flattened = common::examples().iter().find(|e| e.name() == "ragged_sum/flattened");
    let mut program = flattened.expect("the example").program();
    let mut spoilt = 0;
    spoil(&mut program.kernels[1].body, &mut spoilt);
    assert_eq!(spoilt, 4);
    let Finding::Unknown(why) = verify(&program) else { panic!("it passes") };
    assert_eq!(why.code, "divergent-barrier", "{why}");
}

/// Tiles of 128, the last one partial.
fn tiles() -> Program {
    program(
        "kernel copy(x: f32[n], y: f32[n], n: i32)\n\
         domain { [i] : 0 <= i < n }\n\
         y[i] = x[i] {id=copy}\n",
        "split_iname(i, 128)\ntag_inames(i_outer: block.x, i_inner: thread.x)",
    )
}

#[test]
fn instances_that_are_lost_or_extra_are_named() {
    let tiles = tiles();
    let [without_guard] = &spoilt::variants(&tiles, spoilt::Spoil::NoGuard)[..] else { panic!("one guard") };
    assert_eq!(
        refuted(without_guard, "no guard").to_string(),
        "\
error[extra-instance]: `copy` may run copy for more than its instances
  witness: copy runs in thread (1, 0, 0) of block (0, 0, 0), where n=1"
    );
    let [small_grid] = &spoilt::small_grids(&tiles)[..] else { panic!("one axis") };
    assert_eq!(
        refuted(small_grid, "a block too few").to_string(),
        "\
error[lost-instance]: `copy` may not run all instances of copy
  witness: copy does not run in thread (0, 0, 0) of block (0, 0, 0), where n=1"
    );
}

#[test]
fn an_index_that_is_not_what_it_stands_for_is_refused() {
    let mut program = tiles();
    let index = program.kernels[0].body.iter_mut().find_map(|s| match s {
        Stmt::Let { value, leaf: None, .. } => Some(value),
        _ => None,
    });
    let index = index.expect("the index has a name");
    *index = Value::binary(BinOp::Add, index.clone(), Value::int(DType::I32, 1));
    assert_eq!(
        refuted(&program, "one further").to_string(),
        "\
error[wrong-index]: `i` in `copy` may not have the value that it stands for
  witness: `i` is wrong in thread (0, 0, 0) of block (0, 0, 0), where n=1"
    );
}

#[test]
fn an_index_that_is_narrowed_is_refused() {
    let stored = |change: &dyn Fn(&mut MemRef)| {
        let mut program = tiles();
        fn spoil(body: &mut [Stmt], change: &dyn Fn(&mut MemRef)) {
            for stmt in body {
                match stmt {
                    Stmt::If { body, .. } => spoil(body, change),
                    Stmt::Store { to, .. } => change(to),
                    _ => {}
                }
            }
        }
        spoil(&mut program.kernels[0].body, change);
        refuted(&program, "the element that is stored").to_string()
    };
    assert_eq!(
        stored(&|to| {
            let index = to.subscripts[0].clone();
            let narrow = Value::binary(BinOp::Add, Value::int(DType::I16, 0), Value::int(DType::I16, 1));
            to.subscripts[0] = Value::binary(BinOp::Add, index, narrow.cast(DType::I32));
        }),
        "error[index-type]: a subscript of `y` in `copy` is i16, where indices are i32"
    );
    assert_eq!(
        stored(&|to| *to.offset = Value::int(DType::I32, 0)),
        "error[wrong-offset]: the offset of an element of `y` is not that of its subscripts"
    );
    let mut wide = tiles();
    wide.index = DType::I64;
    assert_eq!(
        refuted(&wide, "64 bits in name only").to_string(),
        "error[index-type]: the layout of `x` is i32, where indices are i64"
    );
}
