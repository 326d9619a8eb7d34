//! Orders of executions as disjunctions of comparisons of loop values.
//!
//! Two executions `x` and `y` of parts `p` and `q` are ordered along the loops around both: by the
//! first loop whose values differ, or else by the positions of the children that contain them.
//! Executions of one part at the same time are either different threads, which are unordered, or
//! lanes of one thread: these read before they write, and write one after the other.
//!
//! A [`Way`] is one case: a conjunction of comparisons between values of `x` and values of `y`.
//! Different threads at different times count as ordered: whether a barrier or a kernel boundary
//! can be placed between them is for lowering to decide.

use std::cmp::Ordering;

use loopwright_kernel_ir::{Aff, Name, Term};
use loopwright_poly::Table;

use crate::{Event, Model, ModelPart, Touch};

/// `x.iname` compared with `y.iname`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sign {
    /// An iname that is a base iname of both parts.
    pub iname: Name,
    /// The relation of the value in `x` to the value in `y`.
    pub relation: Ordering,
}

/// A conjunction of comparisons.
pub type Way = Vec<Sign>;

fn sign(iname: &Name, relation: Ordering) -> Sign {
    Sign { iname: iname.clone(), relation }
}

/// One case for each name: all names before it are equal, and it has the given relation.
fn lexicographic(prefix: &[Sign], names: &[Name], relation: Ordering, found: &mut Vec<Way>) {
    let mut equal = prefix.to_vec();
    for n in names {
        let mut way = equal.clone();
        way.push(sign(n, relation));
        found.push(way);
        equal.push(sign(n, Ordering::Equal));
    }
}

/// The loops around both parts, and the order of the children that contain them; `Equal` if the two
/// are the same part.
pub fn common(p: &ModelPart, q: &ModelPart) -> (Vec<Name>, Ordering) {
    let mut loops = Vec::new();
    for (a, b) in p.path.iter().zip(&q.path) {
        match a.position.cmp(&b.position) {
            Ordering::Equal => {}
            unequal => return (loops, unequal),
        }
        if let (Some(a), Some(_)) = (&a.iname, &b.iname) {
            loops.push(a.clone());
        }
    }
    (loops, Ordering::Equal)
}

fn phase(touch: &Touch) -> u8 {
    u8::from(*touch != Touch::Read)
}

/// The cases in which `x` comes before `y`.
pub fn before(p: &ModelPart, e: &Event, q: &ModelPart, f: &Event) -> Vec<Way> {
    let (loops, position) = common(p, q);
    let mut ways = Vec::new();
    lexicographic(&[], &loops, Ordering::Less, &mut ways);
    let mut equal: Way = loops.iter().map(|n| sign(n, Ordering::Equal)).collect();
    match position {
        Ordering::Less => ways.push(equal),
        Ordering::Greater => {}
        Ordering::Equal => {
            equal.extend(p.hardware.iter().map(|n| sign(n, Ordering::Equal)));
            match phase(&e.touch).cmp(&phase(&f.touch)) {
                Ordering::Less => ways.push(equal),
                Ordering::Equal => lexicographic(&equal, &p.lanes, Ordering::Less, &mut ways),
                Ordering::Greater => {}
            }
        }
    }
    ways
}

/// How two executions violate the required order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// They are in the opposite order.
    Turned,
    /// They are in different threads at the same time.
    Unordered,
}

/// The cases in which `x` does not come before `y`, for two different executions or two events of
/// one execution.
pub fn not_before(p: &ModelPart, e: &Event, q: &ModelPart, f: &Event) -> Vec<(Way, Against)> {
    let turned = before(q, f, p, e).into_iter().map(|way| {
        let way = way.into_iter().map(|s| Sign { relation: s.relation.reverse(), ..s }).collect();
        (way, Against::Turned)
    });
    let mut found: Vec<(Way, Against)> = turned.collect();
    let (loops, position) = common(p, q);
    if position == Ordering::Equal {
        let equal: Way = loops.iter().map(|n| sign(n, Ordering::Equal)).collect();
        for n in &p.hardware {
            for relation in [Ordering::Less, Ordering::Greater] {
                let mut way = equal.clone();
                way.push(sign(n, relation));
                found.push((way, Against::Unordered));
            }
        }
    }
    found
}

/// What is known about pairs of iname values: for each iname, the set of relations still possible.
#[derive(Clone, Debug, Default)]
pub struct Possible(Vec<(Name, u8)>);

fn bit(relation: Ordering) -> u8 {
    match relation {
        Ordering::Less => 1,
        Ordering::Equal => 2,
        Ordering::Greater => 4,
    }
}

impl Possible {
    /// Restricts an iname to this relation. Returns whether any relation is still possible.
    pub fn narrow(&mut self, iname: &Name, relation: Ordering) -> bool {
        let bits = bit(relation);
        for (n, possible) in &mut self.0 {
            if n == iname {
                *possible &= bits;
                return *possible != 0;
            }
        }
        self.0.push((iname.clone(), bits));
        true
    }
}

impl Model<'_> {
    /// Whether equal values of a function imply equal values of all its names; see `radix`.
    pub fn is_radix(&self, aff: &Aff) -> bool {
        radix(aff, &self.ranges, &|n| self.is_parameter(n))
    }
}

/// Whether equal values of a function imply equal values of all its names other than parameters: a
/// mixed-radix number such as `128*i_outer + i_inner` with `0 <= i_inner < 128`. If all factors are
/// positive, its values are also ordered lexicographically by the names' values, greatest factor
/// first.
pub(crate) fn radix(
    aff: &Aff,
    ranges: &Table<Name, (i64, i64)>,
    is_parameter: &dyn Fn(&Name) -> bool,
) -> bool {
    let mut terms: Vec<(&Name, i64)> = Vec::new();
    for (term, c) in aff.terms() {
        match term {
            Term::Var(n) if is_parameter(n) => {}
            Term::Var(n) => terms.push((n, c.saturating_abs())),
            Term::Div(_) => return false,
        }
    }
    terms.sort_by_key(|(_, c)| *c);
    // The greatest difference that the names so far can produce.
    let mut reach = 0i64;
    for (k, (name, c)) in terms.iter().enumerate() {
        if *c <= reach {
            return false;
        }
        if k + 1 < terms.len() {
            let Some((low, high)) = ranges.get(*name) else { return false };
            let Some(width) = high.checked_sub(*low).and_then(|w| w.checked_mul(*c)) else {
                return false;
            };
            let Some(sum) = reach.checked_add(width.max(0)) else { return false };
            reach = sum;
        }
    }
    true
}
