//! NVRTC on a machine with or without a GPU: binaries for three architectures, resources, messages,
//! headers, threads, the cache, and machine code.
//!
//! Where NVRTC is not to be had at all, each test is listed as ignored with the reason. Where its
//! files are there and do not load, the tests fail.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use loopwright_cuda_target::cuda_source;
use loopwright_kernel_ir::{DType, LoopKernel};
use loopwright_lowering::{LowerOptions, lower};
use loopwright_runtime::Arch;
use loopwright_runtime::cache::{Cache, Lookup};
use loopwright_runtime::disasm::Disassembler;
use loopwright_runtime::nvrtc::{self, CompileError, CompileOptions, Compiled, Header, Severity};
use loopwright_transforms::Pipeline;
use rayon::prelude::*;

const ARCHITECTURES: [Arch; 3] = [Arch::SM_80, Arch::SM_90A, Arch::SM_100A];

const AXPY: &str = r#"
extern "C" __global__ void axpy(long long n, float a, const float* __restrict__ x, float* __restrict__ y)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"#;

/// A block of 64 threads with 64 * 4 bytes of shared memory and one barrier.
const REVERSE: &str = r#"
extern "C" __global__ void reverse(float* x)
{
    __shared__ float tile[64];
    tile[threadIdx.x] = x[64 * blockIdx.x + threadIdx.x];
    __syncthreads();
    x[64 * blockIdx.x + threadIdx.x] = tile[63 - threadIdx.x];
}
"#;

