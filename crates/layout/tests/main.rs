//! The tests of this package that need no process of their own, as one program, which is linked
//! once. Others are listed beside it in the manifest.

mod algebra;
mod bridges;
mod cases;
mod common;
mod instructions;
mod laws;
mod pictures;
mod sizes_of_the_launch;
