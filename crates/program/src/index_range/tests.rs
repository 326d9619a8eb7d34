//! Programs at the ends of their index type.

use loopwright_kernel_ir::{DType, FAR_SCALAR, Name};

use super::{TooWide, check};
use crate::Program;

#[test]
fn the_farther_end_is_named() {
    let far = |low, high| TooWide { place: String::new(), range: (low, high), index: DType::I32 }.farthest();
    assert_eq!([far(-9, 8), far(-8, 9), far(-9, -10), far(2, 3)], [-9, 9, -10, 3]);
    assert_eq!(far(-9, 9), 9, "the upper one of two that are equally far");
}

/// The check of a program of one thread, for `n` and `m`; its place and range if it does not fit.
fn outcome(head: &str, body: &str, n: i64, m: i64) -> Option<(String, (i128, i128))> {
    let vars: String = ('a'..='h').map(|name| format!(" var {name}: i32 mutable\n")).collect();
    let text = format!(
        "program k(x, idx, n: i32, m: i64) index i32\n{head}\nglobal x: f32[n] written\nglobal idx: \
         i32[n] read\nhost {{\n launch k\n}}\nkernel k(x written, idx, n: i32, m: i64) {{\n \
         grid(1, 1, 1)\n block(1, 1, 1)\n var i: i32\n var v: i32 mutable\n{vars}\n{body}\n}}\n"
    );
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    let scalars = |name: &Name| match &**name {
        "n" => Some(n),
        "m" => Some(m),
        _ => None,
    };
    check(&program, &scalars).err().map(|wide| (wide.place, wide.range))
}

const MOST: i64 = i32::MAX as i64;

/// Elements beyond the index type cannot be named, even if the kernel names none of them.
#[test]
fn lengths_and_sizes_of_arrays_fit() {
    let places = |shape: &str, n: i64| {
        let head = format!("global far: f32[{shape}] read");
        outcome(&head, "store x[0] = 0.0f32", n, 0)
    };
    assert_eq!(places("n + 5", MOST - 5), None);
    let length = |range| Some(("the length of `far`".to_string(), range));
    let too_long = i128::from(MOST) + 1;
    assert_eq!(places("n + 6", MOST - 5), length((too_long, too_long)));
    // Each length fits, and their product does not.
    let too_many = 1i128 << 31;
    assert_eq!(places("n, 32767", 1 << 16), None);
    assert_eq!(places("n, 32768", 1 << 16), Some(("the size of `far`".to_string(), (too_many, too_many))));
}

#[test]
fn a_fact_about_data_bounds_subscripts_made_of_them() {
    let fits = |last| outcome("fact 0 <= idx < n", &format!("store x[idx[0] + {last}] = 0.0f32"), 10, 0);
    // The greatest element is 9.
    assert_eq!(fits(MOST - 9), None);
    let (place, range) = fits(MOST - 8).unwrap();
    assert_eq!(place, "a subscript of `x` in kernel `k`");
    assert_eq!(range, (i128::from(MOST) - 8, i128::from(MOST) + 1));
}

#[test]
fn a_fact_bounds_data_from_below_too() {
    let fits = |head: &str, last: &str| outcome(head, &format!("store x[idx[0] {last}] = 0.0f32"), 10, 0);
    let least = i128::from(i32::MIN);
    assert_eq!(fits("fact 0 <= idx < n", "- 2147483647 - 1"), None);
    let range = |head: &str, last: &str| fits(head, last).unwrap().1;
    assert_eq!(range("fact 0 <= idx < n", "- 2147483647 - 2"), (least - 1, least - 1 + 9));
    assert_eq!(fits("fact 3 <= idx < n", "- 2147483647 - 4"), None);
    assert_eq!(range("fact 3 <= idx < n", "- 2147483647 - 5"), (least - 1, least - 1 + 6));
    // No fact says more than the type does.
    let wide = "fact -9000000000 <= idx < 9000000000";
    assert_eq!(fits(wide, ""), None);
    assert_eq!(range(wide, "+ 1"), (least + 1, 1 << 31));
}

