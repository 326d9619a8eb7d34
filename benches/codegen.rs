//! The time from declaring a kernel to its CUDA C, for the cases of `examples/codegen_time.rs`, and
//! for some of them the time of each stage: declaring, transforming, lowering, printing, and
//! writing the kernel as text.

#[path = "../examples/common/speed_cases.rs"]
mod speed_cases;

use std::{error::Error, hint::black_box};

use criterion::{Criterion, criterion_group, criterion_main};
use loopwright_cuda_target::cuda_source;
use loopwright_kernel_ir::LoopKernel;
use loopwright_lowering::{LowerOptions, lower};
use loopwright_transforms::Pipeline;

fn generate(kernel: &str, pipeline: &str) -> Result<String, Box<dyn Error>> {
    let kernel = Pipeline::parse(pipeline)?.apply(&LoopKernel::parse(kernel)?)?;
    Ok(cuda_source(&lower(&kernel, LowerOptions::default())?)?.text)
}

fn codegen(c: &mut Criterion) {
    let mut group = c.benchmark_group("codegen");
    group.sample_size(20);
    for case in speed_cases::all() {
        if let Err(refusal) = generate(&case.kernel, &case.pipeline) {
            panic!("{}: {refusal}", case.name);
        }
        group.bench_function(&case.name, |b| {
            b.iter(|| generate(black_box(&case.kernel), black_box(&case.pipeline)));
        });
    }
    group.finish();
}

fn stages(c: &mut Criterion) {
    let watched = ["axpy", "matmul", "scalars_200", "loops_200", "shared_200"];
    for case in speed_cases::all().into_iter().filter(|c| watched.contains(&c.name.as_str())) {
        let refuse = |refusal: &dyn std::fmt::Display| -> ! { panic!("{}: {refusal}", case.name) };
        let declared = LoopKernel::parse(&case.kernel).unwrap_or_else(|d| refuse(&d));
        let pipeline = Pipeline::parse(&case.pipeline).unwrap_or_else(|d| refuse(&d));
        let kernel = pipeline.apply(&declared).unwrap_or_else(|d| refuse(&d));
        let program = lower(&kernel, LowerOptions::default()).unwrap_or_else(|d| refuse(&d));
        let mut group = c.benchmark_group(format!("stages/{}", case.name));
        group.sample_size(20);
        group.bench_function("declare", |b| b.iter(|| LoopKernel::parse(black_box(&case.kernel))));
        group.bench_function("transform", |b| b.iter(|| black_box(&pipeline).apply(black_box(&declared))));
        group.bench_function("lower", |b| b.iter(|| lower(black_box(&kernel), LowerOptions::default())));
        group.bench_function("print", |b| b.iter(|| cuda_source(black_box(&program))));
        group.bench_function("kernel_text", |b| b.iter(|| black_box(&kernel).to_text()));
        group.finish();
    }
}

criterion_group!(benches, codegen, stages);
criterion_main!(benches);
