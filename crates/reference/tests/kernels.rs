//! Kernels whose results are computed by hand.

use half::f16;
use loopwright_kernel_ir::{Buffer, DType, LoopKernel, Name, Number};
use loopwright_reference::{Inputs, Mode, interpret};

fn kernel(text: &str) -> LoopKernel {
    LoopKernel::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

fn run(text: &str, inputs: &Inputs, mode: Mode, array: &str) -> Buffer {
    interpret(&kernel(text), inputs, mode).unwrap_or_else(|e| panic!("{e}")).remove(array).unwrap()
}

const SEGMENTS: &str = "kernel segments(x: f32[nseg, len], out: f32[nseg], nseg: i32, len: i32)
domain { [s] : 0 <= s < nseg }
domain { [i] : 0 <= i < len }
out[s] = sum(i, x[s, i]) {id=total}";

#[test]
fn segments_of_one_to_twelve() {
    let x: Vec<f32> = (1..=12).map(|v| v as f32).collect();
    let inputs = Inputs::new().array("x", Buffer::from_slice(&x)).scalar("nseg", 3i32).scalar("len", 4i32);
    let out = run(SEGMENTS, &inputs, Mode::Exact, "out");
    assert_eq!(out.to_vec::<f32>(), Some(vec![10.0, 26.0, 42.0]));
    assert_eq!(run(SEGMENTS, &inputs, Mode::Wide, "out").to_vec::<f64>(), Some(vec![10.0, 26.0, 42.0]));
    // Empty segments are written.
    let inputs = Inputs::new()
        .array("x", Buffer::zeros(DType::F32, 0))
        .array("out", Buffer::from_slice(&[7f32, 7.0]))
        .scalar("nseg", 2i32)
        .scalar("len", 0i32);
    assert_eq!(run(SEGMENTS, &inputs, Mode::Exact, "out").to_vec::<f32>(), Some(vec![0.0, 0.0]));
}

#[test]
fn a_run_ends_at_its_deadline() {
    // A run without one would take hours, and so would this test.
    let text = "kernel k(y: i32[1], n: i32)\ndomain { [t, i] : 0 <= t < n and 0 <= i < n }\ny[0] = t + i";
    let begin = std::time::Instant::now();
    let inputs = Inputs {
        deadline: Some(begin + std::time::Duration::from_millis(20)),
        ..Inputs::new().scalar("n", 1_000_000i32)
    };
    let refused = interpret(&kernel(text), &inputs, Mode::Wide).map(|_| ()).map_err(|d| d.to_string());
    let text_of = "error[out-of-time]: the time limit was reached before the declared kernel had \
                   finished\n  help: allow more time, or use a smaller problem";
    assert_eq!(refused, Err(text_of.to_owned()));
    let inputs =
        Inputs { deadline: Some(begin + std::time::Duration::from_hours(1)), ..inputs.scalar("n", 2i32) };
    assert!(interpret(&kernel(text), &inputs, Mode::Wide).is_ok());
}

#[test]
fn modes_differ_in_rounding() {
    // In f32 the small ones are lost one by one; in f64 they are not.
    let mut x = vec![1e-8f32; 4];
    x[0] = 1.0;
    let inputs = Inputs::new().array("x", Buffer::from_slice(&x)).scalar("nseg", 1i32).scalar("len", 4i32);
    assert_eq!(run(SEGMENTS, &inputs, Mode::Exact, "out").to_vec::<f32>(), Some(vec![1.0]));
    let wide = run(SEGMENTS, &inputs, Mode::Wide, "out").to_vec::<f64>().unwrap()[0];
    assert_eq!(wide, 1.0 + 3.0 * f64::from(1e-8f32));
}

#[test]
fn hashes_know_where_values_come_from() {
    let hash = |text: &str| {
        let x = Buffer::from_slice(&[1f32, 1.0, 1.0, 1.0]);
        let inputs = Inputs::new().array("x", x).scalar("nseg", 2i32).scalar("len", 2i32);
        run(text, &inputs, Mode::Hash, "out").to_vec::<u64>().unwrap()
    };
    let plain = hash(SEGMENTS);
    // Equal numbers from different cells have different hashes.
    assert_ne!(plain[0], plain[1]);
    // The order of a sum does not affect the hash; a repeated value, or another element, does.
    assert_eq!(plain, hash(&SEGMENTS.replace("x[s, i]", "x[s, len - 1 - i]")));
    assert_ne!(plain[0], hash(&SEGMENTS.replace("x[s, i]", "x[s, 0]"))[0]);
    assert_ne!(plain[0], hash(&SEGMENTS.replace("x[s, i]", "x[s, i] + 0.0"))[0]);
    assert_ne!(plain[0], hash(&SEGMENTS.replace("sum(", "product("))[0]);
}

#[test]
fn bounds_read_from_data_are_those_at_the_entry_of_the_loop() {
    let text = "kernel ragged(x: f32[n], offsets: i32[nseg + 1], out: f32[nseg], n: i32, nseg: i32)
temp start: i32
temp stop: i32
domain { [s] : 0 <= s < nseg }
domain { [i] : start <= i < stop }
start = offsets[s] {id=first, inames=s}
stop = offsets[s + 1] {id=last, inames=s}
out[s] = sum(i, x[i]) {id=total}";
    let x: Vec<f32> = (1..=6).map(|v| v as f32).collect();
    let inputs = Inputs::new()
        .array("x", Buffer::from_slice(&x))
        .array("offsets", Buffer::from_slice(&[0i32, 2, 2, 6]))
        .scalar("n", 6i32)
        .scalar("nseg", 3i32);
    assert_eq!(run(text, &inputs, Mode::Exact, "out").to_vec::<f32>(), Some(vec![3.0, 0.0, 18.0]));
}

#[test]
fn instances_run_in_the_order_of_the_text() {
    // A recurrence over a triangle: c[i] = sum of i earlier ones plus one, so powers of two.
    let text = "kernel triangle(c: i64[n], n: i32)
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j < i }
c[i] = 1 + sum(j, c[j]) {id=next}";
    let inputs = Inputs::new().scalar("n", 6i32);
    let c = run(text, &inputs, Mode::Exact, "c").to_vec::<i64>();
    assert_eq!(c, Some(vec![1, 2, 4, 8, 16, 32]));
}

