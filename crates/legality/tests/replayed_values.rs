//! Values in replays: which forms of an expression are one value, and which are two.

use std::collections::BTreeMap;

use crate::common;

use common::judged;
use loopwright_kernel_ir::{LoopKernel, Name};
use loopwright_legality::{Failure, agrees};

/// What is declared beside the two statements.
struct Beside<'a> {
    functions: &'a str,
    dtype: &'a str,
}

/// The transformed text and the declared one of a kernel that writes two values to an element: in
/// the other order, and in this one.
fn exchanged(beside: &Beside, first: &str, second: &str) -> [String; 2] {
    let Beside { functions, dtype } = beside;
    let kernel = |tree: &str| {
        format!(
            "\
kernel k(x: {dtype}[n], c: bool[n + 4], y: {dtype}[n], s: {dtype}, n: i32)
{functions}domain {{ [i] : 0 <= i < n }}
y[i] = {first} {{id=first, inames=i}}
y[i] = {second} {{id=second, inames=i}}
tree {{
for i {{
{tree}}}
}}
"
        )
    };
    [kernel("second\nfirst\n"), kernel("first\nsecond\n")]
}

fn are_one(beside: &Beside, first: &str, second: &str) -> bool {
    let [after, declared] = exchanged(beside, first, second);
    let text = format!("{after}declared {{\n{declared}}}\n");
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    agrees(&kernel, &BTreeMap::from([(Name::new("n"), 3)])).unwrap().is_none()
}

/// Whether two forms of a value of this type are one value.
fn same(dtype: &str, first: &str, second: &str) -> bool {
    let beside = Beside { functions: "", dtype };
    let found = are_one(&beside, first, second);
    assert_eq!(found, are_one(&beside, second, first), "{first}, {second}");
    found
}

/// What an index decides leaves the other condition, or nothing of it.
#[test]
fn conditions_that_an_index_decides() {
    assert!(same("bool", "c[i]", "0 <= i and c[i]"));
    assert!(same("bool", "c[i]", "c[i] and 0 <= i"));
    assert!(same("bool", "c[i]", "i < 0 or c[i]"));
    assert!(same("bool", "c[i]", "c[i] or i < 0"));
    assert!(same("bool", "false", "i < 0 and c[i]"));
    assert!(same("bool", "true", "0 <= i or c[i]"));
    assert!(!same("bool", "c[i]", "1 <= i and c[i]"));
    assert!(!same("bool", "c[i]", "i < 1 or c[i]"));
}

/// Remainders by one are zero; those by other numbers depend on the data.
#[test]
fn remainders_of_data() {
    assert!(same("i32", "x[i] % 1", "0"));
    assert!(!same("i32", "x[i] % 2", "0"));
    assert!(!same("i32", "x[i] % 2", "x[i] % 3"));
}

/// Where data choose, the choice is neither of two different values.
#[test]
fn choices_by_data() {
    assert!(same("f32", "if(c[i], x[i], x[i])", "x[i]"));
    for one in ["x[i]", "s"] {
        assert!(!same("f32", "if(c[i], x[i], s)", one), "{one}");
    }
}

/// A function of the kernel's own does not make those of the library unknown.
#[test]
fn functions_of_the_library_beside_an_own_one() {
    let functions =
        "function twice(f64) -> f64 {\n    __device__ double twice(double a) { return a + a; }\n}\n";
    let beside = Beside { functions, dtype: "f64" };
    assert!(are_one(&beside, "sqrt(4.0)", "2.0"));
    assert!(are_one(&beside, "max(x[i], s)", "max(s, x[i])"));
    assert!(are_one(&beside, "twice(s)", "twice(s)"));
    assert!(!are_one(&beside, "twice(2.0)", "4.0"));
}

/// The verdict on two values of an element whose order is exchanged.
fn verdict(dtype: &str, first: &str, second: &str) -> String {
    let [after, declared] = exchanged(&Beside { functions: "", dtype }, first, second);
    judged(&after, &declared)
}

/// Numbers are drawn for the data, small ones below zero among them, and both truth values.
#[test]
fn values_that_differ_for_few_data_are_told_apart() {
    assert_eq!(verdict("i32", "if(x[i] == -1, 1, 0)", "0"), "refuted");
    assert_eq!(verdict("i32", "if(x[i] == 1, 1, 0)", "0"), "refuted");
    assert_eq!(verdict("bool", "c[i] or c[i + 1] or c[i + 2] or c[i + 3]", "true"), "refuted");
    assert_eq!(verdict("bool", "c[i] and c[i + 1] and c[i + 2] and c[i + 3]", "false"), "refuted");
}

/// How sums of a row on threads fail that write to this element, and are joined by these threads.
fn on_threads(after: &str) -> Option<Failure> {
    let declared = "\
kernel k(x: f32[2, 8], y: f32[2])
domain { [r] : 0 <= r < 2 }
domain { [i] : 0 <= i < 8 }
y[r] = sum(i, x[r, i]) {id=total, inames=r}
";
    let text = format!("{after}declared {{\n{declared}}}\n");
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    agrees(&kernel, &BTreeMap::new()).unwrap()
}

