//! Resolves names, and the types of values that follow from them. Printing omits what reading fills
//! in, so that both use these tables.

use std::collections::HashMap;

use loopwright_kernel_ir::{DType, Name, PartRef, math_function};
use loopwright_target::Target;

use super::layout::Layout;
use crate::{
    BinOp, DeclaredLookBack, DeclaredUpdate, DeviceKernel, Global, HostStmt, LeafId, LocalArray, Memory,
    Param, Program, ProgramArg, Value, ValueKind, VarId,
};

/// An array, as far as accesses need it.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub name: Name,
    pub dtype: DType,
    pub layout: Layout,
}

/// The names in scope in a program, or in one of its kernels.
#[derive(Clone, Debug)]
pub(super) struct Names {
    pub index: DType,
    pub target: Target,
    arrays: HashMap<Name, Memory>,
    held: HashMap<Memory, Held>,
    /// Variables by name, in their order: names are unique only within a scope.
    variables: HashMap<Name, Vec<VarId>>,
    types: Vec<DType>,
    scalars: HashMap<Name, DType>,
    functions: HashMap<Name, DType>,
    /// The names of declared updates, in their order.
    pub updates: Vec<Name>,
    /// The names of declared look-backs, in their order.
    pub look_backs: Vec<Name>,
    /// Leaves by the name of their part, in order.
    parts: HashMap<PartRef, Vec<LeafId>>,
}

impl Names {
    pub fn new(index: DType) -> Names {
        Names {
            index,
            target: Target::default(),
            arrays: HashMap::new(),
            held: HashMap::new(),
            variables: HashMap::new(),
            types: Vec::new(),
            scalars: HashMap::new(),
            functions: HashMap::new(),
            updates: Vec::new(),
            look_backs: Vec::new(),
            parts: HashMap::new(),
        }
    }

    /// The names of a program, without those of its kernels.
    pub fn of(program: &Program) -> Names {
        let mut names = Names { target: program.target, ..Names::new(program.index) };
        for arg in &program.args {
            if let ProgramArg::Scalar(s) = arg {
                names.scalar(s.name.clone(), s.dtype);
            }
        }
        for function in &program.functions {
            names.function(function.name.clone(), function.result);
        }
        names.updates.extend(program.updates.iter().map(|update| update.name.clone()));
        names.look_backs.extend(program.look_backs.iter().map(|of| of.name.clone()));
        for (k, global) in program.globals.iter().enumerate() {
            names.global(k, global);
        }
        for (k, leaf) in program.leaves.iter().enumerate() {
            names.leaf(leaf.part.clone(), LeafId(k));
        }
        names.host(&program.host);
        names
    }

    fn host(&mut self, body: &[HostStmt]) {
        for stmt in body {
            if let HostStmt::For { var, body, .. } = stmt {
                self.scalar(var.clone(), self.index);
                self.host(body);
            }
        }
    }

    /// The names that a declared update of elements of a type may use.
    pub fn of_update(&self, dtype: DType) -> Names {
        self.of_function(DeclaredUpdate::NAMES.map(|name| (name.to_string(), dtype)))
    }

    /// The names that a declared look-back of states of these types may use.
    pub fn of_look_back(&self, state: &[DType]) -> Names {
        let types = state.iter().chain(state).copied();
        self.of_function(DeclaredLookBack::names(state.len()).into_iter().zip(types))
    }

    /// Those of a function of some variables.
    fn of_function(&self, variables: impl IntoIterator<Item = (String, DType)>) -> Names {
        let mut names =
            Names { target: self.target, functions: self.functions.clone(), ..Names::new(self.index) };
        for (name, dtype) in variables {
            names.variable(name.into(), dtype);
        }
        names
    }

    /// Adds the names of a kernel.
    pub fn within(&self, kernel: &DeviceKernel) -> Names {
        let mut names = self.clone();
        for param in &kernel.params {
            match param {
                Param::Global { .. } => {}
                Param::Scalar { name, dtype } => names.scalar(name.clone(), *dtype),
                Param::HostVar(name) => names.scalar(name.clone(), self.index),
            }
        }
        for var in &kernel.vars {
            names.variable(var.name.clone(), var.dtype);
        }
        for (k, array) in kernel.shared.iter().enumerate() {
            names.local(Memory::Shared(k), array);
        }
        for (k, array) in kernel.private.iter().enumerate() {
            names.local(Memory::Private(k), array);
        }
        names
    }

    pub fn scalar(&mut self, name: Name, dtype: DType) {
        self.scalars.insert(name, dtype);
    }

