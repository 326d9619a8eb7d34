//! Texts of kernels for others to call, beside the text of the kernel that is read.
//!
//! All texts are one to the parser and to maps of places, the called kernels' behind the one that
//! calls: a span lies in one of them, by which a place gets its text and its name.

use std::{ops::Range, sync::Arc};

use crate::{
    Diagnostic, Diagnostics, Expr, KernelData, LoopKernel, Name, Place, UpdateOp,
    text::{
        parser::{Parse, Parser},
        read::finish,
        source_map::{Item, SourceMap},
        statement::Draft,
    },
};

/// One of several texts that are read as one.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    start: usize,
    origin: Arc<str>,
    text: Arc<str>,
}

/// Several texts as one.
#[derive(Clone, Debug)]
pub(crate) struct Sections(Arc<[Section]>);

impl Sections {
    /// With the texts joined, which are at least one.
    pub fn joined<'a>(texts: impl Iterator<Item = (&'a str, &'a str)>) -> (Sections, String) {
        let (mut all, mut joined) = (Vec::new(), String::new());
        for (origin, text) in texts {
            if !all.is_empty() {
                joined.push('\n');
            }
            all.push(Section { start: joined.len(), origin: origin.into(), text: text.into() });
            joined.push_str(text);
        }
        (Sections(all.into()), joined)
    }

    /// The number of the text in which these bytes begin.
    pub fn number(&self, at: usize) -> usize {
        self.0.iter().rposition(|s| s.start <= at).unwrap_or(0)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The place of these bytes.
    pub fn place(&self, span: Range<usize>) -> Place {
        let section = &self.0[self.number(span.start)];
        let at = |k: usize| k.saturating_sub(section.start).min(section.text.len());
        Place {
            origin: section.origin.clone(),
            text: section.text.clone(),
            span: at(span.start)..at(span.end).max(at(span.start)),
        }
    }
}

/// Kernels for others to call, with their operators and device functions: what the lines of a
/// kernel may call besides the kernels that its own text declares ([`LoopKernel::parse_with`]).
///
/// ```
/// use loopwright_kernel_ir::{Library, LoopKernel};
///
/// let sums = "kernel total(row: f32[k], out result: f32, k: i32) {
///     domain { [j] : 0 <= j < k }
///     result = sum(j, row[j])
/// }";
/// let library = Library::new().with("sums.lw", sums)?;
/// let kernel = LoopKernel::parse_with(
///     "kernel rows(x: f32[m, n], y: f32[m], m: i32, n: i32)
///      domain { [i] : 0 <= i < m }
///      y[i] = total(x[i, :])",
///     &library,
/// )?;
/// assert!(kernel.to_string().contains("sum(total_j, x[i, total_j])"));
/// # Ok::<(), loopwright_kernel_ir::Diagnostics>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Library {
    texts: Vec<(Arc<str>, Arc<str>)>,
}

impl Library {
    /// A library of no kernels.
    pub fn new() -> Library {
        Library::default()
    }

    /// The library with the kernels of one more text, which may call those of the texts before.
    /// `origin` is its name in diagnostics, such as its file name.
    ///
    /// A text has kernels with their lines in braces, operators and device functions; or it is one
    /// kernel as it is run alone, which then others may call.
    pub fn with(mut self, origin: &str, text: &str) -> Result<Library, Diagnostics> {
        self.texts.push((origin.into(), text.trim_start_matches('\u{feff}').into()));
        let mut parser = Parser::new("", "").with_library(&self);
        let mut draft = Draft::new(&parser, Name::new(""));
        parser.library(&mut draft).map_err(|d| Diagnostics(vec![*d]))?;
        let wrong: Vec<Diagnostic> =
            draft.callees.iter().filter_map(|c| c.kernel.as_ref().err()).flat_map(|d| d.0.clone()).collect();
        if wrong.is_empty() { Ok(self) } else { Err(Diagnostics(wrong)) }
    }

    /// As [`Library::with`], for bytes that need not be valid UTF-8.
    pub fn with_bytes(self, origin: &str, bytes: &[u8]) -> Result<Library, Diagnostics> {
        match crate::text::read::utf8(origin, bytes) {
            Ok(text) => self.with(origin, text),
            Err(d) => Err(d.into()),
        }
    }

    /// Whether it has no texts.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The names and the texts, in their order.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(origin, text)| (&**origin, &**text))
    }
}

impl LoopKernel {
    /// As [`LoopKernel::parse`], with kernels of a library that the text may call.
    pub fn parse_with(text: &str, library: &Library) -> Result<LoopKernel, Diagnostics> {
        Self::parse_named_with("<kernel>", text, library)
    }

    /// As [`LoopKernel::parse_named`], with kernels of a library that the text may call.
    pub fn parse_named_with(origin: &str, text: &str, library: &Library) -> Result<LoopKernel, Diagnostics> {
        // A mark of the encoding is no part of the text.
        let text = text.trim_start_matches('\u{feff}');
        let draft = Parser::new(origin, text).with_library(library).whole();
        Ok(finish(draft.map_err(|d| Diagnostics(vec![*d]))?)?.0)
    }

