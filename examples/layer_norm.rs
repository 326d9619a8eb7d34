//! Layer normalisation of rows: each row is normalised to mean 0 and variance 1, then scaled by a
//! gain and shifted by a bias for each column.

use std::error::Error;

use loopwright::prelude::*;

const EPS: f64 = 1e-5;

fn expected(row: &[f64], gain: &[f64], bias: &[f64]) -> Vec<f64> {
    let n = row.len() as f64;
    let mean = row.iter().sum::<f64>() / n;
    let variance = row.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
    let scale = 1.0 / (variance + EPS).sqrt();
    row.iter().zip(gain.iter().zip(bias)).map(|(v, (g, b))| (v - mean) * scale * g + b).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let kernel = LoopKernel::parse(include_str!("kernels/layer_norm.lw"))?;
    let rows = kernel.pipeline(&Pipeline::parse(include_str!("pipelines/layer_norm/row_4096.pipe"))?)?;
    println!("{}", cuda_source(&lower(&rows, LowerOptions::default())?)?.text);

    let (m, n) = (3, 4096);
    let x = Tensor::from_fn(&[m, n], |k| ((k * 7919) % 1000) as f32 / 100.0 - 2.0)?;
    let gain = Tensor::from_fn(&[n], |k| 1.0 + (k % 5) as f32 / 4.0)?;
    let bias = Tensor::from_fn(&[n], |k| (k % 3) as f32 - 1.0)?;
    let (g, b) = (gain.to_f64(), bias.to_f64());
    let wanted: Vec<f64> = x.to_f64().chunks(n).flat_map(|row| expected(row, &g, &b)).collect();

    let device = Device::best();
    let args = Args::new().tensor("x", &x).tensor("gain", &gain).tensor("bias", &bias).scalar("eps", EPS);
    let found = device.compile(&rows)?.run(&args)?.get("y")?.to_f64();
    let error = found.iter().zip(&wanted).map(|(f, w)| (f - w).abs()).fold(0.0, f64::max);
    println!("largest error {error:.1e} on {}", device.name());
    assert!(error < 1e-5);
    Ok(())
}
