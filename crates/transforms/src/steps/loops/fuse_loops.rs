//! Loop fusion: merges adjacent loops into one.

use loopwright_kernel_ir::{
    Aff, Constraint, Diagnostic, Domain, Expr, KernelData, Lookup, LoopKernel, Name, PartRef, Tag, Tree,
};
use loopwright_poly::System;

use crate::{
    Transform, names,
    rewrite::{
        extent::constraints_of, is_declared, map_expressions, parts_with_inames, path_to, replace_in_lists,
        require_fresh, require_iname,
    },
};

step! {
    /// `fuse_loops([i, j])`: fuses adjacent loops into one, with their bodies one after the other.
    ///
    /// # Meaning
    ///
    /// The loops become one loop over the first iname, or over `new=...`, at the place of the first
    /// of them; the bodies follow in the order in which the inames are listed. Each instruction's
    /// map remembers the value of its declared iname. It is the inverse of
    /// [`Distribute`](crate::Distribute).
    ///
    /// # Legality
    ///
    /// The loops are children of one loop, with nothing between them. The values of the iname for
    /// which each part runs must not change: bounds that one loop has and another one lacks must be
    /// implied for each part, `{ S[i] : bounds of S } = { S[i] : bounds of S and of the fused loop
    /// }`. (A shift or a split with `map_domain` or `index_set_split` makes ranges equal.) The new
    /// order is legal if no dependence goes backwards in it: { x in a later body -> y in an earlier
    /// body : y needs x, x at an equal or earlier value } loses none that was kept before.
    ///
    /// In text: `fuse_loops([i, j])`, `fuse_loops([i, j], new=k)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel two(x: f32[n], y: f32[n], z: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// domain { [j] : 0 <= j < n }
    /// y[i] = 2.0 * x[i] {id=first}
    /// z[j] = y[j] + 1.0 {id=second}
    /// ")?;
    /// let steps = Pipeline::parse("fuse_loops([i, j])")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel two(x: f32[n], y: f32[n], z: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// y[i] = 2.0 * x[i] {id=first, inames=i}
    /// z[i] = y[i] + 1.0 {id=second, inames=i, map=[j: i]}
    /// tree {
    ///     for i {
    ///         first
    ///         second
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct FuseLoops as "fuse_loops" {
        /// The inames, in the order of the bodies.
        pub inames: Vec<Name> = list("the inames of the loops, in the order of their bodies") of Inames,
        /// Name of the loop; by default the first iname.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub new: Option<Name> = option(),
    }
    table: "fuse_loops([i, j])" => "`rename_inames(k, [\"i\", \"j\"], \"i\")`",
    methods: {
        /// See [`FuseLoops`].
        fn fuse_loops(&self, inames: impl IntoNames, new: &str) -> Result<Self, Diagnostic> {
            self.step(FuseLoops::new(inames.into_names()).named(new))
        }
    }
}

impl FuseLoops {
    /// Fuses these loops, which become one loop with the name of the first one.
    pub fn new<N: Into<Name>>(inames: impl IntoIterator<Item = N>) -> Self {
        FuseLoops { inames: inames.into_iter().map(Into::into).collect(), new: None }
    }

    /// Names the fused loop, instead of the default name.
    pub fn named(mut self, new: impl Into<Name>) -> Self {
        self.new = Some(new.into());
        self
    }
}

