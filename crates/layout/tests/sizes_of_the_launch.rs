//! Sizes that are launch parameters: results that hold for all of them, and refusals of those that
//! do not.

use crate::common;

use common::{Plain, layout, tiler, values};
use loopwright_layout::{
    Error, Int, Layout, Result, Tiler, complement, composition, left_inverse, logical_divide,
    logical_product, right_inverse, zipped_divide,
};
use loopwright_poly::{Aff, Name};
use proptest::prelude::*;

fn int(text: &str) -> Int {
    match loopwright_layout::eval::evaluate(text) {
        Ok(loopwright_layout::eval::Value::Int(n)) => n,
        other => panic!("{text}: {other:?}"),
    }
}

/// `m` and `n` with these values.
fn with(layout: &Layout, m: i64, n: i64) -> Layout {
    layout.with_sizes(&|name: &Name| Some(if *name == "m" { m } else { n })).unwrap()
}

/// The result of an operation for open sizes agrees with that for each of their values.
fn holds_for_all(open: &Result<Layout>, fixed: &dyn Fn(i64, i64) -> Result<Layout>) {
    let open = open.as_ref().unwrap_or_else(|e| panic!("{e}"));
    for m in 1..=9 {
        for n in [1, 2, 3, 4, 6, 8, 11] {
            let (a, b) = (with(open, m, n), fixed(m, n).unwrap_or_else(|e| panic!("{m}, {n}: {e}")));
            assert_eq!(values(&a), values(&b), "{open} at {m}, {n}: {a} and {b}");
        }
    }
}

fn checked(text: &str, operation: &dyn Fn(&Layout) -> Result<Layout>) {
    let l = layout(text);
    holds_for_all(&operation(&l), &|m, n| operation(&with(&l, m, n)));
}

#[test]
fn arrays_of_any_size_are_tiled() {
    for array in ["(m,n):(n,1)", "(m,n):(1,m)", "(m,n):(n + 3,1)", "(m,n):(2*n,2)", "(m,n):(0,1)"] {
        for tile in ["(4,8)", "<4:1, _>", "<3:2, 2>", "(1,2)"] {
            let tile = tiler(tile);
            checked(array, &|l| logical_divide(l, &tile));
            checked(array, &|l| zipped_divide(l, &tile));
        }
    }
    let r = zipped_divide(&layout("(m,n):(n,1)"), &tiler("(16,16)")).unwrap();
    assert_eq!(r.to_string(), "((16,16),(ceil_div(m,16),ceil_div(n,16))):((n,1),(16*n,16))");
}

#[test]
fn other_operations_hold_for_all_sizes() {
    checked("(m,n):(1,m)", &|l| l.coalesce());
    checked("(4,m,n):(1,4,4*m)", &|l| l.coalesce());
    checked("(m,1,n):(0,5,2)", &|l| l.filter());
    checked("(m,n):(n,1)", &right_inverse);
    checked("(m,n):(n,1)", &left_inverse);
    checked("(4,m):(m,1)", &left_inverse);
    checked("(m,n):(1,m)", &|l| complement(l, &Int::from(100)));
    checked("(4,8):(m,4*m)", &|l| complement(l, &Int::from(100)));
    checked("(4,m):(1,4)", &|l| logical_product(l, &Tiler::Layout(layout("(2,3):(3,1)"))));
    checked("(4,m):(1,6)", &|l| composition(l, &layout("(2,2):(1,2)")));
    checked("(4,m):(1,6)", &|l| composition(l, &layout("4:4")));
    assert_eq!(layout("(m,n):(1,m)").coalesce().unwrap().to_string(), "m*n:1");
    assert_eq!(layout("(m,n):(n,1)").cosize().unwrap().to_string(), "m*n");
}

/// Each of these is wrong for some sizes.
#[test]
fn what_does_not_hold_for_all_sizes_is_refused() {
    let refused = |result: Result<Layout>, text: &str| match result {
        Err(Error::NotKnown { .. }) => assert_eq!(result.unwrap_err().to_string(), text),
        other => panic!("{other:?}"),
    };
    refused(
        composition(&layout("(m,n):(1,m+1)"), &layout("8:1")),
        "composition: that m, what is left of mode 0 of A, divides 8 would have to be known for \
         all sizes",
    );
    refused(
        composition(&layout("(m,n):(1,m+1)"), &layout("8:2")),
        "composition: that 2 divides m, or m divides 2, in mode 0 of A would have to be known for \
         all sizes",
    );
    refused(
        complement(&layout("(4,2):(1,m)"), &Int::from(64)),
        "complement: that 4 divides the stride of mode 2:m would have to be known for all sizes",
    );
    refused(
        complement(&layout("(4,2):(1,m+4)"), &Int::from(64)),
        "complement: that 4 divides the stride of mode 2:m + 4 would have to be known for all sizes",
    );
    refused(
        complement(&layout("(4,2):(m,n)"), &Int::from(64)),
        "complement: the order of the modes 4:m and 2:n would have to be known for all sizes",
    );
    let carries = composition(&layout("(4*m,n):(1,4*m+1)"), &layout("(2,3):(1,2)"));
    assert!(matches!(carries, Err(Error::NotKnown { .. })), "{carries:?}");
}

