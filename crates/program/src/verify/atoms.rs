//! Whether the body of an atom does what its contract says.
//!
//! The contract is the statement `d = d + x * y` in loops over lanes of the thread and over `k`.
//! The body loads fragments and multiplies them by one instruction ([`Stmt::Mma`]), of which is
//! known what an [`Atom`] says: where each lane holds which element of `a`, `b` and `d`, and that
//! each element of `d` gets the products of its row and its column. So the body is right if for
//! each lane, each element of `d` in it, and each `k`, the element of the left factor that the
//! contract reads is the one that every holder of this row and `k` has loaded, and likewise for the
//! right factor. Lanes, elements and `k` are enumerated; loops around and the other loops of the
//! contract stay names, over which subscripts have to be the same functions.
//!
//! Invariants of what is accepted:
//!
//! * the lanes of a warp are the threads of the block's x axis, and all of them run it (`uniform`);
//! * the loops of the contract go from 0 to a constant; one of them, that over `k`, has the atom's
//!   extent and occurs in no subscript of `d`, each of the others is a subscript of `d`;
//! * the body consists of loads into private arrays, each element once, and then of one product in
//!   loops; nothing but names stands between them, so that nothing changes what was loaded. A load
//!   may fill several rows of its array, which follow each other: its loop then goes on by as many.

use std::collections::BTreeMap;

use loopwright_atom::{Atom, Operand};
use loopwright_kernel_ir::{Aff, DType, Diagnostic, Dim, HardwareAxis, Name};
use loopwright_poly::Result;

use super::reading::{AtomText, Reading, TouchId, lane_of, name_of_loop};
use crate::{BinOp, MemRef, Memory, Step, Stmt, Value, ValueKind, VarId};

/// The counter of a loop that goes from 0 on, and its number of iterations.
type Loop = (VarId, i64);

/// The loops around a statement, outermost first.
type Loops = Vec<Loop>;

/// What is read of a text, or why it is not what it has to be.
type Found<T> = std::result::Result<T, String>;

/// An element of shared or global memory.
type Cell = (Memory, Vec<Aff>);

/// A fragment, as one iteration of the loop of its loads fills it.
struct Fragment {
    /// The loop of the product that numbers the rows of its array, if one does, and how many rows
    /// an iteration fills. The loop's name stands for the number of the iteration.
    rows: Option<(Name, i64)>,
    /// The elements of each row.
    elements: i64,
    /// For each element, those of further rows behind those of the first, what is touched, where
    /// in it it is, and the name of that place.
    cells: BTreeMap<i64, (Cell, Source, Name)>,
}

/// What is held of a factor, for each row and column.
type Held = BTreeMap<(i64, i64), Cell>;

/// The statement of the contract.
struct Contract<'p> {
    loops: Loops,
    to: &'p MemRef,
    factors: [TouchId; 2],
    types: [DType; 2],
    /// The function that each factor goes through.
    conversions: [Option<Name>; 2],
}

/// A load of one element of a fragment.
struct Load {
    loops: Loops,
    /// By how much the counter of the innermost loop grows; that of the others grows by one.
    step: i64,
    /// The subscripts of the private array but the last one: variables of loops.
    rows: Vec<VarId>,
    touch: TouchId,
    source: Source,
}

/// Where a lane's element comes from, relative to what is touched.
#[derive(Clone, Copy)]
enum Source {
    /// It is what the lane touches.
    Own,
    /// It is the element of this number of the vector that the lane touches.
    Vector(i64),
    /// It is this one of the elements that a lane gets of a matrix, so many of each row; lanes give
    /// the addresses of rows.
    Matrix { number: i64, each: i64, element: i64, transposed: bool },
}

