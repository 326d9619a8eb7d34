//! Records on disk: an append-only log, one JSON object per line.
//!
//! A killed run loses at most the work in progress and the line being written: reading skips torn
//! lines anywhere and reports them; the next run appends after them. Lines of other keys are kept
//! but not used; the reader reports the field in which they differ. Counts also depend on the
//! sample and on the machine for which they are an estimate: those of another [`Record::basis`] are
//! recomputed.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use loopwright_kernel_ir::Diagnostic;

use crate::{Key, Outcome, Point, Record, TunedRecords};

/// A log that is open for appending.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
}

/// The contents of a log for a key.
#[derive(Clone, Debug, Default)]
pub struct Recalled {
    /// Outcomes of this key, the last one of each point.
    pub outcomes: Vec<(Point, Outcome)>,
    /// The number of records with other keys.
    pub others: usize,
    /// For the first of these, the field that differs, its value here, and its value there.
    pub difference: Option<(String, String, String)>,
    /// The numbers, from 1, of lines that are torn or contain something else. They are skipped, but
    /// stay in the file.
    pub torn: Vec<usize>,
}

/// The records of a log, in the order in which they were appended. Does not create or write
/// anything.
pub(crate) fn records(path: &Path) -> Result<Vec<Record>, Diagnostic> {
    let bytes =
        regular(path).and_then(|()| std::fs::read(path)).map_err(|e| failed(path, "read", &e).help(HELP))?;
    let (records, _) = parse(path, &bytes)?;
    if records.is_empty() {
        return Err(Diagnostic::new("tuning-log", format!("{} holds no record", path.display())).help(HELP));
    }
    Ok(records)
}

/// The best point of a log of one search, with its milliseconds: of the timed ones, if any is. None
/// if the log has outcomes of several kernels, pipelines or problems, which are not compared.
pub fn best_in_log(path: &Path) -> Option<(Point, f64)> {
    let records = records(path).ok()?;
    let key = &records.first()?.key;
    if records.iter().any(|record| record.key != *key) {
        return None;
    }
    let timed = records.iter().any(|record| record.outcome.times().is_some());
    let of = records.iter().filter(|record| !timed || record.outcome.times().is_some());
    let figures = of.filter_map(|record| Some((record.point.clone(), record.outcome.milliseconds()?)));
    figures.min_by(|a, b| a.1.total_cmp(&b.1))
}

const HELP: &str = "use a file written by `loopwright tune --log FILE`";

/// Refuses a device or a pipe, which may have no end. A file that does not exist is accepted.
pub(crate) fn regular(path: &Path) -> std::io::Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(std::io::Error::other("it is not a regular file")),
        _ => Ok(()),
    }
}

/// How every record begins.
const BEGIN: &[u8] = b"{\"key\":";

/// The records of a log's bytes, and the numbers of the lines without one. A file that contains
/// something else and no record is not a log.
fn parse(path: &Path, bytes: &[u8]) -> Result<(Vec<Record>, Vec<usize>), Diagnostic> {
    if serde_json::from_slice::<TunedRecords>(bytes).is_ok() {
        return Err(Diagnostic::new(
            "tuning-log",
            format!(
                "{} is a file of shipped records, which have classes of sizes instead of sizes",
                path.display()
            ),
        )
        .help("use the logs of the searches, written by `loopwright tune --log FILE`"));
    }
    let (mut records, mut torn, mut foreign) = (Vec::new(), Vec::new(), None);
    for (number, line) in bytes.split(|b| *b == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        match serde_json::from_slice(line) {
            Ok(record) => records.push(record),
            // Torn by the end of the writing process or of the machine, which may leave zeros. If
            // another process was writing at the time, its record follows the torn one in the same
            // line.
            Err(e) => {
                torn.push(number + 1);
                match last_record(line) {
                    Some(record) => records.push(record),
                    None if is_torn(line) && (e.is_eof() || line.contains(&0)) => {}
                    None => foreign = foreign.or_else(|| Some((number + 1, e))),
                }
            }
        }
    }
    match foreign {
        // Among records, a line of something else only loses itself.
        Some((number, e)) if records.is_empty() => Err(Diagnostic::new(
            "tuning-log",
            format!("line {number} of {} is not a record: {e}", path.display()),
        )
        .help("use another file, or move this one away")),
        _ => Ok((records, torn)),
    }
}

/// The record at the end of a line, after the torn beginning of another.
fn last_record(line: &[u8]) -> Option<Record> {
    let begin = line.windows(BEGIN.len()).rposition(|w| w == BEGIN).filter(|k| *k > 0)?;
    serde_json::from_slice(&line[begin..]).ok()
}

