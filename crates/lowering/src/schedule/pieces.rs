//! Partial vectors: whole vectors move by vector accesses, the elements of partial ones one by one.
//!
//! Where the guards of an update separate the `vec` lanes of one vector, a single loop would have
//! to move every element on its own. If whole vectors can move at once, the update is written more
//! than once. A loop over such vectors with nothing else in it is written for the whole ones,
//! followed by a loop for each end of the range, which has at most one iteration per thread:
//!
//! ```text
//! for (vectors that lie in the range)                      one access, all lanes
//! for (the vector in which the range begins, if partial)   for each lane:  if (in range)  one element
//! for (the vector in which the range ends, if another)     for each lane:  if (in range)  one element
//! ```
//!
//! The code of the ends stays out of the loop that takes nearly all of the time, and compilers
//! unroll that loop. The main loop covers the vectors all of whose lanes satisfy both guards; the
//! others are those where the first guard fails for some lane, and those where the first holds and
//! the second fails for some lane. So each vector is in exactly one loop. If this is impossible,
//! because guards do not mention the loop's iname or a side has two bounds, the update is written
//! in place, twice:
//!
//! ```text
//! for each part:  if (all lanes are in range)  one access, all lanes
//! if (some lane of the thread is in range, and some is not)
//!     for each part:  if (some lane is, and some is not)  for each lane:  if (in range)  one element
//! ```
//!
//! The loop over parts has no branches inside a vector, so that its loads overlap. Only the few
//! threads at the ends of a row have work in the second statement; threads entirely past the end of
//! a row, most of a block in the last round, skip it.

use std::rc::Rc;

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Kind, Name, Part, Tag};

use super::{
    Ends, Node, Which,
    guards::{canonical, irredundant},
    lanes::Context,
    place::Place,
    planner::{Piece, Planner},
};
use crate::{
    analyse::analysis::{Guard, PartInfo},
    program::Note,
    schedule::items::Item,
};

/// A guard over some lanes: the conditions that it holds for all, and for at least one, of them.
struct Range {
    /// At the lane where it is hardest to satisfy.
    least: Constraint,
    /// At the lane where it is easiest to satisfy.
    most: Constraint,
}

impl Range {
    /// Both ends, if there are both.
    fn of(end: impl Fn(bool) -> Result<Option<Constraint>, Diagnostic>) -> Result<Option<Range>, Diagnostic> {
        Ok(end(true)?.zip(end(false)?).map(|(least, most)| Range { least, most }))
    }
}

/// A guard that separates the lanes of a vector.
struct Apart {
    guard: Guard,
    /// Over the lanes of the vector.
    vector: Range,
    /// Over all lanes of the thread.
    thread: Range,
    /// Whether it can hold for some lanes of a vector and fail for others, where all other guards
    /// hold for some lane.
    parts: bool,
}

impl Apart {
    /// Whether it is a lower bound of the lane.
    fn is_lower(&self, lane: &Name) -> bool {
        self.guard.canonical.aff.coefficient(lane) > 0
    }
}

/// The part with its whole vectors only.
fn whole(info: &PartInfo, apart: &[Apart]) -> PartInfo {
    let mut whole = info.clone();
    for of in apart {
        let least = Guard { declared: of.vector.least.clone(), canonical: of.vector.least.clone() };
        match whole.guards.iter_mut().find(|g| **g == of.guard) {
            Some(guard) => *guard = least,
            None => whole.guards.push(least),
        }
    }
    whole
}

impl Planner<'_, '_> {
    /// The loop over `iname` around a single update, once for whole vectors and once for each end;
    /// `None` if no guard separates the lanes of a vector, if there are no vector accesses, or if
    /// one of these loops has no bounds.
    pub fn loops_of_pieces(
        &mut self,
        iname: &Name,
        items: &[Item],
        place: &Place,
    ) -> Result<Option<Vec<Node>>, Diagnostic> {
        let Some(pieces) = self.pieces(iname, items, place)? else { return Ok(None) };
        let mut bounded = Vec::new();
        for (piece, note) in pieces {
            self.piece = Some(Rc::new(piece));
            let bounds = self.bounds_or_refusal(items, iname, place)?;
            let piece = self.piece.take();
            let Ok(bounds) = bounds else { return Ok(None) };
            bounded.push((piece, bounds, note));
        }
        let mut nodes = Vec::new();
        for (piece, bounds, note) in bounded {
            self.piece = piece;
            let nodes_of_piece = self.bounded_loop(iname, items, bounds, place, note);
            self.piece = None;
            nodes.extend(nodes_of_piece?);
        }
        Ok(Some(nodes))
    }

