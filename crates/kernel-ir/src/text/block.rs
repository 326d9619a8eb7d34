//! Blocks around the lines of a kernel: `for i, j { ... }` and `if c { ... } else { ... }`.
//!
//! A kernel has no blocks. `if` gives its instructions the condition as a predicate, and `for` adds
//! inames to theirs; both are resolved while the text is read. A `for` block is one loop from its
//! opening brace to its closing one. So no instruction outside of it runs in that loop, and if the
//! text needs its iname elsewhere, it gets a loop of its own there (see [`crate::nest`]).

use std::collections::BTreeMap;

use crate::{
    BinaryOp, Expr, Instruction, Name, UnaryOp,
    text::{
        lexer::Tok,
        parser::{Parse, Parser},
        source_map::Item,
        statement::{Draft, LINES},
    },
};

use std::{ops::Range, sync::Arc};

/// A loop that a `for` block writes around an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockLoop {
    /// The iname that is written.
    pub iname: Name,
    /// The number of the loop: of two blocks over one iname, each has its own.
    pub number: usize,
}

/// The loops of the blocks around each instruction, outermost first, by the instruction's number;
/// those without blocks have no entry.
pub(crate) type BlockLoops = BTreeMap<usize, Vec<BlockLoop>>;

/// A `for` or an `if` whose lines are being read.
enum Open {
    For(BlockLoop),
    If(Expr),
}

/// The `for` and `if` blocks of a text: those that are open, and what they said so far.
#[derive(Default)]
pub(crate) struct Blocks {
    open: Vec<Open>,
    /// Number of loops so far.
    loops: usize,
    pub around: BlockLoops,
    /// The instructions after an `else`.
    pub negated: Vec<usize>,
    /// The inames of all `for` lines, with their places.
    pub inames: Vec<(Name, Range<usize>)>,
}

impl Blocks {
    /// Gives the instruction with this number what the open blocks say.
    pub fn place(&mut self, number: usize, instruction: &mut Instruction) {
        let mut conditions = Vec::new();
        let mut loops = Vec::new();
        for open in &self.open {
            match open {
                Open::For(l) => loops.push(l.clone()),
                Open::If(condition) => conditions.push(condition.clone()),
            }
        }
        if conditions.iter().any(|c| matches!(c, Expr::Unary(UnaryOp::Not, _))) {
            self.negated.push(number);
        }
        conditions.extend(instruction.predicate.take());
        let both = |a, b| Expr::binary(BinaryOp::And, a, b);
        instruction.predicate = conditions.into_iter().reduce(both);
        if !loops.is_empty() {
            self.around.insert(number, loops);
        }
    }
}

/// A conjunction with each `not (a < b)` of integers as `a >= b`, which a proof can use and a
/// reader prefers. Of floating-point values the two differ: neither holds for NaN.
pub(crate) fn without_not(e: &Expr, is_integer: &dyn Fn(&Name) -> bool) -> Expr {
    use BinaryOp::{And, Eq, Ge, Gt, Le, Lt, Ne};
    let integers = |e: &Expr| e.to_aff().is_some() && e.names().iter().all(is_integer);
    match e {
        Expr::Binary(And, a, b) => Expr::binary(And, without_not(a, is_integer), without_not(b, is_integer)),
        Expr::Unary(UnaryOp::Not, inside) => match &**inside {
            Expr::Binary(op @ (Lt | Le | Gt | Ge | Eq | Ne), a, b) if integers(a) && integers(b) => {
                let other = match op {
                    Lt => Ge,
                    Le => Gt,
                    Gt => Le,
                    Ge => Lt,
                    Eq => Ne,
                    _ => Eq,
                };
                Expr::Binary(other, a.clone(), b.clone())
            }
            _ => e.clone(),
        },
        _ => e.clone(),
    }
}

impl Parser {
    /// Whether a block begins here.
    pub(super) fn at_block(&self) -> bool {
        self.at_word("if") || (self.at_word("for") && self.tok(1) == Tok::Ident)
    }

    /// `for i, j { ... }`, `if c { ... } else { ... }`
    pub(super) fn block(&mut self, draft: &mut Draft) -> Parse<()> {
        if self.at_word("if") { self.if_block(draft) } else { self.for_block(draft) }
    }

