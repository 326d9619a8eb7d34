//! What calls give, with pairs for complex numbers.

use crate::{
    Diagnostic, Expr, Instruction, Name,
    complex::{
        convert::{Ahead, Convert},
        lines, part_name,
    },
    inline::{Actual, Sub},
    text::{callee::CallSite, calls},
};

/// Makes pairs of the complex numbers among the arguments and the targets of a call.
pub(super) fn pass(
    site: &mut CallSite,
    instruction: &mut Instruction,
    convert: &mut Convert<'_>,
) -> Result<(), Box<Diagnostic>> {
    let table = convert.table;
    let is_complex = |n: &Name| table.arrays.contains_key(n) || table.scalars.contains(n);
    let mut made = Vec::new();
    let spans: Vec<_> = site.actuals.iter().map(|(.., span)| span.clone()).collect();
    for ((formal, actual), span) in calls::actuals(site, instruction).into_iter().zip(spans) {
        let wants = site.callee.complex.contains(&formal);
        let both = |a: Actual, b: Actual| {
            [(part_name(&formal, 0), a, span.clone()), (part_name(&formal, 1), b, span.clone())]
        };
        match actual {
            Actual::Slice { array, mut subs } => {
                if is_complex(&array) != wants {
                    return Err(lines::passed(&array, &formal, !wants).into());
                }
                for sub in subs.iter_mut().flatten() {
                    let ends: Vec<&mut Expr> = match sub {
                        Sub::At(e) => vec![e],
                        Sub::Range { from, to, .. } => from.iter_mut().chain(to).collect(),
                    };
                    for e in ends {
                        *e = convert.real(e, Ahead::Nothing, "a subscript")?;
                    }
                }
                if let (true, Some(subs)) = (wants, &mut subs) {
                    subs.push(Sub::ALL);
                }
                made.push((formal.clone(), Actual::Slice { array, subs }, span.clone()));
            }
            Actual::Element(access) => {
                let parts = lines::elements(convert, &access)?;
                match (parts, wants) {
                    (lines::Target::Complex([a, b]), true) => {
                        made.extend(both(Actual::Element(a), Actual::Element(b)));
                    }
                    (lines::Target::Real(a), false) => {
                        made.push((formal.clone(), Actual::Element(a), span.clone()));
                    }
                    (_, wants) => return Err(lines::passed(&access.array, &formal, !wants).into()),
                }
            }
            Actual::Value(e) if wants => {
                let [a, b] = convert.value(&e, Ahead::All)?.parts();
                made.extend(both(Actual::Value(a), Actual::Value(b)));
            }
            Actual::Value(e) => {
                let place = format!("the argument `{formal}`");
                made.push((
                    formal.clone(),
                    Actual::Value(convert.real(&e, Ahead::All, &place)?),
                    span.clone(),
                ));
            }
        }
    }
    site.actuals = made;
    if let Expr::Call { args, .. } = &mut instruction.value {
        *args =
            site.actuals.iter_mut().flat_map(|(_, a, _)| a.expressions_mut()).map(|e| e.clone()).collect();
    }
    let mut targets = Vec::with_capacity(instruction.targets.len());
    for t in &instruction.targets {
        // Of an array that is passed whole, no element is named.
        if t.index.is_empty() && table.arrays.contains_key(&t.array) {
            targets.push(t.clone());
            continue;
        }
        match lines::elements(convert, t)? {
            lines::Target::Complex(parts) => targets.extend(parts),
            lines::Target::Real(access) => targets.push(access),
        }
    }
    instruction.targets = targets;
    if let Some(p) = &mut instruction.predicate {
        *p = convert.real(p, Ahead::Nothing, "a condition")?;
    }
    Ok(())
}
