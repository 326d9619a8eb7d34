//! Programs that together use every statement and every type, with arguments and expected results.

#![allow(dead_code)]

use half::{bf16, f16};
use loopwright_kernel_ir::{DType, DeviceFunction, Dim, E4M3, E5M2, Precision, Role};
use loopwright_program::*;
use loopwright_text_check::Arguments;

use crate::common::*;

/// A program, its arguments, and the expected bytes of arrays.
pub struct Case {
    pub name: String,
    pub program: Program,
    pub arguments: Arguments,
    pub expected: Vec<(String, Vec<u8>)>,
}

const I: DType = DType::I32;

fn int(value: i64) -> Value {
    Value::int(I, value)
}

fn var(builder: &Builder, id: VarId) -> Value {
    Value::var(builder.program.kernels[0].vars[id.0].dtype, id)
}

fn add(a: Value, b: Value) -> Value {
    Value::binary(BinOp::Add, a, b)
}

fn mul(a: Value, b: Value) -> Value {
    Value::binary(BinOp::Mul, a, b)
}

/// An element of a shared or private array; with two axes, rows have length 97.
fn elements(memory: Memory, subscripts: Vec<Value>) -> MemRef {
    let offset = match &subscripts[..] {
        [] => int(0),
        [i] => i.clone(),
        [i, j, ..] => add(mul(i.clone(), int(97)), j.clone()),
    };
    MemRef { memory, offset: Box::new(offset), subscripts }
}

fn local(name: &str, dtype: DType, dims: &[u64], about: &str) -> LocalArray {
    LocalArray { name: name.into(), dtype, dims: dims.to_vec(), layout: None, note: about.to_string() }
}

fn let_(var: VarId, value: Value) -> Stmt {
    Stmt::Let { var, value, leaf: None }
}

fn for_(
    var: VarId,
    lower: Value,
    upper: Value,
    step: Step,
    unroll: bool,
    about: &str,
    body: Vec<Stmt>,
) -> Stmt {
    Stmt::For { var, lower, upper, step, unroll, body, note: note(about) }
}

fn if_(cond: Value, about: &str, body: Vec<Stmt>, otherwise: Vec<Stmt>) -> Stmt {
    Stmt::If { cond, body, otherwise, note: note(about) }
}

fn pattern(count: usize) -> Vec<u8> {
    (0..count).map(|k| (k * 37 + k / 7 + 1) as u8).collect()
}

