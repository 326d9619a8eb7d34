//! Programs from text.

use std::ops::Range;

use loopwright_kernel_ir::{
    DType, Diagnostic, Name, Number, Struct, Type,
    syntax::{Parse, Parser, Tok, did_you_mean},
};
use loopwright_target::Language;

use super::{layout, leaf, names::Names, note};
use crate::{
    DeclaredLookBack, DeclaredUpdate, Global, HostStmt, LeafId, Owner, Program, ProgramArg, RecordArg,
    ScalarArg, Table, Target, Value, ValueKind,
};

/// Nesting limit of brackets and statements: greater than that of a kernel's text, from which
/// programs are made.
const NESTING_LIMIT: usize = 320;

/// The keywords that lines of a program begin with.
const LINES: &[&str] = &[
    "assume",
    "fact",
    "function",
    "update",
    "look_back",
    "atom",
    "global",
    "record",
    "target",
    "coordinate",
    "leaf",
    "host",
    "kernel",
];

impl Program {
    /// Parses a program; see [`crate::grammar`]. Names are resolved and types are filled in, but
    /// nothing is checked: see [`crate::verify::verify`].
    pub fn parse(text: &str) -> Result<Program, Diagnostic> {
        Self::parse_named("<program>", text)
    }

    /// As [`Program::parse`]; `origin` is the name of the text in diagnostics, such as its file
    /// name.
    pub fn parse_named(origin: &str, text: &str) -> Result<Program, Diagnostic> {
        let p = Parser::new(origin, text)
            .with_nesting(NESTING_LIMIT, "introduce names for parts of it")
            .with_coordinates(Language::OF_KERNELS);
        let mut program = Program {
            name: "".into(),
            index: DType::I32,
            target: Target::cuda(),
            args: Vec::new(),
            globals: Vec::new(),
            kernels: Vec::new(),
            host: Vec::new(),
            records: Vec::new(),
            coordinates: Vec::new(),
            leaves: Vec::new(),
            functions: Vec::new(),
            updates: Vec::new(),
            look_backs: Vec::new(),
            atoms: Vec::new(),
            assumptions: Vec::new(),
            facts: Vec::new(),
        };
        let mut reader = Reader { p, names: Names::new(program.index) };
        reader.whole(&mut program).map_err(|d| *d)?;
        Ok(program)
    }
}

/// The parser of a program: the program so far, and its names.
pub(super) struct Reader {
    pub p: Parser,
    pub names: Names,
}

/// A name that is resolved at the end of the text.
type Later = (Name, Range<usize>);

/// An argument: an array or a scalar, which is known once all arrays have been read.
enum Arg {
    Array(Later),
    Scalar(ScalarArg),
}

/// The kernels that the host launches, in text order; resolved at the end of the text.
#[derive(Default)]
struct Launches {
    found: Vec<Later>,
    has_host: bool,
}

impl Reader {
    fn whole(&mut self, program: &mut Program) -> Parse<()> {
        self.p.begin_statement();
        let args = self.header(program)?;
        let mut launches = Launches::default();
        loop {
            self.p.begin_statement();
            if self.p.at_text_end() {
                break;
            }
            self.line(program, &mut launches)?;
            self.p.end_statement()?;
        }
        for arg in args {
            program.args.push(match arg {
                Arg::Scalar(scalar) => ProgramArg::Scalar(scalar),
                Arg::Array((name, span)) => {
                    let names = program.globals.iter().map(|g| &g.name);
                    ProgramArg::Array(self.find("argument", &name, span, names)?)
                }
            });
        }
        let mut numbers = Vec::new();
        for (name, span) in launches.found {
            numbers.push(self.find("kernel", &name, span, program.kernels.iter().map(|k| &k.name))?);
        }
        number(&mut program.host, &numbers);
        Ok(())
    }

    /// `program copy(x, y, n: i32) index i32`
    fn header(&mut self, program: &mut Program) -> Parse<Vec<Arg>> {
        if !self.p.eat_word("program") {
            let mut error = self.p.unexpected("`program`");
            let begin = "a program begins with its name and arguments: `program axpy(x, y, n: \
                         i32) index i32`";
            error.help = Some(begin.into());
            return Err(error);
        }
        program.name = self.p.name("the name of the program")?;
        let args = self.in_parentheses(&mut |this| {
            let span = this.p.span();
            let name = this.p.name("an argument")?;
            Ok(match this.p.eat(":") {
                true => Arg::Scalar(ScalarArg { name, dtype: this.dtype()? }),
                false => Arg::Array((name, span)),
            })
        })?;
        if !self.p.eat_word("index") {
            return Err(self.p.unexpected("`index` and the type of indices"));
        }
        let span = self.p.span();
        program.index = self.dtype()?;
        if !matches!(program.index, DType::I32 | DType::I64) {
            return Err(self
                .p
                .diagnostic(span, "index-type", format!("indices cannot be `{}`", program.index))
                .help("write i32 or i64")
                .into());
        }
        self.names = Names::new(program.index);
        for arg in &args {
            if let Arg::Scalar(s) = arg {
                self.names.scalar(s.name.clone(), s.dtype);
            }
        }
        self.p.end_statement()?;
        Ok(args)
    }

