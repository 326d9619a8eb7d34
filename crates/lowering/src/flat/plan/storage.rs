//! Where the values of the launch over chunks live.
//!
//! A block has the tiles of its warps in shared memory, a slice for each: the mapped values of
//! staged inputs, at the last point of a segment what that point completes, a mark for each point
//! that is the last one of its segment, and what is open before each lane. If the state is one
//! value of the type of the only input, what a point completes overwrites the point.
//!
//! Lanes store vectors side by side, and each reads neighbouring points. Every 128 bytes of points
//! are followed by 16 bytes of padding, so that vectors in either order are free of bank conflicts.
//!
//! Private arrays hold what a lane has loaded, the points that it reduces with their marks, and
//! [`ENDS`] ends of segments of each of three groups: the current one, the next, which is loaded
//! ahead, and one of those after it.

use loopwright_kernel_ir::{DType, Diagnostic, ReductionOp};
use loopwright_legality::FlatNest;
use loopwright_target::Target;

use super::{Cut, Input};
use crate::analyse::{arrays::widest, state::names};

/// Number of ends of a group that each lane holds.
const ENDS: i64 = 4;

/// An array of a block or a thread.
pub(crate) struct Local {
    /// Its name, if no other array has it.
    pub like: String,
    pub dtype: DType,
    pub dims: Vec<u64>,
    /// What its elements mean, for the comment at its declaration; empty for private arrays.
    pub note: &'static str,
}

/// The arrays of a launch, in shared memory and of each thread.
#[derive(Default)]
pub(crate) struct Locals {
    pub shared: Vec<Local>,
    pub private: Vec<Local>,
}

impl Locals {
    /// Declares an array of a block; its number.
    pub fn shared(&mut self, like: &str, dtype: DType, dims: &[i64], note: &'static str) -> usize {
        let dims = dims.iter().map(|d| d.unsigned_abs()).collect();
        self.shared.push(Local { like: like.to_string(), dtype, dims, note });
        self.shared.len() - 1
    }

    /// Declares an array of each thread; its number.
    pub fn private(&mut self, like: &str, dtype: DType, length: i64) -> usize {
        let dims = vec![length.unsigned_abs()];
        self.private.push(Local { like: like.to_string(), dtype, dims, note: "" });
        self.private.len() - 1
    }

    /// The name of an array of each thread among those of the launch: one that several have gets a
    /// number.
    pub fn private_name(&self, array: usize) -> String {
        let Some(Local { like, .. }) = self.private.get(array) else { return String::new() };
        match self.private.iter().take(array).filter(|a| a.like == *like).count() {
            0 => like.clone(),
            n => format!("{like}_{n}"),
        }
    }

    /// The bytes of shared memory.
    pub fn shared_bytes(&self) -> u64 {
        let bytes = |a: &Local| a.dims.iter().product::<u64>() * a.dtype.bytes() as u64;
        self.shared.iter().map(|a| bytes(a).next_multiple_of(16)).sum()
    }
}

/// An array in shared memory with an element for each point of the tiles of a block.
#[derive(Clone, Copy)]
pub(crate) struct Points {
    pub array: usize,
    pub dtype: DType,
    /// `together` points in a row are followed by `gap` unused elements.
    pub together: i64,
    pub gap: i64,
}

impl Points {
    fn new(
        locals: &mut Locals,
        like: &str,
        dtype: DType,
        (cut, target): (&Cut, &Target),
        note: &'static str,
    ) -> Self {
        let bytes = i64::try_from(dtype.bytes()).unwrap_or(16);
        let of = |size: u32| i64::from(size) / bytes;
        // A gap of one vector after each pass over the banks: lanes that read whole blocks begin at
        // different banks. Padding for narrower elements would need larger tiles than a warp can
        // have.
        let (together, gap) =
            if bytes < 4 { (1 << 20, 0) } else { (of(target.pass()), of(target.widest_access)) };
        let points = Points { array: 0, dtype, together, gap };
        let array = locals.shared(like, dtype, &[cut.warps, points.places(cut.tile)], note);
        Points { array, ..points }
    }

    /// The number of elements that these points take, padding included.
    pub fn places(&self, points: i64) -> i64 {
        points + points / self.together * self.gap
    }

    /// The length of the widest vector that `points` neighbours allow on the target.
    pub fn widest(&self, points: i64, target: &Target) -> i64 {
        widest(self.dtype, target).min(points)
    }
}

