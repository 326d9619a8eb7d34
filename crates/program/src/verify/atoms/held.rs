//! Fragments that an atom loads and another one multiplies.
//!
//! In the contracts, a copy writes elements of a private array, and products read them as a factor.
//! What runs loads fragments into another array, and multiplies these. So one array *stands for*
//! the other: where a thread has, in the contract, the elements of some rows that its results need,
//! the threads of its warp together have them, in its fragments, where the atom's placements say.
//!
//! Axes of the private array are those that number fragments, which the array of fragments has too,
//! those of digits of the number of an element of `d`, and that of `k`. The statement that holds
//! throughout: for each lane `L`, each element of `d` of this lane, which is at `(m, n)`, and each
//! `k`, the private array of `L` has at the digits of this element and `k` what every holder of
//! `(m, k)` has in its fragment of the same number (of `(n, k)`, if the factor is the right one).
//! It holds if
//!
//! * each product reads both arrays at the same numbers, the private one at the digits and `k`
//!   (`Check::mirror`), and all products agree on the axes, the atom and the factor;
//! * each load fills both at the same numbers, all elements of these, from the same cells
//!   (`wrong_load`, by what products are checked with);
//! * nothing else accesses one of them (`Mirrors::wrong`).

use std::collections::{BTreeMap, BTreeSet};

use loopwright_atom::Operand;
use loopwright_kernel_ir::{Aff, Name};
use loopwright_poly::Result;

use super::{Check, Flaw, Here, Places, fragment, loop_name, numbered, texts, warp_lanes};
use crate::{
    Memory, Stmt, Value, ValueKind,
    verify::reading::{AtomText, Reading},
};
use texts::{Found, Loop, Row, Touched};

/// What an axis of the private array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axis {
    /// It numbers rows of fragments.
    Row,
    /// A digit of the number of an element of `d`.
    Digit,
    /// The `k` of the product.
    K,
}

/// Which fragments stand for a private array of the contracts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mirror {
    array: Memory,
    fragments: Memory,
    atom: Name,
    operand: Operand,
    axes: Vec<Axis>,
    /// For each element of `d`, the digits by which the private array is read.
    digits: Vec<Vec<i64>>,
}

/// The mirrors of a kernel's private arrays, and how these are filled.
#[derive(Default)]
pub(super) struct Mirrors {
    of_array: BTreeMap<Memory, Mirror>,
    /// Arrays that products write, or that are filled with them.
    filled: BTreeSet<Memory>,
    /// Private arrays, each with one that the same load fills.
    together: BTreeSet<(Memory, Memory)>,
}

impl Mirrors {
    pub fn written_by_products(&mut self, arrays: impl Iterator<Item = Memory>) {
        self.filled.extend(arrays);
    }

    /// Adds what a load fills. It is checked later, by [`wrong_load`].
    pub fn filled_together(&mut self, reading: &Reading<'_>, text: &AtomText<'_>) {
        if let (Ok(copy), Ok(loads)) = (texts::copy(reading, text), texts::loads_alone(reading, text)) {
            self.together.extend(loads.keys().map(|(fragments, _)| (copy.to.memory, *fragments)));
        }
    }

    /// Whether a load fills both.
    pub fn are_filled_together(&self, array: Memory, fragments: Memory) -> bool {
        self.together.contains(&(array, fragments))
    }

    /// Adds what a product has shown; what contradicts it, if something does.
    pub fn note(&mut self, reading: &Reading<'_>, found: Vec<Mirror>) -> Option<String> {
        for mirror in found {
            let name = reading.array_name(mirror.array);
            match self.of_array.get(&mirror.array) {
                Some(other) if *other != mirror => {
                    return Some(format!("two products take different fragments for `{name}`"));
                }
                Some(_) => continue,
                None => {}
            }
            if self.of_array.values().any(|other| other.fragments == mirror.fragments) {
                let fragments = reading.array_name(mirror.fragments);
                return Some(format!("`{fragments}` stands for `{name}` and for another array"));
            }
            self.of_array.insert(mirror.array, mirror);
        }
        None
    }

    /// Whether an array stands for another one, or another one for it.
    pub fn has(&self, array: Memory) -> bool {
        self.of_array.values().any(|mirror| [mirror.array, mirror.fragments].contains(&array))
    }

