//! The text form of atoms: a block of lines each, in any order.

use std::ops::Range;

use loopwright_layout::Layout;
use loopwright_target::Target;

use super::{Atom, Digit, Operand, Placement};
use crate::{DType, Diagnostic, Name, text::is_identifier};

/// What is wrong in the text of an atom, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongAtom {
    /// The bytes of the text that it is about.
    pub span: Range<usize>,
    /// What is wrong, as the end of a message.
    pub what: String,
}

/// A line of an atom, once it has been read.
struct Line<T> {
    value: T,
    span: Range<usize>,
}

/// What has been read of an atom.
#[derive(Default)]
struct Draft {
    meaning: Option<Line<Option<Name>>>,
    executor: Option<Line<()>>,
    shape: Option<Line<[i64; 3]>>,
    operands: [Option<Line<(DType, Layout)>>; 3],
    since: Option<Line<u32>>,
    ptx: Option<Line<String>>,
}

/// The lines of a text that say something, without comments.
fn lines(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let begin = at + line.len() - line.trim_start().len();
        at += line.len();
        let line = line.split('#').next().unwrap_or_default().trim();
        (!line.is_empty()).then_some((begin..begin + line.len(), line))
    })
}

/// Reads atoms. What follows a `#` is a comment.
///
/// Errors (`atom-syntax`): lines without a meaning, lines that are missing or given twice, types
/// that no product has, and placements that do not hold exactly their tiles, each with its line's
/// number.
pub fn parse_atoms(text: &str) -> Result<Vec<Atom>, Diagnostic> {
    let numbered = |wrong: WrongAtom| {
        let number = text[..wrong.span.start.min(text.len())].matches('\n').count() + 1;
        Diagnostic::new("atom-syntax", format!("line {number} of the atoms: {}", wrong.what))
    };
    let mut atoms: Vec<Atom> = Vec::new();
    let mut lines = lines(text);
    while let Some((span, line)) = lines.next() {
        let wrong = |what: String| Err(numbered(WrongAtom { span: span.clone(), what }));
        let name = line.strip_prefix("atom ").and_then(|rest| rest.strip_suffix('{')).map(str::trim);
        let Some(name) = name.filter(|name| is_identifier(name)) else {
            return wrong("an atom begins with `atom NAME {`".into());
        };
        if atoms.iter().any(|atom| **atom.name() == *name) {
            return wrong(format!("there are two atoms `{name}`"));
        }
        let from = span.end;
        let Some((end, _)) = lines.by_ref().find(|(_, line)| *line == "}") else {
            return wrong(format!("`{name}` is not closed"));
        };
        let body = Atom::read(Name::new(name), &text[from..end.start]);
        atoms.push(body.map_err(|wrong| {
            numbered(WrongAtom { span: wrong.span.start + from..wrong.span.end + from, what: wrong.what })
        })?);
    }
    Ok(atoms)
}

/// The meanings that there are: a product, of what both factors are or of what they are rounded to.
const MEANINGS: [(&str, Option<&str>); 3] = [
    ("d[m, n] += a[m, k] * b[n, k]", None),
    ("d[m, n] += to_tf32(a[m, k]) * to_tf32(b[n, k])", Some("to_tf32")),
    ("d[m, n] += truncate_to_tf32(a[m, k]) * truncate_to_tf32(b[n, k])", Some("truncate_to_tf32")),
];

fn put<T>(slot: &mut Option<Line<T>>, value: T, span: &Range<usize>, line: &str) -> Result<(), WrongAtom> {
    let word = line.split(' ').next().unwrap_or(line);
    match slot.replace(Line { value, span: span.clone() }) {
        None => Ok(()),
        Some(_) => Err(WrongAtom { span: span.clone(), what: format!("a second line `{word}`") }),
    }
}

