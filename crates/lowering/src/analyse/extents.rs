//! The least values and the numbers of values of inames that are not loops: coordinates, lanes, and
//! what is unrolled. Those of an iname are the hull over all nests of inames that have it.

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Name, PartRef, Tag};
use loopwright_poly::System;

use super::analysis::Analysis;

/// An iname's least value and number of values.
#[derive(Clone, Debug)]
pub(crate) struct Extent {
    /// The least value, over parameters.
    pub lower: Aff,
    /// Constant bound on the number of values; `None` if it depends on parameters.
    pub constant: Option<i64>,
}

impl Analysis<'_> {
    /// Finds the extents of all such inames.
    pub(super) fn find_extents(&mut self, leaves: &[(Vec<Name>, PartRef)]) -> Result<(), Diagnostic> {
        let tagged: Vec<(Name, Tag)> = self
            .kernel
            .tags
            .iter()
            .filter(|(_, t)| t.is_parallel() || **t == Tag::Unroll)
            .map(|(n, t)| (n.clone(), *t))
            .collect();
        let inames: Vec<Vec<Name>> = leaves.iter().map(|(_, p)| self.lookup.part_inames(p)).collect();
        for (iname, tag) in tagged {
            let mut nests: Vec<&[Name]> = Vec::new();
            for nest in inames.iter().filter(|nest| nest.contains(&iname)) {
                if !nests.contains(&nest.as_slice()) {
                    nests.push(nest);
                }
            }
            if let Some(extent) = self.extent(&iname, tag, nests)? {
                self.extents.insert(iname, extent);
            }
        }
        Ok(())
    }

    /// The extent of an iname over the nests that have it. The nest with the fewest inames gives
    /// the simplest bound; nests that satisfy all of its constraints do not exceed it.
    fn extent(&self, iname: &Name, tag: Tag, mut nests: Vec<&[Name]>) -> Result<Option<Extent>, Diagnostic> {
        nests.sort_by_key(|nest| nest.len());
        let mut least: Option<Aff> = None;
        let mut constant: Option<i64> = None;
        let mut first: Vec<Constraint> = Vec::new();
        for nest in nests {
            let instances = self.lookup.instances(nest);
            if least.is_some() && first.iter().all(|c| instances.contains(c)) {
                continue;
            }
            let mut rows = self.context.clone();
            for c in &instances {
                rows.push(self.lookup.expand_constraint(c)?);
            }
            let system = System::new(&rows)?;
            let Some(lower) = &least else {
                let lower =
                    self.least_value(iname, tag, &system)?.ok_or_else(|| no_least_value(iname, tag))?;
                constant = length_from(iname, &lower, &system)?;
                least = Some(lower);
                first = instances;
                continue;
            };
            // From the smaller of the two least values on.
            let below = |lower: &Aff| system.implies(&Constraint::le(lower, &Aff::var(iname))?);
            if !below(lower)? {
                let other =
                    self.least_value(iname, tag, &system)?.ok_or_else(|| no_least_value(iname, tag))?;
                let Some(moved) = lower.sub(&other)?.as_constant() else {
                    return Err(no_least_value(iname, tag));
                };
                constant = constant.and_then(|length| length.checked_add(moved));
                least = Some(other);
            }
            if let Some(lower) = &least {
                let own = length_from(iname, lower, &system)?;
                constant = constant.zip(own).map(|(a, b)| a.max(b));
            }
        }
        let Some(lower) = least else { return Ok(None) };
        if constant.is_none() && !tag.is_over_blocks() {
            return Err(tag.needs_constant_length(iname));
        }
        Ok(Some(Extent { lower, constant }))
    }

    /// The least value of an iname as a function of the parameters, if it is one. Inames that are
    /// unrolled need a constant.
    fn least_value(&self, iname: &Name, tag: Tag, system: &System) -> Result<Option<Aff>, Diagnostic> {
        if tag.is_jam()
            && let Some(least) = system.constant_range(&Aff::var(iname))?.0
        {
            return Ok(Some(Aff::constant(least)));
        }
        Ok(system.least_value(iname, &|n: &Name| self.is_parameter(n))?)
    }
}

/// The greatest number of values from `lower` on, if it is constant; at least one, since an
/// accumulator has a copy even if there are no values.
fn length_from(iname: &Name, lower: &Aff, system: &System) -> Result<Option<i64>, Diagnostic> {
    let length = Aff::var(iname).sub(lower)?;
    Ok(system.constant_range(&length)?.1.and_then(|m| m.checked_add(1)).map(|length| length.max(1)))
}

fn no_least_value(iname: &Name, tag: Tag) -> Diagnostic {
    Diagnostic::new(
        "no-least-value",
        format!(
            "`{iname}` is tagged `{tag}`, but its least value is not one function of the \
             parameters"
        ),
    )
    .help("give it one lower bound, or leave it a sequential loop")
}
