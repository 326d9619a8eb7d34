//! Systems typical of loop nests, unbounded and with parameters and large strides: they have too
//! many points to enumerate, so plain Rust is compared with isl.

use loopwright_poly::{Aff, Constraint, Kind, Name, Result, Set, System, with_budget, with_isl_only};
use proptest::prelude::*;

const NAMES: [&str; 6] = ["n", "m", "io", "ii", "j", "k"];

/// Small, as random systems are far stranger than loop nests.
const BUDGET: u64 = 2_000;

fn term(coefficients: &[i64], constant: i64) -> Result<Aff> {
    let mut sum = Aff::constant(constant);
    for (n, c) in NAMES.iter().zip(coefficients) {
        sum = sum.add(&Aff::var(*n).scale(*c)?)?;
    }
    Ok(sum)
}

fn coefficient() -> impl Strategy<Value = i64> {
    prop_oneof![6 => Just(0i64), 4 => Just(1), 4 => Just(-1), 1 => Just(16), 1 => Just(-16), 1 => -9i64..=9, 1 => Just(-128)]
}

prop_compose! {
    fn constraint()(
        c in prop::collection::vec(coefficient(), 6),
        constant in prop_oneof![Just(0i64), Just(-1), -20i64..=20, Just(127)],
        eq in prop::bool::weighted(0.2),
        div in prop::option::weighted(0.2, (prop::collection::vec(coefficient(), 6), prop_oneof![Just(2i64), Just(16), 3i64..=7])),
    ) -> Constraint {
        let mut f = term(&c, constant).unwrap();
        if let Some((numerator, d)) = div {
            f = f.sub(&term(&numerator, 3).unwrap().floor_div(d).unwrap()).unwrap();
        }
        Constraint { kind: if eq { Kind::Eq } else { Kind::Ge }, aff: f }
    }
}

prop_compose! {
    fn system()(list in prop::collection::vec(constraint(), 1..6), tiled in any::<bool>()) -> System {
        let mut all = list;
        if tiled {
            let i = Aff::var("io").scale(16).unwrap().add(&Aff::var("ii")).unwrap();
            all.push(Constraint::le(&Aff::constant(0), &i).unwrap());
            all.push(Constraint::lt(&i, &Aff::var("n")).unwrap());
            all.push(Constraint::le(&Aff::constant(0), &Aff::var("ii")).unwrap());
            all.push(Constraint::lt(&Aff::var("ii"), &Aff::constant(16)).unwrap());
        }
        System::new(&all).unwrap()
    }
}

fn dims(from: usize) -> Vec<Name> {
    NAMES[from..].iter().map(Name::new).collect()
}

/// Compares both answers if both exist: either side may exhaust its budget or overflow 64 bits.
fn agree<T: PartialEq + std::fmt::Debug>(
    ask: impl Fn() -> Result<T>,
) -> std::result::Result<(), TestCaseError> {
    with_budget(BUDGET, || {
        if let (Ok(plain), Ok(isl)) = (ask(), with_isl_only(&ask)) {
            prop_assert_eq!(plain, isl);
        }
        Ok(())
    })
}

fn same(make: impl Fn() -> Result<Set>) -> std::result::Result<(), TestCaseError> {
    with_budget(BUDGET, || {
        if let (Ok(plain), Ok(isl)) = (make(), with_isl_only(&make))
            && let Ok(equal) = with_isl_only(|| plain.is_equal(&isl))
        {
            prop_assert!(equal, "{} is not {}", plain, isl);
        }
        Ok(())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn emptiness_and_implication(s in system(), c in constraint()) {
        agree(|| s.is_empty())?;
        agree(|| s.implies(&c))?;
    }

    #[test]
    fn ranges(s in system()) {
        agree(|| s.constant_range(&Aff::var("j")))?;
        agree(|| s.constant_range(&Aff::var("ii")))?;
    }

    #[test]
    fn projections(s in system(), goes in 1usize..4) {
        let set = Set::from_systems(&dims(2), vec![s]).unwrap();
        same(|| set.project_out(&dims(6 - goes)))?;
    }

    #[test]
    fn differences(a in system(), b in system()) {
        let a = Set::from_systems(&dims(2), vec![a]).unwrap();
        let b = Set::from_systems(&dims(2), vec![b]).unwrap();
        same(|| a.subtract(&b))?;
        agree(|| a.is_subset(&b))?;
    }

    #[test]
    fn simplified(a in system(), b in system(), c in system()) {
        let a = Set::from_systems(&dims(2), vec![a]).unwrap();
        let context = Set::from_systems(&dims(2), vec![b, c]).unwrap();
        with_budget(BUDGET, || {
            // Within the context it is equivalent; outside, it may differ.
            let within = a.gist(&context).and_then(|simple| Ok((simple.intersect(&context)?, a.intersect(&context)?)));
            if let Ok((simple, whole)) = within && let Ok(equal) = with_isl_only(|| simple.is_equal(&whole)) {
                prop_assert!(equal, "{} is not {}", simple, whole);
            }
            Ok(())
        })?;
    }

    #[test]
    fn extremes(s in system()) {
        let set = Set::from_systems(&dims(4), vec![s]).unwrap();
        same(|| set.lexmin())?;
        same(|| set.dim_max(&"j".into()))?;
    }
}

/// isl's own gist writes out of bounds for this pair, because the context turns out to be empty.
#[test]
fn simplified_where_isl_corrupts_the_heap() {
    let a: Set = "[m, n] -> { [io, ii, j, k] : 16*n + io + k = -1 and n <= 16*j + 2*m + io + 127
        and 128*j + floor((j - ii - m - n)/3) = 16*n + ii + m - 18
        and j + floor((16*m + j + k - io)/3) < 4*ii + n and 128*ii + m + n <= -1 }"
        .parse()
        .unwrap();
    let b: Set = "[m, n] -> { [io, ii, j, k] : 128*ii <= k - 20 and ii = j + k - 1 and io + n <= 10
        and 8*j + 2*io + n + floor((1 - k - m)/2) <= ii + k + m - 2 and 0 <= 16*io + ii and 16*io + ii < n
        and 0 <= ii and ii <= 15 }"
        .parse()
        .unwrap();
    let simple = a.gist(&b).unwrap();
    assert!(simple.intersect(&b).unwrap().is_equal(&a.intersect(&b).unwrap()).unwrap());
}
