//! The tests of this package that need no process of their own, as one program, which is linked
//! once. Others are listed beside it in the manifest.

#[path = "../../../examples/common/speed_cases.rs"]
mod speed_cases;

mod patterns;
mod pipelines;
mod proved;
mod steps;
mod undecided;
