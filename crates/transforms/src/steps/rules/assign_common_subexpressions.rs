//! Computes once what several expressions of an iteration have in common.

use loopwright_kernel_ir::{
    Access, AddressSpace, Array, BinaryOp, DType, Diagnostic, Expr, Instruction, KernelData, LoopKernel,
    Name, Part, PartRef, Role, Tree, Type, TypeTable, Typed, TypedKind, UnaryOp, ValueType,
};
use loopwright_legality::Judgement;

use crate::{
    Transform,
    rewrite::{
        extent::last_part,
        fresh, require_fresh, require_instructions,
        rules::{does_what_is_declared, redeclare},
        tree::{path_of, replace_leaf},
    },
};

step! {
    /// `assign_common_subexpressions([a, b])`: computes what expressions of the instructions have
    /// in common once in each iteration, into private scalars.
    ///
    /// # Meaning
    ///
    /// Expressions that occur twice or more in the values of the instructions, as they are written,
    /// become scalars `common`, `common_2`, ..., the largest ones first. A scalar is computed
    /// directly before the first instruction that uses it. What is inside of subscripts, sums and
    /// branches of `if` does not count, since it is computed for other points or not at all. The
    /// declared kernel changes in the same way, and keeps its `origin`, with which `run --verify`
    /// compares.
    ///
    /// Compilers do this too, but for what is read from arrays that they cannot tell apart. Other
    /// steps take the scalar as a value of its own.
    ///
    /// # Legality
    ///
    /// The expressions are operations and functions on integers, f32 or f64, of instructions
    /// without conditions with the same inames. Each use computes them in the type of the scalar:
    /// an `i32` product in an `i64` sum does not wrap as one in an `i32` sum does, and stays. { w :
    /// w writes what the expression reads, between the first and the last of these instructions }
    /// is empty; where something does, they are two expressions. If steps came before, the
    /// transformed kernel is judged against the new declared one.
    ///
    /// In text: `assign_common_subexpressions([a, b])` with the option `name=common`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel turn(x: f32[n], y: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// <> a = exp(-x[i]*y[i]) + x[i]*y[i] {id=first}
    /// y[i] = a + 1.0/(1.0 + exp(-x[i]*y[i])) {id=second}
    /// ")?;
    /// let steps = Pipeline::parse("assign_common_subexpressions([first, second], name=e)")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel turn(x: f32[n], y: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// temp a: f32 private
    /// temp e: f32 private
    /// e = exp(-x[i] * y[i]) {id=set_e}
    /// a = e + x[i] * y[i] {id=first}
    /// y[i] = a + 1.0 / (1.0 + e) {id=second}
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct AssignCommonSubexpressions as "assign_common_subexpressions" {
        /// The instructions, which have the same inames.
        pub instructions: Vec<Name> = next("the instructions, as `[a, b]`") of Instructions,
        /// The name of the first scalar; others get numbers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<Name> = option(),
    }
    table: "assign_common_subexpressions([a, b])" => "–",
    methods: {
        /// See [`AssignCommonSubexpressions`].
        fn assign_common_subexpressions(&self, instructions: impl IntoNames) -> Result<Self, Diagnostic> {
            let instructions = instructions.into_names();
            self.step(AssignCommonSubexpressions { instructions, name: None })
        }
    }
}

/// An expression that becomes a scalar.
#[derive(Clone, Debug, PartialEq)]
struct Common {
    dtype: DType,
    value: Expr,
    /// The instructions that use it, in their order.
    users: Vec<Name>,
}

/// Calls `f` on what an expression always computes, outer before inner.
fn computed(e: &Expr, f: &mut dyn FnMut(&Expr)) {
    f(e);
    match e {
        Expr::Subscript(_) | Expr::Reduce(_) => {}
        Expr::If(c, ..) => computed(c, f),
        // The right side of `and` and `or` may not be computed.
        Expr::Binary(op, a, _) if is_logic(*op) => computed(a, f),
        _ => e.each_child(&mut |child| computed(child, f)),
    }
}

fn is_logic(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::And | BinaryOp::Or)
}

/// The expression with one replaced in what is always computed.
fn replaced(e: &Expr, value: &Expr, by: &Expr) -> Expr {
    if e == value {
        return by.clone();
    }
    match e {
        Expr::Subscript(_) | Expr::Reduce(_) => e.clone(),
        Expr::If(c, a, b) => Expr::If(replaced(c, value, by).into(), a.clone(), b.clone()),
        Expr::Binary(op, a, b) if is_logic(*op) => {
            Expr::Binary(*op, replaced(a, value, by).into(), b.clone())
        }
        _ => e.map_children(&mut |child| replaced(child, value, by)),
    }
}

impl AssignCommonSubexpressions {
    fn refuse(&self, why: String, help: &str) -> Diagnostic {
        Diagnostic::new("common-subexpressions", format!("nothing is computed once: {why}")).help(help)
    }

