//! Whether executions of two parts in different blocks meet in a cell, so that a kernel has to end
//! between them.

use loopwright_kernel_ir::LoopKernel;
use loopwright_legality::{Model, blocks_meet};

/// The array in which the first two parts meet, in either order; the blocks of `i` are counted from
/// 0, those of `j` from 2.
fn met(statements: [&str; 2], rest: &str) -> Option<String> {
    let [first, second] = statements;
    let text = format!(
        "\
kernel k(x: f32[n, 8], y: f32[n + 2, 8], z: f32[n + 2, 8], p: i32[n], q: i32[1], n: i32)
assume 1 <= n
{}domain {{ [i] : 0 <= i < n }}
domain {{ [j] : 2 <= j < n + 2 }}
domain {{ [t] : 0 <= t < 8 }}
temp own: f32[8] private
temp block: f32[8] shared
tag i: block.x
tag j: block.x
{}{first}
{second}
tree {{
{}}}
",
        rest.lines().filter(|l| l.starts_with("fact")).map(|l| format!("{l}\n")).collect::<String>(),
        rest.lines().filter(|l| l.starts_with("tag")).map(|l| format!("{l}\n")).collect::<String>(),
        if rest.contains("tag t: host") { "for t {\na\nb\n}\n" } else { "a\nb\n" },
    );
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    let model = Model::new(&kernel).unwrap();
    let found = [(0, 1), (1, 0)].map(|(p, q)| blocks_meet(&model, p, q).unwrap().map(|n| n.to_string()));
    assert_eq!(found[0], found[1], "{text}");
    found[0].clone()
}

#[test]
fn blocks_with_one_coordinate_are_one_block() {
    let write = "y[i, 0] = x[i, 0] {id=a, inames=i}";
    let met = |read: &str| met([write, &format!("z[j, 1] = {read} {{id=b, inames=j}}")], "");
    // The block of `j` is that of `i = j - 2`.
    assert_eq!(met("y[j - 2, 0]"), None);
    assert_eq!(met("y[j, 0]"), Some("y".into()));
    assert_eq!(met("y[j - 1, 0]"), Some("y".into()));
    // Other cells, or only reads.
    assert_eq!(met("y[j, 1]"), None);
    assert_eq!(met("x[0, 0]"), None);
}

#[test]
fn an_elected_part_runs_in_the_first_block() {
    let write = "y[i, 0] = x[i, 0] {id=a, inames=i}";
    let met = |read: &str| met([write, &format!("z[0, 1] = {read} {{id=b}}")], "");
    assert_eq!(met("y[0, 0]"), None);
    assert_eq!(met("y[n - 1, 0]"), Some("y".into()));
}

#[test]
fn a_replicated_part_runs_in_every_block() {
    let load = "own[0] = y[0, 0] {id=a}";
    assert_eq!(met([load, "y[j, 0] = 0.0 {id=b, inames=j}"], ""), None, "j is not 0");
    assert_eq!(met([load, "y[i, 0] = 0.0 {id=b, inames=i}"], ""), Some("y".into()));
}

#[test]
fn other_memory_than_global_is_no_meeting_place() {
    for array in ["own", "block"] {
        let (write, read) = (
            format!("{array}[0] = x[i, 0] {{id=a, inames=i}}"),
            format!("z[j, 1] = {array}[0] {{id=b, inames=j}}"),
        );
        assert_eq!(met([&write, &read], ""), None, "{array}");
    }
}

#[test]
fn rounds_of_the_host_are_apart() {
    let met = |read: &str| {
        met(
            ["y[i, t] = x[i, t] {id=a, inames=t:i}", &format!("z[j, t] = {read} {{id=b, inames=t:j}}")],
            "tag t: host",
        )
    };
    assert_eq!(met("y[j - 2, t]"), None);
    assert_eq!(met("y[j, (t + 1) % 8]"), None, "of another round");
    assert_eq!(met("y[j, t]"), Some("y".into()));
}

/// Two elements of an injective array differ, so that the blocks write different cells.
#[test]
fn facts_keep_blocks_apart() {
    let met = |facts: &str| {
        met(
            ["y[p[i], 0] = x[i, 0] {id=a, inames=i}", "z[j, 1] = y[p[j - 2], 0] {id=b, inames=j}"],
            &format!("fact 0 <= p < n\n{facts}"),
        )
    };
    assert_eq!(met("fact injective(p)"), None);
    assert_eq!(met(""), Some("y".into()));
}

/// What is known of each array that a subscript reads counts: `q[0]` is one number in all blocks.
#[test]
fn subscripts_read_several_arrays() {
    let met = |facts: &str| {
        let [write, read] = ["y[p[i] + q[0], 0]", "y[p[j - 2] + q[0], 0]"];
        met(
            [
                &format!("{write} = x[i, 0] {{id=a, inames=i}}"),
                &format!("z[j, 1] = {read} {{id=b, inames=j}}"),
            ],
            &format!("fact 0 <= p < n\nfact 0 <= q < 2\n{facts}"),
        )
    };
    assert_eq!(met("fact injective(p)"), None);
    assert_eq!(met(""), Some("y".into()));
}

/// Updates of one element commute between blocks, unless one of them is a single step in its own
/// block alone.
#[test]
fn updates_in_their_blocks_meet_those_of_others() {
    let update = |id: &str, iname: &str, element: &str, scope: &str| {
        format!("y[{element}, 0] += x[0, 0] {{id={id}, inames={iname}{scope}}}")
    };
    for (first, second, expected) in [
        ("", "", None),
        (", scope=block", "", Some("y".to_string())),
        ("", ", scope=block", Some("y".to_string())),
        (", scope=block", ", scope=block", Some("y".to_string())),
    ] {
        let (a, b) = (update("a", "i", "i", first), update("b", "j", "j - 1", second));
        assert_eq!(met([&a, &b], ""), expected, "{a} {b}");
        // The block of `j` is that of `i = j - 2`.
        let own = update("b", "j", "j - 2", second);
        assert_eq!(met([&a, &own], ""), None, "{a} {own}");
    }
}
