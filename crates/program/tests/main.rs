//! The tests of this crate that need no process of their own, as one program, which is linked
//! once. `crates/suites` builds it, and lists others beside it.

mod fuzz;
mod grammar;
mod index_ranges;
mod look_back;
mod offsets;
mod predicates;
mod queries;
