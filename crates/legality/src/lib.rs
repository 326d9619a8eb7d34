//! Legality: whether a transformed kernel computes what its declared kernel does.
//!
//! [`judge`] gives the verdict on a step: `Proved`, `Refuted` with a [`Witness`], or `Unknown` with
//! the reason. It tries in turn
//!
//! 1. whether all conflicting pairs of accesses keep their order ([`Comparison`]), decided by a few
//!    conjunctions of linear constraints;
//! 2. where they do not, or where copies or new storage are added, whether every read sees the
//!    declared definition (dataflow by isl);
//! 3. where that is not proved either, a concrete run of both kernels for small parameter values
//!    ([`replay`]). Only this one can refute.
//!
//! The relation of a transformed kernel's part to the declared kernel follows from its role and its
//! map, never from the name of the step that made it.
//!
//! Before a kernel is lowered, some instructions are realised by several, which do no declared
//! instances by themselves. [`judge_realization`] proves such a rewrite by a theorem, whose
//! premises it checks for the kernels before and after.
//!
//! Lowering needs one more query: which executions in different threads need a synchronisation
//! between them. These are the pairs `x -> y` that touch the same cell, at least one of them
//! writing, in different threads; see [`Query`]. Subscripts and bounds read from data are unknown
//! integers, independent on each side except for what [`Load`] and the declared facts imply. So the
//! answer "no" is a proof, and "yes" means only that a conflict may happen.

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
mod declarations;
mod event;
mod execution;
mod executor;
mod flat;
mod judge;
mod link;
mod loads;
mod model;
mod order;
mod realized;
mod replay;
mod roles;
mod rounds;
mod scan;
mod search;
mod value;
mod witness;

pub use blocks::blocks_meet;
pub use compare::{Comparison, Outcome, Suspect};
pub use conflict::{Meeting, Query, Time, example, meeting_pairs, primed};
pub use data_reads::DataReads;
pub use dataflow::{conditions_before, operands_stay, sees_only};
pub use declarations::redeclared;
pub use event::{
    Event, Touch, accumulator, affine_predicate, conditional_reads, consumer, evaluated, outside_reductions,
};
pub use execution::{Access, Execution, Load, coordinate_name, is_coordinate};
pub use executor::{Executor, Presence, executor, is_common_to, owner, owning_lanes};
pub use flat::{FlatNest, flat_nest, flat_nests};
pub use judge::{Basis, Judgement, Verdict, judge, judge_by_proof};
pub use link::{Link, Unlinked};
pub use loads::{contradicted, data_ranges, facts_exclude};
pub use model::{Model, ModelPart, Step, context};
pub use order::Against;
pub use realized::judge_realization;
pub use replay::{CellName, Data, Failure, Instance, Parameters, Run, Stop, Token, Value, replay};
pub use roles::PartRole;
pub use rounds::in_rounds;
pub use scan::{Backwards, along, backwards, carried};
pub use search::{Replays, Search, agrees, search};
pub use witness::Witness;
