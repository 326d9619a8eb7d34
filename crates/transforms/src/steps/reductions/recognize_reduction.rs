//! Makes a reduction of a loop that accumulates.

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, BinaryOp, Constraint, DType, Diagnostic, Expr, Instruction, KernelData,
    Lookup, LoopKernel, Name, Part, PartRef, Reduce, Role, Tag, Tree, Type, TypeTable, ValueType,
};
use loopwright_legality::Judgement;
use loopwright_poly::{Set, System};

use crate::{
    Transform, names,
    rewrite::{
        body_of, element,
        extent::instances_of,
        own_loop::with_own_loop,
        require_iname, require_instructions,
        rules::{in_its_type, redeclare},
        tree, unknown_instruction,
    },
};

step! {
    /// `recognize_reduction(id, k)`: a loop in which an instruction adds to one element becomes a
    /// reduction.
    ///
    /// # Meaning
    ///
    /// `acc = acc + e`, executed for all `k`, becomes `acc = acc + sum(k, e)`, executed once: a
    /// reduction, which other steps can split, spread over threads and blocks, and scan. The
    /// operator may be `+`, `-`, `*`, or `min` and `max` of integers. An update, `acc += e`,
    /// becomes one by the reduction, `acc += sum(k, e)`. The declared kernel changes in the same
    /// way, and keeps its `origin`, with which `run --verify` compares.
    ///
    /// Floating-point values are then added to the sum of the others, which begins with zero,
    /// instead of to `acc`, and later steps may add them in any order: they are rounded
    /// differently, and a negative zero that nothing is added to becomes a positive one.
    ///
    /// # Legality
    ///
    /// The loop over `k` is untagged and contains nothing but the instruction, in the declared
    /// kernel as well. Where it contains others, it is cut as [`Distribute`](crate::Distribute)
    /// cuts it, in both: the instruction gets a loop over an iname of its own, behind the others or
    /// ahead of them, and inside of the loops that it is in. { (x, y) : y needs x, and is before it
    /// then } has to be empty. The element does not depend on `k`, neither `e` nor the element's
    /// subscripts read its array, and there is no condition. So { (e, f) : e, f write other
    /// elements than the one, or read what the loop writes } is empty, and the values are combined
    /// with the element and nothing else. Where the loop may have no iteration, the element is read
    /// and written all the same: then its subscripts are functions of inames and sizes, which
    /// differ wherever tagged inames around the loop do, and a temporary has been assigned before.
    /// The types of the element and of `e` are both integers or both floating-point, the element's
    /// of at least 32 bits; sums and products of integers are the same modulo a power of two in any
    /// order.
    ///
    /// In text: `recognize_reduction(id, k)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel rows(x: f32[n, m], y: f32[n], n: i32, m: i32)
    /// domain { [i, k] : 0 <= i < n and 0 <= k < m }
    /// temp acc: f32 private
    /// for i {
    ///     acc = 0.0 {id=zero}
    ///     for k {
    ///         acc = acc + x[i, k] {id=add}
    ///     }
    ///     y[i] = acc {id=store}
    /// }
    /// ")?;
    /// let steps = Pipeline::parse("recognize_reduction(add, k)")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel rows(x: f32[n, m], y: f32[n], n: i32, m: i32)
    /// domain { [i, k] : 0 <= i < n and 0 <= k < m }
    /// temp acc: f32 private
    /// acc = 0.0 {id=zero, inames=i}
    /// acc = acc + sum(k, x[i, k]) {id=add, inames=i}
    /// y[i] = acc {id=store, inames=i}
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct RecognizeReduction as "recognize_reduction" {
        /// The instruction that accumulates, by its id.
        pub id: Name = next("the instruction that accumulates"),
        /// The iname of the loop.
        pub iname: Name = next("the iname of the loop"),
    }
    table: "recognize_reduction(id, k)" => "–",
    methods: {
        /// See [`RecognizeReduction`].
        fn recognize_reduction(&self, id: &str, iname: &str) -> Result<Self, Diagnostic> {
            self.step(RecognizeReduction { id: id.into(), iname: iname.into() })
        }
    }
}

/// An accumulation: the value is the element, combined by an operator with terms.
struct Accumulation {
    operator: &'static str,
    /// What is combined with it, of which all but the first are added or subtracted.
    terms: Vec<(BinaryOp, Expr)>,
    /// Whether the terms are subtracted from the element.
    is_subtracted: bool,
}

