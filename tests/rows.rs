//! Operators whose states have rows of numbers and structs: attention that rescales a row of
//! outputs, by the emulator, the plain interpreter and the printed text, against loops that are
//! written here; the best of structs.

use std::collections::BTreeMap;

use loopwright::ir::{LoopKernel, Name};
use loopwright::lowering::{LowerOptions, lower, program::Program};
use loopwright::prelude::{Args, Device, Pipeline, Tensor};
use loopwright_testing::check;
use loopwright_text_check::Checker;

/// Each row of `out` is the mean of the rows of `v`, weighted by the exponentials of a row of `s`,
/// in one pass: a greater exponent rescales what has been summed up.
const ATTENTION: &str = "
kernel attention(s: f32[n, m], v: f32[m, 8], out: f32[n, 8], weight: f32[n], n: i32, m: i32)
assume 0 <= n and 1 <= m
reduction online(e, v[8]) {
    state top: f32 = -3.4028234e38, l: f32 = 0.0, o: f32[8] = 0.0
    lift top = e, l = 1.0, o[d] = v[d]
    combine top = max(a.top, b.top),
            l = a.l*exp(a.top - max(a.top, b.top)) + b.l*exp(b.top - max(a.top, b.top)),
            o[d] = a.o[d]*exp(a.top - max(a.top, b.top)) + b.o[d]*exp(b.top - max(a.top, b.top))
    result l, o[d]/l
    commutes
}
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j < m }
weight[i], out[i, :] = online(j, s[i, j], v[j, :]) {id=fold}
";

const THREADS: &str = "split_iname(i, 32)\ntag_inames(i_outer: block.x, i_inner: thread.x)";
const LANES: &str = "split_iname(j, 32)\ntag_inames(i: block.x, j_inner: lane)";
const BLOCK: &str = "split_iname(j, 128)\ntag_inames(i: block.x, j_inner: thread.x)";
const BLOCKS: &str = "split_iname(j, 64)\nsplit_iname(j_outer, 2)\n\
                      tag_inames(i: block.x, j_outer_inner: block.y, j_inner: thread.x)";

fn transformed(declared: &LoopKernel, steps: &str) -> LoopKernel {
    Pipeline::parse(steps).and_then(|p| p.apply(declared)).unwrap_or_else(|d| panic!("{steps}\n{d}"))
}

#[test]
fn a_row_of_outputs_is_rescaled() {
    let declared = LoopKernel::parse(ATTENTION).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(LoopKernel::parse(&declared.to_text()).unwrap(), declared);
    let (n, m) = (5usize, 300usize);
    // Exponents that grow along a row, so that what has been summed up is rescaled.
    let s: Vec<f32> = (0..n * m).map(|k| ((k % m) / 40) as f32 + (k * 7 % 11) as f32 * 0.125).collect();
    let v: Vec<f32> = (0..m * 8).map(|k| (k * 5 % 13) as f32 - 6.0).collect();
    for steps in [THREADS, LANES, BLOCK, BLOCKS] {
        let compiled = Device::emulator().compile(&transformed(&declared, steps)).unwrap();
        let args = Args::new()
            .tensor("s", &Tensor::from_vec(&[n, m], s.clone()).unwrap())
            .tensor("v", &Tensor::from_vec(&[m, 8], v.clone()).unwrap());
        let outputs = compiled.run(&args).unwrap_or_else(|d| panic!("{steps}\n{d}"));
        let out = outputs.get("out").unwrap().to_vec::<f32>().unwrap();
        for i in 0..n {
            let row = &s[i * m..(i + 1) * m];
            let top = row.iter().copied().fold(f32::MIN, f32::max);
            let weights: Vec<f64> = row.iter().map(|e| f64::from(e - top).exp()).collect();
            let total: f64 = weights.iter().sum();
            for d in 0..8 {
                let sum: f64 = weights.iter().enumerate().map(|(j, w)| w * f64::from(v[j * 8 + d])).sum();
                let (found, expected) = (f64::from(out[i * 8 + d]), sum / total);
                assert!((found - expected).abs() < 1e-5, "{steps}\n[{i}, {d}]: {found}, not {expected}");
            }
        }
    }
}

