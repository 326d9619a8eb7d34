//! The memory rates of a device, measured with our own kernels.

use std::path::Path;

use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel};
use loopwright_runtime::{Arch, Args, CompileOptions, Compiled, Device};
use loopwright_transforms::Pipeline;

use crate::binaries::{self, BinaryFile};
use crate::measured::{self, Subject};
use crate::{BinaryFolder, Machine, Times};

/// Reads everything once and writes almost nothing: the sums of long rows.
const READ: &str = "kernel read_limit(x: f32[rows, 65536], out: f32[rows], rows: i32)
     assume 1 <= rows
     domain { [s] : 0 <= s < rows }
     domain { [i] : 0 <= i < 65536 }
     out[s] = sum(i, x[s, i])";

/// Reads everything once and writes as much.
const COPY: &str = "kernel copy_limit(x: f32[rows, 65536], out: f32[rows, 65536], rows: i32)
     assume 1 <= rows
     domain { [s] : 0 <= s < rows }
     domain { [i] : 0 <= i < 65536 }
     out[s, i] = x[s, i]";

/// A kernel that approaches a limit of the memory.
struct Limit {
    kernel: &'static str,
    /// Whether it writes as much as it reads.
    copies: bool,
    /// Threads of each block.
    threads: u32,
    /// Loads of 16 bytes that a thread has in flight.
    loads: u32,
}

/// Which block size reads fastest depends on the device; the fastest one is the limit.
const LIMITS: [Limit; 5] = [
    Limit { kernel: READ, copies: false, threads: 256, loads: 4 },
    Limit { kernel: READ, copies: false, threads: 256, loads: 8 },
    Limit { kernel: READ, copies: false, threads: 512, loads: 4 },
    Limit { kernel: READ, copies: false, threads: 1024, loads: 4 },
    Limit { kernel: COPY, copies: true, threads: 256, loads: 4 },
];

impl Limit {
    fn kernel(&self) -> Result<LoopKernel, Diagnostic> {
        let row = 4 * self.threads;
        let blocks = if self.copies { "s: block.x, i_outer: block.y" } else { "s: block.x" };
        let pipeline = format!(
            "split_iname(i, {})
             split_iname(i_inner, {row}, outer=i_part, inner=i_rest)
             split_iname(i_rest, 4, outer=i_thread, inner=i_vec)
             tag_inames({blocks}, i_thread: thread.x, i_vec: vec, i_part: ilp)",
            row * self.loads
        );
        Pipeline::parse(&pipeline)?.apply(&LoopKernel::parse(self.kernel).map_err(first)?)
    }

    fn file(&self) -> String {
        let what = if self.copies { "copy" } else { "read" };
        format!("limit_{what}_{}_{}.cubin", self.threads, self.loads)
    }
}

/// The rates of a device's memory, in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// The rate of reading: that of the fastest of several kernels with different blocks.
    pub read: f64,
    /// The rate of a copy, bytes read plus bytes written.
    pub copy: f64,
}

impl Rates {
    /// Measures a GPU with arrays of about this many bytes, which should be many times the size of
    /// the L2 cache. Nothing is read from disk or kept there.
    pub fn measure(device: &Device, bytes: usize) -> Result<Rates, Diagnostic> {
        Rates::measure_with(device, bytes, |_, kernel, _| {
            device.compile_with(kernel, &CompileOptions::default())
        })
    }

    /// As [`Rates::measure`], with kernels from `compiled`, by number.
    fn measure_with(
        device: &Device,
        bytes: usize,
        compiled: impl Fn(usize, &LoopKernel, &Args) -> Result<Compiled, Diagnostic>,
    ) -> Result<Rates, Diagnostic> {
        let rows = rows(bytes);
        let array = rows * 65536 * 4;
        let mut rates = Rates { read: 0.0, copy: 0.0 };
        for (number, limit) in LIMITS.iter().enumerate() {
            let x = device.uninit(&[rows, 65536], DType::F32)?;
            let args = Args::new().device_tensor("x", &x);
            let times = Times::of(compiled(number, &limit.kernel()?, &args)?.bind(&args)?.time(20)?);
            let seconds = times.map_or(f64::INFINITY, |t| t.median) * 1e-3;
            let (rate, moved) =
                if limit.copies { (&mut rates.copy, 2 * array) } else { (&mut rates.read, array) };
            *rate = rate.max(moved as f64 / seconds);
        }
        Ok(rates)
    }
}

