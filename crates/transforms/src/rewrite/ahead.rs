//! Moves the copies that fill buffers ahead of the loop's iterations that read them.
//!
//! Each buffer gets slots, an axis in front; iteration `k` reads the slot with the number
//! `(k - lo) mod slots`. The copies for the first iterations stand before the loop, one for each
//! slot but the last, iteration by iteration; the one in the loop copies for the iteration that is
//! `slots - 1` later, if there is one. Instructions may also be moved one iteration ahead
//! without slots, after everything that needs what they overwrite.

use std::{collections::BTreeMap, sync::Arc};

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Array, Axis, BinaryOp, Constraint, Diagnostic, Expr, Instruction, KernelData,
    Lookup, LoopKernel, Name, Part, PartRef, Role, Tag, Tree, Type, TypeTable,
};
use loopwright_poly::System;

use super::{
    body_of, extent::Extents, fresh, give_own_inames, loop_bounds, map_accesses, path_to, require_iname,
    require_temporary, touches, tree, unknown_instruction,
};

/// How a step speaks of itself in refusals.
pub(crate) struct Words {
    pub code: &'static str,
    /// What an array that the step refuses cannot have, such as `two slots`.
    pub slots: &'static str,
}

/// A copy that is moved ahead.
struct Moved {
    /// The temporary that the copy fills.
    temporary: Name,
    /// The iname of the loop in which the copy runs one or more iterations ahead.
    iname: Name,
    copy: Instruction,
    /// The loops around the copy inside the loop, outermost first.
    loops: Vec<Name>,
    /// The inames that only the copy has.
    own: Vec<Name>,
    instances: Vec<Constraint>,
    /// The first value of the loop's iname.
    first: Aff,
}

/// The copy that fills a temporary.
fn copy_of<'a>(
    data: &'a KernelData,
    t: &Name,
    iname: &Name,
    words: &Words,
) -> Result<&'a Instruction, Diagnostic> {
    let refuse = |why: String| {
        Diagnostic::new(words.code, format!("`{t}` cannot have {}: {why}", words.slots)).help(
            "the buffer has to be filled by one plain copy inside the loop, like that of \
             `add_prefetch`",
        )
    };
    let writers: Vec<&Instruction> =
        data.instructions.iter().filter(|i| i.targets.iter().any(|w| w.array == *t)).collect();
    let [copy] = writers.as_slice() else {
        return Err(refuse(format!("{} instructions write it, not one", writers.len())));
    };
    let plain = copy.targets.len() == 1 && copy.predicate.is_none() && copy.value.reductions().is_empty();
    if !plain {
        return Err(refuse(format!("`{}` has a predicate, a reduction or several targets", copy.id)));
    }
    let mut read = copy.update.is_some();
    copy.value.visit(&mut |e| match e {
        Expr::Subscript(a) => read |= a.array == *t,
        Expr::Name(n) => read |= n == t,
        _ => {}
    });
    if read {
        return Err(refuse(format!("`{}` reads it as well", copy.id)));
    }
    let inside: Vec<&PartRef> =
        body_of(&data.tree, iname).unwrap_or_default().iter().flat_map(Tree::leaves).collect();
    for i in data.instructions.iter().filter(|i| touches(i, t)) {
        if data
            .parts(i)
            .iter()
            .any(|p| !inside.contains(&p) && !matches!(p.part, Part::Init(_) | Part::Finish))
        {
            return Err(refuse(format!("`{}` accesses it outside the loop over `{iname}`", i.id)));
        }
    }
    Ok(*copy)
}

/// The names whose values depend on the loop's iname, itself included, with their values for the
/// given value of the iname.
fn values_at(data: &KernelData, iname: &Name, value: &Aff) -> Result<Vec<(Name, Aff)>, Diagnostic> {
    let mut values = vec![(iname.clone(), value.clone())];
    for d in &data.definitions {
        let expanded = data.expand(&d.value)?;
        if expanded.mentions(iname) {
            values.push((d.iname.clone(), expanded.substitute_one(iname, value)?));
        }
    }
    Ok(values)
}

