//! What a reader of a printed program needs to launch it, as comments before its text.

use std::fmt::Write;

use loopwright_kernel_ir::PerDim;
use loopwright_program::{HostStmt, Owner, Program, ProgramArg, Value};
use loopwright_runtime::alignment;

use super::fits;
use super::formula::{Bounds, Formula};
use super::plan::parameters;
use super::print::{Printer, Style};

/// The comments before a program's CUDA C: of each launch the grid, the block, the shared memory
/// and the launch as a line of host code; what the program assumes of its arguments and relies on
/// in the data, for which sizes its indices do not overflow, and how its arrays are aligned.
///
/// ```
/// use loopwright::prelude::*;
///
/// let kernel = LoopKernel::parse("
/// kernel scale(x: f32[n], y: f32[n], n: i32)
/// assume 0 <= n
/// domain { [i] : 0 <= i < n }
/// y[i] = 2*x[i]
/// ")?;
/// let kernel = kernel.split_iname("i", 256)?.tag_inames("i_outer: block.x, i_inner: thread.x")?;
/// let program = lower(&kernel, LowerOptions::default())?;
/// assert_eq!(loopwright::host_code::heading(&program), "\
/// // scale: a grid of ((n + 255) / 256, 1, 1) blocks of (256, 1, 1) threads, no shared memory
/// //   scale<<<dim3((n + 255) / 256), dim3(256), 0, stream>>>(x, y, n);
/// // assumes n >= 0; launches nothing if the grid is empty
/// // 32 bits hold every index if n <= 2147483392
/// // x: f32[n], aligned to 4 bytes
/// // y: f32[n], aligned to 4 bytes, written
///
/// ");
/// # Ok::<(), Diagnostics>(())
/// ```
pub fn heading(program: &Program) -> String {
    let scalars = program.scalars().filter(|s| s.dtype.is_integer());
    let bounds = Bounds::new(scalars.map(|s| (s.name.clone(), s.dtype)), &program.assumptions);
    let printer = Printer { style: Style::Comment, bounds: &bounds, rename: &|name| name.to_string() };
    let mut text = String::new();
    host(program, &program.host, 0, &printer, &mut text);
    let conditions: Vec<String> =
        program.assumptions.iter().map(|a| printer.text(&Formula::of_constraint(a))).collect();
    let mut rest = String::from("launches nothing if the grid is empty");
    if !conditions.is_empty() {
        rest = format!("assumes {}; {rest}", conditions.join(", "));
    }
    comment(&rest, &mut text);
    let facts: Vec<String> = super::facts(program).map(super::fact).collect();
    if !facts.is_empty() {
        comment(&format!("relies on data for which {}", facts.join(", ")), &mut text);
    }
    let fits = fits::conditions(program, &bounds);
    let bits = 8 * program.index.bytes();
    if fits.iter().any(|f| fits::is_hopeless(f, &bounds)) {
        let line = format!("whether {bits} bits hold every index depends on sizes and data");
        comment(&line, &mut text);
    } else if !fits.is_empty() {
        let fits: Vec<String> = fits.iter().map(|f| printer.text(f)).collect();
        comment(&format!("{bits} bits hold every index if {}", fits.join(" and ")), &mut text);
    }
    let args = program.args.iter().filter_map(|arg| match arg {
        ProgramArg::Array(k) => Some(*k),
        ProgramArg::Scalar(_) => None,
    });
    let scratch = (0..program.globals.len()).filter(|k| program.globals[*k].owner == Owner::Launch);
    for number in args.chain(scratch) {
        let global = &program.globals[number];
        let shape: Vec<String> = global.shape.iter().map(|v| shown(v, &printer)).collect();
        let mut line = format!(
            "{}: {}[{}], aligned to {} bytes",
            global.name,
            global.dtype,
            shape.join(", "),
            alignment(program, number)
        );
        if global.owner == Owner::Launch {
            let _ = write!(line, ", scratch of {} elements", shown(&global.size, &printer));
        } else if global.written {
            line.push_str(", written");
        }
        comment(&line, &mut text);
    }
    text.push('\n');
    text
}

fn shown(value: &Value, printer: &Printer<'_>) -> String {
    Formula::of_host(value).map_or_else(|| "...".into(), |f| printer.natural(&f))
}

/// A comment, with its sentence on several lines if it is long.
fn comment(line: &str, text: &mut String) {
    let mut column = 0;
    for (k, word) in line.split(' ').enumerate() {
        if k > 0 && column + 1 + word.len() > 100 {
            text.push('\n');
            column = 0;
        }
        if column == 0 {
            let start = if k == 0 { "//" } else { "//    " };
            text.push_str(start);
            column = start.len();
        }
        text.push(' ');
        text.push_str(word);
        column += 1 + word.len();
    }
    text.push('\n');
}

fn host(program: &Program, body: &[HostStmt], depth: usize, printer: &Printer<'_>, text: &mut String) {
    let indent = "    ".repeat(depth);
    for stmt in body {
        match stmt {
            HostStmt::For { var, lower, upper, body, .. } => {
                let bound = |v| Formula::of_host(v).map_or_else(|| "...".into(), |f| printer.text(&f));
                let (lower, upper) = (bound(lower), bound(upper));
                let loop_ = format!("//   {indent}for (int {var} = {lower}; {var} < {upper}; ++{var})\n");
                text.push_str(&loop_);
                host(program, body, depth + 1, printer, text);
            }
            HostStmt::Launch(number) => {
                let Some(kernel) = program.kernels.get(*number) else { continue };
                let grid: Vec<String> = kernel.grid.values().map(|v| shown(v, printer)).collect();
                let PerDim { x, y, z } = kernel.block;
                let bytes = kernel.shared_bytes();
                let is_dynamic = bytes > program.target.static_shared;
                let shared = match (bytes, is_dynamic) {
                    (0, _) => "no shared memory".into(),
                    (_, false) => format!("{bytes} bytes of shared memory"),
                    (_, true) => format!(
                        "{bytes} bytes of shared memory, for which the host first sets \
                         cudaFuncAttributeMaxDynamicSharedMemorySize"
                    ),
                };
                comment(
                    &format!(
                        "{}: a grid of ({}) blocks of ({x}, {y}, {z}) threads, {shared}",
                        kernel.name,
                        grid.join(", ")
                    ),
                    text,
                );
                let params: Vec<String> =
                    parameters(program, *number).map(|(name, _)| name.to_string()).collect();
                let block = [x, y, z].map(|n| n.to_string());
                let _ = writeln!(
                    text,
                    "//   {indent}{}<<<dim3({}), dim3({}), {}, stream>>>({});",
                    kernel.name,
                    without_ones(&grid),
                    without_ones(&block),
                    if is_dynamic { bytes } else { 0 },
                    params.join(", ")
                );
            }
        }
    }
}

/// The lengths of a shape without ones at its end, which `dim3` adds.
fn without_ones(lengths: &[String]) -> String {
    let used = lengths.iter().rposition(|l| l != "1").map_or(1, |k| k + 1);
    lengths[..used].join(", ")
}
