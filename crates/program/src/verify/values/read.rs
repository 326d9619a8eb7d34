//! The forms of the values of a program, where its text is read.

use loopwright_kernel_ir::{Aff, Constraint, DType, Diagnostic, HardwareAxis, Name, Number};
use loopwright_poly::Table;

use super::{
    Local, WrongValue,
    forms::{Form, Node, Op, Place, UnaryOp},
    spec::{At, version},
    walk::Walk,
};
use crate::{
    BinOp, Memory, Value, ValueKind, VarId,
    verify::{
        integers::{FAR, contains, limits},
        reading::ScopeId,
    },
};

impl<'k> Walk<'_, 'k, '_> {
    /// The form of an element that is read.
    pub fn element(&mut self, memory: Memory, subscripts: Vec<Form>, dtype: DType) -> Form {
        if let (Memory::Private(array), true) = (memory, self.is_buffer(memory)) {
            let at: Option<Vec<Aff>> =
                subscripts.iter().map(|s| self.forms.to_aff(*s, &mut |_| None)).collect();
            let (lanes, vector) = (&self.lanes, &self.range);
            let range = |aff: &Aff| range_of(aff, lanes, vector.as_ref());
            let found = at.and_then(|at| self.buffers.read(self.forms, array, &at, &self.conditions, &range));
            return found.unwrap_or_else(|| self.forms.opaque(dtype));
        }
        match self.place(memory) {
            Some(place) => {
                let version = version(&self.versions, &place, self.last);
                self.forms.make(Node::Element(dtype, place, subscripts, version))
            }
            None => self.forms.opaque(dtype),
        }
    }

    /// The form of a value of the program.
    pub fn value(&mut self, value: &'k Value) -> Form {
        let dtype = value.dtype;
        match &value.kind {
            ValueKind::Int(v) => self.forms.int(dtype, *v),
            ValueKind::Float(v) => self.forms.number(Number::F64(*v).cast(dtype)),
            ValueKind::Bool(v) => self.forms.number(Number::Bool(*v)),
            ValueKind::Var(var) => self.variable(*var, dtype),
            ValueKind::Param(name) => match dtype.is_integer() {
                true => self.forms.of_aff(&Aff::var(name), dtype, &mut |_, _| None),
                false => self.forms.make(Node::Scalar(dtype, name.clone())),
            },
            ValueKind::BlockIdx(dim) => {
                self.forms.of_aff(&HardwareAxis::Grid(*dim).position(), dtype, &mut |_, _| None)
            }
            ValueKind::ThreadIdx(dim) => {
                self.forms.of_aff(&HardwareAxis::Block(*dim).position(), dtype, &mut |_, _| None)
            }
            ValueKind::Load(from) => {
                let subscripts = from.subscripts.iter().map(|s| self.value(s)).collect();
                self.element(from.memory, subscripts, dtype)
            }
            ValueKind::Unary(op, a) => {
                let a = self.value(a);
                self.forms.unary(UnaryOp::of(*op), dtype, a)
            }
            ValueKind::Binary(op, left, right) => {
                let (a, b) = (self.value(left), self.value(right));
                if let BinOp::TruncDiv | BinOp::TruncRem = op
                    && !left.dtype.is_unsigned()
                {
                    self.truncated.extend([a, b]);
                }
                self.forms.binary(*op, left.dtype, a, b)
            }
            ValueKind::Select(c, a, b) => {
                let [c, a, b] = [c, a, b].map(|v| self.value(v));
                self.forms.select(dtype, c, a, b)
            }
            ValueKind::Cast(a) => {
                let a = self.value(a);
                let spec = &*self.spec;
                self.forms.cast(dtype, a, &|name, t| spec.is_exact(name, t))
            }
            ValueKind::Call { function, precision, args } => {
                let args = args.iter().map(|a| self.value(a)).collect();
                self.forms.make(Node::Op(Op::Call(function.clone(), *precision), dtype, args))
            }
            ValueKind::Shuffle { .. }
            | ValueKind::Any(_)
            | ValueKind::Ballot(_)
            | ValueKind::LeadingZeros(_) => self.forms.opaque(dtype),
        }
    }

    fn variable(&mut self, var: VarId, dtype: DType) -> Form {
        if let Some(operands) = &self.operands {
            let known = operands.get(var.0).copied();
            return known.unwrap_or_else(|| self.forms.opaque(dtype));
        }
        if let Some(place) = self.holders.get(&Local::Var(var)) {
            let version = version(&self.versions, place, self.last);
            return self.forms.make(Node::Element(dtype, place.clone(), Vec::new(), version));
        }
        if let Some(meaning) = self.kernel.vars.get(var.0).and_then(|v| v.meaning.as_ref()) {
            // What it was computed from may have been written since.
            let (versions, time) = (&self.versions, self.times.get(&var).copied().unwrap_or(self.last));
            let at = At { only: &Table::default(), has_lane: &|_| false, versions, time, atomic: false };
            return self.spec.of_aff(self.forms, meaning, dtype, &at);
        }
        match self.vars.get(&var) {
            Some(form) => *form,
            None => self.forms.opaque(dtype),
        }
    }

