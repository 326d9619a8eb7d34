//! The kernels of the examples through random pipelines: see [`loopwright_testing::sweep`].
//! `make sweep` runs many more.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{LoopKernel, Name};
use loopwright_testing::{
    brute::{self, Outcome, Stop},
    case::Case,
    filetest,
    sweep::{self, Seen},
};
use loopwright_transforms::Pipeline;
use rayon::prelude::*;

#[test]
fn what_is_refused_is_wrong_and_what_is_proved_is_right() {
    let sources = sweep::sources();
    assert!(sources.len() >= 27, "{} kernels", sources.len());
    let all: Vec<_> = sources.iter().flat_map(|s| (0..4).map(move |seed| (s, seed))).collect();
    let seen = all.into_par_iter().map(|(s, seed)| sweep::case(s, seed)).reduce(Seen::default, Seen::with);
    println!("{seen}");
    let texts: Vec<String> = seen
        .failures
        .iter()
        .map(|(case, f)| {
            let small = sweep::shrink(case, f.kind);
            format!("---- {}: {}\n{}", f.kind, f.text, filetest::text(&small.kernel, &small.steps.join("\n")))
        })
        .collect();
    assert!(texts.is_empty(), "{seen}\n{}", texts.join("\n"));
    // Most verdicts of both kinds are compared with runs.
    assert!(seen.refuted[1] >= 10 && seen.refuted[1] * 10 >= seen.refuted[0] * 9, "{seen}");
    assert!(seen.proved[1] >= 80 && seen.proved[1] * 10 >= seen.proved[0] * 8, "{seen}");
}

/// A kernel whose steps are proved, and whose program the final check refuses, is a failure. This
/// one is a known gap (`tests/filetests/gaps`).
#[test]
fn a_refusal_by_the_final_check_is_a_failure() {
    let kernel = "\
kernel k(x: i64[n], y: i64[1], n: i32)
assume 0 <= n
domain { [i] : 0 <= i < n }
reduction plus(v) {
    state m: i64 = 0
    lift m = v
    combine m = a.m + max(1, 9223372036854775807 + 1) * b.m
    result m
    commutes
}
y[0] = plus(i, x[i]) {id=total}
";
    let case = |steps: &[&str]| Case {
        kernel: kernel.to_string(),
        steps: steps.iter().map(|s| (*s).to_string()).collect(),
    };
    let (split, threads) = ("split_iname(i, 64)", "tag_inames(i_inner: thread.x)");
    assert!(sweep::fails(&case(&[split, threads]), "wrong-join"));
    assert!(!sweep::fails(&case(&[split]), "wrong-join"));
}

/// The runs of a kernel as declared and after a pipeline applied without verdicts.
fn runs(kernel: &str, pipeline: &str, sizes: &[(&str, i64)]) -> (Outcome, Outcome) {
    let declared = LoopKernel::parse(kernel).unwrap_or_else(|d| panic!("{kernel}\n{d}"));
    let steps = Pipeline::parse(pipeline).expect("steps");
    let after = steps.apply_unjudged(&declared).unwrap_or_else(|d| panic!("{pipeline}\n{d}"));
    let sizes = sizes.iter().map(|(n, v)| (Name::new(*n), *v)).collect::<BTreeMap<_, _>>();
    let run = |kernel| brute::run(kernel, &sizes).expect("a run");
    (run(&declared), run(&after))
}

const SUM: &str = "kernel k(x: f32[n, m], y: f32[n], n: i32, m: i32)
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j < m }
y[i] = 2.0 * sum(j, x[i, j]) {id=total}
";

#[test]
fn brute_force_runs_all_instances() {
    let (declared, split) = runs(
        SUM,
        "split_iname(j, 2)\n\
         split_reduction_inward(j_inner)\n\
         split_iname(i, 4)\n\
         tag_inames(i_inner: block.x, j_inner: thread.x)",
        &[("n", 6), ("m", 3)],
    );
    // init, update and finish of each row.
    assert_eq!(declared.ran.len(), 6 + 6 * 3);
    assert_eq!(declared.outputs.len(), 6);
    assert_eq!((declared.outputs, None), (split.outputs, split.race));
    let (declared, none) = runs(SUM, "split_iname(j, 2)", &[("n", 2), ("m", 0)]);
    assert_eq!(declared.outputs.len(), 2, "what has no points is written");
    assert_eq!(declared.outputs, none.outputs);
}

