//! Gives parts of a loop of updates their own copies of what they update.

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Array, Axis, BinaryOp, Constraint, Diagnostic, Domain, Expr, Float,
    Instruction, KernelData, LoopKernel, Name, PartRef, Reduce, ReductionOp, Role, Tag, Tree, Type, UnaryOp,
    UpdateOp, UpdateScope,
};
use loopwright_legality::Judgement;
use loopwright_poly::System;

use crate::{
    Number, Transform, names,
    rewrite::{
        body_of, element,
        extent::instances_of,
        fresh, require_fresh, require_iname, require_instructions,
        rules::redeclare,
        tree::{self, path_of},
        unknown_instruction,
    },
};

step! {
    /// `privatize_updates(count, i, chunk=8192)`: each chunk of a loop updates elements of its own,
    /// in shared memory, with which those of the array are updated at its end.
    ///
    /// # Meaning
    ///
    /// The loop over `i` is cut into chunks. For each of them a temporary, of the array's shape,
    /// gets the neutral element of the update, the instruction updates the temporary, and every
    /// element of the array is updated with that of the temporary, unless that is neutral still.
    /// Copies of floating-point sums begin with -0.0, which changes no number that it is added to,
    /// and are added in any case: they may be 0.0, which makes a positive zero of a negative one.
    /// A histogram is then counted in shared memory, one copy for each block, and updates global
    /// memory once for each block and bin. Axes of the array whose subscripts do not change in the
    /// loop are left out of the temporary. Without `chunk` the whole loop is one.
    ///
    /// With `copies=8, each=512` the temporary has a leading axis of 8, and groups of 512
    /// neighbours of `i` take its elements in turn: for warps that read 16 neighbours a lane, each
    /// of 8 warps has a copy. The copies are combined by a reduction, before the array is updated;
    /// floating-point sums are added one after the other to -0.0, since a reduction begins with
    /// 0.0.
    ///
    /// The declared kernel changes in the same way, and keeps its `origin`, with which `run
    /// --verify` compares.
    ///
    /// # Legality
    ///
    /// Updates of an element by one sign are in no order, and may be grouped; floating-point sums
    /// are rounded in another order. The loop runs nothing but this instruction, so that nothing
    /// reads the array between its updates: { (u, r, v) : u and v are updates of the loop, r is
    /// another access of the array, u < r < v } is empty; neither do the instruction's own
    /// expressions. The operator is one of the signs, whose neutral elements are known, or one of
    /// the library. The axes that are kept have constant lengths, and no step has changed the loops
    /// of the instruction yet.
    ///
    /// In text: `privatize_updates(count, i)` with the options `chunk=8192`, `copies=8`,
    /// `each=512`, `name=counts_own`, and `outer=i_outer` for the loop over chunks.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel histogram(keys: u8[n], counts: i32[256], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// counts[keys[i]] += 1 {id=count}
    /// ")?;
    /// let steps = Pipeline::parse("privatize_updates(count, i, chunk=8192)")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel histogram(keys: u8[n], counts: i32[256], n: i32)
    /// domain { [i_outer, i] : 0 <= i < n and 0 <= i_outer and 8192*i_outer < n and 8192*i_outer <= i <= 8192*i_outer + 8191 }
    /// domain { [counts_s0] : 0 <= counts_s0 <= 255 }
    /// domain { [counts_j0] : 0 <= counts_j0 <= 255 }
    /// temp counts_own: i32[256] shared
    /// counts_own[counts_s0] = 0 {id=counts_start, inames=i_outer:counts_s0}
    /// counts_own[keys[i]] += 1 {id=count, inames=i_outer:i}
    /// counts[counts_j0] += counts_own[counts_j0] if counts_own[counts_j0] != 0 {id=counts_join, inames=i_outer:counts_j0}
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct PrivatizeUpdates as "privatize_updates" {
        /// The id of an update, such as `out[k] += v`.
        pub id: Name = next("the id of an update"),
        /// The iname of a loop around it, without a tag.
        pub iname: Name = next("the iname whose iterations share elements"),
        /// The number of values of the iname that share a copy, at least 1; by default all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub chunk: Option<Number> = option(),
        /// The number of copies of a chunk, at least 2; by default there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub copies: Option<Number> = option(),
        /// The number of neighbours, at least 1, that take the same of several copies; by default
        /// 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub each: Option<Number> = option(),
        /// The temporary's name; by default the array's with the suffix `_own`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<Name> = option(),
        /// Name of the loop over chunks; by default the iname with the suffix `_outer`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub outer: Option<Name> = option(),
    }
    table: "privatize_updates(count, i, chunk=8192)" => "–",
    methods: {
        /// See [`PrivatizeUpdates`], which has options.
        fn privatize_updates(&self, id: &str, iname: &str) -> Result<Self, Diagnostic> {
            self.step(PrivatizeUpdates::new(id, iname))
        }
    }
}

