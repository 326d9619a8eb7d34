//! Places the guards around parts.
//!
//! A guard is placed where all its names have values, around all neighbours that share it, unless
//! this would put a barrier inside a guard that differs between threads: then it is placed further
//! in. Around asynchronous copies, constraints on the counters of unrolled loops are tested first.
//! A constraint is not tested if it follows from the facts known at that place (ranges of
//! coordinates, bounds of loops, outer guards, assumptions) or from the other constraints.

use std::rc::Rc;

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Kind, Name, Part, Tag};

use super::{Guarded, Node, Which, place::Place, planner::Planner};
use crate::{
    analyse::analysis::{Guard, PartInfo},
    schedule::items::Item,
};

impl Planner<'_, '_> {
    /// The nodes of neighbouring items.
    pub fn items(&mut self, items: &[Item], place: &mut Place) -> Result<Vec<Node>, Diagnostic> {
        let mut nodes = Vec::new();
        let mut k = 0;
        while k < items.len() {
            if self.is_init(&items[k]) {
                nodes.extend(self.item(&items[k], place)?);
                k += 1;
                continue;
            }
            let shared = self.required(&items[k], place)?;
            if shared.is_empty() {
                nodes.extend(self.item(&items[k], place)?);
                k += 1;
                continue;
            }
            // Neighbours that need the same guards share one. Accumulators are initialised before
            // it.
            let mut end = k + 1;
            let mut inits = Vec::new();
            while end < items.len() {
                if self.is_init(&items[end]) {
                    inits.push(end);
                    end += 1;
                    continue;
                }
                let next = self.required(&items[end], place)?;
                if !shared.iter().all(|g| next.contains(g)) || next.len() != shared.len() {
                    break;
                }
                end += 1;
            }
            while end > k + 1 && self.is_init(&items[end - 1]) {
                end -= 1;
            }
            for init in inits.iter().filter(|i| **i < end) {
                nodes.extend(self.item(&items[*init], place)?);
            }
            let guards = irredundant(&shared, place)?;
            let mut inside = place.with(&canonical(&guards))?;
            if self.at_ends && inside.system().is_empty()? {
                k = end;
                continue;
            }
            let of = Item::parts(std::slice::from_ref(&items[k])).first().map(|p| self.which(*p));
            let known = inside.clone();
            let mut body = Vec::new();
            for (n, item) in items.iter().enumerate().take(end).skip(k) {
                if !inits.contains(&n) {
                    body.extend(self.item(item, &mut inside)?);
                }
            }
            // What is decided when loops are unrolled stands around a condition that copies can
            // have as a predicate.
            let parts = Item::parts(&items[k..end]);
            let copies = parts.iter().any(|p| self.analysis.copies_asynchronously(*p));
            let (unrolled, others): (Vec<Guard>, Vec<Guard>) =
                guards.into_iter().partition(|g| copies && self.is_of_unrolled(&g.canonical));
            let around = place.with(&canonical(&unrolled))?;
            let body = self.guarded(others, of.clone(), known, body);
            nodes.extend(self.guarded(unrolled, of, around, body));
            k = end;
        }
        Ok(nodes)
    }

    fn item(&mut self, item: &Item, place: &mut Place) -> Result<Vec<Node>, Diagnostic> {
        match item {
            Item::Sync(note) => Ok(vec![Node::Sync(note.clone())]),
            Item::Commit => Ok(vec![Node::Commit]),
            Item::Wait(pending, note) => Ok(vec![Node::Wait(*pending, note.clone())]),
            Item::Leaf(part) => self.leaf(*part, place),
            Item::Join(join) => self.join(join),
            Item::Start(join) => Ok(vec![Node::Start(join.clone())]),
            Item::Loop { iname, body } => match self.atom(iname, body, place)? {
                Some(nodes) => Ok(nodes),
                None => self.loop_over(iname, body, place),
            },
        }
    }

    /// Whether a constraint is one on the counters of unrolled loops.
    fn is_of_unrolled(&self, c: &Constraint) -> bool {
        c.names().iter().all(|n| self.analysis.kernel.tag(n) == Tag::Unroll)
    }

    /// Wraps a body in guards, if there are any.
    pub fn guarded(
        &self,
        guards: Vec<Guard>,
        of: Option<Which>,
        inside: Place,
        body: Vec<Node>,
    ) -> Vec<Node> {
        if guards.is_empty() || body.is_empty() {
            return body;
        }
        // The constraint that selects the instances at one end of a range is not a guard of the
        // part; the loop's bounds state it.
        let own = |g: &&Guard| match &self.piece {
            Some(piece) if piece.ends_of.is_some() => self.analysis.parts[piece.number].guards.contains(g),
            _ => true,
        };
        let explained = guards.iter().filter(own).cloned().collect();
        vec![Node::Guard(Guarded { guards, explained, of, inside, body })]
    }

