//! Printed programs compiled by NVRTC: whether it accepts them, and the machine code that it
//! produces. Without NVRTC, or without a disassembler for the tests that read machine code, tests
//! are listed as ignored with the reason.

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use loopwright_cuda_target::{CudaSource, cuda_source};
use loopwright_kernel_ir::{DType, LoopKernel};
use loopwright_program::Program;
use loopwright_runtime::disasm::Disassembler;
use loopwright_runtime::nvrtc::{self, CompileOptions};
use loopwright_runtime::{Arch, Device};
use loopwright_transforms::Pipeline;
use rayon::prelude::*;

const ARCHITECTURES: [Arch; 3] = [Arch::SM_80, Arch::SM_90A, Arch::SM_100A];

type Outcome = Result<Completion, Failed>;
type Test = (&'static str, fn() -> Outcome);

fn check(holds: bool, message: impl Into<String>) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(Failed::from(message.into())) }
}

/// A kernel after the steps of a pipeline, lowered and printed.
fn print(kernel: &str, steps: &str) -> Result<(Arc<Program>, CudaSource), Failed> {
    let fail = |d: &dyn std::fmt::Display| Failed::from(d.to_string());
    let declared = LoopKernel::parse(kernel).map_err(|d| fail(&d))?;
    let program = Pipeline::parse(steps)
        .and_then(|pipeline| pipeline.apply(&declared))
        .and_then(|kernel| Device::emulator().compile(&kernel)?.program())
        .map_err(|d| fail(&d))?;
    let source = cuda_source(&program).map_err(|d| fail(&d))?;
    Ok((program, source))
}

/// Elements of all types, and vectors of them: the cache hints of a store depend on its size, and
/// one-byte elements have none.
fn stores_in_waves_of_every_type() -> Outcome {
    let mut sources = Vec::new();
    for dtype in DType::ALL.into_iter().filter(|t| *t != DType::Bool) {
        let kernel = format!(
            "kernel k(x: {dtype}[n], y: {dtype}[n], n: i32)\n\
             domain {{ [i] : 0 <= i < n }}\n\
             y[i] = x[i] + x[i]\n"
        );
        let lanes = (16 / dtype.bytes()).min(4);
        let vectors = format!(
            "assume(n % {lanes} = 0)\n\
             split_iname(i, {lanes}, outer=i_most, inner=i_vec)\n\
             tag_inames(i_vec: vec)\n"
        );
        for (steps, threads) in [(String::new(), "i"), (vectors, "i_most")] {
            let steps = format!(
                "{steps}split_iname({threads}, 128, outer=i_block, inner=i_thread)\n\
                 tag_inames(i_block: block.x, i_thread: thread.x)\n\
                 cache_waves(y, window=128, windows=2)\n"
            );
            let (_, source) = print(&kernel, &steps)?;
            let called =
                source.text.contains("        store_in_waves(") && source.text.contains("applypriority");
            check(called || dtype.bytes() == 1, format!("no stores in waves:\n{}", source.text))?;
            sources.push(source.text);
        }
    }
    // Texts are the same for all architectures; those of two types show that all have the hints.
    let each = ARCHITECTURES.iter().enumerate().flat_map(|(k, arch)| {
        let texts = if k == 0 { &sources[..] } else { &sources[2..6] };
        texts.iter().map(move |text| (*arch, text))
    });
    let each: Vec<(Arch, &String)> = each.collect();
    each.into_par_iter().try_for_each(|(arch, text)| {
        nvrtc::compile(text, &CompileOptions::new(arch))
            .map(|_| ())
            .map_err(|e| Failed::from(format!("{arch}: {e}\n{text}")))
    })?;
    Ok(Completion::Completed)
}

/// Kernels with a pipeline, some of whose launches follow others.
const SEVERAL_LAUNCHES: [(&str, &str); 3] = [
    (
        "kernel columns(x: f32[m, n], out: f32[n], m: i32, n: i32)
         domain { [j] : 0 <= j < n }
         domain { [i] : 0 <= i < m }
         out[j] = sum(i, x[i, j])",
        "split_iname(j, 32)
         split_iname(i, 1024)
         tag_inames(j_outer: block.x, i_outer: block.y, j_inner: thread.x)",
    ),
    (
        "kernel steps(x: f32[n], y: f32[n], n: i32, m: i32)
         domain { [t, i] : 0 <= t < m and 0 <= i < n }
         y[i] = x[i] * y[i] + y[i] {inames=t:i}",
        "split_iname(i, 128)
         tag_inames(t: host, i_outer: block.x, i_inner: thread.x)",
    ),
    (
        include_str!("../../../examples/kernels/ragged_sum.lw"),
        "flatten_ragged(s, i, threads=128, items=16, tiles=4)",
    ),
];

