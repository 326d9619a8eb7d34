//! Puts an expression that may have reductions in the place of reads of a temporary.
//!
//! Each read gets reductions over inames of its own, whose loops stand directly before the part
//! that reads: the update of the reduction around it, or the instruction's last one. The numbers of
//! the other reductions move along.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Expr, Instruction, KernelData, Name, Part, PartRef, Tree};

use crate::rewrite::{rule_uses::with_inames, tree::rename_loops};

/// What the reads of a temporary become.
pub(crate) struct Value<'a> {
    pub temporary: &'a Name,
    /// The value for the subscripts of a read, in an instruction.
    pub at: &'a dyn Fn(&Instruction, &[Expr]) -> Expr,
    /// The loops of the reductions of the value, without its last part, as of the instruction that
    /// computes it.
    pub loops: &'a [Tree],
    /// The inames of the reductions for each read of an instruction, in the order of the reads.
    pub names: &'a BTreeMap<Name, Vec<BTreeMap<Name, Name>>>,
}

/// A read that has been replaced: the first number of its reductions, the names of their inames,
/// and the number that the reduction around it had.
struct Site {
    first: usize,
    names: BTreeMap<Name, Name>,
    around: Option<usize>,
}

struct Walk<'v, 'i> {
    value: &'v Value<'v>,
    reader: &'i Instruction,
    reads: usize,
    /// The next number of a reduction.
    next: usize,
    /// What the reductions of before are now, by their numbers.
    moved: Vec<usize>,
    sites: Vec<Site>,
}

impl Walk<'_, '_> {
    fn walk(&mut self, e: &Expr) -> Expr {
        let index: &[Expr] = match e {
            Expr::Name(n) if n == self.value.temporary => &[],
            Expr::Subscript(access) if access.array == *self.value.temporary => &access.index,
            _ => {
                let first = self.sites.len();
                let new = e.map_children(&mut |child| self.walk(child));
                if matches!(e, Expr::Reduce(_)) {
                    let number = self.moved.len();
                    for site in self.sites.iter_mut().skip(first) {
                        site.around.get_or_insert(number);
                    }
                    self.moved.push(self.next);
                    self.next += 1;
                }
                return new;
            }
        };
        let of_reader = self.value.names.get(&self.reader.id);
        let names = of_reader.and_then(|reads| reads.get(self.reads)).cloned().unwrap_or_default();
        let new = with_inames(&(self.value.at)(self.reader, index), &names);
        self.reads += 1;
        let count = new.reductions().len();
        if count > 0 {
            self.sites.push(Site { first: self.next, names, around: None });
        }
        self.next += count;
        new
    }
}

/// The number of reads of a temporary in an expression.
pub(crate) fn count_reads(e: &Expr, temporary: &Name) -> usize {
    let mut count = 0;
    e.visit(&mut |e| {
        count += usize::from(match e {
            Expr::Name(n) => n == temporary,
            Expr::Subscript(access) => access.array == *temporary,
            _ => false,
        });
    });
    count
}

/// The loops of a value at a site.
fn loops_at(loops: &[Tree], id: &Name, site: &Site) -> Vec<Tree> {
    fn renumbered(tree: &Tree, id: &Name, first: usize) -> Tree {
        match tree {
            Tree::Leaf(leaf) => {
                let part = match leaf.part {
                    Part::Init(n) => Part::Init(first + n),
                    Part::Update(n) => Part::Update(first + n),
                    part => part,
                };
                Tree::Leaf(PartRef { instruction: id.clone(), part })
            }
            Tree::Loop { iname, body } => Tree::Loop {
                iname: iname.clone(),
                body: body.iter().map(|tree| renumbered(tree, id, first)).collect(),
            },
        }
    }
    let mut found: Vec<Tree> = loops.iter().map(|tree| renumbered(tree, id, site.first)).collect();
    rename_loops(&mut found, &|n| site.names.get(n).cloned());
    found
}

/// The tree with the parts of an instruction moved to their new numbers, and the loops of the sites
/// before the parts that read.
fn with_sites(
    trees: &[Tree],
    id: &Name,
    moved: &[usize],
    before: &dyn Fn(Option<usize>) -> Vec<Tree>,
) -> Vec<Tree> {
    let mut found = Vec::new();
    for tree in trees {
        match tree {
            Tree::Leaf(leaf) if leaf.instruction == *id => {
                let to = |n: usize| moved.get(n).copied().unwrap_or(n);
                let (part, loops) = match leaf.part {
                    Part::Init(n) => (Part::Init(to(n)), Vec::new()),
                    Part::Update(n) => (Part::Update(to(n)), before(Some(n))),
                    part => {
                        let loops = before(None);
                        let last = if loops.is_empty() { part } else { Part::Finish };
                        (last, loops)
                    }
                };
                found.extend(loops);
                found.push(Tree::Leaf(PartRef { instruction: id.clone(), part }));
            }
            Tree::Leaf(_) => found.push(tree.clone()),
            Tree::Loop { iname, body } => {
                found.push(Tree::Loop { iname: iname.clone(), body: with_sites(body, id, moved, before) });
            }
        }
    }
    found
}

/// Replaces the reads in the values of all instructions.
pub(crate) fn replace_reads(data: &mut KernelData, value: &Value<'_>) {
    for i in &mut data.instructions {
        let reader = i.clone();
        let (sites, moved) = (Vec::new(), Vec::new());
        let mut walk = Walk { value, reader: &reader, reads: 0, next: 0, moved, sites };
        i.value = walk.walk(&reader.value);
        let (sites, moved) = (walk.sites, walk.moved);
        if sites.is_empty() {
            continue;
        }
        data.tree = with_sites(&data.tree, &reader.id, &moved, &|around| {
            let here = sites.iter().filter(|site| site.around == around);
            let loops: Vec<Tree> = here.flat_map(|site| loops_at(value.loops, &reader.id, site)).collect();
            // As in a text, all that begins comes first.
            let (mut begins, others): (Vec<Tree>, Vec<Tree>) =
                loops.into_iter().partition(|tree| matches!(tree, Tree::Leaf(_)));
            begins.extend(others);
            begins
        });
    }
}
