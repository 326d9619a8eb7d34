//! Whether the partial results of a thread's lanes are joined, each exactly once.
//!
//! Where the updates of a reduction are in lanes in which its first value is not, each lane has an
//! accumulator of its own, an element of an array of the thread. The text is followed once in its
//! order: loops that are unrolled with all their values, others with one iteration of which the
//! number is not known, and both sides of every choice. A set of partial results is known of each
//! element, as of the threads' in [`super::run`]:
//!
//! * the first value makes it empty, and an update puts the element's own one into it;
//! * a statement of no part joins sets that have nothing in common, by the operator;
//! * whoever reads an element, and a join of threads, has to find in it the partial results of all
//!   lanes, for the values that the other lanes have there.
//!
//! A join stands in the loops of the first value, so that it is reached once for each, and under no
//! choice that is not around whoever reads what it makes. Who reads something else may stand
//! anywhere. A partial result may be named on the way, by a name that has this one value; nothing
//! else but the accumulators holds any.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use loopwright_kernel_ir::{Diagnostic, Name, Part};
use loopwright_poly::Table;

use super::{
    super::Operators,
    Holder, Reduction, Text, WrongJoin, is_sequential,
    known::{Cell, Known, Sub, Values},
    parts::{Content, Parts},
    run::{Claimed, Points, Run, Stop},
    written,
};
use crate::{DeviceKernel, Leaf, Memory, Program, Stmt, Value, ValueKind, VarId};

/// The first join of lanes of a device kernel that is missing or wrong.
pub(super) fn wrong_lanes(
    program: &Program,
    kernel: &DeviceKernel,
    text: &Text<'_>,
    operators: &Operators<'_>,
) -> Option<WrongJoin> {
    for ((instruction, n), reduction) in &text.reductions {
        let joined: BTreeSet<Name> = reduction.lanes.difference(&reduction.init_lanes).cloned().collect();
        let in_arrays = reduction.state.values().all(|h| matches!(h, Holder::Array(_)));
        if joined.is_empty() || !in_arrays || reduction.state.is_empty() {
            continue;
        }
        // Scans join their lanes in the order of their points.
        if text.is_scan(reduction, &[]) {
            continue;
        }
        let message = format!("`{}`: the partial results of `{instruction}` in lanes", kernel.name);
        let mut lanes = Lanes {
            program,
            kernel,
            of: (instruction, *n),
            reduction,
            joined,
            elements: Table::default(),
            sets: BTreeMap::new(),
            counters: Table::default(),
            loops: Vec::new(),
            choices: Vec::new(),
            joined_under: Table::default(),
            run: None,
            rounds: 0,
            concerned: Table::default(),
        };
        let name = operators.of(instruction, *n);
        let operator = name.as_ref().and_then(|name| operators.named(name));
        let found = lanes.collect(&kernel.body).and_then(|()| {
            let claimed = Claimed {
                state: reduction.state.clone(),
                first: reduction.first.clone(),
                operator: operator.as_ref(),
                types: &operators.types,
            };
            let points = Points::Given(lanes.elements.len());
            lanes.run = Some(Run::new(kernel, program.target.warp_size, &[], claimed, points));
            lanes.follow(&kernel.body)
        });
        match found {
            Ok(()) => {}
            Err(Wrong::Known(why)) => {
                let message = format!("{message} {why}");
                return Some(WrongJoin::Wrong(Box::new(Diagnostic::new("missing-join", message))));
            }
            Err(Wrong::Stopped(stop)) => {
                let found = Diagnostic::new("wrong-join", format!("{message} may be joined in a wrong way"));
                let name = name.as_ref().map_or("the operator", |n| n.as_str());
                return Some(stop.wrong(found, name));
            }
        }
    }
    None
}

/// Iterations of unrolled loops that are followed. A text with more is not accepted: no compiler
/// would unroll it.
const MOST_ROUNDS: u64 = 1 << 18;

/// Why lanes are not followed to the end.
enum Wrong {
    Known(String),
    Stopped(Stop),
}

impl From<Stop> for Wrong {
    fn from(stop: Stop) -> Self {
        Wrong::Stopped(stop)
    }
}

