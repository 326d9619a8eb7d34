//! Rules for dependences between crates that the compiler does not enforce.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

/// The crates in the folder `crates`, each with those that its manifest names, also for tests.
fn dependences() -> BTreeMap<String, BTreeSet<String>> {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("crates");
    let of = |folder: PathBuf| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let named = manifest.lines().filter_map(|line| {
            let name = line.strip_prefix("loopwright-")?;
            Some(name.split(['.', ' ', '=']).next()?.to_string())
        });
        (folder.file_name().unwrap().to_string_lossy().into_owned(), named.collect())
    };
    fs::read_dir(crates).unwrap().map(|entry| of(entry.unwrap().path())).collect()
}

/// Crates that read programs do not depend on lowering, not even in their tests: only the facade,
/// the runtime, which turns kernels into programs, `auto`, which lowers what it proposes but reads
/// no program, and the tests' own crate do.
#[test]
fn what_reads_programs_does_not_depend_on_lowering() {
    let dependences = dependences();
    let own = |name: &str| dependences[name].contains("lowering");
    let found: Vec<&String> = dependences.keys().filter(|name| own(name)).collect();
    assert_eq!(found, ["auto", "runtime", "testing"]);
}

/// Neither do they depend on a crate that does. The tuner needs the runtime, which measures for it.
#[test]
fn only_the_tuner_reaches_lowering_through_the_runtime() {
    let dependences = dependences();
    for room in ["program", "cuda-target", "hip-target", "emulator", "text-check", "realize", "legality"] {
        let mut reached = BTreeSet::from([room.to_string()]);
        let mut open = vec![room.to_string()];
        while let Some(name) = open.pop() {
            let next = dependences[&name].iter().filter(|n| reached.insert((*n).clone()));
            open.extend(next.cloned().collect::<Vec<_>>());
        }
        assert!(!reached.contains("lowering") && !reached.contains("runtime"), "{room}: {reached:?}");
    }
}

/// Generated kernels are declarations, as a user writes them: how they run is decided elsewhere.
#[test]
fn generators_know_kernels_alone() {
    assert_eq!(dependences()["generate"], BTreeSet::from(["kernel-ir".to_string()]));
}
