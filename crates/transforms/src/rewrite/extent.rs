//! Instance sets of parts over base inames, and constant lengths.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};

use loopwright_kernel_ir::{
    AddressSpace, Aff, Constraint, Diagnostic, Dim, HardwareAxis, Instruction, KernelData, Kind, Lookup,
    Name, Part, PartRef, Tag, Term,
};
use loopwright_poly::{Bound, System};
use loopwright_target::Target;

use crate::rewrite::{parts_with_inames, path_to};

/// The constraints on the instances of a part, over base inames.
pub(crate) fn constraints_of(data: &KernelData, part: &PartRef) -> Result<Vec<Constraint>, Diagnostic> {
    let lookup = Lookup::new(data);
    let declared = lookup.instances(&lookup.part_inames(part));
    declared.iter().map(|c| lookup.expand_constraint(c).map_err(Diagnostic::from)).collect()
}

/// The instances of a part, under the assumptions.
pub(crate) fn instances_of(data: &KernelData, part: &PartRef) -> Result<System, Diagnostic> {
    let mut rows = data.assumptions.clone();
    rows.extend(constraints_of(data, part)?);
    Ok(System::new(&rows)?)
}

/// The range of an iname: its least value, and its greatest value if that is a single function,
/// over the parameters; and a constant bound on its length.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub lower: Aff,
    pub upper: Option<Aff>,
    pub length: Option<i64>,
}

/// The ranges of a kernel's inames, cached for steps that query many.
pub(crate) struct Extents<'k> {
    data: &'k KernelData,
    lookup: Lookup<'k>,
    /// For each iname, the base inames of the part with the fewest inames that has it, which gives
    /// the simplest bounds.
    fewest: OnceCell<HashMap<Name, Rc<[Name]>>>,
}

impl<'k> Extents<'k> {
    pub fn new(data: &'k KernelData) -> Self {
        Extents { data, lookup: Lookup::new(data), fewest: OnceCell::new() }
    }

