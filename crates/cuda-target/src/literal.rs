//! Literals, exact and of the right type.

use loopwright_kernel_ir::DType;

/// An integer constant of exactly the C type of `dtype`. For an unsigned type, a negative value
/// denotes its bit pattern.
pub(crate) fn integer(dtype: DType, value: i64) -> String {
    match dtype {
        DType::I32 => match value {
            -2_147_483_648 => "(-2147483647 - 1)".into(),
            value => value.to_string(),
        },
        DType::I64 => match value {
            i64::MIN => "(-9223372036854775807LL - 1)".into(),
            value => format!("{value}LL"),
        },
        DType::U32 => format!("{}u", value as u32),
        DType::U64 => format!("{}ULL", value as u64),
        DType::I8 => format!("(signed char){}", value as i8),
        DType::I16 => format!("(short){}", value as i16),
        DType::U8 => format!("(unsigned char){}", value as u8),
        DType::U16 => format!("(unsigned short){}", value as u16),
        DType::Bool => if value == 0 { "false" } else { "true" }.into(),
        DType::E4M3 | DType::E5M2 | DType::F16 | DType::BF16 | DType::F32 | DType::F64 => {
            float(dtype, value as f64)
        }
    }
}

/// A finite floating-point constant; of types below 32 bits, the float to be converted.
pub(crate) fn float(dtype: DType, value: f64) -> String {
    match dtype {
        DType::F64 => format!("{value:?}"),
        _ => format!("{:?}f", value as f32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_ranges_are_written_without_overflow() {
        assert_eq!(integer(DType::I32, i32::MIN.into()), "(-2147483647 - 1)");
        assert_eq!(integer(DType::I64, i64::MIN), "(-9223372036854775807LL - 1)");
        assert_eq!(integer(DType::U64, -1), "18446744073709551615ULL");
        assert_eq!(integer(DType::U32, -1), "4294967295u");
        assert_eq!(integer(DType::I64, -5), "-5LL");
        assert_eq!([0, 1, 2].map(|v| integer(DType::Bool, v)), ["false", "true", "true"]);
    }

    #[test]
    fn floats_read_back_as_themselves() {
        for value in [0.1f32, 1e-5, 1e30, 16777216.0, f32::MIN_POSITIVE, 1e-45, f32::MAX, -0.0, 1.0] {
            let text = float(DType::F32, value.into());
            assert!(text.contains(['.', 'e']), "{text}");
            assert_eq!(text.strip_suffix('f').unwrap().parse::<f32>().unwrap().to_bits(), value.to_bits());
        }
        assert_eq!(float(DType::F64, 0.1), "0.1");
        assert_eq!(float(DType::F64, 1e300), "1e300");
        assert_eq!(float(DType::F32, 0.5), "0.5f");
        assert_eq!(float(DType::F32, 1e-5), "1e-5f");
    }
}
