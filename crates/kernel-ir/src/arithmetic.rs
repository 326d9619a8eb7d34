//! Operations on single numbers, as the page on values (`values.md`) defines them: integers wrap in
//! their type, f32 and f64 round each operation once, library functions are computed in f64 and
//! rounded.
//!
//! Operands and result have the same type, except for comparisons: conversions are nodes of a
//! [`crate::Typed`] expression.

use crate::{BinaryOp, DType, Diagnostic, Number, UnaryOp, bessel, math_function, norms, special};

fn no_meaning(what: &str) -> Diagnostic {
    Diagnostic::new("type", format!("{what} has no meaning"))
}

/// The bits that an integer type keeps of a result.
fn wrapped(value: i128, dtype: DType) -> Number {
    Number::from_bits(dtype, value as u64)
}

/// The bits of an integer type.
fn bits(dtype: DType) -> i128 {
    8 * dtype.bytes() as i128
}

/// An operation on two numbers of one type; comparisons give bool. Both sides of `and` and `or`
/// have been evaluated.
///
/// Errors: `division-by-zero` for integers, `type` for an operation that numbers of this type do
/// not have.
pub fn binary(op: BinaryOp, a: Number, b: Number) -> Result<Number, Diagnostic> {
    let dtype = a.dtype();
    let meaningless = || no_meaning(&format!("{op:?} of {dtype}"));
    if dtype != b.dtype() {
        return Err(meaningless());
    }
    match (a, b) {
        (Number::F32(x), Number::F32(y)) => {
            let min_max = |v: f64| Some(Number::F32(v as f32));
            let exact = match op {
                BinaryOp::Add => Some(Number::F32(x + y)),
                BinaryOp::Sub => Some(Number::F32(x - y)),
                BinaryOp::Mul => Some(Number::F32(x * y)),
                BinaryOp::Div => Some(Number::F32(x / y)),
                BinaryOp::FloorDiv => min_max(f64::from((x / y).floor())),
                _ => op.compared(x, y).map(Number::Bool),
            };
            exact.ok_or_else(meaningless)
        }
        (Number::F64(x), Number::F64(y)) => match op {
            BinaryOp::Add => Ok(Number::F64(x + y)),
            BinaryOp::Sub => Ok(Number::F64(x - y)),
            BinaryOp::Mul => Ok(Number::F64(x * y)),
            BinaryOp::Div => Ok(Number::F64(x / y)),
            BinaryOp::FloorDiv => Ok(Number::F64((x / y).floor())),
            _ => op.compared(x, y).map(Number::Bool).ok_or_else(meaningless),
        },
        _ => {
            let (Some(x), Some(y)) = (a.as_i128(), b.as_i128()) else { return Err(meaningless()) };
            if let Some(truth) = op.compared(x, y) {
                return Ok(Number::Bool(truth));
            }
            if dtype == DType::Bool {
                return match op {
                    BinaryOp::And | BinaryOp::BitAnd => Ok(Number::Bool(x & y != 0)),
                    BinaryOp::Or | BinaryOp::BitOr => Ok(Number::Bool(x | y != 0)),
                    BinaryOp::BitXor => Ok(Number::Bool(x != y)),
                    _ => Err(meaningless()),
                };
            }
            integer(op, x, y, dtype)
        }
    }
}

impl BinaryOp {
    /// What a comparison says of two numbers; `None` for other operations.
    pub fn compared<T: PartialOrd>(self, a: T, b: T) -> Option<bool> {
        Some(match self {
            Self::Lt => a < b,
            Self::Le => a <= b,
            Self::Gt => a > b,
            Self::Ge => a >= b,
            Self::Eq => a == b,
            Self::Ne => a != b,
            _ => return None,
        })
    }
}

/// Integer arithmetic: the mathematical result, wrapped to the type.
fn integer(op: BinaryOp, x: i128, y: i128, dtype: DType) -> Result<Number, Diagnostic> {
    let inside = (0..bits(dtype)).contains(&y);
    Ok(match op {
        // A product of two 64-bit numbers fits into 128 bits, except for the greatest unsigned
        // ones, where it wraps to the same bits.
        BinaryOp::Add => wrapped(x + y, dtype),
        BinaryOp::Sub => wrapped(x - y, dtype),
        BinaryOp::Mul => wrapped(x.wrapping_mul(y), dtype),
        BinaryOp::FloorDiv | BinaryOp::Mod if y == 0 => {
            return Err(Diagnostic::new("division-by-zero", "an integer is divided by zero"));
        }
        BinaryOp::FloorDiv => {
            let quotient = x / y;
            wrapped(if x % y != 0 && (x < 0) != (y < 0) { quotient - 1 } else { quotient }, dtype)
        }
        BinaryOp::Mod => {
            let rest = x % y;
            wrapped(if rest != 0 && (rest < 0) != (y < 0) { rest + y } else { rest }, dtype)
        }
        BinaryOp::BitAnd => wrapped(x & y, dtype),
        BinaryOp::BitOr => wrapped(x | y, dtype),
        BinaryOp::BitXor => wrapped(x ^ y, dtype),
        BinaryOp::Shl => wrapped(if inside { x << y } else { 0 }, dtype),
        BinaryOp::Shr if inside => wrapped(x >> y, dtype),
        BinaryOp::Shr => wrapped(if x < 0 { -1 } else { 0 }, dtype),
        BinaryOp::Div => {
            return Err(Diagnostic::new("integer-division", "`/` is for floating-point values only")
                .help("write `//` for the quotient of integers, rounded down"));
        }
        _ => return Err(no_meaning(&format!("{op:?} of {dtype}"))),
    })
}

