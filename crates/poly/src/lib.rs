//! Affine sets, maps and functions as plain values, and exact integer queries about them.
//!
//! Values ([`Aff`], [`Constraint`], [`System`], [`Set`], [`Map`]) are `Send + Sync`, comparable and
//! hashable, and hold no handle of isl. A query is answered in plain Rust if that is exact over the
//! integers (Fourier-Motzkin elimination with the exactness test of Pugh's Omega test), otherwise
//! by isl in a context that belongs to the calling thread. Equality and hash are those of the
//! stored constraints; whether two sets have the same points is a query ([`Set::is_equal`]).
//!
//! An answer is right or an [`Error`]: coefficients are checked `i64`, and each query to isl has a
//! budget of operations ([`with_budget`]), so exhausting it does not depend on the machine.
//!
//! ```
//! use loopwright_poly::{Map, Set};
//!
//! # fn main() -> loopwright_poly::Result<()> {
//! let domain: Set = "[n] -> { [i] : 0 <= i < n }".parse()?;
//! let split: Map = "{ [i] -> [floor(i/16), i mod 16] }".parse()?;
//! let tiles = domain.apply(&split)?;
//! let expected: Set = "[n] -> { [io, ii] : 0 <= ii < 16 and 0 <= 16io + ii < n }".parse()?;
//! assert!(tiles.is_equal(&expected)?);
//! # Ok(())
//! # }
//! ```

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod aff;
mod bounds;
mod constraint;
mod eliminate;
mod error;
mod flow;
mod isl;
mod last_value;
mod leading;
mod map;
mod memo;
mod name;
mod nearest;
mod parse;
mod projection;
mod reduced;
mod relation;
mod relation_text;
mod rows;
mod sample;
mod set;
mod system;
mod table;

pub use aff::{Aff, FloorDiv, Term};
pub use bounds::{Bound, Bounds};
pub use constraint::{Constraint, Kind};
pub use error::{Error, Result};
pub use flow::{Access, Sources, flow};
pub use isl::{DEFAULT_BUDGET, with_budget, with_isl_only};
pub use last_value::{Valued, last_gives};
pub use leading::leading;
pub use map::Map;
pub use memo::remembering;
pub use name::Name;
pub use projection::Elimination;
pub use set::Set;
pub use system::System;
pub use table::{ShortHasher, Table, TableSet, table_for};
