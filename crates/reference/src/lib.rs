//! A plain interpreter of the *declared* kernel: the reference for every transformed, lowered and
//! printed form.
//!
//! It knows nothing of transforms, lowering or the emulator, and favours simplicity over speed. It
//! walks the declared loop tree. At a loop it finds every integer that satisfies the constraints of
//! the iname, given the surrounding inames and the data that they read at that moment; at a leaf it
//! executes the part: a whole instruction, a reduction's init, one update, or the finish.
//! Reductions are sequential.
//!
//! [`Mode`] determines the arithmetic:
//!
//! * `Exact`: in the types that the kernel gives its expressions (f16 and bf16 in f32), rounding at
//!   every operation.
//! * `Wide`: every floating-point value is an f64, even in arrays and temporaries: the reference
//!   for rounding errors.
//! * `Hash`: every value carries a hash of its derivation. An operation hashes the hashes of its
//!   operands; a commutative reduction is a wrapping sum of hashes, so that its order does not
//!   matter; any other reduction hashes its updates in order. The values themselves decide what
//!   runs and where (subscripts, bounds, predicates); two forms with equal hashes for all cells
//!   have computed the same from the same inputs.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod accumulator;
mod eval;
mod index;
mod machine;
mod points;
mod prepared;
mod spread;
mod val;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use loopwright_kernel_ir::{Buffer, DType, Diagnostic, LoopKernel, Name, Number};

pub use spread::Spread;

/// The arithmetic of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In the kernel's types, with their rounding and wrapping.
    Exact,
    /// Floating-point values as f64.
    Wide,
    /// With hashes alongside the values.
    Hash,
}

/// A user-defined device function, in Rust.
pub type Function = Arc<dyn Fn(&[Number]) -> Number + Send + Sync>;

/// The inputs of an interpreted kernel.
#[derive(Clone, Default)]
pub struct Inputs {
    /// Arrays by name, in their declared layouts. One that is missing has no values until the
    /// kernel writes it.
    pub arrays: BTreeMap<Name, Buffer>,
    /// Scalar arguments by name.
    pub scalars: BTreeMap<Name, Number>,
    /// The types bound to type parameters.
    pub types: BTreeMap<Name, DType>,
    /// The user's device functions.
    pub functions: BTreeMap<Name, Function>,
    /// The deadline, after which the run is refused with `out-of-time`; `None` for no time limit.
    pub deadline: Option<Instant>,
}

impl Inputs {
    /// No inputs yet; the methods add them.
    pub fn new() -> Inputs {
        Inputs::default()
    }

    /// With an array of these elements, which are not changed.
    pub fn array(mut self, name: impl Into<Name>, buffer: Buffer) -> Inputs {
        self.arrays.insert(name.into(), buffer);
        self
    }

    /// With a scalar of this value.
    pub fn scalar(mut self, name: impl Into<Name>, value: impl Into<Number>) -> Inputs {
        self.scalars.insert(name.into(), value.into());
        self
    }
}

/// The arrays that the declared kernel writes, after it has run: of their declared types in
/// [`Mode::Exact`], floating-point ones of f64 in [`Mode::Wide`], hashes of u64 in [`Mode::Hash`].
/// Cells that are not written keep their input, or are zero if there was none.
///
/// Errors: missing or mismatched inputs, subscripts out of range, reads of uninitialised cells,
/// inames without a bound, undefined operations (`integer-division` and the like), and a
/// [deadline](Inputs::deadline) that has passed.
pub fn interpret(
    kernel: &LoopKernel,
    inputs: &Inputs,
    mode: Mode,
) -> Result<BTreeMap<Name, Buffer>, Diagnostic> {
    machine::run(kernel.declared(), inputs, mode)
}

/// What the order of updates leaves open, of the arrays that [`interpret_any_order`] gives.
#[derive(Clone, Debug, Default)]
pub struct AnyOrder {
    /// The arrays, in [`Mode::Wide`].
    pub arrays: BTreeMap<Name, Buffer>,
    /// Of arrays with elements of `f16` or `bf16`, also temporaries, those elements that `+=` has
    /// updated since they were written, by their numbers.
    pub spreads: BTreeMap<Name, BTreeMap<usize, Spread>>,
    /// The arrays with values that are computed of such elements.
    pub affected: BTreeSet<Name>,
}

/// As [`interpret`] in [`Mode::Wide`], with what the order of updates leaves open. With a seed,
/// elements with a spread are read as another right result, drawn by it.
///
/// Errors: those of [`interpret`].
pub fn interpret_any_order(
    kernel: &LoopKernel,
    inputs: &Inputs,
    seed: Option<u64>,
) -> Result<AnyOrder, Diagnostic> {
    machine::run_any_order(kernel.declared(), inputs, seed)
}
