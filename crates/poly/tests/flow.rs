//! The last write before each read, against an enumeration of executions.

use loopwright_poly::{Access, Aff, Constraint, Error, Name, flow};

use crate::short::v;

/// An access in a loop over `0 <= i < n`, of `cell`, at the time `(i, position)`.
fn access(cell: Aff, position: i64) -> Access {
    let i = v("i");
    Access {
        dims: vec![Name::new("i")],
        constraints: vec![Constraint::nonneg(i.clone()), Constraint::lt(&i, &v("n")).unwrap()],
        cell: vec![cell],
        time: vec![i, Aff::constant(position)],
    }
}

/// `for i in 0..n { a[i] = ..; a[2] = .. if i = 4; .. = a[i - 1] }`, and the same with the read of
/// `a[n - i]`.
#[test]
fn each_read_sees_the_last_write_before_it() {
    let mut second = access(Aff::constant(2), 1);
    second.constraints.push(Constraint::equal(&v("i"), &Aff::constant(4)).unwrap());
    let writes = [access(v("i"), 0), second];
    type Cell = fn(i64, i64) -> i64;
    let cells: [(Aff, Cell); 2] =
        [(v("i").add_constant(-1).unwrap(), |i, _| i - 1), (v("n").sub(&v("i")).unwrap(), |i, n| n - i)];
    for (cell, at) in cells {
        let found = flow(&[access(cell, 2)], &writes).unwrap();
        assert_eq!((found.len(), found[0].writes.len()), (1, 2));
        for n in 0..9 {
            for i in 0..n {
                // All writes before the read of `i`, in order: the number of the access, its `i`.
                let mut last = None;
                for w in 0..=i {
                    if w == at(i, n) {
                        last = Some((0, w));
                    }
                    if w == 4 && at(i, n) == 2 {
                        last = Some((1, w));
                    }
                }
                for (k, map) in found[0].writes.iter().enumerate() {
                    for w in 0..n {
                        let value = |name: &Name| match name.as_str() {
                            "n" => Some(n),
                            "i" => Some(i),
                            "i'" => Some(w),
                            _ => None,
                        };
                        assert_eq!(map.contains(&value), Some(last == Some((k, w))), "n={n} i={i}: {k}, {w}");
                    }
                }
                let value = |name: &Name| Some(if *name == "n" { n } else { i });
                assert_eq!(found[0].none.contains(&value), Some(last.is_none()), "n={n} i={i}");
            }
        }
    }
}

#[test]
fn accesses_of_one_flow_have_cells_and_times_alike() {
    let good = || access(v("i"), 0);
    let (mut cell, mut time) = (good(), good());
    cell.cell.push(v("i"));
    time.time.push(v("i"));
    for bad in [cell, time] {
        assert!(matches!(flow(&[good()], &[bad]), Err(Error::Space(_))));
    }
    // A parameter here that is a dimension there.
    let mut other = good();
    other.dims = vec![Name::new("n")];
    assert!(matches!(flow(&[good()], &[other]), Err(Error::Space(_))));
    assert!(flow(&[], &[]).unwrap().is_empty());
}

/// An access with the instances of a set's only system.
fn within(set: &str, cell: &[Aff], time: Vec<Aff>) -> Access {
    let set: loopwright_poly::Set = set.parse().unwrap();
    let constraints = set.disjuncts()[0].constraints().to_vec();
    Access { dims: set.dims().to_vec(), constraints, cell: cell.to_vec(), time }
}

/// A tile of 64 x 128 cells, of which the lanes of two warps write pairs along the rows, is read
/// afterwards: no cell is missing. (isl says otherwise if times are constrained as cells are.)
#[test]
fn a_tile_that_lanes_write_is_written_whole() {
    let times = |k: &Aff| k.scale(8).unwrap();
    let g = v("lane").floor_div(4).unwrap();
    let q = v("lane").sub(&g.scale(4).unwrap()).unwrap();
    let row = v("im").scale(16).unwrap().add(&times(&v("ir"))).unwrap().add(&g).unwrap();
    let column = v("jw").scale(64).unwrap().add(&times(&v("jm"))).unwrap();
    let column = column.add(&q.scale(2).unwrap()).unwrap().add(&v("jr")).unwrap();
    let at = |position: i64, of: &[&str]| -> Vec<Aff> {
        let mut time = vec![Aff::constant(position)];
        time.extend(of.iter().map(|n| if n.is_empty() { Aff::default() } else { v(n) }));
        time.resize(11, Aff::default());
        time
    };
    let write = within(
        "[l, m, n] -> { [i, im, ir, lane, j, jw, jm, jr] : 0 <= m and 0 <= n and 0 <= l \
         and l mod 8 = 0 and 64*i + 16*im + 8*ir + floor(lane/4) < m \
         and 128*j + 64*jw + 8*jm + 2*(lane mod 4) + jr < n \
         and 0 <= 16*im + 8*ir + floor(lane/4) <= 63 \
         and 0 <= 64*jw + 8*jm + 2*(lane mod 4) + jr <= 127 \
         and 0 <= 64*i + 16*im + 8*ir + floor(lane/4) \
         and 0 <= 128*j + 64*jw + 8*jm + 2*(lane mod 4) + jr \
         and 0 <= 8*jm + 2*(lane mod 4) + jr <= 63 and 0 <= 8*ir + floor(lane/4) <= 15 \
         and 0 <= 2*(lane mod 4) + jr <= 7 and 0 <= floor(lane/4) <= 7 \
         and 0 <= jr <= 1 and 0 <= lane <= 31 }",
        &[v("j"), v("i"), Aff::default(), row, column],
        at(2, &["", "", "", "", "", "", "im", "ir", "jm", "jr"]),
    );
    let read = within(
        "[l, m, n] -> { [i, j, a, b, c, d] : 0 <= m and 0 <= n and 0 <= l and l mod 8 = 0 \
         and 0 <= i and 0 <= j and 0 <= 2*a + b <= 63 and 0 <= b <= 1 and 0 <= d <= 31 \
         and 0 <= 32*c + d <= 127 and 64*i + 2*a + b < m and 128*j + 32*c + d < n }",
        &[
            v("j"),
            v("i"),
            Aff::default(),
            v("a").scale(2).unwrap().add(&v("b")).unwrap(),
            v("c").scale(32).unwrap().add(&v("d")).unwrap(),
        ],
        at(3, &["a", "", "c"]),
    );
    assert!(flow(&[read], &[write]).unwrap()[0].none.is_empty().unwrap());
}

