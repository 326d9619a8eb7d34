//! Searches of `tune` that are interrupted or killed: what is kept, and how they go on.

use std::process::{Child, Command, Stdio};

use crate::common::{Folder, example, out};

/// The lines of a tuning log that are complete records.
fn whole_lines(log: &str) -> usize {
    let text = std::fs::read(log).unwrap_or_default();
    text.split(|b| *b == b'\n').filter(|l| serde_json::from_slice::<serde_json::Value>(l).is_ok()).count()
}

/// A search of segmented sums on the emulator, of 25 points for each of these numbers of rows.
fn search(folder: &Folder, block_rows: &str) -> Command {
    let (kernel, pipeline) =
        (example("kernels/segmented_sum.lw"), example("tuning/segmented_sum_short.pipe"));
    let space = format!("width in powers(8, 128)\nrows in powers(4, 64)\nblock_rows in [{block_rows}]\n");
    let space = folder.file("all.space", space);
    let mut command = Command::new(env!("CARGO_BIN_EXE_loopwright"));
    command.args(["tune", &kernel, &pipeline, &space, "--device", "emulator"]);
    command.args(["--set", "nseg=4096", "--set", "len=512"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Waits until a log has so many records, or the search ends.
fn wait_for(records: usize, log: &str, child: &mut Child) {
    while whole_lines(log) < records && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_search_that_was_killed_goes_on_with_its_log() {
    let folder = Folder::new("killed");
    let log = folder.path("log.jsonl");
    let search = |log: &str| {
        let mut command = search(&folder, "32, 64");
        command.args(["--sample", "nseg=256", "--log", log]);
        command
    };
    let ended = |log: &str| out(&search(log).stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap());
    let mut child = search(&log).spawn().unwrap();
    wait_for(5, &log, &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = whole_lines(&log);
    assert!((5..50).contains(&kept), "it was killed before its 50 points were done: {kept}");
    // As if it had died during a write.
    let bytes = std::fs::read(&log).unwrap();
    let end = bytes.iter().rposition(|b| *b == b'\n').unwrap();
    std::fs::write(&log, &bytes[..end - 20]).unwrap();

    let again = ended(&log);
    assert!(again.contains(&format!("\n{} outcomes were taken from the log\n", kept - 1)), "{again}");
    assert!(again.contains(&format!("\nnote: line {kept} of {log} is torn or no record")), "{again}");
    // The same as a search that was never interrupted.
    let whole = ended(&folder.path("other.jsonl"));
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
    let third = ended(&log);
    assert!(third.contains("\n50 outcomes were taken from the log\n"), "{third}");
}

/// Interrupts a search, and adds what it says then to the text.
#[cfg(unix)]
fn interrupt(mut child: Child, mut errors: impl std::io::Read, text: &mut String) {
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
    let log = folder.path("log.jsonl");
    for with_log in [true, false] {
        let mut command = search(&folder, "32, 64");
        if with_log {
            command.args(["--sample", "nseg=256", "--log", &log]);
        }
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = std::io::BufReader::new(child.stderr.take().unwrap());
        let mut text = String::new();
        if with_log {
            wait_for(5, &log, &mut child);
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
    let [log, html, best, record] =
        ["log.jsonl", "page.html", "best.pipe", "tuned.json"].map(|name| folder.path(name));
    let mut command = search(&folder, "32, 64");
    command.args(["--sample", "nseg=512", "--log", &log, "--html", &html, "--best", &best]);
    command.args(["--record", &record]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    wait_for(2, &log, &mut child);
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
    let mut command = search(&folder, "32");
    let mut child = command.env("LD_PRELOAD", &library).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut text = String::new();
    errors.read_line(&mut text).unwrap();
    interrupt(child, errors, &mut text);
}
