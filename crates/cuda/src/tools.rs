//! Programs and CUDA toolkits of this machine: on the search path, in the usual folders, and in the
//! folder that the setup script fills.

use std::env;
use std::path::{Path, PathBuf};

/// The first executable file of this name on the search path.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_executable(file))
}

/// The first program of this name: on the search path, in a toolkit, or among the Python packages.
pub fn find_tool(name: &str) -> Option<PathBuf> {
    on_path(name).or_else(|| {
        let toolkits = toolkit_roots().into_iter().map(|root| root.join("bin"));
        let packages = package_roots().into_iter().map(|root| root.join("nvidia/cu13/bin"));
        toolkits.chain(packages).map(|folder| folder.join(name)).find(|file| is_executable(file))
    })
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// The usual folders of CUDA toolkits that exist, those given by the environment first.
pub(crate) fn toolkit_roots() -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"]
        .iter()
        .filter_map(env::var_os)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .collect();
    roots.push("/usr/local/cuda".into());
    // Later versions first.
    let mut versions = matching_folders(Path::new("/usr/local"), "cuda-");
    versions.reverse();
    roots.extend(versions);
    roots.push("/opt/cuda".into());
    roots.retain(|root| root.is_dir());
    roots
}

/// Existing folders with unpacked Python packages: the project's own `.build/nvrtc` first, then
/// site-packages.
pub(crate) fn package_roots() -> Vec<PathBuf> {
    let mut roots = project_packages();
    let mut prefixes: Vec<PathBuf> =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(env::var_os).map(PathBuf::from).collect();
    // A Python on the search path is PREFIX/bin/python3.
    if let Some(prefix) =
        on_path("python3").and_then(|file| file.canonicalize().ok()).and_then(|file| prefix_of(&file))
    {
        prefixes.push(prefix);
    }
    if let Some(home) = env::var_os("HOME") {
        prefixes.push(Path::new(&home).join(".local"));
    }
    prefixes.extend([PathBuf::from("/usr/local"), PathBuf::from("/usr")]);
    for prefix in prefixes {
        for python in matching_folders(&prefix.join("lib"), "python3") {
            roots.extend(["site-packages", "dist-packages"].map(|name| python.join(name)));
        }
    }
    roots.retain(|root| root.join("nvidia").is_dir());
    roots.dedup();
    roots
}

/// `.build/nvrtc` of the project: in the working folder or one above it, the folder of this program
/// or one above it, or the folder that this crate was built from.
fn project_packages() -> Vec<PathBuf> {
    let starts =
        [env::current_dir().ok(), env::current_exe().ok(), Some(PathBuf::from(env!("CARGO_MANIFEST_DIR")))];
    let mut roots: Vec<PathBuf> = Vec::new();
    for start in starts.into_iter().flatten() {
        for folder in start.ancestors() {
            let candidate = folder.join(".build/nvrtc");
            if candidate.is_dir() && !roots.contains(&candidate) {
                roots.push(candidate);
            }
        }
    }
    roots
}

fn prefix_of(program: &Path) -> Option<PathBuf> {
    program.parent()?.parent().map(Path::to_path_buf)
}

/// The folders in `parent` whose names begin with `start`, sorted.
fn matching_folders(parent: &Path, start: &str) -> Vec<PathBuf> {
    let Ok(entries) = parent.read_dir() else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}
