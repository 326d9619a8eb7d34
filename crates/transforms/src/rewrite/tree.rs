//! The loop tree: the loops around a part, and replacement of loops and leaves.

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
        return Err(Diagnostic::new("not-nested", format!("no loop over `{first}` contains all readers")));
    }
    let reads = |tree: &Tree| tree.leaves().iter().any(|leaf| readers.contains(leaf));
    let position = trees.iter().position(reads).unwrap_or(trees.len());
    trees.insert(position, new);
    Ok(())
}

/// Wraps trees in a nest of loops.
pub(crate) fn nest(loops: &[Name], mut body: Vec<Tree>) -> Vec<Tree> {
    for iname in loops.iter().rev() {
        body = vec![Tree::Loop { iname: iname.clone(), body }];
    }
    body
}

/// The loops around and including the loop over `iname`, outermost first.
pub(crate) fn path_to(trees: &[Tree], iname: &Name) -> Option<Vec<Name>> {
    for tree in trees {
        if let Tree::Loop { iname: here, body } = tree {
            if here == iname {
                return Some(vec![here.clone()]);
            }
            if let Some(mut path) = path_to(body, iname) {
                path.insert(0, here.clone());
                return Some(path);
            }
        }
    }
    None
}

/// The children of the loop over `iname`.
pub(crate) fn body_of<'a>(trees: &'a [Tree], iname: &Name) -> Option<&'a [Tree]> {
    trees.iter().find_map(|tree| match tree {
        Tree::Loop { iname: here, body } if here == iname => Some(body.as_slice()),
        Tree::Loop { body, .. } => body_of(body, iname),
        Tree::Leaf(_) => None,
    })
}

/// Renames loops at any depth; `new` says the name of each, or `None` to keep it.
pub(crate) fn rename_loops(trees: &mut [Tree], new: &dyn Fn(&Name) -> Option<Name>) {
    for tree in trees {
        if let Tree::Loop { iname, body } = tree {
            if let Some(name) = new(iname) {
                *iname = name;
            }
            rename_loops(body, new);
        }
    }
}

/// The trees with the loop over `iname` replaced by the result of `by`.
pub(crate) fn replace_loop(trees: &[Tree], iname: &Name, by: &dyn Fn(&Tree) -> Vec<Tree>) -> Vec<Tree> {
    trees
        .iter()
        .flat_map(|tree| match tree {
            Tree::Loop { iname: here, .. } if here == iname => by(tree),
            Tree::Loop { iname: here, body } => {
                vec![Tree::Loop { iname: here.clone(), body: replace_loop(body, iname, by) }]
            }
            Tree::Leaf(_) => vec![tree.clone()],
        })
        .collect()
}

/// The trees with a leaf replaced by others.
pub(crate) fn replace_leaf(trees: &[Tree], leaf: &PartRef, by: &[Tree]) -> Vec<Tree> {
    trees
        .iter()
        .flat_map(|tree| match tree {
            Tree::Leaf(part) if part == leaf => by.to_vec(),
            Tree::Leaf(_) => vec![tree.clone()],
            Tree::Loop { iname, body } => {
                vec![Tree::Loop { iname: iname.clone(), body: replace_leaf(body, leaf, by) }]
            }
        })
        .collect()
}

/// The trees without the leaves of an instruction, and without loops that become empty.
pub(crate) fn without(trees: &[Tree], id: &Name) -> Vec<Tree> {
    trees
        .iter()
        .filter_map(|tree| match tree {
            Tree::Leaf(part) => (part.instruction != *id).then(|| tree.clone()),
            Tree::Loop { iname, body } => {
                let body = without(body, id);
                (!body.is_empty()).then(|| Tree::Loop { iname: iname.clone(), body })
            }
        })
        .collect()
}
