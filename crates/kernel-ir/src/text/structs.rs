//! Structs of scalars in texts: their lines, arguments that have them as elements, fields of
//! elements, and copies of whole elements. Temporaries may have them, too: each field is a
//! temporary of its own then, which lies by itself.
//!
//! Fields are resolved while they are read: `p[i].x` is an element of the array `p_x`, and
//! `q[i] = p[i]` an instruction for each field. A struct may be declared below the header that uses
//! it, so that its line is looked up before the header is read.

use std::ops::Range;

use crate::{
    Access, AddressSpace, Arg, Array, Expr, Instruction, Name, Struct, Type,
    record::{Field, Record},
    text::{
        lexer::Tok,
        parser::{Parse, Parser},
        rows::{element_mark, read, target_mark},
        source_map::Item,
        statement::Draft,
    },
};

/// A whole element of a record: the number of the record, and the subscripts.
pub(super) struct Element {
    record: usize,
    index: Vec<Expr>,
}

impl Parser {
    /// Looks up the structs that the lines of this kernel declare, before its header is read.
    pub(super) fn look_up_structs(&mut self) -> Parse<()> {
        self.structs.clear();
        let here = self.mark();
        while let Some(at) = self.next_struct(&here, self.structs.len()) {
            self.go_to(at);
            self.advance();
            let of = self.struct_line()?;
            self.structs.push(of);
        }
        self.back_to(here);
        Ok(())
    }

    /// `NAME { x: f32, y: f32 }`, after the keyword.
    pub(super) fn struct_line(&mut self) -> Parse<Struct> {
        let name = self.name("the name of a struct")?;
        let mut fields = Vec::new();
        self.open("{")?;
        while !self.at("}") {
            let field = self.name("a field")?;
            if !self.eat(":") {
                let mut error = self.unexpected("`:` and a type");
                error.help = Some(format!("a field needs a type: `{field}: f32`"));
                return Err(error);
            }
            let span = self.span();
            let nested = self.word(0).is_some_and(|w| self.structs.iter().any(|s| *s.name == *w));
            let dtype = match nested {
                true => None,
                false => self.dtype()?.known(),
            };
            let (Some(dtype), false) = (dtype, self.at("[")) else {
                let message = format!("the field `{field}` of `{name}` is not a scalar of a known type");
                return Err(self
                    .diagnostic(span, "struct-field", message)
                    .help(
                        "fields are numbers, such as `x: f32`: write those of an inner struct, an array or a \
                           complex number one by one",
                    )
                    .into());
            };
            fields.push(Field { name: field, dtype });
            if !self.eat(",") {
                break;
            }
        }
        self.close("}")?;
        Ok(Struct { name, fields })
    }

    /// The struct whose name comes next.
    pub(super) fn struct_here(&self) -> Option<&Struct> {
        let word = self.word(0)?;
        self.structs.iter().find(|s| *s.name == *word)
    }

    /// The arrays of the fields of `p: particle[n]`, from the type on.
    pub(super) fn record_argument(&mut self, name: Name, of: &Struct) -> Parse<Vec<Arg>> {
        self.advance();
        if !self.at("[") {
            let message = format!("`{name}` is one `{}`, and arguments are numbers or arrays", of.name);
            return Err(self
                .error("struct-value", message)
                .help(format!("pass an array of one element, `{name}: {}[1]`, or its fields", of.name))
                .into());
        }
        let start = self.span().start;
        let (axes, order, layout) = self.layout()?;
        let hints = self.cache_hints()?;
        self.eat_word("global");
        if !layout.is_default() || axes.iter().any(|a| a.padding != 0) || hints.waves().is_some() {
            let message = format!("`{name}` is an array of structs, and has padding, modes or waves");
            return Err(self
                .diagnostic(start..self.last_end(), "wrong-layout", message)
                .help("it may have `strides(...)`, in elements, an `order(...)` and `streaming`")
                .into());
        }
        let array = Array::new(name, Type::Open(of.name.clone()), axes, AddressSpace::Global);
        let record = Record { array: Array { order, layout, hints, ..array } };
        let fields = record.fields(of).into_iter().map(Arg::Array).collect();
        self.records.push(record);
        Ok(fields)
    }

