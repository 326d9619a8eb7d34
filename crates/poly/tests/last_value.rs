//! Whether the last write gives a known value, against an enumeration of executions.

use loopwright_poly::{Access, Aff, Constraint, Name, Valued, last_gives};

fn i() -> Aff {
    Aff::var("i")
}

fn plus(k: i64) -> Aff {
    i().add_constant(k).unwrap()
}

/// An access in a loop over `low <= i < n - short`, at the time `(i + ahead, position)`.
#[derive(Clone)]
struct Made {
    cell: Aff,
    value: Vec<Aff>,
    low: i64,
    short: i64,
    time: (i64, i64),
}

fn made(cell: Aff, value: Aff, position: i64) -> Made {
    Made { cell, value: vec![value], low: 0, short: 0, time: (0, position) }
}

impl Made {
    fn over(mut self, low: i64, short: i64) -> Made {
        (self.low, self.short) = (low, short);
        self
    }

    fn ahead(mut self, ahead: i64) -> Made {
        self.time.0 = ahead;
        self
    }

    fn access(&self) -> Access {
        let end = Aff::var("n").add_constant(-self.short).unwrap();
        Access {
            dims: vec![Name::new("i")],
            constraints: vec![Constraint::nonneg(plus(-self.low)), Constraint::lt(&i(), &end).unwrap()],
            cell: vec![self.cell.clone()],
            time: vec![plus(self.time.0), Aff::constant(self.time.1)],
        }
    }

    fn executions(&self, n: i64) -> impl Iterator<Item = i64> {
        self.low..n - self.short
    }
}

fn at(f: &Aff, i: i64) -> i64 {
    f.eval(&|_| Some(i)).unwrap()
}

/// Whether each read sees its value, by running everything for small `n`: none of the last writes
/// to its cell before it gives another.
fn holds(read: &Made, writes: &[Made]) -> bool {
    (0..10).all(|n| {
        read.executions(n).all(|r| {
            let now = (r + read.time.0, read.time.1);
            let before = writes
                .iter()
                .flat_map(|w| w.executions(n).map(move |k| (w, k)))
                .filter(|(w, k)| at(&w.cell, *k) == at(&read.cell, r) && (k + w.time.0, w.time.1) < now);
            let before: Vec<_> = before.map(|(w, k)| ((k + w.time.0, w.time.1), w, k)).collect();
            let Some(last) = before.iter().map(|b| b.0).max() else { return false };
            before.iter().filter(|b| b.0 == last).all(|(_, w, k)| {
                w.value.iter().zip(&read.value).all(|(own, wanted)| at(own, *k) == at(wanted, r))
            })
        })
    })
}

fn proved(read: &Made, writes: &[Made]) -> bool {
    let writes: Vec<Valued> =
        writes.iter().map(|w| Valued { access: w.access(), value: w.value.clone() }).collect();
    last_gives(&read.access(), &writes, &read.value).unwrap()
}

#[test]
fn what_is_proved_holds_and_what_does_not_hold_is_not_proved() {
    let slot = |k: i64| i().modulo(k).unwrap();
    let read = |cell: Aff, value: Aff| made(cell, value, 5);
    let cases: Vec<(&str, bool, Made, Vec<Made>)> = vec![
        ("each iteration its own", true, read(slot(2), i()), vec![made(slot(2), i(), 0)]),
        ("the read comes first", false, read(slot(2), i()), vec![made(slot(2), i(), 6)]),
        ("of the iteration before", true, read(i(), plus(-1)).over(1, 0), vec![made(plus(1), i(), 6)]),
        ("the first has none", false, read(i(), plus(-1)), vec![made(plus(1), i(), 6)]),
        (
            "the same value from two writes",
            true,
            read(slot(3), i()),
            vec![made(slot(3), i(), 0), made(slot(3), i(), 1)],
        ),
        (
            "another value after it",
            false,
            read(slot(3), i()),
            vec![made(slot(3), i(), 0), made(slot(3), plus(1), 1)],
        ),
        (
            "another value at the same time",
            false,
            read(slot(3), i()),
            vec![made(slot(3), i(), 0), made(slot(3), plus(1), 0)],
        ),
        (
            "less than the value after it",
            false,
            read(slot(3), i()),
            vec![made(slot(3), i(), 0), made(slot(3), plus(-1), 1)],
        ),
        (
            "another value before it",
            true,
            read(slot(3), i()),
            vec![made(slot(3), plus(1), 0), made(slot(3), i(), 1)],
        ),
        (
            "another value after the read",
            true,
            read(slot(3), i()),
            vec![made(slot(3), i(), 0), made(slot(3), plus(1), 6)],
        ),
        (
            "one write for the first half, one for the rest",
            true,
            read(i(), i()),
            vec![made(i(), i(), 0).over(3, 0), made(i(), i(), 1)],
        ),
        ("the last iteration is left out", false, read(i(), i()), vec![made(i(), i(), 0).over(0, 1)]),
        (
            "a ring in time",
            true,
            read(slot(3), i()).over(2, 0),
            vec![made(plus(2).modulo(3).unwrap(), plus(2), 0)],
        ),
        (
            "a ring with too few buffers",
            false,
            read(slot(2), i()).over(2, 0),
            vec![made(plus(2).modulo(2).unwrap(), plus(2), 0)],
        ),
        (
            "filled ahead, after the read",
            true,
            read(slot(2), i()).over(2, 0),
            vec![made(plus(2).modulo(2).unwrap(), plus(2), 6)],
        ),
        ("by a write of an earlier time", true, read(slot(4), i()), vec![made(slot(4), i(), 9).ahead(-3)]),
        ("of four buffers, five ahead", false, read(slot(4), i()), vec![made(slot(4), i(), 9).ahead(-5)]),
    ];
    for (what, expected, read, writes) in cases {
        assert_eq!(holds(&read, &writes), expected, "{what}");
        assert_eq!(proved(&read, &writes), expected, "{what}");
    }
}

/// Each function of a value counts.
#[test]
fn a_value_of_two_functions_has_both() {
    let two = |second: i64| Made { value: vec![i(), plus(second)], ..made(i(), i(), 0) };
    let read = Made { time: (0, 5), ..two(1) };
    assert!(proved(&read, &[two(1)]));
    assert!(!proved(&read, &[two(2)]));
    assert!(!proved(&read, &[two(1), Made { time: (0, 1), ..two(2) }]));
    let swapped = Made { value: vec![plus(1), i()], ..two(1) };
    assert!(!proved(&read, &[swapped]));
    // Nor is anything proved of values that are none of the same kind.
    assert!(!proved(&read, &[made(i(), i(), 0)]));
    assert!(!proved(&read, &[]));
}
