//! Scans of all kinds of operators, along loops, threads and lanes: the results of the declared
//! kernel, and no race.

use loopwright_emulator::{Arguments, Options, run};
use loopwright_kernel_ir::{Buffer, LoopKernel, Number};
use loopwright_lowering::lower;
use loopwright_reference::{Inputs, Mode, interpret};
use loopwright_transforms::Pipeline;

/// How the rows `s` of a scan along `i` run; each works for any length.
const PIPELINES: [(&str, &str); 19] = [
    ("sequential", "split_iname(s, 32)\ntag_inames(s_outer: block.x, s_inner: thread.x)"),
    ("sequential, split", "split_iname(i, 8)\nunroll(i_inner)\ntag_inames(s: block.x)"),
    ("threads", "split_iname(i, 64)\ntag_inames(s: block.x, i_inner: thread.x)"),
    ("four warps", "split_iname(i, 128)\ntag_inames(s: block.x, i_inner: thread.x)"),
    ("part of a warp", "split_iname(i, 8)\ntag_inames(s: block.x, i_inner: thread.x)"),
    (
        "rows of two warps",
        "split_iname(i, 64)\n\
         split_iname(s, 4)\n\
         tag_inames(s_outer: block.x, s_inner: thread.y, i_inner: thread.x)",
    ),
    (
        "rows of half a warp",
        "split_iname(i, 16)\n\
         split_iname(s, 4)\n\
         tag_inames(s_outer: block.x, s_inner: thread.y, i_inner: thread.x)",
    ),
    (
        "warps and their lanes",
        "split_iname(i, 128)\n\
         split_iname(i_inner, 32, outer=i_warp, inner=i_lane)\n\
         tag_inames(s: block.x, i_warp: warp, i_lane: lane)",
    ),
    (
        "lanes in threads",
        "split_iname(i, 256)\n\
         split_iname(i_inner, 4, outer=i_thread, inner=i_part)\n\
         tag_inames(s: block.x, i_thread: thread.x, i_part: ilp)",
    ),
    (
        "lanes in a part of a warp",
        "split_iname(i, 32)\n\
         split_iname(i_inner, 4, outer=i_thread, inner=i_part)\n\
         tag_inames(s: block.x, i_thread: thread.x, i_part: ilp)",
    ),
    ("ten threads", "split_iname(i, 10)\ntag_inames(s: block.x, i_inner: thread.x)"),
    ("a warp and a half", "split_iname(i, 49)\ntag_inames(s: block.x, i_inner: thread.x)"),
    (
        "rows of an odd number of threads",
        "split_iname(i, 17)\n\
         split_iname(s, 3)\n\
         tag_inames(s_outer: block.x, s_inner: thread.y, i_inner: thread.x)",
    ),
    (
        "rows of units of four",
        "split_iname(i, 12)\n\
         split_iname(s, 5)\n\
         tag_inames(s_outer: block.x, s_inner: thread.y, i_inner: thread.x)",
    ),
    (
        "columns of threads",
        "split_iname(i, 6)\n\
         split_iname(s, 5)\n\
         tag_inames(s_outer: block.x, s_inner: thread.x, i_inner: thread.y)",
    ),
    (
        "threads that are no neighbours, on two axes",
        "split_iname(i, 12)\n\
         split_iname(i_inner, 4, outer=i_far, inner=i_near)\n\
         split_iname(s, 3)\n\
         tag_inames(s_outer: block.x, i_far: thread.z, s_inner: thread.y, i_near: thread.x)",
    ),
    (
        "lanes in an odd number of threads",
        "split_iname(i, 70)\n\
         split_iname(i_inner, 2, outer=i_thread, inner=i_part)\n\
         tag_inames(s: block.x, i_thread: thread.x, i_part: ilp)",
    ),
    ("lanes alone", "split_iname(i, 4)\ntag_inames(s: block.x, i_inner: ilp)"),
    (
        "two rows a thread",
        "split_iname(i, 64)\n\
         split_iname(s, 2)\n\
         tag_inames(s_outer: block.x, s_inner: ilp, i_inner: thread.x)",
    ),
];

/// Running sums of rows.
const SUMS: &str = "\
kernel k(x: i32[m, n], y: i32[m, n], m: i32, n: i32)
assume 1 <= m
domain { [s] : 0 <= s < m }
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j <= i }
y[s, i] = sum(j, x[s, j])
";

