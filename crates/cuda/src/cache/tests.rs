use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::arch::Arch;
use crate::nvrtc::Header;

fn options() -> CompileOptions {
    CompileOptions::new(Arch::SM_80)
}

/// The result of compiling this source, as far as the cache checks it.
fn product(source: &str) -> Compiled {
    Compiled::from_parts(
        Arch::SM_80,
        source.as_bytes().to_vec(),
        Some(source.to_uppercase()),
        "log".to_owned(),
    )
}

fn get(cache: &Cache, source: &str) -> (Compiled, Lookup) {
    cache.get_or_compile(&key(source, &options(), "test"), &options(), || Ok(product(source))).unwrap()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn the_second_time_is_a_hit_and_leaves_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path().join("deep/er"));
    assert_eq!(get(&cache, "a"), (product("a"), Lookup::Miss));
    let never = || panic!("compiled again");
    let (compiled, lookup) = cache.get_or_compile(&key("a", &options(), "test"), &options(), never).unwrap();
    assert_eq!((compiled, lookup), (product("a"), Lookup::Hit));
    assert_eq!(entries(cache.folder().unwrap()).len(), 1, "no locks or temporary files remain");
}

#[test]
fn a_damaged_entry_is_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    get(&cache, "a");
    let file = entries(folder.path()).remove(0);
    let whole = fs::read(&file).unwrap();
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for damaged in
        [Vec::new(), whole[..whole.len() / 2].to_vec(), flipped, b"something else altogether".to_vec()]
    {
        fs::write(&file, damaged).unwrap();
        let (compiled, lookup) = get(&cache, "a");
        assert_eq!(compiled, product("a"));
        assert!(matches!(lookup, Lookup::Rebuilt { .. }), "{lookup:?}");
        assert_eq!(fs::read(&file).unwrap(), whole);
        assert_eq!(get(&cache, "a").1, Lookup::Hit);
    }
}

#[test]
fn an_entry_under_the_name_of_another_is_not_served() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let sources = ["a", "b", "c", "d", "e", "f", "g"];
    sources.iter().for_each(|s| drop(get(&cache, s)));
    // Each replaces the next one.
    let files = entries(folder.path());
    let contents: Vec<Vec<u8>> = files.iter().map(|f| fs::read(f).unwrap()).collect();
    for (file, other) in files.iter().zip(contents.iter().cycle().skip(1)) {
        fs::write(file, other).unwrap();
    }
    for source in sources {
        let (compiled, lookup) = get(&cache, source);
        assert_eq!(compiled, product(source));
        assert_eq!(lookup, Lookup::Rebuilt { damage: "it is the entry of a different key".to_owned() });
        assert_eq!(get(&cache, source), (product(source), Lookup::Hit));
    }
}

#[test]
fn everything_that_the_binary_depends_on_is_in_the_key() {
    let base = key("s", &options(), "nvrtc 13.0");
    assert_eq!(base, key("s", &options(), "nvrtc 13.0"));
    let header = |name: &str, text: &str| Header { name: name.into(), text: text.into() };
    let changes: [fn(&mut CompileOptions); 6] = [
        |options| options.arch = Arch::SM_90A,
        |options| options.fast_math = true,
        |options| options.line_info = true,
        |options| options.minimal = true,
        |options| options.name = "other.cu".into(),
        |options| options.extra.push("--maxrregcount=32".into()),
    ];
    let mut keys = vec![base, key("t", &options(), "nvrtc 13.0"), key("s", &options(), "nvrtc 13.1")];
    for change in changes {
        let mut changed = options();
        change(&mut changed);
        keys.push(key("s", &changed, "nvrtc 13.0"));
    }
    for headers in [vec![header("a", "bc")], vec![header("ab", "c")], vec![header("a", "b"), header("c", "")]]
    {
        keys.push(key("s", &CompileOptions { headers, ..options() }, "nvrtc 13.0"));
    }
    for (index, one) in keys.iter().enumerate() {
        assert!(!keys[index + 1..].contains(one), "key {index} occurs twice");
    }
}

#[test]
fn threads_that_want_the_same_compile_it_once() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let count = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let slow = || {
                    count.fetch_add(1, Ordering::SeqCst);
                    std::thread::sleep(std::time::Duration::from_millis(100));
                    Ok(product("a"))
                };
                let (compiled, _) =
                    cache.get_or_compile(&key("a", &options(), "test"), &options(), slow).unwrap();
                assert_eq!(compiled, product("a"));
            });
        }
    });
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert_eq!(entries(folder.path()).len(), 1);
}

#[test]
fn a_failure_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let error = CompileError::Nul { what: "source".into() };
    let failed = cache.get_or_compile(&key("a", &options(), "test"), &options(), || Err(error.clone()));
    assert_eq!(failed, Err(error));
    assert_eq!(get(&cache, "a").1, Lookup::Miss);
}

#[test]
fn a_cache_that_cannot_be_written_costs_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "not a folder").unwrap();
    let (compiled, lookup) = get(&Cache::at(&file), "a");
    assert_eq!(compiled, product("a"));
    assert!(matches!(lookup, Lookup::NotKept { .. }), "{lookup:?}");
    let (compiled, lookup) = get(&Cache::off(), "a");
    assert_eq!(compiled, product("a"));
    assert!(matches!(lookup, Lookup::Bypassed { .. }), "{lookup:?}");
}

#[test]
fn pruning_removes_what_was_used_longest_ago() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    for source in ["a", "b", "c"] {
        get(&cache, source);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    get(&cache, "a");
    let length = entries(folder.path())[0].metadata().unwrap().len();
    assert_eq!(cache.prune(2 * length).unwrap(), 1);
    assert_eq!(get(&cache, "a").1, Lookup::Hit);
    assert_eq!(get(&cache, "c").1, Lookup::Hit);
    assert_eq!(get(&cache, "b").1, Lookup::Miss);
}
