//! Whole searches on the emulator.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use loopwright_kernel_ir::{DType, LoopKernel};
use loopwright_runtime::{Args, Device, Tensor};
use loopwright_transforms::Pipeline;
use loopwright_tuner::{
    Key, Machine, Outcome, Phase, RecordKey, Space, Strategy, TunedRecords, Tuner, Tuning,
};

const KERNEL: &str = "\
kernel row_sum(x: f32[n, m], out: f32[n], n: i32, m: i32)
assume 0 <= n and 0 <= m
domain { [s] : 0 <= s < n }
domain { [i] : 0 <= i < m }
out[s] = sum(i, x[s, i])
";
const PIPELINE: &str = "\
split_iname(s, $rows)
split_iname(i, $lanes)
tag_inames(s_outer: block.x, s_inner: thread.y, i_inner: thread.x)
";

fn tune(space: &str, n: usize, with: impl for<'a> Fn(Tuner<'a>) -> Tuner<'a>) -> Tuning {
    tune_kernel(KERNEL, space, n, with)
}

fn tune_kernel(kernel: &str, space: &str, n: usize, with: impl for<'a> Fn(Tuner<'a>) -> Tuner<'a>) -> Tuning {
    let kernel = LoopKernel::parse(kernel).expect("a kernel");
    let pipeline = Pipeline::parse(PIPELINE).expect("a pipeline");
    let space = Space::parse(space).expect("a space");
    let device = Device::emulator();
    let args = Args::new().tensor("x", &Tensor::random(&[n, 200], DType::F32, 7).expect("a tensor"));
    with(Tuner::new(&device, &kernel, &pipeline, &space, &args)).run().expect("a search")
}

fn outcome<'t>(tuning: &'t Tuning, point: &str) -> &'t Outcome {
    let found = tuning.candidates.iter().find(|(p, _)| p.to_string() == point);
    found.and_then(|(_, o)| o.as_ref()).unwrap_or_else(|| panic!("{point} was not looked at"))
}

#[test]
fn coalesced_reads_are_better_than_strided_ones_and_too_many_threads_are_a_result() {
    let tuning = tune("rows in [1, 32, 64]\nlanes in [1, 32]\n", 512, |t| t);
    assert_eq!(tuning.candidates.len(), 6);
    let ms = |p: &str| outcome(&tuning, p).milliseconds().expect("it is legal");
    // One thread per row: each lane of a warp reads another row, so that 32 sectors are requested
    // where 4 would do.
    assert!(ms("rows=32 lanes=1") > ms("rows=32 lanes=32"));
    let moved = |p: &str| outcome(&tuning, p).cost().expect("it is legal").moved_bytes;
    assert!(moved("rows=32 lanes=1") > 6.0 * moved("rows=32 lanes=32"));
    let Outcome::Refused { code, message, .. } = outcome(&tuning, "rows=64 lanes=32") else {
        panic!("2048 threads are too many for a block");
    };
    assert_eq!(code, "too-many-threads");
    assert!(message.contains("2048"), "{message}");
    let table = tuning.table();
    assert!(table.contains("<- best") && table.contains("too-many-threads"), "{table}");
    let page = tuning.html();
    assert!(page.contains("<svg") && !page.contains("<script") && !page.contains("http"), "self-contained");
}

#[test]
fn results_that_are_off_are_wrong_not_fast() {
    // A tolerance that nothing satisfies simulates a wrong program.
    let kernel = KERNEL.replace("sum(i, x[s, i])", "sum(i, 0.1 * x[s, i])");
    let tuning = tune_kernel(&kernel, "rows in [1]\nlanes in [32]\n", 64, |t| t.tolerance(0.0));
    let Outcome::Wrong { message } = outcome(&tuning, "rows=1 lanes=32") else {
        panic!("sums of f32 differ from those of f64 in the last bits")
    };
    assert!(message.contains("`out`"), "{message}");
    assert_eq!(tuning.best, None);
    assert!(tuning.table().contains("no point is legal"));
}

