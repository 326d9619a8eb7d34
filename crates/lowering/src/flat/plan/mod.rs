//! The plan of a flattened nest: everything that is decided about its launches.
//!
//! The passes, in order, each a file whose head states its algorithm:
//!
//! | pass | decides |
//! |---|---|
//! | [`cut`] | steps, tiles and chunks; full and later chunks; the numbers of chunks and blocks |
//! | [`search`] | how the first launch finds where chunks begin |
//! | [`inputs`] | inputs in shared memory; what is loaded of each point, by which vectors |
//! | [`storage`] | arrays of a block and of each thread, with padding; whether they fit |
//! | [`reduction`] | accumulators of lanes, points outside of a chunk, widths of copies |
//! | [`occupancy`] | for how many blocks a multiprocessor has to have registers |
//! | [`order`] | the order of work on chunks and tiles, barriers |
//! | [`join`] | how the last launch joins what blocks have left |
//! | [`handed`] | arrays between launches |
//!
//! A plan is data: [`super::show`] prints it, and [`super::write`] makes the device kernels from it
//! without deciding anything.

pub(crate) mod cut;
pub(crate) mod handed;
pub(crate) mod inputs;
pub(crate) mod join;
pub(crate) mod occupancy;
pub(crate) mod order;
pub(crate) mod reduction;
pub(crate) mod search;
pub(crate) mod storage;

pub(crate) use cut::{Chunks, Cut};
pub(crate) use handed::{Handed, HandedArray, Length};
pub(crate) use inputs::{Input, Load, Loads};
pub(crate) use join::{Join, RoundNode};
pub(crate) use order::{ChunkNode, FirstNode, Group, TileNode};
pub(crate) use reduction::{Outside, Reduction, Source, Staged};
pub(crate) use search::Search;
pub(crate) use storage::{Arrays, Local, Locals, Points, Registers};

use loopwright_kernel_ir::{DType, Diagnostic, Flat, Name, ReductionOp, ReductionTypes};
use loopwright_legality::FlatNest;

use crate::{
    LowerOptions,
    analyse::analysis::{Analysis, reduction as reduction_of},
};

/// All that is decided about the three launches of a nest.
pub(crate) struct Plan {
    pub nest: FlatNest,
    /// The name of the instruction that reduces.
    pub instruction: Name,
    pub operator: ReductionOp,
    /// The types of the operator's state, and of what it delivers.
    pub state: Vec<DType>,
    pub results: Vec<DType>,
    pub inputs: Vec<Input>,
    pub cut: Cut,
    pub handed: Handed,
    pub search: Search,
    pub chunks: ChunksPlan,
    pub join: Join,
}

/// The launch over chunks.
pub(crate) struct ChunksPlan {
    /// Threads of each of its blocks.
    pub threads: u32,
    /// The least number of blocks that a multiprocessor must have registers for.
    pub min_blocks: Option<u32>,
    pub locals: Locals,
    pub arrays: Arrays,
    pub registers: Registers,
    pub loads: Loads,
    pub reduction: Reduction,
    /// What a warp does with its chunk.
    pub nodes: Vec<ChunkNode>,
}

impl Plan {
    /// The plan of a nest that is cut like this.
    ///
    /// Errors: sizes that do not fit the target, or 64 bits; tiles that shared memory does not
    /// hold.
    pub fn new(
        analysis: &Analysis<'_>,
        options: LowerOptions,
        nest: FlatNest,
        flat: Flat,
    ) -> Result<Plan, Diagnostic> {
        let LowerOptions { index, target } = options;
        let search = Search::new(index, &target)?;
        if let Some(wrong) = flat.wrong_for(&target) {
            return Err(Diagnostic::new("flat-warp", wrong));
        }
        let missing = || Diagnostic::new("internal", "a flattened nest without its reduction");
        let instruction = &analysis.kernel.instructions[nest.instruction];
        let reduce = reduction_of(instruction, 0).ok_or_else(missing)?;
        let operator = analysis.operator(&reduce.op)?;
        let types = analysis.reduction_types(nest.instruction)?;
        let ReductionTypes { inputs: input_types, state, results } =
            types.first().cloned().ok_or_else(missing)?;

        let cut = Cut::new(&nest, flat, &target)?;
        let args = reduce.args.iter().map(|a| nest.inlined(a)).zip(input_types);
        let inputs = inputs::inputs(analysis, &nest, args);
        let join = Join::new((&operator, &state), &cut, index, &target)?;
        let mut locals = Locals::default();
        let (points, arrays) =
            storage::arrays(&inputs, (&operator, &state), (&cut, &target), (index, &mut locals));
        storage::check(&nest, &cut, &locals, &target)?;
        let loads = Loads::new(analysis, (&inputs, &nest.point), cut.items, &target, &mut locals)?;
        let reduced = (inputs.as_slice(), points.as_slice(), &loads);
        let reduction = Reduction::new(reduced, (&operator, &state), &cut, &target, &mut locals);
        let registers = storage::registers(cut.items, index, &mut locals);
        let bytes = [loads.bytes_of_point(), state.iter().map(|t| t.bytes()).sum()];
        let min_blocks = occupancy::blocks(&analysis.kernel.options, (flat, index), &target, bytes);
        let nodes = order::chunk(&cut, &loads, &reduction, &target);
        let what = match instruction.targets.first() {
            Some(target) => target.array.clone(),
            None => instruction.id.clone(),
        };
        let handed = Handed::new(&what, (&operator, &state), index);
        let threads = u32::from(flat.threads);
        let chunks = ChunksPlan { threads, min_blocks, locals, arrays, registers, loads, reduction, nodes };
        let instruction = instruction.id.clone();
        Ok(Plan { nest, instruction, operator, state, results, inputs, cut, handed, search, chunks, join })
    }
}
