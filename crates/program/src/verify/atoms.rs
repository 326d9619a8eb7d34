//! Whether the body of an atom does what its contract says.
//!
//! The contract is the statement `d = d + x * y` in loops over lanes of the thread and over `k`.
//! The body loads fragments and multiplies them by one instruction ([`Stmt::Mma`]). An [`Atom`]
//! says what that does: where each lane holds which element of `a`, `b` and `d`, and that each
//! element of `d` gets the products of its row and its column. So the body is right if for each
//! lane, each element of `d` in it, and each `k`, the element of the left factor that the contract
//! reads is the one that the holder of this row and `k` has loaded, and likewise for the right
//! factor. Lanes, elements and `k` are enumerated; loops around and the other loops of the contract
//! stay names, over which subscripts have to be the same functions.
//!
//! Invariants of what is accepted:
//!
//! * the lanes of a warp are the threads of the block's first axes ([`WarpLanes`]), and all of them
//!   run it (`uniform`);
//! * the loops of the contract go from one constant to another; one of them, that over `k`, begins
//!   at 0, has the atom's extent and occurs in no subscript of `d`; of each of the others, the
//!   number of the iteration is a subscript of `d`;
//! * the body consists of loads into private arrays, each element once, and then of one product in
//!   loops; nothing but names stands between them, so that nothing changes what was loaded. A load
//!   may fill several rows of its array, which follow each other: its loop then advances by as
//!   many.
//!
//! Zero may take the place of an element, in the contract and in the loads by the same conditions:
//! these are compared as subscripts are. What zeros add is asked elsewhere (`values::filling`).
//!
//! An atom may also store matrices of elements that lanes hold; its contract then copies elements
//! of a private array to shared memory (`stores`).
//!
//! A factor may also be a private array of the contract, which an atom of its own loads: its body
//! then loads fragments alone, and those of the product are found where such loads have left them
//! (`held`).

mod held;
mod here;
mod stores;
mod texts;

use std::collections::BTreeMap;

use loopwright_atom::{Atom, Operand};
use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Name, WarpLanes};
use loopwright_poly::{Result, System};

use super::reading::{AtomText, Reading, lane_of, name_of_loop};
use crate::{Memory, Stmt, VarId, verify::Finding};
use held::{Mirror, Mirrors};
use here::Here;
use texts::{Contract, Found, Loads, Loop, Product, Row, Source, Touched, numbering};

/// An element of shared or global memory.
type Cell = (Memory, Vec<Aff>);

/// A fragment, as one iteration of the loop of its loads fills it.
struct Fragment {
    /// The loop of the product that numbers the rows of its array, if one does, and how many rows
    /// an iteration fills. The loop's name stands for the number of the iteration.
    rows: Option<(Name, i64)>,
    /// The number of elements in each row.
    elements: i64,
    /// For each element, those of further rows after those of the first, what is touched, where
    /// in it it is, and the name of that place.
    cells: BTreeMap<i64, (Cell, Source, Name)>,
}

/// The cell of each element that is held of a factor, by the number of its copy, row and column.
type Held = BTreeMap<(i64, (i64, i64)), Cell>;

/// What a product takes as a factor.
enum Taken {
    /// The fragment that is loaded with the product.
    Loaded(Fragment),
    /// A fragment that another atom has loaded, at this row of its array.
    Held(Memory, Vec<Row>),
}

/// What is wrong with an atom.
struct Flaw {
    why: String,
    /// Whether that is an element which is another one than the contract says; otherwise the text
    /// is not of a form that is followed.
    shown: bool,
}

impl<T: Into<String>> From<T> for Flaw {
    fn from(why: T) -> Flaw {
        Flaw { why: why.into(), shown: false }
    }
}

