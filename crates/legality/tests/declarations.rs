//! What no step changes: a kernel that declares other things than the one before it is not proved,
//! whatever its executions do. A user's step may return any kernel.

use loopwright_kernel_ir::LoopKernel;
use loopwright_legality::{Verdict, judge};

fn parsed(text: &str) -> LoopKernel {
    LoopKernel::parse(text).unwrap_or_else(|d| panic!("{d}\n{text}"))
}

/// Why it is not known whether one kernel computes what another one does; empty for a proof.
fn unknown(before: &LoopKernel, after: &LoopKernel) -> String {
    match judge(before, after) {
        Verdict::Proved { .. } => String::new(),
        Verdict::Unknown { reason, .. } => reason,
        Verdict::Refuted(witness) => panic!("{witness}"),
    }
}

const LAST: &str = "\
kernel k(x: f32[m, n], y: f32[m], z: f32[m], p: i32[m], m: i32, n: i32)
assume 4 <= m and m <= n
fact 0 <= p < n
reduction last(v) {
    state s: like v = 0.0, some: bool = false
    lift s = v, some = true
    combine s = if(b.some, b.s, a.s), some = a.some or b.some
    result s
}
domain { [i] : 0 <= i < m }
domain { [j] : 0 <= j < n }
domain { [h] : 0 <= h < m }
y[i] = last(j, x[i, j]) {id=row, inames=i}
z[h] = x[h, p[h]] {id=one, inames=h}
";

/// What is to be told of [`LAST`] in a form with these changes and the loop over `h` in blocks.
fn changed(changes: &[(&str, &str)]) -> String {
    let mut text = LAST.replacen("y[i] =", "tag h: block.x\ny[i] =", 1);
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let leaves = ["row.init", "for j {", "row.update", "}", "row.finish", "}"].join("\n");
    let one = if text.contains("id=one") { "one\n" } else { "" };
    let text = format!("{text}tree {{\nfor i {{\n{leaves}\n{one}}}\ndeclared {{\n{LAST}}}\n");
    let after = parsed(&text);
    unknown(after.declared(), &after)
}

#[test]
fn operators_and_facts_stay() {
    assert_eq!(changed(&[]), "");
    let first = ("if(b.some, b.s, a.s)", "if(a.some, a.s, b.s)");
    assert_eq!(changed(&[first]), "the operator `last` differs");
    let fact = "it declares a different fact about `p`";
    for other in
        ["fact 0 <= p < m", "fact 1 <= p < n", "fact 0 <= p < n\nfact injective(p)", "fact p < n - 1"]
    {
        assert_eq!(changed(&[("fact 0 <= p < n", other)]), fact, "{other}");
    }
    // The same number under the assumptions.
    let equal = [("m <= n", "m = n"), ("fact 0 <= p < n", "fact 0 <= p < m")];
    assert_eq!(changed(&equal), "");
    let fixed = [("m <= n", "m <= n and n = 9"), ("fact 0 <= p < n", "fact 0 <= p < 9")];
    assert_eq!(changed(&fixed), "");
}

#[test]
fn arguments_stay_in_their_types_and_shapes() {
    let shape = "`x` has another shape than declared";
    assert_eq!(changed(&[("x: f32[m, n]", "x: f32[m, n + 1]")]), shape);
    assert_eq!(changed(&[("x: f32[m, n]", "x: f32[n, n]")]), shape);
    assert_eq!(changed(&[("x: f32[m, n]", "x: f32[n, m]"), ("m <= n", "m = n")]), "");
    assert_eq!(changed(&[("z: f32[m]", "z: f64[m]")]), "`z` is f64, but declared as f32");
    assert_eq!(changed(&[("n: i32)", "n: i64)")]), "`n` is i64, but declared as i32");
    let gone = "the argument `z` is gone";
    assert_eq!(changed(&[("z: f32[m], ", ""), ("z[h] = x[h, p[h]] {id=one, inames=h}\n", "")]), gone);
    assert_eq!(changed(&[("z: f32[m], ", ""), ("z[h] =", "temp z: f32[m] global\nz[h] =")]), gone);
    assert_eq!(changed(&[("n: i32)", "n: i32, a: f32)")]), "the argument `a` is not declared");
}

#[test]
fn the_declared_kernel_stays() {
    let other = LAST.replace("x[h, p[h]]", "x[0, p[h]]");
    assert_eq!(unknown(&parsed(LAST), &parsed(&other)), "it comes from another declared kernel");
}

/// A value keeps its type in temporaries: in a narrower one it would be rounded.
#[test]
fn temporaries_hold_the_declared_types() {
    let kernel = |head: &str, body: &str, tree: &str| {
        format!(
            "\
kernel k(x: f64[n], y: f64[n], n: i32)
domain {{ [i] : 0 <= i < n }}
{head}{body}y[i] = t {{id=put, inames=i}}
tree {{
{tree}}}
"
        )
    };
    let tree = "for i {\nload\nput\n}\n";
    let load = "t = x[i] {id=load, inames=i}\n";
    let declared = kernel("temp t: f64 private\n", load, tree);
    let verdict = |after: String| {
        let after = parsed(&format!("{after}declared {{\n{declared}}}\n"));
        unknown(after.declared(), &after)
    };
    let aloud = "`load` leaves its value in f32, and the declared `load` in f64";
    assert_eq!(verdict(kernel("temp t: f32 private\n", load, tree)), aloud);
    // Under another name, which only the flow of values relates to the declared one.
    let renamed = |dtype: &str| {
        kernel(&format!("temp u: {dtype} private\n"), load, tree)
            .replace("t = x[i]", "u = x[i]")
            .replace("y[i] = t", "y[i] = u")
    };
    assert_eq!(verdict(renamed("f64")), "");
    assert_eq!(verdict(renamed("f32")), aloud);
    // Through a copy.
    let copied = |dtype: &str| {
        let head = format!("temp t: f64 private\ntemp c: {dtype} private\n");
        let copy = format!("{load}c = t {{id=copy, inames=i, copies=t}}\n");
        kernel(&head, &copy, "for i {\nload\ncopy\nput\n}\n").replace("y[i] = t", "y[i] = c")
    };
    assert_eq!(verdict(copied("f64")), "");
    assert_eq!(verdict(copied("f32")), "`copy` is to copy, but converts to another type");
    // What is no copy at all is called that, whatever its type.
    let computed = copied("f64").replace("c = t {", "c = 2.0 * t {");
    assert_eq!(verdict(computed), "`copy` is to copy, but computes something");
}