impl Source {
    /// The lane whose address the element of a lane is found at, and by how much behind it.
    fn of_lane(self, lane: i64) -> (i64, i64) {
        match self {
            Source::Own => (lane, 0),
            Source::Vector(number) => (lane, number),
            Source::Matrix { number, each, element, transposed } => {
                let (row, column) = (lane / 4, lane % 4 * each + element);
                let (row, column) = if transposed { (column, row) } else { (row, column) };
                (8 * number + row, column)
            }
        }
    }
}

/// The product.
struct Product<'p> {
    loops: Loops,
    atom: &'p Atom,
    d: &'p [MemRef],
    a: &'p MemRef,
    b: &'p MemRef,
}

/// The first thing in a kernel's atoms that is not what the contract says.
pub(super) fn wrong_atom(reading: &Reading<'_>) -> Result<Option<Diagnostic>> {
    let mut inside = 0;
    for text in &reading.atoms {
        inside += count(text.body) + count(text.contract);
        if let Some(why) = wrong(reading, text)? {
            let message =
                format!("an atom in `{}` may not compute what its contract says", reading.kernel.name);
            return Ok(Some(Diagnostic::new("wrong-atom", message).witness(why)));
        }
    }
    if inside != count(&reading.kernel.body) {
        let message = format!("`{}` multiplies fragments without a contract", reading.kernel.name);
        return Ok(Some(Diagnostic::new("wrong-atom", message)));
    }
    Ok(None)
}

/// The number of products in a body.
fn count(body: &[Stmt]) -> usize {
    let mut found = 0;
    Stmt::visit(body, &mut |stmt| found += usize::from(matches!(stmt, Stmt::Mma { .. })));
    found
}

fn wrong(reading: &Reading<'_>, text: &AtomText<'_>) -> Result<Option<String>> {
    let kernel = reading.kernel;
    let warp = reading.program.target.warp_size;
    if kernel.block.x != warp {
        return Ok(Some(format!("the x axis of the block is not the {warp} lanes of a warp")));
    }
    let contract = match contract(reading, text) {
        Ok(contract) => contract,
        Err(why) => return Ok(Some(why)),
    };
    let (loads, product) = match body(reading, text) {
        Ok(body) => body,
        Err(why) => return Ok(Some(why)),
    };
    let places = match places(&contract, &product) {
        Ok(places) => places,
        Err(why) => return Ok(Some(why)),
    };
    let types = [Operand::A, Operand::B, Operand::D].map(|o| product.atom.operand(o).dtype);
    let of_array = |element: &MemRef| match element.memory {
        Memory::Private(p) => kernel.private.get(p).map(|array| array.dtype),
        _ => None,
    };
    let own = [product.a, product.b, contract.to].map(of_array);
    if own != types.map(Some) || contract.types != [types[0], types[1]] {
        return Ok(Some(format!("`{}` takes elements of other types", product.atom.name())));
    }
    if contract.conversions.iter().any(|of| of.as_ref() != product.atom.conversion()) {
        let what = product.atom.conversion().map_or_else(|| "nothing".into(), |f| format!("`{f}`"));
        return Ok(Some(format!("`{}` rounds its factors by {what}", product.atom.name())));
    }
    let mut fragments = Vec::new();
    for (operand, element) in [(Operand::A, product.a), (Operand::B, product.b)] {
        match fragment(reading, &loads, &product, operand, element) {
            Ok(fragment) => fragments.push(fragment),
            Err(why) => return Ok(Some(why)),
        }
    }
    if loads.len() != fragments.iter().map(|f| f.cells.len()).sum::<usize>() {
        return Ok(Some("something is loaded that is no element of a fragment".into()));
    }
    let check = Check { reading, product: &product, places: &places };
    // Factors commute.
    let Some(first) = check.operands(&fragments, contract.factors)? else { return Ok(None) };
    let [x, y] = contract.factors;
    Ok(check.operands(&fragments, [y, x])?.map(|_| first))
}