#[test]
fn halves_are_computed_in_f32() {
    let text = "kernel h(x: f16[n], y: f16[n], n: i32)
domain { [i] : 0 <= i < n }
y[i] = x[i] * x[i] + 0.1 {id=square}";
    let x = [1.5f32, -0.1, 300.0].map(f16::from_f32);
    let inputs = Inputs::new().array("x", Buffer::from_slice(&x)).scalar("n", 3i32);
    let y = run(text, &inputs, Mode::Exact, "y").to_vec::<f16>();
    assert_eq!(y, Some(x.map(|x| f16::from_f32(x.to_f32() * x.to_f32() + 0.1)).to_vec()));
}

#[test]
fn ties_of_argmax_go_to_the_smallest_index() {
    let text = "kernel best(x: f32[n], v: f32[1], k: i32[1], n: i32)
domain { [o] : 0 <= o < 1 }
domain { [i] : 0 <= i < n }
v[o], k[o] = argmax(i, x[i], i) {id=best}";
    let inputs = Inputs::new().array("x", Buffer::from_slice(&[1f32, 5.0, f32::NAN, 5.0])).scalar("n", 4i32);
    let outputs = interpret(&kernel(text), &inputs, Mode::Exact).unwrap();
    assert_eq!(outputs[&Name::new("v")].get(0), Some(Number::F32(5.0)));
    assert_eq!(outputs[&Name::new("k")].get(0), Some(Number::I32(1)));
}

#[test]
fn what_has_no_meaning_is_an_error() {
    let code = |text: &str| {
        let inputs = Inputs::new().array("x", Buffer::from_slice(&[1i32, 2, 3])).scalar("n", 3i32);
        interpret(&kernel(text), &inputs, Mode::Exact).unwrap_err().code
    };
    let with = |line: &str| {
        format!("kernel k(x: i32[n], y: i32[n], n: i32)\ndomain {{ [i] : 0 <= i < n }}\n{line} {{id=a}}")
    };
    assert_eq!(code(&with("y[i] = x[x[i]]")), "out-of-bounds");
    assert_eq!(code(&with("y[i] = y[i]")), "uninitialised-read");
    assert_eq!(code(&with("y[i] = x[i] // (i - 1)")), "division-by-zero");
    assert_eq!(code(&with("y[i] = x[i]").replace("i32[n]", "f32[n]")), "argument");
}

#[test]
fn reductions_nest() {
    let text = "kernel nested(x: f32[n, n], out: f32[1], n: i32)
domain { [o] : 0 <= o < 1 }
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j < n }
out[o] = max(i, sum(j, x[i, j])) {id=norm}";
    let inputs = Inputs::new().array("x", Buffer::from_slice(&[1f32, 2.0, 3.0, -4.0])).scalar("n", 2i32);
    assert_eq!(run(text, &inputs, Mode::Exact, "out").to_vec::<f32>(), Some(vec![3.0]));
}

/// Infinity would become the greatest number if the scalar were converted back from `f32`.
#[test]
fn scalars_of_eight_bits_are_not_converted_to_their_own_type() {
    let infinity = Number::from_bits(DType::E5M2, 0x7c);
    assert_eq!(infinity.as_f64(), f64::INFINITY);
    let text = "kernel k(y: f32[1], n: i32, s: e5m2)\ndomain { [i] : 0 <= i < 1 }\ny[i] = cast(f32, s)";
    let inputs = Inputs::new().scalar("n", 1i32).scalar("s", infinity);
    assert_eq!(run(text, &inputs, Mode::Exact, "y").to_vec::<f32>(), Some(vec![f32::INFINITY]));
}
