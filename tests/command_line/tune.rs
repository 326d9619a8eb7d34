//! `tune` and `report`: searches, their logs and records, and binaries that are timed on another
//! machine.

use std::path::Path;
use std::process::{Command, Stdio};

use loopwright::prelude::*;
use rayon::prelude::*;

use crate::common::{Folder, call, example, out, refusal, without_comments};

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

/// The lines of a tuning log that are complete records.
fn whole_lines(log: &str) -> usize {
    let text = std::fs::read(log).unwrap_or_default();
    text.split(|b| *b == b'\n').filter(|l| serde_json::from_slice::<serde_json::Value>(l).is_ok()).count()
}

#[test]
fn a_search_that_was_killed_goes_on_with_its_log() {
    let folder = Folder::new("killed");
    let (kernel, pipeline) =
        (example("kernels/segmented_sum.lw"), example("tuning/segmented_sum_short.pipe"));
    let space =
        folder.file("all.space", "width in powers(8, 128)\nrows in powers(4, 64)\nblock_rows in [32, 64]\n");
    let log = folder.path("log.jsonl");
    let args = |log: &'static str| {
        let mut args = vec!["tune", "KERNEL", "PIPELINE", "SPACE", "--device", "emulator", "--log", log];
        args.extend(["--set", "nseg=4096", "--set", "len=512", "--sample", "nseg=256"]);
        args
    };
    let filled = |args: Vec<&str>| -> Vec<String> {
        let fill = |a: &str| match a {
            "KERNEL" => kernel.clone(),
            "PIPELINE" => pipeline.clone(),
            "SPACE" => space.clone(),
            "LOG" => log.clone(),
            "OTHER" => folder.path("other.jsonl"),
            a => a.to_owned(),
        };
        args.into_iter().map(fill).collect()
    };
    let mut child = Command::new(env!("CARGO_BIN_EXE_loopwright"))
        .args(filled(args("LOG")))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while whole_lines(&log) < 5 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = whole_lines(&log);
    assert!((5..50).contains(&kept), "it was killed before its 50 points were done: {kept}");
    // As if it had died during a write.
    let bytes = std::fs::read(&log).unwrap();
    let end = bytes.iter().rposition(|b| *b == b'\n').unwrap();
    std::fs::write(&log, &bytes[..end - 20]).unwrap();

    let again =
        out(&Command::new(env!("CARGO_BIN_EXE_loopwright")).args(filled(args("LOG"))).output().unwrap());
    assert!(again.contains(&format!("\n{} outcomes were taken from the log\n", kept - 1)), "{again}");
    assert!(again.contains(&format!("\nnote: line {kept} of {log} is torn or no record")), "{again}");
    // The same as a search that was never interrupted.
    let whole =
        out(&Command::new(env!("CARGO_BIN_EXE_loopwright")).args(filled(args("OTHER"))).output().unwrap());
    let of = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|l| {
                !l.starts_with("spent") && !l.contains("from the log") && !l.starts_with("note: line")
            })
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(of(&again), of(&whole));
    // And a third search has nothing left to do.
    let third =
        out(&Command::new(env!("CARGO_BIN_EXE_loopwright")).args(filled(args("LOG"))).output().unwrap());
    assert!(third.contains("\n50 outcomes were taken from the log\n"), "{third}");
}

/// Interrupts a search, and adds what it says then to the text.
#[cfg(unix)]
fn interrupt(mut child: std::process::Child, mut errors: impl std::io::Read, text: &mut String) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    errors.read_to_string(text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
    assert!(text.contains("interrupted"), "{text}");
}

