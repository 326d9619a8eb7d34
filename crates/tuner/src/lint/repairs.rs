//! Changed pipelines that may repair a finding. Whether they help, and whether they are legal, is
//! found out by trying.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{Arg, Dim, HardwareAxis, Name, Tag, Tree};
use loopwright_transforms::{Number, Pipeline, SplitIname, Step};

use super::findings::{Finding, Kind};
use super::measured::Measured;
use crate::points::ranges;

/// A changed pipeline that may repair a finding.
#[derive(Clone, Debug)]
pub(super) struct Proposal {
    pub what: String,
    /// The steps that are new or changed.
    pub steps: Vec<String>,
    pub pipeline: Pipeline,
}

/// The changes to try for a finding: among equally good ones, the first is taken.
pub(super) fn proposals(finding: &Finding, pipeline: &Pipeline, m: &Measured) -> Vec<Proposal> {
    let all = match &finding.kind {
        Kind::BankConflicts(array) => padded(pipeline, m, array),
        Kind::Uncoalesced(_) => coalesced(pipeline, m),
        Kind::IdleLanes => other_lengths(pipeline, m, &|tag| tag.is_in_block(), Side::Inner),
        Kind::BytesInFlight => {
            let mut all = more_in_flight(pipeline, m);
            all.extend(several_a_thread(pipeline, m));
            all
        }
        Kind::FewBlocks => {
            let mut all = other_lengths(pipeline, m, &|tag| tag.is_over_blocks(), Side::Outer);
            all.extend(chunks(pipeline, m));
            all
        }
        Kind::Guards => assumed(pipeline, m),
        Kind::NoReuse(_, source) => without_copies(pipeline, source),
        Kind::TooSmall => Vec::new(),
        Kind::Spilled | Kind::FewResident => {
            let lanes = |tag: Tag| tag.is_jam() || tag == Tag::Unroll;
            let mut all = other_lengths(pipeline, m, &lanes, Side::Narrower);
            all.extend(rolled(pipeline, m));
            all
        }
        // What the kernel computes is what it is; loops are what can cost less.
        Kind::Instructions => more_in_flight(pipeline, m),
    };
    // Nothing is tried twice.
    let mut seen = BTreeSet::new();
    all.into_iter().filter(|p| seen.insert(p.pipeline.to_string())).collect()
}

fn step_texts(before: &Pipeline, after: &Pipeline) -> Vec<String> {
    let known: Vec<String> = before.steps().iter().map(Step::to_string).collect();
    after.steps().iter().map(Step::to_string).filter(|s| !known.contains(s)).collect()
}

/// A proposal, unless its text is not a valid pipeline, for example because of an unusual iname.
fn proposal(what: String, before: &Pipeline, after: Result<Pipeline, impl Sized>) -> Option<Proposal> {
    let pipeline = after.ok()?;
    Some(Proposal { what, steps: step_texts(before, &pipeline), pipeline })
}

fn with_steps(pipeline: &Pipeline, text: &str) -> Option<Pipeline> {
    Some(pipeline.clone().then(&Pipeline::parse(text).ok()?))
}

/// Sequential loops of the kernel, innermost last.
fn loops(m: &Measured) -> Vec<Name> {
    let mut found: Vec<Name> = Vec::new();
    Tree::visit_leaves(&m.kernel.tree, &mut |path, _| {
        for name in path {
            if m.kernel.tag(name) == Tag::Seq && !found.contains(name) {
                found.push((*name).clone());
            }
        }
    });
    found
}

/// Another row length of an array in shared memory.
fn padded(pipeline: &Pipeline, m: &Measured, array: &Name) -> Vec<Proposal> {
    let axes = m.kernel.array(array).map_or(0, |a| a.axes.len());
    let mut all = Vec::new();
    for axis in 0..axes {
        // One word shifts rows to other banks; four keep rows of whole vectors aligned.
        for by in [1, 4] {
            let after = with_steps(pipeline, &format!("pad_array_axis({array}, {axis}, {by})")).ok_or(());
            all.extend(proposal(format!("pad axis {axis} of `{array}` by {by}"), pipeline, after));
        }
    }
    all
}

