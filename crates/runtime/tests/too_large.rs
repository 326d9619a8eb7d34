//! What a kernel is said to have put where the device has no room for it.

use loopwright_kernel_ir::LoopKernel;
use loopwright_runtime::{Device, check_limits_of};
use loopwright_transforms::Pipeline;

const TRANSPOSE: &str = "\
kernel k(x: f32[64, 64], y: f32[64, 64])
domain { [i, j] : 0 <= i <= 63 and 0 <= j <= 63 }
y[i, j] = x[j, i]
";

/// Blocks of 32 threads along x and of 8 along y; they read their tiles from shared memory.
const STEPS: &str = "\
split_iname(i, 8)
split_iname(j, 32)
tag_inames(i_outer: block.y, j_outer: block.x, i_inner: thread.y, j_inner: thread.x)
add_prefetch(x, [j_inner, i_inner])
";

/// The refusal on a device whose blocks have at most so many threads along the axes and in all,
/// and so much shared memory.
fn told(max_block: [u32; 3], threads: u32, shared: u32) -> String {
    let kernel = LoopKernel::parse(TRANSPOSE).unwrap_or_else(|d| panic!("{d}"));
    let pipeline = Pipeline::parse(STEPS).unwrap();
    let device = Device::emulator();
    let compiled = device.compile_pipeline(&kernel, &pipeline, &Default::default()).unwrap();
    let stages = compiled.stages().unwrap();
    let mut limits = device.limits().clone();
    limits.max_block = max_block;
    limits.max_threads_per_block = threads;
    limits.shared_per_block_optin = shared;
    limits.shared_per_block = shared;
    check_limits_of(compiled.kernel(), &stages.program, &limits).unwrap_err().to_string()
}

/// Of the two axes the iname is named that is along the one which is too short.
#[test]
fn the_iname_along_the_axis_is_named() {
    let text = told([16, 1024, 64], 1024, 1 << 15);
    assert!(text.contains("`j_inner: thread.x` has 32 values"), "{text}");
    let text = told([1024, 4, 64], 1024, 1 << 15);
    assert!(text.contains("`i_inner: thread.y` has 8 values"), "{text}");
}

/// The tile has 8 rows of 32 numbers. Where it just fits, it is not to blame.
#[test]
fn an_array_that_just_fits_is_not_named() {
    let text = told([1024, 1024, 64], 1024, 1023);
    assert!(text.contains("`x_tile` has 1024 bytes"), "{text}");
    let text = told([1024, 1024, 64], 128, 1024);
    assert!(!text.contains("bytes") && !text.contains("values"), "{text}");
}
