//! How many segments and points a kernel can have. Lengths are chosen for any kernel; a given one
//! may have a fixed number of segments, or of points, or no more points than segments: the lengths
//! are made to fit.

use loopwright_kernel_ir::{Aff, Constraint, Name};
use loopwright_poly::System;

use super::{lengths::Lengths, nest::Nest, premises};
use crate::Program;

/// The greatest number of segments that are added.
const MOST_ADDED: i64 = 1 << 14;

/// The greatest distance to a number of segments that the assumptions allow.
const MOST_SKIPPED: i64 = 64;

/// The sizes of a kernel, each by itself: not all that lie between these have to occur together.
pub(super) struct Sizes {
    /// The number of segments, from the least to the greatest.
    count: (i64, i64),
    /// The least number of points before the first segment.
    before: i64,
    /// The greatest number of points before the end of the last segment.
    last: i64,
}

impl Sizes {
    pub fn of(nest: &Nest<'_>, program: &Program) -> Option<Sizes> {
        let [count, before, last] = ["count", "before", "last"].map(size);
        let (mut known, _) = premises(nest, program, &count, [&before, &last])?;
        known.push(Constraint::nonneg(count.clone()));
        known.push(Constraint::nonneg(before.clone()));
        known.push(Constraint::le(&before, &last).ok()?);
        let system = System::new(&known).ok()?;
        let range = |aff: &Aff| {
            let (low, high) = system.constant_range(aff).ok()?;
            Some((low.unwrap_or(0), high.unwrap_or(i64::MAX)))
        };
        Some(Sizes { count: range(&count)?, before: range(&before)?.0, last: range(&last)?.1 })
    }

    /// Whether a segment can have a point.
    pub fn have_points(&self) -> bool {
        self.count.1 > 0 && self.last > self.before
    }

    /// Lengths that are within these sizes, with the points of the given ones where they can be;
    /// nothing where the given ones are within them.
    pub fn fit(&self, given: &Lengths) -> Option<Lengths> {
        let (least, most) = self.count;
        let mut lengths = given.lengths.clone();
        let count = i64::try_from(lengths.len()).ok()?;
        keep_segments(&mut lengths, most)?;
        let missing = least.saturating_sub(count);
        if missing > MOST_ADDED {
            return None;
        }
        lengths.extend((0..missing).map(|k| k % 3));
        // As many points before them as leave room for theirs.
        let points = lengths.iter().sum::<i64>();
        let before = given.before.min(self.last.saturating_sub(points)).max(self.before);
        let mut room = self.last.saturating_sub(before).max(0);
        for length in &mut lengths {
            *length = (*length).min(room);
            room -= *length;
        }
        let fits = before == given.before && lengths == given.lengths;
        (!fits).then_some(Lengths { before, lengths })
    }
}

/// A variable for a size, which no name of a kernel is: none has a quote.
fn size(name: &str) -> Aff {
    Aff::var(Name::new(name).followed_by("\""))
}

/// Leaves at most `most` segments, and gives the last one the points of those after it; `None` if
/// no segment is left for them.
fn keep_segments(lengths: &mut Vec<i64>, most: i64) -> Option<()> {
    if i64::try_from(lengths.len()).ok()? > most {
        let behind: i64 = lengths.drain(usize::try_from(most).ok()?..).sum();
        *lengths.last_mut()? += behind;
    }
    Some(())
}

