//! Arguments for the example kernels and the cases of `codegen_time`: sizes that no tile divides,
//! and small integers, whose sums and products are exact in f32 in any order.

use std::collections::BTreeMap;

use loopwright_emulator::Arguments;
use loopwright_kernel_ir::{Buffer, DType, LoopKernel, Name, Number};
use loopwright_lowering::program::{Owner, Program, eval_host};
use loopwright_reference::{Inputs, Mode, interpret};

/// Sizes to run a kernel with; the first are large enough for every barrier to matter.
pub fn sizes(kernel: &str) -> Vec<Vec<(&'static str, i64)>> {
    match kernel {
        // 300 rows exceed the number of blocks of persistent kernels, which then loop.
        "segmented_sum" => [(5, 3000), (3, 4), (2, 0), (0, 8), (33, 64), (2, 17), (1, 20_001), (300, 20)]
            .map(|(nseg, len)| vec![("nseg", nseg), ("len", len)])
            .to_vec(),
        // The declared sums are quadratic in the length.
        "prefix_sum" => [(1, 1100), (3, 300), (9, 64), (2, 17), (2, 0)]
            .map(|(nseg, len)| vec![("nseg", nseg), ("len", len)])
            .to_vec(),
        "ragged_sum" => [6, 1, 0].map(|nseg| vec![("nseg", nseg), ("n", 40_000)]).to_vec(),
        "axpy" => [1000, 128, 1, 0].map(|n| vec![("n", n)]).to_vec(),
        "transpose" => {
            [(70, 40), (68, 132), (32, 32), (1, 5), (0, 3)].map(|(m, n)| vec![("m", m), ("n", n)]).to_vec()
        }
        "softmax" | "layer_norm" | "log_sum_exp" => {
            [(3, 1000), (2, 4), (0, 8), (2, 1024), (1, 1024), (2, 4096), (1, 4096), (2, 16384), (1, 16384)]
                .map(|(m, n)| vec![("m", m), ("n", n)])
                .to_vec()
        }
        "column_sum" => {
            [(2500, 132), (1024, 128), (3, 4), (0, 8), (7, 0)].map(|(m, n)| vec![("m", m), ("n", n)]).to_vec()
        }
        "simpson" => [(20, 21), (1, 1), (33, 16)].map(|(m, n)| vec![("m", m), ("n", n)]).to_vec(),
        "stencil" => [(20, 21), (3, 3), (34, 50)].map(|(m, n)| vec![("m", m), ("n", n)]).to_vec(),
        "matmul" => [(40, 36, 40), (16, 16, 16), (65, 3, 20), (17, 20, 0), (130, 137, 18)]
            .map(|(m, n, l)| vec![("m", m), ("n", n), ("l", l)])
            .to_vec(),
        // Rows of both factors have whole vectors of eight elements.
        "matmul_bf16" => [(130, 140, 72), (16, 16, 16), (1, 3, 8), (17, 20, 0)]
            .map(|(m, n, l)| vec![("m", m), ("n", n), ("l", l)])
            .to_vec(),
        "attention" => [(1, 130, 136, 72), (2, 1, 8, 8), (0, 3, 8, 8), (1, 3, 1032, 8), (1, 5, 8, 0)]
            .map(|(h, n, m, d)| vec![("h", h), ("n", n), ("m", m), ("d", d)])
            .to_vec(),
        "classify" => {
            [(130, 72), (64, 64), (1, 8), (3, 0), (0, 8)].map(|(m, l)| vec![("m", m), ("l", l)]).to_vec()
        }
        "histogram" => [(2000, 300), (1024, 256), (20_000, 256), (0, 3), (3, 1), (4, 8)]
            .map(|(n, bins)| vec![("n", n), ("bins", bins)])
            .to_vec(),
        "histogram_blocks" => [20_000, 256, 0].map(|n| vec![("n", n)]).to_vec(),
        "scalars" => vec![vec![("n", 200)]],
        "loops" => vec![vec![("n", 150), ("m", 3)]],
        "shared" => vec![vec![("n", 2)]],
        _ => panic!("no sizes for kernel `{kernel}`: add them here"),
    }
}

/// Whether the sizes satisfy the assumptions of the kernel and its pipeline.
#[allow(dead_code, reason = "not every test that shares these cases asks it")]
pub fn allowed(program: &Program, sizes: &[(&str, i64)]) -> bool {
    let value = |name: &Name| sizes.iter().find(|(n, _)| name == n).map(|(_, v)| *v);
    program.assumptions.iter().all(|c| c.holds(&value).expect("all sizes are given"))
}

