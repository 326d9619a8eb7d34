//! A declared kernel with the steps that were applied to it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use loopwright::host_code::heading;
use loopwright::ir::Library;
use loopwright::prelude::{
    Args, Compiled, DType, Device, Diagnostic, LoopKernel, Name, Pipeline, Report, Space, Step, cuda_source,
};
use loopwright::runtime;
use loopwright::transforms::held_to_declared;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arguments::{self, Where};
use crate::array::Array;
use crate::bound;
use crate::error::Failure;
use crate::tune;

/// A kernel. It never changes: steps make new ones.
#[pyclass(frozen, module = "loopwright._loopwright")]
pub struct Kernel {
    /// The kernel as it was given.
    declared: LoopKernel,
    /// The steps from there to `kernel`.
    pipeline: Pipeline,
    kernel: LoopKernel,
    /// By the name and number of the device.
    compiled: Mutex<BTreeMap<(String, u32), Compiled>>,
}

impl Kernel {
    fn new(declared: LoopKernel, pipeline: Pipeline, kernel: LoopKernel) -> Kernel {
        Kernel { declared, pipeline, kernel, compiled: Mutex::default() }
    }

    /// A kernel without steps.
    pub fn declared_as(kernel: LoopKernel) -> Kernel {
        Kernel::new(kernel.clone(), Pipeline::new(), kernel)
    }

    /// The kernel on a device, compiled once.
    fn compiled_for(&self, device: &Device) -> Result<Compiled, Diagnostic> {
        let key = (device.name().to_owned(), device.limits().ordinal as u32);
        let known = || self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = known().get(&key) {
            return Ok(compiled.clone());
        }
        let compiled = device.compile(&self.kernel)?;
        known().insert(key, compiled.clone());
        Ok(compiled)
    }
}

#[pymethods]
impl Kernel {
    /// A kernel from its text. `origin` names the text in errors; `library` has the names and texts
    /// of kernels that it may call.
    #[new]
    #[pyo3(signature = (text, origin = "<kernel>", library = Vec::new()))]
    fn parse(py: Python<'_>, text: &str, origin: &str, library: Vec<(String, String)>) -> PyResult<Kernel> {
        let parse = || -> Result<LoopKernel, Failure> {
            let library = library
                .iter()
                .try_fold(Library::new(), |all, (origin, text)| all.with_bytes(origin, text.as_bytes()))?;
            Ok(held_to_declared(LoopKernel::parse_bytes_with(origin, text.as_bytes(), &library)?)?)
        };
        Ok(Kernel::declared_as(py.detach(parse)?))
    }

    /// One kernel of this one and of another, which runs after it.
    fn fuse(&self, other: &Kernel, name: &str) -> PyResult<Kernel> {
        Ok(Kernel::declared_as(self.kernel.fuse(&other.kernel, name).map_err(Failure::from)?))
    }

    /// The kernel for many problems, which differ in some arguments.
    fn batched(&self, of: Vec<String>, iname: &str, count: &str) -> PyResult<Kernel> {
        Ok(Kernel::declared_as(self.kernel.batched(iname, count, of).map_err(Failure::from)?))
    }

    /// The kernel with an argument for each value on an axis of an array.
    fn separated(&self, array: &str, axis: usize, names: Vec<String>) -> PyResult<Kernel> {
        Ok(Kernel::declared_as(self.kernel.separated(array, axis, names).map_err(Failure::from)?))
    }

    /// The kernel with one argument for several arrays, one behind the other.
    fn concatenated(&self, arrays: Vec<String>, axis: usize, name: &str) -> PyResult<Kernel> {
        Ok(Kernel::declared_as(self.kernel.concatenated(arrays, axis, name).map_err(Failure::from)?))
    }

    /// The kernel after these steps, with values for open parameters.
    #[pyo3(signature = (pipeline, parameters, origin = "<pipeline>"))]
    fn apply(
        &self,
        py: Python<'_>,
        pipeline: &str,
        parameters: BTreeMap<String, i64>,
        origin: &str,
    ) -> PyResult<Kernel> {
        let apply = || -> Result<Kernel, Failure> {
            let steps = Pipeline::parse_file(origin, pipeline, &loopwright::automatic::registry())?
                .bind(parameters)?;
            let kernel = steps.apply(&self.kernel)?;
            Ok(Kernel::new(self.declared.clone(), self.pipeline.clone().then(&steps), kernel))
        };
        Ok(py.detach(apply)?)
    }

    /// The kernel after one step, given by its text.
    fn step(&self, py: Python<'_>, text: &str) -> PyResult<Kernel> {
        let apply = || -> Result<Kernel, Failure> {
            let step = Pipeline::parse_file("<step>", text, &loopwright::automatic::registry())?;
            if step.steps().len() != 1 {
                // It says what is expected.
                Step::parse(text)?;
            }
            let kernel = step.apply(&self.kernel)?;
            Ok(Kernel::new(self.declared.clone(), self.pipeline.clone().then(&step), kernel))
        };
        Ok(py.detach(apply)?)
    }

