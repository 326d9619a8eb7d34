//! Constraints on the leading digits of mixed radix numbers: by hand, and by enumeration.

use loopwright_poly::{Aff, Constraint, leading};
use proptest::prelude::*;

fn sum(terms: &[(&str, i64)], constant: i64) -> Aff {
    let add = |aff: Aff, (name, k): &(&str, i64)| aff.add(&Aff::var(*name).scale(*k).unwrap()).unwrap();
    terms.iter().fold(Aff::constant(constant), add)
}

fn between(name: &str, first: i64, last: i64) -> [Constraint; 2] {
    [Constraint::nonneg(sum(&[(name, 1)], -first)), Constraint::nonneg(sum(&[(name, -1)], last))]
}

/// What is left of a constraint, where `w` and `l` are at most these.
fn left(constraint: Constraint, w: i64, l: i64) -> Vec<Constraint> {
    leading(&[&[constraint], &between("w", 0, w)[..], &between("l", 0, l)].concat(), &|name| name == "k")
}

#[test]
fn digits_that_make_no_difference_are_dropped() {
    let number = |last| Constraint::nonneg(sum(&[("k", -256), ("w", -32), ("l", -1)], last));
    assert_eq!(left(number(2047), 7, 31), [Constraint::nonneg(sum(&[("k", -1)], 7))]);
    // The last round has 8 of the 32 lanes, or 7 of the 8 values of `w`.
    assert!(left(number(2047 - 24), 7, 31).is_empty());
    let rounds = Constraint::nonneg(sum(&[("k", -8), ("w", -1)], 62));
    assert_eq!(left(number(2047 - 32), 7, 31), [rounds]);
    // Where `w` or `l` go further than the digit does, they have to be asked for.
    let rounds = Constraint::nonneg(sum(&[("k", -8), ("w", -1)], 63));
    assert_eq!(left(number(2047), 8, 31), [rounds]);
    assert!(left(number(2047), 7, 32).is_empty());
}

#[test]
fn a_least_number_likewise() {
    let number = |least: i64| Constraint::nonneg(sum(&[("k", 256), ("w", 32), ("l", 1)], -least));
    assert_eq!(left(number(512), 7, 31), [Constraint::nonneg(sum(&[("k", 1)], -2))]);
    assert!(left(number(511), 7, 31).is_empty());
    // That `k` is not negative is known.
    assert!(left(number(0), 7, 31).is_empty());
}

#[test]
fn what_has_no_constant_range_stays() {
    let number = Constraint::nonneg(sum(&[("k", -32), ("l", -1), ("n", 1)], -1));
    assert!(left(number, 7, 31).is_empty());
    let equal = Constraint::zero(sum(&[("k", -32), ("l", -1)], 31));
    assert!(left(equal, 7, 31).is_empty());
}

proptest! {
    #[test]
    fn the_same_numbers_are_left(
        k in -70i64..70,
        w in -30i64..30,
        l in -3i64..4,
        constant in -300i64..300,
        of_w in (-2i64..3, 0i64..6),
        of_l in (-2i64..3, 0i64..6),
    ) {
        let value = |at: [i64; 3]| k * at[0] + w * at[1] + l * at[2] + constant;
        let number = Constraint::nonneg(sum(&[("k", k), ("w", w), ("l", l)], constant));
        let ranges = [between("w", of_w.0, of_w.0 + of_w.1), between("l", of_l.0, of_l.0 + of_l.1)];
        for found in leading(&[&[number], &ranges.concat()[..]].concat(), &|_| false) {
            for at_k in -12..12 {
                for at_w in of_w.0..=of_w.0 + of_w.1 {
                    for at_l in of_l.0..=of_l.0 + of_l.1 {
                        let at = |name: &str| match name {
                            "k" => at_k,
                            "w" => at_w,
                            _ => at_l,
                        };
                        let holds = found.aff.eval(&|name| Some(at(name))).unwrap() >= 0;
                        prop_assert_eq!(holds, value([at_k, at_w, at_l]) >= 0, "{:?}", found);
                    }
                }
            }
        }
    }
}