/// A loop that goes from 0 to a constant, by how much its counter grows, and its body; `None` of
/// another statement.
fn stepped(stmt: &Stmt) -> Found<Option<(Loop, i64, &[Stmt])>> {
    let Stmt::For { var, lower, upper, step: Step::Add(step @ 1..), body, .. } = stmt else {
        return Ok(None);
    };
    match (lower.as_int(), upper.as_int()) {
        (Some(0), Some(end @ 1..)) => Ok(Some(((*var, end), *step, body))),
        _ => Err("a loop does not go from 0 to a constant".into()),
    }
}

/// As [`stepped`], of a loop that counts by one.
fn counted(stmt: &Stmt) -> Found<Option<(Loop, &[Stmt])>> {
    match stepped(stmt)? {
        Some((of, 1, body)) => Ok(Some((of, body))),
        Some(_) => Err("a loop does not count by one".into()),
        None => Ok(None),
    }
}

/// The loops around the only statement of a body that is more than a name.
fn only<'p>(body: &'p [Stmt], loops: &mut Loops) -> Found<&'p Stmt> {
    let names = |stmt: &&Stmt| !matches!(stmt, Stmt::Let { leaf: None, .. });
    let mut statements = body.iter().filter(names);
    let (Some(stmt), None) = (statements.next(), statements.next()) else {
        return Err("a loop has not one statement".into());
    };
    let Some((own, body)) = counted(stmt)? else { return Ok(stmt) };
    loops.push(own);
    only(body, loops)
}

/// The element that a value reads, through conversions to the type of the product and at most one
/// function, which is the last that it goes through.
fn read(value: &Value, to: DType) -> Option<(&MemRef, DType, Option<Name>)> {
    fn element(value: &Value, to: DType) -> Option<(&MemRef, DType)> {
        match &value.kind {
            ValueKind::Load(element) => Some((element, value.dtype)),
            ValueKind::Cast(inner) if value.dtype == to => element(inner, to),
            _ => None,
        }
    }
    if let ValueKind::Call { function, args, .. } = &value.kind {
        let [argument] = args.as_slice() else { return None };
        let (found, dtype) = element(argument, to)?;
        return (value.dtype == to).then(|| (found, dtype, Some(function.clone())));
    }
    element(value, to).map(|(found, dtype)| (found, dtype, None))
}

/// A value without conversions between f32 and this type of an accumulator. Where that is f16, sums
/// and products are computed in f32 and rounded; an atom may round them as it likes, as it may add
/// them in any order.
fn unrounded(value: &Value, accumulator: DType) -> &Value {
    match &value.kind {
        ValueKind::Cast(inner)
            if accumulator == DType::F16
                && matches!(value.dtype, DType::F16 | DType::F32)
                && matches!(inner.dtype, DType::F16 | DType::F32) =>
        {
            unrounded(inner, accumulator)
        }
        _ => value,
    }
}

fn contract<'p>(reading: &Reading<'_>, text: &AtomText<'p>) -> Found<Contract<'p>> {
    let mut loops = Vec::new();
    let stmt = only(text.contract, &mut loops)?;
    let other = || "its statement does not add a product to an accumulator".to_string();
    let Stmt::Store { to, value, .. } = stmt else { return Err(other()) };
    let accumulator = value.dtype;
    let sum = unrounded(value, accumulator);
    let ValueKind::Binary(BinOp::Add, own, product) = &sum.kind else { return Err(other()) };
    let (own, product) = (unrounded(own, accumulator), unrounded(product, accumulator));
    let ValueKind::Binary(BinOp::Mul, x, y) = &product.kind else { return Err(other()) };
    let is_own = matches!(&own.kind, ValueKind::Load(from) if from == to);
    let dtype = sum.dtype;
    let (Some((x, of_x, by_x)), Some((y, of_y, by_y)), true) = (read(x, dtype), read(y, dtype), is_own)
    else {
        return Err(other());
    };
    let touches: Vec<TouchId> = text.read.clone().collect();
    let factors = <[TouchId; 2]>::try_from(touches).map_err(|_| other())?;
    if factors.map(|t| reading.touches[t].memory) != [x.memory, y.memory] {
        return Err("a factor is not read from shared or global memory".into());
    }
    Ok(Contract { loops, to, factors, types: [of_x, of_y], conversions: [by_x, by_y] })
}

