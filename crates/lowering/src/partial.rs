//! Vectors of which some lanes lie beside the range that a loop goes over: whole ones by vector
//! accesses, the others element by element.
//!
//! An update over `vec` lanes whose guards tell lanes apart would move all its elements one by one.
//! Where whole vectors can move at once, it is written more than once. A loop over such vectors
//! with nothing else in it is written for whole ones, and behind it once for each end of the range,
//! where a thread goes round once or not at all:
//!
//! ```text
//! for (vectors that lie in the range)                         one access, all lanes
//! for (the vector that the range begins in, if part of it)    for each lane:  if (it is in range)  one element
//! for (the vector that the range ends in, if another part)    for each lane:  if (it is in range)  one element
//! ```
//!
//! So the code of the ends is not in the loop in which nearly all the time goes by, and compilers
//! unroll that. Its vectors are those of which the first guard holds for all lanes, and the second;
//! the others are those of which the first does not, and those of which the first does and the
//! second does not: none is in two, none is in no loop. Where that cannot be written, as where
//! guards do not speak of the loop's iname, or a side has two bounds, the update is written in
//! place, twice:
//!
//! ```text
//! for each part:  if (all lanes are in range)  one access, all lanes
//! if (some lane of the thread is in range, and some is not)
//!     for each part:  if (some lane is, and some is not)  for each lane:  if (it is in range)  one element
//! ```
//!
//! The loop over parts is straight, so that its loads are on the way together; what the second one
//! is for, the ends of a row, few threads have. Threads that lie behind the end of a row altogether
//! are not among them: in the last round that is most of a block.

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Kind, Name, Part, Tag};

use crate::{
    analysis::{Guard, PartInfo},
    emitter::{Emitter, Piece},
    env::Env,
    items::Item,
    program::{BinOp, Note, Stmt, Value},
};

/// A guard over some lanes: where it holds for all of them, and where for one.
struct Ends {
    /// At the lane where it holds least.
    least: Constraint,
    /// At the lane where it holds most.
    most: Constraint,
}

impl Ends {
    /// Both ends, if there are both.
    fn of(end: impl Fn(bool) -> Result<Option<Constraint>, Diagnostic>) -> Result<Option<Ends>, Diagnostic> {
        Ok(end(true)?.zip(end(false)?).map(|(least, most)| Ends { least, most }))
    }
}

/// A guard that tells the lanes of a vector apart.
struct Apart {
    guard: Guard,
    /// Over the lanes of the vector.
    vector: Ends,
    /// Over all lanes of the thread.
    thread: Ends,
    /// Whether it can hold for a part of a vector's lanes only, where all other guards hold for
    /// some lane.
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

impl Emitter<'_, '_> {
    /// The loop over `iname` around an update and nothing else, written once for whole vectors and
    /// once for each end; `None` where no guard tells the lanes of a vector apart or nothing moves
    /// at once, and where it cannot be written so.
    pub fn emit_loop_apart(&mut self, iname: &Name, items: &[Item], env: &Env) -> Option<Vec<Stmt>> {
        // What is wrong with the loop itself, the loop in one will say.
        let pieces = self.pieces(iname, items, env).ok()??;
        let mark = self.mark();
        let mut stmts = Vec::new();
        for (piece, does) in pieces {
            self.piece = Some(piece);
            let loops = self.emit_one_loop(iname, items, env);
            self.piece = None;
            let Ok(mut loops) = loops else {
                self.back_to(mark);
                return None;
            };
            if let Some(Stmt::For { note, .. }) = loops.first_mut() {
                *note = does;
            }
            stmts.extend(loops);
        }
        Some(stmts)
    }

    /// What the loops are for into which the one over `iname` is taken apart, in their order, and
    /// what is said of them.
    fn pieces(
        &self,
        iname: &Name,
        items: &[Item],
        env: &Env,
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
        let bounds = self.loop_bounds(items, iname, env, false, false)?;
        let mut inside = env.clone();
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
        let piece = |info, inside, ends_of| Piece { number, info, inside, ends_of };
        let mut pieces = vec![(piece(whole(info, &apart), Vec::new(), None), Note::default())];
        let guards = self.irredundant(&info.guards, env)?;
        // What is known of the numbers that the ends hang on, as that a row begins less than a
        // vector behind a multiple.
        let of_data = |c: &&Constraint| {
            let names = c.names();
            !names.is_empty() && names.iter().all(|n| self.data.contains(n))
        };
        let known: Vec<Constraint> = inside.system().constraints().iter().filter(of_data).cloned().collect();
        // A vector that a short row both begins and ends in is among the first.
        let mut others = Vec::new();
        for end in ends {
            let least = &end.vector.least;
            let outside = Constraint::nonneg(least.aff.neg()?.add_constant(-1)?);
            let own = others.iter().chain([&outside]).chain(&known).cloned();
            let own = own.map(|c| Guard { declared: c.clone(), canonical: c });
            let guards: Vec<Guard> = guards.iter().cloned().chain(own).collect();
            let all: Vec<Constraint> = guards.iter().map(|g| g.canonical.clone()).collect();
            if !inside.system().with(&all)?.is_empty()? {
                let does = if end.is_lower(lane) { "begins" } else { "ends" };
                let note = Note::new(format!("the elements of the vector that the row {does} in"));
                let info = PartInfo { guards, ..info.clone() };
                pieces.push((piece(info, others.clone(), Some(bounds.clone())), note));
            }
            others.push(least.clone());
        }
        Ok(Some(pieces))
    }

