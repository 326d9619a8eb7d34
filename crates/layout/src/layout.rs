//! Layouts: functions from coordinates to indices.
//!
//! A layout is a tree whose leaves, its *modes*, have a size and a stride. With the sizes
//! `s_0 ... s_{r-1}` and strides `d_0 ... d_{r-1}` of all leaves and `p_k = s_0 ... s_{k-1}`, it is
//! the function
//!
//! ```text
//! L(i) = sum_k d_k * (floor(i / p_k) mod s_k)
//! ```
//!
//! in which the last mode has no `mod`: it continues beyond the layout's size. Each size has a
//! stride by construction, since both are in one leaf.

use std::fmt;

use crate::{
    Error, Int, IntTuple, Result,
    fit::LIMIT,
    tuple::{constants, crd2idx, digits, weighted},
};

/// A layout. See the module's head.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// A mode that is not divided further: equally spaced positions.
    Mode {
        /// The number of positions.
        shape: Int,
        /// The distance between neighbouring positions.
        stride: Int,
    },
    /// Several layouts, whose indices add up.
    Tuple(Vec<Layout>),
}

impl Layout {
    /// A layout of one mode: `shape` indices, which are `stride` apart.
    pub fn mode(shape: impl Into<Int>, stride: impl Into<Int>) -> Self {
        Layout::Mode { shape: shape.into(), stride: stride.into() }
    }

    /// The layout with this shape and stride.
    pub fn new(shape: &IntTuple, stride: &IntTuple) -> Result<Self> {
        match (shape, stride) {
            (IntTuple::Int(shape), IntTuple::Int(_)) if shape.as_const().is_some_and(|s| s < 1) => {
                Err(Error::Profile(format!("the size {shape} is less than 1")))
            }
            (IntTuple::Int(shape), IntTuple::Int(stride)) => {
                Ok(Layout::Mode { shape: shape.clone(), stride: stride.clone() })
            }
            (IntTuple::Tuple(shapes), IntTuple::Tuple(strides)) if shapes.len() == strides.len() => {
                let modes = shapes.iter().zip(strides).map(|(s, d)| Layout::new(s, d));
                Ok(Layout::Tuple(modes.collect::<Result<_>>()?))
            }
            _ => Err(Error::Profile(format!("shape {shape} and stride {stride} are different trees"))),
        }
    }

    /// The compact layout of a shape whose first mode runs fastest.
    pub fn compact(shape: &IntTuple) -> Result<Self> {
        Layout::new(shape, &shape.prefix_product()?)
    }

    /// The compact layout of a shape whose last mode runs fastest.
    pub fn compact_right(shape: &IntTuple) -> Result<Self> {
        let mut sizes = shape.flatten();
        sizes.reverse();
        let products = IntTuple::from(sizes).prefix_product()?.flatten();
        Layout::new(shape, &shape.with_leaves(&mut products.into_iter().rev()))
    }

    /// The size of each mode, nested as the modes are.
    pub fn shape(&self) -> IntTuple {
        match self {
            Layout::Mode { shape, .. } => IntTuple::Int(shape.clone()),
            Layout::Tuple(modes) => IntTuple::Tuple(modes.iter().map(Layout::shape).collect()),
        }
    }

    /// The stride of each mode, nested as the modes are.
    pub fn stride(&self) -> IntTuple {
        match self {
            Layout::Mode { stride, .. } => IntTuple::Int(stride.clone()),
            Layout::Tuple(modes) => IntTuple::Tuple(modes.iter().map(Layout::stride).collect()),
        }
    }

    /// The number of indices in its domain.
    pub fn size(&self) -> Result<Int> {
        self.shape().product()
    }

    /// One more than the largest index in its image: the length of an array that it addresses.
    pub fn cosize(&self) -> Result<Int> {
        let mut largest = Int::ZERO;
        for (shape, stride) in self.leaves() {
            match Int::ZERO.at_most(&stride) {
                Some(true) => largest = largest.add(&shape.sub(&Int::ONE)?.mul(&stride)?)?,
                Some(false) => {}
                None => return Err(Error::not_known("cosize", format!("the sign of {stride}"))),
            }
        }
        largest.add(&Int::ONE)
    }

    /// The number of modes at the top.
    pub fn rank(&self) -> usize {
        self.shape().rank()
    }

