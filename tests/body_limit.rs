//! The limit of a search for the length of a body, on the examples.

use loopwright::prelude::*;
use loopwright::tuner::{Outcome, Space, Tuner};

/// The longest bodies of the product's space were all compiled and timed: 128 elements per thread,
/// 32 steps of `k` unrolled. Twice as many steps are refused.
#[test]
fn the_recorded_sweep_is_let_through() {
    let kernel = LoopKernel::parse(include_str!("../examples/kernels/matmul.lw")).unwrap();
    let pipeline = Pipeline::parse(include_str!("../examples/tuning/matmul.pipe")).unwrap();
    let fixed = [("bm", 128), ("bn", 128), ("hm", 32), ("hn", 64)];
    let pipeline = pipeline.bind(fixed).unwrap();
    let space = Space::new().parameter("bk", [32, 64]);
    let device = Device::emulator();
    let [a, b] = [[128, 64], [64, 128]].map(|shape| Tensor::random(&shape, DType::F32, 3).unwrap());
    let args = Args::new().tensor("a", &a).tensor("b", &b);
    let found = Tuner::new(&device, &kernel, &pipeline, &space, &args).run().unwrap();
    let refusals: Vec<Option<&String>> = found
        .candidates
        .iter()
        .map(|(_, outcome)| match outcome {
            Some(Outcome::Refused { code, message, .. }) if code == "body-too-long" => Some(message),
            _ => None,
        })
        .collect();
    let [None, Some(refused)] = refusals[..] else { panic!("{}", found.table()) };
    let count: usize =
        refused.split(" statements").next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert!(count > 64 * 128 && refused.contains("more than 6000"), "{refused}");
}
