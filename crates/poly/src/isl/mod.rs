//! The only module that knows isl: contexts, errors, budgets, and conversion of rows to isl objects
//! and back.

mod context;
mod ffi;
mod flow;
mod map;
#[cfg(test)]
mod tests;

pub use context::{DEFAULT_BUDGET, with_budget, with_isl_only};
pub(crate) use context::{budget, isl_only};
pub(crate) use flow::{IslAccess, flow};
pub(crate) use map::{Answer, Disjunct, IslMap, Shape};
