//! Operations on numbers: what the page says of integers, of floating-point values and of updates.

use loopwright_kernel_ir::{BinaryOp, DType, UpdateOp};

use super::{
    number::{Value, bits, round, wrap},
    types::{Stop, refuse},
};

/// What a target holds after an update.
pub fn updated(op: UpdateOp, old: Value, by: Value) -> Result<Value, Stop> {
    Ok(match (op, old, by) {
        (UpdateOp::Sum, Value::Int(t, a), Value::Int(_, b)) => Value::Int(t, wrap(t, a + b)),
        (UpdateOp::Min, Value::Int(t, a), Value::Int(_, b)) => Value::Int(t, a.min(b)),
        (UpdateOp::Max, Value::Int(t, a), Value::Int(_, b)) => Value::Int(t, a.max(b)),
        (UpdateOp::And, Value::Int(t, a), Value::Int(_, b)) => Value::Int(t, a & b),
        (UpdateOp::Or, Value::Int(t, a), Value::Int(_, b)) => Value::Int(t, a | b),
        (UpdateOp::Sum, Value::Float(t, a), Value::Float(_, b)) => {
            Value::Float(t, round(t, floats(t, BinaryOp::Add, a, b)?))
        }
        (UpdateOp::Min, Value::Float(t, a), Value::Float(_, b)) => {
            Value::Float(t, library(t, "min", &[a, b])?)
        }
        (UpdateOp::Max, Value::Float(t, a), Value::Float(_, b)) => {
            Value::Float(t, library(t, "max", &[a, b])?)
        }
        _ => return refuse("no such update"),
    })
}

/// Whether elements of a type have an update.
pub(super) fn has_update(t: DType, op: UpdateOp) -> bool {
    match t {
        DType::I32 | DType::U32 | DType::I64 | DType::U64 => true,
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 => !matches!(op, UpdateOp::And | UpdateOp::Or),
        _ => false,
    }
}

pub(super) fn compare<T: PartialOrd>(op: BinaryOp, x: &T, y: &T) -> bool {
    match op {
        BinaryOp::Lt => x < y,
        BinaryOp::Le => x <= y,
        BinaryOp::Gt => x > y,
        BinaryOp::Ge => x >= y,
        BinaryOp::Eq => x == y,
        _ => x != y,
    }
}

pub(super) fn floor_div(a: i128, b: i128) -> i128 {
    a / b - i128::from(a % b != 0 && (a % b < 0) != (b < 0))
}

pub(super) fn shift(t: DType, op: BinaryOp, a: i128, by: i128) -> i128 {
    match (op, (0..bits(t).into()).contains(&by)) {
        (BinaryOp::Shl, true) => wrap(t, a << by),
        (BinaryOp::Shr, true) => a >> by,
        (BinaryOp::Shr, false) if a < 0 => -1,
        _ => 0,
    }
}

pub(super) fn integers(t: DType, op: BinaryOp, a: i128, b: i128) -> Result<i128, Stop> {
    use BinaryOp::*;
    if b == 0 && matches!(op, FloorDiv | Mod) {
        return Err(Stop::Error);
    }
    Ok(match op {
        Add => wrap(t, a + b),
        Sub => wrap(t, a - b),
        // Congruent modulo two to the 128.
        Mul => wrap(t, a.wrapping_mul(b)),
        FloorDiv => wrap(t, floor_div(a, b)),
        Mod => a - floor_div(a, b) * b,
        BitAnd => a & b,
        BitOr => a | b,
        BitXor => a ^ b,
        _ => return refuse("/ of integers"),
    })
}

