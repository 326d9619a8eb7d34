//! The lines of a kernel.

use std::{collections::BTreeMap, ops::Range};

use crate::{
    AddressSpace, Arg, Array, Axis, BinaryOp, Definition, DeviceFunction, Expr, Fact, Instruction,
    KernelData, Name, Options, Precision, ReductionOp, Role, Scalar, StateType, StateVar, Tag, Type, Vouched,
    text::{
        lexer::Tok,
        parser::{Parse, Parser},
        source_map::{Item, SourceMap},
    },
    types::UNTYPED,
};

/// What the text said, before names are resolved.
pub(crate) struct Draft {
    pub data: KernelData,
    pub map: SourceMap,
    /// A `tree` was given: this is a transformed kernel, whose inames stand with the instructions.
    pub has_tree: bool,
    /// The text of the kernel as it was declared.
    pub declared: Option<Box<Draft>>,
}

impl Draft {
    fn new(p: &Parser, name: Name) -> Self {
        Draft {
            data: KernelData {
                name,
                args: Vec::new(),
                temporaries: Vec::new(),
                domains: Vec::new(),
                definitions: Vec::new(),
                instructions: Vec::new(),
                tree: Vec::new(),
                tags: BTreeMap::new(),
                assumptions: Vec::new(),
                facts: Vec::new(),
                reductions: Vec::new(),
                functions: Vec::new(),
                options: Options::default(),
                vouched: Vec::new(),
                declared: None,
            },
            map: SourceMap::new(&p.origin, &p.text),
            has_tree: false,
            declared: None,
        }
    }
}

/// Words that begin a line, unless `=`, `,` or `[` follows.
const LINES: &[&str] = &[
    "assume",
    "assume_legal",
    "fact",
    "temp",
    "let",
    "tag",
    "option",
    "reduction",
    "function",
    "tree",
    "declared",
    "kernel",
];

impl Parser {
    /// A whole text: one kernel.
    pub(crate) fn whole(&mut self) -> Parse<Draft> {
        self.begin_statement();
        let draft = self.kernel(true)?;
        if !self.at_text_end() {
            return Err(self.unexpected("the end of the text"));
        }
        Ok(draft)
    }

    /// A kernel, up to the end of the text or a closing brace.
    fn kernel(&mut self, outermost: bool) -> Parse<Draft> {
        if !self.at_word("kernel") {
            let mut error = self.unexpected("`kernel`");
            error.help =
                Some("a kernel begins with its name and arguments: `kernel axpy(x: f32[n], n: i32)`".into());
            return Err(error);
        }
        let start = self.span().start;
        self.advance();
        let name = self.name("the name of the kernel")?;
        let mut draft = Draft::new(self, name);
        self.open("(")?;
        while !self.at(")") {
            let from = self.span().start;
            let arg = self.argument()?;
            draft.map.spans.insert(Item::Arg(draft.data.args.len()), from..self.last_end());
            draft.data.args.push(arg);
            if !self.eat(",") {
                break;
            }
        }
        self.close(")")?;
        draft.map.spans.insert(Item::Header, start..self.last_end());
        self.end_statement()?;
        loop {
            self.begin_statement();
            if self.at_text_end() || (!outermost && self.at("}")) {
                return Ok(draft);
            }
            self.statement(&mut draft)?;
            self.end_statement()?;
        }
    }

    fn argument(&mut self) -> Parse<Arg> {
        let name = self.name("an argument")?;
        if !self.eat(":") {
            let mut error = self.unexpected("`:` and a type");
            error.help = Some(format!("an argument has a type: `{name}: f32[n]` or `{name}: i32`"));
            return Err(error);
        }
        let dtype = self.dtype()?;
        if !self.at("[") {
            return Ok(Arg::Scalar(Scalar { name, dtype }));
        }
        let (axes, order) = self.layout()?;
        let streaming = self.eat_word("streaming");
        self.eat_word("global");
        Ok(Arg::Array(Array { name, dtype, axes, order, space: AddressSpace::Global, streaming }))
    }

