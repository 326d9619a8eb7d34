//! Incorrect programs: which fault is found, at which cell, and in which instances.

use crate::common;
use common::*;
use loopwright_emulator::{Act, Arguments, Checks, Fault, FaultKind, Options, run};
use loopwright_kernel_ir::{Buffer, DType, Name, PerDim};
use loopwright_program::*;

const X: Memory = Memory::Global(0);
const S: Memory = Memory::Shared(0);
/// The thread with this index on x, and 0 elsewhere.
fn thread(x: u32) -> PerDim<u32> {
    PerDim { x, y: 0, z: 0 }
}

const ONE: fn() -> [Value; 3] = || [int(1), int(1), int(1)];

fn over_x(n: i64, k: DeviceKernel) -> Program {
    program(vec![global("x", F, vec![int(n)])], &[], k)
}

fn faults(p: &Program, n: usize) -> Fault {
    let mut args = Arguments::new().array("x", Buffer::zeros(F, n));
    let before = args.clone();
    let fault = run(p, &mut args, &Options::default()).unwrap_err();
    assert_eq!(args, before, "a fault changes nothing");
    // The same every time, including with a single thread.
    for threads in [None, Some(1), Some(4)] {
        let options = Options { threads, ..Options::default() };
        assert_eq!(run(p, &mut args, &options).unwrap_err(), fault);
    }
    fault
}

/// Reverses a block's elements through shared memory.
fn reversal(with_barrier: bool) -> Program {
    let mut body = vec![
        let_(0, tid(0)),
        store(at(S, var(I, 0)), load(F, at(X, add(mul(bid(0), int(64)), var(I, 0)))), 0),
    ];
    if with_barrier {
        body.push(barrier());
    }
    let from = load(F, at(S, sub(int(63), var(I, 0))));
    body.push(store(at(X, add(mul(bid(0), int(64)), var(I, 0))), from, 1));
    let mut k = kernel([int(3), int(1), int(1)], [64, 1, 1], body);
    k.vars = vec![variable("i", I, false)];
    k.shared = vec![local("t", F, &[64])];
    over_x(192, k)
}

#[test]
fn a_reversal_needs_its_barrier() {
    let x: Vec<f32> = (0..192).map(|i| i as f32).collect();
    let mut args = Arguments::new().array("x", Buffer::from_slice(&x));
    run(&reversal(true), &mut args, &Options::default()).unwrap();
    let expected: Vec<f32> = (0..192).map(|i| (i / 64 * 64 + 63 - i % 64) as f32).collect();
    assert_eq!(args.buffer("x").unwrap().to_vec::<f32>().unwrap(), expected);

    // Warp 0 runs first and reads t[63], which has no value yet: warp 1 writes it, unordered.
    let fault = faults(&reversal(false), 192);
    assert_eq!((fault.kind.clone(), fault.cell.clone()), (FaultKind::Race, vec![63]));
    assert_eq!(
        fault.to_string(),
        "race between threads of a block at `t[63]` in kernel `k`\n  \
         read by `second`, block (0, 0, 0), thread (0, 0, 0), i=0: second text\n  \
         write by `first`, block (0, 0, 0), thread (63, 0, 0), i=63: first text"
    );
    let diagnostic = fault.diagnostic();
    assert_eq!(diagnostic.code, "race");
    assert!(
        diagnostic.witness.is_some_and(|w| w.contains("thread (0, 0, 0)") && w.contains("thread (63, 0, 0)"))
    );
}

#[test]
fn lanes_of_a_warp_need_a_synchronisation_too() {
    let make = |sync: bool| {
        let mut body = vec![store(at(S, tid(0)), load(F, at(X, tid(0))), 0)];
        if sync {
            body.push(Stmt::Sync { scope: Scope::Warp, note: Note::default() });
        }
        body.push(store(at(X, tid(0)), load(F, at(S, sub(int(31), tid(0)))), 1));
        let mut k = kernel(ONE(), [32, 1, 1], body);
        k.shared = vec![local("t", F, &[32])];
        over_x(32, k)
    };
    let mut args = Arguments::new().array("x", Buffer::zeros(F, 32));
    assert_eq!(run(&make(true), &mut args, &Options::default()).unwrap().total.warp_syncs, 1);
    let fault = faults(&make(false), 32);
    assert_eq!((fault.kind, fault.cell), (FaultKind::Race, vec![31]));
    let (first, second) = (fault.first.unwrap(), fault.second.unwrap());
    assert_eq!((first.act, first.thread, first.part.as_str()), (Act::Write, thread(31), "first"));
    assert_eq!((second.act, second.thread, second.part.as_str()), (Act::Read, thread(0), "second"));
}

