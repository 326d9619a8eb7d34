//! Arrays whose elements are updated, read more often than declared: what a read sees is what its
//! element holds in the end, where all updates come before all reads in both forms.

use crate::common;

use common::judged;

const HEAD: &str = "\
kernel k(x: f32[n], p: i32[n], y: f32[n], n: i32)
assume 2 <= n
fact 0 <= p < n
temp h: f32[n] global
domain { [a, i, j, r] : 0 <= a < n and 0 <= i < n and 0 <= j < n and 0 <= r < n }
h[a] = 0.0 {id=clear, inames=a}
h[p[i]] += x[i] {id=add, inames=i}
";

const CLEAR: &str = "for a {\nclear\n}\n";
const ADD: &str = "for i {\nadd\n}\n";
const TAKE: &str = "for j {\ntake\n}\n";

/// The verdict on a reader that runs `n` times for each declared instance, in this tree.
fn verdict(was: &str, declared: &[&str], read: &str, tree: &[&str]) -> String {
    let declared = format!("{HEAD}y[j] = {was} {{id=take, inames=j}}\ntree {{\n{}}}\n", declared.concat());
    let tree = tree.concat().replace("take", "for r {\ntake\n}");
    let new = format!("{HEAD}y[j] = {read} {{id=take, inames=j:r, map=[j: j]}}\ntree {{\n{tree}}}\n");
    judged(&new, &declared)
}

#[test]
fn reads_behind_all_updates_see_what_the_element_holds_in_the_end() {
    let order = [CLEAR, ADD, TAKE];
    for element in ["h[j]", "h[n - 1 - j]", "h[j] + h[0]"] {
        assert_eq!(verdict(element, &order, element, &order), "flow", "{element}");
    }
    for other in ["h[0]", "h[n - 1 - j]", "h[r]", "x[j]"] {
        assert_ne!(verdict("h[j]", &order, other, &order), "flow", "{other}");
    }
    // Which element it is, data say: that is not followed.
    assert_eq!(verdict("h[p[j]]", &order, "h[p[j]]", &order), "unknown");
}

#[test]
fn reads_among_updates_are_not_followed() {
    let order = [CLEAR, ADD, TAKE];
    for wrong in [[CLEAR, TAKE, ADD], [TAKE, CLEAR, ADD], [ADD, CLEAR, TAKE], [ADD, TAKE, CLEAR]] {
        let found = verdict("h[j]", &order, "h[j]", &wrong);
        assert!(!["order", "flow"].contains(&found.as_str()), "{wrong:?}: {found}");
        // Nor is the declared form, if its reads are not behind all updates.
        let found = verdict("h[j]", &wrong, "h[j]", &order);
        assert!(!["order", "flow"].contains(&found.as_str()), "{wrong:?}: {found}");
        if wrong[2] != TAKE {
            let found = verdict("h[j]", &wrong, "h[j]", &wrong);
            assert!(!["order", "flow"].contains(&found.as_str()), "{wrong:?}: {found}");
        }
    }
}
