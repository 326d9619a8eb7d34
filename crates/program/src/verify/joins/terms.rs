//! Terms over the values of states, and whether a term is what an operator makes of two states.
//!
//! A program's value and an operator's `combine` come to the same normal form, in which one is
//! compared with the other: sums and products are flat with their constants folded, as those of
//! other operations on small integers are, `a > b` is `b < a`. Conversions stand in both, in an
//! operator those too that its types imply. Where a component of the pattern stands, the term has
//! to have that component of one and the same state, or the component of the neutral element. Sums
//! of floating-point values are compared as those of numbers: rounding does not matter here.

use std::{collections::BTreeMap, rc::Rc};

use loopwright_kernel_ir::{BinaryOp, DType, Expr, Name, ReductionOp, TypeTable, Typed, TypedKind, UnaryOp};

use super::{
    super::integers::limits,
    known::computed,
    parts::{Content, Parts},
};
use crate::{BinOp, UnOp};

/// An operation of a term.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Op {
    Sum,
    Product,
    Negative,
    Not,
    BitNot,
    Select,
    Cast(DType),
    Binary(BinOp),
    Call(Name),
}

/// A term, or a pattern for terms.
#[derive(Clone, Debug)]
pub(super) enum Term {
    Int(i64),
    Float(f64),
    /// A component of a state, with the partial results that are joined in it.
    Part(Rc<Parts>),
    /// In a pattern: this component of the first state (0) or of the second (1).
    Side(usize, u8),
    Op(Op, Vec<Term>),
}

impl Term {
    pub fn unary(op: UnOp, a: Term) -> Term {
        match (op, a) {
            (UnOp::Neg, a) => negative(a),
            (UnOp::Not, Term::Op(Op::Not, mut inner)) if inner.len() == 1 => inner.remove(0),
            (UnOp::Not, a) => Term::Op(Op::Not, vec![a]),
            (UnOp::BitNot, a) => Term::Op(Op::BitNot, vec![a]),
        }
    }

    /// What an operation makes of two values of this type.
    pub fn binary(op: BinOp, of: DType, a: Term, b: Term) -> Term {
        if let (Term::Int(a), Term::Int(b)) = (&a, &b)
            && let Some(value) = of_small(op, of, *a, *b)
        {
            return Term::Int(value);
        }
        match op {
            BinOp::Add => flat(Op::Sum, [a, b]),
            BinOp::Sub => flat(Op::Sum, [a, negative(b)]),
            BinOp::Mul => flat(Op::Product, [a, b]),
            BinOp::Gt => Term::Op(Op::Binary(BinOp::Lt), vec![b, a]),
            BinOp::Ge => Term::Op(Op::Binary(BinOp::Le), vec![b, a]),
            _ => Term::Op(Op::Binary(op), vec![a, b]),
        }
    }

    /// A value of one type in another one. A constant that has the type is itself.
    pub fn cast(self, from: DType, to: DType) -> Term {
        let has_constants = matches!(to, DType::F32 | DType::F64);
        let stays = from == to
            || match self {
                Term::Int(v) if to.is_integer() => is_of(to, v),
                // What `f32` has, too.
                Term::Int(v) => has_constants && v.unsigned_abs() <= 1 << 24,
                Term::Float(_) => has_constants,
                _ => false,
            };
        if stays { self } else { Term::Op(Op::Cast(to), vec![self]) }
    }

    /// Whether something in it is converted to another type.
    pub fn converts(&self) -> bool {
        match self {
            Term::Op(op, args) => matches!(op, Op::Cast(_)) || args.iter().any(Term::converts),
            _ => false,
        }
    }

    /// The value that a condition chooses.
    pub fn select(condition: Term, a: Term, b: Term) -> Term {
        match condition {
            Term::Int(0) => b,
            Term::Int(_) => a,
            condition => Term::Op(Op::Select, vec![condition, a, b]),
        }
    }

