//! The lines of a kernel.

use std::{num::NonZeroU32, ops::Range, sync::Arc};

use crate::{
    BinaryOp, Definition, Expr, Fact, KernelData, Name, Precision, Rule, Vouched,
    flat::Tagged,
    text::{
        block::Blocks,
        callee::{CallSite, Callee, Kind, NOT_CALLED},
        lexer::Tok,
        operator::Shaped,
        parser::{Parse, Parser},
        source_map::{Item, SourceMap},
    },
};

/// The contents of a text, before names are resolved.
pub(crate) struct Draft {
    pub data: KernelData,
    pub map: SourceMap,
    pub blocks: Blocks,
    /// A `tree` was given: this is a transformed kernel, whose instructions list their inames.
    pub has_tree: bool,
    /// The text of the kernel as it was declared.
    pub declared: Option<Box<Draft>>,
    /// The text of the kernel that was declared first.
    pub origin: Option<Box<Draft>>,
    /// The kernels that may be called from here on, those of the kernel around it first.
    pub callees: Vec<Arc<Callee>>,
    /// How many of them are those of the kernel around it.
    pub inherited: usize,
    pub calls: Vec<CallSite>,
    /// Its operators that do not have numbers only, with those of the kernel around it.
    pub(super) shaped: Vec<Shaped>,
    /// It is a kernel that others call.
    pub called: bool,
    /// How many temporaries, the first ones, are results of a kernel that others call.
    pub results: usize,
}

impl Draft {
    pub(super) fn new(p: &Parser, name: Name) -> Self {
        Draft {
            data: KernelData::new(name),
            map: SourceMap::new(&p.sections, &p.text),
            blocks: Blocks::default(),
            has_tree: false,
            declared: None,
            origin: None,
            callees: Vec::new(),
            inherited: 0,
            calls: Vec::new(),
            shaped: Vec::new(),
            called: false,
            results: 0,
        }
    }
}

/// Words that begin a line, unless `=`, `,` or `[` follows.
pub(super) const LINES: &[&str] = &[
    "assume",
    "assume_legal",
    "fact",
    "temp",
    "constant",
    "struct",
    "let",
    "tag",
    "option",
    "reduction",
    "function",
    "rule",
    "atom",
    "tree",
    "declared",
    "origin",
    "kernel",
];

impl Parser {
    /// A whole text: one kernel.
    pub(crate) fn whole(&mut self) -> Parse<Draft> {
        self.complex = true;
        self.slices = true;
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
        // Those of the kernel around a declared one.
        let outside = (std::mem::take(&mut self.structs), std::mem::take(&mut self.records));
        self.look_up_structs()?;
        let (mut draft, _) = self.header(start, false)?;
        draft.data.records.clone_from(&self.records);
        self.end_statement()?;
        if outermost && self.sections.count() > 1 {
            // What is called stands above what calls it.
            let (here, structs) = (self.mark(), std::mem::take(&mut self.structs));
            self.library(&mut draft)?;
            self.structs = structs;
            self.back_to(here);
        }
        loop {
            self.begin_statement();
            if self.at_text_end() || (!outermost && self.at("}")) {
                self.names_of_structs(&draft)?;
                (self.structs, self.records) = outside;
                return Ok(draft);
            }
            self.statement(&mut draft)?;
            self.end_statement()?;
        }
    }

