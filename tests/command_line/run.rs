//! `run`: input and output arrays, generated data, types, and wrong results.

use loopwright::prelude::*;

use crate::common::{Folder, call, example, out, refusal, without_comments};

/// A request for more memory than there is is refused; the process neither aborts nor is killed by
/// the system.
#[test]
fn sizes_beyond_the_memory_are_refused() {
    let folder = Folder::new("memory");
    let kernel = folder.file(
        "add.lw",
        "kernel add(x: f32[n], y: f32[n], n: i64)\n\
         assume 0 <= n\n\
         domain { [i] : 0 <= i < n }\n\
         y[i] = x[i] + y[i]\n",
    );
    for n in ["1000000000000000000", "1000000000000", "100000000000", "20000000000"] {
        let set = format!("n={n}");
        for fill in ["--random", "--zeros"] {
            let args = ["run", &kernel, "--device", "emulator", "--set", &set, fill, "x", fill, "y"];
            let text = refusal(&call(&args));
            assert!(text.contains("memory"), "{text}");
        }
    }
}

/// Device functions of a text have a meaning on the emulator, too.
#[test]
fn device_functions_of_a_text_run_on_the_emulator() {
    let folder = Folder::new("functions");
    let kernel = folder.file(
        "clip.lw",
        "kernel clip(x: i32[n], y: i32[n], n: i32)\n\
         assume 0 <= n\n\
         function clipped(i32, i32) -> i32 {\n\
         \u{20}   __device__ int clipped(int a, int least) { return a < least ? least : a; }\n\
         }\n\
         domain { [i] : 0 <= i < n }\n\
         y[i] = clipped(x[i], 3)\n",
    );
    let x = Tensor::from_vec(&[5], vec![1, 7, 3, -2, 4]).unwrap();
    x.to_npy(folder.path("x.npy")).unwrap();
    let input = format!("x={}", folder.path("x.npy"));
    let output = call(&["run", &kernel, "--input", &input, "--device", "emulator", "--verify"]);
    let text = out(&output);
    assert!(text.contains("y: i32[5] = 3 7 3 3 4\n"), "{text}");
}

#[test]
fn run_reads_and_writes_npy_files() {
    let folder = Folder::new("run");
    let x = Tensor::from_vec(&[3, 4], (1..=12).map(|v| v as f32).collect()).unwrap();
    x.to_npy(folder.path("x.npy")).unwrap();
    let kernel = example("kernels/segmented_sum.lw");
    for pipeline in ["block_per_segment", "warp_per_segment", "thread_per_segment"] {
        let pipeline = example(&format!("pipelines/segmented_sum/{pipeline}.pipe"));
        let output = call(&[
            "run",
            &kernel,
            &pipeline,
            "--input",
            &format!("x={}", folder.path("x.npy")),
            "--output",
            &format!("out={}", folder.path("out.npy")),
            "--device",
            "emulator",
            "--verify",
        ]);
        let text = out(&output);
        assert!(text.contains("out: f32[3] = 10 26 42\n"), "{text}");
        assert!(text.contains("verified: equal to the declared kernel\n"), "{text}");
        let result = Tensor::from_npy(folder.path("out.npy")).unwrap();
        assert_eq!(result.to_vec::<f32>().unwrap(), [10.0, 26.0, 42.0]);
    }
}

#[test]
fn run_makes_data_that_keeps_the_declared_facts() {
    let text = out(&call(&[
        "run",
        &example("kernels/ragged_sum.lw"),
        &example("pipelines/ragged_sum/warp_per_segment.pipe"),
        "--set",
        "n=500",
        "--set",
        "nseg=7",
        "--random",
        "x",
        "--random",
        "offsets",
        "--check-facts",
        "--verify",
        "--device",
        "emulator",
    ]));
    assert!(text.contains("out: f32[7] = ") && text.contains("verified"), "{text}");
}

