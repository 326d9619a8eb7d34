//! Scans that go on from block to block: on the emulator, where blocks take turns in several
//! orders, and as printed text, whose blocks run from the first to the last and from the last to
//! the first.

use loopwright_emulator::{Arguments, Options, run};
use loopwright_kernel_ir::{Buffer, DType, LoopKernel, Number};
use loopwright_lowering::{lower, program::Program};
use loopwright_reference::{Inputs, Mode, interpret};
use loopwright_text_check::{Arguments as TextArguments, Checker, Order};
use loopwright_transforms::Pipeline;

/// How the rows `s` of a scan along `i` run; each works for any length.
const PIPELINES: [(&str, &str); 5] = [
    ("a warp a tile", "split_iname(i, 32)\ntag_inames(s: block.y, i_outer: block.x, i_inner: thread.x)"),
    (
        "an odd number of threads, tiles along y",
        "split_iname(i, 41)\ntag_inames(s: block.x, i_outer: block.y, i_inner: thread.x)",
    ),
    (
        "lanes in two warps, rows along z",
        "split_iname(i, 128)\n\
         split_iname(i_inner, 2, outer=i_thread, inner=i_part)\n\
         tag_inames(s: block.z, i_outer: block.x, i_thread: thread.x, i_part: ilp)",
    ),
    (
        "threads on two axes",
        "split_iname(i, 64)\n\
         split_iname(i_inner, 8, outer=i_far, inner=i_near)\n\
         tag_inames(s: block.y, i_outer: block.x, i_far: thread.y, i_near: thread.x)",
    ),
    (
        "rows one after another",
        "split_iname(i, 32)\ntag_inames(s: host, i_outer: block.x, i_inner: thread.x)",
    ),
];

/// Small pattern-free integers, in a type.
fn numbers(count: usize, dtype: DType, seed: u32) -> Buffer {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut buffer = Buffer::zeros(dtype, count);
    for k in 0..count {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let value = i64::from((state >> 8) % 19) - if dtype.is_unsigned() { 0 } else { 9 };
        assert!(buffer.set(k, Number::I64(value).cast(dtype)));
    }
    buffer
}

/// The kernel's results under all pipelines, on the emulator and as text, are those of the kernel.
fn check(text: &str, dtype: DType, outputs: &[&str]) {
    let declared = LoopKernel::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let mut programs: Vec<Program> = Vec::new();
    for (name, steps) in PIPELINES {
        let steps = Pipeline::parse(&format!("realize_scan(i, j)\n{steps}")).unwrap();
        let kernel = steps.apply(&declared).unwrap_or_else(|e| panic!("{name}: {e}"));
        programs.push(lower(&kernel, Default::default()).unwrap_or_else(|e| panic!("{name}: {e}")));
    }
    let compiled = Checker::new().unwrap().compile_all(&programs);
    for (m, n) in [(1, 0), (1, 1), (3, 5), (2, 64), (3, 130), (1, 2000)] {
        let x = numbers(m * n, dtype, (m + n) as u32);
        let given = Inputs::new()
            .array("x", x.clone())
            .scalar("m", Number::I32(m as i32))
            .scalar("n", Number::I32(n as i32));
        let expected = interpret(&declared, &given, Mode::Wide).unwrap_or_else(|e| panic!("{e}"));
        for ((name, _), (program, compiled)) in PIPELINES.iter().zip(programs.iter().zip(&compiled)) {
            let same = |array: &str, found: &Buffer, how: &str| {
                for k in 0..m * n {
                    let (found, expected) = (found.get(k).unwrap(), expected[array].get(k).unwrap());
                    assert_eq!(found.as_f64(), expected.as_f64(), "{name} {m} x {n}, {how}: {array}[{k}]");
                }
            };
            let turns = if n > 1000 { 12 } else { 3 };
            for turns in 1..turns {
                let mut arguments = Arguments::new()
                    .array("x", x.clone())
                    .scalar("m", Number::I32(m as i32))
                    .scalar("n", Number::I32(n as i32));
                for array in outputs {
                    arguments = arguments.output(*array, Buffer::zeros(dtype, m * n));
                }
                run(program, &mut arguments, &Options { turns, ..Options::default() })
                    .unwrap_or_else(|e| panic!("{name} {m} x {n}: {}", e.diagnostic()));
                for array in outputs {
                    same(array, arguments.buffer(array).unwrap(), &format!("turns {turns}"));
                }
            }
            let compiled = compiled.as_ref().unwrap_or_else(|e| panic!("{name}: {e}"));
            for order in [Order::Forwards, Order::Backwards] {
                let mut arguments = TextArguments::new().scalar("m", m as i64).scalar("n", n as i64);
                arguments.arrays.insert("x".into(), x.bytes().to_vec());
                for array in outputs {
                    arguments.arrays.insert((*array).into(), vec![0xa5; m * n * dtype.bytes()]);
                }
                compiled.run(&mut arguments, order).unwrap_or_else(|e| panic!("{name}: {e}"));
                for array in outputs {
                    let mut found = Buffer::zeros(dtype, m * n);
                    found.bytes_mut().copy_from_slice(&arguments.arrays[*array]);
                    same(array, &found, &format!("text, {order:?}"));
                }
            }
        }
    }
}

/// A kernel of rows in a type, with this range of points and this value.
fn of_rows(dtype: DType, range: &str, value: &str) -> String {
    format!(
        "kernel k(x: {dtype}[m, n], y: {dtype}[m, n], m: i32, n: i32)\n\
         assume 1 <= m\n\
         domain {{ [s] : 0 <= s < m }}\n\
         domain {{ [i] : 0 <= i < n }}\n\
         domain {{ [j] : {range} }}\n\
         y[s, i] = {value}\n"
    )
}

#[test]
fn sums_of_each_type() {
    for dtype in [DType::I32, DType::U32, DType::I64, DType::U64, DType::F32, DType::F64] {
        check(&of_rows(dtype, "0 <= j <= i", "sum(j, x[s, j])"), dtype, &["y"]);
    }
}

#[test]
fn extremes_of_all_before() {
    check(&of_rows(DType::I32, "0 <= j < i", "max(j, x[s, j])"), DType::I32, &["y"]);
    check(&of_rows(DType::U64, "0 <= j < i", "min(j, x[s, j])"), DType::U64, &["y"]);
}

/// Two scans in one instruction have words of their own, and one counter.
#[test]
fn two_in_one() {
    let value = "x[s, i] * sum(j, x[s, j]) - i * max(j, x[s, j])";
    check(&of_rows(DType::I32, "0 <= j <= i", value), DType::I32, &["y"]);
}

/// The last number so far that is not 0: which one comes first matters.
#[test]
fn an_operator_that_does_not_commute() {
    let text = "\
kernel k(x: i32[m, n], y: i32[m, n], m: i32, n: i32)
assume 1 <= m
reduction last(x) {
    state v: i32 = 0
    lift v = x
    combine v = if(b.v == 0, a.v, b.v)
    result v
}
domain { [s] : 0 <= s < m }
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j <= i }
y[s, i] = last(j, x[s, j])
";
    check(text, DType::I32, &["y"]);
}
