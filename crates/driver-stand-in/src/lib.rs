//! A stand-in for the CUDA driver, so that what the host asks of the driver can be tested without a
//! GPU; a C compiler is needed.
//!
//! The stand-in (`stand_in.c`) is a library named `libcuda.so` with three devices in the host's
//! memory. It postpones work as long as it may, so that memory given back too early, or work that
//! was not waited for, shows every time. Each test ends with the question whether something
//! happened that must not.
//!
//! | device | has |
//! |---|---|
//! | 0 and 2 | pools, and access to each other's memory |
//! | 1 | no pool, and access to no other device |
//!
//! A test program without the built-in harness calls [`run`] from its `main`.

mod harness;
mod stand_in;

pub use harness::{Outcome, Test, check, ok, run};
pub use stand_in::{Body, StandIn, compile};
