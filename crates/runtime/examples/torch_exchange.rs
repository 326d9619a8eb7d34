//! Arrays of PyTorch used without copies, and arrays of this library passed to it: the functions
//! that `torch_exchange.py` calls.
//!
//! ```text
//! cargo build --release -p loopwright-runtime --example torch_exchange
//! python3 crates/runtime/examples/torch_exchange.py target/release/examples/libtorch_exchange.so
//! ```

use std::sync::{Mutex, OnceLock, PoisonError};

use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel};
use loopwright_runtime::dlpack::{RawManaged, Shared};
use loopwright_runtime::{Args, Bound, Compiled, Device, Stream};
use loopwright_transforms::Pipeline;

/// State that is created once.
struct State {
    device: Device,
    /// A stream of this library.
    stream: Stream,
    axpy: Compiled,
    fill: Compiled,
    /// The pending launch, which keeps its arrays alive.
    launched: Mutex<Vec<Bound>>,
}

fn state() -> Result<&'static State, Diagnostic> {
    static STATE: OnceLock<Result<State, Diagnostic>> = OnceLock::new();
    STATE.get_or_init(open).as_ref().map_err(Clone::clone)
}

fn open() -> Result<State, Diagnostic> {
    let device = Device::cuda(0)?;
    let compile = |text: &str| -> Result<Compiled, Diagnostic> {
        let steps = "split_iname(i, 256)\ntag_inames(i_outer: block.x, i_inner: thread.x)";
        let kernel = LoopKernel::parse(text).map_err(|all| {
            all.0
                .into_iter()
                .next()
                .unwrap_or_else(|| Diagnostic::new("text", "the kernel could not be parsed"))
        })?;
        device.compile(&Pipeline::parse(steps)?.apply(&kernel)?)
    };
    Ok(State {
        stream: device.stream()?,
        axpy: compile(
            "kernel axpy(x: f32[n], y: f32[n], a: f32, n: i32)\n\
             domain { [i] : 0 <= i < n }\n\
             y[i] = a * x[i] + y[i]",
        )?,
        fill: compile(
            "kernel fill(y: f32[n], value: f32, n: i32)\ndomain { [i] : 0 <= i < n }\ny[i] = value",
        )?,
        launched: Mutex::default(),
        device,
    })
}

fn said<T>(result: Result<T, Diagnostic>) -> Option<T> {
    result.map_err(|diagnostic| eprintln!("{diagnostic}")).ok()
}

/// The handle of this library's own stream; 0 if it is not available.
#[unsafe(no_mangle)]
pub extern "C" fn exchange_stream() -> u64 {
    said(state()).and_then(|state| state.stream.handle()).unwrap_or(0)
}

/// `y += a * x` on the stream of this handle, in whose order both arrays are ready. Does not wait.
/// Takes ownership of both structures; 0 means success.
///
/// # Safety
///
/// The structures follow DLPack and belong to the caller; the stream belongs to the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn exchange_axpy(x: *mut RawManaged, y: *mut RawManaged, a: f32, stream: u64) -> i32 {
    let work = || -> Result<(), Diagnostic> {
        // SAFETY: the caller's promise.
        let (x, y, stream) =
            unsafe { (Shared::from_raw(x)?, Shared::from_raw(y)?, state()?.device.borrow_stream(stream)?) };
        let State { device, axpy, launched, .. } = state()?;
        let (x, y) = (device.borrow(x, &stream)?, device.borrow(y, &stream)?);
        let args = Args::new().device_tensor("x", &x).device_tensor("y", &y).scalar("a", a);
        let bound = axpy.bind_on(&stream, &args)?;
        bound.launch()?;
        launched.lock().unwrap_or_else(PoisonError::into_inner).push(bound);
        Ok(())
    };
    said(work()).map_or(1, |()| 0)
}

/// An array of `n` elements owned by this library, which its own stream fills with `value`; the
/// stream `receiver` waits for that, the host does not. Null means failure. Its address is also
/// stored to `address`.
///
/// # Safety
///
/// The stream belongs to the device, and `address` is a valid pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn exchange_filled(
    n: u64,
    value: f32,
    receiver: u64,
    address: *mut u64,
) -> *mut RawManaged {
    let work = || -> Result<*mut RawManaged, Diagnostic> {
        let State { device, stream, fill, launched, .. } = state()?;
        // SAFETY: the caller's promise.
        let receiver = unsafe { device.borrow_stream(receiver)? };
        let array = device.uninit(&[n as usize], DType::F32)?;
        let bound = fill.bind_on(stream, &Args::new().device_tensor("y", &array).scalar("value", value))?;
        bound.launch()?;
        let shared = array.share_on(stream, &receiver)?;
        launched.lock().unwrap_or_else(PoisonError::into_inner).push(bound);
        // SAFETY: the caller's promise.
        unsafe { *address = shared.description().address };
        Ok(shared.into_raw())
    };
    said(work()).unwrap_or(std::ptr::null_mut())
}

/// Waits for the launch and releases it; 0 means success.
#[unsafe(no_mangle)]
pub extern "C" fn exchange_release() -> i32 {
    let work = || -> Result<(), Diagnostic> {
        let bound = std::mem::take(&mut *state()?.launched.lock().unwrap_or_else(PoisonError::into_inner));
        bound.iter().try_for_each(Bound::wait)
    };
    said(work()).map_or(1, |()| 0)
}
