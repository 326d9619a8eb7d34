//! Flattened nests over segments: the final check runs them on data of its own, so that programs
//! that are spoilt inside of such a nest are refused. Of those that it lets through nearly all are
//! right on the emulator too, on other data: what is spoilt there makes no difference.

use std::collections::BTreeMap;

use loopwright_emulator::{Arguments, Options, run};
use loopwright_kernel_ir::{Buffer, DType, LoopKernel, Number};
use loopwright_lowering::{
    LowerOptions, lower,
    program::{BinOp, Program, ShuffleMode, Stmt, Value, ValueKind},
    verify::{Finding, verify_kernel},
};
use loopwright_reference::{Inputs, Mode, interpret};
use loopwright_testing::segments;
use loopwright_transforms::Pipeline;

use crate::spoilt;

/// A kernel over the segments that ends with this instruction.
fn declared(head: &str, outputs: &str, instruction: &str) -> LoopKernel {
    let text = segments::kernel(head, outputs, instruction);
    LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}"))
}

const COMPOSE: &str = "\
reduction compose(x) {
    state f: i32 = 1, c: i32 = 0
    lift f = x % 3 + 1, c = x
    combine f = a.f * b.f, c = a.c * b.f + b.c
    result f, c
}
";

/// Kernels with small cuts, so that few segments reach all of their text.
fn nests() -> Vec<(&'static str, LoopKernel, &'static str)> {
    let sums = declared("", "out: i32[nseg]", "out[s] = sum(i, x[i])");
    vec![
        ("sums", sums.clone(), "flatten_ragged(s, i, threads=64, items=8, tiles=2)"),
        ("tail", sums, "flatten_ragged(s, i, threads=32, items=8, tiles=3, full_chunks=3, tail_tiles=1)"),
        (
            "of the segment",
            declared("", "out: i32[nseg]", "out[nseg - 1 - s] = sum(i, x[i] * w[s] + i - lo) + hi"),
            "flatten_ragged(s, i, threads=64, items=8, tiles=1)",
        ),
        (
            "composed",
            declared(COMPOSE, "p: i32[nseg], q: i32[nseg]", "p[s], q[s] = compose(i, x[i])"),
            "flatten_ragged(s, i, threads=64, items=8, tiles=2)",
        ),
    ]
}

/// The program of a nest and the kernel that it is held to.
fn lowered(declared: &LoopKernel, steps: &str) -> (LoopKernel, Program) {
    let kernel = Pipeline::parse(steps).unwrap().apply(declared).unwrap_or_else(|d| panic!("{steps}: {d}"));
    let program = lower(&kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{steps}: {d}"));
    (kernel, program)
}

/// What the emulator finds for some lengths of segments: a fault, or other results than those of
/// the declared kernel.
fn caught(declared: &LoopKernel, program: &Program) -> Option<String> {
    let mut seed = 77u64;
    let mut below = |n: u64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) % n
    };
    let drawn: Vec<i64> = (0..700).map(|_| (below(30) * below(2)) as i64).collect();
    let cases = [
        vec![],
        vec![0],
        vec![5, 0, 0, 9],
        vec![40; 60],
        [vec![3; 90], vec![6000], vec![0; 900], vec![700, 1, 1], vec![17; 40]].concat(),
        drawn,
        vec![0; 1300],
    ];
    cases.iter().enumerate().find_map(|(case, lengths)| {
        let mut offsets = vec![2i32];
        for length in lengths {
            offsets.push(offsets[offsets.len() - 1] + *length as i32);
        }
        let (nseg, n) = (lengths.len(), offsets[lengths.len()] + 3);
        let x: Vec<i32> = (0..n).map(|k| (k * 7919 + 13) % 23 - 9).collect();
        let w: Vec<i32> = (0..nseg as i32).map(|k| k % 7 - 3).collect();
        let arrays = [
            ("x", Buffer::from_slice(&x)),
            ("w", Buffer::from_slice(&w)),
            ("offsets", Buffer::from_slice(&offsets)),
        ];
        let (mut given, mut arguments) = (Inputs::new(), Arguments::new());
        for (array, buffer) in arrays {
            given = given.array(array, buffer.clone());
            arguments = arguments.array(array, buffer);
        }
        for (scalar, value) in [("n", n), ("nseg", nseg as i32)] {
            given = given.scalar(scalar, Number::I32(value));
            arguments = arguments.scalar(scalar, Number::I32(value));
        }
        let expected = interpret(declared, &given, Mode::Exact).unwrap();
        for array in expected.keys() {
            arguments = arguments.output(array.as_str(), Buffer::zeros(DType::I32, nseg));
        }
        if let Err(fault) = run(program, &mut arguments, &Options::default()) {
            return Some(format!("case {case}: {}", fault.diagnostic()));
        }
        let wrong = expected.iter().find(|(array, buffer)| arguments.buffer(array) != Some(*buffer));
        wrong.map(|(array, _)| format!("case {case}: `{array}` is wrong"))
    })
}

