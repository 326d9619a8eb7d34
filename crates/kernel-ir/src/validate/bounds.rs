//! Integer proofs about declared kernels: satisfiable assumptions, non-empty domains, subscripts in
//! bounds.
//!
//! A subscript is checked if it is affine. If it is not, it is tried on small numbers
//! ([`super::irregular`]), and checked for the sizes of each launch ([`super::at_sizes`]). A
//! violation is reported with the values that show it, unless it depends on what is not known here:
//! values read from data (facts about them are used) and conditions on them. Those are checked by
//! the launch or the emulator, but refused where a condition around a reduction tests the data that
//! its subscripts depend on, and so seems to guard the read: the reduction runs all the same. A
//! condition that reads no data has to prove what it guards ([`super::scope`]). Only declared
//! kernels are checked: transforms preserve the bounds.

use std::collections::BTreeMap;

use loopwright_poly::{System, Table, TableSet};

use crate::{
    Access, Aff, Arg, BinaryOp, Constraint, DType, Diagnostic, Expr, Fact, KernelData, Lookup, Name,
    loaded::within,
    text::{source_map::Item, text_of_constraints},
    validate::{
        Check,
        at_sizes::{Found, at_sizes},
        domains::is_integer,
        irregular::{at, divisor, in_range, is_followed, outside, unknown_data},
        scalars,
        scope::{Scope, data_of, integer},
    },
};

pub(crate) fn check(check: &mut Check<'_>) {
    let data = check.data;
    if System::new(&data.assumptions).and_then(|s| s.is_empty()) == Ok(true) {
        let d = Diagnostic::new("empty-context", "no values of the arguments satisfy all assumptions")
            .help("anything could be proved under such assumptions: correct them");
        return check.add(Item::Assumption(0), "", d);
    }
    if check.transformed() {
        return;
    }
    let context = context(check.lookup);
    for (k, domain) in data.domains.iter().enumerate() {
        let all = data.assumptions.iter().chain(&domain.constraints).cloned().collect::<Vec<_>>();
        if System::new(&all).and_then(|s| s.is_empty()) == Ok(true) {
            let d = Diagnostic::new("empty-domain", "this domain is empty for all values of the arguments")
                .help("correct its bounds, or the assumptions");
            check.add(Item::Domain(k), &domain.to_string(), d);
        }
    }
    accesses(check, context, None, None);
}

/// The subscripts that data may take out of their arrays, whatever is declared of them.
pub(super) fn by_data(check: &mut Check<'_>) -> Vec<ByData> {
    let (context, mut found) = (context(check.lookup), Vec::new());
    accesses(check, context, None, Some(&mut found));
    found
}

/// Whether a subscript is not affine, and reads nothing but constant tables.
pub(super) fn has_irregular_subscripts(lookup: &Lookup<'_>) -> bool {
    let mut found = false;
    let mut ask = |access: &Access| {
        found |=
            access.index.iter().any(|e| integer(lookup, e).is_none() && unknown_data(lookup, e).is_empty());
        let lengths = lookup.array(&access.array).into_iter().flat_map(|array| &array.axes);
        found |= lengths.into_iter().any(|axis| axis.length.to_aff().is_none());
    };
    for i in &lookup.kernel().instructions {
        i.targets.iter().for_each(&mut ask);
        let inside = i.targets.iter().flat_map(|t| &t.index);
        for e in inside.chain(&i.predicate).chain([&i.value]) {
            e.visit(&mut |e| {
                if let Expr::Subscript(access) = e {
                    ask(access);
                }
            });
        }
    }
    found
}

/// The subscripts that are not affine and read nothing but constant tables, for these values of the
/// integer scalars.
pub(crate) fn check_at(check: &mut Check<'_>, scalars: &BTreeMap<Name, i64>) {
    let context = context(check.lookup);
    accesses(check, context, Some(scalars), None);
}

