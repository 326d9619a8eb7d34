//! Blocks that look back: what they publish, how they wait, and in which order they run.
//!
//! A device has room for some blocks of a launch at a time, and starts another one when one ends.
//! Here [`RESIDENT`] blocks take turns: one that is drawn runs until it has published its total, or
//! waits for what another block has not published yet. Blocks that are numbered in the order in
//! which they start are started in the order of their coordinates; otherwise any of the others may
//! come next, and where all resident blocks wait for blocks that are not, that is the fault of a
//! program which relies on more.
//!
//! What is published is kept beside the words in global memory, which are only asked whether they
//! are 0 at first, and set to something else.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, atomic::Ordering},
};

use loopwright_kernel_ir::{DType, PerDim};
use loopwright_program::{InOrder, Memory};

use crate::{
    block::{Block, Failure, Launch, Outcome, Progress, lowest},
    bytecode::{Look, Reg, is_wide},
    counters::{AccessTraffic, Counters},
    fault::{Act, Fault, FaultKind},
    machine::add_all,
    memory::Cells,
    trace::Trace,
    warp::Warp,
};

/// The number of blocks that take turns.
pub(crate) const RESIDENT: usize = 5;

/// What the tile of a block has published.
#[derive(Clone, Debug)]
struct Published {
    total: Vec<u64>,
    prefix: Option<Vec<u64>>,
}

/// What blocks have published in a launch, by look-back and block.
#[derive(Debug, Default)]
pub(crate) struct Board(Mutex<HashMap<(u32, i64), Published>>);

impl Board {
    fn lock(&self) -> MutexGuard<'_, HashMap<(u32, i64), Published>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// What a block that looks at the next tile finds.
pub(crate) enum Looked {
    Found,
    /// No tile is left to look at.
    Done,
    /// The tile has published nothing yet.
    Nothing,
}

impl<const W: usize> Block<'_, W> {
    /// Counts a block that starts, if blocks are numbered.
    pub fn is_numbered(&mut self) -> Outcome<()> {
        let Some(InOrder { counter, .. }) = self.launch.kernel.in_order else { return Ok(()) };
        let fault = |detail: &str| -> Box<Failure> {
            let mut fault = Fault::new(FaultKind::LookBack, detail);
            fault.kernel = Some(self.launch.kernel.name.clone());
            fault.array = self.launch.globals.get(counter).map(|array| array.name.clone());
            fault.into()
        };
        let array = self.launch.globals.get(counter);
        let Some((array, Cells::B4(cells))) = array.map(|array| (array, &array.cells)) else {
            return Err(fault("the counter of blocks is no array of 32 bits"));
        };
        let has_value = array.valued.first().is_none_or(|valued| valued.load(Ordering::Relaxed) != 0);
        let Some(cell) = cells.first().filter(|_| has_value) else {
            return Err(fault("nothing has set the counter of blocks"));
        };
        if cell.load(Ordering::Relaxed) != self.number {
            return Err(fault("the counter of blocks was not 0 when the launch began"));
        }
        cell.store(self.number + 1, Ordering::Relaxed);
        Ok(())
    }

    fn look_fault(&self, warp: &Warp<W>, look: &Look, detail: &str) -> Box<Failure> {
        let mut failure = self.failure(FaultKind::LookBack, warp, lowest(warp.mask), look.site, Act::Waits);
        failure.fault.array = Some(self.array_name(self.launch.code.accesses[look.read as usize].memory));
        failure.fault.detail = detail.to_owned();
        failure
    }

    /// Publishes the total of the block's tile.
    pub fn publish(&mut self, warp: &mut Warp<W>, number: u32) -> Outcome<()> {
        let look = &self.launch.code.looks[number as usize];
        if warp.number != 0 || warp.mask.count_ones() as usize != W {
            let detail = "other threads look back than the lanes of the first warp";
            return Err(self.look_fault(warp, look, detail));
        }
        let mask = std::mem::replace(&mut warp.mask, 1);
        self.load(warp, look.read, look.found)?;
        warp.wide[look.mark as usize] = [1; W];
        self.store(warp, look.write, look.mark)?;
        warp.mask = mask;
        let access = &self.launch.code.accesses[look.read as usize];
        let first = warp.index(access.wide_index, access.offset)[0];
        if warp.wide[look.found as usize][0] != 0 || !self.others_are_zero(access.memory, first, look.words) {
            return Err(self.look_fault(warp, look, "its words were not 0 when the launch began"));
        }
        let total = bits(warp, &look.total);
        let published = Published { total, prefix: None };
        if self.launch.published.lock().insert((number, self.number.into()), published).is_some() {
            return Err(self.look_fault(warp, look, "a block looks back twice"));
        }
        warp.looking = self.at[look.axis] - 1;
        Ok(())
    }

    /// Whether the words after the first one of a tile are 0.
    fn others_are_zero(&self, memory: Memory, first: i64, words: i64) -> bool {
        let Memory::Global(array) = memory else { return false };
        let array = &self.launch.globals[array];
        let Cells::B8(cells) = &array.cells else { return false };
        (first + 1..first + words).all(|k| {
            let k = usize::try_from(k).unwrap_or(usize::MAX);
            let has_value = array.valued.is_empty()
                || array.valued.get(k).is_some_and(|valued| valued.load(Ordering::Relaxed) != 0);
            has_value && cells.get(k).is_some_and(|cell| cell.swap(1, Ordering::Relaxed) == 0)
        })
    }

