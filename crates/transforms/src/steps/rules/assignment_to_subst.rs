//! Replaces the reads of a temporary by the expression that computes it.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{
    Aff, Diagnostic, Domain, Expr, Instruction, KernelData, LoopKernel, Name, Part, Role, Rule, Tag, Tree,
    Type,
};
use loopwright_legality::{Judgement, judge, operands_stay, sees_only};

use crate::{
    Transform,
    rewrite::{
        fresh_in_both, map_expressions,
        read_values::{Value, count_reads, replace_reads},
        require_temporary,
        rule_uses::{bounds, inside, reduced},
        rules::{first_of, in_its_type, redeclare},
        tree::without,
    },
};

step! {
    /// `assignment_to_subst(t)`: replaces the reads of the temporary `t` by the expression that
    /// computes it.
    ///
    /// # Meaning
    ///
    /// The instruction that writes `t` and the temporary are gone; each read is the instruction's
    /// expression at the instance that wrote what it read. The value is computed again for each
    /// read, in the type of `t`: where the context could decide another one, it is in a `cast`. The
    /// kernel keeps the expression as a rule `t(i)`. The declared kernel changes in the same way,
    /// so that later steps relate to it; it keeps its own origin, with which `run --verify`
    /// compares. If the expression has reductions, those of each read run over copies of their
    /// inames, directly before what reads; the first read takes the inames themselves where nothing
    /// else has them.
    ///
    /// # Legality
    ///
    /// One instruction without a predicate writes `t`, at subscripts that are inames
    /// of its own, each once. Each read of `t` outside of subscripts and bounds has to see the
    /// instance of that instruction which its subscripts name, in the declared kernel: { r -> w : w
    /// is the last write before r of the cell that r reads } contains only pairs with w =
    /// subscripts(r). Where the kernel writes what the expression reads, each operand, read at r,
    /// has to see the definition that it saw at w, and the transformed kernel is judged against the
    /// new declared one. All of this is decided by dataflow; where a read may see something else,
    /// the refusal shows one. No copy of `t` may have been made. Of a reduction, nothing may write
    /// what it reads, and the bounds of its inames are functions of the kernel's parameters.
    ///
    /// In text: `assignment_to_subst(t)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel slope(x: f32[n + 1], w: f32[n + 1], y: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// domain { [k] : 0 <= k < n + 1 }
    /// temp flux: f32[n + 1] global
    /// flux[k] = x[k]*w[k]
    /// y[i] = flux[i + 1] - flux[i] {id=slope}
    /// ")?;
    /// let steps = Pipeline::parse("split_iname(i, 128); assignment_to_subst(flux)")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel slope(x: f32[n + 1], w: f32[n + 1], y: f32[n], n: i32)
    /// rule flux(k) = x[k] * w[k]
    /// domain { [i] : 0 <= i < n }
    /// domain { [k] : 0 <= k <= n }
    /// domain { [i_outer, i_inner] : 0 <= i_inner <= 127 }
    /// let i = 128*i_outer + i_inner
    /// y[i] = x[i + 1] * w[i + 1] - x[i] * w[i] {id=slope, inames=i_outer:i_inner}
    /// tree {
    ///     for i_outer {
    ///         for i_inner {
    ///             slope
    ///         }
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A sum of which each element is read twice:
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel slopes(x: f32[n + 1, m], y: f32[n], n: i32, m: i32)
    /// assume 0 <= n and 0 <= m
    /// domain { [r, k] : 0 <= r <= n and 0 <= k < m }
    /// domain { [i] : 0 <= i < n }
    /// temp row: f32[n + 1] global
    /// row[r] = sum(k, x[r, k])
    /// y[i] = row[i + 1] - row[i] {id=slope}
    /// ")?;
    /// let steps = Pipeline::parse("assignment_to_subst(row)")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel slopes(x: f32[n + 1, m], y: f32[n], n: i32, m: i32)
    /// assume 0 <= n and 0 <= m
    /// rule row(r) = sum(k, x[r, k])
    /// domain { [r, k] : 0 <= r <= n and 0 <= k < m }
    /// domain { [i] : 0 <= i < n }
    /// domain { [k_2] : 0 <= k_2 < m }
    /// y[i] = sum(k, x[i + 1, k]) - sum(k_2, x[i, k_2]) {id=slope}
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct AssignmentToSubst as "assignment_to_subst" {
        /// The temporary that becomes a rule of the same name.
        pub temporary: Name = next("the temporary"),
    }
    table: "assignment_to_subst(t)" => "`assignment_to_subst(k, \"t\")`",
    methods: {
        /// See [`AssignmentToSubst`].
        fn assignment_to_subst(&self, temporary: &str) -> Result<Self, Diagnostic> {
            self.step(AssignmentToSubst { temporary: temporary.into() })
        }
    }
}

