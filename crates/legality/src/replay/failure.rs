//! How a run fails: threads conflict at a cell, a read or an output has a definition other than the
//! declared one, or a reduction combines the wrong points.
//!
//! A race ends the run where it is found. A wrong read or reduction is not a failure by itself:
//! values carry the number of the first error that they depend on, and it is reported if it changes
//! the value of an output.

use std::sync::Arc;

use loopwright_kernel_ir::Name;
use loopwright_poly::Table;

use super::{
    CellName, Instance, Token,
    machine::{Cause, Machine, Point, Run, Seen, Tok, first},
    numbering::Who,
    schedule::{Execution, Ready},
    value::Value,
};

/// What went wrong in a run, with the instances that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Two threads touch the same cell at the same time, at least one of them writing.
    Race {
        /// The two instances in declared order, and whether each one writes.
        instances: [(Instance, bool); 2],
        /// The cell that both touch.
        cell: CellName,
        /// Inames whose values differ between the two.
        differ: Vec<Name>,
    },
    /// A read sees a definition other than the declared one.
    Read {
        /// The instance that reads the cell.
        reader: Instance,
        /// The cell that it is declared to read.
        cell: CellName,
        /// The definition that the read must see.
        expected: Token,
        /// The definition that it sees.
        found: Token,
        /// Whether the definition that it must see now runs later.
        later: bool,
    },
    /// An output holds a definition other than the declared one at the end.
    Output {
        /// The cell of the output that is wrong.
        cell: CellName,
        /// The definition that it must hold.
        expected: Token,
        /// The definition that it holds.
        found: Token,
        /// Whether the instance that must write it has run.
        ran: bool,
    },
    /// A reduction combines the wrong points.
    Points {
        /// The instance that uses its result.
        reader: Instance,
        /// A point that is combined too often or not often enough.
        point: Vec<i64>,
        /// How often the run combines it.
        times: usize,
        /// How often the declared kernel combines it.
        expected: usize,
    },
}

/// An output that holds another definition or value than the declared run leaves.
pub(super) struct Differing {
    cell: CellName,
    expected: (Tok, Value),
    found: (Tok, Value),
    cause: Cause,
}

impl Machine<'_, '_> {
    /// An instance by its name.
    fn instance(&self, who: Who) -> Instance {
        self.instances.instance(self.instance_vector(who))
    }

    /// The definition with numbers replaced by names, for messages.
    fn token(&self, token: &Tok) -> Token {
        match token {
            Tok::Unwritten => Token::Unwritten,
            Tok::Initial(cell) => Token::Initial((**cell).clone()),
            Tok::Definition(who, target) => Token::Definition(self.instance(*who), *target),
            Tok::Updated(updates) => {
                let (base, instances) = &**updates;
                let mut instances: Vec<Instance> = instances.iter().map(|who| self.instance(*who)).collect();
                instances.sort();
                Token::Updated(Box::new(self.token(base)), instances)
            }
        }
    }

    /// Whether a declared instance has run.
    fn has_run(&self, who: Who) -> bool {
        self.ran.get(who).copied().unwrap_or(true)
    }

    /// Two executions of one part at the same time, in different threads, that touch the same cell,
    /// at least one of them writing.
    pub(super) fn race(
        &self,
        group: &[Execution],
        ready: &Ready,
        touched: &Table<usize, Vec<(usize, bool)>>,
    ) -> Option<Failure> {
        let mut found: Option<(usize, usize, usize, [bool; 2])> = None;
        for (cell, list) in touched {
            let Some((w, _)) = list.iter().find(|(_, write)| *write) else { continue };
            let other = list.iter().find(|(k, _)| group[*k].place != group[*w].place);
            let Some((r, writes)) = other else { continue };
            // Take the smallest one, so that the choice does not depend on the table's iteration
            // order.
            let before = |f: &(usize, usize, usize, [bool; 2])| {
                (self.cells.index(*cell), *w, *cell) < (self.cells.index(f.0), f.1, f.0)
            };
            if found.as_ref().is_none_or(before) {
                found = Some((*cell, *w, *r, [true, *writes]));
            }
        }
        let (cell, w, r, writes) = found?;
        let instance = |k: usize| {
            let vector: Vec<i64> = ready.instance(&group[k]).collect();
            self.instances.instance(&vector)
        };
        let (a, b) = (instance(w), instance(r));
        let part = &self.model.parts[group[w].part];
        let differ = part
            .hardware
            .iter()
            .filter(|n| {
                let k = part.inames.iter().position(|i| i == *n).unwrap_or(0);
                group[w].values[k] != group[r].values[k]
            })
            .cloned()
            .collect();
        let position = |i: &Instance| self.declared.and_then(|d| d.instances.find(i));
        let mut instances = [(a, writes[0]), (b, writes[1])];
        if position(&instances[1].0) < position(&instances[0].0) {
            instances.reverse();
        }
        Some(Failure::Race { instances, cell: self.cells.name(cell), differ })
    }