/// Conversions from every floating-point type to every integer type are one hardware instruction,
/// which truncates and clamps to the range of 32 or 64 bits. NaN becomes 0 through that instruction
/// (`NTZ`) or through a separate comparison. Narrower types are clamped by 32-bit minima and
/// maxima.
fn conversions_to_integers_keep_to_the_range() -> Outcome {
    let Some(disassembler) = Disassembler::find() else {
        return Ok(Completion::ignored_with("this machine has no disassembler"));
    };
    let floats = [DType::F16, DType::BF16, DType::F32, DType::F64];
    let integers = DType::ALL.into_iter().filter(|t| t.is_integer());
    let pairs: Vec<(DType, DType)> = integers.flat_map(|to| floats.map(|from| (from, to))).collect();
    let one = |(from, to): (DType, DType)| -> Result<(), Failed> {
        let kernel =
            format!("kernel k(x: {from}[4], y: {to}[4])\n{{ [i] : 0 <= i < 4 }}\ny[i] = cast({to}, x[i])\n");
        let (_, source) = print(&kernel, "tag_inames(i: thread.x)")?;
        for arch in ARCHITECTURES.into_iter().filter(|a| from.bytes() > 2 || *a == Arch::SM_90A) {
            let compiled = nvrtc::compile(&source.text, &CompileOptions::new(arch))?;
            let code = disassembler.disassemble(&compiled.cubin)?;
            let has =
                |lines: &[&str]| code.lines().filter(|l| lines.iter().all(|part| l.contains(part))).count();
            let what = format!("{from} to {to} on {arch}:\n{}\n{code}", source.text);
            let kind = match to {
                DType::I64 => ".S64",
                DType::U64 => ".U64",
                t if t.is_unsigned() => ".U32",
                _ => "F2I",
            };
            check(has(&["F2I"]) == 1 && has(&["F2I", ".TRUNC", kind]) == 1, &*what)?;
            let other = [".S64", ".U64", ".U32"].into_iter().filter(|k| *k != kind);
            check(other.map(|k| has(&["F2I", k])).sum::<usize>() == 0, &*what)?;
            check(has(&["F2I", ".NTZ"]) + has(&["SETP"]) >= 1, format!("NaN, {what}"))?;
            let ends: &[&str] = match to {
                DType::I8 => &["0x7f,", "-0x80,"],
                DType::I16 => &["0x7fff,", "-0x8000,"],
                DType::U8 => &["0xff,"],
                DType::U16 => &["0xffff,"],
                _ => &[],
            };
            check(ends.iter().all(|end| has(&["MNMX", end]) == 1), format!("ends {ends:?}, {what}"))?;
        }
        Ok(())
    };
    pairs.into_par_iter().map(one).collect::<Result<Vec<()>, Failed>>()?;
    Ok(Completion::Completed)
}

/// Before the wait for the preceding launch, nothing is written, and nothing is read that another
/// launch of the program may still be writing. This is checked in the machine code, which the
/// compiler has reordered. What no launch writes (`CONSTANT`) may be read earlier.
fn the_wait_for_the_launch_ahead_comes_first() -> Outcome {
    let Some(disassembler) = Disassembler::find() else {
        return Ok(Completion::ignored_with("this machine has no disassembler"));
    };
    for (kernel, steps) in SEVERAL_LAUNCHES {
        let (program, source) = print(kernel, steps)?;
        let compiled = nvrtc::compile(&source.text, &CompileOptions::new(Arch::SM_90A))?;
        let text = disassembler.disassemble(&compiled.cubin)?;
        let early: Vec<&str> = program.kernels.iter().filter(|k| k.early).map(|k| k.name.as_str()).collect();
        check(!early.is_empty(), format!("no launch of\n{kernel}\nfollows another"))?;
        for name in early {
            // A function's heading as printed by nvdisasm and by cuobjdump.
            let begins = [format!(".text.{name}:\n"), format!("Function : {name}\n")];
            let code = begins
                .iter()
                .find_map(|begin| text.split_once(begin.as_str()))
                .map(|(_, code)| code.split(".text.").next().unwrap_or(code))
                .map(|code| code.split("Function : ").next().unwrap_or(code))
                .ok_or_else(|| Failed::from(format!("no code of {name} in\n{text}")))?;
            let before = code
                .split_once("ACQBULK")
                .map(|(before, _)| before)
                .ok_or_else(|| Failed::from(format!("{name} waits for nothing:\n{code}")))?;
            let memory = ["LDG", "STG", "RED", "ATOM"];
            let touches = |line: &&str| memory.iter().any(|m| line.contains(m)) && !line.contains("CONSTANT");
            let touched: Vec<&str> = before.lines().filter(touches).collect();
            check(touched.is_empty(), format!("{name}, before its wait: {touched:#?}"))?;
        }
    }
    Ok(Completion::Completed)
}
fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let missing = nvrtc::library().is_err().then_some("there is no NVRTC");
    let tests: [Test; 3] = [
        ("stores_in_waves_of_every_type", stores_in_waves_of_every_type),
        ("conversions_to_integers_keep_to_the_range", conversions_to_integers_keep_to_the_range),
        ("the_wait_for_the_launch_ahead_comes_first", the_wait_for_the_launch_ahead_comes_first),
    ];
    let trials = tests.map(|(name, test)| {
        Trial::ignorable_test(name, move || match missing {
            Some(reason) => Ok(Completion::ignored_with(reason)),
            None => test(),
        })
    });
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}