fn of<'a>(values: &'a [(Name, Aff)]) -> impl Fn(&Name) -> Option<Aff> + 'a {
    |n| values.iter().find(|(m, _)| m == n).map(|(_, v)| v.clone())
}

/// The constraints that depend on the loop's iname, with its value substituted.
fn moved(constraints: &[Constraint], values: &[(Name, Aff)]) -> Result<Vec<Constraint>, Diagnostic> {
    let of = of(values);
    let mut found: Vec<Constraint> = Vec::new();
    for c in constraints.iter().filter(|c| c.aff.mentions_any(&|n| of(n).is_some())) {
        let c = c.substitute(&of)?;
        if !found.contains(&c) {
            found.push(c);
        }
    }
    Ok(found)
}

/// Substitutes a value for the loop's iname in the expressions of an instruction.
fn set_iname(
    data: &KernelData,
    instruction: &mut Instruction,
    iname: &Name,
    value: &Aff,
) -> Result<(), Diagnostic> {
    let values = values_at(data, iname, value)?;
    let of = of(&values);
    let types = TypeTable::new(data);
    // In values, the constant keeps the type of the iname that it replaces, which a literal would
    // not.
    let types: BTreeMap<Name, Type> =
        values.iter().filter_map(|(n, _)| Some((n.clone(), types.scalar(n)?.clone()))).collect();
    let in_value = |n: &Name| {
        let value = of(n)?;
        Some(match (value.as_constant(), types.get(n)) {
            (Some(c), Some(t)) => Expr::Cast(t.clone(), Arc::new(Expr::Int(c))),
            _ => Expr::from_aff(&value),
        })
    };
    // Subscripts are simplified, so that no `8 * 0` remains.
    type Value<'v> = &'v dyn Fn(&Name) -> Option<Expr>;
    fn renewed(e: &Expr, of: &dyn Fn(&Name) -> Option<Aff>, in_value: Value<'_>) -> Expr {
        let Expr::Subscript(access) = e else {
            return match e {
                Expr::Name(n) => in_value(n).unwrap_or_else(|| e.clone()),
                _ => e.map_children(&mut |child| renewed(child, of, in_value)),
            };
        };
        let subscript = |e: &Expr| match e.to_aff() {
            // A remainder stays one.
            Some(_) if matches!(e, Expr::Binary(BinaryOp::Mod, ..)) => {
                let Expr::Binary(op, a, b) = e else { return e.clone() };
                let dividend = a.to_aff().and_then(|aff| aff.substitute(of).ok());
                match (dividend.as_ref().and_then(Aff::as_constant), &**b) {
                    (Some(a), Expr::Int(b)) if *b > 0 => Expr::Int(a.rem_euclid(*b)),
                    _ => match dividend {
                        Some(a) => Expr::binary(*op, Expr::from_aff(&a), (**b).clone()),
                        None => renewed(e, of, in_value),
                    },
                }
            }
            Some(aff) if aff.mentions_any(&|n| of(n).is_some()) => {
                aff.substitute(of).map_or_else(|_| renewed(e, of, in_value), |aff| Expr::from_aff(&aff))
            }
            _ => renewed(e, of, in_value),
        };
        let index = access.index.iter().map(subscript).collect();
        Expr::Subscript(Access { array: access.array.clone(), index })
    }
    instruction.value = renewed(&instruction.value, &of, &in_value);
    instruction.predicate = instruction.predicate.as_ref().map(|e| renewed(e, &of, &in_value));
    for target in &mut instruction.targets {
        target.index =
            target.index.iter().map(|e| renewed(e, &of, &|n| Some(Expr::from_aff(&of(n)?)))).collect();
    }
    for value in instruction.map.values_mut() {
        *value = value.substitute(&of)?;
    }
    // Declared inames without an entry stand for themselves, which no longer holds for those that
    // depend on the loop's iname.
    if let Role::Does(id) = &instruction.role {
        let declared = data.declared.as_ref().map_or(data, |d| &**d);
        let inames = declared.instructions.iter().find(|i| i.id == *id).map(|i| i.within.clone());
        for n in inames.unwrap_or_default() {
            if let (false, Some(value)) = (instruction.map.contains_key(&n), of(&n)) {
                instruction.map.insert(n, value);
            }
        }
    }
    Ok(())
}

