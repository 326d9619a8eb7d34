//! The three launches of a flattened nest: how they appear in the schedule, and their device
//! kernels.

use std::{collections::BTreeSet, rc::Rc};

use loopwright_kernel_ir::{Diagnostic, Flat, Name};
use loopwright_legality::{FlatNest, flat_nest};
use loopwright_target::Target as Device;

use super::{COUNT_BITS, STARTING_THREADS, Scratch, Writer};
use crate::{
    LowerOptions,
    analyse::analysis::Analysis,
    program::{BinOp, DeviceKernel, Note, Value, ValueKind},
    write::{
        device_kernel::Draft,
        emitter::{Emitter, Shared},
        env::Env,
        fold::add,
    },
};

/// Threads of the one block of the last launch: as many warps as a warp has lanes.
fn joining_threads(target: &Device) -> u32 {
    target.warp_size * target.warp_size
}

/// Refuses sizes that do not fit the target's warps: the last launch is one block of as many warps
/// as a warp has lanes, and a lane's digit must be a whole number of bits.
fn check(flat: Flat, target: &Device) -> Result<(), Diagnostic> {
    let digit = target.warp_size.trailing_zeros().max(1);
    if joining_threads(target) > target.most_threads || COUNT_BITS.iter().any(|bits| bits % digit != 0) {
        return Err(Diagnostic::new(
            "flat-warp",
            format!("flattened nests cannot be written for warps of {} threads", target.warp_size),
        )
        .help("lower the kernel without `flatten_ragged` for this target"));
    }
    match flat.wrong_for(target) {
        Some(wrong) => Err(Diagnostic::new("flat-warp", wrong)),
        None => Ok(()),
    }
}

/// Refuses tiles that the shared memory of a block does not hold: its arrays are declared as they
/// are when the launch is written.
fn check_tiles(analysis: &Analysis<'_>, nest: &Nest, options: LowerOptions) -> Result<(), Diagnostic> {
    let LowerOptions { index, target } = options;
    let mut shared = Shared { globals: Vec::new(), leaves: Vec::new(), index, target };
    let block = [Stage::Chunks.threads(nest.flat, &target), 1, 1];
    let emitter = Emitter::new(analysis, &mut shared, block, "");
    let mut writer = Writer::new(emitter, Env::new(&analysis.context)?, &nest.nest, nest.flat, None)?;
    writer.arrays()?;
    let bytes: u64 = writer.emitter.shared.iter().map(|a| a.bytes().next_multiple_of(16)).sum();
    let most = target.static_shared;
    if bytes <= most {
        return Ok(());
    }
    Err(Diagnostic::new(
        "too-much-shared",
        format!(
            "the tiles of {} warps of the flattened nest over `{}` take {bytes} bytes of shared \
             memory, more than {most}",
            writer.warps(),
            nest.nest.segment
        ),
    )
    .help("take fewer items or threads: `flatten_ragged(s, i, threads=64, items=8)`"))
}

/// The three launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Starts,
    Chunks,
    Join,
}

impl Stage {
    const ALL: [Stage; 3] = [Stage::Starts, Stage::Chunks, Stage::Join];

    /// Threads of a block.
    fn threads(self, flat: Flat, target: &Device) -> u32 {
        match self {
            Stage::Starts => STARTING_THREADS,
            Stage::Chunks => u32::from(flat.threads),
            Stage::Join => joining_threads(target),
        }
    }

    /// Its grid; nothing is launched where there are no segments.
    fn grid(self, scratch: &Scratch, target: &Device) -> Value {
        let int = |v| Value::int(scratch.count.dtype, v);
        let blocks = match self {
            Stage::Starts => {
                let warps = i64::from(STARTING_THREADS / target.warp_size);
                Value::binary(BinOp::TruncDiv, add(scratch.chunks.clone(), int(warps)), int(warps))
            }
            Stage::Chunks => scratch.blocks.clone(),
            Stage::Join => int(1),
        };
        let some = Value::binary(BinOp::Gt, scratch.count.clone(), int(0));
        Value {
            dtype: scratch.count.dtype,
            kind: ValueKind::Select(Box::new(some), Box::new(blocks), Box::new(int(0))),
        }
    }
}