fn accesses(
    check: &mut Check<'_>,
    context: Vec<Constraint>,
    scalars: Option<&BTreeMap<Name, i64>>,
    by_data: Option<&mut Vec<ByData>>,
) {
    let data = check.data;
    let mut asked = Asked {
        context,
        parameters: parameters(data),
        systems: Table::default(),
        proved: TableSet::default(),
        scalars,
        by_data,
    };
    for (k, i) in data.instructions.iter().enumerate() {
        let mut scope = Scope::new(&i.within);
        if let Some(p) = &i.predicate {
            visit(check, &mut asked, k, p, &scope);
            scope.assume(check.lookup, p);
        }
        for target in &i.targets {
            target.index.iter().for_each(|e| visit(check, &mut asked, k, e, &scope));
            access(check, &mut asked, k, target, &scope);
        }
        scope.outside = Some(Box::new(scope.clone()));
        visit(check, &mut asked, k, &i.value, &scope);
    }
}

/// What holds for the arguments and for values loaded from arrays: assumptions, non-negative
/// lengths, the ranges of scalars that are not sizes by their types, facts.
pub(crate) fn context(lookup: &Lookup<'_>) -> Vec<Constraint> {
    let data = lookup.kernel();
    let mut context = data.assumptions.clone();
    for arg in &data.args {
        if let Arg::Array(a) = arg {
            let lengths =
                a.axes.iter().filter_map(|x| x.length.to_aff()).filter(|l| l.as_constant().is_none());
            context.extend(lengths.map(Constraint::nonneg));
        }
    }
    for arg in &data.args {
        let Arg::Scalar(scalar) = arg else { continue };
        let dtype = scalar.dtype.known().filter(|t| !matches!(t, DType::I32 | DType::I64));
        context.extend(dtype.map_or_else(Vec::new, |t| within(&Aff::var(&scalar.name), t)));
    }
    for i in &data.instructions {
        let ([target], Expr::Subscript(read)) = (i.targets.as_slice(), &i.value) else { continue };
        let only = lookup.writers(&target.array).len() == 1;
        let is_plain = target.index.is_empty() && i.predicate.is_none() && i.update.is_none();
        if !only || !is_plain {
            continue;
        }
        let of = |name: &Name| lookup.array(name).and_then(|a| a.dtype.known());
        let keeps = data.keeps(&target.array, &read.array);
        let types = of(&target.array).into_iter().chain(of(&read.array).filter(|_| keeps));
        // Wider ones have no ends that a subscript would come near to.
        let types = types.filter(|t| t.bytes() < 4);
        context.extend(types.flat_map(|t| within(&Aff::var(&target.array), t)));
        if !keeps {
            continue;
        }
        for fact in data.lasting_facts() {
            if let Fact::Range { array, lower, upper } = fact
                && *array == read.array
            {
                let value = Aff::var(&target.array);
                let low = lower.as_ref().and_then(Expr::to_aff).and_then(|l| Constraint::le(&l, &value).ok());
                let high =
                    upper.as_ref().and_then(Expr::to_aff).and_then(|u| Constraint::lt(&value, &u).ok());
                context.extend(low.into_iter().chain(high));
            }
        }
    }
    context.sort();
    context.dedup();
    context
}

/// Integer arguments, to which a witness gives values first.
fn parameters(data: &KernelData) -> Vec<Name> {
    let integers = data.args.iter().filter_map(|a| match a {
        Arg::Scalar(s) if is_integer(&s.dtype) => Some(s.name.clone()),
        _ => None,
    });
    integers.collect()
}

struct Asked<'a> {
    context: Vec<Constraint>,
    parameters: Vec<Name>,
    /// The system of each scope, by its inames.
    systems: Table<Vec<Name>, System>,
    /// Queries without guards that have been answered.
    proved: TableSet<(Vec<Name>, Constraint)>,
    /// The values of the integer scalars in a launch, for which only the subscripts are checked
    /// that are not affine.
    scalars: Option<&'a BTreeMap<Name, i64>>,
    /// What data decide, if that is asked.
    by_data: Option<&'a mut Vec<ByData>>,
}

