//! The values that a reduction's state consists of, by name, and how often an expression of its
//! operator uses one.

use loopwright_kernel_ir::{Expr, Name, ReductionOp};

/// `sum`, or a name for each value of the state: `sum_v`, `sum_k`.
pub(crate) fn names(operator: &ReductionOp, like: &str) -> Vec<String> {
    match operator.state.as_slice() {
        [_] => vec![like.to_string()],
        several => several.iter().map(|s| format!("{like}_{}", s.name)).collect(),
    }
}

/// How often a name occurs.
pub(crate) fn count(e: &Expr, name: &Name) -> usize {
    let mut n = 0;
    e.visit(&mut |e| n += usize::from(matches!(e, Expr::Name(x) if x == name)));
    n
}
