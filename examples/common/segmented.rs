//! Shared by the examples of the segmented sum: its declaration and the reference in f64.

use loopwright::prelude::*;

/// The declared kernel.
pub const KERNEL: &str = include_str!("../kernels/segmented_sum.lw");

/// How a result compares with the sums in f64.
#[derive(Clone, Copy, Debug, Default)]
pub struct Comparison {
    /// The largest absolute difference.
    pub largest_error: f64,
    /// Number of segments whose difference exceeds what any order of summation in f32 can explain.
    pub wrong: usize,
}

/// Compares with sums in f64, segment by segment. To first order, a sum of n numbers in f32 differs
/// from the exact one by at most (n - 1) * eps/2 times the sum of their magnitudes, whatever the
/// order of summation.
pub fn compare(x: &Tensor, out: &Tensor) -> Comparison {
    let (values, sums) = (x.to_f64(), out.to_f64());
    let length = x.shape().get(1).copied().unwrap_or(0);
    let mut comparison = Comparison::default();
    for (segment, sum) in sums.iter().enumerate() {
        let cells = &values[segment * length..(segment + 1) * length];
        let exact: f64 = cells.iter().sum();
        let magnitude: f64 = cells.iter().map(|v| v.abs()).sum();
        let error = (sum - exact).abs();
        let allowed = length as f64 * f64::from(f32::EPSILON) / 2.0 * magnitude;
        comparison.largest_error = comparison.largest_error.max(error);
        comparison.wrong += usize::from(error.is_nan() || error > allowed);
    }
    comparison
}

/// Pseudo-random numbers in -1..1 that use all bits of an f32.
pub fn random(shape: &[usize], seed: u32) -> Result<Tensor, Diagnostic> {
    let mut state = seed | 1;
    Tensor::from_fn(shape, |_| {
        // xorshift32
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as f32 / 2f32.powi(31) - 1.0
    })
}