#[test]
fn run_binds_open_types() {
    let folder = Folder::new("types");
    let kernel = folder.file(
        "twice.lw",
        "kernel twice(x: T[n], y: T[n], n: i32)\ndomain { [i] : 0 <= i < n }\ny[i] = x[i] + x[i]\n",
    );
    let with = |t: &str| {
        call(&["run", &kernel, "--set", "n=3", "--random", "x", "--type", t, "--device", "emulator"])
    };
    assert!(out(&with("T=f64")).contains("y: f64[3] = "));
    assert!(refusal(&with("T=f31")).contains("`f31` is no type"));
    assert!(refusal(&with("U=f32")).contains("has no open type `U`"));
    let untold = call(&["check", &kernel]);
    assert!(refusal(&untold).contains("--type T=f32"));
    out(&call(&["check", &kernel, "--type", "T=f16"]));
}

#[test]
fn a_wrong_result_has_status_1() {
    let folder = Folder::new("wrong");
    // Half-precision sums do not match the declared kernel to seven digits; nothing else can make a
    // checked kernel wrong.
    let x = Tensor::from_fn(&[1, 4096], |k| 1.0f32 / (k as f32 + 1.0)).unwrap();
    x.to_npy(folder.path("x.npy")).unwrap();
    let output = call(&[
        "run",
        &example("kernels/segmented_sum.lw"),
        &example("pipelines/segmented_sum/block_per_segment.pipe"),
        "--input",
        &format!("x={}", folder.path("x.npy")),
        "--device",
        "emulator",
        "--verify",
        "0",
    ]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with("wrong: element 0 of `out` is "), "{text}");
}

