//! Nested tuples of numbers: shapes, strides and coordinates, and the functions on them.
//!
//! Coordinates count colexicographically: the first mode runs fastest, and the last one continues
//! beyond its size. So the index `i` has, in a shape with sizes `s_0, s_1, ...`, the coordinates
//! `floor(i / (s_0 ... s_{k-1})) mod s_k`, the last of them without the `mod`.

use std::fmt;

use crate::{Error, Int, Result};

/// A number, or a tuple of such trees.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum IntTuple {
    /// A number, which is a tree by itself.
    Int(Int),
    /// A tuple, possibly empty.
    Tuple(Vec<IntTuple>),
}

impl From<i64> for IntTuple {
    fn from(value: i64) -> Self {
        IntTuple::Int(value.into())
    }
}

impl From<Int> for IntTuple {
    fn from(value: Int) -> Self {
        IntTuple::Int(value)
    }
}

impl<T: Into<IntTuple>> From<Vec<T>> for IntTuple {
    fn from(elements: Vec<T>) -> Self {
        IntTuple::Tuple(elements.into_iter().map(Into::into).collect())
    }
}

impl IntTuple {
    /// The elements of a tuple; a number is its own only element.
    pub fn modes(&self) -> Vec<IntTuple> {
        match self {
            IntTuple::Int(_) => vec![self.clone()],
            IntTuple::Tuple(elements) => elements.clone(),
        }
    }

    /// The numbers of all leaves, in order.
    pub fn flatten(&self) -> Vec<Int> {
        match self {
            IntTuple::Int(value) => vec![value.clone()],
            IntTuple::Tuple(elements) => elements.iter().flat_map(IntTuple::flatten).collect(),
        }
    }

    /// The number of modes: elements of a tuple; 1 for a number.
    pub fn rank(&self) -> usize {
        match self {
            IntTuple::Int(_) => 1,
            IntTuple::Tuple(elements) => elements.len(),
        }
    }

    /// The nesting depth of tuples; 0 for a number.
    pub fn depth(&self) -> usize {
        match self {
            IntTuple::Int(_) => 0,
            IntTuple::Tuple(elements) => 1 + elements.iter().map(IntTuple::depth).max().unwrap_or(0),
        }
    }