    /// The instructions of a form of the kernel in the order in which they run: those that do a
    /// declared one of the list, or set a scalar that this step has made.
    fn of<'k>(&self, data: &'k KernelData, made: &[Name]) -> Result<Vec<&'k Instruction>, Diagnostic> {
        let order: Vec<&PartRef> = data.tree.iter().flat_map(Tree::leaves).collect();
        let place = |i: &Instruction| order.iter().position(|part| **part == last_part(data, &i.id));
        let is_listed = |id: &Name| self.instructions.contains(id) || made.contains(id);
        let listed = |i: &&Instruction| i.role.declared().is_some_and(is_listed);
        let mut found: Vec<&Instruction> = data.instructions.iter().filter(listed).collect();
        found.sort_by_key(|i| place(i));
        let Some(first) = found.first() else { return Ok(found) };
        let path = |i: &Instruction| path_of(&data.tree, &last_part(data, &i.id));
        for other in &found {
            if other.within != first.within || path(other) != path(first) {
                let why = format!("`{}` and `{}` run over different inames", first.id, other.id);
                return Err(self.refuse(why, "list instructions of one loop"));
            }
            if other.predicate.is_some() {
                let why = format!("`{}` has a condition", other.id);
                return Err(self.refuse(why, "what it reads may not exist where the condition is false"));
            }
            if other.atom.is_some() || other.scan.is_some() {
                let why = format!("a step has decided how `{}` runs", other.id);
                return Err(self.refuse(why, "apply the step earlier"));
            }
        }
        Ok(found)
    }

    /// The largest expression that occurs twice.
    fn next(&self, data: &KernelData, made: &[Name]) -> Result<Option<Common>, Diagnostic> {
        let instructions = self.of(data, made)?;
        let table = TypeTable::new(data);
        let mut candidates: Vec<(Expr, Vec<Name>)> = Vec::new();
        for i in &instructions {
            computed(&i.value, &mut |e| {
                let is_operation = matches!(e, Expr::Binary(..) | Expr::Call { .. } | Expr::Cast(..))
                    || matches!(e, Expr::Unary(UnaryOp::Neg, _));
                let reads = !e.names().is_empty() || !e.accesses().is_empty();
                if !is_operation || !reads || !e.reductions().is_empty() {
                    return;
                }
                match candidates.iter_mut().find(|(other, _)| other == e) {
                    Some((_, users)) => users.push(i.id.clone()),
                    None => candidates.push((e.clone(), vec![i.id.clone()])),
                }
            });
        }
        let mut best: Option<Common> = None;
        for (value, users) in candidates {
            let own = |name: &Name| data.functions.iter().any(|f| f.name == *name);
            let mut calls_own = false;
            value.visit(&mut |e| calls_own |= matches!(e, Expr::Call { function, .. } if own(function)));
            let Ok(ValueType::Of(Type::Known(dtype))) = table.type_of(&value) else { continue };
            if calls_own || !(dtype.is_float() || dtype.is_integer()) || dtype.bytes() < 4 {
                continue;
            }
            let users: Vec<Name> =
                users.into_iter().filter(|id| computes(data, id, &value, dtype) == Some(true)).collect();
            let users = unchanged(data, &value, &users);
            let larger = best.as_ref().is_none_or(|b| value.size() > b.value.size());
            if users.len() >= 2 && larger {
                best = Some(Common { dtype, value, users });
            }
        }
        Ok(best)
    }

    /// Makes a scalar of the largest expression that occurs twice; `None` if there is none.
    fn assign(
        &self,
        data: &mut KernelData,
        name: &Name,
        id: &Name,
        made: &[Name],
    ) -> Result<Option<Common>, Diagnostic> {
        let Some(mut common) = self.next(data, made)? else { return Ok(None) };
        let Some(first) = common.users.first().and_then(|id| data.instruction(id)).cloned() else {
            return Ok(None);
        };
        let scalar = Expr::Name(name.clone());
        common.users.dedup();
        for i in data.instructions.iter_mut().filter(|i| common.users.contains(&i.id)) {
            i.value = replaced(&i.value, &common.value, &scalar);
        }
        let instruction = Instruction {
            within: first.within.clone(),
            map: first.map.clone(),
            ..Instruction::new(
                id,
                vec![Access::new(name, Vec::new())],
                common.value.clone(),
                Role::Does(id.clone()),
            )
        };
        let part = last_part(data, &first.id);
        let leaf = Tree::Leaf(PartRef { instruction: id.clone(), part: Part::Whole });
        data.tree = replace_leaf(&data.tree, &part, &[leaf, Tree::Leaf(part.clone())]);
        let at = data.instructions.iter().position(|i| i.id == first.id).unwrap_or_default();
        data.instructions.insert(at, instruction);
        data.temporaries.push(Array::new(name, common.dtype, Vec::new(), AddressSpace::Private));
        Ok(Some(common))
    }
}

