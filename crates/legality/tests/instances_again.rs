//! Instances that run in several pieces, or more often than declared: each declared one runs once,
//! and what is computed anew is the same.

use std::collections::BTreeMap;

use crate::common;

use common::{computed_by_each_block, is_proved, judged};
use loopwright_kernel_ir::{LoopKernel, Name};
use loopwright_legality::{Verdict, agrees, judge};

/// The verdict on updates of `x` in two loops, of which the second one begins here.
fn in_two_loops(sizes: &str, first: &str) -> String {
    let head = format!("kernel k(x: f32[n], y: f32[n], n: i32)\nassume {sizes}\n");
    let after = format!(
        "\
{head}domain {{ [i] : 0 <= i < 3 }}
domain {{ [j] : {first} <= j < n }}
x[i] += y[i] {{id=first, inames=i, map=[h: i]}}
x[j] += y[j] {{id=rest, does=first, inames=j, map=[h: j]}}
tree {{
for i {{
first
}}
for j {{
rest
}}
}}
"
    );
    let declared = format!("{head}domain {{ [h] : 0 <= h < n }}\nx[h] += y[h] {{id=first, inames=h}}\n");
    judged(&after, &declared)
}

/// Two loops do the instances of one. The order of updates does not matter, their number does.
#[test]
fn each_update_is_in_one_of_two_loops() {
    // Also where sizes are few.
    for sizes in ["4 <= n", "4 <= n and n <= 5", "4 <= n and 2*n <= 9"] {
        assert_eq!(in_two_loops(sizes, "3"), "order", "{sizes}");
        // `x[2]` is updated twice.
        assert_eq!(in_two_loops(sizes, "2"), "refuted", "{sizes}");
        // `x[3]` is not updated.
        assert_eq!(in_two_loops(sizes, "4"), "refuted", "{sizes}");
    }
}

/// Sums that data switch off, and those that blocks join by updates, are not followed into what is
/// computed more often.
#[test]
fn only_plain_sums_are_computed_more_often() {
    let parts = "total.init\nfor k {\ntotal.update\n}\ntotal.finish\n";
    assert!(is_proved(&computed_by_each_block(1, ["", ""], parts)));
    assert!(!is_proved(&computed_by_each_block(1, [" if x[0, 0] > 1.0", ""], parts)));
    assert!(!is_proved(&computed_by_each_block(1, ["", ", join=atomic"], parts)));
}

/// The inner one of two nested sums is split. Its parts join what it has added, and are no points
/// of the outer one.
#[test]
fn the_inner_one_of_two_nested_sums_is_split() {
    let kernel = |split: &str, value: &str, tree: &str| {
        format!(
            "\
kernel k(x: f32[n, n], y: f32[n], n: i32)
assume 1 <= n
domain {{ [s] : 0 <= s < n }}
domain {{ [i] : 0 <= i < n }}
domain {{ [j] : 0 <= j < n }}
{split}y[s] = {value} {{id=both, inames=s}}
{tree}"
        )
    };
    let form = |tag: &str, value: &str, [open, close]: [&str; 2]| {
        let split = "domain { [o, r] : 0 <= r < 4 and 0 <= o and 4*o < n }\nlet j = 4*o + r\n";
        let points = "for o {\nboth.init\nfor r {\nboth.update\n}\nboth.update1\n}\n";
        let rows = format!("both.init2\nfor i {{\nboth.init1\n{points}both.update2\n}}\nboth.finish\n");
        let after = kernel(&format!("{split}{tag}"), value, &format!("tree {{\n{open}{rows}{close}}}\n"));
        let text = format!("{after}declared {{\n{}}}\n", kernel("", "sum(i, sum(j, x[i, j]))", ""));
        LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"))
    };
    let (loops, blocks) = (["for s {\n", "}\n"], ["", ""]);
    let agree = |value: &str| {
        let kernel = form("", value, loops);
        let runs = [1, 5].map(|n| agrees(&kernel, &BTreeMap::from([(Name::new("n"), n)])).unwrap());
        runs.iter().all(Option::is_none)
    };
    let same = "sum(i, sum(o, sum(r, x[i, j])))";
    assert!(agree(same));
    assert!(!agree("sum(i, sum(o, sum(r, x[j, i])))"));
    let after = form("tag s: block.x\n", same, blocks);
    assert!(matches!(judge(&form("", same, loops), &after), Verdict::Proved { .. }));
}
