//! Tests on a GPU: properties, memory, copies, launches, dynamic shared memory beyond 48 KiB,
//! streams, times, and refusals.
//!
//! Without a GPU, or without NVRTC to compile a binary, each test is listed as ignored with the
//! reason.

use std::process::ExitCode;

use libtest_mimic::{Arguments as Options, Completion, Failed, Trial};
use loopwright_cuda::Arch;
use loopwright_cuda::driver::limits::Limit;
use loopwright_cuda::driver::{
    Arguments, CudaError, Device, DeviceInfo, Function, HostBuffer, LaunchShape, occupancy,
};
use loopwright_cuda::nvrtc::{self, CompileOptions};

type Outcome = Result<(), Failed>;
type Test = (&'static str, fn(&Device) -> Outcome);

const AXPY: &str = r#"
extern "C" __global__ void axpy(long long n, float a, const float* __restrict__ x, float* __restrict__ y)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"#;

/// Each block of 256 threads reverses `words` floats, through as much dynamic shared memory.
const REVERSE: &str = r#"
extern "C" __global__ void reverse(int words, float* x)
{
    extern __shared__ float tile[];
    float* piece = x + (long long)blockIdx.x * words;
    for (int k = threadIdx.x; k < words; k += blockDim.x)
        tile[k] = piece[k];
    __syncthreads();
    for (int k = threadIdx.x; k < words; k += blockDim.x)
        piece[k] = tile[words - 1 - k];
}
"#;

/// Keeps many values in registers at once.
const MANY: &str = r#"
extern "C" __global__ void many(float* x)
{
    float v[VALUES];
    #pragma unroll
    for (int k = 0; k < VALUES; ++k)
        v[k] = x[k * 1024 + threadIdx.x];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < VALUES; ++k)
        x[(VALUES - 1 - k) * 1024 + threadIdx.x] = v[k] * v[(7 * k) % VALUES];
}
"#;

/// Spins for a given number of cycles, then adds one.
const SLOW: &str = r#"
extern "C" __global__ void slow(long long cycles, int* x)
{
    const long long start = clock64();
    while (clock64() - start < cycles) { }
    *x += 1;
}
"#;

fn check(holds: bool, message: impl Into<String>) -> Outcome {
    if holds { Ok(()) } else { Err(Failed::from(message.into())) }
}

fn function(device: &Device, source: &str, name: &str) -> Result<Function, Failed> {
    let compiled = nvrtc::compile(source, &CompileOptions::new(device.info().arch()))?;
    Ok(device.load(&compiled)?.function(name)?)
}

fn shape(blocks: u64, threads: u32, dynamic_shared: u32) -> LaunchShape {
    LaunchShape { grid: [blocks, 1, 1], block: [threads, 1, 1], dynamic_shared }
}

fn properties_are_plausible(device: &Device) -> Outcome {
    let info = device.info();
    println!("{info:#?}");
    check(!info.name.is_empty() && info.name.chars().all(|c| !c.is_control()), format!("{:?}", info.name))?;
    check(info.compute_capability.0 >= 7 && info.warp_size == 32, "compute capability or warp")?;
    check(info.multiprocessors >= 1 && info.max_threads_per_block >= 1024, "multiprocessors or threads")?;
    check(info.registers_per_multiprocessor >= 32768, "registers")?;
    check(info.shared_per_block <= info.shared_per_block_optin, "shared memory of a block")?;
    check(info.shared_per_block_optin <= info.shared_per_multiprocessor, "shared memory")?;
    check(info.memory_bytes > 1 << 30 && info.l2_bytes > 0 && info.clock_khz > 0, "memory or clocks")?;
    check(device.free_memory()? as u64 <= info.memory_bytes, "free memory")?;
    let count = Device::count();
    let beyond = Device::open(count).err();
    check(beyond == Some(CudaError::NoSuchDevice { ordinal: count, count }), format!("{beyond:?}"))
}

