//! What one part of an instruction reads and writes, in text order.
//!
//! Accumulators of reductions are cells too, one for each instance of the reduction's `init`:
//! `init` writes it, each `update` changes it, and the part that uses the result reads it. Updates
//! of one accumulator commute if its operator does. So do updates of an array's element by
//! instructions ([`Touch::Combine`]), if they have the same operator.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{
    Access, Aff, Constraint, Expr, Instruction, KernelData, Lookup, Name, Part, PartRef, Reduce, Standing,
    UpdateOp,
};

use crate::{DataReads, Load};

/// The kind of access that an event makes to its cell.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Touch {
    /// It reads the cell.
    Read,
    /// It writes the cell.
    Write,
    /// It adds a point to an accumulator. Such events commute.
    Update,
    /// It combines an element of an array with a value. Those of one operator commute.
    Combine(UpdateOp),
}

impl Touch {
    /// Whether the order of two such accesses to one cell does not matter: two reads, or two
    /// updates by one operator.
    pub fn commutes_with(&self, other: &Touch) -> bool {
        match (self, other) {
            (Touch::Read, Touch::Read) | (Touch::Update, Touch::Update) => true,
            (Touch::Combine(a), Touch::Combine(b)) => a == b,
            (Touch::Read | Touch::Write | Touch::Update | Touch::Combine(_), _) => false,
        }
    }
}

/// One access of one execution.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// The array, or the name of an accumulator (which no array can have).
    pub array: Name,
    /// Whether it reads, writes or updates the cell.
    pub touch: Touch,
    /// Subscripts over base inames, parameters and values read from data ([`Load`]); `None` for a
    /// subscript that is not quasi-affine in these.
    pub cell: Vec<Option<Aff>>,
    /// For subscripts that depend on data: the expression over base inames. Empty if there are
    /// none.
    pub opaque: Vec<Option<Expr>>,
    /// Whether it reads a scalar for a loop bound.
    pub bound: bool,
    /// The conditions around a read, as constraints over base inames and parameters. An execution
    /// of the part that violates one does not touch the cell.
    pub under: Vec<Constraint>,
}

/// The name of the accumulator of an instruction's reduction.
pub fn accumulator(instruction: &Name, number: usize) -> Name {
    Name::new(format!("{instruction}.{number}"))
}

/// The part that uses the result of this reduction: the update of the reduction around it, or
/// [`Part::Finish`] if there is none.
pub fn consumer(instruction: &Instruction, number: usize) -> Part {
    fn walk(e: &Expr, target: usize, next: &mut usize) -> (bool, Option<usize>) {
        // Returns whether the target is inside, and the number of the innermost reduction around
        // it.
        let mut inside = false;
        let mut around = None;
        e.each_child(&mut |child| {
            let (here, who) = walk(child, target, next);
            if here {
                inside = true;
                around = who;
            }
        });
        if matches!(e, Expr::Reduce(_)) {
            let number = *next;
            *next += 1;
            if number == target {
                return (true, None);
            }
            if inside && around.is_none() {
                return (true, Some(number));
            }
        }
        (inside, around)
    }
    match walk(&instruction.value, number, &mut 0).1 {
        Some(outer) => Part::Update(outer),
        None => Part::Finish,
    }
}

/// The expressions that a part evaluates. Reductions inside them belong to other parts.
pub fn evaluated(instruction: &Instruction, part: Part) -> Vec<&Expr> {
    fn arguments<'a>(e: &'a Expr, number: usize, next: &mut usize, found: &mut Vec<&'a Expr>) {
        e.each_child(&mut |child| arguments(child, number, next, found));
        if let Expr::Reduce(r) = e {
            if *next == number {
                found.extend(r.args.iter());
            }
            *next += 1;
        }
    }
    let targets = instruction.targets.iter().flat_map(|t| &t.index);
    match part {
        Part::Whole | Part::Finish => {
            [&instruction.value].into_iter().chain(&instruction.predicate).chain(targets).collect()
        }
        Part::Init(_) => Vec::new(),
        Part::Update(n) => {
            let mut found = Vec::new();
            arguments(&instruction.value, n, &mut 0, &mut found);
            found.into_iter().chain(&instruction.predicate).collect()
        }
    }
}

