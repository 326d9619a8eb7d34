//! Segmented reductions that are fast without tuning: equal and unequal segments, several operators
//! and types, checked against plain loops.
//!
//!     cargo run --release --example segmented_reduce
//!     cargo run --release --example segmented_reduce -- FOLDER OPERATOR TYPE rows COUNT LENGTH
//!     cargo run --release --example segmented_reduce -- FOLDER OPERATOR TYPE ragged COUNT ELEMENTS [LONGEST]
//!     cargo run --release --example segmented_reduce -- --help
//!
//! The first runs and checks. The others write the declared kernel and the pipeline chosen for this
//! machine's device, for the command line and for other hosts (`benches/peers/segments.py`):
//! `FOLDER/kernel.lw` and `FOLDER/default.pipe`.

use std::error::Error;
use std::path::Path;

use loopwright::prelude::*;
use loopwright::segmented::{Operator, SegmentedReduce, Segments, Shape, segmented_reduce};
use loopwright::tuner::Machine;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The usage text.
fn usage() -> String {
    let names = |names: Vec<String>| names.join(", ");
    format!(
        "Usage: segmented_reduce
       segmented_reduce FOLDER OPERATOR TYPE rows COUNT LENGTH
       segmented_reduce FOLDER OPERATOR TYPE ragged COUNT ELEMENTS [LONGEST]

Without arguments: reduces equal and unequal segments and checks them against plain loops.
Otherwise: writes the declared kernel and the pipeline that is chosen for this machine's device to
FOLDER/kernel.lw and FOLDER/default.pipe.

  OPERATOR  {}
  TYPE      {}
  COUNT     how many rows or segments there are
  LENGTH    elements of each row
  ELEMENTS  elements of all segments together
  LONGEST   elements of the longest segment, where it is known",
        names(Operator::ALL.iter().map(Operator::to_string).collect()),
        names(DType::ALL.iter().filter(|t| **t != DType::Bool).map(DType::to_string).collect()),
    )
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|a| ["-h", "--help"].contains(&a.as_str())) {
        println!("{}", usage());
        return Ok(());
    }
    let device = Device::best();
    if !arguments.is_empty() {
        return write(&device, &arguments);
    }
    println!("device: {}", device.name());
    // One giant segment among short ones, of which every third is empty.
    let mut lengths: Vec<usize> = (0..300).map(|k| if k % 3 == 0 { 0 } else { k % 11 }).collect();
    lengths[100] = 5000;
    let offsets = ends(&lengths);
    let count = offsets[offsets.len() - 1] as usize;

    let x: Vec<f32> = (0..count).map(|k| ((k * 37) % 101) as f32 - 50.0).collect();
    for operator in Operator::ALL.into_iter().filter(|op| *op != Operator::Product) {
        let ragged = segmented_reduce(&device, operator, &x, Segments::Offsets(&offsets))?;
        check(operator, &x, &lengths, &ragged.values)?;
        println!("{operator} of f32, {} segments of 0 to 5000: {}", lengths.len(), ragged.form);
    }
    for length in [16, 17, 1000] {
        let rows = count / length;
        let part = &x[..rows * length];
        for operator in [Operator::Sum, Operator::Argmax] {
            let equal = segmented_reduce(&device, operator, part, Segments::Length(length))?;
            check(operator, part, &vec![length; rows], &equal.values)?;
            println!("{operator} of f32, {rows} rows of {length}: {}", equal.form);
        }
    }
    let integers: Vec<i32> = x.iter().map(|v| *v as i32).collect();
    let sums = segmented_reduce(&device, Operator::Sum, &integers, Segments::Offsets(&offsets))?;
    check(Operator::Sum, &integers, &lengths, &sums.values)?;
    let signs: Vec<i32> = integers.iter().map(|v| if v % 2 == 0 { 1 } else { -1 }).collect();
    let products = segmented_reduce(&device, Operator::Product, &signs, Segments::Offsets(&offsets))?;
    check(Operator::Product, &signs, &lengths, &products.values)?;
    let wide: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
    let means = segmented_reduce(&device, Operator::Mean, &wide, Segments::Offsets(&offsets))?;
    check(Operator::Mean, &wide, &lengths, &means.values)?;

    // Sums of squares: compiled once, bound once, launched any number of times.
    let squares = SegmentedReduce::new(Operator::Sum, DType::F32).map("x * x")?;
    let compiled = squares.compile(&Shape::rows(93, 64), &device)?;
    println!("{compiled}");
    let rows = Tensor::from_slice(&[93, 64], &x[..93 * 64])?;
    let bound = compiled.bind(&Args::new().tensor("x", &rows))?;
    for _ in 0..3 {
        bound.launch()?;
    }
    let squared: Vec<f32> = x[..93 * 64].iter().map(|v| v * v).collect();
    check(Operator::Sum, &squared, &[64; 93], &bound.read("out")?)?;
    Ok(())
}

