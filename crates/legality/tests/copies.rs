//! Verdicts on kernels with copies, given as text together with their declared kernels; some of
//! these no step of the library produces.

use loopwright_kernel_ir::LoopKernel;
use loopwright_legality::{Verdict, agrees, judge};

/// The verdict on a transformed kernel. A refutation is replayed once more.
fn verdict(transformed: &str, declared: &str) -> String {
    let text = format!("{transformed}declared {{\n{declared}}}\n");
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}"));
    match judge(kernel.declared(), &kernel) {
        Verdict::Proved { .. } => "proved".into(),
        Verdict::Refuted(witness) => {
            assert_eq!(agrees(&kernel, &witness.parameters), Ok(Some(witness.failure.clone())));
            format!("{}: {witness}", witness.code)
        }
        Verdict::Unknown { reason, .. } => format!("unknown: {reason}"),
    }
}

const BLUR: &str = "\
kernel blur(a: f32[n + 2], out: f32[n], n: i32)
assume 1 <= n
domain { [i] : 0 <= i < n }
out[i] = a[i] + a[i + 1] + a[i + 2] {id=blur}
";

fn blur(last: usize, extra: &str) -> String {
    format!(
        "\
kernel blur(a: f32[n + 2], out: f32[n], n: i32)
assume 1 <= n
domain {{ [i] : 0 <= i < n }}
domain {{ [io, ii] : 0 <= ii <= 3 }}
domain {{ [c] : 0 <= c <= {last} and 4*io + c < n + 2 and 0 <= io and 4*io < n }}
temp tile: f32[6] shared
let i = 4*io + ii
tag ii: thread.x
tag io: block.x
tile[c] = a[4*io + c{extra}] {{id=fetch, inames=io:c, copies=a}}
out[i] = tile[ii] + tile[ii + 1] + tile[ii + 2] {{id=blur, inames=io:ii}}
tree {{
    for c {{
        fetch
    }}
    blur
}}
"
    )
}

#[test]
fn a_tile_needs_its_halo_and_the_right_cells() {
    assert_eq!(verdict(&blur(5, ""), BLUR), "proved");
    assert_eq!(
        verdict(&blur(3, ""), BLUR),
        "unwritten-value: blur[i=2] must read a[4]; blur[i=2] reads a copy that nobody has \
         written (n=3)"
    );
    assert_eq!(
        verdict(&blur(4, " - 0*c + 1"), BLUR),
        "wrong-cell: blur[i=0] must read a[0]; blur[i=0] reads a[1] (n=1)"
    );
}

#[test]
fn a_tile_of_another_array_is_no_copy() {
    let other = |text: &str| text.replace("out: f32[n]", "b: f32[n + 2], out: f32[n]");
    let copied =
        other(&blur(5, "")).replace("= a[4*io + c]", "= b[4*io + c]").replace("copies=a", "copies=b");
    let found = verdict(&copied, &other(BLUR));
    assert!(found.starts_with("wrong-cell: blur[i=0] must read a[0]; blur[i=0] reads b[0]"), "{found}");
}

/// Thread `t - 5` reads its private cell, which thread `p - 4` has filled: `a[t - 1]`.
#[test]
fn a_private_copy_belongs_to_the_thread_with_its_coordinate() {
    let of = |read: &str| {
        let head = "kernel k(a: f32[12], out: f32[12])\ndomain { [t] : 5 <= t < 12 }\n";
        let transformed = format!(
            "{head}domain {{ [p] : 4 <= p < 12 }}\n\
             temp b: f32 private\n\
             tag p: thread.x\n\
             tag t: thread.x\n\
             b = a[p] {{id=fetch, inames=p, copies=a}}\n\
             out[t] = b {{id=put, inames=t}}\n\
             tree {{\n\
             fetch\n\
             put\n\
             }}\n"
        );
        verdict(&transformed, &format!("{head}out[t] = {read} {{id=put}}\n"))
    };
    assert_eq!(of("a[t - 1]"), "proved");
    assert!(of("a[t]").starts_with("wrong-cell: "), "{}", of("a[t]"));
}

