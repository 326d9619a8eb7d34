//! Loops that become one, since the grid has no axes for all of them.
//!
//! Only the first may have any length: from the others' lengths, which have to be known, a block
//! finds its place in each loop. Where they are parameters, that is a wish. Loops that do not lie
//! next to each other are brought to the outside of those between them.

use loopwright_kernel_ir::Name;

use crate::{Nest, Proposal, grid::Along};

/// Two or more loops of a nest, from the outside.
pub(crate) struct Joined {
    loops: Vec<Name>,
    /// The loops from the first to the last of them in their new order, if that is another one.
    order: Option<Vec<Name>>,
    /// The loop that they become.
    name: String,
    /// The number of its iterations, if that is known.
    length: Option<i64>,
}

/// These parallel loops of the band, from the outside, as one; `None` if there is no second one, or
/// if the length of one is open.
pub(crate) fn loops(nest: &Nest<'_>, of: &[Name]) -> Option<Joined> {
    let (first, inner) = of.split_first().filter(|(_, inner)| !inner.is_empty())?;
    let open: Vec<&Name> = inner.iter().filter(|n| !nest.has_fixed_length(n)).collect();
    if !open.is_empty() {
        open.iter().for_each(|n| nest.wish_fixed_length(n, "one axis of the grid for several loops"));
        return None;
    }
    let at = |of: &Name| nest.band.iter().position(|n| n == of);
    let old = nest.band.get(at(first)?..=at(inner.last()?)?)?;
    let others = old.iter().filter(|n| !of.contains(n));
    let new: Vec<Name> = of.iter().chain(others).cloned().collect();
    let names: Vec<&str> = of.iter().map(|n| &**n).collect();
    Some(Joined {
        loops: of.to_vec(),
        order: (new != old).then_some(new),
        name: nest.next_name(&names.join("_")),
        length: nest.count(of),
    })
}

impl Joined {
    /// The proposal with the steps that join them.
    pub fn steps(&self, mut proposal: Proposal) -> Proposal {
        let list = |names: &[Name]| names.iter().map(|n| &**n).collect::<Vec<&str>>().join(", ");
        if let Some(order) = &self.order {
            proposal = proposal.step(format!("reorder([{}])", list(order)));
        }
        proposal.step(format!("join_inames([{}], {})", list(&self.loops), self.name))
    }

    /// The joined loop, each of whose iterations has a block.
    pub fn along(&self) -> Along {
        Along { length: self.length, ..Along::whole(&Name::new(&self.name)) }
    }
}
