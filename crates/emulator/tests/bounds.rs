//! Accesses outside an axis or outside the storage: by one lane, by some lanes, by a whole warp.

use crate::common;
use common::*;
use loopwright_emulator::{Arguments, Checks, FaultKind, Options, run};
use loopwright_kernel_ir::{Buffer, DType};
use loopwright_program::*;

const X: Memory = Memory::Global(0);

/// The fault, if any, of a store to `x[row, column]` of a 3 x 4 array by the threads that `guard`
/// admits.
fn stored(threads: u32, row: Value, column: Value, guard: Option<Value>) -> Option<(FaultKind, Vec<i64>)> {
    let to = cell(X, vec![row, column], &[int(4), int(1)]);
    let store = store(to, float(F, 1.0), 0);
    let body = match guard {
        Some(guard) => vec![if_(guard, vec![store])],
        None => vec![store],
    };
    let k = kernel([int(1), int(1), int(1)], [threads, 1, 1], body);
    let p = program(vec![global("x", F, vec![int(3), int(4)])], &[], k);
    let mut args = Arguments::new().array("x", Buffer::zeros(F, 12));
    run(&p, &mut args, &Options::default()).err().map(|fault| (fault.kind, fault.cell))
}

/// In each of these cases except the last two, the element is inside the storage, so that only the
/// axes reveal the error.
const OUTSIDE: [(i64, i64); 6] = [(0, 4), (1, -1), (2, -3), (-1, 5), (3, 0), (0, -1)];

fn outside(row: i64, column: i64) -> Option<(FaultKind, Vec<i64>)> {
    Some((FaultKind::OutOfBounds, vec![row, column]))
}

#[test]
fn one_thread_alone() {
    for (row, column) in OUTSIDE {
        assert_eq!(stored(1, int(row), int(column), None), outside(row, column), "{row}, {column}");
        // The same if only the thread coordinate makes it wrong.
        let (r, c) = (add(tid(0), int(row)), add(tid(0), int(column)));
        assert_eq!(stored(1, r, c, None), outside(row, column), "{row}, {column}");
    }
    for (row, column) in [(0, 0), (0, 3), (2, 0), (2, 3)] {
        assert_eq!(stored(1, add(tid(0), int(row)), add(tid(0), int(column)), None), None);
    }
}

#[test]
fn one_lane_of_a_warp() {
    // Lane 7 is the only one that is active.
    let guard = || Some(bin(BinOp::Eq, tid(0), int(7)));
    for (row, column) in OUTSIDE {
        let (r, c) = (add(tid(0), int(row - 7)), add(tid(0), int(column - 7)));
        assert_eq!(stored(32, r, c, guard()), outside(row, column), "{row}, {column}");
    }
    // Inactive lanes may compute any subscript.
    assert_eq!(stored(32, sub(tid(0), int(5)), sub(tid(0), int(4)), guard()), None);
}

#[test]
fn the_last_lane_of_several() {
    // Two lanes, the second of which is out of bounds.
    for (row, column) in OUTSIDE {
        let last = |v: i64, inside: i64| select(bin(BinOp::Eq, tid(0), int(1)), int(v), int(inside));
        assert_eq!(stored(2, last(row, 1), last(column, 2), None), outside(row, column), "{row}, {column}");
    }
}

/// Subscripts of 64 bits, also of values whose lower halves are inside.
#[test]
fn subscripts_of_64_bits() {
    let far = 1i64 << 32;
    for threads in [1, 2, 32] {
        let text = format!(
            "program p(x, r: i64, c: i64) index i64
global x: f32[3, 4] written
leaf put \"x[r, c] = 2.0\"
host {{
    launch p
}}
kernel p(x written, r: i64, c: i64) {{
    grid(1, 1, 1)
    block({threads}, 1, 1)

    store x[r, c] = 2.0f32 {{put}}
}}
"
        );
        let p = Program::parse(&text).unwrap_or_else(|d| panic!("{text}{d}"));
        let stored = |row: i64, column: i64| {
            let x = Buffer::zeros(F, 12);
            let mut args = Arguments::new().array("x", x).scalar("r", row).scalar("c", column);
            run(&p, &mut args, &Options::default()).err().map(|fault| (fault.kind, fault.cell))
        };
        for (row, column) in OUTSIDE.into_iter().chain([(far, 0), (far + 1, 2), (0, far), (-far, 1)]) {
            assert_eq!(stored(row, column), outside(row, column), "{threads} threads, {row}, {column}");
        }
        if threads == 1 {
            for (row, column) in [(0, 0), (0, 3), (2, 0), (2, 3)] {
                assert_eq!(stored(row, column), None, "{row}, {column}");
            }
        }
    }
}