/// The offsets of segments with these lengths.
fn ends(lengths: &[usize]) -> Vec<i32> {
    let mut offsets = vec![0];
    for length in lengths {
        offsets.push(offsets[offsets.len() - 1] + *length as i32);
    }
    offsets
}

/// Compares with a plain loop in f64.
fn check<T: Element>(operator: Operator, x: &[T], lengths: &[usize], values: &Tensor) -> Result<()> {
    let x = Tensor::from_slice(&[x.len()], x)?.to_f64();
    let mut rest = &x[..];
    for (segment, (length, value)) in lengths.iter().zip(values.to_f64()).enumerate() {
        let (own, others) = rest.split_at(*length);
        rest = others;
        let wanted = match operator {
            Operator::Sum => own.iter().sum(),
            Operator::Product => own.iter().product(),
            Operator::Mean => own.iter().sum::<f64>() / *length as f64,
            Operator::Min | Operator::Argmin => own.iter().copied().fold(f64::INFINITY, f64::min),
            Operator::Max | Operator::Argmax => own.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        };
        let same = value == wanted
            || (value.is_nan() && wanted.is_nan())
            || (value - wanted).abs() <= 1e-5 * wanted.abs();
        if !same {
            return Err(
                format!("{operator}, segment {segment}: {value}, and by a plain loop {wanted}").into()
            );
        }
    }
    Ok(())
}

/// Writes the declared kernel and the chosen pipeline.
fn write(device: &Device, arguments: &[String]) -> Result<()> {
    let usage = "FOLDER OPERATOR TYPE (rows COUNT LENGTH | ragged COUNT ELEMENTS [LONGEST]); \
                 `--help` says more";
    let [folder, operator, dtype, kind, sizes @ ..] = arguments else { return Err(usage.into()) };
    let sizes = sizes.iter().map(|s| s.parse()).collect::<std::result::Result<Vec<usize>, _>>()?;
    let operator = Operator::from_name(operator).ok_or(usage)?;
    let dtype = DType::from_name(dtype).ok_or(usage)?;
    let shape = match (&kind[..], &sizes[..]) {
        ("rows", [count, length]) => Shape::rows(*count, *length),
        ("ragged", [count, elements]) => Shape::ragged(*count, *elements),
        ("ragged", [count, elements, longest]) => match Shape::ragged(*count, *elements) {
            Shape::Ragged { count, elements, offsets, .. } => {
                Shape::Ragged { count, elements, longest: Some(*longest), offsets }
            }
            rows => rows,
        },
        _ => return Err(usage.into()),
    };
    let machine = Machine::described(device.limits());
    let chosen = SegmentedReduce::new(operator, dtype).choose(&shape, &machine, device.limits())?;
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("kernel.lw"), chosen.kernel.to_string())?;
    std::fs::write(folder.join("default.pipe"), chosen.pipeline.to_string())?;
    println!("{}", chosen.form);
    Ok(())
}
