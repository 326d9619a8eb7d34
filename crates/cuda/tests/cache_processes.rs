//! One cache folder shared by several processes, through the real NVRTC. Without NVRTC the test
//! says so and skips the rest.

use std::{env, fs, path::Path, process::Command};

use loopwright_cuda::cache::{Cache, Lookup};
use loopwright_cuda::{Arch, nvrtc};

const FOLDER: &str = "LOOPWRIGHT_TEST_CACHE_FOLDER";
const SOURCE: &str = "extern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2.0f; }\n";

fn compile(folder: &Path) -> (nvrtc::Compiled, Lookup) {
    let options = nvrtc::CompileOptions::new(Arch::SM_80);
    Cache::at(folder).compile(SOURCE, &options).unwrap_or_else(|e| panic!("{e}"))
}

/// The work of each process. In the test's own process, where no folder is set, it does nothing.
#[test]
fn one_of_the_processes() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let (compiled, lookup) = compile(Path::new(&folder));
    assert!(!compiled.cubin.is_empty());
    assert!(!matches!(lookup, Lookup::NotKept { .. } | Lookup::Bypassed { .. }), "{lookup:?}");
    let made = !matches!(lookup, Lookup::Hit);
    println!("made: {made}");
    // The process's memory map shows whether the compiler was loaded.
    if let Ok(mapped) = fs::read_to_string("/proc/self/maps") {
        println!("loaded: {}", mapped.contains("libnvrtc.so"));
    }
}

/// Runs the test above in this many processes at once, and returns how many of them compiled.
fn processes(count: usize, folder: &Path) -> usize {
    let children: Vec<_> = (0..count)
        .map(|_| {
            Command::new(env::current_exe().unwrap())
                .args(["--exact", "one_of_the_processes", "--nocapture"])
                .env(FOLDER, folder)
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let outputs: Vec<_> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let said =
        |text: &str| outputs.iter().filter(|o| String::from_utf8_lossy(&o.stdout).contains(text)).count();
    for output in &outputs {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(said("made: true") + said("made: false"), count);
    said("made: true")
}

#[test]
fn processes_share_one_entry_and_rebuild_a_damaged_one() {
    if let Err(missing) = nvrtc::library() {
        return eprintln!("left out: {missing}");
    }
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("cache");
    let entries = || -> Vec<_> {
        let files = folder.read_dir().unwrap().map(|e| e.unwrap().path());
        files.filter(|file| file.extension().is_some_and(|e| e == "cubin-entry")).collect()
    };
    assert_eq!(processes(6, &folder), 1, "one compiles, the others wait for it");
    let [file] = &entries()[..] else { panic!("{:?}", entries()) };
    let whole = fs::read(file).unwrap();
    for damaged in [Vec::new(), whole[..whole.len() - 1].to_vec(), vec![0; whole.len()]] {
        fs::write(file, damaged).unwrap();
        assert_eq!(processes(4, &folder), 1, "one builds it again");
        assert_eq!(entries(), std::slice::from_ref(file));
        assert_eq!(compile(&folder).1, Lookup::Hit);
    }
}

#[test]
fn a_process_that_finds_its_binary_does_not_load_the_compiler() {
    if let Err(missing) = nvrtc::library() {
        return eprintln!("left out: {missing}");
    }
    let temporary = tempfile::tempdir().unwrap();
    let said = || {
        let output = Command::new(env::current_exe().unwrap())
            .args(["--exact", "one_of_the_processes", "--nocapture"])
            .env(FOLDER, temporary.path())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let (first, second) = (said(), said());
    assert!(first.contains("made: true"), "{first}");
    assert!(second.contains("made: false"), "{second}");
    if first.contains("loaded: ") {
        assert!(first.contains("loaded: true") && second.contains("loaded: false"), "{first}{second}");
    }
    // A damaged record of the compiler is not trusted.
    fs::write(temporary.path().join("compiler"), "damaged").unwrap();
    let third = said();
    assert!(third.contains("made: false") && !third.contains("loaded: false"), "{third}");
}
