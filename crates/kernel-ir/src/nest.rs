//! How domains nest, and the loop tree of a kernel in text order.
//!
//! Nest order is: the inames of a domain after those of the domains that it depends on (directly,
//! or through the instructions that load its bounds), otherwise in the order of declaration. The
//! tree is built instruction by instruction: an instruction is placed in those of the loops open at
//! the end of the tree that are its own, and opens the others. An iname that would need a second
//! loop is refused here; before that, [`repeated`] has given it a copy there where it can.

pub(crate) mod repeated;

use std::collections::{BTreeSet, HashMap};

use loopwright_poly::{Constraint, Name};
use petgraph::{
    algo::toposort,
    graph::{DiGraph, NodeIndex},
    visit::DfsPostOrder,
};

use crate::{
    Diagnostic, Diagnostics, Instruction, KernelData, Lookup, LoopKernel, Part, PartRef, Reduce, Tree,
    reduction::enclosing_reductions, text::block::BlockLoops,
};

/// The names a domain reads that are not its own inames.
fn foreign_names(lookup: &Lookup<'_>, domain: usize) -> BTreeSet<Name> {
    let domain = &lookup.kernel().domains[domain];
    domain.constraints.iter().flat_map(Constraint::names).filter(|n| !domain.inames.contains(n)).collect()
}

/// The domains, by number, with an edge to each domain that one depends on.
fn domain_graph(lookup: &Lookup<'_>, blocks: &BlockLoops) -> DiGraph<usize, ()> {
    let mut graph = DiGraph::new();
    let nodes: Vec<NodeIndex> = (0..lookup.kernel().domains.len()).map(|k| graph.add_node(k)).collect();
    for k in 0..nodes.len() {
        // Parameters loaded from data carry the inames of their loader.
        for name in foreign_names(lookup, k) {
            for parent in parents_of_name(lookup, blocks, &name) {
                if let Some((p, _)) = lookup.domain_of(&parent).filter(|(p, _)| *p != k) {
                    graph.update_edge(nodes[k], nodes[p], ());
                }
            }
        }
    }
    graph
}

/// All inames in nest order: those of a domain after those of the domains that it depends on.
pub(crate) fn order(lookup: &Lookup<'_>, blocks: &BlockLoops) -> Vec<Name> {
    let domains = &lookup.kernel().domains;
    let graph = domain_graph(lookup, blocks);
    let mut inames = Vec::new();
    // One walk for all starts: nodes visited from an earlier start are already placed.
    let mut walk = DfsPostOrder::empty(&graph);
    for start in graph.node_indices() {
        walk.move_to(start);
        while let Some(node) = walk.next(&graph) {
            inames.extend(domains[graph[node]].inames.iter().cloned());
        }
    }
    inames
}

/// The place of each iname in nest order.
fn positions(lookup: &Lookup<'_>, blocks: &BlockLoops) -> HashMap<Name, usize> {
    order(lookup, blocks).into_iter().enumerate().map(|(k, n)| (n, k)).collect()
}

/// A domain that depends on itself through others, with the refusal: none of their loops could be
/// the outer one.
pub(crate) fn cycle(lookup: &Lookup<'_>) -> Option<(usize, Diagnostic)> {
    let graph = domain_graph(lookup, &BlockLoops::new());
    let cycle = toposort(&graph, None).err()?;
    let domain = graph[cycle.node_id()];
    let inames = &lookup.kernel().domains[domain].inames;
    let names: Vec<String> = inames.iter().map(|i| format!("`{i}`")).collect();
    let diagnostic = Diagnostic::new(
        "cyclic-domains",
        format!("the domain of {} depends on itself through the bounds of other domains", names.join(", ")),
    )
    .help("bound one of the inames by parameters alone, so that it can be the outer loop");
    Some((domain, diagnostic))
}

/// The inames on which a name in a domain depends: itself, or for a scalar temporary those of the
/// instructions that write it.
fn parents_of_name(lookup: &Lookup<'_>, blocks: &BlockLoops, name: &Name) -> Vec<Name> {
    if lookup.is_iname(name) {
        return vec![name.clone()];
    }
    if lookup.temporary(name).is_none() {
        return Vec::new();
    }
    let writers = lookup.writers(name).iter().map(|k| (*k, &lookup.kernel().instructions[*k]));
    writers
        .flat_map(|(k, i)| if i.within.is_empty() { mentioned(lookup, blocks, k) } else { i.within.clone() })
        .collect()
}

