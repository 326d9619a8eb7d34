//! What is known of a value of a thread, and the places that hold values.

use std::rc::Rc;

use loopwright_kernel_ir::DType;

use super::{Holder, parts::Parts, terms::Term};
use crate::{BinOp, UnOp, Value, ValueKind, VarId};

/// What is known of the value that one thread holds.
#[derive(Clone, Debug)]
pub(super) enum Known {
    Int(i64),
    Float(f64),
    Parts(Rc<Parts>),
    /// A term over values of states that is not itself a value of a state.
    Term(Rc<Term>),
    /// Nothing has assigned it, or nothing is known about it.
    Nothing,
}

/// What is known of one value of the text in all threads of a block: that of each, or a single one
/// where it is the same in all, as that of a constant. Whoever reads a place shares its values.
#[derive(Clone, Debug)]
pub(super) struct Values(Rc<Vec<Known>>);

impl Values {
    pub fn same(value: Known) -> Values {
        Values(Rc::new(vec![value]))
    }

    /// Those of the threads, each in its place.
    pub fn of(each: Vec<Known>) -> Values {
        Values(Rc::new(each))
    }

    /// That of one thread.
    #[inline]
    pub fn at(&self, thread: usize) -> &Known {
        match self.0.as_slice() {
            [same] => same,
            each => &each[thread],
        }
    }

    /// Those that differ, at least: the value of all threads has only one place.
    pub fn distinct(&self) -> &[Known] {
        &self.0
    }

    /// That of each of so many threads.
    pub fn into_each(mut self, threads: usize) -> Vec<Known> {
        self.each(threads);
        Rc::unwrap_or_clone(self.0)
    }

    /// Those of so many threads, each in a place of its own.
    pub fn each(&mut self, threads: usize) -> &mut Vec<Known> {
        let values = Rc::make_mut(&mut self.0);
        if let [same] = values.as_slice() {
            *values = vec![same.clone(); threads];
        }
        values
    }
}

impl FromIterator<Known> for Values {
    fn from_iter<I: IntoIterator<Item = Known>>(values: I) -> Values {
        Values::of(values.into_iter().collect())
    }
}

/// A subscript of an element that holds a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sub {
    At(i64),
    /// One that lanes around the join give.
    Text(Value),
}

/// A place that holds a value in each thread.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Var(VarId),
    /// An element of an array of the thread.
    Element(usize, Vec<Sub>),
}

impl Known {
    pub fn term(&self) -> Option<Term> {
        Some(match self {
            Known::Int(v) => Term::Int(*v),
            Known::Float(v) => Term::Float(*v),
            Known::Parts(parts) => Term::Part(parts.clone()),
            Known::Term(term) => (**term).clone(),
            Known::Nothing => return None,
        })
    }
}

/// The value that a term is; nothing where something in it is nothing.
pub(super) fn known(term: Option<Term>) -> Known {
    term.map_or(Known::Nothing, |term| Known::Term(Rc::new(term)))
}

/// A number as its type has it.
pub(super) fn rounded(number: f64, dtype: DType) -> f64 {
    match dtype {
        DType::F32 => f64::from(number as f32),
        _ => number,
    }
}

pub(super) fn constant(value: &Value) -> Option<Known> {
    match &value.kind {
        ValueKind::Int(v) => Some(Known::Int(*v)),
        ValueKind::Bool(v) => Some(Known::Int((*v).into())),
        ValueKind::Float(v) => Some(Known::Float(rounded(*v, value.dtype))),
        ValueKind::Unary(UnOp::Neg, a) => match constant(a)? {
            Known::Int(v) => Some(Known::Int(v.saturating_neg())),
            Known::Float(v) => Some(Known::Float(-v)),
            _ => None,
        },
        ValueKind::Cast(a) => match constant(a)?.term()?.cast(a.dtype, value.dtype) {
            Term::Int(v) => Some(Known::Int(v)),
            Term::Float(v) => Some(Known::Float(v)),
            _ => None,
        },
        _ => None,
    }
}

impl Cell {
    pub fn holder(&self) -> Holder {
        match self {
            Cell::Var(var) => Holder::Var(*var),
            Cell::Element(array, _) => Holder::Array(*array),
        }
    }
}

