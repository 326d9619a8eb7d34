//! `tune`

use std::path::{Path, PathBuf};
use std::sync::{Arc, atomic::Ordering};
use std::time::Duration;

use clap::Args as ClapArgs;
use indicatif::{ProgressBar, ProgressStyle};
use loopwright::auto::Launch;
use loopwright::prelude::*;
use loopwright::runtime::{check_facts, expected_arrays};
use loopwright::tuner::{BinaryFolder, Phase, Progress, Space, Strategy, Tuner};

use crate::arguments::{Arguments, whole};
use crate::files;
use crate::input::{self, Failure};
use crate::places::line_about;
use crate::{interrupt, records, replay, report};

/// The options of `loopwright tune`.
#[derive(ClapArgs)]
pub struct Tune {
    /// The kernel's file.
    kernel: Option<String>,
    /// The pipeline's file, with open parameters.
    pipeline: Option<String>,
    /// The space's file: `name in [1, 2, 4]`, `name in powers(32, 1024)`, `require CONDITION`.
    space: Option<String>,
    /// Find steps for the kernel, or for what the pipeline leaves open, and search their sizes:
    /// tile sizes, widths of blocks, results in flight. The pipeline and its space are written to
    /// standard error. `run --record` finds them again.
    #[arg(long, conflicts_with_all = ["replay", "space"])]
    auto: bool,
    /// A value for an open parameter of the pipeline that is not searched, such as `block=256`.
    #[arg(short = 'p', long = "parameter", value_name = "NAME=INTEGER", conflicts_with = "replay")]
    parameters: Vec<String>,
    #[command(flatten)]
    called: input::Called,
    #[command(flatten)]
    arguments: Arguments,
    /// A scalar of the smaller problem on which candidates are checked and counted, such as
    /// `n=1000`; scalars that are not given are those of the problem. Its arrays are random except
    /// those of --sample-input.
    #[arg(long, value_name = "NAME=VALUE")]
    sample: Vec<String>,
    /// An array of that smaller problem from a .npy file, such as `offsets=few.npy`, in place of
    /// that of --input: if times depend on the contents of an array, fewer elements of the same
    /// kind.
    #[arg(long, value_name = "NAME=FILE")]
    sample_input: Vec<String>,
    /// `exhaustive`, `random` or `guided`: which points are timed or, on the emulator, which are
    /// counted. --seed applies to these too.
    #[arg(long, default_value = "exhaustive")]
    strategy: String,
    /// Number of points for the random and the guided strategy; by default a fifth of the space.
    #[arg(long, value_parser = whole::<usize>, value_name = "N")]
    points: Option<usize>,
    /// Stop after this many seconds, with what was found. This includes the results of the declared
    /// kernel, which are computed first: give a small --sample.
    #[arg(long, value_name = "SECONDS")]
    budget: Option<f64>,
    /// Keep outcomes in this file, and resume from those it holds.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Write an HTML page with plots. This file and those of the two next options are also written
    /// by a search that is interrupted, with the best so far, and say so.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the pipeline with the best values.
    #[arg(long, value_name = "FILE")]
    best: Option<PathBuf>,
    /// Add what was found to this file of records, which `run --record` and `cuda --record` take
    /// values from.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Check and count candidates, compile them in parallel into this folder, print them by their
    /// static cost, and stop: for `--measure` on a machine with a GPU. No GPU is needed here.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["measure", "log", "html", "best", "record"])]
    compile_only: Option<PathBuf>,
    /// The architecture that `--compile-only` compiles for, such as sm_90a; by default this
    /// machine's GPU.
    #[arg(long, value_name = "ARCH", requires = "compile_only")]
    arch: Option<String>,
    /// Check and time the binaries in a folder of `--compile-only`, without the compiler. The
    /// kernel, the pipeline and the sizes have to be those that the folder was made with.
    #[arg(long, value_name = "FOLDER")]
    measure: Option<PathBuf>,
    /// Instead of searching, show what --strategy with --points and --seed would have found in the
    /// searches of this log of --log, against the best of all their points. Neither a device nor a
    /// kernel is needed.
    #[arg(long, value_name = "LOG", conflicts_with_all = ["kernel", "log", "html", "best", "record", "compile_only", "measure", "budget"])]
    replay: Option<PathBuf>,
    /// Number of launches per median; three for points that take over twice the best time so far.
    #[arg(long, value_parser = whole::<usize>, value_name = "N", default_value_t = 20)]
    launches: usize,
    /// Leave out points whose bodies have more statements than this after unrolling: the compiler
    /// would take long.
    #[arg(long, value_parser = whole::<usize>, value_name = "N", default_value_t = 6000)]
    most_statements: usize,
    /// The device: `gpu`, `emulator`, or `best`, which is a GPU if there is one.
    #[arg(long, default_value = "best")]
    device: String,
}