fn bytes_come_back(device: &Device) -> Outcome {
    let stream = device.stream()?;
    let values: Vec<u32> = (0..1_000_003u32).map(|k| k.wrapping_mul(2_654_435_761)).collect();
    let one = stream.upload(&values)?;
    let two = device.alloc(one.bytes())?;
    stream.copy(&one, 0, &two, 0, one.bytes())?;
    check(stream.download::<u32>(&two)? == values, "a copy of a copy differs")?;
    stream.write(&two, 4 * 17, &[7u32, 8])?;
    let mut piece = [0u32; 4];
    stream.read(&two, 4 * 16, &mut piece)?;
    check(piece == [values[16], 7, 8, values[19]], format!("{piece:?}"))?;
    stream.fill(&two, 0)?;
    check(stream.download::<u32>(&two)?.iter().all(|&value| value == 0), "not filled")?;
    let empty = stream.upload::<f32>(&[])?;
    check(empty.bytes() == 0 && stream.download::<f32>(&empty)?.is_empty(), "an empty buffer")?;
    let beyond = stream.write(&one, one.bytes() - 4, &[0u32, 0]);
    check(matches!(beyond, Err(CudaError::Range { .. })), format!("{beyond:?}"))
}

fn copies_run_behind_the_host(device: &Device) -> Outcome {
    let stream = device.stream()?;
    let bytes = 64 << 20;
    let buffer = device.alloc(bytes)?;
    let mut host = HostBuffer::new(device, bytes)?;
    host.iter_mut().enumerate().for_each(|(k, byte)| *byte = (k % 251) as u8);
    let there = stream.write_async(&buffer, 0, host)?;
    let back = stream.read_async(&buffer, 0, HostBuffer::new(device, bytes)?)?;
    // Dropped while it may still run: its memory lives until it is done.
    drop(stream.read_async(&buffer, 0, HostBuffer::new(device, bytes)?)?);
    let host = there.wait()?;
    let copied = back.wait()?;
    check(host[..] == copied[..] && copied[bytes - 1] == ((bytes - 1) % 251) as u8, "the bytes differ")
}

fn axpy_is_right(device: &Device) -> Outcome {
    let axpy = function(device, AXPY, "axpy")?;
    let stream = device.stream()?;
    for n in [0usize, 1, 31, 256, 100_003] {
        // Small integers: every result is exact.
        let x: Vec<f32> = (0..n).map(|k| (k % 100) as f32).collect();
        let y: Vec<f32> = (0..n).map(|k| (k % 7) as f32).collect();
        let (x_there, y_there) = (stream.upload(&x)?, stream.upload(&y)?);
        let arguments = Arguments::new().scalar(n as i64).scalar(3.0f32).buffer(&x_there).buffer(&y_there);
        let shape = shape(n.div_ceil(128) as u64, 128, 0);
        // SAFETY: the kernel guards its accesses by `n`, the length of both buffers.
        unsafe { axpy.launch(&stream, &shape, &arguments) }?;
        let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 3.0 * x + y).collect();
        check(stream.download::<f32>(&y_there)? == expected, format!("n = {n}"))?;
    }
    Ok(())
}

fn dynamic_shared_memory_past_48_kib(device: &Device) -> Outcome {
    let reverse = function(device, REVERSE, "reverse")?;
    let stream = device.stream()?;
    for bytes in [1 << 10, 48 << 10, (48 << 10) + 4, device.info().shared_per_block_optin, 2 << 10] {
        let words = bytes as usize / 4;
        let x: Vec<f32> = (0..3 * words).map(|k| k as f32).collect();
        let there = stream.upload(&x)?;
        let arguments = Arguments::new().scalar(words as i32).buffer(&there);
        // SAFETY: three blocks of `words` values each are the whole buffer.
        unsafe { reverse.launch(&stream, &shape(3, 256, bytes), &arguments) }?;
        let expected: Vec<f32> = x.chunks(words).flat_map(|piece| piece.iter().rev().copied()).collect();
        check(stream.download::<f32>(&there)? == expected, format!("{bytes} bytes"))?;
    }
    let full = reverse.resident_blocks(256, device.info().shared_per_block_optin)?;
    let small = reverse.resident_blocks(256, 1024)?;
    check(full == 1 && small > 1, format!("{full} and {small} blocks resident"))
}