/// An operation on one number.
///
/// Errors: `type` for an operation that numbers of this type do not have.
pub fn unary(op: UnaryOp, a: Number) -> Result<Number, Diagnostic> {
    let dtype = a.dtype();
    match (op, a, a.as_i128()) {
        (UnaryOp::Neg, Number::F32(x), _) => Ok(Number::F32(-x)),
        (UnaryOp::Neg, Number::F64(x), _) => Ok(Number::F64(-x)),
        (UnaryOp::Not, Number::Bool(x), _) => Ok(Number::Bool(!x)),
        (UnaryOp::Neg, _, Some(x)) if dtype != DType::Bool => Ok(wrapped(-x, dtype)),
        (UnaryOp::BitNot, _, Some(x)) if dtype != DType::Bool => Ok(wrapped(!x, dtype)),
        _ => Err(no_meaning(&format!("{op:?} of {dtype}"))),
    }
}

/// The value with 10 bits of fraction, the tf32 of tensor cores, that is nearest to an f32; of two
/// the one of greater magnitude (`cvt.rna.tf32.f32`).
pub fn to_tf32(x: f32) -> f32 {
    if x.is_finite() { f32::from_bits((x.to_bits() + 0x1000) & !0x1fff) } else { x }
}

/// The value with 10 bits of fraction, the tf32 of tensor cores, that is nearest to an f32 toward
/// zero: the last 13 bits are cleared. An infinity if the payload of a NaN is in those bits alone.
pub fn truncate_to_tf32(x: f32) -> f32 {
    f32::from_bits(x.to_bits() & !0x1fff)
}

