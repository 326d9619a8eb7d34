//! From the text of a kernel to the kernel.

use std::collections::BTreeSet;

use crate::{
    Constant, DType, Diagnostic, Diagnostics, Expr, Instruction, KernelData, Lookup, LoopKernel, Name, Role,
    Rule, TypeTable, infer,
    locate::PRINTED,
    nest,
    rule::expanded,
    text::{
        block::{BlockLoops, without_not},
        callee::inside_expression,
        calls, complex,
        expression::resolve,
        fragment::parse_part,
        library::{Library, leave_out_unused},
        parser::Parser,
        predicates::assign_conditions,
        rows,
        source_map::{Item, SourceMap},
        statement::Draft,
    },
    validate,
};

impl LoopKernel {
    /// Reads a kernel; the grammar is in the documentation of the crate. The kernel is validated.
    pub fn parse(text: &str) -> Result<LoopKernel, Diagnostics> {
        Self::parse_named("<kernel>", text)
    }

    /// As [`LoopKernel::parse`]; `origin` is the name of the text in diagnostics, such as its file
    /// name.
    pub fn parse_named(origin: &str, text: &str) -> Result<LoopKernel, Diagnostics> {
        Self::parse_named_with(origin, text, &Library::new())
    }

    /// As [`LoopKernel::parse_named`], for bytes that need not be valid UTF-8.
    pub fn parse_bytes(origin: &str, bytes: &[u8]) -> Result<LoopKernel, Diagnostics> {
        match utf8(origin, bytes) {
            Ok(text) => Self::parse_named(origin, text),
            Err(d) => Err(d.into()),
        }
    }
}

/// The text that bytes are.
pub(super) fn utf8<'b>(origin: &str, bytes: &'b [u8]) -> Result<&'b str, Diagnostic> {
    std::str::from_utf8(bytes).map_err(|e| {
        let line = bytes[..e.valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
        Diagnostic::new("syntax", format!("{origin} is not UTF-8 text: line {line} has an invalid byte"))
            .help("a kernel file is plain text that begins with `kernel`")
    })
}

/// The spans of a kernel's items in its own printed text.
pub(crate) fn map_of_print(kernel: &LoopKernel) -> Option<SourceMap> {
    map_of_text(PRINTED, &kernel.to_string(), &Library::new())
}

/// The spans of a kernel's items in a text that it was read from.
pub(crate) fn map_of_text(origin: &str, text: &str, library: &Library) -> Option<SourceMap> {
    let mut draft = Parser::new(origin, text).with_library(library).whole().ok()?;
    if !draft.calls.is_empty() || complex::is_in(&draft) {
        // The items of a kernel that calls others are those of all their lines; those of one with
        // complex numbers, of their parts.
        prepare(&mut draft).ok()?;
    }
    Some(draft.map)
}

/// Ids for the instructions without one: `set_` plus the first target, numbered from the second on.
pub(crate) fn fill_ids(instructions: &mut [Instruction]) {
    let mut used: BTreeSet<Name> = instructions.iter().map(|i| i.id.clone()).collect();
    for i in instructions {
        if i.id.is_empty() {
            let base = format!("set_{}", i.targets.first().map_or("nothing", |t| t.array.as_str()));
            let mut id = Name::from(base.clone());
            let mut n = 1;
            while !used.insert(id.clone()) {
                n += 1;
                id = format!("{base}_{n}").into();
            }
            i.id = id;
        }
        if matches!(&i.role, Role::Does(id) if id.is_empty()) {
            i.role = Role::Does(i.id.clone());
        }
    }
}

