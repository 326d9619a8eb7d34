//! Answers that are remembered while one kernel is dealt with.
//!
//! The statements of a kernel are much alike, and so is what is asked about them: whether a guard
//! follows from the bounds of a loop, whether two accesses meet. Rows have no names, so that two
//! systems that differ in nothing else are one key, and both an emptiness and a range are functions
//! of the rows alone. The dataflow through an array is remembered too, by its accesses with their
//! names: that of the declared kernel is asked for with each verdict.
//!
//! Nothing is remembered outside of [`remembering`], so that what a query costs does not depend on
//! what a thread did long before, and memory is given back. An answer that isl gave counts only for
//! the default budget: whether a query exhausts its budget does not depend on earlier ones.

use std::{cell::RefCell, sync::Arc};

use crate::{
    Access, Result, Sources, Table,
    isl::{Answer, DEFAULT_BUDGET, budget},
    reduced::Reduced,
    rows::Rows,
};

/// The least and the greatest value of a function, each if it exists.
pub(crate) type Range = (Option<i64>, Option<i64>);

/// Whether rows have no integer point, and whether it was isl that said so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Emptiness {
    pub empty: bool,
    pub by_isl: bool,
}

#[derive(Default)]
struct Memo {
    /// The number of calls of [`remembering`] around.
    depth: usize,
    /// By the digests of rows; of several rows with one digest, only one is kept.
    emptiness: Table<u64, (Rows, Emptiness)>,
    /// By the digests of rows and the column of the value, likewise.
    ranges: Table<(u64, usize), (Rows, Range)>,
    /// Reduced systems, by the digests of their rows; one for each digest.
    reduced: Table<u64, (Rows, Arc<Reduced>)>,
    /// What isl projects rows to, by their digests and the number of columns that are kept.
    projections: Table<(u64, usize), (Rows, Pieces)>,
    /// Which writes each read sees, by all reads and all writes that were asked about.
    flows: Table<Accesses, Vec<Sources>>,
    /// The size of all keys together, in numbers of 8 bytes.
    numbers: usize,
}

/// The pieces of a projection.
pub(crate) type Pieces = Arc<Vec<Answer>>;

/// The reads and the writes of a query for dataflow.
type Accesses = (Vec<Access>, Vec<Access>);

/// Numbers in all keys, at which everything is forgotten: eight megabytes.
const MOST_NUMBERS: usize = 1 << 20;

thread_local! {
    static MEMO: RefCell<Memo> = RefCell::default();
}

/// Remembers the answers to the queries that `ask` makes in this thread until it is done, or until
/// an outer call is.
pub fn remembering<T>(ask: impl FnOnce() -> T) -> T {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            MEMO.with_borrow_mut(|memo| {
                memo.depth -= 1;
                if memo.depth == 0 {
                    *memo = Memo::default();
                }
            });
        }
    }
    MEMO.with_borrow_mut(|memo| memo.depth += 1);
    let _leave = Leave;
    ask()
}

/// Whether [`remembering`] is around.
fn is_remembering() -> bool {
    MEMO.with_borrow(|memo| memo.depth > 0)
}

impl Memo {
    /// Makes room for a key with this many numbers.
    fn makes_room(&mut self, numbers: usize) {
        if self.numbers + numbers > MOST_NUMBERS {
            *self = Memo { depth: self.depth, ..Memo::default() };
        }
        self.numbers += numbers;
    }
}

/// Whether rows have no integer point: as remembered, or as `ask` says.
pub(crate) fn emptiness(rows: Rows, ask: impl FnOnce(&Rows) -> Result<Emptiness>) -> Result<bool> {
    if !is_remembering() {
        return Ok(ask(&rows)?.empty);
    }
    let digest = rows.digest();
    let known = MEMO.with_borrow(|memo| {
        memo.emptiness.get(&digest).filter(|(own, _)| *own == rows).map(|(_, known)| *known)
    });
    if let Some(known) = known.filter(|known| !known.by_isl || budget() == DEFAULT_BUDGET) {
        return Ok(known.empty);
    }
    let found = ask(&rows)?;
    if !found.by_isl || budget() == DEFAULT_BUDGET {
        MEMO.with_borrow_mut(|memo| {
            memo.makes_room(rows.numbers());
            memo.emptiness.insert(digest, (rows, found));
        });
    }
    Ok(found.empty)
}

