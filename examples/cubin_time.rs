//! The time from declaring a product to its binary, by part, each time in a process of its own, in
//! which nothing has been proved or compiled: nothing is taken from a cache.
//!
//! `cargo run --release --example cubin_time -- 15 all` prints, for each product and part, the
//! least wall time of 15 rounds in milliseconds; also that of the sum, and the least processor time
//! of the whole process in units of 10 ms (user and system, of all threads), which other programs
//! on the machine change less. Names in place of `all` select products; without arguments it is one
//! of them, in three rounds.
//!
//! Parts: the text read (`declare`); steps and their proofs (`steps`); lowering (`lower`); the
//! final check of what it wrote (`check`), by which lowering takes longer than without it, in
//! another process; CUDA C (`print`); finding and mapping NVRTC (`load`); and its work (`nvrtc`).
//!
//! No GPU is needed. Without NVRTC its parts are 0.

use std::{error::Error, process::Command, time::Instant};

use loopwright::prelude::{Arch, LoopKernel, Pipeline, cuda_source};
use loopwright::runtime::nvrtc::{self, CompileOptions};
use loopwright_lowering::{LowerOptions, lower, lower_unverified};

/// Parts as a process measures them; lowering includes the final check, if there is one.
const MEASURED: usize = 6;
/// Columns of the table.
const COLUMNS: [&str; 9] =
    ["declare", "steps", "lower", "check", "print", "load", "nvrtc", "sum", "processor"];

macro_rules! product {
    ($kernel:literal, $pipeline:literal) => {
        (
            concat!($kernel, "/", $pipeline),
            include_str!(concat!("kernels/", $kernel, ".lw")),
            include_str!(concat!("pipelines/", $kernel, "/", $pipeline, ".pipe")),
        )
    };
}

/// Name, kernel and pipeline.
const PRODUCTS: [(&str, &str, &str); 6] = [
    product!("matmul", "register_tile"),
    product!("matmul", "register_tile_async"),
    product!("matmul_bf16", "mma"),
    product!("matmul_bf16", "mma_async"),
    product!("matmul_bf16", "mma_swizzled"),
    (
        "products/ring_across",
        include_str!("kernels/matmul_bf16.lw"),
        include_str!("products/ring_across.pipe"),
    ),
];

/// Makes one binary, and returns the milliseconds of each part.
fn once(kernel: &str, pipeline: &str, checked: bool) -> Result<[f64; MEASURED], Box<dyn Error>> {
    let mut times = Vec::new();
    let mut since = Instant::now();
    let mut done = || {
        times.push(since.elapsed().as_secs_f64() * 1e3);
        since = Instant::now();
    };
    let declared = LoopKernel::parse(kernel)?;
    done();
    let transformed = Pipeline::parse(pipeline)?.apply(&declared)?;
    done();
    let lowering = if checked { lower } else { lower_unverified };
    let program = lowering(&transformed, LowerOptions::default())?;
    done();
    let source = cuda_source(&program)?;
    done();
    let found = nvrtc::library().is_ok();
    done();
    if found {
        nvrtc::compile(&source.text, &CompileOptions::new(Arch::SM_90A))?;
    }
    done();
    times.try_into().map_err(|_| "a part is missing".into())
}

/// Processor time of this process until now, in milliseconds; 0 where the system does not say.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Ticks of 10 ms; what precedes is counted from behind the name, which may have spaces.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|f| f.parse::<f64>().ok()).unwrap_or_default();
    (ticks(11) + ticks(12)) * 10.0
}

/// A process of its own for one binary: its parts, and its processor time.
fn child(name: &str, checked: bool) -> Result<Vec<f64>, Box<dyn Error>> {
    let how = if checked { "--once" } else { "--once-unchecked" };
    let output = Command::new(std::env::current_exe()?).args([how, name]).output()?;
    if !output.status.success() {
        return Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let text = String::from_utf8(output.stdout)?;
    Ok(text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
}

/// The columns of a product: the least of each part.
fn row(name: &str, rounds: usize) -> Result<[f64; COLUMNS.len()], Box<dyn Error>> {
    let mut least = [f64::INFINITY; MEASURED + 2];
    let mut unchecked = f64::INFINITY;
    for _ in 0..rounds {
        let parts = child(name, true)?;
        let sum: f64 = parts.iter().take(MEASURED).sum();
        let of_round = parts.iter().take(MEASURED).chain([&sum]).chain(parts.last());
        least.iter_mut().zip(of_round).for_each(|(least, part)| *least = least.min(*part));
        unchecked = child(name, false)?.get(2).map_or(unchecked, |lower| unchecked.min(*lower));
    }
    let [declare, steps, lower, print, load, nvrtc, sum, processor] = least;
    Ok([declare, steps, unchecked, lower - unchecked, print, load, nvrtc, sum, processor])
}

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    if let [how, name] = &given[..]
        && how.starts_with("--once")
    {
        let (_, kernel, pipeline) =
            PRODUCTS.iter().find(|(n, ..)| n == name).ok_or_else(|| format!("no product `{name}`"))?;
        for part in once(kernel, pipeline, how == "--once")? {
            print!("{part} ");
        }
        println!("{}", processor_time());
        return Ok(());
    }
    let rounds = given.first().map_or(Ok(3), |n| n.parse())?;
    let wanted: Vec<&str> = match given.get(1..) {
        Some(names) if !names.is_empty() => names.iter().map(String::as_str).collect(),
        _ => vec!["matmul_bf16/mma_async"],
    };
    let is_wanted = |name: &str| wanted.contains(&"all") || wanted.contains(&name);
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN).set_header([&["product"][..], &COLUMNS].concat());
    for (name, ..) in PRODUCTS.iter().filter(|(name, ..)| is_wanted(name)) {
        let columns = row(name, rounds)?.map(|ms| format!("{ms:.1}"));
        table.add_row([(*name).to_owned()].into_iter().chain(columns));
    }
    println!("{table}\nmilliseconds, the least of {rounds} rounds, sm_90a");
    Ok(())
}
