//! Validation: reports all errors of a kernel at once.
//!
//! Each check is one file and adds to one list of findings; a finding names the item of the kernel
//! that it concerns, and the text gives its place. A check skips what an earlier one has reported,
//! so that one mistake is reported once.

mod at_sizes;
mod bounds;
mod constants;
mod data;
mod domains;
mod instructions;
mod irregular;
mod names;
mod operators;
mod order;
mod projected;
mod purity;
mod records;
mod scalars;
mod scope;
mod unbounded;
mod updates;

pub(crate) use bounds::context;
pub(crate) use domains::is_integer;
pub use names::check_name;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Diagnostic, Diagnostics, KernelData, Lookup, LoopKernel, Name,
    text::{
        map_of_print,
        source_map::{Item, SourceMap},
    },
};

/// An error, and the item of the kernel that it concerns.
#[derive(PartialEq)]
pub(crate) struct Finding {
    diagnostic: Diagnostic,
    item: Item,
    part: String,
}

impl Finding {
    /// An error in the tokens `part` inside an item, or in all of it.
    pub fn new(diagnostic: Diagnostic, item: Item, part: impl Into<String>) -> Self {
        Finding { diagnostic, item, part: part.into() }
    }

    /// Whether this error alone may make the order of loops wrong.
    pub fn confuses_loops(&self) -> bool {
        matches!(
            self.diagnostic.code,
            "duplicate-name"
                | "duplicate-id"
                | "unknown-iname"
                | "iname-not-around"
                | "iname-twice"
                | "reduction-place"
                | "unknown-reduction"
                | "unknown-function"
                | "wrong-arity"
                | "bound-not-loaded"
                | "cyclic-domains"
        )
    }

    pub fn placed(self, map: &SourceMap) -> Diagnostic {
        let place = map.locate(&self.item, &self.part);
        let mut diagnostic = self.diagnostic;
        if let Some(call) = map.called(&self.item) {
            diagnostic.message.push_str(&call);
        }
        diagnostic.at(place)
    }
}

/// All of them with their places, in the order of the text.
pub(crate) fn placed(findings: Vec<Finding>, map: Option<&SourceMap>) -> Diagnostics {
    let mut all: Vec<Diagnostic> = findings
        .into_iter()
        .map(|f| match map {
            Some(map) => f.placed(map),
            None => f.diagnostic,
        })
        .collect();
    all.sort_by_key(|d| d.place.as_ref().map(|p| p.span.start));
    Diagnostics(all)
}

/// The findings so far, passed through the checks.
pub(crate) struct Check<'a> {
    pub data: &'a KernelData,
    pub lookup: &'a Lookup<'a>,
    pub found: Vec<Finding>,
    /// Instructions that have a finding: not checked further.
    pub wrong: BTreeSet<usize>,
    /// The base inames along which the reductions of the current instruction are scans.
    pub along: Vec<Name>,
}

impl Check<'_> {
    /// Adds a finding about the tokens `part` of an item. A second one of the same words would be
    /// shown at the same place, and is left out.
    pub fn add(&mut self, item: Item, part: &str, diagnostic: Diagnostic) {
        if let Item::Instruction(k) = item {
            self.wrong.insert(k);
        }
        let finding = Finding::new(diagnostic, item, part);
        if !self.found.contains(&finding) {
            self.found.push(finding);
        }
    }

    /// Whether something is wrong with an item.
    pub fn has(&self, item: &Item) -> bool {
        self.found.iter().any(|f| f.item == *item)
    }

    /// Whether the kernel has been transformed: its text order is no longer its order, and its
    /// steps have proved their bounds.
    pub fn transformed(&self) -> bool {
        self.data.declared.is_some() || !self.data.definitions.is_empty() || self.data.has_tags()
    }
}