fn read(draft: &mut Draft, line: &str, span: &Range<usize>) -> Result<(), WrongAtom> {
    let wrong = |what: String| WrongAtom { span: span.clone(), what };
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    match word {
        "d[m," => {
            let words = |text: &str| text.split_whitespace().collect::<String>();
            let known = MEANINGS.iter().find(|(text, _)| words(text) == words(line));
            let Some((_, conversion)) = known else {
                let texts = MEANINGS.map(|(text, _)| format!("`{text}`")).join(" or ");
                return Err(wrong(format!("`{line}` is no meaning of an atom: that is {texts}")));
            };
            put(&mut draft.meaning, conversion.map(Name::new), span, "meaning")
        }
        "box" => {
            let mut shape = Vec::new();
            for (axis, part) in ["m", "n", "k"].iter().zip(rest.split(',')) {
                let length = part.trim().strip_prefix(axis).and_then(|p| p.trim().strip_prefix('<'));
                shape.extend(
                    length.and_then(|p| p.trim().parse::<i64>().ok()).filter(|l| (1..=256).contains(l)),
                );
            }
            let shape = <[i64; 3]>::try_from(shape).ok().filter(|_| rest.split(',').count() == 3);
            let what = || wrong("a box is `box m < 16, n < 8, k < 16`, each of at most 256".into());
            put(&mut draft.shape, shape.ok_or_else(what)?, span, line)
        }
        "a:" | "b:" | "d:" => {
            let (dtype, layout) = rest.split_once(' ').unwrap_or((rest, ""));
            let dtype = DType::from_name(dtype).ok_or_else(|| wrong(format!("no type `{dtype}`")))?;
            let layout: Layout = layout.trim().parse().map_err(|e| wrong(format!("{e}")))?;
            let operand = Operand::ALL.iter().position(|o| o.name() == word.trim_end_matches(':'));
            match operand.and_then(|o| draft.operands.get_mut(o)) {
                Some(slot) => put(slot, (dtype, layout), span, line),
                None => Ok(()),
            }
        }
        "executor" if rest == "warp" => put(&mut draft.executor, (), span, line),
        "since" => {
            let since = rest.strip_prefix("sm_").and_then(|n| n.parse().ok());
            put(
                &mut draft.since,
                since.ok_or_else(|| wrong("an architecture is `sm_80`".into()))?,
                span,
                line,
            )
        }
        "ptx" => {
            let plain = |c: char| c.is_ascii_alphanumeric() || "._:".contains(c);
            if rest.is_empty() || !rest.chars().all(plain) {
                let what =
                    format!("`{rest}` is not the name of an instruction, such as `mma.sync.aligned...`");
                return Err(wrong(what));
            }
            put(&mut draft.ptx, rest.into(), span, line)
        }
        _ => Err(wrong(format!("`{line}` says nothing about an atom"))),
    }
}

impl Atom {
    /// The atom of this name from the lines between its braces.
    pub fn read(name: Name, body: &str) -> Result<Atom, WrongAtom> {
        let mut draft = Draft::default();
        for (span, line) in lines(body) {
            read(&mut draft, line, &span)?;
        }
        let Draft { meaning, executor, shape, operands, since, ptx } = draft;
        // What is missing is said of the end.
        let end = body.trim_end().len();
        let missing = |what: &str| WrongAtom { span: end..end, what: format!("`{name}` lacks its {what}") };
        let meaning = meaning.ok_or_else(|| missing("meaning, `d[m, n] += a[m, k] * b[n, k]`"))?;
        executor.ok_or_else(|| missing("executor, `executor warp`"))?;
        let shape = shape.ok_or_else(|| missing("box, `box m < 16, n < 8, k < 16`"))?.value;
        let mut placements = Vec::new();
        for (operand, given) in Operand::ALL.into_iter().zip(operands) {
            let what = format!("operand `{0}`, as `{0}: f16 (4,8):(1,4)`", operand.name());
            let Line { value: (dtype, layout), span } = given.ok_or_else(|| missing(&what))?;
            let wrong = |why: &str| {
                let what = format!("the placement {layout} of `{}` in `{name}` {why}", operand.name());
                WrongAtom { span: span.clone(), what }
            };
            let placement = placement(operand, shape, dtype, &layout);
            placements.push((placement.ok_or_else(|| wrong("has no digits"))?, span.clone()));
        }
        let [(a, a_span), (b, b_span), (d, d_span)] =
            <[(Placement, Range<usize>); 3]>::try_from(placements).map_err(|_| missing("three operands"))?;
        let spans = [a_span.clone(), b_span, d_span.clone()];
        let conversion = meaning.value;
        if !adds(conversion.as_deref(), a.dtype, b.dtype, d.dtype) {
            let what = format!(
                "`{name}` cannot add products of {} and {} in {}{}: there are f16 in f32 and f16, bf16 in \
                 f32, i8 and u8 in i32, f64 in f64, and `to_tf32` or `truncate_to_tf32` of f32 in f32",
                a.dtype,
                b.dtype,
                d.dtype,
                conversion.as_ref().map_or_else(String::new, |f| format!(" by `{f}`"))
            );
            return Err(WrongAtom { span: d_span, what });
        }
        let since = since.ok_or_else(|| missing("architecture, `since sm_80`"))?.value;
        let ptx = ptx.ok_or_else(|| missing("instruction, `ptx mma.sync.aligned...`"))?.value;
        let atom = Atom { name: name.clone(), conversion, shape, operands: [a, b, d], since, ptx };
        for (operand, span) in Operand::ALL.into_iter().zip(spans) {
            let of = atom.operand(operand);
            let why = match holds_its_tile(&atom, operand) {
                Err(why) => why,
                Ok(()) if of.elements() * of.dtype.bytes() as i64 % 4 != 0 => {
                    "gives a lane less than whole registers of four bytes".into()
                }
                Ok(()) => continue,
            };
            let what = format!("the placement {} of `{}` in `{name}` {why}", of.layout, operand.name());
            return Err(WrongAtom { span, what });
        }
        Ok(atom)
    }
}

