//! Several devices: each has its own arrays, and copies between them count as work of both.

use std::ffi::{c_uint, c_void};

use libtest_mimic::Failed;
use loopwright_kernel_ir::{DType, LoopKernel};
use loopwright_runtime::{Args, Device};
use loopwright_transforms::Pipeline;

use super::{Outcome, StandIn, TWICE, bind_twice, check, kernel, ok, refused, upload, values};

pub(super) fn several_devices_are_kept_apart(_: &StandIn) -> Outcome {
    let devices = [ok(Device::cuda(0))?, ok(Device::cuda(1))?];
    let mut arrays = Vec::new();
    for (number, device) in devices.iter().enumerate() {
        check(device.limits().ordinal == number, "another device than asked for")?;
        let (x, y) = (upload(device, &[1.0 + number as f32])?, upload(device, &[0.0])?);
        arrays.push((bind_twice(device, &x, &y)?, x, y));
    }
    // Alternating from one thread, whose current context changes each time.
    for _ in 0..2 {
        for (bound, _, _) in &arrays {
            ok(bound.launch())?;
        }
    }
    check(values(&arrays[0].2)? == [2.0] && values(&arrays[1].2)? == [4.0], "the results are mixed up")?;
    let args = Args::new().device_tensor("x", &arrays[0].1).device_tensor("y", &arrays[1].2);
    refused(
        ok(devices[0].compile(&kernel(TWICE)?))?.bind(&args),
        "error[other-device]: `y` is on stand-in 1 and the kernel runs on stand-in 0\n  help: \
         upload it to the device of the kernel",
    )?;
    refused(
        Device::cuda(3),
        "error[no-such-device]: there is no device 3: this machine has 3, numbered from 0\n  \
         help: use the number of an existing device, or `Device::best()`",
    )
}

/// What a kernel declares itself is not asked for once more: the third device has 64 KiB for a
/// block.
pub(super) fn shared_memory_is_counted_once(driver: &StandIn) -> Outcome {
    unsafe extern "C" fn nothing(_: *const c_uint, _: *const c_uint, _: c_uint, _: *const *const c_void) {}
    let [large, small] = [ok(Device::cuda(0))?, ok(Device::cuda(2))?];
    let bind = |device: &Device, name: &str, count: usize| {
        let text = format!(
            "kernel {name}(x: f32[{count}], y: f32[{count}])\n\
             domain {{ [b, i, j] : 0 <= b < 1 and 0 <= i < {count} and 0 <= j < {count} }}\n\
             temp t: f32[{count}] shared\n\
             t[i] = x[i] {{inames=b:i}}\n\
             y[j] = t[{count} - 1 - j] {{inames=b:j}}\n"
        );
        driver.kernel(name, &[8, 8], nothing);
        // What fits is declared in the text, the rest asked for at the launch.
        let bytes = 4 * count as i32;
        driver.declares_shared(name, if bytes <= 48 << 10 { bytes } else { 0 });
        let array = upload(device, &vec![0.0; count])?;
        let args =
            Args::new().device_tensor("x", &array).device_tensor("y", &upload(device, &vec![0.0; count])?);
        let steps = "split_iname(i, 256)\nsplit_iname(j, 256)\n\
                     tag_inames(b: block.x, i_inner: thread.x, j_inner: thread.x)";
        let kernel = ok(ok(Pipeline::parse(steps))?.apply(&ok(LoopKernel::parse(&text))?))?;
        Ok::<_, Failed>(ok(device.compile(&kernel))?.bind(&args))
    };
    for (name, count) in [("tile_of_24", 6 << 10), ("tile_of_40", 10 << 10), ("tile_of_48", 12 << 10)] {
        ok(bind(&large, name, count)?)?;
        ok(bind(&small, name, count)?)?;
    }
    ok(bind(&large, "tile_of_80", 20 << 10)?)?;
    match bind(&small, "tile_of_80", 20 << 10)? {
        Ok(_) => Err("80 KiB are bound where there are 64".into()),
        Err(refusal) => check(refusal.to_string().contains("shared memory"), refusal.to_string()),
    }
}

