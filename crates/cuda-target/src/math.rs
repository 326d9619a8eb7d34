//! The names of math functions in CUDA C.

use loopwright_kernel_ir::{DType, MathFunction, Precision};

/// The function's name for operands of this type, f32 or f64. The hardware's approximations exist
/// for f32 only.
pub(crate) fn function_name(function: &MathFunction, precision: Precision, dtype: DType) -> String {
    // CUDA's names of these are those of many an iname.
    let name = function.name.strip_prefix("bessel_").unwrap_or(function.name);
    match (name, dtype, precision) {
        ("isnan" | "isinf" | "isfinite" | "signbit", ..) => name.into(),
        ("i0" | "i1", DType::F64, _) => format!("cyl_bessel_{name}"),
        ("i0" | "i1", ..) => format!("cyl_bessel_{name}f"),
        ("abs", DType::F64, _) => "fabs".into(),
        ("abs", ..) => "fabsf".into(),
        ("min" | "max", DType::F64, _) => format!("f{name}"),
        ("min" | "max", ..) => format!("f{name}f"),
        (name, DType::F64, _) => name.into(),
        (name, _, Precision::Fast) if function.fast => format!("__{name}f"),
        (name, ..) => format!("{name}f"),
    }
}