/// The same points in as many segments as the kernel can have with them: empty segments are added
/// at the end, or the last one gets the points of those after it. `None` if no such number exists,
/// or the given number is one.
pub(super) fn with_other_segments(nest: &Nest<'_>, program: &Program, given: &Lengths) -> Option<Lengths> {
    let segments = size("count");
    let last = given.before + given.lengths.iter().sum::<i64>();
    let places = [&Aff::constant(given.before), &Aff::constant(last)];
    let (mut known, _) = premises(nest, program, &segments, places)?;
    known.push(Constraint::lt(&Aff::constant(0), &segments).ok()?);
    let system = System::new(&known).ok()?;
    let (least, most) = system.constant_range(&segments).ok()?;
    let count = i64::try_from(given.lengths.len()).ok()?;
    let wanted = count.max(least.unwrap_or(1)).min(most.unwrap_or(i64::MAX));
    // The next number that an assumption such as `m mod 2 = 0` allows.
    let is_one = |number: &i64| -> Option<bool> {
        let equal = Constraint::equal(&segments, &Aff::constant(*number)).ok()?;
        Some(!system.with(&[equal]).ok()?.is_empty().ok()?)
    };
    let wanted = (wanted..=wanted.saturating_add(MOST_SKIPPED)).find(|n| is_one(n) == Some(true))?;
    if wanted == count || wanted.min(count) < 1 || wanted - count > MOST_ADDED {
        return None;
    }
    let mut lengths = given.lengths.clone();
    keep_segments(&mut lengths, wanted)?;
    lengths.resize(usize::try_from(wanted).ok()?, 0);
    Some(Lengths { before: given.before, lengths })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(sizes: &Sizes, before: i64, lengths: &[i64]) -> Option<(i64, Vec<i64>)> {
        let fitted = sizes.fit(&Lengths { before, lengths: lengths.to_vec() })?;
        Some((fitted.before, fitted.lengths))
    }

    #[test]
    fn without_segments_or_room_there_are_no_points() {
        let have_points = |most, last| Sizes { count: (0, most), before: 3, last }.have_points();
        assert!(have_points(1, 4));
        assert!(!have_points(0, 4) && !have_points(1, 3));
    }

    /// Points before the first segment give way to those of segments.
    #[test]
    fn few_points_are_those_of_segments() {
        let sizes = Sizes { count: (0, i64::MAX), before: 0, last: 2 };
        assert_eq!(fitted(&sizes, 2, &[5, 0, 0, 9]), Some((0, vec![2, 0, 0, 0])));
        let sizes = Sizes { count: (0, i64::MAX), before: 1, last: 2 };
        assert_eq!(fitted(&sizes, 2, &[5, 0, 0, 9]), Some((1, vec![1, 0, 0, 0])));
    }

    #[test]
    fn what_fits_stays() {
        let sizes = Sizes { count: (0, i64::MAX), before: 0, last: i64::MAX };
        assert_eq!(fitted(&sizes, 2, &[5, 0, 9]), None);
        let sizes = Sizes { count: (3, 3), before: 2, last: 16 };
        assert_eq!(fitted(&sizes, 2, &[5, 0, 9]), None);
    }

    #[test]
    fn the_last_of_a_few_segments_has_the_points_of_the_rest() {
        let sizes = |least, most| Sizes { count: (least, most), before: 0, last: i64::MAX };
        assert_eq!(fitted(&sizes(1, 1), 2, &[5, 0, 9]), Some((2, vec![14])));
        assert_eq!(fitted(&sizes(0, 2), 2, &[5, 0, 9]), Some((2, vec![5, 9])));
        assert_eq!(fitted(&sizes(0, 0), 2, &[5]), None);
        assert_eq!(fitted(&sizes(7, 9), 0, &[5, 4]), Some((0, vec![5, 4, 0, 1, 2, 0, 1])));
        assert_eq!(fitted(&sizes(1 << 40, i64::MAX), 0, &[5, 4]), None);
    }

    #[test]
    fn points_lie_within_the_range_of_the_offsets() {
        let sizes = Sizes { count: (0, i64::MAX), before: 3, last: 10 };
        assert_eq!(fitted(&sizes, 0, &[4, 2, 5, 6]), Some((3, vec![4, 2, 1, 0])));
        assert_eq!(fitted(&sizes, 9, &[0, 2, 5]), Some((3, vec![0, 2, 5])));
        assert_eq!(fitted(&sizes, 12, &[2]), Some((8, vec![2])));
    }
}
