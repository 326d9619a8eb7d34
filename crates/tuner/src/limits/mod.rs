//! The fraction of the memory's limit that the best points of several searches reach, over a size.
//!
//! A search is for one shape. Its log, or the [`Tuning`] itself, has the times of its points and
//! the lower bound of the memory; the report compares several searches:
//!
//! 1. Records of one kernel, pipeline, problem and machine are one search; the last record of a
//!    point counts, as in a log that is resumed.
//! 2. Searches that agree in everything but sizes are one [`Series`], drawn as one line. Results
//!    for another kernel, pipeline, type, device, driver, compiler or version of this library are
//!    never mixed with it, and the labels say how the series differ.
//! 3. The size along which they are shown is the only integer argument in which they differ, or the
//!    one that is named, or a quotient of two: `n/nseg` is the mean length of segments. A series
//!    with several shapes of one such size is split by the other sizes; one with the same shape
//!    from several logs is split by log.
//!
//! A search without times shows the estimate of its best point, which is marked as such and never
//! connected to measured points. The best of a log is the point with the least median: the
//! alternation of the finalists is not in the log.

mod by;
mod page;
mod searches;
mod series;
mod table;

use std::collections::BTreeMap;
use std::path::Path;

use loopwright_kernel_ir::{Diagnostic, Name};

use by::By;
pub(crate) use searches::of_logs;

use crate::{Bottleneck, Key, Point, Tuning, basis};

/// A report of several searches.
///
/// ```
/// use loopwright_kernel_ir::{DType, LoopKernel};
/// use loopwright_runtime::{Args, Device, Tensor};
/// use loopwright_transforms::Pipeline;
/// use loopwright_tuner::{LimitReport, Space, Tuner};
///
/// let kernel = LoopKernel::parse("\
/// kernel row_sum(x: f32[n, len], out: f32[n], n: i32, len: i32)
/// assume 0 <= n and 0 <= len
/// domain { [s] : 0 <= s < n }
/// domain { [i] : 0 <= i < len }
/// out[s] = sum(i, x[s, i])
/// ")?;
/// let pipeline = Pipeline::parse("split_iname(i, $lanes)\ntag_inames(s: block.x, i_inner: thread.x)")?;
/// let space = Space::parse("lanes in [32, 128]")?;
/// let device = Device::emulator();
///
/// let mut tunings = Vec::new();
/// for len in [16, 64, 256] {
///     let args = Args::new().tensor("x", &Tensor::random(&[64, len], DType::F32, 1)?);
///     tunings.push(Tuner::new(&device, &kernel, &pipeline, &space, &args).run()?);
/// }
/// // Of logs: `LimitReport::read(["short.jsonl", "long.jsonl"], None)`.
/// let report = LimitReport::of(&tunings, None)?;
/// assert_eq!(report.by(), "len");
/// println!("{}", report.table());
/// let page: String = report.html();
/// let best = report.series()[0].shapes[2].best.as_ref().expect("a legal point");
/// assert!(!best.measured && best.fraction < 1.0);
/// # assert!(page.contains("</html>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LimitReport {
    by: By,
    series: Vec<Series>,
    /// Sizes common to all shapes.
    fixed: BTreeMap<Name, i64>,
}

/// Searches that differ in sizes alone: a line of the plot.
#[derive(Clone, Debug)]
pub struct Series {
    /// What distinguishes it from the others.
    pub label: String,
    /// What its searches depend on; the problem is that of the first.
    pub key: Key,
    /// The text of the declared kernel; empty in old logs.
    pub declared: String,
    /// The machine for which its costs are an estimate, from
    /// [`Record::basis`](crate::Record::basis); empty in old logs.
    pub machine: String,
    /// The searched shapes, ordered by size.
    pub shapes: Vec<Reached>,
}

/// The result of a search for one shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// The size along which it is shown.
    pub size: f64,
    /// All integer arguments of the shape, by name.
    pub sizes: BTreeMap<Name, i64>,
    /// The best point; none if no point is legal.
    pub best: Option<Best>,
    /// Number of points timed.
    pub timed: usize,
    /// Number of points counted but not timed.
    pub counted: usize,
    /// Number of points refused or with wrong results.
    pub failed: usize,
}

/// The best point of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// The values of the pipeline's parameters.
    pub point: Point,
    /// Its measured or estimated time, in milliseconds.
    pub milliseconds: f64,
    /// Whether that time was measured.
    pub measured: bool,
    /// The least time in which the memory moves what must move, over the time of the point; more
    /// than 1 where caches held data.
    pub fraction: f64,
    /// The memory's limit, in bytes per second.
    pub bandwidth: f64,
    /// The resource that dominates its estimate.
    pub bottleneck: Bottleneck,
}

