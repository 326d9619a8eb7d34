//! Scans in rounds that begin with other values, and over blocks whose numbers are not those that
//! the text joins them by.

use loopwright_kernel_ir::LoopKernel;
use loopwright_lowering::{LowerOptions, lower, program::Program, verify::verify_kernel};
use loopwright_transforms::Pipeline;

use super::values::replaced;

#[test]
fn a_round_of_a_scan_begins_with_the_neutral_value() {
    let kernel = "\
kernel k(x: f32[10, 6], y: f32[10, 6])
domain { [i, k] : 1 <= i <= 4 and 0 <= k < 6 }
domain { [j] : 0 <= j <= k }
y[i, k] = sum(j, x[i, j]) {id=sums}
";
    let pipeline = "realize_scan(k, j)\nsplit_iname(k, 2)\ntag_inames(k_inner: thread.x, i: ilp)";
    let anew = "store acc[i.1 - 1] = 0.0f32";
    assert_eq!(replaced(kernel, pipeline, &[(anew, "store acc[i.1 - 1] = 1.0f32")]), "wrong-value");
}

/// As [`a_round_of_a_scan_begins_with_the_neutral_value`], where no other thread has a part in it.
#[test]
fn a_round_of_lanes_begins_with_the_neutral_value() {
    let kernel = "\
kernel k(x: i32[n], y: i32[n], n: i32)
assume 0 <= n and n mod 4 = 0
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j <= i }
y[i] = sum(j, x[j]) {id=prefix}
";
    let pipeline = "realize_scan(i, j)\nsplit_iname(i, 4)\ntag_inames(i_inner: ilp)";
    let anew = "store acc[i_inner] = 0";
    assert_eq!(replaced(kernel, pipeline, &[(anew, "store acc[i_inner] = 1")]), "wrong-value");
}

/// In the text blocks have tiles of the array, which they join in their order. In the kernel they
/// have every thirty-second element.
#[test]
fn blocks_that_interleave_are_not_joined_as_tiles() {
    let declared = "\
kernel k(x: i32[1024], y: i32[1024])
domain { [i] : 0 <= i < 1024 }
domain { [j] : 0 <= j <= i }
y[i] = sum(j, x[j]) {id=prefix}
";
    let scheduled = |tags: &str| {
        let pipeline = format!("realize_scan(i, j)\nsplit_iname(i, 32)\ntag_inames({tags})");
        Pipeline::parse(&pipeline).unwrap().apply(&LoopKernel::parse(declared).unwrap()).unwrap()
    };
    let tiles = scheduled("i_outer: block.x, i_inner: thread.x");
    let mut text = lower(&tiles, LowerOptions::default()).unwrap().to_text();
    for (from, to) in [
        (
            "coordinate i_inner = thread.x\ncoordinate i_outer = block.x",
            "coordinate i_outer = thread.x\ncoordinate i_inner = block.x",
        ),
        ("32*block.x + j_new + thread.x", "32*thread.x + block.x + j_new"),
        ("32*block.x + thread.x", "32*thread.x + block.x"),
        ("0 <= thread.x <= 31", "0 <= block.x <= 31"),
        ("var i_outer: i32 means block.x", "var i_outer: i32 means thread.x"),
        ("var i_inner: i32 means thread.x", "var i_inner: i32 means block.x"),
        ("let i: i32 = block.x * 32 + thread.x", "let i: i32 = thread.x * 32 + block.x"),
    ] {
        assert!(text.contains(from), "no `{from}` in\n{text}");
        text = text.replace(from, to);
    }
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    let interleaved = scheduled("i_outer: thread.x, i_inner: block.x");
    let said = verify_kernel(&interleaved, &program).refusal().expect("a refusal").to_string();
    let wanted = "error[wrong-join]: `k`: the scan of `prefix` has `i_inner` in another order";
    assert!(said.starts_with(wanted), "{said}");
}