#[test]
fn numbers_are_polynomials() {
    let text = |t: &str| int(t).to_string();
    assert_eq!(text("(m + 1)*(m - 1)"), "m*m - 1");
    assert_eq!(text("2*n*m + 3 - n*m*2"), "3");
    assert_eq!(text("ceil_div(16*n*m, 4*n)"), "4*m");
    assert_eq!(text("ceil_div(6*m, 4)"), "ceil_div(3*m,2)");
    assert_eq!(text("ceil_div(ceil_div(m, 4), 8)"), "ceil_div(m,32)");
    assert_eq!(text("ceil_div(4, m + 3)"), "1");
    assert_eq!(text("-m - 2"), "-m - 2");
    assert_eq!(int("(m + n)*(m - n)").exact_div(&int("m - n")), Some(int("m + n")));
    assert_eq!(int("m*n + 1").exact_div(&int("m")), None);
    assert_eq!(int("m").at_most(&int("m*n")), Some(true));
    assert_eq!(int("m + 1").at_most(&int("m")), Some(false));
    assert_eq!(int("m").at_most(&int("n")), None);
    assert_eq!(int("9223372036854775807").add(&Int::ONE), Err(Error::Overflow));
}

fn any_int() -> BoxedStrategy<Int> {
    let leaf = prop_oneof![(-6i64..=6).prop_map(Int::from), Just(Int::name("m")), Just(Int::name("n"))];
    leaf.boxed()
        .prop_recursive(3, 12, 2, |inner| {
            (inner.clone(), inner, 0..3).prop_map(|(a, b, op)| {
                let result = match op {
                    0 => a.add(&b),
                    1 => a.sub(&b),
                    _ => a.mul(&b),
                };
                result.unwrap_or(a)
            })
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Arithmetic on numbers is arithmetic on their values, and what is claimed holds for all.
    #[test]
    fn numbers_are_their_values(a in any_int(), b in any_int()) {
        let (sum, product) = (a.add(&b).unwrap(), a.mul(&b).unwrap());
        prop_assert_eq!(product.exact_div(&b).is_some(), !b.is_zero());
        for m in 1..=4 {
            for n in 1..=4 {
                let at = |v: &Int| v.eval(&|name: &Name| Some(if *name == "m" { m } else { n })).unwrap();
                let (x, y) = (at(&a), at(&b));
                prop_assert_eq!(at(&sum), x + y);
                prop_assert_eq!(at(&product), x * y);
                if let Some(quotient) = a.exact_div(&b) {
                    prop_assert_eq!(at(&quotient) * y, x);
                }
                if let Some(is_at_most) = a.at_most(&b) {
                    prop_assert_eq!(is_at_most, x <= y);
                }
                if let (Ok(quotient), true) = (a.ceil_div(&b), y != 0) {
                    prop_assert_eq!(at(&quotient), x.div_euclid(y) + i64::from(x.rem_euclid(y) != 0 && y > 0));
                }
                if let Ok(aff) = a.to_aff() {
                    prop_assert_eq!(aff.eval(&|name: &Name| Some(if *name == "m" { m } else { n })), Some(x));
                }
            }
        }
        prop_assert_eq!(int(&a.to_string()), a);
    }
}

/// The affine form of a layout whose last size is open.
#[test]
fn open_layouts_have_affine_forms() {
    let l = layout("((4,2),m):((2,1),16)");
    let aff = l.to_aff(&Aff::var("i")).unwrap();
    for i in 0..64 {
        assert_eq!(aff.eval(&|_: &Name| Some(i)), Some(Plain::of(&with(&l, 8, 1)).at(i)));
    }
    assert!(layout("(4,m):(1,4)").is_injective().unwrap());
    assert!(!layout("(4,m):(1,2)").is_injective().unwrap());
    assert!(layout("(m,n):(n,1)").is_injective().is_err(), "its stride is not a constant");
}
