//! The premises of flattening, each violated in turn.

use loopwright_kernel_ir::{LoopKernel, Name};
use loopwright_legality::flat_nest;

const SUM: &str = "\
kernel k(x: f32[m, n], w: i32[n], offsets: i32[nseg + 1], out: f32[nseg, 4], n: i32, m: i32, nseg: i32)
assume 0 <= n and 0 <= nseg and 0 <= m
fact monotone(offsets)
fact 0 <= offsets <= n
domain { [r] : 0 <= r < m }
domain { [s] : 0 <= s < nseg }
domain { [i] : lo <= i < hi }
temp lo: i32 private
temp hi: i32 private
lo = offsets[s] {id=load_lo}
hi = offsets[s + 1] {id=load_hi}
out[s, 0] = sum(i, x[0, i]) {id=total}
";

/// The code and the message of the refusal where a piece of the text is another.
fn refused(from: &str, to: &str) -> Option<String> {
    assert!(SUM.contains(from), "{from}");
    refusal(&SUM.replace(from, to))
}

fn refusal(text: &str) -> Option<String> {
    let kernel = LoopKernel::parse(text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    flat_nest(&kernel, &Name::new("s")).err().map(|d| format!("{}: {}", d.code, d.message))
}

fn refused_for(from: &str, to: &str, why: &str) {
    let found = refused(from, to);
    assert!(
        found.as_ref().is_some_and(|d| d.starts_with("not-ragged: ") && d.contains(why)),
        "{to}: {found:?}"
    );
}

#[test]
fn the_plain_nest_is_flat() {
    assert_eq!(refused("total", "total"), None);
    assert_eq!(refused("out[s, 0]", "out[s, 3]"), None);
    assert_eq!(refused("x[0, i]", "x[0, w[i]]"), None);
}

/// The segments are all of `0 <= s < N`, whatever the parameters are.
#[test]
fn segments_are_counted_by_one_function() {
    let why = "the segments are not just `0 <= s < N`";
    for domain in [
        "0 <= s < nseg and 3 <= m",
        "0 <= s < nseg and s < m",
        "1 <= s < nseg",
        "0 <= s and 2*s < nseg",
        "0 <= s < nseg and s % 2 = 0",
    ] {
        refused_for("0 <= s < nseg }", &format!("{domain} }}"), why);
    }
}

#[test]
fn points_are_between_two_neighbours() {
    let why = "the points are not just";
    refused_for("lo <= i < hi", "lo <= i < hi and 0 <= i", why);
    refused_for("lo <= i < hi", "lo <= i <= hi - 2", why);
    refused_for("hi = offsets[s + 1]", "hi = offsets[s + 1 - 1]", why);
    refused_for("hi = offsets[s + 1] {id=load_hi}", "hi = w[s] {id=load_hi}", why);
}

#[test]
fn what_is_written_tells_the_segments_apart() {
    let why = "is not an element of global memory for each segment";
    refused_for("out[s, 0]", "out[0, 0]", why);
    refused_for("out[s, 0]", "out[s // 2, 0]", why);
    refused_for("out[s, 0] = sum(i, x[0, i]) {id=total}", "out[s - s, 0] = sum(i, x[0, i]) {id=total}", why);
    // What is added is read from data: it may be 1 for one segment and 0 for the next.
    refused_for(
        "out[s, 0] = sum(i, x[0, i]) {id=total}",
        "<i32> by = w[s] {id=load_by}\nout[s + by, 0] = sum(i, x[0, i]) {id=total}",
        why,
    );
}

#[test]
fn nothing_that_is_read_is_written() {
    refused_for("x[0, i])", "x[0, i] + out[s, 1])", "writes `out`, which the nest reads");
}

/// The scalars of the nest belong to it.
#[test]
fn scalars_are_not_read_elsewhere() {
    let more = "{id=total}\nout[r, 1] = cast(f32, lo) {id=other, inames=r}";
    let found = refused("{id=total}", more);
    assert!(found.is_some_and(|d| d.contains("`lo` is read outside of the nest")));
}

/// Each segment has one result, not one for each value of another iname.
#[test]
fn a_nest_has_no_other_axis_of_threads_or_lanes() {
    let with = |tag: &str| {
        let axis = "domain { [j] : 0 <= j < 4 }\n";
        let declared = |tag: &str| {
            SUM.replace("temp lo", &format!("{axis}{tag}temp lo"))
                .replace("out[s, 0]", "out[s, j]")
                .replace("{id=load_lo}", "{id=load_lo, inames=s}")
                .replace("{id=load_hi}", "{id=load_hi, inames=s}")
                .replace("{id=total}", "{id=total, inames=s:j}")
        };
        let tree =
            "tree {\nfor s {\nload_lo\nload_hi\ntotal.init\nfor i {\ntotal.update\n}\ntotal.finish\n}\n}\n";
        let text = declared(&format!("tag j: {tag}\n"));
        refusal(&format!("{text}{tree}declared {{\n{}}}\n", declared("")))
    };
    for tag in ["thread.x", "block.y", "ilp"] {
        let found = with(tag);
        assert!(
            found
                .as_ref()
                .is_some_and(|d| d.contains("its body has to be loads of scalars and one reduction")),
            "{tag}: {found:?}"
        );
    }
}

/// Loops of the host may be around it, whose rounds write elements of their own.
#[test]
fn a_nest_of_each_round_of_the_host_is_flat() {
    let declared = SUM
        .replace("{id=load_lo}", "{id=load_lo, inames=r:s}")
        .replace("{id=load_hi}", "{id=load_hi, inames=r:s}")
        .replace(
            "out[s, 0] = sum(i, x[0, i]) {id=total}",
            "out[s + r, 0] = sum(i, x[r, i]) {id=total, inames=r:s}",
        )
        .replace("out: f32[nseg, 4]", "out: f32[nseg + m, 4]");
    let inside = "load_lo\nload_hi\ntotal.init\nfor i {\ntotal.update\n}\ntotal.finish\n";
    let tagged = |tag: &str| {
        let text = declared.replace("temp lo", &format!("{tag}temp lo"));
        refusal(&format!(
            "{text}tree {{\nfor r {{\nfor s {{\n{inside}}}\n}}\n}}\ndeclared {{\n{declared}}}\n"
        ))
    };
    assert_eq!(tagged("tag r: host\n"), None);
    assert!(tagged("").is_some_and(|d| d.contains("the loop over `r` is around it")));
}

#[test]
fn only_global_memory_is_read() {
    let nest = |space: &str| {
        let table = format!("domain {{ [q] : 0 <= q < 4 }}\ntemp table: f32[4] {space}\n");
        let text = SUM
            .replace("temp lo", &format!("{table}temp lo"))
            .replace("lo = ", "table[q] = 1.0 {id=fill}\nlo = ")
            .replace("x[0, i])", "x[0, i] * table[0])");
        refusal(&text)
    };
    for space in ["shared", "private"] {
        let found = nest(space);
        assert!(
            found.as_ref().is_some_and(|d| d.contains("reads `table`, which is not in global memory")),
            "{found:?}"
        );
    }
    assert_eq!(nest("global"), None);
}
