//! What the host asks of the driver, seen by a stand-in for the driver: no GPU is needed, a C compiler and NVRTC are.
//!
//! The stand-in (`driver/stand_in.c`) has three devices in the host's memory and puts work off as long as it may, so that what is given back too
//! early or not waited for shows every time. Each test ends with the question whether something happened that must not.

#[path = "driver/stand_in.rs"]
mod stand_in;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::{c_uint, c_void};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::{Arguments as Options, Completion, Failed, Trial};
use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel};
use loopwright_runtime::dlpack::{ElementType, Place, RawManaged, RawTensor, RawVersioned, Shared};
use loopwright_runtime::{Args, Bound, Device, DeviceTensor, RawArray, Tensor, nvrtc};
use loopwright_transforms::Pipeline;
use stand_in::{Entry, StandIn};

/// Counts what this thread takes from the heap.
struct Counting;

thread_local! {
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is the system's allocator, with a number counted beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TAKEN.set(TAKEN.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        TAKEN.set(TAKEN.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

type Outcome = Result<(), Failed>;
type Test = fn(&StandIn) -> Outcome;

fn ok<T, E: std::fmt::Display>(result: Result<T, E>) -> Result<T, Failed> {
    result.map_err(|d| Failed::from(d.to_string()))
}

fn check(holds: bool, message: impl Into<String>) -> Outcome {
    if holds { Ok(()) } else { Err(Failed::from(message.into())) }
}

/// The refusal has exactly this text.
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

/// A launch of [`AXPY`] by the parameters of the printed kernel: `x`, `y`, `a`, `n`.
unsafe extern "C" fn axpy(
    grid: *const c_uint,
    block: *const c_uint,
    _: c_uint,
    params: *const *const c_void,
) {
    // SAFETY: the stand-in gives as many values as were registered, of these sizes; the pointers are to memory of the host.
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

fn launching_allocates_nothing_and_asks_nothing(driver: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let x = upload(&device, &[1.0, 2.0, 3.0])?;
    let y = upload(&device, &[0.0; 3])?;
    let bound = bind_axpy(&device, &x, &y, 2.0)?;
    ok(bound.launch())?;
    // The count counts.
    let before = TAKEN.get();
    drop(std::hint::black_box(Box::new(1)));
    check(TAKEN.get() == before + 1, "an allocation was not counted")?;
    let (calls, taken) = (driver.all_calls(), TAKEN.get());
    for _ in 0..1000 {
        ok(bound.launch())?;
    }
    check(TAKEN.get() == taken, format!("1000 launches took {} times from the heap", TAKEN.get() - taken))?;
    let asked = driver.all_calls() - calls;
    check(asked == 1000, format!("1000 launches are {asked} calls of the driver"))?;
    check(values(&y)? == [2002.0, 4004.0, 6006.0], "the launches are not right")?;
    // In a thread that never used the device, its context is selected once.
    let calls = driver.calls("cuCtxSetCurrent");
    std::thread::scope(|scope| {
        scope
            .spawn(|| -> Outcome {
                let taken = TAKEN.get();
                for _ in 0..10 {
                    ok(bound.launch())?;
                }
                check(TAKEN.get() == taken, "launches of a second thread took from the heap")
            })
            .join()
            .map_err(|_| Failed::from("a thread panicked"))?
    })?;
    check(driver.calls("cuCtxSetCurrent") == calls + 1, "the context is not selected once")?;
    check(values(&y)? == [2022.0, 4044.0, 6066.0], "the launches of a second thread are not right")
}

/// Only the first launch of a program has to be behind the end of all that was put on the stream before it.
fn launches_behind_others_of_their_program_may_start_early(driver: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let (x, y) = (upload(&device, &[1.0, 2.0])?, upload(&device, &[0.0; 2])?);
    let steps = "split_iname(i, 32)\ntag_inames(t: host, i_outer: block.x, i_inner: thread.x)";
    let text = AXPY.replace("n: i32)", "n: i32, m: i32)").replace("[i] :", "[t, i] : 0 <= t < m and");
    let text = format!("{} {{inames=t:i}}\n", text.trim_end());
    let kernel = ok(ok(Pipeline::parse(steps))?.apply(&ok(LoopKernel::parse(&text))?))?;
    let args = Args::new().device_tensor("x", &x).device_tensor("y", &y).scalar("a", 2.0f32).scalar("m", 3);
    let compiled = ok(device.compile(&kernel))?;
    let bound = ok(compiled.bind(&args))?;
    let calls = || (driver.calls("cuLaunchKernel"), driver.calls("cuLaunchKernelEx"));
    let (first, early) = calls();
    ok(bound.launch())?;
    ok(bound.launch())?;
    check(calls() == (first + 2, early + 4), format!("{:?} from {:?}", calls(), (first, early)))?;
    check(values(&y)? == [12.0, 24.0], "the launches are not right")?;
    let text = &ok(compiled.stages())?.cuda.text;
    check(text.contains("{\n    wait_for_launch_ahead();\n"), format!("it does not wait first:\n{text}"))
}

fn launching_a_graph_allocates_nothing(driver: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let (x, y) = (upload(&device, &[1.0])?, upload(&device, &[0.0])?);
    let bound = bind_axpy(&device, &x, &y, 1.0)?;
    let mut graph = ok(device.record(|sequence| {
        sequence.launch(&bound)?;
        sequence.launch(&bound)
    }))?;
    let stream = ok(device.stream())?;
    // The first finds the function in the driver's library.
    ok(graph.launch_on(&stream))?;
    let (calls, taken) = (driver.all_calls(), TAKEN.get());
    for _ in 0..99 {
        ok(graph.launch_on(&stream))?;
    }
    check(TAKEN.get() == taken, format!("99 launches took {} times from the heap", TAKEN.get() - taken))?;
    check(driver.all_calls() - calls == 99, "more than one call a launch")?;
    check(values(&y)? == [200.0], "the launches are not right")
}

fn arguments_stay_where_they_are(_: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let (x, y) = (upload(&device, &[1.0, 1.0])?, upload(&device, &[0.0, 0.0])?);
    // Moved about between binding and launching, and its own handles are the last ones to the memory.
    let bounds: Vec<Bound> =
        (1..=8).map(|a| bind_axpy(&device, &x, &y, a as f32)).collect::<Result<_, _>>()?;
    let moved: Vec<Arc<Bound>> = bounds.into_iter().rev().map(Arc::new).collect();
    drop(x);
    for bound in &moved {
        ok(bound.launch())?;
    }
    check(values(&y)? == [36.0, 36.0], format!("{:?}", values(&y)?))
}

/// On a device with a pool and on one without.
fn nothing_is_freed_under_pending_work(driver: &StandIn) -> Outcome {
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

fn memory_goes_back_to_its_pool_without_waiting(driver: &StandIn) -> Outcome {
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

fn streams_wait_for_events(_: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let [x, y, z] = [upload(&device, &[1.0])?, upload(&device, &[0.0])?, upload(&device, &[0.0])?];
    let (one, two) = (ok(device.stream())?, ok(device.stream())?);
    let compiled = ok(device.compile(&kernel(TWICE)?))?;
    let first = ok(compiled.bind_on(&one, &Args::new().device_tensor("x", &x).device_tensor("y", &y)))?;
    let second = ok(compiled.bind_on(&two, &Args::new().device_tensor("x", &y).device_tensor("y", &z)))?;
    ok(first.launch())?;
    let event = ok(one.record())?;
    check(!ok(event.is_done())?, "the stand-in does not put work off")?;
    ok(two.wait(&event))?;
    ok(second.launch())?;
    ok(two.synchronize())?;
    check(ok(event.is_done())?, "the second stream did not wait for the first")?;
    check(ok(event.milliseconds_to(&ok(two.record())?))? == 1.0, "the time is not the driver's")?;
    check(values(&z)? == [4.0], "the order does not hold")
}

fn copies_own_the_memory_of_the_host(driver: &StandIn) -> Outcome {
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

fn graphs_keep_the_order_of_conflicts(driver: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let [a, b, c, d] = [1.0, 0.0, 0.0, 0.0].map(|v| upload(&device, &[v; 40]));
    let (a, b, c, d) = (a?, b?, c?, d?);
    let [ab, ac, bd, cd] =
        [(&a, &b), (&a, &c), (&b, &d), (&c, &d)].map(|(x, y)| bind_axpy(&device, x, y, 3.0));
    let (ab, ac, bd, cd) = (ab?, ac?, bd?, cd?);
    let edges = driver.calls("cuGraphAddKernelNode_v2");
    // b += 3a; c += 3a; d += 3b; d += 3c; a = d. The stand-in runs last what it may.
    let mut graph = ok(device.record(|sequence| {
        for bound in [&ab, &ac, &bd, &cd] {
            sequence.launch(bound)?;
        }
        sequence.copy(&d, &a)
    }))?;
    check(driver.calls("cuGraphAddKernelNode_v2") == edges + 4, "not one node a launch")?;
    check(driver.calls("cuGraphLaunch") == 0 || values(&d)? == [0.0; 40], "recording runs the work")?;
    // Nobody else has a handle to `b` and `c` any more.
    drop((ab, ac, bd, cd, b, c));
    let stream = ok(device.stream())?;
    ok(graph.launch_on(&stream))?;
    ok(stream.synchronize())?;
    // b = c = 3, d = 9 + 9, a = 18.
    check(values(&a)? == [18.0; 40], format!("{:?}", &values(&a)?[..2]))?;
    ok(graph.launch())?;
    // b = c = 3 + 54, d = 18 + 2 * 171.
    check(values(&d)? == [360.0; 40], format!("{:?}", &values(&d)?[..2]))?;
    ok(graph.launch())?;
    drop(graph);
    let emulator = Device::emulator();
    let there = upload(&emulator, &[0.0; 40])?;
    refused(
        device.record(|sequence| sequence.copy(&there, &there)),
        "error[other-device]: the array is on another device than stand-in 0\n  help: record on each device a sequence of its own",
    )
}

fn several_devices_are_kept_apart(_: &StandIn) -> Outcome {
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
fn copies_between_devices_are_work_of_both(driver: &StandIn) -> Outcome {
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

fn what_cannot_be_copied_between_devices_is_refused(driver: &StandIn) -> Outcome {
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

/// What another library does with memory of its own: it is told when it gets it back.
struct Lender {
    structure: RawManaged,
    lengths: [i64; 2],
    strides: [i64; 2],
    back: Arc<AtomicUsize>,
}

unsafe extern "C" fn take_back(raw: *mut RawManaged) {
    // SAFETY: made by `lend`, called once.
    let lender = unsafe { Box::from_raw((*raw).context.cast::<Lender>()) };
    lender.back.fetch_add(1, Ordering::SeqCst);
}

/// A structure as other libraries make them.
fn lend(
    data: u64,
    kind: i32,
    lengths: [i64; 2],
    strides: [i64; 2],
    back: &Arc<AtomicUsize>,
) -> *mut RawManaged {
    let lender = Box::into_raw(Box::new(Lender {
        structure: RawManaged {
            tensor: RawTensor {
                data: std::ptr::with_exposed_provenance_mut(data as usize),
                place: Place { kind, number: 0 },
                rank: 2,
                element: ElementType::of(DType::F32),
                shape: std::ptr::null_mut(),
                strides: std::ptr::null_mut(),
                // As a slice from the third element on.
                byte_offset: 8,
            },
            context: std::ptr::null_mut(),
            deleter: Some(take_back),
        },
        lengths,
        strides,
        back: back.clone(),
    }));
    // SAFETY: just made.
    unsafe {
        (*lender).structure.tensor.shape = (*lender).lengths.as_mut_ptr();
        (*lender).structure.tensor.strides = (*lender).strides.as_mut_ptr();
        (*lender).structure.context = lender.cast();
        &raw mut (*lender).structure
    }
}

fn borrowed_memory_is_used_in_its_place(driver: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let back = Arc::new(AtomicUsize::new(0));
    // Twelve elements of somebody else's, of which the last ten are lent as two rows of five.
    let memory = upload(&device, &(0..12).map(|v| v as f32).collect::<Vec<_>>())?;
    let address = memory.device_address().unwrap_or(0);
    let mut x = Vec::new();
    for _ in 0..2 {
        // SAFETY: the memory outlives what is made of it, and nobody else uses it meanwhile.
        x.push(ok(unsafe { Shared::from_raw(lend(address, Place::CUDA, [2, 5], [5, 1], &back)) })?);
    }
    let (x, unused) = (x.remove(0), x.remove(0));
    check(x.description().address == address + 8, "the offset is not counted")?;
    drop(unused);
    check(back.load(Ordering::SeqCst) == 1, "what is not used does not go back")?;
    // The stream of the other library, on which it has work under way.
    let theirs = ok(device.stream())?;
    // SAFETY: the stream lives until the end of this function.
    let ready_on = ok(unsafe { device.borrow_stream(theirs.handle().unwrap_or(0)) })?;
    let late = upload(&device, &[100.0; 12])?;
    ok(theirs.copy(&late, &memory))?;
    let x = ok(device.borrow(x, &ready_on))?;
    check((x.shape(), x.strides()) == (&[2, 5][..], &[5, 1][..]), "another layout")?;
    check(x.device_address() == Some(address + 8), "it is another memory")?;
    let kernel = kernel(
        "kernel twice(x: f32[2, n], y: f32[2, n], n: i32)\ndomain { [j, i] : 0 <= j < 2 and 0 <= i < n }\ny[j, i] = 2.0 * x[j, i]",
    )?;
    driver.kernel("twice", &[8, 8, 4], twice_of_two_rows);
    let y = ok(device.uninit(&[2, 5], DType::F32))?;
    let bound =
        ok(ok(device.compile(&kernel))?.bind(&Args::new().device_tensor("x", &x).device_tensor("y", &y)))?;
    // On the device's own stream, which waits for theirs.
    ok(bound.launch())?;
    ok(device.default_stream().synchronize())?;
    drop((bound, x));
    check(back.load(Ordering::SeqCst) == 2, "it does not go back with its last handle")?;
    driver.kernel("twice", &[8, 8, 4], twice);
    check(values(&y)? == [200.0; 10], format!("not what their stream wrote: {:?}", values(&y)?))
}

/// A launch of the kernel of two rows: `x`, `y`, `n`.
unsafe extern "C" fn twice_of_two_rows(
    _: *const c_uint,
    _: *const c_uint,
    _: c_uint,
    params: *const *const c_void,
) {
    // SAFETY: as above.
    unsafe {
        let x = (*params).cast::<*const f32>().read();
        let y = (*params.add(1)).cast::<*mut f32>().read();
        let n = (*params.add(2)).cast::<i32>().read();
        for i in 0..2 * n as usize {
            *y.add(i) = 2.0 * *x.add(i);
        }
    }
}

fn what_cannot_be_borrowed_is_refused(driver: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let stream = device.default_stream();
    let back = Arc::new(AtomicUsize::new(0));
    let memory = upload(&device, &[0.0; 12])?;
    let address = memory.device_address().unwrap_or(0);
    let borrow = |data, kind, strides| -> Result<DeviceTensor, Diagnostic> {
        // SAFETY: the memory outlives what is made of it.
        device.borrow(unsafe { Shared::from_raw(lend(data, kind, [2, 5], strides, &back))? }, &stream)
    };
    refused(
        borrow(address, Place::HOST, [5, 1]),
        "error[other-device]: an array on device 0 of kind 1 cannot be used in its place on stand-in 0\n  help: open the device that it is on; an array of the host becomes a tensor by `Tensor::from_shared`",
    )?;
    refused(
        borrow(address, Place::CUDA, [-5, 1]),
        "error[tensor-strides]: the array has negative strides: [-5, 1]\n  help: have its library make a contiguous copy",
    )?;
    refused(
        borrow(address + 2, Place::CUDA, [5, 1]).map_err(|mut d| {
            d.message = d.message.replace(&format!("{:#x}", address + 10), "ADDRESS");
            d
        }),
        "error[tensor-alignment]: elements of f32 cannot begin at address ADDRESS\n  help: give memory that begins at a multiple of 4 bytes",
    )?;
    refused(
        borrow(4096, Place::CUDA, [5, 1]),
        "error[other-device]: the memory to be borrowed is not of this device\n  help: make everything that one launch uses on one device",
    )?;
    let raw = ok(memory.share())?.into_raw_versioned();
    // SAFETY: the structure is live, and nobody else calls its deleter.
    let constant = ok(unsafe {
        (*raw).flags |= RawVersioned::READ_ONLY;
        Shared::from_raw_versioned(raw)
    })?;
    refused(
        device.borrow(constant, &stream),
        "error[read-only]: the array must not be written, which kernels could\n  help: have its library make a copy",
    )?;
    check(back.load(Ordering::SeqCst) == 4, "what is refused does not go back to its owner")?;
    // Vector accesses need more than the elements.
    let vectors = ok(LoopKernel::parse(
        "kernel vectors(x: f32[n], y: f32[n], n: i32)\nassume n mod 4 = 0\ndomain { [i] : 0 <= i < n }\ny[i] = x[i]",
    ))?;
    let vectors = ok(ok(Pipeline::parse(
        "split_iname(i, 4)\nsplit_iname(i_outer, 32)\ntag_inames(i_outer_outer: block.x, i_outer_inner: thread.x, i_inner: vec)",
    ))?
    .apply(&vectors))?;
    driver.kernel("vectors", &[8, 8, 4], twice);
    let piece = |offset: u64| {
        let array = RawArray { address: address + offset, dtype: DType::F32, shape: vec![4], strides: None };
        // SAFETY: as above.
        ok(unsafe { device.borrow_raw(&array, &stream, back.clone()) })
    };
    let compiled = ok(device.compile(&vectors))?;
    let bind = |x: &DeviceTensor, y: &DeviceTensor| {
        compiled.bind(&Args::new().device_tensor("x", x).device_tensor("y", y))
    };
    ok(bind(&piece(0)?, &piece(16)?))?;
    refused(
        bind(&piece(4)?, &piece(32)?),
        "error[argument-alignment]: `x` does not begin at a multiple of 16 bytes, as its vector accesses need\n  help: give memory that begins there, or a kernel without vector accesses to it",
    )?;
    // Pieces of one array can be the same memory without being one array.
    refused(
        bind(&piece(0)?, &piece(0)?),
        "error[aliased-arguments]: `x` and `y` are the same memory, and the kernel writes `y`\n  help: give each written array memory of its own",
    )?;
    check(Arc::strong_count(&back) == 1, "an owner is not let go")
}

fn shared_arrays_stay_until_both_are_done(driver: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let live = driver.live_bytes(0);
    for versioned in [false, true] {
        let (x, y) = (upload(&device, &[1.0; 8])?, ok(device.uninit(&[8], DType::F32))?);
        ok(bind_twice(&device, &x, &y)?.launch())?;
        let theirs = ok(device.stream())?;
        let shared = ok(y.share_on(&device.default_stream(), &theirs))?;
        let address = y.device_address();
        drop(y);
        check(driver.live_bytes(0) > live + 32, "a shared array is freed under its reader")?;
        // There and back again, as through another library.
        // SAFETY: nobody else calls the deleter.
        let again = ok(unsafe {
            if versioned {
                let raw = shared.into_raw_versioned();
                check((*raw).version == [1, 1] && (*raw).flags == 0, "version or flags")?;
                Shared::from_raw_versioned(raw)
            } else {
                Shared::from_raw(shared.into_raw())
            }
        })?;
        check(Some(again.description().address) == address, "another memory")?;
        let again = ok(device.borrow(again, &theirs))?;
        // On their stream, which was made to wait for the launch.
        let pinned = ok(device.pinned(&[8], DType::F32))?;
        let copy = ok(ok(ok(theirs.download_to(&again, pinned))?.wait())?.to_tensor())?;
        check(ok(copy.to_vec::<f32>())? == [2.0; 8], "the reader does not wait for the writer")?;
        drop((x, again));
        check(driver.live_bytes(0) == live, "it stays behind when both are done")?;
    }
    // A reader whose stream is not known here gives the array back with a copy of it under way.
    let (x, copy) = (upload(&device, &[6.0; 8])?, ok(device.uninit(&[8], DType::F32))?);
    let address = |array: &DeviceTensor| array.device_address().unwrap_or(0);
    let shared = ok(x.share())?;
    driver.foreign_copy(driver.foreign_stream(), address(&copy), address(&x), 32);
    drop((x, shared));
    check(values(&copy)? == [6.0; 8], "the copy is not of the array")
}

fn main() -> ExitCode {
    // One after the other: the stand-in's counts are of the whole process.
    let options = Options { test_threads: Some(1), ..Options::from_args() };
    let driver = match stand_in::enter() {
        Entry::Inside(driver) => match nvrtc::library() {
            Ok(_) => Ok(Arc::new(driver)),
            Err(_) => Err("there is no NVRTC"),
        },
        Entry::Ran(code) => return code,
        Entry::Nowhere(reason) => Err(reason),
    };
    if let Ok(driver) = &driver {
        driver.kernel("axpy", &[8, 8, 4, 4], axpy);
        driver.kernel("twice", &[8, 8, 4], twice);
    }
    let tests: [(&str, Test); 15] = [
        ("launching_allocates_nothing_and_asks_nothing", launching_allocates_nothing_and_asks_nothing),
        (
            "launches_behind_others_of_their_program_may_start_early",
            launches_behind_others_of_their_program_may_start_early,
        ),
        ("launching_a_graph_allocates_nothing", launching_a_graph_allocates_nothing),
        ("arguments_stay_where_they_are", arguments_stay_where_they_are),
        ("nothing_is_freed_under_pending_work", nothing_is_freed_under_pending_work),
        ("memory_goes_back_to_its_pool_without_waiting", memory_goes_back_to_its_pool_without_waiting),
        ("streams_wait_for_events", streams_wait_for_events),
        ("copies_own_the_memory_of_the_host", copies_own_the_memory_of_the_host),
        ("graphs_keep_the_order_of_conflicts", graphs_keep_the_order_of_conflicts),
        ("several_devices_are_kept_apart", several_devices_are_kept_apart),
        ("copies_between_devices_are_work_of_both", copies_between_devices_are_work_of_both),
        (
            "what_cannot_be_copied_between_devices_is_refused",
            what_cannot_be_copied_between_devices_is_refused,
        ),
        ("borrowed_memory_is_used_in_its_place", borrowed_memory_is_used_in_its_place),
        ("what_cannot_be_borrowed_is_refused", what_cannot_be_borrowed_is_refused),
        ("shared_arrays_stay_until_both_are_done", shared_arrays_stay_until_both_are_done),
    ];
    let trials = tests.map(|(name, test)| {
        let driver = driver.clone();
        Trial::ignorable_test(name, move || match driver {
            Err(reason) => Ok(Completion::ignored_with(reason)),
            Ok(driver) => {
                driver.forgive();
                test(&driver)?;
                match driver.violation() {
                    None => Ok(Completion::Completed),
                    Some(text) => Err(text.into()),
                }
            }
        })
    });
    libtest_mimic::run(&options, trials.into()).exit_code()
}
