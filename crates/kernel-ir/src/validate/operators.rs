//! The kernel's own reduction operators.

use crate::{
    Diagnostic, Expr, Law, Name, ReductionOp,
    text::{is_identifier, source_map::Item},
    validate::Check,
};

pub(crate) fn check(check: &mut Check<'_>) {
    for (k, op) in check.data.reductions.iter().enumerate() {
        let item = Item::Reduction(k);
        let mut names: Vec<&Name> = vec![&op.name];
        names.extend(&op.inputs);
        names.extend(op.state.iter().map(|s| &s.name));
        if let Some(bad) = names.iter().find(|n| !is_identifier(n)) {
            let d = Diagnostic::new("bad-name", format!("`{}` is not a name", bad.escape_debug()))
                .help("a name is a letter, then letters, digits and underscores");
            check.add(item.clone(), bad, d);
            continue;
        }
        let n = op.state.len();
        if n == 0 || op.result.is_empty() || [&op.neutral, &op.lift, &op.combine].iter().any(|v| v.len() != n)
        {
            let d = Diagnostic::new(
                "wrong-arity",
                format!(
                    "`{}` needs a neutral element, a lift and a combination for each of its {n} \
                     values",
                    op.name
                ),
            )
            .help("and at least one value and one result");
            check.add(item.clone(), &op.name, d);
            continue;
        }
        parts(check, &item, op);
        if !check.has(&item) {
            laws(check, &item, op);
        }
    }
}

/// Each part uses only the names available to it.
fn parts(check: &mut Check<'_>, item: &Item, op: &ReductionOp) {
    let state: Vec<String> = op.state.iter().map(|s| s.name.to_string()).collect();
    let pairs: Vec<String> = state.iter().flat_map(|s| [format!("a.{s}"), format!("b.{s}")]).collect();
    let inputs: Vec<String> = op.inputs.iter().map(Name::to_string).collect();
    let parts: [(&str, &[Expr], &[String]); 4] = [
        ("a neutral element", &op.neutral, &[]),
        ("`lift`", &op.lift, &inputs),
        ("`combine`", &op.combine, &pairs),
        ("`result`", &op.result, &state),
    ];
    for (what, exprs, known) in parts {
        for e in exprs {
            for name in e.names() {
                if known.iter().any(|k| *name == **k) {
                    continue;
                }
                let mut d =
                    Diagnostic::new("unknown-name", format!("{what} of `{}` cannot use `{name}`", op.name));
                let list: Vec<String> = known.iter().map(|k| format!("`{k}`")).collect();
                d.help =
                    crate::suggest::did_you_mean(&name, known.iter().map(String::as_str)).or_else(|| {
                        Some(match list.is_empty() {
                            true => "it is a constant".into(),
                            false => format!("it may use {}", list.join(", ")),
                        })
                    });
                check.add(item.clone(), &name, d);
            }
            let mut foreign = false;
            e.visit(&mut |e| foreign |= matches!(e, Expr::Subscript(_) | Expr::Reduce(_)));
            if foreign {
                let d = Diagnostic::new(
                    "reduction-place",
                    format!("{what} of `{}` reads an array or reduces", op.name),
                )
                .help("an operator may only use its inputs and its state");
                check.add(item.clone(), &e.to_string(), d);
            }
        }
    }
}

/// Tests the laws that the operator claims, on drawn states.
fn laws(check: &mut Check<'_>, item: &Item, op: &ReductionOp) {
    if let Some(reason) = &op.trusted {
        if reason.trim().is_empty() || reason.contains(['"', '\n']) {
            let d = Diagnostic::new(
                "operator-trusted",
                format!(
                    "the reason to trust `{}` is not a single line of text without double quotes",
                    op.name
                ),
            )
            .help("explain in one line without double quotes why its laws hold");
            check.add(item.clone(), "trusted", d);
        }
        return;
    }
    for inputs in check.data.inputs_of(op) {
        let laws = op.laws(check.data, &inputs);
        if !laws.tested {
            let d = Diagnostic::new(
                "operator-untested",
                format!("the laws of `{}` cannot be tested: it calls a device function", op.name),
            )
            .help(
                "if its neutral element is neutral and `combine` is associative, write `trusted \
                 \"why\"` in it",
            );
            check.add(item.clone(), &op.name, d);
            return;
        }
        let claims = [
            (Law::Neutral, true, "not-neutral", "state"),
            (Law::Associative, true, "not-associative", "combine"),
            (Law::Commutative, op.commutes, "not-commutative", "commutes"),
            (Law::Idempotent, op.idempotent, "not-idempotent", "idempotent"),
        ];
        for (law, claimed, code, part) in claims {
            let Some(witness) = laws.witness(law).filter(|_| claimed) else { continue };
            let (message, help) = match law {
                Law::Neutral => (
                    format!("the neutral element of `{}` changes a state that it is combined with", op.name),
                    "give the state whose combination with any other is the other one",
                ),
                Law::Associative => (
                    format!("`combine` of `{}` is not associative", op.name),
                    "a reduction combines its values in any grouping: extend the state so that \
                     the result does not depend on it",
                ),
                Law::Commutative => (
                    format!("`{}` is declared `commutes` and does not commute", op.name),
                    "leave out `commutes`, so that its values are combined in order",
                ),
                Law::Idempotent => {
                    (format!("`{}` is declared `idempotent` and is not", op.name), "leave `idempotent` out")
                }
            };
            let help =
                format!("{help}; if such states cannot occur, write `trusted \"why\"` in the operator");
            check.add(item.clone(), part, Diagnostic::new(code, message).witness(witness).help(help));
        }
        if check.has(item) {
            return;
        }
        if let Some(part) = &laws.missed {
            let message = format!(
                "the laws of `{}` cannot be tested: which states meet `{part}` in `combine` is not known",
                op.name
            );
            let d = Diagnostic::new("operator-untested", message).help(
                "let `combine` compare values of the state with each other, with their neutral values or \
                 with 0; or, if its neutral element is neutral and `combine` is associative, write `trusted \
                 \"why\"` in it",
            );
            check.add(item.clone(), "combine", d);
            return;
        }
        let is_claimed = |law: &Law| claims.iter().any(|(l, claimed, ..)| l == law && *claimed);
        if let Some((part, broken)) = &laws.unreached
            && broken.iter().any(is_claimed)
        {
            let message = format!(
                "the laws of `{}` cannot be tested: which inputs meet `{part}` in `lift` is not known, and \
                 not all states obey the laws",
                op.name
            );
            let d = Diagnostic::new("operator-untested", message).help(
                "let the laws hold for all values of the state; or, if they hold for those that `lift` \
                 makes, write `trusted \"why\"` in it",
            );
            check.add(item.clone(), "lift", d);
            return;
        }
    }
}