/// Decides which calls are reductions.
fn resolve_reductions(data: &mut KernelData) {
    let inames: BTreeSet<Name> = data.domains.iter().flat_map(|d| d.inames.iter().cloned()).collect();
    let operators = data.reductions.clone();
    let fix = |e: &mut Expr| *e = resolve(e, &|n| inames.contains(n), &operators);
    for i in &mut data.instructions {
        i.targets.iter_mut().flat_map(|t| &mut t.index).for_each(fix);
        fix(&mut i.value);
        i.predicate.iter_mut().for_each(fix);
    }
    // For places where no iname can occur.
    let plain = |e: &mut Expr| *e = resolve(e, &|_| false, &[]);
    for rule in &mut data.rules {
        let Rule { parameters, value, .. } = rule;
        *value = resolve(value, &|n| inames.contains(n) && !parameters.iter().any(|p| **p == *n), &operators);
    }
    for op in &mut data.reductions {
        op.neutral
            .iter_mut()
            .chain(&mut op.lift)
            .chain(&mut op.combine)
            .chain(&mut op.result)
            .for_each(plain);
    }
}

/// Replaces the uses of rules, in rules by those above them.
fn expand_rules(data: &mut KernelData, map: &SourceMap) -> Result<(), Diagnostics> {
    let placed = |d: Diagnostic, item: &Item, e: &Expr| {
        Diagnostics::from(match d.place {
            Some(_) => d,
            None => d.at(map.locate(item, &e.to_string())),
        })
    };
    // What is printed has to be readable.
    let expand = |e: &mut Expr, rules: &[Rule], item: &Item| -> Result<(), Diagnostics> {
        let (made, used) = expanded(e, rules).map_err(|d| placed(d, item, e))?;
        if used {
            // What stands for a call has a name that no text has.
            let parts: &[Expr] = match &made {
                Expr::Call { function, args, .. } if function.contains(' ') => args,
                whole => std::slice::from_ref(whole),
            };
            for part in parts {
                parse_part(&part.to_string())
                    .map_err(|d| placed(Diagnostic { place: None, ..d }, item, e))?;
            }
            *e = made;
        }
        Ok(())
    };
    let mut rules = std::mem::take(&mut data.rules);
    for k in 0..rules.len() {
        let (above, rest) = rules.split_at_mut(k);
        let item = Item::Rule(k);
        expand(&mut rest[0].value, above, &item)?;
        let mut below = None;
        rest[0].value.visit(&mut |e| {
            if let Expr::Call { function, .. } = e
                && rest.iter().any(|r| r.name == *function)
            {
                below = Some(function.clone());
            }
        });
        if let Some(name) = below {
            let message = format!("the rule `{}` uses `{name}`, which is not above it", rest[0].name);
            return Err(Diagnostic::new("rule-order", message)
                .at(map.locate(&item, &name))
                .help("move it below the rules that it uses; a rule cannot use itself")
                .into());
        }
    }
    for (k, i) in data.instructions.iter_mut().enumerate() {
        let index = i.targets.iter_mut().flat_map(|t| &mut t.index);
        for e in index.chain([&mut i.value]).chain(&mut i.predicate) {
            expand(e, &rules, &Item::Instruction(k))?;
        }
    }
    data.rules = rules;
    Ok(())
}

/// The kernel of a text, and the places of its items.
pub(super) fn finish(mut draft: Draft) -> Result<(LoopKernel, SourceMap), Diagnostics> {
    prepare(&mut draft)?;
    let Draft { data, map, blocks, has_tree, .. } = draft;
    let with = |mut map: SourceMap, inserted: &[usize]| {
        inserted.iter().for_each(|at| map.insert_domain(*at));
        map
    };
    let (kernel, inserted) =
        complete(data, has_tree, blocks.around, &|_, inserted| Some(with(map.clone(), inserted)))?;
    Ok((kernel, with(map, &inserted)))
}

