//! Walks the loop tree over arrays of values.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Instant;

use loopwright_kernel_ir::{
    Arg, Array, Buffer, Combination, Constraint, DType, Diagnostic, Expr, LoopKernel, Name, Number, Part,
    PartRef, Tree, Type, TypeTable, Typed, UpdateOp,
    arithmetic::{binary, math},
};

use crate::{
    AnyOrder, Inputs, Mode, Spread,
    points::points,
    prepared::{Prepared, prepare},
    val::{Val, hash_of, mix},
};

/// An array: one storage for the whole run, even for temporaries, since the declared kernel is one
/// sequence of instances.
struct Store {
    dtype: DType,
    shape: Vec<i64>,
    strides: Vec<i64>,
    cells: Vec<Option<Val>>,
    /// What the order of updates leaves open, of those cells where it matters.
    spreads: BTreeMap<usize, Spread>,
}

/// The most bytes of the cells of an array.
const MOST_BYTES: usize = 1 << 36;

/// Cells without values; `None` if memory does not hold them, which would end the process.
fn cells(size: usize) -> Option<Vec<Option<Val>>> {
    size.checked_mul(size_of::<Option<Val>>()).filter(|bytes| *bytes <= MOST_BYTES)?;
    let mut cells = Vec::new();
    cells.try_reserve_exact(size).ok()?;
    cells.resize(size, None);
    Some(cells)
}

/// Names that are defined only inside an operator, and the number of the current instruction, whose
/// reductions have results.
#[derive(Default)]
pub(crate) struct Scope<'s> {
    pub locals: Option<&'s BTreeMap<Name, Val>>,
    pub instruction: Option<usize>,
}

pub(crate) struct Machine<'a> {
    pub kernel: &'a LoopKernel,
    pub inputs: &'a Inputs,
    mode: Mode,
    table: TypeTable<'a>,
    /// The instructions, by number.
    pub prepared: Rc<Vec<Prepared>>,
    numbers: BTreeMap<&'a Name, usize>,
    stores: BTreeMap<Name, Store>,
    inames: BTreeMap<Name, i64>,
    /// The state of a reduction, by the numbers of instruction and reduction.
    pub accumulators: BTreeMap<(usize, usize), Vec<Val>>,
    /// Leaves that were executed.
    leaves: u64,
    /// By which other right results of updates are drawn.
    seed: Option<u64>,
}

/// Leaves between two checks of the deadline: less than a millisecond.
const LEAVES_A_LOOK: u64 = 256;

pub(crate) fn error(code: &'static str, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(code, message)
}

pub(crate) fn run(
    kernel: &LoopKernel,
    inputs: &Inputs,
    mode: Mode,
) -> Result<BTreeMap<Name, Buffer>, Diagnostic> {
    run_in(kernel, inputs, mode, None, |machine| machine.outputs())
}

pub(crate) fn run_any_order(
    kernel: &LoopKernel,
    inputs: &Inputs,
    seed: Option<u64>,
) -> Result<AnyOrder, Diagnostic> {
    run_in(kernel, inputs, Mode::Wide, seed, |machine| {
        let spreads: BTreeMap<Name, BTreeMap<usize, Spread>> = machine
            .stores
            .iter()
            .filter(|(_, store)| !store.spreads.is_empty())
            .map(|(name, store)| (name.clone(), store.spreads.clone()))
            .collect();
        let affected = machine.affected();
        Ok(AnyOrder { arrays: machine.outputs()?, spreads, affected })
    })
}

