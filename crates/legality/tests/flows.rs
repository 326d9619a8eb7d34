//! What reads see, where the order of conflicting pairs is not preserved: the depth of nests, the
//! conditions of writes and reads, ranges that are read from data. Each accepted case is next to a
//! similar illegal one.

use crate::common;

use common::judged;

const HEAD: &str = "\
kernel k(x: f32[n, n, n], c: f32[n], p: i32[n], y: f32[n, n, n], z: f32[n], n: i32)
assume 2 <= n
fact 0 <= p < n
domain { [i] : 0 <= i < n }
";

/// The verdict on a kernel whose tree is another.
fn verdict(body: &str, was: &str, is: &str) -> String {
    let kernel = |tree: &str| format!("{HEAD}{body}tree {{\n{tree}}}\n");
    judged(&kernel(is), &kernel(was))
}

/// A value is kept from one leaf to the next, which all loops around have in common. Another value
/// that is not kept changes place with it. Where a replay cannot tell, since data decide who reads,
/// nothing is proved either.
#[test]
fn leaves_of_the_deepest_nest_have_an_order() {
    for condition in ["", " if c[i] > 0.0"] {
        let body = format!(
            "domain {{ [j, k] : 0 <= j < n and 0 <= k < n }}\n\
             temp t: f32 private\n\
             t = 0.0 {{id=clear, inames=i:j:k}}\n\
             t = x[i, j, k] {{id=put, inames=i:j:k}}\n\
             y[i, j, k] = t{condition} {{id=take, inames=i:j:k}}\n"
        );
        for [a, b, c] in [["i", "j", "k"], ["k", "i", "j"]] {
            let tree = |leaves: &str| format!("for {a} {{\nfor {b} {{\nfor {c} {{\n{leaves}}}\n}}\n}}\n");
            let was = tree("clear\nput\ntake\n");
            assert_eq!(verdict(&body, &was, &was), "order");
            for wrong in ["clear\ntake\nput\n", "put\nclear\ntake\n", "take\nclear\nput\n"] {
                let found = verdict(&body, &was, &tree(wrong));
                assert!(!["order", "flow"].contains(&found.as_str()), "{wrong}: {found}");
                assert!(found == "refuted" || !condition.is_empty(), "{wrong}: {found}");
            }
        }
    }
}

/// Statements that write one value, which they read where nothing is written, stand for each other.
#[test]
fn values_that_are_read_are_those_of_any_writer() {
    let seen = |first: &str, second: &str| {
        let body = format!(
            "temp t: f32 private\n\
             t = {first} {{id=first, inames=i}}\n\
             t = {second} {{id=second, inames=i}}\n\
             z[i] = t {{id=take, inames=i}}\n"
        );
        let tree = |leaves: &str| format!("for i {{\n{leaves}}}\n");
        verdict(&body, &tree("first\nsecond\ntake\n"), &tree("first\ntake\nsecond\n"))
    };
    assert_eq!(seen("x[i, 0, 0] + c[i]", "x[i, 0, 0] + c[i]"), "flow");
    assert_eq!(seen("x[i, 0, 0] + c[i]", "x[i, 0, 1] + c[i]"), "refuted");
    assert_eq!(seen("x[i, 0, 0] + c[i]", "x[i, 0, 0] + c[0]"), "refuted");
}

/// A write under a condition has run where a read is under the same one for the same values of
/// inames; then it hides what stands before, which may come later.
#[test]
fn conditions_are_those_of_one_instance() {
    let seen = |subscript: &str, condition: &str| {
        let body = format!(
            "domain {{ [h] : 0 <= h < n }}\n\
             temp t: f32[n] global\n\
             t[h] = 0.0 {{id=clear, inames=h}}\n\
             t[i] = x[i, 0, 0] if {condition} {{id=put, inames=i}}\n\
             z[i] = t[{subscript}] if {condition} {{id=take, inames=i}}\n"
        );
        let (clear, both) = ("for h {\nclear\n}\n", "for i {\nput\ntake\n}\n");
        verdict(&body, &[clear, both].concat(), &[both, clear].concat())
    };
    for condition in ["c[i] > 0.0", "c[i] > 0.0 and i > 0", "c[i] > 0.0 and c[0] < 2.0"] {
        assert_eq!(seen("i", condition), "flow", "{condition}");
        assert_ne!(seen("i // 2", condition), "flow", "{condition}");
    }
    // Without an iname in the condition, it is one for all instances.
    assert_eq!(seen("i // 2", "c[0] > 0.0"), "flow");
}