/// A machine with rates of zero has no finite estimates, and JSON cannot represent others.
#[test]
fn infinite_estimates_come_back_from_logs_and_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let (log, shipped) = (folder.path().join("tune.jsonl"), folder.path().join("tuned.json"));
    let space = "rows in [8, 16]\nlanes in [32]\n";
    let still = Machine { clock: 0.0, ..Machine::h200() };
    let search = || tune(space, 64, |t| t.log(&log).machine(still.clone()));
    let first = search();
    for (point, outcome) in &first.candidates {
        let cost = outcome.as_ref().and_then(Outcome::cost).expect("it is legal");
        assert!(!cost.estimate_ms.is_finite() && cost.bound_ms.is_finite(), "{point}: {cost:?}");
    }
    let text = std::fs::read_to_string(&log).expect("a log");
    assert_eq!(text.matches("\"estimate_ms\":null").count(), 2, "{text}");
    let second = search();
    assert_eq!(second.recalled, 2);
    for ((point, before), (_, after)) in first.candidates.iter().zip(&second.candidates) {
        let [before, after] = [before, after].map(|o| o.as_ref().expect("an outcome"));
        assert_eq!(before.milliseconds(), Some(f64::INFINITY), "{point}");
        assert_eq!(after.milliseconds(), Some(f64::INFINITY), "{point}");
        assert_eq!(before.cost().map(|c| c.moved_bytes), after.cost().map(|c| c.moved_bytes));
    }
    assert_eq!(second.best_point(), first.best_point());
    // And they are shown.
    assert!(second.table().contains("rows=8 lanes=32") && second.html().contains("</html>"));
    assert!(!second.html().contains("NaN"), "{}", second.html());

    let records = TunedRecords::default().with(first.record().expect("a legal point"));
    records.save(&shipped).expect("writes");
    assert_eq!(TunedRecords::load(&shipped).expect("reads"), records);
}

#[test]
fn a_log_is_gone_on_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tune.jsonl");
    let space = "rows in [32, 64]\nlanes in [32]\n";
    let first = tune(space, 64, |t| t.log(&path));
    assert_eq!(first.recalled, 0);
    let again = tune(space, 64, |t| t.log(&path));
    // Refused points stay refused, and counted ones are not counted again.
    assert_eq!(again.recalled, 2);
    assert_eq!(again.candidates, first.candidates);
    assert!(again.table().contains("2 outcomes were taken from the log"), "{}", again.table());
    // Another problem: the record is kept and not used, and the table says why.
    let other = tune(space, 128, |t| t.log(&path));
    assert_eq!(other.recalled, 0);
    let (_, (field, ..)) = other.not_used.clone().expect("there was one");
    assert_eq!(field, "problem");
    assert!(other.table().contains("their problem is"), "{}", other.table());
    // An additional candidate does not affect the others.
    let wider = tune("rows in [16, 32, 64]\nlanes in [32]\n", 64, |t| t.log(&path));
    assert_eq!(wider.recalled, 2);
    assert_eq!(outcome(&wider, "rows=32 lanes=32"), outcome(&first, "rows=32 lanes=32"));
}

/// The same numbers of segments and elements, but lengths that idle other lanes.
#[test]
fn outcomes_for_other_offsets_are_not_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tune.jsonl");
    let kernel = LoopKernel::parse(
        "kernel ragged(x: f32[n], offsets: i32[nseg + 1], out: f32[nseg], n: i32, nseg: i32)
assume 0 <= n and 0 <= nseg
fact monotone(offsets)
fact 0 <= offsets <= n
domain { [s] : 0 <= s < nseg }
domain { [i] : lo <= i < hi }
temp lo: i32 private
temp hi: i32 private
lo = offsets[s]
hi = offsets[s + 1]
out[s] = sum(i, x[i])
",
    )
    .expect("a kernel");
    let pipeline = Pipeline::parse("split_iname(s, $rows)\ntag_inames(s_outer: block.x, s_inner: thread.x)")
        .expect("steps");
    let space = Space::parse("rows in [32, 64]").expect("a space");
    let device = Device::emulator();
    let args = |offsets: Vec<i32>| {
        Args::new()
            .tensor("x", &Tensor::random(&[96], DType::F32, 7).expect("a tensor"))
            .tensor("offsets", &Tensor::from_vec(&[4], offsets).expect("a tensor"))
    };
    let search = |offsets: Vec<i32>| {
        let args = args(offsets);
        Tuner::new(&device, &kernel, &pipeline, &space, &args).log(&path).run().expect("a search")
    };
    assert_eq!(search(vec![0, 32, 64, 96]).recalled, 0);
    let other = search(vec![0, 0, 0, 96]);
    assert_eq!(other.recalled, 0);
    let (_, (field, ..)) = other.not_used.clone().expect("there were two");
    assert_eq!(field, "data");
    assert_eq!(search(vec![0, 32, 64, 96]).recalled, 2);
    // Offsets that are already on a device are inspected there.
    let (here, there) = (args(vec![0, 32, 64, 96]), args(vec![0, 0, 0, 96]));
    for args in [here, there] {
        let on_device = args.on_device(&device).expect("uploads");
        let keys = |args: &Args| {
            let key = Key::new(&kernel, &pipeline, args, &device).expect("a key");
            (key, RecordKey::new(&kernel, &pipeline, args, &device).expect("a key"))
        };
        assert_eq!(keys(&on_device), keys(&args));
        assert!(keys(&args).1.data_class.starts_with("offsets: mean about 32, "), "{:?}", keys(&args).1);
    }
}

