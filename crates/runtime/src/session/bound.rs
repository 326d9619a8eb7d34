//! A kernel with its arguments, ready to be launched.

use std::sync::Arc;
use std::time::Instant;

use indexmap::IndexMap;
use loopwright_emulator::Report;
use loopwright_kernel_ir::{DType, Diagnostic, Name, Number, did_you_mean};
use loopwright_program::{Owner, Program};

use super::emulate::Emulation;
use super::resolve::Resolved;
use super::stream::Stream;
use super::variant::Variant;
use super::{Compiled, Device, DeviceTensor, Tensor, record};
use crate::cuda;

/// A kernel bound to its arguments. Binding has checked everything; a launch allocates nothing and
/// looks nothing up.
///
/// It owns its global temporaries: two bound kernels may run at the same time on different streams
/// as long as they share no array that one of them writes.
#[derive(Debug)]
pub struct Bound {
    compiled: Compiled,
    variant: Arc<Variant>,
    index: DType,
    /// In the order of the program's globals.
    arrays: IndexMap<Name, DeviceTensor>,
    scalars: IndexMap<Name, Number>,
    stream: Stream,
    execution: Execution,
}

#[derive(Debug)]
pub(super) enum Execution {
    Cuda { stream: cuda::Stream, launches: Arc<[cuda::Prepared]> },
    Emulator(Arc<Emulation>),
}

impl Bound {
    pub(super) fn new(
        compiled: &Compiled,
        variant: Arc<Variant>,
        index: DType,
        arrays: IndexMap<Name, DeviceTensor>,
        resolved: &Resolved,
        stream: Stream,
        execution: Execution,
    ) -> Bound {
        let scalars = resolved.scalars.iter().map(|(name, value)| (name.clone(), *value)).collect();
        Bound { compiled: compiled.clone(), variant, index, arrays, scalars, stream, execution }
    }

    /// The device that it runs on.
    pub fn device(&self) -> &Device {
        self.compiled.device()
    }

    pub(super) fn execution(&self) -> &Execution {
        &self.execution
    }

    pub(super) fn arrays(&self) -> &IndexMap<Name, DeviceTensor> {
        &self.arrays
    }

    /// Every array that a launch uses, including temporaries, with whether it is written.
    pub(super) fn touched(&self) -> impl Iterator<Item = (&DeviceTensor, bool)> {
        let globals = self.program().globals.iter().filter(|global| global.table().is_none());
        self.arrays.values().zip(globals).map(|(array, global)| (array, global.written))
    }

    /// The launches of its kernels on a GPU, in order; none on the emulator.
    pub fn as_cuda(&self) -> Option<&[cuda::Prepared]> {
        match &self.execution {
            Execution::Cuda { launches, .. } => Some(launches),
            Execution::Emulator(_) => None,
        }
    }

    /// The type of index arithmetic that the arguments need: [`DType::I32`] or [`DType::I64`].
    pub fn index(&self) -> DType {
        self.index
    }

    /// The lowered program, for the index type that the arguments need.
    pub fn program(&self) -> &Program {
        &self.variant.program
    }

    /// The value of a scalar argument, given or derived from a shape.
    pub fn scalar(&self, name: &str) -> Option<Number> {
        self.scalars.get(name).copied()
    }

    /// Submits one launch to the stream. A GPU reports errors of the work in the next call that
    /// waits. The emulator reports them in this call, and then no array has changed.
    pub fn launch(&self) -> Result<(), Diagnostic> {
        match &self.execution {
            Execution::Cuda { launches, .. } => {
                self.put_on_gpu(launches)?;
                Ok(())
            }
            Execution::Emulator(emulation) => emulation.run(&self.arrays),
        }
    }

    fn put_on_gpu(&self, launches: &[cuda::Prepared]) -> Result<(), cuda::CudaError> {
        for launch in launches {
            // SAFETY: the kernel was lowered to access its arrays within their shapes, which were
            // compared with the buffers, for all values of the scalars; subscripts read from data
            // are the caller's declared facts. The parameters are those of the program that the
            // kernel was printed from.
            unsafe { launch.launch()? };
        }
        Ok(())
    }

    /// Waits until all launches are done. Returns the error of earlier work, if some failed.
    pub fn wait(&self) -> Result<(), Diagnostic> {
        self.stream.synchronize()
    }

    /// Launches this many times and returns the milliseconds of each launch: by events on a GPU,
    /// after one launch that is not timed; by the clock on the emulator.
    pub fn time(&self, repeats: usize) -> Result<Vec<f64>, Diagnostic> {
        match &self.execution {
            Execution::Cuda { stream, launches } => {
                let times = stream.time(1, repeats, |_| self.put_on_gpu(launches))?;
                Ok(times.into_iter().map(f64::from).collect())
            }
            Execution::Emulator(emulation) => (0..repeats)
                .map(|_| {
                    let start = Instant::now();
                    emulation.run(&self.arrays)?;
                    Ok(start.elapsed().as_secs_f64() * 1e3)
                })
                .collect(),
        }
    }

