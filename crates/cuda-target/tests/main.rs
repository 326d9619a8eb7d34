//! The tests of this crate that need no process of their own, as one program, which is linked
//! once. `crates/suites` builds it, and lists others beside it.

mod alignment;
mod comments;
mod leaves;
mod narrow_floats;
mod slots;
mod statements;
mod values;
