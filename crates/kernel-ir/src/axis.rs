//! The axes of the hardware, along which executions are spread over threads and blocks.
//!
//! Axes are named, not numbered: each query about axes is an exhaustive match, so that adding one
//! (such as the blocks of a cluster) means adding a variant and fixing what the compiler then
//! reports. The coordinate of an axis is an affine function of the hardware's thread and block
//! indices ([`HardwareAxis::position`]).
//!
//! Axes are independent of each other: each combination of coordinates is a thread. Warps and lanes
//! are therefore not axes but digits of a thread's number, which the axes of the block determine.

use std::{
    fmt,
    ops::{Index, IndexMut},
    sync::LazyLock,
};

use loopwright_poly::Aff;
use serde::{Deserialize, Serialize};

/// A dimension of a grid or of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub enum Dim {
    /// The dimension in which neighbouring threads are neighbours in a warp.
    X,
    /// The second dimension in the numbering of threads: it changes after all of `x`.
    Y,
    /// The third dimension in the numbering of threads: it changes slowest.
    Z,
}

impl Dim {
    /// All of them, in the order in which threads are numbered.
    pub const ALL: &[Dim] = &[Dim::X, Dim::Y, Dim::Z];
}

impl From<Dim> for u8 {
    fn from(dim: Dim) -> u8 {
        match dim {
            Dim::X => 0,
            Dim::Y => 1,
            Dim::Z => 2,
        }
    }
}

impl TryFrom<u8> for Dim {
    type Error = String;

    fn try_from(number: u8) -> Result<Dim, String> {
        match number {
            0 => Ok(Dim::X),
            1 => Ok(Dim::Y),
            2 => Ok(Dim::Z),
            _ => Err(format!("there is no dimension {number}: dimensions are 0, 1 and 2, for x, y and z")),
        }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dim::X => "x",
            Dim::Y => "y",
            Dim::Z => "z",
        })
    }
}

/// An axis along which executions run at the same time, in different threads. Inner axes come
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HardwareAxis {
    /// The threads of a block.
    Block(Dim),
    /// The blocks of a grid, numbered along a dimension.
    Grid(Dim),
}

impl HardwareAxis {
    /// The axes of the threads of a block, x first.
    pub const OF_BLOCK: &[HardwareAxis] =
        &[HardwareAxis::Block(Dim::X), HardwareAxis::Block(Dim::Y), HardwareAxis::Block(Dim::Z)];

    /// The axes of the blocks of the grid, x first.
    pub const OF_GRID: &[HardwareAxis] =
        &[HardwareAxis::Grid(Dim::X), HardwareAxis::Grid(Dim::Y), HardwareAxis::Grid(Dim::Z)];

    /// All axes, inner ones first: those of the block, then those of the grid.
    pub fn all() -> impl Iterator<Item = HardwareAxis> + Clone {
        HardwareAxis::OF_BLOCK.iter().chain(HardwareAxis::OF_GRID).copied()
    }

    /// The name of its coordinate in constraints. No name of a kernel has a dot.
    pub fn coordinate(self) -> &'static str {
        match self {
            HardwareAxis::Block(Dim::X) => "thread.x",
            HardwareAxis::Block(Dim::Y) => "thread.y",
            HardwareAxis::Block(Dim::Z) => "thread.z",
            HardwareAxis::Grid(Dim::X) => "block.x",
            HardwareAxis::Grid(Dim::Y) => "block.y",
            HardwareAxis::Grid(Dim::Z) => "block.z",
        }
    }

    /// The axis whose coordinate has this name, if any.
    pub fn of_coordinate(name: &str) -> Option<HardwareAxis> {
        HardwareAxis::all().find(|axis| axis.coordinate() == name)
    }

    /// A thread's coordinate along the axis, as a function of the hardware's indices.
    pub fn position(self) -> Aff {
        // Asked for with every part: all share one name for each axis.
        static POSITIONS: LazyLock<PerAxis<Aff>> =
            LazyLock::new(|| PerAxis::from_fn(|axis| Aff::var(axis.coordinate())));
        match self {
            HardwareAxis::Block(_) | HardwareAxis::Grid(_) => POSITIONS[self].clone(),
        }
    }

    /// Whether it lies within a block, so that threads that differ only on it can synchronise.
    pub fn is_in_block(self) -> bool {
        match self {
            HardwareAxis::Block(_) => true,
            HardwareAxis::Grid(_) => false,
        }
    }

    /// Number of threads along it in a block of this shape; `None` for an axis of the grid, whose
    /// length depends on the launch.
    pub fn extent_in(self, block: &PerDim<u32>) -> Option<u32> {
        match self {
            HardwareAxis::Block(dim) => Some(block[dim]),
            HardwareAxis::Grid(_) => None,
        }
    }
}