/// The instruction that computes a temporary, and what its reads become.
struct Definition {
    id: Name,
    rule: Rule,
    /// Inames of the instruction without a subscript.
    outer: Vec<Name>,
    /// Whether the kernel writes something that the expression reads.
    changes: bool,
    /// The loops of its reductions in the declared kernel.
    loops: Vec<Tree>,
    /// For each read of an instruction the inames over which the reductions run there.
    inames: BTreeMap<Name, Vec<BTreeMap<Name, Name>>>,
}

fn refuse(t: &Name, why: String, help: &str) -> Diagnostic {
    Diagnostic::new("substitution-form", format!("`{t}` cannot be replaced: {why}")).help(help)
}

/// What computes the temporary in the declared kernel.
fn definition<'k>(declared: &'k LoopKernel, t: &Name) -> Result<(&'k Instruction, Definition), Diagnostic> {
    let writes = |i: &&Instruction| i.targets.iter().any(|target| target.array == *t);
    let writers: Vec<&Instruction> = declared.instructions.iter().filter(writes).collect();
    let [writer] = writers.as_slice() else {
        let why = format!("{} instructions write it", writers.len());
        return Err(refuse(t, why, "one expression has to give all of its values"));
    };
    let id = &writer.id;
    let ([target], None, None) = (&writer.targets[..], &writer.predicate, &writer.update) else {
        let why = format!("`{id}` has a predicate or several targets, or is an update");
        return Err(refuse(t, why, "only the value of a plain instruction can stand for it"));
    };
    let mut parameters: Vec<Name> = Vec::new();
    for e in &target.index {
        match e {
            Expr::Name(n) if writer.within.contains(n) && !parameters.contains(n) => {
                parameters.push(n.clone())
            }
            _ => {
                let why = format!("the subscript `{e}` in `{id}` is not one of its inames, each used once");
                return Err(refuse(t, why, "a read has to name the instance that wrote what it reads"));
            }
        }
    }
    if writer.value.reads().contains(t) {
        let why = format!("`{id}` reads it as well");
        return Err(refuse(t, why, "its value depends on what it was before"));
    }
    let mut changes = false;
    writer.value.visit(&mut |e| {
        let read = match e {
            Expr::Subscript(access) => &access.array,
            Expr::Name(name) => name,
            _ => return,
        };
        changes |= declared.instructions.iter().any(|i| i.targets.iter().any(|x| x.array == *read));
    });
    let over = reduced(&writer.value);
    if let (Some(iname), true) = (over.first(), changes) {
        let why = format!("`{id}` reduces over `{iname}`, and the kernel writes what it reads");
        return Err(refuse(t, why, "only values that stay can be reduced again"));
    }
    for iname in &over {
        let others = bounds(declared, iname).into_iter().flat_map(|c| c.names());
        let is_data = |n: &Name| declared.temporary(n).is_some() || declared.is_iname(n) && !over.contains(n);
        if let Some(other) = others.into_iter().find(is_data) {
            let why = format!("`{id}` reduces over `{iname}`, whose bounds depend on `{other}`");
            return Err(refuse(t, why, "reduce over an iname with bounds by parameters"));
        }
    }
    let mut loops = inside(&declared.tree, writer);
    loops.retain(|tree| !matches!(tree, Tree::Leaf(leaf) if matches!(leaf.part, Part::Whole | Part::Finish)));
    let dtype = declared.temporary(t).map(|a| a.dtype.clone());
    let Some(Type::Known(dtype)) = dtype else {
        return Err(refuse(t, "its type is open".into(), "bind the types first"));
    };
    let value = in_its_type(declared, &writer.value, dtype).ok_or_else(|| {
        let why = format!("`{}` would be computed in another type than {dtype} elsewhere", writer.value);
        refuse(t, why, "cast the operands to the type of the temporary")
    })?;
    let outer = writer.within.iter().filter(|n| !parameters.contains(n)).cloned().collect();
    let rule = Rule { name: t.clone(), parameters, value };
    Ok((writer, Definition { id: id.clone(), rule, outer, changes, loops, inames: BTreeMap::new() }))
}

