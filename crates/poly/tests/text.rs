//! Text to values and back, and errors with their positions.

use loopwright_poly::{Aff, Constraint, Error, Map, Name, Set};

use crate::short::{map, set};
use proptest::prelude::*;

fn same(left: &str, right: &str) {
    assert!(set(left).is_equal(&set(right)).unwrap(), "{left} = {right}");
}

#[test]
fn signs_may_stand_before_numbers_and_names() {
    same("{ [i] : +i <= +3 and -i <= - -2 }", "{ [i] : -2 <= i <= 3 }");
}

#[test]
fn what_is_printed_parses_back_equal() {
    for text in [
        "{ [i] }",
        "{ [i] : false }",
        "[n] -> { [] : 1 <= n }",
        "[n, m] -> { S[i, j] : 0 <= i < n and (j mod 2 = 0 or exists e: j = 3e) and j < m }",
        "{ [i, j] : i <= j <= 2i - 3 or i = -j }",
        "{ [i] : 5 >= i > -7 and i != 2 }",
        "[n] -> { [i, j] : j = floor((i + n)/4) and 0 <= i mod 3 <= 1 }",
        "{ [i] : 1 <= 0 }",
        "{ A[i]; A[j] : j > 3 }",
    ] {
        let value = set(text);
        let printed = value.to_string();
        assert_eq!(set(&printed), value, "{text} printed as {printed}");
    }
    for text in [
        "{ [i] -> [i] }",
        "[n] -> { S[i, j] -> A[i + 1, 2j] : 0 <= i, j < n }",
        "{ [i] -> [] }",
        "{ [] -> [3] }",
        "{ [i] -> [j] : i < j; [i] -> [-i] }",
    ] {
        let value = map(text);
        let printed = value.to_string();
        assert_eq!(map(&printed), value, "{text} printed as {printed}");
    }
}

#[test]
fn printed_forms() {
    assert_eq!(
        set("[n, m] -> { S[i, j] : 0 <= i < n and (j = i or j > m) }").to_string(),
        "[m, n] -> { S[i, j] : (0 <= i and i < n and j = i) or (0 <= i and i < n and m < j) }"
    );
    assert_eq!(map("{ [i] -> [i] }").to_string(), "{ [i] -> [o0] : o0 = i }");
    // Remainders are printed as such, even with coefficients, signs and other terms, and floors
    // unchanged.
    for text in [
        "{ [i] : i mod 4 = 0 }",
        "{ [i] : 2 <= (3*i + 1) mod 4 }",
        "{ [i, j] : 3*(i mod 4) <= j + 2*(j mod 6) }",
        "{ [i, j] : j < i + i mod 4 }",
        "{ [i, j] : j = 4*floor(i/4) + 2*i }",
        "{ [i] : floor((i + 3)/12) mod 5 <= i }",
        "{ [i, j] : (i + j) mod 8 + (i - j) mod 2 < 3 }",
        "{ [i] : i mod 4 + i mod 8 <= 3 }",
    ] {
        let value = set(text);
        let printed = value.to_string();
        assert_eq!(set(&printed), value, "{text} printed as {printed}");
    }
    assert_eq!(set("{ [i] : i mod 4 = 0 }").to_string(), "{ [i] : i mod 4 = 0 }");
    assert_eq!(set("{ [i, j] : j = 4*floor(i/4) + 2*i }").to_string(), "{ [i, j] : j = 4*floor(i/4) + 2*i }");
    assert_eq!(set("{ [i, j] : 3*(i mod 4) < j }").to_string(), "{ [i, j] : 3*(i mod 4) < j }");
}

