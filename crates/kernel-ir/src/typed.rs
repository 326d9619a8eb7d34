//! Expressions with a type at every node: the rules of the page on values (`values.md`), as code.
//!
//! [`TypeTable::typed`] turns an expression into a [`Typed`] one of the type that its context
//! wants. Readers of the result need no typing rules: the operands of an operation have one type,
//! every conversion is a node, literals are numbers of their type. The reference interpreter
//! evaluates such trees and lowering translates them, so that neither decides what an expression
//! means.
//!
//! Types flow in two directions. *Upwards*, each expression has a type of its own, [`ValueType`],
//! which literals, and what floating-point operations compute from literals and integers, leave
//! open. *Downwards* comes the type that the context wants: it decides open types and widens
//! integer arithmetic.

use crate::{
    Access, BinaryOp, DType, DeviceFunction, Diagnostic, Expr, MathResult, Name, Number, Precision, Reduce,
    Type, TypeTable, UnaryOp, ValueType, computing_type, math_function, state_type,
};

/// An expression with a type at every node.
#[derive(Clone, Debug, PartialEq)]
pub struct Typed {
    /// The type of its value, to which nothing is left to adapt.
    pub dtype: DType,
    /// The kind of node, with its operands.
    pub kind: TypedKind,
}

/// What a [`Typed`] expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum TypedKind {
    /// A constant of the node's type.
    Constant(Number),
    /// An iname, a scalar argument, a scalar temporary, or a value of an operator's state.
    Name(Name),
    /// An element. The subscripts of the access are integers: in [`TypedKind::Element::index`], in
    /// the requested type, or empty if none was requested.
    Element {
        /// The access as it was written, with untyped subscripts.
        access: Access,
        /// Its subscripts, of one integer type.
        index: Vec<Typed>,
    },
    /// The first result of the reduction of this number; numbers are those of [`Expr::reductions`].
    Reduction(usize),
    /// One operand, of the node's type.
    Unary(UnaryOp, Box<Typed>),
    /// Two operands of one type; the node's type is theirs, or bool for a comparison. The right
    /// side of `and` and `or` is evaluated only if the left does not decide.
    Binary(BinaryOp, Box<Typed>, Box<Typed>),
    /// A condition of type bool and two values of the node's type; only the chosen one is
    /// evaluated.
    If(Box<Typed>, Box<Typed>, Box<Typed>),
    /// An implicit conversion to the node's type, as by [`Number::cast`].
    Convert(Box<Typed>),
    /// An explicit conversion to the node's type.
    Cast(Box<Typed>),
    /// A function; operands of the library's functions have one type.
    Call {
        /// Its name: of the library, or of a function that the kernel declares.
        function: Name,
        /// Fast or precise for this call; `None` follows the kernel's option.
        precision: Option<Precision>,
        /// Its operands, in the types in which they are computed.
        args: Vec<Typed>,
    },
}

impl Typed {
    fn new(dtype: DType, kind: TypedKind) -> Typed {
        Typed { dtype, kind }
    }

    /// A constant of the number's own type.
    pub fn constant(number: Number) -> Typed {
        Typed::new(number.dtype(), TypedKind::Constant(number))
    }

    /// The value converted to `to`, or unchanged if it already has that type.
    pub fn convert(self, to: DType) -> Typed {
        match self.kind {
            _ if self.dtype == to => self,
            _ => Typed::new(to, TypedKind::Convert(Box::new(self))),
        }
    }

    /// Calls `f` on the expression and everything inside it, including subscripts that were
    /// requested.
    pub fn visit(&self, f: &mut dyn FnMut(&Typed)) {
        f(self);
        match &self.kind {
            TypedKind::Constant(_) | TypedKind::Name(_) | TypedKind::Reduction(_) => {}
            TypedKind::Element { index, .. } => index.iter().for_each(|e| e.visit(f)),
            TypedKind::Unary(_, a) | TypedKind::Convert(a) | TypedKind::Cast(a) => a.visit(f),
            TypedKind::Binary(_, a, b) => [a, b].into_iter().for_each(|e| e.visit(f)),
            TypedKind::If(c, a, b) => [c, a, b].into_iter().for_each(|e| e.visit(f)),
            TypedKind::Call { args, .. } => args.iter().for_each(|e| e.visit(f)),
        }
    }
}

