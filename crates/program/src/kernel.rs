//! One device kernel.

use loopwright_kernel_ir::{Aff, DType, Name, PerDim};
use loopwright_layout::ComposedLayout;

use super::{InOrder, Note, Stmt, Value};
use crate::local_layout::storage_size;

/// The index of a variable in [`DeviceKernel::vars`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(pub usize);

/// A scalar variable of a thread: a loop counter, a named index, an accumulator, a private scalar.
#[derive(Clone, Debug, PartialEq)]
pub struct Var {
    /// Its name, unique in its scope and valid in the target's language.
    pub name: Name,
    /// Its type; a counter of a loop has the type of indices.
    pub dtype: DType,
    /// Whether it is assigned after its declaration.
    pub mutable: bool,
    /// An index as a function of the kernel's inames, coordinates (`thread.x`) and parameters.
    /// For a kernel scalar that bounds are read from, the name itself.
    pub meaning: Option<Aff>,
    /// Constant bounds of its values, both inclusive, if they are not evident from its assignments:
    /// for instance, a counter that is incremented whenever something is found.
    pub within: Option<(i64, i64)>,
    /// Whether it counts as an index although it depends on data, such as an offset read from an
    /// array: its arithmetic is printed as that of indices, which a launch checks
    /// ([`crate::index_range`]), not as data, which wraps.
    pub index: bool,
}

/// An array of constant size in shared or private memory.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalArray {
    /// Its name, unique in its kernel and valid in the target's language.
    pub name: Name,
    /// The type of its elements.
    pub dtype: DType,
    /// The length of each axis. Without a layout these are the lengths in storage, including
    /// padding, row-major: printed as the dimensions of a C array.
    pub dims: Vec<u64>,
    /// Where the elements lie, if not row-major: a mode of constants for each axis, then a swizzle.
    /// Printed as an array of one dimension, whose elements are accessed by their offsets.
    pub layout: Option<ComposedLayout>,
    /// A description of its contents, for a comment.
    pub note: String,
}

impl LocalArray {
    /// Number of elements of its storage; the greatest number, if that has no value.
    pub fn elements(&self) -> u64 {
        match &self.layout {
            None if self.dims.contains(&0) => 0,
            None => self.dims.iter().fold(1, |product: u64, length| product.saturating_mul(*length)),
            Some(layout) => storage_size(layout),
        }
    }

    /// Size of its storage in bytes; the greatest number, if that has no value.
    pub fn bytes(&self) -> u64 {
        self.elements().saturating_mul(self.dtype.bytes() as u64)
    }
}

/// A parameter of a device kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Param {
    /// A global array; const if this kernel does not write it.
    Global {
        /// Index in [`crate::Program::globals`].
        global: usize,
        /// Whether this kernel writes it.
        written: bool,
        /// Whether its threads exchange values through it, or preceding launches that it may
        /// overlap write values for them to it. `__restrict__` would then be invalid: the compiler
        /// could keep a value in a register across the barrier after which another thread has
        /// changed it, or load it before the launch that writes it has ended.
        exchanged: bool,
    },
    /// A scalar argument, by name.
    Scalar {
        /// Name of the scalar argument.
        name: Name,
        /// Type of the scalar argument.
        dtype: DType,
    },
    /// The value of a host loop's variable, by name; of the index type.
    HostVar(Name),
}

/// A function that runs on the device, with its storage and the shape of its launches.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceKernel {
    /// Its name, valid in the target's language.
    pub name: Name,
    /// Its parameters, in order.
    pub params: Vec<Param>,
    /// Number of blocks on each dimension, over scalar arguments and host variables. If any is less
    /// than one, nothing is launched.
    pub grid: PerDim<Value>,
    /// Threads per block on each dimension.
    pub block: PerDim<u32>,
    /// The least number of blocks that a multiprocessor has to have registers for, at the same
    /// time; `None` leaves it to the compiler.
    pub min_blocks_per_multiprocessor: Option<u32>,
    /// Whether it may start before the preceding launch has ended. If the device supports this
    /// (`CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`, compute capability 9.0), its
    /// threads first wait for that launch; otherwise the launches are ordered anyway. The first
    /// launch of a program must not start early.
    pub early: bool,
    /// How its blocks get their coordinates in the order in which they start, where they look back;
    /// `None` if the device places them.
    pub in_order: Option<InOrder>,
    /// Scalar variables, indexed by [`VarId`].
    pub vars: Vec<Var>,
    /// Arrays in shared memory.
    pub shared: Vec<LocalArray>,
    /// Private arrays of each thread.
    pub private: Vec<LocalArray>,
    /// The statements that each thread executes.
    pub body: Vec<Stmt>,
    /// Why it is a separate launch: the dependence that requires its boundary to the preceding
    /// launch, and the one that requires the host loop in which it comes first.
    pub notes: Vec<Note>,
}

impl DeviceKernel {
    /// Number of threads per block; the greatest number, if that has no value.
    pub fn threads(&self) -> u32 {
        self.block.values().fold(1, |product: u32, length| product.saturating_mul(*length))
    }

    /// Bytes of shared memory, with each array aligned to 16; the greatest number, if that has no
    /// value.
    pub fn shared_bytes(&self) -> u64 {
        let aligned = |a: &LocalArray| a.bytes().checked_next_multiple_of(16).unwrap_or(u64::MAX);
        self.shared.iter().map(aligned).fold(0, u64::saturating_add)
    }
}
