//! Random unions in a small box, every operation compared with enumeration, in plain Rust and by
//! isl alone.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_poly::{Aff, Constraint, Kind, Map, Name, Set, System, with_isl_only};
use proptest::prelude::*;

const NAMES: [&str; 3] = ["n", "i", "j"];
const BOX: std::ops::RangeInclusive<i64> = -2..=3;

fn dims() -> [Name; 2] {
    ["i".into(), "j".into()]
}

fn aff(c: &[i64], constant: i64) -> Aff {
    NAMES
        .iter()
        .zip(c)
        .fold(Aff::constant(constant), |sum, (n, c)| sum.add(&Aff::var(*n).scale(*c).unwrap()).unwrap())
}

prop_compose! {
    fn constraint()(
        c in prop::collection::vec(-3i64..=3, 3),
        constant in -5i64..=5,
        eq in prop::bool::weighted(0.2),
        div in prop::option::weighted(0.25, (prop::collection::vec(-2i64..=2, 3), 2i64..=4, -2i64..=2)),
    ) -> Constraint {
        let mut f = aff(&c, constant);
        if let Some((numerator, d, factor)) = div {
            f = f.add(&aff(&numerator, 1).floor_div(d).unwrap().scale(factor).unwrap()).unwrap();
        }
        Constraint { kind: if eq { Kind::Eq } else { Kind::Ge }, aff: f }
    }
}

prop_compose! {
    fn system()(list in prop::collection::vec(constraint(), 0..3)) -> System {
        let mut all = Vec::new();
        for n in NAMES {
            all.push(Constraint::le(&Aff::constant(*BOX.start()), &Aff::var(n)).unwrap());
            all.push(Constraint::le(&Aff::var(n), &Aff::constant(*BOX.end())).unwrap());
        }
        all.extend(list);
        System::new(&all).unwrap()
    }
}

prop_compose! {
    fn set()(list in prop::collection::vec(system(), 0..3)) -> Set {
        Set::from_systems(&dims(), list).unwrap().with_params(&["n".into()]).unwrap()
    }
}

type Points = BTreeSet<[i64; 3]>;

fn points(s: &Set) -> Points {
    let mut found = Points::new();
    for n in BOX {
        for i in BOX {
            for j in BOX {
                let p = [n, i, j];
                let value = |x: &Name| {
                    let names = [&Name::new("n"), &s.dims()[0], &s.dims()[1]];
                    names.iter().position(|m| *m == x).map(|k| p[k])
                };
                if s.contains(&value).unwrap() {
                    found.insert(p);
                }
            }
        }
    }
    found
}

/// Once as usual, once by isl alone.
fn both(check: impl Fn()) {
    check();
    with_isl_only(check);
}

/// `i -> j` for each point, per `n`.
fn as_map(s: &Set) -> Map {
    Map::from_systems(&dims()[..1], &dims()[1..], s.disjuncts().to_vec()).unwrap()
}