/// A value for each dimension of a grid or of a block, such as the shape of a block in threads.
///
/// ```
/// use loopwright_kernel_ir::{Dim, PerDim};
///
/// let block = PerDim::from([32, 4, 1]);
/// assert_eq!((block[Dim::Y], block.x), (4, 32));
/// assert_eq!(block.values().product::<u32>(), 128);
/// assert_eq!(block.to_string(), "32 x 4 x 1");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PerDim<T> {
    /// The value for [`Dim::X`].
    pub x: T,
    /// The value for [`Dim::Y`].
    pub y: T,
    /// The value for [`Dim::Z`].
    pub z: T,
}

impl<T> PerDim<T> {
    /// Calls `of` on each dimension, in order.
    pub fn from_fn(mut of: impl FnMut(Dim) -> T) -> Self {
        PerDim { x: of(Dim::X), y: of(Dim::Y), z: of(Dim::Z) }
    }

    /// As [`Self::from_fn`], up to the first error.
    pub fn try_from_fn<E>(mut of: impl FnMut(Dim) -> Result<T, E>) -> Result<Self, E> {
        Ok(PerDim { x: of(Dim::X)?, y: of(Dim::Y)?, z: of(Dim::Z)? })
    }

    /// The values of x, y and z.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        [&self.x, &self.y, &self.z].into_iter()
    }

    /// The result of calling `of` on each value, in the order x, y, z.
    pub fn map<U>(self, mut of: impl FnMut(T) -> U) -> PerDim<U> {
        PerDim { x: of(self.x), y: of(self.y), z: of(self.z) }
    }
}

impl<T: Clone> PerDim<T> {
    /// The same value for all dimensions.
    pub fn all(value: T) -> Self {
        PerDim::from_fn(|_| value.clone())
    }
}

/// From an array in the order x, y, z.
impl<T> From<[T; 3]> for PerDim<T> {
    fn from([x, y, z]: [T; 3]) -> Self {
        PerDim { x, y, z }
    }
}

/// x, y and z, as drivers take them.
impl<T> From<PerDim<T>> for [T; 3] {
    fn from(PerDim { x, y, z }: PerDim<T>) -> Self {
        [x, y, z]
    }
}

impl<T: fmt::Display> fmt::Display for PerDim<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {} x {}", self.x, self.y, self.z)
    }
}

impl<T> Index<Dim> for PerDim<T> {
    type Output = T;

    fn index(&self, dim: Dim) -> &T {
        match dim {
            Dim::X => &self.x,
            Dim::Y => &self.y,
            Dim::Z => &self.z,
        }
    }
}

impl<T> IndexMut<Dim> for PerDim<T> {
    fn index_mut(&mut self, dim: Dim) -> &mut T {
        match dim {
            Dim::X => &mut self.x,
            Dim::Y => &mut self.y,
            Dim::Z => &mut self.z,
        }
    }
}

/// A value for each axis of the hardware.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PerAxis<T> {
    block: PerDim<T>,
    grid: PerDim<T>,
}

impl<T> PerAxis<T> {
    /// Calls `of` on each axis, in order.
    pub fn from_fn(mut of: impl FnMut(HardwareAxis) -> T) -> Self {
        PerAxis {
            block: PerDim::from_fn(|dim| of(HardwareAxis::Block(dim))),
            grid: PerDim::from_fn(|dim| of(HardwareAxis::Grid(dim))),
        }
    }

    /// The axes with their values, in the order of the axes.
    pub fn iter(&self) -> impl Iterator<Item = (HardwareAxis, &T)> {
        HardwareAxis::all().map(|axis| (axis, &self[axis]))
    }
}

impl<T> Index<HardwareAxis> for PerAxis<T> {
    type Output = T;

