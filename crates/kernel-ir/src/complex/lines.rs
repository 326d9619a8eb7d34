//! Instructions with complex numbers as instructions of their parts.
//!
//! `y[i] = a*x[i] + y[i]` becomes an instruction for each part. Both have to read what was there
//! before: where the part that is written first is read by the other one, the other comes first, or
//! its value is computed ahead into a private scalar. What is computed ahead stands directly before
//! the instruction, in its loops and under its predicate.

use super::{
    Table,
    convert::{Ahead, Convert, Made},
    part_name,
};
use crate::{Access, BinaryOp, Diagnostic, Expr, Float, Instruction, Name, Role, TypeTable, UpdateOp};

/// The instructions that stand for one.
pub(crate) struct Lines {
    pub instructions: Vec<Instruction>,
    /// The private scalars that they need, without types; those with `true` are truth values.
    pub scalars: Vec<(Name, bool)>,
}

type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// What a target is once its marks are resolved: one real element, or both parts of a complex one.
pub(crate) enum Target {
    Real(Access),
    Complex([Access; 2]),
}

fn is_concerned(table: &Table, i: &Instruction) -> bool {
    let complex = |t: &Access| table.arrays.contains_key(&t.array) || table.scalars.contains(&t.array);
    i.targets.iter().any(complex) || i.expressions().any(|e| table.concerns(e))
}

/// The target with its subscripts resolved.
pub(crate) fn elements(convert: &mut Convert<'_>, access: &Access) -> Result<Target> {
    let (part, plain) = match access.index.split_last() {
        Some((last, rest)) => match super::marked_part(last) {
            Some(part) => (Some(part), Access { array: access.array.clone(), index: rest.to_vec() }),
            None => (None, access.clone()),
        },
        None => (None, access.clone()),
    };
    if convert.table.scalars.contains(&plain.array) {
        let part_of = |k| Access::new(part_name(&plain.array, k), plain.index.clone());
        return Ok(match part {
            Some(k) => Target::Real(part_of(k)),
            None => Target::Complex([part_of(0), part_of(1)]),
        });
    }
    if convert.table.arrays.contains_key(&plain.array) {
        return Ok(match part {
            Some(k) => Target::Real(convert.element(&plain, k)?),
            None => Target::Complex([convert.element(&plain, 0)?, convert.element(&plain, 1)?]),
        });
    }
    if part.is_some() {
        let message = format!("`{}` is not complex, and has no parts", plain.array);
        return Err(Diagnostic::new("complex-value", message).help("write the element itself").into());
    }
    Ok(Target::Real(convert.element(&plain, 0)?))
}

/// Whether one of these expressions may read what is written to a part: an element of this array
/// with this last subscript, this scalar, or something else that may have two names.
fn reads<'e>(table: &Table, expressions: impl IntoIterator<Item = &'e Expr>, part: &Access) -> bool {
    let other =
        |n: &Name| *n != part.array && table.aliases.contains(&part.array) && table.aliases.contains(n);
    let mut found = false;
    for e in expressions {
        e.visit(&mut |e| {
            found |= match e {
                Expr::Name(n) => *n == part.array || other(n),
                Expr::Subscript(a) => {
                    other(&a.array) || (a.array == part.array && a.index.last() == part.index.last())
                }
                _ => false,
            }
        });
    }
    found
}

