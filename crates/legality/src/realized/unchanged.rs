//! The premise of all realisations that nothing has changed but one instruction.
//!
//! The new kernel has the old one's text line by line, but for the instruction that is realized,
//! the one that has been added, and declarations that the old kernel does not have. New bounds may
//! stand in the old domains: that other instructions have the same executions is shown for each of
//! their parts. The loop trees agree once what the realisation has put in is taken out, which each
//! theorem does with the forms that it knows; what it does not know stays, and differs.

use loopwright_kernel_ir::{HardwareAxis, Name, Tree};

use super::{Checked, Pair, why};
use crate::{ModelPart, Presence};

/// Whether all is as it was, if `undone` gives the loop tree without what has been put in.
pub(super) fn check(pair: &Pair<'_>, undone: &[Tree], queries: &mut usize) -> Checked<()> {
    declarations(pair)?;
    if undone != pair.old.kernel.tree {
        return why("the loop tree has changed in other places");
    }
    for part in &pair.old.parts {
        if part.part.instruction == pair.was.id {
            continue;
        }
        let Some(is) = pair.new.numbers.get(&part.part).map(|k| &pair.new.parts[*k]) else {
            return why(format!("`{}` is nowhere in the loop tree", part.part));
        };
        let same = part.events == is.events
            && same_executor(pair, part, is)
            && part.lanes == is.lanes
            && part.loads == is.loads
            && pair.same_executions(part, is, queries)?;
        if !same {
            return why(format!("`{}` has other executions or accesses", part.part));
        }
    }
    Ok(())
}

/// Whether the same threads run two parts, besides copies on an axis that the old kernel does not
/// use: there it has one coordinate, and in the new kernel each coordinate has cells of its own for
/// what it writes, which get the same values as those of the first. Who reads such a cell has one
/// at its own coordinate.
pub(super) fn same_executor(pair: &Pair<'_>, was: &ModelPart, is: &ModelPart) -> bool {
    was.executor.iter().all(|(axis, presence)| same_on(pair, axis, presence, &is.executor[axis]))
}

/// The same on one axis.
fn same_on(pair: &Pair<'_>, axis: HardwareAxis, was: &Presence<Name>, is: &Presence<Name>) -> bool {
    let copies = *was == Presence::Elected && *is == Presence::Replicated;
    is == was || copies && !pair.old.lookup.axes_in_use().contains(axis)
}

/// Whether the same threads run two parts, but for one that runs the second where each of several
/// ran a copy of the first.
pub(super) fn once_for_all(pair: &Pair<'_>, was: &ModelPart, is: &ModelPart) -> bool {
    was.executor.iter().all(|(axis, presence)| {
        let once = *presence == Presence::Replicated && is.executor[axis] == Presence::Elected;
        once || same_on(pair, axis, presence, &is.executor[axis])
    })
}

/// Whether what is declared is what was declared, and names that were free.
fn declarations(pair: &Pair<'_>) -> Checked<()> {
    let (old, new) = (pair.old.kernel, pair.new.kernel);
    let is_new = |name: &Name| {
        !old.is_iname(name)
            && old.definition(name).is_none()
            && old.array(name).is_none()
            && !old.args.iter().any(|a| a.name() == name)
    };
    let same = old.name == new.name
        && old.args == new.args
        && old.assumptions == new.assumptions
        && old.facts == new.facts
        && old.constants == new.constants
        && old.functions == new.functions
        && old.options == new.options
        && old.vouched == new.vouched
        && old.declared() == new.declared();
    if !same {
        return why("an argument, an assumption or a fact has changed");
    }
    // Arrays and operators after the old ones.
    let arrays = new.temporaries.strip_prefix(old.temporaries.as_slice());
    let operators = new.reductions.strip_prefix(old.reductions.as_slice());
    let definitions = new.definitions.strip_prefix(old.definitions.as_slice());
    let (Some(arrays), Some(operators), Some(definitions)) = (arrays, operators, definitions) else {
        return why("a temporary, an operator or a split has changed");
    };
    let inames = |domains: &[loopwright_kernel_ir::Domain]| -> Vec<Vec<Name>> {
        domains.iter().map(|d| d.inames.clone()).collect()
    };
    let (were, are) = (inames(&old.domains), inames(&new.domains));
    let Some(domains) = are.strip_prefix(were.as_slice()) else {
        return why("an iname has changed");
    };
    let tags = new.tags.iter().filter(|(name, tag)| old.tags.get(*name) != Some(tag)).map(|(name, _)| name);
    let kept = old.tags.keys().all(|name| new.tags.contains_key(name));
    let names = arrays.iter().map(|a| &a.name);
    let names = names.chain(definitions.iter().map(|d| &d.iname).filter(|n| !domains.concat().contains(n)));
    let mut names = names.chain(domains.iter().flatten()).chain(tags);
    if !kept || !names.all(is_new) || operators.iter().any(|o| old.operator(&o.name).is_some()) {
        return why("what is declared anew has a name that is taken");
    }
    // The other instructions keep their order.
    let others = |kernel: &loopwright_kernel_ir::LoopKernel| -> Vec<Name> {
        kernel.instructions.iter().map(|i| i.id.clone()).filter(|id| *id != pair.added.id).collect()
    };
    if others(old) != others(new) {
        return why("the instructions have another order");
    }
    Ok(())
}
