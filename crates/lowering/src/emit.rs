//! Bodies: loops with tight bounds, guards that are needed and no others, parts.
//!
//! A guard stands where all its names have values, around as many neighbours as share it, unless a
//! barrier would come to stand inside it and the guard differs between threads: then it goes
//! further in. A constraint that follows from what is known at that place (coordinates' ranges,
//! loop bounds, outer guards, assumptions) is not printed, and of the rest none that follows from
//! the others. The bounds of a loop with a barrier inside are those of the hull over the threads of
//! the block.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Name, Part, Tag};
use loopwright_legality::{Presence, THREAD_COORDINATES};

use crate::{
    analysis::{Guard, PartInfo},
    emitter::Emitter,
    env::Env,
    fold::and,
    items::Item,
    loop_bounds::Side,
    program::{Note, Scope, Step, Stmt, ValueKind},
};

/// What stands inside the loops over lanes.
type Inside<'f, E> = &'f mut dyn FnMut(&mut E, &Env) -> Result<Vec<Stmt>, Diagnostic>;

impl Emitter<'_, '_> {
    /// The statements of neighbouring items.
    pub fn emit_items(&mut self, items: &[Item], env: &mut Env) -> Result<Vec<Stmt>, Diagnostic> {
        let mut body = Vec::new();
        let mut k = 0;
        while k < items.len() {
            if self.is_init(&items[k]) {
                body.extend(self.emit_item(&items[k], env)?);
                k += 1;
                continue;
            }
            let shared = self.required(&items[k], env)?;
            if shared.is_empty() {
                body.extend(self.emit_item(&items[k], env)?);
                k += 1;
                continue;
            }
            // Neighbours that need the same guards come under one. Accumulators are initialised
            // before it.
            let mut end = k + 1;
            let mut inits = Vec::new();
            while end < items.len() {
                if self.is_init(&items[end]) {
                    inits.push(end);
                    end += 1;
                    continue;
                }
                let next = self.required(&items[end], env)?;
                if !shared.iter().all(|g| next.contains(g)) || next.len() != shared.len() {
                    break;
                }
                end += 1;
            }
            while end > k + 1 && self.is_init(&items[end - 1]) {
                end -= 1;
            }
            for init in inits.iter().filter(|i| **i < end) {
                body.extend(self.emit_item(&items[*init], env)?);
            }
            let guards = self.irredundant(&shared, env)?;
            let mut inner = env.clone();
            inner.learn(&guards.iter().map(|g| g.canonical.clone()).collect::<Vec<_>>())?;
            let mut guarded = Vec::new();
            for (n, item) in items.iter().enumerate().take(end).skip(k) {
                if !inits.contains(&n) {
                    guarded.extend(self.emit_item(item, &mut inner)?);
                }
            }
            let note = self.guard_note(&guards, &items[k], &inner);
            self.guarded(&mut body, &guards, guarded, note, env)?;
            k = end;
        }
        Ok(body)
    }

    pub fn guarded(
        &mut self,
        body: &mut Vec<Stmt>,
        guards: &[Guard],
        guarded: Vec<Stmt>,
        note: Note,
        env: &Env,
    ) -> Result<(), Diagnostic> {
        if guards.is_empty() || guarded.is_empty() {
            body.extend(guarded);
            return Ok(());
        }
        let mut cond = None;
        for g in guards {
            let c = self.guard_condition(g, env)?;
            cond = Some(and(cond, c));
        }
        if let Some(cond) = cond {
            body.push(Stmt::If { cond, body: guarded, otherwise: Vec::new(), note });
        }
        Ok(())
    }

    fn is_init(&self, item: &Item) -> bool {
        matches!(item, Item::Leaf(p) if matches!(self.analysis.parts[*p].execution.part.part, Part::Init(_)))
    }