/// The inames of the reductions at each read: copies, but for those of the first read if nothing
/// else has them.
fn inames_of_reads(
    kernel: &LoopKernel,
    definition: &Definition,
) -> Result<BTreeMap<Name, Vec<BTreeMap<Name, Name>>>, Diagnostic> {
    let (t, declared) = (&definition.rule.name, kernel.declared());
    let over = reduced(&definition.rule.value);
    if over.is_empty() {
        return Ok(BTreeMap::new());
    }
    let early = "apply the step earlier";
    let count = |data: &KernelData| -> BTreeMap<Name, usize> {
        let counts = data.instructions.iter().map(|i| (i.id.clone(), count_reads(&i.value, t)));
        counts.filter(|(_, count)| *count > 0).collect()
    };
    if count(declared) != count(kernel) {
        return Err(refuse(t, "steps have divided or rewritten what reads it".into(), early));
    }
    for i in &declared.instructions {
        if i.predicate.as_ref().is_some_and(|p| p.reads().contains(t)) {
            let why = format!("the condition of `{}` reads it, and a condition has no reductions", i.id);
            return Err(refuse(t, why, "assign the condition to a temporary"));
        }
    }
    let decided =
        |i: &&Instruction| (i.scan.is_some() || i.atom.is_some() || i.atomic) && count_reads(&i.value, t) > 0;
    if let Some(i) = kernel.instructions.iter().find(decided) {
        let why = format!("a step has decided how the reductions of `{}` run", i.id);
        return Err(refuse(t, why, early));
    }
    let others = |data: &KernelData| -> Vec<Name> {
        let others = data.instructions.iter().filter(|i| i.targets.iter().all(|x| x.array != *t));
        others.flat_map(|i| i.within.iter().cloned().chain(reduced(&i.value))).collect()
    };
    let mut taken = [others(declared), others(kernel)].concat();
    let is_free = |n: &Name| kernel.base_of(n) == [n.clone()] && kernel.tag(n) == Tag::Seq;
    let mut found = BTreeMap::new();
    for i in declared.instructions.iter() {
        let mut reads = Vec::new();
        for _ in 0..count_reads(&i.value, t) {
            let mut names = BTreeMap::new();
            for n in &over {
                let new = match !taken.contains(n) && is_free(n) {
                    true => n.clone(),
                    false => fresh_in_both(kernel, n, &taken),
                };
                taken.push(new.clone());
                names.insert(n.clone(), new);
            }
            reads.push(names);
        }
        if !reads.is_empty() {
            found.insert(i.id.clone(), reads);
        }
    }
    Ok(found)
}

/// Refuses kernels in which steps have changed what the temporary's cells are, or copied them.
fn same_cells(kernel: &LoopKernel, t: &Name, definition: &Definition) -> Result<(), Diagnostic> {
    let early = "apply the step earlier, before the temporary is changed";
    let declared = kernel.declared();
    let rank = |data: &KernelData| data.temporary(t).map(|a| (a.axes.len(), a.dtype.clone()));
    if rank(kernel) != rank(declared) {
        return Err(refuse(t, "a step has changed its axes".into(), early));
    }
    for i in &kernel.instructions {
        if i.atom.is_some() && i.expressions().any(|e| e.reads().contains(t)) {
            let why = format!("a hardware instruction does the updates of `{}`, which reads it", i.id);
            return Err(refuse(t, why, early));
        }
        if matches!(&i.role, Role::Copies { source } if source == t) {
            return Err(refuse(t, format!("`{}` copies it", i.id), early));
        }
        let in_subscripts =
            |e: &Expr| e.accesses().iter().any(|a| a.index.iter().any(|e| e.reads().contains(t)));
        if i.targets.iter().any(|x| x.index.iter().any(|e| e.reads().contains(t)))
            || i.expressions().any(in_subscripts)
        {
            let why = format!("`{}` reads it in a subscript, where integers have no type", i.id);
            return Err(refuse(t, why, "its value would not wrap there"));
        }
        if matches!(&i.role, Role::Does(id) if *id == definition.id)
            && let Some(other) = i.targets.iter().find(|x| x.array != *t)
        {
            let why = format!("`{}` writes some of its values to `{}`", i.id, other.array);
            return Err(refuse(t, why, "apply the step before the live range is split"));
        }
        for target in i.targets.iter().filter(|x| x.array == *t) {
            let cell = |e: &Expr, n: &Name| {
                let value = i.map.get(n).cloned().unwrap_or_else(|| Aff::var(n));
                Some(kernel.expand(&e.to_aff()?).ok()? == kernel.expand(&value).ok()?)
            };
            let mut cells = target.index.iter().zip(&definition.rule.parameters);
            let does = matches!(&i.role, Role::Does(id) if *id == definition.id);
            if !does || !cells.all(|(e, n)| cell(e, n) == Some(true)) {
                return Err(refuse(t, format!("`{}` writes other cells of it than declared", i.id), early));
            }
        }
    }
    Ok(())
}

