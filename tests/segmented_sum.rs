//! The segmented sum from its declaration to checked results, on the emulator and on a GPU if there
//! is one.

use std::path::Path;

use loopwright::prelude::*;

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn kernel(name: &str) -> LoopKernel {
    LoopKernel::parse(&text(&format!("kernels/{name}.lw"))).unwrap_or_else(|e| panic!("{e}"))
}

fn pipelines(name: &str) -> Vec<(String, Pipeline)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pipelines").join(name);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    files
        .into_iter()
        .map(|file| {
            let name = file.file_stem().unwrap().to_string_lossy().into_owned();
            (name, Pipeline::parse(&std::fs::read_to_string(&file).unwrap()).unwrap())
        })
        .collect()
}

fn devices() -> Vec<Device> {
    let mut devices = vec![Device::emulator()];
    match Device::cuda(0) {
        Ok(device) => devices.push(device),
        Err(reason) => eprintln!("SKIPPED on a GPU: {}", reason.message),
    }
    devices
}

/// The rounding error of a sum of values of magnitude at most 1: for each of the `len` additions,
/// at most half an ulp of the partial sum.
fn bound(len: usize, scale: f64) -> f64 {
    (len.max(1) as f64) * f64::from(f32::EPSILON) * scale.max(1.0)
}

#[test]
fn one_to_twelve_in_three_segments() {
    let x = Tensor::from_vec(&[3, 4], (1..=12).map(|v| v as f32).collect()).unwrap();
    let declared = kernel("segmented_sum");
    for device in devices() {
        for (name, pipeline) in pipelines("segmented_sum") {
            let kernel = pipeline.apply(&declared).unwrap_or_else(|e| panic!("{name}: {e}"));
            let outputs = device
                .compile(&kernel)
                .and_then(|c| c.run(&Args::new().tensor("x", &x)))
                .unwrap_or_else(|e| panic!("{name} on {}: {e}", device.name()));
            assert_eq!(outputs.get("out").unwrap().to_vec::<f32>().unwrap(), [10.0, 26.0, 42.0], "{name}");
            assert_eq!(outputs.report.is_some(), !device.is_gpu());
        }
    }
}

#[test]
fn one_compiled_kernel_serves_every_length() {
    for device in devices() {
        for (name, pipeline) in pipelines("segmented_sum") {
            let kernel = pipeline.apply(&kernel("segmented_sum")).unwrap();
            let compiled = device.compile(&kernel).unwrap();
            for (nseg, len) in [(3, 0), (5, 1), (4, 17), (2, 256), (3, 1000), (1, 100_003), (0, 4)] {
                let x = Tensor::random(&[nseg, len], DType::F32, 7).unwrap();
                // Pipelines with assumptions about the length refuse other lengths when the
                // arguments are bound.
                let fits = kernel.assumptions.iter().all(|c| {
                    c.holds(&|n| match &**n {
                        "len" => i64::try_from(len).ok(),
                        "nseg" => i64::try_from(nseg).ok(),
                        _ => None,
                    }) == Some(true)
                });
                if !fits {
                    let refused = compiled.run(&Args::new().tensor("x", &x)).err();
                    assert_eq!(refused.map(|d| d.code), Some("assumption"), "{name} {nseg} x {len}");
                    continue;
                }
                let outputs = compiled
                    .run(&Args::new().tensor("x", &x))
                    .unwrap_or_else(|e| panic!("{name} {nseg} x {len} on {}: {e}", device.name()));
                let sums = outputs.get("out").unwrap().to_f64();
                let values = x.to_f64();
                assert_eq!(sums.len(), nseg);
                for (s, sum) in sums.iter().enumerate() {
                    let segment = &values[s * len..(s + 1) * len];
                    let exact: f64 = segment.iter().sum();
                    let scale: f64 = segment.iter().map(|v| v.abs()).sum();
                    assert!(
                        (sum - exact).abs() <= bound(len, scale),
                        "{name} {nseg} x {len}: segment {s} is {sum}, exactly {exact}"
                    );
                }
            }
            assert_eq!(compiled.forms(), 1, "{name}: one binary serves all lengths");
        }
    }
}

#[test]
fn segments_of_unequal_length() {
    let lengths = [3usize, 0, 40, 1, 0, 300, 7];
    let mut offsets = vec![0i32];
    offsets.extend(lengths.iter().scan(0, |sum, l| {
        *sum += *l as i32;
        Some(*sum)
    }));
    let n = lengths.iter().sum::<usize>();
    let x = Tensor::random(&[n], DType::F32, 3).unwrap();
    let values = x.to_f64();
    let offsets_tensor = Tensor::from_vec(&[offsets.len()], offsets.clone()).unwrap();
    for device in devices() {
        for (name, pipeline) in pipelines("ragged_sum") {
            let kernel = pipeline.apply(&kernel("ragged_sum")).unwrap_or_else(|e| panic!("{name}: {e}"));
            let args = Args::new().tensor("x", &x).tensor("offsets", &offsets_tensor).check_facts();
            let outputs = device
                .compile(&kernel)
                .and_then(|c| c.run(&args))
                .unwrap_or_else(|e| panic!("{name} on {}: {e}", device.name()));
            for (s, sum) in outputs.get("out").unwrap().to_f64().iter().enumerate() {
                let exact: f64 = values[offsets[s] as usize..offsets[s + 1] as usize].iter().sum();
                // Multiples of 2^-7 below 1: these sums are exact in f32.
                assert_eq!(*sum, exact, "{name}: segment {s}");
            }
        }
    }
}
