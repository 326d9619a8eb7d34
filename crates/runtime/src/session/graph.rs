//! Sequences of launches and copies that are recorded once and launched as a whole.
//!
//! A [`Sequence`] is recorded, not run: nothing reaches the device before the [`Graph`] is
//! launched. Two pieces of work that access the same memory, at least one of them writing, keep the
//! order in which they were recorded; all others may run at the same time. The accesses of a launch
//! follow from its arrays and its kernel; streams are ignored.

use std::sync::Arc;

use indexmap::IndexMap;
use loopwright_kernel_ir::{Diagnostic, Name};

use super::bound::Execution;
use super::device::Inner;
use super::emulate::Emulation;
use super::stream::Stream;
use super::{Bound, Device, DeviceTensor};
use crate::cuda;

/// Launches and copies in the order in which they were recorded; see [`Device::record`].
#[derive(Debug)]
pub struct Sequence {
    device: Device,
    pieces: Vec<Piece>,
}

/// One launch of a bound kernel, or one copy.
#[derive(Debug)]
struct Piece {
    work: Work,
    /// The memory that it reads or writes.
    touches: Vec<Touch>,
}

#[derive(Debug)]
enum Work {
    /// The kernels of a bound launch, in their order.
    Cuda(Arc<[cuda::Prepared]>),
    Emulator {
        emulation: Arc<Emulation>,
        arrays: IndexMap<Name, DeviceTensor>,
    },
    Copy {
        from: DeviceTensor,
        to: DeviceTensor,
    },
}

#[derive(Clone, Copy, Debug)]
struct Touch {
    begin: u64,
    end: u64,
    writes: bool,
}

impl Touch {
    fn of(tensor: &DeviceTensor, writes: bool) -> Touch {
        let (begin, end) = tensor.extent();
        Touch { begin, end, writes }
    }

    fn conflicts(&self, other: &Touch) -> bool {
        (self.writes || other.writes) && self.begin < other.end && other.begin < self.end
    }
}

impl Device {
    /// Records launches and copies, and makes a graph of them.
    ///
    /// ```
    /// # use loopwright_runtime::{Args, Device, Tensor};
    /// # use loopwright_kernel_ir::LoopKernel;
    /// # let device = Device::emulator();
    /// # let kernel = LoopKernel::parse(
    /// #     "kernel twice(x: f32[n], n: i32)\n{ [i] : 0 <= i < n }\nx[i] = 2.0 * x[i]",
    /// # )?;
    /// let x = device.upload(&Tensor::from_vec(&[2], vec![1.0f32, 3.0])?)?;
    /// let twice = device.compile(&kernel)?.bind(&Args::new().device_tensor("x", &x))?;
    /// let mut graph = device.record(|sequence| {
    ///     sequence.launch(&twice)?;
    ///     sequence.launch(&twice)
    /// })?;
    /// graph.launch()?;
    /// graph.launch()?;
    /// assert_eq!(x.download()?.to_vec::<f32>()?, [16.0, 48.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn record(
        &self,
        work: impl FnOnce(&mut Sequence) -> Result<(), Diagnostic>,
    ) -> Result<Graph, Diagnostic> {
        let mut sequence = Sequence { device: self.clone(), pieces: Vec::new() };
        work(&mut sequence)?;
        sequence.finish()
    }
}

impl Sequence {
    /// Adds one launch of a bound kernel, whose stream is ignored. The graph keeps the arrays
    /// alive, and uses the values that they have when it is launched.
    pub fn launch(&mut self, bound: &Bound) -> Result<(), Diagnostic> {
        if !bound.device().is(&self.device) {
            return Err(self.other_device("the kernel is bound on"));
        }
        let touches = bound.touched().map(|(array, writes)| Touch::of(array, writes)).collect();
        let work = match bound.execution() {
            Execution::Cuda { launches, .. } => Work::Cuda(launches.clone()),
            Execution::Emulator(emulation) => {
                Work::Emulator { emulation: emulation.clone(), arrays: bound.arrays().clone() }
            }
        };
        self.pieces.push(Piece { work, touches });
        Ok(())
    }

    /// Adds a copy of all elements from one array to another of the same type, shape and strides,
    /// both on the device of the sequence.
    pub fn copy(&mut self, from: &DeviceTensor, to: &DeviceTensor) -> Result<(), Diagnostic> {
        let own = |array: &DeviceTensor| array.device().is(&self.device);
        match (own(from), own(to)) {
            (true, true) => {}
            (false, false) => return Err(self.other_device("the array is on")),
            _ => {
                return Err(Diagnostic::new("other-device", "a sequence cannot copy between devices")
                    .help("copy before or after it, with `Stream::copy` or `DeviceTensor::copy_to`"));
            }
        }
        from.check_copy(to)?;
        let touches = vec![Touch::of(from, false), Touch::of(to, true)];
        self.pieces.push(Piece { work: Work::Copy { from: from.clone(), to: to.clone() }, touches });
        Ok(())
    }

    /// The number of launches and copies recorded so far.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    fn other_device(&self, what: &str) -> Diagnostic {
        Diagnostic::new("other-device", format!("{what} a different device than {}", self.device.name()))
            .help("record a separate sequence for each device")
    }

    fn finish(self) -> Result<Graph, Diagnostic> {
        let execution = match &*self.device.inner {
            Inner::Emulator { .. } => Replay::Emulator(self.pieces),
            Inner::Cuda { device, .. } => {
                let nodes = nodes(&self.pieces)?;
                // SAFETY: each launch is of a kernel that was lowered to access its arrays within
                // their shapes, as when it is launched by itself, and nodes that conflict wait for
                // each other.
                Replay::Cuda(unsafe { device.graph(nodes)? })
            }
        };
        Ok(Graph { device: self.device, execution })
    }
}

