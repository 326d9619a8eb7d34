//! The order of a scan: of the inames that its iname was split into, the outermost are loops, then
//! come threads (z, y, x), then one iname of lanes. In place of loops there may be one iname on an
//! axis of the grid: each block then has one tile, and looks back over those before it.
//!
//! Any other order, parts of the instruction in other loops, and loops that do not take the values
//! of the scan's iname in increasing order are refused, since no realisation exists.

use loopwright_kernel_ir::{
    Diagnostic, Dim, HardwareAxis, Instruction, Lookup, LoopKernel, Name, Part, PartRef, Tag, Tree,
};
use loopwright_legality::{along, in_rounds};

use crate::{
    Hazards,
    analyse::{analysis::Analysis, look_back},
};

/// The rank of a tag in the order of a scan: loops or blocks, then threads, then lanes.
fn rank(tag: Tag) -> usize {
    match tag.axis() {
        Some(HardwareAxis::Grid(_)) => 0,
        Some(HardwareAxis::Block(Dim::Z)) => 1,
        Some(HardwareAxis::Block(Dim::Y)) => 2,
        Some(HardwareAxis::Block(Dim::X)) => 3,
        None if tag.is_jam() => 4,
        None => 0,
    }
}

/// Refuses scans without a realisation. When lowering is forced, an instruction that is no longer a
/// scan, or not in order, runs as its loops say, provided there are only loops.
pub(crate) fn check(kernel: &LoopKernel, hazards: Hazards) -> Result<(), Diagnostic> {
    if kernel.instructions.iter().all(|i| i.scan.is_none()) {
        return Ok(());
    }
    let lookup = Lookup::new(kernel);
    for i in &kernel.instructions {
        let Some(inames) = along(kernel, &lookup, i) else { continue };
        let is_forced = hazards == Hazards::Left && i.within.iter().all(|n| kernel.tag(n) == Tag::Seq);
        let inames = match inames {
            Err(_) if is_forced => continue,
            inames => inames?,
        };
        let refuse = |iname: &Name, why: &str, help: String| {
            let (id, tag) = (&i.id, kernel.tag(iname));
            Diagnostic::new("scan-order", format!("the scan `{id}` goes along `{iname}: {tag}`, {why}"))
                .help(help)
        };
        let mut last = 0;
        let mut lanes = 0;
        for (iname, _) in &inames {
            let rank = rank(kernel.tag(iname));
            lanes += usize::from(kernel.tag(iname).is_jam());
            if rank < last || lanes > 1 {
                return Err(refuse(
                    iname,
                    "which is out of order",
                    "of the inames that a scan's iname was split into, the outermost are loops, \
                     then come threads (z, y, x), then one iname of lanes"
                        .into(),
                ));
            }
            last = rank;
        }
        if let Some(tile) = inames.iter().map(|(n, _)| n).find(|n| is_grid(kernel.tag(n))) {
            look_back::check(kernel, i, tile, &inames)?;
        }
        // Each instance adds one point to the result of those before it.
        let update = PartRef { instruction: i.id.clone(), part: Part::Update(0) };
        let own = lookup.part_inames(&update);
        let spread = |n: &&Name| kernel.tag(n).is_hardware() || kernel.tag(n).is_jam();
        if let Some(iname) = own.iter().filter(|n| !i.within.contains(n)).find(spread) {
            return Err(refuse(
                iname,
                "over which each instance adds one point",
                format!(
                    "leave `{iname}` a loop, and tag inames that the scan's iname was split \
                     into"
                ),
            ));
        }
        stands_in_order(kernel, &lookup, i)?;
        if !is_forced {
            in_rounds(kernel, &lookup, i, &inames)?;
        }
    }
    Ok(())
}

/// Checks that the parts of a scan are where its rounds begin and end: `init` before its loops, the
/// others together inside them.
fn stands_in_order(kernel: &LoopKernel, lookup: &Lookup<'_>, i: &Instruction) -> Result<(), Diagnostic> {
    let mut loops: Vec<(Part, Vec<Name>)> = Vec::new();
    Tree::visit_leaves(&kernel.tree, &mut |path, part| {
        if part.instruction == i.id {
            loops.push((part.part, path.iter().map(|n| (*n).clone()).collect()));
        }
    });
    let finish = loops.iter().find(|(p, _)| *p == Part::Finish).map(|(_, l)| l.clone()).unwrap_or_default();
    for (part, path) in &loops {
        let mut wanted: Vec<Name> = match part {
            Part::Update(_) => finish.clone(),
            part => {
                let inames = lookup.inames_of(i, *part);
                finish.iter().filter(|n| inames.contains(n)).cloned().collect()
            }
        };
        wanted.truncate(path.len());
        let stands = match part {
            Part::Update(_) => path.starts_with(&finish),
            _ => *path == wanted,
        };
        if !stands {
            let part = PartRef { instruction: i.id.clone(), part: *part };
            return Err(Diagnostic::new("scan-order", format!("`{part}` is in other loops than its scan"))
                .help("the loops of a scan are the innermost ones around it"));
        }
    }
    Ok(())
}

/// Whether a scan runs in successive rounds: along loops, and inside them along threads or lanes.
/// One that is not joined, since it has no points, has no rounds.
pub(crate) fn is_carried(analysis: &Analysis<'_>, instruction: usize) -> bool {
    let kernel = analysis.kernel;
    if !analysis.is_joined(instruction, 0) {
        return false;
    }
    let Some(Ok(inames)) = along(kernel, &analysis.lookup, &kernel.instructions[instruction]) else {
        return false;
    };
    let in_rounds = |n: &Name| rank(kernel.tag(n)) > 0;
    let loops = inames.iter().filter(|(n, _)| !is_grid(kernel.tag(n)));
    let (mut inside, mut around) = (false, false);
    for (n, _) in loops {
        inside |= in_rounds(n);
        around |= !in_rounds(n);
    }
    inside && around
}

/// The axis of the grid along which a scan goes on from block to block, if it does.
pub(crate) fn tiles(kernel: &LoopKernel, lookup: &Lookup<'_>, instruction: usize) -> Option<Dim> {
    let inames = along(kernel, lookup, &kernel.instructions[instruction])?.ok()?;
    inames.iter().find_map(|(n, _)| match kernel.tag(n).axis() {
        Some(HardwareAxis::Grid(dim)) => Some(dim),
        _ => None,
    })
}

fn is_grid(tag: Tag) -> bool {
    matches!(tag.axis(), Some(HardwareAxis::Grid(_)))
}
