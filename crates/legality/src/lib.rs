//! Which executions meet in a cell without an order between them.
//!
//! This is the set H of the design: pairs `x -> y` of executions that touch the same cell, one of them writing, in different threads,
//! with neither before the other. What can still be ordered by a barrier or a kernel boundary is told apart by the question asked:
//! see [`Query`]. Subscripts and bounds that are read from data are unknown integers, different on both sides, of which [`Load`] and the
//! declared facts say something; so an answer "no" is a proof, and an answer "yes" means that it may happen.

mod conflict;
mod execution;
mod loads;

pub use conflict::{Meeting, Query, Time, example, may_meet};
pub use execution::{
    Access, BLOCK_COORDINATES, Execution, Load, Presence, THREAD_COORDINATES, is_coordinate,
};
