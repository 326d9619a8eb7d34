//! Loop nests over segments of unequal length that can be flattened.
//!
//! Let a loop over the segments `0 <= s < N` read `lo = offsets[s + a]` and
//! `hi = offsets[s + a + 1]` and reduce over `lo <= i < hi`. With
//! `q(s) = offsets[s + a + 1] - offsets[a] + s`, the *step* `p = i - offsets[a] + s` enumerates all
//! points and all segment ends: segment `s` occupies the steps `q(s - 1) + 1` to `q(s)`, and the
//! last of them ends it.
//!
//! *Theorem.* If `offsets` is monotone, `q` increases by at least one from each segment to the
//! next. So each step belongs to exactly one segment, found by bisection; every segment has at
//! least one step; and the steps of a segment are contiguous. Chunks of steps of any length can
//! then run in any order, each computing partial results for its segments, and the partial results
//! of one segment can be combined in chunk order, if
//!
//! 1. the body of the loop consists of scalar loads and one reduction over the points, whose range
//!    is exactly that;
//! 2. nothing that the nest reads is written in it, so no instance depends on another;
//! 3. the element that is written identifies the segment, so no two segments write the same one.
//!
//! The points of a segment keep their order, so the operator need not commute.

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Constraint, Diagnostic, Expr, Fact, Instruction, KernelData, Kind, Lookup,
    Name, Part, PartRef, Tag, Tree, Type,
};

/// A nest that can be flattened. See the module documentation.
#[derive(Clone, Debug)]
pub struct FlatNest {
    /// The iname of the segment loop.
    pub segment: Name,
    /// The iname of the points of a segment.
    pub point: Name,
    /// The number of segments, over parameters.
    pub count: Aff,
    /// The array that the bounds are read from.
    pub offsets: Name,
    /// The begin of a segment, in terms of its number: `offsets[s]`.
    pub begin: Expr,
    /// The end of a segment (exclusive): `offsets[s + 1]`.
    pub end: Expr,
    /// The least possible value of an offset, over parameters.
    pub least: Aff,
    /// The greatest possible value of an offset, over parameters.
    pub greatest: Aff,
    /// Number of the instruction that contains the reduction.
    pub instruction: usize,
    /// The values of the scalars loaded in the nest, in terms of the segment. Each comes after the
    /// scalars that it mentions.
    pub scalars: Vec<(Name, Expr)>,
    /// The parts in the loop over segments, in the order of the loop tree.
    pub parts: Vec<PartRef>,
}

impl FlatNest {
    /// The expression with the nest's scalars replaced by what they load.
    pub fn inlined(&self, e: &Expr) -> Expr {
        let mut e = e.clone();
        for (name, value) in self.scalars.iter().rev() {
            e = e.substitute(&|n| (n == name).then(|| value.clone()));
        }
        e
    }
}

/// The flattenable nest over the segments of this iname.
///
/// Errors: the premise that it violates, and a remedy.
pub fn flat_nest(data: &KernelData, segment: &Name) -> Result<FlatNest, Diagnostic> {
    Reader { data, lookup: Lookup::new(data), segment }.read()
}

/// The nests of a kernel that are flattened, each one that [`flat_nest`] does not refuse.
pub fn flat_nests(data: &KernelData) -> impl Iterator<Item = FlatNest> {
    data.flat.keys().filter_map(|segment| flat_nest(data, segment).ok())
}

struct Reader<'k> {
    data: &'k KernelData,
    lookup: Lookup<'k>,
    segment: &'k Name,
}

impl<'k> Reader<'k> {
    fn refuse(&self, why: impl std::fmt::Display, help: impl Into<String>) -> Diagnostic {
        let message = format!("the nest over `{}` cannot be flattened: {why}", self.segment);
        Diagnostic::new("not-ragged", message).help(help)
    }

