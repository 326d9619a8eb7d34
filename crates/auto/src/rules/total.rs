//! Reductions of everything to one value.
//!
//! Blocks take chunks, whose partial results are joined: one block would leave all multiprocessors
//! but one idle.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel total(x: f32[n], out: f32[1], n: i32)
//! assume 0 <= n
//! domain { [i] : 0 <= i < n }
//! out[0] = sum(i, x[i]) {id=total}
//! ")?;
//! assert_eq!(auto(&kernel, &Target::default()).pipeline.to_string(), "\
//! split_iname(i, 16384, outer=i_chunk, inner=i_rest)
//! split_iname(i_rest, 256, outer=i_step, inner=i_thread)
//! tag_inames(i_chunk: block.x, i_thread: thread.x)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_lowering::Target;

use crate::{
    Nest, Proposal, Rule,
    text::{split, split_as, tag},
};

pub struct Total;

/// Points that a block takes.
const CHUNK: i64 = 16384;
/// Threads of each block.
const THREADS: i64 = 256;

impl Rule for Total {
    fn name(&self) -> &'static str {
        "total"
    }

    fn propose(&self, nest: &Nest<'_>, _: &Target) -> Vec<Proposal> {
        let rows = nest.rows();
        let [r] = rows.as_slice() else { return Vec::new() };
        if !nest.parallel().is_empty() || !nest.band.is_empty() {
            return Vec::new();
        }
        let chunked = Proposal::new(format!(
            "a single result: blocks take {CHUNK} points of `{r}` each, and their partial results are joined"
        ))
        .step(split_as(r, CHUNK, format!("{r}_chunk"), format!("{r}_rest")))
        .step(split_as(format!("{r}_rest"), THREADS, format!("{r}_step"), format!("{r}_thread")))
        .step(tag(&[(format!("{r}_chunk"), "block.x"), (format!("{r}_thread"), "thread.x")]));
        let block = Proposal::new(format!("a single result: one block reduces `{r}`"))
            .step(split(r, 4 * THREADS))
            .step(tag(&[(format!("{r}_inner"), "thread.x")]));
        // Blocks share no reduction that has others inside, or is inside of another.
        if nest.has_nested_reductions() {
            return vec![block];
        }
        // A table is divided by its rows.
        let reductions = nest.reductions();
        let outer = reductions.iter().flat_map(|(_, all)| &all.inames).find(|n| *n != r);
        let rows = outer.map(|outer| {
            let reason =
                format!("a single result: a block for each `{outer}`, whose partial results are joined");
            let tags = [(outer.to_string(), "block.x"), (format!("{r}_inner"), "thread.x")];
            Proposal::new(reason).step(split(r, THREADS)).step(tag(&tags))
        });
        rows.into_iter().chain([chunked, block]).collect()
    }
}