    /// The pieces of the loop over `iname`, in order, with the comment on the loop of each.
    fn pieces(
        &self,
        iname: &Name,
        items: &[Item],
        place: &Place,
    ) -> Result<Option<Vec<(Piece, Note)>>, Diagnostic> {
        let &[Item::Leaf(number)] = items else { return Ok(None) };
        let kernel = self.analysis.kernel;
        let info = &self.analysis.parts[number];
        let Some(lane) = info.lanes.last().filter(|lane| kernel.tag(lane) == Tag::Vec) else {
            return Ok(None);
        };
        if self.piece.is_some()
            || kernel.tag(iname) == Tag::Unroll
            || !info.guards.iter().any(|g| g.canonical.aff.mentions(lane))
        {
            return Ok(None);
        }
        let Ok(bounds) = self.bounds_or_refusal(items, iname, place)? else { return Ok(None) };
        let mut inside = place.clone();
        inside.bound.insert(iname.clone());
        bounds.learn(iname, &mut inside)?;
        let Some(apart) = self.apart(info, &info.lanes, &inside)? else { return Ok(None) };
        let ends: Vec<&Apart> = apart.iter().filter(|a| a.parts).collect();
        let lower = ends.iter().filter(|a| a.is_lower(lane)).count();
        if lower > 1 || ends.len() - lower > 1 || ends.iter().any(|a| !a.guard.canonical.aff.mentions(iname))
        {
            return Ok(None);
        }
        for lane in &info.lanes {
            self.learn_lane(lane, &mut inside)?;
        }
        let piece = |info, inside, ends_of| Piece { number, info: Rc::new(info), inside, ends_of };
        let mut pieces = vec![(piece(whole(info, &apart), Vec::new(), None), Note::default())];
        let guards = irredundant(&info.guards, place)?;
        // Facts about the scalars that the ends depend on, such as that the misalignment of a row
        // is less than a vector.
        let of_data = |c: &&Constraint| {
            let names = c.names();
            !names.is_empty() && names.iter().all(|n| self.data.contains(n))
        };
        let known: Vec<Constraint> = inside.system().constraints().iter().filter(of_data).cloned().collect();
        // A short row may begin and end in one vector, which belongs to the first piece.
        let mut others = Vec::new();
        for end in ends {
            let least = &end.vector.least;
            let outside = Constraint::nonneg(least.aff.neg()?.add_constant(-1)?);
            let own = others.iter().chain([&outside]).chain(&known).cloned();
            let own = own.map(|c| Guard { declared: c.clone(), canonical: c });
            let guards: Vec<Guard> = guards.iter().cloned().chain(own).collect();
            if !inside.system().with(&canonical(&guards))?.is_empty()? {
                let does = if end.is_lower(lane) { "begins" } else { "ends" };
                let note = Note::new(format!("the elements of the vector that the row {does} in"));
                let info = PartInfo { guards, ..info.clone() };
                pieces.push((piece(info, others.clone(), Some(bounds.clone())), note));
            }
            others.push(least.clone());
        }
        Ok(Some(pieces))
    }

    /// An update in the loops over its lanes, twice; `None` if no guard separates the lanes of a
    /// vector or there are no vector accesses.
    pub fn in_place(
        &mut self,
        of: &Which,
        lanes: &[Name],
        place: &Place,
    ) -> Result<Option<Vec<Node>>, Diagnostic> {
        if self.piece.is_some() {
            return Ok(None);
        }
        let info = of.info(self.analysis);
        let Some(apart) = self.apart(info, lanes, place)? else { return Ok(None) };
        let Some((vector, outer)) = lanes.split_last() else { return Ok(None) };
        let wholes = Which { number: of.number, piece: Some(Rc::new(whole(info, &apart))) };
        let context = Context::default();
        let mut nodes = self.lanes(&wholes, lanes, &context, place)?;
        // The partial vectors.
        let own = [vector.clone()];
        let (vectors, threads): (Vec<Range>, Vec<Range>) =
            apart.into_iter().map(|a| (a.vector, a.thread)).unzip();
        let of_thread = ends(&threads, place)?;
        let body = self.lane_loops(outer, place, &mut |this, place| {
            let body =
                this.lane_loops(&own, place, &mut |this, place| this.lanes(of, &[], &context, place))?;
            let of_vector = ends(&vectors, place)?;
            // Without other lanes, the thread has one vector.
            if of_vector == of_thread {
                return Ok(body);
            }
            Ok(vec![Node::Ends { ends: of_vector, note: Note::default(), body }])
        })?;
        let note = Note::new("the elements of vectors that the row begins or ends in");
        nodes.push(Node::Ends { ends: of_thread, note, body });
        Ok(Some(nodes))
    }

