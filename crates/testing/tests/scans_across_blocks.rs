//! Scans that go on from block to block: on the emulator, where blocks take turns in several
//! orders, and as printed text, whose blocks run from the first to the last and from the last to
//! the first.

use loopwright_emulator::{Arguments, Options, run};
use loopwright_kernel_ir::{Buffer, DType, LoopKernel, Number};
use loopwright_lowering::{
    lower,
    program::{Program, verify::verify_kernel},
};
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
    let outputs: Vec<(&str, DType)> = outputs.iter().map(|array| (*array, dtype)).collect();
    check_each(text, dtype, &outputs);
}

/// The same, with a type for each result.
fn check_each(text: &str, dtype: DType, outputs: &[(&str, DType)]) {
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
                for (array, dtype) in outputs {
                    arguments = arguments.output(*array, Buffer::zeros(*dtype, m * n));
                }
                run(program, &mut arguments, &Options { turns, ..Options::default() })
                    .unwrap_or_else(|e| panic!("{name} {m} x {n}: {}", e.diagnostic()));
                for (array, _) in outputs {
                    same(array, arguments.buffer(array).unwrap(), &format!("turns {turns}"));
                }
            }
            let compiled = compiled.as_ref().unwrap_or_else(|e| panic!("{name}: {e}"));
            for order in [Order::Forwards, Order::Backwards] {
                let mut arguments = TextArguments::new().scalar("m", m as i64).scalar("n", n as i64);
                arguments.arrays.insert("x".into(), x.bytes().to_vec());
                for (array, dtype) in outputs {
                    arguments.arrays.insert((*array).into(), vec![0xa5; m * n * dtype.bytes()]);
                }
                compiled.run(&mut arguments, order).unwrap_or_else(|e| panic!("{name}: {e}"));
                for (array, dtype) in outputs {
                    let mut found = Buffer::zeros(*dtype, m * n);
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

/// A kernel of rows in a type, with an operator of its own and these results.
fn of_operator(operator: &str, dtype: DType, results: &[(&str, DType)], value: &str) -> String {
    let arrays: Vec<String> = results.iter().map(|(name, t)| format!("{name}: {t}[m, n]")).collect();
    let targets: Vec<String> = results.iter().map(|(name, _)| format!("{name}[s, i]")).collect();
    format!(
        "kernel k(x: {dtype}[m, n], {}, m: i32, n: i32)\n\
         assume 1 <= m\n\
         {operator}\
         domain {{ [s] : 0 <= s < m }}\n\
         domain {{ [i] : 0 <= i < n }}\n\
         domain {{ [j] : 0 <= j <= i }}\n\
         {} = {value}\n",
        arrays.join(", "),
        targets.join(", ")
    )
}

/// Words of several values belong together, whichever blocks have published them: the greatest so
/// far with its place, of 32 and of 64 bits.
#[test]
fn the_greatest_with_its_place() {
    for dtype in [DType::F32, DType::I32, DType::F64, DType::U64] {
        let results = [("y", dtype), ("z", DType::I32)];
        let text = of_operator("", dtype, &results, "argmax(j, x[s, j], j)");
        check_each(&text, dtype, &results);
    }
}

/// Sums, and how many terms they have.
const TALLY: &str = "\
reduction tally(x) {
    state total: i32 = 0, count: i32 = 0
    lift total = x, count = 1
    combine total = a.total + b.total, count = a.count + b.count
    result total, count
    commutes
}
";

/// What a mean is made of, and three values of different sizes.
#[test]
fn sums_with_their_counts() {
    let results = [("y", DType::I32), ("z", DType::I32)];
    check_each(&of_operator(TALLY, DType::I32, &results, "tally(j, x[s, j])"), DType::I32, &results);
    let operator = "\
reduction three(x) {
    state most: i32 = -2147483648, total: i64 = 0, least: f32 = inf
    lift most = x, total = cast(i64, x), least = cast(f32, x)
    combine most = max(a.most, b.most), total = a.total + b.total, least = min(a.least, b.least)
    result most, total, least
    commutes
}
";
    let results = [("y", DType::I32), ("z", DType::I64), ("w", DType::F32)];
    check_each(&of_operator(operator, DType::I32, &results, "three(j, x[s, j])"), DType::I32, &results);
}

