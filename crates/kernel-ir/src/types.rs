//! Types of expressions, as far as they follow from the expressions themselves.
//!
//! The page on values (`values.md`) has the rules; [`crate::typed`] adds what follows from the
//! context of an expression.
//!
//! * A literal adapts to its context: `2 * x[i]` has the type of `x`. An integer literal that i32
//!   does not hold is i64.
//! * Arithmetic uses at least 32 bits: i32 for narrow integers, f32 for f16 and bf16.
//! * Two floating-point types meet in the wider one, two integer types likewise; signed and
//!   unsigned types meet only if the signed one is wider. An integer and a floating-point type meet
//!   in the floating-point type.
//! * Expressions of integers and floating-point literals alone, such as `0.1*i`, `1.0/n` and
//!   `sqrt(i)`, have no type of their own: they take the floating-point type of what they meet,
//!   like literals.
//! * `bool` is not a number: `cast(i32, c)` makes it one. `sum` and `product` of `bool` and of
//!   narrow integers are 32 bits wide.
//! * An iname is `i32`, or `i64` if a bound of its declared domain has 64 bits, whatever transforms
//!   do to it.
//! * An open type meets itself and literals; anything else is cast first.
//! * An assignment converts between integer types and between floating-point types, and from
//!   integers to floating-point types.

use serde::{Deserialize, Serialize};

use crate::{
    BinaryOp, DType, Diagnostic, Expr, MathFunction, MathResult, Name, Reduce, ReductionOp, StateType, Type,
    TypeTable, UnaryOp, math_function,
};

/// Placeholder for the type of a temporary that is still to be inferred.
pub(crate) const UNTYPED: &str = "?";

/// Whether a type stands for one that is still to be inferred.
pub(crate) fn is_untyped(t: &Type) -> bool {
    matches!(t, Type::Open(name) if *name == *UNTYPED)
}

/// The type of a value, as far as the expression alone decides it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ValueType {
    /// An integer literal: any numeric type.
    IntLiteral,
    /// A floating-point literal, or an expression of such literals and integers alone: any
    /// floating-point type.
    FloatLiteral,
    /// `lowest()` or `highest()`: any numeric type.
    AnyNumber,
    /// A type that no context changes.
    Of(Type),
}

impl ValueType {
    /// The type without context, if the kernel has no floating-point type; [`TypeTable::alone`]
    /// knows the kernel.
    pub(crate) fn alone(&self) -> Type {
        match self {
            ValueType::IntLiteral | ValueType::AnyNumber => Type::Known(DType::I32),
            ValueType::FloatLiteral => Type::Known(DType::F32),
            ValueType::Of(t) => t.clone(),
        }
    }

    fn known(&self) -> Option<DType> {
        match self {
            ValueType::Of(t) => t.known(),
            _ => None,
        }
    }

    pub(crate) fn is_bool(&self) -> bool {
        self.known() == Some(DType::Bool)
    }

    /// Whether no value of it is an integer.
    fn is_float(&self) -> bool {
        *self == ValueType::FloatLiteral || self.known().is_some_and(DType::is_float)
    }
}

impl std::fmt::Display for ValueType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ValueType::IntLiteral => f.write_str("an integer literal"),
            ValueType::FloatLiteral => f.write_str("a floating-point value of any type"),
            ValueType::AnyNumber => f.write_str("any number"),
            ValueType::Of(t) => write!(f, "{t}"),
        }
    }
}

/// A type error, with the expression that it concerns.
pub(crate) struct TypeError {
    pub diagnostic: Diagnostic,
    pub about: String,
}

type Result<T> = std::result::Result<T, Box<TypeError>>;

fn error<T>(about: &Expr, code: &'static str, message: String, help: String) -> Result<T> {
    let diagnostic = Diagnostic::new(code, message).help(help);
    Err(Box::new(TypeError { diagnostic, about: about.to_string() }))
}

/// The type in which values of this type are computed and accumulated.
pub fn computing_type(dtype: DType) -> DType {
    match dtype {
        narrow if narrow.is_narrow_float() => DType::F32,
        other => other,
    }
}

pub(crate) fn computing(t: &Type) -> Type {
    match t {
        Type::Known(t) => Type::Known(computing_type(*t)),
        open => open.clone(),
    }
}