fn run_all(made: &[(LoopKernel, Program)], sizes: &[(&str, i64)]) {
    let sizes: BTreeMap<Name, i64> = sizes.iter().map(|(n, v)| (Name::new(n), *v)).collect();
    let programs: Vec<Program> = made.iter().map(|(_, program)| program.clone()).collect();
    let texts = Checker::new().expect("a C++ compiler").compile_all(&programs);
    for ((declared, program), compiled) in made.iter().zip(texts) {
        let compiled = compiled.unwrap_or_else(|d| panic!("{declared}{d}"));
        assert_eq!(check::is_compared(declared, &sizes), Ok(true));
        check::run(declared, program, &sizes).unwrap_or_else(|f| panic!("{declared}{}", f.text));
        check::run_compiled(&compiled, declared, &sizes).unwrap_or_else(|f| panic!("{declared}{}", f.text));
    }
}

/// Structs given, chosen and taken as a whole, beside a row whose elements go round.
const BEST: &str = "
kernel best(p: part[m, n], q: part[m], r: i32[m, 3], n: i32, m: i32)
struct part { x: i32, at: i32 }
assume 0 <= n and 0 <= m
reduction most(p: part) {
    state v: part = part(lowest(), highest())
    lift v = p
    combine v = if(a.v.x > b.v.x or (a.v.x == b.v.x and a.v.at < b.v.at), a.v, b.v)
    result v
    commutes
}
reduction turns(p: part, w[3]) {
    state t: i32[3] = 0, u: part = 0
    lift t[d] = w[(d + 1) % 3], u = part(p.at, p.x)
    combine t[d] = a.t[d] + b.t[d], u.x = a.u.x + b.u.x, u.at = a.u.at + b.u.at
    result t[d] + d*u.x
    commutes
}
domain { [s, i] : 0 <= s < m and 0 <= i < n }
q[s] = most(i, part(p[s, i].x % 5, i)) {id=most}
r[s, :] = turns(i, p[s, i], cast(i32, p[s, i].x)*w[i % 4, :]) {id=turns}
constant w: i32[4, 3] = [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]
";

#[test]
fn structs_are_chosen_as_a_whole() {
    let declared = LoopKernel::parse(BEST).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(LoopKernel::parse(&declared.to_text()).unwrap(), declared);
    let attention = LoopKernel::parse(ATTENTION).unwrap();
    let both = "split_iname(i, 32)\nsplit_iname(i_2, 8)\n\
                tag_inames(s: block.x, i_inner: lane, i_2_inner: thread.x)";
    let mut made = Vec::new();
    for (kernel, steps) in [(&declared, ""), (&declared, both)] {
        let program = lower(&transformed(kernel, steps), LowerOptions::default());
        made.push((kernel.clone(), program.unwrap_or_else(|d| panic!("{steps}\n{d}"))));
    }
    run_all(&made, &[("n", 70), ("m", 3)]);
    let mut made = Vec::new();
    for steps in [THREADS, LANES] {
        let program = lower(&transformed(&attention, steps), LowerOptions::default());
        made.push((attention.clone(), program.unwrap_or_else(|d| panic!("{steps}\n{d}"))));
    }
    run_all(&made, &[("n", 5), ("m", 70)]);
}

/// What `most` chooses, by a loop that is written here.
#[test]
fn the_best_element_keeps_its_fields() {
    let declared = LoopKernel::parse(BEST).unwrap_or_else(|d| panic!("{d}"));
    let x: Vec<i32> = (0..2 * 37).map(|k| k * 7 % 23).collect();
    let bytes: Vec<u8> =
        x.iter().flat_map(|x| [x.to_le_bytes(), (1000 - x).to_le_bytes()].concat()).collect();
    let steps = "split_iname(i, 32)\ntag_inames(s: block.x, i_inner: lane)";
    let compiled = Device::emulator().compile(&transformed(&declared, steps)).unwrap();
    let outputs =
        compiled.run(&Args::new().tensor("p", &Tensor::from_vec(&[2, 37, 8], bytes).unwrap())).unwrap();
    let q = |field: &str| outputs.get(field).unwrap().to_vec::<i32>().unwrap();
    let r = q("r");
    for (s, row) in x.chunks_exact(37).enumerate() {
        let (at, best) = row.iter().map(|x| x % 5).enumerate().rev().max_by_key(|(_, x)| *x).unwrap();
        assert_eq!((q("q_x")[s], q("q_at")[s]), (best, at as i32));
        for d in 0..3 {
            let turned: i32 =
                row.iter().enumerate().map(|(i, x)| x * (i % 4 * 3 + (d + 1) % 3 + 1) as i32).sum();
            let others: i32 = row.iter().map(|x| 1000 - x).sum();
            assert_eq!(r[s * 3 + d], turned + d as i32 * others);
        }
    }
}
