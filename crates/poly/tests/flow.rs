//! The last write before each read, against an enumeration of executions.

use loopwright_poly::{Access, Aff, Constraint, Error, Name, flow};

fn v(name: &str) -> Aff {
    Aff::var(name)
}

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