/// The range of what a column stands for: as remembered, or as `ask` says.
pub(crate) fn range(rows: Rows, column: usize, ask: impl FnOnce() -> Result<Range>) -> Result<Range> {
    if !is_remembering() || budget() != DEFAULT_BUDGET {
        return ask();
    }
    let key = (rows.digest(), column);
    let known = MEMO
        .with_borrow(|memo| memo.ranges.get(&key).filter(|(own, _)| *own == rows).map(|(_, known)| *known));
    if let Some(known) = known {
        return Ok(known);
    }
    let found = ask()?;
    MEMO.with_borrow_mut(|memo| {
        memo.makes_room(rows.numbers());
        memo.ranges.insert(key, (rows, found));
    });
    Ok(found)
}

/// The pieces of a projection onto the first columns of rows: as remembered, or as `ask` says.
pub(crate) fn projected(
    rows: Rows,
    kept: usize,
    ask: impl FnOnce(Rows) -> Result<Vec<Answer>>,
) -> Result<Pieces> {
    if !is_remembering() || budget() != DEFAULT_BUDGET {
        return Ok(Arc::new(ask(rows)?));
    }
    let key = (rows.digest(), kept);
    let known = MEMO.with_borrow(|memo| {
        memo.projections.get(&key).filter(|(own, _)| *own == rows).map(|(_, known)| known.clone())
    });
    if let Some(known) = known {
        return Ok(known);
    }
    let found = Arc::new(ask(rows.clone())?);
    let numbers = |answer: &Answer| {
        answer.rows.numbers() + answer.divisions.iter().map(|d| 2 + d.numerator.len()).sum::<usize>()
    };
    MEMO.with_borrow_mut(|memo| {
        memo.makes_room(rows.numbers() + found.iter().map(numbers).sum::<usize>());
        memo.projections.insert(key, (rows, found.clone()));
    });
    Ok(found)
}

/// The dataflow from writes to reads: as remembered, or as `ask` says.
pub(crate) fn flow(
    reads: &[Access],
    writes: &[Access],
    ask: impl FnOnce() -> Result<Vec<Sources>>,
) -> Result<Vec<Sources>> {
    if !is_remembering() || budget() != DEFAULT_BUDGET {
        return ask();
    }
    let key = (reads.to_vec(), writes.to_vec());
    if let Some(known) = MEMO.with_borrow(|memo| memo.flows.get(&key).cloned()) {
        return Ok(known);
    }
    let found = ask()?;
    let numbers = |access: &Access| {
        let affs = access.constraints.len() + access.cell.len() + access.time.len();
        affs * (1 + access.dims.len())
    };
    let numbers = key.0.iter().chain(&key.1).map(numbers).sum::<usize>();
    MEMO.with_borrow_mut(|memo| {
        // What was found is of the size of what was asked.
        memo.makes_room(2 * numbers);
        memo.flows.insert(key, found.clone());
    });
    Ok(found)
}