/// A cell of shared memory that one thread reads or writes and another one writes, with or without
/// a barrier in between.
#[test]
fn a_write_to_shared_memory_waits_for_reads_and_writes() {
    let make = |reads: bool, with_barrier: bool| {
        let mut body = vec![store(at(S, tid(0)), float(F, 1.0), 0), barrier()];
        // The first warp, which runs first, touches the cells that the second one writes.
        let (other, low) = (at(S, sub(int(63), tid(0))), lt(tid(0), int(32)));
        let touch =
            if reads { store(at(X, tid(0)), load(F, other), 0) } else { store(other, float(F, 2.0), 0) };
        body.push(if_(low, vec![touch]));
        if with_barrier {
            body.push(barrier());
        }
        body.push(if_(lt(int(31), tid(0)), vec![store(at(S, tid(0)), float(F, 3.0), 1)]));
        let mut k = kernel(ONE(), [64, 1, 1], body);
        k.shared = vec![local("t", F, &[64])];
        over_x(64, k)
    };
    for reads in [true, false] {
        let mut args = Arguments::new().array("x", Buffer::zeros(F, 64));
        run(&make(reads, true), &mut args, &Options::default()).unwrap();
        let fault = faults(&make(reads, false), 64);
        assert_eq!(fault.kind, FaultKind::Race, "{reads}");
        assert_eq!(fault.second.unwrap().act, Act::Write);
    }
}

#[test]
fn blocks_race_in_global_memory() {
    // x[i] = x[i + 1]: within a block and across its edge.
    let i = add(mul(bid(0), int(32)), tid(0));
    let guarded =
        if_(lt(i.clone(), int(95)), vec![store(at(X, i.clone()), load(F, at(X, add(i, int(1)))), 0)]);
    let fault = faults(&over_x(96, kernel([int(3), int(1), int(1)], [32, 1, 1], vec![guarded])), 96);
    assert_eq!((fault.kind, fault.cell), (FaultKind::Race, vec![1]));
    // Only across blocks: every block writes cell 0.
    let elected = if_(bin(BinOp::Eq, tid(0), int(0)), vec![store(at(X, int(0)), float(F, 1.0), 0)]);
    let fault = faults(&over_x(1, kernel([int(5), int(1), int(1)], [32, 1, 1], vec![elected])), 1);
    assert_eq!((fault.kind.clone(), fault.cell), (FaultKind::RaceBetweenBlocks, vec![0]));
    assert_eq!(fault.first.unwrap().block, PerDim::all(0));
    assert_eq!(fault.second.unwrap().block, PerDim { x: 1, y: 0, z: 0 });
}

#[test]
fn launches_are_ordered() {
    let body = vec![if_(bin(BinOp::Eq, tid(0), bid(0)), vec![store(at(X, bid(0)), float(F, 1.0), 0)])];
    let read = vec![store(at(X, bid(0)), load(F, at(X, bid(0))), 0)];
    let mut p = over_x(4, kernel([int(4), int(1), int(1)], [32, 1, 1], body));
    p.kernels.push(kernel([int(4), int(1), int(1)], [1, 1, 1], read));
    p.host = vec![HostStmt::Launch(0), HostStmt::Launch(1), HostStmt::Launch(0)];
    let mut args = Arguments::new().output("x", Buffer::zeros(F, 4));
    assert_eq!(run(&p, &mut args, &Options::default()).unwrap().total.launches, 3);
}

