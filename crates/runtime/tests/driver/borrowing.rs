//! Arrays owned by other libraries, and arrays lent to them (DLPack).

use std::ffi::{c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::Failed;
use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel};
use loopwright_runtime::dlpack::{ElementType, Place, RawManaged, RawTensor, RawVersioned, Shared};
use loopwright_runtime::{Args, Device, DeviceTensor, RawArray};
use loopwright_transforms::Pipeline;

use super::{Outcome, StandIn, TWICE, bind_twice, check, kernel, ok, refused, twice, upload, values};

/// Another library's memory; the library is notified when it gets the memory back.
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

/// A structure as another library creates it.
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
                // As for a slice that starts at the third element.
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

pub(super) fn borrowed_memory_is_used_in_its_place(driver: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let back = Arc::new(AtomicUsize::new(0));
    // Twelve elements owned by another library, the last ten of which are lent as two rows of five.
    let memory = upload(&device, &(0..12).map(|v| v as f32).collect::<Vec<_>>())?;
    let address = memory.device_address().unwrap_or(0);
    let mut x = Vec::new();
    for _ in 0..2 {
        // SAFETY: the memory outlives everything made from it, and nothing else uses it meanwhile.
        x.push(ok(unsafe { Shared::from_raw(lend(address, Place::CUDA, [2, 5], [5, 1], &back)) })?);
    }
    let (x, unused) = (x.remove(0), x.remove(0));
    check(x.description().address == address + 8, "the offset is not counted")?;
    drop(unused);
    check(back.load(Ordering::SeqCst) == 1, "what is not used does not go back")?;
    // The stream of the other library, on which it has pending work.
    let theirs = ok(device.stream())?;
    // SAFETY: the stream lives until the end of this function.
    let ready_on = ok(unsafe { device.borrow_stream(theirs.handle().unwrap_or(0)) })?;
    let late = upload(&device, &[100.0; 12])?;
    ok(theirs.copy(&late, &memory))?;
    let x = ok(device.borrow(x, &ready_on))?;
    check((x.shape(), x.strides()) == (&[2, 5][..], &[5, 1][..]), "another layout")?;
    check(x.device_address() == Some(address + 8), "it is another memory")?;
    let kernel = kernel(
        "kernel twice(x: f32[2, n], y: f32[2, n], n: i32)\n\
         domain { [j, i] : 0 <= j < 2 and 0 <= i < n }\n\
         y[j, i] = 2.0 * x[j, i]",
    )?;
    driver.kernel("twice", &[8, 8, 4], twice_of_two_rows);
    let y = ok(device.uninit(&[2, 5], DType::F32))?;
    let bound =
        ok(ok(device.compile(&kernel))?.bind(&Args::new().device_tensor("x", &x).device_tensor("y", &y)))?;
    // On the device's own stream, which waits for the other library's stream.
    ok(bound.launch())?;
    ok(device.default_stream().synchronize())?;
    drop((bound, x));
    check(back.load(Ordering::SeqCst) == 2, "it does not go back with its last handle")?;
    driver.kernel("twice", &[8, 8, 4], twice);
    check(values(&y)? == [200.0; 10], format!("not what their stream wrote: {:?}", values(&y)?))
}