    /// The guards of an update that separate the lanes of a vector; `None` if none does or there
    /// are no vector accesses.
    fn apart(
        &self,
        info: &PartInfo,
        lanes: &[Name],
        place: &Place,
    ) -> Result<Option<Vec<Apart>>, Diagnostic> {
        let analysis = self.analysis;
        let Some(vector) = lanes.last() else { return Ok(None) };
        let instruction = analysis.instruction(info);
        if analysis.kernel.tag(vector) != Tag::Vec
            || !matches!(info.execution.part.part, Part::Update(_))
            || instruction.predicate.is_some()
            || info.filling.is_some()
        {
            return Ok(None);
        }
        let length = |lane: &Name| {
            let extent = analysis.extents.get(lane)?;
            (extent.lower.as_constant() == Some(0)).then_some(extent.constant).flatten()
        };
        let Some(count @ (2 | 4 | 8 | 16)) = length(vector) else { return Ok(None) };
        let mut moves = false;
        for access in info.execution.accesses.iter().filter(|a| !a.write) {
            let declared = instruction.reductions();
            let declared = declared.iter().flat_map(|r| r.args.iter().flat_map(|a| a.accesses()));
            for access in declared.filter(|d| d.array == access.array) {
                moves |= self.is_vector(&access, vector, count, place)?;
            }
        }
        if !moves {
            return Ok(None);
        }
        let mut inside = place.clone();
        for lane in lanes {
            self.learn_lane(lane, &mut inside)?;
        }
        let mut mixed = Vec::new();
        for guard in &info.guards {
            if guard.canonical.aff.mentions(vector) && !inside.implies(&guard.canonical)? {
                if guard.canonical.kind != Kind::Ge {
                    return Ok(None);
                }
                mixed.push(guard.clone());
            }
        }
        let mixed = irredundant(&mixed, &inside)?;
        // A guard at the one of these lanes where it is hardest, or easiest, to satisfy.
        let extreme =
            |c: &Constraint, lanes: &[Name], least: bool| -> Result<Option<Constraint>, Diagnostic> {
                let mut aff = c.aff.clone();
                for lane in lanes {
                    let at = match (aff.coefficient(lane), length(lane)) {
                        (0, _) => 0,
                        (k, _) if (k > 0) == least => 0,
                        (_, Some(length)) => length - 1,
                        (_, None) => return Ok(None),
                    };
                    aff = aff.substitute_one(lane, &Aff::constant(at))?;
                }
                Ok((!lanes.iter().any(|l| aff.mentions(l))).then(|| Constraint::nonneg(aff)))
            };
        let own = [vector.clone()];
        let any = inside.with(&canonical(&mixed))?;
        // If the first lane decides for all of them, the vector is entirely in range or entirely
        // out of it.
        let mut all = Vec::new();
        for guard in mixed {
            let c = &guard.canonical;
            let (Some(vector), Some(thread)) =
                (Range::of(|least| extreme(c, &own, least))?, Range::of(|least| extreme(c, lanes, least))?)
            else {
                return Ok(None);
            };
            let parts = !any.implies(&vector.least)?;
            all.push(Apart { guard, vector, thread, parts });
        }
        Ok(all.iter().any(|a| a.parts).then_some(all))
    }
}

/// The condition that some lane is in range, judged by each guard separately, and some lane is not.
fn ends(guards: &[Range], place: &Place) -> Result<Ends, Diagnostic> {
    let mut holds = Vec::new();
    for guard in guards {
        if !place.implies(&guard.most)? {
            holds.push(guard.most.clone());
        }
    }
    Ok(Ends { fails: guards.iter().map(|g| g.least.clone()).collect(), holds })
}
