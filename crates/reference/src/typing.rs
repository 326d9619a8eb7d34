//! The types in which expressions are computed.
//!
//! * f16 and bf16 are computed with in f32.
//! * Operands of different types meet in the wider one: floating-point before integer, f64 where two floating-point types differ,
//!   of integers the one with more bytes, unsigned before signed, nothing below 32 bits where they differ.
//! * A literal takes the type of what it meets; a fractional one makes an integer f32, or f64 where that has 64 bits. Alone it takes the type that is
//!   wanted.
//! * Integer arithmetic is done in the type that is wanted where that is an integer type at least as wide.
//! * Inames are i32.

use loopwright_kernel_ir::{BinaryOp, DType, Diagnostic, Expr, UnaryOp, math_function};

use crate::{
    machine::{Machine, Scope},
    types::{Typing, computing, float_for, is_comparison, is_logic, join},
};

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
