//! The statements of an atom, as data: the copy or the updates of its contract, the loads and the
//! product of its body. What has another form is refused.

use std::collections::BTreeMap;

use loopwright_atom::Atom;
use loopwright_kernel_ir::{Aff, Constraint, DType, Kind, Name};

use crate::{
    BinOp, MemRef, Memory, Step, Stmt, Value, ValueKind, VarId,
    verify::reading::{AtomText, Reading, Touch, TouchId},
};

/// A loop between two constants: its iterations have numbers from 0 on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Loop {
    pub counter: VarId,
    /// The counter's first value.
    pub first: i64,
    /// The number of its values.
    pub length: i64,
}

/// The loops around a statement, outermost first.
pub(super) type Loops = Vec<Loop>;

/// What is read of a text, or why it is not what it has to be.
pub(super) type Found<T> = std::result::Result<T, String>;

/// An element that a contract reads or writes.
#[derive(Clone, Debug)]
pub(super) struct Touched<'p> {
    pub memory: Memory,
    pub subscripts: &'p [Value],
    /// The same as functions; `None` where one is not affine.
    pub cell: Vec<Option<Aff>>,
}

/// The statement of the contract of a product.
pub(super) struct Contract<'p> {
    pub loops: Loops,
    pub to: &'p MemRef,
    pub factors: [Touched<'p>; 2],
    pub types: [DType; 2],
    /// The function that each factor goes through.
    pub conversions: [Option<Name>; 2],
}

/// The statement of the contract of a load: a copy.
pub(super) struct Copy<'p> {
    pub loops: Loops,
    pub to: Touched<'p>,
    pub from: Touched<'p>,
}

/// A subscript that numbers rows of a private array.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Row {
    /// The number of the iteration of a loop around, which this is the counter of.
    Loop(VarId),
    /// A function of names around the atom.
    At(Aff),
}

/// A load of one element of a fragment.
pub(super) struct Load {
    pub loops: Loops,
    /// By how much the counter of the innermost loop grows; that of the others grows by one.
    pub step: i64,
    /// The subscripts of the private array but the last one.
    pub rows: Vec<Row>,
    pub touch: TouchId,
    pub source: Source,
}

/// The loads of a body by the private array and the element that they fill.
pub(super) type Loads = BTreeMap<(Memory, i64), Load>;

/// Where a lane's element comes from, relative to what is touched.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// It is what the lane touches.
    Own,
    /// It is the element of this number of the vector that the lane touches.
    Vector(i64),
    /// It is this one of the elements that a lane gets of a matrix, `each` of them in a row; lanes
    /// give the addresses of rows.
    Matrix { number: i64, each: i64, element: i64, transposed: bool },
}

