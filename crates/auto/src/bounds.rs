//! What is known about the bounds of inames and the lengths of axes.

use loopwright_kernel_ir::{Aff, Expr, KernelData, Kind, Name};
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

/// Whether data decide about the bounds of an iname.
pub fn are_data(kernel: &KernelData, iname: &str) -> bool {
    let own = kernel.domains.iter().filter(|d| d.inames.iter().any(|n| **n == *iname));
    own.flat_map(|d| &d.constraints)
        .filter(|c| c.aff.mentions(iname))
        .any(|c| c.aff.mentions_any(&|n| kernel.temporary(n).is_some()))
}

/// The other inames that occur in the bounds of an iname.
pub fn depend_on(kernel: &KernelData, iname: &str, other: &str) -> bool {
    let all = kernel.domains.iter().flat_map(|d| &d.constraints);
    all.filter(|c| c.aff.mentions(iname)).any(|c| c.aff.mentions(other))
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