/// The values of lanes, by their names.
type At = BTreeMap<Name, i64>;

/// Sides of choices, outermost first.
type Choices = Vec<(*const Stmt, bool)>;

/// What holds partial results.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Place {
    Name(VarId),
    Element(usize, Vec<i64>),
}

/// The walk through the text for one reduction.
struct Lanes<'p, 'r> {
    program: &'p Program,
    kernel: &'p DeviceKernel,
    of: (&'r Name, usize),
    reduction: &'r Reduction<'p>,
    /// The lanes that are joined.
    joined: BTreeSet<Name>,
    /// The elements that updates go into, of each array of the state: their numbers, and the values
    /// of the lanes that are not joined.
    elements: Table<Vec<i64>, (usize, At)>,
    /// Elements that are joined into one: by the values of the lanes that are not.
    sets: BTreeMap<At, BTreeSet<usize>>,
    /// The values of what loops that are unrolled count.
    counters: Table<VarId, i64>,
    /// Other loops around, and choices.
    loops: Vec<VarId>,
    choices: Choices,
    /// The choices around the joins that have made what a place holds.
    joined_under: Table<Place, Vec<Choices>>,
    run: Option<Run<'p>>,
    /// Iterations of unrolled loops so far.
    rounds: u64,
    /// Whether something about the reduction stands in a statement.
    concerned: Table<*const Stmt, bool>,
}

impl<'p> Lanes<'p, '_> {
    /// What the leaf of a statement is for this reduction.
    fn part(&self, stmt: &Stmt) -> Option<(&'p Leaf, bool)> {
        let program: &'p Program = self.program;
        let leaf = program.leaves.get(stmt.leaf()?.0)?;
        let own = leaf.part.instruction == *self.of.0
            && matches!(leaf.part.part, Part::Init(n) | Part::Update(n) if n == self.of.1);
        Some((leaf, own))
    }

    fn is_state(&self, holder: Holder) -> bool {
        self.reduction.state.values().any(|h| *h == holder)
    }

    /// Whether something about the reduction stands in a statement: its parts, or its state.
    fn concerns(&mut self, stmt: &'p Stmt) -> bool {
        if let Some(known) = self.concerned.get(&std::ptr::from_ref(stmt)) {
            return *known;
        }
        let mut found = false;
        Stmt::visit(std::slice::from_ref(stmt), &mut |s| {
            found |= self.part(s).is_some_and(|(_, own)| own);
            found |= written(s).is_some_and(|h| self.is_state(h));
            s.visit_values(&mut |v| found |= self.element_of(v).is_some());
            found |= self.copies(s);
        });
        self.concerned.insert(std::ptr::from_ref(stmt), found);
        found
    }

