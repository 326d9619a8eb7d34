//! The loop tree: order as data.
//!
//! Invariants: a sequential iname is exactly one node; an iname with a parallel tag has no node;
//! every part of every instruction is exactly one leaf; the loops around a leaf are exactly the
//! sequential inames of its part.

use loopwright_poly::Name;
use serde::{Deserialize, Serialize};

use crate::PartRef;

/// A node of the loop tree. Children run in their order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Tree {
    /// A loop whose iterations run one after another.
    Loop {
        /// Its iname, which has this loop only.
        iname: Name,
        /// What each iteration runs.
        body: Vec<Tree>,
    },
    /// A part of an instruction.
    Leaf(PartRef),
}

impl Tree {
    /// Calls `f` with each leaf and the loops around it, outermost first.
    pub fn visit_leaves<'a>(trees: &'a [Tree], f: &mut dyn FnMut(&[&'a Name], &'a PartRef)) {
        fn walk<'a>(
            trees: &'a [Tree],
            path: &mut Vec<&'a Name>,
            f: &mut dyn FnMut(&[&'a Name], &'a PartRef),
        ) {
            for tree in trees {
                match tree {
                    Tree::Leaf(part) => f(path, part),
                    Tree::Loop { iname, body } => {
                        path.push(iname);
                        walk(body, path, f);
                        path.pop();
                    }
                }
            }
        }
        walk(trees, &mut Vec::new(), f);
    }

    /// The leaves below, in order.
    pub fn leaves(&self) -> Vec<&PartRef> {
        let mut found = Vec::new();
        Tree::visit_leaves(std::slice::from_ref(self), &mut |_, part| found.push(part));
        found
    }

    /// The trees with the node of `iname` replaced by its children: what tagging it to a parallel
    /// axis does.
    pub fn splice(trees: &[Tree], iname: &str) -> Vec<Tree> {
        Tree::splice_all(trees, &|n| **n == *iname)
    }

    /// As [`Tree::splice`], for all inames for which `wanted` is true.
    pub fn splice_all(trees: &[Tree], wanted: &dyn Fn(&Name) -> bool) -> Vec<Tree> {
        let mut result = Vec::with_capacity(trees.len());
        for tree in trees {
            match tree {
                Tree::Leaf(_) => result.push(tree.clone()),
                Tree::Loop { iname, body } => {
                    let body = Tree::splice_all(body, wanted);
                    if wanted(iname) {
                        result.extend(body);
                    } else {
                        result.push(Tree::Loop { iname: iname.clone(), body });
                    }
                }
            }
        }
        result
    }

    /// The trees with the node of `iname` replaced by a nest of `by`, outermost first.
    pub fn replace_loop(trees: &[Tree], iname: &str, by: &[Name]) -> Vec<Tree> {
        trees
            .iter()
            .map(|tree| match tree {
                Tree::Leaf(_) => tree.clone(),
                Tree::Loop { iname: here, body } => {
                    let mut body = Tree::replace_loop(body, iname, by);
                    if **here != *iname {
                        return Tree::Loop { iname: here.clone(), body };
                    }
                    let Some((outer, inner)) = by.split_first() else {
                        return Tree::Loop { iname: here.clone(), body };
                    };
                    for name in inner.iter().rev() {
                        body = vec![Tree::Loop { iname: name.clone(), body }];
                    }
                    Tree::Loop { iname: outer.clone(), body }
                }
            })
            .collect()
    }
}
