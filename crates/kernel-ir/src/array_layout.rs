//! Where the elements of an array lie in its storage, if order, strides and padding do not say it.
//!
//! An array of constant shape has one layout: a mode for each axis, in the order of the subscripts,
//! then a swizzle ([`Array::storage_layout`]). The modes are those that were set, or follow from
//! order, strides and padding. Subscripts are the same in every layout, and so are proofs about
//! accesses: what a layout has to ensure is that different elements have different places
//! ([`Array::layout_fault`]), and which neighbours stay neighbours ([`Array::keeps_vectors`]).

use std::{fmt, str::FromStr};

use loopwright_layout::{ComposedLayout, Int, Layout, Swizzle, collision, layout_of};
use serde::{Deserialize, Serialize};

use crate::{AddressSpace, Array, Diagnostic};

/// What is set about the layout of an array besides order, strides and padding. In elements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ArrayLayout {
    /// A mode for each axis, in the order of the subscripts; instead of order, strides and padding.
    pub modes: Option<Layout>,
    /// Applied to the position that follows from the modes, or from order and padding.
    pub swizzle: Option<Swizzle>,
}

impl ArrayLayout {
    /// Whether neither modes nor a swizzle are set.
    pub fn is_default(&self) -> bool {
        self.modes.is_none() && self.swizzle.is_none()
    }
}

impl ArrayLayout {
    /// The layout of an array of `axes` axes without one of these: the modes of the others stay.
    pub(crate) fn without_axis(mut self, axis: usize, axes: usize) -> Self {
        if axes <= 1 {
            return ArrayLayout::default();
        }
        if let Some(modes) = &self.modes {
            let mut own = modes.modes();
            if axis < own.len() {
                own.remove(axis);
            }
            self.modes = Some(Layout::Tuple(own));
        }
        self
    }
}

/// `(64,16):(17,1)`, `Sw<3,3,3> o 0 o (64,16):(17,1)`, or `Sw<3,3,3>` alone.
impl fmt::Display for ArrayLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.modes, &self.swizzle) {
            (Some(modes), Some(swizzle)) => write!(f, "{swizzle} o 0 o {modes}"),
            (Some(modes), None) => write!(f, "{modes}"),
            (None, Some(swizzle)) => write!(f, "{swizzle}"),
            (None, None) => Ok(()),
        }
    }
}

impl From<ArrayLayout> for String {
    fn from(layout: ArrayLayout) -> String {
        layout.to_string()
    }
}

impl TryFrom<String> for ArrayLayout {
    type Error = Diagnostic;

    fn try_from(text: String) -> Result<Self, Diagnostic> {
        text.parse()
    }
}

impl FromStr for ArrayLayout {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let text = text.trim();
        let refuse = |why: String| {
            Diagnostic::new("wrong-layout", format!("`{text}` is not the layout of an array: {why}"))
                .help("write a mode for each axis, as `(64,16):(17,1)`; a swizzle goes before it")
        };
        if text.is_empty() {
            return Ok(ArrayLayout::default());
        }
        if let Ok(swizzle) = text.parse::<Swizzle>() {
            return Ok(ArrayLayout { modes: None, swizzle: Some(swizzle) });
        }
        if let Ok(ComposedLayout { swizzle, offset, layout }) = text.parse::<ComposedLayout>() {
            if !offset.is_zero() {
                return Err(refuse(format!("an array begins at 0, not at {offset}")));
            }
            return Ok(ArrayLayout { modes: Some(layout), swizzle: Some(swizzle) });
        }
        let modes = text.parse::<Layout>().map_err(|e| refuse(e.to_string()))?;
        Ok(ArrayLayout { modes: Some(modes), swizzle: None })
    }
}

/// Slots of an array begin at a multiple of this number of elements, which is at least 16 bytes.
const SLOT: i64 = 16;

/// A number of elements after which a swizzle repeats.
fn period(swizzle: &Swizzle) -> i64 {
    1 << (swizzle.bits() + swizzle.base() + swizzle.shift().unsigned_abs()).min(62)
}

impl Array {
    /// The lengths of the axes, if all are constant.
    fn constant_lengths(&self) -> Option<Vec<i64>> {
        self.axes.iter().map(|axis| axis.length.to_aff()?.as_constant()).collect()
    }

