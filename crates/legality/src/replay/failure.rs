//! How a run goes wrong: threads meet in a cell, a read or an output has another definition than
//! declared, a reduction joins other points.
//!
//! A race ends the run where it is found. A read or a reduction is no failure by itself: values
//! carry the number of the first thing that went wrong with what they come from, and it is reported
//! where an output has another value for it.

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

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Two threads touch one cell at the same time, one of them writing.
    Race {
        /// The two instances, the one that is declared to come first first, and whether each
        /// writes.
        instances: [(Instance, bool); 2],
        /// The cell.
        cell: CellName,
        /// Inames on which the two differ.
        differ: Vec<Name>,
    },
    /// A read sees another definition than declared.
    Read {
        /// Who reads.
        reader: Instance,
        /// The cell that it is declared to read.
        cell: CellName,
        /// What it has to see.
        expected: Token,
        /// What it sees.
        found: Token,
        /// Whether the definition that it has to see runs later now.
        later: bool,
    },
    /// An output holds another definition at the end.
    Output {
        /// The cell.
        cell: CellName,
        /// What it has to hold.
        expected: Token,
        /// What it holds.
        found: Token,
        /// Whether the instance that has to write it has run.
        ran: bool,
    },
    /// A reduction joins other points.
    Points {
        /// The instance that uses its result.
        reader: Instance,
        /// A point.
        point: Vec<i64>,
        /// How often it is joined.
        times: usize,
        /// How often it has to be.
        expected: usize,
    },
}

impl Machine<'_, '_> {
    /// Two executions of one part at one time, in different threads, that touch one cell, one of
    /// them writing.
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
            // The smallest one, so that the choice does not depend on the table's order.
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

    /// Whether an instance reads and joins what the declared one does.
    pub(super) fn check(
        &self,
        declared: &Run,
        run: &Run,
        who: &Instance,
        reads: &[Seen],
        joined: &[Vec<Point>],
    ) -> Result<(), Failure> {
        // What is not declared may read what it likes.
        let Some(expected) = declared.reads.get(who) else { return Ok(()) };
        for (expected, found) in expected.iter().zip(reads) {
            // What the declared kernel reads without a definition may be anything. Another
            // definition of the same value does no harm, and another value of the right definition
            // has another cause.
            let (was, is) = (&expected.token, &found.token);
            if was != is && expected.hash != found.hash && *was != Token::Unwritten {
                let later = match was {
                    Token::Definition(i, _) => !run.order.contains_key(i),
                    _ => false,
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

    /// What makes an output another value than declared: the first read that went wrong and that
    /// some output comes from, otherwise the definition that is left at the end.
    pub(super) fn wrong_output(&self, declared: &Run, run: &Run) -> Option<Failure> {
        let cells: BTreeSet<&CellName> = declared.outputs.keys().chain(run.outputs.keys()).collect();
        let mut cause = None;
        let mut output = None;
        for cell in cells {
            let of = |run: &Run| {
                run.outputs.get(cell).cloned().unwrap_or_else(|| {
                    let held = self.initial(cell);
                    (held.token, held.hash)
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
                    let ran = matches!(&expected, Token::Definition(i, _) if run.order.contains_key(i));
                    Failure::Output { cell: cell.clone(), expected, found, ran }
                });
            }
        }
        cause.and_then(|k| self.failures.get(k).cloned()).or(output)
    }
}