#[test]
fn a_counter_that_doubles_stays_below_its_bound() {
    let up_to = |add: i64| {
        let body = format!("for i: i32 = 1 to n step double {{\n store x[i + {add}] = 0.0f32\n}}");
        outcome("", &body, 100, 0)
    };
    // It is at most 99.
    assert_eq!(up_to(MOST - 99), None);
    assert_eq!(up_to(MOST - 98).unwrap().1, (i128::from(MOST) - 97, i128::from(MOST) + 1));
}

#[test]
fn blocks_have_all_numbers_below_the_length_of_the_grid() {
    for (axis, grid) in [("x", "n, 1, 1"), ("y", "1, n, 1"), ("z", "1, 1, n")] {
        let of = |add: i64| {
            let text = format!(
                "program k(x, n: i32) index i32\nglobal x: f32[n] written\nhost {{\n launch k\n}}\nkernel k(x \
                 written, n: i32) {{\n grid({grid})\n block(1, 1, 1)\n\n store x[block.{axis} + {add}] = \
                 0.0f32\n}}\n"
            );
            let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
            check(&program, &|_| Some(100)).err().map(|wide| wide.range)
        };
        // The last of 100 blocks has the number 99.
        assert_eq!(of(MOST - 99), None, "{axis}");
        assert_eq!(of(MOST - 98), Some((i128::from(MOST) - 98, i128::from(MOST) + 1)), "{axis}");
    }
}

#[test]
fn threads_have_all_numbers_below_the_length_of_the_block() {
    for (axis, block) in [("x", "32, 1, 1"), ("y", "1, 32, 1"), ("z", "1, 1, 32")] {
        let of = |add: i64| {
            let text = format!(
                "program k(x, n: i32) index i32\nglobal x: f32[n] written\nhost {{\n launch k\n}}\nkernel k(x \
                 written, n: i32) {{\n grid(1, 1, 1)\n block({block})\n\n store x[thread.{axis} + {add}] = \
                 0.0f32\n}}\n"
            );
            let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
            check(&program, &|_| Some(100)).err().map(|wide| wide.range)
        };
        // The last of 32 threads has the number 31, the first one 0.
        assert_eq!(of(MOST - 31), None, "{axis}");
        assert_eq!(of(MOST - 30), Some((i128::from(MOST) - 30, i128::from(MOST) + 1)), "{axis}");
        assert_eq!(of(i32::MIN.into()), None, "{axis}");
    }
}

#[test]
fn a_variable_has_the_range_that_is_declared_for_it() {
    let of = |add: i64| {
        let text = format!(
            "program k(x, n: i32) index i32\nglobal x: f32[n] written\nhost {{\n launch k\n}}\nkernel k(x \
             written, n: i32) {{\n grid(1, 1, 1)\n block(1, 1, 1)\n var v: i32 within(-2, 9)\n\n let v: i32 \
             = n\n store x[v + {add}] = 0.0f32\n}}\n"
        );
        let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
        check(&program, &|_| Some(100)).err().map(|wide| wide.range)
    };
    assert_eq!(of(MOST - 9), None);
    assert_eq!(of(MOST - 8), Some((i128::from(MOST) - 10, i128::from(MOST) + 1)));
    assert_eq!(of(i64::from(i32::MIN) + 2), None);
}

#[test]
fn a_loop_whose_counter_would_leave_the_type_is_reported() {
    let to = |n| outcome("", "for i: i32 = 0 to n step 64 {\n store x[0] = 0.0f32\n}", n, 0);
    // The last value is below the bound, and the counter goes 64 beyond.
    assert_eq!(to(MOST - 63), None);
    assert_eq!(
        to(MOST - 62),
        Some(("the counter of a loop in kernel `k`".into(), (0, i128::from(MOST) + 1)))
    );
}