    /// Whether both have the same tree, regardless of numbers.
    pub fn is_congruent(&self, other: &IntTuple) -> bool {
        match (self, other) {
            (IntTuple::Int(_), IntTuple::Int(_)) => true,
            (IntTuple::Tuple(a), IntTuple::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_congruent(b))
            }
            _ => false,
        }
    }

    /// Whether each coordinate of this shape is one of the other's: both have one size, and the
    /// other's tree refines this one.
    pub fn is_compatible(&self, other: &IntTuple) -> Result<bool> {
        match (self, other) {
            (IntTuple::Int(size), _) => Ok(*size == other.product()?),
            (IntTuple::Tuple(a), IntTuple::Tuple(b)) if a.len() == b.len() => {
                for (a, b) in a.iter().zip(b) {
                    if !a.is_compatible(b)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// The product of all numbers at any depth; 1 for an empty tuple.
    pub fn product(&self) -> Result<Int> {
        self.flatten().iter().try_fold(Int::ONE, |product, n| product.mul(n))
    }

    /// The sum of the products of corresponding numbers.
    pub fn inner_product(&self, other: &IntTuple) -> Result<Int> {
        if !self.is_congruent(other) {
            return Err(Error::Profile(format!("inner_product: {self} and {other} are different trees")));
        }
        let pairs = self.flatten().into_iter().zip(other.flatten());
        pairs.into_iter().try_fold(Int::ZERO, |sum, (a, b)| sum.add(&a.mul(&b)?))
    }

    /// For each number, the product of those before it: the strides of a compact layout whose
    /// first mode runs fastest.
    pub fn prefix_product(&self) -> Result<IntTuple> {
        fn walk(tuple: &IntTuple, product: &mut Int) -> Result<IntTuple> {
            match tuple {
                IntTuple::Int(n) => {
                    let before = product.clone();
                    *product = product.mul(n)?;
                    Ok(IntTuple::Int(before))
                }
                IntTuple::Tuple(elements) => {
                    Ok(IntTuple::Tuple(elements.iter().map(|e| walk(e, product)).collect::<Result<_>>()?))
                }
            }
        }
        walk(self, &mut Int::ONE.clone())
    }

    /// The shape of blocks of `divisor` indices: `(3, 4)` by 6 is `(1, 2)`.
    pub fn shape_div(&self, divisor: &Int) -> Result<IntTuple> {
        fn walk(tuple: &IntTuple, divisor: &mut Int) -> Result<IntTuple> {
            match tuple {
                IntTuple::Int(n) => {
                    if let Some(quotient) = n.exact_div(divisor) {
                        *divisor = Int::ONE;
                        return Ok(IntTuple::Int(quotient));
                    }
                    if let Some(rest) = divisor.exact_div(n) {
                        *divisor = rest;
                        return Ok(IntTuple::Int(Int::ONE));
                    }
                    let why = format!("neither of {n} and {divisor} divides the other");
                    Err(match (n.as_const(), divisor.as_const()) {
                        (Some(_), Some(_)) => Error::no_layout("shape_div", why, format!("{n} / {divisor}")),
                        _ => Error::not_known(
                            "shape_div",
                            format!("which of {n} and {divisor} divides the other"),
                        ),
                    })
                }
                IntTuple::Tuple(elements) => {
                    Ok(IntTuple::Tuple(elements.iter().map(|e| walk(e, divisor)).collect::<Result<_>>()?))
                }
            }
        }
        walk(self, &mut divisor.clone())
    }

    /// The coordinate of an index in this shape. The last mode continues beyond its size.
    pub fn coordinate(&self, index: i64) -> Result<IntTuple> {
        let sizes = constants("idx2crd", &self.flatten())?;
        let digits = digits(index, &sizes);
        Ok(self.with_leaves(&mut digits.into_iter().map(Int::from)))
    }

    /// The index of a coordinate of this shape: numbers where the shape has tuples count in them.
    pub fn index(&self, coordinate: &IntTuple) -> Result<i64> {
        crd2idx(coordinate, self, &self.prefix_product()?)
    }

    /// This tree with other numbers, in order; missing ones are 0.
    pub(crate) fn with_leaves(&self, leaves: &mut impl Iterator<Item = Int>) -> IntTuple {
        match self {
            IntTuple::Int(_) => IntTuple::Int(leaves.next().unwrap_or(Int::ZERO)),
            IntTuple::Tuple(elements) => {
                IntTuple::Tuple(elements.iter().map(|e| e.with_leaves(leaves)).collect())
            }
        }
    }
}

/// The digits of an index in these sizes, all of them at least 1. The last one continues beyond its
/// size.
pub(crate) fn digits(index: i64, sizes: &[i64]) -> Vec<i64> {
    let mut rest = index;
    let mut digits = Vec::with_capacity(sizes.len());
    for (k, size) in sizes.iter().enumerate() {
        if k + 1 == sizes.len() {
            digits.push(rest);
        } else {
            digits.push(rest.rem_euclid((*size).max(1)));
            rest = rest.div_euclid((*size).max(1));
        }
    }
    digits
}

pub(crate) fn constants(operation: &'static str, values: &[Int]) -> Result<Vec<i64>> {
    values.iter().map(|v| v.as_const().ok_or_else(|| Error::open_int(operation, v))).collect()
}

/// The inner product of a coordinate and strides. Where the shape has a tuple, the coordinate may
/// be a number, which counts in it.
pub fn crd2idx(coordinate: &IntTuple, shape: &IntTuple, stride: &IntTuple) -> Result<i64> {
    match (coordinate, shape, stride) {
        (IntTuple::Int(c), _, _) => {
            let c = c.as_const().ok_or_else(|| Error::open_int("crd2idx", c))?;
            let sizes = constants("crd2idx", &shape.flatten())?;
            let strides = constants("crd2idx", &stride.flatten())?;
            if sizes.len() != strides.len() {
                return Err(Error::Profile(format!("crd2idx: {shape} and {stride} are different trees")));
            }
            weighted(&digits(c, &sizes), &strides)
        }
        (IntTuple::Tuple(c), IntTuple::Tuple(s), IntTuple::Tuple(d))
            if c.len() == s.len() && s.len() == d.len() =>
        {
            let mut sum = 0i64;
            for ((c, s), d) in c.iter().zip(s).zip(d) {
                sum = sum.checked_add(crd2idx(c, s, d)?).ok_or(Error::Overflow)?;
            }
            Ok(sum)
        }
        _ => Err(Error::Profile(format!("crd2idx: {coordinate} is not a coordinate of {shape}"))),
    }
}

pub(crate) fn weighted(digits: &[i64], strides: &[i64]) -> Result<i64> {
    digits.iter().zip(strides).try_fold(0i64, |sum, (c, d)| {
        c.checked_mul(*d).and_then(|term| sum.checked_add(term)).ok_or(Error::Overflow)
    })
}

impl fmt::Display for IntTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IntTuple::Int(value) => write!(f, "{value}"),
            IntTuple::Tuple(elements) => {
                let texts: Vec<String> = elements.iter().map(IntTuple::to_string).collect();
                write!(f, "({})", texts.join(","))
            }
        }
    }
}
