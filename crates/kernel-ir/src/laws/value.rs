//! The parts of an operator as expressions that can be evaluated while its laws are tested.
//!
//! Integers wrap in the type of their expression. Floating-point values stand for real numbers:
//! they are held and computed in f64 whatever their type, since the laws concern the exact numbers,
//! and rounding may break them. The meaning of an expression is decided by [`TypeTable::typed`], as
//! everywhere.

use crate::{
    BinaryOp, DType, Expr, Name, Number, Type, TypeTable, Typed, TypedKind, arithmetic, math_function,
};

/// The type in which the tests hold values of a type.
fn held(dtype: DType) -> DType {
    if dtype.is_float() { DType::F64 } else { dtype }
}

fn hold(number: Number) -> Number {
    number.cast(held(number.dtype()))
}

/// A number as a witness shows it.
pub(super) fn text(number: Number) -> String {
    match number {
        Number::F64(v) if v.abs() >= 1e7 && v.is_finite() => format!("{v:e}"),
        number => number.to_string(),
    }
}

/// The magnitude of a finite real number; 0 for all others.
pub(super) fn magnitude(number: Number) -> f64 {
    match number {
        Number::F64(v) if v.is_finite() => v.abs(),
        _ => 0.0,
    }
}

/// The names that the parts of an operator may use.
pub(super) struct Scope<'a> {
    pub table: TypeTable<'a>,
    names: Vec<Name>,
}

impl<'a> Scope<'a> {
    pub fn new(table: &TypeTable<'a>, names: Vec<Name>, types: &[DType]) -> Scope<'a> {
        let typed = names.iter().cloned().zip(types.iter().map(|t| Type::Known(held(*t))));
        Scope { table: table.with_scalars(typed), names }
    }

    /// The expression, evaluated in the type `wanted`. None if it is refused, or calls a function
    /// that only a device can run.
    pub fn code(&self, e: &Expr, wanted: DType) -> Option<Code> {
        let tree = self.table.typed(e, held(wanted), None).ok()?;
        let mut computable = true;
        tree.visit(&mut |e| {
            computable &= match &e.kind {
                TypedKind::Name(name) => self.names.contains(name),
                TypedKind::Call { function, .. } => {
                    math_function(function).is_some() && self.table.function(function).is_none()
                }
                TypedKind::Element { .. } | TypedKind::Reduction(_) => false,
                _ => true,
            }
        });
        computable.then(|| Code { tree, names: self.names.clone() })
    }
}

/// A part of an operator, and the names whose values it is given.
#[derive(Debug)]
pub(super) struct Code {
    tree: Typed,
    names: Vec<Name>,
}

impl Code {
    /// The value for these values of its names, in order. None if an integer is divided by zero.
    pub fn value(&self, values: &[Number]) -> Option<Number> {
        self.of(&self.tree, values)
    }

    fn of(&self, e: &Typed, values: &[Number]) -> Option<Number> {
        let of = |e: &Typed| self.of(e, values);
        Some(match &e.kind {
            TypedKind::Constant(number) => hold(*number),
            TypedKind::Name(name) => *values.get(self.names.iter().position(|n| n == name)?)?,
            TypedKind::Element { .. } | TypedKind::Reduction(_) => return None,
            TypedKind::Convert(a) | TypedKind::Cast(a) => of(a)?.cast(held(e.dtype)),
            TypedKind::Unary(op, a) => arithmetic::unary(*op, of(a)?).ok()?,
            TypedKind::Binary(op, a, b) => match (op, of(a)?) {
                (BinaryOp::And, a @ Number::Bool(false)) | (BinaryOp::Or, a @ Number::Bool(true)) => a,
                (op, a) => arithmetic::binary(*op, a, of(b)?).ok()?,
            },
            TypedKind::If(c, a, b) => of(if of(c)? == Number::Bool(true) { a } else { b })?,
            TypedKind::Call { function, args, .. } => {
                let args = args.iter().map(of).collect::<Option<Vec<_>>>()?;
                arithmetic::math(function, &args).ok()?
            }
        })
    }

    /// Whether it only compares, chooses and copies, so that its result depends only on the order
    /// of its values, including infinite ones.
    pub fn only_chooses(&self) -> bool {
        let mut chooses = true;
        self.tree.visit(&mut |e| {
            chooses &= match &e.kind {
                TypedKind::Binary(..) => !e.dtype.is_float(),
                TypedKind::Call { function, .. } => matches!(&**function, "min" | "max" | "isnan"),
                _ => true,
            }
        });
        chooses
    }
}
