//! A proposal for the nest that was declared, continued where a user's steps have begun it.
//!
//! Rules look at the nest as it was declared. A split that they propose may be there already: the
//! loops that a declared one has become are digits of its number (`digits`), and a split of a
//! number cuts its digits between two of them, or divides one. A tag that they propose may be
//! there, too, along another axis perhaps, which others then leave to it. What is still to be done
//! is the proposal. It fails if a loop that the user's steps have spread is spread otherwise by it.
//!
//! Of loops that have no tags, splits have decided nothing. Where the pieces of a proposal do not
//! fit them, they become one loop first.

mod adapter;

use std::collections::BTreeMap;

use adapter::Adapter;
use loopwright_kernel_ir::{Instruction, LoopKernel, Name, Role, Tag};

use crate::{
    Nest, Proposal,
    digits::{Digit, digits},
};

/// The kernel as it was declared, with what has been assumed since, and its arguments as they lie
/// in memory now.
pub(crate) fn declared(kernel: &LoopKernel) -> LoopKernel {
    let mut data = (**kernel.declared()).clone();
    data.assumptions = kernel.assumptions.clone();
    data.args = kernel.args.clone();
    LoopKernel::from_data(data)
}

/// A nest that was declared, in the kernel to which steps have been applied since.
pub(crate) struct Begun<'k> {
    kernel: &'k LoopKernel,
    /// The instructions of the nest in the kernel as it is.
    instructions: Vec<&'k Instruction>,
    /// The declared loops of the nest, each with what it has become.
    loops: BTreeMap<Name, Vec<Digit>>,
    /// The most threads of a block.
    most_threads: i64,
}