/// The loops around and including a sequential one.
fn sequential(kernel: &LoopKernel, k: &Name) -> Result<Vec<Name>, Diagnostic> {
    path_to(&kernel.tree, k)
        .filter(|_| matches!(kernel.tag(k), Tag::Seq | Tag::Unroll | Tag::Host))
        .ok_or_else(|| Diagnostic::new("not-nested", format!("`{k}` is not a sequential loop")))
}

/// The copy that fills a temporary, where it stands and for which iterations it runs.
fn planned(kernel: &LoopKernel, t: &Name, k: &Name, words: &Words) -> Result<Moved, Diagnostic> {
    require_temporary(kernel, t)?;
    sequential(kernel, k)?;
    let copy = copy_of(kernel, t, k, words)?.clone();
    placed(kernel, copy, k, words)
}

/// A copy, where it stands and for which iterations it runs.
fn placed(kernel: &LoopKernel, copy: Instruction, k: &Name, words: &Words) -> Result<Moved, Diagnostic> {
    let path = sequential(kernel, k)?;
    let Some(t) = copy.targets.first().map(|target| target.array.clone()) else {
        return Err(Diagnostic::new("internal", format!("`{}` writes nothing", copy.id)));
    };
    let leaf = PartRef { instruction: copy.id.clone(), part: Part::Whole };
    let Ok(first) = loop_bounds(kernel, k, &leaf)?.0 else {
        return Err(Diagnostic::new(
            "no-least-value",
            format!("the first value of `{k}` is not a single function of outer loops and parameters"),
        ));
    };
    let loops: Vec<Name> = tree::path_of(&kernel.tree, &leaf).split_off(path.len());
    let others: Vec<Name> = kernel
        .instructions
        .iter()
        .filter(|i| i.id != copy.id)
        .flat_map(|i| kernel.parts(i))
        .flat_map(|p| kernel.part_inames(&p))
        .collect();
    // A loop around is not the copy's own, though it may contain nothing else.
    let own: Vec<Name> =
        copy.within.iter().filter(|n| !path.contains(n) && !others.contains(n)).cloned().collect();
    if let Some(between) = loops.iter().find(|n| !own.contains(n)) {
        let message = format!("`{}` is in the loop over `{between}`, which contains more", copy.id);
        return Err(Diagnostic::new(words.code, message)
            .help("only a copy whose loops contain nothing else can be moved ahead"));
    }
    if own.is_empty() {
        let message = format!("`{}` has no loops inside this one", copy.id);
        return Err(
            Diagnostic::new(words.code, message).help("a single value is better kept in a private scalar")
        );
    }
    let instances = kernel.instances(&leaf);
    Ok(Moved { temporary: t, iname: k.clone(), copy, loops, own, instances, first })
}

/// The suffix of names of the copy for an iteration before the loop.
fn suffix(iteration: i64) -> String {
    match iteration {
        0 => "first".into(),
        n => format!("ahead{n}"),
    }
}

/// Gives temporaries slots, and moves the copies that fill them ahead: a slot less than there are.
pub(crate) fn copies(
    kernel: &LoopKernel,
    temporaries: &[Name],
    k: &Name,
    slots: i64,
    words: &Words,
) -> Result<LoopKernel, Diagnostic> {
    let ahead = slots - 1;
    require_iname(kernel, k)?;
    let mut all = Vec::new();
    for t in temporaries {
        all.push(planned(kernel, t, k, words)?);
    }
    kernel.edit(|data| {
        // Before the loop, iteration by iteration.
        let mut before: Vec<Vec<Tree>> = vec![Vec::new(); usize::try_from(ahead).unwrap_or(0)];
        for of in &all {
            of.move_ahead(data, Some(slots), &mut before)?;
        }
        let nests: Vec<Tree> = before.concat();
        data.tree = tree::replace_loop(&data.tree, k, &|here| nests.iter().chain([here]).cloned().collect());
        Ok(())
    })
}

