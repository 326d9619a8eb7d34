//! Dense rows of checked `i64`, the representation of every query that is answered in plain Rust.
//!
//! Column 0 is the constant; the meaning of the other columns is up to the owner of the rows. A row
//! is an equality (`= 0`) or an inequality (`>= 0`).

use crate::{Error, Result, aff::gcd};

/// A conjunction of rows, stored flat.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rows {
    width: usize,
    data: Vec<i64>,
    eq: Vec<bool>,
}

impl Rows {
    /// No rows, of `width` entries each (the constant included).
    pub(crate) fn new(width: usize) -> Self {
        Rows { width, data: Vec::new(), eq: Vec::new() }
    }

    /// No rows, with capacity for `rows` rows.
    pub(crate) fn with_capacity(width: usize, rows: usize) -> Self {
        Rows { width, data: Vec::with_capacity(width * rows), eq: Vec::with_capacity(rows) }
    }

    /// Reserves capacity for `rows` more rows.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.data.reserve(self.width * rows);
        self.eq.reserve(rows);
    }

    /// Entries per row, including the constant.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The number of constraints.
    pub(crate) fn len(&self) -> usize {
        self.eq.len()
    }

    /// Number of entries of all rows.
    pub(crate) fn numbers(&self) -> usize {
        self.data.len()
    }

    /// A short number for the rows, the same for equal ones. What the standard library would make
    /// of them takes longer than many a query.
    pub(crate) fn digest(&self) -> u64 {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut digest = self.width as u64;
        for entry in &self.data {
            digest = (digest.rotate_left(23) ^ *entry as u64).wrapping_mul(FACTOR);
        }
        for eq in &self.eq {
            digest = digest.rotate_left(1) ^ u64::from(*eq);
        }
        digest ^ (digest >> 32)
    }

    /// The entries of one row.
    pub(crate) fn row(&self, index: usize) -> &[i64] {
        &self.data[index * self.width..(index + 1) * self.width]
    }

    /// The entry of a row in a column, the constant included.
    pub(crate) fn at(&self, row: usize, column: usize) -> i64 {
        self.data[row * self.width + column]
    }

    fn row_mut(&mut self, index: usize) -> &mut [i64] {
        &mut self.data[index * self.width..(index + 1) * self.width]
    }

    /// Whether a row is an equality.
    pub(crate) fn is_eq(&self, index: usize) -> bool {
        self.eq[index]
    }

    /// Appends a row; a row that is too short is filled with zeros.
    pub(crate) fn push(&mut self, eq: bool, row: &[i64]) {
        debug_assert!(row.len() <= self.width);
        self.data.extend_from_slice(row);
        self.data.resize(self.data.len() + self.width - row.len(), 0);
        self.eq.push(eq);
    }

    /// Appends a row of zeros, to be filled.
    pub(crate) fn push_zeros(&mut self, eq: bool) -> &mut [i64] {
        let start = self.data.len();
        self.data.resize(start + self.width, 0);
        self.eq.push(eq);
        &mut self.data[start..]
    }

    /// Appends `p * a + q * b`. Shorter rows are filled with zeros.
    pub(crate) fn push_combination(&mut self, eq: bool, p: i64, a: &[i64], q: i64, b: &[i64]) -> Result<()> {
        debug_assert!(a.len() == b.len() && a.len() <= self.width);
        let start = self.data.len();
        self.data.resize(start + self.width, 0);
        for ((entry, x), y) in self.data[start..].iter_mut().zip(a).zip(b) {
            if (*x, *y) != (0, 0) {
                *entry = mul_add(p.checked_mul(*x).ok_or(Error::Overflow)?, q, *y)?;
            }
        }
        self.eq.push(eq);
        Ok(())
    }

    /// Subtracts `by` from the constant of the last row.
    pub(crate) fn lower_last(&mut self, by: i64) -> Result<()> {
        if let Some(last) = self.len().checked_sub(1) {
            let row = self.row_mut(last);
            row[0] = row[0].checked_sub(by).ok_or(Error::Overflow)?;
        }
        Ok(())
    }

    /// Appends rows of the same width.
    pub(crate) fn extend(&mut self, other: &Rows) {
        debug_assert_eq!(other.width, self.width);
        self.data.extend_from_slice(&other.data);
        self.eq.extend_from_slice(&other.eq);
    }

    /// Pads every row with zeros to `width` entries.
    pub(crate) fn widen(&mut self, width: usize) {
        if width <= self.width {
            return;
        }
        let mut data = Vec::with_capacity(width * self.len());
        for i in 0..self.len() {
            data.extend_from_slice(self.row(i));
            data.resize((i + 1) * width, 0);
        }
        self.data = data;
        self.width = width;
    }

    /// Keeps the rows for which `keep` is true, in order.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&[i64], bool) -> bool) {
        let width = self.width;
        let mut kept = 0;
        for i in 0..self.len() {
            if keep(self.row(i), self.eq[i]) {
                if kept != i {
                    self.data.copy_within(i * width..(i + 1) * width, kept * width);
                    self.eq[kept] = self.eq[i];
                }
                kept += 1;
            }
        }
        self.data.truncate(kept * width);
        self.eq.truncate(kept);
    }

    /// Column `to` -= `factor` * column `from`: the unknown of column `from` is replaced by itself
    /// minus `factor` times the one of `to`.
    pub(crate) fn column_subtract(&mut self, to: usize, factor: i64, from: usize) -> Result<()> {
        for i in 0..self.len() {
            let row = self.row_mut(i);
            row[to] = mul_add(row[to], factor.checked_neg().ok_or(Error::Overflow)?, row[from])?;
        }
        Ok(())
    }

    /// Divides rows by their content and tightens constants to integers, drops trivial rows, keeps
    /// the strongest of parallel rows, and joins opposite inequalities that meet into an equality.
    /// Returns `false` if it finds a contradiction. The integer points stay the same.
    pub(crate) fn tidy(&mut self) -> Result<bool> {
        self.tidy_from(0)
    }

    /// [`Rows::tidy`] if the rows before `start` are already tidy.
    pub(crate) fn tidy_from(&mut self, start: usize) -> Result<bool> {
        let width = self.width;
        let mut kept = start;
        for i in start..self.len() {
            let eq = self.eq[i];
            match reduce(&mut self.data[i * width..(i + 1) * width], eq) {
                Reduced::Never => return Ok(false),
                Reduced::Always => continue,
                Reduced::Row => {}
            }
            if kept != i {
                self.data.copy_within(i * width..(i + 1) * width, kept * width);
                self.eq[kept] = eq;
            }
            // Compare with the rows already kept, first by the leading coefficient: every remaining
            // row has one.
            let (before, rest) = self.data.split_at_mut(kept * width);
            let row = &rest[..width];
            let lead = 1 + row[1..].iter().position(|c| *c != 0).unwrap_or(0);
            let (first, opposite) = (row[lead], row[lead].wrapping_neg());
            let mut drop = false;
            let mut touching = None;
            for k in 0..kept {
                let at = before[k * width + lead];
                if at != first && at != opposite {
                    continue;
                }
                let other = &mut before[k * width..(k + 1) * width];
                if at == first && other[1..] == row[1..] {
                    match (self.eq[k], eq) {
                        (true, true) if other[0] != row[0] => return Ok(false),
                        (true, true) => drop = true,
                        (true, false) if row[0] < other[0] => return Ok(false),
                        (true, false) => drop = true,
                        (false, true) if other[0] < row[0] => return Ok(false),
                        (false, true) => {
                            other[0] = row[0];
                            self.eq[k] = true;
                            drop = true;
                        }
                        (false, false) => {
                            other[0] = other[0].min(row[0]);
                            drop = true;
                        }
                    }
                } else if at == opposite
                    && other[1..].iter().zip(&row[1..]).all(|(a, b)| a.checked_neg() == Some(*b))
                {
                    let sum = other[0] as i128 + row[0] as i128;
                    match (self.eq[k], eq) {
                        (true, true) if sum != 0 => return Ok(false),
                        (_, _) if sum < 0 => return Ok(false),
                        (false, true) => {
                            other.copy_from_slice(row);
                            self.eq[k] = true;
                            drop = true;
                        }
                        (true, _) => drop = true,
                        (false, false) if sum == 0 => {
                            touching = Some(k);
                        }
                        (false, false) => {}
                    }
                }
                if drop {
                    break;
                }
            }
            if let (false, Some(k)) = (drop, touching) {
                self.eq[k] = true;
                drop = true;
            }
            if !drop {
                kept += 1;
            }
        }
        self.data.truncate(kept * width);
        self.eq.truncate(kept);
        Ok(true)
    }
}

