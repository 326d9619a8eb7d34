//! Filetests: the text of a kernel, and below a line `==== print` its printed form, or below
//! `==== refused` the error message. See `loopwright_filetest`.

use std::path::Path;

use loopwright_filetest::{Filetest, check};
use loopwright_kernel_ir::LoopKernel;

fn outcome(test: &Filetest) -> String {
    match LoopKernel::parse_named(&test.name, &test.text) {
        Ok(k) => {
            let name = &test.name;
            match LoopKernel::parse(&k.to_text()) {
                Ok(again) => {
                    assert_eq!(again, k, "{name} reads back as a different kernel:\n{}", k.to_text())
                }
                Err(d) => panic!("{name} does not read back:\n{}\n{}", d.render(), k.to_text()),
            }
            format!("==== print\n{}", k.to_text())
        }
        Err(d) => format!("==== refused\n{}\n", d.render()),
    }
}

#[test]
fn filetests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel-ir/tests/filetests");
    check(&folder, "lw", &[], outcome);
}
