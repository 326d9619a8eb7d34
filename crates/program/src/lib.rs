//! The lowered program, in which order, bounds, guards and barriers are all explicit; backends only
//! read it.
//!
//! A [`Program`] is a host body that launches device kernels. Every integer used as an index, loop
//! bound or coordinate has the type [`Program::index`]. Values carry their types; there are no
//! implicit conversions. There is no arithmetic on f16 and bf16: they are loaded, cast to f32, and
//! cast back before a store.
//!
//! It has a text form, which [`Program::to_text`] prints and [`Program::parse`] reads: [`grammar`].
//!
//! Invariants ("validated means that the backend cannot fail"): variables are declared before use
//! in the same or an enclosing body; names of arrays and kernels are unique, names of variables are
//! unique in their scope, and all are valid in the language of [`Program::target`]; a block-scope
//! [`Stmt::Sync`] or a shuffle occurs only under control flow that is uniform over its scope, and
//! so do commits of asynchronous copies and waits for them ([`Async`]), over the block; bodies of
//! [`Stmt::Collective`] consist of the other statements.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod affine;
mod asynchronous;
mod declared_update;
mod effects;
mod explain;
pub mod fold;
#[doc = include_str!("../grammar.md")]
pub mod grammar {}
mod host_eval;
pub mod index_range;
mod joined_values;
mod kernel;
mod local_layout;
mod look_back;
mod predicated;
mod program;
mod reason;
mod record;
mod stmt;
mod table;
mod text;
mod value;
pub mod verify;

pub use asynchronous::{Async, AsyncCopy};
pub use declared_update::DeclaredUpdate;
pub use effects::{Accessed, Destination};
pub use explain::{Explained, Place, ProgramExplanation};
pub use host_eval::eval_host;
pub use kernel::{DeviceKernel, LocalArray, Param, Var, VarId};
pub use local_layout::Positions;
pub use look_back::{DeclaredLookBack, InOrder, LookBack, reset_of};
pub use loopwright_legality::{Executor, Presence};
pub use loopwright_target::{Language, Target};
pub use predicated::{CopyPredicates, PredicatedCopies};
pub use program::{Global, HostStmt, Owner, Program, ProgramArg, ScalarArg};
pub use reason::{Condition, Dependence, End, Example, Note, Reason};
pub use record::{FieldPlace, RecordArg, quotient};
pub use stmt::{Atomic, Instances, Join, Leaf, LeafId, Purpose, Scope, Step, Stmt};
pub use table::Table;
pub use value::{BinOp, MemRef, Memory, ShuffleMode, UnOp, Value, ValueKind};
