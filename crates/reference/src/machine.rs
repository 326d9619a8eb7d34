//! Walks the loop tree over arrays of values.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use loopwright_kernel_ir::{
    Access, Arg, Array, Buffer, Constraint, DType, Diagnostic, Expr, Instruction, LoopKernel, Name, Number,
    Part, PartRef, Tree, Type,
};

use crate::{
    Inputs, Mode,
    accumulator::Accumulator,
    points::points,
    types::computing,
    val::{Val, hash_of, mix},
};

/// An array: one storage for the whole run, temporaries too, since the declared kernel is one sequence of instances.
struct Store {
    dtype: DType,
    shape: Vec<i64>,
    strides: Vec<i64>,
    cells: Vec<Option<Val>>,
}

/// Names that mean something only inside of an operator, and the results of the reductions of the instruction at hand.
#[derive(Default)]
pub(crate) struct Scope<'s> {
    pub locals: Option<&'s BTreeMap<Name, Val>>,
    pub instruction: Option<&'s Instruction>,
}

pub(crate) struct Machine<'a> {
    pub kernel: &'a LoopKernel,
    pub inputs: &'a Inputs,
    mode: Mode,
    stores: BTreeMap<Name, Store>,
    inames: BTreeMap<Name, i64>,
    /// Instruction and number of a reduction: how it goes, and its state.
    pub accumulators: BTreeMap<(Name, usize), Accumulator>,
    /// Leaves that were executed.
    leaves: u64,
}

/// Leaves between two looks at the clock: less than a millisecond.
const LEAVES_A_LOOK: u64 = 256;

pub(crate) fn error(code: &'static str, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(code, message)
}

pub(crate) fn run(
    kernel: &LoopKernel,
    inputs: &Inputs,
    mode: Mode,
) -> Result<BTreeMap<Name, Buffer>, Diagnostic> {
    let mut machine = Machine {
        kernel,
        inputs,
        mode,
        stores: BTreeMap::new(),
        inames: BTreeMap::new(),
        accumulators: BTreeMap::new(),
        leaves: 0,
    };
    let arrays = kernel.args.iter().filter_map(|a| match a {
        Arg::Array(a) => Some((a, true)),
        Arg::Scalar(_) => None,
    });
    for (array, argument) in arrays.chain(kernel.temporaries.iter().map(|t| (t, false))) {
        let store = machine.store(array, argument)?;
        machine.stores.insert(array.name.clone(), store);
    }
    machine.walk(&kernel.tree, &mut Vec::new())?;
    machine.outputs()
}

