//! Places synchronisation: barriers inside device kernels, boundaries between them, and refusals
//! where no synchronisation would help.
//!
//! Two accesses to one shared or written global array, at least one of them writing, need an order
//! if different threads can access the same cell. Their order is that of the first component in
//! which their times differ: two children of a body in the order of the text, or two iterations of
//! a loop. A barrier goes between the two children, or anywhere around the loop's back edge; if the
//! threads are in different blocks, a kernel boundary, which exists only at the host's level.
//!
//! A body is swept once. A barrier is placed before the first child that conflicts with anything
//! since the last barrier. Nothing before a barrier needs to be compared again, so the number of
//! queries grows with the distance between barriers, not with the square of the number of
//! statements. A back edge gets a barrier at the end of the body if anything after the last barrier
//! conflicts with anything before the first one; directly before what an asynchronous copy of an
//! earlier iteration is for, if that orders as much, since the copy is waited for there. Inner
//! loops come first: of a loop that contains barriers, only what runs before its first barrier or
//! after its last one is exposed to what stands around it. Such a barrier orders nothing else,
//! since the loop may have no iterations. Arrays of which different threads (or blocks) touch
//! different cells throughout are recognised first, by one query for the whole array.
//!
//! Two accesses of one thread are in order, but for those that its part makes elsewhere: what an
//! asynchronous copy accesses, and the elements of matrices and fragments that other lanes of the
//! warp store and load than those which run the instances. These need an order as those of
//! different threads do.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use loopwright_kernel_ir::{
    AddressSpace, Aff, Constraint, Diagnostic, HardwareAxis, Name, PerDim, UpdateScope,
};
use loopwright_legality::{
    Access, Execution, Load, Meeting, Query, Time, is_common_to, meeting_pairs, primed,
};
use loopwright_poly::{System, Table};

use crate::{
    Hazards,
    analyse::analysis::{Analysis, PartInfo},
    program::{Dependence, Note, Reason},
    schedule::{
        between_blocks::Launch,
        items::{Item, Join},
    },
};

/// Two accesses that may conflict.
pub(crate) struct Met {
    pub array: Name,
    /// Their indices among the accesses of their parts.
    pub accesses: [usize; 2],
    /// All pairs of executions of them that may conflict.
    pub pairs: System,
}

/// The pairs of accesses of some parts that may conflict between threads, blocks or lanes.
pub(crate) struct Conflicts<'a, 'k> {
    pub analysis: &'a Analysis<'k>,
    block: PerDim<u32>,
    pub meeting: Meeting,
    hazards: Hazards,
    /// Whether conflicts of launches are meant, which may overlap.
    of_launches: bool,
    /// For each part, its accesses that matter, by array.
    pub accesses: Table<usize, BTreeMap<Name, Vec<usize>>>,
}

impl<'a, 'k> Conflicts<'a, 'k> {
    /// The accesses of these parts. `block` is the shape of the block.
    ///
    /// Errors: two executions of one part that nothing can order, as two threads that write one
    /// cell at the same time.
    pub fn new(
        analysis: &'a Analysis<'k>,
        parts: &[usize],
        block: PerDim<u32>,
        meeting: Meeting,
        hazards: Hazards,
    ) -> Result<Self, Diagnostic> {
        let mut touches: BTreeMap<Name, Vec<(usize, usize)>> = BTreeMap::new();
        for &p in parts {
            for (k, access) in analysis.parts[p].execution.accesses.iter().enumerate() {
                let Some(array) = analysis.lookup.array(&access.array) else { continue };
                let relevant = match meeting {
                    Meeting::Threads | Meeting::Block => is_common_to(array.space, HardwareAxis::OF_BLOCK),
                    Meeting::Blocks | Meeting::Any => is_common_to(array.space, HardwareAxis::OF_GRID),
                    Meeting::Lanes => !analysis.is_own_of_lanes(array),
                };
                if relevant {
                    touches.entry(access.array.clone()).or_default().push((p, k));
                }
            }
        }
        let mut conflicts =
            Conflicts { analysis, block, meeting, hazards, of_launches: false, accesses: Table::default() };
        for (array, touches) in touches {
            let written = touches.iter().any(|(p, k)| analysis.parts[*p].execution.accesses[*k].write);
            if !written || !conflicts.leave_their_threads(&touches) && conflicts.disjoint(&touches)? {
                continue;
            }
            for (p, k) in touches {
                let by_array = conflicts.accesses.entry(p).or_default();
                by_array.entry(array.clone()).or_default().push(k);
            }
        }
        if hazards == Hazards::Left {
            return Ok(conflicts);
        }
        for p in parts {
            if let Some(met) = conflicts.meet(*p, *p, Time::Same)? {
                return Err(conflicts.race(&met.array, *p));
            }
        }
        Ok(conflicts)
    }

