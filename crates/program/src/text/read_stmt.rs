//! Statements from text.

use loopwright_kernel_ir::{
    Dim, Name, UpdateScope,
    syntax::{Parse, did_you_mean},
};

use super::{note, print_stmt::UPDATES, read::Reader};
use crate::{Async, AsyncCopy, Atomic, Join, LeafId, LookBack, Scope, Step, Stmt, VarId};

/// The keywords of statements.
const STATEMENTS: &[&str] = &[
    "let",
    "declare",
    "set",
    "store",
    "update",
    "copy",
    "copy_async",
    "commit",
    "wait",
    "for",
    "if",
    "barrier",
    "collective",
    "look_back",
    "matrices",
    "store_matrices",
    "atom",
    "mma",
];

impl Reader {
    /// `add`, or `by NAME` for an update that the program declares.
    fn atomic(&mut self) -> Parse<Atomic> {
        if self.p.eat_word("by") {
            let span = self.p.span();
            let name = self.p.name("the name of an update")?;
            return match self.names.updates.iter().position(|known| *known == name) {
                Some(number) => Ok(Atomic::By(number)),
                None => {
                    let message = format!("there is no update `{name}`");
                    let mut error = self.p.diagnostic(span, "unknown-name", message);
                    error.help = did_you_mean(&name, self.names.updates.iter().map(Name::as_str))
                        .or_else(|| Some(format!("declare it above: `update {name}: f32 = held * value`")));
                    Err(error.into())
                }
            };
        }
        let known = UPDATES.iter().find(|(_, word)| self.p.at_word(word));
        let Some((atomic, _)) = known else {
            return Err(self.p.unexpected("`add`, `min`, `max`, `and`, `or` or `by`"));
        };
        self.p.advance();
        Ok(*atomic)
    }

    /// `(block)` or `(system)` behind the name of an update; without it, the device.
    fn update_scope(&mut self) -> Parse<UpdateScope> {
        if !self.p.eat("(") {
            return Ok(UpdateScope::Device);
        }
        let known = UpdateScope::WORDS.iter().find(|(_, word)| self.p.at_word(word));
        let Some((scope, _)) = known else {
            return Err(self.p.unexpected("`block`, `device` or `system`"));
        };
        self.p.advance();
        self.p.expect(")")?;
        Ok(*scope)
    }

    /// The statements of a body, between braces.
    fn body(&mut self) -> Parse<Vec<Stmt>> {
        self.p.expect("{")?;
        self.p.enter()?;
        let body = self.statements()?;
        self.p.leave();
        Ok(body)
    }

    /// Statements up to and including the closing brace.
    pub(super) fn statements(&mut self) -> Parse<Vec<Stmt>> {
        let mut body = Vec::new();
        loop {
            self.p.begin_statement();
            if self.p.eat("}") {
                return Ok(body);
            }
            body.push(self.stmt()?);
            self.p.end_statement()?;
        }
    }

    fn stmt(&mut self) -> Parse<Stmt> {
        if self.p.eat_word("let") {
            let var = self.declared()?;
            self.p.expect("=")?;
            return Ok(Stmt::Let { var, value: self.value()?, leaf: self.leaf()? });
        }
        if self.p.eat_word("declare") {
            return Ok(Stmt::Declare(self.declared()?));
        }
        if self.p.eat_word("set") {
            let var = self.variable_name()?;
            self.p.expect("=")?;
            return Ok(Stmt::Set { var, value: self.value()?, leaf: self.leaf()? });
        }
        if self.p.eat_word("store") {
            let to = self.element()?;
            self.p.expect("=")?;
            return Ok(Stmt::Store { to, value: self.value()?, leaf: self.leaf()? });
        }
        if self.p.eat_word("update") {
            let (atomic, scope) = (self.atomic()?, self.update_scope()?);
            let to = self.element()?;
            self.p.expect("=")?;
            return Ok(Stmt::Update { atomic, scope, to, value: self.value()?, leaf: self.leaf()? });
        }
        if self.p.eat_word("copy") {
            let lanes = self.number("a number of elements")?;
            let to = self.element()?;
            self.p.expect("=")?;
            return Ok(Stmt::VectorCopy { to, from: self.element()?, lanes, leaf: self.leaf()? });
        }
        if self.p.eat_word("copy_async") {
            return Ok(Stmt::Async(Async::Copy(self.async_copy()?)));
        }
        if self.p.eat_word("commit") {
            return Ok(Stmt::Async(Async::Commit));
        }
        if self.p.eat_word("wait") {
            let pending = self.number("a number of groups")?;
            return Ok(Stmt::Async(Async::Wait { pending, note: note::read(&mut self.p)? }));
        }
        if self.p.eat_word("for") {
            return self.for_loop();
        }
        if self.p.eat_word("if") {
            return self.guard();
        }
        if self.p.eat_word("barrier") {
            let scope = if self.p.eat_word("block") {
                Scope::Block
            } else if self.p.eat_word("warp") {
                Scope::Warp
            } else {
                return Err(self.p.unexpected("`block` or `warp`"));
            };
            return Ok(Stmt::Sync { scope, note: note::read(&mut self.p)? });
        }
        if self.p.eat_word("atom") {
            let note = note::read(&mut self.p)?;
            let contract = self.body()?;
            self.keyword("by")?;
            return Ok(Stmt::Atom { contract, body: self.body()?, note });
        }
        if self.p.eat_word("matrices") {
            let matrices = self.number("a number of matrices")?;
            let row = if self.p.eat_word("of") { self.number("a number of elements")? } else { 8 };
            let transposed = self.p.eat_word("transposed");
            let to = self.element()?;
            self.p.expect("=")?;
            return Ok(Stmt::LoadMatrices { to, from: self.element()?, matrices, row, transposed });
        }
        if self.p.eat_word("store_matrices") {
            let matrices = self.number("a number of matrices")?;
            let transposed = self.p.eat_word("transposed");
            let to = self.element()?;
            self.p.expect("=")?;
            return Ok(Stmt::StoreMatrices { to, from: self.element()?, matrices, transposed });
        }
        if self.p.eat_word("mma") {
            let atom = self.p.name("an atom")?;
            let d = self.in_parentheses(&mut Self::element)?;
            self.p.expect("+=")?;
            let a = self.element()?;
            self.p.expect("*")?;
            return Ok(Stmt::Mma { atom, d, a, b: self.element()? });
        }
        if self.p.eat_word("look_back") {
            return Ok(Stmt::LookBack(self.look_back()?));
        }
        if self.p.eat_word("collective") {
            let join = self.join()?;
            let note = note::read(&mut self.p)?;
            return Ok(Stmt::Collective { join, body: self.body()?, note });
        }
        if self.p.at_text_end() {
            return Err(self.p.unexpected("`}`"));
        }
        let mut error = self.p.unexpected("a statement");
        error.help = self.suggestion(STATEMENTS);
        Err(error)
    }

