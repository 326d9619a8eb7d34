//! The kernels with their pipelines, sizes and inputs, and how to run and compare one of them.

use std::collections::BTreeMap;

use loopwright::{
    lowering::program::{HostStmt, Value, eval_host},
    prelude::*,
};
use loopwright_kernel_ir::Arg;

use crate::sequential::{self, ALPHA, BETA, Grid, Problem};

/// Integer arguments of one run.
pub type Sizes = &'static [(&'static str, usize)];

/// One kernel of the suite.
pub struct Case {
    /// PolyBench's name.
    pub name: &'static str,
    /// The text of the declared kernel.
    pub kernel: &'static str,
    /// The text of its pipeline for a GPU.
    pub pipeline: &'static str,
    /// Two sizes for the emulator; the first is not a multiple of any tile.
    pub small: [Sizes; 2],
    /// Two sizes for a GPU; the first is not a multiple of any tile.
    pub large: [Sizes; 2],
    /// The initial value of an element, from its array's name, its index, and the length of the
    /// first axis.
    pub element: fn(&str, &[usize], usize) -> f64,
    /// The same computation in plain loops.
    pub sequential: fn(&mut Problem),
}

macro_rules! case {
    ($name:literal, $element:ident, $sequential:ident, $small:expr, $large:expr) => {
        Case {
            name: $name,
            kernel: include_str!(concat!($name, ".lw")),
            pipeline: include_str!(concat!($name, ".pipe")),
            small: $small,
            large: $large,
            element: $element,
            sequential: sequential::$sequential,
        }
    };
}

/// Pattern-free numbers between 0 and 1.
fn mixed(name: &str, index: &[usize], _: usize) -> f64 {
    let seed = name.bytes().fold(7usize, |s, b| s * 31 + usize::from(b));
    let place = index.iter().fold(seed, |s, i| s.wrapping_mul(131).wrapping_add(i * 7 + 3));
    (place % 1009) as f64 / 1009.0
}

/// A matrix whose diagonal dominates its rows, so that factors and solutions stay small.
fn heavy_diagonal(name: &str, index: &[usize], n: usize) -> f64 {
    match index {
        [i, j] if i == j => 2.0 + n as f64,
        // Symmetric about the diagonal.
        [i, j] => mixed(name, &[*i.min(j), *i.max(j)], n),
        other => mixed(name, other, n),
    }
}

/// Edge lengths, or 999 where there is no edge.
fn edges(_: &str, index: &[usize], _: usize) -> f64 {
    let [i, j] = *index else { return 0.0 };
    let none = (i + j) % 13 == 0 || (i + j) % 7 == 0 || (i + j) % 11 == 0;
    if none { 999.0 } else { (i * j % 7 + 1) as f64 }
}

