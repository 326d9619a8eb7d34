//! How the parts of a transformed instruction relate to the parts of the declared one.
//!
//! A reduction may have become several nested ones with its operator
//! (`sum(i_outer, sum(i_inner, e))`): the innermost one *adds* points of the declared reduction,
//! and those around it *join* partial results.

use std::{ops::Range, sync::Arc};

use loopwright_kernel_ir::{Aff, BinaryOp, Expr, Instruction, Name, Part, Reduce, Role, TypeTable};

use crate::{Model, ModelPart, event::affine_predicate};

/// What a part of a kernel does, in terms of the declared kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PartRole {
    /// It does instances of this part of the declared instruction.
    Does(Name, Part),
    /// It joins partial results of the declared reduction with this number.
    Joins(Name, usize),
    /// It copies a cell to another.
    Copies,
    /// It belongs to an instruction that does a share of this declared instruction; these are
    /// judged by [`crate::judge_realization`].
    Realizes(Name),
}

/// The numbers of the reductions inside one, which are those just before its own.
fn inside(all: &[Arc<Reduce>], number: usize) -> Range<usize> {
    let count: usize = all[number].args.iter().map(|e| e.reductions().len()).sum();
    number - count..number
}

/// For each reduction of a transformed instruction, the number of the declared reduction and
/// whether it adds that reduction's points.
pub(crate) fn reductions(
    model: &Model<'_>,
    instruction: &Instruction,
    declared: &Instruction,
) -> Vec<(usize, bool)> {
    let mine = instruction.reductions();
    let theirs = declared.reductions();
    let mut numbers: Vec<usize> = Vec::new();
    for (n, reduce) in mine.iter().enumerate() {
        let base: Vec<Name> = reduce.inames.iter().flat_map(|i| model.lookup.base_of(i).to_vec()).collect();
        let covers = |r: &Reduce| {
            r.inames.iter().any(|iname| {
                let value = match instruction.map.get(iname) {
                    Some(v) => v.names().into_iter().collect(),
                    None => vec![iname.clone()],
                };
                value.iter().flat_map(|v| model.lookup.base_of(v)).any(|b| base.contains(b))
            })
        };
        // A reduction goes around parts of itself, or around others as in the declared value.
        let around =
            |m: usize| inside(&mine, n).all(|k| numbers[k] == m || inside(&theirs, m).contains(&numbers[k]));
        // Reductions over the same inames keep their relative order.
        let used = |m: usize| numbers.iter().filter(|k| **k == m).count();
        let same = |m: &usize| theirs[*m].op == reduce.op && covers(&theirs[*m]) && around(*m);
        numbers.push(match mine.len() == theirs.len() {
            true => n,
            false => (0..theirs.len()).filter(same).min_by_key(|m| (used(*m), *m)).unwrap_or(0),
        });
    }
    let adds = |n: usize| inside(&mine, n).all(|k| numbers[k] != numbers[n]);
    numbers.iter().enumerate().map(|(n, m)| (*m, adds(n))).collect()
}

impl Model<'_> {
    /// The role of a part with respect to the declared kernel.
    pub fn role(&self, part: &ModelPart) -> PartRole {
        let does = match &self.instruction(part).role {
            Role::Does(id) => id,
            Role::Copies { .. } => return PartRole::Copies,
            Role::Realizes { of, .. } => return PartRole::Realizes(of.clone()),
        };
        let here = part.part.part;
        let (Part::Init(n) | Part::Update(n)) = here else { return PartRole::Does(does.clone(), here) };
        let Some(declared) = self.kernel.declared().instruction(does) else {
            return PartRole::Does(does.clone(), here);
        };
        let (number, adds) =
            reductions(self, self.instruction(part), declared).get(n).copied().unwrap_or((n, true));
        match (here, adds) {
            (_, false) => PartRole::Joins(does.clone(), number),
            (Part::Init(_), _) => PartRole::Does(does.clone(), Part::Init(number)),
            _ => PartRole::Does(does.clone(), Part::Update(number)),
        }
    }
}

fn has_quotients(e: &Expr) -> bool {
    let mut found = false;
    e.visit(&mut |e| found |= matches!(e, Expr::Binary(BinaryOp::FloorDiv | BinaryOp::Mod, ..)));
    found
}