    fn read(&self) -> Result<FlatNest, Diagnostic> {
        let s = self.segment;
        let body = self.body(&self.data.tree).ok_or_else(|| {
            self.refuse(
                format!("`{s}` is no loop of the kernel"),
                "flatten the nest before `s` is split or tagged",
            )
        })??;
        let mut parts = Vec::new();
        let (mut loads, mut point, mut reduction) = (Vec::new(), None, None);
        for tree in body {
            parts.extend(tree.leaves().into_iter().cloned());
            match tree {
                Tree::Leaf(PartRef { instruction, part: Part::Whole }) => loads.push(instruction),
                Tree::Leaf(PartRef { instruction, part: Part::Init(0) | Part::Finish }) => {
                    self.only(&mut reduction, instruction)?;
                }
                Tree::Loop { iname, body } => match (body.as_slice(), &point) {
                    ([Tree::Leaf(PartRef { instruction, part: Part::Update(0) })], None) => {
                        point = Some(iname);
                        self.only(&mut reduction, instruction)?;
                    }
                    _ => return Err(self.shape()),
                },
                Tree::Leaf(_) => return Err(self.shape()),
            }
        }
        let (Some(point), Some(id)) = (point, reduction) else { return Err(self.shape()) };
        let number = self.lookup.instruction_number(id).ok_or_else(|| self.shape())?;
        let instruction = &self.data.instructions[number];
        if instruction.update.is_some() {
            return Err(self.refuse(
                format!("`{id}` updates its target, and the nest writes each result once"),
                "assign the result to an array, and update by that in another nest",
            ));
        }
        let mut nest = FlatNest {
            segment: s.clone(),
            point: point.clone(),
            count: self.count()?,
            offsets: Name::new(""),
            begin: Expr::Int(0),
            end: Expr::Int(0),
            least: Aff::default(),
            greatest: Aff::default(),
            instruction: number,
            scalars: Vec::new(),
            parts,
        };
        for id in loads {
            let scalar = self.scalar(id)?;
            nest.scalars.push(scalar);
        }
        self.bounds(&mut nest)?;
        self.facts(&mut nest)?;
        self.reduction(&nest, instruction)?;
        self.reads(&nest, instruction)?;
        Ok(nest)
    }

    fn shape(&self) -> Diagnostic {
        self.refuse(
            "its body has to be loads of scalars and one reduction over the points",
            "flatten before its loops are split; `distribute` what else is in it, and give each \
             reduction a loop over the segments of its own",
        )
    }

    fn only(&self, found: &mut Option<&'k Name>, id: &'k Name) -> Result<(), Diagnostic> {
        if found.replace(id).is_some_and(|other| other != id) { Err(self.shape()) } else { Ok(()) }
    }