#[test]
fn a_variable_that_grows_in_a_loop_has_no_range_but_its_type() {
    let body = "let v: i32 = 0\nfor i: i32 = 0 to n {\n set v = v + 1\n}\nstore x[v + 5] = 0.0f32";
    let (place, range) = outcome("", body, 100, 0).unwrap();
    assert_eq!(place, "a subscript of `x` in kernel `k`");
    assert!(range.1 > MOST.into(), "{range:?}");
    let body = "let v: i32 = 0\nfor i: i32 = 0 to n {\n set v = i\n}\nstore x[v + 5] = 0.0f32";
    assert_eq!(outcome("", body, 100, 0), None, "its ranges converge");
}

/// What `v` is in one round, the next variable is in the next one.
#[test]
fn what_follows_a_growing_variable_by_several_rounds_has_no_range_either() {
    let of = |added: &str| {
        let names = ["v", "a", "b", "c", "d", "e", "f", "g", "h"];
        let mut body: String = names.iter().map(|name| format!("let {name}: i32 = 0\n")).collect();
        body += "for i: i32 = 0 to n {\n";
        body += &format!("store x[h + {}] = 0.0f32\n", MOST - 5);
        for pair in names.windows(2).rev() {
            body += &format!("set {} = {}\n", pair[1], pair[0]);
        }
        body += &format!("set v = v {added}\n}}");
        outcome("", &body, 100, 0)
    };
    assert_eq!(of("* 1"), None, "all stay 0");
    assert_eq!(of("+ 1").unwrap().0, "a subscript of `x` in kernel `k`");
}

/// The guard of a partial tile stands behind the name of the index that leaves the type.
#[test]
fn a_named_index_that_nothing_uses_may_leave_the_type() {
    let of = |subscript: &str| {
        let body = format!("let i: i32 = n + 1\nstore x[{subscript}] = 0.0f32");
        outcome("", &body, MOST, 0).map(|(place, _)| place)
    };
    assert_eq!(of("0"), None);
    assert_eq!(of("i").as_deref(), Some("a subscript of `x` in kernel `k`"));
}

#[test]
fn a_name_has_the_range_that_it_is_given_in_each_place() {
    let of = |second: &str| {
        let body = format!(
            "if n > 5 {{\n let i: i32 = n\n store x[i] = 0.0f32\n}} else {{\n let i: i32 = {second}\n \
             store x[i + 1] = 0.0f32\n}}"
        );
        outcome("", &body, MOST, 0).map(|(place, _)| place)
    };
    assert_eq!(of("0"), None);
    assert_eq!(of("n").as_deref(), Some("a subscript of `x` in kernel `k`"));
}

#[test]
fn a_negated_range_is_turned_round() {
    let minus = |add: i64| {
        let body = format!("for i: i32 = 10 to n {{\n store x[{add} - i + (-i)] = 0.0f32\n}}");
        outcome("", &body, 100, 0)
    };
    assert_eq!(minus(MOST), None);
    let body = "for i: i32 = 10 to n {\n store x[-i - 2147483638] = 0.0f32\n}";
    assert_eq!(outcome("", body, 12, 0).unwrap().1, (-2147483649, -2147483648));
}

/// A loop that ends where it begins has no second value, and one that begins at the least number
/// of the type has that.
#[test]
fn a_counter_begins_at_its_lower_bound() {
    let of = |n| outcome("", "for i: i32 = 10 to n {\n store x[-i - 2147483638] = 0.0f32\n}", n, 0);
    assert_eq!(of(11), None, "-10 - 2147483638 is the least number");
    assert_eq!(of(5), None);
    assert!(of(12).is_some());
}

#[test]
fn a_condition_of_another_type_is_true_or_false() {
    assert_eq!(outcome("", "if cast(bool, n) {\n store x[0] = 0.0f32\n}", 5, 0), None);
    let once = "store x[cast(i32, cast(bool, n)) + ";
    assert_eq!(outcome("", &format!("{once}{}] = 0.0f32", MOST - 1), 5, 0), None);
    assert!(outcome("", &format!("{once}{MOST}] = 0.0f32"), 5, 0).is_some());
}

