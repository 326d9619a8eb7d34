//! Post-conditions by enumeration. Nothing here uses the operations that are checked.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{
    operations::{Answer, Query},
    read,
};
use crate::{IntTuple, Layout, Tiler};

type Checked<T> = Result<T, String>;

/// Whether a check describes the arguments of a case and claims nothing about its result.
pub(super) fn is_about_arguments(name: &str) -> bool {
    ["B_in_domain_of_A", "L_injective", "injective"].contains(&name)
}

fn values(layout: &Layout) -> Checked<Vec<i64>> {
    layout.values().map_err(|e| e.to_string())
}

fn at(layout: &Layout, index: i64) -> Checked<i64> {
    layout.at(index).map_err(|e| e.to_string())
}

fn is_injective(values: &[i64]) -> bool {
    values.iter().collect::<BTreeSet<_>>().len() == values.len()
}

fn is_identity(values: &[i64]) -> bool {
    values.iter().zip(0i64..).all(|(value, i)| *value == i)
}

fn largest(values: &[i64]) -> i64 {
    values.iter().copied().max().unwrap_or(0)
}

fn image(layout: &Layout) -> Checked<BTreeSet<i64>> {
    Ok(values(layout)?.into_iter().collect())
}

fn compatible(a: &Layout, b: &Layout) -> Checked<bool> {
    a.shape().is_compatible(&b.shape()).map_err(|e| e.to_string())
}

fn mode(layout: &Layout, k: usize) -> Checked<Layout> {
    layout.modes().get(k).cloned().ok_or_else(|| format!("{layout} has no mode {k}"))
}

/// `outer(inner(i))` for all `i`.
fn composed(outer: &Layout, inner: &Layout) -> Checked<Vec<i64>> {
    values(inner)?.into_iter().map(|i| at(outer, i)).collect()
}

/// Whether a check holds of a query and its answer.
pub(super) fn holds(name: &str, query: &Query, answer: &Answer) -> Checked<bool> {
    let Answer::Layout(r) = answer else { return Err(format!("check {name} is unknown")) };
    let found = match (query, name) {
        (Query::Coalesce(l, _), "same_size") => values(l)?.len() == values(r)?.len(),
        (Query::Coalesce(l, _), "same_function") => values(l)? == values(r)?,
        (Query::Filter(l, _), "same_image") => image(l)? == image(r)?,
        (Query::Filter(_, _), "injective") => is_injective(&values(r)?),
        (Query::Complement(_, _), "ordered") => values(r)?.windows(2).all(|w| w[0] < w[1]),
        (Query::Complement(l, _), "disjoint_except_0") => {
            let image = image(l)?;
            values(r)?.iter().skip(1).all(|v| !image.contains(v))
        }
        (Query::Complement(l, size), "completed_cosize_ge_max") => {
            largest(&values(l)?) + largest(&values(r)?) + 1 >= *size
        }
        (Query::Complement(l, _), "complete_injective") => {
            let (image, rest) = (image(l)?, values(r)?);
            is_injective(&image.iter().flat_map(|a| rest.iter().map(move |b| a + b)).collect::<Vec<_>>())
        }
        (Query::LeftInverse(l), "L_injective") => is_injective(&values(l)?),
        (Query::LeftInverse(l), "R(L(i))==i") => is_identity(&composed(r, l)?),
        (Query::LeftInverse(l), "L(R(L(i)))==L(i)") => {
            let back: Checked<Vec<i64>> = composed(r, l)?.into_iter().map(|i| at(l, i)).collect();
            back? == values(l)?
        }
        (Query::RightInverse(l), "L(R(i))==i") => is_identity(&composed(l, r)?),
        (Query::Composition(a, Tiler::Layout(b)), "exact") => composed(a, b)? == values(r)?,
        (Query::Composition(a, Tiler::Layout(b)), "prefix_agrees") => {
            composed(a, b)?.into_iter().zip(values(r)?).all(|(x, y)| x == y)
        }
        (Query::Composition(_, Tiler::Layout(b)), "compatible_B_R") => compatible(b, r)?,
        (Query::Composition(a, Tiler::Layout(b)), "B_in_domain_of_A") => {
            let size = i64::try_from(values(a)?.len()).unwrap_or(i64::MAX);
            values(b)?.iter().all(|v| (0..size).contains(v))
        }
        (Query::Divide(_, a, _), "size_preserved") => values(a)?.len() == values(r)?.len(),
        (Query::Divide(_, a, _), "image_preserved") => image(a)? == image(r)?,
        (Query::Divide(_, _, Tiler::Layout(b)), "compatible_B_R0") => compatible(b, &mode(r, 0)?)?,
        (Query::Divide(_, a, Tiler::Modes(tilers)), "R0==composition") => {
            // Mode by mode, by values: the tile of each mode is the mode at the tiler's indices.
            let tiles = mode(r, 0)?.modes();
            let mut same = tiles.len() == tilers.len();
            for ((part, tiler), tile) in a.modes().iter().zip(tilers).zip(&tiles) {
                let Tiler::Layout(tiler) = tiler else { return Err("nested tilers are not checked".into()) };
                same &= composed(part, tiler)? == values(tile)?;
            }
            same
        }
        (Query::Product(_, a, _), "R0==A") => mode(r, 0)? == *a,
        (Query::Product(_, _, Tiler::Layout(b)), "compatible_B_R1") => compatible(b, &mode(r, 1)?)?,
        (Query::Product(..) | Query::ZippedProduct(..), "injective") => is_injective(&values(r)?),
        _ => return Err(format!("check {name} is unknown")),
    };
    Ok(found)
}

