//! Operations on numbers, by `values.md`.

use std::collections::BTreeSet;

use loopwright_kernel_ir::DType;

use super::{Num, binary, binary_each, cast, hash, unary};
use crate::{BinOp, UnOp};

/// Of a value whose bits have all been shifted out, its sign is left, if it is shifted to the
/// right.
#[test]
fn shifts_by_all_bits_or_a_negative_number_leave_the_sign_at_most() {
    let shifted =
        |op, value| [-1, 32, 40].map(|by| binary(op, DType::I32, Num::Int(value), Num::Int(by)).int());
    assert_eq!(shifted(BinOp::Shr, -5), [Some(-1); 3]);
    assert_eq!(shifted(BinOp::Shr, 5), [Some(0); 3]);
    assert_eq!(shifted(BinOp::Shr, 0), [Some(0); 3]);
    assert_eq!(shifted(BinOp::Shl, -5), [Some(0); 3]);
    assert_eq!(shifted(BinOp::Shl, 5), [Some(0); 3]);
    let by_most = |op, value| binary(op, DType::I32, Num::Int(value), Num::Int(31)).int();
    assert_eq!([by_most(BinOp::Shl, 1), by_most(BinOp::Shr, 1 << 30)], [Some(i32::MIN.into()), Some(0)]);
    assert_eq!(binary(BinOp::Shr, DType::I32, Num::Int(1 << 30), Num::Int(20)).int(), Some(1 << 10));
}

/// What is computed for many at once is what is computed for each.
#[test]
fn operations_on_many_numbers_are_those_on_each() {
    let ops = [
        BinOp::Add,
        BinOp::Sub,
        BinOp::Mul,
        BinOp::Div,
        BinOp::FloorDiv,
        BinOp::FloorMod,
        BinOp::TruncDiv,
        BinOp::TruncRem,
        BinOp::Min,
        BinOp::Max,
        BinOp::Lt,
        BinOp::Le,
        BinOp::Gt,
        BinOp::Ge,
        BinOp::Eq,
        BinOp::Ne,
        BinOp::And,
        BinOp::Or,
        BinOp::BitAnd,
        BinOp::BitOr,
        BinOp::BitXor,
        BinOp::Shl,
        BinOp::Shr,
    ];
    for dtype in DType::ALL {
        let bits = |v: i64| Num::Int(super::wrapped(dtype, v.into()));
        let mut numbers: Vec<Num> =
            [0, 1, 2, 3, 7, 31, -1, -2, -5, 100, 127, 128, 255, 1 << 31, i64::MAX, i64::MIN].map(bits).into();
        if dtype.is_float() {
            numbers = [0.0, -0.0, 1.5, -3.0, f64::INFINITY].map(Num::Float).into();
        }
        numbers.push(Num::Nothing);
        let pairs: Vec<(Num, Num)> =
            numbers.iter().flat_map(|a| numbers.iter().map(move |b| (*a, *b))).collect();
        for op in ops {
            let mut found: Vec<Num> = pairs.iter().map(|(a, _)| *a).collect();
            binary_each(op, dtype, &mut found, |k| pairs[k].1);
            for ((a, b), found) in pairs.iter().zip(found) {
                let wanted = binary(op, dtype, *a, *b);
                // By their bits: a quotient by zero is equal to itself.
                assert_eq!(
                    format!("{found:?}"),
                    format!("{wanted:?}"),
                    "{op:?} of {a:?} and {b:?} as {dtype:?}"
                );
            }
        }
    }
}

