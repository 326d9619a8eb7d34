//! Atoms: hardware instructions described as tiny kernels.
//!
//! An [`Atom`] is text: its *meaning*, a product over a box of `m`, `n` and `k`
//! (`d[m, n] += a[m, k] * b[n, k]`); for each operand its type and its *placement*, the layout that
//! takes (lane, register) to a position of the operand's tile, column by column; its *executor*,
//! the threads that run it together; the architecture that introduced it; and the instruction that
//! is printed. A kernel's text may declare atoms of its own; the crate `loopwright-atom` has those
//! of the library. Steps, lowering, the final check, the emulator and the printer all read this
//! description, and none of them knows an instruction by name.
//!
//! Invariants: a placement holds each position of its tile exactly once, so that each value of the
//! result has one owner; the numbers of a placement are digits: on one axis, each is a multiple of
//! the product of those below it; the types are ones that the emulator adds and the printer passes.
//!
//! Of a factor, groups of lanes may hold a copy each: digits of the lane's number whose stride is 0
//! number the copies, and each copy is whole. A lane's results are made of the copy that has its
//! own number. So four instructions of eight lanes each, which the lanes of a warp run side by
//! side (`mma.m8n8k4` of f16), are one atom with factors that two of them share.

mod parse;

use std::{fmt, sync::Arc};

use loopwright_layout::Layout;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{DType, Instruction, KernelData, Name};

pub use parse::{WrongAtom, parse_atoms};

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
    /// All operands, in the order of their lines in the text of an atom.
    pub const ALL: [Operand; 3] = [Operand::A, Operand::B, Operand::D];

    /// The axes of its tile, rows first, as indices into [`Atom::shape`].
    pub fn axes(self) -> [usize; 2] {
        match self {
            Operand::A => [0, 2],
            Operand::B => [1, 2],
            Operand::D => [0, 1],
        }
    }

    /// The keyword of its line in the text of an atom: `a`, `b` or `d`.
    pub fn name(self) -> &'static str {
        match self {
            Operand::A => "a",
            Operand::B => "b",
            Operand::D => "d",
        }
    }
}

/// A digit of a lane's or a register's number: the coordinate on an axis grows by `weight` with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digit {
    /// The number of its values.
    pub extent: i64,
    /// The axis, as an index into [`Atom::shape`].
    pub axis: usize,
    /// By how much the coordinate grows when the digit grows by one; 0 of a digit that numbers
    /// copies of a factor.
    pub weight: i64,
}

/// Where an operand lies: the digits of the lane's number and of the element's number in the lane,
/// least significant first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Placement {
    /// The type of its elements.
    pub dtype: DType,
    /// The digits of the lane's number.
    pub lane: Vec<Digit>,
    /// The digits of the number of the element among those of the lane.
    pub element: Vec<Digit>,
    /// The layout that they come from: (lane, register) to row + rows * column.
    pub layout: Layout,
}

impl Placement {
    /// The number of elements that a lane holds.
    pub fn elements(&self) -> i64 {
        self.element.iter().map(|d| d.extent).product()
    }

    /// The number of copies of the tile, each held by lanes of its own; 1 of an accumulator.
    pub fn copies(&self) -> i64 {
        self.lane.iter().filter(|d| d.weight == 0).map(|d| d.extent).product()
    }

    /// The number of the copy that a lane holds a part of, and of which its results are made: its
    /// digits of weight 0.
    pub fn copy(&self, lane: i64) -> i64 {
        let (mut rest, mut copy, mut below) = (lane, 0, 1);
        for digit in &self.lane {
            if digit.weight == 0 {
                copy += rest % digit.extent * below;
                below *= digit.extent;
            }
            rest /= digit.extent;
        }
        copy
    }
}

/// The coordinates that a number has by its digits, on these axes.
fn coordinates(digits: &[Digit], mut number: i64, at: &mut [i64; 3]) {
    for digit in digits {
        at[digit.axis] += digit.weight * (number % digit.extent);
        number /= digit.extent;
    }
}

/// A hardware instruction. See the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Atom {
    name: Name,
    /// The function of the library that both factors go through.
    conversion: Option<Name>,
    shape: [i64; 3],
    operands: [Placement; 3],
    since: u32,
    ptx: String,
}

impl Atom {
    /// Its name, which is also that of the function by which it is printed.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// The function of the library that rounds both factors before they are multiplied, if the
    /// meaning has one: `to_tf32` or `truncate_to_tf32`.
    pub fn conversion(&self) -> Option<&Name> {
        self.conversion.as_ref()
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

    /// The number of threads that run it together: the lanes of a warp, over which each operand is
    /// placed.
    pub fn lanes(&self) -> i64 {
        self.operand(Operand::D).lane.iter().map(|digit| digit.extent).product()
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

    /// A lane and an element's number where this row and column of an operand are held, of several
    /// copies the first.
    pub fn holder(&self, operand: Operand, at: (i64, i64)) -> Option<(i64, i64)> {
        let elements = self.operand(operand).elements();
        (0..self.lanes())
            .flat_map(|lane| (0..elements).map(move |element| (lane, element)))
            .find(|(lane, element)| self.position(operand, *lane, *element) == at)
    }

    /// Its meaning, as in its text.
    pub fn meaning(&self) -> String {
        match &self.conversion {
            None => "d[m, n] += a[m, k] * b[n, k]".into(),
            Some(f) => format!("d[m, n] += {f}(a[m, k]) * {f}(b[n, k])"),
        }
    }

    /// Its text, each line after this indentation.
    pub fn text(&self, indent: &str) -> String {
        let [m, n, k] = self.shape;
        let mut lines = vec![self.meaning(), format!("box m < {m}, n < {n}, k < {k}")];
        for operand in Operand::ALL {
            let placement = self.operand(operand);
            lines.push(format!("{}: {} {}", operand.name(), placement.dtype, placement.layout));
        }
        lines.push("executor warp".into());
        lines.push(format!("since sm_{}", self.since));
        lines.push(format!("ptx {}", self.ptx));
        let lines: String = lines.iter().map(|line| format!("{indent}    {line}\n")).collect();
        format!("{indent}atom {} {{\n{lines}{indent}}}", self.name)
    }
}

/// Its text, which [`parse_atoms`] reads back.
impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(""))
    }
}

/// Serialized as its text.
impl Serialize for Atom {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Atom {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut atoms = parse_atoms(&text).map_err(de::Error::custom)?;
        match (atoms.pop(), atoms.is_empty()) {
            (Some(atom), true) => Ok(atom),
            _ => Err(de::Error::custom("not the text of one atom")),
        }
    }
}

impl Instruction {
    /// Whether this atom does its updates.
    pub fn uses(&self, atom: &Atom) -> bool {
        self.atom.as_ref().is_some_and(|used| used.name == *atom.name())
    }
}

impl KernelData {
    /// The kernel's own atom of this name.
    pub fn own_atom(&self, name: &str) -> Option<&Arc<Atom>> {
        self.atoms.iter().find(|atom| **atom.name() == *name)
    }
}