/// The first thing in a kernel's atoms that is not what the contract says, or not known to be.
pub(super) fn wrong_atom(reading: &Reading<'_>) -> Result<Option<Finding>> {
    let (mut inside, mut stored) = (0, 0);
    let mut mirrors = Mirrors::default();
    // Products say which arrays stand for which.
    let (products, loads): (Vec<_>, Vec<_>) =
        reading.atoms.iter().partition(|text| count(text.body) + count(text.contract) > 0);
    let mut wrongs: Vec<Flaw> = Vec::new();
    let (stores, loads): (Vec<_>, Vec<_>) =
        loads.into_iter().partition(|text| Stmt::stores_of_matrices(text.body) > 0);
    for text in &loads {
        mirrors.filled_together(reading, text);
    }
    for text in products {
        inside += count(text.body) + count(text.contract);
        wrongs.extend(wrong(reading, text, &mut mirrors)?);
    }
    for text in loads {
        wrongs.extend(held::wrong_load(reading, text, &mirrors)?);
    }
    for text in &stores {
        stored += Stmt::stores_of_matrices(text.body);
        wrongs.extend(stores::wrong_store(reading, text, &mirrors)?);
    }
    wrongs.extend(mirrors.wrong(reading).map(Flaw::from));
    // What is shown says more than what is not followed.
    let shown = wrongs.iter().position(|flaw| flaw.shown).unwrap_or(0);
    if let Some(Flaw { why, shown }) = wrongs.into_iter().nth(shown) {
        let message = format!("an atom in `{}` may not compute what its contract says", reading.kernel.name);
        let found = Diagnostic::new("wrong-atom", message);
        return Ok(Some(match shown {
            true => Finding::Refuted(Box::new(found.witness(why))),
            false => Finding::Unknown(Box::new(found.help(why))),
        }));
    }
    let without = |message: String| Finding::Refuted(Box::new(Diagnostic::new("wrong-atom", message)));
    if inside != count(&reading.kernel.body) {
        let message = format!("`{}` multiplies fragments without a contract", reading.kernel.name);
        return Ok(Some(without(message)));
    }
    if stored != Stmt::stores_of_matrices(&reading.kernel.body) {
        let message = format!("`{}` stores matrices without a contract", reading.kernel.name);
        return Ok(Some(without(message)));
    }
    Ok(None)
}

/// The number of products in a body.
fn count(body: &[Stmt]) -> usize {
    let mut found = 0;
    Stmt::visit(body, &mut |stmt| found += usize::from(matches!(stmt, Stmt::Mma { .. })));
    found
}

/// The lanes of the block's warps; why there are none, if its first axes do not hold one warp.
fn warp_lanes(reading: &Reading<'_>) -> Found<WarpLanes> {
    let warp = reading.program.target.warp_size;
    let lanes = WarpLanes::new(reading.kernel.block, warp);
    lanes.ok_or_else(|| format!("the first axes of the block are not the {warp} lanes of a warp"))
}

/// What is wrong with a product. Notes which arrays of fragments stand for which private arrays.
fn wrong(reading: &Reading<'_>, text: &AtomText<'_>, mirrors: &mut Mirrors) -> Result<Option<Flaw>> {
    let kernel = reading.kernel;
    let warp = match warp_lanes(reading) {
        Ok(warp) => warp,
        Err(why) => return Ok(Some(why.into())),
    };
    let contract = match texts::contract(reading, text) {
        Ok(contract) => contract,
        Err(why) => return Ok(Some(why.into())),
    };
    let (loads, product) = match texts::body(reading, text) {
        Ok(body) => body,
        Err(why) => return Ok(Some(why.into())),
    };
    let places = match places(&contract, &product) {
        Ok(places) => places,
        Err(why) => return Ok(Some(why.into())),
    };
    let types = [Operand::A, Operand::B, Operand::D].map(|o| product.atom.operand(o).dtype);
    let of_array = |memory: Memory| match memory {
        Memory::Private(p) => kernel.private.get(p).map(|array| array.dtype),
        _ => None,
    };
    let [a, b] = &product.factors;
    let own = [a.0, b.0, contract.to.memory].map(of_array);
    if own != types.map(Some) || contract.types != [types[0], types[1]] {
        return Ok(Some(format!("`{}` takes elements of other types", product.atom.name()).into()));
    }
    if contract.conversions.iter().any(|of| of.as_ref() != product.atom.conversion()) {
        let what = product.atom.conversion().map_or_else(|| "nothing".into(), |f| format!("`{f}`"));
        return Ok(Some(format!("`{}` rounds its factors by {what}", product.atom.name()).into()));
    }
    let mut taken = Vec::new();
    let mut loaded = 0;
    for (operand, (memory, rows)) in [Operand::A, Operand::B].into_iter().zip(&product.factors) {
        if !loads.keys().any(|(filled, _)| filled == memory) {
            taken.push(Taken::Held(*memory, rows.clone()));
            continue;
        }
        match fragment(reading, &loads, (product.atom, &product.loops), operand, (*memory, rows)) {
            Ok(fragment) => {
                loaded += fragment.cells.len();
                taken.push(Taken::Loaded(fragment));
            }
            Err(why) => return Ok(Some(why.into())),
        }
    }
    if loads.len() != loaded {
        return Ok(Some("something is loaded that is no element of a fragment".into()));
    }
    mirrors.written_by_products(loads.keys().map(|(memory, _)| *memory).chain([contract.to.memory]));
    let here = Here::new(reading, text);
    let check =
        Check { reading, warp: &warp, atom: product.atom, loops: &product.loops, places: &places, here };
    // Factors commute.
    let [x, y] = &contract.factors;
    let found = match check.operands(&taken, [x, y], mirrors)? {
        Ok(found) => found,
        Err(first) => match check.operands(&taken, [y, x], mirrors)? {
            Ok(found) => found,
            Err(second) => return Ok(Some(Flaw { shown: first.shown && second.shown, ..first })),
        },
    };
    Ok(mirrors.note(reading, found).map(Flaw::from))
}