/// The instructions that stand for this one, in their order; `None` if it has nothing complex.
/// `within` are the inames around it.
pub(crate) fn lines(
    i: &Instruction,
    within: &[Name],
    table: &Table,
    types: &TypeTable<'_>,
    fresh: &mut dyn FnMut(&str) -> Name,
) -> Result<Option<Lines>> {
    if !is_concerned(table, i) {
        return Ok(None);
    }
    if i.atom.is_some() {
        let message = format!("`{}` has a complex value, and no atom computes one", i.id);
        return Err(Diagnostic::new("complex-function", message)
            .help("leave `atom=` out, or write the products of the parts")
            .into());
    }
    if i.atomic {
        let message = format!("`{}` has complex numbers, and no device updates a pair at once", i.id);
        return Err(Diagnostic::new("complex-function", message)
            .help("leave `join=atomic` out, or write the sum as updates: `y[0] += x[i]`")
            .into());
    }
    let mut convert = Convert { table, types, id: i.id.clone(), fresh, made: Vec::new() };
    let mut targets = Vec::with_capacity(i.targets.len());
    for t in &i.targets {
        targets.push(elements(&mut convert, t)?);
    }
    let predicate =
        i.predicate.as_ref().map(|p| convert.real(p, Ahead::Nothing, "a condition")).transpose()?;
    let with = |id: &Name, targets: Vec<Access>, value: Expr| Instruction {
        id: id.clone(),
        targets,
        value,
        predicate: predicate.clone(),
        within: within.to_vec(),
        role: Role::Does(id.clone()),
        ..i.clone()
    };
    let [Target::Complex(parts)] = targets.as_slice() else {
        let mut real = Vec::with_capacity(targets.len());
        for (t, written) in targets.into_iter().zip(&i.targets) {
            match t {
                Target::Real(access) => real.push(access),
                Target::Complex(_) => {
                    let message =
                        format!("`{}` is complex, and a result of the operator is real", written.array);
                    let help = "write the parts of the target: `t.re, k = ...`";
                    return Err(Diagnostic::new("complex-value", message).help(help).into());
                }
            }
        }
        let name = i.targets.first().map_or("the target", |t| t.array.as_str());
        let value = convert.real(&i.value, Ahead::All, &format!("`{name}`"))?;
        let mut made = Assembled::default();
        let whole = Instruction { predicate: predicate.clone(), ..with(&i.id, real, value) };
        made.ahead(convert.made, &whole);
        let alone = made.instructions.is_empty();
        // Alone, it keeps the inames that it was written with.
        let within = if alone { i.within.clone() } else { whole.within.clone() };
        made.instructions.push(Instruction { within, role: i.role.clone(), ..whole });
        return Ok(Some(made.lines()));
    };
    if let Some(update) = i.update.as_ref().filter(|u| **u != UpdateOp::Sum) {
        let message = format!("`{}` of complex numbers has no meaning", update.sign());
        return Err(Diagnostic::new("complex-function", message)
            .help("complex numbers have no order and no bits; `+=` adds to both parts")
            .into());
    }
    let value = convert.value(&i.value, Ahead::All)?;
    // A reduction of pairs alone writes both targets itself.
    if let ([made], None) = (convert.made.as_slice(), &i.update)
        && let [re, im] = made.targets.as_slice()
        && value.re == Some(Expr::Name(re.clone()))
        && value.im == Some(Expr::Name(im.clone()))
    {
        let whole = with(&i.id, parts.to_vec(), made.value.clone());
        let whole = Instruction { within: i.within.clone(), role: i.role.clone(), ..whole };
        return Ok(Some(Lines { instructions: vec![whole], scalars: Vec::new() }));
    }
    let mut ids = Vec::with_capacity(2);
    for part in ["re", "im"] {
        ids.push((convert.fresh)(&format!("{}_{part}", i.id)));
    }
    if i.update.is_some() {
        // A part that is missing adds nothing.
        let mut made = Assembled::default();
        let values = [value.re, value.im];
        let whole = with(&i.id, parts.to_vec(), Expr::Int(0));
        made.ahead(convert.made, &whole);
        for ((id, part), value) in ids.iter().zip(parts).zip(values) {
            if let Some(value) = value {
                made.instructions.push(with(id, vec![part.clone()], value));
            }
        }
        if made.instructions.is_empty() {
            made.instructions.push(with(&ids[0], vec![parts[0].clone()], Expr::Float(Float(0.0))));
        }
        return Ok(Some(made.lines()));
    }
    let subscripts = |k: usize| &parts[k].index;
    if reads(table, subscripts(0), &parts[0]) || reads(table, subscripts(0), &parts[1]) {
        let message = format!("the subscripts of `{}` read what the instruction writes", parts[0].array);
        let help = "load them into a scalar before: `<i32> p = ...`";
        return Err(Diagnostic::new("complex-value", message).help(help).into());
    }
    let mut assembled = Assembled::default();
    let mut predicate = predicate.clone();
    if reads(table, &predicate, &parts[0]) || reads(table, &predicate, &parts[1]) {
        // It has to hold for both parts, or for none.
        let mut holds: Option<Expr> = None;
        for conjunct in predicate.iter().flat_map(Expr::conjuncts).cloned() {
            let mut kept = conjunct.clone();
            if reads(table, [&conjunct], &parts[0]) || reads(table, [&conjunct], &parts[1]) {
                let name = (convert.fresh)(&format!("{}_if", i.id));
                assembled.scalars.push((name.clone(), true));
                let all = match holds.clone() {
                    Some(before) => Expr::binary(BinaryOp::And, before, conjunct),
                    None => conjunct,
                };
                let line = with(&name, vec![Access::new(&name, Vec::new())], all);
                assembled.instructions.push(Instruction { predicate: None, ..line });
                kept = Expr::Name(name);
            }
            holds = Some(match holds {
                Some(before) => Expr::binary(BinaryOp::And, before, kept),
                None => kept,
            });
        }
        predicate = holds;
    }
    let [mut re, im] = value.parts();
    let order = if !reads(table, [&im], &parts[0]) {
        [0, 1]
    } else if !reads(table, [&re], &parts[1]) {
        [1, 0]
    } else {
        // Both are computed before either is written.
        re = convert.computed(re);
        [1, 0]
    };
    let (made, values) = (convert.made, [re, im]);
    let whole = Instruction { predicate: predicate.clone(), ..with(&i.id, Vec::new(), Expr::Int(0)) };
    assembled.ahead(made, &whole);
    for k in order {
        let line = with(&ids[k], vec![parts[k].clone()], values[k].clone());
        assembled.instructions.push(Instruction { predicate: predicate.clone(), ..line });
    }
    Ok(Some(assembled.lines()))
}

