//! A conjunction of named constraints, and the queries that lowering and legality make on it.
//!
//! Every name stands for an integer. Inside, a [`System`] is dense rows with a column for each name
//! and for each division that occurs; a division `q = floor(f/d)` adds its two defining
//! inequalities `0 <= f - d*q < d`. Queries are answered by elimination in plain Rust
//! ([`System::eliminate`]) if that is exact over the integers, and otherwise by isl.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    Aff, Constraint, Error, Kind, Name, Result, Term,
    eliminate::{Outcome, Shadow, project_from},
    isl::{Disjunct, IslMap, Shape, isl_only},
    memo,
    reduced::Reduced,
    rows::{Rows, combine, mul_add},
};

/// A conjunction of constraints over named integers. See the module's head.
///
/// Equality compares the constraints as given, in order.
#[derive(Clone, Debug)]
pub struct System {
    pub(crate) constraints: Vec<Constraint>,
    /// The term whose coefficients are in column `k + 1`; column 0 has the constants.
    pub(crate) terms: Vec<Term>,
    /// The constraints in matrix form: row `i` is constraint `i`.
    pub(crate) rows: Rows,
    /// The defining inequalities of the divisions, two per division.
    pub(crate) definitions: Rows,
    /// The reduced form of both, once a query has needed it.
    reduced: OnceLock<Arc<Reduced>>,
}

/// The column of a term, where column `k + 1` stands for the term of number `k`.
fn column_of(terms: &[Term], term: &Term) -> Option<usize> {
    terms.iter().position(|t| t == term).map(|k| k + 1)
}

/// Writes a function into a row of zeros, if all of its terms have columns.
fn fill_row(terms: &[Term], aff: &Aff, row: &mut [i64]) -> Option<()> {
    row[0] = aff.constant_term();
    for (term, c) in aff.terms() {
        row[column_of(terms, term)?] = *c;
    }
    Some(())
}

/// Eliminates the pivots of solved equalities from a row, in the order in which they were solved.
fn substitute_solved(solved: &[(usize, Vec<i64>)], row: &mut Vec<i64>) -> Result<()> {
    for (pivot, equality) in solved {
        if row[*pivot] != 0 {
            let factor = row[*pivot].checked_mul(-equality[*pivot]).ok_or(Error::Overflow)?;
            *row = combine(1, row, factor, equality)?;
        }
    }
    Ok(())
}

/// The result of plain elimination about integer points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Emptiness {
    Empty,
    NotEmpty,
    Unknown,
}

impl PartialEq for System {
    fn eq(&self, other: &Self) -> bool {
        self.constraints == other.constraints
    }
}

impl Eq for System {}

/// Serialised as its constraints.
impl Serialize for System {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.constraints.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for System {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let constraints = Vec::<Constraint>::deserialize(deserializer)?;
        System::new(&constraints).map_err(serde::de::Error::custom)
    }
}

impl std::hash::Hash for System {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.constraints.hash(state);
    }
}

impl Default for System {
    fn default() -> Self {
        System {
            constraints: Vec::new(),
            terms: Vec::new(),
            rows: Rows::new(1),
            definitions: Rows::new(1),
            reduced: OnceLock::new(),
        }
    }
}

impl System {
    /// The conjunction of these constraints; all points if there are none.
    pub fn new(constraints: &[Constraint]) -> Result<Self> {
        System::of(constraints.to_vec())
    }

    /// The conjunction of these constraints, taken by value.
    pub fn of(constraints: Vec<Constraint>) -> Result<Self> {
        let mut system = System::default();
        system.push_rows(&constraints)?;
        system.constraints = constraints;
        Ok(system)
    }

    /// A system that no point satisfies.
    pub fn nothing() -> Self {
        let never = Constraint::nonneg(Aff::constant(-1));
        let mut rows = Rows::new(1);
        rows.push(false, &[-1]);
        System { constraints: vec![never], rows, ..System::default() }
    }

    /// Adds one constraint at the end.
    pub fn add(&mut self, constraint: &Constraint) -> Result<()> {
        self.add_all(std::slice::from_ref(constraint))
    }

    /// Adds constraints at the end.
    pub fn add_all(&mut self, constraints: &[Constraint]) -> Result<()> {
        self.push_rows(constraints)?;
        self.constraints.extend_from_slice(constraints);
        Ok(())
    }

    /// The conjunction with more constraints.
    pub fn with(&self, constraints: &[Constraint]) -> Result<Self> {
        let mut system = self.clone();
        system.add_all(constraints)?;
        Ok(system)
    }

    /// The constraints as given, in order.
    pub fn constraints(&self) -> &[Constraint] {
        &self.constraints
    }

