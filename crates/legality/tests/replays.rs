//! Replays of transformed kernels beside their declared ones: what they call a failure, and what
//! they do not.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{LoopKernel, Name};
use loopwright_legality::{Failure, agrees};

/// How a kernel fails that adds the points of a reduction from the last to the first.
fn backwards(operator: &str, call: &str) -> Option<Failure> {
    let kernel = |domain: &str, iname: &str, tree: &str| {
        format!(
            "\
kernel k(x: f32[n], y: f32[1], n: i32)
assume 1 <= n
{operator}domain {{ [i] : 0 <= i < n }}
{domain}y[0] = {call}({iname}, x[i]) {{id=get}}
{tree}"
        )
    };
    let declared = kernel("", "i", "");
    let tree = "tree {\nget.init\nfor r {\nget.update\n}\nget.finish\n}\n";
    let after = kernel("domain { [r] }\nlet i = n - 1 - r\n", "r", tree);
    let text = format!("{after}declared {{\n{declared}}}\n");
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    agrees(&kernel, &BTreeMap::from([(Name::new("n"), 3)])).unwrap()
}

/// A sum may be taken in any order, an operator that does not commute may not.
#[test]
fn points_are_joined_in_any_order_where_the_operator_commutes() {
    assert_eq!(backwards("", "sum"), None);
    let last = "\
reduction last(v) {
    state s: like v = 0.0, some: bool = false
    lift s = v, some = true
    combine s = if(b.some, b.s, a.s), some = a.some or b.some
    result s
}
";
    assert!(matches!(backwards(last, "last"), Some(Failure::Points { .. })));
}

/// A value goes through a temporary: what was loaded a round before is another one.
#[test]
fn values_pass_through_temporaries() {
    let kernel = |first: &str, second: &str| {
        format!(
            "\
kernel k(x: f32[n], y: f32[n], n: i32)
domain {{ [i] : 0 <= i < n }}
temp t: f32 private
t = x[i] {{id=load, inames=i}}
y[i] = t {{id=put, inames=i}}
tree {{
for i {{
{first}
{second}
}}
}}
"
        )
    };
    let agree = |first: &str, second: &str, n: i64| {
        let text = format!("{}declared {{\n{}}}\n", kernel(first, second), kernel("load", "put"));
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        agrees(&kernel, &BTreeMap::from([(Name::new("n"), n)])).unwrap()
    };
    assert_eq!(agree("load", "put", 3), None);
    assert_eq!(agree("put", "load", 0), None);
    let found = agree("put", "load", 3);
    assert!(matches!(&found, Some(Failure::Read { cell, .. }) if cell.array == "t"), "{found:?}");
}

/// What is read from an array that nobody writes does not matter, wherever it lies.
#[test]
fn reads_by_data_are_replayed_where_nobody_writes() {
    let kernel = |reversed: &str, iname: &str| {
        format!(
            "\
kernel k(x: f32[n], p: i32[n], y: f32[n], n: i32)
fact 0 <= p < n
domain {{ [i] : 0 <= i < n }}
{reversed}y[i] = x[p[i]] {{id=put, inames={iname}}}
tree {{
for {iname} {{
put
}}
}}
"
        )
    };
    let reversed = kernel("domain { [r] }\nlet i = n - 1 - r\n", "r");
    let text = format!("{reversed}declared {{\n{}}}\n", kernel("", "i"));
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    assert_eq!(agrees(&kernel, &BTreeMap::from([(Name::new("n"), 3)])), Ok(None));
}

/// A thread's coordinate is counted from the least value of its own iname, whatever the loops
/// around it run through: what `i = 8` loads, `j = 0` stores.
#[test]
fn threads_in_a_loop_are_counted_from_their_own_least_value() {
    let kernel = |temporary: &str, cells: [&str; 2], inames: [&str; 2], tree: &str| {
        format!(
            "\
kernel k(x: f32[2, 16], y: f32[2, 8])
domain {{ [r] : 0 <= r < 2 }}
domain {{ [i] : 8 <= i < 16 }}
domain {{ [j] : 0 <= j < 8 }}
{temporary}
{} = x[r, i] {{id=load{}}}
y[r, j] = {} {{id=store{}}}
{tree}",
            cells[0], inames[0], cells[1], inames[1]
        )
    };
    let declared = kernel("temp t: f32[8]", ["t[i - 8]", "t[j]"], ["", ""], "");
    let agree = |first: &str, second: &str| {
        let after = kernel(
            "temp t: f32 private\ntag i: thread.x\ntag j: thread.x",
            ["t", "t"],
            [", inames=r:i", ", inames=r:j"],
            &format!("tree {{\nfor r {{\n{first}\n{second}\n}}\n}}\n"),
        );
        let text = format!("{after}declared {{\n{declared}}}\n");
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        agrees(&kernel, &BTreeMap::new()).unwrap()
    };
    assert_eq!(agree("load", "store"), None);
    let found = agree("store", "load");
    assert!(matches!(&found, Some(Failure::Read { cell, .. }) if cell.array == "t"), "{found:?}");
}

/// Each of several lanes has its own copy of a private value, of which nothing is seen outside of
/// the lanes. A single lane has no copy of its own.
#[test]
fn only_what_a_single_lane_keeps_is_read_outside_of_it() {
    let agree = |lanes: i64, again: &str, twice: &str| {
        let kernel = |tag: &str, [opened, closed]: [&str; 2]| {
            format!(
                "\
kernel k(x: f32[{lanes}], y: f32[1], z: f32[{lanes}])
domain {{ [i] : 0 <= i < {lanes} }}
temp t: f32 private
{tag}t = x[i] {{id=load, inames=i}}
{again}y[0] = t {{id=put}}
tree {{
{opened}load
{twice}{closed}put
}}
"
            )
        };
        let declared = kernel("", ["for i {\n", "}\n"]);
        let text = format!("{}declared {{\n{declared}}}\n", kernel("tag i: ilp\n", ["", ""]));
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        agrees(&kernel, &BTreeMap::new()).unwrap()
    };
    let again = "z[i] = t {id=again, inames=i}\n";
    assert_eq!(agree(1, "", ""), None);
    assert_eq!(agree(1, again, "again\n"), None);
    for found in [agree(3, "", ""), agree(3, again, "again\n")] {
        assert!(matches!(&found, Some(Failure::Read { cell, .. }) if cell.array == "t"), "{found:?}");
    }
}
