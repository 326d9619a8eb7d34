//! A concrete run of a kernel for given values of the parameters, in tokens and hashes instead of
//! numbers.
//!
//! Every cell remembers which declared definition it holds. The declared kernel is run first; it
//! says which definition each read of each instance sees, which points each reduction joins, and
//! what the outputs hold at the end. The transformed kernel is run in the order of its times, and
//! must agree in all of these. Executions of one part at one time that are different threads must
//! not touch one cell, one of them writing. A copy passes on what it reads.
//!
//! Beside its definition a cell holds a hash of its value: of the expression, the values that it
//! reads, and those of its inames (see `value`); a commutative reduction is the sum of the hashes
//! of its terms. A read that sees another definition is a counter-example where an output has
//! another value for it. Where only values change that no output needs, or the other definition has
//! the same value, nothing is refuted.
//!
//! All orders that the transformed kernel allows agree with this one where no such race is found:
//! two executions of different times are either of one thread, or lowering puts a synchronisation
//! between them where they touch one cell.

mod failure;
mod machine;
pub(crate) mod points;
mod schedule;
mod value;

use std::{collections::BTreeMap, fmt};

use loopwright_kernel_ir::{Diagnostic, Name, Part};

pub use failure::Failure;
pub use machine::{Run, replay};

/// Why there is no concrete run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// What happens depends on data: the name of what holds them.
    Data(Name),
    /// More executions than are worth running.
    Large,
    /// An iname without bounds.
    Unbounded(Name),
    /// Numbers beyond 64 bits.
    Overflow,
    /// Something else.
    Other(String),
}

impl From<loopwright_poly::Error> for Stop {
    fn from(e: loopwright_poly::Error) -> Self {
        Stop::Other(e.to_string())
    }
}

impl From<Diagnostic> for Stop {
    fn from(d: Diagnostic) -> Self {
        Stop::Other(d.message)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Data(n) => write!(f, "it depends on the values of `{n}`"),
            Stop::Large => write!(f, "too many executions to try"),
            Stop::Unbounded(n) => write!(f, "`{n}` has no bounds"),
            Stop::Overflow => write!(f, "numbers beyond 64 bits"),
            Stop::Other(what) => write!(f, "{what}"),
        }
    }
}

/// An instance of a part of a declared instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Instance {
    /// The declared instruction.
    pub instruction: Name,
    /// Which part.
    pub part: Part,
    /// Values of the declared inames around it, those of its reductions last.
    pub point: Vec<(Name, i64)>,
}

/// `S0[i=3]`
impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.instruction)?;
        if !self.point.is_empty() {
            let values: Vec<String> = self.point.iter().map(|(n, v)| format!("{n}={v}")).collect();
            write!(f, "[{}]", values.join(", "))?;
        }
        Ok(())
    }
}

/// An element of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellName {
    /// The array.
    pub array: Name,
    /// Its subscripts.
    pub index: Vec<i64>,
}

impl fmt::Display for CellName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.array)?;
        if !self.index.is_empty() {
            let index: Vec<String> = self.index.iter().map(i64::to_string).collect();
            write!(f, "[{}]", index.join(", "))?;
        }
        Ok(())
    }
}

/// What a cell holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Token {
    /// Nothing was written to it.
    Unwritten,
    /// What an argument held at the beginning.
    Initial(CellName),
    /// What a declared instance computes, for its target of this number.
    Definition(Instance, usize),
}

/// Values of the parameters.
pub type Parameters = BTreeMap<Name, i64>;
