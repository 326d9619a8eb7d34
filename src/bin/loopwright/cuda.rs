//! `cuda`

use loopwright::prelude::*;
use loopwright::runtime::{check_limits_of, cuda::DeviceInfo};

use crate::check::lowered;
use crate::input::{self, Binding, Failure, Form};
use crate::report;

/// Runs the command `loopwright cuda`.
pub fn print(form: &Form, binding: &Binding, arch: Option<&str>) -> Result<(), Failure> {
    let (kernel, program) = lowered(form, binding)?;
    let source = cuda_source(&program)?;
    let arch = arch.map(input::arch).transpose()?;
    let limits = arch.and_then(DeviceInfo::of_arch);
    let has_room = check_limits_of(&kernel, &program, limits.as_ref().unwrap_or(Device::emulator().limits()));
    if let Err(refusal) = has_room {
        if limits.is_some() {
            return Err(refusal.into());
        }
        // The device is not known: these are the limits of those that there are.
        report::warn(&form.placed(refusal));
    }
    if let Some(arch) = arch {
        let options = CompileOptions { index: Some(program.index), ..CompileOptions::default() };
        let binary = compile_for(&kernel, arch, &Default::default(), &options)?;
        for message in &binary.compiled.messages {
            report::note(&message.to_string());
        }
        for r in &binary.compiled.resources {
            report::note(&format!(
                "{arch}: {}: {} registers, {} bytes of shared memory, {} bytes of stack, {} bytes \
                 spilled",
                r.name, r.registers, r.shared_bytes, r.stack_bytes, r.spill_store_bytes
            ));
        }
    }
    report::say(&format!("{}{}", loopwright::host_code::heading(&program), source.text))?;
    Ok(())
}
