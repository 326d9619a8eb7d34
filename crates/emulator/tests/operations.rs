//! Every operation in every type against Rust's own scalars.

use crate::common;
use common::*;
use half::{bf16, f16};
use loopwright_emulator::{Arguments, Checks, Options, run};
use loopwright_kernel_ir::{Buffer, DType, Element, Number};
use loopwright_program::*;
use proptest::prelude::*;

/// The values that one thread stores, for each of 32 pairs of operands.
fn evaluate(of: DType, to: DType, x: &Buffer, y: &Buffer, make: impl Fn(Value, Value) -> Value) -> Buffer {
    let operand = |n| load(of, at(Memory::Global(n), tid(0)));
    let value = make(operand(0), operand(1));
    let k =
        kernel([int(1), int(1), int(1)], [32, 1, 1], vec![store(at(Memory::Global(2), tid(0)), value, 0)]);
    let n = || vec![int(32)];
    let p = program(vec![global("x", of, n()), global("y", of, n()), global("out", to, n())], &[], k);
    let mut args =
        Arguments::new().array("x", x.clone()).array("y", y.clone()).output("out", Buffer::zeros(to, 32));
    run(&p, &mut args, &Options { checks: Checks::ALL, ..Options::default() }).unwrap();
    args.buffer("out").unwrap().clone()
}

fn check<T: Element, R: Element>(
    (a, b): (&[T], &[T]),
    make: impl Fn(Value, Value) -> Value,
    scalar: impl Fn(T, T) -> R,
    what: &str,
) {
    let found = evaluate(T::DTYPE, R::DTYPE, &Buffer::from_slice(a), &Buffer::from_slice(b), make);
    let is_nan = |n: Number| n.as_i128().is_none() && n.as_f64().is_nan();
    for i in 0..32 {
        let (found, expected) = (found.get(i).unwrap(), scalar(a[i], b[i]).number());
        let (x, y) = (a[i].number(), b[i].number());
        assert!(
            found == expected || (is_nan(found) && is_nan(expected)),
            "{what} of {x} and {y}: {found} instead of {expected}"
        );
    }
}

macro_rules! integers {
    ($name:ident, $t:ty) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(12))]
            #[test]
            fn $name(
                a in prop::collection::vec(prop_oneof![any::<$t>(), Just(<$t>::MIN), Just(<$t>::MAX), 0..=3 as $t], 32),
                b in prop::collection::vec(prop_oneof![any::<$t>(), Just(<$t>::MIN), Just(<$t>::MAX), 0..=3 as $t], 32),
            ) {
                let bits = <$t>::BITS as i128;
                let wide = |f: fn(i128, i128) -> i128| move |x: $t, y: $t| f(x as i128, y as i128) as $t;
                let both = (&a[..], &b[..]);
                let op = |op| move |x, y| bin(op, x, y);
                check(both, op(BinOp::Add), <$t>::wrapping_add, "add");
                check(both, op(BinOp::Sub), <$t>::wrapping_sub, "sub");
                check(both, op(BinOp::Mul), <$t>::wrapping_mul, "mul");
                check(both, op(BinOp::Min), Ord::min, "min");
                check(both, op(BinOp::Max), Ord::max, "max");
                check(both, op(BinOp::BitAnd), |x, y| x & y, "and");
                check(both, op(BinOp::BitOr), |x, y| x | y, "or");
                check(both, op(BinOp::BitXor), |x, y| x ^ y, "xor");
                check(both, op(BinOp::Lt), |x, y| x < y, "lt");
                check(both, op(BinOp::Le), |x, y| x <= y, "le");
                check(both, op(BinOp::Gt), |x, y| x > y, "gt");
                check(both, op(BinOp::Ge), |x, y| x >= y, "ge");
                check(both, op(BinOp::Eq), |x, y| x == y, "eq");
                check(both, op(BinOp::Ne), |x, y| x != y, "ne");
                let shift = |left: bool| move |x: $t, y: $t| {
                    let inside = (0..bits).contains(&(y as i128));
                    match (left, inside) {
                        (true, true) => ((x as i128) << y as u32) as $t,
                        (true, false) => 0,
                        (false, true) => (x as i128 >> y as u32) as $t,
                        #[allow(unused_comparisons)]
                        (false, false) => if x < 0 { (0 as $t).wrapping_sub(1) } else { 0 },
                    }
                };
                check(both, op(BinOp::Shl), shift(true), "shl");
                check(both, op(BinOp::Shr), shift(false), "shr");
                let unary = |op| move |x: Value, _| Value { dtype: x.dtype, kind: ValueKind::Unary(op, x.into()) };
                check(both, unary(UnOp::Neg), |x, _| x.wrapping_neg(), "neg");
                check(both, unary(UnOp::BitNot), |x, _| !x, "not");
                let zeros = |bits: i32, x: u64| bits - (0..bits).filter(|bit| x >> bit != 0).count() as i32;
                check(both, |x, _| x.cast(DType::U32).leading_zeros(), |x, _| zeros(32, x as u32 as u64), "clz");
                check(both, |x, _| x.cast(DType::U64).leading_zeros(), |x, _| zeros(64, x as u64), "clzll");
                let nonzero: Vec<$t> = b.iter().map(|y| if *y == 0 { 1 } else { *y }).collect();
                let both = (&a[..], &nonzero[..]);
                check(both, op(BinOp::TruncDiv), <$t>::wrapping_div, "div");
                check(both, op(BinOp::TruncRem), <$t>::wrapping_rem, "rem");
                check(both, op(BinOp::FloorDiv), wide(|x, y| if y > 0 { x.div_euclid(y) } else { (-x).div_euclid(-y) }), "floor div");
                check(both, op(BinOp::FloorMod), wide(|x, y| if y > 0 { x.rem_euclid(y) } else { -(-x).rem_euclid(-y) }), "floor mod");
                check(both, |x, _| x.cast(DType::F32), |x, _| x as f32, "to f32");
                check(both, |x, _| x.cast(DType::F64), |x, _| x as f64, "to f64");
                check(both, |x, _| x.cast(DType::I8), |x, _| x as i8, "to i8");
                check(both, |x, _| x.cast(DType::U16), |x, _| x as u16, "to u16");
                check(both, |x, _| x.cast(DType::I32), |x, _| x as i32, "to i32");
                check(both, |x, _| x.cast(DType::U64), |x, _| x as u64, "to u64");
                check(both, |x, _| x.cast(DType::Bool), |x, _| x != 0, "to bool");
            }
        }
    };
}

