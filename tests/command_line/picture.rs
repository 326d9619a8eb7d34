//! `picture` and `roofline`: who runs what, counted by hand; refusals.

use std::collections::BTreeMap;

use loopwright::ir::{AxisSet, Dim, HardwareAxis, Name, PerDim};
use loopwright::picture::{Choice, Dot, Panel, Picture, Roofline, Runner};
use loopwright::prelude::*;
use loopwright::tuner::{Cost, Machine};

use crate::common::{Folder, call, example, out, refusal};

const BELOW: &str = "\
kernel below(a: f32[n, n], b: f32[n, n], n: i32)
domain { [i, j] : 1 <= i < n and 1 <= j <= i }
b[i, j] = a[i, j] + a[i - 1, j]
";

fn panel(kernel: &str, pipeline: &str, choice: &Choice, sizes: &[(&str, i64)]) -> Panel {
    let kernel = Pipeline::parse(pipeline).unwrap().apply(&LoopKernel::parse(kernel).unwrap()).unwrap();
    let sizes: BTreeMap<Name, i64> = sizes.iter().map(|(n, v)| (Name::new(n), *v)).collect();
    Picture::of(&kernel, choice, &sizes).unwrap().panels.remove(0)
}

fn runner(block: [i64; 3], thread: [i64; 3]) -> Runner {
    Runner { block: PerDim::from(block), thread: PerDim::from(thread) }
}

/// Each cell of a triangle lies in the block and the thread that its tile of 4 x 4 says, and there
/// are no others.
#[test]
fn tiles_of_a_triangle_are_where_division_puts_them() {
    let pipeline = "tile([i, j], [4, 4])\ntag_inames(i_outer: block.y, j_outer: block.x, j_inner: thread.x)";
    let panel = panel(BELOW, pipeline, &Choice::default(), &[("n", 12)]);
    assert_eq!(panel.axes, ["i", "j"]);
    let mut seen = 0;
    for i in 1..12_i64 {
        for j in 1..=i {
            let cell = &panel.cells[&[i, j]];
            assert_eq!(cell.instances, 1);
            let expected = runner([j / 4, i / 4, 0], [j % 4, 0, 0]);
            assert_eq!(cell.runners.iter().collect::<Vec<_>>(), [&expected], "{i}, {j}");
            seen += 1;
        }
    }
    assert_eq!(panel.cells.len(), seen);
    let used = [HardwareAxis::Grid(Dim::X), HardwareAxis::Grid(Dim::Y), HardwareAxis::Block(Dim::X)];
    assert_eq!(panel.used, used.into_iter().collect::<AxisSet>());
}

/// The points of a sum that threads share: eight threads have the points of a row.
#[test]
fn cells_of_shared_sums_name_all_threads() {
    let kernel = "\
kernel rows(x: f32[n, m], y: f32[n], n: i32, m: i32)
domain { [r] : 0 <= r < n }
domain { [c] : 0 <= c < m }
y[r] = sum(c, x[r, c]) {id=rows}
";
    let pipeline = "split_iname(c, 8)\ntag_inames(r: block.x, c_inner: thread.x)";
    let by_row = Choice { axes: vec![Name::new("r")], ..Choice::default() };
    let rows = panel(kernel, pipeline, &by_row, &[("n", 3), ("m", 20)]);
    assert_eq!(rows.cells.len(), 3);
    let second = &rows.cells[&[0, 1]];
    assert_eq!((second.instances, second.runners.len(), second.times.len()), (20, 8, 3));
    let both = panel(kernel, pipeline, &Choice::default(), &[("n", 3), ("m", 20)]);
    assert_eq!(both.cells[&[2, 17]].runners.first(), Some(&runner([2, 0, 0], [1, 0, 0])));
    // The kernel's own inames: the third tile has four points.
    let axes = vec![Name::new("c_outer"), Name::new("c_inner")];
    let own = panel(kernel, pipeline, &Choice { axes, ..Choice::default() }, &[("n", 3), ("m", 20)]);
    assert_eq!(own.cells.keys().filter(|at| at[0] == 2).count(), 4);
}

/// Of a quotient of two sums, the points of the first are drawn.
#[test]
fn the_first_of_two_sums_is_drawn() {
    let kernel = "\
kernel mean(x: f32[n, m], w: f32[n, l], y: f32[n], n: i32, m: i32, l: i32)
domain { [r] : 0 <= r < n }
domain { [c] : 0 <= c < m }
domain { [d] : 0 <= d < l }
y[r] = sum(c, x[r, c]) / sum(d, w[r, d])
";
    let mean = panel(kernel, "tag_inames(r: block.x)", &Choice::default(), &[("n", 2), ("m", 5), ("l", 9)]);
    assert_eq!((mean.axes, mean.cells.len()), (["r".to_owned(), "c".to_owned()], 10));
}

