//! The same memory as elements of a different width.
//!
//! `upcast(L, n)` addresses units of `n` elements: a mode of stride `d` with `n | d` keeps its
//! size; one with `d | n` keeps a position for each unit that it enters. `downcast(L, n)` addresses
//! `n`-ths of elements: a mode of stride 1 gets `n` times as many positions, since the parts of
//! neighbours are neighbours.

use crate::{Error, Int, Layout, Result};

/// The layout in units of `n` elements.
pub fn upcast(layout: &Layout, n: &Int) -> Result<Layout> {
    match layout {
        Layout::Tuple(modes) => Ok(Layout::Tuple(modes.iter().map(|m| upcast(m, n)).collect::<Result<_>>()?)),
        Layout::Mode { stride, .. } if stride.is_zero() => Ok(layout.clone()),
        Layout::Mode { shape, stride } => {
            if let Some(units) = stride.exact_div(n) {
                return Ok(Layout::mode(shape.clone(), units));
            }
            let (magnitude, sign) = match stride.as_const() {
                Some(d) if d < 0 => (Int::from(d.checked_neg().ok_or(Error::Overflow)?), Int::from(-1)),
                _ => (stride.clone(), Int::ONE),
            };
            let is_open = [shape, stride, n].iter().any(|v| v.as_const().is_none());
            let refuse = |what: String| {
                if is_open {
                    Error::not_known("upcast", what)
                } else {
                    let why = format!("mode {shape}:{stride} needs {what}");
                    Error::no_layout(
                        "upcast",
                        why,
                        format!("{n} elements make a unit, and it ends inside one"),
                    )
                }
            };
            let within = n
                .exact_div(&magnitude)
                .ok_or_else(|| refuse(format!("that one of {magnitude} and {n} divides the other")))?;
            // The positions that share a unit; a mode that ends inside its only unit is one unit.
            let units = match shape.exact_div(&within) {
                Some(units) => units,
                None if within.exact_div(shape).is_some() => Int::ONE,
                None => return Err(refuse(format!("that one of {shape} and {within} divides the other"))),
            };
            Ok(Layout::mode(units, sign))
        }
    }
}

/// The layout in `n`-ths of elements.
pub fn downcast(layout: &Layout, n: &Int) -> Result<Layout> {
    match layout {
        Layout::Tuple(modes) => {
            Ok(Layout::Tuple(modes.iter().map(|m| downcast(m, n)).collect::<Result<_>>()?))
        }
        Layout::Mode { shape, stride } if stride.as_const().is_some_and(|d| d == 1 || d == -1) => {
            Ok(Layout::mode(shape.mul(n)?, stride.clone()))
        }
        Layout::Mode { shape, stride } => Ok(Layout::mode(shape.clone(), stride.mul(n)?)),
    }
}

/// The layout for elements of `to` bits, of one for elements of `from` bits.
pub fn recast(layout: &Layout, from: i64, to: i64) -> Result<Layout> {
    if from < 1 || to < 1 {
        return Err(Error::Call("recast: widths are at least 1".into()));
    }
    if to % from == 0 {
        upcast(layout, &Int::from(to / from))
    } else if from % to == 0 {
        downcast(layout, &Int::from(from / to))
    } else {
        // Through their greatest common divisor, as 3 units of 2 are 2 units of 3.
        let g = (1..=from).rev().find(|g| from % g == 0 && to % g == 0).unwrap_or(1);
        upcast(&downcast(layout, &Int::from(from / g))?, &Int::from(to / g))
    }
}
