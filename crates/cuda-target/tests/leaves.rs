//! Which instruction a line of the text comes from, where conditions stand around statements.

use loopwright_cuda_target::cuda_source;
use loopwright_program::Program;

const TEXT: &str = "\
program k(x, y, n: i32) index i32
global x: f32[8] read written
global y: f32[8] written
leaf first \"x[0] = 1\"
leaf second \"y[k] = 2\"
leaf third \"y[1] = 3\"
host {
    launch k
}
kernel k(x written, y written, n: i32) {
    grid(1, 1, 1)
    block(1, 1, 1)

    if n < 2 \"of the first\" {
        store x[0] = 1.0f32 {first}
        store x[1] = 1.0f32 {first}
    } else {
        store y[0] = 2.0f32 {second}
    }
    if n < 3 \"of two\" {
        store y[0] = 2.0f32 {second}
        store y[1] = 3.0f32 {third}
    }
}
";

/// A condition is of the instruction whose statements it guards, if they are all of one.
#[test]
fn conditions_are_of_what_they_guard() {
    let program = Program::parse(TEXT).unwrap_or_else(|d| panic!("{}", d.render()));
    let source = cuda_source(&program).unwrap_or_else(|d| panic!("{d}"));
    let of = |text: &str| {
        let line = source.text.lines().position(|l| l.trim() == text).unwrap_or_else(|| panic!("{text}")) + 1;
        source.leaf_of_line(line).map(|leaf| program.leaves[leaf.0].part.to_string())
    };
    assert_eq!(of("// of the first").as_deref(), Some("first"));
    assert_eq!(of("if (n < 2) {").as_deref(), Some("first"));
    assert_eq!(of("} else {").as_deref(), Some("second"));
    assert_eq!(of("// of two"), None);
    assert_eq!(of("if (n < 3) {"), None);
    assert_eq!(of("y[1] = 3.0f;").as_deref(), Some("third"));
}
