//! The schedules of some example pipelines, as `loopwright check --schedule` prints them.

use crate::common;

use loopwright_kernel_ir::{DType, LoopKernel};
use loopwright_lowering::{
    LowerOptions, lower_unverified,
    program::{DeviceKernel, Program, Stmt},
    schedule,
};
use loopwright_testing::segments::kernel;
use loopwright_transforms::Pipeline;

/// One for each kind of decision: bounds and counters of loops, shared memory and its barriers,
/// vectors and their remainders, joins, scans, launches, nests over segments.
const SHOWN: [&str; 9] = [
    "axpy/block_128",
    "matmul/register_tile",
    "matmul/tiled_16",
    "layer_norm/any_length",
    "log_sum_exp/block_vec4",
    "prefix_sum/block_scan_vec4",
    "column_sum/chunks",
    "ragged_sum/flattened",
    "ragged_sum/flattened_guided",
];

#[test]
fn schedules_of_examples() {
    let examples = common::examples();
    for name in SHOWN {
        let example = examples.iter().find(|e| e.name() == name).expect("the example is there");
        let text = schedule(&example.transformed(), LowerOptions::default()).expect("it has a schedule");
        insta::with_settings!({
            prepend_module_to_snapshot => false,
            omit_expression => true,
            description => format!("{}\n{}", example.declared, example.steps),
        }, {
            insta::assert_snapshot!(format!("schedule__{}", name.replace('/', "__")), text);
        });
    }
}

/// Every kernel that has a program has a schedule, which names each of its launches.
#[test]
fn every_example_has_a_schedule() {
    for example in common::examples().iter().chain(common::polybench()) {
        let text = schedule(&example.transformed(), LowerOptions::default()).expect("it has a schedule");
        let launches = text.lines().filter(|l| l.trim_start().starts_with("kernel ")).count();
        assert_eq!(launches, example.program().kernels.len(), "{}\n{text}", example.name());
    }
}

/// Statements are shown with the predicate under which the kernel has them; first values have none.
#[test]
fn predicates_are_scheduled() {
    let text = "\
kernel k(x: f32[n], a: f32[n, n], y: f32[n], z: f32[n], n: i32)
assume 0 <= n
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j < n }
y[i] = 2.0*x[i] if x[i] > 0.5 {id=put}
z[i] = sum(j, a[i, j]) if x[i] < 0.5 {id=total}
";
    let kernel = LoopKernel::parse(text).expect("it is a kernel");
    let text = schedule(&kernel, LowerOptions::default()).expect("it has a schedule");
    let of =
        |id: &str| -> Vec<&str> { text.lines().map(str::trim).filter(|line| line.starts_with(id)).collect() };
    assert_eq!(of("put"), ["put if x[i] > 0.5"], "{text}");
    let parts = ["total.init", "total.update if x[i] < 0.5", "total.finish if x[i] < 0.5"];
    assert_eq!(of("total."), parts, "{text}");
}

/// Neighbours with one predicate, or its negation, share a branch, unless one of them writes what
/// it reads. Names of one axis are one index.
#[test]
fn neighbours_share_branches() {
    let branches = |instructions: &str| -> Vec<String> {
        let text = format!(
            "kernel k(x: f32[n], y: f32[n], z: f32[n], n: i32)
assume 0 <= n
domain {{ [i] : 0 <= i < n }}
domain {{ [j] : 0 <= j < n }}
{instructions}"
        );
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        let kernel = Pipeline::parse("tag_inames(i: block.x, j: block.x)").unwrap().apply(&kernel).unwrap();
        let text = schedule(&kernel, LowerOptions::default()).expect("it has a schedule");
        let body = text.lines().skip_while(|line| !line.contains("blocks:")).skip(1);
        body.map(|line| line.trim().to_string()).collect()
    };
    let both = "\
y[i] = 2.0*x[i] if x[i] > 0.5 {id=put}
z[j] = x[j] if x[j] > 0.5 {id=pick}
z[j] = 0.0 if not x[j] > 0.5 {id=rest}
";
    let shared = ["load x[i] once", "if x[i] > 0.5", "put", "pick", "else", "rest"];
    assert_eq!(branches(both), shared);
    let own = "y[i] = y[i] + 1.0 if y[i] > 0.5 {id=put}\nz[i] = 0.0 if not y[i] > 0.5 {id=rest}\n";
    assert_eq!(branches(own), ["load y[i] once", "put if y[i] > 0.5", "rest if not y[i] > 0.5"]);
    let loaded = "\
y[i] = 1.0 if x[i] > 0.5 {id=put}
z[i] = y[i]*y[i] if x[i] > 0.5 {id=pick}
";
    assert_eq!(branches(loaded), ["if x[i] > 0.5", "put", "pick"]);
}

