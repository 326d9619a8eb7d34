//! A search over the open parameters of a pipeline: how many lanes share a segment, how many
//! segments a block handles, how many loads a lane has in flight.
//!
//! Candidates are checked and counted on the emulator, compiled in parallel, and timed on a GPU if
//! there is one; otherwise they are ranked by the counts. An illegal candidate is a result like the
//! others, with its reason. `loopwright tune` does the same for files.

use std::error::Error;

use loopwright::prelude::*;

/// `$lanes` threads share a segment, `$rows` segments share a block, each thread has `$unroll`
/// accumulators.
const PIPELINE: &str = "
    split_iname(s, $rows)
    split_iname(i, $lanes, outer=i_rest, inner=i_lane)
    split_iname(i_rest, $unroll, outer=i_step, inner=i_part)
    tag_inames(s_outer: block.x, s_inner: thread.y, i_lane: thread.x, i_part: ilp)
";

const SPACE: &str = "
    lanes in [8, 32, 128]
    rows in [1, 4, 16]
    unroll in [1, 4]
";

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::best();
    let kernel = LoopKernel::parse(include_str!("kernels/segmented_sum.lw"))?;
    let (pipeline, space) = (Pipeline::parse(PIPELINE)?, Space::parse(SPACE)?);
    println!("parameters: {:?}, device: {}", pipeline.parameters(), device.name());

    let rows = |count: usize| Tensor::random(&[count, 1000], DType::F32, 3);
    let args = Args::new().tensor("x", &rows(if device.is_gpu() { 1 << 16 } else { 256 })?);
    let sample = Args::new().tensor("x", &rows(32)?);
    let tuning = Tuner::new(&device, &kernel, &pipeline, &space, &args)
        .sample(&sample)
        .on_progress(|p| eprint!("\r{:?}: {} of {}  ", p.phase, p.done, p.of))
        .run()?;
    eprintln!();
    print!("{}", tuning.table());

    assert!(tuning.best_point().is_some(), "some candidate is legal");
    assert!(
        tuning.table().contains("too-many-threads"),
        "128 lanes x 16 rows are more threads than a block has"
    );
    Ok(())
}
