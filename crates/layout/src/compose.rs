//! Composition: `R(i) = A(B(i))` for every index of `B`, with `R` refining `B`'s tree.
//!
//! A mode `s:d` of `B` steps through the digits of `A`, coalesced. In the digit of size `t` that
//! `d` reaches, it takes whole turns (`t / d` positions, and goes on in the next digit), or ends
//! inside the digit. Where neither fits, the values decide: a function has at most one coalesced
//! layout (`fit`), so that an error means that there is none.
//!
//! Several modes of `B` compose one by one if no digit of `A` overflows when their parts add up;
//! that is shown by the sum of the parts in each digit, or by enumeration.

use crate::{
    Error, Int, Layout, Result,
    fit::{LIMIT, fit},
    simplify::merged,
};

/// A tiler of a layout: one for each mode, or a layout for the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tiler {
    /// The whole, by a layout.
    Layout(Layout),
    /// Mode by mode; modes without a tiler stay as they are.
    Modes(Vec<Tiler>),
    /// None: the mode stays as it is.
    Keep,
}

impl From<Layout> for Tiler {
    fn from(layout: Layout) -> Self {
        Tiler::Layout(layout)
    }
}

impl From<&crate::IntTuple> for Tiler {
    /// A shape as tiler: blocks of neighbours, mode by mode.
    fn from(shape: &crate::IntTuple) -> Self {
        match shape {
            crate::IntTuple::Int(size) => Tiler::Layout(Layout::mode(size.clone(), 1)),
            crate::IntTuple::Tuple(sizes) => Tiler::Modes(sizes.iter().map(Tiler::from).collect()),
        }
    }
}

/// The part of a mode of `B` in one digit of `A`.
struct Part {
    digit: usize,
    size: Int,
    step: Int,
}

const NAME: &str = "composition";

/// The reason why a mode of `B` does not step through `A`'s digits.
enum Stuck {
    /// The rule that fails, as a sentence; all numbers are constants.
    Rule(String),
    /// The relation that is not known for all sizes.
    Open(String),
}

/// `A o B`. See the module's head.
pub fn composition(a: &Layout, b: &Layout) -> Result<Layout> {
    // Inside A's domain, trailing modes of size 1 do not matter; beyond it the last one counts on.
    let is_inside = match (b.cosize(), a.size()) {
        (Ok(cosize), Ok(size)) => {
            let negative = b.leaves().iter().any(|(_, d)| Int::ZERO.at_most(d) != Some(true));
            !negative && cosize.at_most(&size) == Some(true)
        }
        _ => false,
    };
    let mut digits = merged(a.leaves(), !is_inside)?;
    if digits.is_empty() {
        digits.push((Int::ONE, Int::ZERO));
    }
    let mut parts = Vec::new();
    let result = each_mode(a, &digits, b, &mut parts)?;
    let several = b.leaves().iter().filter(|(s, d)| !s.is_one() && !d.is_zero()).count() > 1;
    if several && !adds_up(&digits, &parts)? {
        by_enumeration(a, b, &result)?;
    }
    Ok(result)
}

/// `A o T`: mode by mode where the tiler has modes.
pub fn compose_tiler(a: &Layout, tiler: &Tiler) -> Result<Layout> {
    match tiler {
        Tiler::Keep => Ok(a.clone()),
        Tiler::Layout(layout) => composition(a, layout),
        Tiler::Modes(tilers) => by_mode(a, tilers, NAME, &compose_tiler),
    }
}

/// An operation on each mode for which there is a tiler.
pub(crate) fn by_mode(
    a: &Layout,
    tilers: &[Tiler],
    operation: &'static str,
    apply: &dyn Fn(&Layout, &Tiler) -> Result<Layout>,
) -> Result<Layout> {
    let modes = a.modes();
    if tilers.len() > modes.len() {
        return Err(Error::Profile(format!(
            "{operation}: the tiler has {} modes and {a} has {}",
            tilers.len(),
            modes.len()
        )));
    }
    let mut result = Vec::with_capacity(modes.len());
    for (k, mode) in modes.iter().enumerate() {
        result.push(match tilers.get(k) {
            Some(tiler) => apply(mode, tiler)?,
            None => mode.clone(),
        });
    }
    Ok(Layout::Tuple(result))
}

fn each_mode(a: &Layout, digits: &[(Int, Int)], b: &Layout, parts: &mut Vec<Part>) -> Result<Layout> {
    match b {
        Layout::Tuple(modes) => {
            let results = modes.iter().map(|m| each_mode(a, digits, m, parts));
            Ok(Layout::Tuple(results.collect::<Result<_>>()?))
        }
        Layout::Mode { shape, stride } if stride.is_zero() => Ok(Layout::mode(shape.clone(), 0)),
        Layout::Mode { shape, stride } => {
            let mut found = Vec::new();
            match step_through(digits, shape, stride, &mut found)? {
                Ok(layout) => {
                    parts.extend(found);
                    Ok(layout)
                }
                Err(Stuck::Open(what)) => Err(Error::not_known(NAME, what)),
                Err(Stuck::Rule(why)) => by_values(a, shape, stride, why, parts),
            }
        }
    }
}