    /// The kernel with its open types bound.
    fn with_types(&self, types: BTreeMap<String, String>) -> PyResult<Kernel> {
        let bind = || -> Result<Kernel, Failure> {
            let mut bound = BTreeMap::new();
            for (name, text) in types {
                bound.insert(Name::new(name), dtype(&text)?);
            }
            let declared = runtime::bind_open_types(&self.declared, &bound)?;
            let kernel = runtime::bind_open_types(&self.kernel, &bound)?;
            Ok(Kernel::new(declared, self.pipeline.clone(), kernel))
        };
        Ok(bind()?)
    }

    /// The kernel's name.
    #[getter]
    fn name(&self) -> String {
        self.kernel.name.to_string()
    }

    /// The names of its arguments.
    #[getter]
    fn arguments(&self) -> Vec<String> {
        self.kernel.args.iter().map(|arg| arg.name().to_string()).collect()
    }

    /// The names of the arguments that it writes.
    #[getter]
    fn written(&self) -> Vec<String> {
        let names = self.kernel.args.iter().map(|arg| arg.name().to_string());
        names.filter(|name| arguments::is_written(&self.kernel, name)).collect()
    }

    /// The text of the kernel as it was given.
    #[getter]
    fn declared(&self) -> String {
        self.declared.to_string()
    }

    /// The text of the kernel after all steps.
    #[getter]
    fn text(&self) -> String {
        self.kernel.to_string()
    }

    /// The steps, one a line.
    #[getter]
    fn steps(&self) -> String {
        self.pipeline.to_string()
    }

    /// The kernel as CUDA C, below what a host needs to launch it.
    fn cuda(&self, py: Python<'_>) -> PyResult<String> {
        let print = || -> Result<String, Failure> {
            let (program, _) = runtime::program_to_show(&self.kernel, None)?;
            Ok(format!("{}{}", heading(&program), cuda_source(&program)?.text))
        };
        Ok(py.detach(print)?)
    }

    /// The lowered program.
    fn program(&self, py: Python<'_>) -> PyResult<String> {
        let lower =
            || -> Result<String, Failure> { Ok(runtime::program_to_show(&self.kernel, None)?.0.to_string()) };
        Ok(py.detach(lower)?)
    }

    /// The verdict on each step and what it changed, or the reasons of the lowered program's
    /// barriers, guards and copies.
    fn explain(&self, py: Python<'_>, lowered: bool) -> PyResult<String> {
        let explain = || -> Result<String, Failure> {
            if lowered {
                return Ok(runtime::program_to_show(&self.kernel, None)?.0.explain().to_string());
            }
            Ok(self.pipeline.explain(&self.declared).to_string())
        };
        Ok(py.detach(explain)?)
    }

    /// Runs the kernel once. Returns the arrays that it wrote, the device's name, the milliseconds
    /// and the emulator's counts. An array is `None` if it is in the caller's own memory on the
    /// device. With `check`, results are first compared with those of the declared kernel. With
    /// `keeps`, the caller's arrays on the host are not overwritten with the results. With
    /// `in_order`, the library of arrays on a GPU orders later uses of their memory after the
    /// stream's work, so that nothing waits before they are given back.
    #[pyo3(signature = (values, device, stream, keeps, in_order, check, tolerance))]
    #[expect(clippy::too_many_arguments, reason = "called in one place, in the package")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        values: &Bound<'py, PyDict>,
        device: Option<&str>,
        stream: Option<u64>,
        keeps: bool,
        in_order: bool,
        check: bool,
        tolerance: Option<f64>,
    ) -> PyResult<Ran<'py>> {
        if check {
            // The reference computes in f32 too what the declared kernel does.
            for note in self.kernel.declared().single_in_double() {
                let text = std::ffi::CString::new(note.to_string()).unwrap_or_default();
                // Two calls of the package lie between the user's and this one.
                PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 3)?;
            }
        }
        // A check reads the arguments on the device's own stream.
        let in_order = in_order && !check;
        let place = Where { in_order, ..arguments::place(device, stream, values)? };
        let (args, in_place) = arguments::arguments(&self.kernel, &place, values, keeps)?;
        if keeps {
            arguments::check_never_written(&self.kernel, &in_place).map_err(Failure::from)?;
        }
        let done = py.detach(|| {
            let done = self.done(&place, &args, &in_place, check, tolerance);
            // Memory that is given back waits for the device.
            drop(args);
            done
        })?;
        let results = PyList::empty(py);
        for (name, array) in done.arrays {
            results.append((name, array))?;
        }
        Ok((results, place.device.name().to_owned(), done.milliseconds, done.counts))
    }

    /// Checks these arguments once, for launches that are submitted to the stream without waiting.
    /// Arrays on the host are copied to the device here. `in_order` is that of `run`.
    #[pyo3(signature = (values, device, stream, in_order))]
    fn bind(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyDict>,
        device: Option<&str>,
        stream: Option<u64>,
        in_order: bool,
    ) -> PyResult<bound::BoundKernel> {
        let place = Where { in_order, ..arguments::place(device, stream, values)? };
        let (args, in_place) = arguments::arguments(&self.kernel, &place, values, false)?;
        let bind = || -> Result<bound::BoundKernel, Failure> {
            let bound = self.compiled_for(&place.device)?.bind_on(&place.stream, &args)?;
            let copied = bound.results().filter(|name| args.host_tensor(name).is_some());
            let copied = copied.map(|name| name.to_string()).collect();
            // Memory that is given back waits for the device.
            drop(args);
            Ok(bound::BoundKernel::new(bound, &place.stream, in_place, copied))
        };
        Ok(py.detach(bind)?)
    }

    /// Searches for the best values of a pipeline's open parameters, on these arguments; checks and
    /// counts take the sample, if there is one.
    #[pyo3(signature = (search, values, sample, device, options))]
    fn tune(
        &self,
        py: Python<'_>,
        search: (String, String),
        values: &Bound<'_, PyDict>,
        sample: Option<&Bound<'_, PyDict>>,
        device: Option<&str>,
        options: tune::Options,
    ) -> PyResult<tune::Found> {
        let place = arguments::place(device, None, values)?;
        let given = |values: &Bound<'_, PyDict>| -> Result<Args, Failure> {
            Ok(arguments::arguments(&self.kernel, &place, values, true)?.0.on_host()?)
        };
        let (args, sample) = (given(values)?, sample.map(given).transpose()?);
        let search = || -> Result<tune::Found, Failure> {
            let pipeline = Pipeline::parse_file("<pipeline>", &search.0, &loopwright::automatic::registry())?;
            let space = Space::parse(&search.1)?;
            tune::tune(&place.device, &self.kernel, (&pipeline, &space), (&args, sample.as_ref()), &options)
        };
        Ok(py.detach(search)?)
    }
}