    /// A pattern in which the neutral element stands for one of the states, as a term of these
    /// values would be; `None` if the element is not known.
    fn with_neutral(&self, side: usize, neutral: &[Option<Term>]) -> Option<Term> {
        Some(match self {
            Term::Side(of, number) if *of == side => neutral.get(usize::from(*number))?.clone()?,
            Term::Int(_) | Term::Float(_) | Term::Part(_) | Term::Side(..) => self.clone(),
            Term::Op(op, args) => {
                let mut args =
                    args.iter().map(|arg| arg.with_neutral(side, neutral)).collect::<Option<Vec<_>>>()?;
                match (op, args.len()) {
                    (Op::Sum | Op::Product, _) => flat(op.clone(), args),
                    (Op::Negative, 1) => negative(args.remove(0)),
                    (Op::Not, 1) => Term::unary(UnOp::Not, args.remove(0)),
                    (Op::Select, 3) => {
                        let (c, a) = (args.remove(0), args.remove(0));
                        Term::select(c, a, args.remove(0))
                    }
                    (Op::Binary(op), 2) => {
                        let a = args.remove(0);
                        // The type is not known here: as of unsigned numbers, only what is the same
                        // in every type is folded.
                        Term::binary(*op, DType::U32, a, args.remove(0))
                    }
                    // Of a constant, the type that it has now is not known.
                    (Op::Cast(_), _) if args.iter().any(|arg| arg.number().is_some()) => return None,
                    _ => Term::Op(op.clone(), args),
                }
            }
        })
    }

    fn number(&self) -> Option<f64> {
        match self {
            Term::Int(v) => Some(*v as f64),
            Term::Float(v) => Some(*v),
            _ => None,
        }
    }

    /// Adds the states whose values it depends on, each once. Whether it depends on constants too.
    pub fn states<'t>(&'t self, found: &mut Vec<&'t Rc<Parts>>) -> bool {
        match self {
            Term::Part(parts) => {
                if !found.iter().any(|f| f.content == parts.content) {
                    found.push(parts);
                }
                false
            }
            Term::Op(_, args) => args.iter().fold(false, |some, a| a.states(found) | some),
            _ => true,
        }
    }
}

/// Whether an integer is a value of a type of integers. The greatest of 64 bits stand for their
/// bits.
pub(super) fn is_of(dtype: DType, v: i64) -> bool {
    let (least, most) = limits(dtype);
    matches!(dtype, DType::I64 | DType::U64) || (least..=most).contains(&v)
}

/// What an operation makes of two integers as values of a type, if it is the same number in every
/// type in which it may be done: of 32 bits at least, or of floating point.
fn of_small(op: BinOp, of: DType, a: i64, b: i64) -> Option<i64> {
    // `f32` holds what is compared. A negative number stands for the bits of an unsigned one.
    let most = if op.is_comparison() { 1 << 24 } else { i64::from(i32::MAX) };
    let least = if of.is_unsigned() || of == DType::Bool { 0 } else { -most };
    let small = least..=most;
    if !small.contains(&a) || !small.contains(&b) {
        return None;
    }
    let value = match op {
        BinOp::Shl if (0..31).contains(&b) => a << b,
        BinOp::Shr if (0..31).contains(&b) => a >> b,
        BinOp::BitAnd => a & b,
        BinOp::BitOr => a | b,
        BinOp::BitXor => a ^ b,
        BinOp::Min | BinOp::Max => computed(op, a, b)?,
        BinOp::FloorDiv | BinOp::TruncDiv | BinOp::FloorMod | BinOp::TruncRem => computed(op, a, b)?,
        _ if op.is_comparison() => computed(op, a, b)?,
        _ => return None,
    };
    small.contains(&value).then_some(value)
}

fn negative(a: Term) -> Term {
    match a {
        Term::Int(v) => Term::Int(v.saturating_neg()),
        Term::Float(v) => Term::Float(-v),
        Term::Op(Op::Sum, args) => flat(Op::Sum, args.into_iter().map(negative)),
        Term::Op(Op::Negative, mut inner) if inner.len() == 1 => inner.remove(0),
        a => Term::Op(Op::Negative, vec![a]),
    }
}

