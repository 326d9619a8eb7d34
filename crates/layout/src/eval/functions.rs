//! The functions of expressions, named as in CuTe.

use super::Value;
use crate::{
    Coordinate, Error, Instruction, Int, IntTuple, Layout, Result, TiledInstruction, Tiler, blocked_product,
    collision, complement, downcast, flat_divide, flat_product, left_inverse, logical_divide,
    logical_product, max_common_layout, max_common_vector, nullspace, ordered, raked_product, recast,
    right_inverse, tile_to_shape, tiled_divide, tiled_product, upcast, zipped_divide, zipped_product,
};

/// A function with its help text.
pub struct Function {
    /// Its name and arguments.
    pub call: &'static str,
    /// What it returns, as a phrase.
    pub what: &'static str,
}

/// All functions of expressions, in the order of the help.
pub const FUNCTIONS: &[Function] = &[
    Function { call: "size(L)", what: "the number of indices; size<k>(L): of mode k" },
    Function { call: "cosize(L)", what: "one more than the largest value" },
    Function { call: "rank(L)", what: "the number of modes" },
    Function { call: "depth(L)", what: "the nesting depth of modes" },
    Function { call: "shape(L)", what: "the sizes" },
    Function { call: "stride(L)", what: "the strides" },
    Function { call: "layout<k>(L)", what: "mode k" },
    Function { call: "select<k,l>(L)", what: "some modes, in this order" },
    Function { call: "take<k,l>(L)", what: "modes k to l - 1" },
    Function { call: "group<k,l>(L)", what: "modes k to l - 1 as one" },
    Function { call: "flatten(L)", what: "all modes in one tuple" },
    Function { call: "append(L, M)", what: "L with the further mode M at the end" },
    Function { call: "prepend(L, M)", what: "L with the further mode M at the beginning" },
    Function {
        call: "make_layout(S)",
        what: "compact, first mode fastest; make_layout(S, D); make_layout(L, M, ...)",
    },
    Function { call: "make_layout_right(S)", what: "compact, last mode fastest" },
    Function { call: "make_ordered_layout(S, O)", what: "compact, modes in the order of the numbers O" },
    Function { call: "crd2idx(c, L)", what: "the value at a coordinate or index; crd2idx(c, S, D)" },
    Function { call: "idx2crd(i, S)", what: "the coordinate of an index" },
    Function { call: "values(L)", what: "all values" },
    Function { call: "slice(c, L)", what: "the modes at which the coordinate has _" },
    Function { call: "dice(c, L)", what: "the modes at which it has a number" },
    Function {
        call: "slice_and_offset(c, L)",
        what: "the result of slice, and the value of the fixed modes",
    },
    Function { call: "product(S)", what: "the product of all numbers" },
    Function { call: "inner_product(S, D)", what: "the sum of products" },
    Function { call: "prefix_product(S)", what: "for each number the product of those before it" },
    Function { call: "shape_div(S, n)", what: "the shape in blocks of n indices" },
    Function { call: "ceil_div(a, b)", what: "the quotient, rounded up" },
    Function { call: "compatible(S, T)", what: "whether each coordinate of S is one of T" },
    Function { call: "coalesce(L)", what: "as few modes as possible; coalesce(L, profile): in each mode" },
    Function { call: "filter(L)", what: "coalesced, without modes of stride 0; filter(L, profile)" },
    Function { call: "filter_zeros(L)", what: "size 1 where the stride is 0" },
    Function { call: "composition(A, B)", what: "A o B; B may be a tiler" },
    Function {
        call: "complement(L, n)",
        what: "the positions that L does not reach, up to n; complement(L)",
    },
    Function { call: "right_inverse(L)", what: "R with L(R(i)) = i" },
    Function { call: "left_inverse(L)", what: "R with R(L(i)) = i" },
    Function { call: "nullspace(L)", what: "N with L(N(i)) = 0" },
    Function { call: "logical_divide(L, T)", what: "each mode as (tile, rest)" },
    Function { call: "zipped_divide(L, T)", what: "((tile, ...), (rest, ...))" },
    Function { call: "tiled_divide(L, T)", what: "((tile, ...), rest, ...)" },
    Function { call: "flat_divide(L, T)", what: "(tile, ..., rest, ...)" },
    Function { call: "logical_product(L, T)", what: "each mode as (mode, copies)" },
    Function { call: "zipped_product(L, T)", what: "((mode, ...), (copies, ...))" },
    Function { call: "tiled_product(L, T)", what: "((mode, ...), copies, ...)" },
    Function { call: "flat_product(L, T)", what: "(mode, ..., copies, ...)" },
    Function { call: "blocked_product(L, T)", what: "copies of L, each contiguous" },
    Function { call: "raked_product(L, T)", what: "copies of L, interleaved" },
    Function { call: "tile_to_shape(L, S)", what: "copies of L that cover S; tile_to_shape(L, S, order)" },
    Function { call: "upcast<n>(L)", what: "in units of n elements" },
    Function { call: "downcast<n>(L)", what: "in n-ths of elements" },
    Function { call: "recast<a,b>(L)", what: "of elements of a bits, for elements of b bits" },
    Function { call: "max_common_layout(A, B)", what: "R with A(R(i)) = B(R(i)) = i" },
    Function { call: "max_common_vector(A, B)", what: "its size" },
    Function { call: "is_injective(L)", what: "whether L is injective" },
    Function { call: "thread_values(L, S)", what: "for pictures: a layout of (thread, value) in a tile" },
    Function { call: "mma(S, T, A, B, C)", what: "for pictures: an instruction by its extents and layouts" },
    Function { call: "tiled_mma(I, L)", what: "the instruction repeated; tiled_mma(I, L, tile)" },
];

