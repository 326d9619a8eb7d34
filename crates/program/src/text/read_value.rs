//! Values from text: precedence climbing, loosest first, as in the text of kernels.

use loopwright_kernel_ir::{
    DType, Precision,
    syntax::{Parse, Tok},
};
use loopwright_target::{Builtin, Language};

use super::{
    names::{CALLED, is_math},
    operators::{binding, infix},
    print_value::SHUFFLES,
    read::Reader,
};
use crate::{BinOp, MemRef, UnOp, Value, ValueKind};

/// Depth limit of values: chains of operators count, since values are walked recursively.
const DEPTH_LIMIT: usize = 1200;

/// A value and its depth as a tree, which is limited.
struct Deep {
    value: Value,
    depth: usize,
}

impl Deep {
    fn leaf(value: Value) -> Deep {
        Deep { value, depth: 1 }
    }

    /// The depth of an operation with this operand.
    fn below(depth: usize, dtype: DType, kind: ValueKind) -> Deep {
        Deep { value: Value { dtype, kind }, depth: depth + 1 }
    }
}

impl Reader {
    /// A value, as long as operators follow.
    pub(super) fn value(&mut self) -> Parse<Value> {
        Ok(self.deep(binding::OR)?.value)
    }

    /// Values in brackets, separated by commas.
    pub(super) fn values(&mut self, open: &'static str, close: &'static str) -> Parse<Vec<Value>> {
        Ok(self.list(open, close)?.0)
    }

    fn list(&mut self, open: &'static str, close: &'static str) -> Parse<(Vec<Value>, usize)> {
        self.p.open(open)?;
        let (mut values, mut depth) = (Vec::new(), 0);
        while !self.p.at(close) && !self.p.at("@") {
            let next = self.deep(binding::OR)?;
            depth = depth.max(next.depth);
            values.push(next.value);
            if !self.p.eat(",") {
                break;
            }
        }
        // An offset may follow subscripts; the caller parses it.
        if close != "]" || !self.p.at("@") {
            self.p.close(close)?;
        }
        Ok((values, depth))
    }

    fn deep(&mut self, least: u8) -> Parse<Deep> {
        let start = self.p.span().start;
        let mut left = self.prefix(least)?;
        let mut compared = false;
        while let Some((op, strength)) = self.operator() {
            if strength < least {
                break;
            }
            if strength == binding::COMPARE && std::mem::replace(&mut compared, true) {
                return Err(self
                    .p
                    .error("syntax", "comparisons of values do not chain")
                    .help("write `a <= b and b < c`")
                    .into());
            }
            self.p.advance();
            let right = self.deep(strength + 1)?;
            let depth = left.depth.max(right.depth) + 1;
            left = Deep { value: Value::binary(op, left.value, right.value), depth };
            self.bounded(start, left.depth)?;
        }
        Ok(left)
    }

    fn bounded(&self, start: usize, depth: usize) -> Parse<()> {
        if depth <= DEPTH_LIMIT {
            return Ok(());
        }
        let message = format!("the value is deeper than {DEPTH_LIMIT} operations");
        Err(self
            .p
            .diagnostic(start..self.p.last_end(), "too-deep", message)
            .help("introduce names for parts of it")
            .into())
    }

    fn operator(&self) -> Option<(BinOp, u8)> {
        match self.p.tok(0) {
            Tok::Punct(spelling) => infix(spelling),
            Tok::Ident => infix(self.p.word(0)?),
            _ => None,
        }
    }

    fn prefix(&mut self, least: u8) -> Parse<Deep> {
        if self.p.at_word("not") {
            if least > binding::NOT {
                return Err(self
                    .p
                    .error("syntax", "`not` cannot be an operand of an operation with higher precedence")
                    .help("put it in parentheses")
                    .into());
            }
            self.p.advance();
            return self.unary(UnOp::Not, binding::NOT);
        }
        if self.p.eat("~") {
            return self.unary(UnOp::BitNot, binding::SIGN);
        }
        if !self.p.at("-") {
            return self.atom();
        }
        self.p.advance();
        // A sign right before a literal belongs to it.
        let is_infinity = self.p.word(0).and_then(DType::from_name).is_some()
            && self.p.peek_is(1, ".")
            && self.p.word(2) == Some("inf");
        match self.p.tok(0) {
            Tok::Int(_) | Tok::Float(_) => self.literal(true),
            Tok::Ident if is_infinity => self.named_float(true),
            _ => self.unary(UnOp::Neg, binding::SIGN),
        }
    }

