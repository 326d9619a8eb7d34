//! The functions of expressions, of swizzled layouts.

use super::{Value, functions};
use crate::{
    ComposedLayout, Error, Int, Layout, Result, Swizzle, composition, max_common_layout, max_common_vector,
};

/// What changes coordinates alone: the result has the same swizzle and offset.
const OF_COORDINATES: [&str; 22] = [
    "layout",
    "get",
    "select",
    "take",
    "group",
    "flatten",
    "append",
    "prepend",
    "coalesce",
    "filter",
    "filter_zeros",
    "dice",
    "logical_divide",
    "zipped_divide",
    "tiled_divide",
    "flat_divide",
    "logical_product",
    "zipped_product",
    "tiled_product",
    "flat_product",
    "blocked_product",
    "raked_product",
];

/// What is asked of coordinates alone.
const OF_SHAPES: [&str; 4] = ["size", "rank", "depth", "shape"];

/// The value of the call `name<chosen>(values)`, if one of these is a swizzled layout and the
/// function asks more of it than its values.
pub(super) fn call(name: &str, chosen: &[i64], values: &[Value]) -> Option<Result<Value>> {
    let is_of_values = matches!(name, "composition" | "crd2idx" | "values" | "is_injective");
    let at = values.iter().position(|value| matches!(value, Value::Composed(_)))?;
    let Some(Value::Composed(composed)) = values.get(at).filter(|_| !is_of_values) else { return None };
    Some(of(name, chosen, values, (at, composed)))
}

fn of(
    name: &str,
    chosen: &[i64],
    values: &[Value],
    (at, composed): (usize, &ComposedLayout),
) -> Result<Value> {
    let refuse = |why: &str| Err(Error::Call(format!("{name}: {composed}: {why}")));
    let of_layout = |f: &str| {
        let mut inside = values.to_vec();
        inside[at] = Value::Layout(composed.layout.clone());
        functions::call(f, chosen, &inside)
    };
    let alone = |f: &dyn Fn(&ComposedLayout) -> Result<Value>| {
        if values.len() != 1 {
            let count = values.len();
            return Err(Error::Call(format!("{name} takes 1 argument and was given {count}")));
        }
        match of_layout("layout")? {
            Value::Layout(mode) => f(&composed.with(mode)),
            _ => refuse("it has no such mode"),
        }
    };
    let is_first = at == usize::from(matches!(name, "slice" | "dice" | "slice_and_offset"));
    match name {
        "max_common_vector" | "max_common_layout" => common(name, values),
        _ if !is_first => refuse("a swizzle is the last thing that is applied, and here it would come first"),
        "tile_to_shape" => wrapped(composed, of_layout(name)?),
        _ if OF_COORDINATES.contains(&name) => wrapped(composed, of_layout(name)?),
        _ if OF_SHAPES.contains(&name) => of_layout(name),
        "stride" => {
            refuse("a swizzle has no strides: how far neighbours are apart depends on where they are")
        }
        "cosize" => alone(&|c| Ok(Value::Int(c.cosize()?.into()))),
        "slice" | "slice_and_offset" => {
            let coordinate = values.first().and_then(Value::coordinate);
            let Some(coordinate) = coordinate else { return refuse("a slice takes a coordinate") };
            let slice = Value::Composed(composed.slice(&coordinate)?);
            Ok(match name {
                "slice" => slice,
                // The offset is inside of the swizzle.
                _ => Value::Tuple(vec![slice, Value::Int(Int::ZERO)]),
            })
        }
        "complement" => {
            let size = match values.get(1).map(Value::int_tuple) {
                None => Int::ONE,
                Some(Some(size)) => size.product()?,
                Some(None) => return refuse("its complement is up to a number"),
            };
            Ok(Value::Layout(composed.complement(&size)?))
        }
        "right_inverse" => alone(&|c| Ok(c.right_inverse()?.into())),
        "left_inverse" => alone(&|c| Ok(c.left_inverse()?.into())),
        "nullspace" => alone(&|c| Ok(Value::Layout(c.nullspace()?))),
        "upcast" | "downcast" | "recast" => match (name, chosen) {
            ("upcast", [n]) if *n > 0 => Ok(composed.upcast(*n)?.into()),
            ("downcast", [n]) if *n > 0 => Ok(composed.downcast(*n)?.into()),
            ("recast", [from, to]) => Ok(composed.recast(*from, *to)?.into()),
            // Says what it takes.
            _ => of_layout(name),
        },
        "make_layout" => refuse("a tuple of layouts is swizzled as a whole: `Sw<B,M,S> o make_layout(L, M)`"),
        "thread_values" | "mma" | "tiled_mma" => {
            refuse("positions in a tile are not swizzled; swizzle the layout of the tile's memory")
        }
        _ => refuse("it takes numbers, or a layout without a swizzle"),
    }
}

/// The same swizzle and offset behind the layout of a result.
fn wrapped(composed: &ComposedLayout, value: Value) -> Result<Value> {
    match value {
        Value::Layout(layout) => Ok(Value::Composed(composed.with(layout))),
        other => Ok(other),
    }
}

/// What two layouts, of which one is swizzled at least, have in common: vectors stay together in
/// both if they do behind the swizzle.
fn common(name: &str, values: &[Value]) -> Result<Value> {
    let [a, b] = values else {
        return Err(Error::Call(format!("{name} takes 2 arguments and was given {}", values.len())));
    };
    let plain = |value: &Value| match value {
        Value::Composed(composed) => Some(composed.clone()),
        other => {
            let swizzle = Swizzle::new(0, 0, 0).ok()?;
            Some(ComposedLayout { swizzle, offset: Int::ZERO, layout: other.layout()? })
        }
    };
    let (Some(a), Some(b)) = (plain(a), plain(b)) else {
        return Err(Error::Call(format!("{name}: expected two layouts")));
    };
    let kept = [&a, &b].into_iter().filter_map(ComposedLayout::kept_together);
    let kept = kept.filter_map(|n| n.as_const()).min().unwrap_or(i64::MAX);
    if name == "max_common_vector" {
        let vector = max_common_vector(&a.layout, &b.layout)?;
        let known = vector.as_const().ok_or_else(|| Error::open_int("max_common_vector", &vector))?;
        // Powers of two: the greatest that divides both.
        let whole = 1i64 << known.max(1).trailing_zeros().min(62);
        return Ok(Value::Int(if kept == i64::MAX { vector } else { whole.min(kept).into() }));
    }
    let whole = max_common_layout(&a.layout, &b.layout)?;
    let size = whole.size()?.as_const().ok_or_else(|| Error::open("max_common_layout", &whole))?;
    for own in [&a, &b] {
        if !own.offset.is_zero() {
            return Err(Error::Call(format!("{name}: {own} begins at an offset, and not at 0")));
        }
    }
    // As far as both swizzles leave numbers as they are.
    let same = |i: &i64| a.swizzle.apply(*i) == *i && b.swizzle.apply(*i) == *i;
    let length = (0..size).take_while(same).count();
    let length = i64::try_from(length).map_err(|_| Error::Overflow)?;
    Ok(Value::Layout(composition(&whole, &Layout::mode(length, 1))?))
}
