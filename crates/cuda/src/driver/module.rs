//! Binaries on a device, and the kernels in them.

use std::sync::Arc;

use cudarc::driver::sys::{self, CUfunction_attribute_enum as A};
use cudarc::driver::{CudaFunction, CudaModule};
use cudarc::nvrtc::Ptx;

use super::device::Device;
use super::error::{CudaError, Doing};
use super::library;
use crate::nvrtc::Compiled;

/// A loaded binary. Clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct Module {
    device: Device,
    raw: Arc<CudaModule>,
}

impl Device {
    /// Loads a binary, after checking that it is complete and for this device.
    pub fn load(&self, compiled: &Compiled) -> Result<Module, CudaError> {
        Module::load(self, compiled)
    }
}

impl Module {
    pub(super) fn load(device: &Device, compiled: &Compiled) -> Result<Module, CudaError> {
        let bad = |reason: String| CudaError::BadBinary { arch: compiled.arch, reason };
        let (major, minor) = device.info().compute_capability;
        if !compiled.arch.runs_on(major, minor) {
            return Err(bad(format!("{} has compute capability {major}.{minor}", device.info().name)));
        }
        if !compiled.is_complete() {
            return Err(bad("it is not a complete ELF file".to_owned()));
        }
        let raw = device
            .inner
            .context
            .load_module(Ptx::from_binary(compiled.cubin.clone()))
            .doing("loading a binary")?;
        Ok(Module { device: device.clone(), raw })
    }

    /// The kernel of this name in the binary; [`CudaError::NoSuchKernel`] if it has none.
    pub fn function(&self, name: &str) -> Result<Function, CudaError> {
        self.find(name, None)
    }

    /// As [`Module::function`], for a kernel known to have this number of parameters. The driver is
    /// then never asked about a parameter that does not exist; memory checkers report every refused
    /// call.
    pub fn function_of(&self, name: &str, parameters: usize) -> Result<Function, CudaError> {
        self.find(name, Some(parameters))
    }

    fn find(&self, name: &str, count: Option<usize>) -> Result<Function, CudaError> {
        let missing = || CudaError::NoSuchKernel { name: name.to_owned() };
        if name.is_empty() || name.contains('\0') {
            return Err(missing());
        }
        self.device.bind()?;
        let raw = match self.raw.load_function(name) {
            Ok(raw) => raw,
            Err(error) if error.0 == sys::CUresult::CUDA_ERROR_NOT_FOUND => return Err(missing()),
            Err(error) => return Err(CudaError::driver("looking a kernel up", error)),
        };
        let number = |attribute: A| -> Result<u32, CudaError> {
            Ok(raw.get_attribute(attribute).doing("asking for the kernel's properties")?.max(0) as u32)
        };
        let info = FunctionInfo {
            name: name.to_owned(),
            registers: number(A::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            shared_bytes: number(A::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            local_bytes: number(A::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            constant_bytes: number(A::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)?,
            max_threads_per_block: number(A::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            parameters: parameter_sizes(&raw, count),
        };
        // Dynamic shared memory beyond the default has to be allowed. The maximum is set once,
        // here, for every handle to the kernel, so that launches need not set it and cannot find it
        // lowered by another.
        let most = self.device.info().shared_per_block_optin.saturating_sub(info.shared_bytes);
        if info.shared_bytes + most > self.device.info().shared_per_block {
            raw.set_attribute(A::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most as i32)
                .doing("allowing more shared memory")?;
        }
        Ok(Function { device: self.device.clone(), raw, info: Arc::new(info) })
    }
}

/// The resources that a kernel uses, as reported by the driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionInfo {
    /// Its name in the binary.
    pub name: String,
    /// 32-bit registers per thread, as compiled.
    pub registers: u32,
    /// Shared memory that it declares statically, bytes per block.
    pub shared_bytes: u32,
    /// Local memory, bytes per thread: spilled registers and indexed private arrays.
    pub local_bytes: u32,
    /// Constant memory, bytes.
    pub constant_bytes: u32,
    /// Most threads that a block may have, given the kernel's registers and launch bounds.
    pub max_threads_per_block: u32,
    /// The size of each parameter in bytes; none with drivers before 12.4, which do not report it.
    pub parameters: Option<Vec<usize>>,
}

/// A kernel of a loaded binary. Clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct Function {
    pub(super) device: Device,
    pub(super) raw: CudaFunction,
    info: Arc<FunctionInfo>,
}

impl Function {
    /// Its resource usage, as the driver reports it.
    pub fn info(&self) -> &FunctionInfo {
        &self.info
    }

    /// Blocks resident on a multiprocessor at the same time, for blocks of `threads` threads with
    /// `dynamic_shared` bytes of dynamic shared memory.
    pub fn resident_blocks(&self, threads: u32, dynamic_shared: u32) -> Result<u32, CudaError> {
        self.device.bind()?;
        self.raw
            .occupancy_max_active_blocks_per_multiprocessor(threads, dynamic_shared as usize, None)
            .doing("asking for the occupancy")
    }
}

fn parameter_sizes(function: &CudaFunction, count: Option<usize>) -> Option<Vec<usize>> {
    if !library::has_symbol(c"cuFuncGetParamInfo") {
        return None;
    }
    let mut sizes = Vec::new();
    loop {
        if count == Some(sizes.len()) {
            return Some(sizes);
        }
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the function is loaded, the driver has the call, and both pointers are valid.
        let answer =
            unsafe { sys::cuFuncGetParamInfo(function.cu_function(), sizes.len(), &mut offset, &mut size) };
        match answer {
            sys::CUresult::CUDA_SUCCESS => sizes.push(size),
            // There is no parameter of this number.
            sys::CUresult::CUDA_ERROR_INVALID_VALUE => return Some(sizes),
            _ => return None,
        }
    }
}
