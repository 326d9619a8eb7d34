//! Device functions that the printed text calls and CUDA C lacks.

use loopwright_kernel_ir::{DType, UpdateScope};

use crate::types::{c_type, vector_type};

/// The first call of a kernel that may start before the preceding launch has ended.
pub(crate) const WAIT: &str = "wait_for_launch_ahead";

/// The definition of [`WAIT`].
pub(crate) fn wait() -> Vec<String> {
    vec![
        "// Waits for the end of the launch ahead of this one, and for what it writes. On sm_90 \
         and later"
            .into(),
        "// a kernel can be started before that (programmatic stream serialization).".into(),
        format!("__device__ __forceinline__ void {WAIT}() {{"),
        "#if __CUDA_ARCH__ >= 900".into(),
        r#"    asm volatile("griddepcontrol.wait;" ::: "memory");"#.into(),
        "#endif".into(),
        "}".into(),
    ]
}

/// Stores an element or a vector of an array whose stores are issued in waves.
pub(crate) const WAVES: &str = "store_in_waves";

/// The definition of [`WAVES`] for `lanes` elements of a type; `index` is the type of offsets.
pub(crate) fn waves(dtype: DType, lanes: u8, index: DType) -> Option<Vec<String>> {
    let t = match lanes {
        1 => c_type(dtype).to_string(),
        _ => vector_type(dtype, lanes)?,
    };
    let bits = |kind: &str| format!("reinterpret_cast<const {kind} &>(value)");
    // The instruction's vector suffix, its operands, and how the value is passed to it.
    let (kind, operands, value) = match dtype.bytes() * usize::from(lanes) {
        2 => ("b16", "%1", format!(r#""h"({})"#, bits("unsigned short"))),
        4 if dtype == DType::F32 => ("b32", "%1", r#""r"(__float_as_uint(value))"#.to_owned()),
        4 => ("b32", "%1", format!(r#""r"({})"#, bits("unsigned int"))),
        8 => ("b64", "%1", format!(r#""l"({})"#, bits("unsigned long long"))),
        16 => {
            let word = |part: char| format!(r#""r"({}.{part})"#, bits("uint4"));
            ("v4.b32", "{%1, %2, %3, %4}", ['x', 'y', 'z', 'w'].map(word).join(", "))
        }
        _ => return None,
    };
    let policy = if kind.starts_with('v') { "%5" } else { "%2" };
    let window = if lanes == 1 { "window".to_string() } else { format!("(window / {lanes})") };
    let i = c_type(index);
    let text = format!(
        r#"// Of the windows of a wave, the second-level cache keeps all but the last one until that one is
// stored, so that memory turns from reading to writing less often. Hints, from sm_80 on: they
// change no value.
__device__ __forceinline__ void {WAVES}({t} *to, const {t} value, const {i} at,
                                               const {i} size, const int window, const int windows) {{
#if __CUDA_ARCH__ >= 800
    const int wave = window * windows;
    // a wave that is whole
    if (at / wave < size / wave) {{
        if (at % wave < wave - window) {{
            unsigned long long keep;
            asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(keep));
            asm volatile("st.global.L2::cache_hint.{kind} [%0], {operands}, {policy};"
                         :
                         : "l"(to), {value},
                           "l"(keep)
                         : "memory");
            return;
        }}
        // the lines at this place of the windows before
        if (reinterpret_cast<unsigned long long>(to) % 128 == 0) {{
            #pragma unroll
            for (int before = 1; before < windows; ++before) {{
                asm volatile("applypriority.global.L2::evict_normal [%0], 128;"
                             :
                             : "l"(to - before * {window})
                             : "memory");
            }}
        }}
    }}
#endif
    *to = value;
}}"#
    );
    Some(text.lines().map(String::from).collect())
}

/// The definition of a helper: a quotient, remainder, magnitude, shift or Bessel function in a
/// type, or a conversion from one.
pub(crate) fn definition(name: &str, dtype: DType) -> Vec<String> {
    let t = c_type(dtype);
    let unsigned = match dtype {
        DType::I64 | DType::U64 => "unsigned long long",
        _ => "unsigned int",
    };
    let head = |parameters: &str| format!("__device__ __forceinline__ {t} {name}({parameters}) {{");
    let two = format!("const {t} a, const {t} b");
    let lines: Vec<String> = match name {
        "atomic_cas_block" | "atomic_cas_system" => return exchange_of_halves(name),
        "floor_div" => vec![
            "// The quotient rounded towards minus infinity. The least value by -1 wraps.".into(),
            head(&two),
            format!("    if (b == -1) return ({t})(0 - ({unsigned})a);"),
            format!("    const {t} quotient = a / b;"),
            "    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;".into(),
        ],
        "floor_mod" => vec![
            "// The remainder with the sign of the divisor.".into(),
            head(&two),
            "    if (b == -1) return 0;".into(),
            format!("    const {t} rest = a % b;"),
            "    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;".into(),
        ],
        "absolute" => vec![
            "// The magnitude. That of the least value wraps.".into(),
            head(&format!("const {t} a")),
            format!("    return a < 0 ? ({t})(0 - ({unsigned})a) : a;"),
        ],
        "to_tf32" => vec![
            "// The nearest value with 10 bits of fraction, ties away from zero.".into(),
            head(&format!("const {t} a")),
            match dtype {
                DType::F32 => "    const float x = a;".into(),
                _ => "    const float x = (float)a;".into(),
            },
            "    const unsigned int bits = __float_as_uint(x);".into(),
            "    const bool finite = (bits & 0x7f800000u) != 0x7f800000u;".into(),
            "    return finite ? __uint_as_float((bits + 0x1000u) & 0xffffe000u) : x;".into(),
        ],
        "truncate_to_tf32" => vec![
            "// The next value toward zero with 10 bits of fraction.".into(),
            head(&format!("const {t} a")),
            match dtype {
                DType::F32 => "    return __uint_as_float(__float_as_uint(a) & 0xffffe000u);".into(),
                _ => "    return __uint_as_float(__float_as_uint((float)a) & 0xffffe000u);".into(),
            },
        ],
        "bessel_jn" => {
            let (magnitude, jn, suffix, bound) = match dtype {
                DType::F64 => ("fabs", "jn", "", "1e-9"),
                _ => ("fabsf", "jnf", "f", "1e-12f"),
            };
            vec![
                "// The recurrence of the library overflows near zero, where the series has one term.".into(),
                head(&format!("const int n, const {t} x")),
                format!("    if (n < 2 || !({magnitude}(x) < {bound})) return {jn}(n, x);"),
                format!("    {t} term = 1.0{suffix};"),
                format!(
                    "    for (int k = 1; k <= n && term != 0.0{suffix}; ++k) term *= 0.5{suffix} * x / ({t})k;"
                ),
                "    return term;".into(),
            ]
        }
        "shift_left" => vec![
            "// A shift by less than 0 or by all bits moves every bit out.".into(),
            head(&two),
            format!("    return ({unsigned})b < {} ? ({t})(({unsigned})a << b) : 0;", 8 * dtype.bytes()),
        ],
        "shift_right" => {
            let all_out = if dtype.is_unsigned() { "0" } else { "a < 0 ? -1 : 0" };
            vec![
                "// A shift by less than 0 or by all bits moves every bit out.".into(),
                head(&two),
                format!("    return ({unsigned})b < {} ? a >> b : ({all_out});", 8 * dtype.bytes()),
            ]
        }
        _ => conversion(name, dtype),
    };
    lines.into_iter().chain(["}".to_string()]).collect()
}

/// What names of atomic functions end in, by the scope of the update.
pub(crate) fn suffix(scope: UpdateScope) -> &'static str {
    match scope {
        UpdateScope::Block => "_block",
        UpdateScope::Device => "",
        UpdateScope::System => "_system",
    }
}

/// The definition of a compare-and-swap of two bytes, for which CUDA has a function of the device's
/// scope alone.
fn exchange_of_halves(name: &str) -> Vec<String> {
    let scope = if name.ends_with("_block") { "cta" } else { "sys" };
    let text = format!(
        r#"// Exchanges two bytes, if they are the expected ones, among the threads of a scope.
__device__ __forceinline__ unsigned short {name}(
    unsigned short *const at, const unsigned short expected, const unsigned short value) {{
    unsigned short held;
#ifdef __CUDA_ARCH__
    asm volatile("atom.relaxed.{scope}.cas.b16 %0, [%1], %2, %3;"
                 : "=h"(held) : "l"(at), "h"(expected), "h"(value) : "memory");
#else
    held = atomicCAS(at, expected, value);
#endif
    return held;
}}"#
    );
    text.lines().map(String::from).collect()
}

/// The definition of an atomic minimum or maximum of floating-point numbers.
pub(crate) fn exchanged(name: &str, dtype: DType, scope: UpdateScope) -> Vec<String> {
    let of = suffix(scope);
    let wide = dtype == DType::F64;
    let (t, bits) = if wide { ("double", "unsigned long long") } else { ("float", "unsigned int") };
    let function = match (name, wide) {
        ("atomic_min", false) => "fminf",
        ("atomic_min", true) => "fmin",
        (_, false) => "fmaxf",
        (_, true) => "fmax",
    };
    let next = match wide {
        true => format!("__double_as_longlong({function}(__longlong_as_double(expected), value))"),
        false => format!("__float_as_uint({function}(__uint_as_float(expected), value))"),
    };
    let text = format!(
        r#"// Exchanges the bits until no other thread's update has come between.
__device__ __forceinline__ void {name}{of}({t} *const at, const {t} value) {{
    {bits} *const element = reinterpret_cast<{bits} *>(at);
    {bits} held = *static_cast<volatile {bits} *>(element), expected;
    do {{
        expected = held;
        const {bits} next = {next};
        if (next == expected) return;
        held = atomicCAS{of}(element, expected, next);
    }} while (held != expected);
}}"#
    );
    text.lines().map(String::from).collect()
}

/// The definition of a conversion from float or double to an integer.
fn conversion(name: &str, from: DType) -> Vec<String> {
    let (f, hardware) = if from == DType::F64 { ("double", "__double2") } else { ("float", "__float2") };
    // The hardware converts NaN to 0 between 32-bit types only.
    let guarded = |function: &str| format!("    return a == a ? {hardware}{function}_rz(a) : 0;");
    let clamped = |function: &str, low: Option<i32>, high: i32, t: &str| {
        let wide = match (from, low) {
            (DType::F64, _) => format!("(a == a ? {hardware}{function}_rz(a) : 0)"),
            _ => format!("{hardware}{function}_rz(a)"),
        };
        match low {
            Some(low) => format!("    return ({t})max(min({wide}, {high}), {low});"),
            None => format!("    return ({t})min({wide}, {high}u);"),
        }
    };
    let (t, body) = match name {
        "to_int" => ("int", guarded("int")),
        "to_unsigned" => ("unsigned int", guarded("uint")),
        "to_long" => ("long long", guarded("ll")),
        "to_unsigned_long" => ("unsigned long long", guarded("ull")),
        "to_signed_char" => ("signed char", clamped("int", Some(-128), 127, "signed char")),
        "to_short" => ("short", clamped("int", Some(-32768), 32767, "short")),
        "to_unsigned_char" => ("unsigned char", clamped("uint", None, 255, "unsigned char")),
        _ => ("unsigned short", clamped("uint", None, 65535, "unsigned short")),
    };
    vec![
        "// Towards zero, kept in the range of the type; 0 of NaN.".into(),
        format!("__device__ __forceinline__ {t} {name}(const {f} a) {{"),
        body,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_in_waves_moves_as_many_bytes_as_its_elements_have() {
        let stored = |dtype, lanes| {
            let lines = waves(dtype, lanes, DType::I32)?;
            let kind = ["b16", "v4.b32", "b32", "b64"].into_iter();
            kind.into_iter().find(|kind| lines.iter().any(|l| l.contains(&format!(".{kind} "))))
        };
        assert_eq!([1, 2, 4].map(|n| stored(DType::F32, n)), ["b32", "b64", "v4.b32"].map(Some));
        assert_eq!([1, 2, 4, 8].map(|n| stored(DType::F16, n)), ["b16", "b32", "b64", "v4.b32"].map(Some));
        assert_eq!([1, 2].map(|n| stored(DType::F64, n)), ["b64", "v4.b32"].map(Some));
        assert_eq!(stored(DType::I8, 1), None);
    }
}