/// In values of the kernel numbers wrap by definition; only arithmetic on indices is printed as if
/// it did not.
#[test]
fn values_made_of_data_and_conversions_wrap() {
    let of = |value: &str, n, m| outcome("", &format!("store x[0] = cast(f32, {value})"), n, m);
    assert_eq!(of("idx[0] + 1", 1, 0), None);
    assert_eq!(of("idx[0] * idx[0]", 1, 0), None);
    assert_eq!(of("cast(i32, m)", 1, 1 << 40), None);
    assert_eq!(of("n + 1", MOST, 0).unwrap().0, "a value in kernel `k`");
    // The first of several is named.
    assert_eq!(of("(n + 2) + (n + 1)", MOST, 0).unwrap().1, (i128::from(MOST) + 2, i128::from(MOST) + 2));
}

/// What a statement of the kernel gives a name is a value of the kernel, and has its range.
#[test]
fn a_named_value_of_the_kernel_wraps_and_has_its_range() {
    for given in ["let v: i32", "set v"] {
        let of = |value: &str, subscript: &str, n| {
            let body = format!("{given} = {value} {{value}}\nstore x[{subscript}] = 0.0f32");
            outcome("leaf value \"v\"", &body, n, 0)
        };
        assert_eq!(of("idx[0] * idx[0]", "0", 1), None, "{given}");
        assert_eq!(of("n + 1", "0", MOST).unwrap().0, "a value in kernel `k`", "{given}");
        assert_eq!(of("n", &format!("v + {}", MOST - 100), 100), None, "{given}");
        let beyond = of("n", &format!("v + {}", MOST - 99), 100).unwrap();
        assert_eq!(beyond.1, (i128::from(MOST) + 1, i128::from(MOST) + 1), "{given}");
    }
}

/// What the kernel has stored is data, whatever it was computed from. Arithmetic on it wraps in its
/// own type, but not in a subscript.
#[test]
fn subscripts_of_values_that_a_kernel_has_stored_do_not_wrap() {
    let of = |value: &str| {
        let body = format!(
            "for i: i32 = 0 to 200 {{\nstore t[0] = cast(u8, i)\nstore x[cast(i32, {value})] = 0.0f32\n}}"
        );
        let text = format!(
            "program k(x, n: i32) index i32\nglobal x: f32[n] written\nhost {{\n launch k\n}}\nkernel k(x \
             written, n: i32) {{\n grid(1, 1, 1)\n block(1, 1, 1)\n var i: i32\n private t: u8[1]\n\n{body}\n}}\n"
        );
        let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
        check(&program, &|_| Some(1000)).err().map(|wide| (wide.place, wide.range))
    };
    let wraps = Some(("a subscript of `x` in kernel `k`".into(), (0, 398)));
    assert_eq!(of("t[0] + t[0]"), wraps);
    assert_eq!(of("cast(u8, i) + cast(u8, i)"), wraps);
    assert_eq!(of("cast(i32, t[0]) + cast(i32, t[0])"), None);
}

/// The check of a program whose indices have 64 bits, for `n`.
fn of_64_bits(body: &str, n: i64) -> Option<(String, (i128, i128))> {
    let text = format!(
        "program k(x, idx, n: i64) index i64\nglobal x: f32[n] written\nglobal idx: i64[n] read\nhost {{\n \
         launch k\n}}\nkernel k(x written, idx, n: i64) {{\n grid(1, 1, 1)\n block(1, 1, 1)\n var i: \
         i64\n\n{body}\n}}\n"
    );
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    check(&program, &|_| Some(n)).err().map(|wide| (wide.place, wide.range))
}