    /// The names that occur, in order of first occurrence.
    pub fn names(&self) -> Vec<Name> {
        self.terms
            .iter()
            .filter_map(|t| match t {
                Term::Var(name) => Some(name.clone()),
                Term::Div(_) => None,
            })
            .collect()
    }

    /// Whether the constraints hold for these values; `None` if a name has no value.
    pub fn holds(&self, values: &dyn Fn(&Name) -> Option<i64>) -> Option<bool> {
        for constraint in &self.constraints {
            if !constraint.holds(values)? {
                return Some(false);
            }
        }
        Some(true)
    }

    pub(crate) fn column(&self, term: &Term) -> Option<usize> {
        column_of(&self.terms, term)
    }

    /// Gives every term of a function a column, the terms of a numerator before its division, and
    /// appends those of its own terms.
    fn intern(&mut self, aff: &Aff, columns: &mut Vec<usize>) -> Result<()> {
        for (term, _) in aff.terms() {
            if let Some(known) = self.column(term) {
                columns.push(known);
                continue;
            }
            if let Term::Div(div) = term {
                self.intern(&div.numerator, &mut Vec::new())?;
            }
            self.terms.push(term.clone());
            columns.push(self.terms.len());
        }
        Ok(())
    }

    /// Widens the rows to the columns, and defines the divisions added since the last call.
    fn define(&mut self) -> Result<()> {
        let known = self.rows.width();
        let width = self.terms.len() + 1;
        if width == known {
            return Ok(());
        }
        self.rows.widen(width);
        self.definitions.widen(width);
        for column in known..width {
            let Term::Div(div) = self.terms[column - 1].clone() else { continue };
            let mut low = self.row_of(&div.numerator)?;
            low[column] = mul_add(low[column], -1, div.denominator)?;
            let mut high = Vec::with_capacity(width);
            for c in &low {
                high.push(c.checked_neg().ok_or(Error::Overflow)?);
            }
            high[0] = mul_add(high[0], 1, div.denominator - 1)?;
            self.definitions.push(false, &low);
            self.definitions.push(false, &high);
        }
        Ok(())
    }

    /// Appends the rows of constraints, and the columns that they introduce.
    fn push_rows(&mut self, constraints: &[Constraint]) -> Result<()> {
        self.reduced = OnceLock::new();
        let mut columns = Vec::with_capacity(4 * constraints.len());
        for constraint in constraints {
            self.intern(&constraint.aff, &mut columns)?;
        }
        self.define()?;
        self.rows.reserve(constraints.len());
        let mut columns = columns.into_iter();
        for Constraint { kind, aff } in constraints {
            let row = self.rows.push_zeros(*kind == Kind::Eq);
            row[0] = aff.constant_term();
            for ((_, c), column) in aff.terms().iter().zip(columns.by_ref()) {
                row[column] = *c;
            }
        }
        Ok(())
    }

    /// The row of a function all of whose terms have columns.
    pub(crate) fn row_of(&self, aff: &Aff) -> Result<Vec<i64>> {
        self.known_row(aff).ok_or_else(|| Error::Space(format!("no column for {aff}")))
    }

    /// The rows of the constraints and of the definitions together, with room for two more.
    pub(crate) fn all_rows(&self) -> Rows {
        let mut rows = Rows::with_capacity(self.rows.width(), self.rows.len() + self.definitions.len() + 2);
        rows.extend(&self.rows);
        rows.extend(&self.definitions);
        rows
    }

    /// Whether there is no integer point.
    pub fn is_empty(&self) -> Result<bool> {
        self.decide(self.all_rows(), 0)
    }

    /// The reduced form of all rows; `None` if its numbers do not fit.
    fn reduced(&self) -> Option<&Reduced> {
        if self.reduced.get().is_none() {
            let found = memo::reduced(self.all_rows(), Reduced::of)?;
            let _ = self.reduced.set(found);
        }
        self.reduced.get().map(|reduced| &**reduced)
    }

    /// Whether there is no integer point that satisfies more constraints too.
    pub fn is_empty_with(&self, more: &[Constraint]) -> Result<bool> {
        let mut added = Vec::with_capacity(more.len());
        for constraint in more {
            match self.known_row(&constraint.aff) {
                Some(row) => added.push((constraint.kind == Kind::Eq, row)),
                None => return self.with(more)?.is_empty(),
            }
        }
        if !isl_only()
            && let Some(reduced) = self.reduced()
        {
            if reduced.is_never() {
                return Ok(true);
            }
            let mut rows = reduced.rows();
            let tidy = rows.len();
            // Numbers that do not fit are left to isl.
            let own = added.iter().map(|(eq, row)| Ok((*eq, reduced.row(row)?)));
            if let Ok(own) = own.collect::<Result<Vec<_>>>() {
                own.iter().for_each(|(eq, row)| rows.push(*eq, row));
                return self.decide(rows, tidy);
            }
        }
        let mut rows = self.all_rows();
        for (eq, row) in &added {
            rows.push(*eq, row);
        }
        self.decide(rows, 0)
    }