/// What is computed before an instruction.
#[derive(Default)]
struct Assembled {
    instructions: Vec<Instruction>,
    scalars: Vec<(Name, bool)>,
}

impl Assembled {
    fn ahead(&mut self, made: Vec<Made>, whole: &Instruction) {
        for m in made {
            self.scalars.extend(m.targets.iter().map(|t| (t.clone(), false)));
            self.instructions.push(ahead(m, whole));
        }
    }

    fn lines(self) -> Lines {
        Lines { instructions: self.instructions, scalars: self.scalars }
    }
}

/// The instruction that computes a value before another one, in its loops and only where it is
/// needed. The scalar has a value elsewhere too, zero, so that it is never without one.
pub(crate) fn ahead(made: Made, whole: &Instruction) -> Instruction {
    let targets = made.targets.iter().map(|t| Access::new(t, Vec::new())).collect();
    let reduces = |e: &Expr| !e.reductions().is_empty();
    let (value, predicate) = match &whole.predicate {
        Some(p) if !reduces(p) && !reduces(&made.value) => {
            (Expr::If(p.clone().into(), made.value.into(), Expr::Int(0).into()), None)
        }
        // A reduction runs wherever the predicate holds.
        predicate => (made.value, predicate.clone()),
    };
    Instruction {
        predicate,
        within: whole.within.clone(),
        after: whole.after.clone(),
        ..Instruction::new(made.id.clone(), targets, value, Role::Does(made.id))
    }
}

/// The refusal of a complex number for a real target, or the other way round where a name is passed
/// by reference.
pub(crate) fn passed(given: &Name, formal: &Name, is_complex: bool) -> Diagnostic {
    let (a, b) = if is_complex { ("complex", "real") } else { ("real", "complex") };
    let message = format!("`{given}` is {a}, and `{formal}` of the called kernel is {b}");
    Diagnostic::new("complex-value", message)
        .help("what is passed by reference has the type that is declared there")
}
