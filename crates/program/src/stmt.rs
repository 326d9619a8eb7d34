//! Statements of a device kernel.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{Aff, Constraint, DType, Dim, Name, PartRef, Role, has_update};
use loopwright_legality::Executor;

use crate::{MemRef, Note, Value, VarId};

/// The number of a [`Leaf`] in [`crate::Program::leaves`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LeafId(pub usize);

/// What statements come from, and what they are for: the part of an instruction, and its role to
/// the declared kernel. A part has a leaf for each purpose, and for each set of values of inames
/// without a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// The part.
    pub part: PartRef,
    /// What it is to the declared kernel.
    pub role: Role,
    /// What its statements are for.
    pub purpose: Purpose,
    /// The transform that made the instruction, if one did.
    pub made_by: Option<Name>,
    /// The instruction's text, for comments and reports.
    pub text: String,
    /// For which executions it has to run, if that is known: a program that is written by hand need
    /// not say.
    pub instances: Option<Instances>,
    /// Inames of the part that no loop around its statements counts, and the one value of each
    /// there, as of a loop of one iteration.
    pub only: Vec<(Name, Aff)>,
    /// Whether data decide which thread runs it for which instance, each once, and different
    /// executions of its statements write different elements. That is a claim on trust: it needs a
    /// theorem about the kernel, and none but that of nests over segments
    /// (`loopwright_legality::flat`) is known to the final check.
    pub decided_by_data: bool,
}

/// The executions of a part. Names are those of inames of loops and lanes, coordinates, parameters,
/// and scalars read from data; an iname on an axis of the block or the grid is its coordinate plus
/// its least value.
#[derive(Clone, Debug, PartialEq)]
pub struct Instances {
    /// The kernel's instances: all of them have to run.
    pub constraints: Vec<Constraint>,
    /// What may run: the instances, or more where what runs besides does nothing, as an update of a
    /// partial tile that reads filling.
    pub allowed: Vec<Constraint>,
    /// Inames that are lanes of a thread.
    pub lanes: Vec<Name>,
    /// Who runs the part.
    pub executor: Executor<()>,
    /// Whether a condition on data decides besides.
    pub conditional: bool,
    /// The values of the part that statements have to give: see [`Purpose::Value`]. A value of a
    /// thread that nothing reads is not among them.
    pub values: Vec<u8>,
}

/// What statements are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// They give a value of the part: an assignment that of its target of this number, a part of a
    /// reduction that of the operator's state.
    Value(u8),
    /// They are on the way to a value: what is loaded ahead or computed once, and vectors that are
    /// put together.
    Support,
}

/// Among whom a synchronisation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The threads of a warp.
    Warp,
    /// The threads of a block.
    Block,
}

/// What an atomic update makes of an element and a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Atomic {
    /// Their sum: of 32 or 64 bits.
    Add,
    /// The lesser: of integers of 32 or 64 bits.
    Min,
    /// The greater: of integers of 32 or 64 bits.
    Max,
}

impl Atomic {
    /// Whether there is an update of this kind for a type.
    pub fn takes(self, dtype: DType) -> bool {
        let operator = match self {
            Atomic::Add => "sum",
            Atomic::Min => "min",
            Atomic::Max => "max",
        };
        has_update(operator, dtype)
    }
}

/// How a loop's counter goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Adds a positive constant, up to and without `upper`.
    Add(i64),
    /// Halves from `lower` down, while greater than `upper` (which is 0).
    Halve,
    /// Doubles from `lower` (which is positive) up, while less than `upper`.
    Double,
}

