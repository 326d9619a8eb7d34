//! Whether each execution comes once, and dependent executions in the order of the kernel.
//!
//! The loop tree of the kernel gives each execution of a part a time ([`Model`]), and so does the
//! text of the program: launches and host loops, then statements and loops of the kernel, whose
//! counters are functions of inames. Two executions *depend on* each other if they access one cell,
//! one of them writes it, and they do not both update an accumulator whose updates commute. Asked
//! is:
//!
//! 1. No two statements give one value of a part for one execution. (That a single statement does
//!    not is checked for its loops, in `instances`.)
//! 2. There are no dependent executions `x` and `y` such that `x` comes first in the kernel, and
//!    `y` in the text. That holds without a query where the loops around both statements count the
//!    same inames as the loops around both parts, in the same order, and the statements stand as
//!    the parts do.
//! 3. No read sees what another launch has left in shared or private memory (`kept`).
//!
//! The order of the text is that in which one thread runs, and that of phases where barriers or
//! launches separate different threads; `order` shows that these do. An execution reads where its
//! statement stands: a value that was loaded before counts only if nothing has written its array
//! since (`values`).
//!
//! An accumulator is one cell for each thread and lane of its first value: the place that holds it
//! is used again in each iteration of the loops around, whose executions depend on each other.

mod kept;
mod pair;

use std::{cmp::Ordering, collections::BTreeMap};

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, LoopKernel, Name, Part, PartRef};
use loopwright_legality::{
    Event, Load, Model, ModelPart, Touch, facts_exclude, flat_nests, is_coordinate, primed,
};
use loopwright_poly::{Result, System, Table};

use super::{
    Finding,
    cases::case_with,
    reading::{Reading, Turn},
    vouched::{loaded_for, meets_anyway},
};
use crate::{LeafId, Program, Step};
use kept::Accessing;
use pair::{Pair, Way, loops_around};

/// A statement that gives a value of a part.
struct Placed {
    leaf: LeafId,
    number: u8,
    by_data: bool,
    /// From the beginning of the program; loops by their numbers in [`Sequence::loops`].
    path: Vec<Turn>,
    launch: usize,
    /// The loops of the host around the launch.
    host: Vec<usize>,
    /// What holds there, over coordinates, inames, parameters and data.
    rows: Vec<Constraint>,
    either: Vec<Vec<Constraint>>,
    loads: Vec<Load>,
    exact: bool,
    /// Whether all that restricts it is in `rows` and `either`.
    whole: bool,
    /// The values of inames that no loop counts.
    only: Vec<(Name, Aff)>,
}

/// A loop of the host or of a kernel.
struct Counted {
    /// A function of the names of an execution that increases from one iteration to the next.
    time: Option<Aff>,
    /// The iname that increases with it, if the others in `time` have one value for what is
    /// compared.
    iname: Option<Name>,
}

/// The statements of a program, in their order.
pub(super) struct Sequence<'p> {
    program: &'p Program,
    statements: Vec<Placed>,
    loops: Vec<Counted>,
    path: Vec<Turn>,
    launches: usize,
    pub queries: usize,
}

impl<'p> Sequence<'p> {
    pub fn new(program: &'p Program) -> Self {
        Sequence {
            program,
            statements: Vec::new(),
            loops: Vec::new(),
            path: Vec::new(),
            launches: 0,
            queries: 0,
        }
    }

    /// Goes to a statement of the host, up to [`Sequence::leave`].
    pub fn enter(&mut self, number: usize) {
        self.path.push(Turn::Nth(number));
    }

    /// Goes into a loop of the host, up to [`Sequence::leave`].
    pub fn enter_loop(&mut self, var: &Name) {
        self.path.push(Turn::Loop(self.loops.len()));
        self.loops.push(Counted { time: Some(Aff::var(var)), iname: Some(var.clone()) });
    }

    pub fn leave(&mut self) {
        self.path.pop();
    }

