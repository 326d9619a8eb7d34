//! Validation.

use std::collections::BTreeSet;

use crate::{
    Diagnostic, KernelData, Name,
    text::source_map::{Item, SourceMap},
};

/// Something wrong, and the item of the kernel that it is about.
pub(crate) struct Finding {
    diagnostic: Diagnostic,
    item: Item,
    part: String,
}

impl Finding {
    /// About the tokens `part` inside of an item, or all of it.
    pub fn new(diagnostic: Diagnostic, item: Item, part: impl Into<String>) -> Self {
        Finding { diagnostic, item, part: part.into() }
    }

    pub fn placed(self, map: &SourceMap) -> Diagnostic {
        let place = map.locate(&self.item, &self.part);
        self.diagnostic.at(place)
    }
}

/// What the walks over a kernel rely on: definitions that end.
pub(crate) fn structure(data: &KernelData) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut earlier: BTreeSet<&Name> = BTreeSet::new();
    for (k, d) in data.definitions.iter().enumerate() {
        earlier.insert(&d.iname);
        if let Some(name) = d.value.names().iter().find(|n| earlier.contains(n)) {
            let diagnostic = Diagnostic::new(
                "definition-cycle",
                format!("the value of `{}` speaks of `{name}`, which is defined no later", d.iname),
            )
            .help("a definition speaks of inames that were made after it, in the order of the transforms");
            found.push(Finding::new(diagnostic, Item::Definition(k), ""));
        }
    }
    found
}

pub(crate) fn check(_data: &KernelData) -> Vec<Finding> {
    Vec::new()
}