    /// An update in the loops over its lanes, written twice; `None` where no guard tells the lanes
    /// of a vector apart or nothing moves at once.
    pub fn emit_peeled(
        &mut self,
        number: usize,
        info: &PartInfo,
        lanes: &[Name],
        env: &Env,
    ) -> Result<Option<Vec<Stmt>>, Diagnostic> {
        if self.piece.is_some() {
            return Ok(None);
        }
        let Some(apart) = self.apart(info, lanes, env)? else { return Ok(None) };
        let Some((vector, outer)) = lanes.split_last() else { return Ok(None) };
        let mut stmts = self.emit_lanes(number, &whole(info, &apart), lanes, env)?;
        // The others.
        let note = "the elements of vectors that the row begins or ends in";
        let own = [vector.clone()];
        let (vectors, threads): (Vec<Ends>, Vec<Ends>) =
            apart.into_iter().map(|a| (a.vector, a.thread)).unzip();
        let of_thread = self.parted(&threads, env)?;
        let peeled = self.lane_loops(outer, env, &mut |this, env| {
            let cond = this.parted(&vectors, env)?;
            let body =
                this.lane_loops(&own, env, &mut |this, env| this.emit_lanes(number, info, &[], env))?;
            // Without other lanes, the thread has one vector.
            if cond == of_thread {
                return Ok(body);
            }
            Ok(vec![Stmt::If { cond, body, otherwise: Vec::new(), note: Note::default() }])
        })?;
        stmts.push(Stmt::If { cond: of_thread, body: peeled, otherwise: Vec::new(), note: Note::new(note) });
        Ok(Some(stmts))
    }

    /// The guards of an update that tell the lanes of a vector apart; `None` where none does or
    /// nothing moves at once.
    fn apart(&self, info: &PartInfo, lanes: &[Name], env: &Env) -> Result<Option<Vec<Apart>>, Diagnostic> {
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
                moves |= self.is_vector(&access, vector, count, env)?;
            }
        }
        if !moves {
            return Ok(None);
        }
        let mut inside = env.clone();
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
        let mixed = self.irredundant(&mixed, &inside)?;
        // What a guard is where it holds least, or most, among these lanes.
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
        let mut any = inside.clone();
        any.learn(&mixed.iter().map(|g| g.canonical.clone()).collect::<Vec<_>>())?;
        // Where the first lane decides for all of them, the whole vector is in range or none of it
        // is.
        let mut all = Vec::new();
        for guard in mixed {
            let c = &guard.canonical;
            let (Some(vector), Some(thread)) =
                (Ends::of(|least| extreme(c, &own, least))?, Ends::of(|least| extreme(c, lanes, least))?)
            else {
                return Ok(None);
            };
            let parts = !any.implies(&vector.least)?;
            all.push(Apart { guard, vector, thread, parts });
        }
        Ok(all.iter().any(|a| a.parts).then_some(all))
    }

    /// Whether some lane is in range, as far as each guard by itself tells, and some lane is not.
    fn parted(&mut self, guards: &[Ends], env: &Env) -> Result<Value, Diagnostic> {
        let mut cond = self.one_fails(guards.iter().map(|g| &g.least), env)?;
        for guard in guards {
            if !env.implies(&guard.most)? {
                cond = Value::binary(BinOp::And, cond, self.condition(&guard.most, env)?);
            }
        }
        Ok(cond)
    }

    /// Whether one of these constraints does not hold.
    fn one_fails<'c>(
        &mut self,
        constraints: impl Iterator<Item = &'c Constraint>,
        env: &Env,
    ) -> Result<Value, Diagnostic> {
        let mut cond: Option<Value> = None;
        for c in constraints {
            let not = Constraint::nonneg(c.aff.neg()?.add_constant(-1)?);
            let own = self.condition(&not, env)?;
            cond = Some(match cond {
                Some(cond) => Value::binary(BinOp::Or, cond, own),
                None => own,
            });
        }
        cond.ok_or_else(|| Diagnostic::new("internal", "no guard tells lanes apart"))
    }
}