    /// Adds the statements of a launch.
    pub fn launch(&mut self, reading: &Reading<'_>) -> Result<()> {
        let first = self.loops.len();
        for of in &reading.loops {
            let mut counted = Counted { time: None, iname: None };
            if let (Some(counter), Step::Add(_) | Step::Double) = (&of.counter, of.step) {
                // Threads that wait for each other begin a loop with one value (`uniform`).
                let is_own = !of.joins_lanes || !counter.mentions_any(&|n| is_coordinate(n));
                if let [iname] = of.inames.as_slice()
                    && counter.coefficient(iname) > 0
                    && is_own
                {
                    counted.iname = Some(iname.clone());
                }
                counted.time = Some(counter.clone());
            }
            self.loops.push(counted);
        }
        let of_host = |turn: &Turn| match turn {
            Turn::Loop(number) => Some(*number),
            Turn::Nth(_) | Turn::Side(_) => None,
        };
        let host: Vec<usize> = self.path.iter().filter_map(of_host).collect();
        for done in &reading.done {
            let Some(number) = done.gives.value() else { continue };
            let leaf = &self.program.leaves[done.leaf.0];
            let scope = reading.scope(done.scope);
            let is_so = |name: &Name, value: &Aff| {
                Constraint::equal(&Aff::var(name), value).is_ok_and(|c| scope.rows.contains(&c))
            };
            let mut path = self.path.clone();
            path.extend(done.path.iter().map(|turn| match turn {
                Turn::Loop(number) => Turn::Loop(first + number),
                other => *other,
            }));
            let mut rows = Vec::new();
            if !leaf.decided_by_data {
                let is_named =
                    |c: &&Constraint| c.names().iter().any(|n| scope.rows.iter().any(|r| r.aff.mentions(n)));
                rows = scope.rows.clone();
                rows.extend(reading.facts().filter(is_named).cloned());
            }
            self.statements.push(Placed {
                leaf: done.leaf,
                number,
                by_data: leaf.decided_by_data,
                path,
                launch: self.launches,
                host: host.clone(),
                rows,
                either: scope.either.clone(),
                loads: scope.loads.clone(),
                exact: scope.exact && !leaf.decided_by_data,
                whole: scope.is_whole() && !leaf.decided_by_data,
                only: leaf.only.iter().filter(|(n, value)| is_so(n, value)).cloned().collect(),
            });
        }
        self.launches += 1;
        Ok(())
    }

