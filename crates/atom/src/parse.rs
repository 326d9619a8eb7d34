//! The text form of atoms: a block of lines each, in any order.

use loopwright_kernel_ir::{DType, Diagnostic};
use loopwright_layout::Layout;

use crate::{Atom, Digit, Operand, Placement, WARP};

fn wrong(line: usize, what: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new("atom-syntax", format!("line {line} of the atoms: {what}"))
}

/// What has been read of an atom.
#[derive(Default)]
struct Draft {
    name: String,
    meaning: bool,
    warp: bool,
    shape: Option<[i64; 3]>,
    operands: [Option<(DType, Layout)>; 3],
    since: Option<u32>,
    ptx: Option<String>,
}

/// Reads atoms. Lines that begin with `#` are comments.
///
/// Errors (`atom-syntax`): lines without a meaning, lines that are missing, and placements that do
/// not hold exactly their tiles, each with its line's number.
pub fn parse_atoms(text: &str) -> Result<Vec<Atom>, Diagnostic> {
    let mut atoms: Vec<Atom> = Vec::new();
    let mut draft: Option<Draft> = None;
    for (number, line) in text.lines().enumerate() {
        let (number, line) = (number + 1, line.trim());
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match (&mut draft, line) {
            (None, _) => {
                let name = line.strip_prefix("atom ").and_then(|rest| rest.strip_suffix('{'));
                let Some(name) = name.map(str::trim).filter(|n| !n.is_empty()) else {
                    return Err(wrong(number, "an atom begins with `atom NAME {`"));
                };
                if atoms.iter().any(|atom| atom.name == name) {
                    return Err(wrong(number, format!("there are two atoms `{name}`")));
                }
                draft = Some(Draft { name: name.into(), ..Draft::default() });
            }
            (Some(_), "}") => {
                if let Some(draft) = draft.take() {
                    atoms.push(finished(draft, number)?);
                }
            }
            (Some(draft), _) => read(draft, line, number)?,
        }
    }
    match draft {
        Some(draft) => Err(wrong(text.lines().count(), format!("`{}` is not closed", draft.name))),
        None => Ok(atoms),
    }
}

fn read(draft: &mut Draft, line: &str, number: usize) -> Result<(), Diagnostic> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "d[m," if line == "d[m, n] += a[m, k] * b[n, k]" => draft.meaning = true,
        "box" => {
            let mut shape = [0; 3];
            for (axis, part) in ["m", "n", "k"].iter().zip(rest.splitn(3, ',')) {
                let length = part.trim().strip_prefix(axis).and_then(|p| p.trim().strip_prefix('<'));
                let length: Option<i64> = length.and_then(|p| p.trim().parse().ok());
                let slot = shape.iter_mut().find(|s| **s == 0);
                let (Some(slot), Some(length @ 1..)) = (slot, length) else {
                    return Err(wrong(number, "a box is `box m < 16, n < 8, k < 16`"));
                };
                *slot = length;
            }
            draft.shape = Some(shape);
        }
        "a:" | "b:" | "d:" => {
            let operand = Operand::ALL.iter().position(|o| o.name() == word.trim_end_matches(':'));
            let (dtype, layout) = rest.split_once(' ').unwrap_or((rest, ""));
            let dtype = DType::from_name(dtype).ok_or_else(|| wrong(number, format!("no type `{dtype}`")))?;
            let layout: Layout = layout.parse().map_err(|e| wrong(number, e))?;
            if let Some(slot) = operand.and_then(|o| draft.operands.get_mut(o)) {
                *slot = Some((dtype, layout));
            }
        }
        "executor" if rest == "warp" => draft.warp = true,
        "since" => {
            let since = rest.strip_prefix("sm_").and_then(|n| n.parse().ok());
            draft.since = Some(since.ok_or_else(|| wrong(number, "an architecture is `sm_80`"))?);
        }
        "ptx" => draft.ptx = Some(rest.into()),
        _ => return Err(wrong(number, format!("`{line}` says nothing about an atom"))),
    }
    Ok(())
}

fn finished(draft: Draft, number: usize) -> Result<Atom, Diagnostic> {
    let missing = |what: &str| wrong(number, format!("`{}` lacks its {what}", draft.name));
    if !draft.meaning {
        return Err(missing("meaning, `d[m, n] += a[m, k] * b[n, k]`"));
    }
    if !draft.warp {
        return Err(missing("executor, `executor warp`"));
    }
    let shape = draft.shape.ok_or_else(|| missing("box"))?;
    let [a, b, d] = draft.operands;
    let (Some(a), Some(b), Some(d)) = (a, b, d) else {
        return Err(wrong(number, format!("`{}` lacks an operand", draft.name)));
    };
    let mut operands = Vec::new();
    for (operand, (dtype, layout)) in Operand::ALL.into_iter().zip([a, b, d]) {
        let placement = placement(operand, shape, dtype, &layout);
        operands.push(placement.ok_or_else(|| {
            let name = operand.name();
            wrong(number, format!("the placement {layout} of `{name}` in `{}` has no digits", draft.name))
        })?);
    }
    let [a, b, d] = <[Placement; 3]>::try_from(operands).map_err(|_| wrong(number, "three operands"))?;
    let (Some(since), Some(ptx)) = (draft.since, draft.ptx) else {
        return Err(wrong(number, format!("`{}` lacks `since` or `ptx`", draft.name)));
    };
    let atom = Atom { name: draft.name, shape, operands: [a, b, d], since, ptx };
    for operand in Operand::ALL {
        if !holds_its_tile(&atom, operand) {
            let name = operand.name();
            let message = format!("the placement of `{name}` in `{}` does not hold its tile", atom.name);
            return Err(wrong(number, message));
        }
    }
    Ok(atom)
}

/// The digits of a placement.
fn placement(operand: Operand, shape: [i64; 3], dtype: DType, layout: &Layout) -> Option<Placement> {
    let [row, column] = operand.axes();
    let rows = shape[row];
    let digits = |mode: &Layout| -> Option<Vec<Digit>> {
        let mut digits = Vec::new();
        for (extent, stride) in mode.leaves() {
            let (extent, stride) = (extent.as_const()?, stride.as_const()?);
            if extent == 1 {
                continue;
            }
            digits.push(match stride {
                s if s > 0 && s % rows == 0 => Digit { extent, axis: column, weight: s / rows },
                s if s > 0 && s.checked_mul(extent)? <= rows => Digit { extent, axis: row, weight: s },
                _ => return None,
            });
        }
        Some(digits)
    };
    let [lane, element] = <[Layout; 2]>::try_from(layout.modes()).ok()?;
    Some(Placement { dtype, lane: digits(&lane)?, element: digits(&element)? })
}

/// Whether the lanes of a warp hold each position of the tile once, and no other.
fn holds_its_tile(atom: &Atom, operand: Operand) -> bool {
    let placement = atom.operand(operand);
    let lanes: i64 = placement.lane.iter().map(|d| d.extent).product();
    let [row, column] = operand.axes();
    let mut found: Vec<(i64, i64)> = (0..WARP)
        .flat_map(|lane| (0..placement.elements()).map(move |element| (lane, element)))
        .map(|(lane, element)| atom.position(operand, lane, element))
        .collect();
    found.sort_unstable();
    let tile = (0..atom.shape[row]).flat_map(|r| (0..atom.shape[column]).map(move |c| (r, c)));
    lanes == WARP && found.into_iter().eq(tile)
}
