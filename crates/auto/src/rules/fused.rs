//! Neighbouring nests over the same rows, the later ones of which read what the earlier ones found
//! out about a row: they become one.
//!
//! A softmax in three nests reads its matrix three times from memory. If a block does all that is
//! to be done about a row before the next, it finds the row in a cache after the first time. Sums
//! of a row that do not depend on each other are as well off in loops of their own, which serve
//! rows of any number and length, unless the launch is known to have many rows. Rows that are
//! known to be few are left to as many blocks as there can be.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel center(x: f32[m, n], y: f32[m, n], m: i32, n: i32)
//! assume 0 <= m and 1 <= n
//! domain { [r] : 0 <= r < m }
//! domain { [i] : 0 <= i < n }
//! domain { [p, q] : 0 <= p < m and 0 <= q < n }
//! temp mean: f32[m] global
//! mean[r] = sum(i, x[r, i]) / n {id=average}
//! y[p, q] = x[p, q] - mean[p] {id=centered}
//! ")?;
//! let found = auto(&kernel, &Target::default());
//! assert_eq!(found.decisions[0].steps[0].to_string(), "fuse_loops([r, p])");
//! assert_eq!(found.decisions[1].rule, Some("rows"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::{Name, Tag, Tree};

use crate::{Nest, Proposal, Stride, bounds, rule::Between, text::names};

pub struct Fused;

/// Threads of a block that has a row.
const THREADS: i64 = 256;

impl Between for Fused {
    fn name(&self) -> &'static str {
        "fused"
    }

    fn propose<'n>(&self, nests: &'n [Nest<'n>]) -> Vec<(&'n Nest<'n>, Proposal)> {
        let Some(kernel) = nests.first().map(|nest| nest.kernel) else { return Vec::new() };
        let mut neighbours = Vec::new();
        pairs(&kernel.tree, &mut neighbours);
        let find = |root: &Name| nests.iter().find(|nest| nest.root() == root);
        let both = neighbours.iter().filter_map(|(a, b)| Some((find(a)?, find(b)?)));
        both.filter_map(|(a, b)| Some((a, proposal(a, b)?))).collect()
    }
}

/// The loops that follow one another directly, at the top or in loops of the host.
fn pairs(trees: &[Tree], found: &mut Vec<(Name, Name)>) {
    for pair in trees.windows(2) {
        if let [Tree::Loop { iname: a, .. }, Tree::Loop { iname: b, .. }] = pair {
            found.push((a.clone(), b.clone()));
        }
    }
    for tree in trees {
        if let Tree::Loop { body, .. } = tree {
            pairs(body, found);
        }
    }
}

fn proposal(a: &Nest<'_>, b: &Nest<'_>) -> Option<Proposal> {
    let kernel = a.kernel;
    let (r, p) = (a.root(), b.root());
    let are_open = [a, b].iter().all(|nest| nest.held().is_empty() && kernel.tag(nest.root()) == Tag::Seq);
    let length =
        |n: &Name| (bounds::begin(kernel, n), bounds::length_parameter(kernel, n), bounds::length(kernel, n));
    if !are_open || length(r) != length(p) || length(r).0.is_none() {
        return None;
    }
    // Rows of the first nest are reduced, and both read the same ones.
    if a.is_map() || a.band.len() != 1 || b.band.len() > 2 || (b.band.len() == 2 && !b.is_map()) {
        return None;
    }
    let row = |nest: &Nest<'_>, array: &Name, of: &Name| {
        let own =
            nest.sites.iter().filter(|s| !s.is_write && s.array == *array && s.stride(of) != Stride::Same);
        own.into_iter().any(|s| s.inames.iter().any(|n| n != of && s.stride(n) == Stride::Unit))
    };
    let mut shared: Vec<Name> = Vec::new();
    for site in a.sites.iter().filter(|s| !s.is_write) {
        if !shared.contains(&site.array) && row(a, &site.array, r) && row(b, &site.array, p) {
            shared.push(site.array.clone());
        }
    }
    if shared.is_empty() {
        return None;
    }
    let writes = |array: &Name| a.sites.iter().any(|s| s.is_write && s.array == *array);
    let depends = b.sites.iter().any(|s| !s.is_write && writes(&s.array) && s.stride(p) != Stride::Same);
    let count = a.extent(r);
    let are_many = count.map(|count| count.saturating_mul(THREADS) >= a.launch().places());
    if are_many == Some(false) || (are_many.is_none() && !depends) {
        return None;
    }
    let reason = format!(
        "loops over `{r}` and `{p}` read the same rows of {}, which a block finds in a cache the second time",
        names(&shared)
    );
    Some(Proposal::new(reason).step(format!("fuse_loops({r}, {p})")))
}
