//! `make demo`: the segmented sum from its declaration to checked results.
//!
//! The kernel is declared once, taken through several pipelines, printed as CUDA C, compiled by
//! NVRTC, run, and compared with sums in f64, on a GPU if there is one and otherwise on the
//! emulator. `--input FILE.npy --segment-length N` uses your own numbers.

#[path = "common/segmented.rs"]
mod segmented;

use std::{collections::BTreeMap, error::Error, path::PathBuf, process::ExitCode};

use clap::Parser;
use comfy_table::{Table, presets::ASCII_MARKDOWN};
use loopwright::{prelude::*, runtime::nvrtc};

/// The pipelines by name, from short segments to long ones.
const PIPELINES: [(&str, &str); 8] = [
    ("thread_per_segment", include_str!("pipelines/segmented_sum/thread_per_segment.pipe")),
    ("subwarp_8", include_str!("pipelines/segmented_sum/subwarp_8.pipe")),
    ("warp_per_segment", include_str!("pipelines/segmented_sum/warp_per_segment.pipe")),
    ("block_per_segment", include_str!("pipelines/segmented_sum/block_per_segment.pipe")),
    ("block_ilp4", include_str!("pipelines/segmented_sum/block_ilp4.pipe")),
    ("block_vec4", include_str!("pipelines/segmented_sum/block_vec4.pipe")),
    ("grid_per_segment", include_str!("pipelines/segmented_sum/grid_per_segment.pipe")),
    ("grid_atomic", include_str!("pipelines/segmented_sum/grid_atomic.pipe")),
];

#[derive(Parser)]
#[command(about = "The segmented sum, from a declared kernel to checked results")]
struct Options {
    /// A .npy file with your own numbers, instead of the digits and the random numbers
    #[arg(long)]
    input: Option<PathBuf>,
    /// Number of elements per segment of the file; may be omitted if the file has two axes
    #[arg(long)]
    segment_length: Option<usize>,
    /// Print the CUDA C of: `some` pipelines, `all` of them, or the one of this name
    #[arg(long, default_value = "some")]
    show: String,
    /// Run on the emulator even if there is a GPU
    #[arg(long)]
    emulator: bool,
}

/// Segments of equal length, one per row.
struct Data {
    name: &'static str,
    rows: Tensor,
}

/// A pipeline, the kernel that it produces, and that kernel on the device.
struct Variant {
    name: &'static str,
    kernel: LoopKernel,
    compiled: Compiled,
    source: CudaSource,
}

fn main() -> ExitCode {
    match demo(&Options::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(wrong) => {
            eprintln!("{wrong} of the results are wrong");
            ExitCode::FAILURE
        }
        Err(refusal) => {
            eprintln!("{refusal}");
            ExitCode::from(2)
        }
    }
}

/// Returns the number of failed checks.
fn demo(options: &Options) -> Result<usize, Box<dyn Error>> {
    heading("The kernel, as declared");
    let kernel = LoopKernel::parse(segmented::KERNEL)?;
    println!("{kernel}");

    heading("The pipelines");
    for (name, text) in PIPELINES {
        println!("{name}:\n    {}\n", text.trim_end().replace('\n', "\n    "));
    }

    heading("The device");
    let device = choose_device(options.emulator);
    println!("{}", compiler());

    let mut variants = Vec::new();
    for (name, text) in PIPELINES {
        let kernel = kernel.pipeline(&Pipeline::parse(text)?)?;
        let compiled = device.compile(&kernel)?;
        let source = cuda_source(&lower(&kernel, LowerOptions::default())?)?;
        variants.push(Variant { name, kernel, compiled, source });
    }
    show_cuda(&variants, &options.show);
    compile_everywhere(&variants)?;

    let small = Tensor::from_fn(&[3, 4], |k| (k + 1) as f32)?;
    heading("[1..12] in three segments");
    let sums = variants[0].compiled.run(&Args::new().tensor("x", &small))?.get("out")?.to_vec::<f32>()?;
    println!("{}: {sums:?}", variants[0].name);

    let mut wrong = usize::from(sums != [10.0, 26.0, 42.0]);
    for data in all_data(options, small)? {
        let [segments, length] = *data.rows.shape() else { continue };
        heading(&format!("{}: {segments} segments of {length}", data.name));
        wrong += run_all(&device, &variants, &data)?;
    }
    Ok(wrong)
}

fn heading(text: &str) {
    println!("\n== {text} ==\n");
}

fn choose_device(emulator: bool) -> Device {
    let device = match Device::cuda(0) {
        Ok(gpu) if !emulator => gpu,
        Ok(_) => Device::emulator(),
        Err(why) => {
            println!("No GPU can be used here: {}", why.message);
            Device::emulator()
        }
    };
    println!("Everything below runs on: {}", device.name());
    device
}

