//! The layout of segments in an array.

use std::fmt;

use crate::ir::{DType, Diagnostic};

/// The segments of a host array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segments<'a> {
    /// Consecutive segments of this many elements each.
    Length(usize),
    /// Segment `s` is `x[offsets[s]..offsets[s + 1]]`: non-decreasing offsets, one more than
    /// segments.
    Offsets(&'a [i32]),
    /// As [`Segments::Offsets`], for arrays with too many elements for 32 bits.
    WideOffsets(&'a [i64]),
}

/// The sizes for which a form is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// The rows of a matrix, all of one length.
    Rows {
        /// Number of rows, which are the segments.
        count: usize,
        /// Elements of each row.
        length: usize,
    },
    /// Segments between offsets, of any length, empty ones included.
    Ragged {
        /// Number of segments, which is one less than the number of offsets.
        count: usize,
        /// Elements of the array, in all segments together.
        elements: usize,
        /// Elements of the longest segment, if known. Forms that give each segment to a warp or a
        /// block are only considered if it is known: a single long segment would keep one of them
        /// busy and all others waiting.
        longest: Option<usize>,
        /// The type of the offsets: I32 or I64.
        offsets: DType,
    },
}

impl Shape {
    /// Rows of equal length: `count` segments of `length` elements each.
    pub fn rows(count: usize, length: usize) -> Shape {
        Shape::Rows { count, length }
    }

    /// Segments between offsets, if only these two numbers are known.
    pub fn ragged(count: usize, elements: usize) -> Shape {
        let offsets = if i32::try_from(elements).is_ok() { DType::I32 } else { DType::I64 };
        Shape::Ragged { count, elements, longest: None, offsets }
    }

    /// The shape of an array of `elements` elements cut into these segments.
    ///
    /// Errors: a length that does not divide the elements, offsets that decrease or leave the
    /// array.
    pub fn of(elements: usize, segments: Segments<'_>) -> Result<Shape, Diagnostic> {
        match segments {
            Segments::Length(length) => {
                if length == 0 || !elements.is_multiple_of(length) {
                    let message =
                        format!("{elements} elements are not a whole number of segments of {length}");
                    return Err(Diagnostic::new("segment-length", message)
                        .help("choose a length that divides the number of elements, or give offsets"));
                }
                Ok(Shape::Rows { count: elements / length, length })
            }
            Segments::Offsets(offsets) => ragged(elements, offsets.iter().map(|o| i64::from(*o)), DType::I32),
            Segments::WideOffsets(offsets) => ragged(elements, offsets.iter().copied(), DType::I64),
        }
    }

    /// Number of segments: of rows, or between offsets.
    pub fn count(&self) -> usize {
        match self {
            Shape::Rows { count, .. } | Shape::Ragged { count, .. } => *count,
        }
    }

    /// Number of elements in all segments together.
    pub fn elements(&self) -> usize {
        match self {
            Shape::Rows { count, length } => count.saturating_mul(*length),
            Shape::Ragged { elements, .. } => *elements,
        }
    }
}

fn ragged(elements: usize, offsets: impl Iterator<Item = i64>, dtype: DType) -> Result<Shape, Diagnostic> {
    let refuse = |message: String, witness: String| {
        Err(Diagnostic::new("segment-offsets", message).witness(witness).help(
            "offsets must not decrease, and lie between 0 and the number of elements; equal \
             neighbours are an empty segment",
        ))
    };
    let (mut before, mut numbers, mut longest) = (None, 0, 0);
    for (number, offset) in offsets.enumerate() {
        match before {
            _ if offset < 0 || usize::try_from(offset).is_ok_and(|o| o > elements) => {
                let message = format!("an offset is outside the array of {elements} elements");
                return refuse(message, format!("offsets[{number}] is {offset}"));
            }
            Some(last) if offset < last => {
                let witness = format!("offsets[{}] is {last}, offsets[{number}] is {offset}", number - 1);
                return refuse("the offsets fall".to_owned(), witness);
            }
            Some(last) => longest = longest.max(offset - last),
            None => {}
        }
        before = Some(offset);
        numbers = number + 1;
    }
    if numbers == 0 {
        return refuse("there are no offsets".to_owned(), "a single offset means no segments".to_owned());
    }
    let longest = Some(usize::try_from(longest).unwrap_or(usize::MAX));
    Ok(Shape::Ragged { count: numbers - 1, elements, longest, offsets: dtype })
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Rows { count, length } => write!(f, "{count} rows of {length}"),
            Shape::Ragged { count, elements, longest, .. } => {
                write!(f, "{count} segments of {elements} elements")?;
                longest.map_or(Ok(()), |longest| write!(f, ", the longest of {longest}"))
            }
        }
    }
}
