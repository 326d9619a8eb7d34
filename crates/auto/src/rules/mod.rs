//! The rules, one per file.

mod columns;
mod host_loop;
mod map;
mod product;
mod rows;
mod scan;
mod segments;
mod total;
mod transpose;
mod wavefront;

use crate::Rule;

/// The rules, in the order in which they are asked. The first ones are those for more special
/// nests.
pub const RULES: &[&dyn Rule] = &[
    &segments::Segments,
    &scan::Scan,
    &product::Product,
    &transpose::Transpose,
    &columns::Columns,
    &rows::Rows,
    &total::Total,
    &map::Map,
    &host_loop::HostLoop,
    &wavefront::Wavefront,
];