/// An offset that does not match the subscripts, by one lane and by several: the first element's
/// for another one, and the reverse.
#[test]
fn offsets_of_other_elements() {
    let (up, down) = (|| tid(0), || sub(int(31), tid(0)));
    for threads in [1, 2, 32] {
        for (subscript, offset) in [(up(), down()), (down(), up())] {
            let to = MemRef { memory: X, subscripts: vec![subscript], offset: offset.into() };
            let k = kernel([int(1), int(1), int(1)], [threads, 1, 1], vec![store(to, float(F, 0.0), 0)]);
            let p = program(vec![global("x", F, vec![int(32)])], &[], k);
            let mut args = Arguments::new().array("x", Buffer::zeros(F, 32));
            let fault = run(&p, &mut args, &Options::default()).unwrap_err();
            assert_eq!(fault.kind, FaultKind::InvalidProgram, "{threads} threads");
        }
    }
}

/// A program of four threads with an array `r` of each, of this shape and layout.
fn of_private_array(shape: &str, body: &str) -> Program {
    let text = format!(
        "program p(x, n: i32) index i32
global x: f32[4] read written
leaf put \"x[t] = 2.0\"
host {{
    launch p
}}
kernel p(x written, n: i32) {{
    grid(1, 1, 1)
    block(4, 1, 1)
    private r: f32{shape}

    {body}}}
"
    );
    Program::parse(&text).unwrap_or_else(|d| panic!("{text}{d}"))
}

/// Of private elements that are the same for all threads, and are known only when the program runs.
/// In rows of 4, `r[1, 2]` is the element 6; swizzled, the row's number 1 makes it 4 + (2 ^ 1).
#[test]
fn offsets_of_other_private_elements() {
    for (layout, right) in [("", 6), (" layout((4,4):(1,4))", 9), (" swizzle(2, 0, 2)", 7)] {
        for offset in 0..16 {
            let put = format!("store r[n + 1, n + 2 @ n + {offset}] = 2.0f32 {{put}}\n");
            let p = of_private_array(&format!("[4, 4]{layout}"), &put);
            let mut args = Arguments::new().array("x", Buffer::zeros(F, 4)).scalar("n", 0i32);
            let found = run(&p, &mut args, &Options::default()).err().map(|fault| fault.kind);
            assert_eq!(found, (offset != right).then_some(FaultKind::InvalidProgram), "{layout} {offset}");
        }
    }
}

/// All active lanes are outside the storage, and axes are not checked.
#[test]
fn offsets_beyond_the_storage() {
    let options = Options { checks: Checks::NONE, ..Options::default() };
    for threads in [1, 2, 32] {
        for away in [4, 100, -100] {
            let to = at(X, add(tid(0), int(away)));
            let k = kernel([int(1), int(1), int(1)], [threads, 1, 1], vec![store(to, float(F, 0.0), 0)]);
            let p = program(vec![global("x", F, vec![int(4)])], &[], k);
            let mut args = Arguments::new().array("x", Buffer::zeros(F, 4));
            let fault = run(&p, &mut args, &options).unwrap_err();
            assert_eq!((fault.kind, fault.cell), (FaultKind::OutOfBounds, vec![away]), "{threads} threads");
        }
    }
}

