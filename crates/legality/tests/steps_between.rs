//! Verdicts on one form of a kernel given another: what links executions of the two, and what
//! belongs to whom in both.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{LoopKernel, Name};
use loopwright_legality::{Basis, Verdict, agrees, judge};

fn parsed(text: &str) -> LoopKernel {
    LoopKernel::parse(text).unwrap_or_else(|d| panic!("{d}\n{text}"))
}

/// Whether the second of two forms of a declared kernel is proved, given the first.
fn proved(before: &str, after: &str, declared: &str) -> bool {
    let form = |text: &str| parsed(&format!("{text}declared {{\n{declared}}}\n"));
    matches!(judge(&form(before), &form(after)), Verdict::Proved { .. })
}

/// As [`proved`], because all conflicting accesses keep their order.
fn kept(before: &str, after: &str, declared: &str) -> bool {
    let form = |text: &str| parsed(&format!("{text}declared {{\n{declared}}}\n"));
    matches!(judge(&form(before), &form(after)), Verdict::Proved { basis: Basis::Order, .. })
}

const ADD: &str = "\
kernel k(x: f32[n, n], y: f32[n], n: i32)
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j < n }
y[i] = y[i] + x[i, j] {id=add, inames=i:j}
tree {
    for i {
        for j {
            add
        }
    }
}
";

/// The statement of [`ADD`] in other loops.
fn added(domains: &str, inames: &str) -> bool {
    let loops: Vec<&str> = inames.split(':').collect();
    let (open, close): (String, String) =
        (loops.iter().map(|n| format!("for {n} {{\n")).collect(), "}\n".repeat(loops.len()));
    let after = format!(
        "kernel k(x: f32[n, n], y: f32[n], n: i32)\n\
         {domains}\n\
         y[i] = y[i] + x[i, j] {{id=add, inames={inames}}}\n\
         tree {{\n\
         {open}add\n\
         {close}}}\n"
    );
    let kernel = parsed(&format!("{after}declared {{\n{ADD}}}\n"));
    matches!(judge(kernel.declared(), &kernel), Verdict::Proved { .. })
}

/// Every execution of the old form has one in the new form, and only one.
#[test]
fn executions_are_linked_one_to_one() {
    let (i, j) = ("domain { [i] : 0 <= i < n }\n", "domain { [j] : 0 <= j < n }\n");
    assert!(added(&format!("{i}{j}"), "i:j"));
    assert!(added(&format!("{i}domain {{ [r] : 0 <= r < n }}\ndomain {{ [j] }}\nlet j = r"), "i:r"));
    // Four times each.
    assert!(!added(&format!("{i}{j}domain {{ [r] : 0 <= r < 4 }}"), "i:j:r"));
    // The diagonal only, and all but the last of each row.
    assert!(!added(&format!("{i}domain {{ [j] }}\nlet j = i"), "i"));
    assert!(!added(&format!("{i}domain {{ [j] : 0 <= j < n - 1 }}"), "i:j"));
}

/// Lanes of one thread write one after the other, and threads in any order; no loop tells them
/// apart.
#[test]
fn lanes_that_become_threads_lose_their_order() {
    let declared = "kernel k(x: f32[8], y: f32[1])\ndomain { [i] : 0 <= i < 8 }\ny[0] = x[i] {id=last}\n";
    let on = |tag: &str| {
        format!(
            "kernel k(x: f32[8], y: f32[1])\n\
             domain {{ [i] : 0 <= i < 8 }}\n\
             tag i: {tag}\n\
             y[0] = x[i] {{id=last, inames=i}}\n\
             tree {{\n    last\n\
             }}\n"
        )
    };
    assert!(proved(declared, &on("ilp"), declared));
    assert!(!proved(&on("ilp"), &on("thread.x"), declared));
    assert!(!proved(&on("ilp"), &on("block.x"), declared));
}