/// A sum or a product without inner ones, with at most one constant, the last one.
fn flat(op: Op, of: impl IntoIterator<Item = Term>) -> Term {
    let mut args = Vec::new();
    let mut constants: Vec<Term> = Vec::new();
    for term in of {
        let inner = match term {
            Term::Op(same, inner) if same == op => inner,
            term => vec![term],
        };
        for term in inner {
            if term.number().is_some() { &mut constants } else { &mut args }.push(term);
        }
    }
    let folded = constants.into_iter().reduce(|a, b| match (&a, &b) {
        (Term::Int(a), Term::Int(b)) if op == Op::Sum => Term::Int(a.wrapping_add(*b)),
        (Term::Int(a), Term::Int(b)) => Term::Int(a.wrapping_mul(*b)),
        _ => {
            let (a, b) = (a.number().unwrap_or_default(), b.number().unwrap_or_default());
            Term::Float(if op == Op::Sum { a + b } else { a * b })
        }
    });
    let nothing = if op == Op::Sum { 0.0 } else { 1.0 };
    match folded {
        Some(constant) if args.is_empty() || constant.number() != Some(nothing) => args.push(constant),
        _ => {}
    }
    if args.len() == 1 { args.remove(0) } else { Term::Op(op, args) }
}

/// What an operator makes of two states, as patterns by the number of the component.
pub(super) struct Patterns {
    combine: Vec<Option<Term>>,
    /// The same where the first state, or the second, is the neutral element: its constants are
    /// folded as those of a term are, so that the form may be another.
    alone: Vec<[Option<Term>; 2]>,
    neutral: Vec<Option<Term>>,
    /// Whether the states may change places.
    commutes: bool,
}

impl Patterns {
    /// Those of an operator whose state has values of these types, by their numbers, in a kernel
    /// with this table.
    pub fn new(operator: &ReductionOp, types: &BTreeMap<u8, DType>, table: &TypeTable<'_>) -> Self {
        let own = |number: usize| u8::try_from(number).ok().and_then(|number| types.get(&number).copied());
        let states = operator.state.iter().enumerate().flat_map(|(number, s)| {
            let typed = own(number).map(|t| ["a", "b"].map(|side| (format!("{side}.{}", s.name), t)));
            typed.into_iter().flatten().map(|(name, t)| (Name::new(name), t.into()))
        });
        let table = table.with_scalars(states);
        let each = |of: &[Expr]| {
            let typed = |(number, e)| pattern(&table.typed(e, own(number)?, None).ok()?, operator);
            of.iter().enumerate().map(typed).collect()
        };
        let (combine, neutral): (Vec<Option<Term>>, Vec<Option<Term>>) =
            (each(&operator.combine), each(&operator.neutral));
        let alone = |pattern: &Option<Term>| {
            [0, 1].map(|side| pattern.as_ref().and_then(|pattern| pattern.with_neutral(side, &neutral)))
        };
        Patterns { alone: combine.iter().map(alone).collect(), combine, neutral, commutes: operator.commutes }
    }

    /// Whether it is a component of the neutral element.
    pub fn is_neutral(&self, number: u8, constant: &Term) -> bool {
        match self.neutral.get(usize::from(number)) {
            Some(Some(neutral)) => equal(neutral, constant),
            _ => false,
        }
    }

    /// The component of two joined states that a term is.
    pub fn joined(&self, term: &Term) -> Option<Parts> {
        for (number, pattern) in self.combine.iter().enumerate() {
            let (Some(pattern), Ok(number)) = (pattern, u8::try_from(number)) else { continue };
            let mut sides = [None, None];
            if self.unify(pattern, term, &mut sides)
                && let [Some(a), Some(b)] = &sides
            {
                let content = match (a, b) {
                    (None, None) => continue,
                    (Some(one), None) | (None, Some(one)) => one.content.clone(),
                    // Sets do not say which of the states is the earlier one.
                    (Some(a), _) if !self.commutes && matches!(a.content, Content::Set { .. }) => continue,
                    (Some(a), Some(b)) => a.content.with(&b.content, self.commutes),
                };
                return Some(Parts { number: Some(number), content });
            }
        }
        for (number, alone) in self.alone.iter().enumerate() {
            let Ok(number) = u8::try_from(number) else { continue };
            for (side, pattern) in alone.iter().enumerate() {
                // The other state is what both join.
                let mut sides = [None, None];
                if let Some(pattern) = pattern
                    && self.unify(pattern, term, &mut sides)
                    && let (None, Some(Some(other))) = (&sides[side], &sides[1 - side])
                {
                    return Some(Parts { number: Some(number), content: other.content.clone() });
                }
            }
        }
        None
    }

