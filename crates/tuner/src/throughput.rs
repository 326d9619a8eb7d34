//! How many results of an operation a multiprocessor delivers in a clock.
//!
//! The figures are those of the CUDA C++ Programming Guide, "Arithmetic Instructions", table
//! "Throughput of Native Arithmetic Instructions", which gives them by compute capability. A warp's
//! instruction takes 32 results, whether all of its lanes take part or not. What the table has no
//! row for: a choice by a condition goes through the units that compare; logic of conditions is
//! part of the comparison before it, which takes a condition as an operand, and costs nothing of
//! its own.

/// Results in a clock of one multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Throughput {
    /// Sums, products and fused ones of f32.
    pub f32: f64,
    /// Comparisons, minima, maxima, and integers of 32 bits: 64 on all devices from 7.0 to 9.0.
    pub compared: f64,
    /// Reciprocals, roots, logarithms, exponentials, sines.
    pub special: f64,
    /// Shuffles of warps.
    pub shuffled: f64,
}

impl Throughput {
    /// Of a compute capability; of one that the table does not have, that of the newest there.
    pub fn of(capability: (u32, u32)) -> Throughput {
        let f32 = match capability {
            (6, 0) | (7, _) | (8, 0) => 64.0,
            _ => 128.0,
        };
        Throughput { f32, compared: 64.0, special: 16.0, shuffled: 32.0 }
    }
}

/// Native instructions of an integer quotient or remainder, at most.
pub(crate) const DIVISION: f64 = 20.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_a100_has_half_the_f32_lanes_of_an_h200() {
        assert_eq!(Throughput::of((8, 0)).f32, 64.0);
        assert_eq!(Throughput::of((9, 0)).f32, 128.0);
        assert_eq!(Throughput::of((8, 0)).compared, Throughput::of((9, 0)).compared);
    }
}
