//! `auto()` as a step of pipelines.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_lowering::Target;
use loopwright_transforms::{Judgement, Registry, Transform};

use crate::{Found, auto, search_while};

/// A cost of transformed kernels, `None` for one that has none.
pub type Cost = Box<dyn FnMut(&LoopKernel) -> Option<f64>>;

/// Makes the cost by which a search for this kernel decides. Its errors are those of the step.
pub type Costs = dyn Fn(&LoopKernel) -> Result<Cost, Diagnostic> + Send + Sync;

/// Number of candidates that stand for a second of searching.
pub const CANDIDATES_A_SECOND: f64 = 32.0;

/// How far a step searches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effort {
    /// The rules alone, without a search over sizes.
    Rules,
    /// At most this number of candidates.
    Candidates(usize),
    /// [`CANDIDATES_A_SECOND`] candidates for each of these seconds, and no more once they are
    /// over.
    Seconds(f64),
}

impl Effort {
    /// The number of candidates.
    fn candidates(self) -> usize {
        match self {
            Effort::Rules => 1,
            Effort::Candidates(most) => most,
            Effort::Seconds(seconds) => (CANDIDATES_A_SECOND * seconds).ceil().max(1.0) as usize,
        }
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Effort::Rules => f.write_str("auto()"),
            Effort::Candidates(most) => write!(f, "auto(search={most})"),
            Effort::Seconds(seconds) => write!(f, "auto(search={seconds}s)"),
        }
    }
}

/// The step `auto()`: those steps that [`auto`](crate::auto) finds for what the steps before it
/// have left open. What comes after it sees their inames. `auto(search=16)` takes the cheapest of
/// 16 pipelines, by the cost that its registry has.
///
/// It is legal as each of its steps is, all of which are judged when it is applied.
///
/// ```
/// use loopwright_auto::registry;
/// use loopwright_kernel_ir::LoopKernel;
/// use loopwright_transforms::Pipeline;
///
/// let kernel = LoopKernel::parse("\
/// kernel scale(x: f32[n], y: f32[n], n: i32)
/// assume 0 <= n
/// domain { [i] : 0 <= i < n }
/// y[i] = 2*x[i] {id=scale}
/// ")?;
/// // With what is assumed first, the rest consists of whole vectors.
/// let pipeline = Pipeline::parse_with("assume(n % 4 = 0)\nauto()", &registry())?;
/// let same = Pipeline::parse("\
/// assume(n % 4 = 0)
/// split_iname(i, 1024)
/// split_iname(i_inner, 4, outer=i_thread, inner=i_vec)
/// tag_inames(i_outer: block.x, i_thread: thread.x, i_vec: vec)
/// ")?;
/// assert_eq!(pipeline.apply(&kernel)?, same.apply(&kernel)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct AutoStep {
    /// What the steps are found for.
    pub target: Target,
    /// How far it searches beyond what the rules propose.
    pub effort: Effort,
    searching: Option<Searching>,
    /// What was found last, and for which kernel: whoever asks again, as for an explanation, gets
    /// the same, also if a clock has cut the search short.
    last: Arc<Mutex<Option<(LoopKernel, Outcome)>>>,
}

/// How a step searches: its costs, and whom it tells that a clock cut it short.
#[derive(Clone)]
struct Searching {
    costs: Arc<Costs>,
    tell: Arc<dyn Fn(&str) + Send + Sync>,
}

/// What a step found, with a note about its search.
#[derive(Clone)]
struct Outcome {
    found: Found,
    note: Option<String>,
}

impl AutoStep {
    /// A step that uses the rules alone.
    pub fn new(target: Target) -> AutoStep {
        AutoStep { target, effort: Effort::Rules, searching: None, last: Arc::default() }
    }

    /// What it finds for a kernel.
    ///
    /// Errors: that the kernel has no cost.
    pub fn found(&self, kernel: &LoopKernel) -> Result<Found, Diagnostic> {
        Ok(self.outcome(kernel)?.found)
    }

