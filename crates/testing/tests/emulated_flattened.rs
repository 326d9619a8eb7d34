//! Flattened nests over segments of unequal length: the results of the declared kernel, no race and
//! no out-of-bounds access, whatever the lengths.

use loopwright_emulator::{Arguments, Options, Report, run};
use loopwright_kernel_ir::{Buffer, DType, Flat, LoopKernel, Number};
use loopwright_lowering::{LowerOptions, lower};
use loopwright_reference::{Inputs, Mode, interpret};
use loopwright_testing::segments::kernel;
use loopwright_transforms::Pipeline;

/// Small tiles, so that segments cross threads, warps, tiles and blocks; and the defaults, with
/// everything in one tile.
const PIPELINES: [&str; 5] = [
    "flatten_ragged(s, i, threads=32, items=8, tiles=1)",
    "flatten_ragged(s, i, threads=64, items=8, tiles=2)",
    "flatten_ragged(s, i, threads=96, items=32, tiles=3)",
    "flatten_ragged(s, i, threads=64, items=8, tiles=3, full_chunks=3, tail_tiles=1)",
    "flatten_ragged(s, i)",
];

/// Pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 20) % n as u64) as i64
    }
}

/// Named lists of segment lengths, with the number of elements before the first and after the last
/// segment.
fn cases() -> Vec<(&'static str, Vec<i64>, [i64; 2])> {
    let mut random = Random(11);
    // Lengths with a power-law distribution: most are short, and a few hold most of the points.
    let power: Vec<i64> = (0..300).map(|_| 600 / (1 + random.below(200))).collect();
    let mut giant = vec![1; 200];
    giant[77] = 5000;
    let mut lonely = vec![0; 400];
    lonely[250] = 1;
    vec![
        ("no segments", Vec::new(), [0, 0]),
        ("no segments, but points", Vec::new(), [0, 70]),
        ("one empty", vec![0], [0, 0]),
        ("all empty", vec![0; 700], [0, 0]),
        ("all empty, in the middle of points", vec![0; 300], [100, 50]),
        ("one point", vec![1], [0, 0]),
        ("one segment", vec![4000], [0, 0]),
        ("uniform", vec![16; 100], [0, 0]),
        ("of a lane's points", vec![8; 200], [0, 0]),
        ("of a lane's points and one", vec![17; 200], [1, 0]),
        ("of a tile's length", vec![256; 12], [0, 0]),
        ("of a tile's length, not at its beginning", vec![256; 12], [5, 0]),
        ("empty ones between all others", (0..900).map(|k| i64::from(k % 3 == 0) * 7).collect(), [2, 0]),
        ("many empty ones after others", [vec![30; 20], vec![0; 3000]].concat(), [0, 4]),
        ("many empty ones between two", [vec![300], vec![0; 3000], vec![300]].concat(), [0, 0]),
        ("a few", vec![0, 1, 299, 1, 699, 2000, 0], [3, 5]),
        ("one giant among tiny ones", giant, [0, 0]),
        ("one point among empty ones", lonely, [0, 0]),
        ("power law", power, [7, 9]),
        ("random", (0..500).map(|_| random.below(12) * random.below(2)).collect(), [0, 0]),
    ]
}

/// Compares a kernel over segments `s` of `x` with its reference. `outputs` are its outputs with
/// their types.
fn check(text: &str, outputs: &[(&str, DType)]) {
    check_by(&PIPELINES, text, outputs);
}

