//! The schedules of some example pipelines, as `loopwright check --schedule` prints them.

mod common;

use loopwright_lowering::{LowerOptions, schedule};

/// One for each kind of decision: bounds and counters of loops, shared memory and its barriers,
/// vectors and their remainders, joins, scans, launches.
const SHOWN: [&str; 8] = [
    "axpy/block_128",
    "matmul/register_tile",
    "matmul/tiled_16",
    "layer_norm/any_length",
    "log_sum_exp/block_vec4",
    "prefix_sum/block_scan_vec4",
    "column_sum/chunks",
    "ragged_sum/flattened",
];

#[test]
fn schedules_of_examples() {
    let examples = common::examples();
    for name in SHOWN {
        let example = examples.iter().find(|e| e.name() == name).expect("the example is there");
        let text = schedule(&example.transformed(), LowerOptions::default()).expect("it has a schedule");
        insta::with_settings!({
            prepend_module_to_snapshot => false,
            omit_expression => true,
            description => format!("{}\n{}", example.declared, example.steps),
        }, {
            insta::assert_snapshot!(format!("schedule__{}", name.replace('/', "__")), text);
        });
    }
}

/// Every kernel that has a program has a schedule, which names each of its launches.
#[test]
fn every_example_has_a_schedule() {
    for example in common::examples().into_iter().chain(common::polybench()) {
        let text = schedule(&example.transformed(), LowerOptions::default()).expect("it has a schedule");
        let launches = text.lines().filter(|l| l.trim_start().starts_with("kernel ")).count();
        assert_eq!(launches, example.program().kernels.len(), "{}\n{text}", example.name());
    }
}
