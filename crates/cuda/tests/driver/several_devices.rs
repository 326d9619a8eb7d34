//! Copies between devices count as work of both.

use loopwright_cuda::driver::CudaError;

use super::{Outcome, StandIn, check, launch_axpy, ok, open, values};

/// Between devices with pools and peer access, and with one that has neither.
pub(super) fn copies_between_devices_are_work_of_both(driver: &StandIn) -> Outcome {
    // Their pools live as long as the devices are open.
    let _open = [open(0)?, open(2)?];
    let accesses = driver.calls("cuMemPoolSetAccess");
    for (here, there) in [(0, 2), (0, 1), (1, 2), (2, 0)] {
        copies_between(driver, here, there)?;
    }
    check(
        driver.calls("cuMemPoolSetAccess") == accesses + 2,
        "two devices get access to each other's pools once",
    )
}

fn copies_between(driver: &StandIn, here: usize, there: usize) -> Outcome {
    let numbers = [here as i32, there as i32];
    let ((here, at_home), (there, at_theirs)) = (open(here)?, open(there)?);
    let live = numbers.map(|number| driver.live_bytes(number));
    // In order with a stream of either device, and visible once all work of the other is done.
    for own in [&here, &there] {
        let stream = ok(own.stream())?;
        let (x, y) = (ok(at_home.upload(&[4.0f32; 9]))?, ok(at_home.upload(&[0.0f32; 9]))?);
        let target = ok(at_theirs.upload(&[0.0f32; 9]))?;
        launch_axpy(&at_home, &x, &y, 2.0)?;
        ok(stream.wait(&ok(at_home.record())?))?;
        let before = driver.calls("cuMemcpyPeerAsync");
        ok(stream.copy(&y, 0, &target, 0, 36))?;
        check(driver.calls("cuMemcpyPeerAsync") == before + 1, "the copy is not one between devices")?;
        // A launch there that waits for the event sees the copy, and the host never waits.
        let next = ok(at_theirs.upload(&[0.0f32; 9]))?;
        ok(at_theirs.wait(&ok(stream.record())?))?;
        launch_axpy(&at_theirs, &target, &next, 2.0)?;
        // Neither side is freed during the copy, whichever device's stream it is on.
        drop((x, y));
        check(values(&target)? == [8.0; 9], "a download does not wait for the copy")?;
        check(values(&next)? == [16.0; 9], "a launch after the event does not see the copy")?;
        let (back, onward) = (ok(at_home.upload(&[0.0f32; 9]))?, ok(at_theirs.upload(&[0.5f32; 9]))?);
        ok(stream.copy(&next, 0, &back, 0, 36))?;
        ok(stream.copy(&back, 4, &onward, 8, 12))?;
        drop((target, next, onward));
        check(values(&back)? == [16.0; 9], "the copy back is wrong")?;
    }
    ok(here.synchronize())?;
    ok(there.synchronize())?;
    let left = numbers.map(|number| driver.live_bytes(number));
    check(left == live, format!("memory is leaked: {left:?} bytes, before {live:?}"))
}

pub(super) fn what_cannot_be_copied_between_devices_is_refused(driver: &StandIn) -> Outcome {
    let [(one, on_one), (_two, on_two), (three, _)] = [open(0)?, open(1)?, open(2)?];
    let (x, y) = (ok(on_one.upload(&[1.0f32; 4]))?, ok(on_two.upload(&[2.0f32; 4]))?);
    let neither = Err(CudaError::Foreign { what: "the stream belongs to neither buffer's device" });
    check(ok(three.stream())?.copy(&x, 0, &y, 0, 16) == neither, "a third device's stream copies")?;
    let beyond = Err(CudaError::Range { offset: 4, bytes: 16, length: 16 });
    check(on_one.copy(&x, 0, &y, 4, 16) == beyond, "a copy goes beyond the end of its target")?;
    let scratch = ok(on_one.scratch(16))?;
    let another = ok(one.stream())?.copy(&scratch, 0, &y, 0, 16);
    check(matches!(another, Err(CudaError::Foreign { .. })), "scratch memory leaves its stream")?;
    let captured = ok(one.stream())?;
    driver.capture(captured.handle(), true);
    check(captured.copy(&x, 0, &y, 0, 16) == Err(CudaError::Captured), "a captured stream copies")?;
    driver.capture(captured.handle(), false);
    ok(captured.copy(&x, 0, &y, 0, 16))?;
    check(values(&y)? == [1.0; 4], "the copy is not made once nothing is captured")
}