struct Arguments<'a> {
    name: &'a str,
    chosen: &'a [i64],
    values: &'a [Value],
}

type Binary = fn(&Layout, &Tiler) -> Result<Layout>;

/// The value of the call `name<chosen>(values)`.
pub(super) fn call(name: &str, chosen: &[i64], values: &[Value]) -> Result<Value> {
    if let Some(value) = super::composed::call(name, chosen, values) {
        return value;
    }
    let args = Arguments { name, chosen, values };
    let tiled: Option<Binary> = match name {
        "composition" => return args.two(|a, b| a.compose(b)),
        "logical_divide" => Some(logical_divide),
        "zipped_divide" => Some(zipped_divide),
        "tiled_divide" => Some(tiled_divide),
        "flat_divide" => Some(flat_divide),
        "logical_product" => Some(logical_product),
        "zipped_product" => Some(zipped_product),
        "tiled_product" => Some(tiled_product),
        "flat_product" => Some(flat_product),
        _ => None,
    };
    if let Some(operation) = tiled {
        args.count(2..=2)?;
        return Ok(Value::Layout(operation(&args.layout(0)?, &args.tiler(1)?)?));
    }
    of_numbers(&args)
        .or_else(|| of_values(&args))
        .or_else(|| of_one(&args))
        .or_else(|| of_several(&args))
        .unwrap_or_else(|| Err(Error::Call(format!("{name} is not a function of layouts"))))
}

/// Functions of tuples of numbers.
fn of_numbers(args: &Arguments) -> Option<Result<Value>> {
    let int = |result: Result<Int>| result.map(Value::Int);
    Some(match args.name {
        "product" => args.one_tuple().and_then(|s| int(s.product())),
        "inner_product" => args.two_tuples().and_then(|(s, d)| int(s.inner_product(&d))),
        "prefix_product" => args.one_tuple().and_then(|s| Ok(Value::from(&s.prefix_product()?))),
        "shape_div" => args.two_tuples().and_then(|(s, n)| Ok(Value::from(&s.shape_div(&number(&n)?)?))),
        "ceil_div" => args.two_tuples().and_then(|(a, b)| int(number(&a)?.ceil_div(&number(&b)?))),
        "compatible" => args.two_tuples().and_then(|(s, t)| s.is_compatible(&t).map(Value::Bool)),
        "idx2crd" => {
            args.two_tuples().and_then(|(i, s)| Ok(Value::from(&s.coordinate(constant(&number(&i)?)?)?)))
        }
        _ => return None,
    })
}