    /// Whether rows have no integer point. Those before `tidy` are tidy.
    fn decide(&self, rows: Rows, tidy: usize) -> Result<bool> {
        let by_isl = |rows: Rows| {
            let shape = Shape { params: 0, ins: 0, outs: rows.width() - 1 };
            IslMap::new(shape, &[Disjunct { rows }])?.is_empty()
        };
        if isl_only() {
            return by_isl(rows);
        }
        memo::emptiness(rows, |rows| {
            Ok(match plain_emptiness(rows, tidy) {
                Emptiness::Empty => memo::Emptiness { empty: true, by_isl: false },
                Emptiness::NotEmpty => memo::Emptiness { empty: false, by_isl: false },
                Emptiness::Unknown => memo::Emptiness { empty: by_isl(rows.clone())?, by_isl: true },
            })
        })
    }

    /// Whether a function is zero by the equalities alone, each solved for a name with a unit
    /// coefficient: a quick test of whether two functions are equal here. `false` is inconclusive.
    pub fn vanishes(&self, aff: &Aff) -> bool {
        self.remainder(aff).is_ok_and(|row| row.is_some_and(|row| row.iter().all(|c| *c == 0)))
    }

    /// The remainder of a function after substituting equalities solved for names with unit
    /// coefficients; `None` if it has other terms.
    fn remainder(&self, aff: &Aff) -> Result<Option<Vec<i64>>> {
        let Some(mut target) = self.known_row(aff) else { return Ok(None) };
        let mut solved: Vec<(usize, Vec<i64>)> = Vec::new();
        for i in (0..self.rows.len()).filter(|i| self.rows.is_eq(*i)) {
            let mut row = self.rows.row(i).to_vec();
            substitute_solved(&solved, &mut row)?;
            let unit = (1..row.len()).find(|c| row[*c].unsigned_abs() == 1);
            if let Some(pivot) = unit {
                solved.push((pivot, row));
            }
        }
        substitute_solved(&solved, &mut target)?;
        Ok(Some(target))
    }

    /// Whether every integer point satisfies the constraint. True for a system without points.
    pub fn implies(&self, constraint: &Constraint) -> Result<bool> {
        if self.constraints.contains(constraint) {
            return Ok(true);
        }
        if constraint.aff.as_constant().is_some() && constraint.holds(&|_| None) == Some(true) {
            return Ok(true);
        }
        let eq = constraint.kind == Kind::Eq;
        if let Some(row) = self.known_row(&constraint.aff) {
            return self.implies_row(&row, eq);
        }
        let mut wider = self.clone();
        wider.reduced = OnceLock::new();
        wider.intern(&constraint.aff, &mut Vec::new())?;
        wider.define()?;
        let row = wider.row_of(&constraint.aff)?;
        wider.implies_row(&row, eq)
    }

    /// Whether a row over all columns is zero, or at least zero, in every integer point.
    fn implies_row(&self, row: &[i64], eq: bool) -> Result<bool> {
        if !isl_only()
            && let Some(reduced) = self.reduced()
            && let Ok(row) = reduced.row(row)
        {
            if reduced.obviously_implies(&row, eq)? {
                return Ok(true);
            }
            let rows = reduced.rows();
            let tidy = rows.len();
            return self.rows_imply(rows, tidy, &row, eq);
        }
        self.rows_imply(self.all_rows(), 0, row, eq)
    }

