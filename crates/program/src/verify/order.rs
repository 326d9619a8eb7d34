//! Whether any two conflicting accesses of the program are ordered.
//!
//! Only barriers order the threads of a block. All threads reach the same barriers in the same
//! order (`uniform`), which divide the run of a block into phases; two accesses by different
//! threads are ordered if their phases differ. Accesses of one phase follow from the structure: the
//! *head* of a body is what may run before its first barrier, its *tail* what may run after its
//! last. The tail of a statement may share a phase with the head of one that stands after it,
//! unless a barrier stands on every way from the one to the other. Across the back edge of a loop
//! that contains a barrier, the tail of the body may share one with the head of the next iteration.
//! In a loop without a barrier, all iterations belong to one phase.
//!
//! A way without a barrier leads through a choice on a side without one, and past a loop that has
//! no iteration: what that says is noted with the way (`ways`), and is part of the question whether
//! two accesses meet. Of a loop whose every iteration has a barrier, the head is that of the first
//! iteration, and the tail that of the last. Where a way says something that is not affine, or
//! leads through iterations that may have a barrier, this is left out; what meets by that is
//! unknown, not refuted.
//!
//! If each warp has its own part of an array in shared memory, selected by a subscript that differs
//! between warps, only lanes of one warp can conflict. Warp barriers, which all lanes of a warp
//! reach (`uniform`), order those too.
//!
//! Blocks of one launch are never ordered; launches run one after another.
//!
//! Pairs that the user's word covers (`vouched`) need no order; every other one has to be ordered
//! as without it.

mod pair;
mod ways;

use std::collections::{BTreeMap, hash_map::Entry};

use loopwright_kernel_ir::{Aff, Constraint, Dim, HardwareAxis, Name, PerDim};
use loopwright_legality::{is_common_to, is_coordinate, primed};
use loopwright_poly::{Result, System, Table, TableSet};

use super::{
    cases::case_with,
    reading::{Barrier, Loop, Node, Reading, ScopeId, Touch, TouchId},
    uniform::Varying,
};
use crate::{Memory, Param, Scope as SyncScope};
use pair::Iteration;
pub(super) use pair::Meeting;
use ways::{End, Ends, Way};

/// The relation of the two executions' threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Who {
    /// Two threads of a block.
    Threads,
    /// Threads of two blocks.
    Blocks,
}

/// Whether a name has a value of its own in each execution.
pub(super) fn is_own(name: &Name) -> bool {
    is_coordinate(name) || name.contains(['#', '[', ' '])
}

/// The pairs that one launch has to order.
pub(super) struct Order<'r, 'p> {
    reading: &'r Reading<'p>,
    context: &'r [Constraint],
    /// Whether the user has vouched for a step of the kernel.
    vouched: bool,
    /// The arrays in which threads of a block may touch one element, at whatever times.
    met: TableSet<Memory>,
    /// The arrays in which accesses of different threads may meet.
    shared: TableSet<Memory>,
    /// Where these threads are of one warp, and its barriers count: what lanes may decide
    /// differently.
    of_warp: Option<Varying<'p>>,
    /// The number in `asked` of what two executions have in common.
    numbers: Table<Vec<Constraint>, usize>,
    /// What two executions have in common, and the cases of it that were asked about: whether they
    /// are empty.
    asked: Vec<(System, Table<Constraint, bool>)>,
    pub queries: usize,
    /// The first pair that runs, or else the first one that may run.
    found: Option<Meeting>,
}

impl<'r, 'p> Order<'r, 'p> {
    pub fn new(reading: &'r Reading<'p>, context: &'r [Constraint], vouched: bool) -> Self {
        Order {
            reading,
            context,
            vouched,
            met: TableSet::default(),
            shared: TableSet::default(),
            of_warp: None,
            numbers: Table::default(),
            asked: Vec::new(),
            queries: 0,
            found: None,
        }
    }

