//! Loops whose iterations depend on one another, with parallel loops inside: time steps,
//! eliminations.
//!
//! The loop runs on the host, which launches what is inside: a launch waits for the one before it,
//! and within one all blocks work. The loops inside are decided about next.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel heat(a: f32[n], b: f32[n], steps: i32, n: i32)
//! assume 3 <= n and 0 <= steps
//! domain { [t] : 0 <= t < steps }
//! domain { [i] : 1 <= i < n - 1 }
//! domain { [j] : 1 <= j < n - 1 }
//! b[i] = a[i - 1] + a[i + 1] {id=forth, inames=t:i}
//! a[j] = b[j - 1] + b[j + 1] {id=back, inames=t:j}
//! ")?;
//! let found = auto(&kernel, &Target::default());
//! assert_eq!(found.decisions[0].rule, Some("host loop"));
//! assert_eq!(found.decisions[0].steps[0].to_string(), "tag_inames(t: host)");
//! assert_eq!(found.decisions[1].rule, Some("map"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_lowering::Target;

use crate::{Nest, Proposal, Rule};

pub struct HostLoop;

impl Rule for HostLoop {
    fn name(&self) -> &'static str {
        "host loop"
    }

    fn propose(&self, nest: &Nest<'_>, _: &Target) -> Vec<Proposal> {
        let Some(outer) = nest.band.first() else { return Vec::new() };
        let inside: Vec<_> =
            nest.band.iter().skip(1).chain(&nest.inner).filter(|n| nest.is_parallel(n)).collect();
        // A reduction is parallel too.
        if nest.is_parallel(outer) || (inside.is_empty() && nest.reductions().is_empty()) {
            return Vec::new();
        }
        let what = match inside.is_empty() {
            true => "reductions".to_string(),
            false => crate::text::names(&inside),
        };
        let reason = format!(
            "iterations of `{outer}` depend on one another, those of {what} inside do not: the host \
             launches them"
        );
        vec![Proposal::new(reason).step(format!("tag_inames({outer}: host)"))]
    }
}