fn variables(subscripts: &[Value]) -> Option<Vec<VarId>> {
    let variable = |s: &Value| match s.kind {
        ValueKind::Var(var) => Some(var),
        _ => None,
    };
    subscripts.iter().map(variable).collect()
}

/// The loads of a body by the private array and the element that they fill, and its product.
#[allow(clippy::type_complexity)]
fn body<'p>(
    reading: &Reading<'p>,
    text: &AtomText<'p>,
) -> Found<(BTreeMap<(Memory, i64), Load>, Product<'p>)> {
    let mut loads: BTreeMap<(Memory, i64), Load> = BTreeMap::new();
    let mut touches = text.loaded.clone();
    let Some((last, before)) = text.body.split_last() else { return Err("it does nothing".into()) };
    fn walk(
        stmts: &[Stmt],
        (loops, step): (&mut Loops, i64),
        found: &mut dyn FnMut(&Stmt, &Loops, i64) -> Found<()>,
    ) -> Found<()> {
        for stmt in stmts.iter().filter(|stmt| !matches!(stmt, Stmt::Let { leaf: None, .. })) {
            let Some((own, by, body)) = stepped(stmt)? else {
                found(stmt, loops, step)?;
                continue;
            };
            if step != 1 {
                return Err("a loop around another does not count by one".into());
            }
            loops.push(own);
            walk(body, (loops, by), found)?;
            loops.pop();
        }
        Ok(())
    }
    walk(before, (&mut Vec::new(), 1), &mut |stmt, loops, step| {
        let (to, from, sources) = match stmt {
            Stmt::VectorCopy { to, from, lanes, .. } => {
                (to, from, (0..i64::from(*lanes)).map(Source::Vector).collect())
            }
            Stmt::Store { to, value, .. } => match &value.kind {
                ValueKind::Load(from) => (to, from, vec![Source::Own]),
                _ => return Err("a fragment is not loaded but computed".into()),
            },
            Stmt::LoadMatrices { to, from, matrices: count @ (1 | 2 | 4), row, transposed } => {
                let bytes = match to.memory {
                    Memory::Private(array) => reading.kernel.private.get(array).map(|a| a.dtype.bytes()),
                    _ => None,
                };
                let whole = bytes.map(|bytes| bytes * usize::from(*row)) == Some(Stmt::ROW_BYTES);
                if !whole || *row < 4 || *transposed && *row != 8 {
                    return Err("matrices are loaded whose rows have not 16 bytes".into());
                }
                let (each, transposed) = (i64::from(*row) / 4, *transposed);
                let of = |k: i64| Source::Matrix { number: k / each, each, element: k % each, transposed };
                (to, from, (0..each * i64::from(*count)).map(of).collect())
            }
            _ => return Err("it does more than load fragments and multiply them".into()),
        };
        let Some(touch) = touches.next().filter(|t| {
            let touch = &reading.touches[*t];
            touch.memory == from.memory && !touch.write
        }) else {
            return Err("a fragment is not loaded from shared or global memory".into());
        };
        let Some((last, rows)) = to.subscripts.split_last() else {
            return Err("a fragment has no elements".into());
        };
        let (Some(first), Some(rows)) = (last.as_int(), variables(rows)) else {
            return Err("the elements of a fragment are not numbered by constants".into());
        };
        for (k, source) in (0..).zip(sources) {
            let load = Load { loops: loops.clone(), step, rows: rows.clone(), touch, source };
            if loads.insert((to.memory, first + k), load).is_some() {
                return Err("an element of a fragment is loaded twice".into());
            }
        }
        Ok(())
    })?;
    if touches.next().is_some() {
        return Err("it reads memory beside its loads".into());
    }
    let mut loops = Vec::new();
    let Stmt::Mma { atom, d, a, b } = only(std::slice::from_ref(last), &mut loops)? else {
        return Err("it does not end with a product".into());
    };
    let Some(atom) = reading.program.atom(atom) else {
        return Err(format!("there is no atom `{atom}`"));
    };
    Ok((loads, Product { loops, atom, d, a, b }))
}