/// A private cell belongs to the thread with its coordinate, which is counted from the least value
/// of the iname on the axis: the value that `i = 8` loads is stored by `j = 0`.
#[test]
fn threads_are_counted_from_the_least_value() {
    let declared = "\
kernel k(x: f32[16], y: f32[16])
domain { [i] : 8 <= i < 16 }
domain { [j] : 0 <= j < 8 }
temp t: f32[8]
t[i - 8] = x[i] {id=load}
y[j] = t[j] {id=store}
";
    let threads = |leaves: &str| {
        format!(
            "\
kernel k(x: f32[16], y: f32[16])
domain {{ [i] : 8 <= i < 16 }}
domain {{ [j] : 0 <= j < 8 }}
temp t: f32 private
tag i: thread.x
tag j: thread.x
t = x[i] {{id=load, inames=i}}
y[j] = t {{id=store, inames=j}}
tree {{
{leaves}}}
"
        )
    };
    assert!(proved(&threads("load\nstore\n"), &threads("load\nstore\n"), declared));
    assert!(!proved(&threads("load\nstore\n"), &threads("store\nload\n"), declared));
}

/// `load` fills a private cell or row, `store` reads it; what passes from one round of `i` to the
/// next is lost where each round has its own.
fn own_row(load: &str, store: &str) -> bool {
    let kernel = |tag: &str, tree: &str| {
        format!(
            "kernel k(x: f32[n], z: f32[n], n: i32)\n\
             assume 1 <= n\n\
             domain {{ [i] : 0 <= i < n }}\n\
             {tag}temp t: f32[2] private\n\
             {load} {{id=load, inames=i}}\n\
             {store} {{id=store, inames=i}}\n\
             tree {{\n\
             {tree}}}\n"
        )
    };
    let declared = kernel("", "for i {\nload\nstore\n}\n");
    proved(&declared, &kernel("tag i: block.x\n", "load\nstore\n"), &declared)
}

#[test]
fn what_passes_between_rounds_needs_a_common_cell() {
    assert!(own_row("t[i % 2] = x[i]", "z[i] = t[i % 2]"));
    // The value of the round before.
    assert!(!own_row("t[i % 2] = x[i]", "z[i] = t[(i + 1) % 2] if i >= 1"));
    // A round that loads nothing reads what an earlier one has loaded.
    assert!(!own_row("t[0] = x[i] if x[i] > 0.0", "z[i] = t[0]"));
}

/// A write whose value is the same everywhere may go before another one, not before a read.
#[test]
fn what_reads_its_condition_keeps_its_place() {
    let declared = "kernel k(x: f32[65])\n\
                    domain { [i] : 0 <= i < 64 }\n\
                    x[i] = 0.0 if x[i + 1] > 1.0 {id=clear}\n";
    let after = "kernel k(x: f32[65])\n\
                 domain { [r] : 0 <= r < 64 }\n\
                 domain { [i] }\n\
                 let i = 63 - r\n\
                 x[i] = 0.0 if x[i + 1] > 1.0 {id=clear, inames=r}\n\
                 tree {\n\
                 for r {\n\
                 clear\n\
                 }\n\
                 }\n";
    assert!(!proved(declared, after, declared));
}

/// A private cell that lanes write has a copy for each of them, and none outside of them.
#[test]
fn what_lanes_write_is_read_in_the_lanes() {
    let kernel = |tag: &str, tree: &str| {
        format!(
            "kernel k(x: f32[8], y: f32[1])\n\
             domain {{ [i] : 0 <= i < 8 }}\n\
             {tag}temp t: f32 private\n\
             t = x[i] {{id=load, inames=i}}\n\
             y[0] = t {{id=store}}\n\
             tree {{\n\
             {tree}}}\n"
        )
    };
    let declared = kernel("", "for i {\nload\n}\nstore\n");
    assert!(!proved(&declared, &kernel("tag i: ilp\n", "load\nstore\n"), &declared));
}

