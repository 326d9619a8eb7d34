//! The same function with fewer modes.

use crate::{Error, Int, IntTuple, Layout, Result};

impl Layout {
    /// The same function with as few modes as possible, in one flat tuple.
    ///
    /// Modes of size 1 are dropped, and a mode that continues the preceding one (`stride = size *
    /// stride` of that one) is merged into it. Inside the domain the function is the same.
    pub fn coalesce(&self) -> Result<Layout> {
        Ok(Layout::from_leaves(merged(self.leaves(), false)?))
    }

    /// As [`Layout::coalesce`], for each mode of a profile alone: modes for which the profile has a
    /// number become one mode or a flat tuple; those beyond it stay.
    pub fn coalesce_by(&self, profile: &IntTuple) -> Result<Layout> {
        self.by_profile(profile, "coalesce", &Layout::coalesce)
    }

    /// Without modes of stride 0 and of size 1, and coalesced: an injective layout with the same
    /// image, if the rest was injective.
    pub fn filter(&self) -> Result<Layout> {
        let kept = self.leaves().into_iter().filter(|(s, d)| !s.is_one() && !d.is_zero()).collect();
        Layout::from_leaves(kept).coalesce()
    }

    /// As [`Layout::filter`], for each mode of a profile alone.
    pub fn filter_by(&self, profile: &IntTuple) -> Result<Layout> {
        self.by_profile(profile, "filter", &Layout::filter)
    }

    /// The same tree with size 1 for modes of stride 0.
    pub fn filter_zeros(&self) -> Layout {
        match self {
            Layout::Mode { stride, .. } if stride.is_zero() => Layout::mode(1, 0),
            Layout::Mode { .. } => self.clone(),
            Layout::Tuple(modes) => Layout::Tuple(modes.iter().map(Layout::filter_zeros).collect()),
        }
    }

    fn by_profile(
        &self,
        profile: &IntTuple,
        operation: &'static str,
        leaf: &dyn Fn(&Layout) -> Result<Layout>,
    ) -> Result<Layout> {
        let IntTuple::Tuple(profiles) = profile else { return leaf(self) };
        let modes = self.modes();
        if profiles.len() > modes.len() {
            return Err(Error::Profile(format!(
                "{operation}: the profile {profile} has more modes than {self}"
            )));
        }
        let mut result = Vec::with_capacity(modes.len());
        for (k, mode) in modes.iter().enumerate() {
            result.push(match profiles.get(k) {
                Some(profile) => mode.by_profile(profile, operation, leaf)?,
                None => mode.clone(),
            });
        }
        Ok(Layout::Tuple(result))
    }
}

/// Merges adjacent leaves that continue each other; leaves of size 1 are dropped, except for the
/// last one if the layout has to be the same function beyond its domain.
pub(crate) fn merged(leaves: Vec<(Int, Int)>, beyond: bool) -> Result<Vec<(Int, Int)>> {
    let last = leaves.len().saturating_sub(1);
    let mut result: Vec<(Int, Int)> = Vec::with_capacity(leaves.len());
    for (k, (shape, stride)) in leaves.into_iter().enumerate() {
        if shape.is_one() && !(beyond && k == last) {
            continue;
        }
        match result.last_mut() {
            Some((s, d)) if s.mul(d)? == stride => *s = s.mul(&shape)?,
            _ => result.push((shape, stride)),
        }
    }
    Ok(result)
}
