//! What the kernel says that a part computes, as forms.

mod storage;
mod text;

use std::rc::Rc;

use loopwright_kernel_ir::{
    AddressSpace, Aff, BinaryOp, Constraint, DType, Diagnostic, Expr, Instruction, Lookup, LoopKernel, Name,
    Part, PartRef, Precision, ReductionOp, ReductionTypes, TypeTable, Typed, TypedKind, UnaryOp, UpdateOp,
};
use loopwright_legality::{conditional_reads, owning_lanes};
use loopwright_poly::{Table, TableSet};

pub(in crate::verify) use text::Text;

use super::forms::{self, Form, Forms, Node, Op, Place, Version};
use crate::{
    BinOp, Program,
    verify::{integers::limits, reading::declared_of},
};

/// When each place has been written, in order. Times count what the text writes.
pub(super) type Versions = Table<Place, Vec<Version>>;

/// The version that a place has at a time.
pub(super) fn version(versions: &Versions, place: &Place, time: Version) -> Version {
    let written = versions.get(place).map(Vec::as_slice).unwrap_or_default();
    written.iter().rev().find(|v| **v <= time).copied().unwrap_or_default()
}

/// The kernel, and the forms of its parts.
pub(in crate::verify) struct Spec<'k> {
    pub kernel: &'k LoopKernel,
    program: &'k Program,
    pub lookup: Lookup<'k>,
    types: TypeTable<'k>,
    operators: Table<Name, Rc<ReductionOp>>,
    reductions: Table<Name, Rc<Vec<ReductionTypes>>>,
    texts: Table<PartRef, Option<Rc<Text>>>,
    lanes: Table<Place, Rc<Vec<Name>>>,
    /// The lanes that own cells of a private array.
    owning: Table<Name, Vec<Name>>,
    lowers: Table<Name, i64>,
    in_nests: Table<Name, Rc<TableSet<Name>>>,
}

/// Where a statement of a part stands.
pub(super) struct At<'w> {
    /// The values of inames that no loop around counts.
    pub only: &'w Table<Name, Aff>,
    /// Whether a lane has a value there.
    pub has_lane: &'w dyn Fn(&Name) -> bool,
    pub versions: &'w Versions,
    /// Elements have the versions of this time.
    pub time: Version,
    /// Whether it is an atomic update, whose value is the operand.
    pub atomic: bool,
}

/// What a statement has to write, and where.
pub(super) struct Wanted {
    pub place: Place,
    pub subscripts: Vec<Form>,
    pub value: Form,
}

/// The names of an operator's expressions, and the results of reductions.
#[derive(Default)]
struct Locals {
    names: Table<Name, Form>,
    results: Table<usize, Form>,
}

impl<'k> Spec<'k> {
    pub fn new(kernel: &'k LoopKernel, program: &'k Program) -> Self {
        let lookup = Lookup::new(kernel);
        let types = TypeTable::new(kernel).or_else(program.index);
        let mut owning = Table::default();
        if kernel.tags.values().any(|tag| tag.is_jam()) {
            let mut touching: Table<Name, Vec<(Vec<Name>, bool)>> = Table::default();
            for part in kernel.tree.iter().flat_map(|t| t.leaves()) {
                let Some(i) = lookup.instruction(&part.instruction) else { continue };
                let mut lanes = lookup.part_inames(part);
                lanes.retain(|name| kernel.tag(name).is_jam());
                let mut touch = |array: Name, writes| {
                    if lookup.array(&array).is_some_and(|a| a.space == AddressSpace::Private) {
                        touching.entry(array).or_default().push((lanes.clone(), writes));
                    }
                };
                conditional_reads(&lookup, i, part)
                    .into_iter()
                    .for_each(|(read, _)| touch(read.array, false));
                if matches!(part.part, Part::Whole | Part::Finish) {
                    i.targets.iter().for_each(|target| touch(target.array.clone(), true));
                }
            }
            for (array, parts) in touching {
                let parts = parts.iter().map(|(lanes, writes)| (lanes.as_slice(), *writes));
                let is_scalar = lookup.array(&array).is_some_and(|a| a.axes.is_empty());
                owning.insert(array, owning_lanes(is_scalar, parts));
            }
        }
        Spec {
            kernel,
            program,
            lookup,
            types,
            operators: Table::default(),
            reductions: Table::default(),
            texts: Table::default(),
            lanes: Table::default(),
            owning,
            lowers: Table::default(),
            in_nests: Table::default(),
        }
    }