    /// The constraints that all parts of an item need, can be tested here, and are not known here.
    fn required(&mut self, item: &Item, env: &Env) -> Result<Vec<Guard>, Diagnostic> {
        let uniform_only = item.converges();
        let parts: Vec<usize> = Item::parts(std::slice::from_ref(item))
            .into_iter()
            .filter(|p| !matches!(self.analysis.parts[*p].execution.part.part, Part::Init(_)))
            .collect();
        if matches!(item, Item::Sync(_) | Item::Join(_) | Item::Start(_)) {
            return Ok(Vec::new());
        }
        let Some((first, rest)) = parts.split_first() else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for guard in &self.part(*first).guards {
            let common =
                rest.iter().all(|p| self.part(*p).guards.iter().any(|g| g.canonical == guard.canonical));
            if common
                && !found.iter().any(|g: &Guard| g.canonical == guard.canonical)
                && self.testable(&guard.canonical, env)
                && (!uniform_only || self.uniform(&guard.canonical.aff))
                && !env.implies(&guard.canonical)?
            {
                found.push(guard.clone());
            }
        }
        Ok(found)
    }

    /// Whether all names of a constraint have values here.
    fn testable(&self, c: &Constraint, env: &Env) -> bool {
        c.names().iter().all(|n| self.available(n, env))
    }

    pub fn available(&self, name: &Name, env: &Env) -> bool {
        env.bound.contains(name) || self.analysis.is_parameter(name) || self.data.contains(name)
    }

    /// Whether a function has the same value for all threads of a block.
    pub fn uniform(&self, aff: &Aff) -> bool {
        aff.names().iter().all(|n| {
            if THREAD_COORDINATES.contains(&n.as_str()) {
                return false;
            }
            if self.analysis.lookup.array(n).is_none() {
                return true;
            }
            self.analysis
                .writers(n)
                .all(|(_, p)| p.execution.threads.iter().all(|t| *t == Presence::Replicated))
        })
    }

    /// The guards without those that follow from the others and what is known.
    pub fn irredundant(&self, guards: &[Guard], env: &Env) -> Result<Vec<Guard>, Diagnostic> {
        if guards.len() < 2 {
            return Ok(guards.to_vec());
        }
        let mut kept: Vec<Guard> = guards.to_vec();
        let mut k = 0;
        while k < kept.len() {
            let others = kept.iter().enumerate().filter(|(n, _)| *n != k);
            let others: Vec<Constraint> = others.map(|(_, g)| g.canonical.clone()).collect();
            if env.system().with(&others)?.implies(&kept[k].canonical)? {
                kept.remove(k);
            } else {
                k += 1;
            }
        }
        Ok(kept)
    }

    fn emit_item(&mut self, item: &Item, env: &mut Env) -> Result<Vec<Stmt>, Diagnostic> {
        match item {
            Item::Sync(note) => Ok(vec![Stmt::Sync { scope: Scope::Block, note: note.clone() }]),
            Item::Leaf(part) => self.emit_part(*part, env),
            Item::Join(join) if join.scan => self.emit_scan(join, env),
            Item::Join(join) => self.emit_join(join, env),
            Item::Start(join) => self.emit_start(join, env),
            Item::Loop { iname, body } => self.emit_loop(iname, body, env),
        }
    }

    /// A part in the loops over its lanes.
    fn emit_part(&mut self, number: usize, env: &mut Env) -> Result<Vec<Stmt>, Diagnostic> {
        let info = self.part(number).clone();
        let is_init = matches!(info.execution.part.part, Part::Init(_));
        let lanes = if is_init { self.init_lanes(&info) } else { info.lanes.clone() };
        let stmts = match self.emit_loaded(number, &info, &lanes, env)? {
            Some(stmts) => stmts,
            None => match self.emit_peeled(number, &info, &lanes, env)? {
                Some(stmts) => stmts,
                None => self.emit_lanes(number, &info, &lanes, env)?,
            },
        };
        self.after(&info, env)?;
        Ok(stmts)
    }

