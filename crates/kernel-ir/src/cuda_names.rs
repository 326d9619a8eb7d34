//! Names that are not allowed in a kernel or a lowered program because they have a meaning in CUDA
//! C.

/// Keywords of C++ and CUDA, builtin variables, and names that printed text uses itself. Sorted.
const RESERVED: &[&str] = &[
    "DBL_MAX",
    "FLT_MAX",
    "INFINITY",
    "INT_MAX",
    "INT_MIN",
    "NAN",
    "NULL",
    "abs",
    "absolute",
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "assert",
    "auto",
    "bitand",
    "bitor",
    "blockDim",
    "blockIdx",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "clock",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "dim3",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "floor_div",
    "floor_mod",
    "for",
    "free",
    "friend",
    "gamma",
    "goto",
    "gridDim",
    "half",
    "if",
    "inline",
    "int",
    "int16_t",
    "int32_t",
    "int64_t",
    "int8_t",
    "isnan",
    "j0",
    "j1",
    "jn",
    "llabs",
    "long",
    "main",
    "malloc",
    "max",
    "memcpy",
    "memset",
    "min",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "nv_bfloat16",
    "operator",
    "or",
    "or_eq",
    "printf",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "shared_memory",
    "shift_left",
    "shift_right",
    "short",
    "signbit",
    "signed",
    "size_t",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "std",
    "store_in_waves",
    "struct",
    "switch",
    "template",
    "this",
    "threadIdx",
    "thread_local",
    "throw",
    "to_int",
    "to_long",
    "to_short",
    "to_signed_char",
    "to_unsigned",
    "to_unsigned_char",
    "to_unsigned_long",
    "to_unsigned_short",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "uint8_t",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wait_for_launch_ahead",
    "warpSize",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "y0",
    "y1",
    "yn",
];

/// Math functions of CUDA C, without the suffix `f` of the float versions.
const MATH: &[&str] = &[
    "acos", "asin", "atan", "atan2", "cbrt", "ceil", "copysign", "cos", "cosh", "erf", "erfc", "exp", "exp2",
    "expm1", "fabs", "floor", "fma", "fmax", "fmin", "fmod", "hypot", "log", "log10", "log1p", "log2", "pow",
    "round", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
];

/// Short vector types, without the number at the end.
const VECTORS: &[&str] = &[
    "char",
    "double",
    "float",
    "int",
    "long",
    "longlong",
    "short",
    "uchar",
    "uint",
    "ulong",
    "ulonglong",
    "ushort",
];

/// Whether this name has a meaning in CUDA C, or is reserved there (two underscores, or one
/// followed by a capital).
pub fn is_reserved(name: &str) -> bool {
    let vector = name.strip_suffix(['1', '2', '3', '4']).is_some_and(|stem| VECTORS.contains(&stem));
    let math = MATH.contains(&name) || name.strip_suffix('f').is_some_and(|stem| MATH.contains(&stem));
    let implementation = name.contains("__")
        || name.strip_prefix('_').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
    vector || math || implementation || RESERVED.binary_search(&name).is_ok()
}

/// Whether this can be the name of a variable, an array or a kernel in CUDA C.
pub fn is_legal_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !is_reserved(name)
}

/// The name itself, or a similar one that has no meaning in CUDA C and is not taken: a number is
/// appended, and underscores that would make any such name reserved are removed (`a__b`, `_B`, and
/// `a_`, which would become `a__1`).
pub fn legal_like(like: &str, taken: impl Fn(&str) -> bool) -> String {
    let free = |name: &str| !is_reserved(name) && !taken(name);
    if free(like) {
        return like.to_string();
    }
    let mut stem = like.split('_').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_");
    if !stem.starts_with(|c: char| c.is_ascii_alphabetic()) {
        stem.insert(0, 'v');
    }
    let mut name = stem.clone();
    let mut n: u64 = 1;
    while !free(&name) {
        name = format!("{stem}_{n}");
        n += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_like_others_are_found() {
        let none = |_: &str| false;
        for (like, found) in [
            ("a", "a"),
            ("a_", "a_"),
            ("a__b", "a_b"),
            ("_B", "B"),
            ("__", "v"),
            ("_1__", "v1"),
            ("float", "float_1"),
            ("__float", "float_1"),
            ("float4", "float4_1"),
        ] {
            assert_eq!(legal_like(like, none), found);
        }
        let taken = |name: &str| ["a", "a_", "a_1", "a_b"].contains(&name);
        assert_eq!(legal_like("a", taken), "a_2");
        assert_eq!(legal_like("a_", taken), "a_2");
        assert_eq!(legal_like("a__b", taken), "a_b_1");
    }

    #[test]
    fn the_list_is_sorted() {
        assert!(RESERVED.is_sorted());
    }

    #[test]
    fn names_with_a_meaning_are_not_legal() {
        for name in [
            "int",
            "float4",
            "expf",
            "exp",
            "min",
            "__x",
            "a__b",
            "_X",
            "threadIdx",
            "",
            "1x",
            "a-b",
            "é",
            "uchar2",
        ] {
            assert!(!is_legal_name(name), "{name}");
        }
        for name in ["i", "x1", "i_outer", "float_", "float5", "_x", "expg", "acc", "threadIdx_x", "minimum"]
        {
            assert!(is_legal_name(name), "{name}");
        }
    }
}
