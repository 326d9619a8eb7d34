//! Copies that fill what no instance writes, and copies of vectors: programs in whose text a
//! condition or an element is another one.

use loopwright_kernel_ir::LoopKernel;
use loopwright_lowering::{LowerOptions, lower, program::Program, verify::verify_kernel};
use loopwright_transforms::Pipeline;

/// The code with which the check refuses a program in whose text something is replaced, if it does.
fn refusal(kernel: &str, pipeline: &str, (from, to): (&str, &str)) -> Option<&'static str> {
    let kernel = Pipeline::parse(pipeline).unwrap().apply(&LoopKernel::parse(kernel).unwrap()).unwrap();
    let text = lower(&kernel, LowerOptions::default()).unwrap().to_text();
    assert!(text.contains(from), "no `{from}` in\n{text}");
    let text = text.replace(from, to);
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    verify_kernel(&kernel, &program).refusal().map(|d| d.code)
}

/// A product by tiles, of which the last ones are partial.
fn of_product(change: (&str, &str)) -> Option<&'static str> {
    refusal(
        include_str!("../../examples/kernels/matmul.lw"),
        include_str!("../../examples/pipelines/matmul/tiled_16.pipe"),
        change,
    )
}

/// Where the tile of `a` has an element of `a`.
const INSIDE: &str = "if(i < m and k_outer * 16 + a_f1 < l, ";

#[test]
fn a_bound_of_a_copy_that_fills_may_be_written_in_any_form() {
    assert_eq!(of_product((INSIDE, INSIDE)), None);
    for inside in ["i <= m - 1", "m > i", "m >= i + 1"] {
        let to = format!("if({inside} and k_outer * 16 + a_f1 < l, ");
        assert_eq!(of_product((INSIDE, &to)), None, "{inside}");
    }
    // One row more, and one less.
    for inside in ["i <= m", "m + 1 > i", "m >= i", "m >= i + 2"] {
        let to = format!("if({inside} and k_outer * 16 + a_f1 < l, ");
        assert!(of_product((INSIDE, &to)).is_some(), "{inside}");
    }
}

/// A copy that is left out where it would fill leaves there what the step before has copied.
#[test]
fn a_copy_that_does_not_run_fills_nothing() {
    let copy = "store b_tile[b_f0, b_f1] = if(k_outer * 16 + b_f0 < l and j < n, \
                b[k_outer * 16 + b_f0, j], 0.0f32) {b_fetch[1]}";
    assert_eq!(of_product((copy, copy)), None);
    for inside in ["k_outer * 16 + b_f0 < l", "k_outer * 16 + b_f0 < l and j < n"] {
        let guarded = format!("if {inside} {{\n{copy}\n}}");
        assert_eq!(of_product((copy, &guarded)), Some("wrong-value"), "{inside}");
    }
}

/// Four threads copy eight elements each. Moved by four, the vectors leave out some elements of the
/// row, and go beyond it.
#[test]
fn an_asynchronous_vector_has_the_lanes_of_its_own_thread() {
    let kernel = "\
kernel k(x: bf16[m, 32], y: bf16[m, 32], m: i32)
assume 1 <= m
domain { [k, i] : 0 <= k < m and 0 <= i < 32 }
y[k, i] = x[k, 31 - i] {id=turn}
";
    let steps = "tag_inames(i: thread.x)\nadd_prefetch(x, [i], inames=[f], vec=8, via=cp_async)";
    let copy = "copy_async 8 x_tile[f] = x[k, f]";
    assert_eq!(refusal(kernel, steps, (copy, copy)), None);
    for first in ["f + 4", "f - 4"] {
        let moved = format!("copy_async 8 x_tile[{first}] = x[k, {first}]");
        assert_eq!(refusal(kernel, steps, (copy, &moved)), Some("lost-instance"), "{first}");
    }
}

/// Eight lanes of four bytes are two vectors, each with lanes of its own.
#[test]
fn two_asynchronous_vectors_have_half_of_the_lanes_each() {
    let kernel = "\
kernel k(x: f32[m, 32], y: f32[m, 32], m: i32)
assume 1 <= m
domain { [k, i] : 0 <= k < m and 0 <= i < 32 }
y[k, i] = x[k, 31 - i] {id=turn}
";
    let steps = "tag_inames(i: thread.x)\nadd_prefetch(x, [i], inames=[f], vec=8, via=cp_async)";
    let copy = "copy_async 4 x_tile[f + 4] = x[k, f + 4]";
    assert_eq!(refusal(kernel, steps, (copy, copy)), None);
    for (again, code) in [
        ("copy_async 4 x_tile[f] = x[k, f]", "lost-instance"),
        ("copy_async 4 x_tile[f + 4] = x[k, f]", "wrong-value"),
    ] {
        assert_eq!(refusal(kernel, steps, (copy, again)), Some(code), "{again}");
    }
}
