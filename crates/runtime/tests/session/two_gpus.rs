//! Two GPUs at once.

use libtest_mimic::{Completion, Failed};
use loopwright_kernel_ir::DType;
use loopwright_runtime::{Args, Device, DeviceTensor};

use super::{ADD, Outcome, elementwise, floats, ok};

/// Why these tests are skipped on a machine with one GPU.
const ALONE: &str = "there is only one GPU";

/// The second GPU, if there is one.
fn second() -> Result<Option<Device>, Failed> {
    match Device::cuda(1) {
        Ok(second) => Ok(Some(second)),
        Err(error) if error.code == "no-such-device" => Ok(None),
        Err(error) => Err(error.to_string().into()),
    }
}

/// Two GPUs at once, from one thread and from two; arrays of one are refused by the other.
pub(super) fn several_gpus_work_side_by_side(first: &Device) -> Result<Completion, Failed> {
    let Some(second) = second()? else { return Ok(Completion::ignored_with(ALONE)) };
    let devices = [first.clone(), second];
    let work = |device: &Device, d: f32| -> Outcome {
        let compiled = ok(device.compile(&elementwise(ADD)))?;
        let (x, y) =
            (ok(device.upload(&floats(&[1000], &[1.0; 1000])))?, ok(device.uninit(&[1000], DType::F32))?);
        let args = Args::new().device_tensor("x", &x).device_tensor("y", &y).scalar("d", d);
        ok(ok(compiled.bind(&args))?.launch())?;
        assert_eq!(ok(ok(y.download())?.to_vec::<f32>())?, [1.0 + d; 1000]);
        Ok(())
    };
    for (number, device) in devices.iter().enumerate() {
        work(device, number as f32)?;
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = devices
            .iter()
            .map(|device| scope.spawn(|| (0..20).try_for_each(|d| work(device, d as f32))))
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| Failed::from("a thread panicked"))?)
    })?;
    let [here, there] = [0, 1].map(|n: usize| devices[n].upload(&floats(&[4], &[0.0; 4])));
    let args = Args::new().device_tensor("x", &ok(here)?).device_tensor("y", &ok(there)?).scalar("d", 1.0);
    let refusal = ok(first.compile(&elementwise(ADD)))?.bind(&args).err();
    assert_eq!(refusal.map(|d| d.code), Some("other-device"));
    Ok(Completion::Completed)
}

/// Arrays copied from one GPU to another and back: on a stream of either, in order with its work,
/// and without a stream.
pub(super) fn arrays_are_copied_between_gpus(here: &Device) -> Result<Completion, Failed> {
    let Some(there) = second()? else { return Ok(Completion::ignored_with(ALONE)) };
    // Large enough to expose a copy that is not waited for.
    let n = 1usize << 24;
    let x: Vec<f32> = (0..n).map(|k| (k % 1000) as f32).collect();
    let expected = |d: f32| x.iter().map(|v| v + d).collect::<Vec<f32>>();
    let add = |device: &Device, x: &DeviceTensor, y: &DeviceTensor, d: f32| {
        let args = Args::new().device_tensor("x", x).device_tensor("y", y).scalar("d", d);
        ok(device.compile(&elementwise(ADD)))?.bind(&args).map_err(|d| Failed::from(d.to_string()))
    };
    let source = ok(here.upload(&floats(&[n], &x)))?;
    for own in [here, &there] {
        let stream = ok(own.stream())?;
        let (made, copy) = (ok(here.uninit(&[n], DType::F32))?, ok(there.uninit(&[n], DType::F32))?);
        let (next, back) = (ok(there.uninit(&[n], DType::F32))?, ok(here.uninit(&[n], DType::F32))?);
        let (first, second) = (add(here, &source, &made, 1.0)?, add(&there, &copy, &next, 2.0)?);
        for _ in 0..5 {
            ok(first.launch())?;
            ok(stream.wait(&ok(here.default_stream().record())?))?;
            ok(stream.copy(&made, &copy))?;
            ok(there.default_stream().wait(&ok(stream.record())?))?;
            ok(second.launch())?;
            ok(stream.wait(&ok(there.default_stream().record())?))?;
            ok(stream.copy(&next, &back))?;
            ok(here.default_stream().wait(&ok(stream.record())?))?;
        }
        drop((made, next));
        assert!(ok(ok(copy.download())?.to_vec::<f32>())? == expected(1.0));
        assert!(ok(ok(back.download())?.to_vec::<f32>())? == expected(3.0));
    }
    let copy = ok(source.to_device(&there))?;
    assert!(ok(ok(copy.download())?.to_vec::<f32>())? == x);
    ok(ok(there.upload(&floats(&[n], &expected(5.0))))?.copy_to(&source))?;
    assert!(ok(ok(source.download())?.to_vec::<f32>())? == expected(5.0));
    Ok(Completion::Completed)
}