    /// Whether a name has all its values in a type: it is of no wider one, or of that of indices,
    /// which a launch checks to be wide enough.
    pub fn is_exact(&self, name: &Name, dtype: DType) -> bool {
        dtype == self.program.index
            || self
                .lookup
                .scalar(name)
                .and_then(|s| s.dtype.known())
                .is_some_and(|own| own == dtype || own == DType::I32 && dtype == DType::I64)
    }

    /// The ranges of those of these names that are scalar arguments of types narrower than 64 bits.
    pub fn typed(&self, names: impl IntoIterator<Item = Name>) -> Result<Vec<Constraint>, Diagnostic> {
        let mut rows = Vec::new();
        for name in names {
            let dtype = self.lookup.scalar(&name).and_then(|s| s.dtype.known());
            if let Some(dtype) = dtype.filter(|t| t.is_integer() && t.bytes() < 8) {
                let (least, greatest) = limits(dtype);
                rows.push(Constraint::le(&Aff::constant(least), &Aff::var(&name))?);
                rows.push(Constraint::le(&Aff::var(&name), &Aff::constant(greatest))?);
            }
        }
        Ok(rows)
    }

    /// What is declared of a scalar that is read from an array, and written nowhere else.
    pub fn known_of(&self, name: &Name) -> Vec<Constraint> {
        let ([writer], Some(_)) = (self.lookup.writers(name), self.lookup.temporary(name)) else {
            return Vec::new();
        };
        let Some(Expr::Subscript(access)) = self.kernel.instructions.get(*writer).map(|i| &i.value) else {
            return Vec::new();
        };
        if !self.lookup.writers(&access.array).is_empty() || !self.kernel.keeps(name, &access.array) {
            return Vec::new();
        }
        declared_of(&self.kernel.facts, &access.array, &Aff::var(name))
    }

    fn operator(&mut self, name: &Name) -> Option<Rc<ReductionOp>> {
        if !self.operators.contains_key(name) {
            let operator = Rc::new(self.kernel.operator(name)?);
            self.operators.insert(name.clone(), operator);
        }
        self.operators.get(name).cloned()
    }

    fn reduction_types(&mut self, i: &Instruction) -> Result<Rc<Vec<ReductionTypes>>, Diagnostic> {
        if let Some(known) = self.reductions.get(&i.id) {
            return Ok(known.clone());
        }
        let wanted: Vec<DType> =
            i.targets.iter().filter_map(|t| self.types.element(&t.array)?.known()).collect();
        let found = Rc::new(self.types.reduction_types(&i.value, &wanted)?);
        self.reductions.insert(i.id.clone(), found.clone());
        Ok(found)
    }

    /// The expressions of a part; `None` where the kernel has none for it.
    pub fn text(&mut self, part: &PartRef) -> Result<Option<Rc<Text>>, Diagnostic> {
        if let Some(known) = self.texts.get(part) {
            return Ok(known.clone());
        }
        let found = self.read(part)?.map(Rc::new);
        self.texts.insert(part.clone(), found.clone());
        Ok(found)
    }