impl Source {
    /// The lane that gives the address at which an element of a lane is found, and the distance
    /// from there.
    pub fn of_lane(self, lane: i64) -> (i64, i64) {
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

/// The product of an atom's text: its loops, its accumulator and its factors.
pub(super) struct Product<'p> {
    pub loops: Loops,
    pub atom: &'p Atom,
    pub d: &'p [MemRef],
    /// The left and the right factor: the memory, and the rows of its array.
    pub factors: [(Memory, Vec<Row>); 2],
}

/// The loop whose iterations a value numbers: its counter, less the first value.
pub(super) fn numbering(value: &Value, loops: &[Loop]) -> Option<Loop> {
    let (counter, less) = match &value.kind {
        ValueKind::Var(counter) => (*counter, 0),
        ValueKind::Binary(op @ (BinOp::Add | BinOp::Sub), a, b) => {
            let ValueKind::Var(counter) = a.kind else { return None };
            let by = b.as_int()?;
            (counter, if *op == BinOp::Sub { by } else { by.checked_neg()? })
        }
        _ => return None,
    };
    loops.iter().find(|own| own.counter == counter && own.first == less).copied()
}

/// A loop between two constants, by how much its counter grows, and its body; `None` of another
/// statement.
fn stepped(stmt: &Stmt) -> Found<Option<(Loop, i64, &[Stmt])>> {
    let Stmt::For { var, lower, upper, step: Step::Add(step @ 1..), body, .. } = stmt else {
        return Ok(None);
    };
    match (lower.as_int(), upper.as_int()) {
        (Some(first), Some(end)) if first < end && (first == 0 || *step == 1) => {
            let length = end.checked_sub(first).ok_or("a loop is too long")?;
            Ok(Some((Loop { counter: *var, first, length }, *step, body)))
        }
        _ => Err("a loop does not go from one constant to another".into()),
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

/// The element that a value reads, or zero takes its place, through conversions to the type of the
/// product and at most one function, which is the last that it goes through.
fn read(value: &Value, to: DType) -> Option<(&MemRef, DType, Option<Name>)> {
    fn element(value: &Value, to: DType) -> Option<(&MemRef, DType)> {
        match &value.kind {
            ValueKind::Select(_, chosen, _) => or_zero(value).and_then(|_| element(chosen, to)),
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

/// What is chosen, if that or zero is. The condition is one of the access ([`Touch::choices`]).
fn or_zero(value: &Value) -> Option<&Value> {
    let ValueKind::Select(_, chosen, other) = &value.kind else { return None };
    other.is_zero().then_some(chosen)
}

/// The subscripts of what is touched and, where zero may take its place, the functions that are not
/// negative where it does not. Two accesses for which all of these are the same give the same
/// value.
pub(super) fn cell_and_choices(touch: &Touch) -> Vec<Option<Aff>> {
    let of_choice = |c: &Constraint| (c.kind == Kind::Ge).then(|| c.aff.clone());
    let choices = match &touch.choices {
        Some(choices) => choices.iter().map(of_choice).collect(),
        None => vec![None],
    };
    [touch.cell.clone(), choices].concat()
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

/// An element of private memory that an atom's statements access, the first one of its array that
/// has not been taken.
fn private<'p>(
    reading: &Reading<'_>,
    element: &'p MemRef,
    among: &mut Vec<usize>,
    write: bool,
) -> Option<Touched<'p>> {
    let Memory::Private(array) = element.memory else { return None };
    let found = |n: &usize| reading.private.get(*n).is_some_and(|t| t.array == array && t.write == write);
    let at = among.iter().position(found)?;
    let cell = reading.private.get(among.remove(at))?.cell.clone();
    Some(Touched { memory: element.memory, subscripts: &element.subscripts, cell })
}

/// The copy of the contract of a load.
pub(super) fn copy<'p>(reading: &Reading<'_>, text: &AtomText<'p>) -> Found<Copy<'p>> {
    let other = || "its statement does not copy an element into an array of the thread".to_string();
    let mut loops = Vec::new();
    let Stmt::Store { to, value, .. } = only(text.contract, &mut loops)? else { return Err(other()) };
    let ValueKind::Load(from) = &value.kind else { return Err(other()) };
    let mut touches = text.read.clone().map(|t| &reading.touches[t]);
    let (Some(touch), None) = (touches.next(), touches.next()) else { return Err(other()) };
    if touch.memory != from.memory || touch.write {
        return Err(other());
    }
    let from = Touched { memory: from.memory, subscripts: &from.subscripts, cell: touch.cell.clone() };
    let to = private(reading, to, &mut text.contract_private.clone().collect(), true).ok_or_else(other)?;
    Ok(Copy { loops, to, from })
}

/// The copy of the contract of a store of matrices.
pub(super) fn kept<'p>(reading: &Reading<'_>, text: &AtomText<'p>) -> Found<Copy<'p>> {
    let other = || "its statement does not copy an element of an array of the thread".to_string();
    let mut loops = Vec::new();
    let Stmt::Store { to, value, .. } = only(text.contract, &mut loops)? else { return Err(other()) };
    let ValueKind::Load(from) = &value.kind else { return Err(other()) };
    let mut touches = text.read.clone().map(|t| &reading.touches[t]);
    let (Some(touch), None) = (touches.next(), touches.next()) else { return Err(other()) };
    if touch.memory != to.memory || !touch.write {
        return Err(other());
    }
    let to = Touched { memory: to.memory, subscripts: &to.subscripts, cell: touch.cell.clone() };
    let mut among = text.contract_private.clone().collect();
    let from = private(reading, from, &mut among, false).ok_or_else(other)?;
    Ok(Copy { loops, to, from })
}

/// A store of matrices of a body.
pub(super) struct Stored<'p> {
    /// The loops around it, outermost first, each with the step of its counter.
    pub loops: Vec<(Loop, i64)>,
    /// The row of each lane.
    pub to: TouchId,
    /// The first of the elements of a lane.
    pub from: Touched<'p>,
    pub matrices: u8,
    pub transposed: bool,
}

/// What is done with each statement of a body, and the loops around it with their steps.
type InLoops<'f, 'p> = &'f mut dyn FnMut(&'p Stmt, &[(Loop, i64)]) -> Found<()>;

/// The stores of matrices of a body, which are all that it does.
pub(super) fn stores<'p>(reading: &Reading<'_>, text: &AtomText<'p>) -> Found<Vec<Stored<'p>>> {
    fn walk<'p>(stmts: &'p [Stmt], loops: &mut Vec<(Loop, i64)>, found: InLoops<'_, 'p>) -> Found<()> {
        for stmt in stmts.iter().filter(|stmt| !matches!(stmt, Stmt::Let { leaf: None, .. })) {
            match stepped(stmt)? {
                Some((own, by, body)) => {
                    loops.push((own, by));
                    walk(body, loops, found)?;
                    loops.pop();
                }
                None => found(stmt, loops)?,
            }
        }
        Ok(())
    }
    let mut stores = Vec::new();
    let mut touches = text.loaded.clone();
    let mut among: Vec<usize> = text.body_private.clone().collect();
    walk(text.body, &mut Vec::new(), &mut |stmt, loops| {
        let Stmt::StoreMatrices { to, from, matrices: matrices @ (1 | 2 | 4), transposed } = stmt else {
            return Err("it does more than store matrices".into());
        };
        let touch = touches.next().filter(|t| {
            let touch = &reading.touches[*t];
            touch.memory == to.memory && touch.write
        });
        let other = || "matrices are not stored from an array of the thread".to_string();
        let from = private(reading, from, &mut among, false).ok_or_else(other)?;
        let (loops, matrices, transposed) = (loops.to_vec(), *matrices, *transposed);
        let to = touch.ok_or("matrices are not stored to shared memory")?;
        stores.push(Stored { loops, to, from, matrices, transposed });
        Ok(())
    })?;
    match touches.next() {
        None => Ok(stores),
        Some(_) => Err("it accesses memory beside its stores".into()),
    }
}

/// The updates of the contract of a product.
pub(super) fn contract<'p>(reading: &Reading<'_>, text: &AtomText<'p>) -> Found<Contract<'p>> {
    let mut loops = Vec::new();
    let stmt = only(text.contract, &mut loops)?;
    let other = || "its statement does not add a product to an accumulator".to_string();
    let Stmt::Store { to, value, .. } = stmt else { return Err(other()) };
    let accumulator = value.dtype;
    let sum = unrounded(value, accumulator);
    // What stands for fragments that are loaded elsewhere is read as it is.
    let mut chosen = false;
    value.visit(&mut |v| {
        if let ValueKind::Select(_, of, _) = &v.kind {
            of.visit(&mut |v| {
                chosen |= matches!(&v.kind, ValueKind::Load(MemRef { memory: Memory::Private(_), .. }))
            });
        }
    });
    if chosen {
        return Err(other());
    }
    let ValueKind::Binary(BinOp::Add, own, product) = &sum.kind else { return Err(other()) };
    let (own, product) = (unrounded(own, accumulator), unrounded(product, accumulator));
    let ValueKind::Binary(BinOp::Mul, x, y) = &product.kind else { return Err(other()) };
    let is_own = matches!(&own.kind, ValueKind::Load(from) if from == to);
    let dtype = sum.dtype;
    let (Some((x, of_x, by_x)), Some((y, of_y, by_y)), true) = (read(x, dtype), read(y, dtype), is_own)
    else {
        return Err(other());
    };
    let mut touches = text.read.clone();
    let mut among: Vec<usize> = text.contract_private.clone().collect();
    // The accumulator is read before.
    private(reading, to, &mut among, false).ok_or_else(other)?;
    let mut factor = |element: &'p MemRef| {
        if matches!(element.memory, Memory::Private(_)) {
            return private(reading, element, &mut among, false);
        }
        let touch = reading.touches.get(touches.next()?)?;
        (touch.memory == element.memory && !touch.write).then(|| Touched {
            memory: element.memory,
            subscripts: &element.subscripts,
            cell: cell_and_choices(touch),
        })
    };
    let (Some(first), Some(second), None) = (factor(x), factor(y), touches.next()) else {
        return Err("it does not read two factors".into());
    };
    let (factors, types) = ([first, second], [of_x, of_y]);
    Ok(Contract { loops, to, factors, types, conversions: [by_x, by_y] })
}

/// The rows of an array that these subscripts but the last one number, and the last one.
fn rows<'e>(
    reading: &Reading<'_>,
    element: &'e MemRef,
    loops: &Loops,
    among: &mut Vec<usize>,
    write: bool,
) -> Found<(Vec<Row>, &'e Value)> {
    let touched = private(reading, element, among, write).ok_or("a fragment is not private")?;
    let Some((last, before)) = element.subscripts.split_last() else {
        return Err("a fragment has no elements".into());
    };
    let mut rows = Vec::new();
    for (value, aff) in before.iter().zip(touched.cell) {
        rows.push(match (numbering(value, loops), aff) {
            (Some(own), _) => Row::Loop(own.counter),
            (None, Some(aff)) => Row::At(aff),
            _ => return Err("the rows of a fragment are not numbered by affine functions".into()),
        });
    }
    Ok((rows, last))
}

