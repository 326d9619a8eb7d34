//! One device kernel.

use loopwright_kernel_ir::{Aff, DType, Name};

use super::{Note, Stmt, Value};

/// The number of a variable in [`DeviceKernel::vars`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(pub usize);

/// A scalar variable of a thread: a loop counter, a named index, an accumulator, a private scalar.
#[derive(Clone, Debug, PartialEq)]
pub struct Var {
    /// Its name, unique in the kernel and legal in the target's language.
    pub name: Name,
    /// Its type.
    pub dtype: DType,
    /// Whether it is assigned after its declaration.
    pub mutable: bool,
    /// What an index is in terms of the kernel's executions: a function of inames, coordinates
    /// (`threadIdx.x`) and parameters. The name itself for a scalar of the kernel that bounds are
    /// read from.
    pub meaning: Option<Aff>,
    /// Between which constants its values stay, both included, where that does not show in how it
    /// is assigned: as of a counter that is raised as often as something is found.
    pub within: Option<(i64, i64)>,
    /// Whether it is an index though data have a part in it, as an offset that is read from an
    /// array: its arithmetic is printed as that of indices, which a launch is asked about
    /// ([`crate::index_range`]), not as data that wrap.
    pub index: bool,
}

/// An array of constant size in shared or private memory.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalArray {
    /// Its name.
    pub name: Name,
    /// The type of its elements.
    pub dtype: DType,
    /// Storage length of each axis, padding included; row-major. Printed as `dims` of a C array.
    pub dims: Vec<u64>,
    /// What it holds, for a comment.
    pub note: String,
}

impl LocalArray {
    /// Elements of its storage.
    pub fn elements(&self) -> u64 {
        self.dims.iter().product()
    }

    /// Bytes of its storage.
    pub fn bytes(&self) -> u64 {
        self.elements() * self.dtype.bytes() as u64
    }
}

/// A parameter of a device kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Param {
    /// The global array of this number; `written` says whether this kernel writes it (otherwise it
    /// is const).
    Global {
        /// Number in [`crate::Program::globals`].
        global: usize,
        /// Whether this kernel writes it.
        written: bool,
        /// Whether its threads hand values to each other through it, or launches that it may be
        /// started ahead of hand values to them. Then `__restrict__` would be a lie: the compiler
        /// might keep a value in a register across the barrier behind which another thread has
        /// changed it, or load it before the launch that writes it has ended.
        exchanged: bool,
    },
    /// A scalar argument, by name.
    Scalar {
        /// The argument's name.
        name: Name,
        /// Its type.
        dtype: DType,
    },
    /// The value of a host loop's variable, by name, of the index type.
    HostVar(Name),
}

/// A device kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceKernel {
    /// Its name, legal in the target's language.
    pub name: Name,
    /// What it takes, in order.
    pub params: Vec<Param>,
    /// Blocks on x, y, z, in terms of scalar arguments and host variables. Less than one means that
    /// nothing is launched.
    pub grid: [Value; 3],
    /// Threads of a block on x, y, z.
    pub block: [u32; 3],
    /// How many blocks a multiprocessor has to have registers for, at the least; the compiler
    /// decides where nothing is said.
    pub resident: Option<u32>,
    /// Whether it may be started before the launch ahead of it has ended. Its threads then wait for
    /// that before anything else, if the device can start it so
    /// (`CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`, compute capability 9.0); otherwise
    /// there is nothing to wait for. The first launch of a program must not be started so.
    pub early: bool,
    /// Scalar variables; [`VarId`] indexes it.
    pub vars: Vec<Var>,
    /// Arrays in shared memory.
    pub shared: Vec<LocalArray>,
    /// Arrays of each thread.
    pub private: Vec<LocalArray>,
    /// What each thread does.
    pub body: Vec<Stmt>,
    /// Why it is a launch of its own: the dependence behind its boundary to what is launched before
    /// it, and that of the host loop that it is the first in.
    pub notes: Vec<Note>,
}

impl DeviceKernel {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Bytes of shared memory, each array aligned to 16.
    pub fn shared_bytes(&self) -> u64 {
        self.shared.iter().map(|a| a.bytes().next_multiple_of(16)).sum()
    }
}
