//! The premises of the proof by order, each next to a similar illegal case: domains, assumptions,
//! the order of leaves, lanes and threads. If the proof by order fails, dataflow analysis often
//! still succeeds; a basis other than the expected one is a failure.

use loopwright_kernel_ir::{Aff, Lookup, LoopKernel};
use loopwright_legality::{Basis, Model, Verdict, agrees, along, judge};

/// The verdict on a transformed kernel, with its basis. A refutation is replayed once more.
fn verdict(transformed: &str, declared: &str) -> String {
    let text = format!("{transformed}declared {{\n{declared}}}\n");
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    match judge(kernel.declared(), &kernel) {
        Verdict::Proved { basis: Basis::Order, .. } => "order".into(),
        Verdict::Proved { basis: Basis::Flow, .. } => "flow".into(),
        Verdict::Proved { basis: Basis::Theorem(why), .. } => why.into(),
        Verdict::Refuted(witness) => {
            assert_eq!(agrees(&kernel, &witness.parameters), Ok(Some(witness.failure.clone())));
            format!("{}: {witness}", witness.code)
        }
        Verdict::Unknown { reason, .. } => format!("unknown: {reason}"),
    }
}

/// A statement `move` in a loop over `i`, and the same backwards from the last value: in a loop
/// over `r`, or on the axis of a tag.
fn backwards(head: &str, statement: &str, last: &str, tag: Option<&str>) -> String {
    let (tag, tree) = match tag {
        None => (String::new(), "    for r {\n        move\n    }\n"),
        Some(tag) => (format!("tag r: {tag}\n"), "    move\n"),
    };
    let after = format!(
        "{head}domain {{ [r] }}\n\
         let i = {last} - r\n\
         {tag}{statement} {{id=move, inames=r}}\n\
         tree {{\n\
         {tree}}}\n"
    );
    verdict(&after, &format!("{head}{statement} {{id=move}}\n"))
}

/// `x[i] = x[i + distance]` and the same backwards.
fn turned(head: &str, distance: &str) -> String {
    let head = format!("{head}domain {{ [i] : 0 <= i < m }}\n");
    backwards(&head, &format!("x[i] = x[i + {distance}]"), "m - 1", None)
}

/// No element that is read is written, since the domain of one of the executions ends first.
#[test]
fn domains_keep_executions_apart() {
    let head = "kernel k(x: f32[128], m: i32)\nassume m = 64\n";
    assert_eq!(turned(head, "64"), "order");
    assert_eq!(
        turned(head, "63"),
        "dependence-violated: move[i=0] must read x[63] before move[i=63] writes it; move[i=63] \
         runs first (m=64)"
    );
    // By the assumption alone.
    let head = "kernel k(x: f32[m + n], m: i32, n: i32)\nassume 1 <= m and m <= n\n";
    assert_eq!(turned(head, "n"), "order");
    let head = "kernel k(x: f32[m + n], m: i32, n: i32)\nassume 1 <= m and 1 <= n and m <= n + 1\n";
    assert!(turned(head, "n").starts_with("dependence-violated: "), "{}", turned(head, "n"));
}

/// A conditional read conflicts with nothing where its condition does not hold.
#[test]
fn conditions_keep_executions_apart() {
    let turned = |tag: Option<&str>, from: usize| {
        let head = "kernel k(x: f32[128])\ndomain { [i] : 0 <= i < 64 }\n";
        backwards(head, &format!("x[i] = if(i >= {from}, x[i + 32], 0.0)"), "63", tag)
    };
    let read = "move[i=31] must read x[63] before move[i=63] writes it";
    assert_eq!(turned(None, 32), "order");
    assert_eq!(turned(None, 31), format!("dependence-violated: {read}; move[i=63] runs first"));
    assert_eq!(turned(Some("thread.x"), 32), "order");
    let race = turned(Some("thread.x"), 31);
    assert!(race.starts_with(&format!("race: {read}")), "{race}");
}

