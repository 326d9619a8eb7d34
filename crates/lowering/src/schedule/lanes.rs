//! Decides which work of a statement is done per lane, and which once for several lanes.
//!
//! In this order: elements that several lanes read are loaded before them (`loads`); an update with
//! partial vectors is written twice (`pieces`); the innermost lane moves its elements by vectors
//! where it can (`vectors`); an update of several values loads all its vectors first; the rest is
//! done lane by lane. Each guard is placed as far out as its names allow.

use loopwright_kernel_ir::{Access, Aff, Constraint, Diagnostic, Name, Part, Tag};

use super::{
    Node, Which,
    guards::{canonical, irredundant},
    place::Place,
    planner::Planner,
};
use crate::analyse::{analysis::PartInfo, scan_order, via};

/// The contents of the loops over lanes.
type Inside<'f, P> = &'f mut dyn FnMut(&mut P, &Place) -> Result<Vec<Node>, Diagnostic>;

/// Decisions made so far, at a place inside loops over lanes.
#[derive(Clone, Default)]
pub(crate) struct Context {
    /// Elements that have been loaded.
    pub loaded: Vec<Access>,
    /// The requested phase of the statement.
    pub ahead: AheadOf,
}

/// A phase of a statement over a vector's lanes.
#[derive(Clone, Default)]
pub(crate) enum AheadOf {
    /// Loads and everything else, lane by lane.
    #[default]
    Whole,
    /// Its loads only, for each of these lanes around the vector's.
    Loads(Vec<Name>),
    /// The rest, after its loads.
    Loaded,
}

impl Planner<'_, '_> {
    /// A part in the loops over its lanes.
    pub fn lanes_of_part(&mut self, of: &Which, place: &Place) -> Result<Vec<Node>, Diagnostic> {
        let info = of.info(self.analysis);
        self.outside_of_atom(info)?;
        if let Some(nodes) = self.stored_matrices(of, place)? {
            return Ok(nodes);
        }
        let is_init = matches!(info.execution.part.part, Part::Init(_));
        let lanes = if is_init { self.init_lanes(info) } else { info.lanes.clone() };
        if let Some(nodes) = self.shared_loads(of, &lanes, place)? {
            return Ok(nodes);
        }
        match self.in_place(of, &lanes, place)? {
            Some(nodes) => Ok(nodes),
            None => self.lanes(of, &lanes, &Context::default(), place),
        }
    }