/// The table of limits and the computed occupancy agree with the device and the driver.
fn the_catalog_is_right_about_this_device(device: &Device) -> Outcome {
    let info = device.info();
    let Some(listed) = DeviceInfo::of_arch(info.arch()) else {
        return Err(format!("{} is not in the catalog", info.arch()).into());
    };
    let shown = DeviceInfo {
        ordinal: listed.ordinal,
        name: listed.name.clone(),
        multiprocessors: listed.multiprocessors,
        clock_khz: listed.clock_khz,
        memory_clock_khz: listed.memory_clock_khz,
        memory_bus_bits: listed.memory_bus_bits,
        l2_bytes: listed.l2_bytes,
        memory_bytes: listed.memory_bytes,
        ..info.clone()
    };
    check(shown == listed, format!("{shown:#?} but listed {listed:#?}"))?;
    let most = info.shared_per_block_optin;
    let mut registers = std::collections::BTreeSet::new();
    for values in [1, 12, 24, 40, 60, 100, 160, 220] {
        let many = function(device, &MANY.replace("VALUES", &format!("{values}")), "many")?;
        registers.insert(many.info().registers);
        for threads in [1, 32, 33, 96, 128, 160, 256, 384, 512, 768, 1024] {
            for shared in [0, 1, 1000, 8 << 10, 40 << 10, 100 << 10, most] {
                let computed =
                    occupancy(info, threads, many.info().registers, many.info().shared_bytes + shared);
                // For a block that cannot be launched at all, the driver need not be queried.
                let fits = threads <= many.info().max_threads_per_block;
                let driver = if fits { many.resident_blocks(threads, shared)? } else { 0 };
                let place = format!("{threads} threads, {} registers, {shared} bytes", many.info().registers);
                check(driver == computed.blocks, format!("{place}: {driver} by the driver, {computed:?}"))?;
            }
        }
    }
    check(
        registers.len() >= 6,
        format!("the cases have too few different numbers of registers: {registers:?}"),
    )
}

fn what_cannot_work_is_refused_before(device: &Device) -> Outcome {
    let reverse = function(device, REVERSE, "reverse")?;
    let stream = device.stream()?;
    let x = stream.upload(&[1.0f32; 64])?;
    let arguments = Arguments::new().scalar(0i32).buffer(&x);
    let info = device.info();
    let refusals = [
        (shape(1, 2048, 0), Limit::BlockExtent(0)),
        (LaunchShape { grid: [1; 3], block: [1024, 2, 1], dynamic_shared: 0 }, Limit::BlockThreads),
        (LaunchShape { grid: [1; 3], block: [0, 1, 1], dynamic_shared: 0 }, Limit::EmptyBlock),
        (LaunchShape { grid: [1, 1 << 40, 1], block: [1; 3], dynamic_shared: 0 }, Limit::GridExtent(1)),
        (shape(1, 32, info.shared_per_block_optin + 1), Limit::SharedMemory),
    ];
    for (shape, limit) in refusals {
        // SAFETY: with zero words the kernel would access nothing even if it were launched.
        match unsafe { reverse.launch(&stream, &shape, &arguments) } {
            Err(CudaError::Limit(error)) => check(error.limit == limit, format!("{error}"))?,
            other => return Err(format!("{limit:?}: {other:?}").into()),
        }
    }
    if reverse.info().parameters.is_some() {
        for wrong in [Arguments::new().buffer(&x), Arguments::new().scalar(0i64).buffer(&x)] {
            // SAFETY: as above; the call is refused.
            let refused = unsafe { reverse.launch(&stream, &shape(1, 32, 0), &wrong) };
            check(matches!(refused, Err(CudaError::Arguments { .. })), format!("{refused:?}"))?;
        }
    }
    let other = device.stream()?;
    let scratch = other.scratch(256)?;
    let refused = stream.fill(&scratch, 0);
    check(matches!(refused, Err(CudaError::Foreign { .. })), format!("{refused:?}"))?;
    let module = device.load(&nvrtc::compile(REVERSE, &CompileOptions::new(info.arch()))?)?;
    for name in ["revers", "", "a\0b"] {
        let refused = module.function(name).err();
        check(refused == Some(CudaError::NoSuchKernel { name: name.into() }), format!("{refused:?}"))?;
    }
    let foreign = if info.arch() == Arch::SM_80 { Arch::SM_90A } else { Arch::SM_80 };
    let refused = device.load(&nvrtc::compile(REVERSE, &CompileOptions::new(foreign))?).err();
    check(matches!(refused, Some(CudaError::BadBinary { .. })), format!("{refused:?}"))?;
    let mut truncated = nvrtc::compile(REVERSE, &CompileOptions::new(info.arch()))?;
    truncated.cubin.truncate(truncated.cubin.len() / 2);
    let refused = device.load(&truncated).err();
    check(matches!(refused, Some(CudaError::BadBinary { .. })), format!("{refused:?}"))?;
    let refused = device.alloc(1 << 50).err();
    check(matches!(refused, Some(CudaError::OutOfMemory { .. })), format!("{refused:?}"))?;
    // After all this the device still works.
    bytes_come_back(device)
}