/// In order with a stream of either device, or after all work of both.
pub(super) fn arrays_are_copied_to_any_device(_: &StandIn) -> Outcome {
    for (here, there) in [(0, 2), (1, 2)] {
        let [here, there] = [ok(Device::cuda(here))?, ok(Device::cuda(there))?];
        let (x, y) = (upload(&here, &[1.5; 3])?, ok(here.uninit(&[3], DType::F32))?);
        let (used, copy) = (upload(&there, &[7.0; 3])?, ok(there.uninit(&[3], DType::F32))?);
        let stream = ok(there.stream())?;
        ok(bind_twice(&here, &x, &y)?.launch())?;
        ok(stream.copy(&used, &copy))?;
        ok(y.copy_to(&used))?;
        check(
            values(&copy)? == [7.0; 3] && values(&used)? == [3.0; 3],
            "a synchronous copy is out of order",
        )?;
        ok(bind_twice(&here, &y, &x)?.launch())?;
        ok(stream.wait(&ok(here.default_stream().record())?))?;
        ok(stream.copy(&x, &copy))?;
        // Its handles are dropped before the copy is done.
        drop(x);
        check(values(&copy)? == [6.0; 3], "the copy is not in the order of its stream")?;
        let emulated = ok(y.to_device(&Device::emulator()))?;
        ok(emulated.copy_to(&copy))?;
        check(values(&copy)? == [3.0; 3] && values(&ok(copy.to_device(&here))?)? == [3.0; 3], "by the host")?;
    }
    Ok(())
}

pub(super) fn what_cannot_be_copied_between_devices_is_refused(driver: &StandIn) -> Outcome {
    let [one, two, three] = [0, 1, 2].map(Device::cuda);
    let (one, two, three) = (ok(one)?, ok(two)?, ok(three)?);
    let (x, y) = (upload(&one, &[1.0; 4])?, upload(&two, &[2.0; 4])?);
    let neither = "error[other-device]: the stream belongs to neither array's device\n  help: \
                   copy on a stream of one of the two";
    refused(ok(three.stream())?.copy(&x, &y), neither)?;
    refused(ok(three.stream())?.copy(&x, &x), neither)?;
    refused(ok(Device::emulator().stream())?.copy(&x, &y), neither)?;
    let emulated = upload(&Device::emulator(), &[0.0; 4])?;
    refused(
        ok(one.stream())?.copy(&x, &emulated),
        "error[other-device]: streams cannot copy between a GPU and the emulator\n  help: copy \
         with `DeviceTensor::copy_to`, through the host",
    )?;
    refused(
        one.record(|sequence| sequence.copy(&x, &y)),
        "error[other-device]: a sequence cannot copy between devices\n  help: copy before or \
         after it, with `Stream::copy` or `DeviceTensor::copy_to`",
    )?;
    let longer = upload(&two, &[0.0; 5])?;
    let shapes = "error[tensor-shape]: an array of f32[4] with strides [1] cannot be copied to \
                  one of f32[5] with strides [1]\n  help: copy between arrays of the same type, \
                  shape and strides";
    refused(ok(one.stream())?.copy(&x, &longer), shapes)?;
    refused(x.copy_to(&longer), shapes)?;
    let captured = ok(one.stream())?;
    driver.capture(captured.handle().unwrap_or(0), true);
    refused(
        captured.copy(&x, &y),
        "error[captured-stream]: copies between devices are not possible on a stream that is \
         being captured\n  help: copy before or after the capture, or on a different stream",
    )?;
    driver.capture(captured.handle().unwrap_or(0), false);
    ok(captured.copy(&x, &y))?;
    check(values(&y)? == [1.0; 4], "the copy is not made once nothing is captured")
}
