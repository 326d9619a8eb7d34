//! The situations of loopy's tests in `examples/from_loopy`: those of the README's first table are
//! proved, verified, and compute on the emulator and as compiled text what their kernels declare;
//! those of its second table are refused with the code that it names.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
use loopwright_lowering::{LowerOptions, lower, program::Program};
use loopwright_testing::check;
use loopwright_text_check::Checker;
use loopwright_transforms::Pipeline;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/from_loopy")
}

fn text(file: &str) -> String {
    fs::read_to_string(folder().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// The rows of the README's tables: a situation, and the code with which it is refused.
fn rows() -> Vec<(String, Option<String>)> {
    let readme = text("README.md");
    let mut found = Vec::new();
    for line in readme.lines().filter(|l| l.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        // A link to the kernel's file.
        let Some(name) = cells.get(1).and_then(|c| c.split("](").nth(1)?.strip_suffix(".lw)")) else {
            continue;
        };
        let code = (cells.len() == 4).then(|| cells[2].trim_matches('`').to_string());
        found.push((name.to_string(), code));
    }
    found
}

/// The sizes of the second line, `# sizes: n=100 m=7; n=1 m=0`; one set without names if there is
/// no such line.
fn sizes(kernel: &str) -> Vec<BTreeMap<Name, i64>> {
    let line = kernel.lines().find_map(|l| l.strip_prefix("# sizes: "));
    assert!(line.is_some() || !kernel.contains("sizes:"), "sizes begin their line: {kernel}");
    let line = line.unwrap_or_default();
    let pair = |text: &str| {
        let (name, value) = text.split_once('=').expect("a name and a value");
        (Name::new(name), value.parse().expect("a value"))
    };
    line.split(';').map(|set| set.split_whitespace().map(pair).collect()).collect()
}

fn lowered(name: &str) -> Result<(LoopKernel, Program), Vec<Diagnostic>> {
    let declared = LoopKernel::parse(&text(&format!("{name}.lw"))).map_err(|all| all.0)?;
    let steps = match folder().join(format!("{name}.pipe")) {
        path if path.exists() => fs::read_to_string(path).expect("it is there"),
        _ => String::new(),
    };
    let program = || {
        // Without a word of the user's, `apply` takes proved steps only.
        assert!(!steps.contains("assume_legal"), "{name}");
        lower(&Pipeline::parse(&steps)?.apply(&declared)?, LowerOptions::default())
    };
    match program() {
        Ok(program) => Ok((declared, program)),
        Err(d) => Err(vec![d]),
    }
}

#[test]
fn every_situation_has_one_row_and_says_what_it_shows() {
    let rows = rows();
    let listed: BTreeSet<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(listed.len(), rows.len(), "a situation has two rows");
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(folder()).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        match path.extension().map(|e| e.to_string_lossy().into_owned()).as_deref() {
            Some("lw") => {
                let kernel = text(&format!("{stem}.lw"));
                assert!(kernel.starts_with("# "), "{stem} does not say what it shows");
                files.insert(stem);
            }
            Some("pipe") => assert!(folder().join(format!("{stem}.lw")).exists(), "{stem} has no kernel"),
            _ => {}
        }
    }
    assert_eq!(listed, files.iter().map(String::as_str).collect());
    assert!(rows.iter().filter(|(_, code)| code.is_none()).count() >= 25);
}

#[test]
fn situations_compute_what_their_kernels_declare() {
    let mut wrong = Vec::new();
    let mut made = Vec::new();
    for (name, _) in rows().into_iter().filter(|(_, code)| code.is_none()) {
        match lowered(&name) {
            Ok((declared, program)) => made.push((name, declared, program)),
            Err(d) => wrong.push(format!("{name}: {}", d[0])),
        }
    }
    let programs: Vec<Program> = made.iter().map(|(.., program)| program.clone()).collect();
    let texts = Checker::new().expect("a C++ compiler").compile_all(&programs);
    for ((name, declared, program), compiled) in made.iter().zip(texts) {
        let compiled = compiled.unwrap_or_else(|d| panic!("{name}: {d}"));
        for sizes in sizes(&text(&format!("{name}.lw"))) {
            let value = |n: &Name| sizes.get(n).copied();
            assert!(
                program.assumptions.iter().all(|c| c.holds(&value) == Some(true)),
                "{name}: {sizes:?} break an assumption"
            );
            assert_eq!(check::is_compared(declared, &sizes), Ok(true), "{name}: {sizes:?}");
            let outcomes =
                [check::run(declared, program, &sizes), check::run_compiled(&compiled, declared, &sizes)];
            for failure in outcomes.into_iter().filter_map(Result::err) {
                wrong.push(format!("{name}: {}: {}", failure.kind, failure.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_does_not_work_is_refused_as_the_table_says() {
    for (name, code) in rows() {
        let Some(code) = code else { continue };
        match lowered(&name) {
            Ok(_) => panic!("{name} works: it belongs into the first table"),
            Err(found) => assert!(found.iter().any(|d| d.code == code), "{name}: {}", found[0]),
        }
    }
}