#[test]
fn out_of_bounds_is_found_by_axis() {
    // Row 1, column 4 of a 3 x 4 array: inside the storage, outside the axis.
    let x = cell(X, vec![int(1), add(tid(0), int(1))], &[int(4), int(1)]);
    let mut k = kernel(ONE(), [4, 1, 1], vec![let_(0, tid(0)), store(x, float(F, 0.0), 1)]);
    k.vars = vec![variable("t", I, false)];
    let p = program(vec![global("x", F, vec![int(3), int(4)])], &[], k);
    let fault = faults(&p, 12);
    assert_eq!(
        fault.to_string(),
        "access out of bounds at `x[1, 4]` in kernel `k`: the array is [3, 4]\n  \
         write by `second`, block (0, 0, 0), thread (3, 0, 0), t=3: second text"
    );
    // Without the per-axis check it is allowed; an access outside the storage never is.
    let options = Options { checks: Checks::NONE, ..Options::default() };
    let mut args = Arguments::new().array("x", Buffer::zeros(F, 12));
    run(&p, &mut args, &options).unwrap();
    let far = over_x(4, kernel(ONE(), [8, 1, 1], vec![store(at(X, tid(0)), float(F, 0.0), 0)]));
    let mut args = Arguments::new().array("x", Buffer::zeros(F, 4));
    assert_eq!(run(&far, &mut args, &options).unwrap_err().kind, FaultKind::OutOfBounds);
}

#[test]
fn an_offset_that_disagrees_with_its_subscripts_is_refused() {
    let wrong = MemRef { memory: X, subscripts: vec![tid(0)], offset: sub(int(3), tid(0)).into() };
    let fault = faults(&over_x(4, kernel(ONE(), [4, 1, 1], vec![store(wrong, float(F, 0.0), 0)])), 4);
    assert_eq!(
        (fault.kind, fault.detail.as_str()),
        (FaultKind::InvalidProgram, "the offset is 3, the subscripts say 0")
    );
}

#[test]
fn reads_of_what_was_never_written() {
    let private = Memory::Private(0);
    let mut k = kernel(
        ONE(),
        [2, 1, 1],
        vec![
            store(at(private, tid(0)), float(F, 0.0), 0),
            store(at(X, tid(0)), load(F, at(private, int(0))), 1),
        ],
    );
    k.private = vec![local("r", F, &[2])];
    let fault = faults(&over_x(2, k), 2);
    assert_eq!(
        (fault.kind, fault.array, fault.cell),
        (FaultKind::Uninitialised, Some(Name::new("r")), vec![0])
    );
    assert_eq!(fault.second.unwrap().thread, thread(1));
    // An output without initial values from the caller.
    let k = kernel(ONE(), [2, 1, 1], vec![store(at(X, tid(0)), load(F, at(X, tid(0))), 0)]);
    let mut args = Arguments::new().output("x", Buffer::zeros(F, 2));
    assert_eq!(
        run(&over_x(2, k), &mut args, &Options::default()).unwrap_err().kind,
        FaultKind::Uninitialised
    );
    // A variable that only some lanes set.
    let mut k = kernel(
        ONE(),
        [4, 1, 1],
        vec![
            Stmt::Declare(VarId(0)),
            if_(lt(tid(0), int(3)), vec![set(0, float(F, 1.0))]),
            store(at(X, tid(0)), var(F, 0), 0),
        ],
    );
    k.vars = vec![variable("v", F, true)];
    let fault = faults(&over_x(4, k), 4);
    assert_eq!((fault.array, fault.second.unwrap().thread), (Some(Name::new("v")), thread(3)));
}

/// Private elements at subscripts that are constant, equal in all threads, and different ones.
#[test]
fn what_was_never_written_may_be_read_where_that_is_not_checked() {
    let private = Memory::Private(0);
    for at_own in [int(1), bid(0), tid(0)] {
        let own = load(F, at(private, at_own));
        let mut k = kernel(ONE(), [2, 1, 1], vec![store(at(X, tid(0)), own, 0)]);
        k.private = vec![local("r", F, &[2])];
        let p = over_x(2, k);
        assert_eq!(faults(&p, 2).kind, FaultKind::Uninitialised);
        let mut args = Arguments::new().array("x", Buffer::zeros(F, 2));
        let checks = Checks { uninitialised: false, ..Checks::ALL };
        assert!(run(&p, &mut args, &Options { checks, ..Options::default() }).is_ok());
    }
}