    /// Launches these alternately for this many rounds, and returns the milliseconds of each
    /// launch, in the order of the launches. Alternation compares candidates under the same
    /// conditions; with several sets of arrays, a kernel finds none of them in a cache. All must be
    /// bound to the same stream. An additional first round is not timed.
    pub fn time_in_turn(bounds: &[&Bound], rounds: usize) -> Result<Vec<f64>, Diagnostic> {
        let Some(first) = bounds.first() else { return Ok(Vec::new()) };
        let Execution::Cuda { stream, .. } = &first.execution else {
            let mut times = Vec::with_capacity(rounds * bounds.len());
            for _ in 0..rounds {
                for bound in bounds {
                    times.extend(bound.time(1)?);
                }
            }
            return Ok(times);
        };
        let mut turn = 0;
        let times = stream.time(bounds.len(), rounds * bounds.len(), |_| {
            let bound = bounds[turn % bounds.len()];
            turn += 1;
            match &bound.execution {
                Execution::Cuda { launches, .. } => bound.put_on_gpu(launches),
                Execution::Emulator(_) => Err(cuda::CudaError::Foreign {
                    what: "one of the kernels is bound to a different device",
                }),
            }
        })?;
        Ok(times.into_iter().map(f64::from).collect())
    }

    /// The elements of an array argument, after the launches so far; of an array of structs, their
    /// bytes.
    pub fn read(&self, name: &str) -> Result<Tensor, Diagnostic> {
        self.array(name)?.read_on(&self.stream)
    }

    /// Replaces the elements of an array argument, for later launches.
    pub fn write(&self, name: &str, tensor: &Tensor) -> Result<(), Diagnostic> {
        self.array(name)?.write_on(&self.stream, tensor)
    }

    /// The device array of an argument.
    pub fn array(&self, name: &str) -> Result<&DeviceTensor, Diagnostic> {
        let of_caller = self.program().globals.iter().filter(|g| g.owner == Owner::Caller);
        let records = self.program().records.iter().map(|r| r.name.as_str());
        let known: Vec<&str> = of_caller.map(|g| g.name.as_str()).chain(records).collect();
        if let Some(whole) = record::whole(self.program(), &self.arrays, name) {
            return Ok(whole);
        }
        match self.arrays.get(name) {
            Some(array) if known.contains(&name) => Ok(array),
            _ => Err(unknown_array(name, &known)),
        }
    }

    /// The array arguments that the kernel writes.
    pub fn written(&self) -> impl Iterator<Item = &Name> {
        self.program().globals.iter().filter(|g| g.owner == Owner::Caller && g.written).map(|g| &g.name)
    }

    /// The arrays that the kernel writes, as a caller knows them: those of structs by their own
    /// name, and not by their fields.
    pub fn results(&self) -> impl Iterator<Item = &Name> {
        let program = self.program();
        let of_caller = program.globals.iter().enumerate();
        let plain = of_caller
            .filter(|(k, g)| g.owner == Owner::Caller && g.written && program.field_place(*k).is_none());
        plain.map(|(_, g)| &g.name).chain(record::written(program).map(|r| &r.name))
    }

    /// The emulator's counts of the last launch; none on a GPU, or before the first launch.
    pub fn report(&self) -> Option<Report> {
        match &self.execution {
            Execution::Cuda { .. } => None,
            Execution::Emulator(emulation) => emulation.report(),
        }
    }

    /// Launches once and reads back every array that the kernel writes.
    pub fn run(&self) -> Result<Outputs, Diagnostic> {
        let milliseconds = match &self.execution {
            Execution::Cuda { stream, launches } => {
                let times = stream.time(0, 1, |_| self.put_on_gpu(launches))?;
                times.first().copied().map_or(0.0, f64::from)
            }
            Execution::Emulator(_) => self.time(1)?.first().copied().unwrap_or(0.0),
        };
        let arrays = self
            .written()
            .map(|name| Ok((name.clone(), self.read(name)?)))
            .collect::<Result<IndexMap<Name, Tensor>, Diagnostic>>()?;
        let records = record::written(self.program())
            .map(|record| Ok((record.name.clone(), self.read(&record.name)?)))
            .collect::<Result<IndexMap<Name, Tensor>, Diagnostic>>()?;
        Ok(Outputs {
            arrays,
            records,
            report: self.report(),
            milliseconds,
            device: self.compiled.device().name().to_owned(),
            index: self.index,
        })
    }
}

fn unknown_array(name: &str, known: &[&str]) -> Diagnostic {
    let d = Diagnostic::new("unknown-argument", format!("there is no array `{name}`"));
    let near = did_you_mean(name, known.iter().copied());
    d.help(near.unwrap_or_else(|| format!("the arrays are {}", known.join(", "))))
}

/// Results of one launch, copied to the host.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// The arrays that the kernel writes, in the order of the arguments.
    pub arrays: IndexMap<Name, Tensor>,
    /// The arrays of structs of which the kernel writes a field, as bytes. Among `arrays` are the
    /// fields.
    pub records: IndexMap<Name, Tensor>,
    /// The emulator's counts; none on a GPU.
    pub report: Option<Report>,
    /// Duration of the launch: by events on a GPU, by the clock on the emulator.
    pub milliseconds: f64,
    /// The name of the device that it ran on.
    pub device: String,
    /// The type of index arithmetic: [`DType::I32`] or [`DType::I64`].
    pub index: DType,
}

impl Outputs {
    /// An array that the kernel wrote.
    pub fn get(&self, name: &str) -> Result<&Tensor, Diagnostic> {
        self.arrays.get(name).or_else(|| self.records.get(name)).ok_or_else(|| {
            let known: Vec<&str> = self.arrays.keys().chain(self.records.keys()).map(Name::as_str).collect();
            unknown_array(name, &known)
        })
    }
}
