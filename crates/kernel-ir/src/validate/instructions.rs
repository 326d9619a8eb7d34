//! Instructions: known names, as many subscripts as axes, reductions in valid places, compatible
//! types.

use std::collections::BTreeSet;

use loopwright_target::{Builtin, Language};

use crate::{
    Access, Aff, Arg, Diagnostic, Expr, Instruction, Name, Reduce, ReductionOp, Role, Type, TypeTable,
    ValueType,
    text::source_map::Item,
    types::{TypeError, assignable, is_untyped, state_type},
    validate::{Check, Finding, updates},
};

pub(crate) fn check(check: &mut Check<'_>) {
    if check.data.instructions.is_empty() {
        let d = Diagnostic::new(
            "no-instructions",
            format!("the kernel `{}` has no instruction", check.data.name),
        )
        .help("an instruction is a line such as `out[i] = 2*x[i]`");
        check.add(Item::Header, "", d);
    }
    let table = TypeTable::new(check.data);
    let (data, lookup) = (check.data, check.lookup);
    for (k, i) in data.instructions.iter().enumerate() {
        let item = Item::Instruction(k);
        for iname in &i.within {
            if !lookup.is_iname(iname) || lookup.definition(iname).is_some() {
                unknown_iname(check, &item, iname);
            }
        }
        // Inames that have a value for the instruction, outside of its reductions.
        let mut around: BTreeSet<Name> = i.within.iter().cloned().collect();
        for target in &i.targets {
            writable(check, &item, target);
            for e in &target.index {
                no_reductions(check, &item, e, "a subscript of what is written");
                expr(check, &item, e, &mut around);
            }
        }
        scan(check, &item, i);
        atomic(check, &item, i);
        atom(check, &item, i);
        check.along =
            i.scan_value().iter().flat_map(Aff::names).flat_map(|n| lookup.base_of(&n).to_vec()).collect();
        expr(check, &item, &i.value, &mut around);
        check.along.clear();
        if let Some(p) = &i.predicate {
            no_reductions(check, &item, p, "a predicate");
            expr(check, &item, p, &mut around);
        }
        if let Role::Copies { source } = &i.role
            && lookup.array(source).is_none()
        {
            unknown(check, &item, source);
        }
        updates::check(check, &item, &table, i);
        if !check.wrong.contains(&k) {
            types(check, &item, &table, i);
        }
    }
}

fn unknown_iname(check: &mut Check<'_>, item: &Item, iname: &Name) {
    let names = check.data.domains.iter().flat_map(|d| d.inames.iter().map(|n| n.as_str()));
    let help = crate::suggest::did_you_mean(iname, names);
    let message = match check.lookup.definition(iname) {
        Some(value) => format!("`{iname}` is no longer a loop: it is `{value}`"),
        None => format!("no domain has the iname `{iname}`"),
    };
    let help = help.unwrap_or_else(|| format!("declare it: `domain {{ [{iname}] : 0 <= {iname} < n }}`"));
    check.add(item.clone(), iname, Diagnostic::new("unknown-iname", message).help(help));
}

/// The iname that the reductions of an instruction are scans along: it is around the instruction,
/// and the reductions are not nested.
fn scan(check: &mut Check<'_>, item: &Item, i: &Instruction) {
    let (Some(iname), Some(value), lookup) = (&i.scan, i.scan_value(), check.lookup) else { return };
    let base: Vec<Name> = value.names().iter().flat_map(|n| lookup.base_of(n).to_vec()).collect();
    if base.is_empty() {
        return unknown_iname(check, item, iname);
    }
    let reductions = i.reductions();
    let message = if check.data.declared.is_none() {
        format!("`{}` is declared as a scan along `{iname}`, which only a step can introduce", i.id)
    } else if !base.iter().all(|b| i.within.contains(b)) {
        format!("`{}` cannot be a scan along `{iname}`, which is not around it", i.id)
    } else if reductions.is_empty() || i.predicate.is_some() {
        format!("`{}` cannot be a scan: it has no reduction, or a predicate", i.id)
    } else if reductions.iter().any(|r| r.args.iter().any(|a| !a.reductions().is_empty())) {
        format!("`{}` cannot be a scan: it has nested reductions", i.id)
    } else {
        return;
    };
    let d = Diagnostic::new("scan-shape", message)
        .help("`realize_scan(i, j)` turns a reduction over `j` whose range grows with `i` into a scan");
    check.add(item.clone(), iname, d);
}

fn atomic(check: &mut Check<'_>, item: &Item, i: &Instruction) {
    if i.atomic
        && let Err(refusal) = i.check_atomic_join(check.data)
    {
        check.add(item.clone(), &i.id, refusal);
    }
}