impl PrivatizeUpdates {
    /// One temporary for all iterations of a loop.
    pub fn new(id: impl Into<Name>, iname: impl Into<Name>) -> Self {
        PrivatizeUpdates {
            id: id.into(),
            iname: iname.into(),
            chunk: None,
            copies: None,
            each: None,
            name: None,
            outer: None,
        }
    }

    /// One for each chunk of this length.
    pub fn in_chunks(mut self, chunk: impl Into<Number>) -> Self {
        self.chunk = Some(chunk.into());
        self
    }

    /// Several for each chunk, which groups of `each` neighbours take in turn.
    pub fn with_copies(mut self, copies: impl Into<Number>, each: impl Into<Number>) -> Self {
        (self.copies, self.each) = (Some(copies.into()), Some(each.into()));
        self
    }

    fn refuse(&self, why: impl Into<String>, help: &str) -> Diagnostic {
        let (id, iname) = (&self.id, &self.iname);
        let message = format!("`{id}` cannot update private copies over `{iname}`: {}", why.into());
        Diagnostic::new("no-private-updates", message).help(help)
    }
}

/// What the step makes, under names that both forms of the kernel have.
struct New {
    /// The temporary, and its axes without that of the copies.
    own: Array,
    kept: Vec<(usize, i64)>,
    /// The loop over chunks, and their length.
    chunk: Option<(Name, i64)>,
    copies: Option<Copies>,
    /// The instruction that writes the neutral elements, and the inames of the axes.
    start: (Name, Vec<Name>),
    /// The one that updates the array.
    join: (Name, Vec<Name>),
}

/// Several copies of a chunk.
struct Copies {
    number: i64,
    /// How many neighbouring values of the iname update one copy, at least 1.
    each: i64,
    /// The iname of the start over copies.
    start: Name,
    /// The iname of the reduction that combines the copies.
    join: Name,
    /// The instruction that assigns their combination, and the scalar that holds it.
    combine: (Name, Array),
    /// The instruction with the scalar's first value, where it is no reduction that combines them.
    begin: Name,
}

/// The operator of an update that is one of the library, and is not lifted: what it makes of
/// elements is what it takes.
fn operator(data: &KernelData, op: &UpdateOp) -> Option<ReductionOp> {
    let known = ReductionOp::library(op.name())?;
    let lifts = !matches!((known.lift.as_slice(), known.inputs.as_slice()), ([Expr::Name(l)], [i]) if l == i);
    (!lifts && data.reductions.iter().all(|own| own.name != known.name)).then_some(known)
}

/// The neutral element of an update of any element of this type. Of floating-point numbers it is
/// NaN for a minimum and a maximum, which ignore it: those of an infinity and NaN are the infinity.
/// For a sum it is the negative zero: the positive one changes a negative zero.
fn neutral(data: &KernelData, op: &UpdateOp, dtype: &Type) -> Option<Expr> {
    match op {
        UpdateOp::And => Some(Expr::Unary(UnaryOp::BitNot, Expr::Int(0).into())),
        UpdateOp::Or => Some(Expr::Int(0)),
        UpdateOp::Min | UpdateOp::Max if dtype.known()?.is_float() => Some(Expr::Float(Float(f64::NAN))),
        op => {
            let known = operator(data, op)?;
            match known.name.as_str() {
                "sum" if dtype.known()?.is_float() => Some(Expr::Float(Float(-0.0))),
                _ => known.neutral.first().cloned(),
            }
        }
    }
}

/// Whether nothing but the neutral element equals it, so that a comparison tells which elements
/// change nothing.
fn is_told_apart(neutral: &Expr) -> bool {
    !matches!(neutral, Expr::Float(value) if value.0.is_nan() || value.0 == 0.0)
}

/// Whether it is the negative zero, with which no reduction begins.
fn is_negative_zero(neutral: &Expr) -> bool {
    matches!(neutral, Expr::Float(value) if value.0 == 0.0)
}

fn names_of(inames: &[Name]) -> Vec<Expr> {
    inames.iter().map(|n| Expr::Name(n.clone())).collect()
}