/// The inames that the instruction with this number mentions outside of its reductions' own, and
/// those of the blocks around it.
fn mentioned(lookup: &Lookup<'_>, blocks: &BlockLoops, number: usize) -> Vec<Name> {
    let instruction = &lookup.kernel().instructions[number];
    let mut names: BTreeSet<Name> = of_blocks(blocks, number).cloned().collect();
    let mut own = BTreeSet::new();
    for e in instruction.expressions() {
        names.extend(e.names());
        for r in e.reductions() {
            own.extend(r.inames.iter().cloned());
        }
    }
    // A reduction's own iname still belongs around the instruction's parents, not the instruction.
    let mut outer: BTreeSet<Name> =
        names.iter().filter(|n| lookup.is_iname(n) && !own.contains(*n)).cloned().collect();
    let mut frontier: Vec<Name> = outer.iter().cloned().chain(own.iter().cloned()).collect();
    while let Some(name) = frontier.pop() {
        let Some((k, position)) = lookup.domain_of(&name) else { continue };
        let mut needed = foreign_names(lookup, k);
        // Within one domain, an iname needs those before it that its constraints mention.
        let domain = &lookup.kernel().domains[k];
        for c in domain.constraints.iter().filter(|c| c.aff.mentions(&name)) {
            needed.extend(c.names().into_iter().filter(|n| domain.inames[..position].contains(n)));
        }
        for n in needed {
            for parent in if *n == *name { Vec::new() } else { loaders(lookup, blocks, &n) } {
                if !own.contains(&parent) && outer.insert(parent.clone()) {
                    frontier.push(parent);
                }
            }
        }
    }
    outer.into_iter().collect()
}

/// As [`parents_of_name`], without the inames that instructions have only through others (which
/// would not terminate).
pub(crate) fn loaders(lookup: &Lookup<'_>, blocks: &BlockLoops, name: &Name) -> Vec<Name> {
    if lookup.is_iname(name) {
        return vec![name.clone()];
    }
    if lookup.temporary(name).is_none() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (k, i) in lookup.writers(name).iter().map(|k| (*k, &lookup.kernel().instructions[*k])) {
        found.extend(i.within.iter().chain(of_blocks(blocks, k)).cloned());
        for e in i.targets.iter().flat_map(|t| &t.index).chain([&i.value]) {
            found.extend(e.names().into_iter().filter(|n| lookup.is_iname(n)));
        }
    }
    found
}

/// The inames of the blocks around an instruction, outermost first.
fn of_blocks(blocks: &BlockLoops, number: usize) -> impl Iterator<Item = &Name> {
    blocks.get(&number).into_iter().flatten().map(|l| &l.iname)
}

/// Fills the empty `within` lists, and puts all of them in nest order. Names that are not inames
/// are left out.
pub(crate) fn fill_within(data: &mut KernelData, blocks: &BlockLoops) {
    let lookup = Lookup::new(data);
    let positions = positions(&lookup, blocks);
    let within: Vec<Vec<Name>> = data
        .instructions
        .iter()
        .enumerate()
        .map(|(k, i)| {
            let names = if i.within.is_empty() { mentioned(&lookup, blocks, k) } else { i.within.clone() };
            // What is given and no iname comes last; validation refuses it.
            let position = |n: &Name| match i.within.is_empty() {
                true => positions.get(n).copied(),
                false => Some(positions.get(n).copied().unwrap_or(usize::MAX)),
            };
            let mut placed: Vec<(usize, Name)> =
                names.into_iter().filter_map(|n| Some((position(&n)?, n))).collect();
            placed.sort_unstable();
            placed.dedup();
            placed.into_iter().map(|(_, n)| n).collect()
        })
        .collect();
    for (i, w) in data.instructions.iter_mut().zip(within) {
        i.within = w;
    }
}

