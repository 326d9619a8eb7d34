//! Swizzled layouts: `Sw o offset o L`.
//!
//! What an operation does to coordinates, it does to the layout inside: slices, divides, products,
//! regroupings of modes leave the swizzle and the offset as they are, and the result is the same
//! function of the new coordinates. Other operations are asked of the function itself, by
//! enumeration: inverses, the complement, and what is composed with a layout that comes after the
//! swizzle. Whether their result is a swizzled layout is decided by trying all swizzles: if one of
//! them is the last one applied, what comes before it is a layout with an offset, which has to fit
//! the values.

use std::{collections::HashMap, fmt};

use crate::{
    Coordinate, Error, Int, IntTuple, Layout, Result, Swizzle, complement, complement::collision,
    composition, fit::LIMIT, fit::fit, inverse,
};

/// More points than this are not tried with all swizzles.
const TRIED: i64 = 1 << 14;

/// A layout followed by an offset and a swizzle: `Sw o offset o L`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ComposedLayout {
    /// The swizzle, applied last.
    pub swizzle: Swizzle,
    /// The offset, added after the layout and before the swizzle.
    pub offset: Int,
    /// The layout, applied first.
    pub layout: Layout,
}

impl ComposedLayout {
    /// The index that an index of the domain is mapped to.
    pub fn at(&self, index: i64) -> Result<i64> {
        self.shifted(self.layout.at(index)?)
    }

    /// The index that a coordinate is mapped to.
    pub fn at_coordinate(&self, coordinate: &IntTuple) -> Result<i64> {
        self.shifted(self.layout.at_coordinate(coordinate)?)
    }

    fn shifted(&self, index: i64) -> Result<i64> {
        let offset =
            self.offset.as_const().ok_or_else(|| Error::open_int("composed layout", &self.offset))?;
        Ok(self.swizzle.apply(index.checked_add(offset).ok_or(Error::Overflow)?))
    }

    /// All indices, in the order of the domain.
    pub fn values(&self) -> Result<Vec<i64>> {
        self.layout.values()?.into_iter().map(|i| self.shifted(i)).collect()
    }

    /// The composition with a layout that is applied first.
    pub fn compose(&self, first: &Layout) -> Result<Self> {
        let layout = crate::compose::composition(&self.layout, first)?;
        Ok(ComposedLayout { layout, ..self.clone() })
    }

    /// Two indices with the same value, and the value, if it is not injective. A swizzle is
    /// injective.
    pub fn collision(&self) -> Result<Option<(i64, i64, i64)>> {
        Ok(match collision(&self.layout)? {
            Some((i, j, _)) => Some((i, j, self.at(i)?)),
            None => None,
        })
    }

    /// The plain layout that is the same function, if there is one with the same tree. It is
    /// decided by enumeration.
    pub fn as_layout(&self) -> Result<Option<Layout>> {
        let known = self.layout.known("composed layout")?;
        if known.size > LIMIT {
            return Err(Error::TooLarge { operation: "composed layout", points: known.size });
        }
        let Ok(found) = crate::fit::fit(known.size, &|i| self.at(i))? else { return Ok(None) };
        crate::compose::composition(&found, &Layout::compact(&self.layout.shape())?).map(Some).or(Ok(None))
    }
}

impl fmt::Display for ComposedLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} o {} o {}", self.swizzle, self.offset, self.layout)
    }
}

impl ComposedLayout {
    /// The same swizzle and offset behind another layout.
    pub fn with(&self, layout: Layout) -> Self {
        ComposedLayout { layout, ..self.clone() }
    }

    /// One more than the largest value.
    pub fn cosize(&self) -> Result<i64> {
        self.few("cosize", LIMIT)?;
        self.values()?.into_iter().max().unwrap_or(-1).checked_add(1).ok_or(Error::Overflow)
    }

    /// The modes that a coordinate leaves open, from where it fixes the others.
    pub fn slice(&self, coordinate: &Coordinate) -> Result<Self> {
        let (layout, fixed) = self.layout.slice_and_offset(coordinate)?;
        let offset = self.offset.add(&fixed.into())?;
        Ok(ComposedLayout { swizzle: self.swizzle, offset, layout })
    }

    /// The layout with the values `after(self(i))` and the tree of this one.
    pub fn followed_by(&self, operation: &'static str, after: &dyn Fn(i64) -> Result<i64>) -> Result<Self> {
        self.few(operation, TRIED)?;
        let values: Vec<i64> = self.values()?.into_iter().map(after).collect::<Result<_>>()?;
        let tree = Layout::compact(&self.layout.shape())?;
        self.swizzled_fit(operation, &values, Some(&tree))
    }

