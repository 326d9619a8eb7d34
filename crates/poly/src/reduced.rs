//! Rows without what their equalities determine, for many queries about one system.
//!
//! A query adds a row or two to the same rows: whether each of several constraints follows, whether
//! any of several cases is possible. An equality with a unit coefficient determines a column, which
//! is substituted once for all queries, and in each row that a query adds. Most of what is asked is
//! then a multiple of a known row, or follows from constant bounds of columns alone.

use crate::{
    Error, Result,
    eliminate::substitute_units,
    rows::{Reduced as Divided, Rows, mul_add, reduce},
};

/// The rows of a system, reduced.
#[derive(Clone, Debug)]
pub(crate) struct Reduced {
    /// What remains, tidy, over the kept columns; it has a point if and only if the rows have one.
    rows: Rows,
    /// Whether a contradiction was found.
    never: bool,
    /// The columns that were determined, with their equalities, in the order in which they were
    /// solved.
    solved: Vec<(usize, Vec<i64>)>,
    /// The columns of the system that remain; the constant comes first.
    kept: Vec<usize>,
    /// Constant bounds of the kept columns.
    bounds: Vec<[Option<i64>; 2]>,
}

impl Reduced {
    /// The reduced form of rows.
    ///
    /// Errors: numbers beyond 64 bits.
    pub(crate) fn of(mut rows: Rows) -> Result<Reduced> {
        let mut solved = Vec::new();
        let never = !substitute_units(&mut rows, &mut solved)?;
        let is_kept = |column: &usize| !solved.iter().any(|(pivot, _)| pivot == column);
        let kept: Vec<usize> = (0..rows.width()).filter(is_kept).collect();
        let mut narrow = Rows::with_capacity(kept.len(), rows.len() + 2);
        for i in 0..rows.len() {
            let row = rows.row(i);
            let entries = narrow.push_zeros(rows.is_eq(i));
            for (entry, column) in entries.iter_mut().zip(&kept) {
                *entry = row[*column];
            }
        }
        let bounds = constant_bounds(&narrow);
        Ok(Reduced { rows: narrow, never, solved, kept, bounds })
    }

    /// Whether no point satisfies the rows, as far as reducing them has shown.
    pub(crate) fn is_never(&self) -> bool {
        self.never
    }

    /// The rows, with room for two more; those that are there are tidy.
    pub(crate) fn rows(&self) -> Rows {
        let mut rows = Rows::with_capacity(self.rows.width(), self.rows.len() + 2);
        rows.extend(&self.rows);
        rows
    }

    /// A row over the system's columns as one over the kept columns.
    pub(crate) fn row(&self, row: &[i64]) -> Result<Vec<i64>> {
        let mut row = row.to_vec();
        for (pivot, equality) in &self.solved {
            if row[*pivot] != 0 {
                let factor = row[*pivot].checked_mul(-equality[*pivot]).ok_or(Error::Overflow)?;
                for (entry, solved) in row.iter_mut().zip(equality) {
                    *entry = mul_add(*entry, factor, *solved)?;
                }
            }
        }
        Ok(self.kept.iter().map(|column| row[*column]).collect())
    }

    /// Whether a row over the kept columns is at least zero, or zero, by one of the rows or by
    /// constant bounds. `false` is inconclusive.
    pub(crate) fn obviously_implies(&self, row: &[i64], eq: bool) -> Result<bool> {
        if self.never {
            return Ok(true);
        }
        if !self.is_obviously_nonneg(row) {
            return Ok(false);
        }
        if !eq {
            return Ok(true);
        }
        let mut negative = Vec::with_capacity(row.len());
        for c in row {
            negative.push(c.checked_neg().ok_or(Error::Overflow)?);
        }
        Ok(self.is_obviously_nonneg(&negative))
    }

    fn is_obviously_nonneg(&self, row: &[i64]) -> bool {
        let mut row = row.to_vec();
        match reduce(&mut row, false) {
            Divided::Always => return true,
            Divided::Never => return false,
            Divided::Row => {}
        }
        if self.least(&row).is_some_and(|least| least >= 0) {
            return true;
        }
        let lead = 1 + row[1..].iter().position(|c| *c != 0).unwrap_or(0);
        for i in 0..self.rows.len() {
            let known = self.rows.row(i);
            if known[lead] == row[lead] && known[1..] == row[1..] && known[0] <= row[0] {
                return true;
            }
            let opposite = |(a, b): (&i64, &i64)| a.checked_neg() == Some(*b);
            if self.rows.is_eq(i)
                && known[lead] == row[lead].wrapping_neg()
                && known[1..].iter().zip(&row[1..]).all(opposite)
                && known[0].checked_neg().is_some_and(|constant| constant <= row[0])
            {
                return true;
            }
        }
        false
    }

