//! The lines in which two texts differ.

use std::fmt;

/// Beyond so many pairs of lines the middle of two texts counts as replaced as a whole.
const MOST_PAIRS: usize = 4_000_000;

/// A line of a [`TextDiff`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffLine {
    /// Both texts have it.
    Both(String),
    /// Only the first text has it.
    First(String),
    /// Only the second text has it.
    Second(String),
}

/// The lines of two texts in one list, with as many in common as can be (a longest common subsequence).
///
/// Printed are the lines that differ, `-` before those of the first text and `+` before those of the second.
///
/// ```
/// use loopwright_transforms::TextDiff;
///
/// let diff = TextDiff::of("for i\n    a\n    b\n", "for i\n    b\n    c\n");
/// assert_eq!(diff.to_string(), "-     a\n+     c\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextDiff {
    /// The lines, in the order of both texts.
    pub lines: Vec<DiffLine>,
}

impl TextDiff {
    /// The lines of two texts.
    pub fn of(first: &str, second: &str) -> TextDiff {
        let (a, b): (Vec<&str>, Vec<&str>) = (first.lines().collect(), second.lines().collect());
        let shorter = a.len().min(b.len());
        let head = (0..shorter).take_while(|k| a[*k] == b[*k]).count();
        let tail = (0..shorter - head).take_while(|k| a[a.len() - 1 - k] == b[b.len() - 1 - k]).count();
        let (from_a, from_b) = (&a[head..a.len() - tail], &b[head..b.len() - tail]);
        let mut lines: Vec<DiffLine> = a[..head].iter().map(|l| DiffLine::Both((*l).into())).collect();
        middle(from_a, from_b, &mut lines);
        lines.extend(a[a.len() - tail..].iter().map(|l| DiffLine::Both((*l).into())));
        TextDiff { lines }
    }

    /// Whether the texts are equal, line by line.
    pub fn is_empty(&self) -> bool {
        self.lines.iter().all(|l| matches!(l, DiffLine::Both(_)))
    }
}

/// The lines of what lies between the common beginning and end.
fn middle(a: &[&str], b: &[&str], lines: &mut Vec<DiffLine>) {
    let width = b.len() + 1;
    // The length of the longest common subsequence of the rests from here.
    let mut longest =
        vec![0u32; if a.len().saturating_mul(width) > MOST_PAIRS { 0 } else { (a.len() + 1) * width }];
    if !longest.is_empty() {
        for i in (0..a.len()).rev() {
            for j in (0..b.len()).rev() {
                longest[i * width + j] = if a[i] == b[j] {
                    longest[(i + 1) * width + j + 1] + 1
                } else {
                    longest[(i + 1) * width + j].max(longest[i * width + j + 1])
                };
            }
        }
    }
    let at = |i: usize, j: usize| longest.get(i * width + j).copied().unwrap_or(0);
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && !longest.is_empty() && a[i] == b[j] {
            lines.push(DiffLine::Both(a[i].into()));
            (i, j) = (i + 1, j + 1);
        } else if i < a.len() && (j == b.len() || at(i + 1, j) >= at(i, j + 1)) {
            lines.push(DiffLine::First(a[i].into()));
            i += 1;
        } else {
            lines.push(DiffLine::Second(b[j].into()));
            j += 1;
        }
    }
}

impl fmt::Display for TextDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| match line {
            DiffLine::Both(_) => Ok(()),
            DiffLine::First(text) => writeln!(f, "- {text}"),
            DiffLine::Second(text) => writeln!(f, "+ {text}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_texts_can_be_read_off() {
        let texts = ["", "a\n", "a\nb\nc\n", "b\nc\na\n", "c\nb\na\n", "x\na\nb\ny\n"];
        for first in texts {
            for second in texts {
                let diff = TextDiff::of(first, second);
                let side = |own: &dyn Fn(&DiffLine) -> Option<String>| {
                    diff.lines.iter().filter_map(own).map(|l| l + "\n").collect::<String>()
                };
                let of_first = side(&|l| match l {
                    DiffLine::Both(t) | DiffLine::First(t) => Some(t.clone()),
                    DiffLine::Second(_) => None,
                });
                let of_second = side(&|l| match l {
                    DiffLine::Both(t) | DiffLine::Second(t) => Some(t.clone()),
                    DiffLine::First(_) => None,
                });
                assert_eq!((of_first.as_str(), of_second.as_str()), (first, second));
                assert_eq!(diff.is_empty(), first == second);
            }
        }
    }

    #[test]
    fn what_both_have_is_kept() {
        let kept = |diff: &TextDiff| diff.lines.iter().filter(|l| matches!(l, DiffLine::Both(_))).count();
        assert_eq!(kept(&TextDiff::of("a\nb\nc\nd\n", "a\nc\nx\nd\n")), 3);
        assert_eq!(kept(&TextDiff::of("b\nc\na\n", "a\nb\nc\n")), 2);
    }
}
