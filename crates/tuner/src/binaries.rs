//! Candidates that are compiled on one machine and timed on another.
//!
//! A folder holds `manifest.json`, a `.cubin` for each candidate that is legal, and the kernels
//! that measure the memory's limit. The manifest records what the folder belongs to and, for each
//! candidate, the outcome of the checks and counts on the emulator, with hashes of its binary and
//! of the CUDA C that it was compiled from. Measuring prints the text again and compares, so a
//! binary never runs as a kernel of another version; a file that does not match the manifest is
//! refused before anything is launched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel};
use loopwright_runtime::cuda::DeviceInfo;
use loopwright_runtime::{Arch, Args, CompileOptions, Compiled, Device, nvrtc, print_for};
use serde::{Deserialize, Serialize};

use crate::{Key, Outcome, Point};

/// The name of the manifest in its folder.
const MANIFEST: &str = "manifest.json";

/// A compiled binary in the folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct BinaryFile {
    /// Its name in the folder.
    file: String,
    /// The BLAKE3 hash of the file's bytes, by which a damaged one is found.
    blake3: String,
    /// BLAKE3 of the CUDA C that it was made from.
    source: String,
    /// Whether its indices are 64 bits wide.
    wide: bool,
    /// The compiler's log, which has registers and spills.
    log: String,
}

/// A candidate of a folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Candidate {
    /// The point of the space.
    pub point: Point,
    /// The outcome of the checks, the counts and the compiler.
    pub outcome: Outcome,
    /// Its binary, if it is legal.
    binary: Option<BinaryFile>,
}

/// The origin of the binaries of a folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Manifest {
    /// The version of the format.
    format: u32,
    /// The architecture that all binaries are for, as `sm_90a`.
    arch: String,
    /// The problem; its device and driver are empty.
    key: Key,
    /// The kernels that measure the limit of the memory.
    limits: Vec<BinaryFile>,
    candidates: Vec<Candidate>,
}

const FORMAT: u32 = 2;

/// A folder of compiled candidates, all of whose files are intact.
#[derive(Clone, Debug)]
pub struct BinaryFolder {
    folder: PathBuf,
    arch: Arch,
    manifest: Manifest,
    /// The binaries by file name.
    binaries: BTreeMap<String, nvrtc::Compiled>,
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
    std::fs::write(path, bytes).map_err(|e| {
        Diagnostic::new("write-file", format!("{} cannot be written: {e}", path.display()))
            .help("use a writable folder")
    })
}

/// Compiles one kernel into a folder, with the narrowest indices that suffice for the problem.
pub(crate) fn compile_into(
    folder: &Path,
    file: String,
    kernel: &LoopKernel,
    args: &Args,
    arch: Arch,
) -> Result<BinaryFile, Diagnostic> {
    let options = CompileOptions::default();
    let printed = print_for(kernel, args, &options)?;
    let wide = printed.index == DType::I64;
    let binary = printed.compile(arch, &options)?;
    let cubin = binary.compiled.cubin;
    write(&folder.join(&file), &cubin)?;
    Ok(BinaryFile {
        file,
        blake3: blake3::hash(&cubin).to_hex().to_string(),
        source: blake3::hash(binary.source.text.as_bytes()).to_hex().to_string(),
        wide,
        log: binary.compiled.log,
    })
}

impl Candidate {
    pub fn new(point: Point, outcome: Outcome, binary: Option<BinaryFile>) -> Candidate {
        Candidate { point, outcome, binary }
    }
}

impl BinaryFile {
    /// Registers and spills as reported by the compiler.
    pub fn resources(&self) -> Vec<nvrtc::KernelResources> {
        nvrtc::Compiled::from_parts(Arch::SM_80, Vec::new(), None, self.log.clone()).resources
    }
}

