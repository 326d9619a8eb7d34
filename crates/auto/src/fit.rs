//! Threads that are idle because nests of one launch have blocks of different shapes.
//!
//! A launch has one shape of block: along each axis, the threads of the nest that has most of them
//! there. A nest of 128 threads along x beside one of 32 x 8 makes blocks of 128 x 8; at least
//! three quarters of the threads are idle in either nest. Which nests share a launch is decided
//! when the kernel is lowered; so shapes are looked at then, and the nests with the least work are
//! decided about again, until the others' shape suits them.

use loopwright_kernel_ir::{HardwareAxis, Instruction, LoopKernel, PerDim};

use crate::{bounds, judge::Blocks};

/// The factor by which blocks have more threads than the instruction that uses most of them, over
/// all launches the largest; 1 if that is not known.
pub(crate) fn idle(kernel: &LoopKernel, blocks: &Blocks) -> f64 {
    // Warps of flattened nests divide their work by themselves.
    let Some(shapes) = shapes(kernel).filter(|_| kernel.flat.is_empty()) else { return 1.0 };
    let threads = |shape: &PerDim<i64>| shape.values().map(|n| *n as f64).product::<f64>();
    let of = |block: &PerDim<i64>| {
        let fits = shapes.iter().filter(|shape| shape.values().zip(block.values()).all(|(a, b)| a <= b));
        let most = fits.map(threads).fold(0.0, f64::max);
        if most > 0.0 { threads(block) / most } else { 1.0 }
    };
    blocks.iter().map(of).fold(1.0, f64::max)
}

/// The threads along x, y and z that each instruction uses; `None` if one is not known.
fn shapes(kernel: &LoopKernel) -> Option<Vec<PerDim<i64>>> {
    let of = |instruction: &Instruction| {
        let mut shape = PerDim::all(1);
        let reduced = instruction.reductions().into_iter().flat_map(|r| r.inames.clone());
        for iname in instruction.within.iter().cloned().chain(reduced) {
            if let Some(HardwareAxis::Block(dim)) = kernel.tag(&iname).axis() {
                shape[dim] = bounds::length(kernel, &iname)?;
            }
        }
        Some(shape)
    };
    kernel.instructions.iter().map(of).collect()
}
