//! What the memory of a device really moves, measured with kernels of ours.

use std::path::Path;

use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel};
use loopwright_runtime::{Arch, Args, CompileOptions, Compiled, Device};
use loopwright_transforms::Pipeline;

use crate::binaries::{self, BinaryFile};
use crate::{BinaryFolder, Machine, Times};

/// Reads everything once and writes next to nothing: the sums of long rows.
const READ: (&str, &str) = (
    "kernel read_limit(x: f32[rows, 65536], out: f32[rows], rows: i32)
     assume 1 <= rows
     domain { [s] : 0 <= s < rows }
     domain { [i] : 0 <= i < 65536 }
     out[s] = sum(i, x[s, i])",
    "split_iname(i, 4096)
     split_iname(i_inner, 1024, outer=i_part, inner=i_rest)
     split_iname(i_rest, 4, outer=i_thread, inner=i_vec)
     tag_inames(s: block.x, i_thread: thread.x, i_vec: vec, i_part: ilp)",
);

/// Reads everything once and writes as much.
const COPY: (&str, &str) = (
    "kernel copy_limit(x: f32[rows, 65536], out: f32[rows, 65536], rows: i32)
     assume 1 <= rows
     domain { [s] : 0 <= s < rows }
     domain { [i] : 0 <= i < 65536 }
     out[s, i] = x[s, i]",
    "split_iname(i, 4096)
     split_iname(i_inner, 1024, outer=i_part, inner=i_rest)
     split_iname(i_rest, 4, outer=i_thread, inner=i_vec)
     tag_inames(s: block.x, i_outer: block.y, i_thread: thread.x, i_vec: vec, i_part: ilp)",
);

/// The rates of a device's memory, bytes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Of a kernel that only reads.
    pub read: f64,
    /// Of a copy, bytes read and written together.
    pub copy: f64,
}

impl Rates {
    /// Measures a GPU with arrays of about this many bytes, which should be many times the second-level cache.
    pub fn measure(device: &Device, bytes: usize) -> Result<Rates, Diagnostic> {
        Rates::measure_with(device, bytes, |_, kernel, _| {
            device.compile_with(kernel, &CompileOptions::default())
        })
    }

    /// As [`Rates::measure`], with kernels that `compiled` gives: 0 reads, 1 copies.
    fn measure_with(
        device: &Device,
        bytes: usize,
        compiled: impl Fn(usize, &LoopKernel, &Args) -> Result<Compiled, Diagnostic>,
    ) -> Result<Rates, Diagnostic> {
        let rows = rows(bytes);
        let array = rows * 65536 * 4;
        let mut rates = [0.0; 2];
        for (number, kernel) in limit_kernels()?.iter().enumerate() {
            let x = device.uninit(&[rows, 65536], DType::F32)?;
            let args = Args::new().device_tensor("x", &x);
            let times = Times::of(compiled(number, kernel, &args)?.bind(&args)?.time(20)?);
            let seconds = times.map_or(f64::INFINITY, |t| t.median) * 1e-3;
            rates[number] = ((number + 1) * array) as f64 / seconds;
        }
        Ok(Rates { read: rates[0], copy: rates[1] })
    }
}

/// How many rows of the limits' kernels make so many bytes.
fn rows(bytes: usize) -> usize {
    (bytes / (65536 * 4)).max(1)
}

/// The kernels that measure the limits: one that reads, one that copies.
fn limit_kernels() -> Result<[LoopKernel; 2], Diagnostic> {
    let made = |(kernel, pipeline): (&str, &str)| -> Result<LoopKernel, Diagnostic> {
        Pipeline::parse(pipeline)?.apply(&LoopKernel::parse(kernel).map_err(first)?)
    };
    Ok([made(READ)?, made(COPY)?])
}

/// Compiles the kernels that measure the limits into a folder.
pub(crate) fn compile_limits(folder: &Path, arch: Arch) -> Result<Vec<BinaryFile>, Diagnostic> {
    let args = Args::new().scalar("rows", rows(LIMIT_BYTES) as i64);
    let names = ["limit_read.cubin", "limit_copy.cubin"];
    let kernels = limit_kernels()?;
    let compile = |(name, kernel): (&str, &LoopKernel)| {
        binaries::compile_into(folder, name.to_owned(), kernel, &args, arch)
    };
    names.into_iter().zip(&kernels).map(compile).collect()
}

/// Bytes of an array that the limits are measured on, at most; an eighth of the memory where that is less.
const LIMIT_BYTES: usize = 1 << 30;

impl Machine {
    /// The description of a GPU with the rate of its memory measured; anything else as described.
    pub fn measured(device: &Device) -> Result<Machine, Diagnostic> {
        Machine::measured_with(device, None)
    }

    /// As [`Machine::measured`]; where there is a folder, its binaries are used and no compiler is asked.
    pub(crate) fn measured_with(
        device: &Device,
        folder: Option<&BinaryFolder>,
    ) -> Result<Machine, Diagnostic> {
        let mut machine = Machine::described(device.limits());
        if device.is_gpu() {
            let room = usize::try_from(device.limits().memory_bytes / 8).unwrap_or(LIMIT_BYTES);
            let bytes = room.min(LIMIT_BYTES);
            let rates = match folder {
                None => Rates::measure(device, bytes)?,
                Some(folder) => Rates::measure_with(device, bytes, |number, kernel, args| {
                    folder.load_limit(device, kernel, args, number)
                })?,
            };
            machine.bandwidth = rates.read.max(rates.copy);
            machine.measured = true;
        }
        Ok(machine)
    }
}

/// The first of several diagnostics: the texts here are the library's own, so that there is none.
fn first(all: loopwright_kernel_ir::Diagnostics) -> Diagnostic {
    all.0.into_iter().next().unwrap_or_else(|| Diagnostic::new("no-kernel", "the text holds no kernel"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_are_measured_by_kernels_that_compile() {
        for (kernel, pipeline) in [READ, COPY] {
            let kernel = LoopKernel::parse(kernel).expect("a kernel");
            let kernel = Pipeline::parse(pipeline).expect("a pipeline").apply(&kernel).expect("applies");
            let source = loopwright_runtime::Device::emulator()
                .compile(&kernel)
                .and_then(|c| c.stages())
                .expect("lowers")
                .cuda;
            assert!(source.text.contains("float4"), "{}", source.text);
        }
    }
}
