//! Inputs, values of the state and results of an operator that are several numbers: arrays of a
//! constant length, structs, and arrays of structs.
//!
//! An operator has numbers only ([`crate::ReductionOp`]), so that its laws, proofs and programs
//! need nothing else: `o: f32[2]` is the two values `o_0` and `o_1`, `v: part` one for each field,
//! `v_x` and `v_m`. A formula is read once and written out for each number that it gives. Here are
//! the shapes, and how formulas are written out; which lines of an operator have them is in
//! `operator.rs`, and what is given to an operator and taken from it in `rows.rs`.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Access, BinaryOp, Expr, Name, Struct};

/// The most numbers that a state may have: each is a scalar of every thread.
pub(super) const MOST: usize = 256;

/// What a name stands for: a number, or several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// The lengths of its axes, if it is an array.
    pub lengths: Vec<i64>,
    /// The struct that it is, or that its elements are.
    pub of: Option<Struct>,
}

/// One number of a shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub index: Vec<i64>,
    /// The number of the field.
    pub field: Option<usize>,
}

/// Why something is not of the shape that it has to be: a sentence, the part of the text that is
/// meant, and the remedy.
#[derive(Debug)]
pub(super) struct Fault {
    pub message: String,
    pub at: String,
    pub help: String,
}

impl Fault {
    pub fn new(message: impl Into<String>, at: impl Into<String>, help: impl Into<String>) -> Box<Fault> {
        Box::new(Fault { message: message.into(), at: at.into(), help: help.into() })
    }
}

impl Shape {
    pub fn is_number(&self) -> bool {
        self.lengths.is_empty() && self.of.is_none()
    }

    /// How many numbers it has; `None` beyond [`MOST`].
    pub fn size(&self) -> Option<usize> {
        let fields = self.of.as_ref().map_or(1, |s| s.fields.len());
        let lengths = self.lengths.iter().map(|n| usize::try_from(*n).ok());
        let size = lengths.chain([Some(fields)]).try_fold(1usize, |all, n| all.checked_mul(n?))?;
        (size <= MOST).then_some(size)
    }

    /// Its numbers, the last axis fastest, the fields of each element in their order.
    pub fn parts(&self) -> Vec<Part> {
        let fields: Vec<Option<usize>> = match &self.of {
            Some(s) => (0..s.fields.len()).map(Some).collect(),
            None => vec![None],
        };
        points(&self.lengths)
            .into_iter()
            .flat_map(|index| fields.iter().map(move |field| Part { index: index.clone(), field: *field }))
            .collect()
    }

    /// What is appended to a name for one of its numbers: `_3`, `_x`.
    fn suffix(&self, part: &Part) -> String {
        let index = part.index.iter().map(|k| format!("_{k}"));
        index.chain(self.field(part).map(|field| format!("_{field}"))).collect()
    }

    /// One of its numbers as a text writes it: `[3]`, `.x`.
    fn written(&self, part: &Part) -> String {
        let index: Vec<String> = part.index.iter().map(i64::to_string).collect();
        let index = if index.is_empty() { String::new() } else { format!("[{}]", index.join(", ")) };
        format!("{index}{}", self.field(part).map_or_else(String::new, |field| format!(".{field}")))
    }

    fn field(&self, part: &Part) -> Option<&Name> {
        self.of.as_ref()?.fields.get(part.field?).map(|f| &f.name)
    }

    /// The name of one of the numbers of `base`.
    pub fn name_of(&self, base: &str, part: &Part) -> Name {
        Name::new(format!("{base}{}", self.suffix(part)))
    }

    /// One of the numbers of `base` in the words of a text.
    pub fn text_of(&self, base: &str, part: &Part) -> String {
        format!("{base}{}", self.written(part))
    }

    /// `one number`, `8 numbers`, `a `part``, `4 of `part``.
    pub fn words(&self) -> String {
        let count = self.lengths.iter().map(i64::to_string).collect::<Vec<_>>().join(" x ");
        match (&self.of, self.lengths.is_empty()) {
            (None, true) => "one number".into(),
            (None, false) => format!("an array of {count}"),
            (Some(s), true) => format!("a `{}`", s.name),
            (Some(s), false) => format!("an array of {count} `{}`", s.name),
        }
    }
}

