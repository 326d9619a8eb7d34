//! The math functions that expressions may call.

use crate::DType;

/// What a math function gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MathResult {
    /// A number of the type of its operands.
    Operand,
    /// A truth value.
    Bool,
    /// An `i32`.
    Int,
}

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
    /// The number of the argument that is an `i32`, if there is one.
    pub integer: Option<usize>,
    /// What it gives.
    pub result: MathResult,
}

impl MathFunction {
    /// The type of an argument, where floating-point ones are of this type.
    pub fn operand(&self, argument: usize, operands: DType) -> DType {
        if self.integer == Some(argument) { DType::I32 } else { operands }
    }

    /// The type of its result, where floating-point arguments are of this type.
    pub fn result_of(&self, operands: DType) -> DType {
        match self.result {
            MathResult::Operand => operands,
            MathResult::Bool => DType::Bool,
            MathResult::Int => DType::I32,
        }
    }

    /// Of a list of all arguments, one that is not the `i32`.
    pub fn of_operands<'a, T>(&self, arguments: &'a [T]) -> Option<&'a T> {
        arguments.get(usize::from(self.integer == Some(0)))
    }
}

const fn float(name: &'static str, arity: usize) -> MathFunction {
    MathFunction { name, arity, integers: false, fast: false, integer: None, result: MathResult::Operand }
}

const fn fast(name: &'static str, arity: usize) -> MathFunction {
    MathFunction { fast: true, ..float(name, arity) }
}

const fn any(name: &'static str, arity: usize) -> MathFunction {
    MathFunction { integers: true, ..float(name, arity) }
}

/// A question about one floating-point value.
const fn truth(name: &'static str) -> MathFunction {
    MathFunction { result: MathResult::Bool, ..float(name, 1) }
}

/// A function of a floating-point value and of the integer with this number.
const fn with_integer(name: &'static str, integer: usize) -> MathFunction {
    MathFunction { integer: Some(integer), ..float(name, 2) }
}

/// All math functions. `min` and `max` of floating-point values ignore NaN;
/// `lowest()` and `highest()` are the ends of the range of the type that the context wants.
pub const MATH_FUNCTIONS: &[MathFunction] = &[
    any("min", 2),
    any("max", 2),
    any("abs", 1),
    any("lowest", 0),
    any("highest", 0),
    truth("isnan"),
    truth("isinf"),
    truth("isfinite"),
    truth("signbit"),
    float("floor", 1),
    float("ceil", 1),
    float("round", 1),
    float("rint", 1),
    float("nearbyint", 1),
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
    with_integer("bessel_jn", 0),
    with_integer("bessel_yn", 0),
    float("bessel_i0", 1),
    float("bessel_i1", 1),
    fast("pow", 2),
    float("fmod", 2),
    float("remainder", 2),
    float("fdim", 2),
    float("nextafter", 2),
    float("hypot", 2),
    float("rhypot", 2),
    float("norm3d", 3),
    float("rnorm3d", 3),
    float("norm4d", 4),
    float("rnorm4d", 4),
    with_integer("ldexp", 1),
    float("logb", 1),
    MathFunction { result: MathResult::Int, ..float("ilogb", 1) },
    float("fma", 3),
    float("copysign", 2),
    float("to_tf32", 1),
    float("truncate_to_tf32", 1),
];

/// The math function of this name.
pub fn math_function(name: &str) -> Option<&'static MathFunction> {
    MATH_FUNCTIONS.iter().find(|f| name == f.name)
}