/// A replay evaluates conditions on inames: its witness is an instance that actually reads what it
/// should not.
#[test]
fn witnesses_are_of_instances_that_read() {
    let turned = |condition: &str| {
        let head = "kernel k(x: f32[64], z: f32[64])\ndomain { [i] : 0 <= i < 32 }\n";
        backwards(head, &format!("x[i] = if({condition}, x[i + 1], z[i])"), "31", None)
    };
    for (condition, reads) in [
        ("i // 8 == 1 and (z[i] > 0.0 or i % 2 == 0)", 8..16),
        ("not (i // 8 != 2 or z[i] > 0.0 and i % 2 == 1)", 16..24),
        ("(i - 3) * (i - 3) == 4 and z[i] > 0.0", 1..6),
        ("100 > i * i and z[i] > 0.0", 0..10),
    ] {
        let found = turned(condition);
        let i = found.split("[i=").nth(1).and_then(|t| t.split(']').next()?.parse::<i64>().ok());
        assert!(
            found.starts_with("dependence-violated: ") && reads.contains(&i.unwrap_or(-1)),
            "{condition}: {found}"
        );
    }
}

/// A replay names the instance that comes too early beside the one that reads.
#[test]
fn a_witness_has_both_instances() {
    let declared = "kernel k(x: f32[128])\ndomain { [i] : 0 <= i < 64 }\n";
    let statement = "x[i] = x[i + 63]";
    let after = format!(
        "{declared}domain {{ [r] }}\nlet i = 63 - r\n{statement} {{id=move, inames=r}}\ntree {{\n    for r \
         {{\n        move\n    }}\n}}\ndeclared {{\n{declared}{statement} {{id=move}}\n}}\n"
    );
    let kernel = LoopKernel::parse(&after).unwrap_or_else(|d| panic!("{d}\n{after}"));
    let Verdict::Refuted(witness) = judge(kernel.declared(), &kernel) else { panic!("not refuted") };
    let instances: Vec<String> = witness.instances.iter().map(|i| i.to_string()).collect();
    assert_eq!(instances, ["move[i=63]", "move[i=0]"]);
}

/// `t` is one cell for all rows, so that rows backwards need each read to see what its own row has
/// written. A write and a read under one condition belong together if they see the same definition
/// of what the condition reads, and the same execution of it.
#[test]
fn conditions_on_what_is_written_are_one_if_they_see_one_value() {
    let rows = |first: &str, second: &str| {
        let head = "kernel k(x: f32[n, 2], c: f32[n], y: f32[n], n: i32)\nassume 1 <= n\n\
                    domain { [i] : 0 <= i < n }\ndomain { [j] : 0 <= j < 2 }\n";
        let body = |row: &str| {
            format!(
                "temp t: f32\n\
                 c[i] = x[i, j] {{id=mark, inames={row}:j}}\n\
                 t = x[i, j] if c[i] > 0.0 {{id=put, inames={row}:j}}\n\
                 y[i] = t if c[i] > 0.0 {{id=take, inames={row}}}\n\
                 tree {{\n    for {row} {{\n        for j {{\n            {first}\n            {second}\n        \
                 }}\n        take\n    }}\n}}\n"
            )
        };
        let after = format!("{head}domain {{ [r] }}\nlet i = n - 1 - r\n{}", body("r"));
        verdict(&after, &format!("{head}{}", body("i")))
    };
    assert_eq!(rows("mark", "put"), "flow");
    let later = rows("put", "mark");
    assert!(later.starts_with("unknown: "), "{later}");
}

const PAIR: &str = "\
kernel k(x: f32[n], y: f32[n + 1], z: f32[n], n: i32)
assume 1 <= n
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j < n }
y[i] = x[i] {id=first}
z[j] = y[j] {id=second}
";

/// The two loops of [`PAIR`] fused, with the leaves in this order and this subscript of the read.
fn fused(leaves: [&str; 2], subscript: &str) -> String {
    let declared = PAIR.replace("y[j]", &format!("y[{subscript}]"));
    let after = format!(
        "\
kernel k(x: f32[n], y: f32[n + 1], z: f32[n], n: i32)
assume 1 <= n
domain {{ [i] : 0 <= i < n }}
domain {{ [j] }}
let j = i
y[i] = x[i] {{id=first, inames=i}}
z[j] = y[{subscript}] {{id=second, inames=i}}
tree {{
    for i {{
        {}
        {}
    }}
}}
",
        leaves[0], leaves[1]
    );
    verdict(&after, &declared)
}

#[test]
fn leaves_of_one_loop_run_in_their_order() {
    assert_eq!(fused(["first", "second"], "j"), "order");
    assert_eq!(
        fused(["second", "first"], "j"),
        "dependence-violated: first[i=0] writes y[0], second[j=0] must read it; second[j=0] runs \
         first (n=1)"
    );
    // The element is written in the next iteration.
    assert!(fused(["first", "second"], "j + 1").starts_with("dependence-violated: "));
}

