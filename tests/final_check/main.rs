//! The final check of finished programs: it proves what lowering writes, and refuses what is
//! spoilt.

#[path = "../common/barriers.rs"]
mod barriers;
#[path = "../common/mod.rs"]
mod common;
mod spoilt;

mod by_hand;
mod examples;
mod filling;
mod look_back;
mod order;
mod scans;
mod segments;
mod tables;
mod values;
