//! Generated kernels through `auto`, lowering and the emulator, against plain loops in f64.
//!
//! Operands are small integers, so that their sums and products are exact in every type.

use std::collections::BTreeMap;

use loopwright::{
    auto::auto,
    generate::{Generator, REDUCTIONS, SCANS, copy, einsum, map, reduce, scan, top_k},
    prelude::*,
};
use loopwright_testing::rng::Rng;

/// An array on the host: its shape, and its elements in row-major order.
#[derive(Clone, Debug, PartialEq)]
struct Grid {
    shape: Vec<usize>,
    values: Vec<f64>,
}

impl Grid {
    fn from_fn(shape: &[usize], mut f: impl FnMut(&[usize]) -> f64) -> Grid {
        Grid { shape: shape.to_vec(), values: points(shape).iter().map(|p| f(p)).collect() }
    }

    fn random(shape: &[usize], rng: &mut Rng, low: i64, high: i64) -> Grid {
        Grid::from_fn(shape, |_| (low + rng.below((high - low) as usize + 1) as i64) as f64)
    }

    fn at(&self, point: &[usize]) -> f64 {
        let place = point.iter().zip(&self.shape).fold(0, |place, (p, length)| place * length + p);
        self.values[place]
    }

    fn tensor(&self, dtype: DType) -> Tensor {
        Tensor::from_slice(&self.shape, &self.values).unwrap().cast(dtype)
    }
}

/// All points of a box, the last axis first; one point if there are no axes.
fn points(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut points = vec![Vec::new()];
    for length in shape {
        points = points
            .iter()
            .flat_map(|p| (0..*length).map(move |k| p.iter().copied().chain([k]).collect()))
            .collect();
    }
    points
}

/// The kernel on the emulator after `auto`, with all of the emulator's checks.
fn run(kernel: &LoopKernel, args: &Args) -> BTreeMap<String, Grid> {
    let found = auto(kernel, &Target::default());
    let compiled = Device::emulator().compile(&found.kernel).unwrap_or_else(|d| panic!("{kernel}{found}{d}"));
    let outputs = compiled.run(args).unwrap_or_else(|d| panic!("{kernel}{found}{d}"));
    let grid = |t: &Tensor| Grid { shape: t.shape().to_vec(), values: t.to_f64() };
    ["out", "values", "indices"]
        .iter()
        .filter_map(|name| Some((name.to_string(), grid(outputs.get(name).ok()?))))
        .collect()
}

fn computes(kernel: Result<LoopKernel, Diagnostics>, args: &Args, expected: &[(&str, Grid)]) {
    let kernel = kernel.unwrap_or_else(|d| panic!("{d}"));
    let found = run(&kernel, args);
    let expected: BTreeMap<String, Grid> = expected.iter().map(|(n, g)| (n.to_string(), g.clone())).collect();
    assert_eq!(found, expected, "{kernel}");
}

/// The result of an einsum: for each point of the result, the sum over all points of the rest.
fn einsum_by_loops(
    operands: &[Vec<char>],
    output: &[char],
    lengths: &BTreeMap<char, usize>,
    of: &[Grid],
) -> Grid {
    let summed: Vec<char> = lengths.keys().copied().filter(|c| !output.contains(c)).collect();
    let box_of = |letters: &[char]| letters.iter().map(|c| lengths[c]).collect::<Vec<_>>();
    let value = |point: &[usize]| {
        let terms = points(&box_of(&summed)).into_iter().map(|rest| {
            let places: BTreeMap<char, usize> = output
                .iter()
                .copied()
                .zip(point.iter().copied())
                .chain(summed.iter().copied().zip(rest))
                .collect();
            let factor = |(letters, grid): (&Vec<char>, &Grid)| {
                grid.at(&letters.iter().map(|c| places[c]).collect::<Vec<_>>())
            };
            operands.iter().zip(of).map(factor).product::<f64>()
        });
        terms.sum()
    };
    let mut found = Grid::from_fn(&box_of(output), value);
    if found.shape.is_empty() {
        found.shape = vec![1];
    }
    found
}