    /// What the statement has to write that gives this value of a part.
    pub(super) fn wanted(
        &mut self,
        forms: &mut Forms,
        part: &PartRef,
        number: u8,
        carries: bool,
        at: &At<'_>,
    ) -> Result<Option<Wanted>, Diagnostic> {
        let Some(text) = self.text(part)? else { return Ok(None) };
        let k = usize::from(number);
        let mut locals = self.results(forms, part, &text, at);
        match part.part {
            Part::Whole | Part::Finish => {
                let (Some((array, subscripts)), Some(stored)) = (text.targets.get(k), text.stored.get(k))
                else {
                    return Ok(None);
                };
                let value = match text.values.get(k) {
                    Some(value) => self.form(forms, value, &locals, at),
                    None => {
                        let Some((n, results)) = text.results.last_key_value() else { return Ok(None) };
                        let Some(result) = results.get(k) else { return Ok(None) };
                        let names = self.state_names(forms, part, *n, at);
                        let result = self.form(forms, result, &names, at);
                        forms.cast(*stored, result, &|name, t| self.is_exact(name, t))
                    }
                };
                let own = subscripts.iter().map(|s| self.form(forms, s, &Locals::default(), at)).collect();
                let subscripts = self.place_subscripts(forms, array, own, at);
                let place = Place::Array(array.clone());
                let value = match text.update.as_ref().filter(|_| !at.atomic) {
                    Some(op) => {
                        let version = version(at.versions, &place, at.time);
                        let held = Node::Element(*stored, place.clone(), subscripts.clone(), version);
                        let held = forms.make(held);
                        match (self.updated(forms, &text, [held, value], at), combination(op)) {
                            (Some(updated), _) => updated,
                            (None, Some(op)) => forms.binary(op, *stored, held, value),
                            (None, None) => return Ok(None),
                        }
                    }
                    None => value,
                };
                Ok(Some(Wanted { place, subscripts, value }))
            }
            Part::Init(n) | Part::Update(n) => {
                let Some(of) = &text.reduction else { return Ok(None) };
                let state = |k| Place::State(part.instruction.clone(), n, k);
                let place = match carries {
                    true => Place::Carried(part.instruction.clone(), n, number),
                    false => state(number),
                };
                let subscripts = self.state_subscripts(forms, &place, at);
                let value = if let Part::Init(_) = part.part {
                    let Some(neutral) = of.neutral.get(k) else { return Ok(None) };
                    self.form(forms, neutral, &Locals::default(), at)
                } else {
                    let mut inputs = Locals::default();
                    for (name, arg) in of.operator.inputs.iter().zip(&of.args) {
                        let form = self.form(forms, arg, &locals, at);
                        inputs.names.insert(name.clone(), form);
                    }
                    locals = Locals::default();
                    let own = of.operator.state.iter().zip(&of.lift).enumerate();
                    let Some(types) = of.types.get(n) else { return Ok(None) };
                    for (k, (s, lift)) in own {
                        let lifted = self.form(forms, lift, &inputs, at);
                        locals.names.insert(Name::new(format!("b.{}", s.name)), lifted);
                        let (Ok(k), Some(dtype)) = (u8::try_from(k), types.state.get(k)) else {
                            return Ok(None);
                        };
                        let before = self.element_of_state(forms, state(k), *dtype, at);
                        locals.names.insert(Name::new(format!("a.{}", s.name)), before);
                    }
                    let Some(combine) = of.combine.get(k) else { return Ok(None) };
                    self.form(forms, combine, &locals, at)
                };
                Ok(Some(Wanted { place, subscripts, value }))
            }
        }
    }

    /// The neutral value of a place that holds a reduction's state.
    pub(super) fn neutral(&mut self, forms: &mut Forms, place: &Place) -> Result<Option<Form>, Diagnostic> {
        let (Place::State(id, n, k) | Place::Carried(id, n, k)) = place else { return Ok(None) };
        let part = PartRef { instruction: id.clone(), part: Part::Init(*n) };
        let Some(text) = self.text(&part)? else { return Ok(None) };
        let neutral = text.reduction.as_ref().and_then(|of| of.neutral.get(usize::from(*k)));
        let at = At {
            only: &Table::default(),
            has_lane: &|_| false,
            versions: &Versions::default(),
            time: 0,
            atomic: false,
        };
        Ok(neutral.map(|neutral| self.form(forms, neutral, &Locals::default(), &at)))
    }

