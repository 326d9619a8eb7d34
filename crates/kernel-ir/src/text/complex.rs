//! Makes pairs of the complex numbers of a text. What they mean is in [`crate::complex`] and on the
//! page on values; here are declarations, calls, the numbers of instructions in blocks, and places.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    AddressSpace, Arg, Array, Axis, BinaryOp, CacheHint, CacheHints, DType, Diagnostic, Diagnostics, Expr,
    Instruction, KernelData, Name, Scalar, Type, TypeTable, Waves,
    complex::{
        OPERATORS, Table,
        convert::Convert,
        lines::{self, Lines},
        marked_part, operator, part_name, part_type,
    },
    infer,
    inline::Actual,
    nest,
    text::{
        block::Blocks,
        callee::CallSite,
        complex_calls::pass,
        read::fill_ids,
        source_map::{Item, SourceMap},
        statement::Draft,
    },
    types::{UNTYPED, is_untyped, promote},
    validate,
};

fn dtype_of(arg: &Arg) -> &Type {
    match arg {
        Arg::Array(a) => &a.dtype,
        Arg::Scalar(s) => &s.dtype,
    }
}

/// The complex names that are declared, without the temporaries that have no type yet.
fn declared(data: &KernelData) -> Table {
    let mut table =
        Table { functions: data.functions.iter().map(|f| f.name.clone()).collect(), ..Table::default() };
    for arg in data.args.iter().filter(|a| part_type(dtype_of(a)).is_some()) {
        match arg {
            Arg::Array(a) => drop(table.arrays.insert(a.name.clone(), a.axes.len())),
            Arg::Scalar(s) => drop(table.scalars.insert(s.name.clone())),
        }
    }
    for t in data.temporaries.iter().filter(|t| part_type(&t.dtype).is_some()) {
        add(&mut table, t);
    }
    table
}

fn add(table: &mut Table, temporary: &Array) {
    match temporary.axes.len() {
        0 => drop(table.scalars.insert(temporary.name.clone())),
        axes => drop(table.arrays.insert(temporary.name.clone(), axes)),
    }
}

/// Whether a text has complex numbers, or asks for parts of numbers.
pub(super) fn is_in(draft: &Draft) -> bool {
    let (data, table) = (&draft.data, declared(&draft.data));
    let parts =
        |i: &Instruction| i.targets.iter().any(|t| t.index.last().is_some_and(|e| marked_part(e).is_some()));
    !table.arrays.is_empty()
        || !table.scalars.is_empty()
        || data.instructions.iter().any(|i| parts(i) || i.expressions().any(|e| table.concerns(e)))
        || data.rules.iter().any(|r| table.concerns(&r.value))
        || draft.calls.iter().any(|c| !c.callee.complex.is_empty())
}

/// What may be passed by two names to a kernel that others call: its arrays and its results.
pub(super) fn aliases(draft: &Draft) -> BTreeSet<Name> {
    if !draft.called {
        return BTreeSet::new();
    }
    let arrays = draft.data.args.iter().filter(|a| matches!(a, Arg::Array(_))).map(Arg::name);
    arrays.chain(draft.data.temporaries.iter().take(draft.results).map(|t| &t.name)).cloned().collect()
}

/// Adds the temporaries without a type whose values are complex.
fn infer_complex(data: &KernelData, calls: &[CallSite], table: &mut Table) {
    let untyped: BTreeMap<&Name, &Array> =
        data.temporaries.iter().filter(|t| is_untyped(&t.dtype)).map(|t| (&t.name, t)).collect();
    if untyped.is_empty() {
        return;
    }
    for site in calls {
        for (formal, actual, _) in &site.actuals {
            if let (Actual::Element(access), true) = (actual, site.callee.complex.contains(formal))
                && let Some(t) = untyped.get(&access.array)
            {
                add(table, t);
            }
        }
    }
    loop {
        let found: Vec<&Array> = data
            .instructions
            .iter()
            .filter_map(|i| match i.targets.as_slice() {
                [target] => untyped.get(&target.array).copied().filter(|_| table.is_complex(&i.value)),
                _ => None,
            })
            .filter(|t| !table.scalars.contains(&t.name) && !table.arrays.contains_key(&t.name))
            .collect();
        if found.is_empty() {
            return;
        }
        found.into_iter().for_each(|t| add(table, t));
    }
}