impl Tune {
    fn strategy(&self, points: usize) -> Result<Strategy, Failure> {
        let points = self.points.unwrap_or(points.div_ceil(5));
        let seed = self.arguments.seed;
        let strategy = match self.strategy.as_str() {
            "exhaustive" => Strategy::Exhaustive,
            "random" => Strategy::Random { points, seed },
            "guided" => Strategy::Guided { points, seed },
            other => {
                return Err(Diagnostic::new("strategy", format!("there is no strategy `{other}`"))
                    .help("write exhaustive, random or guided")
                    .into());
            }
        };
        strategy.check()?;
        if strategy == Strategy::Exhaustive && self.points.is_some() {
            return Err(Diagnostic::new(
                "strategy",
                "the exhaustive strategy takes all points and ignores `--points`",
            )
            .help("write `--strategy random` or `--strategy guided`, or leave `--points` out")
            .into());
        }
        Ok(strategy)
    }

    /// The smaller problem, if there is one: the scalars and arrays of the problem, with some
    /// replaced.
    fn sample(&self, kernel: &LoopKernel) -> Result<Option<Args>, Failure> {
        if self.sample.is_empty() && self.sample_input.is_empty() {
            return Ok(None);
        }
        let set = replaced(&self.arguments.set, &self.sample)?;
        let inputs = replaced(&self.arguments.inputs, &self.sample_input)?;
        let whole = inputs.iter().find(|i| !self.sample_input.contains(i)).cloned();
        let arguments = Arguments { set, inputs, ..self.arguments.clone() };
        let made =
            arguments.args(kernel, true).and_then(|args| Ok(check_facts(kernel, &args).map(|()| args)?));
        match (made, whole) {
            // An array of the problem rarely fits a smaller one.
            (Err(Failure::Input(refusals)), Some(whole)) => {
                let (name, _) = input::pair(&whole)?;
                let help = format!(
                    "the sample has the problem's `{name}`: give fewer elements with \
                     `--sample-input {name}=FILE`"
                );
                Err(Failure::Input(refusals.into_iter().map(|d| d.help(&help)).collect()))
            }
            (made, _) => made.map(Some),
        }
    }

    /// The launch that steps are found for: that of the problem, as far as the smaller one agrees,
    /// on which candidates have to run as well.
    fn launch(&self, kernel: &LoopKernel, device: &Device) -> Result<Launch, Failure> {
        let mut launch = input::launch(kernel, &self.arguments, Some(device));
        if !self.sample.is_empty() || !self.sample_input.is_empty() {
            let set = replaced(&self.arguments.set, &self.sample)?;
            let inputs = replaced(&self.arguments.inputs, &self.sample_input)?;
            let small = Arguments { set, inputs, ..self.arguments.clone() };
            let small = input::launch(kernel, &small, Some(device)).integers;
            launch.integers.retain(|name, value| small.get(name) == Some(value));
        }
        Ok(launch)
    }

