//! What the launches of a nest hand to each other: arrays in global memory that live as long as
//! the program runs.
//!
//! The first launch says of each border between chunks where it lies among segments and points; the
//! second one leaves, for each block, what it has of segments that other blocks have a part of.

use loopwright_kernel_ir::{DType, ReductionOp};

use crate::analyse::state::names;

/// An array between launches.
pub(crate) struct HandedArray {
    /// Its name, if no other array has it.
    pub like: String,
    pub dtype: DType,
    pub length: Length,
    /// What its elements mean, for the comment at its declaration.
    pub note: &'static str,
}

/// The number of its elements.
#[derive(Clone, Copy)]
pub(crate) enum Length {
    /// One for each border between chunks.
    Borders,
    /// One for each block of the launch over chunks.
    Blocks,
}

/// The arrays between the launches of a nest.
pub(crate) struct Handed {
    /// For each border, how many segments end before it.
    pub starts: HandedArray,
    /// For each border, the first point after it.
    pub points: HandedArray,
    /// For each block, its partial result of the first segment that ends in it: one array per value
    /// of the state.
    pub head: Vec<HandedArray>,
    /// For each block, the open partial result after it.
    pub tail: Vec<HandedArray>,
    /// For each block, the first segment that ends in it, or -1.
    pub ended: HandedArray,
}

impl Handed {
    /// Arrays named after `what`.
    pub fn new(what: &str, (operator, state): (&ReductionOp, &[DType]), index: DType) -> Handed {
        let array =
            |like: &str, dtype, length, note| HandedArray { like: like.to_string(), dtype, length, note };
        let of_state = |like: &str, note| {
            let names = names(operator, &format!("{what}_{like}"));
            names.iter().zip(state).map(|(name, dtype)| array(name, *dtype, Length::Blocks, note)).collect()
        };
        Handed {
            starts: array(
                &format!("{what}_starts"),
                index,
                Length::Borders,
                "the segments that end before it",
            ),
            points: array(&format!("{what}_points"), index, Length::Borders, "the first point behind it"),
            head: of_state("head", "what it has of the first segment that ends in it"),
            tail: of_state("tail", "what is open behind it"),
            ended: array(
                &format!("{what}_ended"),
                index,
                Length::Blocks,
                "the first segment that ends in it, or -1",
            ),
        }
    }
}
