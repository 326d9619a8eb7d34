//! The verdict on a transformed kernel, in a word.

use loopwright_kernel_ir::LoopKernel;
use loopwright_legality::{Basis, Verdict, agrees, judge};

/// `order` or `flow`, by which it is proved, `refuted` or `unknown`. A refutation is replayed once
/// more.
pub fn judged(transformed: &str, declared: &str) -> String {
    let text = format!("{transformed}declared {{\n{declared}}}\n");
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    match judge(kernel.declared(), &kernel) {
        Verdict::Proved { basis: Basis::Order, .. } => "order".into(),
        Verdict::Proved { .. } => "flow".into(),
        Verdict::Refuted(witness) => {
            assert_eq!(agrees(&kernel, &witness.parameters), Ok(Some(witness.failure.clone())));
            "refuted".into()
        }
        Verdict::Unknown { .. } => "unknown".into(),
    }
}