/// All points of a box, the last axis fastest.
pub(super) fn points(lengths: &[i64]) -> Vec<Vec<i64>> {
    lengths.iter().fold(vec![Vec::new()], |before, length| {
        let with = |point: Vec<i64>| (0..*length).map(move |k| [&point[..], &[k]].concat());
        before.into_iter().flat_map(with).collect()
    })
}

/// The name of what stands for `e.field` while a formula is read.
pub(super) fn field_mark(field: &str, of: Expr) -> Expr {
    Expr::Call { function: Name::new(format!(".{field}")), precision: None, args: vec![of] }
}

/// `base[index].field`, as far as it is written.
struct Place<'a> {
    base: Name,
    index: &'a [Expr],
    field: Option<Name>,
}

/// What the names of a formula stand for.
pub(super) struct Names<'a> {
    pub shapes: BTreeMap<Name, &'a Shape>,
    pub structs: &'a [Struct],
}

impl Names<'_> {
    fn place<'e>(&self, e: &'e Expr) -> Option<Place<'e>> {
        match e {
            Expr::Name(name) if self.shapes.contains_key(name) => {
                Some(Place { base: name.clone(), index: &[], field: None })
            }
            // `p.x` has been read as one name.
            Expr::Name(name) => {
                let (base, field) = name.rsplit_once('.')?;
                let base = Name::new(base);
                self.shapes.get(&base).filter(|s| s.of.is_some())?;
                Some(Place { base, index: &[], field: Some(Name::new(field)) })
            }
            Expr::Subscript(Access { array, index }) if self.shapes.contains_key(array) => {
                Some(Place { base: array.clone(), index, field: None })
            }
            Expr::Call { function, args, .. } => {
                let (field, [of]) = (function.strip_prefix('.')?, args.as_slice()) else { return None };
                let place = self.place(of)?;
                place.field.is_none().then(|| Place { field: Some(Name::new(field)), ..place })
            }
            _ => None,
        }
    }

    /// The indices of a formula, which no line declares, in the order in which they occur, with
    /// the lengths of the axes that they run along.
    pub fn indices(&self, e: &Expr) -> Result<Vec<(Name, i64)>, Box<Fault>> {
        let mut found: Vec<(Name, i64)> = Vec::new();
        let mut fault = None;
        e.visit(&mut |e| {
            let Expr::Subscript(Access { array, index }) = e else { return };
            let Some(shape) = self.shapes.get(array) else { return };
            for (sub, length) in index.iter().zip(&shape.lengths) {
                let Expr::Name(name) = sub else { continue };
                match found.iter().find(|(n, _)| n == name) {
                    None => found.push((name.clone(), *length)),
                    Some((_, other)) if other == length => {}
                    Some((_, other)) => {
                        fault.get_or_insert_with(|| {
                            Fault::new(
                                format!("`{name}` runs along axes of {other} and of {length}"),
                                name.as_str(),
                                "use another index for the other axis",
                            )
                        });
                    }
                }
            }
        });
        match fault {
            Some(fault) => Err(fault),
            None => Ok(found),
        }
    }

    /// The shape of an expression, besides its indices.
    pub fn shape(&self, e: &Expr) -> Shape {
        if let Some(place) = self.place(e) {
            let shape = self.shapes[&place.base];
            return Shape {
                lengths: if place.index.is_empty() { shape.lengths.clone() } else { Vec::new() },
                of: shape.of.clone().filter(|_| place.field.is_none()),
            };
        }
        match e {
            Expr::If(_, then, _) => self.shape(then),
            Expr::Call { function, .. } => {
                let of = self.structs.iter().find(|s| s.name == *function).cloned();
                Shape { lengths: Vec::new(), of }
            }
            _ => Shape::default(),
        }
    }

    /// One number of a formula, with these values of its indices.
    pub fn number(&self, e: &Expr, part: &Part, at: &BTreeMap<Name, i64>) -> Result<Expr, Box<Fault>> {
        if let Expr::Name(name) = e
            && let Some(value) = at.get(name)
        {
            return self.plain(e, part).map(|()| Expr::Int(*value));
        }
        if let Some(place) = self.place(e) {
            return self.element(e, &place, part, at);
        }
        match e {
            Expr::If(c, then, otherwise) => {
                let c = self.number(c, &Part::default(), at)?;
                let values = [then, otherwise].map(|v| self.number(v, part, at));
                let [then, otherwise] = values;
                Ok(Expr::If(c.into(), then?.into(), otherwise?.into()))
            }
            Expr::Call { function, args, .. } if self.structs.iter().any(|s| s.name == *function) => {
                self.field_of(function, args, part, at)
            }
            Expr::Call { function, .. } if function.starts_with('.') => Err(Fault::new(
                format!("`{function}` is a field of a struct, and what stands before it is none"),
                &function[1..],
                "a struct is an input, or a value of the state, that is declared as one: `p: part`",
            )),
            _ => {
                self.plain(e, part)?;
                let mut fault = None;
                let made = e.map_children(&mut |child| {
                    self.number(child, &Part::default(), at).unwrap_or_else(|wrong| {
                        fault.get_or_insert(wrong);
                        child.clone()
                    })
                });
                fault.map_or(Ok(made), Err)
            }
        }
    }

    /// Requires that one number is wanted, which is all that most expressions have.
    fn plain(&self, e: &Expr, part: &Part) -> Result<(), Box<Fault>> {
        if *part == Part::default() {
            return Ok(());
        }
        let text = text(e);
        Err(Fault::new(
            format!("`{text}` is one number, and several are needed"),
            text,
            "write the formula of each number, as `o[d] = a.o[d] + b.o[d]` and `v.x = max(a.v.x, b.v.x)`",
        ))
    }

    fn element(
        &self,
        e: &Expr,
        place: &Place<'_>,
        part: &Part,
        at: &BTreeMap<Name, i64>,
    ) -> Result<Expr, Box<Fault>> {
        let shape = self.shapes[&place.base];
        let mut index = Vec::new();
        for (sub, length) in place.index.iter().zip(&shape.lengths) {
            let value = constant(sub, at).ok_or_else(|| {
                Fault::new(
                    format!("the subscript `{}` is not made of indices of the formula", text(sub)),
                    text(sub),
                    "an index is a name between the brackets on the left side, as `d` in `o[d] = v[d]`, or, \
                     of a result, that of all its numbers",
                )
            })?;
            if !(0..*length).contains(&value) {
                let message = format!("`{}` has {length} elements, and none at {value}", place.base);
                return Err(Fault::new(message, text(e), "its elements are numbered from 0"));
            }
            index.push(value);
        }
        if !place.index.is_empty() && place.index.len() != shape.lengths.len() {
            let message = format!(
                "`{}` has {}, and {} here",
                place.base,
                count(shape.lengths.len(), "axis", "axes"),
                count(place.index.len(), "subscript", "subscripts")
            );
            return Err(Fault::new(message, text(e), "write a subscript for each axis"));
        }
        index.extend(&part.index);
        let field = match (&place.field, &shape.of) {
            (None, _) => part.field,
            (Some(field), of) => {
                let known = of.as_ref().and_then(|s| s.field(field));
                let (Some(k), None) = (known, part.field) else {
                    let message =
                        format!("`{}` is {}, and has no field `{field}`", place.base, shape.words());
                    let names = of.iter().flat_map(|s| &s.fields).map(|f| f.name.as_str());
                    let help = crate::suggest::did_you_mean(field, names)
                        .unwrap_or_else(|| "its fields are those of its struct".into());
                    return Err(Fault::new(message, field.as_str(), help));
                };
                Some(k)
            }
        };
        if index.len() != shape.lengths.len() || field.is_some() != shape.of.is_some() {
            let given = text(e);
            let wanted = if *part == Part::default() { "one number is" } else { "others are" };
            return Err(Fault::new(
                format!("`{given}` is {}, and {wanted} needed", self.shape(e).words()),
                given,
                "give each subscript and the field, as in `o[d]` and `v.x`; what is taken as a whole has the \
                 shape of what it is assigned to",
            ));
        }
        Ok(Expr::Name(shape.name_of(&place.base, &Part { index, field })))
    }

    /// A field of `part(x, m)`.
    fn field_of(
        &self,
        name: &Name,
        args: &[Expr],
        part: &Part,
        at: &BTreeMap<Name, i64>,
    ) -> Result<Expr, Box<Fault>> {
        let fields = self.structs.iter().find(|s| s.name == *name).map_or(0, |s| s.fields.len());
        match part.field.and_then(|k| args.get(k)) {
            Some(e) if args.len() == fields => self.number(e, &Part::default(), at),
            _ => Err(Fault::new(
                format!(
                    "`{name}` has {}, and {} here",
                    count(fields, "field", "fields"),
                    count(args.len(), "value", "values")
                ),
                name.as_str(),
                "write a value for each field, in their order, where a whole struct is needed",
            )),
        }
    }
}