    /// The body of the segment loop, which must be at host level.
    fn body(&self, trees: &'k [Tree]) -> Option<Result<&'k [Tree], Diagnostic>> {
        trees.iter().find_map(|tree| match tree {
            Tree::Loop { iname, body } if iname == self.segment => Some(Ok(&body[..])),
            Tree::Loop { iname, body } => {
                let inside = self.body(body)?;
                Some(match (inside, self.data.tag(iname)) {
                    (Ok(_), tag) if tag != Tag::Host => Err(self.refuse(
                        format!("the loop over `{iname}` is around it"),
                        format!("`tag_inames({iname}: host)` launches the nest for each `{iname}`"),
                    )),
                    (inside, _) => inside,
                })
            }
            Tree::Leaf(_) => None,
        })
    }

    /// The number of segments, from `0 <= s < N`.
    fn count(&self) -> Result<Aff, Diagnostic> {
        let s = self.segment;
        let (mut below, mut above) = (None, None);
        let mut others = false;
        for c in self.lookup.instances(std::slice::from_ref(s)) {
            let c = self.lookup.expand_constraint(&c)?;
            if !c.aff.mentions(s) {
                others |= !c.names().is_empty();
                continue;
            }
            let rest = c.aff.sub(&Aff::var(s).scale(c.aff.coefficient(s))?)?;
            let parameters = rest.names().iter().all(|n| self.lookup.is_scalar(n));
            match (c.kind, c.aff.coefficient(s)) {
                (Kind::Ge, 1) if rest == Aff::default() => below = Some(()),
                (Kind::Ge, -1) if parameters && above.is_none() => above = Some(rest.add_constant(1)?),
                _ => others = true,
            }
        }
        match (below, above, others) {
            (Some(()), Some(count), false) => Ok(count),
            _ => Err(self.refuse(
                format!("the segments are not just `0 <= {s} < N` with a function N of the parameters"),
                format!("flatten before `{s}` is split or restricted"),
            )),
        }
    }

    /// A scalar that is loaded in the nest, with its value.
    fn scalar(&self, id: &Name) -> Result<(Name, Expr), Diagnostic> {
        let help = "load it in a loop of its own, before the nest";
        let Some(i) = self.lookup.instruction(id) else { return Err(self.shape()) };
        let [Access { array, index }] = i.targets.as_slice() else { return Err(self.shape()) };
        let temporary = self.lookup.temporary(array).filter(|t| t.space == AddressSpace::Private);
        let plain = index.is_empty() && i.update.is_none();
        let (Some(temporary), true, None) = (temporary, plain, &i.predicate) else {
            return Err(self
                .refuse(format!("`{id}` is no plain assignment of a private scalar of its segment"), help));
        };
        if self.lookup.writers(array).len() > 1 {
            return Err(self.refuse(format!("`{array}` is written more than once"), help));
        }
        // Cast to the scalar's type, so that the value is the one it would hold.
        let value = match &temporary.dtype {
            Type::Known(dtype) => Expr::Cast(Type::Known(*dtype), i.value.clone().into()),
            Type::Open(_) => i.value.clone(),
        };
        Ok((array.clone(), value))
    }

    /// The load behind a bound's scalar: its array and its subscript.
    fn load(&self, name: &Name) -> Option<(Name, Aff, Expr)> {
        let [writer] = self.lookup.writers(name) else { return None };
        let value = &self.data.instructions[*writer].value;
        let Expr::Subscript(access) = value else { return None };
        if !self.data.keeps(name, &access.array) {
            return None;
        }
        let [subscript] = access.index.as_slice() else { return None };
        let aff = self.lookup.expand(&subscript.to_aff()?).ok()?;
        Some((access.array.clone(), aff, value.clone()))
    }

    fn bounds(&self, nest: &mut FlatNest) -> Result<(), Diagnostic> {
        let (s, i) = (self.segment, &nest.point);
        let refuse = || {
            self.refuse(
                format!(
                    "the points are not just `lo <= {i} < hi`, with `lo = offsets[{s}]` and `hi = \
                     offsets[{s} + 1]` loaded in the loop"
                ),
                format!("flatten before `{i}` is split or restricted"),
            )
        };
        let (mut begin, mut end) = (None, None);
        let mut own: Vec<Constraint> = Vec::new();
        for c in self.lookup.instances(&[s.clone(), i.clone()]) {
            let c = self.lookup.expand_constraint(&c)?;
            if c.aff.mentions(i) {
                own.push(c);
            }
        }
        for c in &own {
            let rest = c.aff.sub(&Aff::var(i).scale(c.aff.coefficient(i))?)?;
            let bound = match (c.kind, c.aff.coefficient(i)) {
                (Kind::Ge, 1) => begin.replace(rest.neg()?),
                (Kind::Ge, -1) => end.replace(rest.add_constant(1)?),
                _ => return Err(refuse()),
            };
            if bound.is_some() {
                return Err(refuse());
            }
        }
        let load = |bound: Option<Aff>| self.load(bound?.as_var()?);
        let (Some((array, from, begin)), Some((other, to, end))) = (load(begin), load(end)) else {
            return Err(refuse());
        };
        let loaded =
            |e: &Expr| nest.scalars.iter().any(|(_, v)| v == e || matches!(v, Expr::Cast(_, v) if **v == *e));
        let offset = from.sub(&Aff::var(s))?;
        let plain = offset.names().iter().all(|n| self.lookup.is_scalar(n));
        if array != other || to != from.add_constant(1)? || !plain || !loaded(&begin) || !loaded(&end) {
            return Err(refuse());
        }
        (nest.offsets, nest.begin, nest.end) = (array, begin, end);
        Ok(())
    }

    fn facts(&self, nest: &mut FlatNest) -> Result<(), Diagnostic> {
        let offsets = &nest.offsets;
        if !self.data.facts.contains(&Fact::Monotone(offsets.clone())) {
            return Err(self.refuse(
                format!("nothing says that `{offsets}` does not fall"),
                format!("declare `fact monotone({offsets})` if its elements never fall"),
            ));
        }
        let range = self.data.facts.iter().find_map(|fact| match fact {
            Fact::Range { array, lower: Some(lower), upper: Some(upper) } if array == offsets => {
                let parameters =
                    |e: &Expr| e.to_aff().filter(|a| a.names().iter().all(|n| self.lookup.is_scalar(n)));
                Some((parameters(lower)?, parameters(upper)?))
            }
            _ => None,
        });
        let Some((lower, upper)) = range else {
            return Err(self.refuse(
                "nothing says how many points there can be, and the grid is counted before the \
                 launch",
                format!("declare a range, as `fact 0 <= {offsets} <= n`"),
            ));
        };
        (nest.least, nest.greatest) = (lower, upper.add_constant(-1)?);
        Ok(())
    }

    fn reduction(&self, nest: &FlatNest, x: &Instruction) -> Result<(), Diagnostic> {
        let reductions = x.reductions();
        let [reduce] = reductions.as_slice() else { return Err(self.shape()) };
        if reduce.inames != [nest.point.clone()] || !self.is_alone(x) {
            return Err(self.shape());
        }
        if x.predicate.is_some() {
            return Err(self.refuse(
                format!("`{}` has a predicate", x.id),
                "reduce `if(condition, value, neutral)` instead",
            ));
        }
        if x.scan.is_some() {
            return Err(
                self.refuse(format!("`{}` is a scan", x.id), "a scan goes on from one segment to the next")
            );
        }
        for target in &x.targets {
            let global = self.lookup.array(&target.array).is_some_and(|t| t.space == AddressSpace::Global);
            let tells_apart = |e: &Expr| {
                let aff = e.to_aff().and_then(|a| self.lookup.expand(&a).ok())?;
                let of_host = |n: &Name| self.lookup.is_scalar(n) || self.data.tag(n) == Tag::Host;
                let rest = aff.names().iter().all(|n| n == self.segment || of_host(n));
                (rest && aff.is_affine() && aff.coefficient(self.segment) != 0).then_some(())
            };
            if !global || !target.index.iter().any(|e| tells_apart(e).is_some()) {
                return Err(self.refuse(
                    format!(
                        "`{}` writes `{target}`, which is not an element of global memory for \
                         each segment",
                        x.id
                    ),
                    format!(
                        "write to an array with a subscript `{}`, as `make_global` gives it one",
                        self.segment
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Whether an instruction, whose parts are in the segment loop, has no other iname, sequential
    /// or parallel, than those of host loops.
    fn is_alone(&self, x: &Instruction) -> bool {
        x.within.iter().all(|n| n == self.segment || self.data.tag(n) == Tag::Host)
    }

    /// Checks that the nest does not write what it reads, and that only the nest reads what it
    /// loads.
    fn reads(&self, nest: &FlatNest, x: &Instruction) -> Result<(), Diagnostic> {
        let mut read: Vec<Name> = Vec::new();
        let expressions = nest.scalars.iter().map(|(_, e)| e);
        let of_reduction = x.targets.iter().flat_map(|t| &t.index).chain([&x.value]);
        for e in expressions.chain(of_reduction) {
            e.visit(&mut |e| {
                if let Expr::Subscript(access) = e {
                    read.push(access.array.clone());
                }
            });
        }
        read.push(nest.offsets.clone());
        if let Some(target) = x.targets.iter().find(|t| read.contains(&t.array)) {
            return Err(self.refuse(
                format!("`{}` writes `{}`, which the nest reads", x.id, target.array),
                "write to another array, and copy it back afterwards",
            ));
        }
        let local =
            |array: &Name| self.lookup.temporary(array).is_some_and(|t| t.space != AddressSpace::Global);
        if let Some(array) = read.iter().find(|a| local(a)) {
            return Err(self.refuse(
                format!("it reads `{array}`, which is not in global memory"),
                format!("`make_global({array})`"),
            ));
        }
        for (scalar, _) in &nest.scalars {
            let inside = |i: &Instruction| nest.parts.iter().any(|p| p.instruction == i.id);
            let mut used = false;
            for i in self.data.instructions.iter().filter(|i| !inside(i)) {
                used |= i.expressions().any(|e| e.names().contains(scalar));
            }
            if used {
                return Err(self.refuse(
                    format!("`{scalar}` is read outside of the nest"),
                    "load it once more where it is needed",
                ));
            }
        }
        Ok(())
    }
}
