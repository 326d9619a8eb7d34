//! Arrays and structs that are given to an operator and taken from it: `x[j, :]`, `p[i]`.
//!
//! While a kernel is read, slices and whole elements of structs are marks, with names that no text
//! has; here they become the numbers that an operator of such shapes ([`Shaped`]) has. Anywhere
//! else they are refused. What is given for an array is an expression of slices of its lengths,
//! taken element by element, as `2.0*x[j, :]`; what is given for a struct is an element, or the
//! struct's name with a value for each field.

use std::ops::Range;

use crate::{
    Access, Diagnostic, Diagnostics, Expr, Instruction, KernelData, Name, Place, Reduce, ReductionOp, Rule,
    inline::Sub,
    math_function,
    text::{
        operator::Shaped,
        shape::{Part, Shape, count},
        source_map::{Item, SourceMap},
    },
};

const SLICE: &str = " slice";
const ELEMENT: &str = " element ";
const TARGET: &str = " target ";

fn mark(name: String, mut args: Vec<Expr>, span: Range<usize>) -> Expr {
    args.extend([span.start, span.end].map(|k| Expr::Int(i64::try_from(k).unwrap_or(0))));
    Expr::Call { function: Name::new(name), precision: None, args }
}

/// The bytes of the text that a mark stands for.
fn span_of(args: &[Expr]) -> Range<usize> {
    let at = |e: Option<&Expr>| match e {
        Some(Expr::Int(k)) => usize::try_from(*k).unwrap_or(0),
        _ => 0,
    };
    let n = args.len();
    at(n.checked_sub(2).and_then(|k| args.get(k)))..at(args.last())
}

/// What stands for a range among subscripts.
pub(super) fn slice_mark(range: Sub, span: Range<usize>) -> Expr {
    let Sub::Range { from, to, step } = range else { return Expr::Bool(false) };
    let end = |e: Option<Expr>| e.unwrap_or(Expr::Bool(false));
    mark(SLICE.into(), vec![end(from), end(to), Expr::Int(step)], span)
}

/// What stands for a whole element of an array of structs, with its fields.
pub(super) fn element_mark(array: &str, of: &str, fields: Vec<Access>, span: Range<usize>) -> Expr {
    mark(format!("{ELEMENT}{array} {of}"), fields.into_iter().map(read).collect(), span)
}

/// An element, or a scalar without subscripts.
pub(super) fn read(access: Access) -> Expr {
    match access.index.is_empty() {
        true => Expr::Name(access.array),
        false => Expr::Subscript(access),
    }
}

/// What is appended to the subscripts of the fields of a whole element that is a target.
pub(super) fn target_mark(array: &str, of: &str, fields: usize, span: Range<usize>) -> Expr {
    mark(format!("{TARGET}{array} {of}"), vec![Expr::Int(i64::try_from(fields).unwrap_or(0))], span)
}

/// The place of a slice, if the expression is one.
fn slice_of(e: &Expr) -> Option<Range<usize>> {
    let Expr::Subscript(access) = e else { return None };
    access.index.iter().find_map(|sub| match sub {
        Expr::Call { function, args, .. } if **function == *SLICE => Some(span_of(args)),
        _ => None,
    })
}

/// The name of the array and of its struct in a mark.
fn names_in<'e>(function: &'e str, kind: &str) -> Option<(&'e str, &'e str)> {
    function.strip_prefix(kind)?.split_once(' ')
}

/// The refusal of a slice that is given to no operator.
pub(super) fn slice_here(place: Place) -> Diagnostic {
    let help = "a slice is an argument of a kernel that is declared above and called in a line of its own: \
                `y[i] = total(x[i, :])`; or of an operator that takes arrays, `reduction online(v[8])`";
    Diagnostic::new("syntax", "a slice is not a value").at(Some(place)).help(help)
}

fn whole_element(array: &str, of: &str, field: &str, place: Place) -> Diagnostic {
    Diagnostic::new("struct-value", format!("an element of `{array}` is a `{of}`, and no number"))
        .at(Some(place))
        .help(format!(
            "write the field that is meant, as in `{array}[i].{field}`; whole elements are copied by \
             `q[i] = {array}[i]`, and given to operators that take them: `reduction best(p: {of})`"
        ))
}

/// A target that is a whole element of an array of structs.
struct Whole {
    array: Name,
    of: String,
    span: Range<usize>,
}

