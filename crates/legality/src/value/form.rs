//! The form of a value: what computes the same number is written in one way.
//!
//! Forms are of typed expressions, so that all conversions are there. Two of them are one where
//! they differ by what changes no number of the type (`crates/kernel-ir/values.md`):
//!
//! * `1*x` and `x//1` of integers, `1.0*x` and `x/1.0`, `x + 0` and `x - 0` of integers, `x - 0.0`.
//!   The sign and the payload of a NaN are not defined, and numbers below the normal ones are kept,
//!   so that all of these are `x` itself. `x + 0.0` is not: it makes a positive zero of `-0.0`;
//! * the order of the operands of `+`, `*`, `&`, `|`, `^`, `==`, `!=`, `min` and `max`, which round
//!   once, and `a > b` for `b < a`;
//! * a conversion to a type that has all numbers of the own one, and back.
//!
//! Sums and products are not regrouped: that would round elsewhere.

use loopwright_kernel_ir::{Access, Aff, BinaryOp, DType, Expr, Lookup, Name, Number, Typed, TypedKind};

/// A form in text, with a hole (`#`) for each integer function of inames and parameters in it, and
/// these functions in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Form {
    pub text: String,
    pub holes: Vec<Aff>,
}

impl Form {
    fn of(text: impl Into<String>) -> Form {
        Form { text: text.into(), holes: Vec::new() }
    }

    /// `(head a b ...)`.
    fn node(head: &str, dtype: DType, args: impl IntoIterator<Item = Form>) -> Form {
        Form::list(format!("({head}:{dtype}"), args, ")")
    }

    /// What begins so, the texts of these behind it, and an end.
    fn list(begin: String, args: impl IntoIterator<Item = Form>, end: &str) -> Form {
        let mut form = Form::of(begin);
        for arg in args {
            form.text += " ";
            form.text += &arg.text;
            form.holes.extend(arg.holes);
        }
        form.text += end;
        form
    }
}

/// The form of a value; `None` if it depends on an array that the kernel writes.
pub(super) fn form(lookup: &Lookup<'_>, e: &Typed) -> Option<Form> {
    let of = |e: &Typed| form(lookup, e);
    Some(match &e.kind {
        TypedKind::Constant(number) => Form::of(format!("{:x}:{}", number.bits(), e.dtype)),
        // An iname wraps in the type of its domain, which is the node's.
        TypedKind::Name(n) if lookup.is_iname(n) => {
            Form { text: format!("#:{}", e.dtype), holes: vec![Aff::var(n)] }
        }
        TypedKind::Name(n) if lookup.is_scalar(n) => Form::of(n.to_string()),
        TypedKind::Element { access, .. } => element(lookup, access)?,
        TypedKind::Name(_) | TypedKind::Reduction(_) => return None,
        TypedKind::Unary(op, a) => Form::node(&format!("{op:?}"), e.dtype, [of(a)?]),
        TypedKind::Binary(op, a, b) => match neutral(*op, a, b) {
            Some(same) => of(same)?,
            None => binary(*op, a.dtype, of(a)?, of(b)?),
        },
        TypedKind::If(c, a, b) => Form::node("if", e.dtype, [of(c)?, of(a)?, of(b)?]),
        TypedKind::Convert(a) | TypedKind::Cast(a) => match &a.kind {
            _ if a.dtype == e.dtype => of(a)?,
            TypedKind::Convert(inner) | TypedKind::Cast(inner)
                if inner.dtype == e.dtype && has_all(a.dtype, e.dtype) =>
            {
                of(inner)?
            }
            _ => Form::node("to", e.dtype, [of(a)?]),
        },
        TypedKind::Call { function, precision, args } => {
            let mut args = args.iter().map(of).collect::<Option<Vec<_>>>()?;
            if matches!(function.as_str(), "min" | "max") {
                args.sort();
            }
            Form::node(&format!("{function} {precision:?}"), e.dtype, args)
        }
    })
}