#[test]
fn barriers_must_not_diverge() {
    // Within a warp.
    let k = kernel(ONE(), [32, 1, 1], vec![if_(lt(tid(0), int(5)), vec![barrier()])]);
    let fault = faults(&over_x(1, k), 1);
    assert_eq!(fault.kind, FaultKind::DivergentBarrier(Scope::Block));
    assert_eq!((fault.first.unwrap().thread, fault.second.unwrap().thread), (thread(0), thread(5)));
    // By whole warps.
    let k = kernel(ONE(), [64, 1, 1], vec![if_(lt(tid(0), int(32)), vec![barrier()])]);
    let fault = faults(&over_x(1, k), 1);
    assert_eq!(fault.detail, "a warp has ended while another waits");
    let (first, second) = (fault.first.unwrap(), fault.second.unwrap());
    assert_eq!((first.act, first.thread), (Act::Waits, thread(0)));
    assert_eq!((second.act, second.thread), (Act::Absent, thread(32)));
    // At two different barriers.
    let k = kernel(
        ONE(),
        [64, 1, 1],
        vec![Stmt::If {
            cond: lt(tid(0), int(32)),
            body: vec![barrier()],
            otherwise: vec![barrier()],
            note: Note::default(),
        }],
    );
    assert_eq!(faults(&over_x(1, k), 1).detail, "warps wait at different barriers");
    // A loop that all warps execute equally often is not divergent.
    let mut k = kernel(ONE(), [64, 1, 1], vec![for_(0, int(0), int(7), vec![barrier()])]);
    k.vars = vec![variable("i", I, false)];
    let mut args = Arguments::new().array("x", Buffer::zeros(F, 1));
    assert_eq!(run(&over_x(1, k), &mut args, &Options::default()).unwrap().total.barriers, 7);
}

#[test]
fn shuffles_need_their_lanes() {
    let taken = || shuffle(ShuffleMode::Xor, float(F, 1.0), int(1), 32);
    let k = kernel(ONE(), [32, 1, 1], vec![if_(lt(tid(0), int(3)), vec![store(at(X, tid(0)), taken(), 0)])]);
    assert_eq!(faults(&over_x(32, k), 32).kind, FaultKind::DivergentShuffle);
    // So do ballots.
    let vote = |lane: i64| Value {
        dtype: DType::Bool,
        kind: ValueKind::Any(Box::new(Value::binary(BinOp::Eq, tid(0), int(lane)))),
    };
    let one = || store(at(X, tid(0)), float(F, 1.0), 0);
    let k = kernel(ONE(), [32, 1, 1], vec![if_(lt(tid(0), int(3)), vec![if_(vote(1), vec![one()])])]);
    assert_eq!(faults(&over_x(32, k), 32).kind, FaultKind::DivergentShuffle);
    // One lane suffices for `Any`, and no lane does not; each warp votes separately.
    let k = kernel(ONE(), [64, 1, 1], vec![if_(vote(37), vec![one()])]);
    let mut args = Arguments::new().array("x", Buffer::zeros(F, 64));
    run(&over_x(64, k), &mut args, &Options::default()).unwrap();
    let found = args.buffer("x").unwrap().to_vec::<f32>().unwrap();
    assert_eq!(found, [[0.0; 32], [1.0; 32]].concat());
    // The distance back to a lane with the condition; the second warp has none.
    let since = |lane: Value| {
        let has = bin(BinOp::Or, bin(BinOp::Eq, tid(0), int(3)), bin(BinOp::Eq, tid(0), int(20)));
        let have = Value::ballot(has, &Target::default());
        let above = sub(int(31), lane).cast(DType::U32);
        bin(BinOp::Shl, have, above).leading_zeros()
    };
    let lane = || bin(BinOp::TruncRem, tid(0), int(32));
    let k = kernel(ONE(), [64, 1, 1], vec![store(at(X, tid(0)), since(lane()).cast(F), 0)]);
    let mut args = Arguments::new().array("x", Buffer::zeros(F, 64));
    run(&over_x(64, k), &mut args, &Options::default()).unwrap();
    let found = args.buffer("x").unwrap().to_vec::<f32>().unwrap();
    let expected: Vec<f32> = (0..64)
        .map(|t| match t {
            3..20 => (t - 3) as f32,
            20..32 => (t - 20) as f32,
            _ => 32.0,
        })
        .collect();
    assert_eq!(found, expected);
    let some = || if_(lt(tid(0), int(3)), vec![store(at(X, tid(0)), since(lane()).cast(F), 0)]);
    let k = kernel(ONE(), [32, 1, 1], vec![some()]);
    assert_eq!(faults(&over_x(32, k), 32).kind, FaultKind::DivergentShuffle);
    let k = kernel(ONE(), [31, 1, 1], vec![store(at(X, tid(0)), taken(), 0)]);
    let fault = faults(&over_x(32, k), 32);
    assert_eq!(fault.detail, "lane 30 reads from lane 31, which is not a thread of the block");
}