/// The tree of a declared kernel, or the reasons why it has no tree, each with the number of an
/// instruction.
pub(crate) fn tree_in_text_order(lookup: &Lookup<'_>) -> Result<Vec<Tree>, Vec<(usize, Diagnostic)>> {
    let data = lookup.kernel();
    let positions = positions(lookup, &BlockLoops::new());
    let mut tree = Vec::new();
    let mut opened = BTreeSet::new();
    let mut errors = Vec::new();
    for (number, instruction) in data.instructions.iter().enumerate() {
        for part in parts_in_order(data, instruction) {
            let path = path_of(lookup, &positions, instruction, part.part);
            if let Some(loops) = loops_with_bounds(lookup, &positions, instruction, part.part)
                && insert_before(&mut tree, &path, &loops[path.len()..], &part)
            {
                continue;
            }
            if let Err(d) = insert(&mut tree, &path, &part, &mut opened) {
                errors.push((number, d));
                break;
            }
        }
    }
    if errors.is_empty() { Ok(tree) } else { Err(errors) }
}

/// The loops around a part of a declared instruction, outermost first.
fn path_of(
    lookup: &Lookup<'_>,
    positions: &HashMap<Name, usize>,
    instruction: &Instruction,
    part: Part,
) -> Vec<Name> {
    let mut path = lookup.inames_of(instruction, part);
    let (Part::Init(number) | Part::Update(number)) = part else { return path };
    if instruction.scan.is_some() {
        // The `init` of a scan has fewer inames than its instruction.
        let around = instruction.within.len().min(path.len());
        path[around..].sort_by_key(|n| positions.get(n));
        return path;
    }
    // Reductions nest as they are written; the inames of one of them by their domains.
    let mut at = instruction.within.len();
    for reduce in enclosing_reductions(&instruction.value, number) {
        let end = (at + reduce.inames.len()).min(path.len());
        path[at.min(end)..end].sort_by_key(|n| positions.get(n));
        at = end;
    }
    path
}

/// The loops around an update, for the init of a reduction within whose loops an instruction loads
/// the bounds of a reduction inside, as the length of a segment in `sum(s, sum(i, x[s, i]))`. The
/// loop that loads them is that of the reduction, and the init, on which nothing else depends,
/// stands before it.
fn loops_with_bounds(
    lookup: &Lookup<'_>,
    positions: &HashMap<Name, usize>,
    instruction: &Instruction,
    part: Part,
) -> Option<Vec<Name>> {
    let Part::Init(number) = part else { return None };
    let reductions = instruction.reductions();
    let own = &reductions.get(number)?.inames;
    let is_loaded = |n: &Name| {
        let writers = lookup.writers(n).iter().map(|k| &lookup.kernel().instructions[*k]);
        lookup.temporary(n).is_some() && writers.into_iter().any(|i| own.iter().any(|o| i.within.contains(o)))
    };
    let inside = (0..reductions.len()).filter(|n| {
        let around = enclosing_reductions(&instruction.value, *n);
        around.len() > enclosing_reductions(&instruction.value, number).len()
            && around.iter().any(|r| r.inames == *own)
    });
    let mut domains = inside.flat_map(|n| reductions[n].inames.clone()).filter_map(|n| lookup.domain_of(&n));
    domains
        .any(|(k, _)| foreign_names(lookup, k).iter().any(is_loaded))
        .then(|| path_of(lookup, positions, instruction, Part::Update(number)))
}

/// The parts of an instruction such that reductions over the same inames share their loops: all
/// inits at a level, all updates, inner reductions inside the updates of outer ones.
fn parts_in_order(data: &KernelData, instruction: &Instruction) -> Vec<PartRef> {
    let reductions = instruction.reductions();
    if reductions.is_empty() {
        return data.parts(instruction);
    }
    let enclosing: Vec<Vec<Name>> = (0..reductions.len())
        .map(|n| {
            let around = enclosing_reductions(&instruction.value, n);
            around[..around.len().saturating_sub(1)]
                .iter()
                .flat_map(|r: &std::sync::Arc<Reduce>| r.inames.clone())
                .collect()
        })
        .collect();
    let part = |part| PartRef { instruction: instruction.id.clone(), part };
    fn level(
        around: &[Name],
        inames: &[std::sync::Arc<Reduce>],
        enclosing: &[Vec<Name>],
        part: &dyn Fn(Part) -> PartRef,
        found: &mut Vec<PartRef>,
    ) {
        let here: Vec<usize> = (0..inames.len()).filter(|n| enclosing[*n] == around).collect();
        found.extend(here.iter().map(|n| part(Part::Init(*n))));
        let mut done: Vec<&[Name]> = Vec::new();
        for n in &here {
            let loops = &inames[*n].inames[..];
            if done.contains(&loops) {
                continue;
            }
            done.push(loops);
            // A reduction over no iname, which validation refuses, needs no loop.
            if !loops.is_empty() {
                let inside: Vec<Name> = around.iter().chain(loops).cloned().collect();
                level(&inside, inames, enclosing, part, found);
            }
            found.extend(here.iter().filter(|m| inames[**m].inames == loops).map(|m| part(Part::Update(*m))));
        }
    }
    let mut found = Vec::new();
    level(&[], &reductions, &enclosing, &part, &mut found);
    found.push(part(Part::Finish));
    found
}

