//! Paths to the leaves of a loop tree: positions among children, and the loops between them.

use loopwright_kernel_ir::{Name, PartRef, Tree};
use loopwright_poly::Table;

/// A component of the path to a leaf, and so of the time at which the leaf runs.
#[derive(Clone, Copy)]
pub(crate) enum Step<'k> {
    /// Position among the children.
    Position(usize),
    /// Iteration of this loop.
    Loop(&'k Name),
}

/// The paths to the leaves of a tree: positions among children and the loops between them.
pub(crate) type Paths<'k> = Table<&'k PartRef, Vec<Step<'k>>>;

/// The paths to all leaves.
pub(crate) fn paths(trees: &[Tree]) -> Paths<'_> {
    fn walk<'k>(trees: &'k [Tree], path: &mut Vec<Step<'k>>, found: &mut Paths<'k>) {
        for (k, tree) in trees.iter().enumerate() {
            path.push(Step::Position(k));
            match tree {
                Tree::Leaf(part) => {
                    found.insert(part, path.clone());
                }
                Tree::Loop { iname, body } => {
                    path.push(Step::Loop(iname));
                    walk(body, path, found);
                    path.pop();
                }
            }
            path.pop();
        }
    }
    let mut found = Table::default();
    walk(trees, &mut Vec::new(), &mut found);
    found
}