    /// The temporaries of the fields of `temp t: pair[n] shared`. How they lie to each other is not
    /// said: each is an array as any other, so that no record of the kernel holds them together.
    pub(super) fn record_temporary(&mut self, array: Array, of: &Struct) -> Vec<Array> {
        let record = Record { array };
        let field = |field: &Field| Array {
            name: record.field_name(&field.name),
            dtype: Type::Known(field.dtype),
            ..record.array.clone()
        };
        let fields = of.fields.iter().map(field).collect();
        self.records.push(record);
        fields
    }

    /// What is a struct, and nothing else of the kernel, has its name: a text that means the other
    /// would be read as the struct.
    pub(super) fn names_of_structs(&self, draft: &Draft) -> Parse<()> {
        let data = &draft.data;
        let is_other = |name: &Name| {
            data.args.iter().any(|arg| arg.name() == name)
                || data.temporaries.iter().any(|t| t.name == *name)
                || data.constants.iter().any(|c| c.array.name == *name)
                || data.is_iname(name)
        };
        for (k, record) in self.records.iter().enumerate() {
            let name = &record.array.name;
            let again = self.records[..k].iter().any(|other| other.array.name == *name);
            if again || (!data.records.contains(record) && is_other(name)) {
                let message = format!("`{name}` is a `{}` and something else, too", record.of());
                return Err(self.error("duplicate-name", message).help("rename one of the two").into());
            }
        }
        Ok(())
    }

    /// The record of this name, by its number.
    pub(super) fn record_named(&self, name: &str) -> Option<usize> {
        self.records.iter().position(|r| r.array.name == *name)
    }

    /// The field of a record's element, after its subscripts; `None` if the whole element is meant.
    pub(super) fn field_here(&mut self, record: usize) -> Parse<Option<Name>> {
        if !self.at(".") {
            return Ok(None);
        }
        self.advance();
        let record = self.records[record].clone();
        let span = self.span();
        let field = self.name("a field")?;
        let of = self.structs.iter().find(|s| s.name == *record.of());
        if of.is_some_and(|s| s.field(&field).is_some()) {
            return Ok(Some(record.field_name(&field)));
        }
        let known: Vec<&str> =
            of.map(|s| s.fields.iter().map(|f| f.name.as_str()).collect()).unwrap_or_default();
        let help = crate::suggest::did_you_mean(&field, known.iter().copied())
            .unwrap_or_else(|| format!("its fields are {}", known.join(", ")));
        let message = format!("`{}` has no field `{field}`", record.of());
        Err(self.diagnostic(span, "unknown-name", message).help(help).into())
    }

    /// An element of a record in an expression.
    pub(super) fn field_of_element(&mut self, record: usize) -> Parse<Expr> {
        let from = self.span().start;
        self.advance();
        let name = self.records[record].array.name.clone();
        let index = if self.at("[") { self.subscripts()? } else { Vec::new() };
        match self.field_here(record)? {
            Some(array) => Ok(read(Access { array, index })),
            None => {
                let fields = self.fields_of(record, &index);
                Ok(element_mark(&name, self.records[record].of(), fields, from..self.last_end()))
            }
        }
    }

    /// An element of a record, field by field.
    fn fields_of(&self, record: usize, index: &[Expr]) -> Vec<Access> {
        let record = &self.records[record];
        let of = self.structs.iter().find(|s| s.name == *record.of());
        of.iter()
            .flat_map(|of| &of.fields)
            .map(|f| Access { array: record.field_name(&f.name), index: index.to_vec() })
            .collect()
    }

