//! Whether two forms are equal wherever a statement runs, and forms as text.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{Aff, Constraint, DType, Diagnostic, Name, Number};
use loopwright_poly::{System, Table};

use super::{
    WrongValue,
    forms::{Form, Forms, Node, Op, Place},
    spec::version,
    walk::Walk,
};
use crate::verify::reading::ScopeId;

impl Walk<'_, '_, '_> {
    /// The constraints that hold in a scope; those of each scope are made once.
    pub fn system(&mut self, scope: ScopeId) -> Result<&System, WrongValue> {
        if !self.systems.contains_key(&scope) {
            let mut rows = [self.reading.context, &self.reading.scope(scope).rows].concat();
            rows.extend(self.reading.facts().cloned());
            let names: BTreeSet<Name> = rows.iter().flat_map(Constraint::names).collect();
            for name in names {
                rows.extend(self.spec.known_of(&name));
            }
            let system = System::new(&rows).map_err(Diagnostic::from)?;
            self.systems.insert(scope, system);
        }
        match self.systems.get(&scope) {
            Some(system) => Ok(system),
            None => Err(Diagnostic::new("internal", "a scope without constraints").into()),
        }
    }

    /// Whether two forms are equal in a scope.
    pub fn same(&mut self, a: Form, b: Form, scope: ScopeId) -> Result<bool, WrongValue> {
        if a == b {
            return Ok(true);
        }
        if self.forms.dtype(a) != self.forms.dtype(b) {
            return Ok(false);
        }
        match (self.forms.node(a).clone(), self.forms.node(b).clone()) {
            (Node::Element(_, p, s, v), Node::Element(_, q, t, w)) => {
                if p != q || v != w || s.len() != t.len() {
                    return Ok(false);
                }
                for (a, b) in s.into_iter().zip(t) {
                    if !self.same_subscript(a, b, scope)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Node::Op(f, _, s), Node::Op(g, _, t)) if f == g && s.len() == t.len() => {
                self.all_same(&s, &t, scope)
            }
            _ if self.forms.dtype(a).is_integer() => self.same_integer(a, b, scope),
            _ => Ok(false),
        }
    }

    /// Subscripts are integers, proved or checked to fit: the types in which a kernel and a text
    /// compute them may differ, and none of them wraps.
    pub fn same_subscript(&mut self, a: Form, b: Form, scope: ScopeId) -> Result<bool, WrongValue> {
        if self.same(a, b, scope)? {
            return Ok(true);
        }
        match (self.forms.subscript_to_aff(a), self.forms.subscript_to_aff(b)) {
            (Some(a), Some(b)) => self.same_function(&a, &b, scope),
            _ => Ok(false),
        }
    }

    fn all_same(&mut self, a: &[Form], b: &[Form], scope: ScopeId) -> Result<bool, WrongValue> {
        for (a, b) in a.iter().zip(b) {
            if !self.same(*a, *b, scope)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sums of the same products, factor by factor; or of products with the same other factors,
    /// whose factors that are functions of names have the same total: `2*o*x + i*x` and `k*x`,
    /// where `k = 2*o + i`.
    fn same_terms(&mut self, a: Form, b: Form, scope: ScopeId) -> Result<bool, WrongValue> {
        let (Node::Sum(t, first), Node::Sum(u, second)) =
            (self.forms.node(a).clone(), self.forms.node(b).clone())
        else {
            return Ok(false);
        };
        if t != u {
            return Ok(false);
        }
        let mut factors: Vec<Form> = Vec::new();
        let mut left: BTreeMap<Vec<usize>, i128> = BTreeMap::new();
        for (terms, sign) in [(first, 1), (second, -1)] {
            for (product, times) in terms {
                let mut numbers = Vec::with_capacity(product.len());
                for form in product {
                    let mut number = None;
                    for (k, other) in factors.clone().into_iter().enumerate() {
                        if self.same(other, form, scope)? {
                            number = Some(k);
                            break;
                        }
                    }
                    numbers.push(number.unwrap_or_else(|| {
                        factors.push(form);
                        factors.len() - 1
                    }));
                }
                numbers.sort_unstable();
                *left.entry(numbers).or_default() += sign * i128::from(times);
            }
        }
        left.retain(|_, times| *times != 0);
        let functions: Vec<Option<Aff>> =
            factors.iter().map(|form| self.forms.to_aff(*form, &mut |_| None)).collect();
        let mut totals: BTreeMap<Vec<usize>, Aff> = BTreeMap::new();
        for (numbers, times) in left {
            let Ok(times) = i64::try_from(times) else { return Ok(false) };
            let of_names: Vec<usize> =
                (0..numbers.len()).filter(|k| functions[numbers[*k]].is_some()).collect();
            let (others, function) = match of_names[..] {
                [one] => {
                    let others = numbers.iter().enumerate().filter(|(k, _)| *k != one);
                    (others.map(|(_, n)| *n).collect(), functions[numbers[one]].clone().unwrap_or_default())
                }
                _ => (numbers, Aff::constant(1)),
            };
            let total = totals.entry(others).or_default();
            let Some(sum) = function.scale(times).ok().and_then(|own| total.add(&own).ok()) else {
                return Ok(false);
            };
            *total = sum;
        }
        for total in totals.values() {
            if !self.same_function(total, &Aff::default(), scope)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Integers that are functions of names, and of the same other things.
    fn same_integer(&mut self, a: Form, b: Form, scope: ScopeId) -> Result<bool, WrongValue> {
        let mut others: Vec<Form> = Vec::new();
        // Which of the others each scalar of the kernel is.
        let mut scalars: Table<Name, usize> = Table::default();
        let mut function = |walk: &mut Self, form: Form| -> Result<Option<Aff>, WrongValue> {
            let mut atoms = Vec::new();
            if walk
                .forms
                .to_aff(form, &mut |f| {
                    atoms.push(f);
                    Some(Name::new("?"))
                })
                .is_none()
            {
                return Ok(None);
            }
            let mut names: Vec<(Form, Name)> = Vec::new();
            for atom in atoms {
                let mut number = None;
                for (k, other) in others.clone().into_iter().enumerate() {
                    // What is one atom as a whole has been compared already.
                    if (other, atom) != (a, b) && walk.same(other, atom, scope)? {
                        number = Some(k);
                        break;
                    }
                }
                let number = number.unwrap_or_else(|| {
                    others.push(atom);
                    others.len() - 1
                });
                let scalar = match walk.forms.node(atom) {
                    Node::Element(_, place @ Place::Array(array), subscripts, at)
                        if subscripts.is_empty() && *at == version(&walk.versions, place, walk.last) =>
                    {
                        Some(array)
                    }
                    _ => None,
                };
                // A scalar that bounds are read from has its name in constraints. What it holds
                // after another write is another value.
                let name = match scalar {
                    Some(array) if *scalars.entry(array.clone()).or_insert(number) == number => array.clone(),
                    _ => Name::new(format!("value {number}")),
                };
                names.push((atom, name));
            }
            let name = |f: Form| names.iter().find(|(atom, _)| *atom == f).map(|(_, name)| name.clone());
            Ok(walk.forms.to_aff(form, &mut |f| name(f)))
        };
        let (Some(a), Some(b)) = (function(self, a)?, function(self, b)?) else {
            return self.same_terms(a, b, scope);
        };
        self.same_function(&a, &b, scope)
    }

    /// Functions of names that have one value wherever a statement runs.
    fn same_function(&mut self, a: &Aff, b: &Aff, scope: ScopeId) -> Result<bool, WrongValue> {
        if a == b {
            return Ok(true);
        }
        let equal = Constraint::equal(a, b).map_err(Diagnostic::from)?;
        if equal.aff.as_constant().is_some() {
            return Ok(false);
        }
        let system = self.system(scope)?;
        if system.implies(&equal).map_err(Diagnostic::from)? {
            return Ok(true);
        }
        // Of an element of a vector, which no loop counts.
        let Some((element, lanes)) = self.range.clone().filter(|(element, _)| equal.aff.mentions(element))
        else {
            return Ok(false);
        };
        let element = Aff::var(&element);
        let ends = Constraint::lt(&element, &Aff::constant(lanes)).map_err(Diagnostic::from)?;
        let within = self.system(scope)?.with(&[Constraint::nonneg(element), ends]);
        Ok(within.and_then(|system| system.implies(&equal)).map_err(Diagnostic::from)?)
    }
}

impl Forms {
    /// A factor of an integer of a type, with its conversion to it.
    fn factor(&self, form: Form, dtype: DType) -> String {
        let text = self.text(form);
        match self.dtype(form) == dtype {
            true => text,
            false => format!("cast({dtype}, {text})"),
        }
    }

    /// A form as text, for messages.
    pub fn text(&self, form: Form) -> String {
        let list = |forms: &[Form]| forms.iter().map(|f| self.text(*f)).collect::<Vec<_>>().join(", ");
        match self.node(form) {
            Node::Name(name) | Node::Scalar(_, name) => name.to_string(),
            Node::Constant(..) => {
                let text = |n: Number| match n {
                    Number::Bool(v) => v.to_string(),
                    _ => format!("{n}{}", n.dtype()),
                };
                self.as_number(form).map(text).unwrap_or_default()
            }
            Node::Sum(dtype, terms) => {
                let mut text = String::new();
                for (product, factor) in terms.iter().rev() {
                    let product: Vec<String> = product.iter().map(|f| self.factor(*f, *dtype)).collect();
                    let sign = if *factor < 0 { "-" } else { "+" };
                    match text.is_empty() {
                        true if *factor < 0 => text.push('-'),
                        true => {}
                        false => text.push_str(&format!(" {sign} ")),
                    }
                    let size = factor.unsigned_abs();
                    match (size, product.is_empty()) {
                        (_, true) => text.push_str(&size.to_string()),
                        (1, false) => text.push_str(&product.join("*")),
                        (_, false) => text.push_str(&format!("{size}*{}", product.join("*"))),
                    }
                }
                if text.is_empty() { "0".into() } else { text }
            }
            Node::Element(_, place, subscripts, _) => {
                let name = match place {
                    Place::Array(name) => name.to_string(),
                    Place::State(id, n, k) => format!("accumulator {n}.{k} of {id}"),
                    Place::Carried(id, n, k) => format!("total {n}.{k} of {id}"),
                };
                if subscripts.is_empty() { name } else { format!("{name}[{}]", list(subscripts)) }
            }
            Node::Op(op, dtype, args) => {
                let name = match op {
                    Op::Unary(op) => format!("{op:?}").to_lowercase(),
                    Op::Binary(op) => format!("{op:?}").to_lowercase(),
                    Op::Select => "if".into(),
                    Op::Cast => return format!("cast({dtype}, {})", list(args)),
                    Op::Call(name, _) => name.to_string(),
                    Op::Opaque(_) => "unknown".into(),
                };
                format!("{name}({})", list(args))
            }
        }
    }
}
