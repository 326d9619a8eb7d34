//! Atoms: hardware instructions described as tiny kernels.
//!
//! An [`Atom`] is text (`atoms/*.atoms`): its *meaning*, a product over a box of `m`, `n` and `k`
//! (`d[m, n] += a[m, k] * b[n, k]`); for each operand its type and its *placement*, the layout that
//! takes (lane, register) to a position of the operand's tile, column by column; its *executor*,
//! the threads that run it together; the architecture that introduced it; and the instruction that
//! is printed. Steps, lowering, the final check, the emulator and the printer all read this
//! description, and none of them knows an instruction by name.
//!
//! Invariants: a placement holds each position of its tile at least once and no other; the
//! placement of `d` holds each exactly once, so that each value of the result has one owner; the
//! numbers of a placement are digits: on one axis, each is a multiple of the product of those
//! below it.
//!
//! ```
//! use loopwright_atom::{Atom, Operand};
//!
//! let atom = Atom::named("mma_m16n8k16_bf16").ok_or("no such atom")?;
//! assert_eq!(atom.shape(), [16, 8, 16]);
//! // Lane 5 holds in its third element of `a` what is in row 9 and column 2.
//! assert_eq!(atom.position(Operand::A, 5, 2), (9, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod matching;
mod parse;

use std::sync::LazyLock;

use loopwright_kernel_ir::DType;

pub use matching::{Factors, Subscript, matching};
pub use parse::parse_atoms;

/// The number of threads that run an atom of a warp together.
pub const WARP: i64 = 32;

/// An operand of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The left factor, over `m` and `k`.
    A,
    /// The right factor, over `n` and `k`.
    B,
    /// The accumulator, over `m` and `n`.
    D,
}

impl Operand {
    /// All of them.
    pub const ALL: [Operand; 3] = [Operand::A, Operand::B, Operand::D];

    /// The axes of its tile, rows first, as indices into [`Atom::shape`].
    pub fn axes(self) -> [usize; 2] {
        match self {
            Operand::A => [0, 2],
            Operand::B => [1, 2],
            Operand::D => [0, 1],
        }
    }

    /// Its name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Operand::A => "a",
            Operand::B => "b",
            Operand::D => "d",
        }
    }
}

/// A digit of a lane's or a register's number: the coordinate on an axis grows by `weight` with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digit {
    /// The number of its values.
    pub extent: i64,
    /// The axis, as an index into [`Atom::shape`].
    pub axis: usize,
    /// By how much the coordinate grows when the digit grows by one.
    pub weight: i64,
}

/// Where an operand lies: the digits of the lane's number and of the element's number in the lane,
/// least significant first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The type of its elements.
    pub dtype: DType,
    /// The digits of the lane's number.
    pub lane: Vec<Digit>,
    /// The digits of the number of the element among those of the lane.
    pub element: Vec<Digit>,
}

impl Placement {
    /// The number of elements that a lane holds.
    pub fn elements(&self) -> i64 {
        self.element.iter().map(|d| d.extent).product()
    }
}

/// The coordinates that a number has by its digits, on these axes.
fn coordinates(digits: &[Digit], mut number: i64, at: &mut [i64; 3]) {
    for digit in digits {
        at[digit.axis] += digit.weight * (number % digit.extent);
        number /= digit.extent;
    }
}

/// A hardware instruction. See the crate's documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    name: String,
    shape: [i64; 3],
    operands: [Placement; 3],
    since: u32,
    ptx: String,
}

impl Atom {
    /// The built-in atom with this name.
    pub fn named(name: &str) -> Option<&'static Atom> {
        built_in().iter().find(|atom| atom.name == name)
    }

    /// The names of the built-in atoms.
    pub fn names() -> impl Iterator<Item = &'static str> {
        built_in().iter().map(|atom| atom.name.as_str())
    }

    /// Its name, which is also that of the function by which it is printed.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The extents of `m`, `n` and `k`.
    pub fn shape(&self) -> [i64; 3] {
        self.shape
    }

    /// The first architecture that has it, as 80 for sm_80.
    pub fn since(&self) -> u32 {
        self.since
    }

    /// The instruction, without its operands.
    pub fn ptx(&self) -> &str {
        &self.ptx
    }

    /// The placement of an operand.
    pub fn operand(&self, operand: Operand) -> &Placement {
        match operand {
            Operand::A => &self.operands[0],
            Operand::B => &self.operands[1],
            Operand::D => &self.operands[2],
        }
    }

    /// Row and column of the element of this number that a lane holds.
    pub fn position(&self, operand: Operand, lane: i64, element: i64) -> (i64, i64) {
        let placement = self.operand(operand);
        let mut at = [0; 3];
        coordinates(&placement.lane, lane, &mut at);
        coordinates(&placement.element, element, &mut at);
        let [row, column] = operand.axes();
        (at[row], at[column])
    }

    /// A lane and an element's number where this row and column of an operand are held.
    pub fn holder(&self, operand: Operand, at: (i64, i64)) -> Option<(i64, i64)> {
        let elements = self.operand(operand).elements();
        (0..WARP)
            .flat_map(|lane| (0..elements).map(move |element| (lane, element)))
            .find(|(lane, element)| self.position(operand, *lane, *element) == at)
    }
}

/// Errors in the built-in texts would be noticed by the tests of this crate.
fn built_in() -> &'static [Atom] {
    static ATOMS: LazyLock<Vec<Atom>> =
        LazyLock::new(|| parse_atoms(include_str!("../atoms/mma.atoms")).unwrap_or_default());
    &ATOMS
}