/// The outcome of dividing a row by its content.
pub(crate) enum Reduced {
    /// Every integer point satisfies it.
    Always,
    /// No integer point satisfies it.
    Never,
    /// It is still a proper constraint.
    Row,
}

/// Divides a row by the greatest common divisor of its coefficients. The constant of an inequality
/// is rounded down, which keeps all integer points; an equality whose constant does not divide has
/// none.
pub(crate) fn reduce(row: &mut [i64], eq: bool) -> Reduced {
    let mut g = 0;
    for &c in &row[1..] {
        if c != 0 {
            // `i64::MIN`, which has no negation, is left alone.
            let Some(magnitude) = c.checked_abs() else { return Reduced::Row };
            g = if g == 0 { magnitude } else { gcd(g, magnitude) };
            if g == 1 {
                return Reduced::Row;
            }
        }
    }
    if g == 0 {
        return match (eq, row[0]) {
            (true, 0) => Reduced::Always,
            (false, c) if c >= 0 => Reduced::Always,
            _ => Reduced::Never,
        };
    }
    if eq && row[0] % g != 0 {
        return Reduced::Never;
    }
    for c in &mut row[1..] {
        *c /= g;
    }
    row[0] = row[0].div_euclid(g);
    Reduced::Row
}

/// `a + factor * b`; an error if it overflows.
pub(crate) fn mul_add(a: i64, factor: i64, b: i64) -> Result<i64> {
    factor.checked_mul(b).and_then(|p| a.checked_add(p)).ok_or(Error::Overflow)
}

