//! Where a new instruction goes in the loop tree.

use loopwright_kernel_ir::{Diagnostic, Name, PartRef, Tree};

/// The loops around a part, outermost first.
pub(crate) fn path_of(trees: &[Tree], part: &PartRef) -> Vec<Name> {
    let mut found = Vec::new();
    Tree::visit_leaves(trees, &mut |path, leaf| {
        if leaf == part {
            found = path.iter().map(|n| (*n).clone()).collect();
        }
    });
    found
}

/// Puts `new` directly before the first subtree that has one of `readers`, inside the loops of
/// `path`.
pub(crate) fn insert_before(
    trees: &mut Vec<Tree>,
    path: &[Name],
    readers: &[PartRef],
    new: Tree,
) -> Result<(), Diagnostic> {
    if let Some((first, rest)) = path.split_first() {
        for tree in trees.iter_mut() {
            if let Tree::Loop { iname, body } = tree
                && iname == first
            {
                return insert_before(body, rest, readers, new);
            }
        }
        return Err(Diagnostic::new("not-nested", format!("no loop over `{first}` is around all readers")));
    }
    let reads = |tree: &Tree| tree.leaves().iter().any(|leaf| readers.contains(leaf));
    let position = trees.iter().position(reads).unwrap_or(trees.len());
    trees.insert(position, new);
    Ok(())
}

/// A nest of loops around trees.
pub(crate) fn nest(loops: &[Name], mut body: Vec<Tree>) -> Vec<Tree> {
    for iname in loops.iter().rev() {
        body = vec![Tree::Loop { iname: iname.clone(), body }];
    }
    body
}
