//! The operations of cases: their arguments, what they compute, and their post-conditions.

use serde_json::{Map, Value as Json};

use super::read;
use crate::{
    ComposedLayout, Coordinate, Int, IntTuple, Layout, Result, Swizzle, Tiler, blocked_product, complement,
    compose_tiler, crd2idx, left_inverse, logical_divide, logical_product, raked_product, right_inverse,
    tiled_divide, tiled_product, zipped_divide, zipped_product,
};

/// An operation on a layout and a tiler.
type Tiled = fn(&Layout, &Tiler) -> Result<Layout>;

/// An operation with its arguments.
pub(super) enum Query {
    Coalesce(Layout, IntTuple),
    Filter(Layout, IntTuple),
    Complement(Layout, i64),
    LeftInverse(Layout),
    RightInverse(Layout),
    Composition(Layout, Tiler),
    Divide(Tiled, Layout, Tiler),
    Product(Tiled, Layout, Tiler),
    ZippedProduct(fn(&Layout, &Layout) -> Result<Layout>, Layout, Layout),
    Tuple(fn(&IntTuple, &IntTuple) -> Result<IntTuple>, IntTuple, IntTuple),
    Call(IntTuple, IntTuple, IntTuple),
    Coordinate(i64, IntTuple),
    Sizes(Layout),
    Slice(Coordinate, Layout),
    Swizzle(Swizzle, Vec<i64>),
    Composed(ComposedLayout),
}

/// The result of an operation.
pub(super) enum Answer {
    Layout(Layout),
    Tuple(IntTuple),
    Values(Vec<i64>),
    Sizes { size: i64, cosize: i64 },
    Slice { layout: Layout, offset: i64 },
}

/// The arguments of an operation, each of which has to be read.
struct Args<'a>(&'a Map<String, Json>);

impl Args<'_> {
    fn get(&self, name: &str) -> std::result::Result<&Json, String> {
        self.0.get(name).ok_or_else(|| format!("the argument {name} is missing"))
    }

    fn only(&self, names: &[&str]) -> std::result::Result<(), String> {
        read::only(self.0, names)
    }

    fn layout(&self, name: &str) -> std::result::Result<Layout, String> {
        read::layout(self.get(name)?)
    }

    fn tuple(&self, name: &str) -> std::result::Result<IntTuple, String> {
        read::tuple(self.get(name)?)
    }

    fn int(&self, name: &str) -> std::result::Result<i64, String> {
        read::int(self.get(name)?)
    }

    fn ints(&self, name: &str) -> std::result::Result<Vec<i64>, String> {
        let list = self.get(name)?.as_array().ok_or_else(|| format!("{name} is no list"))?;
        list.iter().map(read::int).collect()
    }

    /// A profile; none stands for the whole layout.
    fn profile(&self) -> std::result::Result<IntTuple, String> {
        match self.get("profile")? {
            Json::Null => Ok(1.into()),
            profile => read::tuple(profile),
        }
    }
}