#[test]
fn arithmetic_without_a_value() {
    let zero = bin(BinOp::FloorDiv, int(7), sub(tid(0), int(2)));
    let k = kernel(ONE(), [4, 1, 1], vec![store(at(X, tid(0)), zero.clone().cast(F), 1)]);
    let fault = faults(&over_x(4, k), 4);
    assert_eq!((fault.kind, fault.second.unwrap().thread), (FaultKind::DivisionByZero, thread(2)));
    // No fault if the lane does not select the value.
    let chosen = select(bin(BinOp::Eq, tid(0), int(2)), int(0), zero);
    let k = kernel(ONE(), [4, 1, 1], vec![store(at(X, tid(0)), chosen.cast(F), 1)]);
    let mut args = Arguments::new().array("x", Buffer::zeros(F, 4));
    run(&over_x(4, k), &mut args, &Options::default()).unwrap();
    assert_eq!(args.buffer("x").unwrap().to_vec::<f32>().unwrap(), [-4.0, -7.0, 0.0, 7.0]);
    // Index arithmetic past 32 bits, which wraps back into the array.
    let wraps = mul(mul(tid(0), int(1 << 16)), int(1 << 16));
    let k = kernel(
        ONE(),
        [4, 1, 1],
        vec![if_(bin(BinOp::Eq, tid(0), int(1)), vec![store(at(X, wraps), float(F, 0.0), 0)])],
    );
    assert_eq!(faults(&over_x(4, k.clone()), 4).kind, FaultKind::IndexOverflow);
    let options = Options { checks: Checks { overflow: false, ..Checks::ALL }, ..Options::default() };
    run(&over_x(4, k), &mut args, &options).unwrap();
}

#[test]
fn vectors_are_aligned_and_in_bounds() {
    let make = |offset: i64| {
        let from = at(X, add(mul(tid(0), int(4)), int(offset)));
        let copy = Stmt::VectorCopy { to: at(Memory::Private(0), int(0)), from, lanes: 4, leaf: None };
        let mut k = kernel(ONE(), [4, 1, 1], vec![copy]);
        k.private = vec![local("r", F, &[4])];
        over_x(18, k)
    };
    let fault = faults(&make(1), 18);
    assert_eq!((fault.kind, fault.detail.as_str()), (FaultKind::Misaligned, "4 elements of f32 at byte 4"));
    let fault = faults(&make(4), 18);
    assert_eq!((fault.kind, fault.second.unwrap().thread), (FaultKind::OutOfBounds, thread(3)));
}

#[test]
fn what_does_not_end_is_ended() {
    let mut k = kernel(ONE(), [32, 1, 1], vec![for_(0, int(0), int(i32::MAX.into()), vec![])]);
    k.vars = vec![variable("i", I, false)];
    let p = over_x(1, k);
    let options = Options { max_steps: 10_000, ..Options::default() };
    let mut args = Arguments::new().array("x", Buffer::zeros(F, 1));
    assert_eq!(run(&p, &mut args, &options).unwrap_err().kind, FaultKind::StepLimit);
}

#[test]
fn arguments_must_fit() {
    let p = over_x(4, kernel(ONE(), [1, 1, 1], vec![]));
    let refused = |args: Arguments| run(&p, &mut args.clone(), &Options::default()).unwrap_err().to_string();
    assert_eq!(refused(Arguments::new()), "an argument does not fit at `x`: the array is missing");
    assert_eq!(
        refused(Arguments::new().array("x", Buffer::zeros(I, 4))),
        "an argument does not fit at `x`: the array is of type i32, not f32"
    );
    assert_eq!(
        refused(Arguments::new().array("x", Buffer::zeros(F, 3))),
        "an argument does not fit at `x`: the array has 3 elements and needs 4"
    );
}

