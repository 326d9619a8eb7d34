//! Blocks that look back: one premise at a time does not hold of a program that is right.

use loopwright_program::{Program, index_range::check, verify::verify};

/// The code with which the program is refused that these changes make of the right one, if it is.
fn refused(changes: &[(&str, &str)]) -> Option<&'static str> {
    let right = include_str!("filetests/check/look_back_right.lwp");
    let mut text = right.split("==== verdict").next().unwrap_or_default().to_string();
    for (from, to) in changes {
        assert!(text.contains(from), "no `{from}` in\n{text}");
        text = text.replace(from, to);
    }
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    verify(&program).refusal().map(|d| d.code)
}

#[test]
fn words_and_counters_are_arrays_of_the_launch_of_one_type_and_size() {
    assert_eq!(refused(&[]), None);
    let counter = "blocks_started: u32[1] temporary";
    let words = "y_tiles: u64[(n + 63) quo 64] temporary";
    for changes in [
        &[
            (counter, "blocks_started: u64[1] temporary"),
            ("blocks_started[i] = 0u32", "blocks_started[i] = 0u64"),
        ][..],
        &[(counter, "blocks_started: u32[2] temporary")],
        &[(counter, "blocks_started: u32[1] size(2) temporary")],
        &[(counter, "blocks_started: u32[1] strides(2) temporary")],
        &[(counter, "blocks_started: u32[1]"), ("program k(x, y,", "program k(x, y, blocks_started,")],
        &[("blocks_started written, y_tiles written exchanged", "blocks_started, y_tiles written exchanged")],
        &[(words, "y_tiles: u32[(n + 63) quo 64] temporary"), ("y_tiles[i] = 0u64", "y_tiles[i] = 0u32")],
        &[(words, "y_tiles: u64[n] size((n + 63) quo 64) temporary")],
        &[(words, "y_tiles: u64[(n + 63) quo 64] size(n) temporary")],
        &[(words, "y_tiles: u64[(n + 63) quo 64] strides(2) temporary")],
        &[("y_tiles written exchanged", "y_tiles written")],
        &[("shared block_number: u32[1]", "shared block_number: i32[1]")],
        &[("shared block_number: u32[1]", "shared block_number: u32[2]")],
        &[("shared block_number: u32[1]", "shared block_number: u32[1] layout(1:2)")],
        &[
            ("earlier: i32", "earlier: i64"),
            ("before_tile[0] = earlier", "before_tile[0] = cast(i32, earlier)"),
        ],
        &[("look_back_sum(tile)", "look_back_sum(cast(i64, tile))")],
    ] {
        assert_eq!(refused(changes), Some("look-back"), "{changes:?}");
    }
}

#[test]
fn nothing_else_reads_or_writes_what_blocks_count_and_publish() {
    let store = "store y[i] = acc {prefix.finish[1]}";
    let read = |value: &str| format!("store y[i] = acc + 0 * cast(i32, {value}) {{prefix.finish[1]}}");
    for value in ["y_tiles[block.x]", "blocks_started[0]"] {
        assert_eq!(refused(&[(store, &read(value))]), Some("look-back"), "{value}");
    }
    for written in ["y_tiles[block.x] = 0u64", "blocks_started[0] = 0u32", "block_number[0] = 0u32"] {
        let both = format!("{store}\n        store {written}");
        assert_eq!(refused(&[(store, &both)]), Some("look-back"), "{written}");
    }
}

/// The words are 0 before each launch, and not only before the first one.
#[test]
fn every_launch_comes_directly_behind_one_that_resets() {
    let host = "    launch k_reset\n    launch k\n";
    let both = "launch k_reset\nlaunch k\n";
    let twice = format!("for t = 0 to 2 {{\n{both}}}\n");
    for launches in [both.to_string(), format!("{both}{both}"), format!("{twice}{both}")] {
        assert_ne!(refused(&[(host, &launches)]), Some("look-back"), "{launches}");
    }
    for launches in [
        format!("{both}launch k\n"),
        format!("launch k_reset\n{twice}launch k\n"),
        format!("launch k_reset\nfor t = 0 to 2 {{\nlaunch k\n{both}}}\n"),
        "launch k\nlaunch k_reset\n".to_string(),
    ] {
        assert_eq!(refused(&[(host, &launches)]), Some("look-back"), "{launches}");
    }
}

/// A block's total is data, which wraps as printed: no launch is refused for it.
#[test]
fn a_total_is_no_index() {
    let right = include_str!("filetests/check/look_back_right.lwp");
    let text = right.split("==== verdict").next().unwrap_or_default();
    for total in ["tile", "tile + 1", "2 * tile"] {
        let text = text.replace("look_back_sum(tile)", &format!("look_back_sum({total})"));
        let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
        let found = check(&program, &|name| (**name == *"n").then_some(1000));
        assert!(found.is_ok(), "{total}: {found:?}");
    }
}