fn as_bytes<T, const N: usize>(values: &[T], bytes: impl Fn(&T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(bytes).collect()
}

/// Every vector access, from global memory to registers and back.
pub fn vector_copies() -> Case {
    let mut b = Builder::new("vector_copies", I, [8, 1, 1]);
    let (mut arguments, mut expected) = (Arguments::new(), vec![]);
    let mut body = vec![];
    for dtype in DType::ALL {
        for lanes in [2u8, 4, 8, 16] {
            let bytes = dtype.bytes() * lanes as usize;
            if bytes > 16 {
                continue;
            }
            let (x, y) = (format!("x_{dtype}_{lanes}"), format!("y_{dtype}_{lanes}"));
            let size = int(8 * lanes as i64);
            let from = b.array(&x, dtype, size.clone(), false);
            let to = b.array(&y, dtype, size, true);
            let private = b.kernel().private.len();
            b.kernel().private.push(local(&format!("v_{dtype}_{lanes}"), dtype, &[lanes.into()], ""));
            let register = || elements(Memory::Private(private), vec![int(0)]);
            let place = |memory| at(memory, mul(thread(I), int(lanes.into())));
            body.push(Stmt::VectorCopy { to: register(), from: place(from), lanes, leaf: None });
            body.push(Stmt::VectorCopy { to: place(to), from: register(), lanes, leaf: None });
            let mask = if dtype == DType::Bool { 1 } else { 0xff };
            let content: Vec<u8> = pattern(8 * bytes).into_iter().map(|byte| byte & mask).collect();
            arguments = arguments.array(&*x, content.clone()).array(&*y, vec![0; 8 * bytes]);
            expected.push((y, content));
        }
    }
    b.kernel().body = body;
    Case { name: "vector_copies".into(), program: b.program, arguments, expected }
}

/// Every shuffle of every type, in a block whose last warp may be partial.
pub fn shuffles(shape: [u32; 3]) -> Case {
    let threads: u32 = shape.iter().product();
    let name = format!("shuffles_{threads}");
    let mut b = Builder::new(&name, I, shape);
    let (mut arguments, mut expected) = (Arguments::new(), vec![]);
    let axis = |dim| Value { dtype: I, kind: ValueKind::ThreadIdx(dim) };
    let t = b.var("t", I, false);
    let row = add(mul(axis(Dim::Z), int(shape[1].into())), axis(Dim::Y));
    b.push(let_(t, add(mul(row, int(shape[0].into())), axis(Dim::X))));
    for dtype in DType::ALL {
        let size = dtype.bytes();
        let x = format!("x_{dtype}");
        let from = b.array(&x, dtype, int(threads.into()), false);
        let content: Vec<u8> = match dtype {
            DType::Bool => (0..threads).map(|k| (k % 3 == 0) as u8).collect(),
            // Numbers that are not NaN in any type.
            _ => pattern(threads as usize * size).into_iter().map(|byte| byte & 0x3f).collect(),
        };
        arguments = arguments.array(&*x, content.clone());
        let lanes_of_last = if threads.is_multiple_of(32) { 32 } else { threads % 32 };
        for (mode, operand, width) in [
            (ShuffleMode::Xor, 1, 32),
            (ShuffleMode::Xor, 4, 8),
            (ShuffleMode::Down, 2, 4),
            (ShuffleMode::Down, 3, 8),
            (ShuffleMode::Up, 3, 8),
            (ShuffleMode::Up, 5, 32),
            (ShuffleMode::Index, 1, 2),
            (ShuffleMode::Index, 0, 32),
        ] {
            if mode == ShuffleMode::Down && width > lanes_of_last {
                continue;
            }
            let y = format!("y_{dtype}_{mode:?}_{width}").to_lowercase();
            let to = b.array(&y, dtype, int(threads.into()), true);
            let value = Box::new(load(dtype, at(from, var(&b, t))));
            let shuffle = ValueKind::Shuffle { mode, value, operand: Box::new(int(operand)), width };
            b.push(store(at(to, var(&b, t)), Value { dtype, kind: shuffle }));
            let operand = operand as u32;
            let source = |k: u32| {
                let (warp, group, lane) = (k / 32 * 32, k % 32 / width * width, k % width);
                warp + match mode {
                    ShuffleMode::Xor => (k % 32) ^ operand,
                    ShuffleMode::Down if lane + operand < width => k % 32 + operand,
                    ShuffleMode::Up if lane >= operand => k % 32 - operand,
                    ShuffleMode::Down | ShuffleMode::Up => k % 32,
                    ShuffleMode::Index => group + operand,
                }
            };
            let element = |k: u32| &content[source(k) as usize * size..][..size];
            expected.push((y.clone(), (0..threads).flat_map(element).copied().collect()));
            arguments = arguments.array(&*y, vec![0; content.len()]);
        }
    }
    Case { name, program: b.program, arguments, expected }
}

/// Conversions of f16 and bf16, for every bit pattern of a number.
pub fn halves() -> Case {
    let mut b = Builder::new("halves", I, [256, 1, 1]);
    let size = int(65536);
    b.kernel().grid.x = int(256);
    let i = b.var("i", I, false);
    b.push(let_(i, add(mul(block(I), int(256)), thread(I))));
    let (mut arguments, mut expected) = (Arguments::new(), vec![]);
    let all: Vec<u16> = (0..=u16::MAX).collect();
    let singles: Vec<f32> =
        all.iter().map(|k| (*k as f32 - 32768.0) * 1.37 * 2f32.powi(*k as i32 % 60 - 40)).collect();
    let doubles: Vec<f64> = singles.iter().map(|x| *x as f64 * 1.000000001).collect();
    let inputs = [
        ("h", DType::F16, as_bytes(&all, |v| number16(*v, true).to_ne_bytes())),
        ("g", DType::BF16, as_bytes(&all, |v| number16(*v, false).to_ne_bytes())),
        ("f", DType::F32, as_bytes(&singles, |v| v.to_ne_bytes())),
        ("d", DType::F64, as_bytes(&doubles, |v| v.to_ne_bytes())),
        ("e", DType::E4M3, as_bytes(&all, |v| [number8(*v, 0x7f)])),
        ("q", DType::E5M2, as_bytes(&all, |v| [number8(*v, 0x7d)])),
    ];
    let mut memories = vec![];
    for (name, dtype, content) in inputs {
        memories.push(b.array(name, dtype, size.clone(), false));
        arguments = arguments.array(name, content);
    }
    let [h, g, f, d, e, q] = memories[..] else { panic!() };
    let four = |v: &u16| E4M3::from_bits(number8(*v, 0x7f)).to_f64();
    let five = |v: &u16| E5M2::from_bits(number8(*v, 0x7d)).to_f64();
    let to_four = |v: f64| [E4M3::from_f64(v).to_bits()];
    let to_five = |v: f64| [E5M2::from_f64(v).to_bits()];
    let half = |v: &u16| f16::from_bits(number16(*v, true));
    let brain = |v: &u16| bf16::from_bits(number16(*v, false));
    let cases: Vec<(&str, Memory, DType, DType, Vec<u8>)> = vec![
        ("h_to_f32", h, DType::F16, DType::F32, as_bytes(&all, |v| half(v).to_f32().to_ne_bytes())),
        ("h_to_f64", h, DType::F16, DType::F64, as_bytes(&all, |v| half(v).to_f64().to_ne_bytes())),
        (
            "h_to_bf16",
            h,
            DType::F16,
            DType::BF16,
            as_bytes(&all, |v| bf16::from_f32(half(v).to_f32()).to_ne_bytes()),
        ),
        ("g_to_f32", g, DType::BF16, DType::F32, as_bytes(&all, |v| brain(v).to_f32().to_ne_bytes())),
        (
            "g_to_f16",
            g,
            DType::BF16,
            DType::F16,
            as_bytes(&all, |v| f16::from_f32(brain(v).to_f32()).to_ne_bytes()),
        ),
        ("f_to_f16", f, DType::F32, DType::F16, as_bytes(&singles, |v| f16::from_f32(*v).to_ne_bytes())),
        ("f_to_bf16", f, DType::F32, DType::BF16, as_bytes(&singles, |v| bf16::from_f32(*v).to_ne_bytes())),
        ("d_to_f16", d, DType::F64, DType::F16, as_bytes(&doubles, |v| nearest16(*v).to_ne_bytes())),
        ("e_to_f32", e, DType::E4M3, DType::F32, as_bytes(&all, |v| (four(v) as f32).to_ne_bytes())),
        ("e_to_f16", e, DType::E4M3, DType::F16, as_bytes(&all, |v| f16::from_f64(four(v)).to_ne_bytes())),
        ("q_to_f64", q, DType::E5M2, DType::F64, as_bytes(&all, |v| five(v).to_ne_bytes())),
        ("q_to_e4m3", q, DType::E5M2, DType::E4M3, as_bytes(&all, |v| to_four(five(v)))),
        ("h_to_e4m3", h, DType::F16, DType::E4M3, as_bytes(&all, |v| to_four(half(v).to_f64()))),
        ("f_to_e4m3", f, DType::F32, DType::E4M3, as_bytes(&singles, |v| to_four((*v).into()))),
        ("f_to_e5m2", f, DType::F32, DType::E5M2, as_bytes(&singles, |v| to_five((*v).into()))),
        ("d_to_e4m3", d, DType::F64, DType::E4M3, as_bytes(&doubles, |v| to_four(*v))),
        ("d_to_e5m2", d, DType::F64, DType::E5M2, as_bytes(&doubles, |v| to_five(*v))),
    ];
    for (name, from, source, target, content) in cases {
        let to = b.array(name, target, size.clone(), true);
        let value = load(source, at(from, var(&b, i))).cast(target);
        b.push(store(at(to, var(&b, i)), value));
        arguments = arguments.array(name, vec![0; content.len()]);
        expected.push((name.to_string(), content));
    }
    let to = b.array("constant", DType::F16, size.clone(), true);
    b.push(store(at(to, var(&b, i)), float(DType::F16, -0.1)));
    let tenth = f16::from_f32(-0.1).to_ne_bytes().repeat(65536);
    let to = b.array("index", DType::BF16, size, true);
    b.push(store(at(to, var(&b, i)), thread(I).cast(DType::BF16)));
    let threads: Vec<u8> = (0..65536).flat_map(|k| bf16::from_f32((k % 256) as f32).to_ne_bytes()).collect();
    for (name, content) in [("constant", tenth), ("index", threads)] {
        arguments = arguments.array(name, vec![0; 2 * 65536]);
        expected.push((name.to_string(), content));
    }
    Case { name: "halves".into(), program: b.program, arguments, expected }
}

/// The low eight bits, unless they are those of a NaN, which begin there.
fn number8(bits: u16, nan: u8) -> u8 {
    let bits = bits as u8;
    if bits & 0x7f >= nan { 0 } else { bits }
}

/// The bits, unless they are those of a NaN: its payload may change.
fn number16(bits: u16, half: bool) -> u16 {
    let nan = if half { f16::from_bits(bits).is_nan() } else { bf16::from_bits(bits).is_nan() };
    if nan { 0 } else { bits }
}

/// The nearest f16, ties to even, by comparing neighbours.
fn nearest16(value: f64) -> f16 {
    let guess = f16::from_f64(value).to_bits();
    let distance = |bits: &u16| (f16::from_bits(*bits).to_f64() - value).abs();
    let around = [guess.wrapping_sub(1), guess, guess.wrapping_add(1)];
    let finite = around.into_iter().filter(|bits| f16::from_bits(*bits).is_finite());
    let near = finite.min_by(|a, b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1))));
    // Beyond the greatest number by half a unit, infinity is nearest.
    let overflows = value.abs() >= 65520.0;
    if overflows { f16::from_f64(value) } else { f16::from_bits(near.unwrap_or(guess)) }
}

