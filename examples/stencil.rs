//! The 5-point Laplacian over the inner cells of a grid: 16 x 16 cells per block, with their
//! neighbourhood in shared memory.
//!
//! `add_prefetch(u, [i_inner, j_inner])` determines what the sweep reads: rows `i - 1` to `i + 1`,
//! columns `j - 1` to `j + 1`. So the tile is 18 x 18, including the halo, and all 256 threads
//! fetch it.

use std::error::Error;

use loopwright::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let kernel = LoopKernel::parse(include_str!("kernels/stencil.lw"))?;
    let kernel = kernel
        .split_iname("i", 16)?
        .split_iname("j", 16)?
        .tag_inames("i_outer: block.y, j_outer: block.x, i_inner: thread.y, j_inner: thread.x")?
        .add_prefetch("u", ["i_inner", "j_inner"])?;
    println!("{kernel}");
    println!("{}", cuda_source(&lower(&kernel, LowerOptions::default())?)?.text);

    let device = Device::best();
    let compiled = device.compile(&kernel)?;
    for (m, n) in [(34, 50), (3, 3), (40, 17)] {
        let u = Tensor::from_fn(&[m, n], |k| (k * k % 11) as f32)?;
        // The kernel writes only part of v and leaves its border unchanged, so v must be passed in.
        let v = Tensor::zeros(&[m, n], DType::F32)?;
        let out = compiled.run(&Args::new().tensor("u", &u).tensor("v", &v))?.get("v")?.to_vec::<f32>()?;
        let u = u.to_vec::<f32>()?;
        for (k, value) in out.iter().enumerate() {
            let (i, j) = (k / n, k % n);
            let inner = 0 < i && i < m - 1 && 0 < j && j < n - 1;
            let expected = match inner {
                true => u[k - n] + u[k + n] + u[k - 1] + u[k + 1] - 4.0 * u[k],
                false => 0.0,
            };
            assert_eq!(*value, expected, "v[{i}, {j}] of a {m} x {n} grid");
        }
        println!("{m} x {n}: right, on {}", device.name());
    }
    Ok(())
}
