//! Statements under one loop that are better off with a nest of their own: two products, one after
//! the other, of the same rows.
//!
//! As long as they share the loop, a block or a thread would do all the work of a row. Each by
//! itself has a second loop around its sum, so that a block can take a tile of results. Where
//! values pass from one to the other in memory, the loop is taken apart (`distribute`), and each
//! nest is decided about by itself. Statements whose sums have no loop of their own around them, as
//! of a softmax, share what they read, and stay together.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel twice(a: f32[n, n], b: f32[n, n], t: f32[n, n], c: f32[n, n], n: i32)
//! assume 1 <= n
//! domain { [i] : 0 <= i < n }
//! domain { [j] : 0 <= j < n }
//! domain { [k] : 0 <= k < n }
//! domain { [l] : 0 <= l < n }
//! domain { [p] : 0 <= p < n }
//! t[i, j] = sum(k, a[i, k]*b[k, j]) {id=first}
//! c[i, l] = sum(p, t[i, p]*b[p, l]) {id=second}
//! ")?;
//! let found = auto(&kernel, &Target::default());
//! assert_eq!(found.decisions[0].steps[0].to_string(), "distribute(i)");
//! assert_eq!(found.decisions[1].rule, Some("product"));
//! assert_eq!(found.decisions[2].rule, Some("product"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::{Instruction, Tree};
use loopwright_lowering::Target;

use crate::{Nest, Proposal, Rule};

pub struct Apart;

impl Rule for Apart {
    fn name(&self) -> &'static str {
        "apart"
    }

    fn propose(&self, nest: &Nest<'_>, _: &Target) -> Vec<Proposal> {
        let [i] = nest.band.as_slice() else { return Vec::new() };
        let Tree::Loop { body, .. } = nest.tree() else { return Vec::new() };
        let is_product =
            |i: &&&Instruction| !i.reductions().is_empty() && i.within.iter().any(|n| nest.inner.contains(n));
        let products = nest.instructions.iter().filter(is_product).count();
        if body.len() < 2 || products < 2 || !nest.is_parallel(i) {
            return Vec::new();
        }
        let reason = format!(
            "{products} sums under `{i}` have loops of their own around them: apart from one another, \
             each is spread along both"
        );
        vec![Proposal::new(reason).step(format!("distribute({i})"))]
    }
}
