//! Where an accumulator's state is stored: a cell for each of its values.

use loopwright_kernel_ir::DType;

use crate::program::{LeafId, MemRef, Stmt, Value, ValueKind, VarId};

/// A value of an accumulator's state in one thread and lane.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Var(VarId),
    Element(MemRef),
}

impl Cell {
    pub fn value(&self, dtype: DType) -> Value {
        match self {
            Cell::Var(var) => Value::var(dtype, *var),
            Cell::Element(e) => Value { dtype, kind: ValueKind::Load(e.clone()) },
        }
    }

    pub fn set(&self, value: Value, leaf: Option<LeafId>) -> Stmt {
        match self {
            Cell::Var(var) => Stmt::Set { var: *var, value, leaf },
            Cell::Element(to) => Stmt::Store { to: to.clone(), value, leaf },
        }
    }
}
