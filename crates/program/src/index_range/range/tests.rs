//! Ranges of operations against all values of small operands.

use super::*;

const SMALL: std::ops::RangeInclusive<i128> = -5..=5;

fn ranges() -> impl Iterator<Item = (i128, i128)> {
    SMALL.flat_map(|low| (low..=*SMALL.end()).map(move |high| (low, high)))
}

/// What the operation computes; `None` where it has no value.
fn exact(op: BinOp, x: i128, y: i128) -> Option<i128> {
    Some(match op {
        BinOp::Add => x + y,
        BinOp::Sub => x - y,
        BinOp::Mul => x * y,
        BinOp::Min => x.min(y),
        BinOp::Max => x.max(y),
        BinOp::TruncDiv => x.checked_div(y)?,
        BinOp::TruncRem => x.checked_rem(y)?,
        // Rounded down: one less where the division leaves a remainder of the other sign.
        BinOp::FloorDiv => x.checked_div(y)? - i128::from(x % y != 0 && (x < 0) != (y < 0)),
        BinOp::FloorMod => x - y * exact(BinOp::FloorDiv, x, y)?,
        BinOp::BitAnd => x & y,
        BinOp::BitOr => x | y,
        BinOp::BitXor => x ^ y,
        BinOp::Shl if y >= 0 => x << y,
        BinOp::Shr if y >= 0 => x >> y,
        _ => return None,
    })
}

/// The range that `binary` finds and the values that there are, for all operands in small ranges.
fn asked(op: BinOp, mut f: impl FnMut((i128, i128), (i128, i128), Range, &[i128])) {
    for (a, b) in ranges().flat_map(|a| ranges().map(move |b| (a, b))) {
        let found = binary(op, Range::new(a.0, a.1), Range::new(b.0, b.1), DType::I32).unwrap();
        let values: Vec<i128> =
            (a.0..=a.1).flat_map(|x| (b.0..=b.1).filter_map(move |y| exact(op, x, y))).collect();
        f(a, b, found, &values);
    }
}

#[test]
fn every_value_of_an_operation_is_in_its_range() {
    use BinOp::{
        Add, BitAnd, BitOr, BitXor, FloorDiv, FloorMod, Max, Min, Mul, Shl, Shr, Sub, TruncDiv, TruncRem,
    };
    for op in
        [Add, Sub, Mul, Min, Max, TruncDiv, TruncRem, FloorDiv, FloorMod, BitAnd, BitOr, BitXor, Shl, Shr]
    {
        asked(op, |a, b, found, values| {
            for v in values {
                assert!(found.is_within((i64::MIN.into(), i64::MAX.into())), "{op:?} {a:?} {b:?}");
                assert!((found.low..=found.high).contains(v), "{op:?} {a:?} {b:?}: {v} is not in {found:?}");
            }
        });
    }
}

#[test]
fn ranges_of_monotone_operations_have_no_other_ends() {
    use BinOp::{Add, FloorDiv, Max, Min, Mul, Shl, Shr, Sub, TruncDiv};
    for op in [Add, Sub, Mul, Min, Max, FloorDiv, TruncDiv, Shl, Shr] {
        let (divides, shifts) = (matches!(op, FloorDiv | TruncDiv), matches!(op, Shl | Shr));
        asked(op, |a, b, found, values| {
            if divides && b.0 <= 0 || shifts && b.0 < 0 {
                return;
            }
            let ends = (*values.iter().min().unwrap(), *values.iter().max().unwrap());
            assert_eq!((found.low, found.high), ends, "{op:?} {a:?} {b:?}");
            assert!(!found.data, "{op:?} of what is no data");
        });
    }
}

#[test]
fn remainders_are_below_the_divisor() {
    asked(BinOp::FloorMod, |a, b, found, values| {
        if b.0 <= 0 {
            return;
        }
        assert!(found.low >= 0 && found.high < b.1, "{a:?} {b:?}: {found:?}");
        if b.0 == b.1 && a.0 >= 0 && a.1 < b.0 {
            let ends = (*values.iter().min().unwrap(), *values.iter().max().unwrap());
            assert_eq!((found.low, found.high), ends, "the remainder of {a:?} by {b:?} is the dividend");
        }
    });
    asked(BinOp::TruncRem, |a, b, found, _| {
        if b.0 > 0 && a.0 >= 0 {
            assert_eq!((found.low, found.high), (0, a.1.min(b.1 - 1)), "{a:?} {b:?}");
        }
    });
}