/// A write at a time with a quotient: what nobody writes is said of each such read. (isl leaves
/// some of them out.)
#[test]
fn reads_that_see_nothing_are_all_found() {
    let (n, i, u, w) = (v("n"), v("i"), v("u"), v("w"));
    let sum = u.add(&w).unwrap();
    let half = n.add(&sum).unwrap().scale(2).unwrap().floor_div(4).unwrap();
    let cell = |row: Aff, column: Aff| [row, column];
    let read = within(
        "{ [i, j] : 0 <= i <= 2 and 0 <= j <= 3 }",
        &cell(Aff::constant(1), i.sub(&n.scale(2).unwrap()).unwrap()),
        vec![Aff::constant(0), Aff::constant(0)],
    );
    let write = within(
        "{ [u, w] : 0 <= u <= 2 and 0 <= w <= 3 }",
        &cell(
            sum.scale(2).unwrap().add_constant(-1).unwrap(),
            u.sub(&n).unwrap().sub(&w.scale(2).unwrap()).unwrap(),
        ),
        vec![n.sub(&sum).unwrap().sub(&half.scale(2).unwrap()).unwrap(), n.scale(2).unwrap()],
    );
    let found = flow(&[read], &[write]).unwrap();
    // For n = -1 the element is (1, 2 + i), and only (u, w) = (1, 0) writes one with a 1: (1, 2).
    for i in 0..=2 {
        let at = |name: &Name| {
            Some(match name.as_str() {
                "n" => -1,
                "i" => i,
                _ => 0,
            })
        };
        assert_eq!(found[0].none.contains(&at), Some(i != 0), "i = {i}");
    }
}

/// A read of `(2*i, j)` at `floor(i/2)`, and a write of `(2*v - 2, 0)` at
/// `(2*u, u - 2*floor((n + u)/2))`: isl says of reads that see the write that they see none. That
/// is noticed; an answer would have to be the right one.
#[test]
fn a_write_that_isl_misses_is_noticed() {
    let (i, u, zero) = (v("i"), v("u"), Aff::default());
    let read = within(
        "{ [i, j] : 0 <= i <= 2 and 0 <= j <= 3 }",
        &[i.scale(2).unwrap(), v("j")],
        vec![i.floor_div(2).unwrap(), zero.clone(), zero.clone()],
    );
    let half = v("n").add(&u).unwrap().floor_div(2).unwrap();
    let write = within(
        "{ [u, v] : 0 <= u <= 2 and 0 <= v <= 3 }",
        &[v("v").scale(2).unwrap().add_constant(-2).unwrap(), zero.clone()],
        vec![u.scale(2).unwrap(), u.sub(&half.scale(2).unwrap()).unwrap(), zero],
    );
    let found = match flow(&[read], &[write]) {
        Ok(mut found) => found.remove(0),
        Err(Error::Isl(why)) => return assert!(why.contains("misses a write"), "{why}"),
        Err(other) => panic!("{other}"),
    };
    for (n, i, j) in (-1..=3).flat_map(|n| (0..=2).flat_map(move |i| (0..=3).map(move |j| (n, i, j)))) {
        let now = (i / 2, 0);
        let before = |u: i64| (2 * u, u - 2 * (n + u).div_euclid(2)) < now;
        let is_seen = (0..=2).any(|u| before(u) && (0..=3).any(|v| (2 * v - 2, 0) == (2 * i, j)));
        let value = |name: &Name| {
            Some(match name.as_str() {
                "n" => n,
                "i" => i,
                _ => j,
            })
        };
        assert_eq!(found.none.contains(&value), Some(!is_seen), "n={n} i={i} j={j}");
    }
}

