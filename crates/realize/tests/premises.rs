//! Premises of realisations that the points of a reduction alone do not show: its other parts run
//! as before, and a first value comes first.

use crate::common::{each_is_noticed, end, position, realized};
use loopwright_kernel_ir::{Aff, Constraint, KernelData};

/// A result more than there was, beside the row, with the points of none.
fn a_result_without_points(data: &mut KernelData) {
    end(data, "s", |aff| aff.add_constant(1).unwrap());
    let along = data.domains.iter_mut().find(|d| d.inames.iter().any(|i| **i == *"i")).unwrap();
    let before = Aff::var("m").sub(&Aff::var("s")).unwrap().add_constant(-1).unwrap();
    along.constraints.push(Constraint::nonneg(before));
}

/// The points are those of the old results, but blocks of another one update its cell too.
#[test]
fn results_without_points_are_not_updated() {
    let text = "\
kernel k(x: f32[m, n], out: f32[m], n: i32, m: i32)
domain { [s] : 0 <= s < m }
domain { [i] : 0 <= i < n }
out[s] = sum(i, x[s, i]) {id=total, join=atomic}
";
    let steps = "\
split_iname(i, 256)
tag_inames(s: block.x, i_outer: block.y, i_inner: thread.x)
";
    let (before, after) = realized("updates", text, steps);
    each_is_noticed(
        &before,
        &after,
        &[
            ("a result more is updated", &a_result_without_points, "updates other cells"),
            (
                "the updates begin before the first values",
                &|data| {
                    let (start, begin) =
                        (position(&data.tree, "total_start"), position(&data.tree, "total.init"));
                    data.tree.swap(start, begin);
                },
                "does not stand before",
            ),
        ],
    );
}

/// The points from the aligned address are those of the old rows, but another one is written too.
#[test]
fn results_without_points_are_not_written() {
    let text = "\
kernel k(x: f32[m, n], out: f32[m], n: i32, m: i32)
assume 1 <= n
domain { [s] : 0 <= s < m }
domain { [i] : 0 <= i < n }
out[s] = sum(i, x[s, i]) {id=total}
";
    let steps = "\
split_iname(i, 128, outer=i_tile, inner=i_rest)
split_iname(i_rest, 4, outer=i_thread, inner=i_vec)
tag_inames(s: block.x, i_thread: thread.x, i_vec: vec)
";
    let (before, after) = realized("alignment", text, steps);
    each_is_noticed(
        &before,
        &after,
        &[("a result more is written", &a_result_without_points, "has other executions or accesses")],
    );
}