/// What is added to the element in a chain of sums and differences. Each term is computed by
/// itself, as in the chain, where it meets the element first.
fn terms(e: &Expr, of: &Expr) -> Option<Vec<(BinaryOp, Expr)>> {
    if e == of {
        return Some(Vec::new());
    }
    let Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) = e else { return None };
    if let Some(mut left) = terms(a, of) {
        left.push((*op, (**b).clone()));
        return Some(left);
    }
    let mut right = terms(b, of).filter(|_| *op == BinaryOp::Add)?;
    right.insert(0, (BinaryOp::Add, (**a).clone()));
    Some(right)
}

fn accumulation(value: &Expr, of: &Expr) -> Option<Accumulation> {
    let one = |operator, term: &Expr| {
        let terms = vec![(BinaryOp::Add, term.clone())];
        Some(Accumulation { operator, terms, is_subtracted: false })
    };
    match value {
        Expr::Binary(BinaryOp::Sub, a, b) if **a == *of => {
            one("sum", b).map(|found| Accumulation { is_subtracted: true, ..found })
        }
        Expr::Binary(BinaryOp::Add | BinaryOp::Sub, ..) => {
            let terms = terms(value, of)?;
            let begins = terms.first().is_some_and(|(op, _)| *op == BinaryOp::Add);
            begins.then_some(Accumulation { operator: "sum", terms, is_subtracted: false })
        }
        Expr::Binary(BinaryOp::Mul, a, b) if **a == *of => one("product", b),
        Expr::Binary(BinaryOp::Mul, a, b) if **b == *of => one("product", a),
        Expr::Call { function, precision: None, args } => {
            let operator = ["min", "max"].into_iter().find(|f| **f == **function)?;
            match args.as_slice() {
                [a, b] if a == of => one(operator, b),
                [a, b] if b == of => one(operator, a),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A term in the type of the element, such that its sum is what the terms add to the element one by
/// one: exactly for integers, up to rounding otherwise. `None` if it would not be.
fn in_type(data: &KernelData, operator: &str, term: &Expr, dtype: DType) -> Option<Expr> {
    let table = TypeTable::new(data);
    let own = table.type_of(term).ok()?;
    let same = own == ValueType::Of(Type::Known(dtype));
    let alike = match &own {
        ValueType::Of(Type::Known(DType::Bool)) | ValueType::Of(Type::Open(_)) => false,
        // Of a wider type, differences would be lost.
        ValueType::Of(Type::Known(t)) if t.is_float() => dtype.is_float() && t.bytes() <= dtype.bytes(),
        ValueType::FloatLiteral => dtype.is_float(),
        _ => !dtype.is_float(),
    };
    let takes = match operator {
        "min" | "max" => same && dtype.is_integer(),
        _ => alike && (dtype.is_float() || dtype.is_integer()) && dtype.bytes() >= 4,
    };
    if !takes {
        return None;
    }
    // What a reduction takes is computed in its own type.
    let alone = table.typed_alone(term, None).ok();
    match same && alone.is_some() && alone == table.typed(term, dtype, None).ok() {
        true => Some(term.clone()),
        false => in_its_type(data, term, dtype),
    }
}

/// Whether no two instances that differ in an iname have the same subscripts.
fn is_alone(data: &KernelData, instances: &System, subscripts: &[Aff], n: &Name) -> Result<bool, Diagnostic> {
    let other = |name: &Name| data.is_iname(name).then(|| Name::new(format!("{name}'")));
    let mut rows = instances.constraints().to_vec();
    for c in instances.constraints() {
        rows.push(Constraint { kind: c.kind, aff: c.aff.rename(&other)? });
    }
    for s in subscripts {
        rows.push(Constraint::equal(s, &s.rename(&other)?)?);
    }
    rows.push(Constraint::lt(&Aff::var(n), &Aff::var(n).rename(&other)?)?);
    Ok(System::new(&rows)?.is_empty()?)
}

/// Whether an instruction has assigned, before all instances of a part, the elements of an array
/// with these subscripts: in loops around both, or in loops over the elements themselves.
fn has_written(
    data: &KernelData,
    w: &Instruction,
    (array, subscripts): (&Name, &[Aff]),
    (part, instances): (&PartRef, &System),
) -> Result<bool, Diagnostic> {
    let lookup = Lookup::new(data);
    let parts = data.parts(w);
    let ([target], Some(last), None, None) = (w.targets.as_slice(), parts.last(), &w.predicate, &w.update)
    else {
        return Ok(false);
    };
    let order: Vec<&PartRef> = data.tree.iter().flat_map(Tree::leaves).collect();
    let place = |part: &PartRef| order.iter().position(|leaf| *leaf == part);
    if target.array != *array || place(last) > place(part) {
        return Ok(false);
    }
    let around = lookup.part_inames(part);
    // Which of its instances writes the element: the inames that are its own are subscripts.
    let mut own: Vec<(Name, Aff)> = Vec::new();
    let mut rows = Vec::new();
    for (e, s) in target.index.iter().zip(subscripts) {
        match e {
            Expr::Name(n)
                if w.within.contains(n) && !around.contains(n) && own.iter().all(|(o, _)| o != n) =>
            {
                own.push((n.clone(), s.clone()));
            }
            _ => match e.to_aff() {
                Some(aff) => rows.push(Constraint::equal(&lookup.expand(&aff)?, s)?),
                None => return Ok(false),
            },
        }
    }
    let known = |n: &Name| around.contains(n) || own.iter().any(|(o, _)| o == n);
    if target.index.len() != subscripts.len() || !w.within.iter().all(known) {
        return Ok(false);
    }
    rows.extend(instances_of(data, last)?.constraints().iter().cloned());
    for c in &mut rows {
        c.aff = c.aff.substitute(&|n| own.iter().find(|(o, _)| o == n).map(|(_, s)| s.clone()))?;
    }
    Ok(instances.implies_all(&rows)?)
}

impl RecognizeReduction {
    fn refuse(&self, why: String, help: &str) -> Diagnostic {
        let (id, iname) = (&self.id, &self.iname);
        let message = format!("the loop over `{iname}` is no reduction by `{id}`: {why}");
        Diagnostic::new("not-a-reduction", message).help(help)
    }

    /// The new value of the instruction.
    fn value(&self, data: &KernelData, i: &Instruction) -> Result<Expr, Diagnostic> {
        let k = &self.iname;
        let [Access { array, index }] = i.targets.as_slice() else {
            return Err(self.refuse("it writes several elements".into(), "use an instruction for each"));
        };
        if i.predicate.is_some() {
            return Err(self.refuse(
                "it has a condition".into(),
                "write `acc = acc + e if c` as `acc = acc + if(c, e, 0)`",
            ));
        }
        if i.scan.is_some() || i.atom.is_some() {
            return Err(self.refuse("a step has decided how it runs".into(), "apply the step earlier"));
        }
        let own =
            data.definitions.iter().any(|d| d.value.mentions(k)) || i.map.values().any(|v| v.mentions(k));
        if own || i.map.contains_key(k) {
            return Err(self.refuse(format!("a step has changed what `{k}` is"), "apply the step earlier"));
        }
        if index.iter().any(|e| e.names().contains(k)) {
            return Err(self.refuse(
                format!("it writes another element for each `{k}`"),
                "only values that are combined into one element are a reduction",
            ));
        }
        let of = element(array, index.clone());
        let updated = match &i.update {
            None => None,
            Some(update) => match ["sum", "min", "max", "product"].iter().find(|op| **op == update.name()) {
                Some(operator) => Some(Accumulation {
                    operator,
                    terms: vec![(BinaryOp::Add, i.value.clone())],
                    is_subtracted: false,
                }),
                None => {
                    return Err(self.refuse(
                        format!("it is an update by `{}`", update.name()),
                        "updates by sums, products, minima and maxima can be taken together",
                    ));
                }
            },
        };
        let Some(found) = updated.or_else(|| accumulation(&i.value, &of)) else {
            return Err(self.refuse(
                format!("its value does not combine `{of}` with something by `+`, `-`, `*`, `min` or `max`"),
                "write it as `acc = acc + e`",
            ));
        };
        if index.iter().any(|e| e.accesses().iter().any(|a| a.array == *array)) {
            return Err(self.refuse(
                format!("which element of `{array}` it writes depends on `{array}`"),
                "only values that are combined into one element are a reduction",
            ));
        }
        for (_, term) in &found.terms {
            if term.reads().contains(array) {
                return Err(self.refuse(
                    format!("what it adds reads `{array}` as well"),
                    "only a value that does not depend on what was added before can be",
                ));
            }
        }
        let dtype = data.array(array).and_then(|a| a.dtype.known());
        let mut term: Option<Expr> = None;
        for (op, e) in &found.terms {
            let Some(e) = dtype.and_then(|d| in_type(data, found.operator, e, d)) else {
                if matches!(found.operator, "min" | "max") && dtype.is_some_and(DType::is_float) {
                    return Err(self.refuse(
                        format!(
                            "of floating-point numbers it is another one: where `{of}` and all of `{e}` are \
                             NaN, the loop leaves NaN, and a `{0}` over no number is not NaN",
                            found.operator
                        ),
                        "write the reduction itself in the text, if that may be",
                    ));
                }
                return Err(self.refuse(
                    format!("`{e}` would be combined in another type than that of `{of}`"),
                    "sums and products are taken of integers, or of f32 and f64 into no narrower type, \
                     `min` and `max` of integers of one type; cast what is added to the type of the \
                     element",
                ));
            };
            term = Some(match term {
                Some(before) => Expr::binary(*op, before, e),
                None => e,
            });
        }
        let args = term.into_iter().collect();
        let reduce =
            Expr::Reduce(Reduce { op: Name::new(found.operator), inames: vec![k.clone()], args }.into());
        if i.update.is_some() {
            return Ok(reduce);
        }
        Ok(match (found.operator, found.is_subtracted) {
            ("sum", false) => Expr::binary(BinaryOp::Add, of, reduce),
            ("sum", true) => Expr::binary(BinaryOp::Sub, of, reduce),
            ("product", _) => Expr::binary(BinaryOp::Mul, of, reduce),
            (operator, _) => {
                Expr::Call { function: Name::new(operator), precision: None, args: vec![of, reduce] }
            }
        })
    }

    /// Whether each execution of the reduction has an iteration of the loop that it stands for.
    fn never_empty(
        &self,
        before: &KernelData,
        last: &PartRef,
        after: &KernelData,
    ) -> Result<bool, Diagnostic> {
        let finish = PartRef { instruction: self.id.clone(), part: Part::Finish };
        let new = instances_of(after, &finish)?;
        let iterations = match instances_of(before, last)?.project_exactly(&|n| *n == self.iname) {
            Ok(iterations) => iterations,
            Err(_) => return Ok(false),
        };
        let mut dims: Vec<Name> = Vec::new();
        for name in iterations.iter().chain([&new]).flat_map(System::names) {
            if before.is_iname(&name) && !dims.contains(&name) {
                dims.push(name);
            }
        }
        let old = Set::from_systems(&dims, iterations)?;
        Ok(Set::from_systems(&dims, vec![new])?.is_subset(&old).unwrap_or(false))
    }

    /// Where the loop has no iteration, the reduction reads the element all the same, and writes
    /// what it holds. That is the same kernel only where nothing else is at the element then, and
    /// it has a value.
    fn holds_without_iterations(&self, after: &KernelData) -> Result<(), Diagnostic> {
        let Some(i) = after.instruction(&self.id) else { return Ok(()) };
        let [target] = i.targets.as_slice() else { return Ok(()) };
        let of = element(&target.array, target.index.clone());
        let lookup = Lookup::new(after);
        let refuse = |why: String| {
            self.refuse(
                format!("where it has no iteration, {why}"),
                "`assume` that it has one, as in `assume(1 <= n)`",
            )
        };
        let by_data =
            |e: &Expr| e.to_aff().is_none_or(|a| a.mentions_any(&|n| lookup.temporary(n).is_some()));
        if target.index.iter().any(by_data) {
            return Err(refuse(format!("`{of}` would be read, wherever its subscript points")));
        }
        let finish = PartRef { instruction: self.id.clone(), part: Part::Finish };
        let instances = instances_of(after, &finish)?;
        let mut subscripts = Vec::new();
        for e in &target.index {
            subscripts.push(lookup.expand(&e.to_aff().unwrap_or_default())?);
        }
        let space = lookup.temporary(&target.array).map(|t| t.space);
        let tagged = i.within.iter().filter(|n| !matches!(after.tag(n), Tag::Seq));
        for n in tagged.filter(|_| space != Some(AddressSpace::Private)) {
            if !is_alone(after, &instances, &subscripts, n)? {
                return Err(refuse(format!(
                    "`{of}` would be written at other places of `{n}`, which is tagged, as well: apply the \
                     step before `{n}` is tagged"
                )));
            }
        }
        let mut begun = space.is_none();
        for w in after.instructions.iter().filter(|w| w.id != i.id) {
            begun = begun || has_written(after, w, (&target.array, &subscripts), (&finish, &instances))?;
        }
        match begun {
            true => Ok(()),
            false => Err(refuse(format!("`{of}` may have no value"))),
        }
    }

    fn change(&self, data: &mut KernelData) -> Result<(), Diagnostic> {
        let (id, k) = (&self.id, &self.iname);
        let before = data.clone();
        let Some(instruction) = data.instruction(id).cloned() else {
            return Err(unknown_instruction(data, id));
        };
        let body = body_of(&data.tree, k).unwrap_or_default().to_vec();
        let leaves: Vec<&PartRef> = body.iter().flat_map(Tree::leaves).collect();
        if leaves.is_empty() || data.tag(k) != Tag::Seq {
            return Err(self.refuse(
                format!("`{k}` is not a loop in the thread"),
                "apply the step before its iname is tagged or split",
            ));
        }
        let others: Vec<String> =
            leaves.iter().filter(|l| l.instruction != *id).map(ToString::to_string).collect();
        if !others.is_empty() {
            let others = names::list(others.iter().map(String::as_str));
            return Err(self.refuse(
                format!("it also contains {others}"),
                "`distribute` the loops inside, so that those around it have nothing else",
            ));
        }
        if !data.parts(&instruction).iter().all(|part| leaves.contains(&part)) {
            return Err(self.refuse("it contains only a part of it".into(), "it is a reduction already"));
        }
        let value = self.value(data, &instruction)?;
        // Reductions in the term keep their numbers: they come before the one around them.
        let number = instruction.reductions().len();
        let leaf = |part| Tree::Leaf(PartRef { instruction: id.clone(), part });
        let last = if number == 0 { Part::Whole } else { Part::Finish };
        let last = PartRef { instruction: id.clone(), part: last };
        let body = tree::replace_leaf(&body, &last, &[leaf(Part::Update(number))]);
        let inside: Vec<Tree> =
            vec![leaf(Part::Init(number)), Tree::Loop { iname: k.clone(), body }, leaf(Part::Finish)];
        data.tree = tree::replace_loop(&data.tree, k, &|_| inside.clone());
        for i in data.instructions.iter_mut().filter(|i| i.id == *id) {
            i.within.retain(|n| n != k);
            i.value = value.clone();
        }
        match self.never_empty(&before, &last, data)? {
            true => Ok(()),
            false => self.holds_without_iterations(data),
        }
    }
}

impl Transform for RecognizeReduction {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        require_iname(kernel, &self.iname)?;
        require_instructions(kernel, std::slice::from_ref(&self.id))?;
        let is_piece = |i: &Instruction| i.id != self.id && i.role == Role::Does(self.id.clone());
        if let Some(piece) = kernel.instructions.iter().find(|i| is_piece(i)) {
            return Err(self.refuse(
                format!("a step has divided it, and `{}` does another part", piece.id),
                "apply the step earlier",
            ));
        }
        let (kernel, iname) = with_own_loop(kernel, &self.id, &self.iname).map_err(|refusal| {
            let why = format!("it contains others, and cannot be cut between them: {}", refusal.message);
            let mut refused = self.refuse(why, "only what can be computed apart from the others is one");
            refused.witness = refusal.witness;
            refused
        })?;
        let own = RecognizeReduction { id: self.id.clone(), iname };
        if !kernel.declared().is_iname(&own.iname) || kernel.declared().instruction(&self.id).is_none() {
            return Err(self.refuse("a step has made it".into(), "apply the step earlier"));
        }
        redeclare(&kernel, &|data| own.change(data)).map_err(|refusal| {
            // What stands in the way may be in the declared kernel alone, which steps before this
            // one have left as it is.
            match own.change(&mut (*kernel).clone()) {
                Ok(()) => {
                    Diagnostic::new(refusal.code, format!("in the declared kernel: {}", refusal.message))
                        .help("write the text so that the loop has nothing else, instead of by steps before")
                }
                Err(_) => refusal,
            }
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("all instances of the loop combine into one element, which nothing else touches")
    }
}
