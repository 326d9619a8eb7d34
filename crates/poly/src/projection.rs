//! Projections of systems: in plain Rust if that is exact, otherwise by isl, whose answer may be a
//! union.

use crate::{
    Aff, Constraint, Error, Kind, Name, Result, System, Term,
    eliminate::{Outcome, Shadow, project, row_aff},
    isl::{Answer, Disjunct, IslMap, Shape, isl_only},
    memo,
    rows::{Rows, mul_add, reduce},
};

/// The result of an elimination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elimination {
    /// The constraints on the names that were kept.
    pub system: System,
    /// Whether the system is exactly the integer projection. If not, it contains the projection.
    pub exact: bool,
}

impl System {
    /// Integer projection onto the names that are not listed. Exact if equalities, unit
    /// coefficients or divisions of kept names suffice.
    pub fn eliminate(&self, names: &[Name]) -> Result<Elimination> {
        self.project_out(&|name| names.contains(name))
    }

    /// Integer projection onto the names for which `keep` holds.
    pub fn keep_only(&self, keep: &dyn Fn(&Name) -> bool) -> Result<Elimination> {
        self.project_out(&|name| !keep(name))
    }

    fn project_out(&self, goes: &dyn Fn(&Name) -> bool) -> Result<Elimination> {
        let mut out = self.going(goes);
        if !out.contains(&true) {
            return Ok(Elimination { system: self.clone(), exact: true });
        }
        let mut shadow = Err(Error::Budget);
        if !isl_only() {
            let (mut rows, mut terms) = (self.all_rows(), self.terms.clone());
            shadow = match project(&mut rows, &mut terms, &mut out, Shadow::Real) {
                Ok(Outcome::Empty) => return Ok(Elimination { system: System::nothing(), exact: true }),
                Ok(Outcome::Done { exact }) => {
                    let system = System::of(row_constraints(&rows, &terms)?)?;
                    if exact {
                        return Ok(Elimination { system, exact });
                    }
                    Ok(system)
                }
                Err(error) => Err(error),
            };
        }
        match (self.project_by_isl(goes), shadow) {
            (Ok(mut pieces), shadow) => match (pieces.len(), shadow) {
                (0, _) => Ok(Elimination { system: System::nothing(), exact: true }),
                (1, _) => Ok(Elimination { system: pieces.swap_remove(0), exact: true }),
                // Several pieces are not a conjunction: the constraints they have in common contain
                // them.
                (_, Ok(system)) => Ok(Elimination { system, exact: false }),
                (_, Err(_)) => Ok(Elimination { system: common(&pieces)?, exact: false }),
            },
            (Err(_), Ok(system)) => Ok(Elimination { system, exact: false }),
            (Err(error), Err(_)) => Err(error),
        }
    }

    /// Exact integer projection that eliminates the names for which `goes` holds, as a union of
    /// systems.
    pub fn project_exactly(&self, goes: &dyn Fn(&Name) -> bool) -> Result<Vec<System>> {
        if !isl_only() {
            let plain = self.project_plainly(goes);
            if let Ok(Some(system)) = plain {
                return Ok(vec![system]);
            }
        }
        self.project_by_isl(goes)
    }

    fn going(&self, goes: &dyn Fn(&Name) -> bool) -> Vec<bool> {
        let mut out = Vec::with_capacity(self.terms.len() + 1);
        out.push(false);
        for term in &self.terms {
            out.push(match term {
                Term::Var(name) => goes(name),
                Term::Div(div) => div.numerator.mentions_any(goes),
            });
        }
        out
    }

    /// The projection if plain elimination is exact.
    pub(crate) fn project_plainly(&self, goes: &dyn Fn(&Name) -> bool) -> Result<Option<System>> {
        let mut out = self.going(goes);
        if !out.contains(&true) {
            return Ok(Some(self.clone()));
        }
        let (mut rows, mut terms) = (self.all_rows(), self.terms.clone());
        Ok(match project(&mut rows, &mut terms, &mut out, Shadow::Real)? {
            Outcome::Empty => Some(System::nothing()),
            Outcome::Done { exact: true } => Some(System::of(row_constraints(&rows, &terms)?)?),
            Outcome::Done { exact: false } => None,
        })
    }

    fn project_by_isl(&self, goes: &dyn Fn(&Name) -> bool) -> Result<Vec<System>> {
        let kept: Vec<Name> = self.names().into_iter().filter(|n| !goes(n)).collect();
        let shape = Shape { params: 0, ins: 0, outs: kept.len() };
        let project = |rows: Rows| IslMap::new(shape, &[Disjunct { rows }])?.answer();
        let answers = memo::projected(self.disjunct(&kept).rows, kept.len(), project)?;
        answers.iter().map(|a| System::from_answer(a, &kept)).collect()
    }

