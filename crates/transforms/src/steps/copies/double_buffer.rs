//! Double buffering: fetches for the next iteration while the current one computes.

use std::{collections::BTreeMap, sync::Arc};

use loopwright_kernel_ir::{
    Access, Aff, Axis, BinaryOp, Constraint, Diagnostic, Expr, Instruction, KernelData, LoopKernel, Name,
    Part, PartRef, Role, Tag, Tree, Type, TypeTable,
};

use crate::{
    Transform,
    rewrite::{
        body_of, fresh, give_own_inames, loop_bounds, map_accesses, path_to, require_iname,
        require_temporary, touches, tree,
    },
};

step! {
    /// `double_buffer(a_tile, k_outer)`: fetches a tile one iteration ahead, into the half of the
    /// buffer that is not in use.
    ///
    /// # Meaning
    ///
    /// The temporary is written by one copy in the loop. It gets two slots (an axis of length 2 in
    /// front), used alternately: iteration `k` reads slot `(k - lo) mod 2`. The copy is moved one
    /// iteration ahead: a copy before the loop (the prologue) fills slot 0, and the one in the loop
    /// fetches for `k + 1`, if there is such an iteration. Loads overlap with the computation, and
    /// one barrier per iteration suffices.
    ///
    /// # Legality
    ///
    /// One plain instruction writes the temporary, inside the sequential loop and in loops that
    /// contain nothing else, and all accesses are inside the loop. The first value of the iname is
    /// a single function of outer loops and parameters. The step is legal if the cells that the
    /// copy reads keep their values for one more iteration, { v : v writes a cell that copy(k + 1)
    /// reads, copy(k) < v < copy(k + 1) } is empty, and if iteration k reads only what was fetched
    /// for it.
    ///
    /// In text: `double_buffer(a_tile, k_outer)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel mirror(x: f32[m, 32], y: f32[m, 32], m: i32)
    /// assume 1 <= m
    /// domain { [k, i] : 0 <= k < m and 0 <= i < 32 }
    /// y[k, i] = x[k, 31 - i] {id=turn}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// tag_inames(i: thread.x)
    /// add_prefetch(x, [i], inames=[f])
    /// double_buffer(x_tile, k)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel mirror(x: f32[m, 32], y: f32[m, 32], m: i32)
    /// assume 1 <= m
    /// domain { [k, i] : 0 <= k < m and 0 <= i <= 31 }
    /// domain { [f] : 0 <= f <= 31 and 0 <= k + 1 and k <= m - 2 and 0 <= k < m }
    /// domain { [f_first] : 0 <= f_first <= 31 and 1 <= m }
    /// temp x_tile: f32[2, 32] shared
    /// tag f: thread.x
    /// tag f_first: thread.x
    /// tag i: thread.x
    /// x_tile[0, f_first] = x[0, f_first] {id=x_fetch_first, inames=f_first, copies=x, by=add_prefetch}
    /// x_tile[(k + 1) % 2, f] = x[k + 1, f] {id=x_fetch, inames=k:f, copies=x, by=add_prefetch}
    /// y[k, i] = x_tile[k % 2, 31 - i] {id=turn, inames=k:i}
    /// tree {
    ///     x_fetch_first
    ///     for k {
    ///         x_fetch
    ///         turn
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct DoubleBuffer as "double_buffer" {
        /// The temporary.
        pub temporary: Name = next("the temporary"),
        /// The iname of the loop.
        pub iname: Name = next("the iname of the loop"),
    }
    table: "double_buffer(a_tile, k_outer)" => "–",
    methods: {
        /// See [`DoubleBuffer`].
        fn double_buffer(&self, temporary: &str, iname: &str) -> Result<Self, Diagnostic> {
            self.step(DoubleBuffer::new(temporary, iname))
        }
    }
}

impl DoubleBuffer {
    /// Two slots of a temporary, used alternately by the iterations of a loop.
    pub fn new(temporary: impl Into<Name>, iname: impl Into<Name>) -> Self {
        DoubleBuffer { temporary: temporary.into(), iname: iname.into() }
    }