/// Specifications by chance: up to three operands of up to three axes, with letters that repeat, of
/// lengths from 0 on, and results by both rules.
#[test]
fn random_einsums_are_computed_as_by_plain_loops() {
    let types = [DType::F32, DType::F64, DType::I32, DType::I64, DType::F16, DType::BF16];
    let (mut implicit, mut repeated, mut empty, mut single) = (0, 0, 0, 0);
    for seed in 0..60 {
        let rng = &mut Rng::new(seed);
        // a and b are names of operands too.
        let alphabet = ['a', 'b', 'i', 'j', 'Z'];
        let operands: Vec<Vec<char>> =
            (0..1 + rng.below(3)).map(|_| (0..rng.below(4)).map(|_| rng.pick(&alphabet)).collect()).collect();
        let mut lengths: BTreeMap<char, usize> = BTreeMap::new();
        for c in operands.iter().flatten() {
            let length = rng.pick(&[0, 1, 2, 3, 3, 5, 5, 7]);
            lengths.entry(*c).or_insert(length);
        }
        let mut spec = operands.iter().map(|o| o.iter().collect::<String>()).collect::<Vec<_>>().join(",");
        let output: Vec<char> = if rng.chance(40) {
            implicit += 1;
            let all: Vec<char> = operands.concat();
            // In alphabetical order, which is that of the map.
            lengths.keys().copied().filter(|c| all.iter().filter(|a| *a == c).count() == 1).collect()
        } else {
            let mut kept: Vec<char> = lengths.keys().copied().filter(|_| rng.chance(50)).collect();
            let middle = rng.below(kept.len() + 1);
            kept.rotate_left(middle);
            spec = format!("{spec}->{}", kept.iter().collect::<String>());
            kept
        };
        repeated +=
            usize::from(operands.iter().any(|o| o.iter().any(|c| o.iter().filter(|d| *d == c).count() > 1)));
        empty += usize::from(lengths.values().any(|n| *n == 0));
        single += usize::from(output.is_empty());
        let dtype = rng.pick(&types);
        // Sums stay below 256, which bf16 holds, where they are stored as that.
        let greatest = if dtype == DType::BF16 || dtype == DType::F16 { 1 } else { 3 };
        let mut args = Args::new();
        let mut grids = Vec::new();
        for (k, letters) in operands.iter().enumerate() {
            let name = ["a", "b", "c"][k];
            let shape: Vec<usize> = letters.iter().map(|c| lengths[c]).collect();
            let grid = Grid::random(&shape, rng, -greatest, greatest);
            args = match shape.is_empty() {
                true if dtype.is_integer() => args.scalar(name, grid.values[0] as i64),
                true => args.scalar(name, grid.values[0]),
                false => args.tensor(name, &grid.tensor(dtype)),
            };
            grids.push(grid);
        }
        let expected = einsum_by_loops(&operands, &output, &lengths, &grids);
        if expected.values.iter().any(|v| v.abs() > 256.0) && greatest == 1 {
            continue;
        }
        println!("seed {seed}: {spec} of {dtype}");
        computes(einsum(&spec, vec![dtype; operands.len()]), &args, &[("out", expected)]);
    }
    // What the cases are for occurs among them.
    assert!(
        implicit > 10 && repeated > 10 && empty > 10 && single > 5,
        "{implicit} {repeated} {empty} {single}"
    );
}

/// Sizes that span several blocks, and are no multiples of tiles.
#[test]
fn larger_einsums_are_computed_as_by_plain_loops() {
    let cases = [
        ("ik,kj", "ij", DType::F32, vec![('i', 70), ('j', 33), ('k', 37)]),
        ("bik,bjk", "bij", DType::BF16, vec![('b', 2), ('i', 35), ('j', 20), ('k', 40)]),
        ("ij", "ji", DType::I16, vec![('i', 70), ('j', 45)]),
        ("i,i", "", DType::F64, vec![('i', 20_001)]),
        ("ii", "", DType::I32, vec![('i', 150)]),
        ("iij,jk", "ik", DType::F32, vec![('i', 20), ('j', 7), ('k', 9)]),
        ("ij,j", "i", DType::F16, vec![('i', 3), ('j', 1030)]),
    ];
    for (from, to, dtype, lengths) in cases {
        let rng = &mut Rng::new(7);
        let operands: Vec<Vec<char>> = from.split(',').map(|o| o.chars().collect()).collect();
        let lengths: BTreeMap<char, usize> = lengths.into_iter().collect();
        let mut args = Args::new();
        let mut grids = Vec::new();
        for (letters, name) in operands.iter().zip(["a", "b"]) {
            let shape: Vec<usize> = letters.iter().map(|c| lengths[c]).collect();
            let grid = Grid::random(&shape, rng, -1, 1);
            args = args.tensor(name, &grid.tensor(dtype));
            grids.push(grid);
        }
        let output: Vec<char> = to.chars().collect();
        let expected = einsum_by_loops(&operands, &output, &lengths, &grids);
        computes(einsum(&format!("{from}->{to}"), vec![dtype; grids.len()]), &args, &[("out", expected)]);
    }
}

