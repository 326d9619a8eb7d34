//! State shared by the passes over one device kernel.

use std::{collections::BTreeSet, rc::Rc};

use loopwright_kernel_ir::{AddressSpace, Aff, Constraint, Diagnostic, HardwareAxis, Name, Part, PerDim};
use loopwright_legality::Presence;
use loopwright_target::Target;

use super::{Which, place::Place};
use crate::{
    Hazards,
    analyse::analysis::{Analysis, PartInfo},
    schedule::{items::Item, loop_bounds::LoopBounds},
};

/// Makes the decisions for one device kernel.
pub(crate) struct Planner<'a, 'k> {
    pub analysis: &'a Analysis<'k>,
    pub block: PerDim<u32>,
    pub target: &'a Target,
    pub hazards: Hazards,
    /// Integer scalars that have been loaded from data so far.
    pub data: Rc<BTreeSet<Name>>,
    /// The parts whose updates are atomic.
    pub atomic: BTreeSet<usize>,
    /// The piece that the current loop is for, if it is not for all instances of its part.
    pub piece: Option<Rc<Piece>>,
    /// Whether the current loop is for the iterations at an end of a partitioned one, in which some
    /// parts never run (see `partition`).
    pub at_ends: bool,
    /// Whether what is being planned is the contract of a load of fragments.
    pub loads_fragments: bool,
}

/// Some instances of a part, which have a separate loop (see `pieces`).
pub(crate) struct Piece {
    pub number: usize,
    /// The part, with guards that only these instances satisfy.
    pub info: Rc<PartInfo>,
    /// The guards that are tested inside the loop and do not bound it.
    pub inside: Vec<Constraint>,
    /// For a piece at one end: the bounds of the loop over all instances.
    pub ends_of: Option<LoopBounds>,
}

impl<'a, 'k> Planner<'a, 'k> {
    /// A part, or the current piece of it.
    pub fn which(&self, number: usize) -> Which {
        let piece = self.piece.as_ref().filter(|piece| piece.number == number);
        Which { number, piece: piece.map(|piece| piece.info.clone()) }
    }

    /// The facts about a part, or about the current piece of it.
    pub fn part(&self, number: usize) -> &PartInfo {
        match &self.piece {
            Some(piece) if piece.number == number => &piece.info,
            _ => &self.analysis.parts[number],
        }
    }

    pub fn is_init(&self, item: &Item) -> bool {
        matches!(item, Item::Leaf(p) if matches!(self.analysis.parts[*p].execution.part.part, Part::Init(_)))
    }

    /// Whether all names of a constraint have values here.
    pub fn testable(&self, c: &Constraint, place: &Place) -> bool {
        c.names().iter().all(|n| self.available(n, place))
    }

    pub fn available(&self, name: &Name, place: &Place) -> bool {
        place.bound.contains(name)
            || self.analysis.is_parameter(name)
            || self.data.contains(name) && self.has_value(name, place)
    }

    /// Whether this is a scalar that is read from data, and lanes load it.
    pub fn is_loaded_by_lanes(&self, name: &Name) -> bool {
        self.analysis.data.contains(name)
            && self.analysis.writers(name).any(|(_, writer)| !writer.lanes.is_empty())
    }

    /// Whether a scalar that is read from data has a value here. Where lanes load it, outside of
    /// their loops that of the first lane stands for all: so the first lane has to have loaded it,
    /// and the others the same.
    fn has_value(&self, scalar: &Name, place: &Place) -> bool {
        self.analysis.writers(scalar).all(|(_, writer)| {
            writer.lanes.is_empty()
                || !self.differs_over(scalar, &writer.lanes, &mut Vec::new())
                    && writer.guards.iter().all(|guard| {
                        let first = self.of_first_lane(&guard.canonical, &writer.lanes);
                        first.is_ok_and(|c| place.implies(&c).unwrap_or(false))
                    })
        })
    }

    /// Whether a temporary may have different values in these lanes. `asked` are those that the
    /// question has come from.
    fn differs_over(&self, temporary: &Name, lanes: &[Name], asked: &mut Vec<Name>) -> bool {
        asked.push(temporary.clone());
        let lookup = &self.analysis.lookup;
        let mentions = |n: &Name| match lookup.expand(&Aff::var(n)) {
            Ok(aff) => aff.mentions_any(&|n| lanes.contains(n)),
            Err(_) => true,
        };
        self.analysis.writers(temporary).any(|(_, writer)| {
            let instruction = self.analysis.instruction(writer);
            instruction.reads().iter().any(|name| match lookup.array(name) {
                None => mentions(name),
                Some(array) if array.space != AddressSpace::Private => false,
                // A recurrence counts as different.
                Some(_) => asked.contains(name) || self.differs_over(name, lanes, asked),
            })
        })
    }

    /// A constraint in the first of these lanes.
    pub fn of_first_lane(&self, c: &Constraint, lanes: &[Name]) -> Result<Constraint, Diagnostic> {
        let least = |n: &Name| match lanes.contains(n) {
            true => self.analysis.extents.get(n).map(|extent| extent.lower.clone()),
            false => None,
        };
        Ok(Constraint { kind: c.kind, aff: c.aff.substitute(&least)? })
    }

    /// Whether a function has the same value for all threads of a block.
    pub fn uniform(&self, aff: &Aff) -> bool {
        aff.names().iter().all(|n| {
            if HardwareAxis::of_coordinate(n).is_some_and(HardwareAxis::is_in_block) {
                return false;
            }
            if self.analysis.lookup.array(n).is_none() {
                return true;
            }
            self.analysis.writers(n).all(|(_, p)| {
                let executor = &p.execution.executor;
                HardwareAxis::OF_BLOCK.iter().all(|axis| executor[*axis] == Presence::Replicated)
            })
        })
    }
}
