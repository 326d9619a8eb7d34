//! Imperfect nests in which statements depend on one another from iteration to iteration, and some
//! has no parallel loop as it stands: factorisations, triangular solves.
//!
//! Such nests are often written row by row, where the terms of an element come one after another.
//! Ordered by *pivots* instead, the statements of one pivot are parallel in all other loops: each
//! statement gets a nest of its own (`distribute`), the loop that counts pivots goes to the outside
//! (`reorder`), and these loops become one (`fuse_loops`), which the host runs. A statement's
//! pivots are counted by the loop that its target does not depend on; where there is none, each of
//! its loops is tried. Within a pivot, statements with fewer loops come first, then other orders
//! are tried. The group is judged as a whole, by its dependences.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel solve(l: f64[n, n], x: f64[n], n: i32)
//! assume 0 <= n
//! domain { [i] : 0 <= i < n }
//! domain { [j] : 0 <= j < i }
//! x[i] = x[i] - l[i, j] * x[j] {id=subtract}
//! x[i] = x[i] / l[i, i] {id=divide}
//! ")?;
//! assert_eq!(auto(&kernel, &Target::default()).decisions[0].steps[0].to_string(), "\
//! together {
//!     distribute(i, new=[i_divide])
//!     reorder(j, i)
//!     fuse_loops([i_divide, j], new=w)
//! }");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::{AddressSpace, Instruction, Name, Part, Tree};
use loopwright_lowering::Target;

use crate::{Nest, Proposal, Rule};

pub struct Elimination;

/// The most orders that are tried.
const ORDERS: usize = 24;

/// The loops of one statement, once it has a nest of its own: the iname in its text, and that of
/// the copy.
struct Chain<'n> {
    instruction: &'n Instruction,
    loops: Vec<(Name, String)>,
}

impl Rule for Elimination {
    fn name(&self) -> &'static str {
        "elimination"
    }

    fn propose(&self, nest: &Nest<'_>, _: &Target) -> Vec<Proposal> {
        propose(nest).unwrap_or_default()
    }
}

fn propose(nest: &Nest<'_>) -> Option<Vec<Proposal>> {
    let root = nest.band.first()?;
    let has_parallel = |i: &&Instruction| i.within.iter().any(|n| nest.is_parallel(n));
    if nest.inner.is_empty() || nest.is_parallel(root) || nest.instructions.iter().all(has_parallel) {
        return None;
    }
    // A scalar passes values from each statement to the next: nothing can be taken apart.
    let in_memory = |name: &Name| nest.kernel.array(name).is_some_and(|a| a.space == AddressSpace::Global);
    let mut targets = nest.instructions.iter().flat_map(|i| &i.targets);
    if !targets.all(|t| in_memory(&t.array) && !t.index.is_empty()) {
        return None;
    }
    let mut steps = Vec::new();
    let chains = chains(nest, nest.tree(), &mut steps)?;
    // Statements that read nothing that the nest writes run before all pivots.
    let written: Vec<&Name> = nest.instructions.iter().flat_map(|i| &i.targets).map(|t| &t.array).collect();
    let reads = |c: &Chain<'_>| c.instruction.operands().iter().any(|n| written.contains(&n));
    let first = chains.iter().position(reads)?;
    let pivoted = chains.get(first..)?;
    let w = nest.fresh()?;
    let counters: Vec<Vec<usize>> = pivoted.iter().map(counters).collect();
    let mut proposals = Vec::new();
    for choice in choices(&counters) {
        for order in orders(pivoted) {
            let mut group = steps.clone();
            for (chain, at) in pivoted.iter().zip(&choice).filter(|(_, at)| **at > 0) {
                let mut names: Vec<&str> = chain.loops.iter().map(|(_, now)| now.as_str()).collect();
                let pivot = names.remove(*at);
                names.insert(0, pivot);
                group.push(format!("reorder({})", names.join(", ")));
            }
            let fused: Option<Vec<&str>> =
                order.iter().map(|k| Some(pivoted[*k].loops.get(choice[*k])?.1.as_str())).collect();
            let fused = fused?;
            if fused.len() > 1 {
                group.push(format!("fuse_loops([{}], new={w})", fused.join(", ")));
            }
            let pivot = if fused.len() > 1 { w } else { fused[0] };
            let reason = format!(
                "statements under `{root}` depend on one another from iteration to iteration; ordered by \
                 pivots `{pivot}`, which the host counts, those of one pivot are parallel"
            );
            proposals.push(
                Proposal::new(reason)
                    .step(format!("together {{ {} }}", group.join("; ")))
                    .step(format!("tag_inames({pivot}: host)")),
            );
            if proposals.len() == ORDERS {
                return Some(proposals);
            }
        }
    }
    Some(proposals)
}

/// The statements of a tree with their loops, after these steps; `None` if one is a reduction,
/// whose parts stay together.
fn chains<'n>(nest: &Nest<'n>, tree: &Tree, steps: &mut Vec<String>) -> Option<Vec<Chain<'n>>> {
    match tree {
        Tree::Leaf(part) => {
            let instruction = nest.instructions.iter().find(|i| i.id == part.instruction)?;
            (part.part == Part::Whole).then(|| vec![Chain { instruction, loops: Vec::new() }])
        }
        Tree::Loop { iname, body } => {
            let mut found = Vec::new();
            for child in body {
                found.extend(chains(nest, child, steps)?);
            }
            let mut copies = Vec::new();
            for (k, chain) in found.iter_mut().enumerate() {
                let now = match k {
                    0 => iname.to_string(),
                    _ => format!("{iname}_{}", chain.instruction.id),
                };
                chain.loops.insert(0, (iname.clone(), now.clone()));
                copies.extend((k > 0).then_some(now));
            }
            if !copies.is_empty() {
                steps.push(format!("distribute({iname}, new=[{}])", copies.join(", ")));
            }
            Some(found)
        }
    }
}

/// The loops of a statement that may count its pivots.
fn counters(chain: &Chain<'_>) -> Vec<usize> {
    let in_target = |n: &Name| {
        let subscripts = chain.instruction.targets.iter().flat_map(|t| &t.index);
        subscripts.into_iter().any(|e| e.names().contains(n))
    };
    let outside: Vec<usize> = (0..chain.loops.len()).filter(|k| !in_target(&chain.loops[*k].0)).collect();
    match outside.len() {
        1 => outside,
        // The innermost first: what is outside of it is what a row-wise order puts there.
        _ => (0..chain.loops.len()).rev().collect(),
    }
}

/// One loop of each statement, in all combinations.
fn choices(counters: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for of in counters {
        let longer = |begun: &Vec<usize>| {
            let begun = begun.clone();
            of.iter().map(move |k| [begun.as_slice(), &[*k]].concat())
        };
        all = all.iter().flat_map(longer).take(ORDERS).collect();
    }
    all
}

/// Orders of the statements: those with fewer loops first, then the permutations of that order.
fn orders(chains: &[Chain<'_>]) -> Vec<Vec<usize>> {
    let mut first: Vec<usize> = (0..chains.len()).collect();
    first.sort_by_key(|k| chains[*k].loops.len());
    let mut all = vec![Vec::new()];
    for _ in 0..chains.len() {
        let longer = |begun: &Vec<usize>| {
            let begun = begun.clone();
            let rest: Vec<usize> = first.iter().filter(|k| !begun.contains(k)).copied().collect();
            rest.into_iter().map(move |k| [begun.as_slice(), &[k]].concat())
        };
        all = all.iter().flat_map(longer).take(ORDERS).collect();
    }
    all
}
