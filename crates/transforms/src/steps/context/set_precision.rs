//! Chooses how exact math functions are.

use std::fmt;

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Precision};
use loopwright_legality::Judgement;
use serde::{Deserialize, Serialize};

use crate::{Transform, call::Args, step::BuiltIn};

/// `set_precision(fast)`: math functions of the kernel use the hardware's approximations, except
/// where a call says otherwise.
///
/// # Legality
///
/// The declared kernel leaves the precision of such calls to this option; results differ within the
/// approximation's error.
///
/// In text: `set_precision(fast)`, `set_precision(precise)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SetPrecision {
    /// The precision of calls that do not say one.
    pub precision: Precision,
}

impl SetPrecision {
    /// This precision.
    pub fn new(precision: Precision) -> Self {
        SetPrecision { precision }
    }
}

impl BuiltIn for SetPrecision {
    const NAME: &'static str = "set_precision";

    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let name = args.name("`fast` or `precise`")?;
        match name.as_str() {
            "fast" => Ok(SetPrecision::new(Precision::Fast)),
            "precise" => Ok(SetPrecision::new(Precision::Precise)),
            other => {
                Err(args.error(format!("there is no precision `{other}`")).help("it is `fast` or `precise`"))
            }
        }
    }
}

impl Transform for SetPrecision {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        kernel.edit(|data| {
            data.options.precision = self.precision;
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("the same result up to the precision that is asked for")
    }
}

impl fmt::Display for SetPrecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.precision {
            Precision::Fast => "set_precision(fast)",
            Precision::Precise => "set_precision(precise)",
        })
    }
}
