//! Reads of buffers that copies of a result fill: what the kernel has written before, and may write
//! again.

use crate::common;

use common::judged;

/// The verdict on a buffer whose two elements are copies of an element of `r`, and of which each
/// iteration reads another one in place of `r`. `make` and `again` write `r`, where the two trees
/// say.
fn verdict(element: &str, copied: &str, declared: &str, tree: &str) -> String {
    let kernel = |temporary: &str, value: &str, tree: &str| {
        format!(
            "kernel k(x: f32[n], y: f32[n], n: i32)\n\
             assume 2 <= n\n\
             domain {{ [i] : 0 <= i < n }}\n\
             domain {{ [l] : 0 <= l < n }}\n\
             domain {{ [j] : 0 <= j < n }}\n\
             temp r: f32[n] global\n\
             {temporary}r[i] = 2.0 * x[i] {{id=make, inames=i}}\n\
             r[l] = 3.0 + x[l] {{id=again, inames=l}}\n\
             y[j] = {value} {{id=take, inames=j}}\n\
             tree {{\n{tree}\n}}\n"
        )
    };
    let temporary = format!(
        "temp t: f32[2] private\n\
         t[0] = r[{copied}] {{id=even, inames=j, copies=r}}\n\
         t[1] = r[{copied}] {{id=odd, inames=j, copies=r}}\n"
    );
    let declared = kernel("", &format!("r[{element}]"), declared);
    judged(&kernel(&temporary, "t[j % 2]", tree), &declared)
}

const COPIED: &str = "for j {\neven\nodd\ntake\n}";
const MAKE: &str = "for i {\nmake\n}\n";
const AGAIN: &str = "for l {\nagain\n}\n";
const TAKE: &str = "for j {\ntake\n}\n";

#[test]
fn a_copy_of_the_declared_cell_holds_the_result() {
    let declared = format!("{MAKE}{AGAIN}{TAKE}");
    let elements = ["j", "n - 1 - j", "0", "n - 1"];
    for element in elements {
        for copied in elements {
            let found = verdict(element, copied, &declared, &format!("{MAKE}{AGAIN}{COPIED}"));
            assert_eq!(found == "flow", element == copied, "{element} from {copied}: {found}");
        }
    }
}

#[test]
fn a_result_that_is_written_again_is_not_what_the_copies_saw() {
    let last = format!("{MAKE}{AGAIN}{TAKE}");
    let first = format!("{MAKE}{TAKE}{AGAIN}");
    let copied_first = format!("{MAKE}{COPIED}\n{AGAIN}");
    assert_eq!(verdict("j", "j", &last, &copied_first), "refuted");
    assert_eq!(verdict("j", "j", &first, &copied_first), "flow");
    assert_eq!(verdict("j", "j", &first, &format!("{MAKE}{AGAIN}{COPIED}")), "refuted");
}

#[test]
fn a_copy_is_not_made_before_the_result() {
    let declared = format!("{MAKE}{TAKE}{AGAIN}");
    let tree = format!("{COPIED}\n{MAKE}{AGAIN}");
    assert_ne!(verdict("j", "j", &declared, &tree), "flow");
}

/// A result is written in two rounds. In one of them the even elements are copied, in one the odd
/// ones; only the last round's are what is read afterwards.
#[test]
fn each_copy_has_to_see_the_result() {
    let kernel = |copies: &str, value: &str, tree: &str| {
        format!(
            "kernel k(x: f32[n], y: f32[n], n: i32)\n\
             assume 2 <= n\n\
             domain {{ [s] : 0 <= s <= 1 }}\n\
             domain {{ [i] : 0 <= i < n }}\n\
             domain {{ [j] : 0 <= j < n }}\n\
             temp r: f32[n] global\n\
             {copies}r[i] = x[i] + s {{id=make, inames=s:i}}\n\
             y[j] = {value} {{id=take, inames=j}}\n\
             tree {{\nfor s {{\nfor i {{\nmake\n}}\n{tree}}}\nfor j {{\ntake\n}}\n}}\n"
        )
    };
    let declared = kernel("", "r[j]", "");
    for even in [0, 1] {
        for odd in [0, 1] {
            let copies = format!(
                "domain {{ [c] : 0 <= 2*c < n and s = {even} }}\n\
                 domain {{ [d] : 0 <= 2*d + 1 < n and s = {odd} }}\n\
                 temp t: f32[n] global\n\
                 t[2*c] = r[2*c] {{id=even, inames=s:c, copies=r}}\n\
                 t[2*d + 1] = r[2*d + 1] {{id=odd, inames=s:d, copies=r}}\n"
            );
            let transformed = kernel(&copies, "t[j]", "for c {\neven\n}\nfor d {\nodd\n}\n");
            let wanted = if even + odd == 2 { "flow" } else { "refuted" };
            assert_eq!(judged(&transformed, &declared), wanted, "rounds {even} and {odd}");
        }
    }
}
