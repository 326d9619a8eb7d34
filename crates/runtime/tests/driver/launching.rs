//! A launch costs no more than the driver call: no allocation, no lookup, no query.

use std::sync::Arc;

use libtest_mimic::Failed;
use loopwright_kernel_ir::LoopKernel;
use loopwright_runtime::{Args, Bound, Device};
use loopwright_transforms::Pipeline;

use super::{AXPY, Outcome, StandIn, bind_axpy, check, counting::TAKEN, ok, upload, values};

pub(super) fn launching_allocates_nothing_and_asks_nothing(driver: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let x = upload(&device, &[1.0, 2.0, 3.0])?;
    let y = upload(&device, &[0.0; 3])?;
    let bound = bind_axpy(&device, &x, &y, 2.0)?;
    ok(bound.launch())?;
    // The counter works.
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
    // On a thread that has never used the device, its context is made current once.
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

/// Only the first launch of a program must wait for all earlier work on the stream.
pub(super) fn launches_behind_others_of_their_program_may_start_early(driver: &StandIn) -> Outcome {
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

pub(super) fn launching_a_graph_allocates_nothing(driver: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let (x, y) = (upload(&device, &[1.0])?, upload(&device, &[0.0])?);
    let bound = bind_axpy(&device, &x, &y, 1.0)?;
    let mut graph = ok(device.record(|sequence| {
        sequence.launch(&bound)?;
        sequence.launch(&bound)
    }))?;
    let stream = ok(device.stream())?;
    // The first launch resolves the function in the driver library.
    ok(graph.launch_on(&stream))?;
    let (calls, taken) = (driver.all_calls(), TAKEN.get());
    for _ in 0..99 {
        ok(graph.launch_on(&stream))?;
    }
    check(TAKEN.get() == taken, format!("99 launches took {} times from the heap", TAKEN.get() - taken))?;
    check(driver.all_calls() - calls == 99, "more than one call a launch")?;
    check(values(&y)? == [200.0], "the launches are not right")
}

pub(super) fn arguments_stay_where_they_are(_: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let (x, y) = (upload(&device, &[1.0, 1.0])?, upload(&device, &[0.0, 0.0])?);
    // Moved between binding and launching, and holding the last handles to the memory.
    let bounds: Vec<Bound> =
        (1..=8).map(|a| bind_axpy(&device, &x, &y, a as f32)).collect::<Result<_, _>>()?;
    let moved: Vec<Arc<Bound>> = bounds.into_iter().rev().map(Arc::new).collect();
    drop(x);
    for bound in &moved {
        ok(bound.launch())?;
    }
    check(values(&y)? == [36.0, 36.0], format!("{:?}", values(&y)?))
}
