//! Arguments whose elements are structs.
//!
//! The arrays of the fields are globals like others, with strides that skip the rest of a struct,
//! and elements of different fields are different. What they have in common is their memory: one
//! address is passed for all of them.

use loopwright_kernel_ir::{Diagnostic, Name, Struct};

use crate::{BinOp, DeviceKernel, Param, Program, UnOp, Value, ValueKind, fold};

/// An argument whose elements are structs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordArg {
    /// The name of the argument, under which its address is passed.
    pub name: Name,
    /// What an element consists of.
    pub of: Struct,
    /// The arrays of its fields, in their order, as indices into [`Program::globals`].
    pub fields: Vec<usize>,
}

/// Where a field lies in the elements of its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldPlace<'p> {
    /// The record.
    pub record: &'p RecordArg,
    /// The number of the field.
    pub field: usize,
    /// Its offset in an element, in bytes.
    pub offset: usize,
    /// The size of an element as a multiple of the field's.
    pub width: i64,
}

impl RecordArg {
    /// Copies the elements of a field from the storage of its array, as the program addresses it,
    /// to that of the record.
    pub fn put(&self, field: usize, array: &[u8], whole: &mut [u8]) {
        let Some((offset, size, bytes)) = self.bytes_of(field) else { return };
        for (element, field) in whole.chunks_mut(bytes).zip(array.chunks(bytes)) {
            if let (Some(to), Some(from)) = (element.get_mut(offset..offset + size), field.get(..size)) {
                to.copy_from_slice(from);
            }
        }
    }

    /// Copies the elements of a field from the storage of the record to that of its array.
    pub fn take(&self, field: usize, whole: &[u8], array: &mut [u8]) {
        let Some((offset, size, bytes)) = self.bytes_of(field) else { return };
        for (element, field) in whole.chunks(bytes).zip(array.chunks_mut(bytes)) {
            if let (Some(from), Some(to)) = (element.get(offset..offset + size), field.get_mut(..size)) {
                to.copy_from_slice(from);
            }
        }
    }

    /// The offset and the size of a field, and the size of an element.
    fn bytes_of(&self, field: usize) -> Option<(usize, usize, usize)> {
        let size = self.of.fields.get(field)?.dtype.bytes();
        Some((*self.of.offsets().get(field)?, size, self.of.bytes()))
    }
}

impl Program {
    /// The place of a global array that is a field; `None` for others.
    pub fn field_place(&self, global: usize) -> Option<FieldPlace<'_>> {
        self.records.iter().find_map(|record| {
            let field = record.fields.iter().position(|g| *g == global)?;
            let width = record.of.bytes() / record.of.fields.get(field)?.dtype.bytes();
            let offset = *record.of.offsets().get(field)?;
            Some(FieldPlace { record, field, offset, width: i64::try_from(width).ok()? })
        })
    }

    /// The parameters of a kernel as they are passed: of the fields of one record, the first.
    pub fn passed<'k>(&'k self, kernel: &'k DeviceKernel) -> impl Iterator<Item = &'k Param> {
        kernel
            .params
            .iter()
            .enumerate()
            .filter(|(k, param)| {
                let Some(of) = self.record_of_param(param) else { return true };
                kernel.params[..*k].iter().all(|other| self.record_of_param(other) != Some(of))
            })
            .map(|(_, param)| param)
    }

    /// Refuses a program with arrays of structs for what does not know them yet.
    pub fn without_records(&self, what: &str) -> Result<(), Diagnostic> {
        let Some(record) = self.records.first() else { return Ok(()) };
        let message = format!(
            "{what} has no arrays of structs yet, and `{}` is one of `{}`",
            record.name, record.of.name
        );
        Err(Diagnostic::new("struct-export", message)
            .help("print the kernel by `loopwright cuda`, and pass the address of the first element"))
    }

    /// The record of a parameter that is one of its fields.
    pub fn record_of_param(&self, param: &Param) -> Option<&RecordArg> {
        match param {
            Param::Global { global, .. } => self.field_place(*global).map(|place| place.record),
            Param::Scalar { .. } | Param::HostVar(_) => None,
        }
    }
}

/// An index divided by a positive integer, where its terms show that it is a multiple.
pub fn quotient(index: &Value, by: i64) -> Option<Value> {
    let whole = |kind| Value { dtype: index.dtype, kind };
    if by == 1 {
        return Some(index.clone());
    }
    Some(match &index.kind {
        ValueKind::Int(v) if v % by == 0 => whole(ValueKind::Int(v / by)),
        ValueKind::Unary(UnOp::Neg, a) => whole(ValueKind::Unary(UnOp::Neg, quotient(a, by)?.into())),
        ValueKind::Binary(BinOp::Add, a, b) => fold::add(quotient(a, by)?, quotient(b, by)?),
        ValueKind::Binary(BinOp::Sub, a, b) => fold::sub(quotient(a, by)?, quotient(b, by)?),
        ValueKind::Binary(BinOp::Mul, a, b) => match quotient(a, by) {
            Some(a) => fold::mul(a, (**b).clone()),
            None => fold::mul((**a).clone(), quotient(b, by)?),
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use loopwright_kernel_ir::DType;

    use super::*;

    #[test]
    fn multiples_are_divided_term_by_term() {
        let int = |v| Value::int(DType::I32, v);
        let n = || Value { dtype: DType::I32, kind: ValueKind::Param(Name::new("n")) };
        let six_n = || Value::binary(BinOp::Mul, n(), int(6));
        let sum = |a, b| Value::binary(BinOp::Add, a, b);
        assert_eq!(quotient(&int(12), 6), Some(int(2)));
        assert_eq!(quotient(&int(13), 6), None);
        assert_eq!(quotient(&n(), 6), None);
        assert_eq!(quotient(&n(), 1), Some(n()));
        assert_eq!(quotient(&six_n(), 6), Some(n()));
        assert_eq!(quotient(&six_n(), 4), None, "each factor on its own");
        assert_eq!(quotient(&sum(six_n(), int(-18)), 6), Some(fold::add(n(), int(-3))));
        assert_eq!(quotient(&sum(six_n(), int(1)), 6), None);
    }
}
