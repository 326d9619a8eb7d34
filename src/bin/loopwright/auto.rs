//! `auto`

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args as ClapArgs;
use loopwright::{
    auto::{auto_for, auto_with_witnesses, search_for},
    prelude::*,
    runtime::check_scalars,
    tuner::{Machine, Times, TunedRecord, estimate},
};

use crate::arguments::{Arguments, count, whole};
use crate::input::{self, Completed, Failure, Form};
use crate::{interrupt, records, report};

/// The options of `loopwright auto`. Sizes of the arguments, if they are given, say for which
/// launch steps are found.
#[derive(ClapArgs)]
pub struct Auto {
    #[command(flatten)]
    pub form: Form,
    /// Also show what was proposed and refused before, with the refusals.
    #[arg(long)]
    refused: bool,
    /// Take the cheapest of this many pipelines, instead of what the rules put first: by their
    /// times with `--device gpu`, otherwise by their estimated times on an H200. For an estimate
    /// each runs on the emulator for the given arguments, which should be of moderate size. Arrays
    /// that are not given are random.
    #[arg(long, value_parser = count, value_name = "N")]
    search: Option<usize>,
    /// Where the pipelines of a search are compared: `gpu`, `emulator`, or `best`, which is a GPU
    /// if there is one.
    #[arg(long, default_value = "emulator", requires = "search")]
    device: String,
    /// Number of launches of each pipeline that is timed, whose median counts.
    #[arg(long, value_parser = whole::<usize>, value_name = "N", default_value_t = 20, requires = "search")]
    launches: usize,
    /// Add what a search finds to this file of records, from which `--record` takes it for launches
    /// of this kind on the same device.
    #[arg(long, value_name = "FILE", requires = "search")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    arguments: Arguments,
}

impl Auto {
    /// Runs the command `loopwright auto`.
    pub fn auto(&self) -> Result<(), Failure> {
        if self.search.is_none() && !self.refused {
            let declared = self.form.declared()?;
            // What is wrong with arguments is said; those that are missing are not known.
            check_scalars(&declared, &self.arguments.args(&declared, false)?)?;
            let launch = input::launch(&declared, &self.arguments, None);
            let form = Form { launch: launch.clone(), ..self.form.clone() };
            let Completed { own, begun, found } = form.found()?;
            let found = found.with_wishes_tried(&begun, &Target::default(), &launch);
            return report::say(&format!("{own}{found}"));
        }
        // Before anything that takes long, so that an interrupt is always answered.
        let interrupted = match self.search {
            Some(_) => interrupt::ends(
                "interrupted: the best so far follows when the pipeline that is counted now is done; another \
                 interrupt ends at once",
            ),
            None => Arc::default(),
        };
        // The pipeline alone: `--auto` changes nothing here. Sizes of -p are those of what the
        // rules put first.
        let given = Form { auto: false, ..self.form.clone() }.pipeline()?;
        // An error in the file is told before the search.
        self.keep.as_deref().map_or(Ok(()), records::keeps_records)?;
        let begun = given.apply(&self.form.declared()?)?;
        let (found, note, cut) = match self.search {
            None => {
                check_scalars(&begun, &self.arguments.args(&begun, false)?)?;
                let launch = input::launch(&begun, &self.arguments, None);
                let target = Target::default();
                let found = auto_with_witnesses(&begun, &target, &launch);
                (found.with_wishes_tried(&begun, &target, &launch), String::new(), false)
            }
            Some(most) => self.searched(&begun, &given, most, &interrupted)?,
        };
        let text = if self.refused { format!("{found:#}") } else { found.to_string() };
        report::say(&format!("{given}{note}{text}"))?;
        if cut {
            interrupt::end();
        }
        Ok(())
    }

    /// The cheapest of at most `most` pipelines, a comment that says what it costs, and whether an
    /// interrupt has ended the search.
    fn searched(
        &self,
        begun: &LoopKernel,
        given: &Pipeline,
        most: usize,
        interrupted: &AtomicBool,
    ) -> Result<(loopwright::auto::Found, String, bool), Failure> {
        let phase = report::Phase::begin("searching");
        let args = self.arguments.args(begun, true)?;
        let device = input::device(&self.device)?;
        let machine = Machine::h200();
        let measure = |kernel: &LoopKernel| match device.is_gpu() {
            true => median(&device, kernel, &args, self.launches),
            false => Ok(estimate(kernel, &args, &machine)?.estimate_ms),
        };
        // What cannot be run for these arguments at all is not a candidate, and says why.
        let launch = input::launch(begun, &self.arguments, Some(&device));
        measure(&auto_for(begun, &Target::default(), &launch).kernel)?;
        let is_over = || interrupted.load(Ordering::SeqCst);
        let mut cost = |kernel: &LoopKernel| measure(kernel).ok();
        let searched = search_for(begun, &Target::default(), &launch, most, &mut || !is_over(), &mut cost);
        drop(phase);
        let declared = self.form.declared()?;
        if let (Some(path), Some(ms)) = (&self.keep, searched.cost) {
            let pipeline = given.clone().then(&searched.found.pipeline);
            let mut record = TunedRecord::of_pipeline(&declared, &pipeline, &args, &device, ms)?;
            record.interrupted = searched.is_cut_short;
            TunedRecords::load_or_new(path)?.with(record).save(path)?;
        }
        let ms = |cost: Option<f64>| cost.map_or("unknown".to_string(), |ms| format!("{ms:.4} ms"));
        let (how, on, what) = match device.is_gpu() {
            true => ("timed on", device.name().to_string(), "timed"),
            false => ("estimated for", machine.device, "counted"),
        };
        let note = format!(
            "# {how} {on}: {}, by the rules alone {}; pipelines {what}: {}{}\n",
            ms(searched.cost),
            ms(searched.by_rules),
            searched.candidates,
            match searched.is_cut_short {
                true => format!(" of {most}, as far as the search came; the same command begins again"),
                false => String::new(),
            }
        );
        Ok((searched.found, note, searched.is_cut_short))
    }
}

/// The median time of so many launches, in milliseconds.
fn median(device: &Device, kernel: &LoopKernel, args: &Args, launches: usize) -> Result<f64, Diagnostic> {
    let times = Times::of(device.compile(kernel)?.bind(args)?.time(launches.max(1))?);
    Ok(times.map_or(f64::INFINITY, |times| times.median))
}
