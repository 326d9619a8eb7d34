//! `loopwright::segmented` on the emulator: results against plain loops in f64, the choice by shape
//! and machine, refusals.

use crate::machines;

use half::f16;
use loopwright::prelude::*;
use loopwright::runtime::cuda::DeviceInfo;
use loopwright::segmented::{Chosen, Operator, SegmentedReduce, Segments, Shape, segmented_reduce};
use loopwright::tuner::Machine;
use rayon::prelude::*;

/// Pattern-free numbers in -8..8.
fn numbers(count: usize) -> Vec<i64> {
    let mut state = 9u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 40) % 17) as i64 - 8
    };
    (0..count).map(|_| next()).collect()
}

/// The values and indices of segments, in f64, by a plain loop.
fn expected(operator: Operator, x: &[f64], offsets: &[usize], empty: f64) -> (Vec<f64>, Vec<Option<usize>>) {
    let of = |segment: &[f64]| -> (f64, Option<usize>) {
        let best = |better: fn(f64, f64) -> bool| {
            let mut found: Option<usize> = None;
            for (k, v) in segment.iter().enumerate() {
                if found.is_none_or(|f| better(*v, segment[f])) {
                    found = Some(k);
                }
            }
            (found.map_or(empty, |f| segment[f]), found)
        };
        match operator {
            Operator::Sum => (segment.iter().sum(), None),
            Operator::Product => (segment.iter().product(), None),
            Operator::Mean => (segment.iter().sum::<f64>() / segment.len() as f64, None),
            Operator::Min | Operator::Argmin => best(|a, b| a < b),
            Operator::Max | Operator::Argmax => best(|a, b| a > b),
        }
    };
    offsets.windows(2).map(|o| of(&x[o[0]..o[1]])).unzip()
}

/// The result of `min` and `max` over no elements.
fn neutral(operator: Operator, dtype: DType) -> f64 {
    let (low, high) = match dtype {
        DType::I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
        DType::I64 => (i64::MIN as f64, i64::MAX as f64),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    };
    if matches!(operator, Operator::Min | Operator::Argmin) { high } else { low }
}

fn check(reduce: &SegmentedReduce, compiled: &Compiled, args: &Args, x: &Tensor, offsets: &[usize]) {
    let operator = reduce.operator();
    let outputs = compiled.run(args).unwrap_or_else(|e| panic!("{reduce}: {e}"));
    let values = outputs.get(if operator.has_index() { "value" } else { "out" }).unwrap();
    let (wanted, places) = expected(operator, &x.to_f64(), offsets, neutral(operator, x.dtype()));
    let tolerance = match values.dtype() {
        DType::F16 => 1e-3,
        DType::BF16 => 8e-3,
        DType::F32 => 1e-6,
        DType::F64 => 1e-13,
        _ => 0.0,
    };
    for (s, (got, want)) in values.to_f64().iter().zip(&wanted).enumerate() {
        let same =
            got == want || (got.is_nan() && want.is_nan()) || (got - want).abs() <= tolerance * want.abs();
        assert!(same, "{reduce}, segment {s}: {got}, and by a plain loop {want}");
    }
    if operator.has_index() {
        let indices = outputs.get("index").unwrap().to_f64();
        for (s, (got, want)) in indices.iter().zip(&places).enumerate() {
            let want = want.map_or(f64::from(i32::MAX), |k| k as f64);
            assert_eq!(*got, want, "{reduce}, the index of segment {s}");
        }
    }
}

/// Elements whose results are exact in every type: for products, mostly -1 and 1, and occasionally
/// 2.
fn elements(operator: Operator, dtype: DType, count: usize) -> Tensor {
    let all = numbers(count);
    let of = |v: &i64| if operator == Operator::Product { [1, -1, 1, 1][(*v & 3) as usize] } else { *v };
    Tensor::from_vec(&[count], all.iter().map(of).map(|v| v as f64).collect()).unwrap().cast(dtype)
}

const TYPES: [DType; 6] = [DType::F16, DType::BF16, DType::F32, DType::F64, DType::I32, DType::I64];

