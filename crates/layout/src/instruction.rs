//! Tensor-core instructions as the layouts of their operands, and tilings of them.
//!
//! An operand's layout takes (thread, value) to a position in its tile, column by column: `A` is `m
//! + M k`, `B` is `n + N k`, `C` is `m + M n`. The threads of an instruction are numbered from 0;
//! `threads` takes those numbers to lanes of a warp.
//!
//! A tiling repeats an instruction over threads (`atoms`, a layout of the instruction's number
//! along m, n, k) and over values, until the tile is covered; a permutation of an extent gives the
//! coordinate of each position of the tiled instruction.

use crate::{Error, Int, Layout, Result, Tiler, tiled_product, tuple::IntTuple};

/// An instruction. See the module's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub(crate) name: String,
    shape: [i64; 3],
    pub(crate) threads: Layout,
    pub(crate) operands: [Layout; 3],
}

/// Name, extents, and the layouts of threads, A, B, C.
type Row = (&'static str, [i64; 3], [&'static str; 4]);

const BUILT_IN: &[Row] = &[
    (
        "SM70_8x8x4_F32F16F16F32_NT",
        [8, 8, 4],
        [
            "(4,2):(1,16)",
            "((4,2),4):((8,4),1)",
            "((4,2),4):((8,4),1)",
            "((2,2,2),(2,2,2)):((1,16,4),(8,2,32))",
        ],
    ),
    (
        "SM70_8x8x4_F32F16F16F32_TN",
        [8, 8, 4],
        ["(4,2):(1,16)", "(8,4):(1,8)", "(8,4):(1,8)", "((2,2,2),(2,2,2)):((1,16,4),(8,2,32))"],
    ),
    (
        "SM80_16x8x8_F32F16F16F32_TN",
        [16, 8, 8],
        ["32:1", "((4,8),(2,2)):((32,1),(16,8))", "((4,8),2):((16,1),8)", "((4,8),(2,2)):((32,1),(16,8))"],
    ),
    (
        "SM80_16x8x16_F32F16F16F32_TN",
        [16, 8, 16],
        [
            "32:1",
            "((4,8),(2,2,2)):((32,1),(16,8,128))",
            "((4,8),(2,2)):((16,1),(8,64))",
            "((4,8),(2,2)):((32,1),(16,8))",
        ],
    ),
    (
        "SM80_16x8x8_F32TF32TF32F32_TN",
        [16, 8, 8],
        ["32:1", "((4,8),(2,2)):((16,1),(8,64))", "((4,8),2):((8,1),32)", "((4,8),(2,2)):((32,1),(16,8))"],
    ),
    (
        "SM80_8x8x4_F64F64F64F64_TN",
        [8, 8, 4],
        ["32:1", "((4,8),1):((8,1),0)", "((4,8),1):((8,1),0)", "((4,8),2):((16,1),8)"],
    ),
];

/// The names of the instructions that are built in.
pub fn instruction_names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, ..)| *name)
}

impl Instruction {
    /// Its name, such as `SM80_8x8x4_F64F64F64F64_TN`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The extents `m`, `n` and `k` of the product that it computes.
    pub fn shape(&self) -> [i64; 3] {
        self.shape
    }

    /// From the number of a thread to its lane in the warp.
    pub fn threads(&self) -> &Layout {
        &self.threads
    }

    /// (thread, value) to position, for `A`, `B` and `C`.
    pub fn operands(&self) -> &[Layout; 3] {
        &self.operands
    }

    /// The built-in instruction with this name.
    pub fn named(name: &str) -> Option<Self> {
        let (name, shape, [threads, a, b, c]) = BUILT_IN.iter().find(|(n, ..)| *n == name)?;
        let read = |text: &str| text.parse::<Layout>().ok();
        Instruction::new(name, *shape, read(threads)?, [read(a)?, read(b)?, read(c)?]).ok()
    }

    /// An instruction; each operand's layout has to hold all positions of its tile, and no others.
    pub fn new(name: &str, shape: [i64; 3], threads: Layout, operands: [Layout; 3]) -> Result<Self> {
        let [m, n, k] = shape;
        if m < 1 || n < 1 || k < 1 {
            return Err(Error::Profile(format!("{name}: extents are at least 1")));
        }
        let count = threads.size()?;
        for ((operand, layout), size) in ["A", "B", "C"].iter().zip(&operands).zip([m * k, n * k, m * n]) {
            let [thread, _] = layout.modes().try_into().map_err(|_| {
                Error::Profile(format!(
                    "{name}: the layout {layout} of {operand} is not a layout of (threads, values)"
                ))
            })?;
            if thread.size()? != count {
                return Err(Error::Profile(format!(
                    "{name}: the layout {layout} of {operand} has {} threads, not {count}",
                    thread.size()?
                )));
            }
            let mut held: Vec<i64> = layout.values()?;
            held.sort_unstable();
            held.dedup();
            if !held.iter().copied().eq(0..size) {
                return Err(Error::Profile(format!(
                    "{name}: the layout {layout} of {operand} does not hold the {size} positions \
                     of its tile"
                )));
            }
        }
        Ok(Instruction { name: name.to_owned(), shape, threads, operands })
    }
}

/// An instruction repeated over threads and values. See the module's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TiledInstruction {
    pub(crate) instruction: Instruction,
    /// The instruction's number along m, n, k to its place among the threads.
    pub(crate) atoms: Layout,
    /// For m, n, k: position in the tiled instruction to coordinate.
    pub(crate) permutations: [Layout; 3],
}

/// The thread and the value that hold a position.
pub type Holder = (i64, i64);

/// Rows and columns of a matrix's tile, with the holder of each cell.
pub type Held = Vec<Vec<Holder>>;