/// Accumulators hold what the operands' type does not, and results wrap in their type.
#[test]
fn sums_are_accumulated_in_the_type_that_is_said() {
    // In f16, 2048 + 1 is 2048; the sum of 3000 ones, rounded once, is 3000.
    let ones = Grid::from_fn(&[3000], |_| 1.0);
    let args = Args::new().tensor("a", &ones.tensor(DType::F16));
    let out = |value: f64| [("out", Grid { shape: vec![1], values: vec![value] })];
    computes(einsum("i->", [DType::F16]), &args, &out(3000.0));
    // In f32, 2^24 + 1 is 2^24.
    let mut large = Grid::from_fn(&[3], |_| 1.0);
    large.values[0] = 16_777_216.0;
    let args = Args::new().tensor("a", &large.tensor(DType::F32));
    computes(Generator::new().out(DType::F64).einsum("i->", [DType::F32]), &args, &out(16_777_218.0));
    computes(Generator::new().acc(DType::F64).einsum("i->", [DType::F32]), &args, &out(16_777_218.0));
    // 200*200 = 40000 does not fit i8 or i16, and is 64 modulo 256.
    let hundred = Grid::from_fn(&[4], |_| 100.0);
    let args = Args::new().tensor("a", &hundred.tensor(DType::I8)).tensor("b", &hundred.tensor(DType::I8));
    computes(einsum("i,i", [DType::I8, DType::I8]), &args, &out(64.0));
    computes(Generator::new().out(DType::I32).einsum("i,i", [DType::I8, DType::I8]), &args, &out(40000.0));
    let wide = Grid::from_fn(&[3], |_| 2_000_000_000.0);
    let args = Args::new().tensor("x", &wide.tensor(DType::I32));
    computes(Generator::new().out(DType::I64).reduce("sum", "n", &[], DType::I32), &args, &out(6e9));
    let truths = Grid::from_fn(&[5], |p| f64::from(u8::from(p[0] != 2)));
    let args = Args::new().tensor("x", &truths.tensor(DType::Bool));
    computes(reduce("sum", "n", &[], DType::Bool), &args, &out(4.0));
    computes(reduce("mean", "n", &[], DType::Bool), &args, &out(0.8));
    let args = Args::new().tensor("a", &truths.tensor(DType::Bool)).tensor("b", &truths.tensor(DType::Bool));
    computes(einsum("i,i", [DType::Bool; 2]), &args, &out(1.0));
    computes(Generator::new().acc(DType::I32).einsum("i,i", [DType::Bool; 2]), &args, &out(4.0));
}

#[test]
fn copies_and_maps_are_computed_as_by_plain_loops() {
    for (shape, axes) in [([3, 5, 4], [2, 0, 1]), ([70, 4, 4], [1, 2, 0]), ([0, 3, 4], [0, 2, 1])] {
        let rng = &mut Rng::new(1);
        let x = Grid::random(&shape, rng, -9, 9);
        let turned = Grid::from_fn(&axes.map(|a| shape[a]), |p| {
            let mut place = [0; 3];
            for (d, axis) in axes.iter().enumerate() {
                place[*axis] = p[d];
            }
            x.at(&place)
        });
        let given = axes.map(|a| a as i64);
        for dtype in [DType::F32, DType::I8, DType::F64] {
            let args = Args::new().tensor("x", &x.tensor(dtype));
            computes(copy("m, n, l", &given, dtype), &args, &[("out", turned.clone())]);
        }
        // The last axis has a length that is known, and the type of the result is another one.
        let args = Args::new().tensor("x", &x.tensor(DType::F32));
        let narrow = Generator::new().out(DType::F16).copy("m, n, 4", &given, DType::F32);
        computes(narrow, &args, &[("out", turned)]);
    }
    for shape in [[7, 130], [1, 1], [0, 4], [600, 3]] {
        let rng = &mut Rng::new(2);
        let (x, y) = (Grid::random(&shape, rng, -9, 9), Grid::random(&shape, rng, -9, 9));
        for dtype in [DType::F32, DType::F64, DType::I32] {
            let args = Args::new().tensor("x", &x.tensor(dtype)).tensor("y", &y.tensor(dtype));
            let expected = Grid::from_fn(&shape, |p| 2.0 * x.at(p) + y.at(p) - (p[0] * 3 + p[1]) as f64);
            computes(map("2*x + y - (3*i + j)", "m, n", dtype), &args, &[("out", expected)]);
            let less = Grid::from_fn(&shape, |p| f64::from(u8::from(x.at(p) < y.at(p))));
            let kernel = Generator::new().out(DType::Bool).map("x < y", "m, n", dtype);
            computes(kernel, &args, &[("out", less)]);
        }
        let args = Args::new()
            .tensor("x", &x.tensor(DType::F32))
            .tensor("y", &y.tensor(DType::I32))
            .scalar("a", 3.0);
        let expected = Grid::from_fn(&shape, |p| 3.0 * x.at(p) + y.at(p));
        let kernel = Generator::new().scalar("a").typed("y", DType::I32).map("a*x + y", "m, n", DType::F32);
        computes(kernel, &args, &[("out", expected)]);
    }
}