/// Each round reads its own `p[0]`, which is no constant: the element that one round writes is the
/// one that the next reads, though `p[0]` and `p[0] + 1` differ. Two rounds write different rows.
#[test]
fn elements_that_are_written_are_no_constants() {
    let kernel = |read: &str, tag: &str, tree: &str| {
        format!(
            "kernel k(y: f32[n + 1, n + 1], n: i32)\n\
             assume 2 <= n\n\
             domain {{ [t] : 0 <= t < n }}\n\
             {tag}temp p: i32[1] private\n\
             p[0] = t {{id=set, inames=t}}\n\
             y[t + 1, p[0] + 1] = y[{read}] {{id=move, inames=t}}\n\
             tree {{\n\
             {tree}}}\n"
        )
    };
    let blocks = |read: &str| {
        let declared = kernel(read, "", "for t {\nset\nmove\n}\n");
        proved(&declared, &kernel(read, "tag t: block.x\n", "set\nmove\n"), &declared)
    };
    assert!(blocks("t + 1, p[0]"));
    assert!(!blocks("t, p[0]"));
}

/// Threads run the first statement for all values before the second; a loop around both runs them
/// in turns.
#[test]
fn threads_that_become_one_loop_take_turns() {
    let kernel = |read: &str, head: &str, tree: &str| {
        format!(
            "kernel k(x: f32[64], y: f32[65], z: f32[64])\n\
             domain {{ [i] : 0 <= i < 64 }}\n\
             {head}y[i] = x[i] {{id=first, inames=i}}\n\
             z[j] = y[{read}] {{id=second, inames=j}}\n\
             tree {{\n\
             {tree}}}\n"
        )
    };
    let looped = |read: &str| {
        let declared =
            kernel(read, "domain { [j] : 0 <= j < 64 }\n", "for i {\nfirst\n}\nfor j {\nsecond\n}\n");
        let one = |tag: &str, tree: &str| {
            kernel(read, &format!("domain {{ [j] }}\nlet j = i\n{tag}"), tree).replace("inames=j", "inames=i")
        };
        let threads = one("tag i: thread.x\n", "first\nsecond\n");
        assert!(proved(&declared, &threads, &declared), "{read}");
        kept(&threads, &one("", "for i {\nfirst\nsecond\n}\n"), &declared)
    };
    assert!(looped("j"));
    assert!(!looped("j + 1"));
}

/// A cell that belongs to one block or lane for each `j` comes to belong to one for each `i` too.
#[test]
fn what_has_owners_gets_more() {
    let kernel = |tags: &str, tree: &str| {
        format!(
            "kernel k(x: f32[n, 8], z: f32[n, 8], n: i32)\n\
             domain {{ [i] : 0 <= i < n }}\n\
             domain {{ [j] : 0 <= j < 8 }}\n\
             {tags}temp t: f32 private\n\
             t = x[i, j] {{id=load, inames=i:j}}\n\
             z[i, j] = t {{id=store, inames=i:j}}\n\
             tree {{\n\
             {tree}}}\n"
        )
    };
    let declared = kernel("", "for i {\nfor j {\nload\nstore\n}\n}\n");
    for (one, other) in [("block.x", "block.y"), ("ilp", "block.x"), ("block.x", "ilp")] {
        let before = kernel(&format!("tag j: {one}\n"), "for i {\nload\nstore\n}\n");
        let after = kernel(&format!("tag j: {one}\ntag i: {other}\n"), "load\nstore\n");
        assert!(kept(&declared, &before, &declared), "{one}");
        assert!(kept(&before, &after, &declared), "{one}, {other}");
    }
}

