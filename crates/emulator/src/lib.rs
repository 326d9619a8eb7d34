//! Runs a lowered [`Program`](loopwright_program::Program) on the CPU, checks it, and collects the
//! counts that a profiler would.
//!
//! A device kernel is compiled to flat code over registers of a warp's lanes. A warp runs it in
//! lockstep under a lane mask, with its own program counter, until it waits at a barrier or ends;
//! then the next warp of the block runs. Blocks are distributed over cores; those of a kernel that
//! looks back take turns on one.
//!
//! ```text
//! machine   the host's part: arguments, launches, blocks over cores, reruns after a fault
//!   block     one block: warps between barriers
//!     interpret the code that a warp runs; exchange: shuffles and ballots of its lanes
//!     permuted  the order of blocks, and of warps between barriers
//!     look_back what blocks publish and learn of those before; their order in that case
//!     product   products of fragments, by the meaning of an atom
//!     access    loads and stores: bounds, values, races, traffic
//!     lanes     semantics of the operations; quick: fast paths for the most common ones
//!   compile   statements, accesses and values to flat code (bytecode)
//!   shadow    the last accesses of each cell; trace: the same in full detail for one cell
//! ```
//!
//! A [`Fault`] carries the cell and the instances involved. Detected are out-of-bounds accesses,
//! races in shared and global memory (by happens-before), reads of uninitialised data, divergent
//! barriers and shuffles, look-backs that wait for ever, divisions by zero, and overflow of index
//! arithmetic. Every run reports the same fault. A fault is a value: no input makes the emulator
//! panic, and [`Options::max_steps`] stops a program that does not terminate.
//!
//! Semantics that the lowered form leaves open: conversions are those of
//! [`Number::cast`](loopwright_kernel_ir::Number::cast); a shift by an amount outside `0..bits`
//! shifts every bit out; integers wrap, including the quotient of the least integer and -1; a
//! loop's bound is evaluated once, unless it is a variable, which is read before each iteration;
//! fast and precise functions are the same.

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
mod flights;
mod interpret;
mod lanes;
mod look_back;
mod machine;
mod memory;
mod options;
mod permuted;
mod product;
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
pub use options::{Asynchrony, Checks, DeviceClosure, Options};
