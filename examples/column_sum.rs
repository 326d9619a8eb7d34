//! The sum of each column: adjacent threads take adjacent columns, and blocks of rows share a
//! column.
//!
//! The reduction runs over a loop, over threads and over blocks at once. The blocks' partial sums
//! go through memory owned by the launch, and a second kernel adds them in a fixed order: the
//! result is bit-identical in every run.

use std::error::Error;

use loopwright::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let kernel = LoopKernel::parse(include_str!("kernels/column_sum.lw"))?;
    let chunks = kernel.pipeline(&Pipeline::parse(include_str!("pipelines/column_sum/chunks.pipe"))?)?;
    println!("{}", cuda_source(&lower(&chunks, LowerOptions::default())?)?.text);

    // Small integers, so that f32 is exact.
    let (m, n) = (3000, 260);
    let x = Tensor::from_fn(&[m, n], |k| ((k * 7 + k / 5) % 23) as f32 - 9.0)?;
    let values = x.to_f64();
    let wanted: Vec<f64> = (0..n).map(|j| (0..m).map(|i| values[i * n + j]).sum()).collect();
    let device = Device::best();
    let args = Args::new().tensor("x", &x);
    let found = device.compile(&chunks)?.run(&args)?.get("out")?.to_f64();
    assert_eq!(found, wanted);
    println!("the sums of {n} columns of {m} are right on {}", device.name());
    Ok(())
}