/// Threads along another iname, tiles through shared memory, and both.
fn coalesced(pipeline: &Pipeline, m: &Measured) -> Vec<Proposal> {
    let mut turned: Vec<(String, Pipeline)> = vec![(String::new(), pipeline.clone())];
    let swap = |a: Dim, b: Dim| {
        change_tags(pipeline, &|tag| match tag {
            Tag::Thread(x) if x == a => Tag::Thread(b),
            Tag::Thread(x) if x == b => Tag::Thread(a),
            other => other,
        })
    };
    for (a, b) in [(Dim::X, Dim::Y), (Dim::X, Dim::Z)] {
        turned.push((format!("swap thread.{a} and thread.{b}"), swap(a, b)));
    }
    for inner in loops(m) {
        turned.extend(along(pipeline, m, &inner));
    }
    let mut all = Vec::new();
    for (what, pipeline_turned) in &turned {
        if !what.is_empty() {
            all.extend(proposal(what.clone(), pipeline, Ok::<_, ()>(pipeline_turned.clone())));
        }
        for (array, inames) in tiles(m) {
            let inames: Vec<&str> = inames.iter().map(Name::as_str).collect();
            for pad in ["", ", pad=1"] {
                let step = format!("add_prefetch({array}, [{}]{pad})", inames.join(", "));
                let and = if what.is_empty() { String::new() } else { format!("{what}, and ") };
                let padded = if pad.is_empty() { "" } else { " with a padded row" };
                let what = format!("{and}read `{array}` through a tile in shared memory{padded}");
                all.extend(proposal(what, pipeline, with_steps(pipeline_turned, &step).ok_or(())));
            }
        }
    }
    all
}

/// Moves the lanes of a warp to a sequential loop; their present iname gets as many fewer threads.
fn along(pipeline: &Pipeline, m: &Measured, inner: &Name) -> Option<(String, Pipeline)> {
    let (now, _) = m.kernel.tags.iter().find(|(_, tag)| tag.axis() == Some(HardwareAxis::Block(Dim::X)))?;
    if m.kernel.tags.values().any(|tag| tag.axis() == Some(HardwareAxis::Block(Dim::Y))) {
        return None;
    }
    let lanes = i64::from(m.program.target.warp_size);
    let mut found = false;
    let steps = pipeline.steps().iter().map(|step| match step {
        Step::SplitIname(split) if inner_name(split) == *now => {
            found = true;
            let length = split.length.value().unwrap_or(1);
            Step::SplitIname(SplitIname { length: Number::Known((length / lanes).max(1)), ..split.clone() })
        }
        other => other.clone(),
    });
    let changed: Pipeline = steps.collect();
    let changed = change_tags(&changed, &|tag| {
        if tag.axis() == Some(HardwareAxis::Block(Dim::X)) { Tag::Thread(Dim::Y) } else { tag }
    });
    let added = format!("split_iname({inner}, {lanes})\ntag_inames({inner}_inner: thread.x)");
    found.then_some(())?;
    Some((format!("map thread.x to `{inner}`"), with_steps(&changed, &added)?))
}

fn inner_name(split: &SplitIname) -> Name {
    split.inner.clone().unwrap_or_else(|| Name::new(format!("{}_inner", split.iname)))
}

fn outer_name(split: &SplitIname) -> Name {
    split.outer.clone().unwrap_or_else(|| Name::new(format!("{}_outer", split.iname)))
}

fn change_tags(pipeline: &Pipeline, change: &dyn Fn(Tag) -> Tag) -> Pipeline {
    let steps = pipeline.steps().iter().map(|step| match step {
        Step::TagInames(tags) => {
            let mut tags = tags.clone();
            tags.tags.iter_mut().for_each(|(_, tag)| *tag = change(*tag));
            Step::TagInames(tags)
        }
        other => other.clone(),
    });
    steps.collect()
}

/// For each array argument that is read, the inames within a block on which its subscripts depend.
fn tiles(m: &Measured) -> Vec<(Name, Vec<Name>)> {
    let within = |name: &Name| {
        let tag = m.kernel.tag(name);
        tag.has_constant_length()
    };
    let mut all: Vec<(Name, Vec<Name>)> = Vec::new();
    for instruction in &m.kernel.instructions {
        for access in instruction.value.accesses() {
            let is_argument =
                m.kernel.args.iter().any(|a| matches!(a, Arg::Array(a) if a.name == access.array));
            if !is_argument || all.iter().any(|(array, _)| *array == access.array) {
                continue;
            }
            let subscripts = access.index.iter().flat_map(|e| e.names());
            let behind: BTreeSet<Name> = subscripts.flat_map(|n| m.kernel.base_of(&n)).collect();
            let inames: Vec<Name> = behind.into_iter().filter(&within).collect();
            if !inames.is_empty() {
                all.push((access.array.clone(), inames));
            }
        }
    }
    all
}

