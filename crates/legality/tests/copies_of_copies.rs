//! Reads of buffers that copies of a ring fill, which copies of an argument fill.

use crate::common;

use common::judged;

/// The verdict on a ring `t` of three slots, of which each iteration copies one to `u`, which is
/// read in place of `x[i]`. `fetch` fills the slot of the next iteration; `more` is another copy,
/// and the order is that of the names.
fn verdict(fetch: &str, load: &str, take: &str, more: &str, order: &str) -> String {
    verdict_on("x[i]", fetch, load, take, more, order)
}

fn verdict_on(declared: &str, fetch: &str, load: &str, take: &str, more: &str, order: &str) -> String {
    let kernel = |copies: &str, value: &str, tree: &str| {
        format!(
            "kernel k(x: f32[n + 3], y: f32[n], n: i32)\n\
             assume 1 <= n\n\
             domain {{ [i] : 0 <= i < n }}\n\
             {copies}y[i] = {value} {{id=take, inames=i}}\n\
             tree {{\n{tree}\n}}\n"
        )
    };
    let more = match more {
        "" => String::new(),
        copy => format!("{copy} {{id=more, inames=i, copies=x}}\n"),
    };
    let copies = format!(
        "temp t: f32[3] private\n\
         temp u: f32[2] private\n\
         t[0] = x[0] {{id=first, inames=, copies=x}}\n\
         {fetch} {{id=fetch, inames=i, copies=x}}\n\
         {load} {{id=load, inames=i, copies=t}}\n{more}"
    );
    let order = order.replace(' ', "\n");
    let after = kernel(&copies, take, &format!("first\nfor i {{\n{order}\n}}"));
    judged(&after, &kernel("", declared, "for i {\ntake\n}"))
}

const FETCH: &str = "t[(i + 1) % 3] = x[i + 1]";
const LOAD: &str = "u[i % 2] = t[i % 3]";
const TAKE: &str = "u[i % 2]";

#[test]
fn the_declared_cell_is_seen_through_both() {
    assert_eq!(verdict(FETCH, LOAD, TAKE, "", "fetch load take"), "flow");
    assert_eq!(verdict(FETCH, LOAD, TAKE, "", "load fetch take"), "flow");
    // A slot that is not in use.
    assert_eq!(verdict(FETCH, LOAD, TAKE, "t[(i + 2) % 3] = x[i]", "fetch more load take"), "flow");
}

#[test]
fn another_cell_is_not() {
    let order = "fetch load take";
    for fetch in ["t[(i + 1) % 3] = x[i]", "t[(i + 2) % 3] = x[i + 1]", "t[(i + 1) % 3] = x[i + 2]"] {
        assert_eq!(verdict(fetch, LOAD, TAKE, "", order), "refuted", "{fetch}");
    }
    for load in ["u[i % 2] = t[(i + 1) % 3]", "u[i % 2] = t[(i + 2) % 3]", "u[i % 2] = t[0]"] {
        assert_eq!(verdict(FETCH, load, TAKE, "", order), "refuted", "{load}");
    }
    assert_eq!(verdict(FETCH, LOAD, "u[(i + 1) % 2]", "", order), "refuted");
    assert_eq!(verdict(FETCH, LOAD, TAKE, "", "fetch take load"), "refuted");
}

/// The load names the slot that `fetch` has filled in the iteration before, but finds another copy
/// there.
#[test]
fn what_is_supposed_of_a_load_is_proved() {
    let order = "fetch more load take";
    for more in ["t[i % 3] = x[0]", "t[i % 3] = x[i + 3]", "t[i % 3] = x[n - 1]"] {
        assert_eq!(verdict(FETCH, LOAD, TAKE, more, order), "refuted", "{more}");
    }
    assert_eq!(verdict(FETCH, LOAD, TAKE, "t[i % 3] = x[i]", order), "flow");
    // Whether another one is made depends on data.
    assert_ne!(verdict(FETCH, LOAD, TAKE, "t[i % 3] = x[0] if x[i] < 0.0", order), "flow");
    let behind = "fetch load more take";
    assert_ne!(verdict(FETCH, LOAD, TAKE, "u[i % 2] = x[0] if x[i] < 0.0", behind), "flow");
    // As if the load read what the first copy has written, in all iterations.
    let of_first = |fetch: &str, load: &str| verdict_on("x[0]", fetch, load, TAKE, "", "fetch load take");
    assert_eq!(of_first(FETCH, LOAD), "refuted");
    assert_eq!(of_first(FETCH, "u[i % 2] = t[0]"), "refuted");
    assert_eq!(of_first("t[1 + i % 2] = x[i + 1]", "u[i % 2] = t[0]"), "flow");
}

/// The verdict on so many copies in a row, from `x` to the buffer that is read in place of it. The
/// last one is of this element of the buffer before.
fn in_a_row(copies: usize, last: &str) -> String {
    let kernel = |copies: &str, value: &str, leaves: &str| {
        format!(
            "kernel k(x: f32[n], y: f32[n], n: i32)\n\
             domain {{ [i] : 0 <= i < n }}\n\
             {copies}y[i] = {value} {{id=take, inames=i}}\n\
             tree {{\nfor i {{\n{leaves}take\n}}\n}}\n"
        )
    };
    let (mut text, mut leaves) = (String::new(), String::new());
    for k in 1..=copies {
        let from = match k {
            1 => "x[i]".to_string(),
            _ if k == copies => format!("t{}[{last}]", k - 1),
            _ => format!("t{}[i % 2]", k - 1),
        };
        let array = &from[..from.find('[').unwrap()];
        text += &format!("temp t{k}: f32[2] private\n");
        text += &format!("t{k}[i % 2] = {from} {{id=load{k}, inames=i, copies={array}}}\n");
        leaves += &format!("load{k}\n");
    }
    judged(&kernel(&text, &format!("t{copies}[i % 2]"), &leaves), &kernel("", "x[i]", ""))
}

#[test]
fn four_copies_in_a_row_are_followed() {
    for copies in 2..=4 {
        assert_eq!(in_a_row(copies, "i % 2"), "flow", "{copies}");
        assert_eq!(in_a_row(copies, "0"), "refuted", "{copies}");
    }
}
