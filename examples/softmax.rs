//! The softmax of rows: three sweeps over a row that is read from memory once.
//!
//! The kernel is three ordinary statements: the largest element, the sum of the weights, the
//! quotients. A pipeline for rows of a known length keeps the row in shared memory, where each
//! thread reads back what it copied itself; a pipeline for any length reads the row three times.

use std::error::Error;

use loopwright::prelude::*;

/// The result in f64, from the definition.
fn expected(row: &[f64]) -> Vec<f64> {
    let top = row.iter().fold(f64::NEG_INFINITY, |m, v| m.max(*v));
    let total: f64 = row.iter().map(|v| (v - top).exp()).sum();
    row.iter().map(|v| (v - top).exp() / total).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let kernel = LoopKernel::parse(include_str!("kernels/softmax.lw"))?;
    let any_length = kernel.pipeline(&Pipeline::parse(include_str!("pipelines/softmax/any_length.pipe"))?)?;
    let rows = kernel.pipeline(&Pipeline::parse(include_str!("pipelines/softmax/row_1024.pipe"))?)?;
    println!("{}", cuda_source(&lower(&rows, LowerOptions::default())?)?.text);

    let (m, n) = (6, 1024);
    let x = Tensor::from_fn(&[m, n], |k| ((k * 7919) % 1000) as f32 / 100.0 - 5.0)?;
    let wanted: Vec<f64> = x.to_f64().chunks(n).flat_map(expected).collect();
    let device = Device::best();
    let args = Args::new().tensor("x", &x);
    for (name, kernel) in [("any_length", &any_length), ("row_1024", &rows)] {
        let found = device.compile(kernel)?.run(&args)?.get("y")?.to_f64();
        let error = found.iter().zip(&wanted).map(|(f, w)| (f - w).abs() / w).fold(0.0, f64::max);
        assert!(error < 1e-5, "{name}: {error}");
        let counts =
            Device::emulator().compile(kernel)?.run(&args)?.report.expect("the emulator counts").total;
        println!(
            "{name}: largest relative error {error:.1e} on {}; {} bytes moved, {} necessary",
            device.name(),
            counts.global_bytes_moved(),
            2 * 4 * m * n
        );
        if name == "row_1024" {
            assert_eq!(counts.global_bytes_moved(), 2 * 4 * (m * n) as u64, "each sector is moved once");
        }
    }
    Ok(())
}
