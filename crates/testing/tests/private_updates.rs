//! Updates of private copies: what the declared kernel computes, for every sign and type, loops of
//! several shapes, chunks and copies, in order and in parallel. Elements are NaN and infinite where
//! floats have minima and maxima; sums are of small whole numbers, which no order rounds.

use loopwright_emulator::{Arguments, Options, run};
use loopwright_kernel_ir::{Buffer, DType, LoopKernel, Number};
use loopwright_lowering::{LowerOptions, lower};
use loopwright_reference::{Inputs, Mode, interpret};
use loopwright_transforms::Pipeline;

const BINS: usize = 7;

/// The bounds of the loops, and what is updated: one row of bins, or one for each `r`.
const SHAPES: [(&str, &str); 4] = [
    ("0 <= r < 3 and 0 <= i < n", "out[idx[i]]"),
    ("0 <= r < 3 and 5 <= i < n", "out[idx[i]]"),
    ("0 <= r < 3 and r <= i < n", "out[idx[i]]"),
    ("0 <= r < 3 and 2*r <= i < n", "rows[r, idx[i]]"),
];

fn declared(dtype: DType, sign: &str, (bounds, target): (&str, &str)) -> LoopKernel {
    let text = format!(
        "kernel k(idx: i32[n], x: {dtype}[n], out: {dtype}[{BINS}], rows: {dtype}[3, {BINS}], n: i32)\n\
         fact 0 <= idx < {BINS}\n\
         assume 0 <= n\n\
         domain {{ [r, i] : {bounds} }}\n\
         {target} {sign} x[i] {{id=up, inames=r:i}}\n"
    );
    LoopKernel::parse(&text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn numbers(dtype: DType, count: usize, salt: usize) -> Buffer {
    let mut buffer = Buffer::zeros(dtype, count);
    for k in 0..count {
        let v = (((k + salt) * 7 + k / 5) % 23) as i64 - if dtype.is_unsigned() { 0 } else { 9 };
        let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        let number = match (k + salt) % 4 {
            1 if dtype.is_float() => Number::F64(special[(k / 4 + salt) % 3]),
            _ => Number::I64(v),
        };
        buffer.set(k, number.cast(dtype));
    }
    buffer
}

/// Whole numbers, whose sums and products are exact.
fn whole(dtype: DType, count: usize, salt: usize) -> Buffer {
    let mut buffer = Buffer::zeros(dtype, count);
    for k in 0..count {
        buffer.set(k, Number::I64((1 + (k + salt) % 2) as i64).cast(dtype));
    }
    buffer
}

fn keys(count: usize, salt: usize) -> Buffer {
    // One bin is never met.
    let keys: Vec<i32> = (0..count).map(|k| ((k * k + salt) % (BINS - 1)) as i32).collect();
    Buffer::from_slice(&keys)
}

#[test]
fn private_copies_compute_what_is_declared() {
    use DType::*;
    let mut signs: Vec<(DType, &str)> = Vec::new();
    for dtype in [I32, U32, I64, U64, F32, F64] {
        signs.extend(["+=", "min=", "max=", "product="].map(|sign| (dtype, sign)));
        if dtype.is_integer() {
            signs.extend(["&=", "|="].map(|sign| (dtype, sign)));
        }
    }
    let mut run_with = 0;
    for (number, (dtype, sign)) in signs.into_iter().enumerate() {
        for (k, shape) in SHAPES.iter().enumerate() {
            let before = declared(dtype, sign, *shape);
            let iname = if k == 0 && number % 2 == 0 { "r" } else { "i" };
            let length = [", chunk=4", ", chunk=1", "", ", chunk=9"][(k + number) % 4];
            let is_copied =
                dtype.is_integer() && !["&=", "|="].contains(&sign) || ["+=", "product="].contains(&sign);
            let copies = if is_copied && number % 3 == 0 { ", copies=3, each=2" } else { "" };
            let step = format!("privatize_updates(up, {iname}{length}{copies})\n");
            let axis = if shape.1.starts_with("rows") { "rows" } else { "out" };
            let outer = match (length, iname) {
                ("", _) if iname == "r" => String::new(),
                ("", _) => "r: block.x, ".into(),
                (_, iname) => format!("{iname}_outer: block.x, "),
            };
            let threads = format!(
                "split_iname(i, 4, outer=step, inner=lane)\ntag_inames({outer}lane: thread.x, {axis}_s0: thread.x, {axis}_j0: thread.x)\n"
            );
            for steps in [step.clone(), format!("{step}{threads}")] {
                let after = Pipeline::parse(&steps).unwrap().apply(&before);
                let after = after.unwrap_or_else(|e| panic!("{before}{steps}: {e}"));
                let program = lower(&after, LowerOptions::default());
                let program = program.unwrap_or_else(|e| panic!("{before}{steps}: {e}"));
                for n in [0, 1, 6, 23] {
                    let values = if sign == "+=" || sign == "product=" { whole } else { numbers };
                    let mut given = Arguments::new()
                        .array("idx", keys(n, number))
                        .array("x", values(dtype, n, number))
                        .array("out", values(dtype, BINS, number + 1))
                        .array("rows", values(dtype, 3 * BINS, number + 2))
                        .scalar("n", n as i32);
                    let inputs = Inputs::new()
                        .array("idx", keys(n, number))
                        .array("x", values(dtype, n, number))
                        .array("out", values(dtype, BINS, number + 1))
                        .array("rows", values(dtype, 3 * BINS, number + 2))
                        .scalar("n", n as i32);
                    let expected = interpret(&before, &inputs, Mode::Exact).unwrap_or_else(|e| panic!("{e}"));
                    run(&program, &mut given, &Options::default())
                        .unwrap_or_else(|e| panic!("{before}{steps}: {}", e.diagnostic()));
                    let found = given.buffer(axis).unwrap();
                    assert_eq!(
                        format!("{found:?}"),
                        format!("{:?}", expected[axis]),
                        "{before}{steps}n = {n}"
                    );
                    run_with += 1;
                }
            }
        }
    }
    assert_eq!(run_with, 32 * 4 * 2 * 4);
}

/// A minimum ignores NaN, and an infinity is one: what only infinities update holds one afterwards,
/// and what nothing updates holds NaN still.
#[test]
fn infinities_replace_nan_where_they_are_updates() {
    let before = declared(DType::F32, "min=", SHAPES[0]);
    let after = Pipeline::parse("privatize_updates(up, i, chunk=4)").unwrap().apply(&before).unwrap();
    let program = lower(&after, LowerOptions::default()).unwrap();
    let of = |value: f32, count: usize| Buffer::from_slice(&vec![value; count]);
    let mut given = Arguments::new()
        .array("idx", keys(9, 0))
        .array("x", of(f32::INFINITY, 9))
        .array("out", of(f32::NAN, BINS))
        .array("rows", of(0.0, 3 * BINS))
        .scalar("n", 9);
    run(&program, &mut given, &Options::default()).unwrap();
    let found = given.buffer("out").unwrap().to_vec::<f32>().unwrap();
    let met: Vec<i32> = keys(9, 0).to_vec().unwrap();
    for (bin, value) in found.iter().enumerate() {
        let is_met = met.contains(&(bin as i32));
        assert!(if is_met { *value == f32::INFINITY } else { value.is_nan() }, "{bin}: {value}");
    }
}

/// An element is -0.0 behind sums only if it was and nothing but -0.0 was added: neither copies
/// that nothing updates nor those of positive zeros may hide in one another.
#[test]
fn sums_keep_the_signs_of_zeros() {
    use DType::*;
    // Of each bin: nothing, 0.0, -0.0, both, and two numbers whose sum is 0.0.
    let (bins, values) = ([1, 2, 3, 3, 4, 2, 4], [0.0, -0.0, -0.0, 0.0, 1.0, -0.0, -1.0]);
    let of = |dtype: DType, numbers: &[f64]| {
        let mut buffer = Buffer::zeros(dtype, numbers.len());
        for (k, value) in numbers.iter().enumerate() {
            buffer.set(k, Number::F64(*value).cast(dtype));
        }
        buffer
    };
    for dtype in [F16, BF16, F32, F64] {
        let before = declared(dtype, "+=", SHAPES[0]);
        for options in ["", ", chunk=2", ", copies=2", ", chunk=4, copies=3, each=2"] {
            let steps = format!("privatize_updates(up, i{options})");
            let after = Pipeline::parse(&steps).unwrap().apply(&before).unwrap();
            let program = lower(&after, LowerOptions::default()).unwrap();
            for begun in [0.0, -0.0] {
                let idx = Buffer::from_slice(&bins);
                let inputs = Inputs::new()
                    .array("idx", idx.clone())
                    .array("x", of(dtype, &values))
                    .array("out", of(dtype, &[begun; BINS]))
                    .array("rows", of(dtype, &[0.0; 3 * BINS]))
                    .scalar("n", bins.len() as i32);
                let expected = &interpret(&before, &inputs, Mode::Exact).unwrap()["out"];
                let mut given = Arguments::new()
                    .array("idx", idx)
                    .array("x", of(dtype, &values))
                    .array("out", of(dtype, &[begun; BINS]))
                    .array("rows", of(dtype, &[0.0; 3 * BINS]))
                    .scalar("n", bins.len() as i32);
                run(&program, &mut given, &Options::default()).unwrap();
                let found = given.buffer("out").unwrap();
                let negative = |buffer: &Buffer| {
                    buffer.numbers().map(|n| n.as_f64().is_sign_negative()).collect::<Vec<_>>()
                };
                assert_eq!(negative(found), negative(expected), "{dtype} {steps}, from {begun:?}");
                let kept = [true, false, true, false, false, true, true];
                let kept = kept.map(|kept| kept && f64::is_sign_negative(begun));
                assert_eq!(negative(found), kept, "{dtype} {steps}, from {begun:?}");
            }
        }
    }
}
