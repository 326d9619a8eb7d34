//! The complement: a layout of the positions that a layout does not reach.
//!
//! With its modes sorted by stride, a layout leaves gaps between the end of one mode and the
//! stride of the next; the complement has a mode for each gap, and one that repeats the whole up to
//! the size that is to be covered. The result `R` is increasing, shares only index 0 with `L`, is
//! jointly injective with it (without its modes of stride 0), and together they reach that size.
//!
//! If that is impossible, because modes overlap or a gap is not a multiple of what fills it, but
//! the layout is injective, the complement repeats the whole at multiples of its cosize.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::{Error, Int, Layout, Result, fit::LIMIT};

const NAME: &str = "complement";

/// The complement of a layout up to a size.
pub fn complement(layout: &Layout, cotarget: &Int) -> Result<Layout> {
    let result = gaps(layout, cotarget)?;
    // Partially filled gaps may end before the size.
    match (result.cosize()?.add(&layout.cosize()?)?.as_const(), cotarget.as_const()) {
        (Some(both), Some(size)) if both - 1 < size => around(layout, cotarget),
        _ => Ok(result),
    }
}

/// As [`complement`], but partially filled gaps may end before the size. Divides and products are
/// defined by it.
pub(crate) fn gaps(layout: &Layout, cotarget: &Int) -> Result<Layout> {
    let mut modes: Vec<(Int, Int)> =
        layout.leaves().into_iter().filter(|(s, d)| !s.is_one() && !d.is_zero()).collect();
    for (shape, stride) in &modes {
        match Int::ONE.at_most(stride) {
            Some(true) => {}
            Some(false) => {
                return Err(Error::no_layout(
                    NAME,
                    format!("mode {shape}:{stride} descends"),
                    format!("its index 1 is {stride}, below all of a complement"),
                ));
            }
            None => return Err(Error::not_known(NAME, format!("that {stride} is positive"))),
        }
    }
    sort(&mut modes)?;
    let mut leaves = Vec::new();
    let mut current = Int::ONE;
    for (shape, stride) in &modes {
        let gap = match (stride.as_const(), current.as_const()) {
            (Some(d), Some(c)) if d < c => return around(layout, cotarget),
            // Gaps that do not divide are filled by whole strides.
            (Some(d), Some(c)) => Int::from(d.div_euclid(c)),
            _ => stride.exact_div(&current).ok_or_else(|| {
                Error::not_known(NAME, format!("that {current} divides the stride of mode {shape}:{stride}"))
            })?,
        };
        leaves.push((gap, current));
        current = shape.mul(stride)?;
    }
    leaves.push((cotarget.ceil_div(&current)?, current));
    Layout::from_leaves(leaves).coalesce()
}

/// Sorts modes by stride, then by size, by insertion: an order that is not known for all sizes is
/// no order that a library's sort could rely on.
fn sort(modes: &mut [(Int, Int)]) -> Result<()> {
    for k in 1..modes.len() {
        for j in (0..k).rev() {
            let ((s, d), (t, e)) = (&modes[j], &modes[j + 1]);
            let order =
                compare(d, e).and_then(|o| if o == Ordering::Equal { compare(s, t) } else { Some(o) });
            match order {
                Some(Ordering::Greater) => modes.swap(j, j + 1),
                Some(_) => break,
                None => {
                    return Err(Error::not_known(
                        NAME,
                        format!("the order of the modes {s}:{d} and {t}:{e}"),
                    ));
                }
            }
        }
    }
    Ok(())
}

fn compare(a: &Int, b: &Int) -> Option<Ordering> {
    if a == b {
        return Some(Ordering::Equal);
    }
    match (a.at_most(b), b.at_most(a)) {
        (Some(true), _) => Some(Ordering::Less),
        (_, Some(true)) => Some(Ordering::Greater),
        _ => None,
    }
}

/// The complement of a layout whose gaps are not filled: the whole repeats.
fn around(layout: &Layout, cotarget: &Int) -> Result<Layout> {
    let filtered = layout.filter()?;
    if let Some((i, j, value)) = collision(&filtered)? {
        return Err(Error::no_layout(
            NAME,
            format!("the modes of {layout} overlap"),
            format!("{filtered} is {value} at {i} and at {j}"),
        ));
    }
    let cosize = layout.cosize()?;
    Layout::from_leaves(vec![(cotarget.ceil_div(&cosize)?, cosize)]).coalesce()
}

/// Two indices with the same value, and the value, if a layout is not injective.
pub fn collision(layout: &Layout) -> Result<Option<(i64, i64, i64)>> {
    let known = layout.known("injective")?;
    if known.size > LIMIT {
        return Err(Error::TooLarge { operation: "injective", points: known.size });
    }
    let mut seen = HashMap::new();
    for i in 0..known.size {
        let value = known.at(i)?;
        if let Some(before) = seen.insert(value, i) {
            return Ok(Some((before, i, value)));
        }
    }
    Ok(None)
}
