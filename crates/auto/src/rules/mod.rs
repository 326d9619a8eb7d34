//! The rules, one per file.

mod accumulated;
mod apart;
mod begun;
mod columns;
mod copied;
mod elimination;
mod fused;
mod host_loop;
mod inlined;
mod map;
mod pivot;
mod product;
mod rows;
mod scan;
mod segments;
mod shift;
mod short;
mod strips;
mod total;
mod transpose;
mod updates;
mod wavefront;

use crate::{Nest, Rule, rule::Between};

/// Whether the threads of a nest's blocks copy tiles. They are all that a kernel's blocks have at
/// that time, so that such nests are decided about before others, whose blocks have other shapes.
pub(crate) fn has_tiles(nest: &Nest<'_>) -> bool {
    product::Product::is(nest)
}

/// The rules, in the order in which they are asked. The first ones are those for more special
/// nests.
pub const RULES: &[&dyn Rule] = &[
    &apart::Apart,
    &shift::Shift,
    &segments::Segments,
    &updates::Updates,
    &scan::Scan,
    &product::Product,
    &transpose::Transpose,
    &short::Short,
    &columns::Columns,
    &strips::Strips,
    &rows::Rows,
    &total::Total,
    &pivot::Pivot,
    &map::Map,
    &elimination::Elimination,
    &host_loop::HostLoop,
    &wavefront::Wavefront,
    &accumulated::Accumulated,
];

/// The rules about several nests.
pub(crate) const BETWEEN: &[&dyn Between] = &[&inlined::Inlined, &fused::Fused];

/// The rules for nests that a user's steps have made parallel in part.
pub(crate) const BEGUN: &[&dyn Rule] = &[&copied::Copied, &begun::Begun];
