//! A concrete run of a kernel for given parameter values, with tokens and hashes instead of
//! numbers.
//!
//! Every cell remembers which declared definition it holds. The declared kernel runs first and
//! records which definition each read of each instance sees, which points each reduction combines,
//! and what the outputs hold at the end. The transformed kernel runs in order of its times and must
//! agree on all of these. Executions of one part at the same time in different threads must not
//! touch the same cell if one of them writes. A copy passes on what it reads.
//!
//! Besides its definition, a cell holds its value: a number, or where it depends on data a hash of
//! the expression, the values that it reads, and those of its inames ([`Value`]). A commutative
//! reduction hashes to the sum of its terms' hashes, and so does a cell that updates of one kind
//! have changed. A read that sees a different definition is a counterexample if it changes the
//! value of an output. If only values change that no output depends on, or if the other definition
//! has the same value, nothing is refuted.
//!
//! Expressions of different form may have the same value, as `x` and `x*1.0`. A difference is
//! therefore looked for again in numbers that are drawn for the data ([`Data::Drawn`]): what no
//! draw shows is no counterexample.
//!
//! If no such race is found, every order that the transformed kernel allows agrees with this one:
//! two executions at different times are either in one thread, or lowering places a synchronisation
//! between them if they touch the same cell.

pub(crate) mod expressions;
mod failure;
mod machine;
mod numbering;
pub(crate) mod points;
mod schedule;
mod value;

use std::{collections::BTreeMap, fmt};

use loopwright_kernel_ir::{Diagnostic, Name, Part};

pub use failure::Failure;
pub use machine::{Run, replay};
pub use value::Value;

/// Why there is no concrete run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The control flow depends on data: the name of what holds them.
    Data(Name),
    /// There are more executions than the limit.
    Large,
    /// This iname is unbounded.
    Unbounded(Name),
    /// An integer does not fit in 64 bits.
    Overflow,
    /// Another reason, in words.
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
    /// The id of the declared instruction.
    pub instruction: Name,
    /// The part of that instruction.
    pub part: Part,
    /// Values of the declared inames around it, with those of its reductions last.
    pub point: Vec<(Name, i64)>,
}

/// Prints, for example, `S0[i=3]`.
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
    /// The array of the element.
    pub array: Name,
    /// Its subscripts, one per axis.
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

/// What stands for the data of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Hashes, which are equal where values are equal for all data, as far as that is known.
    Unknown,
    /// Numbers, drawn by this seed: those of odd seeds are of any magnitude, those of even ones are
    /// near 0, where comparisons with constants are decided.
    Drawn(u64),
}

/// The definition that a cell holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Token {
    /// None: nothing has been written to it.
    Unwritten,
    /// The initial value of an argument's cell.
    Initial(CellName),
    /// What a declared instance computes for the target with this number.
    Definition(Instance, usize),
    /// What these instances, in the order of their names, have made of a definition by updates of
    /// one kind.
    Updated(Box<Token>, Vec<Instance>),
}

/// Values of the parameters, by name.
pub type Parameters = BTreeMap<Name, i64>;
