//! Kernels that a text declares for others to call, and calls of them.
//!
//! `kernel total(row: f32[n], out result: f32, n: i32) { ... }` is a line of a kernel, and may be
//! called by the lines below it: as `call total(x[i, :], y[i])`, or, where results are meant, as
//! `y[i] = total(x[i, :])`. A call is read as an instruction that stands for it, with the
//! expressions of its arguments; [`super::calls`] puts the called lines in its place.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use crate::{
    Access, AddressSpace, Arg, Array, Diagnostic, Diagnostics, Expr, Instruction, LoopKernel, Name,
    ReductionOp, Role,
    complex::{part_mark, part_name, part_type},
    inline::{Actual, Sub},
    text::{
        lexer::Tok,
        parser::{Parse, Parser},
        read::finish,
        source_map::{Item, SourceMap},
        statement::Draft,
    },
};

/// What an argument of a called kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Array,
    Number,
    /// A scalar that the kernel writes.
    Result,
}

/// An argument of a called kernel.
pub(crate) struct Formal {
    pub name: Name,
    pub kind: Kind,
    /// Whether the kernel writes it.
    written: bool,
}

/// A kernel that others may call.
pub(crate) struct Callee {
    pub name: Name,
    /// The arguments as the text has them; complex ones are pairs in the kernel.
    pub formals: Vec<Formal>,
    /// The names of the arguments that are complex, among [`Callee::formals`].
    pub complex: BTreeSet<Name>,
    /// With the places of its items, in the same text.
    pub kernel: Result<(LoopKernel, SourceMap), Diagnostics>,
}

impl Callee {
    /// The names of its results.
    pub fn results(&self) -> Vec<Name> {
        self.formals.iter().filter(|f| f.kind == Kind::Result).map(|f| f.name.clone()).collect()
    }

    /// The names of its results in its kernel, where a complex one is a pair.
    pub fn parts_of_results(&self) -> Vec<Name> {
        let parts = |n: Name| match self.complex.contains(&n) {
            true => vec![part_name(&n, 0), part_name(&n, 1)],
            false => vec![n],
        };
        self.results().into_iter().flat_map(parts).collect()
    }

    /// Its signature, for messages: `f(x[...], n, out s)`.
    fn header(&self) -> String {
        let formal = |f: &Formal| match f.kind {
            Kind::Array => format!("{}[...]", f.name),
            Kind::Number => f.name.to_string(),
            Kind::Result => format!("out {}", f.name),
        };
        format!("{}({})", self.name, self.formals.iter().map(formal).collect::<Vec<_>>().join(", "))
    }
}

/// The calls of a text: the instructions that stand for them, by number.
pub(crate) struct CallSite {
    pub number: usize,
    pub callee: Arc<Callee>,
    pub actuals: Vec<(Name, Actual, Range<usize>)>,
    /// What the names that it makes begin with.
    pub base: Name,
    pub span: Range<usize>,
}

/// Lines that belong to the calling kernel alone.
pub(super) const NOT_CALLED: &[&str] =
    &["option", "struct", "assume_legal", "let", "tag", "tree", "declared", "origin"];

