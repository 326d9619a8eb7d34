//! Inverses of layouts, and operations based on them: common vectors, null spaces.
//!
//! *Right*: `L(R(i)) = i` for all `i < size(R)`. The modes of `L`, by stride, are taken as long as
//! each continues the one before it.
//!
//! *Left*: `R(L(i)) = i` for an injective `L`; for others, `R` returns one of the indices that have
//! the value: `L(R(L(i))) = L(i)`. Three constructions are tried. If each stride is a multiple of
//! the extent of the mode below it, `L` and its complement are invertible together. If each stride
//! is a multiple of the stride below it, each mode of `R` reads one digit. Otherwise the values
//! decide, for small layouts (`interpolate`): a layout over given digits is linear in its strides.

use crate::{
    Error, Int, Layout, Result,
    complement::{collision, complement},
    compose::composition,
    interpolate::interpolate,
};

const LEFT: &str = "left_inverse";

/// A leaf with the product of the sizes before it.
struct Placed {
    shape: Int,
    stride: Int,
    before: Int,
}

fn placed(layout: &Layout) -> Result<Vec<Placed>> {
    let mut before = Int::ONE;
    let mut all = Vec::new();
    for (shape, stride) in layout.leaves() {
        let next = before.mul(&shape)?;
        all.push(Placed { shape, stride, before });
        before = next;
    }
    Ok(all)
}

/// `R` with `L(R(i)) = i`, of the modes that continue each other from stride 1 on. A layout with a
/// mode of stride 0 or of a negative stride has `1:0`.
pub fn right_inverse(layout: &Layout) -> Result<Layout> {
    let mut rest: Vec<Placed> = placed(layout)?.into_iter().filter(|m| !m.shape.is_one()).collect();
    if rest.iter().any(|m| Int::ONE.at_most(&m.stride) == Some(false)) {
        return Ok(Layout::mode(1, 0));
    }
    let mut current = Int::ONE;
    let mut leaves = Vec::new();
    loop {
        // Of several modes that would continue, the smallest one is taken.
        let continues = rest.iter().enumerate().filter(|(_, m)| m.stride == current);
        let Some((at, _)) = continues.min_by_key(|(_, m)| m.shape.as_const()) else { break };
        let mode = rest.remove(at);
        current = mode.shape.mul(&mode.stride)?;
        leaves.push((mode.shape, mode.before));
    }
    Layout::from_leaves(leaves).coalesce()
}

/// `R` with `R(L(i)) = i`, or `L(R(L(i))) = L(i)` if the layout is not injective. See the module's
/// head.
pub fn left_inverse(layout: &Layout) -> Result<Layout> {
    let mut modes: Vec<Placed> =
        placed(layout)?.into_iter().filter(|m| !m.shape.is_one() && !m.stride.is_zero()).collect();
    if modes.is_empty() {
        return Ok(Layout::mode(1, 0));
    }
    let is_whole = modes.len() == layout.leaves().iter().filter(|(s, _)| !s.is_one()).count();
    let descends = modes.iter().any(|m| Int::ONE.at_most(&m.stride) != Some(true));
    if !descends && by_stride(&mut modes) {
        let nests = |a: &Placed, b: &Placed| {
            a.shape.mul(&a.stride).is_ok_and(|extent| b.stride.exact_div(&extent).is_some())
        };
        if is_whole && modes.windows(2).all(|w| nests(&w[0], &w[1])) {
            return right_inverse(&Layout::Tuple(vec![layout.clone(), complement(layout, &Int::ONE)?]));
        }
        if let Some(inverse) = by_digits(&modes)? {
            return Ok(inverse);
        }
    }
    by_values(layout, is_whole)
}

/// Sorts by stride; false if the order is not known for all sizes.
fn by_stride(modes: &mut [Placed]) -> bool {
    for k in 1..modes.len() {
        for j in (0..k).rev() {
            let (a, b) = (&modes[j].stride, &modes[j + 1].stride);
            if a.at_most(b) == Some(true) {
                break;
            }
            if b.at_most(a) != Some(true) {
                return false;
            }
            modes.swap(j, j + 1);
        }
    }
    true
}

/// A mode for each digit: `d_{k+1} / d_k` positions `p_k` apart, if strides divide each other and
/// no mode reaches beyond the next stride.
fn by_digits(modes: &[Placed]) -> Result<Option<Layout>> {
    let mut leaves = Vec::new();
    if let Some(first) = modes.first() {
        leaves.push((first.stride.clone(), Int::ZERO));
    }
    for (k, mode) in modes.iter().enumerate() {
        let positions = match modes.get(k + 1) {
            None => mode.shape.clone(),
            Some(next) => match next.stride.exact_div(&mode.stride) {
                Some(ratio) if mode.shape.at_most(&ratio) == Some(true) => ratio,
                _ => return Ok(None),
            },
        };
        leaves.push((positions, mode.before.clone()));
    }
    Ok(Some(Layout::from_leaves(leaves).coalesce()?))
}

/// A left inverse that takes the values of the layout to their (first) indices.
fn by_values(layout: &Layout, is_whole: bool) -> Result<Layout> {
    let known = layout.known(LEFT)?;
    let mut points = std::collections::BTreeMap::new();
    if known.size > 4096 {
        return Err(Error::TooLarge { operation: LEFT, points: known.size });
    }
    let mut counts = std::collections::BTreeMap::new();
    for i in 0..known.size {
        let value = known.at(i)?;
        points.entry(value).or_insert(i);
        *counts.entry(value).or_insert(0i64) += 1;
    }
    let points: Vec<(i64, i64)> = points.into_iter().collect();
    if let Some(inverse) = interpolate(LEFT, &points)? {
        return inverse.coalesce();
    }
    let collision = if is_whole { collision(layout)? } else { None };
    match collision {
        None if is_whole => Err(Error::no_layout(
            LEFT,
            format!("strides of {layout} divide neither each other nor each other's extents"),
            format!("no choice of digits takes all of {} values back", points.len()),
        )),
        // Other choices of an index for each value would have to be tried.
        _ => {
            let choices = counts.values().fold(1i64, |product, n| product.saturating_mul(*n));
            Err(Error::TooLarge { operation: LEFT, points: choices })
        }
    }
}

/// The indices that are contiguous in both layouts: `R` with `a(R(i)) = b(R(i)) = i`.
pub fn max_common_layout(a: &Layout, b: &Layout) -> Result<Layout> {
    let inverse = right_inverse(b)?;
    let common = composition(a, &inverse)?.coalesce()?;
    match common.leaves().first() {
        Some((shape, stride)) if stride.is_one() => composition(&inverse, &Layout::mode(shape.clone(), 1)),
        _ => Ok(Layout::mode(1, 0)),
    }
}

/// The number of elements that are contiguous in both layouts, in the same order: the widest vector
/// that a copy between them can move.
pub fn max_common_vector(a: &Layout, b: &Layout) -> Result<Int> {
    max_common_layout(a, b)?.size()
}

/// The indices of the domain that the layout maps to 0: `L(N(i)) = 0`.
pub fn nullspace(layout: &Layout) -> Result<Layout> {
    let all = placed(layout)?.into_iter();
    let kept = all.filter(|m| m.stride.is_zero() && !m.shape.is_one()).map(|m| (m.shape, m.before));
    Ok(Layout::from_leaves(kept.collect()))
}