integers!(i8_as_rust_has_it, i8);
integers!(i16_as_rust_has_it, i16);
integers!(i32_as_rust_has_it, i32);
integers!(i64_as_rust_has_it, i64);
integers!(u8_as_rust_has_it, u8);
integers!(u16_as_rust_has_it, u16);
integers!(u32_as_rust_has_it, u32);
integers!(u64_as_rust_has_it, u64);

macro_rules! floats {
    ($name:ident, $t:ident) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(12))]
            #[test]
            fn $name(
                a in prop::collection::vec(prop_oneof![any::<$t>(), -4.0..4.0 as $t, Just($t::NAN), Just(-0.0 as $t)], 32),
                b in prop::collection::vec(prop_oneof![any::<$t>(), -4.0..4.0 as $t, Just($t::INFINITY), Just(0.0 as $t)], 32),
            ) {
                let both = (&a[..], &b[..]);
                let op = |op| move |x, y| bin(op, x, y);
                check(both, op(BinOp::Add), |x, y| x + y, "add");
                check(both, op(BinOp::Sub), |x, y| x - y, "sub");
                check(both, op(BinOp::Mul), |x, y| x * y, "mul");
                check(both, op(BinOp::Div), |x, y| x / y, "div");
                check(both, op(BinOp::Lt), |x, y| x < y, "lt");
                check(both, op(BinOp::Ne), |x, y| x != y, "ne");
                // Zeros are distinguished by their signs, as in `total_cmp`.
                let pick = |least: bool| move |x: $t, y: $t| match (x.is_nan(), y.is_nan()) {
                    (true, _) => y,
                    (_, true) => x,
                    _ => if (x.total_cmp(&y).is_lt()) == least { x } else { y },
                };
                check(both, op(BinOp::Min), pick(true), "min");
                check(both, op(BinOp::Max), pick(false), "max");
                check(both, |x, _| x.cast(DType::I32), |x, _| x as i32, "to i32");
                check(both, |x, _| x.cast(DType::U8), |x, _| x as u8, "to u8");
                check(both, |x, _| x.cast(DType::I64), |x, _| x as i64, "to i64");
                check(both, |x, _| x.cast(DType::Bool), |x, _| x != 0.0, "to bool");
                let unary: &[(&str, fn($t) -> $t)] = &[
                    ("abs", $t::abs), ("floor", $t::floor), ("ceil", $t::ceil), ("round", $t::round),
                    ("trunc", $t::trunc), ("sqrt", $t::sqrt), ("exp", $t::exp),
                    ("exp2", $t::exp2), ("expm1", $t::exp_m1), ("log", $t::ln), ("log2", $t::log2),
                    ("log10", $t::log10), ("log1p", $t::ln_1p), ("sin", $t::sin), ("cos", $t::cos),
                    ("tan", $t::tan), ("asin", $t::asin), ("acos", $t::acos), ("atan", $t::atan),
                    ("sinh", $t::sinh), ("cosh", $t::cosh), ("tanh", $t::tanh),
                    ("rsqrt", |x| 1.0 / x.sqrt()),
                ];
                for (name, f) in unary {
                    check(both, |x, _| call(x.dtype, name, vec![x]), |x, _| f(x), name);
                }
                let binary: &[(&str, fn($t, $t) -> $t)] = &[
                    ("atan2", $t::atan2), ("pow", $t::powf), ("fmod", |x, y| x % y),
                    ("hypot", $t::hypot), ("copysign", $t::copysign),
                ];
                for (name, f) in binary {
                    check(both, |x, y| call(x.dtype, name, vec![x, y]), f, name);
                }
                check(both, |x, y| call(x.dtype, "fma", vec![x.clone(), y, x]), |x, y| x.mul_add(y, x), "fma");
                check(both, |x, _| call(DType::Bool, "isnan", vec![x]), |x, _| x.is_nan(), "isnan");
                check(both, |x, _| call(DType::Bool, "isinf", vec![x]), |x, _| x.is_infinite(), "isinf");
                check(both, |x, _| call(DType::Bool, "isfinite", vec![x]), |x, _| x.is_finite(), "isfinite");
                let negative = |x: $t, _: $t| x.is_sign_negative();
                check(both, |x, _| call(DType::Bool, "signbit", vec![x]), negative, "signbit");
            }
        }
    };
}