    /// What accesses one of the arrays beside the loads and the products.
    pub fn wrong(&self, reading: &Reading<'_>) -> Option<String> {
        let both = || self.of_array.values().flat_map(|mirror| [mirror.array, mirror.fragments]);
        if let Some(array) = both().find(|array| self.filled.contains(array)) {
            let name = reading.array_name(array);
            return Some(format!("`{name}` is written by an atom that does not load it alone"));
        }
        let twice = self.of_array.values().find(|mirror| self.of_array.contains_key(&mirror.fragments));
        if let Some(mirror) = twice {
            let name = reading.array_name(mirror.fragments);
            return Some(format!("`{name}` stands for an array, and another one for it"));
        }
        let mut found = None;
        outside(&reading.kernel.body, &mut |memory| {
            if found.is_none() && both().any(|array| array == memory) {
                found = Some(memory);
            }
        });
        found.map(|array| {
            let name = reading.array_name(array);
            format!("`{name}` is accessed by statements that are not those of an atom")
        })
    }
}

/// Calls `f` on the memory of each access outside of atoms.
fn outside(body: &[Stmt], f: &mut dyn FnMut(Memory)) {
    for stmt in body.iter().filter(|stmt| !matches!(stmt, Stmt::Atom { .. })) {
        stmt.written().into_iter().for_each(|accessed| f(accessed.element.memory));
        stmt.each_read(&mut |accessed| f(accessed.element.memory));
        stmt.bodies().for_each(|body| outside(body, f));
    }
}

impl Check<'_, '_> {
    /// Which fragments stand for the private array that a contract reads, if the product takes
    /// these rows of them.
    pub fn mirror(
        &self,
        operand: Operand,
        (fragments, rows): (Memory, &[Row]),
        factor: &Touched<'_>,
    ) -> Result<Found<Mirror>> {
        let name = operand.name();
        if !matches!(factor.memory, Memory::Private(_)) {
            return Ok(Err(format!("the fragment `{name}` is not loaded")));
        }
        let Some(cell) = factor.cell.iter().cloned().collect::<Option<Vec<Aff>>>() else {
            return Ok(Err("a subscript of the contract is not affine".into()));
        };
        let constants = |value: &Value| {
            let ValueKind::Var(var) = value.kind else { return None };
            if var == self.places.k {
                return Some(Axis::K);
            }
            let of_element = |element: &Vec<_>| {
                let mut own = element.iter().filter(|(own, _)| *own == var);
                own.next().is_some_and(|(_, value): &(_, Aff)| value.as_constant().is_some())
            };
            (!self.places.of_element.is_empty() && self.places.of_element.iter().all(of_element))
                .then_some(Axis::Digit)
        };
        let axes: Vec<Axis> =
            factor.subscripts.iter().map(|value| constants(value).unwrap_or(Axis::Row)).collect();
        if axes.iter().filter(|axis| **axis == Axis::K).count() != 1 {
            return Ok(Err(format!("the contract reads `{name}` at no `k`")));
        }
        let k = loop_name(self.reading, self.places.k);
        let mut wanted = Vec::new();
        for row in rows {
            wanted.push(match row {
                Row::At(aff) => aff.clone(),
                Row::Loop(var) => match self.loops.iter().position(|one| one.counter == *var) {
                    Some(number) => Aff::var(numbered(number)),
                    None => return Ok(Err(format!("the rows of the fragment `{name}` are not its loops'"))),
                },
            });
        }
        let mut digits = Vec::new();
        for element in &self.places.of_element {
            let mut numbers = Vec::new();
            let mut own = Vec::new();
            for (axis, subscript) in axes.iter().zip(&cell) {
                let value = match self.read(std::slice::from_ref(subscript), 0, element, 0)? {
                    values if values.len() == 1 => values[0].clone(),
                    _ => continue,
                };
                match axis {
                    Axis::Row if subscript.mentions(&k) || !is_of_warp(self.reading, subscript) => {
                        let why = format!("which fragment `{name}` is depends on `k` or on the lane");
                        return Ok(Err(why));
                    }
                    Axis::Row => numbers.push(value),
                    Axis::Digit => own.extend(value.as_constant()),
                    Axis::K => {}
                }
            }
            if numbers != wanted {
                return Ok(Err(format!("the fragment `{name}` is not the one that the contract reads")));
            }
            digits.push(own);
        }
        let atom = self.atom.name().clone();
        Ok(Ok(Mirror { array: factor.memory, fragments, atom, operand, axes, digits }))
    }
}

/// Whether a function has the same value for all lanes of a warp: values of data may differ.
pub(super) fn is_of_warp(reading: &Reading<'_>, aff: &Aff) -> bool {
    let Ok(warp) = warp_lanes(reading) else { return false };
    aff.names().iter().all(|n| warp.coordinate(n, 0).is_none() && reading.load_of(n).is_none())
}

