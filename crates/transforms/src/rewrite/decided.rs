//! Choices that the domain of an instruction decides: `if(i >= 0, x[i], 0.0)` is `x[i]` where `i`
//! is never negative.
//!
//! What is decided is decided for the declared instruction, whose instances are all there are, and
//! changed in both forms of the kernel. An instruction of which a step has made copies with other
//! inames stays as it is: its copies have other expressions.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{
    BinaryOp, Expr, KernelData, Lookup, LoopKernel, Name, Reduce, Standing, TypeTable,
};

use super::rules::{has_same_reductions, is_of_its_own_type};

/// The value and the predicate of an instruction.
pub(crate) type Formulas = (Expr, Option<Expr>);

/// For declared instructions, what they compute and what they may compute instead.
pub(crate) fn decided(kernel: &LoopKernel, ids: &[Name]) -> BTreeMap<Name, (Formulas, Formulas)> {
    let declared = kernel.declared();
    let lookup = Lookup::new(declared);
    let table = TypeTable::new(declared);
    let mut found = BTreeMap::new();
    for i in declared.instructions.iter().filter(|i| ids.contains(&i.id)) {
        let old = (i.value.clone(), i.predicate.clone());
        let of_it = |d: &&loopwright_kernel_ir::Instruction| d.role.declared() == Some(&i.id);
        let alike = |data: &KernelData| {
            data.instructions
                .iter()
                .filter(of_it)
                .all(|d| (&d.value, &d.predicate) == (&i.value, &i.predicate))
        };
        if !alike(kernel) {
            continue;
        }
        let choices = Choices { lookup: &lookup, table: &table, inames: i.within.clone() };
        let predicate = i.predicate.as_ref().map(|p| match choices.of(p, &Known::default()) {
            // An instruction that never runs stays as it is written.
            Expr::Bool(false) => p.clone(),
            decided => decided,
        });
        // What holds where the instruction runs at all is known in its value.
        let known = Known { conditions: predicate.iter().map(|p| (p.clone(), true)).collect() };
        let value = choices.of(&i.value, &known);
        let value = if has_same_reductions(&value, &i.value) { value } else { i.value.clone() };
        let new = (value, predicate.filter(|p| *p != Expr::Bool(true)));
        if new != old {
            found.insert(i.id.clone(), (old, new));
        }
    }
    found
}

/// Conditions of instructions that hold in a part of a loop around them: each comparison with its
/// instruction and the iname of the loop, the innermost one that it mentions. Nothing is said of
/// instructions that steps have divided already.
pub(crate) fn decided_in_parts(kernel: &LoopKernel, ids: &[Name]) -> Vec<(Name, Expr, Name)> {
    let declared = kernel.declared();
    let lookup = Lookup::new(declared);
    let table = TypeTable::new(declared);
    let mut found = Vec::new();
    let is_whole =
        |id: &Name| kernel.instructions.iter().filter(|d| d.role.declared() == Some(id)).count() == 1;
    for i in declared.instructions.iter().filter(|i| ids.contains(&i.id) && is_whole(&i.id)) {
        let choices = Choices { lookup: &lookup, table: &table, inames: i.within.clone() };
        let mut note = |condition: &Expr| {
            let Expr::Binary(op, a, b) = condition else { return };
            let (true, Some(a), Some(b)) = (is_comparison(*op), a.to_aff(), b.to_aff()) else { return };
            let Ok(difference) = a.sub(&b) else { return };
            let is_known = |n: &Name| i.within.contains(n) || lookup.is_scalar(n);
            if difference.mentions_any(&|n| !is_known(n)) {
                return;
            }
            let iname = i.within.iter().rev().find(|n| difference.mentions(n));
            if let (Some(iname), None) = (iname, choices.decides(condition, &Known::default())) {
                let one = (i.id.clone(), condition.clone(), iname.clone());
                if !found.contains(&one) {
                    found.push(one);
                }
            }
        };
        i.value.visit(&mut |e| {
            if let Expr::If(c, ..) = e {
                c.visit(&mut note);
            }
        });
        i.predicate.iter().for_each(|p| p.visit(&mut note));
    }
    found
}