    /// The accesses of these parts to memory that outlives a launch and that one of them writes,
    /// through which launches can conflict.
    pub fn of_launches(analysis: &'a Analysis<'k>, parts: &[usize], block: PerDim<u32>) -> Self {
        let mut conflicts = Conflicts {
            analysis,
            block,
            meeting: Meeting::Blocks,
            hazards: Hazards::Left,
            of_launches: true,
            accesses: Table::default(),
        };
        for &p in parts {
            for (k, access) in analysis.parts[p].execution.accesses.iter().enumerate() {
                if analysis.lookup.array(&access.array).is_some_and(|a| a.space == AddressSpace::Global) {
                    let by_array = conflicts.accesses.entry(p).or_default();
                    by_array.entry(access.array.clone()).or_default().push(k);
                }
            }
        }
        conflicts
    }

    /// A dependence of `second` on `first`, which are launched one after the other: between
    /// different blocks if there is one.
    pub fn between_launches(
        &mut self,
        first: &[usize],
        second: &[usize],
        time: Time,
    ) -> Result<Option<Dependence>, Diagnostic> {
        for meeting in [Meeting::Blocks, Meeting::Any] {
            self.meeting = meeting;
            if let Some(found) = self.meet_any(first, second, time)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The arrays through which different threads may pass values to each other.
    pub fn arrays(&self) -> BTreeSet<Name> {
        self.accesses.values().flat_map(|a| a.keys().cloned()).collect()
    }

    /// Whether one of these accesses may be in no order with others of the thread that runs it.
    fn leave_their_threads(&self, touches: &[(usize, usize)]) -> bool {
        self.meeting == Meeting::Threads && touches.iter().any(|(p, k)| self.leaves_its_thread(*p, *k))
    }

    /// Whether an access may be in no order with others of the thread that runs it: that of a copy
    /// that is asynchronous, or one that another lane of the warp makes.
    fn leaves_its_thread(&self, part: usize, access: usize) -> bool {
        self.analysis.copies_asynchronously(part) || self.analysis.is_made_by_other_lanes(part, access)
    }

    /// Whether different threads (blocks) touch different cells in all of these accesses: all have
    /// the same subscripts on some axes, functions of coordinates, lanes, unrolled inames and
    /// parameters, and those differ between any two threads (blocks).
    fn disjoint(&self, touches: &[(usize, usize)]) -> Result<bool, Diagnostic> {
        if self.meeting == Meeting::Lanes {
            return Ok(false);
        }
        let analysis = self.analysis;
        let Some(&(p, k)) = touches.first() else { return Ok(true) };
        let first = &analysis.parts[p].execution;
        // The least value and the extent of inames that a thread iterates over by itself.
        let own = |n: &Name| {
            let extent = analysis.extents.get(n).filter(|_| !analysis.kernel.tag(n).is_hardware())?;
            Some((extent.lower.clone(), extent.constant?))
        };
        let known =
            |n: &Name| loopwright_legality::is_coordinate(n) || analysis.is_parameter(n) || own(n).is_some();
        let mut common: Vec<Aff> = Vec::new();
        for (axis, s) in first.accesses[k].subscripts.iter().enumerate() {
            let Some(s) = s.as_ref().filter(|s| s.names().iter().all(known)) else { continue };
            let everywhere = touches.iter().all(|(p, k)| {
                analysis.parts[*p].execution.accesses[*k].subscripts.get(axis).and_then(Option::as_ref)
                    == Some(s)
            });
            if everywhere {
                common.push(s.clone());
            }
        }
        if common.is_empty() {
            return Ok(false);
        }
        // The axes on which two executions can differ.
        let differ = |axis: &HardwareAxis| match axis.extent_in(&self.block) {
            Some(extent) => extent > 1,
            None => analysis.axes.contains(*axis),
        };
        let axes: Vec<HardwareAxis> = HardwareAxis::all().filter(differ).collect();
        // The subscript does not distinguish parts that an elected thread runs, so these are
        // queried one by one.
        let replicated = touches.iter().any(|(p, _)| {
            let executor = &analysis.parts[*p].execution.executor;
            axes.iter().any(|axis| executor[*axis].iname().is_none())
        });
        if replicated {
            return Ok(false);
        }
        let primed = |n: &Name| (!analysis.is_parameter(n)).then(|| n.followed_by("'"));
        let second = |axis: &HardwareAxis| axis.position().rename(&primed);
        let mut rows = analysis.context.clone();
        for axis in &axes {
            for value in [axis.position(), second(axis)?] {
                if let Some(extent) = axis.extent_in(&self.block) {
                    rows.push(Constraint::lt(&value, &Aff::constant(i64::from(extent)))?);
                }
                rows.push(Constraint::nonneg(value));
            }
        }
        let own: BTreeMap<Name, (Aff, i64)> =
            common.iter().flat_map(Aff::names).filter_map(|n| own(&n).map(|range| (n, range))).collect();
        for (name, (lower, length)) in own {
            for value in [Aff::var(&name), Aff::var(name.followed_by("'"))] {
                let value = value.sub(&lower)?;
                rows.push(Constraint::lt(&value, &Aff::constant(length))?);
                rows.push(Constraint::nonneg(value));
            }
        }
        for s in &common {
            rows.push(Constraint::equal(s, &s.rename(&primed)?)?);
        }
        let base = System::of(rows)?;
        let of_threads = self.meeting == Meeting::Threads;
        for axis in axes.iter().filter(|axis| axis.is_in_block() == of_threads) {
            let mut case = vec![Constraint::lt(&axis.position(), &second(axis)?)?];
            // Two threads of one block have the same block coordinates.
            if of_threads {
                for other in axes.iter().filter(|axis| !axis.is_in_block()) {
                    case.push(Constraint::equal(&other.position(), &second(other)?)?);
                }
            }
            if !base.is_empty_with(&case)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A query about possible conflicts.
    pub fn query<'q>(&'q self, time: Time, shared: &'q dyn Fn(&Name) -> bool) -> Query<'q> {
        Query {
            meeting: self.meeting,
            time,
            owning: &[],
            context: &self.analysis.context,
            shared,
            facts: &self.analysis.kernel.facts,
            block: self.block,
        }
    }

    /// Whether the user has vouched for what only data can say: whether two executions of a part
    /// touch one cell.
    fn is_vouched_for(&self, part: usize, accesses: [&Access; 2]) -> bool {
        let by_data = |a: &Access| a.subscripts.iter().any(Option::is_none);
        !self.analysis.kernel.vouched.is_empty()
            && (!self.analysis.parts[part].execution.loads.is_empty() || accesses.into_iter().any(by_data))
    }

    /// Whether different blocks that run a part touch one cell by what data say alone: what they
    /// load for its subscripts is never one element.
    fn meets_by_data_alone(
        &self,
        execution: &Execution,
        [x, y]: [&Access; 2],
        query: &Query<'_>,
    ) -> Result<bool, Diagnostic> {
        let named = |access: &Access| -> Option<Vec<&Load>> {
            let subscripts = access.subscripts.iter().map(Option::as_ref).collect::<Option<Vec<_>>>()?;
            let is_named = |load: &&Load| subscripts.iter().any(|s| s.mentions(&load.name));
            Some(execution.loads.iter().filter(is_named).collect())
        };
        let (Some(own), Some(others)) = (named(x), named(y)) else { return Ok(false) };
        let pairs = || own.iter().zip(&others);
        let are_paired = own.len() == others.len()
            && pairs().all(|(load, other)| load.array == other.array && !load.arguments.is_empty());
        if own.is_empty() || !are_paired {
            return Ok(false);
        }
        let mut context = query.context.to_vec();
        for (s, t) in pairs().flat_map(|(load, other)| load.arguments.iter().zip(&other.arguments)) {
            context.push(Constraint::equal(s, &t.rename(&|n| (!(query.shared)(n)).then(|| primed(n)))?)?);
        }
        let query = Query { context: &context, ..*query };
        Ok(meeting_pairs(execution, x, execution, y, &query)?.is_none())
    }

    /// Whether executions of two parts may conflict at the given relation of their times.
    pub fn meet(&self, p: usize, q: usize, time: Time) -> Result<Option<Met>, Diagnostic> {
        self.meet_where(p, q, time, &|_| Ok(true))
    }

    /// The first pair of accesses that may conflict, of whose executions something holds. What an
    /// asynchronous copy accesses is in no order with other accesses of its thread either; nor is
    /// what another lane of the warp accesses in its place.
    pub fn meet_where(
        &self,
        p: usize,
        q: usize,
        time: Time,
        holds: &dyn Fn(&System) -> Result<bool, Diagnostic>,
    ) -> Result<Option<Met>, Diagnostic> {
        let is_itself = p == q && time == Time::Same;
        let meeting_of = |k: usize, l: usize| match self.meeting {
            Meeting::Threads
                if !is_itself && (self.leaves_its_thread(p, k) || self.leaves_its_thread(q, l)) =>
            {
                Meeting::Block
            }
            other => other,
        };
        let (Some(of_p), Some(of_q)) = (self.accesses.get(&p), self.accesses.get(&q)) else {
            return Ok(None);
        };
        let analysis = self.analysis;
        let shared = |n: &Name| analysis.is_parameter(n);
        let (a, b) = (analysis.guarded(p), analysis.guarded(q));
        let (a, b) = (&*a, &*b);
        // Launches may overlap only if none of their accesses conflict, updates that are not atomic
        // among them.
        let update = analysis.update(&analysis.parts[p]).filter(|_| !self.of_launches);
        // Those that are one step in their block alone have to be in order with those of others.
        let in_block = |p: usize| analysis.instruction(&analysis.parts[p]).scope == UpdateScope::Block;
        let apart = self.meeting == Meeting::Blocks && (in_block(p) || in_block(q));
        let alike = update.is_some() && update == analysis.update(&analysis.parts[q]) && !apart;
        let updated = |info: &PartInfo, array: &Name| {
            analysis.instruction(info).targets.iter().any(|t| t.array == *array)
        };
        for (array, first) in of_p {
            let Some(second) = of_q.get(array) else { continue };
            // Updates of one kind may come in any order; they read nothing else of the array.
            if alike && [p, q].iter().all(|p| updated(&analysis.parts[*p], array)) {
                continue;
            }
            let owning = analysis.separate_lanes(array);
            for (i, k) in first.iter().enumerate() {
                // Within one part at one time, each pair is queried once.
                let from = if is_itself { i } else { 0 };
                for l in &second[from..] {
                    let (x, y) = (&a.accesses[*k], &b.accesses[*l]);
                    if !(x.write || y.write) {
                        continue;
                    }
                    let meeting = meeting_of(*k, *l);
                    let query = Query { meeting, owning: &owning, ..self.query(time, &shared) };
                    // What only the data decide is accepted if the user has vouched for it.
                    if p == q
                        && self.is_vouched_for(p, [x, y])
                        && (time == Time::Same
                            || meeting == Meeting::Blocks && self.meets_by_data_alone(a, [x, y], &query)?)
                    {
                        continue;
                    }
                    if let Some(pairs) = meeting_pairs(a, x, b, y, &query)?
                        && holds(&pairs)?
                    {
                        return Ok(Some(Met { array: array.clone(), accesses: [*k, *l], pairs }));
                    }
                }
            }
        }
        Ok(None)
    }

    /// A dependence of the second of two parts on the first.
    pub fn dependence_of(&self, parts: [usize; 2], met: Met, time: Time) -> Result<Dependence, Diagnostic> {
        self.dependence(parts, met, time)
    }

    /// The first pair of a part of `first` and a part of `second` that may conflict; one that
    /// passes a value on, if the first only has both sides write.
    pub(super) fn meet_any(
        &self,
        first: &[usize],
        second: &[usize],
        time: Time,
    ) -> Result<Option<Dependence>, Diagnostic> {
        let mut written = None;
        for &p in first {
            for &q in second {
                let Some(met) = self.meet(p, q, time)? else { continue };
                let found = self.dependence([p, q], met, time)?;
                if !(found.first.writes && found.second.writes) {
                    return Ok(Some(found));
                }
                written.get_or_insert(found);
            }
        }
        Ok(written)
    }

    /// The items with the barriers that they need; `depth` loops are around them. Joins through
    /// shared memory also need one at back edges.
    pub fn place_barriers(
        &self,
        items: Vec<Item>,
        depth: usize,
        is_loop: bool,
        joins_use_shared: &dyn Fn(&Join) -> bool,
    ) -> Result<Vec<Item>, Diagnostic> {
        let mut inner = Vec::with_capacity(items.len());
        for item in items {
            inner.push(match item {
                Item::Loop { iname, body } => {
                    let body = self.place_barriers(body, depth + 1, true, joins_use_shared)?;
                    Item::Loop { iname, body }
                }
                other => other,
            });
        }
        let items = inner;
        // What each item exposes to those before it, and to those after it.
        let exposed = |side: fn(&Item) -> Vec<usize>| -> Vec<Vec<usize>> {
            items.iter().map(|i| self.relevant(side(i))).collect()
        };
        let (heads, tails) = (exposed(head), exposed(tail));
        let mut barriers: BTreeMap<usize, Note> = BTreeMap::new();
        let mut since: Vec<usize> = Vec::new();
        for k in 0..items.len() {
            if let Some(found) = self.meet_any(&since, &heads[k], Time::Same)? {
                barriers.insert(k, because(found));
                since.clear();
            }
            since.extend(&tails[k]);
        }
        let end = items.len();
        if is_loop {
            let last = barriers.keys().next_back().copied().unwrap_or(0);
            let first = barriers.keys().next().copied().unwrap_or(end);
            let found =
                self.meet_any(&tails[last..].concat(), &heads[..first].concat(), Time::Earlier(depth - 1))?;
            let mut note = found.map(because);
            if note.is_none() && barriers.is_empty() {
                // The scratch memory of a join is read at its end and written when the join runs
                // again.
                let scratch = items.iter().any(|i| matches!(i, Item::Join(j) if joins_use_shared(j)));
                note = scratch.then(|| Note::new("the partial results are written again"));
            }
            if let Some(mut note) = note {
                let arrival = match barriers.is_empty() {
                    true => self.arrival(&heads, &tails, depth - 1)?,
                    false => None,
                };
                let (at, inside) = arrival.unwrap_or((end, note.clone()));
                note = inside;
                note.text.push_str(" in the next iteration");
                barriers.insert(at, note);
            }
        }
        let mut placed = Vec::new();
        for (k, item) in items.into_iter().enumerate() {
            placed.extend(barriers.remove(&k).map(Item::Sync));
            placed.push(item);
        }
        placed.extend(barriers.remove(&end).map(Item::Sync));
        Ok(placed)
    }

    /// The first child of a loop's body that needs what an asynchronous copy before it has brought
    /// in an earlier iteration, and where a barrier orders all that one at the end of the body
    /// would. It does unless something at or behind the child conflicts with something before it
    /// in the very next iteration: nothing further away is without a barrier in between. `heads`
    /// and `tails` are what the children expose.
    fn arrival(
        &self,
        heads: &[Vec<usize>],
        tails: &[Vec<usize>],
        depth: usize,
    ) -> Result<Option<(usize, Note)>, Diagnostic> {
        let time = Time::Earlier(depth);
        let mut copies: Vec<usize> = Vec::new();
        for (k, needed) in heads.iter().enumerate() {
            if let Some(found) = self.meet_any(&copies, needed, time)?
                && !self.meet_in_next(&tails[k..].concat(), &heads[..k].concat(), depth)?
            {
                return Ok(Some((k, because(found))));
            }
            copies.extend(tails[k].iter().filter(|p| self.analysis.copies_asynchronously(**p)));
        }
        Ok(None)
    }

    /// Whether a part of `first` may conflict with a part of `second` in the next iteration of the
    /// loop at this depth that they are in. Where that is not known to be the one whose number is
    /// by one greater, or which threads meet is not told, any later iteration counts.
    fn meet_in_next(&self, first: &[usize], second: &[usize], depth: usize) -> Result<bool, Diagnostic> {
        for &p in first {
            let execution = &self.analysis.parts[p].execution;
            let Some(iname) = execution.loops.get(depth) else { return Ok(true) };
            let next = Constraint::equal(&Aff::var(primed(iname)), &Aff::var(iname).add_constant(1)?)?;
            for &q in second {
                let runs_always = |part: usize| {
                    let constraints = &self.analysis.parts[part].execution.constraints;
                    constraints.iter().all(|c| c.aff.is_affine() || !c.aff.mentions(iname))
                };
                let told = (self.analysis.copies_asynchronously(p) || self.analysis.copies_asynchronously(q))
                    && runs_always(p)
                    && runs_always(q);
                let holds = |pairs: &System| Ok(!told || !pairs.is_empty_with(std::slice::from_ref(&next))?);
                if self.meet_where(p, q, Time::Earlier(depth), &holds)?.is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Where a kernel has to end between neighbours at the host's level, inside `depth` host loops:
    /// the indices of the items that begin a new kernel, and why. `choose` picks the position of a
    /// cut that lies after one item and no later than another.
    ///
    /// Errors: blocks that depend on one another inside a loop that runs on the device.
    pub fn cuts(
        &self,
        items: &[Item],
        depth: usize,
        choose: &dyn Fn(usize, usize) -> usize,
    ) -> Result<BTreeMap<usize, Dependence>, Diagnostic> {
        let parts: Vec<Vec<usize>> =
            items.iter().map(|i| self.relevant(Item::parts(std::slice::from_ref(i)))).collect();
        let mut cuts = BTreeMap::new();
        let mut start = 0;
        for (k, own) in parts.iter().enumerate() {
            let mut from = start;
            while from < k {
                if let Some(found) = self.meet_any(&parts[from], own, Time::Same)? {
                    let cut = choose(from, k);
                    cuts.insert(cut, found);
                    start = cut;
                }
                from = start.max(from + 1);
            }
        }
        for (k, item) in items.iter().enumerate() {
            if let Item::Loop { iname, body } = item
                && self.hazards == Hazards::Refused
            {
                let start = cuts.range(..=k).next_back().map_or(0, |(cut, _)| *cut);
                let end = cuts.range(k + 1..).next().map_or(items.len(), |(cut, _)| *cut);
                Launch::new(self, &items[start..end], depth).refuse_dependent_blocks(iname, body, depth)?;
            }
        }
        Ok(cuts)
    }

    /// Those of some parts whose accesses matter.
    pub(super) fn relevant(&self, parts: Vec<usize>) -> Vec<usize> {
        parts.into_iter().filter(|p| self.accesses.contains_key(p)).collect()
    }
}

/// The parts of an item that run before each barrier in it.
fn head(item: &Item) -> Vec<usize> {
    match item {
        Item::Loop { body, .. } => {
            body.iter().take_while(|i| !matches!(i, Item::Sync(_))).flat_map(head).collect()
        }
        other => Item::parts(std::slice::from_ref(other)),
    }
}

/// The parts of an item that run after each barrier in it.
fn tail(item: &Item) -> Vec<usize> {
    match item {
        Item::Loop { body, .. } => {
            let behind = body.iter().rposition(|i| matches!(i, Item::Sync(_))).map_or(0, |k| k + 1);
            body[behind..].iter().flat_map(tail).collect()
        }
        other => Item::parts(std::slice::from_ref(other)),
    }
}

/// A note of a dependence.
pub(crate) fn because(dependence: Dependence) -> Note {
    Note { text: dependence.to_string(), reason: Reason::Dependence(Arc::new(dependence)) }
}

/// The item that each part is in, by number.
pub(crate) fn homes(items: &[Item]) -> Table<usize, usize> {
    let mut homes = Table::default();
    for (k, item) in items.iter().enumerate() {
        for part in Item::parts(std::slice::from_ref(item)) {
            homes.insert(part, k);
        }
    }
    homes
}