#[test]
fn flattened_nests_are_run_by_the_final_check() {
    for (name, declared, steps) in nests() {
        let (kernel, program) = lowered(&declared, steps);
        assert!(matches!(verify_kernel(&kernel, &program), Finding::Proved { .. }), "{name}");
        assert_eq!(caught(&declared, &program), None, "{name}");
    }
}

/// Calls `f` on each statement, with the body that it is in, until it changes something.
fn each(body: &mut Vec<Stmt>, f: &mut dyn FnMut(&mut Vec<Stmt>, usize) -> bool) -> bool {
    for k in 0..body.len() {
        if f(body, k) || k < body.len() && body[k].bodies_mut().any(|b| each(b, f)) {
            return true;
        }
    }
    false
}

/// Calls `f` on each value and its operands until it changes one.
fn each_value(value: &mut Value, f: &mut dyn FnMut(&mut Value) -> bool) -> bool {
    if f(value) {
        return true;
    }
    match &mut value.kind {
        ValueKind::Unary(_, a)
        | ValueKind::Cast(a)
        | ValueKind::Any(a)
        | ValueKind::Ballot(a)
        | ValueKind::LeadingZeros(a) => each_value(a, f),
        ValueKind::Binary(_, a, b) => each_value(a, f) || each_value(b, f),
        ValueKind::Select(c, a, b) => each_value(c, f) || each_value(a, f) || each_value(b, f),
        ValueKind::Shuffle { value, operand, .. } => each_value(value, f) || each_value(operand, f),
        ValueKind::Call { args, .. } => args.iter_mut().any(|a| each_value(a, f)),
        _ => false,
    }
}

fn values_of(stmt: &mut Stmt, f: &mut dyn FnMut(&mut Value) -> bool) -> bool {
    match stmt {
        Stmt::Let { value, .. } | Stmt::Set { value, .. } | Stmt::Store { value, .. } => each_value(value, f),
        Stmt::For { lower, upper, unroll: false, .. } => each_value(lower, f) || each_value(upper, f),
        Stmt::If { cond, .. } => each_value(cond, f),
        _ => false,
    }
}

/// Another operation than that of a value, or another constant; whether there is one.
fn spoil_value(value: &mut Value) -> bool {
    match &mut value.kind {
        ValueKind::Binary(op, ..) => {
            let other = match op {
                BinOp::Add => BinOp::Sub,
                BinOp::Sub => BinOp::Add,
                BinOp::Lt => BinOp::Le,
                BinOp::Le => BinOp::Lt,
                BinOp::Gt => BinOp::Ge,
                BinOp::Ge => BinOp::Gt,
                BinOp::Eq => BinOp::Ne,
                BinOp::Ne => BinOp::Eq,
                BinOp::And => BinOp::Or,
                BinOp::Or => BinOp::And,
                BinOp::Min => BinOp::Max,
                BinOp::Max => BinOp::Min,
                _ => return false,
            };
            *op = other;
            true
        }
        ValueKind::Int(v) => {
            *v += 1;
            true
        }
        ValueKind::Shuffle { mode, .. } => {
            *mode = match mode {
                ShuffleMode::Up => ShuffleMode::Down,
                ShuffleMode::Index | ShuffleMode::Down | ShuffleMode::Xor => ShuffleMode::Up,
            };
            true
        }
        _ => false,
    }
}

/// The variants of a program in each of which one value is spoilt, or one statement is missing.
fn variants(program: &Program) -> Vec<(String, Program)> {
    let mut found = Vec::new();
    for kernel in 0..program.kernels.len() {
        for number in 0.. {
            let (mut variant, mut left) = (program.clone(), number);
            let mut here = |value: &mut Value| {
                let mut other = value.clone();
                if !spoil_value(&mut other) {
                    return false;
                }
                if left == 0 {
                    *value = other;
                    return true;
                }
                left -= 1;
                false
            };
            if !each(&mut variant.kernels[kernel].body, &mut |body, k| values_of(&mut body[k], &mut here)) {
                break;
            }
            found.push((format!("value {number} of launch {kernel}"), variant));
        }
        for number in 0.. {
            let (mut variant, mut left) = (program.clone(), number);
            let mut here = |body: &mut Vec<Stmt>, k: usize| {
                // Without its declaration a variable is refused elsewhere.
                if matches!(body[k], Stmt::Let { .. } | Stmt::Declare(_) | Stmt::Sync { .. }) {
                    return false;
                }
                if left == 0 {
                    body.remove(k);
                    return true;
                }
                left -= 1;
                false
            };
            if !each(&mut variant.kernels[kernel].body, &mut here) {
                break;
            }
            found.push((format!("statement {number} of launch {kernel}"), variant));
        }
    }
    for spoil in spoilt::ALL {
        for (number, variant) in spoilt::variants(program, spoil).into_iter().enumerate() {
            found.push((format!("{spoil:?} {number}"), variant));
        }
    }
    for (number, variant) in spoilt::small_grids(program).into_iter().enumerate() {
        found.push((format!("SmallGrid {number}"), variant));
    }
    found
}