/// A search that was interrupted says what it had found, and how to go on.
#[cfg(unix)]
#[test]
fn an_interrupted_search_says_how_to_go_on() {
    use std::io::BufRead;

    let folder = Folder::new("interrupted");
    let (kernel, pipeline) =
        (example("kernels/segmented_sum.lw"), example("tuning/segmented_sum_short.pipe"));
    let space =
        folder.file("all.space", "width in powers(8, 128)\nrows in powers(4, 64)\nblock_rows in [32, 64]\n");
    let log = folder.path("log.jsonl");
    for with_log in [true, false] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loopwright"));
        command.args(["tune", &kernel, &pipeline, &space, "--device", "emulator"]);
        command.args(["--set", "nseg=4096", "--set", "len=512"]);
        if with_log {
            command.args(["--sample", "nseg=256", "--log", &log]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut errors = std::io::BufReader::new(child.stderr.take().unwrap());
        let mut text = String::new();
        if with_log {
            while whole_lines(&log) < 5 && child.try_wait().unwrap().is_none() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        } else {
            // The note that the whole problem takes long comes before the search.
            errors.read_line(&mut text).unwrap();
        }
        assert!(child.try_wait().unwrap().is_none(), "it was interrupted before it ended");
        interrupt(child, errors, &mut text);
        if with_log {
            assert!(text.contains("in phase counting, of 50 points"), "{text}");
            // Points are told of in batches, of which the log has more: one number is said.
            assert!(!text.contains("points done"), "{text}");
            let kept = text.split_once("log.jsonl holds ").and_then(|(_, rest)| rest.split_once(" outcomes"));
            assert!(kept.unwrap().0.parse::<usize>().unwrap() >= 5, "{text}");
        } else {
            assert!(text.contains("with `--log FILE` the same command goes on"), "{text}");
        }
    }
}

/// A search that is to write files writes what it has when it is interrupted, and marks it.
#[cfg(unix)]
#[test]
fn an_interrupted_search_writes_its_files() {
    let folder = Folder::new("interrupted-files");
    let (kernel, pipeline) =
        (example("kernels/segmented_sum.lw"), example("tuning/segmented_sum_short.pipe"));
    let space =
        folder.file("all.space", "width in powers(8, 128)\nrows in powers(4, 64)\nblock_rows in [32, 64]\n");
    let [log, html, best, record] =
        ["log.jsonl", "page.html", "best.pipe", "tuned.json"].map(|name| folder.path(name));
    let mut command = Command::new(env!("CARGO_BIN_EXE_loopwright"));
    command.args(["tune", &kernel, &pipeline, &space, "--device", "emulator"]);
    command.args(["--set", "nseg=4096", "--set", "len=512", "--sample", "nseg=512"]);
    command.args(["--log", &log, "--html", &html, "--best", &best, "--record", &record]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    while whole_lines(&log) < 2 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(child.try_wait().unwrap().is_none(), "it was interrupted before it ended");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let (text, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(130), "{text}{said}");
    assert!(said.contains("interrupted: the table and the files follow"), "{said}");
    assert!(said.contains("from which the same command goes on"), "{said}");
    let note = "the search was interrupted when it had looked at ";
    assert!(text.contains(note) && text.contains("best by the counts"), "{text}");
    assert!(std::fs::read_to_string(&html).unwrap().contains(note));
    let best = std::fs::read_to_string(&best).unwrap();
    assert!(best.contains("\n# The search was interrupted: there may be better points.\n"), "{best}");
    assert!(best.contains("tag_inames("), "{best}");
    assert!(std::fs::read_to_string(&record).unwrap().contains("\"interrupted\""));
}

/// The interrupt may come while NVRTC is being loaded: its destructors then wait for the loader, or
/// crash. A library whose destructor aborts stands for it.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_runs_no_destructors_of_libraries() {
    use std::io::BufRead;

    let folder = Folder::new("destructor");
    let source = folder.file(
        "abort.c",
        "#include <stdlib.h>\n__attribute__((destructor)) static void end(void) { abort(); }\n",
    );
    let library = folder.path("abort.so");
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o", &library, &source]).status().unwrap();
    assert!(made.success());
    let space =
        folder.file("all.space", "width in powers(8, 128)\nrows in powers(4, 64)\nblock_rows in [32]\n");
    let (kernel, pipeline) =
        (example("kernels/segmented_sum.lw"), example("tuning/segmented_sum_short.pipe"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_loopwright"))
        .args(["tune", &kernel, &pipeline, &space, "--device", "emulator"])
        .args(["--set", "nseg=4096", "--set", "len=512"])
        .env("LD_PRELOAD", &library)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut errors = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut text = String::new();
    errors.read_line(&mut text).unwrap();
    interrupt(child, errors, &mut text);
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
fn a_record_is_used_where_it_holds() {
    let folder = Folder::new("record");
    let (kernel, pipeline) =
        (example("kernels/segmented_sum.lw"), example("tuning/segmented_sum_short.pipe"));
    let space = folder.file("small.space", "width in [16, 64]\nrows in [16]\nblock_rows in [32, 64]\n");
    let record = folder.path("tuned.json");
    let tune = |len: &str| {
        let (len, record) = (format!("len={len}"), record.clone());
        let set = ["--set", "nseg=1000", "--set", &len, "--sample", "nseg=128", "--device", "emulator"];
        out(&call(&[&["tune", &kernel, &pipeline, &space, "--record", &record][..], &set].concat()))
    };
    let best = tune("64");
    let best = best.lines().find_map(|l| l.strip_prefix("best by the counts, nothing was timed: ")).unwrap();
    let run = |more: &[&str], nseg: &str, len: &str| {
        let (nseg, len) = (format!("nseg={nseg}"), format!("len={len}"));
        let args = ["run", &kernel, &pipeline, "--record", &record, "--device", "emulator", "--random", "x"];
        call(&[&args[..], &["--set", &nseg, "--set", &len, "--verify"], more].concat())
    };
    // A similar shape is enough: 900 rows of 80 are in the same classes as 1000 rows of 64.
    assert!(out(&run(&[], "904", "80")).contains("verified"));
    let differs = refusal(&run(&[], "904", "200"));
    assert!(
        differs.contains("error[record-differs]: the record is of something else: its shape class is `")
            && differs.contains("64..127 by 16")
            && differs.contains("128..255 by 8"),
        "{differs}"
    );
    // With user-supplied values it is only a note.
    let own = run(&["-p", "width=16", "-p", "rows=16", "-p", "block_rows=32"], "904", "200");
    assert!(String::from_utf8_lossy(&own.stderr).contains("note: the record is of something else"));
    assert!(out(&own).contains("verified"));
    // Printing needs no sizes: the text is that of the best point.
    let cuda = |more: &[&str]| call(&[&["cuda", &kernel, &pipeline], more].concat());
    let parameters: Vec<&str> = best.split(' ').flat_map(|p| ["-p", p]).collect();
    assert_eq!(out(&cuda(&["--record", &record])), out(&cuda(&parameters)));
    // Explicit values take precedence.
    let width = if best.contains("width=16") { "width=64" } else { "width=16" };
    assert_ne!(out(&cuda(&["--record", &record, "-p", width])), out(&cuda(&["--record", &record])));
    // A second shape class in the same file; the first one remains valid.
    tune("200");
    assert!(
        out(&run(&[], "904", "200")).contains("verified") && out(&run(&[], "904", "80")).contains("verified")
    );
    // Two records of one text with different best points: printing cannot choose between them.
    let other = folder.file("other.space", "width in [32]\nrows in [16]\nblock_rows in [32]\n");
    let set = ["--set", "nseg=1000", "--set", "len=3000", "--sample", "nseg=128", "--device", "emulator"];
    out(&call(&[&["tune", &kernel, &pipeline, &other, "--record", &record][..], &set].concat()));
    let refused = refusal(&cuda(&["--record", &record]));
    assert!(
        refused.contains("error[record-ambiguous]: 3 records match this kernel and pipeline")
            && refused.contains("2048..4095 by 8"),
        "{refused}"
    );
    std::fs::remove_file(&record).unwrap();
    tune("64");
    // Another pipeline: its own step is named.
    let text = std::fs::read_to_string(&pipeline).unwrap();
    let changed = folder.file("changed.pipe", text.replace("len % 4", "len % 8"));
    let refused = refusal(&call(&["cuda", &kernel, &changed, "--record", &record]));
    assert!(
        refused.contains("its pipeline is `assume(len mod 4 = 0)`, and here it is `assume(len mod 8 = 0)`"),
        "{refused}"
    );
    let damaged = folder.file("damaged.json", &std::fs::read(&record).unwrap()[..50]);
    let refused = refusal(&call(&["cuda", &kernel, &pipeline, "--record", &damaged]));
    assert!(refused.contains("error[tuning-record]") && refused.contains("EOF"), "{refused}");
    let refused = refusal(&call(&["cuda", &kernel, "--record", &record]));
    assert!(refused.contains("`--record` needs a pipeline"), "{refused}");
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

/// `--auto` makes the pipeline and its space; what it finds is kept in a record, in which `run`
/// finds it for the kernel alone.
#[test]
fn the_sizes_of_what_is_found_are_searched_and_recorded() {
    let folder = Folder::new("tune-auto");
    let (record, best) = (folder.path("tuned.json"), folder.path("best.pipe"));
    let kernel = example("kernels/transpose.lw");
    let tune = ["tune", &kernel, "--auto", "--set", "m=256", "--set", "n=256", "--device", "emulator"];
    let tuned = call(&[&tune[..], &["--record", &record, "--best", &best]].concat());
    let text = out(&tuned);
    assert!(text.contains("<- best"), "{text}");
    let told = String::from_utf8_lossy(&tuned.stderr).into_owned();
    assert!(told.starts_with("# transpose: ") && told.contains("# The space:\n"), "{told}");
    assert!(told.contains("_inner in [") && told.contains("$"), "{told}");
    // The best point, by its record and by its pipeline.
    let run = |form: &[&str]| {
        let given = ["--set", "m=256", "--set", "n=256", "--random", "a", "--device", "emulator", "--verify"];
        call(&[&["run", &kernel], form, &given[..]].concat())
    };
    let counts = |text: &str| text.lines().find(|line| line.starts_with("counts: ")).unwrap().to_owned();
    let by_record = run(&["--record", &record]);
    assert_eq!(counts(&out(&by_record)), counts(&out(&run(&[&best]))));
    let steps = without_comments(&best);
    assert!(String::from_utf8_lossy(&by_record.stderr).contains(steps.lines().next().unwrap()));
    // A record of another kernel is not used, and the user is told.
    let other = example("kernels/segmented_sum.lw");
    let given = ["--set", "nseg=5", "--set", "len=300", "--random", "x", "--device", "emulator"];
    let unfit = call(&[&["run", &other, "--record", &record], &given[..]].concat());
    out(&unfit);
    let told = String::from_utf8_lossy(&unfit.stderr).into_owned();
    assert!(told.contains("note: the usual sizes are taken, not those of "), "{told}");
}

/// Steps are found for the launch that is given, and so is the record of them.
#[test]
fn forms_of_a_launch_are_searched_and_recorded() {
    let folder = Folder::new("tune-launch");
    let record = folder.path("tuned.json");
    let kernel = example("kernels/segmented_sum.lw");
    let sizes = ["--set", "nseg=4096", "--set", "len=64"];
    let searched = ["--device", "emulator", "--strategy", "random", "--points", "2", "--record", &record];
    let tuned = call(&[&["tune", &kernel, "--auto"], &sizes[..], &searched].concat());
    assert!(out(&tuned).contains("<- best"));
    let told = String::from_utf8_lossy(&tuned.stderr).into_owned();
    assert!(told.contains("\nassume(len mod 4 = 0)\n"), "{told}");
    let given = ["--random", "x", "--device", "emulator", "--record", &record, "--verify"];
    let run = call(&[&["run", &kernel], &sizes[..], &given].concat());
    assert!(out(&run).contains("verified"));
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(told.contains("# record: as kept in ") && told.contains("\nassume(len mod 4 = 0)\n"), "{told}");
    // A smaller problem has to fit as well: what only the large one fulfils is not assumed.
    let small = ["--sample", "nseg=16", "--sample", "len=30"];
    let tuned = call(&[&["tune", &kernel, "--auto"], &sizes[..], &small, &searched[..6]].concat());
    assert!(out(&tuned).contains("<- best"));
    assert!(!String::from_utf8_lossy(&tuned.stderr).contains("\nassume("));
}

/// What a search of `auto` finds is kept, and taken for launches of the same kind.
#[test]
fn what_auto_finds_is_kept() {
    let folder = Folder::new("auto-keep");
    let record = folder.path("kept.json");
    let kernel = example("kernels/transpose.lw");
    let sizes = ["--set", "m=128", "--set", "n=96"];
    let auto = |more: &[&str]| call(&[&["auto", &kernel], &sizes[..], more].concat());
    let found = out(&auto(&["--search", "6", "--keep", &record]));
    assert!(found.starts_with("# estimated for an H200: "), "{found}");
    let steps: Vec<&str> = found.lines().filter(|line| !line.starts_with('#')).collect();
    let given = ["--random", "a", "--device", "emulator", "--record", &record, "--verify"];
    let run = call(&[&["run", &kernel], &sizes[..], &given].concat());
    assert!(out(&run).contains("verified"));
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(told.contains("# record: as kept in "), "{told}");
    assert!(steps.iter().all(|step| told.contains(step)), "{told}\n{found}");
    // For lengths of another class the rules decide again.
    let other = call(&[&["run", &kernel, "--set", "m=1000", "--set", "n=96"], &given[..]].concat());
    out(&other);
    let told = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(told.contains("note: the usual sizes are taken, not those of "), "{told}");
    // Without a GPU nothing can be timed there.
    if !Device::best().is_gpu() {
        let refused = refusal(&auto(&["--search", "2", "--device", "gpu"]));
        assert!(refused.contains("error["), "{refused}");
    }
    let refused = auto(&["--keep", &record]);
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("--search"));
}