/// For each element of `d` that a lane holds, the values of the counters of the contract's loops
/// but that over `k`: a constant, or the number of an iteration of a loop of the product, moved.
struct Places {
    k: VarId,
    of_element: Vec<Vec<(VarId, Aff)>>,
}

fn places(contract: &Contract<'_>, product: &Product<'_>) -> Found<Places> {
    let own = contract.to.subscripts.iter().map(|s| numbering(s, &contract.loops));
    let Some(own) = own.collect::<Option<Vec<Loop>>>() else {
        return Err("the accumulator is not that of the loops around".into());
    };
    let mut others = contract.loops.iter().filter(|one| !own.contains(one));
    let (Some(k), None) = (others.next(), others.next()) else {
        return Err("not one of the loops is that over k".into());
    };
    let distinct = own.iter().enumerate().all(|(n, one)| !own[..n].contains(one));
    let of_atom = k.first == 0 && k.length == product.atom.shape()[2];
    if !of_atom || !distinct || own.len() + 1 != contract.loops.len() {
        return Err(format!("its loops are not those of `{}`", product.atom.name()));
    }
    let other = || "the elements of the accumulator are not those that the contract updates".to_string();
    let mut of_element = Vec::new();
    let mut seen: Vec<Vec<i64>> = Vec::new();
    let mut running: Option<Vec<usize>> = None;
    for element in product.d {
        if element.memory != contract.to.memory || element.subscripts.len() != own.len() {
            return Err(other());
        }
        let (mut values, mut constants, mut loops) = (Vec::new(), Vec::new(), Vec::new());
        for (axis, subscript) in element.subscripts.iter().enumerate() {
            let value = match numbering(subscript, &product.loops) {
                Some(of) => {
                    let number = product.loops.iter().position(|one| *one == of).ok_or_else(other)?;
                    if of.length != own[axis].length || loops.contains(&number) {
                        return Err(other());
                    }
                    loops.push(number);
                    Aff::var(numbered(number))
                }
                None => {
                    let value = subscript.as_int().filter(|v| (0..own[axis].length).contains(v));
                    let value = value.ok_or_else(other)?;
                    constants.push(value);
                    Aff::constant(value)
                }
            };
            let value = value.add_constant(own[axis].first).map_err(|e| e.to_string())?;
            values.push((own[axis].counter, value));
        }
        if *running.get_or_insert_with(|| loops.clone()) != loops || seen.contains(&constants) {
            return Err(other());
        }
        seen.push(constants);
        of_element.push(values);
    }
    // Loops and constants together are all values of the contract's loops, each once.
    let all: i64 = own.iter().map(|one| one.length).product();
    let running = running.unwrap_or_default();
    let in_loops: i64 = running.iter().map(|n| product.loops[*n].length).product();
    let covered = in_loops.saturating_mul(i64::try_from(seen.len()).unwrap_or(i64::MAX));
    let elements = product.atom.operand(Operand::D).elements();
    if covered != all
        || running.len() != product.loops.len()
        || i64::try_from(product.d.len()).ok() != Some(elements)
    {
        return Err(other());
    }
    Ok(Places { k: k.counter, of_element })
}