/// A kernel whose blocks write through an index array: the fact that its elements are distinct is
/// needed, and is checked unless it is trusted.
#[test]
fn a_scatter_needs_different_elements() {
    let folder = Folder::new("scatter");
    let text = "kernel scatter(x: f32[n], idx: i32[n], y: f32[n], n: i32)\n\
                fact 0 <= idx < n\n\
                FACT\n\
                domain { [i] : 0 <= i < n }\n\
                y[idx[i]] = x[i]\n";
    let with = folder.file("with.lw", text.replace("FACT", "fact injective(idx)"));
    let without = folder.file("without.lw", text.replace("FACT", ""));
    let pipeline =
        folder.file("blocks.pipe", "split_iname(i, 4)\ntag_inames(i_outer: block.x, i_inner: thread.x)\n");
    let text = refusal(&call(&["check", &without, &pipeline]));
    assert!(text.contains("error[legality-unknown]") && text.contains("`fact injective(idx)`"), "{text}");
    let x = Tensor::from_vec(&[6], vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    x.to_npy(folder.path("x.npy")).unwrap();
    let run = |idx: Vec<i32>, how: &str| {
        Tensor::from_vec(&[6], idx).unwrap().to_npy(folder.path("idx.npy")).unwrap();
        let (x, idx) = (format!("x={}", folder.path("x.npy")), format!("idx={}", folder.path("idx.npy")));
        call(&["run", &with, &pipeline, "--input", &x, "--input", &idx, "--device", "emulator", how])
    };
    let text = out(&run(vec![5, 0, 4, 1, 3, 2], "--verify"));
    assert!(text.contains("y: f32[6] = 2 4 6 5 3 1\n") && text.contains("verified"), "{text}");
    for how in ["--verify", "--check-facts"] {
        let text = refusal(&run(vec![5, 0, 4, 1, 0, 2], how));
        assert!(text.contains("error[fact]") && text.contains("idx[1] and idx[4] are both 0"), "{text}");
    }
    // Unchecked: the emulator detects the race itself.
    let text = refusal(&run(vec![5, 0, 4, 1, 0, 2], "--trust-facts"));
    assert!(!text.contains("error[fact]") && text.contains("race"), "{text}");
}

/// Integers must match exactly; a small element next to a large one is checked at its own scale.
#[test]
fn what_is_verified_is_each_element() {
    let folder = Folder::new("verify");
    let kernel = folder.file(
        "k.lw",
        "kernel k(x: f64[n], y: f32[n], z: f32[n], w: i64[n], n: i32)\n\
         domain { [i] : 0 <= i < n }\n\
         y[i] = cast(f32, x[i])\n\
         z[i] = cast(f32, x[i]) - cast(f32, x[i])\n\
         w[i] = 9007199254740993 + i\n",
    );
    let x = Tensor::from_vec(&[3], vec![1e30f64, 1e-3, -4.0]).unwrap();
    x.to_npy(folder.path("x.npy")).unwrap();
    let x = format!("x={}", folder.path("x.npy"));
    let text = out(&call(&["run", &kernel, "--input", &x, "--device", "emulator", "--verify"]));
    assert!(text.contains("verified") && text.contains("9007199254740993"), "{text}");
    for bad in ["-1", "much", "nan"] {
        let args = ["run", &kernel, "--input", &x, "--device", "emulator", &format!("--verify={bad}")];
        assert!(refusal(&call(&args)).contains("is no tolerance"));
    }
}

/// The reference computes in f32 what the kernel does, so that a comparison cannot show it.
#[test]
fn an_f32_in_an_f64_kernel_is_said_where_results_are_compared() {
    let folder = Folder::new("single-in-double");
    let text = |square: &str| {
        format!(
            "kernel k(x: f32[n], y: f64[n], n: i32)\n\
             domain {{ [i] : 0 <= i < n }}\n\
             y[i] = {square}\n"
        )
    };
    let errors = |command: &str, square: &str, more: &[&str]| {
        let kernel = folder.file("k.lw", text(square));
        let given = [command, &kernel, "--set", "n=8", "--random", "x"];
        let called = call(&[&given[..], more].concat());
        out(&called);
        String::from_utf8(called.stderr).unwrap()
    };
    let exact = "cast(f64, x[i])*x[i]";
    let run = ["--device", "emulator"];
    for (command, more) in [("run", &["--device", "emulator", "--verify"][..]), ("lint", &[])] {
        let said = errors(command, "x[i]*x[i]", more);
        assert!(said.contains("warning[single-in-double]: `set_y` computes a value in f32"), "{said}");
        assert!(said.contains("k.lw:3:1") && said.contains("cast(f64, a)*b"), "{said}");
        assert!(!errors(command, exact, more).contains("single-in-double"));
    }
    assert!(!errors("run", "x[i]*x[i]", &run).contains("single-in-double"));
}

/// Bounds and assumptions are computed in i64, which cannot represent 2^63.
#[test]
fn unsigned_scalars_beyond_i64_are_refused_where_bounds_speak_of_them() {
    let folder = Folder::new("u64");
    let bound = "kernel k(x: f32[64], y: f32[64], a: u64)\n\
                 domain { [i] : 0 <= i < 64 and i < a }\n\
                 y[i] = x[i]\n";
    let assume = "kernel k(x: f32[64], y: f32[64], a: u64)\n\
                  assume a <= 10\n\
                  domain { [i] : 0 <= i < 64 }\n\
                  y[i] = x[i] if a > 10\n";
    let value = "kernel k(x: u64[64], y: u64[64], a: u64)\ndomain { [i] : 0 <= i < 64 }\ny[i] = x[i] + a\n";
    let run = |text: &str, a: u64| {
        let kernel = folder.file("k.lw", text);
        let set = format!("a={a}");
        call(&[
            "run", &kernel, "--set", &set, "--zeros", "x", "--zeros", "y", "--device", "emulator", "--verify",
        ])
    };
    for a in [u64::MAX, 1 << 63] {
        let text = refusal(&run(bound, a));
        assert!(text.contains("error[scalar-range]") && text.contains("the bound `i < a` uses it"), "{text}");
        let text = refusal(&run(assume, a));
        assert!(text.contains("error[scalar-range]") && text.contains("the assumption `a <= 10`"), "{text}");
        let text = out(&run(value, a));
        assert!(text.contains(&format!("y: u64[64] = {a} ")) && text.contains("verified"), "{text}");
    }
    out(&run(assume, 10));
    assert!(refusal(&run(assume, 11)).contains("error[assumption]"));
}

/// Where a result goes is looked at before anything runs: nothing is printed about a run.
#[test]
fn outputs_that_cannot_be_written_are_refused_first() {
    let folder = Folder::new("outputs");
    let kernel = example("kernels/segmented_sum.lw");
    let run = |kernel: &str, output: &str| {
        let sizes = ["--set", "nseg=3", "--set", "len=4", "--random", "x", "--output", output];
        refusal(&call(&[&["run", kernel, "--device", "emulator"], &sizes[..]].concat()))
    };
    let text = run(&kernel, "out=/nowhere/out.npy");
    assert!(text.contains("error[write-file]: /nowhere/out.npy cannot be written"), "{text}");
    // Nor is there a type for it in the file.
    let text = std::fs::read_to_string(&kernel).unwrap().replace("f32", "bf16");
    let narrow = folder.file("bf16.lw", text);
    let file = folder.path("out.npy");
    let text = run(&narrow, &format!("out={file}"));
    assert!(text.contains("error[npy-type]: the .npy format has no bf16"), "{text}");
    assert!(!std::path::Path::new(&file).exists(), "what was looked at is not left behind");
    // A file that is there keeps its contents if the run fails.
    let kept = folder.file("kept.npy", "old");
    let failed = call(&["run", &kernel, "--device", "emulator", "--output", &format!("out={kept}")]);
    assert!(refusal(&failed).contains("error[missing-argument]"));
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "old");
}

