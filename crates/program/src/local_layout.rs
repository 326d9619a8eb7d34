//! Arrays in shared or private memory whose elements do not lie row-major.
//!
//! Such an array has a mode of constants for each axis, then a swizzle. [`LocalArray::offset`]
//! writes the position of an element as a value of its subscripts, in the form that a programmer
//! would choose; [`Positions`] has the positions by the definition of layouts. The final check
//! holds the first to the second for each element of each array ([`LocalArray::wrong_layout`]), and
//! each access to the first.
//!
//! A swizzle `Sw<B,M,S>` exchanges nothing but the `B` bits from bit `M` on. Where a power of two
//! divides what the remaining terms of the sum add, so that these bits lie below it and those that
//! are added to them above, only the terms below are combined with them:
//! `row * 64 + (col ^ (row & 7) << 3)`. Otherwise it is written for the whole: `x ^ (x >> 3 & 56)`.

use loopwright_kernel_ir::{Aff, DType};
use loopwright_layout::{ComposedLayout, Layout, Swizzle};

use crate::{
    BinOp, LocalArray, Value, ValueKind, VarId,
    fold::{add, mul},
    host_eval::binary,
};

/// The most elements of an array whose layout is set: positions are enumerated.
const MOST: i64 = 1 << 22;

/// The number of elements after which a swizzle repeats.
fn period(swizzle: &Swizzle) -> i64 {
    1i64 << (swizzle.bits() + swizzle.base() + swizzle.shift().unsigned_abs()).min(62)
}

/// The number of elements of an array's storage: whole blocks of its swizzle.
pub(crate) fn storage_size(layout: &ComposedLayout) -> u64 {
    let size = layout.layout.cosize().ok().and_then(|n| n.as_const()).unwrap_or(i64::MAX);
    let period = period(&layout.swizzle);
    let rest = size.rem_euclid(period);
    let size = if rest == 0 { Some(size) } else { size.checked_add(period - rest) };
    u64::try_from(size.unwrap_or(i64::MAX)).unwrap_or(0)
}

/// The row-major layout of an array with these lengths.
pub(crate) fn row_major(dims: &[u64]) -> Option<Layout> {
    let mut modes = Vec::with_capacity(dims.len());
    let mut stride = 1i64;
    for length in dims.iter().rev() {
        let length = i64::try_from(*length).ok()?;
        modes.push(Layout::mode(length, stride));
        stride = stride.checked_mul(length)?;
    }
    modes.reverse();
    Some(Layout::Tuple(modes))
}

/// The mode of each axis; a layout with a single mode has one axis.
fn modes(layout: &ComposedLayout) -> &[Layout] {
    match &layout.layout {
        Layout::Tuple(modes) => modes,
        mode @ Layout::Mode { .. } => std::slice::from_ref(mode),
    }
}

/// The position of each element, by the definition of layouts.
#[derive(Clone, Debug)]
pub struct Positions {
    /// What each subscript of each axis adds.
    axes: Vec<Vec<i64>>,
    swizzle: Swizzle,
}

impl Positions {
    /// The position of the element with these subscripts, if there is one.
    pub fn at(&self, subscripts: &[i64]) -> Option<i64> {
        if subscripts.len() != self.axes.len() {
            return None;
        }
        let mut sum = 0i64;
        for (axis, subscript) in self.axes.iter().zip(subscripts) {
            sum = sum.checked_add(*axis.get(usize::try_from(*subscript).ok()?)?)?;
        }
        Some(self.swizzle.apply(sum))
    }

    /// What a subscript of an axis adds before the swizzle; 0 where there is no element.
    pub fn part(&self, axis: usize, subscript: i64) -> i64 {
        let place = usize::try_from(subscript).ok().and_then(|s| self.axes.get(axis)?.get(s));
        place.copied().unwrap_or(0)
    }

    /// The position, from the sum of what the subscripts add.
    pub fn swizzled(&self, sum: i64) -> i64 {
        self.swizzle.apply(sum)
    }

    /// The subscripts of the element at a position, if there is one: found by enumeration.
    pub fn element_at(&self, place: i64) -> Option<Vec<i64>> {
        let mut found = None;
        self.each(&mut |at| {
            if found.is_none() && self.at(at) == Some(place) {
                found = Some(at.to_vec());
            }
        });
        found
    }

