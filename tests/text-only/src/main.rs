//! Prints a kernel as CUDA C.

use loopwright::prelude::*;

fn main() -> Result<(), Error> {
    let kernel = LoopKernel::parse(
        "kernel scaled(x: f32[n], y: f32[n], n: i32)
         domain { [i] : 0 <= i < n }
         y[i] = 2.0*x[i]",
    )?;
    let kernel = kernel.split_iname("i", 128)?.tag_inames("i_outer: block.x, i_inner: thread.x")?;
    print!("{}", cuda_source(&lower(&kernel, LowerOptions::default())?)?.text);
    Ok(())
}
