//! Copies whose condition can be a predicate: their elements have to lie within their array where
//! it does not hold, too, by conditions that stay control flow alone.

use loopwright_program::{CopyPredicates, Program, Stmt};

/// Whether the innermost condition around copies of these statements can be their predicate. The
/// array has four elements.
fn can(statements: &str) -> bool {
    let text = format!(
        "program k(x, y, m: i32) index i32\nglobal x: i32[m] read\nglobal y: i32[m] written\n\
         host {{\n    launch k\n}}\nkernel k(x, y written, m: i32) {{\n    grid(m, 1, 1)\n    \
         block(5, 1, 1)\n    var k: i32\n    var j: i32\n    var wide: i64\n    var r: i32 mutable\n    \
         shared t: i32[4]\n\n{statements}\n}}\n"
    );
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    let kernel = &program.kernels[0];
    let predicates = CopyPredicates::of(kernel);
    let (mut found, mut copies) = (0, 0);
    Stmt::visit(&kernel.body, &mut |stmt| {
        found += predicates.find(stmt).map_or(0, |found| found.copies().len());
        copies += usize::from(stmt.async_copy().is_some());
    });
    assert_eq!(copies, 1, "{text}");
    found == 1
}

/// A copy to this element from this one, under a condition on a parameter.
fn copy(to: &str, from: &str) -> String {
    format!("if 0 < m {{\ncopy_async 1 t[{to}] = x[{from}]\n}}")
}

#[test]
fn an_element_of_the_array_needs_no_condition() {
    for (to, inside) in [
        ("0", true),
        ("3", true),
        ("4", false),
        ("-1", false),
        ("thread.x", false),
        ("min(thread.x, 3)", true),
        ("4 - thread.x", false),
        ("thread.x - 1", false),
        ("max(thread.x - 1, 0)", true),
        ("-thread.x + 4", false),
        ("max(-thread.x + 3, 0)", true),
        ("if(1 < m, 0, 3)", true),
        ("if(1 < m, 0, 4)", false),
        ("if(1 < m, 4, 0)", false),
        ("block.x", false),
        ("m", false),
    ] {
        assert_eq!(can(&copy(to, "0")), inside, "{to}");
    }
}

/// A name that is made of a counter has the values that the counter has under a condition which
/// stays control flow.
#[test]
fn a_condition_around_it_bounds_counters() {
    for (around, to, inside) in [
        ("k < 4", "k", true),
        ("k < 5", "k", false),
        ("k <= 3", "k", true),
        ("k <= 4", "k", false),
        ("k > 3", "k - 4", true),
        ("k > 2", "k - 4", false),
        ("k >= 4", "k - 4", true),
        ("k >= 3", "k - 4", false),
        ("k == 3", "k", true),
        ("k == 4", "k", false),
        ("k != 4", "k", false),
        ("k < 4 and 1 < m", "k", true),
        ("1 < m and k < 4", "k", true),
        ("k < 4 or 1 < m", "k", false),
        ("not k < 4", "k", false),
        ("k > 1 and k < 6", "k - 2", true),
        ("k > 0 and k < 6", "k - 2", false),
        ("k > 1 and k < 7", "k - 2", false),
    ] {
        let body = format!("let j = {to}\n{}", copy("j", "0"));
        let text = format!("for k: i32 = 0 to 8 {{\nif {around} {{\n{body}\n}}\n}}");
        assert_eq!(can(&text), inside, "{around}");
    }
}

