//! Statements of a device kernel.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{Aff, Constraint, DType, Dim, Name, PartRef, Role, UpdateOp, UpdateScope};
use loopwright_legality::Executor;

use crate::{Async, AsyncCopy, DeclaredUpdate, LookBack, MemRef, Note, Value, VarId};

/// The number of a [`Leaf`] in [`crate::Program::leaves`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LeafId(pub usize);

/// The origin and the purpose of statements: a part of an instruction, with its role with respect
/// to the declared kernel. A part has one leaf for each purpose, and for each set of values of
/// inames that no loop counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// The part of an instruction of the transformed kernel.
    pub part: PartRef,
    /// Its relation to the declared kernel: an instruction of it, or a copy of an array.
    pub role: Role,
    /// Whether its statements produce a value of the part, or only prepare one.
    pub purpose: Purpose,
    /// The step that introduced the instruction; `None` for an instruction of the declared kernel.
    pub made_by: Option<Name>,
    /// The instruction's text, for comments and reports.
    pub text: String,
    /// The executions that have to run, if they are known: a program written by hand may leave them
    /// out.
    pub instances: Option<Instances>,
    /// Inames of the part that no loop around its statements counts, with the single value that
    /// each has there, as in a loop of one iteration.
    pub only: Vec<(Name, Aff)>,
    /// Whether data decide which thread runs it for which instance, each once, and different
    /// executions of its statements write different elements. That such a distribution exists
    /// needs a theorem about the kernel, and none but that of nests over segments
    /// (`loopwright_legality::flat`) is known to the final check, which runs the nest to see
    /// whether its text is one.
    pub decided_by_data: bool,
}

/// The executions of a part. Constraints are over inames of loops and lanes, coordinates,
/// parameters, and scalars read from data; an iname on an axis of the block or the grid equals the
/// axis's coordinate plus the iname's least value.
#[derive(Clone, Debug, PartialEq)]
pub struct Instances {
    /// The kernel's instances: all of them have to run.
    pub constraints: Vec<Constraint>,
    /// What may run: the instances, and further executions that have no effect, such as an update
    /// of a partial tile that reads padding.
    pub allowed: Vec<Constraint>,
    /// Inames that are lanes of a thread.
    pub lanes: Vec<Name>,
    /// How the part stands to each axis of the hardware, without inames.
    pub executor: Executor<()>,
    /// Whether a condition on data also decides whether an instance runs.
    pub conditional: bool,
    /// The numbers of the values of the part that statements have to produce ([`Purpose::Value`]).
    /// A value private to a thread that nothing reads is not among them.
    pub values: Vec<u8>,
}

/// The purpose of a leaf's statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// They produce a value of the part: of an assignment the target with this number, of a part of
    /// a reduction the component of the operator's state with this number.
    Value(u8),
    /// They prepare a value: loads ahead of their use, values computed once, and the assembly of
    /// vectors.
    Support,
}

/// The threads that a barrier synchronises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The threads of a warp, each warp for itself.
    Warp,
    /// The threads of a block.
    Block,
}

/// How an atomic update combines an element and a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atomic {
    /// The sum, of integers or floating-point values of 32 or 64 bits.
    Add,
    /// The minimum, of integers of 32 or 64 bits.
    Min,
    /// The maximum, of integers of 32 or 64 bits.
    Max,
    /// The bits that both have, of integers of 32 or 64 bits.
    And,
    /// The bits that either has, of integers of 32 or 64 bits.
    Or,
    /// The one with this number in [`crate::Program::updates`], of its type.
    By(usize),
}

impl Atomic {
    /// Whether there is an update of this kind for a type, in a program with these declared ones.
    pub fn takes(self, dtype: DType, updates: &[DeclaredUpdate]) -> bool {
        match self {
            Atomic::Add => UpdateOp::Sum.takes(dtype),
            Atomic::Min => UpdateOp::Min.takes(dtype),
            Atomic::Max => UpdateOp::Max.takes(dtype),
            Atomic::And => UpdateOp::And.takes(dtype),
            Atomic::Or => UpdateOp::Or.takes(dtype),
            Atomic::By(number) => updates.get(number).is_some_and(|update| update.dtype == dtype),
        }
    }

    /// The update by a sign of its own that a kernel says; `None` for one by an operator with a
    /// name, which the program declares.
    pub fn of(op: &UpdateOp) -> Option<Atomic> {
        Some(match op {
            UpdateOp::Sum => Atomic::Add,
            UpdateOp::Min => Atomic::Min,
            UpdateOp::Max => Atomic::Max,
            UpdateOp::And => Atomic::And,
            UpdateOp::Or => Atomic::Or,
            UpdateOp::By(_) => return None,
        })
    }
}

