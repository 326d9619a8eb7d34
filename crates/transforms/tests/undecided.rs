//! The page on undecided steps agrees with the library.

use loopwright_kernel_ir::LoopKernel;
use loopwright_transforms::{Pipeline, Verdict};

const PAGE: &str = include_str!("../../../docs/undecided.md");

/// The examples: kernel, pipeline, reason.
fn examples() -> Vec<(String, String, String)> {
    let blocks = PAGE.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    let parts = |block: &str| {
        let (kernel, rest) = block.split_once("==== pipeline\n")?;
        let (pipeline, reason) = rest.split_once("==== unknown\n")?;
        Some((kernel.to_string(), pipeline.to_string(), reason.trim().to_string()))
    };
    blocks.filter_map(parts).collect()
}

#[test]
fn every_example_is_undecided_for_its_reason() {
    let examples = examples();
    assert!(examples.len() >= 4, "the examples are there");
    for (kernel, pipeline, expected) in examples {
        let kernel = LoopKernel::parse(&kernel).unwrap_or_else(|d| panic!("{kernel}\n{d}"));
        let pipeline = Pipeline::parse(&pipeline).unwrap_or_else(|d| panic!("{pipeline}\n{d}"));
        let (last, before) = pipeline.steps().split_last().expect("a step");
        let before =
            before.iter().cloned().collect::<Pipeline>().apply(&kernel).expect("steps that are proved");
        let after = Pipeline::new().step(last.clone()).apply_unjudged(&before).expect("a step that applies");
        match loopwright_legality::judge(&before, &after) {
            Verdict::Unknown { reason, .. } => assert_eq!(reason, expected, "{last}"),
            other => panic!("{last}: {other}"),
        }
        // If vouched for, it is accepted, and the result records that.
        let vouched = Pipeline::parse("assume_legal(\"it is right\")").expect("a step").step(last.clone());
        let kernel = vouched.apply(&before).unwrap_or_else(|d| panic!("{last}: {d}"));
        assert_eq!(kernel.vouched.len(), 1, "{last}");
    }
}