    fn unary(&mut self, op: UnOp, least: u8) -> Parse<Deep> {
        self.p.enter()?;
        let start = self.p.span().start;
        let a = if least == binding::NOT { self.deep(least)? } else { self.prefix(least)? };
        self.p.leave();
        self.bounded(start, a.depth + 1)?;
        let dtype = a.value.dtype;
        Ok(Deep::below(a.depth, dtype, ValueKind::Unary(op, a.value.into())))
    }

    fn atom(&mut self) -> Parse<Deep> {
        match self.p.tok(0) {
            Tok::Int(_) | Tok::Float(_) => self.literal(false),
            Tok::Punct("(") => {
                self.p.open("(")?;
                let value = self.deep(binding::OR)?;
                self.p.close(")")?;
                Ok(value)
            }
            Tok::Ident => self.word_atom(),
            _ => Err(self.p.unexpected("a value")),
        }
    }

    /// `5`, of the index type; `5u8`, `1.5f32`.
    fn literal(&mut self, negative: bool) -> Parse<Deep> {
        let (start, tok) = (self.p.span().start, self.p.tok(0));
        if let Tok::Int(value) = tok {
            // Refused before it is consumed, so that the diagnostic points at it.
            let fits = if negative { 0i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() };
            fits.ok_or_else(|| self.p.huge())?;
        }
        self.p.advance();
        let suffix = match self.p.tok(0) {
            Tok::Ident if self.p.touches() => Some(self.dtype()?),
            _ => None,
        };
        let span = start..self.p.last_end();
        let (dtype, kind) = match (tok, suffix) {
            (Tok::Int(value), suffix) if suffix.is_none_or(DType::is_integer) => {
                let signed = if negative { 0i64.wrapping_sub_unsigned(value) } else { value as i64 };
                (suffix.unwrap_or(self.names.index), ValueKind::Int(signed))
            }
            (Tok::Float(value), Some(dtype)) if dtype.is_float() => {
                (dtype, ValueKind::Float(if negative { -value } else { value }))
            }
            (Tok::Float(_), None) => {
                return Err(self
                    .p
                    .diagnostic(span, "wrong-type", "a floating-point constant needs a type")
                    .help("write the type after the number, as in `1.5f32`")
                    .into());
            }
            (_, dtype) => {
                let dtype = dtype.map_or("this", DType::name);
                return Err(self
                    .p
                    .diagnostic(span, "wrong-type", format!("this is not a constant of type {dtype}"))
                    .help(
                        "integers have no decimal point, floating-point constants have one: \
                         `1i64`, `1.0f32`",
                    )
                    .into());
            }
        };
        Ok(Deep::leaf(Value { dtype, kind }))
    }

    /// `f32.inf`, `f32.nan`, `f32.nan(0x7ff8000000000001)`
    fn named_float(&mut self, negative: bool) -> Parse<Deep> {
        let span = self.p.span();
        let dtype = self.dtype()?;
        self.p.expect(".")?;
        let value = if self.p.eat_word("inf") {
            if negative { f64::NEG_INFINITY } else { f64::INFINITY }
        } else if self.p.eat_word("nan") {
            match self.p.at("(") {
                true => {
                    self.p.open("(")?;
                    let value = f64::from_bits(self.p.number("the bits of a NaN")?);
                    self.p.close(")")?;
                    value
                }
                false => f64::NAN,
            }
        } else {
            return Err(self.p.unexpected("`inf` or `nan`"));
        };
        if !dtype.is_float() {
            let message = format!("{dtype} is not a floating-point type");
            return Err(self.p.error_at(span, "wrong-type", message));
        }
        Ok(Deep::leaf(Value { dtype, kind: ValueKind::Float(value) }))
    }