/// Everything that is decided by the text alone: reductions, rules, calls, ids, conditions.
fn prepare(draft: &mut Draft) -> Result<(), Diagnostics> {
    if let Some(declared) = draft.declared.take() {
        draft.data.declared = Some(finish(*declared)?.0);
    }
    if let Some(origin) = draft.origin.take() {
        draft.data.origin = Some(finish(*origin)?.0);
    }
    let own = draft.callees.iter().skip(draft.inherited);
    let wrong: Vec<Diagnostic> =
        own.filter_map(|c| c.kernel.as_ref().err()).flat_map(|all| all.0.clone()).collect();
    if !wrong.is_empty() {
        return Err(Diagnostics(wrong));
    }
    let called: Vec<Name> = draft.callees.iter().map(|c| c.name.clone()).collect();
    rows::resolve(&mut draft.data, &draft.map, &draft.shaped, &called)?;
    let complex = complex::is_in(draft);
    let aliases = complex::aliases(draft);
    let called = draft.called;
    let Draft { data, map, blocks, has_tree, callees, .. } = draft;
    let (mut calls, has_tree) = (std::mem::take(&mut draft.calls), *has_tree);
    if let Some((iname, span)) = blocks.inames.iter().find(|(n, _)| !data.is_iname(n)) {
        let message = format!("no domain has the iname `{iname}`");
        let help = format!("declare it: `domain {{ [{iname}] : 0 <= {iname} < n }}`");
        return Err(Diagnostic::new("unknown-iname", message)
            .at(Some(map.place(span.clone())))
            .help(help)
            .into());
    }
    if let (true, Some((_, span))) = (has_tree, blocks.inames.first()) {
        let message = "a text with a `tree` has no `for` blocks: the tree gives the loops";
        return Err(Diagnostic::new("syntax", message)
            .at(Some(map.place(span.clone())))
            .help("list the inames of each instruction, as `inames=i:j`")
            .into());
    }
    for callee in callees.iter() {
        let named = [
            data.rules.iter().position(|r| r.name == callee.name).map(Item::Rule),
            data.functions.iter().position(|f| f.name == callee.name).map(Item::Function),
            data.reductions.iter().position(|r| r.name == callee.name).map(Item::Reduction),
        ];
        if let Some(item) = named.into_iter().flatten().next() {
            let message = format!("`{}` is the name of a kernel that is called", callee.name);
            return Err(Diagnostic::new("duplicate-name", message)
                .at(map.locate(&item, &callee.name))
                .help("give one of them another name")
                .into());
        }
    }
    if let (true, Some(site)) = (has_tree, calls.first()) {
        let message = "a text with a `tree` has no calls: it is a transformed kernel";
        return Err(Diagnostic::new("syntax", message)
            .at(Some(map.place(site.span.clone())))
            .help("write the lines of the called kernel in its place, as a printed kernel has them")
            .into());
    }
    resolve_reductions(data);
    if !data.rules.is_empty() {
        expand_rules(data, map)?;
    }
    if !callees.is_empty() {
        for (k, i) in data.instructions.iter().enumerate() {
            if let Some(d) = inside_expression(callees, i) {
                return Err(d.at(map.locate(&Item::Instruction(k), "")).into());
            }
        }
    }
    if complex {
        complex::resolve(data, map, blocks, &mut calls, has_tree, aliases)?;
    }
    if !calls.is_empty() {
        calls::expand(data, map, blocks, calls)?;
    }
    if !called {
        leave_out_unused(data, map);
    }
    fill_ids(&mut data.instructions);
    if !has_tree {
        assign_conditions(data, map, blocks);
    }
    if !blocks.negated.is_empty() {
        let types = TypeTable::new(data);
        let is_integer = |n: &Name| match types.scalar(n) {
            Some(t) => t.known().is_some_and(DType::is_integer),
            None => false,
        };
        let fixed: Vec<(usize, Expr)> = blocks
            .negated
            .iter()
            .filter_map(|k| Some((*k, without_not(data.instructions[*k].predicate.as_ref()?, &is_integer))))
            .collect();
        for (k, predicate) in fixed {
            data.instructions[k].predicate = Some(predicate);
        }
    }
    if !has_tree {
        let transformed = (0..data.definitions.len())
            .map(Item::Definition)
            .chain(data.tagged().into_iter().map(|n| Item::Tag(n.to_string())))
            .next();
        if let Some(item) = transformed {
            return Err(Diagnostic::new(
                "no-tree",
                "this line belongs to a transformed kernel, whose text has a `tree`",
            )
            .at(map.locate(&item, ""))
            .help(
                "declare the kernel without it, and transform it by a pipeline: `split_iname(i, \
                 128)`, `tag_inames(i_outer: block.x)`",
            )
            .into());
        }
    }
    Ok(())
}

