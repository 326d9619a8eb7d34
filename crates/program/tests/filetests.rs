//! Filetests of the final check: the text of a program, and below a line `==== verdict` the
//! findings, or below `==== refused` the refusal of the text. See `loopwright_filetest`.

use std::path::Path;

use loopwright_filetest::{Filetest, check};
use loopwright_program::{Program, verify::verify};

fn outcome(test: &Filetest) -> String {
    match Program::parse_named(&test.name, &test.text) {
        Ok(program) => {
            let text = program.to_text();
            match Program::parse(&text) {
                Ok(again) => {
                    assert_eq!(again, program, "{} reads back as a different program:\n{text}", test.name)
                }
                Err(d) => panic!("{} does not read back:\n{}\n{text}", test.name, d.render()),
            }
            // The number of queries is not pinned.
            match verify(&program).refusal() {
                None => "==== verdict\nproved\n".to_string(),
                Some(_) => format!("==== verdict\n{}\n", verify(&program)),
            }
        }
        Err(d) => format!("==== refused\n{}\n", d.render()),
    }
}

#[test]
fn filetests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    for kind in ["check", "async", "text"] {
        check(&folder.join(kind), "lwp", &[], outcome);
    }
}
