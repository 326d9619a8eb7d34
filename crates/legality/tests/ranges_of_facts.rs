//! Ranges of data that a kernel states: none is narrower than the declared one, on either side.

use loopwright_kernel_ir::LoopKernel;
use loopwright_legality::{Verdict, judge};

/// The verdict on a gather in blocks, with one fact where it is declared with another.
fn verdict(stated: &str, declared: &str) -> Verdict {
    let head = "kernel k(x: f32[n], z: f32[m], p: i32[m], m: i32, n: i32)\nassume 4 <= n";
    let body = "domain { [h] : 0 <= h < m }";
    let text = format!(
        "{head}\nfact {stated}\n{body}\ntag h: block.x\nz[h] = x[p[h] % 4] {{id=one, inames=h}}\n\
         tree {{\none\n}}\ndeclared {{\n{head}\nfact {declared}\n{body}\nz[h] = x[p[h] % 4] {{id=one}}\n}}\n"
    );
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    judge(kernel.declared(), &kernel)
}

#[test]
fn a_bound_is_not_added_to_a_declared_range() {
    for same in ["0 <= p", "p < n", "0 <= p < n"] {
        assert!(matches!(verdict(same, same), Verdict::Proved { .. }), "{same}");
    }
    let pairs = [("0 <= p < n", "p < n"), ("0 <= p < n", "0 <= p"), ("0 <= p", "p < n"), ("p < n", "0 <= p")];
    for (stated, declared) in pairs {
        match verdict(stated, declared) {
            Verdict::Unknown { reason, .. } => {
                assert_eq!(reason, "it declares a different fact about `p`", "{stated} for {declared}");
            }
            other => panic!("{stated} for {declared}: {other}"),
        }
    }
}