/// `t[i]` is twice `x[i]`, and no copy of it.
#[test]
fn what_is_computed_is_no_copy() {
    let head = "kernel k(x: f32[n], t: f32[n], y: f32[n], n: i32)\n\
                assume 1 <= n\n\
                domain { [i] : 0 <= i < n }\n";
    let kernel = |read: &str| {
        format!(
            "{head}t[i] = 2.0*x[i] {{id=twice, inames=i}}\n\
             y[i] = {read} {{id=put, inames=i}}\n\
             tree {{\n\
             for i {{\n\
             twice\n\
             put\n\
             }}\n\
             }}\n"
        )
    };
    assert_eq!(verdict(&kernel("x[i]"), &kernel("x[i]")), "proved");
    let found = verdict(&kernel("t[i]"), &kernel("x[i]"));
    assert!(!found.starts_with("proved"), "{found}");
}

/// A copy that is only made for some parameters or in some rounds is there only then.
#[test]
fn a_copy_under_a_condition_is_made_only_there() {
    let of = |condition: &str| {
        let head = "kernel k(a: f32[n, 8], out: f32[n, 8], n: i32, m: i32)\n\
                    assume 1 <= n and 0 <= m\n\
                    domain { [i] : 0 <= i < n }\n\
                    domain { [t] : 0 <= t < 8 }\n";
        let transformed = format!(
            "{head}domain {{ [c] : 0 <= c < 8{condition} }}\n\
             temp b: f32[8] shared\n\
             tag c: thread.x\n\
             tag t: thread.x\n\
             b[c] = a[i, c] {{id=fetch, inames=i:c, copies=a}}\n\
             out[i, t] = b[7 - t] {{id=put, inames=i:t}}\n\
             tree {{\n\
             for i {{\n\
             fetch\n\
             put\n\
             }}\n\
             }}\n"
        );
        verdict(&transformed, &format!("{head}out[i, t] = a[i, 7 - t] {{id=put}}\n"))
    };
    assert_eq!(of(""), "proved");
    assert_eq!(of(" and 0 <= m"), "proved");
    for condition in [" and 1 <= m", " and 1 <= i", " and i < m"] {
        let found = of(condition);
        assert!(!found.starts_with("proved"), "{condition}: {found}");
    }
}

/// Elements that are found by data are compared as they are written.
#[test]
fn elements_found_by_other_data_are_others() {
    let head = "kernel k(x: f32[n], p: i32[n], y: f32[n], n: i32)\n\
                assume 1 <= n\n\
                fact 0 <= p < n\n\
                domain { [i] : 0 <= i < n }\n";
    let kernel = |read: &str| format!("{head}y[i] = x[{read}] {{id=put}}\n");
    assert_eq!(verdict(&kernel("p[i]"), &kernel("p[i]")), "proved");
    for other in ["p[n - 1 - i]", "p[0]", "i"] {
        let found = verdict(&kernel(other), &kernel("p[i]"));
        assert!(!found.starts_with("proved"), "{other}: {found}");
    }
}

/// An argument that the declared kernel leaves alone keeps its elements.
#[test]
fn an_argument_is_no_buffer() {
    let head = "kernel k(a: f32[n], b: f32[n], out: f32[n], n: i32)\n\
                assume 1 <= n\n\
                domain { [i] : 0 <= i < n }\n";
    let declared = format!("{head}out[i] = a[i] {{id=put}}\n");
    let of = |buffer: &str, temporary: &str| {
        let transformed = format!(
            "{head}domain {{ [c] : 0 <= c < n }}\n\
             {temporary}{buffer}[c] = a[c] {{id=fetch, inames=c, copies=a}}\n\
             out[i] = {buffer}[i] {{id=put, inames=i}}\n\
             tree {{\n\
             for c {{\n\
             fetch\n\
             }}\n\
             for i {{\n\
             put\n\
             }}\n\
             }}\n"
        );
        verdict(&transformed, &declared)
    };
    assert_eq!(of("t", "temp t: f32[n] global\n"), "proved");
    let found = of("b", "");
    assert!(!found.starts_with("proved"), "{found}");
}

/// What nobody needs is copied too, from beside the array or to beside the buffer.
#[test]
fn a_copy_stays_inside_of_its_arrays() {
    let wide = blur(5, "").replace(" and 4*io + c < n + 2", "");
    let found = verdict(&wide, BLUR);
    assert!(found.contains("`fetch` may copy what lies outside of `a`"), "{found}");
    let low = blur(5, " - 1").replace("0 <= c <= 5", "0 <= c <= 6").replace("tile[c]", "tile[c - 1]");
    let found = verdict(&low.replace("4*io + c < n + 2", "4*io + c < n + 3"), BLUR);
    assert!(found.contains("`fetch` may copy what lies outside of `"), "{found}");
}

