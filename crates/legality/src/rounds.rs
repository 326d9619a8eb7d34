//! The rounds of a scan: the iterations of the loops around it that its iname was split into.
//!
//! An instance finds in the accumulator what all rounds before its own have added, so that these
//! have to have smaller values of the scan's iname. Pairs of dependent executions do not show that:
//! where an instance has no points, nothing that it adds comes too late, but what it delivers may
//! be that of a later instance. Hence the order of the values themselves is asked for.
//!
//! If the loops stand in the order of the steps that they make in the iname, coarsest first, that
//! is what [`along`](crate::along) has shown. Otherwise one query for each loop looks for two
//! instances of which the smaller runs later.

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Instruction, Lookup, LoopKernel, Name, Part, Tree};
use loopwright_poly::System;

use crate::{conflict::primed, scan::keep_loop};

/// Checks that the loops around a scan take the values of its iname in increasing order. `inames`
/// are those that [`along`](crate::along) finds.
///
/// Errors: `scan-order`, with the loop that reverses two values.
pub fn in_rounds(
    kernel: &LoopKernel,
    lookup: &Lookup<'_>,
    i: &Instruction,
    inames: &[(Name, i64)],
) -> Result<(), Diagnostic> {
    let mut path: Vec<Name> = Vec::new();
    Tree::visit_leaves(&kernel.tree, &mut |loops, part| {
        if part.instruction == i.id && part.part == Part::Finish {
            path = loops.iter().map(|n| (*n).clone()).collect();
        }
    });
    // `along` has shown this order, coarsest first, to be that of the values.
    let of_scan = |n: &&Name| inames.iter().any(|(own, _)| own == *n);
    if path.iter().filter(of_scan).eq(inames.iter().map(|(n, _)| n).filter(|n| path.contains(n))) {
        return Ok(());
    }
    let Some(value) = i.scan_value() else { return Ok(()) };
    let value = lookup.expand(&value)?;
    let second = |aff: &Aff| aff.rename(&|n| (!lookup.is_scalar(n)).then(|| primed(n)));
    let mut rows = kernel.assumptions.clone();
    for c in lookup.instances(&i.within) {
        let c = lookup.expand_constraint(&c)?;
        rows.push(Constraint { kind: c.kind, aff: second(&c.aff)? });
        rows.push(c);
    }
    let common = lookup.inames_of(i, Part::Init(0));
    for n in &common {
        let own = lookup.expand(&Aff::var(n))?;
        rows.push(Constraint::equal(&own, &second(&own)?)?);
    }
    rows.push(Constraint::lt(&value, &second(&value)?)?);
    let mut system = System::of(rows)?;
    for n in path.iter().filter(|n| !common.contains(n)) {
        let own = lookup.expand(&Aff::var(n))?;
        if !system.is_empty_with(&[Constraint::lt(&second(&own)?, &own)?])? {
            let iname = i.scan.as_ref().unwrap_or(n);
            return Err(Diagnostic::new(
                "scan-order",
                format!("the scan `{}` does not take the values of `{iname}` in order along `{n}`", i.id),
            )
            .help(keep_loop(iname)));
        }
        system.add(&Constraint::equal(&own, &second(&own)?)?)?;
    }
    Ok(())
}