/// The array of pairs of an array of complex numbers.
fn pairs(mut a: Array) -> Result<Array, Diagnostic> {
    if !a.layout.is_default() {
        let message = format!("`{}` is complex, and has modes or a swizzle", a.name);
        return Err(Diagnostic::new("wrong-layout", message)
            .help("declare it as an array of real numbers with a last axis of 2, or use `set_layout`"));
    }
    if !a.order.is_empty() {
        a.order.push(a.axes.len());
    }
    for axis in &mut a.axes {
        if let Some(stride) = axis.stride.take() {
            let twice = Expr::binary(BinaryOp::Mul, Expr::Int(2), stride);
            axis.stride = Some(twice.to_aff().map_or(twice, |aff| Expr::from_aff(&aff)));
        }
    }
    a.axes.push(Axis::new(Expr::Int(2)));
    if let Some(Waves { window, windows }) = a.hints.waves() {
        let mut hints = CacheHints::default();
        if a.hints.streaming() {
            hints.add(CacheHint::Streaming);
        }
        hints.add(CacheHint::Waves(Waves { window: window.saturating_mul(2), windows }));
        a.hints = hints;
    }
    a.dtype = part_type(&a.dtype).map_or(a.dtype, Type::Known);
    Ok(a)
}

/// Makes pairs of what is declared as complex.
fn declare(data: &mut KernelData, map: &mut SourceMap, table: &Table) -> Result<(), Diagnostics> {
    let mut taken = data.all_names();
    let mut clash = |name: &Name, item: &Item, map: &SourceMap| -> Result<(), Diagnostics> {
        for k in 0..2 {
            let part = part_name(name, k);
            if !taken.insert(part.clone()) {
                let (re, im) = (part_name(name, 0), part_name(name, 1));
                let message =
                    format!("`{name}` is complex, and the name `{part}` of one of its parts is taken");
                return Err(Diagnostic::new("duplicate-name", message)
                    .at(map.locate(item, name))
                    .help(format!("its parts are `{re}` and `{im}`: choose another name for one of them"))
                    .into());
            }
        }
        Ok(())
    };
    let is_complex = |n: &Name| table.arrays.contains_key(n) || table.scalars.contains(n);
    let (mut args, mut places) = (Vec::new(), Vec::new());
    for (k, arg) in std::mem::take(&mut data.args).into_iter().enumerate() {
        let item = Item::Arg(k);
        places.push(args.len());
        match arg {
            Arg::Scalar(s) if is_complex(&s.name) => {
                clash(&s.name, &item, map)?;
                let dtype = part_type(&s.dtype).map_or(s.dtype, Type::Known);
                args.extend((0..2).map(|part| {
                    Arg::Scalar(Scalar { name: part_name(&s.name, part), dtype: dtype.clone() })
                }));
            }
            Arg::Array(a) if is_complex(&a.name) => {
                let place = map.locate(&item, &a.name);
                args.push(Arg::Array(pairs(a).map_err(|d| d.at(place))?));
            }
            arg => args.push(arg),
        }
    }
    let (mut temporaries, mut of_temporaries) = (Vec::new(), Vec::new());
    for (k, t) in std::mem::take(&mut data.temporaries).into_iter().enumerate() {
        let item = Item::Temporary(k);
        of_temporaries.push(temporaries.len());
        match t {
            t if !is_complex(&t.name) => temporaries.push(t),
            t if t.axes.is_empty() => {
                clash(&t.name, &item, map)?;
                let dtype = part_type(&t.dtype).map_or(t.dtype.clone(), Type::Known);
                temporaries.extend((0..2).map(|part| Array {
                    name: part_name(&t.name, part),
                    dtype: dtype.clone(),
                    ..t.clone()
                }));
            }
            t => {
                let place = map.locate(&item, &t.name);
                temporaries.push(pairs(t).map_err(|d| d.at(place))?);
            }
        }
    }
    let spans = std::mem::take(&mut map.spans);
    for (item, span) in spans {
        let (first, second, size) = match item {
            Item::Arg(k) => {
                let at = places.get(k).copied().unwrap_or(k);
                (Item::Arg(at), Item::Arg(at + 1), places.get(k + 1).copied().unwrap_or(args.len()) - at)
            }
            Item::Temporary(k) => {
                let at = of_temporaries.get(k).copied().unwrap_or(k);
                let next = of_temporaries.get(k + 1).copied().unwrap_or(temporaries.len());
                (Item::Temporary(at), Item::Temporary(at + 1), next.saturating_sub(at))
            }
            item => (item.clone(), item, 1),
        };
        if size == 2 {
            map.spans.insert(second, span.clone());
        }
        map.spans.insert(first, span);
    }
    (data.args, data.temporaries) = (args, temporaries);
    Ok(())
}