/// Visits an expression without descending into reductions.
pub fn outside_reductions<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
    if matches!(e, Expr::Reduce(_)) {
        return;
    }
    f(e);
    e.each_child(&mut |child| outside_reductions(child, f));
}

/// The elements that a part reads, in text order, each with the conditions around it as constraints
/// over base inames and parameters.
pub fn conditional_reads(
    lookup: &Lookup<'_>,
    instruction: &Instruction,
    part: &PartRef,
) -> Vec<(Access, Vec<Constraint>)> {
    let mut found = Vec::new();
    let inames = lookup.part_inames(part);
    let standing = Standing::new(lookup, &inames);
    for e in evaluated(instruction, part.part) {
        standing.visit_evaluated(e, &mut |e, known| {
            let access = match e {
                Expr::Subscript(access) => access.clone(),
                Expr::Name(n) if lookup.array(n).is_some() => Access { array: n.clone(), index: Vec::new() },
                _ => return,
            };
            let mut under: Vec<Constraint> = Vec::new();
            for c in known.iter().filter(|c| is_plain(lookup, c)) {
                let expanded = lookup.expand_constraint(c).ok().filter(|c| !under.contains(c));
                under.extend(expanded);
            }
            found.push((access, under));
        });
    }
    found
}

/// Whether a constraint mentions only inames and parameters.
fn is_plain(lookup: &Lookup<'_>, c: &Constraint) -> bool {
    !c.aff.mentions_any(&|n| !lookup.is_iname(n) && !lookup.is_scalar(n))
}

/// The constraints that make up an instruction's predicate, if it is a conjunction of comparisons
/// of affine functions of inames and parameters that cannot wrap.
pub fn affine_predicate(lookup: &Lookup<'_>, instruction: &Instruction) -> Option<Vec<Constraint>> {
    let rows = Standing::new(lookup, &instruction.within).constraints(instruction.predicate.as_ref()?)?;
    rows.iter().all(|c| is_plain(lookup, c)).then_some(rows)
}

/// The values that a part reads from arrays that the kernel does not write and uses in subscripts
/// and bounds.
pub(crate) struct Loads<'a, 'k> {
    pub lookup: &'a Lookup<'k>,
    pub reads: &'a DataReads<'k>,
    /// Whether a given part precedes this one.
    pub earlier: &'a dyn Fn(&PartRef) -> bool,
    /// The base inames of the part.
    pub inames: &'a [Name],
    pub found: Vec<Load>,
}

impl Loads<'_, '_> {
    /// The subscript over base inames, parameters and names of loaded values, if it is quasi-affine
    /// in them.
    pub fn subscript(&mut self, e: &Expr) -> Option<Aff> {
        // Most subscripts are functions of inames and parameters.
        let known = |n: &Name| self.lookup.is_iname(n) || self.lookup.is_scalar(n);
        if let Some(aff) = e.to_aff().filter(|aff| !aff.mentions_any(&|n| !known(n))) {
            return self.lookup.expand(&aff).ok();
        }
        let mut named = Vec::new();
        let aff = self.reads.named(&expanded(self.lookup, e), &mut named).to_aff()?;
        for (name, access) in named {
            self.from(name, &access)?;
        }
        for name in aff.names() {
            let known = self.lookup.is_iname(&name)
                || self.lookup.is_scalar(&name)
                || self.found.iter().any(|l| l.name == name);
            if !known {
                self.scalar(&name)?;
            }
        }
        self.lookup.expand(&aff).ok()
    }

    /// Records what is known of a scalar that an earlier part loads from data.
    pub fn scalar(&mut self, scalar: &Name) -> Option<()> {
        let (part, access) = self.reads.load_of(scalar)?;
        if !(self.earlier)(&part) {
            return None;
        }
        self.from(scalar.clone(), access)
    }