/// Creates the folder and removes an earlier manifest: an unfinished folder has none.
pub(crate) fn prepare(folder: &Path) -> Result<(), Diagnostic> {
    let failed = |e: std::io::Error| {
        Diagnostic::new("write-file", format!("{} cannot be created: {e}", folder.display()))
            .help("use a writable folder")
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    match std::fs::remove_file(folder.join(MANIFEST)) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(failed(e)),
        _ => Ok(()),
    }
}

/// Writes the manifest, as the last file.
pub(crate) fn finish(
    folder: &Path,
    arch: Arch,
    key: Key,
    limits: Vec<BinaryFile>,
    candidates: Vec<Candidate>,
) -> Result<(), Diagnostic> {
    let manifest = Manifest { format: FORMAT, arch: arch.to_string(), key, limits, candidates };
    let text = serde_json::to_string_pretty(&manifest)
        .map_err(|e| Diagnostic::new("write-file", format!("a manifest cannot be written as JSON: {e}")))?;
    write(&folder.join(MANIFEST), text.as_bytes())
}

impl BinaryFolder {
    /// Reads a folder. Refuses a missing or damaged manifest or binary.
    pub fn open(folder: impl AsRef<Path>) -> Result<BinaryFolder, Diagnostic> {
        let folder = folder.as_ref();
        let path = folder.join(MANIFEST);
        let damaged = |path: &Path, e: String| {
            Diagnostic::new("binary-folder", format!("{} cannot be used: {e}", path.display())).help(
                "copy the whole folder again, or make it again with `loopwright tune \
                    --compile-only`",
            )
        };
        let text = std::fs::read(&path).map_err(|e| damaged(&path, e.to_string()))?;
        let format = |value: &serde_json::Value| value.get("format").and_then(serde_json::Value::as_u64);
        let value: serde_json::Value =
            serde_json::from_slice(&text).map_err(|e| damaged(&path, e.to_string()))?;
        if format(&value) != Some(u64::from(FORMAT)) {
            return Err(damaged(&path, format!("its format is not {FORMAT}")));
        }
        let manifest: Manifest = serde_json::from_value(value).map_err(|e| damaged(&path, e.to_string()))?;
        let arch: Arch = manifest.arch.parse().map_err(|e| damaged(&path, format!("{e}")))?;
        let mut binaries = BTreeMap::new();
        let of_candidates = manifest.candidates.iter().filter_map(|c| c.binary.as_ref());
        for entry in manifest.limits.iter().chain(of_candidates) {
            let path = folder.join(&entry.file);
            if Path::new(&entry.file).components().count() != 1 {
                return Err(damaged(&path, "it is not in the folder".to_owned()));
            }
            let cubin = std::fs::read(&path).map_err(|e| damaged(&path, e.to_string()))?;
            if blake3::hash(&cubin).to_hex().as_str() != entry.blake3 {
                return Err(damaged(&path, "it is not the file that the manifest describes".to_owned()));
            }
            let binary = nvrtc::Compiled::from_parts(arch, cubin, None, entry.log.clone());
            if !binary.is_complete() {
                return Err(damaged(&path, "it is not a complete ELF file".to_owned()));
            }
            binaries.insert(entry.file.clone(), binary);
        }
        Ok(BinaryFolder { folder: folder.to_owned(), arch, manifest, binaries })
    }

    /// The architecture of the binaries.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// The version of the compiler that made them.
    pub fn compiler(&self) -> &str {
        &self.manifest.key.compiler
    }

    /// Number of candidates with a binary.
    pub fn len(&self) -> usize {
        self.manifest.candidates.iter().filter(|c| c.binary.is_some()).count()
    }