impl<'k> Begun<'k> {
    /// `None` if steps have changed more than how its loops are divided and tagged, or nothing of
    /// that.
    pub fn new(kernel: &'k LoopKernel, nest: &Nest<'_>) -> Option<Begun<'k>> {
        let own = nest.instructions.iter().map(|i| kernel.instruction(&i.id));
        let instructions: Vec<&Instruction> = own.collect::<Option<_>>()?;
        let mut loops: BTreeMap<Name, Vec<Digit>> = BTreeMap::new();
        for (i, now) in nest.instructions.iter().zip(&instructions) {
            let reduced = i.reductions().into_iter().flat_map(|r| r.inames.clone());
            for iname in i.within.iter().cloned().chain(reduced) {
                // It may have another name now, the same for all.
                let own = match now.map.get(&iname) {
                    Some(renamed) => renamed.as_var()?.clone(),
                    None => iname.clone(),
                };
                let digits = digits(kernel, &own)?;
                if loops.get(&iname).is_some_and(|other| *other != digits) {
                    return None;
                }
                loops.insert(iname, digits);
            }
        }
        // Loops that were fused with those of another nest are no longer this one's.
        let is_own = |n: &Name| loops.values().flatten().any(|d| d.iname == *n);
        let shares = |i: &Instruction| {
            let reduced = i.reductions().into_iter().flat_map(|r| r.inames.clone());
            i.within.iter().cloned().chain(reduced).any(|n| is_own(&n))
        };
        let is_copy = |i: &Instruction| matches!(i.role, Role::Copies { .. });
        let is_of_nest = |i: &Instruction| instructions.iter().any(|own| own.id == i.id);
        if kernel.instructions.iter().any(|i| !is_copy(i) && !is_of_nest(i) && shares(i)) {
            return None;
        }
        let most_threads = nest.most_threads();
        let begun = Begun { kernel, instructions, loops, most_threads };
        let is_begun = begun.loops.values().any(|d| d.len() > 1)
            || begun.loops.iter().any(|(iname, digits)| digits.iter().any(|d| d.iname != *iname))
            || begun.tagged().next().is_some();
        is_begun.then_some(begun)
    }

    /// The kernel as it is.
    pub fn kernel(&self) -> &'k LoopKernel {
        self.kernel
    }

    /// Its loops that are coordinates, with their tags.
    fn tagged(&self) -> impl Iterator<Item = (&Name, Tag)> {
        let all = self.loops.values().flatten().map(|d| (&d.iname, self.kernel.tag(&d.iname)));
        all.filter(|(_, tag)| tag.is_hardware() || *tag == Tag::Flat)
    }

    /// What is left to do of a proposal for the declared nest: with the loops as they are, and
    /// else, as far as nothing has been decided about them, with those that were split as one.
    pub fn continued(&self, proposal: &Proposal) -> Vec<Proposal> {
        let kept = || {
            let adapter = Adapter::new(self, self.loops.clone(), Vec::new());
            let rest = adapter.adapted(proposal)?;
            let reason = format!("{}; loops that the steps before divide or tag stay", rest.reason);
            Some(Proposal { reason, ..rest })
        };
        let joined = || {
            let Joined { loops, steps, of } = self.joined()?;
            let rest = Adapter::new(self, loops, steps).adapted(proposal)?;
            let reason = format!(
                "{}; {}, into which the steps before divide a loop without tags, are one again",
                rest.reason,
                crate::text::names(&of)
            );
            Some(Proposal { reason, ..rest })
        };
        [kept(), joined()].into_iter().flatten().collect()
    }

    /// The one tile of two axes, without padding, to which an array is copied.
    fn tile(&self, array: &Name) -> Option<&'k Name> {
        let copies = self.kernel.instructions.iter().filter(|i| match &i.role {
            Role::Copies { source } => source == array,
            Role::Does(_) | Role::Realizes { .. } => false,
        });
        let mut tiles = copies.flat_map(|i| &i.targets).map(|target| &target.array);
        let only = tiles.next().filter(|only| tiles.all(|other| other == *only))?;
        let axes = &self.kernel.temporary(only)?.axes;
        (axes.len() == 2 && axes.iter().all(|axis| axis.padding == 0)).then_some(only)
    }

    /// Loops without tags that were split as one again.
    fn joined(&self) -> Option<Joined> {
        let (mut loops, mut steps, mut of) = (self.loops.clone(), Vec::new(), Vec::new());
        let mut order: Vec<&Vec<Digit>> = Vec::new();
        for (iname, digits) in &mut loops {
            let before = &self.loops[iname];
            if digits.len() < 2 || digits.iter().any(|d| self.kernel.tag(&d.iname) != Tag::Seq) {
                continue;
            }
            let names: Vec<&str> = digits.iter().map(|d| &*d.iname).collect();
            let whole = free_name(self.kernel, &format!("{iname}_whole"));
            steps.push(format!("join_inames([{}], {whole})", names.join(", ")));
            of.extend(digits.iter().map(|d| d.iname.clone()));
            *digits = vec![Digit { iname: Name::new(whole), length: None }];
            order.push(before);
        }
        if of.is_empty() {
            return None;
        }
        if let Some(reorder) = self.adjacent(&order) {
            steps.insert(0, reorder);
        }
        Some(Joined { loops, steps, of })
    }

    /// The step after which the loops of each of these lists are next to each other, if they are
    /// not.
    fn adjacent(&self, of: &[&Vec<Digit>]) -> Option<String> {
        let within = &self.instructions.first()?.within;
        let at = |d: &Digit| within.iter().position(|n| *n == d.iname);
        let is_apart = |digits: &&Vec<Digit>| {
            let places: Vec<usize> = digits.iter().filter_map(at).collect();
            places.windows(2).any(|pair| pair[1] != pair[0] + 1)
        };
        if !of.iter().any(is_apart) {
            return None;
        }
        let mut grouped: Vec<&str> = Vec::new();
        for n in within {
            let own = of.iter().find(|digits| digits.iter().any(|d| d.iname == *n));
            let group = own.map_or(vec![&**n], |digits| digits.iter().map(|d| &*d.iname).collect());
            if group.iter().all(|n| !grouped.contains(n)) {
                grouped.extend(group);
            }
        }
        Some(format!("reorder([{}])", grouped.join(", ")))
    }
}

/// Loops that were split, as one again.
struct Joined {
    /// What the declared loops are then.
    loops: BTreeMap<Name, Vec<Digit>>,
    /// The steps that join them.
    steps: Vec<String>,
    /// The loops that are joined.
    of: Vec<Name>,
}

/// A name that a kernel does not have: this one, or with a number.
fn free_name(kernel: &LoopKernel, wanted: &str) -> String {
    let more = (2..).map(|k| format!("{wanted}_{k}"));
    let mut names = std::iter::once(wanted.to_string()).chain(more);
    let is_free = |name: &String| !kernel.is_declared(name) && kernel.definition(name).is_none();
    names.find(is_free).unwrap_or_default()
}