#[test]
fn rows_of_every_operator_and_type() {
    let device = Device::emulator();
    // Lengths that are whole vectors for all types, for none, and for some.
    let lengths = [(64, 40), (7, 70), (36, 30), (1030, 5), (1, 9)];
    let cases = lengths.into_iter().flat_map(|shape| Operator::ALL.map(|operator| (shape, operator)));
    let cases: Vec<((usize, usize), Operator)> = cases.collect();
    cases.par_iter().for_each(|&((length, rows), operator)| {
        // Every type at one length; all lengths for f32 and f16.
        let types = if length == 64 { &TYPES[..] } else { &[DType::F32, DType::F16][..] };
        for dtype in types {
            let reduce = SegmentedReduce::new(operator, *dtype);
            let compiled = reduce.compile(&Shape::rows(rows, length), &device);
            let compiled = compiled.unwrap_or_else(|e| panic!("{reduce}, {rows} rows of {length}: {e}"));
            let x = elements(operator, *dtype, rows * length).reshape(&[rows, length]).unwrap();
            let offsets: Vec<usize> = (0..=rows).map(|s| s * length).collect();
            check(&reduce, compiled.compiled(), &Args::new().tensor("x", &x), &x, &offsets);
        }
    });
}

/// Named lists of segment lengths.
fn ragged_cases() -> Vec<(&'static str, Vec<usize>)> {
    let uneven = numbers(300).into_iter().map(|v| (v + 8) as usize);
    let mut giant = vec![1; 150];
    giant[70] = 4000;
    vec![
        ("no segment", vec![]),
        ("all empty", vec![0; 70]),
        ("uneven, some empty", uneven.collect()),
        ("one giant", giant),
        ("one", vec![1000]),
        ("nearly even", (0..40).map(|k| 60 + k % 9).collect()),
        ("long and nearly even", (0..600).map(|k| 520 + k % 50).collect()),
    ]
}

/// Checks the segments of each named list of lengths, by the operators and types that are wanted.
fn check_between_offsets(wanted: &(dyn Fn(&str) -> Vec<(Operator, DType)> + Sync)) {
    let device = Device::emulator();
    for (what, lengths) in ragged_cases() {
        let mut offsets = vec![0usize];
        offsets.extend(lengths.iter().scan(0, |sum, l| {
            *sum += l;
            Some(*sum)
        }));
        let n = offsets[offsets.len() - 1];
        let narrow: Vec<i32> = offsets.iter().map(|o| *o as i32).collect();
        wanted(what).par_iter().for_each(|(operator, dtype)| {
            let reduce = SegmentedReduce::new(*operator, *dtype);
            let shape = Shape::of(n, Segments::Offsets(&narrow)).unwrap();
            let compiled =
                reduce.compile(&shape, &device).unwrap_or_else(|e| panic!("{what}, {reduce}: {e}"));
            let x = elements(*operator, *dtype, n);
            let offsets_given = Tensor::from_slice(&[narrow.len()], &narrow).unwrap();
            let args = Args::new().tensor("x", &x).tensor("offsets", &offsets_given).check_facts();
            check(&reduce, compiled.compiled(), &args, &x, &offsets);
        });
    }
}

/// Each operator on two types, and each type with two operators at least: all of them are
/// [`segments_of_every_operator_and_type`].
#[test]
fn segments_between_offsets() {
    check_between_offsets(&|what| match what {
        "uneven, some empty" => {
            let all = Operator::ALL.into_iter().enumerate();
            all.flat_map(|(k, op)| [k, k + 2].map(|t| (op, TYPES[t % TYPES.len()]))).collect()
        }
        _ => vec![(Operator::Sum, DType::F32), (Operator::Argmin, DType::F32)],
    });
}

#[test]
#[ignore = "a minute; a part is in the suite"]
fn segments_of_every_operator_and_type() {
    let of_each = [Operator::Sum, Operator::Max, Operator::Argmin, Operator::Mean];
    check_between_offsets(&|what| match what {
        "uneven, some empty" => Operator::ALL.into_iter().flat_map(|op| TYPES.map(|t| (op, t))).collect(),
        _ => of_each.map(|op| (op, DType::F32)).to_vec(),
    });
}