/// Number of rows of the limit kernels for this many bytes.
fn rows(bytes: usize) -> usize {
    (bytes / (65536 * 4)).max(1)
}

/// Compiles the kernels that measure the limits into a folder.
pub(crate) fn compile_limits(folder: &Path, arch: Arch) -> Result<Vec<BinaryFile>, Diagnostic> {
    let args = Args::new().scalar("rows", rows(LIMIT_BYTES) as i64);
    let compile = |limit: &Limit| binaries::compile_into(folder, limit.file(), &limit.kernel()?, &args, arch);
    LIMITS.iter().map(compile).collect()
}

/// The most bytes of an array on which the limits are measured; an eighth of the memory if that is
/// less.
const LIMIT_BYTES: usize = 1 << 30;

impl Machine {
    /// The machine of a GPU, with the measured rate of its memory, reading or copying, whichever is
    /// faster; for anything else, the machine as described.
    ///
    /// Rates are kept in a file next to the cached binaries, and read from there if device, driver
    /// and library are the same; if `LOOPWRIGHT_CACHE` is `off` or the file is damaged, they are
    /// measured again. [`Rates::measure`] always measures.
    pub fn measured(device: &Device) -> Result<Machine, Diagnostic> {
        Machine::measured_with(device, None)
    }

    /// As [`Machine::measured`]; if there is a folder, its binaries are used instead of the
    /// compiler.
    pub(crate) fn measured_with(
        device: &Device,
        folder: Option<&BinaryFolder>,
    ) -> Result<Machine, Diagnostic> {
        let mut machine = Machine::described(device.limits());
        if device.is_gpu() {
            let room = usize::try_from(device.limits().memory_bytes / 8).unwrap_or(LIMIT_BYTES);
            let bytes = room.min(LIMIT_BYTES);
            let kernels = LIMITS.iter().map(|limit| Ok(format!("{} {bytes}", limit.kernel()?)));
            let subject = Subject::new(device, &kernels.collect::<Result<Vec<_>, Diagnostic>>()?);
            let kept = measured::folder();
            let known = kept.as_ref().and_then(|kept| measured::recall(kept, &subject));
            let rates = match (known, folder) {
                (Some(known), _) => known,
                (None, None) => Rates::measure(device, bytes)?,
                (None, Some(folder)) => Rates::measure_with(device, bytes, |number, kernel, args| {
                    folder.load_limit(device, kernel, args, number)
                })?,
            };
            if let (None, Some(kept)) = (known, &kept) {
                measured::keep(kept, &subject, &rates);
            }
            machine.bandwidth = rates.read.max(rates.copy);
            machine.measured = true;
        }
        Ok(machine)
    }
}

/// The first of several diagnostics: there is none, since the texts here are the library's own.
fn first(all: loopwright_kernel_ir::Diagnostics) -> Diagnostic {
    all.0.into_iter().next().unwrap_or_else(|| Diagnostic::new("no-kernel", "the text holds no kernel"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_are_measured_by_kernels_that_compile() {
        for limit in LIMITS {
            let kernel = limit.kernel().expect("applies");
            let source = loopwright_runtime::Device::emulator()
                .compile(&kernel)
                .and_then(|c| c.stages())
                .expect("lowers")
                .cuda;
            assert!(source.text.contains("float4"), "{}", source.text);
            assert!(
                source.text.contains(&format!("__launch_bounds__({})", limit.threads)),
                "{}",
                source.text
            );
        }
    }
}
