//! Misaligned rows read by whole vectors: the results of the declared kernel, and the remaining
//! loads.

use loopwright_emulator::{Arguments, Options, run};
use loopwright_kernel_ir::{Buffer, DType, LoopKernel, Number};
use loopwright_lowering::{
    LowerOptions, lower,
    program::{Memory, Program, Stmt},
};
use loopwright_reference::{Inputs, Mode, interpret};
use loopwright_transforms::Pipeline;

const SUM: &str = "\
kernel k(x: i32[nseg, len], out: i32[nseg], nseg: i32, len: i32)
assume 0 <= nseg and 0 <= len
domain { [s] : 0 <= s < nseg }
domain { [i] : 0 <= i < len }
out[s] = sum(i, x[s, i])
";

/// Rows on blocks, on warps, on threads, and split into chunks on blocks.
const PIPELINES: [&str; 5] = [
    "split_iname(i, 128, outer=i_tile, inner=i_rest)\nsplit_iname(i_rest, 4, outer=i_thread, inner=i_vec)
tag_inames(s: block.x, i_thread: thread.x, i_vec: vec)",
    "split_iname(i, 512, outer=i_tile, inner=i_in)\nsplit_iname(i_in, 128, outer=i_part, inner=i_rest)
split_iname(i_rest, 4, outer=i_thread, inner=i_vec)
tag_inames(s: block.x, i_thread: thread.x, i_vec: vec, i_part: ilp)",
    "split_iname(s, 2)\nsplit_iname(i, 128, outer=i_tile, inner=i_rest)
split_iname(i_rest, 4, outer=i_lane, inner=i_vec)
tag_inames(s_outer: block.x, s_inner: warp, i_lane: lane, i_vec: vec)",
    "split_iname(s, 32)\nsplit_iname(i, 4, outer=i_tile, inner=i_vec)
tag_inames(s_outer: block.x, s_inner: thread.x, i_vec: vec)",
    "split_iname(i, 256, outer=i_chunk, inner=i_in)\nsplit_iname(i_in, 128, outer=i_tile, inner=i_rest)
split_iname(i_rest, 4, outer=i_thread, inner=i_vec)
tag_inames(s: block.x, i_chunk: block.y, i_thread: thread.x, i_vec: vec)",
];

fn lowered(declared: &LoopKernel, steps: &str, index: DType) -> Program {
    let kernel = Pipeline::parse(steps).unwrap().apply(declared).unwrap_or_else(|e| panic!("{steps}: {e}"));
    lower(&kernel, LowerOptions::new(index)).unwrap_or_else(|e| panic!("{steps}: {e}"))
}

/// The lane counts of the vector loads from global memory.
fn vectors(program: &Program) -> Vec<u8> {
    let mut found = Vec::new();
    for kernel in &program.kernels {
        Stmt::visit(&kernel.body, &mut |stmt| {
            if let Stmt::VectorCopy { from, lanes, .. } = stmt
                && matches!(from.memory, Memory::Global(_))
            {
                found.push(*lanes);
            }
        });
    }
    found
}

/// Runs the sum of rows of pattern-free numbers and compares it with the declared kernel. Returns
/// the number of load requests and of sectors.
fn check(text: &str, steps: &str, index: DType, nseg: usize, len: usize) -> (u64, u64) {
    let declared = LoopKernel::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let program = lowered(&declared, steps, index);
    let x: Vec<i32> = (0..nseg * len).map(|k| ((k * 7 + k / 5) % 23) as i32 - 9).collect();
    let (mut given, mut arguments) = (Inputs::new(), Arguments::new());
    given = given.array("x", Buffer::from_slice(&x));
    arguments = arguments.array("x", Buffer::from_slice(&x)).output("out", Buffer::zeros(DType::I32, nseg));
    for (scalar, value) in [("nseg", nseg as i32), ("len", len as i32)] {
        given = given.scalar(scalar, Number::I32(value));
        arguments = arguments.scalar(scalar, Number::I32(value));
    }
    let expected = interpret(&declared, &given, Mode::Exact).unwrap_or_else(|e| panic!("{e}"));
    let report = run(&program, &mut arguments, &Options::default())
        .unwrap_or_else(|e| panic!("{steps}, {nseg} of {len}: {}", e.diagnostic()));
    assert_eq!(arguments.buffer("out").unwrap(), &expected["out"], "{steps}, {nseg} of {len}");
    let loads = &report.kernels[0].1.global_loads;
    (loads.requests, loads.sectors)
}

