//! What the declared facts about data imply for the values that two executions read.
//!
//! A value read from an array is a function of the subscripts. For every two reads of one array:
//! equal subscripts give equal values; in a monotone array, a subscript that is not greater gives a
//! value that is not greater; in an injective array, equal values imply equal subscripts. A rule
//! applies if its premise follows from the system, and adds its conclusion, until nothing new is
//! added. Case distinctions are not made. So the system only receives what is implied.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Aff, Constraint, Expr, Fact, KernelData, Name};
use loopwright_poly::{Result, System};

use crate::Load;

/// The ranges of the values of loads: those declared, and those of the types of at most 16 bits,
/// beyond which a bound would say little; unsigned values are not negative.
pub fn data_ranges(kernel: &KernelData, loads: &[Load]) -> Result<Vec<Constraint>> {
    let mut rows = Vec::new();
    for load in loads {
        let dtype = kernel.array(&load.array).and_then(|a| a.dtype.known());
        if let Some((dtype, range)) = dtype.and_then(|t| Some((t, t.range()?))) {
            let is_narrow = dtype.bytes() <= 2;
            if let Some(least) = i64::try_from(range.0).ok().filter(|_| is_narrow || dtype.is_unsigned()) {
                rows.push(Constraint::le(&Aff::constant(least), &value(load))?);
            }
            if let Some(greatest) = i64::try_from(range.1).ok().filter(|_| is_narrow) {
                rows.push(Constraint::le(&value(load), &Aff::constant(greatest))?);
            }
        }
        for fact in &kernel.facts {
            let Fact::Range { array, lower, upper } = fact else { continue };
            if *array != load.array {
                continue;
            }
            if let Some(lower) = lower.as_ref().and_then(Expr::to_aff) {
                rows.push(Constraint::le(&lower, &value(load))?);
            }
            if let Some(upper) = upper.as_ref().and_then(Expr::to_aff) {
                rows.push(Constraint::lt(&value(load), &upper)?);
            }
        }
    }
    Ok(rows)
}

/// What a point has to satisfy besides, if its values of these loads contradict each other or the
/// declared facts. Names that it does not have are 0.
pub fn contradicted(
    point: &BTreeMap<Name, i64>,
    loads: &[Load],
    facts: &[Fact],
) -> Result<Option<Vec<Constraint>>> {
    let holds = |rows: &[Constraint]| {
        rows.iter().all(|c| c.holds(&|n| Some(point.get(n).copied().unwrap_or(0))) == Some(true))
    };
    for (k, one) in loads.iter().enumerate() {
        for other in loads[k + 1..].iter().filter(|other| other.array == one.array) {
            let broken =
                rules(one, other, facts)?.into_iter().find(|(needed, given)| holds(needed) && !holds(given));
            if let Some((_, given)) = broken {
                return Ok(Some(given));
            }
        }
    }
    Ok(None)
}

/// Whether the declared facts about data rule out every point of a system over the values of these
/// loads.
pub fn facts_exclude(system: &System, loads: &[Load], facts: &[Fact]) -> Result<bool> {
    add_facts(&mut system.clone(), loads, facts)
}

/// Adds to a system what the facts imply for the values of these loads, and returns whether it is
/// then empty.
pub(crate) fn add_facts(system: &mut System, loads: &[Load], facts: &[Fact]) -> Result<bool> {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for k in 0..loads.len() {
        let others = (k + 1..loads.len()).filter(|l| loads[*l].array == loads[k].array);
        pairs.extend(others.map(|l| (k, l)));
    }
    loop {
        let mut grown = false;
        for &(k, l) in &pairs {
            for (needed, given) in rules(&loads[k], &loads[l], facts)? {
                if system.implies_all(&needed)? && !system.implies_all(&given)? {
                    given.iter().try_for_each(|c| system.add(c))?;
                    grown = true;
                }
            }
        }
        if system.is_empty()? {
            return Ok(true);
        }
        if !grown {
            return Ok(false);
        }
    }
}

/// The premise and the conclusion of a rule.
type Rule = (Vec<Constraint>, Vec<Constraint>);

/// What holds between two loads of one array.
fn rules(one: &Load, other: &Load, facts: &[Fact]) -> Result<Vec<Rule>> {
    let mut rules = vec![congruent(one, other)?];
    for fact in facts {
        match fact {
            Fact::Monotone(array) if *array == one.array => {
                rules.extend([monotone(one, other)?, monotone(other, one)?]);
            }
            Fact::Injective(array) if *array == one.array => rules.push(injective(one, other)?),
            _ => {}
        }
    }
    Ok(rules)
}

fn value(load: &Load) -> Aff {
    Aff::var(&load.name)
}

fn same_arguments(one: &Load, other: &Load) -> Result<Vec<Constraint>> {
    one.arguments.iter().zip(&other.arguments).map(|(a, b)| Constraint::equal(a, b)).collect()
}

fn congruent(one: &Load, other: &Load) -> Result<Rule> {
    Ok((same_arguments(one, other)?, vec![Constraint::equal(&value(one), &value(other))?]))
}

fn injective(one: &Load, other: &Load) -> Result<Rule> {
    Ok((vec![Constraint::equal(&value(one), &value(other))?], same_arguments(one, other)?))
}

fn monotone(low: &Load, high: &Load) -> Result<Rule> {
    let before = low.arguments.iter().zip(&high.arguments).map(|(a, b)| Constraint::le(a, b));
    Ok((before.collect::<Result<_>>()?, vec![Constraint::le(&value(low), &value(high))?]))
}
