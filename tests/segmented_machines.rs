//! The untuned form for rows of equal length depends on the machine, given the limits of an H200 or
//! an A100, and on the limits that should be decisive.

use crate::machines;

use loopwright::prelude::*;
use loopwright::runtime::cuda::DeviceInfo;
use loopwright::segmented::{Chosen, Operator, SegmentedReduce, Shape};
use loopwright::tuner::Machine;

/// The total number of elements, 2^28.
const ALL: usize = 1 << 28;

fn chosen(shape: &Shape, (machine, limits): (&Machine, &DeviceInfo)) -> Chosen {
    let reduce = SegmentedReduce::new(Operator::Sum, DType::F32);
    reduce.choose(shape, machine, limits).unwrap_or_else(|e| panic!("{shape}: {e}"))
}

/// The length in the step that splits an iname.
fn split(chosen: &Chosen, iname: &str) -> usize {
    let steps = chosen.pipeline.steps().iter().map(ToString::to_string);
    let rest =
        steps.into_iter().find_map(|s| Some(s.strip_prefix(&format!("split_iname({iname}, "))?.to_owned()));
    let rest = rest.unwrap_or_else(|| panic!("`{iname}` is not split\n{}", chosen.pipeline));
    rest.split([',', ')']).next().unwrap_or_default().parse().expect("a number")
}

/// By Little's law, saturating memory takes bandwidth * latency bytes in flight: per multiprocessor
/// `4.4e12 * 700e-9 / 132` = 23 kB on an H200, and `1.555e12 * 700e-9 / 108` = 10 kB on an A100, a
/// factor of 2.3.
/// At these lengths a lane loads one vector of each of its rows and is done, so blocks continually
/// start and end with nothing in flight. The number of resident threads is 2048 on both, which
/// leaves the rows per thread: four where two are too few. (Where results are stored in waves, four
/// are taken anyway.) The bandwidth per multiprocessor decides: an A100 with the H200's bandwidth
/// per multiprocessor takes what the H200 takes, and vice versa.
#[test]
fn the_faster_memory_takes_more_rows_a_thread() {
    let (h200, limits) = (Machine::h200(), machines::h200());
    let (a100, of_a100) = (Machine::described(&machines::a100()), machines::a100());
    let of_each = |m: &Machine| m.bandwidth / f64::from(m.multiprocessors);
    assert!(of_each(&h200) > 2.3 * of_each(&a100), "{} {}", of_each(&h200), of_each(&a100));
    let fast = Machine { bandwidth: of_each(&h200) * 108.0, ..a100.clone() };
    let slow = Machine { bandwidth: of_each(&a100) * 132.0, ..h200.clone() };
    for length in [40, 44, 48] {
        let shape = Shape::rows(ALL / length, length);
        let rows_a_thread = |on: (&Machine, &DeviceInfo)| {
            let chosen = chosen(&shape, on);
            split(&chosen, "s") / split(&chosen, "s_inner")
        };
        let taken =
            [(&h200, &limits), (&fast, &of_a100), (&a100, &of_a100), (&slow, &limits)].map(rows_a_thread);
        assert_eq!(taken, [4, 4, 2, 2], "rows of {length}");
    }
}

/// A multiprocessor of either holds two blocks of 1024 threads: 216 blocks are one full wave of 108
/// multiprocessors, 264 of 132. There, one block per row leaves no remainder and needs no second
/// kernel. On the other machine, 216 rows leave 48 of 264 slots empty, and 264 rows make a second
/// wave of 48: there rows are split into chunks.
#[test]
fn rows_that_fill_a_round_of_blocks_are_not_cut() {
    let (h200, limits) = (Machine::h200(), machines::h200());
    let (a100, of_a100) = (Machine::described(&machines::a100()), machines::a100());
    for (count, whole, cut) in
        [(216, (&a100, &of_a100), (&h200, &limits)), (264, (&h200, &limits), (&a100, &of_a100))]
    {
        assert_eq!(whole.0.multiprocessors * 2, count);
        // Rows of whole vectors.
        let count = count as usize;
        let shape = Shape::rows(count, ALL / count / 4 * 4);
        let (full, rest) = (chosen(&shape, whole).form, chosen(&shape, cut).form);
        assert!(full.starts_with("a block of 1024 threads"), "{shape} on {}: {full}", whole.0.device);
        assert!(rest.contains("blocks take 8192 points"), "{shape} on {}: {rest}", cut.0.device);
    }
}