/// `p * a + q * b`, entry by entry.
pub(crate) fn combine(p: i64, a: &[i64], q: i64, b: &[i64]) -> Result<Vec<i64>> {
    a.iter()
        .zip(b)
        .map(|(x, y)| {
            let left = p.checked_mul(*x).ok_or(Error::Overflow)?;
            mul_add(left, q, *y)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(list: &[(bool, [i64; 3])]) -> Rows {
        let mut rows = Rows::new(3);
        for (eq, row) in list {
            rows.push(*eq, row);
        }
        rows
    }

    #[test]
    fn constants_are_tightened_to_integers() {
        // 2x + 3 >= 0 holds for x >= -1.5, so for integers x >= -1.
        let mut r = rows(&[(false, [3, 2, 0])]);
        assert_eq!(r.tidy(), Ok(true));
        assert_eq!(r.row(0), &[1, 1, 0]);
        // 2x + 4y = 3 has no integer point.
        assert_eq!(rows(&[(true, [-3, 2, 4])]).tidy(), Ok(false));
    }

    #[test]
    fn parallel_rows_leave_the_strongest() {
        let mut r = rows(&[(false, [5, 1, -1]), (false, [3, 1, -1]), (false, [9, 1, -1])]);
        assert_eq!(r.tidy(), Ok(true));
        assert_eq!((r.len(), r.row(0)), (1, &[3, 1, -1][..]));
    }

    #[test]
    fn opposite_rows_touch_or_contradict() {
        // x <= 4 and x >= 4 is x = 4; x <= 3 and x >= 4 is nothing.
        let mut r = rows(&[(false, [4, -1, 0]), (false, [-4, 1, 0])]);
        assert_eq!(r.tidy(), Ok(true));
        assert!(r.len() == 1 && r.is_eq(0));
        assert_eq!(rows(&[(false, [3, -1, 0]), (false, [-4, 1, 0])]).tidy(), Ok(false));
        // Across the real gap only: 2x <= 3, 2x >= 3 has the real point 1.5 and no integer one.
        assert_eq!(rows(&[(false, [3, -2, 0]), (false, [-3, 2, 0])]).tidy(), Ok(false));
    }

    #[test]
    fn the_least_number_is_no_divisor() {
        let mut r = rows(&[(false, [7, i64::MIN, 0])]);
        assert_eq!(r.tidy(), Ok(true));
        assert_eq!(r.row(0), &[7, i64::MIN, 0]);
    }

    #[test]
    fn overflow_is_an_error() {
        assert_eq!(combine(i64::MAX, &[2], 1, &[0]), Err(Error::Overflow));
    }
}