    fn for_block(&mut self, draft: &mut Draft) -> Parse<()> {
        self.advance();
        let outside = draft.blocks.open.len();
        loop {
            let start = self.span().start;
            let iname = self.name("an iname")?;
            let span = start..self.last_end();
            let open = &draft.blocks.open;
            if open.iter().any(|o| matches!(o, Open::For(l) if l.iname == iname)) {
                let message = format!("this block is in a loop over `{iname}` already");
                let error = self.diagnostic(span, "iname-twice", message);
                return Err(error.help("leave it out, or loop over another iname").into());
            }
            draft.blocks.inames.push((iname.clone(), span));
            draft.blocks.loops += 1;
            let number = draft.blocks.loops;
            draft.blocks.open.push(Open::For(BlockLoop { iname, number }));
            if !self.eat(",") {
                break;
            }
        }
        self.block_lines(draft)?;
        draft.blocks.open.truncate(outside);
        Ok(())
    }

    fn if_block(&mut self, draft: &mut Draft) -> Parse<()> {
        self.advance();
        let start = self.span().start;
        let condition = self.expr()?;
        let span = start..self.last_end();
        let first = draft.data.instructions.len();
        draft.blocks.open.push(Open::If(condition.clone()));
        self.block_lines(draft)?;
        draft.blocks.open.pop();
        if self.word_ahead() == Some("else") {
            self.begin_statement();
            self.advance();
            draft.blocks.open.push(Open::If(Expr::Unary(UnaryOp::Not, Arc::new(condition.clone()))));
            if self.at_word("if") {
                self.if_block(draft)?;
            } else {
                self.block_lines(draft)?;
            }
            draft.blocks.open.pop();
        }
        self.condition_stays(draft, first, &condition, span)
    }

    /// Refuses a block whose instructions change its condition. As a predicate, it would be
    /// evaluated again for each instruction; as a block, it reads as if it were evaluated once.
    fn condition_stays(
        &self,
        draft: &Draft,
        first: usize,
        condition: &Expr,
        span: Range<usize>,
    ) -> Parse<()> {
        let inside = &draft.data.instructions[first..];
        let read = condition.reads();
        for (k, instruction) in inside.iter().enumerate() {
            if let Some(target) = instruction.targets.iter().find(|t| read.contains(&t.array)) {
                let line = draft.map.spans.get(&Item::Instruction(first + k)).cloned();
                let text = self.text.get(span.clone()).unwrap_or_default();
                let message = format!(
                    "the block writes `{}`, which its condition `{text}` reads: evaluated once, it \
                     would decide for all lines; as their predicate, it is evaluated again for each",
                    target.array
                );
                return Err(self
                    .diagnostic(line.unwrap_or(span), "block-condition", message)
                    .help(format!(
                        "for the former, keep it before the block, `<bool> chosen = {text}`, and \
                         write `if chosen {{ ... }}`; for the latter, write the predicate on each \
                         line, `... if {text}`"
                    ))
                    .into());
            }
        }
        Ok(())
    }

    /// The lines between braces.
    fn block_lines(&mut self, draft: &mut Draft) -> Parse<()> {
        if !self.at("{") {
            let mut error = self.unexpected("`{`");
            error.help = Some("a block is `for i { ... }` or `if c { ... } else { ... }`".into());
            return Err(error);
        }
        self.advance();
        self.lines_to_brace(&mut |parser| parser.block_line(draft))
    }

    /// Lines, each read by a function, and the brace after them.
    pub(super) fn lines_to_brace(&mut self, line: &mut dyn FnMut(&mut Self) -> Parse<()>) -> Parse<()> {
        self.enter()?;
        loop {
            self.begin_statement();
            if self.at("}") {
                break;
            }
            if self.at_text_end() {
                return Err(self.unexpected("`}`"));
            }
            line(self)?;
            self.end_statement()?;
        }
        self.advance();
        self.leave();
        Ok(())
    }

    /// Lines, each read by a function, to the end of a text of a library.
    pub(super) fn lines_to_end(&mut self, line: &mut dyn FnMut(&mut Self) -> Parse<()>) -> Parse<()> {
        loop {
            self.begin_statement();
            if self.at_text_end() {
                return Ok(());
            }
            line(self)?;
            self.end_statement()?;
        }
    }

    fn block_line(&mut self, draft: &mut Draft) -> Parse<()> {
        if self.at_block() {
            return self.block(draft);
        }
        if self.at_call() {
            return self.call_line(draft);
        }
        let assigns = matches!(self.tok(1), Tok::Punct("=" | "," | "["));
        let word = self.word(0).filter(|w| *w == "domain" || LINES.contains(w) && !assigns);
        if word.is_some() || self.at("{") || self.at("[") {
            let what = word.map_or("a domain".into(), |w| format!("a line that begins with `{w}`"));
            let error = self.error("syntax", format!("{what} is not part of a block"));
            return Err(error.help("move it before the block: blocks contain instructions").into());
        }
        let start = self.span().start;
        self.instruction(draft, start)
    }
}
