//! Computes the values of a rule into a temporary.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Array, Axis, BinaryOp, Constraint, DType, Diagnostic, Domain, Expr,
    Instruction, KernelData, LoopKernel, Name, Role, Rule, Tree, Type, TypeTable, ValueType,
};
use loopwright_legality::{Judgement, context};
use loopwright_poly::System;

use crate::{
    Transform, names,
    rewrite::{
        extent::instances_of,
        footprint::{self, Read},
        fresh,
        rule_uses::{bounds, reduced, replace, replace_all, with_inames},
        rules::{first_of, is_of_its_own_type, redeclare},
    },
};

step! {
    /// `subst_to_assignment(f)`: computes the values of the rule `f` that the kernel uses into a
    /// temporary `f`, ahead of everything else.
    ///
    /// # Meaning
    ///
    /// Along each parameter, the arguments of all uses lie in a range, which is a function of the
    /// kernel's parameters. A new instruction `f`, before all others, computes the rule's values in
    /// the box of these ranges into a temporary in global memory, and each use reads its element.
    /// The rule is gone. The declared kernel changes in the same way, so that later steps relate to
    /// it: [`Precompute`](crate::Precompute) moves the computation to the uses, tile by tile.
    ///
    /// # Legality
    ///
    /// The rule's value reads only arguments that the kernel does not write, at affine subscripts;
    /// it divides no integer by a variable; its parameters stand in subscripts only, and its type,
    /// f32, f64 or an integer, does not depend on where it is used: of an integer type it is a cast
    /// or an element, since sums of integers are computed as wide as they are wanted. It may be a
    /// sum, product, minimum or maximum, or have such reductions in it, over inames whose bounds
    /// are functions of the kernel's parameters: the new instruction has loops of its own over
    /// copies of them. Uses have affine arguments and are not themselves in subscripts; reductions
    /// are compared up to the names of inames with equal bounds. The box has to be within the
    /// arrays that the value reads, as the declared kernel of a text has to prove: { (b, e) : the
    /// value at the point b of the box reads e, which is outside of its array, or which the kernel
    /// writes } is empty.
    ///
    /// In text: `subst_to_assignment(f)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel blur(x: f32[n], w: f32[n], y: f32[n], n: i32)
    /// assume 3 <= n
    /// rule f(i) = x[i]*w[i]
    /// domain { [j] : 1 <= j < n - 1 }
    /// y[j] = f(j - 1) + f(j) + f(j + 1) {id=blur}
    /// ")?;
    /// let steps = Pipeline::parse("subst_to_assignment(f)")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel blur(x: f32[n], w: f32[n], y: f32[n], n: i32)
    /// assume 3 <= n
    /// domain { [j] : 1 <= j <= n - 2 }
    /// domain { [f_i] : 0 <= f_i < n }
    /// temp f: f32[n] global
    /// f[f_i] = x[f_i] * w[f_i] {id=set_f}
    /// y[j] = f[j - 1] + f[j] + f[j + 1] {id=blur}
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A sum of which two elements of the result use the same values:
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel slopes(x: f32[n + 1, m], y: f32[n], n: i32, m: i32)
    /// assume 1 <= n and 0 <= m
    /// rule row(r) = sum(k, x[r, k])
    /// domain { [i, k] : 0 <= i < n and 0 <= k < m }
    /// y[i] = row(i + 1) - row(i) {id=slope}
    /// ")?;
    /// let steps = Pipeline::parse("subst_to_assignment(row)")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel slopes(x: f32[n + 1, m], y: f32[n], n: i32, m: i32)
    /// assume 1 <= n and 0 <= m
    /// domain { [i, k] : 0 <= i < n and 0 <= k < m }
    /// domain { [row_r] : 0 <= row_r <= n }
    /// domain { [row_k] : 0 <= row_k < m }
    /// temp row: f32[n + 1] global
    /// row[row_r] = sum(row_k, x[row_r, row_k]) {id=set_row}
    /// y[i] = row[i + 1] - row[i] {id=slope}
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct SubstToAssignment as "subst_to_assignment" {
        /// The rule that becomes a temporary, of the same name.
        pub rule: Name = next("the rule"),
    }
    table: "subst_to_assignment(f)" => "`precompute(k, \"f\")` into global memory",
    methods: {
        /// See [`SubstToAssignment`].
        fn subst_to_assignment(&self, rule: &str) -> Result<Self, Diagnostic> {
            self.step(SubstToAssignment { rule: rule.into() })
        }
    }
}

