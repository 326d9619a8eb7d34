//! Loads and stores: bounds, reads of unwritten values, races, traffic.

mod bounds;

use std::sync::atomic::Ordering;

use loopwright_kernel_ir::Name;
use loopwright_program::{Atomic, Memory};

use crate::{
    block::{Block, Failure, Outcome},
    bytecode::{Access, Reg, is_wide},
    counters::AccessTraffic,
    fault::{Act, FaultKind},
    shadow::{Conflict, Stamp},
    update::{update_narrow, update_wide},
    warp::Warp,
    words::{Narrow, Wide, active, lowest_lanes, select},
};

type Offsets<const W: usize> = [i64; W];

/// One value per lane, in either register file.
enum Words<const W: usize> {
    Narrow(Narrow<W>),
    Wide(Wide<W>),
}

impl<const W: usize> Block<'_, W> {
    pub fn array_name(&self, memory: Memory) -> Name {
        match memory {
            Memory::Global(n) => self.launch.globals[n].name.clone(),
            Memory::Shared(n) => self.launch.kernel.shared[n].name.clone(),
            Memory::Private(n) => self.launch.kernel.private[n].name.clone(),
        }
    }

    /// The register word of a lane's element.
    pub fn word(&self, warp: &Warp<W>, access: &Access, offset: &Offsets<W>, lane: usize) -> u64 {
        match self.fetch(warp, access, offset, 1 << lane) {
            Words::Narrow(words) => words[lane].into(),
            Words::Wide(words) => words[lane],
        }
    }

    /// Counts the access and observes the watched cell, if any. `bytes` is per lane.
    pub fn account(&mut self, access: &Access, offset: &Offsets<W>, mask: u64, bytes: u64) {
        if !self.launch.options.count {
            return;
        }
        let size = access.dtype.bytes() as i64;
        match access.memory {
            // A cache of its own serves constant tables.
            Memory::Global(n) if self.launch.globals[n].constant => return,
            Memory::Global(n) => {
                let base = self.launch.globals[n].base;
                let address = offset.map(|o| o.wrapping_mul(size).wrapping_add(base));
                let traffic = self.launch.pieces.global(&address, mask, bytes);
                let excess = traffic.sectors.saturating_sub(self.launch.pieces.sectors(traffic.bytes));
                self.note(access, traffic.sectors, excess, mask, traffic.bytes);
                if access.write {
                    self.counters.global_stores += traffic;
                } else {
                    self.counters.global_loads += traffic;
                }
            }
            Memory::Shared(n) => {
                let base = self.shared[n].base;
                let address = offset.map(|o| o.wrapping_mul(size).wrapping_add(base));
                let traffic = self.launch.pieces.shared(&address, mask, bytes);
                self.note(access, traffic.wavefronts, traffic.conflicts, mask, traffic.bytes);
                if access.write {
                    self.counters.shared_stores += traffic;
                } else {
                    self.counters.shared_loads += traffic;
                }
            }
            Memory::Private(_) => return,
        }
        self.touched |= mask != 0;
        let lanes = u64::from(mask.count_ones());
        self.counters.active_lanes += lanes;
        self.counters.idle_lanes += W as u64 - lanes;
    }

    /// Counts one request for its access in the kernel's text.
    fn note(&mut self, access: &Access, passes: u64, excess: u64, mask: u64, bytes: u64) {
        if let Some(traffic) = self.accessed.get_mut(access.number) {
            let active_lanes = u64::from(mask.count_ones());
            *traffic += AccessTraffic { requests: u64::from(mask != 0), passes, excess, active_lanes, bytes };
        }
    }

    fn watch(&mut self, warp: &Warp<W>, access: &Access, offset: &Offsets<W>, mask: u64) -> Outcome<()> {
        let Some(mut trace) = self.trace.take() else { return Ok(()) };
        let mut result = Ok(());
        if trace.target.memory == access.memory {
            let cell = trace.target.cell;
            for lane in active(mask).filter(|lane| offset[*lane] == cell) {
                let act = if access.write { Act::Write } else { Act::Read };
                let stamp = self.stamp(warp).lane(lane);
                let how = (access.write, access.atomic);
                let found =
                    trace.access(self.number, stamp, how, || self.instance(warp, lane, access.site, act));
                if let Some((first, conflict)) = found {
                    result = Err(self.race(conflict, warp, access, lane, offset[lane]));
                    if let Err(failure) = &mut result {
                        failure.fault.first = Some(first);
                    }
                    break;
                }
            }
        }
        self.trace = Some(trace);
        result
    }

    pub fn race(
        &self,
        conflict: Conflict,
        warp: &Warp<W>,
        access: &Access,
        lane: usize,
        offset: i64,
    ) -> Box<Failure> {
        let kind = match conflict {
            Conflict::BetweenBlocks => FaultKind::RaceBetweenBlocks,
            _ => FaultKind::Race,
        };
        let mut failure = self.access_failure(kind, warp, access, lane, offset);
        failure.target = Some(self.target(access.memory, offset));
        failure
    }

    /// Checks for races and reads of unwritten values. Offsets<W> must be in bounds.
    pub fn check_cells(
        &mut self,
        warp: &mut Warp<W>,
        access: &Access,
        offset: &Offsets<W>,
        mask: u64,
    ) -> Outcome<()> {
        self.check_under_way(warp, access, offset, mask)?;
        self.watch(warp, access, offset, mask)?;
        let mut checks = self.launch.options.checks;
        // A cell is watched to learn more about a known fault: a missing value may be one that a
        // race has not written yet.
        checks.uninitialised &= self.trace.is_none();
        let now = self.stamp(warp);
        let without_value = |block: &Self, warp: &Warp<W>, lane: usize| {
            let kind = FaultKind::Uninitialised;
            let mut failure = block.access_failure(kind, warp, access, lane, offset[lane]);
            if !matches!(access.memory, Memory::Private(_)) {
                failure.target = Some(block.target(access.memory, offset[lane]));
            }
            Err(failure)
        };
        match access.memory {
            Memory::Shared(n) => {
                for lane in active(mask) {
                    let cell = offset[lane] as usize;
                    let now = now.lane(lane);
                    let array = &mut self.shared[n];
                    let written = Stamp::from_bits(array.written[cell]);
                    let conflict = match (access.atomic, access.write) {
                        (Some(atomic), _) => array.is_updated(cell, now, atomic),
                        (None, true) => array.is_written(cell, now),
                        (None, false) => array.is_read(cell, now),
                    };
                    if conflict && checks.races {
                        return Err(self.race(Conflict::InBlock, warp, access, lane, offset[lane]));
                    }
                    let reads = !access.write || access.atomic.is_some();
                    if reads && written == Stamp::NONE && checks.uninitialised {
                        return without_value(self, warp, lane);
                    }
                }
            }
            Memory::Global(n) => {
                let array = &self.launch.globals[n];
                let code = self.launch.code;
                if !array.shadow.is_empty() && code.writes[n] {
                    let who = self.who();
                    for lane in active(mask) {
                        let cell = &array.shadow[offset[lane] as usize];
                        let now = now.lane(lane);
                        let conflict = match (access.atomic, access.write) {
                            (Some(atomic), _) => cell.update(who, now, (atomic, access.in_block)),
                            (None, true) => cell.write(who, now),
                            (None, false) => cell.read(who, now),
                        };
                        if conflict != Conflict::None {
                            return Err(self.race(conflict, warp, access, lane, offset[lane]));
                        }
                    }
                }
                if !array.valued.is_empty() {
                    for lane in active(mask) {
                        let cell = &array.valued[offset[lane] as usize];
                        if access.write && access.atomic.is_none() {
                            cell.store(1, Ordering::Relaxed);
                        } else if cell.load(Ordering::Relaxed) == 0 && checks.uninitialised {
                            return without_value(self, warp, lane);
                        }
                    }
                }
            }
            Memory::Private(n) => {
                if let Some(cell) = access.constant {
                    // A read: what is written to a constant cell goes straight there.
                    let missing = mask & !warp.private[n].valued[cell];
                    if missing != 0 && checks.uninitialised {
                        return without_value(self, warp, missing.trailing_zeros() as usize);
                    }
                    return Ok(());
                }
                for lane in active(mask) {
                    let valued = &mut warp.private[n].valued[offset[lane] as usize];
                    if access.write {
                        *valued |= 1 << lane;
                    } else if *valued >> lane & 1 == 0 && checks.uninitialised {
                        return without_value(self, warp, lane);
                    }
                }
            }
        }
        Ok(())
    }

    fn fetch(&self, warp: &Warp<W>, access: &Access, offset: &Offsets<W>, mask: u64) -> Words<W> {
        let wide = is_wide(access.dtype);
        match access.memory {
            Memory::Global(n) => {
                let cells = &self.launch.globals[n].cells;
                if wide {
                    Words::Wide(cells.load_wide(offset, mask))
                } else {
                    Words::Narrow(cells.load_narrow(access.dtype, offset, mask))
                }
            }
            Memory::Shared(n) => {
                let cells = &self.shared[n].cells;
                if wide {
                    let mut out = [0; W];
                    active(mask).for_each(|i| out[i] = cells[offset[i] as usize]);
                    Words::Wide(out)
                } else {
                    let mut out = [0; W];
                    active(mask).for_each(|i| out[i] = cells[offset[i] as usize] as u32);
                    Words::Narrow(out)
                }
            }
            Memory::Private(n) => {
                let array = &warp.private[n];
                if let Some(cell) = access.constant {
                    return if wide {
                        Words::Wide(array.wide[cell])
                    } else {
                        Words::Narrow(array.narrow[cell])
                    };
                }
                if wide {
                    let mut out = [0; W];
                    active(mask).for_each(|i| out[i] = array.wide[offset[i] as usize][i]);
                    Words::Wide(out)
                } else {
                    let mut out = [0; W];
                    active(mask).for_each(|i| out[i] = array.narrow[offset[i] as usize][i]);
                    Words::Narrow(out)
                }
            }
        }
    }

    fn put(&mut self, warp: &mut Warp<W>, access: &Access, offset: &Offsets<W>, mask: u64, words: &Words<W>) {
        match (access.memory, words) {
            (Memory::Global(n), Words::Narrow(words)) => {
                self.launch.globals[n].cells.store_narrow(offset, mask, words);
            }
            (Memory::Global(n), Words::Wide(words)) => {
                self.launch.globals[n].cells.store_wide(offset, mask, words);
            }
            (Memory::Shared(n), Words::Narrow(words)) => {
                let cells = &mut self.shared[n].cells;
                active(mask).for_each(|i| cells[offset[i] as usize] = words[i].into());
            }
            (Memory::Shared(n), Words::Wide(words)) => {
                let cells = &mut self.shared[n].cells;
                active(mask).for_each(|i| cells[offset[i] as usize] = words[i]);
            }
            (Memory::Private(n), Words::Narrow(words)) => {
                let array = &mut warp.private[n].narrow;
                active(mask).for_each(|i| array[offset[i] as usize][i] = words[i]);
            }
            (Memory::Private(n), Words::Wide(words)) => {
                let array = &mut warp.private[n].wide;
                active(mask).for_each(|i| array[offset[i] as usize][i] = words[i]);
            }
        }
    }

    pub fn load(&mut self, warp: &mut Warp<W>, access: u32, dst: Reg) -> Outcome<()> {
        let access = &self.launch.code.accesses[access as usize];
        let mask = warp.mask;
        if let Memory::Private(n) = access.memory
            && let array = &warp.private[n]
            && let Some(cell) = self.uniform_cell(warp, access, array.valued.len())
            && mask & !array.valued[cell] == 0
        {
            // The values of inactive lanes affect only reports of absent threads.
            let whole = mask == lowest_lanes(W) || access.constant.is_some();
            let mask = if whole { lowest_lanes(W) } else { mask };
            if is_wide(access.dtype) {
                let mut out = [0; W];
                select(&mut out, &array.wide[cell], mask);
                warp.wide[dst as usize] = out;
            } else if whole {
                warp.narrow[dst as usize] = array.narrow[cell];
            } else {
                let mut out = [0; W];
                select(&mut out, &array.narrow[cell], mask);
                warp.narrow[dst as usize] = out;
            }
            return Ok(());
        }
        let offset = warp.index(access.wide_index, access.offset);
        self.check_bounds(warp, access, &offset, mask, 1)?;
        self.account(access, &offset, mask, access.dtype.bytes() as u64);
        self.check_cells(warp, access, &offset, mask)?;
        match self.fetch(warp, access, &offset, mask) {
            Words::Narrow(words) => warp.narrow[dst as usize] = words,
            Words::Wide(words) => warp.wide[dst as usize] = words,
        }
        Ok(())
    }

    pub fn store(&mut self, warp: &mut Warp<W>, access: u32, src: Reg) -> Outcome<()> {
        let access = &self.launch.code.accesses[access as usize];
        let mask = warp.mask;
        if let Memory::Private(n) = access.memory
            && let elements = warp.private[n].valued.len()
            && let Some(cell) = self.uniform_cell(warp, access, elements)
        {
            let array = &mut warp.private[n];
            array.valued[cell] |= mask;
            if is_wide(access.dtype) {
                select(&mut array.wide[cell], &warp.wide[src as usize], mask);
            } else {
                select(&mut array.narrow[cell], &warp.narrow[src as usize], mask);
            }
            return Ok(());
        }
        let offset = warp.index(access.wide_index, access.offset);
        self.check_bounds(warp, access, &offset, mask, 1)?;
        self.account(access, &offset, mask, access.dtype.bytes() as u64);
        self.check_cells(warp, access, &offset, mask)?;
        let words = if is_wide(access.dtype) {
            Words::Wide(warp.wide[src as usize])
        } else {
            Words::Narrow(warp.narrow[src as usize])
        };
        self.put(warp, access, &offset, mask, &words);
        Ok(())
    }

    /// Updates elements of global or shared memory, lane by lane. Blocks of a kernel with updates
    /// of global memory run one after another, so the updates do not interleave.
    pub fn update(&mut self, warp: &mut Warp<W>, access: u32, src: Reg) -> Outcome<()> {
        let access = &self.launch.code.accesses[access as usize];
        let mask = warp.mask;
        let offset = warp.index(access.wide_index, access.offset);
        self.check_bounds(warp, access, &offset, mask, 1)?;
        self.account(access, &offset, mask, access.dtype.bytes() as u64);
        self.check_cells(warp, access, &offset, mask)?;
        let Some(atomic) = access.atomic.filter(|atomic| !matches!(atomic, Atomic::By(_))) else {
            return Ok(());
        };
        for lane in active(mask) {
            let one = 1 << lane;
            let mut words = self.fetch(warp, access, &offset, one);
            match &mut words {
                Words::Narrow(old) => {
                    old[lane] =
                        update_narrow(atomic, access.dtype, old[lane], warp.narrow[src as usize][lane]);
                }
                Words::Wide(old) => {
                    old[lane] = update_wide(atomic, access.dtype, old[lane], warp.wide[src as usize][lane]);
                }
            }
            self.put(warp, access, &offset, one, &words);
        }
        Ok(())
    }

    /// What the elements of an update hold that the program declares, in active lanes.
    pub fn held(&self, warp: &mut Warp<W>, access: u32, dst: Reg) {
        let access = &self.launch.code.accesses[access as usize];
        let offset = warp.index(access.wide_index, access.offset);
        match self.fetch(warp, access, &offset, warp.mask) {
            Words::Narrow(words) => select(&mut warp.narrow[dst as usize], &words, warp.mask),
            Words::Wide(words) => select(&mut warp.wide[dst as usize], &words, warp.mask),
        }
    }

    /// Writes what they hold afterwards.
    pub fn exchange(&mut self, warp: &mut Warp<W>, access: u32, src: Reg) {
        let access = &self.launch.code.accesses[access as usize];
        let offset = warp.index(access.wide_index, access.offset);
        let words = match is_wide(access.dtype) {
            true => Words::Wide(warp.wide[src as usize]),
            false => Words::Narrow(warp.narrow[src as usize]),
        };
        self.put(warp, access, &offset, warp.mask, &words);
    }

    pub fn vector_copy(&mut self, warp: &mut Warp<W>, to: u32, from: u32, lanes: u8) -> Outcome<()> {
        let code = self.launch.code;
        let (to, from) = (&code.accesses[to as usize], &code.accesses[from as usize]);
        let (mask, count) = (warp.mask, i64::from(lanes));
        let mut offsets = [from, to].map(|a| warp.index(a.wide_index, a.offset));
        for (access, offset) in [from, to].into_iter().zip(&offsets) {
            self.check_bounds(warp, access, offset, mask, count)?;
            self.check_alignment(warp, access, offset, count)?;
            self.account(access, offset, mask, access.dtype.bytes() as u64 * u64::from(lanes));
        }
        // The elements of a private array that all lanes write alike; they are in bounds.
        let row = match to.memory {
            Memory::Private(n) => {
                self.uniform_cell(warp, to, warp.private[n].valued.len()).map(|cell| (n, cell))
            }
            _ => None,
        };
        for k in 0..usize::from(lanes) {
            self.check_cells(warp, from, &offsets[0], mask)?;
            let words = self.fetch(warp, from, &offsets[0], mask);
            if let Some((n, cell)) = row {
                let array = &mut warp.private[n];
                array.valued[cell + k] |= mask;
                match &words {
                    Words::Narrow(words) => select(&mut array.narrow[cell + k], words, mask),
                    Words::Wide(words) => select(&mut array.wide[cell + k], words, mask),
                }
                offsets[0].iter_mut().for_each(|o| *o = o.wrapping_add(1));
                continue;
            }
            self.check_cells(warp, to, &offsets[1], mask)?;
            self.put(warp, to, &offsets[1], mask, &words);
            // Inactive lanes may hold any value, hence the wrapping addition.
            offsets.iter_mut().flatten().for_each(|o| *o = o.wrapping_add(1));
        }
        Ok(())
    }

    /// The rows, of at most 16 narrow elements each, that begin where these lanes say.
    pub fn rows(
        &mut self,
        warp: &mut Warp<W>,
        access: &Access,
        lanes: u64,
        length: usize,
    ) -> Outcome<Vec<[u32; 16]>> {
        let mut offset = warp.index(access.wide_index, access.offset);
        self.check_bounds(warp, access, &offset, lanes, length as i64)?;
        self.check_alignment(warp, access, &offset, length as i64)?;
        self.account(access, &offset, lanes, (length * access.dtype.bytes()) as u64);
        let mut rows = vec![[0; 16]; W];
        for k in 0..length.min(16) {
            self.check_cells(warp, access, &offset, lanes)?;
            if let Words::Narrow(words) = self.fetch(warp, access, &offset, lanes) {
                for (row, word) in rows.iter_mut().zip(words) {
                    row[k] = word;
                }
            }
            offset.iter_mut().for_each(|o| *o = o.wrapping_add(1));
        }
        Ok(rows)
    }

    /// Writes the rows, of narrow elements, that begin where these lanes say.
    pub fn write_rows(
        &mut self,
        warp: &mut Warp<W>,
        access: &Access,
        lanes: u64,
        rows: &[[u32; 8]],
    ) -> Outcome<()> {
        let length = 8;
        let mut offset = warp.index(access.wide_index, access.offset);
        self.check_bounds(warp, access, &offset, lanes, length as i64)?;
        self.check_alignment(warp, access, &offset, length as i64)?;
        self.account(access, &offset, lanes, (length * access.dtype.bytes()) as u64);
        for k in 0..length {
            self.check_cells(warp, access, &offset, lanes)?;
            let mut words = [0; W];
            words.iter_mut().zip(rows).for_each(|(word, row)| *word = row[k]);
            self.put(warp, access, &offset, lanes, &Words::Narrow(words));
            offset.iter_mut().for_each(|o| *o = o.wrapping_add(1));
        }
        Ok(())
    }

    /// Arrays start at multiples of 16 bytes.
    pub fn check_alignment(
        &self,
        warp: &Warp<W>,
        access: &Access,
        offset: &Offsets<W>,
        count: i64,
    ) -> Outcome<()> {
        match active(warp.mask).find(|lane| offset[*lane] % count != 0) {
            Some(lane) => {
                let mut failure =
                    self.access_failure(FaultKind::Misaligned, warp, access, lane, offset[lane]);
                failure.fault.detail = format!(
                    "{count} elements of {} at byte {}",
                    access.dtype,
                    offset[lane] * access.dtype.bytes() as i64
                );
                Err(failure)
            }
            None => Ok(()),
        }
    }
}
