//! Reductions that have become several: which points each of them adds, and which partial results
//! it joins.

use std::collections::BTreeMap;

use crate::common;

use common::{computed_by_each_block, is_proved};
use loopwright_kernel_ir::{LoopKernel, Name};
use loopwright_legality::{Verdict, agrees, judge};

/// A kernel with this value in the place of the declared one. `i` is split; `body` is what the tree
/// holds in the loop over `s`, or in its blocks.
fn kernel(declared: &str, transformed: &str, body: &str, blocks: bool) -> LoopKernel {
    let kernel = |value: &str, split: &str, tree: &str| {
        format!(
            "\
kernel k(x: f32[n, n], z: f32[n, n], out: f32[n], n: i32)
assume 1 <= n
domain {{ [s] : 0 <= s < n }}
domain {{ [i] : 0 <= i < n }}
domain {{ [j] : 0 <= j < n }}
{split}out[s] = {value} {{id=both, inames=s}}
{tree}"
        )
    };
    let split = "domain { [o, r] : 0 <= r < 4 and 0 <= o and 4*o < n }\nlet i = 4*o + r\n";
    let (tag, tree) = match blocks {
        true => ("tag s: block.x\n", format!("tree {{\n{body}}}\n")),
        false => ("", format!("tree {{\nfor s {{\n{body}}}\n}}\n")),
    };
    let after = kernel(transformed, &format!("{split}{tag}"), &tree);
    let text = format!("{after}declared {{\n{}}}\n", kernel(declared, "", ""));
    LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"))
}

/// Whether it computes what is declared, for a few numbers of points.
fn agree(declared: &str, transformed: &str, body: &str) -> bool {
    let kernel = kernel(declared, transformed, body, false);
    let runs = [1, 3, 5].map(|n| agrees(&kernel, &BTreeMap::from([(Name::new("n"), n)])).unwrap());
    runs.iter().all(Option::is_none)
}

/// Whether one more step, which leaves the reductions as they are, is proved.
fn goes_on(declared: &str, transformed: &str, body: &str) -> bool {
    let [loops, blocks] = [false, true].map(|blocks| kernel(declared, transformed, body, blocks));
    matches!(judge(&loops, &blocks), Verdict::Proved { .. })
}

/// Whether a step is proved after which the second of two reductions reads a copy of this array.
fn copied(array: &str, declared: &str, transformed: &str, body: &str) -> bool {
    let before = kernel(declared, transformed, body, false);
    let after = before.to_text().replacen("z[s, i]", "t[s, i]", 1);
    let copy = format!(
        "domain {{ [p, q] : 0 <= p < n and 0 <= q < n }}\n\
         temp t: f32[n, n] global\n\
         t[p, q] = {array}[p, q] {{id=copy, inames=p:q, copies={array}}}\n\
         out[s] ="
    );
    let after = after.replacen("out[s] =", &copy, 1);
    let after = after.replacen("tree {", "tree {\nfor p {\nfor q {\ncopy\n}\n}\n", 1);
    let after = LoopKernel::parse(&after).unwrap_or_else(|d| panic!("{d}\n{after}"));
    matches!(judge(&before, &after), Verdict::Proved { .. })
}

/// One of two reductions over different inames is split.
#[test]
fn a_nested_reduction_beside_another() {
    let declared = "sum(i, x[s, i]) - sum(j, z[s, j])";
    let first = "both.init1\nfor o {\nboth.init\nfor r {\nboth.update\n}\nboth.update1\n}\n";
    let body = format!("{first}both.init2\nfor j {{\nboth.update2\n}}\nboth.finish\n");
    let same = "sum(o, sum(r, x[s, i])) - sum(j, z[s, j])";
    assert!(agree(declared, same, &body) && goes_on(declared, same, &body));
    assert!(!agree(declared, "sum(o, sum(r, z[s, i])) - sum(j, x[s, j])", &body));
    for other in ["sum(o, max(r, x[s, i])) - sum(j, z[s, j])", "max(o, sum(r, x[s, i])) - sum(j, z[s, j])"] {
        assert!(!goes_on(declared, other, &body), "{other}");
    }
}

