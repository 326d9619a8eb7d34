//! Exported host code, compiled by a C compiler and run against the stand-in for the driver: the
//! kernels are the printed CUDA C, compiled for the CPU. Results are the emulator's, of the same
//! kernel bound by the runtime.

use std::ffi::{c_char, c_int, c_void};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use libloading::Library;
use loopwright::cuda::cuda_source;
use loopwright::host_code::{HostCode, host_code};
use loopwright::prelude::*;
use loopwright::program::Param;
use loopwright_text_check::Checker;

mod names;
mod python;

/// A folder with the stand-in, the host code of a kernel, and the kernel itself.
struct Exported {
    folder: tempfile::TempDir,
    code: HostCode,
    kernel: LoopKernel,
    compiler: std::ffi::OsString,
}

fn example(kernel: &str, pipeline: &str) -> LoopKernel {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let read = |path: String| std::fs::read_to_string(folder.join(path)).unwrap();
    let kernel = LoopKernel::parse(&read(format!("kernels/{kernel}.lw"))).unwrap();
    Pipeline::parse(&read(format!("pipelines/{pipeline}.pipe"))).unwrap().apply(&kernel).unwrap()
}

impl Exported {
    /// `None` without a C compiler.
    fn new(kernel: LoopKernel) -> Option<Exported> {
        let folder = tempfile::tempdir().unwrap();
        if !loopwright_driver_stand_in::compile(folder.path()).unwrap() {
            eprintln!("skipped: there is no C compiler");
            return None;
        }
        std::fs::copy(folder.path().join("libcuda.so"), folder.path().join("libcuda.so.1")).unwrap();
        let code = host_code(&kernel, &Default::default(), DType::I32).unwrap();
        code.write_to(folder.path(), b"the stand-in takes any binary").unwrap();
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        Some(Exported { folder, code, kernel, compiler })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What a program in Python prints beside the loader; `None` without Python.
    fn python(&self, script: &str) -> Option<std::process::Output> {
        std::fs::write(self.path("script.py"), script).unwrap();
        let mut python = Command::new("python3");
        python.current_dir(self.folder.path()).env("LD_LIBRARY_PATH", self.folder.path());
        let output = python.arg("script.py").output().ok();
        if output.is_none() {
            eprintln!("skipped: there is no Python");
        }
        output
    }

    fn cc(&self, args: &[&str]) {
        let folder = self.folder.path();
        let output = Command::new(&self.compiler)
            .current_dir(folder)
            .args(args)
            .args(["-L.", "-Wl,-rpath,."])
            .arg(format!("-Wl,-rpath,{}", folder.display()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}\n{}", String::from_utf8_lossy(&output.stderr));
    }

    /// A library that makes the printed kernels known to the stand-in, and keeps the shapes of
    /// their launches; and the host code as a library.
    fn build(&self) {
        let program = &self.code.program;
        let kernels = Checker::new().unwrap().library(program, &cuda_source(program).unwrap()).unwrap();
        let mut text = String::from(
            "#include <stddef.h>\n#include <stdlib.h>\n#include <string.h>\n\
             typedef void (*Body)(const unsigned *, const unsigned *, unsigned, void **);\n\
             extern void stand_in_kernel(const char *, int, const size_t *, Body);\n\
             unsigned last_block[3], launches;\n",
        );
        let mut known = String::new();
        for (k, kernel) in program.kernels.iter().enumerate() {
            let sizes: Vec<String> = kernel
                .params
                .iter()
                .map(|param| match param {
                    Param::Global { .. } => 8,
                    Param::Scalar { dtype, .. } => dtype.bytes(),
                    Param::HostVar(_) => program.index.bytes(),
                })
                .map(|bytes| bytes.to_string())
                .collect();
            let _ = writeln!(
                text,
                "extern int loopwright_launch_{k}(const unsigned *, int, void *const *);\n\
                 static void body_{k}(const unsigned *grid, const unsigned *block, unsigned shared, void **p)\n\
                 {{ (void)shared; memcpy(last_block, block, sizeof last_block); ++launches; \
                 if (loopwright_launch_{k}(grid, 0, p)) abort(); }}",
            );
            let _ = writeln!(
                known,
                "    {{ static const size_t sizes[] = {{{}}}; stand_in_kernel(\"{}\", {}, sizes, body_{k}); }}",
                sizes.join(", "),
                kernel.name,
                sizes.len()
            );
        }
        let _ = write!(text, "void make_known(void)\n{{\n{known}}}\n");
        std::fs::write(self.path("kernels.c"), text).unwrap();
        let kernels = kernels.canonicalize().unwrap();
        let folder = format!("-Wl,-rpath,{}", kernels.parent().unwrap().display());
        let kernels = kernels.display().to_string();
        self.cc(&["-shared", "-fPIC", "-o", "libkernels.so", "kernels.c", &kernels, &folder, "-lcuda"]);
        let name = &self.code.name;
        let strict = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"];
        let library = ["-shared", "-fPIC", "-o", "libhost.so", &format!("{name}.c"), "-lcuda", "-lm"];
        self.cc(&[&strict[..], &library[..]].concat());
    }
}

/// The stand-in, the kernels and the host code, in this process.
///
/// Tests of one process share the stand-in, whichever of their folders it came from: it is found
/// through the host code.
struct Loaded {
    kernels: Library,
    host: Library,
    name: String,
    module: [*mut c_void; 9],
}

impl Loaded {
    fn new(of: &Exported) -> Loaded {
        of.build();
        let load = |name: &str| {
            // SAFETY: made from sources of this test and the library's own; loading them runs
            // nothing but the initialisers of the stand-in.
            unsafe { Library::new(of.path(name)) }.unwrap()
        };
        let (kernels, host) = (load("libkernels.so"), load("libhost.so"));
        let mut loaded =
            Loaded { kernels, host, name: of.code.name.to_string(), module: [std::ptr::null_mut(); 9] };
        // SAFETY: functions of the stand-in and of the test's C text, with their types.
        unsafe {
            let current: unsafe extern "C" fn(*mut c_void) -> c_int =
                *loaded.host.get("cuCtxSetCurrent").unwrap();
            assert_eq!(current(0x1001 as *mut c_void), 0);
            let known: unsafe extern "C" fn() = *loaded.kernels.get("make_known").unwrap();
            known();
            let name = format!("{}_load", loaded.name);
            let load: unsafe extern "C" fn(*mut c_void) -> c_int = *loaded.host.get(&*name).unwrap();
            assert_eq!(load(loaded.module.as_mut_ptr().cast()), 0);
        }
        loaded
    }

    /// Memory of the device, of which the host can write the bytes.
    fn memory(&self, content: &[f32]) -> u64 {
        let mut at = 0u64;
        // SAFETY: as the stand-in declares it; it gives memory of the host.
        unsafe {
            let alloc: unsafe extern "C" fn(*mut u64, usize) -> c_int =
                *self.host.get("cuMemAlloc_v2").unwrap();
            assert_eq!(alloc(&mut at, (4 * content.len()).max(1)), 0);
            std::ptr::copy_nonoverlapping(content.as_ptr(), at as *mut f32, content.len());
        }
        at
    }

    fn read(&self, at: u64, length: usize) -> Vec<f32> {
        // SAFETY: work that was put off runs now; the memory has at least this length.
        unsafe {
            let wait: unsafe extern "C" fn(*mut c_void) -> c_int =
                *self.host.get("cuStreamSynchronize").unwrap();
            assert_eq!(wait(std::ptr::null_mut()), 0);
            std::slice::from_raw_parts(at as *const f32, length).to_vec()
        }
    }

    fn function<T: Copy>(&self, name: &str) -> T {
        // SAFETY: the callers name the types of the functions as the header declares them.
        *unsafe { self.host.get::<T>(&*format!("{}_{name}", self.name)) }.unwrap()
    }

    fn message(&self, error: c_int) -> String {
        let message: unsafe extern "C" fn(c_int) -> *const c_char = self.function("message");
        // SAFETY: a text that ends with a zero and lives on.
        unsafe { std::ffi::CStr::from_ptr(message(error)) }.to_str().unwrap().to_string()
    }

    fn module(&self) -> *const c_void {
        self.module.as_ptr().cast()
    }

    /// The block of the last launch, and how many there were.
    fn launches(&self) -> ([u32; 3], u32) {
        // SAFETY: variables of the test's C text.
        unsafe {
            (
                **self.kernels.get::<*const [u32; 3]>("last_block").unwrap(),
                **self.kernels.get::<*const u32>("launches").unwrap(),
            )
        }
    }
}

fn numbers(length: usize) -> Vec<f32> {
    (0..length).map(|k| ((k * 7 + 3) % 11) as f32 - 5.0).collect()
}

/// The result of the runtime, on the emulator.
fn expected(kernel: &LoopKernel, args: &Args, name: &str) -> Vec<f32> {
    let outputs = Device::emulator().compile(kernel).unwrap().run(args).unwrap();
    outputs.get(name).unwrap().to_vec().unwrap()
}

/// Sizes are arguments of one text: partial tiles, none at all, and what is refused.
#[test]
fn a_product_is_launched_for_any_sizes() {
    let Some(of) = Exported::new(example("matmul", "matmul/tiled_16")) else { return };
    let loaded = Loaded::new(&of);
    type Launch = unsafe extern "C" fn(*const c_void, *mut c_void, u64, u64, u64, i32, i32, i32) -> c_int;
    let launch: Launch = loaded.function("launch");
    let call = |[a, b, c]: [u64; 3], [m, n, l]: [i32; 3]| {
        // SAFETY: the arrays have at least these sizes, or the call is refused.
        unsafe { launch(loaded.module(), std::ptr::null_mut(), a, b, c, m, n, l) }
    };
    for [m, n, l] in [[1, 1, 1], [33, 17, 5], [16, 32, 48], [7, 50, 0], [0, 5, 3]] {
        let size = |a: i32, b: i32| (a * b) as usize;
        let (a, b) = (numbers(size(m, l)), numbers(size(l, n)));
        let arrays = [loaded.memory(&a), loaded.memory(&b), loaded.memory(&vec![f32::NAN; size(m, n)])];
        assert_eq!(call(arrays, [m, n, l]), 0);
        let found = loaded.read(arrays[2], size(m, n));
        let tensor = |rows: i32, columns: i32, v: Vec<f32>| {
            Tensor::from_vec(&[rows as usize, columns as usize], v).unwrap()
        };
        let args = Args::new().tensor("a", &tensor(m, l, a)).tensor("b", &tensor(l, n, b));
        assert_eq!(found, expected(&of.kernel, &args, "c"), "{m} {n} {l}");
    }
    let (block, launches) = loaded.launches();
    assert_eq!((block, launches), ([16, 16, 1], 4), "an empty grid is not launched");
    let memory = [(); 3].map(|()| loaded.memory(&numbers(64)));
    let [a, b, c] = memory;
    for (arrays, sizes, refusal) in [
        (memory, [-1, 4, 4], "the assumption `0 <= m` does not hold"),
        (memory, [65536, 32768, 1], "the sizes are too large: 32-bit indices do not suffice"),
        (memory, [1 << 21, 2, 2], "the grid of `matmul` has more than 65535 blocks along y"),
        ([a + 2, b, c], [4, 4, 4], "`a` does not begin at a multiple of 4 bytes"),
        ([a, b, a], [4, 4, 4], "`a` and `c` overlap, and the kernel writes `c`"),
        ([a, b, b + 60], [4, 4, 4], "`b` and `c` overlap, and the kernel writes `c`"),
    ] {
        let error = call(arrays, sizes);
        assert!(error < 0);
        assert_eq!(loaded.message(error), format!("matmul: {refusal}"));
    }
    assert_eq!(loaded.launches().1, launches, "what is refused is not launched");
    // Factors may be the same memory, and arrays may lie side by side.
    assert_eq!(call([a, a, c], [4, 4, 4]), 0);
    assert_eq!(call([a, b, b + 64], [4, 4, 4]), 0);
    loaded.read(c, 1);
    assert_eq!(loaded.message(1), "refused by the stand-in");
}

/// Two kernels with scratch memory between them, whose size depends on the arguments.
#[test]
fn scratch_memory_is_the_callers() {
    let Some(of) = Exported::new(example("segmented_sum", "segmented_sum/grid_per_segment")) else { return };
    let loaded = Loaded::new(&of);
    let bytes: unsafe extern "C" fn(i32, i32) -> i64 = loaded.function("workspace_bytes");
    type Launch = unsafe extern "C" fn(*const c_void, *mut c_void, u64, u64, u64, i32, i32) -> c_int;
    let launch: Launch = loaded.function("launch");
    // SAFETY: the types are those of the header, and arrays have the sizes.
    unsafe {
        // Chunks of 16384: three for each of 5 segments of 40000, 60 bytes in steps of 256.
        assert_eq!(bytes(5, 40000), 256);
        assert_eq!(bytes(50, 40000), 768);
        assert_eq!(
            loaded.message(bytes(-1, 3) as c_int),
            "segmented_sum: the assumption `0 <= nseg` does not hold"
        );
        let x = numbers(5 * 40000);
        let (at, out) = (loaded.memory(&x), loaded.memory(&[f32::NAN; 5]));
        let workspace = loaded.memory(&[f32::NAN; 64]);
        assert_eq!(launch(loaded.module(), std::ptr::null_mut(), workspace, at, out, 5, 40000), 0);
        let args = Args::new().tensor("x", &Tensor::from_vec(&[5, 40000], x).unwrap());
        assert_eq!(loaded.read(out, 5), expected(&of.kernel, &args, "out"));
        let error = launch(loaded.module(), std::ptr::null_mut(), workspace + 128, at, out, 5, 40000);
        let refusal = "segmented_sum: the workspace does not begin at a multiple of 256 bytes";
        assert_eq!(loaded.message(error), refusal);
        // Scratch memory in the middle of an array, and at its end.
        for (workspace, array) in [(at, "x"), (at + 512, "x"), (out, "out")] {
            let error = launch(loaded.module(), std::ptr::null_mut(), workspace, at, out, 5, 40000);
            let refusal = format!("segmented_sum: the workspace and `{array}` overlap");
            assert_eq!(loaded.message(error), refusal);
        }
    }
}

/// Launches in a loop of the host, whose variable is a parameter; strides and 64-bit sizes are
/// arguments, and one is called as the text's own name.
#[test]
fn loops_of_the_host_and_strides_are_arguments() {
    let kernel = LoopKernel::parse(
        "kernel sweeps(u: f32[t + 1, n] strides(grid, 1), t: i64, n: i32, grid: i64)
         assume 0 <= t and 3 <= n and n <= grid
         domain { [s] : 0 <= s < t }
         domain { [i] : 1 <= i < n - 1 }
         u[s + 1, i] = 0.5*u[s, i - 1] + 0.5*u[s, i + 1]",
    )
    .unwrap();
    let steps = "split_iname(i, 32)
                 tag_inames(s: host, i_outer: block.x, i_inner: thread.x)";
    let kernel = Pipeline::parse(steps).unwrap().apply(&kernel).unwrap();
    let Some(of) = Exported::new(kernel) else { return };
    let loaded = Loaded::new(&of);
    type Launch = unsafe extern "C" fn(*const c_void, *mut c_void, u64, i64, i32, i64) -> c_int;
    let launch: Launch = loaded.function("launch");
    let (t, n, stride) = (3, 50, 53);
    let content = numbers(4 * 53);
    let at = loaded.memory(&content);
    // By hand: each row from the one above it.
    let mut wanted = content.clone();
    for s in 0..3 {
        for i in 1..49 {
            wanted[(s + 1) * 53 + i] = 0.5 * wanted[s * 53 + i - 1] + 0.5 * wanted[s * 53 + i + 1];
        }
    }
    // SAFETY: the types are those of the header, and the array has the sizes.
    let call = |t: i64, n: i32, stride: i64| unsafe {
        launch(loaded.module(), std::ptr::null_mut(), at, t, n, stride)
    };
    assert_eq!(call(t, n, stride), 0);
    assert_eq!(loaded.read(at, 4 * 53), wanted);
    assert_eq!(loaded.launches(), ([32, 1, 1], 3));
    let message = |t, n, stride| loaded.message(call(t, n, stride));
    assert_eq!(message(1 << 50, n, stride), "sweeps: `t` is beyond 2^47");
    assert_eq!(message(t, n, 49), "sweeps: the assumption `n <= grid` does not hold");
    assert_eq!(message(1 << 30, n, stride), "sweeps: the sizes are too large: 32-bit indices do not suffice");
}

/// The program in C of the book's page, as a user would write it.
#[test]
fn the_books_program_in_c_uses_the_header() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("book/src/first/launch.in");
    let read = |name: &str| std::fs::read_to_string(page.join(name)).unwrap();
    let kernel = LoopKernel::parse(&read("blur.lw")).unwrap();
    let kernel = Pipeline::parse(&read("blocks.pipe")).unwrap().apply(&kernel).unwrap();
    let Some(of) = Exported::new(kernel) else { return };
    of.build();
    // The kernels become known when the program begins.
    std::fs::write(of.path("cuda.h"), include_str!("../common/cuda.h")).unwrap();
    std::fs::write(
        of.path("known.c"),
        "extern void make_known(void);\n\
         __attribute__((constructor)) static void begin(void) { make_known(); }\n",
    )
    .unwrap();
    std::fs::copy(page.join("main.c"), of.path("main.c")).unwrap();
    let files = ["main.c", "blur.c", "known.c"];
    let strict = ["-std=gnu99", "-I.", "-Wall", "-Wextra", "-Werror", "-o", "main"];
    of.cc(&[&strict[..], &files[..], &["-lkernels", "-lcuda", "-lm"][..]].concat());
    let output = Command::new(of.path("main")).output().unwrap();
    // Of numbers in a row, each is the mean of its neighbours.
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1 1000\n");
    // The header is one of C++ too.
    let text = "#include \"blur.h\"\nint main() { return blur_check(3); }\n";
    std::fs::write(of.path("header.cpp"), text).unwrap();
    of.cc(&["-fsyntax-only", "-Wall", "-Werror", "-x", "c++", "header.cpp"]);
}

/// What has to be decided for the sizes of each launch is refused.
#[test]
fn subscripts_that_a_launch_has_to_look_at_are_refused() {
    let kernel = LoopKernel::parse(
        "kernel squares(x: f32[n*n], y: f32[n], n: i32)
         assume 1 <= n
         domain { [i] : 0 <= i < n }
         y[i] = x[i*i]",
    )
    .unwrap();
    let refusal = host_code(&kernel, &Default::default(), DType::I32).unwrap_err();
    assert_eq!(refusal.code, "host-value");
    assert_eq!(
        refusal.message,
        "whether `x[i * i]` stays in its array is decided for the sizes of each launch, which exported \
         host code cannot do"
    );
}