/// The types in which a reduction works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReductionTypes {
    /// The types in which its inputs are computed.
    pub inputs: Vec<DType>,
    /// The types of the operator's state.
    pub state: Vec<DType>,
    /// The types of its results.
    pub results: Vec<DType>,
}

/// The least or greatest value of a type; infinities for floating-point types.
pub fn end_of_range(dtype: DType, lowest: bool) -> Number {
    match dtype {
        DType::Bool => Number::Bool(!lowest),
        t if t.is_float() => Number::F64(if lowest { f64::NEG_INFINITY } else { f64::INFINITY }).cast(dtype),
        t => {
            let bits = 8 * t.bytes() as u32;
            let ones = u64::MAX >> (64 - bits);
            Number::from_bits(
                dtype,
                match (t.is_unsigned(), lowest) {
                    (true, true) => 0,
                    (true, false) => ones,
                    (false, true) => 1 << (bits - 1),
                    (false, false) => ones >> 1,
                },
            )
        }
    }
}

/// The type in which arithmetic on values of a type is done: at least 32 bits.
fn arithmetic_type(dtype: DType) -> DType {
    match computing_type(dtype) {
        DType::Bool => DType::I32,
        t if t.is_integer() && t.bytes() < 4 => DType::I32,
        t => t,
    }
}

/// The type of integer arithmetic whose own type is `own` where the context wants another integer
/// type: the greater width of the two, signed if the operands are, or if that width is the
/// context's and the context is signed.
fn widened_for(own: DType, wanted: DType) -> DType {
    if !(own.is_integer() && wanted.is_integer() && wanted.bytes() > own.bytes()) {
        return own;
    }
    match (wanted.bytes(), own.is_unsigned() && wanted.is_unsigned()) {
        (8, true) => DType::U64,
        (8, false) => DType::I64,
        (_, true) => DType::U32,
        (_, false) => DType::I32,
    }
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
    matches!(op, Lt | Le | Gt | Ge | Eq | Ne)
}

/// An integer literal in a type. One that the type does not hold becomes an `i64` constant with a
/// conversion.
fn integer(value: i64, dtype: DType) -> Typed {
    let number = Number::I64(value).cast(dtype);
    match number.as_i128() {
        Some(same) if same != i128::from(value) => Typed::constant(Number::I64(value)).convert(dtype),
        _ => Typed::constant(number),
    }
}

/// Whether it is an operation on integers only.
fn is_of_integers(e: &Expr) -> bool {
    use BinaryOp::{BitAnd, BitOr, BitXor, Mod, Shl, Shr};
    match e {
        Expr::Unary(op, _) => *op == UnaryOp::BitNot,
        Expr::Binary(op, ..) => matches!(op, BitAnd | BitOr | BitXor | Mod | Shl | Shr),
        _ => false,
    }
}

type Result<T> = std::result::Result<T, Diagnostic>;

/// The walk over one expression.
struct Walk<'w, 'a> {
    table: &'w TypeTable<'a>,
    /// The type of subscripts, and the types of names in them; `None` leaves subscripts out.
    index: Option<(DType, TypeTable<'a>)>,
    /// The number that the next reduction has.
    number: usize,
    /// The types of the reductions visited so far, by number.
    reductions: Vec<ReductionTypes>,
}

impl TypeTable<'_> {
    /// The expression as a value of type `wanted`. Elements have their subscripts in type `index`,
    /// or no subscripts if that is `None`.
    ///
    /// Errors: open types, incompatible values, and floating-point values that nothing decides to
    /// be f32 or f64.
    pub fn typed(&self, e: &Expr, wanted: DType, index: Option<DType>) -> Result<Typed> {
        self.typed_from(e, wanted, index, 0)
    }

