//! The library used from outside.

use external_crate::{KERNEL, pipeline, sweep};
use loopwright::prelude::*;

#[test]
fn the_cuda_c_of_a_composed_pipeline() {
    let kernel = LoopKernel::parse(KERNEL).unwrap();
    let kernel = pipeline().unwrap().bind([("threads", 32)]).unwrap().apply(&kernel).unwrap();
    let program = lower(&kernel, LowerOptions::default()).unwrap();
    insta::assert_snapshot!(cuda_source(&program).unwrap().text);
}

#[test]
fn it_runs() {
    let kernel = LoopKernel::parse(KERNEL).unwrap();
    let kernel = pipeline().unwrap().bind([("threads", 64)]).unwrap().apply(&kernel).unwrap();
    let x = Tensor::from_vec(&[2, 3], vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let outputs = Device::best().compile(&kernel).unwrap().run(&Args::new().tensor("x", &x)).unwrap();
    assert_eq!(outputs.get("out").unwrap().to_vec::<f32>().unwrap(), [14.0, 77.0]);
}

#[test]
fn a_sweep_has_results_and_refusals() {
    let kernel = LoopKernel::parse(KERNEL).unwrap();
    let x = Tensor::from_fn(&[4, 1000], |k| (k % 3) as f32).unwrap();
    let candidates = sweep(&kernel, &x, &[32, 256, 4096]).unwrap();
    // x occurs twice in the expression and is read once, in whole sectors; each sum is written
    // separately, one sector each.
    assert_eq!(*candidates[0].1.as_ref().unwrap(), 4 * 4000 + 4 * 32);
    assert!(candidates[1].1.is_ok());
    assert!(candidates[2].1.is_err(), "a block of 4096 threads cannot be launched");
}

#[test]
fn arrays_of_ndarray_go_in_and_come_out() {
    let kernel = LoopKernel::parse(KERNEL).unwrap();
    let x = ndarray::array![[1.0f32, 4.0], [2.0, 5.0], [3.0, 6.0]];
    let x = Tensor::try_from(&x.t()).unwrap();
    let outputs = Device::best().compile(&kernel).unwrap().run(&Args::new().tensor("x", &x)).unwrap();
    let out = ndarray::Array1::<f32>::try_from(outputs.get("out").unwrap()).unwrap();
    assert_eq!(out, ndarray::array![14.0, 77.0]);
}