impl Machine<'_> {
    /// How a value came about, where the mode keeps that.
    pub fn hash(&self, hash: impl FnOnce() -> u64) -> u64 {
        if self.mode == Mode::Hash { hash() } else { 0 }
    }

    /// A value that stands for itself.
    pub fn plain(&self, number: Number) -> Val {
        Val { number, hash: self.hash(|| hash_of(number)) }
    }

    /// The type in which values of a type are held.
    pub fn held(&self, dtype: DType) -> DType {
        if self.mode == Mode::Wide && dtype.is_float() { DType::F64 } else { dtype }
    }

    pub fn bound_type(&self, t: &Type) -> Result<DType, Diagnostic> {
        match t {
            Type::Known(t) => Ok(*t),
            Type::Open(name) => self
                .inputs
                .types
                .get(name)
                .copied()
                .ok_or_else(|| error("open-type", format!("the type `{name}` is not bound"))),
        }
    }

    /// An integer of parameters: a length or stride.
    fn length(&self, e: &Expr) -> Result<i64, Diagnostic> {
        let value = self.value(e, DType::I64, &Scope::default())?;
        value.number.as_i64().ok_or_else(|| error("shape", "a length is no integer"))
    }

    fn store(&self, array: &Array, argument: bool) -> Result<Store, Diagnostic> {
        let name = &array.name;
        let dtype = self.bound_type(&array.dtype)?;
        let shape = array.axes.iter().map(|a| self.length(&a.length)).collect::<Result<Vec<_>, _>>()?;
        // From the densest axis outwards, each default stride is the product of what lies inside.
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
        let mut cells = vec![None; size];
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
        Ok(Store { dtype, shape, strides, cells })
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
                // What the storage holds beyond the last element stays.
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

    /// The constraints that say which values an iname takes, given the inames around it: those of an instruction with it that an instruction
    /// without it has not.
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
            return Err(error("out-of-time", "the time was over before the declared kernel had run")
                .help("allow more time, or give a smaller problem"));
        }
        self.leaves += 1;
        Ok(())
    }

    /// The integer that a name in a constraint stands for: an iname, a scalar argument, a scalar temporary.
    fn integer(&self, name: &Name) -> Option<i64> {
        let value = self.name_value(name, &Scope::default()).ok()?;
        value.number.as_i64()
    }

    fn leaf(&mut self, part: &PartRef) -> Result<(), Diagnostic> {
        let kernel = self.kernel;
        let instruction = kernel
            .instruction(&part.instruction)
            .ok_or_else(|| error("unknown-name", format!("there is no instruction `{part}`")))?;
        if let Some(predicate) = &instruction.predicate {
            let holds = self.value(predicate, DType::Bool, &Scope::default())?;
            if holds.number != Number::Bool(true) {
                return Ok(());
            }
        }
        let scope = Scope { locals: None, instruction: Some(instruction) };
        match part.part {
            Part::Init(n) => self.init(instruction, n),
            Part::Update(n) => self.update(instruction, n),
            Part::Whole | Part::Finish => {
                if let ([_, _, ..], Expr::Reduce(r)) = (&instruction.targets[..], &instruction.value) {
                    let results = self.results(r, &scope)?;
                    if results.len() != instruction.targets.len() {
                        return Err(error("targets", format!("`{part}` has not as many targets as results")));
                    }
                    for (target, value) in instruction.targets.iter().zip(results) {
                        self.write(target, value)?;
                    }
                    return Ok(());
                }
                let [target] = &instruction.targets[..] else {
                    return Err(error("targets", format!("`{part}` needs one target")));
                };
                let dtype = self.element_type(&target.array)?;
                let value = self.value(&instruction.value, dtype, &scope)?;
                self.write(target, value)
            }
        }
    }

    pub fn element_type(&self, array: &Name) -> Result<DType, Diagnostic> {
        let unknown = || error("unknown-name", format!("there is no array `{array}`"));
        self.stores.get(array).map(|s| s.dtype).ok_or_else(unknown)
    }

    pub fn name_type(&self, name: &Name, scope: &Scope<'_>) -> Result<DType, Diagnostic> {
        if scope.locals.is_none_or(|l| !l.contains_key(name)) {
            if let Some(store) = self.stores.get(name) {
                return Ok(store.dtype);
            }
            // It may have no value yet: the types of a reduction are asked for before its loops.
            if self.kernel.is_iname(name) {
                return Ok(DType::I32);
            }
        }
        Ok(self.name_value(name, scope)?.number.dtype())
    }

    pub fn name_value(&self, name: &Name, scope: &Scope<'_>) -> Result<Val, Diagnostic> {
        if let Some(value) = scope.locals.and_then(|l| l.get(name)) {
            return Ok(*value);
        }
        if let Some(value) = self.inames.get(name) {
            let value = i32::try_from(*value)
                .map_err(|_| error("overflow", format!("`{name}` = {value} is beyond 32 bits")))?;
            return Ok(self.plain(Number::I32(value)));
        }
        if self.stores.contains_key(name) {
            return self.read(&Access { array: name.clone(), index: Vec::new() }, scope);
        }
        let declared = self.kernel.args.iter().find_map(|a| match a {
            Arg::Scalar(s) if s.name == *name => Some(&s.dtype),
            _ => None,
        });
        let Some(dtype) = declared else {
            return Err(error("unknown-name", format!("`{name}` has no value here")));
        };
        let dtype = self.bound_type(dtype)?;
        match self.inputs.scalars.get(name) {
            Some(v) if v.dtype() == dtype => {
                let held = self.plain(v.cast(self.held(computing(dtype))));
                let hash = self.hash(|| mix("scalar", &[mix(name, &[])]));
                Ok(if dtype.is_float() { Val { hash, ..held } } else { held })
            }
            _ => Err(error("argument", format!("the scalar `{name}` of type {dtype} is missing"))),
        }
    }

    fn offset(&self, access: &Access, scope: &Scope<'_>) -> Result<usize, Diagnostic> {
        let name = &access.array;
        let store = self
            .stores
            .get(name)
            .ok_or_else(|| error("unknown-name", format!("there is no array `{name}`")))?;
        if access.index.len() != store.shape.len() {
            return Err(error("subscripts", format!("`{name}` has {} axes", store.shape.len())));
        }
        let mut offset = 0;
        for (n, e) in access.index.iter().enumerate() {
            let value = self.value(e, DType::I64, scope)?.number.as_i64().unwrap_or(-1);
            if value < 0 || value >= store.shape[n] {
                let length = store.shape[n];
                let message = format!("subscript {n} of `{name}` is {value}, outside of 0..{length}");
                return Err(error("out-of-bounds", message));
            }
            offset += value * store.strides[n];
        }
        Ok(offset as usize)
    }

    pub fn read(&self, access: &Access, scope: &Scope<'_>) -> Result<Val, Diagnostic> {
        let offset = self.offset(access, scope)?;
        let cell = self.stores.get(&access.array).and_then(|s| s.cells.get(offset).copied().flatten());
        cell.ok_or_else(|| {
            error("uninitialised-read", format!("`{}` has no value at offset {offset}", access.array))
        })
    }

    fn write(&mut self, target: &Access, value: Val) -> Result<(), Diagnostic> {
        let offset = self.offset(target, &Scope::default())?;
        let dtype = self.held(self.element_type(&target.array)?);
        if let Some(cell) = self.stores.get_mut(&target.array).and_then(|s| s.cells.get_mut(offset)) {
            *cell = Some(value.cast(dtype));
        }
        Ok(())
    }
}
