//! The conditions that say what all of them say.
//!
//! What the sizes' types and assumptions imply is left out, as is what another condition implies:
//! of several limits of one formula the least stays, and a limit of a size decides what is computed
//! from that size alone.

use std::collections::BTreeSet;

use super::{
    super::formula::{Bounds, Formula, Op},
    Need,
};

/// The conditions that are not certain, and do not follow from another one.
pub(super) fn simplest(needs: Vec<Need>, (least, most): (i128, i128), bounds: &Bounds) -> Vec<Formula> {
    let (mut low, mut high): (Vec<Formula>, Vec<Formula>) = (Vec::new(), Vec::new());
    for need in needs {
        match need {
            Need::AtLeast(f) if !bounds.at_least(&f, least) && !has(&low, &f) => low.push(f),
            Need::AtMost(f) if !bounds.at_most(&f, most) && !has(&high, &f) => high.push(f),
            _ => {}
        }
    }
    // `f + 3` and `16*f` within the limit say that `f` is.
    let mut implied: BTreeSet<usize> = BTreeSet::new();
    for f in &high {
        let mut inner = f;
        while let Formula::Binary(op, a, b) = inner {
            let next = match (op, &**a, &**b) {
                (Op::Add, a, Formula::Int(c)) if *c >= 0 => a,
                (Op::Mul, a, Formula::Int(c)) | (Op::Mul, Formula::Int(c), a) if *c >= 1 => a,
                _ => break,
            };
            implied.extend(high.iter().position(|g| g == next));
            inner = next;
        }
    }
    // `f + 3 <= most` is `f <= most - 3`.
    let side = |op: Op, f: &Formula, limit: i128| match f {
        Formula::Binary(Op::Add, x, c) if c.as_int().is_some() => {
            let limit = Formula::binary(Op::Sub, Formula::Int(limit), (**c).clone());
            Formula::Binary(op, x.clone(), limit.into())
        }
        _ => Formula::Binary(op, f.clone().into(), Formula::Int(limit).into()),
    };
    // What limits a size alone is said once, and limits what is computed from it.
    let limit_of = |f: &Formula| match f {
        Formula::Name(name) => Some((name.clone(), most)),
        Formula::Binary(Op::Add, x, c) => match (&**x, c.as_int()) {
            (Formula::Name(name), Some(c)) => Some((name.clone(), most - c)),
            _ => None,
        },
        _ => None,
    };
    let mut bounds = bounds.clone();
    for (name, limit) in high.iter().filter_map(limit_of) {
        bounds.limit(&name, limit);
    }
    let mut said = BTreeSet::new();
    let mut is_said = |f: &Formula| match limit_of(f) {
        Some((name, limit)) => bounds.of(&Formula::Name(name.clone())).1 == limit && said.insert(name),
        None => !bounds.at_most(f, most),
    };
    let below = high.iter().enumerate().filter(|(k, f)| !implied.contains(k) && is_said(f));
    let all: Vec<Formula> = below.map(|(_, f)| side(Op::Le, f, most)).collect();
    // Of several limits of one formula the least says all.
    let is_least = |f: &&Formula| match f {
        Formula::Binary(Op::Le, x, limit) => !all.iter().any(|g| match g {
            Formula::Binary(Op::Le, y, other) => x == y && other.as_int() < limit.as_int(),
            _ => false,
        }),
        _ => true,
    };
    let below: Vec<Formula> = all.iter().filter(is_least).cloned().collect();
    below.into_iter().chain(low.iter().map(|f| side(Op::Ge, f, least))).collect()
}

/// Whether a formula is among these, products in either order.
fn has(all: &[Formula], f: &Formula) -> bool {
    all.iter().any(|g| match (f, g) {
        (Formula::Binary(Op::Mul, a, b), Formula::Binary(Op::Mul, c, d)) => {
            (a, b) == (c, d) || (a, b) == (d, c)
        }
        _ => f == g,
    })
}
