//! What `auto` finds for segmented sums beside what `segmented_reduce` takes untuned: the static
//! cost on an H200 for 2^28 elements of f32, at the 26 equal lengths and the 15 kinds of unequal
//! ones that `benches/RESULTS.md` has. `make auto-cost` prints the table.

use std::collections::BTreeMap;

use loopwright::{
    auto::{Launch, auto_for},
    prelude::*,
    segmented::{Operator, SegmentedReduce, Segments, Shape},
    tuner::{Cost, Machine, estimate_at},
};

/// The total number of elements.
const ALL: usize = 1 << 28;
/// The number of elements that counts are made on, or a few long segments.
const COUNTED: usize = 1 << 18;

/// The 26 equal lengths: the powers of two from 16 to 2^24, and others.
fn equal_lengths() -> Vec<usize> {
    let mut lengths: Vec<usize> = (4..=24).map(|k| 1 << k).chain([17, 100, 1000, 4097, 100_003]).collect();
    lengths.sort_unstable();
    lengths
}

/// Offsets of segments with this mean length, for so many elements in all: lengths drawn evenly up
/// to twice the mean; of a power law with exponent 1.5; or one segment that has half of everything.
fn offsets(kind: &str, mean: usize, elements: usize) -> Vec<i32> {
    let count = elements / mean;
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 31)
    };
    let mut ends = vec![0usize];
    for number in 0..count {
        let length = match kind {
            "uniform" => (next() * (2 * mean + 1) as f64) as usize,
            "power" => (mean as f64 / 3.0 * next().max(1e-9).powf(-1.0 / 1.5)) as usize,
            _ if number == count / 2 => mean / 2 + elements - count * (mean / 2),
            _ => mean / 2,
        };
        ends.push((ends[number] + length).min(elements));
    }
    ends[count] = elements;
    ends.into_iter().map(|end| end as i32).collect()
}

fn sum() -> SegmentedReduce {
    SegmentedReduce::new(Operator::Sum, DType::F32)
}

fn problem(sizes: &[(&str, usize)]) -> BTreeMap<Name, i64> {
    sizes.iter().map(|(name, size)| (Name::new(*name), *size as i64)).collect()
}

/// What a line of the table compares.
struct Line {
    what: String,
    /// The form that `segmented_reduce` takes, and its cost.
    taken: (String, Cost),
    /// The reason and the cost of what `auto` finds.
    found: (String, Cost),
}

impl Line {
    fn of(what: String, shape: &Shape, known: &str, sample: &Args, sizes: &[(&str, usize)]) -> Line {
        let machine = Machine::h200();
        let kernel = sum().kernel(shape).expect("a kernel");
        let chosen = sum()
            .choose(shape, &machine, Device::emulator().limits())
            .unwrap_or_else(|d| panic!("{what}: {d}"));
        let cost = |kernel: &LoopKernel| {
            estimate_at(kernel, sample, &problem(sizes), &machine).unwrap_or_else(|d| panic!("{what}: {d}"))
        };
        let taken = chosen.pipeline.apply(&kernel).unwrap_or_else(|d| panic!("{what}: {d}"));
        let known = Pipeline::parse(known).and_then(|p| p.apply(&kernel)).expect("an assumption");
        let launch = Launch { integers: problem(sizes), ..Launch::default() };
        let found = auto_for(&known, &Target::default(), &launch);
        let reasons: Vec<&str> = found.decisions.iter().map(|d| d.reason.as_str()).collect();
        let found = (reasons.join("; "), cost(&found.kernel));
        Line { taken: (chosen.form, cost(&taken)), found, what }
    }

    fn ratio(&self) -> f64 {
        self.found.1.estimate_ms / self.taken.1.estimate_ms
    }

    fn print(&self) {
        let (form, taken) = &self.taken;
        let (reason, found) = &self.found;
        println!(
            "| {} | {:.4} | {} | {form} | {:.4} | {} | {reason} | {:.3} |",
            self.what,
            taken.estimate_ms,
            taken.bottleneck,
            found.estimate_ms,
            found.bottleneck,
            self.ratio()
        );
    }
}

/// Rows of one length.
fn equal(length: usize) -> Line {
    let rows = (COUNTED / length).max(1);
    let rows = if rows > 512 { rows / 512 * 512 } else { rows };
    let x = Tensor::random(&[rows, length], DType::F32, 1).expect("a tensor");
    let sample = Args::new().tensor("x", &x);
    let count = ALL / length;
    let known = format!("assume(len = {length})");
    let sizes = [("nseg", count), ("len", length)];
    Line::of(format!("{length}"), &Shape::rows(count, length), &known, &sample, &sizes)
}