/// A private array of 3 x 4 elements, at subscripts that are the same for all threads, and are
/// known only when the program runs.
#[test]
fn private_arrays_have_axes_too() {
    let stored = |row: i64, column: i64| {
        let r = Memory::Private(0);
        let to = cell(r, vec![var(I, 0), var(I, 1)], &[int(4), int(1)]);
        let body = vec![let_(0, add(param("n"), int(row))), let_(1, add(param("n"), int(column)))];
        let read = store(at(X, tid(0)), load(F, to.clone()), 1);
        let body = [body, vec![store(to, float(F, 2.0), 0), read]].concat();
        let mut k = kernel([int(1), int(1), int(1)], [4, 1, 1], body);
        k.vars = vec![variable("r", I, false), variable("c", I, false)];
        k.private = vec![local("r", F, &[3, 4])];
        let p = program(vec![global("x", F, vec![int(4)])], &["n"], k);
        let mut args = Arguments::new().array("x", Buffer::zeros(F, 4)).scalar("n", 0i32);
        let found = run(&p, &mut args, &Options::default()).err().map(|fault| (fault.kind, fault.cell));
        let twos = Buffer::from_slice(&[2.0f32; 4]);
        assert_eq!(found.is_none(), args.buffer("x") == Some(&twos));
        found
    };
    for (row, column) in OUTSIDE {
        assert_eq!(stored(row, column), outside(row, column), "{row}, {column}");
    }
    for (row, column) in [(0, 0), (0, 3), (2, 0), (2, 3)] {
        assert_eq!(stored(row, column), None);
    }
}

/// A private array whose layout is set, with subscripts and offsets that are the same for all
/// threads, and are known only when the program runs. Outside of its axes it has no elements, so
/// that no offset is right there, not even one that is inside of the storage.
#[test]
fn private_arrays_with_layouts_have_axes_too() {
    let stored = |row: i64, column: i64, offset: i64| {
        let element = format!("r[n + {row}, n + {column} @ n + {offset}]");
        let body = format!("store {element} = 2.0f32 {{put}}\n    store x[thread.x] = {element} {{put}}\n");
        let p = of_private_array("[3, 4] layout((3,4):(1,3))", &body);
        let mut args = Arguments::new().array("x", Buffer::zeros(F, 4)).scalar("n", 0i32);
        let found = run(&p, &mut args, &Options::default()).err().map(|fault| (fault.kind, fault.cell));
        let twos = Buffer::from_slice(&[2.0f32; 4]);
        assert_eq!(found.is_none(), args.buffer("x") == Some(&twos));
        found
    };
    for (row, column) in [(0, 0), (2, 0), (0, 3), (2, 3)] {
        assert_eq!(stored(row, column, row + 3 * column), None, "{row}, {column}");
    }
    // Below all axes, beyond all, and in between: by the offset of an element.
    for (row, column) in [(-1, 0), (0, -1), (-1, -1), (3, 4), (3, 0), (0, 4), (-1, 4)] {
        assert_eq!(stored(row, column, 0), outside(row, column), "{row}, {column}");
    }
}

/// A stride beyond 32 bits along an axis with one element.
#[test]
fn an_axis_of_one_element_with_a_wide_stride() {
    for threads in [1, 2] {
        let to = MemRef { memory: X, subscripts: vec![tid(0), int(3)], offset: int(3).into() };
        let k = kernel([int(1), int(1), int(1)], [threads, 1, 1], vec![store(to, float(F, 1.0), 0)]);
        let mut p = program(vec![global("x", F, vec![int(1), int(4)])], &[], k);
        p.globals[0].strides[0] = Value::int(DType::I64, 1 << 40);
        let mut args = Arguments::new().array("x", Buffer::zeros(F, 4));
        let found = run(&p, &mut args, &Options::default()).err().map(|fault| (fault.kind, fault.cell));
        assert_eq!(found, if threads == 1 { None } else { outside(1, 3) });
    }
}

