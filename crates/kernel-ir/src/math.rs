//! The math functions that expressions may call.

/// A math function of the library. Arguments and result have one floating-point type, unless stated
/// otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MathFunction {
    /// Its name in kernel text.
    pub name: &'static str,
    /// The number of arguments that a call has to have.
    pub arity: usize,
    /// Whether it also works on integers.
    pub integers: bool,
    /// Whether the hardware has a fast approximation of it for f32.
    pub fast: bool,
}

const fn float(name: &'static str, arity: usize) -> MathFunction {
    MathFunction { name, arity, integers: false, fast: false }
}

const fn fast(name: &'static str, arity: usize) -> MathFunction {
    MathFunction { name, arity, integers: false, fast: true }
}

const fn any(name: &'static str, arity: usize) -> MathFunction {
    MathFunction { name, arity, integers: true, fast: false }
}

/// All math functions. `min` and `max` of floating-point values ignore NaN; `isnan` gives bool;
/// `lowest()` and `highest()` are the ends of the range of the type that the context wants.
pub const MATH_FUNCTIONS: &[MathFunction] = &[
    any("min", 2),
    any("max", 2),
    any("abs", 1),
    any("lowest", 0),
    any("highest", 0),
    float("isnan", 1),
    float("floor", 1),
    float("ceil", 1),
    float("round", 1),
    float("rint", 1),
    float("trunc", 1),
    float("sqrt", 1),
    float("rsqrt", 1),
    float("cbrt", 1),
    float("rcbrt", 1),
    fast("exp", 1),
    float("exp2", 1),
    float("exp10", 1),
    float("expm1", 1),
    fast("log", 1),
    fast("log2", 1),
    fast("log10", 1),
    float("log1p", 1),
    fast("sin", 1),
    fast("cos", 1),
    fast("tan", 1),
    float("sinpi", 1),
    float("cospi", 1),
    float("asin", 1),
    float("acos", 1),
    float("atan", 1),
    float("atan2", 2),
    float("sinh", 1),
    float("cosh", 1),
    float("tanh", 1),
    float("asinh", 1),
    float("acosh", 1),
    float("atanh", 1),
    float("erf", 1),
    float("erfc", 1),
    float("erfcx", 1),
    float("erfinv", 1),
    float("erfcinv", 1),
    float("normcdf", 1),
    float("normcdfinv", 1),
    float("lgamma", 1),
    float("tgamma", 1),
    float("bessel_j0", 1),
    float("bessel_j1", 1),
    float("bessel_y0", 1),
    float("bessel_y1", 1),
    fast("pow", 2),
    float("fmod", 2),
    float("fdim", 2),
    float("nextafter", 2),
    float("hypot", 2),
    float("fma", 3),
    float("copysign", 2),
    float("to_tf32", 1),
    float("truncate_to_tf32", 1),
];

/// The math function of this name.
pub fn math_function(name: &str) -> Option<&'static MathFunction> {
    MATH_FUNCTIONS.iter().find(|f| name == f.name)
}