    /// The fields of a whole element that takes a result of an operator, as targets.
    pub(super) fn element_targets(&self, element: &Element, span: Range<usize>) -> Vec<Access> {
        let record = &self.records[element.record];
        let mut fields = self.fields_of(element.record, &element.index);
        let mark = target_mark(&record.array.name, record.of(), fields.len(), span);
        fields.iter_mut().for_each(|f| f.index.push(mark.clone()));
        fields
    }

    /// Whether the value behind the targets is written like that of an operator: `= best(i, ...)`.
    pub(super) fn gives_results(&self) -> bool {
        self.at(",") || (self.at("=") && matches!(self.tok(1), Tok::Ident) && self.peek_is(2, "("))
    }

    /// A target that is a whole element, if no field follows its subscripts.
    pub(super) fn element_target(
        &mut self,
        record: usize,
        index: Vec<Expr>,
    ) -> Parse<Result<Access, Element>> {
        Ok(match self.field_here(record)? {
            Some(array) => Ok(Access { array, index }),
            None => Err(Element { record, index }),
        })
    }

    /// The rest of `q[i] = p[i] if c {id=copy}` after `q[i]`: an instruction for each field.
    pub(super) fn struct_copy(&mut self, draft: &mut Draft, start: usize, to: Element) -> Parse<()> {
        let target = self.records[to.record].clone();
        let Some(of) = self.structs.iter().find(|s| s.name == *target.of()).cloned() else {
            return Err(self.unexpected("a struct"));
        };
        let name = &target.array.name;
        let refused = |parser: &Parser, message: String| {
            let field = of.fields.first().map_or("x", |f| f.name.as_str());
            parser.diagnostic(start..parser.last_end(), "struct-value", message).help(format!(
                "copy an element of another array of `{}`, `{name}[i] = p[i]`, or write field by field, as in \
                 `{name}[i].{field} = e`",
                of.name
            ))
        };
        if !self.at("=") {
            let message = format!("`{name}[...]` is a whole `{}`, which is assigned or not changed", of.name);
            return Err(refused(self, message).into());
        }
        self.advance();
        let from = self.word(0).and_then(|w| self.record_named(w));
        let Some(source) = from.map(|k| self.records[k].clone()).filter(|r| r.of() == target.of()) else {
            let message = format!("`{name}[...]` is a whole `{}`, and the value is none", of.name);
            return Err(refused(self, message).into());
        };
        self.advance();
        let index = if self.at("[") { self.subscripts()? } else { Vec::new() };
        if self.at(".") {
            let message = format!("`{name}[...]` is a whole `{}`, and the value is a field", of.name);
            return Err(refused(self, message).into());
        }
        let mut whole = Instruction::new("", Vec::new(), Expr::Int(0), crate::Role::Does(Name::new("")));
        self.rest_of_instruction(&mut whole)?;
        // The fields are copied one after the other: what decides which element is copied must not
        // be among what the copy changes.
        let changed: Vec<Name> = of.fields.iter().map(|f| target.field_name(&f.name)).collect();
        let deciding = index.iter().chain(&to.index).chain(&whole.predicate);
        if let Some(read) = deciding.flat_map(Expr::accesses).find(|access| changed.contains(&access.array)) {
            let message =
                format!("the copy to `{name}` changes `{}`, which decides what is copied", read.array);
            return Err(self
                .diagnostic(start..self.last_end(), "struct-copy", message)
                .help(format!("load it before, in a line of its own: `<> which = {read}`"))
                .into());
        }
        for field in &of.fields {
            let access = |record: &Record, index: &[Expr]| Access {
                array: record.field_name(&field.name),
                index: index.to_vec(),
            };
            let mut one = Instruction {
                targets: vec![access(&target, &to.index)],
                value: read(access(&source, &index)),
                ..whole.clone()
            };
            if !whole.id.is_empty() {
                one.id = Name::new(format!("{}_{}", whole.id, field.name));
            }
            let number = draft.data.instructions.len();
            draft.blocks.place(number, &mut one);
            draft.map.spans.insert(Item::Instruction(number), start..self.last_end());
            draft.data.instructions.push(one);
        }
        Ok(())
    }
}
