//! Queries to a system, with answers derived by hand.

use std::collections::BTreeMap;

use loopwright_poly::{Aff, Constraint, Name, System};

use crate::short::{k, v};

fn between(low: Aff, x: &str, below: Aff) -> [Constraint; 2] {
    [Constraint::le(&low, &v(x)).unwrap(), Constraint::lt(&v(x), &below).unwrap()]
}

fn system(parts: &[&[Constraint]]) -> System {
    System::new(&parts.concat()).unwrap()
}

fn text(constraints: &[Constraint]) -> Vec<String> {
    constraints.iter().map(|c| c.to_string()).collect()
}

/// `i = 16*i_outer + i_inner` with `0 <= i_inner < 16` and `0 <= i < n`.
fn tiled() -> System {
    let sum = v("io").scale(16).unwrap().add(&v("ii")).unwrap();
    system(&[
        &between(k(0), "i", v("n")),
        &between(k(0), "ii", k(16)),
        &[Constraint::equal(&v("i"), &sum).unwrap()],
    ])
}

#[test]
fn a_tile_projects_to_its_outer_loop() {
    let e = tiled().eliminate(&[Name::new("i"), Name::new("ii")]).unwrap();
    assert!(e.exact);
    // Some ii in 0..16 with 0 <= 16 io + ii < n: 16 io <= n - 1, 16 io >= -15 so io >= 0, and n >=
    // 1.
    for n in -2..40 {
        for io in -3..5 {
            let expected = io >= 0 && 16 * io < n;
            let got = e.system.holds(&|x| Some(if *x == "n" { n } else { io })).unwrap();
            assert_eq!(got, expected, "n={n} io={io}: {:?}", text(e.system.constraints()));
        }
    }
}

#[test]
fn the_bounds_of_a_tiles_loops() {
    let t = tiled();
    let outer = t.bounds(&Name::new("io"), &|n| *n == "n").unwrap();
    assert!(outer.exact && outer.guards.is_empty());
    assert_eq!(outer.lower.len(), 1);
    assert_eq!(outer.lower[0].ceil().unwrap().to_string(), "0");
    assert_eq!(outer.upper.len(), 1);
    // io <= (n - 1)/16
    assert_eq!(outer.upper[0].floor().unwrap().to_string(), "floor((n + 15)/16) - 1");
    let inner = t.bounds(&Name::new("ii"), &|n| *n == "n" || *n == "io").unwrap();
    assert!(inner.exact);
    let uppers: Vec<String> = inner.upper.iter().map(|b| b.floor().unwrap().to_string()).collect();
    assert_eq!(uppers, ["15", "n - 16*io - 1"]);
    // 16 io + ii >= 0 follows from ii >= 0 only where io >= 0, which the rows do not say: 0 <= 16
    // io + ii stays.
    let lowers: Vec<String> = inner.lower.iter().map(|b| b.ceil().unwrap().to_string()).collect();
    assert!(lowers.contains(&"0".to_string()), "{lowers:?}");
}

#[test]
fn a_coarse_tile_index_is_a_floor() {
    // i is kept, io and ii go: some io, ii with i = 16 io + ii always exists, so only 0 <= i < n is
    // left.
    let e = tiled().eliminate(&[Name::new("io"), Name::new("ii")]).unwrap();
    assert!(e.exact);
    assert_eq!(text(e.system.constraints()), ["0 <= i", "i < n"]);
}

#[test]
fn an_equality_leaves_a_stride() {
    // exists e: i = 3 e, 0 <= e < n.
    let s = system(&[
        &between(k(0), "e", v("n")),
        &[Constraint::equal(&v("i"), &v("e").scale(3).unwrap()).unwrap()],
    ]);
    let e = s.eliminate(&[Name::new("e")]).unwrap();
    assert!(e.exact);
    for i in -4..13 {
        let got = e.system.holds(&|x| Some(if *x == "n" { 4 } else { i })).unwrap();
        assert_eq!(got, i % 3 == 0 && (0..12).contains(&i), "i={i}");
    }
    let b = e.system.bounds(&Name::new("i"), &|n| *n == "n").unwrap();
    assert!(b.exact);
    assert_eq!(b.guards.len(), 1, "{:?}", text(&b.guards));
    assert_eq!((b.lower.len(), b.upper.len()), (1, 1));
    assert_eq!(e.system.constant_range(&v("i")).unwrap(), (Some(0), None));
}

#[test]
fn integers_are_not_rationals() {
    // 2 x = 2 y + 1 has rational points only.
    let odd =
        Constraint::equal(&v("x").scale(2).unwrap(), &v("y").scale(2).unwrap().add_constant(1).unwrap())
            .unwrap();
    assert!(system(&[&[odd]]).is_empty().unwrap());
    // 3 <= 2 x <= 3 likewise.
    let twice = v("x").scale(2).unwrap();
    let s = [Constraint::le(&k(3), &twice).unwrap(), Constraint::le(&twice, &k(3)).unwrap()];
    assert!(System::new(&s).unwrap().is_empty().unwrap());
}

