//! Whether the operands of a condition have the values that exact integer arithmetic gives.
//!
//! Constraints are over the integers, whereas the arithmetic of a condition wraps in its type.
//! Arithmetic in the index type is checked at launch ([`crate::index_range`]): in guards all of it,
//! in values and predicates the part that involves no data. Other arithmetic counts in a proof only
//! where the constraints around it keep it within its type. Nothing that lowering states about a
//! condition is trusted.

use loopwright_kernel_ir::{Aff, Constraint, DType, FAR_SCALAR, Name};
use loopwright_poly::{Error, Result, System};

use super::reading::{Reading, Rows};
use crate::{BinOp, UnOp, Value, ValueKind};

/// The greatest magnitude of a 64-bit value that queries are asked about.
pub(super) const FAR: i64 = i64::MAX >> 1;

/// Which arithmetic of a condition is checked at launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A guard: all arithmetic of the index type stays in it.
    All,
    /// A predicate, or a choice inside of a value: arithmetic on indices does.
    Indices,
}

impl Reading<'_> {
    /// Whether a value is what its arithmetic gives in the integers, where the constraints around
    /// it and these rows hold. What is not a function of integers is of no interest: no row is made
    /// of it.
    pub fn is_integer(&mut self, value: &Value, asked: Asked, rows: &Rows) -> Result<bool> {
        let computed = match &value.kind {
            ValueKind::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul, ..) | ValueKind::Unary(UnOp::Neg, _) => {
                true
            }
            // A conversion from a type whose values all fit changes nothing.
            ValueKind::Cast(a) => !contains(value.dtype, a.dtype),
            _ => false,
        };
        for child in value.children() {
            if child.dtype.is_integer()
                && !matches!(value.kind, ValueKind::Load(_))
                && !self.is_integer(child, asked, rows)?
            {
                return Ok(false);
            }
        }
        if !computed {
            return Ok(true);
        }
        let is_conversion = matches!(value.kind, ValueKind::Cast(_));
        let at_launch = value.dtype == self.program.index
            && (asked == Asked::All || !is_conversion && !self.has_data(value));
        if at_launch {
            return Ok(true);
        }
        let Some(aff) = self.aff(value)? else { return Ok(true) };
        match self.stays_within(&aff, value, rows) {
            // A query that leaves 64 bits shows nothing.
            Err(Error::Overflow) => Ok(false),
            answer => answer,
        }
    }

    /// Whether the rows keep a function within the type of the value that it is.
    fn stays_within(&mut self, aff: &Aff, value: &Value, rows: &Rows) -> Result<bool> {
        // Queries use 64 bits themselves: of the widest types they are asked for less than the
        // limits.
        let (low, high) = limits(value.dtype);
        let (low, high) = (low.max(-FAR), high.min(FAR));
        let mut premises = self.context.to_vec();
        premises.extend(self.scope_rows().iter().chain(&rows.all).cloned());
        // Those that bound the counters around, too.
        let scalars = self.program.scalars().filter(|s| s.dtype.is_integer());
        let mut typed: Vec<(Name, DType)> = scalars.map(|s| (s.name.clone(), s.dtype)).collect();
        for name in aff.names() {
            premises.extend(self.facts_of(&name));
            if let Some(array) = self.load_of(&name) {
                let global = self.program.global(&array);
                typed.extend(global.map(|g| (name, g.dtype)));
            }
        }
        for (name, dtype) in typed {
            let (low, high) = limits(dtype);
            // Launches with scalars beyond this are refused where a condition names them.
            let (low, high) = (low.max(-FAR_SCALAR), high.min(FAR_SCALAR));
            premises.push(Constraint::nonneg(Aff::var(&name).add_constant(low.saturating_neg())?));
            premises.push(Constraint::le(&Aff::var(&name), &Aff::constant(high))?);
        }
        let system = System::new(&premises)?;
        Ok(system.implies(&Constraint::le(&Aff::constant(low), aff)?)?
            && system.implies(&Constraint::le(aff, &Aff::constant(high))?)?)
    }

    /// Whether what is read from memory, or is not a known function of indices, has a part in a
    /// value.
    fn has_data(&self, value: &Value) -> bool {
        match &value.kind {
            ValueKind::Load(_) | ValueKind::Call { .. } => true,
            ValueKind::Var(var) => match self.variable(var.0) {
                Some(aff) => aff.mentions_any(&|n| self.load_of(n).is_some()),
                None => true,
            },
            kind if kind.joins_lanes() => true,
            _ => value.children().into_iter().any(|child| self.has_data(child)),
        }
    }
}

/// Whether an integer type has all values of another.
pub(super) fn contains(wide: DType, narrow: DType) -> bool {
    let ((low, high), (from, to)) = (limits(wide), limits(narrow));
    // Of u64, only half of the values are within these limits.
    narrow.is_integer() && (wide == narrow || narrow != DType::U64 && low <= from && to <= high)
}

/// The least and the greatest value of an integer type, as far as 64 signed bits have them.
pub(super) fn limits(dtype: DType) -> (i64, i64) {
    match dtype {
        DType::Bool => (0, 1),
        DType::I8 => (i8::MIN.into(), i8::MAX.into()),
        DType::I16 => (i16::MIN.into(), i16::MAX.into()),
        DType::I32 => (i32::MIN.into(), i32::MAX.into()),
        DType::U8 => (0, u8::MAX.into()),
        DType::U16 => (0, u16::MAX.into()),
        DType::U32 => (0, u32::MAX.into()),
        DType::U64 => (0, i64::MAX),
        DType::I64 | DType::E4M3 | DType::E5M2 | DType::F16 | DType::BF16 | DType::F32 | DType::F64 => {
            (-i64::MAX, i64::MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least and the greatest value of each type of integers.
    const INTEGERS: [(DType, i128, i128); 8] = [
        (DType::I8, -128, 127),
        (DType::I16, -32_768, 32_767),
        (DType::I32, -2_147_483_648, 2_147_483_647),
        (DType::I64, -9_223_372_036_854_775_808, 9_223_372_036_854_775_807),
        (DType::U8, 0, 255),
        (DType::U16, 0, 65_535),
        (DType::U32, 0, 4_294_967_295),
        (DType::U64, 0, 18_446_744_073_709_551_615),
    ];

    #[test]
    fn a_type_contains_those_whose_values_it_has() {
        for (wide, low, high) in INTEGERS {
            for (narrow, from, to) in INTEGERS {
                let has_all = low <= from && to <= high;
                assert_eq!(contains(wide, narrow), has_all, "{wide} has all values of {narrow}");
            }
            for other in DType::ALL.into_iter().filter(|t| INTEGERS.iter().all(|(i, ..)| t != i)) {
                assert!(!contains(wide, other), "{other} is no type of integers");
            }
        }
        assert!(!contains(DType::F32, DType::F32), "no floating-point type is one of integers");
    }

    #[test]
    fn limits_are_those_of_the_type_as_far_as_64_bits_go() {
        for (dtype, low, high) in INTEGERS {
            let most = i128::from(i64::MAX);
            let within = (low.max(-most) as i64, high.min(most) as i64);
            assert_eq!(limits(dtype), within, "{dtype}");
        }
    }
}