    /// The array and the subscripts of an element of the state.
    fn element_of<'v>(&self, value: &'v Value) -> Option<(usize, &'v [Value])> {
        match &value.kind {
            ValueKind::Load(element) => match element.memory {
                Memory::Private(array) if self.is_state(Holder::Array(array)) => {
                    Some((array, &element.subscripts))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a statement copies elements of the state as they are, or over them.
    fn copies(&self, stmt: &Stmt) -> bool {
        let is_state = |memory: Memory| match memory {
            Memory::Private(array) => self.is_state(Holder::Array(array)),
            Memory::Global(_) | Memory::Shared(_) => false,
        };
        stmt.source().is_some_and(|from| is_state(from.element.memory))
            || stmt.value().is_none() && stmt.written().is_some_and(|to| is_state(to.element.memory))
    }

    /// What a statement reads of partial results.
    fn sources(&self, stmt: &Stmt) -> Result<Vec<Place>, Wrong> {
        let (mut elements, mut vars) = (Vec::new(), Vec::new());
        stmt.visit_values(&mut |v| {
            elements.extend(self.element_of(v));
            if let ValueKind::Var(var) = v.kind {
                vars.push(var);
            }
        });
        let mut found = Vec::new();
        for (array, subscripts) in elements {
            found.push(Place::Element(array, self.subscripts(subscripts)?));
        }
        found.extend(vars.into_iter().filter(|var| self.is_partial(*var)).map(Place::Name));
        Ok(found)
    }

    /// Whether a name has a partial result, or what is computed from some.
    fn is_partial(&self, var: VarId) -> bool {
        let partial = |value: &Known| matches!(value, Known::Parts(_) | Known::Term(_));
        let known = self.run.iter().flat_map(|run| &run.cells);
        known
            .filter(|(cell, _)| *cell == Cell::Var(var))
            .any(|(_, values)| values.distinct().iter().any(partial))
    }

    /// Calls `f` on the statements, those of loops that are unrolled with each value of their
    /// counters.
    fn walk(
        &mut self,
        body: &'p [Stmt],
        f: &mut dyn FnMut(&mut Self, &'p Stmt) -> Result<(), Wrong>,
    ) -> Result<(), Wrong> {
        for stmt in body {
            match stmt {
                Stmt::For { .. } | Stmt::If { .. } if !self.concerns(stmt) => {}
                Stmt::For { var, lower, upper, unroll: true, body, step: crate::Step::Add(step), .. } => {
                    let (Some(lower), Some(upper)) = (lower.as_int(), upper.as_int()) else {
                        return Err(Stop::NotFollowed.into());
                    };
                    let mut at = lower;
                    while at < upper {
                        self.rounds += 1;
                        if self.rounds > MOST_ROUNDS {
                            return Err(Stop::NotFollowed.into());
                        }
                        self.counters.insert(*var, at);
                        if let Some(run) = &mut self.run {
                            *run.values(&Cell::Var(*var)) = Values::same(Known::Int(at));
                        }
                        let sequential = is_sequential(self.program, self.kernel, *var);
                        self.loops.extend(sequential.then_some(*var));
                        self.walk(body, f)?;
                        if sequential {
                            self.loops.pop();
                        }
                        at = at.saturating_add((*step).max(1));
                    }
                    self.counters.remove(var);
                }
                Stmt::For { var, body, .. } => {
                    f(self, stmt)?;
                    self.loops.push(*var);
                    self.walk(body, f)?;
                    self.loops.pop();
                }
                Stmt::If { body, otherwise, .. } => {
                    f(self, stmt)?;
                    for (side, body) in [(true, body), (false, otherwise)] {
                        self.choices.push((std::ptr::from_ref(stmt), side));
                        self.walk(body, f)?;
                        self.choices.pop();
                    }
                }
                // What the atom does for each thread.
                Stmt::Atom { contract, .. } => self.walk(contract, f)?,
                _ => f(self, stmt)?,
            }
        }
        Ok(())
    }

    fn subscripts(&self, subscripts: &[Value]) -> Result<Vec<i64>, Wrong> {
        subscripts.iter().map(|s| self.int(s).ok_or(Wrong::Stopped(Stop::NotFollowed))).collect()
    }

    fn int(&self, value: &Value) -> Option<i64> {
        match &value.kind {
            ValueKind::Int(v) => Some(*v),
            ValueKind::Var(var) => self.counters.get(var).copied(),
            ValueKind::Cast(a) => self.int(a),
            ValueKind::Binary(crate::BinOp::Add, a, b) => self.int(a)?.checked_add(self.int(b)?),
            ValueKind::Binary(crate::BinOp::Sub, a, b) => self.int(a)?.checked_sub(self.int(b)?),
            ValueKind::Binary(crate::BinOp::Mul, a, b) => self.int(a)?.checked_mul(self.int(b)?),
            _ => None,
        }
    }

    /// The values that lanes have here.
    fn lanes(&self, leaf: &Leaf, lanes: &mut dyn Iterator<Item = &Name>) -> Result<At, Wrong> {
        let mut at = At::new();
        for lane in lanes {
            let only = leaf.only.iter().find(|(name, _)| name == lane);
            let value = match only {
                Some((_, value)) => value.as_constant(),
                None => self.counters.iter().find_map(|(var, value)| {
                    let meaning = self.kernel.vars.get(var.0)?.meaning.as_ref()?;
                    let rest = meaning.sub(&loopwright_kernel_ir::Aff::var(lane)).ok()?;
                    value.checked_sub(rest.as_constant()?)
                }),
            };
            at.insert(lane.clone(), value.ok_or(Wrong::Stopped(Stop::NotFollowed))?);
        }
        Ok(at)
    }

    /// Learns into which elements updates go.
    fn collect(&mut self, body: &'p [Stmt]) -> Result<(), Wrong> {
        self.walk(body, &mut |this, stmt| {
            let Some((leaf, true)) = this.part(stmt) else { return Ok(()) };
            let (Part::Update(_), Stmt::Store { to, .. }) = (leaf.part.part, stmt) else { return Ok(()) };
            if !written(stmt).is_some_and(|h| this.is_state(h)) {
                return Ok(());
            }
            let at = this.subscripts(&to.subscripts)?;
            let lanes = this.reduction.lanes.clone();
            let kept = this.lanes(leaf, &mut lanes.iter().filter(|l| !this.joined.contains(*l)))?;
            let number = this.elements.len();
            let (number, known) = this.elements.entry(at).or_insert((number, kept.clone()));
            if *known != kept {
                return Err(Wrong::Known("go into one accumulator for different results".into()));
            }
            this.sets.entry(kept).or_default().insert(*number);
            Ok(())
        })
    }

    fn follow(&mut self, body: &'p [Stmt]) -> Result<(), Wrong> {
        self.walk(body, &mut |this, stmt| this.statement(stmt))
    }

    fn statement(&mut self, stmt: &'p Stmt) -> Result<(), Wrong> {
        if self.copies(stmt) {
            return Err(Stop::NotFollowed.into());
        }
        let holder = written(stmt).filter(|h| self.is_state(*h));
        let given = stmt.gives(&self.program.leaves).is_some();
        match (self.part(stmt), holder) {
            (Some((leaf, true)), Some(Holder::Array(array))) if given => {
                let Stmt::Store { to, .. } = stmt else { return Ok(()) };
                let at = self.subscripts(&to.subscripts)?;
                let own = match leaf.part.part {
                    Part::Init(_) => {
                        self.joined_under.remove(&Place::Element(array, at.clone()));
                        None
                    }
                    _ => self.elements.get(&at).map(|(number, _)| *number),
                };
                self.give(array, &at, own);
                Ok(())
            }
            // Whatever writes an accumulator and gives no value is part of a join, or wrong.
            (_, Some(_)) if !given => self.join(stmt, holder),
            (Some((_, true)), _) => Ok(()),
            (Some((leaf, false)), _) => self.is_read(stmt, leaf),
            (None, _) => match stmt {
                Stmt::Collective { body, .. } => {
                    let mut given = Vec::new();
                    Stmt::visit(body, &mut |s| {
                        if let (Some(Holder::Array(array)), Stmt::Store { to, .. }) = (written(s), s)
                            && self.is_state(Holder::Array(array))
                        {
                            given.push(&to.subscripts);
                        }
                    });
                    for subscripts in given {
                        let at = self.subscripts(subscripts)?;
                        self.is_whole(&at)?;
                    }
                    Ok(())
                }
                // A condition on a partial result belongs to no part, so that its owner is unknown.
                Stmt::For { .. } | Stmt::If { .. } => match self.sources(stmt)?.is_empty() {
                    true => Ok(()),
                    false => Err(Stop::NotFollowed.into()),
                },
                _ => self.join(stmt, holder),
            },
        }
    }

    /// A statement of another part, which may read results.
    fn is_read(&mut self, stmt: &Stmt, leaf: &Leaf) -> Result<(), Wrong> {
        for place in self.sources(stmt)? {
            // A partial result may be read by a name of its own.
            let Place::Element(_, at) = place else { return Err(Stop::NotFollowed.into()) };
            self.is_whole(&at)?;
            let (_, kept) = &self.elements[&at];
            let lanes = leaf.instances.iter().flat_map(|i| &i.lanes);
            let own = self.lanes(leaf, &mut lanes.filter(|l| kept.contains_key(*l)))?;
            if own.iter().any(|(lane, value)| kept.get(lane) != Some(value)) {
                return Err(Wrong::Known("are read by another lane than their own".into()));
            }
        }
        Ok(())
    }

    /// A statement of no part, which may be one of a join.
    fn join(&mut self, stmt: &Stmt, holder: Option<Holder>) -> Result<(), Wrong> {
        let sources = self.sources(stmt)?;
        let Some(run) = &mut self.run else { return Ok(()) };
        let followed = match run.body(std::slice::from_ref(stmt), &[true]) {
            Ok(()) => true,
            Err(stop) if holder.is_some() => return Err(stop.into()),
            // It has nothing to do with the reduction.
            Err(_) => {
                if let Some(Holder::Var(var)) = written(stmt) {
                    *run.values(&Cell::Var(var)) = Values::same(Known::Nothing);
                }
                false
            }
        };
        let place = match (holder, stmt) {
            (Some(Holder::Array(array)), Stmt::Store { to, .. }) => {
                if self.loops != self.reduction.loops {
                    return Err(Wrong::Known("are not joined once for each first value".into()));
                }
                Place::Element(array, self.subscripts(&to.subscripts)?)
            }
            _ if sources.is_empty() => return Ok(()),
            // A name that has one value has it wherever it is known.
            (None, Stmt::Let { var, .. }) if followed && self.is_given_once(*var) => Place::Name(*var),
            _ => return Err(Stop::NotFollowed.into()),
        };
        let mut under = vec![self.choices.clone()];
        for choices in sources.iter().filter_map(|source| self.joined_under.get(source)).flatten() {
            if !under.contains(choices) {
                under.push(choices.clone());
            }
        }
        self.joined_under.insert(place, under);
        Ok(())
    }

    /// Whether one statement of the text alone assigns a variable.
    fn is_given_once(&self, var: VarId) -> bool {
        let mut times = 0;
        Stmt::visit(&self.kernel.body, &mut |stmt| {
            times += stmt.assigned().filter(|other| *other == var).count();
        });
        times == 1
    }

    /// An element begins with nothing, or has its own partial result besides what it has.
    fn give(&mut self, array: usize, at: &[i64], own: Option<usize>) {
        let size = self.elements.len();
        let Some(run) = &mut self.run else { return };
        let cell = Cell::Element(array, at.iter().map(|v| Sub::At(*v)).collect());
        let Some(number) = run.number_of(&cell) else { return };
        let values = run.values(&cell);
        let content = match (own, values.at(0)) {
            (None, _) => Content::no_set(size),
            (Some(own), Known::Parts(parts)) if !parts.content.has(own) => {
                parts.content.with(&Content::single(size, own), true)
            }
            (Some(_), Known::Parts(parts)) => parts.content.clone(),
            (Some(own), _) => Content::single(size, own),
        };
        *values = Values::same(Known::Parts(Rc::new(Parts { number: Some(number), content })));
    }

    /// Whether an element has the partial results of all lanes that are joined, wherever they come
    /// from.
    fn is_whole(&mut self, at: &[i64]) -> Result<(), Wrong> {
        let Some((_, kept)) = self.elements.get(at) else {
            return Err(Wrong::Known("are not where they are read".into()));
        };
        let all = &self.sets[kept];
        let Some(run) = &mut self.run else { return Ok(()) };
        for (number, holder) in &self.reduction.state {
            let Holder::Array(array) = holder else { continue };
            let cell = Cell::Element(*array, at.iter().map(|v| Sub::At(*v)).collect());
            let Known::Parts(parts) = run.values(&cell).at(0) else {
                return Err(Wrong::Known("are not where they are read".into()));
            };
            if parts.number.is_some_and(|own| own != *number) {
                return Err(Wrong::Known("have one value of the state for another".into()));
            }
            if matches!(parts.content, Content::Set { twice: Some(_), .. }) {
                return Err(Wrong::Known("are joined more than once".into()));
            }
            for other in 0..self.elements.len() {
                match (parts.content.has(other), all.contains(&other)) {
                    (false, true) => return Err(Wrong::Known("are read before all are joined".into())),
                    (true, false) => return Err(Wrong::Known("are joined with those of others".into())),
                    _ => {}
                }
            }
            let under = self.joined_under.get(&Place::Element(*array, at.to_vec()));
            if under.into_iter().flatten().any(|around| !self.choices.starts_with(around)) {
                return Err(Wrong::Known("are joined where some may not come to".into()));
            }
        }
        Ok(())
    }
}
