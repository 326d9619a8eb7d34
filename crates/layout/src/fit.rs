//! The layout of a given function, found from its values.
//!
//! A function on `0 .. n` has at most one coalesced layout of size `n`: its first mode is the
//! longest linear piece `0 .. s` at the start (a shorter one would be continued by the next mode),
//! so that `s` has to divide `n`, and the rest is the same question about `j -> f(s j)`. This
//! decides in `n` steps whether there is one, without rules of divisibility.

use crate::{Error, Layout, Result};

/// More points than this are not enumerated.
pub(crate) const LIMIT: i64 = 1 << 20;

/// The coalesced layout with the values that a function has on `0 .. size`, if there is one.
///
/// ```
/// use loopwright_layout::layout_of;
///
/// let found = layout_of(12, &|i| Ok(i % 4 * 3 + i / 4))?;
/// assert_eq!(found.map(|layout| layout.to_string()).as_deref(), Some("(4,3):(3,1)"));
/// assert_eq!(layout_of(4, &|i| Ok(i * i))?, None);
/// # Ok::<(), loopwright_layout::Error>(())
/// ```
pub fn layout_of(size: i64, f: &dyn Fn(i64) -> Result<i64>) -> Result<Option<Layout>> {
    if size > LIMIT {
        return Err(Error::TooLarge { operation: "layout", points: size });
    }
    Ok(fit(size, f)?.ok())
}

/// The coalesced layout with these values, or a sentence with the indices at which none fits.
pub(crate) fn fit(size: i64, f: &dyn Fn(i64) -> Result<i64>) -> Result<std::result::Result<Layout, String>> {
    let values: Vec<i64> = (0..size).map(f).collect::<Result<_>>()?;
    let mut leaves = Vec::new();
    let mut step = 1usize;
    if values.first().is_some_and(|v| *v != 0) {
        return Ok(Err(format!("index 0 is {} and not 0", values.first().copied().unwrap_or(0))));
    }
    while step < values.len() {
        let stride = values.get(step).copied().unwrap_or(0);
        let at = |k: usize| values.get(k * step).copied();
        let mut count = 2usize;
        while at(count)
            .is_some_and(|v| i64::try_from(count).ok().and_then(|c| c.checked_mul(stride)) == Some(v))
        {
            count += 1;
        }
        let rest = values.len() / step;
        if !rest.is_multiple_of(count) {
            return Ok(Err(format!(
                "index {} is {} and index {} is {}, a step after {count} of {rest} positions",
                (count - 1) * step,
                at(count - 1).unwrap_or(0),
                count * step,
                at(count).unwrap_or(0)
            )));
        }
        leaves.push((i64::try_from(count).unwrap_or(i64::MAX).into(), stride.into()));
        step *= count;
    }
    let layout = Layout::from_leaves(leaves);
    let known = layout.known("fit")?;
    for (k, value) in values.iter().enumerate() {
        let found = known.at(i64::try_from(k).unwrap_or(i64::MAX))?;
        if found != *value {
            return Ok(Err(format!("index {k} is {value}, where its digits add up to {found}")));
        }
    }
    Ok(Ok(layout))
}
