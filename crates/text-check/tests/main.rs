//! The tests of this package that need no process of their own, as one program, which is linked
//! once. Others are listed beside it in the manifest.

#[path = "common/programs.rs"]
mod programs;

mod common;
mod emulator;
mod functions;
mod limits;
mod math;
mod statements;
mod values;