fn chosen(shape: &Shape, dtype: DType, machine: &Machine, limits: &DeviceInfo) -> Chosen {
    let reduce = SegmentedReduce::new(Operator::Sum, dtype);
    reduce.choose(shape, machine, limits).unwrap_or_else(|e| panic!("{shape}: {e}"))
}

/// The total number of elements, 2^28.
const ALL: usize = 1 << 28;

#[test]
fn equal_segments_by_length() {
    let (h200, limits) = (Machine::h200(), machines::h200());
    let (lanes, block, chunks) = ("lanes for each, in whole vectors", "a block of", "blocks take");
    let (copied, vectors) = ("by way of shared memory", "lanes for each, in vectors of");
    for (dtype, length, wanted) in [
        (DType::F32, 16, &[lanes][..]),
        (DType::F32, 5, &[copied]),
        (DType::F32, 17, &[copied]),
        (DType::F32, 34, &[copied]),
        (DType::F64, 33, &[copied]),
        (DType::F32, 225, &[vectors]),
        (DType::F32, 601, &[vectors]),
        (DType::F64, 97, &[vectors]),
        (DType::F32, 100, &[lanes]),
        (DType::F32, 512, &[lanes, block]),
        (DType::F32, 4096, &[block]),
        (DType::F32, 4097, &[block]),
        (DType::F32, 100_003, &[block]),
        (DType::F32, 1 << 20, &[block, chunks]),
        (DType::F32, 1 << 26, &[chunks]),
        (DType::F16, 64, &[lanes]),
        (DType::F16, 100, &[lanes]),
        (DType::F64, 4096, &[block]),
    ] {
        let shape = Shape::rows(ALL / length, length);
        let Chosen { form, cost, pipeline, .. } = chosen(&shape, dtype, &h200, &limits);
        let what = format!("{dtype}, {shape}: {form}, {cost:?}");
        assert!(wanted.iter().any(|w| form.contains(w)), "{what}");
        // Every multiprocessor has a block, and little is moved beyond what is necessary.
        assert!(cost.blocks >= f64::from(h200.multiprocessors), "{what}");
        assert!(cost.estimate_ms < 1.2 * cost.bound_ms, "{what}");
        // Loads are as wide as the alignment common to all rows allows.
        let lanes = (16 / dtype.bytes()).min(1 << length.trailing_zeros());
        assert_eq!(
            pipeline.to_string().contains(&format!("len mod {lanes} = 0")),
            lanes > 1 && !form.contains(copied),
            "{what}\n{pipeline}"
        );
    }
}

/// Misaligned rows of two-byte elements: single-element loads take twice the bound, less with this
/// form than with others.
#[test]
fn odd_rows_of_two_bytes_are_copied_whole() {
    for length in [9, 17, 33, 65] {
        let shape = Shape::rows(2 * ALL / length, length);
        let Chosen { form, .. } = chosen(&shape, DType::F16, &Machine::h200(), &machines::h200());
        assert!(
            form.contains("by way of shared memory, as they lie, and a thread for each"),
            "{shape}: {form}"
        );
    }
}

/// The cost of comparisons and selections per element, in warp instructions, whatever form is
/// chosen.
#[test]
fn comparisons_and_choices_are_part_of_the_cost() {
    let (h200, limits) = (Machine::h200(), machines::h200());
    for length in [64, 4096, 1 << 20] {
        let an_element = |operator: Operator| {
            let reduce = SegmentedReduce::new(operator, DType::F32);
            let chosen = reduce.choose(&Shape::rows(ALL / length, length), &h200, &limits).unwrap();
            (32.0 * chosen.cost.compared / ALL as f64, format!("{operator}, {length}: {}", chosen.form))
        };
        // A sum selects nothing; a maximum is one instruction per element, and as many again where
        // partial results are joined.
        let (sum, what) = an_element(Operator::Sum);
        assert_eq!(sum, 0.0, "{what}");
        let (most, what) = an_element(Operator::Max);
        assert!((1.0..2.0).contains(&most), "{what}: {most}");
        // Greater, equal, earlier; then the value and the index. For short rows, joins over lanes
        // are half of it.
        let (argmax, what) = an_element(Operator::Argmax);
        assert!((5.0..10.0).contains(&argmax), "{what}: {argmax}");
    }
}

