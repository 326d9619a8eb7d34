//! Random systems in a small box, every answer compared with enumeration.

use std::collections::BTreeMap;

use loopwright_poly::{Aff, Constraint, Error, Kind, Name, System};
use proptest::prelude::*;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const BOX: std::ops::RangeInclusive<i64> = -3..=3;

fn aff(c: &[i64], constant: i64) -> Aff {
    let mut sum = Aff::constant(constant);
    for (c, n) in c.iter().zip(NAMES) {
        sum = sum.add(&Aff::var(n).scale(*c).unwrap()).unwrap();
    }
    sum
}

prop_compose! {
    fn constraint()(
        c in prop::collection::vec(-4i64..=4, 4),
        constant in -6i64..=6,
        eq in prop::bool::weighted(0.25),
        div in prop::option::weighted(0.3, (prop::collection::vec(-3i64..=3, 4), 2i64..=5, -2i64..=2)),
    ) -> Constraint {
        let mut f = aff(&c, constant);
        if let Some((numerator, d, factor)) = div {
            let q = aff(&numerator, 1).floor_div(d).unwrap();
            f = f.add(&q.scale(factor).unwrap()).unwrap();
        }
        Constraint { kind: if eq { Kind::Eq } else { Kind::Ge }, aff: f }
    }
}

prop_compose! {
    fn boxed()(list in prop::collection::vec(constraint(), 0..4)) -> System {
        let mut all = Vec::new();
        for n in NAMES {
            all.push(Constraint::le(&Aff::constant(*BOX.start()), &Aff::var(n)).unwrap());
            all.push(Constraint::le(&Aff::var(n), &Aff::constant(*BOX.end())).unwrap());
        }
        all.extend(list);
        System::new(&all).unwrap()
    }
}

fn points(s: &System) -> Vec<[i64; 4]> {
    let mut found = Vec::new();
    for a in BOX {
        for b in BOX {
            for c in BOX {
                for d in BOX {
                    let p = [a, b, c, d];
                    if s.holds(&|n| NAMES.iter().position(|m| *n == *m).map(|i| p[i])).unwrap() {
                        found.push(p);
                    }
                }
            }
        }
    }
    found
}