    /// The rows with the columns of these names first; all other columns become existential.
    pub(crate) fn disjunct(&self, names: &[Name]) -> Disjunct {
        let mut columns: Vec<Option<usize>> =
            names.iter().map(|n| self.column(&Term::Var(n.clone()))).collect();
        for column in 1..=self.terms.len() {
            if !columns.contains(&Some(column)) {
                columns.push(Some(column));
            }
        }
        let from = self.all_rows();
        let mut rows = Rows::new(columns.len() + 1);
        for i in 0..from.len() {
            let row = from.row(i);
            let mut next = vec![row[0]];
            next.extend(columns.iter().map(|c| c.map_or(0, |c| row[c])));
            rows.push(from.is_eq(i), &next);
        }
        Disjunct { rows }
    }

    /// The system of rows returned by isl, for these names.
    pub(crate) fn from_answer(answer: &Answer, names: &[Name]) -> Result<System> {
        let mut columns: Vec<Aff> = names.iter().map(Aff::var).collect();
        let sum = |row: &[i64], columns: &[Aff]| {
            let mut sum = Aff::constant(row[0]);
            for (k, c) in row[1..].iter().enumerate().filter(|(_, c)| **c != 0) {
                let column = columns.get(k).ok_or_else(|| Error::Isl("a division of a later one".into()))?;
                sum = sum.add(&column.scale(*c)?)?;
            }
            Ok::<Aff, Error>(sum)
        };
        for division in &answer.divisions {
            let quotient = sum(&division.numerator, &columns)?.floor_div(division.denominator)?;
            columns.push(quotient);
        }
        let mut constraints = Vec::with_capacity(answer.rows.len());
        for i in 0..answer.rows.len() {
            let kind = if answer.rows.is_eq(i) { Kind::Eq } else { Kind::Ge };
            constraints.push(Constraint { kind, aff: sum(answer.rows.row(i), &columns)? });
        }
        let system = System::new(&constraints)?;
        System::of(row_constraints(&system.rows, &system.terms)?)
    }
}

/// The constraints of the first piece that all the others imply.
fn common(pieces: &[System]) -> Result<System> {
    let mut constraints = Vec::new();
    for constraint in &pieces[0].constraints {
        let mut everywhere = true;
        for piece in &pieces[1..] {
            everywhere = everywhere && piece.implies(constraint)?;
        }
        if everywhere {
            constraints.push(constraint.clone());
        }
    }
    System::new(&constraints)
}

/// Rows as constraints, without those that only define a division.
pub(crate) fn row_constraints(rows: &Rows, terms: &[Term]) -> Result<Vec<Constraint>> {
    let mut rows = rows.clone();
    if !rows.tidy()? {
        return Ok(vec![Constraint::nonneg(Aff::constant(-1))]);
    }
    // The definitions as rows, tightened like the others, so that they are recognised.
    let mut defined: Vec<Vec<i64>> = Vec::new();
    for (k, term) in terms.iter().enumerate() {
        let Term::Div(div) = term else { continue };
        let Some(mut low) = row_over(&div.numerator, terms, rows.width()) else { continue };
        low[k + 1] = mul_add(low[k + 1], -1, div.denominator)?;
        let mut high: Vec<i64> = low.iter().map(|c| c.saturating_neg()).collect();
        high[0] = mul_add(high[0], 1, div.denominator - 1)?;
        for mut row in [low, high] {
            reduce(&mut row, false);
            defined.push(row);
        }
    }
    let mut constraints = Vec::with_capacity(rows.len());
    for i in 0..rows.len() {
        if rows.is_eq(i) || !defined.iter().any(|d| d == rows.row(i)) {
            let aff = row_aff(rows.row(i), terms)?;
            constraints.push(Constraint { kind: if rows.is_eq(i) { Kind::Eq } else { Kind::Ge }, aff });
        }
    }
    Ok(constraints)
}

/// The row of a function over columns with these terms, if it has no others.
fn row_over(aff: &Aff, terms: &[Term], width: usize) -> Option<Vec<i64>> {
    let mut row = vec![0; width];
    row[0] = aff.constant_term();
    for (term, c) in aff.terms() {
        row[terms.iter().position(|t| t == term)? + 1] = *c;
    }
    Some(row)
}
