//! What an interrupted search says: how far it was, what was best, and how to continue.

use std::path::Path;
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use indicatif::ProgressBar;
use loopwright::tuner::Progress;
use signal_hook::{consts::SIGINT, iterator::Signals, low_level::exit};

use crate::{report, tune};

/// The progress of the search that would be interrupted.
#[derive(Clone)]
pub struct State(Arc<Mutex<Option<Progress>>>);

impl State {
    /// Takes note of progress.
    pub fn set(&self, progress: &Progress) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress.clone());
    }
}

/// Lets the first interrupt end a search after the candidate that it is at, with what it has found,
/// and the second one end the process. The flag says that there was one.
pub fn ends(said: &'static str) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let Ok(mut interrupts) = Signals::new([SIGINT]) else { return flag };
    let shown = Arc::clone(&flag);
    std::thread::spawn(move || {
        for signal in interrupts.forever() {
            if shown.swap(true, Ordering::SeqCst) {
                exit(128 + signal);
            }
            report::note(said);
        }
    });
    flag
}

/// Ends the process with the status by which shells report an interrupt.
pub fn end() -> ! {
    exit(128 + SIGINT)
}

/// Lets an interrupt end the process with a note about the search. Where no handler can be set, it
/// ends without one.
///
/// The process ends at once, with the status by which shells report an interrupt. Nothing that is
/// registered for the end of a process runs: the destructors of a library that the main thread is
/// just loading or calling, such as NVRTC, would wait for a lock that it holds, or crash.
pub fn tell(bar: &ProgressBar, log: Option<&Path>) -> State {
    let state = State(Arc::new(Mutex::new(None)));
    let Ok(mut interrupts) = Signals::new([SIGINT]) else { return state };
    let (shown, bar, log) = (state.clone(), bar.clone(), log.map(Path::to_path_buf));
    std::thread::spawn(move || {
        if let Some(signal) = interrupts.forever().next() {
            bar.finish_and_clear();
            let progress = shown.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
            report::note(&text(progress.as_ref(), log.as_deref()));
            exit(128 + signal);
        }
    });
    state
}

/// What was found: by the progress, which is told after each batch of points, and by the log, which
/// has each point.
fn text(progress: Option<&Progress>, log: Option<&Path>) -> String {
    // A search that goes on with a log knows its outcomes only when it counts.
    let recorded = || loopwright::tuner::best_in_log(log?);
    let mut text = match progress {
        None => match recorded() {
            Some((point, ms)) => {
                format!("interrupted before the first point; the best in the log: {ms:.4} ms at {point}")
            }
            None => "interrupted before the first point".to_owned(),
        },
        Some(p) => {
            let point = p.point.as_ref().map_or_else(String::new, |point| format!(" at {point}"));
            // The log has each point, of which progress is told in batches.
            let best = match (p.best, recorded()) {
                (Some(ms), Some((_, logged))) if ms <= logged => {
                    format!("; the best so far: {ms:.4} ms{point}")
                }
                (Some(ms), None) => format!("; the best so far: {ms:.4} ms{point}"),
                (_, Some((point, ms))) => format!("; the best in the log: {ms:.4} ms at {point}"),
                (None, None) => String::new(),
            };
            let done = match log {
                Some(_) => format!(", of {} points", p.of),
                None => format!(": at least {} of {} points done", p.done, p.of),
            };
            format!("interrupted in phase {}{done}{best}", tune::phase(p.phase))
        }
    };
    text += &match log {
        Some(log) => format!("\n{}; `--budget SECONDS` ends it in time, with a table", kept(log)),
        None => "\nnothing was kept: with `--log FILE` the same command goes on where it was interrupted"
            .to_owned(),
    };
    text
}

/// What a log has, from which an interrupted search goes on.
pub fn kept(log: &Path) -> String {
    let kept = std::fs::read(log).map_or(0, |bytes| bytes.iter().filter(|b| **b == b'\n').count());
    format!("{} holds {kept} outcomes, from which the same command goes on", log.display())
}

#[cfg(test)]
mod tests {
    use loopwright::{
        prelude::*,
        tuner::{Space, Tuner},
    };

    use super::*;

    /// A search that goes on with a log, and is interrupted before it has looked at a point.
    #[test]
    fn the_best_of_the_log_is_told_before_the_first_point() -> Result<(), Box<dyn std::error::Error>> {
        let kernel = LoopKernel::parse(
            "kernel twice(x: f32[n], y: f32[n], n: i32)\ndomain { [i] : 0 <= i < n }\ny[i] = 2.0*x[i]\n",
        )?;
        let pipeline =
            Pipeline::parse("split_iname(i, $w)\ntag_inames(i_outer: block.x, i_inner: thread.x)")?;
        let space = Space::parse("w in [32, 64]")?;
        let args = Args::new().tensor("x", &Tensor::random(&[256], DType::F32, 1)?);
        let folder = tempfile::tempdir()?;
        let log = folder.path().join("log.jsonl");
        assert!(!text(None, Some(&log)).contains("best"));
        let found = Tuner::new(&Device::emulator(), &kernel, &pipeline, &space, &args).log(&log).run()?;
        let best = found.best_point().ok_or("both are legal")?;
        let said = text(None, Some(&log));
        assert!(said.starts_with("interrupted before the first point; the best in the log: "), "{said}");
        assert!(said.contains(&format!(" ms at {best}\n")) && said.contains(" holds 2 outcomes"), "{said}");
        Ok(())
    }
}