/// Lanes of one thread write eight values to one element: the last lane wins, as the last iteration
/// did.
fn lanes(value: &str, tag: &str) -> String {
    let declared = "kernel k(x: f32[n, 8], y: f32[n], n: i32)\n\
                    domain { [j] : 0 <= j < n }\n\
                    domain { [i] : 0 <= i < 8 }\n\
                    y[j] = x[j, i] {id=last}\n";
    let after = format!(
        "kernel k(x: f32[n, 8], y: f32[n], n: i32)\n\
         domain {{ [j] : 0 <= j < n }}\n\
         domain {{ [i] : 0 <= i < 8 }}\n\
         domain {{ [l] : 0 <= l < 8 }}\n\
         let i = {value}\n\
         tag l: {tag}\n\
         y[j] = x[j, i] {{id=last, inames=j:l}}\n\
         tree {{\n    for j {{\n        last\n    }}\n\
         }}\n"
    );
    verdict(&after, declared)
}

#[test]
fn lanes_write_one_after_the_other() {
    assert_eq!(lanes("l", "ilp"), "order");
    assert_eq!(
        lanes("7 - l", "ilp"),
        "dependence-violated: last[j=0, i=7] is the last to write y[0]; last[j=0, i=0] is (n=1)"
    );
    // Threads are unordered.
    assert!(lanes("l", "thread.x").starts_with("race: "), "{}", lanes("l", "thread.x"));
}

/// Lanes read before any of them writes.
#[test]
fn lanes_read_before_they_write() {
    let moved = |distance: &str, tag: &str| {
        let declared = format!(
            "kernel k(x: f32[10])\n\
             domain {{ [i] : 1 <= i < 9 }}\n\
             x[i] = x[i {distance}] {{id=move}}\n"
        );
        let after = format!(
            "kernel k(x: f32[10])\n\
             domain {{ [i] : 1 <= i < 9 }}\n\
             tag i: {tag}\n\
             x[i] = x[i {distance}] {{id=move, inames=i}}\n\
             tree {{\n    move\n\
             }}\n"
        );
        verdict(&after, &declared)
    };
    assert_eq!(moved("+ 1", "ilp"), "order");
    assert_eq!(moved("+ 0", "ilp"), "order");
    assert_eq!(
        moved("- 1", "ilp"),
        "dependence-violated: move[i=1] writes x[1], move[i=2] must read it; move[i=2] runs first"
    );
    assert!(moved("+ 1", "thread.x").starts_with("race: "), "{}", moved("+ 1", "thread.x"));
}

/// A single-cell temporary gets one cell per thread: no value may pass from one iteration to the
/// next.
#[test]
fn private_cells_hold_values_of_one_iteration() {
    let owned = |first: &str, second: &str, order: [&str; 2]| {
        let body = |tags: &str, space: &str| {
            format!(
                "\
kernel k(x: f32[n], z: f32[n], n: i32)
domain {{ [i] : 0 <= i < n }}
temp t: f32 {space}
{tags}{first}
{second}
tree {{
    for i {{
        {}
        {}
    }}
}}
",
                order[0], order[1]
            )
        };
        let declared = body("", "private");
        let after = declared
            .replace("    for i {\n", "")
            .replace("    }\n}\n", "}\n")
            .replace("temp t", "tag i: block.x\ntemp t");
        verdict(&after, &declared)
    };
    let (load, store) = ("t = x[i] {id=load, inames=i}", "z[i] = t {id=store, inames=i}");
    assert_eq!(owned(load, store, ["load", "store"]), "order");
    let late = "z[i] = t if i >= 1 {id=store, inames=i}";
    let found = owned(load, late, ["store", "load"]);
    assert!(!["order", "flow"].contains(&found.as_str()), "{found}");
    // Only some iterations write it.
    let some = "t = x[i] if i % 2 == 0 {id=load, inames=i}";
    let found = owned(some, store, ["load", "store"]);
    assert!(!["order", "flow"].contains(&found.as_str()), "{found}");
}

