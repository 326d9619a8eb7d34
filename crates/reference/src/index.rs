//! Subscripts: integers of unlimited size, which do not wrap.
//!
//! They are computed in 64 bits here, and an operation whose result these do not hold is an error.
//! A conversion that the text has is one (`cast(u8, k)`): it wraps as it does anywhere.

use loopwright_kernel_ir::{
    BinaryOp, DType, Diagnostic, Number, Typed, TypedKind, UnaryOp,
    arithmetic::{binary, math},
};

use crate::machine::{Machine, Scope, error};

impl Machine<'_> {
    /// The value of a subscript.
    pub fn index(&self, e: &Typed, scope: &Scope<'_>) -> Result<i64, Diagnostic> {
        let number = self.exact(e, scope)?;
        number.as_i64().ok_or_else(|| too_large(number))
    }

    /// The number that an expression inside a subscript is.
    fn exact(&self, e: &Typed, scope: &Scope<'_>) -> Result<Number, Diagnostic> {
        let is_index = e.dtype == DType::I64;
        let whole = |value: Option<i64>| value.map(Number::I64).ok_or_else(overflow);
        match &e.kind {
            TypedKind::Unary(op @ (UnaryOp::Neg | UnaryOp::BitNot), a) if is_index => {
                let a = self.index(a, scope)?;
                match op {
                    UnaryOp::Neg => whole(a.checked_neg()),
                    _ => Ok(Number::I64(!a)),
                }
            }
            TypedKind::Unary(UnaryOp::Not, a) => Ok(Number::Bool(!self.holds(a, scope)?)),
            TypedKind::Binary(BinaryOp::And, a, b) => {
                Ok(Number::Bool(self.holds(a, scope)? && self.holds(b, scope)?))
            }
            TypedKind::Binary(BinaryOp::Or, a, b) => {
                Ok(Number::Bool(self.holds(a, scope)? || self.holds(b, scope)?))
            }
            TypedKind::Binary(op, a, b) if a.dtype == DType::I64 => {
                let (a, b) = (self.index(a, scope)?, self.index(b, scope)?);
                match op {
                    BinaryOp::Add => whole(a.checked_add(b)),
                    BinaryOp::Sub => whole(a.checked_sub(b)),
                    BinaryOp::Mul => whole(a.checked_mul(b)),
                    // The only quotient that 64 bits do not hold.
                    BinaryOp::FloorDiv if (a, b) == (i64::MIN, -1) => whole(None),
                    BinaryOp::Shl if (0..63).contains(&b) => whole(a.checked_mul(1 << b)),
                    BinaryOp::Shl if b >= 63 && a != 0 => whole(None),
                    _ => binary(*op, Number::I64(a), Number::I64(b)),
                }
            }
            TypedKind::If(c, a, b) => self.exact(if self.holds(c, scope)? { a } else { b }, scope),
            // What is read has its value, which an unsigned type may hold and an index not.
            TypedKind::Convert(a) if is_index && a.dtype.is_integer() => {
                self.index(a, scope).map(Number::I64)
            }
            TypedKind::Cast(a) if a.dtype.is_integer() => match &a.kind {
                // What is read is converted as it is, also where no index holds it.
                TypedKind::Convert(a)
                    if a.dtype.is_integer()
                        && matches!(a.kind, TypedKind::Name(_) | TypedKind::Element { .. }) =>
                {
                    Ok(self.value(a, scope)?.number.cast(e.dtype))
                }
                _ => Ok(self.exact(a, scope)?.cast(e.dtype)),
            },
            TypedKind::Call { function, args, .. }
                if is_index && !self.kernel.functions.iter().any(|f| f.name == *function) =>
            {
                let numbers = args.iter().map(|a| self.exact(a, scope)).collect::<Result<Vec<_>, _>>()?;
                match numbers.as_slice() {
                    [Number::I64(i64::MIN)] if &**function == "abs" => whole(None),
                    numbers => math(function, numbers),
                }
            }
            _ => Ok(self.value(e, scope)?.number),
        }
    }

    fn holds(&self, condition: &Typed, scope: &Scope<'_>) -> Result<bool, Diagnostic> {
        Ok(self.exact(condition, scope)? == Number::Bool(true))
    }
}

fn overflow() -> Diagnostic {
    error("index-overflow", "a subscript is computed from numbers that 64 bits do not hold")
}

fn too_large(number: Number) -> Diagnostic {
    error(
        "index-overflow",
        format!("a subscript is computed from {number}, which 64 signed bits do not hold"),
    )
}
