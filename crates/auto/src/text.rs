//! The texts of common steps.

use std::fmt::Display;

/// `split_iname(i, 128)`: parts `i_outer` and `i_inner`.
pub fn split(iname: impl Display, length: i64) -> String {
    format!("split_iname({iname}, {length})")
}

/// A split with names for its parts.
pub fn split_as(iname: impl Display, length: i64, outer: impl Display, inner: impl Display) -> String {
    format!("split_iname({iname}, {length}, outer={outer}, inner={inner})")
}

/// `tag_inames(i: block.x, j: thread.x)`
pub fn tag(tags: &[(String, &str)]) -> String {
    let tags: Vec<String> = tags.iter().map(|(iname, tag)| format!("{iname}: {tag}")).collect();
    format!("tag_inames({})", tags.join(", "))
}

/// `i`, `j` and `k`, quoted.
pub fn names(names: &[impl Display]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.join(""),
    }
}