#[test]
fn rows_of_any_length_are_read_by_vectors() {
    for steps in PIPELINES {
        assert_eq!(vectors(&lowered(&LoopKernel::parse(SUM).unwrap(), steps, DType::I32)), [4], "{steps}");
        for (nseg, len) in [
            (5, 1),
            (7, 2),
            (6, 3),
            (3, 4),
            (9, 5),
            (5, 17),
            (3, 127),
            (4, 130),
            (3, 517),
            (2, 1031),
            (0, 5),
            (3, 0),
        ] {
            check(SUM, steps, DType::I32, nseg, len);
            check(SUM, steps, DType::I64, nseg, len);
        }
    }
}

/// Of a row of fixed length, the vectors that it begins and ends in are known apart from its whole
/// ones only by what a misalignment can be.
#[test]
fn rows_of_fixed_length_begin_at_any_element() {
    let sum = |begin: usize, end: usize| {
        SUM.replace("0 <= nseg and 0 <= len", "0 <= nseg and 32 <= len")
            .replace("i < len", &format!("i < {end}"))
            .replace("x[s, i]", &format!("x[s, i + {begin}]"))
    };
    for lanes in [2, 4] {
        let steps = format!("split_iname(i, {lanes}, inner=i_vec)\ntag_inames(s: block.x, i_vec: vec)");
        for begin in [1, 2, 3, 5] {
            for end in [1, 3, 15, 16] {
                for len in [32, 33] {
                    check(&sum(begin, end), &steps, DType::I32, 5, len);
                }
            }
        }
        let program = lowered(&LoopKernel::parse(&sum(3, 16)).unwrap(), &steps, DType::I32);
        assert_eq!(vectors(&program), [lanes]);
    }
}

/// A warp loads as much as one request can, except at the two ends of a row, and touches no more
/// sectors than single loads do.
#[test]
fn the_ends_of_a_row_are_all_that_is_loaded_one_by_one() {
    let (requests, sectors) = check(SUM, PIPELINES[1], DType::I32, 8, 4097);
    let (whole, ends) = (8 * 4097_u64.div_ceil(128), 8 * 2 * 4);
    assert!(requests <= whole + ends + 8 * 8, "{requests} requests, not about {whole} and {ends} at ends");
    let least = 8 * 4097 / 8;
    assert!(sectors <= least + 8 * 40, "{sectors} sectors, not about {least}");
}

/// Row ends that are constant, doubly bounded, or in a chunk that its tiles do not divide: whole
/// vectors nevertheless.
#[test]
fn ends_of_other_kinds_leave_whole_vectors() {
    let text = |assumed: &str, domain: &str| {
        SUM.replace("0 <= nseg and 0 <= len", assumed).replace("{ [i] : 0 <= i < len }", domain)
    };
    let parted_chunks = "split_iname(i, 384, outer=i_chunk, inner=i_in)
split_iname(i_in, 256, outer=i_round, inner=i_tile)
split_iname(i_tile, 128, outer=i_part, inner=i_rest)
split_iname(i_rest, 4, outer=i_thread, inner=i_vec)
tag_inames(s: block.x, i_chunk: block.y, i_thread: thread.x, i_vec: vec, i_part: ilp)";
    for steps in PIPELINES.into_iter().chain([parted_chunks]) {
        for end in [126, 129, 257, 513] {
            let constant = text(
                &format!("0 <= nseg and {end} <= len and len % 4 = 0"),
                &format!("{{ [i] : 0 <= i < {end} }}"),
            );
            check(&constant, steps, DType::I32, 3, 516 + 4);
            let lowered = lowered(&LoopKernel::parse(&constant).unwrap(), steps, DType::I32);
            assert_eq!(vectors(&lowered), [4], "{steps}, {end}");
        }
        for len in [1, 6, 130, 700] {
            check(SUM, steps, DType::I32, 3, len);
        }
    }
    // No chunks here: their number must be known in advance.
    let twice = text("0 <= nseg and 0 <= len", "{ [i] : 0 <= i < len and i <= 2*s + 1 }");
    for steps in &PIPELINES[..4] {
        for len in [1, 6, 130] {
            check(&twice, steps, DType::I32, 70, len);
        }
    }
}