/// What stands in a condition before another one is read whether that one holds or not.
#[test]
fn a_read_in_a_condition_is_under_those_before_it() {
    let seen = |condition: &str| {
        let body = format!(
            "domain {{ [h] : 0 <= h < n }}\n\
             temp t: f32[n] global\n\
             t[h] = 0.0 {{id=clear, inames=h}}\n\
             t[i] = x[i, 0, 0] if c[i] > 0.0 {{id=put, inames=i}}\n\
             z[i] = 1.0 if {condition} {{id=take, inames=i}}\n"
        );
        let (clear, both) = ("for h {\nclear\n}\n", "for i {\nput\ntake\n}\n");
        verdict(&body, &[clear, both].concat(), &[both, clear].concat())
    };
    assert_eq!(seen("c[i] > 0.0 and t[i] > 1.0"), "flow");
    assert_ne!(seen("t[i] > 1.0 and c[i] > 0.0"), "flow");
    assert_ne!(seen("t[i] > 1.0"), "flow");
}

/// All that a condition reads has to be what it was: each element of an array that is written.
#[test]
fn conditions_on_several_elements_need_them_all() {
    let seen = |condition: &str, leaves: &str| {
        let body = format!(
            "domain {{ [j] : 0 <= j < 2 }}\n\
             temp t: f32 private\n\
             temp m: f32[2] private\n\
             m[0] = x[i, 0, 0] {{id=first, inames=i}}\n\
             m[1] = x[i, j, 0] {{id=mark, inames=i:j}}\n\
             t = 0.0 {{id=clear, inames=i}}\n\
             t = x[i, j, 1] if {condition} {{id=put, inames=i:j}}\n\
             z[i] = t if {condition} {{id=take, inames=i}}\n"
        );
        let tree = |leaves: &str, [last, least]: [&str; 2]| {
            format!("for i {{\n{least}\nfirst\nfor j {{\n{leaves}}}\ntake\n{last}\n}}\n")
        };
        let was = tree(leaves, ["", "clear"]);
        verdict(&body, &was, &tree(leaves, ["clear", ""]))
    };
    let (before, behind) = ("mark\nput\n", "put\nmark\n");
    for condition in ["m[1] > 0.0", "m[1] > 0.0 and m[1] < 4.0"] {
        assert_eq!(seen(condition, before), "flow", "{condition}");
        assert_ne!(seen(condition, behind), "flow", "{condition}");
    }
    assert_ne!(seen("m[0] > 0.0 and m[1] > 0.0", behind), "flow");
}

/// There may be any number of values in a condition, each of which has to be what it was.
#[test]
fn conditions_on_many_values_are_followed() {
    let all = 0..6;
    let marks: String = all.clone().map(|k| format!("mark{k}\n")).collect();
    let condition: Vec<String> = all.clone().map(|k| format!("m{k} > 0.0")).collect();
    let condition = condition.join(" and ");
    let seen = |was: &str, is: &str| {
        let mut body = String::from("temp t: f32 private\n");
        for k in all.clone() {
            body += &format!("temp m{k}: f32 private\nm{k} = c[i] + {k}.0 {{id=mark{k}, inames=i}}\n");
        }
        body += &format!(
            "t = 0.0 {{id=clear, inames=i}}\n\
             t = x[i, 0, 1] if {condition} {{id=put, inames=i}}\n\
             z[i] = t if {condition} {{id=take, inames=i}}\n"
        );
        verdict(&body, &format!("for i {{\n{was}}}\n"), &format!("for i {{\n{is}}}\n"))
    };
    let was = format!("{marks}clear\nput\ntake\n");
    assert_eq!(seen(&was, &format!("{marks}put\ntake\nclear\n")), "flow");
    for k in all.clone() {
        let others = marks.replace(&format!("mark{k}\n"), "");
        let late = format!("{others}put\nmark{k}\ntake\nclear\n");
        assert_ne!(seen(&was, &late), "flow", "mark{k}");
    }
}

/// A range that is read from what is written has to be read behind it.
#[test]
fn ranges_are_read_where_they_were() {
    let body = "\
domain { [j] : 0 <= j < end }
temp end: i32 private
end = p[i] {id=load, inames=i}
y[i, j, 0] = x[i, j, 0] {id=put, inames=i:j}
";
    let (load, put) = ("load\n", "for j {\nput\n}\n");
    let tree = |a: &str, b: &str| format!("for i {{\n{a}{b}}}\n");
    let was = tree(load, put);
    assert_eq!(verdict(body, &was, &was), "order");
    let found = verdict(body, &was, &tree(put, load));
    assert!(!["order", "flow"].contains(&found.as_str()), "{found}");
}