    fn index(&self, axis: HardwareAxis) -> &T {
        match axis {
            HardwareAxis::Block(dim) => &self.block[dim],
            HardwareAxis::Grid(dim) => &self.grid[dim],
        }
    }
}

impl<T> IndexMut<HardwareAxis> for PerAxis<T> {
    fn index_mut(&mut self, axis: HardwareAxis) -> &mut T {
        match axis {
            HardwareAxis::Block(dim) => &mut self.block[dim],
            HardwareAxis::Grid(dim) => &mut self.grid[dim],
        }
    }
}

/// A set of axes of the hardware, as bits by axis; empty by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AxisSet(PerAxis<bool>);

impl AxisSet {
    /// Whether the axis is in the set.
    pub fn contains(&self, axis: HardwareAxis) -> bool {
        self.0[axis]
    }

    /// Adds an axis; one that is in the set already changes nothing.
    pub fn insert(&mut self, axis: HardwareAxis) {
        self.0[axis] = true;
    }

    /// Whether it has no axis.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// The axes of the set, inner ones first, as [`HardwareAxis::all`] has them.
    pub fn iter(&self) -> impl Iterator<Item = HardwareAxis> + use<> {
        let set = *self;
        HardwareAxis::all().filter(move |axis| set.contains(*axis))
    }
}

impl FromIterator<HardwareAxis> for AxisSet {
    fn from_iter<I: IntoIterator<Item = HardwareAxis>>(axes: I) -> Self {
        let mut set = AxisSet::default();
        axes.into_iter().for_each(|axis| set.insert(axis));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_axis_occurs_once_in_order_and_has_a_coordinate_of_its_own() {
        let all: Vec<HardwareAxis> = HardwareAxis::all().collect();
        assert!(all.is_sorted() && all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
        let counted = PerAxis::from_fn(|_| 1).iter().map(|(_, one)| one).sum::<usize>();
        assert_eq!(counted, all.len());
        for axis in &all {
            assert_eq!(HardwareAxis::of_coordinate(axis.coordinate()), Some(*axis));
        }
        assert_eq!(HardwareAxis::of_coordinate("thread"), None);
    }

    #[test]
    fn a_value_per_axis_is_that_of_its_axis() {
        let mut names = PerAxis::from_fn(|axis| axis.coordinate());
        assert!(names.iter().all(|(axis, name)| *name == axis.coordinate()));
        names[HardwareAxis::Grid(Dim::Y)] = "changed";
        let changed: Vec<HardwareAxis> =
            names.iter().filter(|(axis, name)| **name != axis.coordinate()).map(|(axis, _)| axis).collect();
        assert_eq!(changed, [HardwareAxis::Grid(Dim::Y)]);
    }

    #[test]
    fn a_set_has_the_axes_that_were_put_in() {
        let set: AxisSet = [HardwareAxis::Grid(Dim::X), HardwareAxis::Block(Dim::Z)].into_iter().collect();
        assert_eq!(
            set.iter().collect::<Vec<_>>(),
            [HardwareAxis::Block(Dim::Z), HardwareAxis::Grid(Dim::X)],
            "in the order of the axes"
        );
        assert!(set.contains(HardwareAxis::Grid(Dim::X)) && !set.contains(HardwareAxis::Block(Dim::X)));
        assert!(AxisSet::default().is_empty() && !set.is_empty());
    }

    #[test]
    fn only_axes_of_a_block_have_extents_in_it() {
        let block = PerDim::from([32, 4, 2]);
        let extents: Vec<Option<u32>> = HardwareAxis::all().map(|axis| axis.extent_in(&block)).collect();
        assert_eq!(extents, [Some(32), Some(4), Some(2), None, None, None]);
        assert!(HardwareAxis::all().all(|axis| axis.is_in_block() == axis.extent_in(&block).is_some()));
    }

    #[test]
    fn dimensions_are_numbers_in_data_and_letters_in_text() {
        for (number, dim) in (0u8..).zip(Dim::ALL) {
            assert_eq!((u8::from(*dim), Dim::try_from(number)), (number, Ok(*dim)));
            assert_eq!(PerDim::from(["x", "y", "z"])[*dim], dim.to_string());
        }
        assert!(Dim::try_from(3).is_err());
    }
}
