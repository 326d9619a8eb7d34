//! Arguments and temporaries: names, types and the layout of arrays.

use crate::{
    AddressSpace, Arg, Array, ArrayLayout, Axis, CacheHint, CacheHints, Constant, Expr, Name, Scalar, Type,
    Waves,
    text::{
        lexer::Tok,
        parser::{Parse, Parser},
    },
    types::UNTYPED,
};

impl Parser {
    /// One argument, or an array for each field of an array of structs.
    pub(super) fn argument(&mut self) -> Parse<Vec<Arg>> {
        let name = self.name("an argument")?;
        if !self.eat(":") {
            let mut error = self.unexpected("`:` and a type");
            error.help = Some(format!("an argument needs a type: `{name}: f32[n]` or `{name}: i32`"));
            return Err(error);
        }
        if let Some(of) = self.struct_here().cloned() {
            return self.record_argument(name, &of);
        }
        let dtype = self.dtype()?;
        if !self.at("[") {
            return Ok(vec![Arg::Scalar(Scalar { name, dtype })]);
        }
        let (axes, order, layout) = self.layout()?;
        let hints = self.cache_hints()?;
        self.eat_word("global");
        let array = Array::new(name, dtype, axes, AddressSpace::Global);
        Ok(vec![Arg::Array(Array { order, layout, hints, ..array })])
    }

    /// An integer literal; `what` says in the error what was expected.
    pub fn number(&mut self, what: &str) -> Parse<u64> {
        let Tok::Int(number) = self.tok(0) else { return Err(self.unexpected(what)) };
        self.advance();
        Ok(number)
    }

    /// `streaming waves(335872, 8)`, either, or neither.
    pub fn cache_hints(&mut self) -> Parse<CacheHints> {
        let mut hints = CacheHints::default();
        if self.eat_word("streaming") {
            hints.add(CacheHint::Streaming);
        }
        if self.eat_word("waves") {
            hints.add(CacheHint::Waves(self.waves()?));
        }
        Ok(hints)
    }

    /// Window and number of windows, as `(335872, 8)`.
    fn waves(&mut self) -> Parse<Waves> {
        self.open("(")?;
        let window = self.number("a number of elements")?;
        self.expect(",")?;
        let windows = self.number("a number of windows")?;
        let waves = Waves {
            window: u32::try_from(window).map_err(|_| self.huge())?,
            windows: u8::try_from(windows).map_err(|_| self.huge())?,
        };
        self.close(")")?;
        Ok(waves)
    }

    /// `"text"`, without quotes inside.
    pub fn quoted(&mut self, what: &str) -> Parse<Name> {
        if self.tok(0) != Tok::Quoted {
            return Err(self.unexpected(&format!("{what}, in quotes")));
        }
        let span = self.span();
        self.advance();
        Ok(Name::new(&self.text[span.start + 1..span.end - 1]))
    }

    /// `[n, 16 pad 1] strides(ld, _) order(1, 0)`,
    /// `[64, 16] layout((64,16):(17,1)) swizzle(1, 3, 3)`
    pub(super) fn layout(&mut self) -> Parse<(Vec<Axis>, Vec<usize>, ArrayLayout)> {
        self.open("[")?;
        let mut axes = Vec::new();
        while !self.at("]") {
            let mut axis = Axis::new(self.expr()?);
            if self.eat_word("pad") {
                let padding = self.number("a number of elements")?;
                axis.padding = u32::try_from(padding).map_err(|_| self.huge())?;
            }
            axes.push(axis);
            if !self.eat(",") {
                break;
            }
        }
        self.close("]")?;
        let mut order = Vec::new();
        let mut layout = ArrayLayout::default();
        loop {
            let start = self.span().start;
            if self.eat_word("strides") {
                self.open("(")?;
                let mut strides = Vec::new();
                while !self.at(")") {
                    strides.push(if self.eat_word("_") { None } else { Some(self.expr()?) });
                    if !self.eat(",") {
                        break;
                    }
                }
                self.close(")")?;
                if strides.len() != axes.len() {
                    return Err(self
                        .diagnostic(
                            start..self.last_end(),
                            "wrong-layout",
                            format!("{} strides for {} axes", strides.len(), axes.len()),
                        )
                        .help(
                            "give one for each axis, outermost subscript first, `_` where it \
                             follows from the shape",
                        )
                        .into());
                }
                for (axis, stride) in axes.iter_mut().zip(strides) {
                    axis.stride = stride;
                }
            } else if self.eat_word("order") {
                self.open("(")?;
                if self.eat_word("f") {
                    order = (0..axes.len()).rev().collect();
                } else if !self.eat_word("c") {
                    while let Tok::Int(k) = self.tok(0) {
                        order.push(usize::try_from(k).unwrap_or(usize::MAX));
                        self.advance();
                        if !self.eat(",") {
                            break;
                        }
                    }
                }
                self.close(")")?;
                let mut sorted = order.clone();
                sorted.sort_unstable();
                if !order.is_empty() && !sorted.iter().copied().eq(0..axes.len()) {
                    return Err(self
                        .diagnostic(
                            start..self.last_end(),
                            "wrong-layout",
                            "this is not an order of the axes",
                        )
                        .help(format!(
                            "name each of the axes 0 to {} once, the slowest first; `c` is the \
                             order of the subscripts, `f` its reverse",
                            axes.len().saturating_sub(1)
                        ))
                        .into());
                }
                if sorted == order {
                    order.clear();
                }
            } else if !self.array_layout(&mut layout)? {
                return Ok((axes, order, layout));
            }
        }
    }

