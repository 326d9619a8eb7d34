//! Layouts as quasi-affine functions for `poly`.
//!
//! A layout is a single expression: `sum d_k (floor(i / p_k) mod s_k)`, the last mode without
//! `mod`. Queries about functions of indices (equality of two layouts) use this form. Queries about
//! images (injectivity, disjointness) use *natural coordinates*, one for each leaf: there the
//! function is affine, without divisions. Strides have to be constants; sizes may be launch
//! parameters, in the first form only that of the last mode.

use loopwright_poly::{Aff, Constraint, Map, Name};

use crate::{ComposedLayout, Error, Int, Layout, Result, Swizzle};

const NAME: &str = "affine form";

fn answered<T>(result: loopwright_poly::Result<T>) -> Result<T> {
    result.map_err(|e| match e {
        loopwright_poly::Error::Overflow => Error::Overflow,
        other => Error::not_known(NAME, other.to_string()),
    })
}

fn constant(value: &Int) -> Result<i64> {
    value.as_const().ok_or_else(|| Error::open_int(NAME, value))
}

impl Layout {
    /// The value at an index, for an index in the domain or beyond it.
    pub fn to_aff(&self, index: &Aff) -> Result<Aff> {
        let leaves = self.leaves();
        let mut sum = Aff::constant(0);
        let mut before = 1i64;
        for (k, (shape, stride)) in leaves.iter().enumerate() {
            let mut digit = answered(index.floor_div(before))?;
            if k + 1 < leaves.len() {
                let size = constant(shape)?;
                digit = answered(digit.modulo(size))?;
                before = before.checked_mul(size).ok_or(Error::Overflow)?;
            }
            sum = answered(sum.add(&answered(digit.scale(constant(stride)?))?))?;
        }
        Ok(sum)
    }

    /// The function of natural coordinates `c0, c1, ...`, one for each leaf, on the domain.
    pub fn natural_map(&self) -> Result<Map> {
        let mut ins = Vec::new();
        let mut value = Aff::constant(0);
        let mut bounds = Vec::new();
        for (k, (shape, stride)) in self.leaves().iter().enumerate() {
            let name = Name::from(format!("c{k}"));
            let coordinate = Aff::var(&name);
            bounds.push(answered(Constraint::le(&Aff::constant(0), &coordinate))?);
            bounds.push(answered(Constraint::lt(&coordinate, &shape.to_aff()?))?);
            value = answered(value.add(&answered(coordinate.scale(constant(stride)?))?))?;
            ins.push(name);
        }
        answered(answered(Map::from_affs(&ins, &[value]))?.constrain(&bounds))
    }

    /// Whether it is injective, for all sizes.
    pub fn is_injective(&self) -> Result<bool> {
        answered(self.natural_map()?.is_injective())
    }
}

impl Swizzle {
    /// The index after it, for an index that is not negative: each bit that changes is the sum of
    /// two bits modulo 2.
    pub fn to_aff(&self, index: &Aff) -> Result<Aff> {
        let bit = |k: u32| -> Result<Aff> { answered(answered(index.floor_div(1i64 << k))?.modulo(2)) };
        let distance = self.shift().unsigned_abs();
        let mut sum = index.clone();
        for b in 0..self.bits() {
            let (low, high) = (self.base() + b, self.base() + b + distance);
            let (changed, by) = if self.shift() >= 0 { (low, high) } else { (high, low) };
            let old = bit(changed)?;
            let new = answered(answered(old.add(&bit(by)?))?.modulo(2))?;
            let change = answered(answered(new.sub(&old))?.scale(1i64 << changed))?;
            sum = answered(sum.add(&change))?;
        }
        Ok(sum)
    }
}

impl ComposedLayout {
    /// The value at an index that is a function of names, as a function of the same names.
    pub fn to_aff(&self, index: &Aff) -> Result<Aff> {
        let inner = answered(self.layout.to_aff(index)?.add_constant(constant(&self.offset)?))?;
        self.swizzle.to_aff(&inner)
    }
}
