//! The names of math functions in CUDA C.

use loopwright_kernel_ir::{DType, MathFunction, Precision};

/// The function's name for operands of this type, f32 or f64. The hardware's approximations exist
/// for f32 only.
pub(crate) fn function_name(function: &MathFunction, precision: Precision, dtype: DType) -> String {
    match (function.name, dtype, precision) {
        ("isnan", ..) => "isnan".into(),
        ("abs", DType::F64, _) => "fabs".into(),
        ("abs", ..) => "fabsf".into(),
        ("min" | "max", DType::F64, _) => format!("f{}", function.name),
        ("min" | "max", ..) => format!("f{}f", function.name),
        // The names of CUDA are those of many an iname.
        ("bessel_j0" | "bessel_j1" | "bessel_y0" | "bessel_y1", t, _) => {
            let end = if t == DType::F64 { "" } else { "f" };
            format!("{}{end}", function.name.trim_start_matches("bessel_"))
        }
        (name, DType::F64, _) => name.into(),
        (name, _, Precision::Fast) if function.fast => format!("__{name}f"),
        (name, ..) => format!("{name}f"),
    }
}
