//! The layout of a tensor's elements in a kernel's storage.

use std::borrow::Cow;

use loopwright_kernel_ir::{Diagnostic, Name};

/// Lengths and strides of an array, and the size of its storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub shape: Vec<usize>,
    pub strides: Vec<usize>,
    /// Number of elements of the storage.
    pub size: usize,
}

/// Maximum number of elements that are compared one by one if strides alone do not show that they
/// do not overlap.
const ENUMERABLE: usize = 1 << 24;

impl Layout {
    /// Row-major, without gaps.
    pub fn rows(shape: &[usize]) -> Result<Layout, Diagnostic> {
        let mut strides = vec![1; shape.len()];
        let mut size: usize = 1;
        for axis in (0..shape.len()).rev() {
            strides[axis] = size;
            size = size.checked_mul(shape[axis]).ok_or_else(|| {
                Diagnostic::new(
                    "tensor-size",
                    format!("an array of shape {shape:?} has more elements than memory can hold"),
                )
                .help("work on smaller pieces")
            })?;
        }
        Ok(Layout { shape: shape.to_vec(), strides, size })
    }

    /// Whether the storage is row-major without gaps.
    pub fn is_rows(&self) -> bool {
        Layout::rows(&self.shape).is_ok_and(|rows| rows.size == self.size && self.same_places(&rows))
    }

    /// Whether each element has the same offset; strides along axes of length 1 are ignored.
    pub fn same_places(&self, other: &Layout) -> bool {
        self.shape == other.shape
            && (self.shape.contains(&0)
                || (0..self.shape.len())
                    .all(|axis| self.shape[axis] == 1 || self.strides[axis] == other.strides[axis]))
    }

    /// Whether different elements have different offsets.
    pub fn is_injective(&self, array: &Name) -> Result<bool, Diagnostic> {
        if self.shape.contains(&0) {
            return Ok(true);
        }
        let mut axes: Vec<(usize, usize)> = self
            .strides
            .iter()
            .copied()
            .zip(self.shape.iter().copied())
            .filter(|(_, length)| *length > 1)
            .collect();
        axes.sort_unstable();
        // The offsets reached by the axes so far lie in 0..=reach.
        let mut reach = 0usize;
        if axes.iter().all(|(stride, length)| {
            let apart = *stride > reach;
            reach = reach.saturating_add((length - 1).saturating_mul(*stride));
            apart
        }) {
            return Ok(true);
        }
        if let [(a, rows), (b, columns)] = axes[..] {
            // Two elements meet where a multiple of one stride is one of the other.
            let common = gcd(a, b);
            return Ok(a > 0 && (b / common >= rows || a / common >= columns));
        }
        let count = self.shape.iter().product::<usize>();
        if count > ENUMERABLE {
            return Err(Diagnostic::new(
                "layout-unknown",
                format!(
                    "elements of `{array}`, which the kernel writes, may overlap with these \
                     strides"
                ),
            )
            .help("use strides each of which is greater than the span of the smaller ones"));
        }
        let mut taken = vec![false; self.size];
        Ok(self
            .offsets()
            .all(|offset| taken.get_mut(offset).is_some_and(|taken| !std::mem::replace(taken, true))))
    }

