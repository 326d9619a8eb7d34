//! Tables of a kernel's names, for passes that look up all of them.
//!
//! A pass over all instructions builds a [`Lookup`] once and stays linear in the size of the
//! kernel; [`KernelData`]'s own methods search lists, which suits a single lookup. What follows
//! from domains and definitions (base inames, instances) is computed here and nowhere else.

use std::cell::OnceCell;

use loopwright_poly::{Aff, Constraint, Name, Table, TableSet, table_for};

use crate::{
    Arg, Array, AxisSet, Domain, Instruction, KernelData, Part, PartRef, Scalar, Tag, TypeTable,
    reduction::enclosing_reductions,
};

/// Tables of a kernel's names. If a name is declared twice, which validation refuses, the first
/// declaration counts.
pub struct Lookup<'k> {
    kernel: &'k KernelData,
    instructions: Table<&'k str, usize>,
    /// Arguments, temporaries and constant tables.
    arrays: Table<&'k str, &'k Array>,
    temporaries: Table<&'k str, &'k Array>,
    scalars: Table<&'k str, &'k Scalar>,
    /// The domain of each iname, including defined ones, and its position there.
    inames: Table<&'k str, (usize, usize)>,
    definitions: Table<&'k str, &'k Aff>,
    /// For each defined iname, the base inames that it depends on.
    base: Table<&'k str, Vec<Name>>,
    /// For each base iname, the domains with an iname that it is part of.
    domains: Table<Name, Vec<usize>>,
    /// For each array, the instructions that write it. Computed on demand: few passes need it.
    writers: OnceCell<Table<&'k str, Vec<usize>>>,
    types: OnceCell<TypeTable<'k>>,
    axes_in_use: OnceCell<AxisSet>,
    tags: OnceCell<Table<&'k str, Tag>>,
}

impl<'k> Lookup<'k> {
    /// The tables of a kernel's names; those that few passes need are computed on demand.
    pub fn new(kernel: &'k KernelData) -> Self {
        let mut lookup = Lookup {
            kernel,
            instructions: table_for(kernel.instructions.len()),
            arrays: table_for(kernel.args.len() + kernel.temporaries.len() + kernel.constants.len()),
            temporaries: table_for(kernel.temporaries.len()),
            scalars: Table::default(),
            inames: table_for(kernel.domains.len()),
            definitions: table_for(kernel.definitions.len()),
            base: table_for(kernel.definitions.len()),
            domains: table_for(kernel.domains.len()),
            writers: OnceCell::new(),
            types: OnceCell::new(),
            axes_in_use: OnceCell::new(),
            tags: OnceCell::new(),
        };
        // Backwards, so that of equal names the first stays.
        for (k, i) in kernel.instructions.iter().enumerate().rev() {
            lookup.instructions.insert(&i.id, k);
        }
        for c in kernel.constants.iter().rev() {
            lookup.arrays.insert(&c.array.name, &c.array);
        }
        for t in kernel.temporaries.iter().rev() {
            lookup.temporaries.insert(&t.name, t);
            lookup.arrays.insert(&t.name, t);
        }
        for arg in kernel.args.iter().rev() {
            match arg {
                Arg::Array(a) => {
                    lookup.arrays.insert(&a.name, a);
                }
                Arg::Scalar(s) => {
                    lookup.scalars.insert(&s.name, s);
                }
            }
        }
        for (k, domain) in kernel.domains.iter().enumerate().rev() {
            for (position, iname) in domain.inames.iter().enumerate().rev() {
                lookup.inames.insert(iname, (k, position));
            }
        }
        for d in kernel.definitions.iter().rev() {
            lookup.definitions.insert(&d.iname, &d.value);
        }
        // Definitions refer to inames that were defined later; going backwards, those are already
        // known.
        for d in kernel.definitions.iter().rev() {
            let base = lookup.find_base(&d.value);
            lookup.base.insert(&d.iname, base);
        }
        let mut domains: Table<Name, Vec<usize>> = table_for(kernel.domains.len());
        for (k, domain) in kernel.domains.iter().enumerate() {
            for b in domain.inames.iter().flat_map(|iname| lookup.base_of(iname)) {
                let list = domains.entry(b.clone()).or_default();
                if list.last() != Some(&k) {
                    list.push(k);
                }
            }
        }
        lookup.domains = domains;
        lookup
    }

    fn find_base(&self, value: &Aff) -> Vec<Name> {
        value.names().iter().flat_map(|name| self.base_of(name).iter().cloned()).collect()
    }

