//! Correct programs: values and counts.

use crate::common;
use std::sync::Arc;

use common::*;
use half::f16;
use loopwright_emulator::{Arguments, Counters, Options, run};
use loopwright_kernel_ir::{Buffer, DType, DeviceFunction, Dim, Name, Number};
use loopwright_program::*;

const X: Memory = Memory::Global(0);
const Y: Memory = Memory::Global(1);
const S: Memory = Memory::Shared(0);

fn index() -> Value {
    add(mul(bid(0), int(128)), tid(0))
}

fn axpy() -> Program {
    let value = add(mul(float(F, 2.0), load(F, at(X, var(I, 0)))), load(F, at(Y, var(I, 0))));
    let body =
        vec![let_(0, index()), if_(lt(var(I, 0), param("n")), vec![store(at(Y, var(I, 0)), value, 0)])];
    let grid = bin(BinOp::FloorDiv, add(param("n"), int(127)), int(128));
    let mut k = kernel([grid, int(1), int(1)], [128, 1, 1], body);
    k.vars = vec![variable("i", I, false)];
    program(vec![global("x", F, vec![param("n")]), global("y", F, vec![param("n")])], &["n"], k)
}

#[test]
fn axpy_of_every_remainder() {
    for n in [0usize, 1, 31, 127, 128, 129, 1000] {
        let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let y: Vec<f32> = (0..n).map(|i| 0.5 * i as f32).collect();
        let mut args = Arguments::new()
            .array("x", Buffer::from_slice(&x))
            .array("y", Buffer::from_slice(&y))
            .scalar("n", n as i32);
        let report = run(&axpy(), &mut args, &Options::default()).unwrap();
        let expected: Vec<f32> = (0..n).map(|i| 2.5 * i as f32).collect();
        assert_eq!(args.buffer("y").unwrap().to_vec::<f32>().unwrap(), expected);
        let t = report.total;
        assert_eq!(t.blocks, n.div_ceil(128) as u64);
        assert_eq!((t.global_loads.bytes, t.global_stores.bytes), (8 * n as u64, 4 * n as u64));
        assert_eq!(t.global_stores.sectors, n.div_ceil(8) as u64);
        assert_eq!(t.global_loads.sectors, 2 * n.div_ceil(8) as u64);
        assert_eq!((t.operations.float_add, t.operations.float_multiply), (n as u64, n as u64));
    }
}

/// The better of two pairs of a value and an index, as argmax combines them: `b` if it is greater,
/// or equal and earlier.
fn argmax_of(order: &[f32; 32]) -> Counters {
    let p = |v: usize, k: i64| load([F, I][v], at(Memory::Private(v), int(k)));
    let eq = |a, b| bin(BinOp::Eq, a, b);
    let later = bin(BinOp::And, eq(var(F, 0), p(0, 0)), lt(var(I, 1), p(1, 0)));
    let better = bin(BinOp::Or, bin(BinOp::Gt, var(F, 0), p(0, 0)), later);
    let body = vec![
        store(at(Memory::Private(0), int(0)), float(F, 0.5), 0),
        store(at(Memory::Private(1), int(0)), int(7), 0),
        let_(0, load(F, at(X, tid(0)))),
        let_(1, tid(0)),
        let_(2, select(better.clone(), var(F, 0), p(0, 0))),
        let_(3, select(better, var(I, 1), p(1, 0))),
        store(at(Memory::Private(0), int(0)), var(F, 2), 0),
        store(at(Y, tid(0)), var(F, 2), 0),
        store(at(Memory::Global(2), tid(0)), var(I, 3), 0),
    ];
    let mut k = kernel([int(1), int(1), int(1)], [32, 1, 1], body);
    k.vars = [("v", F), ("k", I), ("next_v", F), ("next_k", I)].map(|(n, t)| variable(n, t, false)).to_vec();
    k.private = vec![local("acc_v", F, &[1]), local("acc_k", I, &[1])];
    let arrays = [("x", F), ("value", F), ("index", I)].map(|(n, t)| global(n, t, vec![int(32)])).to_vec();
    let mut args = Arguments::new()
        .array("x", Buffer::from_slice(order))
        .output("value", Buffer::zeros(F, 32))
        .output("index", Buffer::zeros(I, 32));
    let report = run(&program(arrays, &[], k), &mut args, &Options::default()).unwrap();
    let pairs: Vec<(f32, i32)> = (0i32..)
        .zip(order)
        .map(|(k, v)| if *v > 0.5 || (*v == 0.5 && k < 7) { (*v, k) } else { (0.5, 7) })
        .collect();
    let (values, indices): (Vec<f32>, Vec<i32>) = pairs.into_iter().unzip();
    assert_eq!(args.buffer("value").unwrap().to_vec::<f32>().unwrap(), values);
    assert_eq!(args.buffer("index").unwrap().to_vec::<i32>().unwrap(), indices);
    report.total
}