/// One operation of IEEE 754 in the type, f32 or f64.
pub(super) fn floats(t: DType, op: BinaryOp, a: f64, b: f64) -> Result<f64, Stop> {
    let (x, y) = (a as f32, b as f32);
    let (double, single) = match op {
        BinaryOp::Add => (a + b, x + y),
        BinaryOp::Sub => (a - b, x - y),
        BinaryOp::Mul => (a * b, x * y),
        BinaryOp::Div => (a / b, x / y),
        BinaryOp::FloorDiv => ((a / b).floor(), (x / y).floor()),
        _ => return Err(Stop::Unsaid("integer arithmetic on what is open, where a float is wanted".into())),
    };
    Ok(if t == DType::F64 { double } else { single.into() })
}

/// A function of the library, its result in the type.
pub(super) fn library(t: DType, function: &str, x: &[f64]) -> Result<f64, Stop> {
    let least = |a: f64, b: f64| match a.partial_cmp(&b) {
        None => {
            if a.is_nan() {
                b
            } else {
                a
            }
        }
        Some(std::cmp::Ordering::Equal) => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        Some(order) => {
            if order.is_lt() {
                a
            } else {
                b
            }
        }
    };
    let exact = match (function, x) {
        ("min", [a, b]) => least(*a, *b),
        ("max", [a, b]) => -least(-a, -b),
        ("abs", [a]) => a.abs(),
        ("floor", [a]) => a.floor(),
        ("ceil", [a]) => a.ceil(),
        ("trunc", [a]) => a.trunc(),
        ("round", [a]) => a.round(),
        // The even one of the two nearest, where there are two.
        ("rint", [a]) => {
            let odd = a.fract().abs() == 0.5 && a.round() % 2.0 != 0.0;
            (a.round() - if odd { a.signum() } else { 0.0 }).copysign(*a)
        }
        // Its sign would be that of a NaN.
        ("copysign", [_, b]) if b.is_nan() => return Err(Stop::Unsaid("the sign of a NaN".into())),
        ("copysign", [a, b]) => a.copysign(*b),
        // Eleven significant bits, ties away from zero; f32's denormals have fewer.
        ("to_tf32", [a]) => {
            let a = f64::from(*a as f32);
            let exponent = if a == 0.0 { -126 } else { (a.abs().log2().floor() as i32).max(-126) };
            let unit = 2f64.powi(exponent - 10);
            if a.is_finite() { f64::from(((a / unit).round() * unit) as f32) } else { a }
        }
        // Its payload decides whether it stays one.
        ("truncate_to_tf32", [a]) if a.is_nan() => {
            return Err(Stop::Unsaid("the payload of a NaN".into()));
        }
        ("truncate_to_tf32", [a]) => {
            let a = f64::from(*a as f32);
            let exponent = if a == 0.0 { -126 } else { (a.abs().log2().floor() as i32).max(-126) };
            let unit = 2f64.powi(exponent - 10);
            if a.is_finite() { (a / unit).trunc() * unit } else { a }
        }
        ("fmod", [a, b]) => a % b,
        ("nearbyint", [a]) => libm::rint(*a),
        ("remainder", [a, b]) => ieee_remainder(*a, *b),
        ("logb", [a]) if *a == 0.0 => f64::NEG_INFINITY,
        ("logb", [a]) if a.is_finite() => exponent(*a).into(),
        ("logb", [a]) => a.abs(),
        ("rhypot", [a, b]) => 1.0 / libm::hypot(*a, *b),
        ("norm3d", [a, b, c]) => length(&[*a, *b, *c]),
        ("rnorm3d", [a, b, c]) => 1.0 / length(&[*a, *b, *c]),
        ("norm4d", [a, b, c, d]) => length(&[*a, *b, *c, *d]),
        ("rnorm4d", [a, b, c, d]) => 1.0 / length(&[*a, *b, *c, *d]),
        ("fdim", [a, b]) if a.is_nan() || b.is_nan() => f64::NAN,
        ("fdim", [a, b]) if a <= b => 0.0,
        ("fdim", [a, b]) if t == DType::F64 => a - b,
        ("fdim", [a, b]) => f64::from(*a as f32 - *b as f32),
        ("nextafter", [a, b]) => neighbour(t, *a, *b),
        // With 53 bits, which is more than twice the 24 of f32 plus two, a square root may be
        // rounded twice.
        ("sqrt", [a]) => a.sqrt(),
        ("fma", [a, b, c]) if t == DType::F64 => a.mul_add(*b, *c),
        ("fma", [a, b, c]) => f64::from((*a as f32).mul_add(*b as f32, *c as f32)),
        ("rsqrt", [a]) => 1.0 / a.sqrt(),
        ("cbrt", [a]) => libm::cbrt(*a),
        ("rcbrt", [a]) => 1.0 / libm::cbrt(*a),
        ("exp", [a]) => a.exp(),
        ("exp2", [a]) => a.exp2(),
        ("exp10", [a]) => libm::exp10(*a),
        ("expm1", [a]) => a.exp_m1(),
        ("log", [a]) => a.ln(),
        ("log2", [a]) => a.log2(),
        ("log10", [a]) => a.log10(),
        ("log1p", [a]) => a.ln_1p(),
        ("sin", [a]) => a.sin(),
        ("cos", [a]) => a.cos(),
        ("tan", [a]) => a.tan(),
        ("sinpi", [a]) => sine_of_half_turns(*a),
        ("cospi", [a]) => sine_of_half_turns(0.5 - (a % 2.0).abs()),
        ("asin", [a]) => a.asin(),
        ("acos", [a]) => a.acos(),
        ("atan", [a]) => a.atan(),
        ("atan2", [a, b]) => a.atan2(*b),
        ("sinh", [a]) => a.sinh(),
        ("cosh", [a]) => a.cosh(),
        ("tanh", [a]) => a.tanh(),
        ("asinh", [a]) => libm::asinh(*a),
        ("acosh", [a]) if *a < 1.0 => f64::NAN,
        ("acosh", [a]) => libm::acosh(*a),
        ("atanh", [a]) => libm::atanh(*a),
        ("pow", [a, b]) => a.powf(*b),
        ("hypot", [a, b]) => a.hypot(*b),
        ("erf", [a]) => libm::erf(*a),
        ("erfc", [a]) => libm::erfc(*a),
        ("erfcx", [a]) => scaled_complement(*a),
        ("erfinv", [a]) if a.abs() < 0.5 => where_reached(a.abs(), libm::erf).copysign(*a),
        ("erfinv", [a]) => where_fallen(1.0 - a.abs()).copysign(*a),
        ("erfcinv", [a]) => inverse_complement(*a),
        ("normcdf", [a]) => normal(*a),
        ("normcdfinv", [a]) => -std::f64::consts::SQRT_2 * inverse_complement(2.0 * a),
        ("lgamma", [a]) => libm::lgamma(*a),
        ("tgamma", [a]) => libm::tgamma(*a),
        _ => return refuse(format!("{function}?")),
    };
    Ok(round(t, exact))
}

