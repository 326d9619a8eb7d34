//! Inames that the text uses in two places.
//!
//! A sequential iname is one loop. Where the order of the text or a `for` block needs a second one,
//! the instructions there get a copy of the iname: `k_2` with the bounds of `k`. Inames whose
//! bounds mention a copied one are copied along. Copies are ordinary inames of the declared kernel,
//! with domains of their own, so its text shows them.
//!
//! Instructions are placed in the order of the text, as in the tree. Of the tree only the loops
//! that are open at its end matter: those around the last leaf. A loop continues where both the
//! iname and the block are the same; otherwise it is opened, and if it has been opened before, the
//! iname is copied for this instruction and those after it.
//!
//! Refused instead, as `iname-twice`: an iname that a single instruction needs twice; one with a
//! bound that is read from data, if a loop that loads it is copied as well, since all loads of one
//! scalar belong to the loops that it bounds; and one that is of 64 bits because of another iname
//! of its domain, which the copy would not be.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use loopwright_poly::{Aff, Constraint, Name};

use super::{loops_with_bounds, parts_in_order, path_of, positions, second_loop};
use crate::{
    DType, Diagnostic, Domain, Expr, Instruction, KernelData, Lookup, Reduce, Type,
    text::{block::BlockLoops, source_map::Item},
    validate::Finding,
};

/// A new iname for a second loop over the iname `of`.
struct Copy {
    of: Name,
    name: Name,
    /// What the names in its bounds have become.
    within: BTreeMap<Name, Name>,
}

/// A loop that is open at the end of the tree: its iname and the block that wrote it.
type Open = (Name, Option<usize>);

struct Plan<'l, 'k> {
    lookup: &'l Lookup<'k>,
    positions: HashMap<Name, usize>,
    taken: BTreeSet<Name>,
    copies: Vec<Copy>,
    /// The copy that stands for an iname from here on.
    current: BTreeMap<Name, usize>,
    opened: BTreeSet<Name>,
    open: Vec<Open>,
}

/// The constraints of an iname: those that mention no iname inside it.
fn bounds<'k>(data: &'k KernelData, iname: &Name) -> Vec<&'k Constraint> {
    let Some(domain) = data.domains.iter().find(|d| d.inames.contains(iname)) else { return Vec::new() };
    let inside = |n: &Name| {
        let place = |m: &Name| domain.inames.iter().position(|i| i == m);
        place(n) > place(iname)
    };
    let own = |c: &&Constraint| c.aff.mentions(iname) && !c.aff.mentions_any(&inside);
    domain.constraints.iter().filter(own).collect()
}

/// All inames of an instruction, those of its reductions included.
fn all_inames(instruction: &Instruction) -> Vec<Name> {
    let reduced = instruction.reductions().into_iter().flat_map(|r| r.inames.clone());
    instruction.within.iter().cloned().chain(reduced).collect()
}

impl Plan<'_, '_> {
    /// What the names in the bounds of an iname are at present, if they are copies. `None` if a
    /// bound is loaded in a loop that is copied.
    fn within(&self, iname: &Name) -> Option<BTreeMap<Name, Name>> {
        let data = self.lookup.kernel();
        let mut within = BTreeMap::new();
        for name in bounds(data, iname).iter().flat_map(|c| c.names()) {
            let loaders = self.lookup.writers(&name).iter().map(|k| &data.instructions[*k]);
            if loaders.flat_map(|i| &i.within).any(|n| self.current.contains_key(n)) {
                return None;
            }
            if let Some(copy) = self.current.get(&name).filter(|_| name != *iname) {
                within.insert(name, self.copies[*copy].name.clone());
            }
        }
        Some(within)
    }

    /// Whether an iname is of 64 bits, but not because of its own bounds.
    fn is_wide_through_others(&self, iname: &Name) -> bool {
        let types = self.lookup.types();
        let wide = |n: &Name| types.scalar(n).and_then(Type::known) == Some(DType::I64);
        let own = |c: &&Constraint| {
            i32::try_from(c.aff.constant_term()).is_err() || c.aff.mentions_any(&|n| n != iname && wide(n))
        };
        wide(iname) && !bounds(self.lookup.kernel(), iname).iter().any(own)
    }

