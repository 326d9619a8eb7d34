//! What the kernel says that a part computes, as forms.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    rc::Rc,
};

use loopwright_kernel_ir::{
    AddressSpace, Aff, BinaryOp, Constraint, DType, Diagnostic, Expr, Fact, Instruction, Lookup, LoopKernel,
    Name, Part, PartRef, Precision, ReductionOp, ReductionTypes, Share, TypeTable, Typed, TypedKind, UnaryOp,
};
use loopwright_legality::{conditional_reads, consumer, context, flat_nest};
use loopwright_poly::{System, Table};

use super::forms::{self, Form, Forms, Node, Op, Operation, Place, Version};
use crate::{Atomic, Program};

/// When each place has been written, in order. Times count what the text writes.
pub(super) type Versions = Table<Place, Vec<Version>>;

/// The version that a place has at a time.
pub(super) fn version(versions: &Versions, place: &Place, time: Version) -> Version {
    let written = versions.get(place).map(Vec::as_slice).unwrap_or_default();
    written.iter().rev().find(|v| **v <= time).copied().unwrap_or_default()
}

/// The kernel, and the forms of its parts.
pub(super) struct Spec<'k> {
    kernel: &'k LoopKernel,
    program: &'k Program,
    pub lookup: Lookup<'k>,
    types: TypeTable<'k>,
    operators: Table<Name, Rc<ReductionOp>>,
    reductions: Table<Name, Rc<Vec<ReductionTypes>>>,
    texts: Table<PartRef, Option<Rc<Text>>>,
    lanes: Table<Place, Rc<Vec<Name>>>,
    /// The lanes of the parts that write an array.
    of_writers: HashMap<Name, Vec<Name>>,
    lowers: Table<Name, i64>,
    in_nests: Table<Name, Rc<HashSet<Name>>>,
}

/// The expressions of a part, with types.
pub(super) struct Text {
    /// The target and its subscripts, by the number of the value.
    targets: Vec<(Name, Vec<Typed>)>,
    /// The values, over results of reductions; empty where a reduction gives several.
    values: Vec<Typed>,
    /// The types of the targets.
    stored: Vec<DType>,
    /// The results of reductions that it uses, over their states.
    results: BTreeMap<usize, Vec<Typed>>,
    /// Of a part of a reduction.
    reduction: Option<OfReduction>,
    pub predicate: Option<Typed>,
    /// The kind of atomic update by which it writes.
    pub atomic: Option<Atomic>,
}

struct OfReduction {
    operator: Rc<ReductionOp>,
    types: Rc<Vec<ReductionTypes>>,
    neutral: Vec<Typed>,
    args: Vec<Typed>,
    lift: Vec<Typed>,
    combine: Vec<Typed>,
}

/// Where a statement of a part stands.
pub(super) struct At<'w> {
    /// The values of inames that no loop around counts.
    pub only: &'w HashMap<Name, Aff>,
    /// Whether a lane has a value there.
    pub has_lane: &'w dyn Fn(&Name) -> bool,
    pub versions: &'w Versions,
    /// Elements have the versions of this time.
    pub time: Version,
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
    names: HashMap<Name, Form>,
    results: HashMap<usize, Form>,
}

