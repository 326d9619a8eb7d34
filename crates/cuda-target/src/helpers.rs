//! Device functions that printed text calls and CUDA C lacks.

use loopwright_kernel_ir::DType;

use crate::types::c_type;

/// What a kernel calls first that may be started before the launch ahead of it has ended.
pub(crate) const WAIT: &str = "wait_for_launch_ahead";

/// The definition of [`WAIT`].
pub(crate) fn wait() -> Vec<String> {
    vec![
        "// Waits for the end of the launch ahead of this one, and for what it writes. On sm_90 and later"
            .into(),
        "// a kernel can be started before that (programmatic stream serialization).".into(),
        format!("__device__ __forceinline__ void {WAIT}() {{"),
        "#if __CUDA_ARCH__ >= 900".into(),
        r#"    asm volatile("griddepcontrol.wait;" ::: "memory");"#.into(),
        "#endif".into(),
        "}".into(),
    ]
}

/// The definition of a helper, `floor_div` or `floor_mod`, for a signed type.
pub(crate) fn definition(name: &str, dtype: DType) -> Vec<String> {
    let t = c_type(dtype);
    let head = format!("__device__ __forceinline__ {t} {name}(const {t} a, const {t} b) {{");
    let (meaning, operation, result) = match name {
        "floor_div" => (
            "// The quotient rounded towards minus infinity.",
            format!("    const {t} quotient = a / b;"),
            "    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;",
        ),
        _ => (
            "// The remainder with the sign of the divisor.",
            format!("    const {t} rest = a % b;"),
            "    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;",
        ),
    };
    vec![meaning.into(), head, operation, result.into(), "}".into()]
}
