//! Vectors of which some lanes lie beside the range that a loop goes over: whole ones by vector accesses, the others element by element.
//!
//! An update over `vec` lanes whose guards tell lanes apart would move all its elements one by one. Where whole vectors can move at once, it is
//! written twice:
//!
//! ```text
//! for each part:  if (all lanes are in range)  one access, all lanes
//! if (some lane of the thread is in range, and some is not)
//!     for each part:  if (some lane is, and some is not)  for each lane:  if (it is in range)  one element
//! ```
//!
//! The first loop is straight, so that its loads are on the way together; what the second one is for, the ends of a row, few threads have. Threads
//! that lie behind the end of a row altogether are not among them: in the last round that is most of a block.

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Kind, Name, Part, Tag};

use crate::{
    analysis::{Guard, PartInfo},
    emitter::Emitter,
    env::Env,
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

impl Emitter<'_, '_> {
    /// An update in the loops over its lanes, written twice; `None` where no guard tells the lanes of a vector apart or nothing moves at once.
    pub fn emit_peeled(
        &mut self,
        number: usize,
        info: &PartInfo,
        lanes: &[Name],
        env: &Env,
    ) -> Result<Option<Vec<Stmt>>, Diagnostic> {
        let analysis = self.analysis;
        let Some((vector, outer)) = lanes.split_last() else { return Ok(None) };
        let instruction = analysis.instruction(info);
        if !self.shared_state.peel
            || analysis.kernel.tag(vector) != Tag::Vec
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
        // Where the first lane decides for all of them, the whole vector is in range or none of it is.
        let mut apart = false;
        let mut all = Vec::new();
        for guard in &mixed {
            let c = &guard.canonical;
            let (Some(vector), Some(thread)) =
                (Ends::of(|least| extreme(c, &own, least))?, Ends::of(|least| extreme(c, lanes, least))?)
            else {
                return Ok(None);
            };
            apart |= !any.implies(&vector.least)?;
            all.push((guard.clone(), vector, thread));
        }
        if !apart {
            return Ok(None);
        }
        // Whole vectors.
        let mut whole = info.clone();
        for guard in &mut whole.guards {
            if let Some((_, vector, _)) = all.iter().find(|(g, ..)| g == guard) {
                let c = vector.least.clone();
                *guard = Guard { declared: c.clone(), canonical: c };
            }
        }
        let mut stmts = self.emit_lanes(number, &whole, lanes, env)?;
        // The others.
        let note = "the elements of vectors that the row begins or ends in";
        let (vectors, threads): (Vec<Ends>, Vec<Ends>) = all.into_iter().map(|(_, v, t)| (v, t)).unzip();
        let cond = self.parted(&threads, env)?;
        let peeled = self.lane_loops(outer, env, &mut |this, env| {
            let cond = this.parted(&vectors, env)?;
            let body =
                this.lane_loops(&own, env, &mut |this, env| this.emit_lanes(number, info, &[], env))?;
            Ok(vec![Stmt::If { cond, body, otherwise: Vec::new(), note: Note::default() }])
        })?;
        stmts.push(Stmt::If { cond, body: peeled, otherwise: Vec::new(), note: Note::new(note) });
        Ok(Some(stmts))
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
