//! Divides, which split a layout into tiles and a layout of tiles; and products, which repeat a
//! layout.
//!
//! `logical_divide(A, B) = A o (B, complement(B, size(A)))`: the first mode runs through a tile,
//! the second through the tiles. `logical_product(A, B) = (A, complement(A, size(A) cosize(B)) o
//! B)`: the first mode is `A`, the second its copies in the order of `B`. The other forms regroup
//! modes.

use crate::{
    Error, Int, IntTuple, Layout, Result, Tiler,
    complement::gaps,
    compose::{by_mode, composition},
};

/// `A` cut by a tiler: each tiled mode becomes `(tile, rest)`.
pub fn logical_divide(a: &Layout, tiler: &Tiler) -> Result<Layout> {
    match tiler {
        Tiler::Keep => Ok(a.clone()),
        Tiler::Layout(b) => {
            let rest = gaps(b, &a.size()?)?;
            composition(a, &Layout::Tuple(vec![b.clone(), rest]))
        }
        Tiler::Modes(tilers) => by_mode(a, tilers, "logical_divide", &logical_divide),
    }
}

/// `((tile, ...), (rest, ...))`
pub fn zipped_divide(a: &Layout, tiler: &Tiler) -> Result<Layout> {
    unzipped(a, tiler, "zipped_divide", &logical_divide)
}

/// `((tile, ...), rest, ...)`
pub fn tiled_divide(a: &Layout, tiler: &Tiler) -> Result<Layout> {
    spread(zipped_divide(a, tiler)?, false)
}

/// `(tile, ..., rest, ...)`
pub fn flat_divide(a: &Layout, tiler: &Tiler) -> Result<Layout> {
    spread(zipped_divide(a, tiler)?, true)
}

/// `A` repeated in the order of a tiler: each tiled mode becomes `(mode, copies)`.
pub fn logical_product(a: &Layout, tiler: &Tiler) -> Result<Layout> {
    match tiler {
        Tiler::Keep => Ok(a.clone()),
        Tiler::Layout(b) => {
            let rest = gaps(a, &a.size()?.mul(&b.cosize()?)?)?;
            Ok(Layout::Tuple(vec![a.clone(), composition(&rest, b)?]))
        }
        Tiler::Modes(tilers) => by_mode(a, tilers, "logical_product", &logical_product),
    }
}

/// `((mode, ...), (copies, ...))`
pub fn zipped_product(a: &Layout, tiler: &Tiler) -> Result<Layout> {
    unzipped(a, tiler, "zipped_product", &logical_product)
}

/// `((mode, ...), copies, ...)`
pub fn tiled_product(a: &Layout, tiler: &Tiler) -> Result<Layout> {
    spread(zipped_product(a, tiler)?, false)
}

/// `(mode, ..., copies, ...)`
pub fn flat_product(a: &Layout, tiler: &Tiler) -> Result<Layout> {
    spread(zipped_product(a, tiler)?, true)
}

/// The block repeated, with its elements kept together: mode `k` is `(block_k, tiler_k)`.
pub fn blocked_product(block: &Layout, tiler: &Layout) -> Result<Layout> {
    zipped_by_rank(block, tiler, false)
}

/// The block repeated, with its elements interleaved: mode `k` is `(tiler_k, block_k)`.
pub fn raked_product(block: &Layout, tiler: &Layout) -> Result<Layout> {
    zipped_by_rank(block, tiler, true)
}

/// The block repeated until it covers a shape; `order` ranks the modes of the tiles, the first one
/// fastest (by default in their order).
pub fn tile_to_shape(block: &Layout, shape: &IntTuple, order: Option<&[i64]>) -> Result<Layout> {
    let sizes: Vec<Int> = shape.modes().iter().map(IntTuple::product).collect::<Result<_>>()?;
    let block = padded(block, sizes.len());
    if block.rank() > sizes.len() {
        return Err(Error::Profile(format!("tile_to_shape: {block} has more modes than {shape}")));
    }
    let mut tiles = Vec::new();
    for (mode, size) in block.modes().iter().zip(&sizes) {
        let tile = mode.size()?;
        tiles.push(size.exact_div(&tile).ok_or_else(|| match (size.as_const(), tile.as_const()) {
            (Some(_), Some(_)) => Error::no_layout(
                "tile_to_shape",
                format!("the mode {mode} of the block has size {tile}, which does not divide {size}"),
                format!(
                    "{size} = {tile} * {} + a rest",
                    size.as_const().unwrap_or(0) / tile.as_const().unwrap_or(1).max(1)
                ),
            ),
            _ => Error::not_known("tile_to_shape", format!("that {tile} divides {size}")),
        })?);
    }
    let repeated = blocked_product(&block, &ordered(&tiles, order)?)?;
    repeated.coalesce_by(&IntTuple::from(vec![1i64; sizes.len()]))
}

