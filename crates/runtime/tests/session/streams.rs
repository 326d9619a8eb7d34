//! The order of work: data that stay on the device, streams, recorded sequences, copies overlapping
//! with the host, events.

use loopwright_kernel_ir::DType;
use loopwright_runtime::{Args, Device, Tensor};

use super::{ADD, OPEN, Outcome, elementwise, floats, kernel, ok, refused, x};

pub(super) fn data_may_stay_on_the_device(device: &Device) -> Outcome {
    let compiled = ok(device.compile(&elementwise(OPEN)))?;
    let a = ok(device.upload(&floats(&[3], &[1.0, 2.0, 3.0])))?;
    let b = ok(device.uninit(&[3], DType::F32))?;
    let there = ok(compiled.bind(&Args::new().device_tensor("x", &a).device_tensor("y", &b)))?;
    let back = ok(compiled.bind(&Args::new().device_tensor("x", &b).device_tensor("y", &a)))?;
    for _ in 0..3 {
        ok(there.launch())?;
        ok(back.launch())?;
    }
    assert_eq!(ok(a.download())?.to_f64(), [64.0, 128.0, 192.0]);
    assert_eq!(ok(there.read("y"))?.to_f64(), [32.0, 64.0, 96.0]);
    ok(there.write("x", &floats(&[3], &[5.0, 5.0, 5.0])))?;
    ok(there.launch())?;
    assert_eq!(ok(b.download())?.to_f64(), [10.0, 10.0, 10.0]);
    assert_eq!(ok(there.time(4))?.len(), 4);
    refused(
        compiled.bind(&Args::new().device_tensor("x", &a).device_tensor("y", &a)),
        "error[aliased-arguments]: `x` and `y` are the same memory, and the kernel writes `y`\n  \
         help: use separate memory for each written array",
    )
}

/// Whichever of two arguments with the same memory is written, and in whichever order they are
/// declared.
pub(super) fn an_array_that_is_written_is_given_once(device: &Device) -> Outcome {
    let text = "
kernel mean(y: f32[n], a: f32[n], b: f32[n], z: f32[n], n: i32)
domain { [i] : 0 <= i < n }
y[i] = 0.5 * (a[i] + b[i])
z[i] = a[i] - b[i]
";
    let compiled = ok(device.compile(&elementwise(text)))?;
    let new = || device.upload(&floats(&[3], &[1.0, 2.0, 3.0]));
    let arrays = [ok(new())?, ok(new())?, ok(new())?, ok(new())?];
    let bind = |[y, a, b, z]: [usize; 4]| {
        let names = [("y", y), ("a", a), ("b", b), ("z", z)];
        compiled.bind(&names.iter().fold(Args::new(), |args, (n, k)| args.device_tensor(*n, &arrays[*k])))
    };
    ok(bind([0, 1, 2, 3]))?;
    // An array that is only read may be given twice.
    ok(ok(bind([0, 1, 1, 3]))?.launch())?;
    assert_eq!(ok(arrays[0].download())?.to_f64(), [1.0, 2.0, 3.0]);
    assert_eq!(ok(arrays[3].download())?.to_f64(), [0.0, 0.0, 0.0]);
    for (given, first, second, written) in [
        ([0, 0, 1, 2], "y", "a", "y"),
        ([0, 1, 0, 2], "y", "b", "y"),
        ([0, 1, 2, 1], "a", "z", "z"),
        ([0, 1, 2, 2], "b", "z", "z"),
        ([0, 1, 2, 0], "y", "z", "z"),
    ] {
        refused(
            bind(given),
            &format!(
                "error[aliased-arguments]: `{first}` and `{second}` are the same memory, and the \
                 kernel writes `{written}`\n  help: use separate memory for each written array"
            ),
        )?;
    }
    Ok(())
}

pub(super) fn launches_on_several_streams_have_scratch_of_their_own(device: &Device) -> Outcome {
    // Blocks depend on one another through t, so t is global.
    let text = "
kernel reverse_twice(x: f32[n], out: f32[n], n: i32)
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j < n }
temp t: f32[n] global
t[i] = 2.0 * x[i]
out[j] = t[n - 1 - j]
";
    let pipeline = "
split_iname(i, 32)
split_iname(j, 32)
tag_inames(i_outer: block.x, i_inner: thread.x, j_outer: block.x, j_inner: thread.x)
";
    let compiled = ok(device.compile(&kernel(text, pipeline)))?;
    let n = 1000;
    let mut launches = Vec::new();
    for k in 0..4 {
        let x = ok(Tensor::from_fn(&[n], |i| (i * (k + 1)) as f32))?;
        let stream = ok(device.stream())?;
        launches.push((k, ok(compiled.bind_on(&stream, &Args::new().tensor("x", &x)))?));
    }
    for _ in 0..20 {
        for (_, bound) in &launches {
            ok(bound.launch())?;
        }
    }
    for (k, bound) in &launches {
        ok(bound.wait())?;
        let expected: Vec<f64> = (0..n).map(|j| (2 * (n - 1 - j) * (k + 1)) as f64).collect();
        assert_eq!(ok(bound.read("out"))?.to_f64(), expected);
    }
    Ok(())
}

