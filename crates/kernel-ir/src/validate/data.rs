//! Arguments, temporaries, facts and device functions.

use loopwright_target::Language;

use crate::{
    Arg, Array, DType, Diagnostic, Expr, Fact, Name, Type, TypeTable, ValueType,
    text::{close_of_c, is_identifier, source_map::Item},
    types::{TypeError, is_untyped},
    validate::{Check, domains, purity::impurity},
};

pub(crate) fn check(check: &mut Check<'_>) {
    let data = check.data;
    let table = TypeTable::new(data);
    for (k, arg) in data.args.iter().enumerate() {
        match arg {
            Arg::Array(a) => {
                if a.axes.is_empty() {
                    let d = Diagnostic::new(
                        "wrong-layout",
                        format!("the array argument `{}` has no axes", a.name),
                    )
                    .help(format!(
                        "write `{}[1]` for one element in memory, or omit the brackets for a \
                         scalar",
                        a.dtype
                    ));
                    check.add(Item::Arg(k), "", d);
                }
                array(check, &table, Item::Arg(k), a);
            }
            Arg::Scalar(_) => {}
        }
    }
    let bound: Vec<&Name> = data
        .args
        .iter()
        .filter_map(|a| match a {
            Arg::Array(Array { dtype: Type::Open(n), .. }) => Some(n),
            Arg::Scalar(crate::Scalar { dtype: Type::Open(n), .. }) => Some(n),
            _ => None,
        })
        .collect();
    for (k, t) in data.temporaries.iter().enumerate() {
        array(check, &table, Item::Temporary(k), t);
        match &t.dtype {
            dtype if is_untyped(dtype) => {
                // An error in the value itself is more informative.
                let wrong = !check.lookup.writers(&t.name).is_empty();
                let float = table.suggested_float();
                let help = match wrong {
                    true => format!(
                        "give it a type: `temp {}: {float}`, or correct the values assigned to it",
                        t.name
                    ),
                    false => {
                        format!("no instruction writes it; give it a type: `temp {}: {float}`", t.name)
                    }
                };
                let message =
                    format!("the type of the temporary `{}` does not follow from its values", t.name);
                check.add(Item::Temporary(k), &t.name, Diagnostic::new("unknown-type", message).help(help));
            }
            Type::Open(name) if !bound.contains(&name) => {
                let message = format!("no argument binds the open type `{name}`");
                let d = Diagnostic::new("unknown-type", message)
                    .help("use an open type of the arguments, or a concrete type");
                check.add(Item::Temporary(k), name, d);
            }
            _ => {}
        }
    }
    facts(check, &table);
    functions(check);
}

/// Lengths and strides are integer expressions of arguments.
fn array(check: &mut Check<'_>, table: &TypeTable<'_>, item: Item, a: &Array) {
    let sizes = a.axes.iter().map(|x| &x.length).chain(a.axes.iter().filter_map(|x| x.stride.as_ref()));
    for e in sizes {
        size(check, table, &item, e);
    }
    let mut sorted = a.order.clone();
    sorted.sort_unstable();
    if !a.order.is_empty() && !sorted.into_iter().eq(0..a.axes.len()) {
        let d = Diagnostic::new(
            "wrong-layout",
            format!("the order of the axes of `{}` does not list each axis once", a.name),
        )
        .help("list each axis once, the slowest first");
        check.add(item.clone(), "", d);
    }
    if let Some(d) = a.layout_fault() {
        check.add(item.clone(), "", d);
    }
    if let Some(wrong) = a.hints.waves().and_then(crate::Waves::wrong) {
        let d = Diagnostic::new(
            "wrong-waves",
            format!("stores to `{}` cannot be grouped into such waves: {wrong}", a.name),
        )
        .help("write, for example, `waves(335872, 8)`: eight windows of 335872 elements");
        check.add(item, "", d);
    }
}