    /// `NAME(argument, ...)`; of a kernel that others call, with results among the arguments.
    #[expect(clippy::type_complexity, reason = "of each argument: its name, kind, `out` and place")]
    pub(super) fn header(
        &mut self,
        start: usize,
        called: bool,
    ) -> Parse<(Draft, Vec<(Name, Kind, bool, Range<usize>)>)> {
        let name = self.name("the name of the kernel")?;
        let mut draft = Draft::new(self, name);
        let mut formals = Vec::new();
        self.open("(")?;
        while !self.at(")") {
            let from = self.span().start;
            if called {
                formals.push(self.formal(&mut draft)?);
            } else {
                if self.at_word("out") && self.tok(1) == Tok::Ident {
                    return Err(self
                        .error("syntax", "`out` is for kernels that this one calls")
                        .help("leave it out: an array that the kernel writes is an output")
                        .into());
                }
                for arg in self.argument()? {
                    draft.map.spans.insert(Item::Arg(draft.data.args.len()), from..self.last_end());
                    draft.data.args.push(arg);
                }
            }
            if !self.eat(",") {
                break;
            }
        }
        self.close(")")?;
        draft.map.spans.insert(Item::Header, start..self.last_end());
        Ok((draft, formals))
    }

    pub(super) fn statement(&mut self, draft: &mut Draft) -> Parse<()> {
        if self.at_block() {
            return self.block(draft);
        }
        if self.at_call() {
            return self.call_line(draft);
        }
        let start = self.span().start;
        let keyword = match self.word(0) {
            Some("domain") => "domain",
            Some(w)
                if matches!(self.tok(1), Tok::Punct("=" | "," | "[" | "+=" | "&=" | "|="))
                    || !LINES.contains(&w) =>
            {
                ""
            }
            Some(w) => LINES.iter().find(|l| **l == w).copied().unwrap_or(""),
            None if self.at("{") || self.at("[") => "{",
            None => "",
        };
        if draft.called && NOT_CALLED.contains(&keyword) {
            let message =
                format!("a line that begins with `{keyword}` is not part of a kernel that others call");
            let help = "the kernel that calls has options, and is transformed, with the lines of the other \
                        in it";
            return Err(self.error("syntax", message).help(help).into());
        }
        if !matches!(keyword, "" | "{") {
            self.advance();
        }
        if keyword == "kernel" {
            return self.callee(draft, start);
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
                let fact = self.fact(&|n| data.array(n).is_some())?;
                draft.map.spans.insert(Item::Fact(data.facts.len()), start..self.last_end());
                data.facts.push(fact);
            }
            "temp" => {
                for temporary in self.temporaries()? {
                    let item = Item::Temporary(data.temporaries.len());
                    draft.map.spans.insert(item, start..self.last_end());
                    data.temporaries.push(temporary);
                }
            }
            "constant" => {
                let constant = self.constant()?;
                draft.map.spans.insert(Item::Constant(data.constants.len()), start..self.last_end());
                data.constants.push(constant);
            }
            "struct" => {
                let of = self.struct_line()?;
                draft.map.spans.insert(Item::Struct(data.structs.len()), start..self.last_end());
                data.structs.push(of);
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
                let is_second = data.take_tag(&iname).is_some();
                data.set_tag(&iname, tag);
                if is_second {
                    return Err(self.error_at(
                        span,
                        "duplicate-name",
                        format!("`{iname}` already has a tag"),
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
                Some("min_blocks_per_multiprocessor") => {
                    self.advance();
                    self.open("(")?;
                    let (span, blocks) = (self.span(), self.number("a number of blocks")?);
                    let blocks = u32::try_from(blocks).map_err(|_| self.huge())?;
                    let none = || {
                        let mut error =
                            self.error_at(span, "syntax", "the number of blocks has to be at least one");
                        error.help = Some("without this option, the compiler decides".into());
                        error
                    };
                    data.options.min_blocks_per_multiprocessor =
                        Some(NonZeroU32::new(blocks).ok_or_else(none)?);
                    self.close(")")?;
                }
                Some(w) => {
                    let options = ["fast_math", "precise_math", "min_blocks_per_multiprocessor"];
                    let help = crate::suggest::did_you_mean(w, options)
                        .unwrap_or_else(|| format!("the options are {}", options.join(", ")));
                    return Err(self
                        .error("unknown-option", format!("`{w}` is not an option"))
                        .help(help)
                        .into());
                }
                None => return Err(self.unexpected("an option")),
            },
            "reduction" => {
                let (reduction, shaped) = self.reduction_operator()?;
                draft.shaped.extend(shaped);
                draft.map.spans.insert(Item::Reduction(data.reductions.len()), start..self.last_end());
                data.reductions.push(reduction);
            }
            "function" => {
                let function = self.device_function()?;
                draft.map.spans.insert(Item::Function(data.functions.len()), start..self.last_end());
                data.functions.push(function);
            }
            "rule" => {
                let name = self.name("the name of the rule")?;
                let parameters = self.bracketed_names("(", ")")?;
                self.expect("=")?;
                let value = self.expr()?;
                draft.map.spans.insert(Item::Rule(data.rules.len()), start..self.last_end());
                data.rules.push(Rule { name, parameters, value });
            }
            "atom" => {
                let atom = self.atom_declaration()?;
                draft.map.spans.insert(Item::Atom(data.atoms.len()), start..self.last_end());
                data.atoms.push(atom);
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
            "declared" | "origin" => {
                let place = if keyword == "origin" { &mut draft.origin } else { &mut draft.declared };
                if place.is_some() {
                    let message = match keyword {
                        "origin" => "a second kernel of origin",
                        _ => "a second declared kernel",
                    };
                    return Err(self.error_at(start..self.last_end(), "duplicate-name", message));
                }
                self.expect("{")?;
                self.enter()?;
                self.begin_statement();
                *place = Some(Box::new(self.kernel(false)?));
                if !self.eat("}") {
                    return Err(self.unexpected("`}`"));
                }
                self.leave();
            }
            _ => self.instruction(draft, start)?,
        }
        Ok(())
    }

    /// The rest of a `fact` line, after the keyword; `is_array` recognises names of arrays.
    pub fn fact(&mut self, is_array: &dyn Fn(&str) -> bool) -> Parse<Fact> {
        if self.at_any_word(&["monotone", "injective"]) && self.peek_is(1, "(") {
            let monotone = self.at_word("monotone");
            self.advance();
            let names = self.bracketed_names("(", ")")?;
            let [array] = <[Name; 1]>::try_from(names).map_err(|_| self.unexpected("one array"))?;
            return Ok(if monotone { Fact::Monotone(array) } else { Fact::Injective(array) });
        }
        // A chain of comparisons around the name of the array, with at most one comparison on
        // either side.
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
        // With one comparison, the array is the side that is a name; if both are, validation finds
        // out which is an array.
        match (sides.as_slice(), operators.as_slice()) {
            ([low, Expr::Name(array), high], [a, b]) => Ok(Fact::Range {
                array: array.clone(),
                lower: Some(lower(low, a)),
                upper: Some(upper(high, b)),
            }),
            ([low, Expr::Name(array)], [a]) if !matches!(low, Expr::Name(n) if is_array(n)) => {
                Ok(Fact::Range { array: array.clone(), lower: Some(lower(low, a)), upper: None })
            }
            ([Expr::Name(array), high], [a]) => {
                Ok(Fact::Range { array: array.clone(), lower: None, upper: Some(upper(high, a)) })
            }
            _ => Err(unclear(self)),
        }
    }

    fn tag_line(&mut self) -> Parse<(Name, Tagged)> {
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
        match Tagged::parse(&text) {
            Some(tag) => Ok((iname, tag)),
            None => {
                let names = [
                    "seq", "unroll", "ilp", "vec", "block.x", "block.y", "block.z", "thread.x", "thread.y",
                    "thread.z", "warp", "lane", "host",
                ];
                let help = crate::suggest::did_you_mean(&text, names)
                    .unwrap_or_else(|| format!("the tags are {}", names.join(", ")));
                let span = start.start..self.last_end().max(start.end);
                Err(self.diagnostic(span, "unknown-tag", format!("`{text}` is not a tag")).help(help).into())
            }
        }
    }
}