    fn line(&mut self, program: &mut Program, launches: &mut Launches) -> Parse<()> {
        let start = self.p.span();
        if self.p.eat_word("assume") {
            return self.p.conjunction(&mut program.assumptions, &mut Vec::new());
        }
        if self.p.eat_word("fact") {
            // The side of a comparison that is an expression of scalars is the bound; the other one
            // is the array.
            let names = &self.names;
            program.facts.push(self.p.fact(&|n| names.scalar_of(n).is_none())?);
            return Ok(());
        }
        if self.p.eat_word("function") {
            let function = self.p.device_function()?;
            self.names.function(function.name.clone(), function.result);
            program.functions.push(function);
            return Ok(());
        }
        if self.p.eat_word("update") {
            let span = self.p.span();
            let update = self.declared_update()?;
            if program.updates.iter().any(|u| u.name == update.name) {
                let message = format!("there is already an update `{}`", update.name);
                return Err(self.p.error_at(span, "duplicate-name", message));
            }
            self.names.updates.push(update.name.clone());
            program.updates.push(update);
            return Ok(());
        }
        if self.p.eat_word("look_back") {
            let span = self.p.span();
            let of = self.declared_look_back()?;
            if program.look_backs.iter().any(|other| other.name == of.name) {
                let message = format!("there is already a look-back `{}`", of.name);
                return Err(self.p.error_at(span, "duplicate-name", message));
            }
            self.names.look_backs.push(of.name.clone());
            program.look_backs.push(of);
            return Ok(());
        }
        if self.p.eat_word("atom") {
            let span = self.p.span();
            let atom = self.p.atom_declaration()?;
            if program.atoms.iter().any(|a| a.name() == atom.name()) {
                let message = format!("there is already an atom `{}`", atom.name());
                return Err(self.p.error_at(span, "duplicate-name", message));
            }
            program.atoms.push(atom);
            return Ok(());
        }
        if self.p.eat_word("global") {
            let span = self.p.span();
            let global = self.global()?;
            self.unused(&global.name, span)?;
            self.names.global(program.globals.len(), &global);
            program.globals.push(global);
            return Ok(());
        }
        if self.p.eat_word("record") {
            let record = self.record(program)?;
            program.records.push(record);
            return Ok(());
        }
        if self.p.eat_word("target") {
            let span = self.p.span();
            let name = self.p.name("an architecture")?;
            let names = Target::NAMED.map(|target| target.architecture);
            let Some(target) = Target::named(&name) else {
                let message = format!("there is no target `{name}`");
                let mut unknown = self.p.error_at(span, "unknown-name", message);
                unknown.help = Some(format!("the targets are {}", names.join(", ")));
                return Err(unknown);
            };
            program.target = target;
            self.names.target = target;
            return Ok(());
        }
        if self.p.eat_word("coordinate") {
            let iname = self.p.name("an iname")?;
            self.p.expect("=")?;
            program.coordinates.push((iname, self.p.aff()?));
            return Ok(());
        }
        if self.p.eat_word("leaf") {
            let leaf = leaf::read(&mut self.p, &program.leaves)?;
            self.names.leaf(leaf.part.clone(), LeafId(program.leaves.len()));
            program.leaves.push(leaf);
            return Ok(());
        }
        if self.p.eat_word("host") {
            if std::mem::replace(&mut launches.has_host, true) {
                return Err(self.p.error_at(start, "duplicate-name", "this is a second host body"));
            }
            program.host = self.host(&mut launches.found)?;
            return Ok(());
        }
        if self.p.eat_word("kernel") {
            let span = self.p.span();
            let kernel = self.kernel(program)?;
            if program.kernels.iter().any(|k| k.name == kernel.name) {
                let message = format!("there is already a kernel `{}`", kernel.name);
                return Err(self.p.error_at(span, "duplicate-name", message));
            }
            program.kernels.push(kernel);
            return Ok(());
        }
        let mut error = self.p.unexpected("a line of a program");
        error.help = self.suggestion(LINES);
        Err(error)
    }

    /// `atomic_product: f32 = held * value`
    fn declared_update(&mut self) -> Parse<DeclaredUpdate> {
        let name = self.p.name("the name of an update")?;
        self.p.expect(":")?;
        let dtype = self.dtype()?;
        self.p.expect("=")?;
        let outside = self.names.clone();
        self.names = outside.of_update(dtype);
        let combined = self.value();
        self.names = outside;
        Ok(DeclaredUpdate { name, dtype, combined: combined? })
    }