/// `--auto` finds what `auto` prints, and `auto()` in a pipeline is the same.
#[test]
fn a_pipeline_that_is_found_runs() {
    let folder = Folder::new("auto");
    let kernel = example("kernels/segmented_sum.lw");
    let found = out(&call(&["auto", &kernel]));
    assert!(found.starts_with("# rows: ") && found.contains("\ntag_inames("), "{found}");
    let written = folder.file("found.pipe", &found);
    let step = folder.file("auto.pipe", "auto()\n");
    let by_hand = out(&call(&["cuda", &kernel, &written]));
    let by_option = call(&["cuda", &kernel, "--auto"]);
    assert_eq!(out(&by_option), by_hand);
    assert_eq!(String::from_utf8_lossy(&by_option.stderr), found);
    assert_eq!(out(&call(&["cuda", &kernel, &step])), by_hand);
    let run = ["run", &kernel, "--auto", "--set", "nseg=5", "--set", "len=3000", "--random", "x"];
    let text = out(&call(&[&run[..], &["--device", "emulator", "--verify"]].concat()));
    assert!(text.contains("verified: equal to the declared kernel\n"), "{text}");
    // Nothing is left to be found.
    let nothing = out(&call(&["auto", &kernel, &written]));
    assert_eq!(nothing, without_comments(&written));
    // The reasons, and what would be better.
    let explained = out(&call(&["explain", &kernel, &step]));
    let reasons: Vec<&str> = found.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    assert!(reasons.iter().any(|r| r.starts_with("better: `assume(len % 4 = 0)` would")), "{found}");
    for reason in reasons {
        assert!(explained.contains(&format!("\n   {reason}\n")), "{explained}");
    }
    let refused = refusal(&call(&["cuda", &kernel, &folder.file("two.pipe", "auto(2)\n")]));
    assert!(refused.contains("`auto` takes no arguments"), "{refused}");
}

