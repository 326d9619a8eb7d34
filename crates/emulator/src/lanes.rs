//! Operations on the lanes of a warp.
//!
//! Every function computes all lanes, active or not, in loops that compilers vectorise. Only
//! operations that could fault (division, checked overflow) consult the mask, and calls of
//! functions skip inactive lanes to save time. This file defines the emulator's semantics of each
//! operation of the lowered program.

use half::{bf16, f16};
use loopwright_kernel_ir::{DType, Number, arithmetic, bessel, norms, special};
use loopwright_program::{BinOp, UnOp};

use crate::{
    bytecode::MathFn,
    quick,
    words::{Lane, Narrow, Wide, active},
};

/// Why an operation has no value in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneFault {
    DivisionByZero(usize),
    Overflow(usize),
}

#[inline(always)]
fn map1<T: Lane, R: Lane, const W: usize>(a: &[T::Word; W], f: impl Fn(T) -> R) -> [R::Word; W] {
    let mut out = [R::Word::default(); W];
    for i in 0..W {
        out[i] = f(T::of(a[i])).word();
    }
    out
}

#[inline(always)]
fn map2<T: Lane, const W: usize>(a: &[T::Word; W], b: &[T::Word; W], f: impl Fn(T, T) -> T) -> [T::Word; W] {
    let mut out = [T::Word::default(); W];
    for i in 0..W {
        out[i] = f(T::of(a[i]), T::of(b[i])).word();
    }
    out
}

#[inline(always)]
fn test<T: Lane, const W: usize>(
    a: &[T::Word; W],
    b: &[T::Word; W],
    f: impl Fn(&T, &T) -> bool,
) -> Narrow<W> {
    let mut out = [0; W];
    for i in 0..W {
        out[i] = u32::from(f(&T::of(a[i]), &T::of(b[i])));
    }
    out
}

/// A comparison in each lane: 1 where it holds, else 0.
fn compare<T: Lane, const W: usize>(op: BinOp, a: &[T::Word; W], b: &[T::Word; W]) -> Narrow<W> {
    match op {
        BinOp::Lt => test::<T, _>(a, b, T::lt),
        BinOp::Le => test::<T, _>(a, b, T::le),
        BinOp::Gt => test::<T, _>(a, b, T::gt),
        BinOp::Ge => test::<T, _>(a, b, T::ge),
        BinOp::Eq => test::<T, _>(a, b, T::eq),
        _ => test::<T, _>(a, b, T::ne),
    }
}