    /// One or several of a kind, between commas.
    pub(super) fn listed<T>(&mut self, one: &mut dyn FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let mut found = vec![one(self)?];
        while self.p.eat(",") {
            found.push(one(self)?);
        }
        Ok(found)
    }

    /// `look_back_sum: f32 from 0.0f32 = earlier + later`; of several values each is a list.
    fn declared_look_back(&mut self) -> Parse<DeclaredLookBack> {
        let name = self.p.name("the name of a look-back")?;
        self.p.expect(":")?;
        let state = self.listed(&mut Self::dtype)?;
        self.keyword("from")?;
        let neutral = self.listed(&mut Self::value)?;
        self.p.expect("=")?;
        let outside = self.names.clone();
        self.names = outside.of_look_back(&state);
        let combined = self.listed(&mut Self::value);
        self.names = outside;
        Ok(DeclaredLookBack { name, state, neutral, combined: combined? })
    }

    /// `x: f32[n, m] strides(m, 1) size(n * m) temporary read written streaming waves(128, 4)`
    fn global(&mut self) -> Parse<Global> {
        let name = self.p.name("an array")?;
        self.p.expect(":")?;
        let dtype = self.dtype()?;
        let shape = self.values("[", "]")?;
        let strides = if self.p.eat_word("strides") { Some(self.values("(", ")")?) } else { None };
        let size = match self.p.eat_word("size") {
            true => {
                self.p.open("(")?;
                let size = self.value()?;
                self.p.close(")")?;
                Some(size)
            }
            false => None,
        };
        let dense = layout::dense(&shape, self.names.index);
        let (strides, size) = match (strides, size, dense) {
            (Some(strides), Some(size), _) => (strides, size),
            (strides, size, Some((dense, whole))) => (strides.unwrap_or(dense), size.unwrap_or(whole)),
            _ => {
                return Err(self
                    .p
                    .unexpected("`strides` and `size`, which are implied only for short shapes"));
            }
        };
        let owner = if self.p.eat_word("temporary") { Owner::Launch } else { Owner::Caller };
        let (read, written) = (self.p.eat_word("read"), self.p.eat_word("written"));
        let owner = match (owner, self.p.at_word("constant")) {
            (Owner::Caller, true) => {
                self.p.advance();
                Owner::Program(self.table(dtype)?)
            }
            (owner, _) => owner,
        };
        let hints = self.p.cache_hints()?;
        Ok(Global { name, dtype, shape, strides, size, owner, read, written, hints })
    }

    /// `p: particle { x: f32 p_x, kind: i32 p_kind }`, behind the lines of these arrays
    fn record(&mut self, program: &Program) -> Parse<RecordArg> {
        let start = self.p.span();
        let name = self.p.name("an argument")?;
        self.p.expect(":")?;
        let of = self.p.name("the name of a struct")?;
        let (mut list, mut fields) = (Vec::new(), Vec::new());
        self.p.open("{")?;
        while !self.p.at("}") {
            let field = self.p.name("a field")?;
            self.p.expect(":")?;
            let dtype = self.dtype()?;
            let span = self.p.span();
            let array = self.p.name("the array of the field")?;
            let number =
                self.find("argument", &array, span.clone(), program.globals.iter().map(|g| &g.name))?;
            if program.globals[number].dtype != dtype || program.field_place(number).is_some() {
                let message = format!("`{array}` is no array of {dtype}, or a field of another record");
                return Err(self.p.error_at(span, "wrong-type", message));
            }
            list.push((field, dtype));
            fields.push(number);
            if !self.p.eat(",") {
                break;
            }
        }
        self.p.close("}")?;
        if fields.is_empty() {
            let message = format!("the record `{name}` has no fields");
            return Err(self.p.error_at(start, "struct-field", message));
        }
        Ok(RecordArg { name, of: Struct::new(of, list), fields })
    }

    /// The values of a constant table of this type: `(0.25f32, 0.5f32)`.
    fn table(&mut self, dtype: DType) -> Parse<Table> {
        let span = self.p.span();
        let values = self.values("(", ")")?;
        let number = |value: &Value| match value.kind {
            ValueKind::Bool(v) => Some(Number::Bool(v)),
            ValueKind::Int(v) => Some(Number::I64(v).cast(value.dtype)),
            ValueKind::Float(v) => Some(Number::F64(v).cast(value.dtype)),
            _ => None,
        };
        let numbers: Option<Vec<Number>> =
            values.iter().map(|v| number(v).filter(|n| n.dtype() == dtype)).collect();
        match numbers {
            Some(numbers) => Ok(Table(numbers.into())),
            None => Err(self
                .p
                .diagnostic(span, "wrong-type", format!("a table of {dtype} has constants of this type"))
                .help("write its values with their type, as in `constant(0.5f32, 1.5f32)`")
                .into()),
        }
    }

