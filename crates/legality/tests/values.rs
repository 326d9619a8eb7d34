//! Writes that leave one value may change places; those that may leave two may not.

use crate::common;

use common::{is_proved, judged};
use loopwright_kernel_ir::LoopKernel;
use loopwright_legality::{Verdict, judge};

const HEAD: &str = "\
kernel k(x: f32[n + m], p: i32[n], y: f32[n + m], z: f32[n], n: i32, m: i32, s: f32)
assume 1 <= n and n <= m
fact 0 <= p < n
";

/// The verdict on a kernel whose loops run otherwise.
fn verdict(body: &str, was: &str, is: &str) -> String {
    judged(&format!("{HEAD}{body}tree {{\n{is}}}\n"), &format!("{HEAD}{body}tree {{\n{was}}}\n"))
}

/// The two loops around one statement change places: of several writes of a cell, another one is
/// the last.
fn turned(statement: &str) -> String {
    let body =
        format!("domain {{ [i, j] : 0 <= i < n and 0 <= j < m }}\n{statement} {{id=put, inames=i:j}}\n");
    let tree = |a: &str, b: &str| format!("for {a} {{\nfor {b} {{\nput\n}}\n}}\n");
    verdict(&body, &tree("i", "j"), &tree("j", "i"))
}

#[test]
fn writes_of_one_value_change_places() {
    for same in [
        "y[i + j] = x[i + j]",
        "y[i + j] = s * x[i + j + 0] + 1.0",
        "y[i + j] = s",
        "y[0] = 2.0",
        "y[i + j] = if(x[i + j] > s, x[i + j], -s)",
    ] {
        assert_eq!(turned(same), "order", "{same}");
    }
    for other in [
        "y[i + j] = x[i]",
        "y[i + j] = x[j]",
        "y[i + j] = cast(f32, i)",
        "y[i + j] = x[i + j] + cast(f32, j)",
        "y[i + j] = if(x[i + j] > s, x[i], -s)",
    ] {
        assert_eq!(turned(other), "refuted", "{other}");
    }
    // What is read is written.
    assert!(!is_proved(&turned("y[i + j] = y[0] + 1.0")));
}

/// Sums, differences and multiples of integers that depend on data have the same value where they
/// are the same linear form. No witness says otherwise, though nothing proves it.
#[test]
fn values_that_are_one_linear_form_do_not_refute() {
    for same in ["p[0] + i - i", "(p[0] + i)*2 - 2*i - p[0]", "i*p[0] - p[0]*i", "-(i - p[0]) + i"] {
        assert_eq!(turned(&format!("y[i + j] = cast(f32, {same})")), "unknown", "{same}");
    }
    for other in ["p[0] + i", "(p[0] + i)*2 - i - p[0]", "i*p[0] + p[0]*i", "-(i - p[0]) - i"] {
        assert_eq!(turned(&format!("y[i + j] = cast(f32, {other})")), "refuted", "{other}");
    }
    // Floating-point sums are rounded.
    assert_eq!(turned("y[i + j] = x[0] + cast(f32, i) - cast(f32, i)"), "refuted");
}

/// Two statements write to the same cells, and change places.
fn swapped(first: &str, second: &str) -> String {
    let body = format!(
        "domain {{ [i] : 0 <= i < n }}\n\
         domain {{ [j] : 0 <= j < n }}\n\
         {first} {{id=first, inames=i}}\n\
         {second} {{id=second, inames=j}}\n"
    );
    let tree = |a: &str, b: &str| format!("for {a}\n{b}\n");
    let (one, two) = (tree("i {", "first\n}"), tree("j {", "second\n}"));
    verdict(&body, &format!("{one}{two}"), &format!("{two}{one}"))
}

#[test]
fn statements_of_one_value_change_places() {
    assert_eq!(swapped("y[i] = 0.0", "y[j] = 0.0"), "order");
    assert_eq!(swapped("y[i] = 0.0", "y[j] = 1.0"), "refuted");
    assert_eq!(swapped("y[i] = x[i]", "y[j] = x[j]"), "order");
    assert_eq!(swapped("y[i] = x[i]", "y[j] = x[j + 1]"), "refuted");
    assert_eq!(swapped("y[i] = x[i + 1]", "y[j] = x[j]"), "refuted");
    assert_eq!(swapped("y[i + 1] = x[i]", "y[j] = x[j]"), "refuted");
}

/// What changes no number of the type may be written or not.
#[test]
fn one_number_has_many_forms() {
    for (first, second) in [
        ("x[i]", "1.0*x[j]"),
        ("x[i]", "x[j]*1.0/1.0 - 0.0"),
        ("x[i]", "cast(f32, cast(f64, x[j]))"),
        ("s*x[i] + 2.0", "2.0 + x[j]*s"),
        ("min(x[i], s)", "min(s, x[j])"),
        ("if(x[i] > s, x[i], s)", "if(s < x[j], 1.0*x[j], s)"),
        ("cast(f32, p[i])", "cast(f32, (p[j]*1 + 0)//1)"),
        ("cast(f32, p[i] ^ 5)", "cast(f32, 5 ^ p[j])"),
        ("cast(f32, i + 1)", "cast(f32, 1 + j)"),
    ] {
        let verdict = swapped(&format!("y[i] = {first}"), &format!("y[j] = {second}"));
        assert_eq!(verdict, "order", "{first}, {second}");
    }
    for (first, second) in [
        ("x[i]", "-1.0*x[j]"),
        ("x[i]", "2.0*x[j]"),
        ("x[i]", "cast(f32, cast(f16, x[j]))"),
        ("x[i] - s", "s - x[j]"),
        ("x[i]/s", "s/x[j]"),
        ("x[i] + s + 0.1", "x[j] + (s + 0.1)"),
        ("if(x[i] < s, x[i], s)", "if(s < x[j], x[j], s)"),
        ("cast(f32, p[i])", "cast(f32, p[j] - 1)"),
        ("cast(f32, p[i] << 1)", "cast(f32, 1 << p[j])"),
    ] {
        let verdict = swapped(&format!("y[i] = {first}"), &format!("y[j] = {second}"));
        assert_eq!(verdict, "refuted", "{first}, {second}");
    }
    // The sum with a positive zero is one, where the number is a negative zero.
    assert!(!is_proved(&swapped("y[i] = x[i]", "y[j] = x[j] + 0.0")));
    assert!(!is_proved(&swapped("y[i] = x[i]", "y[j] = 0.0 + x[j]")));
}

