//! Several devices: each has its own arrays, and copies between them are work of both.

use loopwright_kernel_ir::DType;
use loopwright_runtime::{Args, Device};

use super::{Outcome, TWICE, bind_twice, check, kernel, ok, refused, stand_in::StandIn, upload, values};

pub(super) fn several_devices_are_kept_apart(_: &StandIn) -> Outcome {
    let devices = [ok(Device::cuda(0))?, ok(Device::cuda(1))?];
    let mut arrays = Vec::new();
    for (number, device) in devices.iter().enumerate() {
        check(device.limits().ordinal == number, "another device than asked for")?;
        let (x, y) = (upload(device, &[1.0 + number as f32])?, upload(device, &[0.0])?);
        arrays.push((bind_twice(device, &x, &y)?, x, y));
    }
    // In turn from one thread, whose current context changes with each.
    for _ in 0..2 {
        for (bound, _, _) in &arrays {
            ok(bound.launch())?;
        }
    }
    check(values(&arrays[0].2)? == [2.0] && values(&arrays[1].2)? == [4.0], "the results are mixed up")?;
    let args = Args::new().device_tensor("x", &arrays[0].1).device_tensor("y", &arrays[1].2);
    refused(
        ok(devices[0].compile(&kernel(TWICE)?))?.bind(&args),
        "error[other-device]: `y` is on stand-in 1 and the kernel runs on stand-in 0\n  help: upload it to the device of the kernel",
    )?;
    refused(
        Device::cuda(3),
        "error[no-such-device]: there is no device 3: this machine has 3, counted from 0\n  help: name one that there is, or `Device::best()`",
    )
}

/// Between devices with pools that reach each other, and with one that has none and reaches nobody.
pub(super) fn copies_between_devices_are_work_of_both(driver: &StandIn) -> Outcome {
    // Their pools live as long as they are open.
    let _open = [ok(Device::cuda(0))?, ok(Device::cuda(2))?];
    let accesses = driver.calls("cuMemPoolSetAccess");
    for (here, there) in [(0, 2), (0, 1), (1, 2), (2, 0)] {
        copies_between(driver, here, there)?;
    }
    check(
        driver.calls("cuMemPoolSetAccess") == accesses + 2,
        "two devices are let into each other's pools once",
    )
}

fn copies_between(driver: &StandIn, here: usize, there: usize) -> Outcome {
    let [here, there] = [ok(Device::cuda(here))?, ok(Device::cuda(there))?];
    let live = [&here, &there].map(|d| driver.live_bytes(d.limits().ordinal as i32));
    // In order with a stream of either device, and seen by who waits for all work of the other.
    for own in [&here, &there] {
        let stream = ok(own.stream())?;
        let (x, y) = (upload(&here, &[4.0; 9])?, ok(here.uninit(&[9], DType::F32))?);
        let target = upload(&there, &[0.0; 9])?;
        ok(bind_twice(&here, &x, &y)?.launch())?;
        ok(stream.wait(&ok(here.default_stream().record())?))?;
        let before = driver.calls("cuMemcpyPeerAsync");
        ok(stream.copy(&y, &target))?;
        check(driver.calls("cuMemcpyPeerAsync") == before + 1, "the copy is not one between devices")?;
        // A launch there that is told to wait sees it, and nobody waited on the host.
        let next = ok(there.uninit(&[9], DType::F32))?;
        ok(there.default_stream().wait(&ok(stream.record())?))?;
        ok(bind_twice(&there, &target, &next)?.launch())?;
        // Neither side is freed under the copy, whichever device's stream it is on.
        drop((x, y));
        check(values(&target)? == [8.0; 9], "a download does not wait for the copy")?;
        check(values(&next)? == [16.0; 9], "a launch behind the event does not see the copy")?;
        let (back, onward) = (upload(&here, &[0.0; 9])?, upload(&there, &[0.5; 9])?);
        ok(stream.copy(&next, &back))?;
        ok(stream.copy(&back, &onward))?;
        drop((target, next, onward));
        check(values(&back)? == [16.0; 9], "the copy back is wrong")?;
    }
    // Synchronously: after all work of both, whatever the stream.
    let (x, y) = (upload(&here, &[1.5; 3])?, ok(here.uninit(&[3], DType::F32))?);
    let (used, copy) = (upload(&there, &[7.0; 3])?, ok(there.uninit(&[3], DType::F32))?);
    let stream = ok(there.stream())?;
    ok(bind_twice(&here, &x, &y)?.launch())?;
    ok(stream.copy(&used, &copy))?;
    ok(y.copy_to(&used))?;
    check(values(&copy)? == [7.0; 3] && values(&used)? == [3.0; 3], "a synchronous copy is out of order")?;
    let emulated = ok(y.to_device(&Device::emulator()))?;
    ok(emulated.copy_to(&copy))?;
    check(values(&copy)? == [3.0; 3] && values(&ok(copy.to_device(&here))?)? == [3.0; 3], "by the host")?;
    drop((x, y, used, copy));
    ok(here.synchronize())?;
    ok(there.synchronize())?;
    let left = [&here, &there].map(|d| driver.live_bytes(d.limits().ordinal as i32));
    check(left == live, format!("memory stays behind: {left:?} bytes, before {live:?}"))
}

pub(super) fn what_cannot_be_copied_between_devices_is_refused(driver: &StandIn) -> Outcome {
    let [one, two, three] = [0, 1, 2].map(Device::cuda);
    let (one, two, three) = (ok(one)?, ok(two)?, ok(three)?);
    let (x, y) = (upload(&one, &[1.0; 4])?, upload(&two, &[2.0; 4])?);
    let neither = "error[other-device]: the stream is of neither array's device\n  help: copy on a stream of one of the two";
    refused(ok(three.stream())?.copy(&x, &y), neither)?;
    refused(ok(three.stream())?.copy(&x, &x), neither)?;
    refused(ok(Device::emulator().stream())?.copy(&x, &y), neither)?;
    let emulated = upload(&Device::emulator(), &[0.0; 4])?;
    refused(
        ok(one.stream())?.copy(&x, &emulated),
        "error[other-device]: no stream copies between a GPU and the emulator\n  help: copy with `DeviceTensor::copy_to`, by way of the host",
    )?;
    refused(
        one.record(|sequence| sequence.copy(&x, &y)),
        "error[other-device]: a sequence has no copies between devices\n  help: copy before or after it, with `Stream::copy` or `DeviceTensor::copy_to`",
    )?;
    let longer = upload(&two, &[0.0; 5])?;
    let shapes = "error[tensor-shape]: an array of f32[4] with strides [1] cannot be copied to one of f32[5] with strides [1]\n  help: copy between arrays of the same type, shape and strides";
    refused(ok(one.stream())?.copy(&x, &longer), shapes)?;
    refused(x.copy_to(&longer), shapes)?;
    let captured = ok(one.stream())?;
    driver.capture(captured.handle().unwrap_or(0), true);
    refused(
        captured.copy(&x, &y),
        "error[captured-stream]: a stream that is being captured cannot take a copy between devices\n  help: copy before or after what is captured, or on another stream",
    )?;
    driver.capture(captured.handle().unwrap_or(0), false);
    ok(captured.copy(&x, &y))?;
    check(values(&y)? == [1.0; 4], "the copy is not made once nothing is captured")
}