/// Replaces the loops, which are siblings, by one loop in the place of the first. Returns whether
/// they were found among these trees.
fn fuse_bodies(trees: &mut Vec<Tree>, inames: &[Name], new: &Name) -> Result<bool, Diagnostic> {
    let here = |tree: &Tree| matches!(tree, Tree::Loop { iname, .. } if inames.contains(iname));
    let places: Vec<usize> = (0..trees.len()).filter(|k| here(&trees[*k])).collect();
    if places.is_empty() {
        for tree in trees.iter_mut() {
            if let Tree::Loop { body, .. } = tree
                && fuse_bodies(body, inames, new)?
            {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    let (first, last) = (places[0], places[places.len() - 1]);
    if places.len() < inames.len() {
        return Err(Diagnostic::new(
            "not-neighbours",
            format!(
                "the loops over {} are not children of one loop",
                names::list(inames.iter().map(|n| &**n))
            ),
        )
        .help("fuse the loops around them first, or split these with `distribute`"));
    }
    if last + 1 - first > inames.len() {
        let between: Vec<String> = (first..last)
            .filter(|k| !places.contains(k))
            .flat_map(|k| trees[k].leaves().into_iter().map(ToString::to_string).collect::<Vec<_>>())
            .collect();
        return Err(Diagnostic::new(
            "not-neighbours",
            format!("{} is between the loops to be fused", names::list(between.iter().map(String::as_str))),
        )
        .help("fuse it as well, or move it away"));
    }
    let mut loops: Vec<Tree> = trees.drain(first..=last).collect();
    let mut body = Vec::new();
    for iname in inames {
        if let Some(k) =
            loops.iter().position(|t| matches!(t, Tree::Loop { iname: here, .. } if here == iname))
            && let Tree::Loop { body: own, .. } = loops.remove(k)
        {
            body.extend(own);
        }
    }
    trees.insert(first, Tree::Loop { iname: new.clone(), body });
    Ok(true)
}

/// Drops the constraints on these inames that restrict no part, because no part has all of their
/// inames (any more): for example `0 <= j < i` after `distribute`, when `j` is inside a copy of
/// `i`. Once several inames are replaced by one, a part could have all inames of such a constraint.
fn drop_dead(data: &mut KernelData, inames: &[Name]) {
    let lookup = Lookup::new(data);
    let parts: Vec<Vec<Name>> = parts_with_inames(data).into_iter().map(|(_, inames)| inames).collect();
    let is_dead = |c: &Constraint| {
        let base: Vec<Name> = c.names().iter().flat_map(|n| lookup.base_of(n).to_vec()).collect();
        base.iter().any(|n| inames.contains(n))
            && !parts.iter().any(|part| base.iter().all(|n| part.contains(n)))
    };
    let kept: Vec<Vec<Constraint>> = data
        .domains
        .iter()
        .map(|d| d.constraints.iter().filter(|c| !is_dead(c)).cloned().collect())
        .collect();
    for (domain, kept) in data.domains.iter_mut().zip(kept) {
        domain.constraints = kept;
    }
}

/// Replaces several inames by one in everything but the tree.
fn merge_domains(data: &mut KernelData, inames: &[Name], new: &Name) -> Result<(), Diagnostic> {
    drop_dead(data, inames);
    let with: Vec<(Name, Vec<Name>)> = data
        .instructions
        .iter()
        .map(|i| {
            let bases: Vec<Name> = data.parts(i).iter().flat_map(|p| data.part_inames(p)).collect();
            (i.id.clone(), inames.iter().filter(|n| bases.contains(n)).cloned().collect())
        })
        .collect();
    let aff = |n: &Name| inames.contains(n).then(|| Aff::var(new));
    let expr = |e: &Expr| e.substitute(&|n| inames.contains(n).then(|| Expr::Name(new.clone())));
    let mut left = Vec::new();
    for domain in &mut data.domains {
        let had = domain.inames.iter().any(|n| inames.contains(n));
        domain.inames.retain(|n| !inames.contains(n));
        let constraints: Vec<Constraint> =
            domain.constraints.iter().map(|c| c.substitute(&aff)).collect::<Result<_, _>>()?;
        // A constraint that mentions none of the domain's other inames would belong to no domain.
        let (own, rest): (Vec<_>, Vec<_>) = constraints
            .into_iter()
            .partition(|c| c.names().iter().any(|n| domain.inames.contains(n)) || !had);
        domain.constraints = own;
        for c in rest {
            if !left.contains(&c) {
                left.push(c);
            }
        }
    }
    data.domains.retain(|d| !d.inames.is_empty());
    data.domains.push(Domain { inames: vec![new.clone()], constraints: left });
    for definition in &mut data.definitions {
        definition.value = definition.value.substitute(&aff)?;
    }
    let tag = data.tag(&inames[0]);
    for n in inames {
        replace_in_lists(data, n, std::slice::from_ref(new));
        data.take_tag(n);
    }
    if tag != Tag::Seq {
        data.tags.insert(new.clone(), tag);
    }
    let declared: Vec<Name> = inames.iter().filter(|n| is_declared(data, n)).cloned().collect();
    for instruction in &mut data.instructions {
        map_expressions(instruction, &mut |e| expr(e));
        for value in instruction.map.values_mut() {
            *value = value.substitute(&aff)?;
        }
        let own = with.iter().find(|(id, _)| *id == instruction.id).map_or(&[][..], |(_, own)| own);
        for n in own.iter().filter(|n| declared.contains(n) && *n != new) {
            instruction.map.entry(n.clone()).or_insert_with(|| Aff::var(new));
        }
    }
    Ok(())
}

/// Refuses the fusion if a part would run over fewer values than before.
fn check_ranges(
    before: &KernelData,
    after: &KernelData,
    inames: &[Name],
    new: &Name,
) -> Result<(), Diagnostic> {
    let aff = |n: &Name| inames.contains(n).then(|| Aff::var(new));
    let parts: Vec<PartRef> = after.instructions.iter().flat_map(|i| after.parts(i)).collect();
    for part in parts {
        if !after.part_inames(&part).contains(new) {
            continue;
        }
        let mut old = before.assumptions.clone();
        for c in constraints_of(before, &part)? {
            old.push(c.substitute(&aff)?);
        }
        let system = System::new(&old)?;
        for c in constraints_of(after, &part)? {
            if old.contains(&c) || system.implies(&c)? {
                continue;
            }
            return Err(Diagnostic::new(
                "ranges-differ",
                format!(
                    "the loops cannot be fused: `{part}` runs where {c} does not hold, but \
                     another loop does not"
                ),
            )
            .help(format!(
                "split the longer loop with `index_set_split` at {c}, or shift it with \
                 `map_domain`"
            )));
        }
    }
    Ok(())
}

impl Transform for FuseLoops {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        for (k, iname) in self.inames.iter().enumerate() {
            require_iname(kernel, iname)?;
            if self.inames[..k].contains(iname) {
                return Err(Diagnostic::new("iname-listed-twice", format!("`{iname}` is listed twice")));
            }
            let (tag, first) = (kernel.tag(iname), kernel.tag(&self.inames[0]));
            if tag != first || !matches!(tag, Tag::Seq | Tag::Host) {
                return Err(Diagnostic::new(
                    "tagged-iname",
                    format!("`{iname}: {tag}` cannot be fused with `{}: {first}`", self.inames[0]),
                )
                .help("fuse loops before tagging them"));
            }
            if path_to(&kernel.tree, iname).is_none() {
                return Err(Diagnostic::new(
                    "not-nested",
                    format!("no instruction runs in a loop over `{iname}`"),
                ));
            }
        }
        if self.inames.len() < 2 {
            return Err(Diagnostic::new("step-arguments", "`fuse_loops` needs at least two loops"));
        }
        let new = self.new.clone().unwrap_or_else(|| self.inames[0].clone());
        if !self.inames.contains(&new) {
            require_fresh(kernel, &new, "new")?;
        }
        let fused = kernel.edit(|data| {
            fuse_bodies(&mut data.tree, &self.inames, &new)?;
            merge_domains(data, &self.inames, &new)
        })?;
        check_ranges(kernel, &fused, &self.inames, &new)?;
        Ok(fused)
    }
}