/// The same with the given pipelines.
fn check_by(pipelines: &[&str], text: &str, outputs: &[(&str, DType)]) {
    let declared = LoopKernel::parse(text).unwrap_or_else(|e| panic!("{e}"));
    for steps in pipelines {
        let kernel =
            Pipeline::parse(steps).unwrap().apply(&declared).unwrap_or_else(|e| panic!("{steps}: {e}"));
        kernel.validate().unwrap_or_else(|e| panic!("{steps}: {e}\n{kernel}"));
        for index in [DType::I32, DType::I64] {
            let program = lower(&kernel, LowerOptions::new(index)).unwrap_or_else(|e| panic!("{steps}: {e}"));
            assert_eq!(program.kernels.len(), 3);
            for (what, lengths, [before, after]) in cases() {
                if index == DType::I64 && !["a few", "one giant among tiny ones"].contains(&what) {
                    continue;
                }
                let mut offsets = vec![before as i32];
                for length in &lengths {
                    offsets.push(offsets[offsets.len() - 1] + *length as i32);
                }
                let (nseg, n) = (lengths.len(), before + lengths.iter().sum::<i64>() + after);
                let mut random = Random(5);
                let x: Vec<i32> = (0..n).map(|_| random.below(19) as i32 - 9).collect();
                let w: Vec<i32> = (0..nseg).map(|_| random.below(7) as i32).collect();
                let (mut given, mut arguments) = (Inputs::new(), Arguments::new());
                for (array, buffer) in [
                    ("x", Buffer::from_slice(&x)),
                    ("w", Buffer::from_slice(&w)),
                    ("offsets", Buffer::from_slice(&offsets)),
                ] {
                    given = given.array(array, buffer.clone());
                    arguments = arguments.array(array, buffer);
                }
                for (scalar, value) in [("n", n as i32), ("nseg", nseg as i32)] {
                    given = given.scalar(scalar, Number::I32(value));
                    arguments = arguments.scalar(scalar, Number::I32(value));
                }
                for (array, dtype) in outputs {
                    arguments = arguments.output(*array, Buffer::zeros(*dtype, nseg));
                }
                let expected =
                    interpret(&declared, &given, Mode::Exact).unwrap_or_else(|e| panic!("{what}: {e}"));
                run(&program, &mut arguments, &Options::default())
                    .unwrap_or_else(|e| panic!("{steps}, {what}: {}", e.diagnostic()));
                for (array, _) in outputs {
                    let found = arguments.buffer(array).unwrap();
                    assert_eq!(found, &expected[*array], "{steps}, {what}: {array}");
                }
            }
        }
    }
}

#[test]
fn sums() {
    check(&kernel("", "out: i32[nseg]", "out[s] = sum(i, x[i])"), &[("out", DType::I32)]);
}

/// Sizes that hardly any list of lengths has: every seventh number of segments, and two points.
#[test]
fn sizes_that_assumptions_leave() {
    let declared = LoopKernel::parse(&kernel("", "out: i32[nseg]", "out[s] = sum(i, x[i])")).unwrap();
    for sizes in
        ["assume(nseg mod 7 = 3)", "fix_parameters(n=2)", "assume(nseg mod 2 = 0)\nfix_parameters(n=2)"]
    {
        let steps = format!("flatten_ragged(s, i, threads=32, items=16, tiles=1)\n{sizes}");
        let kernel =
            Pipeline::parse(&steps).unwrap().apply(&declared).unwrap_or_else(|e| panic!("{steps}: {e}"));
        let _ = lower(&kernel, LowerOptions::default()).unwrap_or_else(|e| panic!("{steps}: {e}"));
    }
}

/// Two values of state, two outputs, and an input that is not read from memory.
#[test]
fn argmax() {
    let text = kernel("", "v: i32[nseg], k: i32[nseg]", "v[s], k[s] = argmax(i, x[i], cast(i32, i))");
    check(&text, &[("v", DType::I32), ("k", DType::I32)]);
}

/// The reduced expression depends on the segment; the result on its length.
#[test]
fn expressions_of_the_segment() {
    let text = kernel(
        "",
        "out: f32[nseg]",
        "out[nseg - 1 - s] = sum(i, cast(f32, x[i] * w[s] + i - lo)) / max(1.0, cast(f32, hi - lo))",
    );
    check(&text, &[("out", DType::F32)]);
}

/// The points of a segment stay in order: composition of `a*t + b` does not commute. Numbers wrap
/// on the way.
#[test]
fn operators_that_do_not_commute() {
    let operator = "\
reduction compose(x) {
    state f: i32 = 1, c: i32 = 0
    lift f = x % 3 + 1, c = x
    combine f = a.f * b.f, c = a.c * b.f + b.c
    result f, c
}
";
    let text = kernel(operator, "p: i32[nseg], q: i32[nseg]", "p[s], q[s] = compose(i, x[i])");
    check(&text, &[("p", DType::I32), ("q", DType::I32)]);
}