    /// The constraints that all parts of an item need, and that can be tested here but are not
    /// known to hold.
    fn required(&self, item: &Item, place: &Place) -> Result<Vec<Guard>, Diagnostic> {
        let uniform_only = item.converges(self.analysis);
        let parts: Vec<usize> = Item::parts(std::slice::from_ref(item))
            .into_iter()
            .filter(|p| !matches!(self.analysis.parts[*p].execution.part.part, Part::Init(_)))
            .collect();
        if !matches!(item, Item::Leaf(_) | Item::Loop { .. }) {
            return Ok(Vec::new());
        }
        let Some((first, rest)) = parts.split_first() else { return Ok(Vec::new()) };
        let common = |guard: &&Guard| {
            rest.iter().all(|p| self.part(*p).guards.iter().any(|g| g.canonical == guard.canonical))
        };
        let own = self.part(*first).guards.iter().filter(common).cloned();
        let mut found: Vec<Guard> = Vec::new();
        for guard in own.chain(self.guards_of_lanes(&parts)?) {
            if !found.iter().any(|g| g.canonical == guard.canonical)
                && self.testable(&guard.canonical, place)
                && (!uniform_only || self.uniform(&guard.canonical.aff))
                && !place.implies(&guard.canonical)?
            {
                found.push(guard);
            }
        }
        Ok(found)
    }

    /// For parts with lanes that load a scalar from data, or are in ranges that are read from such
    /// a one: what holds if a guard of all of them holds for some lane, where that is the first
    /// one. Under it, the first lane has loaded what stands for all lanes.
    fn guards_of_lanes(&self, parts: &[usize]) -> Result<Vec<Guard>, Diagnostic> {
        let analysis = self.analysis;
        let by_lanes = |n: &Name| self.is_loaded_by_lanes(n);
        let concerned = |p: &usize| {
            let info = self.part(*p);
            let mut targets = analysis.instruction(info).targets.iter();
            targets.any(|target| by_lanes(&target.array))
                || info.guards.iter().any(|g| g.canonical.aff.mentions_any(&by_lanes))
        };
        let mut found = Vec::new();
        let Some((first, rest)) = parts.split_first() else { return Ok(found) };
        if !parts.iter().any(concerned) {
            return Ok(found);
        }
        let lanes = &self.part(*first).lanes;
        for guard in &self.part(*first).guards {
            let aff = &guard.canonical.aff;
            let common =
                rest.iter().all(|p| self.part(*p).guards.iter().any(|g| g.canonical == guard.canonical));
            if !common || guard.canonical.kind != Kind::Ge || !aff.mentions_any(&|n| lanes.contains(n)) {
                continue;
            }
            // Later lanes have less of it.
            let mut others = aff.clone();
            for lane in lanes {
                others = others.sub(&Aff::var(lane).scale(aff.coefficient(lane))?)?;
            }
            let falls = lanes.iter().all(|lane| aff.coefficient(lane) <= 0);
            if falls && !others.mentions_any(&|n| lanes.contains(n)) {
                let canonical = self.of_first_lane(&guard.canonical, lanes)?;
                found.push(Guard { declared: guard.declared.clone(), canonical });
            }
        }
        Ok(found)
    }

    /// A part with its lanes, and the facts known once it has run.
    fn leaf(&mut self, number: usize, place: &mut Place) -> Result<Vec<Node>, Diagnostic> {
        let of = self.which(number);
        let mut nodes = self.lanes_of_part(&of, place)?;
        if self.learn_loaded(of.info(self.analysis), place)? {
            nodes.push(Node::Known(place.clone()));
        }
        Ok(nodes)
    }

    /// Adds the facts known once a part has run: the declared ranges of values loaded from data.
    /// Returns whether there are any.
    fn learn_loaded(&mut self, info: &PartInfo, place: &mut Place) -> Result<bool, Diagnostic> {
        let analysis = self.analysis;
        let instruction = analysis.instruction(info);
        let mut loaded = false;
        for target in &instruction.targets {
            if !analysis.data.contains(&target.array) || !target.index.is_empty() {
                continue;
            }
            loaded = true;
            Rc::make_mut(&mut self.data).insert(target.array.clone());
            place.data = self.data.clone();
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
                for fact in analysis.kernel.lasting_facts() {
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
            place.learn(&known)?;
        }
        Ok(loaded)
    }
}

/// The canonical forms of guards.
pub(crate) fn canonical(guards: &[Guard]) -> Vec<Constraint> {
    guards.iter().map(|g| g.canonical.clone()).collect()
}

/// The guards without those that follow from the others and from known facts.
pub(crate) fn irredundant(guards: &[Guard], place: &Place) -> Result<Vec<Guard>, Diagnostic> {
    if guards.len() < 2 {
        return Ok(guards.to_vec());
    }
    let mut kept: Vec<Guard> = guards.to_vec();
    let mut k = 0;
    while k < kept.len() {
        let others = kept.iter().enumerate().filter(|(n, _)| *n != k);
        let others: Vec<Constraint> = others.map(|(_, g)| g.canonical.clone()).collect();
        if place.system().with(&others)?.implies(&kept[k].canonical)? {
            kept.remove(k);
        } else {
            k += 1;
        }
    }
    Ok(kept)
}