/// The shared memory of a block: for each input, where its points lie, if it is staged, and the
/// rest.
pub(crate) struct Arrays {
    /// At the last point of a segment, what that point's lane has of it: one array per value of the
    /// state.
    pub complete: Vec<Points>,
    /// The input whose points `complete` overwrites.
    pub overwritten: Option<usize>,
    /// Whether a point is the last one of its segment.
    pub last: usize,
    /// For each lane, the value that the lanes before it have left open, by number of the state.
    pub before: Vec<usize>,
    /// For each warp: its partial result of the first segment that ends in its chunk, the open one
    /// after its chunk, and the number of that first segment.
    pub head: Vec<usize>,
    pub tail: Vec<usize>,
    pub ended: usize,
}

/// The private arrays of a lane that do not depend on the inputs.
pub(crate) struct Registers {
    /// Marks of the last points of segments, and an array without marks.
    pub last: usize,
    pub none: usize,
    /// Number of ends that the lane holds of a group.
    pub each: i64,
    /// The ends of a group, and where its segments begin.
    pub ends: usize,
    pub begins: usize,
    pub next_ends: usize,
    pub further_ends: usize,
}

/// Declares the shared memory: where the points of each input lie, if it is staged, and the rest.
pub(crate) fn arrays(
    inputs: &[Input],
    (operator, state): (&ReductionOp, &[DType]),
    on: (&Cut, &Target),
    (index, locals): (DType, &mut Locals),
) -> (Vec<Option<Points>>, Arrays) {
    let (cut, _) = on;
    let mut points: Vec<Option<Points>> = Vec::new();
    let in_place = match (inputs, state) {
        ([input], [state]) => input.staged && input.dtype == *state,
        _ => false,
    };
    for (k, input) in inputs.iter().enumerate() {
        let like = if inputs.len() == 1 { "points".to_string() } else { format!("points_{k}") };
        let note = match in_place {
            true => "what is reduced, mapped; of the last point of a segment, what it completes",
            false => "what is reduced, mapped",
        };
        points.push(input.staged.then(|| Points::new(locals, &like, input.dtype, on, note)));
    }
    let (complete, overwritten) = match points.first().copied().flatten() {
        Some(points) if in_place => (vec![points], Some(0)),
        _ => {
            let note = "what the last point of a segment completes";
            let of = |(name, dtype): (&String, &DType)| Points::new(locals, name, *dtype, on, note);
            (names(operator, "complete").iter().zip(state).map(of).collect(), None)
        }
    };
    let note = "whether a point is the last one of its segment";
    let last = locals.shared("last", DType::U8, &[cut.warps, cut.tile], note);
    let mut of_state = |like: &str, dims: &[i64], note: &'static str| -> Vec<usize> {
        let names = names(operator, like);
        names.iter().zip(state).map(|(name, dtype)| locals.shared(name, *dtype, dims, note)).collect()
    };
    let before = of_state("before", &[cut.warps, cut.warp], "what is open before each thread");
    let note = "what each warp has of the first segment that ends in its chunk";
    let head = of_state("heads", &[cut.warps], note);
    let tail = of_state("tails", &[cut.warps], "what is open behind each warp's chunk");
    let note = "the first segment that ends in each warp's chunk";
    let ended = locals.shared("firsts", index, &[cut.warps], note);
    (points, Arrays { complete, overwritten, last, before, head, tail, ended })
}

/// Declares the private arrays that do not depend on the inputs.
pub(crate) fn registers(items: i64, index: DType, locals: &mut Locals) -> Registers {
    Registers {
        last: locals.private("own_last", DType::U8, items),
        none: locals.private("none", DType::U8, items),
        each: ENDS,
        ends: locals.private("ends", index, ENDS),
        begins: locals.private("begins", index, ENDS),
        next_ends: locals.private("next_ends", index, ENDS),
        further_ends: locals.private("further_ends", index, ENDS),
    }
}

/// Refuses tiles that the shared memory of a block does not hold.
pub(crate) fn check(nest: &FlatNest, cut: &Cut, locals: &Locals, target: &Target) -> Result<(), Diagnostic> {
    let (bytes, most) = (locals.shared_bytes(), target.static_shared);
    if bytes <= most {
        return Ok(());
    }
    Err(Diagnostic::new(
        "too-much-shared",
        format!(
            "the tiles of {} warps of the flattened nest over `{}` take {bytes} bytes of shared \
             memory, more than {most}",
            cut.warps, nest.segment
        ),
    )
    .help("take fewer items or threads: `flatten_ragged(s, i, threads=64, items=8)`"))
}