    /// A part in the loops over these lanes, each guard as far out as its names allow.
    pub fn emit_lanes(
        &mut self,
        number: usize,
        info: &PartInfo,
        lanes: &[Name],
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let is_init = matches!(info.execution.part.part, Part::Init(_));
        let mut inner = env.clone();
        let mut needed = Vec::new();
        if !is_init {
            for guard in &info.guards {
                if needed.contains(guard) || inner.implies(&guard.canonical)? {
                    continue;
                }
                if self.testable(&guard.canonical, &inner) {
                    needed.push(guard.clone());
                } else if lanes.is_empty() {
                    return Err(Diagnostic::new(
                        "unbound",
                        format!(
                            "`{}` restricts {}, but is not known there",
                            guard.declared, info.execution.part
                        ),
                    )
                    .help("load what the bound reads before the loop that it bounds"));
                }
            }
        }
        let needed = self.irredundant(&needed, &inner)?;
        inner.learn(&needed.iter().map(|g| g.canonical.clone()).collect::<Vec<_>>())?;
        let statements = match lanes.split_first() {
            None => self.emit_statement(number, info, &inner)?,
            Some((lane, rest)) => 'lanes: {
                if rest.is_empty()
                    && let Some(stmts) = self.emit_vector(number, info, lane, &inner)?
                {
                    break 'lanes stmts;
                }
                if let Some(stmts) = self.emit_ahead(number, info, lanes, &inner)? {
                    break 'lanes stmts;
                }
                let lane = [lane.clone()];
                self.lane_loops(&lane, &inner, &mut |this, env| this.emit_lanes(number, info, rest, env))?
            }
        };
        let mut body = Vec::new();
        let note = self.guard_note(&needed, &Item::Leaf(number), &inner);
        self.guarded(&mut body, &needed, statements, note, env)?;
        Ok(body)
    }

    /// What is known once a part has run: values loaded from data, with the ranges declared for
    /// them.
    fn after(&mut self, info: &PartInfo, env: &mut Env) -> Result<(), Diagnostic> {
        let analysis = self.analysis;
        let instruction = analysis.instruction(info);
        for target in &instruction.targets {
            if !analysis.data.contains(&target.array) || !target.index.is_empty() {
                continue;
            }
            self.data.insert(target.array.clone());
            let mut known = Vec::new();
            // The lowest bits of a number.
            if let loopwright_kernel_ir::Expr::Binary(loopwright_kernel_ir::BinaryOp::BitAnd, _, mask) =
                &instruction.value
                && let loopwright_kernel_ir::Expr::Int(mask @ 0..) = **mask
            {
                let value = Aff::var(&target.array);
                known.push(Constraint::nonneg(value.clone()));
                known.push(Constraint::le(&value, &Aff::constant(mask))?);
            }
            if let loopwright_kernel_ir::Expr::Subscript(source) = &instruction.value {
                for fact in &analysis.kernel.facts {
                    let loopwright_kernel_ir::Fact::Range { array, lower, upper } = fact else { continue };
                    if *array != source.array {
                        continue;
                    }
                    let value = Aff::var(&target.array);
                    if let Some(lower) = lower.as_ref().and_then(|e| e.to_aff()) {
                        known.push(Constraint::le(&lower, &value)?);
                    }
                    if let Some(upper) = upper.as_ref().and_then(|e| e.to_aff()) {
                        known.push(Constraint::lt(&value, &upper)?);
                    }
                }
            }
            env.learn(&known)?;
        }
        Ok(())
    }

    /// The statements of `inside`, in a loop for each lane.
    pub fn lane_loops(
        &mut self,
        lanes: &[Name],
        env: &Env,
        inside: Inside<'_, Self>,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let Some((lane, rest)) = lanes.split_first() else { return inside(self, env) };
        let extent = self.analysis.extents.get(lane).cloned();
        let Some((lower, length)) = extent.and_then(|e| Some((e.lower.as_constant()?, e.constant?))) else {
            return Err(Diagnostic::new(
                "not-constant-length",
                format!("the lane `{lane}` has no constant bounds"),
            ));
        };
        let mut inner = env.clone();
        let var = self.new_index(lane, Aff::var(lane));
        inner.set(lane.clone(), self.var_value(var));
        inner.bound.insert(lane.clone());
        self.learn_lane(lane, &mut inner)?;
        let mut body = self.lets(&mut inner)?;
        body.extend(self.lane_loops(rest, &inner, inside)?);
        Ok(vec![Stmt::For {
            var,
            lower: self.index_int(lower),
            upper: self.index_int(lower.saturating_add(length)),
            step: Step::Add(1),
            unroll: true,
            body,
            note: Note::default(),
        }])
    }

    /// The range of a lane.
    pub fn learn_lane(&self, lane: &Name, env: &mut Env) -> Result<(), Diagnostic> {
        let Some(extent) = self.analysis.extents.get(lane) else { return Ok(()) };
        let value = Aff::var(lane).sub(&extent.lower)?;
        let mut known = vec![Constraint::nonneg(value.clone())];
        if let Some(length) = extent.constant {
            known.push(Constraint::lt(&value, &Aff::constant(length))?);
        }
        env.learn(&known)
    }

    /// Names for the defined inames that have a value from here on.
    pub fn lets(&mut self, env: &mut Env) -> Result<Vec<Stmt>, Diagnostic> {
        let analysis = self.analysis;
        let mut body = Vec::new();
        // Later definitions are nearer to what is bound.
        for definition in analysis.kernel.definitions.iter().rev() {
            if env.values.contains_key(&definition.iname)
                || !analysis.lookup.base_of(&definition.iname).iter().all(|b| self.relevant.contains(b))
            {
                continue;
            }
            let canonical = analysis.canonical(&definition.value)?;
            if !canonical.names().iter().all(|n| env.bound.contains(n) || analysis.is_parameter(n)) {
                continue;
            }
            let value = match self.aff_value(&definition.value, env) {
                Ok(value) => value,
                // A loop counts a sum instead of its parts; nothing below speaks of this name.
                Err(d) if d.code == "unknown-name" => continue,
                Err(d) => return Err(d),
            };
            if value.children().is_empty() {
                env.set(definition.iname.clone(), value);
                continue;
            }
            let var = self.new_index(&definition.iname, env.with_constants(&canonical)?);
            env.set(definition.iname.clone(), self.var_value(var));
            env.named.push((definition.iname.clone(), canonical));
            body.push(Stmt::Let { var, value, leaf: None });
        }
        Ok(body)
    }

    /// Names for the inames that run on axes of the block and the grid:
    /// `const int s = blockIdx.x;`.
    pub fn coordinate_lets(&mut self, parts: &[usize], env: &mut Env) -> Result<Vec<Stmt>, Diagnostic> {
        let mut body = Vec::new();
        let mut seen = BTreeSet::new();
        // Names of declared instructions before those of copies.
        let analysis = self.analysis;
        let is_copy = |p: &usize| {
            let instruction = analysis.instruction(&analysis.parts[*p]);
            !matches!(instruction.role, loopwright_kernel_ir::Role::Does(_))
        };
        let mut parts = parts.to_vec();
        parts.sort_by_key(|p| (is_copy(p), *p));
        for part in &parts {
            for iname in &self.analysis.parts[*part].inames {
                if !self.analysis.kernel.tag(iname).is_hardware() || !seen.insert(iname.clone()) {
                    continue;
                }
                let mut value = self.name_value(iname, crate::scope::Scope::of(env))?;
                // A copy goes through its buffer by names of its own, not by that of another iname
                // of the same axis.
                if let (ValueKind::Var(_), Some(axis)) =
                    (&value.kind, self.analysis.kernel.tag(iname).thread_axis())
                    && is_copy(part)
                    && let Ok(axis) = u8::try_from(axis)
                {
                    value.kind = ValueKind::ThreadIdx(axis);
                }
                if value.as_int().is_some() || matches!(value.kind, ValueKind::Var(_)) {
                    env.set(iname.clone(), value);
                    continue;
                }
                let var = self.new_index(iname, analysis.canonical(&Aff::var(iname))?);
                env.set(iname.clone(), self.var_value(var));
                // The builtins are unsigned: from here on bounds speak of the signed name.
                if let Some(coordinate) =
                    loopwright_legality::coordinate_name(self.analysis.kernel.tag(iname))
                    && env.values.get(coordinate) == Some(&value)
                {
                    env.set(Name::new(coordinate), self.var_value(var));
                }
                body.push(Stmt::Let { var, value, leaf: None });
            }
        }
        Ok(body)
    }

    fn emit_loop(&mut self, iname: &Name, items: &[Item], env: &Env) -> Result<Vec<Stmt>, Diagnostic> {
        match self.emit_loop_apart(iname, items, env) {
            Some(stmts) => Ok(stmts),
            None => self.emit_one_loop(iname, items, env),
        }
    }

    /// The loop over `iname`, in one.
    pub fn emit_one_loop(
        &mut self,
        iname: &Name,
        items: &[Item],
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let converges = items.iter().any(Item::converges);
        let unroll = self.analysis.kernel.tag(iname) == Tag::Unroll;
        let bounds = self.loop_bounds(items, iname, env, converges, unroll)?;
        let mut inner = env.clone();
        inner.bound.insert(iname.clone());
        bounds.learn(iname, &mut inner)?;
        if let Some(only) = bounds.one_value() {
            inner.learn(&[Constraint::equal(&Aff::var(iname), only)?])?;
            let value = self.aff_value(only, env)?;
            let meaning = env.with_constants(only)?;
            inner.only.insert(iname.clone(), meaning.clone());
            let mut body = Vec::new();
            if value.children().is_empty() {
                inner.set(iname.clone(), value);
            } else {
                let var = self.new_index(iname, meaning);
                inner.set(iname.clone(), self.var_value(var));
                body.push(Stmt::Let { var, value, leaf: None });
            }
            body.extend(self.lets(&mut inner)?);
            body.extend(self.emit_items(items, &mut inner)?);
            return Ok(body);
        }
        // A sum that is counted may leave the parts of it without a value that something below
        // needs after all.
        let before = self.mark();
        let mut counted = inner.clone();
        match self.counted(iname, items, &bounds, &mut counted, env, unroll, converges) {
            Ok(Some(stmt)) => return Ok(vec![stmt]),
            Ok(None) => {}
            Err(d) if d.code == "unknown-name" => self.back_to(before),
            Err(d) => return Err(d),
        }
        let lower = self.extreme(&bounds.lower, env, Side::Lower)?;
        let upper = self.extreme(&bounds.upper, env, Side::Upper)?;
        if let (Some(l), Some(u)) = (lower.as_int(), upper.as_int()) {
            if u <= l {
                return Ok(Vec::new());
            }
            // What is known of the iname outside of the loop is that of all instances of a part,
            // not of a piece of it.
            if u == l + 1 && self.piece.is_none() {
                inner.set(iname.clone(), self.index_int(l));
                inner.only.insert(iname.clone(), Aff::constant(l));
                inner.learn(&[Constraint::equal(&Aff::var(iname), &Aff::constant(l))?])?;
                let mut body = self.lets(&mut inner)?;
                body.extend(self.emit_items(items, &mut inner)?);
                return Ok(body);
            }
        }
        let var = self.new_index(iname, Aff::var(iname));
        inner.set(iname.clone(), self.var_value(var));
        let mut body = self.lets(&mut inner)?;
        body.extend(self.emit_items(items, &mut inner)?);
        Ok(vec![Stmt::For { var, lower, upper, step: Step::Add(1), unroll, body, note: Note::default() }])
    }

    /// The lanes of an accumulator: those around the instruction and those reduced over.
    fn init_lanes(&self, info: &PartInfo) -> Vec<Name> {
        let Part::Init(n) = info.execution.part.part else { return info.lanes.clone() };
        match crate::scan_order::is_carried(self.analysis, info.instruction) {
            true => self.carry_lanes(info.instruction, n),
            false => self.accumulator_lanes(info.instruction, n),
        }
    }

    /// The lanes for which a scan in rounds carries a total: those of its accumulator that it does
    /// not go along.
    pub fn carry_lanes(&self, instruction: usize, reduction: usize) -> Vec<Name> {
        let kernel = self.analysis.kernel;
        let i = &kernel.instructions[instruction];
        let init = self.analysis.lookup.inames_of(i, Part::Init(reduction));
        self.accumulator_lanes(instruction, reduction).into_iter().filter(|l| init.contains(l)).collect()
    }

    /// The lanes for which the accumulator of a reduction has a copy: those around it, then those
    /// reduced over.
    pub fn accumulator_lanes(&self, instruction: usize, reduction: usize) -> Vec<Name> {
        let kernel = self.analysis.kernel;
        let i = &kernel.instructions[instruction];
        let update =
            loopwright_kernel_ir::PartRef { instruction: i.id.clone(), part: Part::Update(reduction) };
        let mut seen = BTreeSet::new();
        kernel
            .part_inames(&update)
            .into_iter()
            .filter(|n| kernel.tag(n).is_jam() && seen.insert(n.clone()))
            .collect()
    }
}