/// Lengths most of which have no sweep (`cargo run --example untuned` shows the choices): no
/// estimate is far above the bound or differs sharply from its neighbours, and a few rows keep all
/// multiprocessors busy to the end. Rows of 36 and 72 need as many lanes as those of 64 and 128,
/// nearly half of which are idle: the best measured points take 1.06 and 1.07 times the bound,
/// those of 60 and 120 take 1.04 and 1.03 times.
#[test]
fn lengths_that_were_never_tuned() {
    let lengths =
        [20, 24, 36, 40, 48, 56, 72, 80, 96, 144, 200, 300, 700, 1500, 3000, 6000, 12_000, 50_000, 300_000];
    // 400, 270 and 140 rows: a last wave of a few blocks, or barely one block per multiprocessor.
    let lengths = lengths.into_iter().chain([ALL / 400, ALL / 270, ALL / 140, 3_000_000]);
    let lengths: Vec<usize> = lengths.map(|l| if l > 12_000 { l / 4 * 4 } else { l }).collect();
    let (on_a100, a100) = (Machine::described(&machines::a100()), machines::a100());
    for (machine, limits) in [(&Machine::h200(), &machines::h200()), (&on_a100, &a100)] {
        let mut before: Option<f64> = None;
        for length in &lengths {
            let Chosen { form, cost, .. } =
                chosen(&Shape::rows(ALL / length, *length), DType::F32, machine, limits);
            let part = cost.bound_ms / cost.estimate_ms;
            let what = format!("{length} on {}: {form}, {part:.3} after {before:.3?}", machine.device);
            let (least, jump) = if *length < 144 { (0.86, 0.08) } else { (0.91, 0.04) };
            assert!(part > least, "{what}");
            assert!(before.is_none_or(|b| (part / b - 1.0).abs() < jump), "{what}");
            before = Some(part);
        }
    }
}

#[test]
fn argmax_by_length() {
    let (on_a100, a100) = (Machine::described(&machines::a100()), machines::a100());
    for (machine, limits) in [(&Machine::h200(), &machines::h200()), (&on_a100, &a100)] {
        for (length, wanted) in [(64, "lanes for each"), (4096, "a block of"), (1 << 20, "blocks take")] {
            let reduce = SegmentedReduce::new(Operator::Argmax, DType::F32);
            let chosen = reduce.choose(&Shape::rows(ALL / length, length), machine, limits).unwrap();
            let Chosen { form, cost, .. } = chosen;
            assert!(form.contains(wanted), "{length} on {}: {form}, {cost:?}", machine.device);
            assert!(
                cost.estimate_ms < 1.2 * cost.bound_ms,
                "{length} on {}: {form}, {cost:?}",
                machine.device
            );
        }
    }
}

#[test]
fn few_segments_are_cut_so_that_every_multiprocessor_has_work() {
    let (h200, limits) = (Machine::h200(), machines::h200());
    let (on_a100, a100) = (Machine::described(&machines::a100()), machines::a100());
    for (count, length) in [(1, ALL / 4), (3, 1 << 20), (16, ALL / 16)] {
        for (machine, limits) in [(&h200, &limits), (&on_a100, &a100)] {
            let chosen = chosen(&Shape::rows(count, length), DType::F32, machine, limits);
            assert!(
                chosen.cost.blocks >= f64::from(machine.multiprocessors),
                "{count} x {length}: {}",
                chosen.form
            );
        }
    }
}

fn between_offsets(mean: usize, longest: Option<usize>) -> Shape {
    Shape::Ragged { count: ALL / mean, elements: ALL, longest, offsets: DType::I32 }
}

/// The step by which segments are flattened.
fn flattened(chosen: &Chosen) -> String {
    chosen.pipeline.steps().last().map(ToString::to_string).unwrap_or_default()
}