    /// The first pair that nothing orders.
    pub fn check(&mut self) -> Result<Option<Meeting>> {
        let reading = self.reading;
        let common = |memory: Memory, axes: &[HardwareAxis]| is_common_to(memory.space(), axes);
        let mut arrays: BTreeMap<Memory, Vec<TouchId>> = BTreeMap::new();
        for (id, touch) in self.reading.touches.iter().enumerate() {
            if common(touch.memory, HardwareAxis::OF_BLOCK) {
                arrays.entry(touch.memory).or_default().push(id);
            }
        }
        let mut of_warps = TableSet::default();
        for (memory, touches) in arrays {
            if !touches.iter().any(|t| self.touch(*t).write) {
                continue;
            }
            if common(memory, HardwareAxis::OF_GRID) {
                let both = self.alike(&touches, Who::Blocks)?;
                if !self.apart(both, Who::Blocks)? {
                    self.blocks(&touches)?;
                }
            }
            if self.is_settled() {
                return Ok(self.found.take());
            }
            let both = self.alike(&touches, Who::Threads)?;
            if !self.apart(both, Who::Threads)? {
                self.met.insert(memory);
                let of_block = !common(memory, HardwareAxis::OF_GRID);
                match of_block && reading.joins_lanes && self.warps_apart(both)? {
                    true => of_warps.insert(memory),
                    false => self.shared.insert(memory),
                };
            }
        }
        if !self.shared.is_empty() {
            self.body(&reading.body)?;
        }
        if !of_warps.is_empty() && self.found.is_none() {
            self.shared = of_warps;
            self.of_warp = Some(Varying::new(reading.program, reading.kernel, SyncScope::Warp));
            self.body(&reading.body)?;
        }
        Ok(self.found.take())
    }