impl TiledInstruction {
    /// A tiling that consists of this instruction alone.
    pub fn alone(instruction: Instruction) -> Result<Self> {
        TiledInstruction::new(instruction, &Layout::mode(1, 0), None)
    }

    /// A tiling with a layout of instructions, and sizes or permutations of the extents.
    pub fn new(instruction: Instruction, atoms: &Layout, tile: Option<&Tiler>) -> Result<Self> {
        let mut modes = atoms.modes();
        if modes.len() > 3 {
            return Err(Error::Profile(format!("{atoms}: instructions repeat along m, n and k only")));
        }
        while modes.len() < 3 {
            modes.push(Layout::mode(1, 0));
        }
        let mut permutations = Vec::new();
        for (x, (mode, extent)) in modes.iter().zip(instruction.shape).enumerate() {
            let least = known(&mode.size()?)?.checked_mul(extent).ok_or(Error::Overflow)?;
            let given = match tile {
                Some(Tiler::Modes(parts)) => parts.get(x).unwrap_or(&Tiler::Keep),
                Some(_) => return Err(Error::Profile("a tile has an extent for each of m, n, k".into())),
                None => &Tiler::Keep,
            };
            let permutation = match given {
                Tiler::Layout(layout) => layout.clone(),
                _ => Layout::mode(least, 1),
            };
            let size = known(&permutation.size()?)?;
            let mut reached = permutation.values()?;
            reached.sort_unstable();
            if size % least != 0 || !reached.into_iter().eq(0..size) {
                return Err(Error::Profile(format!(
                    "{permutation} is not a permutation of a multiple of {least} coordinates"
                )));
            }
            permutations.push(permutation);
        }
        let permutations = permutations.try_into().map_err(|_| Error::Overflow)?;
        Ok(TiledInstruction { instruction, atoms: Layout::Tuple(modes), permutations })
    }

    /// The extents m, n, k of the tile.
    pub fn shape(&self) -> Result<[i64; 3]> {
        let mut shape = [1; 3];
        for (size, permutation) in shape.iter_mut().zip(&self.permutations) {
            *size = known(&permutation.size()?)?;
        }
        Ok(shape)
    }

    /// The number of threads that take part: those of all instructions of the tiling.
    pub fn threads(&self) -> Result<i64> {
        let atoms = known(&self.atoms.size()?)?;
        known(&self.instruction.threads.size()?)?.checked_mul(atoms).ok_or(Error::Overflow)
    }

    /// The holders of `A` (rows m, columns k), `B` (rows k, columns n) and `C` (rows m, columns n).
    /// If several threads hold a cell, the first of them is given.
    pub fn holders(&self) -> Result<[Held; 3]> {
        Ok([self.operand(0, 0, 2, false)?, self.operand(1, 1, 2, true)?, self.operand(2, 0, 1, false)?])
    }

    /// The cells of an operand whose positions run along the extents `x`, then `y`.
    fn operand(&self, operand: usize, x: usize, y: usize, transposed: bool) -> Result<Held> {
        let layout = &self.instruction.operands[operand];
        let lanes = tiled_product(&self.instruction.threads, &Tiler::Layout(self.atoms.clone()))?;
        let parts: Vec<i64> = layout.modes().iter().map(|m| known(&m.size()?)).collect::<Result<_>>()?;
        let counts: Vec<i64> = self.atoms.modes().iter().map(|m| known(&m.size()?)).collect::<Result<_>>()?;
        let (shape, extent) = (self.shape()?, self.instruction.shape);
        let rests = |d: usize| shape[d] / (extent[d] * counts[d]);
        let (rows, columns) = if transposed { (shape[y], shape[x]) } else { (shape[x], shape[y]) };
        let mut held: Vec<Vec<Option<Holder>>> = vec![vec![None; index(columns)]; index(rows)];
        for (rest_y, rest_x) in pairs(rests(y), rests(x)) {
            for (atom_y, atom_x) in pairs(counts[y], counts[x]) {
                for (value, thread) in pairs(parts[1], parts[0]) {
                    let position = layout.at_coordinate(&IntTuple::from(vec![thread, value]))?;
                    let at = |d: usize, inside: i64, atom: i64, rest: i64| {
                        self.permutations[d].at(inside + extent[d] * (atom + counts[d] * rest))
                    };
                    let i = at(x, position % extent[x], atom_x, rest_x)?;
                    let j = at(y, position / extent[x], atom_y, rest_y)?;
                    let mut atom = [0; 3];
                    (atom[x], atom[y]) = (atom_x, atom_y);
                    let lane =
                        lanes.at_coordinate(&IntTuple::from([vec![thread], atom.to_vec()].concat()))?;
                    let holder = (lane, value + parts[1] * (rest_x + rests(x) * rest_y));
                    let (row, column) = if transposed { (j, i) } else { (i, j) };
                    if let Some(cell) = held.get_mut(index(row)).and_then(|r| r.get_mut(index(column))) {
                        *cell = Some(cell.map_or(holder, |before| before.min(holder)));
                    }
                }
            }
        }
        let whole = held.into_iter().map(|row| row.into_iter().collect::<Option<Vec<_>>>());
        whole
            .collect::<Option<Held>>()
            .ok_or_else(|| Error::Profile("a cell of the tile has no holder".into()))
    }
}

fn known(value: &Int) -> Result<i64> {
    value.as_const().ok_or_else(|| Error::open_int("instruction", value))
}

fn index(value: i64) -> usize {
    usize::try_from(value).unwrap_or(0)
}

fn pairs(outer: i64, inner: i64) -> impl Iterator<Item = (i64, i64)> {
    (0..outer).flat_map(move |a| (0..inner).map(move |b| (a, b)))
}