/// For each element of `d` that a lane holds, the values of the contract's loops but that over `k`:
/// a constant, or a variable of the product's loops.
struct Places {
    k: VarId,
    of_element: Vec<Vec<(VarId, Aff)>>,
}

fn places(contract: &Contract<'_>, product: &Product<'_>) -> Found<Places> {
    let Some(own) = variables(&contract.to.subscripts) else {
        return Err("the accumulator is not that of the loops around".into());
    };
    let mut others = contract.loops.iter().filter(|(var, _)| !own.contains(var));
    let (Some((k, extent)), None) = (others.next(), others.next()) else {
        return Err("not one of the loops is that over k".into());
    };
    let distinct = own.iter().enumerate().all(|(n, var)| !own[..n].contains(var));
    if *extent != product.atom.shape()[2] || !distinct || own.len() + 1 != contract.loops.len() {
        return Err(format!("its loops are not those of `{}`", product.atom.name()));
    }
    let extents: Vec<i64> = own
        .iter()
        .filter_map(|var| contract.loops.iter().find(|(v, _)| v == var).map(|(_, extent)| *extent))
        .collect();
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
            let value = match &subscript.kind {
                ValueKind::Var(var) => {
                    let number = product.loops.iter().position(|(v, _)| v == var).ok_or_else(other)?;
                    if product.loops[number].1 != extents[axis] || loops.contains(&number) {
                        return Err(other());
                    }
                    loops.push(number);
                    Aff::var(Name::new(format!("loop {number}")))
                }
                _ => {
                    let value = subscript.as_int().filter(|v| (0..extents[axis]).contains(v));
                    let value = value.ok_or_else(other)?;
                    constants.push(value);
                    Aff::constant(value)
                }
            };
            values.push((own[axis], value));
        }
        if *running.get_or_insert_with(|| loops.clone()) != loops || seen.contains(&constants) {
            return Err(other());
        }
        seen.push(constants);
        of_element.push(values);
    }
    // Loops and constants together are all values of the contract's loops, each once.
    let all: i64 = extents.iter().product();
    let running = running.unwrap_or_default();
    let in_loops: i64 = running.iter().map(|n| product.loops[*n].1).product();
    let covered = in_loops.saturating_mul(i64::try_from(seen.len()).unwrap_or(i64::MAX));
    let elements = product.atom.operand(Operand::D).elements();
    if covered != all
        || running.len() != product.loops.len()
        || i64::try_from(product.d.len()).ok() != Some(elements)
    {
        return Err(other());
    }
    Ok(Places { k: *k, of_element })
}