/// The reduction of a list, by loops; and the place of the element, of those that have one.
fn reduce_by_loops(op: &str, dtype: DType, list: &[f64]) -> (f64, f64) {
    let (lowest, highest) = match dtype {
        DType::I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
        DType::U8 => (0.0, 255.0),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let mut place = f64::from(i32::MAX);
    let value = match op {
        "sum" => list.iter().sum(),
        "product" => list.iter().product(),
        "mean" => list.iter().sum::<f64>() / list.len() as f64,
        "any" => f64::from(u8::from(list.iter().any(|v| *v != 0.0))),
        "all" => f64::from(u8::from(list.iter().all(|v| *v != 0.0))),
        _ => {
            let least = op.ends_with("min");
            let mut best = if least { highest } else { lowest };
            for (k, v) in list.iter().enumerate() {
                if place == f64::from(i32::MAX) || if least { *v < best } else { *v > best } {
                    (best, place) = (*v, k as f64);
                }
            }
            best
        }
    };
    (value, place)
}

#[test]
fn reductions_are_computed_as_by_plain_loops() {
    let cases: [([usize; 3], &[usize]); 6] = [
        ([3, 300, 2], &[1]),
        ([40, 3, 7], &[0]),
        ([2, 3, 700], &[2]),
        ([5, 0, 3], &[1]),
        ([0, 4, 3], &[2]),
        ([1, 1, 1], &[1]),
    ];
    let several: [([usize; 3], &[usize]); 3] =
        [([3, 9, 20], &[0, 2]), ([4, 3, 50], &[1, 2]), ([6, 7, 8], &[0, 1, 2])];
    for op in REDUCTIONS {
        let takes_one = op.starts_with("arg");
        for (shape, along) in cases.iter().chain(several.iter().filter(|_| !takes_one)) {
            for dtype in [DType::F32, DType::I32, DType::F16, DType::U8] {
                let rng = &mut Rng::new(3);
                // Products are exact: ones and zeros, and a few twos.
                let values = if op == "product" { (1, 1) } else { (0, 2) };
                let mut x = Grid::random(shape, rng, values.0, values.1);
                if op == "product" && !x.values.is_empty() {
                    let middle = x.values.len() / 2;
                    x.values[middle] = 2.0;
                }
                let kept: Vec<usize> = (0..3).filter(|d| !along.contains(d)).collect();
                let list = |point: &[usize]| -> Vec<f64> {
                    points(&along.iter().map(|d| shape[*d]).collect::<Vec<_>>())
                        .iter()
                        .map(|rest| {
                            let mut place = [0; 3];
                            kept.iter()
                                .zip(point)
                                .chain(along.iter().zip(rest))
                                .for_each(|(d, p)| place[*d] = *p);
                            x.at(&place)
                        })
                        .collect()
                };
                let result = |f: &dyn Fn(&[f64]) -> f64| {
                    let mut grid =
                        Grid::from_fn(&kept.iter().map(|d| shape[*d]).collect::<Vec<_>>(), |p| f(&list(p)));
                    if grid.shape.is_empty() {
                        grid.shape = vec![1];
                    }
                    grid
                };
                let axes: Vec<i64> = along.iter().map(|d| *d as i64).collect();
                let kernel = reduce(op, "m, n, l", &axes, dtype).unwrap_or_else(|d| panic!("{d}"));
                let found = run(&kernel, &Args::new().tensor("x", &x.tensor(dtype)));
                let values = result(&|list| reduce_by_loops(op, dtype, list).0);
                let what = || format!("{op} of {dtype} {shape:?} along {along:?}");
                if takes_one {
                    let indices = result(&|list| reduce_by_loops(op, dtype, list).1);
                    assert_eq!(found["values"], values, "{}", what());
                    assert_eq!(found["indices"], indices, "{}", what());
                } else if op == "mean" {
                    // A quotient is rounded in the type of the sum, and stored in f16 then.
                    let got = &found["out"];
                    assert_eq!(got.shape, values.shape, "{}", what());
                    for (g, e) in got.values.iter().zip(&values.values) {
                        let near = (g - e).abs() <= 1e-3 * e.abs() || (g.is_nan() && e.is_nan());
                        assert!(near, "{}: {g}, not {e}", what());
                    }
                } else {
                    // Sums of u8 wrap.
                    let wraps = dtype == DType::U8 && op == "sum";
                    let stored = values.values.iter().map(|v| if wraps { v % 256.0 } else { *v }).collect();
                    assert_eq!(found["out"], Grid { values: stored, ..values }, "{}", what());
                }
            }
        }
    }
}

#[test]
fn extrema_ignore_nan_and_take_the_first_of_equal_ones() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let x = Grid {
        shape: vec![3, 4],
        values: vec![nan, 2.0, 5.0, 5.0, nan, nan, nan, nan, -inf, nan, -inf, -inf],
    };
    let args = Args::new().tensor("x", &x.tensor(DType::F32));
    let row = |values: [f64; 3]| Grid { shape: vec![3], values: values.to_vec() };
    computes(reduce("max", "m, n", &[1], DType::F32), &args, &[("out", row([5.0, -inf, -inf]))]);
    computes(
        reduce("argmax", "m, n", &[1], DType::F32),
        &args,
        &[("values", row([5.0, -inf, -inf])), ("indices", row([2.0, f64::from(i32::MAX), 0.0]))],
    );
}