    /// Whether a term is of a pattern's form, with these states for its two: `Some(None)` for the
    /// neutral element.
    fn unify(&self, pattern: &Term, term: &Term, sides: &mut Sides) -> bool {
        match (pattern, term) {
            (Term::Side(side, number), Term::Part(parts)) => {
                let same =
                    |known: &Option<Rc<Parts>>| known.as_ref().is_some_and(|k| k.content == parts.content);
                if parts.number != Some(*number) {
                    return false;
                }
                match &mut sides[*side] {
                    Some(known) => same(known),
                    free => {
                        *free = Some(Some(parts.clone()));
                        true
                    }
                }
            }
            (Term::Side(side, number), Term::Int(_) | Term::Float(_)) => {
                if !self.is_neutral(*number, term) {
                    return false;
                }
                match &mut sides[*side] {
                    Some(known) => known.is_none(),
                    free => {
                        *free = Some(None);
                        true
                    }
                }
            }
            (Term::Op(op, patterns), Term::Op(other, terms)) => {
                if op != other || patterns.len() != terms.len() {
                    return false;
                }
                let free = match op {
                    Op::Sum | Op::Product => true,
                    Op::Binary(op) => matches!(
                        op,
                        BinOp::Min
                            | BinOp::Max
                            | BinOp::Eq
                            | BinOp::Ne
                            | BinOp::BitAnd
                            | BinOp::BitOr
                            | BinOp::BitXor
                    ),
                    _ => false,
                };
                if free {
                    let mut left: Vec<&Term> = terms.iter().collect();
                    return self.in_any_order(patterns, &mut left, sides);
                }
                patterns.iter().zip(terms).all(|(p, t)| self.unify(p, t, sides))
            }
            (pattern, term) => equal(pattern, term),
        }
    }

    fn in_any_order(&self, patterns: &[Term], terms: &mut Vec<&Term>, sides: &mut Sides) -> bool {
        let Some((first, rest)) = patterns.split_first() else { return true };
        for k in 0..terms.len() {
            let before = sides.clone();
            let term = terms.remove(k);
            if self.unify(first, term, sides) && self.in_any_order(rest, terms, sides) {
                return true;
            }
            terms.insert(k, term);
            *sides = before;
        }
        false
    }
}

/// What stands for the two states of a pattern: unknown, the neutral element, or a state.
type Sides = [Option<Option<Rc<Parts>>>; 2];

/// Whether two constants are one; a literal adapts to the type that it is used in.
fn equal(a: &Term, b: &Term) -> bool {
    match (a, b) {
        (Term::Int(a), Term::Int(b)) => a == b,
        _ => match (a.number(), b.number()) {
            // What the program has is rounded to its type.
            (Some(a), Some(b)) => a == b || f64::from(a as f32) == b && b.is_finite(),
            _ => false,
        },
    }
}

/// The component of a state that a name is: `a.s` of the first one.
fn side(name: &Name, operator: &ReductionOp) -> Option<Term> {
    let (side, state) = name.split_once('.')?;
    let number = operator.state.iter().position(|s| *s.name == *state)?;
    Some(Term::Side(usize::from(side == "b"), u8::try_from(number).ok()?))
}

fn unary(op: UnaryOp, a: Term) -> Term {
    let op = match op {
        UnaryOp::Neg => UnOp::Neg,
        UnaryOp::Not => UnOp::Not,
        UnaryOp::BitNot => UnOp::BitNot,
    };
    Term::unary(op, a)
}

