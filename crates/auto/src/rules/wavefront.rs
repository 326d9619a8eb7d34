//! Nests in which every loop carries a dependence, on neighbours in several directions: sweeps in
//! place.
//!
//! Along a skewed direction `w`, a sum of the inames with small coefficients, every dependence goes
//! forward: `w` becomes a loop of the host, and the points of one `w` are independent. Coefficients
//! are tried from the smallest, and each map is judged; the last iname of the nest is replaced.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel sweep(x: f32[n, n], n: i32)
//! assume 2 <= n
//! domain { [i, j] : 1 <= i < n and 1 <= j < n }
//! x[i, j] = x[i - 1, j] + x[i, j - 1] {id=add}
//! ")?;
//! assert_eq!(auto(&kernel, &Target::default()).pipeline.to_string(), "\
//! map_domain([i, j] -> [w, i], w = i + j)
//! split_iname(i, 128)
//! tag_inames(w: host, i_outer: block.x, i_inner: thread.x)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_lowering::Target;

use crate::{
    Nest, Proposal, Rule,
    text::{names, split, tag},
};

pub struct Wavefront;

impl Rule for Wavefront {
    fn name(&self) -> &'static str {
        "wavefront"
    }

    fn propose(&self, nest: &Nest<'_>, _: &Target) -> Vec<Proposal> {
        let band = &nest.band;
        if !nest.inner.is_empty() || !(2..=3).contains(&band.len()) || !nest.is_map() {
            return Vec::new();
        }
        let w = nest.fresh();
        let Some((w, (last, kept))) = w.zip(band.split_last()) else { return Vec::new() };
        let all: &[&[i64]] = match kept.len() {
            1 => &[&[1], &[2], &[3]],
            _ => &[&[1, 1], &[2, 1], &[1, 2], &[3, 1], &[2, 2], &[3, 2], &[4, 2]],
        };
        let mut proposals = Vec::new();
        for coefficients in all {
            let terms = kept.iter().zip(*coefficients).map(|(n, c)| match c {
                1 => n.to_string(),
                c => format!("{c}*{n}"),
            });
            let sum = terms.chain([last.to_string()]).collect::<Vec<_>>().join(" + ");
            let listed = |all: Vec<String>| all.join(", ");
            let old = listed(band.iter().map(ToString::to_string).collect());
            let new =
                listed(std::iter::once(w.to_string()).chain(kept.iter().map(ToString::to_string)).collect());
            let reason = format!(
                "each of {} carries a dependence, and all go forward along `{w} = {sum}`: the host launches \
                 the points of one `{w}`",
                names(band)
            );
            let mut proposal =
                Proposal::new(reason).step(format!("map_domain([{old}] -> [{new}], {w} = {sum})"));
            let mut tags = vec![(w.to_string(), "host")];
            let axes = [(128, "block.x", "thread.x"), (4, "block.y", "thread.y")];
            let lengths = if kept.len() == 1 { [128, 1] } else { [64, 4] };
            for ((n, (_, outer, inner)), length) in kept.iter().rev().zip(axes).zip(lengths) {
                proposal = proposal.step(split(n, length));
                tags.extend([(format!("{n}_outer"), outer), (format!("{n}_inner"), inner)]);
            }
            proposals.push(proposal.step(tag(&tags)));
        }
        proposals
    }
}