/// The contract of a collective: what its body achieves.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// The reduction operator.
    pub operator: Name,
    /// The accumulators, one a value of the operator's state: partial before, joined after.
    pub state: Vec<VarId>,
    /// The axes of the block whose threads are joined, and how many there are on each.
    pub axes: Vec<(Dim, u32)>,
    /// Whether every thread of the group has the joined value afterwards; otherwise only the first
    /// on each joined axis.
    pub to_all: bool,
    /// Whether each thread has what the threads up to it have joined, in the order of their
    /// numbers, after what the group has joined in earlier rounds; otherwise what all have.
    pub scan: bool,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// Declares a variable with its first value: `const int i = ...;` or `float acc = ...;`.
    Let {
        /// Which.
        var: VarId,
        /// Its value.
        value: Value,
        /// What it comes from, if it is a part of an instruction.
        leaf: Option<LeafId>,
    },
    /// Declares a variable that has no value yet.
    Declare(VarId),
    /// Assigns a mutable variable.
    Set {
        /// Which.
        var: VarId,
        /// Its value.
        value: Value,
        /// What it comes from.
        leaf: Option<LeafId>,
    },
    /// Writes an element.
    Store {
        /// Where to.
        to: MemRef,
        /// What, of the array's type.
        value: Value,
        /// What it comes from.
        leaf: Option<LeafId>,
    },
    /// Changes an element of global memory in one go: no other access of it comes between reading
    /// the old value and writing the new one. Updates of one kind may come in any order; nobody
    /// gets the old value.
    Update {
        /// What is made of the old value and the given one.
        atomic: Atomic,
        /// Which element.
        to: MemRef,
        /// The given value, of the array's type.
        value: Value,
        /// What it comes from.
        leaf: Option<LeafId>,
    },
    /// Copies `lanes` neighbouring elements between global (or shared) memory and a private array,
    /// by one access of `lanes` times the element's size, to which the address is aligned.
    VectorCopy {
        /// The first element written.
        to: MemRef,
        /// The first element read.
        from: MemRef,
        /// How many: 2, 4, 8 or 16, of 16 bytes at most.
        lanes: u8,
        /// What it comes from.
        leaf: Option<LeafId>,
    },
    /// A loop.
    For {
        /// Its counter, of the index type; not mutable otherwise.
        var: VarId,
        /// First value.
        lower: Value,
        /// Bound, exclusive. A variable is read before each iteration, so that the body can end the
        /// loop by assigning it; nothing else in a bound changes in the body.
        upper: Value,
        /// How it goes on.
        step: Step,
        /// Whether it is to be unrolled completely; its bounds are then constant.
        unroll: bool,
        /// What it repeats.
        body: Vec<Stmt>,
        /// Why it is there.
        note: Note,
    },
    /// A guard.
    If {
        /// Of type bool.
        cond: Value,
        /// What is guarded.
        body: Vec<Stmt>,
        /// What is done otherwise; mostly nothing.
        otherwise: Vec<Stmt>,
        /// Why it is there.
        note: Note,
    },
    /// A barrier: all threads of the scope wait for each other, and see each other's writes.
    Sync {
        /// Among whom.
        scope: Scope,
        /// The dependence behind it.
        note: Note,
    },
    /// Threads that work together: the body does what the contract says.
    Collective {
        /// What it achieves.
        join: Join,
        /// How: other statements.
        body: Vec<Stmt>,
        /// Why it is there.
        note: Note,
    },
}

impl Stmt {
    /// The part that the statement itself comes from.
    pub fn leaf(&self) -> Option<LeafId> {
        match self {
            Stmt::Let { leaf, .. }
            | Stmt::Set { leaf, .. }
            | Stmt::Store { leaf, .. }
            | Stmt::Update { leaf, .. }
            | Stmt::VectorCopy { leaf, .. } => *leaf,
            _ => None,
        }
    }

    /// The leaf and the number of the value of its part that it gives, if it gives one.
    pub fn gives(&self, leaves: &[Leaf]) -> Option<(LeafId, u8)> {
        let leaf = self.leaf()?;
        match leaves.get(leaf.0)?.purpose {
            Purpose::Value(number) => Some((leaf, number)),
            Purpose::Support => None,
        }
    }

    /// The leaves of which a body gives values.
    pub fn given(body: &[Stmt], leaves: &[Leaf]) -> BTreeSet<LeafId> {
        let mut found = BTreeSet::new();
        Stmt::visit(body, &mut |s| found.extend(s.gives(leaves).map(|(leaf, _)| leaf)));
        found
    }
}