fn from_map(m: &Map) -> Set {
    m.wrap().unwrap().with_params(&["n".into()]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn booleans(a in set(), b in set()) {
        let (pa, pb) = (points(&a), points(&b));
        both(|| {
            assert_eq!(points(&a.intersect(&b).unwrap()), &pa & &pb);
            assert_eq!(points(&a.union(&b).unwrap()), &pa | &pb);
            assert_eq!(points(&a.subtract(&b).unwrap()), &pa - &pb);
            assert_eq!(a.is_empty().unwrap(), pa.is_empty());
            assert_eq!(a.is_subset(&b).unwrap(), pa.is_subset(&pb));
            assert_eq!(a.is_equal(&b).unwrap(), pa == pb);
            assert_eq!(points(&a.coalesce().unwrap()), pa);
            assert_eq!(points(&a.make_disjoint().unwrap()), pa);
            let simple = a.gist(&b).unwrap();
            assert_eq!(&points(&simple) & &pb, &pa & &pb);
            let outside = a.complement().unwrap();
            assert!(points(&outside).is_disjoint(&pa));
            assert!(outside.union(&a).unwrap().is_equal(&Set::universe(&dims()).unwrap()).unwrap());
        });
    }

    #[test]
    fn projections_and_extremes(a in set()) {
        let pa = points(&a);
        both(|| {
            let shadow = a.project_out(&dims()[1..]).unwrap();
            for n in BOX { for i in BOX {
                let expected = pa.iter().any(|p| p[0] == n && p[1] == i);
                let value = |x: &Name| Some(if *x == "n" { n } else { i });
                assert_eq!(shadow.contains(&value).unwrap(), expected, "{shadow}");
            }}
            let mut least: BTreeMap<i64, [i64; 3]> = BTreeMap::new();
            for p in pa.iter().rev() {
                least.insert(p[0], *p);
            }
            assert_eq!(points(&a.lexmin().unwrap()), least.into_values().collect::<Points>());
            let greatest: BTreeMap<i64, [i64; 3]> = pa.iter().map(|p| (p[0], *p)).collect();
            assert_eq!(points(&a.lexmax().unwrap()), greatest.into_values().collect::<Points>());
            let sample = a.sample(&BTreeMap::new()).unwrap();
            assert_eq!(sample.is_none(), pa.is_empty());
            if let Some(s) = sample {
                assert!(a.contains(&|n| s.get(n).copied()).unwrap());
            }
        });
    }

    /// With two further outputs after one, its bounds are not always exact.
    #[test]
    fn extremes_of_three(list in prop::collection::vec((prop::collection::vec(-4i64..=4, 3), -6i64..=6), 1..4)) {
        let names = ["i", "j", "k"].map(Name::new);
        let mut all = Vec::new();
        for n in &names {
            all.push(Constraint::le(&Aff::constant(0), &Aff::var(n)).unwrap());
            all.push(Constraint::le(&Aff::var(n), &Aff::constant(3)).unwrap());
        }
        for (c, constant) in &list {
            let terms = names.iter().zip(c).map(|(n, c)| Aff::var(n).scale(*c).unwrap());
            let sum = terms.fold(Aff::constant(*constant), |sum, term| sum.add(&term).unwrap());
            all.push(Constraint::nonneg(sum));
        }
        let set = Set::from_constraints(&names, &all).unwrap();
        let mut found = Vec::new();
        for p in 0..64 {
            let p = [p / 16, p / 4 % 4, p % 4];
            if set.contains(&|n| names.iter().position(|m| m == n).map(|k| p[k])).unwrap() {
                found.push(p);
            }
        }
        for (extreme, expected) in [(set.lexmin().unwrap(), found.first()), (set.lexmax().unwrap(), found.last())] {
            assert_eq!(extreme.is_empty().unwrap(), expected.is_none());
            for p in &found {
                let inside = extreme.contains(&|n| names.iter().position(|m| m == n).map(|k| p[k])).unwrap();
                assert_eq!(inside, Some(p) == expected, "{p:?} in {extreme}");
            }
        }
    }

    #[test]
    fn maps(a in set(), b in set()) {
        let (pa, pb) = (points(&a), points(&b));
        let (ma, mb) = (as_map(&a), as_map(&b));
        let composed: Points = pa
            .iter()
            .flat_map(|p| pb.iter().filter(move |q| q[0] == p[0] && q[1] == p[2]).map(move |q| [p[0], p[1], q[2]]))
            .collect();
        both(|| {
            assert_eq!(points(&from_map(&ma.then(&mb).unwrap())), composed);
            let back: Points = pa.iter().map(|p| [p[0], p[2], p[1]]).collect();
            assert_eq!(points(&from_map(&ma.reverse())), back);
            let single = pa.iter().all(|p| !pa.iter().any(|q| q[..2] == p[..2] && q[2] != p[2]));
            assert_eq!(ma.is_single_valued().unwrap(), single);
            let least: BTreeMap<(i64, i64), i64> = pa.iter().rev().map(|p| ((p[0], p[1]), p[2])).collect();
            let least: Points = least.into_iter().map(|((n, i), j)| [n, i, j]).collect();
            assert_eq!(points(&from_map(&ma.lexmin().unwrap())), least);
            let image = mb.domain().unwrap().apply(&mb).unwrap();
            assert!(image.is_equal(&mb.range().unwrap()).unwrap());
            assert!(mb.range().unwrap().preimage(&mb).unwrap().is_equal(&mb.domain().unwrap()).unwrap());
        });
    }

    #[test]
    fn text(a in set()) {
        prop_assert_eq!(a.to_string().parse::<Set>().unwrap(), a);
    }
}