/// One mode of `B` through the digits of `A`.
fn step_through(
    digits: &[(Int, Int)],
    shape: &Int,
    stride: &Int,
    parts: &mut Vec<Part>,
) -> Result<std::result::Result<Layout, Stuck>> {
    let Some(((_, last_stride), front)) = digits.split_last() else {
        return Ok(Ok(Layout::mode(shape.clone(), 0)));
    };
    let (mut rest, mut step) = (shape.clone(), stride.clone());
    let mut leaves = Vec::new();
    if rest.is_one() {
        // One index, which is 0; the stride tells what the next one would be.
        for (size, _) in front {
            step = step.ceil_div(size).unwrap_or(Int::ZERO);
        }
        return Ok(Ok(Layout::mode(1, step.mul(last_stride)?)));
    }
    for (k, (size, unit)) in front.iter().enumerate() {
        if let Some(further) = step.exact_div(size) {
            step = further;
            continue;
        }
        let mut take = |count: &Int| -> Result<()> {
            leaves.push((count.clone(), step.mul(unit)?));
            parts.push(Part { digit: k, size: count.clone(), step: step.clone() });
            Ok(())
        };
        let reach = rest.sub(&Int::ONE)?.mul(&step)?.add(&Int::ONE)?;
        let ascends = Int::ZERO.at_most(&step) == Some(true);
        if ascends && reach.at_most(size) == Some(true) {
            take(&rest)?;
            return Ok(Ok(Layout::from_leaves(leaves)));
        }
        let is_open = [&rest, &step, size].iter().any(|n| n.as_const().is_none());
        let Some(turn) = size.exact_div(&step).filter(|_| ascends) else {
            let what = format!("that {step} divides {size}, or {size} divides {step}, in mode {k} of A");
            return Ok(Err(if is_open {
                Stuck::Open(what)
            } else {
                Stuck::Rule(format!("mode {shape}:{stride} of B needs {what}"))
            }));
        };
        let Some(further) = rest.exact_div(&turn) else {
            let what = format!("that {turn}, what is left of mode {k} of A, divides {rest}");
            return Ok(Err(if is_open {
                Stuck::Open(what)
            } else {
                Stuck::Rule(format!("mode {shape}:{stride} of B needs {what}"))
            }));
        };
        if !turn.is_one() {
            take(&turn)?;
        }
        rest = further;
        step = Int::ONE;
    }
    if !rest.is_one() || leaves.is_empty() {
        leaves.push((rest.clone(), step.mul(last_stride)?));
        parts.push(Part { digit: front.len(), size: rest, step });
    }
    Ok(Ok(Layout::from_leaves(leaves)))
}

/// One mode of `B` by the values of the composition.
fn by_values(a: &Layout, shape: &Int, stride: &Int, why: String, parts: &mut Vec<Part>) -> Result<Layout> {
    let (known, size, step) = (a.known(NAME)?, constant(shape)?, constant(stride)?);
    if size > LIMIT {
        return Err(Error::TooLarge { operation: NAME, points: size });
    }
    let f = |i: i64| known.at(i.checked_mul(step).ok_or(Error::Overflow)?);
    // The digits of the parts are not known here; a part that overflows requires enumeration.
    parts.push(Part { digit: 0, size: i64::MAX.into(), step: Int::ONE });
    match fit(size, &f)? {
        Ok(layout) => Ok(layout),
        Err(witness) => Err(Error::no_layout(NAME, why, format!("in A o {shape}:{stride}, {witness}"))),
    }
}

fn constant(value: &Int) -> Result<i64> {
    value.as_const().ok_or_else(|| Error::open_int(NAME, value))
}

/// Whether no digit of `A` but the last, which counts on, overflows when all parts add up.
fn adds_up(digits: &[(Int, Int)], parts: &[Part]) -> Result<bool> {
    for (k, (size, _)) in digits.iter().enumerate().take(digits.len().saturating_sub(1)) {
        let mut most = Int::ONE;
        for part in parts.iter().filter(|p| p.digit == k) {
            let Ok(reach) = part.size.sub(&Int::ONE).and_then(|n| n.mul(&part.step)) else {
                return Ok(false);
            };
            let Ok(sum) = most.add(&reach) else { return Ok(false) };
            most = sum;
        }
        if most.at_most(size) != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the result is the composition, index by index. Each mode of it is; a sum may overflow a
/// digit, and then no other layout is the composition either.
fn by_enumeration(a: &Layout, b: &Layout, result: &Layout) -> Result<()> {
    if !a.is_static() || !b.is_static() {
        return Err(Error::not_known(
            NAME,
            format!("that the modes of {b} do not carry over between modes of {a}"),
        ));
    }
    let (outer, inner, composed) = (a.known(NAME)?, b.known(NAME)?, result.known(NAME)?);
    if inner.size > LIMIT {
        return Err(Error::TooLarge { operation: NAME, points: inner.size });
    }
    for i in 0..inner.size {
        let (expected, found) = (outer.at(inner.at(i)?)?, composed.at(i)?);
        if expected != found {
            return Err(Error::no_layout(
                NAME,
                format!("modes of {b} carry over between modes of {a}"),
                format!(
                    "A(B({i})) = A({}) is {expected}, where the modes of B add up to {found}",
                    inner.at(i)?
                ),
            ));
        }
    }
    Ok(())
}