#[test]
fn a_condition_bounds_nothing_where_it_does_not_hold() {
    let inner = format!("let j = k\n{}", copy("j", "0"));
    let of = |body: &str| format!("for k: i32 = 0 to 8 {{\n{body}\n}}");
    assert!(can(&of(&format!("if k < 4 {{\n{inner}\n}}"))));
    assert!(!can(&of(&format!("if k < 4 {{\nbarrier block\n}} else {{\n{inner}\n}}"))));
    assert!(!can(&of(&format!("if k < 4 {{\nbarrier block\n}}\n{inner}"))));
    // It stands around the copy, and the name is made before.
    assert!(!can(&of(&format!("let j = k\nif k < 4 {{\n{}\n}}", copy("j", "0")))));
    // It becomes the predicate itself.
    for condition in ["k < 4", "k < 4 and 0 < m"] {
        assert!(!can(&of(&format!("if {condition} {{\ncopy_async 1 t[k] = x[0]\n}}"))));
        assert!(!can(&of(&format!("if {condition} {{\nlet j = k\ncopy_async 1 t[j] = x[0]\n}}"))));
    }
}

#[test]
fn a_name_that_is_declared_twice_has_both_values() {
    let inner = copy("k", "0");
    for (short, long) in [("0 to 4", "0 to 8"), ("0 to 4", "-1 to 2")] {
        let with = |range: &str| format!("for k: i32 = {range} {{\n{inner}\n}}");
        let without = |range: &str| format!("for k: i32 = {range} {{\nbarrier block\n}}");
        assert!(can(&format!("{}\n{}", without(short), with(short))));
        assert!(!can(&format!("{}\n{}", with(short), without(long))), "{long} behind");
        assert!(!can(&format!("{}\n{}", without(long), with(short))), "{long} before");
    }
}

/// A counter that doubles may be anything as far as is known, as may a name that is assigned again.
#[test]
fn other_names_may_have_any_value() {
    let counted = |loop_: &str| format!("for k: i32 = {loop_} {{\n{}\n}}", copy("k", "0"));
    assert!(can(&counted("1 to 4")));
    assert!(can(&counted("0 to 8 step 3 unroll").replace('k', "j").replace("t[j]", "t[j quo 2]")));
    assert!(!can(&counted("3 to 0 step halve").replace("t[k]", "t[k + 1]")));
    assert!(!can(&counted("1 to 8 step double")));
    assert!(!can(&format!("let r = 0\nset r = 4\nlet j = r\n{}", copy("j", "0"))));
    assert!(!can(&format!("let r = 0\nset r = 4\n{}", copy("r", "0"))));
    // 2^30 * 4 is 0 in 32 bits, and 2^30 * 2 is negative.
    let cast = |factor: i64| {
        let wide = format!("let wide = cast(i64, thread.x) * {factor}i64\n");
        format!("{wide}{}", copy("min(cast(i32, wide), 3)", "0"))
    };
    assert!(can(&cast(1)));
    assert!(!can(&cast(1 << 30)));
}

/// The address is computed where the condition does not hold: nothing in it reads memory, or
/// divides by what may be zero.
#[test]
fn an_address_can_be_computed_anywhere() {
    for (from, anywhere) in [
        ("m * 2", true),
        ("m quo 2", true),
        ("m % 2", true),
        ("7 quo m", false),
        ("7 rem m", false),
        ("7 // m", false),
        ("7 % m", false),
        ("7 % (0 - 2)", false),
        ("x[0]", false),
        ("0 @ x[0]", false),
        ("0 @ 7 quo m", false),
        ("0 @ m", true),
    ] {
        assert_eq!(can(&copy("0", from)), anywhere, "{from}");
    }
    let of = |condition: &str, rest: &str| format!("if {condition} {{\ncopy_async 1 t[0] = x[0]\n}}{rest}");
    assert!(can(&of("0 < m", "")));
    assert!(!can(&of("0 < x[0]", "")));
    assert!(!can(&of("0 < 7 quo m", "")));
    assert!(!can(&of("0 < m", " else {\nbarrier block\n}")));
    assert!(!can("let r = 0\nif 0 < m {\ncopy_async 1 t[0] = x[r]\n}"));
    assert!(!can("if 0 < m {\nbarrier block\ncopy_async 1 t[0] = x[0]\n}"));
}