    /// The tables of the kernel.
    pub fn lookup(&self) -> &Lookup<'k> {
        &self.lookup
    }

    /// The instances of the part with the fewest inames that has this one.
    fn instances_with(&self, iname: &Name) -> Result<Option<System>, Diagnostic> {
        let fewest = self.fewest.get_or_init(|| {
            let mut fewest: HashMap<Name, Rc<[Name]>> = HashMap::new();
            for (_, inames) in parts_with_inames(self.data) {
                let inames: Rc<[Name]> = inames.into();
                for n in &*inames {
                    let known = fewest.entry(n.clone()).or_insert_with(|| inames.clone());
                    if inames.len() < known.len() {
                        *known = inames.clone();
                    }
                }
            }
            fewest
        });
        fewest.get(iname).map(|inames| self.instances(inames)).transpose()
    }

    /// The values of these inames.
    fn instances(&self, inames: &[Name]) -> Result<System, Diagnostic> {
        let mut rows = self.data.assumptions.clone();
        for c in self.lookup.instances(inames) {
            rows.push(self.lookup.expand_constraint(&c)?);
        }
        Ok(System::new(&rows)?)
    }

    /// The constant bounds of an iname that its domain states, such as those of the inner iname of
    /// a split. Other bounds may be tighter for some values of the parameters.
    fn declared_constants(&self, iname: &Name) -> Option<(i64, i64)> {
        let (mut low, mut high) = (None, None);
        let (domain, _) = self.lookup.domain_of(iname)?;
        for c in &self.data.domains[domain].constraints {
            let [(Term::Var(name), k)] = c.aff.terms() else { continue };
            if name != iname || c.kind != Kind::Ge {
                continue;
            }
            match k {
                1 => low = low.max(c.aff.constant_term().checked_neg()),
                -1 => high = Some(high.map_or(c.aff.constant_term(), |h: i64| h.min(c.aff.constant_term()))),
                _ => {}
            }
        }
        Some((low?, high?)).filter(|(l, h)| l <= h)
    }

    /// The range of an iname in the part with the fewest inames, or `None` if its least value is
    /// not a single function of the parameters.
    pub fn range(&self, iname: &Name) -> Result<Option<Range>, Diagnostic> {
        if let Some((low, high)) = self.declared_constants(iname) {
            let length = high.checked_sub(low).and_then(|l| l.checked_add(1));
            return Ok(Some(Range { lower: low.into(), upper: Some(high.into()), length }));
        }
        let Some(system) = self.instances_with(iname)? else {
            return Ok(Some(Range { lower: Aff::constant(0), upper: None, length: None }));
        };
        self.range_in(&system, iname)
    }

    /// A range that contains those of all parts with the iname. A part that runs ahead of the
    /// others, such as the copy of a double buffer, has a smaller one.
    fn range_of_all(&self, iname: &Name) -> Result<Option<Range>, Diagnostic> {
        let first = self.range(iname)?;
        if self.declared_constants(iname).is_some() {
            return Ok(first);
        }
        let mut parts: Vec<System> = Vec::new();
        for (_, inames) in parts_with_inames(self.data) {
            if inames.contains(iname) {
                parts.push(self.instances(&inames)?);
            }
        }
        let keeps = |range: &Range| -> Result<bool, Diagnostic> {
            let value = Aff::var(iname);
            let mut ends = vec![Constraint::le(&range.lower, &value)?];
            if let Some(upper) = &range.upper {
                ends.push(Constraint::le(&value, upper)?);
            }
            if let Some(length) = range.length {
                ends.push(Constraint::lt(&value, &range.lower.add_constant(length)?)?);
            }
            for part in &parts {
                for end in &ends {
                    if !part.implies(end)? {
                        return Ok(false);
                    }
                }
            }
            Ok(true)
        };
        if let Some(range) = &first
            && keeps(range)?
        {
            return Ok(first);
        }
        for part in &parts {
            if let Some(range) = self.range_in(part, iname)?
                && keeps(&range)?
            {
                return Ok(Some(range));
            }
        }
        Ok(None)
    }

    fn range_in(&self, system: &System, iname: &Name) -> Result<Option<Range>, Diagnostic> {
        let value = Aff::var(iname);
        let (low, high) = system.constant_range(&value)?;
        if let (Some(low), Some(high)) = (low, high) {
            let length = high.checked_sub(low).and_then(|l| l.checked_add(1));
            return Ok(Some(Range { lower: low.into(), upper: Some(high.into()), length }));
        }
        let parameter = |n: &Name| !self.lookup.is_iname(n) && self.lookup.temporary(n).is_none();
        let bounds = system.bounds(iname, &parameter)?;
        let upper = match bounds.upper.as_slice() {
            [b] => Some(b.floor()?),
            _ => None,
        };
        let lower = match (bounds.lower.as_slice(), low) {
            ([b], _) if b.denominator == 1 => b.aff.clone(),
            (_, Some(low)) => low.into(),
            _ => return Ok(None),
        };
        let length = system.constant_range(&value.sub(&lower)?)?.1.and_then(|m| m.checked_add(1));
        Ok(Some(Range { lower, upper, length }))
    }

    /// The constant bound on the length of an iname.
    pub fn constant_length(&self, iname: &Name) -> Result<Option<i64>, Diagnostic> {
        Ok(self.range(iname)?.and_then(|r| r.length))
    }

    /// Refuses a tag that the length of the iname does not allow.
    pub fn check_tag(&self, iname: &Name, tag: Tag) -> Result<(), Diagnostic> {
        if !tag.has_constant_length() {
            return Ok(());
        }
        let Some(length) = self.constant_length(iname)? else {
            return Err(tag.needs_constant_length(iname));
        };
        // Lowering checks against its target; only lengths that suit no target are refused here.
        let target = Target::widest();
        if tag == Tag::Lane && !u64::try_from(length).is_ok_and(|length| target.divides_warp(length)) {
            return Err(Diagnostic::new(
                "lane-length",
                format!(
                    "`{iname}` cannot be tagged `lane`: it has {length} values, and a warp is \
                    divided into {} lanes",
                    target.parts_of_warps()
                ),
            )
            .help(format!("split it first, as split_iname({iname}, {})", Target::default().warp_size)));
        }
        Ok(())
    }
}

/// The range of an iname in all parts that have it, or `None` if its least value is not a single
/// function of the parameters.
pub(crate) fn range(data: &KernelData, iname: &Name) -> Result<Option<Range>, Diagnostic> {
    Extents::new(data).range_of_all(iname)
}