floats!(f32_as_rust_has_it, f32);
floats!(f64_as_rust_has_it, f64);

/// Functions that Rust has not, or not as exactly, to the digits of published tables.
#[test]
fn special_functions_have_their_published_values() {
    for (name, x, value) in [
        ("erf", 1.0, 0.842_700_792_949_714_9),
        ("erfc", 1.0, 0.157_299_207_050_285_13),
        ("lgamma", 0.5, 0.572_364_942_924_700_1),
        ("lgamma", -0.5, 1.265_512_123_484_645_4),
        ("tgamma", 0.5, 1.772_453_850_905_516),
        ("tgamma", -1.5, 2.363_271_801_207_355),
        ("asinh", 1.0, 0.881_373_587_019_543),
        ("acosh", 2.0, 1.316_957_896_924_816_7),
        ("atanh", 0.5, 0.549_306_144_334_054_8),
        ("exp10", 0.5, 3.162_277_660_168_379_5),
        ("exp10", -3.0, 0.001),
        ("cbrt", 27.0, 3.0),
        ("cbrt", -0.001, -0.1),
        ("rcbrt", 8.0, 0.5),
        ("rint", 2.5, 2.0),
        ("rint", -3.5, -4.0),
        ("erfcx", 1.0, 0.427_583_576_155_807),
        ("erfcx", 30.0, 0.018_795_888_861_416_75),
        ("erfinv", 0.5, 0.476_936_276_204_469_9),
        ("erfinv", -0.999, -2.326_753_765_513_525),
        ("erfcinv", 0.25, 0.813_419_847_597_618_5),
        ("erfcinv", 1e-100, 15.065_574_702_592_645),
        ("normcdf", 1.96, 0.975_002_104_851_779_5),
        ("normcdf", -10.0, 7.619_853_024_160_527e-24),
        ("normcdfinv", 0.975, 1.959_963_984_540_054),
        ("bessel_j0", 1.0, 0.765_197_686_557_966_6),
        ("bessel_j1", 1.0, 0.440_050_585_744_933_5),
        ("bessel_y0", 1.0, 0.088_256_964_215_676_97),
        ("bessel_y1", 1.0, -0.781_212_821_300_288_7),
        ("bessel_i0", 1.0, 1.266_065_877_752_008_4),
        ("bessel_i1", 1.0, 0.565_159_103_992_485_1),
        ("bessel_i0", -2.5, 3.289_839_144_050_123),
        ("nearbyint", 0.5, 0.0),
        ("logb", -0.3, -2.0),
        ("sinpi", 0.25, std::f64::consts::FRAC_1_SQRT_2),
        ("sinpi", 1e15 + 0.5, 1.0),
        ("sinpi", -7.0, 0.0),
        ("sinpi", -1.0 / 6.0, -0.5),
        ("cospi", 1.0, -1.0),
        ("cospi", 2.5, 0.0),
        ("cospi", -1.0 / 3.0, 0.5),
        ("cospi", 0.75, -std::f64::consts::FRAC_1_SQRT_2),
    ] {
        let x = vec![x; 32];
        let found =
            evaluate(DType::F64, DType::F64, &Buffer::from_slice(&x), &Buffer::from_slice(&x), |x, _| {
                call(DType::F64, name, vec![x])
            });
        let found = found.get(0).unwrap().as_f64();
        assert!((found - value).abs() <= 4e-15 * value.abs().min(0.5), "{name}({}) = {found}", x[0]);
    }
    for (name, k, x, value) in [
        ("bessel_jn", 3, 2.0, 0.128_943_249_474_402_06),
        ("bessel_yn", 2, 2.0, -0.617_408_104_190_682_7),
        ("ldexp", -3, 5.0, 0.625),
    ] {
        let x = vec![x; 32];
        let found =
            evaluate(DType::F64, DType::F64, &Buffer::from_slice(&x), &Buffer::from_slice(&x), |x, _| {
                let args = if name == "ldexp" { vec![x, int(k)] } else { vec![int(k), x] };
                call(DType::F64, name, args)
            });
        let found = found.get(0).unwrap().as_f64();
        assert!((found - value).abs() <= 4e-15 * value.abs(), "{name}({k}) = {found}");
    }
    for below in [0.5, -2.0, -16000.0] {
        let x = vec![below; 32];
        let found =
            evaluate(DType::F64, DType::F64, &Buffer::from_slice(&x), &Buffer::from_slice(&x), |x, _| {
                call(DType::F64, "acosh", vec![x])
            });
        assert!(found.get(0).unwrap().as_f64().is_nan(), "acosh({below}) is not defined");
    }
}