    /// The offset of each element, in row-major order.
    fn offsets(&self) -> impl Iterator<Item = usize> + '_ {
        let count = self.shape.iter().product::<usize>();
        let mut index = vec![0; self.shape.len()];
        let mut offset = 0;
        (0..count).map(move |_| {
            let here = offset;
            for axis in (0..index.len()).rev() {
                index[axis] += 1;
                offset += self.strides[axis];
                if index[axis] < self.shape[axis] {
                    break;
                }
                offset -= self.strides[axis] * self.shape[axis];
                index[axis] = 0;
            }
            here
        })
    }

    /// The storage that holds these elements; gaps are zero. Refused if elements that share a place
    /// differ.
    pub fn pack<'a>(&self, rows: &'a [u8], size: usize) -> Result<Cow<'a, [u8]>, Diagnostic> {
        if self.is_rows() {
            return Ok(Cow::Borrowed(rows));
        }
        let mut storage = vec![0; self.size * size];
        for (element, offset) in rows.chunks_exact(size).zip(self.offsets()) {
            if let Some(place) = storage.get_mut(offset * size..(offset + 1) * size) {
                place.copy_from_slice(element);
            }
        }
        for (number, (element, offset)) in rows.chunks_exact(size).zip(self.offsets()).enumerate() {
            if storage.get(offset * size..(offset + 1) * size).is_some_and(|held| held != element) {
                return Err(Diagnostic::new(
                    "overlapping-elements",
                    format!(
                        "elements of an array of shape {:?} share memory by its strides {:?}, and have \
                         different values",
                        self.shape, self.strides
                    ),
                )
                .witness(format!("element {number}, counted row by row, and a later one"))
                .help(
                    "use strides for which elements do not overlap, or an array of the device that has these",
                ));
            }
        }
        Ok(Cow::Owned(storage))
    }

    /// The elements in this storage, in row-major order. It may be longer: of an array of structs,
    /// what lies behind a field of one is those behind it.
    pub fn unpack(&self, storage: &[u8], size: usize) -> Vec<u8> {
        if self.is_rows() {
            return storage.get(..self.size * size).unwrap_or(storage).to_vec();
        }
        let mut rows = Vec::with_capacity(self.shape.iter().product::<usize>() * size);
        for offset in self.offsets() {
            match storage.get(offset * size..(offset + 1) * size) {
                Some(element) => rows.extend_from_slice(element),
                None => rows.resize(rows.len() + size, 0),
            }
        }
        rows
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn injective(shape: &[usize], strides: &[usize], size: usize) -> bool {
        let layout = Layout { shape: shape.to_vec(), strides: strides.to_vec(), size };
        layout.is_injective(&Name::new("a")).unwrap()
    }

    #[test]
    fn elements_that_share_a_place_are_found() {
        assert!(injective(&[3, 4], &[4, 1], 12));
        assert!(injective(&[3, 4], &[1, 3], 12));
        assert!(!injective(&[3, 4], &[0, 1], 4));
        assert!(!injective(&[3, 4], &[3, 1], 10));
        // Interleaved without meeting: 0 2 4 and 0 3 give 0 3 2 5 4 7.
        assert!(injective(&[3, 2], &[2, 3], 8));
        assert!(injective(&[1, 4], &[0, 1], 4) && injective(&[0, 4], &[0, 0], 1));
        // Nothing overlaps in an empty array, even if the product of its other lengths has no
        // value.
        assert!(injective(&[1 << 40, 1 << 40, 0], &[0, 0, 1], 0));
    }

    /// Three axes whose elements lie between each other: their strides alone do not tell.
    #[test]
    fn elements_of_three_axes_that_lie_between_each_other_are_compared() {
        // 0 2 4 and 0 3 give 0 2 3 4 5 7. These meet themselves 1 or 7 further on, not 8 or 10.
        assert!(injective(&[3, 2, 2], &[2, 3, 8], 16) && injective(&[2, 2, 3], &[10, 3, 2], 18));
        assert!(!injective(&[3, 2, 2], &[2, 3, 1], 9) && !injective(&[3, 2, 2], &[2, 3, 7], 15));
    }

    /// More elements than are compared one by one: strides have to show it.
    #[test]
    fn strides_of_large_arrays_tell() {
        let side = 1 << 13;
        assert!(injective(&[side, side], &[side, 1], side * side));
        assert!(injective(&[side, side], &[1, side], side * side));
        assert!(injective(&[side, side], &[2 * side, 1], 2 * side * side));
        // The stride of an axis with one element is ignored.
        assert!(injective(&[1, side, side], &[0, side, 1], side * side));
        // Of two axes they always tell.
        assert!(!injective(&[side, side], &[side - 1, 1], side * side));
        assert!(!injective(&[side, side], &[0, 1], side));
        assert!(injective(&[side, side - 1], &[side - 1, side], 2 * side * side));
        let (shape, strides) = (vec![side, side, 2], vec![side, 1, side - 1]);
        let layout = Layout { shape, strides, size: 2 * side * side };
        assert_eq!(layout.is_injective(&Name::new("a")).unwrap_err().code, "layout-unknown");
    }

    #[test]
    fn places_differ_by_any_axis_that_has_several_elements() {
        let layout =
            |strides: [usize; 3]| Layout { shape: vec![2, 1, 3], strides: strides.to_vec(), size: 16 };
        let places = layout([3, 3, 1]);
        assert!(places.same_places(&places) && places.same_places(&layout([3, 7, 1])));
        assert!(!places.same_places(&layout([4, 3, 1])));
        assert!(!places.same_places(&layout([3, 3, 2])));
    }

    /// All shapes and strides of two axes with a few elements, against the offsets themselves.
    #[test]
    fn places_of_small_arrays_are_told_apart_as_their_offsets_are() {
        let small = 0..16usize;
        let all = small.flat_map(|shape| (0..25usize).map(move |strides| (shape, strides)));
        let layouts: Vec<(Layout, Vec<usize>)> = all
            .map(|(shape, strides)| {
                let (shape, strides) = ([shape / 4, shape % 4], [strides / 5, strides % 5]);
                let places: Vec<usize> = (0..shape[0])
                    .flat_map(|i| (0..shape[1]).map(move |j| i * strides[0] + j * strides[1]))
                    .collect();
                let size = places.iter().max().map_or(0, |last| last + 1);
                (Layout { shape: shape.to_vec(), strides: strides.to_vec(), size }, places)
            })
            .collect();
        for (layout, places) in &layouts {
            assert_eq!(layout.offsets().collect::<Vec<_>>(), *places, "{layout:?}");
            let distinct = places.iter().collect::<std::collections::BTreeSet<_>>().len();
            let injective = injective(&layout.shape, &layout.strides, layout.size);
            assert_eq!(injective, distinct == places.len(), "{layout:?}");
            let rows = places.iter().copied().eq(0..places.len());
            assert_eq!(layout.is_rows(), rows, "{layout:?}");
            for (other, there) in layouts.iter().filter(|(other, _)| other.shape == layout.shape) {
                assert_eq!(layout.same_places(other), places == there, "{layout:?} {other:?}");
            }
        }
    }

    /// Storage beyond the last element makes an array no dense one.
    #[test]
    fn padding_behind_the_last_row_is_a_gap() {
        let layout = |size| Layout { shape: vec![2, 3], strides: vec![3, 1], size };
        assert!(layout(6).is_rows() && !layout(7).is_rows() && !layout(5).is_rows());
        let other = Layout { shape: vec![3, 2], strides: vec![3, 1], size: 6 };
        assert!(!layout(6).same_places(&other), "other lengths are other elements");
    }

    #[test]
    fn packing_and_unpacking_are_inverse() {
        let padded = Layout { shape: vec![2, 3], strides: vec![4, 1], size: 8 };
        let rows = [1u8, 2, 3, 4, 5, 6];
        let packed = |layout: &Layout, rows: &[u8]| layout.pack(rows, 1).map(Cow::into_owned);
        assert_eq!(packed(&padded, &rows).unwrap(), [1, 2, 3, 0, 4, 5, 6, 0]);
        assert_eq!(padded.unpack(&padded.pack(&rows, 1).unwrap(), 1), rows);
        assert_eq!(padded.unpack(&[1, 2, 3, 0, 4], 1), [1, 2, 3, 4, 0, 0], "missing elements are zero");
        let columns = Layout { shape: vec![2, 3], strides: vec![1, 2], size: 6 };
        assert_eq!(packed(&columns, &rows).unwrap(), [1, 4, 2, 5, 3, 6]);
        assert_eq!(columns.unpack(&columns.pack(&rows, 1).unwrap(), 1), rows);
    }

    /// Rows of one element are dense whatever their strides, as the field of one struct is.
    #[test]
    fn what_lies_behind_the_last_element_is_not_unpacked() {
        let field = Layout { shape: vec![1], strides: vec![2], size: 1 };
        assert_eq!(field.unpack(&[1, 2, 3, 4], 2), [1, 2]);
        let dense = Layout { shape: vec![2, 2], strides: vec![2, 1], size: 4 };
        assert_eq!(dense.unpack(&[1, 2, 3, 4, 5, 6], 1), [1, 2, 3, 4]);
    }

    #[test]
    fn elements_that_share_a_place_have_one_value() {
        let windows = Layout { shape: vec![3, 2], strides: vec![1, 1], size: 4 };
        assert_eq!(*windows.pack(&[1, 2, 2, 3, 3, 4], 1).unwrap(), [1, 2, 3, 4]);
        let refused = windows.pack(&[1, 2, 2, 3, 5, 4], 1).unwrap_err();
        assert_eq!(refused.code, "overlapping-elements");
        assert_eq!(refused.witness.unwrap(), "element 3, counted row by row, and a later one");
    }
}