/// Two leaves in one nest that read and write the same elements in both kernels; only the order of
/// the leaves and of the loops differs. Names are unchanged, so nothing else distinguishes the
/// forms.
fn nested(subscripts: &str, loops: [&str; 2], leaves: [&str; 2]) -> String {
    let text = |[outer, inner]: [&str; 2], [one, two]: [&str; 2]| {
        format!(
            "\
kernel k(x: f32[n, n], y: f32[n + 1, n + 1], z: f32[n, n], n: i32)
assume 1 <= n
domain {{ [i] : 0 <= i < n }}
domain {{ [j] : 0 <= j < n }}
y[i, j + 1] = x[i, j] {{id=first, inames=i:j}}
z[i, j] = y[{subscripts}] {{id=second, inames=i:j}}
tree {{
    for {outer} {{
        for {inner} {{
            {one}
            {two}
        }}
    }}
}}
"
        )
    };
    verdict(&text(loops, leaves), &text(["i", "j"], ["first", "second"]))
}

#[test]
fn leaves_of_one_nest_keep_their_order() {
    let (there, turned) = (["i", "j"], ["j", "i"]);
    let (leaves, swapped) = (["first", "second"], ["second", "first"]);
    // An element of the same execution: the loops may be interchanged, the leaves may not.
    assert_eq!(nested("i, j + 1", turned, leaves), "order");
    let found = nested("i, j + 1", there, swapped);
    assert!(found.starts_with("dependence-violated: "), "{found}");
    // An element that an earlier iteration of `j` wrote: the leaves may be swapped.
    assert_eq!(nested("i, j", there, swapped), "order");
    assert_eq!(nested("i, j", turned, leaves), "order");
    assert_eq!(nested("i + 1, j", there, swapped), "order");
    // second[i, j] reads y[i + 1, j] before first[i + 1, j - 1] writes it; after the interchange,
    // the write comes first.
    let found = nested("i + 1, j", turned, leaves);
    assert!(found.starts_with("dependence-violated: "), "{found}");
}

/// The last of eight values stays, and is read afterwards.
#[test]
fn what_lanes_leave_is_read() {
    let kernel = |lanes: &str, inames: &str, tree: &str| {
        format!(
            "kernel k(x: f32[n, 8], y: f32[n], z: f32[n], n: i32)\n\
             assume 1 <= n\n\
             domain {{ [j] : 0 <= j < n }}\n\
             {lanes}temp t: f32[n] global\n\
             t[j] = x[j, i] {{id=last, inames={inames}}}\n\
             y[j] = t[j] {{id=read, inames=j}}\n\
             tree {{\n\
             for j {{\n\
             {tree}read\n\
             }}\n\
             }}\n"
        )
    };
    let declared = kernel("domain { [i] : 0 <= i < 8 }\n", "j:i", "for i {\nlast\n}\n");
    let after = |value: &str| {
        let lanes = format!("domain {{ [l] : 0 <= l < 8 }}\ndomain {{ [i] }}\nlet i = {value}\ntag l: ilp\n");
        verdict(&kernel(&lanes, "j:l", "last\n"), &declared)
    };
    assert_eq!(after("l"), "order");
    let found = after("7 - l");
    assert!(!["order", "flow"].contains(&found.as_str()), "{found}");
}

/// `v = 4*o + r` takes the values 0, 2, 1, 3 if `o` is the outer loop of `r`, which is negative in
/// its second iteration.
#[test]
fn a_scan_is_not_along_loops_that_overlap() {
    let value = "4*o + r";
    let kernel = |domain: &str| {
        let text = format!(
            "\
kernel k(x: f32[n], y: f32[4], n: i32)
assume n >= 4
domain {{ [o, r] : {domain} }}
domain {{ [j] : 0 <= j <= {value} }}
domain {{ [j_new] : 0 = j_new }}
domain {{ [i] }}
let j = j_new + {value}
let i = {value}
y[i] = sum(j, x[j]) {{id=prefix, inames=o:r, scan=i, map=[i: i]}}
tree {{
    prefix.init
    for o {{
        for r {{
            for j_new {{
                prefix.update
            }}
            prefix.finish
        }}
    }}
}}
declared {{
kernel k(x: f32[n], y: f32[4], n: i32)
assume n >= 4
domain {{ [i] : 0 <= i < 4 }}
domain {{ [j] : 0 <= j <= i }}
y[i] = sum(j, x[j]) {{id=prefix}}
}}
"
        );
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        let lookup = Lookup::new(&kernel);
        let found = along(&kernel, &lookup, kernel.instruction("prefix").unwrap()).unwrap();
        found.map(|inames| inames.len()).map_err(|d| d.code)
    };
    assert_eq!(kernel("0 <= r < 4 and 0 <= 4*o + r < 4"), Ok(2));
    // Five values of `r` for each step of four.
    assert_eq!(
        kernel("0 <= o <= 1 and 0 <= r <= 4").map_err(|code| code.to_string()),
        Err("scan-iname".into())
    );
    let overlapping = "0 <= o <= 1 and 0 <= 4*o + r < 4 and (r - o) % 2 = 0";
    assert_eq!(kernel(overlapping).map_err(|code| code.to_string()), Err("scan-iname".into()));
}

