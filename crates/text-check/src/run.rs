//! Runs a compiled text according to the host body of its program.
//!
//! Each array is between two margins of known bytes, which have to be intact afterwards; scratch
//! arrays of the launch are filled with bytes that are not sensible numbers.

use std::{collections::BTreeMap, ffi::c_void, path::Path};

use libloading::{Library, Symbol};
use loopwright_cuda_target::CudaSource;
use loopwright_kernel_ir::{Diagnostic, Name, PerDim};
use loopwright_program::{HostStmt, Owner, Param, Program, ProgramArg, Value, eval_host};

use crate::{
    arguments::{Arguments, Scalar},
    wrapper::entry,
};

/// The order in which blocks, and the threads of a block between two barriers, run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the first to the last.
    Forwards,
    /// From the last to the first.
    Backwards,
}

/// The entry of a kernel: grid, whether backwards, addresses of the arguments' values.
type Entry = unsafe extern "C" fn(*const u32, i32, *const *mut c_void) -> i32;

/// A program whose printed text has been compiled and loaded.
#[derive(Debug)]
pub struct TextProgram {
    program: Program,
    source: CudaSource,
    library: Library,
}

/// Bytes of margin before and after each array.
const MARGIN: usize = 64;
/// The value of each margin byte.
const MARK: u8 = 0xa5;

/// An array in memory that is aligned for vector accesses.
struct Storage {
    words: Vec<u128>,
    bytes: usize,
}

impl Storage {
    fn new(content: &[u8]) -> Storage {
        let words = (content.len() + 2 * MARGIN).div_ceil(16);
        let mut storage =
            Storage { words: vec![u128::from_ne_bytes([MARK; 16]); words], bytes: content.len() };
        storage.all_mut()[MARGIN..MARGIN + content.len()].copy_from_slice(content);
        storage
    }

    fn all_mut(&mut self) -> &mut [u8] {
        let (address, length) = (self.words.as_mut_ptr().cast::<u8>(), self.words.len() * 16);
        // SAFETY: the bytes of the vector, which is borrowed for as long.
        unsafe { std::slice::from_raw_parts_mut(address, length) }
    }

    fn address(&mut self) -> *mut c_void {
        self.all_mut()[MARGIN..].as_mut_ptr().cast()
    }

    /// The contents, if the margins are intact.
    fn content(&mut self) -> Option<Vec<u8>> {
        let bytes = self.bytes;
        let all = self.all_mut();
        let (before, rest) = all.split_at(MARGIN);
        let (content, after) = rest.split_at(bytes);
        before.iter().chain(after).all(|b| *b == MARK).then(|| content.to_vec())
    }
}

impl TextProgram {
    /// Loads a library compiled from the program's text.
    pub(crate) fn load(program: Program, source: CudaSource, path: &Path) -> Result<TextProgram, Diagnostic> {
        // SAFETY: the library was made from our own text; loading it runs nothing.
        let library = unsafe { Library::new(path) }.map_err(|e| {
            Diagnostic::new("text-check", format!("`{}` cannot be loaded: {e}", path.display()))
        })?;
        Ok(TextProgram { program, source, library })
    }

    /// The CUDA C that was compiled for the CPU.
    pub fn source(&self) -> &CudaSource {
        &self.source
    }

    /// The program that the text was printed from.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Runs the program over its arguments; on success the arrays hold the results, otherwise they
    /// are unchanged.
    pub fn run(&self, arguments: &mut Arguments, order: Order) -> Result<(), Diagnostic> {
        let wrong = |message: String| Diagnostic::new("text-check", message);
        for arg in &self.program.args {
            if let ProgramArg::Scalar(s) = arg
                && !arguments.scalars.contains_key(&s.name)
            {
                return Err(wrong(format!("scalar argument `{}` is missing", s.name)));
            }
        }
        let mut run = Run {
            of: self,
            scalars: &arguments.scalars,
            host: BTreeMap::new(),
            storage: Vec::new(),
            records: Vec::new(),
            backwards: order == Order::Backwards,
        };
        for global in &self.program.globals {
            let bytes = run.size(&global.size)?.saturating_mul(global.dtype.bytes());
            run.storage.push(match (&global.owner, arguments.arrays.get(&global.name)) {
                (Owner::Launch | Owner::Program(_), _) => Storage::new(&vec![MARK; bytes]),
                (Owner::Caller, Some(content)) if content.len() >= bytes => Storage::new(content),
                (Owner::Caller, Some(content)) => {
                    return Err(wrong(format!(
                        "array `{}` has {} bytes, not {bytes}",
                        global.name,
                        content.len()
                    )));
                }
                (Owner::Caller, None) => {
                    return Err(wrong(format!("array argument `{}` is missing", global.name)));
                }
            });
        }
        for record in &self.program.records {
            let mut whole = Vec::new();
            for (k, global) in record.fields.iter().enumerate() {
                let Some(array) = run.storage.get_mut(*global).and_then(Storage::content) else { continue };
                let bytes = record.of.bytes();
                whole.resize(whole.len().max(array.len().div_ceil(bytes) * bytes), MARK);
                record.put(k, &array, &mut whole);
            }
            run.records.push(Storage::new(&whole));
        }
        run.body(&self.program.host)?;
        for (record, storage) in self.program.records.iter().zip(&mut run.records) {
            let whole = storage
                .content()
                .ok_or_else(|| wrong(format!("the kernel wrote outside `{}`", record.name)))?;
            for (k, global) in record.fields.iter().enumerate() {
                let Some(array) = run.storage.get_mut(*global) else { continue };
                let bytes = array.bytes;
                record.take(k, &whole, &mut array.all_mut()[MARGIN..MARGIN + bytes]);
            }
        }
        let mut results = Vec::new();
        for (global, storage) in self.program.globals.iter().zip(&mut run.storage) {
            let content = storage.content();
            results
                .push(content.ok_or_else(|| wrong(format!("the kernel wrote outside `{}`", global.name)))?);
        }
        for (global, content) in self.program.globals.iter().zip(results) {
            if global.owner == Owner::Caller {
                arguments.arrays.insert(global.name.clone(), content);
            }
        }
        Ok(())
    }