#[test]
fn the_meaning_of_the_syntax() {
    same("{ [i] : exists e: i = 2e and 0 <= e < 3 }", "{ [i] : i = 0 or i = 2 or i = 4 }");
    same("{ [i] : exists (e, f : i = 6e and i = 4f) and 0 <= i < 20 }", "{ [i] : i = 0 or i = 12 }");
    // A name that is given a value has no other one.
    same("{ [i] : exists (e = floor(i/4) : e = 1) }", "{ [i] : 4 <= i <= 7 }");
    same("{ [i] : exists (e = 2i + 1, f : 0 <= e < 4 and f = i) }", "{ [i] : 0 <= i <= 1 }");
    same("{ [i] : i <= 7/2 and i >= 1/3 }", "{ [i] : 1 <= i <= 3 }");
    same("[n] -> { [i] : i <= n/2 }", "[n] -> { [i] : 2*i <= n }");
    // A quotient that is an integer can be used where an integer is needed.
    same("{ [6/3] }", "{ [2] }");
    same("{ [i] : i = (7 + 12/4) mod 4 or i = -10/5 }", "{ [i] : i = 2 or i = -2 }");
    same("{ [i] : floord(i, 3) = 1 }", "{ [i] : 3 <= i <= 5 }");
    same("{ [i] : ceil(i/3) = 1 }", "{ [i] : 1 <= i <= 3 }");
    same("{ [i] : not (0 <= i < 5) }", "{ [i] : i < 0 or i >= 5 }");
    same("{ [i] : not exists e: i = 2e }", "{ [i] : i mod 2 = 1 }");
    same("{ [i, j] : 0 <= i, j < 4 }", "{ [i, j] : 0 <= i < 4 and 0 <= j < 4 }");
    same("{ [i, i] }", "{ [i, j] : j = i }");
    same("{ [i, j = 2i] }", "{ [i, j] : j = 2i }");
    same("{ [i] : i = -3 mod 5 }", "{ [i] : i = 2 }");
    same("{ [i] : 0 <= i && (i < 3 || i == 7) }", "{ [i] : i = 7 or 0 <= i <= 2 }");
    same("{ [i] : (i) + (1) < 3 and ((i) > 0) }", "{ [i] : i = 1 }");
}

#[test]
fn errors_have_places() {
    for (text, offset, message) in [
        ("{ [i] : i < m }", 12, "the name `m` is neither a parameter nor a dimension"),
        ("{ [i] : i * i > 0 }", 14, "a product of two functions is not affine"),
        ("{ [i] : 0 <= }", 13, "expected a number, a name or a bracket"),
        ("{ [i] : i }", 10, "expected a comparison"),
        ("{ [i] ", 6, "expected `}`"),
        ("{ [i] } x", 8, "nothing may follow the closing brace"),
        ("{ [i] -> [j] }", 6, "a set has one tuple, this is a map"),
        ("{ [i] : i # 3 }", 10, "`#` has no meaning here"),
        ("{ [i] : i < 99999999999999999999 }", 12, "the number does not fit into 64 bits"),
        ("{ [i] : i mod 0 = 1 }", 14, "expected a positive constant as the divisor"),
        ("{ }", 2, "an empty set needs its dimensions: `{ [i] : false }`"),
        ("[n, n] -> { [i] }", 5, "two parameters are called `n`"),
        // A word of the syntax names nothing, neither a parameter nor a tuple.
        ("[mod] -> { [i] }", 1, "expected a name"),
        ("{ [i] : exists exists : i = 0 }", 15, "expected a name"),
    ] {
        let expected = Error::Syntax { message: message.into(), offset };
        assert_eq!(text.parse::<Set>(), Err(expected), "{text}");
    }
    assert!(matches!("{ [i]; [i, j] }".parse::<Set>(), Err(Error::Syntax { offset: 7, .. })));
    assert!(matches!("{ A[i]; B[i] }".parse::<Set>(), Err(Error::Syntax { offset: 8, .. })));
    assert_eq!("{ [i] : 9223372036854775807 * 2 > i }".parse::<Set>(), Err(Error::Overflow));
}

#[test]
fn deep_brackets_are_refused() {
    for bracket in ["(", "not ", "-", "[", "floor(", "exists e: ("] {
        let text = format!("{{ [i] : {} i > 0 }}", bracket.repeat(20_000));
        assert!(matches!(text.parse::<Set>(), Err(Error::Syntax { .. })), "{bracket}");
        let closed = format!("{{ [i] : {} i > 0 {} }}", "(".repeat(20_000), ")".repeat(20_000));
        assert!(matches!(closed.parse::<Set>(), Err(Error::Syntax { .. })));
    }
    // Forty levels are within the limit.
    let text = format!("{{ [i] : {}i > 0{} }}", "(".repeat(40), ")".repeat(40));
    assert_eq!(set(&text), set("{ [i] : i > 0 }"));
}

#[test]
fn too_many_alternatives_are_refused() {
    let text = format!("{{ [i] : {} }}", vec!["(i != 3)"; 30].join(" and "));
    assert!(matches!(text.parse::<Set>(), Err(Error::Syntax { .. })));
    // The greatest number allowed, and one more.
    let points = |count: usize| {
        let points: Vec<String> = (0..count).map(|i| format!("i = {i}")).collect();
        format!("{{ [i] : {} }}", points.join(" or ")).parse::<Set>()
    };
    assert_eq!(points(1024).unwrap().disjuncts().len(), 1024);
    assert!(matches!(points(1025), Err(Error::Syntax { .. })));
}

