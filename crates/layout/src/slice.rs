//! Slices: some modes of a layout are fixed, the others kept in one tuple.

use std::fmt;

use crate::{
    Error, Int, IntTuple, Layout, Result,
    tuple::{constants, digits, weighted},
};

/// A coordinate in which modes may be left open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coordinate {
    /// All of a mode, written `_`: it stays in the slice.
    All,
    /// One index of a mode, counted from 0: the mode is fixed.
    Index(i64),
    /// One coordinate for each mode.
    Tuple(Vec<Coordinate>),
}

impl TryFrom<&IntTuple> for Coordinate {
    type Error = Error;

    fn try_from(tuple: &IntTuple) -> Result<Self> {
        Ok(match tuple {
            IntTuple::Int(n) => Coordinate::Index(n.as_const().ok_or_else(|| Error::open_int("slice", n))?),
            IntTuple::Tuple(elements) => {
                Coordinate::Tuple(elements.iter().map(Coordinate::try_from).collect::<Result<_>>()?)
            }
        })
    }
}

impl Layout {
    /// The modes that a coordinate leaves open.
    pub fn slice(&self, coordinate: &Coordinate) -> Result<Layout> {
        Ok(Layout::Tuple(self.pick(coordinate, true)?))
    }

    /// The modes that a coordinate fixes.
    pub fn dice(&self, coordinate: &Coordinate) -> Result<Layout> {
        Ok(Layout::Tuple(self.pick(coordinate, false)?))
    }

    /// The modes that a coordinate leaves open, and the index at which it fixes the others.
    pub fn slice_and_offset(&self, coordinate: &Coordinate) -> Result<(Layout, i64)> {
        Ok((self.slice(coordinate)?, self.offset(coordinate)?))
    }

    fn pick(&self, coordinate: &Coordinate, open: bool) -> Result<Vec<Layout>> {
        match (coordinate, self) {
            (Coordinate::All, _) => Ok(if open { vec![self.clone()] } else { Vec::new() }),
            (Coordinate::Index(_), _) => Ok(if open { Vec::new() } else { vec![self.clone()] }),
            (Coordinate::Tuple(parts), Layout::Tuple(modes)) if parts.len() == modes.len() => {
                let mut kept = Vec::new();
                for (part, mode) in parts.iter().zip(modes) {
                    kept.extend(mode.pick(part, open)?);
                }
                Ok(kept)
            }
            _ => Err(mismatch(coordinate, self)),
        }
    }

    fn offset(&self, coordinate: &Coordinate) -> Result<i64> {
        match (coordinate, self) {
            (Coordinate::All, _) => Ok(0),
            (Coordinate::Index(index), _) => {
                let (sizes, strides): (Vec<Int>, Vec<Int>) = self.leaves().into_iter().unzip();
                let sizes = constants("slice", &sizes)?;
                weighted(&digits(*index, &sizes), &constants("slice", &strides)?)
            }
            (Coordinate::Tuple(parts), Layout::Tuple(modes)) if parts.len() == modes.len() => {
                parts.iter().zip(modes).try_fold(0i64, |sum, (part, mode)| {
                    sum.checked_add(mode.offset(part)?).ok_or(Error::Overflow)
                })
            }
            _ => Err(mismatch(coordinate, self)),
        }
    }
}

fn mismatch(coordinate: &Coordinate, layout: &Layout) -> Error {
    Error::Profile(format!("slice: {coordinate} is not a coordinate of {layout}"))
}

impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Coordinate::All => f.write_str("_"),
            Coordinate::Index(index) => write!(f, "{index}"),
            Coordinate::Tuple(parts) => {
                let texts: Vec<String> = parts.iter().map(Coordinate::to_string).collect();
                write!(f, "({})", texts.join(","))
            }
        }
    }
}