/// What is touched for the elements of a fragment, over the coordinates, the names around, the
/// numbers of the product's loops and the name of a vector's elements; and where in it they are.
fn fragment(
    reading: &Reading<'_>,
    loads: &BTreeMap<(Memory, i64), Load>,
    product: &Product<'_>,
    operand: Operand,
    element: &MemRef,
) -> Found<Fragment> {
    let name = operand.name();
    let other = || format!("the fragment `{name}` is not what is loaded");
    let Some((first, rows)) = element.subscripts.split_last() else { return Err(other()) };
    let (Some(0), Some(rows)) = (first.as_int(), variables(rows)) else { return Err(other()) };
    let distinct = |vars: &[VarId]| vars.iter().enumerate().all(|(n, var)| !vars[..n].contains(var));
    let elements = product.atom.operand(operand).elements();
    let step = loads.get(&(element.memory, 0)).map_or(1, |load| load.step);
    let mut last = None;
    let mut cells = BTreeMap::new();
    for number in 0..elements.saturating_mul(step) {
        let Some(load) = loads.get(&(element.memory, number)) else {
            return Err(format!("element {number} of the fragment `{name}` is not loaded"));
        };
        // Each row of the fragment is loaded by a loop of the same length, and used in one.
        let mut values: Vec<(Name, Aff)> = Vec::new();
        let lengths = [load.rows.len(), load.loops.len()];
        if lengths != [rows.len(); 2] || load.step != step || !distinct(&load.rows) || !distinct(&rows) {
            return Err(other());
        }
        last = None;
        for (axis, (own, used)) in load.rows.iter().zip(&rows).enumerate() {
            let around = load.loops.iter().position(|(var, _)| var == own).ok_or_else(other)?;
            let number = product.loops.iter().position(|(var, _)| var == used).ok_or_else(other)?;
            if load.loops[around].1 != product.loops[number].1 {
                return Err(other());
            }
            let of_product = Name::new(format!("loop {number}"));
            let mut value = Aff::var(&of_product);
            // The rows that an iteration fills follow each other in the array.
            if step > 1 && around + 1 == load.loops.len() {
                if axis + 1 != rows.len() || load.loops[around].1 % step != 0 {
                    return Err(other());
                }
                value = value.scale(step).map_err(|e| e.to_string())?;
                last = Some((of_product, step));
            }
            values.push((loop_name(reading, *own), value));
        }
        let touch = &reading.touches[load.touch];
        let mut subscripts = Vec::new();
        for s in &touch.cell {
            let Some(s) = s else {
                return Err(format!("a subscript of the fragment `{name}` is not affine"));
            };
            let of = |n: &Name| values.iter().find(|(own, _)| own == n).map(|(_, v)| v.clone());
            subscripts.push(s.substitute(&of).map_err(|e| e.to_string())?);
        }
        cells.insert(number, ((touch.memory, subscripts), load.source, lane_of(load.touch)));
    }
    // Where several rows are filled, nothing lies between them.
    let length = match element.memory {
        Memory::Private(array) => reading.kernel.private.get(array).and_then(|a| a.dims.last().copied()),
        _ => None,
    };
    if step > 1 && (last.is_none() || length != u64::try_from(elements).ok()) {
        return Err(other());
    }
    Ok(Fragment { rows: last, elements, cells })
}

fn loop_name(reading: &Reading<'_>, var: VarId) -> Name {
    let name = reading.kernel.vars.get(var.0).map_or_else(|| Name::new("?"), |v| v.name.clone());
    name_of_loop(&name, var.0)
}

/// The comparison of what is loaded with what the contract reads.
struct Check<'c, 'p> {
    reading: &'c Reading<'p>,
    product: &'c Product<'p>,
    places: &'c Places,
}

