//! Arguments, temporaries, and where they live.

use std::fmt;

use loopwright_poly::Name;
use serde::{Deserialize, Serialize};

use crate::{ArrayLayout, CacheHints, Expr, Type};

/// Where an array lives, and which threads share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AddressSpace {
    /// One copy for each thread, which no other thread accesses.
    Private,
    /// One copy for each block, which the block's threads share.
    Shared,
    /// One copy for each launch, which all threads share.
    Global,
    /// One copy for each program, which has its values from the start: tables that nothing writes.
    Constant,
}

impl fmt::Display for AddressSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddressSpace::Private => "private",
            AddressSpace::Shared => "shared",
            AddressSpace::Global => "global",
            AddressSpace::Constant => "constant",
        })
    }
}

/// One axis of an array: its length and its layout in storage.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Axis {
    /// Number of elements: an integer expression of parameters, at least 0.
    pub length: Expr,
    /// Stride in elements between neighbours on this axis. `None`: the axes without a stride are
    /// laid out in the order of their `rank`, densest last, each as long as its padded length.
    pub stride: Option<Expr>,
    /// Elements added after this axis in storage, which enlarges the strides of outer axes.
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
    /// Its name, unique in the kernel.
    pub name: Name,
    /// The type of its elements.
    pub dtype: Type,
    /// Its axes, outermost subscript first.
    pub axes: Vec<Axis>,
    /// The axes by storage order, slowest first; empty means the order of the subscripts
    /// (row-major).
    pub order: Vec<usize>,
    /// Modes and a swizzle, where those are set.
    #[serde(default, skip_serializing_if = "ArrayLayout::is_default")]
    pub layout: ArrayLayout,
    /// Its address space; arguments are global.
    pub space: AddressSpace,
    /// Hints to the caches for its accesses in global memory.
    #[serde(default, skip_serializing_if = "CacheHints::is_empty")]
    pub hints: CacheHints,
}

impl Array {
    /// An array in row-major order (the last axis densest) without cache hints.
    pub fn new(name: impl Into<Name>, dtype: impl Into<Type>, axes: Vec<Axis>, space: AddressSpace) -> Self {
        Array {
            name: name.into(),
            dtype: dtype.into(),
            axes,
            order: Vec::new(),
            layout: ArrayLayout::default(),
            space,
            hints: CacheHints::default(),
        }
    }

    /// Its axes from the slowest in storage to the densest.
    pub fn storage_order(&self) -> Vec<usize> {
        if let Some(order) = self.order_of_modes() {
            return order;
        }
        if self.order.len() == self.axes.len() { self.order.clone() } else { (0..self.axes.len()).collect() }
    }

    /// The array without an axis, which it has to have; the others keep their order in storage, and
    /// the modes that are set.
    pub fn without_axis(mut self, axis: usize) -> Self {
        self.layout = self.layout.without_axis(axis, self.axes.len());
        self.axes.remove(axis);
        self.order.retain(|k| *k != axis);
        self.order.iter_mut().filter(|k| **k > axis).for_each(|k| *k -= 1);
        if self.order.is_sorted() {
            self.order.clear();
        }
        self
    }
}

/// A number passed to the kernel at launch: see [`Arg::Scalar`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Scalar {
    /// Its name, unique in the kernel.
    pub name: Name,
    /// Its type, an integer where domains or shapes use it.
    pub dtype: Type,
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Arg {
    /// An array in global memory: an input if the kernel reads it, an output if it writes it.
    Array(Array),
    /// A number passed at launch. Integer scalars may be parameters of domains and shapes.
    Scalar(Scalar),
}

impl Arg {
    /// The name of the array or scalar, unique in the kernel.
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
        /// The integer array whose elements are meant.
        array: Name,
        /// Least value; none means unbounded.
        lower: Option<Expr>,
        /// One more than the greatest value; none means unbounded.
        upper: Option<Expr>,
    },
    /// A one-dimensional integer array whose elements never decrease.
    Monotone(Name),
    /// A one-dimensional integer array whose elements are pairwise distinct.
    Injective(Name),
}

impl Fact {
    /// The name of the array that the fact is about.
    pub fn array(&self) -> &Name {
        match self {
            Fact::Range { array, .. } | Fact::Monotone(array) | Fact::Injective(array) => array,
        }
    }
}