/// Reads of one element, and points that are added to one sum, may change their order.
#[test]
fn reads_and_points_of_sums_have_no_order() {
    let kernel = |tree: &str| {
        format!(
            "kernel k(x: f32[n, n], c: f32[1], y: f32[n, n], out: f32[1], n: i32)\n\
             domain {{ [i] : 0 <= i < n }}\n\
             domain {{ [j] : 0 <= j < n }}\n\
             domain {{ [k, l] : 0 <= k < n and 0 <= l < n }}\n\
             c[0] = 2.0 {{id=set}}\n\
             y[i, j] = c[0] {{id=read, inames=i:j}}\n\
             out[0] = sum([k, l], x[k, l]) {{id=add}}\n\
             tree {{\n\
             set\n\
             {tree}}}\n"
        )
    };
    let forms = |[outer, inner]: [&str; 2], [one, two]: [&str; 2]| {
        kernel(&format!(
            "for {outer} {{\n\
             for {inner} {{\n\
             read\n\
             }}\n\
             }}\n\
             add.init\n\
             for {one} {{\n\
             for {two} {{\n\
             add.update\n\
             }}\n\
             }}\n\
             add.finish\n"
        ))
    };
    let declared = forms(["i", "j"], ["k", "l"]);
    assert!(kept(&declared, &forms(["j", "i"], ["k", "l"]), &declared), "reads");
    assert!(kept(&declared, &forms(["i", "j"], ["l", "k"]), &declared), "points");
}

/// The same subscript of another array is another element.
#[test]
fn another_array_is_another_operand() {
    let kernel = |read: &str| {
        format!(
            "kernel k(x: f32[n], z: f32[n], y: f32[n], n: i32)\n\
             domain {{ [i] : 0 <= i < n }}\n\
             y[i] = {read} {{id=put}}\n"
        )
    };
    let declared = kernel("x[i]");
    let form =
        |read: &str| kernel(read).replace("{id=put}", "{id=put, inames=i}") + "tree {\nfor i {\nput\n}\n}\n";
    assert!(proved(&form("x[i]"), &form("x[i]"), &declared));
    assert!(!proved(&form("x[i]"), &form("z[i]"), &declared));
}

/// A statement that is gone leaves what it wrote as it was.
#[test]
fn what_is_left_out_is_missed() {
    let head = "kernel k(x: f32[n], y: f32[n], z: f32[n], n: i32)\n\
                assume 1 <= n\n\
                domain { [i] : 0 <= i < n }\n";
    let first = "y[i] = x[i] {id=first, inames=i}\n";
    let both = format!(
        "{head}{first}z[i] = 2.0*x[i] {{id=second, inames=i}}\n\
         tree {{\n\
         for i {{\n\
         first\n\
         second\n\
         }}\n\
         }}\n"
    );
    let one = format!("{head}{first}tree {{\nfor i {{\nfirst\n}}\n}}\n");
    assert!(proved(&both, &both, &both));
    assert!(!proved(&both, &one, &both));
}

/// Two instructions that change their names change their places too: the last one to write stays.
#[test]
fn an_instruction_is_what_it_does() {
    let declared = "kernel k(x: f32[n], y: f32[n], n: i32)\n\
                    domain { [i] : 0 <= i < n }\n\
                    y[i] = x[i] {id=plain}\n\
                    y[i] = x[i] * 2.0 {id=twice}\n";
    let form = |[one, other]: [&str; 2], tree: &str| {
        format!(
            "kernel k(x: f32[n], y: f32[n], n: i32)\n\
             domain {{ [i] : 0 <= i < n }}\n\
             y[i] = x[i] {{id={one}, does=plain, inames=i}}\n\
             y[i] = x[i] * 2.0 {{id={other}, does=twice, inames=i}}\n\
             tree {{\n\
             for i {{\n\
             {tree}}}\n\
             }}\n"
        )
    };
    let before = form(["p", "q"], "p\nq\n");
    assert!(proved(declared, &before, declared));
    assert!(kept(&before, &form(["r", "s"], "r\ns\n"), declared), "other names");
    assert!(kept(&before, &form(["q", "p"], "q\np\n"), declared), "each other's names");
    assert!(!proved(&before, &form(["q", "p"], "p\nq\n"), declared), "each other's places");
}

