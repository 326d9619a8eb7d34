//! `tune` and `report`: searches, their logs, and binaries that are timed on another
//! machine.

use std::path::Path;

use loopwright::prelude::*;
use rayon::prelude::*;

use crate::common::{Folder, call, example, out, refusal};

#[test]
fn tune_names_the_best_point_and_keeps_what_it_was_asked_to_keep() {
    let folder = Folder::new("tune");
    let (page, best, log) = (folder.path("page.html"), folder.path("best.pipe"), folder.path("log.jsonl"));
    let kernel = example("kernels/segmented_sum.lw");
    let pipeline = example("tuning/segmented_sum_short.pipe");
    let space = folder.file("small.space", "width in [16, 64]\nrows in [16]\nblock_rows in [32, 64, 4096]\n");
    let args = [
        "tune",
        &kernel,
        &pipeline,
        &space,
        "--set",
        "nseg=100000",
        "--set",
        "len=64",
        "--sample",
        "nseg=128",
        "--device",
        "emulator",
        "--html",
        &page,
        "--best",
        &best,
        "--log",
        &log,
    ];
    let text = out(&call(&args));
    assert!(text.contains("<- best") && text.contains("nothing was timed"), "{text}");
    // The pipeline that it wrote is valid and has no open parameters.
    let found = std::fs::read_to_string(&best).unwrap();
    assert!(found.starts_with("# Tuned on emulator: width="), "{found}");
    let printed = out(&call(&["cuda", &kernel, &best]));
    assert!(printed.contains("float4"), "{printed}");
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains("</html>") && page.contains("UTC. loopwright "), "{page}");
    // The kernel as it was declared, and the text of the best point.
    assert!(page.contains("<summary>The kernel</summary><pre>kernel "), "{page}");
    assert!(
        page.contains("<summary>CUDA C of the best point</summary><pre>// segmented_sum: a grid of"),
        "{page}"
    );
    assert!(page.contains("extern &quot;C&quot;"), "{page}");

    let refused = call(&["tune", &kernel, &pipeline, &folder.file("bad.space", "width = 4\n")]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("space-syntax"));
    let with = |more: &[&str]| refusal(&call(&[&args[..3], &[&space], &args[4..12], more].concat()));
    let text = with(&["--strategy", "clever"]);
    assert!(
        text.contains("error[strategy]") && text.contains("write exhaustive, random or guided"),
        "{text}"
    );
    let text = with(&["--strategy", "guided", "--points", "0"]);
    assert!(text.contains("error[strategy]: a strategy of 0 points evaluates nothing"), "{text}");
    let text = with(&["--points", "3"]);
    assert!(text.contains("error[strategy]") && text.contains("--strategy random"), "{text}");
    let text = with(&["--launches", "0"]);
    assert!(text.contains("error[launches]: the median of 0 launches has no value"), "{text}");
    let few = out(&call(
        &[&args[..3], &[&space], &args[4..12], &["--strategy", "random", "--points", "2"]].concat(),
    ));
    assert!(few.contains("\n4 points were not looked at: the strategy left them out\n"), "{few}");
    let text = refusal(&call(&[&args[..3], &[&space, "--set", "nseg=0"], &args[6..12]].concat()));
    assert!(text.contains("error[nothing-to-do]") && text.contains("nseg=0"), "{text}");
    // The reference alone would take minutes, and no point has a result when the time is up.
    let over =
        call(&[&args[..3], &[&space], &args[4..8], &["--device", "emulator", "--budget", "0.2"]].concat());
    let (text, error) = (String::from_utf8_lossy(&over.stdout), String::from_utf8_lossy(&over.stderr));
    assert_eq!(over.status.code(), Some(1), "{error}");
    assert!(
        text.contains("\nspent ") && !text.contains("is legal") && !error.contains("is legal"),
        "{text}{error}"
    );
    assert!(
        error.contains("--sample nseg=VALUE") && text.contains("before any point was looked at"),
        "{error}{text}"
    );
    // It is said once.
    assert!(!error.contains("before any point was looked at"), "{error}");
    let text = with(&["--log", &folder.path("no/where.jsonl")]);
    assert!(text.contains("error[tuning-log]") && text.contains("cannot be"), "{text}");
    // Output files that cannot be written are refused before the search, and nothing is left
    // behind.
    let lost = folder.path("no/where");
    for (option, code) in [("--html", "write-file"), ("--best", "write-file"), ("--record", "tuning-record")]
    {
        let text = with(&[option, &lost]);
        assert!(text.contains(&format!("error[{code}]: {lost} cannot be written")), "{text}");
    }
    let notes = folder.file("notes.txt", "my notes");
    for (option, code) in [("--record", "tuning-record"), ("--log", "tuning-log")] {
        let text = with(&[option, &notes]);
        assert!(text.contains(&format!("error[{code}]")) && text.contains("notes.txt"), "{text}");
        assert_eq!(std::fs::read_to_string(&notes).unwrap(), "my notes");
    }
    let early = folder.path("early.html");
    with(&["--html", &early, "--launches", "0"]);
    assert!(!Path::new(&early).exists(), "nothing was written before there was something to write");
    let none =
        folder.file("none.space", "width in [16]\nrows in [16]\nblock_rows in [32]\nrequire rows == 3\n");
    let text = refusal(&call(&[&args[..3], &[&none], &args[4..12]].concat()));
    assert!(text.contains("error[empty-space]") && text.contains("relax a `require` line"), "{text}");
}

