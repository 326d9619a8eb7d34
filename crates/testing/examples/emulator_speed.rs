//! How long the emulator takes, all checks on: the segmented sum of 2^24 f32 and the product of two
//! 256 x 256 matrices, with each pipeline of the examples, or with those that are named.
//! `cargo run --release -p loopwright-testing --example emulator_speed [PIPELINE ...]`

#[path = "../tests/common/examples.rs"]
mod examples;

use std::time::Instant;

use loopwright_emulator::{Arguments, Options, run};
use loopwright_kernel_ir::{Buffer, DType};

fn time(name: &str, arguments: &Arguments) {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for pipeline in examples::pipelines(name) {
        if !wanted.is_empty() && !wanted.iter().any(|w| *w == *pipeline) {
            continue;
        }
        let program = examples::lowered(name, &pipeline);
        let mut arguments = arguments.clone();
        let begin = Instant::now();
        match run(&program, &mut arguments, &Options::default()) {
            Ok(report) => {
                let seconds = begin.elapsed().as_secs_f64();
                let total = report.total;
                println!(
                    "{name} {pipeline}: {seconds:.2} s, {} steps, {} sectors, {} bank conflicts, \
                     {} barriers",
                    total.steps,
                    total.global_loads.sectors + total.global_stores.sectors,
                    total.bank_conflicts(),
                    total.barriers,
                );
            }
            Err(fault) => println!("{name} {pipeline}: {fault}"),
        }
    }
}

fn main() {
    let ones = |n: usize| Buffer::from_slice(&vec![1f32; n]);
    for (nseg, len) in [(1 << 14, 1 << 10), (1 << 18, 1 << 6)] {
        println!("{nseg} segments of {len}");
        let sums = Arguments::new()
            .array("x", ones(nseg * len))
            .output("out", Buffer::zeros(DType::F32, nseg))
            .scalar("nseg", nseg as i32)
            .scalar("len", len as i32);
        time("segmented_sum", &sums);
    }
    let n = 256usize;
    let product = Arguments::new()
        .array("a", ones(n * n))
        .array("b", ones(n * n))
        .output("c", Buffer::zeros(DType::F32, n * n))
        .scalar("m", n as i32)
        .scalar("n", n as i32)
        .scalar("l", n as i32);
    time("matmul", &product);
}