/// Arithmetic in narrower types may not wrap in a subscript, but a conversion of data does.
#[test]
fn in_64_bits_narrower_indices_do_not_wrap_either() {
    let of = |text: &str, n| of_64_bits(&format!("store x[cast(i64, {text})] = 0.0f32"), n);
    let wraps = |range| Some(("a subscript of `x` in kernel `k`".to_string(), range));
    for (dtype, most) in [("u8", 255), ("i32", MOST)] {
        let sum = format!("cast({dtype}, n) + 1{dtype}");
        assert_eq!(of(&sum, most - 1), None, "{dtype}");
        assert_eq!(of(&sum, most), wraps((i128::from(most) + 1, i128::from(most) + 1)), "{dtype}");
        assert!(of(&format!("cast({dtype}, idx[0]) + 1{dtype}"), most).is_some(), "{dtype}");
        assert_eq!(of(&format!("cast(i64, cast({dtype}, idx[0])) + 1"), most), None, "{dtype}");
    }
}

/// Subscripts made of data are within their arrays, so that arithmetic on them fits 64 bits.
#[test]
fn in_64_bits_arithmetic_on_data_is_assumed_to_fit() {
    let subscript = |text: &str, n| of_64_bits(&format!("store x[{text}] = 0.0f32"), n);
    assert_eq!(subscript("idx[0] + 1", 1), None);
    assert_eq!(subscript("idx[0] * 2 + n - n", 1), None);
    assert_eq!(subscript("n + 1", i64::MAX - 1), None);
    let beyond = 1i128 << 63;
    let found = |place: &str, range| Some((format!("{place} in kernel `k`"), range));
    assert_eq!(subscript("n + 1", i64::MAX), found("a subscript of `x`", (beyond, beyond)));
    assert_eq!(subscript("n + 1 - 1", i64::MAX), found("a subscript of `x`", (beyond, beyond)));
    // Two conditions are checked as each of them is.
    let guarded = |text: &str| of_64_bits(&format!("if {text} {{\n store x[0] = 0.0f32\n}}"), i64::MAX);
    for text in ["n + 1 > 5", "n + 1 > 5 and n > 0", "n > 0 or n + 1 > 5"] {
        assert_eq!(guarded(text), found("a condition", (beyond, beyond)), "{text}");
    }
    for step in ["64", "double"] {
        let body =
            |upper: &str| format!("for i: i64 = 1 to {upper} step {step} {{\n store x[0] = 0.0f32\n}}");
        assert_eq!(of_64_bits(&body("idx[0]"), 1), None, "{step}");
        let (place, range) = of_64_bits(&body("n"), i64::MAX).unwrap();
        assert_eq!(place, "the counter of a loop in kernel `k`", "{step}");
        assert!(range.1 > i64::MAX.into());
    }
}

/// The exception is for what is congruent to the number that was meant, and for sums that are
/// compared. Quotients, remainders, bits and functions of what may have overflowed are others.
#[test]
fn in_64_bits_data_have_to_fit_where_overflow_would_show() {
    let subscript = |text: &str| of_64_bits(&format!("store x[{text}] = 0.0f32"), 1).is_some();
    let sums = ["idx[0] + 1", "idx[0] * 31", "idx[0] * idx[0]", "-idx[0]", "idx[0] << 2i64"];
    for sum in sums {
        assert!(!subscript(sum), "{sum}");
        for of in ["% 64", "// 3", ">> 1i64", "& 63", "| 1", "^ 1"] {
            assert!(subscript(&format!("({sum}) {of}")), "({sum}) {of}");
        }
    }
    for fits in ["idx[0] % 64", "idx[0] // 3 * 2", "idx[0] & 63", "min(idx[0], 5)", "min(idx[0] + 1, 5)"] {
        assert!(!subscript(fits), "{fits}");
    }
    for far in ["min(idx[0] * 3, 5)", "max(5, idx[0] * idx[0])", "~(idx[0] * 3) // 2", "(idx[0] * 3) % 7 + 1"]
    {
        assert!(subscript(far), "{far}");
    }
    let guarded = |text: &str| of_64_bits(&format!("if {text} {{\n store x[0] = 0.0f32\n}}"), 1).is_some();
    assert!(!guarded("idx[0] + 1 < 5") && guarded("idx[0] * 3 < 5"));
    let bound = |text: &str| {
        let body = format!("for i: i64 = 0 to {text} {{\n store x[0] = 0.0f32\n}}");
        of_64_bits(&body, 1).is_some()
    };
    assert!(!bound("idx[0] + 1") && bound("idx[0] * 3") && bound("cast(i64, cast(u64, idx[0]))"));
}