/// Digits of a mixed radix are as large as the tightest of the bounds that are stated allows.
#[test]
fn the_tightest_of_several_bounds_is_that_of_a_digit() {
    let is_radix = |bounds: &str| {
        let text = format!(
            "kernel k(y: f32[4 * n], n: i32)\nassume 1 <= n\n\
             domain {{ [i, j] : 0 <= i < n and {bounds} }}\n\
             y[4 * i] = 1.0 {{inames=i:j, id=set}}\n"
        );
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        let number = Aff::var("i").scale(4).and_then(|i| i.add(&Aff::var("j"))).unwrap();
        Model::new(&kernel).unwrap().is_radix(&number)
    };
    assert!(is_radix("0 <= j <= 3 and j <= 7"));
    assert!(is_radix("0 <= j <= 7 and j <= 3 and -5 <= j"));
    assert!(!is_radix("0 <= j <= 4 and j <= 7"));
}

/// A read comes before all updates or after them, as in the text.
#[test]
fn updates_that_a_read_must_not_see_are_named() {
    let head = "kernel k(x: f32[n], out: f32[1], y: f32[1], n: i32)\nassume 1 <= n\n\
                domain { [i] : 0 <= i < n }\n";
    let (get, add) = ("y[0] = out[0] {id=get}\n", "out[0] += x[i] {id=add, inames=i}\n");
    let (first, last) = ("get\nfor i {\nadd\n}\n", "for i {\nadd\n}\nget\n");
    let moved = |declared: &str, tree: &str| {
        verdict(&format!("{head}{declared}tree {{\n{tree}}}\n"), &format!("{head}{declared}"))
    };
    assert_eq!(
        moved(&format!("{get}{add}"), last),
        "dependence-violated: get must read out[0] before add[i=0] updates it; add[i=0] runs first (n=1)"
    );
    assert_eq!(
        moved(&format!("{add}{get}"), first),
        "dependence-violated: add[i=0] updates out[0], get must read it afterwards; get runs first (n=1)"
    );
    assert_eq!(moved(&format!("{get}{add}"), first), "order");
}

/// The values at the end are the sums of all updates: one that is gone, or goes to another array,
/// is missed.
#[test]
fn updates_that_are_gone_or_go_elsewhere_are_missed() {
    let head = "kernel k(x: f32[n], out: f32[1], other: f32[1], y: f32[1], n: i32)\nassume 1 <= n\n\
                domain { [i] : 0 <= i < n }\n";
    let add = "out[0] += x[i] {id=add, inames=i}\n";
    let again = "out[0] += 2.0 * x[i] {id=again, inames=i}\n";
    let elsewhere = "other[0] += 2.0 * x[i] {id=again, inames=i}\n";
    let get = "y[0] = out[0] {id=get}\n";
    let beside = "other[0] += x[i] {id=beside, inames=i}\n";
    let declared = format!("{head}{add}{again}{beside}{get}");
    let of = |statements: &[&str], loops: &str| {
        let tree = format!("tree {{\nfor i {{\n{loops}}}\nget\n}}\n");
        verdict(&format!("{head}{}{tree}", statements.concat()), &declared)
    };
    assert_eq!(of(&[add, again, beside, get], "add\nagain\nbeside\n"), "order");
    assert_eq!(of(&[add, again, beside, get], "again\nbeside\nadd\n"), "order");
    let missed = of(&[add, beside, get], "add\nbeside\n");
    assert!(missed.starts_with("dependence-violated: "), "{missed}");
    let missed = of(&[add, elsewhere, beside, get], "add\nagain\nbeside\n");
    assert!(missed.starts_with("dependence-violated: "), "{missed}");
}
