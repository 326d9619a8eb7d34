//! Types of expressions: literals adapt to their context, all else is as `loopwright_kernel_ir` promotes it.

use loopwright_kernel_ir::{BinaryOp, DType, Diagnostic, Expr, Name, UnaryOp, math_function, promote};

use crate::{
    emitter::{Emitter, computing, known},
    scope::Scope,
};

/// The type of an expression, as far as it has one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typing {
    IntLiteral,
    FloatLiteral,
    /// `lowest()` and the like: whatever the context wants.
    Any,
    Known(DType),
}

/// The type in which two operands meet. Where kernels may not mix two types in data they still may in subscripts, whose type the
/// program chooses: there the wider one says enough.
fn meet(a: DType, b: DType) -> DType {
    promote(a, b).unwrap_or_else(|| if a.bytes() >= b.bytes() { computing(a) } else { computing(b) })
}

/// The type of an operation on values of two types.
pub(crate) fn join(a: Typing, b: Typing) -> Typing {
    use Typing::{Any, FloatLiteral, IntLiteral, Known};
    match (a, b) {
        (Any, t) | (t, Any) => t,
        (Known(x), Known(y)) => Known(meet(x, y)),
        (Known(x), IntLiteral) | (IntLiteral, Known(x)) => Known(computing(x)),
        (Known(x), FloatLiteral) | (FloatLiteral, Known(x)) => Known(if x.is_float() {
            computing(x)
        } else if x.bytes() == 8 {
            DType::F64
        } else {
            DType::F32
        }),
        (FloatLiteral, _) | (_, FloatLiteral) => FloatLiteral,
        (IntLiteral, IntLiteral) => IntLiteral,
    }
}

impl Emitter<'_, '_> {
    /// The type that an expression has by itself; `number` counts the reductions passed.
    pub fn typing(&mut self, e: &Expr, scope: Scope<'_>, number: &mut usize) -> Result<Typing, Diagnostic> {
        use Typing::{Any, FloatLiteral, IntLiteral, Known};
        Ok(match e {
            Expr::Int(_) => IntLiteral,
            Expr::Float(_) => FloatLiteral,
            Expr::Bool(_) => Known(DType::Bool),
            Expr::Name(name) => Known(self.name_value(name, scope)?.dtype),
            Expr::Unary(UnaryOp::Not, _) => Known(DType::Bool),
            Expr::Unary(_, a) => match self.typing(a, scope, number)? {
                Known(t) => Known(computing(t)),
                t => t,
            },
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.typing(a, scope, number)?, self.typing(b, scope, number)?);
                match op {
                    BinaryOp::Lt
                    | BinaryOp::Le
                    | BinaryOp::Gt
                    | BinaryOp::Ge
                    | BinaryOp::Eq
                    | BinaryOp::Ne
                    | BinaryOp::And
                    | BinaryOp::Or => Known(DType::Bool),
                    BinaryOp::Div => match join(a, b) {
                        IntLiteral => FloatLiteral,
                        t => t,
                    },
                    _ => join(a, b),
                }
            }
            Expr::If(c, a, b) => {
                self.typing(c, scope, number)?;
                let (a, b) = (self.typing(a, scope, number)?, self.typing(b, scope, number)?);
                join(a, b)
            }
            Expr::Cast(t, a) => {
                self.typing(a, scope, number)?;
                Known(known(t, &Name::new("cast"))?)
            }
            Expr::Call { function, args, .. } => {
                let mut joined = Any;
                for a in args {
                    joined = join(joined, self.typing(a, scope, number)?);
                }
                if &**function == "isnan" {
                    Known(DType::Bool)
                } else if let Some(f) = self.analysis.kernel.functions.iter().find(|f| f.name == *function) {
                    Known(f.result)
                } else if let Some(math) = math_function(function) {
                    match joined {
                        Known(t) if !t.is_float() && !math.integers => {
                            Known(if t.bytes() == 8 { DType::F64 } else { DType::F32 })
                        }
                        IntLiteral if !math.integers => FloatLiteral,
                        t => t,
                    }
                } else {
                    return Err(Diagnostic::new(
                        "unknown-function",
                        format!("there is no function `{function}`"),
                    ));
                }
            }
            Expr::Subscript(access) => Known(self.element_type(&access.array)?),
            Expr::Reduce(r) => {
                *number += r.args.iter().map(|a| a.reductions().len()).sum::<usize>();
                let here = *number;
                *number += 1;
                match scope.results.and_then(|r| r.get(&here)) {
                    Some(value) => Known(value.dtype),
                    None => return Err(Diagnostic::new("internal", "a reduction has no result here")),
                }
            }
        })
    }

    fn element_type(&mut self, name: &Name) -> Result<DType, Diagnostic> {
        let array = self
            .analysis
            .kernel
            .array(name)
            .ok_or_else(|| Diagnostic::new("unknown-name", format!("there is no array `{name}`")))?;
        known(&array.dtype, name)
    }
}