    fn word_atom(&mut self) -> Parse<Deep> {
        let word = self.p.word(0).unwrap_or_default().to_string();
        if matches!(&*word, "true" | "false") {
            self.p.advance();
            return Ok(Deep::leaf(Value { dtype: DType::Bool, kind: ValueKind::Bool(word == "true") }));
        }
        if self.p.peek_is(1, ".") {
            // The language's words for the coordinates may be written, too.
            let coordinate = match Language::OF_KERNELS.builtin(&word) {
                Some(Builtin::Coordinate(ours)) => ours,
                Some(Builtin::Extent) | None => &word,
            };
            match coordinate {
                "thread" | "block" => {
                    let of_thread = coordinate == "thread";
                    self.p.advance();
                    self.p.advance();
                    let axis = self.axis()?;
                    let kind = if of_thread { ValueKind::ThreadIdx(axis) } else { ValueKind::BlockIdx(axis) };
                    return Ok(Deep::leaf(Value { dtype: self.names.index, kind }));
                }
                "fast" if matches!(self.p.tok(2), Tok::Ident) => return self.call(false),
                _ if DType::from_name(&word).is_some() && matches!(self.p.tok(2), Tok::Ident) => {
                    return self.named_float(false);
                }
                _ => {}
            }
        }
        let is_call = self.p.peek_is(2, "(") || self.p.word(1) == Some("fast") && self.p.peek_is(2, ".");
        // A variable may have this name, followed by an operator.
        if word == "call" && self.p.word(1).is_some_and(|w| infix(w).is_none()) && is_call {
            self.p.advance();
            return self.call(true);
        }
        if self.p.peek_is(1, "(") {
            return self.form(&word);
        }
        if self.p.peek_is(1, "[") {
            let (element, depth) = self.deep_element()?;
            let kind = ValueKind::Load(element);
            let dtype = self.names.derived(&kind).unwrap_or(self.names.index);
            return Ok(Deep::below(depth, dtype, kind));
        }
        let span = self.p.span();
        let (name, number) = self.label("a value")?;
        let kind = match (self.names.variables_of(&name).get(number), number) {
            (Some(var), _) => ValueKind::Var(*var),
            (None, 0) => ValueKind::Param(name.clone()),
            _ => return Err(self.unknown(&name, span, "variable", &self.names.variable_names())),
        };
        match self.names.derived(&kind) {
            Some(dtype) => Ok(Deep::leaf(Value { dtype, kind })),
            None => Err(self.unknown(&name, span, "variable or scalar", &self.names.in_values())),
        }
    }

    /// Values that are written like calls: `if(c, a, b)`, `cast(f32, a)`, `exp(a)`.
    fn form(&mut self, word: &str) -> Parse<Deep> {
        match word {
            "cast" | "typed" => {
                self.p.advance();
                self.p.open("(")?;
                let dtype = self.dtype()?;
                self.p.expect(",")?;
                let a = self.deep(binding::OR)?;
                self.p.close(")")?;
                Ok(match word {
                    "cast" => Deep::below(a.depth, dtype, ValueKind::Cast(a.value.into())),
                    _ => Deep { value: Value { dtype, ..a.value }, depth: a.depth },
                })
            }
            "param" => {
                self.p.advance();
                self.p.open("(")?;
                let name = self.p.name("a scalar argument")?;
                self.p.expect(":")?;
                let dtype = self.dtype()?;
                self.p.close(")")?;
                Ok(Deep::leaf(Value { dtype, kind: ValueKind::Param(name) }))
            }
            "if" => {
                let ([c, a, b], depth) = self.operands()?;
                let dtype = a.dtype;
                Ok(Deep::below(depth, dtype, ValueKind::Select(c.into(), a.into(), b.into())))
            }
            "any" => {
                let ([a], depth) = self.operands()?;
                Ok(Deep::below(depth, DType::Bool, ValueKind::Any(a.into())))
            }
            "ballot" => {
                let ([has], depth) = self.operands()?;
                Ok(Deep { value: Value::ballot(has, &self.names.target), depth: depth + 1 })
            }
            "leading_zeros" => {
                let span = self.p.span();
                let ([a], depth) = self.operands()?;
                if !matches!(a.dtype, DType::U32 | DType::U64) {
                    let message = format!("`leading_zeros` is of a u32 or u64, not of {}", a.dtype);
                    return Err(self.p.error_at(span, "wrong-type", message));
                }
                Ok(Deep { value: a.leading_zeros(), depth: depth + 1 })
            }
            _ => {
                if let Some((op, _)) = CALLED.iter().find(|(_, name)| *name == word) {
                    let ([a, b], depth) = self.operands()?;
                    return Ok(Deep { value: Value::binary(*op, a, b), depth: depth + 1 });
                }
                match SHUFFLES.iter().find(|(_, name)| *name == word) {
                    Some((mode, _)) => self.shuffle(*mode),
                    None => self.call(false),
                }
            }
        }
    }