    /// `"text"`, without quotes inside.
    fn quoted(&mut self, what: &str) -> Parse<Name> {
        if self.tok(0) != Tok::Quoted {
            return Err(self.unexpected(&format!("{what}, in quotes")));
        }
        let span = self.span();
        self.advance();
        Ok(Name::new(&self.text[span.start + 1..span.end - 1]))
    }

    /// `[n, 16 pad 1] strides(ld, _) order(1, 0)`
    fn layout(&mut self) -> Parse<(Vec<Axis>, Vec<usize>)> {
        self.open("[")?;
        let mut axes = Vec::new();
        while !self.at("]") {
            let mut axis = Axis::new(self.expr()?);
            if self.eat_word("pad") {
                let Tok::Int(padding) = self.tok(0) else {
                    return Err(self.unexpected("a number of elements"));
                };
                axis.padding = u32::try_from(padding).map_err(|_| self.huge())?;
                self.advance();
            }
            axes.push(axis);
            if !self.eat(",") {
                break;
            }
        }
        self.close("]")?;
        let mut order = Vec::new();
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
                    return Err(self.diagnostic(
                        start..self.last_end(),
                        "wrong-layout",
                        format!("{} strides for {} axes", strides.len(), axes.len()),
                    )
                    .help("give one an axis, outermost subscript first, `_` where it follows from the shape")
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
                    return Err(self.diagnostic(
                        start..self.last_end(),
                        "wrong-layout",
                        "this is no order of the axes",
                    )
                    .help(format!(
                        "name each of the axes 0 to {} once, the slowest first; `c` is the order of the subscripts, `f` its reverse",
                        axes.len().saturating_sub(1)
                    ))
                    .into());
                }
                if sorted == order {
                    order.clear();
                }
            } else {
                return Ok((axes, order));
            }
        }
    }

    fn statement(&mut self, draft: &mut Draft) -> Parse<()> {
        let start = self.span().start;
        let keyword = match self.word(0) {
            Some("domain") => "domain",
            Some(w) if matches!(self.tok(1), Tok::Punct("=" | "," | "[")) || !LINES.contains(&w) => "",
            Some(w) => LINES.iter().find(|l| **l == w).copied().unwrap_or(""),
            None if self.at("{") || self.at("[") => "{",
            None => "",
        };
        if !matches!(keyword, "" | "{") {
            self.advance();
        }
        let data = &mut draft.data;
        match keyword {
            "domain" | "{" => {
                let (domain, spans) = self.domain()?;
                let k = data.domains.len();
                draft.map.spans.insert(Item::Domain(k), start..self.last_end());
                for (j, span) in spans.into_iter().enumerate() {
                    draft.map.spans.insert(Item::Constraint(k, j), span);
                }
                data.domains.push(domain);
            }
            "assume" => {
                let mut spans = Vec::new();
                let first = data.assumptions.len();
                self.conjunction(&mut data.assumptions, &mut spans)?;
                for (j, span) in spans.into_iter().enumerate() {
                    draft.map.spans.insert(Item::Assumption(first + j), span);
                }
            }
            "assume_legal" => {
                let reason = self.quoted("why the step is legal")?;
                let step = if self.eat_word("for") { Some(self.quoted("the step")?) } else { None };
                data.vouched.push(Vouched { reason, step });
            }
            "fact" => {
                let fact = self.fact(data)?;
                draft.map.spans.insert(Item::Fact(data.facts.len()), start..self.last_end());
                data.facts.push(fact);
            }
            "temp" => {
                let temporary = self.temporary()?;
                draft.map.spans.insert(Item::Temporary(data.temporaries.len()), start..self.last_end());
                data.temporaries.push(temporary);
            }
            "let" => {
                let iname = self.name("an iname")?;
                self.expect("=")?;
                let value = self.aff()?;
                draft.map.spans.insert(Item::Definition(data.definitions.len()), start..self.last_end());
                data.definitions.push(Definition { iname, value });
            }
            "tag" => {
                let (iname, tag) = self.tag_line()?;
                let span = start..self.last_end();
                if data.tags.insert(iname.clone(), tag).is_some() {
                    return Err(self.error_at(
                        span,
                        "duplicate-name",
                        format!("`{iname}` has a tag already"),
                    ));
                }
                draft.map.spans.insert(Item::Tag(iname.to_string()), span);
            }
            "option" => match self.word(0) {
                Some("fast_math") => {
                    data.options.precision = Precision::Fast;
                    self.advance();
                }
                Some("precise_math") => {
                    data.options.precision = Precision::Precise;
                    self.advance();
                }
                Some(w) => {
                    let help = crate::suggest::did_you_mean(w, ["fast_math", "precise_math"])
                        .unwrap_or_else(|| "the options are `fast_math` and `precise_math`".into());
                    return Err(self
                        .error("unknown-option", format!("`{w}` is no option"))
                        .help(help)
                        .into());
                }
                None => return Err(self.unexpected("an option")),
            },
            "reduction" => {
                let reduction = self.reduction_operator()?;
                draft.map.spans.insert(Item::Reduction(data.reductions.len()), start..self.last_end());
                data.reductions.push(reduction);
            }
            "function" => {
                let function = self.device_function()?;
                draft.map.spans.insert(Item::Function(data.functions.len()), start..self.last_end());
                data.functions.push(function);
            }
            "tree" => {
                if draft.has_tree {
                    return Err(self.error_at(start..self.last_end(), "duplicate-name", "a second tree"));
                }
                self.open("{")?;
                data.tree = self.trees()?;
                self.close("}")?;
                draft.map.spans.insert(Item::Tree, start..self.last_end());
                draft.has_tree = true;
            }
            "declared" => {
                if draft.declared.is_some() {
                    return Err(self.error_at(
                        start..self.last_end(),
                        "duplicate-name",
                        "a second declared kernel",
                    ));
                }
                self.expect("{")?;
                self.enter()?;
                self.begin_statement();
                draft.declared = Some(Box::new(self.kernel(false)?));
                if !self.eat("}") {
                    return Err(self.unexpected("`}`"));
                }
                self.leave();
            }
            "kernel" => {
                return Err(self.error_at(start..self.last_end(), "syntax", "a second kernel in one text"));
            }
            _ => self.instruction(draft, start)?,
        }
        Ok(())
    }

    fn temporary(&mut self) -> Parse<Array> {
        let name = self.name("a temporary")?;
        let dtype = if self.eat(":") { self.dtype()? } else { Type::Open(UNTYPED.into()) };
        let (axes, order) = if self.at("[") { self.layout()? } else { Default::default() };
        let streaming = !axes.is_empty() && self.eat_word("streaming");
        let space = match self.word(0) {
            Some("private") => AddressSpace::Private,
            Some("shared" | "local") => AddressSpace::Shared,
            Some("global") => AddressSpace::Global,
            None => {
                return Ok(Array { name, dtype, axes, order, space: AddressSpace::Private, streaming });
            }
            Some(w) => {
                let help = crate::suggest::did_you_mean(w, ["private", "shared", "global"])
                    .unwrap_or_else(|| "a temporary is `private`, `shared` or `global`".into());
                return Err(self.error("syntax", format!("`{w}` is no address space")).help(help).into());
            }
        };
        self.advance();
        Ok(Array { name, dtype, axes, order, space, streaming })
    }

    fn fact(&mut self, data: &KernelData) -> Parse<Fact> {
        if self.at_any_word(&["monotone", "injective"]) && self.peek_is(1, "(") {
            let monotone = self.at_word("monotone");
            self.advance();
            let names = self.bracketed_names("(", ")")?;
            let [array] = <[Name; 1]>::try_from(names).map_err(|_| self.unexpected("one array"))?;
            return Ok(if monotone { Fact::Monotone(array) } else { Fact::Injective(array) });
        }
        // A chain of comparisons around the name of the array, which has one comparison on either side at most.
        let start = self.span().start;
        let mut sides = vec![self.expr_above_comparison()?];
        let mut operators = Vec::new();
        while let Tok::Punct(op @ ("<" | "<=" | ">" | ">=")) = self.tok(0) {
            self.advance();
            operators.push(op);
            sides.push(self.expr_above_comparison()?);
        }
        if operators.iter().all(|o| o.starts_with('>')) {
            sides.reverse();
            operators = operators.iter().rev().map(|o| if *o == ">" { "<" } else { "<=" }).collect();
        }
        let plus_one = |e: &Expr| match e {
            Expr::Int(v) if *v < i64::MAX => Expr::Int(v + 1),
            _ => Expr::binary(BinaryOp::Add, e.clone(), Expr::Int(1)),
        };
        let lower = |e: &Expr, op: &str| if op == "<" { plus_one(e) } else { e.clone() };
        let upper = |e: &Expr, op: &str| if op == "<" { e.clone() } else { plus_one(e) };
        let unclear = |p: &Parser| {
            p.diagnostic(start..p.last_end(), "syntax", "this fact does not bound an array")
                .help("write `fact 0 <= idx < n`, `fact monotone(idx)` or `fact injective(idx)`")
                .into()
        };
        if operators.iter().any(|o| o.starts_with('>')) {
            return Err(unclear(self));
        }
        // With one comparison, the array is the side that is a name; where both are, validation asks which is an array.
        match (sides.as_slice(), operators.as_slice()) {
            ([low, Expr::Name(array), high], [a, b]) => Ok(Fact::Range {
                array: array.clone(),
                lower: Some(lower(low, a)),
                upper: Some(upper(high, b)),
            }),
            ([low, Expr::Name(array)], [a]) if !matches!(low, Expr::Name(n) if data.array(n).is_some()) => {
                Ok(Fact::Range { array: array.clone(), lower: Some(lower(low, a)), upper: None })
            }
            ([Expr::Name(array), high], [a]) => {
                Ok(Fact::Range { array: array.clone(), lower: None, upper: Some(upper(high, a)) })
            }
            _ => Err(unclear(self)),
        }
    }

    /// `n: i32 = e` and the like; see the grammar.
    fn reduction_operator(&mut self) -> Parse<ReductionOp> {
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
                _ => {
                    return Err(
                        self.unexpected("`state`, `lift`, `combine`, `result`, `commutes` or `idempotent`")
                    );
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
                        "an operator says its `state` with neutral elements, `lift`, `combine` and `result`",
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
                        format!("`{input}` is no input of the operator"),
                    );
                    error.help = crate::suggest::did_you_mean(&input, inputs.iter().map(|n| n.as_str()));
                    Err(error.into())
                }
            };
        }
        let span = self.span();
        match self.dtype()? {
            Type::Known(dtype) => Ok(StateType::Fixed(dtype)),
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
                    self.diagnostic(span, "unknown-name", format!("`{name}` is no value of the state"));
                error.help = crate::suggest::did_you_mean(&name, state.iter().map(|s| s.name.as_str()))
                    .or_else(|| Some("the `state` comes first".into()));
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
                format!("the value `{name}` of the state is missing"),
            )),
            None => Ok(values.into_iter().flatten().collect()),
        }
    }

    fn device_function(&mut self) -> Parse<DeviceFunction> {
        let name = self.name("the name of the function")?;
        let known = |p: &mut Parser| -> Parse<crate::DType> {
            let span = p.span();
            match p.dtype()? {
                Type::Known(t) => Ok(t),
                Type::Open(t) => Err(p
                    .diagnostic(
                        span,
                        "unknown-type",
                        format!("a device function cannot have the open type `{t}`"),
                    )
                    .help("give its types as they stand in its CUDA C")
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
            return Err(self.unexpected("`{` and the CUDA C of the function"));
        }
        let span = self.span();
        self.advance();
        let source = self.text[span.start + 1..span.end - 1].trim();
        Ok(DeviceFunction { name, params, result, source: source.into() })
    }

    fn tag_line(&mut self) -> Parse<(Name, Tag)> {
        let iname = self.name("an iname")?;
        self.expect(":")?;
        let start = self.span();
        if !self.ident_here() {
            return Err(self.unexpected("a tag"));
        }
        self.advance();
        if self.eat(".") {
            self.advance();
        }
        let text = self.text[start.start..self.last_end().max(start.end)].to_string();
        match Tag::parse(&text) {
            Some(tag) => Ok((iname, tag)),
            None => {
                let names = [
                    "seq", "unroll", "ilp", "vec", "block.x", "block.y", "block.z", "thread.x", "thread.y",
                    "thread.z", "warp", "lane", "host",
                ];
                let help = crate::suggest::did_you_mean(&text, names)
                    .unwrap_or_else(|| format!("the tags are {}", names.join(", ")));
                let span = start.start..self.last_end().max(start.end);
                Err(self.diagnostic(span, "unknown-tag", format!("`{text}` is no tag")).help(help).into())
            }
        }
    }

    /// `lo = offsets[s] if c {id=load}`, `<i32> lo = ...`, `v, k = argmax(i, x[i], i)`
    fn instruction(&mut self, draft: &mut Draft, start: usize) -> Parse<()> {
        if let Some(error) = self.foreign_line() {
            return Err(error);
        }
        let mut targets = Vec::new();
        if self.eat("<") {
            let dtype = if self.at(">") { Type::Open(UNTYPED.into()) } else { self.dtype()? };
            self.expect(">")?;
            loop {
                let name = self.name("a temporary")?;
                let span = start..self.last_end();
                if self.at("[") {
                    return Err(self
                        .error("syntax", "`<>` declares scalars only")
                        .help(format!(
                            "declare the array by a line of its own, as `temp {name}: f32[16] shared`"
                        ))
                        .into());
                }
                draft.map.spans.insert(Item::Temporary(draft.data.temporaries.len()), span);
                draft.data.temporaries.push(Array {
                    name: name.clone(),
                    dtype: dtype.clone(),
                    axes: Vec::new(),
                    order: Vec::new(),
                    space: AddressSpace::Private,
                    streaming: false,
                });
                targets.push(crate::Access { array: name, index: Vec::new() });
                if !self.eat(",") {
                    break;
                }
            }
        } else {
            loop {
                if targets.is_empty() && !self.ident_here() {
                    return Err(self.unexpected("a line of a kernel"));
                }
                let array = self.name("a line of a kernel")?;
                let index = if self.at("[") { self.subscripts()? } else { Vec::new() };
                targets.push(crate::Access { array, index });
                if !self.eat(",") {
                    break;
                }
            }
        }
        if let Tok::Punct(op @ ("+=" | "-=" | "*=" | "/=")) = self.tok(0) {
            return Err(self
                .error("syntax", format!("`{op}` is not read here"))
                .help("write the whole update, as `x[i] = x[i] + e`, or a reduction, as `sum(i, e)`")
                .into());
        }
        if self.at(":=") {
            return Err(self
                .error("syntax", "substitution rules (`:=`) are not read here")
                .help("compute the value by an instruction into a temporary; transforms recompute it where that pays")
                .into());
        }
        if !self.at("=") {
            let first = targets[0].array.clone();
            let mut error = self.unexpected("`=`");
            if targets.len() == 1 && targets[0].index.is_empty() {
                let words = LINES.iter().copied().chain(["domain"]);
                error.help = crate::suggest::did_you_mean(&first, words);
            }
            return Err(error);
        }
        self.expect("=")?;
        let value = self.expr()?;
        let mut predicate = None;
        if self.eat_word("if") {
            predicate = Some(self.expr()?);
            if self.at_word("else") {
                return Err(self
                    .error("syntax", "`a if c else b` is not read here")
                    .help("write `if(c, a, b)`; `... if c` at the end of a line is the predicate of the instruction")
                    .into());
            }
        }
        let mut instruction = Instruction {
            id: Name::new(""),
            targets,
            value,
            predicate,
            within: Vec::new(),
            role: Role::Does(Name::new("")),
            map: BTreeMap::new(),
            scan: None,
            atomic: false,
            after: Vec::new(),
            made_by: None,
        };
        if self.at("{") {
            self.instruction_options(&mut instruction)?;
        }
        draft.map.spans.insert(Item::Instruction(draft.data.instructions.len()), start..self.last_end());
        draft.data.instructions.push(instruction);
        Ok(())
    }

    /// Lines of loopy that mean something else here.
    fn foreign_line(&self) -> Option<Box<crate::Diagnostic>> {
        let (what, help) = match (self.word(0), self.tok(1)) {
            (Some(w @ ("for" | "end" | "with" | "elif" | "else")), Tok::Ident | Tok::End) => {
                (w, "loops follow from the inames that an instruction mentions; `{inames=i:j}` adds others")
            }
            (Some("if"), _) => ("if", "give each instruction its predicate: `x[i] = e if c`"),
            (None, _) if self.at("...") => {
                ("...", "barriers follow from the dependences; none is written by hand")
            }
            _ => return None,
        };
        Some(self.error("syntax", format!("a line with `{what}` is not read here")).help(help).into())
    }

    fn instruction_options(&mut self, instruction: &mut Instruction) -> Parse<()> {
        self.open("{")?;
        while !self.at("}") {
            let span = self.span();
            let Some(key) = self.word(0).map(str::to_string) else {
                return Err(self.unexpected("an option, as `id=load`"));
            };
            self.advance();
            const OURS: [&str; 10] =
                ["id", "dep", "inames", "if", "scan", "join", "does", "copies", "by", "map"];
            if !OURS.contains(&key.as_str()) {
                let help = match key.as_str() {
                    "nosync" | "nosync_query" | "mem_kind" => {
                        Some("barriers follow from the dependences: leave it out".into())
                    }
                    "priority" | "groups" | "conflicts" => {
                        Some("order is that of the text: leave it out".into())
                    }
                    "dep_query" => Some("name the instructions: `dep=a:b`".into()),
                    "id_prefix" => Some("name the instruction: `id=...`".into()),
                    "dup" => Some("use the transform `duplicate_inames`".into()),
                    "atomic" => Some(
                        "for a reduction over blocks that is joined by atomic updates, write `join=atomic`"
                            .into(),
                    ),
                    "tags" => Some("instructions are matched by their ids: leave it out".into()),
                    _ => crate::suggest::did_you_mean(&key, OURS),
                };
                let mut error = self.diagnostic(
                    span,
                    "unknown-option",
                    format!("`{key}` is no option of an instruction"),
                );
                error.help = help.or_else(|| Some(format!("the options are {}", OURS.join(", "))));
                return Err(error.into());
            }
            self.expect("=")?;
            match key.as_str() {
                "id" => instruction.id = self.name("an id")?,
                "dep" => instruction.after = self.colon_names()?,
                "inames" => instruction.within = self.colon_names()?,
                "if" => {
                    let condition = self.expr()?;
                    instruction.predicate = Some(match instruction.predicate.take() {
                        None => condition,
                        Some(first) => Expr::binary(BinaryOp::And, first, condition),
                    });
                }
                "scan" => instruction.scan = Some(self.name("an iname")?),
                "join" => {
                    let span = self.span();
                    if *self.name("`atomic`")? != *"atomic" {
                        let error = self.diagnostic(
                            span,
                            "syntax",
                            "partial results are joined in a fixed order unless it says `join=atomic`",
                        );
                        return Err(error.into());
                    }
                    instruction.atomic = true;
                }
                "does" => instruction.role = Role::Does(self.name("an id")?),
                "copies" => instruction.role = Role::Copies { source: self.name("an array")? },
                "by" => instruction.made_by = Some(self.name("the name of a transform")?),
                _ => {
                    self.open("[")?;
                    while !self.at("]") {
                        let iname = self.name("an iname")?;
                        self.expect(":")?;
                        let value = self.aff()?;
                        instruction.map.insert(iname, value);
                        if !self.eat(",") {
                            break;
                        }
                    }
                    self.close("]")?;
                }
            }
            if !self.eat(",") {
                break;
            }
        }
        self.close("}")
    }

    /// `a:b:c`, possibly empty.
    fn colon_names(&mut self) -> Parse<Vec<Name>> {
        if self.at("*") || self.at("+") {
            return Err(self
                .error("syntax", "wildcards are not read here")
                .help("name each one: `a:b`; without the option, dependences follow from what is read and written")
                .into());
        }
        let mut names = Vec::new();
        if !self.ident_here() {
            return Ok(names);
        }
        names.push(self.name("a name")?);
        while self.eat(":") {
            names.push(self.name("a name")?);
        }
        Ok(names)
    }
}