/// What an operation makes of two integers, if that is known.
pub(super) fn computed(op: BinOp, a: i64, b: i64) -> Option<i64> {
    Some(match op {
        BinOp::Add => a.checked_add(b)?,
        BinOp::Sub => a.checked_sub(b)?,
        BinOp::Mul => a.checked_mul(b)?,
        BinOp::TruncDiv => a.checked_div(b)?,
        BinOp::TruncRem => a.checked_rem(b)?,
        BinOp::FloorDiv => a.checked_div(b)? - i64::from(a % b != 0 && (a < 0) != (b < 0)),
        BinOp::FloorMod => match a.checked_rem(b)? {
            rest if rest != 0 && (rest < 0) != (b < 0) => rest + b,
            rest => rest,
        },
        BinOp::Min => a.min(b),
        BinOp::Max => a.max(b),
        BinOp::And => (a != 0 && b != 0).into(),
        BinOp::Or => (a != 0 || b != 0).into(),
        _ => op.compared(a, b)?.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both sides of every limit: negative numbers, zero, equal operands, the ends of the type.
    #[test]
    fn operations_on_small_numbers_and_at_the_ends_of_64_bits() {
        let numbers = [i64::MIN, -2, -1, 0, 1, 2, i64::MAX];
        for (a, b) in numbers.iter().flat_map(|a| numbers.map(|b| (*a, b))) {
            let fits = |v: i128| i64::try_from(v).ok();
            let (wide_a, wide_b) = (i128::from(a), i128::from(b));
            let truth = |holds: bool| Some(i64::from(holds));
            for (op, wanted) in [
                (BinOp::Add, fits(wide_a + wide_b)),
                (BinOp::Sub, fits(wide_a - wide_b)),
                (BinOp::Mul, fits(wide_a * wide_b)),
                (BinOp::Min, Some(if a < b { a } else { b })),
                (BinOp::Max, Some(if a < b { b } else { a })),
                (BinOp::Lt, truth(wide_a - wide_b < 0)),
                (BinOp::Le, truth(wide_a - wide_b <= 0)),
                (BinOp::Gt, truth(wide_a - wide_b > 0)),
                (BinOp::Ge, truth(wide_a - wide_b >= 0)),
                (BinOp::Eq, truth(wide_a - wide_b == 0)),
                (BinOp::Ne, truth(wide_a - wide_b != 0)),
                (BinOp::And, truth(![a, b].contains(&0))),
                (BinOp::Or, truth([a, b] != [0, 0])),
                (BinOp::Shl, None),
                (BinOp::BitAnd, None),
            ] {
                assert_eq!(computed(op, a, b), wanted, "{op:?} {a} {b}");
            }
        }
    }

    #[test]
    fn quotients_round_down_or_towards_zero() {
        for (a, b, floor, rest, cut, left) in [
            (7, 2, 3, 1, 3, 1),
            (0, 3, 0, 0, 0, 0),
            (-6, 3, -2, 0, -2, 0),
            (-7, 2, -4, 1, -3, -1),
            (7, -2, -4, -1, -3, 1),
            (-7, -2, 3, -1, 3, -1),
            (i64::MIN, 3, i64::MIN / 3 - 1, 1, i64::MIN / 3, -2),
        ] {
            let found = [BinOp::FloorDiv, BinOp::FloorMod, BinOp::TruncDiv, BinOp::TruncRem];
            let found = found.map(|op| computed(op, a, b));
            assert_eq!(found, [floor, rest, cut, left].map(Some), "{a} and {b}");
        }
        for op in [BinOp::FloorDiv, BinOp::TruncDiv, BinOp::FloorMod, BinOp::TruncRem] {
            assert_eq!([computed(op, 7, 0), computed(op, i64::MIN, -1)], [None; 2]);
        }
    }

    #[test]
    fn constants_are_literals_and_their_negatives() {
        let shown = |value: &Value| constant(value).map(|known| format!("{known:?}"));
        let of = |dtype, kind| Value { dtype, kind };
        let negative = |a: Value| of(a.dtype, ValueKind::Unary(UnOp::Neg, a.into()));
        let (int, float) = (Value::int(DType::I32, 7), of(DType::F32, ValueKind::Float(2.5)));
        let truth = of(DType::Bool, ValueKind::Bool(true));
        let cast = of(DType::F32, ValueKind::Cast(Box::new(int.clone())));
        for (value, wanted) in [
            (int.clone(), Known::Int(7)),
            (float.clone(), Known::Float(2.5)),
            (truth.clone(), Known::Int(1)),
            (negative(int.clone()), Known::Int(-7)),
            (negative(float.clone()), Known::Float(-2.5)),
            (negative(negative(float)), Known::Float(2.5)),
            (cast, Known::Int(7)),
        ] {
            assert_eq!(shown(&value), Some(format!("{wanted:?}")), "{value:?}");
        }
        let not = of(DType::Bool, ValueKind::Unary(UnOp::Not, truth.into()));
        assert_eq!(shown(&not), None);
        assert_eq!(shown(&of(DType::I32, ValueKind::Var(VarId(0)))), None);
        assert_eq!(shown(&Value::binary(BinOp::Add, int.clone(), int)), None);
    }
}