    /// The host statements, between braces. Launches are numbered in text order until their kernels
    /// are known.
    fn host(&mut self, launches: &mut Vec<Later>) -> Parse<Vec<HostStmt>> {
        let mut body = Vec::new();
        self.p.expect("{")?;
        self.p.enter()?;
        loop {
            self.p.begin_statement();
            if self.p.eat("}") {
                break;
            }
            if self.p.eat_word("launch") {
                let span = self.p.span();
                let name = self.p.name("a kernel")?;
                body.push(HostStmt::Launch(launches.len()));
                launches.push((name, span));
            } else if self.p.eat_word("for") {
                let var = self.p.name("a variable of the host")?;
                self.p.expect("=")?;
                let lower = self.value()?;
                self.keyword("to")?;
                let upper = self.value()?;
                let note = Box::new(note::read(&mut self.p)?);
                self.names.scalar(var.clone(), self.names.index);
                let body_of_loop = self.host(launches)?;
                body.push(HostStmt::For { var, lower, upper, body: body_of_loop, note });
            } else {
                return Err(self.p.unexpected("`launch` or `for`"));
            }
            self.p.end_statement()?;
        }
        self.p.leave();
        Ok(body)
    }

    /// The position of a name in a list.
    fn find<'n>(
        &self,
        what: &str,
        name: &Name,
        span: Range<usize>,
        mut list: impl Iterator<Item = &'n Name> + Clone,
    ) -> Parse<usize> {
        let known = list.clone();
        list.position(|n| n == name).ok_or_else(|| {
            let of_what = if what == "argument" { "array" } else { what };
            let message = format!("there is no {of_what} `{name}`");
            let mut error = self.p.diagnostic(span, "unknown-name", message);
            error.help = did_you_mean(name, known.map(Name::as_str));
            if error.help.is_none() && what == "argument" {
                error.help =
                    Some(format!("declare its array by a line `global {name}: f32[n]`, or give its type"));
            }
            error.into()
        })
    }

    /// Refuses a second array of this name.
    pub(super) fn unused(&self, name: &Name, span: Range<usize>) -> Parse<()> {
        match self.names.memory_of(name) {
            None => Ok(()),
            Some(_) => {
                let message = format!("there is already an array `{name}`");
                Err(self.p.error_at(span.start..span.start + name.len(), "duplicate-name", message))
            }
        }
    }

    /// A help text with the keyword that is nearest to the word here, or with all of them.
    pub(super) fn suggestion(&self, words: &[&str]) -> Option<String> {
        let near = self.p.word(0).and_then(|w| did_you_mean(w, words.iter().copied()));
        near.or_else(|| Some(format!("expected one of {}", words.join(", "))))
    }

    pub(super) fn keyword(&mut self, word: &'static str) -> Parse<()> {
        if self.p.eat_word(word) { Ok(()) } else { Err(self.p.unexpected(&format!("`{word}`"))) }
    }

    /// A concrete type: a type parameter is an error, since programs have none.
    pub(super) fn dtype(&mut self) -> Parse<DType> {
        let span = self.p.span();
        match self.p.dtype()? {
            Type::Known(dtype) => Ok(dtype),
            Type::Open(name) => Err(self
                .p
                .diagnostic(span, "unknown-type", format!("`{name}` is not a type"))
                .help("a program has no open types: they are bound before lowering")
                .into()),
        }
    }

    /// An integer literal, which may be negative.
    pub(super) fn integer(&mut self) -> Parse<i64> {
        let negative = self.p.eat("-");
        let Tok::Int(value) = self.p.tok(0) else { return Err(self.p.unexpected("an integer")) };
        let signed = if negative { 0i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() };
        let signed = signed.ok_or_else(|| self.p.huge())?;
        self.p.advance();
        Ok(signed)
    }

    /// An integer literal of a small type.
    pub(super) fn number<T: TryFrom<u64>>(&mut self, what: &str) -> Parse<T> {
        let span = self.p.span();
        let value = self.p.number(what)?;
        T::try_from(value)
            .map_err(|_| self.p.error_at(span, "overflow", format!("{value} is too large to be {what}")))
    }
}

/// Gives launches the numbers of their kernels.
fn number(body: &mut [HostStmt], numbers: &[usize]) {
    for stmt in body {
        match stmt {
            HostStmt::For { body, .. } => number(body, numbers),
            HostStmt::Launch(k) => *k = numbers.get(*k).copied().unwrap_or(usize::MAX),
        }
    }
}
