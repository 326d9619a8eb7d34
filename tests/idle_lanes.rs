//! What lanes that have nothing to do cost.

use loopwright::{
    prelude::*,
    tuner::{Cost, Machine, estimate},
};

/// The cost of 16384 polynomials of degree 2048, each by a thread of a block of so many.
fn polynomials(threads: u32) -> Cost {
    let kernel = LoopKernel::parse(
        "kernel horner(x: f32[n], y: f32[n], n: i32)\n\
         assume 0 <= n\n\
         domain { [i] : 0 <= i < n }\n\
         domain { [k] : 0 <= k < 2048 }\n\
         temp p: f32 private\n\
         p = 1.0 {id=one, inames=i}\n\
         p = p * x[i] + 3.0 {id=more, inames=i:k}\n\
         y[i] = p {id=put, inames=i}\n",
    );
    let kernel = kernel.unwrap_or_else(|d| panic!("{d}"));
    let steps = format!("split_iname(i, {threads})\ntag_inames(i_outer: block.x, i_inner: thread.x)");
    let kernel = Pipeline::parse(&steps).and_then(|p| p.apply(&kernel)).unwrap_or_else(|d| panic!("{d}"));
    let x = Tensor::zeros(&[16384], DType::F32).expect("a tensor");
    let args = Args::new().tensor("x", &x).scalar("n", 16384);
    estimate(&kernel, &args, &Machine::h200()).unwrap_or_else(|d| panic!("{d}"))
}

/// A warp with eight threads executes an instruction for eight results, and takes as long for it as
/// one with all of its lanes.
#[test]
fn idle_lanes_take_time_for_arithmetic() {
    let (whole, quarter) = (polynomials(32), polynomials(8));
    assert_eq!(whole.operations, quarter.operations);
    let count = 16384.0 * 2048.0;
    assert_eq!((whole.arithmetic, quarter.arithmetic), (count / 32.0, count / 8.0));
    // As if only lanes with work counted.
    let mut before = Cost { arithmetic: 0.0, ..quarter };
    before.estimate(&Machine::h200(), Device::emulator().limits());
    assert!(quarter.estimate_ms > before.estimate_ms, "{} {}", quarter.estimate_ms, before.estimate_ms);
}
