//! The effect of atomic updates on the bits of an element.

use half::{bf16, f16};
use loopwright_kernel_ir::DType;
use loopwright_program::Atomic;

/// The smaller or the greater of two numbers: a NaN is passed over, and the negative zero is
/// smaller than the positive one.
fn extreme(atomic: Atomic, old: f64, value: f64) -> f64 {
    let is_smaller = old < value || old == value && old.is_sign_negative();
    match (old.is_nan(), value.is_nan()) {
        (_, true) => old,
        (true, false) => value,
        _ if is_smaller == (atomic == Atomic::Min) => old,
        _ => value,
    }
}

/// An update of a number that is computed in f32 and rounded afterwards.
fn rounded(atomic: Atomic, old: f32, value: f32) -> f32 {
    match atomic {
        Atomic::Add => old + value,
        Atomic::Min | Atomic::Max => extreme(atomic, old.into(), value.into()) as f32,
        // There are no others of such numbers.
        Atomic::And | Atomic::Or | Atomic::By(_) => old,
    }
}

/// The bits of an element of up to 32 bits after an update.
pub(crate) fn update_narrow(atomic: Atomic, dtype: DType, old: u32, value: u32) -> u32 {
    match (atomic, dtype) {
        (_, DType::F16) => f16::from_f32(rounded(
            atomic,
            f16::from_bits(old as u16).into(),
            f16::from_bits(value as u16).into(),
        ))
        .to_bits()
        .into(),
        (_, DType::BF16) => bf16::from_f32(rounded(
            atomic,
            bf16::from_bits(old as u16).into(),
            bf16::from_bits(value as u16).into(),
        ))
        .to_bits()
        .into(),
        (Atomic::Add, DType::F32) => (f32::from_bits(old) + f32::from_bits(value)).to_bits(),
        (Atomic::Min | Atomic::Max, DType::F32) => {
            (extreme(atomic, f32::from_bits(old).into(), f32::from_bits(value).into()) as f32).to_bits()
        }
        (Atomic::Add, _) => old.wrapping_add(value),
        (Atomic::Min, DType::I32) => (old as i32).min(value as i32) as u32,
        (Atomic::Max, DType::I32) => (old as i32).max(value as i32) as u32,
        (Atomic::Min, _) => old.min(value),
        (Atomic::Max, _) => old.max(value),
        (Atomic::And, _) => old & value,
        (Atomic::Or, _) => old | value,
        // Compiled to instructions.
        (Atomic::By(_), _) => old,
    }
}

/// The bits of a 64-bit element after an update.
pub(crate) fn update_wide(atomic: Atomic, dtype: DType, old: u64, value: u64) -> u64 {
    match (atomic, dtype) {
        (Atomic::Add, DType::F64) => (f64::from_bits(old) + f64::from_bits(value)).to_bits(),
        (Atomic::Min | Atomic::Max, DType::F64) => {
            extreme(atomic, f64::from_bits(old), f64::from_bits(value)).to_bits()
        }
        (Atomic::Add, _) => old.wrapping_add(value),
        (Atomic::Min, DType::I64) => (old as i64).min(value as i64) as u64,
        (Atomic::Max, DType::I64) => (old as i64).max(value as i64) as u64,
        (Atomic::Min, _) => old.min(value),
        (Atomic::Max, _) => old.max(value),
        (Atomic::And, _) => old & value,
        (Atomic::Or, _) => old | value,
        // Compiled to instructions.
        (Atomic::By(_), _) => old,
    }
}