fn refuse(rule: &Name, why: String, help: &str) -> Diagnostic {
    Diagnostic::new("rule-values", format!("the values of `{rule}` cannot be computed ahead: {why}"))
        .help(help)
}

/// The type of the rule's values; refuses rules whose values depend on their place.
fn check(declared: &LoopKernel, rule: &Rule) -> Result<Type, Diagnostic> {
    let name = &rule.name;
    if rule.parameters.is_empty() {
        return Err(refuse(name, "it has no parameter".into(), "assign it to a scalar"));
    }
    let own = reduced(&rule.value);
    for r in rule.value.reductions() {
        if !["sum", "product", "min", "max"].contains(&r.op.as_str()) {
            let help = "assign the reduction to a temporary in the text";
            return Err(refuse(name, format!("its value has a reduction by `{}`", r.op), help));
        }
    }
    for iname in &own {
        let others = bounds(declared, iname).into_iter().flat_map(|c| c.names());
        let data = |n: &Name| declared.temporary(n).is_some() || declared.is_iname(n) && !own.contains(n);
        if let Some(other) = others.into_iter().find(data) {
            let why = format!("it reduces over `{iname}`, whose bounds depend on `{other}`");
            return Err(refuse(name, why, "reduce over an iname with bounds by parameters"));
        }
    }
    let mut wrong = None;
    fn outside(e: &Expr, f: &mut dyn FnMut(&Name)) {
        match e {
            Expr::Name(n) => f(n),
            Expr::Subscript(_) => {}
            _ => e.each_child(&mut |child| outside(child, f)),
        }
    }
    outside(&rule.value, &mut |n| {
        if rule.parameters.contains(n) {
            wrong.get_or_insert(format!(
                "its value uses `{n}` outside of subscripts, in the type of an argument"
            ));
        }
    });
    let written = |n: &Name| declared.instructions.iter().any(|i| i.targets.iter().any(|x| x.array == *n));
    rule.value.visit(&mut |e| {
        let why = match e {
            Expr::Subscript(a) if written(&a.array) => format!("the kernel writes `{}`", a.array),
            // The box may have points at which the kernel does not use the rule.
            Expr::Subscript(a) if a.index.iter().any(|e| e.to_aff().is_none()) => {
                format!("a subscript of `{a}` is not affine, and may be out of bounds where it is not used")
            }
            Expr::Binary(BinaryOp::FloorDiv | BinaryOp::Mod, _, d) if !matches!(**d, Expr::Int(1..)) => {
                format!("it divides by `{d}`, which may be zero where the rule is not used")
            }
            // A parameter hides an array of its name.
            Expr::Name(n) if rule.parameters.contains(n) => return,
            Expr::Name(n) if written(n) => format!("the kernel writes `{n}`"),
            Expr::Name(n) if declared.is_iname(n) && !own.contains(n) => {
                format!("its value depends on the iname `{n}`, which is not a parameter")
            }
            _ => return,
        };
        wrong.get_or_insert(why);
    });
    if let Some(why) = wrong {
        return Err(refuse(name, why, "the value has to be a function of the parameters alone"));
    }
    // Parameters are in subscripts only, so that all uses have one type.
    let mut used = None;
    for i in &declared.instructions {
        for e in [&i.value].into_iter().chain(&i.predicate) {
            replace(declared, e, rule, &mut |arguments| {
                used.get_or_insert(arguments);
                Expr::Int(0)
            });
        }
    }
    let Some(arguments) = used else {
        return Err(refuse(name, "nothing uses it as a value".into(), "uses in subscripts do not count"));
    };
    // What is of an integer type is computed at the width that is wanted of it, but for a cast and
    // an element.
    let is_fixed = |dtype: DType| match dtype {
        t if t.is_float() => t.bytes() >= 4 && is_of_one_type(&rule.value),
        t => t.is_integer() && matches!(rule.value, Expr::Cast(..) | Expr::Subscript(_)),
    };
    match TypeTable::new(declared).type_of(&rule.applied(&arguments)?)? {
        ValueType::Of(t @ Type::Known(dtype)) if is_fixed(dtype) => Ok(t),
        t => {
            let to = match &t {
                ValueType::Of(Type::Known(dtype)) if dtype.is_integer() || dtype.bytes() >= 4 => *dtype,
                _ => DType::F32,
            };
            let help = format!(
                "cast it: `rule {name}({}) = cast({to}, {})`",
                names::comma(&rule.parameters),
                rule.value
            );
            Err(refuse(name, format!("its type is {t}, and may be another where it is used"), &help))
        }
    }
}

