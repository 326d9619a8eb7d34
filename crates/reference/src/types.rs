//! Types of values that meet.

use loopwright_kernel_ir::{BinaryOp, DType, StateType};

/// The type of an expression, as far as it has one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typing {
    Integer,
    Fraction,
    /// `lowest()` and the like.
    Any,
    Known(DType),
}

/// The type in which a value of this type is computed with.
pub(crate) fn computing(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        other => other,
    }
}

fn promote(a: DType, b: DType) -> DType {
    let (a, b) = (computing(a), computing(b));
    match (a.is_float(), b.is_float()) {
        _ if a == b => a,
        (true, true) => DType::F64,
        (true, false) => a,
        (false, true) => b,
        (false, false) => {
            let bytes = a.bytes().max(b.bytes());
            let unsigned = [a, b].iter().any(|t| t.bytes() == bytes && t.is_unsigned());
            match (bytes, unsigned) {
                (8, true) => DType::U64,
                (8, false) => DType::I64,
                (4, true) => DType::U32,
                _ => DType::I32,
            }
        }
    }
}

pub(crate) fn join(a: Typing, b: Typing) -> Typing {
    use Typing::{Any, Fraction, Integer, Known};
    match (a, b) {
        (Any, t) | (t, Any) => t,
        (Known(x), Known(y)) => Known(promote(x, y)),
        (Known(x), Integer) | (Integer, Known(x)) => Known(computing(x)),
        (Known(x), Fraction) | (Fraction, Known(x)) if x.is_float() => Known(computing(x)),
        (Known(x), Fraction) | (Fraction, Known(x)) => Known(float_for(x)),
        (Fraction, _) | (_, Fraction) => Fraction,
        (Integer, Integer) => Integer,
    }
}

/// The floating-point type that an integer becomes.
pub(crate) fn float_for(dtype: DType) -> DType {
    if dtype.bytes() == 8 { DType::F64 } else { DType::F32 }
}

pub(crate) fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
    matches!(op, Lt | Le | Gt | Ge | Eq | Ne)
}

pub(crate) fn is_logic(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::And | BinaryOp::Or)
}

/// The type of a state value of an operator whose inputs have these types. Small integers are summed in 32 bits.
pub(crate) fn state_type(state: &StateType, inputs: &[DType], op: &str) -> DType {
    match state {
        StateType::Fixed(t) => *t,
        StateType::Input(k) => {
            let t = computing(inputs.get(*k).copied().unwrap_or(DType::F32));
            match (op, t) {
                ("sum" | "product", DType::Bool | DType::I8 | DType::I16) => DType::I32,
                ("sum" | "product", DType::U8 | DType::U16) => DType::U32,
                _ => t,
            }
        }
    }
}