    fn from(&mut self, name: Name, access: &Access) -> Option<()> {
        if self.found.iter().any(|l| l.name == name) {
            return Some(());
        }
        let mut arguments = Vec::new();
        for e in &access.index {
            let argument = self.subscript(e)?;
            let mine = |n: &Name| {
                self.lookup.is_scalar(n) || self.inames.contains(n) || self.found.iter().any(|l| l.name == *n)
            };
            if argument.mentions_any(&|n| !mine(n)) {
                return None;
            }
            arguments.push(argument);
        }
        self.found.push(Load { name, array: access.array.clone(), arguments });
        Some(())
    }
}

/// The expression with every iname replaced by its value over base inames.
pub fn expanded(lookup: &Lookup<'_>, e: &Expr) -> Expr {
    e.substitute(&|n| {
        lookup.definition(n)?;
        lookup.expand(&Aff::var(n)).ok().map(|a| Expr::from_aff(&a))
    })
}

/// All events of a part, in order: reads, reads in bounds, accumulators that it uses, writes.
/// `data` are the names in its bounds that are neither inames nor parameters.
pub fn events(
    kernel: &KernelData,
    lookup: &Lookup<'_>,
    instruction: &Instruction,
    part: &PartRef,
    data: &BTreeSet<Name>,
    loads: &mut Loads<'_, '_>,
) -> Vec<Event> {
    let plain = |a: &Aff| !a.mentions_any(&|n| !lookup.is_iname(n) && !lookup.is_scalar(n));
    let mut event = |access: &Access, touch: Touch, under: Vec<Constraint>| {
        let cell: Vec<Option<Aff>> = access.index.iter().map(|e| loads.subscript(e)).collect();
        let opaque = match cell.iter().all(|c| c.as_ref().is_some_and(plain)) {
            true => Vec::new(),
            false => access
                .index
                .iter()
                .zip(&cell)
                .map(|(e, known)| (!known.as_ref().is_some_and(plain)).then(|| expanded(lookup, e)))
                .collect(),
        };
        Event { array: access.array.clone(), touch, cell, opaque, bound: false, under }
    };
    let reads = conditional_reads(lookup, instruction, part);
    let mut found: Vec<Event> =
        reads.into_iter().map(|(access, under)| event(&access, Touch::Read, under)).collect();
    if !matches!(part.part, Part::Init(_)) {
        let read = data.iter().filter(|n| lookup.array(n).is_some());
        found.extend(read.map(|array| Event {
            array: array.clone(),
            touch: Touch::Read,
            cell: Vec::new(),
            opaque: Vec::new(),
            bound: true,
            under: Vec::new(),
        }));
    }
    let reductions: Vec<std::sync::Arc<Reduce>> = instruction.reductions();
    let of_reduction = |n: usize, touch: Touch| {
        let init = PartRef { instruction: instruction.id.clone(), part: Part::Init(n) };
        Event {
            array: accumulator(&instruction.id, n),
            touch,
            cell: lookup.part_inames(&init).iter().map(|i| Some(Aff::var(i))).collect(),
            opaque: Vec::new(),
            bound: false,
            under: Vec::new(),
        }
    };
    for n in 0..reductions.len() {
        if consumer(instruction, n) == part.part {
            found.push(of_reduction(n, Touch::Read));
        }
    }
    match part.part {
        Part::Init(n) => found.push(of_reduction(n, Touch::Write)),
        Part::Update(n) => {
            let commutes =
                reductions.get(n).and_then(|r| kernel.operator(&r.op)).is_none_or(|op| op.commutes);
            // A scan keeps the order of its points, whichever threads run them.
            let commutes = commutes || instruction.scan.is_some();
            found.push(of_reduction(n, if commutes { Touch::Update } else { Touch::Write }));
        }
        Part::Whole | Part::Finish => {
            let touch = instruction.update.clone().map_or(Touch::Write, Touch::Combine);
            found.extend(instruction.targets.iter().map(|t| event(t, touch.clone(), Vec::new())));
        }
    }
    found
}
