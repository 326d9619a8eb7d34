//! Faults: what went wrong, at which cell, and in which instances.

use std::fmt;

use loopwright_kernel_ir::{Diagnostic, Name, PerDim};
use loopwright_program::{LeafId, Scope};

/// The kind of a fault: what the program did that it must not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The program breaks an invariant of the lowered form.
    InvalidProgram,
    /// The program is written for a target that the emulator does not support.
    OtherTarget,
    /// An argument is missing, or has another type or too few elements.
    Argument,
    /// A user device function has no closure.
    MissingFunction,
    /// A subscript or offset outside of its array.
    OutOfBounds,
    /// A vector access whose address is not a multiple of its size.
    Misaligned,
    /// Two threads of a block access the same cell without synchronisation, at least one of them
    /// writing.
    Race,
    /// Two blocks of one launch access the same cell, at least one of them writing.
    RaceBetweenBlocks,
    /// An access of a cell that an asynchronous copy writes, or a write of one that it reads, while
    /// it is under way; or a kernel that ends while a copy is under way.
    UnderWay,
    /// A read of a cell or variable that was never written.
    Uninitialised,
    /// A barrier that some threads of its scope do not reach.
    DivergentBarrier(Scope),
    /// A shuffle that some lanes do not reach, or whose source lane is not a thread of the block.
    DivergentShuffle,
    /// A block that looks back waits for what no block will publish, or finds words or a counter
    /// that were not 0 when the launch began.
    LookBack,
    /// An integer division by zero.
    DivisionByZero,
    /// Index arithmetic overflows its type.
    IndexOverflow,
    /// The run takes more steps than allowed.
    StepLimit,
    /// The run needs more memory than allowed.
    MemoryLimit,
}

impl FaultKind {
    /// The stable code of its diagnostic.
    pub fn code(&self) -> &'static str {
        match self {
            FaultKind::InvalidProgram => "invalid-program",
            FaultKind::OtherTarget => "other-target",
            FaultKind::Argument => "argument",
            FaultKind::MissingFunction => "missing-function",
            FaultKind::OutOfBounds => "out-of-bounds",
            FaultKind::Misaligned => "misaligned",
            FaultKind::Race => "race",
            FaultKind::RaceBetweenBlocks => "race-between-blocks",
            FaultKind::UnderWay => "under-way",
            FaultKind::Uninitialised => "uninitialised-read",
            FaultKind::DivergentBarrier(_) => "divergent-barrier",
            FaultKind::DivergentShuffle => "divergent-shuffle",
            FaultKind::LookBack => "look-back",
            FaultKind::DivisionByZero => "division-by-zero",
            FaultKind::IndexOverflow => "index-overflow",
            FaultKind::StepLimit => "step-limit",
            FaultKind::MemoryLimit => "memory-limit",
        }
    }

    /// The remedy, if it is always the same.
    fn remedy(&self) -> Option<&'static str> {
        Some(match self {
            FaultKind::OtherTarget => {
                "lower the kernel for a target whose warps the emulator runs, such as \
                 `Target::cuda()`"
            }
            FaultKind::MissingFunction => {
                "run it on a device of the runtime, which has the CUDA C compiled by the system's \
                 compiler, or pass a Rust closure in `functions` of the options"
            }
            FaultKind::OutOfBounds => {
                "correct the subscript, or the data that it comes from; `check_facts` finds data \
                 that violate a declared fact"
            }
            FaultKind::Uninitialised => "give the array values, or write the element before it is read",
            FaultKind::DivisionByZero => "guard the division by a condition",
            FaultKind::StepLimit => "work on smaller pieces, or raise `max_steps` of the emulator's options",
            FaultKind::MemoryLimit => {
                "work on smaller pieces, or raise `max_bytes` of the emulator's options"
            }
            // These mean that a lowered program is wrong, which is not the user's doing.
            FaultKind::InvalidProgram
            | FaultKind::Argument
            | FaultKind::Misaligned
            | FaultKind::Race
            | FaultKind::RaceBetweenBlocks
            | FaultKind::UnderWay
            | FaultKind::DivergentBarrier(_)
            | FaultKind::DivergentShuffle
            | FaultKind::LookBack
            | FaultKind::IndexOverflow => return None,
        })
    }

    /// A sentence that describes the kind.
    fn sentence(&self) -> &'static str {
        match self {
            FaultKind::InvalidProgram => "the program is not a valid lowered program",
            FaultKind::OtherTarget => "the program is written for another target",
            FaultKind::Argument => "an argument does not fit",
            FaultKind::MissingFunction => "a device function has no closure",
            FaultKind::OutOfBounds => "access out of bounds",
            FaultKind::Misaligned => "misaligned vector access",
            FaultKind::Race => "race between threads of a block",
            FaultKind::RaceBetweenBlocks => "race between blocks",
            FaultKind::UnderWay => "an asynchronous copy is under way",
            FaultKind::Uninitialised => "read of what was never written",
            FaultKind::DivergentBarrier(Scope::Block) => "divergent barrier of a block",
            FaultKind::DivergentBarrier(Scope::Warp) => "divergent synchronisation of a warp",
            FaultKind::DivergentShuffle => "divergent shuffle",
            FaultKind::LookBack => "a look-back of blocks",
            FaultKind::DivisionByZero => "division by zero",
            FaultKind::IndexOverflow => "overflow of index arithmetic",
            FaultKind::StepLimit => "too many steps",
            FaultKind::MemoryLimit => "too much memory",
        }
    }
}

