//! Reductions over blocks that are combined by atomic updates: the results of the declared kernel
//! for every type, and the faults if an update is replaced by a plain store, has no initial value,
//! or shares its launch with other accesses.

use loopwright_emulator::{Arguments, FaultKind, Options, run};
use loopwright_kernel_ir::{Buffer, DType, LoopKernel, Number};
use loopwright_lowering::{
    LowerOptions, lower,
    program::{HostStmt, Program, Stmt},
    verify::{Finding, verify},
};
use loopwright_reference::{Inputs, Mode, interpret};
use loopwright_transforms::Pipeline;

/// Rows on blocks, split into chunks on blocks, with threads, vectors and rows that share a block.
const PIPELINES: [&str; 4] = [
    "split_iname(i, 64)\ntag_inames(s: block.x, i_outer: block.y, i_inner: thread.x)",
    "split_iname(i, 64)\ntag_inames(s: block.x, i_outer: block.y)",
    "split_iname(s, 4)\n\
     split_iname(i, 32)\n\
     tag_inames(s_outer: block.x, s_inner: thread.y, i_outer: block.y, i_inner: thread.x)",
    "split_iname(i, 64)\ntag_inames(i_outer: block.x, s: thread.x)",
];

fn declared(dtype: DType, operator: &str, rows: &str) -> LoopKernel {
    let text = format!(
        "kernel k(x: {dtype}[m, n], y: {dtype}[m], n: i32, m: i32)\n\
         assume 0 <= n and 0 <= m <= 64\n\
         domain {{ [s] : 0 <= s < m }}\n\
         domain {{ [i] : {rows} }}\n\
         y[s] = {operator}(i, x[s, i]) {{id=total}}\n"
    );
    LoopKernel::parse(&text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn joined(declared: &LoopKernel, steps: &str) -> Program {
    let steps = format!("{steps}\njoin_atomically(total)\n");
    let kernel = Pipeline::parse(&steps).unwrap().apply(declared).unwrap_or_else(|e| panic!("{steps}: {e}"));
    lower(&kernel, LowerOptions::default()).unwrap_or_else(|e| panic!("{steps}: {e}"))
}

fn updates(program: &Program) -> usize {
    let mut found = 0;
    for kernel in &program.kernels {
        Stmt::visit(&kernel.body, &mut |s| found += usize::from(matches!(s, Stmt::Update { .. })));
    }
    found
}

fn numbers(dtype: DType, count: usize) -> Buffer {
    let mut buffer = Buffer::zeros(dtype, count);
    for k in 0..count {
        let v = ((k * 7 + k / 5) % 23) as i64 - if dtype.is_unsigned() { 0 } else { 9 };
        buffer.set(k, Number::I64(v).cast(dtype));
    }
    buffer
}

fn arguments(dtype: DType, m: usize, n: usize) -> Arguments {
    Arguments::new()
        .array("x", numbers(dtype, m * n))
        .output("y", Buffer::zeros(dtype, m))
        .scalar("n", n as i32)
        .scalar("m", m as i32)
}

#[test]
fn results_are_those_of_the_declared_kernel() {
    use DType::*;
    let sums = [I32, U32, I64, U64, F32, F64].map(|t| (t, "sum"));
    let ends = [I32, U32, I64, U64].iter().flat_map(|t| [(*t, "min"), (*t, "max")]);
    for (dtype, operator) in sums.into_iter().chain(ends) {
        for rows in ["0 <= i < n", "s <= i < n", "0 <= i < s and i < n"] {
            let declared = declared(dtype, operator, rows);
            for steps in PIPELINES {
                let program = joined(&declared, steps);
                assert_eq!(updates(&program), 1, "{steps}");
                assert!(matches!(verify(&program), Finding::Proved { .. }));
                for (m, n) in [(3, 200), (7, 64), (33, 5), (1, 1), (4, 0), (0, 9)] {
                    let mut given = arguments(dtype, m, n);
                    let inputs = Inputs::new().array("x", numbers(dtype, m * n));
                    let inputs = inputs.scalar("n", n as i32).scalar("m", m as i32);
                    let expected =
                        interpret(&declared, &inputs, Mode::Exact).unwrap_or_else(|e| panic!("{e}"));
                    run(&program, &mut given, &Options::default())
                        .unwrap_or_else(|e| panic!("{operator} of {dtype}, {steps}: {}", e.diagnostic()));
                    let found = given.buffer("y").unwrap();
                    assert_eq!(
                        found, &expected["y"],
                        "{operator} of {dtype} over {rows}, {m} of {n}, {steps}"
                    );
                }
            }
        }
    }
}

#[test]
fn without_blocks_nothing_is_joined() {
    let declared = declared(DType::F32, "sum", "0 <= i < n");
    let program = joined(&declared, "tag_inames(s: block.x)");
    assert_eq!((updates(&program), program.kernels.len()), (0, 1));
}

/// The order of a sum depends only on the program, although the sum is rounded.
#[test]
fn sums_are_the_same_in_every_run() {
    let program = joined(&declared(DType::F32, "sum", "0 <= i < n"), PIPELINES[0]);
    let x: Vec<f32> = (0..4000).map(|k| 1.0 / (k % 97 + 1) as f32).collect();
    let results = [None, Some(1), Some(4)].map(|threads| {
        let mut given = arguments(DType::F32, 2, 2000).array("x", Buffer::from_slice(&x));
        run(&program, &mut given, &Options { threads, ..Options::default() }).unwrap();
        given.buffer("y").unwrap().to_vec::<f32>().unwrap()
    });
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
}

/// In another order of blocks and warps, sums are rounded otherwise, and nothing else changes.
#[test]
fn blocks_and_warps_run_in_the_order_of_a_seed() {
    let x: Vec<f32> = (0..4000).map(|k| 1.0 / (k % 97 + 1) as f32).collect();
    let orders = [None, Some(1), Some(2), Some(3), Some(4)];
    let float = joined(&declared(DType::F32, "sum", "0 <= i < n"), PIPELINES[0]);
    let results = orders.map(|order| {
        let mut given = arguments(DType::F32, 2, 2000).array("x", Buffer::from_slice(&x));
        run(&float, &mut given, &Options { order, ..Options::default() }).unwrap();
        given.buffer("y").unwrap().to_vec::<f32>().unwrap()
    });
    assert!(results[1..].iter().any(|other| *other != results[0]), "{results:?}");
    for steps in PIPELINES {
        let program = joined(&declared(DType::I32, "sum", "0 <= i < n"), steps);
        let results = orders.map(|order| {
            let mut given = arguments(DType::I32, 7, 200);
            run(&program, &mut given, &Options { order, ..Options::default() }).unwrap();
            given.buffer("y").unwrap().clone()
        });
        assert!(results.iter().all(|other| *other == results[0]), "{steps}");
    }
}

fn change(body: &mut [Stmt], by: &dyn Fn(&Stmt) -> Option<Stmt>) {
    for stmt in body {
        if let Some(other) = by(stmt) {
            *stmt = other;
        }
        match stmt {
            Stmt::For { body, .. } | Stmt::Collective { body, .. } | Stmt::If { body, .. } => {
                change(body, by)
            }
            _ => {}
        }
    }
}

fn fault(program: &Program) -> FaultKind {
    run(program, &mut arguments(DType::I32, 3, 200), &Options::default()).unwrap_err().kind
}

#[test]
fn results_need_a_first_value_from_an_earlier_launch() {
    let program = joined(&declared(DType::I32, "sum", "0 <= i < n"), PIPELINES[1]);
    assert_eq!(program.host, [HostStmt::Launch(0), HostStmt::Launch(1)]);
    let without = Program { host: vec![HostStmt::Launch(1)], ..program.clone() };
    assert!(matches!(verify(&without), Finding::Refuted(_)));
    assert_eq!(fault(&without), FaultKind::Uninitialised);
}

/// A plain store of the value of an update.
fn stored(stmt: &Stmt) -> Option<Stmt> {
    match stmt {
        Stmt::Update { to, value, leaf, .. } => {
            Some(Stmt::Store { to: to.clone(), value: value.clone(), leaf: *leaf })
        }
        _ => None,
    }
}

#[test]
fn a_store_in_the_place_of_an_update_is_a_race() {
    let mut program = joined(&declared(DType::I32, "sum", "0 <= i < n"), PIPELINES[0]);
    change(&mut program.kernels[1].body, &stored);
    let Finding::Refuted(why) = verify(&program) else { panic!("two blocks write one element") };
    assert_eq!(why.code, "unordered");
    assert_eq!(fault(&program), FaultKind::RaceBetweenBlocks);
}

#[test]
fn other_accesses_of_the_launch_are_not_ordered_with_updates() {
    let mut program = joined(&declared(DType::I32, "sum", "0 <= i < n"), PIPELINES[0]);
    change(&mut program.kernels[1].body, &|stmt| match stmt {
        Stmt::If { cond, body, otherwise, note } => {
            let stores: Vec<Stmt> = body.iter().filter_map(stored).collect();
            (!stores.is_empty()).then(|| Stmt::If {
                cond: cond.clone(),
                body: [body.as_slice(), &stores].concat(),
                otherwise: otherwise.clone(),
                note: note.clone(),
            })
        }
        _ => None,
    });
    let Finding::Refuted(why) = verify(&program) else { panic!("an update and a store of one element") };
    assert_eq!(why.code, "unordered");
    assert_eq!(fault(&program), FaultKind::RaceBetweenBlocks);
}
