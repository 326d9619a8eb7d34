//! Instructions.

use std::{collections::BTreeMap, sync::Arc};

use loopwright_poly::{Aff, Name};
use serde::{Deserialize, Serialize};

use crate::{Expr, Reduce};

/// An element of an array, or a scalar temporary (no subscripts).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Access {
    /// The array or temporary.
    pub array: Name,
    /// One subscript an axis.
    pub index: Vec<Expr>,
}

/// What an instruction is to the declared kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// It does instances of the declared instruction of this id.
    Does(Name),
    /// It copies cells of `source` for the declared reads that its copies serve.
    Copies {
        /// The array that is copied.
        source: Name,
    },
}

/// One instruction: `target = value` for each instance of its inames, where its predicate holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Instruction {
    /// Unique in the kernel.
    pub id: Name,
    /// What is written: one, or as many as a reduction delivers.
    pub targets: Vec<Access>,
    /// What is computed.
    pub value: Expr,
    /// Where false, nothing is read or written.
    pub predicate: Option<Expr>,
    /// The inames around it, outermost first, without those of its reductions. Split inames are replaced by their parts.
    pub within: Vec<Name>,
    /// What it is to the declared kernel.
    pub role: Role,
    /// For declared inames that this instruction goes through under other names (after duplicate or rename): their value.
    /// Declared inames without an entry stand for themselves, through the kernel's definitions.
    pub map: BTreeMap<Name, Aff>,
    /// Instructions that the user asked to come before it (loopy's `dep=`); the order of the text has to agree.
    pub after: Vec<Name>,
    /// The transform that made it, for comments; `None` for a declared one.
    pub made_by: Option<Name>,
}

impl Instruction {
    /// Its reductions in the order of their numbers.
    pub fn reductions(&self) -> Vec<Arc<Reduce>> {
        self.value.reductions()
    }
}