/// The action of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// It read the cell.
    Read,
    /// It wrote the cell.
    Write,
    /// It waits at the barrier or takes part in the shuffle.
    Waits,
    /// It does not reach the barrier or shuffle.
    Absent,
    /// It computed a value.
    Computes,
}

/// One execution of a statement by one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The leaf of the program that the statement comes from; `None` for guards, bounds and the
    /// like.
    pub leaf: Option<LeafId>,
    /// The leaf's part, such as `total.update`, or a description of a statement without a leaf.
    pub part: String,
    /// The text of the leaf's instruction; empty if there is none.
    pub text: String,
    /// Its action at the cell, barrier or shuffle.
    pub act: Act,
    /// The index of the block in the grid.
    pub block: PerDim<i64>,
    /// The index of the thread in its block.
    pub thread: PerDim<u32>,
    /// The values of the loop counters and named indices in scope.
    pub values: Vec<(Name, i64)>,
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let act = match self.act {
            Act::Read => "read by ",
            Act::Write => "write by ",
            Act::Waits | Act::Computes => "",
            Act::Absent => "not reached: ",
        };
        let PerDim { x: bx, y: by, z: bz } = self.block;
        let PerDim { x: tx, y: ty, z: tz } = self.thread;
        write!(f, "{act}`{}`, block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})", self.part)?;
        for (k, (name, value)) in self.values.iter().enumerate() {
            write!(f, "{}{name}={value}", if k == 0 { ", " } else { " " })?;
        }
        if !self.text.is_empty() {
            write!(f, ": {}", self.text)?;
        }
        Ok(())
    }
}

/// A fault. A program with the same arguments always gives the same fault: the first in the order
/// of blocks and steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What the program did that it must not do.
    pub kind: FaultKind,
    /// Details in a few words; may be empty.
    pub detail: String,
    /// The device kernel that was running, if any.
    pub kernel: Option<Name>,
    /// The array involved, if any.
    pub array: Option<Name>,
    /// The subscripts of the cell; empty if no cell is involved.
    pub cell: Vec<i64>,
    /// The earlier of two instances; `None` if only one is involved.
    pub first: Option<Instance>,
    /// The instance that showed the fault.
    pub second: Option<Instance>,
}

impl Fault {
    /// A fault without instances.
    pub fn new(kind: FaultKind, detail: impl Into<String>) -> Fault {
        Fault {
            kind,
            detail: detail.into(),
            kernel: None,
            array: None,
            cell: Vec::new(),
            first: None,
            second: None,
        }
    }

    fn sentence(&self) -> String {
        let mut text = self.kind.sentence().to_owned();
        if let Some(array) = &self.array {
            text.push_str(&format!(" at `{array}"));
            if !self.cell.is_empty() {
                let cell: Vec<_> = self.cell.iter().map(i64::to_string).collect();
                text.push_str(&format!("[{}]", cell.join(", ")));
            }
            text.push('`');
        }
        if let Some(kernel) = &self.kernel {
            text.push_str(&format!(" in kernel `{kernel}`"));
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }

    /// The fault as a diagnostic, the instances as its witness.
    pub fn diagnostic(&self) -> Diagnostic {
        let diagnostic = Diagnostic::new(self.kind.code(), self.sentence());
        let instances: Vec<_> = self.first.iter().chain(&self.second).map(Instance::to_string).collect();
        let diagnostic = match instances.is_empty() {
            true => diagnostic,
            false => diagnostic.witness(instances.join("\n           ")),
        };
        match self.kind.remedy() {
            Some(remedy) => diagnostic.help(remedy),
            None => diagnostic,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence())?;
        for instance in self.first.iter().chain(&self.second) {
            write!(f, "\n  {instance}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for Diagnostic {
    fn from(fault: Fault) -> Self {
        fault.diagnostic()
    }
}