/// The type with this name; an error names all types.
pub fn dtype(name: &str) -> Result<DType, Diagnostic> {
    DType::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = DType::ALL.iter().map(|t| t.name()).collect();
        Diagnostic::new("unknown-type", format!("`{name}` is no type"))
            .help(format!("the types are {}", names.join(", ")))
    })
}

/// The arrays by name, the device's name, the milliseconds, and the emulator's counts.
type Ran<'py> = (Bound<'py, PyList>, String, Option<f64>, Option<Counts>);

/// The emulator's counts of a run, by name.
pub type Counts = BTreeMap<&'static str, u64>;

/// The counts of a report that Python shows.
pub fn counts(report: &Report) -> Counts {
    let total = &report.total;
    BTreeMap::from([
        ("launches", total.launches),
        ("blocks", total.blocks),
        ("bytes_moved", total.global_bytes_moved()),
        ("barriers", total.barriers),
        ("bank_conflicts", total.bank_conflicts()),
    ])
}

/// What a run gives back to Python.
struct Done {
    arrays: Vec<(String, Option<Array>)>,
    /// None where the host did not wait.
    milliseconds: Option<f64>,
    /// `None` on a GPU, which does not count.
    counts: Option<Counts>,
}

impl Kernel {
    fn done(
        &self,
        place: &Where,
        args: &Args,
        in_place: &[String],
        check: bool,
        tolerance: Option<f64>,
    ) -> Result<Done, Failure> {
        let compiled = self.compiled_for(&place.device)?;
        // Before the launch, which may change the arguments.
        let expected = match check {
            true => Some(compiled.expectation(&args.on_host()?)?),
            false => None,
        };
        let bound = compiled.bind_on(&place.stream, args)?;
        let outputs = if in_place.is_empty() { Some(bound.run()?) } else { None };
        if outputs.is_none() {
            bound.launch()?;
        }
        if let Some(expected) = expected {
            let results = bound.written().map(|name| Ok((name.clone(), bound.read(name)?)));
            let results = results.collect::<Result<_, Diagnostic>>()?;
            if let Some(difference) = expected.difference(&results, tolerance)? {
                return Err(Diagnostic::new("wrong-result", difference)
                    .help(
                        "this is a fault of the library or of the device, unless the tolerance is too small",
                    )
                    .into());
            }
        }
        let mut arrays = Vec::new();
        for name in bound.results() {
            let array = match &outputs {
                Some(outputs) => Some(Array::host(outputs.get(name)?)?),
                None if args.host_tensor(name).is_some() => Some(Array::host(&bound.read(name)?)?),
                None if in_place.iter().any(|n| **n == **name) => None,
                None => Some(Array::device(bound.array(name)?, &place.stream)),
            };
            arrays.push((name.to_string(), array));
        }
        let report = outputs.as_ref().and_then(|outputs| outputs.report.as_ref());
        let counts = report.map(counts);
        Ok(Done { arrays, milliseconds: outputs.map(|outputs| outputs.milliseconds), counts })
    }
}
