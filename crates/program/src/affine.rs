//! Integer values of a program as affine functions.

use loopwright_kernel_ir::Aff;

use crate::{BinOp, UnOp, Value, ValueKind};

impl Value {
    /// The value as an affine function of parameters and of the functions that `leaf` gives for
    /// variables, coordinates, loads and everything else that is not arithmetic. `None` where it is
    /// not affine in these, or where a coefficient does not fit 64 bits: queries take no such
    /// functions.
    ///
    /// Arithmetic is that of the integers. Whether values fit their types is checked for all index
    /// arithmetic together ([`crate::index_range`]). The truncating forms of division are taken for
    /// the rounding ones: whoever asks has to know that nothing negative is divided.
    pub fn affine<E>(
        &self,
        leaf: &mut dyn FnMut(&Value) -> Result<Option<Aff>, E>,
    ) -> Result<Option<Aff>, E> {
        Ok(match &self.kind {
            ValueKind::Int(v) => Some(Aff::constant(*v)),
            ValueKind::Param(name) => Some(Aff::var(name)),
            ValueKind::Cast(a) if a.dtype.is_integer() && self.dtype.is_integer() => a.affine(leaf)?,
            ValueKind::Unary(UnOp::Neg, a) => a.affine(leaf)?.and_then(|a| a.neg().ok()),
            ValueKind::Binary(op, a, b) => {
                let (Some(a), Some(b)) = (a.affine(leaf)?, b.affine(leaf)?) else { return Ok(None) };
                match (op, a.as_constant(), b.as_constant()) {
                    (BinOp::Add, ..) => a.add(&b).ok(),
                    (BinOp::Sub, ..) => a.sub(&b).ok(),
                    (BinOp::Mul, Some(k), _) => b.scale(k).ok(),
                    (BinOp::Mul, _, Some(k)) => a.scale(k).ok(),
                    (BinOp::FloorDiv | BinOp::TruncDiv, _, Some(k)) if k > 0 => a.floor_div(k).ok(),
                    (BinOp::FloorMod | BinOp::TruncRem, _, Some(k)) if k > 0 => a.modulo(k).ok(),
                    _ => None,
                }
            }
            _ => leaf(self)?,
        })
    }
}