/// The refusal of a second loop over an iname.
fn second_loop(iname: &Name, part: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::new(
        "iname-twice",
        format!("the order of the text needs two loops over `{iname}`, the second one for `{part}`"),
    )
    .help(format!(
        "a sequential iname is one loop: rename the second, or move the instructions of `{iname}` \
         together"
    ))
}

fn insert(
    tree: &mut Vec<Tree>,
    path: &[Name],
    part: &PartRef,
    opened: &mut BTreeSet<Name>,
) -> Result<(), Diagnostic> {
    let Some((first, rest)) = path.split_first() else {
        tree.push(Tree::Leaf(part.clone()));
        return Ok(());
    };
    if let Some(Tree::Loop { iname, body }) = tree.last_mut()
        && iname == first
    {
        return insert(body, rest, part, opened);
    }
    if !opened.insert(first.clone()) {
        return Err(second_loop(first, part));
    }
    let mut body = Vec::new();
    insert(&mut body, rest, part, opened)?;
    tree.push(Tree::Loop { iname: first.clone(), body });
    Ok(())
}

/// Inserts a part in the loops of `path` before the loop that is last there, if that one and those
/// inside it are `loops`.
fn insert_before(tree: &mut Vec<Tree>, path: &[Name], loops: &[Name], part: &PartRef) -> bool {
    fn ends_with(tree: &[Tree], loops: &[Name]) -> bool {
        match (tree.last(), loops.split_first()) {
            (_, None) => true,
            (Some(Tree::Loop { iname, body }), Some((first, rest))) => {
                iname == first && ends_with(body, rest)
            }
            _ => false,
        }
    }
    let Some((first, rest)) = path.split_first() else {
        let found = !loops.is_empty() && ends_with(tree, loops);
        if found {
            tree.insert(tree.len() - 1, Tree::Leaf(part.clone()));
        }
        return found;
    };
    match tree.last_mut() {
        Some(Tree::Loop { iname, body }) if iname == first => insert_before(body, rest, loops, part),
        _ => false,
    }
}

impl LoopKernel {
    /// A declared kernel. Fills in what follows from the rest: for instructions with an empty
    /// `within` the inames they mention (with those that their domains need), and the loop tree
    /// from text order. `definitions`, `tags` and `tree` must be empty.
    ///
    /// Errors: an iname that would need two nodes in the tree (`rename the second`), inames of
    /// unknown order. All other errors are found by `validate`.
    pub fn declare(mut data: KernelData) -> Result<LoopKernel, Diagnostics> {
        if let Some((_, diagnostic)) = cycle(&Lookup::new(&data)) {
            return Err(diagnostic.into());
        }
        fill_within(&mut data, &BlockLoops::new());
        data.tree = tree_in_text_order(&Lookup::new(&data))
            .map_err(|errors| Diagnostics(errors.into_iter().map(|(_, d)| d).collect()))?;
        Ok(LoopKernel::from_data(data))
    }
}

impl KernelData {
    /// The inames that are loops or coordinates (not defined by others), in nest order.
    pub fn base_inames(&self) -> Vec<Name> {
        let lookup = Lookup::new(self);
        order(&lookup, &BlockLoops::new()).into_iter().filter(|i| lookup.definition(i).is_none()).collect()
    }
}
