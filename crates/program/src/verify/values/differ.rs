//! Whether two forms are different numbers in some execution of a statement.
//!
//! Forms that are not found to be equal need not differ: `cast(i64, x & 7)` is `cast(i64, x) & 7`.
//! So both are evaluated, in an execution that satisfies all that stands around the statement, for
//! values of what they read that are drawn. Only if the numbers differ does the statement compute
//! something else. Values are those of elements in the kernel's memory when the statement runs:
//! whether another statement leaves just these there is not asked. Nothing is said where
//!
//! * loops around depend on data, or on what is not affine;
//! * one element is read before and after a write, which may have left it as it was;
//! * facts relate the elements of an array, or a subscript leaves its array;
//! * a function is the user's, or an operation has no number here.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use loopwright_kernel_ir::{
    Aff, BinaryOp, Constraint, DType, Fact, Name, Number, UnaryOp as Unary, arithmetic,
};

use super::{
    forms::{Form, Forms, Node, Op, Place, UnaryOp, Version},
    walk::Walk,
};
use crate::{
    BinOp,
    verify::{
        reading::{ScopeId, declared_of},
        segments::{hash, hash_of_name},
    },
};

/// How many sets of executions are tried, and how many draws of values in each.
const REGIONS: usize = 24;
const DRAWS: u64 = 6;

