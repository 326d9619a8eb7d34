//! Random steps over the current inames of a kernel.
//!
//! Half of the pipelines are guided: the outermost iname of each nest is split and spread over
//! blocks and threads, as users do; the others are noise. Inames that carry dependences, and their
//! parts, are not given parallel tags, except as a whole: parts of them in different threads need a
//! proof of order, which is not part of lowering.

use loopwright_kernel_ir::{AddressSpace, Arg, LoopKernel, Name, Tag, Tree};

use crate::{moves, rng::Rng};

/// A random step's text for this kernel.
pub fn step(rng: &mut Rng, kernel: &LoopKernel, carried: &[String]) -> String {
    let base: Vec<Name> = kernel.base_inames();
    let free: Vec<Name> = base.iter().filter(|i| kernel.tag(i) == Tag::Seq).cloned().collect();
    let any = |rng: &mut Rng, of: &[Name]| -> String {
        if of.is_empty() { "nothing".into() } else { rng.pick(of).to_string() }
    };
    match rng.below(100) {
        0..=27 => {
            let i = if rng.chance(90) { any(rng, &free) } else { any(rng, &base) };
            format!("split_iname({i}, {})", rng.pick(&[1, 2, 3, 4, 5, 8, 16, 32, 32, 33, 64]))
        }
        28..=65 => {
            let i = any(rng, &free);
            format!("tag_inames({i}: {})", tag(rng, kernel, &i, carried))
        }
        66..=72 => format!("reorder({})", path(rng, &kernel.tree).join(", ")),
        73..=75 => {
            let two = path(rng, &kernel.tree);
            format!("join_inames([{}])", two.join(", "))
        }
        76..=83 => {
            let arrays: Vec<Name> = kernel
                .args
                .iter()
                .filter_map(|a| match a {
                    Arg::Array(a) => Some(a.name.clone()),
                    Arg::Scalar(_) => None,
                })
                .collect();
            let mut sweep = vec![any(rng, &base)];
            if rng.chance(50) {
                let second = any(rng, &base);
                if second != sweep[0] {
                    sweep.push(second);
                }
            }
            let space = if rng.chance(25) { ", space=private" } else { "" };
            let pad = if rng.chance(25) { ", pad=1" } else { "" };
            format!("add_prefetch({}, [{}]{space}{pad})", any(rng, &arrays), sweep.join(", "))
        }
        84..=86 => format!("unroll({})", any(rng, &free)),
        87 | 88 => {
            let i = any(rng, &base);
            format!("rename_iname({i}, {i}_again)")
        }
        89..=91 => {
            let ids: Vec<Name> = kernel.instructions.iter().map(|i| i.id.clone()).collect();
            format!("duplicate_inames([{}], [{}])", any(rng, &free), any(rng, &ids))
        }
        92..=94 => {
            let side = rng.pick(&["inward", "outward"]);
            format!("split_reduction_{side}({})", any(rng, &base))
        }
        95 | 96 => {
            let temps: Vec<Name> = kernel.temporaries.iter().map(|t| t.name.clone()).collect();
            format!("precompute({}, [{}])", any(rng, &temps), any(rng, &base))
        }
        97 => {
            let temps: Vec<Name> = kernel.temporaries.iter().map(|t| t.name.clone()).collect();
            format!("set_address_space({}, {})", any(rng, &temps), rng.pick(&["private", "shared", "global"]))
        }
        98 => {
            let temps: Vec<Name> = kernel
                .temporaries
                .iter()
                .filter(|t| t.space != AddressSpace::Private && !t.axes.is_empty())
                .map(|t| t.name.clone())
                .collect();
            let array = any(rng, &temps);
            let step = match rng.below(4) {
                0 => Some(format!("pad_array_axis({array}, 0, 1)")),
                1 => kernel.temporary(&array).and_then(|t| moves::swizzle(rng, t)),
                2 => kernel.temporary(&array).and_then(|t| moves::set_layout(rng, t)),
                _ => None,
            };
            step.unwrap_or_else(|| format!("tag_array_axes({array}, f)"))
        }
        _ => format!("untag_inames({})", any(rng, &base)),
    }
}

