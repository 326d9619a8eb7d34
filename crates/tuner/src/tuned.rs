//! Records that a project commits and ships: the best points of searches, small enough to read in a
//! review.
//!
//! A [`RecordKey`] says what a record is valid for. One that does not match names the differing
//! fields and is not used: a fast point of another device, driver or compiler is a guess. Lengths
//! are compared by classes ([`length_class`]), and so are the contents of offsets and indices
//! ([`offsets_class`](crate::offsets_class), [`indices_class`](crate::indices_class)), so that one
//! record serves all similar problems. Candidates of the space are not part of the key: an
//! additional one does not invalidate the record.

use std::fmt;
use std::path::Path;

use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_runtime::{Args, Device};
use loopwright_transforms::Pipeline;
use serde::{Deserialize, Serialize};

use crate::data_class::data_class;
use crate::log::regular;
use crate::{Outcome, Point, Tuning, figures, key};

/// The key of a shipped record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordKey {
    /// The fingerprint of the declared kernel.
    pub kernel: String,
    /// The pipeline's text, with open parameters.
    pub pipeline: String,
    /// The names of the space's parameters.
    pub space: Vec<String>,
    /// Types of the arrays, classes of lengths and of integer scalars.
    pub shape_class: String,
    /// Classes of the contents of arrays with declared facts: [`offsets_class`] for monotone ones,
    /// [`indices_class`] for others. Empty if there are none, and in older files.
    ///
    /// [`offsets_class`]: crate::offsets_class
    /// [`indices_class`]: crate::indices_class
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub data_class: String,
    /// The name of the device; `emulator` for the CPU.
    pub device: String,
    /// The driver's version; empty for the emulator.
    pub driver: String,
    /// The compiler's version; empty if nothing is compiled.
    pub compiler: String,
    /// The version of this library.
    pub library: String,
}

/// A field in which a record does not match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The field's name, as in the file.
    pub field: &'static str,
    /// Its value for the kernel, the arguments and the device at hand.
    pub here: String,
    /// Its value in the record.
    pub record: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |text: &str| if text.is_empty() { "none".to_owned() } else { format!("`{text}`") };
        write!(f, "its {} is {}, and here it is {}", self.field, said(&self.record), said(&self.here))
    }
}

/// The class of a length: lengths between the same powers of two that are divisible by the same
/// power of two up to 16, which matters for vectors and alignment. A length of 1000 has the class
/// `512..1023 by 8`; 0 and 1 are separate classes.
///
/// ```
/// use loopwright_tuner::length_class;
///
/// assert_eq!(length_class(1000), "512..1023 by 8");
/// assert_eq!(length_class(1024), "1024..2047 by 16");
/// assert_eq!(length_class(1025), "1024..2047");
/// assert_eq!(length_class(1), "1");
/// ```
pub fn length_class(length: usize) -> String {
    let Some(power) = length.checked_ilog2().filter(|p| *p > 0) else { return length.to_string() };
    let low = 1usize << power;
    let high = low + (low - 1);
    match 1usize << length.trailing_zeros().min(4) {
        1 => format!("{low}..{high}"),
        by => format!("{low}..{high} by {by}"),
    }
}

impl RecordKey {
    /// The key of a kernel and a pipeline with open parameters, for these arguments on this device.
    pub fn new(
        kernel: &LoopKernel,
        pipeline: &Pipeline,
        args: &Args,
        device: &Device,
    ) -> Result<RecordKey, Diagnostic> {
        RecordKey::with_sample(kernel, pipeline, args, None, device)
    }

    /// As [`RecordKey::new`]; if arguments are shapes only, the contents of the sample's arrays are
    /// classified.
    pub(crate) fn with_sample(
        kernel: &LoopKernel,
        pipeline: &Pipeline,
        args: &Args,
        sample: Option<&Args>,
        device: &Device,
    ) -> Result<RecordKey, Diagnostic> {
        Ok(RecordKey {
            shape_class: key::problem(kernel, args, |n| length_class(*n))?,
            data_class: data_class(kernel, args, sample)?,
            device: key::device_name(device),
            driver: key::driver(device),
            compiler: key::compiler(device),
            ..RecordKey::of_texts(kernel, pipeline)
        })
    }

    /// The fields that do not depend on arguments and device; the others are empty.
    fn of_texts(kernel: &LoopKernel, pipeline: &Pipeline) -> RecordKey {
        RecordKey {
            kernel: kernel.declared().fingerprint(),
            pipeline: pipeline.to_string(),
            space: pipeline.parameters().iter().map(ToString::to_string).collect(),
            shape_class: String::new(),
            data_class: String::new(),
            device: String::new(),
            driver: String::new(),
            compiler: String::new(),
            library: key::library(),
        }
    }

