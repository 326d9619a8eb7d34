//! How the points of a tile are reduced.
//!
//! *Inside one segment.* If no segment ends in a tile, each lane adds the points that it has loaded
//! to an accumulator of its own, without shared memory. The lanes' accumulators are joined when the
//! segment or the chunk ends. That changes the order of a segment's points, though always in the
//! same way: the operator has to commute. And no input may depend on the segment, since a lane does
//! not know which one it is.
//!
//! *Otherwise* each lane reduces neighbouring points, in their order. If an input depends on the
//! segment, the lane finds that of its first point, and each following one, by bisection among the
//! ends of the chunk.
//!
//! *Points outside of the chunk*, in its first and last tile, are filled with values whose terms
//! are neutral, so that they are added like others. There are such values if all inputs are staged,
//! each is itself one value of the state, its type can represent that value's neutral element, and
//! the rest of the state is neutral for every point. Otherwise these points are skipped.
//!
//! *Copies* between shared and private memory are as wide as the types and the numbers of points
//! allow.

use loopwright_kernel_ir::{DType, Expr, ReductionOp};
use loopwright_target::Target;

use super::{
    Cut, Input, Loads,
    storage::{Locals, Points},
};
use crate::analyse::state::count;

/// How the points of a tile are reduced.
pub(crate) struct Reduction {
    /// The inputs whose points go through shared memory.
    pub staged: Vec<Staged>,
    /// Whether each lane has an accumulator of its own for tiles inside one segment.
    pub own: bool,
    pub outside: Outside,
    /// The greatest step of the bisection by which a lane finds the segment of a point; `None` if
    /// no input depends on the segment.
    pub bisection: Option<i64>,
    /// Marks that one access of a vector loads or stores.
    pub marks: i64,
}

/// What becomes of the points of a tile that do not belong to the chunk.
pub(crate) enum Outside {
    /// They are skipped; zeros take their place in shared memory.
    Skipped,
    /// These values stand for them, one for each input: their terms are neutral.
    Neutral(Vec<Expr>),
}

/// An input whose points go through shared memory.
pub(crate) struct Staged {
    /// Its position among the arguments of the reduction.
    pub input: usize,
    pub points: Points,
    pub source: Source,
    /// The private array of the points that the lane reduces.
    pub own: usize,
    /// Elements per store to `points`, where all points of the tile belong to the chunk.
    pub width: i64,
    /// Elements per copy between `points` and `own`.
    pub own_width: i64,
}

/// The private array that holds the values to be stored.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// The values as they were loaded.
    Loaded(usize),
    /// After mapping or conversion.
    Mapped(usize),
}

impl Source {
    pub fn private(self) -> usize {
        match self {
            Source::Loaded(private) | Source::Mapped(private) => private,
        }
    }
}

impl Reduction {
    /// Decides how points are reduced that lie at these places in shared memory, and declares the
    /// private arrays for it.
    pub fn new(
        (inputs, points, loads): (&[Input], &[Option<Points>], &Loads),
        (operator, state): (&ReductionOp, &[DType]),
        cut: &Cut,
        target: &Target,
        locals: &mut Locals,
    ) -> Reduction {
        let mut staged = Vec::new();
        for (k, (input, points)) in inputs.iter().zip(points).enumerate() {
            let Some(points) = *points else { continue };
            let source = match loads.as_loaded(input) {
                Some(private) => Source::Loaded(private),
                None => Source::Mapped(locals.private("mapped", points.dtype, cut.items)),
            };
            staged.push(Staged {
                input: k,
                points,
                source,
                own: locals.private("own_points", points.dtype, cut.items),
                width: points.widest(loads.vector, target),
                own_width: points.widest(cut.items, target),
            });
        }
        let of_segment = inputs.iter().any(|input| input.of_segment);
        // A chunk has at most so many ends.
        let ends = (cut.chunk / cut.end_weight + 1).unsigned_abs();
        Reduction {
            staged,
            own: operator.commutes && !of_segment,
            outside: neutral(inputs, operator, state).map_or(Outside::Skipped, Outside::Neutral),
            bisection: of_segment.then_some(ends.next_power_of_two() as i64),
            marks: cut.items.min(target.widest_access.into()),
        }
    }
}

/// Values of the inputs whose terms are neutral.
fn neutral(inputs: &[Input], operator: &ReductionOp, state: &[DType]) -> Option<Vec<Expr>> {
    let mut values: Vec<Option<Expr>> = vec![None; operator.inputs.len()];
    for ((lift, neutral), state) in operator.lift.iter().zip(&operator.neutral).zip(state) {
        match operator.inputs.iter().position(|input| matches!(lift, Expr::Name(n) if n == input)) {
            Some(k) => {
                let (input, value) = (inputs.get(k)?, values.get_mut(k)?);
                let representable = input.dtype == *state || matches!(neutral, Expr::Int(0 | 1));
                if !input.staged || value.is_some() || !representable {
                    return None;
                }
                *value = Some(neutral.clone());
            }
            None if lift == neutral && operator.inputs.iter().all(|input| count(lift, input) == 0) => {}
            None => return None,
        }
    }
    let values: Option<Vec<Expr>> = values.into_iter().collect();
    values.filter(|values| !values.is_empty())
}