/// Vectors of two elements of a 3 x 3 array: none may extend into the next row, although its
/// elements follow in the storage.
#[test]
fn a_vector_ends_with_its_row() {
    let copied = |row: i64, column: i64| {
        let to = cell(X, vec![int(row), int(column)], &[int(3), int(1)]);
        let copy = Stmt::VectorCopy { to, from: at(Memory::Private(0), int(0)), lanes: 2, leaf: None };
        let own = |n: i64| store(at(Memory::Private(0), int(n)), float(F, 1.0), 0);
        let mut k = kernel([int(1), int(1), int(1)], [1, 1, 1], vec![own(0), own(1), copy]);
        k.private = vec![local("r", F, &[2])];
        let p = program(vec![global("x", F, vec![int(3), int(3)])], &[], k);
        let mut args = Arguments::new().array("x", Buffer::zeros(F, 9));
        run(&p, &mut args, &Options::default()).err().map(|fault| (fault.kind, fault.cell))
    };
    assert_eq!(copied(0, 0), None);
    assert_eq!(copied(1, 1), None);
    assert_eq!(copied(0, 2), outside(0, 2));
}

/// The second axis has one element, and the vector lies along the first.
#[test]
fn a_vector_may_lie_along_another_axis() {
    let copied = |row: i64| {
        let to = cell(X, vec![int(row), int(0)], &[int(1), int(1)]);
        let copy = Stmt::VectorCopy { to, from: at(Memory::Private(0), int(0)), lanes: 2, leaf: None };
        let own = |n: i64| store(at(Memory::Private(0), int(n)), float(F, 1.0), 0);
        let mut k = kernel([int(1), int(1), int(1)], [1, 1, 1], vec![own(0), own(1), copy]);
        k.private = vec![local("r", F, &[2])];
        let p = program(vec![global("x", F, vec![int(8), int(1)])], &[], k);
        let mut args = Arguments::new().array("x", Buffer::zeros(F, 8));
        run(&p, &mut args, &Options::default()).err().map(|fault| (fault.kind, fault.cell))
    };
    assert_eq!(copied(2), None);
    assert_eq!(copied(6), None);
    assert_eq!(copied(8), outside(8, 0));
}

/// If axes are not checked, a whole vector still has to be inside the storage.
#[test]
fn a_vector_ends_with_the_storage() {
    for (offset, fits) in [(0, true), (2, true), (4, false), (6, false)] {
        let to = at(Memory::Shared(0), int(offset));
        let copy = Stmt::VectorCopy { to, from: at(Memory::Private(0), int(0)), lanes: 2, leaf: None };
        let own = |n: i64| store(at(Memory::Private(0), int(n)), float(F, 1.0), 0);
        let mut k = kernel([int(1), int(1), int(1)], [1, 1, 1], vec![own(0), own(1), copy]);
        k.private = vec![local("r", F, &[2])];
        k.shared = vec![local("s", F, &[5])];
        let p = program(vec![global("x", F, vec![int(1)])], &[], k);
        let mut args = Arguments::new().array("x", Buffer::zeros(F, 1));
        let found = run(&p, &mut args, &Options { checks: Checks::NONE, ..Options::default() })
            .err()
            .map(|fault| fault.kind);
        assert_eq!(found, (!fits).then_some(FaultKind::OutOfBounds), "at {offset}");
    }
}

/// An offset into a private array that is the same for all threads, without checks of axes.
#[test]
fn private_storage_has_an_end() {
    let stored = |offset: i64| {
        let to = at(Memory::Private(0), var(I, 0));
        let body = vec![let_(0, add(param("n"), int(offset))), store(to, float(F, 2.0), 0)];
        let mut k = kernel([int(1), int(1), int(1)], [4, 1, 1], body);
        k.vars = vec![variable("o", I, false)];
        k.private = vec![local("r", F, &[6])];
        let p = program(vec![global("x", F, vec![int(1)])], &["n"], k);
        let mut args = Arguments::new().array("x", Buffer::zeros(F, 1)).scalar("n", 0i32);
        run(&p, &mut args, &Options { checks: Checks::NONE, ..Options::default() })
            .err()
            .map(|fault| fault.kind)
    };
    assert_eq!([stored(0), stored(5)], [None, None]);
    for offset in [6, 7, 100, -1] {
        assert_eq!(stored(offset), Some(FaultKind::OutOfBounds), "{offset}");
    }
}

