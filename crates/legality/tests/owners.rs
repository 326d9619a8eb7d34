//! Cells that come to belong to one thread each: proved by order where each read sees a write of
//! its own round, and never where it does not.

use loopwright_kernel_ir::LoopKernel;
use loopwright_legality::{Basis, Verdict, judge};

fn verdict(transformed: &str, declared: &str) -> String {
    let text = format!("{transformed}declared {{\n{declared}}}\n");
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    match judge(kernel.declared(), &kernel) {
        Verdict::Proved { basis: Basis::Order, .. } => "order".into(),
        Verdict::Proved { .. } => "other proof".into(),
        _ => "no proof".into(),
    }
}

/// Each round of `i` fills a private row and reads it; `i` gets this tag. `filled` and `read` are
/// the ranges of the two inner loops, `cell` is the cell that is read.
fn row(tag: &str, filled: &str, read: &str, cell: &str) -> String {
    let kernel = |tag: &str, tree: &str| {
        format!(
            "\
kernel k(x: f32[n, 8], z: f32[n, 8], n: i32)
domain {{ [i] : 0 <= i < n and i < 16 }}
domain {{ [c] : {filled} }}
domain {{ [d] : {read} }}
temp t: f32[8] private
{tag}t[c] = x[i, c] {{id=fill, inames=i:c}}
z[i, d] = t[{cell}] {{id=read, inames=i:d}}
tree {{
{tree}}}
"
        )
    };
    let leaves = "for c {\nfill\n}\nfor d {\nread\n}\n";
    verdict(&kernel(&format!("tag i: {tag}\n"), leaves), &kernel("", &format!("for i {{\n{leaves}}}\n")))
}

#[test]
fn a_read_finds_what_its_own_round_has_written() {
    for tag in ["block.x", "thread.x", "ilp"] {
        let row = |filled: &str, read: &str, cell: &str| row(tag, filled, read, cell);
        assert_eq!(row("0 <= c < 8", "0 <= d < 8", "d"), "order", "{tag}");
        assert_eq!(row("0 <= c < 8", "0 <= d < 8", "7 - d"), "order", "{tag}");
        assert_eq!(row("0 <= c < 7 and c <= i", "0 <= d < 7 and d <= i", "d"), "order", "{tag}");
        assert_eq!(row("0 <= c < 8 and c <= i + 1", "0 <= d < 7 and d <= i", "d + 1"), "order", "{tag}");
        // What an earlier round has written is read where the own one has not.
        assert_eq!(row("0 <= c < 8 and c = i", "0 <= d < 8 and d <= i", "d"), "no proof", "{tag}");
        assert_eq!(row("0 <= c < 8 and i <= c", "0 <= d < 8", "d"), "no proof", "{tag}");
        assert_eq!(row("0 <= c < 8 and i <= 0", "0 <= d < 8", "d"), "no proof", "{tag}");
    }
}

/// Each round of `i` adds to the cells of its private row along diagonals; `i` gets this tag.
fn diagonals(tag: &str) -> String {
    let kernel = |tag: &str, tree: &str| {
        format!(
            "\
kernel k(x: f32[n, 8], z: f32[n, 8], n: i32)
domain {{ [i] : 0 <= i < n and i < 16 }}
domain {{ [c] : 0 <= c < 8 }}
domain {{ [d] : 0 <= d < 4 }}
domain {{ [e] : 0 <= e < 4 }}
domain {{ [r] : 0 <= r < 8 }}
temp t: f32[8] private
{tag}t[c] = x[i, c] {{id=fill, inames=i:c}}
t[d + e] = t[d + e] + x[i, d] {{id=add, inames=i:d:e}}
z[i, r] = t[r] {{id=read, inames=i:r}}
tree {{
{tree}}}
"
        )
    };
    let leaves = "for c {\nfill\n}\nfor d {\nfor e {\nadd\n}\n}\nfor r {\nread\n}\n";
    verdict(&kernel(&format!("tag i: {tag}\n"), leaves), &kernel("", &format!("for i {{\n{leaves}}}\n")))
}

/// Executions of different rounds come in another order, and have cells of their own.
#[test]
fn rounds_with_cells_of_their_own_may_be_exchanged() {
    for tag in ["block.x", "thread.x", "ilp"] {
        assert_eq!(diagonals(tag), "order", "{tag}");
    }
}

/// Each round of `t` begins the bins from 0 to 7 anew and counts into those that data name, of
/// which these facts are declared; the other bins are begun once.
fn bins(facts: &str) -> String {
    let kernel = |tag: &str, tree: &str| {
        format!(
            "\
kernel count(p: i32[n, 4], q: i32[n, 4], y: i32[n], n: i32)
assume 1 <= n <= 64
{facts}domain {{ [t] : 0 <= t < n }}
domain {{ [b] : 0 <= b < 8 }}
domain {{ [c] : 8 <= c < 16 }}
domain {{ [i] : 0 <= i < 4 }}
temp h: i32[16] private
{tag}h[c] = 0 {{id=once, inames=c}}
h[b] = 0 {{id=begin, inames=t:b}}
h[p[t, i]] += q[t, i] {{id=add, inames=t:i}}
y[t] = h[p[t, 0]] + q[t, 0] {{id=read, inames=t}}
tree {{
for c {{
once
}}
{tree}}}
"
        )
    };
    let leaves = "for b {\nbegin\n}\nfor i {\nadd\n}\nread\n";
    verdict(&kernel("tag t: thread.x\n", leaves), &kernel("", &format!("for t {{\n{leaves}}}\n")))
}

/// The declared range of the array that a subscript is read from says which cells that may be; that
/// of another array does not.
#[test]
fn an_element_that_data_name_is_one_of_the_declared_range() {
    assert_eq!(bins("fact 0 <= p < 8\n"), "order");
    assert_eq!(bins("fact 0 <= p < 8\nfact 0 <= q < 16\n"), "order");
    for facts in ["fact 0 <= p < 9\n", "fact 0 <= p < 16\nfact 0 <= q < 8\n"] {
        assert_eq!(bins(facts), "no proof", "{facts}");
    }
}
