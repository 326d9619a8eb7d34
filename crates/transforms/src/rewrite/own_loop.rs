//! A loop of its own for an instruction, over an iname of its own that the declared kernel has too.
//!
//! Steps that rewrite the declared kernel want the same loop in both forms. Where the instruction
//! shares the loop with others, in one form or in both, or is in other loops inside of it, both get
//! a new iname, and the loop over it stands behind or ahead of the old one, as `distribute` would
//! put it, and inside of the others, as `reorder` would. Both changes are judged: the
//! declared kernel against the one before, and the present one against its own.

use loopwright_kernel_ir::{Diagnostic, KernelData, LoopKernel, Name, Part, PartRef, Tree};
use loopwright_legality::judge;

use crate::rewrite::{
    body_of, fresh_in_both, give_own_inames,
    rules::{does_what_is_declared, first_of},
    tree,
};

/// Whether no other instruction has parts in the loop over an iname.
fn is_alone(data: &KernelData, id: &Name, iname: &Name) -> bool {
    let body = body_of(&data.tree, iname).unwrap_or_default();
    body.iter().flat_map(Tree::leaves).all(|leaf| leaf.instruction == *id)
}

/// The loops around an instruction inside of the loop over an iname, outermost first, if it can
/// leave that: the loops have nothing else, and its only part is in them.
fn inside(data: &KernelData, id: &Name, iname: &Name) -> Option<Vec<Name>> {
    let is_own = |tree: &&Tree| tree.leaves().iter().all(|leaf| leaf.instruction == *id);
    let mut children = body_of(&data.tree, iname)?.iter().filter(is_own);
    let (mut tree, mut loops) = (children.next()?, Vec::new());
    if children.next().is_some() {
        return None;
    }
    loop {
        match tree {
            Tree::Leaf(leaf) => return (leaf.part == Part::Whole).then_some(loops),
            Tree::Loop { iname, body } => {
                loops.push(iname.clone());
                let [only] = body.as_slice() else { return None };
                tree = only;
            }
        }
    }
}

/// The declared iname of which the loop over `iname` takes the values for an instruction, if it is
/// one and nothing else.
fn declared_iname(kernel: &LoopKernel, id: &Name, iname: &Name) -> Option<Name> {
    let (here, declared) = (kernel.instruction(id)?, kernel.declared().instruction(id)?);
    let mapped = here.map.iter().filter(|(_, value)| value.mentions(iname)).collect::<Vec<_>>();
    let of = match mapped.as_slice() {
        [] if !here.map.contains_key(iname) => iname,
        [(of, value)] if value.as_var() == Some(iname) => of,
        _ => return None,
    };
    declared.within.contains(of).then(|| of.clone())
}

/// Gives the instruction the iname `new` in place of another one, and a loop over it behind or
/// ahead of that which it leaves. The loops inside come along, and are around the new one.
fn leave(
    data: &mut KernelData,
    id: &Name,
    [iname, new]: [&Name; 2],
    is_behind: bool,
) -> Result<(), Diagnostic> {
    let loops = inside(data, id, iname).unwrap_or_default();
    let is_alone = is_alone(data, id, iname);
    give_own_inames(data, std::slice::from_ref(id), &[(iname.clone(), new.clone())])?;
    let leaf = Tree::Leaf(PartRef { instruction: id.clone(), part: Part::Whole });
    let own = tree::nest(&[loops, vec![new.clone()]].concat(), vec![leaf]);
    if is_alone {
        data.tree = tree::replace_loop(&data.tree, iname, &|_| own.clone());
        return Ok(());
    }
    data.tree = tree::replace_loop(&tree::without(&data.tree, id), iname, &|others| {
        let others = std::slice::from_ref(others);
        if is_behind { [others, own.as_slice()].concat() } else { [own.as_slice(), others].concat() }
    });
    Ok(())
}

/// The kernel with the instruction in a loop of its own, judged, and whether that is behind the
/// others. `first` is tried first.
fn cut(
    kernel: &LoopKernel,
    id: &Name,
    pair: [&Name; 2],
    first: bool,
) -> Result<(LoopKernel, bool), Diagnostic> {
    let mut refused = None;
    for is_behind in [first, !first] {
        let after = kernel.edit(|data| leave(data, id, pair, is_behind))?;
        match judge(kernel, &after).refusal() {
            None => return Ok((after, is_behind)),
            Some(refusal) => refused = refused.or(Some(refusal)),
        }
    }
    Err(refused.unwrap_or_else(|| Diagnostic::new("internal", "a loop was cut without a verdict")))
}

/// Moves the instruction behind or ahead of these others in the text, with which it shared a loop.
fn move_in_text(data: &mut KernelData, id: &Name, others: &[Name], is_behind: bool) {
    let Some(at) = data.instructions.iter().position(|i| i.id == *id) else { return };
    let own = data.instructions.remove(at);
    let is_other = |i: &loopwright_kernel_ir::Instruction| others.contains(&i.id);
    let place = match is_behind {
        true => data.instructions.iter().rposition(is_other).map(|k| k + 1),
        false => data.instructions.iter().position(is_other),
    };
    data.instructions.insert(place.unwrap_or(at), own);
}

/// The kernel in which the loop over `iname` around an instruction is one that the declared kernel
/// has, and contains nothing but the instruction in either form; and its iname, which is a new one
/// if that was not so. The kernel is as it was where the step has to refuse: without such a loop,
/// or where parts of the instruction or loops with others are in it.
///
/// Errors: why the instruction cannot run apart from the others.
pub(crate) fn with_own_loop(
    kernel: &LoopKernel,
    id: &Name,
    iname: &Name,
) -> Result<(LoopKernel, Name), Diagnostic> {
    let declared = kernel.declared();
    let unchanged = || Ok((kernel.clone(), iname.clone()));
    let Some(of) = declared_iname(kernel, id, iname) else { return unchanged() };
    let (Some(here), Some(there)) = (inside(kernel, id, iname), inside(declared, id, &of)) else {
        return unchanged();
    };
    let is_alone_here = is_alone(kernel, id, iname) && here.is_empty();
    if of == *iname && is_alone_here && is_alone(declared, id, &of) && there.is_empty() {
        return unchanged();
    }
    let is_taken = |n: &Name| declared.is_declared(n) || declared.instruction(n).is_some();
    let new = match of != *iname && is_alone_here && !is_taken(iname) {
        true => iname.clone(),
        false => fresh_in_both(kernel, &of, &[]),
    };
    let (apart, is_behind) = cut(declared, id, [&of, &new], true)?;
    let body = body_of(&declared.tree, &of).unwrap_or_default();
    let others: Vec<Name> = body.iter().flat_map(Tree::leaves).map(|leaf| leaf.instruction.clone()).collect();
    let forget = |data: &mut KernelData| {
        for i in data.instructions.iter_mut().filter(|i| i.id == *id) {
            i.map.remove(&of);
        }
        move_in_text(data, id, &others, is_behind);
    };
    let mut data = (*apart).clone();
    forget(&mut data);
    data.declared = None;
    data.origin = Some(kernel.origin().clone());
    let declared = LoopKernel::from_data(data);
    declared.validate().map_err(first_of)?;
    if kernel.declared.is_none() {
        return Ok((declared, new));
    }
    let here = match new == *iname {
        true => kernel.clone(),
        false => cut(kernel, id, [iname, &new], is_behind)?.0,
    };
    let mut data = (*here).clone();
    forget(&mut data);
    data.declared = Some(declared);
    let kernel = LoopKernel::from_data(data);
    kernel.validate().map_err(first_of)?;
    Ok((does_what_is_declared(kernel)?, new))
}