/// The value of a subscript of literals and indices.
fn constant(e: &Expr, at: &BTreeMap<Name, i64>) -> Option<i64> {
    match e {
        Expr::Int(value) => Some(*value),
        Expr::Name(name) => at.get(name).copied(),
        Expr::Binary(op, a, b) => {
            let (a, b) = (constant(a, at)?, constant(b, at)?);
            match op {
                BinaryOp::Add => a.checked_add(b),
                BinaryOp::Sub => a.checked_sub(b),
                BinaryOp::Mul => a.checked_mul(b),
                BinaryOp::Mod if b > 0 => a.checked_rem_euclid(b),
                BinaryOp::FloorDiv if b > 0 => a.checked_div_euclid(b),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A formula as a text has it.
fn text(e: &Expr) -> String {
    match e {
        Expr::Call { function, args, .. } if function.starts_with('.') => {
            format!("{}{function}", args.first().map_or_else(String::new, text))
        }
        e => e.to_string(),
    }
}

/// `1 axis`, `2 axes`.
pub(super) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Where a formula goes: `o[d]`, `v.x`, `v`.
pub(super) struct Goal {
    pub index: Vec<Expr>,
    pub field: Option<Name>,
}

/// A number that a formula gives.
pub(super) struct Assigned {
    /// Which number of the value it is.
    pub to: Part,
    /// The part of the formula's value that it takes.
    pub from: Part,
    /// The values of the indices.
    pub at: BTreeMap<Name, i64>,
}

/// The numbers of a value of this shape that a line `goal = e` gives.
pub(super) fn goals(
    base: &str,
    shape: &Shape,
    goal: &Goal,
    taken: &BTreeSet<&str>,
) -> Result<Vec<Assigned>, Box<Fault>> {
    let given = goal.index.len();
    if given != 0 && given != shape.lengths.len() {
        let message = format!(
            "`{base}` has {}, and {} here",
            count(shape.lengths.len(), "axis", "axes"),
            count(given, "subscript", "subscripts")
        );
        return Err(Fault::new(message, base, "write a subscript for each axis, or none"));
    }
    let field = match &goal.field {
        None => None,
        Some(name) => Some(shape.of.as_ref().and_then(|s| s.field(name)).ok_or_else(|| {
            let names = shape.of.iter().flat_map(|s| &s.fields).map(|f| f.name.as_str());
            let help = crate::suggest::did_you_mean(name, names)
                .unwrap_or_else(|| "its fields are those of its struct".into());
            Fault::new(
                format!("`{base}` is {}, and has no field `{name}`", shape.words()),
                name.as_str(),
                help,
            )
        })?),
    };
    let mut indices = BTreeSet::new();
    for (sub, length) in goal.index.iter().zip(&shape.lengths) {
        match sub {
            Expr::Int(k) if (0..*length).contains(k) => {}
            Expr::Name(name) if !taken.contains(name.as_str()) && indices.insert(name.clone()) => {}
            sub => {
                return Err(Fault::new(
                    format!("`{sub}` is no index of `{base}`, which has {length} elements there"),
                    sub.to_string(),
                    "an index is a name of its own, which stands for all elements of the axis, or an integer \
                     from 0",
                ));
            }
        }
    }
    let mut found = Vec::new();
    for part in shape.parts() {
        if field.is_some() && part.field != field {
            continue;
        }
        let mut at = BTreeMap::new();
        let here = goal.index.iter().zip(&part.index).all(|(sub, k)| match sub {
            Expr::Name(name) => {
                at.insert(name.clone(), *k);
                true
            }
            sub => *sub == Expr::Int(*k),
        });
        if !here {
            continue;
        }
        let of = Part {
            index: if given == 0 { part.index.clone() } else { Vec::new() },
            field: if field.is_none() { part.field } else { None },
        };
        found.push(Assigned { to: part, from: of, at });
    }
    Ok(found)
}
