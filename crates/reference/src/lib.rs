//! A plain interpreter of the *declared* kernel: what every transformed, lowered and printed form
//! is compared with.
//!
//! It knows nothing of transforms, lowering or the emulator, and is slow on purpose. It walks the
//! declared loop tree. At a loop it finds every integer that satisfies the constraints of the
//! iname, given the inames around it and the data that they read at that moment; at a leaf it does
//! what the part says: a whole instruction, a reduction's init, one update, or the finish.
//! Reductions are sequential.
//!
//! [`Mode`] says in what it computes:
//!
//! * `Exact`: in the types that the kernel gives its expressions (f16 and bf16 in f32), rounding at
//!   every operation.
//! * `Wide`: every floating-point value is an f64, also in arrays and temporaries: the reference
//!   for errors.
//! * `Hash`: every value carries a hash of how it came about. An operation hashes the hashes of its
//!   operands; a commuting reduction is a wrapping sum of hashes, so that its order does not
//!   matter; any other reduction hashes its updates in their order. The values beside the hashes
//!   decide what runs and where (subscripts, bounds, predicates); two forms that give equal hashes
//!   for all cells have computed the same from the same.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod accumulator;
mod eval;
mod machine;
mod points;
mod prepared;
mod val;

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use loopwright_kernel_ir::{Buffer, DType, Diagnostic, LoopKernel, Name, Number};

/// In what the reference computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In the kernel's types.
    Exact,
    /// Floating-point values as f64.
    Wide,
    /// With hashes beside the values.
    Hash,
}

/// A device function of the user's, in Rust.
pub type Function = Arc<dyn Fn(&[Number]) -> Number + Send + Sync>;

/// What a kernel is interpreted over.
#[derive(Clone, Default)]
pub struct Inputs {
    /// Arrays by name, in their declared layouts. One that is missing has no values until the
    /// kernel writes it.
    pub arrays: BTreeMap<Name, Buffer>,
    /// Scalar arguments by name.
    pub scalars: BTreeMap<Name, Number>,
    /// What type parameters stand for.
    pub types: BTreeMap<Name, DType>,
    /// The user's device functions.
    pub functions: BTreeMap<Name, Function>,
    /// When to give up, with the refusal `out-of-time`; none where the run may take as long as it
    /// takes.
    pub deadline: Option<Instant>,
}

impl Inputs {
    /// No inputs.
    pub fn new() -> Inputs {
        Inputs::default()
    }

    /// With an array.
    pub fn array(mut self, name: impl Into<Name>, buffer: Buffer) -> Inputs {
        self.arrays.insert(name.into(), buffer);
        self
    }

    /// With a scalar.
    pub fn scalar(mut self, name: impl Into<Name>, value: impl Into<Number>) -> Inputs {
        self.scalars.insert(name.into(), value.into());
        self
    }
}

/// The arrays that the declared kernel writes, after it has run: of their declared types in
/// [`Mode::Exact`], floating-point ones of f64 in [`Mode::Wide`], hashes of u64 in [`Mode::Hash`].
/// Cells that are not written keep their input, or are zero where there was none.
///
/// Errors: missing or unfitting inputs, subscripts out of range, reads of what has no value, inames
/// without a bound, whatever has no meaning (`integer-division` and the like), and a
/// [deadline](Inputs::deadline) that has passed.
pub fn interpret(
    kernel: &LoopKernel,
    inputs: &Inputs,
    mode: Mode,
) -> Result<BTreeMap<Name, Buffer>, Diagnostic> {
    machine::run(kernel.declared(), inputs, mode)
}