/// A copy is known by its name and its source.
#[test]
fn copies_are_linked_by_name() {
    let kernel = |outer: &str, inner: &str| {
        format!(
            "kernel k(x: f32[8, 8], y: f32[8, 8])\n\
             domain {{ [i, j] : 0 <= i < 8 and 0 <= j < 8 }}\n\
             domain {{ [c, d] : 0 <= c < 8 and 0 <= d < 8 }}\n\
             temp t: f32[8, 8]\n\
             t[c, d] = x[c, d] {{id=fetch, inames=c:d, copies=x}}\n\
             y[i, j] = t[i, j] {{id=put, inames=i:j}}\n\
             tree {{\n\
             for {outer} {{\n\
             for {inner} {{\n\
             fetch\n\
             }}\n\
             }}\n\
             for i {{\n\
             for j {{\n\
             put\n\
             }}\n\
             }}\n\
             }}\n"
        )
    };
    let declared = "kernel k(x: f32[8, 8], y: f32[8, 8])\n\
                    domain { [i, j] : 0 <= i < 8 and 0 <= j < 8 }\n\
                    y[i, j] = x[i, j] {id=put}\n";
    assert!(kept(&kernel("c", "d"), &kernel("d", "c"), declared));
}

/// Partial results that are kept per lane of `o` are no partial results per round of `r`: with
/// these, `i = 4*o + r` takes its values in another order, which the operator can tell.
#[test]
fn partial_results_of_other_points_are_others() {
    let kernel = |value: &str, rest: &str| {
        format!(
            "\
kernel k(x: f32[4, 16], y: f32[4])
reduction last(v) {{
    state seen: bool = false, value: like v = 0.0
    lift seen = true, value = v
    combine seen = a.seen or b.seen, value = if(b.seen, b.value, a.value)
    result value
}}
domain {{ [s] : 0 <= s < 4 }}
{rest}y[s] = {value} {{id=get, inames=s}}
"
        )
    };
    let declared = kernel("last(i, x[s, i])", "domain { [i] : 0 <= i < 16 }\n");
    let split = |head: &str, [outer, inner]: [&str; 2], body: &str| {
        let head = format!(
            "domain {{ [o, r] : 0 <= o < 4 and 0 <= r < 4 }}\n\
             domain {{ [i] }}\n\
             {head}let i = 4*o + r\n"
        );
        let form = kernel(&format!("last({outer}, last({inner}, x[s, i]))"), &head);
        format!("{form}tree {{\nfor s {{\nget.init1\n{body}get.finish\n}}\n}}\n")
    };
    let nest = |outer: &str, inner: &str| {
        format!("for {outer} {{\nget.init\nfor {inner} {{\nget.update\n}}\nget.update1\n}}\n")
    };
    let lanes = split("tag o: ilp\n", ["o", "r"], "get.init\nfor r {\nget.update\n}\nget.update1\n");
    let loops = split("", ["o", "r"], &nest("o", "r"));
    assert!(kept(&loops, &lanes, &declared) && kept(&lanes, &loops, &declared));
    assert!(!proved(&lanes, &split("", ["r", "o"], &nest("r", "o")), &declared));
}

/// Rows are summed backwards: a row is a function of the round and of a parameter.
#[test]
fn sums_of_rows_change_places() {
    let kernel = |head: &str, row: &str| {
        format!(
            "kernel k(x: f32[n, 8], y: f32[n], n: i32)\n\
             {head}domain {{ [j] : 0 <= j < 8 }}\n\
             y[i] = sum(j, x[i, j]) {{id=add, inames={row}}}\n\
             tree {{\n\
             for {row} {{\n\
             add.init\n\
             for j {{\n\
             add.update\n\
             }}\n\
             add.finish\n\
             }}\n\
             }}\n"
        )
    };
    let declared = kernel("domain { [i] : 0 <= i < n }\n", "i");
    let after = kernel("domain { [r] : 0 <= r < n }\ndomain { [i] }\nlet i = n - 1 - r\n", "r");
    assert!(kept(&declared, &after, &declared));
}

