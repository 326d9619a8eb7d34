//! The names that a kernel declares: one namespace, in which validation refuses a name twice
//! (`duplicate-name`), and which a name that a step or the text's reader makes has to leave alone.

use std::collections::BTreeSet;

use crate::{KernelData, Name};

impl KernelData {
    /// The names of arguments, temporaries, constant tables, arrays of structs, structs, inames,
    /// functions, rules and instructions of the hardware. Operators of reductions, and ids of
    /// statements, have namespaces of their own.
    pub fn declared_names(&self) -> impl Iterator<Item = &Name> {
        let inames = self.domains.iter().flat_map(|d| &d.inames);
        let arrays = self.temporaries.iter().map(|t| &t.name);
        inames
            .chain(self.args.iter().map(|a| a.name()))
            .chain(arrays)
            .chain(self.constants.iter().map(|c| &c.array.name))
            .chain(self.records.iter().map(|r| &r.array.name))
            .chain(self.structs.iter().map(|s| &s.name))
            .chain(self.functions.iter().map(|f| &f.name))
            .chain(self.rules.iter().map(|r| &r.name))
            .chain(self.atoms.iter().map(|a| a.name()))
    }

    /// Whether the name is one of [`KernelData::declared_names`], or a domain's constraints use it.
    pub fn is_declared(&self, name: &str) -> bool {
        self.declared_names().any(|n| **n == *name)
            || self.domains.iter().flat_map(|d| &d.constraints).any(|c| c.aff.mentions(name))
    }

    /// All names of a kernel and the ids of its instructions, those included that nothing declares
    /// yet, or wrongly: they must not come to mean something.
    pub(crate) fn all_names(&self) -> BTreeSet<Name> {
        let mut taken: BTreeSet<Name> = self.declared_names().cloned().collect();
        taken.extend(self.reductions.iter().map(|r| r.name.clone()));
        taken.extend(self.instructions.iter().map(|i| i.id.clone()));
        taken.insert(self.name.clone());
        for e in self.instructions.iter().flat_map(|i| i.expressions()) {
            taken.extend(e.reads());
            taken.extend(e.reductions().iter().flat_map(|r| r.inames.clone()));
        }
        taken.extend(self.domains.iter().flat_map(|d| d.constraints.iter().flat_map(|c| c.names())));
        taken
    }
}
