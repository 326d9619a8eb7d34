//! Replays of transformed kernels beside their declared ones: what they call a failure, and what
//! they do not.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{LoopKernel, Name};
use loopwright_legality::{Failure, Stop, agrees};

/// How a kernel fails that adds the points of a reduction from the last to the first.
fn backwards(operator: &str, call: &str) -> Option<Failure> {
    let kernel = |domain: &str, iname: &str, tree: &str| {
        format!(
            "\
kernel k(x: f32[n], y: f32[1], n: i32)
assume 1 <= n
{operator}domain {{ [i] : 0 <= i < n }}
{domain}y[0] = {call}({iname}, x[i]) {{id=get}}
{tree}"
        )
    };
    let declared = kernel("", "i", "");
    let tree = "tree {\nget.init\nfor r {\nget.update\n}\nget.finish\n}\n";
    let after = kernel("domain { [r] }\nlet i = n - 1 - r\n", "r", tree);
    let text = format!("{after}declared {{\n{declared}}}\n");
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    agrees(&kernel, &BTreeMap::from([(Name::new("n"), 3)])).unwrap()
}

/// A sum may be taken in any order, an operator that does not commute may not.
#[test]
fn points_are_joined_in_any_order_where_the_operator_commutes() {
    assert_eq!(backwards("", "sum"), None);
    let last = "\
reduction last(v) {
    state s: like v = 0.0, some: bool = false
    lift s = v, some = true
    combine s = if(b.some, b.s, a.s), some = a.some or b.some
    result s
}
";
    assert!(matches!(backwards(last, "last"), Some(Failure::Points { .. })));
}

/// A value goes through a temporary: what was loaded a round before is another one.
#[test]
fn values_pass_through_temporaries() {
    let kernel = |first: &str, second: &str| {
        format!(
            "\
kernel k(x: f32[n], y: f32[n], n: i32)
domain {{ [i] : 0 <= i < n }}
temp t: f32 private
t = x[i] {{id=load, inames=i}}
y[i] = t {{id=put, inames=i}}
tree {{
for i {{
{first}
{second}
}}
}}
"
        )
    };
    let agree = |first: &str, second: &str, n: i64| {
        let text = format!("{}declared {{\n{}}}\n", kernel(first, second), kernel("load", "put"));
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        agrees(&kernel, &BTreeMap::from([(Name::new("n"), n)])).unwrap()
    };
    assert_eq!(agree("load", "put", 3), None);
    assert_eq!(agree("put", "load", 0), None);
    let found = agree("put", "load", 3);
    assert!(matches!(&found, Some(Failure::Read { cell, .. }) if cell.array == "t"), "{found:?}");
}

/// What a function of the library makes of a constant is a number where all machines make the same
/// of it. Of the others nothing is known but that equal arguments have equal results.
#[test]
fn only_exact_functions_of_constants_are_numbers() {
    // Which of two writes of an element comes last does not matter if they write the same.
    let same = |first: &str, second: &str| {
        let kernel = format!("kernel k(y: f64[1])\ny[0] = {first} {{id=a}}\ny[0] = {second} {{id=b}}\n");
        let text = format!("{kernel}tree {{\nb\na\n}}\ndeclared {{\n{kernel}}}\n");
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        agrees(&kernel, &BTreeMap::new()).unwrap().is_none()
    };
    assert!(same("sqrt(4.0)", "2.0") && same("max(1.0, 2.0)", "2.0"));
    assert!(!same("sqrt(4.0)", "2.5"));
    assert!(same("exp(0.0)", "exp(0.0)"));
    assert!(!same("exp(0.0)", "1.0") && !same("exp(0.0)", "exp(1.0)"));
}

/// What is read from an array that nobody writes does not matter, wherever it lies.
#[test]
fn reads_by_data_are_replayed_where_nobody_writes() {
    let kernel = |reversed: &str, iname: &str| {
        format!(
            "\
kernel k(x: f32[n], p: i32[n], y: f32[n], n: i32)
fact 0 <= p < n
domain {{ [i] : 0 <= i < n }}
{reversed}y[i] = x[p[i]] {{id=put, inames={iname}}}
tree {{
for {iname} {{
put
}}
}}
"
        )
    };
    let reversed = kernel("domain { [r] }\nlet i = n - 1 - r\n", "r");
    let text = format!("{reversed}declared {{\n{}}}\n", kernel("", "i"));
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    assert_eq!(agrees(&kernel, &BTreeMap::from([(Name::new("n"), 3)])), Ok(None));
}

