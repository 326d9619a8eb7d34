//! What is known about the bounds of inames and the lengths of axes.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{Aff, Definition, Expr, KernelData, Kind, Name};
use loopwright_poly::{Constraint, System};

/// The least value of an iname, if that is a number.
pub fn begin(kernel: &KernelData, iname: &str) -> Option<i64> {
    limits(kernel, iname).0
}

/// The number of values of an iname, if that is a number.
pub fn length(kernel: &KernelData, iname: &str) -> Option<i64> {
    let (low, high) = limits(kernel, iname);
    high?.checked_sub(low?)?.checked_add(1)
}

/// The number of values of an iname, if that is a number, or the assumptions make it one.
pub fn fixed_length(kernel: &KernelData, iname: &str) -> Option<i64> {
    if let Some(length) = length(kernel, iname) {
        return Some(length);
    }
    let own = || kernel.domains.iter().flat_map(|d| &d.constraints).filter(|c| c.aff.mentions(iname));
    let is_given = |aff: &Aff| {
        let assumed = |n: &Name| kernel.assumptions.iter().any(|c| c.kind == Kind::Eq && c.aff.mentions(n));
        aff.is_affine() && aff.names().iter().filter(|n| ***n != *iname).all(assumed)
    };
    let assumptions = System::new(&kernel.assumptions).ok()?;
    let sides = |factor: i64| own().filter(move |c| c.aff.coefficient(iname) == factor);
    for (low, high) in sides(1).flat_map(|low| sides(-1).map(move |high| (low, high))) {
        if !is_given(&low.aff) || !is_given(&high.aff) {
            continue;
        }
        let Ok(last) = low.aff.add(&high.aff) else { continue };
        let at_most = |n: i64| {
            let rest = last.neg().ok()?.add_constant(n).ok()?;
            assumptions.implies(&Constraint::nonneg(rest)).ok()
        };
        // The least number that the assumptions allow as a bound.
        let Some(mut above) = (0..40).map(|k| 1i64 << k).find(|n| at_most(*n) == Some(true)) else {
            continue;
        };
        let mut below = -1;
        while above - below > 1 {
            let middle = below + (above - below) / 2;
            if at_most(middle) == Some(true) { above = middle } else { below = middle }
        }
        let exact = last.add_constant(-above).map(Constraint::zero);
        if exact.is_ok_and(|exact| assumptions.implies(&exact) == Ok(true)) {
            return above.checked_add(1);
        }
    }
    None
}

/// The number of values of an iname where integers have these values, if they decide about it.
pub fn length_at(kernel: &KernelData, iname: &str, integers: &BTreeMap<Name, i64>) -> Option<i64> {
    let own = kernel.domains.iter().filter(|d| d.inames.iter().any(|n| **n == *iname));
    let own: Vec<&Constraint> = own.flat_map(|d| &d.constraints).filter(|c| c.aff.mentions(iname)).collect();
    // A window, whose ends move together.
    if let [a, b] = own.as_slice()
        && a.aff.coefficient(iname).abs() == 1
        && a.aff.coefficient(iname) == -b.aff.coefficient(iname)
        && let Some(last) = a.aff.add(&b.aff).ok()?.eval(&|n| integers.get(n).copied())
    {
        return last.checked_add(1).map(|length| length.max(0));
    }
    let (mut low, mut high) = (None::<i64>, None::<i64>);
    for c in own {
        // The rest of the bound, where the iname is 0.
        let value = |n: &Name| if **n == *iname { Some(0) } else { integers.get(n).copied() };
        let rest = c.aff.eval(&value).filter(|_| c.aff.is_affine())?;
        let factor = c.aff.coefficient(iname);
        if c.kind == Kind::Eq || factor == 0 {
            return None;
        }
        let bound = rest.div_euclid(factor.checked_abs()?);
        if factor > 0 {
            let least = bound.checked_neg()?;
            low = Some(low.map_or(least, |l| l.max(least)));
        } else {
            high = Some(high.map_or(bound, |h| h.min(bound)));
        }
    }
    Some(high?.checked_sub(low?)?.checked_add(1)?.max(0))
}

