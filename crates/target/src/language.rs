//! A language in which programs are printed, with its reserved names.

use std::fmt;

use crate::words::{HELPERS, HIP_HELPERS, KEYWORDS, MATH, VECTORS};

/// What a builtin variable of a language means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// The numbers of the thread in its block, or of the block in its grid: `thread` or `block` in
    /// tags and in the texts of programs.
    Coordinate(&'static str),
    /// How many threads or blocks there are.
    Extent,
}

/// A language of CUDA's family, given by its reserved words.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Language {
    /// Its name in messages, as `CUDA C`.
    pub name: &'static str,
    /// Reserved words: keywords, builtin variables, functions and types, and names that the printer
    /// defines. Each list is sorted.
    pub reserved: &'static [&'static [&'static str]],
    /// Math functions, reserved with and without the suffix `f`.
    pub functions: &'static [&'static str],
    /// Short vector types, reserved with a number of elements (1 to 4) at the end.
    pub vectors: &'static [&'static str],
    /// Builtin variables that number threads and blocks, or count them.
    pub builtins: &'static [(&'static str, Builtin)],
    /// What the definition of a function that runs on the device begins with.
    pub device_function: &'static str,
    /// The names of the element types: `("f16", "__half")`.
    pub types: &'static [(&'static str, &'static str)],
}

impl Language {
    /// CUDA C, as NVRTC takes it.
    pub const CUDA_C: Language = Language {
        name: "CUDA C",
        reserved: &[KEYWORDS, HELPERS],
        functions: MATH,
        vectors: VECTORS,
        builtins: &[
            ("threadIdx", Builtin::Coordinate("thread")),
            ("blockIdx", Builtin::Coordinate("block")),
            ("blockDim", Builtin::Extent),
            ("gridDim", Builtin::Extent),
        ],
        device_function: "__device__",
        types: &[
            ("bool", "bool"),
            ("i8", "signed char"),
            ("i16", "short"),
            ("i32", "int"),
            ("i64", "long long"),
            ("u8", "unsigned char"),
            ("u16", "unsigned short"),
            ("u32", "unsigned int"),
            ("u64", "unsigned long long"),
            ("e4m3", "__nv_fp8_e4m3"),
            ("e5m2", "__nv_fp8_e5m2"),
            ("f16", "__half"),
            ("bf16", "__nv_bfloat16"),
            ("f32", "float"),
            ("f64", "double"),
        ],
    };

    /// The language in which texts of kernels define functions that run on the device: that of the
    /// default target.
    pub const OF_KERNELS: Language = crate::Target::cuda().language;

    /// HIP C++, which includes the reserved words of CUDA C.
    pub const HIP: Language =
        Language { name: "HIP C++", reserved: &[KEYWORDS, HELPERS, HIP_HELPERS], ..Language::CUDA_C };

    /// Whether this name is a reserved word of the language or has a reserved form (two
    /// underscores, or one followed by a capital).
    pub fn is_reserved(&self, name: &str) -> bool {
        let vector = name.strip_suffix(['1', '2', '3', '4']).is_some_and(|stem| self.vectors.contains(&stem));
        let math = |name| self.functions.contains(&name);
        let implementation = name.contains("__")
            || name.strip_prefix('_').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
        vector
            || math(name)
            || name.strip_suffix('f').is_some_and(math)
            || implementation
            || self.reserved.iter().any(|words| words.binary_search(&name).is_ok())
    }

    /// What a builtin variable means; `None` of other names.
    ///
    /// ```
    /// use loopwright_target::{Builtin, Language};
    ///
    /// let meaning = |name| Language::CUDA_C.builtin(name);
    /// assert_eq!(meaning("threadIdx"), Some(Builtin::Coordinate("thread")));
    /// assert_eq!(meaning("gridDim"), Some(Builtin::Extent));
    /// assert_eq!(meaning("thread"), None);
    /// ```
    pub fn builtin(&self, name: &str) -> Option<Builtin> {
        self.builtins.iter().find(|(theirs, _)| *theirs == name).map(|(_, meaning)| *meaning)
    }

    /// The language's name of an element type: `float` for `f32`.
    pub fn type_name(&self, dtype: &str) -> Option<&'static str> {
        self.types.iter().find(|(ours, _)| *ours == dtype).map(|(_, name)| *name)
    }

    /// The element type that has this name in the language: `f32` for `float`.
    pub fn type_named(&self, name: &str) -> Option<&'static str> {
        self.types.iter().find(|(_, theirs)| *theirs == name).map(|(ours, _)| *ours)
    }

    /// Whether this can be the name of a variable, an array or a kernel.
    pub fn is_legal_name(&self, name: &str) -> bool {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !self.is_reserved(name)
    }

    /// The name itself, or a similar one that is not reserved in the language and is not taken: a
    /// number is appended, and underscores that would make any such name reserved are removed
    /// (`a__b`, `_B`, and `a_`, which would become `a__1`).
    pub fn legal_like(&self, like: &str, taken: impl Fn(&str) -> bool) -> String {
        let free = |name: &str| !self.is_reserved(name) && !taken(name);
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
}

impl fmt::Debug for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
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
            assert_eq!(Language::CUDA_C.legal_like(like, none), found);
        }
        let taken = |name: &str| ["a", "a_", "a_1", "a_b"].contains(&name);
        assert_eq!(Language::CUDA_C.legal_like("a", taken), "a_2");
        assert_eq!(Language::CUDA_C.legal_like("a_", taken), "a_2");
        assert_eq!(Language::CUDA_C.legal_like("a__b", taken), "a_b_1");
    }

    #[test]
    fn builtin_variables_are_reserved() {
        for (name, _) in Language::CUDA_C.builtins {
            assert!(Language::CUDA_C.is_reserved(name), "{name}");
        }
    }

    #[test]
    fn the_lists_are_sorted() {
        for language in [Language::CUDA_C, Language::HIP] {
            assert!(language.reserved.iter().all(|words| words.is_sorted()), "{language:?}");
        }
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
            assert!(!Language::CUDA_C.is_legal_name(name), "{name}");
        }
        for name in ["i", "x1", "i_outer", "float_", "float5", "_x", "expg", "acc", "threadIdx_x", "minimum"]
        {
            assert!(Language::CUDA_C.is_legal_name(name), "{name}");
        }
    }
}
