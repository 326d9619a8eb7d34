//! A matrix product: 16 x 16 tiles with both operands in shared memory, then with register tiles.
//!
//! In the second version a thread computes 8 x 8 elements. For each step of `k` it loads 8 + 8
//! elements of the tiles into registers, as four `float4`s, and adds their 64 products: 16
//! multiplications per load from shared memory. Tiles are zero-filled beyond the edges of the
//! matrices, so that loop needs no guard.

use std::error::Error;

use loopwright::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let kernel = LoopKernel::parse(include_str!("kernels/matmul.lw"))?;
    // The same as `pipelines/matmul/tiled_16.pipe`, as methods.
    let tiled = kernel
        .split_iname("i", 16)?
        .split_iname("j", 16)?
        .split_iname("k", 16)?
        .tag_inames("i_outer: block.y, j_outer: block.x, i_inner: thread.y, j_inner: thread.x")?
        .add_prefetch("a", ["i_inner", "k_inner"])?
        .add_prefetch("b", ["k_inner", "j_inner"])?;
    let register_tile =
        kernel.pipeline(&Pipeline::parse(include_str!("pipelines/matmul/register_tile.pipe"))?)?;
    println!("{}", cuda_source(&lower(&register_tile, LowerOptions::default())?)?.text);

    // Sizes that no tile divides. Small integers, so that f32 is exact.
    let (m, n, l) = (200, 150, 50);
    let a = Tensor::from_fn(&[m, l], |k| (k % 7) as f32 - 3.0)?;
    let b = Tensor::from_fn(&[l, n], |k| (k % 5) as f32 - 2.0)?;
    let (va, vb) = (a.to_f64(), b.to_f64());
    let cell = |i: usize, j: usize| (0..l).map(|k| va[i * l + k] * vb[k * n + j]).sum::<f64>() as f32;
    let expected: Vec<f32> = (0..m * n).map(|c| cell(c / n, c % n)).collect();

    let device = Device::best();
    let args = Args::new().tensor("a", &a).tensor("b", &b);
    for (name, kernel) in [("tiled", &tiled), ("register_tile", &register_tile)] {
        let bound = device.compile(kernel)?.bind(&args)?;
        bound.launch()?;
        assert_eq!(bound.read("c")?.to_vec::<f32>()?, expected, "{name}");
        let counts =
            Device::emulator().compile(kernel)?.run(&args)?.report.expect("the emulator counts").total;
        println!(
            "{name}: right on {}; {} requests to shared memory, {} bytes of global memory moved",
            device.name(),
            counts.shared_loads.requests + counts.shared_stores.requests,
            counts.global_bytes_moved()
        );
    }
    Ok(())
}