/// Small pattern-free integers.
fn integers(n: usize, seed: u32, from: i32, to: i32) -> Buffer {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let values: Vec<i32> = (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            from + ((state >> 8) % (to - from + 1) as u32) as i32
        })
        .collect();
    Buffer::from_slice(&values)
}

/// Makes the inputs for given numbers of rows and columns.
type MakeInputs<'a> = &'a dyn Fn(usize, usize) -> Vec<(&'static str, Buffer)>;

/// Compares a kernel over rows `s` and columns `i` with its reference, under all pipelines.
/// `outputs` names the arrays, each with the number of additional columns.
fn check(text: &str, inputs: MakeInputs<'_>, outputs: &[(&str, usize)]) {
    let pipelines = PIPELINES.map(|(name, steps)| (name, format!("realize_scan(i, j)\n{steps}")));
    check_under(&pipelines, text, inputs, outputs);
}

fn check_under(pipelines: &[(&str, String)], text: &str, inputs: MakeInputs<'_>, outputs: &[(&str, usize)]) {
    let declared = LoopKernel::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let mut cases = Vec::new();
    for (m, n) in [(1, 0), (1, 1), (3, 5), (2, 64), (5, 130), (1, 300)] {
        let (mut given, mut arguments) = (Inputs::new(), Arguments::new());
        for (array, buffer) in inputs(m, n) {
            given = given.array(array, buffer.clone());
            arguments = arguments.array(array, buffer);
        }
        for (scalar, value) in [("m", m), ("n", n)] {
            given = given.scalar(scalar, Number::I32(value as i32));
            arguments = arguments.scalar(scalar, Number::I32(value as i32));
        }
        for (array, more) in outputs {
            arguments = arguments.output(*array, Buffer::from_slice(&vec![0i32; m * (n + more)]));
        }
        let expected = interpret(&declared, &given, Mode::Wide).unwrap_or_else(|e| panic!("{e}"));
        cases.push((m, n, arguments, expected));
    }
    for (name, steps) in pipelines {
        let steps = Pipeline::parse(steps).unwrap();
        let kernel = steps.apply(&declared).unwrap_or_else(|e| panic!("{name}: {e}"));
        kernel.validate().unwrap_or_else(|e| panic!("{name}: {e}\n{kernel}"));
        let program = lower(&kernel, Default::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        for (m, n, arguments, expected) in &cases {
            let mut arguments = arguments.clone();
            run(&program, &mut arguments, &Options::default())
                .unwrap_or_else(|e| panic!("{name} {m} x {n}: {}", e.diagnostic()));
            for (array, more) in outputs {
                let found = arguments.buffer(array).unwrap();
                for k in 0..m * (n + more) {
                    let (found, expected) = (found.get(k).unwrap(), expected[*array].get(k).unwrap());
                    assert_eq!(found.as_f64(), expected.as_f64(), "{name} {m} x {n}: {array}[{k}]");
                }
            }
        }
    }
}

#[test]
fn sums() {
    check(SUMS, &|m, n| vec![("x", integers(m * n, 1, -9, 9))], &[("y", 0)]);
}

/// Offsets of ragged rows from their lengths: one more than there are lengths.
#[test]
fn sums_of_all_before() {
    let text = "\
kernel k(x: i32[m, n], y: i32[m, n + 1], m: i32, n: i32)
assume 1 <= m
domain { [s] : 0 <= s < m }
domain { [i] : 0 <= i <= n }
domain { [j] : 0 <= j < i }
y[s, i] = sum(j, x[s, j])
";
    check(text, &|m, n| vec![("x", integers(m * n, 2, 0, 9))], &[("y", 1)]);
}

/// A linear recurrence `c = a*c + b` as a scan over function composition, which does not commute.
#[test]
fn recurrence() {
    let text = "\
kernel k(a: i32[m, n], b: i32[m, n], y: i32[m, n], m: i32, n: i32)
assume 1 <= m
reduction compose(a, b) {
    state f: i32 = 1, c: i32 = 0
    lift f = a, c = b
    combine f = a.f * b.f, c = a.c * b.f + b.c
    result c
}
domain { [s] : 0 <= s < m }
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j <= i }
y[s, i] = compose(j, a[s, j], b[s, j])
";
    let inputs = |m, n| vec![("a", integers(m * n, 3, -1, 1)), ("b", integers(m * n, 4, -9, 9))];
    check(text, &inputs, &[("y", 0)]);
}

#[test]
fn greatest_so_far_and_where() {
    let text = "\
kernel k(x: i32[m, n], v: i32[m, n], w: i32[m, n], m: i32, n: i32)
assume 1 <= m
domain { [s] : 0 <= s < m }
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j <= i }
v[s, i], w[s, i] = argmax(j, x[s, j], j)
";
    check(text, &|m, n| vec![("x", integers(m * n, 5, -50, 50))], &[("v", 0), ("w", 0)]);
}