struct Rows<'a> {
    data: &'a KernelData,
    map: &'a SourceMap,
    shaped: &'a [Shaped],
    /// The kernels that may be called.
    called: &'a [Name],
    /// What the rows are in.
    item: Item,
}

fn given(n: usize) -> String {
    if n == 1 { "1 is given".into() } else { format!("{n} are given") }
}

fn taken(n: usize) -> String {
    if n == 1 { "1 is taken".into() } else { format!("{n} are taken") }
}

type Found<T> = Result<T, Box<Diagnostic>>;

/// Writes out all rows and structs that operators take and give.
pub(super) fn resolve(
    data: &mut KernelData,
    map: &SourceMap,
    shaped: &[Shaped],
    called: &[Name],
) -> Result<(), Diagnostics> {
    let failed = |d: Box<Diagnostic>| Diagnostics(vec![*d]);
    if shaped.is_empty() {
        // Nothing is written out, and whatever is marked is refused.
        let rows = |item| Rows { data, map, shaped, called, item };
        for (k, rule) in data.rules.iter().enumerate() {
            rows(Item::Rule(k)).no_marks(&rule.value).map_err(failed)?;
        }
        for (k, i) in data.instructions.iter().enumerate() {
            rows(Item::Instruction(k)).no_marks_in(i).map_err(failed)?;
        }
        return Ok(());
    }
    let old = data.clone();
    let rows = |item| Rows { data: &old, map, shaped, called, item };
    for (k, rule) in data.rules.iter_mut().enumerate() {
        let rows = rows(Item::Rule(k));
        let Rule { value, .. } = rule;
        *value = rows.written(value).map_err(failed)?;
        rows.no_marks(value).map_err(failed)?;
    }
    for (k, i) in data.instructions.iter_mut().enumerate() {
        let rows = rows(Item::Instruction(k));
        rows.instruction(i).map_err(failed)?;
        rows.no_marks_in(i).map_err(failed)?;
    }
    Ok(())
}