/// The padding after the last point is neutral in the whole state: in counts that accompany values,
/// in least values of a type other than the points'.
#[test]
fn operators_whose_state_is_more_than_their_input() {
    // 32 items of such a state exceed shared memory.
    let small = [PIPELINES[0], PIPELINES[1], PIPELINES[3], PIPELINES[4]];
    let count = "\
reduction mean(x) {
    state t: i32 = 0, c: i32 = 0
    lift t = x, c = 1
    combine t = a.t + b.t, c = a.c + b.c
    result t, c
    commutes
}
";
    let text = kernel(count, "t: i32[nseg], c: i32[nseg]", "t[s], c[s] = mean(i, x[i])");
    check_by(&small, &text, &[("t", DType::I32), ("c", DType::I32)]);
    let least = "\
reduction least(x) {
    state m: i64 = 9000000000
    lift m = x
    combine m = min(a.m, b.m)
    result m
    commutes
}
";
    let text = kernel(least, "m: i64[nseg]", "m[s] = least(i, x[i])");
    check_by(&small, &text, &[("m", DType::I64)]);
    let twice = "\
reduction twice(x) {
    state low: i32 = highest(), high: i32 = lowest(), k: i32 = 0
    lift low = x, high = x, k = 0
    combine low = min(a.low, b.low), high = max(a.high, b.high), k = a.k + b.k
    result low, high
    commutes
}
";
    let text = kernel(twice, "p: i32[nseg], q: i32[nseg]", "p[s], q[s] = twice(i, x[i])");
    check_by(&small, &text, &[("p", DType::I32), ("q", DType::I32)]);
}

/// More blocks leave partial results than the last launch combines at a time: 4096, of 256 steps
/// each.
#[test]
fn blocks_are_joined_in_several_rounds() {
    let blocks = 2 * 4096 + 700;
    let n = 256 * blocks;
    let x: Vec<i32> = (0..n).map(|k| k % 17 - 5).collect();
    // One segment over several rounds, others over several blocks, and short ones.
    let mut offsets = vec![0, 5];
    while offsets[offsets.len() - 1] < n {
        let length = [1_100_000, 700, 3, 0, 2900, 256][offsets.len() % 6];
        offsets.push((offsets[offsets.len() - 1] + length).min(n));
    }
    let (report, arguments) = sums_of("flatten_ragged(s, i, threads=32, items=8, tiles=1)", &x, &offsets);
    assert!(report.kernels[1].1.blocks >= blocks as u64, "{report:?}");
    let expected: Vec<i32> =
        offsets.windows(2).map(|w| x[w[0] as usize..w[1] as usize].iter().sum()).collect();
    assert_eq!(arguments.buffer("out").unwrap(), &Buffer::from_slice(&expected));
}

/// Chunks of the tail are smaller; the number of blocks is derived by hand. 10 000 points of 100
/// segments are 10 200 steps; three chunks of 4 tiles of 256 cover 3072 of them, chunks of one tile
/// the other 7128, which takes 28.
#[test]
fn chunks_of_the_tail_are_smaller() {
    for (steps, chunks) in [
        ("flatten_ragged(s, i, threads=32, items=8, tiles=4)", 10),
        ("flatten_ragged(s, i, threads=32, items=8, tiles=4, full_chunks=3, tail_tiles=1)", 3 + 28),
        // There are no more than 10 chunks of 4 tiles.
        ("flatten_ragged(s, i, threads=32, items=8, tiles=4, full_chunks=20, tail_tiles=1)", 10),
    ] {
        assert_eq!(report_of(steps, &[100; 100]).kernels[1].1.blocks, chunks, "{steps}");
    }
}

/// The work of the launch over the tiles for segments of these lengths: sectors loaded, and steps
/// of its warps.
fn work(lengths: &[i64]) -> (u64, u64) {
    let report = report_of("flatten_ragged(s, i)", lengths);
    let tiles = &report.kernels[1].1;
    (tiles.global_loads.sectors, tiles.steps)
}

/// The report of a run over segments of these lengths.
fn report_of(steps: &str, lengths: &[i64]) -> Report {
    let mut offsets = vec![0i32];
    for length in lengths {
        offsets.push(offsets[offsets.len() - 1] + *length as i32);
    }
    sums_of(steps, &vec![1; offsets[lengths.len()] as usize], &offsets).0
}