/// Whether the type of an expression does not depend on its place; that of a reduction is the type
/// of what it reduces.
fn is_of_one_type(e: &Expr) -> bool {
    match e {
        Expr::Reduce(r) => r.args.iter().all(is_of_one_type),
        e => is_of_its_own_type(e),
    }
}

/// The number of uses in each instruction.
fn uses(data: &KernelData, rule: &Rule) -> Vec<(Name, usize)> {
    let mut found = Vec::new();
    for i in &data.instructions {
        let mut count = 0;
        for e in [&i.value].into_iter().chain(&i.predicate) {
            replace(data, e, rule, &mut |_| {
                count += 1;
                Expr::Int(0)
            });
        }
        if count > 0 {
            found.push((i.id.clone(), count));
        }
    }
    found
}

/// The least and the greatest value on an axis of all reads, as functions of the kernel's
/// parameters.
fn hull(data: &KernelData, rule: &Name, reads: &[Read], axis: usize) -> Result<(Aff, Aff), Diagnostic> {
    let is_parameter = |n: &Name| !data.is_iname(n) && data.temporary(n).is_none();
    let value = Name::new("value of an argument");
    let mut systems = Vec::new();
    let (mut lows, mut highs) = (Vec::new(), Vec::new());
    for read in reads {
        let equal = Constraint::equal(&Aff::var(&value), &read.index[axis])?;
        let system = instances_of(data, &read.part)?.with(&read.under)?.with(&[equal])?;
        let bounds = system.bounds(&value, &is_parameter)?;
        for bound in &bounds.lower {
            lows.push(bound.ceil()?);
        }
        for bound in &bounds.upper {
            highs.push(bound.floor()?);
        }
        systems.push(system);
    }
    let end = |candidates: &[Aff], is_low: bool| -> Result<Aff, Diagnostic> {
        for candidate in candidates {
            let of = Aff::var(&value);
            let row = match is_low {
                true => Constraint::le(candidate, &of)?,
                false => Constraint::le(&of, candidate)?,
            };
            let mut holds = true;
            for system in &systems {
                holds = holds && system.implies(&row)?;
            }
            if holds {
                return Ok(candidate.clone());
            }
        }
        let which = if is_low { "least" } else { "greatest" };
        let why = format!("the {which} argument on axis {axis} is not one function of the parameters");
        Err(refuse(rule, why, "split the uses, or assign the values in the text"))
    };
    Ok((end(&lows, true)?, end(&highs, false)?))
}

/// The new instruction and its place.
struct New {
    array: Array,
    instruction: Instruction,
    domains: Vec<Domain>,
    tree: Vec<Tree>,
    lows: Vec<Aff>,
}

impl New {
    fn add(&self, data: &mut KernelData, rule: &Rule) -> Result<(), Diagnostic> {
        let mut failed = None;
        replace_all(data, rule, &mut |arguments| {
            let mut index = Vec::new();
            for (argument, low) in arguments.iter().zip(&self.lows) {
                match argument.to_aff().and_then(|a| a.sub(low).ok()) {
                    Some(aff) => index.push(Expr::from_aff(&aff)),
                    None => {
                        let why = format!("the argument `{argument}` is not affine");
                        failed.get_or_insert(refuse(&rule.name, why, "use affine arguments"));
                    }
                }
            }
            Expr::Subscript(Access::new(&rule.name, index))
        })?;
        if let Some(d) = failed {
            return Err(d);
        }
        data.rules.retain(|r| r.name != rule.name);
        data.temporaries.push(self.array.clone());
        data.domains.extend(self.domains.iter().cloned());
        data.tree.splice(0..0, self.tree.iter().cloned());
        data.instructions.insert(0, self.instruction.clone());
        Ok(())
    }
}

/// Copies of the inames over which the rule reduces, with their domains, one for each.
fn copies(kernel: &LoopKernel, rule: &Rule) -> Result<(BTreeMap<Name, Name>, Vec<Domain>), Diagnostic> {
    let mut own = reduced(&rule.value);
    // Outer inames of a domain first.
    let declared = kernel.declared();
    let place = |n: &Name| {
        let all = declared.domains.iter().flat_map(|d| &d.inames);
        all.into_iter().position(|i| i == n)
    };
    own.sort_by_key(place);
    own.dedup();
    let names: BTreeMap<Name, Name> =
        own.iter().map(|n| (n.clone(), fresh(kernel, &format!("{}_{n}", rule.name)))).collect();
    let mut domains = Vec::new();
    for n in &own {
        let renamed = |c: &Constraint| c.substitute(&|n| names.get(n).map(Aff::var));
        let constraints = bounds(declared, n).iter().map(renamed).collect::<Result<_, _>>()?;
        domains.push(Domain { inames: names.get(n).into_iter().cloned().collect(), constraints });
    }
    Ok((names, domains))
}