/// A thread's coordinate is counted from the least value of its own iname, whatever the loops
/// around it run through: what `i = 8` loads, `j = 0` stores.
#[test]
fn threads_in_a_loop_are_counted_from_their_own_least_value() {
    let kernel = |temporary: &str, cells: [&str; 2], inames: [&str; 2], tree: &str| {
        format!(
            "\
kernel k(x: f32[2, 16], y: f32[2, 8])
domain {{ [r] : 0 <= r < 2 }}
domain {{ [i] : 8 <= i < 16 }}
domain {{ [j] : 0 <= j < 8 }}
{temporary}
{} = x[r, i] {{id=load{}}}
y[r, j] = {} {{id=store{}}}
{tree}",
            cells[0], inames[0], cells[1], inames[1]
        )
    };
    let declared = kernel("temp t: f32[8]", ["t[i - 8]", "t[j]"], ["", ""], "");
    let agree = |first: &str, second: &str| {
        let after = kernel(
            "temp t: f32 private\ntag i: thread.x\ntag j: thread.x",
            ["t", "t"],
            [", inames=r:i", ", inames=r:j"],
            &format!("tree {{\nfor r {{\n{first}\n{second}\n}}\n}}\n"),
        );
        let text = format!("{after}declared {{\n{declared}}}\n");
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        agrees(&kernel, &BTreeMap::new()).unwrap()
    };
    assert_eq!(agree("load", "store"), None);
    let found = agree("store", "load");
    assert!(matches!(&found, Some(Failure::Read { cell, .. }) if cell.array == "t"), "{found:?}");
}

/// Each of several lanes has its own copy of a private value, of which nothing is seen outside of
/// the lanes. A single lane has no copy of its own.
#[test]
fn only_what_a_single_lane_keeps_is_read_outside_of_it() {
    let agree = |lanes: i64, again: &str, twice: &str| {
        let kernel = |tag: &str, [opened, closed]: [&str; 2]| {
            format!(
                "\
kernel k(x: f32[{lanes}], y: f32[1], z: f32[{lanes}])
domain {{ [i] : 0 <= i < {lanes} }}
temp t: f32 private
{tag}t = x[i] {{id=load, inames=i}}
{again}y[0] = t {{id=put}}
tree {{
{opened}load
{twice}{closed}put
}}
"
            )
        };
        let declared = kernel("", ["for i {\n", "}\n"]);
        let text = format!("{}declared {{\n{declared}}}\n", kernel("tag i: ilp\n", ["", ""]));
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        agrees(&kernel, &BTreeMap::new()).unwrap()
    };
    let again = "z[i] = t {id=again, inames=i}\n";
    assert_eq!(agree(1, "", ""), None);
    assert_eq!(agree(1, again, "again\n"), None);
    for found in [agree(3, "", ""), agree(3, again, "again\n")] {
        assert!(matches!(&found, Some(Failure::Read { cell, .. }) if cell.array == "t"), "{found:?}");
    }
}

/// How a kernel fails that writes two values to an element in the other order.
fn exchanged(dtype: &str, first: &str, second: &str) -> Option<Failure> {
    let kernel = |tree: &str| {
        format!(
            "\
kernel k(x: {dtype}[n], y: {dtype}[n], s: {dtype}, n: i32)
domain {{ [i] : 0 <= i < n }}
temp t: {dtype} private
t = {first} {{id=start, inames=i}}
y[i] = t {{id=first, inames=i}}
y[i] = {second} {{id=second, inames=i}}
tree {{
for i {{
start
{tree}}}
}}
"
        )
    };
    let text = format!("{}declared {{\n{}}}\n", kernel("second\nfirst\n"), kernel("first\nsecond\n"));
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    agrees(&kernel, &BTreeMap::from([(Name::new("n"), 3)])).unwrap()
}