    /// `w: f64[2, 2] = [[1, 2], [3, 4]]`
    pub(super) fn constant(&mut self) -> Parse<Constant> {
        let name = self.name("a constant table")?;
        if !self.eat(":") {
            let mut error = self.unexpected("`:` and a type");
            error.help = Some(format!("a constant table needs a type: `constant {name}: f32[2] = [1, 2]`"));
            return Err(error);
        }
        let dtype = self.dtype()?;
        if !self.at("[") {
            let mut error = self.unexpected("the shape of the table");
            error.help = Some(format!(
                "a table has at least one axis, `constant {name}: {dtype}[2] = [1, 2]`; write a single \
                 number where it is used"
            ));
            return Err(error);
        }
        let (axes, order, layout) = self.layout()?;
        let hints = self.cache_hints()?;
        let array = Array::new(name, dtype, axes, AddressSpace::Constant);
        let array = Array { order, layout, hints, ..array };
        self.expect("=")?;
        let mut values = Vec::new();
        self.rows(&array, 0, &mut values)?;
        Ok(Constant { array, values: values.into() })
    }

    /// The values of a table from this axis on, in brackets.
    fn rows(&mut self, array: &Array, axis: usize, values: &mut Vec<Expr>) -> Parse<()> {
        let start = self.span().start;
        self.open("[")?;
        self.enter()?;
        let mut count = 0i64;
        while !self.at("]") {
            if axis + 1 < array.axes.len() {
                if !self.at("[") {
                    let mut error = self.unexpected("`[`");
                    error.help = Some(format!(
                        "`{}` has {} axes, and its values as many pairs of brackets inside each other",
                        array.name,
                        array.axes.len()
                    ));
                    return Err(error);
                }
                self.rows(array, axis + 1, values)?;
            } else if self.at("[") {
                let mut error = self.unexpected("a number");
                let axes = if array.axes.len() == 1 { "axis" } else { "axes" };
                error.help = Some(format!(
                    "`{}` has {} {axes}, and its values as many pairs of brackets inside each other",
                    array.name,
                    array.axes.len()
                ));
                return Err(error);
            } else {
                values.push(self.prefix_inside()?);
            }
            count += 1;
            if !self.eat(",") {
                break;
            }
        }
        self.leave();
        self.close("]")?;
        match array.axes.get(axis).map(|a| &a.length) {
            Some(Expr::Int(length)) if *length != count => {
                let are = if count == 1 { "value is" } else { "values are" };
                let what = format!("{count} {are} given along axis {axis} of `{}`", array.name);
                Err(self
                    .diagnostic(
                        start..self.last_end(),
                        "constant-shape",
                        format!("{what}, whose length there is {length}"),
                    )
                    .help("give one value for each element, in brackets for each axis")
                    .into())
            }
            _ => Ok(()),
        }
    }

    ///
    /// Of a struct, there is an array for each field.
    pub(super) fn temporaries(&mut self) -> Parse<Vec<Array>> {
        let name = self.name("a temporary")?;
        let mut of = None;
        let dtype = match self.eat(":") {
            false => Type::Open(UNTYPED.into()),
            true => match self.struct_here().cloned() {
                None => self.dtype()?,
                Some(found) => {
                    self.advance();
                    let dtype = Type::Open(found.name.clone());
                    of = Some(found);
                    dtype
                }
            },
        };
        let array = self.temporary_of(name, dtype)?;
        Ok(match of {
            None => vec![array],
            Some(of) => self.record_temporary(array, &of),
        })
    }

    /// The rest of a temporary, after its type.
    fn temporary_of(&mut self, name: Name, dtype: Type) -> Parse<Array> {
        let (axes, order, layout) = if self.at("[") { self.layout()? } else { Default::default() };
        let hints = if axes.is_empty() { CacheHints::default() } else { self.cache_hints()? };
        let space = match self.word(0) {
            Some("private") => AddressSpace::Private,
            Some("shared" | "local") => AddressSpace::Shared,
            Some("global") => AddressSpace::Global,
            None => {
                let space = AddressSpace::Private;
                return Ok(Array { order, layout, hints, ..Array::new(name, dtype, axes, space) });
            }
            Some(w) => {
                let help = crate::suggest::did_you_mean(w, ["private", "shared", "global"])
                    .unwrap_or_else(|| "address spaces are `private`, `shared` and `global`".into());
                return Err(self.error("syntax", format!("`{w}` is not an address space")).help(help).into());
            }
        };
        self.advance();
        Ok(Array { order, layout, hints, ..Array::new(name, dtype, axes, space) })
    }
}