/// A copy is drawn by the elements that it writes: a tile of 6 for 4 threads, in two rounds.
#[test]
fn copies_are_drawn_by_their_elements() {
    let kernel = "\
kernel blur(x: f32[n + 2], y: f32[n], n: i32)
domain { [i] : 0 <= i < n }
y[i] = x[i] + x[i + 1] + x[i + 2]
";
    let pipeline = "\
split_iname(i, 4)
tag_inames(i_outer: block.x, i_inner: thread.x)
add_prefetch(x, [i_inner])
";
    let choice = Choice { statement: Some("x_fetch".into()), ..Choice::default() };
    let tile = panel(kernel, pipeline, &choice, &[("n", 10)]);
    assert!(tile.one_block);
    assert_eq!(tile.cells.len(), 6);
    for cell in 0..6 {
        assert_eq!(tile.cells[&[0, cell]].runners.first(), Some(&runner([0; 3], [cell % 4, 0, 0])));
    }
    assert!(tile.cells[&[0, 3]].times.first() < tile.cells[&[0, 4]].times.first());
}

#[test]
fn panels_are_those_of_steps_that_change_something() {
    let folder = Folder::new("picture");
    let kernel = folder.file("below.lw", BELOW);
    let pipeline = folder.file(
        "below.pipe",
        "assume(1 <= n)\ntile([i, j], [4, 4])\ntag_inames(i_outer: block.y, j_outer: block.x)\n",
    );
    let svg = out(&call(&["picture", &kernel, &pipeline, "--set", "n=12", "--steps"]));
    let captions: Vec<&str> = svg
        .split("font-weight=\"bold\"")
        .skip(1)
        .filter_map(|rest| rest.split_once('>')?.1.split('<').next())
        .collect();
    assert_eq!(captions[..2], ["declared", "tile([i, j], [4, 4])"]);
    assert!(captions[2].starts_with("tag_inames"), "{captions:?}");
    assert_eq!(svg.matches("<rect x=").count(), 3 * 66);
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let folder = Folder::new("no-picture");
    let kernel = folder.file("below.lw", BELOW);
    let text = refusal(&call(&["picture", &kernel]));
    assert!(text.contains("error[no-picture]: a picture is one of given sizes, and `n` has no value\n"));
    assert!(text.contains("= help: give it one: `--set n=16`\n"), "{text}");
    let text = refusal(&call(&["picture", &kernel, "--set", "n=9", "--statement", "other"]));
    assert!(text.contains("`below` has no statement `other`"), "{text}");
    assert!(text.contains("its statements are `set_b`"), "{text}");
    let text = refusal(&call(&["picture", &kernel, "--set", "n=9", "--axes", "i,n"]));
    assert!(text.contains("`n` is no loop of `set_b`") && text.contains("its loops are `i`, `j`"), "{text}");
    let text = refusal(&call(&["picture", &kernel, "--set", "n=1000000"]));
    assert!(text.contains("there are more than 65536 points"), "{text}");
    let text = refusal(&call(&["picture", &kernel, "--set", "n=300"]));
    assert!(text.contains("`i` would have 299 cells along a side"), "{text}");
    let ragged = example("kernels/ragged_sum.lw");
    let text = refusal(&call(&["picture", &ragged, "--set", "nseg=4", "--statement", "total"]));
    assert!(text.contains("where `total.update` runs depends on data"), "{text}");
}

/// The roof is where the memory's rate or the peak ends; a dot is at operations over bytes.
#[test]
fn rooflines_are_drawn_from_counts() {
    let machine = Machine { bandwidth: 1e12, ..Machine::h200() };
    let cost =
        Cost { operations: 4e9, moved_bytes: 1e9, necessary_bytes: 5e8, estimate_ms: 2.0, ..Cost::default() };
    let dot = Dot { name: "a < b".into(), cost };
    assert_eq!((dot.intensity(), dot.best_intensity(), dot.rate()), (4.0, 8.0, 2e12));
    let roofline = Roofline { title: "t".into(), machine, dots: vec![dot] };
    assert_eq!(roofline.roof(4.0), 4e12);
    assert_eq!(roofline.roof(1e9), roofline.machine.peak());
    let svg = roofline.svg().unwrap();
    assert!(svg.contains(">a &lt; b</text>") && svg.contains("4.00 operations for each byte, 2T"), "{svg}");
    let folder = Folder::new("roofline");
    let copy = folder.file(
        "copy.lw",
        "kernel copy(x: f32[n], y: f32[n], n: i32)\ndomain { [i] : 0 <= i < n }\ny[i] = x[i]\n",
    );
    let pipeline =
        folder.file("copy.pipe", "split_iname(i, 32)\ntag_inames(i_outer: block.x, i_inner: thread.x)\n");
    let text = refusal(&call(&["roofline", &copy, &pipeline, "--set", "n=64"]));
    assert!(text.contains("`copy` does no floating-point operations, or moves no bytes"), "{text}");
}