/// More shared memory than can be declared with constant sizes: rows, a vector and a scalar.
pub fn dynamic_shared() -> Case {
    let mut b = Builder::new("dynamic_shared", I, [128, 1, 1]);
    let x = b.array("x", DType::F32, int(128), false);
    let y = b.array("y", DType::F64, int(128), true);
    b.kernel().shared = vec![
        local("tile", DType::F32, &[128, 97], "x, one row a thread"),
        local("order", DType::I16, &[128], ""),
        local("factor", DType::F64, &[], "one for all"),
    ];
    let t = b.var("t", I, false);
    let (tile, order, factor) = (Memory::Shared(0), Memory::Shared(1), Memory::Shared(2));
    b.push(let_(t, thread(I)));
    let at_t = var(&b, t);
    let place = load(DType::I16, elements(order, vec![at_t.clone()])).cast(I);
    let value = load(DType::F32, elements(tile, vec![place, int(96)])).cast(DType::F64);
    b.kernel().body.extend([
        store(elements(tile, vec![at_t.clone(), int(96)]), load(DType::F32, at(x, at_t.clone()))),
        store(
            elements(order, vec![at_t.clone()]),
            Value::binary(BinOp::Sub, int(127), at_t.clone()).cast(DType::I16),
        ),
        if_(
            Value::binary(BinOp::Eq, thread(I), int(5)),
            "one thread stores the factor",
            vec![store(elements(factor, vec![]), float(DType::F64, 3.0))],
            vec![],
        ),
        Stmt::Sync {
            scope: Scope::Block,
            note: note("tile, order and factor are written above, read below"),
        },
        store(at(y, at_t), mul(value, load(DType::F64, elements(factor, vec![])))),
    ]);
    let values: Vec<f32> = (0..128).map(|k| k as f32 * 0.5).collect();
    let reversed: Vec<f64> = values.iter().rev().map(|v| *v as f64 * 3.0).collect();
    Case {
        name: "dynamic_shared".into(),
        program: b.program,
        arguments: Arguments::new().floats("x", &values).array("y", vec![0; 1024]),
        expected: vec![("y".into(), as_bytes(&reversed, |v| v.to_ne_bytes()))],
    }
}