    /// Whether an instance reads and combines what the declared one does.
    pub(super) fn check(
        &self,
        declared: &Run,
        ready: &Ready,
        who: Who,
        reads: &[Seen],
        joined: &[Vec<Point>],
    ) -> Result<(), Failure> {
        let Some(expected) = declared.records.get(who) else { return Ok(()) };
        for (expected, found) in expected.reads.iter().zip(reads) {
            // If the declared kernel reads a cell without a definition, any value is allowed.
            // Another definition of the same value is harmless, and a wrong value of the right
            // definition has a different cause.
            let (was, is) = (&expected.token, &found.token);
            if let Some(cell) = expected.cell
                && was != is
                && expected.value != found.value
                && *was != Tok::Unwritten
            {
                let later = match was {
                    Tok::Definition(i, _) => !self.has_run(*i),
                    // Of updates the witness tells which one is missing or too early.
                    Tok::Updated(..) | Tok::Unwritten | Tok::Initial(_) => false,
                };
                return Err(Failure::Read {
                    reader: self.instance(who),
                    cell: declared.cells.name(cell),
                    expected: self.token(was),
                    found: self.token(is),
                    later,
                });
            }
        }
        for (n, (points, expected)) in joined.iter().zip(&expected.joined).enumerate() {
            let mut points: Vec<Arc<[i64]>> = points.iter().map(|p| p.point.clone()).collect();
            if ready.sorts(n) {
                points.sort();
            }
            if ready.operator(n).is_some_and(|op| op.idempotent) {
                points.dedup();
            }
            if points != *expected {
                let times = |p: &[i64], list: &[Arc<[i64]>]| list.iter().filter(|q| ***q == *p).count();
                let wrong = points
                    .iter()
                    .chain(expected)
                    .filter(|p| times(p, &points) != times(p, expected))
                    .min()
                    .or(points.first());
                let point = wrong.cloned().unwrap_or_default();
                return Err(Failure::Points {
                    reader: self.instance(who),
                    times: times(&point, &points),
                    expected: times(&point, expected),
                    // Without the number of its part.
                    point: point.iter().skip(1).copied().collect(),
                });
            }
        }
        Ok(())
    }

    /// The outputs that hold something else than those of the declared run, by their names.
    pub(super) fn differing(&self, declared: &Run, outputs: &[Option<(Tok, Value)>]) -> Vec<Differing> {
        let mut differing = Vec::new();
        let initial = |cell: usize| {
            let held = Self::initial(&self.cells, cell);
            (held.token, held.value)
        };
        for (cell, found) in outputs.iter().enumerate() {
            let there = declared.cells.same(&self.cells, cell);
            let expected = there.and_then(|k| declared.outputs.get(k)?.as_ref());
            if found.as_ref() == expected {
                continue;
            }
            differing.push(Differing {
                cell: self.cells.name(cell),
                expected: expected.cloned().unwrap_or_else(|| initial(cell)),
                found: found.clone().unwrap_or_else(|| initial(cell)),
                cause: self.held[cell].as_ref().and_then(|(held, _)| held.cause),
            });
        }
        for (cell, expected) in declared.outputs.iter().enumerate() {
            let Some(expected) = expected else { continue };
            if self.cells.same(&declared.cells, cell).is_none() {
                let held = Self::initial(&declared.cells, cell);
                differing.push(Differing {
                    cell: declared.cells.name(cell),
                    expected: expected.clone(),
                    found: (held.token, held.value),
                    cause: None,
                });
            }
        }
        differing.sort_by(|a, b| a.cell.cmp(&b.cell));
        differing
    }

    /// Why an output has a value other than the declared one: the first wrong read that some output
    /// depends on, otherwise the definition that is left at the end.
    pub(super) fn wrong_output(&self, differing: &[Differing]) -> Option<Failure> {
        let mut cause = None;
        let mut output = None;
        for Differing { cell, expected: (expected, was), found: (found, is), cause: own } in differing {
            if was == is {
                continue;
            }
            cause = first(cause, *own);
            if expected != found {
                output.get_or_insert_with(|| {
                    let ran = match expected {
                        Tok::Definition(i, _) => self.has_run(*i),
                        Tok::Updated(updates) => updates.1.iter().all(|i| self.has_run(*i)),
                        Tok::Unwritten | Tok::Initial(_) => false,
                    };
                    let (expected, found) = (self.token(expected), self.token(found));
                    Failure::Output { cell: cell.clone(), expected, found, ran }
                });
            }
        }
        cause.and_then(|k| self.failures.get(k).cloned()).or(output)
    }
}
