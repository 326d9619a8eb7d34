//! Whether a collective stands where what it joins has been computed, for whoever reads the result.
//!
//! 1. Each condition around it, and each loop that is not unrolled over lanes, is around whoever
//!    reads a result as well, and the loops are those of the first value; a scan in rounds has
//!    further loops, which are around what begins anew too (`Text::join_of`). A condition is the
//!    same one if it is one statement of the text: two with the same words may be evaluated at
//!    different times.
//! 2. Loops that are unrolled over lanes, and are not around the first value, take it to one
//!    accumulator in each iteration, to each of them once, and to all that are read. So a loop
//!    without an iteration, and one that joins something twice, are found.

use std::collections::HashMap;

use super::{
    Found, Holder, Reader, Reduction, Text,
    known::{Sub, computed},
    written,
};
use crate::{DeviceKernel, MemRef, Memory, Step, Stmt, Value, ValueKind, VarId};

/// A statement around another one.
#[derive(Clone, Copy)]
pub(super) enum Around<'p> {
    /// A loop that is not unrolled, or counts an iname of the kernel that is not a lane.
    Loop(&'p Stmt),
    /// Any other loop that is unrolled.
    Lanes(&'p Stmt),
    /// A side of a choice.
    Side(&'p Stmt, bool),
}

/// What is around a statement, the outermost first.
pub(super) type Path<'p> = Vec<Around<'p>>;

/// What is wrong with the place of a collective.
pub(super) enum Misplaced {
    Wrong(&'static str),
    /// It joins elements that are not followed.
    NotFollowed,
}

/// Iterations over lanes that are followed; no compiler would unroll more.
const MOST: usize = 1 << 16;

impl PartialEq for Around<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (*self, *other) {
            (Around::Loop(a), Around::Loop(b)) | (Around::Lanes(a), Around::Lanes(b)) => std::ptr::eq(a, b),
            (Around::Side(a, side), Around::Side(b, other)) => std::ptr::eq(a, b) && side == other,
            _ => false,
        }
    }
}

impl<'p> Around<'p> {
    fn is_lanes(&self) -> bool {
        matches!(self, Around::Lanes(_))
    }

    /// The condition of a choice.
    fn condition(&self) -> Option<&'p Value> {
        match self {
            Around::Side(Stmt::If { cond, .. }, _) => Some(cond),
            _ => None,
        }
    }

    /// Whether it is a condition that plainly holds.
    fn holds(&self) -> bool {
        let Around::Side(_, side) = self else { return false };
        self.condition().is_some_and(|cond| cond.kind == ValueKind::Bool(*side))
    }

    /// What a loop over lanes counts, from where on, and up to where, one by one.
    pub fn range(&self) -> Option<(VarId, i64, i64)> {
        match self {
            Around::Lanes(Stmt::For { var, lower, upper, step: Step::Add(1), .. }) => {
                Some((*var, lower.as_int()?, upper.as_int()?))
            }
            _ => None,
        }
    }

    /// Whether it is anything but a loop over lanes that may have no iteration.
    pub fn has_a_round(&self) -> bool {
        match self {
            Around::Lanes(stmt) => rounds(stmt).is_some_and(|(_, values)| !values.is_empty()),
            Around::Loop(_) | Around::Side(..) => true,
        }
    }
}

/// What is around a statement, but for loops over lanes.
pub(super) fn counted<'a, 'p>(path: &'a [Around<'p>]) -> impl Iterator<Item = &'a Around<'p>> {
    path.iter().filter(|around| !around.is_lanes())
}

/// The conditions around a statement.
pub(super) fn conditions<'p>(path: &[Around<'p>]) -> impl Iterator<Item = &'p Value> {
    path.iter().filter_map(Around::condition)
}

/// The loops around a statement, but for those over lanes.
fn loops<'a, 'p>(path: &'a [Around<'p>]) -> Vec<&'a Around<'p>> {
    path.iter().filter(|around| matches!(around, Around::Loop(_))).collect()
}

/// The values that a loop counts; `None` if its bounds are not constant.
fn rounds(stmt: &Stmt) -> Option<(VarId, Vec<i64>)> {
    let Stmt::For { var, lower, upper, step, .. } = stmt else { return None };
    let (mut at, end) = lower.as_int().zip(upper.as_int())?;
    let mut values = Vec::new();
    while if *step == Step::Halve { at > end } else { at < end } {
        if values.len() == MOST {
            return None;
        }
        values.push(at);
        at = match step {
            Step::Halve => at / 2,
            Step::Double => at.checked_mul(2)?,
            Step::Add(by) => at.checked_add(*by)?,
        };
    }
    Some((*var, values))
}

/// What holds the partial result of some lanes: a variable, or an element of an array.
type Accumulator = (Holder, Vec<Sub>);

