//! Inverses of integer matrices, in fractions.

/// A row of integers, and the positive number by which they are divided, in lowest terms.
pub(crate) type Row = (Vec<i64>, i64);

/// A row of 128-bit integers over a common divisor.
type Wide = (Vec<i128>, i128);

fn gcd(a: i128, b: i128) -> i128 {
    match b {
        0 => a.abs(),
        b => gcd(b, a % b),
    }
}

/// The row in lowest terms, over a positive divisor.
fn lowest((row, by): Wide) -> Wide {
    let common = row.iter().fold(by, |a, b| gcd(a, *b)).max(1) * by.signum();
    (row.into_iter().map(|v| v / common).collect(), by / common)
}

/// The inverse of a square matrix, row by row; `None` if it has none, or if a number becomes too
/// large.
///
/// Gauss-Jordan elimination in fractions. All divisors are 1 exactly if the determinant is 1 or -1.
pub(crate) fn inverse(rows: &[Vec<i64>]) -> Option<Vec<Row>> {
    let n = rows.len();
    if rows.iter().any(|r| r.len() != n) {
        return None;
    }
    let unit = |k: usize| (0..n).map(move |c| i128::from(c == k));
    let whole = |(k, r): (usize, &Vec<i64>)| (r.iter().map(|v| i128::from(*v)).chain(unit(k)).collect(), 1);
    let mut m: Vec<Wide> = rows.iter().enumerate().map(whole).collect();
    for k in 0..n {
        let pivot = (k..n).find(|r| m[*r].0[k] != 0)?;
        m.swap(k, pivot);
        // The row divided by its pivot.
        let by = m[k].0[k];
        m[k] = lowest((std::mem::take(&mut m[k].0), by));
        let (pivots, by) = m[k].clone();
        for (r, row) in m.iter_mut().enumerate() {
            let times = row.0[k];
            if r == k || times == 0 {
                continue;
            }
            // row - times/row.1 * pivots/by
            let mut values = Vec::with_capacity(2 * n);
            for (value, pivot) in row.0.iter().zip(&pivots) {
                values.push(value.checked_mul(by)?.checked_sub(times.checked_mul(*pivot)?)?);
            }
            *row = lowest((values, row.1.checked_mul(by)?));
        }
    }
    let narrow = |(row, by): Wide| {
        let (row, by) = lowest((row[n..].to_vec(), by));
        let row: Option<Vec<i64>> = row.into_iter().map(|v| v.try_into().ok()).collect();
        Some((row?, by.try_into().ok()?))
    };
    m.into_iter().map(narrow).collect()
}

#[cfg(test)]
mod tests {
    use super::inverse;

    #[test]
    fn inverses() {
        let whole = |rows: &[[i64; 2]]| Some(rows.iter().map(|r| (r.to_vec(), 1)).collect());
        assert_eq!(inverse(&[vec![1, 1], vec![1, 0]]), whole(&[[0, 1], [1, -1]]));
        assert_eq!(inverse(&[vec![2, 1], vec![1, 0]]), whole(&[[0, 1], [1, -2]]));
        assert_eq!(inverse(&[vec![0, 1], vec![1, 0]]), whole(&[[0, 1], [1, 0]]));
        assert_eq!(inverse(&[vec![-1]]), Some(vec![(vec![-1], 1)]));
        assert_eq!(inverse(&[vec![-6]]), Some(vec![(vec![-1], 6)]));
        let diamonds = Some(vec![(vec![1, -1], 2), (vec![1, 1], 2)]);
        assert_eq!(inverse(&[vec![1, 1], vec![-1, 1]]), diamonds);
        assert_eq!(inverse(&[vec![2, 1], vec![0, 1]]), Some(vec![(vec![1, -1], 2), (vec![0, 1], 1)]));
        assert_eq!(inverse(&[vec![1, 1], vec![1, 1]]), None);
        assert_eq!(inverse(&[vec![1, 2], vec![1]]), None);
    }

    #[test]
    fn products_with_the_inverse_are_the_identity() {
        let mut state = 12345u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        let mut found = 0;
        for _ in 0..400 {
            let n = 1 + random(4) as usize;
            let m: Vec<Vec<i64>> = (0..n).map(|_| (0..n).map(|_| random(7) as i64 - 3).collect()).collect();
            let Some(i) = inverse(&m) else { continue };
            found += 1;
            // The inverse's rows times the matrix.
            for (r, (row, by)) in i.iter().enumerate() {
                for c in 0..n {
                    let product: i64 = (0..n).map(|k| row[k] * m[k][c]).sum();
                    assert_eq!(product, by * i64::from(r == c), "{m:?}");
                }
            }
        }
        assert!(found > 200, "{found}");
    }
}
