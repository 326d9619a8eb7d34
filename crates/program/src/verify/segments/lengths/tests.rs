//! Which lengths are chosen, by the steps at which segments begin and end.

use std::collections::BTreeSet;

use loopwright_kernel_ir::Flat;

use super::{Lengths, blocks, cases, edges, mixed};

/// The steps at which the points of a segment begin and end, and that at which its end does.
struct Segment {
    first: i64,
    points: i64,
    end: i64,
}

fn segments(case: &Lengths) -> Vec<Segment> {
    let mut steps = 0;
    let of = |length: &i64| {
        let first = steps;
        steps += length + i64::from(Flat::END_WEIGHT);
        Segment { first, points: first + length, end: steps }
    };
    case.lengths.iter().map(of).collect()
}

/// The number of steps of all segments.
fn steps(case: &Lengths) -> i64 {
    segments(case).last().map_or(0, |s| s.end)
}

/// A nest in warps of 32 threads, of which each has 16 points in a tile.
fn nest(threads: u16, tiles: u16) -> Flat {
    Flat { threads, items: 16, tiles, tail: None }
}

const TILE: i64 = 16 * 32;

/// The cases that are longer than a few tiles, without those of whole blocks, which begin at
/// element 1: those that are chosen by the ends of chunks.
fn of_chunks(tiles: u16) -> Vec<Vec<Segment>> {
    let few = 3;
    let found = mixed(nest(64, tiles), 32);
    found.iter().skip(few + 1).filter(|case| case.before == 0).map(segments).collect()
}

/// Segments that are none the shorter for being many: with some of no point, several would have
/// their ends in one.
#[test]
fn many_short_segments_have_a_point_or_two() {
    for flat in [nest(32, 1), nest(256, 64)] {
        let is_short = |length: &&i64| (1..=2).contains(*length);
        let longest = |case: &Lengths| {
            let runs = case.lengths.split(|length| !is_short(&length));
            runs.filter(|run| run.contains(&1) && run.contains(&2)).map(<[i64]>::len).max()
        };
        // A group is as many as a warp has lanes.
        let found = cases(flat, 32).iter().filter_map(longest).max();
        assert!(found.is_some_and(|run| run >= 4 * 32), "{flat:?}: {found:?}");
    }
}

/// In each case, segments of more than two points begin and end at most of the 16 points of a lane,
/// empty ones lie between others, and some have all points of a lane, one more, or several lanes.
#[test]
fn segments_begin_and_end_anywhere_in_the_points_of_a_lane() {
    let found = mixed(nest(64, 4), 32);
    let [few, chunks, many] = &found[3..] else { panic!("{} cases", found.len()) };
    for (what, case) in [("few tiles", few), ("chunks", chunks), ("blocks", many)] {
        let of = segments(case);
        let points = || of.iter().filter(|s| s.points > s.first + 2);
        for (place, steps) in [
            ("begins", points().map(|s| s.first).collect::<Vec<_>>()),
            ("ends", points().map(|s| s.points).collect()),
        ] {
            let places = steps.iter().map(|step| step % 16).collect::<BTreeSet<_>>();
            assert!(places.len() > 8, "{what}: a segment {place} only at {places:?}");
        }
        let between = case.lengths.windows(3).any(|three| three[1] == 0 && three[0] > 0 && three[2] > 0);
        assert!(between, "{what}: no empty segment lies between others");
        for length in [1, 16, 17, 31, 83] {
            assert!(case.lengths.contains(&length), "{what}: no segment has {length} points");
        }
    }
}

/// Chunks of four tiles, of which several are run.
#[test]
fn chunks_end_with_a_segment_one_step_off_and_within_its_end() {
    let chunk = 4 * TILE;
    let [found] = &of_chunks(4)[..] else { panic!("not one case") };
    let at = |place: &dyn Fn(&Segment) -> i64| found.iter().any(|s| place(s) % chunk == 0);
    assert!(at(&|s| s.end), "no segment ends with a chunk");
    assert!(at(&|s| s.end - 1), "no chunk ends one step before a segment does");
    assert!(at(&|s| s.points), "no chunk ends with the points of a segment");
    let empty = found.iter().filter(|s| s.points == s.first && s.first / chunk != s.end / chunk);
    assert!(empty.count() > 0, "no chunk ends within an empty segment");
    assert!(found.iter().any(|s| s.points > s.first + chunk), "no segment is longer than a chunk");
}

/// Chunks so large that only two of them are run: a segment has a whole tile in one of them.
#[test]
fn large_chunks_have_whole_tiles_inside_of_a_segment() {
    for tiles in [33, 64, 144] {
        let [found] = &of_chunks(tiles)[..] else { panic!("not one case") };
        let whole = |s: &Segment| s.points / TILE - (s.first + TILE - 1) / TILE;
        assert!(found.iter().any(|s| whole(s) >= 1), "{tiles}");
        assert!(found.iter().any(|s| s.end > i64::from(tiles) * TILE), "{tiles}: one chunk is enough");
    }
    // No two of these are run.
    assert!(of_chunks(145).is_empty());
}

