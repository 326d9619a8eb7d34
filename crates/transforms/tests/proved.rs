//! Every step of every example pipeline is proved: those of PolyBench, of the library's own
//! examples, and of the kernels whose generation time is tracked.

use crate::speed_cases;

use std::{
    fs,
    path::{Path, PathBuf},
};

use loopwright_kernel_ir::LoopKernel;
use loopwright_legality::agrees;
use loopwright_transforms::{Pipeline, Verdict};

/// The steps that are not proved.
fn unproved(name: &str, kernel: &str, pipeline: &str) -> String {
    let kernel = LoopKernel::parse(kernel).unwrap_or_else(|d| panic!("{name}: {d}"));
    let explained = Pipeline::parse(pipeline).unwrap().explain(&kernel);
    let mut failures = String::new();
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
    failures
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let mut found: Vec<_> = paths.filter(|p| p.extension().is_some_and(|e| e == extension)).collect();
    found.sort();
    found
}

#[test]
fn polybench() {
    let pipelines = files(&folder("polybench"), "pipe");
    assert!(pipelines.len() >= 16, "the pipelines are there");
    let mut failures = String::new();
    for path in pipelines {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let kernel = fs::read_to_string(path.with_extension("lw")).unwrap();
        failures += &unproved(&name, &kernel, &fs::read_to_string(&path).unwrap());
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn examples() {
    let mut failures = String::new();
    let mut count = 0;
    for kernel in files(&folder("kernels"), "lw") {
        let name = kernel.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&kernel).unwrap();
        let pipelines = folder("pipelines").join(&name);
        for path in if pipelines.exists() { files(&pipelines, "pipe") } else { Vec::new() } {
            let pipeline = fs::read_to_string(&path).unwrap();
            if Pipeline::parse(&pipeline).is_ok_and(|p| p.parameters().is_empty()) {
                count += 1;
                failures += &unproved(&format!("{name}, {}", path.display()), &text, &pipeline);
            }
        }
    }
    assert!(count > 10, "the pipelines are there");
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn speed_cases_are_proved() {
    let failures: String =
        speed_cases::all().iter().map(|c| unproved(&c.name, &c.kernel, &c.pipeline)).collect();
    assert!(failures.is_empty(), "{failures}");
}

/// If an axis starts at a value that depends on the parameters, a run counts its threads from the
/// least value that occurs.
#[test]
fn threads_of_a_skewed_axis_find_their_own_cells() {
    let declared = LoopKernel::parse(
        "\
kernel weighted(c: f32[n], a: f32[n, 2], out: f32[4], n: i32)
domain { [k] : 0 <= k < 4 }
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j < 2 }
out[k] = sum([i, j], a[i, j] * c[i]) {id=total, inames=k}
",
    )
    .unwrap();
    let pipeline = "\
split_iname(i, 3)
map_domain([i_inner, j] -> [i_inner, v], v = j - i_inner)
add_prefetch(c, [v], space=private)
tag_inames(v: thread.x)
";
    let kernel = Pipeline::parse(pipeline).unwrap().apply(&declared).unwrap();
    for n in 1..=5 {
        assert_eq!(agrees(&kernel, &[("n".into(), n)].into()), Ok(None), "n = {n}");
    }
}