#[test]
fn a_report_shows_several_searches_along_a_size() {
    let folder = Folder::new("report");
    let (page, log) = (folder.path("page.html"), folder.path("log.jsonl"));
    let kernel = example("kernels/segmented_sum.lw");
    let space = |text: &str| folder.file("some.space", text);
    let tune = |pipeline: &str, space: &str, nseg: &str, len: &str| {
        let (nseg, len) = (format!("nseg={nseg}"), format!("len={len}"));
        let pipeline = example(&format!("tuning/{pipeline}.pipe"));
        let args = ["tune", &kernel, &pipeline, space, "--set", &nseg, "--set", &len, "--log", &log];
        out(&call(&[&args[..], &["--sample", "nseg=64", "--device", "emulator"]].concat()));
    };
    let short = space("width in [16, 64]\nrows in [16]\nblock_rows in [32, 64]\n");
    tune("segmented_sum_short", &short, "100000", "64");
    let report = |more: &[&str]| call(&[&["report", &log][..], more].concat());
    let text = refusal(&report(&[]));
    assert!(text.contains("error[report-size]: all searches are of one shape"), "{text}");
    tune("segmented_sum_short", &short, "100000", "256");
    let text = out(&report(&["--html", &page]));
    assert!(
        text.starts_with("fraction of the memory's limit by len; nseg=100000\n\nsegmented_sum_short\n"),
        "{text}"
    );
    assert!(text.contains("\n  estimated by the counts: nothing was timed\n"), "{text}");
    let rows: Vec<&str> =
        text.lines().filter(|l| l.contains(" estimate ") && l.contains(" width=")).collect();
    assert!(
        rows.len() == 2 && rows[0].starts_with("  len=64 ") && rows[1].starts_with("  len=256 "),
        "{text}"
    );
    let made = std::fs::read_to_string(&page).unwrap();
    assert!(made.contains("<g class=\"s0\"><polyline class=\"line estimate\""), "{made}");
    // Both lengths have the same best point, whose text is there once.
    assert_eq!(made.matches("<summary>CUDA C of the best point, ").count(), 1, "{made}");
    assert!(made.contains("__global__ void __launch_bounds__(256)"), "{made}");
    // Another pipeline of the same kernel is another line. If its number of rows differs as well,
    // `--by` must name the axis.
    let long = space("step in [256]\ntile in [256, 512]\n");
    tune("segmented_sum_long", &long, "3000", "4096");
    let text = refusal(&report(&[]));
    assert!(text.contains("error[report-size]: the searches differ in `len`, `nseg`"), "{text}");
    let text = out(&report(&["--by", "len"]));
    assert!(
        text.contains("\n\nsegmented_sum_short\n") && text.contains("\n\nsegmented_sum_long\n"),
        "{text}"
    );
    assert!(text.contains("\n  len=4096 nseg=3000 "), "{text}");
    // Replaying a strategy on the logs needs neither the kernel nor a device.
    let replay = |more: &[&str]| call(&[&["tune", "--replay", &log][..], more].concat());
    let text = out(&replay(&["--strategy", "random", "--points", "1", "--seed", "5"]));
    assert_eq!(text.matches("\n  best of all ").count(), 3, "{text}");
    assert_eq!(text.matches("\n  random with seed 5, 1 counted: ").count(), 3, "{text}");
    assert!(
        text.starts_with("segmented_sum_short on emulator: ") && text.contains(" % of the best\n"),
        "{text}"
    );
    assert_eq!(out(&replay(&[])).matches(": 100.0 % of the best\n").count(), 3, "all points");
    let text = refusal(&replay(&["--strategy", "random", "--points", "0"]));
    assert!(text.contains("error[strategy]"), "{text}");
    let many = space("width in [64]\nrows in [4096]\nblock_rows in [4096]\n");
    let (short, none) = (example("tuning/segmented_sum_short.pipe"), folder.path("none.jsonl"));
    let args = ["tune", &kernel, &short, &many, "--set", "nseg=100000", "--set", "len=64", "--log", &none];
    let searched = call(&[&args[..], &["--sample", "nseg=64", "--device", "emulator"]].concat());
    assert_eq!(searched.status.code(), Some(1), "too many threads");
    let text = refusal(&call(&["tune", "--replay", &none]));
    assert!(text.contains("error[nothing-to-replay]") && text.contains("points that are legal"), "{text}");
    let text = refusal(&call(&["tune", "--replay", &kernel]));
    assert!(text.contains("error[tuning-log]"), "{text}");
    let text = refusal(&report(&["--by", "rows"]));
    assert!(text.contains("`segmented_sum_short` of log has no integer argument `rows`"), "{text}");
    let text = refusal(&report(&["--by", "len", "--html", &folder.path("no/where.html")]));
    assert!(text.contains("error[write-file]"), "{text}");
    assert_eq!(call(&["report"]).status.code(), Some(2));
}