    /// The architecture to compile for.
    fn arch(&self, device: &Device) -> Result<Arch, Failure> {
        match &self.arch {
            Some(arch) => input::arch(arch),
            None if device.is_gpu() => Ok(device.limits().arch()),
            None => Err(Diagnostic::new("arch", "there is no GPU here that determines the architecture")
                .help("give the architecture, as in `--arch sm_90a`")
                .into()),
        }
    }

    /// The pipeline of the file, if there is one, with the values of -p.
    fn own_pipeline(&self) -> Result<Pipeline, Failure> {
        let open = self.pipeline.as_deref().map_or_else(|| Ok(Pipeline::new()), input::read_pipeline)?;
        let values = input::parameters(&self.parameters)?;
        Ok(open.bind(values.iter().map(|(name, value)| (name.as_str(), *value)))?)
    }

    /// Refuses files that cannot be read or written as they are meant, before the search.
    fn check_files(&self, kernel: &str) -> Result<(), Failure> {
        let own = [("the pipeline", &self.pipeline), ("the space", &self.space)];
        let own = own.into_iter().filter_map(|(what, file)| Some((what, file.as_deref()?)));
        let read: Vec<_> = [("the kernel", kernel)].into_iter().chain(own).collect();
        files::standard_input_once(read.iter().map(|(_, file)| *file))?;
        let given = self.arguments.inputs.iter().chain(&self.sample_input);
        let arrays = given.map(|given| Ok(("an input", input::pair(given)?.1)));
        let arrays = arrays.collect::<Result<Vec<_>, Failure>>()?;
        let options = [
            ("--log", &self.log),
            ("--html", &self.html),
            ("--best", &self.best),
            ("--record", &self.record),
        ];
        let written = options.into_iter().filter_map(|(option, file)| {
            let file = file.as_deref()?;
            Some((format!("{option} {}", file.display()), file))
        });
        files::distinct(&written.collect::<Vec<_>>(), read.into_iter().chain(arrays))?;
        [&self.html, &self.best].into_iter().flatten().try_for_each(|path| files::writable(path))?;
        self.record.as_deref().map_or(Ok(()), records::keeps_records)
    }

