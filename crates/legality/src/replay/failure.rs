//! How a run fails: threads conflict at a cell, a read or an output has a definition other than the
//! declared one, or a reduction combines the wrong points.
//!
//! A race ends the run where it is found. A wrong read or reduction is not a failure by itself:
//! values carry the number of the first error that they depend on, and it is reported if it changes
//! the value of an output.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use loopwright_kernel_ir::{Name, Reduce};

use super::{
    CellName, Instance, Token,
    machine::{Key, Machine, Point, Run, Seen, first},
    schedule::{Execution, Ready, instance},
};

/// A failure of a run.
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
        /// The instance that reads.
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
        /// The cell of the output.
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

impl Machine<'_, '_> {
    /// Two executions of one part at the same time, in different threads, that touch the same cell,
    /// at least one of them writing.
    pub(super) fn race(
        &self,
        group: &[Execution],
        ready: &Ready,
        touched: &HashMap<Key, Vec<(usize, bool)>>,
        declared: Option<&Run>,
    ) -> Option<Failure> {
        let mut found: Option<(Key, usize, usize, [bool; 2])> = None;
        for (key, list) in touched {
            let Some((w, _)) = list.iter().find(|(_, write)| *write) else { continue };
            let other = list.iter().find(|(k, _)| group[*k].place != group[*w].place);
            let Some((r, writes)) = other else { continue };
            // Take the smallest one, so that the choice does not depend on the table's iteration
            // order.
            let candidate = (key.clone(), *w, *r, [true, *writes]);
            if found.as_ref().is_none_or(|f| (&candidate.0.2, candidate.1) < (&f.0.2, f.1)) {
                found = Some(candidate);
            }
        }
        let (key, w, r, writes) = found?;
        let (a, b) = (instance(ready, &group[w]), instance(ready, &group[r]));
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
        let position = |i: &Instance| declared.and_then(|d| d.order.get(i).copied());
        let mut instances = [(a, writes[0]), (b, writes[1])];
        if position(&instances[1].0) < position(&instances[0].0) {
            instances.reverse();
        }
        Some(Failure::Race { instances, cell: CellName { array: key.0, index: key.2 }, differ })
    }

    /// Whether an instance reads and combines what the declared one does.
    pub(super) fn check(
        &self,
        declared: &Run,
        run: &Run,
        who: &Instance,
        reads: &[Seen],
        joined: &[Vec<Point>],
    ) -> Result<(), Failure> {
        // An instance that is not declared may read anything.
        let Some(expected) = declared.reads.get(who) else { return Ok(()) };
        for (expected, found) in expected.iter().zip(reads) {
            // If the declared kernel reads a cell without a definition, any value is allowed.
            // Another definition of the same value is harmless, and a wrong value of the right
            // definition has a different cause.
            let (was, is) = (&expected.token, &found.token);
            if was != is && expected.value != found.value && *was != Token::Unwritten {
                let later = match was {
                    Token::Definition(i, _) => !run.order.contains_key(i),
                    // Of updates the witness tells which one is missing or too early.
                    Token::Updated(..) | Token::Unwritten | Token::Initial(_) => false,
                };
                return Err(Failure::Read {
                    reader: who.clone(),
                    cell: expected.cell.clone(),
                    expected: was.clone(),
                    found: is.clone(),
                    later,
                });
            }
        }
        for (n, points) in joined.iter().enumerate() {
            let Some(expected) = declared.joined.get(&(who.clone(), n)) else { continue };
            let mut points: Vec<Vec<i64>> = points.iter().map(|p| p.point.clone()).collect();
            if self.sorts(who, n) {
                points.sort();
            }
            let declared_operator = |r: Arc<Reduce>| self.model.kernel.declared().operator(&r.op);
            let idempotent =
                self.reduction(who, n).and_then(declared_operator).is_some_and(|op| op.idempotent);
            if idempotent {
                points.dedup();
            }
            if points != *expected {
                let times = |p: &[i64], list: &[Vec<i64>]| list.iter().filter(|q| **q == p).count();
                let wrong = points
                    .iter()
                    .chain(expected)
                    .filter(|p| times(p, &points) != times(p, expected))
                    .min()
                    .or(points.first());
                let point = wrong.cloned().unwrap_or_default();
                return Err(Failure::Points {
                    reader: who.clone(),
                    times: times(&point, &points),
                    expected: times(&point, expected),
                    point,
                });
            }
        }
        Ok(())
    }

    /// Why an output has a value other than the declared one: the first wrong read that some output
    /// depends on, otherwise the definition that is left at the end.
    pub(super) fn wrong_output(&self, declared: &Run, run: &Run) -> Option<Failure> {
        let cells: BTreeSet<&CellName> = declared.outputs.keys().chain(run.outputs.keys()).collect();
        let mut cause = None;
        let mut output = None;
        for cell in cells {
            let of = |run: &Run| {
                run.outputs.get(cell).cloned().unwrap_or_else(|| {
                    let held = self.initial(cell);
                    (held.token, held.value)
                })
            };
            let ((expected, was), (found, is)) = (of(declared), of(run));
            if was == is {
                continue;
            }
            let key = (cell.array.clone(), Vec::new(), cell.index.clone());
            cause = first(cause, self.cells.get(&key).and_then(|held| held.cause));
            if expected != found {
                output.get_or_insert_with(|| {
                    let ran = match &expected {
                        Token::Definition(i, _) => run.order.contains_key(i),
                        Token::Updated(_, instances) => instances.iter().all(|i| run.order.contains_key(i)),
                        Token::Unwritten | Token::Initial(_) => false,
                    };
                    Failure::Output { cell: cell.clone(), expected, found, ran }
                });
            }
        }
        cause.and_then(|k| self.failures.get(k).cloned()).or(output)
    }
}
