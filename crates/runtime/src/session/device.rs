//! Devices: GPUs, and the emulator.

use std::fmt;
use std::sync::Arc;

use loopwright_emulator as emulator;
use loopwright_kernel_ir::{DType, Diagnostic, Name, Number};
use loopwright_program::Target;

use super::stream::Stream;
use super::{DeviceTensor, Tensor};
use crate::Arch;
use crate::cuda::{self, DeviceInfo, PoolUse};
use crate::nvrtc;

/// A device that runs kernels: a GPU, or the emulator on the processor's cores. Clones are handles
/// to the same device.
#[derive(Clone)]
pub struct Device {
    pub(super) inner: Arc<Inner>,
}

#[allow(clippy::large_enum_variant, reason = "there is one per device, behind an `Arc`")]
pub(super) enum Inner {
    Cuda {
        device: cuda::Device,
        /// The default stream, for work without an explicit one.
        stream: cuda::Stream,
    },
    Emulator {
        info: DeviceInfo,
        /// The target that kernels are lowered for.
        target: Target,
        options: emulator::Options,
    },
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.name())
    }
}

impl Device {
    /// GPU 0 if it can be opened, otherwise the emulator.
    pub fn best() -> Device {
        Device::cuda(0).unwrap_or_else(|_| Device::emulator())
    }

    /// Opens the GPU of this number, counted from 0. The first call in a process also loads NVRTC,
    /// in another thread, so that the first kernel does not wait for that.
    pub fn cuda(ordinal: usize) -> Result<Device, Diagnostic> {
        let device = if ordinal < cuda::Device::count() {
            nvrtc::warm_up_beside(|| cuda::Device::open(ordinal))?
        } else {
            cuda::Device::open(ordinal)?
        };
        let stream = device.stream()?;
        Ok(Device { inner: Arc::new(Inner::Cuda { device, stream }) })
    }

    /// The emulator, with all checks and counts.
    pub fn emulator() -> Device {
        Device::emulator_with(emulator::Options::default())
    }

    /// The emulator with these options: its checks, whether it counts, and the user's device
    /// functions.
    pub fn emulator_with(options: emulator::Options) -> Device {
        Device::emulator_for(Target::cuda(), options)
    }

    /// The emulator of a device with another target, with warps of its size.
    pub fn emulator_for(target: Target, options: emulator::Options) -> Device {
        let cores =
            options.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let bytes = |bytes| u32::try_from(bytes).unwrap_or(u32::MAX);
        // The limits of current devices, so that kernels that run here also run there.
        let current = DeviceInfo::of_arch(Arch::SM_90A).unwrap_or_default();
        let info = DeviceInfo {
            compute_capability: (0, 0),
            name: format!("emulator ({cores} {})", if cores == 1 { "core" } else { "cores" }),
            multiprocessors: u32::try_from(cores).unwrap_or(u32::MAX),
            warp_size: target.warp_size,
            max_threads_per_block: target.most_threads,
            registers_per_block: target.registers,
            shared_per_block: bytes(target.static_shared),
            shared_per_block_optin: bytes(target.dynamic_shared),
            memory_bytes: options.max_bytes,
            ..current
        };
        Device { inner: Arc::new(Inner::Emulator { info, target, options }) }
    }

    /// The emulator with one more device function of the user. A GPU is returned unchanged: it
    /// compiles the function's CUDA C.
    pub fn with_function(
        &self,
        name: impl Into<Name>,
        function: impl Fn(&[Number]) -> Number + Send + Sync + 'static,
    ) -> Device {
        match &*self.inner {
            Inner::Cuda { .. } => self.clone(),
            Inner::Emulator { target, options, .. } => {
                let mut options = options.clone();
                options.functions.insert(name.into(), Arc::new(function));
                Device::emulator_for(*target, options)
            }
        }
    }

    /// The GPU's name as the driver reports it, or `emulator` with its number of cores.
    pub fn name(&self) -> &str {
        &self.limits().name
    }

    /// Whether it is a GPU; otherwise it is the emulator on the CPU.
    pub fn is_gpu(&self) -> bool {
        matches!(&*self.inner, Inner::Cuda { .. })
    }

    /// Its properties and limits. The emulator has the limits of current GPUs.
    pub fn limits(&self) -> &DeviceInfo {
        match &*self.inner {
            Inner::Cuda { device, .. } => device.info(),
            Inner::Emulator { info, .. } => info,
        }
    }

    /// The target that kernels are lowered for when they are compiled for this device.
    pub fn target(&self) -> Target {
        match &*self.inner {
            Inner::Cuda { .. } => Target::cuda(),
            Inner::Emulator { target, .. } => *target,
        }
    }

    /// The GPU, for direct use of the driver; none for the emulator.
    pub fn as_cuda(&self) -> Option<&cuda::Device> {
        match &*self.inner {
            Inner::Cuda { device, .. } => Some(device),
            Inner::Emulator { .. } => None,
        }
    }

    /// Whether both are the same device.
    pub(super) fn is(&self, other: &Device) -> bool {
        match (&*self.inner, &*other.inner) {
            (Inner::Cuda { device: a, .. }, Inner::Cuda { device: b, .. }) => {
                a.info().ordinal == b.info().ordinal
            }
            // All emulators share the host's memory, whatever their options.
            (Inner::Emulator { .. }, Inner::Emulator { .. }) => true,
            _ => false,
        }
    }

    /// Copies an array to the device.
    pub fn upload(&self, tensor: &Tensor) -> Result<DeviceTensor, Diagnostic> {
        DeviceTensor::upload(self, &self.default_stream(), tensor)
    }

    /// Allocates an array without values on the device.
    pub fn uninit(&self, shape: &[usize], dtype: DType) -> Result<DeviceTensor, Diagnostic> {
        DeviceTensor::uninit(self, shape, dtype)
    }

    /// Creates a stream: a queue of work that runs in order. The emulator runs work when it is
    /// submitted.
    pub fn stream(&self) -> Result<Stream, Diagnostic> {
        Ok(Stream(match &*self.inner {
            Inner::Cuda { device, .. } => Some(device.stream()?),
            Inner::Emulator { .. } => None,
        }))
    }

    /// The default stream, for work without an explicit one.
    pub fn default_stream(&self) -> Stream {
        Stream(match &*self.inner {
            Inner::Cuda { stream, .. } => Some(stream.clone()),
            Inner::Emulator { .. } => None,
        })
    }

    /// Use of the memory pool of its arrays; zeros on the emulator.
    pub fn pool_use(&self) -> Result<PoolUse, Diagnostic> {
        match &*self.inner {
            Inner::Cuda { device, .. } => Ok(device.pool_use()?),
            Inner::Emulator { .. } => Ok(PoolUse::default()),
        }
    }

    /// Returns unused memory of its pool to the driver, for other libraries, until at most `keep`
    /// bytes are reserved, or no more is unused.
    pub fn trim(&self, keep: usize) -> Result<(), Diagnostic> {
        match &*self.inner {
            Inner::Cuda { device, .. } => Ok(device.trim(keep)?),
            Inner::Emulator { .. } => Ok(()),
        }
    }

    /// Waits until all work is done. Returns the error of earlier work, if some failed.
    pub fn synchronize(&self) -> Result<(), Diagnostic> {
        if let Inner::Cuda { device, .. } = &*self.inner {
            device.synchronize()?;
        }
        Ok(())
    }
}
