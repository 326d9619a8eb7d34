//! Reductions along the outer axis of an array: sums of columns, a transposed matrix times a
//! vector.
//!
//! Neighbouring results read neighbouring elements, so that results go to neighbouring threads. If
//! that were all, there would be no more threads than results: so the reduction is divided among
//! blocks and among threads along y, whose partial results are joined.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel column_sum(x: f32[m, n], out: f32[n], m: i32, n: i32)
//! assume 0 <= m and 0 <= n
//! domain { [j] : 0 <= j < n }
//! domain { [i] : 0 <= i < m }
//! out[j] = sum(i, x[i, j]) {id=total}
//! ")?;
//! assert_eq!(auto(&kernel, &Target::default()).pipeline.to_string(), "\
//! split_iname(j, 32)
//! split_iname(i, 1024, outer=i_chunk, inner=i_rest)
//! split_iname(i_rest, 16, outer=i_round, inner=i_thread)
//! split_iname(i_round, 16, outer=i_step, inner=i_part)
//! tag_inames(j_outer: block.x, j_inner: thread.x, i_chunk: block.y, i_thread: thread.y, i_part: unroll)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::Name;
use loopwright_lowering::Target;

use crate::{
    Nest, Proposal, Rule,
    text::{split, split_as, tag},
};

pub struct Columns;

/// Points of a reduction that a block takes.
const CHUNK: i64 = 1024;
/// Threads along a reduction.
const ALONG: i64 = 16;
/// Points of a thread whose loads stand together.
const IN_FLIGHT: i64 = 16;

impl Rule for Columns {
    fn name(&self) -> &'static str {
        "columns"
    }

    fn propose(&self, nest: &Nest<'_>, target: &Target) -> Vec<Proposal> {
        let (parallel, rows) = (nest.parallel(), nest.rows());
        let Some(x) = nest.best(&parallel) else { return Vec::new() };
        let along: f64 = rows.iter().map(|r| nest.score(r)).sum();
        if nest.is_map() || !nest.inner.is_empty() || nest.score(&x) <= along {
            return Vec::new();
        }
        let (unit, moving) = nest.neighbours(&x);
        let coalesced = format!(
            "neighbouring results are neighbours in memory for {unit} of {moving} accesses along `{x}`"
        );
        let warp = i64::from(target.warp_size);
        let others = parallel.iter().rev().filter(|n| **n != x);
        // A loop that is not split may be long, and only x has room for that.
        let batch = others.clone().next().map(|n| (n.to_string(), "block.x"));
        let axis = if batch.is_some() { "block.z" } else { "block.x" };
        let own = |proposal: Proposal, width: i64, vector: i64| {
            let proposal = proposal.step(split(&x, width * vector));
            let mut tags = vec![(format!("{x}_outer"), axis)];
            if vector == 1 {
                tags.push((format!("{x}_inner"), "thread.x"));
                return (proposal, tags);
            }
            let parts = [format!("{x}_thread"), format!("{x}_vec")];
            let proposal = proposal.step(split_as(format!("{x}_inner"), vector, &parts[0], &parts[1]));
            tags.extend(parts.into_iter().zip(["thread.x", "vec"]));
            (proposal, tags)
        };
        let mut proposals = Vec::new();
        if let [r] = rows.as_slice() {
            let divided = |blocks: bool, width: i64, threads: i64, vector: i64| {
                let vectors =
                    if vector > 1 { format!(", in whole vectors of {vector}") } else { String::new() };
                let reason = match blocks {
                    true => format!(
                        "{coalesced}{vectors}; the reduction over `{r}` is divided among blocks of {CHUNK} \
                         points and {threads} threads each"
                    ),
                    false => format!("{coalesced}; {threads} threads share each reduction over `{r}`"),
                };
                let (mut proposal, mut tags) = own(Proposal::new(reason), width, vector);
                let mut rest = r.to_string();
                if blocks {
                    proposal = proposal.step(split_as(r, CHUNK, format!("{r}_chunk"), format!("{r}_rest")));
                    tags.push((format!("{r}_chunk"), "block.y"));
                    rest = format!("{r}_rest");
                }
                proposal =
                    proposal.step(split_as(rest, threads, format!("{r}_round"), format!("{r}_thread"))).step(
                        split_as(format!("{r}_round"), IN_FLIGHT, format!("{r}_step"), format!("{r}_part")),
                    );
                tags.extend([(format!("{r}_thread"), "thread.y"), (format!("{r}_part"), "unroll")]);
                tags.extend(batch.clone());
                proposal.step(tag(&tags))
            };
            // Blocks of one axis fit beside nests of the same launch that are as wide.
            let wide = 8 * warp;
            let reason = format!(
                "{coalesced}; the reduction over `{r}` is divided among blocks of {} points",
                CHUNK / 4
            );
            let (proposal, mut tags) = own(Proposal::new(reason), wide, 1);
            tags.extend([(format!("{r}_chunk"), "block.y"), (format!("{r}_part"), "unroll")]);
            tags.extend(batch.clone());
            let along = proposal
                .step(split_as(r, CHUNK / 4, format!("{r}_chunk"), format!("{r}_rest")))
                .step(split_as(format!("{r}_rest"), IN_FLIGHT, format!("{r}_step"), format!("{r}_part")))
                .step(tag(&tags));
            // A row of a block's threads then reads as many whole lines; there have to be blocks
            // enough of these.
            let vector = nest.vector(&x, target.widest_access as usize);
            let blocks = || {
                let of = |n: &Name, each: i64| Some((nest.extent(n)?.max(1) - 1) / each + 1);
                let own = of(&x, warp * vector)?.saturating_mul(of(r, CHUNK)?);
                others.clone().try_fold(own, |all, n| Some(all.saturating_mul(nest.extent(n)?)))
            };
            let fills = || blocks().is_none_or(|n| n >= nest.launch().multiprocessors.into());
            // Blocks share no reduction that has others inside, or is inside of another.
            if !nest.has_nested_reductions() {
                if vector > 1 && fills() {
                    proposals.push(divided(true, warp, ALONG, vector));
                }
                proposals.extend([divided(true, warp, ALONG, 1), along]);
            }
            proposals.push(divided(false, warp, ALONG, 1));
        }
        let (proposal, mut tags) = own(Proposal::new(format!("{coalesced}; a thread for each")), 4 * warp, 1);
        tags.extend(batch);
        proposals.push(proposal.step(tag(&tags)));
        proposals
    }
}
