//! Values of a program as affine functions, and its conditions as constraints.

use loopwright_kernel_ir::{Aff, Constraint, HardwareAxis, Name};
use loopwright_legality::Load;
use loopwright_poly::Result;

use super::{
    integers::Asked,
    reading::{Reading, Rows},
};
use crate::{BinOp, MemRef, Memory, UnOp, Value, ValueKind};

impl Reading<'_> {
    /// The value over coordinates, loops, parameters and data; `None` where it is not affine in
    /// these, or where C's operators may divide a negative number, which they do not round down.
    pub fn aff(&mut self, value: &Value) -> Result<Option<Aff>> {
        if !self.rounds_down(value)? {
            return Ok(None);
        }
        self.rounded_down(value)
    }

    /// Whether what C's operators divide in a value is known not to be negative here.
    fn rounds_down(&mut self, value: &Value) -> Result<bool> {
        for child in value.children() {
            if !self.rounds_down(child)? {
                return Ok(false);
            }
        }
        let ValueKind::Binary(BinOp::TruncDiv | BinOp::TruncRem, dividend, _) = &value.kind else {
            return Ok(true);
        };
        if dividend.dtype.is_unsigned() || is_natural(dividend) {
            return Ok(true);
        }
        let Some(aff) = self.rounded_down(dividend)? else { return Ok(false) };
        let place = (self.place(), aff);
        if let Some(known) = self.natural.get(&place) {
            return Ok(*known);
        }
        let known = self.is_natural(place.0, &place.1)?;
        self.natural.insert(place, known);
        Ok(known)
    }

    /// [`Reading::aff`] where all divisions round down.
    fn rounded_down(&mut self, value: &Value) -> Result<Option<Aff>> {
        value.affine(&mut |leaf| {
            Ok(match &leaf.kind {
                ValueKind::BlockIdx(dim) => Some(HardwareAxis::Grid(*dim).position()),
                ValueKind::ThreadIdx(dim) => Some(HardwareAxis::Block(*dim).position()),
                ValueKind::Var(var) => self.variable(var.0),
                ValueKind::Load(element) if leaf.dtype.is_integer() => self.loaded(element)?,
                _ => None,
            })
        })
    }

    /// An element of an array that no kernel writes, as a named function of its subscripts.
    ///
    /// A scalar in memory that bounds are read from stands in a part's instances under its own
    /// name, as one in a variable does.
    fn loaded(&mut self, element: &MemRef) -> Result<Option<Aff>> {
        if let Some(scalar) = self.scalar_of_instances(element) {
            return Ok(Some(Aff::var(scalar)));
        }
        let Memory::Global(number) = element.memory else { return Ok(None) };
        let Some(global) = self.program.globals.get(number).filter(|g| !g.written) else { return Ok(None) };
        let mut arguments = Vec::new();
        for s in &element.subscripts {
            let Some(s) = self.aff(s)? else { return Ok(None) };
            arguments.push(s);
        }
        let texts: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let name = Name::new(format!("{}[{}]", global.name, texts.join(", ")));
        let load = Load { name: name.clone(), array: global.name.clone(), arguments };
        self.know(load);
        Ok(Some(Aff::var(name)))
    }

    /// Adds what it means that a condition has this truth value. Whether that is all that it means.
    /// A comparison that may wrap means nothing in the integers ([`super::integers`]).
    pub fn condition(&mut self, cond: &Value, side: bool, asked: Asked, rows: &mut Rows) -> Result<bool> {
        match (&cond.kind, side) {
            (ValueKind::Bool(v), _) if *v == side => Ok(true),
            // Nothing runs there.
            (ValueKind::Bool(_), _) => {
                rows.all.push(Constraint::nonneg(Aff::constant(-1)));
                Ok(true)
            }
            (ValueKind::Unary(UnOp::Not, a), _) => self.condition(a, !side, asked, rows),
            (ValueKind::Binary(BinOp::And, a, b), true) | (ValueKind::Binary(BinOp::Or, a, b), false) => {
                let first = self.condition(a, side, asked, rows)?;
                Ok(self.condition(b, side, asked, rows)? && first)
            }
            (ValueKind::Binary(BinOp::Or, a, b), true) | (ValueKind::Binary(BinOp::And, a, b), false) => {
                let (mut one, mut other) = (Rows::default(), Rows::default());
                let exact =
                    self.condition(a, side, asked, &mut one)? & self.condition(b, side, asked, &mut other)?;
                rows.one_of(one, other);
                Ok(exact)
            }
            (ValueKind::Binary(op, a, b), _) => {
                let op = match (op, side) {
                    (op, true) => *op,
                    (BinOp::Lt, false) => BinOp::Ge,
                    (BinOp::Le, false) => BinOp::Gt,
                    (BinOp::Gt, false) => BinOp::Le,
                    (BinOp::Ge, false) => BinOp::Lt,
                    (BinOp::Ne, false) => BinOp::Eq,
                    _ => return Ok(false),
                };
                let integers = a.dtype.is_integer()
                    && self.is_integer(a, asked, rows)?
                    && self.is_integer(b, asked, rows)?;
                if !integers {
                    return Ok(false);
                }
                match op {
                    BinOp::Lt => self.compare(a, b, 1, rows),
                    BinOp::Le => self.compare(a, b, 0, rows),
                    BinOp::Gt => self.compare(b, a, 1, rows),
                    BinOp::Ge => self.compare(b, a, 0, rows),
                    BinOp::Eq => match (self.aff(a)?, self.aff(b)?) {
                        (Some(a), Some(b)) => {
                            let row = Constraint::equal(&a, &b).ok();
                            rows.all.extend(row.clone());
                            Ok(row.is_some())
                        }
                        _ => Ok(false),
                    },
                    _ => Ok(false),
                }
            }
            _ => Ok(false),
        }
    }

    /// `low + gap <= high`, each bound of a minimum or maximum by itself.
    pub fn compare(&mut self, low: &Value, high: &Value, gap: i64, rows: &mut Rows) -> Result<bool> {
        if let ValueKind::Binary(BinOp::Max, a, b) = &low.kind {
            let first = self.compare(a, high, gap, rows)?;
            return Ok(self.compare(b, high, gap, rows)? && first);
        }
        if let ValueKind::Binary(BinOp::Min, a, b) = &high.kind {
            let first = self.compare(low, a, gap, rows)?;
            return Ok(self.compare(low, b, gap, rows)? && first);
        }
        Ok(match (self.aff(low)?, self.aff(high)?) {
            (Some(low), Some(high)) => {
                let row = low.add_constant(gap).and_then(|low| Constraint::le(&low, &high)).ok();
                rows.all.extend(row.clone());
                row.is_some()
            }
            _ => false,
        })
    }

    /// Adds what `bound <= counter` implies to `rows`; whether that is all of it.
    pub fn above(&mut self, counter: &Aff, bound: &Value, rows: &mut Rows) -> Result<bool> {
        self.bounded(counter, bound, Side::Lower, rows)
    }

    /// Adds what `counter < bound` implies to `rows`; whether that is all of it.
    pub fn below(&mut self, counter: &Aff, bound: &Value, rows: &mut Rows) -> Result<bool> {
        self.bounded(counter, bound, Side::Upper, rows)
    }

    /// The functions of which a lower bound is the greatest; none if it is anything else.
    pub fn greatest_of(&mut self, bound: &Value) -> Result<Vec<Aff>> {
        self.extreme_of(bound, BinOp::Max)
    }

    /// The functions of which an upper bound is the least; none if it is anything else.
    pub fn least_of(&mut self, bound: &Value) -> Result<Vec<Aff>> {
        self.extreme_of(bound, BinOp::Min)
    }

    fn extreme_of(&mut self, bound: &Value, op: BinOp) -> Result<Vec<Aff>> {
        if let ValueKind::Binary(BinOp::Add, a, b) = &bound.kind
            && matches!(&a.kind, ValueKind::Binary(of, ..) if *of == op)
            && let Some(k) = b.as_int()
        {
            return self.extreme_of(a, op)?.into_iter().map(|aff| aff.add_constant(k)).collect();
        }
        if let ValueKind::Binary(of, a, b) = &bound.kind
            && *of == op
        {
            let (mut one, other) = (self.extreme_of(a, op)?, self.extreme_of(b, op)?);
            if one.is_empty() || other.is_empty() {
                return Ok(Vec::new());
            }
            one.extend(other);
            return Ok(one);
        }
        Ok(self.aff(bound)?.into_iter().collect())
    }

    fn bounded(&mut self, counter: &Aff, bound: &Value, side: Side, rows: &mut Rows) -> Result<bool> {
        // `counter` against `bound + k` is `counter - k` against `bound`.
        if let ValueKind::Binary(BinOp::Add, a, b) = &bound.kind
            && matches!(a.kind, ValueKind::Binary(BinOp::Min | BinOp::Max, ..))
            && let Some(k) = b.as_int()
        {
            return self.bounded(&counter.add_constant(k.saturating_neg())?, a, side, rows);
        }
        if let ValueKind::Binary(op @ (BinOp::Min | BinOp::Max), a, b) = &bound.kind {
            let both = match side {
                Side::Lower => BinOp::Max,
                Side::Upper => BinOp::Min,
            };
            if *op == both {
                let first = self.bounded(counter, a, side, rows)?;
                return Ok(self.bounded(counter, b, side, rows)? && first);
            }
            // One of the two: each condition of the one, or each of the other.
            let (mut one, mut other) = (Rows::default(), Rows::default());
            let exact =
                self.bounded(counter, a, side, &mut one)? & self.bounded(counter, b, side, &mut other)?;
            rows.one_of(one, other);
            return Ok(exact);
        }
        let Some(bound) = self.aff(bound)? else { return Ok(false) };
        rows.all.push(match side {
            Side::Lower => Constraint::le(&bound, counter)?,
            Side::Upper => Constraint::lt(counter, &bound)?,
        });
        Ok(true)
    }
}

