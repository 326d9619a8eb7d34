//! Host overhead: of a launch, compared with a direct driver call of the same kernel with the same
//! packed parameters; and of a small kernel from its declaration to its first launch, compiled from
//! scratch and loaded from the cache on disk.
//!
//! `cargo run --release --example launch_cost` prints both. With `-- --json` it prints one JSON
//! object: `launch` with the medians of all rounds in nanoseconds (`ours_ns`, `bare_ns`, and
//! `bare_again_ns`, a second measurement of the same call), `ratio` and `spread` of the medians,
//! and the same for a graph of as many launches; `first_launch` with the milliseconds of opening
//! the device and of each kernel in turn, `cold` and `from_disk`, divided into `declare` (text,
//! steps and their proofs), `compile` (lowering, the check of the lowered program, printing, NVRTC,
//! loading) and `launch` (checking the arguments, launching). Each of the two runs in a process of
//! its own with the device opened and nothing compiled, so the first kernel also pays the
//! once-per-process costs.
//!
//! Without a GPU there is no launch; the earlier stages are measured for sm_90a.

use std::error::Error;
use std::process::Command;
use std::time::Instant;

use loopwright::prelude::*;
use serde_json::{Value, json};

/// Number of kernels declared and launched in one process.
const KERNELS: usize = 9;
/// Number of rounds, and of launches in each.
const ROUNDS: (usize, usize) = (201, 200);

fn main() -> Result<(), Box<dyn Error>> {
    let given = |option: &str| std::env::args().any(|a| a == option);
    if given("--first-launches") {
        println!("{}", first_launches()?);
        return Ok(());
    }
    let device = Device::best();
    let launch = if device.is_gpu() { launch_cost(&device)? } else { Value::Null };
    let folder = tempfile::tempdir()?;
    // The first run fills the cache; the second finds everything in it.
    let cold = child(folder.path())?;
    let from_disk = child(folder.path())?;
    let report = json!({
        "device": device.name(),
        "launch": launch,
        "first_launch": { "cold": cold, "from_disk": from_disk },
    });
    if given("--json") {
        println!("{report:#}");
        return Ok(());
    }
    println!("device: {}", device.name());
    match &report["launch"] {
        Value::Null => println!("a launch: there is no GPU"),
        launch => println!(
            "a launch: {:.0} ns, the driver's own call {:.0} ns: ratio {:.3} (of the call to \
             itself {:.3})",
            number(&launch["ours_ns"]),
            number(&launch["bare_ns"]),
            number(&launch["ratio"]),
            number(&launch["spread"])
        ),
    }
    for (what, key) in [("compiled from scratch", "cold"), ("from the disk", "from_disk")] {
        let run = &report["first_launch"][key];
        println!(
            "declaration to first launch, {what}: median {:.2} ms ({}); first of the process \
             {:.2} ms, the device opened in {:.0} ms before",
            number(&run["median_ms"]),
            ["declare", "compile", "launch"]
                .map(|part| format!("{part} {:.2}", number(&run["median_parts_ms"][part])))
                .join(", "),
            number(&run["total_ms"][0]),
            number(&run["open_ms"])
        );
    }
    Ok(())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The kernel with this number. Each contains a different constant, so that none has been compiled
/// before.
fn kernel(k: usize) -> Result<LoopKernel, Box<dyn Error>> {
    let kernel = LoopKernel::parse(&format!(
        "kernel axpy(x: f32[n], y: f32[n], a: f32, n: i32)
         domain {{ [i] : 0 <= i < n }}
         y[i] = a * x[i] + y[i] + {k}.0"
    ))?;
    Ok(kernel.split_iname("i", 128)?.tag_inames("i_outer: block.x, i_inner: thread.x")?)
}

fn launch_cost(device: &Device) -> Result<Value, Box<dyn Error>> {
    let zeros = Tensor::zeros(&[128], DType::F32)?;
    let (x, y) = (device.upload(&zeros)?, device.upload(&zeros)?);
    let args = Args::new().device_tensor("x", &x).device_tensor("y", &y).scalar("a", 1.0);
    let bound = device.compile(&kernel(0)?)?.bind(&args)?;
    let cost = bound.host_cost(ROUNDS.0, ROUNDS.1)?;
    let (ours, bare, again) = (median(cost.launch), median(cost.bare), median(cost.bare_again));
    let mut graph = device.record(|sequence| (0..ROUNDS.1).try_for_each(|_| sequence.launch(&bound)))?;
    let mut graphs = Vec::new();
    for _ in 0..21 {
        device.synchronize()?;
        let start = Instant::now();
        graph.launch()?;
        graphs.push(start.elapsed().as_secs_f64() * 1e9 / ROUNDS.1 as f64);
    }
    device.synchronize()?;
    Ok(json!({
        "rounds": ROUNDS.0,
        "launches_a_round": ROUNDS.1,
        "ours_ns": ours,
        "bare_ns": bare,
        "bare_again_ns": again,
        "ratio": ours / bare,
        "spread": again / bare,
        "in_a_graph_ns": median(graphs),
    }))
}

/// Runs this program again, with its cache of binaries in this folder.
fn child(folder: &std::path::Path) -> Result<Value, Box<dyn Error>> {
    let output = Command::new(std::env::current_exe()?)
        .arg("--first-launches")
        .env("LOOPWRIGHT_CACHE", folder)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn first_launches() -> Result<Value, Box<dyn Error>> {
    let start = Instant::now();
    let device = Device::best();
    let opened = start.elapsed().as_secs_f64() * 1e3;
    let zeros = Tensor::zeros(&[1000], DType::F32)?;
    let (x, y) = (device.upload(&zeros)?, device.upload(&zeros)?);
    device.synchronize()?;
    let args = Args::new().device_tensor("x", &x).device_tensor("y", &y).scalar("a", 1.0);
    let mut parts: [Vec<f64>; 3] = Default::default();
    let mut totals = Vec::new();
    for k in 1..=KERNELS {
        let start = Instant::now();
        let kernel = kernel(k)?;
        let declared = start.elapsed();
        let compiled = if device.is_gpu() {
            Some(device.compile(&kernel)?)
        } else {
            compile_for(&kernel, Arch::SM_90A, &Default::default(), &CompileOptions::default())?;
            None
        };
        let ready = start.elapsed();
        let bound = compiled.map(|compiled| compiled.bind(&args)).transpose()?;
        if let Some(bound) = &bound {
            bound.launch()?;
        }
        let launched = start.elapsed();
        for (part, time) in parts.iter_mut().zip([declared, ready - declared, launched - ready]) {
            part.push(time.as_secs_f64() * 1e3);
        }
        totals.push(launched.as_secs_f64() * 1e3);
        device.synchronize()?;
    }
    if device.is_gpu() {
        let sum = (1..=KERNELS).sum::<usize>() as f32;
        assert_eq!(y.download()?.to_vec::<f32>()?, vec![sum; 1000], "the launches are not right");
    }
    let [declare, compile, launch] = parts.map(median);
    Ok(json!({
        "open_ms": opened,
        "total_ms": totals,
        "median_ms": median(totals.clone()),
        "median_parts_ms": { "declare": declare, "compile": compile, "launch": launch },
    }))
}