/// The operand that an operation leaves as it is, if the other one is its neutral number.
fn neutral<'e>(op: BinaryOp, a: &'e Typed, b: &'e Typed) -> Option<&'e Typed> {
    let is = |e: &Typed, wanted: i8| {
        let number = Number::I8(wanted).cast(e.dtype);
        matches!(e.kind, TypedKind::Constant(n) if n.bits() == number.bits())
    };
    let integers = a.dtype.is_integer();
    match op {
        BinaryOp::Mul if is(a, 1) => Some(b),
        BinaryOp::Add if integers && is(a, 0) => Some(b),
        BinaryOp::Mul | BinaryOp::Div if is(b, 1) => Some(a),
        BinaryOp::FloorDiv if integers && is(b, 1) => Some(a),
        BinaryOp::Add if integers && is(b, 0) => Some(a),
        BinaryOp::Sub if is(b, 0) => Some(a),
        _ => None,
    }
}

fn binary(op: BinaryOp, dtype: DType, a: Form, b: Form) -> Form {
    let (op, mut args) = match op {
        BinaryOp::Gt => (BinaryOp::Lt, [b, a]),
        BinaryOp::Ge => (BinaryOp::Le, [b, a]),
        op => (op, [a, b]),
    };
    let free = matches!(
        op,
        BinaryOp::Add
            | BinaryOp::Mul
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::Eq
            | BinaryOp::Ne
    );
    if free {
        args.sort();
    }
    Form::node(&format!("{op:?}"), dtype, args)
}

/// Whether a type has all numbers of another one, and conversion there and back leaves each as it
/// is.
fn has_all(wide: DType, narrow: DType) -> bool {
    let bits = |t: DType| 8 * t.bytes();
    match (narrow, wide) {
        (DType::F16 | DType::BF16, DType::F32 | DType::F64) | (DType::F32, DType::F64) => true,
        (n, DType::F32) if n.is_integer() => bits(n) <= 16,
        (n, DType::F64) if n.is_integer() => bits(n) <= 32,
        // Of integers, what wraps there comes back.
        (n, w) if n.is_integer() && w.is_integer() => bits(n) <= bits(w),
        _ => false,
    }
}

/// An element of an array that nothing writes.
fn element(lookup: &Lookup<'_>, access: &Access) -> Option<Form> {
    if !lookup.writers(&access.array).is_empty() || lookup.temporary(&access.array).is_some() {
        return None;
    }
    let known = |n: &Name| lookup.is_iname(n) || lookup.is_scalar(n);
    let mut form = Form::of(format!("{}[", access.array));
    for e in &access.index {
        let own = match e.to_aff().filter(|aff| !aff.mentions_any(&|n| !known(n))) {
            Some(aff) => Form { text: "#".to_string(), holes: vec![aff] },
            None => untyped(lookup, e)?,
        };
        form.text += &own.text;
        form.text += ",";
        form.holes.extend(own.holes);
    }
    form.text += "]";
    Some(form)
}

/// The form of an expression without types, as of a subscript that is no function of inames and
/// parameters: compared as it is written.
pub(super) fn untyped(lookup: &Lookup<'_>, e: &Expr) -> Option<Form> {
    match e {
        Expr::Name(n) if lookup.is_iname(n) => Some(Form { text: format!("{n}#"), holes: vec![Aff::var(n)] }),
        Expr::Name(n) => lookup.is_scalar(n).then(|| Form::of(n.to_string())),
        Expr::Subscript(access) => element(lookup, access),
        Expr::Reduce(_) => None,
        _ => {
            // The node with its operands taken out, and these.
            let mut args = Vec::new();
            let mut pure = true;
            let head = e.map_children(&mut |child| {
                match untyped(lookup, child) {
                    Some(form) => args.push(form),
                    None => pure = false,
                }
                Expr::Name(Name::new("#"))
            });
            pure.then(|| Form::list(format!("<{head}"), args, ">"))
        }
    }
}
