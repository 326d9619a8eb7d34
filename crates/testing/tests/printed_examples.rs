//! The printed text of every example pipeline, run on the CPU and compared with the declared
//! kernel.

use loopwright_kernel_ir::Name;
use loopwright_lowering::program::Program;
use loopwright_testing::check;
use loopwright_text_check::{Arguments, Checker, Order, Scalar};

use crate::examples::{kernel, lowered, pipelines};

/// The kernel under each of its example pipelines, by the pipeline's name.
fn programs(name: &str) -> Vec<(String, Program)> {
    let pipelines = pipelines(name);
    assert!(!pipelines.is_empty());
    let lowered = |pipeline: String| {
        let program = lowered(name, &pipeline);
        (pipeline, program)
    };
    pipelines.into_iter().map(lowered).collect()
}

/// Small integers, whose sums are exact in any order.
fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|k| ((k * 7 + k / 5) % 23) as f32 - 9.0).collect()
}

/// Whether the scalars satisfy the assumptions of the pipeline, such as rows of whole vectors.
fn fulfilled(program: &Program, arguments: &Arguments) -> bool {
    let value = |name: &Name| match arguments.scalars.get(name) {
        Some(Scalar::Int(value)) => Some(*value),
        _ => None,
    };
    program.assumptions.iter().all(|c| c.holds(&value).unwrap())
}

/// Runs all pipelines of a kernel over the arguments, in both orders, and compares one array.
fn check(name: &str, cases: &[(Arguments, &str, Vec<f32>)]) {
    check_within(0.0, name, cases);
}

/// As `check`, each element within a relative tolerance.
fn check_within(tolerance: f32, name: &str, cases: &[(Arguments, &str, Vec<f32>)]) {
    let checker = Checker::new().unwrap();
    let (names, programs): (Vec<_>, Vec<_>) = programs(name).into_iter().unzip();
    for (pipeline, compiled) in names.iter().zip(checker.compile_all(&programs)) {
        let compiled = compiled.unwrap_or_else(|e| panic!("{pipeline}: {e}"));
        let allowed = cases.iter().filter(|(arguments, ..)| fulfilled(compiled.program(), arguments));
        assert!(allowed.clone().count() > 0, "{pipeline}: no case satisfies its assumptions");
        for (arguments, array, expected) in allowed {
            for order in [Order::Forwards, Order::Backwards] {
                let mut arguments = arguments.clone();
                compiled.run(&mut arguments, order).unwrap_or_else(|e| panic!("{pipeline}: {e}"));
                let found = arguments.get_floats(array);
                let wrong = found.iter().zip(expected).position(|(f, e)| (f - e).abs() > tolerance * e.abs());
                assert_eq!(found.len(), expected.len());
                assert_eq!(
                    wrong, None,
                    "{pipeline} {order:?} {:?}: {found:?}, not {expected:?}",
                    arguments.scalars
                );
            }
        }
    }
}

#[test]
fn axpy() {
    let cases = [0, 1, 127, 128, 1000].map(|n| {
        let (x, y) = (numbers(n), numbers(n + 3)[3..].to_vec());
        let expected = x.iter().zip(&y).map(|(x, y)| 2.5 * x + y).collect();
        (
            Arguments::new().floats("x", &x).floats("y", &y).scalar("a", 2.5).scalar("n", n as i64),
            "y",
            expected,
        )
    });
    check("axpy", &cases);
}

#[test]
fn segmented_sum() {
    let cases =
        [(3, 4), (1, 0), (5, 1), (2, 17), (33, 64), (2, 1000), (1, 5003), (0, 8)].map(|(nseg, len)| {
            let x = numbers(nseg * len);
            let expected = (0..nseg).map(|s| x[s * len..(s + 1) * len].iter().sum()).collect();
            let arguments = Arguments::new().floats("x", &x).floats("out", &vec![f32::NAN; nseg]);
            (arguments.scalar("nseg", nseg as i64).scalar("len", len as i64), "out", expected)
        });
    check("segmented_sum", &cases);
}

#[test]
fn prefix_sum() {
    let cases =
        [(3, 4), (1, 0), (5, 1), (2, 17), (9, 64), (2, 1000), (1, 2503), (1, 4096)].map(|(nseg, len)| {
            let x = numbers(nseg * len);
            let row = |s: usize| {
                x[s * len..(s + 1) * len].iter().scan(0.0, |sum, v| {
                    *sum += v;
                    Some(*sum)
                })
            };
            let expected = (0..nseg).flat_map(row).collect();
            let arguments = Arguments::new().floats("x", &x).floats("out", &vec![f32::NAN; nseg * len]);
            (arguments.scalar("nseg", nseg as i64).scalar("len", len as i64), "out", expected)
        });
    check("prefix_sum", &cases);
}