/// `for t in 0..4 { x[3 - t] = ..; if t = 2 { x[1] = .. }; if t = 3 { .. = x[1] } }`: the second
/// statement writes last what the third one reads. (isl says that the first one does.)
#[test]
fn of_two_writes_in_one_iteration_the_later_one_is_seen() {
    let t = || v("t");
    let only = |at: i64, cell: Aff, position: i64| {
        within(&format!("{{ [t] : t = {at} }}"), &[cell], vec![t(), Aff::constant(position)])
    };
    let all =
        within("{ [t] : 0 <= t <= 3 }", &[Aff::constant(3).sub(&t()).unwrap()], vec![t(), Aff::default()]);
    let read = only(3, Aff::constant(1), 2);
    for writes in [[all.clone(), only(2, Aff::constant(1), 1)], [only(2, Aff::constant(1), 1), all]] {
        let later = usize::from(writes[1].dims.len() == 1 && writes[1].time[1] == Aff::constant(1));
        let found = match flow(std::slice::from_ref(&read), &writes) {
            Ok(mut found) => found.remove(0),
            // That isl is wrong may be noticed.
            Err(Error::Isl(_)) => continue,
            Err(other) => panic!("{other}"),
        };
        let seen: Vec<bool> = found.writes.iter().map(|map| !map.is_empty().unwrap()).collect();
        assert_eq!(seen, [later == 0, later == 1]);
        assert!(found.none.is_empty().unwrap());
    }
}

/// `for i { .. = a[i]; a[i] = .. }`, and `for i { a[i] = ..; for j { .. = a[i]; a[i] = .. } }`: a
/// write of the iteration is not what a read sees if it comes later, or if another comes between.
#[test]
fn writes_of_the_iteration_are_seen_only_if_nothing_is_nearer() {
    let found = flow(&[access(v("i"), 0)], &[access(v("i"), 1)]).unwrap();
    let at = |i: i64, w: i64| {
        move |name: &Name| match name.as_str() {
            "n" => Some(3),
            "i" => Some(i),
            "i'" => Some(w),
            _ => None,
        }
    };
    assert_eq!(found[0].none.contains(&at(1, 1)), Some(true));
    assert_eq!(found[0].writes[0].contains(&at(1, 1)), Some(false));
    let inner = |position: i64| Access {
        dims: vec![Name::new("i"), Name::new("j")],
        constraints: vec![
            Constraint::nonneg(v("i")),
            Constraint::lt(&v("i"), &v("n")).unwrap(),
            Constraint::nonneg(v("j")),
            Constraint::lt(&v("j"), &v("n")).unwrap(),
        ],
        cell: vec![v("i")],
        time: vec![v("i"), Aff::constant(1), v("j"), Aff::constant(position)],
    };
    let mut first = access(v("i"), 0);
    first.time.extend([Aff::constant(0), Aff::constant(0)]);
    let found = flow(&[inner(0)], &[first, inner(1)]).unwrap();
    for j in 0..3 {
        let of = |w: i64| {
            move |name: &Name| match name.as_str() {
                "n" => Some(3),
                "i" | "i'" => Some(1),
                "j" => Some(j),
                "j'" => Some(w),
                _ => None,
            }
        };
        assert_eq!(found[0].writes[0].contains(&of(0)), Some(j == 0), "{j}");
        for w in 0..3 {
            assert_eq!(found[0].writes[1].contains(&of(w)), Some(w + 1 == j), "{j} {w}");
        }
    }
}

/// `for i { lanes u { a[i] = .. }; .. = a[i] }`: of the executions that write a cell at one time,
/// of one statement or of two, a read sees one.
#[test]
fn of_two_writes_at_one_time_one_is_seen() {
    let lanes = |set: &str| within(set, &[v("i")], vec![v("i"), Aff::default()]);
    let both = lanes("[n] -> { [i, u] : 0 <= i < n and 0 <= u <= 1 }");
    let first = lanes("[n] -> { [i, u] : 0 <= i < n and u = 0 }");
    let second = lanes("[n] -> { [i, u] : 1 <= i < n and u = 1 }");
    for writes in [vec![both], vec![first.clone(), second.clone()], vec![second, first]] {
        let found = match flow(&[access(v("i"), 1)], &writes) {
            Ok(mut found) => found.remove(0),
            // That isl is wrong may be noticed.
            Err(Error::Isl(_)) => continue,
            Err(other) => panic!("{other}"),
        };
        for i in 0..3 {
            let mut seen = Vec::new();
            for (w, u) in (0..3).flat_map(|w| [(w, 0), (w, 1)]) {
                let pair = |name: &Name| match name.as_str() {
                    "n" => Some(3),
                    "i" => Some(i),
                    "i'" => Some(w),
                    _ => Some(u),
                };
                let by = found.writes.iter().filter(|map| map.contains(&pair) == Some(true));
                seen.extend(by.map(|_| (w, u)));
            }
            assert!(matches!(seen[..], [(w, _)] if w == i), "{i} sees {seen:?}");
        }
    }
}