/// Leaves out the rules with complex numbers, whose uses are in the expressions: no part of one of
/// these is a use of them any more.
fn leave_out_rules(data: &mut KernelData, map: &mut SourceMap, table: &Table) {
    let concerned: Vec<bool> = data
        .rules
        .iter()
        .map(|r| {
            let mut outside = table.clone();
            outside.scalars.retain(|n| !r.parameters.contains(n));
            outside.concerns(&r.value)
        })
        .collect();
    let moved: Vec<usize> =
        (0..concerned.len()).map(|k| concerned[..k].iter().filter(|c| !**c).count()).collect();
    let is_out = |item: &Item| matches!(item, Item::Rule(k) if concerned.get(*k) == Some(&true));
    map.spans.retain(|item, _| !is_out(item));
    map.renumber(&|item| match item {
        Item::Rule(k) => Item::Rule(moved.get(k).copied().unwrap_or(k)),
        item => item,
    });
    let mut number = 0;
    data.rules.retain(|_| {
        number += 1;
        !concerned[number - 1]
    });
}

/// Makes pairs of all complex numbers.
pub(super) fn resolve(
    data: &mut KernelData,
    map: &mut SourceMap,
    blocks: &mut Blocks,
    calls: &mut [CallSite],
    has_tree: bool,
    aliases: BTreeSet<Name>,
) -> Result<(), Diagnostics> {
    if has_tree {
        let message = "a text with a `tree` has no complex numbers: it is a transformed kernel";
        return Err(Diagnostic::new("complex-type", message)
            .at(map.locate(&Item::Tree, "tree"))
            .help("write the parts, as a printed kernel has them")
            .into());
    }
    let structure = validate::structure(data);
    if !structure.is_empty() {
        return Err(validate::placed(structure, Some(map)));
    }
    let mut table = declared(data);
    infer_complex(data, calls, &mut table);
    let parts = |n: Name| match table.scalars.contains(&n) {
        true => vec![part_name(&n, 0), part_name(&n, 1)],
        false => vec![n],
    };
    table.aliases = aliases.into_iter().flat_map(parts).collect();
    fill_ids(&mut data.instructions);
    let mut placed = data.clone();
    infer::infer_temporaries(&mut placed);
    nest::fill_within(&mut placed, &blocks.around);
    declare(data, map, &table)?;
    leave_out_rules(data, map, &table);
    let mut taken = data.all_names();
    let mut fresh = |base: &str| {
        let mut name = Name::new(base);
        let mut number = 1;
        while !taken.insert(name.clone()) {
            number += 1;
            name = Name::new(format!("{base}_{number}"));
        }
        name
    };
    let typed = data.clone();
    let types = TypeTable::new(&typed);
    let around = std::mem::take(&mut blocks.around);
    let negated = std::mem::take(&mut blocks.negated);
    let mut made: Vec<Instruction> = Vec::with_capacity(data.instructions.len());
    let mut replaced: BTreeMap<Name, Vec<Name>> = BTreeMap::new();
    let mut scalars = Vec::new();
    let mut places = BTreeMap::new();
    let mut of_calls: BTreeMap<usize, usize> = BTreeMap::new();
    for (k, mut i) in std::mem::take(&mut data.instructions).into_iter().enumerate() {
        let item = Item::Instruction(k);
        let place = |d: Box<Diagnostic>| {
            let part = d.message.split('`').nth(1).unwrap_or_default();
            Diagnostics::from(Diagnostic { place: map.locate(&item, part), ..*d })
        };
        let within = &placed.instructions[k].within;
        let first = made.len();
        match calls.iter_mut().find(|c| c.number == k) {
            Some(site) => {
                let id = i.id.clone();
                let mut convert =
                    Convert { table: &table, types: &types, id, fresh: &mut fresh, made: Vec::new() };
                pass(site, &mut i, &mut convert).map_err(place)?;
                let whole = Instruction { within: within.clone(), ..i.clone() };
                for m in convert.made {
                    scalars.extend(m.targets.iter().map(|t| (t.clone(), false)));
                    made.push(lines::ahead(m, &whole));
                }
                of_calls.insert(k, made.len());
                made.push(i);
            }
            None => match lines::lines(&i, within, &table, &types, &mut fresh).map_err(place)? {
                None => made.push(i),
                Some(Lines { instructions, scalars: more }) => {
                    let ids: Vec<Name> = instructions.iter().map(|i| i.id.clone()).collect();
                    replaced.insert(i.id.clone(), ids);
                    scalars.extend(more);
                    made.extend(instructions);
                }
            },
        }
        for new in first..made.len() {
            places.insert(Item::Instruction(new), item.clone());
            if let Some(loops) = around.get(&k) {
                blocks.around.insert(new, loops.clone());
            }
            if negated.contains(&k) {
                blocks.negated.push(new);
            }
        }
    }
    for site in calls.iter_mut() {
        site.number = of_calls.get(&site.number).copied().unwrap_or(site.number);
    }
    for i in &mut made {
        i.after = i
            .after
            .iter()
            .flat_map(|id| replaced.get(id).cloned().unwrap_or_else(|| vec![id.clone()]))
            .collect();
    }
    data.instructions = made;
    let spans: Vec<_> =
        places.into_iter().filter_map(|(new, old)| Some((new, map.spans.get(&old)?.clone()))).collect();
    map.spans.retain(|item, _| !matches!(item, Item::Instruction(_)));
    map.spans.extend(spans);
    for (name, is_truth) in scalars {
        let dtype = if is_truth { Type::Known(DType::Bool) } else { Type::Open(UNTYPED.into()) };
        data.temporaries.push(Array::new(name, dtype, Vec::new(), AddressSpace::Private));
    }
    add_operators(data, map, calls)?;
    same_types(data, &table);
    Ok(())
}

