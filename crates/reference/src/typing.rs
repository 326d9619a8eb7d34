//! The types in which expressions are computed.
//!
//! * f16 and bf16 are computed with in f32.
//! * Operands of different types meet in the wider one: floating-point before integer, f64 where two floating-point types differ,
//!   of integers the one with more bytes, unsigned before signed, nothing below 32 bits where they differ.
//! * A literal takes the type of what it meets; a fractional one makes an integer f32, or f64 where that has 64 bits. Alone it takes the type that is
//!   wanted.
//! * Integer arithmetic is done in the type that is wanted where that is an integer type at least as wide.
//! * Inames are i32.

use loopwright_kernel_ir::{BinaryOp, DType, Diagnostic, Expr, StateType, UnaryOp, math_function};

use crate::machine::{Machine, Scope};

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
fn float_for(dtype: DType) -> DType {
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

impl Machine<'_> {
    /// The type that an expression has by itself.
    pub fn typing(&self, e: &Expr, scope: &Scope<'_>) -> Result<Typing, Diagnostic> {
        use Typing::{Any, Fraction, Integer, Known};
        Ok(match e {
            Expr::Int(_) => Integer,
            Expr::Float(_) => Fraction,
            Expr::Bool(_) => Known(DType::Bool),
            Expr::Name(name) => Known(self.name_type(name, scope)?),
            Expr::Unary(UnaryOp::Not, _) => Known(DType::Bool),
            Expr::Unary(_, a) => match self.typing(a, scope)? {
                Known(t) => Known(computing(t)),
                t => t,
            },
            Expr::Binary(op, _, _) if is_comparison(*op) || is_logic(*op) => Known(DType::Bool),
            Expr::Binary(op, a, b) => match (op, join(self.typing(a, scope)?, self.typing(b, scope)?)) {
                (BinaryOp::Div, Integer) => Fraction,
                (_, t) => t,
            },
            Expr::If(_, a, b) => join(self.typing(a, scope)?, self.typing(b, scope)?),
            Expr::Cast(t, _) => Known(self.bound_type(t)?),
            Expr::Call { function, args, .. } => {
                if &**function == "isnan" {
                    return Ok(Known(DType::Bool));
                }
                if let Some(f) = self.kernel.functions.iter().find(|f| f.name == *function) {
                    return Ok(Known(f.result));
                }
                let Some(math) = math_function(function) else {
                    let message = format!("there is no function `{function}`");
                    return Err(Diagnostic::new("unknown-function", message));
                };
                let mut joined = Any;
                for a in args {
                    joined = join(joined, self.typing(a, scope)?);
                }
                match joined {
                    Known(t) if !t.is_float() && !math.integers => Known(float_for(t)),
                    Integer if !math.integers => Fraction,
                    t => t,
                }
            }
            Expr::Subscript(access) => Known(self.element_type(&access.array)?),
            Expr::Reduce(r) => Known(self.result_type(r, scope)?),
        })
    }

    /// The type of an expression that nothing wants to have a type: literals alone are i32 or f32.
    pub fn natural(&self, e: &Expr, scope: &Scope<'_>) -> Result<DType, Diagnostic> {
        Ok(match self.typing(e, scope)? {
            Typing::Known(t) => t,
            Typing::Fraction => DType::F32,
            Typing::Integer | Typing::Any => DType::I32,
        })
    }
}