#[test]
fn every_space_of_the_examples_has_points_that_are_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/tuning");
    let mut names: Vec<String> = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        names.extend(name.strip_suffix(".space").map(String::from));
    }
    names.sort();
    let sizes = |name: &str| match name {
        "argmax_chunks" => ("argmax", "nseg=3 len=70000"),
        "argmax_long" => ("argmax", "nseg=5 len=9000"),
        "argmax_short" => ("argmax", "nseg=1000 len=68"),
        "column_sum" => ("column_sum", "m=300 n=132"),
        "matmul" => ("matmul", "m=70 n=66 l=33"),
        // 33000 steps: many blocks for some points, part of a tile for others.
        "ragged_sum" | "ragged_sum_streaming" => ("ragged_sum", "n=30000 nseg=3000"),
        "segmented_sum_chunks" => ("segmented_sum", "nseg=3 len=70000"),
        "segmented_sum_long" => ("segmented_sum", "nseg=5 len=9000"),
        "segmented_sum_odd_chunks" => ("segmented_sum", "nseg=3 len=33333"),
        "segmented_sum_odd_long" => ("segmented_sum", "nseg=5 len=4097"),
        "segmented_sum_odd_short" => ("segmented_sum", "nseg=1000 len=17"),
        "segmented_sum_misaligned_chunks" => ("segmented_sum", "nseg=3 len=33333"),
        "segmented_sum_misaligned_short" => ("segmented_sum", "nseg=100 len=129"),
        "segmented_sum_staged_rows" => ("segmented_sum", "nseg=300 len=17"),
        "segmented_sum_misaligned_long" => ("segmented_sum", "nseg=5 len=4097"),
        "segmented_sum_short" | "segmented_sum_short_streaming" | "segmented_sum_short_waves" => {
            ("segmented_sum", "nseg=1000 len=68")
        }
        other => panic!("{other} has no sizes here"),
    };
    names.par_iter().for_each(|name| {
        let (kernel, sizes) = sizes(name);
        let tuning = |kind: &str| example(&format!("tuning/{name}.{kind}"));
        // A kernel without its own pipelines is stored with its spaces.
        let folder = if kernel == "argmax" { "tuning" } else { "kernels" };
        let (kernel, pipeline, space) =
            (example(&format!("{folder}/{kernel}.lw")), tuning("pipe"), tuning("space"));
        let mut args = vec!["tune", &kernel, &pipeline, &space, "--device", "emulator"];
        args.extend(sizes.split(' ').flat_map(|s| ["--set", s]));
        let text = out(&call(&args));
        assert!(text.contains("best by the counts, nothing was timed: "), "{name}: {text}");
        assert!(!text.contains("wrong"), "{name}: {text}");
    });
}