/// Adds the operators of pairs that the kernel uses, or that kernels use which it calls.
fn add_operators(data: &mut KernelData, map: &SourceMap, calls: &[CallSite]) -> Result<(), Diagnostics> {
    let mut used: BTreeSet<Name> =
        data.instructions.iter().flat_map(Instruction::reductions).map(|r| r.op.clone()).collect();
    for site in calls {
        let called = site.callee.kernel.iter().flat_map(|(k, _)| &k.reductions);
        used.extend(called.map(|r| r.name.clone()));
    }
    for (of, name) in OPERATORS {
        if !used.contains(&Name::new(name)) {
            continue;
        }
        let made = operator(name);
        let known = data.reductions.iter().find(|r| *r.name == *name);
        if known == Some(&made) {
            continue;
        }
        let names = data.all_names();
        if known.is_some() || names.contains(&made.name) {
            let message = format!("`{name}` is the operator that the `{of}` of complex numbers becomes");
            return Err(Diagnostic::new("duplicate-name", message)
                .at(map.locate(&Item::Header, name))
                .help("choose another name for what the kernel calls so")
                .into());
        }
        data.reductions.push(made);
    }
    Ok(())
}

/// Gives both parts of a temporary without a type the same one.
fn same_types(data: &mut KernelData, table: &Table) {
    let mut typed = data.clone();
    infer::infer_temporaries(&mut typed);
    let known = |t: &Type| if is_untyped(t) { None } else { Some(t.clone()) };
    for scalar in &table.scalars {
        let parts = [0, 1].map(|k| part_name(scalar, k));
        let found = parts.each_ref().map(|n| typed.temporary(n).and_then(|t| known(&t.dtype)));
        let both = match found {
            [Some(Type::Known(a)), Some(Type::Known(b))] => promote(a, b).map(Type::Known),
            [Some(a), Some(b)] if a == b => Some(a),
            [Some(one), None] | [None, Some(one)] => Some(one),
            _ => None,
        };
        let Some(both) = both else { continue };
        for t in data.temporaries.iter_mut().filter(|t| parts.contains(&t.name) && is_untyped(&t.dtype)) {
            t.dtype = both.clone();
        }
    }
}