    /// The types of its names.
    pub fn types(&self) -> &TypeTable<'k> {
        self.types.get_or_init(|| TypeTable::new(self.kernel))
    }

    /// The axes on which the kernel has an iname over which an instruction or a reduction runs:
    /// others make no threads.
    pub fn axes_in_use(&self) -> AxisSet {
        *self.axes_in_use.get_or_init(|| {
            let mut over: TableSet<Name> = TableSet::default();
            let mut reduced: Vec<Name> = Vec::new();
            for instruction in &self.kernel.instructions {
                over.extend(instruction.within.iter().cloned());
                reduced.extend(instruction.reductions().iter().flat_map(|r| &r.inames).cloned());
            }
            // A reduction also runs over what its inames are defined by.
            let mut seen: TableSet<Name> = TableSet::default();
            while let Some(iname) = reduced.pop() {
                if seen.insert(iname.clone()) {
                    reduced.extend(self.definition(&iname).into_iter().flat_map(Aff::names));
                }
            }
            over.extend(seen);
            let on_axis = self.kernel.tags.iter().filter_map(|(iname, tag)| Some((iname, tag.axis()?)));
            on_axis.filter(|(iname, _)| over.contains(*iname)).map(|(_, axis)| axis).collect()
        })
    }

    /// The tag of an iname, as [`KernelData::tag`].
    pub fn tag(&self, iname: &str) -> Tag {
        let tags = self.tags.get_or_init(|| {
            let tagged = self.kernel.tags.iter().map(|(iname, tag)| (iname.as_str(), *tag));
            tagged.chain(self.kernel.flat.keys().map(|iname| (iname.as_str(), Tag::Flat))).collect()
        });
        tags.get(iname).copied().unwrap_or(Tag::Seq)
    }

    /// The kernel that these tables are about.
    pub fn kernel(&self) -> &'k KernelData {
        self.kernel
    }

    /// The number of an instruction.
    pub fn instruction_number(&self, id: &str) -> Option<usize> {
        self.instructions.get(id).copied()
    }

    /// The instruction of this id.
    pub fn instruction(&self, id: &str) -> Option<&'k Instruction> {
        Some(&self.kernel.instructions[self.instruction_number(id)?])
    }

    /// The numbers of the instructions that write an array or temporary, in text order.
    pub fn writers(&self, array: &str) -> &[usize] {
        let table = self.writers.get_or_init(|| {
            let mut table: Table<&str, Vec<usize>> = Table::default();
            for (k, i) in self.kernel.instructions.iter().enumerate() {
                for target in &i.targets {
                    let list = table.entry(&target.array).or_default();
                    if list.last() != Some(&k) {
                        list.push(k);
                    }
                }
            }
            table
        });
        table.get(array).map_or(&[], Vec::as_slice)
    }

    /// The array, temporary or constant table of this name.
    pub fn array(&self, name: &str) -> Option<&'k Array> {
        self.arrays.get(name).copied()
    }

    /// The temporary of this name.
    pub fn temporary(&self, name: &str) -> Option<&'k Array> {
        self.temporaries.get(name).copied()
    }

    /// The scalar argument of this name.
    pub fn scalar(&self, name: &str) -> Option<&'k Scalar> {
        self.scalars.get(name).copied()
    }

    /// Whether a scalar argument has this name.
    pub fn is_scalar(&self, name: &str) -> bool {
        self.scalars.contains_key(name)
    }

    /// Whether this is an iname of a domain, defined ones included.
    pub fn is_iname(&self, name: &str) -> bool {
        self.inames.contains_key(name)
    }

    /// The number of the domain of an iname, and its place among that domain's inames.
    pub fn domain_of(&self, iname: &str) -> Option<(usize, usize)> {
        self.inames.get(iname).copied()
    }

    /// The definition of an iname that transforms have replaced; `None` for base inames.
    pub fn definition(&self, name: &str) -> Option<&'k Aff> {
        self.definitions.get(name).copied()
    }

    /// The base inames of a name: itself, those of its definition, or none for what is not an
    /// iname.
    pub fn base_of(&self, name: &str) -> &[Name] {
        if let Some(base) = self.base.get(name) {
            return base;
        }
        match self.inames.get(name) {
            Some((domain, position)) => std::slice::from_ref(&self.kernel.domains[*domain].inames[*position]),
            None => &[],
        }
    }

    /// The function with every defined iname replaced, down to base inames, parameters and data.
    pub fn expand(&self, aff: &Aff) -> loopwright_poly::Result<Aff> {
        expand(aff, &|name| self.definition(name))
    }

    /// The constraint over base inames.
    pub fn expand_constraint(&self, c: &Constraint) -> loopwright_poly::Result<Constraint> {
        Ok(Constraint { kind: c.kind, aff: self.expand(&c.aff)? })
    }

    /// The base inames of a part: those around the instruction, then for a part of a reduction
    /// those of the reductions around it, and for an update its own.
    pub fn part_inames(&self, part: &PartRef) -> Vec<Name> {
        let Some(instruction) = self.instruction(&part.instruction) else { return Vec::new() };
        self.inames_of(instruction, part.part)
    }

    /// As [`Lookup::part_inames`], for a part of this instruction.
    pub fn inames_of(&self, instruction: &Instruction, part: Part) -> Vec<Name> {
        inames_of(instruction, part, &|iname| self.base_of(iname).to_vec())
    }

    /// The constraints that mention only these base inames, as declared (over names that may be
    /// defined; see [`Lookup::expand`]), of the domains that have one of them: the instances of a
    /// part with these inames.
    pub fn instances(&self, inames: &[Name]) -> Vec<Constraint> {
        let mut domains: Vec<usize> =
            inames.iter().filter_map(|i| self.domains.get(i)).flatten().copied().collect();
        domains.sort_unstable();
        domains.dedup();
        let owns = |n: &Name| self.base_of(n).iter().all(|b| inames.contains(b));
        let takes = |d: &Domain| d.inames.iter().any(|n| !self.base_of(n).is_empty() && owns(n));
        let of = |d: &'k Domain| d.constraints.iter().filter(|c| !c.aff.mentions_any(&|n| !owns(n))).cloned();
        domains.into_iter().map(|k| &self.kernel.domains[k]).filter(|d| takes(d)).flat_map(of).collect()
    }
}