/// Arithmetic of an integer type.
trait Integer: Lane + Ord {
    fn add(self, other: Self) -> (Self, bool);
    fn sub(self, other: Self) -> (Self, bool);
    fn mul(self, other: Self) -> (Self, bool);
    fn trunc_div(self, other: Self) -> Self;
    fn trunc_rem(self, other: Self) -> Self;
    fn floor_div(self, other: Self) -> Self;
    fn floor_mod(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn shl(self, other: Self) -> Self;
    fn shr(self, other: Self) -> Self;
    fn is_zero(self) -> bool;
}

macro_rules! integer {
    ($($type:ty, $signed:literal;)*) => {
        $(#[allow(unused_comparisons)]
        impl Integer for $type {
            #[inline(always)]
            fn add(self, other: Self) -> (Self, bool) {
                // Written so that it vectorises, unlike `overflowing_add`.
                let sum = self.wrapping_add(other);
                (sum, if $signed { ((self ^ sum) & (other ^ sum)) < 0 } else { sum < self })
            }
            #[inline(always)]
            fn sub(self, other: Self) -> (Self, bool) {
                let difference = self.wrapping_sub(other);
                (difference, if $signed { ((self ^ other) & (self ^ difference)) < 0 } else { self < other })
            }
            #[inline(always)]
            fn mul(self, other: Self) -> (Self, bool) { self.overflowing_mul(other) }
            #[inline(always)]
            fn trunc_div(self, other: Self) -> Self { self.wrapping_div(other) }
            #[inline(always)]
            fn trunc_rem(self, other: Self) -> Self { self.wrapping_rem(other) }
            #[inline(always)]
            fn floor_div(self, other: Self) -> Self {
                let (q, r) = (self.wrapping_div(other), self.wrapping_rem(other));
                if r != 0 && (r < 0) != (other < 0) { q.wrapping_sub(1) } else { q }
            }
            #[inline(always)]
            fn floor_mod(self, other: Self) -> Self {
                let r = self.wrapping_rem(other);
                if r != 0 && (r < 0) != (other < 0) { r.wrapping_add(other) } else { r }
            }
            #[inline(always)]
            fn and(self, other: Self) -> Self { self & other }
            #[inline(always)]
            fn or(self, other: Self) -> Self { self | other }
            #[inline(always)]
            fn xor(self, other: Self) -> Self { self ^ other }
            #[inline(always)]
            fn shl(self, other: Self) -> Self {
                // Amounts outside 0..bits (negative ones are huge) shift every bit out, as the
                // hardware does.
                let amount = other as u64;
                if amount < <$type>::BITS as u64 { self << amount } else { 0 }
            }
            #[inline(always)]
            fn shr(self, other: Self) -> Self {
                let amount = other as u64;
                if amount < <$type>::BITS as u64 {
                    self >> amount
                } else if $signed {
                    self >> (<$type>::BITS - 1)
                } else {
                    0
                }
            }
            #[inline(always)]
            fn is_zero(self) -> bool { self == 0 }
        })*
    };
}

integer! {
    i8, true; i16, true; i32, true; i64, true;
    u8, false; u16, false; u32, false; u64, false;
}

fn exactly<T: Integer, const W: usize>(
    a: &[T::Word; W],
    b: &[T::Word; W],
    mask: u64,
    exact: bool,
    f: impl Fn(T, T) -> (T, bool),
) -> Result<[T::Word; W], LaneFault> {
    if !exact {
        return Ok(map2::<T, _>(a, b, |a, b| f(a, b).0));
    }
    let mut out = [T::Word::default(); W];
    let mut any = false;
    for i in 0..W {
        let (value, over) = f(T::of(a[i]), T::of(b[i]));
        out[i] = value.word();
        any |= over;
    }
    if any && let Some(lane) = active(mask).find(|i| f(T::of(a[*i]), T::of(b[*i])).1) {
        return Err(LaneFault::Overflow(lane));
    }
    Ok(out)
}

fn divide<T: Integer, const W: usize>(
    a: &[T::Word; W],
    b: &[T::Word; W],
    mask: u64,
    f: impl Fn(T, T) -> T,
) -> Result<[T::Word; W], LaneFault> {
    let mut out = [T::Word::default(); W];
    for i in active(mask) {
        let divisor = T::of(b[i]);
        if divisor.is_zero() {
            return Err(LaneFault::DivisionByZero(i));
        }
        out[i] = f(T::of(a[i]), divisor).word();
    }
    Ok(out)
}

/// Arithmetic on integers, other than comparisons.
fn arithmetic<T: Integer, const W: usize>(
    op: BinOp,
    a: &[T::Word; W],
    b: &[T::Word; W],
    mask: u64,
    exact: bool,
) -> Result<[T::Word; W], LaneFault> {
    Ok(match op {
        BinOp::Add => exactly::<T, _>(a, b, mask, exact, T::add)?,
        BinOp::Sub => exactly::<T, _>(a, b, mask, exact, T::sub)?,
        BinOp::Mul => exactly::<T, _>(a, b, mask, exact, T::mul)?,
        BinOp::FloorDiv => divide::<T, _>(a, b, mask, T::floor_div)?,
        BinOp::FloorMod => divide::<T, _>(a, b, mask, T::floor_mod)?,
        BinOp::TruncDiv => divide::<T, _>(a, b, mask, T::trunc_div)?,
        BinOp::TruncRem => divide::<T, _>(a, b, mask, T::trunc_rem)?,
        BinOp::Min => map2::<T, _>(a, b, Ord::min),
        BinOp::Max => map2::<T, _>(a, b, Ord::max),
        BinOp::BitAnd => map2::<T, _>(a, b, T::and),
        BinOp::BitOr => map2::<T, _>(a, b, T::or),
        BinOp::BitXor => map2::<T, _>(a, b, T::xor),
        BinOp::Shl => map2::<T, _>(a, b, T::shl),
        // The code generator produces no other operation.
        _ => map2::<T, _>(a, b, T::shr),
    })
}

macro_rules! float_arithmetic {
    ($name:ident, $type:ty, $word:ty) => {
        fn $name<const W: usize>(op: BinOp, a: &[$word; W], b: &[$word; W]) -> [$word; W] {
            match op {
                BinOp::Add => map2::<$type, _>(a, b, |a, b| a + b),
                BinOp::Sub => map2::<$type, _>(a, b, |a, b| a - b),
                BinOp::Mul => map2::<$type, _>(a, b, |a, b| a * b),
                BinOp::Div => map2::<$type, _>(a, b, |a, b| a / b),
                // A NaN operand loses; of two zeros, the negative one is smaller.
                BinOp::Min => map2::<$type, _>(a, b, |a, b| {
                    if b.is_nan() || a < b || (a == b && a.is_sign_negative()) { a } else { b }
                }),
                _ => map2::<$type, _>(a, b, |a, b| {
                    if b.is_nan() || a > b || (a == b && a.is_sign_positive()) { a } else { b }
                }),
            }
        }
    };
}

float_arithmetic!(arithmetic_f32, f32, u32);
float_arithmetic!(arithmetic_f64, f64, u64);

/// A binary operation on values of up to 32 bits, including comparisons.
pub(crate) fn binary_narrow<const W: usize>(
    op: BinOp,
    dtype: DType,
    a: &Narrow<W>,
    b: &Narrow<W>,
    mask: u64,
    exact: bool,
) -> Result<Narrow<W>, LaneFault> {
    if op.is_comparison() {
        return Ok(match dtype {
            DType::F32 => compare::<f32, _>(op, a, b),
            DType::I8 | DType::I16 | DType::I32 => compare::<i32, _>(op, a, b),
            _ => compare::<u32, _>(op, a, b),
        });
    }
    match dtype {
        DType::F32 => Ok(arithmetic_f32(op, a, b)),
        DType::I32 => match quick::divide_by_power(op, a, b, mask) {
            Some(out) => Ok(out),
            None => arithmetic::<i32, _>(op, a, b, mask, exact),
        },
        DType::U32 => arithmetic::<u32, _>(op, a, b, mask, exact),
        DType::I8 => arithmetic::<i8, _>(op, a, b, mask, exact),
        DType::I16 => arithmetic::<i16, _>(op, a, b, mask, exact),
        DType::U8 => arithmetic::<u8, _>(op, a, b, mask, exact),
        DType::U16 => arithmetic::<u16, _>(op, a, b, mask, exact),
        _ => Ok(match op {
            BinOp::And | BinOp::BitAnd | BinOp::Min => map2::<u32, _>(a, b, |a, b| a & b),
            BinOp::BitXor => map2::<u32, _>(a, b, |a, b| a ^ b),
            _ => map2::<u32, _>(a, b, |a, b| a | b),
        }),
    }
}

/// Arithmetic on 64-bit values.
pub(crate) fn binary_wide<const W: usize>(
    op: BinOp,
    dtype: DType,
    a: &Wide<W>,
    b: &Wide<W>,
    mask: u64,
    exact: bool,
) -> Result<Wide<W>, LaneFault> {
    match dtype {
        DType::F64 => Ok(arithmetic_f64(op, a, b)),
        DType::I64 => arithmetic::<i64, _>(op, a, b, mask, exact),
        _ => arithmetic::<u64, _>(op, a, b, mask, exact),
    }
}

/// Comparisons of 64-bit values.
pub(crate) fn compare_wide<const W: usize>(op: BinOp, dtype: DType, a: &Wide<W>, b: &Wide<W>) -> Narrow<W> {
    match dtype {
        DType::F64 => compare::<f64, _>(op, a, b),
        DType::I64 => compare::<i64, _>(op, a, b),
        _ => compare::<u64, _>(op, a, b),
    }
}

/// A unary operation on a value of up to 32 bits.
pub(crate) fn unary_narrow<const W: usize>(
    op: UnOp,
    dtype: DType,
    a: &Narrow<W>,
    mask: u64,
    exact: bool,
) -> Result<Narrow<W>, LaneFault> {
    Ok(match (op, dtype) {
        (UnOp::Not, _) => map1::<u32, u32, _>(a, |a| u32::from(a == 0)),
        (UnOp::Neg, DType::F32) => map1::<f32, f32, _>(a, |a| -a),
        (UnOp::Neg, _) => return binary_narrow(BinOp::Sub, dtype, &[0; W], a, mask, exact),
        (UnOp::BitNot, DType::Bool) => map1::<u32, u32, _>(a, |a| a ^ 1),
        (UnOp::BitNot, _) => return binary_narrow(BinOp::BitXor, dtype, &[u32::MAX; W], a, mask, exact),
    })
}

/// A unary operation on a 64-bit value.
pub(crate) fn unary_wide<const W: usize>(
    op: UnOp,
    dtype: DType,
    a: &Wide<W>,
    mask: u64,
    exact: bool,
) -> Result<Wide<W>, LaneFault> {
    match (op, dtype) {
        (UnOp::Neg, DType::F64) => Ok(map1::<f64, f64, _>(a, |a| -a)),
        (UnOp::Neg, _) => binary_wide(BinOp::Sub, dtype, &[0; W], a, mask, exact),
        _ => binary_wide(BinOp::BitXor, dtype, &[u64::MAX; W], a, mask, exact),
    }
}

/// The number in one lane of a register of either file.
pub(crate) fn number(dtype: DType, word: u64) -> Number {
    Number::from_bits(dtype, word)
}

/// The register word for a number of up to 32 bits.
pub(crate) fn narrow_word(value: Number) -> u32 {
    match value {
        Number::I8(v) => v.word(),
        Number::I16(v) => v.word(),
        v => v.bits() as u32,
    }
}

/// Conversions within the file of 32-bit words.
pub(crate) fn cast_narrow<const W: usize>(from: DType, to: DType, a: &Narrow<W>) -> Narrow<W> {
    use DType::*;
    match (from, to) {
        (I32, F32) => map1::<i32, f32, _>(a, |a| a as f32),
        (F16, F32) => map1::<u32, f32, _>(a, |a| f16::from_bits(a as u16).to_f32()),
        (BF16, F32) => map1::<u32, f32, _>(a, |a| bf16::from_bits(a as u16).to_f32()),
        (F32, F16) => map1::<f32, u32, _>(a, |a| f16::from_f32(a).to_bits().into()),
        (F32, BF16) => map1::<f32, u32, _>(a, |a| bf16::from_f32(a).to_bits().into()),
        (F32, I32) => map1::<f32, i32, _>(a, |a| a as i32),
        (I32 | U32, I32 | U32) | (Bool, I8 | I16 | I32 | U8 | U16 | U32) => *a,
        _ => map1::<u32, u32, _>(a, |a| narrow_word(number(from, a.into()).cast(to))),
    }
}

/// Conversions from 32-bit to 64-bit words.
pub(crate) fn cast_widen<const W: usize>(from: DType, to: DType, a: &Narrow<W>) -> Wide<W> {
    use DType::*;
    match (from, to) {
        (I8 | I16 | I32, I64 | U64) => map1::<i32, i64, _>(a, i64::from),
        (Bool | U8 | U16 | U32, I64 | U64) => map1::<u32, u64, _>(a, u64::from),
        (F32, F64) => map1::<f32, f64, _>(a, f64::from),
        (I8 | I16 | I32, F64) => map1::<i32, f64, _>(a, f64::from),
        _ => map1::<u32, u64, _>(a, |a| number(from, a.into()).cast(to).bits()),
    }
}

/// Conversions from 64-bit to 32-bit words.
pub(crate) fn cast_shorten<const W: usize>(from: DType, to: DType, a: &Wide<W>) -> Narrow<W> {
    use DType::*;
    match (from, to) {
        (I64 | U64, I32 | U32) => map1::<u64, u32, _>(a, |a| a as u32),
        (F64, F32) => map1::<f64, f32, _>(a, |a| a as f32),
        _ => map1::<u64, u32, _>(a, |a| narrow_word(number(from, a).cast(to))),
    }
}

/// Conversions within the file of 64-bit words.
pub(crate) fn cast_wide<const W: usize>(from: DType, to: DType, a: &Wide<W>) -> Wide<W> {
    use DType::*;
    match (from, to) {
        (I64 | U64, I64 | U64) => *a,
        (I64, F64) => map1::<i64, f64, _>(a, |a| a as f64),
        _ => map1::<u64, u64, _>(a, |a| number(from, a).cast(to).bits()),
    }
}

/// A function that is computed in f64 for both types, and rounded for f32.
fn in_double(function: fn(f64) -> f64, a: f64) -> f64 {
    function(a)
}

macro_rules! math {
    ($name:ident, $type:ty, $erf:path, $erfc:path, $fdim:path, $nextafter:path) => {
        /// A math function of floating-point values; those beyond the operands that it takes are
        /// ignored. What gives no such value, or takes an integer, is computed elsewhere.
        fn $name(function: MathFn, [a, b, c, d]: [$type; 4]) -> $type {
            let [wide_a, wide_b, wide_c, wide_d]: [f64; 4] = [a, b, c, d].map(Into::into);
            match function {
                MathFn::Abs => a.abs(),
                MathFn::IsNan
                | MathFn::IsInf
                | MathFn::IsFinite
                | MathFn::SignBit
                | MathFn::Ilogb
                | MathFn::Ldexp
                | MathFn::BesselJn
                | MathFn::BesselYn => <$type>::NAN,
                MathFn::BesselI0 => in_double(bessel::bessel_i0, wide_a) as $type,
                MathFn::BesselI1 => in_double(bessel::bessel_i1, wide_a) as $type,
                MathFn::Logb => in_double(norms::logb, wide_a) as $type,
                MathFn::Remainder => libm::remainder(wide_a, wide_b) as $type,
                MathFn::Rhypot => norms::inverse_norm(&[wide_a, wide_b]) as $type,
                MathFn::Norm3d => norms::norm(&[wide_a, wide_b, wide_c]) as $type,
                MathFn::Rnorm3d => norms::inverse_norm(&[wide_a, wide_b, wide_c]) as $type,
                MathFn::Norm4d => norms::norm(&[wide_a, wide_b, wide_c, wide_d]) as $type,
                MathFn::Rnorm4d => norms::inverse_norm(&[wide_a, wide_b, wide_c, wide_d]) as $type,
                MathFn::Floor => a.floor(),
                MathFn::Ceil => a.ceil(),
                MathFn::Round => a.round(),
                MathFn::Trunc => a.trunc(),
                MathFn::Sqrt => a.sqrt(),
                MathFn::Rsqrt => 1.0 / a.sqrt(),
                MathFn::Cbrt => in_double(libm::cbrt, a.into()) as $type,
                MathFn::Rcbrt => in_double(|a| 1.0 / libm::cbrt(a), a.into()) as $type,
                MathFn::Exp => a.exp(),
                MathFn::Exp2 => a.exp2(),
                MathFn::Expm1 => a.exp_m1(),
                MathFn::Log => a.ln(),
                MathFn::Log2 => a.log2(),
                MathFn::Log10 => a.log10(),
                MathFn::Log1p => a.ln_1p(),
                MathFn::Sin => a.sin(),
                MathFn::Cos => a.cos(),
                MathFn::Tan => a.tan(),
                MathFn::Asin => a.asin(),
                MathFn::Acos => a.acos(),
                MathFn::Atan => a.atan(),
                MathFn::Atan2 => a.atan2(b),
                MathFn::Sinh => a.sinh(),
                MathFn::Cosh => a.cosh(),
                MathFn::Tanh => a.tanh(),
                MathFn::Erf => $erf(a),
                MathFn::Erfc => $erfc(a),
                MathFn::Exp10 => in_double(libm::exp10, a.into()) as $type,
                MathFn::Sinpi => in_double(arithmetic::sinpi, a.into()) as $type,
                MathFn::Cospi => in_double(arithmetic::cospi, a.into()) as $type,
                MathFn::Asinh => in_double(libm::asinh, a.into()) as $type,
                MathFn::Acosh => in_double(arithmetic::acosh, a.into()) as $type,
                MathFn::Atanh => in_double(libm::atanh, a.into()) as $type,
                MathFn::Lgamma => in_double(libm::lgamma, a.into()) as $type,
                MathFn::Tgamma => in_double(libm::tgamma, a.into()) as $type,
                MathFn::Erfcx => in_double(special::erfcx, a.into()) as $type,
                MathFn::Erfinv => in_double(special::erfinv, a.into()) as $type,
                MathFn::Erfcinv => in_double(special::erfcinv, a.into()) as $type,
                MathFn::Normcdf => in_double(special::normcdf, a.into()) as $type,
                MathFn::Normcdfinv => in_double(special::normcdfinv, a.into()) as $type,
                MathFn::BesselJ0 => in_double(libm::j0, a.into()) as $type,
                MathFn::BesselJ1 => in_double(libm::j1, a.into()) as $type,
                MathFn::BesselY0 => in_double(libm::y0, a.into()) as $type,
                MathFn::BesselY1 => in_double(libm::y1, a.into()) as $type,
                MathFn::Rint => a.round_ties_even(),
                MathFn::Fdim => $fdim(a, b),
                MathFn::Nextafter => $nextafter(a, b),
                MathFn::Pow => a.powf(b),
                MathFn::Fmod => a % b,
                MathFn::Hypot => a.hypot(b),
                MathFn::Fma => a.mul_add(b, c),
                MathFn::Copysign => a.copysign(b),
                #[allow(clippy::unnecessary_cast, reason = "one of the two types is f32")]
                MathFn::ToTf32 => arithmetic::to_tf32(a as f32).into(),
                #[allow(clippy::unnecessary_cast, reason = "one of the two types is f32")]
                MathFn::TruncateToTf32 => arithmetic::truncate_to_tf32(a as f32).into(),
            }
        }
    };
}

math!(math_f32, f32, libm::erff, libm::erfcf, libm::fdimf, libm::nextafterf);
math!(math_f64, f64, libm::erf, libm::erfc, libm::fdim, libm::nextafter);

/// What a function asks of a number: 0 or 1, or the exponent's bits.
fn classified(function: MathFn, a: f64) -> u32 {
    match function {
        MathFn::IsInf => a.is_infinite().into(),
        MathFn::IsFinite => a.is_finite().into(),
        MathFn::SignBit => a.is_sign_negative().into(),
        MathFn::Ilogb => norms::ilogb(a).cast_unsigned(),
        _ => a.is_nan().into(),
    }
}

/// A function of a number and of an integer.
fn of_int(function: MathFn, a: f64, k: i32) -> f64 {
    match function {
        MathFn::Ldexp => libm::scalbn(a, k),
        MathFn::BesselJn => libm::jn(k, a),
        _ => libm::yn(k, a),
    }
}

/// A math function of an f32 and of an integer in each lane.
pub(crate) fn math_of_int_narrow<const W: usize>(
    function: MathFn,
    a: &Narrow<W>,
    k: &Narrow<W>,
) -> Narrow<W> {
    std::array::from_fn(|i| {
        let value = of_int(function, f32::from_bits(a[i]).into(), k[i].cast_signed());
        (value as f32).to_bits()
    })
}

/// A math function of an f64 and of an integer in each lane.
pub(crate) fn math_of_int_wide<const W: usize>(function: MathFn, a: &Wide<W>, k: &Narrow<W>) -> Wide<W> {
    std::array::from_fn(|i| of_int(function, f64::from_bits(a[i]), k[i].cast_signed()).to_bits())
}

/// A math function of f32 values, or `abs` of integers of up to 32 bits, or a question about f32.
pub(crate) fn math_narrow<const W: usize>(
    function: MathFn,
    dtype: DType,
    args: [&Narrow<W>; 4],
    mask: u64,
) -> Narrow<W> {
    let a = args[0];
    let mut out = [0; W];
    if dtype != DType::F32 {
        let signed = !dtype.is_unsigned();
        return map1::<u32, u32, _>(a, |a| match number(dtype, a.into()).as_i64() {
            Some(v) if signed && v < 0 => narrow_word(Number::I64(-v).cast(dtype)),
            _ => a,
        });
    }
    if function.gives_narrow() {
        // `ilogb` of a subnormal f32 is that of the number, which f64 holds.
        return map1::<f32, u32, _>(a, |a| classified(function, a.into()));
    }
    for i in active(mask) {
        out[i] = math_f32(function, args.map(|a| f32::from_bits(a[i]))).to_bits();
    }
    out
}

/// What a function asks of an f64 in each lane.
pub(crate) fn classified_wide<const W: usize>(function: MathFn, a: &Wide<W>) -> Narrow<W> {
    map1::<f64, u32, _>(a, |a| classified(function, a))
}

/// A math function of f64 values, or `abs` of 64-bit integers.
pub(crate) fn math_wide<const W: usize>(
    function: MathFn,
    dtype: DType,
    args: [&Wide<W>; 4],
    mask: u64,
) -> Wide<W> {
    let a = args[0];
    let mut out = [0; W];
    match dtype {
        DType::I64 => return map1::<i64, i64, _>(a, i64::wrapping_abs),
        DType::U64 => return *a,
        _ => {}
    }
    for i in active(mask) {
        out[i] = math_f64(function, args.map(|a| f64::from_bits(a[i]))).to_bits();
    }
    out
}
