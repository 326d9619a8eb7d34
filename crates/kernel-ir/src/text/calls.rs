//! Puts the lines of called kernels in the place of calls. What that means is in [`crate::inline`];
//! here are the parts that belong to texts: the numbers of instructions in blocks, and places.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use crate::{
    Arg, BinaryOp, Diagnostic, Diagnostics, Expr, Instruction, KernelData, Lookup, Name, infer,
    inline::{Actual, Call, Names, inline},
    nest,
    text::{
        block::{BlockLoops, Blocks},
        callee::{CallSite, Callee},
        source_map::{Item, SourceMap},
    },
    types::is_untyped,
    validate,
};

/// The most instructions that a kernel may get by calls.
const SIZE_LIMIT: usize = 10_000;

/// Replaces the calls by the instructions of the called kernels.
pub(super) fn expand(
    data: &mut KernelData,
    map: &mut SourceMap,
    blocks: &mut Blocks,
    calls: Vec<CallSite>,
) -> Result<(), Diagnostics> {
    let structure = validate::structure(data);
    if !structure.is_empty() {
        return Err(validate::placed(structure, Some(map)));
    }
    // The inames of calls, and the types of what they are given.
    let mut placed = data.clone();
    infer::infer_temporaries(&mut placed);
    for site in &calls {
        let loops = loops_of_sizes(&Lookup::new(&placed), &blocks.around, site);
        if let Expr::Call { args, .. } = &mut placed.instructions[site.number].value {
            args.extend(loops.into_iter().map(Expr::Name));
        }
    }
    nest::fill_within(&mut placed, &blocks.around);
    let mut taken = data.all_names();
    let calls: BTreeMap<usize, CallSite> = calls.into_iter().map(|c| (c.number, c)).collect();
    let around = std::mem::take(&mut blocks.around);
    let negated = std::mem::take(&mut blocks.negated);
    let mut moved = Vec::with_capacity(data.instructions.len());
    let mut made: Vec<Instruction> = Vec::with_capacity(data.instructions.len());
    let mut of_calls = Vec::new();
    for (k, instruction) in std::mem::take(&mut data.instructions).into_iter().enumerate() {
        moved.push(made.len());
        let mut count = 1;
        match calls.get(&k) {
            None => made.push(instruction),
            Some(site) => {
                let within = placed.instructions[k].within.clone();
                let first = made.len();
                let lines = lines(data, &mut placed, map, &mut taken, site, instruction, within, first)?;
                of_calls.extend(lines.spans);
                count = lines.instructions.len();
                made.extend(lines.instructions);
            }
        }
        for new in made.len() - count..made.len() {
            if let Some(loops) = around.get(&k) {
                blocks.around.insert(new, loops.clone());
            }
            if negated.contains(&k) {
                blocks.negated.push(new);
            }
        }
    }
    data.instructions = made;
    map.renumber(&|item| match item {
        Item::Instruction(k) => Item::Instruction(moved.get(k).copied().unwrap_or(k)),
        item => item,
    });
    for (item, span, calls) in of_calls {
        map.spans.insert(item.clone(), span);
        if !calls.is_empty() {
            map.calls.insert(item, calls);
        }
    }
    Ok(())
}

/// What a call gives, with rules expanded and reductions found.
pub(super) fn actuals(site: &CallSite, instruction: &Instruction) -> Vec<(Name, Actual)> {
    let args: &[Expr] = match &instruction.value {
        Expr::Call { args, .. } => args,
        _ => &[],
    };
    let mut args = args.iter();
    let with = |actual: &Actual, args: &mut std::slice::Iter<'_, Expr>| {
        let mut actual = actual.clone();
        for (e, new) in actual.expressions_mut().into_iter().zip(args) {
            e.clone_from(new);
        }
        actual
    };
    site.actuals.iter().map(|(name, actual, _)| (name.clone(), with(actual, &mut args))).collect()
}

/// The loops in which the sizes of a call are loaded: as any line whose bounds are read from data,
/// a call runs there.
fn loops_of_sizes(lookup: &Lookup<'_>, around: &BlockLoops, site: &CallSite) -> Vec<Name> {
    let Ok((callee, _)) = &site.callee.kernel else { return Vec::new() };
    let mut names = BTreeSet::new();
    let bounds = |n: &Name| callee.domains.iter().any(|d| d.constraints.iter().any(|c| c.aff.mentions(n)));
    for (formal, actual) in actuals(site, &lookup.kernel().instructions[site.number]) {
        match &actual {
            Actual::Value(e) if bounds(&formal) => names.extend(e.names()),
            // The place where a slice begins is not among its sizes.
            Actual::Slice { .. } => {
                let axes = callee.args.iter().find_map(|a| match a {
                    Arg::Array(a) if a.name == formal => Some(&a.axes),
                    _ => None,
                });
                for (axis, length) in
                    axes.into_iter().flatten().zip(actual.lengths(lookup).into_iter().flatten())
                {
                    if axis.length.names().iter().any(bounds) {
                        names.extend(length.names());
                    }
                }
            }
            Actual::Value(_) | Actual::Element(_) => {}
        }
    }
    names.retain(|n| lookup.temporary(n).is_some());
    names.iter().flat_map(|n| nest::loaders(lookup, around, n)).collect()
}