fn times_are_measured(device: &Device) -> Outcome {
    let slow = function(device, SLOW, "slow")?;
    let stream = device.stream()?;
    let count = stream.upload(&[0i32])?;
    let time = |cycles: i64| {
        let arguments = Arguments::new().scalar(cycles).buffer(&count);
        // SAFETY: one thread adds to the one value; launches on one stream run in order.
        let mut times =
            stream.time(2, 5, |stream| unsafe { slow.launch(stream, &shape(1, 1, 0), &arguments) })?;
        times.sort_by(f32::total_cmp);
        Ok::<f32, Failed>(times[2])
    };
    let (short, long) = (time(1_000_000)?, time(8_000_000)?);
    check(stream.download::<i32>(&count)? == [14], "not launched as often as asked")?;
    // Eight times the cycles, at a clock that may vary.
    check(short > 0.1 && long / short > 4.0 && long / short < 16.0, format!("{short} ms and {long} ms"))
}

fn streams_wait_for_events(device: &Device) -> Outcome {
    let slow = function(device, SLOW, "slow")?;
    let (one, two) = (device.stream()?, device.stream()?);
    let value = one.upload(&[0i32])?;
    let late = Arguments::new().scalar(100_000_000i64).buffer(&value);
    let early = Arguments::new().scalar(0i64).buffer(&value);
    // SAFETY: one thread per launch, and the second launch waits for the first.
    unsafe { slow.launch(&one, &shape(1, 1, 0), &late) }?;
    two.wait(&one.record()?)?;
    // SAFETY: as above.
    unsafe { slow.launch(&two, &shape(1, 1, 0), &early) }?;
    check(two.download::<i32>(&value)? == [2], "the second launch did not wait")
}

fn scratch_belongs_to_its_stream(device: &Device) -> Outcome {
    let axpy = function(device, AXPY, "axpy")?;
    let streams = [device.stream()?, device.stream()?];
    let n = 1 << 16;
    let x = streams[0].upload(&vec![1.0f32; n])?;
    let mut results = Vec::new();
    for round in 0..8 {
        for (index, stream) in streams.iter().enumerate() {
            let scratch = stream.scratch(4 * n)?;
            stream.fill(&scratch, 0)?;
            let a = (2 * round + index) as f32;
            let arguments = Arguments::new().scalar(n as i64).scalar(a).buffer(&x).buffer(&scratch);
            // SAFETY: both buffers have `n` values; different launches have different scratch
            // memory.
            unsafe { axpy.launch(stream, &shape((n / 256) as u64, 256, 0), &arguments) }?;
            let result = stream.scratch(4 * n)?;
            stream.copy(&scratch, 0, &result, 0, 4 * n)?;
            results.push((index, a, result));
        }
    }
    for (index, a, result) in &results {
        check(streams[*index].download::<f32>(result)?.iter().all(|value| value == a), format!("a = {a}"))?;
    }
    Ok(())
}