impl Query {
    /// Whether an answer satisfies the operation's post-condition, or where it does not.
    pub(super) fn post_condition(&self, answer: &Answer) -> Checked<()> {
        let required: &[&str] = match self {
            Query::Composition(_, Tiler::Layout(_)) => &["compatible_B_R", "exact"],
            Query::RightInverse(_) => &["L(R(i))==i"],
            Query::LeftInverse(_) if holds("L_injective", self, answer)? => &["R(L(i))==i"],
            Query::LeftInverse(_) => &["L(R(L(i)))==L(i)"],
            // A permutation of the layout if tiles divide it; otherwise they run beyond it.
            Query::Divide(_, a, Tiler::Layout(b)) => {
                let Answer::Layout(r) = answer else { return Err("no layout".into()) };
                let (mut all, mut before) = (values(r)?, values(a)?);
                all.sort_unstable();
                before.sort_unstable();
                if composed(a, b)? != values(&mode(r, 0)?)? || (all.len() == before.len() && all != before) {
                    return Err(format!("{r} does not divide {a}"));
                }
                &["compatible_B_R0"]
            }
            _ => return Err("the operation has no post-condition that decides this".into()),
        };
        for name in required {
            if !holds(name, self, answer)? {
                let Answer::Layout(r) = answer else { return Err("no layout".into()) };
                return Err(format!("found {r}, for which {name} does not hold"));
            }
        }
        Ok(())
    }

    /// A further property whose value a case states; for `values` it may state the first ones.
    pub(super) fn property(&self, key: &str, stated: &Json, answer: &Answer) -> Checked<Json> {
        let is_permutation = |values: &[i64]| {
            let sorted: BTreeSet<i64> = values.iter().copied().collect();
            sorted.into_iter().eq(0..i64::try_from(values.len()).unwrap_or(i64::MAX))
        };
        Ok(match (self, key, answer) {
            (Query::Composition(a, Tiler::Layout(b)), "values", Answer::Layout(r)) => {
                let expected = composed(a, b)?;
                if values(r)? != expected {
                    return Err(format!("{r} has the values {:?}", values(r)?));
                }
                let count = stated.as_array().map_or(expected.len(), Vec::len).clamp(1, expected.len());
                Json::from(expected[..count].to_vec())
            }
            (Query::ZippedProduct(..), "by_mode_coalesced", Answer::Layout(r)) => {
                let profile = IntTuple::from(vec![1i64; r.rank()]);
                read::layout_json(&r.coalesce_by(&profile).map_err(|e| e.to_string())?)
            }
            (Query::Sizes(l), "max_plus_1", _) => Json::from(largest(&values(l)?) + 1),
            (Query::Composed(_), "bijective", Answer::Values(all)) => Json::from(is_permutation(all)),
            // The least power of two that holds all bits of the swizzle.
            (Query::Swizzle(s, _), "size", _) => {
                Json::from(1i64 << (s.bits() + s.base() + s.shift().unsigned_abs()))
            }
            (Query::Swizzle(s, _), "bijective_on_size", _) => {
                let size = 1i64 << (s.bits() + s.base() + s.shift().unsigned_abs()).min(20);
                Json::from(is_permutation(&(0..size).map(|x| s.apply(x)).collect::<Vec<_>>()))
            }
            (Query::Swizzle(s, inputs), "involution", _) => {
                Json::from(inputs.iter().all(|x| s.apply(s.apply(*x)) == *x))
            }
            _ => return Err(format!("key {key} is unknown")),
        })
    }
}