    /// As [`Self::typed`], for a part of an instruction's value whose first reduction has the
    /// number `first`.
    pub fn typed_from(&self, e: &Expr, wanted: DType, index: Option<DType>, first: usize) -> Result<Typed> {
        let index = index.map(|t| (t, self.of_indices(t)));
        Walk { table: self, index, number: first, reductions: Vec::new() }.value(e, wanted)
    }

    /// The expression in the type that it has without context.
    pub fn typed_alone(&self, e: &Expr, index: Option<DType>) -> Result<Typed> {
        let own = self.alone(e)?;
        self.typed(e, own, index)
    }

    /// The type of an expression without context: `i32` for an integer literal, and the kernel's
    /// only floating-point type for an open floating-point value.
    pub fn alone(&self, e: &Expr) -> Result<DType> {
        Walk { table: self, index: None, number: 0, reductions: Vec::new() }.alone(e)
    }

    /// The types in which the reductions of a value work, by number, if the types `wanted` are
    /// wanted of it: one, or for a reduction with several results one for each.
    pub fn reduction_types(&self, value: &Expr, wanted: &[DType]) -> Result<Vec<ReductionTypes>> {
        let mut walk = Walk { table: self, index: None, number: 0, reductions: Vec::new() };
        match (value, wanted) {
            (Expr::Reduce(r), _) => {
                walk.reduction(r, wanted.first().copied())?;
            }
            (e, [wanted, ..]) => {
                walk.value(e, *wanted)?;
            }
            (e, []) => {
                walk.alone(e)?;
            }
        }
        Ok(walk.reductions)
    }
}

/// What is read, in the type that it has in a subscript or a bound.
fn as_read(own: Typed, dtype: DType) -> Typed {
    match own.dtype == dtype {
        true => own,
        false => Typed::new(dtype, TypedKind::Convert(Box::new(own))),
    }
}

impl Walk<'_, '_> {
    fn own(&self, e: &Expr) -> Result<ValueType> {
        self.table.type_of(e)
    }

    fn known(&self, t: &Type) -> Result<DType> {
        t.known().ok_or_else(|| {
            Diagnostic::new("open-type", format!("the open type `{t}` is not bound"))
                .help("pass the argument that binds it, or bind it explicitly")
        })
    }

    /// The kernel's only floating-point type, which decides what nothing else does.
    fn default_float(&self, e: &Expr) -> Result<DType> {
        let floats = self.table.floats();
        match floats {
            [Type::Known(one)] => Ok(*one),
            [Type::Open(_)] => Err(Diagnostic::new("open-type", format!("the type of `{e}` is open"))),
            _ => Err(undecided(e, floats)),
        }
    }

    fn alone(&self, e: &Expr) -> Result<DType> {
        match self.own(e)? {
            ValueType::Of(t) => self.known(&t),
            ValueType::IntLiteral | ValueType::AnyNumber => Ok(DType::I32),
            ValueType::FloatLiteral => self.default_float(e),
        }
    }

    /// The type in which an operation works whose result has the type `own` without context.
    fn operation(&self, e: &Expr, own: &ValueType, wanted: DType) -> Result<DType> {
        Ok(match own {
            ValueType::Of(t) => widened_for(arithmetic_type(self.known(t)?), wanted),
            ValueType::FloatLiteral if wanted.is_float() => computing_type(wanted),
            ValueType::FloatLiteral => self.default_float(e)?,
            // Bitwise operations and remainders work on integers, whatever the result is used for.
            _ if is_of_integers(e) && !wanted.is_integer() => DType::I32,
            ValueType::IntLiteral | ValueType::AnyNumber => arithmetic_type(wanted),
        })
    }

    fn boxed(&mut self, e: &Expr, wanted: DType) -> Result<Box<Typed>> {
        self.value(e, wanted).map(Box::new)
    }

