//! The calls that bound kernels make to the driver, observed by a stand-in for the driver: a C
//! compiler and NVRTC are needed, but no GPU.

#[path = "driver/borrowing.rs"]
mod borrowing;
#[path = "driver/counting.rs"]
mod counting;
#[path = "driver/launching.rs"]
mod launching;
#[path = "driver/order.rs"]
mod order;
#[path = "driver/several_devices.rs"]
mod several_devices;
#[path = "driver/transfers.rs"]
mod transfers;

use std::ffi::{c_uint, c_void};
use std::process::ExitCode;

use libtest_mimic::Failed;
use loopwright_driver_stand_in::{Outcome, StandIn, check, ok, run};
use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_runtime::{Args, Bound, Device, DeviceTensor, Tensor, nvrtc};
use loopwright_transforms::Pipeline;

/// Checks that the refusal has exactly this text.
fn refused<T>(result: Result<T, Diagnostic>, text: &str) -> Outcome {
    match result {
        Ok(_) => Err(format!("not refused: {text}").into()),
        Err(d) if d.to_string() == text => Ok(()),
        Err(d) => Err(format!("expected\n{text}\nbut it is\n{d}").into()),
    }
}

/// `y[i] = a * x[i] + y[i]`.
const AXPY: &str = "
kernel axpy(x: f32[n], y: f32[n], a: f32, n: i32)
domain { [i] : 0 <= i < n }
y[i] = a * x[i] + y[i]
";

/// A launch of [`AXPY`] with the parameters of the printed kernel: `x`, `y`, `a`, `n`.
unsafe extern "C" fn axpy(
    grid: *const c_uint,
    block: *const c_uint,
    _: c_uint,
    params: *const *const c_void,
) {
    // SAFETY: the stand-in passes as many values as were registered, with these sizes; the pointers
    // are to host memory.
    unsafe {
        let x = (*params).cast::<*const f32>().read();
        let y = (*params.add(1)).cast::<*mut f32>().read();
        let a = (*params.add(2)).cast::<f32>().read();
        let n = (*params.add(3)).cast::<i32>().read();
        let threads = (*grid * *block) as usize;
        for i in 0..threads.min(n as usize) {
            *y.add(i) += a * *x.add(i);
        }
    }
}

const TWICE: &str = "
kernel twice(x: f32[n], y: f32[n], n: i32)
domain { [i] : 0 <= i < n }
y[i] = 2.0 * x[i]
";

/// A launch of [`TWICE`]: `x`, `y`, `n`.
unsafe extern "C" fn twice(_: *const c_uint, _: *const c_uint, _: c_uint, params: *const *const c_void) {
    // SAFETY: as above.
    unsafe {
        let x = (*params).cast::<*const f32>().read();
        let y = (*params.add(1)).cast::<*mut f32>().read();
        let n = (*params.add(2)).cast::<i32>().read();
        for i in 0..n as usize {
            *y.add(i) = 2.0 * *x.add(i);
        }
    }
}

fn kernel(text: &str) -> Result<LoopKernel, Failed> {
    let pipeline =
        ok(Pipeline::parse("split_iname(i, 32)\ntag_inames(i_outer: block.x, i_inner: thread.x)"))?;
    ok(pipeline.apply(&ok(LoopKernel::parse(text))?))
}

fn floats(values: &[f32]) -> Result<Tensor, Failed> {
    ok(Tensor::from_slice(&[values.len()], values))
}

fn upload(device: &Device, values: &[f32]) -> Result<DeviceTensor, Failed> {
    ok(device.upload(&floats(values)?))
}

fn values(array: &DeviceTensor) -> Result<Vec<f32>, Failed> {
    ok(ok(array.download())?.to_vec::<f32>())
}

fn bind_axpy(device: &Device, x: &DeviceTensor, y: &DeviceTensor, a: f32) -> Result<Bound, Failed> {
    let args = Args::new().device_tensor("x", x).device_tensor("y", y).scalar("a", a);
    ok(ok(device.compile(&kernel(AXPY)?))?.bind(&args))
}

fn bind_twice(device: &Device, x: &DeviceTensor, y: &DeviceTensor) -> Result<Bound, Failed> {
    let args = Args::new().device_tensor("x", x).device_tensor("y", y);
    ok(ok(device.compile(&kernel(TWICE)?))?.bind(&args))
}

fn main() -> ExitCode {
    let prepare = |driver: &StandIn| {
        driver.kernel("axpy", &[8, 8, 4, 4], axpy);
        driver.kernel("twice", &[8, 8, 4], twice);
        nvrtc::library().map(|_| ()).map_err(|_| "there is no NVRTC")
    };
    run(
        [
            (
                "launching_allocates_nothing_and_asks_nothing",
                launching::launching_allocates_nothing_and_asks_nothing,
            ),
            (
                "launches_behind_others_of_their_program_may_start_early",
                launching::launches_behind_others_of_their_program_may_start_early,
            ),
            ("launching_a_graph_allocates_nothing", launching::launching_a_graph_allocates_nothing),
            ("arguments_stay_where_they_are", launching::arguments_stay_where_they_are),
            ("streams_wait_for_events", order::streams_wait_for_events),
            (
                "transfers_run_beside_the_host_in_the_order_of_their_stream",
                transfers::transfers_run_beside_the_host_in_the_order_of_their_stream,
            ),
            ("graphs_keep_the_order_of_conflicts", order::graphs_keep_the_order_of_conflicts),
            ("several_devices_are_kept_apart", several_devices::several_devices_are_kept_apart),
            ("shared_memory_is_counted_once", several_devices::shared_memory_is_counted_once),
            ("arrays_are_copied_to_any_device", several_devices::arrays_are_copied_to_any_device),
            (
                "what_cannot_be_copied_between_devices_is_refused",
                several_devices::what_cannot_be_copied_between_devices_is_refused,
            ),
            ("borrowed_memory_is_used_in_its_place", borrowing::borrowed_memory_is_used_in_its_place),
            (
                "memory_borrowed_in_the_order_of_a_stream_goes_back_at_once",
                borrowing::memory_borrowed_in_the_order_of_a_stream_goes_back_at_once,
            ),
            ("what_cannot_be_borrowed_is_refused", borrowing::what_cannot_be_borrowed_is_refused),
            ("overlapping_pieces_are_refused", borrowing::overlapping_pieces_are_refused),
            ("shared_arrays_stay_until_both_are_done", borrowing::shared_arrays_stay_until_both_are_done),
        ],
        prepare,
    )
}
