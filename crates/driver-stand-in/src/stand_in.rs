//! Starting a process with the stand-in in the place of the driver, and asking the stand-in.

use std::ffi::{CStr, CString, c_char, c_long, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libloading::Library;

const SOURCE: &str = include_str!("stand_in.c");
/// Set in the process that runs the tests.
const INSIDE: &str = "LOOPWRIGHT_STAND_IN";
const NAME: &str = "libcuda.so";

/// What a launch of a kernel does: grid, block, shared memory, and pointers to the values of its
/// parameters.
pub type Body = unsafe extern "C" fn(*const c_uint, *const c_uint, c_uint, *const *const c_void);

/// The library that this process takes for the driver.
pub struct StandIn {
    library: Library,
}

/// Which of the two processes this is.
pub(crate) enum Entry {
    /// The process in which the tests run, with the stand-in as its driver.
    Inside(StandIn),
    /// They ran in another process, which ended so.
    Ran(ExitCode),
    /// The tests cannot run on this machine, and why.
    Nowhere(&'static str),
}

/// Compiles the stand-in and starts this program again with it in the place of the driver: a
/// process looks for its libraries' folders only when it begins.
pub(crate) fn enter() -> Entry {
    if let Some(folder) = std::env::var_os(INSIDE) {
        // SAFETY: compiled from the source next to this file; its initialiser creates a lock.
        return match unsafe { Library::new(Path::new(&folder).join(NAME)) } {
            Ok(library) => Entry::Inside(StandIn { library }),
            Err(error) => {
                eprintln!("{error}");
                Entry::Ran(ExitCode::FAILURE)
            }
        };
    }
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!("{error}");
            return Entry::Ran(ExitCode::FAILURE);
        }
    };
    match compile(folder.path()) {
        Ok(true) => {}
        Ok(false) => return Entry::Nowhere("there is no C compiler for the driver's stand-in"),
        Err(log) => {
            eprintln!("{log}");
            return Entry::Ran(ExitCode::FAILURE);
        }
    }
    let mut folders = vec![folder.path().to_owned()];
    if let Some(others) = std::env::var_os("LD_LIBRARY_PATH") {
        folders.extend(std::env::split_paths(&others));
    }
    let status = std::env::current_exe().and_then(|own| {
        let mut command = Command::new(own);
        command.args(std::env::args_os().skip(1)).env(INSIDE, folder.path());
        // Nothing of the user's own cache is touched, and nothing there is taken for granted.
        command.env("LOOPWRIGHT_CACHE", folder.path().join("cache"));
        if let Ok(path) = std::env::join_paths(&folders) {
            command.env("LD_LIBRARY_PATH", path);
        }
        command.status()
    });
    Entry::Ran(match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    })
}

/// Compiles the stand-in as `libcuda.so` into a folder, for programs in other languages. False
/// without a compiler; what the compiler says where it refuses.
pub fn compile(folder: &Path) -> Result<bool, String> {
    let source: PathBuf = folder.join("stand_in.c");
    std::fs::write(&source, SOURCE).map_err(|e| e.to_string())?;
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let output = Command::new(compiler)
        .args(["-std=gnu11", "-O1", "-shared", "-fPIC", "-pthread", "-o"])
        .arg(folder.join(NAME))
        .arg(&source)
        .output();
    match output {
        Err(_) => Ok(false),
        Ok(output) if output.status.success() => Ok(true),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

impl StandIn {
    fn symbol<T: Copy>(&self, name: &str) -> T {
        // SAFETY: the callers name the types of the functions as the source declares them.
        *unsafe { self.library.get::<T>(name) }.unwrap_or_else(|error| panic!("{error}"))
    }

    /// From now on binaries have this kernel, with parameters of these sizes.
    pub fn kernel(&self, name: &str, sizes: &[usize], body: Body) {
        let add: unsafe extern "C" fn(*const c_char, i32, *const usize, Body) =
            self.symbol("stand_in_kernel");
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: as many sizes as are said; the name is copied.
        unsafe { add(name.as_ptr(), sizes.len() as i32, sizes.as_ptr(), body) }
    }

    /// Shared memory that a kernel declares itself, in bytes; none until this is said.
    pub fn declares_shared(&self, name: &str, bytes: i32) {
        let set: unsafe extern "C" fn(*const c_char, i32) = self.symbol("stand_in_declares_shared");
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: a text that ends with a zero.
        unsafe { set(name.as_ptr(), bytes) }
    }

    /// How often a function of the driver was called.
    pub fn calls(&self, name: &str) -> i64 {
        let ask: unsafe extern "C" fn(*const c_char) -> c_long = self.symbol("stand_in_calls");
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: a text that ends with a zero.
        unsafe { ask(name.as_ptr()) }
    }

    /// How often any function of the driver was called, but for the question which context is
    /// current.
    pub fn all_calls(&self) -> i64 {
        let ask: unsafe extern "C" fn() -> c_long = self.symbol("stand_in_all_calls");
        // SAFETY: it takes nothing.
        unsafe { ask() }
    }

    /// Bytes of a device that are allocated.
    pub fn live_bytes(&self, device: i32) -> i64 {
        let ask: unsafe extern "C" fn(i32) -> c_long = self.symbol("stand_in_live_bytes");
        // SAFETY: it takes a number.
        unsafe { ask(device) }
    }

    /// The first thing that happened and must not happen.
    pub fn violation(&self) -> Option<String> {
        let ask: unsafe extern "C" fn() -> *const c_char = self.symbol("stand_in_violation");
        // SAFETY: null or a text that ends with a zero.
        unsafe {
            let text = ask();
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    }

    /// A stream of another library in the same process, which nobody tells the library under test
    /// of.
    pub fn foreign_stream(&self) -> u64 {
        let make: unsafe extern "C" fn(*mut u64, c_uint) -> i32 = self.symbol("cuStreamCreate");
        let mut handle = 0;
        // SAFETY: a pointer to the place of a handle.
        unsafe { make(&mut handle, 0) };
        handle
    }

    /// Has a stream captured from now on, or not any more.
    pub fn capture(&self, stream: u64, on: bool) {
        let set: unsafe extern "C" fn(u64, i32) = self.symbol("stand_in_capture");
        // SAFETY: the callers give a live stream.
        unsafe { set(stream, on.into()) }
    }

    /// Another library's copy from one place of a device to another.
    pub fn foreign_copy(&self, stream: u64, to: u64, from: u64, bytes: usize) {
        let copy: unsafe extern "C" fn(u64, u64, usize, u64) -> i32 = self.symbol("cuMemcpyDtoDAsync_v2");
        // SAFETY: the callers give live memory.
        unsafe { copy(to, from, bytes, stream) };
    }

    /// Forgets any violation so far.
    pub fn forgive(&self) {
        let ask: unsafe extern "C" fn() = self.symbol("stand_in_forgive");
        // SAFETY: it takes nothing.
        unsafe { ask() }
    }
}