/// The storage may continue after the axis.
#[test]
fn an_axis_ends_before_its_storage() {
    for threads in [1, 2] {
        for (first, fits) in [(0, true), (1, true), (3, false), (5, false)] {
            let to = at(X, add(mul(tid(0), int(0)), int(first)));
            let guard = bin(BinOp::Eq, tid(0), int(0));
            let body = vec![if_(guard, vec![store(to, float(F, 1.0), 0)])];
            let k = kernel([int(1), int(1), int(1)], [threads, 1, 1], body);
            let mut p = program(vec![global("x", F, vec![int(3)])], &[], k);
            p.globals[0].size = int(10);
            let mut args = Arguments::new().array("x", Buffer::zeros(F, 10));
            let found = run(&p, &mut args, &Options::default()).err().map(|fault| fault.kind);
            assert_eq!(found, (!fits).then_some(FaultKind::OutOfBounds), "{threads} threads, {first}");
        }
    }
}

/// Elements of 64 bits, which every thread copies to the same place of its own array.
#[test]
fn vectors_of_wide_elements_keep_their_order() {
    let y = Memory::Global(1);
    let from = cell(X, vec![mul(tid(0), int(2))], &[int(1)]);
    let copy = Stmt::VectorCopy { to: at(Memory::Private(0), int(0)), from, lanes: 2, leaf: None };
    let back = |n: i64| {
        let to = at(y, add(mul(tid(0), int(2)), int(1 - n)));
        store(to, load(DType::F64, at(Memory::Private(0), int(n))), 0)
    };
    let mut k = kernel([int(1), int(1), int(1)], [4, 1, 1], vec![copy, back(0), back(1)]);
    k.private = vec![local("r", DType::F64, &[2])];
    let array = |name: &str| global(name, DType::F64, vec![int(8)]);
    let p = program(vec![array("x"), array("y")], &[], k);
    let x: Vec<f64> = (0..8).map(f64::from).collect();
    let zeros = Buffer::zeros(DType::F64, 8);
    let mut args = Arguments::new().array("x", Buffer::from_slice(&x)).array("y", zeros);
    run(&p, &mut args, &Options::default()).unwrap();
    let expected = [1.0f64, 0.0, 3.0, 2.0, 5.0, 4.0, 7.0, 6.0];
    assert_eq!(args.buffer("y"), Some(&Buffer::from_slice(&expected)));
}

/// One store by a warp of 4-byte values: sectors of 32 bytes, each of which can hold 8 of them.
#[test]
fn traffic_of_one_access() {
    for (apart, sectors) in [(1, 4), (2, 8), (8, 32)] {
        let to = at(X, mul(tid(0), int(apart)));
        let k = kernel([int(1), int(1), int(1)], [32, 1, 1], vec![store(to, float(F, 1.0), 0)]);
        let p = program(vec![global("x", F, vec![int(256)])], &[], k);
        let mut args = Arguments::new().array("x", Buffer::zeros(F, 256));
        let report = run(&p, &mut args, &Options::default()).unwrap();
        assert_eq!(report.accesses.len(), 1, "{apart} apart");
        let found = &report.accesses[0];
        assert_eq!((found.array.as_str(), found.write, found.shared), ("x", true, false));
        let t = found.traffic;
        // 128 bytes need only four sectors.
        let expected = (1, sectors, sectors - 4, 32, 128);
        assert_eq!((t.requests, t.passes, t.excess, t.active_lanes, t.bytes), expected, "{apart} apart");
    }
}

/// The lanes of a warp that an access leaves idle.
#[test]
fn lanes_are_active_or_idle() {
    for threads in [1u32, 4, 32, 40] {
        let k =
            kernel([int(1), int(1), int(1)], [threads, 1, 1], vec![store(at(X, tid(0)), float(F, 1.0), 0)]);
        let p = program(vec![global("x", F, vec![int(64)])], &[], k);
        let mut args = Arguments::new().array("x", Buffer::zeros(F, 64));
        let total = run(&p, &mut args, &Options::default()).unwrap().total;
        let (active, lanes) = (u64::from(threads), u64::from(threads.div_ceil(32)) * 32);
        assert_eq!((total.active_lanes, total.idle_lanes), (active, lanes - active), "{threads} threads");
    }
}