pub(super) fn memory_borrowed_in_the_order_of_a_stream_goes_back_at_once(driver: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let back = Arc::new(AtomicUsize::new(0));
    let memory = upload(&device, &(0..12).map(|v| v as f32).collect::<Vec<_>>())?;
    let address = memory.device_address().unwrap_or(0);
    let (theirs, other) = (ok(device.stream())?, ok(device.stream())?);
    // SAFETY: the memory outlives everything made from it; what is done with it afterwards is done
    // when the stream has been waited for.
    let x = unsafe {
        let x = ok(Shared::from_raw(lend(address, Place::CUDA, [2, 5], [5, 1], &back)))?;
        ok(device.borrow_in_order(x, &theirs))?
    };
    let kernel = kernel(
        "kernel twice(x: f32[2, n], y: f32[2, n], n: i32)\n\
         domain { [j, i] : 0 <= j < 2 and 0 <= i < n }\n\
         y[j, i] = 2.0 * x[j, i]",
    )?;
    driver.kernel("twice", &[8, 8, 4], twice_of_two_rows);
    let y = ok(device.uninit(&[2, 5], DType::F32))?;
    let compiled = ok(device.compile(&kernel))?;
    let args = Args::new().device_tensor("x", &x).device_tensor("y", &y);
    check(compiled.bind_on(&other, &args).is_err(), "another stream uses the memory of this one")?;
    let bound = ok(compiled.bind_on(&theirs, &args))?;
    ok(bound.launch())?;
    check(back.load(Ordering::SeqCst) == 0, "it goes back while something is bound to it")?;
    drop((bound, args, x));
    check(back.load(Ordering::SeqCst) == 1, "it does not go back with its last handle")?;
    let submitted = ok(theirs.record())?;
    check(!ok(submitted.is_done())?, "giving it back has waited for the stream")?;
    ok(theirs.synchronize())?;
    driver.kernel("twice", &[8, 8, 4], twice);
    let expected: Vec<f32> = (2..12).map(|v| 2.0 * v as f32).collect();
    check(values(&y)? == expected, format!("not twice the elements: {:?}", values(&y)?))
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

pub(super) fn what_cannot_be_borrowed_is_refused(driver: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let stream = device.default_stream();
    let back = Arc::new(AtomicUsize::new(0));
    let memory = upload(&device, &[0.0; 16])?;
    let address = memory.device_address().unwrap_or(0);
    let borrow = |data, kind, strides| -> Result<DeviceTensor, Diagnostic> {
        // SAFETY: the memory outlives everything made from it.
        device.borrow(unsafe { Shared::from_raw(lend(data, kind, [2, 5], strides, &back))? }, &stream)
    };
    refused(
        borrow(address, Place::HOST, [5, 1]),
        "error[other-device]: an array on device 0 of kind 1 cannot be used without a copy on \
         stand-in 0\n  help: open the device that it is on; a host array becomes a tensor by \
         `Tensor::from_shared`",
    )?;
    refused(
        borrow(address, Place::CUDA, [-5, 1]),
        "error[tensor-strides]: the array has negative strides: [-5, 1]\n  help: make a \
         contiguous copy with its library",
    )?;
    refused(
        borrow(address + 2, Place::CUDA, [5, 1]).map_err(|mut d| {
            d.message = d.message.replace(&format!("{:#x}", address + 10), "ADDRESS");
            d
        }),
        "error[tensor-alignment]: elements of f32 are misaligned at address ADDRESS\n  help: pass \
         memory whose address is a multiple of 4 bytes",
    )?;
    refused(
        borrow(4096, Place::CUDA, [5, 1]),
        "error[other-device]: the memory to be borrowed is not on this device\n  help: create \
         everything that a launch uses on the same device",
    )?;
    let raw = ok(memory.share())?.into_raw_versioned();
    // SAFETY: the structure is live, and nothing else calls its deleter.
    let constant = ok(unsafe {
        (*raw).flags |= RawVersioned::READ_ONLY;
        Shared::from_raw_versioned(raw)
    })?;
    refused(
        device.borrow(constant, &stream),
        "error[read-only]: the array is read-only, and kernels could write it\n  help: make a \
         copy with its library",
    )?;
    check(back.load(Ordering::SeqCst) == 4, "what is refused does not go back to its owner")?;
    // Vector accesses need stricter alignment than single elements.
    let vectors = ok(LoopKernel::parse(
        "kernel vectors(x: f32[n], y: f32[n], n: i32)\n\
         assume n mod 4 = 0\n\
         domain { [i] : 0 <= i < n }\n\
         y[i] = x[i]",
    ))?;
    let vectors = ok(ok(Pipeline::parse(
        "split_iname(i, 4)\n\
         split_iname(i_outer, 32)\n\
         tag_inames(i_outer_outer: block.x, i_outer_inner: thread.x, i_inner: vec)",
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
        "error[argument-alignment]: `x` does not begin at a multiple of 16 bytes, as its vector \
         accesses need\n  help: pass aligned memory, or use a kernel without vector accesses to it",
    )?;
    // Three elements after each row, including the last one, belong to the array.
    let padded = ok(LoopKernel::parse(
        "kernel padded(x: f32[2, n pad 3], y: f32[n], n: i32)\n\
         domain { [i] : 0 <= i < n }\n\
         y[i] = x[1, i]",
    ))?;
    let threads = ok(Pipeline::parse("split_iname(i, 32)\ntag_inames(i_outer: block.x, i_inner: thread.x)"))?;
    driver.kernel("padded", &[8, 8, 4], twice);
    let padded = ok(device.compile(&ok(threads.apply(&padded))?))?;
    let rows = |length: usize| {
        let strides = Some(vec![length + 3, 1]);
        let array = RawArray { address, dtype: DType::F32, shape: vec![2, length], strides };
        // SAFETY: as above.
        let x = ok(unsafe { device.borrow_raw(&array, &stream, back.clone()) })?;
        Ok::<_, Failed>(padded.bind(&Args::new().device_tensor("x", &x)))
    };
    refused(
        rows(5)?,
        "error[argument-strides]: `x` has 13 elements of memory and the kernel expects 16, \
         including the padding after the last row\n  help: pass memory with the padding, or a \
         host tensor, which is laid out as the kernel expects",
    )?;
    // Pieces of one array may be the same memory without being the same array object.
    refused(
        bind(&piece(0)?, &piece(0)?),
        "error[aliased-arguments]: `x` and `y` are the same memory, and the kernel writes `y`\n  \
         help: use separate memory for each written array",
    )?;
    check(Arc::strong_count(&back) == 1, "an owner is not let go")
}

pub(super) fn shared_arrays_stay_until_both_are_done(driver: &StandIn) -> Outcome {
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
        // A round trip, as through another library.
        // SAFETY: nothing else calls the deleter.
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
        // On the other library's stream, which was made to wait for the launch.
        let pinned = ok(device.pinned(&[8], DType::F32))?;
        let copy = ok(ok(ok(theirs.download_to(&again, pinned))?.wait())?.to_tensor())?;
        check(ok(copy.to_vec::<f32>())? == [2.0; 8], "the reader does not wait for the writer")?;
        drop((x, again));
        check(driver.live_bytes(0) == live, "it is leaked when both are done")?;
    }
    // A reader whose stream is unknown here returns the array while a copy of it is pending.
    let (x, copy) = (upload(&device, &[6.0; 8])?, ok(device.uninit(&[8], DType::F32))?);
    let address = |array: &DeviceTensor| array.device_address().unwrap_or(0);
    let shared = ok(x.share())?;
    driver.foreign_copy(driver.foreign_stream(), address(&copy), address(&x), 32);
    drop((x, shared));
    check(values(&copy)? == [6.0; 8], "the copy is not of the array")
}

/// Arguments whose memory overlaps, in both memory orders.
pub(super) fn overlapping_pieces_are_refused(driver: &StandIn) -> Outcome {
    let device = ok(Device::cuda(0))?;
    let memory = upload(&device, &[1.0; 16])?;
    let address = memory.device_address().unwrap_or(0);
    let piece = |first: u64, count: usize| {
        let array =
            RawArray { address: address + 4 * first, dtype: DType::F32, shape: vec![count], strides: None };
        // SAFETY: the memory outlives everything made from it, and nothing else uses it.
        ok(unsafe { device.borrow_raw(&array, &device.default_stream(), ()) })
    };
    let compiled = ok(device.compile(&kernel(TWICE)?))?;
    let bind = |x: (u64, usize), y: (u64, usize)| {
        let (x, y) = (piece(x.0, x.1)?, piece(y.0, y.1)?);
        Ok::<_, Failed>(compiled.bind(&Args::new().device_tensor("x", &x).device_tensor("y", &y)))
    };
    // Adjacent pieces do not overlap.
    ok(bind((0, 4), (4, 4))?)?;
    ok(bind((4, 4), (0, 4))?)?;
    for (x, y) in [((0, 4), (3, 4)), ((3, 4), (0, 4)), ((4, 4), (5, 4)), ((5, 4), (4, 4)), ((2, 4), (2, 4))] {
        refused(
            bind(x, y)?,
            "error[aliased-arguments]: `x` and `y` are the same memory, and the kernel writes \
             `y`\n  help: use separate memory for each written array",
        )?;
    }
    // One inside the other: the columns of a matrix start in its first row.
    let matrix =
        kernel("kernel first(x: f32[n], y: f32[n, n], n: i32)\ndomain { [i] : 0 <= i < n }\ny[i, 0] = x[i]")?;
    driver.kernel("first", &[8, 8, 4], twice);
    let compiled = ok(device.compile(&matrix))?;
    let y = RawArray { address, dtype: DType::F32, shape: vec![4, 4], strides: None };
    // SAFETY: as above.
    let y = ok(unsafe { device.borrow_raw(&y, &device.default_stream(), ()) })?;
    for first in [0, 6, 12] {
        let x = piece(first, 4)?;
        refused(
            compiled.bind(&Args::new().device_tensor("x", &x).device_tensor("y", &y)),
            "error[aliased-arguments]: `x` and `y` are the same memory, and the kernel writes \
             `y`\n  help: use separate memory for each written array",
        )?;
    }
    Ok(())
}
