//! Scans that go on from block to block, in another order than the kernel's or by other operators.

use super::values::replaced;

/// The last number so far that is not 0: the operator does not commute.
const LAST: &str = "\
kernel k(x: i32[n], y: i32[n], n: i32)
assume 0 <= n
reduction last(x) {
    state v: i32 = 0
    lift v = x
    combine v = if(b.v == 0, a.v, b.v)
    result v
}
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j <= i }
y[i] = last(j, x[j]) {id=prefix}
";

const TILES: &str = "realize_scan(i, j)\nsplit_iname(i, 32)\ntag_inames(i_outer: block.x, i_inner: thread.x)";

#[test]
fn tiles_are_joined_in_their_order_by_the_kernels_operator() {
    assert_eq!(replaced(LAST, TILES, &[]), "");
    let function = "= if(later == 0, earlier, later)";
    for (from, to) in [
        (function, "= if(earlier == 0, later, earlier)"),
        (function, "= earlier + later"),
        (function, "= later"),
        ("i32 from 0 = if", "i32 from 1 = if"),
        // What the tiles before join, behind what the block has.
        ("set acc = if(acc == 0, before, acc)", "set acc = if(before == 0, acc, before)"),
        ("set acc = if(acc == 0, before, acc)", "set acc = if(acc == 0, tile, acc)"),
    ] {
        assert_eq!(replaced(LAST, TILES, &[(from, to)]), "wrong-join", "{to}");
    }
}

/// Blocks have the tiles from the last one on, so that they look back over later points.
#[test]
fn tiles_are_numbered_in_the_kernels_order() {
    let reversed = [("coordinate i_outer = block.x", "coordinate i_outer = -block.x")];
    assert_ne!(replaced(LAST, TILES, &reversed), "");
}

#[test]
fn rows_do_not_look_back_over_other_rows() {
    let kernel = "\
kernel k(x: i32[m, n], y: i32[m, n], m: i32, n: i32)
assume 0 <= m and 0 <= n
domain { [s] : 0 <= s < m }
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j <= i }
y[s, i] = sum(j, x[s, j]) {id=prefix}
";
    let pipeline = format!("{TILES}\ntag_inames(s: block.y)");
    assert_eq!(replaced(kernel, &pipeline, &[]), "");
    let along_y = [
        ("across(block.x)", "across(block.y)"),
        (
            "along block.x at y_tiles[block.y * ((n + 31) quo 32) + block.x]",
            "along block.y at y_tiles[block.x * m + block.y]",
        ),
        ("m * ((n + 31) quo 32)", "(n + 31) quo 32 * m"),
        ("y_tiles written exchanged, n: i32", "y_tiles written exchanged, m: i32, n: i32"),
    ];
    assert_eq!(replaced(kernel, &pipeline, &along_y), "missing-join");
}
