//! Quotients and powers of two of lengths.

/// The quotient, rounded up. A divisor below 1 counts as 1.
pub(crate) fn ceil(n: i64, by: i64) -> i64 {
    let by = by.max(1);
    n / by + i64::from(n % by != 0)
}

/// The least power of two that is at least so much.
pub(crate) fn power_above(n: i64) -> i64 {
    i64::try_from(n.max(1).unsigned_abs().next_power_of_two()).unwrap_or(i64::MAX)
}

/// The greatest power of two that is at most so much; 1 if there is none.
pub(crate) fn power_below(n: i64) -> i64 {
    1 << n.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_rounded_up() {
        assert_eq!([ceil(0, 4), ceil(1, 4), ceil(4, 4), ceil(5, 4), ceil(5, 0)], [0, 1, 1, 2, 5]);
    }

    #[test]
    fn powers_are_those_above_and_below() {
        assert_eq!([-1, 0, 1, 2, 3, 4, 5].map(power_above), [1, 1, 1, 2, 4, 4, 8]);
        assert_eq!([-1, 0, 1, 2, 3, 4, 5].map(power_below), [1, 1, 1, 2, 2, 4, 4]);
        assert_eq!((power_above(i64::MAX), power_below(i64::MAX)), (i64::MAX, 1 << 62));
    }
}