/// A subscript of which data decide whether it is in bounds.
pub(super) struct ByData {
    /// The number of the instruction.
    pub instruction: usize,
    pub access: Access,
    pub axis: usize,
    /// Whether a condition that reads data is around it.
    pub guarded: bool,
    /// By what it divides, if that may be 0 and data have no part in it.
    pub divisor: Option<Expr>,
}

fn visit(check: &mut Check<'_>, asked: &mut Asked<'_>, k: usize, e: &Expr, scope: &Scope) {
    let lookup = check.lookup;
    match e {
        Expr::If(c, a, b) => {
            visit(check, asked, k, c, scope);
            let mut inside = scope.clone();
            inside.assume(lookup, c);
            visit(check, asked, k, a, &inside);
            let mut outside = scope.clone();
            outside.assume_not(lookup, c);
            visit(check, asked, k, b, &outside);
        }
        Expr::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
            visit(check, asked, k, a, scope);
            let mut then = scope.clone();
            if *op == BinaryOp::And {
                then.assume(lookup, a)
            } else {
                then.assume_not(lookup, a)
            }
            visit(check, asked, k, b, &then);
        }
        Expr::Reduce(r) => {
            // Conditions around a reduction do not prevent it from running.
            let mut inside = scope.of_reductions();
            inside.inames.extend(r.inames.iter().cloned());
            inside.outside = Some(Box::new(inside.clone()));
            r.args.iter().for_each(|a| visit(check, asked, k, a, &inside));
        }
        _ => {
            e.each_child(&mut |child| visit(check, asked, k, child, scope));
            if let Expr::Subscript(a) = e {
                access(check, asked, k, a, scope);
            }
        }
    }
}

