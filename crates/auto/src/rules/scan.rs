//! Prefix sums and other reductions over the points up to one's own.
//!
//! Read as it stands, each result sums all points before it. `realize_scan` makes it one pass; threads
//! along a row then scan it in rounds. A block has barriers in each round, at which all its loads end,
//! so that few are under way; a warp has none. So where there are rows, each gets a warp, unless it
//! consists of whole vectors, of which a block loads enough. A single row is scanned by a block.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel prefix(x: f32[m, n], out: f32[m, n], m: i32, n: i32)
//! assume 1 <= m and 0 <= n
//! domain { [s] : 0 <= s < m }
//! domain { [i] : 0 <= i < n }
//! domain { [j] : 0 <= j <= i }
//! out[s, i] = sum(j, x[s, j]) {id=prefix}
//! ")?;
//! assert_eq!(auto(&kernel, &Target::default()).pipeline.to_string(), "\
//! realize_scan(i, j)
//! split_iname(i, 32)
//! split_iname(s, 8)
//! tag_inames(s_outer: block.x, s_inner: thread.y, i_inner: thread.x)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_lowering::Target;

use crate::{
    Nest, Proposal, Rule, bounds,
    text::{split, split_as, tag},
};

pub struct Scan;

/// Threads of a block.
const THREADS: i64 = 256;
/// Warps of a block whose warps work on rows of their own.
const WARPS: i64 = 8;

impl Rule for Scan {
    fn name(&self) -> &'static str {
        "scan"
    }

    fn propose(&self, nest: &Nest<'_>, target: &Target) -> Vec<Proposal> {
        let reductions = nest.reductions();
        let [(_, reduce)] = reductions.as_slice() else { return Vec::new() };
        let [j] = reduce.inames.as_slice() else { return Vec::new() };
        let parallel = nest.parallel();
        let scanned = parallel.iter().filter(|i| bounds::depend_on(nest.kernel, j, i));
        let mut proposals = Vec::new();
        for i in scanned {
            let reason = format!("each `{i}` reduces what the one before it does and one point more");
            let begun = || Proposal::new(reason.clone()).step(format!("realize_scan({i}, {j})"));
            let axes = ["block.x", "block.y", "block.z"];
            let around = parallel.iter().rev().filter(|n| *n != i).zip(axes);
            let grid: Vec<(String, &'static str)> = around.map(|(n, axis)| (n.to_string(), axis)).collect();
            let width = nest.vector(i, target.widest_access as usize);
            if width > 1 {
                let mut tags = grid.clone();
                tags.extend([(format!("{i}_thread"), "thread.x"), (format!("{i}_vec"), "vec")]);
                proposals.push(
                    begun()
                        .step(split(i, THREADS * width))
                        .step(split_as(
                            format!("{i}_inner"),
                            width,
                            format!("{i}_thread"),
                            format!("{i}_vec"),
                        ))
                        .step(tag(&tags)),
                );
            }
            // A block ends its loads at the barriers of each round; a warp has none.
            let mut around = parallel.iter().rev().filter(|n| *n != i);
            if let Some(last) = around.next() {
                let mut tags = vec![
                    (format!("{last}_outer"), "block.x"),
                    (format!("{last}_inner"), "thread.y"),
                    (format!("{i}_inner"), "thread.x"),
                ];
                tags.extend(around.zip(["block.y", "block.z"]).map(|(n, axis)| (n.to_string(), axis)));
                let reason =
                    format!("{reason}; a warp for each row, which meets no barriers: {WARPS} rows a block");
                proposals.push(
                    Proposal::new(reason)
                        .step(format!("realize_scan({i}, {j})"))
                        .step(split(i, i64::from(target.warp_size)))
                        .step(split(last, WARPS))
                        .step(tag(&tags)),
                );
            }
            let mut tags = grid.clone();
            tags.push((format!("{i}_inner"), "thread.x"));
            proposals.push(begun().step(split(i, THREADS)).step(tag(&tags)));
        }
        proposals
    }
}