/// The second of two statements runs over the transposed pairs, so that it reads some elements
/// before the first has written them.
#[test]
fn two_loops_that_change_roles_are_not_one() {
    let declared = "kernel k(x: f32[n, n], y: f32[n, n], z: f32[n, n], n: i32)\n\
                    assume 2 <= n\n\
                    domain { [i] : 0 <= i < n }\n\
                    domain { [j] : 0 <= j < n }\n\
                    y[i, j] = x[i, j] {id=put, inames=i:j}\n\
                    z[i, j] = y[i, j] {id=get, inames=i:j}\n\
                    tree {\n\
                    for i {\n\
                    for j {\n\
                    put\n\
                    get\n\
                    }\n\
                    }\n\
                    }\n";
    let renamed = |get: &str, inames: &str, map: &str| {
        format!(
            "kernel k(x: f32[n, n], y: f32[n, n], z: f32[n, n], n: i32)\n\
             assume 2 <= n\n\
             domain {{ [a] : 0 <= a < n }}\n\
             domain {{ [b] : 0 <= b < n }}\n\
             y[a, b] = x[a, b] {{id=put, inames=a:b, map=[i: a, j: b]}}\n\
             z[{get}] = y[{get}] {{id=get, inames={inames}, map=[{map}]}}\n\
             tree {{\n\
             for a {{\n\
             for b {{\n\
             put\n\
             get\n\
             }}\n\
             }}\n\
             }}\n"
        )
    };
    assert!(kept(declared, &renamed("a, b", "a:b", "i: a, j: b"), declared));
    assert!(!proved(declared, &renamed("b, a", "b:a", "i: b, j: a"), declared));
}

/// A scalar belongs to each lane in which it is written: what is written outside of the lanes is
/// seen in none of them, in no form. An array that is touched outside of the lanes belongs to all.
#[test]
fn what_is_written_outside_of_the_lanes_is_no_value_of_a_single_one() {
    let kernel = |tags: &str, shape: &str, [outside, inside]: [&str; 2], tree: &str| {
        format!(
            "kernel k(x: f32[n], a: f32[n, 8], z: f32[n, 8], n: i32)\n\
             domain {{ [j] : 0 <= j < n and j < 16 }}\n\
             domain {{ [i] : 0 <= i < 8 }}\n\
             {tags}temp t: f32{shape} private\n\
             t{outside} = x[j] {{id=start, inames=j}}\n\
             z[j, i] = t{outside} {{id=read, inames=j:i}}\n\
             t{inside} = a[j, i] {{id=fill, inames=j:i}}\n\
             tree {{\n\
             {tree}}}\n"
        )
    };
    for (shape, cells, shared) in [("", ["", ""], false), ("[2]", ["[0]", "[1]"], true)] {
        let declared = kernel("", shape, cells, "for j {\nstart\nfor i {\nread\nfill\n}\n}\n");
        let before = kernel("tag i: ilp\n", shape, cells, "for j {\nstart\nread\nfill\n}\n");
        for tag in ["thread.x", "block.x"] {
            let tags = format!("tag i: ilp\ntag j: {tag}\n");
            let after = kernel(&tags, shape, cells, "start\nread\nfill\n");
            let replayed = parsed(&format!("{after}declared {{\n{declared}}}\n"));
            let found = agrees(&replayed, &BTreeMap::from([(Name::new("n"), 3)])).unwrap();
            assert_eq!(found.is_none(), shared, "t{shape}, {tag}: {found:?}");
            assert_eq!(proved(&declared, &before, &declared), shared, "t{shape}, {tag}");
            assert_eq!(proved(&before, &after, &declared), shared, "t{shape}, {tag}");
        }
    }
}
