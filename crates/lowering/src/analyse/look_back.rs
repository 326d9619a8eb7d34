//! Which scans can go on from block to block.
//!
//! Each block has one tile of the points and looks back over those before it, once
//! (`loopwright_program::LookBack`). So no loop is around the scan but those of the host, no loop
//! is part of it, and the threads and lanes of a block have all points of its tile at the same
//! time. What a tile joins is a few numbers of 32 or 64 bits.

use loopwright_kernel_ir::{Diagnostic, HardwareAxis, Instruction, LoopKernel, Name, Tag};

use crate::{
    analyse::analysis::{Analysis, reduction},
    program::DeclaredLookBack,
};

fn refuse(id: &Name, tile: &Name, why: impl std::fmt::Display, help: impl Into<String>) -> Diagnostic {
    let message = format!("the scan `{id}` cannot go on from block to block along `{tile}`: {why}");
    Diagnostic::new("look-back", message).help(help)
}

/// Requires that the scan of an instruction along these inames, of which `tile` is on the grid, has
/// one tile for each block.
pub(crate) fn check(
    kernel: &LoopKernel,
    i: &Instruction,
    tile: &Name,
    inames: &[(Name, i64)],
) -> Result<(), Diagnostic> {
    let axis = |n: &Name| kernel.tag(n).axis();
    let of_grid = |n: &Name| matches!(axis(n), Some(HardwareAxis::Grid(_)));
    if let Some((other, _)) = inames.iter().find(|(n, _)| n != tile && of_grid(n)) {
        let help = "split the scan's iname once, into blocks and what a block has";
        return Err(refuse(&i.id, tile, format!("`{other}` is on the grid too"), help));
    }
    let own = |n: &&Name| inames.iter().any(|(other, _)| other == *n);
    let on_device = |n: &&Name| axis(n).is_none() && kernel.tag(n) != Tag::Host;
    if let Some(own_loop) = i.within.iter().filter(own).find(|n| on_device(n) && !kernel.tag(n).is_jam()) {
        let help = format!(
            "a block looks back once, with all points of its tile: make `{own_loop}` lanes of the threads \
             (`{own_loop}: ilp`), or leave it out by longer splits"
        );
        return Err(refuse(&i.id, tile, format!("the loop over `{own_loop}` is part of the scan"), help));
    }
    if let Some(around) = i.within.iter().filter(|n| !own(n)).find(on_device) {
        let help = format!("put `{around}` on another axis of the grid, or tag it `host`");
        return Err(refuse(
            &i.id,
            tile,
            format!("a block looks back once, and `{around}` is around it"),
            help,
        ));
    }
    if !inames.iter().any(|(n, _)| matches!(axis(n), Some(HardwareAxis::Block(_)))) {
        let help = "split what a block has, and tag a part of it `thread.x`";
        return Err(refuse(&i.id, tile, "no threads share the points of a block", help));
    }
    Ok(())
}

/// Requires that blocks can publish what the tiles of a scan join, and that the scan has all of the
/// block's threads, with a whole warp among them. `groups` is the number of scans in a block.
pub(crate) fn fits(
    analysis: &Analysis<'_>,
    (instruction, number): (usize, usize),
    (threads, groups, warp): (u32, u32, u32),
) -> Result<(), Diagnostic> {
    let i = &analysis.kernel.instructions[instruction];
    let on_grid = |n: &&Name| matches!(analysis.kernel.tag(n).axis(), Some(HardwareAxis::Grid(_)));
    let scanned = i.scan.iter().flat_map(|n| analysis.lookup.base_of(n));
    let tile = scanned.into_iter().find(on_grid).unwrap_or(&i.id);
    if groups > 1 {
        let help = "put the inames that are not scanned on another axis of the grid, not on threads";
        return Err(refuse(&i.id, tile, format!("a block has {groups} scans"), help));
    }
    if threads < warp {
        let help = format!("give the block at least {warp} threads: a whole warp looks back");
        return Err(refuse(&i.id, tile, format!("a block has {threads} threads"), help));
    }
    let Some(reduce) = reduction(i, number) else { return Ok(()) };
    let operator = analysis.operator(&reduce.op)?;
    let state = &analysis.reduction_types(instruction)?[number].state;
    if let Some(dtype) = state.iter().find(|dtype| !DeclaredLookBack::takes(**dtype)) {
        let help = "convert what is joined to numbers of 32 or 64 bits";
        let why = format!("blocks pass on numbers of 32 or 64 bits, and no {dtype}");
        return Err(refuse(&i.id, tile, why, help));
    }
    let most = DeclaredLookBack::MOST_VALUES;
    if state.len() > most {
        let help = "leave the tiles in a loop of one block, or scan their totals in separate instructions";
        let (name, count) = (&operator.name, state.len());
        let why = format!("the state of `{name}` has {count} values, and blocks pass on {most} at most");
        return Err(refuse(&i.id, tile, why, help));
    }
    Ok(())
}
