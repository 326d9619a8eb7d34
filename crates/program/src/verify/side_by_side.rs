//! Runs that do not depend on each other, on as many cores as there are.
//!
//! What comes out is what one run after the other gives: outcomes stand in the order of what was
//! run, up to the first that ends it, whichever was done first.

use std::{
    num::NonZero,
    panic::resume_unwind,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};

/// The outcomes of all runs up to the first that ends them, that one included.
pub(super) fn until<T: Sync, R: Send>(
    of: &[T],
    run: impl Fn(&T) -> R + Sync,
    ends: impl Fn(&R) -> bool + Sync,
) -> Vec<R> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(of.len());
    let (next, last) = (AtomicUsize::new(0), AtomicUsize::new(of.len()));
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Relaxed);
            // Numbers are given out in order, so that all before the last one have been.
            let Some(item) = of.get(number).filter(|_| number <= last.load(Relaxed)) else { return done };
            let outcome = run(item);
            if ends(&outcome) {
                last.fetch_min(number, Relaxed);
            }
            done.push((number, outcome));
        }
    };
    let mut all = thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        all
    });
    all.sort_unstable_by_key(|(number, _)| *number);
    let last = last.into_inner();
    all.into_iter().take_while(|(number, _)| *number <= last).map(|(_, outcome)| outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::until;

    #[test]
    fn outcomes_are_those_of_one_run_after_the_other() {
        let numbers: Vec<u64> = (0..200).collect();
        // The earlier of two ends takes longer.
        let run = |n: &u64| {
            let rounds = if *n == 70 { 100_000 } else { 10 };
            (0..rounds).fold(*n, |sum, k| std::hint::black_box(sum ^ k ^ k))
        };
        for ends in [&[70, 71][..], &[0], &[199], &[]] {
            let found = until(&numbers, run, |n| ends.contains(n));
            let last = ends.first().copied().unwrap_or(199);
            assert_eq!(found, (0..=last).collect::<Vec<u64>>(), "{ends:?}");
        }
        assert_eq!(until(&[], run, |_| true), [0; 0]);
    }
}
