//! Maps that write along one loop and read along another: transposes, permutations of axes.
//!
//! Whichever loop goes to neighbouring threads, one side is scattered, and moves a sector for each
//! element. A tile in shared memory is filled along the rows of the one and read along those of the
//! other; a padded row keeps columns in different banks.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel transpose(a: f32[m, n], b: f32[n, m], m: i32, n: i32)
//! assume 0 <= m and 0 <= n
//! domain { [j, i] : 0 <= j < n and 0 <= i < m }
//! b[j, i] = a[i, j] {id=copy}
//! ")?;
//! assert_eq!(auto(&kernel, &Target::default()).pipeline.to_string(), "\
//! split_iname(i, 32)
//! split_iname(j, 32)
//! split_iname(j_inner, 8, outer=j_part, inner=j_thread)
//! split_iname(j_outer, 65535, outer=j_far, inner=j_near)
//! tag_inames(i_outer: block.x, j_near: block.y, j_far: block.z, j_thread: thread.y, i_inner: thread.x, j_part: ilp)
//! add_prefetch(a, [i_inner, j_part, j_thread], pad=1)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_lowering::Target;

use crate::{
    Nest, Proposal, Rule, Stride,
    grid::{AXES, Along, on_axes},
    text::{split, split_as, tag},
};

pub struct Transpose;

impl Rule for Transpose {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn propose(&self, nest: &Nest<'_>, target: &Target) -> Vec<Proposal> {
        let parallel = nest.parallel();
        let Some(x) = nest.best(&parallel) else { return Vec::new() };
        if !nest.is_map() || !nest.inner.is_empty() {
            return Vec::new();
        }
        let warp = i64::from(target.warp_size);
        let turned = |y: &&loopwright_kernel_ir::Name| {
            nest.sites
                .iter()
                .find(|s| !s.is_write && s.stride(&x) == Stride::Apart && s.stride(y) == Stride::Unit)
        };
        let Some((y, read)) = parallel.iter().filter(|n| **n != x).find_map(|y| Some((y, turned(&y)?)))
        else {
            return Vec::new();
        };
        let (array, rows) = (&read.array, warp / 4);
        let reason = format!(
            "`{array}` is contiguous along `{y}`, what is written along `{x}`: a tile of {warp} x {warp} in \
             shared memory serves both"
        );
        let batch = parallel.iter().rev().find(|n| **n != x && *n != y);
        let loops = [Along::outer(&x, warp), Along::outer(y, warp)].into_iter();
        let proposal = Proposal::new(reason).step(split(&x, warp)).step(split(y, warp)).step(split_as(
            format!("{y}_inner"),
            rows,
            format!("{y}_part"),
            format!("{y}_thread"),
        ));
        let (proposal, mut tags) =
            on_axes(nest, proposal, loops.chain(batch.map(Along::whole)).collect(), &AXES);
        tags.extend([
            (format!("{y}_thread"), "thread.y"),
            (format!("{x}_inner"), "thread.x"),
            (format!("{y}_part"), "ilp"),
        ]);
        vec![
            proposal
                .step(tag(&tags))
                .step(format!("add_prefetch({array}, [{x}_inner, {y}_part, {y}_thread], pad=1)")),
        ]
    }
}
