//! A layout through given points, decided exactly.
//!
//! A layout over moduli `1 = p_0 | p_1 | ... | p_r` takes `x` to `sum_k d_k digit_k(x)`, which is
//! linear in the strides `d_k`. So for given moduli the points are a system of linear equations
//! over the integers. Finer moduli express all that coarser ones do; it suffices to try the chains
//! that grow by a prime at a time until they pass the largest `x`.

use crate::{Error, Layout, Result, tuple::digits};

/// Chains of moduli beyond this are not tried.
const LARGEST: i64 = 512;

/// A layout with `R(x) = y` for all points, if there is one.
pub(crate) fn interpolate(operation: &'static str, points: &[(i64, i64)]) -> Result<Option<Layout>> {
    let largest = points.iter().map(|(x, _)| x.unsigned_abs()).max().unwrap_or(0);
    let largest = i64::try_from(largest).map_err(|_| Error::Overflow)?;
    if largest > LARGEST {
        return Err(Error::TooLarge { operation, points: largest });
    }
    let mut sizes = Vec::new();
    search(&mut sizes, 1, largest, points)
}

fn search(sizes: &mut Vec<i64>, product: i64, largest: i64, points: &[(i64, i64)]) -> Result<Option<Layout>> {
    let primes: Vec<i64> =
        (2..=largest / product).filter(|p| (2..*p).all(|d| d * d > *p || p % d != 0)).collect();
    for prime in primes {
        sizes.push(prime);
        let found = search(sizes, product * prime, largest, points)?;
        sizes.pop();
        if found.is_some() {
            return Ok(found);
        }
    }
    if product > 1 && product * 2 <= largest {
        // A longer chain expresses the same, and has been tried.
        return Ok(None);
    }
    let mut all = sizes.clone();
    all.push(largest / product + 1);
    let rows = points.iter().map(|(x, y)| (digits(*x, &all), *y)).collect();
    let Some(strides) = solve(rows, all.len()) else { return Ok(None) };
    let layout =
        Layout::from_leaves(all.iter().zip(&strides).map(|(s, d)| ((*s).into(), (*d).into())).collect());
    for (x, y) in points {
        if layout.at(*x)? != *y {
            return Ok(None);
        }
    }
    Ok(Some(layout))
}

/// Integers with `row . d = y` for all rows, if there are any.
///
/// The columns are brought to echelon form by unimodular operations, so that each row determines
/// one further unknown of the transformed system; what no row determines is 0.
fn solve(rows: Vec<(Vec<i64>, i64)>, columns: usize) -> Option<Vec<i64>> {
    let mut matrix: Vec<Vec<i128>> =
        rows.iter().map(|(row, _)| row.iter().map(|v| i128::from(*v)).collect()).collect();
    // `basis` has the operations on columns: d = basis * z.
    let mut basis: Vec<Vec<i128>> =
        (0..columns).map(|i| (0..columns).map(|j| i128::from(i == j)).collect()).collect();
    let mut solution: Vec<i128> = vec![0; columns];
    let mut pivot = 0;
    for r in 0..matrix.len() {
        // Euclid's algorithm on the entries right of the pivot, until one is left.
        while let Some(other) = (pivot + 1..columns).find(|c| matrix[r][*c] != 0) {
            if matrix[r][pivot] == 0 || matrix[r][other].abs() < matrix[r][pivot].abs() {
                for row in matrix.iter_mut().chain(basis.iter_mut()) {
                    row.swap(pivot, other);
                }
                continue;
            }
            let quotient = matrix[r][other] / matrix[r][pivot];
            for row in matrix.iter_mut().chain(basis.iter_mut()) {
                row[other] = row[other].checked_sub(quotient.checked_mul(row[pivot])?)?;
            }
        }
        let (_, y) = rows.get(r)?;
        let done: i128 = (0..pivot).map(|c| matrix[r][c] * solution[c]).sum();
        let rest = i128::from(*y) - done;
        if pivot < columns && matrix[r][pivot] != 0 {
            if rest % matrix[r][pivot] != 0 {
                return None;
            }
            solution[pivot] = rest / matrix[r][pivot];
            pivot += 1;
        } else if rest != 0 {
            return None;
        }
    }
    let dot = |row: &Vec<i128>| row.iter().zip(&solution).map(|(a, b)| a * b).sum::<i128>();
    basis.iter().map(|row| i64::try_from(dot(row)).ok()).collect()
}