#[test]
fn choices_count_the_same_whatever_the_data() {
    // Greater, equal and less: each alone, mixed, and with each side under a mask.
    let mixed = std::array::from_fn(|k| [0.25, 0.5, 0.75][k % 3]);
    for order in [[0.25; 32], [0.5; 32], [0.75; 32], mixed] {
        let t = argmax_of(&order);
        let o = t.issued;
        // The condition shared by both choices is computed once.
        assert_eq!((o.comparisons, o.logic, o.choices), (3, 2, 2), "{order:?}: {t:?}");
        assert_eq!((o.integer, o.float_add, o.float_extremes), (0, 0, 0), "{order:?}: {t:?}");
        assert_eq!(t.operations.comparisons, 32 * 3);
    }
}

#[test]
fn values_are_counted_apart_from_addresses() {
    // y[j] = max(min(x[j], 2), x[j] * x[j]) and z[j] = i[j] * 3 + i[j] for j = 32 * block.x +
    // thread.x below 40.
    let place = add(mul(bid(0), int(32)), tid(0));
    let x = || load(F, at(X, var(I, 0)));
    let i = || load(I, at(Memory::Global(2), var(I, 0)));
    let value = bin(BinOp::Max, bin(BinOp::Min, x(), float(F, 2.0)), mul(x(), x()));
    let sum = add(mul(i(), int(3)), i());
    let body = vec![
        let_(0, place),
        if_(
            lt(var(I, 0), int(40)),
            vec![store(at(Y, var(I, 0)), value, 0), store(at(Memory::Global(3), var(I, 0)), sum, 0)],
        ),
    ];
    let mut k = kernel([int(2), int(1), int(1)], [32, 1, 1], body);
    k.vars = vec![variable("j", I, false)];
    let arrays = [("x", F), ("y", F), ("i", I), ("z", I)].map(|(n, t)| global(n, t, vec![int(40)])).to_vec();
    let mut args = Arguments::new()
        .array("x", Buffer::zeros(F, 40))
        .array("y", Buffer::zeros(F, 40))
        .array("i", Buffer::zeros(I, 40))
        .array("z", Buffer::zeros(I, 40));
    let t = run(&program(arrays, &[], k), &mut args, &Options::default()).unwrap().total;
    let (lanes, warps) = (t.operations, t.issued);
    assert_eq!((lanes.float_extremes, lanes.float_multiply, lanes.integer), (80, 40, 80));
    assert_eq!((warps.float_extremes, warps.float_multiply, warps.integer), (4, 2, 4));
    // The product and the sum of the index, and the guard, in both warps.
    assert_eq!((warps.index, lanes.comparisons), (6, 0));
}

#[test]
fn strided_loads_take_a_sector_each() {
    let body = vec![store(at(Y, tid(0)), load(F, at(X, mul(tid(0), int(8)))), 0)];
    let k = kernel([int(1), int(1), int(1)], [32, 1, 1], body);
    let p = program(vec![global("x", F, vec![int(256)]), global("y", F, vec![int(32)])], &[], k);
    let mut args = Arguments::new().array("x", Buffer::zeros(F, 256)).output("y", Buffer::zeros(F, 32));
    let t = run(&p, &mut args, &Options::default()).unwrap().total;
    assert_eq!((t.global_loads.requests, t.global_loads.sectors), (1, 32));
    assert_eq!((t.global_stores.requests, t.global_stores.sectors), (1, 4));
    assert_eq!((t.active_lanes, t.idle_lanes), (32 + 64, 0));
}