/// Replaces the reads and removes what computes the temporary.
fn replace(data: &mut KernelData, definition: &Definition) -> Result<(), Diagnostic> {
    let t = &definition.rule.name;
    let gone: Vec<Name> = data
        .instructions
        .iter()
        .filter(|i| i.targets.iter().any(|x| x.array == *t))
        .map(|i| i.id.clone())
        .collect();
    for id in &gone {
        data.tree = without(&data.tree, id);
    }
    data.instructions.retain(|i| !gone.contains(&i.id));
    for i in &mut data.instructions {
        i.after.retain(|id| !gone.contains(id));
    }
    let at = |i: &Instruction, index: &[Expr]| {
        definition.rule.value.substitute(&|n| {
            let place = definition.rule.parameters.iter().position(|p| p == n);
            match place {
                Some(place) => index.get(place).cloned(),
                // An iname around both, under the name that it has here.
                None if definition.outer.contains(n) => i.map.get(n).map(Expr::from_aff),
                None => None,
            }
        })
    };
    replace_reads(
        data,
        &Value { temporary: t, at: &at, loops: &definition.loops, names: &definition.inames },
    );
    for i in &mut data.instructions {
        fn walk(e: &Expr, t: &Name, at: &dyn Fn(&[Expr]) -> Expr) -> Expr {
            match e {
                Expr::Name(n) if n == t => at(&[]),
                Expr::Subscript(access) if access.array == *t => at(&access.index),
                _ => e.map_children(&mut |child| walk(child, t, at)),
            }
        }
        let reader = i.clone();
        map_expressions(i, &mut |e| walk(e, t, &|index| at(&reader, index)));
    }
    let pairs = definition.inames.values().flatten().flatten();
    let copies: Vec<(Name, Name)> =
        pairs.filter(|(n, new)| n != new).map(|(n, c)| (n.clone(), c.clone())).collect();
    for (n, new) in copies {
        // The names of the copies that are made for one read.
        let reads = definition.inames.values().flatten().find(|names| names.get(&n) == Some(&new));
        let renamed = |name: &Name| reads?.get(name).map(Aff::var);
        let constraints =
            bounds(data, &n).iter().map(|c| c.substitute(&renamed)).collect::<Result<_, _>>()?;
        data.domains.push(Domain { inames: vec![new], constraints });
    }
    data.temporaries.retain(|a| a.name != *t);
    data.rules.push(definition.rule.clone());
    if data.declared.is_none() && !definition.loops.is_empty() {
        // The order of the text, which for several reductions is not that of the reads.
        let mut text = data.clone();
        text.tree.clear();
        data.tree = LoopKernel::declare(text).map_err(first_of)?.tree.clone();
    }
    Ok(())
}

impl Transform for AssignmentToSubst {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let t = &self.temporary;
        require_temporary(kernel, t)?;
        let declared = kernel.declared();
        if declared.temporary(t).is_none() {
            return Err(refuse(t, "a step has made it".into(), "name a temporary of the declared kernel"));
        }
        let (writer, mut definition) = definition(declared, t)?;
        if !declared.instructions.iter().any(|i| i.expressions().any(|e| e.reads().contains(t))) {
            return Err(refuse(t, "nothing reads it".into(), "name a temporary that is read"));
        }
        sees_only(declared, t, writer)?;
        same_cells(declared, t, &definition)?;
        same_cells(kernel, t, &definition)?;
        definition.inames = inames_of_reads(kernel, &definition)?;
        let after = redeclare(kernel, &|data| replace(data, &definition))?;
        if definition.changes {
            operands_stay(declared, after.declared(), t, writer)?;
            // The new reads have to see these values in the order of the transformed kernel, too.
            if let Some(refusal) = judge(after.declared(), &after).refusal() {
                return Err(refusal);
            }
        }
        Ok(after)
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("each read sees this value, and its operands are still what they were")
    }
}