    pub fn function(&mut self, name: Name, result: DType) {
        self.functions.insert(name, result);
    }

    /// Brings a variable of the kernel into scope.
    pub fn variable(&mut self, name: Name, dtype: DType) {
        self.variables.entry(name).or_default().push(VarId(self.types.len()));
        self.types.push(dtype);
    }

    pub fn leaf(&mut self, part: PartRef, leaf: LeafId) {
        self.parts.entry(part).or_default().push(leaf);
    }

    pub fn global(&mut self, number: usize, global: &Global) {
        let layout = Layout::of(&global.shape, &global.strides, self.index);
        self.array(Memory::Global(number), &global.name, global.dtype, layout);
    }

    pub fn local(&mut self, memory: Memory, array: &LocalArray) {
        let layout = Layout::of_local(array, self.index);
        self.array(memory, &array.name, array.dtype, layout);
    }

    fn array(&mut self, memory: Memory, name: &Name, dtype: DType, layout: Layout) {
        self.arrays.insert(name.clone(), memory);
        self.held.insert(memory, Held { name: name.clone(), dtype, layout });
    }

    pub fn memory_of(&self, name: &str) -> Option<Memory> {
        self.arrays.get(name).copied()
    }

    pub fn held(&self, memory: Memory) -> Option<&Held> {
        self.held.get(&memory)
    }

    /// The variables of this name, in their order: `i`, `i.1`, `i.2`.
    pub fn variables_of(&self, name: &str) -> &[VarId] {
        self.variables.get(name).map_or(&[], Vec::as_slice)
    }

    pub fn type_of(&self, var: VarId) -> Option<DType> {
        self.types.get(var.0).copied()
    }

    pub fn scalar_of(&self, name: &str) -> Option<DType> {
        self.scalars.get(name).copied()
    }

    pub fn leaves_of(&self, part: &PartRef) -> &[LeafId] {
        self.parts.get(part).map_or(&[], Vec::as_slice)
    }

    pub fn parts(&self) -> impl Iterator<Item = &PartRef> {
        self.parts.keys()
    }

    /// The names that may occur in a value, in alphabetical order.
    pub fn in_values(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .variables
            .keys()
            .chain(self.scalars.keys())
            .chain(self.arrays.keys())
            .map(|n| &**n)
            .collect();
        names.sort_unstable();
        names
    }

    pub fn array_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.arrays.keys().map(|n| &**n).collect();
        names.sort_unstable();
        names
    }

    pub fn variable_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.variables.keys().map(|n| &**n).collect();
        names.sort_unstable();
        names
    }

    /// The type of a value of this kind, if it follows from its operands.
    pub fn derived(&self, kind: &ValueKind) -> Option<DType> {
        match kind {
            // The text gives the type of these.
            ValueKind::Int(_) | ValueKind::Float(_) | ValueKind::Cast(_) => None,
            ValueKind::Bool(_) | ValueKind::Any(_) => Some(DType::Bool),
            ValueKind::Var(var) => self.type_of(*var),
            ValueKind::Param(name) => self.scalar_of(name),
            ValueKind::BlockIdx(_) | ValueKind::ThreadIdx(_) => Some(self.index),
            ValueKind::Load(element) => self.held(element.memory).map(|h| h.dtype),
            ValueKind::Unary(_, a) | ValueKind::Select(_, a, _) | ValueKind::Shuffle { value: a, .. } => {
                Some(a.dtype)
            }
            ValueKind::Binary(op, a, _) => Some(if op.is_comparison() { DType::Bool } else { a.dtype }),
            ValueKind::Call { function, args, .. } => {
                let math = math_function(function).filter(|_| is_math(function));
                match (math, self.functions.get(function)) {
                    (Some(math), _) => math.of_operands(args).map(|a| math.result_of(a.dtype)),
                    (None, Some(result)) => Some(*result),
                    _ => args.first().map(|a| a.dtype),
                }
            }
            ValueKind::Ballot(_) => Some(Value::ballot_type(&self.target)),
            ValueKind::LeadingZeros(_) => Some(DType::I32),
        }
    }
}

/// Whether a call of this name calls a math function rather than a user-defined one.
pub(super) fn is_math(function: &str) -> bool {
    math_function(function).is_some() && !["min", "max", "lowest", "highest"].contains(&function)
}

/// The operators that are written as calls.
pub(super) const CALLED: [(BinOp, &str); 2] = [(BinOp::Min, "min"), (BinOp::Max, "max")];