impl LimitReport {
    /// The report of logs, along a size such as `len` or `n/nseg`, or the only one in which they
    /// differ.
    pub fn read<P: AsRef<Path>>(
        logs: impl IntoIterator<Item = P>,
        by: Option<&str>,
    ) -> Result<LimitReport, Diagnostic> {
        let paths: Vec<P> = logs.into_iter().collect();
        let paths: Vec<&Path> = paths.iter().map(AsRef::as_ref).collect();
        LimitReport::new(searches::of_logs(&paths)?, by)
    }

    /// The report of searches in memory; the best points are those named by the alternation of the
    /// finalists.
    pub fn of<'t>(
        tunings: impl IntoIterator<Item = &'t Tuning>,
        by: Option<&str>,
    ) -> Result<LimitReport, Diagnostic> {
        LimitReport::new(tunings.into_iter().enumerate().map(searches::of_tuning).collect(), by)
    }

    fn new(searches: Vec<searches::Search>, by: Option<&str>) -> Result<LimitReport, Diagnostic> {
        let by = by::size_to_show_by(&searches, by)?;
        let fixed = by::fixed_sizes(&searches);
        let failed = searches.iter().filter(|s| s.reached(by.of(&s.sizes)).best.is_none()).count();
        if failed == searches.len() {
            return Err(Diagnostic::new(
                "report-empty",
                format!("no point of the {failed} searches has a figure: all are refused or wrong"),
            )
            .help("see the table of `loopwright tune` for the reason of each point"));
        }
        let series = series::group(searches, &by);
        Ok(LimitReport { by, series, fixed })
    }

    /// The size along which the searches are shown, inferred or named: `len`, `n/nseg`.
    pub fn by(&self) -> &str {
        self.by.as_str()
    }

    /// The lines of the plot, a series of searches each.
    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// The sizes of a shape that differ between shapes, the one on the x axis first.
    fn shape(&self, reached: &Reached) -> String {
        let others =
            reached.sizes.iter().filter(|(n, _)| n.as_str() != self.by() && !self.fixed.contains_key(*n));
        let mut text = format!("{}={}", self.by(), by::written(reached.size));
        others.for_each(|(name, value)| text.push_str(&format!(" {name}={value}")));
        text
    }

    /// The sizes common to all shapes, without the one on the x axis: `n=4 m=7`.
    fn everywhere(&self) -> Option<String> {
        let parts: Vec<String> = self
            .fixed
            .iter()
            .filter(|(n, _)| n.as_str() != self.by())
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }
}

impl Series {
    fn bests(&self) -> impl Iterator<Item = &Best> {
        self.shapes.iter().filter_map(|s| s.best.as_ref())
    }

    /// The memory's limit to which the fractions refer, and where it comes from; none if no point
    /// has a figure.
    fn limit(&self) -> Option<String> {
        let bandwidths = self.bests().map(|b| b.bandwidth / 1e12);
        let (low, high) = bandwidths.fold((f64::INFINITY, 0.0f64), |(l, h), b| (l.min(b), h.max(b)));
        // It is measured again for each search.
        let (low, high) = (format!("{low:.2}"), format!("{high:.2}"));
        let rate = if low == high { format!("{low} TB/s") } else { format!("{low} to {high} TB/s") };
        let known = match self.machine.as_str() {
            // Unknown in old logs.
            "" => "",
            machine if basis::is_measured(machine) => ", measured",
            machine if basis::device(machine) == basis::EMULATED => ", assumed",
            _ => ", as described",
        };
        self.bests().next().map(|_| format!("{rate}{known}"))
    }

    /// Whether none, all or some of it was measured.
    fn measured(&self) -> Measured {
        match (self.bests().any(|b| b.measured), self.bests().any(|b| !b.measured)) {
            (true, false) => Measured::All,
            (true, true) => Measured::Some,
            (false, _) => Measured::None,
        }
    }
}

/// How much of a series was measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Measured {
    All,
    Some,
    None,
}

impl Measured {
    /// A note for the reader, if needed.
    fn note(self) -> Option<&'static str> {
        match self {
            Measured::All => None,
            Measured::Some => Some("partly estimated by the counts: some shapes were not timed"),
            Measured::None => Some("estimated by the counts: nothing was timed"),
        }
    }
}