    /// The terms of an update, each with the neutral value: one for each value of the state.
    pub(super) fn lifted(
        &mut self,
        forms: &mut Forms,
        part: &PartRef,
        at: &At<'_>,
    ) -> Result<Vec<(Form, Form)>, Diagnostic> {
        let Some(text) = self.text(part)? else { return Ok(Vec::new()) };
        let Some(of) = &text.reduction else { return Ok(Vec::new()) };
        let locals = self.results(forms, part, &text, at);
        let mut inputs = Locals::default();
        for (name, arg) in of.operator.inputs.iter().zip(&of.args) {
            let form = self.form(forms, arg, &locals, at);
            inputs.names.insert(name.clone(), form);
        }
        let mut terms = Vec::new();
        for (lift, neutral) in of.lift.iter().zip(&of.neutral) {
            let lifted = self.form(forms, lift, &inputs, at);
            terms.push((lifted, self.form(forms, neutral, &Locals::default(), at)));
        }
        Ok(terms)
    }

    /// What an element holds after an update by an operator with a name, given what it held and the
    /// operand.
    pub(super) fn updated(
        &mut self,
        forms: &mut Forms,
        text: &Text,
        [held, value]: [Form; 2],
        at: &At<'_>,
    ) -> Option<Form> {
        let (of, typed) = text.combination.as_ref()?;
        let names = Table::from_iter([(of.held.clone(), held), (of.value.clone(), value)]);
        Some(self.form(forms, typed, &Locals { names, ..Locals::default() }, at))
    }

    /// The condition under which a part runs.
    pub(super) fn predicate(&mut self, forms: &mut Forms, text: &Text, at: &At<'_>) -> Option<Form> {
        let predicate = text.predicate.as_ref()?;
        Some(self.form(forms, predicate, &Locals::default(), at))
    }

    /// The first results of the reductions that a part uses.
    fn results(&mut self, forms: &mut Forms, part: &PartRef, text: &Text, at: &At<'_>) -> Locals {
        let mut locals = Locals::default();
        for (n, results) in &text.results {
            let Some(first) = results.first() else { continue };
            let names = self.state_names(forms, part, *n, at);
            let form = self.form(forms, first, &names, at);
            locals.results.insert(*n, form);
        }
        locals
    }

    /// The state of a reduction, by the names of its values.
    fn state_names(&mut self, forms: &mut Forms, part: &PartRef, n: usize, at: &At<'_>) -> Locals {
        let mut locals = Locals::default();
        let Some(i) = self.lookup.instruction(&part.instruction) else { return locals };
        let reductions = i.reductions();
        let (Some(reduce), Ok(types)) = (reductions.get(n), self.reduction_types(i)) else { return locals };
        let (Some(operator), Some(own)) = (self.operator(&reduce.op), types.get(n)) else { return locals };
        for (k, (s, dtype)) in operator.state.iter().zip(&own.state).enumerate() {
            let Ok(k) = u8::try_from(k) else { continue };
            let place = Place::State(part.instruction.clone(), n, k);
            let form = self.element_of_state(forms, place, *dtype, at);
            locals.names.insert(s.name.clone(), form);
        }
        locals
    }

    /// The value of a name in a type.
    fn name(&mut self, forms: &mut Forms, name: &Name, dtype: DType, at: &At<'_>) -> Form {
        if let Some(array) = self.lookup.array(name) {
            let own = array.dtype.known().unwrap_or(dtype);
            let form = self.element(forms, name, Vec::new(), own, at);
            return forms.cast(dtype, form, &|name, t| self.is_exact(name, t));
        }
        if let Some(scalar) = self.lookup.scalar(name)
            && let Some(own) = scalar.dtype.known()
        {
            let form = match own.is_integer() {
                true => forms.of_aff(&Aff::var(name), own, &mut |_, _| None),
                false => forms.make(Node::Scalar(own, name.clone())),
            };
            return forms.cast(dtype, form, &|name, t| self.is_exact(name, t));
        }
        let aff = self.function(name, at.only);
        self.of_aff(forms, &aff, dtype, at)
    }

    /// An iname as a function of coordinates, loops and lanes.
    pub(super) fn function(&self, name: &Name, only: &Table<Name, Aff>) -> Aff {
        let own = Aff::var(name);
        let expanded = self.lookup.expand(&own).unwrap_or(own);
        let coordinate = |n: &Name| {
            self.program.coordinates.iter().find(|(name, _)| name == n).map(|(_, aff)| aff.clone())
        };
        let known = expanded.substitute(&|n| only.get(n).cloned());
        let known = known.and_then(|aff| aff.substitute(&coordinate)).unwrap_or(expanded);
        // A value may be one of other inames with a single value.
        let again = known.substitute(&|n| only.get(n).cloned()).and_then(|aff| aff.substitute(&coordinate));
        again.unwrap_or(known)
    }

