//! Integer matrices whose inverses are integer matrices.

/// The inverse of a square matrix with determinant 1 or -1; `None` for any other, or if a number
/// exceeds 64 bits.
///
/// Gauss-Jordan elimination with Euclid's algorithm in each column: rows are only swapped and added
/// to each other, so that all entries stay integers, and the diagonal consists of units in the end
/// exactly if the matrix is unimodular.
pub(crate) fn inverse(rows: &[Vec<i64>]) -> Option<Vec<Vec<i64>>> {
    let n = rows.len();
    if rows.iter().any(|r| r.len() != n) {
        return None;
    }
    let unit = |k: usize| (0..n).map(move |c| i64::from(c == k));
    let mut m: Vec<Vec<i64>> =
        rows.iter().enumerate().map(|(k, r)| r.iter().copied().chain(unit(k)).collect()).collect();
    // row `to` minus `times` row `from`
    let subtract = |m: &mut Vec<Vec<i64>>, to: usize, from: usize, times: i64| -> Option<()> {
        let source = m[from].clone();
        for (value, by) in m[to].iter_mut().zip(source) {
            *value = value.checked_sub(by.checked_mul(times)?)?;
        }
        Some(())
    };
    for k in 0..n {
        loop {
            let pivot = (k..n).filter(|r| m[*r][k] != 0).min_by_key(|r| m[*r][k].unsigned_abs())?;
            m.swap(k, pivot);
            let mut done = true;
            for r in k + 1..n {
                let times = m[r][k].checked_div(m[k][k])?;
                subtract(&mut m, r, k, times)?;
                done &= m[r][k] == 0;
            }
            if done {
                break;
            }
        }
        if m[k][k].unsigned_abs() != 1 {
            return None;
        }
        if m[k][k] == -1 {
            for value in &mut m[k] {
                *value = value.checked_neg()?;
            }
        }
        for r in 0..k {
            let times = m[r][k];
            subtract(&mut m, r, k, times)?;
        }
    }
    Some(m.into_iter().map(|r| r[n..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::inverse;

    #[test]
    fn inverses() {
        assert_eq!(inverse(&[vec![1, 1], vec![1, 0]]), Some(vec![vec![0, 1], vec![1, -1]]));
        assert_eq!(inverse(&[vec![2, 1], vec![1, 0]]), Some(vec![vec![0, 1], vec![1, -2]]));
        assert_eq!(inverse(&[vec![-1]]), Some(vec![vec![-1]]));
        assert_eq!(inverse(&[vec![2, 1], vec![0, 1]]), None);
        assert_eq!(inverse(&[vec![1, 1], vec![1, 1]]), None);
        assert_eq!(inverse(&[vec![1, i64::MAX], vec![1, i64::MIN]]), None);
    }

    #[test]
    fn products_with_the_inverse_are_the_identity() {
        // Products of elementary matrices have determinant 1 or -1.
        let mut state = 12345u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let n = 1 + random(4) as usize;
            let mut m: Vec<Vec<i64>> = (0..n).map(|k| (0..n).map(|c| i64::from(c == k)).collect()).collect();
            for _ in 0..6 {
                let (a, b) = (random(n as u64) as usize, random(n as u64) as usize);
                if a == b {
                    m[a].iter_mut().for_each(|v| *v = -*v);
                } else {
                    let times = random(5) as i64 - 2;
                    let source = m[b].clone();
                    m[a].iter_mut().zip(source).for_each(|(v, by)| *v += times * by);
                }
            }
            let i = inverse(&m).expect("unimodular");
            for (r, row) in m.iter().enumerate() {
                let product: Vec<i64> =
                    (0..n).map(|c| row.iter().zip(&i).map(|(v, column)| v * column[c]).sum()).collect();
                assert!(product.iter().enumerate().all(|(c, v)| *v == i64::from(r == c)), "{m:?}");
            }
        }
    }
}
