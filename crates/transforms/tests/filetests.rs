//! Filetests: a kernel's text, a pipeline, and the text of the kernel after it or of the refusal.
//!
//! A file has three sections: the kernel, `==== pipeline`, and `==== kernel` or `==== refused`. A
//! pipeline that is not refused is also taken through its printed text and its JSON, and the kernel
//! through its whole text. See `loopwright_filetest`.

use std::path::Path;

use loopwright_filetest::check;
use loopwright_kernel_ir::LoopKernel;
use loopwright_transforms::Pipeline;

/// The outcome for a file's kernel: the last section with its heading.
fn outcome(kernel: &str, pipeline: &str) -> String {
    let kernel =
        LoopKernel::parse(kernel).unwrap_or_else(|e| panic!("the kernel of a filetest is wrong: {e}"));
    let before = kernel.clone();
    let refused = |d: &dyn std::fmt::Display| format!("==== refused\n{d}\n");
    let pipeline = match Pipeline::parse(pipeline) {
        Ok(pipeline) => pipeline,
        Err(d) => return refused(&d),
    };
    assert_eq!(Pipeline::parse(&pipeline.to_string()).as_ref(), Ok(&pipeline), "the printed pipeline");
    let json = serde_json::to_string(&pipeline).unwrap();
    assert_eq!(serde_json::from_str::<Pipeline>(&json).unwrap(), pipeline, "the pipeline's JSON: {json}");
    let result = match pipeline.apply(&kernel) {
        Ok(after) => {
            assert_eq!(after.origin(), &before, "the declared kernel is unchanged");
            assert_eq!(LoopKernel::parse(&after.to_text()).as_ref(), Ok(&after), "the kernel's text");
            format!("==== kernel\n{after}")
        }
        Err(d) => refused(&d),
    };
    assert_eq!(kernel, before, "the given kernel is unchanged");
    result
}

#[test]
fn filetests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    check(&folder, "test", &["pipeline"], |test| outcome(&test.text, test.input("pipeline")));
}
