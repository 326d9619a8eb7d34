//! Reduction operators, device functions and atoms that a kernel declares.

use std::{ops::Range, sync::Arc};

use loopwright_target::Language;

use crate::{
    DeviceFunction, Expr, Name, ReductionOp, StateType, StateVar, Type,
    atom::Atom,
    complex::part_type,
    text::{
        lexer::Tok,
        parser::{Parse, Parser},
    },
};

impl Parser {
    /// `n: i32 = e` and the like; see the grammar.
    pub(super) fn reduction_operator(&mut self) -> Parse<ReductionOp> {
        let name = self.name("the name of the operator")?;
        let inputs = self.bracketed_names("(", ")")?;
        let mut op = ReductionOp {
            name,
            inputs,
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
                        let name = self.name("a value of the state")?;
                        self.expect(":")?;
                        let dtype = self.state_type(&op.inputs)?;
                        self.expect("=")?;
                        op.state.push(StateVar { name, dtype });
                        op.neutral.push(self.expr()?);
                        if !self.eat(",") {
                            break;
                        }
                    }
                }
                Some("lift") => op.lift = self.state_values(&op.state, start)?,
                Some("combine") => op.combine = self.state_values(&op.state, start)?,
                Some("result") => {
                    self.advance();
                    op.result.push(self.expr()?);
                    while self.eat(",") {
                        op.result.push(self.expr()?);
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
        Ok(op)
    }

    /// A type, or `like x`: that of an input.
    fn state_type(&mut self, inputs: &[Name]) -> Parse<StateType> {
        if self.at_word("like") {
            self.advance();
            let span = self.span();
            let input = self.name("an input")?;
            return match inputs.iter().position(|n| *n == input) {
                Some(k) => Ok(StateType::Input(k)),
                None => {
                    let mut error = self.diagnostic(
                        span,
                        "unknown-name",
                        format!("`{input}` is not an input of the operator"),
                    );
                    error.help = crate::suggest::did_you_mean(&input, inputs.iter().map(|n| n.as_str()));
                    Err(error.into())
                }
            };
        }
        let span = self.span();
        if let Some(of) = self.word(0).and_then(|word| self.structs.iter().find(|s| *s.name == *word)) {
            let message = format!("a value of the state is a scalar, and `{}` is a struct", of.name);
            let values: Vec<String> =
                of.fields.iter().map(|f| format!("{}: {} = 0", f.name, f.dtype)).collect();
            let help = format!(
                "give each field as a value, with its neutral element, as `state {}`, and as an input",
                values.join(", ")
            );
            return Err(self.diagnostic(span, "unknown-type", message).help(help).into());
        }
        match self.dtype()? {
            Type::Known(dtype) => Ok(StateType::Fixed(dtype)),
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

    /// `lift n = 1, mean = x`: one expression for each value of the state.
    fn state_values(&mut self, state: &[StateVar], start: Range<usize>) -> Parse<Vec<Expr>> {
        self.advance();
        let mut values: Vec<Option<Expr>> = vec![None; state.len()];
        loop {
            let span = self.span();
            let name = self.name("a value of the state")?;
            self.expect("=")?;
            let Some(k) = state.iter().position(|s| s.name == name) else {
                let mut error =
                    self.diagnostic(span, "unknown-name", format!("`{name}` is not a value of the state"));
                error.help = crate::suggest::did_you_mean(&name, state.iter().map(|s| s.name.as_str()))
                    .or_else(|| Some("the `state` has to come first".into()));
                return Err(error.into());
            };
            values[k] = Some(self.expr()?);
            if !self.eat(",") {
                break;
            }
        }
        let missing = values.iter().zip(state).find(|(v, _)| v.is_none()).map(|(_, s)| s.name.clone());
        match missing {
            Some(name) => Err(self.error_at(
                start.start..self.last_end(),
                "syntax",
                format!("there is no expression for the value `{name}` of the state"),
            )),
            None => Ok(values.into_iter().flatten().collect()),
        }
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
