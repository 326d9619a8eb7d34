//! A transposed copy in three ways: directly, through a tile in shared memory, and through a tile
//! with padded rows.
//!
//! The emulator counts what a profiler would: the 32-byte sectors of global memory that requests
//! touch, and the bank conflicts of shared memory. The last way has neither excess sectors nor bank
//! conflicts.

use std::error::Error;

use loopwright::prelude::*;

const PIPELINES: [(&str, &str); 3] = [
    ("naive", include_str!("pipelines/transpose/naive.pipe")),
    ("tiled", include_str!("pipelines/transpose/tiled.pipe")),
    ("tiled_padded", include_str!("pipelines/transpose/tiled_padded.pipe")),
];

fn main() -> Result<(), Box<dyn Error>> {
    let kernel = LoopKernel::parse(include_str!("kernels/transpose.lw"))?;
    // Whole tiles in one direction, a partial one in the other.
    let (m, n) = (256, 200);
    let a = Tensor::from_fn(&[m, n], |k| k as f32)?;
    let expected: Vec<f32> = (0..n * m).map(|k| (k % m * n + k / m) as f32).collect();
    let args = Args::new().tensor("a", &a);

    let mut conflicts = Vec::new();
    for (name, text) in PIPELINES {
        let kernel = kernel.pipeline(&Pipeline::parse(text)?)?;
        if Device::best().is_gpu() {
            let outputs = Device::best().compile(&kernel)?.run(&args)?;
            assert_eq!(outputs.get("b")?.to_vec::<f32>()?, expected, "{name} on {}", outputs.device);
        }
        let outputs = Device::emulator().compile(&kernel)?.run(&args)?;
        assert_eq!(outputs.get("b")?.to_vec::<f32>()?, expected, "{name}");
        let counts = outputs.report.expect("the emulator counts").total;
        println!(
            "{name:13} {:6} bytes moved for {} necessary, {} bank conflicts",
            counts.global_bytes_moved(),
            2 * 4 * m * n,
            counts.bank_conflicts()
        );
        conflicts.push(counts.bank_conflicts());
    }
    assert!(conflicts[1] > 0, "a column of a 32 x 32 tile is in one bank");
    assert_eq!(conflicts[2], 0, "with padded rows it is in all of them");
    Ok(())
}