#[test]
fn segments_of_unequal_length_by_mean_and_longest() {
    let (h200, limits) = (Machine::h200(), machines::h200());
    // Warps on 132 multiprocessors: 8 blocks of 4 with tiles of 512 points, 5 with tiles of 1024.
    // The following are numbers of tiles: of a run in one wave and in three, where steps are the
    // points plus two for each end; and of 92 % and 6 % of one wave.
    for (mean, items, warps, [one, three, first, rest]) in [
        (4, 16, 4224, [187, 63, 172, 11]),
        (16, 32, 2640, [112, 38, 103, 7]),
        (64, 32, 2640, [103, 35, 95, 6]),
        (1024, 32, 2640, [100, 34, 92, 6]),
        (65536, 32, 2640, [100, 34, 92, 6]),
    ] {
        for longest in [None, Some(2 * mean), Some(ALL / 2)] {
            let chosen = chosen(&between_offsets(mean, longest), DType::F32, &h200, &limits);
            let wanted = match longest {
                // Segments are short compared with a chunk, so all take the same time.
                Some(longest) if mean < 64 && longest == 2 * mean => format!("items={items}, tiles={one}"),
                Some(longest) if mean < 64 && longest == ALL / 2 => format!("items={items}, tiles={three}"),
                _ => format!("items={items}, tiles={first}, full_chunks={warps}, tail_tiles={rest}"),
            };
            let wanted = format!("flatten_ragged(s, i, threads=128, {wanted})");
            assert_eq!(flattened(&chosen), wanted, "mean {mean}, longest {longest:?}");
        }
        // For 8-byte elements, equal segments may get a warp or a block each, which waits for the
        // offsets but comes close to the bound if the segments are long.
        let even = chosen(&between_offsets(mean, Some(2 * mean)), DType::F64, &h200, &limits);
        if mean < 64 {
            assert!(even.form.contains("equal chunks of all points"), "mean {mean}: {}", even.form);
        } else if mean > 64 {
            assert!(even.cost.estimate_ms < 1.1 * even.cost.bound_ms, "mean {mean}: {}", even.form);
        }
    }
}

/// The medians of `benches/RESULTS-archive.md` for uniform lengths with these means: shorter ones
/// take longer, and no estimate exceeds the measurement by more than a third.
///
/// With each loop weighted by the bytes it moves, the estimates are 0.68, 0.80, 0.90, 0.89 and 1.06
/// of the measurements, from short to long: for short segments the model assumes overlap of work
/// between barriers that does not happen.
#[test]
fn estimates_of_flattened_segments_are_in_the_order_of_the_measured_times() {
    let (h200, limits) = (Machine::h200(), machines::h200());
    let measured = [(4, 0.4956), (16, 0.3448), (64, 0.3022), (1024, 0.2642), (65536, 0.2530)];
    let estimates = measured.map(|(mean, time)| {
        let estimate = chosen(&between_offsets(mean, None), DType::F32, &h200, &limits).cost.estimate_ms;
        assert!(
            estimate < 4.0 / 3.0 * time && estimate > 0.6 * time,
            "mean {mean}: {estimate}, measured {time}"
        );
        estimate
    });
    // Neighbours may be practically equal.
    assert!(estimates.windows(2).all(|e| e[1] < 1.05 * e[0]), "{estimates:?}");
    assert!(estimates[0] > 1.3 * estimates[4], "{estimates:?}");
}

/// Results of short rows are stored in waves of 8 windows. At most, 7 windows are a sixth of the
/// cache, in lines of 128 elements: for an H200's 50 MB, 8.33 MB are 297 619 f32, of which 2325
/// lines are whole. Fewer results make three waves and a half: 2^22 / 28 are 149 796, 1170 lines.
#[test]
fn results_of_short_rows_are_stored_in_waves() {
    let (h200, limits) = (Machine::h200(), machines::h200());
    let steps = |operator: Operator, length: usize, all: usize| {
        let reduce = SegmentedReduce::new(operator, DType::F32);
        let chosen = reduce.choose(&Shape::rows(all / length, length), &h200, &limits).unwrap();
        let steps = chosen.pipeline.to_string();
        let hints: Vec<String> =
            steps.lines().filter(|l| l.starts_with("cache_")).map(str::to_owned).collect();
        hints
    };
    for (length, lines) in [(16, 2325), (32, 2325), (64, 1170), (128, 585), (512, 146)] {
        let wanted = format!("cache_waves(out, window={}, windows=8)", lines * 128);
        assert_eq!(steps(Operator::Sum, length, ALL), [wanted], "{length}");
    }
    // Results are few; there is nothing to evict.
    for (length, all) in [(1024, ALL), (64, 1 << 22)] {
        assert!(steps(Operator::Sum, length, all).is_empty(), "{length}");
    }
    // Two result arrays would take longer with waves. Where the cache holds them, the elements are
    // evicted first.
    assert!(steps(Operator::Argmax, 32, ALL).is_empty());
    assert_eq!(steps(Operator::Argmax, 256, ALL), ["cache_streaming(x)"]);
}