/// Whether an iname has at most so many values in every launch.
pub fn is_at_most(kernel: &KernelData, iname: &str, most: i64) -> bool {
    let own = || kernel.domains.iter().flat_map(|d| &d.constraints).filter(|c| c.aff.mentions(iname));
    let Ok(assumptions) = System::new(&kernel.assumptions) else { return false };
    let sides = |factor: i64| own().filter(move |c| c.aff.coefficient(iname) == factor);
    let mut pairs = sides(1).flat_map(|low| sides(-1).map(move |high| (low, high)));
    pairs.any(|(low, high)| {
        let implied = || {
            let last = low.aff.add(&high.aff).ok().filter(|last| last.is_affine())?;
            let is_parameter = |n: &Name| !kernel.is_iname(n) && kernel.definition(n).is_none();
            last.names().iter().all(is_parameter).then_some(())?;
            let rest = last.neg().ok()?.add_constant(most - 1).ok()?;
            assumptions.implies(&Constraint::nonneg(rest)).ok()
        };
        implied().unwrap_or(false)
    })
}

/// The parameter that is the number of values of an iname, which begins at 0.
pub fn length_parameter(kernel: &KernelData, iname: &str) -> Option<Name> {
    let own = || kernel.domains.iter().filter(|d| d.inames.iter().any(|n| **n == *iname));
    let mut above = own().flat_map(|d| &d.constraints).filter(|c| c.aff.coefficient(iname) < 0);
    let (Some(only), None) = (above.next(), above.next()) else { return None };
    let others: Vec<Name> = only.aff.names().into_iter().filter(|n| **n != *iname).collect();
    let [parameter] = others.as_slice() else { return None };
    let is_length = only.aff.is_affine()
        && only.aff.coefficient(iname) == -1
        && only.aff.coefficient(parameter) == 1
        && only.aff.constant_term() == -1
        && kernel.args.iter().any(|arg| arg.name() == parameter);
    (is_length && begin(kernel, iname) == Some(0)).then(|| parameter.clone())
}

/// The constraints on an iname that mention nothing else, as its least and its greatest value.
fn limits(kernel: &KernelData, iname: &str) -> (Option<i64>, Option<i64>) {
    let (mut low, mut high) = (None::<i64>, None::<i64>);
    let own = kernel.domains.iter().filter(|d| d.inames.iter().any(|n| **n == *iname));
    for c in own.flat_map(|d| &d.constraints) {
        if c.names().len() != 1 || !c.aff.is_affine() {
            continue;
        }
        let constant = c.aff.constant_term();
        match c.aff.coefficient(iname) {
            1 => low = Some(low.map_or(-constant, |l| l.max(-constant))),
            -1 => high = Some(high.map_or(constant, |h| h.min(constant))),
            _ => {}
        }
    }
    (low, high)
}

/// An iname and those that are defined by it, whose bounds are its own.
fn with_defined(kernel: &KernelData, iname: &str) -> BTreeSet<Name> {
    let is_by = |d: &&Definition| kernel.base_of(&d.iname).iter().any(|n| **n == *iname);
    let defined = kernel.definitions.iter().filter(is_by).map(|d| d.iname.clone());
    defined.chain([Name::new(iname)]).collect()
}

/// Whether data decide about the bounds of an iname.
pub fn are_data(kernel: &KernelData, iname: &str) -> bool {
    let names = with_defined(kernel, iname);
    let own = kernel.domains.iter().filter(|d| d.inames.iter().any(|n| names.contains(n)));
    own.flat_map(|d| &d.constraints)
        .filter(|c| c.aff.mentions_any(&|n| names.contains(n)))
        .any(|c| c.aff.mentions_any(&|n| kernel.temporary(n).is_some()))
}

/// The other inames that occur in the bounds of an iname.
pub fn depend_on(kernel: &KernelData, iname: &str, other: &str) -> bool {
    let names = with_defined(kernel, iname);
    let all = kernel.domains.iter().flat_map(|d| &d.constraints);
    all.filter(|c| c.aff.mentions_any(&|n| names.contains(n))).any(|c| c.aff.mentions(other))
}

/// Whether every launch has a multiple of `by` here.
pub fn is_multiple(kernel: &KernelData, length: &Expr, by: i64) -> bool {
    let decide = || {
        let aff: Aff = length.to_aff()?;
        let rest = Constraint::zero(aff.modulo(by).ok()?);
        System::new(&kernel.assumptions).ok()?.implies(&rest).ok()
    };
    decide().unwrap_or(false)
}

/// Whether no constraint relates an iname to another one.
pub fn is_free(kernel: &KernelData, iname: &str) -> bool {
    let all = kernel.domains.iter().flat_map(|d| &d.constraints).filter(|c| c.aff.mentions(iname));
    all.into_iter().all(|c| {
        let others = c.names();
        others
            .iter()
            .filter(|n| ***n != *iname)
            .all(|n| !kernel.is_iname(n) && kernel.definition(n).is_none())
    })
}