fn run_in<T>(
    kernel: &LoopKernel,
    inputs: &Inputs,
    mode: Mode,
    seed: Option<u64>,
    finish: impl FnOnce(Machine<'_>) -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    // From here on, open types of the kernel are bound to those of the inputs.
    let open = kernel.open_types();
    let types: Vec<(Name, DType)> =
        open.iter().filter_map(|n| Some((n.clone(), *inputs.types.get(n)?))).collect();
    let kernel = &kernel.bind_types(&types).map_err(|all| {
        let unknown = || error("open-type", "the types of the inputs do not match the kernel");
        all.0.into_iter().next().unwrap_or_else(unknown)
    })?;
    let table = TypeTable::new(kernel);
    let prepared = Rc::new(prepare(kernel, &table)?);
    let mut machine = Machine {
        kernel,
        inputs,
        mode,
        table,
        prepared,
        numbers: kernel.instructions.iter().enumerate().map(|(k, i)| (&i.id, k)).collect(),
        stores: BTreeMap::new(),
        inames: BTreeMap::new(),
        accumulators: BTreeMap::new(),
        leaves: 0,
        seed,
    };
    let arrays = kernel.args.iter().filter_map(|a| match a {
        Arg::Array(a) => Some((a, true)),
        Arg::Scalar(_) => None,
    });
    for (array, argument) in arrays.chain(kernel.temporaries.iter().map(|t| (t, false))) {
        let store = machine.store(array, argument)?;
        machine.stores.insert(array.name.clone(), store);
    }
    for constant in &kernel.constants {
        let name = &constant.array.name;
        let mut store = machine.store(&constant.array, false)?;
        let numbers = constant.numbers().filter(|numbers| numbers.len() == store.cells.len());
        let numbers = numbers.ok_or_else(|| error("shape", format!("`{name}` has no values")))?;
        for (cell, number) in store.cells.iter_mut().zip(numbers) {
            // A table is part of the text: its values have no derivation but themselves.
            *cell = Some(machine.plain(number.cast(machine.held(store.dtype))));
        }
        machine.stores.insert(name.clone(), store);
    }
    machine.walk(&kernel.tree, &mut Vec::new())?;
    finish(machine)
}

impl Machine<'_> {
    /// The hash of a value's derivation, if the mode keeps one.
    pub fn hash(&self, hash: impl FnOnce() -> u64) -> u64 {
        if self.mode == Mode::Hash { hash() } else { 0 }
    }

    /// A value without a derivation, such as a literal.
    pub fn plain(&self, number: Number) -> Val {
        Val { number, hash: self.hash(|| hash_of(number)) }
    }

    /// Whether floating-point values are f64 whatever their type.
    pub fn is_wide(&self) -> bool {
        self.mode == Mode::Wide
    }

    fn bound_type(&self, t: &Type) -> Result<DType, Diagnostic> {
        t.known().ok_or_else(|| error("open-type", format!("the open type `{t}` is not bound")))
    }

    /// An integer of parameters: a length or stride.
    fn length(&self, e: &Expr) -> Result<i64, Diagnostic> {
        let value = self.value(&self.table.typed(e, DType::I64, None)?, &Scope::default())?;
        value.number.as_i64().ok_or_else(|| error("shape", "a length is not an integer"))
    }

    fn store(&self, array: &Array, argument: bool) -> Result<Store, Diagnostic> {
        let name = &array.name;
        let dtype = self.bound_type(&array.dtype)?;
        let shape = array.axes.iter().map(|a| self.length(&a.length)).collect::<Result<Vec<_>, _>>()?;
        // From the densest axis outwards, each default stride is the product of the inner lengths.
        let mut strides = vec![1; shape.len()];
        let mut dense = 1i64;
        let mut size = 1i64;
        let order: Vec<usize> =
            if array.order.len() == shape.len() { array.order.clone() } else { (0..shape.len()).collect() };
        let too_large = || error("shape", format!("the array `{name}` is too large"));
        for axis in order.into_iter().rev() {
            let declared = &array.axes[axis];
            strides[axis] = match &declared.stride {
                Some(stride) => self.length(stride)?,
                None => {
                    let padded = shape[axis].max(0).checked_add(declared.padding.into());
                    let own = dense;
                    dense = padded.and_then(|p| dense.checked_mul(p)).ok_or_else(too_large)?;
                    own
                }
            };
            if shape[axis] < 0 || strides[axis] < 0 {
                return Err(error("shape", format!("`{name}` has a negative length or stride")));
            }
            let last = (shape[axis] - 1).max(0).checked_mul(strides[axis]);
            size = last.and_then(|l| size.checked_add(l)).ok_or_else(too_large)?;
        }
        if shape.contains(&0) {
            size = 0;
        }
        let size = usize::try_from(size).map_err(|_| too_large())?;
        let mut cells = cells(size).ok_or_else(|| {
            error(
                "memory-limit",
                format!("the array `{name}` has {size} elements, which memory does not hold"),
            )
        })?;
        if let Some(buffer) = self.inputs.arrays.get(name).filter(|_| argument) {
            if buffer.dtype() != dtype || buffer.len() < size {
                let (is, len) = (buffer.dtype(), buffer.len());
                return Err(error("argument", format!("`{name}` is {len} x {is}, not {size} x {dtype}")));
            }
            for (k, (cell, number)) in cells.iter_mut().zip(buffer.numbers()).enumerate() {
                let hash = self.hash(|| mix("cell", &[mix(name, &[]), k as u64]));
                *cell = Some(Val { number: number.cast(self.held(dtype)), hash });
            }
        }
        Ok(Store { dtype, shape, strides, cells, spreads: BTreeMap::new() })
    }

    fn outputs(self) -> Result<BTreeMap<Name, Buffer>, Diagnostic> {
        let written: BTreeSet<&Name> =
            self.kernel.instructions.iter().flat_map(|i| i.targets.iter().map(|t| &t.array)).collect();
        let mut outputs = BTreeMap::new();
        for arg in &self.kernel.args {
            let Arg::Array(array) = arg else { continue };
            let Some(store) = self.stores.get(&array.name).filter(|_| written.contains(&array.name)) else {
                continue;
            };
            let dtype = if self.mode == Mode::Hash { DType::U64 } else { self.held(store.dtype) };
            let given = self.inputs.arrays.get(&array.name).map_or(0, Buffer::len);
            let mut buffer = Buffer::zeros(dtype, store.cells.len().max(given));
            for k in 0..buffer.len() {
                // The storage beyond the last element is kept.
                let beyond = || self.inputs.arrays.get(&array.name)?.get(k);
                let number = match store.cells.get(k).copied().flatten() {
                    Some(value) if self.mode == Mode::Hash => Some(Number::U64(value.hash)),
                    Some(value) => Some(value.number),
                    None if self.mode == Mode::Hash => None,
                    None => beyond().map(|n| n.cast(dtype)),
                };
                if let Some(number) = number {
                    buffer.set(k, number);
                }
            }
            outputs.insert(array.name.clone(), buffer);
        }
        Ok(outputs)
    }

    /// The constraints that determine the values of an iname, given the inames around it: those
    /// that an instruction with it has and one without it does not.
    fn constraints(&self, around: &[Name], iname: &Name) -> Vec<&Constraint> {
        let mut found = Vec::new();
        for domain in &self.kernel.domains {
            let known = |n: &Name| !self.kernel.is_iname(n) || n == iname || around.contains(n);
            let before = |n: &Name| !self.kernel.is_iname(n) || around.contains(n);
            let entered = domain.inames.iter().any(|n| around.contains(n));
            for c in &domain.constraints {
                let names = c.names();
                let holds_before = entered && names.iter().all(before);
                let speaks = entered || domain.inames.contains(iname);
                if speaks && !holds_before && names.iter().all(known) {
                    found.push(c);
                }
            }
        }
        found
    }

    fn walk(&mut self, trees: &[Tree], around: &mut Vec<Name>) -> Result<(), Diagnostic> {
        for tree in trees {
            match tree {
                Tree::Leaf(part) => {
                    self.look_at_the_clock()?;
                    self.leaf(part)?;
                }
                Tree::Loop { iname, body } => {
                    let constraints = self.constraints(around, iname);
                    let values = points(iname, &constraints, &|n| self.integer(n))?;
                    around.push(iname.clone());
                    for value in values {
                        self.inames.insert(iname.clone(), value);
                        self.walk(body, around)?;
                    }
                    around.pop();
                    self.inames.remove(iname);
                }
            }
        }
        Ok(())
    }

    fn look_at_the_clock(&mut self) -> Result<(), Diagnostic> {
        let Some(deadline) = self.inputs.deadline else { return Ok(()) };
        if self.leaves.is_multiple_of(LEAVES_A_LOOK) && Instant::now() >= deadline {
            return Err(error(
                "out-of-time",
                "the time limit was reached before the declared kernel had finished",
            )
            .help("allow more time, or use a smaller problem"));
        }
        self.leaves += 1;
        Ok(())
    }

    /// The integer that a name in a constraint stands for: an iname, a scalar argument, a scalar
    /// temporary.
    fn integer(&self, name: &Name) -> Option<i64> {
        if let Some(value) = self.inames.get(name) {
            return Some(*value);
        }
        let dtype = self.table.scalar(name)?.known()?;
        self.name_value(name, dtype, &Scope::default()).ok()?.number.as_i64()
    }

    fn leaf(&mut self, part: &PartRef) -> Result<(), Diagnostic> {
        let number = self.numbers.get(&part.instruction).copied();
        let number =
            number.ok_or_else(|| error("unknown-name", format!("there is no instruction `{part}`")))?;
        let prepared = self.prepared.clone();
        let instruction = &prepared[number];
        if let Some(predicate) = &instruction.predicate {
            let holds = self.value(predicate, &Scope::default())?;
            if holds.number != Number::Bool(true) {
                return Ok(());
            }
        }
        match part.part {
            Part::Init(n) => self.init(number, n),
            Part::Update(n) => self.update(number, n),
            Part::Whole | Part::Finish => {
                let results = match &instruction.value {
                    Some(value) => {
                        let scope = Scope { locals: None, instruction: Some(number) };
                        vec![self.value(value, &scope)?]
                    }
                    // The reduction that is the whole value is numbered after those inside it.
                    None => self.results(number, instruction.reductions.len().saturating_sub(1))?,
                };
                if results.len() != instruction.targets.len() {
                    return Err(error(
                        "targets",
                        format!("the numbers of targets and results of `{part}` differ"),
                    ));
                }
                for ((array, index), value) in instruction.targets.iter().zip(results) {
                    match &instruction.update {
                        Some(op) => {
                            let own = instruction.combination.as_ref();
                            let combined = self.combined(op, own, (array, index), value)?;
                            let spread = self.spread(op, (array, index), value)?;
                            self.write(array, index, combined, spread)?;
                        }
                        None => self.write(array, index, value, None)?,
                    }
                }
                Ok(())
            }
        }
    }

    /// The value of a name of this type.
    pub fn name_value(&self, name: &Name, dtype: DType, scope: &Scope<'_>) -> Result<Val, Diagnostic> {
        if let Some(value) = scope.locals.and_then(|l| l.get(name)) {
            return Ok(*value);
        }
        if let Some(value) = self.inames.get(name) {
            return Ok(self.plain(Number::I64(*value).cast(dtype)));
        }
        if self.stores.contains_key(name) {
            return self.read(name, &[], scope);
        }
        match self.inputs.scalars.get(name) {
            Some(v) if v.dtype() == dtype => {
                let held = self.plain(v.cast(self.held(dtype)));
                let hash = self.hash(|| mix("scalar", &[mix(name, &[])]));
                Ok(if dtype.is_float() { Val { hash, ..held } } else { held })
            }
            _ if self.table.scalar(name).is_none() => {
                Err(error("unknown-name", format!("`{name}` has no value here")))
            }
            _ => Err(error("argument", format!("the scalar `{name}` of type {dtype} is missing"))),
        }
    }

    fn offset(&self, name: &Name, index: &[Typed], scope: &Scope<'_>) -> Result<usize, Diagnostic> {
        let store = self
            .stores
            .get(name)
            .ok_or_else(|| error("unknown-name", format!("there is no array `{name}`")))?;
        if index.len() != store.shape.len() {
            return Err(error("subscripts", format!("`{name}` has {} axes", store.shape.len())));
        }
        let mut offset = 0;
        for (n, e) in index.iter().enumerate() {
            let value = self.index(e, scope)?;
            if value < 0 || value >= store.shape[n] {
                let length = store.shape[n];
                let message = format!("subscript {n} of `{name}` is {value}, outside 0..{length}");
                return Err(error("out-of-bounds", message));
            }
            offset += value * store.strides[n];
        }
        Ok(offset as usize)
    }

    pub fn read(&self, array: &Name, index: &[Typed], scope: &Scope<'_>) -> Result<Val, Diagnostic> {
        let (value, spread) = self.held_at(array, index, scope)?;
        let (Some(seed), Some((offset, spread))) = (self.seed, spread) else { return Ok(value) };
        // Another right result: in either direction, by half of the bound up to all of it.
        let drawn = mix("order", &[seed, mix(array, &[]), offset as u64]);
        let part = 0.5 + (drawn >> 12) as f64 / 2f64.powi(53);
        let bound = spread.bound();
        let change = if bound.is_finite() { bound * part } else { 0.0 };
        let change = if drawn & 1 == 0 { change } else { -change };
        Ok(Val { number: Number::F64(value.number.as_f64() + change), ..value })
    }

    /// What an element holds, and what the order of its updates leaves open.
    fn held_at(
        &self,
        array: &Name,
        index: &[Typed],
        scope: &Scope<'_>,
    ) -> Result<(Val, Option<(usize, Spread)>), Diagnostic> {
        let offset = self.offset(array, index, scope)?;
        let store = self.stores.get(array);
        let cell = store.and_then(|s| s.cells.get(offset).copied().flatten());
        let spread = store.and_then(|s| Some((offset, *s.spreads.get(&offset)?)));
        let missing = || error("uninitialised-read", format!("`{array}` has no value at offset {offset}"));
        Ok((cell.ok_or_else(missing)?, spread))
    }

    /// What the order of updates leaves open of an element after one more, if it matters: a sum
    /// rounds more often, and a minimum or a maximum of what is within a bound is within it.
    fn spread(
        &self,
        op: &UpdateOp,
        (array, index): (&Name, &[Typed]),
        value: Val,
    ) -> Result<Option<Spread>, Diagnostic> {
        if self.mode != Mode::Wide {
            return Ok(None);
        }
        let (held, known) = self.held_at(array, index, &Scope::default())?;
        let known = known.map(|(_, spread)| spread);
        if *op != UpdateOp::Sum {
            return Ok(known);
        }
        let dtype = self.stores.get(array).map(|store| store.dtype);
        let known = known.or_else(|| Spread::new(dtype?, held.number.as_f64()));
        Ok(known.map(|spread| spread.updated(value.number.as_f64())))
    }

    /// The arrays with values that are computed of elements with a spread.
    fn affected(&self) -> BTreeSet<Name> {
        let mut found: BTreeSet<Name> = BTreeSet::new();
        let is_narrow = |name: &Name| self.stores.get(name).is_some_and(|s| s.dtype.is_narrow_float());
        let summed: BTreeSet<&Name> = self
            .kernel
            .instructions
            .iter()
            .filter(|i| i.update == Some(UpdateOp::Sum))
            .flat_map(|i| i.targets.iter().map(|t| &t.array))
            .filter(|array| is_narrow(array))
            .collect();
        loop {
            let before = found.len();
            for i in &self.kernel.instructions {
                if i.operands().iter().any(|name| summed.contains(name) || found.contains(name)) {
                    found.extend(i.targets.iter().map(|t| t.array.clone()));
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }

    /// What an element holds after an update by a value.
    fn combined(
        &self,
        op: &UpdateOp,
        own: Option<&(Combination, Typed)>,
        (array, index): (&Name, &[Typed]),
        value: Val,
    ) -> Result<Val, Diagnostic> {
        let (old, _) = self.held_at(array, index, &Scope::default())?;
        let value = value.cast(old.number.dtype());
        let operands = [old.number, value.number];
        let number = match (own, op.binary()) {
            (Some((of, combined)), _) => {
                let locals = [(of.held.clone(), old), (of.value.clone(), value)].into();
                self.value(combined, &Scope { locals: Some(&locals), instruction: None })?.number
            }
            (None, Some(op)) => binary(op, operands[0], operands[1])?,
            (None, None) => math(op.name(), &operands)?,
        };
        // A sum of hashes, in which the order of the updates does not show.
        let hash = self.hash(|| old.hash.wrapping_add(mix(&op.sign(), &[value.hash])));
        Ok(Val { number, hash })
    }

    fn write(
        &mut self,
        array: &Name,
        index: &[Typed],
        value: Val,
        spread: Option<Spread>,
    ) -> Result<(), Diagnostic> {
        let offset = self.offset(array, index, &Scope::default())?;
        let missing = || error("unknown-name", format!("there is no array `{array}`"));
        let dtype = self.held(self.stores.get(array).ok_or_else(missing)?.dtype);
        let Some(store) = self.stores.get_mut(array) else { return Ok(()) };
        if let Some(cell) = store.cells.get_mut(offset) {
            *cell = Some(value.cast(dtype));
        }
        match spread {
            Some(spread) => {
                store.spreads.insert(offset, spread);
            }
            None => {
                store.spreads.remove(&offset);
            }
        }
        Ok(())
    }
}
