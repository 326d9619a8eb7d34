//! Helpers for writing lowered programs by hand.
#![allow(dead_code, missing_docs)]

use loopwright_kernel_ir::{DType, Dim, Name, Part, PartRef, PerDim, Role};
use loopwright_program::*;

pub const I: DType = DType::I32;
pub const F: DType = DType::F32;

pub fn int(v: i64) -> Value {
    Value::int(I, v)
}
pub fn float(dtype: DType, v: f64) -> Value {
    Value { dtype, kind: ValueKind::Float(v) }
}
pub fn truth(v: bool) -> Value {
    Value { dtype: DType::Bool, kind: ValueKind::Bool(v) }
}
pub fn param(name: &str) -> Value {
    Value { dtype: I, kind: ValueKind::Param(Name::new(name)) }
}
pub fn tid(axis: u8) -> Value {
    Value { dtype: I, kind: ValueKind::ThreadIdx(Dim::try_from(axis).unwrap()) }
}
pub fn bid(axis: u8) -> Value {
    Value { dtype: I, kind: ValueKind::BlockIdx(Dim::try_from(axis).unwrap()) }
}
pub fn bin(op: BinOp, a: Value, b: Value) -> Value {
    Value::binary(op, a, b)
}
pub fn add(a: Value, b: Value) -> Value {
    bin(BinOp::Add, a, b)
}
pub fn mul(a: Value, b: Value) -> Value {
    bin(BinOp::Mul, a, b)
}
pub fn sub(a: Value, b: Value) -> Value {
    bin(BinOp::Sub, a, b)
}
pub fn lt(a: Value, b: Value) -> Value {
    bin(BinOp::Lt, a, b)
}
pub fn select(c: Value, a: Value, b: Value) -> Value {
    Value { dtype: a.dtype, kind: ValueKind::Select(c.into(), a.into(), b.into()) }
}
pub fn call(dtype: DType, f: &str, args: Vec<Value>) -> Value {
    let precision = loopwright_kernel_ir::Precision::Precise;
    Value { dtype, kind: ValueKind::Call { function: Name::new(f), precision, args } }
}
pub fn shuffle(mode: ShuffleMode, value: Value, operand: Value, width: u32) -> Value {
    let dtype = value.dtype;
    Value { dtype, kind: ValueKind::Shuffle { mode, value: value.into(), operand: operand.into(), width } }
}
/// A memory reference; the offset is computed from the subscripts and strides.
pub fn cell(memory: Memory, subscripts: Vec<Value>, strides: &[Value]) -> MemRef {
    let mut offset: Option<Value> = None;
    for (s, stride) in subscripts.iter().zip(strides) {
        let term = if stride.as_int() == Some(1) { s.clone() } else { mul(s.clone(), stride.clone()) };
        offset = Some(match offset {
            None => term,
            Some(o) => add(o, term),
        });
    }
    MemRef { memory, subscripts, offset: offset.unwrap_or(int(0)).into() }
}
pub fn at(memory: Memory, subscript: Value) -> MemRef {
    cell(memory, vec![subscript], &[int(1)])
}
pub fn load(dtype: DType, from: MemRef) -> Value {
    Value { dtype, kind: ValueKind::Load(from) }
}
pub fn var(dtype: DType, v: usize) -> Value {
    Value::var(dtype, VarId(v))
}
pub fn let_(v: usize, value: Value) -> Stmt {
    Stmt::Let { var: VarId(v), value, leaf: None }
}
pub fn set(v: usize, value: Value) -> Stmt {
    Stmt::Set { var: VarId(v), value, leaf: None }
}
pub fn store(to: MemRef, value: Value, leaf: usize) -> Stmt {
    Stmt::Store { to, value, leaf: Some(LeafId(leaf)) }
}
pub fn barrier() -> Stmt {
    Stmt::Sync { scope: Scope::Block, note: Note::default() }
}
pub fn if_(cond: Value, body: Vec<Stmt>) -> Stmt {
    Stmt::If { cond, body, otherwise: vec![], note: Note::default() }
}
pub fn for_(v: usize, lower: Value, upper: Value, body: Vec<Stmt>) -> Stmt {
    let (var, step, note) = (VarId(v), Step::Add(1), Note::default());
    Stmt::For { var, lower, upper, step, unroll: false, body, note }
}
pub fn variable(name: &str, dtype: DType, mutable: bool) -> Var {
    Var { name: Name::new(name), dtype, mutable, meaning: None, within: None, index: false }
}
pub fn local(name: &str, dtype: DType, dims: &[u64]) -> LocalArray {
    LocalArray { name: Name::new(name), dtype, dims: dims.to_vec(), layout: None, note: String::new() }
}
/// A row-major array argument.
pub fn global(name: &str, dtype: DType, shape: Vec<Value>) -> Global {
    let mut strides = vec![int(1); shape.len()];
    for k in (1..shape.len()).rev() {
        strides[k - 1] = mul(strides[k].clone(), shape[k].clone());
    }
    let size = shape.iter().cloned().reduce(mul).unwrap_or(int(1));
    Global {
        name: Name::new(name),
        dtype,
        shape,
        strides,
        size,
        owner: Owner::Caller,
        read: true,
        written: true,
        hints: Default::default(),
    }
}
pub fn leaf(id: &str, text: &str) -> Leaf {
    Leaf {
        part: PartRef { instruction: Name::new(id), part: Part::Whole },
        role: Role::Does(Name::new(id)),
        made_by: None,
        text: text.to_owned(),
        instances: None,
        purpose: Purpose::Value(0),
        only: Vec::new(),
        decided_by_data: false,
    }
}
pub fn kernel(
    grid: impl Into<PerDim<Value>>,
    block: impl Into<PerDim<u32>>,
    body: Vec<Stmt>,
) -> DeviceKernel {
    let (vars, shared, private) = (vec![], vec![], vec![]);
    DeviceKernel {
        name: Name::new("k"),
        params: vec![],
        grid: grid.into(),
        block: block.into(),
        min_blocks_per_multiprocessor: None,
        early: false,
        in_order: None,
        vars,
        shared,
        private,
        body,
        notes: vec![],
    }
}
/// A program with one launch; the scalars named in `scalars` are I32 arguments.
pub fn program(globals: Vec<Global>, scalars: &[&str], kernel: DeviceKernel) -> Program {
    let mut args: Vec<_> = (0..globals.len()).map(ProgramArg::Array).collect();
    args.extend(scalars.iter().map(|s| ProgramArg::Scalar(ScalarArg { name: Name::new(s), dtype: I })));
    Program {
        name: Name::new("p"),
        target: Target::default(),
        index: I,
        args,
        globals,
        kernels: vec![kernel],
        host: vec![HostStmt::Launch(0)],
        records: Vec::new(),
        coordinates: Vec::new(),
        leaves: vec![leaf("first", "first text"), leaf("second", "second text")],
        functions: vec![],
        atoms: vec![],
        updates: vec![],
        look_backs: vec![],
        assumptions: vec![],
        facts: vec![],
    }
}
