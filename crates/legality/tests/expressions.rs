//! Which expressions of a transformed kernel are the declared ones: pairs that differ in one place
//! each, beside pairs that are written differently and are the same.

use loopwright_kernel_ir::LoopKernel;
use loopwright_legality::{Verdict, judge};

/// Whether a kernel with the second statement may stand for one with the first: `Err` says why not.
fn stands_for(declared: &str, transformed: &str) -> Result<(), String> {
    let kernel = |statement: &str, split: &str, inames: &str, tree: &str| {
        format!(
            "\
kernel k(x: f32[n], z: i32[n], y: f32[n], w: i32[n], n: i32, m: i32, s: f32)
assume m = 3
domain {{ [i] : 0 <= i < n }}
{split}temp a: f32 private
temp b: f32 private
temp c: i32 private
a = x[i] {{id=a, inames={inames}}}
b = 2.0 * x[i] {{id=b, inames={inames}}}
c = z[i] {{id=c, inames={inames}}}
{statement} {{id=put, inames={inames}}}
{tree}"
        )
    };
    let split = "domain { [o, r] : 0 <= r < 4 }\nlet i = 4*o + r\n";
    let text = format!(
        "{}declared {{\n{}}}\n",
        kernel(transformed, split, "o:r", "tree {\nfor o {\nfor r {\na\nb\nc\nput\n}\n}\n}\n"),
        kernel(declared, "", "i", "")
    );
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    match judge(kernel.declared(), &kernel) {
        Verdict::Proved { .. } => Ok(()),
        Verdict::Refuted(witness) => Err(witness.to_string()),
        Verdict::Unknown { reason, .. } => Err(reason),
    }
}

#[test]
fn expressions_that_differ_in_one_place_differ() {
    for (one, other) in [
        // Operators, and each operand.
        ("y[i] = a + s", "y[i] = a * s"),
        ("y[i] = a - s", "y[i] = a - 2.0"),
        ("y[i] = s - a", "y[i] = 2.0 - a"),
        ("w[i] = -c", "w[i] = ~c"),
        ("w[i] = -(c + 1)", "w[i] = -(c + 2)"),
        ("y[i] = if(a > s, a, s)", "y[i] = if(a >= s, a, s)"),
        ("y[i] = if(a > s, 1.0, s)", "y[i] = if(a > s, 2.0, s)"),
        ("y[i] = if(a > s, s, 1.0)", "y[i] = if(a > s, s, 2.0)"),
        ("y[i] = cast(f32, cast(f16, a))", "y[i] = cast(f32, cast(f64, a))"),
        ("y[i] = cast(f32, i + 1)", "y[i] = cast(f32, i + 2)"),
        ("y[i] = sin(a)", "y[i] = cos(a)"),
        ("y[i] = sin(a)", "y[i] = fast.sin(a)"),
        ("y[i] = sin(a + 1.0)", "y[i] = sin(a + 2.0)"),
        ("y[i] = fma(s, 1.0, a)", "y[i] = fma(1.0, s, a)"),
        // What is read and what is not.
        ("y[i] = a - s", "y[i] = s - a"),
        ("y[i] = x[i] - s", "y[i] = s - x[i]"),
        ("w[i] = c - i", "w[i] = i - c"),
        ("w[i] = 2*c + i", "w[i] = c + 2*i"),
        // Integers.
        ("w[i] = i", "w[i] = i + 1"),
        ("w[i] = i", "w[i] = n"),
        ("w[i] = i", "w[i] = o"),
        ("w[i] = i", "w[i] = 4*r + o"),
        ("w[i] = 7", "w[i] = 8"),
        ("w[i] = i", "w[i] = cast(i32, 7)"),
        ("w[i] = m", "w[i] = cast(i32, 4)"),
        ("w[i] = i // 2", "w[i] = i // 3"),
        ("w[i] = i // 2", "w[i] = i % 2"),
        ("w[i] = i", "w[i] = (65536*i) // 65536"),
        ("w[i] = i + 1", "w[i] = (65536*i + 65536) // 65536"),
        ("y[i] = s", "y[i] = 1.0"),
        ("y[i] = 1.0", "y[i] = 2.0"),
        // Conditions.
        ("y[i] = s if a > 0.0", "y[i] = s"),
        ("y[i] = s if a > 0.0", "y[i] = s if a >= 0.0"),
        ("y[i] = s", "y[i] = s if a > 0.0"),
    ] {
        let found = stands_for(one, other);
        let other_value = |why: &String| why.contains("computes another value");
        assert!(found.as_ref().is_err_and(other_value), "{one} | {other}: {found:?}");
    }
}

#[test]
fn expressions_that_are_the_same() {
    for (declared, transformed) in [
        ("y[i] = a - s", "y[i] = a - s"),
        ("w[i] = i", "w[i] = 4*o + r"),
        ("w[i] = 2*i + 1", "w[i] = 8*o + 2*r + 1"),
        ("w[i] = i + i", "w[i] = 2*i"),
        ("w[i] = 1 + 1", "w[i] = 2"),
        ("w[i] = i // 2", "w[i] = (4*o + r) // 2"),
        ("w[i] = m + i", "w[i] = cast(i32, 3) + i"),
        ("w[i] = if(i + 1 < n, c, -c)", "w[i] = if(1 + i < n, c, -c)"),
        ("y[i] = fma(sin(a), s, cast(f32, i))", "y[i] = fma(sin(a), s, cast(f32, 4*o + r))"),
        ("y[i] = s if a > s", "y[i] = s if a > s"),
    ] {
        assert_eq!(stands_for(declared, transformed), Ok(()), "{declared} | {transformed}");
    }
}