/// How a loop's counter advances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Adds a positive constant while less than `upper`.
    Add(i64),
    /// Halves, rounding down, while greater than `upper`, which is 0.
    Halve,
    /// Doubles while less than `upper`; `lower` is positive.
    Double,
}

/// The contract of a collective: the result of its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// The name of the reduction operator, of the library or the kernel's own.
    pub operator: Name,
    /// The accumulators, one for each component of the operator's state: a thread's partial result
    /// before, the joined result after.
    pub state: Vec<VarId>,
    /// The axes of the block along which threads are joined, with the number of threads of a group
    /// on each.
    pub axes: Vec<(Dim, u32)>,
    /// Whether every thread of the group has the joined value afterwards; otherwise only the first
    /// on each joined axis.
    pub to_all: bool,
    /// Whether the join is an inclusive scan: each thread gets what the threads up to it have
    /// joined, in the order of their numbers, after what the group has joined in earlier rounds.
    /// Otherwise the result joins all threads.
    pub scan: bool,
    /// The axis of the grid along which a scan goes on from block to block, by a [`Stmt::LookBack`]
    /// in its body: what a thread gets comes after what the blocks before its own have joined.
    pub tiles: Option<Dim>,
}

/// A statement that a thread runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// Declares a variable with its first value: `const int i = ...;` or `float acc = ...;`.
    Let {
        /// A variable that no enclosing scope has declared.
        var: VarId,
        /// What it is assigned, of its own type.
        value: Value,
        /// The leaf that it comes from, if it belongs to a part of an instruction.
        leaf: Option<LeafId>,
    },
    /// Declares a variable that has no value yet.
    Declare(VarId),
    /// Assigns a mutable variable.
    Set {
        /// A variable that is declared in an enclosing scope.
        var: VarId,
        /// What it is assigned, of its own type.
        value: Value,
        /// The leaf that it comes from, if it belongs to a part of an instruction.
        leaf: Option<LeafId>,
    },
    /// Writes a computed value to an element of an array.
    Store {
        /// The element, of global, shared or private memory.
        to: MemRef,
        /// The value, of the array's type.
        value: Value,
        /// The leaf that it comes from, if it belongs to a part of an instruction.
        leaf: Option<LeafId>,
    },
    /// Updates an element of global or shared memory atomically: no other access to it by those in
    /// its scope occurs between the read of the old value and the write of the new one. Updates of
    /// one kind may run in any order; the old value is not returned.
    Update {
        /// The combination of the old value and the operand.
        atomic: Atomic,
        /// Among whose accesses none occurs between the read and the write. Updates of shared
        /// memory are those of a block, whatever their scope.
        scope: UpdateScope,
        /// The element that is updated.
        to: MemRef,
        /// The operand, of the array's type.
        value: Value,
        /// The leaf that it comes from, if it belongs to a part of an instruction.
        leaf: Option<LeafId>,
    },
    /// Copies `lanes` neighbouring elements, by one access of `lanes` times the element's size on
    /// each side, to which the address is aligned: both sides are the same elements, or apart.
    /// Lowering copies between a private array and global or shared memory.
    VectorCopy {
        /// The first element written.
        to: MemRef,
        /// The first element read.
        from: MemRef,
        /// The number of elements: 2, 4, 8 or 16, at most 16 bytes together.
        lanes: u8,
        /// The leaf that it comes from, if it belongs to a part of an instruction.
        leaf: Option<LeafId>,
    },
    /// A loop of one thread, which may run no iteration.
    For {
        /// Its counter, of the index type; not mutable otherwise.
        var: VarId,
        /// First value of the counter, inclusive.
        lower: Value,
        /// Bound, exclusive. A variable is read before each iteration, so that the body can end the
        /// loop by assigning it; nothing else in a bound changes in the body.
        upper: Value,
        /// How the counter advances.
        step: Step,
        /// Whether it has to be unrolled completely; its bounds are then constant.
        unroll: bool,
        /// The statements of one iteration.
        body: Vec<Stmt>,
        /// The reason that comments of the printed text give.
        note: Note,
    },
    /// A choice by a condition that each thread evaluates for itself.
    If {
        /// The condition, of type bool.
        cond: Value,
        /// Runs where the condition holds.
        body: Vec<Stmt>,
        /// Runs where it does not hold; usually empty.
        otherwise: Vec<Stmt>,
        /// The reason that comments of the printed text give.
        note: Note,
    },
    /// A barrier: all threads of the scope wait for each other, and see each other's writes.
    Sync {
        /// The threads that wait for each other.
        scope: Scope,
        /// The dependence that it enforces.
        note: Note,
    },
    /// Statements in two forms: as the kernel states them, and as a hardware instruction (an
    /// *atom*) does them for a warp at once. Both have the same effect on the values of each
    /// thread, which the final check shows; the body is what is printed and run. No control flow
    /// divides a warp around it.
    Atom {
        /// The statements of one thread, without the atom: what the final check reads.
        contract: Vec<Stmt>,
        /// Loads of the atom's operands into private arrays, and [`Stmt::Mma`].
        body: Vec<Stmt>,
        /// The reason that comments of the printed text give.
        note: Note,
    },
    /// Loads matrices of eight rows of 16 bytes from shared memory, by a whole warp: lane `8*i + r`
    /// gives the address of row `r` of matrix `i`, which is aligned to its bytes, and lane `l` gets
    /// of each matrix the four bytes of row `l div 4` that begin at `4*(l mod 4)`: one, two or four
    /// elements. Of transposed matrices, which have elements of two bytes, it gets the elements
    /// `2*(l mod 4)` and `2*(l mod 4) + 1` of column `l div 4`. Addresses of further lanes are not
    /// used.
    LoadMatrices {
        /// The first of the elements that a thread gets, in private memory; a fourth of a row
        /// for each matrix.
        /// Those after the end of a row are the first ones of the next.
        to: MemRef,
        /// The first element of the row whose address the thread gives.
        from: MemRef,
        /// The number of matrices: 1, 2 or 4.
        matrices: u8,
        /// The elements of a row: 4, 8 or 16.
        row: u8,
        /// Whether lanes get elements of the transposed matrices.
        transposed: bool,
    },
    /// Stores matrices of eight rows of eight elements of two bytes to shared memory, by a whole
    /// warp: the inverse of [`Stmt::LoadMatrices`]. Lane `8*i + r` gives the address of row `r` of
    /// matrix `i`, and lane `l` the elements `2*(l mod 4)` and `2*(l mod 4) + 1` of row `l div 4`
    /// of each matrix; of transposed matrices those of column `l div 4`. Addresses of further lanes
    /// are not used. Stands only in the body of [`Stmt::Atom`].
    StoreMatrices {
        /// The first element of the row whose address the thread gives.
        to: MemRef,
        /// The first of the elements that a thread gives, in private memory, two for each matrix,
        /// which follow each other as those that are loaded do.
        from: MemRef,
        /// The number of matrices: 1, 2 or 4.
        matrices: u8,
        /// Whether lanes give elements of the transposed matrices.
        transposed: bool,
    },
    /// A product of matrices whose operands a warp holds in private arrays, as the atom's
    /// placements say: `d += a * b`. Stands only in the body of [`Stmt::Atom`].
    Mma {
        /// The name of the atom, which the program contains.
        atom: Name,
        /// The elements of the accumulator that a thread holds, in the order of the placement.
        d: Vec<MemRef>,
        /// The first of the elements of the left factor that a thread holds; the others follow it.
        a: MemRef,
        /// The same of the right factor.
        b: MemRef,
    },
    /// Issues an asynchronous copy, or commits or waits for those that have been issued.
    Async(Async),
    /// Learns what the blocks before this one join, and lets those after it know. Stands only in
    /// the body of a [`Stmt::Collective`] that all blocks come to once; the first warp of the block
    /// runs it, and waits for blocks that have started before.
    LookBack(LookBack),
    /// A cooperation of threads, with a contract that the body fulfils.
    Collective {
        /// What it computes: which partial results of which threads.
        join: Join,
        /// The statements that fulfil it.
        body: Vec<Stmt>,
        /// The reason that comments of the printed text give.
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
            | Stmt::VectorCopy { leaf, .. }
            | Stmt::Async(Async::Copy(AsyncCopy { leaf, .. })) => *leaf,
            Stmt::Declare(_)
            | Stmt::For { .. }
            | Stmt::If { .. }
            | Stmt::Sync { .. }
            | Stmt::Atom { .. }
            | Stmt::LoadMatrices { .. }
            | Stmt::StoreMatrices { .. }
            | Stmt::Mma { .. }
            | Stmt::Async(Async::Commit | Async::Wait { .. })
            | Stmt::LookBack(_)
            | Stmt::Collective { .. } => None,
        }
    }

    /// The leaf of the statement and the number of the value that it produces, if it produces one.
    pub fn gives(&self, leaves: &[Leaf]) -> Option<(LeafId, u8)> {
        let leaf = self.leaf()?;
        match leaves.get(leaf.0)?.purpose {
            Purpose::Value(number) => Some((leaf, number)),
            Purpose::Support => None,
        }
    }

    /// The leaves for which a body produces values.
    pub fn given(body: &[Stmt], leaves: &[Leaf]) -> BTreeSet<LeafId> {
        let mut found = BTreeSet::new();
        Stmt::visit(body, &mut |s| found.extend(s.gives(leaves).map(|(leaf, _)| leaf)));
        found
    }
}