/// Whether there are products of these types that are added in this one.
fn adds(conversion: Option<&str>, a: DType, b: DType, d: DType) -> bool {
    let byte = |t| matches!(t, DType::I8 | DType::U8);
    let float8 = |t: DType| t.is_float8();
    match (conversion, a, b, d) {
        (None, DType::F16, DType::F16, DType::F32 | DType::F16)
        | (None, DType::BF16, DType::BF16, DType::F32)
        | (None, DType::F64, DType::F64, DType::F64)
        | (Some("to_tf32" | "truncate_to_tf32"), DType::F32, DType::F32, DType::F32) => true,
        (None, a, b, DType::I32) => byte(a) && byte(b),
        (None, a, b, DType::F32) => float8(a) && float8(b),
        _ => false,
    }
}

/// The digits of a placement. A lane's number may have digits of weight 0, of factors alone.
fn placement(operand: Operand, shape: [i64; 3], dtype: DType, layout: &Layout) -> Option<Placement> {
    let [row, column] = operand.axes();
    let rows = shape[row];
    let digits = |mode: &Layout, has_copies: bool| -> Option<Vec<Digit>> {
        let mut digits = Vec::new();
        for (extent, stride) in mode.leaves() {
            let (extent, stride) = (extent.as_const()?, stride.as_const()?);
            if extent == 1 {
                continue;
            }
            digits.push(match stride {
                0 if has_copies => Digit { extent, axis: row, weight: 0 },
                s if s > 0 && s % rows == 0 => Digit { extent, axis: column, weight: s / rows },
                s if s > 0 && s.checked_mul(extent)? <= rows => Digit { extent, axis: row, weight: s },
                _ => return None,
            });
        }
        Some(digits)
    };
    let [lane, element] = <[Layout; 2]>::try_from(layout.modes()).ok()?;
    let lane = digits(&lane, operand != Operand::D)?;
    Some(Placement { dtype, lane, element: digits(&element, false)?, layout: layout.clone() })
}

/// Whether the lanes of a warp hold each position of each copy of the tile once, and no other; or
/// why not.
fn holds_its_tile(atom: &Atom, operand: Operand) -> Result<(), String> {
    let placement = atom.operand(operand);
    let lanes = placement.lane.iter().try_fold(1i64, |all, d| all.checked_mul(d.extent));
    let [rows, columns] = operand.axes().map(|axis| atom.shape[axis]);
    // Lowering compares the lanes of the program's target with these.
    let warp = i64::from(Target::default().warp_size);
    if lanes != Some(warp) {
        let lanes = lanes.map_or_else(|| "too many".into(), |lanes| lanes.to_string());
        return Err(format!("is over {lanes} lanes, and a warp has {warp}"));
    }
    let each = placement.element.iter().try_fold(1i64, |all, d| all.checked_mul(d.extent));
    let Some(each) = each.filter(|each| *each <= rows * columns) else {
        return Err(format!("holds more than the {rows} x {columns} elements of its tile"));
    };
    let size = rows * columns;
    let mut holders = vec![0u32; usize::try_from(size * placement.copies()).unwrap_or_default()];
    for (lane, element) in (0..warp).flat_map(|lane| (0..each).map(move |element| (lane, element))) {
        let at = atom.position(operand, lane, element);
        let inside = (0..rows).contains(&at.0) && (0..columns).contains(&at.1);
        let slot = placement.copy(lane) * size + at.0 * columns + at.1;
        let slot = usize::try_from(slot).ok().and_then(|at| holders.get_mut(at));
        let Some(slot) = slot.filter(|_| inside) else {
            return Err(format!(
                "does not hold its tile: lane {lane} has ({}, {}) as element {element}, outside of {rows} x \
                 {columns}",
                at.0, at.1
            ));
        };
        *slot += 1;
    }
    match holders.iter().position(|count| *count != 1) {
        None => Ok(()),
        Some(at) => {
            let (at, count) = (at as i64 % size, holders[at]);
            Err(format!(
                "does not hold its tile: ({}, {}) has {count} holders, not one",
                at / columns,
                at % columns
            ))
        }
    }
}
