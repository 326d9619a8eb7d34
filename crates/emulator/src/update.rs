//! The effect of atomic updates on the bits of an element.

use loopwright_kernel_ir::DType;
use loopwright_program::Atomic;

/// The bits of a 32-bit element after an update.
pub(crate) fn update_narrow(atomic: Atomic, dtype: DType, old: u32, value: u32) -> u32 {
    match (atomic, dtype) {
        (Atomic::Add, DType::F32) => (f32::from_bits(old) + f32::from_bits(value)).to_bits(),
        (Atomic::Add, _) => old.wrapping_add(value),
        (Atomic::Min, DType::I32) => (old as i32).min(value as i32) as u32,
        (Atomic::Max, DType::I32) => (old as i32).max(value as i32) as u32,
        (Atomic::Min, _) => old.min(value),
        (Atomic::Max, _) => old.max(value),
        (Atomic::And, _) => old & value,
        (Atomic::Or, _) => old | value,
    }
}

/// The bits of a 64-bit element after an update.
pub(crate) fn update_wide(atomic: Atomic, dtype: DType, old: u64, value: u64) -> u64 {
    match (atomic, dtype) {
        (Atomic::Add, DType::F64) => (f64::from_bits(old) + f64::from_bits(value)).to_bits(),
        (Atomic::Add, _) => old.wrapping_add(value),
        (Atomic::Min, DType::I64) => (old as i64).min(value as i64) as u64,
        (Atomic::Max, DType::I64) => (old as i64).max(value as i64) as u64,
        (Atomic::Min, _) => old.min(value),
        (Atomic::Max, _) => old.max(value),
        (Atomic::And, _) => old & value,
        (Atomic::Or, _) => old | value,
    }
}
