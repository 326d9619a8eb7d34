//! Copies that a block makes for itself: what it reads is found by looking at the copy, whatever
//! number the block has.

use loopwright_kernel_ir::LoopKernel;
use loopwright_legality::{Verdict, judge};

/// Whether a kernel is proved whose blocks `b` copy a row each, and read their copy so.
fn proved(copied: &str, read: &str) -> bool {
    // The blocks begin at the greater one of two parameters: at no one function of them.
    let kernel = |domains: &str, statements: &str, tree: &str| {
        format!(
            "kernel k(a: f32[n, 8], out: f32[n, 8], k: i32, l: i32, n: i32)\n\
             domain {{ [b] : k <= b and l <= b and b < k + n }}\n\
             domain {{ [t] : 0 <= t < 8 }}\n\
             {domains}{statements}{tree}"
        )
    };
    let declared = kernel("", "out[b - k, t] = a[b - k, 7 - t] {id=put, inames=b:t}\n", "");
    let after = kernel(
        "domain { [c] : 0 <= c < 8 }\n\
         temp row: f32[8] shared\n\
         tag b: block.x\n\
         tag c: thread.x\n\
         tag t: thread.x\n",
        &format!(
            "row[c] = a[{copied}] {{id=fetch, inames=b:c, copies=a}}\n\
             out[b - k, t] = row[{read}] {{id=put, inames=b:t}}\n"
        ),
        "tree {\nfetch\nput\n}\n",
    );
    let text = format!("{after}declared {{\n{declared}}}\n");
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    matches!(judge(kernel.declared(), &kernel), Verdict::Proved { .. })
}

#[test]
fn a_block_reads_the_row_that_it_has_copied() {
    assert!(proved("b - k, c", "7 - t"));
    assert!(proved("b - k, 7 - c", "t"));
    assert!(!proved("b - k, c", "t"));
    assert!(!proved("b - l, c", "7 - t"));
}