#[test]
fn scalars_in_conditions_are_within_what_proofs_assume() {
    let body = "if m < 5i64 predicate {\n store x[0] = 0.0f32\n}";
    for (m, fits) in
        [(FAR_SCALAR, true), (FAR_SCALAR + 1, false), (-FAR_SCALAR, true), (-FAR_SCALAR - 1, false)]
    {
        let expected = (!fits).then(|| ("`m` in a condition in kernel `k`".into(), (m.into(), m.into())));
        assert_eq!(outcome("", body, 1, m), expected, "m = {m}");
    }
}

#[test]
fn conditions_fit_and_so_do_indices_in_them() {
    let body = "if n + 1 > 0 {\n store x[0] = 0.0f32\n}";
    assert_eq!(outcome("", body, MOST - 1, 0), None);
    assert_eq!(outcome("", body, MOST, 0).unwrap().0, "a condition in kernel `k`");
}

#[test]
fn a_number_has_as_many_leading_zeros_as_bits_at_most() {
    let times = |dtype: &str, factor: i64| {
        let zeros = format!("leading_zeros(cast({dtype}, n))");
        outcome("", &format!("store x[{zeros} * {factor}] = 0.0f32"), 1, 0)
    };
    for (dtype, bits) in [("u32", 32), ("u64", 64)] {
        let least_too_great = (MOST + 1) / bits;
        assert_eq!(times(dtype, least_too_great - 1), None, "{dtype}");
        let beyond = ("a subscript of `x` in kernel `k`".into(), (0, i128::from(MOST) + 1));
        assert_eq!(times(dtype, least_too_great), Some(beyond), "{dtype}");
    }
}

/// What wraps in a wider type would come back into the axis.
#[test]
fn subscripts_do_not_wrap_in_wider_types_either() {
    let of = |text: &str, n| outcome("", &format!("store x[{text}] = 0.0f32"), n, 1 << 62);
    let product = "cast(i32, (cast(i64, n) + m * 3i64) % 60i64)";
    let range = (3 << 62, 3 << 62);
    assert_eq!(of(product, 1), Some(("a subscript of `x` in kernel `k`".into(), range)));
    assert_eq!(of("cast(i32, (cast(i64, n) + m * 1i64) % 60i64)", 1), None);
    let unsigned = "cast(i32, (cast(u32, n) * 65536u32) % 60u32)";
    assert_eq!(of(unsigned, 65535), None);
    assert_eq!(of(unsigned, 65536).map(|found| found.1), Some((1 << 32, 1 << 32)));
}

#[test]
fn each_step_of_an_index_has_to_fit() {
    let body = "store x[n + 1 - 1] = 0.0f32\nstore x[n + 2] = 0.0f32";
    assert_eq!(outcome("", body, MOST - 2, 0), None);
    // The first that does not is named.
    let beyond = i128::from(MOST) + 1;
    let subscript = |range| Some(("a subscript of `x` in kernel `k`".to_string(), range));
    assert_eq!(outcome("", body, MOST, 0), subscript((beyond, beyond)));
    assert_eq!(outcome("", body, MOST - 1, 0), subscript((beyond, beyond)));
    let swapped = "store x[n + 2] = 0.0f32\nstore x[n + 1 - 1] = 0.0f32";
    assert_eq!(outcome("", swapped, MOST, 0), subscript((beyond + 1, beyond + 1)));
}

