//! The storage of a warp: its slice of the block's shared memory, and its threads' private arrays.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Access, DType, Diagnostic};

use super::{Writer, is_staged, points::Points, tile::Chunk};
use crate::program::{LocalArray, Value};

/// The shared memory of a block; each warp has a slice of every array.
pub(super) struct Arrays {
    /// Mapped values of points, by the number of the input.
    pub points: BTreeMap<usize, Points>,
    /// At the last point of a segment, the partial result of that point's thread: one array per
    /// value of the state. A state of one value may overwrite the point.
    pub complete: Vec<Points>,
    /// Whether a point is the last one of its segment.
    pub last: usize,
    /// The open partial result before each thread.
    pub before: Vec<usize>,
    /// For each warp: its partial result of the first segment that ends in its chunk, the open one
    /// after its chunk, and the number of that first segment.
    pub head: Vec<usize>,
    pub tail: Vec<usize>,
    pub ended: usize,
}

/// The chunk and the storage of a warp.
pub(super) struct Warp {
    pub chunk: Chunk,
    pub arrays: Arrays,
    pub registers: Registers,
}

/// Something that is read from memory for each point.
pub(super) struct Input {
    pub access: Access,
    pub private: usize,
    /// Elements per load.
    pub vector: i64,
}

/// The private arrays of a thread.
pub(super) struct Registers {
    pub inputs: Vec<Input>,
    /// Number of neighbouring points that a thread loads at once.
    pub vector: i64,
    /// Mapped values of its points, by the number of the input, unless they are just the values
    /// loaded.
    pub mapped: BTreeMap<usize, usize>,
    /// The values that replace points outside the chunk: see [`Writer::filling`].
    pub filling: Option<Vec<Value>>,
    /// The points that it reduces.
    pub points: BTreeMap<usize, usize>,
    /// Marks of the last points of segments, and an array without marks.
    pub last: usize,
    pub none: usize,
    pub ends: usize,
    /// Where the group's segments begin.
    pub begins: usize,
    pub next_ends: usize,
    pub further_ends: usize,
}

impl Registers {
    /// Bytes read per point.
    pub(super) fn bytes_of_point(&self, writer: &Writer<'_, '_, '_>) -> usize {
        self.inputs.iter().map(|input| writer.emitter.private[input.private].dtype.bytes()).sum()
    }
}

impl Writer<'_, '_, '_> {
    /// Declares the shared memory.
    pub(super) fn arrays(&mut self) -> Result<Arrays, Diagnostic> {
        let (points, warps) = (self.tile_points().unsigned_abs(), self.warps().unsigned_abs());
        let types = self.emitter.accumulator_types(self.nest.instruction, 0)?;
        let mut staged = BTreeMap::new();
        let in_place = self.args.len() == 1 && types.len() == 1;
        for (k, arg) in self.args.clone().iter().enumerate() {
            if is_staged(self, arg) {
                let dtype = self.input_type(arg)?;
                let like = if self.args.len() == 1 { "points".to_string() } else { format!("points_{k}") };
                let note = match in_place && types[0] == dtype {
                    true => "what is reduced, mapped; of the last point of a segment, what it completes",
                    false => "what is reduced, mapped",
                };
                staged.insert(k, self.shared_points(&like, dtype, note));
            }
        }
        let complete = match staged.get(&0) {
            Some(array) if in_place && types[0] == array.dtype => vec![*array],
            _ => {
                let names = crate::write::cell::names(&self.operator, "complete");
                let note = "what the last point of a segment completes";
                names.iter().zip(&types).map(|(name, dtype)| self.shared_points(name, *dtype, note)).collect()
            }
        };
        let note = "whether a point is the last one of its segment";
        let last = self.shared("last", DType::U8, &[warps, points], note);
        let lanes = self.warp_size().unsigned_abs();
        let mut of_state = |like: &str, dims: &[u64], note: &str| -> Vec<usize> {
            let names = crate::write::cell::names(&self.operator, like);
            names.iter().zip(&types).map(|(name, dtype)| self.shared(name, *dtype, dims, note)).collect()
        };
        let before = of_state("before", &[warps, lanes], "what is open before each thread");
        let head =
            of_state("heads", &[warps], "what each warp has of the first segment that ends in its chunk");
        let tail = of_state("tails", &[warps], "what is open behind each warp's chunk");
        let index = self.emitter.index();
        let ended =
            self.shared("firsts", index, &[warps], "the first segment that ends in each warp's chunk");
        Ok(Arrays { points: staged, complete, last, before, head, tail, ended })
    }

    pub(super) fn shared(&mut self, like: &str, dtype: DType, dims: &[u64], note: &str) -> usize {
        let name = self.emitter.unique(like);
        self.emitter.shared.push(LocalArray {
            name,
            dtype,
            dims: dims.to_vec(),
            layout: None,
            note: note.to_string(),
        });
        self.emitter.shared.len() - 1
    }
}