/// Memory is freed after the kernel that uses it, without anything waiting for that.
fn freeing_waits_for_nobody(device: &Device) -> Outcome {
    let slow = function(device, SLOW, "slow")?;
    let before = device.pool_use()?;
    let streams = [device.stream()?, device.stream()?];
    let keep = device.alloc(4)?;
    streams[0].fill(&keep, 0)?;
    streams[0].synchronize()?;
    for round in 0..4 {
        let buffer = device.alloc(16 << 20)?;
        streams[1].fill(&buffer, 0)?;
        streams[1].synchronize()?;
        let one = Arguments::new().scalar(200_000_000i64).buffer(&buffer);
        // SAFETY: one thread, which adds to the first value of the buffer.
        unsafe { slow.launch(&streams[round % 2], &shape(1, 1, 0), &one) }?;
        let end = streams[round % 2].record()?;
        drop((one, buffer));
        check(!end.is_done()?, "somebody waited for the kernel")?;
        // Another buffer of that size, at once: it must not be the memory that the kernel will
        // write to.
        let next = device.alloc(16 << 20)?;
        streams[(round + 1) % 2].fill(&next, 0)?;
        check(!end.is_done()?, "getting memory waited for the kernel")?;
        device.synchronize()?;
        check(streams[0].download::<u32>(&next)?.iter().all(|&v| v == 0), "memory in use was given away")?;
    }
    device.synchronize()?;
    device.trim(0)?;
    let after = device.pool_use()?;
    println!("{before:?} {after:?}");
    // The small buffer remains, in a piece whose size the pool chooses.
    check(after.used <= before.used + (4 << 20), format!("{before:?} {after:?}"))
}

fn several_threads_use_one_device(device: &Device) -> Outcome {
    let axpy = function(device, AXPY, "axpy")?;
    let work = |seed: usize| -> Outcome {
        let stream = device.stream()?;
        let n = 10_000 + seed;
        let x = stream.upload(&vec![seed as f32; n])?;
        let y = stream.upload(&vec![1.0f32; n])?;
        let arguments = Arguments::new().scalar(n as i64).scalar(2.0f32).buffer(&x).buffer(&y);
        // SAFETY: both buffers have `n` values.
        unsafe { axpy.launch(&stream, &shape(n.div_ceil(128) as u64, 128, 0), &arguments) }?;
        let expected = 2.0 * seed as f32 + 1.0;
        check(stream.download::<f32>(&y)? == vec![expected; n], format!("thread {seed}"))
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|seed| scope.spawn(move || work(seed))).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| Failed::from("a thread panicked"))?)
    })
}

fn main() -> ExitCode {
    // One after another, so that device waits in one test do not affect the times of another.
    let options = Options { test_threads: Some(1), ..Options::from_args() };
    let device = match (Device::first(), nvrtc::library()) {
        (Ok(device), Ok(_)) => Ok(device),
        (Ok(_), Err(error)) => {
            println!("{error}");
            Err("there is no NVRTC")
        }
        // A driver whose devices cannot be opened is a failure; having none is not.
        (Err(error @ (CudaError::NoDriver | CudaError::NoDevice)), _) => {
            println!("{error}");
            Err("there is no GPU")
        }
        (Err(error), _) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let tests: [Test; 12] = [
        ("properties_are_plausible", properties_are_plausible),
        ("bytes_come_back", bytes_come_back),
        ("copies_run_behind_the_host", copies_run_behind_the_host),
        ("axpy_is_right", axpy_is_right),
        ("dynamic_shared_memory_past_48_kib", dynamic_shared_memory_past_48_kib),
        ("the_catalog_is_right_about_this_device", the_catalog_is_right_about_this_device),
        ("what_cannot_work_is_refused_before", what_cannot_work_is_refused_before),
        ("times_are_measured", times_are_measured),
        ("streams_wait_for_events", streams_wait_for_events),
        ("scratch_belongs_to_its_stream", scratch_belongs_to_its_stream),
        ("freeing_waits_for_nobody", freeing_waits_for_nobody),
        ("several_threads_use_one_device", several_threads_use_one_device),
    ];
    let trials = tests.map(|(name, test)| {
        let device = device.clone();
        Trial::ignorable_test(name, move || match device {
            Ok(device) => test(&device).map(|()| Completion::Completed),
            Err(reason) => Ok(Completion::ignored_with(reason)),
        })
    });
    libtest_mimic::run(&options, trials.into()).exit_code()
}