    /// Calls `f` on the subscripts of each element, the last running fastest.
    pub(crate) fn each(&self, f: &mut dyn FnMut(&[i64])) {
        let mut at = vec![0i64; self.axes.len()];
        if self.axes.iter().any(Vec::is_empty) {
            return;
        }
        loop {
            f(&at);
            let mut axis = self.axes.len();
            loop {
                let Some(next) = axis.checked_sub(1) else { return };
                axis = next;
                at[axis] += 1;
                if usize::try_from(at[axis]).is_ok_and(|n| n < self.axes[axis].len()) {
                    break;
                }
                at[axis] = 0;
            }
        }
    }
}

impl LocalArray {
    /// Where its elements lie, if a layout is set.
    pub fn positions(&self) -> Option<Positions> {
        let layout = self.layout.as_ref()?;
        let modes = modes(layout);
        if modes.len() != self.dims.len() || self.dims.iter().product::<u64>() > MOST as u64 {
            return None;
        }
        let mut axes = Vec::with_capacity(modes.len());
        for (mode, length) in modes.iter().zip(&self.dims) {
            let known = mode.known("layout").ok()?;
            if u64::try_from(known.size).ok()? != *length {
                return None;
            }
            axes.push((0..known.size).map(|k| known.at(k)).collect::<Result<Vec<i64>, _>>().ok()?);
        }
        Some(Positions { axes, swizzle: layout.swizzle })
    }

    /// Whether each `lanes` neighbours along the last axis whose first lies at a multiple of
    /// `lanes` are neighbours in storage: what a vector takes from there are these elements. And
    /// whether those from a multiple of `lanes` on begin at such a place.
    pub fn keeps_vectors(&self, lanes: i64) -> bool {
        if self.layout.is_none() || lanes == 1 {
            return true;
        }
        let (Some(positions), Some(length)) = (self.positions(), self.dims.last()) else { return false };
        let length = i64::try_from(*length).unwrap_or(0);
        let mut kept = true;
        positions.each(&mut |at| {
            let (Some(place), Some((last, outer))) = (positions.at(at), at.split_last()) else {
                kept = false;
                return;
            };
            kept &= place % lanes == 0 || last % lanes != 0;
            if !kept || place % lanes != 0 {
                return;
            }
            for k in 1..lanes.min(length - last) {
                let other: Vec<i64> = outer.iter().copied().chain([last + k]).collect();
                kept &= positions.at(&other) == Some(place + k);
            }
        });
        kept
    }

    /// The number of an element, counted row by row: its offset, if no layout is set.
    pub(crate) fn offset_in_rows(&self, cell: &[Aff]) -> Result<Aff, loopwright_poly::Error> {
        cell.iter().zip(&self.dims).try_fold(Aff::constant(0), |offset, (subscript, length)| {
            offset.scale(i64::try_from(*length).unwrap_or(i64::MAX))?.add(subscript)
        })
    }

    /// The offset of an element in the storage of an array whose layout is set.
    pub fn offset(&self, subscripts: &[Value], index: DType) -> Option<Value> {
        self.offset_of(subscripts, index, true)
    }

    /// As [`LocalArray::offset`], with all terms where only the low bits of a sum matter.
    pub(crate) fn whole_offset(&self, subscripts: &[Value], index: DType) -> Option<Value> {
        self.offset_of(subscripts, index, false)
    }

    fn offset_of(&self, subscripts: &[Value], index: DType, is_short: bool) -> Option<Value> {
        let layout = self.layout.as_ref()?;
        let modes = modes(layout);
        if modes.len() != subscripts.len() {
            return None;
        }
        let mut terms = Vec::new();
        for (mode, subscript) in modes.iter().zip(subscripts) {
            terms.extend(digits(mode, subscript, index)?);
        }
        Some(swizzled(&layout.swizzle, &terms, index, is_short))
    }

    /// Whether [`LocalArray::subscripts_in_rows`] has subscripts.
    pub fn is_swizzled_in_rows(&self) -> bool {
        let zeros = vec![Value::int(DType::I32, 0); self.dims.len()];
        self.subscripts_in_rows(&zeros, DType::I32).is_some()
    }

