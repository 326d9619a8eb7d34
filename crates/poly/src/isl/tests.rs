//! The wrapper hides each defect of the bindings for which it exists.

use super::*;
use crate::{Error, rows::Rows};

const LINE: Shape = Shape { params: 0, ins: 0, outs: 1 };

fn rows(width: usize, list: &[(bool, &[i64])]) -> Disjunct {
    let mut rows = Rows::new(width);
    for (eq, row) in list {
        rows.push(*eq, row);
    }
    Disjunct { rows }
}

fn interval(low: i64, high: i64) -> Disjunct {
    rows(2, &[(false, &[-low, 1]), (false, &[high, -1])])
}

/// A query that isl refuses: an intersection of different spaces.
fn refused() -> Error {
    let line = IslMap::new(LINE, &[interval(0, 3)]).unwrap();
    let plane = line.another(Shape { outs: 2, ..LINE }, &[rows(3, &[])]).unwrap();
    line.intersect(plane).err().unwrap()
}

#[test]
fn a_refusal_is_an_error_and_does_not_spoil_the_next_query() {
    assert!(matches!(refused(), Error::Isl(_)), "{:?}", refused());
    assert_eq!(IslMap::new(LINE, &[interval(0, 3)]).unwrap().is_empty(), Ok(false));
    // The same for a boolean query, whose failure isl keeps in the context.
    let ask = || {
        let holes: Vec<Disjunct> = (0..20).map(|k| interval(7 * k, 7 * k + 6)).collect();
        let pieces = IslMap::new(LINE, &[interval(0, 139)])?;
        let whole = pieces.another(LINE, &holes)?;
        pieces.is_subset(&whole)
    };
    assert_eq!(with_budget(10, ask), Err(Error::Budget));
    assert_eq!(ask(), Ok(true));
}

#[test]
fn dimensions_without_names_are_read_back() {
    // The bindings crash when an unnamed dimension is asked for its name; nothing here asks.
    let answers = IslMap::new(LINE, &[interval(2, 7)]).unwrap().answer().unwrap();
    assert_eq!(answers.len(), 1);
    assert!(answers[0].divisions.is_empty());
    assert_eq!(answers[0].rows.len(), 2);
}

#[test]
fn objects_outlive_queries_and_go_before_their_context() {
    // A thread ends with a live map in a thread-local of its own, after the local of the context
    // may be gone.
    thread_local!(static KEPT: std::cell::RefCell<Option<IslMap>> = const { std::cell::RefCell::new(None) });
    std::thread::spawn(|| {
        KEPT.with(|k| *k.borrow_mut() = Some(IslMap::new(LINE, &[interval(0, 3)]).unwrap()));
    })
    .join()
    .unwrap();
}

#[test]
fn threads_have_their_own_contexts() {
    let threads: Vec<_> = (0..4)
        .map(|t| {
            std::thread::spawn(move || {
                (0..50).all(|i| {
                    let map = IslMap::new(LINE, &[interval(t, t + i), interval(-5, -1)]).unwrap();
                    let less = map.another(LINE, &[interval(-5, t + i)]).unwrap();
                    map.subtract(less).unwrap().is_empty().unwrap()
                })
            })
        })
        .collect();
    for thread in threads {
        assert!(thread.join().unwrap());
    }
}

/// A handle that was `Send` or `Sync` would make one of these calls ambiguous.
#[test]
fn handles_stay_in_their_thread() {
    trait NotSend<A> {
        fn check() {}
    }
    impl<T: ?Sized> NotSend<()> for T {}
    struct Invalid;
    impl<T: ?Sized + Send> NotSend<Invalid> for T {}
    <IslMap as NotSend<_>>::check();
    trait NotSync<A> {
        fn check() {}
    }
    impl<T: ?Sized> NotSync<()> for T {}
    impl<T: ?Sized + Sync> NotSync<Invalid> for T {}
    <IslMap as NotSync<_>>::check();
}

#[test]
fn the_budget_ends_a_query_and_only_that_one() {
    let ask = || {
        let map = IslMap::new(LINE, &[interval(0, 1000)])?;
        let holes: Vec<Disjunct> = (0..40).map(|k| interval(7 * k, 7 * k + 2)).collect();
        let other = map.another(LINE, &holes)?;
        map.subtract(other)?.coalesce()?.answer().map(|a| a.len())
    };
    let full = ask().unwrap();
    assert_eq!(full, 40);
    assert_eq!(with_budget(20, ask), Err(Error::Budget));
    assert_eq!(with_budget(20, ask), Err(Error::Budget));
    assert_eq!(ask(), Ok(full));
    assert_eq!(budget(), DEFAULT_BUDGET);
}

#[test]
fn large_numbers_pass_and_larger_ones_are_errors() {
    let far = 1i64 << 40;
    let answers = IslMap::new(LINE, &[interval(far, far)]).unwrap().answer().unwrap();
    let row = answers[0].rows.row(0);
    assert_eq!(row[0].abs(), far);
    // x = 2^40 y, y = 2^40: x = 2^80 does not fit.
    let plane = Shape { outs: 2, ..LINE };
    let huge = rows(3, &[(true, &[0, 1, -far]), (true, &[-far, 0, 1])]);
    let answer = IslMap::new(plane, &[huge]).unwrap().answer().map(|a| a.len());
    assert_eq!(answer, Err(Error::Overflow));
}

#[test]
fn existential_columns_come_back_as_divisions() {
    // exists e: x = 3 e.
    let answers = IslMap::new(LINE, &[rows(3, &[(true, &[0, 1, -3])])]).unwrap().answer().unwrap();
    let [answer] = answers.as_slice() else { panic!("one disjunct") };
    let [division] = answer.divisions.as_slice() else { panic!("one division") };
    assert_eq!(division.denominator, 3);
    assert_eq!(division.numerator[1].rem_euclid(3), 1);
}

/// Makes all queries that isl refuses, in a separate process, and checks its output.
#[test]
fn nothing_is_written_to_stderr() {
    const CHILD: &str = "LOOPWRIGHT_POLY_REFUSED";
    if std::env::var_os(CHILD).is_some() {
        refused();
        assert_eq!(
            with_budget(1, || IslMap::new(LINE, &[interval(0, 3), interval(5, 9)])
                .and_then(|m| m.answer())
                .err()),
            Some(Error::Budget)
        );
        return;
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["isl::tests::nothing_is_written_to_stderr", "--exact", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// Resident memory in bytes, where the system tells.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split_whitespace().nth(1)?.parse::<u64>().ok()? * 4096)
}

#[test]
fn queries_do_not_leak() {
    let ask = |k: i64| {
        let failed =
            with_budget(3, || IslMap::new(LINE, &[interval(0, k), interval(-9, -5)])?.coalesce()?.answer());
        drop(failed);
        let map = IslMap::new(LINE, &[interval(0, k), rows(3, &[(true, &[k, 1, -3])])]).unwrap();
        let other = map.another(LINE, &[interval(k / 2, k)]).unwrap();
        map.subtract(other).unwrap().answer().unwrap().len()
    };
    (0..500).for_each(|k| assert!(ask(k) > 0));
    let Some(before) = resident() else { return };
    (0..20_000).for_each(|k| assert!(ask(k) > 0));
    let grown = resident().unwrap_or(before).saturating_sub(before);
    // One leaked object per query would be several megabytes.
    assert!(grown < 3 << 20, "{grown} bytes");
}

#[test]
fn plain_answers_are_passed_over_inside_only() {
    assert!(!isl_only());
    with_isl_only(|| assert!(isl_only()));
    assert!(!isl_only());
}