impl<'k> Spec<'k> {
    pub fn new(kernel: &'k LoopKernel, program: &'k Program) -> Self {
        let lookup = Lookup::new(kernel);
        let types = TypeTable::new(kernel).or_else(program.index);
        let mut of_writers: HashMap<Name, Vec<Name>> = HashMap::new();
        if kernel.tags.values().any(|tag| tag.is_jam()) {
            for part in kernel.tree.iter().flat_map(|t| t.leaves()) {
                let instruction = lookup.instruction(&part.instruction);
                let Some(i) = instruction.filter(|_| matches!(part.part, Part::Whole | Part::Finish)) else {
                    continue;
                };
                let mut lanes = lookup.part_inames(part);
                lanes.retain(|name| kernel.tag(name).is_jam());
                for target in &i.targets {
                    let known = of_writers.entry(target.array.clone()).or_default();
                    for lane in &lanes {
                        if !known.contains(lane) {
                            known.push(lane.clone());
                        }
                    }
                }
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
            of_writers,
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

    /// What is declared of a scalar that is read from an array, and written nowhere else.
    pub fn known_of(&self, name: &Name) -> Vec<Constraint> {
        let mut known = Vec::new();
        let ([writer], Some(_)) = (self.lookup.writers(name), self.lookup.temporary(name)) else {
            return known;
        };
        let Some(Expr::Subscript(access)) = self.kernel.instructions.get(*writer).map(|i| &i.value) else {
            return known;
        };
        if !self.lookup.writers(&access.array).is_empty() {
            return known;
        }
        let value = Aff::var(name);
        for fact in &self.kernel.facts {
            let Fact::Range { array, lower, upper } = fact else { continue };
            if *array == access.array {
                let low = lower.as_ref().and_then(|e| Constraint::le(&e.to_aff()?, &value).ok());
                let high = upper.as_ref().and_then(|e| Constraint::lt(&value, &e.to_aff()?).ok());
                known.extend(low.into_iter().chain(high));
            }
        }
        known
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

    fn read(&mut self, part: &PartRef) -> Result<Option<Text>, Diagnostic> {
        let Some(i) = self.lookup.instruction(&part.instruction) else { return Ok(None) };
        let index = Some(self.program.index);
        let table = self.types.clone();
        let reductions = i.reductions();
        let types = match reductions.is_empty() {
            true => Rc::default(),
            false => self.reduction_types(i)?,
        };
        let mut text = Text {
            targets: Vec::new(),
            values: Vec::new(),
            stored: Vec::new(),
            results: BTreeMap::new(),
            reduction: None,
            predicate: None,
            atomic: None,
        };
        if let Some(predicate) = &i.predicate {
            text.predicate = Some(table.typed(predicate, DType::Bool, index)?);
        }
        for (n, reduce) in reductions.iter().enumerate() {
            if consumer(i, n) != part.part {
                continue;
            }
            let (Some(operator), Some(own)) = (self.operator(&reduce.op), types.get(n)) else {
                return Ok(None);
            };
            let names = operator.state.iter().map(|s| s.name.clone());
            let table = table.with_scalars(names.zip(own.state.iter().map(|t| (*t).into())));
            let results = operator.result.iter().zip(&own.results);
            let results = results.map(|(e, t)| table.typed(e, *t, None)).collect::<Result<_, _>>()?;
            text.results.insert(n, results);
        }
        match part.part {
            Part::Whole | Part::Finish => {
                for target in &i.targets {
                    let Some(dtype) = self.types.element(&target.array).and_then(|t| t.known()) else {
                        return Ok(None);
                    };
                    let indices = table.of_indices(self.program.index);
                    let inside = |s| indices.typed(s, self.program.index, index);
                    let subscripts = target.index.iter().map(inside).collect::<Result<_, _>>()?;
                    text.targets.push((target.array.clone(), subscripts));
                    text.stored.push(dtype);
                    if i.targets.len() == 1 {
                        text.values.push(table.typed(&i.value, dtype, index)?);
                    }
                }
                if part.part == Part::Finish && i.role.share() == Some(Share::Update) {
                    let op = reductions.first().map(|r| r.op.to_string());
                    text.atomic = match op.as_deref() {
                        Some("sum") => Some(Atomic::Add),
                        Some("min") => Some(Atomic::Min),
                        Some("max") => Some(Atomic::Max),
                        _ => None,
                    };
                }
            }
            Part::Init(n) | Part::Update(n) => {
                let Some(reduce) = reductions.get(n) else { return Ok(None) };
                let (Some(operator), Some(own)) = (self.operator(&reduce.op), types.get(n)) else {
                    return Ok(None);
                };
                let each = |exprs: &[Expr], table: &TypeTable<'_>| -> Result<Vec<Typed>, Diagnostic> {
                    exprs.iter().zip(&own.state).map(|(e, t)| table.typed(e, *t, None)).collect()
                };
                let neutral = each(&operator.neutral, &table)?;
                let (mut args, mut lift, mut combine) = (Vec::new(), Vec::new(), Vec::new());
                if let Part::Update(_) = part.part {
                    let inside: usize = reduce.args.iter().map(|a| a.reductions().len()).sum();
                    let mut first = n.saturating_sub(inside);
                    for (arg, t) in reduce.args.iter().zip(&own.inputs) {
                        args.push(table.typed_from(arg, *t, index, first)?);
                        first += arg.reductions().len();
                    }
                    let inputs = operator.inputs.iter().cloned();
                    let inputs = inputs.zip(own.inputs.iter().map(|t| (*t).into()));
                    lift = each(&operator.lift, &table.with_scalars(inputs))?;
                    let states = operator.state.iter().zip(&own.state).flat_map(|(s, t)| {
                        ["a", "b"].map(|side| (Name::new(format!("{side}.{}", s.name)), (*t).into()))
                    });
                    combine = each(&operator.combine, &table.with_scalars(states))?;
                }
                text.reduction = Some(OfReduction { operator, types, neutral, args, lift, combine });
            }
        }
        Ok(Some(text))
    }

    /// What the statement has to write that gives this value of a part.
    pub fn wanted(
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
                Ok(Some(Wanted { place: Place::Array(array.clone()), subscripts, value }))
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
    pub fn neutral(&mut self, forms: &mut Forms, place: &Place) -> Result<Option<Form>, Diagnostic> {
        let (Place::State(id, n, k) | Place::Carried(id, n, k)) = place else { return Ok(None) };
        let part = PartRef { instruction: id.clone(), part: Part::Init(*n) };
        let Some(text) = self.text(&part)? else { return Ok(None) };
        let neutral = text.reduction.as_ref().and_then(|of| of.neutral.get(usize::from(*k)));
        let at = At { only: &HashMap::new(), has_lane: &|_| false, versions: &Versions::default(), time: 0 };
        Ok(neutral.map(|neutral| self.form(forms, neutral, &Locals::default(), &at)))
    }

    /// The terms of an update, each with the neutral value: one for each value of the state.
    pub fn lifted(
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

    /// The condition under which a part runs.
    pub fn predicate(&mut self, forms: &mut Forms, text: &Text, at: &At<'_>) -> Option<Form> {
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

    fn element_of_state(&mut self, forms: &mut Forms, place: Place, dtype: DType, at: &At<'_>) -> Form {
        let subscripts = self.state_subscripts(forms, &place, at);
        let version = version(at.versions, &place, at.time);
        forms.make(Node::Element(dtype, place, subscripts, version))
    }

    fn state_subscripts(&mut self, forms: &mut Forms, place: &Place, at: &At<'_>) -> Vec<Form> {
        let lanes = self.lanes_of(place);
        lanes.iter().map(|lane| self.lane(forms, lane, at)).collect()
    }

    /// The lanes for which a place of the thread has a copy.
    fn lanes_of(&mut self, place: &Place) -> Rc<Vec<Name>> {
        if let Some(known) = self.lanes.get(place) {
            return known.clone();
        }
        let is_lane = |name: &Name| self.kernel.tag(name).is_jam();
        let lanes = match place {
            Place::Array(array) => self.of_writers.get(array).cloned().unwrap_or_default(),
            Place::State(id, n, _) | Place::Carried(id, n, _) => {
                let inames = |part| self.lookup.part_inames(&PartRef { instruction: id.clone(), part });
                let mut lanes = inames(Part::Update(*n));
                lanes.retain(is_lane);
                if let Place::Carried(..) = place {
                    let own = inames(Part::Init(*n));
                    lanes.retain(|lane| own.contains(lane));
                }
                lanes
            }
        };
        let lanes = Rc::new(lanes);
        self.lanes.insert(place.clone(), lanes.clone());
        lanes
    }

    /// The arrays that the instructions of the nests over segments read that an instruction is in.
    pub fn read_in_nests(&mut self, instruction: &Name) -> Rc<HashSet<Name>> {
        if let Some(known) = self.in_nests.get(instruction) {
            return known.clone();
        }
        let nests = self.kernel.flat.keys().filter_map(|iname| flat_nest(self.kernel, iname).ok());
        let own = nests.filter(|nest| nest.parts.iter().any(|part| part.instruction == *instruction));
        let mut found = HashSet::new();
        for part in own.flat_map(|nest| nest.parts) {
            let Some(i) = self.lookup.instruction(&part.instruction) else { continue };
            let read = conditional_reads(&self.lookup, i, &part);
            found.extend(read.into_iter().map(|(access, _)| access.array));
        }
        let found = Rc::new(found);
        self.in_nests.insert(instruction.clone(), found.clone());
        found
    }

    /// Whether the updates of a reduction are in lanes in which its first value is not.
    pub fn joins_lanes(&self, instruction: &Name, n: usize) -> bool {
        let inames = |part| self.lookup.part_inames(&PartRef { instruction: instruction.clone(), part });
        let first = inames(Part::Init(n));
        inames(Part::Update(n)).iter().any(|i| self.kernel.tag(i).is_jam() && !first.contains(i))
    }

    /// The number of a lane, from 0.
    fn lane(&mut self, forms: &mut Forms, lane: &Name, at: &At<'_>) -> Form {
        let index = forms.index;
        if !(at.has_lane)(lane) {
            return forms.int(index, 0);
        }
        let value = self.name(forms, lane, index, at);
        let lower = self.lower(lane);
        let lower = forms.int(index, lower);
        forms.binary(Operation::Sub, index, value, lower)
    }

    /// A lane counts from this value in some loop: any will do that all accesses have in common.
    pub fn begins_at(&mut self, lane: &Name, low: i64) {
        if self.kernel.tag(lane).is_jam() {
            self.lowers.entry(lane.clone()).or_insert(low);
        }
    }

    /// The least value of a lane, as its loops have it.
    pub fn lower(&mut self, lane: &Name) -> i64 {
        if let Some(known) = self.lowers.get(lane) {
            return *known;
        }
        let mut rows = context(self.kernel);
        rows.extend(self.lookup.instances(std::slice::from_ref(lane)));
        let range = System::new(&rows).and_then(|s| s.constant_range(&Aff::var(lane)));
        let lower = range.ok().and_then(|(low, _)| low).unwrap_or_default();
        self.lowers.insert(lane.clone(), lower);
        lower
    }

    /// The subscripts of an array's element in storage, by those of the kernel.
    fn place_subscripts(
        &mut self,
        forms: &mut Forms,
        array: &Name,
        own: Vec<Form>,
        at: &At<'_>,
    ) -> Vec<Form> {
        let Some(found) = self.lookup.array(array) else { return own };
        let ordered = || found.storage_order().into_iter().filter_map(|axis| own.get(axis).copied());
        match found.space {
            AddressSpace::Global => own,
            AddressSpace::Shared if own.is_empty() => vec![forms.int(forms.index, 0)],
            AddressSpace::Shared => ordered().collect(),
            AddressSpace::Private => {
                let place = Place::Array(array.clone());
                let mut all = self.state_subscripts(forms, &place, at);
                all.extend(ordered());
                all
            }
        }
    }

    fn element(
        &mut self,
        forms: &mut Forms,
        array: &Name,
        own: Vec<Form>,
        dtype: DType,
        at: &At<'_>,
    ) -> Form {
        let subscripts = self.place_subscripts(forms, array, own, at);
        let place = Place::Array(array.clone());
        let version = version(at.versions, &place, at.time);
        forms.make(Node::Element(dtype, place, subscripts, version))
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
    pub fn function(&self, name: &Name, only: &HashMap<Name, Aff>) -> Aff {
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

    /// A function of names, some of which are scalars in memory.
    pub fn of_aff(&mut self, forms: &mut Forms, aff: &Aff, dtype: DType, at: &At<'_>) -> Form {
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
                        let quotient = forms.binary(Operation::Div, of, a, b);
                        let call = Op::Call(Name::new("floor"), Precision::Precise);
                        forms.make(Node::Op(call, of, vec![quotient]))
                    }
                    op => forms.binary(operation(*op), of, a, b),
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
                    "min" => Some(Operation::Min),
                    "max" => Some(Operation::Max),
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

/// An operation of the kernel as one of a form.
fn operation(op: BinaryOp) -> Operation {
    match op {
        BinaryOp::Add => Operation::Add,
        BinaryOp::Sub => Operation::Sub,
        BinaryOp::Mul => Operation::Mul,
        BinaryOp::Div => Operation::Div,
        BinaryOp::FloorDiv => Operation::FloorDiv,
        BinaryOp::Mod => Operation::FloorMod,
        BinaryOp::Lt => Operation::Lt,
        BinaryOp::Le => Operation::Le,
        BinaryOp::Gt => Operation::Gt,
        BinaryOp::Ge => Operation::Ge,
        BinaryOp::Eq => Operation::Eq,
        BinaryOp::Ne => Operation::Ne,
        BinaryOp::And => Operation::And,
        BinaryOp::Or => Operation::Or,
        BinaryOp::BitAnd => Operation::BitAnd,
        BinaryOp::BitOr => Operation::BitOr,
        BinaryOp::BitXor => Operation::BitXor,
        BinaryOp::Shl => Operation::Shl,
        BinaryOp::Shr => Operation::Shr,
    }
}
