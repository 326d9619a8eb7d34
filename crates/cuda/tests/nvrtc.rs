//! NVRTC on a machine with or without a GPU: binaries for three architectures, resources, messages,
//! headers, threads, the cache, and machine code.
//!
//! If NVRTC is not installed, each test is listed as ignored with the reason. If its files are
//! present but do not load, the tests fail.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use loopwright_cuda::Arch;
use loopwright_cuda::cache::{Cache, Lookup};
use loopwright_cuda::disasm::Disassembler;
use loopwright_cuda::nvrtc::{self, CompileError, CompileOptions, Compiled, Header, Severity};
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

/// The printed text of a copy of rows by `cp.async`, of 16 bytes at once.
const COPY_ASYNC: &str = r#"
// Copies 16 bytes to shared memory, while the thread goes on.
__device__ __forceinline__ void copy_async_16(void *to, const void *from) {
#if __CUDA_ARCH__ >= 800
    const unsigned int address = static_cast<unsigned int>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :
                 : "r"(address), "l"(from)
                 : "memory");
#else
    *static_cast<int4 *>(to) = *static_cast<const int4 *>(from);
#endif
}

// The copies since the last commit are a group.
__device__ __forceinline__ void commit_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most this number of the thread's youngest groups are under way.
template <int groups>
__device__ __forceinline__ void wait_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" : : "n"(groups) : "memory");
#endif
}

extern "C" __global__ void __launch_bounds__(32)
k(const unsigned short *__restrict__ x, unsigned short *__restrict__ y, const int m) {
    __shared__ __align__(16) unsigned short x_tile[32];
    const int i = threadIdx.x;
    const int f_vectors = threadIdx.x;
    for (int k = 0; k < m; ++k) {
        // only cells of x
        if (i * 8 < 32) {
            const int f = f_vectors * 8;
            // x_fetch copies x (add_prefetch)
            copy_async_16(&x_tile[f], &x[k * 32 + f]);
        }
        commit_copies();
        wait_copies<0>();  // x_fetch writes x_tile, turn reads it
        __syncthreads();  // x_fetch writes x_tile, turn reads it
        y[k * 32 + i] = x_tile[31 - i];
        __syncthreads();  // turn reads x_tile, x_fetch writes it in the next iteration
    }
}
"#;

type Outcome = Result<(), Failed>;
type Test = (&'static str, fn() -> Outcome);

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
    // 200 simultaneously live values do not fit into 32 registers.
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
    // Spilled values are on the stack.
    let spilled = resources.spills()
        && resources.stack_bytes >= 4
        && resources.stack_bytes <= resources.spill_store_bytes;
    check(resources.registers <= 32 && spilled, format!("{resources:?}"))
}

fn asynchronous_copies() -> Outcome {
    for arch in ARCHITECTURES {
        let compiled = nvrtc::compile(COPY_ASYNC, &CompileOptions::new(arch))?;
        let ptx = compiled.ptx.as_deref().unwrap_or_default();
        for instruction in ["cp.async.cg.shared.global", "cp.async.commit_group", "cp.async.wait_group"] {
            check(ptx.contains(instruction), format!("{arch}: no {instruction}"))?;
        }
        let resources = compiled.resources_of("k").ok_or("no resources")?;
        check(resources.shared_bytes == 64 && !resources.spills(), format!("{arch}: {resources:?}"))?;
    }
    Ok(())
}

fn errors_have_lines_and_the_log() -> Outcome {
    let source = "extern \"C\" __global__ void f(float* x)\n\
                  {\n    x[0] = undefined_name;\n    x[1] = another_one;\n\
                  }\n";
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
    // Detected by the assembler, not by the front end.
    let refused = nvrtc::compile(&REVERSE.replace("tile[64]", "tile[20000]"), &base);
    let said = refused.err().map(|error| error.to_string()).unwrap_or_default();
    check(said.contains("`reverse` declares 80000 bytes of shared memory"), said)?;
    let refused = nvrtc::compile(&" ".repeat((1 << 20) + 1), &base);
    check(matches!(refused, Err(CompileError::TooLong { .. })), format!("{refused:?}"))?;
    let refused = nvrtc::compile("\u{1}\u{7f}\"'\\ é { ( [", &base);
    check(matches!(refused, Err(CompileError::Rejected { .. })), format!("{refused:?}"))
}

