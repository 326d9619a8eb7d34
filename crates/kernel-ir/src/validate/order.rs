//! Order: values exist before they are used, `dep` agrees with the text, and the loop tree keeps
//! its invariants.

use std::collections::BTreeSet;

use crate::{
    Diagnostic, Name, Part, PartRef, Tree, text::source_map::Item, types::is_untyped, validate::Check,
};

pub(crate) fn check(check: &mut Check<'_>) {
    dependences(check);
    written(check);
    loaded(check);
    // If two instructions share an id, it is undecided whose a leaf is.
    let ids: BTreeSet<&Name> = check.data.instructions.iter().map(|i| &i.id).collect();
    let distinct = ids.len() == check.data.instructions.len();
    if distinct && (check.data.declared.is_some() || !check.data.tree.is_empty()) {
        tree(check);
    }
}

fn dependences(check: &mut Check<'_>) {
    let data = check.data;
    for (k, i) in data.instructions.iter().enumerate() {
        for id in &i.after {
            let Some(position) = check.lookup.instruction_number(id) else {
                let mut d =
                    Diagnostic::new("unknown-instruction", format!("no instruction has the id `{id}`"));
                d.help = crate::suggest::did_you_mean(id, data.instructions.iter().map(|j| j.id.as_str()))
                    .or_else(|| Some("leave it out, or name an earlier instruction".into()));
                check.add(Item::Instruction(k), id, d);
                continue;
            };
            if position >= k && data.declared.is_none() {
                let message = match position == k {
                    true => format!("`{id}` cannot come before itself"),
                    false => format!("`{}` depends on `{id}`, which comes later in the text", i.id),
                };
                let d = Diagnostic::new("dep-order", message)
                    .help(format!("instructions run in the order of the text: move `{id}` above `{}`", i.id));
                check.add(Item::Instruction(k), id, d);
            }
        }
    }
}

/// A temporary that is read is also written.
fn written(check: &mut Check<'_>) {
    let data = check.data;
    let mut reported: BTreeSet<Name> = BTreeSet::new();
    for (k, i) in data.instructions.iter().enumerate() {
        for name in i.reads() {
            // One that has no type either has already been reported.
            let typed = |t: &crate::Array| !is_untyped(&t.dtype);
            if check.lookup.temporary(&name).is_some_and(typed)
                && check.lookup.writers(&name).is_empty()
                && reported.insert(name.clone())
            {
                let d = Diagnostic::new(
                    "never-written",
                    format!("the temporary `{name}` is read but never written"),
                )
                .help("write it in an earlier instruction, or make it an argument");
                check.add(Item::Instruction(k), &name, d);
            }
        }
    }
}

/// Bounds that are read from data are loaded before the loop that they bound.
fn loaded(check: &mut Check<'_>) {
    let (data, lookup) = (check.data, check.lookup);
    for (k, domain) in data.domains.iter().enumerate() {
        for (j, c) in domain.constraints.iter().enumerate() {
            for name in c.names() {
                if lookup.temporary(&name).is_none_or(|t| !t.axes.is_empty()) {
                    continue;
                }
                let writer = lookup.writers(&name).first().copied();
                let user = data.instructions.iter().position(|i| {
                    let reduced = i.reductions();
                    domain.inames.iter().any(|n| {
                        let bases = lookup.base_of(n);
                        let goes = |list: &[Name]| bases.iter().any(|b| list.contains(b)) || list.contains(n);
                        goes(&i.within) || reduced.iter().any(|r| goes(&r.inames))
                    })
                });
                let d = match (writer, user) {
                    (None, _) => Diagnostic::new(
                        "bound-not-loaded",
                        format!("the bound `{name}` is a temporary that no instruction writes"),
                    )
                    .help(format!("load it: `{name} = offsets[...]`, above the instructions that need it")),
                    (Some(w), Some(u)) if w >= u && data.declared.is_none() => {
                        let (writer, user) = (&data.instructions[w].id, &data.instructions[u].id);
                        let message =
                            format!("`{user}` needs the bound `{name}`, which `{writer}` loads after it");
                        Diagnostic::new("bound-not-loaded", message)
                            .help(format!("move `{writer}` above `{user}`"))
                    }
                    _ => continue,
                };
                check.add(Item::Constraint(k, j), &name, d);
            }
        }
    }
}

