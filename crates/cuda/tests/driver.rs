//! The host's calls to the driver, observed by a stand-in for the driver: a C compiler is needed,
//! but no GPU.

#[path = "driver/memory.rs"]
mod memory;
#[path = "driver/several_devices.rs"]
mod several_devices;

use std::ffi::{c_uint, c_void};
use std::process::ExitCode;

use libtest_mimic::Failed;
use loopwright_cuda::Arch;
use loopwright_cuda::driver::{Arguments, Buffer, Device, LaunchShape, Stream};
use loopwright_cuda::nvrtc::Compiled;
use loopwright_driver_stand_in::{Outcome, StandIn, check, ok, run};

/// A launch of `axpy`, `y[i] = a * x[i] + y[i]`, with the parameters `x`, `y`, `a`, `n`.
unsafe extern "C" fn axpy(_: *const c_uint, _: *const c_uint, _: c_uint, params: *const *const c_void) {
    // SAFETY: the stand-in passes as many values as were registered, with these sizes; the pointers
    // are to host memory.
    unsafe {
        let x = (*params).cast::<*const f32>().read();
        let y = (*params.add(1)).cast::<*mut f32>().read();
        let a = (*params.add(2)).cast::<f32>().read();
        let n = (*params.add(3)).cast::<i32>().read();
        for i in 0..n as usize {
            *y.add(i) += a * *x.add(i);
        }
    }
}

/// Enqueues `y[i] = a * x[i] + y[i]` over all elements on a stream.
fn launch_axpy(stream: &Stream, x: &Buffer, y: &Buffer, a: f32) -> Outcome {
    // The stand-in does not read the binary: an ELF header without sections is enough.
    let mut elf = b"\x7fELF\x02".to_vec();
    elf.resize(64, 0);
    let binary = Compiled::from_parts(Arch::SM_90A, elf, None, String::new());
    let axpy = ok(ok(stream.device().load(&binary))?.function("axpy"))?;
    let n = x.bytes() / 4;
    let shape = LaunchShape { grid: [n.div_ceil(32) as u64, 1, 1], block: [32, 1, 1], dynamic_shared: 0 };
    let arguments = Arguments::new().buffer(x).buffer(y).scalar(a).scalar(n as i32);
    // SAFETY: both buffers have `n` values, and the parameters are of these types.
    ok(unsafe { axpy.launch(stream, &shape, &arguments) })
}

/// The values of a buffer once all work of its device is done.
fn values(buffer: &Buffer) -> Result<Vec<f32>, Failed> {
    ok(buffer.device().synchronize())?;
    ok(ok(buffer.device().stream())?.download::<f32>(buffer))
}

/// A device, and a stream of it that outlives the test's other streams.
fn open(ordinal: usize) -> Result<(Device, Stream), Failed> {
    let device = ok(Device::open(ordinal))?;
    let stream = ok(device.stream())?;
    Ok((device, stream))
}

fn main() -> ExitCode {
    let prepare = |driver: &StandIn| {
        driver.kernel("axpy", &[8, 8, 4, 4], axpy);
        Ok(())
    };
    run(
        [
            ("nothing_is_freed_under_pending_work", memory::nothing_is_freed_under_pending_work),
            (
                "memory_goes_back_to_its_pool_without_waiting",
                memory::memory_goes_back_to_its_pool_without_waiting,
            ),
            ("copies_own_the_memory_of_the_host", memory::copies_own_the_memory_of_the_host),
            (
                "copies_between_devices_are_work_of_both",
                several_devices::copies_between_devices_are_work_of_both,
            ),
            (
                "what_cannot_be_copied_between_devices_is_refused",
                several_devices::what_cannot_be_copied_between_devices_is_refused,
            ),
        ],
        prepare,
    )
}