/// Answers are exact, or an explicit refusal.
fn decided<T>(answer: Result<T, Error>) -> Option<T> {
    match answer {
        Ok(x) => Some(x),
        Err(Error::Budget) => None,
        Err(other) => panic!("{other}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn emptiness(s in boxed()) {
        if let Some(empty) = decided(s.is_empty()) {
            prop_assert_eq!(empty, points(&s).is_empty());
        }
    }

    #[test]
    fn emptiness_where_more_holds(s in boxed(), c in constraint()) {
        let Some(empty) = decided(s.is_empty_with(std::slice::from_ref(&c))) else { return Ok(()) };
        prop_assert_eq!(empty, points(&s.with(&[c]).unwrap()).is_empty());
    }

    #[test]
    fn what_is_put_in_has_its_value(c in constraint(), a in constraint(), p in prop::array::uniform4(BOX)) {
        let at = |p: [i64; 4]| move |n: &Name| NAMES.iter().position(|m| *n == *m).map(|i| p[i]);
        // `a` becomes another function, of `a` too, and `b` another name: all at once.
        let put = c.aff.substitute(&|n| match n.as_str() {
            "a" => Some(a.aff.clone()),
            "b" => Some(Aff::var("d")),
            _ => None,
        });
        let moved = [a.aff.eval(&at(p)).unwrap(), p[3], p[2], p[3]];
        prop_assert_eq!(put.unwrap().eval(&at(p)), c.aff.eval(&at(moved)));
        let turned = c.aff.rename(&|n| match n.as_str() {
            "a" => Some(Name::new("b")),
            "b" => Some(Name::new("a")),
            "c" => Some(Name::new("d")),
            _ => None,
        });
        prop_assert_eq!(turned.unwrap().eval(&at(p)), c.aff.eval(&at([p[1], p[0], p[3], p[3]])));
    }

    #[test]
    fn projection(s in boxed(), goes in 1usize..4) {
        let names: Vec<Name> = NAMES[..goes].iter().map(Name::new).collect();
        let Some(e) = decided(s.eliminate(&names)) else { return Ok(()) };
        let shadow: std::collections::BTreeSet<Vec<i64>> = points(&s).iter().map(|p| p[goes..].to_vec()).collect();
        for b in BOX { for c in BOX { for d in BOX {
            let p = [0, b, c, d];
            let inside = shadow.contains(&p[goes..]);
            let holds = e.system.holds(&|n| NAMES.iter().position(|m| *n == *m).map(|i| p[i])).unwrap();
            prop_assert!(holds || !inside, "{:?} lost {:?}", e, p);
            prop_assert!(!e.exact || holds == inside, "{:?} is not exact at {:?}", e, p);
        }}}
    }

    #[test]
    fn implication(s in boxed(), c in constraint()) {
        let Some(implied) = decided(s.implies(&c)) else { return Ok(()) };
        let all = points(&s).iter().all(|p| {
            c.holds(&|n| NAMES.iter().position(|m| *n == *m).map(|i| p[i])).unwrap()
        });
        prop_assert_eq!(implied, all);
    }

    #[test]
    fn what_equalities_make_zero_is_zero(s in boxed(), c in constraint(), e in constraint(), f in -2i64..3) {
        let equality = Constraint::zero(e.aff.clone());
        let s = s.with(&[equality]).unwrap();
        // Half of the functions are multiples of the equality, for which this is decidable.
        for aff in [c.aff, e.aff.scale(f).unwrap()] {
            if s.vanishes(&aff) {
                prop_assert_ne!(decided(s.implies(&Constraint::zero(aff))), Some(false));
            }
        }
    }

    #[test]
    fn range(s in boxed(), c in prop::collection::vec(-3i64..=3, 4)) {
        let f = aff(&c, 1);
        let Some(range) = decided(s.constant_range(&f)) else { return Ok(()) };
        let values: Vec<i64> = points(&s).iter().map(|p| {
            f.eval(&|n| NAMES.iter().position(|m| *n == *m).map(|i| p[i])).unwrap()
        }).collect();
        let expected = match (values.iter().min(), values.iter().max()) {
            (Some(l), Some(h)) => (Some(*l), Some(*h)),
            _ => (Some(0), Some(-1)),
        };
        prop_assert_eq!(range, expected);
    }

    #[test]
    fn bounds(s in boxed()) {
        let Some(b) = decided(s.bounds(&Name::new("b"), &|n| *n == "c" || *n == "d")) else { return Ok(()) };
        let shadow: std::collections::BTreeSet<Vec<i64>> = points(&s).iter().map(|p| p[1..].to_vec()).collect();
        for x in BOX { for c in BOX { for d in BOX {
            let p = [0, x, c, d];
            let value = |n: &Name| NAMES.iter().position(|m| *n == *m).map(|i| p[i]);
            let holds = b.lower.iter().all(|l| l.ceil().unwrap().eval(&value).unwrap() <= x)
                && b.upper.iter().all(|u| x <= u.floor().unwrap().eval(&value).unwrap())
                && b.guards.iter().chain(&b.rest).all(|g| g.holds(&value).unwrap());
            let inside = shadow.contains(&p[1..]);
            prop_assert!(holds || !inside, "{:?} lost {:?}", b, p);
            prop_assert!(!b.exact || holds == inside, "{:?} is not exact at {:?}", b, p);
        }}}
    }

    #[test]
    fn least_value(s in boxed(), stated in BOX) {
        let s = s.with(&[Constraint::le(&Aff::constant(stated), &Aff::var("b")).unwrap()]).unwrap();
        let least = s.least_value(&Name::new("b"), &|n| *n == "c" || *n == "d");
        let Some(Some(least)) = decided(least) else { return Ok(()) };
        for p in points(&s) {
            let begins = least.eval(&|n| NAMES.iter().position(|m| *n == *m).map(|i| p[i])).unwrap();
            prop_assert!(begins <= p[1], "{} is not below {:?}", least, p);
            if p[1] == stated {
                prop_assert_eq!(least.as_constant(), Some(stated));
            }
        }
    }

    #[test]
    fn gist(s in boxed(), context in boxed()) {
        let Some(left) = decided(s.gist(&context)) else { return Ok(()) };
        let both = context.with(&left).unwrap();
        prop_assert_eq!(points(&both), points(&context.with(s.constraints()).unwrap()));
        for i in 0..left.len() {
            let mut others = left.clone();
            let c = others.remove(i);
            prop_assert_ne!(decided(context.with(&others).unwrap().implies(&c)), Some(true));
        }
    }

    #[test]
    fn sample(s in boxed(), a in BOX) {
        let fixed = BTreeMap::from([(Name::new("a"), a)]);
        let Some(point) = decided(s.sample(&fixed)) else { return Ok(()) };
        match point {
            Some(p) => prop_assert!(s.holds(&|n| p.get(n).copied()).unwrap() && p[&Name::new("a")] == a),
            None => prop_assert!(points(&s).iter().all(|p| p[0] != a)),
        }
    }
}