    /// The copy that is moved ahead.
    fn copy<'a>(&self, data: &'a KernelData) -> Result<&'a Instruction, Diagnostic> {
        let t = &self.temporary;
        let refuse = |why: String| {
            Diagnostic::new("double-buffer", format!("`{t}` cannot have two slots: {why}")).help(
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
        let mut read = false;
        copy.value.visit(&mut |e| match e {
            Expr::Subscript(a) => read |= a.array == *t,
            Expr::Name(n) => read |= n == t,
            _ => {}
        });
        if read {
            return Err(refuse(format!("`{}` reads it as well", copy.id)));
        }
        let inside: Vec<&PartRef> =
            body_of(&data.tree, &self.iname).unwrap_or_default().iter().flat_map(Tree::leaves).collect();
        for i in data.instructions.iter().filter(|i| touches(i, t)) {
            if data
                .parts(i)
                .iter()
                .any(|p| !inside.contains(&p) && !matches!(p.part, Part::Init(_) | Part::Finish))
            {
                return Err(refuse(format!("`{}` accesses it outside the loop over `{}`", i.id, self.iname)));
            }
        }
        Ok(*copy)
    }
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

impl Transform for DoubleBuffer {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let (t, k) = (&self.temporary, &self.iname);
        require_temporary(kernel, t)?;
        require_iname(kernel, k)?;
        let Some(path) = path_to(&kernel.tree, k).filter(|_| matches!(kernel.tag(k), Tag::Seq | Tag::Host))
        else {
            return Err(Diagnostic::new("not-nested", format!("`{k}` is not a sequential loop")));
        };
        let copy = self.copy(kernel)?.clone();
        let leaf = PartRef { instruction: copy.id.clone(), part: Part::Whole };
        let Ok(first) = loop_bounds(kernel, k, &leaf)?.0 else {
            return Err(Diagnostic::new(
                "no-least-value",
                format!(
                    "the first value of `{k}` is not a single function of outer loops and \
                     parameters"
                ),
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
        let own: Vec<Name> = copy.within.iter().filter(|n| *n != k && !others.contains(n)).cloned().collect();
        if let Some(between) = loops.iter().find(|n| !own.contains(n)) {
            return Err(Diagnostic::new(
                "double-buffer",
                format!("`{}` is in the loop over `{between}`, which contains more", copy.id),
            )
            .help("only a copy whose loops contain nothing else can be moved ahead"));
        }
        if own.is_empty() {
            return Err(Diagnostic::new(
                "double-buffer",
                format!("`{}` has no loops inside this one", copy.id),
            )
            .help("a single value is better kept in a private scalar"));
        }
        let instances = kernel.instances(&leaf);
        let shift = Aff::var(k).sub(&first)?;
        kernel.edit(|data| {
            for a in data.temporaries.iter_mut().filter(|a| a.name == *t) {
                a.axes.insert(0, Axis::new(Expr::Int(2)));
                if !a.order.is_empty() {
                    a.order = std::iter::once(0).chain(a.order.iter().map(|n| n + 1)).collect();
                }
            }
            // The prologue: the copy for the loop's first iteration.
            let mut prologue = copy.clone();
            prologue.id = fresh(data, &format!("{}_first", copy.id));
            let prologue_id = prologue.id.clone();
            let pairs: Vec<(Name, Name)> =
                own.iter().map(|n| (n.clone(), fresh(data, &format!("{n}_first")))).collect();
            let at = data.instructions.iter().position(|i| i.id == copy.id).unwrap_or(0);
            data.instructions.insert(at, prologue);
            give_own_inames(data, std::slice::from_ref(&prologue_id), &pairs)?;
            for (old, new) in &pairs {
                data.copy_tag(old, new);
            }
            let values_first = values_at(data, k, &first)?;
            let started = moved(&instances, &values_first)?;
            let of_own = |c: &Constraint, data: &KernelData| {
                c.names().iter().any(|n| data.base_of(n).iter().any(|b| own.contains(b)))
            };
            let started: Vec<Constraint> = started.into_iter().filter(|c| !of_own(c, data)).collect();
            if let Some(domain) = data.domains.last_mut() {
                domain.constraints = domain
                    .constraints
                    .iter()
                    .map(|c| c.substitute(&of(&values_first)))
                    .collect::<Result<_, _>>()?;
                domain.constraints.extend(started);
                // Constraints that the first iteration satisfies anyway are dropped.
                domain.constraints.retain(|c| c.holds(&|_| None) != Some(true));
            }
            // The copy in the loop, for the next iteration.
            let next = Aff::var(k).add_constant(1)?;
            let values_next = values_at(data, k, &next)?;
            let of_copy: Vec<usize> = (0..data.domains.len())
                .filter(|d| {
                    data.domains[*d].inames.iter().any(|n| {
                        let base = data.base_of(n);
                        !base.is_empty() && base.iter().all(|b| own.contains(b))
                    })
                })
                .collect();
            // It runs if both this iteration and the next one exist. The constraints of the copy's
            // own domains are rewritten for the next one below.
            let direct: Vec<Constraint> = instances.iter().filter(|c| c.aff.mentions(k)).cloned().collect();
            let mut running = moved(&direct, &[(k.clone(), Aff::var(k))])?;
            running.retain(|c| !of_own(c, data));
            let is_outside = |c: &&Constraint| {
                !of_own(c, data) || !of_copy.iter().any(|d| data.domains[*d].constraints.contains(c))
            };
            let outside: Vec<Constraint> = instances.iter().filter(is_outside).cloned().collect();
            running.extend(moved(&outside, &values_next)?);
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
            // Slots.
            let slot = |of: &Aff| match of.as_constant() {
                Some(c) => Expr::Int(c.rem_euclid(2)),
                None => Expr::binary(BinaryOp::Mod, Expr::from_aff(of), Expr::Int(2)),
            };
            let (this, other) = (slot(&shift), slot(&shift.add_constant(1)?));
            let snapshot = data.clone();
            for instruction in &mut data.instructions {
                let mine = if instruction.id == prologue_id {
                    set_iname(&snapshot, instruction, k, &first)?;
                    instruction.within.retain(|n| n != k);
                    Expr::Int(0)
                } else if instruction.id == copy.id {
                    set_iname(&snapshot, instruction, k, &next)?;
                    other.clone()
                } else {
                    this.clone()
                };
                map_accesses(instruction, t, &|index| {
                    std::iter::once(mine.clone()).chain(index.iter().cloned()).collect()
                });
            }
            let renamed: Vec<Name> = loops
                .iter()
                .filter_map(|n| pairs.iter().find(|(old, _)| old == n).map(|(_, new)| new.clone()))
                .collect();
            let leaf = Tree::Leaf(PartRef { instruction: prologue_id.clone(), part: Part::Whole });
            let nest = tree::nest(&renamed, vec![leaf]);
            data.tree =
                tree::replace_loop(&data.tree, k, &|here| nest.iter().chain([here]).cloned().collect());
            Ok(())
        })
    }
}