/// The inames of an atom exist, and it has a reduction to update.
fn atom(check: &mut Check<'_>, item: &Item, i: &Instruction) {
    let Some(atom) = &i.atom else { return };
    for iname in &atom.axes {
        if !check.data.is_iname(iname) {
            let message = format!("`{iname}` is an axis of `{}` in `{}`, but no iname", atom.name, i.id);
            check.add(item.clone(), iname, Diagnostic::new("atom-iname", message));
        }
    }
    if i.reductions().len() != 1 {
        let message = format!("`{}` updates one reduction, and `{}` has another number", atom.name, i.id);
        check.add(item.clone(), &i.id, Diagnostic::new("atom-shape", message));
    }
}

/// The error for an unknown name.
fn unknown(check: &mut Check<'_>, item: &Item, name: &Name) {
    // Its reduction has said so.
    let is_said = |f: &Finding| f.diagnostic.code == "unknown-iname" && f.part == name.as_str();
    if check.found.iter().any(|f| f.item == *item && is_said(f)) {
        return;
    }
    let data = check.data;
    let names = data
        .args
        .iter()
        .map(|a| a.name().as_str())
        .chain(data.temporaries.iter().map(|t| t.name.as_str()))
        .chain(data.constants.iter().map(|c| c.array.name.as_str()))
        .chain(data.domains.iter().flat_map(|d| d.inames.iter().map(|n| n.as_str())));
    let help = of_builtin(name).or_else(|| crate::suggest::did_you_mean(name, names)).unwrap_or_else(|| {
        // A name with subscripts is not an iname.
        let of = |e: &Expr| e.accesses().into_iter().any(|a| a.array == *name);
        let has_subscripts = match item {
            Item::Instruction(k) => data
                .instructions
                .get(*k)
                .is_some_and(|i| i.targets.iter().any(|t| t.array == *name) || i.expressions().any(of)),
            _ => true,
        };
        let elsewhere = format!("as an argument, or as a temporary: `<> {name} = ...`");
        match has_subscripts {
            _ if name.contains('.') => {
                "names have no dots: declare an iname, an argument or a temporary by another name".to_owned()
            }
            true => format!("declare it {elsewhere}"),
            false => {
                format!("declare it as an iname: `domain {{ [{name}] : 0 <= {name} < n }}`, {elsewhere}")
            }
        }
    });
    check.add(
        item.clone(),
        name,
        Diagnostic::new("unknown-name", format!("`{name}` is not declared")).help(help),
    );
}

/// What stands in place of a builtin variable of the target's language, which numbers threads and
/// blocks.
fn of_builtin(name: &str) -> Option<String> {
    let (variable, axis) = name.split_once('.')?;
    let axis = ["x", "y", "z"].into_iter().find(|a| *a == axis)?;
    let tag = match Language::OF_KERNELS.builtin(variable)? {
        Builtin::Coordinate(tag) => tag,
        Builtin::Extent => {
            return Some(
                "threads and blocks are as many as the inames that are tagged say: `split_iname(i, 128)`, then \
                 `tag_inames(i_outer: block.x, i_inner: thread.x)`"
                    .to_owned(),
            );
        }
    };
    Some(format!(
        "declare an iname, `domain {{ [i] : 0 <= i < n }}`, write `i` for it, and tag it in the pipeline: \
         `tag_inames(i: {tag}.{axis})`"
    ))
}

fn writable(check: &mut Check<'_>, item: &Item, target: &Access) {
    let lookup = check.lookup;
    let name = &target.array;
    let constant = check.data.constant(name).is_some();
    if let Some(array) = lookup.array(name).filter(|_| !constant) {
        subscripts(check, item, target, array.axes.len());
        return;
    }
    let what = if constant {
        "a constant table"
    } else if lookup.is_scalar(name) {
        "a scalar argument"
    } else if lookup.is_iname(name) {
        "an iname"
    } else {
        return unknown(check, item, name);
    };
    let d = Diagnostic::new("not-writable", format!("`{name}` is {what} and cannot be assigned"))
        .help("write to a temporary or to an array argument");
    check.add(item.clone(), name, d);
}

/// A count with its noun in the right number: `no axis`, `1 axis`, `2 axes`.
fn count(n: usize, what: &str) -> String {
    match n {
        0 => format!("no {what}"),
        1 => format!("1 {what}"),
        n if what == "axis" => format!("{n} axes"),
        n => format!("{n} {what}s"),
    }
}

fn written(n: usize) -> String {
    if n == 1 { "1 is written".into() } else { format!("{n} are written") }
}

