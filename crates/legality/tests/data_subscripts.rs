//! Subscripts that are read from data, where several executions do one declared instance, so that
//! the flow of values decides: on each axis the element has to be the declared one.

use crate::common;

use common::judged;

/// The verdict on a statement that runs as often as there are values of `i` for each declared
/// instance, of which `j` is the number: what it reads, and what the declared one does.
fn verdict(is: &str, was: &str) -> String {
    let kernel = |domain: &str, target: &str, value: &str, inames: &str, tree: &str| {
        format!(
            "kernel k(x: f32[n, n], p: i32[n], q: i32[n], y: f32[n], n: i32)\n\
             assume 2 <= n\n\
             fact 0 <= p < n\n\
             fact 0 <= q < n\n\
             {domain}y[{target}] = {value} {{id=put, inames={inames}}}\n\
             tree {{\n{tree}}}\n"
        )
    };
    let declared = kernel("domain { [i] : 0 <= i < n }\n", "i", was, "i", "for i {\nput\n}\n");
    let domain = "domain { [i, j] : 0 <= i < n and 0 <= j < n }\n";
    let new = kernel(domain, "j", is, "j:i, map=[i: j]", "for j {\nfor i {\nput\n}\n}\n");
    judged(&new, &declared)
}

#[test]
fn each_axis_has_the_declared_subscript() {
    assert_eq!(verdict("x[j, j]", "x[i, i]"), "flow");
    assert_eq!(verdict("x[p[j], q[j]]", "x[p[i], q[i]]"), "flow");
    assert_eq!(verdict("x[p[j] + j, q[j]]", "x[p[i] + i, q[i]]"), "flow");
    for wrong in ["x[p[j], p[j]]", "x[q[j], p[j]]", "x[p[j], q[i]]", "x[p[i], q[j]]", "x[p[j], j]"] {
        assert_ne!(verdict(wrong, "x[p[i], q[i]]"), "flow", "{wrong}");
    }
    for data in ["p[j]", "p[i]", "q[j]", "j", "i"] {
        for row in ["j", "i", "0", "p[j]"] {
            let right = (data, row) == ("p[j]", "j");
            let (is, turned) = (format!("x[{data}, {row}]"), format!("x[{row}, {data}]"));
            assert_eq!(verdict(&is, "x[p[i], i]") == "flow", right, "{is}");
            assert_eq!(verdict(&turned, "x[i, p[i]]") == "flow", right, "{turned}");
        }
    }
}