proptest! {
    #[test]
    fn halves_round_once(bits in prop::collection::vec(any::<u16>(), 32), wide in prop::collection::vec(any::<f32>(), 32)) {
        let h: Vec<f16> = bits.iter().map(|b| f16::from_bits(*b)).collect();
        let b: Vec<bf16> = bits.iter().map(|b| bf16::from_bits(*b)).collect();
        check((&h, &h), |x, _| x.cast(DType::F32), |x, _| x.to_f32(), "f16 to f32");
        check((&b, &b), |x, _| x.cast(DType::F32), |x, _| x.to_f32(), "bf16 to f32");
        check((&wide, &wide), |x, _| x.cast(DType::F16), |x, _| f16::from_f32(x), "f32 to f16");
        check((&wide, &wide), |x, _| x.cast(DType::BF16), |x, _| bf16::from_f32(x), "f32 to bf16");
        check((&h, &h), |x, y| bin(BinOp::Mul, x, y), |x, y| f16::from_f32(x.to_f32() * y.to_f32()), "f16 product");
    }

    #[test]
    fn choices_and_logic_are_lazy(x in prop::collection::vec(-2i32..3, 32), y in prop::collection::vec(-2i32..3, 32)) {
        let (zero, seven) = (|| int(0), || int(7));
        let quotient = move |y: Value| bin(BinOp::FloorDiv, seven(), y);
        let is = |a: Value, b: Value| bin(BinOp::Eq, a, b);
        check((&x, &y), |x, y| select(is(y.clone(), zero()), x, quotient(y)), |x, y| if y == 0 { x } else { 7i32.div_euclid(y.abs()) * y.signum() - i32::from(y < 0 && 7 % y != 0) }, "select");
        check((&x, &y), |x, y| bin(BinOp::And, bin(BinOp::Ne, y.clone(), zero()), lt(quotient(y), x)), |x, y: i32| y != 0 && (7.0 / f64::from(y)).floor() < f64::from(x), "and");
        check((&x, &y), |x, y| bin(BinOp::Or, is(y.clone(), zero()), lt(quotient(y), x)), |x, y: i32| y == 0 || (7.0 / f64::from(y)).floor() < f64::from(x), "or");
    }
}
