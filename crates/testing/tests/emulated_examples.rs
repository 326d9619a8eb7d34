//! Every pipeline of every example: equal to the reference with all checks, and every barrier is
//! needed.

use crate::examples;

use examples::{kernel, lowered, pipelines};
use loopwright_emulator::{Arguments, FaultKind, Options, run};
use loopwright_kernel_ir::{Buffer, DType, Number};
use loopwright_program::{Owner, Program, Scope, Stmt};
use loopwright_reference::{Inputs, Mode, interpret};

/// Small pattern-free floating-point numbers.
fn noise(n: usize, seed: u32) -> Buffer {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let values: Vec<f32> = (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect();
    Buffer::from_slice(&values)
}

/// Inputs of an example for several sizes, and the array that it writes with its length.
fn cases(name: &str) -> Vec<(Inputs, &'static str, usize)> {
    let i = |v: usize| Number::I32(v as i32);
    match name {
        "axpy" => [0, 1, 127, 128, 1000]
            .map(|n| {
                let arrays = Inputs::new().array("x", noise(n, 1)).array("y", noise(n, 2));
                (arrays.scalar("a", 1.5f32).scalar("n", i(n)), "y", n)
            })
            .to_vec(),
        // 300 rows exceed the number of blocks of persistent kernels, which then loop.
        "segmented_sum" => {
            [(0, 0), (3, 0), (3, 4), (1, 1), (5, 256), (2, 1000), (33, 64), (2, 40_000), (300, 20)]
                .map(|(nseg, len)| {
                    let arrays = Inputs::new().array("x", noise(nseg * len, 3));
                    (arrays.scalar("nseg", i(nseg)).scalar("len", i(len)), "out", nseg)
                })
                .to_vec()
        }
        // The declared sums are quadratic in the length.
        "prefix_sum" => [(1, 0), (3, 7), (2, 64), (9, 40), (1, 300), (1, 1100)]
            .map(|(nseg, len)| {
                let arrays = Inputs::new().array("x", noise(nseg * len, 3));
                (arrays.scalar("nseg", i(nseg)).scalar("len", i(len)), "out", nseg * len)
            })
            .to_vec(),
        // The last segment spans whole tiles, and extends from one block to the next.
        "ragged_sum" => {
            [vec![0], vec![0, 0], vec![0, 1, 1, 40, 1000, 1000, 1300], vec![0, 7, 300], vec![0, 7, 40_000]]
                .map(|offsets: Vec<i32>| {
                    let n = *offsets.last().unwrap() as usize;
                    let nseg = offsets.len() - 1;
                    let arrays =
                        Inputs::new().array("x", noise(n, 4)).array("offsets", Buffer::from_slice(&offsets));
                    (arrays.scalar("n", i(n)).scalar("nseg", i(nseg)), "out", nseg)
                })
                .to_vec()
        }
        "transpose" => [(0, 0), (1, 1), (32, 32), (33, 70)]
            .map(|(m, n)| {
                let arrays = Inputs::new().array("a", noise(m * n, 5));
                (arrays.scalar("m", i(m)).scalar("n", i(n)), "b", m * n)
            })
            .to_vec(),
        "stencil" => [(3, 3), (18, 18), (40, 35)]
            .map(|(m, n)| {
                let arrays = Inputs::new().array("u", noise(m * n, 6)).array("v", noise(m * n, 7));
                (arrays.scalar("m", i(m)).scalar("n", i(n)), "v", m * n)
            })
            .to_vec(),
        // The last goes round a ring of three tiles of sixteen.
        "matmul" => [(0, 3, 2), (1, 1, 1), (16, 16, 0), (20, 33, 17), (64, 64, 40), (20, 33, 90)]
            .map(|(m, n, l)| {
                let arrays = Inputs::new().array("a", noise(m * l, 8)).array("b", noise(l * n, 9));
                let sized = arrays.scalar("m", i(m)).scalar("n", i(n)).scalar("l", i(l));
                (sized, "c", m * n)
            })
            .to_vec(),
        other => panic!("no inputs for {other}"),
    }
}

fn arguments(inputs: &Inputs, output: &str, len: usize) -> Arguments {
    let mut arguments = Arguments::new();
    for (name, buffer) in &inputs.arrays {
        arguments = arguments.array(name, buffer.clone());
    }
    if !inputs.arrays.contains_key(output) {
        arguments = arguments.output(output, Buffer::zeros(DType::F32, len));
    }
    arguments.scalars = inputs.scalars.clone();
    arguments
}

/// Whether the case satisfies what a pipeline assumes.
fn assumed(program: &Program, inputs: &Inputs) -> bool {
    let value = |name: &_| inputs.scalars.get(name).and_then(|n: &Number| n.as_i64());
    program.assumptions.iter().all(|c| c.holds(&value) == Some(true))
}

fn check(name: &str) {
    let declared = kernel(name);
    for pipeline in pipelines(name) {
        let program = lowered(name, &pipeline);
        let mut ran = 0;
        for (inputs, output, len) in cases(name) {
            if !assumed(&program, &inputs) {
                continue;
            }
            ran += 1;
            let wide = interpret(&declared, &inputs, Mode::Wide).unwrap_or_else(|e| panic!("{name}: {e}"));
            let expected = &wide[output];
            let mut arguments = arguments(&inputs, output, len);
            run(&program, &mut arguments, &Options::default())
                .unwrap_or_else(|e| panic!("{name} {pipeline} {:?}: {e}", inputs.scalars));
            let found = arguments.buffer(output).unwrap();
            for k in 0..len {
                let (found, expected) = (found.get(k).unwrap().as_f64(), expected.get(k).unwrap().as_f64());
                // Sums of at most 40000 numbers below 1 in any order.
                assert!((found - expected).abs() < 2e-3, "{name} {pipeline} [{k}]: {found} {expected}");
            }
        }
        assert!(ran > 0, "{name} {pipeline} was not run at all");
    }
}

#[test]
fn axpy() {
    check("axpy");
}

#[test]
fn segmented_sum() {
    check("segmented_sum");
}

#[test]
fn prefix_sum() {
    check("prefix_sum");
}

#[test]
fn ragged_sum() {
    check("ragged_sum");
}

#[test]
fn transpose() {
    check("transpose");
}

#[test]
fn stencil() {
    check("stencil");
}

#[test]
fn matmul() {
    check("matmul");
}

/// Removes the `n`th block-wide barrier; false if there are fewer.
fn without_barrier(body: &mut Vec<Stmt>, n: &mut usize) -> bool {
    for k in 0..body.len() {
        if matches!(body[k], Stmt::Sync { scope: Scope::Block, .. }) {
            if *n == 0 {
                body.remove(k);
                return true;
            }
            *n -= 1;
        }
        let inside = match &mut body[k] {
            Stmt::For { body, .. } | Stmt::Collective { body, .. } => without_barrier(body, n),
            Stmt::If { body, otherwise, .. } => without_barrier(body, n) || without_barrier(otherwise, n),
            _ => false,
        };
        if inside {
            return true;
        }
    }
    false
}

#[test]
fn every_barrier_is_needed() {
    let mut barriers = 0;
    for name in ["segmented_sum", "prefix_sum", "ragged_sum", "transpose", "stencil", "matmul"] {
        for pipeline in pipelines(name) {
            let program = lowered(name, &pipeline);
            for kernel in 0..program.kernels.len() {
                for number in 0.. {
                    let mut cut = program.clone();
                    if !without_barrier(&mut cut.kernels[kernel].body, &mut { number }) {
                        break;
                    }
                    barriers += 1;
                    let raced = cases(name).into_iter().any(|(inputs, output, len)| {
                        assumed(&program, &inputs)
                            && matches!(
                                run(&cut, &mut arguments(&inputs, output, len), &Options::default()),
                                Err(fault) if fault.kind == FaultKind::Race
                                    && fault.first.is_some() && fault.second.is_some()
                            )
                    });
                    assert!(raced, "{name} {pipeline}: barrier {number} of kernel {kernel} is not needed");
                }
            }
        }
    }
    assert!(barriers > 10, "{barriers} barriers were taken away");
}

#[test]
fn padding_of_the_transposed_tile_takes_its_bank_conflicts_away() {
    let conflicts = |pipeline: &str| {
        let (inputs, output, len) = cases("transpose").swap_remove(2);
        let program = lowered("transpose", pipeline);
        assert!(program.globals.iter().all(|g| g.owner == Owner::Caller));
        let report = run(&program, &mut arguments(&inputs, output, len), &Options::default()).unwrap();
        report.total.bank_conflicts()
    };
    assert_eq!(conflicts("tiled_padded"), 0);
    assert!(conflicts("tiled") > 0);
}
