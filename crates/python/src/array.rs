//! Results, as other libraries take them: by the array interface on the host, and by DLPack.

use std::sync::{Arc, Mutex};

use loopwright::prelude::{DType, DeviceTensor, Stream, Tensor};
use loopwright::runtime::dlpack::{Description, Place, Shared};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Failure;
use crate::exchange;

/// An array that a kernel wrote. Other libraries take it without a copy: NumPy by
/// `numpy.asarray`, all by their `from_dlpack`.
#[pyclass(frozen, module = "loopwright")]
pub struct Array {
    memory: Memory,
}

enum Memory {
    /// On the host. The lock lets threads share the owner; nobody takes it.
    Host(Description, Arc<Mutex<Shared>>),
    /// On a GPU, written by work on the stream.
    Device(DeviceTensor, Stream),
}

impl Array {
    /// An array in the memory of the host.
    pub fn host(tensor: &Tensor) -> Result<Array, Failure> {
        let shared = tensor.share()?;
        let memory = Memory::Host(shared.description().clone(), Arc::new(Mutex::new(shared)));
        Ok(Array { memory })
    }

    /// An array on a GPU, complete in the order of a stream.
    pub fn device(tensor: &DeviceTensor, produced_on: &Stream) -> Array {
        Array { memory: Memory::Device(tensor.clone(), produced_on.clone()) }
    }

    fn element(&self) -> DType {
        match &self.memory {
            Memory::Host(description, _) => description.dtype,
            Memory::Device(tensor, _) => tensor.dtype(),
        }
    }
}

#[pymethods]
impl Array {
    /// The type of the elements, as kernels write it: `f32`, `bf16`.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.element().name()
    }

    /// The length of each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
        pyo3::types::PyTuple::new(
            py,
            match &self.memory {
                Memory::Host(description, _) => &description.shape,
                Memory::Device(tensor, _) => tensor.shape(),
            },
        )
    }

    /// NumPy's array interface. NumPy has no bf16: such elements appear as their bits, in u16.
    #[getter(__array_interface__)]
    fn interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Memory::Host(description, _) = &self.memory else {
            return Err(pyo3::exceptions::PyAttributeError::new_err("the array is on a GPU"));
        };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("typestr", exchange::type_string(description.dtype))?;
        interface.set_item("data", (description.address, false))?;
        Ok(interface)
    }

    /// The device of the memory, as DLPack numbers it.
    fn __dlpack_device__(&self) -> (i32, i32) {
        let place = match &self.memory {
            Memory::Host(description, _) => description.place,
            Memory::Device(tensor, _) => Place {
                kind: Place::CUDA,
                number: i32::try_from(tensor.device().limits().ordinal).unwrap_or(i32::MAX),
            },
        };
        (place.kind, place.number)
    }

    /// A capsule by DLPack. On a GPU the receiver's stream waits for the elements; the host does
    /// not.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<i64>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if dl_device.is_some_and(|asked| asked != self.__dlpack_device__()) || copy == Some(true) {
            return Err(PyBufferError::new_err("the array is passed where it is and without a copy only"));
        }
        let shared = match &self.memory {
            Memory::Host(description, memory) => {
                // SAFETY: the description is that of the memory, which its owner keeps.
                unsafe { Shared::lend(description.clone(), Box::new(memory.clone())) }
            }
            Memory::Device(tensor, produced_on) => {
                let receiver = match stream {
                    // By the protocol the receiver orders its work itself.
                    Some(-1) => produced_on.clone(),
                    None => exchange::stream_of(tensor.device(), 1)?,
                    Some(handle) => exchange::stream_of(tensor.device(), u64::try_from(handle)?)?,
                };
                tensor.share_on(produced_on, &receiver).map_err(Failure::from)?
            }
        };
        exchange::capsule(py, shared, max_version.is_some_and(|(major, _)| major >= 1))
    }
}
