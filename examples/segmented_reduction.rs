//! The segmented sum for segments of equal and unequal length, with lengths known only at launch.
//!
//! One kernel is compiled once and serves every length, including 0 and 1.

#[path = "common/segmented.rs"]
mod segmented;

use std::error::Error;

use loopwright::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::best();
    println!("device: {}", device.name());
    equal_segments(&device)?;
    unequal_segments(&device)
}

/// `x[nseg, len]`: the rows are the segments.
fn equal_segments(device: &Device) -> Result<(), Box<dyn Error>> {
    let kernel = LoopKernel::parse(segmented::KERNEL)?;
    // A block of 256 threads per segment. The same steps as in `block_per_segment.pipe`, as
    // methods.
    let kernel = kernel.split_iname("i", 256)?.tag_inames("s: block.x, i_inner: thread.x")?;
    let compiled = device.compile(&kernel)?;
    for length in [0, 1, 17, 256, 1000, 100_003] {
        let x = segmented::random(&[3, length], 7)?;
        let outputs = compiled.run(&Args::new().tensor("x", &x))?;
        let comparison = segmented::compare(&x, outputs.get("out")?);
        println!("3 segments of {length}: largest error {:.1e}", comparison.largest_error);
        assert_eq!(comparison.wrong, 0);
    }
    assert_eq!(compiled.forms(), 1, "one binary has served all lengths");
    Ok(())
}

/// Segment s is `x[offsets[s]]` up to `x[offsets[s + 1]]`, exclusive.
fn unequal_segments(device: &Device) -> Result<(), Box<dyn Error>> {
    let kernel = LoopKernel::parse(include_str!("kernels/ragged_sum.lw"))?;
    let pipeline = Pipeline::parse(include_str!("pipelines/ragged_sum/warp_per_segment.pipe"))?;
    let compiled = device.compile(&kernel.pipeline(&pipeline)?)?;

    let offsets = [0, 5, 5, 6, 300, 1000];
    let x = Tensor::from_fn(&[1000], |k| (k % 10) as f32)?;
    let args = Args::new()
        .tensor("x", &x)
        .tensor("offsets", &Tensor::from_slice(&[6], &offsets)?)
        // The kernel relies on `monotone(offsets)` and `0 <= offsets <= n`; have both checked
        // before the launch.
        .check_facts();
    let sums = compiled.run(&args)?.get("out")?.to_vec::<f32>()?;
    let expected: Vec<f32> =
        offsets.windows(2).map(|o| (o[0]..o[1]).map(|k| (k % 10) as f32).sum()).collect();
    println!("segments of unequal length: {sums:?}");
    assert_eq!(sums, expected);

    // Decreasing offsets are refused with a diagnostic instead of causing out-of-bounds reads.
    let wrong =
        Args::new().tensor("x", &x).tensor("offsets", &Tensor::from_slice(&[3], &[0, 9, 4])?).check_facts();
    let refusal = compiled.run(&wrong).expect_err("these offsets are not monotone");
    println!("{refusal}");
    Ok(())
}