impl<'p> Text<'p> {
    /// Whether a collective joins each accumulator of a reduction once, wherever one is read.
    pub fn stands_rightly(&self, reduction: &Reduction<'p>, found: &Found<'p>) -> Result<(), Misplaced> {
        let (own, first) = (loops(&found.path), loops(&reduction.path));
        let carried = reduction.begins.values().any(|h| !reduction.state.values().any(|own| own == h));
        let alike = if found.join.scan && carried { own.starts_with(&first) } else { own == first };
        if !alike {
            return Err(Misplaced::Wrong("are not joined once for each first value"));
        }
        let readers = self.readers(reduction);
        for around in counted(&found.path).filter(|around| !around.holds()) {
            if readers.iter().any(|reader| !reader.path.contains(around)) {
                return Err(Misplaced::Wrong(match around {
                    Around::Side(..) => "are joined under a condition, and read where it may not hold",
                    _ => "are joined in a loop, and read outside of it",
                }));
            }
        }
        let scanned = match found.join.scan {
            // That its lanes have no numbers is said elsewhere.
            true => match self.scan(reduction) {
                Some(scan) => scan.subscript,
                None => return Ok(()),
            },
            false => None,
        };
        let walk = Walk { text: self, reduction, scanned, named: named(self.kernel) };
        let joined = walk.joined(found).ok_or(Misplaced::NotFollowed)??;
        for reader in readers {
            for read in walk.read(reader, found).ok_or(Misplaced::NotFollowed)? {
                if !joined.contains(&read) {
                    return Err(Misplaced::Wrong("are not joined in all elements that are read"));
                }
            }
        }
        Ok(())
    }
}

/// The accumulators of a reduction, as the text names them.
struct Walk<'a, 'p> {
    text: &'a Text<'p>,
    reduction: &'a Reduction<'p>,
    /// The subscript that counts the points that a thread scans, which are one accumulator.
    scanned: Option<usize>,
    /// What is named by variables that are assigned once.
    named: HashMap<VarId, &'p Value>,
}

/// The values of what loops count, and `None` where that is not known.
type Counters = HashMap<VarId, Option<i64>>;

