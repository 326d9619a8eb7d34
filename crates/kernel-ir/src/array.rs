//! Arguments, temporaries, and where they live.

use std::fmt;

use loopwright_poly::Name;
use serde::{Deserialize, Serialize};

use crate::{Expr, Type};

/// Who sees an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AddressSpace {
    /// One copy for each thread.
    Private,
    /// One copy for each block.
    Shared,
    /// One copy for each launch.
    Global,
}

impl fmt::Display for AddressSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddressSpace::Private => "private",
            AddressSpace::Shared => "shared",
            AddressSpace::Global => "global",
        })
    }
}

/// One axis of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Axis {
    /// How many elements; an integer expression of parameters.
    pub length: Expr,
    /// How many elements of the storage lie between neighbours on this axis. `None`: the axes
    /// without a stride lie in the order of their `rank`, densest last, each as long as its padded
    /// length.
    pub stride: Option<Expr>,
    /// Elements added behind this axis in the storage, so that the strides of outer axes grow.
    pub padding: u32,
}

impl Axis {
    /// An axis in its default place.
    pub fn new(length: Expr) -> Self {
        Axis { length, stride: None, padding: 0 }
    }
}

/// An array argument or a temporary. A temporary without axes is a scalar.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Array {
    /// Its name.
    pub name: Name,
    /// The type of its elements.
    pub dtype: Type,
    /// Its axes, outermost subscript first.
    pub axes: Vec<Axis>,
    /// The axes by storage order, slowest first; empty means the order of the subscripts
    /// (row-major).
    pub order: Vec<usize>,
    /// Who sees it; arguments are global.
    pub space: AddressSpace,
    /// Whether accesses to it in global memory ask caches to give its lines up first, since each
    /// element is touched once. It changes no value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub streaming: bool,
    /// How what is stored to it in global memory is written in waves, if it is. It changes no
    /// value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waves: Option<Waves>,
}

impl Array {
    /// An array whose axes lie in the order of its subscripts, densest last, and of which caches are
    /// asked nothing.
    pub fn new(name: impl Into<Name>, dtype: impl Into<Type>, axes: Vec<Axis>, space: AddressSpace) -> Self {
        Array {
            name: name.into(),
            dtype: dtype.into(),
            axes,
            order: Vec::new(),
            space,
            streaming: false,
            waves: None,
        }
    }
}

/// Stores in waves: of the windows of a wave, by the places of elements in storage, the
/// second-level cache keeps all but the last one, and gives them up when that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Waves {
    /// Elements of a window.
    pub window: u32,
    /// Windows of a wave.
    pub windows: u8,
}

impl Waves {
    /// What is wrong with the numbers, if anything is.
    pub fn wrong(self) -> Option<&'static str> {
        // Lines of the cache have 128 bytes: of the narrowest elements, 128.
        if self.window == 0 || !self.window.is_multiple_of(128) {
            return Some("a window has a multiple of 128 elements");
        }
        if !(2..=64).contains(&self.windows) {
            return Some("a wave has 2 to 64 windows");
        }
        let all = u64::from(self.window) * u64::from(self.windows);
        (all > i32::MAX as u64).then_some("a wave has fewer than 2^31 elements")
    }
}

impl fmt::Display for Waves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waves({}, {})", self.window, self.windows)
    }
}

/// A scalar argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Scalar {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub dtype: Type,
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Arg {
    /// An array in global memory. It is an input where it is read, an output where it is written.
    Array(Array),
    /// A number handed over at launch. Integer scalars may be parameters of domains and shapes.
    Scalar(Scalar),
}

impl Arg {
    /// Its name.
    pub fn name(&self) -> &Name {
        match self {
            Arg::Array(a) => &a.name,
            Arg::Scalar(s) => &s.name,
        }
    }
}

/// A declared property of data that the kernel reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Fact {
    /// Every element lies in `lower <= element < upper`.
    Range {
        /// The integer array.
        array: Name,
        /// Least value; none means unbounded.
        lower: Option<Expr>,
        /// One more than the greatest value; none means unbounded.
        upper: Option<Expr>,
    },
    /// A one-dimensional integer array whose elements do not fall.
    Monotone(Name),
    /// A one-dimensional integer array whose elements differ from each other.
    Injective(Name),
}

impl Fact {
    /// The array that it is about.
    pub fn array(&self) -> &Name {
        match self {
            Fact::Range { array, .. } | Fact::Monotone(array) | Fact::Injective(array) => array,
        }
    }
}