/// The suite.
pub fn cases() -> Vec<Case> {
    vec![
        case!(
            "gemm",
            mixed,
            gemm,
            [&[("ni", 37), ("nj", 41), ("nk", 19)], &[("ni", 32), ("nj", 48), ("nk", 16)]],
            [&[("ni", 501), ("nj", 603), ("nk", 407)], &[("ni", 512), ("nj", 512), ("nk", 512)]]
        ),
        case!(
            "2mm",
            mixed,
            two_mm,
            [
                &[("ni", 35), ("nj", 21), ("nk", 19), ("nl", 40)],
                &[("ni", 32), ("nj", 16), ("nk", 16), ("nl", 32)]
            ],
            [
                &[("ni", 401), ("nj", 453), ("nk", 507), ("nl", 397)],
                &[("ni", 512), ("nj", 512), ("nk", 256), ("nl", 256)]
            ]
        ),
        case!(
            "syr2k",
            mixed,
            syr2k,
            [&[("n", 37), ("m", 21)], &[("n", 32), ("m", 16)]],
            [&[("n", 601), ("m", 403)], &[("n", 512), ("m", 256)]]
        ),
        case!(
            "atax",
            mixed,
            atax,
            [&[("m", 43), ("n", 1100)], &[("m", 256), ("n", 64)]],
            [&[("m", 1901), ("n", 2101)], &[("m", 2048), ("n", 2048)]]
        ),
        case!("mvt", mixed, mvt, [&[("n", 131)], &[("n", 256)]], [&[("n", 2001)], &[("n", 2048)]]),
        case!("gesummv", mixed, gesummv, [&[("n", 131)], &[("n", 256)]], [&[("n", 1301)], &[("n", 2048)]]),
        case!(
            "jacobi-1d",
            mixed,
            jacobi_1d,
            [&[("tsteps", 5), ("n", 1301)], &[("tsteps", 4), ("n", 1026)]],
            [&[("tsteps", 101), ("n", 120_001)], &[("tsteps", 100), ("n", 131_074)]]
        ),
        case!(
            "jacobi-2d",
            mixed,
            jacobi_2d,
            [&[("tsteps", 3), ("n", 45)], &[("tsteps", 3), ("n", 66)]],
            [&[("tsteps", 51), ("n", 1301)], &[("tsteps", 50), ("n", 1026)]]
        ),
        case!(
            "heat-3d",
            mixed,
            heat_3d,
            [&[("tsteps", 2), ("n", 19)], &[("tsteps", 2), ("n", 34)]],
            [&[("tsteps", 21), ("n", 121)], &[("tsteps", 20), ("n", 130)]]
        ),
        case!(
            "fdtd-2d",
            mixed,
            fdtd_2d,
            [&[("tmax", 3), ("nx", 45), ("ny", 37)], &[("tmax", 3), ("nx", 32), ("ny", 64)]],
            [&[("tmax", 51), ("nx", 1001), ("ny", 1203)], &[("tmax", 50), ("nx", 1024), ("ny", 1024)]]
        ),
        case!(
            "trmm",
            mixed,
            trmm,
            [&[("m", 13), ("n", 1100)], &[("m", 16), ("n", 1024)]],
            [&[("m", 301), ("n", 1701)], &[("m", 256), ("n", 2048)]]
        ),
        case!("lu", heavy_diagonal, lu, [&[("n", 37)], &[("n", 32)]], [&[("n", 501)], &[("n", 512)]]),
        case!(
            "cholesky",
            heavy_diagonal,
            cholesky,
            [&[("n", 37)], &[("n", 32)]],
            [&[("n", 501)], &[("n", 512)]]
        ),
        case!(
            "trisolv",
            heavy_diagonal,
            trisolv,
            [&[("n", 67)], &[("n", 128)]],
            [&[("n", 2001)], &[("n", 2048)]]
        ),
        case!(
            "seidel-2d",
            mixed,
            seidel_2d,
            [&[("tsteps", 5), ("n", 21)], &[("tsteps", 4), ("n", 34)]],
            [&[("tsteps", 33), ("n", 401)], &[("tsteps", 32), ("n", 386)]]
        ),
        case!(
            "floyd-warshall",
            edges,
            floyd_warshall,
            [&[("n", 27)], &[("n", 32)]],
            [&[("n", 301)], &[("n", 320)]]
        ),
    ]
}

impl Case {
    /// The kernel as declared.
    pub fn declared(&self) -> LoopKernel {
        LoopKernel::parse(self.kernel).unwrap_or_else(|d| panic!("{}.lw: {d}", self.name))
    }

    /// The steps.
    pub fn steps(&self) -> Result<Pipeline, Diagnostic> {
        Pipeline::parse_file(&format!("{}.pipe", self.name), self.pipeline, &Registry::default())
    }

    /// The arguments for these sizes; the shapes are those that the kernel declares.
    pub fn problem(&self, sizes: Sizes) -> Problem {
        let kernel = self.declared();
        let of =
            |name: &Name| sizes.iter().find(|(n, _)| name == n).and_then(|(_, v)| i64::try_from(*v).ok());
        let mut problem =
            Problem { sizes: sizes.iter().map(|(n, v)| (n.to_string(), *v)).collect(), ..Problem::default() };
        for arg in &kernel.args {
            let Arg::Array(array) = arg else { continue };
            let shape: Vec<usize> = array
                .axes
                .iter()
                .map(|x| x.length.to_aff().and_then(|l| l.eval(&of)).map_or(0, |l| l as usize))
                .collect();
            let values = (0..shape.iter().product()).map(|place: usize| {
                let mut rest = place;
                let mut index: Vec<usize> = shape
                    .iter()
                    .rev()
                    .map(|length| {
                        let i = rest % length;
                        rest /= length;
                        i
                    })
                    .collect();
                index.reverse();
                (self.element)(&array.name, &index, shape[0])
            });
            let grid = Grid { values: values.collect(), shape };
            problem.arrays.insert(array.name.to_string(), grid);
        }
        problem
    }
}