/// Moves instructions one iteration ahead, after everything else in the loop, in their order. What
/// they write gets no slots.
pub(crate) fn in_place(
    kernel: &LoopKernel,
    ids: &[Name],
    k: &Name,
    words: &Words,
) -> Result<LoopKernel, Diagnostic> {
    require_iname(kernel, k)?;
    let mut all = Vec::new();
    for id in ids {
        let Some(instruction) = kernel.instruction(id) else { return Err(unknown_instruction(kernel, id)) };
        let plain = instruction.targets.len() == 1
            && instruction.predicate.is_none()
            && instruction.update.is_none()
            && instruction.value.reductions().is_empty();
        if !plain {
            let message = format!("`{id}` has a predicate, a reduction, an update or several targets");
            return Err(Diagnostic::new(words.code, message)
                .help("only a plain instruction, such as a copy, can be executed ahead"));
        }
        let path = sequential(kernel, k)?;
        let leaf = PartRef { instruction: id.clone(), part: Part::Whole };
        if !tree::path_of(&kernel.tree, &leaf).starts_with(&path) {
            return Err(Diagnostic::new(words.code, format!("`{id}` is not in the loop over `{k}`"))
                .help("name instructions of the loop"));
        }
        all.push(placed(kernel, instruction.clone(), k, words)?);
    }
    let moved = kernel.edit(|data| {
        let mut before: Vec<Vec<Tree>> = vec![Vec::new()];
        for of in &all {
            of.move_ahead(data, None, &mut before)?;
        }
        let nests: Vec<Tree> = before.concat();
        data.tree = tree::replace_loop(&data.tree, k, &|here| nests.iter().chain([here]).cloned().collect());
        Ok::<(), Diagnostic>(())
    })?;
    last_in_loop(&moved, k, &|leaf| ids.contains(&leaf.instruction))
}

/// Moves the copies that fill temporaries after everything else in the loop, in their order.
pub(crate) fn behind(kernel: &LoopKernel, temporaries: &[Name], k: &Name) -> Result<LoopKernel, Diagnostic> {
    last_in_loop(kernel, k, &|leaf| {
        let of = kernel.instruction(&leaf.instruction);
        of.is_some_and(|i| i.targets.iter().all(|t| temporaries.contains(&t.array)))
    })
}

/// Moves what consists of such parts alone after everything else in the loop.
fn last_in_loop(
    kernel: &LoopKernel,
    k: &Name,
    moves: &dyn Fn(&PartRef) -> bool,
) -> Result<LoopKernel, Diagnostic> {
    let fills = |tree: &Tree| tree.leaves().iter().all(|leaf| moves(leaf));
    kernel.edit(|data| {
        data.tree = tree::replace_loop(&data.tree, k, &|here| match here {
            Tree::Loop { iname, body } => {
                let (copies, rest): (Vec<Tree>, Vec<Tree>) = body.iter().cloned().partition(&fills);
                vec![Tree::Loop { iname: iname.clone(), body: [rest, copies].concat() }]
            }
            Tree::Leaf(_) => vec![here.clone()],
        });
        Ok(())
    })
}

/// A copy that is split into a load and a store.
struct Staged {
    load: Instruction,
    store: Instruction,
    /// The array of the thread between the two.
    stage: Array,
    /// The loops and lanes that only the copy has, each with its counterpart of the load. Inames of
    /// threads are those of both: so a thread stores what it has loaded.
    pairs: Vec<(Name, Name)>,
}