    /// As [`LoopKernel::parse_bytes`], with kernels of a library that the text may call.
    pub fn parse_bytes_with(
        origin: &str,
        bytes: &[u8],
        library: &Library,
    ) -> Result<LoopKernel, Diagnostics> {
        match crate::text::read::utf8(origin, bytes) {
            Ok(text) => Self::parse_named_with(origin, text, library),
            Err(d) => Err(d.into()),
        }
    }
}

impl Parser {
    /// What the texts of the library declare, for the kernel of the draft.
    pub(super) fn library(&mut self, draft: &mut Draft) -> Parse<()> {
        (self.complex, self.slices) = (true, true);
        for number in 1..self.sections.count() {
            self.go_to_section(number);
            loop {
                self.begin_statement();
                if self.at_text_end() {
                    break;
                }
                let start = self.span().start;
                match self.word(0) {
                    Some("kernel") => {
                        self.advance();
                        self.callee(draft, start)?;
                    }
                    Some("reduction" | "function") => {
                        self.statement(draft)?;
                        self.not_twice(draft, start)?;
                    }
                    _ => {
                        let help = "a library has kernels, operators and device functions, which begin with \
                                    `kernel`, `reduction` and `function`; or it is one kernel with its lines";
                        let mut error = self.unexpected("`kernel`");
                        error.help = Some(help.into());
                        return Err(error);
                    }
                }
                self.end_statement()?;
            }
        }
        Ok(())
    }

    /// Requires that the operator or function that has been read has a name of its own.
    fn not_twice(&self, draft: &Draft, start: usize) -> Parse<()> {
        let names = |names: Vec<&Name>| match names.split_last() {
            Some((last, before)) if before.contains(last) => Some((*last).clone()),
            _ => None,
        };
        let data = &draft.data;
        let twice = names(data.reductions.iter().map(|r| &r.name).collect())
            .or_else(|| names(data.functions.iter().map(|f| &f.name).collect()));
        let Some(name) = twice else { return Ok(()) };
        let message = format!("there is already an operator or a function called `{name}`");
        let span = self.name_span(start, &name);
        Err(self.diagnostic(span, "duplicate-name", message).help("give one of them another name").into())
    }
}

/// Leaves out the operators and functions of the library that nothing uses.
pub(super) fn leave_out_unused(data: &mut KernelData, map: &mut SourceMap) {
    let foreign: Vec<Item> = map.spans.keys().filter(|item| map.is_foreign(item)).cloned().collect();
    if foreign.is_empty() {
        return;
    }
    let mut called: Vec<Name> = Vec::new();
    let mut note = |e: &Expr| {
        e.visit(&mut |e| match e {
            Expr::Reduce(r) => called.push(r.op.clone()),
            Expr::Call { function, .. } => called.push(function.clone()),
            _ => {}
        });
    };
    data.instructions.iter().flat_map(|i| i.expressions()).for_each(&mut note);
    data.rules.iter().for_each(|r| note(&r.value));
    called.extend(data.instructions.iter().filter_map(|i| match &i.update {
        Some(UpdateOp::By(name)) => Some(name.clone()),
        _ => None,
    }));
    let kept_operators: Vec<bool> = (0..data.reductions.len())
        .map(|k| !foreign.contains(&Item::Reduction(k)) || called.contains(&data.reductions[k].name))
        .collect();
    let kept = data.reductions.iter().zip(&kept_operators).filter(|(_, kept)| **kept);
    for op in kept.map(|(op, _)| op) {
        for e in op.neutral.iter().chain(&op.lift).chain(&op.combine).chain(&op.result) {
            e.visit(&mut |e| {
                if let Expr::Call { function, .. } = e {
                    called.push(function.clone());
                }
            });
        }
    }
    // A function may call those above it, in its own language.
    let mut kept_functions = vec![true; data.functions.len()];
    let mut sources = String::new();
    for (k, f) in data.functions.iter().enumerate().rev() {
        let named = called.contains(&f.name) || sources.contains(f.name.as_str());
        kept_functions[k] = !foreign.contains(&Item::Function(k)) || named;
        if kept_functions[k] {
            sources.push_str(&f.source);
        }
    }
    let moved = |kept: &[bool], k: usize| kept[..k.min(kept.len())].iter().filter(|kept| **kept).count();
    map.spans.retain(|item, _| match item {
        Item::Reduction(k) => kept_operators.get(*k) != Some(&false),
        Item::Function(k) => kept_functions.get(*k) != Some(&false),
        _ => true,
    });
    map.renumber(&|item| match item {
        Item::Reduction(k) => Item::Reduction(moved(&kept_operators, k)),
        Item::Function(k) => Item::Function(moved(&kept_functions, k)),
        item => item,
    });
    let mut kept = kept_operators.iter();
    data.reductions.retain(|_| kept.next() != Some(&false));
    let mut kept = kept_functions.iter();
    data.functions.retain(|_| kept.next() != Some(&false));
}