/// Blocks of which no four can be run are not run at all, but for one segment through five of them.
#[test]
fn no_more_steps_are_run_than_there_may_be() {
    for (threads, tiles) in [(64, 33), (256, 64), (1024, 16), (1024, 64)] {
        let flat = nest(threads, tiles);
        for case in mixed(flat, 32).iter().chain(&edges::cases(flat, 32)) {
            let steps = steps(case);
            assert!(steps <= super::MOST_STEPS, "{threads} threads, {tiles} tiles: {steps} steps");
        }
        let (few, block) = (blocks::cases(flat, 32), TILE * i64::from(threads / 32) * i64::from(tiles));
        let is_run = 5 * block <= 2 * super::MOST_STEPS;
        assert_eq!(few.iter().map(steps).collect::<Vec<_>>(), [5 * block + 12].repeat(is_run.into()));
    }
}

/// Last chunks and blocks have one step, all of them or all but one; so have last tiles points.
#[test]
fn last_chunks_blocks_and_tiles_are_full_or_just_begun() {
    let (flat, chunk) = (nest(64, 4), 4 * TILE);
    let found = cases(flat, 32);
    for unit in [chunk, 2 * chunk] {
        let left: BTreeSet<i64> = found.iter().map(|case| steps(case) % unit).collect();
        assert!([unit - 1, 0, 1].iter().all(|left_over| left.contains(left_over)), "{unit}: {left:?}");
    }
    for points_of_the_first in [0, 5] {
        let of = |case: &&Lengths| case.lengths.len() > 1 && case.lengths[0] == 5;
        let found = found.iter().filter(|case| of(case) == (points_of_the_first == 5));
        let last: BTreeSet<i64> = found.map(|case| case.lengths.iter().sum::<i64>() % TILE).collect();
        assert!([TILE - 1, 0, 1].iter().all(|points| last.contains(points)), "{last:?}");
    }
}

/// A chunk that has no point and begins at the first point of a lane; and more ends with points
/// among the points of a tile than a warp loads in three groups.
#[test]
fn chunks_have_ends_alone_and_tiles_have_many() {
    let found = edges::cases(nest(64, 4), 32);
    let chunk = 4 * TILE;
    let alone = found.iter().any(|case| {
        let of = segments(case);
        let of_chunk = |number: i64| of.iter().filter(move |s| s.end / chunk == number && s.end % chunk > 2);
        (1..4).any(|number| {
            let first = of_chunk(number).next().map_or(1, |_| case.lengths[..1].iter().sum::<i64>());
            of_chunk(number).count() > 0 && of_chunk(number).all(|s| s.points == s.first) && first % 16 == 0
        })
    });
    assert!(alone, "no chunk has ends alone");
    for place in [256, 384] {
        let is_in_first_tile = |case: &&Lengths| {
            let points = case.lengths.iter().take(place + 1).sum::<i64>();
            case.lengths.get(place).is_some_and(|length| *length > 0) && points <= TILE
        };
        assert!(found.iter().any(|case| is_in_first_tile(&case)), "segment {place} of a tile is empty");
    }
}

/// The least nest has more blocks than the last launch joins in a round, whose last segment begins
/// in the round before: it ends in the first warp of the next, in the second and in the third.
#[test]
fn segments_go_through_rounds_of_the_last_launch() {
    let flat = Flat { threads: 32, items: 8, tiles: 1, tail: None };
    let (block, round, of_warp) = (8 * 32, 4096, 128);
    let mut ends = BTreeSet::new();
    for case in blocks::cases(flat, 32) {
        let of = segments(&case);
        let beyond = of.iter().find(|s| s.first / block < round && s.end / block >= round);
        ends.extend(beyond.map(|s| (s.end / block - round) / of_warp));
    }
    assert_eq!(ends, BTreeSet::from([0, 1, 2]));
}

/// Blocks of two tiles: as many as one warp cannot join four of for each lane, some within one
/// segment, with short segments between.
#[test]
fn segments_go_through_one_block_and_through_several() {
    let block = 2 * TILE;
    let many: Vec<Lengths> = mixed(nest(64, 1), 32).into_iter().filter(|case| case.before == 1).collect();
    let [many] = &many[..] else { panic!("not one case") };
    let found = segments(many);
    assert!(found.last().is_some_and(|s| s.end > 4 * 32 * block), "a warp could join all blocks");
    let whole = |s: &Segment| s.points / block - (s.first + block - 1) / block;
    assert!(found.iter().any(|s| whole(s) == 1), "no segment has one block for itself");
    assert!(found.iter().any(|s| whole(s) >= 4), "no segment has several blocks for itself");
    let longs: Vec<usize> =
        found.iter().enumerate().filter(|(_, s)| whole(s) >= 1).map(|(number, _)| number).collect();
    assert!(longs.windows(2).any(|two| two[1] > two[0] + 1), "long segments follow each other");
}

#[test]
fn a_witness_has_the_first_lengths() {
    let said = |lengths: Vec<i64>| Lengths { before: 3, lengths }.to_string();
    assert_eq!(said(vec![]), "there are no segments");
    assert_eq!(said(vec![0, 5]), "there are 2 segments, from element 3 on, of lengths 0, 5");
    let eight = "from element 3 on, of lengths 1, 2, 3, 4, 5, 6, 7, 8";
    assert_eq!(said((1..9).collect()), format!("there are 8 segments, {eight}"));
    assert_eq!(said((1..10).collect()), format!("there are 9 segments, {eight}, ..."));
}