    fn value(&mut self, e: &Expr, wanted: DType) -> Result<Typed> {
        Ok(match e {
            Expr::Int(v) => integer(*v, wanted),
            Expr::Float(v) => {
                let dtype = if wanted.is_float() { wanted } else { self.default_float(e)? };
                Typed::constant(Number::F64(v.0).cast(dtype))
            }
            Expr::Bool(v) => Typed::constant(Number::Bool(*v)),
            Expr::Name(name) => {
                let (dtype, own) = (self.alone(e)?, self.table.stored_type(name));
                let kind = TypedKind::Name(name.clone());
                as_read(Typed::new(own.and_then(|t| t.known()).unwrap_or(dtype), kind), dtype)
            }
            Expr::Subscript(access) => {
                let dtype = self.alone(e)?;
                let index = match &self.index {
                    Some((index, table)) => {
                        let inside = |s| table.typed(s, *index, Some(*index));
                        access.index.iter().map(inside).collect::<Result<_>>()?
                    }
                    None => Vec::new(),
                };
                let own = self.table.element(&access.array).and_then(Type::known).unwrap_or(dtype);
                let kind = TypedKind::Element { access: access.clone(), index };
                as_read(Typed::new(own, kind), dtype)
            }
            Expr::Reduce(r) => {
                let number = self.reduction(r, Some(wanted))?;
                let types = self.reductions.last();
                let dtype = types.and_then(|t| t.results.first().copied()).unwrap_or(wanted);
                Typed::new(dtype, TypedKind::Reduction(number))
            }
            Expr::Unary(UnaryOp::Not, a) => {
                Typed::new(DType::Bool, TypedKind::Unary(UnaryOp::Not, self.boxed(a, DType::Bool)?))
            }
            Expr::Unary(UnaryOp::Neg, a) if matches!(**a, Expr::Int(_)) => {
                let Expr::Int(v) = **a else { return Err(Diagnostic::new("internal", "no literal")) };
                let own = self.own(e)?;
                integer(v.wrapping_neg(), self.operation(e, &own, wanted)?)
            }
            Expr::Unary(op, a) => {
                let own = self.own(e)?;
                let dtype = self.operation(e, &own, wanted)?;
                Typed::new(dtype, TypedKind::Unary(*op, self.boxed(a, dtype)?))
            }
            Expr::Binary(op, a, b) => self.binary(e, *op, a, b, wanted)?,
            Expr::If(c, a, b) => {
                let c = self.boxed(c, DType::Bool)?;
                let dtype = computing_type(wanted);
                let (a, b) = (self.boxed(a, dtype)?, self.boxed(b, dtype)?);
                Typed::new(dtype, TypedKind::If(c, a, b))
            }
            Expr::Cast(t, a) => {
                let to = self.known(t)?;
                let from = match self.own(a)? {
                    ValueType::Of(t) => self.known(&t)?,
                    ValueType::FloatLiteral if !to.is_float() => self.default_float(a)?,
                    // A truth value is not a number: an open one is what it is by itself.
                    ValueType::IntLiteral if to == DType::Bool => DType::I32,
                    _ => to,
                };
                let cast = Typed::new(to, TypedKind::Cast(self.boxed(a, from)?));
                // What wraps in a subscript is an integer of it like any other.
                as_read(cast, self.known(&self.table.as_index(t))?)
            }
            Expr::Call { function, precision, args } => self.call(e, function, *precision, args, wanted)?,
        }
        .convert(wanted))
    }

    fn binary(&mut self, e: &Expr, op: BinaryOp, a: &Expr, b: &Expr, wanted: DType) -> Result<Typed> {
        let (result, operands) = match op {
            BinaryOp::And | BinaryOp::Or => (DType::Bool, DType::Bool),
            op if is_comparison(op) => {
                let meet = self.table.meet_of(e, a, b)?;
                (DType::Bool, self.comparison(a, &meet)?)
            }
            _ => {
                let own = self.own(e)?;
                let dtype = self.operation(e, &own, wanted)?;
                (dtype, dtype)
            }
        };
        let (a, b) = (self.boxed(a, operands)?, self.boxed(b, operands)?);
        Ok(Typed::new(result, TypedKind::Binary(op, a, b)))
    }

    /// The type in which values that meet in `meet` are compared.
    fn comparison(&self, e: &Expr, meet: &ValueType) -> Result<DType> {
        Ok(match meet {
            ValueType::Of(t) => match self.known(t)? {
                DType::Bool => DType::Bool,
                t => arithmetic_type(t),
            },
            ValueType::FloatLiteral => self.default_float(e)?,
            // In a subscript, numbers are integers of it like any other.
            ValueType::IntLiteral | ValueType::AnyNumber => self.table.index().unwrap_or(DType::I32),
        })
    }