/// The loads of a body, which are all that it does.
pub(super) fn loads_alone(reading: &Reading<'_>, text: &AtomText<'_>) -> Found<Loads> {
    let loads = loads(reading, text, text.body, &mut text.body_private.clone().collect())?;
    let plain = |load: &Load| reading.touches[load.touch].choices.as_ref().is_some_and(Vec::is_empty);
    match loads.values().all(plain) {
        true => Ok(loads),
        false => Err("a fragment is not loaded but chosen".into()),
    }
}

/// The loads of a body, and its product.
pub(super) fn body<'p>(reading: &Reading<'p>, text: &AtomText<'p>) -> Found<(Loads, Product<'p>)> {
    let mut among: Vec<usize> = text.body_private.clone().collect();
    let Some((last, before)) = text.body.split_last() else { return Err("it does nothing".into()) };
    let loads = loads(reading, text, before, &mut among)?;
    let mut loops = Vec::new();
    let Stmt::Mma { atom, d, a, b } = only(std::slice::from_ref(last), &mut loops)? else {
        return Err("it does not end with a product".into());
    };
    let Some(atom) = reading.program.atom(atom) else {
        return Err(format!("there is no atom `{atom}`"));
    };
    let mut factor = |name: &str, element: &MemRef| -> Found<(Memory, Vec<Row>)> {
        let (rows, first) = rows(reading, element, &loops, &mut among, false)?;
        match first.as_int() {
            Some(0) => Ok((element.memory, rows)),
            _ => Err(format!("the fragment `{name}` is not what is loaded")),
        }
    };
    let factors = [factor("a", a)?, factor("b", b)?];
    Ok((loads, Product { loops, atom, d, factors }))
}

fn loads(reading: &Reading<'_>, text: &AtomText<'_>, body: &[Stmt], among: &mut Vec<usize>) -> Found<Loads> {
    let mut loads = Loads::new();
    let mut touches = text.loaded.clone();
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
    walk(body, (&mut Vec::new(), 1), &mut |stmt, loops, step| {
        let (to, from, sources) = match stmt {
            Stmt::VectorCopy { to, from, lanes, .. } => {
                (to, from, (0..i64::from(*lanes)).map(Source::Vector).collect())
            }
            Stmt::Store { to, value, .. } => match &value.kind {
                ValueKind::Load(from) => (to, from, vec![Source::Own]),
                _ => match or_zero(value).map(|chosen| &chosen.kind) {
                    Some(ValueKind::Load(from)) => (to, from, vec![Source::Own]),
                    _ => return Err("a fragment is not loaded but computed".into()),
                },
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
        let (rows, last) = rows(reading, to, loops, among, true)?;
        let Some(first) = last.as_int() else {
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
    Ok(loads)
}
