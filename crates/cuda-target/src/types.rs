//! The names of types in CUDA C.

use loopwright_kernel_ir::DType;
use loopwright_target::Language;

/// The C type of an element.
pub(crate) fn c_type(dtype: DType) -> &'static str {
    Language::CUDA_C.type_name(dtype.name()).unwrap_or_else(|| dtype.name())
}

/// The type that moves `lanes` elements in one access: of the elements' own type if CUDA has such a
/// vector, otherwise of their bits.
pub(crate) fn vector_type(dtype: DType, lanes: u8) -> Option<String> {
    let stem = match dtype {
        DType::Bool | DType::U8 | DType::E4M3 | DType::E5M2 => "uchar",
        DType::I8 => "char",
        DType::I16 => "short",
        DType::U16 => "ushort",
        DType::I32 => "int",
        DType::U32 => "uint",
        DType::I64 => "longlong",
        DType::U64 => "ulonglong",
        DType::F32 => "float",
        DType::F64 => "double",
        DType::F16 | DType::BF16 => "",
    };
    Some(match (dtype, lanes, dtype.bytes() * lanes as usize) {
        (_, 0 | 1, _) => return None,
        (DType::F16, 2, _) => "__half2".into(),
        (DType::BF16, 2, _) => "__nv_bfloat162".into(),
        (_, 2 | 4, ..=16) if !stem.is_empty() => format!("{stem}{lanes}"),
        (_, _, 8) => "uint2".into(),
        (_, _, 16) => "uint4".into(),
        _ => return None,
    })
}

/// Whether a type has at most 16 bits, so that C computes it in int.
pub(crate) fn is_small(dtype: DType) -> bool {
    matches!(dtype, DType::Bool | DType::I8 | DType::I16 | DType::U8 | DType::U16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_type_has_the_size_of_its_lanes() {
        let bytes = |name: &str| {
            let (stem, lanes) = name.split_at(name.len() - 1);
            let element = match stem {
                "char" | "uchar" => 1,
                "short" | "ushort" | "__half" | "__nv_bfloat16" => 2,
                "int" | "uint" | "float" => 4,
                "longlong" | "ulonglong" | "double" => 8,
                other => panic!("{other}"),
            };
            element * lanes.parse::<usize>().unwrap()
        };
        for dtype in DType::ALL {
            for lanes in [2u8, 4, 8, 16] {
                let size = dtype.bytes() * lanes as usize;
                match vector_type(dtype, lanes) {
                    Some(name) => assert_eq!(bytes(&name), size, "{name}"),
                    None => assert!(size > 16, "{dtype} x {lanes}"),
                }
            }
        }
        assert_eq!(vector_type(DType::F32, 1), None);
    }
}
