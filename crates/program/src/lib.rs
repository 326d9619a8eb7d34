//! The lowered program: everything about order, bounds, guards and barriers is decided here, and
//! only read elsewhere.
//!
//! A [`Program`] is a host body that launches device kernels. Every integer used as an index, loop
//! bound or coordinate is of the type [`Program::index`]. Values carry their types; there is no
//! implicit conversion. Arithmetic on f16 and bf16 does not occur: they are loaded, cast to f32,
//! and cast back before a store.
//!
//! Invariants ("validated means that the backend cannot fail"): variables are declared before use
//! in an enclosing or the same body; names of arrays and kernels are unique, those of variables in
//! their scope, all legal in the language of [`Program::target`]; a [`Stmt::Sync`] of block scope and a shuffle stand only under
//! control flow that is uniform over their scope; bodies of [`Stmt::Collective`] are made of the
//! other statements.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod effects;
mod explain;
mod host_eval;
pub mod index_range;
mod kernel;
mod program;
mod reason;
mod stmt;
mod value;
pub mod verify;

pub use effects::Accessed;
pub use explain::{Explained, Place, ProgramExplanation};
pub use host_eval::eval_host;
pub use kernel::{DeviceKernel, LocalArray, Param, Var, VarId};
pub use loopwright_target::{Language, Target};
pub use program::{Global, HostStmt, Owner, Program, ProgramArg, ScalarArg};
pub use reason::{Condition, Dependence, End, Example, Note, Reason};
pub use stmt::{Atomic, Instances, Join, Leaf, LeafId, Purpose, Scope, Step, Stmt};
pub use value::{BinOp, MemRef, Memory, ShuffleMode, UnOp, Value, ValueKind};