#[test]
fn functions_that_equalities_make_zero() {
    let equal = |a: &Aff, b: &Aff| Constraint::equal(a, b).unwrap();
    let tile = v("outer").scale(16).unwrap().add(&v("inner")).unwrap();
    let s = System::new(&[
        equal(&v("i"), &tile),
        equal(&v("slot").add_constant(1).unwrap(), &v("inner")),
        equal(&v("even").scale(2).unwrap(), &v("twice").scale(2).unwrap()),
    ])
    .unwrap();
    let cell = v("outer").scale(16).unwrap().add(&v("slot")).unwrap().add_constant(1).unwrap();
    assert!(s.vanishes(&v("i").sub(&cell).unwrap()));
    assert!(!s.vanishes(&v("i").sub(&cell).unwrap().add_constant(1).unwrap()));
    // True, but no coefficient is a unit; and a name that does not occur may be anything.
    assert!(!s.vanishes(&v("even").sub(&v("twice")).unwrap()));
    assert!(!s.vanishes(&v("other")));
}

#[test]
fn implication_and_gist() {
    let s = system(&[&between(k(0), "i", v("n")), &between(k(0), "n", k(100))]);
    assert!(s.implies(&Constraint::lt(&v("i"), &k(99)).unwrap()).unwrap());
    assert!(!s.implies(&Constraint::lt(&v("i"), &k(98)).unwrap()).unwrap());
    let context = system(&[&between(k(0), "i", v("n")), &between(k(1), "n", k(65))]);
    let guard = system(&[&between(k(0), "i", k(64)), &[Constraint::lt(&v("i"), &v("m")).unwrap()]]);
    assert_eq!(text(&guard.gist(&context).unwrap()), ["i < m"]);
    // One of two equivalent constraints is kept.
    let twice =
        System::new(&[Constraint::lt(&v("i"), &v("m")).unwrap(), Constraint::lt(&v("i"), &v("m")).unwrap()])
            .unwrap();
    assert_eq!(text(&twice.gist(&System::default()).unwrap()), ["i < m"]);
}

#[test]
fn ranges_and_points() {
    let s = system(&[&between(k(0), "i", v("n")), &between(k(2), "n", k(11)), &between(v("i"), "j", v("n"))]);
    // i + j is largest at i = j = n - 1 = 9.
    assert_eq!(s.constant_range(&v("i").add(&v("j")).unwrap()).unwrap(), (Some(0), Some(18)));
    let point = s.sample(&BTreeMap::from([(Name::new("i"), 3)])).unwrap().unwrap();
    assert_eq!(point.get("n"), Some(&4));
    assert_eq!(point.get("j"), Some(&3));
    assert_eq!(s.sample(&BTreeMap::from([(Name::new("n"), 1)])).unwrap(), None);
    let nothing = System::nothing();
    assert_eq!(nothing.constant_range(&v("i")).unwrap(), (Some(0), Some(-1)));
}

#[test]
fn a_modulus_constrains() {
    // i mod 4 = 3 and 0 <= i < 10: 3 or 7.
    let s = system(&[
        &between(k(0), "i", k(10)),
        &[Constraint::equal(&v("i").modulo(4).unwrap(), &k(3)).unwrap()],
    ]);
    assert_eq!(s.constant_range(&v("i")).unwrap(), (Some(3), Some(7)));
    assert!(s.implies(&Constraint::zero(v("i").modulo(2).unwrap().add_constant(-1).unwrap())).unwrap());
    assert!(!s.implies(&Constraint::zero(v("i").modulo(8).unwrap().add_constant(-3).unwrap())).unwrap());
}

#[test]
fn wide_strides_have_ends() {
    // i mod 100000 = 7 and 10 <= i < 250000: 100007 or 200007.
    let s = system(&[
        &between(k(10), "i", k(250_000)),
        &[Constraint::equal(&v("i").modulo(100_000).unwrap(), &k(7)).unwrap()],
    ]);
    assert_eq!(s.constant_range(&v("i")).unwrap(), (Some(100_007), Some(200_007)));
    assert_eq!(s.sample(&BTreeMap::new()).unwrap(), Some(BTreeMap::from([(Name::new("i"), 100_007)])));
    let unbounded = system(&[&[Constraint::equal(&v("i").modulo(100_000).unwrap(), &k(60_000)).unwrap()]]);
    assert_eq!(
        unbounded.sample(&BTreeMap::new()).unwrap(),
        Some(BTreeMap::from([(Name::new("i"), -40_000)]))
    );
}

