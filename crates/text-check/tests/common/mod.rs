//! Programs built by hand.

#![allow(dead_code)]

use loopwright_kernel_ir::{DType, Dim, Name, Part, PartRef, PerDim, Precision, Role};
use loopwright_program::*;

/// A program of one kernel: arrays as parameters, followed by scalars.
pub struct Builder {
    pub program: Program,
}

impl Builder {
    pub fn new(name: &str, index: DType, block: impl Into<PerDim<u32>>) -> Self {
        let one = || Value::int(index, 1);
        let kernel = DeviceKernel {
            name: name.into(),
            params: vec![],
            grid: PerDim::all(one()),
            block: block.into(),
            min_blocks_per_multiprocessor: None,
            early: false,
            in_order: None,
            vars: vec![],
            shared: vec![],
            private: vec![],
            body: vec![],
            notes: vec![],
        };
        let program = Program {
            name: name.into(),
            target: Target::default(),
            index,
            args: vec![],
            globals: vec![],
            kernels: vec![kernel],
            host: vec![HostStmt::Launch(0)],
            records: Vec::new(),
            coordinates: Vec::new(),
            leaves: vec![],
            functions: vec![],
            atoms: vec![],
            updates: vec![],
            look_backs: vec![],
            assumptions: vec![],
            facts: vec![],
        };
        Builder { program }
    }

    pub fn kernel(&mut self) -> &mut DeviceKernel {
        &mut self.program.kernels[0]
    }

    pub fn array(&mut self, name: &str, dtype: DType, size: Value, written: bool) -> Memory {
        let number = self.program.globals.len();
        self.program.globals.push(Global {
            hints: Default::default(),
            name: name.into(),
            dtype,
            shape: vec![size.clone()],
            strides: vec![Value::int(self.program.index, 1)],
            size,
            owner: Owner::Caller,
            read: !written,
            written,
        });
        self.program.args.push(ProgramArg::Array(number));
        self.kernel().params.push(Param::Global { global: number, written, exchanged: false });
        Memory::Global(number)
    }

    pub fn scalar(&mut self, name: &str, dtype: DType) -> Value {
        self.program.args.push(ProgramArg::Scalar(ScalarArg { name: name.into(), dtype }));
        self.kernel().params.push(Param::Scalar { name: name.into(), dtype });
        Value { dtype, kind: ValueKind::Param(name.into()) }
    }

    pub fn var(&mut self, name: &str, dtype: DType, mutable: bool) -> VarId {
        let vars = &mut self.kernel().vars;
        vars.push(Var { name: name.into(), dtype, mutable, meaning: None, within: None, index: false });
        VarId(vars.len() - 1)
    }

    pub fn push(&mut self, stmt: Stmt) {
        self.kernel().body.push(stmt);
    }

    pub fn leaf(&mut self, id: &str, role: Role, made_by: Option<&str>) -> Option<LeafId> {
        let part = PartRef { instruction: id.into(), part: Part::Whole };
        let (made_by, text) = (made_by.map(Name::new), id.to_string());
        self.program.leaves.push(Leaf {
            part,
            role,
            made_by,
            text,
            instances: None,
            purpose: Purpose::Value(0),
            only: Vec::new(),
            decided_by_data: false,
        });
        Some(LeafId(self.program.leaves.len() - 1))
    }
}

pub fn note(text: &str) -> Note {
    Note::new(text)
}

/// The element of a one-dimensional array.
pub fn at(memory: Memory, index: Value) -> MemRef {
    MemRef { memory, subscripts: vec![index.clone()], offset: Box::new(index) }
}

pub fn load(dtype: DType, from: MemRef) -> Value {
    Value { dtype, kind: ValueKind::Load(from) }
}

pub fn thread(index: DType) -> Value {
    Value { dtype: index, kind: ValueKind::ThreadIdx(Dim::X) }
}

pub fn block(index: DType) -> Value {
    Value { dtype: index, kind: ValueKind::BlockIdx(Dim::X) }
}

pub fn store(to: MemRef, value: Value) -> Stmt {
    Stmt::Store { to, value, leaf: None }
}

pub fn call(function: &str, dtype: DType, precision: Precision, args: Vec<Value>) -> Value {
    Value { dtype, kind: ValueKind::Call { function: function.into(), precision, args } }
}

pub fn float(dtype: DType, value: f64) -> Value {
    Value { dtype, kind: ValueKind::Float(value) }
}