impl Walk<'_, '_, '_> {
    /// Whether two forms are different numbers in some execution of a scope.
    pub fn differ(&mut self, a: Form, b: Form, scope: ScopeId) -> bool {
        self.difference(a, b, scope).unwrap_or(false)
    }

    /// Whether a statement runs, as far as is known.
    pub fn runs(&mut self, scope: ScopeId) -> bool {
        let [holds, fails] = [true, false].map(|v| self.forms.number(Number::Bool(v)));
        self.differ(holds, fails, scope)
    }

    fn difference(&mut self, a: Form, b: Form, scope: ScopeId) -> Option<bool> {
        let around = self.reading.scope(scope);
        let is_counted = |number: &usize| {
            let one = &self.reading.loops[*number];
            !one.lowers.is_empty() && !one.uppers.is_empty()
        };
        if !around.loads.is_empty()
            || self.reading.scopes.first()?.unread
            || around.unread && !around.loops.iter().all(is_counted)
        {
            return None;
        }
        let mut regions: Vec<Vec<Constraint>> = vec![Vec::new()];
        self.between(a, b, &mut regions);
        for condition in [&[a, b][..], &self.conditions].concat() {
            self.choices(condition, &mut regions);
        }
        // Numbers that are not those of the first execution, and those that narrow types lack.
        let mut names = BTreeSet::new();
        [a, b].into_iter().for_each(|form| self.forms.names(form, &mut names));
        for name in names {
            for least in [1, 128, 1 << 15] {
                regions.push(vec![Constraint::nonneg(Aff::var(&name).add_constant(-least).ok()?)]);
            }
        }
        let system = self.system(scope).ok()?.clone();
        for rows in regions.iter().take(REGIONS) {
            let Some(point) = system.with(rows).ok().and_then(|s| s.sample(&BTreeMap::new()).ok()?) else {
                continue;
            };
            let holds = |c: &Constraint| c.holds(&|n| point.get(n).copied()) == Some(true);
            if !around.either.iter().all(|either| either.iter().any(holds)) {
                continue;
            }
            for draw in 0..DRAWS {
                let drawn = Drawn { walk: self, point: &point, draw, elements: RefCell::default() };
                let is_true = |c: &Form| matches!(drawn.number(*c), Some(Number::Bool(true)));
                if !self.conditions.iter().all(is_true) {
                    continue;
                }
                if let (Some(a), Some(b)) = (drawn.number(a), drawn.number(b))
                    && !are_equal(a, b)
                {
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    /// Where functions of names differ that stand at the same place of two forms.
    fn between(&self, a: Form, b: Form, regions: &mut Vec<Vec<Constraint>>) {
        if a == b || regions.len() > REGIONS {
            return;
        }
        match (self.forms.node(a), self.forms.node(b)) {
            (Node::Element(_, p, s, _), Node::Element(_, q, t, _)) if p == q && s.len() == t.len() => {
                s.iter().zip(t).for_each(|(a, b)| self.between(*a, *b, regions));
            }
            (Node::Op(f, _, s), Node::Op(g, _, t)) if f == g && s.len() == t.len() => {
                s.iter().zip(t).for_each(|(a, b)| self.between(*a, *b, regions));
            }
            _ => {
                let functions = (self.forms.subscript_to_aff(a), self.forms.subscript_to_aff(b));
                if let (Some(a), Some(b)) = functions
                    && let Ok(equal) = Constraint::equal(&a, &b)
                    && let Ok(ways) = equal.negations()
                {
                    regions.extend(ways.into_iter().map(|way| vec![way]));
                }
            }
        }
    }

    /// Both sides of each condition on names in a form.
    fn choices(&self, form: Form, regions: &mut Vec<Vec<Constraint>>) {
        if regions.len() > REGIONS {
            return;
        }
        let mut rows = Vec::new();
        if self.forms.constraints(form, &mut rows).is_some() {
            for row in &rows {
                regions.extend(row.negations().unwrap_or_default().into_iter().map(|not| vec![not]));
            }
            regions.push(rows);
            return;
        }
        match self.forms.node(form) {
            Node::Element(_, _, args, _) | Node::Op(_, _, args) => {
                args.iter().for_each(|arg| self.choices(*arg, regions));
            }
            Node::Sum(_, terms) => {
                let factors = terms.iter().flat_map(|(product, _)| product);
                factors.for_each(|factor| self.choices(*factor, regions));
            }
            Node::Name(_) | Node::Constant(..) | Node::Scalar(..) => {}
        }
    }
}

impl Forms {
    /// The names of integers in a form.
    fn names(&self, form: Form, found: &mut BTreeSet<Name>) {
        match self.node(form) {
            Node::Name(name) => drop(found.insert(name.clone())),
            Node::Element(_, _, args, _) | Node::Op(_, _, args) => {
                args.iter().for_each(|arg| self.names(*arg, found));
            }
            Node::Sum(_, terms) => {
                let factors = terms.iter().flat_map(|(product, _)| product);
                factors.for_each(|factor| self.names(*factor, found));
            }
            Node::Constant(..) | Node::Scalar(..) => {}
        }
    }
}

/// Whether two numbers are the same, or neither is one.
fn are_equal(a: Number, b: Number) -> bool {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => a == b,
        (None, None) if a.dtype() == b.dtype() => {
            a.bits() == b.bits() || a.as_f64().is_nan() && b.as_f64().is_nan()
        }
        _ => a.as_f64() == b.as_f64(),
    }
}

/// One draw of the values that are read in an execution.
struct Drawn<'d, 'w, 'k, 'r> {
    walk: &'d Walk<'w, 'k, 'r>,
    /// The values of names in the execution.
    point: &'d BTreeMap<Name, i64>,
    draw: u64,
    /// At which time each element has been read.
    elements: RefCell<HashMap<(Place, Vec<i128>), Version>>,
}

impl Drawn<'_, '_, '_, '_> {
    /// The integer that a name is.
    fn name(&self, name: &Name) -> Option<i64> {
        if let Some(value) = self.point.get(name) {
            return Some(*value);
        }
        let walk = self.walk;
        if let Some((_, lanes)) = walk.range.as_ref().filter(|(element, _)| element == name) {
            return Some(self.draw as i64 % (*lanes).max(1));
        }
        if let Some((low, end)) =
            walk.lanes.iter().find(|(lane, _)| lane == name).and_then(|(_, range)| *range)
        {
            return Some(low + self.draw as i64 % (end - low).max(1));
        }
        // Nothing constrains it, but perhaps its type.
        let is_scalar = walk.spec.lookup.is_scalar(name);
        is_scalar.then(|| [1, 2, 7, -3, 300, 70_000][(self.draw % 6) as usize])
    }

    fn number(&self, form: Form) -> Option<Number> {
        let forms = &*self.walk.forms;
        if let Some(number) = forms.as_number(form) {
            return Some(number);
        }
        match forms.node(form) {
            Node::Name(name) => Some(Number::I64(self.name(name)?)),
            Node::Constant(..) => None,
            Node::Scalar(dtype, name) => {
                Some(drawn(*dtype, hash([self.draw, hash_of_name(name)]), self.draw))
            }
            Node::Sum(dtype, terms) => {
                let (mut sum, mut exact) = (0i64, Some(0i128));
                for (product, factor) in terms {
                    let (mut term, mut whole) = (*factor, Some(i128::from(*factor)));
                    for f in product {
                        let number = self.number(*f)?.as_i128()?;
                        term = term.wrapping_mul(number as i64);
                        whole = whole.and_then(|w| w.checked_mul(number));
                    }
                    sum = sum.wrapping_add(term);
                    exact = exact.zip(whole).and_then(|(e, w)| e.checked_add(w));
                }
                let number = Number::I64(sum).cast(*dtype);
                // A launch checks that indices do not wrap, so that there is no such execution.
                let wraps = exact != number.as_i128();
                (!wraps || !forms.is_index(form)).then_some(number)
            }
            Node::Element(dtype, place, subscripts, version) => {
                self.element(*dtype, place, subscripts, *version)
            }
            Node::Op(op, dtype, args) => self.operation(op, *dtype, args),
        }
    }

    fn element(&self, dtype: DType, place: &Place, subscripts: &[Form], version: Version) -> Option<Number> {
        let walk = self.walk;
        let at: Vec<i128> = subscripts.iter().map(|s| self.number(*s)?.as_i128()).collect::<Option<_>>()?;
        let before = self.elements.borrow_mut().insert((place.clone(), at.clone()), version);
        if before.is_some_and(|before| before != version) {
            return None;
        }
        let name = match place {
            Place::Array(name) => name,
            Place::State(id, ..) | Place::Carried(id, ..) => id,
        };
        let key = [self.draw, hash_of_name(&format!("{place:?}"))].into_iter();
        let key = hash(key.chain(at.iter().map(|s| *s as u64)));
        if !matches!(place, Place::Array(_)) {
            return Some(drawn(dtype, key, self.draw));
        }
        if at.is_empty()
            && let Some(value) = self.point.get(name)
        {
            return Some(Number::I64(*value).cast(dtype));
        }
        if walk.spec.lookup.temporary(name).is_none()
            && let Some(array) = walk.spec.lookup.array(name)
        {
            for (axis, s) in array.axes.iter().zip(&at) {
                let length = axis.length.to_aff().and_then(|length| length.eval(&|n| self.name(n)));
                if *s < 0 || length.is_some_and(|length| *s >= i128::from(length)) {
                    return None;
                }
            }
        }
        let facts: Vec<&Fact> = walk.spec.kernel.facts.iter().filter(|f| f.array() == name).collect();
        if facts.is_empty() {
            return Some(drawn(dtype, key, self.draw));
        }
        if !facts.iter().all(|fact| matches!(fact, Fact::Range { .. })) {
            return None;
        }
        let value = Name::new("value");
        let rows = declared_of(&walk.spec.kernel.facts, name, &Aff::var(&value));
        // The first of some small numbers that the facts allow.
        let holds = |v: i64| {
            let of = |n: &Name| if *n == value { Some(v) } else { self.name(n) };
            rows.iter().all(|row| row.holds(&of) == Some(true))
        };
        let small = (0..8).map(|k| (key.wrapping_add(k) % 8) as i64).chain(0..64).chain(-64..0);
        small.into_iter().find(|v| holds(*v)).map(|v| Number::I64(v).cast(dtype))
    }

    fn operation(&self, op: &Op, dtype: DType, args: &[Form]) -> Option<Number> {
        let of = |k: usize| self.number(*args.get(k)?);
        match op {
            Op::Opaque(_) => None,
            Op::Cast => Some(of(0)?.cast(dtype)),
            Op::Select => match of(0)? {
                Number::Bool(true) => of(1),
                Number::Bool(false) => of(2),
                _ => None,
            },
            Op::Call(function, _) => {
                let args: Vec<Number> = (0..args.len()).map(of).collect::<Option<_>>()?;
                arithmetic::math(function, &args).ok()
            }
            Op::Unary(op) => {
                let op = match op {
                    UnaryOp::Neg => Unary::Neg,
                    UnaryOp::Not => Unary::Not,
                    UnaryOp::BitNot => Unary::BitNot,
                };
                arithmetic::unary(op, of(0)?).ok()
            }
            Op::Binary(op) => {
                let (mut a, mut b) = (of(0)?, of(1)?);
                // Names are integers of any type.
                if a.dtype() != b.dtype() {
                    (a, b) = (
                        Number::I64(a.as_i128()?.try_into().ok()?),
                        Number::I64(b.as_i128()?.try_into().ok()?),
                    );
                }
                let number = match op {
                    BinOp::Min => arithmetic::math("min", &[a, b]).ok()?,
                    BinOp::Max => arithmetic::math("max", &[a, b]).ok()?,
                    BinOp::And | BinOp::Or => match (a, b) {
                        (Number::Bool(a), Number::Bool(b)) if *op == BinOp::And => Number::Bool(a && b),
                        (Number::Bool(a), Number::Bool(b)) => Number::Bool(a || b),
                        _ => return None,
                    },
                    op => {
                        let op: BinaryOp = op.declared()?;
                        arithmetic::binary(op, a, b).ok()?
                    }
                };
                match number.dtype() {
                    found if found == dtype => Some(number),
                    found if found.is_integer() && dtype.is_integer() => Some(number.cast(dtype)),
                    _ => None,
                }
            }
        }
    }
}

/// A value of a type. The draws begin with small numbers, which are subscripts that there are; the
/// last ones have all bits.
fn drawn(dtype: DType, key: u64, draw: u64) -> Number {
    let small = match draw {
        0 => (key % 4) as i64,
        1 => (key % 16) as i64,
        2 => (key % 64) as i64 - 32,
        _ => (key % 4096) as i64 - 2048,
    };
    match dtype {
        DType::Bool => Number::Bool(key & 1 == 1),
        t if t.is_float() && draw < 3 => {
            Number::F64((small * 8 + 2 + (key >> 60) as i64 % 4) as f64 / 8.0).cast(t)
        }
        t if t.is_float() => Number::F64((key >> 11) as f64 / (1u64 << 50) as f64 - 4.0).cast(t),
        t if draw < 4 => Number::I64(small).cast(t),
        t => Number::from_bits(t, key),
    }
}