#[test]
fn ragged_sum() {
    let cases = [vec![0, 0, 5, 6, 300, 300, 1000], vec![3, 3], vec![0, 4097]].map(|offsets: Vec<i32>| {
        let n = *offsets.last().unwrap() as usize;
        let x = numbers(n);
        let expected: Vec<f32> =
            offsets.windows(2).map(|o| x[o[0] as usize..o[1] as usize].iter().sum()).collect();
        let arguments = Arguments::new().floats("x", &x).ints("offsets", &offsets);
        let arguments = arguments.floats("out", &vec![f32::NAN; expected.len()]);
        (arguments.scalar("n", n as i64).scalar("nseg", expected.len() as i64), "out", expected)
    });
    check("ragged_sum", &cases);
}

#[test]
fn transpose() {
    let cases = [(1, 1), (32, 32), (33, 70), (5, 0)].map(|(m, n)| {
        let a = numbers(m * n);
        let expected = (0..n * m).map(|k| a[k % m * n + k / m]).collect();
        let arguments = Arguments::new().floats("a", &a).floats("b", &vec![f32::NAN; m * n]);
        (arguments.scalar("m", m as i64).scalar("n", n as i64), "b", expected)
    });
    check("transpose", &cases);
}

/// Rows of the lengths that the pipelines know, and of others.
fn rows(expected: impl Fn(&[f32]) -> Vec<f32>) -> Vec<(Arguments, &'static str, Vec<f32>)> {
    let cases =
        [(3, 1000), (0, 4), (2, 4), (2, 1024), (2, 4096), (1, 16384)].map(|(m, n): (usize, usize)| {
            let x: Vec<f32> = numbers(m * n).iter().map(|v| v / 8.0).collect();
            let wanted = x.chunks(n).flat_map(&expected).collect();
            let arguments = Arguments::new().floats("x", &x).floats("y", &vec![f32::NAN; m * n]);
            (arguments.scalar("m", m as i64).scalar("n", n as i64), "y", wanted)
        });
    cases.to_vec()
}

#[test]
fn softmax() {
    let cases = rows(|row| {
        let top = row.iter().fold(f64::NEG_INFINITY, |m, v| m.max(f64::from(*v)));
        let weights: Vec<f64> = row.iter().map(|v| (f64::from(*v) - top).exp()).collect();
        let total: f64 = weights.iter().sum();
        weights.iter().map(|w| (w / total) as f32).collect()
    });
    check_within(1e-5, "softmax", &cases);
}

/// A user-defined operator.
#[test]
fn log_sum_exp() {
    let cases = [(3, 1000), (0, 4), (2, 4), (5, 0), (1, 16384)].map(|(m, n): (usize, usize)| {
        let x: Vec<f32> = numbers(m * n).iter().map(|v| v / 8.0).collect();
        let mut wanted = vec![f32::NEG_INFINITY; m];
        for (row, wanted) in x.chunks(n.max(1)).zip(&mut wanted) {
            *wanted = row.iter().map(|v| f64::from(*v).exp()).sum::<f64>().ln() as f32;
        }
        let arguments = Arguments::new().floats("x", &x).floats("y", &vec![f32::NAN; m]);
        (arguments.scalar("m", m as i64).scalar("n", n as i64), "y", wanted)
    });
    check_within(1e-5, "log_sum_exp", &cases);
}

#[test]
fn layer_norm() {
    let cases = rows(|row| {
        let n = row.len() as f64;
        let mean = row.iter().map(|v| f64::from(*v)).sum::<f64>() / n;
        let variance = row.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / n;
        let scaled = row.iter().map(|v| (f64::from(*v) - mean) / (variance + 0.5).sqrt());
        // The elements are compared relative to themselves: none of them is near zero.
        scaled.map(|v| (v * 0.25 + 3.0) as f32).collect()
    });
    let with_scales = cases.into_iter().map(|(arguments, array, wanted)| {
        let Some(Scalar::Int(n)) = arguments.scalars.get("n") else { panic!("n is given") };
        let n = usize::try_from(*n).unwrap();
        let arguments = arguments.floats("gain", &vec![0.25; n]).floats("bias", &vec![3.0; n]);
        (arguments.scalar("eps", 0.5), array, wanted)
    });
    check_within(1e-5, "layer_norm", &with_scales.collect::<Vec<_>>());
}

