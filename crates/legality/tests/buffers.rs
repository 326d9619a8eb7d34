//! Reads of a buffer that several copies of an array fill, in place of reads of the array: each has
//! to see the declared element.

use crate::common;

use common::judged;

/// The verdict on a buffer of two elements, filled from these elements of `x`, read in place of
/// these.
fn verdict(was: [&str; 2], copied: [&str; 2]) -> String {
    let kernel = |temporary: &str, value: &str, tree: &str| {
        format!(
            "kernel k(x: f32[n], p: i32[n], y: f32[n], n: i32)\n\
             assume 2 <= n\n\
             fact 0 <= p < n\n\
             domain {{ [i] : 0 <= i < n }}\n\
             {temporary}y[i] = {value} {{id=take, inames=i}}\n\
             tree {{\nfor i {{\n{tree}take\n}}\n}}\n"
        )
    };
    let [a, b] = was;
    let declared = kernel("", &format!("x[{a}] - 2.0 * x[{b}]"), "");
    let [a, b] = copied;
    let temporary = format!(
        "temp t: f32[2] private\n\
         t[0] = x[{a}] {{id=even, inames=i, copies=x}}\n\
         t[1] = x[{b}] {{id=odd, inames=i, copies=x}}\n"
    );
    judged(&kernel(&temporary, "t[0] - 2.0 * t[1]", "even\nodd\n"), &declared)
}

#[test]
fn each_element_of_a_buffer_is_the_declared_one() {
    let elements = ["i", "0", "n - 1 - i", "p[i]", "p[0]"];
    for a in elements {
        for b in elements {
            let found = verdict([a, "i"], [b, "i"]);
            let plain = !a.contains('p');
            assert_eq!(found == "flow", a == b && plain, "{a} from {b}: {found}");
            let found = verdict(["i", a], ["i", b]);
            assert_eq!(found == "flow", a == b && plain, "{a} from {b}: {found}");
        }
    }
    assert_ne!(verdict(["i", "0"], ["0", "i"]), "flow");
}
