//! A reduction that counts its points from the aligned address before its row.
//!
//! *Theorem.* Let an instruction `I` reduce points `(w, i, t)` by a commutative operator, where `i`
//! is the value of the inames `p` that it was split into. Let `F` compute a number `d(w)` once for
//! each `w`, before `I` begins, with `0 <= d < n` for a constant `n`. Let `A` reduce the points
//! `(w, i', t)` with
//!
//! * expressions that are those of `I` with `i' - d` for `i`, which they mention by no other name;
//! * for each `w`, each `t` and each `d` from `0` to `n - 1`: the values `i' - d` of `A` are the
//!   values `i` of `I`, both taken once;
//! * nothing that they read is written by the kernel;
//! * no other instruction has inames of `p`.
//!
//! Then `A` computes what `I` does: `i = i' - d` relates their points one to one, and the operator
//! takes them in any order. Which `d` it is does not matter here; that vectors are aligned for it
//! is shown where they are written.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{
    AddressSpace, Aff, BinaryOp, Constraint, Expr, Instruction, Name, Part, PartRef, Reduce, Role, Share,
    Tree,
};
use loopwright_poly::{Set, System};

use super::{Checked, Pair, accesses, only_reduction, part, unchanged, why, with_reduction};
use crate::{ModelPart, conflict::primed};

const THEOREM: &str = "the points are those of the row, counted from another position, and may be \
                       combined in any order";

pub(super) fn check(pair: &Pair<'_>, queries: &mut usize) -> Checked<&'static str> {
    let shift = Shift::of(pair)?;
    unchanged::check(pair, &undone(&pair.new.kernel.tree, pair), queries)?;
    alone(pair, &shift)?;
    points(pair, &shift, queries)?;
    Ok(THEOREM)
}

/// What `F` computes, and what it is taken from.
struct Shift {
    /// The scalar temporary `d` that `F` writes.
    name: Name,
    /// Its greatest value, `n - 1`.
    most: i64,
    /// The iname or scalar `i`.
    iname: Name,
    /// The inames `p` of the theorem, into which `i` was split.
    base: Vec<Name>,
}

impl Shift {
    /// The values: `F` computes a small number, and the expressions of `A` are those of `I`.
    fn of(pair: &Pair<'_>) -> Checked<Shift> {
        let Pair { was, is, added: find, .. } = pair;
        let (reduce, operator) = only_reduction(pair.old.kernel, was)?;
        let (shifted, shifted_op) = only_reduction(pair.new.kernel, is)?;
        let ([target], Expr::Binary(BinaryOp::BitAnd, start, most)) = (find.targets.as_slice(), &find.value)
        else {
            return why(format!("`{}` does not compute a small number", find.id));
        };
        // Any integer, and a mask of low bits.
        let Expr::Int(most) = **most else {
            return why(format!("`{}` does not compute a small number", find.id));
        };
        let plain = find.predicate.is_none() && find.scan.is_none() && !find.atomic;
        let written: BTreeSet<&Name> = targets(pair);
        let steady = !start.accesses().iter().any(|a| written.contains(&a.array));
        let scalar = pair.new.kernel.temporary(&target.array);
        let own = scalar.is_some_and(|t| t.space == AddressSpace::Private && t.axes.is_empty())
            && pair.old.kernel.array(&target.array).is_none();
        if most < 0 || !plain || !steady || !own || !target.index.is_empty() || find.within != was.within {
            return why(format!("`{}` does not compute one number for each result", find.id));
        }
        let name = target.array.clone();
        // `i' - d` for `i`.
        let mut replaced: BTreeSet<Name> = BTreeSet::new();
        shifted.args.iter().for_each(|e| taken_off(e, &name, &mut replaced));
        let (Some(iname), None) = (replaced.pop_first(), replaced.pop_first()) else {
            return why(format!("`{}` takes `{name}` off more than one iname", is.id));
        };
        let moved = |e: &Expr| {
            let (i, d) = (Expr::Name(iname.clone()), Expr::Name(name.clone()));
            e.substitute(&|n| (*n == iname).then(|| Expr::binary(BinaryOp::Sub, i.clone(), d.clone())))
        };
        let args: Vec<Expr> = reduce.args.iter().map(moved).collect();
        let base = pair.old.lookup.base_of(&iname).to_vec();
        let otherwise = reduce
            .args
            .iter()
            .flat_map(Expr::names)
            .any(|n| n != iname && pair.old.lookup.base_of(&n).iter().any(|b| base.contains(b)));
        let expected = Reduce { args, ..(*reduce).clone() };
        let value = with_reduction(&is.value, &shifted, &Expr::Reduce(reduce.clone()));
        let as_was = Instruction { value, ..(*is).clone() };
        if *shifted != expected
            || shifted_op != operator
            || as_was != **was
            || otherwise
            || was.predicate.is_some()
        {
            return why(format!("`{}` does not reduce what it did at other positions", is.id));
        }
        let reads = reduce.args.iter().flat_map(Expr::accesses);
        if let Some(read) = reads.into_iter().find(|a| written.contains(&a.array)) {
            return why(format!("`{}` reads `{}`, which the kernel writes", was.id, read.array));
        }
        let role = was.role.declared().cloned().map(|of| Role::Realizes { of, share: Share::Alignment });
        if Some(&find.role) != role.as_ref() {
            return why(format!("`{}` is not made for `{}`", find.id, was.id));
        }
        Ok(Shift { name, most, iname, base })
    }
}

/// The arrays that the new kernel writes.
fn targets<'k>(pair: &Pair<'k>) -> BTreeSet<&'k Name> {
    let instructions = &pair.new.kernel.instructions;
    instructions.iter().flat_map(|i| &i.targets).map(|t| &t.array).collect()
}