pub(super) fn sequences_are_replayed_in_their_order(device: &Device) -> Outcome {
    let compiled = ok(device.compile(&elementwise(ADD)))?;
    let start: Vec<f32> = (0..100).map(|k| k as f32).collect();
    let [x, y, z] = [(); 3].map(|()| device.upload(&floats(&[100], &start)));
    let (x, y, z) = (ok(x)?, ok(y)?, ok(z)?);
    let add = |from, to, d: f32| {
        ok(compiled.bind(&Args::new().device_tensor("x", from).device_tensor("y", to).scalar("d", d)))
    };
    let (one, two) = (add(&x, &y, 1.0)?, add(&x, &z, 2.0)?);
    // y = x + 1 and, independently, z = x + 2; then x = z: each round adds two.
    let mut graph = ok(device.record(|sequence| {
        sequence.launch(&one)?;
        sequence.launch(&two)?;
        sequence.copy(&z, &x)?;
        assert_eq!((sequence.len(), sequence.is_empty()), (3, false));
        Ok(())
    }))?;
    let shows = |array: &loopwright_runtime::DeviceTensor, more: f32| -> Outcome {
        let expected: Vec<f32> = start.iter().map(|v| v + more).collect();
        assert_eq!(ok(ok(array.download())?.to_vec::<f32>())?, expected);
        Ok(())
    };
    shows(&y, 0.0)?;
    for _ in 0..10 {
        ok(graph.launch())?;
    }
    shows(&x, 20.0)?;
    shows(&y, 19.0)?;
    // Bound kernels stay alive in the graph, which any stream of the device may launch.
    drop((one, two, compiled));
    let stream = ok(device.stream())?;
    ok(graph.launch_on(&stream))?;
    ok(stream.synchronize())?;
    shows(&x, 22.0)?;
    // Arrays are used with their contents at the launch.
    ok(x.write(&floats(&[100], &start)))?;
    ok(graph.launch())?;
    shows(&y, 1.0)?;
    let mut nothing = ok(device.record(|_| Ok(())))?;
    ok(nothing.launch())?;
    let short = ok(device.upload(&floats(&[2], &[0.0; 2])))?;
    refused(
        device.record(|sequence| sequence.copy(&short, &x)),
        "error[tensor-shape]: an array of f32[2] with strides [1] cannot be copied to one of \
         f32[100] with strides [1]\n  help: copy between arrays of the same type, shape and \
         strides",
    )
}

pub(super) fn copies_run_beside_the_host(device: &Device) -> Outcome {
    let stream = ok(device.stream())?;
    let (x, y) = (ok(device.uninit(&[2, 50], DType::F32))?, ok(device.uninit(&[2, 50], DType::F32))?);
    let values: Vec<f32> = (0..100).map(|k| 0.5 * k as f32).collect();
    let tensor = floats(&[2, 50], &values);
    let up = ok(stream.upload_from(ok(device.pin(&tensor))?, &x))?;
    ok(stream.copy(&x, &y))?;
    let down = ok(stream.download_to(&y, ok(device.pinned(&[2, 50], DType::F32))?))?;
    assert_eq!(ok(ok(down.wait())?.to_tensor())?, tensor);
    assert!(ok(up.is_done())?);
    // The memory is returned and reused.
    let mut again = ok(up.wait())?;
    again.bytes_mut().fill(0);
    drop(ok(stream.upload_from(again, &x))?);
    assert_eq!(ok(x.download())?.to_f64(), [0.0; 100]);
    let mut truths = ok(device.pinned(&[3], DType::Bool))?;
    truths.bytes_mut()[1] = 2;
    let there = ok(device.uninit(&[3], DType::Bool))?;
    refused(
        stream.upload_from(truths, &there),
        "error[tensor-bool]: a truth value is neither 0 nor 1\n  help: write 0 or 1 to every byte \
         of a bool array",
    )
}

pub(super) fn events_tell_the_time(device: &Device) -> Outcome {
    let (one, two) = (ok(device.stream())?, ok(device.stream())?);
    let (x, y) = (ok(device.upload(&x()))?, ok(device.uninit(&[3, 4], DType::F32))?);
    let start = ok(one.record())?;
    ok(one.copy(&x, &y))?;
    let end = ok(one.record())?;
    ok(two.wait(&end))?;
    ok(two.synchronize())?;
    assert!(ok(start.is_done())? && ok(end.is_done())?);
    ok(end.synchronize())?;
    let time = ok(start.milliseconds_to(&end))?;
    assert!((0.0..1000.0).contains(&time), "{time} ms");
    assert_eq!(one.handle().is_some(), device.is_gpu());
    assert_eq!(ok(ok(y.download())?.to_vec::<f32>())?[11], 12.0);
    Ok(())
}