/// A library function of numbers of one type.
///
/// Errors: `type` for a function that is unknown or that numbers of this type do not have.
pub fn math(name: &str, args: &[Number]) -> Result<Number, Diagnostic> {
    let first = args.first().copied().ok_or_else(|| no_meaning(name))?;
    let dtype = first.dtype();
    if let Some(k) = math_function(name).and_then(|f| f.integer) {
        return with_integer(name, k, args);
    }
    if let Some(x) = first.as_i128() {
        let second = args.get(1).and_then(|b| b.as_i128());
        return match (name, second) {
            ("abs", _) => Ok(wrapped(x.abs(), dtype)),
            ("min", Some(y)) => Ok(wrapped(x.min(y), dtype)),
            ("max", Some(y)) => Ok(wrapped(x.max(y), dtype)),
            _ => Err(no_meaning(&format!("{name} of {dtype}"))),
        };
    }
    let value = |k: usize| args.get(k).map_or(f64::NAN, |a| a.as_f64());
    let (a, b, c) = (value(0), value(1), value(2));
    // min and max ignore NaN; the negative zero is smaller than the positive one.
    let smaller = |x: f64, y: f64| y.is_nan() || x < y || (x == y && x.is_sign_negative());
    let greater = |x: f64, y: f64| y.is_nan() || x > y || (x == y && x.is_sign_positive());
    let result = match name {
        "isnan" => return Ok(Number::Bool(a.is_nan())),
        "isinf" => return Ok(Number::Bool(a.is_infinite())),
        "isfinite" => return Ok(Number::Bool(a.is_finite())),
        "signbit" => return Ok(Number::Bool(a.is_sign_negative())),
        "ilogb" => return Ok(Number::I32(norms::ilogb(a))),
        "min" => {
            if smaller(a, b) {
                a
            } else {
                b
            }
        }
        "max" => {
            if greater(a, b) {
                a
            } else {
                b
            }
        }
        "abs" => a.abs(),
        "floor" => a.floor(),
        "ceil" => a.ceil(),
        "round" => a.round(),
        "rint" | "nearbyint" => a.round_ties_even(),
        "trunc" => a.trunc(),
        "sqrt" => a.sqrt(),
        "rsqrt" => 1.0 / a.sqrt(),
        // That of the C library errs by more than three units in the last place.
        "cbrt" => libm::cbrt(a),
        "rcbrt" => 1.0 / libm::cbrt(a),
        "exp" => a.exp(),
        "exp2" => a.exp2(),
        "exp10" => libm::exp10(a),
        "expm1" => a.exp_m1(),
        "log" => a.ln(),
        "log2" => a.log2(),
        "log10" => a.log10(),
        "log1p" => a.ln_1p(),
        "sin" => a.sin(),
        "cos" => a.cos(),
        "tan" => a.tan(),
        "sinpi" => sinpi(a),
        "cospi" => cospi(a),
        "asin" => a.asin(),
        "acos" => a.acos(),
        "atan" => a.atan(),
        "atan2" => a.atan2(b),
        "sinh" => a.sinh(),
        "cosh" => a.cosh(),
        "tanh" => a.tanh(),
        "asinh" => libm::asinh(a),
        "acosh" => acosh(a),
        "atanh" => libm::atanh(a),
        "erf" => libm::erf(a),
        "erfc" => libm::erfc(a),
        "erfcx" => special::erfcx(a),
        "erfinv" => special::erfinv(a),
        "erfcinv" => special::erfcinv(a),
        "normcdf" => special::normcdf(a),
        "normcdfinv" => special::normcdfinv(a),
        "bessel_j0" => libm::j0(a),
        "bessel_j1" => libm::j1(a),
        "bessel_y0" => libm::y0(a),
        "bessel_y1" => libm::y1(a),
        "bessel_i0" => bessel::bessel_i0(a),
        "bessel_i1" => bessel::bessel_i1(a),
        "lgamma" => libm::lgamma(a),
        "tgamma" => libm::tgamma(a),
        "pow" => a.powf(b),
        "fmod" => a % b,
        // Exact: a multiple of the last place of the smaller one.
        "remainder" => libm::remainder(a, b),
        // The difference in f64 would be rounded twice.
        "fdim" if dtype == DType::F32 => f64::from(libm::fdimf(a as f32, b as f32)),
        "fdim" => libm::fdim(a, b),
        "nextafter" if dtype == DType::F32 => f64::from(libm::nextafterf(a as f32, b as f32)),
        "nextafter" => libm::nextafter(a, b),
        "hypot" => a.hypot(b),
        "rhypot" => norms::inverse_norm(&[a, b]),
        "norm3d" => norms::norm(&[a, b, c]),
        "rnorm3d" => norms::inverse_norm(&[a, b, c]),
        "norm4d" => norms::norm(&[a, b, c, value(3)]),
        "rnorm4d" => norms::inverse_norm(&[a, b, c, value(3)]),
        "logb" => norms::logb(a),
        // In f64 the product of two f32 is exact, but the sum may round twice.
        "fma" if dtype == DType::F32 => f64::from((a as f32).mul_add(b as f32, c as f32)),
        "fma" => a.mul_add(b, c),
        "copysign" => a.copysign(b),
        "to_tf32" => f64::from(to_tf32(a as f32)),
        "truncate_to_tf32" => f64::from(truncate_to_tf32(a as f32)),
        _ => return Err(no_meaning(name)),
    };
    Ok(Number::F64(result).cast(dtype))
}

/// A function of a floating-point value and of an integer, the argument with this number.
fn with_integer(name: &str, integer: usize, args: &[Number]) -> Result<Number, Diagnostic> {
    let [n, x] = [integer, 1 - integer].map(|k| args.get(k).copied());
    let (Some(Number::I32(n)), Some(x)) = (n, x.filter(|x| x.dtype().is_float())) else {
        return Err(no_meaning(name));
    };
    let value = x.as_f64();
    let result = match name {
        "ldexp" => libm::scalbn(value, n),
        "bessel_jn" => libm::jn(n, value),
        "bessel_yn" => libm::yn(n, value),
        _ => return Err(no_meaning(name)),
    };
    Ok(Number::F64(result).cast(x.dtype()))
}

/// The inverse hyperbolic cosine, NaN below 1.
pub fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// The sine and the cosine of `pi*x`, of which the multiples of 1/2 are taken off exactly.
fn turned(x: f64) -> (f64, f64) {
    let x = x % 2.0;
    let halves = (2.0 * x).round();
    let (sin, cos) = (std::f64::consts::PI * (x - 0.5 * halves)).sin_cos();
    match (halves as i64).rem_euclid(4) {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

/// The sine of `pi*x`; zero, of the sign of `x`, where `x` is an integer.
pub fn sinpi(x: f64) -> f64 {
    if x % 1.0 == 0.0 { 0f64.copysign(x) } else { turned(x).0 }
}

/// The cosine of `pi*x`; the positive zero where it is zero.
pub fn cospi(x: f64) -> f64 {
    let cos = turned(x).1;
    if cos == 0.0 { 0.0 } else { cos }
}
