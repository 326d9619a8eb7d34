//! Reductions over segments of unequal length, whose bounds data decide.
//!
//! Rows of known length would be divided equally; here equal numbers of rows are unequal work. The
//! points of all segments are numbered together and divided into equal chunks (`flatten_ragged`);
//! where that does not apply, each segment gets a warp.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel ragged_sum(x: f32[n], offsets: i32[nseg + 1], out: f32[nseg], n: i32, nseg: i32)
//! assume 0 <= n and 0 <= nseg
//! fact monotone(offsets)
//! fact 0 <= offsets <= n
//! domain { [s] : 0 <= s < nseg }
//! domain { [i] : lo <= i < hi }
//! temp lo: i32 private
//! temp hi: i32 private
//! lo = offsets[s] {id=load_lo}
//! hi = offsets[s + 1] {id=load_hi}
//! out[s] = sum(i, x[i]) {id=total}
//! ")?;
//! assert_eq!(auto(&kernel, &Target::default()).pipeline.to_string(), "\
//! flatten_ragged(s, i, threads=128, items=16, tiles=16)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::Name;
use loopwright_lowering::Target;

use crate::{
    Nest, Proposal, Rule, Stride, bounds,
    text::{split, tag},
};

pub struct Segments;

/// Warps of each block.
const WARPS: i64 = 4;

/// Threads of a block of flattened segments, and points of a thread in a tile.
const THREADS: i64 = 128;
const ITEMS: i64 = 16;
/// The most tiles of a chunk: more would save nothing.
const MOST_TILES: i64 = 512;

/// The number of all points, if the launch tells: the length of what is read point by point.
fn points(nest: &Nest<'_>, i: &Name) -> Option<i64> {
    let along = nest.sites.iter().find(|s| s.stride(i) == Stride::Unit)?;
    let length = &nest.kernel.array(&along.array)?.axes.get(along.dense?)?.length;
    length.to_aff()?.eval(&|n| nest.launch().integers.get(n).copied())
}

/// Tiles of a chunk. Each chunk begins and ends inside of segments, whose partial results are
/// joined: so they are few, one for each warp that the device holds.
fn tiles(points: i64, places: i64, target: &Target) -> i64 {
    let warp = i64::from(target.warp_size);
    let warps = (places / warp).max(1);
    let each = warps.saturating_mul(warp * ITEMS);
    (points / each + i64::from(points % each != 0)).clamp(1, MOST_TILES)
}

impl Rule for Segments {
    fn name(&self) -> &'static str {
        "segments"
    }

    fn propose(&self, nest: &Nest<'_>, target: &Target) -> Vec<Proposal> {
        let rows = nest.rows();
        let Some(i) = rows.iter().find(|r| bounds::are_data(nest.kernel, r)) else { return Vec::new() };
        let Some(s) = nest.parallel().last().cloned() else { return Vec::new() };
        let unequal = format!("data decide how many `{i}` each `{s}` has");
        let mut proposals = Vec::new();
        if rows.len() == 1 {
            let even = format!("{unequal}: equal chunks of all points are equal work");
            let (reason, sizes) = match points(nest, i) {
                Some(points) => {
                    let tiles = tiles(points, nest.launch().places(), target);
                    let sizes = format!(", threads={THREADS}, items={ITEMS}, tiles={tiles}");
                    (format!("{even}, one for each warp that the device holds"), sizes)
                }
                None => (even, String::new()),
            };
            proposals.push(Proposal::new(reason).step(format!("flatten_ragged({s}, {i}{sizes})")));
        }
        let mut warps = Proposal::new(format!("{unequal}: a warp for each")).step(split(&s, WARPS));
        let mut tags = vec![(format!("{s}_outer"), "block.x"), (format!("{s}_inner"), "warp")];
        for r in &rows {
            warps = warps.step(split(r, i64::from(target.warp_size)));
            tags.push((format!("{r}_inner"), "lane"));
        }
        proposals.push(warps.step(tag(&tags)));
        proposals
    }
}