fn access(check: &mut Check<'_>, asked: &mut Asked<'_>, k: usize, access: &Access, scope: &Scope) {
    let lookup = check.lookup;
    let Some(array) = lookup.array(&access.array) else { return };
    for (axis, subscript) in access.index.iter().enumerate() {
        let unguarded_by_data = scope.seems_guarded(lookup, subscript);
        let (Some(index), Some(length)) = (integer(lookup, subscript), array.axes[axis].length.to_aff())
        else {
            let length = &array.axes[axis].length;
            if let Some(scalars) = asked.scalars {
                if let Some(wrong) = wrong_at(lookup, asked, scalars, scope, access, axis) {
                    check.add(Item::Instruction(k), &access.to_string(), wrong);
                    break;
                }
                continue;
            }
            if unguarded_by_data && !in_range(lookup, &asked.context, scope, subscript, length) {
                check.add(Item::Instruction(k), &access.to_string(), unguarded(access));
                break;
            }
            let functions = scalars::functions(lookup, k, &scope.inames, subscript.names());
            let subscript = &scalars::inlined(subscript, &functions);
            if let Some(found) =
                outside(lookup, &asked.context, &asked.parameters, scope, [subscript, length])
            {
                let d = out_of_bounds(access, axis, array.axes.len())
                    .witness(found.text())
                    .help("correct the subscript, the domain or the shape, or add an assumption");
                check.add(Item::Instruction(k), &access.to_string(), d);
                break;
            }
            if let Some(by_data) = asked.by_data.as_deref_mut()
                && (!data_of(lookup, subscript).is_empty() || !is_followed(lookup, subscript))
                && !in_range(lookup, &asked.context, scope, subscript, length)
            {
                let (access, guarded) = (access.clone(), scope.opaque);
                by_data.push(ByData { instruction: k, access, axis, guarded, divisor: None });
            } else if let Some(by_data) = asked.by_data.as_deref_mut()
                && let Some(divisor) = divisor(lookup, &asked.context, scope, subscript)
            {
                let access = access.clone();
                by_data.push(ByData { instruction: k, access, axis, guarded: false, divisor: Some(divisor) });
            }
            continue;
        };
        if asked.scalars.is_some() {
            continue;
        }
        let below_length = match Constraint::lt(&index, &length) {
            Ok(below_length) => below_length,
            Err(e) => {
                check.add(Item::Instruction(k), &access.to_string(), undecided(access, &e));
                break;
            }
        };
        let conditions = scope.guards.iter().chain(scope.wrapping.iter().map(|(c, _)| c));
        let conditions = conditions.chain(scope.alternatives.iter().flatten().flatten());
        let conditions: TableSet<Name> = conditions.flat_map(Constraint::names).collect();
        // Those of the loops around, too.
        let scalars = match lookup.kernel().temporaries.iter().any(|t| t.axes.is_empty()) {
            true => {
                let bounds = lookup.instances(&scope.inames).into_iter().flat_map(|c| c.names());
                let names = conditions.iter().cloned().chain(index.names()).chain(bounds);
                scalars::functions(lookup, k, &scope.inames, names)
            }
            false => Vec::new(),
        };
        // No launch checks that narrow ones hold their functions.
        let shown = scalars.iter().any(|f| f.is_narrow() || conditions.contains(&f.name));
        let scalars = Scalars { shown, scalars };
        for wanted in [Constraint::nonneg(index.clone()), below_length] {
            let violation = match violation(lookup, asked, scope, &scalars, &wanted) {
                Ok(None) => continue,
                Ok(Some(violation)) => violation,
                Err(e) => {
                    check.add(Item::Instruction(k), &access.to_string(), undecided(access, &e));
                    break;
                }
            };
            let point = match violation {
                Violation::Wraps(condition) => {
                    check.add(Item::Instruction(k), &access.to_string(), wraps(access, &condition));
                    break;
                }
                Violation::ByData if unguarded_by_data => {
                    check.add(Item::Instruction(k), &access.to_string(), unguarded(access));
                    break;
                }
                Violation::Unclear(condition) => {
                    check.add(Item::Instruction(k), &access.to_string(), unclear(access, &condition));
                    break;
                }
                // Data decide, which the launch or the emulator checks.
                Violation::ByData => {
                    if let Some(by_data) = asked.by_data.as_deref_mut() {
                        let (access, guarded) = (access.clone(), scope.opaque);
                        by_data.push(ByData { instruction: k, access, axis, guarded, divisor: None });
                    }
                    continue;
                }
                Violation::At(point) => point,
            };
            let value = index.eval_in(&point).map_or(String::new(), |v| format!("the subscript {v}"));
            let size =
                length.eval_in(&point).map_or(String::new(), |v| format!(", of an axis of length {v}"));
            let help = match scope.hoisted {
                false => "correct the domain or the shape, or add an assumption",
                true => {
                    "a reduction runs regardless of conditions around it: put the condition \
                     inside, as in `sum(i, if(c, x[i], 0))`, or make it the predicate of the \
                     instruction"
                }
            };
            let d = out_of_bounds(access, axis, array.axes.len())
                .witness(format!("{}: {value}{size}", at(&point)))
                .help(format!("{} has to hold: {help}", text_of_constraints(&[wanted])));
            check.add(Item::Instruction(k), &access.to_string(), d);
            break;
        }
    }
}