/// A file of offsets.
fn offsets(folder: &Folder, name: &str, values: Vec<i32>) -> String {
    let path = folder.path(name);
    Tensor::from_vec(&[values.len()], values).unwrap().to_npy(&path).unwrap();
    format!("offsets={path}")
}

#[test]
fn a_search_over_segments_takes_the_users_own_offsets() {
    let folder = Folder::new("offsets");
    let tuning = |kind: &str| example(&format!("tuning/ragged_sum.{kind}"));
    let (kernel, pipeline, log) =
        (example("kernels/ragged_sum.lw"), tuning("pipe"), folder.path("log.jsonl"));
    let space = folder.file(
        "few.space",
        "threads in [64]\nitems in [8, 16]\ntiles in [4]\nfull_chunks in [0]\ntail_tiles in [0]\n",
    );
    let tune = |more: &[&str]| {
        let args = ["tune", &kernel, &pipeline, &space, "--device", "emulator", "--set", "n=4000000"];
        call(&[&args[..], more].concat())
    };
    let all = offsets(&folder, "all.npy", (0..=100).map(|k| 40_000 * k).collect());
    // One giant segment among empty ones, and equal segments: arrays of the same lengths.
    let giant = offsets(&folder, "giant.npy", (0..=100).map(|k| if k < 50 { 0 } else { 5000 }).collect());
    let even = offsets(&folder, "even.npy", (0..=100).map(|k| 50 * k).collect());
    let with = |sample: &str| {
        let own = ["--input", &all, "--sample", "n=5000", "--sample-input", sample, "--log", &log];
        out(&tune(&own))
    };
    let text = with(&giant);
    assert!(text.contains("best by the counts, nothing was timed: threads=64 items="), "{text}");
    assert!(!text.contains("outcomes were taken from the log"), "{text}");
    // Counts on other segments are redone; counts on the same segments are reused.
    assert!(!with(&even).contains("outcomes were taken from the log"));
    assert!(with(&even).contains("\n2 outcomes were taken from the log\n"));

    // A record applies to other offsets from the same distribution; otherwise it reports what
    // differs.
    let record = folder.path("tuned.json");
    out(&tune(&["--input", &all, "--sample", "n=5000", "--sample-input", &even, "--record", &record]));
    let run = |offsets: &str| {
        let args = ["run", &kernel, &pipeline, "--record", &record, "--device", "emulator", "--random", "x"];
        call(&[&args[..], &["--set", "n=4000000", "--input", offsets]].concat())
    };
    let middle = |k: i32| 40_000 * k + if k % 100 == 0 { 0 } else { k * 7919 % 30_000 };
    let tomorrow = offsets(&folder, "tomorrow.npy", (0..=100).map(middle).collect());
    out(&run(&tomorrow));
    let uneven = (0..=100).map(|k| if k <= 50 { k } else { 4_000_000 - (100 - k) });
    let text = refusal(&run(&offsets(&folder, "uneven.npy", uneven.collect())));
    assert!(
        text.contains(
            "the record is of something else: its data class is `offsets: mean about 32768, a \
             quarter in segments about 1 x as long, no giant, few empty`, and here it is \
             `offsets: mean about 32768, a quarter in segments about 64 x as long, a giant, few \
             empty`"
        ),
        "{text}"
    );
    // Counts from a sample are of the sample's segments.
    let sizes = ["--set", "nseg=1000", "--sample", "n=5000", "--sample", "nseg=100"];
    out(&tune(&[&sizes[..], &["--sample-input", &giant, "--record", &record]].concat()));
    let text = std::fs::read_to_string(&record).unwrap();
    assert!(
        text.contains(
            "\"data_class\": \"offsets: mean about 64, a quarter in segments about 64 x as long, \
             a giant, most empty\""
        ),
        "{text}"
    );

    let text = refusal(&tune(&["--input", &all, "--sample", "n=5000"]));
    assert!(text.contains("error[") && text.contains("--sample-input"), "{text}");
    // Offsets that violate their declared facts are refused, including those of the sample.
    let falls = offsets(&folder, "falls.npy", (0..=100).map(|k| 5000 - 50 * k).collect());
    let beyond = offsets(&folder, "beyond.npy", (0..=100).map(|k| 51 * k).collect());
    let text = refusal(&tune(&["--input", &falls]));
    assert!(text.contains("error[fact]: the elements of `offsets` decrease"), "{text}");
    let text = refusal(&tune(&["--input", &all, "--sample", "n=5000", "--sample-input", &beyond]));
    assert!(
        text.contains("error[fact]: the elements of `offsets` are not all in their declared range"),
        "{text}"
    );
}

