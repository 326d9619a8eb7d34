//! Ways through the text without a barrier, and what they say.
//!
//! What a way says is in the names of the place that it leads through: parameters, the coordinates
//! of the block and of a thread, and the counters of loops around. An access whose phase a way
//! belongs to is in the same iteration of these loops, so that they are its own names too. Threads
//! decide alike where a barrier depends on it (`uniform`), each by its own coordinates. Values read
//! from memory are left out.

use loopwright_kernel_ir::Constraint;
use loopwright_poly::{Result, Table};

use super::super::reading::{Says, TouchId};

/// The most ways that are told apart, through a text and from an access to an end of it.
const MOST: usize = 8;

/// A way without a barrier.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Way {
    also: Vec<Constraint>,
    /// Whether the constraints are all that the way says: nothing was left out.
    exact: bool,
    /// Whether it passes a barrier of single warps, which do not count.
    lanes: bool,
}

impl Way {
    /// A way without conditions: it always leads through.
    pub fn free() -> Way {
        Way { also: Vec::new(), exact: true, lanes: false }
    }

    /// A way that there may be or not.
    pub fn unknown() -> Way {
        Way { exact: false, ..Way::free() }
    }

    /// A way past a barrier of single warps.
    pub fn of_lanes() -> Way {
        Way { lanes: true, ..Way::free() }
    }

    /// The way on which this holds.
    pub fn on(says: &Says) -> Way {
        let way = if says.exact { Way::free() } else { Way::unknown() };
        says.rows.iter().fold(way, |way, c| way.with(c))
    }

    /// The ways on which this does not hold.
    pub fn without(says: &Says) -> Result<Vec<Way>> {
        if !says.exact {
            return Ok(vec![Way::unknown()]);
        }
        let mut ways = Vec::new();
        for c in &says.rows {
            let negations = c.negations()?;
            let possible = negations.iter().filter(|not| not.holds(&|_| None) != Some(false));
            ways.extend(possible.map(|not| Way::free().with(not)));
        }
        Ok(ways)
    }

    /// The constraints that hold on the way.
    pub fn also(&self) -> &[Constraint] {
        &self.also
    }

    /// Whether it is there wherever what it says holds.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// Whether it passes a barrier that orders lanes of one warp.
    pub fn has_lanes(&self) -> bool {
        self.lanes
    }

    /// The part of the way on which this holds too.
    pub fn with(&self, c: &Constraint) -> Way {
        let mut way = self.clone();
        if c.aff.mentions_any(&|n| n.contains(['[', ' '])) {
            way.exact = false;
        } else if !way.also.contains(c) {
            way.also.push(c.clone());
        }
        way
    }

    /// First one way, then another.
    fn and(&self, other: &Way) -> Way {
        let way = other.also.iter().fold(self.clone(), |way, c| way.with(c));
        Way { exact: way.exact && other.exact, lanes: way.lanes || other.lanes, ..way }
    }
}

/// An access, and a way between it and an end of a body.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct End {
    pub touch: TouchId,
    pub way: Way,
}

impl End {
    /// An access at the end itself.
    pub fn of(touch: TouchId) -> End {
        End { touch, way: Way::free() }
    }

    /// The access with more of a way.
    pub fn on(&self, way: &Way) -> End {
        End { touch: self.touch, way: self.way.and(way) }
    }
}

/// What may run before the first barrier of a body and after its last, and the ways through it on
/// which there is none.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    pub head: Vec<End>,
    pub tail: Vec<End>,
    pub past: Vec<Way>,
}

impl Ends {
    /// The ends of an empty body: a single way leads through.
    pub fn open() -> Ends {
        Ends { past: vec![Way::free()], ..Ends::default() }
    }

    /// Appends a body: what follows this one in the text.
    pub fn then(&mut self, next: Ends) {
        self.head.extend(through(&self.past, next.head));
        let mut tail = through(&next.past, std::mem::take(&mut self.tail));
        tail.extend(next.tail);
        self.tail = tail;
        let mut past = Vec::new();
        for way in &self.past {
            next.past.iter().for_each(|more| add(&mut past, way.and(more)));
        }
        self.past = past;
    }

    /// Adds what stands on another side of a choice, which this way leads to.
    pub fn or(&mut self, side: Ends, way: &Way) {
        self.head.extend(side.head);
        self.tail.extend(side.tail);
        side.past.iter().for_each(|own| add(&mut self.past, own.and(way)));
    }
}

/// Adds a way to those through one text; a free one makes all others superfluous.
fn add(ways: &mut Vec<Way>, way: Way) {
    let is_known = |known: &Way| *known == way || *known == Way::free();
    if ways.iter().any(is_known) {
        return;
    }
    if way == Way::free() {
        ways.clear();
    }
    ways.push(way);
    if ways.len() > MOST {
        *ways = vec![Way { lanes: ways.iter().any(|w| w.lanes), ..Way::unknown() }];
    }
}

/// Accesses after or before a text with these ways through it.
fn through(ways: &[Way], ends: Vec<End>) -> Vec<End> {
    if *ways == [Way::free()] {
        return ends;
    }
    let mut of_touch: Table<TouchId, Vec<Way>> = Table::default();
    let mut order: Vec<TouchId> = Vec::new();
    for end in ends {
        let own = of_touch.entry(end.touch).or_insert_with(|| {
            order.push(end.touch);
            Vec::new()
        });
        ways.iter().for_each(|way| add(own, end.way.and(way)));
    }
    let all = order.into_iter().map(|touch| (touch, of_touch.remove(&touch).unwrap_or_default()));
    all.flat_map(|(touch, ways)| ways.into_iter().map(move |way| End { touch, way })).collect()
}
