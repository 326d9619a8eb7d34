//! Whether an instruction's update is what an atom computes, and which of its factors is which.
//!
//! The instruction has to be one sum of products of two elements, converted to the accumulator's
//! type where they have another, or rounded as the atom's meaning says. The left factor is the one
//! whose subscripts have the iname of `m`, the right one that whose subscripts have the iname of
//! `n`; both may have that of `k`, and either may depend on inames around the box. Subscripts are
//! linear in `m` and `n`: once these are split into digits, a subscript has multiples of what they
//! are made of ([`Subscript`]). A private array has only digits of a thread's own as subscripts; of
//! one that copies fill, the subscripts of what they copy count. That what a lane holds is what the
//! instruction says is shown by the final check.

use std::sync::Arc;

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Array, AtomUse, BinaryOp, DType, Diagnostic, Expr, Float, Instruction, Lookup,
    Name, Reduce, ReductionOp, Role, Term,
};

use crate::{Atom, Operand, atoms_of};

/// The factors of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factors {
    /// The left one, over `m` and `k`.
    pub a: Access,
    /// The right one, over `n` and `k`.
    pub b: Access,
}

/// A subscript as `factors[0]*m + factors[1]*n + rest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscript {
    /// The multiples of `m` and of `n`.
    pub factors: [i64; 2],
    /// What remains, over base inames: of `k`, and of inames around the box.
    pub rest: Aff,
}

impl Subscript {
    /// The form of a function of inames; `None` if it is not linear in the box's `m` and `n`.
    pub fn of(lookup: &Lookup<'_>, aff: &Aff, used: &AtomUse) -> loopwright_poly::Result<Option<Self>> {
        let mut rest = lookup.expand(aff)?;
        let [m, n, _] = &used.axes;
        let axes = [lookup.expand(&Aff::var(m))?, lookup.expand(&Aff::var(n))?];
        let own = |name: &Name| axes.iter().any(|axis| axis.mentions(name));
        let mut factors = [0; 2];
        let mut left = vec![0, 1];
        while !left.is_empty() {
            // An axis with a term that the other one, if it is left, does not have.
            let found = left.iter().enumerate().find_map(|(place, axis)| {
                let others = || left.iter().filter(|other| *other != axis);
                let is_own = |(term, _): &&(Term, i64)| !others().any(|o| coefficient(&axes[*o], term) != 0);
                Some((place, *axis, axes[*axis].terms().iter().find(is_own)?.clone()))
            });
            let Some((place, axis, (term, weight))) = found else { return Ok(None) };
            left.remove(place);
            let multiple = coefficient(&rest, &term);
            if multiple % weight != 0 {
                return Ok(None);
            }
            factors[axis] = multiple / weight;
            rest = rest.sub(&axes[axis].scale(factors[axis])?)?;
        }
        Ok((!rest.mentions_any(&own)).then_some(Subscript { factors, rest }))
    }
}

/// The coefficient of a term.
fn coefficient(aff: &Aff, term: &Term) -> i64 {
    aff.terms().iter().find(|(own, _)| own == term).map_or(0, |(_, c)| *c)
}

