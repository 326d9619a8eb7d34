//! Unrolls loops.

use std::fmt;

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name, Tag};
use serde::{Deserialize, Serialize};

use crate::{TagInames, Transform, call::Args, step::BuiltIn};

/// `unroll(i)`: unrolls the loop over `i`, whose length must be constant; the same as `tag_inames(i: unroll)`.
///
/// # Legality
///
/// The order of executions stays the same, so it is always legal.
///
/// In text: `unroll(i, j)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Unroll {
    /// The inames.
    pub inames: Vec<Name>,
}

impl Unroll {
    /// Unrolls these loops.
    pub fn new<N: Into<Name>>(inames: impl IntoIterator<Item = N>) -> Self {
        Unroll { inames: inames.into_iter().map(Into::into).collect() }
    }
}

impl BuiltIn for Unroll {
    const NAME: &'static str = "unroll";

    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        Ok(Unroll { inames: args.all_names("the inames to unroll")? })
    }
}

impl Transform for Unroll {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        TagInames { tags: self.inames.iter().map(|i| (i.clone(), Tag::Unroll)).collect() }.apply(kernel)
    }
}

impl fmt::Display for Unroll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inames: Vec<&str> = self.inames.iter().map(Name::as_str).collect();
        write!(f, "unroll({})", inames.join(", "))
    }
}