/// Whether a line may be the beginning of a record.
fn is_torn(line: &[u8]) -> bool {
    line.iter().zip(BEGIN).all(|(a, b)| a == b)
}

fn failed(path: &Path, what: &str, e: &std::io::Error) -> Diagnostic {
    Diagnostic::new("tuning-log", format!("{} cannot be {what}: {e}", path.display()))
}

impl Log {
    /// Opens or creates a log, and reads its contents for a key, counts only of this basis. A file
    /// with other contents is an error and is not changed.
    pub fn open(path: impl AsRef<Path>, key: &Key, basis: &str) -> Result<(Log, Recalled), Diagnostic> {
        let path = path.as_ref().to_owned();
        regular(&path).map_err(|e| failed(&path, "opened", &e))?;
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(&path)
            .map_err(|e| failed(&path, "opened", &e))?;
        let mut recalled = Recalled::default();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|e| failed(&path, "read", &e))?;
        let ends_line = bytes.last().is_none_or(|last| *last == b'\n');
        let (records, torn) = parse(&path, &bytes)?;
        recalled.torn = torn;
        for record in records {
            match key.difference(&record.key) {
                None if matches!(record.outcome, Outcome::Counted { .. }) && record.basis != basis => {}
                None => {
                    recalled.outcomes.retain(|(point, _)| *point != record.point);
                    recalled.outcomes.push((record.point, record.outcome));
                }
                Some((field, ours, theirs)) => {
                    recalled.others += 1;
                    recalled.difference.get_or_insert_with(|| (field.to_owned(), ours.to_owned(), theirs));
                }
            }
        }
        if !ends_line {
            file.write_all(b"\n").map_err(|e| failed(&path, "written", &e))?;
        }
        Ok((Log { path, file }, recalled))
    }

    /// Adds a record. It has been passed to the operating system when this returns.
    pub fn append(&mut self, record: &Record) -> Result<(), Diagnostic> {
        let mut line = serde_json::to_vec(record)
            .map_err(|e| Diagnostic::new("tuning-log", format!("a record cannot be written as JSON: {e}")))?;
        line.push(b'\n');
        // One write per line, so that lines of two processes do not mix.
        self.file
            .write_all(&line)
            .and_then(|()| self.file.flush())
            .map_err(|e| failed(&self.path, "written", &e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kernel: &str) -> Key {
        Key {
            kernel: kernel.to_owned(),
            pipeline: "split_iname(i, $block)\n".to_owned(),
            problem: "x: f32[8]".to_owned(),
            data: String::new(),
            device: "emulator".to_owned(),
            driver: String::new(),
            compiler: String::new(),
            library: "0".to_owned(),
        }
    }

    fn record(kernel: &str, block: i64, code: &str) -> Record {
        Record {
            key: key(kernel),
            point: Point::default().with("block", block),
            basis: "x: f32[4]".to_owned(),
            name: String::new(),
            declared: String::new(),
            outcome: Outcome::Refused { code: code.to_owned(), message: "no".to_owned(), help: None },
        }
    }

    fn open(path: &Path, kernel: &str) -> (Log, Recalled) {
        Log::open(path, &key(kernel), "x: f32[4]").expect("a log")
    }

    #[test]
    fn counts_of_another_sample_are_not_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tune.jsonl");
        let outcome = Outcome::Counted { cost: crate::Cost::default() };
        let (mut log, _) = open(&path, "a");
        log.append(&Record { outcome, ..record("a", 1, "") }).expect("appends");
        assert_eq!(open(&path, "a").1.outcomes.len(), 1);
        let (_, other) = Log::open(&path, &key("a"), "x: f32[5]").expect("a log");
        assert!(other.outcomes.is_empty() && other.others == 0);
    }

    #[test]
    fn an_infinite_cost_comes_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tune.jsonl");
        let cost = crate::Cost {
            estimate_ms: f64::INFINITY,
            bound_ms: 0.25,
            waves: f64::INFINITY,
            registers: 40,
            bottleneck: crate::Bottleneck::FirstLevelCache,
            ..crate::Cost::default()
        };
        let times = crate::Times { median: 2.0, least: 1.0, launches: 3 };
        let outcomes = [Outcome::Counted { cost }, Outcome::Timed { cost, times }];
        let (mut log, _) = open(&path, "a");
        for (block, outcome) in (1..).zip(outcomes.clone()) {
            log.append(&Record { outcome, ..record("a", block, "") }).expect("appends");
        }
        let (_, recalled) = open(&path, "a");
        assert_eq!(recalled.outcomes.into_iter().map(|(_, o)| o).collect::<Vec<_>>(), outcomes);
        assert_eq!(records(&path).expect("a log").len(), 2);
    }

    #[test]
    fn a_log_goes_on_after_a_torn_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tune.jsonl");
        let (mut log, recalled) = open(&path, "a");
        assert!(recalled.outcomes.is_empty());
        log.append(&record("a", 1, "first")).expect("appends");
        log.append(&record("b", 1, "other")).expect("appends");
        drop(log);
        // The process dies while it writes.
        let whole = std::fs::read(&path).expect("reads");
        let torn = serde_json::to_vec(&record("a", 2, "torn")).expect("JSON");
        std::fs::write(&path, [&whole[..], &torn[..torn.len() / 2]].concat()).expect("writes");
        let (mut log, recalled) = open(&path, "a");
        assert_eq!(recalled.outcomes.len(), 1);
        assert_eq!(recalled.others, 1);
        assert_eq!(recalled.difference, Some(("kernel".to_owned(), "a".to_owned(), "b".to_owned())));
        log.append(&record("a", 2, "second")).expect("appends");
        log.append(&record("a", 1, "again")).expect("appends");
        drop(log);
        let (_, recalled) = open(&path, "a");
        let codes: Vec<_> = recalled
            .outcomes
            .iter()
            .map(|(p, o)| match o {
                Outcome::Refused { code, .. } => format!("{p} {code}"),
                _ => String::new(),
            })
            .collect();
        assert_eq!(codes, ["block=2 second", "block=1 again"]);
    }

    /// A process dies while it writes, and another one continues in the same line; a disk keeps
    /// zeros; an editor leaves something.
    #[test]
    fn a_torn_line_costs_that_line_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tune.jsonl");
        let line = |block, code: &str| serde_json::to_string(&record("a", block, code)).expect("JSON");
        let torn = line(9, "torn");
        for cut in [1, BEGIN.len(), torn.len() / 2, torn.len() - 1] {
            let (begin, end) = torn.split_at(cut);
            let lines = [
                line(1, "first"),
                format!("{begin}{}", line(2, "second")),
                begin.to_owned(),
                "\0".repeat(20) + end,
                end.to_owned(),
                "left by an editor".to_owned(),
                line(3, "third"),
            ];
            std::fs::write(&path, lines.join("\n") + "\n").expect("writes");
            let (_, recalled) = open(&path, "a");
            let points: Vec<String> = recalled.outcomes.iter().map(|(p, _)| p.to_string()).collect();
            assert_eq!(points, ["block=1", "block=2", "block=3"], "cut to {cut} bytes");
            assert_eq!(recalled.torn, [2, 3, 4, 5, 6], "cut to {cut} bytes");
            assert_eq!(records(&path).expect("a log").len(), 3);
        }
    }

    #[test]
    fn what_is_no_log_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notes.txt");
        // Several lines, one, one without an end, JSON of something else, whole or torn, and a file
        // of records to ship.
        let shipped = serde_json::to_string(&TunedRecords::default()).expect("JSON");
        for text in ["hello\nworld\n", "hello\n", "hello", "{\"a\": 1}\n", "{\"a\": ", &shipped] {
            std::fs::write(&path, text).expect("writes");
            let refused = Log::open(&path, &key("a"), "").map(|_| ()).map_err(|d| d.code);
            assert_eq!(refused, Err("tuning-log"), "{text}");
            assert_eq!(records(&path).map(|_| ()).map_err(|d| d.code), Err("tuning-log"), "{text}");
            assert_eq!(std::fs::read_to_string(&path).expect("reads"), text);
        }
        // A log whose first record was torn anywhere is still a log, even if the disk has kept
        // zeros instead of its end.
        let whole = serde_json::to_vec(&record("a", 1, "first")).expect("JSON");
        std::fs::write(&path, [&whole[..whole.len() / 2], &[0; 64]].concat()).expect("writes");
        let (mut log, recalled) = open(&path, "a");
        assert!(recalled.outcomes.is_empty());
        log.append(&record("a", 2, "second")).expect("appends");
        assert_eq!(open(&path, "a").1.outcomes.len(), 1);
        for length in 0..whole.len() {
            for end in ["", "\n"] {
                std::fs::write(&path, [&whole[..length], end.as_bytes()].concat()).expect("writes");
                let (mut log, recalled) = open(&path, "a");
                assert!(recalled.outcomes.is_empty(), "cut to {length} bytes");
                log.append(&record("a", 2, "second")).expect("appends");
                assert_eq!(records(&path).expect("a log").len(), 1, "cut to {length} bytes");
            }
        }
    }
}