    fn copy(&mut self, iname: &Name) -> Option<()> {
        if self.is_wide_through_others(iname) {
            return None;
        }
        let within = self.within(iname)?;
        let mut number = 2;
        let mut name = Name::new(format!("{iname}_{number}"));
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = Name::new(format!("{iname}_{number}"));
        }
        self.current.insert(iname.clone(), self.copies.len());
        self.copies.push(Copy { of: iname.clone(), name, within });
        Some(())
    }

    /// What the inames of an instruction become; or the one that cannot be copied.
    fn renaming(&mut self, instruction: &Instruction) -> Result<BTreeMap<Name, Name>, Name> {
        let mut inames = all_inames(instruction);
        inames.sort_by_key(|n| self.positions.get(n).copied());
        inames.dedup();
        for iname in &inames {
            // Nothing has been copied yet, as almost always.
            if self.current.is_empty() {
                break;
            }
            let now = self.within(iname).ok_or_else(|| iname.clone())?;
            let known = self.current.get(iname).map(|k| self.copies[*k].within.clone());
            if now != known.unwrap_or_default() {
                self.copy(iname).ok_or_else(|| iname.clone())?;
            }
        }
        let renamed = |n: Name| Some((n.clone(), self.copies[*self.current.get(&n)?].name.clone()));
        Ok(inames.into_iter().filter_map(renamed).collect())
    }

    /// Places an instruction. Returns what its inames become, or the iname that it would need
    /// twice.
    fn place(
        &mut self,
        number: usize,
        instruction: &Instruction,
        blocks: &BlockLoops,
    ) -> Result<BTreeMap<Name, Name>, Diagnostic> {
        let data = self.lookup.kernel();
        let parts = parts_in_order(data, instruction);
        let block = |n: &Name| {
            let around = blocks.get(&number).into_iter().flatten();
            around.rev().find(|l| l.iname == *n && instruction.within.contains(n)).map(|l| l.number)
        };
        let mut tries = all_inames(instruction).len() + 1;
        loop {
            let renaming =
                self.renaming(instruction).map_err(|iname| second_loop(&iname, &instruction.id))?;
            let mut open = self.open.clone();
            let mut new: Vec<Name> = Vec::new();
            let mut again = None;
            for part in &parts {
                let placed = |path: Vec<Name>| -> Vec<(Name, Open)> {
                    let place = |n: Name| {
                        let name = renaming.get(&n).unwrap_or(&n).clone();
                        let block = block(&n);
                        (n, (name, block))
                    };
                    path.into_iter().map(place).collect()
                };
                // It is placed before a loop that is open.
                let loops = loops_with_bounds(self.lookup, &self.positions, instruction, part.part);
                if let Some(loops) = loops.map(placed)
                    && loops.len() <= open.len()
                    && loops.iter().zip(&open).all(|((_, a), b)| a == b)
                {
                    continue;
                }
                let path = path_of(self.lookup, &self.positions, instruction, part.part);
                let loops = placed(path);
                let common = loops.iter().zip(&open).take_while(|((_, a), b)| a == *b).count();
                let twice = |(_, (n, _)): &&(Name, Open)| self.opened.contains(n) || new.contains(n);
                again = loops[common..].iter().find(twice).map(|(n, (name, _))| (n.clone(), name.clone()));
                if again.is_some() {
                    break;
                }
                new.extend(loops[common..].iter().map(|(_, (n, _))| n.clone()));
                open = loops.into_iter().map(|(_, l)| l).collect();
            }
            let Some((iname, name)) = again else {
                self.open = open;
                self.opened.extend(new);
                return Ok(renaming);
            };
            tries -= 1;
            if new.contains(&name) || tries == 0 || self.copy(&iname).is_none() {
                return Err(second_loop(&iname, &instruction.id));
            }
        }
    }
}

fn renamed(e: &Expr, names: &BTreeMap<Name, Name>) -> Expr {
    match e {
        Expr::Name(n) => Expr::Name(names.get(n).unwrap_or(n).clone()),
        Expr::Reduce(r) => Expr::Reduce(
            Reduce {
                op: r.op.clone(),
                inames: r.inames.iter().map(|n| names.get(n).unwrap_or(n).clone()).collect(),
                args: r.args.iter().map(|e| renamed(e, names)).collect(),
            }
            .into(),
        ),
        _ => e.map_children(&mut |child| renamed(child, names)),
    }
}

