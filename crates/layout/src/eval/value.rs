//! Values of expressions.

use std::fmt;

use crate::{
    ComposedLayout, Coordinate, Error, Int, IntTuple, Layout, Result, Swizzle, TiledInstruction, Tiler,
};

/// The value of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number: a constant, or an expression of launch parameters.
    Int(Int),
    /// A truth value, `true` or `false`.
    Bool(bool),
    /// All of a mode, written `_`.
    All,
    /// A tuple of values: a shape, a coordinate, a tiler.
    Tuple(Vec<Value>),
    /// A layout without a swizzle.
    Layout(Layout),
    /// A swizzle by itself.
    Swizzle(Swizzle),
    /// A layout whose values are swizzled.
    Composed(ComposedLayout),
    /// A layout of (thread, value) in a tile.
    ThreadValues {
        /// From (thread, value) to an index into the tile.
        layout: Layout,
        /// The numbers of rows and of columns of the tile.
        tile: IntTuple,
    },
    /// A tensor-core instruction, alone or repeated.
    Instruction(Box<TiledInstruction>),
}

impl From<&IntTuple> for Value {
    fn from(tuple: &IntTuple) -> Self {
        match tuple {
            IntTuple::Int(n) => Value::Int(n.clone()),
            IntTuple::Tuple(elements) => Value::Tuple(elements.iter().map(Value::from).collect()),
        }
    }
}

/// A layout without a swizzle and an offset is one.
impl From<ComposedLayout> for Value {
    fn from(composed: ComposedLayout) -> Self {
        match composed.swizzle.bits() == 0 && composed.offset.is_zero() {
            true => Value::Layout(composed.layout),
            false => Value::Composed(composed),
        }
    }
}

impl Value {
    /// The value as a tuple of numbers.
    pub fn int_tuple(&self) -> Option<IntTuple> {
        match self {
            Value::Int(n) => Some(IntTuple::Int(n.clone())),
            Value::Tuple(parts) => {
                Some(IntTuple::Tuple(parts.iter().map(Value::int_tuple).collect::<Option<_>>()?))
            }
            _ => None,
        }
    }

    /// The value as a layout: a tuple of several is one layout, and a number `n` is `n:1`.
    pub fn layout(&self) -> Option<Layout> {
        match self {
            Value::Layout(layout) => Some(layout.clone()),
            Value::Int(n) => Some(Layout::mode(n.clone(), 1)),
            Value::Tuple(parts) if !parts.iter().any(|p| matches!(p, Value::Int(_))) => {
                Some(Layout::Tuple(parts.iter().map(Value::layout).collect::<Option<_>>()?))
            }
            _ => None,
        }
    }

    /// The value as a tiler; `None` if it cannot be one.
    pub fn tiler(&self) -> Option<Tiler> {
        match self {
            Value::Layout(layout) => Some(Tiler::Layout(layout.clone())),
            Value::Int(n) => Some(Tiler::Layout(Layout::mode(n.clone(), 1))),
            Value::All => Some(Tiler::Keep),
            Value::Tuple(parts) => Some(Tiler::Modes(parts.iter().map(Value::tiler).collect::<Option<_>>()?)),
            _ => None,
        }
    }

    /// The value as a coordinate.
    pub fn coordinate(&self) -> Option<Coordinate> {
        match self {
            Value::All => Some(Coordinate::All),
            Value::Int(n) => n.as_const().map(Coordinate::Index),
            Value::Tuple(parts) => {
                Some(Coordinate::Tuple(parts.iter().map(Value::coordinate).collect::<Option<_>>()?))
            }
            _ => None,
        }
    }

    /// The composition `self o first`: `first` is applied first.
    pub(crate) fn compose(&self, first: &Value) -> Result<Value> {
        let refuse = || Error::Call(format!("{self} o {first} is not a composition of layouts"));
        match (self, first) {
            (Value::Swizzle(swizzle), Value::Composed(inner)) if inner.swizzle.bits() == 0 => {
                Ok(Value::Composed(ComposedLayout { swizzle: *swizzle, ..inner.clone() }))
            }
            (Value::Swizzle(swizzle), Value::Composed(inner)) => {
                Ok(inner.followed_by("composition", &|value| Ok(swizzle.apply(value)))?.into())
            }
            (Value::Composed(outer), Value::Composed(inner)) => {
                Ok(inner.followed_by("composition", &|value| outer.at(value))?.into())
            }
            (Value::Int(offset), Value::Composed(inner)) => {
                let offset = offset.as_const().ok_or_else(|| Error::open_int("composition", offset))?;
                let after = |value: i64| value.checked_add(offset).ok_or(Error::Overflow);
                Ok(inner.followed_by("composition", &after)?.into())
            }
            (outer, Value::Composed(inner)) => {
                let layout = outer.layout().ok_or_else(refuse)?;
                Ok(inner.followed_by("composition", &|value| layout.at(value))?.into())
            }
            (Value::Swizzle(swizzle), first) => Ok(Value::Composed(ComposedLayout {
                swizzle: *swizzle,
                offset: Int::ZERO,
                layout: first.layout().ok_or_else(refuse)?,
            })),
            // An offset, which waits for its swizzle.
            (Value::Int(offset), Value::Layout(layout)) => Ok(Value::Composed(ComposedLayout {
                swizzle: Swizzle::new(0, 0, 0)?,
                offset: offset.clone(),
                layout: layout.clone(),
            })),
            (Value::Composed(composed), first) => {
                let tiler = first.tiler().ok_or_else(refuse)?;
                Ok(Value::Composed(composed.with(crate::compose_tiler(&composed.layout, &tiler)?)))
            }
            (_, first) => {
                let (a, tiler) = (self.layout().ok_or_else(refuse)?, first.tiler().ok_or_else(refuse)?);
                Ok(Value::Layout(crate::compose_tiler(&a, &tiler)?))
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(n) => write!(f, "{n}"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::All => f.write_str("_"),
            Value::Layout(layout) => write!(f, "{layout}"),
            Value::Swizzle(swizzle) => write!(f, "{swizzle}"),
            Value::Composed(composed) => write!(f, "{composed}"),
            Value::ThreadValues { layout, tile } => write!(f, "thread_values({layout}, {tile})"),
            Value::Instruction(tiled) => {
                let [a, b, c] = &tiled.instruction.operands;
                let [m, n, k] = &tiled.permutations;
                write!(
                    f,
                    "{}: threads {}, A {a}, B {b}, C {c}; atoms {}, tile <{m}, {n}, {k}>",
                    tiled.instruction.name, tiled.instruction.threads, tiled.atoms
                )
            }
            Value::Tuple(parts) => {
                let texts: Vec<String> = parts.iter().map(Value::to_string).collect();
                // Numbers are a tuple as CuTe prints it; other values a tiler.
                if self.int_tuple().is_some() || self.coordinate().is_some() {
                    write!(f, "({})", texts.join(","))
                } else {
                    write!(f, "<{}>", texts.join(", "))
                }
            }
        }
    }
}
