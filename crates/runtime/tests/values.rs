//! Operators and types, each reduced or computed sequentially, by lanes, and by threads: on the
//! emulator with all checks, and on a GPU if there is one, compared with values computed here and
//! with the interpreter of the declared kernel. Each text is compiled by NVRTC if available; a test
//! reports what it skipped.

use loopwright_kernel_ir::{DType, LoopKernel, Number};
use loopwright_runtime::{Arch, Args, CompileOptions, Device, Tensor, compile_for, nvrtc};
use loopwright_transforms::Pipeline;

const SEQUENTIAL: &str = "split_iname(s, 32)\ntag_inames(s_outer: block.x, s_inner: thread.x)";
const LANES: &str = "split_iname(s, 4)\n\
                     split_iname(i, 32)\n\
                     tag_inames(s_outer: block.x, s_inner: warp, i_inner: lane)";
const THREADS: &str = "split_iname(i, 128)\ntag_inames(s: block.x, i_inner: thread.x)";
const WAYS: [&str; 3] = [SEQUENTIAL, LANES, THREADS];

fn devices() -> Vec<Device> {
    let gpu = nvrtc::library().ok().and_then(|_| Device::cuda(0).ok());
    if gpu.is_none() {
        eprintln!("left out: there is no GPU");
    }
    [Device::emulator()].into_iter().chain(gpu).collect()
}

fn transformed(text: &str, pipeline: &str) -> LoopKernel {
    let kernel = LoopKernel::parse(text).unwrap_or_else(|d| panic!("{d}\nin\n{text}"));
    Pipeline::parse(pipeline)
        .and_then(|p| p.apply(&kernel))
        .unwrap_or_else(|d| panic!("{d}\n{pipeline}\n{text}"))
}

/// Checks that NVRTC accepts the text without any message.
fn compiles(kernel: &LoopKernel) {
    if let Err(missing) = nvrtc::library() {
        return eprintln!("left out: {missing}");
    }
    for arch in [Arch::SM_80, Arch::SM_90A, Arch::SM_100A] {
        let binary = compile_for(kernel, arch, &Default::default(), &CompileOptions::default());
        let binary = binary.unwrap_or_else(|d| panic!("{arch}: {d}\n{kernel}"));
        assert_eq!(binary.compiled.messages, [], "{arch}\n{kernel}");
    }
}

fn close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (k, (x, y)) in found.iter().zip(expected).enumerate() {
        assert!(x == y || (x - y).abs() <= 2e-5 * y.abs().max(1.0), "{what}: element {k} is {x}, not {y}");
    }
}

/// Compiles, runs, and compares the outputs with the expected values and with the interpreter.
fn holds(text: &str, pipeline: &str, args: &dyn Fn() -> Args, expected: &[(&str, Vec<f64>)]) {
    let kernel = transformed(text, pipeline);
    compiles(&kernel);
    for device in devices() {
        let compiled = device.compile(&kernel).unwrap_or_else(|d| panic!("{d}\n{text}"));
        let outputs = compiled.run(&args()).unwrap_or_else(|d| panic!("{d}\n{pipeline}\n{text}"));
        let reference = compiled.reference(&args()).unwrap_or_else(|d| panic!("{d}\n{text}"));
        for (name, expected) in expected {
            let what = format!("{name} on {} by {pipeline}", device.name());
            close(&outputs.get(name).unwrap().to_f64(), expected, &what);
            close(&reference[*name].to_f64(), expected, &format!("reference: {what}"));
        }
    }
}

/// Rows of 0, 1, 5, 128 and 300 numbers, all different.
fn rows(length: usize) -> Vec<f32> {
    (0..3 * length).map(|k| ((k * 37 + k / 7) % 101) as f32 / 8.0 - 3.0).collect()
}

const LENGTHS: [usize; 5] = [0, 1, 5, 128, 300];

/// Count, mean and sum of squared differences, combined by the formula of Chan, Golub and LeVeque.
const MOMENTS: &str = "
kernel moments_of_rows(x: f32[n, m], mean: f32[n], variance: f32[n], n: i32, m: i32)
assume 1 <= n and 0 <= m
reduction moments(x) {
    state count: f32 = 0.0, mean: f32 = 0.0, squares: f32 = 0.0
    lift count = 1.0, mean = x, squares = 0.0
    combine count = a.count + b.count, mean = if(b.count > 0.0, a.mean + (b.mean - a.mean) * (b.count / (a.count + b.count)), a.mean), squares = if(b.count > 0.0, a.squares + b.squares + (b.mean - a.mean) * (b.mean - a.mean) * (a.count * b.count / (a.count + b.count)), a.squares)
    result mean, if(count > 0.0, squares / count, 0.0)
    commutes
}
domain { [s] : 0 <= s < n }
domain { [i] : 0 <= i < m }
mean[s], variance[s] = moments(i, x[s, i])
";