    fn outcome(&self, kernel: &LoopKernel) -> Result<Outcome, Diagnostic> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, outcome)) = &*last
            && known == kernel
        {
            return Ok(outcome.clone());
        }
        let outcome = match (&self.searching, self.effort) {
            (Some(by), Effort::Candidates(_) | Effort::Seconds(_)) => self.searched(kernel, by)?,
            _ => Outcome { found: auto(kernel, &self.target), note: None },
        };
        *last = Some((kernel.clone(), outcome.clone()));
        Ok(outcome)
    }

    fn searched(&self, kernel: &LoopKernel, by: &Searching) -> Result<Outcome, Diagnostic> {
        let begun = Instant::now();
        let limit = match self.effort {
            Effort::Seconds(seconds) => Duration::try_from_secs_f64(seconds).ok(),
            _ => None,
        };
        let mut goes_on = || limit.is_none_or(|limit| begun.elapsed() < limit);
        let most = self.effort.candidates();
        let mut cost = (by.costs)(kernel)?;
        let searched = search_while(kernel, &self.target, most, &mut goes_on, &mut cost);
        let compared = match (searched.cost, searched.by_rules) {
            (Some(cost), Some(rules)) if rules > 0.0 => {
                format!(", at {:.2} of the cost of what the rules find", cost / rules)
            }
            _ => String::new(),
        };
        let note = match searched.is_cut_short {
            true => format!(
                "the clock cut the search short: the cheapest of {} pipelines, not of {most}{compared}; \
                 another run may find another one",
                searched.candidates
            ),
            false => format!("the cheapest of {} pipelines{compared}", searched.candidates),
        };
        if searched.is_cut_short {
            (by.tell)(&format!("`{self}`: {note}"));
        }
        Ok(Outcome { found: searched.found, note: Some(note) })
    }
}

impl fmt::Debug for AutoStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.effort)
    }
}

impl fmt::Display for AutoStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.effort)
    }
}

impl Transform for AutoStep {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        Ok(self.outcome(kernel)?.found.kernel)
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("each of its steps was judged")
    }

    /// The reason of each decision, what would make it better, and the steps.
    fn notes(&self, before: &LoopKernel) -> Vec<String> {
        let Ok(Outcome { found, note }) = self.outcome(before) else { return Vec::new() };
        let mut notes: Vec<String> = note.into_iter().collect();
        for decision in &found.decisions {
            notes.extend(decision.lines());
            let steps = decision.steps.iter().map(ToString::to_string).collect::<Vec<String>>();
            notes.extend(steps.iter().flat_map(|step| step.lines()).map(|line| format!("    {line}")));
        }
        notes
    }
}

/// The steps of this crate by name, for pipelines in text form: `auto()`, for CUDA. A search is
/// refused, since there is no cost: see [`registry_with`].
pub fn registry() -> Registry {
    made(None)
}

/// As [`registry`], with costs by which `auto(search=N)` and `auto(search=1s)` decide. `tell` is
/// told when a clock cuts a search short.
pub fn registry_with(
    costs: impl Fn(&LoopKernel) -> Result<Cost, Diagnostic> + Send + Sync + 'static,
    tell: impl Fn(&str) + Send + Sync + 'static,
) -> Registry {
    made(Some(Searching { costs: Arc::new(costs), tell: Arc::new(tell) }))
}

fn made(searching: Option<Searching>) -> Registry {
    Registry::new().keyed_transform("auto", move |args, keyed| {
        let syntax = |message: String| {
            let help = "write `auto()`, `auto(search=16)` for so many candidates, or `auto(search=1s)`";
            Err(Diagnostic::new("pipeline-syntax", message).help(help))
        };
        if let [first, ..] = args {
            return syntax(format!("`auto` takes no arguments but `search`, and is given `{first}`"));
        }
        let value = match keyed {
            [] => return Ok(AutoStep::new(Target::default())),
            [(key, value)] if key == "search" => value,
            [.., (key, _)] => return syntax(format!("`auto` has one argument, `search`, not `{key}`")),
        };
        let Some(effort) = effort(value) else {
            return syntax(format!("`search={value}` is neither a number of candidates nor of seconds"));
        };
        match &searching {
            Some(by) => {
                Ok(AutoStep { effort, searching: Some(by.clone()), ..AutoStep::new(Target::default()) })
            }
            None => syntax("this registry has no costs by which a search could decide".to_string()),
        }
    })
}

/// The effort that a text such as `16`, `1s` or `0.5s` asks for.
fn effort(text: &str) -> Option<Effort> {
    match text.trim().strip_suffix('s') {
        Some(seconds) => {
            let seconds = seconds.trim().parse::<f64>().ok();
            seconds.filter(|s| *s > 0.0 && *s <= 1e6).map(Effort::Seconds)
        }
        None => text.trim().parse::<usize>().ok().filter(|n| *n > 0).map(Effort::Candidates),
    }
}