/// An A100 has fewer multiprocessors, less shared memory, and a third of the total bandwidth.
#[test]
fn the_limits_of_an_a100_change_the_choice() {
    let (h200, limits) = (Machine::h200(), machines::h200());
    let (on_a100, a100) = (Machine::described(&machines::a100()), machines::a100());
    let both = |shape: &Shape, dtype| {
        [(&h200, &limits), (&on_a100, &a100)].map(|(m, l)| flattened(&chosen(shape, dtype, m, l)))
    };
    // Tiles per run: 25 165 824 steps for 132 and 108 multiprocessors of 32 warps, 512 steps per
    // tile, which are 11.6 and 14.2.
    let [there, here] = both(&Shape::ragged(1 << 22, 1 << 24), DType::F32);
    assert!(
        there.ends_with("items=16, tiles=12)") && here.ends_with("items=16, tiles=15)"),
        "{there} {here}"
    );
    // Eight blocks with 16 points of 8 bytes per thread fit into the shared memory of both. How
    // many their registers allow is unknown: three waves.
    let [there, here] = both(&Shape::ragged(ALL / 64, ALL), DType::F64);
    assert!(
        there.ends_with("items=16, tiles=43)") && here.ends_with("items=16, tiles=53)"),
        "{there} {here}"
    );
}

#[test]
fn elements_are_mapped_where_they_are_read() {
    let device = Device::emulator();
    let x: Vec<f32> = (0..12).map(|v| v as f32 - 6.0).collect();
    for (map, dtype, wanted) in [
        ("x * x", DType::F32, [86.0, 6.0, 54.0]),
        ("abs(x)", DType::F32, [18.0, 4.0, 14.0]),
        ("if(x > 0, 1, 0)", DType::I64, [0.0, 1.0, 4.0]),
        ("cast(f64, x) * 0.5", DType::F64, [-9.0, -1.0, 7.0]),
    ] {
        let reduce = SegmentedReduce::new(Operator::Sum, DType::F32).map(map).unwrap();
        let reduced = reduce.run(&device, &x, Segments::Length(4)).unwrap();
        assert_eq!(reduced.values.dtype(), dtype, "{map}");
        assert_eq!(reduced.values.to_f64(), wanted, "{map}");
        assert!(reduced.device.starts_with("emulator"), "{}", reduced.device);
    }
}

#[test]
fn results_of_other_types() {
    let device = Device::emulator();
    let of = |operator, x: &[i32], dtype: Option<DType>| {
        let reduce = SegmentedReduce::new(operator, DType::I32);
        let reduce = dtype.map_or(reduce.clone(), |t| reduce.output(t));
        reduce.run(&device, x, Segments::Length(2)).unwrap().values
    };
    let most = i32::MAX;
    assert_eq!(of(Operator::Sum, &[most, most], None).to_vec::<i64>().unwrap(), [2 * i64::from(most)]);
    // As requested: 32 bits wrap.
    assert_eq!(of(Operator::Sum, &[most, most], Some(DType::I32)).to_vec::<i32>().unwrap(), [-2]);
    assert_eq!(of(Operator::Mean, &[1, 2], None).to_vec::<f64>().unwrap(), [1.5]);
    // Accumulated in f32: 2049 is not representable in f16.
    let ones = vec![f16::ONE; 4096];
    let sum =
        SegmentedReduce::new(Operator::Sum, DType::F16).run(&device, &ones, Segments::Length(4096)).unwrap();
    assert_eq!((sum.values.dtype(), sum.values.to_f64()[0]), (DType::F16, 4096.0));
    let wide = SegmentedReduce::new(Operator::Sum, DType::F16).output(DType::F32);
    let sum = wide.run(&device, &vec![f16::ONE; 4097], Segments::Length(4097)).unwrap();
    assert_eq!((sum.values.dtype(), sum.values.to_f64()[0]), (DType::F32, 4097.0));
    // 2^24 + 1 is not representable in f32.
    let x = [16_777_216.0f32, 1.0];
    let wide = SegmentedReduce::new(Operator::Sum, DType::F32).output(DType::F64);
    assert_eq!(wide.run(&device, &x, Segments::Length(2)).unwrap().values.to_f64(), [16_777_217.0]);
}