/// Splits the copies in the loop that fill temporaries: elements are loaded into registers where
/// the copies stand, and stored after everything else in the loop.
pub(crate) fn staged(
    kernel: &LoopKernel,
    temporaries: &[Name],
    k: &Name,
    words: &Words,
) -> Result<LoopKernel, Diagnostic> {
    let mut taken = kernel.clone();
    for t in temporaries {
        let split = split_copy(&taken, t, k, words)?;
        taken = taken.edit(|data| {
            let at = data.instructions.iter().position(|i| i.id == split.store.id).unwrap_or(0);
            data.instructions[at] = split.store.clone();
            data.instructions.insert(at, split.load.clone());
            data.temporaries.push(split.stage.clone());
            let id = &split.load.id;
            let is_of = |tree: &Tree, id: &Name| tree.leaves().iter().all(|leaf| leaf.instruction == *id);
            // The store goes last, and the load, in loops of its own, to its place.
            data.tree = tree::replace_loop(&data.tree, k, &|here| match here {
                Tree::Loop { iname, body } => {
                    let (stores, _): (Vec<Tree>, Vec<Tree>) =
                        body.iter().cloned().partition(|tree| is_of(tree, &split.store.id));
                    let mut loads = body.clone();
                    for tree in loads.iter_mut().filter(|tree| is_of(tree, &split.store.id)) {
                        let mut own = [tree.clone()];
                        tree::rename_loops(&mut own, &|n| {
                            split.pairs.iter().find(|(old, _)| old == n).map(|(_, new)| new.clone())
                        });
                        let of = |id: &Name| PartRef { instruction: id.clone(), part: Part::Whole };
                        let leaf = Tree::Leaf(of(id));
                        let replaced = tree::replace_leaf(&own, &of(&split.store.id), &[leaf]);
                        if let Some(first) = replaced.into_iter().next() {
                            *tree = first;
                        }
                    }
                    vec![Tree::Loop { iname: iname.clone(), body: [loads, stores].concat() }]
                }
                Tree::Leaf(_) => vec![here.clone()],
            });
            give_own_inames(data, std::slice::from_ref(id), &split.pairs)?;
            for (old, new) in &split.pairs {
                data.copy_tag(old, new);
            }
            Ok::<(), Diagnostic>(())
        })?;
    }
    Ok(taken)
}

/// The load and the store of the copy in a loop that fills a temporary.
fn split_copy(kernel: &LoopKernel, t: &Name, k: &Name, words: &Words) -> Result<Staged, Diagnostic> {
    let refuse = |why: String, help: &str| {
        Diagnostic::new(words.code, format!("`{t}` cannot be filled by way of registers: {why}")).help(help)
    };
    let is_copy = |i: &&Instruction| i.targets.iter().any(|w| w.array == *t) && i.within.contains(k);
    let Some(copy) = kernel.instructions.iter().find(is_copy) else {
        return Err(Diagnostic::new("internal", format!("no copy fills `{t}` in the loop over `{k}`")));
    };
    if copy.via.is_asynchronous() {
        let why = format!("`{}` copies asynchronously", copy.id);
        return Err(refuse(why, "leave out `via=cp_async`, or `issue=staged`"));
    }
    let (Role::Copies { .. }, Some(array)) = (&copy.role, kernel.temporary(t)) else {
        let why = format!("`{}` computes what it writes", copy.id);
        return Err(refuse(
            why,
            "only a copy, like that of `add_prefetch`, is split into a load and a store",
        ));
    };
    let others = kernel.instructions.iter().filter(|i| i.id != copy.id);
    let others: Vec<Name> =
        others.flat_map(|i| kernel.parts(i)).flat_map(|p| kernel.part_inames(&p)).collect();
    let is_own = |n: &&Name| *n != k && !others.contains(n) && kernel.tag(n).axis().is_none();
    let own: Vec<&Name> = copy.within.iter().filter(is_own).collect();
    // The elements that a thread copies.
    let (mut axes, mut index) = (Vec::new(), Vec::new());
    let extents = Extents::new(kernel);
    for n in &own {
        let range = extents.range(n)?;
        let whole = range.and_then(|r| r.length.filter(|_| r.lower.as_constant() == Some(0)));
        let Some(length) = whole else {
            let why = format!("`{n}` has no constant length");
            return Err(refuse(why, "a thread has to copy a constant number of elements"));
        };
        axes.push(Axis::new(Expr::Int(length)));
        index.push(Expr::Name((*n).clone()));
    }
    if axes.is_empty() {
        axes.push(Axis::new(Expr::Int(1)));
        index.push(Expr::Int(0));
    }
    let name = fresh(kernel, &format!("{}_stage", t.trim_end_matches("_tile")));
    let stage = Array::new(&name, array.dtype.clone(), axes, AddressSpace::Private);
    let held = Access { array: name.clone(), index };
    let mut load = copy.clone();
    load.id = fresh(kernel, &format!("{}_load", copy.id));
    load.targets = vec![held.clone()];
    load.made_by = Some(Name::new(words.code));
    let mut store = copy.clone();
    store.value = Expr::Subscript(held);
    store.role = Role::Copies { source: name };
    let pairs: Vec<(Name, Name)> =
        own.into_iter().map(|n| (n.clone(), fresh(kernel, &format!("{n}_load")))).collect();
    Ok(Staged { load, store, stage, pairs })
}