/// Two scans in one instruction, in an expression that mentions `i`.
#[test]
fn two_in_one() {
    let text = "\
kernel k(x: i32[m, n], y: i32[m, n], m: i32, n: i32)
assume 1 <= m
domain { [s] : 0 <= s < m }
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j <= i }
y[s, i] = x[s, i] * sum(j, x[s, j]) - i * max(j, x[s, j])
";
    check(text, &|m, n| vec![("x", integers(m * n, 6, -9, 9))], &[("y", 0)]);
}

/// The scanned values are computed in the same loop.
#[test]
fn of_what_the_same_iteration_makes() {
    let text = "\
kernel k(x: i32[m, n], z: i32[m, n], y: i32[m, n], m: i32, n: i32)
assume 1 <= m
domain { [s] : 0 <= s < m }
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j <= i }
z[s, i] = x[s, i] * x[s, i]
y[s, i] = sum(j, z[s, j])
";
    check(text, &|m, n| vec![("x", integers(m * n, 7, -9, 9))], &[("z", 0), ("y", 0)]);
}

/// Suffix sums are scans of reversed loops.
#[test]
fn sums_of_all_behind() {
    let text = "\
kernel k(x: i32[m, n], y: i32[m, n], m: i32, n: i32)
assume 1 <= m
domain { [s] : 0 <= s < m }
domain { [i] : 0 <= i < n }
domain { [j] : i <= j < n }
y[s, i] = sum(j, x[s, j])
";
    let turned = |steps: &str| format!("reverse(i)\nreverse(j)\nrealize_scan(i_rev, j_rev)\n{steps}");
    let pipelines = [
        ("sequential", turned("tag_inames(s: block.x)")),
        ("threads", turned("split_iname(i_rev, 64)\ntag_inames(s: block.x, i_rev_inner: thread.x)")),
    ];
    check_under(&pipelines, text, &|m, n| vec![("x", integers(m * n, 8, -9, 9))], &[("y", 0)]);
}

/// Ranges whose reductions are scans once loops have been reversed, which `realize_scan` does: the
/// range, whether the loop around it is reversed, and whether the point is.
#[test]
fn other_ranges_are_scanned_in_reversed_loops() {
    let ranges = [
        ("i <= j < n", true),
        ("i < j < n", true),
        ("n - i <= j < n", false),
        ("n - 1 - i <= j < n", false),
        ("0 <= j < n - i", true),
        ("1 <= j < n - i", true),
    ];
    for (range, is_reversed) in ranges {
        let text = SUMS.replace("0 <= j <= i", range);
        let named = |steps: &str| match is_reversed {
            true => steps.replace("(i,", "(i_rev,").replace("i_", "i_rev_").replace("i_rev_rev", "i_rev"),
            false => steps.to_string(),
        };
        let pipelines =
            PIPELINES.map(|(name, steps)| (name, format!("realize_scan(i, j)\n{}", named(steps))));
        check_under(&pipelines, &text, &|m, n| vec![("x", integers(m * n, 10, -9, 9))], &[("y", 0)]);
    }
}

/// The scanned array is a tile in shared memory, and the loop over columns has another name.
#[test]
fn of_a_prefetched_tile() {
    let steps = "\
rename_iname(i, place)
realize_scan(place, j)
split_iname(place, 64)
tag_inames(s: block.x, place_inner: thread.x)
add_prefetch(x, [place_inner])";
    check_under(&[("tile", steps.into())], SUMS, &|m, n| vec![("x", integers(m * n, 9, -9, 9))], &[("y", 0)]);
}
