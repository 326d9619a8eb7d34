//! Asynchronous copies: issue, groups, waits.
//!
//! A copy that has been issued is *under way* until its own thread waits for its group. When in
//! between it takes effect is up to [`Asynchrony`]; that it makes no difference is checked: as long
//! as it is under way, no access of the elements that it writes and no write of those that it reads
//! is allowed. To the record of accesses (`shadow`), the elements are written at its issue, since
//! nothing unordered with that may touch them, and again at the wait, after which a barrier has to
//! stand before others read them. Groups are counted for each thread.

use std::collections::HashMap;

use loopwright_program::Memory;

use crate::{
    block::{Block, Outcome},
    bytecode::Access,
    fault::{Act, FaultKind, Instance},
    options::Asynchrony,
    shadow::Conflict,
    trace::Target,
    warp::Warp,
    words::active,
};

/// A copy of one thread that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    lane: usize,
    /// The number of commits of its thread before its issue.
    group: u32,
    /// The access that writes, by number, and its first element.
    to: (u32, i64),
    /// The access that reads; `None` if zeros are written.
    from: Option<(u32, i64)>,
    /// The number of neighbouring elements that are copied.
    count: u8,
    when: When,
}

/// When a copy takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// It has taken effect when it was issued.
    Already,
    /// At the next commit of its thread.
    Committed,
    /// When its thread waits for its group.
    Waited,
}

/// By array and element, how many copies touch it.
type Counts = HashMap<(usize, i64), u32>;

/// What is under way in a block.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    /// By shared array and element, how many copies write it.
    written: Counts,
    /// By array in global memory that the kernel writes, and element, how many copies read it.
    read: Counts,
    /// Copies issued so far, for random choices.
    issued: u64,
    /// The execution that has issued the latest copy of the watched cell.
    issuer: Option<Instance>,
}

impl UnderWay {
    pub fn restart(&mut self) {
        *self = UnderWay::default();
    }

    /// Whether an access may not be made now.
    #[inline]
    pub fn forbids(&self, access: &Access, offset: i64) -> bool {
        match access.memory {
            Memory::Shared(n) => !self.written.is_empty() && self.written.contains_key(&(n, offset)),
            Memory::Global(n) => {
                access.write && !self.read.is_empty() && self.read.contains_key(&(n, offset))
            }
            Memory::Private(_) => false,
        }
    }

    /// Whether nothing is under way that an access of this memory could meet.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.written.is_empty() && self.read.is_empty()
    }
}

/// A number that looks random, from any other.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn add(counts: &mut Counts, cell: (usize, i64)) {
    *counts.entry(cell).or_default() += 1;
}

fn remove(counts: &mut Counts, cell: (usize, i64)) {
    if let Some(count) = counts.get_mut(&cell) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&cell);
        }
    }
}

