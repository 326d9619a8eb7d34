//! Tables of a kernel's names, for passes that ask about all of them.
//!
//! [`KernelData`]'s own methods search lists, which is right for one question. A pass over all instructions builds a [`Lookup`] once and
//! stays linear in the size of the kernel.

use std::collections::HashMap;

use loopwright_poly::{Aff, Constraint, Name};

use crate::{Arg, Array, Instruction, KernelData, Part, PartRef, kernel::enclosing_reductions};

/// Tables of a kernel's names.
pub struct Lookup<'k> {
    kernel: &'k KernelData,
    instructions: HashMap<&'k str, usize>,
    arrays: HashMap<&'k str, &'k Array>,
    definitions: HashMap<&'k str, &'k Aff>,
    /// For each iname, defined ones too, the base inames behind it.
    base: HashMap<&'k str, Vec<Name>>,
    /// For each base iname, the domains that have an iname which it is part of.
    domains: HashMap<Name, Vec<usize>>,
    scalars: HashMap<&'k str, ()>,
}

impl<'k> Lookup<'k> {
    /// The tables of a kernel.
    pub fn new(kernel: &'k KernelData) -> Self {
        let mut lookup = Lookup {
            kernel,
            instructions: kernel.instructions.iter().enumerate().map(|(k, i)| (&*i.id, k)).collect(),
            arrays: HashMap::new(),
            definitions: kernel.definitions.iter().map(|d| (&*d.iname, &d.value)).collect(),
            base: HashMap::new(),
            domains: HashMap::new(),
            scalars: HashMap::new(),
        };
        // Arguments win over temporaries, as in the lists.
        for t in kernel.temporaries.iter().rev() {
            lookup.arrays.insert(&t.name, t);
        }
        for arg in kernel.args.iter().rev() {
            match arg {
                Arg::Array(a) => {
                    lookup.arrays.insert(&a.name, a);
                }
                Arg::Scalar(s) => {
                    lookup.scalars.insert(&s.name, ());
                }
            }
        }
        // Definitions speak of inames that were made later: going backwards, those are known already.
        for (k, domain) in kernel.domains.iter().enumerate().rev() {
            for iname in &domain.inames {
                let base = lookup.find_base(iname);
                for b in &base {
                    let domains = lookup.domains.entry(b.clone()).or_default();
                    if !domains.contains(&k) {
                        domains.push(k);
                    }
                }
                lookup.base.insert(iname, base);
            }
        }
        lookup
    }

    fn find_base(&self, iname: &Name) -> Vec<Name> {
        match self.definitions.get(&**iname) {
            None => vec![iname.clone()],
            Some(value) => {
                let mut found: Vec<Name> = Vec::new();
                for name in value.names() {
                    let base = match self.base.get(&*name) {
                        Some(base) => base.clone(),
                        None => self.kernel.base_of(&name),
                    };
                    found.extend(base);
                }
                found
            }
        }
    }

    /// The number of an instruction.
    pub fn instruction_number(&self, id: &str) -> Option<usize> {
        self.instructions.get(id).copied()
    }

    /// The instruction of this id.
    pub fn instruction(&self, id: &str) -> Option<&'k Instruction> {
        Some(&self.kernel.instructions[self.instruction_number(id)?])
    }

    /// The array or temporary of this name.
    pub fn array(&self, name: &str) -> Option<&'k Array> {
        self.arrays.get(name).copied()
    }

    /// Whether a scalar argument has this name.
    pub fn is_scalar(&self, name: &str) -> bool {
        self.scalars.contains_key(name)
    }

    /// Whether this is an iname, defined ones included.
    pub fn is_iname(&self, name: &str) -> bool {
        self.base.contains_key(name)
    }

    /// The definition of an iname.
    pub fn definition(&self, name: &str) -> Option<&'k Aff> {
        self.definitions.get(name).copied()
    }

    /// The base inames behind a name; none for what is no iname.
    pub fn base_of(&self, name: &str) -> &[Name] {
        self.base.get(name).map_or(&[], Vec::as_slice)
    }

    /// As [`KernelData::expand`].
    pub fn expand(&self, aff: &Aff) -> loopwright_poly::Result<Aff> {
        let mut aff = aff.clone();
        while aff.names().iter().any(|n| self.definitions.contains_key(&**n)) {
            aff = aff.substitute(&|name| self.definition(name).cloned())?;
        }
        Ok(aff)
    }

    /// As [`KernelData::part_inames`].
    pub fn part_inames(&self, part: &PartRef) -> Vec<Name> {
        let Some(instruction) = self.instruction(&part.instruction) else { return Vec::new() };
        let mut inames = instruction.within.clone();
        let number = match part.part {
            Part::Whole | Part::Finish => return inames,
            Part::Init(n) | Part::Update(n) => n,
        };
        let mut enclosing = enclosing_reductions(&instruction.value, number);
        if matches!(part.part, Part::Init(_)) {
            enclosing.pop();
        }
        for reduce in enclosing {
            inames.extend(reduce.inames.iter().flat_map(|i| self.base_of(i).iter().cloned()));
        }
        inames
    }

    /// As [`KernelData::instances`], for a part of these base inames.
    pub fn instances(&self, inames: &[Name]) -> Vec<Constraint> {
        let mut domains: Vec<usize> =
            inames.iter().filter_map(|i| self.domains.get(i)).flatten().copied().collect();
        domains.sort_unstable();
        domains.dedup();
        let owns = |n: &Name| self.base_of(n).iter().all(|b| inames.contains(b));
        let mut found = Vec::new();
        for k in domains {
            let domain = &self.kernel.domains[k];
            if domain.inames.iter().any(|n| !self.base_of(n).is_empty() && owns(n)) {
                found.extend(domain.constraints.iter().filter(|c| c.names().iter().all(owns)).cloned());
            }
        }
        found
    }
}
