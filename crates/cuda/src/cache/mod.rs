//! Compiled binaries kept on disk, by content.
//!
//! The key is a BLAKE3 hash of everything that the binary depends on: the source, its name, the
//! options with the architecture, the headers given as text, and the build of the compiler. A
//! compilation that searches user folders for headers is not cached, because their contents are not
//! in the key.
//!
//! Any number of threads and processes may share one folder:
//!
//! - an entry is written under a temporary name and then renamed, so that a reader sees a complete
//!   entry or none;
//! - on a miss, a process takes a lock on the key and checks again, so that one process compiles
//!   and the others wait. The lock only saves work: if it is unavailable or lost, two processes
//!   compile the same source and the later rename wins;
//! - an entry contains its key; an entry with a wrong checksum or key is compiled again and
//!   replaced.
//!
//! The compiler that made the entries is recorded next to them, so that a process that finds all of
//! its binaries never loads it.
//!
//! A cache never makes a compilation fail: if it cannot be read or written, the source is compiled
//! without it, and [`Lookup`] reports this.

mod compiler;
mod entry;

use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rayon::prelude::*;

use crate::nvrtc::{self, CompileError, CompileOptions, Compiled};

/// The variable for the folder of the cache; `off` disables it.
const VARIABLE: &str = "LOOPWRIGHT_CACHE";

/// A folder of compiled binaries, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: Option<PathBuf>,
}

/// The outcome of a lookup in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// A hit: the entry was valid.
    Hit,
    /// A miss: the source was compiled and stored.
    Miss,
    /// The entry was damaged; the source was compiled again and the entry replaced.
    Rebuilt {
        /// The check that the entry failed, as a clause.
        damage: String,
    },
    /// The cache was not used, neither read nor written.
    Bypassed {
        /// Why this compilation is not cached, as a clause.
        reason: &'static str,
    },
    /// The source was compiled, but the binary could not be stored.
    NotKept {
        /// The file, and the error when writing it.
        reason: String,
    },
}

impl Cache {
    /// The cache selected by the environment: the folder in `LOOPWRIGHT_CACHE` (`off`: none),
    /// otherwise `loopwright/cuda` in the user's cache folder (`XDG_CACHE_HOME`, `~/.cache`),
    /// otherwise none.
    pub fn from_environment() -> Cache {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        if let Some(value) = set(VARIABLE) {
            let off = value.to_str().is_some_and(|text| matches!(text, "off" | "0" | "none"));
            return if off { Cache::off() } else { Cache::at(value) };
        }
        // The XDG convention ignores relative paths.
        let base = set("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .or_else(|| set("HOME").map(|home| Path::new(&home).join(".cache")));
        Cache { folder: base.map(|base| base.join("loopwright").join("cuda")) }
    }

    /// The cache in this folder, which is created on the first write.
    pub fn at(folder: impl Into<PathBuf>) -> Cache {
        Cache { folder: Some(folder.into()) }
    }

    /// No cache: everything is compiled.
    pub fn off() -> Cache {
        Cache { folder: None }
    }

    /// The folder of the entries; none if the cache is off.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Compiles a source with NVRTC, or takes the binary from the cache.
    pub fn compile(
        &self,
        source: &str,
        options: &CompileOptions,
    ) -> Result<(Compiled, Lookup), CompileError> {
        if let Some(compiled) = self.without_the_compiler(source, options) {
            return Ok((compiled, Lookup::Hit));
        }
        let library = nvrtc::library()?;
        if let Some(folder) = &self.folder {
            compiler::remember(folder, library);
        }
        if !options.include.is_empty() {
            let compiled = nvrtc::compile(source, options)?;
            return Ok((
                compiled,
                Lookup::Bypassed {
                    reason: "headers are searched for in folders, whose contents are not in the \
                             key",
                },
            ));
        }
        let key = key(source, options, &library.fingerprint);
        self.get_or_compile(&key, options, || nvrtc::compile(source, options))
    }

    /// The entry for the compiler that would be loaded, if that is known.
    fn without_the_compiler(&self, source: &str, options: &CompileOptions) -> Option<Compiled> {
        let folder = self.folder.as_ref()?;
        if nvrtc::is_loaded() || !options.include.is_empty() {
            return None;
        }
        let key = key(source, options, &compiler::recall(folder)?);
        match read(&folder.join(key.file_name()), &key, options) {
            Found::Whole(compiled) => Some(compiled),
            Found::Nothing | Found::Damaged(_) => None,
        }
    }

    /// Compiles many sources in parallel, with one thread per core. The results are in the order of
    /// the jobs.
    pub fn compile_all<S: AsRef<str> + Sync>(
        &self,
        jobs: &[(S, CompileOptions)],
    ) -> Vec<Result<(Compiled, Lookup), CompileError>> {
        jobs.par_iter().map(|(source, options)| self.compile(source.as_ref(), options)).collect()
    }

    /// The entry of a key, or else the result of `compile`, which is then stored.
    pub fn get_or_compile(
        &self,
        key: &Key,
        options: &CompileOptions,
        compile: impl FnOnce() -> Result<Compiled, CompileError>,
    ) -> Result<(Compiled, Lookup), CompileError> {
        let Some(folder) = &self.folder else {
            return Ok((compile()?, Lookup::Bypassed { reason: "the cache is disabled" }));
        };
        let file = folder.join(key.file_name());
        match read(&file, key, options) {
            Found::Whole(compiled) => return Ok((compiled, Lookup::Hit)),
            Found::Nothing | Found::Damaged(_) => {}
        }
        let lock = Lock::take(&file);
        // The previous holder of the lock has most likely written the entry.
        let damage = match read(&file, key, options) {
            Found::Whole(compiled) => return Ok((compiled, Lookup::Hit)),
            Found::Nothing => None,
            Found::Damaged(damage) => Some(damage),
        };
        let compiled = compile()?;
        let kept = write(folder, &file, &entry::encode(key, &compiled));
        drop(lock);
        let lookup = match (kept, damage) {
            (Err(error), _) => {
                Lookup::NotKept { reason: format!("{} could not be written: {error}", file.display()) }
            }
            (Ok(()), Some(damage)) => Lookup::Rebuilt { damage },
            (Ok(()), None) => Lookup::Miss,
        };
        Ok((compiled, lookup))
    }

    /// Removes the least recently used entries until at most `bytes` remain. Returns the number of
    /// removed entries.
    pub fn prune(&self, bytes: u64) -> io::Result<usize> {
        let Some(folder) = &self.folder else { return Ok(0) };
        let mut entries: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        let listing = match folder.read_dir() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            listing => listing?,
        };
        for item in listing {
            let path = item?.path();
            // An entry that another process removed in the meantime is skipped.
            if path.extension().is_some_and(|extension| extension == EXTENSION)
                && let Ok(data) = path.metadata()
            {
                entries.push((data.modified().unwrap_or(SystemTime::UNIX_EPOCH), data.len(), path));
            }
        }
        entries.sort();
        let mut total: u64 = entries.iter().map(|(_, length, _)| length).sum();
        let mut removed = 0;
        for (_, length, path) in entries {
            if total <= bytes {
                break;
            }
            fs::remove_file(&path)?;
            total -= length;
            removed += 1;
        }
        Ok(removed)
    }
}