/// One of this many variants is checked, others for each nest: all of them take some minutes, with
/// `LOOPWRIGHT_VARIANTS=1`.
fn every() -> usize {
    std::env::var("LOOPWRIGHT_VARIANTS").ok().and_then(|text| text.parse().ok()).unwrap_or(30)
}

#[test]
fn what_is_spoilt_inside_of_a_flattened_nest_is_refused() {
    let (mut asked, mut refused, mut by_values) = (0, 0, 0);
    let mut wrong = Vec::new();
    let mut codes: BTreeMap<&'static str, usize> = BTreeMap::new();
    for (number, (name, declared, steps)) in nests().into_iter().enumerate() {
        let (kernel, program) = lowered(&declared, steps);
        for (what, variant) in variants(&program).into_iter().skip(number).step_by(every()) {
            asked += 1;
            match verify_kernel(&kernel, &variant) {
                Finding::Proved { .. } => {
                    wrong.extend(caught(&declared, &variant).map(|why| format!("{name}: {what}: {why}")));
                }
                Finding::Refuted(why) | Finding::Unknown(why) => {
                    refused += 1;
                    by_values += usize::from(why.message.contains("flattened nest"));
                    *codes.entry(why.code).or_default() += 1;
                }
            }
        }
    }
    println!("{asked} variants, {refused} refused, {by_values} for what they compute: {codes:?}");
    // A run does not reach everything, such as a vector that just goes beyond the end of an array.
    assert!(30 * wrong.len() <= asked, "{}", wrong.join("\n"));
    assert!(
        2 * by_values >= asked,
        "only {by_values} of {asked} variants were refused for what they compute"
    );
}

/// What the check says of a nest in whose text something is replaced.
fn replaced((kernel, program): &(LoopKernel, Program), from: &str, to: &str) -> Option<String> {
    let text = program.to_text();
    assert!(text.contains(from), "no `{from}` in\n{text}");
    let text = text.replace(from, to);
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    verify_kernel(kernel, &program).refusal().map(|d| d.message.clone())
}

/// A kernel that has a fixed number of segments or of points is run on as many.
#[test]
fn flattened_nests_of_fixed_sizes_are_run() {
    let nest = |sizes: &str| {
        let head = format!("assume {sizes}\n");
        let declared = declared(&head, "out: i32[nseg]", "out[s] = sum(i, x[i] * 77)");
        lowered(&declared, "flatten_ragged(s, i, threads=64, items=8, tiles=1)")
    };
    let alone = ["nseg = 1", "nseg = 3", "n = 3", "nseg = 1 and n = 1", "n <= 20 and 100 <= nseg <= 200"];
    // Each number of segments can occur, and each of points, but not all of them together.
    let together = ["n <= nseg", "2*n <= nseg", "nseg = n + 3", "9 + 3*nseg <= n"];
    for sizes in alone.into_iter().chain(together) {
        let nest = nest(sizes);
        assert_eq!(replaced(&nest, " * 77", " * 77"), None, "{sizes}");
        let why = replaced(&nest, " * 77", " * 78").unwrap_or_default();
        assert!(why.contains("the flattened nest over `s` may not compute"), "{sizes}: {why}");
    }
    // Where there are no points, none has to be run.
    assert_eq!(replaced(&nest("n = 0"), " * 77", " * 77"), None);
}

/// Floating-point numbers are computed by code of their own, for the text as for the kernel.
#[test]
fn operations_on_floats_in_a_flattened_nest_are_told_apart() {
    let operators = ["+", "-", "*", "/"];
    for own in operators {
        let sums = format!("out[s] = sum(i, cast(f32, x[i]) {own} 0.75)");
        let declared = declared("", "out: f32[nseg]", &sums);
        let nest = lowered(&declared, "flatten_ragged(s, i, threads=64, items=8, tiles=1)");
        for other in operators {
            let found = replaced(&nest, &format!(" {own} 0.75f32"), &format!(" {other} 0.75f32"));
            assert_eq!(found.is_none(), own == other, "{own} {other}: {found:?}");
        }
    }
}

