//! What `segmented_reduce` takes untuned, which is what the rules of `auto` find: for 2^28 elements
//! of f32, at 26 equal lengths and for 15 kinds of unequal ones, the pipelines that were measured
//! to be the fastest of their forms (`benches/RESULTS-archive.md`); for short rows beside sweeps.

use std::{collections::HashMap, fmt::Write as _};

use loopwright::{
    auto::{Launch, auto_for},
    lowering::{LowerOptions, lower},
    prelude::*,
    segmented::{Chosen, Operator, SegmentedReduce, Shape},
    tuner::Machine,
};
use rayon::prelude::*;

/// The total number of elements.
const ALL: usize = 1 << 28;

/// For each case the number of segments, of elements, and of those in the longest segment, the time
/// that was measured on an H200 and the pipeline.
const RECORDED: &str = include_str!("recorded/segmented_sums.txt");

fn sum() -> SegmentedReduce {
    SegmentedReduce::new(Operator::Sum, DType::F32)
}

/// A recorded case.
struct Case<'r> {
    what: &'r str,
    shape: Shape,
    ms: &'r str,
    pipeline: Pipeline,
}

fn cases() -> Vec<Case<'static>> {
    let of = |line: &'static str| {
        let fields: Vec<&str> = line.split(" | ").collect();
        let [what, sizes, ms, steps] = fields[..] else { panic!("{line}") };
        let numbers: Vec<usize> = sizes.split(' ').map(|n| n.parse().expect("a number")).collect();
        let shape = match numbers[..] {
            [count, elements] => Shape::rows(count, elements / count),
            [count, elements, longest] => {
                Shape::Ragged { count, elements, longest: Some(longest), offsets: DType::I32 }
            }
            _ => panic!("{line}"),
        };
        let pipeline = Pipeline::parse(&steps.replace("; ", "\n")).unwrap_or_else(|d| panic!("{line}\n{d}"));
        Case { what, shape, ms, pipeline }
    };
    RECORDED.lines().filter(|l| !l.starts_with('#')).map(of).collect()
}

/// The CUDA C of a kernel after a pipeline, without spaces, in which names are numbered by their
/// first occurrence: that of two forms is equal if they differ in names alone.
fn printed(kernel: &LoopKernel, pipeline: &Pipeline) -> String {
    let after = pipeline.apply(kernel).unwrap_or_else(|d| panic!("{d}\n{pipeline}"));
    let program = lower(&after, LowerOptions::default()).unwrap_or_else(|d| panic!("{d}\n{pipeline}"));
    let source = cuda_source(&program).unwrap_or_else(|d| panic!("{d}\n{pipeline}"));
    let (mut numbers, mut text, mut word) = (HashMap::new(), String::new(), String::new());
    for c in source.text.chars().chain(['\n']) {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        let begins = word.chars().next();
        if begins.is_some_and(|first| !first.is_ascii_digit()) {
            let next = numbers.len();
            let number = *numbers.entry(std::mem::take(&mut word)).or_insert(next);
            write!(text, "n{number}.").expect("text");
        } else {
            text += &std::mem::take(&mut word);
        }
        if !c.is_whitespace() {
            text.push(c);
        }
    }
    text
}

/// `--nocapture` prints what is taken.
#[test]
fn segmented_sums_are_those_that_were_measured() {
    let (machine, limits) = (Machine::h200(), Device::emulator().limits().clone());
    let cases = cases();
    assert_eq!(cases.len(), 26 + 15);
    let check = |case: &Case<'_>| {
        let Case { what, shape, ms, pipeline } = case;
        let Chosen { kernel, pipeline: taken, form, .. } =
            sum().choose(shape, &machine, &limits).unwrap_or_else(|d| panic!("{what}: {d}"));
        let differs = printed(&kernel, &taken) != printed(&kernel, pipeline);
        let differs = differs.then(|| format!("{what}: {form}\n{taken}\nmeasured:\n{pipeline}"));
        (format!("| {what} | {ms} | {form} |"), differs)
    };
    let (lines, differ): (Vec<String>, Vec<Option<String>>) = cases.par_iter().map(check).unzip();
    println!("| segments | measured, ms | taken |\n|---|---|---|\n{}", lines.join("\n"));
    let differ: Vec<String> = differ.into_iter().flatten().collect();
    assert!(differ.is_empty(), "{}", differ.join("\n"));
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