#[test]
fn mean_and_variance_are_a_users_operator() {
    for length in LENGTHS {
        let x = rows(length);
        let row = |s: usize| x[s * length..(s + 1) * length].iter().map(|v| f64::from(*v));
        let count = (length as f64).max(1.0);
        let mean: Vec<f64> = (0..3).map(|s| row(s).sum::<f64>() / count).collect();
        let variance = (0..3).map(|s| row(s).map(|v| (v - mean[s]).powi(2)).sum::<f64>() / count).collect();
        let expected = [("mean", mean.clone()), ("variance", variance)];
        let args = || Args::new().tensor("x", &Tensor::from_slice(&[3, length], &x).unwrap());
        WAYS.iter().for_each(|way| holds(MOMENTS, way, &args, &expected));
    }
}

/// The greatest element, and the sum of the exponentials of the differences from it, in one pass.
const SOFTMAX: &str = "
kernel softmax_of_rows(x: f32[n, m], top: f32[n], total: f32[n], n: i32, m: i32)
assume 1 <= n and 0 <= m
reduction online(x) {
    state top: f32 = -inf, total: f32 = 0.0
    lift top = x, total = 1.0
    combine top = max((a.top), b.top), total = if(a.top > -inf, a.total * exp(a.top - max((a.top), b.top)), 0.0) + if(b.top > -inf, b.total * exp(b.top - max((a.top), b.top)), 0.0)
    result top, total
    commutes
}
domain { [s] : 0 <= s < n }
domain { [i] : 0 <= i < m }
top[s], total[s] = online(i, x[s, i])
";

#[test]
fn online_softmax_is_a_users_operator() {
    for length in LENGTHS {
        let x = rows(length);
        let row = |s: usize| x[s * length..(s + 1) * length].iter().map(|v| f64::from(*v));
        let top: Vec<f64> = (0..3).map(|s| row(s).fold(f64::NEG_INFINITY, f64::max)).collect();
        let total = (0..3).map(|s| row(s).map(|v| (v - top[s]).exp()).sum()).collect();
        let expected = [("top", top.clone()), ("total", total)];
        let args = || Args::new().tensor("x", &Tensor::from_slice(&[3, length], &x).unwrap());
        WAYS.iter().for_each(|way| holds(SOFTMAX, way, &args, &expected));
    }
}

/// The sums of numbers and of their squares, which wrap between threads as in a loop.
#[test]
fn integers_of_several_states_wrap_between_threads() {
    let text = "
kernel sums_of_rows(x: i32[n, m], y: i32[n], n: i32, m: i32)
assume 1 <= n and 0 <= m
reduction sums(v) {
    state once: i32 = 0, squares: i32 = 0
    lift once = v, squares = v*v
    combine once = a.once + b.once, squares = a.squares + b.squares
    result once ^ squares
    commutes
}
domain { [s] : 0 <= s < n }
domain { [i] : 0 <= i < m }
y[s] = sums(i, x[s, i])
";
    for length in LENGTHS {
        let x: Vec<i32> = (0..3 * length as i32).map(|k| (k + 1).wrapping_mul(1_103_515_245)).collect();
        let sums = |row: &[i32]| {
            let sum = |of: &dyn Fn(i32) -> i32| row.iter().fold(0i32, |sum, v| sum.wrapping_add(of(*v)));
            sum(&|v| v) ^ sum(&|v| v.wrapping_mul(v))
        };
        let expected = (0..3).map(|s| f64::from(sums(&x[s * length..(s + 1) * length]))).collect();
        let expected = [("y", expected)];
        let args = || Args::new().tensor("x", &Tensor::from_slice(&[3, length], &x).unwrap());
        let lanes_of_a_thread = "split_iname(i, 3)\ntag_inames(s: block.x, i_inner: ilp)";
        for way in WAYS.iter().chain([&lanes_of_a_thread]) {
            holds(text, way, &args, &expected);
        }
    }
}

/// Among equal elements, the smallest index. NaN is never selected; if there is nothing but NaN, or
/// no element, the result is the neutral value and the greatest index.
#[test]
fn the_first_of_equal_elements_is_chosen_and_nan_never() {
    let length = 200;
    let nan = f32::NAN;
    let mut x = vec![1.0f32; 5 * length];
    let mut set = |row: usize, at: &[usize], value: f32| at.iter().for_each(|k| x[row * length + k] = value);
    set(0, &[37, 69, 131, 199], 7.0);
    set(0, &[0, 1, 198], nan);
    set(1, &[196, 64], -2.0);
    set(1, &(0..64).collect::<Vec<_>>(), nan);
    set(2, &(0..length).collect::<Vec<_>>(), nan);
    set(3, &(0..length).collect::<Vec<_>>(), f32::NEG_INFINITY);
    set(4, &(0..length).collect::<Vec<_>>(), f32::INFINITY);
    let none = f64::from(i32::MAX);
    let inf = f64::INFINITY;
    for (operator, values, places) in [
        ("argmax", [7.0, 1.0, -inf, -inf, inf], [37.0, 65.0, none, 0.0, 0.0]),
        ("argmin", [1.0, -2.0, inf, -inf, inf], [2.0, 64.0, none, 0.0, 0.0]),
    ] {
        let text = format!(
            "kernel k(x: f32[n, m], v: f32[n], p: i32[n], n: i32, m: i32)\n\
             assume 1 <= n and 1 <= m\n\
             domain {{ [s] : 0 <= s < n }}\n\
             domain {{ [i] : 0 <= i < m }}\n\
             v[s], p[s] = {operator}(i, x[s, i], i)\n"
        );
        let args = || Args::new().tensor("x", &Tensor::from_slice(&[5, length], &x).unwrap());
        let expected = [("v", values.to_vec()), ("p", places.to_vec())];
        WAYS.iter().for_each(|way| holds(&text, way, &args, &expected));
    }
}