/// A host loop around two kernels, with a scratch array of the launch and 64-bit indices.
pub fn host_loop() -> Case {
    let w = DType::I64;
    let wide = |v| Value::int(w, v);
    let mut b = Builder::new("scale", w, [32, 1, 1]);
    let n = b.scalar("n", w);
    let x = b.array("x", DType::I64, n.clone(), true);
    b.program.globals.push(Global {
        name: "scratch".into(),
        owner: Owner::Launch,
        ..b.program.globals[0].clone()
    });
    let blocks = Value::binary(BinOp::FloorDiv, add(n.clone(), wide(31)), wide(32));
    let index = add(mul(block(w), wide(32)), thread(w));
    let pass = Value { dtype: w, kind: ValueKind::Param("pass".into()) };
    let i = b.var("i", w, false);
    let kernel = b.kernel();
    kernel.grid.x = blocks;
    kernel.params.push(Param::Global { global: 1, written: true, exchanged: false });
    kernel.params.push(Param::HostVar("pass".into()));
    let here = |memory| at(memory, Value::var(w, i));
    let inside = Value::binary(BinOp::Lt, Value::var(w, i), n);
    let scratch = Memory::Global(1);
    kernel.body = vec![
        let_(i, index),
        if_(
            inside.clone(),
            "the last block may be partial",
            vec![store(here(scratch), mul(load(w, here(x)), add(pass, wide(2))))],
            vec![],
        ),
    ];
    let mut back = kernel.clone();
    back.name = "store_back".into();
    back.params.pop();
    let Param::Global { written, .. } = &mut back.params[2] else { panic!() };
    *written = false;
    back.body[1] = if_(
        inside,
        "the last block may be partial",
        vec![store(here(x), add(load(w, here(scratch)), thread(w)))],
        vec![],
    );
    b.program.kernels.push(back);
    let body = vec![HostStmt::Launch(0), HostStmt::Launch(1)];
    b.program.host = vec![HostStmt::For {
        var: "pass".into(),
        lower: wide(0),
        upper: wide(3),
        body,
        note: Default::default(),
    }];
    let start: Vec<i64> = (0..70).map(|k| k - 35).collect();
    // Three rounds of x * (pass + 2) + thread.
    let end: Vec<i64> = (0..70).map(|k| (((k - 35) * 2 + k % 32) * 3 + k % 32) * 4 + k % 32).collect();
    Case {
        name: "host_loop".into(),
        program: b.program,
        arguments: Arguments::new().scalar("n", 70).array("x", as_bytes(&start, |v| v.to_ne_bytes())),
        expected: vec![("x".into(), as_bytes(&end, |v| v.to_ne_bytes()))],
    }
}