impl Moved {
    fn move_ahead(
        &self,
        data: &mut KernelData,
        slots: Option<i64>,
        before: &mut [Vec<Tree>],
    ) -> Result<(), Diagnostic> {
        let Moved { temporary: t, iname: k, copy, own, instances, first, .. } = self;
        let ahead = slots.map_or(1, |slots| slots - 1);
        for a in data.temporaries.iter_mut().filter(|a| a.name == *t) {
            if let Some(slots) = slots {
                a.add_slots(slots);
            }
        }
        let mut prologue: Vec<(Name, Aff)> = Vec::new();
        for (iteration, nests) in (0..).zip(before.iter_mut()) {
            let value = first.add_constant(iteration)?;
            let id = self.copy_before(data, iteration, &value, nests)?;
            prologue.push((id, value));
        }
        // The copy in the loop, for a later iteration.
        let next = Aff::var(k).add_constant(ahead)?;
        let values_next = values_at(data, k, &next)?;
        let lookup = Lookup::new(data);
        let of_copy: Vec<usize> = (0..data.domains.len())
            .filter(|d| {
                data.domains[*d].inames.iter().any(|n| {
                    let base = lookup.base_of(n);
                    !base.is_empty() && base.iter().all(|b| own.contains(b))
                })
            })
            .collect();
        // It runs if both this iteration and the later one exist, whether constraints name the
        // loop's iname or one that it defines. Those of the copy's own domains are rewritten for
        // the later one below.
        let mut running = moved(instances, &values_at(data, k, &Aff::var(k))?)?;
        running.retain(|c| !self.is_of_own(c, &lookup));
        let is_outside = |c: &&Constraint| {
            !self.is_of_own(c, &lookup) || !of_copy.iter().any(|d| data.domains[*d].constraints.contains(c))
        };
        let outside: Vec<Constraint> = instances.iter().filter(is_outside).cloned().collect();
        running.extend(moved(&outside, &values_next)?);
        running.extend(self.exists(data, &running, &next)?);
        for (number, d) in of_copy.into_iter().enumerate() {
            let domain = &mut data.domains[d];
            domain.constraints = domain
                .constraints
                .iter()
                .map(|c| c.substitute(&of(&values_next)))
                .collect::<Result<_, _>>()?;
            if number == 0 {
                for c in &running {
                    if !domain.constraints.contains(c) {
                        domain.constraints.push(c.clone());
                    }
                }
            }
        }
        let slot = |of: &Aff| {
            slots.map(|slots| match of.as_constant() {
                Some(c) => Expr::Int(c.rem_euclid(slots)),
                None => Expr::binary(BinaryOp::Mod, Expr::from_aff(of), Expr::Int(slots)),
            })
        };
        let shift = Aff::var(k).sub(first)?;
        let (this, later) = (slot(&shift), slot(&shift.add_constant(ahead)?));
        let snapshot = data.clone();
        for instruction in &mut data.instructions {
            let early = (0..).zip(&prologue).find(|(_, (id, _))| *id == instruction.id);
            let mine = if let Some((iteration, (_, value))) = early {
                set_iname(&snapshot, instruction, k, value)?;
                instruction.within.retain(|n| n != k);
                slots.map(|_| Expr::Int(iteration))
            } else if instruction.id == copy.id {
                set_iname(&snapshot, instruction, k, &next)?;
                later.clone()
            } else {
                this.clone()
            };
            let Some(mine) = mine else { continue };
            map_accesses(instruction, t, &|index| {
                std::iter::once(mine.clone()).chain(index.iter().cloned()).collect()
            });
        }
        Ok(())
    }

