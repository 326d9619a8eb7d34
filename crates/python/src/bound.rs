//! A kernel with its arguments, for launches that cost the host little.

use loopwright::prelude::Stream;
use loopwright::runtime;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::array::Array;
use crate::error::Failure;
use crate::kernel::{Counts, counts};

/// A kernel bound to its arguments. Everything was checked when it was bound.
#[pyclass(frozen, module = "loopwright._loopwright")]
pub struct BoundKernel {
    bound: runtime::Bound,
    stream: Stream,
    /// The arrays of the caller that are used where they are, on a GPU.
    in_place: Vec<String>,
    /// The arrays of the caller that were copied from the host.
    copied: Vec<String>,
}

impl BoundKernel {
    pub fn new(
        bound: runtime::Bound,
        stream: &Stream,
        in_place: Vec<String>,
        copied: Vec<String>,
    ) -> BoundKernel {
        BoundKernel { bound, stream: stream.clone(), in_place, copied }
    }
}

/// The arrays by name, the device's name, and the emulator's counts.
type Results = (Py<PyList>, String, Option<Counts>);

#[pymethods]
impl BoundKernel {
    /// Submits a launch to the stream. On a GPU the host does not wait.
    fn launch(&self, py: Python<'_>) -> PyResult<()> {
        // A full queue makes the driver wait.
        Ok(py.detach(|| self.bound.launch()).map_err(Failure::from)?)
    }

    /// Waits for all launches so far.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        Ok(py.detach(|| self.bound.wait()).map_err(Failure::from)?)
    }

    /// Launches so many times, and returns the milliseconds of each.
    fn time(&self, py: Python<'_>, repeats: usize) -> PyResult<Vec<f64>> {
        Ok(py.detach(|| self.bound.time(repeats)).map_err(Failure::from)?)
    }

    /// The arrays that the launches so far write, as `Kernel.run` returns them: on a GPU, in the
    /// order of the stream; copies on the host.
    fn results(&self, py: Python<'_>) -> PyResult<Results> {
        let on_host = self.in_place.is_empty();
        let read = || -> Result<Vec<(String, Option<Array>)>, Failure> {
            let written = self.bound.results().map(|name| {
                let is_in = |names: &[String]| names.iter().any(|other| **other == **name);
                let array = if on_host || is_in(&self.copied) {
                    Some(Array::host(&self.bound.read(name)?)?)
                } else if is_in(&self.in_place) {
                    None
                } else {
                    Some(Array::device(self.bound.array(name)?, &self.stream))
                };
                Ok((name.to_string(), array))
            });
            written.collect()
        };
        let arrays = PyList::empty(py);
        for (name, array) in py.detach(read)? {
            arrays.append((name, array))?;
        }
        let counts = self.bound.report().as_ref().map(counts);
        Ok((arrays.unbind(), self.bound.device().name().to_owned(), counts))
    }
}
