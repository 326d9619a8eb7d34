//! Segments through many blocks, whose partial results the last launch of a nest joins: in a
//! thread, in the lanes of a warp, across warps, and in several rounds.

use loopwright_kernel_ir::Flat;

use super::{Cut, Lengths, MOST_STEPS};

/// How many blocks a thread of the last launch takes in a round, and how many threads it has.
const OF_THREAD: i64 = 4;
const THREADS: i64 = 1024;

/// One segment through one block more than a thread takes, behind which others begin; and long and
/// short segments in the blocks of several warps and rounds, where they are not too long.
pub(super) fn cases(flat: Flat, warp: i64) -> Vec<Lengths> {
    let Cut { block, .. } = Cut::of(flat, warp);
    let mut cases = Vec::new();
    if (OF_THREAD + 1) * block <= 2 * MOST_STEPS {
        cases.push(Lengths { before: 0, lengths: vec![(OF_THREAD + 1) * block, 0, 3, 1] });
    }
    let of_warp = OF_THREAD * warp;
    for blocks in [2 * of_warp + 7, 3 * of_warp + 5] {
        if blocks * block <= 2 * MOST_STEPS {
            cases.push(Lengths { before: 1, lengths: through(blocks, block) });
        }
    }
    // What is open behind a round is so before the next one: in its first warp, or in others.
    let of_round = OF_THREAD * THREADS;
    if (of_round + 4 * of_warp) * block <= 8 * MOST_STEPS {
        let first = (of_round - 5) * block;
        for blocks in [10, of_warp + 9, 2 * of_warp + 9] {
            let lengths = vec![first, 3, blocks * block, 0, 2, (of_warp + 9) * block, 0, 5];
            cases.push(Lengths { before: 0, lengths });
        }
    }
    cases
}

/// Segments through one block and through many, with a few short ones between.
fn through(blocks: i64, block: i64) -> Vec<i64> {
    let end = i64::from(Flat::END_WEIGHT);
    let (mut lengths, mut left) = (Vec::new(), blocks * block);
    for (number, through) in [1, 3, 2, 9, 1, 40, 5, 130].into_iter().cycle().enumerate() {
        let through = through * block + number as i64;
        let few = [3, 0, through % 7];
        let steps = through + end + few.iter().map(|length| length + end).sum::<i64>();
        if steps > left {
            break;
        }
        left -= steps;
        lengths.push(through);
        lengths.extend(few);
    }
    lengths.push((left - end).max(0));
    lengths
}