fn compiler() -> String {
    match nvrtc::library() {
        Ok(found) => {
            format!(
                "CUDA C is compiled by NVRTC {}.{} from {}",
                found.version.0,
                found.version.1,
                found.file.display()
            )
        }
        Err(missing) => format!("CUDA C is printed but not compiled. {missing}"),
    }
}

fn show_cuda(variants: &[Variant], which: &str) {
    let some = ["warp_per_segment", "block_per_segment"];
    for v in variants {
        if which == "all" || which == v.name || (which == "some" && some.contains(&v.name)) {
            heading(&format!("CUDA C of {}", v.name));
            println!("{}", v.source.text);
        }
    }
    println!("(`--show all` prints the CUDA C of every pipeline.)");
}

/// Compiles every printed kernel for several architectures, if a compiler is available.
fn compile_everywhere(variants: &[Variant]) -> Result<(), Diagnostic> {
    heading("NVRTC");
    if nvrtc::library().is_err() {
        println!("left out: {}", compiler());
        return Ok(());
    }
    for v in variants {
        let mut line = format!("{:20}", v.name);
        for arch in [Arch::SM_80, Arch::SM_90A, Arch::SM_100A] {
            let binary = compile_for(&v.kernel, arch, &BTreeMap::new(), &CompileOptions::default())?;
            let registers: Vec<String> =
                binary.compiled.resources.iter().map(|r| r.registers.to_string()).collect();
            line += &format!("  {arch}: {} registers", registers.join(" + "));
        }
        println!("{line}");
    }
    Ok(())
}

/// The user's numbers if given, otherwise the built-in ones.
fn all_data(options: &Options, small: Tensor) -> Result<Vec<Data>, Diagnostic> {
    if let Some(file) = &options.input {
        let numbers = Tensor::from_npy(file)?.cast(DType::F32);
        let rows = match (options.segment_length, numbers.shape()) {
            (None, [_, _]) => numbers,
            (Some(length), _) if length > 0 && numbers.len().is_multiple_of(length) => {
                numbers.reshape(&[numbers.len() / length, length])?
            }
            (length, shape) => {
                let asked = length.map_or("no --segment-length".into(), |n| format!("--segment-length {n}"));
                return Err(Diagnostic::new(
                    "segment-length",
                    format!("{asked} does not cut an array of shape {shape:?} into segments"),
                )
                .help("give a length that divides the number of elements, or a file with two axes"));
            }
        };
        return Ok(vec![Data { name: "your numbers", rows }]);
    }
    let digits = Tensor::from_npy_bytes("digits.npy", include_bytes!("data/digits.npy"))?;
    Ok(vec![
        Data { name: "[1..12]", rows: small },
        Data { name: "handwritten digits, a segment an image", rows: digits.cast(DType::F32) },
        Data { name: "random numbers", rows: segmented::random(&[128, 4096], 1)? },
        Data { name: "random numbers, one long segment", rows: segmented::random(&[1, 1 << 19], 2)? },
    ])
}

/// Runs every pipeline on the data, prints a line for each, and returns the number of wrong
/// results.
fn run_all(device: &Device, variants: &[Variant], data: &Data) -> Result<usize, Diagnostic> {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_header([
        "pipeline",
        "result",
        "largest error",
        "barriers",
        "bytes moved",
        "bytes necessary",
        "time",
    ]);
    let args = Args::new().tensor("x", &data.rows);
    let necessary = 4 * (data.rows.len() + data.rows.shape()[0]);
    let mut failed = 0;
    for v in variants {
        let bound = match v.compiled.bind(&args) {
            Ok(bound) => bound,
            Err(refusal) => {
                table.add_row([v.name, &format!("refused: {}", refusal.message)]);
                continue;
            }
        };
        let outputs = bound.run()?;
        let comparison = segmented::compare(&data.rows, outputs.get("out")?);
        failed += usize::from(comparison.wrong > 0);
        // The emulator has already counted; after a run on a GPU, the kernel runs once more on the
        // emulator for the counts.
        let report = match outputs.report {
            Some(report) => Some(report),
            None => Device::emulator().compile(&v.kernel)?.run(&args)?.report,
        };
        let time = if device.is_gpu() { median(bound.time(20)?) } else { outputs.milliseconds };
        table.add_row([
            v.name.to_string(),
            if comparison.wrong == 0 { "ok".into() } else { format!("{} WRONG", comparison.wrong) },
            format!("{:.2e}", comparison.largest_error),
            bound.program().barriers().to_string(),
            report.map_or("-".into(), |r| r.total.global_bytes_moved().to_string()),
            necessary.to_string(),
            format!("{time:.3} ms"),
        ]);
    }
    println!("{table}");
    Ok(failed)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
