//! The number of blocks on each axis of a grid.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{AddressSpace, Constraint, Diagnostic, HardwareAxis, Name, Part};
use loopwright_poly::{Bound, System};

use crate::{
    analyse::{
        analysis::Analysis,
        ranges::{weakest, with_coordinates},
    },
    schedule::{GridExtent, place::Place},
};

/// The number of blocks that an axis needs, and the facts that follow from the end of the grid.
/// Each part with an iname on the axis needs blocks for it; the part with the fewest inames gives
/// the simplest bound, and parts that satisfy all of its constraints need no more.
pub(crate) fn grid_extent(
    analysis: &Analysis<'_>,
    place: &Place,
    (inames, axis): (&BTreeSet<Name>, HardwareAxis),
    parts: &[usize],
    around: &[Name],
) -> Result<(GridExtent, Vec<Constraint>), Diagnostic> {
    let block = axis.position();
    let within = |b: &Bound| -> Result<Constraint, Diagnostic> {
        Ok(Constraint::le(&block.scale(b.denominator)?, &b.aff)?)
    };
    let mut all: Vec<Vec<Bound>> = Vec::new();
    for iname in inames {
        let infos = parts.iter().map(|p| &analysis.parts[*p]).filter(|p| p.inames.contains(iname));
        let (first_values, mut infos): (Vec<_>, Vec<_>) =
            infos.partition(|p| matches!(p.execution.part.part, Part::Init(_)));
        if infos.is_empty() {
            infos = first_values;
        }
        infos.sort_by_key(|p| p.inames.len());
        let mut covered: Vec<&[Constraint]> = Vec::new();
        for info in infos {
            let own = &info.execution.constraints;
            if covered.iter().any(|known| known.iter().all(|c| own.contains(c))) {
                continue;
            }
            let mut rows = analysis.context.clone();
            rows.extend(own.iter().cloned());
            with_coordinates(&mut rows);
            let system = System::new(&rows)?;
            let mut is_within = false;
            for uppers in all.iter().filter(|_| !covered.is_empty()) {
                let rows = uppers.iter().map(within).collect::<Result<Vec<_>, _>>()?;
                is_within |= system.implies_all(&rows)?;
            }
            covered.push(own);
            if is_within {
                continue;
            }
            let keep = |n: &Name| analysis.is_parameter(n) || around.contains(n);
            let bounds = system.bounds(&Name::new(axis.coordinate()), &keep)?;
            if bounds.upper.is_empty() {
                return Err(Diagnostic::new(
                    "no-bound",
                    format!(
                        "`{iname}` is tagged `{}`, but has no upper bound over the parameters",
                        analysis.kernel.tag(iname)
                    ),
                )
                .help(
                    "blocks are counted on the host before the launch: bound the iname by a \
                     parameter",
                ));
            }
            if !all.contains(&bounds.upper) {
                all.push(bounds.upper);
            }
        }
    }
    weakest(&mut all, place.system())?;
    if all.is_empty() || all.iter().any(Vec::is_empty) {
        return Err(Diagnostic::new("internal", "a grid without bounds"));
    }
    let mut known = Vec::new();
    // Parts without an iname on this axis run even if the axis is empty.
    let alone = parts.iter().map(|p| &analysis.parts[*p]).any(|p| {
        let writes_global = p.execution.accesses.iter().any(|a| {
            a.write && analysis.lookup.array(&a.array).is_some_and(|a| a.space == AddressSpace::Global)
        });
        writes_global && !p.inames.iter().any(|i| inames.contains(i))
    });
    if alone {
        let mut some = false;
        for uppers in &all {
            let mut all_here = true;
            for b in uppers {
                all_here &= place.implies(&Constraint::nonneg(b.aff.clone()))?;
            }
            some |= all_here;
        }
        if !some {
            return Ok((GridExtent { uppers: all, at_least_one: true }, known));
        }
    }
    // A bound that holds for the blocks of each part holds for all blocks.
    if let [first, others @ ..] = all.as_slice() {
        for b in first.iter().filter(|b| others.iter().all(|uppers| uppers.contains(b))) {
            known.push(within(b)?);
        }
    }
    Ok((GridExtent { uppers: all, at_least_one: false }, known))
}