/// The type in which two concrete types meet, or `None` if one of them has to be cast.
pub fn promote(a: DType, b: DType) -> Option<DType> {
    let (a, b) = (computing_type(a), computing_type(b));
    if a == DType::Bool || b == DType::Bool {
        return (a == b).then_some(a);
    }
    Some(match (a.is_float(), b.is_float()) {
        (true, true) => a.max(b),
        (true, false) => a,
        (false, true) => b,
        (false, false) => {
            // Narrow types are computed in i32, which holds all their values.
            if a.bytes() < 4 && b.bytes() < 4 {
                return Some(DType::I32);
            }
            match (a.is_unsigned(), b.is_unsigned()) {
                (true, false) if b.bytes() <= a.bytes() => return None,
                (false, true) if a.bytes() <= b.bytes() => return None,
                _ if a.bytes() >= b.bytes() => a,
                _ => b,
            }
        }
    })
}

/// The type of a value of an operator's state, given the types of its inputs.
pub fn state_type(op: &ReductionOp, state: &StateType, inputs: &[Type]) -> Type {
    match state {
        StateType::Fixed(t) => Type::Known(*t),
        StateType::Input(k) => {
            let t = inputs.get(*k).map_or(Type::Known(DType::F32), computing);
            let adds = matches!(&*op.name, "sum" | "product");
            match t.known() {
                Some(DType::Bool | DType::I8 | DType::I16) if adds => Type::Known(DType::I32),
                Some(DType::U8 | DType::U16) if adds => Type::Known(DType::U32),
                _ => t,
            }
        }
    }
}

/// Placeholder in an operator for the type of an input that has no type of its own.
const ADAPTS: &str = "?float";