/// The search takes what its estimate says is cheaper than the rules' first choice, the same each
/// time.
#[test]
fn a_search_is_cheaper_than_the_rules_alone() {
    let kernel = example("polybench/mvt.lw");
    let args = ["auto", &kernel, "--search", "12", "--set", "n=512"];
    let text = out(&call(&args));
    let figure = |after: &str| -> f64 {
        let (_, rest) = text.split_once(after).unwrap();
        rest.split_once(" ms").unwrap().0.parse().unwrap()
    };
    assert!(text.starts_with("# estimated for an H200: "), "{text}");
    assert!(figure("H200: ") < figure("alone "), "{text}");
    assert_eq!(out(&call(&args)), text);
    let folder = Folder::new("search");
    let pipeline = folder.file("found.pipe", &text);
    let run = ["run", &kernel, &pipeline, "--set", "n=100", "--device", "emulator", "--verify"];
    let filled = ["A", "y_1", "y_2", "x_1", "x_2"].iter().flat_map(|name| ["--random", name]);
    let text = out(&call(&run.into_iter().chain(filled).collect::<Vec<_>>()));
    assert!(text.contains("verified: equal to the declared kernel\n"), "{text}");
}

/// An interrupted search prints the best that it has found so far.
#[cfg(unix)]
#[test]
fn an_interrupted_search_prints_the_best_so_far() {
    let kernel = example("polybench/mvt.lw");
    // An interrupt that comes before the command has begun ends the process at once.
    for wait in [500, 2000, 8000] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_loopwright"));
        command.args(["auto", &kernel, "--search", "100000", "--set", "n=700"]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let child = command.spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(sent.unwrap().success());
        let output = child.wait_with_output().unwrap();
        if output.status.code().is_none() {
            continue;
        }
        let (text, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(130), "{text}{said}");
        assert!(said.contains("interrupted: the best so far follows"), "{said}");
        assert!(text.contains(" of 100000, as far as the search came"), "{text}");
        assert!(text.contains("\ntag_inames("), "{text}");
        return;
    }
    panic!("the search never began");
}

