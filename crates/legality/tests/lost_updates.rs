//! Updates that an element has not got in the end: of an instance that does not run, and of one
//! whose update is overwritten.

use loopwright_kernel_ir::LoopKernel;
use loopwright_legality::{Verdict, judge};

const DECLARED: &str = "\
kernel k(x: f32[n], y: f32[1], n: i32)
assume 1 <= n
domain { [i] : 0 <= i < n }
y[0] = 0.0 {id=clear, inames=}
y[0] += x[i] {id=add, inames=i}
tree {
clear
for i {
add
}
}
";

/// The code and the text of the witness against this form.
fn witness(form: &str) -> (&'static str, String) {
    let text = format!("{form}declared {{\n{DECLARED}}}\n");
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    match judge(kernel.declared(), &kernel) {
        Verdict::Refuted(witness) => (witness.code, witness.transformed),
        verdict => panic!("{verdict}\n{form}"),
    }
}

#[test]
fn an_update_that_does_not_run_is_told_from_one_that_is_overwritten() {
    let lacks = DECLARED.replace("{ [i] : 0 <= i < n }", "{ [i] : 1 <= i < n }");
    let (code, text) = witness(&lacks);
    assert_eq!((code, text.as_str()), ("instances-lost", "add[i=0] does not run"));
    let late = DECLARED.replace("clear\nfor i {\nadd\n}\n", "for i {\nadd\n}\nclear\n");
    let (code, text) = witness(&late);
    assert_eq!((code, text.as_str()), ("dependence-violated", "what it holds at the end has lost that"));
}
