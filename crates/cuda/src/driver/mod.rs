//! The CUDA driver: devices and their limits, memory, streams, modules, launches, graphs, times.
//!
//! A [`Device`] is a shared handle, kept alive by everything made on it. Work submitted to a
//! [`Stream`] runs in order; different streams run concurrently unless one [waits](Stream::wait)
//! for an [`Event`] of the other. A [`Buffer`] may be used on any stream, a [scratch
//! buffer](Stream::scratch) only on its own. Its memory returns to the device's pool after all work
//! that may use it, without anything waiting for that. A copy between two devices counts as work of
//! both. The host memory of a pending copy is owned by its [`Transfer`].
//!
//! Every launch is checked against the limits of the device and of the function *before* it is
//! tried; see [`limits`].

mod buffer;
mod catalog;
mod copies;
mod device;
mod device_info;
mod error;
mod graph;
mod launch;
mod library;
mod limit_error;
pub mod limits;
mod module;
mod occupancy;
mod peer;
mod pool;
mod prepared;
mod queue;
mod queues;
mod shape;
mod stream;

pub use buffer::{Buffer, HostBuffer};
pub use copies::Transfer;
pub use device::Device;
pub use device_info::DeviceInfo;
pub use error::CudaError;
pub use graph::{Graph, Node, Work};
pub use launch::Arguments;
pub use library::driver_version;
pub use module::{Function, FunctionInfo, Module};
pub use occupancy::{Occupancy, Resource, occupancy};
pub use pool::PoolUse;
pub use prepared::Prepared;
pub use shape::LaunchShape;
pub use stream::{Event, Stream};
