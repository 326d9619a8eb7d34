//! The tests of this package that need no process of their own, as one program, which is linked
//! once. Others are listed beside it in the manifest.

mod common;
mod instructions;
mod misaligned_rows;
mod premises;
mod shares;
mod verdicts;