    fn call(
        &mut self,
        e: &Expr,
        function: &Name,
        precision: Option<Precision>,
        args: &[Expr],
        wanted: DType,
    ) -> Result<Typed> {
        let call =
            |dtype, args| Typed::new(dtype, TypedKind::Call { function: function.clone(), precision, args });
        if let Some(DeviceFunction { params, result, .. }) = self.table.function(function) {
            let (params, result) = (params.clone(), *result);
            let args = args.iter().zip(params).map(|(a, t)| self.value(a, t)).collect::<Result<_>>()?;
            return Ok(call(result, args));
        }
        if let "lowest" | "highest" = &**function {
            return Ok(Typed::constant(end_of_range(wanted, &**function == "lowest")));
        }
        let own = self.own(e)?;
        let Some(math) = math_function(function) else {
            return Err(Diagnostic::new("unknown-function", format!("there is no function `{function}`")));
        };
        let operands = match (math.result, args) {
            (MathResult::Bool | MathResult::Int, [a]) => match self.own(a)? {
                ValueType::Of(t) if self.known(&t)?.is_float() => computing_type(self.known(&t)?),
                _ => self.default_float(a)?,
            },
            _ => match &own {
                ValueType::Of(t) => arithmetic_type(self.known(t)?),
                own => self.operation(e, own, wanted)?,
            },
        };
        let typed = args.iter().enumerate().map(|(k, a)| self.value(a, math.operand(k, operands)));
        let args = typed.collect::<Result<_>>()?;
        Ok(call(math.result_of(operands), args))
    }

    /// Records the types of a reduction and returns its number. Open inputs take the floating-point
    /// type that the context wants.
    fn reduction(&mut self, r: &Reduce, wanted: Option<DType>) -> Result<usize> {
        let op = self.table.operator(&r.op).ok_or_else(|| {
            Diagnostic::new("unknown-reduction", format!("there is no reduction `{}`", r.op))
        })?;
        let mut inputs = Vec::new();
        for a in &r.args {
            inputs.push(match (self.own(a)?, wanted) {
                (ValueType::FloatLiteral, Some(wanted)) if wanted.is_float() => computing_type(wanted),
                _ => self.alone(a)?,
            });
        }
        for (a, dtype) in r.args.iter().zip(&inputs) {
            // Only for the reductions inside.
            self.value(a, computing_type(*dtype))?;
        }
        let open: Vec<Type> = inputs.iter().map(|t| Type::Known(*t)).collect();
        let mut state = Vec::new();
        for s in &op.state {
            state.push(self.known(&state_type(&op, &s.dtype, &open))?);
        }
        let names = op.state.iter().zip(&state).map(|(s, t)| (s.name.clone(), Type::Known(*t)));
        let inside = self.table.with_scalars(names);
        let mut results = Vec::new();
        for e in &op.result {
            results.push(match (inside.type_of(e)?, wanted) {
                (ValueType::FloatLiteral, Some(wanted)) if wanted.is_float() => computing_type(wanted),
                _ => inside.alone(e)?,
            });
        }
        let number = self.number;
        self.number += 1;
        self.reductions.push(ReductionTypes {
            inputs: inputs.into_iter().map(computing_type).collect(),
            state,
            results,
        });
        Ok(number)
    }
}

/// The refusal of a value that nothing decides to be f32 or f64.
pub(crate) fn undecided(e: &Expr, floats: &[Type]) -> Diagnostic {
    let why = match floats {
        [] => "the kernel has no floating-point arrays or scalars".to_string(),
        floats => {
            let names: Vec<String> = floats.iter().map(|t| format!("`{t}`")).collect();
            format!("the kernel has values of {}", names.join(" and "))
        }
    };
    Diagnostic::new("undecided-type", format!("the floating-point type of `{e}` is not determined: {why}"))
        .help(format!("write `cast(f32, {e})` or `cast(f64, {e})`"))
}