/// The values of inames of axes, from zero on.
fn axes_domain(inames: &[Name], lengths: &[i64]) -> Result<Domain, Diagnostic> {
    let mut constraints = Vec::new();
    for (iname, length) in inames.iter().zip(lengths) {
        constraints.push(Constraint::nonneg(Aff::var(iname)));
        constraints.push(Constraint::lt(&Aff::var(iname), &Aff::constant(*length))?);
    }
    Ok(Domain { inames: inames.to_vec(), constraints })
}

/// The axes at which an access has other subscripts in different iterations of a loop inside of
/// these.
fn varying(data: &KernelData, target: &Access, around: &[Name]) -> Vec<usize> {
    let varies = |n: &Name| !around.contains(n) && (data.is_iname(n) || data.temporary(n).is_some());
    let is_fixed = |e: &Expr| e.to_aff().is_some_and(|aff| !aff.mentions_any(&varies));
    (0..target.index.len()).filter(|k| !is_fixed(&target.index[*k])).collect()
}

impl PrivatizeUpdates {
    /// The instruction with its target and the loops around that of the iname, if it is an update
    /// in a loop of its own.
    fn update<'a>(
        &self,
        data: &'a KernelData,
    ) -> Result<(&'a Instruction, &'a Access, Vec<Name>), Diagnostic> {
        let (id, iname) = (&self.id, &self.iname);
        let Some(i) = data.instruction(id) else { return Err(unknown_instruction(data, id)) };
        let ([target], Some(_)) = (i.targets.as_slice(), &i.update) else {
            return Err(self.refuse(
                "it assigns a value",
                "write an update, such as `out[k] += v`, whose instances are in no order",
            ));
        };
        let changed = data.definitions.iter().any(|d| d.value.mentions(iname))
            || !i.map.is_empty()
            || i.role != Role::Does(id.clone())
            || i.within.iter().any(|n| data.tag(n) != Tag::Seq);
        if changed {
            return Err(self.refuse(
                "a step has changed its loops",
                "apply the step before its inames are tagged, split or renamed",
            ));
        }
        let leaves: Vec<&PartRef> =
            body_of(&data.tree, iname).unwrap_or_default().iter().flat_map(Tree::leaves).collect();
        let parts = data.parts(i);
        let Some(first) = parts.first().filter(|_| parts.iter().all(|part| leaves.contains(&part))) else {
            return Err(self.refuse("it is not in that loop", "name a loop around it"));
        };
        let others: Vec<String> =
            leaves.iter().filter(|l| l.instruction != *id).map(ToString::to_string).collect();
        if !others.is_empty() {
            let others = names::list(others.iter().map(String::as_str));
            return Err(self.refuse(
                format!("the loop also contains {others}"),
                "write the update with inames of its own",
            ));
        }
        let around = path_of(&data.tree, first).into_iter().take_while(|n| n != iname).collect();
        Ok((i, target, around))
    }

    /// The axes of the array that the temporary has, with their lengths: those at which the loop
    /// updates several places.
    fn kept(
        &self,
        data: &KernelData,
        target: &Access,
        around: &[Name],
    ) -> Result<Vec<(usize, i64)>, Diagnostic> {
        let array = &target.array;
        let axes = data.array(array).map_or(&[][..], |a| &a.axes);
        let mut kept = Vec::new();
        for k in varying(data, target, around) {
            let Some(axis) = axes.get(k) else { continue };
            let Some(length) = axis.length.to_aff().and_then(|a| a.as_constant()).filter(|l| *l > 0) else {
                return Err(self.refuse(
                    format!("axis {k} of `{array}` has the length {}, which is no constant", axis.length),
                    "fix it, as in `fix_parameters(bins=256)`",
                ));
            };
            kept.push((k, length));
        }
        Ok(kept)
    }

    fn copies(
        &self,
        kernel: &LoopKernel,
        i: &Instruction,
        array: &Array,
    ) -> Result<Option<Copies>, Diagnostic> {
        let Some(number) = &self.copies else {
            return match self.each {
                Some(_) => Err(self.refuse(
                    "`each` says which neighbours take the same of several copies",
                    "say how many there are, as in `copies=8`",
                )),
                None => Ok(None),
            };
        };
        let number = number.at_least(2, "the number of copies")?;
        let each =
            self.each.as_ref().map_or(Ok(1), |e| e.at_least(1, "the neighbours with the same copy"))?;
        let op = i.update.as_ref().filter(|op| operator(kernel, op).is_some());
        // The reduction of elements that no update has met is not what they hold.
        let can_combine = |neutral: &Expr| is_told_apart(neutral) || is_negative_zero(neutral);
        if !op.and_then(|op| neutral(kernel, op, &array.dtype)).as_ref().is_some_and(can_combine) {
            return Err(self.refuse(
                format!("no reduction combines several copies of what `{}` holds", array.name),
                "leave out `copies`",
            ));
        }
        let axis = |letter: &str| fresh(kernel, &format!("{}_{letter}c", array.name));
        let value = Array::new(
            fresh(kernel, &format!("{}_joined", array.name)),
            array.dtype.clone(),
            Vec::new(),
            AddressSpace::Private,
        );
        let combine = (fresh(kernel, &format!("{}_combine", array.name)), value);
        let begin = fresh(kernel, &format!("{}_begin", array.name));
        Ok(Some(Copies { number, each, start: axis("s"), join: axis("j"), combine, begin }))
    }

    /// The names and sizes of all that is new.
    fn planned(&self, kernel: &LoopKernel) -> Result<New, Diagnostic> {
        let (i, target, around) = self.update(kernel)?;
        let Some(array) = kernel.array(&target.array) else {
            return Err(Diagnostic::new("internal", "an update of no array"));
        };
        if i.expressions().any(|e| e.reads().contains(&array.name)) {
            return Err(self.refuse(format!("it reads `{}`", array.name), "read it in another instruction"));
        }
        if i.update.as_ref().and_then(|op| neutral(kernel, op, &array.dtype)).is_none() {
            return Err(self.refuse(
                "the operator is not one of the library, and may have no neutral element for what the \
                 array holds",
                "use a sign, such as `+=` or `min=`",
            ));
        }
        let kept = self.kept(kernel, target, &around)?;
        if kept.is_empty() {
            return Err(self.refuse(
                "all its iterations update one element",
                "write it as a reduction, such as `out[k] = sum(i, x[i])`, which has steps of its own",
            ));
        }
        let own = match &self.name {
            Some(name) => {
                require_fresh(kernel, name, "name")?;
                name.clone()
            }
            None => fresh(kernel, &format!("{}_own", array.name)),
        };
        let chunk = match &self.chunk {
            Some(length) => {
                let length = length.at_least(1, "the length of a chunk")?;
                let outer = match &self.outer {
                    Some(outer) => {
                        require_fresh(kernel, outer, "outer")?;
                        outer.clone()
                    }
                    None => fresh(kernel, &format!("{}_outer", self.iname)),
                };
                Some((outer, length))
            }
            None => None,
        };
        let copies = self.copies(kernel, i, array)?;
        let lengths = copies.iter().map(|c| c.number).chain(kept.iter().map(|(_, length)| *length));
        let axes = lengths.map(|length| Axis::new(Expr::Int(length))).collect();
        let side = |what: &str| {
            let axis = |k: usize| fresh(kernel, &format!("{}_{}{k}", array.name, &what[..1]));
            (fresh(kernel, &format!("{}_{what}", array.name)), (0..kept.len()).map(axis).collect())
        };
        let (start, join) = (side("start"), side("join"));
        let own = Array::new(own, array.dtype.clone(), axes, AddressSpace::Shared);
        Ok(New { own, kept, chunk, copies, start, join })
    }

    /// Cuts the loop into chunks: the iname keeps its values, and gets a loop around it.
    fn cut(&self, data: &mut KernelData, outer: &Name, length: i64) -> Result<(), Diagnostic> {
        let iname = &self.iname;
        let (i, ..) = self.update(data)?;
        let parts = data.parts(i);
        let Some(part) = parts.last() else { return Ok(()) };
        let (own, chunk) = (Aff::var(iname), Aff::var(outer));
        let begin = chunk.scale(length)?;
        let end = begin.add_constant(length - 1)?;
        let Some(domain) = data.domains.iter().position(|d| d.inames.contains(iname)) else {
            return Err(Diagnostic::new("internal", "an iname without a domain"));
        };
        let place = data.domains[domain].inames.iter().position(|n| n == iname).unwrap_or(0);
        let inner = &data.domains[domain].inames[place..];
        let outside = |n: &Name| !inner.contains(n);
        let bounds = instances_of(data, part)?.bounds(iname, &outside)?;
        if bounds.lower.is_empty() || bounds.upper.is_empty() {
            return Err(self.refuse(
                format!("`{iname}` has no bounds of its own"),
                "give it bounds in the domain that do not depend on inner inames",
            ));
        }
        // The chunks that have a value of the iname.
        let mut rows = Vec::new();
        // Constants are divided, which keeps the bounds of a loop from zero on short.
        for b in &bounds.lower {
            rows.push(match b.aff.as_constant() {
                Some(least) => {
                    let least =
                        least.div_euclid(b.denominator) + i64::from(least.rem_euclid(b.denominator) > 0);
                    Constraint::le(&Aff::constant(least.div_euclid(length)), &chunk)?
                }
                None => Constraint::le(&b.aff, &end.scale(b.denominator)?)?,
            });
        }
        for b in &bounds.upper {
            rows.push(match b.aff.as_constant() {
                Some(most) => {
                    let most = most.div_euclid(b.denominator).div_euclid(length);
                    Constraint::le(&chunk, &Aff::constant(most))?
                }
                None => Constraint::le(&begin.scale(b.denominator)?, &b.aff)?,
            });
        }
        rows.push(Constraint::le(&begin, &own)?);
        rows.push(Constraint::le(&own, &end)?);
        let domain = &mut data.domains[domain];
        domain.inames.insert(place, outer.clone());
        domain.constraints.extend(rows);
        data.tree = tree::replace_loop(&data.tree, iname, &|nest| {
            vec![Tree::Loop { iname: outer.clone(), body: vec![nest.clone()] }]
        });
        for i in data.instructions.iter_mut().filter(|i| i.id == self.id) {
            let place = i.within.iter().position(|n| n == iname).unwrap_or(0);
            i.within.insert(place, outer.clone());
        }
        Ok(())
    }

    fn change(&self, data: &mut KernelData, new: &New) -> Result<(), Diagnostic> {
        if let Some((outer, length)) = &new.chunk {
            self.cut(data, outer, *length)?;
        }
        let (i, target, around) = self.update(data)?;
        let (array, own) = (target.array.clone(), &new.own.name);
        let Some(op) = i.update.clone() else {
            return Err(Diagnostic::new("internal", "an update without a sign"));
        };
        let scope = i.scope;
        let Some(neutral) = neutral(data, &op, &new.own.dtype) else {
            return Err(Diagnostic::new("internal", "an update without a neutral element"));
        };
        let lengths: Vec<i64> = new.kept.iter().map(|(_, length)| *length).collect();
        let inside =
            |first: Option<Expr>, cells: Vec<Expr>| -> Vec<Expr> { first.into_iter().chain(cells).collect() };
        let kept = new.kept.iter().map(|(k, _)| target.index[*k].clone()).collect();
        let which = new.copies.as_ref().map(|c| {
            let group = Expr::binary(BinaryOp::FloorDiv, Expr::Name(self.iname.clone()), Expr::Int(c.each));
            Expr::binary(BinaryOp::Mod, group, Expr::Int(c.number))
        });
        let updated = Access::new(own, inside(which, kept));
        let mut outside = target.index.clone();
        for ((k, _), iname) in new.kept.iter().zip(&new.join.1) {
            outside[*k] = Expr::Name(iname.clone());
        }
        let made = |id: &Name, target: Access, value: Expr, inames: &[Name]| Instruction {
            within: around.iter().chain(inames).cloned().collect(),
            ..Instruction::new(id, vec![target], value, Role::Does(id.clone()))
        };
        // The neutral elements.
        let first = new.copies.as_ref().map(|c| c.start.clone());
        let starts: Vec<Name> = first.iter().chain(&new.start.1).cloned().collect();
        let sizes: Vec<i64> = new.copies.iter().map(|c| c.number).chain(lengths.clone()).collect();
        let begun = Access::new(own, names_of(&starts));
        let start = made(&new.start.0, begun, neutral.clone(), &starts);
        data.domains.push(axes_domain(&starts, &sizes)?);
        // What is joined: an element, or all copies of it.
        // Elsewhere than here a parameter may be the length of an axis, which it is assumed to be.
        let mut domain = axes_domain(&new.join.1, &lengths)?;
        for (iname, (axis, _)) in new.join.1.iter().zip(&new.kept) {
            let declared = data.array(&array).and_then(|a| a.axes.get(*axis)?.length.to_aff());
            if let Some(length) = declared.filter(|length| length.as_constant().is_none()) {
                domain.constraints.push(Constraint::lt(&Aff::var(iname), &length)?);
            }
        }
        data.domains.push(domain);
        let mut joins = Vec::new();
        let value = match &new.copies {
            None => element(own, names_of(&new.join.1)),
            Some(c) => {
                data.domains.push(axes_domain(std::slice::from_ref(&c.join), &[c.number])?);
                let read = element(own, inside(Some(Expr::Name(c.join.clone())), names_of(&new.join.1)));
                let (id, scalar) = &c.combine;
                let (held, target) = (Expr::Name(scalar.name.clone()), Access::new(&scalar.name, Vec::new()));
                if is_negative_zero(&neutral) {
                    joins.push(made(&c.begin, target.clone(), neutral.clone(), &new.join.1));
                    let all = Expr::binary(BinaryOp::Add, held.clone(), read);
                    let inside = [new.join.1.as_slice(), std::slice::from_ref(&c.join)].concat();
                    joins.push(made(id, target, all, &inside));
                } else {
                    let (inames, args) = (vec![c.join.clone()], vec![read]);
                    let all = Expr::Reduce(Reduce { op: Name::new(op.name()), inames, args }.into());
                    joins.push(made(id, target, all, &new.join.1));
                }
                data.temporaries.push(scalar.clone());
                held
            }
        };
        let met = is_told_apart(&neutral).then(|| Expr::binary(BinaryOp::Ne, value.clone(), neutral));
        joins.push(Instruction {
            update: Some(op),
            scope,
            predicate: met,
            ..made(&new.join.0, Access::new(&array, outside), value, &new.join.1)
        });
        data.temporaries.push(new.own.clone());
        let trees = |data: &KernelData, inames: &[Name], all: &[Instruction]| {
            let shared = around.len() + inames.len();
            let own = |i: &Instruction| tree::nest(i.within.get(shared..).unwrap_or(&[]), reduced(data, i));
            tree::nest(inames, all.iter().flat_map(own).collect())
        };
        let before = trees(data, &starts, std::slice::from_ref(&start));
        let behind = trees(data, &new.join.1, &joins);
        data.tree = tree::replace_loop(&data.tree, &self.iname, &|nest| {
            before.iter().chain([nest]).chain(&behind).cloned().collect()
        });
        if let Some(at) = data.instructions.iter().position(|i| i.id == self.id) {
            data.instructions[at].targets = vec![updated];
            // The copies are the block's own.
            data.instructions[at].scope = UpdateScope::Device;
            data.instructions.splice(at + 1..at + 1, joins);
            data.instructions.insert(at, start);
        }
        Ok(())
    }
}

