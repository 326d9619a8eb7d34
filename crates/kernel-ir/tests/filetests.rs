//! Filetests: the text of a kernel, and below a line `==== print` what it prints as, or below
//! `==== refused` what is said about it.
//!
//! `LOOPWRIGHT_BLESS=1` writes what is found into the files; read the difference before keeping it.

use std::{fs, path::Path};

use loopwright_kernel_ir::LoopKernel;

#[test]
fn filetests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let bless = std::env::var_os("LOOPWRIGHT_BLESS").is_some();
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "lw"));
    files.sort();
    assert!(files.len() > 20, "the folder is there");
    let mut wrong = String::new();
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).unwrap();
        let (kernel, expected) = match text.split_once("\n====") {
            Some((kernel, rest)) => (format!("{kernel}\n"), format!("===={rest}")),
            None if text.starts_with("====") => (String::new(), text.clone()),
            None => (
                text.clone() + if text.ends_with('\n') || text.is_empty() { "" } else { "\n" },
                String::new(),
            ),
        };
        let found = match LoopKernel::parse_named(&name, &kernel) {
            Ok(k) => {
                match LoopKernel::parse(&k.to_text()) {
                    Ok(again) => {
                        assert_eq!(again, k, "{name} reads back as another kernel:\n{}", k.to_text())
                    }
                    Err(d) => panic!("{name} does not read back:\n{}\n{}", d.render(), k.to_text()),
                }
                format!("==== print\n{}", k.to_text())
            }
            Err(d) => format!("==== refused\n{}\n", d.render()),
        };
        if found == expected {
            continue;
        }
        if bless {
            fs::write(&file, format!("{kernel}{found}")).unwrap();
        } else {
            wrong += &format!("---- {name}: expected\n{expected}---- found\n{found}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}\nLOOPWRIGHT_BLESS=1 writes what was found");
}