    /// A part in the loops over these lanes, each guard as far out as its names allow.
    pub fn lanes(
        &mut self,
        of: &Which,
        lanes: &[Name],
        context: &Context,
        place: &Place,
    ) -> Result<Vec<Node>, Diagnostic> {
        let info = of.info(self.analysis);
        let mut needed = Vec::new();
        if !matches!(info.execution.part.part, Part::Init(_)) {
            for guard in &info.guards {
                if needed.contains(guard) || place.implies(&guard.canonical)? {
                    continue;
                }
                if self.testable(&guard.canonical, place) {
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
        let needed = irredundant(&needed, place)?;
        let inside = place.with(&canonical(&needed))?;
        let body = self.inside_of_guards(of, lanes, context, &inside)?;
        Ok(self.guarded(needed, Some(of.clone()), inside, body))
    }

    fn inside_of_guards(
        &mut self,
        of: &Which,
        lanes: &[Name],
        context: &Context,
        place: &Place,
    ) -> Result<Vec<Node>, Diagnostic> {
        let Some((lane, rest)) = lanes.split_first() else {
            via::check_width(self.analysis, self.analysis.instruction(of.info(self.analysis)), 1)?;
            return Ok(vec![Node::Statement(self.statement(of, &context.loaded, place)?)]);
        };
        if rest.is_empty()
            && let Some(nodes) = self.vector(of, lane, context, place)?
        {
            return Ok(nodes);
        }
        if let Some(nodes) = self.ahead(of, lanes, context, place)? {
            return Ok(nodes);
        }
        self.lane_loops(&lanes[..1], place, &mut |this, place| this.lanes(of, rest, context, place))
    }

    /// The nodes of `inside`, in a loop for each lane.
    pub fn lane_loops(
        &mut self,
        lanes: &[Name],
        place: &Place,
        inside: Inside<'_, Self>,
    ) -> Result<Vec<Node>, Diagnostic> {
        let Some((lane, rest)) = lanes.split_first() else { return inside(self, place) };
        let place = self.in_lane(lane, place)?;
        let body = self.lane_loops(rest, &place, inside)?;
        Ok(vec![Node::Lane { lane: lane.clone(), inside: place, body }])
    }

    /// The place inside the loop over a lane.
    pub fn in_lane(&self, lane: &Name, place: &Place) -> Result<Place, Diagnostic> {
        let extent = self.analysis.extents.get(lane);
        if extent.and_then(|e| e.lower.as_constant().zip(e.constant)).is_none() {
            return Err(Diagnostic::new(
                "not-constant-length",
                format!("the lane `{lane}` has no constant bounds"),
            ));
        }
        let mut inside = place.clone();
        inside.bound.insert(lane.clone());
        self.learn_lane(lane, &mut inside)?;
        Ok(inside)
    }

    /// Makes the range of a lane known at a place.
    pub fn learn_lane(&self, lane: &Name, place: &mut Place) -> Result<(), Diagnostic> {
        let Some(extent) = self.analysis.extents.get(lane) else { return Ok(()) };
        let value = Aff::var(lane).sub(&extent.lower)?;
        let mut known = vec![Constraint::nonneg(value.clone())];
        if let Some(length) = extent.constant {
            known.push(Constraint::lt(&value, &Aff::constant(length))?);
        }
        place.learn(&known)
    }

    /// An update of several values over lanes around a vector's: first all vectors are loaded, then
    /// used. Compilers implement such an update with branches, and do not move loads across those
    /// of earlier lanes. `None` if it updates one value, or loads no vectors.
    fn ahead(
        &mut self,
        of: &Which,
        lanes: &[Name],
        context: &Context,
        place: &Place,
    ) -> Result<Option<Vec<Node>>, Diagnostic> {
        let Some((vector, around)) = lanes.split_last() else { return Ok(None) };
        let is_vector = self.analysis.kernel.tag(vector) == Tag::Vec;
        if around.is_empty()
            || !is_vector
            || !matches!(context.ahead, AheadOf::Whole)
            || !self.updates_several(of.info(self.analysis))?
        {
            return Ok(None);
        }
        let (first, rest) = (&lanes[..1], &lanes[1..]);
        let loading = Context { ahead: AheadOf::Loads(around.to_vec()), ..context.clone() };
        let loads =
            self.lane_loops(first, place, &mut |this, place| this.lanes(of, rest, &loading, place))?;
        let mut accesses = Vec::new();
        Node::visit(&loads, &mut |node| {
            if let Node::VectorLoads { accesses: loaded, .. } = node {
                accesses.clone_from(loaded);
            }
        });
        if accesses.is_empty() {
            return Ok(None);
        }
        let loaded = context.loaded.iter().chain(&accesses).cloned().collect();
        let using = Context { ahead: AheadOf::Loaded, loaded };
        let uses = self.lane_loops(first, place, &mut |this, place| this.lanes(of, rest, &using, place))?;
        Ok(Some(vec![Node::Ahead { accesses, lanes: lanes.to_vec(), loads, uses }]))
    }

    /// Whether a part updates several values, as argmax does.
    fn updates_several(&self, info: &PartInfo) -> Result<bool, Diagnostic> {
        let Part::Update(n) = info.execution.part.part else { return Ok(false) };
        let reductions = self.analysis.instruction(info).reductions();
        let Some(reduce) = reductions.get(n) else { return Ok(false) };
        Ok(self.analysis.operator(&reduce.op)?.state.len() > 1)
    }

    /// The lanes of an accumulator: those around the instruction and those reduced over.
    fn init_lanes(&self, info: &PartInfo) -> Vec<Name> {
        let Part::Init(n) = info.execution.part.part else { return info.lanes.clone() };
        match scan_order::is_carried(self.analysis, info.instruction) {
            true => self.analysis.carry_lanes(info.instruction, n),
            false => self.analysis.accumulator_lanes(info.instruction, n),
        }
    }
}
