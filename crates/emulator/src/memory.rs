//! Arrays in global memory, shared by all blocks.
//!
//! Cells are atomics with relaxed ordering: plain loads and stores of the machine, so that a race
//! in the emulated program is not a data race in the emulator. Reads and writes of a cell are
//! recorded if the kernel writes the array.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use loopwright_kernel_ir::{Buffer, DType, Name};

use crate::{
    shadow::GlobalCell,
    words::{Narrow, Wide, active},
};

/// The elements of an array, by their size in bytes.
#[derive(Debug)]
pub(crate) enum Cells {
    B1(Vec<AtomicU8>),
    B2(Vec<AtomicU16>),
    B4(Vec<AtomicU32>),
    B8(Vec<AtomicU64>),
}

/// An array in global memory, or a constant table, with the storage of a run.
#[derive(Debug)]
pub(crate) struct GlobalArray {
    pub name: Name,
    pub shape: Vec<i64>,
    pub strides: Vec<i64>,
    /// Number of elements of the storage.
    pub size: i64,
    /// The address of its first element in bytes, from a multiple of a sector: where a field lies
    /// in its record.
    pub base: i64,
    pub cells: Cells,
    /// Whether it is a constant table, which is not in global memory.
    pub constant: bool,
    /// Whether each cell has a value; empty if all have.
    pub valued: Vec<AtomicU8>,
    /// The last accesses of each cell; empty if nothing writes the array or races are not checked.
    pub shadow: Vec<GlobalCell>,
}

impl Cells {
    /// As many elements as the bytes hold.
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Cells {
        match dtype.bytes() {
            1 => Cells::B1(bytes.iter().map(|b| AtomicU8::new(*b)).collect()),
            2 => Cells::B2(words(bytes, |w| AtomicU16::new(u16::from_le_bytes(w)))),
            4 => Cells::B4(words(bytes, |w| AtomicU32::new(u32::from_le_bytes(w)))),
            _ => Cells::B8(words(bytes, |w| AtomicU64::new(u64::from_le_bytes(w)))),
        }
    }

    /// Copies out the bytes of the first elements, as many as fit.
    pub fn to_bytes(&self, bytes: &mut [u8]) {
        match self {
            Cells::B1(v) => {
                bytes.iter_mut().zip(v).for_each(|(b, v)| *b = v.load(Ordering::Relaxed));
            }
            Cells::B2(v) => put(bytes, v, |v| v.load(Ordering::Relaxed).to_le_bytes()),
            Cells::B4(v) => put(bytes, v, |v| v.load(Ordering::Relaxed).to_le_bytes()),
            Cells::B8(v) => put(bytes, v, |v| v.load(Ordering::Relaxed).to_le_bytes()),
        }
    }

    /// Loads elements of up to 32 bits; offsets of active lanes must be in bounds.
    pub fn load_narrow<const W: usize>(&self, dtype: DType, offset: &[i64; W], mask: u64) -> Narrow<W> {
        let mut out = [0; W];
        match self {
            Cells::B4(v) => {
                for i in active(mask) {
                    out[i] = v[offset[i] as usize].load(Ordering::Relaxed);
                }
            }
            Cells::B2(v) => {
                for i in active(mask) {
                    let word = v[offset[i] as usize].load(Ordering::Relaxed);
                    out[i] = if dtype == DType::I16 { word as i16 as i32 as u32 } else { word.into() };
                }
            }
            Cells::B1(v) => {
                for i in active(mask) {
                    let word = v[offset[i] as usize].load(Ordering::Relaxed);
                    out[i] = if dtype == DType::I8 { word as i8 as i32 as u32 } else { word.into() };
                }
            }
            Cells::B8(_) => {}
        }
        out
    }

    /// Loads elements of 64 bits; offsets of active lanes must be in bounds.
    pub fn load_wide<const W: usize>(&self, offset: &[i64; W], mask: u64) -> Wide<W> {
        let mut out = [0; W];
        if let Cells::B8(v) = self {
            for i in active(mask) {
                out[i] = v[offset[i] as usize].load(Ordering::Relaxed);
            }
        }
        out
    }

    /// Writes elements of up to 32 bits.
    pub fn store_narrow<const W: usize>(&self, offset: &[i64; W], mask: u64, words: &Narrow<W>) {
        match self {
            Cells::B4(v) => {
                for i in active(mask) {
                    v[offset[i] as usize].store(words[i], Ordering::Relaxed);
                }
            }
            Cells::B2(v) => {
                for i in active(mask) {
                    v[offset[i] as usize].store(words[i] as u16, Ordering::Relaxed);
                }
            }
            Cells::B1(v) => {
                for i in active(mask) {
                    v[offset[i] as usize].store(words[i] as u8, Ordering::Relaxed);
                }
            }
            Cells::B8(_) => {}
        }
    }

    /// Writes elements of 64 bits.
    pub fn store_wide<const W: usize>(&self, offset: &[i64; W], mask: u64, words: &Wide<W>) {
        if let Cells::B8(v) = self {
            for i in active(mask) {
                v[offset[i] as usize].store(words[i], Ordering::Relaxed);
            }
        }
    }
}

fn words<const N: usize, T>(bytes: &[u8], f: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().map(|w| f(*w)).collect()
}

fn put<const N: usize, T>(bytes: &mut [u8], cells: &[T], f: impl Fn(&T) -> [u8; N]) {
    for (to, cell) in bytes.as_chunks_mut().0.iter_mut().zip(cells) {
        *to = f(cell);
    }
}

impl GlobalArray {
    /// Copies the elements to a buffer.
    pub fn copy_to(&self, buffer: &mut Buffer) {
        self.cells.to_bytes(buffer.bytes_mut());
    }
}
