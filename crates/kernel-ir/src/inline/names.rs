//! The names that the items of a called kernel get in its caller.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Arg, KernelData, Name};

/// The names and ids of the called kernel's items, as those that they get in the caller.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    made: BTreeMap<Name, Name>,
    ids: BTreeMap<Name, Name>,
}

/// The items of a called kernel that get names: those of values, and the ids.
fn own(callee: &KernelData, results: &[Name]) -> (BTreeSet<Name>, BTreeSet<Name>) {
    let mut names: BTreeSet<Name> = callee.domains.iter().flat_map(|d| d.inames.iter().cloned()).collect();
    names.extend(callee.temporaries.iter().map(|t| t.name.clone()).filter(|n| !results.contains(n)));
    names.extend(callee.constants.iter().map(|c| c.array.name.clone()));
    for rule in &callee.rules {
        names.insert(rule.name.clone());
        names.extend(rule.parameters.iter().cloned());
    }
    // Numbers may need a scalar that holds them.
    let scalars = callee.args.iter().filter(|a| matches!(a, Arg::Scalar(_)));
    names.extend(scalars.map(|a| a.name().clone()));
    (names, callee.instructions.iter().map(|i| i.id.clone()).collect())
}

impl Names {
    /// `PREFIX_NAME` for each name, where `PREFIX` is `base`, or `base_2` and so on, so that all
    /// of them are new. Adds them to `taken`.
    pub fn prefixed(callee: &KernelData, results: &[Name], base: &Name, taken: &mut BTreeSet<Name>) -> Self {
        let (names, ids) = own(callee, results);
        let mut number = 1;
        loop {
            let prefix = if number == 1 { base.to_string() } else { format!("{base}_{number}") };
            let with = |n: &Name| Name::new(format!("{prefix}_{n}"));
            if !names.iter().chain(&ids).any(|n| taken.contains(&with(n))) {
                let map = |of: BTreeSet<Name>| of.into_iter().map(|n| (n.clone(), with(&n))).collect();
                let made = Names { made: map(names), ids: map(ids) };
                taken.extend(made.made.values().chain(made.ids.values()).cloned());
                return made;
            }
            number += 1;
        }
    }

    /// The names of the called kernel, with a number after those that the caller has: `i_2`.
    pub fn numbered(callee: &KernelData, caller: &KernelData) -> Self {
        let (names, ids) = own(callee, &[]);
        let number = |of: BTreeSet<Name>, mut taken: BTreeSet<Name>| {
            of.into_iter()
                .map(|old| {
                    let mut new = old.clone();
                    let mut k = 1;
                    while !taken.insert(new.clone()) {
                        k += 1;
                        new = Name::new(format!("{old}_{k}"));
                    }
                    (old, new)
                })
                .collect()
        };
        let known = caller.instructions.iter().map(|i| i.id.clone()).collect();
        Names { made: number(names, caller.all_names()), ids: number(ids, known) }
    }

    /// What a name of the called kernel becomes.
    pub fn of(&self, name: &Name) -> Name {
        self.made.get(name).unwrap_or(name).clone()
    }

    /// What an id of the called kernel becomes.
    pub fn of_instruction(&self, id: &Name) -> Name {
        self.ids.get(id).unwrap_or(id).clone()
    }

    /// The id of the instruction that computes an argument: the name of the scalar, unless an
    /// instruction of the called kernel gets that.
    pub fn of_argument(&self, name: &Name) -> Name {
        let mut id = self.of(name);
        while self.ids.values().any(|n| *n == id) {
            id = id.followed_by("_value");
        }
        id
    }
}
