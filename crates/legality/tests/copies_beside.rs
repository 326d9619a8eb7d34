//! Copies that are made in blocks counted by another iname than those that read them, and copies
//! that go to and fro.

use crate::common;

use common::judged;
use loopwright_kernel_ir::LoopKernel;
use loopwright_legality::{Basis, Verdict, judge};

/// The verdict on a kernel whose blocks `c` of this range copy a tile, which blocks `b` read.
fn in_blocks(copying: &str, source: &str) -> String {
    let kernel = |domains: &str, statements: &str, tree: &str| {
        format!(
            "\
kernel k(x: f32[16, 16], y: f32[8, 16])
domain {{ [b] : 0 <= b < 8 }}
domain {{ [u] : 0 <= u < 16 }}
{domains}{statements}{tree}"
        )
    };
    let row = if source.contains('c') { "b" } else { source };
    let declared = kernel("", &format!("y[b, u] = x[{row}, 15 - u] {{id=put, inames=b:u}}\n"), "");
    let after = kernel(
        &format!(
            "domain {{ [c] : {copying} }}\n\
             domain {{ [t] : 0 <= t < 16 }}\n\
             temp tile: f32[16] shared\n\
             tag b: block.x\n\
             tag c: block.x\n"
        ),
        &format!(
            "tile[t] = x[{source}, t] {{id=fetch, inames=c:t, copies=x}}\n\
             y[b, u] = tile[15 - u] {{id=put, inames=b:u}}\n"
        ),
        "tree {\nfor t {\nfetch\n}\nfor u {\nput\n}\n}\n",
    );
    judged(&after, &declared)
}

/// A block has the number of `c` and of `b`, each counted from its least value.
#[test]
fn only_blocks_that_copy_have_a_copy() {
    for all in ["0 <= c < 8", "0 <= c < 12", "3 <= c < 11"] {
        assert_eq!(in_blocks(all, "3"), "flow", "{all}");
    }
    // The last blocks, which copy nothing, read as the others do.
    for some in ["0 <= c < 4", "3 <= c < 10"] {
        assert_eq!(in_blocks(some, "3"), "refuted", "{some}");
    }
    assert_eq!(in_blocks("3 <= c < 11", "c - 3"), "flow");
    assert_eq!(in_blocks("3 <= c < 11", "c"), "refuted");
}

/// Two buffers are copied into each other, so that each copy has copies before it: how often is not
/// followed to the end.
#[test]
fn copies_to_and_fro_are_not_followed() {
    let kernel = |domains: &str, statements: &str, source: &str, tree: &str| {
        format!(
            "\
kernel k(x: f32[n], y: f32[n], n: i32)
assume 1 <= n
domain {{ [l] : 0 <= l < n }}
{domains}{statements}y[l] = {source}[l] {{id=out, inames=l}}
{tree}"
        )
    };
    let after = kernel(
        "domain { [t] : 0 <= t < 3 }\n\
         domain { [h] : 0 <= h < n }\n\
         domain { [i] : 0 <= i < n }\n\
         domain { [j] : 0 <= j < n }\n\
         temp a: f32[n] global\n\
         temp b: f32[n] global\n",
        "a[h] = x[h] {id=fill, inames=h, copies=x}\n\
         b[i] = a[i] {id=there, inames=t:i, copies=a}\n\
         a[j] = b[j] {id=back, inames=t:j, copies=b}\n",
        "a",
        "tree {\nfor h {\nfill\n}\nfor t {\nfor i {\nthere\n}\nfor j {\nback\n}\n}\nfor l {\nout\n}\n}\n",
    );
    assert_eq!(judged(&after, &kernel("", "", "x", "")), "unknown");
}

/// A step that copies one array asks nothing about the copies of another, whose ranges data decide.
#[test]
fn copies_that_stay_are_not_asked_about() {
    let head = "\
kernel k(x: f32[n], w: f32[n], p: i32[m + 1], y: f32[n], z: f32[n], n: i32, m: i32)
assume 1 <= n and 1 <= m
fact 0 <= p <= n
domain { [s] : 0 <= s < m }
domain { [j] : lo <= j < hi }
domain { [h] : 0 <= h < n }
temp lo: i32 private
temp hi: i32 private
";
    let loads = "lo = p[s] {id=begin, inames=s}\nhi = p[s + 1] {id=end, inames=s}\n";
    let declared = format!(
        "{head}{loads}y[j] = x[j] {{id=put, inames=s:j}}\nz[h] = 2.0 * w[h] {{id=twice, inames=h}}\n"
    );
    let form = |beside: &str, copy: &str, source: &str, tree: &str| {
        let text = format!(
            "\
{head}domain {{ [q] : lo <= q < hi }}
temp t: f32[n] global
{beside}{loads}t[q] = x[q] {{id=copy, inames=s:q, copies=x}}
y[j] = t[j] {{id=put, inames=s:j}}
{copy}z[h] = 2.0 * {source}[h] {{id=twice, inames=h}}
tree {{
for s {{
begin
end
for q {{
copy
}}
for j {{
put
}}
}}
{tree}for h {{
twice
}}
}}
declared {{
{declared}}}
"
        );
        LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"))
    };
    let before = form("", "", "w", "");
    let copied = |subscript: &str| {
        let after = form(
            "domain { [g] : 0 <= g < n }\ntemp u: f32[n] global\n",
            &format!("u[g] = w[{subscript}] {{id=fetch, inames=g, copies=w}}\n"),
            "u",
            "for g {\nfetch\n}\n",
        );
        judge(&before, &after)
    };
    assert!(matches!(copied("g"), Verdict::Proved { basis: Basis::Flow, .. }));
    assert!(!matches!(copied("n - 1 - g"), Verdict::Proved { .. }));
}
