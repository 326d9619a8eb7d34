//! `cuda`

use loopwright::prelude::*;

use crate::check::lowered;
use crate::input::{self, Binding, Failure, Form};
use crate::report;

/// Runs the command `loopwright cuda`.
pub fn print(form: &Form, binding: &Binding, arch: Option<&str>) -> Result<(), Failure> {
    let (kernel, program) = lowered(form, binding)?;
    let source = cuda_source(&program)?;
    if let Some(arch) = arch {
        let arch = input::arch(arch)?;
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
