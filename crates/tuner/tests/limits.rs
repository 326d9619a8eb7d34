//! Reports of several searches: what they show, what they keep separate, what they refuse. The
//! figures of the logs are made up.

use std::path::{Path, PathBuf};

use loopwright_kernel_ir::{DType, LoopKernel};
use loopwright_runtime::{Args, Device, Tensor};
use loopwright_transforms::Pipeline;
use loopwright_tuner::{
    Bottleneck, Cost, Key, LimitReport, Outcome, Point, Record, Space, Times, TunedRecords, Tuner,
};

/// The bandwidth of the made-up devices, in bytes per second.
const BANDWIDTH: f64 = 4e12;

/// A folder with logs.
struct Logs(tempfile::TempDir);

impl Logs {
    fn new() -> Logs {
        Logs(tempfile::tempdir().expect("a folder"))
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).expect("writes");
        path
    }

    fn log(&self, name: &str, records: &[Record]) -> PathBuf {
        let lines = records.iter().map(|r| serde_json::to_string(r).expect("JSON") + "\n");
        self.write(name, &lines.collect::<String>())
    }

    /// A refusal as rendered, without the folder.
    fn refusal(&self, paths: &[&Path], by: Option<&str>) -> String {
        let refused = LimitReport::read(paths, by).expect_err("refused");
        refused.render().replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn key(pipeline: &str, nseg: i64, len: i64) -> Key {
    Key {
        kernel: "5e9a3c71d2".to_owned(),
        pipeline: format!("split_iname(i, $width)\n{pipeline}\n"),
        problem: format!("out: f32[{nseg}]; x: f32[{nseg}, {len}]; len = {len}; nseg = {nseg}"),
        data: String::new(),
        device: "GPU A".to_owned(),
        driver: "13.0".to_owned(),
        compiler: "nvrtc 13.0".to_owned(),
        library: "0.1.0".to_owned(),
    }
}

/// A timed point that reaches this fraction of the limit, in per cent.
fn timed(name: &str, nseg: i64, len: i64, width: i64, percent: f64) -> Record {
    let bytes = 4.0 * (nseg * len + nseg) as f64;
    let bound_ms = 1e3 * bytes / BANDWIDTH;
    let cost = Cost { necessary_bytes: bytes, bound_ms, bottleneck: Bottleneck::Memory, ..Cost::default() };
    let median = bound_ms / percent * 100.0;
    Record {
        key: key(&format!("tag_inames(s: {name})"), nseg, len),
        point: Point::default().with("width", width),
        basis: format!(
            "len = {len}; GPU A, 132 at 1980000000 Hz, measured B/s, 2048 threads, 233472 B shared"
        ),
        name: name.to_owned(),
        declared: String::new(),
        outcome: Outcome::Timed { cost, times: Times { median, least: median, launches: 20 } },
    }
}

/// As [`timed`], for a search without a GPU: its estimate.
fn counted(name: &str, nseg: i64, len: i64, width: i64, percent: f64) -> Record {
    let record = timed(name, nseg, len, width, percent);
    let Outcome::Timed { cost, times } = record.outcome else { panic!("it was timed") };
    let cost = Cost { estimate_ms: times.median, bottleneck: Bottleneck::BytesInFlight, ..cost };
    let none = String::new;
    Record {
        key: Key { device: "emulator".to_owned(), driver: none(), compiler: none(), ..record.key },
        basis: "nseg = 512; a GPU B, 108 at 1410000000 Hz, 4000000000000 B/s, 2048 threads, 167936 B shared"
            .to_owned(),
        outcome: Outcome::Counted { cost },
        ..record
    }
}

fn refused(record: Record) -> Record {
    let message = "1024 threads and more".to_owned();
    Record {
        outcome: Outcome::Refused { code: "too-many-threads".to_owned(), message, help: None },
        ..record
    }
}

/// Two pipelines, the second at longer rows, the last length of which was only counted; and one
/// without a GPU.
fn usual() -> Vec<Record> {
    vec![
        timed("short", 65536, 1024, 64, 80.0),
        timed("short", 65536, 1024, 32, 91.5),
        timed("short", 65536, 16, 8, 62.3),
        refused(timed("short", 65536, 16, 4096, 1.0)),
        timed("long", 65536, 1024, 256, 97.0),
        timed("long", 65536, 65536, 256, 101.0),
        refused(timed("long", 65536, 16, 256, 1.0)),
        counted("short", 65536, 64, 8, 88.0),
        counted("short", 65536, 256, 8, 90.0),
    ]
}

fn labels(report: &LimitReport) -> Vec<&str> {
    report.series().iter().map(|s| s.label.as_str()).collect()
}

#[test]
fn the_table_of_two_pipelines_on_two_devices() {
    let logs = Logs::new();
    let report = LimitReport::read([logs.log("all.jsonl", &usual())], None).expect("a report");
    insta::assert_snapshot!(report.table(), @r#"
    fraction of the memory's limit by len; nseg=65536

    short, GPU A
      on GPU A; limit 4.00 TB/s, measured
      shape         ms            of limit  by the counts  best point
      len=16    0.0018  measured    62.3 %  memory         width=8
      len=1024  0.0734  measured    91.5 %  memory         width=32

    long, GPU A
      on GPU A; limit 4.00 TB/s, measured
      shape          ms            of limit  by the counts  best point
      len=16                                                no point is legal: 1 refused or wrong
      len=1024   0.0693  measured    97.0 %  memory         width=256
      len=65536  4.2525  measured   101.0 %  memory         width=256

    short, emulator
      on emulator, for a GPU B; limit 4.00 TB/s, as described
      estimated by the counts: nothing was timed
      shape        ms            of limit  by the counts            best point
      len=64   0.0048  estimate    88.0 %  too few bytes in flight  width=8
      len=256  0.0187  estimate    90.0 %  too few bytes in flight  width=8
    "#);
}

#[test]
fn the_page_draws_a_line_a_series_and_estimates_differently() {
    let logs = Logs::new();
    let mut records = usual();
    // For one more shape of the first line, between timed shapes, nothing was timed.
    let between = timed("short", 65536, 256, 8, 85.0);
    let Outcome::Timed { cost, times } = between.outcome else { panic!("it was timed") };
    let outcome = Outcome::Counted { cost: Cost { estimate_ms: times.median, ..cost } };
    records.push(Record { outcome, ..between });
    records.push(timed("short", 65536, 4096, 32, 70.0));
    let page = LimitReport::read([logs.log("all.jsonl", &records)], None).expect("a report").html();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    for outside in ["<script", "http", "src=", "url("] {
        assert!(!page.contains(outside), "self-contained: {outside}");
    }
    let plot = page.split("<figure").nth(1).and_then(|rest| rest.split("</figure>").next()).expect("a plot");
    let count = |text: &str, part: &str| text.matches(part).count();
    let groups: Vec<&str> = plot.split("<g class=").skip(1).collect();
    assert_eq!(groups.len(), 3);
    // The first: 16, then 256 estimated, then 1024 and 4096. Only the last two are joined.
    assert_eq!((count(groups[0], "<circle"), count(groups[0], "class=\"mark estimate\"")), (4, 1));
    assert_eq!((count(groups[0], "class=\"line\""), count(groups[0], "class=\"line estimate\"")), (1, 0));
    let corners = groups[0].split("points=\"").nth(1).and_then(|p| p.split('"').next()).expect("corners");
    assert_eq!(corners.split(' ').count(), 2);
    // The second: 16 has no legal point.
    assert_eq!((count(groups[1], "<circle"), count(groups[1], "estimate")), (2, 0));
    // The third was never timed.
    assert_eq!(
        (count(groups[2], "class=\"mark estimate\""), count(groups[2], "class=\"line estimate\"")),
        (2, 1)
    );
    assert_eq!((count(groups[2], "class=\"mark\""), count(groups[2], "class=\"line\"")), (0, 0));
    for title in [
        "<title>short, GPU A: len=1024: 91.5 % of 4.00 TB/s, 0.0734 ms, width=32</title>",
        "<title>short, GPU A: len=256: 85.0 % of 4.00 TB/s, estimated, not timed, ",
        "<title>short, emulator: len=64: 88.0 % of 4.00 TB/s, estimated, not timed, 0.0048 ms, \
         width=8</title>",
    ] {
        assert!(plot.contains(title), "{title}\n{plot}");
    }
    // The height is scaled to the limit, and better results lie above it.
    let y = |text: &str, from: &str| -> f64 {
        let at = text.split(from).nth(1).and_then(|rest| rest.split(['"', ' ']).next());
        at.and_then(|y| y.rsplit(',').next()?.parse().ok()).expect("a place")
    };
    let limit = y(plot, "class=\"limit\" points=\"");
    let heights: Vec<f64> = groups[1].split("cy=\"").skip(1).map(|r| y(&format!("@{r}"), "@")).collect();
    assert!(heights[0] > limit && heights[1] < limit, "{heights:?} beside {limit}");
    for said in [
        "Hollow marks on broken lines are estimates by the counts: nothing was timed there.",
        "<td class=\"said\">len=16</td><td colspan=\"5\" class=\"said\">no point is legal: 1 \
         refused or wrong</td>",
        "<td class=\"said\">1 timed, 1 refused or wrong</td>",
        "On GPU A; limit 4.00 TB/s, measured. Partly estimated by the counts: some shapes were \
         not timed.",
        "On emulator, for a GPU B; limit 4.00 TB/s, as described. Estimated by the counts: \
         nothing was timed.",
        "Found with loopwright 0.1.0, driver 13.0, nvrtc 13.0.</p></body>",
        "Found with loopwright 0.1.0, driver 13.0, nvrtc 13.0.</p><pre>split_iname(i, $width)\n\
         tag_inames(s: short)</pre>",
    ] {
        assert!(page.contains(said), "{said}\n{page}");
    }
}

#[test]
fn sizes_without_a_place_on_the_axis_are_in_the_table() {
    let logs = Logs::new();
    let log = logs.log("all.jsonl", &[timed("short", 64, 0, 8, 50.0), timed("short", 64, 100_000, 8, 60.0)]);
    let page = LimitReport::read([log], None).expect("a report").html();
    assert_eq!(page.matches("<title>short: len=").count(), 1);
    assert!(page.contains(
        "1 shapes whose len is not a number above 0 have no place on the axis; the table has them."
    ));
    assert!(page.contains("<td class=\"said\">len=0</td><td>50.0 %</td>"), "{page}");
}

#[test]
fn what_differs_makes_lines_and_is_said() {
    let logs = Logs::new();
    let lengths = |with: &dyn Fn(Record) -> Record| -> Vec<Record> {
        [16, 64].into_iter().map(|len| with(timed("short", 1024, len, 8, 90.0))).collect()
    };
    let both = |with: &dyn Fn(Record) -> Record| -> Vec<String> {
        let log = logs.log("both.jsonl", &[lengths(&|r| r), lengths(with)].concat());
        let report = LimitReport::read([log], None).expect("a report");
        assert!(report.series().iter().all(|s| s.shapes.len() == 2));
        labels(&report).into_iter().map(str::to_owned).collect()
    };
    let keyed = |change: &dyn Fn(&mut Key)| {
        both(&|mut record| {
            change(&mut record.key);
            record
        })
    };
    assert_eq!(keyed(&|k| k.device = "GPU B".to_owned()), ["GPU A", "GPU B"]);
    assert_eq!(keyed(&|k| k.driver = "12.8".to_owned()), ["driver 13.0", "driver 12.8"]);
    assert_eq!(keyed(&|k| k.compiler = "nvrtc 12.8".to_owned()), ["nvrtc 13.0", "nvrtc 12.8"]);
    assert_eq!(keyed(&|k| k.library = "0.2.0".to_owned()), ["version 0.1.0", "version 0.2.0"]);
    assert_eq!(
        keyed(&|k| k.problem = k.problem.replace("x: f32", "x: f16")),
        ["out: f32, x: f32", "out: f32, x: f16"]
    );
    // If names do not distinguish lines, labels describe kernels and pipelines.
    assert_eq!(
        keyed(&|k| k.kernel = "77aa31bc09f1".to_owned()),
        ["short, kernel 5e9a3c71", "short, kernel 77aa31bc"]
    );
    assert_eq!(
        keyed(&|k| k.pipeline = "split_iname(i, $width)\nunroll(i)\n".to_owned()),
        ["short, with `tag_inames(s: short)`", "short, with `unroll(i)`"]
    );
    let other_name = |record: Record| Record {
        name: "long".to_owned(),
        ..timed("long", 1024, record.key.sizes()["len"], 8, 95.0)
    };
    assert_eq!(both(&other_name), ["short", "long"]);
    // Estimates for two machines are two lines.
    let slow = |r: Record| Record { basis: r.basis.replace("132 at", "66 at"), ..r };
    assert_eq!(
        both(&slow),
        [132, 66]
            .map(|n| format!("for GPU A, {n} at 1980000000 Hz, measured B/s, 2048 threads, 233472 B shared"))
    );
}

#[test]
fn one_shape_several_times_and_several_shapes_of_one_size() {
    let logs = Logs::new();
    // In one log the last record of a point counts, whichever is faster.
    let again =
        [timed("short", 64, 16, 8, 90.0), timed("short", 64, 32, 8, 80.0), timed("short", 64, 16, 8, 70.0)];
    let first = logs.log("monday.jsonl", &again);
    let report = LimitReport::read([&first, &first], None).expect("a report");
    assert_eq!(labels(&report), ["short"]);
    let fraction = report.series()[0].shapes[0].best.as_ref().map(|b| b.fraction);
    assert!(fraction.is_some_and(|f| (f - 0.7).abs() < 1e-12), "{fraction:?}");
    // Two logs are two runs.
    let second = logs.log("tuesday.jsonl", &[timed("short", 64, 16, 8, 60.0)]);
    let report = LimitReport::read([&first, &second], None).expect("a report");
    assert_eq!(labels(&report), ["monday", "tuesday"]);
    // Two logs of different shapes are one line.
    let rest = logs.log("rest.jsonl", &[timed("short", 64, 128, 8, 60.0)]);
    let report = LimitReport::read([&first, &rest], None).expect("a report");
    assert_eq!(labels(&report), ["short"]);
    assert_eq!(report.series()[0].shapes.iter().map(|s| s.size).collect::<Vec<_>>(), [16.0, 32.0, 128.0]);
    // Another number of rows at the same length.
    let more =
        logs.log("more.jsonl", &[timed("short", 4096, 16, 8, 95.0), timed("short", 4096, 32, 8, 96.0)]);
    let report = LimitReport::read([&first, &more], Some("len")).expect("a report");
    assert_eq!(labels(&report), ["nseg=64", "nseg=4096"]);
    // If each length has its own number, all of it is one line.
    let total = [timed("short", 4096, 16, 8, 95.0), timed("short", 1024, 64, 8, 96.0)];
    let report = LimitReport::read([logs.log("total.jsonl", &total)], Some("len")).expect("a report");
    assert_eq!(labels(&report), ["short"]);
    assert!(report.table().contains("  len=64 nseg=1024 "), "{}", report.table());
    // A quotient: two lengths of 64 rows and two of 4096, all four different.
    let report = LimitReport::read([&first, &more], Some("nseg / len")).expect("a report");
    assert_eq!((report.by(), labels(&report)), ("nseg/len", vec!["short"]));
    assert_eq!(
        report.series()[0].shapes.iter().map(|s| s.size).collect::<Vec<_>>(),
        [2.0, 4.0, 128.0, 256.0]
    );
    assert!(report.table().contains("  nseg/len=128 len=32 nseg=4096 "), "{}", report.table());
    let page = LimitReport::read([&first, &more], Some("len/nseg")).expect("a report").html();
    assert!(page.contains("<title>short: len/nseg=0.25 len=16 nseg=64: 70.0 % of"), "{page}");
}

#[test]
fn logs_of_before_are_read() {
    // A line of a version that wrote neither names, bases, nor bottlenecks.
    let line = |len: i64| {
        format!(
            r#"{{"key":{{"kernel":"5e9a","pipeline":"unroll(i)\n","problem":"x: f32[8, {len}]; len = {len}; nseg = 8","device":"GPU A","driver":"13.0","compiler":"nvrtc 13.0","library":"0.1.0"}},"point":[["width",8]],"outcome":{{"timed":{{"cost":{{"estimate_ms":0.3,"bound_ms":0.2,"necessary_bytes":800000000.0,"moved_bytes":800000000.0,"operations":1.0,"bank_conflicts":0.0,"idle":0.0,"registers":32,"spilled":0,"occupancy":1.0,"in_flight":16.0,"waves":8.0}},"times":{{"median":0.25,"least":0.24,"launches":20}}}}}}}}"#
        )
    };
    let logs = Logs::new();
    // The last line is torn.
    let torn = &line(256)[..200];
    let log = logs.write("old.jsonl", &format!("{}\n{}\n{torn}", line(16), line(64)));
    let report = LimitReport::read([log], None).expect("a report");
    insta::assert_snapshot!(report.table(), @r#"
    fraction of the memory's limit by len; nseg=8

    GPU A
      on GPU A; limit 4.00 TB/s
      shape       ms            of limit  by the counts  best point
      len=16  0.2500  measured    80.0 %  not recorded   width=8
      len=64  0.2500  measured    80.0 %  not recorded   width=8
    "#);
}

#[test]
fn refusals() {
    let logs = Logs::new();
    let one = logs.log("one.jsonl", &[timed("short", 64, 16, 8, 90.0)]);
    let total =
        logs.log("total.jsonl", &[timed("short", 4096, 16, 8, 95.0), timed("short", 1024, 64, 8, 96.0)]);
    let mut other = timed("rows", 64, 16, 8, 90.0);
    other.key.problem = "x: f32[7]; n = 7".to_owned();
    let other = logs.log("other.jsonl", &[other]);
    let illegal = logs.log(
        "illegal.jsonl",
        &[refused(timed("short", 64, 16, 8, 1.0)), refused(timed("short", 64, 32, 8, 1.0))],
    );
    let notes = logs.write("notes.txt", "hello\nworld\n");
    let empty = logs.write("empty.jsonl", "");
    let shipped = logs.0.path().join("tuned.json");
    TunedRecords::default().save(&shipped).expect("saves");
    let missing = logs.0.path().join("missing.jsonl");
    let cases: [(&[&Path], Option<&str>); 10] = [
        (&[&total], None),
        (&[&one], None),
        (&[&one, &other], None),
        (&[&one, &other], Some("len")),
        (&[&illegal], None),
        (&[&notes], None),
        (&[&empty], None),
        (&[&shipped], None),
        (&[&missing], None),
        (&[], None),
    ];
    let texts: Vec<String> = cases.iter().map(|(paths, by)| logs.refusal(paths, *by)).collect();
    assert!(!missing.exists(), "reading makes nothing");
    insta::assert_snapshot!(texts.join("\n\n"), @r#"
    error[report-size]: the searches differ in `len`, `nseg`: along which is not clear
     |
     = help: choose one with `--by`, as in `--by len`

    error[report-size]: all searches are of one shape, so that there is nothing to show it along
     |
     = witness: their problem is out: f32[64]; x: f32[64, 16]; len = 16; nseg = 64
     = help: tune other sizes too, with the same `--log`; or name one with `--by`, as `--by len`

    error[report-size]: the searches differ in no integer argument that all of them have
     |
     = help: make a report for each kernel

    error[report-size]: `rows` of other has no integer argument `len`
     |
     = witness: its problem is x: f32[7]; n = 7
     = help: use an argument that all have, or make a separate report for each kernel

    error[report-empty]: no point of the 2 searches has a figure: all are refused or wrong
     |
     = help: see the table of `loopwright tune` for the reason of each point

    error[tuning-log]: line 1 of notes.txt is not a record: expected value at line 1 column 1
     |
     = help: use another file, or move this one away

    error[tuning-log]: empty.jsonl holds no record
     |
     = help: use a file written by `loopwright tune --log FILE`

    error[tuning-log]: tuned.json is a file of shipped records, which have classes of sizes instead of sizes
     |
     = help: use the logs of the searches, written by `loopwright tune --log FILE`

    error[tuning-log]: missing.jsonl cannot be read: No such file or directory (os error 2)
     |
     = help: use a file written by `loopwright tune --log FILE`

    error[report-empty]: there are no searches to report
     |
     = help: give at least one log or tuning
    "#);
}

#[test]
fn a_log_and_the_searches_themselves_say_the_same() {
    let kernel = LoopKernel::parse(
        "kernel row_sum(x: f32[n, m], out: f32[n], n: i32, m: i32)\nassume 0 <= n and 0 <= m\n\
         domain { [s] : 0 <= s < n }\ndomain { [i] : 0 <= i < m }\nout[s] = sum(i, x[s, i])\n",
    )
    .expect("a kernel");
    let pipeline = Pipeline::parse("split_iname(i, $lanes)\ntag_inames(s: block.x, i_inner: thread.x)\n");
    let (pipeline, space) =
        (pipeline.expect("a pipeline"), Space::parse("lanes in [32, 64, 2048]\n").expect("a space"));
    let device = Device::emulator();
    let logs = Logs::new();
    let log = logs.0.path().join("tune.jsonl");
    let tunings = [16, 64, 300].map(|m| {
        let args = Args::new().tensor("x", &Tensor::random(&[128, m], DType::F32, 7).expect("a tensor"));
        Tuner::new(&device, &kernel, &pipeline, &space, &args).log(&log).run().expect("a search")
    });
    let direct = LimitReport::of(&tunings, None).expect("a report");
    let read = LimitReport::read([&log], None).expect("a report");
    assert_eq!(direct.by(), "m");
    assert_eq!((direct.table(), direct.html()), (read.table(), read.html()));
    let on = "row_sum\n  on emulator; limit 3.30 TB/s, assumed\n  estimated by the counts: \
              nothing was timed\n";
    assert!(direct.table().contains(on), "{}", direct.table());
    // The report shows what each search has found.
    assert_eq!(labels(&direct), ["row_sum"]);
    for (shape, tuning) in direct.series()[0].shapes.iter().zip(&tunings) {
        let best = shape.best.as_ref().expect("a legal point");
        let cost = tuning.best_outcome().and_then(Outcome::cost).expect("a cost");
        assert_eq!(Some(&best.point), tuning.best_point());
        assert_eq!((best.milliseconds, best.fraction), (cost.estimate_ms, cost.bound_ms / cost.estimate_ms));
        assert!(!best.measured && best.bottleneck != Bottleneck::NotRecorded);
        assert_eq!((shape.timed, shape.counted, shape.failed), (0, 2, 1));
    }
}