/// Whether a transformed expression computes what the declared one does. Reads are checked
/// elsewhere.
fn same_value(model: &Model<'_>, instruction: &Instruction, declared: &Expr, e: &Expr) -> bool {
    let is_read = |e: &Expr| match e {
        Expr::Subscript(_) => true,
        Expr::Name(n) => model.lookup.array(n).is_some(),
        _ => false,
    };
    let declared_read = |e: &Expr| match e {
        Expr::Subscript(_) => true,
        Expr::Name(n) => model.kernel.declared().array(n).is_some(),
        _ => false,
    };
    if declared_read(declared) || is_read(e) {
        return declared_read(declared) && is_read(e);
    }
    // A constant that replaces an iname keeps the iname's type.
    if let (Expr::Name(n), Expr::Cast(t, value)) = (declared, e)
        && matches!(**value, Expr::Int(_))
    {
        return TypeTable::new(model.kernel.declared()).scalar(n) == Some(t)
            && same_value(model, instruction, declared, value);
    }
    // Values of temporaries are reads. Wrapping arithmetic preserves sums and products, but not
    // quotients: `(i*65536)//65536` is not `i`, though the functions are equal. The value of a
    // single iname does not wrap; its quotients are compared as written, so that no factor has been
    // cancelled.
    let is_iname = matches!(declared, Expr::Name(_));
    let integers = |e: &Expr, is_read: &dyn Fn(&Expr) -> bool| {
        let aff = e.to_aff().filter(|a| !a.names().iter().any(|n| is_read(&Expr::Name(n.clone()))))?;
        (!has_quotients(e) || is_iname && Expr::from_aff(&aff) == *e).then_some(aff)
    };
    if let (Some(a), Some(b)) = (integers(declared, &declared_read), integers(e, &is_read)) {
        let value = |n: &Name| match instruction.map.get(n) {
            Some(v) => model.lookup.expand(v).ok(),
            None => model.lookup.expand(&Aff::var(n)).ok(),
        };
        let a = a.substitute(&value);
        if let (Ok(a), Ok(b)) = (a, model.lookup.expand(&b)) {
            return a == b;
        }
        return false;
    }
    let all = |a: &[Expr], b: &[Expr]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(model, instruction, a, b))
    };
    let one = |a: &Expr, b: &Expr| same_value(model, instruction, a, b);
    match (declared, e) {
        (Expr::Reduce(a), Expr::Reduce(b)) => {
            if a.op != b.op {
                return false;
            }
            // Partial results are joined by the same operator.
            if let [Expr::Reduce(inner)] = b.args.as_slice()
                && inner.op == a.op
                && !matches!(a.args.as_slice(), [Expr::Reduce(r)] if r.op == a.op)
            {
                return one(declared, &b.args[0]);
            }
            all(&a.args, &b.args)
        }
        (Expr::Unary(p, a), Expr::Unary(q, b)) => p == q && one(a, b),
        (Expr::Binary(p, a, c), Expr::Binary(q, b, d)) => p == q && one(a, b) && one(c, d),
        (Expr::If(a, c, x), Expr::If(b, d, y)) => one(a, b) && one(c, d) && one(x, y),
        (Expr::Cast(t, a), Expr::Cast(u, b)) => t == u && one(a, b),
        (
            Expr::Call { function: f, precision: p, args: a },
            Expr::Call { function: g, precision: q, args: b },
        ) => f == g && p == q && all(a, b),
        _ => declared == e,
    }
}

/// Why a transformed kernel may compute different values from the declared one even if its reads
/// see the right definitions.
pub(crate) fn other_values(model: &Model<'_>) -> Option<String> {
    let declared = model.kernel.declared();
    let fixed = model.fixed();
    let fix = |e: &Expr| match fixed.is_empty() {
        true => e.clone(),
        // As `fix_parameters` writes it, with the parameter's type.
        false => e.substitute(&|n| {
            let value = Arc::new(Expr::Int(*fixed.get(n)?));
            Some(Expr::Cast(model.lookup.types().scalar(n)?.clone(), value))
        }),
    };
    let dtype = |array: &Name| model.lookup.array(array).map(|a| &a.dtype);
    for instruction in &model.kernel.instructions {
        let Role::Does(id) = &instruction.role else {
            if let Role::Realizes { of, .. } = &instruction.role {
                return Some(format!(
                    "`{}` does a share of `{of}`, as only lowering asks for it",
                    instruction.id
                ));
            }
            if !matches!(instruction.value, Expr::Subscript(_) | Expr::Name(_))
                || instruction.targets.len() != 1
                || instruction.update.is_some()
            {
                return Some(format!("`{}` is to copy, but computes something", instruction.id));
            }
            // A value that goes through another type is rounded.
            let from = match &instruction.value {
                Expr::Subscript(access) => dtype(&access.array),
                Expr::Name(array) => dtype(array),
                _ => None,
            };
            if from.is_none() || from != dtype(&instruction.targets[0].array) {
                return Some(format!("`{}` is to copy, but converts to another type", instruction.id));
            }
            continue;
        };
        let Some(original) = declared.instruction(id) else {
            return Some(format!("`{}` does `{id}`, which is not declared", instruction.id));
        };
        if original.update != instruction.update {
            return Some(format!(
                "`{}` updates its target otherwise than the declared `{id}`",
                instruction.id
            ));
        }
        let same = original.value == instruction.value
            || same_value(model, instruction, &fix(&original.value), &instruction.value);
        let condition = match (&original.predicate, &instruction.predicate) {
            (None, None) => true,
            (Some(a), Some(b)) => a == b || same_value(model, instruction, &fix(a), b),
            // A condition on inames only restricts which instances run.
            (None, Some(_)) => affine_predicate(&model.lookup, instruction).is_some(),
            (Some(_), None) => false,
        };
        if !same || !condition || original.targets.len() != instruction.targets.len() {
            return Some(format!("`{}` computes another value than the declared `{id}`", instruction.id));
        }
        for (here, there) in instruction.targets.iter().zip(&original.targets) {
            let declared = declared.array(&there.array).map(|a| &a.dtype);
            if let (Some(here), Some(declared)) = (dtype(&here.array), declared)
                && here != declared
            {
                return Some(format!(
                    "`{}` leaves its value in {here}, and the declared `{id}` in {declared}",
                    instruction.id
                ));
            }
        }
    }
    None
}