/// The factors of an instruction's update, if it is the atom's product.
///
/// Errors: `atom-shape`, `atom-operator`, `atom-product`, `atom-type`, `atom-operand`, each with
/// the equation that does not hold.
pub fn matching(
    lookup: &Lookup<'_>,
    instruction: &Instruction,
    atom: &Atom,
    used: &AtomUse,
) -> Result<Factors, Diagnostic> {
    let [m, n, k] = &used.axes;
    // What it computes, by the names of the kernel's inames.
    let refuse = |code: &'static str, why: String| {
        let equation = format!("d[{m}, {n}] += a[{m}, {k}] * b[{n}, {k}]");
        let message = format!(
            "`{}` does not compute `{}`: with m={m}, n={n} and k={k} it is `{equation}`, and {why}",
            atom.name(),
            instruction.id
        );
        Diagnostic::new(code, message)
    };
    let reductions = instruction.reductions();
    let [reduce] = reductions.as_slice() else {
        let why = format!("`{}` has {} sums, not one", instruction.id, reductions.len());
        return Err(refuse("atom-shape", why));
    };
    if instruction.predicate.is_some() || instruction.scan.is_some() {
        let (what, help) = match &instruction.predicate {
            Some(predicate) => {
                (format!("under the predicate `{predicate}`"), "move the predicate to what uses the result")
            }
            None => ("of a scan".into(), "only sums have atoms"),
        };
        let why = format!("the updates of `{}` are {what}", instruction.id);
        return Err(refuse("atom-shape", why).help(help));
    }
    if !lookup.kernel().operator(&reduce.op).is_some_and(|operator| adds(&operator)) {
        let why = format!("`{}`, the operator of the reduction, does not add", reduce.op);
        return Err(refuse("atom-operator", why));
    }
    let rounds = atom.operand(Operand::D).dtype == DType::F16;
    let (x, y, conversion, types) = factors(reduce, rounds).ok_or_else(|| {
        let term: Vec<String> = reduce.args.iter().map(ToString::to_string).collect();
        let why = format!("`{}` is not the product of two elements of arrays", term.join(", "));
        let (of_sum, factor) = (atom.operand(Operand::D).dtype, atom.operand(Operand::A).dtype);
        let of = |element: String| match (atom.conversion(), factor == of_sum) {
            (Some(f), _) => format!("{f}({element})"),
            (None, true) => element,
            (None, false) => format!("cast({of_sum}, {element})"),
        };
        let (a, b) = (of(format!("a[{m}, {k}]")), of(format!("b[{k}, {n}]")));
        refuse("atom-product", why).help(format!("write `{a} * {b}`, and scale what uses the result"))
    })?;
    if conversion.as_ref() != atom.conversion() {
        let of = |f: Option<&Name>| f.map_or_else(|| "as they are".into(), |f| format!("rounded by `{f}`"));
        let (takes, has) = (of(atom.conversion()), of(conversion.as_ref()));
        let why = format!("it takes the factors {takes}, where `{}` has them {has}", instruction.id);
        let help = match atom.conversion() {
            Some(f) => format!("declare the rounding: `sum({k}, {f}(a[{m}, {k}]) * {f}(b[{k}, {n}]))`"),
            None => "leave the rounding out, or take an atom that has it".into(),
        };
        return Err(refuse("atom-product", why).help(help));
    }
    // In another type the product may be another number.
    let of_sum = atom.operand(Operand::D).dtype;
    let is_other = |dtype: &DType| {
        let of_factor = [Operand::A, Operand::B].map(|operand| atom.operand(operand).dtype);
        *dtype != of_sum && !of_factor.contains(dtype) && !(rounds && *dtype == DType::F32)
    };
    if let Some(other) = types.into_iter().find(is_other) {
        let why = format!("it multiplies in {of_sum}, where the factors are converted to {other}");
        let help = format!("write `cast({of_sum}, ...)`, or take an atom that adds in {other}");
        return Err(refuse("atom-product", why).help(help));
    }
    let has = |access: &Access, axis: usize| -> Result<bool, Diagnostic> {
        let access = &copied(lookup, access);
        let mut found = false;
        for e in &access.index {
            let subscript = match e.to_aff() {
                Some(aff) => Subscript::of(lookup, &aff, used)?,
                None => None,
            };
            let Some(subscript) = subscript else {
                let why = format!("`{e}` in `{access}` is not a linear function of `{m}` and `{n}`");
                return Err(refuse("atom-operand", why));
            };
            found |= subscript.factors[axis] != 0;
        }
        Ok(found)
    };
    let (a, b) = match (has(&x, 0)?, has(&y, 0)?) {
        (true, _) => (x, y),
        (false, true) => (y, x),
        (false, false) => return Err(refuse("atom-operand", format!("no factor depends on `{m}`"))),
    };
    for (access, other, role) in [(&a, 1, "left"), (&b, 0, "right")] {
        if has(access, other)? {
            let why = format!("the {role} factor `{access}` depends on `{}`", used.axes[other]);
            return Err(refuse("atom-operand", why));
        }
    }
    if !has(&b, 1)? {
        return Err(refuse("atom-operand", format!("the right factor `{b}` does not depend on `{n}`")));
    }
    for (access, operand) in [(&a, Operand::A), (&b, Operand::B)] {
        let wanted = atom.operand(operand).dtype;
        let found: Option<DType> = lookup.array(&access.array).and_then(|array| array.dtype.known());
        if found.is_some_and(|found| found != wanted) {
            let found = found.map_or_else(String::new, |t| t.to_string());
            let why = format!("its `{}` is {wanted}, where `{access}` is {found}", operand.name());
            return Err(refuse("atom-type", why).help(others(lookup, found.as_str())));
        }
    }
    Ok(Factors { a, b })
}