/// Requires an integer expression of scalar arguments.
fn size(check: &mut Check<'_>, table: &TypeTable<'_>, item: &Item, e: &Expr) {
    let mut sound = true;
    for name in e.names() {
        if let Some(d) = domains::affine_name(check.lookup, &name, false, false) {
            check.add(item.clone(), &name, d);
            sound = false;
        }
    }
    let mut foreign = None;
    e.visit(&mut |e| {
        if matches!(e, Expr::Subscript(_) | Expr::Reduce(_)) {
            foreign = Some(e.to_string());
        }
    });
    if let Some(text) = foreign {
        let d = Diagnostic::new("not-affine", format!("`{text}` has no value before the kernel runs"))
            .help("sizes depend only on scalar arguments and integers");
        check.add(item.clone(), &text, d);
        sound = false;
    }
    if !sound {
        return;
    }
    let negative = e.to_aff().and_then(|a| a.as_constant()).is_some_and(|c| c < 0);
    match table.infer(e) {
        Ok(_) if negative => {
            let d = Diagnostic::new("wrong-layout", format!("the size `{e}` is negative"))
                .help("sizes have to be at least 0");
            check.add(item.clone(), &e.to_string(), d);
        }
        Ok(ValueType::IntLiteral | ValueType::AnyNumber) => {}
        Ok(t) if t.alone().known().is_some_and(DType::is_integer) => {}
        Ok(t) => {
            let d = Diagnostic::new("wrong-type", format!("`{e}` is {t}, and a size has to be an integer"));
            check.add(item.clone(), &e.to_string(), d.help("compute it from integer arguments"));
        }
        Err(error) => {
            let TypeError { diagnostic, about } = *error;
            check.add(item.clone(), &about, diagnostic);
        }
    }
}

fn facts(check: &mut Check<'_>, table: &TypeTable<'_>) {
    let data = check.data;
    for (k, fact) in data.facts.iter().enumerate() {
        let item = Item::Fact(k);
        let (name, one_dimensional) = match fact {
            Fact::Range { array, .. } => (array, false),
            Fact::Monotone(array) | Fact::Injective(array) => (array, true),
        };
        match check.lookup.array(name) {
            None => {
                let arrays =
                    data.args.iter().filter(|a| matches!(a, Arg::Array(_))).map(|a| a.name().as_str());
                let mut d = Diagnostic::new("unknown-name", format!("there is no array `{name}`"));
                d.help = crate::suggest::did_you_mean(name, arrays)
                    .or_else(|| Some("facts are about elements of arrays; use `assume` for scalars".into()));
                check.add(item.clone(), name, d);
            }
            Some(a) if !domains::is_integer(&a.dtype) => {
                let d = Diagnostic::new(
                    "wrong-type",
                    format!("`{name}` is an array of {}, and facts are about integers", a.dtype),
                );
                check.add(item.clone(), name, d.help("leave it out"));
            }
            Some(a) if one_dimensional && a.axes.len() != 1 => {
                let d = Diagnostic::new(
                    "wrong-subscript",
                    format!("`{name}` has {} axes, and this fact is about one", a.axes.len()),
                );
                check.add(item.clone(), name, d.help("leave it out"));
            }
            Some(_) => {}
        }
        if let Fact::Range { lower, upper, .. } = fact {
            for e in lower.iter().chain(upper) {
                size_of_fact(check, table, &item, e);
            }
        }
    }
}

/// As for a size, but it may be negative.
fn size_of_fact(check: &mut Check<'_>, table: &TypeTable<'_>, item: &Item, e: &Expr) {
    if e.to_aff().is_none_or(|a| a.as_constant().is_none()) {
        size(check, table, item, e);
    }
}

fn functions(check: &mut Check<'_>) {
    for (k, f) in check.data.functions.iter().enumerate() {
        let item = Item::Function(k);
        let source = format!("{{{}}}", f.source);
        let (language, begin) = (Language::OF_KERNELS.name, Language::OF_KERNELS.device_function);
        let problem = if !f.source.starts_with(begin) {
            Some(format!("does not begin with `{begin}`"))
        } else if is_identifier(&f.name) && !f.source.contains(f.name.as_str()) {
            Some("defines another name".into())
        } else if close_of_c(source.as_bytes(), 0) != Some(source.len()) {
            Some("has braces that do not match".into())
        } else if f.source.trim() != f.source.as_str() {
            Some("begins or ends with white space".into())
        } else {
            None
        };
        if let Some(problem) = problem {
            let args: Vec<String> =
                f.params.iter().enumerate().map(|(n, t)| format!("{} a{n}", type_name(*t))).collect();
            let message = format!("the device function `{}`: its {language} {problem}", f.name);
            let d = Diagnostic::new("bad-function", message).help(format!(
                "give the whole definition: `{begin} {} {}({}) {{ ... }}`",
                type_name(f.result),
                f.name,
                args.join(", ")
            ));
            check.add(item, &f.name, d);
        } else if let Some(why) = impurity(&f.source) {
            let message = format!("the device function `{}` {why}", f.name);
            let d = Diagnostic::new("impure-function", message).help(
                "its result has to depend on its arguments alone, since calls are repeated, left out and \
                 done in any order: pass what it needs, and let instructions keep what it computes",
            );
            check.add(item, &f.name, d);
        }
    }
}

fn type_name(t: DType) -> &'static str {
    Language::OF_KERNELS.type_name(t.name()).unwrap_or_else(|| t.name())
}