/// The threads over which a sum goes share what they add up.
#[test]
fn threads_add_to_one_sum() {
    let after = |tags: &str, body: &str| {
        format!(
            "\
kernel k(x: f32[2, 8], y: f32[2])
domain {{ [r] : 0 <= r < 2 }}
domain {{ [i] : 0 <= i < 8 }}
{tags}y[r] = sum(i, x[r, i]) {{id=total, inames=r}}
tree {{
{body}}}
"
        )
    };
    let rows = |body: &str| format!("for r {{\n{body}}}\n");
    let in_threads = "total.init\ntotal.update\ntotal.finish\n";
    assert_eq!(on_threads(&after("tag i: thread.x\n", &rows(in_threads))), None);
    assert_eq!(on_threads(&after("tag r: block.x\ntag i: thread.x\n", in_threads)), None);
    let late = "total.init\ntotal.finish\ntotal.update\n";
    assert!(on_threads(&after("tag i: thread.x\n", &rows(late))).is_some());
}

/// Each thread that reads a sum in its own memory computes all of it, and adds nothing to those of
/// others.
#[test]
fn threads_compute_a_sum_each() {
    let kernel = |tag: &str, body: &str| {
        format!(
            "\
kernel k(x: f32[4], y: f32[8])
domain {{ [i] : 0 <= i < 4 }}
domain {{ [t] : 0 <= t < 8 }}
temp s: f32 private
{tag}s = sum(i, x[i]) {{id=total}}
y[t] = s {{id=put, inames=t}}
tree {{
{body}}}
"
        )
    };
    let total = "total.init\nfor i {\ntotal.update\n}\ntotal.finish\n";
    let declared = kernel("", &format!("{total}for t {{\nput\n}}\n"));
    let failure = |body: &str| {
        let text = format!("{}declared {{\n{declared}}}\n", kernel("tag t: thread.x\n", body));
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        agrees(&kernel, &BTreeMap::new()).unwrap()
    };
    assert_eq!(failure(&format!("{total}put\n")), None);
    assert!(failure("total.init\ntotal.finish\nfor i {\ntotal.update\n}\nput\n").is_some());
}

/// Of two threads that run one instance, the one that writes is named first.
#[test]
fn the_writer_of_two_threads_comes_first() {
    let kernel = |head: &str, inames: &str| {
        format!("kernel k(x: f32[1])\n{head}x[0] = x[0] + 1.0 {{id=add{inames}}}\n")
    };
    let after = kernel("domain { [t] : 0 <= t < 2 }\ntag t: thread.x\n", ", inames=t");
    let text = format!("{after}tree {{\nadd\n}}\ndeclared {{\n{}}}\n", kernel("", ""));
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    let found = agrees(&kernel, &BTreeMap::new()).unwrap();
    let Some(Failure::Race { instances, .. }) = &found else { panic!("{found:?}") };
    assert_eq!(instances.each_ref().map(|(_, writes)| *writes), [true, false]);
}

/// Of two sums in one value, each counts.
#[test]
fn both_of_two_sums_count() {
    let sums = |first: &str, second: &str| {
        let kernel = |order: [&str; 2]| {
            let part = |id: &str| {
                format!(
                    "{id}.init\n{id}.init1\nfor {id}_j {{\n{id}.update\n}}\nfor {id}_k {{\n{id}.update1\n}}\n\
                     {id}.finish\n"
                )
            };
            let domain = |n: &str| format!("domain {{ [{n}] : 0 <= {n} < 3 }}\n");
            format!(
                "kernel k(x: f32[3], z: f32[3], y: f32[1])\n{}{}{}{}y[0] = {first} {{id=a}}\ny[0] = {second} \
                 {{id=b}}\ntree {{\n{}{}}}\n",
                domain("a_j"),
                domain("a_k"),
                domain("b_j"),
                domain("b_k"),
                part(order[0]),
                part(order[1])
            )
        };
        let text = format!("{}declared {{\n{}}}\n", kernel(["b", "a"]), kernel(["a", "b"]));
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        agrees(&kernel, &BTreeMap::new()).unwrap().is_none()
    };
    let first = "sum(a_j, x[a_j]) - sum(a_k, z[a_k])";
    assert!(sums(first, "sum(b_j, x[b_j]) - sum(b_k, z[b_k])"));
    assert!(!sums(first, "sum(b_j, x[b_j]) - sum(b_k, x[b_k])"));
    assert!(!sums(first, "sum(b_j, z[b_j]) - sum(b_k, z[b_k])"));
}

/// Each of two reductions is joined as its own operator says.
#[test]
fn each_operator_decides_about_its_own_points() {
    let kernel = |value: &str, domain: &str, tree: &str| {
        format!(
            "\
kernel k(x: f32[n], z: f32[n], y: f32[1], n: i32)
assume 1 <= n
reduction last(v) {{
    state s: like v = 0.0, some: bool = false
    lift s = v, some = true
    combine s = if(b.some, b.s, a.s), some = a.some or b.some
    result s
}}
domain {{ [i] : 0 <= i < n }}
domain {{ [j] : 0 <= j < n }}
{domain}y[0] = {value} {{id=get}}
{tree}"
        )
    };
    // The second reduction runs backwards.
    let failure = |first: &str, second: &str| {
        let value = |iname: &str| format!("{first}(j, z[j]) - {second}({iname}, x[i])");
        let tree = "tree {\nget.init\nget.init1\nfor j {\nget.update\n}\nfor r {\nget.update1\n}\n\
                    get.finish\n}\n";
        let after = kernel(&value("r"), "domain { [r] }\nlet i = n - 1 - r\n", tree);
        let text = format!("{after}declared {{\n{}}}\n", kernel(&value("i"), "", ""));
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        agrees(&kernel, &BTreeMap::from([(Name::new("n"), 3)])).unwrap()
    };
    assert_eq!(failure("sum", "sum"), None);
    assert_eq!(failure("last", "sum"), None);
    assert!(matches!(failure("sum", "last"), Some(Failure::Points { .. })));
}
