//! Runs a lowered [`Program`](loopwright_program::Program) on the CPU, checks it, and
//! counts what a profiler would.
//!
//! A device kernel becomes flat code over registers of 32 lanes. A warp runs it in lock step under
//! a lane mask, with its own program counter, until it waits at a barrier or ends; then the next
//! warp of the block runs. Blocks are spread over cores.
//!
//! ```text
//! machine   the host's part: arguments, launches, blocks over cores, the second and third look at a fault
//!   block     one block: warps between barriers
//!     interpret the code that a warp runs; exchange: shuffles and votes of its lanes
//!     access    loads and stores: bounds, values, races, traffic
//!     lanes     what the operations mean; quick: faster ways of the most common ones
//!   compile   statements, accesses and values to flat code (bytecode)
//!   shadow    who accessed a cell last; trace: the same with all details for one cell
//! ```
//!
//! What is found ([`Fault`]) comes with the cell and the instances that are involved: out of
//! bounds, races in shared and global memory by happens-before, reads of what was never written,
//! divergent barriers and shuffles, divisions by zero, overflow of index arithmetic. The same fault
//! is reported in every run. A fault is a value; no input makes the emulator panic, and
//! [`Options::max_steps`] ends what does not end by itself.
//!
//! Meanings that the lowered form leaves open: conversions are those of
//! [`Number::cast`](loopwright_kernel_ir::Number::cast); a shift by an amount outside of `0..bits`
//! moves every bit out; integers wrap, the quotient of the least integer and -1 too; a loop's bound
//! is evaluated once; fast and precise functions are the same.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod access;
mod arguments;
mod available;
mod block;
mod bytecode;
mod compile;
mod compile_access;
mod compile_choice;
mod compile_value;
mod counters;
mod exchange;
mod fault;
mod interpret;
mod lanes;
mod machine;
mod memory;
mod options;
mod quick;
mod shadow;
mod trace;
mod traffic;
mod update;
mod warp;
mod words;

pub use arguments::{Arguments, ArrayArgument};
pub use counters::{
    AccessTraffic, CountedAccess, Counters, GlobalTraffic, Operations, Report, SharedTraffic,
};
pub use fault::{Act, Fault, FaultKind, Instance};
pub use machine::{Emulator, run};
pub use options::{Checks, DeviceClosure, Options};