/// A 32x32 tile through shared memory, 8 rows at a time, the rows padded.
fn transpose(padding: i64) -> Program {
    let width = 32 + padding;
    let row = add(tid(1), mul(var(I, 0), int(8)));
    let tile = |a: Value, b: Value| cell(S, vec![a, b], &[int(width), int(1)]);
    let matrix = |m, a, b| cell(m, vec![a, b], &[int(32), int(1)]);
    let body = vec![
        for_(
            0,
            int(0),
            int(4),
            vec![store(tile(row.clone(), tid(0)), load(F, matrix(X, row.clone(), tid(0))), 0)],
        ),
        barrier(),
        for_(
            0,
            int(0),
            int(4),
            vec![store(matrix(Y, row.clone(), tid(0)), load(F, tile(tid(0), row.clone())), 1)],
        ),
    ];
    let mut k = kernel([int(1), int(1), int(1)], [32, 8, 1], body);
    k.vars = vec![variable("r", I, false)];
    k.shared = vec![local("tile", F, &[32, width as u64])];
    let square = || vec![int(32), int(32)];
    program(vec![global("x", F, square()), global("y", F, square())], &[], k)
}

#[test]
fn padding_takes_the_bank_conflicts_of_a_transpose_away() {
    for (padding, conflicts) in [(0, 32 * 31), (1, 0)] {
        let x: Vec<f32> = (0..1024).map(|i| i as f32).collect();
        let mut args =
            Arguments::new().array("x", Buffer::from_slice(&x)).output("y", Buffer::zeros(F, 1024));
        let t = run(&transpose(padding), &mut args, &Options::default()).unwrap().total;
        let y = args.buffer("y").unwrap().to_vec::<f32>().unwrap();
        assert!((0..1024).all(|i| y[i] == x[i % 32 * 32 + i / 32]));
        // 32 rows are read, one per warp, each from one column of the tile: all 32 lanes in one
        // bank, or in 32.
        assert_eq!(t.shared_loads.requests, 32);
        assert_eq!(t.shared_loads.conflicts, conflicts, "padding {padding}");
        assert_eq!((t.shared_stores.conflicts, t.barriers), (0, 1));
        assert_eq!((t.global_loads.sectors, t.global_stores.sectors), (128, 128));
    }
}

/// Each warp sums its lanes by shuffles; lane 0 writes.
fn shuffle_sum(threads: u32, width: u32) -> Program {
    let halve = |v, body| Stmt::For {
        var: VarId(v),
        lower: int(i64::from(width) / 2),
        upper: int(0),
        step: Step::Halve,
        unroll: true,
        body,
        note: Note::default(),
    };
    let sum = add(var(F, 0), shuffle(ShuffleMode::Xor, var(F, 0), var(I, 1), width));
    let body = vec![
        let_(0, load(F, at(X, tid(0)))),
        Stmt::Collective {
            join: Join {
                operator: Name::new("sum"),
                state: vec![VarId(0)],
                axes: vec![(Dim::X, width)],
                to_all: true,
                scan: false,
                tiles: None,
            },
            body: vec![halve(1, vec![set(0, sum)])],
            note: Note::default(),
        },
        store(at(Y, tid(0)), var(F, 0), 0),
    ];
    let mut k = kernel([int(1), int(1), int(1)], [threads, 1, 1], body);
    k.vars = vec![variable("acc", F, true), variable("o", I, false)];
    let n = i64::from(threads);
    program(vec![global("x", F, vec![int(n)]), global("y", F, vec![int(n)])], &[], k)
}

#[test]
fn shuffles_sum_each_group() {
    for (threads, width) in [(64u32, 32u32), (64, 8), (48, 16), (16, 16), (6, 2)] {
        let x: Vec<f32> = (0..threads).map(|i| (i * i) as f32).collect();
        let mut args = Arguments::new()
            .array("x", Buffer::from_slice(&x))
            .output("y", Buffer::zeros(F, threads as usize));
        let report = run(&shuffle_sum(threads, width), &mut args, &Options::default()).unwrap();
        let expected: Vec<f32> = (0..threads)
            .map(|i| (i / width * width..(i / width + 1) * width).map(|k| (k * k) as f32).sum())
            .collect();
        assert_eq!(args.buffer("y").unwrap().to_vec::<f32>().unwrap(), expected);
        assert_eq!(report.total.shuffles, u64::from(threads.div_ceil(32) * width.ilog2()));
    }
}

