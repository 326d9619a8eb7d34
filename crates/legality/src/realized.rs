//! Realisations: rewrites of a kernel before it is lowered, each legal by a theorem whose premises
//! are checked for the two kernels, not for the code that made one of the other.
//!
//! Steps are judged by roles and maps that relate each part to a declared one. A realisation
//! replaces one instruction by several, none of which does a declared instance by itself
//! ([`Share`]); the theorems say why they do it together. [`judge_realization`] finds the theorem
//! by the shares that the new kernel has and the old one has not:
//!
//! | new instruction | theorem |
//! |---|---|
//! | [`Share::Partial`] | [`two_stages`]: partial results of blocks, which another kernel joins |
//! | [`Share::Start`] | [`updates`]: partial results of blocks, which atomic updates join |
//! | [`Share::Alignment`] | [`alignment`]: a reduction counts its points from an aligned address |
//!
//! All of them share a premise, that nothing else has changed ([`unchanged`]): the new kernel has
//! the old one's arguments, assumptions, facts, and other instructions, with the same executions,
//! accesses and places in the loop tree. So what is proved of the one instruction holds for the
//! kernel. That the old kernel is legal is given, as for steps.
//!
//! The premises are sufficient, not necessary: a realisation that does not fulfil them is refused
//! as not proved. None is refuted.

mod alignment;
mod two_stages;
mod unchanged;
mod updates;

use std::collections::BTreeSet;

use loopwright_kernel_ir::{
    Constraint, DType, Diagnostic, Expr, Instruction, LoopKernel, Name, Part, PartRef, Reduce, ReductionOp,
    Role, Share, TypeTable,
};
use loopwright_poly::System;

use crate::{
    Basis, Event, Model, ModelPart, Verdict,
    link::{Link, cover, is_injection, same_event},
};

/// Why a premise is not fulfilled, or not known to be.
struct Why(String);

type Checked<T> = std::result::Result<T, Why>;

fn why<T>(text: impl Into<String>) -> Checked<T> {
    Err(Why(text.into()))
}

impl From<loopwright_poly::Error> for Why {
    fn from(e: loopwright_poly::Error) -> Self {
        Why(e.to_string())
    }
}

impl From<Diagnostic> for Why {
    fn from(d: Diagnostic) -> Self {
        Why(d.message)
    }
}

/// Whether `after`, in which an instruction of `before` is realised by several, computes what
/// `before` does.
pub fn judge_realization(before: &LoopKernel, after: &LoopKernel) -> Verdict {
    let queries = &mut 0;
    match judged(before, after, queries) {
        Ok(theorem) => Verdict::Proved { basis: Basis::Theorem(theorem), queries: *queries },
        Err(Why(reason)) => Verdict::Unknown { reason, repair: None },
    }
}

fn judged(before: &LoopKernel, after: &LoopKernel, queries: &mut usize) -> Checked<&'static str> {
    let known: BTreeSet<&Name> = before.instructions.iter().map(|i| &i.id).collect();
    let mut added = after.instructions.iter().filter(|i| !known.contains(&i.id));
    let (Some(added), None) = (added.next(), added.next()) else {
        return why("a realisation adds one instruction");
    };
    let Role::Realizes { of, share } = &added.role else {
        return why(format!("`{}` says of no instruction what it does of it", added.id));
    };
    // What it shares the work with has kept its name, as only one instruction has changed.
    let mut changed = before.instructions.iter().filter(|i| after.instruction(&i.id) != Some(*i));
    let (Some(was), None) = (changed.next(), changed.next()) else {
        return why(format!("not one instruction has changed besides `{}`", added.id));
    };
    let Some(is) = after.instruction(&was.id) else {
        return why(format!("`{}` is gone", was.id));
    };
    if was.role.declared() != Some(of) {
        return why(format!("`{}` does a share of `{of}`, and `{}` does not", added.id, was.id));
    }
    if let Some(update) = [was, is, added].into_iter().find(|i| i.update.is_some()) {
        return why(format!("`{}` is an update, which no realisation is about", update.id));
    }
    let pair = Pair { old: Model::new(before)?, new: Model::new(after)?, was, is, added };
    match share {
        Share::Partial => two_stages::check(&pair, queries),
        Share::Start => updates::check(&pair, queries),
        Share::Alignment => alignment::check(&pair, queries),
        Share::Join | Share::Update => why(format!("`{}` joins what nothing has left", added.id)),
    }
}