/// A compact layout of these sizes whose modes run in a given order: the one with the least number
/// fastest, equal ones from left to right.
pub fn ordered(sizes: &[Int], order: Option<&[i64]>) -> Result<Layout> {
    let mut positions: Vec<usize> = (0..sizes.len()).collect();
    if let Some(order) = order {
        if order.len() != sizes.len() {
            return Err(Error::Profile(format!(
                "an order of {} modes for {} sizes",
                order.len(),
                sizes.len()
            )));
        }
        positions.sort_by_key(|k| order.get(*k).copied());
    }
    let mut strides = vec![Int::ONE; sizes.len()];
    let mut product = Int::ONE;
    for k in positions {
        if let (Some(stride), Some(size)) = (strides.get_mut(k), sizes.get(k)) {
            *stride = product.clone();
            product = product.mul(size)?;
        }
    }
    let modes = sizes.iter().zip(strides).map(|(s, d)| Layout::mode(s.clone(), d));
    Ok(Layout::Tuple(modes.collect()))
}

/// `((a, ...), (b, ...))` of the pairs `(a, b)` that an operation makes of each mode.
fn unzipped(
    a: &Layout,
    tiler: &Tiler,
    operation: &'static str,
    split: &dyn Fn(&Layout, &Tiler) -> Result<Layout>,
) -> Result<Layout> {
    let tilers = match tiler {
        Tiler::Keep => return Ok(Layout::Tuple(vec![Layout::mode(1, 0), a.clone()])),
        Tiler::Layout(_) => return split(a, tiler),
        Tiler::Modes(tilers) => tilers,
    };
    let modes = a.modes();
    if tilers.len() > modes.len() {
        return Err(Error::Profile(format!(
            "{operation}: the tiler has {} modes and {a} has {}",
            tilers.len(),
            modes.len()
        )));
    }
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (k, mode) in modes.iter().enumerate() {
        let Some(tiler) = tilers.get(k) else {
            second.push(mode.clone());
            continue;
        };
        let mut halves = unzipped(mode, tiler, operation, split)?.modes().into_iter();
        first.extend(halves.next());
        second.extend(halves.next());
    }
    Ok(Layout::Tuple(vec![Layout::Tuple(first), Layout::Tuple(second)]))
}

/// `((a, ...), (b, ...))` with the second tuple's modes at the top, and the first one's on request.
fn spread(zipped: Layout, both: bool) -> Result<Layout> {
    let mut modes = Vec::new();
    for (k, half) in zipped.modes().into_iter().enumerate() {
        if k == 0 && !both {
            modes.push(half);
        } else {
            modes.extend(half.modes());
        }
    }
    Ok(Layout::Tuple(modes))
}

/// The layout with modes `1:0` up to a rank.
fn padded(layout: &Layout, rank: usize) -> Layout {
    let mut modes = layout.modes();
    while modes.len() < rank {
        modes.push(Layout::mode(1, 0));
    }
    Layout::Tuple(modes)
}

fn zipped_by_rank(block: &Layout, tiler: &Layout, raked: bool) -> Result<Layout> {
    let rank = block.rank().max(tiler.rank());
    let (block, tiler) = (padded(block, rank), padded(tiler, rank));
    let product = logical_product(&block, &Tiler::Layout(tiler))?;
    let mut halves = product.modes().into_iter().map(|half| half.modes());
    let (first, second) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
    let pairs = first.into_iter().zip(second);
    Ok(Layout::Tuple(
        pairs.map(|(a, b)| Layout::Tuple(if raked { vec![b, a] } else { vec![a, b] })).collect(),
    ))
}
