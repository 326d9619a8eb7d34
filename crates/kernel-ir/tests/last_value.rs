//! The warning about scalars of which only the last value is read.

use loopwright_kernel_ir::LoopKernel;

fn said(lines: &str) -> Vec<String> {
    let text = format!(
        "kernel k(x: f32[n], y: f32[n], out: f32[1], n: i32)\ndomain {{ [i] : 0 <= i < n }}\n{lines}\n"
    );
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{}", d.render()));
    kernel.last_values().into_iter().map(|d| d.message).collect()
}

#[test]
fn a_statement_that_leaves_the_loop_of_its_scalar_is_reported() {
    let lines = "<> acc = 0.0\n<> t = 2.0*x[i]\nacc = acc + t {id=add}\nout[0] = acc";
    assert_eq!(
        said(lines),
        ["`add` is outside of the loop over `i` and reads the last value of `t`, which each iteration \
          overwrites"]
    );
}

#[test]
fn it_is_shown_with_both_remedies() {
    let text =
        "kernel k(x: f32[n], out: f32[1], n: i32)\ndomain { [i] : 0 <= i < n }\n<> t = x[i]\nout[0] = t";
    let kernel = LoopKernel::parse(text).unwrap();
    let [warning] = &kernel.last_values()[..] else { panic!() };
    let shown = warning.render_warning();
    assert!(
        shown.starts_with("warning[last-value]: `set_out` is outside of the loop over `i` and reads"),
        "{shown}"
    );
    assert!(shown.contains("\n5 | out[0] = t {id=set_out}\n"), "{shown}");
    assert!(shown.contains("`for i { ... }`, or add `inames=i`"), "{shown}");
}

#[test]
fn it_is_not_where_a_block_keeps_it_inside() {
    assert!(said("<> acc = 0.0\nfor i { <> t = 2.0*x[i]; acc = acc + t }\nout[0] = acc").is_empty());
    assert!(said("<> acc = 0.0\n<> t = 2.0*x[i]\nacc = acc + t {inames=i}\nout[0] = acc").is_empty());
}

#[test]
fn sums_and_searches_are_read_after_their_loop() {
    assert!(said("<> acc = 0.0\nacc = acc + x[i]\nout[0] = acc").is_empty());
    assert!(said("<> found = 0.0\nfound = x[i] if x[i] > 1.0\nout[0] = found").is_empty());
    // Written again after the loop: this is the value that is read.
    assert!(said("temp t: f32\nt = x[i]\ny[i] = t\nt = 1.0\nout[0] = t").is_empty());
}