/// The two kernels, and the instructions in which they differ.
struct Pair<'k> {
    old: Model<'k>,
    new: Model<'k>,
    /// The instruction of the old kernel that is realized.
    was: &'k Instruction,
    /// The instruction of its name in the new kernel.
    is: &'k Instruction,
    /// The other instruction of the new kernel.
    added: &'k Instruction,
}

/// A part of an instruction in a model.
fn part<'m>(model: &'m Model<'_>, instruction: &Instruction, part: Part) -> Checked<&'m ModelPart> {
    let part = PartRef { instruction: instruction.id.clone(), part };
    match model.numbers.get(&part) {
        Some(number) => Ok(&model.parts[*number]),
        None => why(format!("`{part}` is nowhere in the loop tree")),
    }
}

impl Pair<'_> {
    /// Whether executions under some constraints fulfil others, given what holds in both kernels.
    fn implies(&self, from: &[Constraint], what: &[Constraint], queries: &mut usize) -> Checked<bool> {
        let missing: Vec<Constraint> = what.iter().filter(|c| !from.contains(c)).cloned().collect();
        if missing.is_empty() {
            return Ok(true);
        }
        *queries += 1;
        let rows = [self.new.context.as_slice(), from].concat();
        Ok(System::of(rows)?.implies_all(&missing)?)
    }

    /// Whether two parts have the same executions under the same names.
    fn same_executions(&self, a: &ModelPart, b: &ModelPart, queries: &mut usize) -> Checked<bool> {
        let names = |p: &ModelPart| p.inames.iter().cloned().collect::<BTreeSet<Name>>();
        Ok(names(a) == names(b)
            && a.may == b.may
            && self.implies(&a.constraints, &b.constraints, queries)?
            && self.implies(&b.constraints, &a.constraints, queries)?)
    }

    /// Whether the executions of `new`, under these values of the inames of `old`, are those of
    /// `old`, each once.
    fn one_to_one(
        &self,
        old: &ModelPart,
        new: &ModelPart,
        link: &mut Link,
        queries: &mut usize,
    ) -> Checked<bool> {
        *queries += 2;
        Ok(is_injection(old, &self.new, new, link)? && cover(old, &self.new, &[(new, link)])?)
    }

    /// Whether an event does the same to the same cell under these values of the old inames.
    fn same_event(&self, link: &Link, old: &Event, new: &Event) -> Checked<bool> {
        Ok(same_event(&self.old, &self.new, link, old, new)?)
    }
}

/// The accesses of a part that are not accumulators.
fn accesses<'m>(model: &Model<'_>, part: &'m ModelPart) -> Vec<&'m Event> {
    part.events.iter().filter(|e| !model.is_accumulator(&e.array)).collect()
}

/// The only reduction of an instruction, whose points may be combined in any order.
fn only_reduction(kernel: &LoopKernel, i: &Instruction) -> Checked<(std::sync::Arc<Reduce>, ReductionOp)> {
    let Ok([reduce]) = <[_; 1]>::try_from(i.reductions()) else {
        return why(format!("`{}` has not one reduction", i.id));
    };
    let Some(operator) = kernel.operator(&reduce.op) else {
        return why(format!("`{}` is no operator", reduce.op));
    };
    if !operator.commutes {
        return why(format!("`{}` does not commute", reduce.op));
    }
    if i.scan.is_some() {
        return why(format!("`{}` is a scan", i.id));
    }
    Ok((reduce, operator))
}

/// The types of the state of an instruction's only reduction.
fn state_types(kernel: &LoopKernel, i: &Instruction) -> Checked<Vec<DType>> {
    let table = TypeTable::new(kernel).or_else(DType::I32);
    let wanted: Vec<DType> = i.targets.iter().filter_map(|t| table.element(&t.array)?.known()).collect();
    match table.reduction_types(&i.value, &wanted)?.as_slice() {
        [only] => Ok(only.state.clone()),
        _ => why(format!("`{}` has not one reduction", i.id)),
    }
}

/// An expression with one reduction replaced.
fn with_reduction(e: &Expr, reduce: &Reduce, by: &Expr) -> Expr {
    match e {
        Expr::Reduce(r) if **r == *reduce => by.clone(),
        _ => e.map_children(&mut |c| with_reduction(c, reduce, by)),
    }
}

/// Whether a list of names consists of these two lists, in any order.
fn consists_of(all: &[Name], parts: [&[Name]; 2]) -> bool {
    let mut all: Vec<&Name> = all.iter().collect();
    let mut both: Vec<&Name> = parts.into_iter().flatten().collect();
    all.sort();
    both.sort();
    all == both
}