/// Extension of an entry's file.
const EXTENSION: &str = "cubin-entry";

/// A hash of everything that a compilation depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(blake3::Hash);

impl Key {
    fn bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    fn file_name(&self) -> String {
        format!("{}.{EXTENSION}", self.0.to_hex())
    }
}

/// The key of a compilation by the compiler of this fingerprint.
pub fn key(source: &str, options: &CompileOptions, fingerprint: &str) -> Key {
    let mut hasher = blake3::Hasher::new();
    // Each part is preceded by its length, so that no two lists of parts give the same bytes.
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(b"loopwright binary 1");
    part(fingerprint.as_bytes());
    part(source.as_bytes());
    part(options.name.as_bytes());
    let arguments = options.arguments();
    part(&(arguments.len() as u64).to_le_bytes());
    arguments.iter().for_each(|argument| part(argument.as_bytes()));
    for header in &options.headers {
        part(header.name.as_bytes());
        part(header.text.as_bytes());
    }
    Key(hasher.finalize())
}

enum Found {
    Whole(Compiled),
    Nothing,
    Damaged(String),
}

fn read(file: &Path, key: &Key, options: &CompileOptions) -> Found {
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Found::Nothing,
        Err(error) => return Found::Damaged(format!("it cannot be read: {error}")),
    };
    match entry::decode(key, options.arch, &bytes) {
        Ok(compiled) => {
            // For `prune`, which uses the time of last use. A folder that is not writable can still
            // be read.
            if let Ok(handle) = File::options().append(true).open(file) {
                let _ = handle.set_modified(SystemTime::now());
            }
            Found::Whole(compiled)
        }
        Err(damage) => Found::Damaged(damage.to_owned()),
    }
}

fn write(folder: &Path, file: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut temporary = tempfile::Builder::new().prefix(".write-").tempfile_in(folder)?;
    temporary.write_all(bytes)?;
    temporary.persist(file).map_err(|error| error.error)?;
    Ok(())
}

/// A lock on one key among all threads and processes, released when dropped, and by the system if
/// the process dies.
struct Lock {
    _file: File,
    path: PathBuf,
}

impl Lock {
    fn take(entry: &Path) -> Option<Lock> {
        let path = entry.with_extension("lock");
        fs::create_dir_all(path.parent()?).ok()?;
        let file = File::options().create(true).append(true).open(&path).ok()?;
        file.lock().ok()?;
        Some(Lock { _file: file, path })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While still locked. Processes that wait for this file continue with it; later ones create
        // a new one and find the entry.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests;
