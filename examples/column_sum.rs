//! The sum of each column: neighbouring threads take neighbouring columns, and blocks of rows share a column.
//!
//! The reduction runs over a loop, over threads and over blocks at once. The blocks' partial sums go through memory that the launch owns, and a
//! second kernel adds them in a fixed order: the result is the same to the bit in every run.

use std::error::Error;

use loopwright::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let kernel = LoopKernel::parse(include_str!("kernels/column_sum.lw"))?;
    // The same as `pipelines/column_sum/chunks.pipe`, as methods.
    let chunks = kernel
        .assume("n mod 4 = 0")?
        .split_iname("j", 128)?
        .pipeline(&Pipeline::parse("split_iname(j_inner, 4, outer=j_thread, inner=j_vec)")?)?
        .pipeline(&Pipeline::parse("split_iname(i, 1024, outer=i_chunk, inner=i_rest)")?)?
        .pipeline(&Pipeline::parse("split_iname(i_rest, 8, outer=i_round, inner=i_thread)")?)?
        .pipeline(&Pipeline::parse("split_iname(i_round, 4, outer=i_step, inner=i_part)")?)?
        .tag_inames("j_outer: block.x, i_chunk: block.y, j_thread: thread.x, i_thread: thread.y")?
        .tag_inames("j_vec: vec, i_part: unroll")?;
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