/// The threads on each axis in use of the blocks that use a copy in this loop: the greatest
/// constant length among the inames on it, of the instructions that access the copy's temporaries
/// in private or shared memory. Others may be launched with other blocks. Where these have no
/// threads, those of the kernel.
pub(crate) fn block_shape(data: &KernelData, of: &Name) -> Result<BTreeMap<Dim, i64>, Diagnostic> {
    let extents = Extents::new(data);
    let shape = |is_of: &dyn Fn(&Name) -> bool| -> Result<BTreeMap<Dim, i64>, Diagnostic> {
        let mut shape = BTreeMap::new();
        for (iname, tag) in data.tags.iter().filter(|(iname, _)| is_of(iname)) {
            let Some(HardwareAxis::Block(dim)) = tag.axis() else { continue };
            if let Some(length) = extents.constant_length(iname)? {
                let known = shape.entry(dim).or_insert(1);
                *known = length.max(*known);
            }
        }
        Ok(shape)
    };
    let arrays = |i: &Instruction| -> BTreeSet<Name> {
        let all = i.reads().into_iter().chain(i.targets.iter().map(|t| t.array.clone()));
        all.filter(|array| data.temporary(array).is_some_and(|t| t.space != AddressSpace::Global)).collect()
    };
    let copies = data.instructions.iter().filter(|i| i.within.iter().any(|n| data.base_of(n).contains(of)));
    let copied: BTreeSet<Name> = copies.flat_map(arrays).collect();
    let users = data.instructions.iter().filter(|i| !arrays(i).is_disjoint(&copied));
    let inames = users.flat_map(|i| {
        let reduced = i.reductions().into_iter().flat_map(|r| r.inames.clone());
        i.within.iter().cloned().chain(reduced).flat_map(|n| data.base_of(&n)).collect::<Vec<Name>>()
    });
    let inames: BTreeSet<Name> = inames.collect();
    let own = shape(&|iname| inames.contains(iname))?;
    if own.is_empty() { shape(&|_| true) } else { Ok(own) }
}

/// The part of an instruction that evaluates everything outside its reductions.
pub(crate) fn last_part(data: &KernelData, id: &Name) -> PartRef {
    let reduces = data.instruction(id).is_some_and(|i| !i.reductions().is_empty());
    PartRef { instruction: id.clone(), part: if reduces { Part::Finish } else { Part::Whole } }
}

/// The first and the last value of a loop as functions of the loops around it and of parameters, if
/// each is a single function.
pub(crate) type LoopBound = Result<Aff, Diagnostic>;

/// The first and last value of a loop for one part.
pub(crate) fn loop_bounds(
    data: &KernelData,
    iname: &Name,
    part: &PartRef,
) -> Result<(LoopBound, LoopBound), Diagnostic> {
    loop_bounds_over(data, iname, &Lookup::new(data).part_inames(part))
}

/// The first and last value of a loop for instances over these inames.
pub(crate) fn loop_bounds_over(
    data: &KernelData,
    iname: &Name,
    inames: &[Name],
) -> Result<(LoopBound, LoopBound), Diagnostic> {
    let around = path_to(&data.tree, iname).unwrap_or_default();
    let scalar = |n: &Name| !data.is_iname(n) && data.temporary(n).is_none();
    let outside = |n: &Name| scalar(n) || around.contains(n);
    let instances = Extents::new(data).instances(inames)?;
    // The loops around have values for which this one has any: of the bounds of `k_inner` in
    // `0 <= 16*k_outer + k_inner`, it leaves that of `k_inner` itself.
    let around = instances.keep_only(&|n| n != iname && outside(n))?.system;
    let bounds = instances.with(around.constraints())?.bounds(iname, &outside)?;
    let end = |list: &[Bound], first: bool| match list {
        [b] => Ok(if first { b.ceil()? } else { b.floor()? }),
        _ => Err(Diagnostic::new(
            "no-least-value",
            format!(
                "`{iname}` cannot be peeled: its {} value is not a single function of outer loops \
                 and parameters",
                if first { "first" } else { "last" }
            ),
        )
        .help("split it with `index_set_split` at a condition of your choice")),
    };
    Ok((end(&bounds.lower, true), end(&bounds.upper, false)))
}
