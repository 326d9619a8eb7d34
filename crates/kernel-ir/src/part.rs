//! The parts of instructions that the loop tree orders.

use std::fmt;

use loopwright_poly::Name;
use serde::{Deserialize, Serialize};

/// A part of an instruction. Reductions are numbered as in [`crate::Expr::reductions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Part {
    /// The whole of an instruction without reductions.
    Whole,
    /// The accumulator of a reduction is set to the neutral element.
    Init(usize),
    /// One point of a reduction's domain is added to its accumulator.
    Update(usize),
    /// The results of the reductions are used, and the instruction's target is written.
    Finish,
}

/// A part of a certain instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PartRef {
    /// The instruction's id, unique in the kernel.
    pub instruction: Name,
    /// The part of that instruction.
    pub part: Part,
}

impl fmt::Display for PartRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = &self.instruction;
        match self.part {
            Part::Whole => write!(f, "{id}"),
            Part::Init(0) => write!(f, "{id}.init"),
            Part::Update(0) => write!(f, "{id}.update"),
            Part::Init(n) => write!(f, "{id}.init{n}"),
            Part::Update(n) => write!(f, "{id}.update{n}"),
            Part::Finish => write!(f, "{id}.finish"),
        }
    }
}