    /// The subscripts of a row-major array of the same lengths for the place of an element, if a
    /// swizzle permutes the elements of each row only: `tile[row][col ^ (row << 2 & 24)]`.
    pub fn subscripts_in_rows(&self, subscripts: &[Value], index: DType) -> Option<Vec<Value>> {
        let layout = self.layout.as_ref()?;
        let swizzle = &layout.swizzle;
        let (length, modes) = (i64::try_from(*self.dims.last()?).ok()?, modes(layout));
        let block = 1i64 << (swizzle.base() + swizzle.bits());
        if swizzle.bits() == 0
            || length % block != 0
            || modes.len() != subscripts.len()
            || row_major(&self.dims)? != Layout::Tuple(modes.to_vec())
        {
            return None;
        }
        let mut terms = Vec::new();
        for (mode, subscript) in modes.iter().zip(subscripts) {
            terms.extend(digits(mode, subscript, index)?);
        }
        let split = Split::of(swizzle, &terms).filter(|split| split.below <= length)?;
        let (last, outer) = subscripts.split_last()?;
        let col = xor(last.clone(), split.added(swizzle, &terms, index, true));
        Some(outer.iter().cloned().chain([col]).collect())
    }

    /// What is wrong with the layout that is set, if anything: it does not have this shape, two
    /// elements have one place, one lies outside of the storage, or [`LocalArray::offset`] says
    /// something else.
    pub fn wrong_layout(&self, index: DType) -> Option<String> {
        self.layout.as_ref()?;
        let name = &self.name;
        let Some(positions) = self.positions() else {
            return Some(format!("the layout of `{name}` has not a mode of constants for each axis"));
        };
        let names: Vec<Value> =
            (0..self.dims.len()).map(|k| Value { dtype: index, kind: ValueKind::Var(VarId(k)) }).collect();
        let Some(offset) = self.offset(&names, index) else {
            return Some(format!("the layout of `{name}` has no offsets"));
        };
        let size = self.elements();
        let mut taken = vec![false; usize::try_from(size).unwrap_or(0).min(MOST as usize * 4)];
        let mut wrong = None;
        positions.each(&mut |at| {
            if wrong.is_some() {
                return;
            }
            let place = positions.at(at);
            let taken = place.and_then(|p| usize::try_from(p).ok()).and_then(|p| taken.get_mut(p));
            let Some(taken) = taken else {
                wrong = Some(format!("`{name}{at:?}` lies outside of the storage of {size} elements"));
                return;
            };
            if std::mem::replace(taken, true) {
                wrong = Some(format!("`{name}{at:?}` lies where another element of `{name}` does"));
            } else if computed(&offset, at) != place {
                wrong = Some(format!("the offset of `{name}{at:?}` is not that of its layout"));
            }
        });
        wrong
    }
}

/// A part of a position: a digit of a subscript, and what it is multiplied by.
struct Term {
    digit: Value,
    size: i64,
    stride: i64,
}

/// The terms of a mode at a subscript.
fn digits(mode: &Layout, subscript: &Value, index: DType) -> Option<Vec<Term>> {
    let leaves = mode.coalesce().ok()?.leaves();
    let mut terms = Vec::new();
    let mut before = 1i64;
    for (number, (size, stride)) in leaves.iter().enumerate() {
        let (size, stride) = (size.as_const()?, stride.as_const()?);
        let mut digit = quotient(subscript.clone(), before, index);
        if number + 1 < leaves.len() {
            digit = remainder(digit, size, index);
        }
        before = before.checked_mul(size)?;
        if stride != 0 && size > 1 {
            terms.push(Term { digit, size, stride });
        }
    }
    Some(terms)
}

fn sum<'t>(terms: impl Iterator<Item = &'t Term>, unit: i64, index: DType) -> Value {
    terms.fold(Value::int(index, 0), |sum, term| {
        add(sum, mul(term.digit.clone(), Value::int(index, term.stride / unit)))
    })
}

/// The bits that a swizzle changes.
fn mask(swizzle: &Swizzle) -> i64 {
    ((1i64 << swizzle.bits()) - 1) << swizzle.base()
}

/// A power of two such that the bits that a swizzle changes come from the terms whose strides it
/// does not divide, which together stay below it, and those that are added to them from the others.
struct Split {
    below: i64,
}