/// The exponent of the leading bit of a finite number other than 0.
pub(super) fn exponent(a: f64) -> i32 {
    let mut exponent = 0;
    let mut a = a.abs();
    while a >= 2.0 {
        a *= 0.5;
        exponent += 1;
    }
    while a < 1.0 {
        a *= 2.0;
        exponent -= 1;
    }
    exponent
}

/// `a` less the multiple of `b` that is nearest, of two the even one.
fn ieee_remainder(a: f64, b: f64) -> f64 {
    let b = b.abs();
    if b.is_infinite() && a.is_finite() {
        return a;
    }
    // Of two times `b`, so that it is known whether the multiple is even; enlarged, so that halves
    // are exact.
    let doubled = 2.0 * b;
    let large = if b < 1e-200 { 2f64.powi(200) } else { 1.0 };
    let rest = large * if doubled.is_finite() { a.abs() % doubled } else { a.abs() };
    let b = large * b;
    let near = match rest {
        _ if rest.is_nan() || b.is_nan() => return f64::NAN,
        rest if rest <= 0.5 * b => rest,
        rest if rest - b < 0.5 * b => rest - b,
        rest => (rest - b) - b,
    } / large;
    if near == 0.0 { near.copysign(a) } else { near * 1f64.copysign(a) }
}

