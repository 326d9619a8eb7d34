//! Filetests of the final check: the text of a program, and below a line `==== verdict` the
//! findings, or below `==== refused` the refusal of the text. Those in `kernel` begin with the
//! kernel to which the program below `==== program` is held. See `loopwright_filetest`.

use std::path::Path;

use loopwright_filetest::{Filetest, check};
use loopwright_kernel_ir::LoopKernel;
use loopwright_program::{
    Program,
    verify::{Finding, verify, verify_kernel},
};

/// The verdict as text, without the number of queries.
fn verdict(finding: Finding) -> String {
    match finding {
        Finding::Proved { .. } => "==== verdict\nproved\n".to_string(),
        other => format!("==== verdict\n{other}\n"),
    }
}

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
            verdict(verify(&program))
        }
        Err(d) => format!("==== refused\n{}\n", d.render()),
    }
}

#[test]
fn filetests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../program/tests/filetests");
    for kind in ["check", "async", "text"] {
        check(&folder.join(kind), "lwp", &[], outcome);
    }
    check(&folder.join("kernel"), "lw", &["program"], against_kernel);
}

fn against_kernel(test: &Filetest) -> String {
    let kernel = LoopKernel::parse(&test.text).unwrap_or_else(|d| panic!("{}: {}", test.name, d.render()));
    match Program::parse_named(&test.name, test.input("program")) {
        Ok(program) => verdict(verify_kernel(&kernel, &program)),
        Err(d) => format!("==== refused\n{}\n", d.render()),
    }
}