impl Split {
    fn of(swizzle: &Swizzle, terms: &[Term]) -> Option<Split> {
        let (bits, base, distance) = (swizzle.bits(), swizzle.base(), swizzle.shift().unsigned_abs());
        if swizzle.shift() <= 0 {
            return None;
        }
        (base + bits..=base + distance).map(|width| Split { below: 1i64 << width }).find(|split| {
            let inner = terms.iter().filter(|t| !split.is_above(t));
            inner.map(|t| t.stride * (t.size - 1)).sum::<i64>() < split.below
        })
    }

    fn is_above(&self, term: &Term) -> bool {
        term.stride % self.below == 0
    }

    /// What is added to the bits that change.
    fn added(&self, swizzle: &Swizzle, terms: &[Term], index: DType, is_short: bool) -> Value {
        let distance = swizzle.shift().unsigned_abs();
        let repeats = 1i64 << (swizzle.base() + distance + swizzle.bits());
        let own = || terms.iter().filter(|t| self.is_above(t) && t.stride % repeats != 0);
        let unit = own().map(|t| t.stride.trailing_zeros()).min().unwrap_or(0);
        let all = sum(own(), 1 << unit, index);
        masked(all, i64::from(unit) - i64::from(distance), mask(swizzle), index, is_short)
    }
}

fn swizzled(swizzle: &Swizzle, terms: &[Term], index: DType, is_short: bool) -> Value {
    if swizzle.bits() == 0 {
        return sum(terms.iter(), 1, index);
    }
    if let Some(split) = Split::of(swizzle, terms) {
        let outer = sum(terms.iter().filter(|t| split.is_above(t)), 1, index);
        let inner = sum(terms.iter().filter(|t| !split.is_above(t)), 1, index);
        return add(outer, xor(inner, split.added(swizzle, terms, index, is_short)));
    }
    let distance = i64::from(swizzle.shift().unsigned_abs());
    let x = sum(terms.iter(), 1, index);
    let added = match swizzle.shift() >= 0 {
        true => masked(x.clone(), -distance, mask(swizzle), index, is_short),
        false => masked(x.clone(), distance, mask(swizzle) << distance, index, is_short),
    };
    xor(x, added)
}

/// `value << by & mask`, or with a shift to the right. In short, without terms of a sum that are
/// multiples of a power of two above the bits that the mask takes.
fn masked(value: Value, by: i64, mask: i64, index: DType, is_short: bool) -> Value {
    let taken = i64::from(i64::BITS - mask.leading_zeros()) - by;
    let value = match is_short {
        true => modulo(value, 1i64 << taken.clamp(0, 62), index),
        false => value,
    };
    bit_and(shifted(value, by, index), mask, index)
}

/// A value that differs by a multiple of a power of two, without summands that are multiples of it.
fn modulo(value: Value, power: i64, index: DType) -> Value {
    match value.kind {
        ValueKind::Int(v) => Value::int(index, v.rem_euclid(power)),
        ValueKind::Binary(BinOp::Add, a, b) => add(modulo(*a, power, index), modulo(*b, power, index)),
        ValueKind::Binary(BinOp::Mul, _, ref b) if b.as_int().is_some_and(|c| c % power == 0) => {
            Value::int(index, 0)
        }
        kind => Value { dtype: value.dtype, kind },
    }
}

/// `value / by` of a value that is not negative.
fn quotient(value: Value, by: i64, index: DType) -> Value {
    match value.as_int() {
        _ if by == 1 => value,
        Some(v) => Value::int(index, v.div_euclid(by)),
        None => Value::binary(BinOp::TruncDiv, value, Value::int(index, by)),
    }
}

/// `value % by` of a value that is not negative.
fn remainder(value: Value, by: i64, index: DType) -> Value {
    match value.as_int() {
        Some(v) => Value::int(index, v.rem_euclid(by)),
        None => Value::binary(BinOp::TruncRem, value, Value::int(index, by)),
    }
}

/// `value << by`, or `value >> -by`.
fn shifted(value: Value, by: i64, index: DType) -> Value {
    let (op, distance) = if by >= 0 { (BinOp::Shl, by) } else { (BinOp::Shr, -by) };
    match value.as_int() {
        _ if by == 0 => value,
        Some(v) if by >= 0 => Value::int(index, v << distance),
        Some(v) => Value::int(index, v >> distance),
        None => Value::binary(op, value, Value::int(index, distance)),
    }
}