    /// What else says that this iteration of the loop exists, where that follows only from the
    /// ranges of the copy's own inames, as `0 <= 16*k + f` with `f <= 15`.
    fn exists(
        &self,
        data: &KernelData,
        running: &[Constraint],
        next: &Aff,
    ) -> Result<Vec<Constraint>, Diagnostic> {
        let expanded = |c: &Constraint| data.expand_constraint(c);
        let instances: Vec<Constraint> = self.instances.iter().map(expanded).collect::<Result<_, _>>()?;
        let all = [data.assumptions.clone(), instances.clone()].concat();
        let here = System::new(&all)?.keep_only(&|n| !self.own.contains(n))?.system;
        let mut known = data.assumptions.clone();
        for c in running {
            known.push(expanded(c)?);
        }
        for c in &instances {
            known.push(Constraint { kind: c.kind, aff: c.aff.substitute_one(&self.iname, next)? });
        }
        let mut known = System::new(&known)?;
        let mut found = Vec::new();
        for c in here.constraints().iter().filter(|c| c.aff.mentions(&self.iname)) {
            if !known.implies(c)? {
                known.add(c)?;
                found.push(c.clone());
            }
        }
        Ok(found)
    }

    /// Whether a constraint is on the copy's own inames.
    fn is_of_own(&self, c: &Constraint, lookup: &Lookup<'_>) -> bool {
        c.names().iter().any(|n| lookup.base_of(n).iter().any(|b| self.own.contains(b)))
    }

    /// The copy for one of the first iterations, which stands before the loop: its id.
    fn copy_before(
        &self,
        data: &mut KernelData,
        iteration: i64,
        value: &Aff,
        nests: &mut Vec<Tree>,
    ) -> Result<Name, Diagnostic> {
        let mut prologue = self.copy.clone();
        let suffix = suffix(iteration);
        prologue.id = fresh(data, &format!("{}_{suffix}", self.copy.id));
        let id = prologue.id.clone();
        let pairs: Vec<(Name, Name)> =
            self.own.iter().map(|n| (n.clone(), fresh(data, &format!("{n}_{suffix}")))).collect();
        let at = data.instructions.iter().position(|i| i.id == self.copy.id).unwrap_or(0);
        data.instructions.insert(at, prologue);
        give_own_inames(data, std::slice::from_ref(&id), &pairs)?;
        for (old, new) in &pairs {
            data.copy_tag(old, new);
        }
        let values = values_at(data, &self.iname, value)?;
        let started = moved(&self.instances, &values)?;
        let lookup = Lookup::new(data);
        let started: Vec<Constraint> = started.into_iter().filter(|c| !self.is_of_own(c, &lookup)).collect();
        if let Some(domain) = data.domains.last_mut() {
            domain.constraints =
                domain.constraints.iter().map(|c| c.substitute(&of(&values))).collect::<Result<_, _>>()?;
            domain.constraints.extend(started);
            // Constraints that the iteration satisfies anyway are dropped.
            domain.constraints.retain(|c| c.holds(&|_| None) != Some(true));
        }
        let renamed: Vec<Name> = self
            .loops
            .iter()
            .filter_map(|n| pairs.iter().find(|(old, _)| old == n).map(|(_, new)| new.clone()))
            .collect();
        let leaf = Tree::Leaf(PartRef { instruction: id.clone(), part: Part::Whole });
        nests.extend(tree::nest(&renamed, vec![leaf]));
        Ok(id)
    }
}