    /// The fields in which a record's key differs.
    pub fn differences(&self, record: &RecordKey) -> Vec<Difference> {
        let spaces = (self.space.join(", "), record.space.join(", "));
        let pipelines = first_difference(&self.pipeline, &record.pipeline);
        let fields = [
            ("kernel", self.kernel.as_str(), record.kernel.as_str()),
            ("pipeline", pipelines.0, pipelines.1),
            ("space", &spaces.0, &spaces.1),
            ("shape class", &self.shape_class, &record.shape_class),
            ("data class", &self.data_class, &record.data_class),
            ("device", &self.device, &record.device),
            ("driver", &self.driver, &record.driver),
            ("compiler", &self.compiler, &record.compiler),
            ("library", &self.library, &record.library),
        ];
        let differing = fields.into_iter().filter(|(_, here, record)| here != record);
        differing
            .map(|(field, here, record)| Difference { field, here: here.into(), record: record.into() })
            .collect()
    }
}

/// The first lines in which two texts differ, as a summary.
pub(crate) fn first_difference<'t>(a: &'t str, b: &'t str) -> (&'t str, &'t str) {
    let (mut left, mut right) = (a.lines(), b.lines());
    loop {
        match (left.next(), right.next()) {
            (None, None) => return ("", ""),
            (x, y) if x == y => {}
            (x, y) => return (x.unwrap_or_default(), y.unwrap_or_default()),
        }
    }
}

/// A point with its time or its estimate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunedPoint {
    /// The values of the pipeline's parameters.
    pub point: Point,
    /// The median of its times in alternation with the others of the record, or its estimate, in
    /// milliseconds.
    #[serde(deserialize_with = "figures::read_one")]
    pub milliseconds: f64,
}

/// The best points of one search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunedRecord {
    /// What the record is valid for.
    pub key: RecordKey,
    /// The best points, at most three, best first.
    pub best: Vec<TunedPoint>,
    /// Whether they were timed, rather than estimated by counts.
    pub timed: bool,
    /// The fraction of the memory's limit that the best one reaches; only if it was timed.
    pub fraction_of_limit: Option<f64>,
    /// Whether the search was interrupted, so that there may be better points.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

/// The most points per record.
const KEPT: usize = 3;

impl Tuning {
    /// The record of this search; none if no point is legal.
    pub fn record(&self) -> Option<TunedRecord> {
        let best = self.best_point()?;
        let of = |k: usize, ms: f64| TunedPoint { point: self.candidates[k].0.clone(), milliseconds: ms };
        let timed = !self.finalists.is_empty();
        let points: Vec<TunedPoint> = if timed {
            self.finalists.iter().take(KEPT).map(|f| of(f.candidate, f.times.median)).collect()
        } else {
            let order = crate::tuning::best_first(&self.candidates);
            let figure = |k: &usize| self.candidates[*k].1.as_ref().and_then(Outcome::milliseconds);
            order.iter().take(KEPT).filter_map(|k| Some(of(*k, figure(k)?))).collect()
        };
        debug_assert!(points.first().is_none_or(|p| p.point == *best));
        Some(TunedRecord {
            key: self.record_key.clone(),
            best: points,
            timed,
            fraction_of_limit: self.fraction_of_limit(),
            interrupted: self.interrupted,
        })
    }
}

/// The records of a file.
///
/// ```
/// use loopwright_kernel_ir::{DType, LoopKernel};
/// use loopwright_runtime::{Args, Device, Tensor};
/// use loopwright_transforms::Pipeline;
/// use loopwright_tuner::{Space, TunedRecords, Tuner};
///
/// let kernel = LoopKernel::parse("\
/// kernel twice(x: f32[n], y: f32[n], n: i32)
/// assume 0 <= n
/// domain { [i] : 0 <= i < n }
/// y[i] = 2.0 * x[i]
/// ")?;
/// let pipeline = Pipeline::parse("split_iname(i, $block)\ntag_inames(i_outer: block.x, i_inner: thread.x)")?;
/// let space = Space::parse("block in [32, 64]")?;
/// let device = Device::emulator();
/// let args = |n| Ok::<_, Box<dyn std::error::Error>>(
///     Args::new().tensor("x", &Tensor::random(&[n], DType::F32, 1)?));
///
/// let found = Tuner::new(&device, &kernel, &pipeline, &space, &args(1000)?).run()?;
/// let records = TunedRecords::default().with(found.record().expect("a legal point"));
/// // Where the shape class is the same, the record's best point is taken.
/// let best = records.bind(&kernel, &pipeline, &args(600)?, &device)?;
/// assert!(best.parameters().is_empty());
/// // Where it is another, the record says so.
/// let refused = records.bind(&kernel, &pipeline, &args(5000)?, &device).unwrap_err();
/// assert!(refused.message.contains("its shape class is"), "{refused}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[must_use]
pub struct TunedRecords {
    records: Vec<TunedRecord>,
}