/// A block's maximum by shuffles, compound assignments, loops and branches of all forms, and a
/// copy.
pub fn statements() -> Case {
    let f = DType::F32;
    let mut b = Builder::new("statements", I, [64, 1, 1]);
    let n = b.scalar("n", I);
    let x = b.array("x", f, int(300), false);
    let out = b.array("out", f, int(4), true);
    let counts = b.array("counts", I, int(64), true);
    b.kernel().shared = vec![local("x_tile", f, &[64], "x[0..64]"), local("partial", f, &[2], "one a warp")];
    b.kernel().private = vec![local("lanes", f, &[2], "")];
    let copy = b.leaf("x_fetch", Role::Copies { source: "x".into() }, Some("add_prefetch"));
    let best = b.leaf("best", Role::Does("best".into()), None);
    let [t, i, l, c, offset] = ["t", "i", "l", "c", "offset"].map(|name| b.var(name, I, false));
    let acc = b.var("acc", f, true);
    let count = b.var("count", I, true);
    let bits = b.var("bits", DType::U32, true);
    let (tile, partial, lanes) = (Memory::Shared(0), Memory::Shared(1), Memory::Private(0));
    let v = |id: VarId| var(&b, id);
    let set = |id: VarId, op: BinOp, value: Value| {
        let value = Value::binary(op, var(&b, id), value);
        Stmt::Set { var: id, value, leaf: None }
    };
    let shuffle = |width: u32| {
        let kind = ValueKind::Shuffle {
            mode: ShuffleMode::Xor,
            value: v(acc).into(),
            operand: v(offset).into(),
            width,
        };
        Value { dtype: f, kind }
    };
    let halving = |from: i64, width: u32| {
        for_(offset, int(from), int(0), Step::Halve, true, "", vec![set(acc, BinOp::Max, shuffle(width))])
    };
    let lane = || elements(lanes, vec![v(l)]);
    let x_at = |index: Value| load(f, at(x, index));
    let join = Join {
        operator: "max".into(),
        state: vec![acc],
        axes: vec![(Dim::X, 64)],
        to_all: true,
        scan: false,
        tiles: None,
    };
    let u = |value| Value::int(DType::U32, value);
    let body = vec![
        let_(t, thread(I)),
        Stmt::Store { to: elements(tile, vec![v(t)]), value: x_at(v(t)), leaf: copy },
        Stmt::Sync { scope: Scope::Block, note: note("x_fetch writes x_tile, best reads it") },
        Stmt::Let { var: acc, value: float(f, f64::NEG_INFINITY), leaf: best },
        for_(
            i,
            v(t),
            n,
            Step::Add(64),
            false,
            "strided, so that neighbours read neighbours",
            vec![Stmt::Set { var: acc, value: Value::binary(BinOp::Max, v(acc), x_at(v(i))), leaf: best }],
        ),
        for_(
            l,
            int(0),
            int(2),
            Step::Add(1),
            true,
            "",
            vec![
                store(lane(), load(f, elements(tile, vec![Value::binary(BinOp::Sub, int(63), v(t))]))),
                store(lane(), mul(load(f, lane()), float(f, 0.5))),
                store(lane(), Value::binary(BinOp::Sub, load(f, lane()), v(l).cast(f))),
            ],
        ),
        Stmt::Collective {
            join,
            note: note("join the maxima of the block's threads"),
            body: vec![
                halving(16, 32),
                if_(
                    Value::binary(BinOp::Eq, Value::binary(BinOp::TruncRem, thread(I), int(32)), int(0)),
                    "one partial result a warp",
                    vec![store(
                        elements(partial, vec![Value::binary(BinOp::TruncDiv, thread(I), int(32))]),
                        v(acc),
                    )],
                    vec![],
                ),
                Stmt::Sync { scope: Scope::Block, note: note("all warps have stored their maximum") },
                Stmt::Set {
                    var: acc,
                    value: load(
                        f,
                        elements(partial, vec![Value::binary(BinOp::TruncRem, thread(I), int(2))]),
                    ),
                    leaf: None,
                },
                Stmt::Sync { scope: Scope::Warp, note: note("") },
                halving(1, 2),
            ],
        },
        Stmt::Declare(count),
        if_(
            Value::binary(BinOp::Lt, v(t), int(10)),
            "few",
            vec![Stmt::Set { var: count, value: int(1), leaf: None }],
            vec![if_(
                Value::binary(
                    BinOp::Or,
                    Value::binary(BinOp::Lt, v(t), int(20)),
                    Value::binary(
                        BinOp::And,
                        Value::binary(BinOp::Gt, v(t), int(40)),
                        Value::binary(BinOp::Ne, v(t), int(50)),
                    ),
                ),
                "many",
                vec![Stmt::Set { var: count, value: v(t), leaf: None }],
                vec![Stmt::Set { var: count, value: int(i32::MIN.into()), leaf: None }],
            )],
        ),
        Stmt::Let { var: bits, value: u(0xf0f0_f0f0), leaf: None },
        set(bits, BinOp::BitXor, u(255)),
        set(bits, BinOp::Shr, u(4)),
        set(bits, BinOp::BitAnd, u(0xff)),
        for_(
            c,
            int(0),
            int(3),
            Step::Add(2),
            false,
            "",
            vec![set(count, BinOp::Sub, int(1)), set(count, BinOp::Add, v(c))],
        ),
        set(count, BinOp::Add, v(bits).cast(I)),
        set(count, BinOp::Add, int(1)),
        store(at(counts, v(t)), v(count)),
        if_(
            Value::binary(BinOp::Eq, v(t), int(0)),
            "one thread stores the results",
            vec![
                Stmt::Store { to: at(out, int(0)), value: v(acc), leaf: best },
                store(at(out, int(1)), load(f, elements(lanes, vec![int(1)]))),
                store(at(out, int(2)), float(f, f64::NAN)),
                store(at(out, int(3)), float(f, f64::INFINITY)),
            ],
            vec![],
        ),
    ];
    b.kernel().body = body;
    let values: Vec<f32> = (0..300).map(|k| ((k * 31) % 300) as f32 - 400.0).collect();
    // The maximum is 299 - 400; thread 0 reads x[63] = 153 - 400, halves it and subtracts one.
    let results = [-101.0, (153.0 - 400.0) / 2.0 - 1.0, f32::NAN, f32::INFINITY];
    // 0xf0f0f0f0 ^ 255 = 0xf0f0f00f, shifted by 4 and masked: 0. The loop adds -1 + 0 - 1 + 2 = 0;
    // one more is added.
    let counts = (0..64).map(|t: i32| match t {
        0..10 => 2,
        _ if t < 20 || (t > 40 && t != 50) => t + 1,
        _ => i32::MIN + 1,
    });
    let mut quiet = as_bytes(&results, |v| v.to_ne_bytes());
    quiet[8..12].copy_from_slice(&0x7fc0_0000u32.to_ne_bytes());
    Case {
        name: "statements".into(),
        program: b.program,
        arguments: Arguments::new()
            .scalar("n", 300)
            .floats("x", &values)
            .array("out", vec![0; 16])
            .array("counts", vec![0; 256]),
        expected: vec![
            ("out".into(), quiet),
            ("counts".into(), counts.flat_map(|v| v.to_ne_bytes()).collect()),
        ],
    }
}