    fn part(&self, of: &Placed) -> &'p PartRef {
        &self.program.leaves[of.leaf.0].part
    }

    /// The loops around both statements, and how these stand to each other; `None` if on different
    /// sides of a choice.
    fn common(x: &Placed, y: &Placed) -> (Vec<usize>, Option<Ordering>) {
        let mut loops = Vec::new();
        for turns in x.path.iter().zip(&y.path) {
            match turns {
                (Turn::Nth(a), Turn::Nth(b)) if a != b => return (loops, Some(a.cmp(b))),
                (Turn::Side(a), Turn::Side(b)) if a != b => return (loops, None),
                (Turn::Loop(number), _) => loops.push(*number),
                _ => {}
            }
        }
        (loops, Some(Ordering::Equal))
    }

    /// The first two statements that may give one value for one execution.
    pub fn repeated(&mut self, context: &[Constraint]) -> Result<Option<Finding>> {
        let program = self.program;
        let mut of_value: Table<(&PartRef, u8), Vec<&Placed>> = Table::default();
        for placed in self.statements.iter().filter(|s| !s.by_data) {
            let given = of_value.entry((self.part(placed), placed.number)).or_default();
            for other in given.iter() {
                let (_, position) = Self::common(other, placed);
                // A first value may be given again: before any update, as it is dependent on these.
                let is_first = matches!(self.part(placed).part, Part::Init(_));
                if is_first && other.launch == placed.launch || position.is_none() {
                    continue;
                }
                // Values that the text names are others in another launch.
                let apart = placed.launch != other.launch;
                let is_named = |n: &Name| apart && !is_coordinate(n) && n.contains(['#', '[', ' ']);
                let renamed = |c: &Constraint| c.rename(&|n| is_named(n).then(|| primed(n)));
                let mut rows = [context, &other.rows].concat();
                for c in &placed.rows {
                    rows.push(renamed(c)?);
                }
                let mut either = other.either.clone();
                for list in &placed.either {
                    either.push(list.iter().map(renamed).collect::<Result<_>>()?);
                }
                let system = System::new(&rows)?;
                if let Some(case) = case_with(&system, &either, &mut self.queries)? {
                    let part = self.part(placed);
                    let message = format!("{part} may run more than once for one of its instances");
                    let found = Diagnostic::new("repeated-instance", message);
                    let exact = placed.exact && other.exact;
                    return Ok(Some(finding(found, &case, exact, |point| {
                        let (at, rest) = (place(program, point, ""), parameters(program, point));
                        format!("two statements run it{at}{rest}")
                    })?));
                }
            }
            given.push(placed);
        }
        Ok(None)
    }

    /// The first two dependent executions in another order than the kernel's.
    pub fn turned(
        &mut self,
        kernel: &LoopKernel,
        context: &[Constraint],
    ) -> std::result::Result<Option<Finding>, Diagnostic> {
        let model = Model::new(kernel)?;
        let mut of_part: Vec<Vec<usize>> = vec![Vec::new(); model.parts.len()];
        for (number, placed) in self.statements.iter().enumerate() {
            if let Some(part) = model.numbers.get(self.part(placed)) {
                of_part[*part].push(number);
            }
        }
        // Within a nest over segments the data decide.
        let nests: Vec<Vec<PartRef>> = flat_nests(kernel).map(|nest| nest.parts).collect();
        let nest = |part: &PartRef| nests.iter().position(|parts| parts.contains(part));
        for (array, touches) in &model.touches {
            if touches.iter().all(|(p, k)| model.parts[*p].events[*k].touch == Touch::Read) {
                continue;
            }
            let both = Both { model: &model, context, array, nest: &nest };
            let mut accesses = Vec::new();
            for (part, k) in touches {
                let event = &model.parts[*part].events[*k];
                let statements = of_part[*part].iter();
                accesses.extend(statements.map(|s| Accessing { part: *part, event, statement: *s }));
            }
            if let Some(found) = self.not_kept(&both, &accesses)? {
                return Ok(Some(found));
            }
            let mut parts: Vec<(usize, Vec<&Event>)> = Vec::new();
            for (p, k) in touches.iter().filter(|(p, _)| !of_part[*p].is_empty()) {
                let event = &model.parts[*p].events[*k];
                match parts.last_mut() {
                    Some((last, events)) if last == p => events.push(event),
                    _ => parts.push((*p, vec![event])),
                }
            }
            for (k, (p, events)) in parts.iter().enumerate() {
                for (q, others) in &parts[k..] {
                    if !events.iter().any(|e| others.iter().any(|f| depend(e, f))) {
                        continue;
                    }
                    for x in &of_part[*p] {
                        for y in &of_part[*q] {
                            let found = self.statements_of(&both, (*p, events, *x), (*q, others, *y))?;
                            if found.is_some() {
                                return Ok(found);
                            }
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    /// The first two dependent executions of two statements in another order than the kernel's.
    fn statements_of(
        &mut self,
        both: &Both<'_, '_>,
        (p, events, x): (usize, &[&Event], usize),
        (q, others, y): (usize, &[&Event], usize),
    ) -> Result<Option<Finding>> {
        let (a, b) = (&self.statements[x], &self.statements[y]);
        if a.by_data && b.by_data && (both.nest)(self.part(a)) == (both.nest)(self.part(b)) {
            return Ok(None);
        }
        let parts = (&both.model.parts[p], &both.model.parts[q]);
        let aligned = self.is_aligned(both.model, parts, (a, b));
        // What lanes do at one time is checked for the part itself.
        if aligned && (p != q || parts.0.lanes.is_empty()) {
            return Ok(None);
        }
        let (program, model, context, array) = (self.program, both.model, both.context, both.array);
        for e in events {
            for f in others.iter().filter(|f| depend(e, f)) {
                let there = Pair { program, model, context, array, parts, events: (*e, *f), x, y };
                let back = Pair { parts: (parts.1, parts.0), events: (*f, *e), x: y, y: x, ..there };
                for pair in [there, back].iter().take(if x == y && std::ptr::eq(*e, *f) { 1 } else { 2 }) {
                    let found = self.pair(pair, aligned)?;
                    if found.is_some() {
                        return Ok(found);
                    }
                }
            }
        }
        Ok(None)
    }

    /// Whether the text orders all executions of two statements as the kernel does, by its loops.
    fn is_aligned(
        &self,
        model: &Model<'_>,
        (p, q): (&ModelPart, &ModelPart),
        (x, y): (&Placed, &Placed),
    ) -> bool {
        let (inames, in_kernel) = loops_around(p, q);
        let (mut loops, in_text) = Self::common(x, y);
        let is_single = |time: &Option<Aff>| time.as_ref().is_some_and(|t| t.as_constant().is_some());
        loops.retain(|number| !is_single(&self.loops[*number].time));
        let mut earlier: Vec<&Name> = Vec::new();
        let mut counted: Vec<&Name> = Vec::new();
        for iname in &inames {
            let value = x.only.iter().find(|(n, _)| n == iname).filter(|own| y.only.contains(own));
            let is_fixed = value.is_some_and(|(_, value)| {
                !value.mentions_any(&|n| !model.is_parameter(n) && !earlier.contains(&n))
            });
            if !is_fixed {
                counted.push(iname);
            }
            earlier.push(iname);
        }
        let same = counted.len() == loops.len()
            && loops.iter().zip(&counted).all(|(l, iname)| self.loops[*l].iname.as_ref() == Some(iname));
        same && match in_kernel {
            Ordering::Equal => true,
            position => in_text.is_none_or(|other| other == position),
        }
    }

    /// The cases in which the second of two statements runs before the first one.
    fn turned_in_text(&self, pair: &Pair<'_, '_>) -> Result<Vec<Way>> {
        let (loops, position) = Self::common(&self.statements[pair.x], &self.statements[pair.y]);
        let (mut ways, mut equal) = (Vec::new(), Way::default());
        for number in loops {
            let Counted { time, iname } = &self.loops[number];
            let mut less = equal.clone();
            if let Some(time) = time {
                let other = pair.second(time)?;
                less.rows.push(Constraint::lt(&other, time)?);
                equal.rows.push(Constraint::equal(&other, time)?);
                // The other names in it are those of loops around, or of the thread.
                if let (Some(iname), true) = (iname, time.as_var() == iname.as_ref()) {
                    less.relations.push((iname.clone(), Ordering::Greater));
                    equal.relations.push((iname.clone(), Ordering::Equal));
                }
            }
            ways.push(less);
        }
        if position == Some(Ordering::Greater) {
            ways.push(equal);
        }
        Ok(ways)
    }

    fn pair(&mut self, pair: &Pair<'_, '_>, aligned: bool) -> Result<Option<Finding>> {
        let in_kernel = pair.before_in_kernel(aligned)?;
        if in_kernel.is_empty() {
            return Ok(None);
        }
        let in_text = self.turned_in_text(pair)?;
        let cell = pair.one_cell()?;
        let mut ways = in_kernel.iter().flat_map(|a| in_text.iter().map(move |b| a.and(b)));
        let Some(first) = ways.find(|way| way.and(&cell).is_possible()) else { return Ok(None) };
        let (x, y) = (&self.statements[pair.x], &self.statements[pair.y]);
        let mut rows = [pair.context, &x.rows, &cell.rows].concat();
        for c in &y.rows {
            rows.push(pair.second_of(c)?);
        }
        let mut either = x.either.clone();
        for list in &y.either {
            either.push(list.iter().map(|c| pair.second_of(c)).collect::<Result<_>>()?);
        }
        let own = pair.loads(pair.parts.0, &x.loads)?;
        let mut loads = own.clone();
        for load in pair.loads(pair.parts.1, &y.loads)? {
            let arguments = load.arguments.iter().map(|aff| pair.second(aff)).collect::<Result<_>>()?;
            loads.push(Load { name: primed(&load.name), array: load.array, arguments });
        }
        let both = System::new(&rows)?;
        let program = self.program;
        for way in std::iter::once(first).chain(ways) {
            if !way.and(&cell).is_possible() {
                continue;
            }
            let Some(case) = case_with(&both.with(&way.rows)?, &either, &mut self.queries)? else { continue };
            if !loads.is_empty() && facts_exclude(&case, &loads, &self.program.facts)? {
                continue;
            }
            if way.of_lanes && pair.is_vouched() && self.is_by_data(pair, &case, loads.split_at(own.len()))? {
                continue;
            }
            let exact = x.exact && y.exact && pair.is_exact();
            let (first, second) = (self.part(x), self.part(y));
            let cell = match pair.is_accumulator() {
                true => format!("the accumulator of {}", pair.parts.0.part.instruction),
                false => format!("one element of `{}`", pair.array),
            };
            let message = format!(
                "{second} may run before {first}, which comes first in the kernel, and both access {cell}"
            );
            let found = Diagnostic::new("wrong-order", message);
            return Ok(Some(finding(found, &case, exact, |point| {
                let (at, other) = (place(program, point, ""), place(program, point, "'"));
                format!("{first}{at} runs after {second}{other}{}", parameters(program, point))
            })?));
        }
        Ok(None)
    }

    /// Whether what is loaded for the two cells decides that they are one, and may keep them apart.
    fn is_by_data(
        &self,
        pair: &Pair<'_, '_>,
        case: &System,
        (own, others): (&[Load], &[Load]),
    ) -> Result<bool> {
        if !pair.has_known_cells() {
            return Ok(false);
        }
        let (first, second) = pair.events;
        let (own, others) = (loaded_for(&first.cell, own, false), loaded_for(&second.cell, others, true));
        Ok(!own.is_empty() && !others.is_empty() && !meets_anyway(case, (&own, &others))?)
    }
}

/// What two statements have in common that access one array.
struct Both<'a, 'k> {
    model: &'a Model<'k>,
    context: &'a [Constraint],
    array: &'a Name,
    /// The number of the flattened nest that a part is in.
    nest: &'a dyn Fn(&PartRef) -> Option<usize>,
}

/// Whether the order of two accesses to one cell matters.
fn depend(a: &Event, b: &Event) -> bool {
    !a.touch.commutes_with(&b.touch)
}

fn finding(
    found: Diagnostic,
    case: &System,
    exact: bool,
    witness: impl FnOnce(&BTreeMap<Name, i64>) -> String,
) -> Result<Finding> {
    let point = if exact { case.sample(&BTreeMap::new())? } else { None };
    Ok(match point {
        Some(point) => Finding::Refuted(Box::new(found.witness(witness(&point)))),
        None => Finding::Unknown(Box::new(found)),
    })
}

/// Where an execution runs: the values of its names, but for parameters and coordinates that are 0.
fn place(program: &Program, point: &BTreeMap<Name, i64>, prime: &str) -> String {
    let is_parameter = |name: &str| program.scalars().any(|s| *s.name == *name);
    let mut found = Vec::new();
    for (name, value) in point {
        let own = match (prime, name.strip_suffix('\'')) {
            ("", None) => name,
            ("'", Some(own)) => own,
            _ => continue,
        };
        if !(is_parameter(own) || is_coordinate(own) && *value == 0) {
            found.push(format!("{own}={value}"));
        }
    }
    if found.is_empty() { String::new() } else { format!(" at {}", found.join(", ")) }
}

/// The parameters of a point.
fn parameters(program: &Program, point: &BTreeMap<Name, i64>) -> String {
    let known = program.scalars().filter_map(|s| Some(format!("{}={}", s.name, point.get(&s.name)?)));
    let known: Vec<String> = known.collect();
    if known.is_empty() { String::new() } else { format!("; {}", known.join(", ")) }
}