#[test]
fn shuffles_down_keep_the_own_value_at_the_end_of_the_group() {
    let taken = shuffle(ShuffleMode::Down, tid(0), int(3), 8);
    let first = shuffle(ShuffleMode::Index, tid(0), int(2), 16);
    let body = vec![store(at(X, tid(0)), taken, 0), store(at(Y, tid(0)), first, 1)];
    let k = kernel([int(1), int(1), int(1)], [32, 1, 1], body);
    let p = program(vec![global("x", I, vec![int(32)]), global("y", I, vec![int(32)])], &[], k);
    let mut args = Arguments::new().output("x", Buffer::zeros(I, 32)).output("y", Buffer::zeros(I, 32));
    run(&p, &mut args, &Options::default()).unwrap();
    let down: Vec<i32> = (0..32).map(|l| if l % 8 + 3 < 8 { l + 3 } else { l }).collect();
    assert_eq!(args.buffer("x").unwrap().to_vec::<i32>().unwrap(), down);
    let of_group: Vec<i32> = (0..32).map(|l| l / 16 * 16 + 2).collect();
    assert_eq!(args.buffer("y").unwrap().to_vec::<i32>().unwrap(), of_group);
}

#[test]
fn halves_are_computed_in_f32_and_rounded_once() {
    let h = DType::F16;
    let wide = load(h, at(X, tid(0))).cast(F);
    let body = vec![store(at(Y, tid(0)), add(mul(wide.clone(), wide), float(F, 0.1)).cast(h), 0)];
    let k = kernel([int(1), int(1), int(1)], [4, 1, 1], body);
    let p = program(vec![global("x", h, vec![int(4)]), global("y", h, vec![int(4)])], &[], k);
    let x = [1.5f32, -0.1, 300.0, f32::INFINITY].map(f16::from_f32);
    let mut args = Arguments::new().array("x", Buffer::from_slice(&x)).output("y", Buffer::zeros(h, 4));
    run(&p, &mut args, &Options::default()).unwrap();
    let expected = x.map(|x| f16::from_f32(x.to_f32() * x.to_f32() + 0.1));
    assert_eq!(args.buffer("y").unwrap().to_vec::<f16>().unwrap(), expected.to_vec());
}

#[test]
fn vector_copies_are_one_request() {
    let r = Memory::Private(0);
    let four = |m| at(m, mul(tid(0), int(4)));
    let copy = |to, from| Stmt::VectorCopy { to, from, lanes: 4, leaf: Some(LeafId(0)) };
    let body = vec![copy(at(r, int(0)), four(X)), copy(four(Y), at(r, int(0)))];
    let mut k = kernel([int(1), int(1), int(1)], [32, 1, 1], body);
    k.private = vec![local("r", F, &[4])];
    let p = program(vec![global("x", F, vec![int(128)]), global("y", F, vec![int(128)])], &[], k);
    let x: Vec<f32> = (0..128).map(|i| i as f32).collect();
    let mut args = Arguments::new().array("x", Buffer::from_slice(&x)).output("y", Buffer::zeros(F, 128));
    let t = run(&p, &mut args, &Options::default()).unwrap().total;
    assert_eq!(args.buffer("y").unwrap().to_vec::<f32>().unwrap(), x);
    assert_eq!((t.global_loads.requests, t.global_loads.sectors, t.global_loads.bytes), (1, 16, 512));
    assert_eq!((t.global_stores.requests, t.global_stores.sectors), (1, 16));
}