    /// `4 a_tile[i, j] = a[i, j] when i < n`, after the keyword.
    fn async_copy(&mut self) -> Parse<AsyncCopy> {
        let lanes = self.number("a number of elements")?;
        let to = self.element()?;
        self.p.expect("=")?;
        let from = self.element()?;
        let when = if self.p.eat_word("when") { Some(self.value()?) } else { None };
        Ok(AsyncCopy { to, from, lanes, when, leaf: self.leaf()? })
    }

    /// `k: i32 = 0 to n step 4 unroll { ... }`
    fn for_loop(&mut self) -> Parse<Stmt> {
        let var = self.declared()?;
        self.p.expect("=")?;
        let lower = self.value()?;
        self.keyword("to")?;
        let upper = self.value()?;
        let step = if !self.p.eat_word("step") {
            Step::Add(1)
        } else if self.p.eat_word("halve") {
            Step::Halve
        } else if self.p.eat_word("double") {
            Step::Double
        } else {
            Step::Add(self.integer()?)
        };
        let unroll = self.p.eat_word("unroll");
        let note = note::read(&mut self.p)?;
        Ok(Stmt::For { var, lower, upper, step, unroll, body: self.body()?, note })
    }

    /// A conditional statement, after its keyword.
    fn guard(&mut self) -> Parse<Stmt> {
        let cond = self.value()?;
        let note = note::read(&mut self.p)?;
        let body = self.body()?;
        let otherwise = if !self.p.eat_word("else") {
            Vec::new()
        } else if self.p.eat_word("if") {
            self.p.enter()?;
            let next = self.guard()?;
            self.p.leave();
            vec![next]
        } else {
            self.body()?
        };
        Ok(Stmt::If { cond, body, otherwise, note })
    }

    /// `sum(acc) along(x: 32) to_all scan across(block.x)`
    fn join(&mut self) -> Parse<Join> {
        let operator = self.p.name("an operator")?;
        let state = self.in_parentheses(&mut Self::variable_name)?;
        self.keyword("along")?;
        let axes = self.in_parentheses(&mut |this| {
            let axis = this.axis()?;
            this.p.expect(":")?;
            Ok((axis, this.number("a number of threads")?))
        })?;
        let (to_all, scan) = (self.p.eat_word("to_all"), self.p.eat_word("scan"));
        let tiles = match self.p.eat_word("across") {
            true => self.in_parentheses(&mut Self::axis_of_grid)?.first().copied(),
            false => None,
        };
        Ok(Join { operator, state, axes, to_all, scan, tiles })
    }