    /// The positions that it does not reach, up to `size`: those of a layout with the same image.
    pub fn complement(&self, size: &Int) -> Result<Layout> {
        const NAME: &str = "complement";
        self.few(NAME, LIMIT)?;
        let mut image = self.values()?;
        image.sort_unstable();
        image.dedup();
        let count = i64::try_from(image.len()).map_err(|_| Error::Overflow)?;
        let at = |i: i64| Ok(usize::try_from(i).ok().and_then(|i| image.get(i)).copied().unwrap_or(0));
        match fit(count, &at)? {
            Ok(layout) => complement(&layout, size),
            Err(witness) => {
                let why = format!("the positions that {self} reaches, in order, are those of no layout");
                Err(Error::no_layout(NAME, why, witness))
            }
        }
    }

    /// `R` with `self(R(i)) = i`: for all values from 0 on that are reached, or up to a power of
    /// two if that is a swizzled layout and all of them are not.
    pub fn right_inverse(&self) -> Result<Self> {
        const NAME: &str = "right_inverse";
        self.few(NAME, TRIED)?;
        let values = self.values()?;
        let mut first = HashMap::new();
        for (i, value) in (0i64..).zip(&values) {
            first.entry(*value).or_insert(i);
        }
        let inverse: Vec<i64> = (0..).map_while(|i| first.get(&i).copied()).collect();
        if inverse.is_empty() {
            let witness = format!("index 0 is {}", values.first().copied().unwrap_or_default());
            return Err(Error::no_layout(NAME, format!("{self} is 0 at no index"), witness));
        }
        let mut length = inverse.len();
        loop {
            match self.swizzled_fit(NAME, &inverse[..length], None) {
                Err(Error::NoLayout { .. }) if length > 1 => {
                    // The next power of two below.
                    let half = length.next_power_of_two() / 2;
                    length = half;
                }
                found => return found,
            }
        }
    }

    /// `R` with `R(self(i)) = i`: if the values are `0 .. size`, its right inverse; otherwise the
    /// left inverse of the layout behind the swizzle, which is its own.
    pub fn left_inverse(&self) -> Result<Self> {
        const NAME: &str = "left_inverse";
        self.few(NAME, TRIED)?;
        let values = self.values()?;
        let mut sorted = values.clone();
        sorted.sort_unstable();
        if sorted.iter().zip(0..).all(|(value, i)| *value == i) {
            let inverse = self.right_inverse()?;
            if inverse.layout.size()?.as_const() == i64::try_from(values.len()).ok() {
                return Ok(inverse);
            }
        }
        let refuse = |why: &str| Error::Call(format!("{NAME}: {self}: {why}"));
        if !self.offset.is_zero() {
            return Err(refuse("it begins at an offset, which a layout does not take away"));
        }
        let inner = inverse::left_inverse(&self.layout)?;
        let swizzle = &self.swizzle;
        let period = 1i64 << (swizzle.bits() + swizzle.base() + swizzle.shift().unsigned_abs()).min(62);
        let periods = (self.cosize()?.max(1) - 1) / period + 1;
        let length = periods.checked_mul(period).ok_or(Error::Overflow)?;
        if length > TRIED {
            return Err(Error::TooLarge { operation: NAME, points: length });
        }
        let found: Vec<i64> = (0..length).map(|x| inner.at(swizzle.apply(x))).collect::<Result<_>>()?;
        self.swizzled_fit(NAME, &found, None).map_err(|_| {
            refuse("the swizzle is undone before the layout is, and no swizzled layout does both")
        })
    }

    /// `N` with `self(N(i)) = 0`.
    pub fn nullspace(&self) -> Result<Layout> {
        match self.at(0)? {
            0 => inverse::nullspace(&self.layout),
            first => Err(Error::no_layout(
                "nullspace",
                format!("no index of {self} that a layout begins with is 0"),
                format!("index 0 is {first}"),
            )),
        }
    }

    /// In units of `2^units` elements, which the swizzle must not take apart.
    fn upcast_by(&self, units: u32) -> Result<Self> {
        const NAME: &str = "upcast";
        let n = Int::from(1i64 << units.min(62));
        let Some(swizzle) = self.swizzle.of_units(units) else {
            let kept = 1i64 << self.swizzle.base().min(62);
            let why = format!("{} takes {n} neighbours apart", self.swizzle);
            return Err(Error::no_layout(NAME, why, format!("it keeps blocks of {kept}")));
        };
        let Some(offset) = self.offset.exact_div(&n) else {
            let why = format!("the offset {} is inside of a unit of {n}", self.offset);
            return Err(Error::no_layout(NAME, why, format!("{} is no multiple of {n}", self.offset)));
        };
        Ok(ComposedLayout { swizzle, offset, layout: crate::upcast(&self.layout, &n)? })
    }