type Outcome = Result<(), Failed>;
type Test = (&'static str, fn() -> Outcome);
/// A test that a machine without a disassembler leaves out.
type Disassembled = fn() -> Result<Completion, Failed>;

fn check(holds: bool, message: impl Into<String>) -> Outcome {
    if holds { Ok(()) } else { Err(Failed::from(message.into())) }
}

fn binaries_for_real_architectures() -> Outcome {
    for arch in ARCHITECTURES {
        let compiled = nvrtc::compile(AXPY, &CompileOptions::new(arch))?;
        check(compiled.is_complete(), format!("{arch}: no complete ELF file"))?;
        for length in [0, 4, 0x3d, 64, compiled.cubin.len() / 2] {
            let cut = Compiled { cubin: compiled.cubin[..length].to_vec(), ..compiled.clone() };
            check(!cut.is_complete(), format!("{arch}: complete with {length} bytes"))?;
        }
        check(compiled.warnings().next().is_none(), format!("{arch}: warnings in\n{}", compiled.log))?;
        let ptx = compiled.ptx.as_deref().unwrap_or_default();
        check(ptx.contains(&format!(".target {arch}")), format!("{arch}: assembly for something else"))?;
        let resources = compiled.resources_of("axpy").ok_or("no resources of axpy")?;
        check((4..=32).contains(&resources.registers), format!("{arch}: {resources:?}"))?;
        check(resources.shared_bytes == 0 && !resources.spills(), format!("{arch}: {resources:?}"))?;
    }
    Ok(())
}

fn shared_memory_barriers_and_spills() -> Outcome {
    for arch in ARCHITECTURES {
        let compiled = nvrtc::compile(REVERSE, &CompileOptions::new(arch))?;
        let resources = compiled.resources_of("reverse").ok_or("no resources")?;
        check(resources.shared_bytes == 256 && resources.barriers == 1, format!("{arch}: {resources:?}"))?;
    }
    // 200 values alive at once do not fit into 32 registers.
    let source = r#"
        extern "C" __global__ void many(float* x)
        {
            float v[200];
            #pragma unroll
            for (int k = 0; k < 200; ++k) v[k] = x[k * 1024 + threadIdx.x];
            __syncthreads();
            #pragma unroll
            for (int k = 0; k < 200; ++k) x[(199 - k) * 1024 + threadIdx.x] = v[k] * v[(7 * k) % 200];
        }
    "#;
    let options =
        CompileOptions { extra: vec!["--maxrregcount=32".into()], ..CompileOptions::new(Arch::SM_80) };
    let compiled = nvrtc::compile(source, &options)?;
    let resources = compiled.resources_of("many").ok_or("no resources")?;
    // What is spilled lies on the stack.
    let spilled = resources.spills()
        && resources.stack_bytes >= 4
        && resources.stack_bytes <= resources.spill_store_bytes;
    check(resources.registers <= 32 && spilled, format!("{resources:?}"))
}

fn errors_have_lines_and_the_log() -> Outcome {
    let source = "extern \"C\" __global__ void f(float* x)\n{\n    x[0] = undefined_name;\n    x[1] = another_one;\n}\n";
    match nvrtc::compile(source, &CompileOptions::new(Arch::SM_80)) {
        Err(CompileError::Rejected { messages, log }) => {
            let seen: Vec<_> = messages.iter().map(|message| (message.severity, message.line)).collect();
            check(seen == [(Severity::Error, Some(3)), (Severity::Error, Some(4))], format!("{messages:?}"))?;
            check(messages[0].text.contains("undefined_name"), format!("{messages:?}"))?;
            check(log.contains("kernel.cu(3)"), log)
        }
        other => Err(format!("compiled: {other:?}").into()),
    }
}

fn bad_options_architectures_and_texts_are_errors() -> Outcome {
    let base = CompileOptions::new(Arch::SM_80);
    let options = CompileOptions { extra: vec!["--no-such-option".into()], ..base.clone() };
    let refused = nvrtc::compile(AXPY, &options);
    check(matches!(refused, Err(CompileError::Rejected { .. })), format!("{refused:?}"))?;
    let options = CompileOptions { arch: "sm_35".parse()?, ..base.clone() };
    let refused = nvrtc::compile(AXPY, &options);
    check(matches!(refused, Err(CompileError::UnsupportedArch { .. })), format!("{refused:?}"))?;
    let refused = nvrtc::compile("int x;\0", &base);
    check(refused == Err(CompileError::Nul { what: "source".into() }), format!("{refused:?}"))?;
    // Found by the assembler, not by the front end.
    let refused = nvrtc::compile(&REVERSE.replace("tile[64]", "tile[20000]"), &base);
    let said = refused.err().map(|error| error.to_string()).unwrap_or_default();
    check(said.contains("`reverse` declares 80000 bytes of shared memory"), said)?;
    let refused = nvrtc::compile(&" ".repeat((1 << 20) + 1), &base);
    check(matches!(refused, Err(CompileError::TooLong { .. })), format!("{refused:?}"))?;
    let refused = nvrtc::compile("\u{1}\u{7f}\"'\\ é { ( [", &base);
    check(matches!(refused, Err(CompileError::Rejected { .. })), format!("{refused:?}"))
}

/// On a pool's thread with its small stack, where NVRTC by itself would end the process.
fn deep_nesting_is_survived() -> Outcome {
    let source = |value: String| format!("extern \"C\" __global__ void f(float* x) {{ x[0] = {value}; }}\n");
    let n = 20_000;
    let open = source("(".repeat(n));
    let closed = source(format!("{}x[1]{}", "(".repeat(n), ")".repeat(n)));
    let signs = source(format!("{}x[1]", "- ".repeat(n)));
    let compile = |source: &String| nvrtc::compile(source, &CompileOptions::new(Arch::SM_80));
    let outcomes: Vec<_> = [open, closed, signs].par_iter().map(compile).collect();
    check(matches!(outcomes[0], Err(CompileError::Rejected { .. })), format!("{:?}", outcomes[0]))?;
    check(outcomes[1].is_ok() && outcomes[2].is_ok(), "deep but right, and refused")
}

fn warnings_are_detected() -> Outcome {
    let source = "extern \"C\" __global__ void f(float* x)\n{\n    int unused;\n    x[0] = 1.0f;\n}\n";
    let compiled = nvrtc::compile(source, &CompileOptions::new(Arch::SM_80))?;
    let warnings: Vec<_> = compiled.warnings().collect();
    check(warnings.len() == 1 && warnings[0].line == Some(3), compiled.log.clone())
}

fn half_precision_headers_are_found() -> Outcome {
    let source = r#"
        #include <cuda_fp16.h>
        #include <cuda_bf16.h>
        extern "C" __global__ void f(__half* x, __nv_bfloat16* y)
        {
            x[0] = __hadd(x[1], x[2]);
            y[0] = __hmul(y[1], y[2]);
        }
    "#;
    for arch in ARCHITECTURES {
        let compiled = nvrtc::compile(source, &CompileOptions::new(arch))?;
        check(compiled.warnings().next().is_none(), compiled.log.clone())?;
    }
    Ok(())
}

fn headers_as_text_and_in_folders() -> Outcome {
    let source = "#include \"scale.h\"\nextern \"C\" __global__ void f(float* x) { x[0] = SCALE; }\n";
    let base = CompileOptions::new(Arch::SM_80);
    let missing = nvrtc::compile(source, &base);
    check(matches!(missing, Err(CompileError::Rejected { .. })), "compiled without its header")?;
    let text = "#define SCALE 2.0f\n";
    let headers = vec![Header { name: "scale.h".into(), text: text.into() }];
    nvrtc::compile(source, &CompileOptions { headers, ..base.clone() })?;
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("scale.h"), text)?;
    let options = CompileOptions { include: vec![folder.path().to_path_buf()], ..base };
    let cache = tempfile::tempdir()?;
    for _ in 0..2 {
        let (_, lookup) = Cache::at(cache.path()).compile(source, &options)?;
        check(matches!(lookup, Lookup::Bypassed { .. }), format!("{lookup:?}"))?;
    }
    Ok(())
}

