//! `print` and `check`.

use std::collections::BTreeMap;
use std::fmt::Write;

use loopwright::prelude::*;
use loopwright::program::{DeviceKernel, HostStmt, Program, Scope, Stmt};
use loopwright::runtime::check_limits_of;

use crate::input::{Binding, Failure, Form};
use crate::report;

/// Runs the command `loopwright print`.
pub fn print(form: &Form, steps: bool) -> Result<(), Failure> {
    let declared = form.declared_to_show()?;
    if !steps {
        report::say(&form.pipeline()?.apply(&declared)?.to_string())?;
        return Ok(());
    }
    report::say(&format!("# declared\n{declared}"))?;
    for traced in form.pipeline()?.apply_traced(&declared)? {
        report::say(&format!("\n# {}\n{}", traced.step, traced.kernel))?;
    }
    Ok(())
}

/// The lowered program, with open types bound. Unless the user chooses, its indices have 32 bits,
/// or 64 if 32 bits overflow even for small sizes: a launch, which knows its sizes, would not use
/// it.
pub fn lowered(form: &Form, binding: &Binding) -> Result<(LoopKernel, Program), Failure> {
    let (declared, pipeline) = (form.declared()?, form.pipeline()?);
    let phase = report::Phase::begin("proving");
    let kernel = loopwright::runtime::bind_open_types(&pipeline.apply(&declared)?, &binding.types()?)?;
    phase.next("lowering");
    let (program, wide) = loopwright::runtime::program_to_show(&kernel, binding.index()?)?;
    drop(phase);
    if let Some(wide) = wide {
        report::note(&format!("indices have 64 bits: {} can reach {}", wide.place, wide.farthest()));
    }
    Ok((kernel, program))
}

/// Runs the command `loopwright check`. Warnings are refused where they are denied.
pub fn check(form: &Form, binding: &Binding, schedule: bool, denied: bool) -> Result<(), Failure> {
    let (kernel, program) = lowered(form, binding)?;
    // A kernel that no current device can launch is an error even without a device.
    check_limits_of(&kernel, &program, Device::emulator().limits())?;
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{}: {}, {}, {} indices",
        kernel.name,
        count(kernel.instructions.len(), "instruction"),
        count(program.kernels.len(), "device kernel"),
        program.index
    );
    host(&program, &program.host, 1, &mut text);
    for global in program.globals.iter().filter(|g| g.owner == loopwright::program::Owner::Launch) {
        let _ = writeln!(
            text,
            "  global temporary {}: {} elements of {}",
            global.name,
            report::value(&global.size),
            global.dtype
        );
    }
    let declared = kernel.declared();
    let notes = declared.single_in_double().into_iter().chain(declared.last_values());
    let notes = notes.chain(declared.projections()).chain(declared.unbounded_subscripts());
    let mut warned = false;
    for note in form.in_the_text(notes) {
        let _ = writeln!(text, "{}", report::warning(&note));
        warned = true;
    }
    if schedule {
        let options = LowerOptions { index: program.index, ..LowerOptions::default() };
        let _ = write!(text, "\n{}", loopwright::lowering::schedule(&kernel, options)?);
    }
    report::say_sections(&text)?;
    // What was printed says why.
    if warned && denied { Err(Failure::Told) } else { Ok(()) }
}

fn host(program: &Program, body: &[HostStmt], depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    for stmt in body {
        match stmt {
            HostStmt::For { var, lower, upper, body, .. } => {
                let _ = writeln!(
                    text,
                    "{indent}host loop {var} from {} up to {}",
                    report::value(lower),
                    report::value(upper)
                );
                host(program, body, depth + 1, text);
            }
            HostStmt::Launch(number) => {
                if let Some(kernel) = program.kernels.get(*number) {
                    device_kernel(kernel, &indent, text);
                }
            }
        }
    }
}

fn device_kernel(kernel: &DeviceKernel, indent: &str, text: &mut String) {
    let grid: Vec<String> = kernel.grid.values().map(report::value).collect();
    let block: Vec<String> = kernel.block.values().map(u32::to_string).collect();
    let mut notes: BTreeMap<usize, String> = BTreeMap::new();
    let (mut barriers, mut warps) = (0, 0);
    Stmt::visit(&kernel.body, &mut |stmt| {
        if let Stmt::Sync { scope, note } = stmt {
            match scope {
                Scope::Block => {
                    notes.insert(barriers, note.text.clone());
                    barriers += 1;
                }
                Scope::Warp => warps += 1,
            }
        }
    });
    let _ = writeln!(
        text,
        "{indent}{}: grid ({}), block ({}), {}{}, {} bytes of shared memory",
        kernel.name,
        grid.join(", "),
        block.join(", "),
        count(barriers, "barrier"),
        if warps > 0 { format!(", {}", count(warps, "warp synchronisation")) } else { String::new() },
        kernel.shared_bytes()
    );
    for note in notes.values().filter(|n| !n.is_empty()) {
        let _ = writeln!(text, "{indent}  barrier: {note}");
    }
    for array in kernel.shared.iter() {
        let dims: Vec<String> = array.dims.iter().map(u64::to_string).collect();
        let _ = writeln!(text, "{indent}  shared {}: {}[{}]", array.name, array.dtype, dims.join(", "));
    }
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
