//! The integer points of constraints: values are tried between bounds from interval arithmetic.

use loopwright_kernel_ir::{Aff, Constraint, Kind, Name, Term};

use super::{LIMIT, Sizes, Stop};

/// The range of a function, given the range of each name.
fn range(aff: &Aff, of: &dyn Fn(&Name) -> Option<(i64, i64)>, without: Option<&Name>) -> Option<(i64, i64)> {
    let (mut low, mut high) = (aff.constant_term(), aff.constant_term());
    for (term, c) in aff.terms() {
        let (l, h) = match term {
            Term::Var(n) if Some(n) == without => continue,
            Term::Var(n) => of(n)?,
            Term::Div(div) => {
                let (l, h) = range(&div.numerator, of, None)?;
                (l.div_euclid(div.denominator), h.div_euclid(div.denominator))
            }
        };
        let (l, h) = if *c < 0 { (h, l) } else { (l, h) };
        low = low.saturating_add(l.saturating_mul(*c));
        high = high.saturating_add(h.saturating_mul(*c));
    }
    Some((low, high))
}

/// The least value of a name by the constraints that mention only it and parameters.
pub(super) fn own_lower(rows: &[Constraint], name: &Name, sizes: &Sizes) -> Option<i64> {
    let own = rows.iter().filter(|c| c.names().iter().all(|n| n == name || sizes.contains_key(n)));
    let low = own.filter(|c| c.kind == Kind::Ge).filter_map(|c| {
        // coefficient * name + rest >= 0
        let coefficient = c.aff.coefficient(name);
        let rest = range(&c.aff, &|n| sizes.get(n).map(|v| (*v, *v)), Some(name))?.1;
        (coefficient > 0).then(|| -rest.div_euclid(coefficient))
    });
    low.max()
}

/// All points of the constraints, in the order of the names.
pub fn points(rows: &[Constraint], names: &[Name], sizes: &Sizes) -> Result<Vec<Vec<i64>>, Stop> {
    let start = vec![(-500, 500); names.len()];
    let mut found = Vec::new();
    let mut steps = 0;
    search(rows, names, sizes, start, 0, &mut found, &mut steps)?;
    Ok(found)
}

fn search(
    rows: &[Constraint],
    names: &[Name],
    sizes: &Sizes,
    mut ranges: Vec<(i64, i64)>,
    depth: usize,
    found: &mut Vec<Vec<i64>>,
    steps: &mut usize,
) -> Result<(), Stop> {
    *steps += 1;
    if *steps > 20 * LIMIT || found.len() > LIMIT {
        return Err(Stop::Large);
    }
    let mut changes = true;
    for _ in 0..30 {
        if !std::mem::take(&mut changes) {
            break;
        }
        for c in rows {
            let signs: &[i64] = if c.kind == Kind::Eq { &[1, -1] } else { &[1] };
            for sign in signs {
                let aff = c.aff.scale(*sign).map_err(|_| Stop::Large)?;
                let of = |n: &Name| match names.iter().position(|m| m == n) {
                    Some(k) => Some(ranges[k]),
                    None => sizes.get(n).map(|v| (*v, *v)),
                };
                // aff >= 0
                if range(&aff, &of, None).ok_or(Stop::Data)?.1 < 0 {
                    return Ok(());
                }
                let mut tighter = Vec::new();
                for (term, c) in aff.terms() {
                    let Term::Var(n) = term else { continue };
                    let Some(k) = names.iter().position(|m| m == n) else { continue };
                    let most = range(&aff, &of, Some(n)).ok_or(Stop::Data)?.1;
                    tighter.push(match c.signum() {
                        1 => (k, (-most).div_euclid(*c) + i64::from((-most).rem_euclid(*c) > 0), i64::MAX),
                        _ => (k, i64::MIN, most.div_euclid(-c)),
                    });
                }
                for (k, low, high) in tighter {
                    let new = (ranges[k].0.max(low), ranges[k].1.min(high));
                    changes |= new != ranges[k];
                    ranges[k] = new;
                    if new.0 > new.1 {
                        return Ok(());
                    }
                }
            }
        }
    }
    if depth == names.len() {
        found.push(ranges.iter().map(|r| r.0).collect());
        return Ok(());
    }
    let (low, high) = ranges[depth];
    if high - low > 900 {
        return Err(Stop::Large);
    }
    for v in low..=high {
        let mut ranges = ranges.clone();
        ranges[depth] = (v, v);
        search(rows, names, sizes, ranges, depth + 1, found, steps)?;
    }
    Ok(())
}