/// Values are those of their types, in which numbers wrap and are rounded, and what an operand
/// alone decides is that: none of these orders is refuted.
#[test]
fn equal_values_are_no_failure_in_any_form() {
    let equal = [
        ("u8", "256", "0"),
        ("i8", "255", "-1"),
        ("i32", "(i + 100)*16777216*256", "0"),
        ("i64", "cast(i64, cast(i32, 2147483647) + 1) + i", "i - 2147483648"),
        ("f32", "0.1 + 0.2", "0.3"),
        ("f32", "16777217", "16777216.0"),
        ("f16", "0.1", "0.0999755859375"),
        ("f64", "cast(f32, 0.5)", "0.5"),
        ("i32", "x[i]*0", "0"),
        ("i32", "x[i] + 0", "x[i]"),
        ("i32", "(s ^ s) + i", "i"),
        ("i32", "x[i]*s + 1", "1 + s*x[i]"),
        ("i32", "min(s, x[i])", "max(min(x[i], s), min(s, x[i]))"),
        ("i32", "if(x[i] < 3, s, s)", "s"),
        ("i32", "x[i] % 1", "min(0, i)"),
        ("i32", "if(i < 0 and s < 3, 1, 2)", "2"),
        ("f32", "sqrt(4.0) - floor(2.5)", "0.0"),
        ("f32", "if(isnan(nan), 1.0, s)", "1.0"),
    ];
    for (dtype, first, second) in equal {
        assert_eq!(exchanged(dtype, first, second), None, "{dtype}: {first} and {second}");
    }
}

/// What differs in its type does.
#[test]
fn different_values_are_a_failure() {
    let different = [
        ("u8", "255", "0"),
        ("i64", "cast(i64, cast(i32, 2147483647) + 1)", "2147483647 + 1"),
        ("f64", "0.1 + 0.2", "0.3"),
        ("f32", "0.0", "-0.0"),
        ("f32", "s*0.0", "0.0"),
        ("i32", "x[i]*1", "s"),
        ("i32", "x[i] - s", "s - x[i]"),
        ("i32", "x[i] & 1", "x[i]"),
        ("i32", "max(s, x[i])", "min(s, x[i])"),
        ("i32", "x[i]", "x[0]"),
        ("i32", "1 << i", "2"),
    ];
    for (dtype, first, second) in different {
        let found = exchanged(dtype, first, second);
        assert!(matches!(found, Some(Failure::Output { .. })), "{dtype}: {first} and {second}: {found:?}");
    }
}

/// A quotient by 1 is the dividend, and so is a product.
#[test]
fn what_a_one_leaves_is_equal() {
    for (first, second) in [("x[i] // 1", "x[i]"), ("s", "s * 1"), ("1 * x[i]", "x[i] // 1")] {
        assert_eq!(exchanged("i32", first, second), None, "{first} and {second}");
    }
    for (first, second) in [("x[i] // 2", "x[i]"), ("1 // s", "s"), ("x[i] // -1", "x[i]")] {
        assert!(exchanged("i32", first, second).is_some(), "{first} and {second}");
    }
}

/// A product of floating-point numbers rounds in the order in which it is taken.
#[test]
fn products_of_floats_in_another_order_of_rounding_differ() {
    for dtype in ["f16", "f32", "f64"] {
        let product = "(x[i]*s)*x[0]";
        assert_eq!(exchanged(dtype, product, "x[0]*(s*x[i])"), None, "{dtype}: operands exchanged");
        assert!(exchanged(dtype, product, "x[i]*(s*x[0])").is_some(), "{dtype}");
        assert!(exchanged(dtype, "2.0*x[i]*3.0", "x[i]*6.0").is_some(), "{dtype}");
    }
}

/// What a sum of integers comes to is known where its terms are.
#[test]
fn sums_of_known_integers_are_numbers() {
    let found = |dtype: &str, sum: &str, second: &str| {
        let kernel = |tree: &str| {
            format!(
                "\
kernel k(y: {dtype}[n], n: i32)
domain {{ [i] : 0 <= i < n }}
domain {{ [j] : 0 <= j < n }}
temp t: {dtype} private
t = {sum} {{id=start, inames=i}}
y[i] = t {{id=first, inames=i}}
y[i] = {second} {{id=second, inames=i}}
tree {{
for i {{
start.init
for j {{
start.update
}}
start.finish
{tree}}}
}}
"
            )
        };
        let text = format!("{}declared {{\n{}}}\n", kernel("second\nfirst\n"), kernel("first\nsecond\n"));
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        agrees(&kernel, &BTreeMap::from([(Name::new("n"), 3)])).unwrap()
    };
    // 0 + 1 + 2, three times 2, and 3 * 100 in eight bits.
    for (dtype, sum, second) in
        [("i32", "sum(j, j)", "3"), ("i64", "sum(j, 2)", "2*n"), ("u8", "sum(j, 100)", "44")]
    {
        assert_eq!(found(dtype, sum, second), None, "{dtype}: {sum}");
    }
    for (dtype, sum, second) in
        [("i32", "sum(j, j)", "4"), ("i64", "sum(j, 2)", "n"), ("i32", "product(j, j + 1)", "7")]
    {
        assert!(found(dtype, sum, second).is_some(), "{dtype}: {sum}");
    }
}