    fn entry(&self, kernel: usize) -> Result<Symbol<'_, Entry>, Diagnostic> {
        // SAFETY: the wrapper gives the entry this type.
        unsafe { self.library.get(entry(kernel).as_bytes()) }
            .map_err(|e| Diagnostic::new("text-check", format!("kernel {kernel} has no entry: {e}")))
    }
}

/// A run of the program over its arguments.
struct Run<'a> {
    of: &'a TextProgram,
    scalars: &'a BTreeMap<Name, Scalar>,
    host: BTreeMap<Name, i64>,
    storage: Vec<Storage>,
    /// The memory of each record, which its fields share while kernels run.
    records: Vec<Storage>,
    backwards: bool,
}

impl Run<'_> {
    fn eval(&self, value: &Value) -> Result<i64, Diagnostic> {
        let lookup = |name: &Name| self.host.get(name).copied().or_else(|| self.scalars.get(name)?.as_int());
        eval_host(value, &lookup).ok_or_else(|| {
            Diagnostic::new("text-check", "a value of the host cannot be computed from the scalar arguments")
        })
    }

    fn size(&self, value: &Value) -> Result<usize, Diagnostic> {
        Ok(usize::try_from(self.eval(value)?.max(0)).unwrap_or(usize::MAX))
    }

    fn body(&mut self, body: &[HostStmt]) -> Result<(), Diagnostic> {
        for stmt in body {
            match stmt {
                HostStmt::For { var, lower, upper, body, .. } => {
                    for k in self.eval(lower)?..self.eval(upper)? {
                        self.host.insert(var.clone(), k);
                        self.body(body)?;
                    }
                    self.host.remove(var);
                }
                HostStmt::Launch(kernel) => self.launch(*kernel)?,
            }
        }
        Ok(())
    }

    fn launch(&mut self, number: usize) -> Result<(), Diagnostic> {
        let of = self.of;
        let wrong = |message: String| Diagnostic::new("text-check", message);
        let kernel =
            of.program.kernels.get(number).ok_or_else(|| wrong(format!("there is no kernel {number}")))?;
        let grid = PerDim::try_from_fn(|dim| {
            let count = self.eval(&kernel.grid[dim])?;
            u32::try_from(count.max(0)).map_err(|_| wrong(format!("a grid of {count} blocks")))
        })?;
        if grid.values().any(|blocks| *blocks == 0) {
            return Ok(());
        }
        let mut values: Vec<[u8; 8]> = Vec::new();
        for param in of.program.passed(kernel) {
            let record = of.program.record_of_param(param);
            let record = record.and_then(|r| of.program.records.iter().position(|other| other == r));
            values.push(match param {
                Param::Global { global, .. } => {
                    let storage = match record {
                        Some(number) => self.records.get_mut(number),
                        None => self.storage.get_mut(*global),
                    };
                    let storage = storage.ok_or_else(|| wrong(format!("there is no array {global}")))?;
                    let address = storage.address() as usize as u64;
                    address.to_ne_bytes()
                }
                Param::Scalar { name, dtype } => {
                    let value = self
                        .scalars
                        .get(name)
                        .ok_or_else(|| wrong(format!("there is no scalar `{name}`")))?;
                    value.bytes(*dtype)
                }
                Param::HostVar(name) => {
                    let value = self
                        .host
                        .get(name)
                        .ok_or_else(|| wrong(format!("there is no host variable `{name}`")))?;
                    Scalar::Int(*value).bytes(of.program.index)
                }
            });
        }
        let addresses: Vec<*mut c_void> = values.iter_mut().map(|v| v.as_mut_ptr().cast()).collect();
        let entry = of.entry(number)?;
        let grid: [u32; 3] = grid.into();
        // SAFETY: the arguments are those that the text declares, in their order; what it writes
        // outside of them shows in the margins.
        let code = unsafe { entry(grid.as_ptr(), i32::from(self.backwards), addresses.as_ptr()) };
        match code {
            0 => Ok(()),
            1 => {
                Err(wrong(format!("kernel `{}`: not all threads reach a barrier or a shuffle", kernel.name)))
            }
            2 => Err(wrong(format!(
                "kernel `{}`: the mask of a shuffle includes threads that do not exist",
                kernel.name
            ))),
            _ => Err(wrong(format!("kernel `{}`: not enough memory for its threads", kernel.name))),
        }
    }
}