#[test]
fn scans_are_computed_as_by_plain_loops() {
    for op in SCANS {
        for (shape, along) in [([3, 300], 1), ([70, 5], 0), ([1, 1], 1), ([4, 0], 1), ([2, 33], 1)] {
            for (dtype, exclusive) in [
                (DType::F32, false),
                (DType::F32, true),
                (DType::I32, false),
                (DType::I32, true),
                (DType::F16, false),
            ] {
                let rng = &mut Rng::new(5);
                // A few factors of two, so that products stay exact.
                let mut x = match op {
                    "cumprod" => Grid::from_fn(&shape, |p| if p[along] % 64 == 3 { -2.0 } else { 1.0 }),
                    _ => Grid::random(&shape, rng, -4, 5),
                };
                if let Some(first) = x.values.first_mut() {
                    *first = 3.0;
                }
                let value = |p: &[usize]| {
                    let mut place = p.to_vec();
                    let upto = p[along] + usize::from(!exclusive);
                    let before = (0..upto).map(|k| {
                        place[along] = k;
                        x.at(&place)
                    });
                    let list: Vec<f64> = before.collect();
                    let by = match op {
                        "cumsum" => "sum",
                        "cumprod" => "product",
                        "cummin" => "min",
                        _ => "max",
                    };
                    reduce_by_loops(by, dtype, &list).0
                };
                let expected = Grid::from_fn(&shape, value);
                let mut generator = Generator::new();
                if exclusive {
                    generator = generator.exclusive();
                }
                let args = Args::new().tensor("x", &x.tensor(dtype));
                let kernel = generator.scan(op, "m, n", along as i64, dtype);
                computes(kernel, &args, &[("out", expected)]);
            }
        }
    }
    // One axis, over several blocks of threads.
    let x = Grid::random(&[1500], &mut Rng::new(9), -4, 4);
    let sums = Grid::from_fn(&[1500], |p| x.values[..=p[0]].iter().sum());
    let args = Args::new().tensor("x", &x.tensor(DType::I32));
    computes(scan("cumsum", "n", 0, DType::I32), &args, &[("out", sums)]);
}