    /// Runs the command `loopwright tune`.
    pub fn run(&self) -> Result<(), Failure> {
        // The number of points depends on the search; errors in the options do not.
        let known = self.strategy(1)?;
        if let Some(log) = &self.replay {
            return replay::print(log, |points| self.strategy(points).unwrap_or(known));
        }
        let missing = || {
            Failure::from(
                Diagnostic::new("option", "a search needs a kernel, a pipeline and a space")
                    .help("give the three files, in this order; or the kernel and `--auto`, which finds a pipeline and its space"),
            )
        };
        let Some(kernel) = &self.kernel else { return Err(missing()) };
        if !self.auto && (self.pipeline.is_none() || self.space.is_none()) {
            return Err(missing());
        }
        self.check_files(kernel)?;
        let kernel = input::kernel(kernel, &self.called)?;
        // A large space takes its time, too.
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("{msg:>9} {wide_bar} {pos}/{len} {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(report::TICK);
        // What is to be written is written of what there is; otherwise an interrupt ends at once.
        let writes = [&self.html, &self.best, &self.record].iter().any(|file| file.is_some());
        let (state, interrupted) = match writes {
            true => (None, interrupt::ends(WRITES)),
            false => (Some(interrupt::tell(&bar, self.log.as_deref())), Arc::default()),
        };
        bar.set_message("space");
        let device = input::device(&self.device)?;
        let (pipeline, space) = match (&self.pipeline, &self.space) {
            _ if self.auto => automatic(&kernel, self.own_pipeline()?, &self.launch(&kernel, &device)?)?,
            (_, Some(space)) => (self.own_pipeline()?, input::space(space)?),
            _ => return Err(missing()),
        };
        space.check(&pipeline).map_err(|mut refusal| {
            let text = self.space.as_ref().and_then(|file| Some((file, files::text(file)?)));
            let place = text.and_then(|(file, text)| line_about(&refusal, &files::origin(file), &text));
            refusal.place = place;
            refusal
        })?;
        let points = space.points()?.len();
        let strategy = self.strategy(points)?;
        let sample = self.sample(&kernel)?;
        // Without a GPU nothing runs on the problem itself, whose arrays may be large: only its
        // shapes are needed.
        let fill = (device.is_gpu() && self.compile_only.is_none()) || sample.is_none();
        bar.set_length(points as u64);
        bar.set_message("arguments");
        let args = self.arguments.args(&kernel, fill)?;
        // Candidates rely on the declared facts, and may read anywhere if one does not hold.
        check_facts(&kernel, &args)?;
        let budget = match self.budget {
            Some(s) => Some(
                Duration::try_from_secs_f64(s)
                    .map_err(|_| Diagnostic::new("option", format!("`{s}` is not a number of seconds")))?,
            ),
            None => None,
        };

        let mut tuner = Tuner::new(&device, &kernel, &pipeline, &space, &args)
            .strategy(strategy)
            .launches(self.launches)
            .most_statements(self.most_statements)
            .stop_when(|| interrupted.load(Ordering::SeqCst))
            .on_progress(|p: &Progress| {
                if let Some(state) = &state {
                    state.set(p);
                }
                bar.set_length(p.of as u64);
                bar.set_position(p.done as u64);
                bar.set_message(phase(p.phase));
            });
        if let Some(sample) = &sample {
            tuner = tuner.sample(sample).scale(scale(&kernel, &args, sample)?);
        }
        let size = tuner.sample_size()?;
        if sample.is_none() && (size > LARGE || size * points as f64 > LARGE_SEARCH) {
            report::note(&format!(
                "note: the reference and every point process the whole problem on the CPU, which \
                 takes long; give a smaller one for checks and counts, as in `--sample {}`",
                smaller(&kernel, &args)?
            ));
        }
        // Several pipelines of one kernel are distinguished by their files.
        let file = self.pipeline.as_deref().filter(|file| *file != "-");
        match file.and_then(|file| Path::new(file).file_stem()) {
            Some(name) => tuner = tuner.name(name.to_string_lossy()),
            None if self.auto => tuner = tuner.name("auto"),
            None => {}
        }
        if let Some(budget) = budget {
            tuner = tuner.budget(budget);
        }
        if let Some(log) = &self.log {
            tuner = tuner.log(log);
        }
        if let Some(folder) = &self.compile_only {
            let made = tuner.compile_only(folder, self.arch(&device)?)?;
            bar.finish_and_clear();
            report::say(&format!(
                "{} candidates compiled in {:.1} s on {} threads, {} refused; {:.1} s counting\n{}",
                made.compiled,
                made.compiling.as_secs_f64(),
                std::thread::available_parallelism().map_or(1, usize::from),
                made.refused,
                made.counting.as_secs_f64(),
                made.tuning.table()
            ))?;
            return Ok(());
        }
        if let Some(folder) = &self.measure {
            tuner = tuner.binaries(BinaryFolder::open(folder)?);
        }
        let tuning = tuner.run()?;
        bar.finish_and_clear();
        report::say_table(&tuning.table())?;
        if let Some(path) = &self.html {
            let printed = match tuning.best_point() {
                Some(best) => printed(&kernel, &pipeline, best, &args)?,
                None => String::new(),
            };
            let declared = kernel.declared().to_string();
            let mut texts = vec![("The kernel", declared.as_str())];
            if !printed.is_empty() {
                texts.push(("CUDA C of the best point", &printed));
            }
            files::write(path, &tuning.page(&format!("Made on {}", report::now()), &texts))?;
        }
        if let (Some(path), Some(best)) = (&self.best, tuning.best_point()) {
            let bound = pipeline.bind(best.values().map(|(n, v)| (n.as_str(), v)))?;
            let device = &tuning.key.device;
            let cut = match tuning.interrupted {
                true => "# The search was interrupted: there may be better points.\n",
                false => "",
            };
            files::write(path, &format!("# Tuned on {device}: {best}\n{cut}{bound}"))?;
        }
        if let (Some(path), Some(record)) = (&self.record, tuning.record()) {
            TunedRecords::load_or_new(path)?.with(record).save(path)?;
        }
        if tuning.interrupted {
            if let Some(log) = &self.log {
                report::note(&interrupt::kept(log));
            }
            interrupt::end();
        }
        // The table says why there is none.
        if tuning.why_none().is_some() { Err(Failure::Told) } else { Ok(()) }
    }
}

/// What the first interrupt of a search says that writes files.
const WRITES: &str = "interrupted: the table and the files follow when the points that are looked at now are \
                      done; another interrupt ends at once";

/// The pipeline that is found for a kernel after a user's steps, and the space of its sizes.
fn automatic(kernel: &LoopKernel, own: Pipeline, launch: &Launch) -> Result<(Pipeline, Space), Failure> {
    let automatic = input::Automatic::of(kernel, own, launch)?;
    let open = automatic.open();
    let reasons = automatic.found.decisions.iter().flat_map(|d| d.lines());
    let reasons: String = reasons.map(|line| format!("# {line}\n")).collect();
    report::note(format!("{reasons}{open}# The space:\n{}", automatic.sizes).trim_end());
    if automatic.sizes.sizes.is_empty() {
        return Err(Diagnostic::new("option", "the steps that were found have no sizes to be searched")
            .help("`loopwright auto` prints them; write a pipeline with open parameters, and its space")
            .into());
    }
    Ok((open, Space::parse(&automatic.sizes.to_string())?))
}

/// The CUDA C of a point, for these arguments.
pub fn printed(
    kernel: &LoopKernel,
    pipeline: &Pipeline,
    point: &loopwright::tuner::Point,
    args: &Args,
) -> Result<String, Failure> {
    let bound = pipeline.bind(point.values().map(|(n, v)| (n.as_str(), v)))?;
    let options = CompileOptions::default();
    let printed = loopwright::runtime::print_for(&bound.apply(kernel)?, args, &options)?;
    Ok(format!("{}{}", loopwright::host_code::heading(&printed.program), printed.source.text))
}

/// The name of a phase, in a word.
pub fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Reference => "reference",
        Phase::Counting => "counting",
        Phase::Timing => "timing",
        Phase::Finals => "finals",
    }
}