/// Of two nests each has its own operands, and what it has of the other's may not be read, even if
/// that changes nothing.
#[test]
fn a_flattened_nest_does_not_read_what_another_one_reads() {
    let kernel = "\
kernel k(x: i32[n], w: i32[n], offsets: i32[nseg + 1], p: i32[nseg], q: i32[nseg], n: i32, nseg: i32)
assume 0 <= n and 0 <= nseg
fact monotone(offsets)
fact 0 <= offsets <= n
domain { [s] : 0 <= s < nseg }
domain { [i] : lo <= i < hi }
domain { [t] : 0 <= t < nseg }
domain { [j] : first <= j < last }
temp lo: i32 private
temp hi: i32 private
temp first: i32 private
temp last: i32 private
lo = offsets[s]
hi = offsets[s + 1]
p[s] = sum(i, x[i]) {id=sums}
first = offsets[t]
last = offsets[t + 1]
q[t] = sum(j, w[j]) {id=others}
";
    let steps = "flatten_ragged(s, i, threads=64, items=8, tiles=1)\n\
                 flatten_ragged(t, j, threads=64, items=8, tiles=1)";
    let nests = lowered(&LoopKernel::parse(kernel).unwrap(), steps);
    for (array, other, id) in [("x", "w", "sums"), ("w", "x", "others")] {
        let read = format!("= {array}[point.1] {{{id}.update");
        assert_eq!(replaced(&nests, &read, &read), None);
        let both = format!("= {array}[point.1] + 0 * {other}[point.1] {{{id}.update");
        let why = replaced(&nests, &read, &both).unwrap_or_default();
        assert!(why.starts_with(&format!("{id}.update reads `{other}` in ")), "{why}");
    }
}

/// Faults that few lengths of segments show.
#[test]
fn what_is_wrong_for_few_lengths_is_refused() {
    let sums = declared("", "out: i32[nseg]", "out[s] = sum(i, x[i])");
    // Tiles and groups of ends need chunks of several tiles; the joins of warps and rounds in the
    // last launch need many blocks, of which small ones can be run.
    let of_tiles = [
        // The vote of a tile leaves out the last 32 ends of the group.
        ("0 to 4 unroll \"whether a segment ends here\"", "0 to 3 unroll \"whether a segment ends here\""),
        // A chunk without a point has no tile, in which its ends would be written.
        ("if(from < to, 0, 16)", "if(from < to, 0, 0)"),
        // Ends behind the second group of a tile.
        ("for at: i32 = segment + 256 to limit step 128", "for at: i32 = segment + 257 to limit step 128"),
        ("for at: i32 = segment + 256 to limit step 128", "for at: i32 = segment + 256 to limit step 129"),
        // A whole vector of the next tile goes one point beyond the last one.
        ("if next_tile + 256 <= to", "if next_tile + 255 <= to"),
    ];
    let of_blocks = [
        // What is open before a round.
        ("set all = carry + all", "set all = all"),
        ("set before = carry", "set before = before"),
        ("if lane == 0 and since_1 > 0", "if lane == 0 or since_1 > 0"),
        ("if lane == 0 and since_1 > 0", "if lane == 1 and since_1 > 0"),
        // What is open before a warp is what was behind the last but one.
        ("(warp + 31) rem 32", "(warp + 30) rem 32"),
    ];
    let nests = [
        ("flatten_ragged(s, i, threads=64, items=8, tiles=4)", &of_tiles),
        ("flatten_ragged(s, i, threads=32, items=8, tiles=1)", &of_blocks),
    ];
    for (steps, faults) in nests {
        let nest = lowered(&sums, steps);
        for (from, to) in faults {
            assert!(replaced(&nest, from, to).is_some(), "`{to}` instead of `{from}`");
        }
    }
}

/// Shuffles have groups of a power of two, no more than a warp has lanes.
#[test]
fn shuffles_are_in_groups_of_lanes() {
    let sums = declared("", "out: i32[nseg]", "out[s] = sum(i, x[i])");
    let nest = lowered(&sums, "flatten_ragged(s, i, threads=64, items=8, tiles=4)");
    for width in [1, 31, 33, 64] {
        let found = replaced(&nest, "shuffle_up(end, 1, 32)", &format!("shuffle_up(end, 1, {width})"));
        assert!(found.is_some_and(|why| why.contains(&format!("groups of {width} lanes"))), "{width}");
    }
}