/// The sums of segments of `x`: the report of the run, and the arguments after it.
fn sums_of(steps: &str, x: &[i32], offsets: &[i32]) -> (Report, Arguments) {
    let declared = LoopKernel::parse(&kernel("", "out: i32[nseg]", "out[s] = sum(i, x[i])")).unwrap();
    let kernel = Pipeline::parse(steps).unwrap().apply(&declared).unwrap();
    let program = lower(&kernel, LowerOptions::default()).unwrap();
    let nseg = offsets.len() - 1;
    let mut arguments = Arguments::new()
        .array("x", Buffer::from_slice(x))
        .array("w", Buffer::from_slice(&vec![0i32; nseg]))
        .array("offsets", Buffer::from_slice(offsets))
        .output("out", Buffer::zeros(DType::I32, nseg))
        .scalar("n", Number::I32(x.len() as i32))
        .scalar("nseg", Number::I32(nseg as i32));
    let report =
        run(&program, &mut arguments, &Options::default()).unwrap_or_else(|e| panic!("{}", e.diagnostic()));
    (report, arguments)
}

/// Adjacent threads load adjacent points and offsets, and all warps have the same work, whatever
/// the lengths.
#[test]
fn lengths_change_neither_coalescing_nor_balance() {
    const POINTS: i64 = 100_000;
    let mut giant = vec![4; POINTS as usize / 8];
    giant.insert(77, POINTS / 2);
    let cases = [
        ("of 4", vec![4; POINTS as usize / 4]),
        ("of 64", vec![64; POINTS as usize / 64]),
        ("of 400", vec![400; POINTS as usize / 400]),
        ("one segment", vec![POINTS]),
        ("one giant among tiny ones", giant),
        (
            "half of all in one, and empty ones",
            [vec![POINTS / 2], vec![0; 20_000], vec![POINTS / 2]].concat(),
        ),
    ];
    let mut costs = Vec::new();
    for (what, lengths) in cases {
        let (sectors, steps) = work(&lengths);
        let items = lengths.iter().sum::<i64>() + lengths.len() as i64;
        // 32 lanes that start inside a sector touch five instead of four, and the start of each
        // tile is read in addition. The first and the last tile of a run, of 64 sectors each, are
        // read by single points if they are partial, which requests each sector four times.
        let least = items as f64 / 8.0;
        let steps_of_all = items + (i64::from(Flat::END_WEIGHT) - 1) * lengths.len() as i64;
        let partial = (steps_of_all as f64 / 8192.0).ceil() * 2.0 * 64.0 * 3.0;
        let most = 1.1 * least + partial + 300.0;
        assert!((sectors as f64) < most, "{what}: {sectors} sectors, not about {least}");
        // A warp step processes 32 items; the number of steps per tile depends little on its items.
        let each = steps as f64 / (items as f64 / 32.0);
        assert!((10.0..90.0).contains(&each), "{what}: {each} steps for 32 items");
        costs.push((what, each));
    }
    // The cost does not depend on the lengths; only tiles inside one segment, which are summed as
    // they are loaded, cost less.
    let cost = |wanted| costs.iter().find(|(what, _)| *what == wanted).unwrap().1;
    for what in ["of 4", "of 64", "one giant among tiny ones"] {
        assert!((0.8..1.2).contains(&(cost(what) / cost("of 400"))), "{what}: {costs:?}");
    }
    assert!(2.0 * cost("one segment") < cost("of 400"), "{costs:?}");
}

/// 32-bit integers can count a gigabyte of points and its segments, so no launch has to fall back
/// to 64 bits.
#[test]
fn a_gigabyte_is_counted_in_32_bits() {
    let declared = LoopKernel::parse(&kernel("", "out: i32[nseg]", "out[s] = sum(i, x[i])")).unwrap();
    for steps in
        ["flatten_ragged(s, i, tiles=40)", "flatten_ragged(s, i, tiles=172, full_chunks=4224, tail_tiles=11)"]
    {
        let kernel = Pipeline::parse(steps).unwrap().apply(&declared).unwrap();
        let program = lower(&kernel, LowerOptions::default()).unwrap();
        let check = |n: i64, nseg: i64| {
            loopwright_lowering::index_range::check(&program, &|name| match name.as_str() {
                "n" => Some(n),
                "nseg" => Some(nseg),
                _ => None,
            })
        };
        for nseg in [0, 1, 1 << 12, 1 << 22, 1 << 26] {
            assert_eq!(check(1 << 28, nseg), Ok(()), "{steps}: {nseg} segments");
        }
        assert!(
            check(1 << 28, 1 << 30).is_err(),
            "{steps}: the ends of all these segments count for too many steps"
        );
    }
}