#[test]
fn both_sides_of_a_choice_and_updates_are_checked() {
    let store = "store x[n + 1] = 0.0f32";
    let zero = "store x[0] = 0.0f32";
    for body in [format!("if n > 0 {{\n{store}\n}}"), format!("if n > 0 {{\n{zero}\n}} else {{\n{store}\n}}")]
    {
        assert_eq!(outcome("", &body, MOST - 1, 0), None);
        assert_eq!(outcome("", &body, MOST, 0).unwrap().0, "a subscript of `x` in kernel `k`");
    }
    for (body, place) in [
        ("update add x[n + 1] = 0.0f32", "a subscript of `x` in kernel `k`"),
        ("update add x[0] = cast(f32, n + 1)", "a value in kernel `k`"),
        ("store x[0] = cast(f32, n + 1)", "a value in kernel `k`"),
    ] {
        assert_eq!(outcome("", body, MOST - 1, 0), None);
        assert_eq!(outcome("", body, MOST, 0).unwrap().0, place, "{body}");
    }
}

/// A bound that is read from data is exempt where indices have 64 bits alone.
#[test]
fn a_counter_stays_in_the_type_up_to_a_bound_from_data() {
    let counter = Some("the counter of a loop in kernel `k`".to_string());
    for (step, most) in [("64", MOST - 63), ("double", 1 << 30)] {
        let body = format!("for i: i32 = 1 to idx[0] step {step} {{\n store x[0] = 0.0f32\n}}");
        let of = |head: &str, n| outcome(head, &body, n, 0).map(|(place, _)| place);
        assert_eq!(of("", 1), counter, "{step}");
        // The greatest element is `n - 1`.
        assert_eq!(of("fact 0 <= idx < n", most + 1), None, "{step}");
        assert_eq!(of("fact 0 <= idx < n", most + 2), counter, "{step}");
        let body = format!("for i: i32 = 1 to n step {step} {{\n store x[0] = 0.0f32\n}}");
        let of = |n| outcome("", &body, n, 0).map(|(place, _)| place);
        assert_eq!((of(most), of(most + 1)), (None, counter.clone()), "{step}");
    }
}

/// The check of a program whose second launch, in a loop of the host, adds to what it finds in an
/// array that the first one has set.
fn of_rounds(added: &str) -> Option<(String, (i128, i128))> {
    let text = format!(
        "program k(x, n: i32) index i32\nglobal x: f32[n] written\nglobal t: i32[1] temporary read \
         written\nhost {{\n launch start\n for round = 0 to n {{\n  launch turn\n }}\n}}\nkernel start(t \
         written) {{\n grid(1, 1, 1)\n block(1, 1, 1)\n\n store t[0] = 0\n}}\nkernel turn(x written, t \
         written) {{\n grid(1, 1, 1)\n block(1, 1, 1)\n\n store x[t[0] + 2147483600] = 0.0f32\n store \
         t[0] = t[0] {added}\n}}\n"
    );
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    check(&program, &|_| Some(100)).err().map(|wide| (wide.place, wide.range))
}

#[test]
fn what_a_launch_stores_is_what_later_rounds_read() {
    assert_eq!(of_rounds("* 1"), None, "it stays 0");
    // 100 rounds: beyond the type of indices after 48 of them.
    assert_eq!(of_rounds("+ 1").unwrap().0, "a subscript of `x` in kernel `turn`");
}