impl<'p> Walk<'_, 'p> {
    /// The accumulators that a collective joins; the outer `None` if they are not followed.
    fn joined(&self, found: &Found<'p>) -> Option<Result<Vec<Accumulator>, Misplaced>> {
        let mut joined: Vec<Accumulator> = Vec::new();
        let mut again = false;
        let lanes = self.lanes(&found.path, &self.reduction.path);
        self.each(&lanes, &mut Counters::new(), &mut { MOST }, &mut |counters| {
            let mut own = Vec::new();
            self.written(found.body, counters, &mut own)?;
            again |= own.iter().any(|accumulator| joined.contains(accumulator));
            joined.extend(own);
            Some(())
        })?;
        Some(match again {
            true => Err(Misplaced::Wrong("are joined more than once")),
            false => Ok(joined),
        })
    }

    /// The accumulators that a statement of another part reads; `None` if they are not followed.
    fn read(&self, reader: &Reader<'p>, found: &Found<'p>) -> Option<Vec<Accumulator>> {
        let mut elements: Vec<(&'p MemRef, i64)> = Vec::new();
        let mut read: Vec<Accumulator> = Vec::new();
        reader.stmt.visit_values(&mut |value| match &value.kind {
            ValueKind::Var(var) if self.is_state(Holder::Var(*var)) => {
                read.push((Holder::Var(*var), Vec::new()));
            }
            ValueKind::Load(element) => elements.push((element, 1)),
            _ => {}
        });
        elements.extend(reader.stmt.source().map(|from| (from.element, i64::from(from.lanes))));
        for (element, neighbours) in elements {
            let Memory::Private(array) = element.memory else { continue };
            if !self.is_state(Holder::Array(array)) {
                continue;
            }
            // What the subscripts do not name makes no difference.
            let mut lanes = self.lanes(&reader.path, &found.path);
            lanes.retain(|stmt| matches!(stmt, Stmt::For { var, .. } if names(element, *var)));
            self.each(&lanes, &mut Counters::new(), &mut { MOST }, &mut |counters| {
                for next in 0..neighbours {
                    let accumulator = self.element(element, next, counters)?;
                    if !read.contains(&accumulator) {
                        read.push(accumulator);
                    }
                }
                Some(())
            })?;
        }
        Some(read)
    }

    fn is_state(&self, holder: Holder) -> bool {
        self.reduction.state.values().any(|own| *own == holder)
    }

    /// The loops over lanes around a statement that are not around another one.
    fn lanes(&self, path: &[Around<'p>], common: &[Around<'p>]) -> Vec<&'p Stmt> {
        let own = path.iter().filter(|around| !common.contains(around));
        own.filter_map(|around| match around {
            Around::Lanes(stmt) => Some(*stmt),
            Around::Loop(_) | Around::Side(..) => None,
        })
        .collect()
    }

    /// Calls `f` with all values that loops count; `None` if that are too many, or `f` gives it.
    fn each(
        &self,
        loops: &[&'p Stmt],
        counters: &mut Counters,
        left: &mut usize,
        f: &mut dyn FnMut(&mut Counters) -> Option<()>,
    ) -> Option<()> {
        let Some((first, rest)) = loops.split_first() else {
            *left = left.checked_sub(1)?;
            return f(counters);
        };
        let (var, values) = rounds(first)?;
        for value in values {
            counters.insert(var, Some(value));
            self.each(rest, counters, left, f)?;
        }
        counters.remove(&var);
        Some(())
    }

    /// The accumulators that the statements of a body write.
    fn written(&self, body: &'p [Stmt], counters: &mut Counters, all: &mut Vec<Accumulator>) -> Option<()> {
        for stmt in body {
            if let Some(holder) = written(stmt).filter(|holder| self.is_state(*holder)) {
                let accumulator = match stmt {
                    Stmt::Store { to, .. } => self.element(to, 0, counters)?,
                    _ => (holder, Vec::new()),
                };
                if !all.contains(&accumulator) {
                    all.push(accumulator);
                }
            }
            let Stmt::For { var, body, .. } = stmt else {
                for body in stmt.bodies() {
                    self.written(body, counters, all)?;
                }
                continue;
            };
            let mut is_named = false;
            Stmt::visit(body, &mut |inner| {
                is_named |= matches!(inner, Stmt::Store { to, .. } if names(to, *var));
            });
            // That a loop of the join has a round is asked where it is run.
            let values = match rounds(stmt).filter(|(_, values)| is_named && !values.is_empty()) {
                Some((_, values)) => values.into_iter().map(Some).collect(),
                None => vec![None],
            };
            for value in values {
                counters.insert(*var, value);
                self.written(body, counters, all)?;
            }
            counters.remove(var);
        }
        Some(())
    }

    /// An element, or one of its neighbours along the last subscript.
    fn element(&self, of: &MemRef, next: i64, counters: &Counters) -> Option<Accumulator> {
        let Memory::Private(array) = of.memory else { return None };
        let mut at = Vec::new();
        for (k, subscript) in of.subscripts.iter().enumerate() {
            let next = if k + 1 == of.subscripts.len() { next } else { 0 };
            if self.scanned == Some(k) {
                continue;
            }
            at.push(match self.int(subscript, counters) {
                Some(value) => {
                    let (value, dims) =
                        (value.checked_add(next)?, &self.text.kernel.private.get(array)?.dims);
                    // Neighbours behind the end of a row are in the next one.
                    u64::try_from(value).ok().filter(|value| Some(value) < dims.get(k))?;
                    Sub::At(value)
                }
                None if next == 0 && self.stays(subscript, counters) => Sub::Text(subscript.clone()),
                None => return None,
            });
        }
        Some((Holder::Array(array), at))
    }

    /// An integer that is made of what loops count.
    fn int(&self, value: &Value, counters: &Counters) -> Option<i64> {
        match &value.kind {
            ValueKind::Int(value) => Some(*value),
            ValueKind::Var(var) => match (counters.get(var), self.named.get(var)) {
                (Some(value), _) => *value,
                (None, Some(value)) => self.int(value, counters),
                (None, None) => None,
            },
            ValueKind::Cast(a) if a.dtype.is_integer() => self.int(a, counters),
            ValueKind::Binary(op, a, b) => computed(*op, self.int(a, counters)?, self.int(b, counters)?),
            _ => None,
        }
    }

    /// Whether a subscript that is not known is the same at all places with the same loops around.
    fn stays(&self, subscript: &Value, counters: &Counters) -> bool {
        let mut stays = true;
        subscript.visit(&mut |value| match &value.kind {
            ValueKind::Var(var) => {
                let of = self.text.kernel.vars.get(var.0);
                stays &= !counters.contains_key(var)
                    && of.is_some_and(|of| !of.mutable)
                    && self.named.get(var).is_none_or(|value| self.stays(value, counters));
            }
            ValueKind::Load(_)
            | ValueKind::Shuffle { .. }
            | ValueKind::Any(_)
            | ValueKind::Ballot(_)
            | ValueKind::Call { .. } => stays = false,
            _ => {}
        });
        stays
    }
}

/// Whether the subscripts of an element name a variable.
fn names(element: &MemRef, var: VarId) -> bool {
    let mut found = false;
    for subscript in &element.subscripts {
        subscript.visit(&mut |value| found |= value.kind == ValueKind::Var(var));
    }
    found
}

/// What the variables of a text name that are assigned once.
fn named(kernel: &DeviceKernel) -> HashMap<VarId, &Value> {
    let (mut named, mut times) = (HashMap::new(), HashMap::<VarId, usize>::new());
    Stmt::visit(&kernel.body, &mut |stmt| {
        stmt.assigned().for_each(|var| *times.entry(var).or_default() += 1);
        if let Stmt::Let { var, value, .. } = stmt {
            named.insert(*var, value);
        }
    });
    named.retain(|var, _| times.get(var) == Some(&1));
    named
}