/// On a thread of a pool with a small stack, where NVRTC by itself would terminate the process.
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
    let halves = "#include <cuda_fp16.h>\n\
                  #include <cuda_bf16.h>\n\
                  extern \"C\" __global__ void f(__half* x, __nv_bfloat16* y)\n\
                  { x[0] = __hmul(x[1], __float2half(__bfloat162float(y[0]))); }\n";
    for source in [REVERSE, halves] {
        let (all, fewer) = (nvrtc::compile(source, &base)?, nvrtc::compile(source, &minimal)?);
        check(all.cubin == fewer.cubin && all.ptx == fewer.ptx, "another binary")?;
    }
    let texture = "extern \"C\" __global__ void f(cudaTextureObject_t t, float* x) { x[0] = \
                   tex1Dfetch<float>(t, 0); }\n";
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
        // Each thread got its own result: 4 bytes for each thread of its block.
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

/// Set in processes started by the test below, several of which compile the same source at once.
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
    // The entry, and the record of the compiler that made it; no lock and no partial file.
    let mut left = Vec::new();
    for file in folder.path().read_dir()? {
        let name = file?.file_name().to_string_lossy().into_owned();
        left.push(name.split_once('.').map_or(name.clone(), |(_, extension)| extension.to_owned()));
    }
    left.sort();
    check(left == ["compiler", "cubin-entry"], format!("{left:?}"))
}

/// Set in processes started by the tests below: a folder of Python packages.
const PACKAGES: &str = "LOOPWRIGHT_TEST_PACKAGES";

/// What a process loads that is told of a folder of Python packages, with this search path of the
/// loader, and without the variable for NVRTC.
fn loaded_beside(packages: &Path, searched: &Path) -> Result<String, Failed> {
    let output = std::process::Command::new(std::env::current_exe()?)
        .env(PACKAGES, packages)
        .env("LD_LIBRARY_PATH", searched)
        .env_remove("LOOPWRIGHT_NVRTC")
        .output()?;
    check(output.status.success(), String::from_utf8_lossy(&output.stderr))?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// A folder with NVRTC under this name of the library, as links.
fn linked(folder: &Path, name: &str) -> Result<PathBuf, Failed> {
    let library = &nvrtc::library()?.file;
    std::fs::create_dir_all(folder)?;
    let beside = library.parent().ok_or("the library is in no folder")?;
    for file in beside.read_dir()?.flatten() {
        if file.file_name().to_string_lossy().starts_with("libnvrtc-builtins") {
            std::os::unix::fs::symlink(file.path(), folder.join(file.file_name()))?;
        }
    }
    let link = folder.join(name);
    std::os::unix::fs::symlink(library, &link)?;
    Ok(link)
}

/// What the loader finds is taken: a toolkit beside packages with a compiler of their own is no
/// conflict. Without it, the packages of the interpreter come first.
fn packages_of_an_interpreter_come_after_the_loader() -> Outcome {
    let folder = tempfile::tempdir()?;
    let packages = folder.path().join("site-packages");
    let of_packages = linked(&packages.join("nvidia/cu13/lib"), "libnvrtc.so.13")?;
    let toolkit = linked(&folder.path().join("toolkit"), "libnvrtc.so")?;
    let loaded = loaded_beside(&packages, &folder.path().join("toolkit"))?;
    check(loaded == toolkit.display().to_string(), loaded)?;
    let loaded = loaded_beside(&packages, &folder.path().join("nothing"))?;
    // The loader's own cache may have one; what the setup script unpacked comes later.
    let of_loader = !loaded.contains("/.build/nvrtc/");
    check(loaded == of_packages.display().to_string() || of_loader, loaded)
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

fn main() -> ExitCode {
    if let Some(folder) = std::env::var_os(WORKER) {
        return worker(&folder);
    }
    if let Some(folder) = std::env::var_os(PACKAGES) {
        nvrtc::search_packages(Path::new(&folder));
        return match nvrtc::library() {
            Ok(library) => {
                println!("{}", library.file.display());
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    let arguments = Arguments::from_args();
    // A missing NVRTC is not a failure of this crate; an unusable one is.
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
    let tests: [Test; 15] = [
        (
            "minimal_leaves_declarations_out_and_the_code_as_it_is",
            minimal_leaves_declarations_out_and_the_code_as_it_is,
        ),
        ("binaries_for_real_architectures", binaries_for_real_architectures),
        ("shared_memory_barriers_and_spills", shared_memory_barriers_and_spills),
        ("asynchronous_copies", asynchronous_copies),
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
        (
            "packages_of_an_interpreter_come_after_the_loader",
            packages_of_an_interpreter_come_after_the_loader,
        ),
    ];
    let mut trials = Vec::new();
    for (name, test) in tests {
        trials.push(Trial::ignorable_test(name, move || match missing {
            Some(reason) => Ok(Completion::ignored_with(reason)),
            None => test().map(|()| Completion::Completed),
        }));
    }
    trials.push(Trial::ignorable_test("machine_code_is_shown", move || match missing {
        Some(reason) => Ok(Completion::ignored_with(reason)),
        None => machine_code_is_shown(),
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}
