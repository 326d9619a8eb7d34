//! From a program to a loaded library, through the system's C++ compiler.
//!
//! Libraries are stored under the hash of everything they are made from, and put in place by
//! renaming, so that concurrent processes can share the folder.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use loopwright_cuda_target::{CudaSource, cuda_source};
use loopwright_kernel_ir::Diagnostic;
use loopwright_program::Program;

use crate::{
    run::TextProgram,
    wrapper::{HIP_SHIM, SHIM, SHIM_NAME, TENSOR_SHIM, translation_unit},
};

/// Options of every compilation for the host. No strict aliasing, as with NVRTC; contraction would
/// make results differ from the emulator's.
pub(crate) const FOR_HOST: &[&str] = &[
    "-std=c++17",
    "-O1",
    "-fPIC",
    "-shared",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    // Without it, GCC 12 takes the negative of an integer that was converted for its difference
    // from zero, which differs in the sign of zero.
    "-frounding-math",
];

/// Options for printed texts. Signed overflow stops the program: arithmetic on data has to be
/// printed so that it wraps, and indices do not overflow.
const OPTIONS: &[&str] = &[
    "-fsanitize=undefined,float-cast-overflow",
    "-fsanitize-undefined-trap-on-error",
    // The absolute value of the least integer is that integer, as on a GPU; inlined, it would count
    // as an overflow.
    "-fno-builtin-abs",
    "-fno-builtin-llabs",
    "-Wall",
    "-Wextra",
    // A kernel may compare with values that a type does not hold.
    "-Wno-type-limits",
    // Of a value that is read under the condition under which it is written, a compiler does not
    // know that it was; the emulator does.
    "-Wno-maybe-uninitialized",
    "-Werror",
    "-Wno-unknown-pragmas",
    "-Wno-unused-parameter",
];

/// A C++ compiler and a folder of compiled texts.
#[derive(Clone, Debug)]
pub struct Checker {
    compiler: PathBuf,
    version: String,
    folder: PathBuf,
    options: Vec<String>,
}

impl Checker {
    /// With the compiler named by `CXX`, or `c++`, and a folder in the build directory or else the
    /// system's temporary one.
    pub fn new() -> Result<Checker, Diagnostic> {
        let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
        let base = if build.is_dir() { build } else { std::env::temp_dir() };
        Checker::with_folder(base.join("loopwright-text-check"))
    }

    /// With a folder for compiled libraries.
    pub fn with_folder(folder: impl Into<PathBuf>) -> Result<Checker, Diagnostic> {
        let compiler = PathBuf::from(std::env::var_os("CXX").unwrap_or_else(|| "c++".into()));
        let help = "install g++ or clang++, or set the environment variable CXX to a C++ compiler";
        let failed = |what: String| Diagnostic::new("no-c++-compiler", what).help(help);
        let output = Command::new(&compiler).arg("--version").output();
        let output =
            output.map_err(|e| failed(format!("`{}` cannot be started: {e}", compiler.display())))?;
        if !output.status.success() {
            return Err(failed(format!("`{}` does not report its version", compiler.display())));
        }
        let folder = folder.into();
        let checker = Checker {
            compiler,
            version: String::from_utf8_lossy(&output.stdout).into_owned(),
            folder,
            options: FOR_HOST.iter().chain(OPTIONS).map(|o| o.to_string()).collect(),
        };
        // Headers included by printed text; the shim has their contents.
        let headers = checker.headers();
        let hip = headers.join("hip");
        fs::create_dir_all(&hip).map_err(|e| unwritable(&hip, &e))?;
        let of_hip = [("hip/hip_runtime.h", HIP_SHIM), ("hip/hip_fp16.h", ""), ("hip/hip_bf16.h", "")];
        let of_cuda = [
            (SHIM_NAME, SHIM),
            ("tensor_cores.h", TENSOR_SHIM),
            ("cuda_fp16.h", ""),
            ("cuda_bf16.h", ""),
            ("cuda_fp8.h", ""),
        ];
        for (name, text) in of_cuda.into_iter().chain(of_hip) {
            checker.put(&headers.join(name), text)?;
        }
        Ok(checker)
    }

    /// Without these warnings, by the names that follow `-W`.
    pub fn without_warnings(mut self, names: &[&str]) -> Checker {
        self.options.extend(names.iter().map(|name| format!("-Wno-{name}")));
        self
    }

    /// The C++ compiler.
    pub(crate) fn compiler(&self) -> &Path {
        &self.compiler
    }

    /// The folder of headers of this version of the shim.
    pub(crate) fn headers(&self) -> PathBuf {
        let mut hasher = blake3::Hasher::new();
        for shim in [SHIM, TENSOR_SHIM, HIP_SHIM] {
            hasher.update(shim.as_bytes());
        }
        self.folder.join(format!("shim-{}", &hasher.finalize().to_hex()[..16]))
    }