/// The k largest by sorting, which the kernel does not do.
fn largest(list: &[f64], k: usize, none: f64) -> Vec<(f64, f64)> {
    let mut order: Vec<(f64, f64)> =
        list.iter().enumerate().map(|(at, v)| (*v, at as f64)).filter(|(v, _)| !v.is_nan()).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.total_cmp(&b.1)));
    order.resize(order.len().max(k), (none, f64::from(i32::MAX)));
    order.truncate(k);
    order
}

#[test]
fn the_largest_are_those_of_sorting() {
    for (shape, along, k) in
        [([3, 300], 1, 5), ([9, 40], 0, 9), ([2, 4], 1, 4), ([0, 7], 1, 2), ([1, 1], 0, 1)]
    {
        for dtype in [DType::F32, DType::I32, DType::F64, DType::U8, DType::F16] {
            // Most values occur several times.
            let x = Grid::random(&shape, &mut Rng::new(11), 0, 12);
            let mut result = shape;
            result[along] = k;
            let pick = |p: &[usize]| {
                let list: Vec<f64> = (0..shape[along])
                    .map(|at| x.at(&if along == 0 { [at, p[1]] } else { [p[0], at] }))
                    .collect();
                largest(&list, k, f64::NEG_INFINITY)[p[along]]
            };
            let args = Args::new().tensor("x", &x.tensor(dtype));
            let (values, indices) =
                (Grid::from_fn(&result, |p| pick(p).0), Grid::from_fn(&result, |p| pick(p).1));
            let kernel = top_k(k as i64, "m, n", along as i64, dtype);
            computes(kernel, &args, &[("values", values), ("indices", indices)]);
        }
    }
}

/// Infinities are numbers and NaNs are not; the ends of integers' ranges are elements like others.
#[test]
fn the_largest_include_the_ends_of_the_range() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let rows = [
        vec![inf, -inf, nan, inf, 1.0],
        vec![-inf, -inf, nan, -inf, -inf],
        vec![nan, nan, nan, nan, 3.0],
        vec![0.0, 1.0, nan, -1.0, nan],
    ];
    let x = Grid { shape: vec![4, 5], values: rows.concat() };
    let (values, indices): (Vec<f64>, Vec<f64>) = rows.iter().flat_map(|row| largest(row, 3, -inf)).unzip();
    for dtype in [DType::F32, DType::F64, DType::F16] {
        let args = Args::new().tensor("x", &x.tensor(dtype));
        let expected = |values: &[f64]| Grid { shape: vec![4, 3], values: values.to_vec() };
        computes(
            top_k(3, "m, n", -1, dtype),
            &args,
            &[("values", expected(&values)), ("indices", expected(&indices))],
        );
    }
    let ends = [i32::MIN, i32::MAX, i32::MIN, i32::MAX].map(f64::from);
    let args = Args::new().tensor("x", &Grid { shape: vec![4], values: ends.to_vec() }.tensor(DType::I32));
    let expected = |values: [f64; 4]| Grid { shape: vec![4], values: values.to_vec() };
    computes(
        top_k(4, "4", 0, DType::I32),
        &args,
        &[
            ("values", expected([ends[1], ends[1], ends[0], ends[0]])),
            ("indices", expected([1.0, 3.0, 0.0, 2.0])),
        ],
    );
}

/// Kernels that run on one thread would pass the tests above.
#[test]
fn generated_kernels_are_spread_over_threads_and_blocks() {
    let f32 = DType::F32;
    let kernels = [
        einsum("ik,kj->ij", [f32, f32]),
        einsum("bik,bjk->bij", [DType::BF16, DType::BF16]),
        einsum("ij->ji", [f32]),
        einsum("i,i", [f32, f32]),
        copy("m, n", &[1, 0], f32),
        map("2*x + y", "m, n", f32),
        reduce("sum", "m, n", &[1], f32),
        reduce("max", "m, n", &[0], f32),
        scan("cumsum", "m, n", 1, f32),
        top_k(4, "m, n", 1, f32),
    ];
    for kernel in kernels {
        let kernel = kernel.unwrap_or_else(|d| panic!("{d}"));
        let found = auto(&kernel, &Target::default());
        let tags: Vec<Tag> = found.kernel.tags.values().copied().collect();
        let spread = tags.iter().any(|t| t.is_in_block()) && tags.iter().any(|t| t.is_over_blocks());
        assert!(spread, "{kernel}{found}");
    }
}