/// Whether an instruction computes the expression in this type, and nothing else by having a scalar
/// of the type in its place.
fn computes(data: &KernelData, id: &Name, value: &Expr, dtype: DType) -> Option<bool> {
    let i = data.instruction(id)?;
    let [target] = i.targets.as_slice() else { return None };
    let wanted = data.array(&target.array)?.dtype.known()?;
    let table = TypeTable::new(data);
    let scalar = fresh(data, "common");
    let with = replaced(&i.value, value, &Expr::Name(scalar.clone()));
    let mut with_scalar = data.clone();
    with_scalar.temporaries.push(Array::new(&scalar, dtype, Vec::new(), AddressSpace::Private));
    let new = TypeTable::new(&with_scalar).typed(&with, wanted, None).ok()?;
    let own = table.typed(value, dtype, None).ok()?;
    let old = table.typed(&i.value, wanted, None).ok()?;
    Some(in_place(&new, &scalar, &own) == old)
}

/// The typed expression with one in place of a scalar.
fn in_place(e: &Typed, scalar: &Name, by: &Typed) -> Typed {
    let one = |e: &Typed| Box::new(in_place(e, scalar, by));
    let kind = match &e.kind {
        TypedKind::Name(name) if name == scalar => return by.clone(),
        TypedKind::Constant(_) | TypedKind::Name(_) | TypedKind::Reduction(_) | TypedKind::Element { .. } => {
            return e.clone();
        }
        TypedKind::Unary(op, a) => TypedKind::Unary(*op, one(a)),
        TypedKind::Binary(op, a, b) => TypedKind::Binary(*op, one(a), one(b)),
        TypedKind::If(c, a, b) => TypedKind::If(one(c), one(a), one(b)),
        TypedKind::Convert(a) => TypedKind::Convert(one(a)),
        TypedKind::Cast(a) => TypedKind::Cast(one(a)),
        TypedKind::Call { function, precision, args } => TypedKind::Call {
            function: function.clone(),
            precision: *precision,
            args: args.iter().map(|a| in_place(a, scalar, by)).collect(),
        },
    };
    Typed { dtype: e.dtype, kind }
}

/// The first users between which nothing writes what the expression reads, of which there are at
/// least two; none if there are none.
fn unchanged(data: &KernelData, value: &Expr, users: &[Name]) -> Vec<Name> {
    let reads = value.reads();
    let order: Vec<&PartRef> = data.tree.iter().flat_map(Tree::leaves).collect();
    let place = |id: &Name| order.iter().position(|part| **part == last_part(data, id));
    let writes = |part: &PartRef| {
        let i = data.instruction(&part.instruction);
        i.is_some_and(|i| i.targets.iter().any(|t| reads.contains(&t.array)))
    };
    for from in 0..users.len() {
        let Some(first) = place(&users[from]) else { continue };
        // The instruction that writes still uses what was there before.
        let end = (first..order.len()).find(|k| writes(order[*k])).unwrap_or(order.len());
        let group: Vec<Name> =
            users[from..].iter().filter(|id| place(id).is_some_and(|k| k <= end)).cloned().collect();
        if group.len() >= 2 {
            return group;
        }
    }
    Vec::new()
}

impl Transform for AssignCommonSubexpressions {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        require_instructions(kernel.declared(), &self.instructions)?;
        if let Some(name) = &self.name {
            require_fresh(kernel, name, "name")?;
        }
        let stem = self.name.clone().unwrap_or_else(|| Name::new("common"));
        let mut after = kernel.clone();
        let mut made: Vec<Name> = Vec::new();
        loop {
            let name = fresh(&after, &stem);
            let id = fresh(&after, &format!("set_{name}"));
            if self.next(after.declared(), &made)?.is_none() {
                break;
            }
            let changed = redeclare(&after, &|data| {
                let found = self.assign(data, &name, &id, &made)?;
                match found.is_some() {
                    true => Ok(()),
                    false => Err(self.refuse(
                        "steps have changed expressions that occurred twice".into(),
                        "apply the step earlier",
                    )),
                }
            })?;
            // Both forms have the same uses, or the new scalar is not that of the declared kernel.
            let used = |data: &KernelData| {
                let mut all: Vec<(Name, usize)> = Vec::new();
                for i in &data.instructions {
                    let mut n = 0;
                    i.value.visit(&mut |e| n += usize::from(matches!(e, Expr::Name(x) if *x == name)));
                    if let (Some(of), 1..) = (i.role.declared(), n) {
                        all.push((of.clone(), n));
                    }
                }
                all.sort();
                all
            };
            if used(&changed) != used(changed.declared()) {
                let why = "steps have changed expressions that occurred twice".into();
                return Err(self.refuse(why, "apply the step earlier"));
            }
            after = changed;
            made.push(id);
        }
        if after == *kernel {
            let why = "no subexpression can be computed once for several uses".into();
            let help = "a subexpression is to occur twice as it is written, in one type of integers, f32 or \
                        f64 that its place leaves as it is, where it is always computed, and without \
                        writes between to what it reads";
            return Err(self.refuse(why, help));
        }
        does_what_is_declared(after)
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("nothing writes what the expression reads between its uses")
    }
}