fn contents(name: &str, dtype: DType, len: usize) -> Buffer {
    match (name, dtype) {
        // Segments of length 0, 1 and a few hundred; the last one is longer, with whole tiles per
        // block.
        ("offsets", DType::I32) => {
            let cuts = [0, 0, 1, 300, 301, 1000, 40_000];
            Buffer::from_slice(&cuts[cuts.len() - len..])
        }
        // Zero among them, and neighbours that are equal.
        ("keys", DType::I32) => {
            let keys: Vec<i32> = (0..len as i32).map(|k| (k / 3 * 7 + k / 64) % 256).collect();
            Buffer::from_slice(&keys)
        }
        (_, DType::I32) => Buffer::from_slice(&vec![77i32; len]),
        (_, DType::F32) => {
            let values: Vec<f32> = (0..len).map(|k| ((k * 7 + k / 5) % 23) as f32 - 9.0).collect();
            Buffer::from_slice(&values)
        }
        // Of queries and keys, whose products are exponents.
        ("q" | "k", DType::BF16) => {
            let values: Vec<half::bf16> = (0..len)
                .map(|k| half::bf16::from_f32((((k * 7 + k / 5) % 23) as f32 - 9.0) / 32.0))
                .collect();
            Buffer::from_slice(&values)
        }
        // The same, which are exact in bf16.
        (_, DType::BF16) => {
            let values: Vec<half::bf16> =
                (0..len).map(|k| half::bf16::from_f32(((k * 7 + k / 5) % 23) as f32 - 9.0)).collect();
            Buffer::from_slice(&values)
        }
        _ => panic!("no contents for `{name}`"),
    }
}

/// The arguments of a program for these sizes.
pub fn arguments(program: &Program, sizes: &[(&str, i64)]) -> Arguments {
    let value = |name: &Name| sizes.iter().find(|(n, _)| name == n).map(|(_, v)| *v);
    let mut arguments = Arguments::new();
    for scalar in program.scalars() {
        let number = match value(&scalar.name) {
            Some(v) => Number::I64(v),
            None => Number::F64(2.5),
        };
        arguments = arguments.scalar(scalar.name.clone(), number.cast(scalar.dtype));
    }
    for global in program.globals.iter().filter(|g| g.owner == Owner::Caller) {
        let len = eval_host(&global.size, &value).expect("the size follows from the scalars").max(0) as usize;
        arguments = arguments.array(global.name.clone(), contents(&global.name, global.dtype, len));
    }
    arguments
}

/// What the declared kernel computes from the same arguments.
pub fn expected(kernel: &LoopKernel, arguments: &Arguments) -> BTreeMap<Name, Buffer> {
    let mut inputs = Inputs::new();
    for (name, array) in &arguments.arrays {
        inputs = inputs.array(name.clone(), array.buffer.clone());
    }
    for (name, number) in &arguments.scalars {
        inputs = inputs.scalar(name.clone(), *number);
    }
    let mode = if inexact(&kernel.name) { Mode::Wide } else { Mode::Exact };
    interpret(kernel, &inputs, mode).unwrap_or_else(|d| panic!("{}: {d}", kernel.name))
}

/// Kernels with inexact functions and quotients: their expected results are computed in f64.
fn inexact(kernel: &str) -> bool {
    ["softmax", "layer_norm", "log_sum_exp", "attention", "classify"].contains(&kernel)
}

/// Whether a result is as expected: bit-identical, or, if the kernel rounds, within a tolerance
/// relative to each element. Where terms of magnitude one cancel, as around the mean of a layer, it
/// is relative to those. Weights and results of attention are rounded to bf16, of terms up to 13.
/// Probabilities may be so small that an f32 has few digits of them.
#[allow(dead_code, reason = "not every test that shares these cases asks it")]
pub fn agree(kernel: &str, got: &Buffer, expected: &Buffer) -> bool {
    if !inexact(kernel) {
        return got == expected;
    }
    let values = |buffer: &Buffer| -> Vec<f64> { buffer.numbers().map(Number::as_f64).collect() };
    let (got, expected) = (values(got), values(expected));
    let (relative, terms) = match kernel {
        "layer_norm" => (1e-5, 1.0),
        "attention" => (1.0 / 128.0, 4.0),
        "classify" => (1e-5, 1e-30),
        _ => (1e-5, 0.0),
    };
    let close = |(g, e): (&f64, &f64)| (g - e).abs() <= relative * e.abs().max(terms);
    got.len() == expected.len() && got.iter().zip(&expected).all(close)
}