#[test]
fn a_negation_turns_the_sign_and_wraps_at_the_least_integer() {
    let negative = |dtype, value| unary(UnOp::Neg, dtype, value);
    assert_eq!(negative(DType::F32, Num::Float(2.5)), Num::Float(-2.5));
    assert_eq!(negative(DType::F64, Num::Float(-0.5)), Num::Float(0.5));
    assert_eq!(negative(DType::I32, Num::Int(7)), Num::Int(-7));
    assert_eq!(negative(DType::I32, Num::Int(i32::MIN.into())), Num::Int(i32::MIN.into()));
    assert_eq!(negative(DType::I8, Num::Int(-128)), Num::Int(-128));
    assert_eq!(negative(DType::U8, Num::Int(1)), Num::Int(255));
    assert_eq!(negative(DType::I32, Num::Nothing), Num::Nothing);
}

/// Of numbers that are rounded in other orders, one part in ten million may differ.
#[test]
fn floats_agree_up_to_one_part_in_ten_million() {
    let agree = |a: f64, b: f64| [Num::Float(a).agrees(Num::Float(b)), Num::Float(b).agrees(Num::Float(a))];
    // A ten-millionth of it is 1 exactly.
    let most = 1e7;
    assert_eq!(1e-7 * most, 1.0);
    for sign in [1.0, -1.0] {
        assert_eq!(agree(sign * most, sign * (most - 1.0)), [true; 2]);
        assert_eq!(agree(sign * most, sign * (most - 1.001)), [false; 2]);
    }
    assert_eq!(agree(most, -most), [false; 2]);
    assert_eq!(agree(0.0, 1e-300), [false; 2]);
    for same in [0.0, f64::INFINITY, f64::NAN] {
        assert_eq!(agree(same, same), [true; 2]);
    }
    assert_eq!(agree(f64::NAN, 1.0), [false; 2]);
    assert!(!Num::Int(1).agrees(Num::Float(1.0)));
}