    /// Whether every integer point satisfies all of these constraints.
    pub fn implies_all(&self, constraints: &[Constraint]) -> Result<bool> {
        for c in constraints {
            if !self.implies(c)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The row of a function, if all of its terms already have columns.
    fn known_row(&self, aff: &Aff) -> Option<Vec<i64>> {
        let mut row = vec![0; self.terms.len() + 1];
        fill_row(&self.terms, aff, &mut row)?;
        Some(row)
    }

    /// Whether `rows`, tidy before `tidy`, imply that `row` is zero, or at least zero.
    fn rows_imply(&self, mut rows: Rows, tidy: usize, row: &[i64], eq: bool) -> Result<bool> {
        // The common case is a single row that is at least as strong.
        for i in 0..rows.len() {
            let (known, constant) = (&rows.row(i)[1..], rows.row(i)[0]);
            if *known == row[1..] {
                let stronger = if rows.is_eq(i) {
                    constant == row[0] || (!eq && constant <= row[0])
                } else {
                    !eq && constant <= row[0]
                };
                if stronger {
                    return Ok(true);
                }
            }
        }
        let mut below = Vec::with_capacity(row.len());
        for c in row {
            below.push(c.checked_neg().ok_or(Error::Overflow)?);
        }
        below[0] = mul_add(below[0], -1, 1)?;
        if eq {
            let mut above = row.to_vec();
            above[0] = mul_add(above[0], -1, 1)?;
            let mut more = rows.clone();
            more.push(false, &above);
            if !self.decide(more, tidy)? {
                return Ok(false);
            }
        }
        rows.push(false, &below);
        self.decide(rows, tidy)
    }

    /// The constraints of this system that are not redundant given the context, in their order and
    /// form: none of them follows from the context and the others, and together with the context
    /// they are equivalent to the whole system.
    pub fn gist(&self, context: &System) -> Result<Vec<Constraint>> {
        self.gist_in(&[context])
    }

    /// [`gist`](Self::gist) for the case that one of the contexts holds, but not which is known.
    pub(crate) fn gist_in(&self, contexts: &[&System]) -> Result<Vec<Constraint>> {
        let both: Vec<(System, usize)> = contexts
            .iter()
            .map(|context| Ok((context.with(&self.constraints)?, context.constraints.len())))
            .collect::<Result<_>>()?;
        let implied = |i: usize, chosen: &dyn Fn(usize) -> bool| -> Result<bool> {
            for (both, first) in &both {
                if !both.implied_by_others(first + i, &|k| k < *first || chosen(k - first))? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        let mut kept = vec![true; self.constraints.len()];
        // Constraints implied by the context alone are dropped first, then the most complicated,
        // the later of two equals.
        for (i, kept) in kept.iter_mut().enumerate() {
            *kept = !implied(i, &|_| false)?;
        }
        let mut order: Vec<usize> = (0..kept.len()).filter(|&i| kept[i]).collect();
        order.sort_by_key(|&i| std::cmp::Reverse((complexity(&self.constraints[i]), i)));
        for i in order {
            kept[i] = !implied(i, &|k| k != i && kept[k])?;
        }
        Ok(self.constraints.iter().zip(kept).filter(|(_, kept)| *kept).map(|(c, _)| c.clone()).collect())
    }

    /// Whether the chosen constraints imply constraint `i`.
    pub(crate) fn implied_by_others(&self, i: usize, chosen: &dyn Fn(usize) -> bool) -> Result<bool> {
        let mut rows = Rows::new(self.rows.width());
        for k in 0..self.rows.len() {
            if chosen(k) {
                if k != i && self.constraints[k] == self.constraints[i] {
                    return Ok(true);
                }
                rows.push(self.rows.is_eq(k), self.rows.row(k));
            }
        }
        rows.extend(&self.definitions);
        self.rows_imply(rows, 0, self.rows.row(i), self.rows.is_eq(i))
    }

    /// The system with some names fixed.
    pub fn fix(&self, values: &BTreeMap<Name, i64>) -> Result<Self> {
        let constraints: Vec<Constraint> = self
            .constraints
            .iter()
            .map(|c| c.substitute(&|n| values.get(n).map(|v| Aff::constant(*v))))
            .collect::<Result<_>>()?;
        System::new(&constraints)
    }
}

/// Plain elimination of every column. The rows before `tidy` are tidy.
pub(crate) fn plain_emptiness(rows: &Rows, tidy: usize) -> Emptiness {
    let run = |shadow| {
        let mut work = rows.clone();
        let mut out = vec![true; rows.width()];
        out[0] = false;
        // No column is kept, so no division of kept columns can arise: the terms are never read.
        project_from(&mut work, tidy, &mut Vec::new(), &mut out, shadow)
    };
    match run(Shadow::Real) {
        Ok(Outcome::Empty) => Emptiness::Empty,
        Ok(Outcome::Done { exact: true }) => Emptiness::NotEmpty,
        Ok(Outcome::Done { exact: false }) => match run(Shadow::Dark) {
            Ok(Outcome::Done { .. }) => Emptiness::NotEmpty,
            _ => Emptiness::Unknown,
        },
        Err(_) => Emptiness::Unknown,
    }
}

/// A measure of the complexity of a constraint.
pub(crate) fn complexity(constraint: &Constraint) -> (usize, usize, i64) {
    let terms = constraint.aff.terms();
    let divisions = terms.iter().filter(|(t, _)| matches!(t, Term::Div(_))).count();
    let largest = terms.iter().map(|(_, c)| c.saturating_abs()).max().unwrap_or(0);
    (divisions, terms.len(), largest)
}

/// The constraints with `and` between them: `0 <= i and i < n`.
impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.constraints.is_empty() {
            return write!(f, "true");
        }
        for (k, constraint) in self.constraints.iter().enumerate() {
            write!(f, "{}{constraint}", if k == 0 { "" } else { " and " })?;
        }
        Ok(())
    }
}
