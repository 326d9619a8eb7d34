//! The tests of this package that need no process of their own, as one program, which is linked
//! once. Others are listed beside it in the manifest.

#[path = "common/barriers.rs"]
mod barriers;
#[path = "common/cases.rs"]
mod cases;
#[path = "../crates/tuner/tests/machines/mod.rs"]
mod machines;
#[path = "../examples/polybench/sequential.rs"]
mod sequential;
#[path = "../examples/polybench/suite.rs"]
#[allow(dead_code, reason = "the example prints more than is tested")]
mod suite;

mod atoms;
mod auto_begun;
mod auto_launch;
mod auto_products;
mod body_limit;
mod claims;
mod common;
mod complex;
mod examples_on_emulator;
mod examples_run;
mod fuzz;
mod generate;
mod host_code;
mod idle_lanes;
mod layouts;
mod legality_filetests;
mod polybench;
mod products;
mod property;
mod rows;
mod schedules;
mod sectors;
mod segmented_atomic;
mod segmented_machines;
mod segmented_reduce;
mod segmented_sum;
mod spills;
mod steps_on_emulator;
mod stored_matrices;
mod structs;
mod subscripts;
mod targets;