    /// Whether no candidate has a binary.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Refuses a folder whose binaries are of another kernel, pipeline, problem or version; the
    /// refusal names the field.
    pub fn check_key(&self, key: &Key) -> Result<(), Diagnostic> {
        let ours = Key { device: String::new(), driver: String::new(), ..key.clone() };
        // The compiler is that of the machine that compiled; the contents of arrays do not affect
        // binaries.
        let theirs = &self.manifest.key;
        let ours = Key { compiler: theirs.compiler.clone(), data: theirs.data.clone(), ..ours };
        match ours.difference(&self.manifest.key) {
            None => Ok(()),
            Some((field, here, there)) => Err(Diagnostic::new(
                "binary-folder-differs",
                format!("the binaries in {} are for a different {field}", self.folder.display()),
            )
            .witness(format!("there `{}`, here `{}`", there.trim(), here.trim()))
            .help("use the kernel, the pipeline and the sizes that the folder was made with")),
        }
    }

    /// Refuses a device that the binaries do not run on.
    pub fn check_device(&self, device: &DeviceInfo) -> Result<(), Diagnostic> {
        let (major, minor) = device.compute_capability;
        if (major, minor) == (0, 0) {
            return Err(Diagnostic::new(
                "binary-device",
                format!("binaries for {} are timed on a GPU, and there is none: {}", self.arch, device.name),
            )
            .help("copy the folder to a machine with a GPU and run the same command there"));
        }
        if !self.arch.runs_on(major, minor) {
            let native = Arch::native(major, minor);
            return Err(Diagnostic::new(
                "binary-device",
                format!("binaries for {} do not run on {}, which is {native}", self.arch, device.name),
            )
            .help(format!("make the folder with `--compile-only FOLDER --arch {native}`")));
        }
        Ok(())
    }

    /// The candidate of a point.
    pub(crate) fn candidate(&self, point: &Point) -> Option<&Candidate> {
        self.manifest.candidates.iter().find(|c| c.point == *point)
    }

    /// The kernel of a point on a device, with its binary from the folder.
    pub(crate) fn load(
        &self,
        device: &Device,
        kernel: &LoopKernel,
        args: &Args,
        point: &Point,
    ) -> Result<Compiled, Diagnostic> {
        let missing =
            || Diagnostic::new("binary-folder-differs", format!("the folder has no binary of {point}"));
        let entry = self.candidate(point).and_then(|c| c.binary.as_ref()).ok_or_else(missing)?;
        self.load_entry(device, kernel, args, entry)
    }

    /// The kernel that measures a limit, by its number.
    pub(crate) fn load_limit(
        &self,
        device: &Device,
        kernel: &LoopKernel,
        args: &Args,
        number: usize,
    ) -> Result<Compiled, Diagnostic> {
        let missing = || Diagnostic::new("binary-folder", "the folder has no kernels that measure the limit");
        self.load_entry(device, kernel, args, self.manifest.limits.get(number).ok_or_else(missing)?)
    }

    fn load_entry(
        &self,
        device: &Device,
        kernel: &LoopKernel,
        args: &Args,
        entry: &BinaryFile,
    ) -> Result<Compiled, Diagnostic> {
        let index = if entry.wide { DType::I64 } else { DType::I32 };
        let options = CompileOptions { index: Some(index), ..CompileOptions::default() };
        let printed = print_for(kernel, args, &options)?;
        if blake3::hash(printed.source.text.as_bytes()).to_hex().as_str() != entry.source {
            return Err(Diagnostic::new(
                "binary-folder-differs",
                format!("{} was compiled from a different text than the one printed here", entry.file),
            )
            .help("make the folder again with this version of the library"));
        }
        let missing =
            || Diagnostic::new("binary-folder-differs", format!("the folder has no file {}", entry.file));
        device.load_binary(
            &printed.kernel,
            index,
            self.binaries.get(&entry.file).cloned().ok_or_else(missing)?,
        )
    }
}

/// The outcome of a point that is not in the folder.
pub(crate) fn not_compiled(point: &Point) -> Outcome {
    let message = format!("the folder has no binary of {point}: make it again with this point in the space");
    Outcome::Refused { code: "not-compiled".to_owned(), message, help: None }
}