/// What is touched for the elements of a fragment, over the coordinates, the names around, the
/// numbers of the product's loops and the name of a vector's elements; and where in it they are.
fn fragment(
    reading: &Reading<'_>,
    loads: &Loads,
    (atom, loops): (&Atom, &[Loop]),
    operand: Operand,
    (memory, rows): (Memory, &[Row]),
) -> Found<Fragment> {
    let name = operand.name();
    let other = || format!("the fragment `{name}` is not what is loaded");
    let of_loops = |rows: &[Row]| rows.iter().filter(|row| matches!(row, Row::Loop(_))).count();
    let distinct = |rows: &[Row]| {
        let is_loop = |row: &Row| matches!(row, Row::Loop(_));
        rows.iter().enumerate().all(|(n, row)| !is_loop(row) || !rows[..n].contains(row))
    };
    let elements = atom.operand(operand).elements();
    let step = loads.get(&(memory, 0)).map_or(1, |load| load.step);
    let mut last = None;
    let mut cells = BTreeMap::new();
    for number in 0..elements.saturating_mul(step) {
        let Some(load) = loads.get(&(memory, number)) else {
            return Err(format!("element {number} of the fragment `{name}` is not loaded"));
        };
        // Each row of the fragment is loaded by a loop of the same length, and used in one.
        let mut values: Vec<(Name, Aff)> = Vec::new();
        let lengths = [load.rows.len(), load.loops.len()];
        if lengths != [rows.len(), of_loops(&load.rows)]
            || load.step != step
            || !distinct(&load.rows)
            || !distinct(rows)
        {
            return Err(other());
        }
        last = None;
        for (axis, (own, used)) in load.rows.iter().zip(rows).enumerate() {
            let (own, used) = match (own, used) {
                (Row::Loop(own), Row::Loop(used)) => (own, used),
                (Row::At(own), Row::At(used)) if own == used => continue,
                // A loop of one iteration, which the contract does without.
                (Row::Loop(own), Row::At(used)) if used.as_constant() == Some(0) => {
                    let once = load.loops.iter().find(|one| one.counter == *own && one.length == 1);
                    let once = once.ok_or_else(other)?;
                    values.push((loop_name(reading, *own), Aff::constant(once.first)));
                    continue;
                }
                _ => return Err(other()),
            };
            let around = load.loops.iter().position(|one| one.counter == *own).ok_or_else(other)?;
            let number = loops.iter().position(|one| one.counter == *used).ok_or_else(other)?;
            if load.loops[around].length != loops[number].length {
                return Err(other());
            }
            let of_product = numbered(number);
            let mut value = Aff::var(&of_product);
            // The rows that an iteration fills follow each other in the array.
            if step > 1 && around + 1 == load.loops.len() {
                if axis + 1 != rows.len() || load.loops[around].length % step != 0 {
                    return Err(other());
                }
                value = value.scale(step).map_err(|e| e.to_string())?;
                last = Some((of_product, step));
            }
            let value = value.add_constant(load.loops[around].first).map_err(|e| e.to_string())?;
            values.push((loop_name(reading, *own), value));
        }
        let touch = &reading.touches[load.touch];
        let mut subscripts = Vec::new();
        for s in &texts::cell_and_choices(touch) {
            let Some(s) = s else {
                return Err(format!("a subscript of the fragment `{name}` is not affine"));
            };
            let of = |n: &Name| values.iter().find(|(own, _)| own == n).map(|(_, v)| v.clone());
            subscripts.push(s.substitute(&of).map_err(|e| e.to_string())?);
        }
        cells.insert(number, ((touch.memory, subscripts), load.source, lane_of(load.touch)));
    }
    // Where several rows are filled, nothing lies between them.
    let length = match memory {
        Memory::Private(array) => reading.kernel.private.get(array).and_then(|a| a.dims.last().copied()),
        _ => None,
    };
    if step > 1 && (last.is_none() || length != u64::try_from(elements).ok()) {
        return Err(other());
    }
    Ok(Fragment { rows: last, elements, cells })
}