fn bit_and(value: Value, mask: i64, index: DType) -> Value {
    match value.as_int() {
        Some(v) => Value::int(index, v & mask),
        None => Value::binary(BinOp::BitAnd, value, Value::int(index, mask)),
    }
}

fn xor(a: Value, b: Value) -> Value {
    match (a.as_int(), b.as_int()) {
        (Some(x), Some(y)) => Value::int(a.dtype, x ^ y),
        (Some(0), _) => b,
        (_, Some(0)) => a,
        _ => Value::binary(BinOp::BitXor, a, b),
    }
}

/// The value for these values of the variables.
fn computed(value: &Value, vars: &[i64]) -> Option<i64> {
    match &value.kind {
        ValueKind::Int(v) => Some(*v),
        ValueKind::Var(VarId(k)) => vars.get(*k).copied(),
        ValueKind::Binary(op, a, b) => binary(*op, computed(a, vars)?, computed(b, vars)?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use loopwright_layout::{Int, Swizzle};

    use super::*;

    fn array(dims: &[u64], modes: &str, (bits, base, shift): (i64, i64, i64)) -> LocalArray {
        let layout = ComposedLayout {
            swizzle: Swizzle::new(bits, base, shift).unwrap(),
            offset: Int::ZERO,
            layout: modes.parse().unwrap(),
        };
        let dims = dims.to_vec();
        LocalArray { name: "t".into(), dtype: DType::BF16, dims, layout: Some(layout), note: String::new() }
    }

    fn text(value: &Value) -> String {
        match &value.kind {
            ValueKind::Int(v) => v.to_string(),
            ValueKind::Var(VarId(k)) => ["r", "c", "d"][*k].to_string(),
            ValueKind::Binary(op, a, b) => {
                let op = match op {
                    BinOp::Add => "+",
                    BinOp::Mul => "*",
                    BinOp::TruncDiv => "/",
                    BinOp::TruncRem => "%",
                    BinOp::BitXor => "^",
                    BinOp::BitAnd => "&",
                    BinOp::Shl => "<<",
                    BinOp::Shr => ">>",
                    _ => "?",
                };
                format!("({} {op} {})", text(a), text(b))
            }
            _ => "?".into(),
        }
    }

    fn offset(array: &LocalArray) -> String {
        let names: Vec<Value> = (0..array.dims.len())
            .map(|k| Value { dtype: DType::I32, kind: ValueKind::Var(VarId(k)) })
            .collect();
        text(&array.offset(&names, DType::I32).unwrap())
    }

    #[test]
    fn offsets_are_those_of_the_layout_in_every_form() {
        // Rows of 64 bytes, of 128, of 32 as one mode of a tile, and rows that are too short for
        // the bits to be apart.
        for (array, form) in [
            (array(&[128, 32], "(128,32):(32,1)", (2, 3, 3)), "((r * 32) + (c ^ ((r << 2) & 24)))"),
            (array(&[64, 64], "(64,64):(64,1)", (3, 3, 3)), "((r * 64) + (c ^ ((r << 3) & 56)))"),
            (array(&[64, 128], "(64,128):(128,1)", (3, 3, 4)), "((r * 128) + (c ^ ((r << 3) & 56)))"),
            (array(&[16, 32], "(16,32):(32,1)", (3, 2, 3)), "((r * 32) + (c ^ ((r << 2) & 28)))"),
            (
                array(&[16, 16], "(16,16):(16,1)", (2, 3, 3)),
                "(((r * 16) + c) ^ ((((r * 16) + c) >> 3) & 24))",
            ),
            (array(&[16, 16], "(16,16):(16,1)", (2, 0, -4)), "(((r * 16) + c) ^ ((c << 4) & 48))"),
            (array(&[64, 16], "(64,16):(17,1)", (0, 0, 0)), "((r * 17) + c)"),
            (
                array(&[96, 16], "((32,3),16):((1,512),32)", (0, 0, 0)),
                "(((r % 32) + ((r / 32) * 512)) + (c * 32))",
            ),
            (
                array(&[3, 16, 64], "(3,16,64):(1024,64,1)", (3, 3, 3)),
                "(((r * 1024) + (c * 64)) + (d ^ ((c << 3) & 56)))",
            ),
        ] {
            assert_eq!(array.wrong_layout(DType::I32), None, "{array:?}");
            assert_eq!(offset(&array), form);
        }
    }

    #[test]
    fn a_swizzle_of_rows_has_subscripts_of_rows() {
        let names = |n: usize| -> Vec<Value> {
            (0..n).map(|k| Value { dtype: DType::I32, kind: ValueKind::Var(VarId(k)) }).collect()
        };
        let rows = |t: &LocalArray| {
            let found = t.subscripts_in_rows(&names(t.dims.len()), DType::I32)?;
            // They lie where the element does.
            let dims = t.dims.clone();
            let positions = t.positions().unwrap();
            positions.each(&mut |at| {
                let place = found.iter().zip(&dims).fold(0, |sum, (subscript, length)| {
                    let value = computed(subscript, at).unwrap();
                    assert!(0 <= value && value < *length as i64, "{at:?}");
                    sum * *length as i64 + value
                });
                assert_eq!(Some(place), positions.at(at), "{at:?}");
            });
            Some(found.iter().map(text).collect::<Vec<_>>().join(", "))
        };
        let t = array(&[3, 16, 64], "(3,16,64):(1024,64,1)", (3, 3, 3));
        assert_eq!(rows(&t).unwrap(), "r, c, (d ^ ((c << 3) & 56))");
        let t = array(&[16, 128], "(16,128):(128,1)", (3, 0, 7));
        assert_eq!(rows(&t).unwrap(), "r, (c ^ (r & 7))");
        // Across rows, of rows that are apart, and without a swizzle.
        for (dims, modes, swizzle) in [
            ([16, 16], "(16,16):(16,1)", (2, 3, 3)),
            ([64, 16], "(64,16):(32,1)", (1, 3, 2)),
            ([64, 16], "(64,16):(16,1)", (0, 0, 0)),
        ] {
            assert_eq!(rows(&array(&dims, modes, swizzle)), None);
        }
    }

    #[test]
    fn only_the_low_bits_of_a_row_are_added() {
        let t = array(&[128, 32], "(128,32):(32,1)", (2, 3, 3));
        let name = |k| Value { dtype: DType::I32, kind: ValueKind::Var(VarId(k)) };
        let times = |a, c| mul(a, Value::int(DType::I32, c));
        let row = add(add(times(name(0), 16), times(name(1), 2)), Value::int(DType::I32, 9));
        let short = t.offset(&[row.clone(), name(2)], DType::I32).unwrap();
        assert_eq!(text(&short), "(((((r * 16) + (c * 2)) + 9) * 32) + (d ^ ((((c * 2) + 1) << 2) & 24)))");
        let whole = t.whole_offset(&[row, name(2)], DType::I32).unwrap();
        for r in 0..7 {
            for c in 0..8 {
                for d in 0..32 {
                    assert_eq!(computed(&short, &[r, c, d]), computed(&whole, &[r, c, d]), "{r} {c} {d}");
                }
            }
        }
    }

    #[test]
    fn layouts_that_are_none_of_the_array_are_found() {
        for (array, why) in [
            (array(&[4, 8], "(4,4):(4,1)", (0, 0, 0)), "a mode of constants"),
            (array(&[4, 8], "32:1", (0, 0, 0)), "a mode of constants"),
            (array(&[4, 8], "(4,8):(4,1)", (0, 0, 0)), "another element"),
            (array(&[4, 8], "(4,8):(8,n)", (0, 0, 0)), "a mode of constants"),
        ] {
            let wrong = array.wrong_layout(DType::I32).unwrap();
            assert!(wrong.contains(why), "{wrong}");
        }
    }

    #[test]
    fn a_swizzle_keeps_vectors_of_its_blocks() {
        let t = array(&[128, 32], "(128,32):(32,1)", (2, 3, 3));
        assert!([1, 2, 4, 8].into_iter().all(|n| t.keeps_vectors(n)) && !t.keeps_vectors(16));
        let padded = array(&[64, 16], "(64,16):(18,1)", (0, 0, 0));
        assert!(padded.keeps_vectors(2));
        let columns = array(&[64, 16], "(64,16):(1,64)", (0, 0, 0));
        assert!(!columns.keeps_vectors(2));
        let split = array(&[4, 16], "(4,(2,8)):(16,(8,1))", (0, 0, 0));
        assert!(!split.keeps_vectors(2));
    }
}