/// The pattern of an expression, with its conversions.
fn pattern(e: &Typed, operator: &ReductionOp) -> Option<Term> {
    let of = |e: &Typed| pattern(e, operator);
    let is_one = |e: &Typed| matches!(e.kind, TypedKind::Constant(n) if n.as_i128() == Some(1));
    Some(match &e.kind {
        TypedKind::Constant(number) => match (e.dtype.is_float(), number.as_i128()) {
            (false, Some(v)) => Term::Int(v as i64),
            _ => Term::Float(number.as_f64()),
        },
        TypedKind::Name(name) => side(name, operator)?,
        TypedKind::Unary(op, a) => unary(*op, of(a)?),
        // As in the program: of integers, which `//` does not round.
        TypedKind::Binary(BinaryOp::FloorDiv, a, one) if a.dtype.is_integer() && is_one(one) => of(a)?,
        TypedKind::Binary(BinaryOp::Mod, a, one) if a.dtype.is_integer() && is_one(one) => Term::Int(0),
        TypedKind::Binary(BinaryOp::FloorDiv, a, b) if a.dtype.is_float() => {
            Term::Op(Op::Call(Name::new("floor")), vec![Term::binary(BinOp::Div, a.dtype, of(a)?, of(b)?)])
        }
        TypedKind::Binary(op, a, b) => Term::binary(BinOp::from(*op), a.dtype, of(a)?, of(b)?),
        TypedKind::If(c, a, b) => Term::select(of(c)?, of(a)?, of(b)?),
        TypedKind::Convert(a) | TypedKind::Cast(a) => of(a)?.cast(a.dtype, e.dtype),
        TypedKind::Call { function, args, .. } => {
            let mut args: Vec<Term> = args.iter().map(of).collect::<Option<_>>()?;
            match (function.as_str(), args.len()) {
                ("min", 2) => Term::binary(BinOp::Min, e.dtype, args.remove(0), args.remove(0)),
                ("max", 2) => Term::binary(BinOp::Max, e.dtype, args.remove(0), args.remove(0)),
                _ => Term::Op(Op::Call(function.clone()), args),
            }
        }
        TypedKind::Element { .. } | TypedKind::Reduction(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use loopwright_kernel_ir::KernelData;

    use super::*;

    #[test]
    fn constants_are_added_in_sums_and_multiplied_in_products() {
        let (int, float) = (Term::Int, Term::Float);
        for (op, a, b, wanted) in [
            (BinOp::Add, int(3), int(5), 8.0),
            (BinOp::Sub, int(3), int(5), -2.0),
            (BinOp::Mul, int(3), int(5), 15.0),
            (BinOp::Add, float(1.5), float(4.0), 5.5),
            (BinOp::Sub, float(1.5), float(4.0), -2.5),
            (BinOp::Mul, float(1.5), float(4.0), 6.0),
            (BinOp::Add, int(3), float(1.5), 4.5),
            (BinOp::Mul, int(2), float(1.5), 3.0),
        ] {
            let found = Term::binary(op, DType::F32, a.clone(), b.clone());
            assert_eq!(found.number(), Some(wanted), "{a:?} {op:?} {b:?}: {found:?}");
        }
    }

    fn part(number: u8, content: Content) -> Term {
        Term::Part(Rc::new(Parts { number: Some(number), content }))
    }

    fn single(number: usize) -> Term {
        part(0, Content::single(4, number))
    }

    fn library(name: &str) -> ReductionOp {
        ReductionOp::library(name).unwrap_or_else(|| panic!("no operator {name}"))
    }

    fn patterns(operator: &ReductionOp, dtype: DType) -> Patterns {
        let no_kernel = KernelData::new(Name::new("library"));
        Patterns::new(operator, &BTreeMap::from([(0, dtype)]), &TypeTable::new(&no_kernel))
    }

    #[test]
    fn what_means_the_same_has_one_form() {
        let (a, b) = (|| single(0), || single(1));
        for (one, other) in [
            (Term::binary(BinOp::Gt, DType::I32, a(), b()), Term::binary(BinOp::Lt, DType::I32, b(), a())),
            (Term::binary(BinOp::Ge, DType::I32, a(), b()), Term::binary(BinOp::Le, DType::I32, b(), a())),
            (Term::unary(UnOp::Not, Term::unary(UnOp::Not, a())), a()),
            (Term::unary(UnOp::Neg, Term::unary(UnOp::Neg, a())), a()),
            (Term::binary(BinOp::Add, DType::I32, a(), Term::Int(0)), a()),
            (Term::binary(BinOp::Mul, DType::I32, a(), Term::Float(1.0)), a()),
            (
                Term::binary(BinOp::Sub, DType::I32, a(), Term::unary(UnOp::Neg, b())),
                Term::binary(BinOp::Add, DType::I32, a(), b()),
            ),
        ] {
            assert_eq!(format!("{one:?}"), format!("{other:?}"));
        }
        let int = Term::Int;
        for (op, x, y, value) in [
            (BinOp::Max, 1, -3, Some(1)),
            (BinOp::Min, 1, -3, Some(-3)),
            (BinOp::Lt, -1, 2, Some(1)),
            (BinOp::Shl, -3, 2, Some(-12)),
            (BinOp::Shr, -3, 1, Some(-2)),
            (BinOp::Shl, 1, -1, None),
            (BinOp::BitAnd, -4, 6, Some(4)),
            (BinOp::Max, -(1 << 31), 0, None),
            (BinOp::Shl, 1, 16, Some(65536)),
            (BinOp::Shr, 9, 2, Some(2)),
            (BinOp::BitAnd, 12, 10, Some(8)),
            (BinOp::BitOr, 12, 10, Some(14)),
            (BinOp::BitXor, 12, 10, Some(6)),
            (BinOp::Min, 0, 3, Some(0)),
            (BinOp::Max, 0, 3, Some(3)),
            (BinOp::Lt, 3, 3, Some(0)),
            (BinOp::Le, 3, 3, Some(1)),
            (BinOp::Eq, 3, 4, Some(0)),
            (BinOp::Ne, 3, 4, Some(1)),
            (BinOp::FloorDiv, 7, 2, Some(3)),
            (BinOp::TruncRem, 7, 4, Some(3)),
            // Another number in a narrower type.
            (BinOp::Shl, 1, 31, None),
            (BinOp::Shl, 4, 30, None),
            (BinOp::FloorDiv, 7, 0, None),
            (BinOp::FloorDiv, -7, 2, Some(-4)),
            (BinOp::FloorMod, -7, 4, Some(1)),
            // What `f32` rounds.
            (BinOp::Lt, 1 << 24, (1 << 24) + 1, None),
        ] {
            let found = Term::binary(op, DType::I32, int(x), int(y));
            let is = matches!(found, Term::Int(v) if Some(v) == value);
            assert!(is || value.is_none() && matches!(found, Term::Op(..)), "{op:?} {x} {y}: {found:?}");
        }
        // A negative number stands for the bits of an unsigned one.
        for op in [BinOp::Max, BinOp::Min, BinOp::Lt, BinOp::BitAnd, BinOp::Shr] {
            for of in [DType::U32, DType::U64, DType::Bool] {
                let found = Term::binary(op, of, int(1), int(-3));
                assert!(matches!(found, Term::Op(..)), "{op:?} of {of}: {found:?}");
            }
        }
        // A state of floating-point numbers is rounded by it.
        assert!(matches!(Term::binary(BinOp::FloorDiv, DType::I32, a(), int(1)), Term::Op(..)));
        assert_eq!(format!("{:?}", Term::select(int(1), a(), b())), format!("{:?}", a()));
        assert_eq!(format!("{:?}", Term::select(int(0), a(), b())), format!("{:?}", b()));
        let (great, less) = ((1 << 53) + 1, (1 << 53) - 1);
        for (op, a, b, wanted) in [(BinOp::Add, great, 2, great + 2), (BinOp::Mul, less, 3, 3 * less)] {
            let found = Term::binary(op, DType::I32, Term::Int(a), Term::Int(b));
            assert!(matches!(found, Term::Int(v) if v == wanted), "{found:?}");
        }
    }

    /// `a.s // 1` is the state where that is an integer, and its floor where it is not.
    #[test]
    fn a_quotient_by_one_rounds_floating_point_numbers() {
        let mut divides = library("sum");
        let quotient = Expr::binary(BinaryOp::FloorDiv, Expr::Name(Name::new("a.v")), Expr::Int(1));
        divides.combine = vec![Expr::binary(BinaryOp::Add, quotient, Expr::Name(Name::new("b.v")))];
        divides.state[0].name = Name::new("v");
        let joined = Term::binary(BinOp::Add, DType::I32, single(0), single(1));
        assert!(patterns(&divides, DType::I32).joined(&joined).is_some());
        assert!(patterns(&divides, DType::F32).joined(&joined).is_none());
    }

    /// Integers are compared to the last bit, other literals as far as a type has them.
    #[test]
    fn a_neutral_value_is_the_operators() {
        let sum = library("sum");
        for (dtype, constant, is) in [
            (DType::I32, Term::Int(0), true),
            (DType::I32, Term::Int(1), false),
            (DType::F32, Term::Float(0.0), true),
            (DType::F32, Term::Float(1e-30), false),
        ] {
            assert_eq!(patterns(&sum, dtype).is_neutral(0, &constant), is, "{constant:?}");
        }
        assert!(!patterns(&sum, DType::I32).is_neutral(1, &Term::Int(0)));
        for (name, dtype, end) in [
            ("max", DType::I32, Term::Int(i32::MIN.into())),
            ("min", DType::I32, Term::Int(i32::MAX.into())),
            ("min", DType::U8, Term::Int(255)),
            ("max", DType::F32, Term::Float(f64::NEG_INFINITY)),
            ("min", DType::F64, Term::Float(f64::INFINITY)),
        ] {
            let patterns = patterns(&library(name), dtype);
            assert!(patterns.is_neutral(0, &end), "{name} of {dtype:?}");
            let beside = match end {
                Term::Int(v) => Term::Int(if v > 0 { v - 1 } else { v + 1 }),
                _ => Term::Float(0.0),
            };
            assert!(!patterns.is_neutral(0, &beside), "{name} of {dtype:?}: {beside:?}");
        }
        let great = 1 << 24;
        assert!(equal(&Term::Int(great), &Term::Int(great)));
        assert!(!equal(&Term::Int(great), &Term::Int(great + 1)));
        assert!(equal(&Term::Float(0.1), &Term::Float(f64::from(0.1f32))));
        assert!(!equal(&Term::Float(0.1), &Term::Float(0.100_001)));
        assert!(!equal(&Term::Float(1.0), &Term::Float(1.000_000_01)), "another number of f64");
        assert!(!equal(&Term::Float(f64::NEG_INFINITY), &Term::Float(-1e300)), "none of f32");
        assert!(!equal(&single(0), &Term::Int(0)));
    }

    /// The operands of these may change places; those of others may not.
    #[test]
    fn two_states_are_joined_by_the_operator_alone() {
        let sums = [BinOp::Add, BinOp::Mul, BinOp::Min, BinOp::Max];
        for (name, own) in [("sum", sums[0]), ("product", sums[1]), ("min", sums[2]), ("max", sums[3])] {
            let patterns = patterns(&library(name), DType::I32);
            let both = Content::single(4, 0).with(&Content::single(4, 1), true);
            for op in [sums.as_slice(), &[BinOp::Sub, BinOp::BitXor]].concat() {
                for (a, b) in [(0, 1), (1, 0)] {
                    let found = patterns.joined(&Term::binary(op, DType::I32, single(a), single(b)));
                    assert_eq!(
                        found.map(|parts| parts.content),
                        (op == own).then(|| both.clone()),
                        "{name} {op:?}"
                    );
                }
            }
            let third =
                Term::binary(own, DType::I32, Term::binary(own, DType::I32, single(0), single(1)), single(2));
            assert!(patterns.joined(&third).is_none(), "{name} of three");
            let other = Term::binary(own, DType::I32, single(0), part(1, Content::single(4, 1)));
            assert!(patterns.joined(&other).is_none(), "{name} of another value of the state");
        }
    }

    /// Which of two sets is the earlier one is not known; of runs it is.
    #[test]
    fn an_operator_that_does_not_commute_joins_in_order_alone() {
        let ordered = ReductionOp { commutes: false, ..library("sum") };
        let patterns = patterns(&ordered, DType::I32);
        assert!(patterns.joined(&Term::binary(BinOp::Add, DType::I32, single(0), single(1))).is_none());
        // A comparison says which of its states is which.
        let state = |side: &str| Expr::Name(Name::new(format!("{side}.{}", ordered.state[0].name)));
        let less = Expr::binary(BinaryOp::Lt, state("a"), state("b"));
        let combine = Expr::If(less.into(), state("a").into(), state("b").into());
        let ordered = ReductionOp { combine: vec![combine], ..ordered };
        let patterns = self::patterns(&ordered, DType::I32);
        let of = |first: Content, second: Content| {
            let (first, second) = (part(0, first), part(0, second));
            let less = Term::binary(BinOp::Lt, DType::I32, first.clone(), second.clone());
            let term = Term::select(less, first, second);
            patterns.joined(&term).map(|parts| parts.content)
        };
        let (early, late) = (Content::run(1, 2), Content::run(2, 4));
        assert_eq!(of(early.clone(), late.clone()), Some(Content::run(1, 4)));
        assert!(matches!(of(late, early), Some(Content::Run { broken: true, .. })));
    }
}
