//! Normal forms of values: a term of the kernel and a value of the program that compute the same
//! have one form.
//!
//! Equal forms are one number ([`Form`]), so that comparing costs nothing. Integers are
//! polynomials modulo two to the width of their type, over inames, coordinates, parameters, and
//! what is not a polynomial: elements, calls, quotients. That is exact, since their arithmetic
//! wraps. Indices are the exception: a launch checks that arithmetic of the index type on indices
//! does not leave it ([`crate::index_range`]), so that a wider type has the same number. Operations
//! on floating-point values stay as they are, in their order and with their types; only constants
//! are folded, and choices that a constant decides.

mod quotients;
mod replaced;
#[cfg(test)]
mod tests;

use std::collections::hash_map::Entry;

use loopwright_kernel_ir::{Aff, Constraint, DType, Name, Number, Precision, Term};
use loopwright_poly::{Table, TableSet};

use crate::{BinOp, UnOp};

/// The number of a form in [`Forms`].
pub(super) type Form = u32;

/// How often something has been written when it is read; not at all for 0.
pub(super) type Version = u32;

/// What an element belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// An array or a scalar of the kernel.
    Array(Name),
    /// The value of this number of the accumulator of an instruction's reduction.
    State(Name, usize, u8),
    /// The same of the total that a scan in rounds carries.
    Carried(Name, usize, u8),
}

/// An operation that is not a polynomial.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Op {
    Unary(UnaryOp),
    Binary(BinOp),
    Select,
    Cast,
    Call(Name, Precision),
    /// A value that is equal to no other.
    Opaque(u32),
}

/// A unary operation, as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum UnaryOp {
    Neg,
    Not,
    BitNot,
}

impl UnaryOp {
    pub fn of(op: UnOp) -> UnaryOp {
        match op {
            UnOp::Neg => UnaryOp::Neg,
            UnOp::Not => UnaryOp::Not,
            UnOp::BitNot => UnaryOp::BitNot,
        }
    }
}

/// What a form is made of; equal nodes have the same form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// The integer of this name, whatever its type: an iname, a coordinate, a parameter.
    Name(Name),
    /// A sum of products of forms with coefficients, in their order; of an integer type.
    Sum(DType, Vec<(Vec<Form>, i64)>),
    /// A truth value or a floating-point number, by its bits.
    Constant(DType, u64),
    /// A scalar argument that is not an integer.
    Scalar(DType, Name),
    /// An element, after this number of writes.
    Element(DType, Place, Vec<Form>, Version),
    Op(Op, DType, Vec<Form>),
}

/// All forms of a check, each once.
pub(super) struct Forms {
    nodes: Vec<Node>,
    numbers: Table<Node, Form>,
    /// The type of the program's indices.
    pub index: DType,
    /// Coordinates that are always 0.
    pub zero: TableSet<Name>,
    opaque: u32,
}

/// A sum: each term is a list of factors with its coefficient.
type Terms = Vec<(Vec<Form>, i64)>;

impl Forms {
    pub fn new(index: DType) -> Self {
        Forms { nodes: Vec::new(), numbers: Table::default(), index, zero: TableSet::default(), opaque: 0 }
    }

    pub fn node(&self, form: Form) -> &Node {
        &self.nodes[form as usize]
    }

