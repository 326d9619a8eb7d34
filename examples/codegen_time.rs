//! How long it takes from declaring a kernel to its CUDA C: medians, in milliseconds, without a cache, after a warm-up.
//!
//! `cargo run --release --example codegen_time` prints a table; with `-- --json` one JSON object with a key a case, each an object of
//! milliseconds by stage (`declare`, `transform`, `lower`, `print`, and `total` for all of them), `total_without_proofs`, where no step is asked
//! whether it is legal, and the printed `text`. Names of cases behind it leave the others out, for a profiler.

#[path = "common/speed_cases.rs"]
mod speed_cases;

use std::{error::Error, time::Instant};

use loopwright_cuda_target::cuda_source;
use loopwright_kernel_ir::LoopKernel;
use loopwright_lowering::{LowerOptions, lower};
use loopwright_transforms::Pipeline;
use serde_json::{Map, Value, json};
use speed_cases::Case;

const STAGES: [&str; 6] = ["declare", "transform", "lower", "print", "total", "total_without_proofs"];
const WARM_UP: usize = 3;
const REPEATS: usize = 11;

fn main() -> Result<(), Box<dyn Error>> {
    let (options, wanted): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let as_json = options.iter().any(|a| a == "--json");
    let mut report = Map::new();
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN).set_header([&["case"][..], &STAGES].concat());
    for case in speed_cases::all().into_iter().filter(|c| wanted.is_empty() || wanted.contains(&c.name)) {
        let (medians, text) = measure(&case).map_err(|e| format!("{}: {e}", case.name))?;
        let cells = medians.iter().map(|ms| format!("{ms:.3}"));
        table.add_row(std::iter::once(case.name.clone()).chain(cells));
        let mut entry: Map<String, Value> =
            STAGES.iter().zip(medians).map(|(stage, ms)| (stage.to_string(), json!(ms))).collect();
        entry.insert("text".into(), json!(text));
        report.insert(case.name, Value::Object(entry));
    }
    if as_json {
        println!("{}", Value::Object(report));
    } else {
        println!("{table}\nmilliseconds, medians of {REPEATS}");
    }
    Ok(())
}

/// The medians of the stages and of their sum, and the text.
fn measure(case: &Case) -> Result<([f64; 6], String), Box<dyn Error>> {
    let mut times: [Vec<f64>; 6] = Default::default();
    let mut text = String::new();
    for turn in 0..WARM_UP + REPEATS {
        let ([declared, transformed, lowered, source, total], printed) = generate(case, true)?;
        let ([.., without_proofs], _) = generate(case, false)?;
        let stages = [declared, transformed, lowered, source, total, without_proofs];
        if turn >= WARM_UP {
            times.iter_mut().zip(stages).for_each(|(all, one)| all.push(one));
        }
        text = printed;
    }
    let medians = times.map(|mut all| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    });
    Ok((medians, text))
}

/// One way from the declared kernel to its text.
fn generate(case: &Case, proofs: bool) -> Result<([f64; 5], String), Box<dyn Error>> {
    let start = Instant::now();
    let kernel = LoopKernel::parse(&case.kernel)?;
    let declared = start.elapsed();
    let transformed_kernel = {
        let pipeline = Pipeline::parse(&case.pipeline)?;
        if proofs { pipeline.apply(&kernel)? } else { pipeline.apply_unjudged(&kernel)? }
    };
    let transformed = start.elapsed();
    let program = lower(&transformed_kernel, LowerOptions::default())?;
    let lowered = start.elapsed();
    let source = cuda_source(&program)?;
    let printed = start.elapsed();
    let stages = [declared, transformed - declared, lowered - transformed, printed - lowered, printed];
    Ok((stages.map(|t| t.as_secs_f64() * 1e3), source.text))
}