/// `p <= w*x <= p + w - 1` has one `x` for each `p`: eliminating it leaves nothing.
#[test]
fn a_window_as_wide_as_a_stride_has_one_multiple() {
    for width in [2, 3, 128, (1 << 40) - 1, 1 << 40] {
        let multiple = v("x").scale(width).unwrap();
        let last = v("p").add_constant(width - 1).unwrap();
        let s = system(&[&[
            Constraint::le(&v("p"), &multiple).unwrap(),
            Constraint::le(&multiple, &last).unwrap(),
        ]]);
        let e = s.eliminate(&[Name::new("x")]).unwrap();
        assert!(e.exact, "{width}");
        assert_eq!(text(e.system.constraints()), [""; 0], "{width}");
        // A window that is one shorter misses the multiples where it begins just behind one.
        let less = Constraint::lt(&multiple, &last).unwrap();
        let e = s.with(&[less]).unwrap().eliminate(&[Name::new("x")]).unwrap();
        let holds = |p: i64| e.system.holds(&|_| Some(p));
        assert!(e.exact, "{width}");
        assert_eq!([0, 1, 2, width + 1].map(holds), [true, false, true, false].map(Some));
    }
}

/// A skewed, tiled nest whose inner loops are joined and split again: an exact projection
/// introduces one division after another, while the ends need none.
#[test]
fn ranges_need_no_exact_projection() {
    let sum = |terms: &[(i64, &str)]| {
        terms.iter().fold(k(0), |sum, (c, name)| sum.add(&v(name).scale(*c).unwrap()).unwrap())
    };
    let q = sum(&[(2, "qo"), (1, "qi")]);
    let x = sum(&[(3, "xo")]).add(&q.floor_div(3).unwrap()).unwrap();
    let y = sum(&[(6, "yoo"), (3, "yoi")]).add(&q.modulo(3).unwrap()).unwrap();
    let (i, j) = (x.scale(2).unwrap().sub(&y).unwrap(), y.sub(&x).unwrap());
    let within = |value: &Aff, end: &Aff| {
        [Constraint::nonneg(value.clone()), Constraint::lt(value, end).unwrap()].to_vec()
    };
    let s = system(&[
        &[Constraint::lt(&k(0), &v("m")).unwrap(), Constraint::lt(&k(0), &v("n")).unwrap()],
        &within(&i, &v("m")),
        &within(&j, &v("n")),
        &within(&q, &k(9)),
        &within(&v("qi"), &k(2)),
        &within(&v("yoi"), &k(2)),
    ]);
    let difference = v("xo").sub(&v("yoo")).unwrap();
    loopwright_poly::with_budget(1000, || {
        assert_eq!(s.constant_range(&v("yoo")).unwrap(), (Some(0), None));
        assert_eq!(s.constant_range(&v("qo")).unwrap(), (Some(0), Some(4)));
        assert_eq!(s.constant_range(&difference).unwrap(), (Some(0), None));
    });
}

#[test]
fn plain_elimination_and_isl_agree_on_coupled_unknowns() {
    // 27 <= 11x + 13y <= 45 and -10 <= 7x - 9y <= 4: the example of the Omega test's paper. Points
    // of the plane such as (2, 1.5) satisfy it, but no integer points do: the dark shadow is empty
    // and the real one is not, so that plain elimination cannot tell.
    let f = v("x").scale(11).unwrap().add(&v("y").scale(13).unwrap()).unwrap();
    let g = v("x").scale(7).unwrap().sub(&v("y").scale(9).unwrap()).unwrap();
    let mut s = System::default();
    s.add(&Constraint::le(&k(27), &f).unwrap()).unwrap();
    s.add(&Constraint::le(&f, &k(45)).unwrap()).unwrap();
    s.add(&Constraint::le(&k(-10), &g).unwrap()).unwrap();
    s.add(&Constraint::le(&g, &k(4)).unwrap()).unwrap();
    assert!(s.is_empty().unwrap());
    assert!(loopwright_poly::with_isl_only(|| s.is_empty().unwrap()));
}

/// An equality says less than one with another constant, whose terms are the same.
#[test]
fn an_equality_implies_no_other() {
    // No coefficient is a unit, by which the equality would be substituted.
    let difference = v("x").scale(2).unwrap().sub(&v("y").scale(3).unwrap()).unwrap();
    let checked = || {
        let s = system(&[&[Constraint::zero(difference.clone())]]);
        for more in -2..=2 {
            let other = difference.add_constant(more).unwrap();
            assert_eq!(s.implies(&Constraint::zero(other.clone())).unwrap(), more == 0, "{other} = 0");
            assert_eq!(s.implies(&Constraint::nonneg(other.clone())).unwrap(), more >= 0, "{other} >= 0");
        }
    };
    checked();
    loopwright_poly::with_isl_only(checked);
}