/// Two reductions over one iname, both split.
#[test]
fn nested_reductions_beside_each_other() {
    let declared = "sum(i, x[s, i]) - sum(i, z[s, i])";
    let body = "\
both.init1
both.init3
for o {
both.init
both.init2
for r {
both.update
both.update2
}
both.update1
both.update3
}
both.finish
";
    let same = "sum(o, sum(r, x[s, i])) - sum(o, sum(r, z[s, i]))";
    assert!(agree(declared, same, body) && goes_on(declared, same, body));
    assert!(copied("z", declared, same, body) && !copied("x", declared, same, body));
    let other = "sum(o, sum(r, z[s, i])) - sum(o, sum(r, x[s, i]))";
    assert!(!agree(declared, other, body));
    assert!(!goes_on(declared, "sum(o, sum(r, x[s, i])) - sum(o, max(r, z[s, i]))", body));
}

/// The outer one of two nested reductions is split: what goes around it is not a part of the inner.
#[test]
fn a_nested_reduction_around_another() {
    let body = "both.init2\n\
                for o {\n\
                both.init1\n\
                for r {\n\
                both.init\n\
                for j {\n\
                both.update\n\
                }\n\
                both.update1\n\
                }\n\
                both.update2\n\
                }\n\
                both.finish\n";
    let declared = "sum(i, sum(j, x[i, j]))";
    let same = "sum(o, sum(r, sum(j, x[i, j])))";
    assert!(agree(declared, same, body) && goes_on(declared, same, body));
    assert!(!agree(declared, "sum(o, sum(r, sum(j, x[j, i])))", body));
}

/// Each of two reductions in one statement reads what it adds, and nothing of what the other does:
/// only the first one may run before what the second one reads is written.
#[test]
fn each_of_two_reductions_reads_its_own_points() {
    let kernel = |body: &str| {
        format!(
            "\
kernel k(x: f32[n], z: f32[n], y: f32[1], n: i32)
assume 1 <= n
domain {{ [h] : 0 <= h < n }}
domain {{ [i] : 0 <= i < n }}
domain {{ [j] : 0 <= j < n }}
z[h] = 1.0 {{id=fill, inames=h}}
y[0] = sum(i, x[i]) + sum(j, z[j]) {{id=both}}
tree {{
both.init
both.init1
{body}
both.finish
}}
"
        )
    };
    let fill = "for h {\nfill\n}\n";
    let (first, second) = ("for i {\nboth.update\n}\n", "for j {\nboth.update1\n}\n");
    let declared = kernel(&[fill, first, second].concat());
    let proved = |body: &[&str]| {
        let text = format!("{}declared {{\n{declared}}}\n", kernel(&body.concat()));
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        matches!(judge(kernel.declared(), &kernel), Verdict::Proved { .. })
    };
    assert!(proved(&[first, fill, second]));
    assert!(proved(&[fill, second, first]));
    assert!(!proved(&[second, fill, first]));
    assert!(!proved(&[first, second, fill]));
}

/// The first value comes before the points, and these before what reads the result.
#[test]
fn sums_that_are_computed_more_often_have_their_parts_in_order() {
    let points = "for k {\ntotal.update\n}\n";
    let by_parts = |parts: &str| is_proved(&computed_by_each_block(0, ["", ""], parts));
    assert!(by_parts(&format!("total.init\n{points}total.finish\n")));
    for wrong in [
        format!("total.init\ntotal.finish\n{points}"),
        format!("{points}total.init\ntotal.finish\n"),
        format!("{points}total.finish\ntotal.init\n"),
        format!("total.finish\ntotal.init\n{points}"),
    ] {
        assert!(!by_parts(&wrong), "{wrong}");
    }
}
