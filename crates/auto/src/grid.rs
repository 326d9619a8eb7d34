//! Loops on the axes of the grid.
//!
//! Only the axis x has room for whatever length; y and z have
//! [`Target::most_blocks`](crate::Target::most_blocks) blocks. A loop that is not known to stay
//! below that is put on x if what would be there is known to be short. Otherwise it takes two axes,
//! the second of which counts what the first has no room for; the grid of a small problem is the
//! same as without it.

use loopwright_kernel_ir::Name;

use crate::{Nest, Proposal, text::split_as};

/// The axes of the grid, the one with room for any length first.
pub(crate) const AXES: [&str; 3] = ["block.x", "block.y", "block.z"];

/// A loop whose iterations go to blocks.
pub(crate) struct Along {
    /// The loop of the nest.
    pub of: Name,
    /// How many of its iterations a block takes.
    pub each: i64,
    /// The loop of blocks, after the proposal's steps so far.
    pub blocks: String,
    /// The number of its iterations, if the nest has no such loop yet, and if that is known.
    pub length: Option<i64>,
}

impl Along {
    /// A loop, each of whose iterations has a block.
    pub fn whole(of: &Name) -> Along {
        Along { of: of.clone(), each: 1, blocks: of.to_string(), length: None }
    }

    /// Whether an axis other than x has room for it, as far as lengths are known.
    fn fits(&self, nest: &Nest<'_>) -> bool {
        match self.length {
            Some(length) => length <= nest.most_blocks().saturating_mul(self.each),
            None => nest.fits_grid(&self.of, self.each),
        }
    }

    /// A loop that was split into `{of}_outer` of blocks and an inner part of this length.
    pub fn outer(of: &Name, each: i64) -> Along {
        Along { of: of.clone(), each, blocks: format!("{of}_outer"), length: None }
    }
}

/// Puts loops on these axes in their order, x first, and the rest of the loops nowhere: the
/// proposal with more steps and with what is to be said in its reason, and the tags.
pub(crate) fn on_axes(
    nest: &Nest<'_>,
    mut proposal: Proposal,
    mut loops: Vec<Along>,
    axes: &[&'static str],
) -> (Proposal, Vec<(String, &'static str)>) {
    loops.truncate(axes.len());
    let has_room = |axis: &str, a: &Along| axis == "block.x" || a.fits(nest);
    let too_long = |a: &Along| nest.is_too_long(&a.of, a.each) || a.length.is_some() && !a.fits(nest);
    // Neighbouring blocks had better be neighbours in memory, unless there are few of them anyway.
    let long = (1..loops.len()).filter(|k| !has_room(axes[*k], &loops[*k]));
    let long: Vec<usize> = long.collect();
    let worst = long.iter().copied().find(|k| too_long(&loops[*k])).or(long.first().copied());
    if let (Some(worst), Some(first)) = (worst, loops.first())
        && axes.first() == Some(&"block.x")
        && first.fits(nest)
    {
        let name = &loops[worst].of;
        proposal.reason +=
            &format!(", and blocks along `{name}`, of which there may be many, are on the axis with room");
        loops.swap(0, worst);
    }
    let mut spare = axes[loops.len()..].iter();
    let (mut tags, mut far, mut room) = (Vec::new(), Vec::new(), Vec::new());
    for (a, axis) in loops.iter().zip(axes) {
        if has_room(axis, a) {
            tags.push((a.blocks.clone(), *axis));
            continue;
        }
        if let Some(more) = spare.next() {
            let (outer, inner) = (format!("{}_far", a.of), format!("{}_near", a.of));
            proposal = proposal.step(split_as(&a.blocks, nest.most_blocks(), &outer, &inner));
            tags.push((inner, *axis));
            far.push((outer, *more));
            continue;
        }
        room.push(format!("{} `{}`", nest.most_blocks().saturating_mul(a.each), a.of));
        tags.push((a.blocks.clone(), *axis));
    }
    if !room.is_empty() {
        proposal.reason += &format!("; the grid has room for {}", room.join(" and "));
    }
    tags.extend(far);
    (proposal, tags)
}