/// The arguments in the form that a device takes.
pub fn arguments(kernel: &LoopKernel, problem: &Problem) -> Result<Args, Diagnostic> {
    let mut args = Args::new();
    for arg in &kernel.args {
        match arg {
            Arg::Array(array) => {
                let grid = &problem.arrays[array.name.as_str()];
                let dtype = array.dtype.known().unwrap_or(DType::F64);
                let tensor = Tensor::from_vec(&grid.shape, grid.values.clone())?.cast(dtype);
                args = args.tensor(array.name.clone(), &tensor);
            }
            Arg::Scalar(s) if *s.name == *"alpha" => args = args.scalar("alpha", ALPHA),
            Arg::Scalar(s) if *s.name == *"beta" => args = args.scalar("beta", BETA),
            Arg::Scalar(s) => {
                let value = i32::try_from(problem.sizes[s.name.as_str()]).unwrap_or(i32::MAX);
                args = args.scalar(s.name.clone(), value);
            }
        }
    }
    Ok(args)
}

/// The largest difference from the sequential loops, in units of the rounding error that another
/// order of summation allows.
pub fn difference(expected: &Problem, outputs: &BTreeMap<String, Vec<f64>>) -> f64 {
    let mut largest = 0.0_f64;
    for (name, got) in outputs {
        let grid = &expected.arrays[name];
        assert_eq!(grid.values.len(), got.len(), "{name}");
        for (e, g) in grid.values.iter().zip(got) {
            let apart = (e - g).abs() / (1e-10 * (1.0 + e.abs()));
            largest = if apart.is_nan() { f64::INFINITY } else { largest.max(apart) };
        }
    }
    largest
}

/// The figures of one run of a pipeline.
pub struct Run {
    /// Number of device kernels.
    pub kernels: usize,
    /// Number of barriers in them.
    pub barriers: usize,
    /// Number of threads of the largest launch.
    pub threads: i64,
    /// See [`difference`]; a result is right if it is at most 1.
    pub difference: f64,
    /// Time from the first launch to the last result.
    pub milliseconds: f64,
}

/// Compiles a kernel, runs it and compares the result.
pub fn run(case: &Case, kernel: &LoopKernel, device: &Device, sizes: Sizes) -> Result<Run, Diagnostic> {
    let mut problem = case.problem(sizes);
    let bound = device.compile(kernel)?.bind(&arguments(kernel, &problem)?)?;
    let program = bound.program();
    let (kernels, barriers) = (program.kernels.len(), program.barriers());
    let outputs = bound.run()?;
    let written: Vec<String> = bound.written().map(ToString::to_string).collect();
    let mut got = BTreeMap::new();
    for name in written {
        got.insert(name.clone(), outputs.get(&name)?.to_f64());
    }
    (case.sequential)(&mut problem);
    let difference = if got.is_empty() { f64::INFINITY } else { difference(&problem, &got) };
    let threads = threads(program, sizes);
    Ok(Run { kernels, barriers, threads, difference, milliseconds: outputs.milliseconds })
}

/// The number of threads of the largest launch, with host loops at their first, middle and last
/// iteration.
pub fn threads(program: &Program, sizes: Sizes) -> i64 {
    fn walk(program: &Program, stmts: &[HostStmt], values: &mut BTreeMap<String, i64>) -> i64 {
        let mut most = 0;
        for stmt in stmts {
            let eval = |v: &Value| eval_host(v, &|n| values.get(n.as_str()).copied());
            match stmt {
                HostStmt::Launch(k) => {
                    let kernel = &program.kernels[*k];
                    let blocks: i64 = kernel.grid.values().map(|g| eval(g).unwrap_or(1)).product();
                    most = most.max(blocks * i64::from(kernel.threads()));
                }
                HostStmt::For { var, lower, upper, body, .. } => {
                    let (Some(first), Some(end)) = (eval(lower), eval(upper)) else { continue };
                    for value in [first, first + (end - first) / 2, end - 1] {
                        values.insert(var.to_string(), value);
                        most = most.max(walk(program, body, values));
                    }
                    values.remove(var.as_str());
                }
            }
        }
        most
    }
    let mut values =
        sizes.iter().filter_map(|(n, v)| Some((n.to_string(), i64::try_from(*v).ok()?))).collect();
    walk(program, &program.host, &mut values)
}
