//! Where a reduction stands.
//!
//! What its operator is and in which types it works does not change while a kernel runs, so that it is looked up once.

use std::sync::Arc;

use loopwright_kernel_ir::{DType, Name, Reduce, ReductionOp};

use crate::val::Val;

/// A reduction of an instruction, and where it stands.
pub(crate) struct Accumulator {
    pub plan: Arc<Plan>,
    pub state: Vec<Val>,
}

/// How a reduction goes.
pub(crate) struct Plan {
    pub reduce: Arc<Reduce>,
    pub op: ReductionOp,
    /// The types of the operator's inputs, and of its state.
    pub inputs: Vec<DType>,
    pub state: Vec<DType>,
    /// What `combine` calls the state before an update, and what the update brings.
    pub before: Vec<Name>,
    pub brought: Vec<Name>,
}
