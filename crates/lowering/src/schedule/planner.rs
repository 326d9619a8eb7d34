//! State shared by the passes over one device kernel.

use std::{collections::BTreeSet, rc::Rc};

use loopwright_kernel_ir::{Aff, Constraint, HardwareAxis, Name, Part, PerDim};
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
        place.bound.contains(name) || self.analysis.is_parameter(name) || self.data.contains(name)
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