/// Each type read, computed with, written, and reduced by threads.
#[test]
fn every_type_is_read_computed_with_and_reduced() {
    assert_eq!(DType::ALL.len(), 15);
    for dtype in DType::ALL {
        let (operator, value) = match dtype {
            DType::Bool => ("any", "x[s, i] and not (i % 2 == 0)"),
            _ => ("sum", "if(i % 2 == 0, x[s, i], x[s, i] + x[s, i])"),
        };
        let text = format!(
            "kernel k(x: {dtype}[n, m], y: {dtype}[n, m], out: {dtype}[n], n: i32, m: i32)\n\
             assume 1 <= n and 1 <= m\n\
             domain {{ [s] : 0 <= s < n }}\n\
             domain {{ [i] : 0 <= i < m }}\n\
             domain {{ [j] : 0 <= j < m }}\n\
             out[s] = {operator}(i, {value})\n\
             y[s, j] = {}\n",
            value.replace('i', "j").replace("jf(", "if(")
        );
        // Sums stay below 127, so they are exact in every type but those of eight bits, which round
        // what f32 has.
        let length = 40;
        let numbers: Vec<i64> =
            (0..3 * length as i64).map(|k| i64::from(k % 7 == 3) + i64::from(k % 11 == 5)).collect();
        let element = |k: usize| match dtype {
            DType::Bool => (numbers[k] != 0 && k % length % 2 == 1) as i64 as f64,
            _ => (numbers[k] * (1 + (k % length % 2) as i64)) as f64,
        };
        let y: Vec<f64> = (0..3 * length).map(element).collect();
        let out: Vec<f64> = y
            .chunks(length)
            .map(|row| {
                if dtype == DType::Bool { row.iter().copied().fold(0.0, f64::max) } else { row.iter().sum() }
            })
            .map(|sum: f64| if dtype.is_float() { Number::F64(sum).cast(dtype).as_f64() } else { sum })
            .collect();
        let x = Tensor::from_slice(&[3, length], &numbers).unwrap().cast(dtype);
        let args = || Args::new().tensor("x", &x);
        let pipeline = "split_iname(i, 64)\n\
                        split_iname(j, 64)\n\
                        tag_inames(s: block.x, i_inner: thread.x, j_inner: thread.x)";
        holds(&text, pipeline, &args, &[("out", out), ("y", y)]);
    }
}

/// A user device function: CUDA C for the GPU, a closure for the emulator and the interpreter.
#[test]
fn a_device_function_is_cuda_c_and_a_closure() {
    let text = "
kernel clip_sum(x: f32[n, m], out: f32[n], low: f32, n: i32, m: i32)
assume 1 <= n and 0 <= m
function clipped(f32, f32) -> f32 {
    __device__ float clipped(float x, float low) {
        return x < low ? low : x;
    }
}
domain { [s] : 0 <= s < n }
domain { [i] : 0 <= i < m }
out[s] = sum(i, clipped(x[s, i], low))
";
    let x = rows(300);
    let expected: Vec<f64> = x.chunks(300).map(|r| r.iter().map(|v| f64::from(v.max(1.5))).sum()).collect();
    for way in WAYS {
        let kernel = transformed(text, way);
        compiles(&kernel);
        for device in devices() {
            let args =
                Args::new().tensor("x", &Tensor::from_slice(&[3, 300], &x).unwrap()).scalar("low", 1.5);
            // Its CUDA C, on the emulator as compiled for the host.
            let compiled = device.compile(&kernel).unwrap_or_else(|d| panic!("{d}"));
            let outputs = compiled.run(&args).unwrap_or_else(|d| panic!("{d}"));
            close(&outputs.get("out").unwrap().to_f64(), &expected, device.name());
            close(&compiled.reference(&args).unwrap()["out"].to_f64(), &expected, "reference");
            // A closure has precedence.
            let known = device.with_function("clipped", |args: &[Number]| {
                Number::F32(args[0].as_f64().max(args[1].as_f64()) as f32)
            });
            let compiled = known.compile(&kernel).unwrap_or_else(|d| panic!("{d}"));
            let outputs = compiled.run(&args).unwrap_or_else(|d| panic!("{d}"));
            close(&outputs.get("out").unwrap().to_f64(), &expected, known.name());
            if !known.is_gpu() {
                close(&compiled.reference(&args).unwrap()["out"].to_f64(), &expected, "reference");
            }
        }
    }
}