/// A reduction over two inames in which the vector loop is not the innermost: the number of
/// products is unchanged.
#[test]
fn loops_inside_of_that_over_vectors_are_left_in_one() {
    let text = SUM
        .replace("domain { [i] : 0 <= i < len }", "domain { [i, k] : 0 <= i < len and 0 <= k < 3 }")
        .replace("sum(i, x[s, i])", "sum([i, k], x[s, i] * (k + 1))");
    for steps in PIPELINES {
        for len in [1, 6, 130, 517] {
            check(&text, steps, DType::I32, 3, len);
        }
    }
}

/// If rows have no points, because of a bound that depends on them, blocks still store results of
/// empty sums.
#[test]
fn partial_results_of_rows_without_points_have_room() {
    let text = SUM.replace("{ [i] : 0 <= i < len }", "{ [i] : 0 <= i < len and 2*i <= -s }");
    check(&text, PIPELINES[4], DType::I32, 9, 13);
}

/// Rows inside an array of three axes, with padding, starting at an offset from the row's
/// beginning.
#[test]
fn rows_begin_where_lengths_padding_and_constants_say() {
    let text = "\
kernel k(x: i32[nseg, 3, len pad 2], out: i32[nseg], nseg: i32, len: i32)
assume 0 <= nseg and 5 <= len
domain { [s] : 0 <= s < nseg }
domain { [i] : 0 <= i < len - 5 }
out[s] = max(i, x[s, 1, i + 5] * 2)
";
    let declared = LoopKernel::parse(text).unwrap();
    for steps in PIPELINES {
        assert_eq!(vectors(&lowered(&declared, steps, DType::I32)), [4], "{steps}");
    }
}

/// Where the order of points matters, they are not redistributed: an operator that does not commute
/// is refused, and a prefetch by thread number gets no vector loads.
#[test]
fn what_sees_the_order_of_points_is_left_alone() {
    let prefetched = "\
split_iname(i, 128, outer=i_tile, inner=i_in)
split_iname(i_in, 4, outer=i_thread, inner=i_vec)
add_prefetch(x, [i_thread, i_vec])
tag_inames(s: block.x, i_thread: thread.x, i_vec: vec)";
    let operator = "\
reduction compose(x) {
    state f: i32 = 1, c: i32 = 0
    lift f = x % 3 + 1, c = x
    combine f = a.f * b.f, c = a.c * b.f + b.c
    result c
}
";
    let (head, body) = SUM.split_at(SUM.find("domain").unwrap());
    let ordered = format!("{head}{operator}{}", body.replace("sum(", "compose("));
    let steps = "split_iname(i, 4, outer=i_tile, inner=i_vec)\ntag_inames(s: block.x, i_vec: vec)";
    let declared = LoopKernel::parse(&ordered).unwrap_or_else(|e| panic!("{e}"));
    let kernel = Pipeline::parse(steps).unwrap().apply(&declared);
    let refused = kernel.and_then(|k| lower(&k, LowerOptions::default())).map(|_| ()).unwrap_err();
    assert_eq!(refused.code, "does-not-commute", "{refused}");
    let declared = LoopKernel::parse(SUM).unwrap();
    assert!(vectors(&lowered(&declared, prefetched, DType::I32)).is_empty());
    check(SUM, prefetched, DType::I32, 3, 517);
}
