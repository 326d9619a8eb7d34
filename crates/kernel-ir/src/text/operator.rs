//! Reduction operators, device functions and atoms that a kernel declares.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use loopwright_target::Language;

use crate::{
    DeviceFunction, Diagnostic, Expr, Name, ReductionOp, StateType, StateVar, Type,
    atom::Atom,
    complex::part_type,
    text::{
        lexer::Tok,
        parser::{Parse, Parser},
        shape::{Assigned, Fault, Goal, MOST, Names, Part, Shape, goals, points},
    },
};

/// An operator whose inputs, state or results are not all numbers, as its text declares them.
#[derive(Clone, Debug)]
pub(super) struct Shaped {
    pub name: Name,
    pub inputs: Vec<(Name, Shape)>,
    pub results: Vec<Shape>,
}

/// The values of a state, as they are declared.
type Values = Vec<(Name, Shape)>;

impl Parser {
    /// `n: i32 = e` and the like; see the grammar. The second is given unless all is numbers.
    pub(super) fn reduction_operator(&mut self) -> Parse<(ReductionOp, Option<Shaped>)> {
        let in_operator = std::mem::replace(&mut self.in_operator, true);
        let operator = self.operator_lines();
        self.in_operator = in_operator;
        operator
    }

    fn operator_lines(&mut self) -> Parse<(ReductionOp, Option<Shaped>)> {
        let name = self.name("the name of the operator")?;
        let inputs = self.operator_inputs()?;
        let mut state: Values = Vec::new();
        let mut results: Vec<Shape> = Vec::new();
        let mut op = ReductionOp {
            name,
            inputs: names_of(&inputs),
            state: Vec::new(),
            neutral: Vec::new(),
            lift: Vec::new(),
            combine: Vec::new(),
            result: Vec::new(),
            commutes: false,
            idempotent: false,
            trusted: None,
        };
        self.open("{")?;
        while !self.at("}") {
            let start = self.span();
            match self.word(0) {
                Some("state") => {
                    self.advance();
                    loop {
                        self.state_value(&mut op, &mut state, &inputs)?;
                        if !self.eat(",") {
                            break;
                        }
                    }
                }
                Some("lift") => {
                    let shapes = inputs.iter().map(|(n, s)| (n.clone(), s)).collect();
                    op.lift = self.state_values(&state, shapes, start)?;
                }
                Some("combine") => {
                    let side = |side: &'static str| {
                        state.iter().map(move |(n, s)| (Name::new(format!("{side}.{n}")), s))
                    };
                    op.combine = self.state_values(&state, side("a").chain(side("b")).collect(), start)?;
                }
                Some("result") => {
                    self.advance();
                    loop {
                        let shapes = state.iter().map(|(n, s)| (n.clone(), s)).collect();
                        let (values, shape) = self.operator_result(shapes)?;
                        op.result.extend(values);
                        results.push(shape);
                        if !self.eat(",") {
                            break;
                        }
                    }
                }
                Some("commutes") => {
                    self.advance();
                    op.commutes = true;
                }
                Some("idempotent") => {
                    self.advance();
                    op.idempotent = true;
                }
                Some("trusted") => {
                    self.advance();
                    op.trusted = Some(self.quoted("why the operator's laws hold")?);
                }
                _ => {
                    return Err(self.unexpected(
                        "`state`, `lift`, `combine`, `result`, `commutes`, `idempotent` or \
                         `trusted`",
                    ));
                }
            }
            self.eat(";");
        }
        let end = self.span();
        self.close("}")?;
        for (what, missing) in [
            ("state", op.state.is_empty()),
            ("lift", op.lift.is_empty()),
            ("combine", op.combine.is_empty()),
            ("result", op.result.is_empty()),
        ] {
            if missing {
                return Err(self
                    .diagnostic(end, "syntax", format!("the operator `{}` has no `{what}`", op.name))
                    .help(
                        "an operator needs `state` with neutral elements, `lift`, `combine` and \
                         `result`",
                    )
                    .into());
            }
        }
        let shapes = inputs.iter().chain(&state).map(|(_, s)| s).chain(&results);
        let is_plain = shapes.into_iter().all(Shape::is_number);
        let shaped = (!is_plain).then(|| Shaped { name: op.name.clone(), inputs, results });
        Ok((op, shaped))
    }

    /// `(s, v[8], p: part)`.
    fn operator_inputs(&mut self) -> Parse<Values> {
        let mut inputs: Values = Vec::new();
        self.open("(")?;
        while !self.at(")") {
            let from = self.span().start;
            let name = self.name("an input of the operator")?;
            let mut shape = Shape::default();
            if self.eat(":") {
                shape.of = Some(self.struct_here().cloned().ok_or_else(|| {
                    let help = "an input has the type of what is given, and no other; a struct is named, as \
                                `p: part`, and its `struct` line declares it";
                    Box::new(Diagnostic {
                        help: Some(help.into()),
                        ..*self.unexpected("the name of a struct")
                    })
                })?);
                self.advance();
            }
            shape.lengths = self.constant_lengths()?;
            self.add_value(&mut inputs, name, shape, from)?;
            if !self.eat(",") {
                break;
            }
        }
        self.close(")")?;
        Ok(inputs)
    }

    /// `[2, 4]`, if a bracket is open.
    fn constant_lengths(&mut self) -> Parse<Vec<i64>> {
        let mut lengths = Vec::new();
        if self.at("[") {
            self.open("[")?;
            loop {
                let Tok::Int(length @ 1..) = self.tok(0) else {
                    let mut error = self.unexpected("a length, which is a positive integer");
                    error.help = Some(
                        "the numbers of an operator are scalars of each thread: how many there are is part of \
                         the text"
                            .into(),
                    );
                    return Err(error);
                };
                lengths.push(self.small(length)?);
                self.advance();
                if !self.eat(",") {
                    break;
                }
            }
            self.close("]")?;
        }
        Ok(lengths)
    }

    /// Adds an input or a value of the state, whose numbers have names that are not taken.
    fn add_value(&self, values: &mut Values, name: Name, shape: Shape, from: usize) -> Parse<()> {
        let span = from..self.last_end();
        if shape.size().is_none() {
            let message = format!("`{name}` has more than {MOST} numbers");
            let help = "each is a scalar of every thread: reduce over fewer at once, as a row in pieces";
            return Err(self.diagnostic(span, "operator-shape", message).help(help).into());
        }
        values.push((name, shape));
        let names = names_of(values);
        if let Some(twice) = names.iter().enumerate().find(|(k, n)| names[..*k].contains(n)).map(|(_, n)| n) {
            let message = format!("the operator has two numbers that are called `{twice}`");
            let help = "the numbers of an array are called `o_0`, `o_1`, those of a struct `v_x`: give one of \
                        them another name";
            return Err(self.diagnostic(span, "duplicate-name", message).help(help).into());
        }
        Ok(())
    }

    /// `o: f32[8] = 0.0`, `v: part = part(0.0, 1)`, `m: like s = lowest()`.
    fn state_value(&mut self, op: &mut ReductionOp, state: &mut Values, inputs: &Values) -> Parse<()> {
        let start = self.span().start;
        let name = self.name("a value of the state")?;
        self.expect(":")?;
        let span = self.span();
        let (mut shape, first) = self.state_type(inputs)?;
        let own = self.constant_lengths()?;
        if !own.is_empty() {
            if !shape.lengths.is_empty() {
                let message = "the lengths of this value are those of the input that it is like";
                return Err(self
                    .diagnostic(span.start..self.last_end(), "operator-shape", message)
                    .help("leave the lengths out")
                    .into());
            }
            shape.lengths = own;
        }
        self.add_value(state, name.clone(), shape.clone(), start)?;
        self.expect("=")?;
        let from = self.span().start;
        let neutral = self.expr()?;
        let names = Names { shapes: BTreeMap::new(), structs: &self.structs };
        let whole = names.shape(&neutral);
        for (k, part) in shape.parts().into_iter().enumerate() {
            let dtype = match (&first, part.field) {
                // An input that is an array has a type for each of its numbers, which are the same.
                (StateType::Input(input), _) => StateType::Input(input + k % numbers_from(inputs, *input)),
                (StateType::Fixed(dtype), None) => StateType::Fixed(*dtype),
                (StateType::Fixed(dtype), Some(field)) => {
                    StateType::Fixed(shape.of.as_ref().map_or(*dtype, |s| s.fields[field].dtype))
                }
            };
            op.state.push(StateVar { name: shape.name_of(&name, &part), dtype });
            // One number is the neutral element of each, one struct that of each element.
            let of = Part { index: Vec::new(), field: part.field.filter(|_| whole.of.is_some()) };
            let value = match whole.of.is_some() && whole.of != shape.of {
                true => Err(Fault::new(
                    format!("`{neutral}` is {}, and `{name}` is {}", whole.words(), shape.words()),
                    neutral.to_string(),
                    "give one number for all, or a struct of the same kind, as `part(0.0, 1)`",
                )),
                false => names.number(&neutral, &of, &BTreeMap::new()),
            };
            op.neutral.push(value.map_err(|fault| self.shape_error(&fault, from))?);
        }
        Ok(())
    }

    /// A type, a struct, or `like x`: what an input has. Returns the shape, and of a number its
    /// type, or the first number of the input.
    fn state_type(&mut self, inputs: &Values) -> Parse<(Shape, StateType)> {
        if self.at_word("like") {
            self.advance();
            let span = self.span();
            let input = self.name("an input")?;
            return match inputs.iter().position(|(n, _)| *n == input) {
                Some(k) => {
                    let before: usize = inputs[..k].iter().filter_map(|(_, s)| s.size()).sum();
                    Ok((inputs[k].1.clone(), StateType::Input(before)))
                }
                None => {
                    let mut error = self.diagnostic(
                        span,
                        "unknown-name",
                        format!("`{input}` is not an input of the operator"),
                    );
                    error.help = crate::suggest::did_you_mean(&input, inputs.iter().map(|(n, _)| n.as_str()));
                    Err(error.into())
                }
            };
        }
        let span = self.span();
        if let Some(of) = self.struct_here().cloned() {
            self.advance();
            let first = of.fields.first().map_or(crate::DType::F32, |f| f.dtype);
            return Ok((Shape { lengths: Vec::new(), of: Some(of) }, StateType::Fixed(first)));
        }
        match self.dtype()? {
            Type::Known(dtype) => Ok((Shape::default(), StateType::Fixed(dtype))),
            t if part_type(&t).is_some() => {
                let message = format!("a value of the state is real, and `{t}` is not");
                Err(self
                    .diagnostic(span, "complex-type", message)
                    .help("give its parts as two values, `re: f32 = 0, im: f32 = 0`")
                    .into())
            }
            Type::Open(name) => Err(self
                .diagnostic(
                    span,
                    "unknown-type",
                    format!("the state of an operator cannot be of the open type `{name}`"),
                )
                .help("write `like x` for the type of the input `x`")
                .into()),
        }
    }

    /// `lift n = 1, mean = x, o[d] = v[d]`: an expression for each number of the state.
    fn state_values(
        &mut self,
        state: &Values,
        shapes: BTreeMap<Name, &Shape>,
        start: Range<usize>,
    ) -> Parse<Vec<Expr>> {
        self.advance();
        let numbers = names_of(state);
        let mut values: Vec<Option<Expr>> = vec![None; numbers.len()];
        loop {
            let span = self.span();
            let name = self.name("a value of the state")?;
            let Some((_, shape)) = state.iter().find(|(n, _)| *n == name) else {
                let mut error =
                    self.diagnostic(span, "unknown-name", format!("`{name}` is not a value of the state"));
                error.help = crate::suggest::did_you_mean(&name, state.iter().map(|(n, _)| n.as_str()))
                    .or_else(|| match state.is_empty() {
                        true => Some("the `state` has to come first".into()),
                        false => {
                            let names: Vec<String> = state.iter().map(|(n, _)| format!("`{n}`")).collect();
                            Some(format!("the state has {}", names.join(", ")))
                        }
                    });
                return Err(error.into());
            };
            let index = if self.at("[") { self.subscripts()? } else { Vec::new() };
            let field = if self.eat(".") { Some(self.name("a field")?) } else { None };
            let goal = Goal { index, field };
            self.expect("=")?;
            let from = self.span().start;
            let value = self.expr()?;
            let taken =
                shapes.keys().map(Name::as_str).chain(state.iter().map(|(n, _)| n.as_str())).collect();
            let goals =
                goals(&name, shape, &goal, &taken).map_err(|fault| self.shape_error(&fault, span.start))?;
            let names = Names { shapes: shapes.clone(), structs: &self.structs };
            for Assigned { to: part, from: of, at } in goals {
                let number = shape.name_of(&name, &part);
                let Some(k) = numbers.iter().position(|n| *n == number) else { continue };
                let made = names.number(&value, &of, &at).map_err(|fault| self.shape_error(&fault, from))?;
                if values[k].replace(made).is_some() {
                    let message = format!("`{}` is given twice", shape.text_of(&name, &part));
                    return Err(self
                        .diagnostic(span.start..self.last_end(), "duplicate-name", message)
                        .help("keep one of the two")
                        .into());
                }
            }
            if !self.eat(",") {
                break;
            }
        }
        let texts = state.iter().flat_map(|(n, s)| s.parts().into_iter().map(move |p| s.text_of(n, &p)));
        let missing = values.iter().zip(texts).find(|(v, _)| v.is_none()).map(|(_, text)| text);
        match missing {
            Some(name) => Err(self.error_at(
                start.start..self.last_end(),
                "syntax",
                format!("there is no expression for the value `{name}` of the state"),
            )),
            None => Ok(values.into_iter().flatten().collect()),
        }
    }

    /// One result, with all its numbers: `o[d]/l` has one for each `d`.
    fn operator_result(&mut self, shapes: BTreeMap<Name, &Shape>) -> Parse<(Vec<Expr>, Shape)> {
        let from = self.span().start;
        let value = self.expr()?;
        let names = Names { shapes, structs: &self.structs };
        let found = || -> Result<_, Box<Fault>> {
            let indices = names.indices(&value)?;
            if let Some((name, _)) = indices.iter().find(|(n, _)| names.shapes.contains_key(n)) {
                let message = format!("`{name}` is a value of the state, and a subscript here");
                return Err(Fault::new(message, name.as_str(), "choose another name for the index"));
            }
            let own = names.shape(&value);
            let lengths: Vec<i64> = indices.iter().map(|(_, length)| *length).collect();
            let mut made = Vec::new();
            for point in points(&lengths) {
                let at = indices.iter().map(|(n, _)| n.clone()).zip(point).collect();
                for part in own.parts() {
                    made.push(names.number(&value, &part, &at)?);
                }
            }
            Ok((made, Shape { lengths: [lengths, own.lengths].concat(), of: own.of }))
        };
        found().map_err(|fault| self.shape_error(&fault, from))
    }

    /// The refusal of a formula, at the part of it that is meant.
    fn shape_error(&self, fault: &Fault, from: usize) -> Box<Diagnostic> {
        let text = self.text.get(from..self.last_end()).unwrap_or_default();
        let start = text.find(&fault.at).map_or(from, |k| from + k);
        let end = if text.contains(&fault.at) { start + fault.at.len() } else { self.last_end() };
        self.diagnostic(start..end, "operator-shape", fault.message.clone()).help(fault.help.clone()).into()
    }

    /// The rest of a `function` line, after the keyword.
    pub fn device_function(&mut self) -> Parse<DeviceFunction> {
        let name = self.name("the name of the function")?;
        let known = |p: &mut Parser| -> Parse<crate::DType> {
            let span = p.span();
            match p.dtype()? {
                Type::Known(t) => Ok(t),
                t if part_type(&t).is_some() => {
                    let message = format!("an argument of a device function is real, and `{t}` is not");
                    Err(p
                        .diagnostic(span, "complex-type", message)
                        .help("give its parts as two arguments; a function has one result, a real one")
                        .into())
                }
                Type::Open(t) => Err(p
                    .diagnostic(
                        span,
                        "unknown-type",
                        format!("a device function cannot have the open type `{t}`"),
                    )
                    .help("give the types that its definition has")
                    .into()),
            }
        };
        self.open("(")?;
        let mut params = Vec::new();
        while !self.at(")") {
            params.push(known(self)?);
            if !self.eat(",") {
                break;
            }
        }
        self.close(")")?;
        self.expect("->")?;
        let result = known(self)?;
        if self.tok(0) != Tok::Raw {
            return Err(
                self.unexpected(&format!("`{{` and the {} of the function", Language::OF_KERNELS.name))
            );
        }
        let span = self.span();
        self.advance();
        let source = self.text[span.start + 1..span.end - 1].trim();
        Ok(DeviceFunction { name, params, result, source: source.into() })
    }

    /// The rest of a line `atom NAME { ... }`, after the keyword.
    pub fn atom_declaration(&mut self) -> Parse<Arc<Atom>> {
        let name = self.name("the name of the atom")?;
        if self.tok(0) != Tok::Raw {
            return Err(self.unexpected("`{` and the lines of the atom, up to `}`"));
        }
        let span = self.span();
        self.advance();
        let from = span.start + 1;
        Atom::read(name, &self.text[from..span.end - 1]).map(Arc::new).map_err(|wrong| {
            self.error_at(from + wrong.span.start..from + wrong.span.end, "atom-syntax", wrong.what)
        })
    }
}

/// The names of all numbers of these values.
fn names_of(values: &[(Name, Shape)]) -> Vec<Name> {
    values.iter().flat_map(|(n, s)| s.parts().into_iter().map(move |p| s.name_of(n, &p))).collect()
}

/// How many numbers the input has whose first number this is.
fn numbers_from(inputs: &[(Name, Shape)], number: usize) -> usize {
    let mut first = 0;
    for (_, shape) in inputs {
        let size = shape.size().unwrap_or(1).max(1);
        if first == number {
            return size;
        }
        first += size;
    }
    1
}