/// What is wrong with a subscript that is not affine, for the sizes of a launch. Data decide about
/// one that reads data, or is under a condition that does.
fn wrong_at(
    lookup: &Lookup<'_>,
    asked: &Asked<'_>,
    scalars: &BTreeMap<Name, i64>,
    scope: &Scope,
    access: &Access,
    axis: usize,
) -> Option<Diagnostic> {
    let array = lookup.array(&access.array)?;
    let (index, length) = (&access.index[axis], &array.axes[axis].length);
    if scope.opaque || !unknown_data(lookup, index).is_empty() || !unknown_data(lookup, length).is_empty() {
        return None;
    }
    // What facts about a table prove is not asked again; what they leave open may be right.
    let reads_table = !data_of(lookup, index).is_empty();
    if reads_table && in_range(lookup, &asked.context, scope, index, length) {
        return None;
    }
    match at_sizes(lookup, &asked.context, scalars, scope, [index, length]) {
        Ok(Found::Inside) => None,
        Ok(Found::Outside(found)) => Some(
            out_of_bounds(access, axis, array.axes.len())
                .witness(found.text())
                .help("correct the subscript, the domain or the shape; the sizes of the launch show it"),
        ),
        Ok(Found::Undefined(point)) => Some(
            out_of_bounds(access, axis, array.axes.len())
                .witness(format!("{}: the subscript divides by 0", at(&point)))
                .help("correct the divisor, or pass another number; the sizes of the launch show it"),
        ),
        Ok(Found::TooMany) if reads_table => None,
        Ok(Found::TooMany) => Some(
            Diagnostic::new(
                "unchecked-subscript",
                format!("whether `{access}` is in bounds is not known for these sizes: it is not affine, and has too many points to look at each"),
            )
            .help(
                "what ranges show is known at once: keep the subscript inside by `min`, `max` or `%`, as \
                 in `x[min(e, n - 1)]`",
            ),
        ),
        Err(e) => Some(undecided(access, &e)),
    }
}

fn out_of_bounds(access: &Access, axis: usize, axes: usize) -> Diagnostic {
    let message = match axes {
        1 => format!("`{access}` exceeds the bounds of `{}`", access.array),
        _ => format!("`{access}` exceeds the bounds of axis {axis} of `{}`", access.array),
    };
    Diagnostic::new("out-of-bounds", message)
}

/// The refusal of a read that a condition around its reduction only seems to guard.
fn unguarded(access: &Access) -> Diagnostic {
    Diagnostic::new(
        "unguarded-read",
        format!(
            "`{access}` is read regardless of the condition around its reduction, and whether it \
             is in bounds depends on data"
        ),
    )
    .help(
        "put the condition inside, as in `sum(i, if(c, x[idx[i]], 0))`, or make it the predicate \
         of the instruction; if the data are always in bounds, declare it: `fact 0 <= idx < n`",
    )
}

/// The refusal for a condition that would keep an access in bounds if it could not wrap.
fn wraps(access: &Access, condition: &str) -> Diagnostic {
    Diagnostic::new(
        "wrapping-condition",
        format!("`{condition}` does not prove that `{access}` is in bounds: its values can wrap"),
    )
    .help(
        "a condition is computed in its type, where it can wrap: subtract instead of adding (`i < \
         n - j` for `i + j < n`), or compare in a wider type (`cast(i64, i) + j < n`)",
    )
}

/// The refusal for a condition that proves nothing, but may be meant to guard an access.
fn unclear(access: &Access, condition: &str) -> Diagnostic {
    Diagnostic::new("unclear-condition", format!("`{condition}` does not prove that `{access}` is in bounds"))
        .help(
            "proofs use comparisons of sums and multiples of inames and integer scalars, joined by \
             `and`, `or` and `not`: write the condition that way, or add one",
        )
}

/// The refusal where a query leaves 64 bits.
fn undecided(access: &Access, error: &loopwright_poly::Error) -> Diagnostic {
    Diagnostic::new("undecided-bounds", format!("whether `{access}` is in bounds cannot be decided: {error}"))
        .help("use smaller numbers in its subscripts, in the shape of the array and in the domains")
}

/// Why a subscript is not known to be in bounds.
enum Violation {
    /// It is out of bounds at this point.
    At(BTreeMap<Name, i64>),
    /// It would be if this condition could not wrap.
    Wraps(String),
    /// It is out of bounds unless this condition, which proves nothing, prevents it.
    Unclear(String),
    /// Values read from data decide.
    ByData,
}

/// The scalars that are functions, and whether it has to be shown that they do not wrap.
struct Scalars {
    scalars: Vec<scalars::Function>,
    shown: bool,
}