    /// In units of `n` elements: a swizzle is one of units of `n` if that is a power of two.
    pub fn upcast(&self, n: i64) -> Result<Self> {
        match power_of_two(n) {
            Some(units) => self.upcast_by(units),
            None if self.swizzle.bits() == 0 => {
                let refuse = || Error::Call(format!("upcast: {} is no multiple of {n}", self.offset));
                let offset = self.offset.exact_div(&n.into()).ok_or_else(refuse)?;
                let layout = crate::upcast(&self.layout, &n.into())?;
                Ok(ComposedLayout { swizzle: self.swizzle, offset, layout })
            }
            None => Err(self.no_power("upcast", n)),
        }
    }

    /// In `n`-ths of elements: a swizzle is one of these if `n` is a power of two.
    pub fn downcast(&self, n: i64) -> Result<Self> {
        let swizzle = match power_of_two(n) {
            Some(parts) => self.swizzle.of_parts(parts)?,
            None if self.swizzle.bits() == 0 => self.swizzle,
            None => return Err(self.no_power("downcast", n)),
        };
        let layout = crate::downcast(&self.layout, &n.into())?;
        Ok(ComposedLayout { swizzle, offset: self.offset.mul(&n.into())?, layout })
    }

    /// The layout for elements of `to` bits, of one for elements of `from` bits.
    pub fn recast(&self, from: i64, to: i64) -> Result<Self> {
        if from < 1 || to < 1 {
            return Err(Error::Call("recast: widths are at least 1".into()));
        }
        let g = (1..=from).rev().find(|g| from % g == 0 && to % g == 0).unwrap_or(1);
        match (from / g, to / g) {
            (1, n) => self.upcast(n),
            (n, 1) => self.downcast(n),
            (n, m) => self.downcast(n)?.upcast(m),
        }
    }

    /// How many neighbours stay together wherever they begin: a power of two that divides the
    /// offset. `None` if all do.
    pub fn kept_together(&self) -> Option<Int> {
        if self.swizzle.bits() == 0 && self.offset.is_zero() {
            return None;
        }
        let kept = match self.swizzle.bits() {
            0 => 62,
            _ => self.swizzle.base().min(62),
        };
        let of_offset = match self.offset.as_const() {
            Some(0) => 62,
            Some(offset) => offset.trailing_zeros(),
            None => 0,
        };
        Some(Int::from(1i64 << kept.min(of_offset)))
    }

    fn no_power(&self, operation: &'static str, n: i64) -> Error {
        Error::Call(format!(
            "{operation}: {} exchanges bits, and {n} elements are no power of two",
            self.swizzle
        ))
    }

    fn few(&self, operation: &'static str, most: i64) -> Result<()> {
        let points = self.layout.known(operation)?.size;
        if points > most { Err(Error::TooLarge { operation, points }) } else { Ok(()) }
    }

    /// The swizzled layout of these values, with the tree of the shape of another one if that is
    /// given; this one's swizzle is tried first.
    fn swizzled_fit(&self, operation: &'static str, values: &[i64], tree: Option<&Layout>) -> Result<Self> {
        let count = i64::try_from(values.len()).map_err(|_| Error::Overflow)?;
        let first = values.first().copied().unwrap_or(0);
        let mut witness = String::new();
        let mut attempt = |swizzle: Swizzle| -> Result<Option<ComposedLayout>> {
            let offset = swizzle.apply(first);
            let at = |i: i64| {
                let value = usize::try_from(i).ok().and_then(|i| values.get(i)).copied().unwrap_or(0);
                swizzle.apply(value).checked_sub(offset).ok_or(Error::Overflow)
            };
            Ok(match fit(count, &at)? {
                Ok(layout) => {
                    let layout = match tree {
                        Some(tree) => composition(&layout, tree).ok(),
                        None => Some(layout),
                    };
                    layout.map(|layout| ComposedLayout { swizzle, offset: offset.into(), layout })
                }
                Err(why) => {
                    if swizzle.bits() == 0 {
                        witness = why;
                    }
                    None
                }
            })
        };
        let negative = values.iter().any(|v| *v < 0);
        let most = values.iter().max().copied().unwrap_or(0);
        let width = i64::from(64 - most.max(0).leading_zeros());
        let plain = Swizzle::new(0, 0, 0)?;
        for swizzle in [plain, self.swizzle] {
            if let Some(found) = attempt(swizzle)? {
                return Ok(found);
            }
        }
        // The bits that change and those that change them are below the greatest value's.
        for bits in (1..=width / 2).filter(|_| !negative) {
            for distance in bits..=width - bits {
                for base in 0..=width - bits - distance {
                    for shift in [distance, -distance] {
                        if let Some(found) = attempt(Swizzle::new(bits, base, shift)?)? {
                            return Ok(found);
                        }
                    }
                }
            }
        }
        let why = "with every swizzle behind it, what is left is no layout".to_string();
        if witness.is_empty() {
            witness = "its modes are others".into();
        }
        Err(Error::no_layout(operation, why, format!("without one, {witness}")))
    }
}

fn power_of_two(n: i64) -> Option<u32> {
    (n > 0 && n & (n - 1) == 0).then(|| n.trailing_zeros())
}