/// The inames that a number is taken off.
fn taken_off(e: &Expr, number: &Name, found: &mut BTreeSet<Name>) {
    if let Expr::Binary(BinaryOp::Sub, from, what) = e
        && let (Expr::Name(from), Expr::Name(what)) = (&**from, &**what)
        && what == number
    {
        found.insert(from.clone());
    }
    e.each_child(&mut |c| taken_off(c, number, found));
}

/// Whether no other part runs along the row.
fn alone(pair: &Pair<'_>, shift: &Shift) -> Checked<()> {
    let update = part(&pair.new, pair.is, Part::Update(0))?;
    let others = pair.new.parts.iter().filter(|p| p.part != update.part);
    match others.into_iter().find(|p| p.inames.iter().any(|n| shift.base.contains(n))) {
        Some(other) => why(format!("`{}` runs along the row too", other.part)),
        None => Ok(()),
    }
}

/// The points: the values of `i' - d` are those of `i`, each taken once.
fn points(pair: &Pair<'_>, shift: &Shift, queries: &mut usize) -> Checked<()> {
    let Pair { old, new, was, is, .. } = pair;
    for p in [Part::Init(0), Part::Finish] {
        let (a, b) = (part(old, was, p)?, part(new, is, p)?);
        let same = accesses(old, a) == accesses(new, b) && unchanged::same_executor(pair, a, b);
        if !same || !pair.same_executions(a, b, queries)? {
            return why(format!("`{}` has other executions or accesses than before", b.part));
        }
    }
    let (were, are) = (part(old, was, Part::Update(0))?, part(new, is, Part::Update(0))?);
    if were.inames != are.inames || were.inames.contains(&shift.iname) && shift.base.len() != 1 {
        return why(format!("`{}` runs over other loops", are.part));
    }
    let value = old.lookup.expand(&Aff::var(&shift.iname))?;
    if new.lookup.expand(&Aff::var(&shift.iname))? != value {
        return why(format!("`{}` is split in another way", shift.iname));
    }
    let d = Aff::var(&shift.name);
    let range = [Constraint::nonneg(d.clone()), Constraint::le(&d, &Aff::constant(shift.most))?];
    let before = image(pair, shift, were, &value, &range, queries)?;
    let after = image(pair, shift, are, &value.sub(&d)?, &range, queries)?;
    *queries += 2;
    if !before.is_equal(&after)? {
        return why(format!("`{}` has other points than before", are.part));
    }
    Ok(())
}

/// The values of a function of the inames along the row, with the other inames, the number that is
/// taken off, and data. Shows that it takes each value once.
fn image(
    pair: &Pair<'_>,
    shift: &Shift,
    part: &ModelPart,
    value: &Aff,
    range: &[Constraint],
    queries: &mut usize,
) -> Checked<Set> {
    let new = &pair.new;
    let along = |n: &Name| shift.base.contains(n);
    let rows = [new.context.as_slice(), &part.constraints, range].concat();
    // Once: two points with the same value and the same other names are one.
    let second = |aff: &Aff| aff.rename(&|n| along(n).then(|| primed(n)));
    let mut pairs = rows.clone();
    for c in &part.constraints {
        pairs.push(Constraint { kind: c.kind, aff: second(&c.aff)? });
    }
    pairs.push(Constraint::equal(value, &second(value)?)?);
    let pairs = System::of(pairs)?;
    for n in &shift.base {
        *queries += 1;
        if !pairs.is_empty_with(&[Constraint::lt(&Aff::var(n), &Aff::var(primed(n)))?])? {
            return why(format!("`{}` takes a point more than once", part.part));
        }
    }
    let position = Name::new("position");
    let mut rows = rows;
    rows.push(Constraint::equal(&Aff::var(&position), value)?);
    let system = System::of(rows)?;
    let mut dims: Vec<Name> = part.inames.iter().filter(|n| !along(n)).cloned().collect();
    dims.extend([shift.name.clone(), position]);
    // Data that bound rows are parameters of both, under their names.
    *queries += 1;
    Ok(Set::from_systems(&dims, system.project_exactly(&along)?)?)
}

/// The tree without `F`, which stands directly before `A` begins.
fn undone(trees: &[Tree], pair: &Pair<'_>) -> Vec<Tree> {
    let leaf = |i: &Instruction, part| Tree::Leaf(PartRef { instruction: i.id.clone(), part });
    let (find, begin) = (leaf(pair.added, Part::Whole), leaf(pair.is, Part::Init(0)));
    let mut found = Vec::new();
    for (at, tree) in trees.iter().enumerate() {
        if *tree == find && trees.get(at + 1) == Some(&begin) {
            continue;
        }
        found.push(match tree {
            Tree::Leaf(_) => tree.clone(),
            Tree::Loop { iname, body } => Tree::Loop { iname: iname.clone(), body: undone(body, pair) },
        });
    }
    found
}