    /// The first array in global memory through which threads of a block may pass values, behind
    /// barriers that order them, and which is no parameter that says so.
    pub fn not_exchanged(&mut self) -> Result<Option<Name>> {
        let reading = self.reading;
        for param in &reading.kernel.params {
            let Param::Global { global, written: true, exchanged: false } = param else { continue };
            if !self.met.contains(&Memory::Global(*global)) {
                continue;
            }
            let own = |write: bool| {
                let is_own = move |t: &&Touch| t.memory == Memory::Global(*global) && t.write == write;
                reading.touches.iter().filter(is_own)
            };
            for read in own(false) {
                for written in own(true) {
                    // What a nest reads that data divide among threads is followed on numbers.
                    let by_data = |touch: &Touch| reading.is_decided_by_data(touch.leaf);
                    if by_data(read) && by_data(written) {
                        continue;
                    }
                    if self.may_meet(read, written)? {
                        return Ok(Some(reading.array_name(Memory::Global(*global))));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Whether different threads of a block may touch one element, at whatever times.
    fn may_meet(&mut self, x: &Touch, y: &Touch) -> Result<bool> {
        let other = |aff: &Aff| of_second(aff, Who::Threads);
        let (a, b) = (self.reading.scope(x.scope), self.reading.scope(y.scope));
        let mut rows = [self.context, &a.rows].concat();
        for c in &b.rows {
            rows.push(Constraint { kind: c.kind, aff: other(&c.aff)? });
        }
        for (s, t) in x.cell.iter().zip(&y.cell) {
            if let (Some(s), Some(t)) = (s, t) {
                rows.push(Constraint::equal(s, &other(t)?)?);
            }
        }
        let both = self.number(rows)?;
        for axis in self.axes(Who::Threads) {
            let (own, foreign) = (Aff::var(&axis), Aff::var(primed(&axis)));
            for differ in [Constraint::lt(&own, &foreign)?, Constraint::lt(&foreign, &own)?] {
                if !self.is_empty(both, &differ)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn touch(&self, id: TouchId) -> &'r Touch {
        &self.reading.touches[id]
    }

    /// Whether a pair is found that runs.
    fn is_settled(&self) -> bool {
        self.found.as_ref().is_some_and(|meeting| meeting.exact)
    }

    /// The axes on which two threads of a block (two blocks) can differ.
    fn axes(&self, who: Who) -> Vec<Name> {
        let kernel = self.reading.kernel;
        let differs = |axis: &HardwareAxis| match (who, *axis) {
            (Who::Threads, HardwareAxis::Block(dim)) => kernel.block[dim] > 1,
            (Who::Blocks, HardwareAxis::Grid(dim)) => kernel.grid[dim].as_int() != Some(1),
            (Who::Threads, HardwareAxis::Grid(_)) | (Who::Blocks, HardwareAxis::Block(_)) => false,
        };
        HardwareAxis::all().filter(differs).map(|axis| Name::new(axis.coordinate())).collect()
    }

    /// Two threads (blocks) that touch one cell in all of these accesses, by subscripts that all of
    /// them have in common and that are functions of coordinates and parameters: the number of what
    /// holds of both, the second one's coordinates primed. `None` where there are no such
    /// subscripts.
    fn alike(&mut self, touches: &[TouchId], who: Who) -> Result<Option<usize>> {
        let first = self.touch(touches[0]);
        let mut rows = self.reading.scopes[0].rows.clone();
        let second = |aff: &Aff| of_second(aff, who);
        for c in rows.clone() {
            let other = Constraint { kind: c.kind, aff: second(&c.aff)? };
            if other != c {
                rows.push(other);
            }
        }
        rows.extend(self.context.iter().cloned());
        let mut some = false;
        for (axis, s) in first.cell.iter().enumerate() {
            let Some(s) = s.as_ref().filter(|s| !s.mentions_any(&|n| is_own(n) && !is_coordinate(n))) else {
                continue;
            };
            if touches.iter().all(|t| self.touch(*t).cell.get(axis) == Some(&Some(s.clone()))) {
                let other = second(s)?;
                some |= other != *s;
                rows.push(Constraint::equal(s, &other)?);
            }
        }
        match some {
            true => self.number(rows).map(Some),
            false => Ok(None),
        }
    }

    /// Whether different threads (blocks) touch different cells.
    fn apart(&mut self, both: Option<usize>, who: Who) -> Result<bool> {
        let Some(both) = both else { return Ok(false) };
        for axis in self.axes(who) {
            // The two are alike: which one is the greater does not matter.
            if !self.is_empty(both, &Constraint::lt(&Aff::var(&axis), &Aff::var(primed(&axis)))?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether different warps of a block touch different cells: there is one warp, or subscripts
    /// tell those along the x axis apart.
    fn warps_apart(&mut self, both: Option<usize>) -> Result<bool> {
        if self.reading.kernel.threads() <= self.reading.program.target.warp_size {
            return Ok(true);
        }
        let (Some(both), PerDim { y: 1, z: 1, .. }) = (both, self.reading.kernel.block) else {
            return Ok(false);
        };
        let x = Name::new(HardwareAxis::Block(Dim::X).coordinate());
        let lanes = i64::from(self.reading.program.target.warp_size);
        let warp = |name: Name| Aff::var(name).floor_div(lanes);
        let (own, other) = (warp(x.clone())?, warp(primed(&x))?);
        self.is_empty(both, &Constraint::lt(&own, &other)?)
    }

    fn number(&mut self, rows: Vec<Constraint>) -> Result<usize> {
        Ok(match self.numbers.entry(rows) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                self.asked.push((System::new(free.key())?, Table::default()));
                *free.insert(self.asked.len() - 1)
            }
        })
    }

    /// Whether what has this number has no point where a constraint holds too.
    fn is_empty(&mut self, both: usize, case: &Constraint) -> Result<bool> {
        let (system, answers) = &mut self.asked[both];
        if let Some(known) = answers.get(case) {
            return Ok(*known);
        }
        self.queries += 1;
        let empty = system.is_empty_with(std::slice::from_ref(case))?;
        answers.insert(case.clone(), empty);
        Ok(empty)
    }

    /// All pairs of accesses of different blocks.
    fn blocks(&mut self, touches: &[TouchId]) -> Result<()> {
        let ends: Vec<End> = touches.iter().map(|t| End::of(*t)).collect();
        for (k, x) in ends.iter().enumerate() {
            for y in &ends[k..] {
                self.pair(x, y, Who::Blocks, None)?;
            }
        }
        Ok(())
    }

    /// Whether a barrier stands in the loop that counts.
    fn joins(&self, number: usize) -> bool {
        let of = &self.reading.loops[number];
        if self.of_warp.is_some() { of.joins_lanes } else { of.synchronises }
    }

    /// Whether a barrier orders the threads that are compared.
    fn counts(&self, barrier: &Barrier<'_>) -> bool {
        match (barrier.among, &self.of_warp) {
            (SyncScope::Block, _) => true,
            (SyncScope::Warp, Some(varying)) => !barrier.around.iter().any(|(_, d)| varying.decision(d)),
            (SyncScope::Warp, None) => false,
        }
    }

    /// Whether a barrier that counts stands in a body.
    fn has_barrier(&self, nodes: &[Node<'_>]) -> bool {
        nodes.iter().any(|node| match node {
            Node::Barrier(barrier) => self.counts(barrier),
            Node::Loop(_, body) => self.has_barrier(body),
            Node::Choice(sides) => sides.iter().any(|(_, body)| self.has_barrier(body)),
            Node::Touches(_) | Node::Together(_) | Node::Commit(_) | Node::Wait(..) => false,
        })
    }

    /// Whether nothing runs in a scope where these hold too.
    fn is_never(&mut self, scope: ScopeId, also: &[Constraint]) -> Result<bool> {
        let scope = self.reading.scope(scope);
        let system = System::new(&[self.context, &scope.rows, also].concat())?;
        Ok(case_with(&system, &scope.either, &mut self.queries)?.is_none())
    }

    /// Pairs of two lists, each of the first against each of the second.
    fn meet(&mut self, first: &[End], second: &[End], at: Option<(usize, Iteration)>) -> Result<()> {
        for x in first {
            for y in second {
                self.pair(x, y, Who::Threads, at)?;
            }
        }
        Ok(())
    }

    fn body(&mut self, nodes: &[Node<'_>]) -> Result<Ends> {
        let mut ends = Ends::open();
        for node in nodes {
            let child = self.node(node)?;
            self.meet(&ends.tail, &child.head, None)?;
            ends.then(child);
            if self.is_settled() {
                break;
            }
        }
        Ok(ends)
    }

    fn node(&mut self, node: &Node<'_>) -> Result<Ends> {
        match node {
            Node::Barrier(barrier) => Ok(match (self.counts(barrier), barrier.among) {
                (true, _) => Ends::default(),
                (false, SyncScope::Warp) => Ends { past: vec![Way::of_lanes()], ..Ends::default() },
                (false, SyncScope::Block) => Ends::open(),
            }),
            Node::Together(_) => Ok(Ends::open()),
            // Those order nothing between threads by themselves: see `flights`.
            Node::Commit(_) | Node::Wait(..) => Ok(Ends::open()),
            Node::Touches(touches) => {
                let own: Vec<End> = touches
                    .iter()
                    .filter(|t| self.shared.contains(&self.touch(**t).memory))
                    .map(|t| End::of(*t))
                    .collect();
                for (k, x) in own.iter().enumerate() {
                    self.meet(std::slice::from_ref(x), &own[k..], None)?;
                }
                Ok(Ends { head: own.clone(), tail: own, ..Ends::open() })
            }
            Node::Choice(sides) => {
                let mut ends = Ends::default();
                if !sides.iter().any(|(_, body)| self.has_barrier(body)) {
                    // Threads of one phase may go different ways, and any of these may order lanes.
                    let mut past = Way::free();
                    for (_, body) in sides {
                        let own = self.body(body)?;
                        self.meet(&ends.tail, &own.head, None)?;
                        if own.past.iter().any(Way::has_lanes) {
                            past = Way::of_lanes();
                        }
                        ends.or(own, &Way::free());
                    }
                    ends.past = vec![past];
                    return Ok(ends);
                }
                // Where a barrier is inside, all go the same.
                for (side, body) in sides {
                    if !self.is_never(side.scope, &[])? {
                        let own = self.body(body)?;
                        ends.or(own, &Way::on(&side.taken));
                    }
                }
                Ok(ends)
            }
            Node::Loop(number, body) => {
                let inside = self.body(body)?;
                self.rounds(*number, inside, self.has_barrier(body))
            }
        }
    }

    /// The ends of a loop with these of its body, in which a barrier stands that counts or none.
    fn rounds(&mut self, number: usize, inside: Ends, has_barrier: bool) -> Result<Ends> {
        let Ends { head, tail, past } = &inside;
        if self.joins(number) {
            // With a barrier on all ways through the body, the phases of all but neighbouring
            // iterations differ. Barriers of warps that do not count may yet order lanes.
            let to: &[Iteration] = match (has_barrier, past.is_empty()) {
                (false, _) => &[Iteration::Later],
                (true, true) => &[Iteration::Next],
                (true, false) => &[Iteration::Next, Iteration::Later],
            };
            for iteration in to {
                self.meet(tail, head, Some((number, *iteration)))?;
            }
        }
        if !has_barrier {
            return Ok(inside);
        }
        let of = &self.reading.loops[number];
        let mut ends = Ends { past: self.past_loop(of)?, ..Ends::default() };
        let first = of.start().map(|lower| Constraint::equal(&Aff::var(&of.name), lower)).transpose()?;
        let first = match &first {
            Some(first) => vec![Way::free().with(first)],
            None => vec![Way::unknown()],
        };
        let last = Way::without(&of.goes_on)?;
        for end in head {
            ends.head.extend(first.iter().map(|way| end.on(way)));
        }
        for end in tail {
            ends.tail.extend(last.iter().map(|way| end.on(way)));
        }
        if !past.is_empty() {
            // The iterations before or after may be without a barrier.
            ends.head.extend(head.iter().map(|end| end.on(&Way::unknown())));
            ends.tail.extend(tail.iter().map(|end| end.on(&Way::unknown())));
            ends.past.push(Way::unknown());
        }
        Ok(ends)
    }

    /// The ways past a loop that has no iteration.
    fn past_loop(&mut self, of: &Loop) -> Result<Vec<Way>> {
        let mut past = Vec::new();
        for way in Way::without(&of.begins)? {
            if !self.is_never(of.scope, way.also())? {
                past.push(way);
            }
        }
        Ok(past)
    }
}

/// A function in the second of two executions, whose own names are primed.
fn of_second(aff: &Aff, who: Who) -> Result<Aff> {
    aff.rename(&|n| (is_own(n) && !shared_name(n, who)).then(|| primed(n)))
}

/// Whether both executions have the same value: two threads of one block have its coordinates.
fn shared_name(name: &Name, who: Who) -> bool {
    who == Who::Threads && HardwareAxis::of_coordinate(name).is_some_and(|axis| !axis.is_in_block())
}
