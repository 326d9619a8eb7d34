//! Instructions and their options.

use std::collections::BTreeSet;

use crate::{
    AddressSpace, Array, AtomUse, BinaryOp, Expr, Instruction, Name, ReductionOp, Role, Share, Type,
    UpdateOp, UpdateScope, Via,
    complex::part_mark,
    text::{
        lexer::Tok,
        parser::{Parse, Parser},
        source_map::Item,
        statement::{Draft, LINES},
    },
    types::UNTYPED,
};

impl Parser {
    /// `lo = offsets[s] if c {id=load}`, `<i32> lo = ...`, `v, k = argmax(i, x[i], i)`
    pub(super) fn instruction(&mut self, draft: &mut Draft, start: usize) -> Parse<()> {
        if let Some(error) = self.foreign_line() {
            return Err(error);
        }
        let mut targets = Vec::new();
        let declares = self.at("<");
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
                            "declare the array by a separate line, such as `temp {name}: f32[16] \
                             shared`"
                        ))
                        .into());
                }
                draft.map.spans.insert(Item::Temporary(draft.data.temporaries.len()), span);
                draft.data.temporaries.push(Array::new(
                    name.clone(),
                    dtype.clone(),
                    Vec::new(),
                    AddressSpace::Private,
                ));
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
                let mut index = if self.at("[") { self.subscripts()? } else { Vec::new() };
                if let Some(record) = self.record_named(&array) {
                    match self.element_target(record, index)? {
                        Ok(field) => targets.push(field),
                        Err(whole) if targets.is_empty() && !self.gives_results() => {
                            return self.struct_copy(draft, start, whole);
                        }
                        Err(whole) => {
                            targets.extend(self.element_targets(&whole, start..self.last_end()));
                        }
                    }
                    if !self.eat(",") {
                        break;
                    }
                    continue;
                }
                index.extend(self.complex_part().map(|part| part_mark(&part)));
                targets.push(crate::Access { array, index });
                if !self.eat(",") {
                    break;
                }
            }
        }
        if let Tok::Punct(op @ ("-=" | "*=" | "/=")) = self.tok(0) {
            let help = match op {
                "-=" => "write `+=` with the negative value, as in `x[i] += -e`",
                _ => {
                    "write the whole assignment, as in `x[i] = x[i] * e`, which keeps its order, or a \
                     reduction, as in `product(i, e)`"
                }
            };
            return Err(self.error("syntax", format!("`{op}` is not supported")).help(help).into());
        }
        if self.at(":=") {
            return Err(self
                .error("syntax", "`:=` is not written here")
                .help("a substitution rule is a line such as `rule f(i) = 2*x[i]`")
                .into());
        }
        let update = self.update_sign(draft, &targets);
        if update.is_some() && declares {
            return Err(self
                .error("syntax", "`<>` declares a scalar, and an update needs one that has a value")
                .help("give it its first value in a line before: `<> t = 0`, then `t += e`")
                .into());
        }
        if update.is_some() && targets.len() > 1 {
            return Err(self
                .error("syntax", "an update has one target")
                .help("write an update of its own for each target")
                .into());
        }
        if update.is_none() && !self.at("=") {
            let first = targets[0].array.clone();
            let mut error = self.unexpected("`=`");
            if targets.len() == 1 && targets[0].index.is_empty() && self.at("(") {
                error.help = Some("a substitution rule is a line such as `rule f(i) = 2*x[i]`".into());
            } else if targets.len() == 1 && targets[0].index.is_empty() {
                let words = LINES.iter().copied().chain(["domain"]);
                error.help = crate::suggest::did_you_mean(&first, words);
            }
            return Err(error);
        }
        match update {
            Some(_) => self.skip_update_sign(),
            None => self.expect("=")?,
        }
        if let Some(callee) = self.called_here(draft) {
            if update.is_some() {
                return Err(self
                    .error("syntax", "an update has a value, and a call is none")
                    .help(format!("call it before: `<> t = {}(...)`, and update by `t`", callee.name))
                    .into());
            }
            return self.call(draft, start, callee, targets);
        }
        let value = self.expr()?;
        let mut instruction =
            Instruction { update, ..Instruction::new("", targets, value, Role::Does(Name::new(""))) };
        self.rest_of_instruction(&mut instruction)?;
        let number = draft.data.instructions.len();
        draft.blocks.place(number, &mut instruction);
        draft.map.spans.insert(Item::Instruction(number), start..self.last_end());
        draft.data.instructions.push(instruction);
        Ok(())
    }

    /// The predicate and the options of an instruction, after its value.
    pub(super) fn rest_of_instruction(&mut self, instruction: &mut Instruction) -> Parse<()> {
        if self.eat_word("if") {
            instruction.predicate = Some(self.expr()?);
            if self.at_word("else") {
                return Err(self
                    .error("syntax", "`a if c else b` is not supported")
                    .help(
                        "write `if(c, a, b)`; `... if c` at the end of a line is the predicate \
                        of the instruction",
                    )
                    .into());
            }
        }
        if self.at("{") {
            self.instruction_options(instruction)?;
        }
        Ok(())
    }

    /// The update whose sign stands here: `+=`, `min=`, `max=`, `&=` or `|=`, or `NAME=` by an
    /// operator. Behind a name alone, that of a scalar, the operator has to be known: it may be a
    /// line that begins with a misspelt word.
    fn update_sign(&self, draft: &Draft, targets: &[crate::Access]) -> Option<UpdateOp> {
        let of_sign = |sign: &str| UpdateOp::SIGNS.into_iter().find(|(_, s)| *s == sign).map(|(op, _)| op);
        match self.tok(0) {
            Tok::Punct(sign) => of_sign(sign),
            Tok::Ident if self.peek_is(1, "=") => {
                let word = self.word(0)?;
                let is_known =
                    ReductionOp::is_library(word) || draft.data.reductions.iter().any(|op| *op.name == *word);
                let is_element = targets.iter().any(|t| !t.index.is_empty());
                let named = (is_known || is_element).then(|| UpdateOp::By(word.into()));
                of_sign(&format!("{word}=")).or(named)
            }
            _ => None,
        }
    }

    /// Goes past the sign of an update.
    fn skip_update_sign(&mut self) {
        if self.tok(0) == Tok::Ident {
            self.advance();
        }
        self.advance();
    }

    /// loopy lines that are not valid here.
    pub(super) fn foreign_line(&self) -> Option<Box<crate::Diagnostic>> {
        let (what, help) = match (self.word(0), self.tok(1)) {
            (Some(w @ ("for" | "end" | "with" | "elif" | "else")), Tok::Ident | Tok::End) => {
                (w, "a block is `for i { ... }` or `if c { ... } else if d { ... } else { ... }`")
            }
            (None, _) if self.at("...") => {
                ("...", "barriers follow from the dependences and are not written by hand")
            }
            _ => return None,
        };
        Some(self.error("syntax", format!("a line cannot begin with `{what}` here")).help(help).into())
    }

    fn instruction_options(&mut self, instruction: &mut Instruction) -> Parse<()> {
        self.open("{")?;
        let mut given = BTreeSet::new();
        while !self.at("}") {
            let span = self.span();
            let Some(key) = self.word(0).map(str::to_string) else {
                return Err(self.unexpected("an option, as `id=load`"));
            };
            self.advance();
            const OURS: [&str; 14] = [
                "id", "dep", "inames", "if", "scan", "join", "scope", "launch", "atom", "via", "does",
                "copies", "by", "map",
            ];
            if !OURS.contains(&key.as_str()) && Share::of_word(&key).is_none() {
                let help = match key.as_str() {
                    "nosync" | "nosync_query" | "mem_kind" => {
                        Some("barriers follow from the dependences: leave it out".into())
                    }
                    "priority" | "groups" | "conflicts" => {
                        Some("instructions run in the order of the text: leave it out".into())
                    }
                    "dep_query" => Some("name the instructions: `dep=a:b`".into()),
                    "id_prefix" => Some("name the instruction: `id=...`".into()),
                    "dup" => Some("use the transform `duplicate_inames`".into()),
                    "atomic" => Some(
                        "write an update whose order does not matter as `out[idx[i]] += x[i]`; \
                         `join=atomic` joins the partial results of a reduction over blocks by \
                         atomic updates"
                            .into(),
                    ),
                    "tags" => Some("instructions are matched by their ids: leave it out".into()),
                    _ => {
                        let shares = Share::WORDS.map(|(_, word)| word);
                        crate::suggest::did_you_mean(&key, OURS.into_iter().chain(shares))
                    }
                };
                let mut error = self.diagnostic(
                    span,
                    "unknown-option",
                    format!("`{key}` is not an option of an instruction"),
                );
                error.help = help.or_else(|| Some(format!("the options are {}", OURS.join(", "))));
                return Err(error.into());
            }
            if !given.insert(key.clone()) && key != "if" {
                let error = self.diagnostic(span, "syntax", format!("`{key}` is given twice"));
                return Err(error.help("keep one of the two").into());
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
                            "partial results are joined in a fixed order, or with `join=atomic` \
                             by atomic updates",
                        );
                        return Err(error.into());
                    }
                    instruction.atomic = true;
                }
                "scope" => {
                    let span = self.span();
                    let word = self.name("`block`, `device` or `system`")?;
                    let Some(scope) = UpdateScope::of_word(&word) else {
                        let message = format!("`{word}` is no scope of an update");
                        let error = self.diagnostic(span, "syntax", message);
                        return Err(error.help("the scopes are block, device, system").into());
                    };
                    instruction.scope = scope;
                }
                "launch" => {
                    let span = self.span();
                    if *self.name("`new`")? != *"new" {
                        let message = "a launch begins with an instruction as `launch=new`";
                        return Err(self.diagnostic(span, "syntax", message).into());
                    }
                    instruction.begins_launch = true;
                }
                "atom" => {
                    let name = self.name("an atom")?;
                    self.open("(")?;
                    let m = self.name("the iname of `m`")?;
                    self.expect(",")?;
                    let n = self.name("the iname of `n`")?;
                    self.expect(",")?;
                    let k = self.name("the iname of `k`")?;
                    self.close(")")?;
                    instruction.atom = Some(AtomUse { name, axes: [m, n, k] });
                }
                "via" => {
                    let span = self.span();
                    let word = self.name("`cp_async`")?;
                    instruction.via = match Via::of_word(&word) {
                        Some(via) => via,
                        None => {
                            let words = Via::WORDS.map(|(_, word)| word).join(", ");
                            let message = format!("values do not go by way of `{word}`");
                            let error = self.diagnostic(span, "syntax", message);
                            return Err(error.help(format!("the ways are {words}")).into());
                        }
                    };
                }
                "does" => instruction.role = Role::Does(self.name("an id")?),
                "copies" => instruction.role = Role::Copies { source: self.name("an array")? },
                "by" => instruction.made_by = Some(self.name("the name of a transform")?),
                word => {
                    if let Some(share) = Share::of_word(word) {
                        instruction.role = Role::Realizes { of: self.name("an id")?, share };
                    } else {
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
                .error("syntax", "wildcards are not supported")
                .help(
                    "name each one: `a:b`; without the option, dependences follow from the \
                     accesses",
                )
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