impl Parser {
    /// The rest of `kernel NAME(argument, ...) { line* }`, from the name on.
    pub(super) fn callee(&mut self, draft: &mut Draft, start: usize) -> Parse<()> {
        let records = std::mem::take(&mut self.records);
        let (mut inside, formals) = self.header(start, true)?;
        let name = inside.data.name.clone();
        let name_span = self.name_span(start, &name);
        let alone = self.in_library() && self.tok(0) == Tok::End && !draft.called;
        if !self.at("{") && !alone {
            let error = self.error_at(
                start..self.last_end(),
                "syntax",
                "a text contains one kernel, and this is a second one",
            );
            let help =
                "a kernel that the first one calls has its lines in braces: `kernel total(...) { ... }`";
            return Err(error.help(help).into());
        }
        let taken = draft.callees.iter().any(|c| c.name == name)
            || draft.data.name == name
            || ReductionOp::is_library(&name)
            || draft.data.reductions.iter().any(|r| r.name == name)
            || draft.data.functions.iter().any(|f| f.name == name)
            || draft.data.rules.iter().any(|r| r.name == name);
        if taken {
            let message = format!("there is already a kernel, rule, operator or function called `{name}`");
            return Err(self
                .diagnostic(name_span, "duplicate-name", message)
                .help("give one of them another name")
                .into());
        }
        inside.called = true;
        inside.results = inside.data.temporaries.len();
        inside.callees.clone_from(&draft.callees);
        inside.inherited = inside.callees.len();
        // Operators, functions and atoms are known by one name everywhere.
        let (operators, functions, atoms) =
            (draft.data.reductions.len(), draft.data.functions.len(), draft.data.atoms.len());
        inside.data.reductions.clone_from(&draft.data.reductions);
        inside.shaped.clone_from(&draft.shaped);
        inside.data.functions.clone_from(&draft.data.functions);
        inside.data.atoms.clone_from(&draft.data.atoms);
        match alone {
            true => self.lines_to_end(&mut |parser| parser.statement(&mut inside))?,
            false => {
                self.expect("{")?;
                self.lines_to_brace(&mut |parser| parser.statement(&mut inside))?;
            }
        }
        self.records = records;
        for (k, op) in inside.data.reductions.iter().enumerate().skip(operators) {
            let at = Item::Reduction(draft.data.reductions.len());
            draft.map.spans.extend(inside.map.spans.get(&Item::Reduction(k)).map(|s| (at, s.clone())));
            draft.data.reductions.push(op.clone());
        }
        draft.shaped.clone_from(&inside.shaped);
        for (k, f) in inside.data.functions.iter().enumerate().skip(functions) {
            let at = Item::Function(draft.data.functions.len());
            draft.map.spans.extend(inside.map.spans.get(&Item::Function(k)).map(|s| (at, s.clone())));
            draft.data.functions.push(f.clone());
        }
        for (k, a) in inside.data.atoms.iter().enumerate().skip(atoms) {
            let at = Item::Atom(draft.data.atoms.len());
            draft.map.spans.extend(inside.map.spans.get(&Item::Atom(k)).map(|s| (at, s.clone())));
            draft.data.atoms.push(a.clone());
        }
        let written =
            |n: &Name| inside.data.instructions.iter().any(|i| i.targets.iter().any(|t| t.array == *n));
        if let Some((name, .., span)) = formals.iter().find(|(name, _, out, _)| *out && !written(name)) {
            let message = format!("`{name}` is declared with `out`, and no line writes it");
            return Err(self
                .diagnostic(span.clone(), "never-written", message)
                .help("write it, or leave `out` out")
                .into());
        }
        let declared = |n: &Name| {
            let args = inside.data.args.iter().find(|a| a.name() == n).map(|a| match a {
                Arg::Array(a) => &a.dtype,
                Arg::Scalar(s) => &s.dtype,
            });
            args.or_else(|| inside.data.temporary(n).map(|t| &t.dtype))
        };
        let complex = formals
            .iter()
            .map(|(name, ..)| name)
            .filter(|n| declared(n).is_some_and(|t| part_type(t).is_some()))
            .cloned()
            .collect();
        let formals = formals
            .into_iter()
            .map(|(name, kind, ..)| Formal { written: written(&name), name, kind })
            .collect();
        draft.callees.push(Arc::new(Callee { name, formals, complex, kernel: finish(inside) }));
        Ok(())
    }

    /// Where a name stands after this place.
    pub(super) fn name_span(&self, start: usize, name: &Name) -> Range<usize> {
        let from = self.text.get(start..).and_then(|t| t.find(name.as_str())).map_or(start, |k| start + k);
        from..from + name.len()
    }

    /// An argument of a kernel that is called: a result is `out NAME: TYPE`. Adds it to the draft.
    pub(super) fn formal(&mut self, draft: &mut Draft) -> Parse<(Name, Kind, bool, Range<usize>)> {
        let from = self.span().start;
        let out = self.at_word("out") && self.tok(1) == Tok::Ident;
        if out {
            self.eat_word("out");
        }
        let arg = match <[Arg; 1]>::try_from(self.argument()?) {
            Ok([arg]) if self.records.is_empty() => arg,
            _ => {
                return Err(self
                    .diagnostic(
                        from..self.last_end(),
                        "struct-call",
                        "a kernel that is called takes no structs",
                    )
                    .help("pass the fields that it uses, as arrays: `p_x` is that of `p[i].x`")
                    .into());
            }
        };
        let span = from..self.last_end();
        let name = arg.name().clone();
        let plain = |a: &Array| {
            let axes = a.axes.iter().all(|x| x.stride.is_none() && x.padding == 0);
            axes && a.order.is_empty() && a.layout.is_default() && a.hints.is_empty()
        };
        let kind = match arg {
            Arg::Array(a) if !plain(&a) => {
                let message = format!("`{name}` of a called kernel has no layout of its own");
                return Err(self
                    .diagnostic(span, "wrong-layout", message)
                    .help("it is a slice of the caller's array, with the layout of that: leave it out")
                    .into());
            }
            Arg::Scalar(s) if out => {
                let temporary = Array::new(&s.name, s.dtype, Vec::new(), AddressSpace::Private);
                draft.map.spans.insert(Item::Temporary(draft.data.temporaries.len()), span.clone());
                draft.data.temporaries.push(temporary);
                return Ok((name, Kind::Result, out, span));
            }
            Arg::Scalar(_) => Kind::Number,
            Arg::Array(_) => Kind::Array,
        };
        draft.map.spans.insert(Item::Arg(draft.data.args.len()), span.clone());
        draft.data.args.push(arg);
        Ok((name, kind, out, span))
    }