fn subscripts(check: &mut Check<'_>, item: &Item, access: &Access, axes: usize) {
    if access.index.len() == axes {
        return;
    }
    let message = format!(
        "`{}` has {}, and {} here",
        access.array,
        count(axes, "axis"),
        count(access.index.len(), "subscript")
    );
    let help = match axes {
        0 => "it is a scalar: omit the brackets",
        _ => "give one subscript per axis",
    };
    let text = access.to_string();
    check.add(item.clone(), &text, Diagnostic::new("wrong-subscript", message).help(help));
}

fn no_reductions(check: &mut Check<'_>, item: &Item, e: &Expr, place: &str) {
    if let Some(r) = e.reductions().first() {
        let text = Expr::Reduce(r.clone()).to_string();
        let d = Diagnostic::new("reduction-place", format!("a reduction cannot occur in {place}"))
            .help("assign it to a temporary in a separate instruction");
        check.add(item.clone(), &text, d);
    }
}

/// Whether an instruction names this once, so that the first place in its text is the one.
fn occurs_once(data: &crate::KernelData, item: &Item, name: &Name) -> bool {
    let Item::Instruction(k) = item else { return false };
    let Some(i) = data.instructions.get(*k) else { return false };
    let targets = i.targets.iter().map(|t| Expr::Subscript(t.clone()).to_string());
    let values = i.predicate.iter().chain([&i.value]).map(Expr::to_string);
    let text: Vec<String> = targets.chain(values).collect();
    let is_in_name = |c: char| c.is_alphanumeric() || c == '_';
    text.iter().flat_map(|t| t.split(|c| !is_in_name(c))).filter(|word| *word == name.as_str()).count() == 1
}

/// Names and subscripts of an expression; `around` are the inames that have a value there.
fn expr(check: &mut Check<'_>, item: &Item, e: &Expr, around: &mut BTreeSet<Name>) {
    let lookup = check.lookup;
    match e {
        Expr::Name(name) => {
            if lookup.is_iname(name) || lookup.definition(name).is_some() {
                if !lookup.base_of(name).iter().all(|b| around.contains(b)) {
                    let d =
                        Diagnostic::new("iname-not-around", format!("the iname `{name}` has no value here"))
                            .help(
                                "it belongs to a reduction elsewhere in the instruction, or \
                            `inames=` leaves it out: use another iname",
                            );
                    let part = if occurs_once(check.data, item, name) { name.as_str() } else { "" };
                    check.add(item.clone(), part, d);
                }
            } else if let Some(array) = lookup.array(name) {
                let axes = array.axes.len();
                subscripts(check, item, &Access { array: name.clone(), index: Vec::new() }, axes);
            } else if !lookup.is_scalar(name) {
                unknown(check, item, name);
            }
        }
        Expr::Subscript(access) => {
            match lookup.array(&access.array) {
                Some(array) => subscripts(check, item, access, array.axes.len()),
                None if lookup.is_scalar(&access.array) || lookup.is_iname(&access.array) => {
                    subscripts(check, item, access, 0);
                }
                None => unknown(check, item, &access.array),
            }
            for e in &access.index {
                no_reductions(check, item, e, "a subscript");
                expr(check, item, e, around);
            }
        }
        Expr::Cast(Type::Open(name), _) if !check.data.open_types().contains(name) || !bound(check, name) => {
            let d = Diagnostic::new("unknown-type", format!("no argument binds the open type `{name}`"))
                .help("use an open type of the arguments, or a concrete type");
            check.add(item.clone(), name, d);
        }
        Expr::Reduce(r) => reduction(check, item, e, r, around),
        _ => e.children().into_iter().for_each(|child| expr(check, item, child, around)),
    }
}

/// Whether an argument has this open type.
fn bound(check: &Check<'_>, name: &Name) -> bool {
    check.data.args.iter().any(|arg| {
        let dtype = match arg {
            Arg::Array(a) => &a.dtype,
            Arg::Scalar(s) => &s.dtype,
        };
        *dtype == Type::Open(name.clone())
    })
}