impl TunedRecords {
    /// Reads a file that [`TunedRecords::save`] has written.
    pub fn load(path: impl AsRef<Path>) -> Result<TunedRecords, Diagnostic> {
        let path = path.as_ref();
        let failed = |e: String| {
            Diagnostic::new("tuning-record", format!("{} cannot be read: {e}", path.display()))
                .help("use a file written by `loopwright tune --record FILE`")
        };
        let text = regular(path).and_then(|()| std::fs::read(path)).map_err(|e| failed(e.to_string()))?;
        serde_json::from_slice(&text).map_err(|e| failed(e.to_string()))
    }

    /// As [`TunedRecords::load`], for a file that need not exist yet.
    pub fn load_or_new(path: impl AsRef<Path>) -> Result<TunedRecords, Diagnostic> {
        match path.as_ref().try_exists() {
            Ok(false) => Ok(TunedRecords::default()),
            _ => TunedRecords::load(path),
        }
    }

    /// Adds a record, which replaces one with the same key.
    pub fn with(mut self, record: TunedRecord) -> TunedRecords {
        self.records.retain(|r| r.key != record.key);
        self.records.push(record);
        self
    }

    /// Writes a file atomically.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Diagnostic> {
        let path = path.as_ref();
        let failed = |e: String| {
            Diagnostic::new("tuning-record", format!("{} cannot be written: {e}", path.display()))
                .help("use a file in an existing, writable folder")
        };
        let text = serde_json::to_string_pretty(self).map_err(|e| failed(e.to_string()))? + "\n";
        let mut own = path.as_os_str().to_owned();
        own.push(format!(".{}", std::process::id()));
        std::fs::write(&own, text).and_then(|()| std::fs::rename(&own, path)).map_err(|e| {
            // A partial file after a full disk is useless.
            let _ = std::fs::remove_file(&own);
            failed(e.to_string())
        })
    }

    /// The records, in the order in which they were added.
    pub fn records(&self) -> &[TunedRecord] {
        &self.records
    }

    /// The record that is valid for a kernel, a pipeline, arguments and a device. If there is none,
    /// the refusal names the fields in which the nearest one differs.
    pub fn find(
        &self,
        kernel: &LoopKernel,
        pipeline: &Pipeline,
        args: &Args,
        device: &Device,
    ) -> Result<&TunedRecord, Diagnostic> {
        let key = RecordKey::new(kernel, pipeline, args, device)?;
        self.nearest(|record| key.differences(record))
    }

    /// The only record of a kernel and a pipeline, if nothing is known about arguments and device,
    /// such as for printing.
    pub fn find_by_text(&self, kernel: &LoopKernel, pipeline: &Pipeline) -> Result<&TunedRecord, Diagnostic> {
        let texts = RecordKey::of_texts(kernel, pipeline);
        let known = |record: &RecordKey| RecordKey {
            shape_class: record.shape_class.clone(),
            data_class: record.data_class.clone(),
            device: record.device.clone(),
            driver: record.driver.clone(),
            compiler: record.compiler.clone(),
            ..texts.clone()
        };
        let fits = |r: &&TunedRecord| known(&r.key).differences(&r.key).is_empty();
        let points: Vec<_> = self.records.iter().filter(fits).filter_map(|r| r.best.first()).collect();
        if points.iter().any(|p| p.point != points[0].point) {
            let fitting = self.records.iter().filter(fits);
            let classes: Vec<String> = fitting
                .map(|r| {
                    let data = if r.key.data_class.is_empty() { "" } else { "; " };
                    format!("{}{data}{} on {}", r.key.shape_class, r.key.data_class, r.key.device)
                })
                .collect();
            return Err(Diagnostic::new(
                "record-ambiguous",
                format!("{} records match this kernel and pipeline, with different points", points.len()),
            )
            .witness(classes.join(" | "))
            .help("give the values of the parameters with -p, or `run`, which knows sizes and device"));
        }
        self.nearest(|record| known(record).differences(record))
    }

    /// The best record of a kernel whose pipeline begins with these steps, whatever was found after
    /// them: for these arguments on this device or, if nothing is known about those, the only one.
    pub fn find_beginning(
        &self,
        kernel: &LoopKernel,
        own: &Pipeline,
        known: Option<(&Args, &Device)>,
    ) -> Result<Option<&TunedRecord>, Diagnostic> {
        let key = match known {
            Some((args, device)) => RecordKey::new(kernel, own, args, device)?,
            None => RecordKey::of_texts(kernel, own),
        };
        let fits = |record: &RecordKey| {
            let begins = record.pipeline.strip_prefix(&key.pipeline);
            begins.is_some()
                && (&record.kernel, &record.library) == (&key.kernel, &key.library)
                && (known.is_none()
                    || RecordKey {
                        pipeline: key.pipeline.clone(),
                        space: key.space.clone(),
                        ..record.clone()
                    } == key)
        };
        let mut found = self.records.iter().filter(|r| fits(&r.key) && !r.best.is_empty());
        if known.is_none() {
            return Ok(found.next().filter(|_| found.next().is_none()));
        }
        // A time says more than an estimate.
        let figure = |r: &&TunedRecord| (!r.timed, r.best.first().map_or(f64::INFINITY, |p| p.milliseconds));
        Ok(found.min_by(|a, b| {
            let ((not_a, a), (not_b, b)) = (figure(a), figure(b));
            not_a.cmp(&not_b).then(a.total_cmp(&b))
        }))
    }

    fn nearest(
        &self,
        differences: impl Fn(&RecordKey) -> Vec<Difference>,
    ) -> Result<&TunedRecord, Diagnostic> {
        let all = self.records.iter().filter(|r| !r.best.is_empty()).map(|r| (differences(&r.key), r));
        let Some((differences, record)) = all.min_by_key(|(d, _)| d.len()) else {
            return Err(Diagnostic::new("record-differs", "the file contains no records")
                .help("add one with `loopwright tune --record FILE`"));
        };
        if differences.is_empty() {
            return Ok(record);
        }
        let said: Vec<String> = differences.iter().map(ToString::to_string).collect();
        let of = match self.records.len() {
            1 => "the record is".to_owned(),
            n => format!("none of {n} records is used, the nearest is"),
        };
        Err(Diagnostic::new("record-differs", format!("{of} of something else: {}", said.join("; "))).help(
            "tune again and add what is found with `loopwright tune --record FILE`, or give \
                the values of the parameters yourself",
        ))
    }

    /// The pipeline with the best point of the matching record.
    pub fn bind(
        &self,
        kernel: &LoopKernel,
        pipeline: &Pipeline,
        args: &Args,
        device: &Device,
    ) -> Result<Pipeline, Diagnostic> {
        self.find(kernel, pipeline, args, device)?.bind(pipeline)
    }
}