/// Warps that a condition leaves nothing to do.
#[test]
fn warps_without_an_access_are_idle() {
    for (first, idle) in [(1, 3), (32, 3), (33, 2), (128, 0)] {
        let body = vec![if_(lt(tid(0), int(first)), vec![store(at(X, tid(0)), float(F, 1.0), 0)])];
        let k = kernel([int(1), int(1), int(1)], [128, 1, 1], body);
        let p = program(vec![global("x", F, vec![int(128)])], &[], k);
        let mut args = Arguments::new().array("x", Buffer::zeros(F, 128));
        let total = run(&p, &mut args, &Options::default()).unwrap().total;
        assert_eq!((total.idle_warps, total.global_stores.requests), (idle, 4 - idle), "{first} threads");
        let options = Options { count: false, ..Options::default() };
        assert_eq!(run(&p, &mut args, &options).unwrap().total.idle_warps, 0);
    }
}

/// Rows of 16 bytes and of four words: a lane gets four bytes of each matrix.
#[test]
fn matrices_of_bytes_and_of_words() {
    for (dtype, row) in [("u8", 16), ("f32", 4)] {
        let each = row / 4;
        let text = format!(
            "program p(x, y) index i32
global x: {dtype}[16, {row}] read
global y: {dtype}[32, {}] written
host {{
    launch p
}}
kernel p(x, y written) {{
    grid(1, 1, 1)
    block(32, 1, 1)
    var c: i32
    var e: i32
    shared s: {dtype}[16, {row}]
    private r: {dtype}[{}]

    for c: i32 = 0 to {row} {{
        if thread.x < 16 {{
            store s[thread.x, c] = x[thread.x, c]
        }}
    }}
    barrier block
    matrices 2 of {row} r[0] = s[thread.x % 16, 0]
    for e: i32 = 0 to {} unroll {{
        store y[thread.x, e] = r[e]
    }}
}}
",
            2 * each,
            2 * each,
            2 * each
        );
        let p = Program::parse(&text).unwrap_or_else(|d| panic!("{text}{d}"));
        let x = Vec::from_iter((0..16 * row).map(|k| (k % 251) as u8));
        let buffers = |values: &[u8]| match dtype {
            "u8" => Buffer::from_slice(values),
            _ => Buffer::from_slice(&values.iter().map(|v| f32::from(*v)).collect::<Vec<_>>()),
        };
        let dtype = buffers(&x).dtype();
        let zeros = Buffer::zeros(dtype, 64 * each);
        let mut args = Arguments::new().array("x", buffers(&x)).array("y", zeros);
        let loads = run(&p, &mut args, &Options::default()).unwrap().total.shared_loads;
        // Matrix after matrix, the bytes of row l/4 from 4*(l mod 4) on.
        let found = |l: usize, e: usize| x[(8 * (e / each) + l / 4) * row + l % 4 * each + e % each];
        let wanted = Vec::from_iter((0..32).flat_map(|l| (0..2 * each).map(move |e| (l, e))));
        let wanted = Vec::from_iter(wanted.into_iter().map(|(l, e)| found(l, e)));
        assert_eq!(args.buffer("y"), Some(&buffers(&wanted)), "{dtype}");
        assert_eq!(loads.bytes, 16 * 16, "{dtype}");
    }
}