/// Segments of one kind with this mean length.
fn unequal(kind: &str, mean: usize) -> Line {
    // Many chunks of the longest form, so that the last one weighs little.
    let few = offsets(kind, mean, 16 * COUNTED);
    let n = few.last().copied().unwrap_or(0) as usize;
    let x = Tensor::random(&[n], DType::F32, 1).expect("a tensor");
    let offsets_of_few = Tensor::from_slice(&[few.len()], &few).expect("a tensor");
    let sample = Args::new().tensor("x", &x).tensor("offsets", &offsets_of_few);
    let shape = Shape::of(ALL, Segments::Offsets(&offsets(kind, mean, ALL))).expect("offsets that rise");
    let sizes = [("nseg", ALL / mean), ("n", ALL)];
    Line::of(format!("{kind}, {mean}"), &shape, "", &sample, &sizes)
}

/// Estimates of equal forms are equal; a thousandth is within what the sizes of samples change.
const EQUAL: f64 = 1.001;

fn assert_cheap(line: &Line) {
    assert!(line.ratio() < EQUAL, "{}: {:?}, taken {:?}", line.what, line.found, line.taken);
}

/// One of each kind: the others take minutes.
#[test]
fn segmented_sums_of_each_kind_cost_what_those_taken_untuned_do() {
    [16, 17, 100, 1000, 4097, 262_144, 2_097_152].into_iter().for_each(|length| assert_cheap(&equal(length)));
    assert_cheap(&unequal("power", 4));
}

#[test]
#[ignore = "many: `make auto-cost`"]
fn segmented_sums_beside_those_taken_untuned() {
    println!("| segments | taken, ms | limited by | form | auto, ms | limited by | reason | ratio |");
    println!("|---|---|---|---|---|---|---|---|");
    let only = std::env::var("AUTO_SEGMENTS").ok();
    let wanted = |what: &str| only.as_ref().is_none_or(|only| only == what);
    let mut lines: Vec<Line> =
        equal_lengths().into_iter().filter(|length| wanted(&length.to_string())).map(equal).collect();
    for kind in ["uniform", "power", "giant"].into_iter().filter(|kind| wanted(kind)) {
        lines.extend([4, 16, 64, 1024, 65536].map(|mean| unequal(kind, mean)));
    }
    lines.iter().for_each(Line::print);
    lines.iter().for_each(assert_cheap);
}

/// Medians of exhaustive sweeps of short rows on an H200, for each point and each length.
const SHORT_ROWS: &str = include_str!("../crates/tuner/tests/recorded/short_rows.txt");

/// Beside what was measured: for rows of sixteen lengths, most of which no power of two divides,
/// the rules' form is within 6 % of the best point of a sweep.
#[test]
fn short_rows_are_near_the_best_that_was_measured() {
    let header = SHORT_ROWS.lines().rfind(|l| l.starts_with("# ")).expect("a header");
    let lengths = header.split(" | ").nth(1).expect("lengths").split(' ');
    let lengths: Vec<i64> = lengths.map(|l| l.parse().expect("a length")).collect();
    let points: Vec<(&str, Vec<f64>)> = SHORT_ROWS
        .lines()
        .filter_map(|l| l.split_once(" | ").filter(|_| !l.starts_with('#')))
        .map(|(point, times)| (point, times.split(' ').map(|t| t.parse().expect("a time")).collect()))
        .collect();
    assert_eq!((lengths.len(), points.len()), (16, 68));
    for (at, length) in lengths.iter().enumerate() {
        let kernel = sum().kernel(&Shape::rows(ALL / *length as usize, *length as usize)).expect("a kernel");
        let launch = Launch::of([("nseg", ALL as i64 / length), ("len", *length)]);
        let found = auto_for(&kernel, &Target::default(), &launch);
        let part = |iname: &str| {
            let split = found.pipeline.steps().iter().find_map(|step| {
                let text = step.to_string();
                let rest = text.strip_prefix(&format!("split_iname({iname}, "))?.to_owned();
                Some(rest.split([',', ')']).next()?.to_owned())
            });
            split.unwrap_or_else(|| panic!("{length}: `{iname}` is not split\n{found}"))
        };
        let point = format!("{} {} {}", part("i"), part("s_inner"), part("s"));
        let (_, times) =
            points.iter().find(|(p, _)| *p == point).unwrap_or_else(|| panic!("{length}: {point}"));
        let best = points.iter().map(|(_, t)| t[at]).fold(f64::INFINITY, f64::min);
        assert!(times[at] < 1.06 * best, "{length}: {point} takes {} us, and the best {best}", times[at]);
    }
}