/// Sums that begin anew where a number is 5 or more: the values of a state depend on each other,
/// and which comes first matters.
#[test]
fn segments_that_begin_at_flags() {
    let operator = "\
reduction segment(x, begins) {
    state v: i32 = 0, f: i32 = 0
    lift v = x, f = begins
    combine v = if(b.f != 0, b.v, a.v + b.v), f = a.f | b.f
    result v
}
";
    let value = "segment(j, x[s, j], cast(i32, x[s, j] >= 5))";
    let results = [("y", DType::I32)];
    check_each(&of_operator(operator, DType::I32, &results, value), DType::I32, &results);
}

/// Functions `p*x + q`, one after another: a value is computed of what the other was, and the order
/// matters.
#[test]
fn values_that_are_computed_of_each_other() {
    let operator = "\
reduction steps(x) {
    state p: i32 = 1, q: i32 = 0
    lift p = 1 + x % 3, q = x
    combine p = a.p*b.p, q = b.p*a.q + b.q
    result p, q
}
";
    let results = [("y", DType::I32), ("z", DType::I32)];
    check_each(&of_operator(operator, DType::I32, &results, "steps(j, x[s, j])"), DType::I32, &results);
}

/// What becomes of a program of two values when its text is changed: `None` if it is accepted.
fn spoilt(changes: &[(&str, &str)]) -> Option<&'static str> {
    let results = [("y", DType::I32), ("z", DType::I32)];
    let declared = LoopKernel::parse(&of_operator(TALLY, DType::I32, &results, "tally(j, x[s, j])")).unwrap();
    let steps = "realize_scan(i, j)\nsplit_iname(i, 64)\n\
                 tag_inames(s: block.y, i_outer: block.x, i_inner: thread.x)";
    let kernel = Pipeline::parse(steps).unwrap().apply(&declared).unwrap();
    let mut text = lower(&kernel, Default::default()).unwrap().to_string();
    for (from, to) in changes {
        assert!(text.contains(from), "no `{from}` in\n{text}");
        text = text.replace(from, to);
    }
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    verify_kernel(&kernel, &program).refusal().map(|d| d.code)
}

/// Each value of a state has words of its own, and is joined by the operator's formula for it.
#[test]
fn programs_of_two_values_that_are_changed_are_refused() {
    assert_eq!(spoilt(&[]), None);
    let stmt = "look_back_tally(tile_total, tile_count)";
    for (changes, code) in [
        // One is published for the other, twice, or before the block has joined it.
        (&[(stmt, "look_back_tally(tile_count, tile_total)")][..], "wrong-join"),
        (&[(stmt, "look_back_tally(tile_total, tile_total)")], "wrong-join"),
        (&[(stmt, "look_back_tally(acc_total, acc_count)")], "wrong-join"),
        // What is learnt is exchanged.
        (
            &[("earlier_total: i32, earlier_count: i32", "earlier_count: i32, earlier_total: i32")],
            "wrong-join",
        ),
        // The function joins otherwise, or begins with something else.
        (&[("earlier_1 + later_1", "earlier_1 + later_0")], "wrong-join"),
        (&[("earlier_0 + later_0, ", "later_0, ")], "wrong-join"),
        (&[("from 0, 0", "from 0, 1")], "wrong-join"),
        // A value less.
        (
            &[
                (
                    "look_back_tally: i32, i32 from 0, 0 = earlier_0 + later_0, earlier_1 + later_1",
                    "look_back_tally: i32 from 0 = earlier + later",
                ),
                (stmt, "look_back_tally(tile_total)"),
                ("earlier_total: i32, earlier_count: i32", "earlier_total: i32"),
                ("store before_tile_count[0] = earlier_count", "store before_tile_count[0] = earlier_total"),
            ],
            "look-back",
        ),
        // The words of two tiles are one.
        (&[("quo 64) + block.x) * 2]", "quo 64) + block.x)]")], "look-back"),
        // Half of the words are not reset.
        (&[("* 2 {\n        store y_tiles", "* 1 {\n        store y_tiles")], "look-back"),
    ] {
        assert_eq!(spoilt(changes), Some(code), "{changes:?}");
    }
}

/// What a tile begins with is the neutral element, whose constants are folded in what it joins:
/// `1*p + 0*q`.
#[test]
fn neutral_elements_that_are_folded() {
    let operator = "\
reduction turns(x) {
    state p: i32 = 1, q: i32 = 0
    lift p = if(x > 0, 0, 1), q = if(x > 0, 1, 0)
    combine p = a.p*b.p + a.q*b.q, q = a.q*b.p + a.p*b.q
    result p, q
    commutes
}
";
    let results = [("y", DType::I32), ("z", DType::I32)];
    check_each(&of_operator(operator, DType::I32, &results, "turns(j, x[s, j])"), DType::I32, &results);
}
