//! Finds and loads NVRTC, once per process.
//!
//! cudarc opens NVRTC by its bare name. If the loader does not find that name, the files found by
//! [`locate`](super::locate) are opened by their full path first, the builtins before the library,
//! and stay open: the loader then resolves the bare name to the library that is already loaded.
//! Afterwards the loader is queried for the file that was actually loaded, so that reports never
//! name a different one.

use std::ffi::{CStr, c_int, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cudarc::nvrtc::sys;
use libloading::os::unix::{Library as SharedObject, RTLD_GLOBAL, RTLD_NOW};

use super::locate;

/// NVRTC, loaded: its version, its place, and what it compiles for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Its version: major, minor.
    pub version: (u32, u32),
    /// The path of the shared library.
    pub file: PathBuf,
    /// The folder of `cuda_fp16.h` and `cuda_bf16.h`; without it, only sources that include nothing
    /// compile.
    pub headers: Option<PathBuf>,
    /// The numbers of the architectures that it compiles for, ascending: 90 for `sm_90` and
    /// `sm_90a`.
    pub architectures: Vec<u32>,
    /// Identifies this build of the compiler and its headers; part of the key of the binary cache.
    pub fingerprint: String,
}

/// NVRTC could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    /// The reason, as a clause.
    pub reason: String,
    /// The files and folders that were searched.
    pub searched: Vec<PathBuf>,
}

impl NotFound {
    /// How to install it, as an imperative clause.
    pub fn remedy(&self) -> String {
        format!(
            "run `make setup`, which unpacks NVRTC into .build/nvrtc, or install a CUDA toolkit \
             (12 or 13), or set {} to a folder with libnvrtc.so.13",
            locate::VARIABLE
        )
    }
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NVRTC is not available: {}; {}", self.reason, self.remedy())
    }
}

impl std::error::Error for NotFound {}

/// NVRTC of this machine, loaded by the first call. Later changes of the environment are ignored.
pub fn library() -> Result<&'static Library, NotFound> {
    LOADED.get_or_init(load).as_ref().map_err(Clone::clone)
}

static LOADED: OnceLock<Result<Library, NotFound>> = OnceLock::new();

/// Whether this process has loaded NVRTC, or tried to.
pub(crate) fn is_loaded() -> bool {
    LOADED.get().is_some()
}

/// Everything outside the library that determines which file is loaded: in the same environment,
/// the same file is loaded again.
pub(crate) fn situation() -> String {
    let mut parts = vec![format!("{:?}", locate::explicit_root())];
    let searched = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = std::env::split_paths(&searched).chain(locate::implicit_roots());
    // The loader's own folders are in its cache.
    for path in folders.chain([PathBuf::from("/etc/ld.so.cache")]) {
        parts.push(format!("{}: {}", path.display(), stamp(&path)));
    }
    parts.join("; ")
}

/// Identifies the state of a file or folder.
fn stamp(path: &Path) -> String {
    match path.metadata() {
        Ok(data) => {
            let changed =
                data.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
            format!("{} bytes of {}", data.len(), changed.map_or(0, |time| time.as_nanos()))
        }
        Err(_) => "unknown".to_owned(),
    }
}

/// Identifies a build of the compiler with its headers.
pub(crate) fn fingerprint(version: (u32, u32), file: &Path, headers: Option<&Path>) -> String {
    let with_headers = headers
        .map_or("no headers".to_owned(), |folder| format!("headers {}", stamp(&folder.join("cuda_fp16.h"))));
    format!("nvrtc {}.{}, {}, {with_headers}", version.0, version.1, stamp(file))
}

fn load() -> Result<Library, NotFound> {
    let wanted = locate::explicit_root();
    let mut searched = Vec::new();
    if let Some(root) = &wanted {
        searched.push(root.clone());
        let file = locate::library_beneath(root).ok_or_else(|| NotFound {
            reason: format!(
                "{} is set to {}, where there is no libnvrtc.so.13 or libnvrtc.so.12",
                locate::VARIABLE,
                root.display()
            ),
            searched: searched.clone(),
        })?;
        preload(&file).map_err(|reason| NotFound { reason, searched: searched.clone() })?;
    } else if !visible() {
        let roots = locate::implicit_roots();
        searched.extend(roots.iter().cloned());
        let Some(file) = roots.iter().find_map(|root| locate::library_beneath(root)) else {
            let reason = "neither the loader nor a toolkit nor a Python package has it".to_owned();
            return Err(NotFound { reason, searched });
        };
        preload(&file).map_err(|reason| NotFound { reason, searched: searched.clone() })?;
    }
    if !visible() {
        let reason = "its files were opened, but the loader does not resolve its name".to_owned();
        return Err(NotFound { reason, searched });
    }
    describe(wanted.as_deref()).map_err(|reason| NotFound { reason, searched })
}