#[test]
fn brute_force_sees_other_orders_and_races() {
    let kernel = "kernel k(x: f32[n + 1], n: i32)
domain { [i] : 0 <= i < n }
x[i + 1] = 0.5 * x[i] {id=s}
";
    let (declared, reversed) = runs(kernel, "reverse(i)", &[("n", 3)]);
    assert_ne!(declared.outputs, reversed.outputs);
    let (_, threads) = runs(kernel, "fix_parameters(n=3)\ntag_inames(i: thread.x)", &[("n", 3)]);
    assert!(threads.race.is_some());
    let (declared, one) = runs(kernel, "reverse(i)", &[("n", 1)]);
    assert_eq!(declared.outputs, one.outputs, "one iteration has one order");
}

#[test]
fn brute_force_keeps_cells_of_owners_apart() {
    let kernel = "kernel k(x: f32[8], y: f32[8])
domain { [i] : 0 <= i < 8 }
temp t: f32 private
t = 2.0 * x[i] {id=a, inames=i}
y[i] = t + 1.0 {id=b, inames=i}
";
    let (declared, threads) = runs(kernel, "tag_inames(i: thread.x)", &[]);
    assert_eq!((&declared.outputs, None), (&threads.outputs, threads.race));
    let (_, shared) = runs(kernel, "set_address_space(t, shared)\ntag_inames(i: thread.x)", &[]);
    assert!(shared.race.is_some(), "one cell for all threads");
    let (_, lanes) = runs(kernel, "split_iname(i, 4)\ntag_inames(i_inner: ilp)", &[]);
    assert_eq!(declared.outputs, lanes.outputs);
}

#[test]
fn writing_back_what_was_loaded_changes_nothing() {
    let sources = sweep::sources();
    let cholesky = sources.iter().find(|s| s.name == "cholesky").expect("an example");
    let n = [("n", 3)];
    let (declared, buffered) = runs(&cholesky.text, "fix_parameters(n=3)\nbuffer_array(A, [i])", &n);
    // The kernel writes the lower triangle; the buffer is the box around it.
    assert_eq!((declared.outputs.len(), buffered.last.len()), (6, 9));
    assert_eq!(declared.outputs, buffered.outputs);
    // Without the load, the other cells are stored from cells that nothing wrote.
    let unfilled = "fix_parameters(n=3)\nbuffer_array(A, [i], init=none)";
    let (declared, unfilled) = runs(&cholesky.text, unfilled, &n);
    assert_ne!(declared.outputs, unfilled.outputs);
}

#[test]
fn coordinates_count_from_where_their_bounds_begin() {
    let kernel = "kernel k(x: f32[3], y: f32[3])
domain { [i] : 1 <= i < 2 }
temp t: f32 private
t = 2.0 * x[i] {id=a, inames=i}
y[0] = t {id=b}
";
    // The only point is in the second thread of `0 <= i_inner < 2`; a part without that iname runs
    // in the first.
    let split = "split_iname(i, 2)\ntag_inames(i_inner: thread.x)";
    let (declared, threads) = runs(kernel, split, &[]);
    assert_ne!(declared.outputs, threads.outputs);
}

#[test]
fn brute_force_scans_up_to_its_own_point() {
    let kernel = "kernel k(x: f32[8], y: f32[8])
domain { [i] : 0 <= i < 8 }
domain { [j] : 0 <= j <= i }
y[i] = sum(j, x[j]) {id=total}
";
    let scan = "realize_scan(i, j)";
    let (declared, scanned) = runs(kernel, scan, &[]);
    assert_eq!(declared.outputs, scanned.outputs);
    let (declared, threads) =
        runs(kernel, &format!("{scan}\nsplit_iname(i, 4)\ntag_inames(i_inner: thread.x)"), &[]);
    assert_eq!(declared.outputs, threads.outputs);
}

#[test]
fn brute_force_stops_at_data() {
    let kernel = "kernel k(x: f32[n], to: i32[n], y: f32[n], n: i32)
fact 0 <= to < n
domain { [i] : 0 <= i < n }
y[to[i]] = x[i] {id=s}
";
    let kernel = LoopKernel::parse(kernel).expect("a kernel");
    assert_eq!(brute::run(&kernel, &BTreeMap::from([(Name::new("n"), 3)])).err(), Some(Stop::Data));
}
