//! A whole program: what it takes, what it keeps in global memory, what the host launches.

use loopwright_kernel_ir::{Constraint, DType, DeviceFunction, Fact, Name, Waves};
use loopwright_target::Target;

use crate::{DeviceKernel, Leaf, Note, Scope, Stmt, Value};

/// A scalar argument of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarArg {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub dtype: DType,
}

/// An argument of the program, in calling order.
#[derive(Clone, Debug, PartialEq)]
pub enum ProgramArg {
    /// The array of this number in [`Program::globals`].
    Array(usize),
    /// A number.
    Scalar(ScalarArg),
}

/// Whose a global array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The caller's: an argument.
    Caller,
    /// The launch's: a temporary in global memory, one for each launch so that launches do not meet
    /// in it.
    Launch,
}

/// An array in global memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Global {
    /// Its name.
    pub name: Name,
    /// The type of its elements.
    pub dtype: DType,
    /// Length of each axis, in elements, in terms of scalar arguments.
    pub shape: Vec<Value>,
    /// Stride of each axis, in elements, in terms of scalar arguments.
    pub strides: Vec<Value>,
    /// Elements of the storage that holds it all.
    pub size: Value,
    /// Whose it is.
    pub owner: Owner,
    /// Whether any kernel reads it.
    pub read: bool,
    /// Whether any kernel writes it.
    pub written: bool,
    /// Whether caches are asked to give its lines up first, as each element is touched once. A
    /// hint: it changes no value.
    pub streaming: bool,
    /// How what is stored to it is written in waves, if it is. A hint: it changes no value.
    pub waves: Option<Waves>,
}

/// What the host does.
#[derive(Clone, Debug, PartialEq)]
pub enum HostStmt {
    /// A loop around launches: `for var in lower..upper`.
    For {
        /// The host variable; kernels below take it as a parameter of this name.
        var: Name,
        /// First value.
        lower: Value,
        /// First value that is not taken.
        upper: Value,
        /// What is repeated.
        body: Vec<HostStmt>,
        /// The dependence that its order keeps.
        note: Box<Note>,
    },
    /// Launches the kernel of this number; nothing is launched where its grid is empty.
    Launch(usize),
}

/// A lowered program. See the module's head.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The kernel's name.
    pub name: Name,
    /// What it is written for: how wide warps are, which names are legal.
    pub target: Target,
    /// The type of all index arithmetic: I32 or I64.
    pub index: DType,
    /// Arguments in calling order.
    pub args: Vec<ProgramArg>,
    /// Arrays in global memory: arguments and the launch's own.
    pub globals: Vec<Global>,
    /// Device kernels in the order of their first launch.
    pub kernels: Vec<DeviceKernel>,
    /// What the host does.
    pub host: Vec<HostStmt>,
    /// What statements come from; [`LeafId`] indexes it.
    pub leaves: Vec<Leaf>,
    /// The user's device functions that are called.
    pub functions: Vec<DeviceFunction>,
    /// What must hold for the parameters at launch.
    pub assumptions: Vec<Constraint>,
    /// What is declared about data, checked at launch on request.
    pub facts: Vec<Fact>,
}

impl Program {
    /// The global array of this name.
    pub fn global(&self, name: &str) -> Option<&Global> {
        self.globals.iter().find(|g| *g.name == *name)
    }

    /// The scalar arguments in calling order.
    pub fn scalars(&self) -> impl Iterator<Item = &ScalarArg> {
        self.args.iter().filter_map(|a| match a {
            ProgramArg::Scalar(s) => Some(s),
            ProgramArg::Array(_) => None,
        })
    }

    /// How many block-wide barriers stand in the text of all kernels.
    pub fn barriers(&self) -> usize {
        let mut count = 0;
        for kernel in &self.kernels {
            Stmt::visit(&kernel.body, &mut |s| {
                count += usize::from(matches!(s, Stmt::Sync { scope: Scope::Block, .. }));
            });
        }
        count
    }
}
