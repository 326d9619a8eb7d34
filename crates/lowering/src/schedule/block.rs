//! The shape of a block of threads.

use loopwright_kernel_ir::{Diagnostic, Dim, HardwareAxis, Name, PerDim, Tag};
use loopwright_target::Target;

use crate::analyse::analysis::Analysis;

/// The greatest extent of each thread axis among some parts.
pub(crate) fn extents_of_threads(analysis: &Analysis<'_>, parts: &[usize]) -> PerDim<u32> {
    let mut block = PerDim::all(1u32);
    for p in parts {
        for iname in &analysis.parts[*p].inames {
            let tag = analysis.kernel.tag(iname);
            let Some(HardwareAxis::Block(dim)) = tag.axis() else { continue };
            let extent = analysis.extents.get(iname).and_then(|e| e.constant).unwrap_or(1);
            let extent = u32::try_from(extent.max(1)).unwrap_or(u32::MAX);
            block[dim] = extent.max(block[dim]);
        }
    }
    block
}

/// The shape of the block that runs these parts.
pub(crate) fn block_shape(
    analysis: &Analysis<'_>,
    parts: &[usize],
    target: &Target,
) -> Result<PerDim<u32>, Diagnostic> {
    let block = extents_of_threads(analysis, parts);
    let threads: u64 = block.values().map(|b| u64::from(*b)).fold(1, u64::saturating_mul);
    let constant = |i: &Name| analysis.extents.get(i).and_then(|e| e.constant);
    if threads > u64::from(target.most_threads) {
        // The inames that give each axis its length.
        let mut lengths: Vec<String> = Vec::new();
        for iname in parts.iter().flat_map(|p| &analysis.parts[*p].inames) {
            let tag = analysis.kernel.tag(iname);
            let Some(HardwareAxis::Block(dim)) = tag.axis() else { continue };
            let length = constant(iname).filter(|n| *n == i64::from(block[dim]));
            let text = length.map(|n| format!("`{iname}: {tag}` has {n} values"));
            lengths.extend(text.filter(|t| !lengths.contains(t)));
        }
        let refusal = Diagnostic::new(
            "too-many-threads",
            format!(
                "a block of {block} = {threads} threads is more than the {} that a block may \
                 have",
                target.most_threads
            ),
        )
        .help(match second_nest(analysis, parts) {
            Some(id) => format!(
                "split the thread axes by smaller numbers, or let another launch begin with the second \
                 nest: `begin_launch({id})`"
            ),
            None => "split the thread axes by smaller numbers".into(),
        });
        return Err(match lengths.is_empty() {
            true => refusal,
            false => refusal.witness(lengths.join(", ")),
        });
    }
    let find = |wanted: &dyn Fn(&Name) -> bool| {
        parts.iter().flat_map(|p| &analysis.parts[*p].inames).find(|i| wanted(i)).cloned()
    };
    let uses = |wanted: Tag| find(&|i| analysis.kernel.tag(i) == wanted);
    let lanes = target.divides_warp(block.x.into());
    if let (Some(lane), false) = (uses(Tag::Lane), lanes) {
        let widest = find(&|i| {
            let tag = analysis.kernel.tag(i);
            tag.axis() == Some(HardwareAxis::Block(Dim::X)) && constant(i) == Some(i64::from(block.x))
        });
        let why = match widest.filter(|i| *i != lane) {
            Some(i) => format!("as many as `{i}: {}` has values", analysis.kernel.tag(&i)),
            None => "its number of values".into(),
        };
        return Err(Diagnostic::new(
            "lane-length",
            format!(
                "`{lane}` is tagged `lane`, but the x axis of its block has {} threads, {why}; a \
                 warp is divided into {} lanes",
                block.x,
                target.parts_of_warps()
            ),
        )
        .help("split what runs on the x axis by one of these numbers, or tag it `thread.y`"));
    }
    if uses(Tag::Warp).is_some() && block.x != target.warp_size {
        return Err(Diagnostic::new(
            "warp-without-lanes",
            format!(
                "an iname is tagged `warp`, but the x axis has {} threads instead of {} lanes",
                block.x, target.warp_size
            ),
        )
        .help(format!("tag an iname of length {} `lane`, or use `thread.y`", target.warp_size)));
    }
    Ok(block)
}

/// If no part needs as many threads as the block of all has, the instruction with which a nest
/// begins that has another shape than the first one: the threads are too many only together.
fn second_nest(analysis: &Analysis<'_>, parts: &[usize]) -> Option<Name> {
    let shape = |p: &usize| extents_of_threads(analysis, &[*p]);
    let all = extents_of_threads(analysis, parts);
    let first = shape(parts.first()?);
    if parts.iter().any(|p| shape(p) == all) {
        return None;
    }
    let second = parts.iter().find(|p| shape(p) != first)?;
    Some(analysis.parts[*second].execution.part.instruction.clone())
}