/// A load of matrices is checked as other loads are: the rows that it reads are written, by threads
/// behind a barrier, begin at multiples of their length, and are in the array.
#[test]
fn rows_of_matrices_are_checked() {
    let fault = |rows: usize, barrier: &str, from: &str| {
        let text = format!(
            "program p(x) index i32
global x: u8[16, 32] read
host {{
    launch p
}}
kernel p(x) {{
    grid(1, 1, 1)
    block(32, 1, 1)
    var c: i32
    shared s: u8[16, 32]
    private r: u8[8]

    for c: i32 = 0 to 32 {{
        if thread.x < {rows} {{
            store s[thread.x, c] = x[thread.x, c]
        }}
    }}
    {barrier}
    matrices 2 of 16 r[0] = s[{from}]
}}
"
        );
        let p = Program::parse(&text).unwrap_or_else(|d| panic!("{text}{d}"));
        let mut args = Arguments::new().array("x", Buffer::zeros(DType::U8, 16 * 32));
        run(&p, &mut args, &Options::default()).err().map(|fault| fault.kind)
    };
    let neighbour = "(thread.x + 1) % 16";
    for column in [0, 16] {
        assert_eq!(fault(16, "barrier block", &format!("{neighbour}, {column}")), None);
    }
    assert_eq!(fault(16, "", &format!("{neighbour}, 0")), Some(FaultKind::Race));
    assert_eq!(fault(15, "barrier block", &format!("{neighbour}, 0")), Some(FaultKind::Uninitialised));
    assert_eq!(fault(16, "barrier block", &format!("{neighbour}, 8")), Some(FaultKind::Misaligned));
    assert_eq!(fault(16, "barrier block", "thread.x % 16 + 1, 0"), Some(FaultKind::OutOfBounds));
    // Within the storage, but beyond the end of the row.
    assert_eq!(fault(16, "barrier block", "thread.x % 8, 32"), Some(FaultKind::OutOfBounds));
}

/// Eight rows of eight elements of two bytes, each read by a lane of its own.
#[test]
fn traffic_of_matrices() {
    let text = "program p(x, y) index i32
global x: u16[8, 8] read
global y: u16[8, 8] written
host {
    launch p
}
kernel p(x, y written) {
    grid(1, 1, 1)
    block(32, 1, 1)
    shared s: u16[8, 8]
    private r: u16[2]

    store s[thread.x // 4, thread.x % 4 * 2] = x[thread.x // 4, thread.x % 4 * 2]
    store s[thread.x // 4, thread.x % 4 * 2 + 1] = x[thread.x // 4, thread.x % 4 * 2 + 1]
    barrier block
    matrices 1 r[0] = s[thread.x % 8, 0]
    store y[thread.x // 4, thread.x % 4 * 2] = r[0]
    store y[thread.x // 4, thread.x % 4 * 2 + 1] = r[1]
}
";
    let p = Program::parse(text).unwrap_or_else(|d| panic!("{text}{d}"));
    let x = Buffer::from_slice(&Vec::from_iter(0..64u16));
    let mut args = Arguments::new().array("x", x.clone()).array("y", Buffer::zeros(DType::U16, 64));
    let loads = run(&p, &mut args, &Options::default()).unwrap().total.shared_loads;
    // 8 rows of 16 bytes, which fill the 32 banks once.
    assert_eq!((loads.requests, loads.wavefronts, loads.bytes), (1, 1, 8 * 16));
    // Each lane has two neighbours of the matrix, in its order.
    assert_eq!(args.buffer("y"), Some(&x));
}

#[test]
fn nothing_is_counted_unless_it_is_asked_for() {
    let shared = Memory::Shared(0);
    let body = vec![
        store(at(shared, tid(0)), load(F, at(X, tid(0))), 0),
        store(at(X, tid(0)), load(F, at(shared, tid(0))), 0),
    ];
    let mut k = kernel([int(1), int(1), int(1)], [4, 1, 1], body);
    k.shared = vec![local("s", F, &[4])];
    let p = program(vec![global("x", F, vec![int(4)])], &[], k);
    for count in [true, false] {
        let mut args = Arguments::new().array("x", Buffer::zeros(F, 4));
        let report = run(&p, &mut args, &Options { count, ..Options::default() }).unwrap();
        let t = report.total;
        let bytes =
            [t.global_loads.bytes, t.global_stores.bytes, t.shared_loads.bytes, t.shared_stores.bytes];
        assert_eq!(bytes, [if count { 16 } else { 0 }; 4]);
        assert_eq!((t.active_lanes > 0, t.idle_lanes > 0), (count, count));
        assert_eq!(report.accesses.iter().any(|access| access.traffic.requests > 0), count);
    }
}
