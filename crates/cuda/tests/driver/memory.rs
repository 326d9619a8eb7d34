//! Memory is freed after the work that uses it, without anything waiting for that; host memory
//! belongs to a copy until the copy is done.

use loopwright_cuda::driver::{Device, HostBuffer};

use super::{Outcome, StandIn, check, launch_axpy, ok, open, values};

/// On a device with a memory pool and on one without.
pub(super) fn nothing_is_freed_under_pending_work(driver: &StandIn) -> Outcome {
    let pools = driver.calls("cuMemFreeAsync");
    freeing_comes_late(driver, 0)?;
    check(driver.calls("cuMemFreeAsync") > pools, "the first device has no pool")?;
    let pools = driver.calls("cuMemFreeAsync");
    freeing_comes_late(driver, 1)?;
    check(driver.calls("cuMemFreeAsync") == pools, "the second device has a pool")
}

fn freeing_comes_late(driver: &StandIn, ordinal: i32) -> Outcome {
    let (device, home) = open(ordinal as usize)?;
    let live = driver.live_bytes(ordinal);
    for _ in 0..3 {
        let (x, y) = (ok(home.upload(&[1.0f32; 100]))?, ok(home.upload(&[0.0f32; 100]))?);
        let streams = [ok(device.stream())?, ok(device.stream())?];
        for stream in &streams {
            launch_axpy(stream, &x, &y, 1.0)?;
        }
        let scratch = ok(streams[0].scratch(400))?;
        launch_axpy(&streams[0], &x, &scratch, 1.0)?;
        // All handles to the memory are dropped while the launches are still pending.
        drop((x, y, scratch));
        drop(streams);
    }
    let left = driver.live_bytes(ordinal) - live;
    check(left == 0, format!("{left} bytes are leaked"))
}

pub(super) fn memory_goes_back_to_its_pool_without_waiting(driver: &StandIn) -> Outcome {
    let (device, home) = open(0)?;
    let used = ok(device.pool_use())?.used;
    let x = ok(home.upload(&[1.0f32; 100]))?;
    let last = ok(device.stream())?;
    let waits = || driver.calls("cuCtxSynchronize") + driver.calls("cuStreamSynchronize");
    let (waited, frees) = (waits(), driver.calls("cuMemFreeAsync"));
    let allocations = || (driver.calls("cuMemAlloc_v2"), driver.calls("cuMemAllocFromPoolAsync"));
    let allocated = allocations();
    for round in 0..3 {
        let y = ok(device.alloc(400))?;
        let stream = ok(device.stream())?;
        launch_axpy(&stream, &x, &y, 1.0)?;
        if round == 1 {
            // Another stream uses it as well, and is not dropped.
            launch_axpy(&last, &x, &y, 1.0)?;
        }
        // Drops first the only handle to the stream with the work, or first the memory.
        if round == 2 { drop((y, stream)) } else { drop((stream, y)) }
    }
    check(waits() == waited + 3, "something waits, apart from the allocation of each buffer")?;
    check(driver.calls("cuMemFreeAsync") == frees + 3, "not every buffer goes back to the pool")?;
    check(allocations() == (allocated.0, allocated.1 + 3), "buffers are not of the pool")?;
    drop(x);
    check(ok(device.pool_use())?.used == used, "something stays in use")?;
    ok(device.trim(0))?;
    // A device is the same however often it is opened: its streams and buffers are shared.
    let opened = driver.calls("cuDevicePrimaryCtxRetain");
    let again = ok(Device::open(0))?;
    check(driver.calls("cuDevicePrimaryCtxRetain") == opened, "an open device is opened again")?;
    check(again.is(&device) && ok(again.pool_use())? == ok(device.pool_use())?, "another pool")
}

pub(super) fn copies_own_the_memory_of_the_host(driver: &StandIn) -> Outcome {
    let (device, stream) = open(0)?;
    let (x, y) = (ok(device.alloc(16))?, ok(stream.upload(&[1.0f32; 4]))?);
    let waits = driver.calls("cuStreamSynchronize");
    let mut host = ok(HostBuffer::new(&device, 16))?;
    for (place, value) in host.chunks_exact_mut(4).zip([1.0f32, 2.0, 3.0, 4.0]) {
        place.copy_from_slice(&value.to_le_bytes());
    }
    let up = ok(stream.write_async(&x, 0, host))?;
    launch_axpy(&stream, &x, &y, 2.0)?;
    let down = ok(stream.read_async(&y, 0, ok(HostBuffer::new(&device, 16))?))?;
    check(driver.calls("cuStreamSynchronize") == waits, "an asynchronous copy waits for its stream")?;
    check(!ok(up.is_done())? && !ok(down.is_done())?, "the copies are done already")?;
    // Dropped while in flight.
    drop(ok(stream.read_async(&x, 0, ok(HostBuffer::new(&device, 16))?))?);
    let bytes = ok(down.wait())?;
    let read: Vec<f32> =
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    check(read == [3.0, 5.0, 7.0, 9.0] && values(&y)? == read, format!("{read:?}"))?;
    check(ok(up.is_done())?, "the upload came before")
}