impl Query {
    pub(super) fn read(op: &str, args: &Map<String, Json>) -> std::result::Result<Self, String> {
        let args = Args(args);
        let tiled: Option<(Tiled, bool)> = match op {
            "logical_divide" => Some((logical_divide, true)),
            "zipped_divide" => Some((zipped_divide, true)),
            "tiled_divide" => Some((tiled_divide, true)),
            "logical_product" => Some((logical_product, false)),
            "zipped_product" => Some((zipped_product, false)),
            "tiled_product" => Some((tiled_product, false)),
            _ => None,
        };
        let names: &[&str] = match op {
            "coalesce" | "filter" => &["layout", "profile"],
            "complement" => &["layout", "max_idx"],
            "left_inverse" | "right_inverse" | "size_cosize" => &["layout"],
            "blocked_product" | "raked_product" => &["block", "tiler"],
            "product" | "prefix_product" => &["a"],
            "inner_product" | "shape_div" => &["a", "b"],
            "layout_call" => &["layout", "coord"],
            "crd2idx" => &["crd", "shape", "stride"],
            "idx2crd" => &["idx", "shape"],
            "slice_and_offset" => &["crd", "layout"],
            "swizzle" => &["B", "M", "S", "inputs"],
            "composed_layout" => &["swizzle", "offset", "layout"],
            "composition" => &["A", "B"],
            _ if tiled.is_some() => &["A", "B"],
            _ => return Err("the operation is unknown".into()),
        };
        args.only(names)?;
        if let Some((operation, divides)) = tiled {
            let (a, b) = (args.layout("A")?, read::tiler(args.get("B")?)?);
            return Ok(if divides {
                Query::Divide(operation, a, b)
            } else {
                Query::Product(operation, a, b)
            });
        }
        let one: IntTuple = 1.into();
        Ok(match op {
            "coalesce" => Query::Coalesce(args.layout("layout")?, args.profile()?),
            "filter" => Query::Filter(args.layout("layout")?, args.profile()?),
            "complement" => Query::Complement(
                args.layout("layout")?,
                match args.get("max_idx")? {
                    Json::Null => 1,
                    size => read::int(size)?,
                },
            ),
            "left_inverse" => Query::LeftInverse(args.layout("layout")?),
            "right_inverse" => Query::RightInverse(args.layout("layout")?),
            "size_cosize" => Query::Sizes(args.layout("layout")?),
            "blocked_product" => {
                Query::ZippedProduct(blocked_product, args.layout("block")?, args.layout("tiler")?)
            }
            "raked_product" => {
                Query::ZippedProduct(raked_product, args.layout("block")?, args.layout("tiler")?)
            }
            "product" => Query::Tuple(|a, _| Ok(a.product()?.into()), args.tuple("a")?, one),
            "prefix_product" => Query::Tuple(|a, _| a.prefix_product(), args.tuple("a")?, one),
            "inner_product" => {
                Query::Tuple(|a, b| Ok(a.inner_product(b)?.into()), args.tuple("a")?, args.tuple("b")?)
            }
            "shape_div" => {
                Query::Tuple(|a, b| a.shape_div(&b.product()?), args.tuple("a")?, args.int("b")?.into())
            }
            "layout_call" => {
                let layout = args.layout("layout")?;
                Query::Call(args.tuple("coord")?, layout.shape(), layout.stride())
            }
            "crd2idx" => Query::Call(args.tuple("crd")?, args.tuple("shape")?, args.tuple("stride")?),
            "idx2crd" => Query::Coordinate(args.int("idx")?, args.tuple("shape")?),
            "slice_and_offset" => Query::Slice(read::coordinate(args.get("crd")?)?, args.layout("layout")?),
            "swizzle" => Query::Swizzle(
                Swizzle::new(args.int("B")?, args.int("M")?, args.int("S")?).map_err(|e| e.to_string())?,
                args.ints("inputs")?,
            ),
            "composed_layout" => {
                let numbers = args.ints("swizzle")?;
                let [bits, base, shift] = numbers.as_slice() else {
                    return Err("a swizzle has three numbers".into());
                };
                Query::Composed(ComposedLayout {
                    swizzle: Swizzle::new(*bits, *base, *shift).map_err(|e| e.to_string())?,
                    offset: args.int("offset")?.into(),
                    layout: args.layout("layout")?,
                })
            }
            _ => Query::Composition(args.layout("A")?, read::tiler(args.get("B")?)?),
        })
    }

    /// Whether a result without checks is not a claim: results of other implementations are not
    /// always inverses.
    pub(super) fn needs_checks(&self) -> bool {
        matches!(self, Query::LeftInverse(_) | Query::RightInverse(_))
    }

    pub(super) fn answer(&self) -> Result<Answer> {
        let known = |n: Int| n.as_const().ok_or_else(|| crate::Error::open_int("cases", &n));
        Ok(match self {
            Query::Coalesce(l, profile) => Answer::Layout(l.coalesce_by(profile)?),
            Query::Filter(l, profile) => Answer::Layout(l.filter_by(profile)?),
            Query::Complement(l, size) => Answer::Layout(complement(l, &Int::from(*size))?),
            Query::LeftInverse(l) => Answer::Layout(left_inverse(l)?),
            Query::RightInverse(l) => Answer::Layout(right_inverse(l)?),
            Query::Composition(a, b) => Answer::Layout(compose_tiler(a, b)?),
            Query::Divide(f, a, b) | Query::Product(f, a, b) => Answer::Layout(f(a, b)?),
            Query::ZippedProduct(f, a, b) => Answer::Layout(f(a, b)?),
            Query::Tuple(f, a, b) => Answer::Tuple(f(a, b)?),
            Query::Call(c, s, d) => Answer::Tuple(crd2idx(c, s, d)?.into()),
            Query::Coordinate(i, s) => Answer::Tuple(s.coordinate(*i)?),
            Query::Sizes(l) => Answer::Sizes { size: known(l.size()?)?, cosize: known(l.cosize()?)? },
            Query::Slice(c, l) => {
                let (layout, offset) = l.slice_and_offset(c)?;
                Answer::Slice { layout, offset }
            }
            Query::Swizzle(swizzle, inputs) => {
                Answer::Values(inputs.iter().map(|x| swizzle.apply(*x)).collect())
            }
            Query::Composed(composed) => Answer::Values(composed.values()?),
        })
    }
}