/// Whether cudarc will find the library. Functions of `cudarc::nvrtc` may only be called if so:
/// they panic otherwise.
fn visible() -> bool {
    // SAFETY: opens shared objects by name; NVRTC's initialisers have no requirements.
    unsafe { sys::is_culib_present() }
}

/// Opens the builtins and the library by full path, and never closes them.
fn preload(file: &Path) -> Result<(), String> {
    for path in locate::builtins_beside(file).iter().map(PathBuf::as_path).chain([file]) {
        // SAFETY: the files are NVRTC's own, whose initialisers have no requirements.
        let object = unsafe { SharedObject::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }
            .map_err(|error| format!("{} could not be loaded ({error})", path.display()))?;
        // Never closed: cudarc keeps pointers into it.
        std::mem::forget(object);
    }
    Ok(())
}

/// Queries the loaded library.
fn describe(wanted: Option<&Path>) -> Result<Library, String> {
    let file = loaded_file().ok_or("the loader does not report which file it loaded")?;
    if let Some(root) = wanted
        && let Some(asked) = locate::library_beneath(root)
        && asked.canonicalize().ok() != file.canonicalize().ok()
    {
        return Err(format!(
            "{} is set to {}, but the loader finds {} first; add the folder to LD_LIBRARY_PATH \
             instead",
            locate::VARIABLE,
            asked.display(),
            file.display()
        ));
    }
    // If the library is too old to have one of these, cudarc would panic at the call.
    let names = [
        c"nvrtcVersion",
        c"nvrtcGetSupportedArchs",
        c"nvrtcGetNumSupportedArchs",
        c"nvrtcGetCUBIN",
        c"nvrtcGetCUBINSize",
    ];
    if let Some(name) = names.into_iter().find(|name| symbol(name).is_none()) {
        return Err(format!(
            "{} is too old: it lacks {}; CUDA 12 or 13 is needed",
            file.display(),
            name.to_string_lossy()
        ));
    }
    let (mut major, mut minor): (c_int, c_int) = (0, 0);
    // SAFETY: `visible` returned true, the symbol exists, and both pointers are valid.
    unsafe { sys::nvrtcVersion(&mut major, &mut minor) }
        .result()
        .map_err(|error| format!("it does not report its version ({error})"))?;
    let version = (major.unsigned_abs(), minor.unsigned_abs());
    let architectures = supported_architectures()
        .map_err(|error| format!("it does not report its architectures ({error})"))?;
    let headers = locate::headers_for(&file);
    let fingerprint = fingerprint(version, &file, headers.as_deref());
    Ok(Library { version, file, headers, architectures, fingerprint })
}

fn supported_architectures() -> Result<Vec<u32>, cudarc::nvrtc::result::NvrtcError> {
    let mut count: c_int = 0;
    // SAFETY: the pointer is valid.
    unsafe { sys::nvrtcGetNumSupportedArchs(&mut count) }.result()?;
    let mut numbers: Vec<c_int> = vec![0; count.max(0) as usize];
    if !numbers.is_empty() {
        // SAFETY: the array has the size that the library reported.
        unsafe { sys::nvrtcGetSupportedArchs(numbers.as_mut_ptr()) }.result()?;
    }
    let mut numbers: Vec<u32> = numbers.into_iter().filter_map(|number| u32::try_from(number).ok()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// The address of a function of the loaded library.
fn symbol(name: &CStr) -> Option<*const c_void> {
    // SAFETY: only called after `visible` said yes; the symbol is taken as an address and not
    // called.
    let address =
        unsafe { sys::culib().get::<*const c_void>(name.to_bytes_with_nul()).ok()?.try_as_raw_ptr()? };
    Some(address.cast_const())
}

/// The file that the library was loaded from.
fn loaded_file() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let address = symbol(c"nvrtcVersion")?;
    let mut info = DlInfo {
        file: std::ptr::null(),
        base: std::ptr::null(),
        name: std::ptr::null(),
        address: std::ptr::null(),
    };
    // SAFETY: `address` is in a loaded object, and `info` has the layout of the loader's `Dl_info`.
    let found = unsafe { dladdr(address, &mut info) };
    if found == 0 || info.file.is_null() {
        return None;
    }
    // SAFETY: the loader's string lives as long as the object, which is never closed.
    let name = unsafe { CStr::from_ptr(info.file) };
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())))
}

/// The loader's `Dl_info`.
#[repr(C)]
struct DlInfo {
    file: *const std::ffi::c_char,
    base: *const c_void,
    name: *const std::ffi::c_char,
    address: *const c_void,
}

unsafe extern "C" {
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
}
