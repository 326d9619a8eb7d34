//! Whether a transformed kernel computes what its declared kernel does: the one legality question,
//! and its answers.
//!
//! [`judge`] gives the verdict on a step: `Proved`, `Refuted` with a [`Witness`], or `Unknown` with
//! the reason. It asks
//!
//! 1. whether all conflicting pairs of accesses keep their order ([`Comparison`]), which a few
//!    conjunctions of linear constraints answer;
//! 2. where they do not, or where copies and new storage come in, whether every read sees the
//!    declared definition (dataflow by isl);
//! 3. where that is not proved either, a concrete run of both kernels for small values of the
//!    parameters ([`replay`]), which alone refutes.
//!
//! What a part of a transformed kernel is to the declared one is told by its role and its map,
//! never by the name of the step that made it.
//!
//! Lowering asks the rest: which executions meet in a cell in different threads and need a
//! synchronisation between them, the set H of the design: pairs `x -> y` of executions that touch
//! the same cell, one of them writing, in different threads, with neither before the other; see
//! [`Query`]. Subscripts and bounds that are read from data are unknown integers, different on both
//! sides, of which [`Load`] and the declared facts say something; so an answer "no" is a proof, and
//! an answer "yes" means that it may happen.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod blocks;
mod compare;
mod conflict;
mod copies;
mod data_reads;
mod dataflow;
mod event;
mod execution;
mod flat;
mod judge;
mod link;
mod loads;
mod model;
mod order;
mod replay;
mod roles;
mod scan;
mod search;
mod value;
mod witness;

pub use blocks::blocks_meet;
pub use compare::{Comparison, Outcome, Suspect};
pub use conflict::{Meeting, Query, Time, example, meeting_pairs, primed};
pub use data_reads::DataReads;
pub use event::{
    Event, Touch, accumulator, affine_predicate, conditional_reads, consumer, evaluated, outside_reductions,
};
pub use execution::{
    Access, BLOCK_COORDINATES, Execution, Load, Presence, THREAD_COORDINATES, coordinate_name, is_coordinate,
    presence,
};
pub use flat::{FlatNest, flat_nest};
pub use judge::{Basis, Judgement, Verdict, judge};
pub use link::{Link, Unlinked};
pub use loads::facts_exclude;
pub use model::{Coordinate, Model, ModelPart, Step, context};
pub use order::Against;
pub use replay::{CellName, Failure, Instance, Parameters, Run, Stop, Token, replay};
pub use roles::PartRole;
pub use scan::{along, carried};
pub use search::{Search, agrees, search};
pub use witness::Witness;
