//! The tests of this crate that need no process of their own, as one program, which is linked
//! once. `crates/suites` builds it, and lists others beside it.

mod blocks;
mod buffers;
mod common;
mod copies;
mod copies_beside;
mod copies_in_blocks;
mod copies_of_copies;
mod copies_of_results;
mod data_subscripts;
mod declarations;
mod expressions;
mod flat;
mod flows;
mod instances;
mod instances_again;
mod lost_updates;
mod orders;
mod owners;
mod ranges_of_facts;
mod reductions;
mod refusals;
mod replayed_values;
mod replays;
mod scans;
mod steps_between;
mod sums_again;
mod two_results;
mod updated;
mod values;
mod witnesses_of_results;
