//! What an interrupted search says: how far it was, what was best, and how to continue.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

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
    let mut text = match progress {
        None => "interrupted before the first point".to_owned(),
        Some(p) => {
            let point = p.point.as_ref().map_or_else(String::new, |point| format!(" at {point}"));
            let best = p.best.map_or_else(String::new, |ms| format!("; the best so far: {ms:.4} ms{point}"));
            format!("interrupted in phase {}: {} of {} points done{best}", tune::phase(p.phase), p.done, p.of)
        }
    };
    text += &match log {
        Some(log) => {
            let kept = std::fs::read(log).map_or(0, |bytes| bytes.iter().filter(|b| **b == b'\n').count());
            format!(
                "\n{} holds {kept} outcomes, from which the same command goes on; `--budget SECONDS` \
                 ends it in time, with a table",
                log.display()
            )
        }
        None => "\nnothing was kept: with `--log FILE` the same command goes on where it was interrupted"
            .to_owned(),
    };
    text
}