/// Whether a value is evidently not negative, by its operations alone.
pub(super) fn is_natural(value: &Value) -> bool {
    least(value).is_some_and(|least| least >= 0)
}

/// What a value is not below, by its operations alone.
fn least(value: &Value) -> Option<i64> {
    let divisor = |value: &Value| value.as_int().filter(|k| *k > 0);
    match &value.kind {
        ValueKind::Int(v) => Some(*v),
        ValueKind::ThreadIdx(_) | ValueKind::BlockIdx(_) => Some(0),
        ValueKind::Binary(op, a, b) => match op {
            BinOp::Add => least(a)?.checked_add(least(b)?),
            BinOp::Mul => (least(a)? >= 0 && least(b)? >= 0).then_some(0),
            BinOp::FloorMod => divisor(b).map(|_| 0),
            BinOp::TruncDiv | BinOp::FloorDiv => {
                (least(a)? >= 0 && least(b).is_some_and(|b| b >= 0)).then_some(0)
            }
            BinOp::TruncRem => match least(a) {
                Some(dividend) if dividend >= 0 => least(b).is_some_and(|b| b >= 0).then_some(0),
                _ => divisor(b).map(|k| 1 - k),
            },
            BinOp::Min => Some(least(a)?.min(least(b)?)),
            BinOp::Max => least(a).max(least(b)),
            BinOp::BitAnd => {
                let natural = |side: &Value| least(side).is_some_and(|side| side >= 0);
                (natural(a) || natural(b)).then_some(0)
            }
            BinOp::Shr => (least(a)? >= 0).then_some(0),
            _ => None,
        },
        _ => None,
    }
}

/// Which end of a counter's range a bound is.
#[derive(Clone, Copy)]
enum Side {
    /// The first value that is reached.
    Lower,
    /// The first value that is not reached any more.
    Upper,
}
