//! For how many blocks a multiprocessor has to have registers.
//!
//! The launch over chunks hides the latency of its loads by many warps: 32 with 64 registers per
//! thread, or 20 with about a hundred. Without a bound the compiler may use a few more registers,
//! and fewer blocks than planned run at the same time. There is no bound if a thread holds more
//! than that leaves room for, judged by the bytes that it loads of each point and those of a
//! partial result, nor where indices have 64 bits, which take registers too. What the kernel itself
//! asks for comes first.

use loopwright_kernel_ir::{DType, Flat, Options};
use loopwright_target::Target;

/// The least number of blocks for a kernel with these options.
pub(crate) fn blocks(
    options: &Options,
    (flat, index): (Flat, DType),
    target: &Target,
    [point, state]: [usize; 2],
) -> Option<u32> {
    match options.min_blocks_per_multiprocessor {
        Some(blocks) => Some(blocks.get()),
        None if index == DType::I32 => min_blocks(flat, target, point, state),
        None => None,
    }
}

/// The least number of blocks of a flattened nest that a multiprocessor has to have registers for,
/// if lowering asks for one: `point` bytes are loaded of each point, and a partial result has
/// `state` bytes.
///
/// ```
/// use loopwright_kernel_ir::Flat;
/// use loopwright_lowering::{Target, flat_min_blocks};
///
/// let of_items = |items| Flat { threads: 128, items, tiles: 8, tail: None };
/// let min_blocks = |items, point, state| flat_min_blocks(of_items(items), &Target::cuda(), point, state);
/// assert_eq!(min_blocks(16, 4, 4), Some(8));
/// assert_eq!(min_blocks(32, 4, 4), Some(5));
/// // Points of 8 bytes, and a partial result of 8 bytes.
/// assert_eq!(min_blocks(32, 8, 4), None);
/// assert_eq!(min_blocks(16, 4, 8), None);
/// ```
pub fn min_blocks(flat: Flat, target: &Target, point: usize, state: usize) -> Option<u32> {
    let bytes = point * usize::from(flat.items);
    if state > 4 || bytes > 128 {
        return None;
    }
    let registers = if bytes <= 64 { 64 } else { 102 };
    let warps = target.registers / registers / target.warp_size;
    Some(warps * target.warp_size / u32::from(flat.threads)).filter(|blocks| *blocks > 0)
}