    /// The modes of an array of constant shape, one for each axis in the order of the subscripts.
    fn modes(&self) -> Option<Vec<Layout>> {
        if let Some(Layout::Tuple(modes)) = &self.layout.modes
            && modes.len() == self.axes.len()
        {
            return Some(modes.clone());
        }
        if let Some(mode) = &self.layout.modes {
            return (self.axes.len() == 1).then(|| vec![mode.clone()]);
        }
        let lengths = self.constant_lengths()?;
        let mut modes: Vec<Layout> = lengths.iter().map(|n| Layout::mode(*n, 1)).collect();
        let mut dense = 1i64;
        for axis in self.storage_order().into_iter().rev() {
            let stride = match &self.axes[axis].stride {
                Some(stride) => stride.to_aff()?.as_constant()?,
                None => {
                    let own = dense;
                    let padded = lengths[axis].checked_add(self.axes[axis].padding.into())?;
                    dense = dense.checked_mul(padded)?;
                    own
                }
            };
            modes[axis] = Layout::mode(lengths[axis], stride);
        }
        Some(modes)
    }

    /// The layout of an array of constant shape: a mode for each axis, in the order of the
    /// subscripts, and a swizzle, which may be that of no bits. In elements.
    pub fn storage_layout(&self) -> Option<ComposedLayout> {
        let swizzle = self.layout.swizzle.or_else(|| Swizzle::new(0, 0, 0).ok())?;
        let layout = Layout::Tuple(self.modes()?);
        Some(ComposedLayout { swizzle, offset: Int::ZERO, layout })
    }

    /// The axes from the slowest to the densest by the modes that are set.
    pub(crate) fn order_of_modes(&self) -> Option<Vec<usize>> {
        self.layout.modes.as_ref()?;
        let least = |mode: &Layout| {
            let strides = mode.leaves().into_iter().filter(|(size, _)| !size.is_one());
            strides.filter_map(|(_, stride)| stride.as_const()).min().unwrap_or(i64::MAX)
        };
        let strides: Vec<i64> = self.modes()?.iter().map(least).collect();
        let mut order: Vec<usize> = (0..self.axes.len()).collect();
        // Stable, so that axes of one element stay where they are.
        order.sort_by_key(|axis| std::cmp::Reverse(strides[*axis]));
        Some(order)
    }

    /// Whether every `lanes` neighbours along an axis, from a multiple of `lanes` on, are
    /// neighbours in storage, the first of them at a multiple of `lanes`. If not, the reason.
    ///
    /// Only of arrays whose layout is set.
    pub fn keeps_vectors(&self, axis: usize, lanes: i64) -> Result<(), String> {
        let name = &self.name;
        if let Some(swizzle) = &self.layout.swizzle
            && lanes > 1i64 << swizzle.base().min(62)
        {
            let kept = 1i64 << swizzle.base().min(62);
            return Err(format!("{swizzle} keeps only {kept} neighbours of `{name}` together"));
        }
        let Some(modes) = self.modes() else { return Err(format!("the lengths of `{name}` vary")) };
        for (k, mode) in modes.iter().enumerate() {
            let mode = mode.coalesce().map_err(|e| e.to_string())?;
            for (number, (size, stride)) in mode.leaves().iter().enumerate() {
                let (Some(size), Some(stride)) = (size.as_const(), stride.as_const()) else {
                    return Err(format!("`{name}` has strides that are not constant"));
                };
                let is_row = k == axis && number == 0 && stride == 1 && size % lanes == 0;
                if !is_row && size > 1 && stride % lanes != 0 {
                    return Err(format!(
                        "the mode {mode} of axis {k} of `{name}` takes them apart or shifts them"
                    ));
                }
                if k == axis && number == 0 && !is_row {
                    return Err(format!("the mode {mode} of axis {k} of `{name}` takes them apart"));
                }
            }
        }
        Ok(())
    }

    /// Adds an axis of `slots` slots before the others, each with the layout that the array has.
    pub fn add_slots(&mut self, slots: i64) {
        let modes = self.modes();
        if let (Some(_), Some(mut modes)) = (&self.layout.modes, modes) {
            // Where a swizzle begins anew, and vectors are aligned.
            let period = self.layout.swizzle.as_ref().map_or(1, period).max(SLOT);
            let whole = Layout::Tuple(modes.clone()).cosize().ok().and_then(|n| n.as_const());
            let stride = (whole.unwrap_or(0) + period - 1) / period * period;
            modes.insert(0, Layout::mode(slots, stride));
            self.layout.modes = Some(Layout::Tuple(modes));
        }
        self.axes.insert(0, crate::Axis::new(crate::Expr::Int(slots)));
        if !self.order.is_empty() {
            self.order = std::iter::once(0).chain(self.order.iter().map(|n| n + 1)).collect();
        }
    }