/// A nest with its sizes, shared by its launches.
struct Nest {
    nest: FlatNest,
    flat: Flat,
}

/// One launch of a nest, in the schedule.
#[derive(Clone)]
pub(crate) struct Launch {
    nest: Rc<Nest>,
    stage: Stage,
}

/// The launches of the nest over the segments of this iname, in order.
///
/// Errors: a nest that [`flat_nest`] refuses; sizes that do not fit the target.
pub(crate) fn launches(
    analysis: &Analysis<'_>,
    options: LowerOptions,
    segment: &Name,
) -> Result<Vec<Launch>, Diagnostic> {
    let missing = || Diagnostic::new("internal", "nothing says how a flattened nest is cut");
    let flat = *analysis.kernel.flat.get(segment).ok_or_else(missing)?;
    check(flat, &options.target)?;
    let nest = Rc::new(Nest { nest: flat_nest(analysis.kernel, segment)?, flat });
    check_tiles(analysis, &nest, options)?;
    Ok(Stage::ALL.map(|stage| Launch { nest: nest.clone(), stage }).into())
}

impl Launch {
    /// Whether this launch runs the parts of the nest.
    pub fn has_parts(&self) -> bool {
        self.stage == Stage::Chunks
    }

    /// Why it is a separate launch after the kernel of this name.
    pub fn notes(&self, before: &str) -> Vec<Note> {
        let why = match self.stage {
            Stage::Starts => return Vec::new(),
            Stage::Chunks => "which finds where each chunk of the flattened segments begins",
            Stage::Join => {
                "whose blocks leave partial results of the flattened segments that they have in \
                 common"
            }
        };
        vec![Note::new(format!("launched after {before}, {why}"))]
    }

    /// What it does, for the text of a schedule.
    pub fn text(&self) -> String {
        let does = match self.stage {
            Stage::Starts => "finds where each chunk of points begins",
            Stage::Chunks => "each warp reduces a chunk of points",
            Stage::Join => "one block joins what chunks have of common segments",
        };
        format!("segments of {}: {does}", self.nest.nest.point)
    }

    /// Writes the device kernel of this name, in the loops of the host `around`. The first launch
    /// declares what all of them hand to each other.
    pub fn write(
        &self,
        (analysis, shared, scratch): (&Analysis<'_>, &mut Shared, &mut Option<Scratch>),
        env: Env,
        (name, around): (&Name, &[Name]),
    ) -> Result<DeviceKernel, Diagnostic> {
        let target = shared.target;
        let Nest { nest, flat } = &*self.nest;
        if self.stage == Stage::Starts {
            let emitter = Emitter::new(analysis, shared, [1; 3], "");
            *scratch = Some(Writer::new(emitter, env.clone(), nest, *flat, None)?.declare_scratch()?);
        }
        let early = || Diagnostic::new("internal", "launches out of order");
        let scratch = scratch.as_ref().ok_or_else(early)?;
        let block = [self.stage.threads(*flat, &target), 1, 1];
        let emitter = Emitter::new(analysis, shared, block, name);
        let mut writer = Writer::new(emitter, env, nest, *flat, Some(scratch))?;
        let body = match self.stage {
            Stage::Starts => writer.starts()?,
            Stage::Chunks => writer.chunks()?,
            Stage::Join => writer.join()?,
        };
        let min_blocks_per_multiprocessor = writer.min_blocks;
        let mut draft = Draft::of(writer.emitter, body);
        draft.finish();
        let one = Value::int(shared.index, 1);
        let grid = [self.stage.grid(scratch, &target), one.clone(), one];
        let of = (analysis, shared.globals.as_slice());
        let kernel = draft.kernel((name.clone(), grid, block), of, around, &BTreeSet::new());
        Ok(DeviceKernel { min_blocks_per_multiprocessor, ..kernel })
    }
}