/// Which side of a split a tag is looked for on.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Inner,
    Outer,
    /// As `Inner`, with shorter lengths alone.
    Narrower,
}

/// Other lengths of the splits that make blocks.
fn other_lengths(
    pipeline: &Pipeline,
    m: &Measured,
    wanted: &dyn Fn(Tag) -> bool,
    side: Side,
) -> Vec<Proposal> {
    let mut all = Vec::new();
    let warp = i64::from(m.program.target.warp_size);
    for (k, step) in pipeline.steps().iter().enumerate() {
        let Step::SplitIname(split) = step else { continue };
        let name = if side == Side::Outer { outer_name(split) } else { inner_name(split) };
        let Ok(length) = split.length.value() else { continue };
        if !m.kernel.is_iname(&name) || !wanted(m.kernel.tag(&name)) {
            continue;
        }
        // The nearest first: among equally good ones it changes least.
        let halving = std::iter::successors(Some(1024i64), |n| (*n > 1).then_some(n / 2));
        let iterations = iterations(m, &split.iname);
        // A block that is longer than the loop would only have more warps that have nothing to do.
        // One below a warp has lanes that never run.
        let is_useful = |n: i64| {
            let is_too_long = n > length && iterations.is_some_and(|all| n as f64 > all);
            let is_too_short = side == Side::Inner && n < length && threads_beside(m, length) * n < warp;
            !is_too_long && !is_too_short
        };
        let mut lengths: Vec<i64> = halving
            .filter(|n| *n != length && (side == Side::Inner || *n < length) && is_useful(*n))
            .collect();
        lengths.sort_by_key(|n| (*n).max(length) / (*n).min(length).max(1));
        for other in lengths {
            let mut steps = pipeline.steps().to_vec();
            steps[k] = Step::SplitIname(SplitIname { length: Number::Known(other), ..split.clone() });
            let what = format!("split `{}` by {other} instead of {length}", split.iname);
            all.extend(proposal(what, pipeline, Ok::<_, ()>(steps.into_iter().collect())));
        }
    }
    all
}

/// The iterations of a loop that a step splits, if these sizes tell.
fn iterations(m: &Measured, iname: &Name) -> Option<f64> {
    let of = |ranges: BTreeMap<Name, (f64, f64)>| {
        ranges.get(iname).map(|(least, greatest)| greatest - least + 1.0)
    };
    of(ranges(m.kernel.declared(), &m.known.integers)).or_else(|| of(ranges(&m.kernel, &m.known.integers)))
}

/// The threads of the largest block for each of these along one of its axes.
fn threads_beside(m: &Measured, length: i64) -> i64 {
    let threads = m.program.kernels.iter().map(|k| k.block.values().map(|n| i64::from(*n)).product());
    threads.max().unwrap_or(1) / length.max(1)
}

/// Unrolled loops as loops.
fn rolled(pipeline: &Pipeline, m: &Measured) -> Vec<Proposal> {
    let unrolled = m.kernel.tags.iter().filter(|(_, tag)| **tag == Tag::Unroll);
    let rolled = unrolled.filter_map(|(name, _)| {
        let steps = format!("untag_inames({name})");
        proposal(
            format!("leave the loop over `{name}` rolled"),
            pipeline,
            with_steps(pipeline, &steps).ok_or(()),
        )
    });
    rolled.collect()
}

/// Several iterations of a loop at once, each with its own accumulator.
fn more_in_flight(pipeline: &Pipeline, m: &Measured) -> Vec<Proposal> {
    let mut all = Vec::new();
    for name in loops(m) {
        for (by, tag) in [(2, "ilp"), (4, "ilp"), (8, "ilp"), (4, "unroll")] {
            let steps = format!(
                "split_iname({name}, {by}, outer={name}_step, inner={name}_part)\n\
                 tag_inames({name}_part: {tag})"
            );
            let what = format!("run {by} iterations of `{name}` at once ({tag})");
            all.extend(proposal(what, pipeline, with_steps(pipeline, &steps).ok_or(())));
        }
    }
    all
}