    /// The modes with which elements stay where they are, if the element with some subscripts gets
    /// those that `new` says, on axes of these lengths: the composition of the array's modes with
    /// the inverse of `new`, decided by enumeration.
    ///
    /// Errors: why no modes do this.
    pub fn modes_behind(
        &self,
        lengths: &[i64],
        new: &dyn Fn(&[i64]) -> Option<Vec<i64>>,
    ) -> Result<Layout, String> {
        let name = &self.name;
        let vary = || format!("the lengths of `{name}` vary");
        let old = self.constant_lengths().ok_or_else(vary)?;
        let modes = Layout::Tuple(self.modes().ok_or_else(vary)?);
        let count = |of: &[i64]| of.iter().try_fold(1i64, |all, n| all.checked_mul(*n));
        let (Some(before), Some(after)) = (count(&old), count(lengths)) else {
            return Err(format!("`{name}` is too large"));
        };
        if before != after || before > 1 << 20 {
            let why = "has another number of elements: some would have no place in the layout";
            return Err(format!("the new shape of `{name}` {why}"));
        }
        let coordinates = |mut index: i64, of: &[i64]| -> Vec<i64> {
            let digits = of.iter().map(|n| {
                let digit = index % n;
                index /= n;
                digit
            });
            digits.collect()
        };
        let mut places: Vec<Option<i64>> = vec![None; usize::try_from(after).unwrap_or(0)];
        for index in 0..before {
            let to = new(&coordinates(index, &old)).filter(|to| to.len() == lengths.len());
            let inside = |to: &Vec<i64>| to.iter().zip(lengths).all(|(at, n)| (0..*n).contains(at));
            let to = to.filter(inside).ok_or_else(|| format!("elements of `{name}` leave the new shape"))?;
            let at = to.iter().zip(lengths).rev().fold(0, |sum, (at, n)| sum * n + at);
            let place = modes.at(index).map_err(|e| e.to_string())?;
            if let Some(slot) = usize::try_from(at).ok().and_then(|at| places.get_mut(at)) {
                *slot = Some(place);
            }
        }
        let place = |at: i64| usize::try_from(at).ok().and_then(|at| places.get(at).copied().flatten());
        let first = place(0).unwrap_or(0);
        if first != 0 {
            return Err(format!("the first element of `{name}` would be at {first}, not at the beginning"));
        }
        let mut found = Vec::new();
        let mut stride = 1;
        for (axis, length) in lengths.iter().enumerate() {
            let along = |k: i64| place(k * stride).ok_or(loopwright_layout::Error::Overflow);
            let mode = layout_of(*length, &along).map_err(|e| e.to_string())?;
            found.push(mode.ok_or_else(|| format!("places along the new axis {axis} are those of no mode"))?);
            stride *= length;
        }
        let whole = Layout::Tuple(found);
        for at in 0..after {
            if whole.at(at).ok() != place(at) {
                let cell = coordinates(at, lengths).iter().map(i64::to_string).collect::<Vec<_>>();
                return Err(format!("the place of [{}] is no sum over the new axes", cell.join(", ")));
            }
        }
        Ok(whole)
    }