    /// Looks at the next of the tiles before the block's own.
    pub fn look(&mut self, warp: &mut Warp<W>, number: u32) -> Looked {
        let look = &self.launch.code.looks[number as usize];
        if warp.looking < 0 {
            return Looked::Done;
        }
        let PerDim { x, y, .. } = self.launch.grid;
        let stride = PerDim { x: 1, y: x, z: x * y }[look.axis];
        let other = i64::from(self.number) - stride * (self.at[look.axis] - warp.looking);
        let Some(found) = self.launch.published.lock().get(&(number, other)).cloned() else {
            return Looked::Nothing;
        };
        // What all tiles up to this one join is known, or the next one has to be looked at.
        warp.looking = if found.prefix.is_some() { -1 } else { warp.looking - 1 };
        for ((dst, dtype), value) in look.next.iter().zip(found.prefix.unwrap_or(found.total)) {
            match is_wide(*dtype) {
                true => warp.wide[*dst as usize] = [value; W],
                false => warp.narrow[*dst as usize] = [value as u32; W],
            }
        }
        Looked::Found
    }

    /// Publishes what the block's tile and all before it join.
    pub fn prefix(&mut self, warp: &mut Warp<W>, number: u32) {
        let look = &self.launch.code.looks[number as usize];
        let prefix = bits(warp, &look.prefix);
        if let Some(own) = self.launch.published.lock().get_mut(&(number, self.number.into())) {
            own.prefix = Some(prefix);
        }
    }
}

/// What registers hold in the first lane.
fn bits<const W: usize>(warp: &Warp<W>, registers: &[(Reg, DType)]) -> Vec<u64> {
    let bits = |(reg, dtype): &(Reg, DType)| match is_wide(*dtype) {
        true => warp.wide[*reg as usize][0],
        false => warp.narrow[*reg as usize][0].into(),
    };
    registers.iter().map(bits).collect()
}

/// Numbers that are drawn: xorshift, which is the same on every machine.
struct Draw(u64);

impl Draw {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % count.max(1)
    }
}

/// Runs the blocks of a launch in turns.
pub(crate) fn in_turns<const W: usize>(
    launch: &Launch<'_>,
    blocks: u32,
    mut trace: Option<Trace>,
) -> Outcome<(Counters, Vec<AccessTraffic>)> {
    let mut draw = Draw(launch.options.turns.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let is_numbered = launch.kernel.in_order.is_some();
    let mut waiting: Vec<u32> = if is_numbered { Vec::new() } else { (0..blocks).collect() };
    let mut next = 0;
    // Places for blocks: whether a block is there, and whether it waits for others.
    let mut places: Vec<(Block<'_, W>, bool, bool)> = Vec::new();
    loop {
        let rest = if is_numbered { (blocks - next) as usize } else { waiting.len() };
        let free = places.iter().position(|(_, some, _)| !some);
        let can_start = rest > 0 && (free.is_some() || places.len() < RESIDENT);
        let ready: Vec<usize> = (0..places.len()).filter(|k| places[*k].1 && !places[*k].2).collect();
        let turn = match ready.len() + usize::from(can_start) {
            0 if places.iter().all(|(_, some, _)| !some) => break,
            0 => {
                let waits = places.iter().find(|(_, some, _)| *some).map(|(block, ..)| block);
                return Err(waits.map_or_else(|| Fault::new(FaultKind::LookBack, "").into(), for_ever));
            }
            count => draw.below(count),
        };
        let place = match ready.get(turn) {
            Some(place) => *place,
            None => {
                let number = match is_numbered {
                    true => {
                        next += 1;
                        next - 1
                    }
                    false => waiting.swap_remove(draw.below(rest)),
                };
                let place = free.unwrap_or(places.len());
                if free.is_none() {
                    places.push((Block::new(launch, None), false, false));
                }
                let (block, some, waits) = &mut places[place];
                block.start(number)?;
                (*some, *waits) = (true, false);
                place
            }
        };
        let (block, some, waits) = &mut places[place];
        block.trace = trace.take();
        let progress = block.resume();
        trace = block.trace.take();
        match progress? {
            Progress::Ended => *some = false,
            Progress::Published => {}
            Progress::Waits => {
                *waits = true;
                continue;
            }
        }
        // What it has published may be what others wait for.
        places.iter_mut().for_each(|(_, _, waits)| *waits = false);
    }
    let (mut counters, mut accessed) = (Counters::default(), Vec::new());
    for (block, ..) in &places {
        counters += block.counted();
        add_all(&mut accessed, &block.accessed);
    }
    Ok((counters, accessed))
}

/// The fault of blocks that all wait for what none of them publishes.
fn for_ever<const W: usize>(block: &Block<'_, W>) -> Box<Failure> {
    let looks = &block.launch.code.looks;
    let warp = &block.warps[0];
    let Some(look) = looks.first() else { return Fault::new(FaultKind::LookBack, "").into() };
    let detail = format!(
        "all blocks that have started wait for others: that of tile {} for tile {}",
        block.at[look.axis], warp.looking
    );
    block.look_fault(warp, look, &detail)
}
