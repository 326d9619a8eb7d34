//! Few segments that end where a tile does, a chunk, a block or a group of ends, and one beside.

use loopwright_kernel_ir::Flat;

use super::{Cut, Lengths, MOST_STEPS};

/// Numbers of steps that leave a last tile, chunk or block with all of its steps, with one, or with
/// all but one; and groups of as many ends as a warp loads at once, of which the last one is full,
/// has one end, or lacks one.
pub(super) fn cases(flat: Flat, warp: i64) -> Vec<Lengths> {
    let Cut { items, tile, chunk, block } = Cut::of(flat, warp);
    let end = i64::from(Flat::END_WEIGHT);
    let of = |lengths: Vec<i64>| Lengths { before: 0, lengths };

    // Segments that fill tiles up to the last point, and begin with the first.
    let mut cases = vec![of(vec![3 * tile, tile, 2 * tile - 1, 1, tile + 1, tile - 1, 0, tile])];
    for beside in [-1, 0, 1] {
        cases.push(of(vec![tile + beside]));
        cases.push(of(vec![2 * tile + beside]));
        cases.push(of(vec![5, 2 * tile + beside - 5]));
        if chunk <= MOST_STEPS {
            cases.push(of(vec![chunk + beside - end]));
        }
        if block <= MOST_STEPS / 3 {
            cases.push(of(vec![block + beside - 2 * end, 0]));
        }
    }

    // Chunks of ends alone, which begin with the first point of a lane.
    if 3 * chunk <= MOST_STEPS {
        cases.push(of(std::iter::once(4 * items).chain((0..chunk + 3).map(|_| 0)).collect()));
    }

    // Segments of a point or two, and of one or none, of which a tile has more than of any other.
    let group = 4 * warp;
    for count in [group - 1, group, group + 1, 2 * group, 2 * group + 1, 3 * group + warp + 1] {
        cases.push(of((0..count).map(|k| 1 + k % 2).collect()));
        cases.push(of((0..2 * count).map(|k| k % 2).chain([7]).collect()));
        cases.push(of((0..2 * count).map(|k| (k + 1) % 2).chain([7]).collect()));
        // Two segments with points follow each other where groups begin.
        let begins = |k: i64| i64::from(k % group < 2 || k % 2 == 1);
        cases.push(of((0..2 * count).map(begins).chain([7]).collect()));
    }

    // Groups of which a tile has some ends, the next one none, and the one behind it the next end.
    for lanes in 1..=4 {
        let few = lanes * warp - 2;
        let next = [2 * tile + tile / 3 - few, tile / 4, 3 * tile];
        cases.push(of((0..few).map(|_| 1).chain(next).collect()));
    }
    cases
}
