//! Results of an operation per clock and multiprocessor.
//!
//! The figures are those of the CUDA C++ Programming Guide, "Arithmetic Instructions", table
//! "Throughput of Native Arithmetic Instructions", which gives them by compute capability. A warp's
//! instruction takes 32 results, whether all of its lanes are active or not. Not in the table: a
//! select by a condition uses the units that compare; logic on conditions is part of the preceding
//! comparison, which takes a condition as an operand, and costs nothing extra.

/// Results per clock of one multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Throughput {
    /// Additions, multiplications and fused multiply-adds of f32.
    pub f32: f64,
    /// Comparisons, minima, maxima, and 32-bit integer operations: 64 on all devices from 7.0 to
    /// 9.0.
    pub compared: f64,
    /// Reciprocals, roots, logarithms, exponentials, sines.
    pub special: f64,
    /// Exchanges between the lanes of a warp.
    pub shuffled: f64,
}

impl Throughput {
    /// The throughput of a compute capability; if it is not in the table, that of the newest one
    /// there.
    pub fn of(capability: (u32, u32)) -> Throughput {
        let f32 = match capability {
            (6, 0) | (7, _) | (8, 0) => 64.0,
            _ => 128.0,
        };
        Throughput { f32, compared: 64.0, special: 16.0, shuffled: 32.0 }
    }
}

/// The most native instructions of an integer quotient or remainder.
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