    /// This number of operands in parentheses, after a keyword.
    fn operands<const N: usize>(&mut self) -> Parse<([Value; N], usize)> {
        let start = self.p.span();
        self.p.advance();
        let (values, depth) = self.list("(", ")")?;
        let found = values.len();
        let values = <[Value; N]>::try_from(values).map_err(|_| {
            let word = self.p.text()[start.clone()].to_string();
            let message = format!("`{word}` has {N} operands, not {found}");
            self.p.error_at(start.start..self.p.last_end(), "syntax", message)
        })?;
        Ok((values, depth))
    }

    /// `shuffle_xor(value, operand, 32)`
    fn shuffle(&mut self, mode: crate::ShuffleMode) -> Parse<Deep> {
        self.p.advance();
        self.p.open("(")?;
        let value = self.deep(binding::OR)?;
        self.p.expect(",")?;
        let operand = self.deep(binding::OR)?;
        self.p.expect(",")?;
        let width = self.number("a number of lanes")?;
        self.p.close(")")?;
        let (dtype, depth) = (value.value.dtype, value.depth.max(operand.depth));
        let (value, operand) = (value.value.into(), operand.value.into());
        Ok(Deep::below(depth, dtype, ValueKind::Shuffle { mode, value, operand, width }))
    }

    /// `exp(a)`, `fast.exp(a)`; after `call`, a user-defined function.
    fn call(&mut self, of_user: bool) -> Parse<Deep> {
        let fast = self.p.at_word("fast") && self.p.peek_is(1, ".");
        if fast {
            self.p.advance();
            self.p.advance();
        }
        let span = self.p.span();
        let function = self.p.name("a function")?;
        if !of_user && !is_math(&function) {
            let message = format!("there is no math function `{function}`");
            let mut error = self.p.diagnostic(span.clone(), "unknown-name", message);
            let known = loopwright_kernel_ir::MATH_FUNCTIONS.iter().map(|f| f.name);
            error.help = loopwright_kernel_ir::syntax::did_you_mean(&function, known)
                .or_else(|| Some(format!("a user-defined function is called as `call {function}(...)`")));
            return Err(error.into());
        }
        let (args, depth) = self.list("(", ")")?;
        let precision = if fast { Precision::Fast } else { Precision::Precise };
        let kind = ValueKind::Call { function, precision, args };
        match self.names.derived(&kind) {
            Some(dtype) => Ok(Deep::below(depth, dtype, kind)),
            None => Err(self
                .p
                .diagnostic(span, "unknown-name", "an undeclared function needs operands")
                .help("declare it above, by a line `function f(f32) -> f32 { ... }`")
                .into()),
        }
    }

    /// An element of an array.
    pub(super) fn element(&mut self) -> Parse<MemRef> {
        Ok(self.deep_element()?.0)
    }

    /// `x[i, j]`, or `x[i, j @ offset]`
    fn deep_element(&mut self) -> Parse<(MemRef, usize)> {
        let span = self.p.span();
        let name = self.p.name("an array")?;
        let Some(memory) = self.names.memory_of(&name) else {
            return Err(self.unknown(&name, span, "array", &self.names.array_names()));
        };
        let (subscripts, mut depth) = self.list("[", "]")?;
        let offset = match self.p.eat("@") {
            true => {
                let offset = self.deep(binding::OR)?;
                self.p.close("]")?;
                depth = depth.max(offset.depth);
                offset.value
            }
            false => {
                let held = self.names.held(memory);
                let offset = held.and_then(|h| h.layout.offset(&subscripts, self.names.index));
                let offset = offset.ok_or_else(|| {
                    let message = format!("the offset in `{name}` does not follow from these subscripts");
                    self.p.diagnostic(span.start..self.p.last_end(), "wrong-layout", message).help(
                        "give one subscript per axis, or write the offset after them, as in `x[i, \
                         j @ 4 * i]`",
                    )
                })?;
                depth = depth.max(depth_of(&offset));
                offset
            }
        };
        self.bounded(span.start, depth + 1)?;
        Ok((MemRef { memory, subscripts, offset: Box::new(offset) }, depth + 1))
    }
}

fn depth_of(value: &Value) -> usize {
    let mut depth = 0;
    value.each_child(&mut |child| depth = depth.max(depth_of(child)));
    depth + 1
}
