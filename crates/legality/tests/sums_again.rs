//! Sums that are computed again: by a thread of its own, and by blocks that update the results
//! together.

use crate::common;

use common::judged;

/// The verdict on sums that are computed in each of two rounds, with these tags and this way to
/// join what blocks compute.
fn verdict(tags: &str, join: &str, update: &str) -> String {
    let kernel = |rounds: &str, tags: &str, outer: &str, join: &str, tree: &str| {
        format!(
            "kernel k(x: f32[n, 64], y: f32[n], n: i32)\n\
             assume 1 <= n\n\
             {rounds}domain {{ [i] : 0 <= i < n }}\n\
             domain {{ [j] : 0 <= j < 64 }}\n\
             domain {{ [l] : 0 <= l < n }}\n\
             temp t: f32[n] global\n\
             {tags}t[i] = sum(j, x[i, j]) {{id=total, inames={outer}i{join}}}\n\
             y[l] = t[l] {{id=take, inames=l}}\n\
             tree {{\n{tree}\nfor l {{\ntake\n}}\n}}\n"
        )
    };
    let sum = |update: &str| format!("for i {{\ntotal.init\n{update}\ntotal.finish\n}}");
    let declared = kernel("", "", "", "", &sum("for j {\ntotal.update\n}"));
    let rounds = "domain { [r] : 0 <= r < 2 }\n";
    judged(&kernel(rounds, tags, "r:", join, &format!("for r {{\n{}\n}}", sum(update))), &declared)
}

#[test]
fn a_thread_computes_its_sums_again() {
    assert_eq!(verdict("", "", "for j {\ntotal.update\n}"), "flow");
}

/// In the second round the sums begin anew while other blocks still add to those of the first one.
#[test]
fn blocks_do_not_begin_again_what_others_update() {
    let found = verdict("tag j: block.x\n", ", join=atomic", "total.update");
    assert!(["refuted", "unknown"].contains(&&*found), "{found}");
}
