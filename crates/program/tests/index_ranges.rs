//! Programs at the ends of their index type, with the parts that few of them have: shifts, bits and
//! narrow types in subscripts, scalars that no `i64` holds, loops of the host.

use loopwright_kernel_ir::DType;
use loopwright_program::{
    Program,
    index_range::{TooWide, check},
};

const MOST: i64 = i32::MAX as i64;

/// What is found in a program of one thread whose indices have this type, for `n`; no other scalar
/// has a value that an `i64` holds. The loop of the host over `r` has `n` rounds.
fn found(index: &str, body: &str, n: i64) -> Option<(String, (i128, i128))> {
    let text = format!(
        "program k(x, idx, small, n: {index}, w: u64, f: f32) index {index}\nglobal x: f32[n] written\n\
         global idx: {index}[n] read\nglobal small: u8[n] read\nhost {{\n for r = 0 to n {{\n  launch k\n }}\n\
         }}\nkernel k(x written, idx, small, n: {index}, w: u64, f: f32, r host) {{\n grid(1, 1, 1)\n \
         block(1, 1, 1)\n var i: {index}\n\n{body}\n}}\n"
    );
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    check(&program, &|name| (**name == *"n").then_some(n)).err().map(|wide| (wide.place, wide.range))
}

/// The range of a subscript that does not fit.
fn subscript(index: &str, text: &str, n: i64) -> Option<(i128, i128)> {
    let (place, range) = found(index, &format!("store x[{text}] = 0.0f32"), n)?;
    assert_eq!(place, "a subscript of `x` in kernel `k`");
    Some(range)
}

#[test]
fn an_index_that_wraps_before_a_predicate_reads_it_is_found() {
    let of = |n: i64| {
        let body = " let i: i32 = n * 2\n if i >= 0 predicate {\n  store x[0] = 0.0f32\n }";
        found("i32", body, n)
    };
    assert_eq!(of(9), None);
    let (place, range) = of(MOST).expect("too wide");
    assert_eq!(
        (place.as_str(), range),
        ("a predicate in kernel `k`", (2 * i128::from(MOST), 2 * i128::from(MOST)))
    );
}

#[test]
fn a_scalar_of_64_bits_that_no_signed_number_holds_is_too_far_for_a_condition() {
    let of =
        |condition: &str| found("i32", &format!("if {condition} predicate {{\n store x[0] = 0.0f32\n}}"), 9);
    let range = (1i128 << 63, u64::MAX.into());
    assert_eq!(of("w < 5u64"), Some(("`w` in a condition in kernel `k`".into(), range)));
    // Of these no proof assumes anything.
    assert_eq!(of("f < 5.0f32"), None, "a number that is no integer");
    assert_eq!(of("r < 5"), None, "a counter of the host");
}

#[test]
fn what_leaves_64_bits_is_a_far_scalar_only_if_its_value_is_not_known() {
    let text = |low: i128, high: i128| {
        let wide = TooWide { place: "`w`".into(), range: (low, high), index: DType::I64 };
        wide.diagnostic().message
    };
    let beyond = 1i128 << 63;
    let far = "`w` is 2^63 or more: proofs about conditions are for scalars below 2^61";
    assert_eq!(text(beyond, u64::MAX.into()), far);
    for (low, high) in [(beyond, beyond), (beyond - 1, beyond), (0, beyond)] {
        assert_eq!(text(low, high), format!("`w` can reach {low} to {high}, which leaves i64"));
    }
}

#[test]
fn inverted_bits_have_the_numbers_from_the_other_end() {
    // `~n` is `-1 - n`.
    assert_eq!(subscript("i32", "~n - 2147483638", 9), None);
    let least = i128::from(i32::MIN);
    assert_eq!(subscript("i32", "~n - 2147483638", 10), Some((least - 1, least - 1)));
    let counted = |n| found("i32", "for i: i32 = 0 to n {\n store x[~i - 2147483638] = 0.0f32\n}", n);
    assert_eq!(counted(10), None);
    assert_eq!(counted(11).unwrap().1, (least - 1, least - 1 + 10));
    // Without a sign there is no number below zero.
    let unsigned = |add: i64| subscript("i32", &format!("cast(i32, ~cast(u8, n)) + {add}"), 5);
    assert_eq!(unsigned(MOST - 255), None);
    assert!(unsigned(MOST).is_some());
}