    /// What is wrong with the layout that is set, if anything: it is not one of this shape, two
    /// elements have one place, or a swizzle would leave the storage.
    pub fn layout_fault(&self) -> Option<Diagnostic> {
        if self.layout.is_default() {
            return None;
        }
        let name = &self.name;
        let refuse = |message: String, help: &str| Some(Diagnostic::new("wrong-layout", message).help(help));
        if self.space == AddressSpace::Global {
            return refuse(
                format!("`{name}` is global, and layouts are set of shared and private arrays"),
                "choose order, strides and padding with `tag_array_axes` and `pad_array_axis`, or copy \
                 it with `add_prefetch` and set the layout of the copy",
            );
        }
        let Some(lengths) = self.constant_lengths().filter(|l| !l.is_empty()) else {
            return refuse(
                format!("the layout of `{name}` is set, but its shape is not constant"),
                "layouts are set of arrays of constant lengths",
            );
        };
        if let Some(layout) = &self.layout.modes {
            let Some(modes) = self.modes() else {
                return refuse(
                    format!(
                        "the layout {layout} is of {} axes, and `{name}` has {}",
                        layout.rank(),
                        lengths.len()
                    ),
                    "give a mode for each axis; a mode may itself have several",
                );
            };
            for (axis, (mode, length)) in modes.iter().zip(&lengths).enumerate() {
                let positive = mode.leaves().iter().all(|(_, d)| d.as_const().is_some_and(|d| d >= 0));
                if !mode.is_static() || !positive {
                    return refuse(
                        format!(
                            "the mode {mode} of axis {axis} of `{name}` has numbers that are negative or not constant"
                        ),
                        "sizes and strides of a layout are constant and not negative",
                    );
                }
                let size = mode.size().ok().and_then(|s| s.as_const());
                if size != Some(*length) {
                    let size = size.map_or("too many".into(), |s| s.to_string());
                    return refuse(
                        format!(
                            "the mode {mode} has {size} elements, and axis {axis} of `{name}` has {length}"
                        ),
                        "the size of each mode is the length of its axis",
                    );
                }
            }
        }
        let modes = Layout::Tuple(self.modes()?);
        if let Some(d) = self.two_in_one_place(&modes, &lengths) {
            return Some(d);
        }
        let size = self.storage_size();
        if size.is_none_or(|s| s > i64::from(i32::MAX)) {
            return refuse(
                format!("the storage of `{name}` is too large"),
                "layouts are for arrays of up to 2147483647 elements",
            );
        }
        if let (Some(swizzle), Some(size)) = (&self.layout.swizzle, size)
            && size % period(swizzle) != 0
        {
            return refuse(
                format!(
                    "{swizzle} permutes blocks of {} elements, and the storage of `{name}` has {size}: \
                     elements would be moved out of it",
                    period(swizzle)
                ),
                "choose a swizzle of fewer bits, or pad the array to a multiple",
            );
        }
        None
    }

    /// The number of elements of the storage before the swizzle; that of an array of constant
    /// shape.
    pub fn storage_size(&self) -> Option<i64> {
        let is_padded = self.layout.modes.is_none() && self.axes.iter().all(|a| a.stride.is_none());
        if is_padded {
            let lengths = self.constant_lengths()?;
            let mut padded = lengths.iter().zip(&self.axes).map(|(n, axis)| n + i64::from(axis.padding));
            return padded.try_fold(1i64, |size, n| size.checked_mul(n));
        }
        Layout::Tuple(self.modes()?).cosize().ok()?.as_const()
    }

    fn two_in_one_place(&self, modes: &Layout, lengths: &[i64]) -> Option<Diagnostic> {
        // Strides that are each larger than all before them together leave no place twice.
        let mut leaves: Vec<(i64, i64)> =
            modes.leaves().iter().filter_map(|(s, d)| Some((d.as_const()?, s.as_const()?))).collect();
        leaves.retain(|(_, size)| *size > 1);
        leaves.sort_unstable();
        let mut reach = 0i64;
        let apart = leaves.iter().all(|(stride, size)| {
            let is_apart = *stride > reach;
            reach = reach.saturating_add(stride.saturating_mul(size - 1));
            is_apart
        });
        if apart {
            return None;
        }
        let name = &self.name;
        let refused = |message: String| Diagnostic::new("wrong-layout", message);
        match collision(modes) {
            Ok(None) => None,
            Ok(Some((i, j, value))) => {
                // Coordinates of the axes, the first of which runs fastest.
                let cell = |mut index: i64| {
                    let mut digits = Vec::new();
                    for length in lengths {
                        digits.push((index % length).to_string());
                        index /= length;
                    }
                    format!("`{name}[{}]`", digits.join(", "))
                };
                Some(
                    refused(format!("two elements of `{name}` would have one place in the layout {modes}"))
                        .witness(format!("{} and {} are both at {value}", cell(i), cell(j)))
                        .help("choose strides that keep the axes apart"),
                )
            }
            Err(e) => Some(
                refused(format!("it is not known whether elements of `{name}` share a place: {e}"))
                    .help("choose a layout whose strides grow from mode to mode"),
            ),
        }
    }
}