fn reduction(check: &mut Check<'_>, item: &Item, e: &Expr, r: &Reduce, around: &mut BTreeSet<Name>) {
    let data = check.data;
    let text = e.to_string();
    if r.inames.is_empty() {
        let d = Diagnostic::new("reduction-place", format!("`{text}` reduces over no iname"))
            .help("name the inames that it reduces over, as in `sum(i, x[i])` or `sum([i, j], x[i, j])`");
        return check.add(item.clone(), &text, d);
    }
    let Some(op) = data.operator(&r.op) else {
        let names = ReductionOp::LIBRARY.into_iter().chain(data.reductions.iter().map(|o| o.name.as_str()));
        let help = crate::suggest::did_you_mean(&r.op, names).unwrap_or_else(|| {
            format!(
                "the library has {}; declare others by `reduction {}(x) {{ ... }}`",
                ReductionOp::LIBRARY.join(", "),
                r.op
            )
        });
        let d = Diagnostic::new("unknown-reduction", format!("there is no reduction `{}`", r.op)).help(help);
        return check.add(item.clone(), &r.op, d);
    };
    if op.inputs.len() != r.args.len() {
        let inputs: Vec<&str> = op.inputs.iter().map(|n| n.as_str()).collect();
        let d = Diagnostic::new(
            "wrong-arity",
            format!("`{}` takes {} values per update, and {} are given", r.op, op.inputs.len(), r.args.len()),
        )
        .help(format!("write `{}(i, {})`", r.op, inputs.join(", ")));
        check.add(item.clone(), &text, d);
    }
    let mut own = Vec::new();
    for iname in &r.inames {
        if !check.lookup.is_iname(iname) {
            unknown_iname(check, item, iname);
            continue;
        }
        for base in check.lookup.base_of(iname) {
            if around.insert(base.clone()) {
                own.push(base);
            } else if !check.along.contains(base) {
                let d = Diagnostic::new(
                    "iname-twice",
                    format!("the reduction is over `{iname}`, over which the instruction already runs"),
                )
                .help("reduce over another iname");
                check.add(item.clone(), &text, d);
            }
        }
    }
    if r.inames.is_empty() {
        let d = Diagnostic::new("wrong-arity", format!("`{}` reduces over no iname", r.op))
            .help("name at least one");
        check.add(item.clone(), &text, d);
    }
    for a in &r.args {
        expr(check, item, a, around);
    }
    for base in own {
        around.remove(base);
    }
}

fn type_error(check: &mut Check<'_>, item: &Item, error: TypeError) {
    let TypeError { diagnostic, about } = error;
    check.add(item.clone(), &about, diagnostic);
}

/// The values fit the targets, and the predicate is a truth value.
fn types(check: &mut Check<'_>, item: &Item, table: &TypeTable<'_>, i: &Instruction) {
    // If it depends on the type of another temporary that has none, that temporary has been
    // reported.
    let mut waits = false;
    let mut note = |e: &Expr| {
        if let Expr::Name(n) = e {
            waits |= check.lookup.temporary(n).is_some_and(|t| is_untyped(&t.dtype));
        }
    };
    i.value.visit(&mut note);
    i.predicate.iter().for_each(|p| p.visit(&mut note));
    if waits {
        return;
    }
    let values = match &i.value {
        e @ Expr::Reduce(r) => table.reduction(e, r),
        e => table.infer(e).map(|t| vec![t]),
    };
    let values = match values {
        Ok(values) => values,
        Err(error) => return type_error(check, item, *error),
    };
    if values.len() != i.targets.len() {
        let d = Diagnostic::new(
            "wrong-arity",
            format!(
                "`{}` gives {}, and {} here",
                i.value,
                count(values.len(), "value"),
                written(i.targets.len())
            ),
        )
        .help("assign all of its results, as in `v, k = argmax(i, x[i], i)`");
        check.add(item.clone(), "", d);
    }
    for (target, value) in i.targets.iter().zip(&values) {
        let Some(to) = table.element(&target.array) else { continue };
        if !assignable(value, to) {
            let message = format!("`{target}` is {to}, and the value assigned to it is {value}");
            let help = match *value == ValueType::Of(crate::DType::Bool.into()) {
                true => format!("write `if(c, 1, 0)` or `cast({to}, c)`"),
                false => format!("write `cast({to}, ...)` if that is intended"),
            };
            check.add(item.clone(), &target.to_string(), Diagnostic::new("wrong-type", message).help(help));
        }
    }
    let indices = i.targets.iter().flat_map(|t| t.index.clone());
    let reads = i.value.accesses().into_iter().chain(i.predicate.iter().flat_map(|p| p.accesses()));
    // Integers of all types meet there.
    let of_indices = table.of_indices(crate::DType::I64);
    for e in indices.chain(reads.flat_map(|a| a.index)) {
        match of_indices.infer(&e) {
            Ok(t) if assignable(&t, &Type::Known(crate::DType::I64)) && !is_float(&t) => {}
            Ok(t) => {
                let d = Diagnostic::new(
                    "wrong-type",
                    format!("`{e}` is {t}, and a subscript has to be an integer"),
                );
                check.add(
                    item.clone(),
                    &e.to_string(),
                    d.help(format!("write `cast(i32, {e})` if that is intended")),
                );
            }
            Err(error) => type_error(check, item, *error),
        }
    }
    if let Some(p) = &i.predicate {
        match table.infer(p) {
            Ok(t) if t == ValueType::Of(crate::DType::Bool.into()) => {}
            Ok(t) => {
                let d = Diagnostic::new(
                    "wrong-type",
                    format!("a predicate has to be a truth value, and `{p}` is {t}"),
                );
                check.add(item.clone(), &p.to_string(), d.help(format!("write `{p} != 0`")));
            }
            Err(error) => type_error(check, item, *error),
        }
    }
    decided(check, item, table, i);
    for (n, r) in i.reductions().iter().enumerate() {
        user_operator(check, item, table, i, n, r);
    }
}