/// Several elements a thread, where a split leaves one to each: neighbouring threads keep
/// neighbouring elements, and blocks get as many times longer.
fn several_a_thread(pipeline: &Pipeline, m: &Measured) -> Vec<Proposal> {
    let mut all = Vec::new();
    for (k, step) in pipeline.steps().iter().enumerate() {
        let Step::SplitIname(split) = step else { continue };
        let (inner, Ok(length)) = (inner_name(split), split.length.value()) else { continue };
        let is_map = m.kernel.tag(&inner).is_in_block() && m.kernel.tag(&outer_name(split)).is_over_blocks();
        let [tile, part] = ["tile", "part"].map(|what| Name::new(format!("{}_{what}", split.iname)));
        if !is_map || [&tile, &part].into_iter().any(|name| m.kernel.is_iname(name)) {
            continue;
        }
        for (by, tag) in [(2, "ilp"), (4, "ilp"), (8, "ilp"), (4, "vec")] {
            let is_vector = tag == "vec";
            let Some(longer) = length.checked_mul(by) else { continue };
            let mut steps = pipeline.steps().to_vec();
            steps[k] = Step::SplitIname(SplitIname {
                length: Number::Known(longer),
                inner: Some(tile.clone()),
                ..split.clone()
            });
            let (of, outer, within) = if is_vector { (by, &inner, &part) } else { (length, &part, &inner) };
            let second = format!("split_iname({tile}, {of}, outer={outer}, inner={within})");
            let Ok(second) = Pipeline::parse(&second) else { continue };
            steps.splice(k + 1..k + 1, second.steps().iter().cloned());
            let steps: Pipeline = steps.into_iter().collect();
            let what = format!("let each thread have {by} elements of `{}` ({tag})", split.iname);
            let after = with_steps(&steps, &format!("tag_inames({part}: {tag})")).ok_or(());
            all.extend(proposal(what, pipeline, after));
        }
    }
    all
}

/// Pieces of a sequential loop for separate blocks.
fn chunks(pipeline: &Pipeline, m: &Measured) -> Vec<Proposal> {
    let used = |dim: Dim| m.kernel.tags.values().any(|t| t.axis() == Some(HardwareAxis::Grid(dim)));
    let Some(axis) = Dim::ALL.iter().find(|dim| !used(**dim)) else { return Vec::new() };
    let mut all = Vec::new();
    let ranges = ranges(&m.kernel, &m.known.integers);
    for name in loops(m) {
        // One block for all iterations is what there is.
        let iterations = ranges.get(&name).map(|(least, greatest)| greatest - least + 1.0);
        for length in [4, 16, 64].into_iter().filter(|n| iterations.is_none_or(|all| f64::from(*n) < all)) {
            let steps = format!(
                "split_iname({name}, {length}, outer={name}_chunk, inner={name}_rest)\n\
                 tag_inames({name}_chunk: block.{axis})"
            );
            let what = format!("distribute each {length} iterations of `{name}` to a separate block");
            all.extend(proposal(what, pipeline, with_steps(pipeline, &steps).ok_or(())));
        }
    }
    all
}

/// The pipeline without each of the steps that copy elements of an array.
fn without_copies(pipeline: &Pipeline, source: &Name) -> Vec<Proposal> {
    let copies = pipeline.steps().iter().enumerate().filter_map(|(k, step)| match step {
        Step::AddPrefetch(copy) if copy.array == *source => Some((k, step)),
        _ => None,
    });
    let without = copies.filter_map(|(k, step)| {
        let rest = pipeline.steps().iter().enumerate().filter(|(other, _)| *other != k);
        let rest: Pipeline = rest.map(|(_, step)| step.clone()).collect();
        proposal(format!("leave out `{step}`"), pipeline, Ok::<_, ()>(rest))
    });
    without.collect()
}

/// An assumption that these sizes satisfy, before the splits: other sizes are then refused at
/// launch.
fn assumed(pipeline: &Pipeline, m: &Measured) -> Vec<Proposal> {
    let lengths: BTreeSet<i64> = pipeline
        .steps()
        .iter()
        .filter_map(|s| if let Step::SplitIname(s) = s { s.length.value().ok() } else { None })
        .filter(|n| *n > 1)
        .collect();
    let mut every = Vec::new();
    let mut all = Vec::new();
    for (name, value) in &m.known.integers {
        let Some(by) = lengths.iter().rev().find(|n| *value > 0 && value % **n == 0) else { continue };
        let assumption = format!("{name} mod {by} = 0");
        every.push(assumption.clone());
        all.push(assumption);
    }
    if every.len() > 1 {
        all.push(every.join(" and "));
    }
    all.into_iter()
        .filter_map(|assumption| {
            let first = Pipeline::parse(&format!("assume({assumption})")).ok()?;
            let what = format!("assume {assumption}, which holds here");
            proposal(what, pipeline, Ok::<_, ()>(first.then(pipeline)))
        })
        .collect()
}