/// Conditions around, with what they are there.
#[derive(Clone, Default)]
struct Known {
    conditions: Vec<(Expr, bool)>,
}

impl Known {
    fn and(&self, condition: &Expr, value: bool) -> Known {
        let mut conditions = self.conditions.clone();
        conditions.push((condition.clone(), value));
        Known { conditions }
    }
}

struct Choices<'a, 'k> {
    lookup: &'a Lookup<'k>,
    table: &'a TypeTable<'k>,
    inames: Vec<Name>,
}

impl Choices<'_, '_> {
    fn decides(&self, condition: &Expr, known: &Known) -> Option<bool> {
        if let Expr::Bool(value) = condition {
            return Some(*value);
        }
        // A temporary may have another value than it had as a bound of a loop around.
        let is_fixed = |e: &Expr| e.names().iter().all(|n| self.lookup.temporary(n).is_none());
        if !is_fixed(condition) {
            return None;
        }
        let mut standing = Standing::new(self.lookup, &self.inames);
        for (condition, value) in known.conditions.iter().filter(|(c, _)| is_fixed(c)) {
            let rows = match value {
                true => standing.where_true(condition),
                false => standing.where_false(condition),
            };
            standing = standing.given(&rows);
        }
        standing.decides(condition)
    }

    /// The expression with the choices taken that are decided.
    fn of(&self, e: &Expr, known: &Known) -> Expr {
        match e {
            Expr::If(c, a, b) => {
                let inside = self.of(c, known);
                let chosen = match self.decides(&inside, known) {
                    Some(true) => Some(a),
                    Some(false) => Some(b),
                    None => None,
                };
                if let Some(chosen) = chosen
                    && self.is_in_its_place(e, chosen)
                {
                    return self.of(chosen, known);
                }
                // A choice that is decided and stays has its condition as it is written.
                let c = if chosen.is_some() { (**c).clone() } else { inside };
                let (a, b) = (self.of(a, &known.and(&c, true)), self.of(b, &known.and(&c, false)));
                Expr::If(c.into(), a.into(), b.into())
            }
            Expr::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                let passes = *op == BinaryOp::And;
                let a = self.of(a, known);
                let b = self.of(b, &known.and(&a, passes));
                match (self.decides(&a, known), self.decides(&b, &known.and(&a, passes))) {
                    (Some(v), _) if v == passes => b,
                    (Some(v), _) => Expr::Bool(v),
                    (_, Some(v)) if v == passes => a,
                    _ => Expr::Binary(*op, a.into(), b.into()),
                }
            }
            // It is evaluated before the instruction, whatever conditions surround it.
            Expr::Reduce(r) => {
                let inames = self.inames.iter().chain(&r.inames).cloned().collect();
                let inside = Choices { lookup: self.lookup, table: self.table, inames };
                let args = r.args.iter().map(|a| inside.of(a, &Known::default())).collect();
                Expr::Reduce(Reduce { args, ..(**r).clone() }.into())
            }
            // A comparison, which is the condition itself.
            Expr::Binary(op, ..) if is_comparison(*op) => match self.decides(e, known) {
                Some(value) => Expr::Bool(value),
                None => e.map_children(&mut |child| self.of(child, known)),
            },
            _ => e.map_children(&mut |child| self.of(child, known)),
        }
    }

    /// Whether a value of a choice is computed alike in the place of the choice.
    fn is_in_its_place(&self, choice: &Expr, value: &Expr) -> bool {
        let own = matches!(value, Expr::Name(_) | Expr::If(..)) || is_of_its_own_type(value);
        own && match (self.table.type_of(choice), self.table.type_of(value)) {
            (Ok(a), Ok(b)) => a == b,
            _ => false,
        }
    }
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
    matches!(op, Lt | Le | Gt | Ge | Eq | Ne)
}
