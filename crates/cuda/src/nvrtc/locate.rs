//! Where NVRTC's library files and the CUDA headers may be.
//!
//! The order is from the most to the least explicit: `LOOPWRIGHT_NVRTC`; the dynamic loader
//! (`LD_LIBRARY_PATH`, the system's cache); the packages of the interpreter that this library is
//! loaded into; installed toolkits; other Python packages, first those that the setup script
//! unpacked for the project.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::tools;

/// The variable for a folder with NVRTC: the folder of the library itself, of a toolkit, or of
/// unpacked Python packages.
pub(super) const VARIABLE: &str = "LOOPWRIGHT_NVRTC";

/// The supported major versions, newest first.
const VERSIONS: [&str; 2] = ["13", "12"];

/// The folders below a root (a toolkit, site-packages) that may contain the library.
const SUBFOLDERS: [&str; 8] = [
    "",
    "lib64",
    "lib",
    "targets/x86_64-linux/lib",
    "targets/sbsa-linux/lib",
    "nvidia/cu13/lib",
    "nvidia/cuda_nvrtc/lib",
    "cu13/lib",
];

/// The folder given by the user, if any.
pub(super) fn explicit_root() -> Option<PathBuf> {
    env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from)
}

static OWN_PACKAGES: OnceLock<PathBuf> = OnceLock::new();

/// Has a folder of unpacked Python packages searched before toolkits, but after the dynamic loader:
/// the `site-packages` of the interpreter that this library is loaded into, which no other search
/// finds unless its environment is active. Only the first call counts, and only before NVRTC is
/// loaded.
pub fn search_packages(folder: &Path) {
    OWN_PACKAGES.get_or_init(|| folder.to_path_buf());
}

/// The folders that are searched if the loader does not find the library.
pub(super) fn implicit_roots() -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = OWN_PACKAGES.get().cloned().into_iter().collect();
    roots.extend(tools::toolkit_roots());
    roots.extend(tools::package_roots());
    roots
}

/// The library file below a root; the root may also be the file itself.
pub(super) fn library_beneath(root: &Path) -> Option<PathBuf> {
    if root.is_file() {
        return Some(root.to_path_buf());
    }
    for subfolder in SUBFOLDERS {
        for version in VERSIONS {
            let file = root.join(subfolder).join(format!("libnvrtc.so.{version}"));
            if file.is_file() {
                return Some(file);
            }
        }
    }
    None
}

/// The library of builtins next to the library: NVRTC opens it by its bare name, so it has to be
/// loaded beforehand.
pub(super) fn builtins_beside(library: &Path) -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = library
        .parent()?
        .read_dir()
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            name.starts_with("libnvrtc-builtins.so.")
        })
        .collect();
    // `.so.13.0` and `.so.13.0.88` are one file; NVRTC uses the shorter name.
    found.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    found.into_iter().next()
}

/// The folder with `cuda_fp16.h` that belongs to a library file, or else any on this machine.
pub(super) fn headers_for(library: &Path) -> Option<PathBuf> {
    let near = library.ancestors().skip(1).take(4).flat_map(|folder| {
        // TOOLKIT/lib64, TOOLKIT/targets/x86_64-linux/lib, nvidia/cu13/lib, and
        // nvidia/cuda_nvrtc/lib with its sibling.
        [folder.join("include"), folder.join("cuda_runtime/include")]
    });
    let elsewhere = implicit_roots().into_iter().flat_map(|root| {
        ["include", "targets/x86_64-linux/include", "nvidia/cu13/include", "nvidia/cuda_runtime/include"]
            .map(|sub| root.join(sub))
    });
    near.chain(elsewhere).find(|folder| folder.join("cuda_fp16.h").is_file())
}