    /// A function of names, among them scalars in memory.
    pub(super) fn of_aff(&mut self, forms: &mut Forms, aff: &Aff, dtype: DType, at: &At<'_>) -> Form {
        forms.of_aff(aff, dtype, &mut |forms, name| {
            let array = self.lookup.array(name)?;
            let own = array.dtype.known()?;
            Some(self.element(forms, name, Vec::new(), own, at))
        })
    }

    fn form(&mut self, forms: &mut Forms, e: &Typed, locals: &Locals, at: &At<'_>) -> Form {
        let dtype = e.dtype;
        match &e.kind {
            TypedKind::Constant(number) => forms.number(*number),
            TypedKind::Name(name) => match locals.names.get(name) {
                Some(form) => forms.cast(dtype, *form, &|name, t| self.is_exact(name, t)),
                None => self.name(forms, name, dtype, at),
            },
            TypedKind::Element { access, index } => {
                let own = index.iter().map(|s| self.form(forms, s, locals, at)).collect();
                self.element(forms, &access.array, own, dtype, at)
            }
            TypedKind::Reduction(number) => match locals.results.get(number) {
                Some(form) => forms.cast(dtype, *form, &|name, t| self.is_exact(name, t)),
                None => forms.opaque(dtype),
            },
            TypedKind::Unary(op, a) => {
                let a = self.form(forms, a, locals, at);
                let op = match op {
                    UnaryOp::Neg => forms::UnaryOp::Neg,
                    UnaryOp::Not => forms::UnaryOp::Not,
                    UnaryOp::BitNot => forms::UnaryOp::BitNot,
                };
                forms.unary(op, dtype, a)
            }
            TypedKind::Binary(op, a, b) => {
                let of = a.dtype;
                let (a, b) = (self.form(forms, a, locals, at), self.form(forms, b, locals, at));
                match op {
                    BinaryOp::FloorDiv if of.is_float() => {
                        let quotient = forms.binary(BinOp::Div, of, a, b);
                        let call = Op::Call(Name::new("floor"), Precision::Precise);
                        forms.make(Node::Op(call, of, vec![quotient]))
                    }
                    op => forms.binary((*op).into(), of, a, b),
                }
            }
            TypedKind::If(c, a, b) => {
                let [c, a, b] = [c, a, b].map(|e| self.form(forms, e, locals, at));
                forms.select(dtype, c, a, b)
            }
            TypedKind::Convert(a) | TypedKind::Cast(a) => {
                let a = self.form(forms, a, locals, at);
                forms.cast(dtype, a, &|name, t| self.is_exact(name, t))
            }
            TypedKind::Call { function, precision, args } => {
                let mut own: Vec<Form> = args.iter().map(|a| self.form(forms, a, locals, at)).collect();
                let is_declared = self.kernel.functions.iter().any(|f| f.name == *function);
                let least = match function.as_str() {
                    "min" => Some(BinOp::Min),
                    "max" => Some(BinOp::Max),
                    _ => None,
                };
                if let (Some(op), [a, b], false) = (least, own.as_slice(), is_declared) {
                    return forms.binary(op, dtype, *a, *b);
                }
                let precision = match is_declared {
                    true => Precision::Precise,
                    false => precision.unwrap_or(self.kernel.options.precision),
                };
                forms.make(Node::Op(Op::Call(function.clone(), precision), dtype, std::mem::take(&mut own)))
            }
        }
    }
}

/// The operation of an update on what an element holds and the operand; `None` for an operator with
/// a name.
fn combination(op: &UpdateOp) -> Option<BinOp> {
    Some(match op {
        UpdateOp::Sum => BinOp::Add,
        UpdateOp::Min => BinOp::Min,
        UpdateOp::Max => BinOp::Max,
        UpdateOp::And => BinOp::BitAnd,
        UpdateOp::Or => BinOp::BitOr,
        UpdateOp::By(_) => return None,
    })
}