/// The name of a product's loop.
fn numbered(number: usize) -> Name {
    Name::new(format!("loop {number}"))
}

fn loop_name(reading: &Reading<'_>, var: VarId) -> Name {
    let name = reading.kernel.vars.get(var.0).map_or_else(|| Name::new("?"), |v| v.name.clone());
    name_of_loop(&name, var.0)
}

/// The comparison of what is loaded with what the contract reads.
struct Check<'c, 'p> {
    reading: &'c Reading<'p>,
    warp: &'c WarpLanes,
    atom: &'c Atom,
    /// The loops of the product.
    loops: &'c [Loop],
    places: &'c Places,
    here: Here,
}

/// Whether two cells are plainly different ones.
fn are_apart(a: &[Aff], b: &[Aff]) -> Result<bool> {
    for (a, b) in a.iter().zip(b) {
        if a.sub(b)?.as_constant().is_some_and(|apart| apart != 0) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Check<'_, '_> {
    /// What differs, if these reads of the contract are the left and the right factor; otherwise
    /// which private arrays of the contract the fragments stand for.
    fn operands(
        &self,
        taken: &[Taken],
        factors: [&Touched<'_>; 2],
        known: &Mirrors,
    ) -> Result<std::result::Result<Vec<Mirror>, Flaw>> {
        let mut mirrors = Vec::new();
        for ((operand, taken), factor) in [Operand::A, Operand::B].into_iter().zip(taken).zip(factors) {
            let is_private = matches!(factor.memory, Memory::Private(_));
            match taken {
                Taken::Loaded(_) if is_private => {
                    return Ok(Err("a factor is not read from shared or global memory".into()));
                }
                Taken::Loaded(fragment) => {
                    if let Some(why) = self.operand(operand, fragment, factor)? {
                        return Ok(Err(why));
                    }
                }
                // Both factors may be read at the same numbers: which is which, the loads say.
                Taken::Held(memory, _)
                    if is_private && !known.are_filled_together(factor.memory, *memory) =>
                {
                    let name = operand.name();
                    let why = format!("the fragment `{name}` is not loaded with what the contract reads");
                    return Ok(Err(why.into()));
                }
                Taken::Held(memory, rows) => match self.mirror(operand, (*memory, rows), factor)? {
                    Ok(mirror) => mirrors.push(mirror),
                    Err(why) => return Ok(Err(why.into())),
                },
            }
        }
        Ok(Ok(mirrors))
    }

    /// What differs between what is loaded of a factor and what the contract reads there.
    fn operand(&self, operand: Operand, fragment: &Fragment, factor: &Touched<'_>) -> Result<Option<Flaw>> {
        let atom = self.atom;
        let Some(subscripts) = factor.cell.iter().cloned().collect::<Option<Vec<Aff>>>() else {
            return Ok(Some("a subscript of the contract is not affine".into()));
        };
        let together = fragment.rows.as_ref().map_or(1, |(_, step)| *step);
        for row in 0..together {
            let held = self.held(operand, fragment, row)?;
            // The number of the row, from that of the iteration that has filled it.
            let of_row = match &fragment.rows {
                Some((name, step)) => Some((name, Aff::var(name).scale(*step)?.add_constant(row)?)),
                None => None,
            };
            for lane in 0..atom.lanes() {
                for (number, element) in (0..).zip(&self.places.of_element) {
                    let (m, n) = atom.position(Operand::D, lane, number);
                    for k in 0..atom.shape()[2] {
                        let mut wanted = self.read(&subscripts, lane, element, k)?;
                        if let Some((name, of_row)) = &of_row {
                            for s in &mut wanted {
                                *s = s.substitute_one(name, of_row)?;
                            }
                        }
                        let at = if operand == Operand::A { (m, k) } else { (n, k) };
                        let found = held.get(&(atom.operand(operand).copy(lane), at));
                        let is_right = match found {
                            Some((memory, cell)) => {
                                *memory == factor.memory && self.here.same(cell, &wanted)?
                            }
                            None => false,
                        };
                        if !is_right {
                            let at = (lane, number, k);
                            let why = self.differs(operand, at, &wanted, found, factor);
                            // Other conditions may choose the same.
                            let element = |cell: &[Aff]| -> Vec<Aff> {
                                cell.iter().take(factor.subscripts.len()).cloned().collect()
                            };
                            let shown = match found {
                                Some((memory, cell)) => {
                                    *memory != factor.memory
                                        || self.are_apart(&element(cell), &element(&wanted))?
                                }
                                None => true,
                            };
                            return Ok(Some(Flaw { why, shown }));
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    /// Whether two cells are different ones in some execution.
    fn are_apart(&self, a: &[Aff], b: &[Aff]) -> Result<bool> {
        if are_apart(a, b)? {
            return Ok(true);
        }
        let mut rows = self.here.rows.clone();
        for (number, one) in self.loops.iter().enumerate() {
            let of_loop = Aff::var(numbered(number));
            rows.push(Constraint::lt(&of_loop, &Aff::constant(one.length))?);
            rows.push(Constraint::nonneg(of_loop));
        }
        for (a, b) in a.iter().zip(b) {
            for apart in Constraint::equal(a, b)?.negations()? {
                if self.here.exact && !System::new(&[&rows[..], &[apart]].concat())?.is_empty()? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// What the holder of each position of each copy has loaded, of this one of the rows of a
    /// fragment that are filled together. A position has one holder in its copy: texts of atoms
    /// with others are refused.
    fn held(&self, operand: Operand, fragment: &Fragment, row: i64) -> Result<Held> {
        let atom = self.atom;
        let mut held = Held::new();
        let first = row * fragment.elements;
        for lane in 0..atom.lanes() {
            for (number, ((memory, subscripts), source, place)) in
                fragment.cells.range(first..first + fragment.elements)
            {
                let (at, behind) = source.of_lane(lane);
                let of = |n: &Name| match n {
                    n if n == place => Some(Aff::constant(behind)),
                    n => self.warp.coordinate(n, at).map(Aff::constant),
                };
                let cell: Vec<Aff> = subscripts.iter().map(|s| s.substitute(&of)).collect::<Result<_>>()?;
                let at = atom.position(operand, lane, number - first);
                held.insert((atom.operand(operand).copy(lane), at), (*memory, cell));
            }
        }
        Ok(held)
    }

    /// The element that the contract reads for an element of `d` of a lane, and a value of `k`.
    fn read(&self, subscripts: &[Aff], lane: i64, element: &[(VarId, Aff)], k: i64) -> Result<Vec<Aff>> {
        let mut values = vec![(loop_name(self.reading, self.places.k), Aff::constant(k))];
        values.extend(element.iter().map(|(var, value)| (loop_name(self.reading, *var), value.clone())));
        let of = |n: &Name| {
            let own = values.iter().find(|(own, _)| own == n).map(|(_, v)| v.clone());
            own.or_else(|| self.warp.coordinate(n, lane).map(Aff::constant))
        };
        subscripts.iter().map(|s| s.substitute(&of)).collect()
    }

    fn differs(
        &self,
        operand: Operand,
        (lane, number, k): (i64, i64, i64),
        wanted: &[Aff],
        found: Option<&Cell>,
        factor: &Touched<'_>,
    ) -> String {
        let text = |memory: Memory, cell: &[Aff]| {
            let list = |of: &[Aff], with: &str, between: &str| {
                of.iter().map(|aff| format!("{aff}{with}")).collect::<Vec<_>>().join(between)
            };
            let (subscripts, choices) = cell.split_at(cell.len().min(factor.subscripts.len()));
            let element = format!("{}[{}]", self.reading.array_name(memory), list(subscripts, "", ", "));
            match choices {
                [] => element,
                _ => format!("{element} if {}", list(choices, " >= 0", " and ")),
            }
        };
        let wanted = text(factor.memory, wanted);
        let found = found.map_or_else(|| "nothing".into(), |(memory, cell)| text(*memory, cell));
        format!(
            "element {number} of the accumulator of lane {lane} gets, for k = {k}, {found} as `{}`, where \
             the contract reads {wanted}",
            operand.name()
        )
    }
}
