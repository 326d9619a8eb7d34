//! Whether the numbers that a scan's points have in the text are the order of the kernel's scan.
//!
//! In the text a point is numbered by its round, by its thread in the group (z, y, x), and by its
//! lane. The kernel scans along an iname that is a mixed-radix number of others
//! ([`loopwright_legality::along`]); each of these, the coarsest first, has to be counted by a loop
//! of rounds, an axis of the threads that are joined, or the lane, in the same order. Loops and
//! axes go up, as lanes do.

use loopwright_kernel_ir::{Dim, HardwareAxis, Lookup, LoopKernel, Name};
use loopwright_legality::along;

use super::{Found, Reduction};
use crate::{DeviceKernel, Stmt, VarId};

/// Why the numbers are not in the kernel's order; `None` if they are.
pub(super) fn wrong_numbers(
    kernel: &LoopKernel,
    device: &DeviceKernel,
    instruction: &Name,
    reduction: &Reduction<'_>,
    found: &Found<'_>,
) -> Option<String> {
    let lookup = Lookup::new(kernel);
    let Some(Ok(inames)) = lookup.instruction(instruction).and_then(|i| along(kernel, &lookup, i)) else {
        return Some("is not along an iname that the others are digits of".into());
    };
    let rounds = found.loops.strip_prefix(reduction.loops.as_slice());
    let Some(rounds) = rounds else { return Some("is not in the loops of its first value".into()) };
    let counts = |var: &VarId, iname: &Name| {
        let meaning = device.vars.get(var.0).and_then(|v| v.meaning.as_ref());
        meaning.is_some_and(|meaning| meaning.coefficient(iname) > 0)
    };
    // Rounds, threads, the lane: each place comes after those before it.
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (iname, _) in &inames {
        let tag = kernel.tag(iname);
        let place = match tag.axis() {
            Some(HardwareAxis::Grid(_)) => return Some(format!("goes along blocks, by `{iname}`")),
            Some(HardwareAxis::Block(dim)) => {
                let joined = found.join.axes.iter().any(|(axis, _)| *axis == dim);
                if !joined && *dim.of(&device.block) > 1 {
                    return Some(format!("does not join the threads of `{iname}`"));
                }
                (
                    1,
                    match dim {
                        Dim::Z => 0,
                        Dim::Y => 1,
                        Dim::X => 2,
                    },
                )
            }
            None if tag.is_jam() => (2, 0),
            None => match rounds.iter().position(|var| counts(var, iname)) {
                Some(k) => (0, k),
                None if counted(device, iname) => {
                    return Some(format!("is not in the loop over `{iname}`"));
                }
                None => continue,
            },
        };
        if places.last().is_some_and(|last| *last >= place) {
            return Some(format!("has `{iname}` in another order than the kernel"));
        }
        places.push(place);
    }
    let is_round = |k: &usize| places.contains(&(0, *k));
    if !(0..rounds.len()).all(|k| is_round(&k)) {
        return Some("carries a total over a loop that it is not along".into());
    }
    let lanes = reduction.lanes.difference(&reduction.init_lanes);
    let other = lanes.into_iter().find(|lane| !inames.iter().any(|(iname, _)| iname == *lane));
    other.map(|lane| format!("has the lanes `{lane}`, which it is not along"))
}

/// Whether a loop of the text counts an iname.
fn counted(device: &DeviceKernel, iname: &Name) -> bool {
    let mut found = false;
    Stmt::visit(&device.body, &mut |stmt| {
        if let Stmt::For { var, .. } = stmt {
            let meaning = device.vars.get(var.0).and_then(|v| v.meaning.as_ref());
            found |= meaning.is_some_and(|meaning| meaning.mentions(iname));
        }
    });
    found
}