    /// `before: f32 = look_back_sum(total) along block.x at sums[block.x]`, after the keyword.
    fn look_back(&mut self) -> Parse<LookBack> {
        let before = self.listed(&mut Self::declared)?;
        self.p.expect("=")?;
        let span = self.p.span();
        let name = self.p.name("the name of a look-back")?;
        let Some(by) = self.names.look_backs.iter().position(|known| *known == name) else {
            let message = format!("there is no look-back `{name}`");
            let mut error = self.p.diagnostic(span, "unknown-name", message);
            error.help = did_you_mean(&name, self.names.look_backs.iter().map(Name::as_str)).or_else(|| {
                Some(format!("declare it above: `look_back {name}: f32 from 0.0f32 = earlier + later`"))
            });
            return Err(error.into());
        };
        self.p.open("(")?;
        let total = self.listed(&mut Self::value)?;
        self.p.close(")")?;
        self.keyword("along")?;
        let axis = self.axis_of_grid()?;
        self.keyword("at")?;
        Ok(LookBack { by, axis, total, before, word: self.element()? })
    }

    /// `block.x`
    fn axis_of_grid(&mut self) -> Parse<Dim> {
        self.keyword("block")?;
        self.p.expect(".")?;
        self.axis()
    }

    /// `(x, y, z)`, of what `read` reads.
    pub(super) fn in_parentheses<T>(&mut self, read: &mut dyn FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let mut found = Vec::new();
        self.p.open("(")?;
        while !self.p.at(")") {
            found.push(read(self)?);
            if !self.p.eat(",") {
                break;
            }
        }
        self.p.close(")")?;
        Ok(found)
    }

    /// A dimension: `x`, `y` or `z`.
    pub(super) fn axis(&mut self) -> Parse<Dim> {
        let found = Dim::ALL.iter().find(|dim| self.p.at_word(&dim.to_string()));
        let Some(dim) = found else { return Err(self.p.unexpected("an axis: `x`, `y` or `z`")) };
        self.p.advance();
        Ok(*dim)
    }

    fn variable_name(&mut self) -> Parse<VarId> {
        let span = self.p.span();
        let (name, number) = self.label("a variable")?;
        let found = self.names.variables_of(&name).get(number).copied();
        found.ok_or_else(|| self.unknown(&name, span, "variable", &self.names.variable_names()))
    }

    /// The name of a variable: `i`, or `i.1` for the second one of this name.
    pub(super) fn label(&mut self, what: &str) -> Parse<(Name, usize)> {
        let name = self.p.name(what)?;
        let number = match self.p.at(".") && self.p.touches() {
            true => {
                self.p.advance();
                self.number("the number of a variable")?
            }
            false => 0,
        };
        Ok((name, number))
    }

    /// A variable at its declaration, with its type if given.
    fn declared(&mut self) -> Parse<VarId> {
        let var = self.variable_name()?;
        if self.p.eat(":") {
            let span = self.p.span();
            let dtype = self.dtype()?;
            if let Some(said) = self.names.type_of(var).filter(|said| *said != dtype) {
                let message = format!("the variable is {said}, not {dtype}");
                return Err(self
                    .p
                    .diagnostic(span, "wrong-type", message)
                    .help("its type is that of its `var` line; here it may be omitted")
                    .into());
            }
        }
        Ok(var)
    }

    /// `{total.update}`, or `{total.update[1]}` if a part has several leaves.
    fn leaf(&mut self) -> Parse<Option<LeafId>> {
        if !self.p.at("{") {
            return Ok(None);
        }
        self.p.open("{")?;
        let span = self.p.span();
        let part = self.p.part_of()?;
        let number = match self.p.at("[") {
            true => {
                self.p.open("[")?;
                let number: usize = self.number("the number of a leaf of this part")?;
                self.p.close("]")?;
                Some(number)
            }
            false => None,
        };
        let span = span.start..self.p.last_end();
        self.p.close("}")?;
        let leaves = self.names.leaves_of(&part);
        match (leaves, number) {
            ([only], None) => Ok(Some(*only)),
            (several @ [_, ..], Some(number)) if number < several.len() => Ok(Some(several[number])),
            ([], _) => {
                let message = format!("there is no leaf `{part}`");
                let mut known: Vec<String> = self.names.parts().map(ToString::to_string).collect();
                known.sort_unstable();
                let mut error = self.p.diagnostic(span, "unknown-name", message);
                error.help = did_you_mean(&part.to_string(), known.iter().map(String::as_str))
                    .or_else(|| Some(format!("declare it by a line `leaf {part}`")));
                Err(error.into())
            }
            (several, _) => Err(self
                .p
                .diagnostic(span, "unknown-name", format!("there are {} leaves `{part}`", several.len()))
                .help(format!("choose one by its number: `{part}[0]` is the first"))
                .into()),
        }
    }

    /// The refusal of an unknown name.
    pub(super) fn unknown(
        &self,
        name: &Name,
        span: std::ops::Range<usize>,
        what: &str,
        known: &[&str],
    ) -> Box<loopwright_kernel_ir::Diagnostic> {
        let span = span.start..span.start + name.len();
        let mut error = self.p.diagnostic(span, "unknown-name", format!("there is no {what} `{name}`"));
        error.help = did_you_mean(name, known.iter().copied());
        error.into()
    }
}