/// An operator that does not commute, of two values.
const COMPOSE: &str = "\
reduction compose(x) {
    state f: i32 = 1, c: i32 = 0
    lift f = x % 3 + 1, c = x
    combine f = a.f * b.f, c = a.c * b.f + b.c
    result f, c
}
";

/// The schedule and the program of a nest over segments `s` with points `i`.
fn flattened(head: &str, outputs: &str, instruction: &str, numbers: &str) -> (String, Program) {
    let declared = LoopKernel::parse(&kernel(head, outputs, instruction)).expect("it is a kernel");
    let steps = Pipeline::parse(&format!("flatten_ragged(s, i, {numbers})")).expect("a pipeline");
    let kernel = steps.apply(&declared).expect("it is flattened");
    let options = LowerOptions::new(DType::I32);
    let text = schedule(&kernel, options).expect("it has a schedule");
    (text, lower_unverified(&kernel, options).expect("it has a program"))
}

/// What distinguishes nests over segments, in their schedules. Numbers are derived by hand.
#[test]
fn schedules_of_nests_over_segments() {
    let out = "out: i32[nseg]";
    let has = |text: &str, wanted: &[&str], unwanted: &[&str]| {
        for line in wanted {
            assert!(text.contains(line), "no `{line}` in\n{text}");
        }
        for line in unwanted {
            assert!(!text.contains(line), "`{line}` in\n{text}");
        }
    };
    // The points are the state: they are added as they are loaded, and partial results overwrite
    // them. Tiles of 8 points for each of 32 lanes, two in a chunk.
    let (sums, _) = flattened("", out, "out[s] = sum(i, x[i])", "threads=64, items=8, tiles=2");
    has(
        &sums,
        &[
            "of 512 steps",
            "loop over tiles of 256 points",
            "by vote of the warp",
            "load x[i], points of the first tile, by vectors of 4, or one by one in a partial tile",
            "store x[i] to points, by vectors of 4, or one by one in a partial tile, filling with 0",
            "store points: what marked points complete, with all other points, by vectors of 4",
            // Four of every 32 elements are padding.
            "points: an array of each block, [2, 288]",
            "join sum of set_out over 2 warps",
        ],
        &["by bisection", "of the chunk in each lane"],
    );
    // The order of points matters, and no value of `x` has a neutral term.
    let (ordered, _) = flattened(
        COMPOSE,
        "p: i32[nseg], q: i32[nseg]",
        "p[s], q[s] = compose(i, x[i])",
        "threads=32, items=8, tiles=1",
    );
    has(
        &ordered,
        &[
            "for 8 neighbours of the chunk in each lane, in their order",
            "store complete_f, complete_c: what marked points complete, one by one",
        ],
        &["by vote", "filling", "over the lanes: by shuffles among 32 lanes\n"],
    );
    // Each lane has to know the segments of its points. A chunk of 256 steps has at most 129 ends,
    // one more than half of its steps; bisection begins at the next power of two.
    let of_segment = "out[s] = sum(i, x[i] * w[s])";
    let (of_segment, _) = flattened("", out, of_segment, "threads=32, items=8, tiles=1");
    has(&of_segment, &["by bisection, in steps from 256 down"], &["by vote", "load x[i]", "to points"]);
    // What is reduced is computed from what is loaded.
    let (mapped, _) = flattened("", out, "out[s] = sum(i, x[i] * x[i])", "threads=32, items=8, tiles=1");
    has(&mapped, &["store x[i] * x[i] to points, by way of mapped, by vectors of 4"], &[]);
}