/// Drawn numbers are told apart, and neither vanish nor overflow in products of many.
#[test]
fn drawn_floats_lie_around_one_on_either_side_of_zero() {
    let drawn: Vec<f64> = (0..1000)
        .map(|k| match Num::drawn(DType::F64, hash([k])) {
            Num::Float(v) => v,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(drawn.iter().all(|v| (0.5..2.0).contains(&v.abs())));
    for within in [0.5..0.7, 0.9..1.1, 1.8..2.0, -0.7..-0.5, -1.1..-0.9, -2.0..-1.8] {
        assert!(drawn.iter().any(|v| within.contains(v)), "none in {within:?}");
    }
    let bits: BTreeSet<u64> = drawn.iter().map(|v| v.to_bits()).collect();
    assert_eq!(bits.len(), drawn.len());
}

/// What Rust's own arithmetic of a type makes of two numbers.
macro_rules! of_type {
    ($dtype:expr, $t:ty) => {
        for (a, b) in (<$t>::MIN..=<$t>::MAX).flat_map(|a| (<$t>::MIN..=<$t>::MAX).map(move |b| (a, b))) {
            let floor = (f64::from(a) / f64::from(b)).floor();
            let modulus = f64::from(a) - f64::from(b) * floor;
            let by = u32::try_from(b).unwrap_or(u32::MAX);
            let some = |v: $t| Some(i64::from(v));
            let is = |truth: bool| Some(i64::from(truth));
            let divided = |v: f64| (b != 0).then_some(i64::from(v as i16 as $t));
            for (op, expected) in [
                (BinOp::Add, some(a.wrapping_add(b))),
                (BinOp::Sub, some(a.wrapping_sub(b))),
                (BinOp::Mul, some(a.wrapping_mul(b))),
                (BinOp::FloorDiv, divided(floor)),
                (BinOp::FloorMod, divided(modulus)),
                (BinOp::TruncDiv, (b != 0).then(|| a.wrapping_div(b).into())),
                (BinOp::TruncRem, (b != 0).then(|| a.wrapping_rem(b).into())),
                (BinOp::Min, some(a.min(b))),
                (BinOp::Max, some(a.max(b))),
                (BinOp::And, is(a != 0 && b != 0)),
                (BinOp::Or, is(a != 0 || b != 0)),
                (BinOp::BitAnd, some(a & b)),
                (BinOp::BitOr, some(a | b)),
                (BinOp::BitXor, some(a ^ b)),
                (BinOp::Shl, some(a.checked_shl(by).unwrap_or(0))),
                (BinOp::Shr, some(a.checked_shr(by).unwrap_or(a >> 7 >> 1))),
                (BinOp::Lt, is(a < b)),
                (BinOp::Le, is(a <= b)),
                (BinOp::Gt, is(a > b)),
                (BinOp::Ge, is(a >= b)),
                (BinOp::Eq, is(a == b)),
                (BinOp::Ne, is(a != b)),
            ] {
                let found = binary(op, $dtype, Num::Int(a.into()), Num::Int(b.into()));
                assert_eq!(found.int(), expected, "{op:?} of {a} and {b} in {:?}", $dtype);
            }
        }
        for a in <$t>::MIN..=<$t>::MAX {
            let of = |op| unary(op, $dtype, Num::Int(a.into())).int();
            assert_eq!(of(UnOp::Neg), Some(a.wrapping_neg().into()));
            assert_eq!(of(UnOp::BitNot), Some((!a).into()));
            assert_eq!(of(UnOp::Not), Some((a == 0).into()));
            for (to, expected) in [
                (DType::I8, i64::from(a as i8)),
                (DType::U8, i64::from(a as u8)),
                (DType::U16, i64::from(a as u16)),
                (DType::U32, i64::from(a as u32)),
                (DType::I64, i64::from(a)),
                (DType::Bool, i64::from(a != 0)),
            ] {
                assert_eq!(cast($dtype, to, Num::Int(a.into())), Num::Int(expected), "{a} as {to:?}");
            }
            assert_eq!(cast($dtype, DType::F32, Num::Int(a.into())), Num::Float(a.into()));
        }
    };
}

#[test]
fn operations_on_bytes_are_those_of_the_type() {
    of_type!(DType::I8, i8);
    of_type!(DType::U8, u8);
}

#[test]
fn of_64_bits_without_a_sign_the_greatest_is_no_negative_number() {
    let of = |op, a: u64, b: u64| binary(op, DType::U64, Num::Int(a as i64), Num::Int(b as i64)).int();
    assert_eq!(of(BinOp::Lt, u64::MAX, 1), Some(0));
    assert_eq!(of(BinOp::Max, u64::MAX, 1), Some(u64::MAX as i64));
    assert_eq!(of(BinOp::FloorDiv, u64::MAX, 2), Some(i64::MAX));
    assert_eq!(of(BinOp::Shr, u64::MAX, 1), Some(i64::MAX));
    assert_eq!(of(BinOp::Mul, u64::MAX, u64::MAX), Some(1));
}

#[test]
fn operations_on_floats_are_those_of_f64() {
    let of = |op, a, b| binary(op, DType::F32, Num::Float(a), Num::Float(b));
    for (a, b) in [(7.5, 2.0), (-7.5, 2.0), (2.0, 7.5), (0.25, -0.75), (3.0, 3.0)] {
        for (op, expected) in [
            (BinOp::Add, a + b),
            (BinOp::Sub, a - b),
            (BinOp::Mul, a * b),
            (BinOp::Div, a / b),
            (BinOp::FloorDiv, f64::floor(a / b)),
            (BinOp::Min, if a < b { a } else { b }),
            (BinOp::Max, if a < b { b } else { a }),
        ] {
            assert_eq!(of(op, a, b), Num::Float(expected), "{op:?} of {a} and {b}");
        }
        for (op, expected) in [
            (BinOp::Lt, a < b),
            (BinOp::Le, a <= b),
            (BinOp::Gt, a > b),
            (BinOp::Ge, a >= b),
            (BinOp::Eq, a == b),
            (BinOp::Ne, a != b),
        ] {
            assert_eq!(of(op, a, b), Num::Int(expected.into()), "{op:?} of {a} and {b}");
        }
    }
    assert_eq!(of(BinOp::Shl, 1.0, 2.0), Num::Nothing);
    assert_eq!(binary(BinOp::Add, DType::F32, Num::Float(1.0), Num::Int(1)), Num::Nothing);
}

#[test]
fn conversions_go_to_the_nearest_number_of_a_type() {
    // Floating-point numbers are kept as they are: they are compared with a tolerance.
    assert_eq!(cast(DType::F32, DType::F64, Num::Float(0.1)), Num::Float(0.1));
    assert_eq!(cast(DType::F64, DType::F32, Num::Float(0.1)), Num::Float(0.1));
    assert_eq!(cast(DType::F32, DType::I32, Num::Float(-2.75)), Num::Int(-2));
    assert_eq!(cast(DType::F64, DType::Bool, Num::Float(0.5)), Num::Int(1));
    assert_eq!(cast(DType::I32, DType::F32, Num::Int(-3)), Num::Float(-3.0));
    assert_eq!(cast(DType::U64, DType::F64, Num::Int(-1)), Num::Float(u64::MAX as f64));
    assert_eq!(cast(DType::I32, DType::I16, Num::Int(40_000)), Num::Int(40_000 - 65_536));
    assert_eq!(cast(DType::I64, DType::I32, Num::Int(1 << 31)), Num::Int(-(1 << 31)));
    assert_eq!(cast(DType::I32, DType::U64, Num::Int(-1)), Num::Int(-1));
    assert_eq!(cast(DType::F32, DType::I32, Num::Nothing), Num::Nothing);
}

/// Of each type: all of a range around zero, or from zero on.
#[test]
fn drawn_integers_go_through_a_range_of_their_type() {
    let drawn =
        |dtype| -> BTreeSet<i64> { (0..20_000).filter_map(|k| Num::drawn(dtype, hash([k])).int()).collect() };
    assert_eq!(drawn(DType::Bool), (0..=1).collect());
    for dtype in [DType::U8, DType::U32, DType::U64] {
        assert_eq!(drawn(dtype), (0..=100).collect(), "{dtype:?}");
    }
    for dtype in [DType::I8, DType::I32, DType::I64] {
        assert_eq!(drawn(dtype), (-99..=99).collect(), "{dtype:?}");
    }
}

/// The first numbers of splitmix64 that begins with 0, as its authors have them.
#[test]
fn a_hash_is_the_finaliser_of_splitmix64() {
    assert_eq!(hash([0x9e37_79b9_7f4a_7c15]), 0xe220_a839_7b1d_cdaf);
    assert_eq!(hash([0]), 0x6e78_9e6a_a1b9_65f4);
    let names: BTreeSet<u64> = ["a", "b", "ab", "ba", ""].map(super::hash_of_name).into();
    assert_eq!(names.len(), 5);
}

/// Equal operands give equal results, others give others.
#[test]
fn a_function_of_the_users_tells_its_operands_apart() {
    let of = |name, args: &[Num]| super::unknown_function(name, DType::F64, args);
    let (one, two, half) = (Num::Int(1), Num::Int(2), Num::Float(0.5));
    assert_eq!(of("f", &[one, half]), of("f", &[one, half]));
    for (name, args) in [("g", [one, half]), ("f", [two, half]), ("f", [half, one]), ("f", [one, one])] {
        assert_ne!(of("f", &[one, half]), of(name, &args), "{name} {args:?}");
    }
    assert_eq!(of("f", &[one, Num::Nothing]), Num::Nothing);
    let square_root = |arg| super::math("sqrt", DType::F64, &[arg]);
    assert_eq!(square_root(Num::Float(6.25)), Num::Float(2.5));
    assert_eq!(square_root(Num::Nothing), Num::Nothing);
    assert_eq!(super::math("abs", DType::I32, &[Num::Int(-7)]), Num::Int(7));
}
