//! Sequences of steps that enable each other, as users write them: independent random steps seldom
//! find them.

use loopwright_kernel_ir::{Instruction, LoopKernel, Name};
use loopwright_transforms::Step;

use crate::{
    moves, products,
    rng::{Rng, any},
    sites::{Loops, growing, kept, mentions, segments, temporaries},
};

/// A sequence of steps that enable each other, as users write them.
pub fn recipe(rng: &mut Rng, kernel: &LoopKernel) -> Vec<String> {
    let loops = Loops::of(kernel);
    let mut steps = Vec::new();
    if products::is_product(kernel) {
        return products::recipe(rng, kernel);
    }
    if let Some(step) = moves::collected(rng, kernel).filter(|_| rng.chance(60)) {
        return vec![step];
    }
    let arrays = temporaries(kernel, |t| !t.axes.is_empty());
    if let Some(t) = any(rng, &arrays).filter(|_| rng.chance(20)) {
        return constant_axes(rng, kernel, &t);
    }
    let reduced: Vec<Name> = kernel
        .instructions
        .iter()
        .flat_map(|i| i.reductions().iter().flat_map(|r| r.inames.clone()).collect::<Vec<_>>())
        .collect();
    if let Some((s, i)) = any(rng, &segments(kernel)) {
        steps.extend(match rng.below(5) {
            0 => Vec::new(),
            // Segments of one tile, side by side, whose lengths differ.
            1 => vec![
                format!("split_iname({s}, {})", rng.pick(&[2, 4])),
                format!("tag_inames({s}_inner: {})", rng.pick(&["vec", "ilp", "unroll", "thread.x"])),
            ],
            _ => vec![format!("flatten_ragged({s}, {i}, threads=32, items={}, tiles=1)", rng.pick(&[8, 16]))],
        });
        return steps;
    }
    if let Some((i, j)) = any(rng, &growing(kernel)).filter(|_| rng.chance(70)) {
        let scan = format!("realize_scan({i}, {j})");
        // Where the range shrinks, the loop has another name afterwards.
        let after = Step::parse(&scan).and_then(|step| step.rule().apply(kernel));
        let is_reversed = after.is_ok_and(|after| !after.instructions.iter().any(|x| x.within.contains(&i)));
        let i = if is_reversed { format!("{i}_rev") } else { i.to_string() };
        steps.push(scan);
        steps.extend(match rng.below(6) {
            // In tiles: the threads of a block scan together, and the total carries over from tile
            // to tile.
            0..=2 => vec![
                format!("split_iname({i}, {})", rng.pick(&[2, 2, 3, 4, 5])),
                format!("tag_inames({i}_inner: {})", rng.pick(&["thread.x", "thread.x", "thread.y"])),
            ],
            3 => vec![
                format!("split_iname({i}, {})", rng.pick(&[2, 3, 4])),
                format!("tag_inames({i}_inner: {})", rng.pick(&["vec", "ilp", "unroll"])),
            ],
            4 => vec![format!("tag_inames({i}: thread.x)")],
            _ => Vec::new(),
        });
        return steps;
    }
    if let Some((i, around)) = any(rng, &kept(kernel)).filter(|_| rng.chance(65)) {
        // Blocks synchronise at the ends of device kernels, so loops around these run on the host.
        let host: String = around.iter().map(|t| format!("{t}: host, ")).collect();
        if rng.chance(40) {
            steps.push(format!("split_iname({i}, {})", rng.pick(&[2, 3, 4])));
            steps.push(format!("tag_inames({host}{i}_outer: block.x, {i}_inner: thread.x)"));
        } else {
            steps.push(format!("tag_inames({host}{i}: block.x)"));
        }
        return steps;
    }
    if let Some(k) = any(rng, &reduced).filter(|_| rng.chance(60)) {
        steps.push(format!("split_iname({k}, {})", rng.pick(&[2, 3])));
        let (side, part) = rng.pick(&[("inward", "inner"), ("outward", "outer")]);
        steps.push(format!("split_reduction_{side}({k}_{part})"));
        return steps;
    }
    let choice = rng.below(10);
    if choice < 3 {
        // Recomputes what a reader of a temporary array needs, at the reader.
        let arrays = temporaries(kernel, |t| !t.axes.is_empty());
        let Some(t) = any(rng, &arrays) else { return steps };
        let reader = kernel.instructions.iter().rfind(|i| mentions(&i.value, &t));
        let Some(j) = reader.and_then(|r| r.within.last()) else { return steps };
        steps.push(format!("split_iname({j}, {})", rng.pick(&[2, 3])));
        let space = if rng.chance(40) { ", space=private" } else { "" };
        steps.push(format!("precompute({t}, [{j}_inner]{space})"));
        return steps;
    }
    let Some(path) = any(rng, &loops.paths) else { return steps };
    let Some(i) = path.last() else { return steps };
    steps.push(format!("split_iname({i}, {})", rng.pick(&[2, 3, 4])));
    let inside: Vec<&Instruction> = kernel.instructions.iter().filter(|x| x.within.contains(i)).collect();
    match choice {
        3..=7 => {
            let read = |x: &&Instruction| -> Vec<&'static str> {
                ["a", "b", "c"].into_iter().filter(|a| mentions(&x.value, &Name::new(*a))).collect()
            };
            let arrays: Vec<&str> = inside.iter().flat_map(read).collect();
            let Some(array) = any(rng, &arrays) else { return steps };
            let space = if rng.chance(50) { ", space=private" } else { "" };
            steps.push(format!("add_prefetch({array}, [{i}_inner]{space})"));
            steps.push(format!("double_buffer({array}_tile, {i}_outer)"));
        }
        8 => steps.push(format!("tag_inames({i}_outer: block.x, {i}_inner: thread.x)")),
        _ => steps.push(format!("buffer_array({}, [{i}_inner])", rng.pick(&["a", "b", "c"]))),
    }
    steps
}

/// An axis in front of one temporary, or of two that become one, whose subscripts are numbers; then
/// it is separated.
fn constant_axes(rng: &mut Rng, kernel: &LoopKernel, t: &Name) -> Vec<String> {
    let Some(first) = kernel.temporary(t) else { return Vec::new() };
    let names: Vec<String> = (0..first.axes.len()).map(|k| format!("x{k}")).collect();
    let old = names.join(", ");
    let mapped = |t: &Name| format!("map_array({t}, [{old}] -> [0, {old}])");
    let alike = temporaries(kernel, |other| {
        (other.name != *t && other.dtype == first.dtype && other.space == first.space)
            && (other.axes.len() == first.axes.len())
            && other.axes.iter().zip(&first.axes).all(|(a, b)| a.length == b.length)
    });
    match any(rng, &alike).filter(|_| rng.chance(70)) {
        Some(other) => vec![
            mapped(t),
            mapped(&other),
            format!("concatenate_arrays([{t}, {other}])"),
            format!("separate_axis({t}_cat, 0)"),
        ],
        None => vec![mapped(t), format!("separate_axis({t}, 0)")],
    }
}