    /// A number that a row is at least, by the constant bounds of columns.
    fn least(&self, row: &[i64]) -> Option<i64> {
        let mut least = row[0];
        for (c, [low, high]) in row.iter().zip(&self.bounds).skip(1) {
            match c.signum() {
                0 => {}
                1 => least = mul_add(least, *c, (*low)?).ok()?,
                _ => least = mul_add(least, *c, (*high)?).ok()?,
            }
        }
        Some(least)
    }
}

/// The bounds of each column that rows of this column alone give. Tidy rows have coefficients of 1
/// and -1 there.
fn constant_bounds(rows: &Rows) -> Vec<[Option<i64>; 2]> {
    let mut bounds = vec![[None; 2]; rows.width()];
    for i in 0..rows.len() {
        let row = rows.row(i);
        let mut entries = row.iter().enumerate().skip(1).filter(|(_, c)| **c != 0);
        let (Some((column, c)), None) = (entries.next(), entries.next()) else { continue };
        let [low, high]: &mut [Option<i64>; 2] = &mut bounds[column];
        let constant = row[0];
        if let (1, Some(bound)) = (*c, constant.checked_neg()) {
            *low = Some(low.map_or(bound, |old: i64| old.max(bound)));
            if rows.is_eq(i) {
                *high = Some(high.map_or(bound, |old: i64| old.min(bound)));
            }
        }
        if *c == -1 {
            *high = Some(high.map_or(constant, |old: i64| old.min(constant)));
            if rows.is_eq(i) {
                *low = Some(low.map_or(constant, |old: i64| old.max(constant)));
            }
        }
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `i = 16*q + r`, `0 <= r < 16`, `0 <= q`, with columns `i`, `q`, `r`.
    fn split() -> Reduced {
        let mut rows = Rows::new(4);
        rows.push(true, &[0, -1, 16, 1]);
        rows.push(false, &[0, 0, 0, 1]);
        rows.push(false, &[15, 0, 0, -1]);
        rows.push(false, &[0, 0, 1, 0]);
        Reduced::of(rows).unwrap()
    }

    #[test]
    fn determined_columns_are_substituted_in_rows_and_queries() {
        let reduced = split();
        assert!(!reduced.is_never());
        // One column of three is determined; the other two have three bounds.
        assert_eq!((reduced.rows.width(), reduced.rows.len()), (3, 3));
        // i - 16*q is r, whichever column was substituted.
        let difference = reduced.row(&[0, 1, -16, 0]).unwrap();
        assert_eq!(difference, reduced.row(&[0, 0, 0, 1]).unwrap());
    }

    #[test]
    fn rows_and_bounds_imply_what_is_at_most_as_strong() {
        let reduced = split();
        let obvious = |row: [i64; 4], eq| reduced.obviously_implies(&reduced.row(&row).unwrap(), eq).unwrap();
        // 0 <= i - 16*q <= 15, and so 2*(i - 16*q) <= 31.
        assert!(obvious([0, 1, -16, 0], false));
        assert!(obvious([15, -1, 16, 0], false));
        assert!(obvious([31, -2, 32, 0], false));
        assert!(!obvious([14, -1, 16, 0], false));
        assert!(!obvious([-1, 1, -16, 0], false));
        assert!(obvious([0, 1, -16, -1], true));
        assert!(!obvious([0, 1, -16, 0], true));
        assert!(!obvious([0, 0, -1, 0], false));
    }

    #[test]
    fn equalities_without_a_unit_stay_and_contradictions_show() {
        let mut rows = Rows::new(3);
        rows.push(true, &[0, 2, 3]);
        let reduced = Reduced::of(rows.clone()).unwrap();
        assert_eq!((reduced.rows.width(), reduced.rows.len()), (3, 1));
        assert!(reduced.obviously_implies(&[0, -2, -3], false).unwrap());
        assert!(reduced.obviously_implies(&[1, -2, -3], false).unwrap());
        assert!(!reduced.obviously_implies(&[-1, -2, -3], false).unwrap());
        rows.push(true, &[1, 2, 3]);
        assert!(Reduced::of(rows).unwrap().is_never());
    }
}