/// A line of a log that cannot be read is left out, and the search says so.
#[test]
fn torn_lines_of_a_log_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log.jsonl");
    std::fs::write(&log, "{\"key\": {\"ker\n").expect("it is written");
    let tuning = tune("rows in [1]\nlanes in [1]\n", 64, |t| t.log(&log));
    assert_eq!(tuning.notes.len(), 1, "{:?}", tuning.notes);
    assert!(tuning.notes[0].starts_with("line 1 of ") && tuning.notes[0].contains("is torn or no record"));
}

#[test]
fn an_interrupted_search_has_what_it_has_found() {
    let asked = Arc::new(AtomicUsize::new(0));
    let space = "rows in 1..=40\nlanes in [1, 2]\n";
    let tuning = tune(space, 64, |t| {
        let asked = Arc::clone(&asked);
        t.stop_when(move || asked.fetch_add(1, Ordering::SeqCst) >= 5)
    });
    let looked_at = tuning.candidates.iter().filter(|(_, o)| o.is_some()).count();
    assert!(tuning.interrupted && !tuning.out_of_time && tuning.best.is_some());
    assert!((1..=5).contains(&looked_at), "{looked_at}");
    let note = format!("the search was interrupted when it had looked at {looked_at} of 80 points");
    assert_eq!(tuning.notes, [note.as_str()]);
    let table = tuning.table();
    assert!(
        table.contains(&format!("{} points were not looked at: the search was interrupted", 80 - looked_at))
    );
    assert!(table.contains(&note) && tuning.html().contains(&note), "{table}");
    let record = tuning.record().expect("there is a best point");
    assert!(
        record.interrupted && serde_json::to_string(&record).expect("JSON").contains("\"interrupted\":true")
    );
    let none = tune(space, 64, |t| t.stop_when(|| true));
    assert_eq!(none.why_none(), Some("the search was interrupted before any point was looked at"));
    let whole = tune("rows in 1..=2\nlanes in [1]\n", 64, |t| t.stop_when(|| false));
    assert!(!whole.interrupted && whole.notes.is_empty());
    assert!(!serde_json::to_string(&whole.record()).expect("JSON").contains("interrupted"));
}

#[test]
fn time_that_is_over_ends_the_search() {
    let tuning = tune("rows in 1..=40\nlanes in [1, 2]\n", 64, |t| t.budget(Duration::ZERO));
    assert!(tuning.out_of_time);
    assert!(tuning.candidates.iter().all(|(_, o)| o.is_none()));
    assert!(tuning.table().contains("80 points were not looked at"), "{}", tuning.table());
    // Nothing is known about any point, legal or not.
    for text in [tuning.table(), tuning.html()] {
        assert!(text.contains("the time budget ended before any point was looked at"), "{text}");
        assert!(!text.contains("is legal"), "{text}");
    }
}