/// What the values of constant tables show, as facts beside those that are declared.
fn add_facts_of_constants(data: &mut KernelData) {
    for fact in data.constants.iter().flat_map(Constant::facts) {
        if !data.facts.contains(&fact) {
            data.facts.push(fact);
        }
    }
}

/// Fills in the types of temporaries, the inames of instructions and the tree where they are
/// missing, then validates. Returns the kernel, and the positions at which domains have been
/// inserted. `map` gives the places, for the positions at which domains have been
/// inserted, and is called only on errors.
pub(crate) fn complete(
    mut data: KernelData,
    has_tree: bool,
    mut blocks: BlockLoops,
    map: &dyn Fn(&KernelData, &[usize]) -> Option<SourceMap>,
) -> Result<(LoopKernel, Vec<usize>), Diagnostics> {
    // Everything below relies on this.
    let structure = validate::structure(&data);
    if !structure.is_empty() {
        return Err(validate::placed(structure, map(&data, &[]).as_ref()));
    }
    add_facts_of_constants(&mut data);
    infer::infer_temporaries(&mut data);
    let mut loops = Vec::new();
    let mut inserted = Vec::new();
    if !has_tree {
        let given: Vec<bool> = data.instructions.iter().map(|i| !i.within.is_empty()).collect();
        nest::fill_within(&mut data, &blocks);
        let finding = |(k, d)| validate::Finding::new(d, Item::Instruction(k), "");
        let mut tree = nest::tree_in_text_order(&Lookup::new(&data));
        if tree.is_err() || !blocks.is_empty() {
            // Other errors come first, in the words of the text: it has no copies.
            let mut findings = nest::repeated::misplaced(&data, &blocks, &given);
            if findings.is_empty() {
                findings = validate::check(&data);
            }
            if !findings.is_empty() {
                return Err(validate::placed(findings, map(&data, &[]).as_ref()));
            }
            let (positions, refused) = nest::repeated::copy_repeated(&mut data, &mut blocks);
            inserted = positions;
            tree = match refused.is_empty() {
                true => nest::tree_in_text_order(&Lookup::new(&data)),
                false => Err(refused),
            };
        }
        match tree {
            Ok(tree) => data.tree = tree,
            Err(errors) => loops.extend(errors.into_iter().map(finding)),
        }
    }
    let mut findings = validate::check(&data);
    if !findings.iter().any(validate::Finding::confuses_loops) {
        findings.extend(loops);
    }
    if findings.is_empty() {
        findings.extend(validate::no_tree(&data));
    }
    if findings.is_empty() {
        Ok((LoopKernel::from_data(data), inserted))
    } else {
        Err(validate::placed(findings, map(&data, &inserted).as_ref()))
    }
}

/// As [`complete`], for a declared kernel without a source text: places are in its printed form.
pub(crate) fn complete_built(mut data: KernelData) -> Result<LoopKernel, Diagnostics> {
    fill_ids(&mut data.instructions);
    // The places in the printed form are found by reading it, which fails if a name is invalid;
    // then there are no places.
    complete(data, false, BlockLoops::new(), &|data: &KernelData, _| {
        map_of_print(&LoopKernel::from_data(data.clone()))
    })
    .map(|(kernel, _)| kernel)
}

impl LoopKernel {
    /// A hash of the whole text, the same in every run and on every machine: 64 hexadecimal digits.
    pub fn fingerprint(&self) -> String {
        blake3::hash(self.to_text().as_bytes()).to_hex().to_string()
    }
}