/// A kernel of an open type fails if it does for some type.
#[test]
fn open_types_have_values() {
    let head = "kernel k(x: T[3], y: T[3])\ndomain { [i] : 0 <= i < 3 }\n";
    let kernel = |first: &str, second: &str, tree: &str| {
        format!(
            "{head}y[i] = {first} {{id=first, inames=i}}\ny[i] = {second} {{id=second, inames=i}}\n\
             tree {{\nfor i {{\n{tree}}}\n}}\n"
        )
    };
    let agree = |first: &str, second: &str| {
        let declared = kernel(first, second, "first\nsecond\n");
        let text = format!("{}declared {{\n{declared}}}\n", kernel(first, second, "second\nfirst\n"));
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        agrees(&kernel, &BTreeMap::new()).unwrap()
    };
    assert_eq!(agree("x[i] + 2", "2 + x[i]"), None);
    assert_eq!(agree("x[i]/2", "x[i]/(1 + 1)"), None);
    assert!(agree("x[i] + 2", "x[i]*2").is_some());
}

/// A difference of floating-point numbers rounds in the order in which it is taken.
#[test]
fn differences_of_floats_in_another_order_of_rounding_differ() {
    for dtype in ["f16", "f32", "f64"] {
        assert_eq!(exchanged(dtype, "x[i] - s - x[0]", "(x[i] - s) - x[0]"), None, "{dtype}");
        for other in ["x[i] - x[0] - s", "x[i] - (s + x[0])", "-s - x[0] + x[i]"] {
            assert!(exchanged(dtype, "x[i] - s - x[0]", other).is_some(), "{dtype}: {other}");
        }
        assert!(exchanged(dtype, "x[i] - (s - x[i])", "x[i] - s + x[i]").is_some(), "{dtype}");
    }
}

/// Integers wrap in products as in sums: a multiple of a sum of data is the sum of the multiples.
#[test]
fn multiples_of_sums_of_integers_are_sums_of_multiples() {
    for dtype in ["u8", "i32", "u64", "i64"] {
        for (first, second) in [
            ("2*(x[i] + s)", "2*s + x[i]*2"),
            ("3*x[i] - x[i]", "x[i]*2"),
            ("(x[i] - s)*5", "4*(x[i] - s) + x[i] - s"),
        ] {
            assert_eq!(exchanged(dtype, first, second), None, "{dtype}: {first} and {second}");
        }
        for (first, second) in [("2*(x[i] + s)", "2*x[i] + s"), ("3*x[i] - x[i]", "3*x[i] - s")] {
            assert!(exchanged(dtype, first, second).is_some(), "{dtype}: {first} and {second}");
        }
    }
}

/// Which element of a buffer is read says what is seen, though the declared kernel writes none. If
/// data say it, there is nothing to replay, whether the buffer is filled before it is read or not.
#[test]
fn reads_by_data_are_not_replayed_where_a_copy_writes() {
    let kernel = |copy: &str, value: &str, tree: &str| {
        format!(
            "\
kernel k(x: f32[n], p: i32[n], y: f32[n], n: i32)
fact 0 <= p < n
domain {{ [i] : 0 <= i < n }}
{copy}y[i] = {value} {{id=put, inames=i}}
tree {{
{tree}}}
"
        )
    };
    let declared = kernel("", "x[p[i]]", "for i {\nput\n}\n");
    let copy = "domain { [j] : 0 <= j < n }\ntemp t: f32[n] shared\n\
                t[j] = x[j] {id=load, inames=j, copies=x}\n";
    let (load, put) = ("for j {\nload\n}\n", "for i {\nput\n}\n");
    for tree in [format!("{load}{put}"), format!("{put}{load}")] {
        let text = format!("{}declared {{\n{declared}}}\n", kernel(copy, "t[p[i]]", &tree));
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        let found = agrees(&kernel, &BTreeMap::from([(Name::new("n"), 3)]));
        assert!(matches!(&found, Err(Stop::Data(_))), "{found:?}\n{text}");
    }
}
