//! The estimated cost of untuned reductions of equal segments, for many lengths, on an H200 and an
//! A100. Neither device needs to be present.
//!
//!     cargo run --release --example untuned
//!     cargo run --release --example untuned -- argmax 64 4096 1048576
//!
//! Prints a line for each length of 2^28 elements: the form with its parameters, the estimate in
//! milliseconds, the ratio of the bound to it, and the limiting resource. The table is meant to be
//! read: neighbours that differ for no reason indicate a defect of the static cost
//! (`tuner::Cost`).

use std::error::Error;

use loopwright::prelude::*;
use loopwright::runtime::Arch;
use loopwright::runtime::cuda::DeviceInfo;
use loopwright::segmented::{Operator, SegmentedReduce, Shape};
use loopwright::tuner::Machine;

/// Total number of elements.
const ELEMENTS: usize = 1 << 28;

/// Lengths for which there was no sweep.
const LENGTHS: [usize; 20] = [
    20, 24, 36, 40, 48, 56, 72, 80, 96, 144, 200, 300, 700, 1500, 3000, 6000, 12_000, 50_000, 300_000,
    3_000_000,
];

/// The limits of an A100, as reported by its driver.
fn a100() -> Option<DeviceInfo> {
    let any = DeviceInfo::of_arch(Arch::SM_80)?;
    Some(DeviceInfo {
        name: "an A100".into(),
        multiprocessors: 108,
        clock_khz: 1_410_000,
        memory_clock_khz: 1_215_000,
        memory_bus_bits: 5120,
        l2_bytes: 40 << 20,
        ..any
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let operator = match arguments.next() {
        Some(name) => Operator::from_name(&name).ok_or_else(|| format!("`{name}` is no operator"))?,
        None => Operator::Sum,
    };
    let mut lengths = arguments.map(|length| length.parse()).collect::<Result<Vec<usize>, _>>()?;
    if lengths.is_empty() {
        lengths = LENGTHS.to_vec();
    }
    let reduce = SegmentedReduce::new(operator, DType::F32);
    let h200 = Device::emulator().limits().clone();
    let a100 = a100().ok_or("the catalogue has no sm_80")?;
    for (machine, limits) in [(Machine::h200(), h200), (Machine::described(&a100), a100)] {
        println!("{reduce}, {}, {} multiprocessors", machine.device, machine.multiprocessors);
        for length in &lengths {
            let chosen = reduce.choose(&Shape::rows(ELEMENTS / length, *length), &machine, &limits)?;
            let cost = chosen.cost;
            let part = cost.bound_ms / cost.estimate_ms;
            println!("{length:>9} {:.4} {part:.3} {}: {}", cost.estimate_ms, cost.bottleneck, chosen.form);
        }
        println!();
    }
    Ok(())
}