/// Gives the instructions copies of the inames that need a second loop; those of `blocks` are
/// renamed with them. Returns the positions at which domains were inserted, one after another, and
/// the refusals, with the numbers of the instructions.
pub(crate) fn copy_repeated(
    data: &mut KernelData,
    blocks: &mut BlockLoops,
) -> (Vec<usize>, Vec<(usize, Diagnostic)>) {
    let mut errors = Vec::new();
    let lookup = Lookup::new(data);
    let mut taken: BTreeSet<Name> = data.declared_names().cloned().collect();
    taken.insert(data.name.clone());
    taken.extend(data.domains.iter().flat_map(|d| d.constraints.iter().flat_map(Constraint::names)));
    let mut plan = Plan {
        positions: positions(&lookup, blocks),
        lookup: &lookup,
        taken,
        copies: Vec::new(),
        current: BTreeMap::new(),
        opened: BTreeSet::new(),
        open: Vec::new(),
    };
    let mut renamings = Vec::with_capacity(data.instructions.len());
    for (k, instruction) in data.instructions.iter().enumerate() {
        renamings.push(plan.place(k, instruction, blocks).unwrap_or_else(|d| {
            errors.push((k, d));
            BTreeMap::new()
        }));
    }
    let copies = plan.copies;
    // The copies of a domain's inames stand after it, in the order of the text: they nest with
    // other inames as their originals do.
    let mut inserted = Vec::new();
    let mut behind: BTreeMap<Name, usize> = BTreeMap::new();
    for copy in &copies {
        let Some(at) = data.domains.iter().position(|d| d.inames.contains(&copy.of)) else { continue };
        let own = |n: &Name| match *n == copy.of {
            true => Some(Aff::var(&copy.name)),
            false => copy.within.get(n).map(Aff::var),
        };
        let constraints: Vec<Constraint> =
            bounds(data, &copy.of).into_iter().filter_map(|c| c.substitute(&own).ok()).collect();
        let first = data.domains[at].inames[0].clone();
        let count = behind.entry(first).or_default();
        *count += 1;
        let at = at + *count;
        data.domains.insert(at, Domain { inames: vec![copy.name.clone()], constraints });
        inserted.push(at);
    }
    for (k, (instruction, names)) in data.instructions.iter_mut().zip(&renamings).enumerate() {
        if names.is_empty() {
            continue;
        }
        let rename = |n: &mut Name| {
            if let Some(new) = names.get(n) {
                *n = new.clone();
            }
        };
        instruction.within.iter_mut().for_each(rename);
        instruction.scan.iter_mut().for_each(rename);
        instruction.atom.iter_mut().flat_map(|a| &mut a.axes).for_each(rename);
        blocks.get_mut(&k).into_iter().flatten().for_each(|l| rename(&mut l.iname));
        let fix = |e: &mut Expr| *e = renamed(e, names);
        instruction.targets.iter_mut().flat_map(|t| &mut t.index).for_each(fix);
        fix(&mut instruction.value);
        instruction.predicate.iter_mut().for_each(fix);
    }
    (inserted, errors)
}

/// Instructions whose loops are not those of the blocks around them, with the loops that their
/// other inames need inside. `given` says which instructions list their inames.
pub(crate) fn misplaced(data: &KernelData, blocks: &BlockLoops, given: &[bool]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (k, loops) in blocks {
        let Some(instruction) = data.instructions.get(*k) else { continue };
        let within = &instruction.within;
        let id = &instruction.id;
        let names = |of: &mut dyn Iterator<Item = &Name>| of.map(Name::as_str).collect::<Vec<_>>().join(", ");
        let written = names(&mut loops.iter().map(|l| &l.iname));
        let missing = loops.iter().find(|l| !within.contains(&l.iname));
        let diagnostic = match missing {
            Some(l) if given.get(*k) == Some(&true) => {
                let message =
                    format!("`inames=` of `{id}` leaves out `{}`, in whose block it stands", l.iname);
                Diagnostic::new("block-order", message)
                    .help("leave `inames=` out: the inames of blocks are added to those that are mentioned")
            }
            None if !within.iter().zip(loops).all(|(n, l)| *n == l.iname) => {
                let others = names(&mut within.iter());
                let message = format!(
                    "`{id}` is written in the loops {written}, but its inames nest as {others} by their \
                     domains"
                );
                Diagnostic::new("block-order", message).help(format!(
                    "write `for {others} {{ ... }}`, or declare the domains in the order of the blocks; \
                     the step `reorder` exchanges loops"
                ))
            }
            _ => continue,
        };
        found.push(Finding::new(diagnostic, Item::Instruction(*k), ""));
    }
    found
}
