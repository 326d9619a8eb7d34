//! `y = a*x + y`, the simplest kernel: a block of threads for each tile, and a guard for the last
//! tile.

use std::error::Error;

use loopwright::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let kernel = LoopKernel::parse(
        "kernel axpy(x: f32[n], y: f32[n], a: f32, n: i32)
         domain { [i] : 0 <= i < n }
         y[i] = a * x[i] + y[i]",
    )?;
    let kernel = kernel.split_iname("i", 128)?.tag_inames("i_outer: block.x, i_inner: thread.x")?;
    println!("{}", cuda_source(&lower(&kernel, LowerOptions::default())?)?.text);

    let device = Device::best();
    let compiled = device.compile(&kernel)?;
    // Full tiles, partial tiles, and none.
    for n in [1000, 128, 1, 0] {
        let x = Tensor::from_fn(&[n], |k| k as f32)?;
        let y = Tensor::from_fn(&[n], |k| 1.0 - k as f32)?;
        // `n` is inferred from the shapes.
        let outputs = compiled.run(&Args::new().tensor("x", &x).tensor("y", &y).scalar("a", 2.0))?;
        let expected: Vec<f32> = (0..n).map(|k| 2.0 * k as f32 + (1.0 - k as f32)).collect();
        assert_eq!(outputs.get("y")?.to_vec::<f32>()?, expected);
        println!("n = {n}: right, on {}", outputs.device);
    }
    Ok(())
}
