//! `auto`

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args as ClapArgs;
use loopwright::{
    auto::{auto_for, auto_with_witnesses, search_for},
    prelude::*,
    tuner::{Machine, estimate},
};

use crate::arguments::{Arguments, count};
use crate::input::{self, Completed, Failure, Form};
use crate::{interrupt, report};

/// The options of `loopwright auto`. Sizes of the arguments, if they are given, say for which
/// launch steps are found.
#[derive(ClapArgs)]
pub struct Auto {
    #[command(flatten)]
    pub form: Form,
    /// Also show what was proposed and refused before, with the refusals.
    #[arg(long)]
    refused: bool,
    /// Take the cheapest of this many pipelines by their estimated time on an H200, instead of what
    /// the rules put first. Each runs on the emulator for the given arguments, which should be of
    /// moderate size; arrays that are not given are random.
    #[arg(long, value_parser = count, value_name = "N")]
    search: Option<usize>,
    #[command(flatten)]
    arguments: Arguments,
}

impl Auto {
    /// Runs the command `loopwright auto`.
    pub fn auto(&self) -> Result<(), Failure> {
        if self.search.is_none() && !self.refused {
            let declared = self.form.declared()?;
            // What is wrong with arguments is said; those that are missing are not known.
            let _ = self.arguments.args(&declared, false)?;
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
        let begun = given.apply(&self.form.declared()?)?;
        let (found, note, cut) = match self.search {
            None => {
                let launch = input::launch(&begun, &self.arguments, None);
                let target = Target::default();
                let found = auto_with_witnesses(&begun, &target, &launch);
                (found.with_wishes_tried(&begun, &target, &launch), String::new(), false)
            }
            Some(most) => self.searched(&begun, most, &interrupted)?,
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
        most: usize,
        interrupted: &AtomicBool,
    ) -> Result<(loopwright::auto::Found, String, bool), Failure> {
        let phase = report::Phase::begin("searching");
        let args = self.arguments.args(begun, true)?;
        let machine = Machine::h200();
        // What cannot be run for these arguments at all is not a candidate, and says why.
        let launch = input::launch(begun, &self.arguments, None);
        estimate(&auto_for(begun, &Target::default(), &launch).kernel, &args, &machine)?;
        let is_over = || interrupted.load(Ordering::SeqCst);
        let mut cost = |kernel: &LoopKernel| Some(estimate(kernel, &args, &machine).ok()?.estimate_ms);
        let searched = search_for(begun, &Target::default(), &launch, most, &mut || !is_over(), &mut cost);
        drop(phase);
        let ms = |cost: Option<f64>| cost.map_or("unknown".to_string(), |ms| format!("{ms:.4} ms"));
        let note = format!(
            "# estimated for {}: {}, by the rules alone {}; pipelines counted: {}{}\n",
            machine.device,
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