#[test]
fn numbers_that_could_not_be_printed_are_refused() {
    // `i` beyond the greatest i64 would need the constant -2^63, which cannot be negated.
    for text in ["{ [i] : i > 9223372036854775807 }", "{ [i] : 9223372036854775807 != i }"] {
        assert!(matches!(text.parse::<Set>(), Err(Error::Overflow | Error::Syntax { .. })), "{text}");
    }
    for text in ["{ [i] : i >= 9223372036854775807 }", "{ [i] : -9223372036854775807 <= i }"] {
        let value = set(text);
        assert_eq!(set(&value.to_string()), value, "{text}");
    }
}

#[test]
fn numbers_without_a_negative_are_printed() {
    let least = Aff::constant(i64::MIN);
    assert_eq!(Constraint::nonneg(least.clone()).to_string(), "0 <= -9223372036854775808");
    assert_eq!(Constraint::zero(least).to_string(), "0 = -9223372036854775808");
}

#[test]
fn values_are_plain() {
    fn plain<T: Send + Sync + Clone + std::hash::Hash + Eq + serde::Serialize>() {}
    plain::<Set>();
    plain::<Map>();
    let value = set("[n] -> { S[i] : 0 <= i < n and i mod 2 = 1 }");
    assert_eq!(value.params(), [Name::new("n")]);
    assert_eq!(value.dims(), [Name::new("i")]);
}

fn comparison() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["<", "<=", "=", "!=", ">=", ">"])
}

/// Sums of names, floors and remainders under coefficients that are small or as large as they can
/// be.
fn sum() -> impl Strategy<Value = String> {
    let number =
        || prop::sample::select(vec!["1", "2", "3", "12", "4611686018427387904", "9223372036854775807"]);
    let inner = (number(), prop::sample::select(vec!["i", "j", "n"]), number())
        .prop_map(|(a, x, b)| format!("{a}*{x} + {b}"));
    let term = (number(), inner, number(), 0..4).prop_map(|(a, inner, d, form)| match form {
        0 => a.to_string(),
        1 => inner,
        2 => format!("{a}*floor(({inner})/{d})"),
        _ => format!("{a}*(({inner}) mod {d})"),
    });
    prop::collection::vec((prop::sample::select(vec!["+", "-"]), term), 1..3).prop_map(|terms| {
        terms.iter().map(|(sign, term)| format!("{sign} {term}")).collect::<Vec<_>>().join(" ")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_survived(text in "\\PC{0,60}") {
        let _ = (text.parse::<Set>(), text.parse::<Map>());
    }

    #[test]
    fn any_words_are_survived(words in prop::collection::vec(prop::sample::select(vec![
        "[", "]", "{", "}", "(", ")", "->", ":", ";", ",", "i", "j", "n", "e", "0", "1", "7", "9223372036854775807", "-", "+",
        "*", "/", "mod", "floor(", "exists", "and", "or", "not", "<", "<=", "=", "!=", "true", "false", "S[", "{ [i, j] :", "}",
    ]), 0..25)) {
        let text = words.join(" ");
        let _ = (text.parse::<Set>(), text.parse::<Map>());
        let inside = format!("[n] -> {{ [i, j] : {text} }}");
        if let Ok(value) = inside.parse::<Set>() {
            prop_assert_eq!(value.to_string().parse::<Set>(), Ok(value));
        }
    }

    #[test]
    fn formulas_print_back(parts in prop::collection::vec((sum(), comparison(), sum(), prop::sample::select(vec!["and", "or"])), 1..4)) {
        let formula: Vec<String> = parts.iter().map(|(a, c, b, _)| format!("{a} {c} {b}")).collect();
        let text = format!("[n] -> {{ [i, j] : {} }}", formula.join(&format!(" {} ", parts[0].3)));
        if let Ok(value) = text.parse::<Set>() {
            prop_assert_eq!(value.to_string().parse::<Set>(), Ok(value), "{}", text);
        }
    }
}

/// A remainder is printed as such, unless its factor is so large that reading it again could
/// overflow.
#[test]
fn remainders_with_very_large_factors_are_printed_as_floors() {
    let text = |factor: i64| Aff::var("x").modulo(3).unwrap().scale(factor).unwrap().to_string();
    assert_eq!(text(5), "5*(x mod 3)");
    // 2^60 and 3*2^60.
    assert_eq!(text(1 << 60), "1152921504606846976*x - 3458764513820540928*floor(x/3)");
}
