//! The lines in which two texts differ.

use std::fmt;

use similar::ChangeTag;

/// A line of a [`TextDiff`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffLine {
    /// A line that both texts have.
    Both(String),
    /// A line that only the first text has.
    First(String),
    /// A line that only the second text has.
    Second(String),
}

/// The lines of two texts in one list, with as many in common as can be (a longest common
/// subsequence).
///
/// Printed are the lines that differ, `-` before those of the first text and `+` before those of
/// the second.
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
        let (first, second): (Vec<&str>, Vec<&str>) = (first.lines().collect(), second.lines().collect());
        let line = |change: similar::Change<&str>| {
            let text = change.value().to_owned();
            match change.tag() {
                ChangeTag::Equal => DiffLine::Both(text),
                ChangeTag::Delete => DiffLine::First(text),
                ChangeTag::Insert => DiffLine::Second(text),
            }
        };
        TextDiff {
            lines: similar::TextDiff::from_slices(&first, &second).iter_all_changes().map(line).collect(),
        }
    }

    /// Whether the texts are equal, line by line.
    pub fn is_empty(&self) -> bool {
        self.lines.iter().all(|l| matches!(l, DiffLine::Both(_)))
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
