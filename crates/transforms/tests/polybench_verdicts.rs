//! Every step of every PolyBench pipeline is proved.

use std::{fs, path::Path};

use loopwright_kernel_ir::LoopKernel;
use loopwright_transforms::{Pipeline, Verdict};

#[test]
fn every_step_is_proved() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/polybench");
    let mut pipelines: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "pipe"))
        .collect();
    pipelines.sort();
    assert!(pipelines.len() >= 16, "the pipelines are there");
    let mut failures = String::new();
    for path in pipelines {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let kernel = fs::read_to_string(path.with_extension("lw")).unwrap();
        let kernel = LoopKernel::parse(&kernel).unwrap_or_else(|d| panic!("{name}: {d}"));
        let pipeline = Pipeline::parse(&fs::read_to_string(&path).unwrap()).unwrap();
        let explained = pipeline.explain(&kernel);
        let (mut worst, mut total) = (0.0f64, 0.0);
        for step in &explained.steps {
            match &step.outcome {
                Ok(judged) => {
                    worst = worst.max(judged.judge_microseconds);
                    total += judged.judge_microseconds;
                    if !matches!(judged.verdict, Verdict::Proved { .. }) {
                        failures.push_str(&format!("{name}: {}\n{}\n", step.step, judged.verdict));
                    }
                }
                Err(refusal) => failures.push_str(&format!("{name}: {}\n{refusal}\n", step.step)),
            }
        }
        println!("{name}: {} steps, worst proof {worst:.0} us, all {total:.0} us", explained.steps.len());
    }
    assert!(failures.is_empty(), "{failures}");
}