fn fast_math_and_line_information_reach_the_compiler() -> Outcome {
    let source = "extern \"C\" __global__ void f(float* x) { x[0] = sinf(x[1]) / x[2]; }\n";
    let base = CompileOptions::new(Arch::SM_80);
    let ptx = |options: CompileOptions| {
        nvrtc::compile(source, &options).map(|compiled| compiled.ptx.unwrap_or_default())
    };
    let precise = ptx(base.clone())?;
    let fast = ptx(CompileOptions { fast_math: true, ..base.clone() })?;
    check(
        !precise.contains("sin.approx.ftz.f32") && fast.contains("sin.approx.ftz.f32"),
        "fast mathematics",
    )?;
    let lines = ptx(CompileOptions { line_info: true, name: "stencil.cu".into(), ..base })?;
    check(
        !precise.contains(".loc\t") && lines.contains(".loc\t") && lines.contains("stencil.cu"),
        lines.as_str(),
    )
}

fn minimal_leaves_declarations_out_and_the_code_as_it_is() -> Outcome {
    let base = CompileOptions::new(Arch::SM_90A);
    let minimal = CompileOptions { minimal: true, ..base.clone() };
    let halves = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\nextern \"C\" __global__ void f(__half* x, __nv_bfloat16* y)\n{ x[0] = __hmul(x[1], __float2half(__bfloat162float(y[0]))); }\n";
    for source in [REVERSE, halves] {
        let (all, fewer) = (nvrtc::compile(source, &base)?, nvrtc::compile(source, &minimal)?);
        check(all.cubin == fewer.cubin && all.ptx == fewer.ptx, "another binary")?;
    }
    let texture = "extern \"C\" __global__ void f(cudaTextureObject_t t, float* x) { x[0] = tex1Dfetch<float>(t, 0); }\n";
    nvrtc::compile(texture, &base)?;
    match nvrtc::compile(texture, &minimal) {
        Err(CompileError::Rejected { .. }) => Ok(()),
        other => check(nvrtc::library()?.version < (12, 4), format!("{other:?}")),
    }
}