/// Nothing is known of the value that a GPU computes where the divisor is zero.
#[test]
fn by_what_may_be_zero_a_quotient_and_a_remainder_can_be_anything() {
    for op in [BinOp::FloorDiv, BinOp::TruncDiv, BinOp::FloorMod, BinOp::TruncRem] {
        asked(op, |a, b, found, _| {
            if b.0 <= 0 && 0 <= b.1 {
                assert_eq!(found, Range::of_type(DType::I32).unwrap(), "{op:?} {a:?} {b:?}");
            }
        });
    }
}

#[test]
fn bits_of_natural_numbers_are_bits_of_an_operand() {
    asked(BinOp::BitAnd, |a, b, found, _| {
        if a.0 >= 0 && b.0 >= 0 {
            assert_eq!((found.low, found.high), (0, a.1.min(b.1)), "{a:?} {b:?}");
        }
    });
    for op in [BinOp::BitOr, BinOp::BitXor] {
        asked(op, |a, b, found, _| {
            if a.0 >= 0 && b.0 >= 0 {
                let all_bits = [0, 1, 3, 3, 7, 7][a.1.max(b.1) as usize];
                assert_eq!((found.low, found.high), (0, all_bits), "{op:?} {a:?} {b:?}");
            }
        });
    }
}

#[test]
fn shifts_beyond_64_bits_are_not_computed() {
    for op in [BinOp::Shl, BinOp::Shr] {
        let by = |n: i128| binary(op, Range::new(1, 1), Range::new(n, n), DType::I32).unwrap();
        assert!(!by(63).data);
        assert_eq!(by(64), Range::of_type(DType::I32).unwrap());
    }
}

#[test]
fn a_type_has_its_limits() {
    let of = |t| Range::of_type(t).map(|r| (r.low, r.high, r.data));
    assert_eq!(of(DType::I8), Some((-128, 127, true)));
    assert_eq!(of(DType::U64), Some((0, u64::MAX.into(), true)));
    assert_eq!(of(DType::F32), None);
}

#[test]
fn a_union_has_the_values_of_both() {
    for (a, b) in ranges().flat_map(|a| ranges().map(move |b| (a, b))) {
        let all = Range::new(a.0, a.1).union(Range::new(b.0, b.1));
        assert_eq!((all.low, all.high), (a.0.min(b.0), a.1.max(b.1)), "{a:?} {b:?}");
        for (low, high) in ranges() {
            let values = (low..=high).filter(|v| (a.0..=a.1).contains(v)).count() as i128;
            assert_eq!(Range::new(a.0, a.1).is_within((low, high)), values == a.1 - a.0 + 1);
        }
    }
}

#[test]
fn what_is_made_of_data_is_data_and_what_is_made_of_a_wrapped_value_has_wrapped() {
    let plain = Range::constant(1);
    let data = Range { data: true, ..plain };
    let wrapped = Range { wrapped: Some((7, 9)), ..plain };
    for (a, b) in [(data, plain), (plain, data), (data, data)] {
        assert!(binary(BinOp::Add, a, b, DType::I32).unwrap().data && a.union(b).data);
    }
    for (a, b) in [(wrapped, plain), (plain, wrapped)] {
        let sum = binary(BinOp::Add, a, b, DType::I32).unwrap();
        assert_eq!((sum.wrapped, a.union(b).wrapped), (Some((7, 9)), Some((7, 9))));
    }
    // The first one is kept.
    let other = Range { wrapped: Some((1, 2)), ..plain };
    assert_eq!(wrapped.union(other).wrapped, Some((7, 9)));
}

/// Two truth values make one, which is data only if one of them is: what data are made of is not
/// always checked.
#[test]
fn what_is_made_of_truth_values_is_one() {
    for op in [BinOp::And, BinOp::Or] {
        let of = |data| {
            let truth = Range { data, ..Range::new(0, 1) };
            binary(op, truth, Range::new(0, 1), DType::Bool).unwrap()
        };
        assert_eq!(of(false), Range::new(0, 1), "{op:?}");
        assert_eq!(of(true), Range { data: true, ..Range::new(0, 1) }, "{op:?}");
    }
}
