//! The order of work: events between streams, conflicts in a graph.

use loopwright_runtime::{Args, Device};

use super::{Outcome, StandIn, TWICE, bind_axpy, check, kernel, ok, refused, upload, values};

pub(super) fn streams_wait_for_events(_: &StandIn) -> Outcome {
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

pub(super) fn graphs_keep_the_order_of_conflicts(driver: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let [a, b, c, d] = [1.0, 0.0, 0.0, 0.0].map(|v| upload(&device, &[v; 40]));
    let (a, b, c, d) = (a?, b?, c?, d?);
    let [ab, ac, bd, cd] =
        [(&a, &b), (&a, &c), (&b, &d), (&c, &d)].map(|(x, y)| bind_axpy(&device, x, y, 3.0));
    let (ab, ac, bd, cd) = (ab?, ac?, bd?, cd?);
    let edges = driver.calls("cuGraphAddKernelNode_v2");
    // b += 3a; c += 3a; d += 3b; d += 3c; a = d. The stand-in delays work as long as it may.
    let mut graph = ok(device.record(|sequence| {
        for bound in [&ab, &ac, &bd, &cd] {
            sequence.launch(bound)?;
        }
        sequence.copy(&d, &a)
    }))?;
    check(driver.calls("cuGraphAddKernelNode_v2") == edges + 4, "not one node a launch")?;
    check(driver.calls("cuGraphLaunch") == 0 || values(&d)? == [0.0; 40], "recording runs the work")?;
    // The graph now has the only handles to `b` and `c`.
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
        "error[other-device]: the array is on a different device than stand-in 0\n  help: record \
         a separate sequence for each device",
    )
}