fn threads_compile_side_by_side() -> Outcome {
    let numbered: Vec<(u32, Arch)> =
        (1..=4).flat_map(|number| ARCHITECTURES.map(|arch| (number, arch))).collect();
    let job = |&(number, arch): &(u32, Arch)| {
        let source =
            REVERSE.replace("64", &(32 * number).to_string()).replace("63", &(32 * number - 1).to_string());
        (source, CompileOptions::new(arch))
    };
    let jobs: Vec<(String, CompileOptions)> = numbered.iter().map(job).collect();
    let outcomes = Cache::off().compile_all(&jobs);
    check(outcomes.len() == jobs.len(), "not a result for each")?;
    for ((number, arch), outcome) in numbered.into_iter().zip(outcomes) {
        let (compiled, _) = outcome?;
        let bytes = compiled.resources_of("reverse").map_or(0, |resources| resources.shared_bytes);
        // Each got its own result: 4 bytes for each of its threads.
        check(compiled.arch == arch && bytes == 128 * number, format!("{number} for {arch}: {bytes} bytes"))?;
    }
    Ok(())
}

fn the_cache_gives_what_the_compiler_gave() -> Outcome {
    let folder = tempfile::tempdir()?;
    let cache = Cache::at(folder.path());
    let options = CompileOptions::new(Arch::SM_90A);
    let (first, miss) = cache.compile(AXPY, &options)?;
    let (second, hit) = cache.compile(AXPY, &options)?;
    check((miss, hit) == (Lookup::Miss, Lookup::Hit), "not a miss and then a hit")?;
    check(first == second && second.resources_of("axpy").is_some(), "the second is another")
}

/// Started again by the test below: one process among several that compile the same at once.
const WORKER: &str = "LOOPWRIGHT_TEST_CACHE_WORKER";

fn several_processes_share_a_cache() -> Outcome {
    let folder = tempfile::tempdir()?;
    let program = std::env::current_exe()?;
    let start = || {
        std::process::Command::new(&program)
            .env(WORKER, folder.path())
            .stdout(std::process::Stdio::piped())
            .spawn()
    };
    let workers: Vec<_> = (0..4).map(|_| start()).collect::<Result<_, _>>()?;
    let mut said = Vec::new();
    for worker in workers {
        let output = worker.wait_with_output()?;
        check(output.status.success(), "a process failed")?;
        said.push(String::from_utf8(output.stdout)?);
    }
    said.sort();
    check(said == ["hit\n", "hit\n", "hit\n", "miss\n"], format!("{said:?}"))?;
    // The entry and the note of the compiler that made it; no lock and nothing half written.
    let mut left = Vec::new();
    for file in folder.path().read_dir()? {
        let name = file?.file_name().to_string_lossy().into_owned();
        left.push(name.split_once('.').map_or(name.clone(), |(_, extension)| extension.to_owned()));
    }
    left.sort();
    check(left == ["compiler", "cubin-entry"], format!("{left:?}"))
}

fn worker(folder: &std::ffi::OsStr) -> ExitCode {
    match Cache::at(folder).compile(AXPY, &CompileOptions::new(Arch::SM_90A)) {
        Ok((_, Lookup::Hit)) => println!("hit"),
        Ok((_, Lookup::Miss)) => println!("miss"),
        other => println!("{other:?}"),
    }
    ExitCode::SUCCESS
}

fn machine_code_is_shown() -> Result<Completion, Failed> {
    let Some(disassembler) = Disassembler::find() else {
        return Ok(Completion::ignored_with("this machine has no disassembler"));
    };
    let compiled = nvrtc::compile(AXPY, &CompileOptions::new(Arch::SM_90A))?;
    let text = disassembler.disassemble(&compiled.cubin)?;
    check(text.contains("FFMA") && text.contains("STG") && text.contains("EXIT"), text)?;
    check(disassembler.disassemble(b"not a binary").is_err(), "nonsense was disassembled")?;
    Ok(Completion::Completed)
}