#[test]
fn a_magnitude_is_no_less_than_that_of_the_end_that_is_nearer_to_zero() {
    let of = |from: &str, to: &str, add: &str| {
        found("i32", &format!("for i: i32 = {from} to {to} {{\n store x[abs(i) {add}] = 0.0f32\n}}"), 20)
    };
    let least = i128::from(i32::MIN);
    let below = |n: i64| format!("- {MOST} - {n}");
    for (from, to, nearest, farthest) in [("10", "n", 10, 19), ("-n", "-9", 10, 20), ("-5", "n", 0, 19)] {
        assert_eq!(of(from, to, &below(nearest + 1)), None, "{from} to {to}");
        let range = (least - 1, least - 1 + i128::from(farthest - nearest));
        assert_eq!(of(from, to, &below(nearest + 2)).unwrap().1, range, "{from} to {to}");
        assert_eq!(of(from, to, &format!("+ {}", MOST - farthest)), None, "{from} to {to}");
        assert!(of(from, to, &format!("+ {}", MOST - farthest + 1)).is_some(), "{from} to {to}");
    }
}

/// In 64 bits, data that overflow leave a subscript congruent to the number that was meant. In a
/// narrower type they do not.
#[test]
fn in_64_bits_narrow_data_have_to_fit() {
    for text in ["cast(i64, small[0])", "cast(i64, small[0]) + 1", "cast(i64, small[0]) * 3 + idx[0] * 5"] {
        assert_eq!(subscript("i64", text, 1), None, "{text}");
    }
    for text in ["cast(i64, small[0] + 1u8)", "cast(i64, small[0] * 3u8)", "cast(i64, -small[0]) + idx[0]"] {
        assert!(subscript("i64", text, 1).is_some(), "{text}");
    }
    // A conversion of data is what the text says, and what is computed from it may overflow again.
    assert_eq!(subscript("i64", "cast(i64, cast(i32, idx[0])) * 4294967297", 1), None);
}

#[test]
fn in_64_bits_a_shift_to_the_left_of_data_that_overflow_is_congruent() {
    for text in ["(idx[0] + 1) << 2i64", "(idx[0] * 31) << 2i64", "((idx[0] << 3i64) + n) << 1i64"] {
        assert_eq!(subscript("i64", text, 1), None, "{text}");
    }
    for text in ["1i64 << (idx[0] * 3)", "n << (idx[0] + 1)"] {
        assert!(subscript("i64", text, 1).is_some(), "{text}");
    }
}

/// A conversion does not bring a product back.
#[test]
fn in_64_bits_a_converted_product_that_is_compared_has_to_fit() {
    let bound =
        |text: &str| found("i64", &format!("for i: i64 = 0 to {text} {{\n store x[0] = 0.0f32\n}}"), 1);
    for (text, fits) in [
        ("cast(i64, cast(i32, idx[0]))", true),
        ("cast(i64, cast(i32, idx[0] + 1))", true),
        ("cast(i64, cast(i32, idx[0] * 3))", false),
    ] {
        assert_eq!(bound(text).is_none(), fits, "{text}");
    }
    assert!(subscript("i64", "min(cast(i64, cast(i32, idx[0] * 3)), 5)", 1).is_some());
}

/// A product of data that is compared has to fit, and so has one in a sum: the sum does not bring
/// it back.
#[test]
fn in_64_bits_a_sum_with_a_product_that_is_compared_has_to_fit() {
    let bound =
        |text: &str| found("i64", &format!("for i: i64 = 0 to {text} {{\n store x[0] = 0.0f32\n}}"), 1);
    for sum in ["idx[0] + 1", "idx[0] + idx[1] - n", "5 - idx[0]"] {
        assert_eq!(bound(sum), None, "{sum}");
        assert_eq!(subscript("i64", &format!("min({sum}, 5)"), 1), None, "{sum}");
    }
    for product in ["idx[0] * 3 + 1", "n - idx[0] * 3", "1 + (n + idx[0] * idx[1])", "-(idx[0] * 3)"] {
        assert!(bound(product).is_some(), "{product}");
        assert!(subscript("i64", &format!("min({product}, 5)"), 1).is_some(), "{product}");
    }
}
