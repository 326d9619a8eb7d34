//! The tests of this crate that need no process of their own, as one program, which is linked
//! once. Others are listed beside it in the manifest.

mod barriers;
mod bounds;
mod common;
mod faults;
mod operations;
mod runs;