/// A user-defined function, and quotients with floor semantics in both widths.
pub fn functions() -> Case {
    let mut b = Builder::new("functions", I, [16, 1, 1]);
    let x = b.array("x", DType::I32, int(16), false);
    let y = b.array("y", DType::F32, int(16), true);
    let z = b.array("z", DType::I64, int(16), true);
    let f = |name: &str, params: Vec<DType>, result, source: &str| DeviceFunction {
        name: name.into(),
        params,
        result,
        source: source.into(),
    };
    b.program.functions = vec![
        f("unused", vec![], I, "__device__ int unused() { return 1; }"),
        f(
            "scaled",
            vec![DType::F32, I],
            DType::F32,
            "__device__ float scaled(const float x, const int k) {\n    return x * k;\n}\n",
        ),
    ];
    let element = load(I, at(x, thread(I)));
    let value =
        call("scaled", DType::F32, Precision::Precise, vec![element.clone().cast(DType::F32), thread(I)]);
    b.push(store(at(y, thread(I)), value));
    let quotient = Value::binary(BinOp::FloorDiv, element.clone(), int(4)).cast(DType::I64);
    let rest = Value::binary(BinOp::FloorMod, element.cast(DType::I64), Value::int(DType::I64, 4));
    b.push(store(at(z, thread(I)), add(mul(quotient, Value::int(DType::I64, 1 << 40)), rest)));
    let values: Vec<i32> = (0..16).map(|k| k - 8).collect();
    let scaled: Vec<u8> = (0..16).flat_map(|k| ((k - 8) as f32 * k as f32).to_ne_bytes()).collect();
    let divided = values.iter().flat_map(|v| {
        let v = i64::from(*v);
        (v.div_euclid(4) * (1 << 40) + v.rem_euclid(4)).to_ne_bytes()
    });
    Case {
        name: "functions".into(),
        program: b.program,
        arguments: Arguments::new().ints("x", &values).array("y", vec![0; 64]).array("z", vec![0; 128]),
        expected: vec![("y".into(), scaled), ("z".into(), divided.collect())],
    }
}

/// All cases.
pub fn cases() -> Vec<Case> {
    vec![
        vector_copies(),
        shuffles([64, 1, 1]),
        shuffles([16, 1, 1]),
        shuffles([24, 2, 1]),
        halves(),
        dynamic_shared(),
        host_loop(),
        statements(),
        functions(),
    ]
}