/// In a scan, uses come after updates, in the same iteration of the same loops.
fn scans(check: &Check<'_>) -> Vec<(String, Diagnostic)> {
    let (data, lookup) = (check.data, check.lookup);
    let mut found = Vec::new();
    for i in data.instructions.iter().filter(|i| i.scan.is_some()) {
        let mut places: Vec<(PartRef, Vec<Name>)> = Vec::new();
        Tree::visit_leaves(&data.tree, &mut |path, part| {
            if part.instruction == i.id {
                places.push((part.clone(), path.iter().map(|n| (*n).clone()).collect()));
            }
        });
        let Some((finish, loops)) = places.last() else { continue };
        let own: Vec<Name> = lookup.inames_of(i, Part::Finish);
        let around = |path: &[Name]| path.iter().filter(|n| own.contains(n)).cloned().collect::<Vec<_>>();
        let apart = places.iter().find(|(p, path)| {
            let in_order = matches!(p.part, Part::Init(_)) || around(path) == *loops;
            !in_order || finish.part != Part::Finish
        });
        if let Some((part, _)) = apart {
            let message = format!("`{part}` and `{}.finish` of a scan are in different loops", i.id);
            found.push((part.to_string(), Diagnostic::new("wrong-tree", message)));
        }
    }
    found
}

/// Every part is exactly one leaf, in the loops of its sequential inames.
fn tree(check: &mut Check<'_>) {
    let (data, lookup) = (check.data, check.lookup);
    let mut parts: BTreeSet<PartRef> = data.instructions.iter().flat_map(|i| data.parts(i)).collect();
    let mut findings: Vec<(String, Diagnostic)> = Vec::new();
    let mut loops: BTreeSet<Name> = BTreeSet::new();
    fn nodes(trees: &[Tree], visit: &mut dyn FnMut(&Name)) {
        for tree in trees {
            if let Tree::Loop { iname, body } = tree {
                visit(iname);
                nodes(body, visit);
            }
        }
    }
    // Those of instructions have been reported where they are named.
    let is_named = |iname: &Name| data.instructions.iter().any(|i| i.within.contains(iname));
    nodes(&data.tree, &mut |iname| {
        if (!lookup.is_iname(iname) || lookup.definition(iname).is_some()) && !is_named(iname) {
            let d = Diagnostic::new("unknown-iname", format!("`{iname}` is not an iname of a loop"));
            findings.push((iname.to_string(), d));
        } else if data.tag(iname).is_parallel() {
            let d = Diagnostic::new(
                "wrong-tree",
                format!("`{iname}` is tagged {}, and is not a loop", data.tag(iname)),
            );
            findings.push((iname.to_string(), d));
        } else if !loops.insert(iname.clone()) {
            let d = Diagnostic::new("wrong-tree", format!("`{iname}` has two loops in the tree"));
            findings.push((iname.to_string(), d));
        }
    });
    Tree::visit_leaves(&data.tree, &mut |path, part| {
        if !parts.remove(part) {
            let message = match lookup.instruction(&part.instruction) {
                Some(_) => format!("`{part}` is not a part of its instruction, or occurs twice"),
                None => format!("no instruction has the id `{}`", part.instruction),
            };
            findings.push((part.to_string(), Diagnostic::new("wrong-tree", message)));
            return;
        }
        let wanted: BTreeSet<Name> =
            lookup.part_inames(part).into_iter().filter(|n| !data.tag(n).is_parallel()).collect();
        let has: BTreeSet<Name> = path.iter().map(|n| (*n).clone()).collect();
        if wanted != has {
            let list = |names: &BTreeSet<Name>| match names.is_empty() {
                true => "no loop".to_string(),
                false => names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "),
            };
            let message = format!("`{part}` belongs in {}, but is in {}", list(&wanted), list(&has));
            findings.push((part.to_string(), Diagnostic::new("wrong-tree", message)));
        }
    });
    if let Some(part) = parts.first() {
        let d = Diagnostic::new("wrong-tree", format!("`{part}` is not in the tree"));
        findings.push((String::new(), d));
    }
    if findings.is_empty() {
        findings.extend(scans(check));
    }
    for (part, d) in findings {
        let help = "each part of each instruction has to occur once, in the loops of its \
                    sequential inames";
        check.add(Item::Tree, &part, if d.help.is_none() { d.help(help) } else { d });
    }
}