/// The invariants that traversals rely on: acyclic definitions, and inames that belong to one
/// domain.
pub(crate) fn structure(data: &KernelData) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut earlier: BTreeSet<&Name> = BTreeSet::new();
    for (k, d) in data.definitions.iter().enumerate() {
        if !earlier.insert(&d.iname) {
            let message = format!("`{}` is defined twice", d.iname);
            found.push(Finding::new(Diagnostic::new("duplicate-name", message), Item::Definition(k), ""));
        }
        if let Some(name) = d.value.names().iter().find(|n| earlier.contains(n)) {
            let diagnostic = Diagnostic::new(
                "definition-cycle",
                format!("the value of `{}` uses `{name}`, which is not defined later", d.iname),
            )
            .help(
                "a definition may only use inames that were introduced after it, in the order of \
                 the transforms",
            );
            found.push(Finding::new(diagnostic, Item::Definition(k), ""));
        }
    }
    found
}

/// Everything wrong with a kernel whose [`structure`] is sound.
pub(crate) fn check(data: &KernelData) -> Vec<Finding> {
    let lookup = Lookup::new(data);
    let mut check =
        Check { data, lookup: &lookup, found: Vec::new(), wrong: BTreeSet::new(), along: Vec::new() };
    names::check(&mut check);
    domains::check(&mut check);
    data::check(&mut check);
    constants::check(&mut check);
    records::check(&mut check);
    operators::check(&mut check);
    instructions::check(&mut check);
    order::check(&mut check);
    // Proofs only make sense for a kernel without errors.
    if check.found.is_empty() {
        bounds::check(&mut check);
    }
    check.found
}

impl LoopKernel {
    /// Checks the subscripts of the declared kernel that are not affine and read no data, such as
    /// `x[j*j]`, for these values of the integer scalars: validation has only tried them on small
    /// numbers. A launch asks this when its arguments are bound.
    ///
    /// Errors: the first `out-of-bounds`, with a point, or `unchecked-subscript`, where there are
    /// too many points to look at each and ranges do not suffice. Places are in the printed form.
    pub fn check_subscripts(&self, scalars: &BTreeMap<Name, i64>) -> Result<(), Diagnostic> {
        let declared = self.declared();
        let lookup = Lookup::new(declared);
        if !bounds::has_irregular_subscripts(&lookup) {
            return Ok(());
        }
        let mut check = Check {
            data: declared,
            lookup: &lookup,
            found: Vec::new(),
            wrong: BTreeSet::new(),
            along: Vec::new(),
        };
        bounds::check_at(&mut check, scalars);
        if check.found.is_empty() {
            return Ok(());
        }
        let found = placed(check.found, map_of_print(declared).as_ref());
        found.0.into_iter().next().map_or(Ok(()), Err)
    }

    /// Whether a subscript of the declared kernel, or the length of an axis that it accesses, is
    /// not affine and reads nothing but constant tables: those that
    /// [`check_subscripts`](LoopKernel::check_subscripts) looks at for each launch.
    pub fn has_irregular_subscripts(&self) -> bool {
        bounds::has_irregular_subscripts(&Lookup::new(self.declared()))
    }
}

/// An empty tree for a kernel that has instructions.
pub(crate) fn no_tree(data: &KernelData) -> Option<Finding> {
    let diagnostic = Diagnostic::new("wrong-tree", "the tree is empty, and the kernel has instructions")
        .help(
            "each part of each instruction has to occur once, in the loops of its sequential \
             inames",
        );
    (data.tree.is_empty() && !data.instructions.is_empty())
        .then(|| Finding::new(diagnostic, Item::Header, ""))
}

impl LoopKernel {
    /// Checks that the kernel is valid and returns all errors otherwise. Places are in its printed
    /// form.
    pub fn validate(&self) -> Result<(), Diagnostics> {
        let mut found = structure(self);
        if found.is_empty() {
            found = check(self);
        }
        if found.is_empty() {
            found.extend(no_tree(self));
        }
        if found.is_empty() { Ok(()) } else { Err(placed(found, map_of_print(self).as_ref())) }
    }
}