/// The reference of 65536 rows of 200 takes many seconds.
#[test]
fn the_reference_is_cut_by_the_budget_and_its_time_is_told() {
    let begin = Instant::now();
    let tuning = tune("rows in 1..=4\nlanes in [32]\n", 1 << 16, |t| t.budget(Duration::from_millis(300)));
    assert!(tuning.out_of_time && tuning.candidates.iter().all(|(_, o)| o.is_none()));
    let (spent, whole) = (tuning.spent, begin.elapsed());
    assert!(spent.reference > Duration::ZERO && spent.counting == Duration::ZERO, "{spent:?}");
    assert!(spent.total() >= Duration::from_millis(300) && spent.total() <= whole, "{spent:?} of {whole:?}");
    // If the time suffices, it is a phase like the others.
    let tuning = tune("rows in 1..=4\nlanes in [32]\n", 64, |t| t.budget(Duration::from_secs(3600)));
    assert!(tuning.best.is_some() && !tuning.out_of_time);
    assert!(tuning.spent.reference > Duration::ZERO && tuning.spent.counting > Duration::ZERO);
    assert!(tuning.table().contains(&format!("spent {}\n", tuning.spent)), "{}", tuning.table());
}

#[test]
fn progress_is_told_and_strategies_are_accepted() {
    let kernel = LoopKernel::parse(KERNEL).expect("a kernel");
    let pipeline = Pipeline::parse(PIPELINE).expect("a pipeline");
    let space = Space::parse("rows in [1, 2, 4]\nlanes in [8, 16, 32]\n").expect("a space");
    let device = Device::emulator();
    let tensor = |n| Tensor::random(&[n, 100], DType::F32, 7).expect("a tensor");
    let (args, sample) = (Args::new().tensor("x", &tensor(4096)), Args::new().tensor("x", &tensor(16)));
    let mut told = Vec::new();
    let tuning = Tuner::new(&device, &kernel, &pipeline, &space, &args)
        .sample(&sample)
        .strategy(Strategy::Guided { points: 3, seed: 1 })
        .on_progress(|p| told.push((p.phase, p.done, p.of)))
        .run()
        .expect("a search");
    assert_eq!(told.first(), Some(&(Phase::Reference, 0, 9)));
    assert_eq!(told.last(), Some(&(Phase::Counting, 3, 3)));
    assert_eq!(tuning.candidates.iter().filter(|(_, o)| o.is_some()).count(), 3);
    // Costs are those of the problem: 256 times the sample.
    let bytes = tuning.best_outcome().and_then(Outcome::cost).expect("legal").necessary_bytes;
    assert_eq!(bytes, f64::from(4096 * 100 * 4 + 4096 * 4));
}

#[test]
fn strategies_say_which_points_are_counted() {
    // Half of the points have too many threads; they do not take the place of legal ones.
    let space = "rows in [1, 2, 4, 8, 64, 128, 256, 512]\nlanes in [32, 64, 128]\n";
    let search = |strategy| tune(space, 8, |t| t.strategy(strategy));
    let looked_at = |tuning: &Tuning| {
        let looked_at = tuning.candidates.iter().filter(|(_, o)| o.is_some());
        looked_at.map(|(p, _)| p.to_string()).collect::<Vec<_>>()
    };
    let legal = |tuning: &Tuning| {
        tuning.candidates.iter().filter(|(_, o)| o.as_ref().is_some_and(|o| o.cost().is_some())).count()
    };
    let all = search(Strategy::Exhaustive);
    assert_eq!((looked_at(&all).len(), legal(&all)), (24, 12));
    for strategy in [|seed| Strategy::Random { points: 5, seed }, |seed| Strategy::Guided { points: 5, seed }]
    {
        let found = search(strategy(1));
        assert_eq!(legal(&found), 5, "{}", found.table());
        let left = 24 - looked_at(&found).len();
        let said = format!("\n{left} points were not looked at: the strategy left them out\n");
        assert!(found.table().contains(&said), "{}", found.table());
        assert_eq!(looked_at(&found), looked_at(&search(strategy(1))), "they follow from the seed");
        let others = (2..6).map(|seed| looked_at(&search(strategy(seed))));
        assert!(others.into_iter().any(|o| o != looked_at(&found)), "and from nothing else");
    }
}