#[test]
fn programs_that_break_an_invariant_are_refused() {
    let refused = |body: Vec<Stmt>| {
        let mut k = kernel(ONE(), [1, 1, 1], body);
        k.vars = vec![variable("v", F, true)];
        let mut args = Arguments::new().array("x", Buffer::zeros(F, 4));
        run(&over_x(4, k), &mut args, &Options::default()).unwrap_err().kind
    };
    for body in [
        vec![store(at(X, int(0)), int(1), 0)],
        vec![store(at(Memory::Shared(0), int(0)), int(1), 0)],
        vec![store(cell(X, vec![], &[]), float(F, 0.0), 0)],
        vec![store(at(X, int(0)), float(F, 0.0), 9)],
        vec![set(7, int(0))],
        vec![set(0, int(0))],
        vec![set(0, bin(BinOp::Shl, float(F, 0.0), float(F, 0.0)))],
        vec![set(0, add(float(F, 0.0), int(0)))],
        vec![set(0, call(F, "lowest", vec![]))],
        vec![for_(0, int(0), int(1), vec![])],
    ] {
        assert_eq!(refused(body), FaultKind::InvalidProgram);
    }
}

/// A private element with a known position, written by the threads from `first` on and read by all.
#[test]
fn the_first_thread_without_a_private_value_is_named() {
    for threads in [1, 7, 32, 40] {
        for first in [0, 1, 5, 32, 39, 99] {
            let own = || at(Memory::Private(0), int(1));
            let written = if_(lt(int(first - 1), tid(0)), vec![store(own(), float(F, 1.0), 0)]);
            let read = store(at(X, tid(0)), load(F, own()), 1);
            let mut k = kernel(ONE(), [threads, 1, 1], vec![written, read]);
            k.private = vec![local("r", F, &[2])];
            let p = over_x(40, k);
            if first == 0 {
                run(&p, &mut Arguments::new().array("x", Buffer::zeros(F, 40)), &Options::default()).unwrap();
                continue;
            }
            let fault = faults(&p, 40);
            assert_eq!((fault.kind, fault.cell), (FaultKind::Uninitialised, vec![1]));
            assert_eq!(fault.second.map(|x| x.thread), Some(thread(0)), "{threads} threads from {first} on");
        }
        // All but the last one.
        let own = || at(Memory::Private(0), int(1));
        let last = i64::from(threads) - 1;
        let written = if_(lt(tid(0), int(last)), vec![store(own(), float(F, 1.0), 0)]);
        let mut k = kernel(ONE(), [threads, 1, 1], vec![written, store(at(X, tid(0)), load(F, own()), 1)]);
        k.private = vec![local("r", F, &[2])];
        let fault = faults(&over_x(40, k), 40);
        assert_eq!(fault.second.map(|x| x.thread), Some(thread(last as u32)), "{threads} threads");
    }
}

/// The second element of a vector has no value: found by its subscripts, or by its offset if these
/// are not checked.
#[test]
fn a_later_element_of_a_vector_is_named() {
    let r = Memory::Private(0);
    for (start, bounds) in [(0, true), (0, false), (2, true), (2, false)] {
        let copy = Stmt::VectorCopy { to: at(X, int(0)), from: at(r, int(start)), lanes: 2, leaf: None };
        let mut k = kernel(ONE(), [1, 1, 1], vec![store(at(r, int(start)), float(F, 1.0), 0), copy]);
        k.private = vec![local("r", F, &[4])];
        let checks = Checks { bounds, ..Options::default().checks };
        let mut args = Arguments::new().array("x", Buffer::zeros(F, 2));
        let fault = run(&over_x(2, k), &mut args, &Options { checks, ..Options::default() }).unwrap_err();
        assert_eq!((fault.kind, fault.cell), (FaultKind::Uninitialised, vec![start + 1]), "{bounds}");
    }
}