/// In the first round nothing has been stored yet; what is read there is what a later launch
/// stores.
#[test]
fn a_load_may_stand_before_the_store_of_its_value() {
    let of = |stored: i64| {
        let text = format!(
            "program k(x, n: i32) index i32\nglobal x: f32[n] written\nglobal t: i32[1] temporary read \
             written\nhost {{\n for round = 0 to n {{\n  launch turn\n  launch set\n }}\n}}\nkernel turn(x \
             written, t) {{\n grid(1, 1, 1)\n block(1, 1, 1)\n\n store x[t[0] + 1] = 0.0f32\n}}\nkernel \
             set(t written) {{\n grid(1, 1, 1)\n block(1, 1, 1)\n\n store t[0] = {stored}\n}}\n"
        );
        let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
        check(&program, &|_| Some(100)).err().map(|wide| wide.place)
    };
    assert_eq!(of(7), None);
    assert_eq!(of(MOST).as_deref(), Some("a subscript of `x` in kernel `turn`"));
}

#[test]
fn a_loop_of_the_host_is_no_part_of_the_kernel_before_it() {
    let of = |n| {
        let text = "program k(x, n: i32) index i32\nglobal x: f32[4] written\nhost {\n launch k\n for round = \
                    0 to n + 1 {\n  launch k\n }\n}\nkernel k(x written) {\n grid(1, 1, 1)\n block(1, 1, \
                    1)\n\n store x[0] = 0.0f32\n}\n";
        let program = Program::parse(text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
        check(&program, &|_| Some(n)).err().map(|wide| wide.place)
    };
    assert_eq!(of(MOST - 1), None);
    assert_eq!(of(MOST).as_deref(), Some("the host's loop over `round`"));
}

#[test]
fn a_refusal_says_whether_an_index_is_too_wide_or_a_scalar_too_great() {
    let message = |range, index| TooWide { place: "it".into(), range, index }.diagnostic().message;
    let far = i128::from(FAR_SCALAR) + 1;
    assert_eq!(
        message((far, far), DType::I64),
        "it is 2305843009213693952: proofs about conditions are for scalars below 2^61"
    );
    for end in [i64::MIN, i64::MAX] {
        let said = message((end.into(), end.into()), DType::I64);
        assert!(said.starts_with(&format!("it is {end}: ")), "{said}");
    }
    assert_eq!(message((-1, far), DType::I32), "it can reach -1 to 2305843009213693952, which leaves i32");
    let wraps = "it is from -1 to 3, and may wrap in the type in which it is computed";
    assert_eq!(message((-1, 3), DType::I32), wraps);
    // The greatest scalar that proofs are for.
    let most = i128::from(FAR_SCALAR);
    assert_eq!(
        message((most, most), DType::I64),
        "it is 2305843009213693951, and may wrap in the type in which it is computed"
    );
    let beyond = 1i128 << 63;
    assert_eq!(message((0, beyond), DType::I64), "it can reach 0 to 9223372036854775808, which leaves i64");
}

/// A copy under a condition that is its predicate has an address where it copies nothing, too.
#[test]
fn offsets_of_predicated_copies_fit_without_their_condition() {
    let farthest = |statement: &str| {
        let text = format!(
            "program k(x, n: i32) index i32\nglobal x: f32[n, n] read\nhost {{\n launch k\n}}\nkernel k(x, n: \
             i32) {{\n grid(1, 1, 1)\n block(32, 1, 1)\n shared s: f32[32]\n var i: i32\n\n for i: i32 = 0 \
             to n {{\n if i < n - 1 {{\n {statement}\n }}\n }}\n commit\n wait 0\n}}\n"
        );
        let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
        check(&program, &|_: &Name| Some(46_000)).map_err(|found| (found.place, found.range))
    };
    // 46,000 rows of as many elements fit, a row behind the last one does not.
    let offset = "the offset of an element of `x` in kernel `k`".to_string();
    assert_eq!(farthest("copy_async 1 s[thread.x] = x[i, thread.x]"), Ok(()));
    let copy = "copy_async 1 s[thread.x] = x[i + 750, thread.x]";
    assert_eq!(farthest(copy), Err((offset, (750 * 46_000, (45_999 + 750) * 46_000))));
    // Control flow stays around what may be outside of its tile.
    assert_eq!(farthest("copy_async 1 s[i] = x[i + 750, thread.x]"), Ok(()));
}