/// Functions that depend on values.
fn of_values(args: &Arguments) -> Option<Result<Value>> {
    Some(match args.name {
        "crd2idx" if args.values.len() == 3 => (|| {
            let (c, s, d) = (args.tuple(0)?, args.tuple(1)?, args.tuple(2)?);
            Ok(Value::Int(crate::crd2idx(&c, &s, &d)?.into()))
        })(),
        "crd2idx" => args.two(|c, l| {
            let c = c.int_tuple().ok_or_else(|| args.refuse(0, "a coordinate"))?;
            Ok(Value::Int(match l {
                Value::Composed(composed) => composed.at_coordinate(&c)?.into(),
                _ => args.layout(1)?.at_coordinate(&c)?.into(),
            }))
        }),
        "values" => args.one(|l| {
            let all = match l {
                Value::Composed(composed) => composed.values()?,
                _ => args.layout(0)?.values()?,
            };
            Ok(Value::Tuple(all.into_iter().map(|v| Value::Int(v.into())).collect()))
        }),
        "is_injective" => args.one(|l| {
            let found = match l {
                Value::Composed(composed) => composed.collision()?,
                _ => collision(&args.layout(0)?)?,
            };
            Ok(Value::Bool(found.is_none()))
        }),
        "slice" => args.sliced(|l, c| Ok(Value::Layout(l.slice(c)?))),
        "dice" => args.sliced(|l, c| Ok(Value::Layout(l.dice(c)?))),
        "slice_and_offset" => args.sliced(|l, c| {
            let (layout, offset) = l.slice_and_offset(c)?;
            Ok(Value::Tuple(vec![Value::Layout(layout), Value::Int(offset.into())]))
        }),
        _ => return None,
    })
}

/// Functions of one layout, or of a mode of it.
fn of_one(args: &Arguments) -> Option<Result<Value>> {
    let layout = |f: &dyn Fn(&Layout) -> Result<Layout>| args.mode().and_then(|l| Ok(Value::Layout(f(&l)?)));
    let count = |n: usize| Ok(Value::Int(i64::try_from(n).map_err(|_| Error::Overflow)?.into()));
    Some(match args.name {
        "size" => args.mode().and_then(|l| Ok(Value::Int(l.size()?))),
        "cosize" => args.mode().and_then(|l| Ok(Value::Int(l.cosize()?))),
        "rank" => args.mode().and_then(|l| count(l.rank())),
        "depth" => args.mode().and_then(|l| count(l.depth())),
        "shape" => args.mode().map(|l| Value::from(&l.shape())),
        "stride" => args.mode().map(|l| Value::from(&l.stride())),
        "layout" | "get" => layout(&|l| Ok(l.clone())),
        "flatten" => layout(&|l| Ok(l.flatten())),
        "filter_zeros" => layout(&|l| Ok(l.filter_zeros())),
        "right_inverse" => layout(&right_inverse),
        "left_inverse" => layout(&left_inverse),
        "nullspace" => layout(&nullspace),
        "coalesce" if args.values.len() == 1 => layout(&Layout::coalesce),
        "filter" if args.values.len() == 1 => layout(&Layout::filter),
        "upcast" | "downcast" | "recast" => args.recast(),
        "select" | "take" | "group" => args.regrouped(),
        _ => return None,
    })
}

/// Functions of several arguments.
fn of_several(args: &Arguments) -> Option<Result<Value>> {
    let layout = |result: Result<Layout>| result.map(Value::Layout);
    Some(match args.name {
        "coalesce" => args.with_tuple(|l, profile| l.coalesce_by(profile)),
        "filter" => args.with_tuple(|l, profile| l.filter_by(profile)),
        "complement" if args.values.len() == 1 => {
            layout(args.layout(0).and_then(|l| complement(&l, &Int::ONE)))
        }
        "complement" => args.with_tuple(|l, n| complement(l, &n.product()?)),
        "blocked_product" => args.two_layouts(blocked_product),
        "raked_product" => args.two_layouts(raked_product),
        "max_common_layout" => args.two_layouts(max_common_layout),
        "max_common_vector" => args
            .count(2..=2)
            .and_then(|()| Ok(Value::Int(max_common_vector(&args.layout(0)?, &args.layout(1)?)?))),
        "append" => args.two_layouts(|l, m| Ok(Layout::Tuple([l.modes(), vec![m.clone()]].concat()))),
        "prepend" => args.two_layouts(|l, m| Ok(Layout::Tuple([vec![m.clone()], l.modes()].concat()))),
        "make_layout" => layout(args.made()),
        "make_layout_right" => layout(args.one_tuple().and_then(|s| Layout::compact_right(&s))),
        "make_ordered_layout" => {
            layout(args.two_tuples().and_then(|(s, o)| ordered(&s.flatten(), Some(&constants(&o)?))))
        }
        "tile_to_shape" => layout((|| {
            args.count(2..=3)?;
            let order = match args.values.len() {
                3 => Some(constants(&args.tuple(2)?)?),
                _ => None,
            };
            tile_to_shape(&args.layout(0)?, &args.tuple(1)?, order.as_deref())
        })()),
        "thread_values" => args
            .count(2..=2)
            .and_then(|()| Ok(Value::ThreadValues { layout: args.layout(0)?, tile: args.tuple(1)? })),
        "mma" | "tiled_mma" => args.instruction(),
        _ => return None,
    })
}