/// An interrupt while the first pipeline is counted is answered, too; another one ends at once.
#[cfg(unix)]
#[test]
fn an_interrupt_before_the_first_pipeline_is_answered() {
    use std::io::{BufRead, BufReader, Read};

    let kernel = example("polybench/mvt.lw");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_loopwright"));
    command.args(["auto", &kernel, "--search", "4", "--set", "n=6000"]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Two arrays of 144 MB are filled first.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let interrupt = |id: u32| {
        let sent = std::process::Command::new("kill").args(["-INT", &id.to_string()]).status();
        assert!(sent.unwrap().success());
    };
    interrupt(child.id());
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    errors.read_line(&mut said).unwrap();
    assert!(said.starts_with("interrupted: the best so far follows"), "{said}");
    assert!(child.try_wait().unwrap().is_none(), "it has not counted anything yet");
    interrupt(child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "");
}

/// A number with an exponent is none of the integers.
#[test]
fn a_whole_number_in_floating_point_is_shown_as_it_is() {
    let kernel = example("kernels/segmented_sum.lw");
    let given = ["run", &kernel, "--set", "nseg=1e3", "--set", "len=4", "--random", "x"];
    let refused = refusal(&call(&given));
    assert!(refused.contains("`nseg` is i32, but 1000.0 was given"), "{refused}");
}

/// Without a pipeline steps are found, and the user is told how to get the loops as they are.
#[test]
fn without_a_pipeline_steps_are_found() {
    let kernel = example("kernels/segmented_sum.lw");
    let given = ["--set", "nseg=5", "--set", "len=3000", "--random", "x", "--device", "emulator"];
    let run = |kernel: &str, more: &[&str]| call(&[&["run", kernel, "--verify"], &given[..], more].concat());
    let implied = run(&kernel, &[]);
    assert!(out(&implied).contains("counts: 1 launches, 5 blocks,"));
    // They are those for the sizes of this launch.
    let found = out(&call(&["auto", &kernel, "--set", "nseg=5", "--set", "len=3000"]));
    assert!(found.contains("for each row of 3000"), "{found}");
    let note = "note: no pipeline is given, so these steps are found for the kernel, as by `--auto`; \
                `--as-declared` runs its loops in their order, on one thread\n";
    assert_eq!(String::from_utf8_lossy(&implied.stderr), format!("{note}{found}"));
    assert_eq!(String::from_utf8_lossy(&run(&kernel, &["--auto"]).stderr), found);
    let declared = run(&kernel, &["--as-declared"]);
    assert!(out(&declared).contains("counts: 1 launches, 1 blocks,") && declared.stderr.is_empty());
    let both = run(&kernel, &["--as-declared", "--auto"]);
    assert_eq!(both.status.code(), Some(2));
    // A kernel whose loops are on blocks and threads already is run as it is.
    let folder = Folder::new("as-given");
    let map = "kernel k(x: f32[nseg], y: f32[nseg], nseg: i32)\nassume 0 <= nseg\n\
               domain { [i] : 0 <= i < nseg }\ny[i] = 2*x[i]\n";
    let blocks = folder.file("blocks.pipe", "tag_inames(i: block.x)\n");
    let spread = out(&call(&["print", &folder.file("map.lw", map), &blocks]));
    let spread = folder.file("spread.lw", spread);
    let text = call(&["run", &spread, "--set", "nseg=5", "--random", "x", "--device", "emulator"]);
    assert!(out(&text).contains("5 blocks,") && text.stderr.is_empty());
}

/// The sizes of what is found are parameters.
#[test]
fn sizes_of_what_is_found_are_parameters() {
    let kernel = example("kernels/transpose.lw");
    let usual = out(&call(&["cuda", &kernel, "--auto"]));
    let text = String::from_utf8_lossy(&call(&["cuda", &kernel, "--auto"]).stderr).into_owned();
    let line = text.lines().find(|line| line.starts_with("split_iname(")).unwrap();
    let (iname, size) = line["split_iname(".len()..].trim_end_matches(')').split_once(", ").unwrap();
    let half = size.parse::<i64>().unwrap() / 2;
    let value = format!("{iname}_inner={half}");
    let changed = call(&["cuda", &kernel, "--auto", "-p", &value]);
    assert_ne!(out(&changed), usual);
    let told = String::from_utf8_lossy(&changed.stderr).into_owned();
    assert!(told.contains(&format!("split_iname({iname}, {half})")), "{told}");
    assert!(told.contains(&format!("; but {half} for `{iname}_inner` rather than {size}")), "{told}");
    let refused = refusal(&call(&["cuda", &kernel, "--auto", "-p", "block=4"]));
    assert!(refused.contains("there is no parameter `block`") && refused.contains("_inner`"), "{refused}");
}

/// A search in the text of a pipeline finds the same each time, and says what it did.
#[test]
fn a_search_is_a_step() {
    let folder = Folder::new("search-step");
    let kernel = example("polybench/mvt.lw");
    let step = folder.file("search.pipe", "auto(search=6)\n");
    let print = || out(&call(&["print", &kernel, &step]));
    assert_eq!(print(), print());
    let text = out(&call(&["explain", &kernel, &step]));
    assert!(text.contains("1. auto(search=6)\n"), "{text}");
    assert!(text.contains("\n   the cheapest of 6 pipelines, at "), "{text}");
    // So short a time stands for one candidate, which is always counted.
    let brief = folder.file("brief.pipe", "auto(search=0.0001s)\n");
    let text = out(&call(&["explain", &kernel, &brief]));
    assert!(text.contains("\n   the cheapest of 1 pipelines"), "{text}");
    for (wrong, why) in [
        ("auto(search=0)", "`search=0` is neither"),
        ("auto(search=much)", "`search=much` is neither"),
        ("auto(seek=4)", "`auto` has one argument, `search`, not `seek`"),
    ] {
        let text = refusal(&call(&["print", &kernel, &folder.file("wrong.pipe", wrong)]));
        assert!(text.contains(why), "{text}");
    }
}
