//! The tests of this crate that need no process of their own, as one program, which is linked
//! once. `crates/suites` builds it, and lists others beside it.

mod barriers;
mod bounds;
mod common;
mod copies_under_way;
mod counted_copies;
mod faults;
mod operations;
mod runs;
mod traffic;