fn tag(rng: &mut Rng, kernel: &LoopKernel, iname: &str, carried: &[String]) -> &'static str {
    let part = carried.iter().any(|c| c != iname && iname.starts_with(c.as_str()));
    let whole = carried.iter().any(|c| c == iname);
    let _ = kernel;
    if part {
        return rng.pick(&["unroll", "seq", "partition"]);
    }
    if whole && rng.chance(60) {
        return rng.pick(&["unroll", "partition", "host", "host"]);
    }
    rng.pick(&[
        "block.x",
        "block.x",
        "block.x",
        "block.y",
        "block.z",
        "thread.x",
        "thread.x",
        "thread.x",
        "thread.x",
        "thread.y",
        "thread.y",
        "thread.z",
        "lane",
        "lane",
        "warp",
        "ilp",
        "ilp",
        "vec",
        "unroll",
        "unroll",
        "partition",
        "host",
    ])
}

/// Some consecutive loops on a path from the root to a leaf.
fn path(rng: &mut Rng, trees: &[Tree]) -> Vec<String> {
    let mut found = Vec::new();
    let mut here = trees;
    loop {
        let loops: Vec<(&Name, &[Tree])> = here
            .iter()
            .filter_map(|t| match t {
                Tree::Loop { iname, body } => Some((iname, body.as_slice())),
                Tree::Leaf(_) => None,
            })
            .collect();
        if loops.is_empty() {
            break;
        }
        let (iname, body) = loops[rng.below(loops.len())];
        found.push(iname.to_string());
        here = body;
    }
    while found.len() > 2 && rng.chance(60) {
        if rng.chance(50) {
            found.remove(0);
        } else {
            found.pop();
        }
    }
    if rng.chance(60) {
        found.reverse();
    }
    found
}

/// Lengths that are multiples of four, and lanes of four on the innermost inames: for accesses of
/// whole vectors, loads and stores.
fn vectors(rng: &mut Rng, kernel: &LoopKernel, carried: &[String]) -> Vec<String> {
    let mut steps = vec!["assume(n % 4 = 0)".to_string(), "assume(m % 4 = 0)".to_string()];
    let mut seen: Vec<Name> = Vec::new();
    for instruction in &kernel.instructions {
        let reduced = instruction.reductions().iter().flat_map(|r| r.inames.clone()).collect::<Vec<_>>();
        for iname in instruction.within.last().into_iter().chain(reduced.last()) {
            let is_carried = carried.iter().any(|c| **c == **iname);
            if seen.contains(iname) || is_carried || kernel.definition(iname).is_some() {
                continue;
            }
            seen.push(iname.clone());
            steps.push(format!("split_iname({iname}, 16)"));
            steps.push(format!("split_iname({iname}_inner, 4, outer={iname}_t, inner={iname}_v)"));
            steps.push(format!("tag_inames({iname}_v: vec)"));
            if rng.chance(70) {
                steps.push(format!("tag_inames({iname}_t: thread.x)"));
            }
            if rng.chance(70) {
                steps.push(format!("tag_inames({iname}_outer: block.x)"));
            }
        }
    }
    steps
}

/// The first steps of a guided pipeline: blocks and threads for the outermost inames, something for
/// the reductions.
pub fn guided(rng: &mut Rng, kernel: &LoopKernel, carried: &[String]) -> Vec<String> {
    let mut steps = Vec::new();
    if rng.chance(25) {
        return vectors(rng, kernel, carried);
    }
    let threads = rng.pick(&[4, 8, 32, 32, 64, 33]);
    let axis = rng.pick(&["thread.x", "thread.x", "thread.y"]);
    let outer_only = rng.chance(25);
    for tree in &kernel.tree {
        let Tree::Loop { iname, .. } = tree else { continue };
        if carried.iter().any(|c| **c == **iname) {
            steps.push(format!("tag_inames({iname}: host)"));
            continue;
        }
        if outer_only {
            steps.push(format!("tag_inames({iname}: block.x)"));
        } else {
            steps.push(format!("split_iname({iname}, {threads})"));
            steps.push(format!("tag_inames({iname}_outer: block.x)"));
            steps.push(format!("tag_inames({iname}_inner: {axis})"));
        }
    }
    for instruction in &kernel.instructions {
        for r in instruction.reductions() {
            for i in &r.inames {
                if rng.chance(40) {
                    continue;
                }
                let tag = rng
                    .pick(&["thread.x", "thread.x", "thread.y", "lane", "ilp", "vec", "unroll", "thread.z"]);
                let by = rng.pick(&[2, 4, 8, 32, 32, 64, 3]);
                steps.push(format!("split_iname({i}, {by})"));
                steps.push(format!("tag_inames({i}_inner: {tag})"));
            }
        }
    }
    steps
}