/// What is wrong with loads of fragments.
pub(super) fn wrong_load(
    reading: &Reading<'_>,
    text: &AtomText<'_>,
    mirrors: &Mirrors,
) -> Result<Option<Flaw>> {
    let warp = match warp_lanes(reading) {
        Ok(warp) => warp,
        Err(why) => return Ok(Some(why.into())),
    };
    let copy = match texts::copy(reading, text) {
        Ok(copy) => copy,
        Err(why) => return Ok(Some(why.into())),
    };
    let Some(mirror) = mirrors.of_array.get(&copy.to.memory) else {
        return Ok(Some("fragments are loaded that no product takes".into()));
    };
    let loads = match texts::loads_alone(reading, text) {
        Ok(loads) => loads,
        Err(why) => return Ok(Some(why.into())),
    };
    let Some(atom) = reading.program.atom(&mirror.atom) else {
        return Ok(Some(format!("there is no atom `{}`", mirror.atom).into()));
    };
    let dtype = atom.operand(mirror.operand).dtype;
    let of_array = |memory: Memory| match memory {
        Memory::Private(p) => reading.kernel.private.get(p).map(|array| array.dtype),
        Memory::Shared(s) => reading.kernel.shared.get(s).map(|array| array.dtype),
        Memory::Global(g) => reading.program.globals.get(g).map(|array| array.dtype),
    };
    if [mirror.array, mirror.fragments, copy.from.memory].iter().any(|m| of_array(*m) != Some(dtype)) {
        return Ok(Some(format!("`{}` takes elements of other types", atom.name()).into()));
    }
    let (rows, loops, places) = match numbers(reading, &copy, mirror, atom.shape()[2]) {
        Ok(found) => found,
        Err(why) => return Ok(Some(why.into())),
    };
    let operand = mirror.operand;
    let loaded = match fragment(reading, &loads, (atom, &loops), operand, (mirror.fragments, &rows)) {
        Ok(fragment) => fragment,
        Err(why) => return Ok(Some(why.into())),
    };
    if loads.len() != loaded.cells.len() {
        return Ok(Some("something is loaded that is no element of a fragment".into()));
    }
    let here = Here::new(reading, text);
    let check = Check { reading, warp: &warp, atom, loops: &loops, places: &places, here };
    check.operand(operand, &loaded, &copy.from)
}

/// The rows that a copy writes, their loops, and for each element of `d` the values of its loops.
fn numbers(
    reading: &Reading<'_>,
    copy: &texts::Copy<'_>,
    mirror: &Mirror,
    extent: i64,
) -> Found<(Vec<Row>, Vec<Loop>, Places)> {
    let other = || "it does not copy what its fragments stand for".to_string();
    if mirror.axes.len() != copy.to.subscripts.len() {
        return Err(other());
    }
    let (mut rows, mut loops, mut k) = (Vec::new(), Vec::new(), None);
    let mut of_element = vec![Vec::new(); mirror.digits.len()];
    let mut used = Vec::new();
    let mut digit = 0;
    for (axis, (value, aff)) in mirror.axes.iter().zip(copy.to.subscripts.iter().zip(&copy.to.cell)) {
        let own = texts::numbering(value, &copy.loops);
        if let Some(Loop { counter, .. }) = own {
            if used.contains(&counter) {
                return Err(other());
            }
            used.push(counter);
        }
        let moved = |by: Aff, own: Loop| by.add_constant(own.first).map_err(|e| e.to_string());
        match (axis, own) {
            (Axis::Row, Some(own)) => {
                let value = moved(Aff::var(numbered(loops.len())), own)?;
                of_element.iter_mut().for_each(|values| values.push((own.counter, value.clone())));
                loops.push(own);
                rows.push(Row::Loop(own.counter));
            }
            (Axis::Row, None) => {
                let at = aff.clone().filter(|at| is_of_warp(reading, at)).ok_or_else(other)?;
                rows.push(Row::At(at));
            }
            (Axis::Digit, Some(own)) => {
                for (values, digits) in of_element.iter_mut().zip(&mirror.digits) {
                    let value = digits.get(digit).copied().filter(|v| (0..own.length).contains(v));
                    values.push((own.counter, moved(Aff::constant(value.ok_or_else(other)?), own)?));
                }
                digit += 1;
            }
            (Axis::K, Some(Loop { counter, first: 0, length })) if length == extent => k = Some(counter),
            (Axis::Digit | Axis::K, _) => return Err(other()),
        }
    }
    // Each loop is that of an axis.
    match k {
        Some(k) if used.len() == copy.loops.len() => Ok((rows, loops, Places { k, of_element })),
        _ => Err(other()),
    }
}