    pub fn make(&mut self, node: Node) -> Form {
        match self.numbers.entry(node) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                let number = Form::try_from(self.nodes.len()).unwrap_or(Form::MAX);
                self.nodes.push(free.key().clone());
                *free.insert(number)
            }
        }
    }

    /// Something that equals nothing else.
    pub fn opaque(&mut self, dtype: DType) -> Form {
        self.opaque += 1;
        self.make(Node::Op(Op::Opaque(self.opaque), dtype, Vec::new()))
    }

    /// Whether something in it is not followed.
    pub fn is_opaque(&self, form: Form) -> bool {
        match self.node(form) {
            Node::Name(_) | Node::Constant(..) | Node::Scalar(..) => false,
            Node::Sum(_, terms) => {
                terms.iter().any(|(product, _)| product.iter().any(|f| self.is_opaque(*f)))
            }
            Node::Element(_, _, subscripts, _) => subscripts.iter().any(|f| self.is_opaque(*f)),
            Node::Op(Op::Opaque(_), ..) => true,
            Node::Op(_, _, args) => args.iter().any(|f| self.is_opaque(*f)),
        }
    }

    /// The type of a form; of a name that of indices.
    pub fn dtype(&self, form: Form) -> DType {
        match self.node(form) {
            Node::Name(_) => self.index,
            Node::Sum(t, _) | Node::Constant(t, _) | Node::Scalar(t, _) => *t,
            Node::Element(t, ..) | Node::Op(_, t, _) => *t,
        }
    }

    pub fn number(&mut self, number: Number) -> Form {
        match (number.as_i128(), number.dtype()) {
            (Some(v), t) if t.is_integer() => self.int(t, v as i64),
            (_, t) => self.make(Node::Constant(t, number.bits())),
        }
    }

    pub fn int(&mut self, dtype: DType, value: i64) -> Form {
        self.sum(dtype, vec![(Vec::new(), value)])
    }

    /// The constant that a form is.
    pub fn as_number(&self, form: Form) -> Option<Number> {
        match self.node(form) {
            Node::Constant(t, bits) => Some(Number::from_bits(*t, *bits)),
            Node::Sum(t, terms) => match terms.as_slice() {
                [] => Some(Number::from_bits(*t, 0)),
                [(product, v)] if product.is_empty() => Some(Number::from_bits(*t, *v as u64)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The terms of an integer.
    pub fn terms(&self, form: Form) -> Terms {
        match self.node(form) {
            Node::Sum(_, terms) => terms.clone(),
            _ => vec![(vec![form], 1)],
        }
    }

    fn sum(&mut self, dtype: DType, mut terms: Terms) -> Form {
        terms.sort_unstable();
        let mut own: Terms = Vec::with_capacity(terms.len());
        for (product, factor) in terms {
            match own.last_mut().filter(|(last, _)| *last == product) {
                Some((_, sum)) => *sum = sum.wrapping_add(factor),
                None => own.push((product, factor)),
            }
        }
        // That of indices alone does not wrap: a launch checks it.
        let checked = dtype == self.index
            && own.iter().any(|(product, _)| !product.is_empty())
            && own.iter().all(|(product, _)| product.iter().all(|f| self.is_index(*f)));
        if !checked {
            for (_, factor) in &mut own {
                *factor = wrapped(dtype, *factor);
            }
        }
        own.retain(|(_, factor)| *factor != 0);
        if let [(product, 1)] = own.as_slice()
            && let [one] = product.as_slice()
            && !matches!(self.node(*one), Node::Name(_))
            && self.dtype(*one) == dtype
        {
            return *one;
        }
        self.make(Node::Sum(dtype, own))
    }

    fn plus(&mut self, dtype: DType, a: Form, b: Form, factor: i64) -> Form {
        let mut terms = self.terms(a);
        terms.extend(self.terms(b).into_iter().map(|(p, f)| (p, f.wrapping_mul(factor))));
        self.sum(dtype, terms)
    }

    fn times(&mut self, dtype: DType, a: Form, b: Form) -> Form {
        let (left, right) = (self.terms(a), self.terms(b));
        let mut terms = Vec::with_capacity(left.len() * right.len());
        for (p, f) in &left {
            for (q, g) in &right {
                let mut product = [&p[..], q].concat();
                product.sort_unstable();
                terms.push((product, f.wrapping_mul(*g)));
            }
        }
        self.sum(dtype, terms)
    }

    /// A function of names, in a type. `read` says what a name is that stands for no integer.
    pub fn of_aff(
        &mut self,
        aff: &Aff,
        dtype: DType,
        read: &mut dyn FnMut(&mut Self, &Name) -> Option<Form>,
    ) -> Form {
        let mut terms = vec![(Vec::new(), aff.constant_term())];
        for (term, factor) in aff.terms() {
            let atom = match term {
                Term::Var(name) if self.zero.contains(name) => continue,
                Term::Var(name) => match read(self, name) {
                    Some(form) => form,
                    None => self.make(Node::Name(name.clone())),
                },
                Term::Div(div) => {
                    let index = self.index;
                    let numerator = self.of_aff(&div.numerator, index, read);
                    let denominator = self.int(index, div.denominator);
                    self.make(Node::Op(Op::Binary(BinOp::FloorDiv), index, vec![numerator, denominator]))
                }
            };
            terms.push((vec![atom], *factor));
        }
        self.sum(dtype, terms)
    }

    /// A form as a function of names; `name` gives a name to everything that is not one.
    pub fn to_aff(&self, form: Form, name: &mut dyn FnMut(Form) -> Option<Name>) -> Option<Aff> {
        self.to_aff_of(form, Some(self.index), name)
    }

    /// A subscript as a function of names, if it is computed from names alone: it is the integer,
    /// in whatever type.
    pub fn subscript_to_aff(&self, form: Form) -> Option<Aff> {
        self.to_aff_of(form, None, &mut |_| None)
    }

    /// As [`Self::to_aff`], where arithmetic on names is that of integers in this type, or in all.
    fn to_aff_of(
        &self,
        form: Form,
        exact: Option<DType>,
        name: &mut dyn FnMut(Form) -> Option<Name>,
    ) -> Option<Aff> {
        match self.node(form) {
            Node::Name(name) => Some(Aff::var(name)),
            Node::Sum(_, terms) => {
                let mut all = Aff::constant(0);
                for (product, factor) in terms {
                    let term = match product.as_slice() {
                        [] => Aff::constant(*factor),
                        [one] => self.to_aff_of(*one, exact, name)?.scale(*factor).ok()?,
                        _ => return None,
                    };
                    all = all.add(&term).ok()?;
                }
                Some(all)
            }
            Node::Op(Op::Binary(BinOp::FloorDiv), t, args) if t.is_integer() => {
                let [a, b] = args.as_slice() else { return None };
                match self.as_number(*b).and_then(Number::as_i64) {
                    Some(k) if k > 0 && self.is_of_names(*a, exact) => {
                        self.to_aff_of(*a, exact, name)?.floor_div(k).ok()
                    }
                    _ => Some(Aff::var(name(form)?)),
                }
            }
            _ => Some(Aff::var(name(form)?)),
        }
    }

    /// Whether a form is computed from names alone in the type of indices, so that a launch checks
    /// that it has its integer.
    pub fn is_index(&self, form: Form) -> bool {
        self.is_of_names(form, Some(self.index))
    }

    /// Whether a form is computed from names alone in this type, or in any.
    fn is_of_names(&self, form: Form, only: Option<DType>) -> bool {
        let fits = |t: DType| only.is_none_or(|only| t == only);
        match self.node(form) {
            Node::Name(_) => true,
            Node::Sum(t, terms) => {
                let mut factors = terms.iter().flat_map(|(product, _)| product);
                fits(*t) && factors.all(|f| self.is_of_names(*f, only))
            }
            Node::Op(Op::Binary(BinOp::FloorDiv), t, args) => {
                fits(*t) && args.iter().all(|f| self.is_of_names(*f, only))
            }
            _ => false,
        }
    }

    pub fn unary(&mut self, op: UnaryOp, dtype: DType, a: Form) -> Form {
        match (op, self.node(a)) {
            (UnaryOp::Neg, _) if dtype.is_integer() => {
                let zero = self.int(dtype, 0);
                self.plus(dtype, zero, a, -1)
            }
            (UnaryOp::Not, Node::Constant(_, bits)) => {
                let number = Number::Bool(*bits == 0);
                self.number(number)
            }
            (UnaryOp::Not, Node::Op(Op::Unary(UnaryOp::Not), _, inner)) if inner.len() == 1 => inner[0],
            _ => self.make(Node::Op(Op::Unary(op), dtype, vec![a])),
        }
    }

    /// An operation on two values of this type. A division that truncates is taken for the one that
    /// rounds down, which alone stands in forms.
    pub fn binary(&mut self, op: BinOp, of: DType, a: Form, b: Form) -> Form {
        let op = match op {
            BinOp::TruncDiv => BinOp::FloorDiv,
            BinOp::TruncRem => BinOp::FloorMod,
            op => op,
        };
        if of.is_integer() {
            // A shift by a number is a product, also where it wraps.
            if op == BinOp::Shl
                && let Some(by) = self.as_number(b).and_then(|n| n.as_i64())
                && (0..of.bytes() as i64 * 8 - 1).contains(&by)
            {
                let factor = self.number(Number::I64(1 << by).cast(of));
                return self.times(of, a, factor);
            }
            match op {
                BinOp::Add => return self.plus(of, a, b, 1),
                BinOp::Sub => return self.plus(of, a, b, -1),
                BinOp::Mul => return self.times(of, a, b),
                BinOp::FloorDiv => return self.quotient(of, a, b),
                BinOp::FloorMod => {
                    let positive = self.as_number(b).and_then(Number::as_i64).is_some_and(|k| k > 0);
                    if positive {
                        let quotient = self.quotient(of, a, b);
                        let whole = self.times(of, quotient, b);
                        return self.plus(of, a, whole, -1);
                    }
                }
                _ => {}
            }
        }
        if let BinOp::And | BinOp::Or = op {
            let passes = op == BinOp::And;
            for (one, other) in [(a, b), (b, a)] {
                if let Some(Number::Bool(v)) = self.as_number(one) {
                    return if v == passes { other } else { one };
                }
            }
        }
        if let (true, Some(p), Some(q)) = (of.is_integer(), self.as_number(a), self.as_number(b))
            && let (Some(p), Some(q)) = (p.as_i128(), q.as_i128())
            && let Some(holds) = op.compared(p, q)
        {
            return self.number(Number::Bool(holds));
        }
        let dtype = if op.is_comparison() { DType::Bool } else { of };
        self.make(Node::Op(Op::Binary(op), dtype, vec![a, b]))
    }

    pub fn select(&mut self, dtype: DType, cond: Form, a: Form, b: Form) -> Form {
        // What the same condition has decided already.
        let side = |forms: &Self, of: Form, k: usize| match forms.node(of) {
            Node::Op(Op::Select, _, args) if args.first() == Some(&cond) => {
                args.get(k).copied().unwrap_or(of)
            }
            _ => of,
        };
        let (a, b) = (side(self, a, 1), side(self, b, 2));
        match self.as_number(cond) {
            Some(Number::Bool(true)) => a,
            Some(Number::Bool(false)) => b,
            _ if a == b => a,
            _ => self.make(Node::Op(Op::Select, dtype, vec![cond, a, b])),
        }
    }

    /// A condition on indices as constraints that all have to hold.
    pub fn constraints(&self, cond: Form, rows: &mut Vec<Constraint>) -> Option<()> {
        let Node::Op(Op::Binary(op), DType::Bool, args) = self.node(cond) else { return None };
        let [a, b] = args[..] else { return None };
        if *op == BinOp::And {
            self.constraints(a, rows)?;
            return self.constraints(b, rows);
        }
        if !self.is_index(a) || !self.is_index(b) {
            return None;
        }
        let (a, b) = (self.to_aff(a, &mut |_| None)?, self.to_aff(b, &mut |_| None)?);
        let row = match op {
            BinOp::Lt => Constraint::lt(&a, &b),
            BinOp::Le => Constraint::le(&a, &b),
            BinOp::Gt => Constraint::lt(&b, &a),
            BinOp::Ge => Constraint::le(&b, &a),
            BinOp::Eq => Constraint::equal(&a, &b),
            _ => return None,
        };
        rows.push(row.ok()?);
        Some(())
    }

    /// As [`Self::select`], of the type of the one.
    pub fn choice(&mut self, cond: Form, a: Form, b: Form) -> Form {
        let dtype = self.dtype(a);
        self.select(dtype, cond, a, b)
    }

    /// A value converted to a type. `exact` says whether a name has all its values in a type.
    pub fn cast(&mut self, to: DType, a: Form, exact: &dyn Fn(&Name, DType) -> bool) -> Form {
        let from = self.dtype(a);
        if from == to {
            return a;
        }
        if let Some(number) = self.as_number(a) {
            return self.number(number.cast(to));
        }
        if from.is_integer() && to.is_integer() {
            if to.bytes() <= from.bytes() {
                let terms = self.terms(a);
                return self.sum(to, terms);
            }
            let keeps = match self.node(a) {
                Node::Sum(_, terms) => match terms.as_slice() {
                    [(product, 1)] => match product.as_slice() {
                        [one] => match self.node(*one) {
                            Node::Name(name) => exact(name, from),
                            _ => keeps(self.dtype(*one), from),
                        },
                        _ => false,
                    },
                    _ => false,
                },
                _ => true,
            };
            if keeps || self.is_index(a) {
                let terms = self.terms(a);
                return self.sum(to, terms);
            }
        }
        // A value that a conversion has kept is converted once.
        if let Node::Op(Op::Cast, _, inner) = self.node(a)
            && let [inner] = inner.as_slice()
            && keeps(self.dtype(*inner), from)
        {
            let inner = *inner;
            return self.cast(to, inner, exact);
        }
        self.make(Node::Op(Op::Cast, to, vec![a]))
    }

    /// Whether a name occurs in it.
    pub fn mentions(&self, form: Form, name: &Name) -> bool {
        match self.node(form) {
            Node::Name(own) => own == name,
            Node::Sum(_, terms) => terms.iter().any(|(p, _)| p.iter().any(|f| self.mentions(*f, name))),
            Node::Constant(..) | Node::Scalar(..) => false,
            Node::Element(_, _, args, _) | Node::Op(_, _, args) => {
                args.iter().any(|f| self.mentions(*f, name))
            }
        }
    }
}

/// Whether a type has all values of another.
fn keeps(from: DType, to: DType) -> bool {
    match (from.is_float(), to.is_float()) {
        (true, true) => from == to || from.bytes() < to.bytes(),
        (false, false) if from.is_integer() && to.is_integer() => {
            match (from.is_unsigned(), to.is_unsigned()) {
                (true, true) | (false, false) => from.bytes() <= to.bytes(),
                (true, false) => from.bytes() < to.bytes(),
                (false, true) => false,
            }
        }
        _ => false,
    }
}

/// An integer modulo two to the width of a type, as a signed number of that width.
fn wrapped(dtype: DType, value: i64) -> i64 {
    match dtype.bytes() {
        1 => i64::from(value as i8),
        2 => i64::from(value as i16),
        4 => i64::from(value as i32),
        _ => value,
    }
}