/// The schedule of a nest over segments has the arrays and barriers of its program, launch by
/// launch.
#[test]
fn arrays_and_barriers_of_nests_over_segments_are_scheduled() {
    let cases = [
        ("", "out: i32[nseg]", "out[s] = sum(i, x[i])"),
        ("", "v: i32[nseg], k: i32[nseg]", "v[s], k[s] = argmax(i, x[i], cast(i32, i))"),
        (COMPOSE, "p: i32[nseg], q: i32[nseg]", "p[s], q[s] = compose(i, x[i])"),
        ("", "out: i32[nseg]", "out[s] = sum(i, x[i] * w[s])"),
        ("", "out: f64[nseg]", "out[s] = sum(i, cast(f64, x[n - 1 - i] + x[i]))"),
    ];
    for (head, outputs, instruction) in cases {
        let (text, program) = flattened(head, outputs, instruction, "threads=64, items=8, tiles=2");
        let launches: Vec<&str> = text.split("kernel ").skip(1).collect();
        assert_eq!(launches.len(), program.kernels.len(), "{text}");
        for (launch, kernel) in launches.iter().zip(&program.kernels) {
            let of = |kind: &str| -> Vec<String> {
                let found = launch.lines().filter(|line| line.contains(kind));
                found.map(|line| line.split("    #").next().unwrap_or(line).trim().to_string()).collect()
            };
            for (arrays, whose) in [(&kernel.shared, "block"), (&kernel.private, "thread")] {
                let kind = format!("an array of each {whose}");
                let wanted: Vec<String> =
                    arrays.iter().map(|a| format!("{}: {kind}, {:?}", a.name, a.dims)).collect();
                assert_eq!(of(&kind), wanted, "{instruction}\n{text}");
            }
            let mut barriers = 0;
            Stmt::visit(&kernel.body, &mut |stmt| barriers += usize::from(matches!(stmt, Stmt::Sync { .. })));
            assert_eq!(
                of("barrier").iter().filter(|line| line.starts_with("barrier")).count(),
                barriers,
                "{text}"
            );
        }
    }
}

/// Barriers are decided once: the schedule of a kernel has those of its program, launch by launch.
#[test]
fn every_barrier_is_scheduled() {
    let mut inside_of_joins = 0;
    for example in common::examples().iter().chain(common::polybench()) {
        let text = schedule(&example.transformed(), LowerOptions::default()).expect("it has a schedule");
        let mut scheduled: Vec<Vec<&str>> = Vec::new();
        for line in text.lines().map(str::trim_start) {
            if line.starts_with("kernel ") {
                scheduled.push(Vec::new());
            } else if line.starts_with("barrier") {
                let note = line.split_once("    # ").map_or("", |(_, note)| note);
                scheduled.last_mut().expect("a barrier is in a kernel").push(note);
                inside_of_joins += usize::from(note.contains("have stored"));
            }
        }
        let program = example.program();
        let written = |kernel: &DeviceKernel| {
            let mut notes = Vec::new();
            Stmt::visit(&kernel.body, &mut |stmt| {
                if let Stmt::Sync { note, .. } = stmt {
                    notes.push(note.text.clone());
                }
            });
            notes
        };
        let written: Vec<Vec<String>> = program.kernels.iter().map(written).collect();
        assert_eq!(scheduled, written, "{}\n{text}", example.name());
    }
    assert!(inside_of_joins > 5, "{inside_of_joins}");
}
