//! Dataflow in one loop of which some statements run in one iteration only, compared with
//! enumeration.

use loopwright_poly::{Access, Aff, Constraint, Error, Name, flow};

/// A statement of `for t in 0..4`, which runs in all iterations or in one, and accesses the cell
/// `c*t + d`.
#[derive(Clone, Copy, Debug)]
struct Statement {
    only: Option<i64>,
    cell: (i64, i64),
}

impl Statement {
    fn access(self, position: i64) -> Access {
        let t = Aff::var("t");
        let constraints = match self.only {
            Some(at) => vec![Constraint::equal(&t, &Aff::constant(at)).unwrap()],
            None => vec![Constraint::nonneg(t.clone()), Constraint::lt(&t, &Aff::constant(4)).unwrap()],
        };
        let cell = t.scale(self.cell.0).unwrap().add_constant(self.cell.1).unwrap();
        let time = vec![Aff::constant(0), t, Aff::constant(position)];
        Access { dims: vec![Name::new("t")], constraints, cell: vec![cell], time }
    }

    fn runs(self) -> impl Iterator<Item = i64> {
        (0..4).filter(move |t| self.only.is_none_or(|at| at == *t))
    }

    fn at(self, t: i64) -> i64 {
        self.cell.0 * t + self.cell.1
    }
}

#[test]
fn each_read_sees_the_last_write_of_its_cell() {
    let mut all = Vec::new();
    for only in [None, Some(1), Some(2), Some(3)] {
        for cell in [(0, 1), (1, 0), (-1, 3)] {
            all.push(Statement { only, cell });
        }
    }
    for a in &all {
        for b in &all {
            for read in &all {
                let found = match flow(&[read.access(2)], &[a.access(0), b.access(1)]) {
                    Ok(mut found) => found.remove(0),
                    // What isl finds may be noticed to be wrong.
                    Err(Error::Isl(_)) => continue,
                    Err(other) => panic!("{other}"),
                };
                for r in read.runs() {
                    let last = [a, b]
                        .into_iter()
                        .enumerate()
                        .flat_map(|(k, w)| w.runs().map(move |t| (t, k, w.at(t))))
                        .filter(|(t, _, cell)| *t <= r && *cell == read.at(r))
                        .map(|(t, k, _)| (t, k))
                        .max();
                    let what = format!("{a:?}, {b:?}, {read:?}: {r}");
                    assert_eq!(found.none.contains(&|_| Some(r)), Some(last.is_none()), "{what}");
                    for (k, map) in found.writes.iter().enumerate() {
                        for t in 0..4 {
                            let pair = |n: &Name| Some(if *n == "t" { r } else { t });
                            assert_eq!(
                                map.contains(&pair),
                                Some(last == Some((t, k))),
                                "{what} and {k}, {t}"
                            );
                        }
                    }
                }
            }
        }
    }
}
