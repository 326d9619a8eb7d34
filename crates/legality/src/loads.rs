//! What the declared facts about data imply for the values that two executions read.
//!
//! A value read from an array is a function of the subscripts. For every two reads of one array:
//! equal subscripts give equal values; in a monotone array, a subscript that is not greater gives a
//! value that is not greater; in an injective array, equal values imply equal subscripts. A rule
//! applies if its premise follows from the system, and adds its conclusion, until nothing new is
//! added. Case distinctions are not made. So the system only receives what is implied.

use loopwright_kernel_ir::{Aff, Constraint, Fact};
use loopwright_poly::{Result, System};

use crate::Load;

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
            let (one, other) = (&loads[k], &loads[l]);
            let about = |fact: &&Fact| match fact {
                Fact::Monotone(array) | Fact::Injective(array) => *array == one.array,
                Fact::Range { .. } => false,
            };
            let mut rules = vec![congruent(one, other)?];
            for fact in facts.iter().filter(about) {
                match fact {
                    Fact::Monotone(_) => rules.extend([monotone(one, other)?, monotone(other, one)?]),
                    Fact::Injective(_) => rules.push(injective(one, other)?),
                    Fact::Range { .. } => {}
                }
            }
            for (needed, given) in rules {
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
