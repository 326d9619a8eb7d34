//! Where comments stand: one for all statements of a copy that follow one another, and that of a
//! later condition inside of it.

use loopwright_cuda_target::cuda_source;
use loopwright_program::Program;

const TEXT: &str = "\
program k(x, y, n: i32) index i32
global x: f32[8] read
global y: f32[8] written
leaf x_fetch copies x by \"add_prefetch\" \"t[a] = x[a]\"
leaf x_fetch same gives 0
leaf rest copies x \"t[b] = x[b]\"
leaf put \"y[0] = t[n]\"
host {
    launch k
}
kernel k(x, y written, n: i32) {
    grid(1, 1, 1)
    block(1, 1, 1)
    shared t: f32[8]

    store t[0] = x[0] {x_fetch[0]}
    store t[1] = x[1] {x_fetch[1]}
    store t[2] = x[2] {rest}
    if n < 2 \"of the first copies\" {
        store y[0] = t[0] {put}
    } else if n < 3 \"of the last one\" {
        store y[0] = t[2] {put}
    }
}
";

#[test]
fn comments_stand_where_what_they_are_of_begins() {
    let program = Program::parse(TEXT).unwrap_or_else(|d| panic!("{}", d.render()));
    let text = cuda_source(&program).unwrap_or_else(|d| panic!("{d}")).text;
    let body = text.split_once("__shared__ float t[8];\n").expect("the array").1;
    let expected = "    \
    // x_fetch copies x (add_prefetch)
    t[0] = x[0];
    t[1] = x[1];
    // rest copies x
    t[2] = x[2];
    // of the first copies
    if (n < 2) {
        y[0] = t[0];
    } else if (n < 3) {
        // of the last one
        y[0] = t[2];
    }
}
";
    assert_eq!(body, expected);
}