type Spans = Vec<(Item, Range<usize>, Vec<(Name, Range<usize>)>)>;

struct Lines {
    instructions: Vec<Instruction>,
    /// The places of its instructions, by their numbers in the caller.
    spans: Spans,
}

/// The lines of one call. Adds the other items that it makes to the kernel and to its copy, and
/// their places to the map.
#[expect(clippy::too_many_arguments, reason = "the state of one loop, in which this is a step")]
fn lines(
    data: &mut KernelData,
    placed: &mut KernelData,
    map: &mut SourceMap,
    taken: &mut BTreeSet<Name>,
    site: &CallSite,
    mut instruction: Instruction,
    within: Vec<Name>,
    first: usize,
) -> Result<Lines, Diagnostics> {
    let Callee { kernel, .. } = &*site.callee;
    let (callee, places) = match kernel {
        Ok((kernel, places)) => (kernel, places),
        Err(all) => return Err(all.clone()),
    };
    if first + callee.instructions.len() > SIZE_LIMIT {
        let message = format!("calls make more than {SIZE_LIMIT} instructions of this kernel");
        let d = Diagnostic::new("too-deep", message).help("call fewer kernels");
        return Err(d.at(Some(map.place(site.span.clone()))).into());
    }
    let actual_spans: BTreeMap<&Name, &Range<usize>> = site.actuals.iter().map(|(n, _, s)| (n, s)).collect();
    let actuals = actuals(site, &instruction).into_iter().collect();
    let results = site.callee.parts_of_results();
    let names = Names::prefixed(callee, &results, &site.base, taken);
    let predicate = instruction.predicate.take();
    let call = Call { callee, results: &results, actuals, within, predicate: predicate.clone(), names };
    let inlined = inline(placed, &call).map_err(|fault| {
        let span = fault.formal.and_then(|f| actual_spans.get(&f).copied()).unwrap_or(&site.span);
        Diagnostics::from(fault.diagnostic.at(Some(map.place(span.clone()))))
    })?;
    let called = |item: &Item| {
        let mut calls = places.calls.get(item).cloned().unwrap_or_default();
        calls.push((site.callee.name.clone(), site.span.clone()));
        calls
    };
    let mut copy = |from: Item, to: Item| {
        if let Some(span) = places.spans.get(&from) {
            map.spans.insert(to.clone(), span.clone());
            map.calls.insert(to, called(&from));
        }
    };
    for (k, domain) in callee.domains.iter().enumerate() {
        let new = data.domains.len() + k;
        copy(Item::Domain(k), Item::Domain(new));
        for j in 0..domain.constraints.len() {
            copy(Item::Constraint(k, j), Item::Constraint(new, j));
        }
    }
    let own = callee.temporaries.iter().enumerate().filter(|(_, t)| !results.contains(&t.name));
    for (n, (k, _)) in own.enumerate() {
        copy(Item::Temporary(k), Item::Temporary(data.temporaries.len() + inlined.computed + n));
    }
    for k in 0..callee.constants.len() {
        copy(Item::Constant(k), Item::Constant(data.constants.len() + k));
    }
    for k in 0..callee.rules.len() {
        copy(Item::Rule(k), Item::Rule(data.rules.len() + k));
    }
    for k in 0..inlined.computed {
        map.spans.insert(Item::Temporary(data.temporaries.len() + k), site.span.clone());
    }
    for kernel in [&mut *data, &mut *placed] {
        kernel.domains.extend(inlined.domains.iter().cloned());
        kernel.temporaries.extend(inlined.temporaries.iter().cloned());
        kernel.constants.extend(inlined.constants.iter().cloned());
        kernel.rules.extend(inlined.rules.iter().cloned());
        for t in &mut kernel.temporaries {
            if let Some(dtype) = inlined.types.get(&t.name).filter(|_| is_untyped(&t.dtype)) {
                t.dtype = dtype.clone();
            }
        }
    }
    if !inlined.types.is_empty() {
        infer::infer_temporaries(placed);
    }
    let mut spans = Vec::new();
    for k in 0..inlined.instructions.len() {
        let item = Item::Instruction(first + k);
        match k.checked_sub(inlined.computed).map(Item::Instruction) {
            Some(from) => {
                let span = places.spans.get(&from).unwrap_or(&site.span);
                spans.push((item, span.clone(), called(&from)));
            }
            None => spans.push((item, site.span.clone(), Vec::new())),
        }
    }
    let mut instructions = inlined.instructions;
    for i in &mut instructions {
        let both = |a, b| Expr::binary(BinaryOp::And, a, b);
        i.predicate = predicate.iter().cloned().chain(i.predicate.take()).reduce(both);
    }
    Ok(Lines { instructions, spans })
}