/// The same where the subscript is of a parameter: `t[n]` would hold `a[-1]`.
#[test]
fn a_reversed_copy_stays_inside_of_its_arrays() {
    let head = "kernel k(a: f32[n], out: f32[n], n: i32)\nassume 1 <= n\ndomain { [i] : 0 <= i < n }\n";
    let declared = format!("{head}out[i] = a[n - 1 - i] {{id=put}}\n");
    let of = |last: &str| {
        let transformed = format!(
            "{head}domain {{ [c] : 0 <= c <= {last} }}\n\
             temp t: f32[n + 1] global\n\
             t[c] = a[n - 1 - c] {{id=fetch, inames=c, copies=a}}\n\
             out[i] = t[i] {{id=put, inames=i}}\n\
             tree {{\n\
             for c {{\n\
             fetch\n\
             }}\n\
             for i {{\n\
             put\n\
             }}\n\
             }}\n"
        );
        verdict(&transformed, &declared)
    };
    assert_eq!(of("n - 1"), "proved");
    let found = of("n");
    assert!(found.contains("`fetch` may copy what lies outside of `a`"), "{found}");
}

fn pipelined(slots: usize) -> (String, &'static str) {
    let declared = "\
kernel pipe(a: f32[n, 4], b: f32[n, 4], n: i32)
assume 1 <= n
domain { [k, t] : 0 <= k < n and 0 <= t < 4 }
b[k, t] = a[k, 3 - t] {id=use}
";
    let transformed = format!(
        "\
kernel pipe(a: f32[n, 4], b: f32[n, 4], n: i32)
assume 1 <= n
domain {{ [k, t] : 0 <= k < n and 0 <= t < 4 }}
domain {{ [p] : 0 <= p < 4 }}
domain {{ [q] : 0 <= q < 4 and k + 1 < n }}
temp slot: f32[{slots}, 4] shared
tag p: thread.x
tag q: thread.x
tag t: thread.x
slot[0, p] = a[0, p] {{id=first, inames=p, copies=a}}
slot[(k + 1) % {slots}, q] = a[k + 1, q] {{id=ahead, inames=k:q, copies=a}}
b[k, t] = slot[k % {slots}, 3 - t] {{id=use, inames=k:t}}
tree {{
    first
    for k {{
        ahead
        use
    }}
}}
"
    );
    (transformed, declared)
}

#[test]
fn a_pipelined_copy_needs_two_slots() {
    let (two, declared) = pipelined(2);
    assert_eq!(verdict(&two, declared), "proved");
    let (one, _) = pipelined(1);
    assert_eq!(
        verdict(&one, declared),
        "wrong-cell: use[k=0, t=0] must read a[0, 3]; use[k=0, t=0] reads a[1, 3] (n=2)"
    );
}

const TWICE: &str = "\
kernel twice(a: f32[18])
domain { [i] : 0 <= i < 16 }
a[i] = a[i] * 2.0 {id=twice}
";

fn buffered(last: usize, store: bool) -> String {
    let (line, leaf) = match store {
        true => ("a[4*b + d] = buf[d] {id=store, inames=b:d, copies=buf}\n", "    store\n"),
        false => ("", ""),
    };
    format!(
        "\
kernel twice(a: f32[18])
domain {{ [i] : 0 <= i < 16 }}
domain {{ [b, r] : 0 <= r <= 3 }}
domain {{ [c] : 0 <= c <= {last} and 0 <= b <= 3 }}
domain {{ [d] : 0 <= d <= {last} and 0 <= b <= 3 }}
temp buf: f32[6] shared
let i = 4*b + r
tag b: block.x
tag c: thread.x
tag d: thread.x
tag r: thread.x
buf[c] = a[4*b + c] {{id=load, inames=b:c, copies=a}}
buf[r] = buf[r] * 2.0 {{id=twice, inames=b:r}}
{line}tree {{
    load
    twice
{leaf}}}
"
    )
}

#[test]
fn a_buffer_stores_back_what_it_holds_and_no_more() {
    assert_eq!(verdict(&buffered(3, true), TWICE), "proved");
    let wide = verdict(&buffered(5, true), TWICE);
    assert!(wide.starts_with("race: "), "{wide}");
}

