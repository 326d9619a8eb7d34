//! The time from declaring a kernel to its CUDA C, for the cases of `examples/codegen_time.rs`.

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

criterion_group!(benches, codegen);
criterion_main!(benches);
