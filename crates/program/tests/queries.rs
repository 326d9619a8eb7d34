//! The number of queries that a proof takes: what is asked is counted once, and what is evident is
//! not asked.

use loopwright_program::{
    Program,
    verify::{Finding, verify},
};

/// The number of queries for the program of a filetest that is proved.
fn queries(file: &str) -> usize {
    let text = file.split("==== verdict").next().unwrap_or_default();
    let program = Program::parse(text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    match verify(&program) {
        Finding::Proved { queries } => queries,
        other => panic!("{other}\n{text}"),
    }
}

/// One end of the array is evident, the other one takes a query.
#[test]
fn an_end_of_an_array_is_asked_once() {
    assert_eq!(queries(include_str!("filetests/check/inside_by_twice_a_scalar.lwp")), 1);
}

/// Of the only block, which runs all instances: both ends of the grid's three axes, that it is the
/// first one along each, and the guard.
#[test]
fn a_condition_around_a_statement_is_asked_once() {
    assert_eq!(queries(include_str!("filetests/check/guard_beyond_the_last.lwp")), 6 + 3 + 1);
}

/// Both ends of the grid's axes and both guards; whether the pieces overlap, as alternatives and as
/// statements that give one value; the instances outside of none, of the first and of both; and for
/// each piece that its block is the first one along each axis.
#[test]
fn pieces_are_asked_about_together() {
    let number = queries(include_str!("filetests/check/pieces_below_and_above_a_scalar.lwp"));
    assert_eq!(number, 6 + 2 + 2 + 3 + 2 * 3);
}

/// Whether two threads copy to one element, and whether the store meets the copy.
#[test]
fn a_copy_under_way_is_asked_about_once_for_each_access() {
    assert_eq!(queries(include_str!("filetests/async/store_beside_a_copy.lwp")), 1 + 1);
}

/// Whether two threads can have one element at all, and what the fact leaves of that.
#[test]
fn a_pair_that_a_fact_excludes_takes_two_queries() {
    assert_eq!(queries(include_str!("filetests/check/scatter_by_a_fact.lwp")), 2);
}

/// Whether two blocks can have one element, and what facts leave of that: in all rounds, in earlier
/// and in later ones of the outer loop, and in the same.
#[test]
fn a_pair_is_asked_about_for_each_order_of_its_rounds() {
    assert_eq!(queries(include_str!("filetests/check/segments_shared_by_two_blocks.lwp")), 1 + 1 + 2 + 1);
}

/// Whether two threads can have one element, of all accesses at once.
#[test]
fn accesses_of_an_element_of_each_thread_take_one_query() {
    assert_eq!(queries(include_str!("filetests/check/own_element_doubled.lwp")), 1);
}

/// Whether there is a thread for which the condition around the barrier does not hold.
#[test]
fn a_condition_around_a_barrier_is_asked_once() {
    let file = include_str!("filetests/check/barrier_that_all_threads_reach_under_a_condition.lwp");
    assert_eq!(queries(file), 1);
}