/// Elements of all types, and vectors of them: the hints of a store are written by their size, and
/// elements of a byte have none.
fn stores_in_waves_of_every_type() -> Outcome {
    let fail = |d: &dyn std::fmt::Display| Failed::from(d.to_string());
    let mut sources = Vec::new();
    for dtype in DType::ALL.into_iter().filter(|t| *t != DType::Bool) {
        let kernel = format!(
            "kernel k(x: {dtype}[n], y: {dtype}[n], n: i32)\ndomain {{ [i] : 0 <= i < n }}\ny[i] = x[i] + x[i]\n"
        );
        let lanes = (16 / dtype.bytes()).min(4);
        let vectors = format!(
            "assume(n % {lanes} = 0)\nsplit_iname(i, {lanes}, outer=i_most, inner=i_vec)\ntag_inames(i_vec: vec)\n"
        );
        for (steps, threads) in [(String::new(), "i"), (vectors, "i_most")] {
            let steps = format!(
                "{steps}split_iname({threads}, 128, outer=i_block, inner=i_thread)\n\
                 tag_inames(i_block: block.x, i_thread: thread.x)\ncache_waves(y, window=128, windows=2)\n"
            );
            let declared = LoopKernel::parse(&kernel).map_err(|d| fail(&d))?;
            let program = Pipeline::parse(&steps)
                .and_then(|pipeline| pipeline.apply(&declared))
                .and_then(|kernel| lower(&kernel, LowerOptions::default()))
                .map_err(|d| fail(&d))?;
            let source = cuda_source(&program).map_err(|d| fail(&d))?;
            let called =
                source.text.contains("        store_in_waves(") && source.text.contains("applypriority");
            check(called || dtype.bytes() == 1, format!("no stores in waves:\n{}", source.text))?;
            sources.push(source.text);
        }
    }
    let each = ARCHITECTURES.iter().flat_map(|arch| sources.iter().map(move |text| (*arch, text)));
    let each: Vec<(Arch, &String)> = each.collect();
    each.into_par_iter().try_for_each(|(arch, text)| {
        nvrtc::compile(text, &CompileOptions::new(arch))
            .map(|_| ())
            .map_err(|e| Failed::from(format!("{arch}: {e}\n{text}")))
    })
}

/// Kernels with a pipeline, of which some launches come behind others.
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