impl<const W: usize> Block<'_, W> {
    /// Faults if an active lane touches what is under way.
    pub fn check_under_way(
        &self,
        warp: &Warp<W>,
        access: &Access,
        offset: &[i64; W],
        mask: u64,
    ) -> Outcome<()> {
        if self.under_way.is_empty() || !self.launch.options.checks.races {
            return Ok(());
        }
        let Some(lane) = active(mask).find(|lane| self.under_way.forbids(access, offset[*lane])) else {
            return Ok(());
        };
        let mut failure = self.access_failure(FaultKind::UnderWay, warp, access, lane, offset[lane]);
        let target = self.target(access.memory, offset[lane]);
        failure.target = Some(target);
        if self.trace.as_ref().is_some_and(|t| t.target == target) {
            failure.fault.first = self.under_way.issuer.clone();
        }
        Err(failure)
    }

    /// Issues the copies of the active lanes, of zeros in those that are not `copied`.
    pub fn issue(
        &mut self,
        warp: &mut Warp<W>,
        (to, from): (u32, u32),
        copied: u64,
        count: u8,
    ) -> Outcome<()> {
        let code = self.launch.code;
        let mask = warp.mask;
        let access = |number: u32| &code.accesses[number as usize];
        let mut starts = [[0; W]; 2];
        for ((number, mask), start) in [(from, copied), (to, mask)].into_iter().zip(&mut starts) {
            let access = access(number);
            let offset = warp.index(access.wide_index, access.offset);
            let within = std::mem::replace(&mut warp.mask, mask);
            let checked = self
                .check_bounds(warp, access, &offset, mask, count.into())
                .and_then(|()| self.check_alignment(warp, access, &offset, count.into()));
            warp.mask = within;
            checked?;
            if mask != 0 {
                self.account(access, &offset, mask, access.dtype.bytes() as u64 * u64::from(count));
            }
            let mut each = offset;
            for _ in 0..count {
                self.check_cells(warp, access, &each, mask)?;
                each.iter_mut().for_each(|o| *o = o.wrapping_add(1));
            }
            *start = offset;
        }
        let [read, written] = starts;
        for lane in active(mask) {
            self.under_way.issued += 1;
            let when = match self.launch.options.asynchrony {
                Asynchrony::Early => When::Already,
                Asynchrony::Late => When::Waited,
                Asynchrony::Random(seed) => {
                    let number = self.under_way.issued << 32 ^ u64::from(self.number) ^ (lane as u64) << 56;
                    match mix(mix(seed) ^ number) % 3 {
                        0 => When::Already,
                        1 => When::Committed,
                        _ => When::Waited,
                    }
                }
            };
            let from = (copied >> lane & 1 != 0).then_some((from, read[lane]));
            let copy =
                Pending { lane, group: warp.commits[lane], to: (to, written[lane]), from, count, when };
            if when == When::Already {
                self.take_effect(warp, &copy);
            }
            self.mark(&copy, add);
            if let Some(trace) = &self.trace {
                let Target { memory, cell, .. } = trace.target;
                let touches = |(number, first): (u32, i64)| {
                    let is_here = (first..first + i64::from(count)).contains(&cell);
                    is_here && code.accesses[number as usize].memory == memory
                };
                let act = if touches(copy.to) { Act::Write } else { Act::Read };
                if touches(copy.to) || copy.from.is_some_and(touches) {
                    let site = access(to).site;
                    self.under_way.issuer = Some(self.instance(warp, lane, site, act));
                }
            }
            warp.pending.push(copy);
        }
        Ok(())
    }

    /// Changes the numbers of copies of each element.
    fn mark(&mut self, copy: &Pending, change: fn(&mut Counts, (usize, i64))) {
        let code = self.launch.code;
        for k in 0..i64::from(copy.count) {
            if let Memory::Shared(n) = code.accesses[copy.to.0 as usize].memory {
                change(&mut self.under_way.written, (n, copy.to.1 + k));
            }
            if let Some((from, first)) = copy.from
                && let Memory::Global(n) = code.accesses[from as usize].memory
                && code.writes[n]
            {
                change(&mut self.under_way.read, (n, first + k));
            }
        }
    }

    /// Copies the elements of a pending copy to shared memory, or zeros if it has no source.
    fn take_effect(&mut self, warp: &mut Warp<W>, copy: &Pending) {
        let code = self.launch.code;
        let Memory::Shared(array) = code.accesses[copy.to.0 as usize].memory else { return };
        for k in 0..i64::from(copy.count) {
            let value = match copy.from {
                None => 0,
                Some((from, first)) => {
                    let access = &code.accesses[from as usize];
                    let mut offset = [0; W];
                    offset[copy.lane] = first + k;
                    self.word(warp, access, &offset, copy.lane)
                }
            };
            self.shared[array].cells[(copy.to.1 + k) as usize] = value;
        }
    }

    /// Ends a group of each active lane.
    pub fn commit(&mut self, warp: &mut Warp<W>) {
        let mut pending = std::mem::take(&mut warp.pending);
        for copy in &mut pending {
            if copy.when == When::Committed && warp.mask >> copy.lane & 1 != 0 {
                self.take_effect(warp, copy);
                copy.when = When::Already;
            }
        }
        warp.pending = pending;
        for lane in active(warp.mask) {
            warp.commits[lane] += 1;
        }
    }

    /// Lets the active lanes wait until this number of their youngest groups are under way.
    pub fn wait(&mut self, warp: &mut Warp<W>, left: u32) -> Outcome<()> {
        let covered = |warp: &Warp<W>, copy: &Pending| {
            warp.mask >> copy.lane & 1 != 0 && copy.group.saturating_add(left) < warp.commits[copy.lane]
        };
        let (done, pending): (Vec<Pending>, Vec<Pending>) =
            std::mem::take(&mut warp.pending).into_iter().partition(|copy| covered(warp, copy));
        warp.pending = pending;
        let stamp = self.stamp(warp);
        for copy in done {
            if copy.when != When::Already {
                self.take_effect(warp, &copy);
            }
            self.mark(&copy, remove);
            let now = stamp.lane(copy.lane);
            let code = self.launch.code;
            for k in 0..i64::from(copy.count) {
                let access = &code.accesses[copy.to.0 as usize];
                if let Memory::Shared(n) = access.memory {
                    self.shared[n].wrote((copy.to.1 + k) as usize, now);
                    self.completes(warp, access, copy.to.1 + k, copy.lane);
                }
                let Some((from, first)) = copy.from else { continue };
                let access = &code.accesses[from as usize];
                let Memory::Global(n) = access.memory else { continue };
                let array = &self.launch.globals[n];
                if !array.shadow.is_empty() && code.writes[n] {
                    let conflict = array.shadow[(first + k) as usize].read(self.who(), now);
                    if conflict != Conflict::None {
                        return Err(self.race(conflict, warp, access, copy.lane, first + k));
                    }
                }
            }
        }
        Ok(())
    }

    /// Tells the trace that a copy of the watched cell has taken effect.
    fn completes(&mut self, warp: &Warp<W>, access: &Access, cell: i64, lane: usize) {
        let stamp = self.stamp(warp).lane(lane);
        let Some(issuer) = self.under_way.issuer.clone() else { return };
        if let Some(trace) = &mut self.trace
            && (trace.target.memory, trace.target.cell) == (access.memory, cell)
        {
            trace.access(self.number, stamp, (true, None), || issuer);
        }
    }

    /// Faults if copies are under way at the end of a warp.
    pub fn ends(&self, warp: &Warp<W>) -> Outcome<()> {
        let Some(copy) = warp.pending.first().filter(|_| self.launch.options.checks.races) else {
            return Ok(());
        };
        let access = &self.launch.code.accesses[copy.to.0 as usize];
        let mut failure = self.failure(FaultKind::UnderWay, warp, copy.lane, access.site, Act::Write);
        failure.fault.array = Some(self.array_name(access.memory));
        let axes = access.axes.iter();
        let laid_out = access.positions.as_ref().and_then(|p| p.element_at(copy.to.1));
        failure.fault.cell = match laid_out {
            Some(cell) => cell,
            None => axes.map(|(length, stride)| copy.to.1 / stride.max(&1) % length.max(&1)).collect(),
        };
        // Its loops have been left.
        failure.fault.second.iter_mut().for_each(|instance| instance.values.clear());
        failure.fault.detail = "the kernel ends before it is waited for".to_owned();
        Err(failure)
    }
}