    /// The nesting depth of modes; 0 for one mode.
    pub fn depth(&self) -> usize {
        self.shape().depth()
    }

    /// The modes at the top; a single mode contains only itself.
    pub fn modes(&self) -> Vec<Layout> {
        match self {
            Layout::Mode { .. } => vec![self.clone()],
            Layout::Tuple(modes) => modes.clone(),
        }
    }

    /// Sizes and strides of all leaves, in order.
    pub fn leaves(&self) -> Vec<(Int, Int)> {
        match self {
            Layout::Mode { shape, stride } => vec![(shape.clone(), stride.clone())],
            Layout::Tuple(modes) => modes.iter().flat_map(Layout::leaves).collect(),
        }
    }

    /// A layout of depth at most 1 with these leaves: a mode if there is one, `1:0` if there is
    /// none.
    pub fn from_leaves(leaves: Vec<(Int, Int)>) -> Layout {
        let mut modes: Vec<Layout> =
            leaves.into_iter().map(|(shape, stride)| Layout::Mode { shape, stride }).collect();
        match (modes.len(), modes.pop()) {
            (1, Some(mode)) => mode,
            (_, None) => Layout::mode(1, 0),
            (_, Some(last)) => {
                modes.push(last);
                Layout::Tuple(modes)
            }
        }
    }

    /// All leaves in one tuple.
    pub fn flatten(&self) -> Layout {
        match self {
            Layout::Mode { .. } => self.clone(),
            Layout::Tuple(_) => Layout::Tuple(
                self.leaves().into_iter().map(|(shape, stride)| Layout::Mode { shape, stride }).collect(),
            ),
        }
    }

    /// Whether all numbers are constants.
    pub fn is_static(&self) -> bool {
        self.leaves().iter().all(|(s, d)| s.as_const().is_some() && d.as_const().is_some())
    }

    /// The numbers of a layout all of whose numbers are constants.
    pub fn known(&self, operation: &'static str) -> Result<Known> {
        let (shapes, strides): (Vec<Int>, Vec<Int>) = self.leaves().into_iter().unzip();
        let sizes = constants(operation, &shapes).map_err(|_| Error::open(operation, self))?;
        let strides = constants(operation, &strides).map_err(|_| Error::open(operation, self))?;
        let size = sizes.iter().try_fold(1i64, |p, s| p.checked_mul(*s)).ok_or(Error::Overflow)?;
        Ok(Known { sizes, strides, size })
    }

    /// The index at an index of the domain, or beyond it.
    pub fn at(&self, index: i64) -> Result<i64> {
        self.known("layout")?.at(index)
    }

    /// The index at a coordinate.
    pub fn at_coordinate(&self, coordinate: &IntTuple) -> Result<i64> {
        crd2idx(coordinate, &self.shape(), &self.stride())
    }

    /// All indices, in the order of the domain.
    pub fn values(&self) -> Result<Vec<i64>> {
        let known = self.known("layout")?;
        if known.size > LIMIT {
            return Err(Error::TooLarge { operation: "layout", points: known.size });
        }
        (0..known.size).map(|i| known.at(i)).collect()
    }

    /// The layout with given values for the launch parameters.
    pub fn with_sizes(&self, sizes: &dyn Fn(&loopwright_poly::Name) -> Option<i64>) -> Result<Layout> {
        match self {
            Layout::Mode { shape, stride } => Ok(Layout::mode(shape.eval(sizes)?, stride.eval(sizes)?)),
            Layout::Tuple(modes) => {
                Ok(Layout::Tuple(modes.iter().map(|m| m.with_sizes(sizes)).collect::<Result<_>>()?))
            }
        }
    }
}

/// A layout's numbers as constants, for enumeration.
#[derive(Clone, Debug)]
pub struct Known {
    sizes: Vec<i64>,
    strides: Vec<i64>,
    /// The number of indices in the domain.
    pub size: i64,
}

impl Known {
    /// The index at an index of the domain, or beyond it.
    pub fn at(&self, index: i64) -> Result<i64> {
        weighted(&digits(index, &self.sizes), &self.strides)
    }
}

/// In CuTe's notation: `(4,8):(1,4)`.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.shape(), self.stride())
    }
}
