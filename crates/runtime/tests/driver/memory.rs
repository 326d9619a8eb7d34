//! Memory lives as long as work on it, and then goes back to its pool; that of the host is owned
//! while it is copied.

use loopwright_kernel_ir::DType;
use loopwright_runtime::{Args, Device};

use super::{AXPY, Outcome, TWICE, check, floats, kernel, ok, refused, stand_in::StandIn, upload};

/// On a device with a pool and on one without.
pub(super) fn nothing_is_freed_under_pending_work(driver: &StandIn) -> Outcome {
    let pools = driver.calls("cuMemFreeAsync");
    freeing_comes_late(driver, 0)?;
    check(driver.calls("cuMemFreeAsync") > pools, "the first device has no pool")?;
    let pools = driver.calls("cuMemFreeAsync");
    freeing_comes_late(driver, 1)?;
    check(driver.calls("cuMemFreeAsync") == pools, "the second device has a pool")
}

fn freeing_comes_late(driver: &StandIn, number: i32) -> Outcome {
    let device = ok(Device::cuda(number as usize))?;
    let live = driver.live_bytes(number);
    for _ in 0..3 {
        let (x, y) = (upload(&device, &[1.0; 100])?, upload(&device, &[0.0; 100])?);
        let streams = [ok(device.stream())?, ok(device.stream())?];
        let compiled = ok(device.compile(&kernel(AXPY)?))?;
        for stream in &streams {
            let args = Args::new().device_tensor("x", &x).device_tensor("y", &y).scalar("a", 1.0);
            ok(ok(compiled.bind_on(stream, &args))?.launch())?;
        }
        // All handles to the memory go while both launches are still to be run.
        drop((x, y));
        drop(streams);
    }
    let left = driver.live_bytes(number) - live;
    check(left == 0, format!("{left} bytes stay behind"))
}

pub(super) fn memory_goes_back_to_its_pool_without_waiting(driver: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let used = ok(device.pool_use())?.used;
    let compiled = ok(device.compile(&kernel(AXPY)?))?;
    let x = upload(&device, &[1.0; 100])?;
    let last = ok(device.stream())?;
    let waits = driver.calls("cuCtxSynchronize") + driver.calls("cuStreamSynchronize");
    let frees = driver.calls("cuMemFreeAsync");
    let ask = |name| driver.calls(name);
    let allocated = (ask("cuMemAlloc_v2"), ask("cuMemAllocFromPoolAsync"));
    for round in 0..3 {
        let y = ok(device.uninit(&[100], DType::F32))?;
        let stream = ok(device.stream())?;
        let args = Args::new().device_tensor("x", &x).device_tensor("y", &y).scalar("a", 1.0);
        ok(ok(compiled.bind_on(&stream, &args))?.launch())?;
        if round == 1 {
            // Another stream has to do with it as well, and stays.
            ok(ok(compiled.bind_on(&last, &args))?.launch())?;
        }
        // First the only handle to the stream with the work, or first the memory.
        if round == 2 { drop((y, stream)) } else { drop((stream, y)) }
    }
    check(
        driver.calls("cuCtxSynchronize") + driver.calls("cuStreamSynchronize") == waits + 3,
        "somebody waits, but for the getting of each array",
    )?;
    check(driver.calls("cuMemFreeAsync") == frees + 3, "not every array goes back to the pool")?;
    check(
        (ask("cuMemAlloc_v2"), ask("cuMemAllocFromPoolAsync")) == (allocated.0, allocated.1 + 3),
        "arrays are not of the pool",
    )?;
    drop(x);
    check(ok(device.pool_use())?.used == used, "something stays in use")?;
    ok(device.trim(0))?;
    // One device is one, however often it is opened: its streams and arrays know of each other.
    let opened = driver.calls("cuDevicePrimaryCtxRetain");
    let again = ok(Device::cuda(0))?;
    check(driver.calls("cuDevicePrimaryCtxRetain") == opened, "an open device is opened again")?;
    check(ok(again.pool_use())? == ok(device.pool_use())?, "another pool")
}

pub(super) fn copies_own_the_memory_of_the_host(driver: &StandIn) -> Outcome {
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
    // Dropped while under way.
    drop(ok(stream.download_to(&x, ok(device.pinned(&[4], DType::F32))?))?);
    let result = ok(ok(down.wait())?.to_tensor())?;
    check(ok(result.to_vec::<f32>())? == [2.0, 4.0, 6.0, 8.0], format!("{result:?}"))?;
    check(ok(up.is_done())?, "the upload came before")?;
    drop(up);
    refused(
        stream.upload_from(ok(device.pinned(&[2, 2], DType::F32))?, &x),
        "error[tensor-shape]: an array of f32[2, 2] was given for one of f32[4]\n  help: give an array of the same type and shape",
    )?;
    refused(
        stream.upload_from(ok(Device::emulator().pinned(&[4], DType::F32))?, &x),
        "error[other-device]: the memory of the host and the stream are of different devices\n  help: make both on the device of the array",
    )
}