/// Conversions from every floating-point type to every integer type are one instruction of the
/// hardware, which goes towards zero and keeps to the range of 32 or 64 bits; NaN becomes 0 by that
/// instruction (`NTZ`) or by a comparison of its own; narrower types are kept in their range by
/// minima and maxima of 32 bits.
fn conversions_to_integers_keep_to_the_range() -> Result<Completion, Failed> {
    let Some(disassembler) = Disassembler::find() else {
        return Ok(Completion::ignored_with("this machine has no disassembler"));
    };
    let fail = |d: &dyn std::fmt::Display| Failed::from(d.to_string());
    let floats = [DType::F16, DType::BF16, DType::F32, DType::F64];
    let integers = DType::ALL.into_iter().filter(|t| t.is_integer());
    let pairs: Vec<(DType, DType)> = integers.flat_map(|to| floats.map(|from| (from, to))).collect();
    let one = |(from, to): (DType, DType)| -> Outcome {
        let kernel =
            format!("kernel k(x: {from}[4], y: {to}[4])\n{{ [i] : 0 <= i < 4 }}\ny[i] = cast({to}, x[i])\n");
        let program = LoopKernel::parse(&kernel).map_err(|d| fail(&d))?;
        let program = Pipeline::parse("tag_inames(i: thread.x)")
            .and_then(|pipeline| pipeline.apply(&program))
            .and_then(|kernel| lower(&kernel, LowerOptions::default()))
            .map_err(|d| fail(&d))?;
        let source = cuda_source(&program).map_err(|d| fail(&d))?;
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

/// Nothing that another launch of the program may still be writing is read, and nothing is written,
/// before the wait for that launch: in the machine code, where the compiler has put everything in
/// its own order. What no launch writes (`CONSTANT`) may be read earlier.
fn the_wait_for_the_launch_ahead_comes_first() -> Result<Completion, Failed> {
    let Some(disassembler) = Disassembler::find() else {
        return Ok(Completion::ignored_with("this machine has no disassembler"));
    };
    let fail = |d: &dyn std::fmt::Display| Failed::from(d.to_string());
    for (kernel, steps) in SEVERAL_LAUNCHES {
        let declared = LoopKernel::parse(kernel).map_err(|d| fail(&d))?;
        let program = Pipeline::parse(steps)
            .and_then(|pipeline| pipeline.apply(&declared))
            .and_then(|kernel| lower(&kernel, LowerOptions::default()))
            .map_err(|d| fail(&d))?;
        let source = cuda_source(&program).map_err(|d| fail(&d))?;
        let compiled = nvrtc::compile(&source.text, &CompileOptions::new(Arch::SM_90A))?;
        let text = disassembler.disassemble(&compiled.cubin)?;
        let early: Vec<&str> = program.kernels.iter().filter(|k| k.early).map(|k| k.name.as_str()).collect();
        check(!early.is_empty(), format!("no launch of\n{kernel}\ncomes behind another"))?;
        for name in early {
            // As nvdisasm and as cuobjdump begin a function.
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
            check(touched.is_empty(), format!("{name}, ahead of its wait: {touched:#?}"))?;
        }
    }
    Ok(Completion::Completed)
}

fn main() -> ExitCode {
    if let Some(folder) = std::env::var_os(WORKER) {
        return worker(&folder);
    }
    let arguments = Arguments::from_args();
    // NVRTC's being nowhere is no failure of this crate; its being somewhere and unusable is.
    let missing = match nvrtc::library() {
        Ok(library) => {
            println!("NVRTC {}.{} from {}", library.version.0, library.version.1, library.file.display());
            None
        }
        Err(error) if error.searched.iter().any(|place| place.ends_with(".build/nvrtc")) => {
            eprintln!("{error}; yet there is something at {:?}", error.searched);
            return ExitCode::FAILURE;
        }
        Err(error) if std::env::var_os("LOOPWRIGHT_NVRTC").is_some() => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
        Err(error) => {
            println!("{error}");
            Some("there is no NVRTC")
        }
    };
    let tests: [Test; 14] = [
        (
            "minimal_leaves_declarations_out_and_the_code_as_it_is",
            minimal_leaves_declarations_out_and_the_code_as_it_is,
        ),
        ("stores_in_waves_of_every_type", stores_in_waves_of_every_type),
        ("binaries_for_real_architectures", binaries_for_real_architectures),
        ("shared_memory_barriers_and_spills", shared_memory_barriers_and_spills),
        ("errors_have_lines_and_the_log", errors_have_lines_and_the_log),
        ("bad_options_architectures_and_texts_are_errors", bad_options_architectures_and_texts_are_errors),
        ("deep_nesting_is_survived", deep_nesting_is_survived),
        ("warnings_are_detected", warnings_are_detected),
        ("half_precision_headers_are_found", half_precision_headers_are_found),
        ("headers_as_text_and_in_folders", headers_as_text_and_in_folders),
        (
            "fast_math_and_line_information_reach_the_compiler",
            fast_math_and_line_information_reach_the_compiler,
        ),
        ("threads_compile_side_by_side", threads_compile_side_by_side),
        ("the_cache_gives_what_the_compiler_gave", the_cache_gives_what_the_compiler_gave),
        ("several_processes_share_a_cache", several_processes_share_a_cache),
    ];
    let mut trials = Vec::new();
    for (name, test) in tests {
        trials.push(Trial::ignorable_test(name, move || match missing {
            Some(reason) => Ok(Completion::ignored_with(reason)),
            None => test().map(|()| Completion::Completed),
        }));
    }
    let of_machine_code: [(&str, Disassembled); 3] = [
        ("conversions_to_integers_keep_to_the_range", conversions_to_integers_keep_to_the_range),
        ("machine_code_is_shown", machine_code_is_shown),
        ("the_wait_for_the_launch_ahead_comes_first", the_wait_for_the_launch_ahead_comes_first),
    ];
    for (name, test) in of_machine_code {
        trials.push(Trial::ignorable_test(name, move || match missing {
            Some(reason) => Ok(Completion::ignored_with(reason)),
            None => test(),
        }));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
