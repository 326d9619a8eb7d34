//! The values of constant tables.

use std::sync::Arc;

use loopwright_kernel_ir::Number;

/// The elements of a constant table, row by row. Two are equal if their bits are: NaNs too.
#[derive(Clone, Debug)]
pub struct Table(pub Arc<[Number]>);

impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        let bits = |table: &Table| table.0.iter().map(|n| (n.dtype(), n.bits())).collect::<Vec<_>>();
        bits(self) == bits(other)
    }
}

impl Eq for Table {}