/// What a copy has put into an element of a private array, with the names of this access for those
/// of the copy; the access itself for other arrays, and for those that no copy fills.
fn copied(lookup: &Lookup<'_>, access: &Access) -> Access {
    let is_private = |array: &Array| array.space == AddressSpace::Private;
    let source = || {
        lookup.temporary(&access.array).filter(|array| is_private(array))?;
        let writer = *lookup.writers(&access.array).first()?;
        let copy = lookup.kernel().instructions.get(writer)?;
        let ([target], Role::Copies { .. }) = (copy.targets.as_slice(), &copy.role) else { return None };
        let Expr::Subscript(source) = &copy.value else { return None };
        let new = |n: &Name| {
            let own = target.index.iter().position(|e| matches!(e, Expr::Name(own) if own == n))?;
            access.index.get(own).cloned()
        };
        let index = source.index.iter().map(|e| e.substitute(&new)).collect();
        Some(Access { array: source.array.clone(), index })
    };
    source().unwrap_or_else(|| access.clone())
}

/// Whether updates by an operator add their input to the state, as those of `sum` do: it has one
/// state of any type, which begins as 0, and which the input is added to.
fn adds(operator: &ReductionOp) -> bool {
    let ([input], [state]) = (operator.inputs.as_slice(), operator.state.as_slice()) else { return false };
    let of = |side: &str| Expr::Name(Name::new(format!("{side}.{}", state.name)));
    let zero = [Expr::Int(0), Expr::Float(Float(0.0))];
    let combine = |x: Expr, y: Expr| Expr::binary(BinaryOp::Add, x, y);
    matches!(operator.neutral.as_slice(), [neutral] if zero.contains(neutral))
        && operator.lift == [Expr::Name(input.clone())]
        && (operator.combine == [combine(of("a"), of("b"))]
            || operator.combine == [combine(of("b"), of("a"))])
}

/// The atoms whose factors have a type.
fn others(lookup: &Lookup<'_>, dtype: &str) -> String {
    let found: Vec<&str> = atoms_of(lookup.kernel())
        .filter(|a| a.operand(Operand::A).dtype.to_string() == dtype)
        .map(|a| a.name().as_str())
        .collect();
    match found.is_empty() {
        true => format!("no atom takes {dtype}"),
        false => format!("for {dtype} there are {}", found.join(", ")),
    }
}

/// The factors of the term of a reduction without conversions of types, the function that both are
/// rounded by, if there is one, and the types that they are converted to. `rounds`: products may be
/// converted to the type of the sum.
fn factors(reduce: &Arc<Reduce>, rounds: bool) -> Option<(Access, Access, Option<Name>, Vec<DType>)> {
    fn element(e: &Expr, types: &mut Vec<DType>) -> Option<(Access, Option<Name>)> {
        match e {
            Expr::Subscript(access) => Some((access.clone(), None)),
            Expr::Cast(to, inner) => {
                types.extend(to.known());
                element(inner, types)
            }
            Expr::Call { function, args, .. } => match args.as_slice() {
                [Expr::Subscript(access)] => Some((access.clone(), Some(function.clone()))),
                _ => None,
            },
            _ => None,
        }
    }
    let [term] = reduce.args.as_slice() else { return None };
    // Where sums are f16, so may the products be.
    let term = match term {
        Expr::Cast(_, product) if rounds => &**product,
        term => term,
    };
    let Expr::Binary(BinaryOp::Mul, x, y) = term else { return None };
    let mut types = Vec::new();
    let ((x, of_x), (y, of_y)) = (element(x, &mut types)?, element(y, &mut types)?);
    (of_x == of_y).then_some((x, y, of_x, types))
}
