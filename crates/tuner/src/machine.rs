//! What the memory of a device really moves, measured with kernels of ours.

use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel};
use loopwright_runtime::{Args, CompileOptions, Device};
use loopwright_transforms::Pipeline;

use crate::{Machine, Times};

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
        let rows = (bytes / (65536 * 4)).max(1);
        let rate = |(kernel, pipeline): (&str, &str), moved: usize| -> Result<f64, Diagnostic> {
            let kernel = LoopKernel::parse(kernel).map_err(first)?;
            let compiled =
                device.compile_pipeline(&kernel, &Pipeline::parse(pipeline)?, &CompileOptions::default())?;
            let x = device.uninit(&[rows, 65536], DType::F32)?;
            let bound = compiled.bind(&Args::new().device_tensor("x", &x))?;
            let times = Times::of(bound.time(20)?);
            let ms = times.map_or(f64::INFINITY, |t| t.median);
            Ok(moved as f64 / (ms * 1e-3))
        };
        let array = rows * 65536 * 4;
        Ok(Rates { read: rate(READ, array)?, copy: rate(COPY, 2 * array)? })
    }
}

impl Machine {
    /// The description of a GPU with the rate of its memory measured; anything else as described.
    pub fn measured(device: &Device) -> Result<Machine, Diagnostic> {
        let mut machine = Machine::described(device.limits());
        if device.is_gpu() {
            let room = device.limits().memory_bytes / 8;
            let bytes = usize::try_from(room.min(1 << 30)).unwrap_or(1 << 30);
            let rates = Rates::measure(device, bytes)?;
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