/// One of two loops runs backwards: the last value of a cell is that of its first round, which is
/// the same one if it comes from the other loop.
#[test]
fn values_of_one_loop_are_not_those_of_another() {
    let turned = |statement: &str| {
        let kernel = |reversed: &str, iname: &str| {
            format!(
                "{HEAD}domain {{ [i] : 0 <= i < n }}\n\
                 domain {{ [j] : 0 <= j < m }}\n\
                 {reversed}{statement} {{id=put, inames=i:{iname}}}\n\
                 tree {{\nfor i {{\nfor {iname} {{\nput\n}}\n}}\n}}\n"
            )
        };
        let reversed = kernel("domain { [r] : 0 <= r < m }\ndomain { [j] }\nlet j = m - 1 - r\n", "r")
            .replacen("domain { [j] : 0 <= j < m }\n", "", 1);
        judged(&reversed, &kernel("", "j"))
    };
    assert_eq!(turned("y[i] = x[j]"), "refuted");
    assert_eq!(turned("y[i] = x[i + j]"), "refuted");
    assert_eq!(turned("y[i] = x[i]"), "order");
    assert_eq!(turned("y[i] = x[i] + s"), "order");
}

/// That two values are equal is two queries, one for each that may be the greater one.
#[test]
fn comparisons_of_values_are_counted() {
    let queries = |first: &str, second: &str| {
        let kernel = |leaves: &str| {
            format!(
                "{HEAD}domain {{ [i] : 0 <= i < n }}\n\
                 domain {{ [j] : 0 <= j < n }}\n\
                 {first} {{id=first, inames=i}}\n\
                 {second} {{id=second, inames=j}}\n\
                 tree {{\n{leaves}}}\n"
            )
        };
        let (one, two) = ("for i {\nfirst\n}\n", "for j {\nsecond\n}\n");
        let (declared, after) = (kernel(&format!("{one}{two}")), kernel(&format!("{two}{one}")));
        let kernel = LoopKernel::parse(&format!("{after}declared {{\n{declared}}}\n")).unwrap();
        match judge(kernel.declared(), &kernel) {
            Verdict::Proved { queries, .. } => queries,
            verdict => panic!("{verdict}"),
        }
    };
    assert_eq!(queries("y[i] = x[i]", "y[j] = x[j]"), queries("y[i] = 0.0", "y[j] = 0.0") + 2);
}

/// The verdict on a loop that loads `t` from `p` and then does this, from the last round to the
/// first.
fn backwards(fact: &str, statement: &str) -> String {
    let kernel = |reversed: &str, iname: &str| {
        format!(
            "\
{HEAD}{fact}domain {{ [i] : 0 <= i < n }}
{reversed}temp t: i32 private
t = p[i] {{id=load, inames={iname}}}
{statement} {{id=put, inames={iname}}}
tree {{
for {iname} {{
load
put
}}
}}
"
        )
    };
    judged(&kernel("domain { [r] }\nlet i = n - 1 - r\n", "r"), &kernel("", "i"))
}

/// A subscript that is read from data has another value in each round, whatever it is called; what
/// is declared of the data says which rounds touch one cell.
#[test]
fn a_subscript_from_data_is_not_one_value() {
    let injective = "fact injective(p)\n";
    for statement in ["y[0] = x[t]", "y[0] = x[p[i]]"] {
        for fact in ["", injective] {
            assert!(!is_proved(&backwards(fact, statement)), "{fact}{statement}");
        }
    }
    for statement in ["y[t] = x[i]", "y[p[i]] = x[i]", "y[t] = y[t] + x[i]"] {
        assert!(is_proved(&backwards(injective, statement)), "{statement}");
        assert!(!is_proved(&backwards("", statement)), "{statement}");
    }
    // p[i] + i grows with i.
    for (fact, expected) in [("", false), ("fact monotone(p)\n", true)] {
        for statement in ["y[t + i] = x[i]", "y[p[i] + i] = x[i]"] {
            assert_eq!(is_proved(&backwards(fact, statement)), expected, "{fact}{statement}");
        }
        assert!(!is_proved(&backwards(fact, "y[t + n - i] = x[i]")), "{fact}");
    }
}

/// The only argument is what is written.
#[test]
fn an_output_that_nobody_reads_is_seen() {
    let kernel = |head: &str, iname: &str| {
        format!(
            "kernel k(y: f32[1])\ndomain {{ [i] : 0 <= i < 4 }}\n{head}\
             y[0] = cast(f32, i) {{id=put, inames={iname}}}\ntree {{\nfor {iname} {{\nput\n}}\n}}\n"
        )
    };
    assert_eq!(judged(&kernel("domain { [r] }\nlet i = 3 - r\n", "r"), &kernel("", "i")), "refuted");
}
