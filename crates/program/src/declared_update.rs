//! Updates of elements by operators of the kernel's own.

use loopwright_kernel_ir::{DType, Name};

use crate::{Value, VarId};

/// An atomic update for which devices have no function of their own: they compute what the element
/// holds afterwards, and exchange it by compare-and-swap until nothing came between.
///
/// Updates of an element by one of these run in any order. That the order does not matter is known
/// of the kernel's operator, with which the final check compares the function; a program by itself
/// states it.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredUpdate {
    /// The name of the device function that does it. No other item of the program has it.
    pub name: Name,
    /// The type of the element and of the operand: numbers of 32 or 64 bits.
    pub dtype: DType,
    /// What the element holds afterwards, over the variables [`Self::HELD`] and [`Self::VALUE`],
    /// and no others.
    pub combined: Value,
}

impl DeclaredUpdate {
    /// What the element holds before, in [`Self::combined`].
    pub const HELD: VarId = VarId(0);

    /// The operand, in [`Self::combined`].
    pub const VALUE: VarId = VarId(1);

    /// The names of the two variables, in their order.
    pub const NAMES: [&'static str; 2] = ["held", "value"];
}