    /// Whether `call NAME(` comes next.
    pub(super) fn at_call(&self) -> bool {
        self.at_word("call") && self.tok(1) == Tok::Ident && self.peek_is(2, "(")
    }

    /// The kernel of which a call comes next: `NAME(`.
    pub(super) fn called_here(&self, draft: &Draft) -> Option<Arc<Callee>> {
        let name = self.word(0).filter(|_| self.peek_is(1, "("))?;
        draft.callees.iter().find(|c| *c.name == *name).cloned()
    }

    /// `call NAME(argument, ...) {id=NAME}`
    pub(super) fn call_line(&mut self, draft: &mut Draft) -> Parse<()> {
        let start = self.span().start;
        self.eat_word("call");
        let Some(callee) = self.called_here(draft) else {
            let name = self.word(0).unwrap_or_default();
            let itself = draft.data.name == *name && draft.called;
            let message = match itself {
                true => format!("`{name}` calls itself"),
                false => format!("there is no kernel `{name}` above this line"),
            };
            let known = draft.callees.iter().map(|c| c.name.as_str());
            let help = match itself {
                true => {
                    "a call stands for the lines of the kernel, which would have no end: write a loop".into()
                }
                false => crate::suggest::did_you_mean(name, known).unwrap_or_else(|| {
                    "a kernel that is called stands above the call, with its lines in braces: `kernel \
                     total(...) { ... }`; or in another text, given by `--library FILE` or `parse_with`"
                        .into()
                }),
            };
            return Err(self.error("unknown-name", message).help(help).into());
        };
        self.call(draft, start, callee, Vec::new())
    }

    /// `NAME(argument, ...) {id=NAME}`, after `call`, or after the targets that get the results.
    pub(super) fn call(
        &mut self,
        draft: &mut Draft,
        start: usize,
        callee: Arc<Callee>,
        targets: Vec<Access>,
    ) -> Parse<()> {
        let from = self.span().start;
        self.advance();
        let mut actuals: Vec<(Name, Actual, Range<usize>)> = Vec::new();
        let results = callee.results();
        let assigns = !targets.is_empty();
        if assigns && targets.len() != results.len() {
            let (has, given) = (results.len(), targets.len());
            let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
            let message = format!(
                "`{}` has {}, and {} written",
                callee.name,
                count(has, "result"),
                if given == 1 { "1 target is".into() } else { format!("{given} targets are") }
            );
            let help = format!("it is `{}`; each `out` is a result", callee.header());
            return Err(self.diagnostic(start..self.last_end(), "wrong-arity", message).help(help).into());
        }
        for (name, target) in results.iter().zip(&targets) {
            actuals.push((name.clone(), Actual::Element(target.clone()), start..from));
        }
        let by_place: Vec<&Formal> =
            callee.formals.iter().filter(|f| !assigns || f.kind != Kind::Result).collect();
        let mut place = 0;
        let mut named = false;
        self.open("(")?;
        while !self.at(")") {
            let begin = self.span().start;
            let formal = if self.ident_here() && self.peek_is(1, "=") {
                named = true;
                let name = self.name("an argument")?;
                self.expect("=")?;
                callee.formals.iter().find(|f| f.name == name).ok_or_else(|| {
                    let message = format!("`{}` has no argument `{name}`", callee.name);
                    let names = callee.formals.iter().map(|f| f.name.as_str());
                    let help = crate::suggest::did_you_mean(&name, names)
                        .unwrap_or_else(|| format!("it is `{}`", callee.header()));
                    Box::new(self.diagnostic(begin..self.last_end(), "unknown-name", message).help(help))
                })?
            } else if named {
                return Err(self
                    .error("syntax", "an argument without a name follows one with a name")
                    .help("arguments by their place come first")
                    .into());
            } else {
                place += 1;
                by_place.get(place - 1).copied().ok_or_else(|| {
                    let message = format!(
                        "`{}` takes {} arguments here, and more are given",
                        callee.name,
                        by_place.len()
                    );
                    Box::new(self.error("wrong-arity", message).help(format!("it is `{}`", callee.header())))
                })?
            };
            let actual = self.actual(formal)?;
            let span = begin..self.last_end();
            if actuals.iter().any(|(n, ..)| *n == formal.name) {
                let message = format!("`{}` of `{}` is given twice", formal.name, callee.name);
                return Err(self
                    .diagnostic(span, "duplicate-name", message)
                    .help("give each argument once, by its place or by its name")
                    .into());
            }
            actuals.push((formal.name.clone(), actual, span));
            if !self.eat(",") {
                break;
            }
        }
        self.close(")")?;
        let mut base = callee.name.clone();
        if self.at("{") {
            self.open("{")?;
            if !self.at_word("id") {
                let mut error = self.unexpected("`id`");
                error.help =
                    Some("a call has the option `id=NAME`, with which the names that it makes begin".into());
                return Err(error);
            }
            self.advance();
            self.expect("=")?;
            base = self.name("an id")?;
            self.close("}")?;
        }
        if self.at_word("if") {
            return Err(self
                .error("syntax", "a call has no predicate")
                .help("put it into a block: `if c { call ... }`")
                .into());
        }
        let span = start..self.last_end();
        // What the block rules look at: what is written, and the names that are mentioned.
        let mut written = targets;
        for (name, actual, _) in &actuals {
            let writes = callee.formals.iter().any(|f| f.name == *name && f.written);
            match actual {
                Actual::Element(access) if !written.contains(access) => written.push(access.clone()),
                Actual::Slice { array, .. } if writes => written.push(Access::new(array, Vec::new())),
                _ => {}
            }
        }
        let args = actuals.iter_mut().flat_map(|(_, a, _)| a.expressions_mut()).map(|e| e.clone()).collect();
        // No name has a space, so that no function of the text has this name.
        let function = Name::new(format!("call {}", callee.name));
        let value = Expr::Call { function, precision: None, args };
        let mut instruction = Instruction::new("", written, value, Role::Does(Name::new("")));
        let number = draft.data.instructions.len();
        draft.blocks.place(number, &mut instruction);
        draft.map.spans.insert(Item::Instruction(number), span.clone());
        draft.data.instructions.push(instruction);
        draft.calls.push(CallSite { number, callee, actuals, base, span });
        Ok(())
    }