#[test]
fn column_sum() {
    let cases = [(2500, 132), (3, 4), (1, 128), (0, 8), (5, 0)].map(|(m, n)| {
        let x = numbers(m * n);
        let expected = (0..n).map(|j| (0..m).map(|i| x[i * n + j]).sum()).collect();
        let arguments = Arguments::new().floats("x", &x).floats("out", &vec![f32::NAN; n]);
        (arguments.scalar("m", m as i64).scalar("n", n as i64), "out", expected)
    });
    check("column_sum", &cases);
}

#[test]
fn matmul() {
    let cases = [(1, 1, 1), (16, 16, 16), (65, 33, 20), (17, 70, 0), (130, 137, 18)].map(|(m, n, l)| {
        let (a, b) = (numbers(m * l), numbers(l * n));
        let dot = |i: usize, j: usize| (0..l).map(|k| a[i * l + k] * b[k * n + j]).sum();
        let expected = (0..m * n).map(|k| dot(k / n, k % n)).collect();
        let arguments = Arguments::new().floats("a", &a).floats("b", &b).floats("c", &vec![f32::NAN; m * n]);
        (arguments.scalar("m", m as i64).scalar("n", n as i64).scalar("l", l as i64), "c", expected)
    });
    check("matmul", &cases);
}

/// By tensor cores. The factors are so small and coarse that sums in f32 are exact in any order.
#[test]
fn matmul_bf16() {
    let checker = Checker::new().unwrap();
    let declared = kernel("matmul_bf16");
    for (pipeline, program) in programs("matmul_bf16") {
        for (m, n, l) in [(1, 1, 8), (16, 16, 16), (130, 137, 72)] {
            let sizes = [("m", m), ("n", n), ("l", l)].map(|(name, value)| (Name::new(name), value)).into();
            check::run_text(&checker, &declared, &program, &sizes)
                .unwrap_or_else(|f| panic!("{pipeline}: {}", f.text));
        }
    }
}

#[test]
fn stencil() {
    let cases = [(2, 2), (3, 3), (18, 18), (35, 20)].map(|(m, n)| {
        let (u, v) = (numbers(m * n), vec![0.5; m * n]);
        let inner = |k: usize| (1..m - 1).contains(&(k / n)) && (1..n - 1).contains(&(k % n));
        let laplacian = |k: usize| u[k - n] + u[k + n] + u[k - 1] + u[k + 1] - 4.0 * u[k];
        let expected = (0..m * n).map(|k| if inner(k) { laplacian(k) } else { v[k] }).collect();
        let arguments = Arguments::new().floats("u", &u).floats("v", &v);
        (arguments.scalar("m", m as i64).scalar("n", n as i64), "v", expected)
    });
    check("stencil", &cases);
}

/// The weights are a constant table.
#[test]
fn simpson() {
    let cases = [(1, 1), (16, 16), (33, 20)].map(|(m, n): (usize, usize)| {
        let width = 2 * n + 1;
        let u = numbers((2 * m + 1) * width);
        let weights = [1.0, 4.0, 1.0];
        let mut expected = vec![0.0; m * n];
        for (k, out) in expected.iter_mut().enumerate() {
            for (a, wa) in weights.iter().enumerate() {
                for (b, wb) in weights.iter().enumerate() {
                    *out += wa * wb * u[(2 * (k / n) + a) * width + 2 * (k % n) + b];
                }
            }
            *out *= 0.5;
        }
        let arguments = Arguments::new().floats("u", &u).floats("v", &vec![f32::NAN; m * n]);
        let scalars = arguments.scalar("m", m as i64).scalar("n", n as i64).scalar("area", 0.5);
        (scalars, "v", expected)
    });
    check("simpson", &cases);
}

#[test]
fn a_missing_barrier_shows_when_threads_run_backwards() {
    use loopwright_program::{Scope, Stmt};
    let (_, mut program) = programs("transpose").into_iter().find(|(name, _)| name == "tiled").unwrap();
    let body = &mut program.kernels[0].body;
    let before = body.len();
    body.retain(|stmt| !matches!(stmt, Stmt::Sync { scope: Scope::Block, .. }));
    assert_eq!(body.len(), before - 1);
    let compiled = Checker::new().unwrap().compile(&program).unwrap();
    let (a, expected): (Vec<f32>, Vec<f32>) =
        ((0..1024).map(|k| k as f32).collect(), (0..1024).map(|k| (k % 32 * 32 + k / 32) as f32).collect());
    let mut arguments = Arguments::new().floats("a", &a).floats("b", &a).scalar("m", 32).scalar("n", 32);
    compiled.run(&mut arguments, Order::Backwards).unwrap();
    assert_ne!(arguments.get_floats("b"), expected);
    assert_eq!(arguments.scalars.get(&Name::new("m")), Some(&32.into()));
}
