//! A whole program: its arguments, its arrays in global memory, the launches of the host.

use std::sync::Arc;

use loopwright_atom::Atom;
use loopwright_kernel_ir::{Aff, CacheHints, Constraint, DType, DeviceFunction, Fact, Name};
use loopwright_target::Target;

use crate::{
    DeclaredLookBack, DeclaredUpdate, DeviceKernel, Leaf, Note, RecordArg, Scope, Stmt, Table, Value,
};

/// A scalar argument of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarArg {
    /// The name of the argument in the kernel.
    pub name: Name,
    /// The type in which the argument is passed.
    pub dtype: DType,
}

/// An argument of the program, in calling order.
#[derive(Clone, Debug, PartialEq)]
pub enum ProgramArg {
    /// An array, as an index into [`Program::globals`].
    Array(usize),
    /// A number, passed by value.
    Scalar(ScalarArg),
}

/// The owner of a global array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The caller: the array is an argument.
    Caller,
    /// The launch: the array is a temporary, allocated per launch so that concurrent launches do
    /// not share it.
    Launch,
    /// The program: the array is a constant table in memory of its own, with these values, and no
    /// kernel has it as a parameter.
    Program(Table),
}

/// An array in global memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Global {
    /// The name of the argument, temporary or constant that it is in the kernel.
    pub name: Name,
    /// The type of its elements.
    pub dtype: DType,
    /// Length of each axis, in elements, over scalar arguments.
    pub shape: Vec<Value>,
    /// Stride of each axis, in elements, over scalar arguments.
    pub strides: Vec<Value>,
    /// Number of elements of its storage.
    pub size: Value,
    /// Who provides the storage.
    pub owner: Owner,
    /// Whether any kernel reads it.
    pub read: bool,
    /// Whether any kernel writes it.
    pub written: bool,
    /// What the caches are asked for its accesses.
    pub hints: CacheHints,
}

impl Global {
    /// The values of a constant table; `None` for other arrays.
    pub fn table(&self) -> Option<&Table> {
        match &self.owner {
            Owner::Program(table) => Some(table),
            Owner::Caller | Owner::Launch => None,
        }
    }
}

/// A statement that runs on the host, in the order of the program.
#[derive(Clone, Debug, PartialEq)]
pub enum HostStmt {
    /// A loop around launches: `for var in lower..upper`.
    For {
        /// The host variable; kernels in the loop take it as a parameter with this name.
        var: Name,
        /// First value, inclusive.
        lower: Value,
        /// End of the range, exclusive.
        upper: Value,
        /// The statements that are repeated.
        body: Vec<HostStmt>,
        /// The dependence that the order of iterations preserves.
        note: Box<Note>,
    },
    /// Launches the kernel with this index; does nothing if its grid is empty.
    Launch(usize),
}

/// A lowered program. See the crate documentation.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The name of the kernel that was lowered.
    pub name: Name,
    /// What it is written for: how wide warps are, which names are legal.
    pub target: Target,
    /// The type of all index arithmetic: I32 or I64.
    pub index: DType,
    /// Arguments in calling order.
    pub args: Vec<ProgramArg>,
    /// Arrays in global memory: arguments, and those owned by the launch; and constant tables.
    pub globals: Vec<Global>,
    /// Arguments whose elements are structs: which arrays are their fields.
    pub records: Vec<RecordArg>,
    /// Device kernels, in the order of their first launch.
    pub kernels: Vec<DeviceKernel>,
    /// The host statements, in order.
    pub host: Vec<HostStmt>,
    /// Inames on axes of the block and the grid, with their values in terms of the coordinates and
    /// of scalar arguments: `thread.x + 1`.
    pub coordinates: Vec<(Name, Aff)>,
    /// The leaves that statements come from, indexed by [`crate::LeafId`].
    pub leaves: Vec<Leaf>,
    /// User device functions that are called.
    pub functions: Vec<DeviceFunction>,
    /// Updates by operators of the kernel's own, to which [`crate::Atomic::By`] refers.
    pub updates: Vec<DeclaredUpdate>,
    /// What blocks join when they look back, to which [`crate::LookBack::by`] refers.
    pub look_backs: Vec<DeclaredLookBack>,
    /// Hardware instructions of the kernel's own, in addition to those of the library.
    pub atoms: Vec<Arc<Atom>>,
    /// Constraints on the parameters that must hold at launch.
    pub assumptions: Vec<Constraint>,
    /// Declared facts about data, checked at launch on request.
    pub facts: Vec<Fact>,
}

impl Program {
    /// The global array with this name.
    pub fn global(&self, name: &str) -> Option<&Global> {
        self.globals.iter().find(|g| *g.name == *name)
    }

    /// Whether the program writes the global array with this name. Facts about such an array hold
    /// for what the caller gives alone.
    pub fn writes(&self, name: &str) -> bool {
        self.global(name).is_some_and(|g| g.written)
    }

    /// The hardware instruction of this name: the program's own, or the library's.
    pub fn atom(&self, name: &str) -> Option<&Arc<Atom>> {
        loopwright_atom::named(&self.atoms, name)
    }

    /// The scalar arguments in calling order.
    pub fn scalars(&self) -> impl Iterator<Item = &ScalarArg> {
        self.args.iter().filter_map(|a| match a {
            ProgramArg::Scalar(s) => Some(s),
            ProgramArg::Array(_) => None,
        })
    }

    /// The number of block-wide barriers in the text of all kernels.
    pub fn barriers(&self) -> usize {
        let mut count = 0;
        for kernel in &self.kernels {
            Stmt::visit(&kernel.body, &mut |s| {
                count += usize::from(s.barrier() == Some(Scope::Block));
            });
        }
        count
    }
}