/// The reduced form of rows: as remembered, or as `make` makes it, if it does.
pub(crate) fn reduced(rows: Rows, make: impl FnOnce(Rows) -> Result<Reduced>) -> Option<Arc<Reduced>> {
    if !is_remembering() {
        return make(rows).ok().map(Arc::new);
    }
    let digest = rows.digest();
    let known = MEMO.with_borrow(|memo| {
        memo.reduced.get(&digest).filter(|(own, _)| *own == rows).map(|(_, known)| known.clone())
    });
    if known.is_some() {
        return known;
    }
    let made = Arc::new(make(rows.clone()).ok()?);
    MEMO.with_borrow_mut(|memo| {
        memo.makes_room(2 * rows.numbers());
        memo.reduced.insert(digest, (rows, made.clone()));
    });
    Some(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Aff, Constraint, System, with_budget};

    /// Rows of one column: `x = constant`.
    fn rows(constant: i64) -> Rows {
        let mut rows = Rows::new(2);
        rows.push(true, &[-constant, 1]);
        rows
    }

    fn answer(empty: bool, by_isl: bool) -> impl FnOnce(&Rows) -> Result<Emptiness> {
        move |_| Ok(Emptiness { empty, by_isl })
    }

    #[test]
    fn answers_are_remembered_within_the_outermost_scope_alone() {
        assert_eq!(emptiness(rows(1), answer(true, false)), Ok(true));
        remembering(|| {
            assert_eq!(emptiness(rows(1), answer(false, false)), Ok(false));
            remembering(|| assert_eq!(emptiness(rows(1), answer(true, false)), Ok(false)));
            assert_eq!(emptiness(rows(1), answer(true, false)), Ok(false));
            assert_eq!(emptiness(rows(2), answer(true, false)), Ok(true));
            assert_eq!(range(rows(1), 1, || Ok((Some(1), None))), Ok((Some(1), None)));
            assert_eq!(range(rows(1), 1, || Ok((None, None))), Ok((Some(1), None)));
            assert_eq!(range(rows(1), 0, || Ok((None, None))), Ok((None, None)));
        });
        assert_eq!(emptiness(rows(1), answer(true, false)), Ok(true));
    }

    /// Many small keys take as much room as a large one.
    #[test]
    fn everything_is_forgotten_where_keys_would_take_too_much_room() {
        let mut memo = Memo { depth: 3, ..Memo::default() };
        memo.emptiness.insert(0, (rows(1), Emptiness { empty: false, by_isl: false }));
        memo.makes_room(MOST_NUMBERS - 1);
        memo.makes_room(1);
        assert_eq!(memo.emptiness.len(), 1);
        memo.makes_room(1);
        assert_eq!((memo.emptiness.len(), memo.numbers, memo.depth), (0, 1, 3));
    }

    #[test]
    fn the_same_accesses_are_analysed_once() {
        let at = |time: i64| Access {
            dims: Vec::new(),
            constraints: Vec::new(),
            cell: vec![Aff::constant(0)],
            time: vec![Aff::constant(time)],
        };
        let asked = std::cell::Cell::new(0);
        let ask = |time: i64| {
            flow(&[at(time)], &[at(0)], || {
                asked.set(asked.get() + 1);
                crate::flow(&[at(time)], &[at(0)])
            })
        };
        remembering(|| {
            let seen = |time: i64| ask(time).unwrap()[0].none.is_empty().unwrap();
            // A read after the write sees it, and one before it does not.
            assert!(seen(1) && seen(1) && !seen(-1) && !seen(-1));
            assert_eq!(asked.get(), 2);
        });
        ask(1).unwrap();
        assert_eq!(asked.get(), 3);
    }

    #[test]
    fn the_same_rows_are_projected_once_for_each_number_of_columns() {
        let asked = std::cell::Cell::new(0);
        let ask = |constant: i64, kept: usize| {
            let found = projected(rows(constant), kept, |rows| {
                asked.set(asked.get() + 1);
                Ok(vec![Answer { rows, divisions: Vec::new() }])
            });
            found.unwrap()[0].rows.row(0).to_vec()
        };
        remembering(|| {
            assert_eq!((ask(1, 1), ask(1, 1), asked.get()), (vec![-1, 1], vec![-1, 1], 1));
            assert_eq!((ask(2, 1), ask(1, 0), asked.get()), (vec![-2, 1], vec![-1, 1], 3));
        });
        ask(1, 1);
        assert_eq!(asked.get(), 4);
    }

    #[test]
    fn rows_are_reduced_once_within_a_scope_and_each_time_outside() {
        let made = std::cell::Cell::new(0);
        let ask = |constant: i64| {
            let found = reduced(rows(constant), |rows| {
                made.set(made.get() + 1);
                Reduced::of(rows)
            });
            assert!(!found.unwrap().is_never());
            made.get()
        };
        assert_eq!([ask(1), ask(1)], [1, 2]);
        assert_eq!(remembering(|| [ask(1), ask(1), ask(2), ask(1)]), [3, 3, 4, 4]);
        assert_eq!([ask(1), ask(2)], [5, 6]);
        // What cannot be made is asked again.
        let fails = || reduced(rows(3), |_| Err(crate::Error::Overflow)).is_none();
        assert!(remembering(|| fails() && ask(3) == 7 && !fails()));
    }

    #[test]
    fn what_isl_said_counts_for_the_default_budget_alone() {
        remembering(|| {
            assert_eq!(emptiness(rows(1), answer(false, true)), Ok(false));
            with_budget(7, || {
                assert_eq!(emptiness(rows(1), answer(true, true)), Ok(true));
                assert_eq!(range(rows(1), 1, || Ok((None, Some(7)))), Ok((None, Some(7))));
            });
            assert_eq!(emptiness(rows(1), answer(true, true)), Ok(false));
            assert_eq!(range(rows(1), 1, || Ok((None, None))), Ok((None, None)));
        });
    }

    #[test]
    fn systems_that_differ_in_names_alone_have_one_answer_and_others_their_own() {
        let between = |name: &str, low: i64, high: i64| {
            let value = Aff::var(name);
            let ends = [
                Constraint::le(&Aff::constant(low), &value).unwrap(),
                Constraint::le(&value, &Aff::constant(high)).unwrap(),
            ];
            System::new(&ends).unwrap()
        };
        remembering(|| {
            for name in ["i", "j"] {
                for (low, high) in [(0, 3), (3, 0), (2, 2), (-4, -5)] {
                    let system = between(name, low, high);
                    assert_eq!(system.is_empty(), Ok(low > high));
                    let range = if low > high { (0, -1) } else { (low, high) };
                    assert_eq!(system.constant_range(&Aff::var(name)), Ok((Some(range.0), Some(range.1))));
                }
            }
        });
    }
}
