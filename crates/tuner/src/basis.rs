//! The basis of counts, on which they depend in addition to the key: the sample with its contents,
//! and the machine for which they are an estimate.

use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_runtime::Args;
use loopwright_runtime::cuda::DeviceInfo;

use crate::{Machine, key};

/// The basis of a search as a text. The measured rate of the machine's memory varies a little from
/// run to run and is not part of it.
pub(crate) fn basis(
    kernel: &LoopKernel,
    sample: &Args,
    machine: &Machine,
    limits: &DeviceInfo,
) -> Result<String, Diagnostic> {
    let bandwidth = if machine.measured { "measured".to_owned() } else { machine.bandwidth.to_string() };
    let (shapes, data) = (key::problem(kernel, sample, usize::to_string)?, key::data(kernel, sample)?);
    let sample = if data.is_empty() { shapes } else { format!("{shapes}; {data}") };
    let Machine { device, multiprocessors, clock, .. } = machine;
    let (threads, shared) = (limits.max_threads_per_multiprocessor, limits.shared_per_multiprocessor);
    Ok(format!(
        "{sample}; {device}, {multiprocessors} at {clock} Hz, {bandwidth} B/s, {threads} threads, \
         {shared} B shared"
    ))
}

/// The machine of a basis, as written by [`basis`]; empty if nothing was written. The number of
/// cores that emulated it is left out: the estimates do not depend on it.
pub(crate) fn machine(basis: &str) -> String {
    let machine = basis.rsplit_once("; ").map_or("", |(_, machine)| machine);
    match machine.strip_prefix("emulator (").and_then(|rest| rest.split_once(')')) {
        Some((_, rest)) => format!("{EMULATED}{rest}"),
        None => machine.to_owned(),
    }
}

/// The device of estimates on the emulator, for which everything is assumed.
pub(crate) const EMULATED: &str = "emulator";

/// Whether the rate of that machine's memory was measured.
pub(crate) fn is_measured(machine: &str) -> bool {
    machine.contains(", measured B/s")
}

/// The name of that machine.
pub(crate) fn device(machine: &str) -> &str {
    machine.rsplitn(5, ", ").last().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_runtime::Device;

    #[test]
    fn a_machine_is_read_as_it_was_written() {
        let kernel =
            LoopKernel::parse("kernel k(y: f32[n], n: i32)\ndomain { [i] : 0 <= i < n }\ny[i] = 1.0");
        let kernel = kernel.expect("a kernel");
        let limits = Device::emulator().limits().clone();
        for (name, measured) in [("NVIDIA H200", true), ("a machine, of mine", false)] {
            let machine = Machine { device: name.to_owned(), measured, ..Machine::h200() };
            let written = basis(&kernel, &Args::new().scalar("n", 8), &machine, &limits).expect("a basis");
            assert!(written.starts_with("y: f32[8]; n = 8; "), "{written}");
            let read = super::machine(&written);
            assert_eq!((device(&read), is_measured(&read)), (name, measured), "{written}");
        }
        assert_eq!((super::machine("").as_str(), device(""), is_measured("")), ("", "", false));
        // Whatever the number of cores.
        let described = Machine::described(&limits);
        let written = basis(&kernel, &Args::new().scalar("n", 8), &described, &limits).expect("a basis");
        assert!(written.contains(" cores), "), "{written}");
        let read = super::machine(&written);
        assert!(read.starts_with("emulator, 132 at ") && device(&read) == EMULATED, "{read}");
    }
}