/// For each piece of work, the earlier ones that it waits for: those that it conflicts with, unless
/// another of these already waits for them.
fn dependences(pieces: &[Piece]) -> Vec<Vec<usize>> {
    let words = pieces.len().div_ceil(64);
    // For each piece, the set of all that are ordered before it, as bits.
    let mut earlier: Vec<Vec<u64>> = Vec::with_capacity(pieces.len());
    let mut direct = Vec::with_capacity(pieces.len());
    for (number, piece) in pieces.iter().enumerate() {
        let mut known = vec![0u64; words];
        let mut waits = Vec::new();
        for other in (0..number).rev() {
            let implied = known[other / 64] >> (other % 64) & 1 == 1;
            let conflict =
                || piece.touches.iter().any(|a| pieces[other].touches.iter().any(|b| a.conflicts(b)));
            if !implied && conflict() {
                waits.push(other);
                known[other / 64] |= 1 << (other % 64);
                known.iter_mut().zip(&earlier[other]).for_each(|(a, b)| *a |= b);
            }
        }
        waits.reverse();
        direct.push(waits);
        earlier.push(known);
    }
    direct
}

/// The nodes of the driver's graph. The kernels of one launch follow each other.
fn nodes(pieces: &[Piece]) -> Result<Vec<cuda::Node>, Diagnostic> {
    let waits = dependences(pieces);
    let mut nodes: Vec<cuda::Node> = Vec::new();
    // The last node of each piece; `None` for a launch without kernels, whose dependences are
    // inherited by those that wait for it.
    let mut last: Vec<Vec<usize>> = Vec::with_capacity(pieces.len());
    for (piece, waits) in pieces.iter().zip(waits) {
        let mut after: Vec<usize> = waits.into_iter().flat_map(|w| last[w].clone()).collect();
        after.sort_unstable();
        after.dedup();
        let work: Vec<cuda::Work> = match &piece.work {
            Work::Cuda(launches) => launches.iter().cloned().map(cuda::Work::Launch).collect(),
            Work::Copy { from, to } => {
                let (from, to) = (from.cuda_buffer()?.clone(), to.cuda_buffer()?.clone());
                let bytes = from.bytes().min(to.bytes());
                vec![cuda::Work::Copy { from, from_offset: 0, to, to_offset: 0, bytes }]
            }
            Work::Emulator { .. } => Vec::new(),
        };
        for work in work {
            nodes.push(cuda::Node { work, after });
            after = vec![nodes.len() - 1];
        }
        last.push(after);
    }
    Ok(nodes)
}

/// A recorded sequence, which can be launched any number of times. It keeps its kernels and arrays
/// alive.
#[derive(Debug)]
pub struct Graph {
    device: Device,
    execution: Replay,
}

#[derive(Debug)]
enum Replay {
    Cuda(cuda::Graph),
    Emulator(Vec<Piece>),
}

impl Graph {
    /// Submits the whole graph to the device's default stream as one piece of work. A GPU reports
    /// errors of the work in the next call that waits, the emulator in this one.
    pub fn launch(&mut self) -> Result<(), Diagnostic> {
        let stream = self.device.default_stream();
        self.launch_on(&stream)
    }

    /// As [`Graph::launch`], on a stream of the device.
    pub fn launch_on(&mut self, stream: &Stream) -> Result<(), Diagnostic> {
        match (&mut self.execution, &stream.0) {
            (Replay::Cuda(graph), Some(stream)) => {
                // SAFETY: as for its creation. As for all launches, other streams must not use its
                // arrays at the same time.
                unsafe { graph.launch(stream)? };
                Ok(())
            }
            (Replay::Emulator(pieces), None) => pieces.iter().try_for_each(|piece| match &piece.work {
                Work::Emulator { emulation, arrays } => emulation.run(arrays),
                Work::Copy { from, to } => from.copy_on(stream, to),
                Work::Cuda(_) => Ok(()),
            }),
            _ => Err(Diagnostic::new(
                "other-device",
                "the stream belongs to a different device than the graph",
            )
            .help("create the stream on the device that the sequence was recorded for")),
        }
    }

    /// The device that it was recorded for.
    pub fn device(&self) -> &Device {
        &self.device
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(touches: &[(u64, bool)]) -> Piece {
        let device = Device::emulator();
        let any = device.uninit(&[1], loopwright_kernel_ir::DType::F32).unwrap();
        let touches =
            touches.iter().map(|&(begin, writes)| Touch { begin, end: begin + 8, writes }).collect();
        Piece { work: Work::Copy { from: any.clone(), to: any }, touches }
    }

    #[test]
    fn only_conflicts_are_waited_for_and_each_once() {
        let pieces = [
            piece(&[(0, true)]),
            // Reads what the first wrote, as the next does: both may run at once.
            piece(&[(0, false), (16, true)]),
            piece(&[(4, false), (32, true)]),
            // Independent of the others.
            piece(&[(64, true)]),
            // Overwrites what both read; the order after the first is implied.
            piece(&[(0, true)]),
            piece(&[(16, false), (0, false)]),
        ];
        let expected: [&[usize]; 6] = [&[], &[0], &[0], &[], &[1, 2], &[4]];
        assert_eq!(dependences(&pieces), expected);
    }
}
