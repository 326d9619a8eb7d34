//! `auto` on the kernels of all examples, whose pipelines it does not see.

#[path = "common/cases.rs"]
mod cases;
mod common;
#[path = "../examples/polybench/sequential.rs"]
mod sequential;
#[path = "../examples/polybench/suite.rs"]
#[allow(dead_code, reason = "the example prints more than is tested")]
mod suite;

use std::{collections::BTreeMap, path::PathBuf, time::Instant};

use loopwright::{
    auto::{Found, Launch, auto, auto_with_witnesses},
    emulator::{Options, run},
    prelude::*,
};
use loopwright_kernel_ir::Tag;

fn found(name: &str, kernel: &LoopKernel) -> Found {
    let start = Instant::now();
    let found = auto(kernel, &Target::default());
    println!("{name}: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    let again = auto(kernel, &Target::default());
    assert_eq!(found, again, "{name}: another pipeline the second time");
    let parsed = Pipeline::parse(&found.to_string()).unwrap_or_else(|d| panic!("{name}: {d}"));
    assert_eq!(parsed, found.pipeline, "{name}: its text is another pipeline");
    let applied = parsed.apply(kernel).unwrap_or_else(|d| panic!("{name}: {d}"));
    assert_eq!(applied, found.kernel, "{name}: the pipeline makes another kernel");
    found
}

/// The kernels of the examples by name, each once.
fn kernels() -> BTreeMap<String, LoopKernel> {
    common::examples().iter().map(|e| (e.kernel.clone(), e.declared.clone())).collect()
}

#[test]
fn kernels_of_the_examples_are_computed_as_declared() {
    for (name, declared) in kernels() {
        let found = found(&name, &declared);
        let program = lower(&found.kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{name}: {d}"));
        let mut runs = 0;
        for sizes in cases::sizes(&name).into_iter().filter(|sizes| cases::allowed(&program, sizes)) {
            let given = cases::arguments(&program, &sizes);
            let expected = cases::expected(&declared, &given);
            let mut arguments = given.clone();
            run(&program, &mut arguments, &Options::default())
                .unwrap_or_else(|fault| panic!("{name} {sizes:?}: {}", fault.diagnostic()));
            for (array, buffer) in &expected {
                let got = arguments.buffer(array).expect("the array is an argument");
                assert!(
                    cases::agree(&name, got, buffer),
                    "{name} {sizes:?}: `{array}` is {got:?}, expected {buffer:?}\n{found}"
                );
            }
            assert!(!expected.is_empty());
            runs += 1;
        }
        assert!(runs >= 2, "{name}: only {runs} sizes fulfil its assumptions");
    }
}

#[test]
fn kernels_of_polybench_are_computed_as_by_plain_loops() {
    for case in suite::cases() {
        let found = found(case.name, &case.declared());
        for sizes in case.small {
            let run = suite::run(&case, &found.kernel, &Device::emulator(), sizes)
                .unwrap_or_else(|d| panic!("{} {sizes:?}: {d}\n{found}", case.name));
            assert!(run.difference <= 1.0, "{} {sizes:?}: {}\n{found}", case.name, run.difference);
        }
    }
}

/// With the usual sizes the pipeline is what was found, and with others it computes the same.
#[test]
fn other_sizes_are_computed_as_declared() {
    let mut others = 0;
    for (name, declared) in kernels() {
        let found = found(&name, &declared);
        let sizes = found.sizes(&Target::default());
        let bind = |values: &BTreeMap<Name, i64>| {
            sizes
                .pipeline
                .bind(values.iter().map(|(n, v)| (n.as_str(), *v)))
                .unwrap_or_else(|d| panic!("{d}"))
        };
        assert_eq!(bind(&sizes.usual()), found.pipeline, "{name}");
        assert!(sizes.allow(&sizes.usual()), "{name}: the rules' own sizes\n{sizes}");
        // The first size that has another value that its relations allow.
        let other = sizes.sizes.iter().find_map(|size| {
            let value = size.values.iter().find(|v| **v != size.usual)?;
            let mut values = sizes.usual();
            values.insert(size.name.clone(), *value);
            sizes.allow(&values).then_some(values)
        });
        let Some(other) = other else { continue };
        let Ok(kernel) = bind(&other).apply(&declared) else { continue };
        let Ok(program) = lower(&kernel, LowerOptions::default()) else { continue };
        let Some(given) = cases::sizes(&name).into_iter().find(|sizes| cases::allowed(&program, sizes))
        else {
            continue;
        };
        let given = cases::arguments(&program, &given);
        let mut arguments = given.clone();
        run(&program, &mut arguments, &Options::default())
            .unwrap_or_else(|fault| panic!("{name} {other:?}: {}", fault.diagnostic()));
        for (array, buffer) in &cases::expected(&declared, &given) {
            let got = arguments.buffer(array).expect("the array is an argument");
            assert!(cases::agree(&name, got, buffer), "{name} {other:?}: `{array}`");
        }
        others += 1;
    }
    assert!(others >= 8, "only {others} kernels have other sizes");
}

/// Nests that share a launch have blocks of one shape, so that no threads are idle.
#[test]
fn blocks_of_a_launch_suit_all_of_its_nests() {
    let declared = LoopKernel::parse(
        "kernel borders(x: f32[m, n], y: f32[m, n], z: f32[n], m: i32, n: i32)\n\
         assume 2 <= m and 0 <= n\n\
         domain { [b] : 0 <= b < n }\n\
         domain { [i, j] : 1 <= i < m and 0 <= j < n }\n\
         y[0, b] = z[b] {id=border}\n\
         y[i, j] = x[i, j] - x[i - 1, j] {id=inside}\n",
    );
    let declared = declared.unwrap_or_else(|d| panic!("{d}"));
    let found = found("borders", &declared);
    let program = lower(&found.kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{d}"));
    let blocks: Vec<Vec<u32>> = program.kernels.iter().map(|k| k.block.values().copied().collect()).collect();
    assert_eq!(blocks, [[32, 8, 1]], "{found}");
    assert!(found.decisions[0].reason.ends_with("shape of a neighbour's in the same launch"), "{found}");
}

/// The form of a nest is not given up for the shape of its neighbours' blocks.
#[test]
fn segments_stay_flattened_beside_other_nests() {
    let declared = LoopKernel::parse(
        "kernel both(x: f32[n], offsets: i32[nseg + 1], out: f32[nseg], y: f32[k], n: i32, nseg: i32, k: i32)\n\
         assume 0 <= n and 0 <= nseg and 0 <= k\n\
         fact monotone(offsets)\n\
         fact 0 <= offsets <= n\n\
         domain { [s] : 0 <= s < nseg }\n\
         domain { [i] : lo <= i < hi }\n\
         domain { [j] : 0 <= j < k }\n\
         temp lo: i32 private\n\
         temp hi: i32 private\n\
         lo = offsets[s] {id=load_lo}\n\
         hi = offsets[s + 1] {id=load_hi}\n\
         out[s] = sum(i, x[i]) {id=total}\n\
         y[j] = 2*y[j] {id=twice}\n",
    );
    let found = found("both", &declared.unwrap_or_else(|d| panic!("{d}")));
    assert!(found.decisions[0].steps[0].to_string().starts_with("flatten_ragged(s, i, "), "{found}");
}

/// A kernel that is spread over nothing would pass the tests above.
#[test]
fn kernels_of_the_examples_run_on_threads_and_blocks() {
    for (name, declared) in kernels() {
        let kernel = found(&name, &declared).kernel;
        let tags: Vec<Tag> = kernel.tags.values().copied().collect();
        let spread = tags.iter().any(|t| t.is_in_block()) && tags.iter().any(|t| t.is_over_blocks());
        assert!(spread || !kernel.flat.is_empty(), "{name}:\n{kernel}");
    }
}

/// What the user's steps have decided stays, and the rest is found.
#[test]
fn steps_of_the_user_stay_and_the_rest_is_found() {
    let declared = LoopKernel::parse(
        "kernel two(x: f32[n], y: f32[n], z: f32[n], n: i32)\n\
         assume 0 <= n\n\
         domain { [i] : 0 <= i < n }\n\
         domain { [j] : 0 <= j < n }\n\
         y[i] = 2*x[i] {id=first}\n\
         z[j] = 3*x[j] {id=second}\n",
    );
    let declared = declared.unwrap_or_else(|d| panic!("{d}"));
    let own = Pipeline::parse("split_iname(i, 64)\ntag_inames(i_outer: block.x, i_inner: thread.x)");
    let begun = own.and_then(|own| own.apply(&declared)).unwrap_or_else(|d| panic!("{d}"));
    let found = found("two", &begun);
    assert_eq!(found.decisions.len(), 1);
    assert_eq!(*found.decisions[0].nest, *"j");
    assert!(found.pipeline.steps().iter().all(|s| !s.to_string().contains("i_")), "{found}");
}

/// Steps that have put loops on blocks or on threads, and not on both, are completed.
#[test]
fn what_steps_of_the_user_leave_open_is_found() {
    let sums = "kernel sums(x: f32[m, n], out: f32[m], m: i32, n: i32)\n\
                assume 0 <= m and 0 <= n\n\
                domain { [r] : 0 <= r < m }\n\
                domain { [i] : 0 <= i < n }\n\
                out[r] = sum(i, x[r, i])\n";
    let scale = "kernel scale(x: f32[m, n], y: f32[m, n], m: i32, n: i32)\n\
                 assume 0 <= m and 0 <= n\n\
                 domain { [i, j] : 0 <= i < m and 0 <= j < n }\n\
                 y[i, j] = 2*x[i, j]\n";
    let cases = [
        (
            sums,
            "tag_inames(r: block.x)",
            "split_iname(i, 1024)\n\
             split_iname(i_inner, 256, outer=i_part, inner=i_thread)\n\
             tag_inames(i_thread: thread.x, i_part: ilp)\n",
        ),
        (
            sums,
            "split_iname(i, 256)\ntag_inames(i_inner: thread.x)",
            "split_iname(i_outer, 4, outer=i_outer_2, inner=i_outer_inner)\n\
             tag_inames(r: block.x, i_outer_inner: ilp)\n",
        ),
        (scale, "tag_inames(i: block.y)", "split_iname(j, 256)\ntag_inames(j_inner: thread.x)\n"),
        (
            scale,
            "split_iname(j, 128)\ntag_inames(j_inner: thread.x)",
            "split_iname(i, 65535, outer=i_far, inner=i_near)\n\
             tag_inames(j_outer: block.x, i_near: block.y, i_far: block.z)\n",
        ),
        // Nothing is left: all is as the user has put it.
        (scale, "split_iname(j, 128)\ntag_inames(i: block.x, j_inner: thread.x)", ""),
    ];
    for (text, own, expected) in cases {
        let declared = LoopKernel::parse(text).unwrap_or_else(|d| panic!("{d}"));
        let begun = Pipeline::parse(own).and_then(|own| own.apply(&declared));
        let begun = begun.unwrap_or_else(|d| panic!("{own}: {d}"));
        let found = found(own, &begun);
        assert_eq!(found.pipeline.to_string(), expected, "{own}");
        let program = lower(&found.kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{own}: {d}"));
        assert!(program.kernels.iter().all(|k| k.threads() >= 128), "{own}");
    }
}

/// Where the user's steps leave nothing that could be spread, the comment says so.
#[test]
fn what_cannot_be_completed_is_said() {
    let declared = LoopKernel::parse(
        "kernel decay(x: f32[m, n], m: i32, n: i32)\n\
         assume 0 <= m and 1 <= n\n\
         domain { [r] : 0 <= r < m }\n\
         domain { [i] : 1 <= i < n }\n\
         x[r, i] = 0.5*x[r, i - 1]\n",
    );
    let declared = declared.unwrap_or_else(|d| panic!("{d}"));
    let begun = Pipeline::parse("tag_inames(r: block.x)").and_then(|own| own.apply(&declared));
    let found = found("decay", &begun.unwrap_or_else(|d| panic!("{d}")));
    assert_eq!(
        found.to_string(),
        "# no rule: under `i`, the steps before leave no loop that could be spread as well\n"
    );
}

/// The pipelines that are found for small kernels, with the reasons and what was refused.
#[test]
fn pipelines_of_small_kernels() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/filetests/auto");
    loopwright_filetest::check(&folder, "test", &[], |test| match LoopKernel::parse(&test.text) {
        Ok(kernel) => {
            let found = auto_with_witnesses(&kernel, &Target::default(), &Launch::default());
            // Witnesses are all that differs.
            assert_eq!(found.pipeline, auto(&kernel, &Target::default()).pipeline, "{}", test.text);
            format!("==== found\n{found:#}")
        }
        Err(d) => format!("==== refused\n{d}\n"),
    });
}
