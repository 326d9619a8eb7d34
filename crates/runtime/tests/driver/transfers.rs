//! Copies that run while the host continues.

use loopwright_kernel_ir::DType;
use loopwright_runtime::{Args, Device};

use super::{Outcome, StandIn, TWICE, check, floats, kernel, ok, refused};

pub(super) fn transfers_run_beside_the_host_in_the_order_of_their_stream(driver: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let stream = ok(device.stream())?;
    let (x, y) = (ok(device.uninit(&[4], DType::F32))?, ok(device.uninit(&[4], DType::F32))?);
    let args = Args::new().device_tensor("x", &x).device_tensor("y", &y);
    let bound = ok(ok(device.compile(&kernel(TWICE)?))?.bind_on(&stream, &args))?;
    let waits = driver.calls("cuStreamSynchronize");
    let pinned = ok(device.pin(&floats(&[1.0, 2.0, 3.0, 4.0])?))?;
    let up = ok(stream.upload_from(pinned, &x))?;
    ok(bound.launch())?;
    let down = ok(stream.download_to(&y, ok(device.pinned(&[4], DType::F32))?))?;
    check(driver.calls("cuStreamSynchronize") == waits, "an asynchronous copy waits for its stream")?;
    check(!ok(up.is_done())? && !ok(down.is_done())?, "the copies are done already")?;
    // Dropped while in flight.
    drop(ok(stream.download_to(&x, ok(device.pinned(&[4], DType::F32))?))?);
    let result = ok(ok(down.wait())?.to_tensor())?;
    check(ok(result.to_vec::<f32>())? == [2.0, 4.0, 6.0, 8.0], format!("{result:?}"))?;
    check(ok(up.is_done())?, "the upload came before")?;
    drop(up);
    refused(
        stream.upload_from(ok(device.pinned(&[2, 2], DType::F32))?, &x),
        "error[tensor-shape]: an array of f32[2, 2] was given for one of f32[4]\n  help: pass an \
         array of the same type and shape",
    )?;
    refused(
        stream.upload_from(ok(Device::emulator().pinned(&[4], DType::F32))?, &x),
        "error[other-device]: the host memory and the stream belong to different devices\n  help: \
         create both on the device of the array",
    )
}