impl Check<'_, '_> {
    /// What differs, if these reads of the contract are the left and the right factor.
    fn operands(&self, fragments: &[Fragment], factors: [TouchId; 2]) -> Result<Option<String>> {
        let atom = self.product.atom;
        let coordinate = Name::new(HardwareAxis::Block(Dim::X).coordinate());
        for ((operand, fragment), factor) in [Operand::A, Operand::B].into_iter().zip(fragments).zip(factors)
        {
            let touch = &self.reading.touches[factor];
            let Some(subscripts) = touch.cell.iter().cloned().collect::<Option<Vec<Aff>>>() else {
                return Ok(Some("a subscript of the contract is not affine".into()));
            };
            let together = fragment.rows.as_ref().map_or(1, |(_, step)| *step);
            for row in 0..together {
                let held = match self.held(operand, fragment, row)? {
                    Ok(held) => held,
                    Err(why) => return Ok(Some(why)),
                };
                // The number of the row, from that of the iteration that has filled it.
                let of_row = match &fragment.rows {
                    Some((name, step)) => Some((name, Aff::var(name).scale(*step)?.add_constant(row)?)),
                    None => None,
                };
                for lane in 0..atom.lanes() {
                    for (number, element) in (0..).zip(&self.places.of_element) {
                        let (m, n) = atom.position(Operand::D, lane, number);
                        for k in 0..atom.shape()[2] {
                            let mut wanted = self.read(&subscripts, (&coordinate, lane), element, k)?;
                            if let Some((name, of_row)) = &of_row {
                                for s in &mut wanted {
                                    *s = s.substitute_one(name, of_row)?;
                                }
                            }
                            let at = if operand == Operand::A { (m, k) } else { (n, k) };
                            let found = held.get(&at);
                            if found.is_none_or(|(memory, cell)| *memory != touch.memory || *cell != wanted) {
                                return Ok(Some(self.differs(
                                    operand,
                                    (lane, number, k),
                                    &wanted,
                                    found,
                                    factor,
                                )));
                            }
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    /// What the holders of each position have loaded, which is the same for all of them, of this one
    /// of the rows of a fragment that are filled together.
    fn held(&self, operand: Operand, fragment: &Fragment, row: i64) -> Result<Found<Held>> {
        let atom = self.product.atom;
        let coordinate = Name::new(HardwareAxis::Block(Dim::X).coordinate());
        let mut held = Held::new();
        let first = row * fragment.elements;
        for lane in 0..atom.lanes() {
            for (number, ((memory, subscripts), source, place)) in
                fragment.cells.range(first..first + fragment.elements)
            {
                let (at, behind) = source.of_lane(lane);
                let of = |n: &Name| match n {
                    n if *n == coordinate => Some(Aff::constant(at)),
                    n if n == place => Some(Aff::constant(behind)),
                    _ => None,
                };
                let cell: Vec<Aff> = subscripts.iter().map(|s| s.substitute(&of)).collect::<Result<_>>()?;
                let at = atom.position(operand, lane, number - first);
                let cell = (*memory, cell);
                if held.get(&at).is_some_and(|other| *other != cell) {
                    let name = operand.name();
                    return Ok(Err(format!("the holders of {at:?} of `{name}` hold different elements")));
                }
                held.insert(at, cell);
            }
        }
        Ok(Ok(held))
    }

    /// The element that the contract reads for an element of `d` of a lane, and a value of `k`.
    fn read(
        &self,
        subscripts: &[Aff],
        (coordinate, lane): (&Name, i64),
        element: &[(VarId, Aff)],
        k: i64,
    ) -> Result<Vec<Aff>> {
        let mut values = vec![(coordinate.clone(), Aff::constant(lane))];
        values.push((loop_name(self.reading, self.places.k), Aff::constant(k)));
        values.extend(element.iter().map(|(var, value)| (loop_name(self.reading, *var), value.clone())));
        let of = |n: &Name| values.iter().find(|(own, _)| own == n).map(|(_, v)| v.clone());
        subscripts.iter().map(|s| s.substitute(&of)).collect()
    }

    fn differs(
        &self,
        operand: Operand,
        (lane, number, k): (i64, i64, i64),
        wanted: &[Aff],
        found: Option<&Cell>,
        factor: TouchId,
    ) -> String {
        let text = |memory: Memory, cell: &[Aff]| {
            let cell: Vec<String> = cell.iter().map(Aff::to_string).collect();
            format!("{}[{}]", self.reading.array_name(memory), cell.join(", "))
        };
        let wanted = text(self.reading.touches[factor].memory, wanted);
        let found = found.map_or_else(|| "nothing".into(), |(memory, cell)| text(*memory, cell));
        format!(
            "element {number} of the accumulator of lane {lane} gets, for k = {k}, {found} as `{}`, where \
             the contract reads {wanted}",
            operand.name()
        )
    }
}