/// The parts of an instruction with at most one reduction, in their loops.
fn reduced(data: &KernelData, i: &Instruction) -> Vec<Tree> {
    let parts = data.parts(i);
    let leaf = |part: &PartRef| Tree::Leaf(part.clone());
    match (i.reductions().first(), parts.as_slice()) {
        (Some(r), [init, update, finish]) => {
            [vec![leaf(init)], tree::nest(&r.inames, vec![leaf(update)]), vec![leaf(finish)]].concat()
        }
        _ => parts.iter().map(leaf).collect(),
    }
}

impl Transform for PrivatizeUpdates {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        require_iname(kernel, &self.iname)?;
        require_instructions(kernel, std::slice::from_ref(&self.id))?;
        if !kernel.declared().is_iname(&self.iname) || kernel.declared().instruction(&self.id).is_none() {
            return Err(self.refuse("a step has made it", "apply the step earlier"));
        }
        let new = self.planned(kernel)?;
        // What is planned for this kernel is done in the declared one as well.
        let kept: Vec<usize> = new.kept.iter().map(|(k, _)| *k).collect();
        let (_, target, around) = self.update(kernel.declared())?;
        let axes = kernel.declared().array(&target.array).map_or(&[][..], |a| &a.axes);
        let known = System::new(&kernel.assumptions)?;
        let is_as_long = |(k, length): &(usize, i64)| -> Result<bool, Diagnostic> {
            let Some(declared) = axes.get(*k).and_then(|axis| axis.length.to_aff()) else { return Ok(false) };
            Ok(known.implies(&Constraint::equal(&declared, &Aff::constant(*length))?)?)
        };
        let mut is_same = kept == varying(kernel.declared(), target, &around);
        for axis in &new.kept {
            is_same = is_same && is_as_long(axis)?;
        }
        if !is_same {
            return Err(self.refuse(
                format!("a step has changed the axes of `{}`", target.array),
                "apply the step before",
            ));
        }
        redeclare(kernel, &|data| self.change(data, &new))
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem(
            "updates are in no order, and those of a chunk are combined before they are joined",
        )
    }
}
