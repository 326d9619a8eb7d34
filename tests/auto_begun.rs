//! What `auto` finds after steps that a user wrote: as good as from the declared kernel, as far as
//! those steps leave it open, and right.

use loopwright::{
    auto::{Found, auto},
    automatic::{problem, sample},
    emulator::{Options, run},
    prelude::*,
    tuner::{Machine, estimate_at},
};

use crate::{cases, common};

/// A kernel of the examples, steps with which a user may begin, and how many times as long as from
/// the declared kernel it may take.
const BEGUN: &[(&str, &str, f64)] = &[
    // Splits alone decide nothing.
    ("axpy", "split_iname(i, 4)", 1.02),
    ("axpy", "rename_iname(i, at)\nsplit_iname(at, 64)", 1.02),
    ("segmented_sum", "split_iname(i, 256)", 1.02),
    ("segmented_sum", "split_iname(s, 8)", 1.02),
    ("matmul", "split_iname(i, 128)", 1.02),
    ("matmul", "split_iname(i, 16)\nsplit_iname(j, 16)", 1.02),
    ("matmul", "split_iname(i, 16)\nsplit_iname(j, 16)\nreorder(i_outer, j_outer, i_inner, j_inner)", 1.02),
    ("matmul", "split_iname(k, 16)", 1.02),
    ("stencil", "split_iname(i, 8)\nsplit_iname(j, 32)", 1.02),
    ("transpose", "split_iname(i, 32)\nsplit_iname(j, 32)", 1.02),
    ("softmax", "split_iname(i, 8)", 1.02),
    ("column_sum", "split_iname(j, 32)", 1.02),
    // Blocks or threads, the rest of which is open.
    ("axpy", "split_iname(i, 128)\ntag_inames(i_inner: thread.x)", 1.02),
    ("segmented_sum", "split_iname(i, 256)\ntag_inames(i_inner: thread.x)", 1.1),
    ("segmented_sum", "split_iname(s, 8)\ntag_inames(s_outer: block.x)", 1.1),
    ("segmented_sum", "split_iname(s, 8)\ntag_inames(s_inner: thread.y)", 1.1),
    ("softmax", "tag_inames(r: block.x)", 1.02),
    ("stencil", "tag_inames(i: block.y)", 1.1),
    // A reduction between blocks and threads that are both given.
    ("segmented_sum", "split_iname(s, 8)\ntag_inames(s_outer: block.x, s_inner: thread.y)", 1.1),
    ("column_sum", "split_iname(j, 32)\ntag_inames(j_outer: block.x, j_inner: thread.x)", 1.1),
    ("column_sum", "split_iname(j, 128)\ntag_inames(j_outer: block.x, j_inner: thread.x)", 1.1),
    // Products that are tiled halfway, by other tiles than those of the rules.
    ("matmul", "split_iname(i, 64)\nsplit_iname(j, 64)\ntag_inames(i_outer: block.y, j_outer: block.x)", 1.6),
    ("matmul", "split_iname(i, 32)\nsplit_iname(j, 32)\ntag_inames(i_outer: block.y, j_outer: block.x)", 2.0),
    (
        "matmul",
        "split_iname(i, 128)\nsplit_iname(j, 128)\nsplit_iname(i_inner, 8)\nsplit_iname(j_inner, 8)\n\
         tag_inames(i_outer: block.y, j_outer: block.x, i_inner_outer: thread.y, j_inner_outer: thread.x)",
        1.4,
    ),
    (
        "matmul",
        "split_iname(i, 16)\nsplit_iname(j, 16)\nsplit_iname(k, 16)\n\
         tag_inames(i_outer: block.y, j_outer: block.x, i_inner: thread.y, j_inner: thread.x)\n\
         add_prefetch(a, [i_inner, k_inner])",
        5.5,
    ),
    // Copies that came before the threads.
    (
        "stencil",
        "split_iname(i, 8)\nsplit_iname(j, 32)\nreorder(i_outer, j_outer, i_inner, j_inner)\n\
         add_prefetch(u, [i_inner, j_inner])",
        1.15,
    ),
    (
        "transpose",
        "split_iname(i, 32)\nsplit_iname(j, 32)\nreorder(j_outer, i_outer, j_inner, i_inner)\n\
         add_prefetch(a, [i_inner, j_inner])",
        1.15,
    ),
];

fn milliseconds(kernel: &LoopKernel) -> f64 {
    let estimated = sample(kernel)
        .and_then(|args| estimate_at(kernel, &args, &problem(kernel)?, &Machine::h200()))
        .unwrap_or_else(|d| panic!("{d}\n{kernel}"));
    estimated.estimate_ms
}

fn declared(name: &str) -> LoopKernel {
    let all = common::examples().iter().find(|e| e.kernel == name);
    all.unwrap_or_else(|| panic!("no kernel `{name}`")).declared.clone()
}

/// Runs what was found beside the interpreter of the declared kernel.
fn check(name: &str, declared: &LoopKernel, found: &Found) {
    let program = lower(&found.kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{name}: {d}"));
    let mut runs = 0;
    for sizes in cases::sizes(name).into_iter().filter(|sizes| cases::allowed(&program, sizes)) {
        let given = cases::arguments(&program, &sizes);
        let mut arguments = given.clone();
        run(&program, &mut arguments, &Options::default())
            .unwrap_or_else(|fault| panic!("{name} {sizes:?}: {}", fault.diagnostic()));
        for (array, buffer) in &cases::expected(declared, &given) {
            let got = arguments.buffer(array).expect("the array is an argument");
            assert!(cases::agree(name, got, buffer), "{name} {sizes:?}: `{array}`\n{found}");
        }
        runs += 1;
    }
    assert!(runs >= 2, "{name}: only {runs} sizes fulfil its assumptions");
}

#[test]
fn what_is_left_open_is_found_as_from_the_declared_kernel() {
    let mut wrong = Vec::new();
    for (name, steps, most) in BEGUN {
        let declared = declared(name);
        let own = Pipeline::parse(steps).unwrap_or_else(|d| panic!("{steps}: {d}"));
        let begun = own.apply(&declared).unwrap_or_else(|d| panic!("{steps}: {d}"));
        let found = auto(&begun, &Target::default());
        let applied = found.pipeline.apply(&begun).unwrap_or_else(|d| panic!("{steps}: {d}"));
        assert_eq!(applied, found.kernel, "{steps}");
        check(name, &declared, &found);
        let plain = milliseconds(&auto(&declared, &Target::default()).kernel);
        let ratio = milliseconds(&found.kernel) / plain;
        if ratio > *most {
            wrong.push(format!("{name}, {steps}: {ratio:.2} times as long\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Finished pipelines stay as they are, or get better.
#[test]
fn finished_pipelines_do_not_become_slower() {
    let mut continued = 0;
    for example in common::examples().iter().filter(|e| e.kernel != "attention") {
        let begun = example.transformed();
        let found = auto(&begun, &Target::default());
        if found.pipeline.steps().is_empty() || sample(&begun).is_err() {
            continue;
        }
        check(&example.kernel, &example.declared, &found);
        let (before, after) = (milliseconds(&begun), milliseconds(&found.kernel));
        assert!(after <= 1.02 * before, "{}: {before} ms, then {after} ms\n{found}", example.name());
        continued += 1;
    }
    assert!(continued >= 3, "only {continued} pipelines leave something open");
}