/// The traffic of global memory is that of the arrays: a cache of its own serves constant tables.
#[test]
fn constant_tables_are_no_global_traffic() {
    let body = vec![store(at(Y, tid(0)), add(load(F, at(X, tid(0))), load(F, at(X, int(2)))), 0)];
    let k = kernel([int(1), int(1), int(1)], [32, 1, 1], body);
    let numbers: Vec<f32> = (0..32).map(|i| i as f32).collect();
    for is_table in [false, true] {
        let mut x = global("x", F, vec![int(32)]);
        x.written = false;
        if is_table {
            x.owner = Owner::Program(Table(numbers.iter().map(|v| Number::F32(*v)).collect()));
        }
        let p = program(vec![x, global("y", F, vec![int(32)])], &[], k.clone());
        let mut args = Arguments::new().output("y", Buffer::zeros(F, 32));
        if !is_table {
            args = args.array("x", Buffer::from_slice(&numbers));
        }
        let t = run(&p, &mut args, &Options::default()).unwrap().total;
        let expected: Vec<f32> = numbers.iter().map(|v| v + 2.0).collect();
        assert_eq!(args.buffer("y").unwrap().to_vec::<f32>().unwrap(), expected);
        let loads = (t.global_loads.requests, t.global_loads.sectors, t.global_loads.bytes);
        assert_eq!(loads, if is_table { (0, 0, 0) } else { (2, 5, 256) });
        assert_eq!((t.global_stores.requests, t.global_stores.sectors), (1, 4));
    }
}

#[test]
fn closures_stand_for_device_functions() {
    let body = vec![store(at(X, tid(0)), call(F, "twice", vec![load(F, at(X, tid(0)))]), 0)];
    let k = kernel([int(1), int(1), int(1)], [5, 1, 1], body);
    let mut p = program(vec![global("x", F, vec![int(5)])], &[], k);
    let source = Name::new("__device__ float twice(float x) { return 2 * x; }");
    p.functions = vec![DeviceFunction { name: Name::new("twice"), params: vec![F], result: F, source }];
    let mut args = Arguments::new().array("x", Buffer::from_slice(&[1f32, 2.0, 3.0, 4.0, 5.0]));
    let fault = run(&p, &mut args, &Options::default()).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "a device function has no closure in kernel `k`: `twice` needs a closure to run on the \
         emulator"
    );
    let mut options = Options::default();
    options.functions.insert(
        Name::new("twice"),
        Arc::new(|args| match args {
            [Number::F32(x)] => Number::F32(2.0 * x),
            _ => Number::F32(f32::NAN),
        }),
    );
    run(&p, &mut args, &options).unwrap();
    assert_eq!(args.buffer("x").unwrap().to_vec::<f32>().unwrap(), [2.0, 4.0, 6.0, 8.0, 10.0]);
}

#[test]
fn host_loops_launch_with_their_variable_and_scratch_is_the_runs_own() {
    // t[0] = 0, then t[0] += j for each j < n, one launch after another; finally x[0] = t[0].
    let t = Memory::Global(1);
    let one = [int(1), int(1), int(1)];
    let first = kernel(one.clone(), [1, 1, 1], vec![store(at(t, int(0)), int(0), 0)]);
    let sum = add(load(I, at(t, int(0))), param("j"));
    let step = kernel(one.clone(), [1, 1, 1], vec![store(at(t, int(0)), sum, 0)]);
    let last = kernel(one, [1, 1, 1], vec![store(at(X, int(0)), load(I, at(t, int(0))), 1)]);
    let mut p = program(vec![global("x", I, vec![int(1)]), global("t", I, vec![int(1)])], &["n"], first);
    p.args.remove(1);
    p.globals[1].owner = Owner::Launch;
    p.kernels.extend([step, last]);
    let looped = |var| HostStmt::For {
        var: Name::new(var),
        lower: int(0),
        upper: param("n"),
        body: vec![HostStmt::Launch(1)],
        note: Box::default(),
    };
    p.host = vec![HostStmt::Launch(0), looped("j"), HostStmt::Launch(2)];
    let args = Arguments::new().output("x", Buffer::zeros(I, 1)).scalar("n", 10i32);
    let mut good = args.clone();
    let report = run(&p, &mut good, &Options::default()).unwrap();
    assert_eq!(good.buffer("x").unwrap().to_vec::<i32>().unwrap(), [45]);
    assert_eq!(report.total.launches, 12);
    // Without the first launch, the scratch array is read before anything writes it.
    p.host.remove(0);
    let fault = run(&p, &mut args.clone(), &Options::default()).unwrap_err();
    assert_eq!(fault.kind, loopwright_emulator::FaultKind::Uninitialised);
    assert_eq!(fault.array, Some(Name::new("t")));
}
