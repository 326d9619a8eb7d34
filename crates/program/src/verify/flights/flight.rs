//! Flights, and how they are told apart.
//!
//! [`join`] brings together the flights that reach a place on several ways. A flight is left out if
//! another one of the same access and relations [covers](Flight::covers) it: it is in a state at
//! least as bad wherever the first is. With [`Detail::ways`] unset, two flights in one state become
//! one, which keeps only what is known of both.

use loopwright_kernel_ir::{Constraint, Kind};
use loopwright_poly::{Result, Table};

use super::super::reading::TouchId;

/// The most that is told apart before states are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Detail {
    /// The iterations of a loop around both an access and the place reached.
    pub around: u32,
    /// The iterations of a loop that has been left or entered since the access.
    pub since: u32,
    /// What conditions and the ends of loops say.
    pub ways: bool,
    /// The flights that are followed at one place.
    pub flights: usize,
}

/// In turn, until an answer is found: from what can refute a program to what can only prove it.
pub(super) const DETAILS: [Detail; 6] = [
    Detail { around: 12, since: 12, ways: true, flights: 2000 },
    Detail { around: 4, since: 4, ways: true, flights: 2000 },
    Detail { around: 2, since: 2, ways: true, flights: 2000 },
    Detail { around: 4, since: 1, ways: false, flights: 10_000 },
    Detail { around: 2, since: 1, ways: false, flights: 10_000 },
    Detail { around: 1, since: 1, ways: false, flights: 10_000 },
];

/// How far an access is from being ordered before what follows; the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// Under way; this number of commits have followed its issue.
    UnderWay(u32),
    /// Done; other threads may not see it yet.
    Done,
}

/// The relation of a loop to an access and to the place reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Relation {
    /// Around both: this number of iterations have passed since the access.
    Around(usize, u32),
    /// Around the access: left this number of iterations after it.
    Left(usize, u32),
    /// Around the place: this number of iterations have passed since it was entered.
    Entered(usize, u32),
}

impl Relation {
    /// The number of iterations, if it is told apart from greater ones.
    pub fn exactly(self, detail: Detail) -> Option<u32> {
        let (by, most) = match self {
            Self::Around(_, by) => (by, detail.around),
            Self::Left(_, by) | Self::Entered(_, by) => (by, detail.since),
        };
        (by < most).then_some(by)
    }

    /// An iteration of this loop later.
    pub fn next_of(self, number: usize, detail: Detail) -> Self {
        match self {
            Self::Around(l, by) if l == number => Self::Around(l, (by + 1).min(detail.around)),
            Self::Entered(l, by) if l == number => Self::Entered(l, (by + 1).min(detail.since)),
            other => other,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub touch: TouchId,
    pub state: State,
    pub relations: Vec<Relation>,
    /// What holds on this way, of parameters and of the access's own execution.
    pub also: Vec<Constraint>,
    /// Whether nothing of that was left out.
    pub exact: bool,
}

impl Flight {
    /// Whether what another flight of the same access and relations meets, this one meets too, and
    /// as surely.
    fn covers(&self, other: &Self) -> bool {
        self.state <= other.state
            && (self.exact || !other.exact)
            && self.also.iter().all(|c| other.also.contains(c))
    }

    /// Makes one flight of two in the same state: what holds of both.
    fn widen(&mut self, other: &Self) {
        self.also.retain(|c| other.also.contains(c));
        self.exact = false;
    }
}

/// Adds flights; whether any says what is not known.
pub(super) fn join(known: &mut Vec<Flight>, more: Vec<Flight>, detail: Detail) -> bool {
    let key = |f: &Flight| (f.touch, f.relations.clone());
    let mut numbers: Table<(TouchId, Vec<Relation>), Vec<usize>> = Table::default();
    for (number, flight) in known.iter().enumerate() {
        numbers.entry(key(flight)).or_default().push(number);
    }
    let mut changed = false;
    for flight in more {
        let alike = numbers.entry(key(&flight)).or_default();
        if alike.iter().any(|n| known[*n].covers(&flight)) {
            continue;
        }
        changed = true;
        let covered = alike.iter().find(|n| flight.covers(&known[**n]));
        let to_widen = || alike.iter().find(|n| !detail.ways && known[**n].state == flight.state);
        if let Some(old) = covered {
            known[*old] = flight;
        } else if let Some(old) = to_widen() {
            known[*old].widen(&flight);
        } else {
            alike.push(known.len());
            known.push(flight);
        }
    }
    changed
}

/// Adds a constraint; of two that differ by a constant, only the stronger stays. Whether the result
/// does not plainly contradict itself.
pub(super) fn narrow(all: &mut Vec<Constraint>, c: Constraint) -> Result<bool> {
    if c.kind == Kind::Ge {
        for known in all.iter().filter(|known| known.kind == Kind::Ge) {
            if c.aff.add(&known.aff)?.as_constant().is_some_and(|sum| sum < 0) {
                return Ok(false);
            }
        }
        for known in all.iter_mut().filter(|known| known.kind == Kind::Ge) {
            if let Some(more) = c.aff.sub(&known.aff)?.as_constant() {
                if more < 0 {
                    *known = c;
                }
                return Ok(true);
            }
        }
    }
    if !all.contains(&c) {
        all.push(c);
    }
    Ok(true)
}