    /// What a call gives for the argument `formal`: an array or a slice, a number, or a target.
    fn actual(&mut self, formal: &Formal) -> Parse<Actual> {
        if formal.kind == Kind::Number {
            return Ok(Actual::Value(self.expr()?));
        }
        if !self.ident_here() {
            let what = match formal.kind {
                Kind::Array => "an array, or a slice of one, as `x[i, :]`",
                _ => "an element of an array, or a scalar temporary",
            };
            return Err(self.unexpected(&format!("{what}, for `{}`", formal.name)));
        }
        let array = self.name("an array")?;
        if formal.kind == Kind::Result {
            let mut index = if self.at("[") { self.subscripts()? } else { Vec::new() };
            index.extend(self.complex_part().map(|part| part_mark(&part)));
            return Ok(Actual::Element(Access { array, index }));
        }
        let mut subs = None;
        if self.at("[") {
            self.open("[")?;
            let mut found = Vec::new();
            while !self.at("]") {
                found.push(self.sub()?);
                if !self.eat(",") {
                    break;
                }
            }
            self.close("]")?;
            subs = Some(found);
        }
        Ok(Actual::Slice { array, subs })
    }

    /// A subscript of a slice: `i`, `:`, `1:n`, `::2`.
    pub(super) fn sub(&mut self) -> Parse<Sub> {
        let from = if self.at(":") { None } else { Some(self.expr()?) };
        if !self.eat(":") {
            return match from {
                Some(e) => Ok(Sub::At(e)),
                None => Err(self.unexpected("a subscript")),
            };
        }
        let ends = |p: &Parser| p.at("]") || p.at(",");
        let to = if ends(self) || self.at(":") { None } else { Some(self.expr()?) };
        let mut step = 1;
        if self.eat(":") && !ends(self) {
            if self.at("-") {
                let help = "turn it round in the called kernel, `x[n - 1 - i]`, or copy it into a temporary \
                            before: `t[i] = x[n - 1 - i]`";
                let message = "a slice goes forwards, since it is the caller's array with a stride, and \
                               strides are positive";
                return Err(self.error("syntax", message).help(help).into());
            }
            let Tok::Int(found @ 1..) = self.tok(0) else {
                return Err(self.unexpected("a positive integer"));
            };
            step = self.small(found)?;
            self.advance();
        }
        Ok(Sub::Range { from, to, step })
    }
}

/// The first kernel whose call is a part of an expression, in an instruction of this text.
pub(super) fn inside_expression(callees: &[Arc<Callee>], instruction: &Instruction) -> Option<Diagnostic> {
    let mut found = None;
    for e in instruction.expressions() {
        e.visit(&mut |e| {
            if let Expr::Call { function, precision: None, .. } = e
                && callees.iter().any(|c| c.name == *function)
            {
                found.get_or_insert_with(|| function.clone());
            }
        });
    }
    let name = found?;
    let message = format!("`{name}` is a kernel, whose call is not part of an expression");
    let help = format!("call it in a line of its own, `<> t = {name}(...)`, and use `t`");
    Some(Diagnostic::new("syntax", message).help(help))
}