#[test]
fn one_compiled_reduction_serves_all_lengths_of_whole_vectors() {
    let reduce = SegmentedReduce::new(Operator::Max, DType::F32);
    let compiled = reduce.compile(&Shape::rows(100, 64), &Device::emulator()).unwrap();
    for (rows, length) in [(3, 4), (0, 8), (5, 0), (2, 1000)] {
        let x = Tensor::random(&[rows, length], DType::F32, 3).unwrap();
        let offsets: Vec<usize> = (0..=rows).map(|s| s * length).collect();
        check(&reduce, compiled.compiled(), &Args::new().tensor("x", &x), &x, &offsets);
    }
    let odd = compiled.bind(&Args::new().tensor("x", &Tensor::zeros(&[2, 7], DType::F32).unwrap()));
    assert_eq!(odd.expect_err("7 is no multiple of 4").code, "assumption");
    assert_eq!(compiled.compiled().forms(), 1);
}

#[test]
fn wide_offsets() {
    let x: Vec<f64> = (0..10).map(f64::from).collect();
    let wide = Segments::WideOffsets(&[0, 3, 3, 10]);
    let reduced = segmented_reduce(&Device::emulator(), Operator::Argmax, &x, wide).unwrap();
    assert_eq!(reduced.values.to_f64(), [2.0, f64::NEG_INFINITY, 9.0]);
    assert_eq!(reduced.indices.unwrap().to_vec::<i64>().unwrap(), [2, i64::MAX, 6]);
}

#[test]
fn small_and_unsigned_integers() {
    let device = Device::emulator();
    let bytes = SegmentedReduce::new(Operator::Sum, DType::U8);
    let sums = bytes.run(&device, &[200u8; 48], Segments::Length(16)).unwrap().values;
    assert_eq!(sums.to_vec::<u64>().unwrap(), [3200; 3]);
    let largest =
        segmented_reduce(&device, Operator::Max, &[-3i8, -2, -128, -5], Segments::Offsets(&[0, 2, 2, 4]));
    assert_eq!(largest.unwrap().values.to_vec::<i8>().unwrap(), [-2, -128, -5]);
    let words =
        segmented_reduce(&device, Operator::Argmin, &[7u32, u32::MAX, 0, 7], Segments::Length(2)).unwrap();
    assert_eq!(words.values.to_vec::<u32>().unwrap(), [7, 0]);
    assert_eq!(words.indices.unwrap().to_vec::<i32>().unwrap(), [0, 0]);
}

#[test]
fn more_elements_than_32_bits_count() {
    let (h200, limits) = (Machine::h200(), machines::h200());
    for shape in [Shape::rows(1 << 20, 1 << 13), Shape::rows(1, 1 << 33), Shape::ragged(1 << 20, 1 << 33)] {
        let Chosen { kernel, cost, .. } = chosen(&shape, DType::F16, &h200, &limits);
        assert!(cost.blocks >= f64::from(h200.multiprocessors), "{shape}");
        // Sizes have 64 bits where necessary, and only there.
        let text = kernel.to_string();
        let wide = !matches!(shape, Shape::Rows { length, .. } if length < 1 << 31);
        assert_eq!(text.contains("i64"), wide, "{text}");
    }
}