impl Rows<'_> {
    fn shaped(&self, name: &str) -> Option<&Shaped> {
        self.shaped.iter().find(|s| *s.name == *name)
    }

    /// The place of the whole item, where no part of it is meant.
    fn place(&self) -> Option<Place> {
        self.map.locate(&self.item, "")
    }

    fn refusal(&self, place: Option<Place>, message: String, help: String) -> Box<Diagnostic> {
        Diagnostic::new("operator-shape", message).at(place.or_else(|| self.place())).help(help).into()
    }

    fn instruction(&self, i: &mut Instruction) -> Found<()> {
        let operator = match &i.value {
            Expr::Reduce(r) => self.shaped(&r.op),
            Expr::Call { function, precision: None, .. } => self.shaped(function),
            _ => None,
        };
        if let Some(operator) = operator {
            self.targets(operator, i)?;
        }
        i.value = self.written(&i.value)?;
        if let Some(predicate) = &i.predicate {
            i.predicate = Some(self.written(predicate)?);
        }
        Ok(())
    }

    /// An expression with the arguments of operators written out.
    fn written(&self, e: &Expr) -> Found<Expr> {
        let mut fault = None;
        let e = e.map_children(&mut |child| {
            self.written(child).unwrap_or_else(|d| {
                fault.get_or_insert(d);
                child.clone()
            })
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
        match &e {
            Expr::Reduce(r) => match self.shaped(&r.op) {
                Some(operator) => {
                    let args = self.arguments(operator, &r.args)?;
                    Ok(Expr::Reduce(Reduce { args, ..(**r).clone() }.into()))
                }
                None => Ok(e),
            },
            Expr::Call { function, precision: None, args } => match self.shaped(function) {
                Some(operator) if !args.is_empty() => {
                    let mut all = vec![args[0].clone()];
                    all.extend(self.arguments(operator, &args[1..])?);
                    Ok(Expr::Call { function: function.clone(), precision: None, args: all })
                }
                _ => Ok(e),
            },
            _ => Ok(e),
        }
    }

    fn arguments(&self, operator: &Shaped, args: &[Expr]) -> Found<Vec<Expr>> {
        if args.len() != operator.inputs.len() {
            let message = format!(
                "`{}` takes {} per update, and here {}",
                operator.name,
                count(operator.inputs.len(), "value", "values"),
                given(args.len())
            );
            let inputs: Vec<&str> = operator.inputs.iter().map(|(n, _)| n.as_str()).collect();
            let help = format!("write `{}(i, {})`", operator.name, inputs.join(", "));
            return Err(Diagnostic::new("wrong-arity", message).at(self.place()).help(help).into());
        }
        let mut all = Vec::new();
        for ((name, shape), e) in operator.inputs.iter().zip(args) {
            for part in shape.parts() {
                all.push(self.number(operator, name, shape, e, &part)?);
            }
        }
        Ok(all)
    }

    /// One of the numbers that `e` is for an input of this shape.
    fn number(&self, operator: &Shaped, name: &Name, shape: &Shape, e: &Expr, part: &Part) -> Found<Expr> {
        let wrong = |span: Option<Range<usize>>, found: &str| {
            let message =
                format!("`{name}` of `{}` is {}, and {found} is given", operator.name, shape.words());
            let help = match (&shape.of, shape.lengths.is_empty()) {
                (None, true) => "give one number".into(),
                (Some(of), true) => format!("give an element of an array of `{}`, as `p[i]`", of.name),
                _ => "give a slice of these lengths, as `x[j, :]`, or `x[j, k : k + 8]`".into(),
            };
            self.refusal(span.map(|s| self.map.place(s)), message, help)
        };
        let fields = match (&shape.of, e) {
            (None, _) => e,
            (Some(of), Expr::Call { function, args, .. }) => {
                let element = names_in(function, ELEMENT).map(|(_, s)| s);
                let of_fields = args.len().saturating_sub(if element.is_some() { 2 } else { 0 });
                if element.unwrap_or(function) != of.name.as_str() || of_fields != of.fields.len() {
                    let found = element.map_or("another value".into(), |s| format!("a `{s}`"));
                    return Err(wrong(element.map(|_| span_of(args)), &found));
                }
                &args[part.field.unwrap_or(0)]
            }
            (Some(_), _) => return Err(wrong(None, "a number")),
        };
        let mut axes = None;
        let made = self.element(fields, &part.index, &mut axes)?;
        match axes {
            None if shape.lengths.is_empty() => Ok(made),
            None => Err(wrong(None, "one number")),
            Some((lengths, _)) if lengths == shape.lengths => Ok(made),
            Some((lengths, span)) => {
                let found = Shape { lengths, of: shape.of.clone() };
                Err(wrong(Some(span), &found.words()))
            }
        }
    }

    /// An element of an expression of slices, whose lengths are noted, with the place of one of
    /// them.
    fn element(&self, e: &Expr, at: &[i64], axes: &mut Option<(Vec<i64>, Range<usize>)>) -> Found<Expr> {
        if let Expr::Subscript(access) = e
            && let Some((made, lengths, span)) = self.of_slice(access, at)?
        {
            match axes {
                Some((known, _)) if *known != lengths => {
                    let message = format!(
                        "slices of {} and of {} are taken element by element",
                        Shape { lengths: known.clone(), of: None }.words(),
                        Shape { lengths, of: None }.words()
                    );
                    let help = "give slices of one length".to_string();
                    return Err(self.refusal(Some(self.map.place(span)), message, help));
                }
                Some(_) => {}
                None => *axes = Some((lengths, span)),
            }
            return Ok(Expr::Subscript(made));
        }
        if matches!(e, Expr::Reduce(_)) {
            return Ok(e.clone());
        }
        let mut fault = None;
        let made = e.map_children(&mut |child| {
            self.element(child, at, axes).unwrap_or_else(|d| {
                fault.get_or_insert(d);
                child.clone()
            })
        });
        fault.map_or(Ok(made), Err)
    }

    /// The element of a slice at a point of it, its lengths and its place; `None` if the access is
    /// no slice.
    #[expect(clippy::type_complexity, reason = "three results of one look at an access")]
    fn of_slice(&self, access: &Access, at: &[i64]) -> Found<Option<(Access, Vec<i64>, Range<usize>)>> {
        let (mut index, mut lengths, mut place) = (Vec::new(), Vec::new(), None);
        for (k, sub) in access.index.iter().enumerate() {
            let Expr::Call { function, args, .. } = sub else {
                index.push(sub.clone());
                continue;
            };
            let ([from, to, Expr::Int(step), ..], true) = (args.as_slice(), **function == *SLICE) else {
                index.push(sub.clone());
                continue;
            };
            let span = span_of(args);
            let length = self.length(access, k, [from, to], *step, &span)?;
            // Beyond the rank that is wanted the lengths differ, which is refused by who asks.
            let point = at.get(lengths.len()).copied().unwrap_or(0);
            let shift = Expr::Int(point * step);
            index.push(match from {
                Expr::Bool(_) => shift,
                from => {
                    let sum = Expr::binary(crate::BinaryOp::Add, from.clone(), shift);
                    sum.to_aff().map_or(sum, |aff| Expr::from_aff(&aff))
                }
            });
            lengths.push(length);
            place.get_or_insert(span);
        }
        Ok(place.map(|span| (Access { array: access.array.clone(), index }, lengths, span)))
    }

    /// The number of elements of a slice, which is part of the text.
    fn length(
        &self,
        access: &Access,
        axis: usize,
        [from, to]: [&Expr; 2],
        step: i64,
        span: &Range<usize>,
    ) -> Found<i64> {
        let array = &access.array;
        let declared = self.data.array(array).and_then(|a| a.axes.get(axis)).map(|a| &a.length);
        let end = match to {
            Expr::Bool(_) => declared.cloned().ok_or_else(|| {
                let message = format!("`{array}` is no array with an axis {axis}");
                let help = "give a slice of an array, or the bounds, as `x[j, 0:8]`".into();
                self.refusal(Some(self.map.place(span.clone())), message, help)
            })?,
            to => to.clone(),
        };
        let whole = match from {
            Expr::Bool(_) => end,
            from => Expr::binary(crate::BinaryOp::Sub, end, from.clone()),
        };
        let length = whole.to_aff().and_then(|aff| aff.as_constant());
        match length {
            Some(n) if n > 0 => Ok((n - 1) / step + 1),
            _ => {
                let message =
                    format!("how many elements this slice of `{array}` has is not part of the text");
                let help = format!(
                    "each element becomes a number of the operator: declare the length as an integer, or \
                     write the bounds, as `{array}[..., 0:8]`"
                );
                Err(self.refusal(Some(self.map.place(span.clone())), message, help))
            }
        }
    }

    /// Writes out the targets of the results of an operator.
    fn targets(&self, operator: &Shaped, i: &mut Instruction) -> Found<()> {
        // Of each target that the text has: its fields, and whether it is a struct.
        let mut groups: Vec<(Vec<Access>, Option<Whole>)> = Vec::new();
        let mut rest = i.targets.as_slice();
        while let [first, ..] = rest {
            let whole = match first.index.last() {
                Some(Expr::Call { function, args, .. }) => names_in(function, TARGET).map(|n| (n, args)),
                _ => None,
            };
            let count = match whole.map(|(_, args)| &args[0]) {
                Some(Expr::Int(n)) => usize::try_from(*n).unwrap_or(1).clamp(1, rest.len()),
                _ => 1,
            };
            let strip = |t: &Access| {
                let kept = t.index.len() - usize::from(whole.is_some());
                Access { array: t.array.clone(), index: t.index[..kept].to_vec() }
            };
            let of = whole.map(|((array, of), args)| Whole {
                array: Name::new(array),
                of: of.to_string(),
                span: span_of(args),
            });
            groups.push((rest[..count].iter().map(strip).collect(), of));
            rest = &rest[count..];
        }
        let is_slice = |t: &Access| {
            t.index.iter().any(|e| matches!(e, Expr::Call { function, .. } if **function == *SLICE))
        };
        if groups.iter().all(|(group, of)| of.is_none() && !group.iter().any(is_slice)) {
            let numbers: usize = operator.results.iter().filter_map(Shape::size).sum();
            if i.targets.len() == numbers && operator.results.len() != numbers {
                return Ok(());
            }
        }
        if groups.len() != operator.results.len() {
            let message = format!(
                "`{}` gives {}, and here {}",
                operator.name,
                count(operator.results.len(), "result", "results"),
                taken(groups.len())
            );
            let words: Vec<String> = operator.results.iter().map(Shape::words).collect();
            let help = format!("they are {}", words.join(", "));
            return Err(Diagnostic::new("wrong-arity", message).at(self.place()).help(help).into());
        }
        let mut made = Vec::new();
        for ((group, of), shape) in groups.iter().zip(&operator.results) {
            let array = of.as_ref().map_or(&group[0].array, |whole| &whole.array);
            let wrong = |span: Option<Range<usize>>, found: &Shape, of: Option<&str>| {
                let found = match (of, found.lengths.is_empty()) {
                    (None, _) => found.words(),
                    (Some(of), true) => format!("a `{of}`"),
                    (Some(of), false) => format!("several `{of}`"),
                };
                let message = format!(
                    "this result of `{}` is {}, and `{array}` takes {found} here",
                    operator.name,
                    shape.words()
                );
                let help =
                    "a row of results is taken by a slice, as `out[i, :]`, a struct by an element of an \
                            array of it"
                        .to_string();
                self.refusal(span.map(|s| self.map.place(s)), message, help)
            };
            let structs_agree = match (of, &shape.of) {
                (None, None) => true,
                (Some(whole), Some(s)) => whole.of == *s.name && group.len() == s.fields.len(),
                _ => false,
            };
            for part in shape.parts() {
                let access = &group[part.field.unwrap_or(0).min(group.len() - 1)];
                let (one, lengths, span) = match self.of_slice(access, &part.index)? {
                    Some((one, lengths, span)) => (one, lengths, Some(span)),
                    None => (access.clone(), Vec::new(), of.as_ref().map(|whole| whole.span.clone())),
                };
                if lengths != shape.lengths || !structs_agree {
                    let found = Shape { lengths, of: None };
                    return Err(wrong(span, &found, of.as_ref().map(|whole| whole.of.as_str())));
                }
                made.push(one);
            }
        }
        i.targets = made;
        Ok(())
    }

    /// Whether something has this name that is called as a function is.
    fn is_known(&self, function: &str) -> bool {
        let data = self.data;
        math_function(function).is_some()
            || ReductionOp::is_library(function)
            || data.reductions.iter().any(|r| *r.name == *function)
            || data.functions.iter().any(|f| *f.name == *function)
            || data.rules.iter().any(|r| *r.name == *function)
    }

    /// The refusal of a slice that is given to what does not exist.
    fn no_kernel(&self, name: &Name, span: Range<usize>) -> Diagnostic {
        let operators = self.data.reductions.iter().map(|r| r.name.as_str());
        let help = crate::suggest::did_you_mean(name, self.called.iter().map(Name::as_str).chain(operators));
        let help = help.unwrap_or_else(|| {
            "a kernel that is called stands above the call, `kernel total(...) { ... }`, or in another text, \
             given by `--library FILE` or `parse_with`; an operator is a `reduction` line"
                .into()
        });
        Diagnostic::new(
            "unknown-name",
            format!("there is no kernel and no operator `{name}` above this line"),
        )
        .at(Some(self.map.place(span)))
        .help(help)
    }

    /// Refuses what is left of marks.
    fn no_marks_in(&self, i: &Instruction) -> Found<()> {
        i.expressions().try_for_each(|e| self.no_marks(e))
    }

    fn no_marks(&self, e: &Expr) -> Found<()> {
        let mut found = None;
        e.visit(&mut |e| {
            let Expr::Call { function, args, .. } = e else { return };
            if found.is_none() && !function.contains(' ') && !self.is_known(function) {
                found = args.iter().find_map(slice_of).map(|span| self.no_kernel(function, span));
            }
            let place = || self.map.place(span_of(args));
            if **function == *SLICE {
                found.get_or_insert_with(|| slice_here(place()));
            } else if let Some((array, of)) = names_in(function, ELEMENT) {
                let field = self.data.structure(of).and_then(|s| s.fields.first());
                let field = field.map_or("x", |f| f.name.as_str());
                found.get_or_insert_with(|| whole_element(array, of, field, place()));
            } else if let Some((array, of)) = names_in(function, TARGET) {
                found.get_or_insert_with(|| {
                    Diagnostic::new(
                        "struct-value",
                        format!("`{array}[...]` is a whole `{of}`, and the value is none"),
                    )
                    .at(Some(place()))
                    .help(format!(
                        "assign an element of another array of `{of}`, a result of an operator that is one, \
                             or each field by its name"
                    ))
                });
            }
        });
        found.map_or(Ok(()), |d| Err(d.into()))
    }
}
