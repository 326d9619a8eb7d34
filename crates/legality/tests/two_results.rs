//! The two results of one statement are two values, and lengths that are products of parameters
//! are equal only if they are written alike.

use crate::common;

use common::judged;
use loopwright_kernel_ir::LoopKernel;
use loopwright_legality::{Verdict, judge};

/// The verdict on a kernel that reads this result of an `argmax` whose declared reader reads `a`.
/// Data say whether the statement runs.
fn reading(result: &str) -> String {
    let kernel = |result: &str, tree: &str| {
        format!(
            "\
kernel k(x: i32[n, m], c: i32[n], y: i32[n], n: i32, m: i32)
assume 1 <= n and 1 <= m
domain {{ [i] : 0 <= i < n }}
domain {{ [j] : 0 <= j < m }}
domain {{ [l] : 0 <= l < n }}
temp a: i32[n] global
temp b: i32[n] global
a[i], b[i] = argmax(j, x[i, j], j) if c[i] > 0 {{id=find, inames=i}}
y[l] = {result}[l] {{id=put, inames=l}}
{tree}"
        )
    };
    let tree = "tree {\nfor i {\nfind.init\nfor j {\nfind.update\n}\nfind.finish\n}\nfor l {\nput\n}\n}\n";
    judged(&kernel(result, tree), &kernel("a", ""))
}

#[test]
fn the_second_result_is_not_the_first() {
    assert_eq!(reading("a"), "order");
    assert_ne!(reading("b"), "order");
    assert_ne!(reading("b"), "flow");
}

/// Why it is not known whether a kernel with these lengths of `x` does what one with `m*n` does;
/// empty for a proof.
fn with_length(length: &str, assumption: &str) -> String {
    let kernel = |length: &str, tag: &str, tree: &str| {
        format!(
            "\
kernel k(x: f32[{length}], y: f32[m], m: i32, n: i32)
assume 1 <= m and m <= n{assumption}
domain {{ [i] : 0 <= i < m }}
{tag}y[i] = x[i] {{id=put, inames=i}}
{tree}"
        )
    };
    let after = kernel(length, "tag i: block.x\n", "tree {\nput\n}\n");
    let text = format!("{after}declared {{\n{}}}\n", kernel("m*n", "", ""));
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    match judge(kernel.declared(), &kernel) {
        Verdict::Proved { .. } => String::new(),
        Verdict::Unknown { reason, .. } => reason,
        Verdict::Refuted(witness) => panic!("{witness}"),
    }
}

#[test]
fn products_of_lengths_stay() {
    assert_eq!(with_length("m*n", ""), "");
    let other = "`x` has another shape than declared";
    for length in ["m*m", "n*n", "m*n + 1", "2*m*n"] {
        assert_eq!(with_length(length, ""), other, "{length}");
    }
}
