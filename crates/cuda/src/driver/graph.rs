//! Graphs: sequences of work that are defined once and then launched as a whole.
//!
//! The nodes of a graph are added one by one instead of by capturing a stream: during a capture,
//! other threads of the process must not wait for the device, since that would invalidate the
//! capture.

use cudarc::driver::{result, sys};

use super::buffer::Buffer;
use super::device::Device;
use super::error::{CudaError, Doing};
use super::library;
use super::prepared::Prepared;
use super::stream::Stream;

/// The work of one node of a graph.
#[derive(Clone, Debug)]
pub enum Work {
    /// A launch. The stream that it was prepared for is ignored.
    Launch(Prepared),
    /// A copy of bytes between two buffers of one device.
    Copy {
        /// The buffer copied from.
        from: Buffer,
        /// Offset of the first byte in `from`.
        from_offset: usize,
        /// The buffer copied to, on the same device.
        to: Buffer,
        /// Offset of the first byte in `to`.
        to_offset: usize,
        /// Length of the copy, bytes; 0 makes a node without work.
        bytes: usize,
    },
}

/// A node of a graph: its work, and what it waits for.
#[derive(Clone, Debug)]
pub struct Node {
    /// A launch, or a copy of bytes.
    pub work: Work,
    /// Indices of the earlier nodes that it waits for, without duplicates.
    pub after: Vec<usize>,
}

/// Launches and copies that are launched as a whole. The graph keeps the buffers and kernels that
/// they use alive.
#[derive(Debug)]
pub struct Graph {
    device: Device,
    exec: sys::CUgraphExec,
    _nodes: Vec<Node>,
}

// SAFETY: the driver's handle may be used from any thread, but only one at a time: launching
// borrows the graph exclusively.
unsafe impl Send for Graph {}
// SAFETY: nothing can be done with a shared reference to a graph.
unsafe impl Sync for Graph {}

/// The driver's graph while nodes are added.
struct Draft(sys::CUgraph);

impl Drop for Draft {
    fn drop(&mut self) {
        // SAFETY: made by `cuGraphCreate` and destroyed once; instantiated graphs are independent
        // of it.
        let _ = unsafe { sys::cuGraphDestroy(self.0) };
    }
}

impl Device {
    /// Makes a graph of these nodes. Two nodes may run at the same time unless one waits for the
    /// other, directly or through others.
    ///
    /// # Safety
    ///
    /// As for [`Function::launch`](super::Function::launch), for every launch among them; nodes
    /// that may run at the same time must not conflict.
    pub unsafe fn graph(&self, nodes: Vec<Node>) -> Result<Graph, CudaError> {
        library::require_function(c"cuGraphAddKernelNode_v2", "graphs", "12.0")?;
        self.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is to a live place, and the flags have to be 0.
        unsafe { sys::cuGraphCreate(&mut raw, 0) }.result().doing("making a graph")?;
        let draft = Draft(raw);
        let mut made: Vec<sys::CUgraphNode> = Vec::with_capacity(nodes.len());
        for node in &nodes {
            let mut after = Vec::with_capacity(node.after.len());
            for number in &node.after {
                after.push(*made.get(*number).ok_or(CudaError::Foreign {
                    what: "a node of a graph waits for one that is not an earlier node",
                })?);
            }
            made.push(self.add(&draft, &after, &node.work)?);
        }
        let mut exec = std::ptr::null_mut();
        // SAFETY: the graph is complete; no flags are set.
        unsafe { sys::cuGraphInstantiateWithFlags(&mut exec, draft.0, 0) }
            .result()
            .doing("instantiating a graph")?;
        Ok(Graph { device: self.clone(), exec, _nodes: nodes })
    }

    fn add(
        &self,
        draft: &Draft,
        after: &[sys::CUgraphNode],
        work: &Work,
    ) -> Result<sys::CUgraphNode, CudaError> {
        let mut node = std::ptr::null_mut();
        let (list, count) = (after.as_ptr(), after.len());
        match work {
            Work::Launch(launch) if !launch.device().is(self) => {
                return Err(CudaError::Foreign { what: "the kernel is on another device than the graph" });
            }
            Work::Copy { from, to, .. } if !from.device().is(self) || !to.device().is(self) => {
                return Err(CudaError::Foreign { what: "the buffer is on another device than the graph" });
            }
            Work::Launch(launch) if !launch.is_empty() => {
                let parameters = launch.node();
                // SAFETY: graph and nodes are live, and the driver copies the parameters, which the
                // launch owns, before it returns.
                unsafe { sys::cuGraphAddKernelNode_v2(&mut node, draft.0, list, count, &parameters) }
                    .result()
                    .doing("adding a launch to a graph")?;
            }
            Work::Copy { from, from_offset, to, to_offset, bytes } if *bytes > 0 => {
                let source = from.range(*from_offset, *bytes)?;
                let target = to.range(*to_offset, *bytes)?;
                let parameters = sys::CUDA_MEMCPY3D {
                    srcXInBytes: 0,
                    srcY: 0,
                    srcZ: 0,
                    srcLOD: 0,
                    srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
                    srcHost: std::ptr::null(),
                    srcDevice: from.address() + source.start as u64,
                    srcArray: std::ptr::null_mut(),
                    reserved0: std::ptr::null_mut(),
                    srcPitch: 0,
                    srcHeight: 0,
                    dstXInBytes: 0,
                    dstY: 0,
                    dstZ: 0,
                    dstLOD: 0,
                    dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
                    dstHost: std::ptr::null_mut(),
                    dstDevice: to.address() + target.start as u64,
                    dstArray: std::ptr::null_mut(),
                    reserved1: std::ptr::null_mut(),
                    dstPitch: 0,
                    dstHeight: 0,
                    WidthInBytes: *bytes,
                    Height: 1,
                    Depth: 1,
                };
                let context = self.inner.context.cu_ctx();
                // SAFETY: graph and nodes are live, and both ranges are inside buffers of this
                // context that the graph keeps alive.
                unsafe { sys::cuGraphAddMemcpyNode(&mut node, draft.0, list, count, &parameters, context) }
                    .result()
                    .doing("adding a copy to a graph")?;
            }
            // It has no work, but other nodes may wait for it.
            Work::Launch(_) | Work::Copy { .. } => {
                // SAFETY: graph and nodes are live.
                unsafe { sys::cuGraphAddEmptyNode(&mut node, draft.0, list, count) }
                    .result()
                    .doing("adding a node to a graph")?;
            }
        }
        Ok(node)
    }
}

impl Graph {
    /// Submits the whole graph to a stream as one piece of work. Allocates nothing on the host.
    ///
    /// # Safety
    ///
    /// As for its creation; other work of the device at that time must not conflict with it.
    pub unsafe fn launch(&mut self, stream: &Stream) -> Result<(), CudaError> {
        if !stream.device().is(&self.device) {
            return Err(CudaError::Foreign { what: "the graph is on another device than the stream" });
        }
        self.device.make_current()?;
        // SAFETY: graph and stream are live and of one context. The rest is the caller's promise.
        unsafe { sys::cuGraphLaunch(self.exec, stream.raw.cu_stream()) }.result().doing("launching a graph")
    }

    /// The device that it was made on.
    pub fn device(&self) -> &Device {
        &self.device
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if self.device.bind().is_ok() {
            // SAFETY: made by the driver and destroyed once. The driver keeps what a pending launch
            // needs; the buffers are freed after the work of the device.
            let _ = unsafe { result::graph::exec_destroy(self.exec) };
        }
    }
}