fn number(tuple: &IntTuple) -> Result<Int> {
    match tuple {
        IntTuple::Int(n) => Ok(n.clone()),
        IntTuple::Tuple(_) => Err(Error::Call(format!("expected a number, found {tuple}"))),
    }
}

fn constant(value: &Int) -> Result<i64> {
    value.as_const().ok_or_else(|| Error::open_int("this function", value))
}

fn constants(tuple: &IntTuple) -> Result<Vec<i64>> {
    tuple.flatten().iter().map(constant).collect()
}

impl Arguments<'_> {
    fn count(&self, range: std::ops::RangeInclusive<usize>) -> Result<()> {
        if range.contains(&self.values.len()) {
            return Ok(());
        }
        let count = if range.start() == range.end() {
            range.start().to_string()
        } else {
            format!("{} to {}", range.start(), range.end())
        };
        let noun = if *range.end() == 1 { "argument" } else { "arguments" };
        let found = self.values.len();
        Err(Error::Call(format!("{} takes {count} {noun} and was given {found}", self.name)))
    }

    fn refuse(&self, k: usize, what: &str) -> Error {
        let found = self.values.get(k).map_or("nothing".into(), Value::to_string);
        Error::Call(format!("{}: expected {what}, found {found}", self.name))
    }

    fn value(&self, k: usize, what: &str) -> Result<&Value> {
        self.values.get(k).ok_or_else(|| self.refuse(k, what))
    }

    fn layout(&self, k: usize) -> Result<Layout> {
        self.value(k, "a layout")?.layout().ok_or_else(|| self.refuse(k, "a layout"))
    }

    fn tiler(&self, k: usize) -> Result<Tiler> {
        self.value(k, "a tiler")?.tiler().ok_or_else(|| self.refuse(k, "a tiler"))
    }

    fn tuple(&self, k: usize) -> Result<IntTuple> {
        let what = "integers";
        self.value(k, what)?.int_tuple().ok_or_else(|| self.refuse(k, what))
    }

    fn one(&self, f: impl Fn(&Value) -> Result<Value>) -> Result<Value> {
        self.count(1..=1)?;
        f(self.value(0, "a layout")?)
    }

    fn two(&self, f: impl Fn(&Value, &Value) -> Result<Value>) -> Result<Value> {
        self.count(2..=2)?;
        f(self.value(0, "a layout")?, self.value(1, "a layout")?)
    }

    fn one_tuple(&self) -> Result<IntTuple> {
        self.count(1..=1)?;
        self.tuple(0)
    }

    fn two_tuples(&self) -> Result<(IntTuple, IntTuple)> {
        self.count(2..=2)?;
        Ok((self.tuple(0)?, self.tuple(1)?))
    }

    fn two_layouts(&self, f: impl Fn(&Layout, &Layout) -> Result<Layout>) -> Result<Value> {
        self.count(2..=2)?;
        f(&self.layout(0)?, &self.layout(1)?).map(Value::Layout)
    }

    fn with_tuple(&self, f: impl Fn(&Layout, &IntTuple) -> Result<Layout>) -> Result<Value> {
        self.count(2..=2)?;
        f(&self.layout(0)?, &self.tuple(1)?).map(Value::Layout)
    }

    fn sliced(&self, f: impl Fn(&Layout, &Coordinate) -> Result<Value>) -> Result<Value> {
        self.count(2..=2)?;
        let what = "a coordinate";
        f(&self.layout(1)?, &self.value(0, what)?.coordinate().ok_or_else(|| self.refuse(0, what))?)
    }

    /// The only argument, or the mode of it that `<k>` chooses.
    fn mode(&self) -> Result<Layout> {
        self.count(1..=1)?;
        let mut layout = self.layout(0)?;
        for k in self.chosen {
            layout = self.mode_of(&layout, *k)?;
        }
        Ok(layout)
    }

    fn mode_of(&self, layout: &Layout, k: i64) -> Result<Layout> {
        let mode = usize::try_from(k).ok().and_then(|k| layout.modes().get(k).cloned());
        mode.ok_or_else(|| Error::Call(format!("{}<{k}>: {layout} has {} modes", self.name, layout.rank())))
    }

    fn recast(&self) -> Result<Value> {
        self.count(1..=1)?;
        let layout = self.layout(0)?;
        Ok(Value::Layout(match (self.name, self.chosen) {
            ("upcast", [n]) if *n > 0 => upcast(&layout, &Int::from(*n))?,
            ("downcast", [n]) if *n > 0 => downcast(&layout, &Int::from(*n))?,
            ("recast", [from, to]) => recast(&layout, *from, *to)?,
            ("recast", _) => {
                return Err(Error::Call("recast takes two widths in bits: recast<16,8>(L)".into()));
            }
            (name, _) => return Err(Error::Call(format!("{name} takes a positive number: {name}<2>(L)"))),
        }))
    }

    fn regrouped(&self) -> Result<Value> {
        self.count(1..=1)?;
        let layout = self.layout(0)?;
        if self.name == "select" {
            let modes = self.chosen.iter().map(|k| self.mode_of(&layout, *k));
            return Ok(Value::Layout(Layout::Tuple(modes.collect::<Result<_>>()?)));
        }
        let modes = layout.modes();
        let range = match self.chosen {
            [first, last] => usize::try_from(*first).ok().zip(usize::try_from(*last).ok()),
            _ => None,
        };
        let Some((first, last)) = range.filter(|(a, b)| a <= b && *b <= modes.len()) else {
            return Err(Error::Call(format!(
                "{} takes a range of the {} modes: {}<0,1>(L)",
                self.name,
                modes.len(),
                self.name
            )));
        };
        let middle = modes[first..last].to_vec();
        Ok(Value::Layout(Layout::Tuple(if self.name == "take" {
            middle
        } else {
            [&modes[..first], &[Layout::Tuple(middle)], &modes[last..]].concat()
        })))
    }

    /// An instruction from its parts, `mma`, or a tiling with one, `tiled_mma`.
    fn instruction(&self) -> Result<Value> {
        let tiled = if self.name == "mma" {
            self.count(5..=5)?;
            let shape = constants(&self.tuple(0)?)?;
            let shape = shape.try_into().map_err(|_| self.refuse(0, "the extents (m, n, k)"))?;
            let operands = [self.layout(2)?, self.layout(3)?, self.layout(4)?];
            TiledInstruction::alone(Instruction::new("mma", shape, self.layout(1)?, operands)?)?
        } else {
            self.count(2..=3)?;
            let Some(Value::Instruction(atom)) = self.values.first() else {
                return Err(self.refuse(0, "an instruction"));
            };
            let tile = if self.values.len() == 3 { Some(self.tiler(2)?) } else { None };
            TiledInstruction::new(atom.instruction.clone(), &self.layout(1)?, tile.as_ref())?
        };
        Ok(Value::Instruction(Box::new(tiled)))
    }

    /// `make_layout` of a shape, of shape and stride, or of layouts.
    fn made(&self) -> Result<Layout> {
        let is_layout = |v: &Value| !matches!(v, Value::Layout(_)) && v.int_tuple().is_some();
        match self.values {
            [shape] if is_layout(shape) => Layout::compact(&self.tuple(0)?),
            [shape, stride] if is_layout(shape) && is_layout(stride) => {
                Layout::new(&self.tuple(0)?, &self.tuple(1)?)
            }
            _ => Ok(Layout::Tuple((0..self.values.len()).map(|k| self.layout(k)).collect::<Result<_>>()?)),
        }
    }
}