#[test]
fn a_copy_hoisted_over_a_write_is_stale() {
    let declared = "\
kernel steps(a: f32[8], b: f32[8], k: i32)
assume 0 <= k
domain { [t] : 0 <= t < k }
domain { [i] : 1 <= i < 7 }
domain { [j] : 1 <= j < 7 }
b[i] = a[i - 1] + a[i + 1] {id=there, inames=t:i}
a[j] = b[j] {id=back, inames=t:j}
";
    let transformed = |tree: &str, around: &str| {
        format!(
            "\
kernel steps(a: f32[8], b: f32[8], k: i32)
assume 0 <= k
domain {{ [t] : 0 <= t < k }}
domain {{ [i] : 1 <= i < 7 }}
domain {{ [j] : 1 <= j < 7 }}
domain {{ [c] : 0 <= c < 8 }}
temp tile: f32[8] shared
tag c: thread.x
tag i: thread.x
tag j: thread.x
tile[c] = a[c] {{id=fetch, inames={around}c, copies=a}}
b[i] = tile[i - 1] + tile[i + 1] {{id=there, inames=t:i}}
a[j] = b[j] {{id=back, inames=t:j}}
tree {{
{tree}
}}
"
        )
    };
    let inside = transformed("for t {\n fetch\n there\n back\n }", "t:");
    assert_eq!(verdict(&inside, declared), "proved");
    let hoisted = transformed("fetch\n for t {\n there\n back\n }", "");
    assert_eq!(
        verdict(&hoisted, declared),
        "stale-value: back[t=0, j=2] writes a[2], there[t=1, i=1] must read it; there[t=1, i=1] \
         reads what a[2] held before (k=2)"
    );
}

#[test]
fn a_lost_instance_and_other_values_are_found() {
    let declared = "\
kernel halves(a: f32[n], b: f32[n], n: i32)
assume 1 <= n
domain { [i] : 0 <= i < n }
b[i] = a[i] * 0.5 {id=halve}
";
    let transformed = |range: &str, value: &str| {
        format!(
            "kernel halves(a: f32[n], b: f32[n], n: i32)\n\
             assume 1 <= n\n\
             domain {{ [i] : {range} }}\n\
             b[i] = {value} {{id=halve, inames=i}}\n\
             tree {{\n for i {{\n halve\n }}\n\
             }}\n"
        )
    };
    assert_eq!(verdict(&transformed("0 <= i < n", "a[i] * 0.5"), declared), "proved");
    assert_eq!(
        verdict(&transformed("0 <= i < n - 1", "a[i] * 0.5"), declared),
        "instances-lost: halve[i=0] is the last to write b[0]; halve[i=0] does not run (n=1)"
    );
    assert_eq!(
        verdict(&transformed("0 <= i < n", "a[i] * 0.25"), declared),
        "unknown: `halve` computes another value than the declared `halve`"
    );
    assert_eq!(
        verdict(&transformed("0 <= i < n", "a[n - 1 - i] * 0.5"), declared),
        "wrong-cell: halve[i=0] must read a[0]; halve[i=0] reads a[1] (n=2)"
    );
}

#[test]
fn each_point_of_a_reduction_is_joined_once() {
    let declared = "\
kernel total(x: f32[8], s: f32[1])
domain { [k] : 0 <= k < 8 }
s[0] = sum(k, x[k]) {id=total}
";
    let transformed = |length: usize, inner: usize| {
        format!(
            "kernel total(x: f32[8], s: f32[1])\n\
             domain {{ [k] : 0 <= k < {length} }}\n\
             domain {{ [ko, ki] : 0 <= ki < {inner} }}\n\
             let k = 4*ko + ki\n\
             s[0] = sum([ko, ki], x[k]) {{id=total}}\n\
             tree {{\n total.init\n for ko {{\n for ki {{\n total.update\n }}\n }}\n \
             total.finish\n\
             }}\n"
        )
    };
    assert_eq!(verdict(&transformed(8, 4), declared), "proved");
    assert!(
        verdict(&transformed(7, 4), declared).starts_with("reduction-points: total joins the point (7) once")
    );
}