    /// What a form is in the integers, where all of `claims` hold: that a function is within a
    /// type.
    ///
    /// Nothing is claimed of arithmetic in the type of indices, which a launch checks, converted
    /// indices in it included ([`crate::index_range`]).
    fn integer(&self, form: Form, claims: &mut Vec<(Aff, DType)>) -> Option<Aff> {
        let dtype = self.forms.dtype(form);
        match self.forms.node(form) {
            Node::Name(name) => Some(Aff::var(name)),
            Node::Sum(_, terms) => {
                let mut sum = Aff::constant(0);
                for (product, factor) in terms {
                    let term = match product.as_slice() {
                        [] => Aff::constant(*factor),
                        [one] => self.integer(*one, claims)?.scale(*factor).ok()?,
                        _ => return None,
                    };
                    sum = sum.add(&term).ok()?;
                }
                if dtype != self.program.index {
                    claims.push((sum.clone(), dtype));
                }
                Some(sum)
            }
            Node::Op(Op::Cast, _, inner) => {
                let [inner] = inner[..] else { return None };
                let from = self.forms.dtype(inner);
                let whole = self.integer(inner, claims).filter(|_| dtype.is_integer())?;
                if !contains(dtype, from) {
                    claims.push((whole.clone(), dtype));
                }
                Some(whole)
            }
            Node::Op(Op::Binary(BinOp::FloorDiv), _, args) => {
                let [a, b] = args[..] else { return None };
                let divisor = self.forms.as_number(b).and_then(Number::as_i64).filter(|k| *k > 0)?;
                self.integer(a, claims)?.floor_div(divisor).ok()
            }
            // A scalar that bounds are read from has its name in constraints, which say what it
            // holds now.
            Node::Element(_, place @ Place::Array(array), subscripts, at)
                if subscripts.is_empty() && *at == version(&self.versions, place, self.last) =>
            {
                Some(Aff::var(array))
            }
            Node::Constant(..) | Node::Scalar(..) | Node::Element(..) | Node::Op(..) => None,
        }
    }

    /// C's division of signed numbers is that of the kernel where nothing is negative: refuses a
    /// part whose statement may divide something else.
    pub fn truncates(&mut self, scope: ScopeId) -> Result<(), WrongValue> {
        if self.rounds_down(scope)? {
            return Ok(());
        }
        let message = format!("`{}` may divide a negative number with C's operators", self.kernel.name);
        Err(WrongValue::NotFollowed(Box::new(Diagnostic::new("wrong-value", message))))
    }

    /// A value of a statement that does no part: not known if it may divide a negative number with
    /// C's operators.
    pub fn followed(&mut self, form: Form, scope: ScopeId) -> Result<Form, WrongValue> {
        match self.rounds_down(scope)? {
            true => Ok(form),
            false => {
                let dtype = self.forms.dtype(form);
                Ok(self.forms.opaque(dtype))
            }
        }
    }

    /// Whether what C's operators divide is known not to be negative, so that they round down.
    pub fn rounds_down(&mut self, scope: ScopeId) -> Result<bool, WrongValue> {
        for form in std::mem::take(&mut self.truncated) {
            if self.forms.as_number(form).and_then(Number::as_i64).is_some_and(|v| v >= 0) {
                continue;
            }
            let mut claims = Vec::new();
            let natural = match self.integer(form, &mut claims) {
                Some(aff) => self.is_natural(&aff, &claims, scope)?,
                None => false,
            };
            if !natural && !self.is_remainder(form) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a number is what is left of a division by one above zero, rounded down.
    fn is_remainder(&self, form: Form) -> bool {
        match self.forms.node(form) {
            Node::Op(Op::Binary(BinOp::FloorMod), _, args) => {
                let by = args.get(1).and_then(|by| self.forms.as_number(*by)).and_then(Number::as_i64);
                by.is_some_and(|by| by > 0)
            }
            _ => false,
        }
    }

    /// Whether a function is not negative in a scope, and these are within their types.
    fn is_natural(&mut self, aff: &Aff, claims: &[(Aff, DType)], scope: ScopeId) -> Result<bool, WrongValue> {
        let names = self.system(scope)?.names();
        let typed = match claims {
            [] => Vec::new(),
            _ => self.spec.typed(names.into_iter().chain(aff.names()))?,
        };
        let system = self.system(scope)?;
        let asked = || -> Result<bool, loopwright_poly::Error> {
            if !system.implies(&Constraint::nonneg(aff.clone()))? {
                return Ok(false);
            }
            let system = system.with(&typed)?;
            for (claimed, dtype) in claims {
                let (low, high) = limits(*dtype);
                let (low, high) = (low.max(-FAR), high.min(FAR));
                if !system.implies(&Constraint::le(&Aff::constant(low), claimed)?)?
                    || !system.implies(&Constraint::le(claimed, &Aff::constant(high))?)?
                {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        match asked() {
            // A query that leaves 64 bits shows nothing.
            Err(loopwright_poly::Error::Overflow) => Ok(false),
            answer => Ok(answer.map_err(Diagnostic::from)?),
        }
    }
}

/// The least and the greatest value of a function of lanes.
fn range_of(
    aff: &Aff,
    lanes: &[(Name, Option<(i64, i64)>)],
    vector: Option<&(Name, i64)>,
) -> Option<(i64, i64)> {
    let (mut low, mut high) = (aff.constant_term(), aff.constant_term());
    if !aff.is_affine() {
        return None;
    }
    for name in aff.names() {
        let lane = lanes.iter().find(|(lane, _)| *lane == name).and_then(|(_, range)| *range);
        let vector = vector.filter(|(lane, _)| *lane == name).map(|(_, count)| (0, *count));
        let (least, end) = lane.or(vector)?;
        let factor = aff.coefficient(&name);
        let ends = [factor.checked_mul(least)?, factor.checked_mul(end.checked_sub(1)?)?];
        low = low.checked_add(*ends.iter().min()?)?;
        high = high.checked_add(*ends.iter().max()?)?;
    }
    Some((low, high))
}

#[cfg(test)]
mod tests;
