//! Kernels of complex numbers.

use loopwright_kernel_ir::{Arg, DType, Diagnostics, LoopKernel, Name, Type};

/// The type of complex numbers with this name, by the type of their parts.
pub fn complex_part(name: &str) -> Option<DType> {
    match name {
        "complex64" => Some(DType::F32),
        "complex128" => Some(DType::F64),
        _ => None,
    }
}

/// The text of a generated kernel in which these arguments are complex numbers instead of their
/// parts: `complex64` in place of `f32`, and `complex128` in place of `f64`.
///
/// A kernel itself knows pairs only, which reading the text makes of complex numbers
/// (`crates/kernel-ir/grammar.md`); so the result is the text.
///
/// # Errors
///
/// The expressions of the kernel mean nothing for complex numbers, such as `min` of them.
///
/// ```
/// use loopwright_generate::{copy, with_complex};
/// use loopwright_kernel_ir::DType::F32;
///
/// assert_eq!(with_complex(&copy("m, n", &[1, 0], F32)?, &["x", "out"])?, "\
/// kernel copy(x: complex64[m, n], out: complex64[n, m], m: i32, n: i32)
/// assume 0 <= m and 0 <= n
/// domain { [j, i] : 0 <= j < n and 0 <= i < m }
/// out[j, i] = x[i, j] {id=copy}
/// ");
/// # Ok::<(), loopwright_kernel_ir::Diagnostics>(())
/// ```
pub fn with_complex(kernel: &LoopKernel, arguments: &[&str]) -> Result<String, Diagnostics> {
    let mut data = (**kernel).clone();
    for arg in &mut data.args {
        if !arguments.contains(&&**arg.name()) {
            continue;
        }
        let dtype = match arg {
            Arg::Array(a) => &mut a.dtype,
            Arg::Scalar(s) => &mut s.dtype,
        };
        let name = if *dtype == Type::Known(DType::F64) { "complex128" } else { "complex64" };
        // In a text, it is a name like that of an open type.
        *dtype = Type::Open(Name::new(name));
    }
    let text = LoopKernel::from_data(data).to_string();
    let _ = LoopKernel::parse(&text)?;
    Ok(text)
}