/// The wanted types of an instruction's value: those of its targets.
fn wanted(table: &TypeTable<'_>, i: &Instruction) -> Vec<crate::DType> {
    i.targets.iter().filter_map(|t| table.element(&t.array)?.known()).collect()
}

/// Every value has one type: the expression, its context and the kernel together leave nothing
/// open. Type parameters are checked when they are bound.
fn decided(check: &mut Check<'_>, item: &Item, table: &TypeTable<'_>, i: &Instruction) {
    let untyped = |t: &Access| check.lookup.temporary(&t.array).is_some_and(|t| is_untyped(&t.dtype));
    if check.has(item) || i.targets.iter().any(untyped) {
        return;
    }
    let typed = || -> Result<(), Diagnostic> {
        if let Some(p) = &i.predicate {
            table.typed(p, crate::DType::Bool, Some(crate::DType::I64))?;
        }
        let wanted = wanted(table, i);
        match wanted[..] {
            [wanted] => table.typed(&i.value, wanted, Some(crate::DType::I64)).map(|_| ()),
            _ => table.reduction_types(&i.value, &wanted).map(|_| ()),
        }
    };
    if let Err(d) = typed()
        && d.code == "undecided-type"
    {
        check.add(item.clone(), &i.value.to_string(), d);
    }
}

fn is_float(t: &crate::ValueType) -> bool {
    matches!(t, crate::ValueType::FloatLiteral)
}

/// The parts of the kernel's own operators have the types of its state.
fn user_operator(
    check: &mut Check<'_>,
    item: &Item,
    table: &TypeTable<'_>,
    i: &Instruction,
    n: usize,
    r: &Reduce,
) {
    let Some(k) = check.data.reductions.iter().position(|o| o.name == r.op) else { return };
    if check.has(&Item::Reduction(k)) {
        return;
    }
    let op = &check.data.reductions[k];
    let own = || r.args.iter().map(|a| table.type_of(a).map(|t| t.alone())).collect::<Result<Vec<_>, _>>();
    let inputs = match table.reduction_types(&i.value, &wanted(table, i)) {
        Ok(types) if types.len() > n => types[n].inputs.iter().map(|t| Type::Known(*t)).collect(),
        _ => match own() {
            Ok(inputs) => inputs,
            Err(_) => return,
        },
    };
    let state: Vec<Type> = op.state.iter().map(|s| state_type(op, &s.dtype, &inputs)).collect();
    let inside = table.with_scalars(op.inputs.iter().cloned().zip(inputs));
    let pairs = op.state.iter().zip(&state).flat_map(|(s, t)| {
        [(Name::from(format!("a.{}", s.name)), t.clone()), (Name::from(format!("b.{}", s.name)), t.clone())]
    });
    let both = table.with_scalars(pairs);
    let parts = [
        ("neutral element", &op.neutral, &inside),
        ("lift", &op.lift, &inside),
        ("combination", &op.combine, &both),
    ];
    for (what, exprs, table) in parts {
        for ((e, to), s) in exprs.iter().zip(&state).zip(&op.state) {
            match table.infer(e) {
                Ok(t) if assignable(&t, to) => {}
                Ok(t) => {
                    let message =
                        format!("the {what} of `{}` in `{}` is {t}, and has to be {to}", s.name, op.name);
                    let d = Diagnostic::new("wrong-type", message).help(format!("write `cast({to}, ...)`"));
                    check.add(item.clone(), &r.op, d);
                }
                Err(error) => {
                    let mut diagnostic = error.diagnostic;
                    diagnostic.message =
                        format!("the {what} of `{}` in `{}`: {}", s.name, op.name, diagnostic.message);
                    check.add(item.clone(), &r.op, diagnostic);
                }
            }
        }
    }
}