/// A shift to the right: each thread reads the cell before its own, if the condition says that
/// there is one.
fn shift(condition: &str, first: i64, last: i64) -> (String, String) {
    let kernel = |domains: &str, cell: &str, inames: &str| {
        format!(
            "kernel shift(a: f32[n], out: f32[n], n: i32)\nassume 1 <= n <= 300\n{domains}\
             out[i] = if({condition}, {cell}, 0.0) {{id=shift{inames}}}\n"
        )
    };
    let domains = format!(
        "domain {{ [i] : 0 <= i < n }}\n\
         domain {{ [c] : {first} <= c < n and c <= {last} }}\n\
         temp tile: f32[300] shared\n\
         tile[c] = a[c] {{id=fetch, inames=c, copies=a}}\n"
    );
    let transformed = kernel(&domains, "tile[i - 1]", ", inames=i");
    (
        transformed + "tree {\n    for c {\n        fetch\n    }\n    for i {\n        shift\n    }\n}\n",
        kernel("domain { [i] : 0 <= i < n }\n", "a[i - 1]", ""),
    )
}

#[test]
fn what_is_read_under_a_condition_has_to_be_there_where_it_holds() {
    let of = |condition: &str, first: i64, last: i64| {
        let (transformed, declared) = shift(condition, first, last);
        verdict(&transformed, &declared)
    };
    assert_eq!(of("i >= 1", 0, 300), "proved");
    assert_eq!(of("i >= 2", 1, 300), "proved");
    assert_eq!(of("not (i < 2)", 1, 300), "proved");
    assert_eq!(
        of("i >= 1", 1, 300),
        "unwritten-value: shift[i=1] must read a[0]; shift[i=1] reads a copy that nobody has \
         written (n=2)"
    );
    // As an integer condition it is i = 1; as a value it also holds at i = 257, and at i = 129,
    // where the compared numbers are negative.
    assert_ne!(of("16777216*i <= 16777216 and 0 < i", 0, 0), "proved");
    assert_eq!(of("i <= 1 and 0 < i", 0, 0), "proved");
}

/// Elements are read under two conditions; the copy has to have those of the wider one.
#[test]
fn a_copy_serves_the_reads_of_each_condition() {
    let of = |count: usize, leaves: &str| {
        let head = "kernel k(a: f32[8], out: f32[8])\ndomain { [i] : 0 <= i < 8 }\n";
        let put = |b: &str| format!("out[i] = if(i < 4, {b}[i], 0.0) + if(i < 6, 2.0*{b}[i], 1.0) {{id=put");
        let transformed = format!(
            "{head}domain {{ [c] : 0 <= c < {count} }}\n\
             temp b: f32[8] global\n\
             b[c] = a[c] {{id=fetch, inames=c, copies=a}}\n\
             {}, inames=i}}\n\
             tree {{\n\
             {leaves}}}\n",
            put("b")
        );
        verdict(&transformed, &format!("{head}{}}}\n", put("a")))
    };
    let (fetch, put) = ("for c {\nfetch\n}\n", "for i {\nput\n}\n");
    assert_eq!(of(6, &format!("{fetch}{put}")), "proved");
    assert_ne!(of(4, &format!("{fetch}{put}")), "proved");
    // A copy that is made later is none.
    assert_ne!(of(6, &format!("{put}{fetch}")), "proved");
}

/// Several elements are copied to one cell: what a read finds there is the last one.
#[test]
fn a_cell_with_copies_of_several_elements_stands_for_none_of_them() {
    let of = |cell: &str, read: &str| {
        let head = "kernel k(a: f32[24], out: f32[8])\ndomain { [i] : 0 <= i < 8 }\n";
        let transformed = format!(
            "{head}domain {{ [c] : 0 <= c < 24 }}\n\
             temp b: f32[24] global\n\
             b[{cell}] = a[c] {{id=fetch, inames=c, copies=a}}\n\
             out[i] = b[i] {{id=put, inames=i}}\n\
             tree {{\nfor c {{\nfetch\n}}\nfor i {{\nput\n}}\n}}\n"
        );
        verdict(&transformed, &format!("{head}out[i] = a[{read}] {{id=put}}\n"))
    };
    assert_eq!(of("c", "i"), "proved");
    assert_ne!(of("c // 2", "2*i"), "proved");
    assert_ne!(of("c // 2", "i"), "proved");
    assert_ne!(of("c // 3", "3*i"), "proved");
    assert_ne!(of("c // 3", "3*i + 1"), "proved");
}
