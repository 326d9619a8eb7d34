//! The tests of this crate that need no process of their own, as one program, which is linked
//! once. `crates/suites` builds it, and lists others beside it.

mod builder;
mod calls;
mod combine;
mod constants;
mod corpus;
mod fuzz;
mod grammar;
mod irregular_subscripts;
mod last_value;
mod laws;
mod library;
mod loaded;
mod outside_by_numbers;
mod projected;
mod stored;
mod structs;
mod subscripts_at_launch;
mod text;
mod types;
mod update;