#[test]
fn that_no_point_is_legal_is_said_once() {
    let folder = Folder::new("none");
    let kernel = folder.file(
        "k.lw",
        "kernel k(x: f32[n], n: i32)\nassume 0 <= n\ndomain { [i] : 0 <= i < n }\nx[i] = 1.0\n",
    );
    let pipeline = folder.file("k.pipe", "split_iname(i, $b)\ntag_inames(i_inner: thread.x)\n");
    let space = folder.file("k.space", "b in [2048, 4096]\n");
    let output = call(&["tune", &kernel, &pipeline, &space, "--set", "n=64", "--device", "emulator"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert_eq!(text.matches("no point is legal").count(), 1, "{text}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn candidates_are_compiled_here_and_timed_elsewhere() {
    let folder = Folder::new("binaries");
    let (kernel, pipeline) =
        (example("kernels/segmented_sum.lw"), example("tuning/segmented_sum_short.pipe"));
    let space = folder.file("small.space", "width in [16, 64]\nrows in [16, 128]\nblock_rows in [128]\n");
    let binaries = folder.path("binaries");
    let tune = |len: &str, more: &[&str]| {
        let len = format!("len={len}");
        let args = ["tune", &kernel, &pipeline, &space, "--set", "nseg=100000", "--set", &len];
        call(&[&args[..], &["--sample", "nseg=128", "--device", "emulator"], more].concat())
    };
    if loopwright::runtime::nvrtc::library().is_err() {
        let refused = refusal(&tune("64", &["--compile-only", &binaries, "--arch", "sm_90a"]));
        assert!(refused.contains("error[no-compiler]"), "{refused}");
        return;
    }
    let made = out(&tune("64", &["--compile-only", &binaries, "--arch", "sm_90a"]));
    assert!(made.starts_with("3 candidates compiled in ") && made.contains(" 1 refused; "), "{made}");
    assert!(made.contains(" regs  point\n") && made.contains("  <- best\n"), "{made}");
    // Timing them needs no compiler, but a GPU.
    let measured = refusal(&tune("64", &["--measure", &binaries]));
    assert!(measured.contains("error[binary-device]: binaries for sm_90a are timed on a GPU"), "{measured}");
    let refused = refusal(&tune("80", &["--measure", &binaries]));
    assert!(
        refused.contains("error[binary-folder-differs]") && refused.contains("for a different problem"),
        "{refused}"
    );
    std::fs::write(format!("{binaries}/00000.cubin"), "cut").unwrap();
    let refused = refusal(&tune("64", &["--measure", &binaries]));
    assert!(refused.contains("error[binary-folder]") && refused.contains("00000.cubin"), "{refused}");
    let refused = refusal(&tune("64", &["--compile-only", &binaries]));
    assert!(refused.contains("error[arch]: there is no GPU here"), "{refused}");
}