/// How a required constraint is violated, or `None` if it is proved. Scalars come with the
/// functions that they are.
fn violation(
    lookup: &Lookup<'_>,
    asked: &mut Asked<'_>,
    scope: &Scope,
    Scalars { scalars: all, shown }: &Scalars,
    wanted: &Constraint,
) -> loopwright_poly::Result<Option<Violation>> {
    let query = (scope.inames.clone(), wanted.clone());
    if all.is_empty() && asked.proved.contains(&query) {
        return Ok(None);
    }
    let base = match asked.systems.get(&scope.inames) {
        Some(base) => base,
        None => {
            let instances = lookup.instances(&scope.inames);
            let system = System::new(&asked.context.iter().cloned().chain(instances).collect::<Vec<_>>())?;
            asked.systems.entry(scope.inames.clone()).or_insert(system)
        }
    };
    let functions: Vec<Constraint> = all.iter().map(|f| f.row.clone()).collect();
    let mut guarded = base.with(&scope.guards)?;
    // What may wrap is not known where a condition names it, or where nothing else checks it.
    let mut scalars = all.as_slice();
    if *shown && !scalars::are_exact(lookup, scalars, base)? {
        let names = |c: &Constraint| c.names().iter().any(|n| scalars.iter().any(|f| f.name == *n));
        if let Some(condition) = scope.guards.iter().find(|c| names(c))
            && !guarded.implies(wanted)?
            && guarded.with(&functions)?.implies(wanted)?
        {
            return Ok(Some(Violation::Wraps(text_of_constraints(std::slice::from_ref(condition)))));
        }
        scalars = &[];
    } else {
        guarded = guarded.with(&functions)?;
    }
    if guarded.implies(wanted)? {
        if scope.guards.is_empty() && scalars.is_empty() {
            asked.proved.insert(query);
        }
        return Ok(None);
    }
    let mut open = None;
    for case in scope.cases() {
        let system = guarded.with(&case)?;
        if !system.implies(wanted)? {
            open = Some(system);
            break;
        }
    }
    let Some(mut system) = open else { return Ok(None) };
    for (c, text) in &scope.wrapping {
        system = system.with(std::slice::from_ref(c))?;
        if system.implies(wanted)? {
            return Ok(Some(Violation::Wraps(text.clone())));
        }
    }
    let negated = Constraint::nonneg(wanted.aff.neg()?.add_constant(-1)?);
    let outside = system.with(&[negated])?;
    // A value read from data need not be one that violates the constraint.
    let reads_data = |system: &System, functions: &[scalars::Function]| {
        let is_function = |n: &Name| functions.iter().any(|f| f.name == *n);
        system.names().iter().any(|n| lookup.temporary(n).is_some() && !is_function(n))
    };
    let ranges = |functions: &[scalars::Function]| {
        functions.iter().flat_map(scalars::Function::range).collect::<Vec<Constraint>>()
    };
    if scope.opaque || reads_data(&outside, scalars) {
        // Within their types the scalars are their functions, which may take the subscript outside.
        let exact = outside.with(&functions)?.with(&ranges(all))?;
        let is_known = !scope.opaque && scope.unclear.is_empty() && scope.wrapping.is_empty();
        if is_known
            && !reads_data(&exact, all)
            && let Some(point) = exact.sample_in_order(&BTreeMap::new(), &asked.parameters)?
        {
            return Ok(Some(Violation::At(point)));
        }
        return Ok((!outside.is_empty()?).then_some(Violation::ByData));
    }
    if let Some(condition) = scope.unclear.first() {
        return Ok((!outside.is_empty()?).then(|| Violation::Unclear(condition.clone())));
    }
    if let (false, Some((_, text))) = (scalars.is_empty(), scope.wrapping.first()) {
        return Ok((!outside.is_empty()?).then(|| Violation::Wraps(text.clone())));
    }
    // Scalars that wrap have other values than their functions.
    match outside.with(&ranges(scalars))?.sample_in_order(&BTreeMap::new(), &asked.parameters)? {
        None if !scalars.is_empty() && !outside.is_empty()? => Ok(Some(Violation::ByData)),
        point => Ok(point.map(Violation::At)),
    }
}