    /// Writes a file atomically, unless it exists.
    fn put(&self, path: &Path, text: &str) -> Result<(), Diagnostic> {
        if path.exists() {
            return Ok(());
        }
        let fresh = self.fresh();
        fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, path)).map_err(|e| unwritable(path, &e))
    }

    /// A path in the folder that no other thread or process uses.
    fn fresh(&self) -> PathBuf {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        self.folder.join(format!("new-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
    }

    /// Prints a program and compiles the text.
    pub fn compile(&self, program: &Program) -> Result<TextProgram, Diagnostic> {
        self.compile_source(program, cuda_source(program)?)
    }

    /// Compiles the text that a program has been printed as.
    pub fn compile_source(&self, program: &Program, source: CudaSource) -> Result<TextProgram, Diagnostic> {
        let library = self.library(program, &source)?;
        TextProgram::load(program.clone(), source, &library)
    }

    /// Several programs, compiled in parallel.
    pub fn compile_all(&self, programs: &[Program]) -> Vec<Result<TextProgram, Diagnostic>> {
        let workers = thread::available_parallelism().map_or(1, usize::from).min(programs.len()).max(1);
        let next = AtomicUsize::new(0);
        let mut done: Vec<(usize, Result<TextProgram, Diagnostic>)> = thread::scope(|scope| {
            let work = || {
                let mut mine = Vec::new();
                while let k = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(program) = programs.get(k)
                {
                    mine.push((k, self.compile(program)));
                }
                mine
            };
            let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
            handles.into_iter().flat_map(|h| h.join().unwrap_or_default()).collect()
        });
        done.sort_by_key(|(k, _)| *k);
        done.into_iter().map(|(_, result)| result).collect()
    }

    /// The file of the compiled library. The kernel of the number `K` has the entry
    /// `int loopwright_launch_K(const unsigned *grid, int backwards, void *const *arguments)`.
    pub fn library(&self, program: &Program, source: &CudaSource) -> Result<PathBuf, Diagnostic> {
        let unit = translation_unit(program, source);
        let mut hasher = blake3::Hasher::new();
        for part in [&*unit, SHIM, TENSOR_SHIM, HIP_SHIM, &self.version, &self.options.join(" ")] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        let path = self.folder.join(format!("{}.so", &hasher.finalize().to_hex()[..32]));
        if path.exists() {
            return Ok(path);
        }
        let text = path.with_extension("cpp");
        self.put(&text, &unit)?;
        self.compile_shim_ahead();
        let fresh = self.fresh();
        let output = Command::new(&self.compiler)
            .args(&self.options)
            .arg("-I")
            .arg(self.headers())
            .arg(&text)
            .arg("-o")
            .arg(&fresh)
            .output()
            .map_err(|e| {
                Diagnostic::new("text-check", format!("`{}` cannot be started: {e}", self.compiler.display()))
            })?;
        if !output.status.success() {
            let log = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Diagnostic::new(
                "text-check",
                format!("the printed text of `{}` does not compile", program.name),
            )
            .witness(format!("{log}\n{}", source.text)));
        }
        fs::rename(&fresh, &path).map_err(|e| unwritable(&path, &e))?;
        Ok(path)
    }

    /// Compiles the shim's header with these options, once, which is most of the work on a small
    /// text. GCC takes what it finds in the folder `cuda_shim.h.gch` instead of the header if it
    /// was made by itself with the same options. Other compilers do not, and read the header, as
    /// GCC does if this fails.
    fn compile_shim_ahead(&self) {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        if !self.version.contains("Free Software Foundation") {
            return;
        }
        let header = self.headers().join(SHIM_NAME);
        let folder = header.with_extension("h.gch");
        let mut hasher = blake3::Hasher::new();
        for part in [&*self.version, &self.options.join(" ")] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        let ahead = folder.join(&hasher.finalize().to_hex()[..16]);
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        if ahead.exists() || fs::create_dir_all(&folder).is_err() {
            return;
        }
        let fresh = self.fresh();
        let compiled = Command::new(&self.compiler)
            .args(&self.options)
            .args(["-x", "c++-header"])
            .arg(&header)
            .arg("-o")
            .arg(&fresh)
            .output();
        if compiled.is_ok_and(|output| output.status.success()) {
            let _ = fs::rename(&fresh, &ahead);
        } else {
            let _ = fs::remove_file(&fresh);
        }
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Diagnostic {
    Diagnostic::new("text-check", format!("`{}` cannot be written: {error}", path.display()))
}