impl Transform for SubstToAssignment {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let name = &self.rule;
        let Some(rule) = kernel.rules.iter().find(|r| r.name == *name).cloned() else {
            let known: Vec<&str> = kernel.rules.iter().map(|r| r.name.as_str()).collect();
            let d = Diagnostic::new("unknown-rule", format!("the kernel has no rule `{name}`"));
            return Err(match (names::nearest(name, known.iter().copied()), known.is_empty()) {
                (Some(near), _) => d.help(format!("did you mean `{near}`?")),
                (None, true) => d.help("declare it in the text, or by `extract_subst(f, [i], x[i]*w[i])`"),
                (None, false) => d.help(format!("its rules are {}", names::list(known))),
            });
        };
        let declared = kernel.declared();
        let dtype = check(declared, &rule)?;
        let per_instruction = |data: &KernelData| -> Vec<(Name, usize)> {
            let mut found: Vec<(Name, usize)> = uses(data, &rule)
                .into_iter()
                .filter_map(|(id, count)| Some((data.instruction(&id)?.role.declared()?.clone(), count)))
                .collect();
            found.sort();
            found.dedup();
            found
        };
        if per_instruction(declared) != per_instruction(kernel) {
            let why = "steps have rewritten expressions that use it".into();
            return Err(refuse(name, why, "apply the step earlier"));
        }
        // The reads of the temporary, before its shape is known.
        let rank = rule.parameters.len();
        let axes = vec![Axis::new(Expr::Int(1)); rank];
        let mut probe = (**declared).clone();
        replace_all(&mut probe, &rule, &mut |arguments| Expr::Subscript(Access::new(name, arguments)))?;
        probe.rules.retain(|r| r.name != *name);
        probe.temporaries.push(Array::new(name, dtype.clone(), axes, AddressSpace::Global));
        let reads = footprint::reads_of(&probe, name, &[])?;
        let mut inames: Vec<Name> = Vec::new();
        let (mut lows, mut lengths) = (Vec::new(), Vec::new());
        for (axis, parameter) in rule.parameters.iter().enumerate() {
            let (low, high) = hull(&probe, name, &reads, axis)?;
            lengths.push(high.sub(&low)?.add_constant(1)?);
            lows.push(low);
            inames.push(fresh(kernel, &format!("{name}_{parameter}")));
        }
        let mut constraints = Vec::new();
        for (iname, length) in inames.iter().zip(&lengths) {
            constraints.push(Constraint::nonneg(Aff::var(iname)));
            constraints.push(Constraint::lt(&Aff::var(iname), length)?);
        }
        let mut arguments = Vec::new();
        for (iname, low) in inames.iter().zip(&lows) {
            arguments.push(Expr::from_aff(&Aff::var(iname).add(low)?));
        }
        let (names, mut reduced) = copies(kernel, &rule)?;
        let value = with_inames(&rule.applied(&arguments)?, &names);
        let target = Access::new(name, inames.iter().map(|n| Expr::Name(n.clone())).collect());
        let id = fresh(kernel, &format!("set_{name}"));
        let instruction = Instruction {
            within: inames.clone(),
            ..Instruction::new(&id, vec![target], value, Role::Does(id.clone()))
        };
        // Where nothing is read there are no values, and no length is negative.
        let known = System::new(&context(kernel))?;
        let mut axes = Vec::new();
        for length in &lengths {
            let room = match known.constant_range(length)?.0 {
                Some(least) if least < 0 => length.add_constant(least.saturating_neg())?,
                _ => length.clone(),
            };
            axes.push(Axis::new(Expr::from_aff(&room)));
        }
        let mut domains = vec![Domain { inames, constraints }];
        domains.append(&mut reduced);
        let array = Array::new(name, dtype, axes, AddressSpace::Global);
        // Its loops are those of a kernel that consists of it.
        let mut alone = (**declared).clone();
        alone.tree.clear();
        alone.instructions = vec![instruction.clone()];
        alone.domains.clone_from(&domains);
        alone.temporaries.push(array.clone());
        let tree = LoopKernel::declare(alone).map_err(first_of)?.tree.clone();
        let new = New { array, instruction, domains, tree, lows };
        redeclare(kernel, &|data| new.add(data, &rule))
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("nothing writes what the rule reads, so its values are the same at any time")
    }
}