/// The number of instruction executions beyond which a search on the problem itself takes long:
/// seconds for the reference and for each point.
const LARGE: f64 = (1 << 20) as f64;

/// The same for all points together, where each takes little: half a minute.
const LARGE_SEARCH: f64 = (1 << 28) as f64;

/// The largest integer argument with a smaller value, as an option.
fn smaller(kernel: &LoopKernel, args: &Args) -> Result<String, Failure> {
    let integers = loopwright::runtime::known(kernel.declared(), args)?.integers;
    let largest = integers.into_iter().max_by_key(|(_, value)| *value);
    Ok(largest.map_or_else(|| "NAME=VALUE".to_owned(), |(name, _)| format!("{name}=VALUE")))
}

/// `name=value` options, where `others` replace those of the same names.
fn replaced(all: &[String], others: &[String]) -> Result<Vec<String>, Failure> {
    let names = others.iter().map(|o| Ok(input::pair(o)?.0)).collect::<Result<Vec<_>, Failure>>()?;
    let mut result = others.to_vec();
    for given in all {
        if !names.contains(&input::pair(given)?.0) {
            result.push(given.clone());
        }
    }
    Ok(result)
}

/// The bytes of the problem's arrays over those of the sample's.
fn scale(kernel: &LoopKernel, args: &Args, sample: &Args) -> Result<f64, Failure> {
    let bytes = |args: &Args| -> Result<f64, Failure> {
        let arrays = expected_arrays(kernel, args)?;
        Ok(arrays.values().map(|(t, shape)| (t.bytes() * shape.iter().product::<usize>()) as f64).sum())
    };
    let (all, part) = (bytes(args)?, bytes(sample)?);
    Ok(if part > 0.0 { all / part } else { 1.0 })
}
