//! Domains, assumptions, definitions and tags: known names, and a lower and an upper bound for
//! every iname.

use crate::{
    Aff, Arg, Constraint, Diagnostic, KernelData, Kind, Lookup, Name, Term, Type, nest,
    text::source_map::Item, validate::Check,
};

/// The kind of a name in affine text.
#[derive(Clone, Copy, PartialEq)]
enum Integer {
    Yes,
    Unknown,
    Array,
    OtherType,
    /// A scalar temporary: a value read from data.
    Loaded,
}

fn integer(lookup: &Lookup<'_>, name: &Name) -> Integer {
    if lookup.is_iname(name) || lookup.definition(name).is_some() {
        return Integer::Yes;
    }
    if let Some(s) = lookup.scalar(name) {
        return if is_integer(&s.dtype) { Integer::Yes } else { Integer::OtherType };
    }
    match lookup.array(name) {
        None => Integer::Unknown,
        Some(a) if !a.axes.is_empty() || lookup.temporary(name).is_none() => Integer::Array,
        Some(t) if is_integer(&t.dtype) => Integer::Loaded,
        Some(_) => Integer::OtherType,
    }
}

pub(crate) fn is_integer(t: &Type) -> bool {
    t.known().is_some_and(|t| t.is_integer())
}

/// The names that affine text may use.
fn integers(data: &KernelData) -> Vec<Name> {
    let args = data.args.iter().filter_map(|a| match a {
        Arg::Scalar(s) if is_integer(&s.dtype) => Some(s.name.clone()),
        _ => None,
    });
    let temporaries = data.temporaries.iter().filter(|t| t.axes.is_empty() && is_integer(&t.dtype));
    args.chain(data.domains.iter().flat_map(|d| d.inames.iter().cloned()))
        .chain(temporaries.map(|t| t.name.clone()))
        .collect()
}

/// The error for a name in affine text, if any. `inames`: whether inames are allowed here;
/// `loaded`: whether scalar temporaries are.
pub(crate) fn affine_name(
    lookup: &Lookup<'_>,
    name: &Name,
    inames: bool,
    loaded: bool,
) -> Option<Diagnostic> {
    let is_iname = lookup.is_iname(name) || lookup.definition(name).is_some();
    match integer(lookup, name) {
        Integer::Yes if inames || !is_iname => None,
        Integer::Yes => Some(
            Diagnostic::new("unknown-name", format!("the iname `{name}` has no value here"))
                .help("only integer scalar arguments do"),
        ),
        Integer::Loaded if loaded => None,
        Integer::Loaded => Some(
            Diagnostic::new("unknown-name", format!("the temporary `{name}` has no value here"))
                .help("only integer scalar arguments do"),
        ),
        Integer::Array => Some(
            Diagnostic::new("wrong-subscript", format!("`{name}` is an array, and a number is needed here"))
                .help(format!("load an element by an instruction, such as `<i32> first = {name}[0]`")),
        ),
        Integer::OtherType => Some(
            Diagnostic::new(
                "wrong-type",
                format!("`{name}` is not an integer, and bounds and sizes have to be"),
            )
            .help(format!("declare it as an integer: `{name}: i32`")),
        ),
        Integer::Unknown => {
            let candidates = integers(lookup.kernel());
            let help = crate::suggest::did_you_mean(name, candidates.iter().map(Name::as_str))
                .unwrap_or_else(|| format!("declare it as an argument: `{name}: i32`"));
            Some(Diagnostic::new("unknown-name", format!("`{name}` is not declared")).help(help))
        }
    }
}

/// The rational slope of a function along a name, through divisions.
fn slope(aff: &Aff, name: &str) -> f64 {
    aff.terms()
        .iter()
        .map(|(term, c)| match term {
            Term::Var(n) if **n == *name => *c as f64,
            Term::Var(_) => 0.0,
            Term::Div(div) => *c as f64 * slope(&div.numerator, name) / div.denominator as f64,
        })
        .sum()
}

/// Whether a constraint bounds a name from below, and whether from above.
fn bounds(c: &Constraint, name: &str) -> (bool, bool) {
    let slope = slope(&c.aff, name);
    if slope.abs() < 1e-12 {
        return (false, false);
    }
    match c.kind {
        Kind::Eq => (true, true),
        Kind::Ge => (slope > 0.0, slope < 0.0),
    }
}

