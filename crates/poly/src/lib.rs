//! Affine sets, maps and functions as plain values, and exact integer questions about them.
//!
//! Values ([`Aff`], [`Constraint`], [`Set`], [`Map`]) are `Send + Sync`, comparable and hashable, and hold no handle of isl.
//! A question is answered in plain Rust where that is exact over the integers, otherwise by isl in a context that belongs
//! to the calling thread.

mod aff;
mod bounds;
mod constraint;
mod eliminate;
mod error;
mod isl;
mod map;
mod name;
mod parse;
mod projection;
mod relation;
mod relation_text;
mod rows;
mod sample;
mod set;
mod system;

pub use aff::{Aff, FloorDiv, Term};
pub use bounds::{Bound, Bounds};
pub use constraint::{Constraint, Kind};
pub use error::{Error, Result};
pub use isl::{DEFAULT_BUDGET, with_budget, with_isl_only};
pub use map::Map;
pub use name::Name;
pub use projection::Elimination;
pub use set::Set;
pub use system::System;
