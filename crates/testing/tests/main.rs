//! The tests of this crate that need no process of their own, as one program, which is linked
//! once. `crates/suites` builds it, and lists others beside it.

#[path = "common/examples.rs"]
mod examples;

mod counts;
mod emulated_examples;
mod emulated_flattened;
mod emulated_misaligned;
mod emulated_scans;
mod emulated_updates;
mod emulated_updates_by_operators;
mod from_loopy;
mod hip_examples;
mod printed_examples;
mod private_updates;
mod program_text;
mod ranges;
mod scans_across_blocks;
mod shown;
mod sweep;