pub(crate) fn check(check: &mut Check<'_>) {
    let data = check.data;
    for (j, c) in data.assumptions.iter().enumerate() {
        for name in c.names() {
            if let Some(d) = affine_name(check.lookup, &name, false, false) {
                check.add(Item::Assumption(j), &name, d);
            }
        }
    }
    if let Some((k, d)) = nest::cycle(check.lookup) {
        check.add(Item::Domain(k), "", d);
    }
    for (k, domain) in data.domains.iter().enumerate() {
        if domain.inames.is_empty() {
            let d = Diagnostic::new("no-inames", "this domain has no inames")
                .help("write a condition on arguments alone as an assumption: `assume n >= 1`");
            check.add(Item::Domain(k), "", d);
        }
        let mut known = true;
        for (j, c) in domain.constraints.iter().enumerate() {
            for name in c.names() {
                if let Some(d) = affine_name(check.lookup, &name, true, true) {
                    known = false;
                    check.add(Item::Constraint(k, j), &name, d);
                }
            }
        }
        // Transforms bound what they add; a defined iname is bounded through its parts.
        if known && !check.transformed() {
            unbounded(check, k);
        }
    }
    for (k, d) in data.definitions.iter().enumerate() {
        if !check.lookup.is_iname(&d.iname) {
            let help = crate::suggest::did_you_mean(
                &d.iname,
                data.domains.iter().flat_map(|d| d.inames.iter().map(|n| n.as_str())),
            );
            let mut diagnostic =
                Diagnostic::new("unknown-iname", format!("no domain has the iname `{}`", d.iname));
            diagnostic.help = help.or_else(|| Some("add it to the inames of a domain".into()));
            check.add(Item::Definition(k), &d.iname, diagnostic);
        }
        for name in d.value.names() {
            if let Some(diagnostic) = affine_name(check.lookup, &name, true, false) {
                check.add(Item::Definition(k), &name, diagnostic);
            }
        }
    }
    tags(check);
}

/// A constraint belongs to the innermost iname that it mentions: each iname needs its own bounds.
fn unbounded(check: &mut Check<'_>, k: usize) {
    let domain = &check.data.domains[k];
    for (position, iname) in domain.inames.iter().enumerate() {
        let inner = &domain.inames[position + 1..];
        let (mut below, mut above) = (false, false);
        for c in domain.constraints.iter().filter(|c| !inner.iter().any(|n| c.aff.mentions(n))) {
            let (b, a) = bounds(c, iname);
            below |= b;
            above |= a;
        }
        if below && above {
            continue;
        }
        let side = match (below, above) {
            (false, false) => "no bounds",
            (false, _) => "no lower bound",
            _ => "no upper bound",
        };
        let add = match (below, above) {
            (false, false) => format!("`0 <= {iname} < n`"),
            (false, _) => format!("`0 <= {iname}`"),
            _ => format!("`{iname} < n`"),
        };
        let within = domain
            .constraints
            .iter()
            .any(|c| inner.iter().any(|n| c.aff.mentions(n)) && c.aff.mentions(iname));
        let help = match within {
            true => format!(
                "a constraint belongs to the innermost iname that it mentions: give `{iname}` a \
                 separate one, such as {add}"
            ),
            false => format!("add it to the domain, for example {add}"),
        };
        check.add(
            Item::Domain(k),
            iname,
            Diagnostic::new("iname-unbounded", format!("the iname `{iname}` has {side}")).help(help),
        );
    }
}

fn tags(check: &mut Check<'_>) {
    let data = check.data;
    for iname in data.tagged() {
        let (item, tag) = (Item::Tag(iname.to_string()), data.tag(iname));
        let Some((domain, _)) = check.lookup.domain_of(iname) else {
            let names = data.domains.iter().flat_map(|d| d.inames.iter().map(|n| n.as_str()));
            let mut d = Diagnostic::new("unknown-iname", format!("no domain has the iname `{iname}`"));
            d.help = crate::suggest::did_you_mean(iname, names);
            check.add(item, iname, d);
            continue;
        };
        if let Some(value) = check.lookup.definition(iname) {
            let d = Diagnostic::new("wrong-tag", format!("`{iname}` is no longer a loop: it is `{value}`"))
                .help("tag the inames that it is defined by instead");
            check.add(item, iname, d);
            continue;
        }
        if let Some(d) = data.wrong_flat(iname) {
            check.add(item, iname, d);
            continue;
        }
        let loaded = data.domains[domain]
            .constraints
            .iter()
            .filter(|c| c.aff.mentions(iname))
            .flat_map(|c| c.names())
            .find(|n| check.lookup.temporary(n).is_some());
        if let (true, Some(loaded)) = (tag.has_constant_length(), loaded) {
            let d = Diagnostic::new(
                "wrong-tag",
                format!("`{iname}` is tagged {tag}, but its length is read from data (`{loaded}`)"),
            )
            .help(format!(
                "split it by a constant first and tag the inner part: `split_iname({iname}, 128)`"
            ));
            check.add(item, iname, d);
        }
    }
}