/// The function with every name that has a definition replaced, until none is left.
pub(crate) fn expand<'d>(
    aff: &Aff,
    definition: &dyn Fn(&str) -> Option<&'d Aff>,
) -> loopwright_poly::Result<Aff> {
    if !aff.mentions_any(&|n| definition(n).is_some()) {
        return Ok(aff.clone());
    }
    // Definitions only mention inames that were made later, so this terminates.
    let mut aff = aff.substitute(&|name| definition(name).cloned())?;
    while aff.mentions_any(&|n| definition(n).is_some()) {
        aff = aff.substitute(&|name| definition(name).cloned())?;
    }
    Ok(aff)
}

/// The base inames of a part of an instruction: those around it, then for a part of a reduction
/// those of the reductions around it, and for an update its own. The `init` of a scan has those
/// along which the scan does not run.
pub(crate) fn inames_of(
    instruction: &Instruction,
    part: Part,
    base_of: &dyn Fn(&Name) -> Vec<Name>,
) -> Vec<Name> {
    let mut inames = instruction.within.clone();
    let number = match part {
        Part::Whole | Part::Finish => return inames,
        Part::Init(n) | Part::Update(n) => n,
    };
    let mut enclosing = enclosing_reductions(&instruction.value, number);
    if matches!(part, Part::Init(_)) {
        enclosing.pop();
        if let Some(value) = instruction.scan_value() {
            let along: Vec<Name> = value.names().iter().flat_map(base_of).collect();
            inames.retain(|n| !along.contains(n));
        }
    }
    for reduce in enclosing {
        for n in reduce.inames.iter().flat_map(base_of) {
            // The iname of a scan is defined by those around it.
            if instruction.scan.is_none() || !inames.contains(&n) {
                inames.push(n);
            }
        }
    }
    inames
}

impl KernelData {
    /// The function with every defined iname replaced, down to base inames, parameters and data.
    /// For a single lookup; otherwise see [`Lookup::expand`].
    pub fn expand(&self, aff: &Aff) -> loopwright_poly::Result<Aff> {
        expand(aff, &|name| self.definition(name))
    }

    /// The constraint over base inames.
    pub fn expand_constraint(&self, c: &Constraint) -> loopwright_poly::Result<Constraint> {
        Ok(Constraint { kind: c.kind, aff: self.expand(&c.aff)? })
    }

    /// The base inames of a name: itself, those of its definition, or none for what is not an
    /// iname.
    pub fn base_of(&self, name: &Name) -> Vec<Name> {
        match self.definition(name) {
            Some(_) => Lookup::new(self).base_of(name).to_vec(),
            None if self.is_iname(name) => vec![name.clone()],
            None => Vec::new(),
        }
    }

    /// The base inames of a part. For a single lookup; otherwise see [`Lookup::part_inames`].
    pub fn part_inames(&self, part: &PartRef) -> Vec<Name> {
        let lookup = OnceCell::new();
        let base_of = |n: &Name| lookup.get_or_init(|| Lookup::new(self)).base_of(n).to_vec();
        self.instruction(&part.instruction).map_or_else(Vec::new, |i| inames_of(i, part.part, &base_of))
    }

    /// The instances of a part: all declared constraints that mention only its inames, as declared
    /// (over names that may be defined; see [`KernelData::expand`]). For a single lookup; otherwise
    /// see [`Lookup::instances`].
    pub fn instances(&self, part: &PartRef) -> Vec<Constraint> {
        let lookup = Lookup::new(self);
        lookup.instances(&lookup.part_inames(part))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Dim, LoopKernel, Name, Tag};

    use super::*;

    #[test]
    fn tags_are_those_of_the_kernel() {
        let text = "\
kernel rows(x: f32[n, 128], y: f32[n], n: i32)
domain { [i, j] : 0 <= i < n and 0 <= j < 128 }
y[i] = sum(j, x[i, j])
";
        let tagged = [("i", Tag::Block(Dim::X)), ("j", Tag::Thread(Dim::Y))];
        let mut kernel = LoopKernel::parse(text).unwrap();
        for (iname, tag) in tagged {
            assert_eq!(Lookup::new(&kernel).tag(iname), Tag::Seq);
            kernel = kernel
                .edit::<()>(|data| {
                    data.tags.insert(Name::new(iname), tag);
                    Ok(())
                })
                .unwrap();
            let lookup = Lookup::new(&kernel);
            for name in ["i", "j", "n", "x"] {
                assert_eq!(lookup.tag(name), kernel.tag(name), "{name}");
            }
            assert_eq!(lookup.tag(iname), tag);
        }
    }
}
