//! What each thread has to have at the end of a round of a scan.
//!
//! The points of a round have numbers from 1 on, in the order of the group's threads and of the
//! lanes in them; number 0 is what is carried from the rounds before, or what the blocks before
//! join. Each point has to have all points up to itself, and what is carried to the next round, or
//! published for later blocks, all of them.

use super::{
    State,
    known::{Cell, Sub, Values},
    parts::Content,
    run::{Points, Run},
};

/// The points of a round of a scan.
#[derive(Clone)]
pub(super) struct Scan {
    /// The number of lanes of a thread that are scanned, and the subscript that counts them.
    pub lanes: usize,
    pub subscript: Option<usize>,
    /// What holds the total of the rounds before, if there are any.
    pub carry: Option<State>,
    /// Whether it goes on from block to block.
    pub tiles: bool,
}

impl Scan {
    /// The number of the lane that an element is for.
    pub(super) fn lane_of(&self, cell: &Cell) -> Option<usize> {
        match (cell, self.subscript) {
            (Cell::Element(_, at), Some(k)) => match at.get(k) {
                Some(Sub::At(lane)) => usize::try_from(*lane).ok(),
                _ => None,
            },
            (Cell::Var(_), Some(_)) => None,
            (_, None) => Some(0),
        }
    }
}

impl Run<'_> {
    /// What is wrong with the values that a thread has at the end of a round of a scan.
    pub(super) fn differs_in_scan(&self, thread: usize) -> Option<String> {
        let Points::Scan(scan) = &self.points else { return None };
        let first = usize::from(scan.carry.is_none() && !scan.tiles);
        let right = |values: &Values, number: u8, last: usize| -> Option<String> {
            let parts = match self.has_parts(values.at(thread), number) {
                Ok(parts) => parts,
                Err(why) => return Some(why),
            };
            let exact = parts.content == Content::run(first, last + 1);
            (!exact).then(|| format!("does not have the points up to number {last} in their order"))
        };
        let group: usize = self.axes.iter().map(|(_, count)| (*count).max(1) as usize).product();
        for (number, holder) in &self.claimed.state {
            let mut lanes = 0;
            for (cell, values) in self.cells.iter().filter(|(cell, _)| cell.holder() == *holder) {
                let Some(lane) = scan.lane_of(cell) else { return Some("has a lane of no number".into()) };
                lanes += 1;
                let last = 1 + self.rank(thread) * scan.lanes + lane;
                if let Some(why) = right(values, *number, last) {
                    return Some(why);
                }
            }
            // The others have what they had.
            if lanes != scan.lanes
                && (lanes != 0 || group * scan.lanes > 1 || scan.carry.is_some() || scan.tiles)
            {
                return Some(format!("scans {lanes} lanes of {}", scan.lanes));
            }
        }
        for (number, holder) in scan.carry.iter().flatten() {
            let mut carried = self.cells.iter().filter(|(cell, _)| cell.holder() == *holder).peekable();
            if carried.peek().is_none() {
                return Some("does not carry the total to the next round".into());
            }
            for (_, values) in carried {
                if let Some(why) = right(values, *number, group * scan.lanes) {
                    return Some(format!("{why}, as the total for the next round"));
                }
            }
        }
        None
    }
}