/// The length of a vector, by the lengths of two.
fn length(parts: &[f64]) -> f64 {
    parts.iter().fold(0.0, |length, x| libm::hypot(length, *x))
}

/// The number of a type next to `a` on the side of `b`.
fn neighbour(t: DType, a: f64, b: f64) -> f64 {
    let up = b > a;
    match (a.partial_cmp(&b), t) {
        (None, _) => f64::NAN,
        (Some(std::cmp::Ordering::Equal), _) => b,
        (_, DType::F64) => {
            if up {
                a.next_up()
            } else {
                a.next_down()
            }
        }
        _ => f64::from(if up { (a as f32).next_up() } else { (a as f32).next_down() }),
    }
}

/// The least positive `x` for which a function that rises from zero is `y`, by halving.
fn where_reached(y: f64, f: fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0u64, 30f64.to_bits());
    while low < high {
        let middle = low + (high - low) / 2;
        if f(f64::from_bits(middle)) < y { low = middle + 1 } else { high = middle }
    }
    f64::from_bits(low)
}

/// The `x` from 0 on for which `erfc(x)` is `z`.
fn where_fallen(z: f64) -> f64 {
    match z {
        0.0 => f64::INFINITY,
        // Logarithms of what is subnormal.
        _ if z > 0.0 && z < 1e-290 => where_reached(-z.ln(), |x| x * x - scaled_complement(x).ln()),
        _ if z > 0.0 => where_reached(-z, |x| -libm::erfc(x)),
        _ => f64::NAN,
    }
}

fn inverse_complement(z: f64) -> f64 {
    match z {
        _ if z > 1.5 => -where_fallen(2.0 - z),
        _ if z > 1.0 => -where_reached(z - 1.0, libm::erf),
        _ if z > 0.5 => where_reached(1.0 - z, libm::erf),
        _ => where_fallen(z),
    }
}

/// `exp(x*x)`, of the 26 first bits of `x` and of the others.
fn exp_of_square(x: f64, by: f64) -> f64 {
    if x.abs() > 1e9 {
        return (by * x * x).exp();
    }
    let first = f64::from_bits(x.to_bits() & !((1 << 27) - 1));
    let rest = x - first;
    (by * first * first).exp() * (by * rest * (x + first)).exp()
}

/// `exp(x*x)*erfc(x)`; from 2 on as a continued fraction.
fn scaled_complement(x: f64) -> f64 {
    if x < 2.0 {
        let scale = exp_of_square(x, 1.0);
        return if scale.is_infinite() { scale } else { scale * libm::erfc(x) };
    }
    let mut fraction = x;
    for k in (1..400).rev() {
        fraction = x + f64::from(k) / 2.0 / fraction;
    }
    1.0 / (std::f64::consts::PI.sqrt() * fraction)
}

/// The normal distribution.
fn normal(x: f64) -> f64 {
    let at = x * std::f64::consts::FRAC_1_SQRT_2;
    if x > -1.0 || x.is_nan() {
        0.5 * libm::erfc(-at)
    } else {
        0.5 * exp_of_square(x, -0.5) * scaled_complement(-at)
    }
}

/// The sine of `pi*x`: of the angle between -pi/2 and pi/2 that has the same one.
fn sine_of_half_turns(x: f64) -> f64 {
    let mut x = x % 2.0;
    if x.abs() > 1.0 {
        x -= 2f64.copysign(x);
    }
    if x.abs() > 0.5 {
        x = 1f64.copysign(x) - x;
    }
    (std::f64::consts::PI * x).sin()
}
