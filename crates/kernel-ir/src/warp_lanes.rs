//! The lanes of a warp as functions of a block's coordinates.
//!
//! Threads are numbered along x, then y, then z, and so many of them as a warp has lanes, in this
//! order, are a warp. Where the first axes of a block hold exactly one warp, a lane's number is a
//! mixed radix number of their coordinates, and each digit of it that a layout asks for is made of
//! digits of these. With a block of 4 x 8 x 2 threads and warps of 32 lanes, lane `x + 4*y` has `x`
//! as the digit of length 4 and `y` as that of length 8 above it.

use loopwright_poly::{Aff, Result};

use crate::{HardwareAxis, Name, PerDim};

/// The axes of a block along which the lanes of each of its warps lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarpLanes {
    /// Axes of more than one thread, each with its length, first the one whose coordinate is the
    /// least significant.
    axes: Vec<(HardwareAxis, i64)>,
}

impl WarpLanes {
    /// Those of warps of so many lanes; `None` where the first axes of the block do not hold
    /// exactly one warp: where a warp ends in the middle of an axis.
    ///
    /// ```
    /// use loopwright_kernel_ir::{PerDim, WarpLanes};
    ///
    /// let lanes = WarpLanes::new(PerDim { x: 4, y: 8, z: 2 }, 32).ok_or("warps divide an axis")?;
    /// assert_eq!(lanes.digit(4, 8)?.to_string(), "thread.y");
    /// assert!(WarpLanes::new(PerDim { x: 64, y: 1, z: 1 }, 32).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(block: PerDim<u32>, warp_size: u32) -> Option<WarpLanes> {
        let mut axes = Vec::new();
        let mut lanes = 1u32;
        for (axis, length) in HardwareAxis::OF_BLOCK.iter().zip(block.values()) {
            if lanes == warp_size {
                break;
            }
            lanes = lanes.saturating_mul(*length);
            if lanes > warp_size {
                return None;
            }
            if *length > 1 {
                axes.push((*axis, i64::from(*length)));
            }
        }
        (lanes == warp_size).then_some(WarpLanes { axes })
    }

    /// Whether threads that differ on this axis alone are lanes of one warp.
    pub fn contains(&self, axis: HardwareAxis) -> bool {
        self.axes.iter().any(|(own, _)| *own == axis)
    }

    /// The number of a lane div `below`, modulo `extent`: a digit of it.
    ///
    /// Errors: numbers beyond 64 bits, and those that are not positive.
    pub fn digit(&self, below: i64, extent: i64) -> Result<Aff> {
        let mut weight = 1;
        let (mut sum, mut whole) = (Aff::constant(0), Aff::constant(0));
        // Of the digit's ends and those of an axis, one divides the other, or the digit is none of
        // digits of coordinates.
        let mut is_exact = true;
        for (axis, length) in &self.axes {
            whole = whole.add(&axis.position().scale(weight)?)?;
            let (low, high) = (weight.max(below), (weight * length).min(below * extent));
            for end in [below, below * extent] {
                let axis_end = weight * length;
                is_exact &= end % axis_end == 0 || axis_end % end == 0;
            }
            if low < high {
                // The part of the coordinate that is in the digit.
                let divided = |by: i64| axis.position().floor_div((by / weight).max(1));
                let mut part = divided(low)?;
                // The most significant part of a coordinate needs no remainder.
                if high < weight * length {
                    part = part.sub(&divided(high)?.scale(high / low)?)?;
                }
                sum = sum.add(&part.scale(low / below)?)?;
            }
            weight *= length;
        }
        if !is_exact {
            whole = whole.floor_div(below)?;
            return if below * extent < weight { whole.modulo(extent) } else { Ok(whole) };
        }
        Ok(sum)
    }

    /// The value of a coordinate for the lane of this number; `None` for names of other
    /// coordinates.
    pub fn coordinate(&self, name: &Name, lane: i64) -> Option<i64> {
        let mut rest = lane;
        for (axis, length) in &self.axes {
            if *axis.coordinate() == **name {
                return Some(rest % length);
            }
            rest /= length;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of these digits, for each lane, by arithmetic on the lane's number.
    fn assert_digits(block: PerDim<u32>, warp: u32, digits: &[(i64, i64)]) -> Result<()> {
        let lanes = WarpLanes::new(block, warp).unwrap();
        for (below, extent) in digits {
            let digit = lanes.digit(*below, *extent)?;
            for lane in 0..i64::from(warp) {
                let found = digit.eval(&|name| lanes.coordinate(name, lane));
                assert_eq!(found, Some(lane / below % extent), "{block:?}: {below} {extent} {lane}");
            }
        }
        Ok(())
    }

    #[test]
    fn digits_are_those_of_the_number_of_a_lane() -> Result<()> {
        let digits = [(1, 4), (4, 8), (1, 8), (8, 2), (8, 4), (16, 2), (2, 8), (1, 32), (1, 2)];
        for (x, y, z) in [(32, 1, 1), (4, 8, 1), (8, 4, 3), (2, 4, 4), (16, 2, 2), (1, 32, 2), (1, 4, 8)] {
            assert_digits(PerDim { x, y, z }, 32, &digits)?;
        }
        Ok(())
    }

    #[test]
    fn lengths_that_do_not_divide_each_other() -> Result<()> {
        assert_digits(PerDim { x: 3, y: 4, z: 1 }, 12, &[(1, 2), (2, 3), (6, 2), (4, 3), (1, 4)])
    }

    #[test]
    fn warps_end_where_an_axis_does() {
        let new = |x, y, z| WarpLanes::new(PerDim { x, y, z }, 32);
        assert!(new(64, 1, 1).is_none() && new(5, 8, 1).is_none() && new(4, 4, 1).is_none());
        assert!(new(8, 8, 1).is_none() && new(16, 1, 1).is_none());
        // A block that no device has, as a text may say.
        assert!(new(4, u32::MAX, 2).is_none() && new(0, 8, 4).is_none());
        let lanes = new(4, 8, 4).unwrap();
        assert!(HardwareAxis::OF_BLOCK.iter().take(2).all(|axis| lanes.contains(*axis)));
        assert!(!lanes.contains(HardwareAxis::OF_BLOCK[2]) && !lanes.contains(HardwareAxis::OF_GRID[0]));
    }
}