impl TypeTable<'_> {
    /// The type of an expression. Errors: incompatible values, unknown names.
    pub fn type_of(&self, e: &Expr) -> std::result::Result<ValueType, Diagnostic> {
        self.infer(e).map_err(|e| e.diagnostic)
    }

    /// The types of a reduction's results.
    pub(crate) fn reduction(&self, e: &Expr, r: &Reduce) -> Result<Vec<ValueType>> {
        let Some(op) = self.data.operator(&r.op) else {
            return error(e, "unknown-reduction", format!("there is no reduction `{}`", r.op), String::new());
        };
        let mut inputs = Vec::new();
        for a in &r.args {
            inputs.push(match self.infer(a)? {
                ValueType::FloatLiteral => Type::Open(ADAPTS.into()),
                own => own.alone(),
            });
        }
        if let (Some(Type::Known(t)), true) = (inputs.first(), matches!(&*op.name, "any" | "all"))
            && *t != DType::Bool
            && ReductionOp::is_library(&op.name)
        {
            return error(
                &r.args[0],
                "wrong-type",
                format!("`{}` takes truth values, and this is {t}", op.name),
                format!("write `{} != 0`", r.args[0]),
            );
        }
        self.operator_results(&op, &inputs)
    }

    /// The types of an operator's results, given the types of its inputs.
    pub(crate) fn operator_results(&self, op: &ReductionOp, inputs: &[Type]) -> Result<Vec<ValueType>> {
        let state = op.state.iter().map(|s| (s.name.clone(), state_type(op, &s.dtype, inputs)));
        let table = self.with_scalars(state);
        let adapts = |t: ValueType| match t {
            ValueType::Of(Type::Open(name)) if *name == *ADAPTS => ValueType::FloatLiteral,
            t => t,
        };
        let results: Result<Vec<ValueType>> = op.result.iter().map(|e| table.infer(e)).collect();
        let open = |t: &Type| matches!(t, Type::Open(name) if **name == *ADAPTS);
        match (results, &self.floats[..]) {
            // Next to values of fixed types, it has to be a type that meets them.
            (Err(_), [one]) if inputs.iter().any(open) => {
                let inputs: Vec<Type> =
                    inputs.iter().map(|t| if open(t) { one.clone() } else { t.clone() }).collect();
                self.operator_results(op, &inputs)
            }
            (results, _) => Ok(results?.into_iter().map(adapts).collect()),
        }
    }

    pub(crate) fn infer(&self, e: &Expr) -> Result<ValueType> {
        Ok(match e {
            Expr::Int(v) if i32::try_from(*v).is_err() => ValueType::Of(DType::I64.into()),
            Expr::Int(_) => ValueType::IntLiteral,
            Expr::Float(_) => ValueType::FloatLiteral,
            Expr::Bool(_) => ValueType::Of(DType::Bool.into()),
            Expr::Name(name) if self.adapting.as_ref() == Some(name) => ValueType::FloatLiteral,
            Expr::Name(name) => match (self.scalar_type(name), self.unknown) {
                (Some(t), _) => ValueType::Of(t),
                (None, Some(t)) => ValueType::Of(t.into()),
                (None, None) => {
                    return error(
                        e,
                        "unknown-type",
                        format!("the type of `{name}` is not known"),
                        "declare it".into(),
                    );
                }
            },
            Expr::Subscript(a) if self.adapting.as_ref() == Some(&a.array) => ValueType::FloatLiteral,
            Expr::Subscript(access) => match self.read_type(&access.array) {
                Some(t) => ValueType::Of(t),
                None => {
                    let message = format!("the type of `{}` is not known", access.array);
                    return error(e, "unknown-type", message, "declare it".into());
                }
            },
            Expr::Cast(t, a) => {
                if self.infer(a)? == ValueType::AnyNumber && *t == Type::Known(DType::Bool) {
                    let message = format!("`{a}` is an end of the range of a number, and `bool` is none");
                    let help = format!(
                        "write `cast(bool, cast(i32, {a}))`, which is true as other numbers but 0 are; \
                         the least and the greatest truth value are `false` and `true`"
                    );
                    return error(e, "wrong-type", message, help);
                }
                ValueType::Of(self.as_index(t))
            }
            Expr::Unary(op, a) => self.unary(*op, a)?,
            Expr::Binary(op, a, b) => {
                let types = (self.infer(a)?, self.infer(b)?);
                self.binary(e, *op, (a, &types.0), (b, &types.1))?
            }
            Expr::If(c, a, b) => {
                self.truth(c)?;
                let types = (self.infer(a)?, self.infer(b)?);
                self.meet(e, (a, &types.0), (b, &types.1))?
            }
            Expr::Call { function, args, .. } => self.call(e, function, args)?,
            Expr::Reduce(r) => {
                let mut results = self.reduction(e, r)?;
                if results.len() != 1 {
                    return error(
                        e,
                        "wrong-arity",
                        format!(
                            "`{}` has {} results, and a single value is needed here",
                            r.op,
                            results.len()
                        ),
                        "assign them in a separate instruction, such as `v, k = argmax(i, x[i], \
                         i)`"
                        .into(),
                    );
                }
                results.remove(0)
            }
        })
    }

    /// Requires a truth value.
    fn truth(&self, e: &Expr) -> Result<()> {
        let t = self.infer(e)?;
        if t.is_bool() {
            return Ok(());
        }
        error(
            e,
            "wrong-type",
            format!("a truth value is needed, and `{e}` is {t}"),
            format!("write `{e} != 0`"),
        )
    }

    fn unary(&self, op: UnaryOp, a: &Expr) -> Result<ValueType> {
        if op == UnaryOp::Not {
            self.truth(a)?;
            return Ok(ValueType::Of(DType::Bool.into()));
        }
        let t = self.infer(a)?;
        self.number(a, &t)?;
        match (op, t.known()) {
            (UnaryOp::Neg, Some(u)) if u.is_unsigned() && u.bytes() >= 4 => error(
                a,
                "wrong-type",
                format!("`{a}` is {u}, whose values cannot be negated"),
                format!("write `-cast(i64, {a})`"),
            ),
            (UnaryOp::BitNot, _) if t.is_float() => error(
                a,
                "wrong-type",
                format!("`~` is of integers, and `{a}` is {t}"),
                "cast it first".into(),
            ),
            _ => Ok(match t {
                ValueType::Of(t) => ValueType::Of(widened(&t)),
                literal => literal,
            }),
        }
    }

    /// Refuses a truth value where arithmetic needs a number.
    fn number(&self, e: &Expr, t: &ValueType) -> Result<()> {
        if !t.is_bool() {
            return Ok(());
        }
        let help = format!("write `cast(i32, {e})`, which is 1 or 0");
        error(e, "wrong-type", format!("a number is needed, and `{e}` is a truth value"), help)
    }

    fn binary(
        &self,
        e: &Expr,
        op: BinaryOp,
        (a, ta): (&Expr, &ValueType),
        (b, tb): (&Expr, &ValueType),
    ) -> Result<ValueType> {
        use BinaryOp::*;
        let truth = ValueType::Of(DType::Bool.into());
        if matches!(op, And | Or) {
            self.truth(a)?;
            self.truth(b)?;
            return Ok(truth);
        }
        if matches!(op, Eq | Ne) && ta.is_bool() && tb.is_bool() {
            return Ok(truth);
        }
        self.number(a, ta)?;
        self.number(b, tb)?;
        let integers_only = |what: &str, help: String| match (ta.is_float(), tb.is_float()) {
            (false, false) => Ok(()),
            (true, _) => error(e, "wrong-type", format!("{what} is of integers, and `{a}` is {ta}"), help),
            (_, true) => error(e, "wrong-type", format!("{what} is of integers, and `{b}` is {tb}"), help),
        };
        match op {
            BitAnd | BitOr | BitXor | Shl | Shr => {
                let text = crate::text::binary_text(op);
                let help = match op {
                    BitXor => format!("a power is written `{a}**{b}`; `^` is the exclusive or of integers"),
                    _ => "cast it to an integer type first".into(),
                };
                integers_only(&format!("`{text}`"), help)?;
            }
            Mod => integers_only("`%`", format!("write `fmod({a}, {b})`, which has the sign of `{a}`"))?,
            _ => {}
        }
        if matches!(op, Shl | Shr) {
            return Ok(match ta {
                ValueType::Of(t) => ValueType::Of(widened(t)),
                literal => literal.clone(),
            });
        }
        let meet = self.meet(e, (a, ta), (b, tb))?;
        match op {
            Lt | Le | Gt | Ge | Eq | Ne => Ok(truth),
            Div => match &meet {
                ValueType::Of(Type::Known(t)) if !t.is_float() => error(
                    e,
                    "integer-division",
                    format!("`/` is for floating-point values, and both sides of `{e}` are integers"),
                    format!(
                        "write `//`, which rounds down, or cast one side: `cast({}, {a}) / ...`",
                        self.suggested_float()
                    ),
                ),
                ValueType::IntLiteral | ValueType::AnyNumber => Ok(ValueType::FloatLiteral),
                _ => Ok(meet),
            },
            _ => Ok(match meet {
                ValueType::Of(t) => ValueType::Of(widened(&t)),
                literal => literal,
            }),
        }
    }

    /// The type in which two values meet.
    pub(crate) fn meet(
        &self,
        e: &Expr,
        (a, ta): (&Expr, &ValueType),
        (b, tb): (&Expr, &ValueType),
    ) -> Result<ValueType> {
        use ValueType::{AnyNumber, FloatLiteral, IntLiteral, Of};
        let refuse = |help: String| {
            error(
                e,
                "wrong-type",
                format!("`{a}` is {ta} and `{b}` is {tb}, which have no common type"),
                help,
            )
        };
        Ok(match (ta, tb) {
            (Of(x), Of(y)) if x == y => Of(computing(x)),
            (Of(Type::Known(x)), Of(Type::Known(y))) => match promote(*x, *y) {
                Some(t) => Of(t.into()),
                None if *x == DType::Bool || *y == DType::Bool => {
                    return refuse("cast the truth value: `cast(i32, c)`".into());
                }
                None => {
                    return refuse(format!("cast one of them: `cast({y}, {a})` or `cast({x}, {b})`"));
                }
            },
            (Of(x), Of(y)) => {
                return refuse(format!("cast one of them: `cast({y}, {a})` or `cast({x}, {b})`"));
            }
            (AnyNumber, Of(Type::Known(DType::Bool))) | (Of(Type::Known(DType::Bool)), AnyNumber) => {
                return refuse("cast the truth value: `cast(i32, c)`".into());
            }
            (AnyNumber, other) | (other, AnyNumber) => match other {
                Of(t) => Of(computing(t)),
                literal => literal.clone(),
            },
            (Of(t), literal) | (literal, Of(t)) => match (t, literal) {
                (Type::Known(DType::Bool), _) => {
                    return refuse("cast the truth value: `cast(i32, c)`".into());
                }
                (Type::Known(t), FloatLiteral) if !t.is_float() => FloatLiteral,
                _ => Of(computing(t)),
            },
            (FloatLiteral, _) | (_, FloatLiteral) => FloatLiteral,
            (IntLiteral, IntLiteral) => IntLiteral,
        })
    }

    fn call(&self, e: &Expr, function: &Name, args: &[Expr]) -> Result<ValueType> {
        let arity = |wanted: usize| {
            if args.len() == wanted {
                return Ok(());
            }
            let plural = if wanted == 1 { "" } else { "s" };
            let message =
                format!("`{function}` takes {wanted} argument{plural}, and {} are given", args.len());
            let help = match ReductionOp::is_library(function) {
                true => format!("the reduction is written `{function}(i, e)` with an iname `i` of a domain"),
                false => "pass this number of arguments".into(),
            };
            error(e, "wrong-arity", message, help)
        };
        if let Some(f) = self.data.functions.iter().find(|f| f.name == *function) {
            arity(f.params.len())?;
            for (a, param) in args.iter().zip(&f.params) {
                let t = self.infer(a)?;
                if !assignable(&t, &Type::Known(*param)) {
                    let message = format!("`{function}` takes {param} here, and `{a}` is {t}");
                    return error(e, "wrong-type", message, format!("write `cast({param}, {a})`"));
                }
            }
            return Ok(ValueType::Of(f.result.into()));
        }
        let Some(math) = math_function(function) else {
            if *function == self.data.name {
                let help = "a call stands for the lines of the kernel, which would have no end: write a loop";
                return error(e, "unknown-function", format!("`{function}` calls itself"), help.into());
            }
            let names = crate::MATH_FUNCTIONS.iter().map(|f| f.name);
            let own = self.data.functions.iter().map(|f| f.name.as_str());
            let operators =
                ReductionOp::LIBRARY.into_iter().chain(self.data.reductions.iter().map(|r| r.name.as_str()));
            let help = match self.data.operator(function) {
                Some(_) => {
                    Some(format!("the reduction is written `{function}(i, e)` with an iname `i` of a domain"))
                }
                None if self.data.array(function).is_some() => {
                    let index: Vec<String> = args.iter().map(ToString::to_string).collect();
                    Some(format!("it is an array: write `{function}[{}]`", index.join(", ")))
                }
                None => crate::foreign_function::of_c(function, args)
                    .or_else(|| crate::suggest::did_you_mean(function, names.chain(own).chain(operators))),
            };
            let help =
                help.unwrap_or_else(|| format!("declare it: `function {function}(f32) -> f32 {{ ... }}`"));
            return error(e, "unknown-function", format!("there is no function `{function}`"), help);
        };
        arity(math.arity)?;
        self.math(e, math, args)
    }

    fn math(&self, e: &Expr, math: &MathFunction, args: &[Expr]) -> Result<ValueType> {
        let mut args = args.to_vec();
        if let Some(k) = math.integer {
            let a = args.remove(k);
            let is_integer = match self.infer(&a)? {
                ValueType::Of(Type::Known(t)) => t.is_integer(),
                ValueType::IntLiteral => true,
                _ => false,
            };
            if !is_integer {
                let message = format!("`{}` takes an integer here, and `{a}` is none", math.name);
                return error(e, "wrong-type", message, format!("write `cast(i32, {a})`"));
            }
        }
        let Some((first, rest)) = args.split_first() else { return Ok(ValueType::AnyNumber) };
        let mut meet = self.infer(first)?;
        self.number(first, &meet)?;
        for a in rest {
            let t = self.infer(a)?;
            self.number(a, &t)?;
            meet = self.meet(e, (first, &meet), (a, &t))?;
        }
        match math.result {
            MathResult::Bool => return Ok(ValueType::Of(DType::Bool.into())),
            MathResult::Int => return Ok(ValueType::Of(DType::I32.into())),
            MathResult::Operand => {}
        }
        Ok(match meet {
            ValueType::Of(Type::Known(t)) if t.is_integer() && !math.integers => ValueType::FloatLiteral,
            ValueType::Of(t) => ValueType::Of(widened(&t)),
            ValueType::IntLiteral if !math.integers => ValueType::FloatLiteral,
            literal => literal,
        })
    }
}

/// The type in which arithmetic on this type is done.
fn widened(t: &Type) -> Type {
    match t {
        Type::Known(t) if t.is_integer() && t.bytes() < 4 => Type::Known(DType::I32),
        t => computing(t),
    }
}

/// Whether an assignment converts a value to this type implicitly.
pub(crate) fn assignable(value: &ValueType, to: &Type) -> bool {
    match (value, to) {
        (ValueType::Of(a), b) if a == b => true,
        (ValueType::Of(Type::Known(a)), Type::Known(b)) => {
            let kind = |t: &DType| if t.is_float() { 2 } else { i32::from(t.is_integer()) };
            match (kind(a), kind(b)) {
                (0, k) | (k, 0) => k == 0,
                (a, b) => a <= b,
            }
        }
        (ValueType::Of(_), _) => false,
        (_, Type::Known(DType::Bool)) => false,
        (ValueType::FloatLiteral, Type::Known(t)) => t.is_float(),
        _ => true,
    }
}
