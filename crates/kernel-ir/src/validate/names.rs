//! Names: declared once, and valid as names in a kernel's text. Whether they are legal in a
//! target's language is checked when the kernel is lowered.

use std::collections::{HashMap, HashSet};

use crate::{
    Diagnostic, Name, ReductionOp, math_function,
    text::{is_identifier, source_map::Item},
    validate::Check,
};

pub(crate) fn check(check: &mut Check<'_>) {
    let data = check.data;
    spelling(check, &Item::Header, &data.name, "the kernel");
    let functions = data.functions.iter().map(|f| (&f.name, "a device function"));
    let atoms = data.atoms.iter().map(|a| (a.name(), "an atom"));
    let constants = data.constants.iter().map(|c| (&c.array.name, "a constant table"));
    if let Some((_, what)) = functions.chain(atoms).chain(constants).find(|(name, _)| **name == data.name) {
        let d = Diagnostic::new(
            "duplicate-name",
            format!("`{}` is the name of both the kernel and {what}", data.name),
        );
        check.add(Item::Header, &data.name, d.help("give one of them another name"));
    }
    let mut declared: Vec<(Item, Name, &str)> = Vec::new();
    let args = data.args.iter().enumerate();
    declared.extend(args.map(|(k, a)| (Item::Arg(k), a.name().clone(), "an argument")));
    let temporaries = data.temporaries.iter().enumerate();
    declared.extend(temporaries.map(|(k, t)| (Item::Temporary(k), t.name.clone(), "a temporary")));
    let constants = data.constants.iter().enumerate();
    declared.extend(constants.map(|(k, c)| (Item::Constant(k), c.array.name.clone(), "a constant table")));
    let structs = data.structs.iter().enumerate();
    declared.extend(structs.map(|(k, s)| (Item::Struct(k), s.name.clone(), "a struct")));
    for record in &data.records {
        let first = data.args.iter().position(|a| data.record_of(a.name()).is_some_and(|(r, _)| r == record));
        let item = first.map_or(Item::Header, Item::Arg);
        declared.push((item, record.array.name.clone(), "an argument"));
    }
    for (k, domain) in data.domains.iter().enumerate() {
        declared.extend(domain.inames.iter().map(|n| (Item::Domain(k), n.clone(), "an iname")));
    }
    let functions = data.functions.iter().enumerate();
    declared.extend(functions.map(|(k, f)| (Item::Function(k), f.name.clone(), "a device function")));
    let rules = data.rules.iter().enumerate();
    declared.extend(rules.map(|(k, r)| (Item::Rule(k), r.name.clone(), "a rule")));
    let atoms = data.atoms.iter().enumerate();
    declared.extend(atoms.map(|(k, a)| (Item::Atom(k), a.name().clone(), "an atom")));
    let mut seen: HashMap<Name, &str> = HashMap::with_capacity(declared.len());
    for (item, name, what) in declared {
        spelling(check, &item, &name, what);
        if let Some(first) = seen.insert(name.clone(), what) {
            let message = match first == what {
                true => format!("`{name}` is declared twice"),
                false => format!("`{name}` is declared twice, as {first} and as {what}"),
            };
            check.add(
                item,
                &name,
                Diagnostic::new("duplicate-name", message).help("give one of them another name"),
            );
        }
    }
    let mut operators: Vec<&Name> = Vec::new();
    for (k, op) in data.reductions.iter().enumerate() {
        let taken = ReductionOp::is_library(&op.name) || math_function(&op.name).is_some();
        if taken || operators.contains(&&op.name) || data.functions.iter().any(|f| f.name == op.name) {
            let whose = if taken { "one of the library" } else { "one" };
            let d =
                Diagnostic::new("duplicate-name", format!("there is already {whose} called `{}`", op.name));
            check.add(Item::Reduction(k), &op.name, d.help("give the operator another name"));
        }
        operators.push(&op.name);
    }
    of_rules(check);
    let mut ids: HashSet<&Name> = HashSet::with_capacity(data.instructions.len());
    for (k, i) in data.instructions.iter().enumerate() {
        if !is_identifier(&i.id) {
            check.add(Item::Instruction(k), "", bad(&i.id, "an instruction"));
        }
        if !ids.insert(&i.id) {
            let d =
                Diagnostic::new("duplicate-id", format!("there are two instructions with the id `{}`", i.id));
            check.add(Item::Instruction(k), &i.id, d.help("give each instruction a different id, or none"));
        }
    }
}

/// Rules are used like functions and operators, whose names they cannot have.
fn of_rules(check: &mut Check<'_>) {
    let data = check.data;
    for (k, rule) in data.rules.iter().enumerate() {
        let item = Item::Rule(k);
        let operators = data.reductions.iter().map(|op| op.name.as_str());
        if ReductionOp::is_library(&rule.name) || operators.into_iter().any(|name| name == &*rule.name) {
            let d = Diagnostic::new("duplicate-name", format!("there is already one called `{}`", rule.name));
            check.add(item.clone(), &rule.name, d.help("give the rule another name"));
        }
        for (j, parameter) in rule.parameters.iter().enumerate() {
            spelling(check, &item, parameter, "a parameter");
            let reduced = rule.value.reductions().iter().any(|r| r.inames.contains(parameter));
            let subscripted = rule.value.accesses().iter().any(|a| a.array == *parameter);
            let message = match () {
                () if rule.parameters[..j].contains(parameter) => {
                    format!("`{parameter}` is listed twice among the parameters of `{}`", rule.name)
                }
                () if reduced => format!("`{}` reduces over its parameter `{parameter}`", rule.name),
                () if subscripted => {
                    format!("the parameter `{parameter}` of `{}` is not an array", rule.name)
                }
                () => continue,
            };
            check.add(
                item.clone(),
                parameter,
                Diagnostic::new("rule-parameter", message).help("parameters stand for numbers, each once"),
            );
        }
    }
}

fn bad(name: &Name, what: &str) -> Diagnostic {
    Diagnostic::new("bad-name", format!("`{}` is not a name for {what}", name.escape_debug()))
        .help("a name is a letter, then letters, digits and underscores, and not a keyword")
}

/// Refuses invalid names of arguments, temporaries, inames and functions, including those of math
/// functions, also with the suffix `f` of their single-precision forms. `what` is the kind of item,
/// such as `an iname`.
pub fn check_name(name: &Name, what: &str) -> Result<(), Diagnostic> {
    if !is_identifier(name) || crate::text::RESERVED.contains(&&**name) {
        return Err(bad(name, what));
    }
    let function = math_function(name).or_else(|| math_function(name.strip_suffix('f')?));
    if function.is_some() {
        return Err(Diagnostic::new("reserved-name", format!("`{name}` is a math function"))
            .help(format!("give {what} another name, such as `{name}_`")));
    }
    Ok(())
}

fn spelling(check: &mut Check<'_>, item: &Item, name: &Name, what: &str) {
    if let Err(d) = check_name(name, what) {
        let place = if d.code == "bad-name" { "" } else { &**name };
        check.add(item.clone(), place, d);
    }
}