#[test]
fn nothing_is_searched_by_no_points_or_no_launches() {
    let refused = |with: fn(Tuner<'_>) -> Tuner<'_>| {
        let kernel = LoopKernel::parse(KERNEL).expect("a kernel");
        let pipeline = Pipeline::parse(PIPELINE).expect("a pipeline");
        let space = Space::parse("rows in [1]\nlanes in [32]\n").expect("a space");
        let device = Device::emulator();
        let args = Args::new().tensor("x", &Tensor::random(&[4, 4], DType::F32, 7).expect("a tensor"));
        with(Tuner::new(&device, &kernel, &pipeline, &space, &args)).run().map(|_| ()).map_err(|d| d.code)
    };
    assert_eq!(refused(|t| t), Ok(()));
    assert_eq!(refused(|t| t.strategy(Strategy::Random { points: 0, seed: 1 })), Err("strategy"));
    assert_eq!(refused(|t| t.strategy(Strategy::Guided { points: 0, seed: 1 })), Err("strategy"));
    assert_eq!(refused(|t| t.launches(0)), Err("launches"));
}

#[test]
fn a_space_that_does_not_fit_is_refused_before_anything_runs() {
    let kernel = LoopKernel::parse(KERNEL).expect("a kernel");
    let pipeline = Pipeline::parse(PIPELINE).expect("a pipeline");
    let args = Args::new().tensor("x", &Tensor::random(&[4, 4], DType::F32, 7).expect("a tensor"));
    let device = Device::emulator();
    let code = |space: &str| {
        let space = Space::parse(space).expect("a space");
        Tuner::new(&device, &kernel, &pipeline, &space, &args).run().map(|_| ()).map_err(|d| d.code)
    };
    assert_eq!(code("rows in [1]\n"), Err("open-parameter"));
    assert_eq!(code("rows in [1]\nlanes in [1]\nvec in [4]\n"), Err("unknown-parameter"));
    assert_eq!(code("rows in [1]\nlanes in [1]\nrequire rows > lanes\n"), Err("empty-space"));
}

/// A product of 4096 x 4096 x 4096 was counted on 150 x 140 x 40.
#[test]
fn a_sample_with_partial_tiles_that_the_problem_has_not_is_noted() {
    let kernel = LoopKernel::parse(include_str!("../../../examples/kernels/matmul.lw")).expect("a kernel");
    let pipeline = include_str!("../../../examples/tuning/matmul.pipe");
    let pipeline = Pipeline::parse(pipeline).expect("a pipeline");
    let space = Space::parse("bm in [32, 64]\nbn in [32, 64]\nbk in [8, 16]\nhm in [32]\nhn in [32]\n");
    let space = space.expect("a space");
    let device = Device::emulator();
    let sizes = |m: usize, n: usize, l: usize| {
        let tensor = |shape: [usize; 2]| Tensor::random(&shape, DType::F32, 7).expect("a tensor");
        Args::new().tensor("a", &tensor([m, l])).tensor("b", &tensor([l, n]))
    };
    let search = |problem: [i64; 3], (m, n, l): (usize, usize, usize)| {
        let names = ["m", "n", "l"].into_iter().zip(problem);
        let args = names.fold(Args::new(), |args, (name, value)| args.scalar(name, value));
        let sample = sizes(m, n, l);
        let tuner = Tuner::new(&device, &kernel, &pipeline, &space, &args).sample(&sample);
        tuner.strategy(Strategy::Random { points: 1, seed: 1 }).run().expect("a search")
    };
    let partial = search([4096, 4096, 4096], (75, 70, 24));
    let table = partial.table();
    let note = |size: &str, tiles: &str, few: usize, better: usize| {
        format!(
            "tiles of {tiles} divide the problem's {size}=4096 and not the sample's {size}={few}: \
             what partial tiles cost there is counted, and the problem has none; take a sample \
             with {size}={better}"
        )
    };
    // The squares of threads are tiles as well; 8 divides 24.
    let expected =
        [note("m", "4, 32, 64", 75, 128), note("n", "4, 32, 64", 70, 128), note("l", "16", 24, 32)];
    let mut found = partial.notes.clone();
    found.sort_by_key(|note| expected.iter().position(|e| e == note));
    assert_eq!(found, expected);
    for note in &expected {
        assert!(table.contains(&format!("\nnote: {note}\n")), "{table}");
        assert!(partial.html().contains("what partial tiles cost there is counted"), "{}", partial.html());
    }
    // Tiles that do not divide the problem's sizes either are partial there too.
    let multiples: [String; 0] = [];
    assert_eq!(search([4096, 4096, 4096], (128, 64, 32)).notes, multiples);
    assert_eq!(search([4095, 4095, 4095], (75, 70, 24)).notes, multiples);
}

#[test]
fn a_problem_without_work_is_refused() {
    let kernel = LoopKernel::parse(KERNEL).expect("a kernel");
    let pipeline = Pipeline::parse(PIPELINE).expect("a pipeline");
    let space = Space::parse("rows in [1, 4]\nlanes in [32]\n").expect("a space");
    let device = Device::emulator();
    let rows = |n| Args::new().tensor("x", &Tensor::random(&[n, 8], DType::F32, 7).expect("a tensor"));
    let (none, some) = (rows(0), rows(4));
    let refused = |args: &Args, sample: &Args| {
        let tuner = Tuner::new(&device, &kernel, &pipeline, &space, args).sample(sample);
        tuner.run().map(|_| ()).map_err(|d| (d.code, d.message))
    };
    let (code, message) = refused(&none, &some).expect_err("there are no rows");
    assert_eq!(code, "nothing-to-do");
    assert!(message.contains("for the problem (") && message.contains("n=0"), "{message}");
    let (code, message) = refused(&some, &none).expect_err("there are no rows");
    assert_eq!(code, "nothing-to-do");
    assert!(message.contains("for the sample ("), "{message}");
    assert_eq!(refused(&some, &some), Ok(()));
    // Rows without elements are still written.
    let empty = Args::new().tensor("x", &Tensor::zeros(&[4, 0], DType::F32).expect("a tensor"));
    assert_eq!(refused(&empty, &empty), Ok(()));
}

#[test]
fn bodies_that_would_keep_the_compiler_busy_are_results_and_say_what_to_do() {
    let kernel = LoopKernel::parse(KERNEL).expect("a kernel");
    let steps = "split_iname(i, $unrolled)\nunroll(i_inner)\nsplit_iname(s, 64)\n\
                 tag_inames(s_outer: block.x, s_inner: thread.x)\n";
    let pipeline = Pipeline::parse(steps).expect("a pipeline");
    let space = Space::parse("unrolled in [4, 64, 4096]\n").expect("a space");
    let device = Device::emulator();
    let args = Args::new().tensor("x", &Tensor::random(&[64, 200], DType::F32, 7).expect("a tensor"));
    let search = || Tuner::new(&device, &kernel, &pipeline, &space, &args);
    let tuning = search().run().expect("a search");
    assert!(outcome(&tuning, "unrolled=64").cost().is_some(), "{}", tuning.table());
    let Outcome::Refused { code, message, help } = outcome(&tuning, "unrolled=4096") else {
        panic!("it was not refused\n{}", tuning.table());
    };
    let rendered = format!("error[{code}]: {message}\n  help: {}", help.as_deref().unwrap_or_default());
    // The index, the guard and the addition, 4096 times; the rest once.
    assert_eq!(
        rendered,
        "error[body-too-long]: `row_sum` has 12293 statements after unrolling, more than 6000: \
         the compiler would take too long\n  help: leave a loop rolled, or unroll shorter loops \
         by `unroll`, `ilp` and `vec`; a higher `most_statements` allows more"
    );
    // The table and the page say so too.
    for text in [tuning.table(), tuning.html()] {
        assert!(text.contains("[body-too-long]; leave a loop rolled"), "{text}");
    }
    // They are allowed on request.
    let allowed = search().most_statements(1 << 20).run().expect("a search");
    assert!(outcome(&allowed, "unrolled=4096").cost().is_some(), "{}", allowed.table());
    let fewer = search().most_statements(60).run().expect("a search");
    assert!(
        outcome(&fewer, "unrolled=64").cost().is_none() && outcome(&fewer, "unrolled=4").cost().is_some()
    );
}