impl TunedRecord {
    /// The record of a pipeline without open parameters: its time on a device, or its estimate, in
    /// milliseconds.
    pub fn of_pipeline(
        kernel: &LoopKernel,
        pipeline: &Pipeline,
        args: &Args,
        device: &Device,
        milliseconds: f64,
    ) -> Result<TunedRecord, Diagnostic> {
        Ok(TunedRecord {
            key: RecordKey::new(kernel, pipeline, args, device)?,
            best: vec![TunedPoint { point: Point::default(), milliseconds }],
            timed: device.is_gpu(),
            fraction_of_limit: None,
            interrupted: false,
        })
    }

    /// Its pipeline, whose parameters are open.
    pub fn pipeline(&self) -> Result<Pipeline, Diagnostic> {
        Pipeline::parse(&self.key.pipeline)
    }

    /// The pipeline with the best point.
    pub fn bind(&self, pipeline: &Pipeline) -> Result<Pipeline, Diagnostic> {
        match self.best.first() {
            Some(best) => pipeline.bind(best.point.values().map(|(n, v)| (n.as_str(), v))),
            None => Err(Diagnostic::new("record-differs", "the record has no point")
                .help("add one with `loopwright tune --record FILE`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> RecordKey {
        RecordKey {
            kernel: "k".into(),
            pipeline: "split_iname(i, $block)\nunroll(j)\n".into(),
            space: vec!["block".into()],
            shape_class: "x: f32[1024..2047 by 16]".into(),
            data_class: "offsets: mean about 64, few empty".into(),
            device: "A".into(),
            driver: "13.0".into(),
            compiler: "nvrtc 13.0".into(),
            library: "0.1.0".into(),
        }
    }

    fn record(key: RecordKey, block: i64) -> TunedRecord {
        let point = Point::default().with("block", block);
        TunedRecord {
            key,
            best: vec![TunedPoint { point, milliseconds: 0.5 }],
            timed: true,
            fraction_of_limit: Some(0.9),
            interrupted: false,
        }
    }

    #[test]
    fn every_field_counts_and_is_named() {
        let ours = key();
        assert!(ours.differences(&key()).is_empty());
        let others: [(&str, RecordKey); 9] = [
            ("kernel", RecordKey { kernel: "other".into(), ..key() }),
            ("pipeline", RecordKey { pipeline: "split_iname(i, $block)\n".into(), ..key() }),
            ("space", RecordKey { space: vec!["block".into(), "rows".into()], ..key() }),
            ("shape class", RecordKey { shape_class: "x: f32[1024..2047]".into(), ..key() }),
            ("data class", RecordKey { data_class: "offsets: mean about 64, most empty".into(), ..key() }),
            ("device", RecordKey { device: "B".into(), ..key() }),
            ("driver", RecordKey { driver: String::new(), ..key() }),
            ("compiler", RecordKey { compiler: "nvrtc 12.9".into(), ..key() }),
            ("library", RecordKey { library: "0.2.0".into(), ..key() }),
        ];
        for (field, other) in others {
            let found: Vec<&str> = ours.differences(&other).iter().map(|d| d.field).collect();
            assert_eq!(found, [field]);
            let records = TunedRecords::default().with(record(other, 64));
            let refused = records.nearest(|r| ours.differences(r)).unwrap_err();
            assert!(refused.message.contains(&format!("its {field} is ")), "{refused}");
        }
        let pipeline =
            &ours.differences(&RecordKey { pipeline: "split_iname(i, $block)\n".into(), ..key() })[0];
        assert_eq!(pipeline.to_string(), "its pipeline is none, and here it is `unroll(j)`");
    }

    #[test]
    fn the_nearest_record_speaks_and_one_key_has_one_record() {
        let far = RecordKey { device: "B".into(), driver: "12.9".into(), ..key() };
        let near = RecordKey { driver: "13.1".into(), ..key() };
        let records = TunedRecords::default().with(record(far, 32)).with(record(near, 64));
        let refused = records.nearest(|r| key().differences(r)).unwrap_err();
        assert_eq!(
            refused.message,
            "none of 2 records is used, the nearest is of something else: its driver is `13.1`, \
             and here it is `13.0`"
        );
        let records = records.with(record(key(), 128)).with(record(key(), 256));
        assert_eq!(records.records().len(), 3);
        let found = records.nearest(|r| key().differences(r)).unwrap();
        assert_eq!(found.best[0].point.get("block"), Some(256));
    }

    #[test]
    fn classes_part_at_powers_of_two_and_alignment() {
        let classes: Vec<String> = [0, 1, 2, 3, 17, 32, 48, 63, 1 << 20].map(length_class).into();
        assert_eq!(
            classes,
            [
                "0",
                "1",
                "2..3 by 2",
                "2..3",
                "16..31",
                "32..63 by 16",
                "32..63 by 16",
                "32..63",
                "1048576..2097151 by 16"
            ]
        );
        assert_eq!(length_class(usize::MAX), format!("{}..{}", 1usize << 63, usize::MAX));
    }

    #[test]
    fn a_file_comes_back_and_a_damaged_one_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tuned.json");
        assert_eq!(TunedRecords::load_or_new(&path).expect("none yet"), TunedRecords::default());
        let records = TunedRecords::default().with(record(key(), 64));
        records.save(&path).expect("writes");
        assert_eq!(TunedRecords::load(&path).expect("reads"), records);
        let whole = std::fs::read(&path).expect("reads");
        assert!(whole.len() < 1000, "small: {} bytes", whole.len());
        std::fs::write(&path, &whole[..whole.len() / 2]).expect("writes");
        for refused in [TunedRecords::load(&path), TunedRecords::load_or_new(&path)] {
            assert_eq!(refused.unwrap_err().code, "tuning-record");
        }
        assert_eq!(records.save(folder.path().join("no/where.json")).unwrap_err().code, "tuning-record");
        let left: Vec<_> = std::fs::read_dir(folder.path()).expect("lists").collect();
        assert_eq!(left.len(), 1, "nothing is left beside the file");
    }
}
