//! Pipelines: sequences of steps.

use std::{
    fmt,
    hash::{Hash, Hasher},
    time::Instant,
};

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name, Place};
use loopwright_poly::remembering;
use serde::{Deserialize, Serialize};

use crate::{
    Explanation, Number, Registry, Step, Transform, call, names,
    together::{name_step, raw_all},
};

/// A sequence of steps. In text each step is on a separate line, and `#` begins a comment; numbers
/// may be open parameters (`$block`).
///
/// ```
/// use loopwright_transforms::Pipeline;
///
/// let pipeline = Pipeline::parse("
///     split_iname(i, $block)                          # blocks of threads
///     tag_inames(i_outer: block.x, i_inner: thread.x)
/// ")?;
/// assert_eq!(pipeline.parameters(), ["block"]);
/// let bound = pipeline.bind([("block", 256)])?;
/// assert_eq!(
///     bound.to_string(),
///     "split_iname(i, 256)\ntag_inames(i_outer: block.x, i_inner: thread.x)\n",
/// );
/// # Ok::<(), loopwright_kernel_ir::Diagnostic>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[must_use = "its methods return a changed one"]
pub struct Pipeline {
    steps: Vec<Step>,
    /// The locations of the first steps in the text that they were parsed from.
    #[serde(skip)]
    places: Places,
}

/// Locations, which are not part of a pipeline's value: all compare equal.
#[derive(Clone, Debug, Default)]
struct Places(Vec<Place>);

impl PartialEq for Places {
    fn eq(&self, _: &Places) -> bool {
        true
    }
}

impl Eq for Places {}

impl Hash for Places {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// The kernel after one step.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The step's text, as in a pipeline.
    pub step: String,
    /// The kernel after the step.
    pub kernel: LoopKernel,
    /// Wall-clock time of the step and its judgement.
    pub microseconds: f64,
}

impl Pipeline {
    /// A pipeline without steps.
    pub fn new() -> Self {
        Pipeline::default()
    }

    /// Appends a step, which is applied last.
    pub fn step(mut self, step: impl Into<Step>) -> Self {
        self.steps.push(step.into());
        self
    }

    /// Appends the steps of another pipeline.
    pub fn then(mut self, other: &Pipeline) -> Self {
        // Places exist for a prefix of the steps only: they are extended if all steps so far have
        // one.
        if self.places.0.len() == self.steps.len() {
            self.places.0.extend(other.places.0.iter().cloned());
        }
        self.steps.extend(other.steps.iter().cloned());
        self
    }

    /// The steps, in the order in which they are applied.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Parses a pipeline of built-in steps; the error has the place of the first one that is wrong.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        Pipeline::parse_with(text, &Registry::default())
    }

    /// Parses a pipeline that also contains a user's own steps.
    pub fn parse_with(text: &str, registry: &Registry) -> Result<Self, Diagnostic> {
        Pipeline::parse_file("<pipeline>", text, registry)
    }

    /// As [`Pipeline::parse_with`], with the name of the file for diagnostics.
    pub fn parse_file(origin: &str, text: &str, registry: &Registry) -> Result<Self, Diagnostic> {
        // A mark of the encoding is no part of the text.
        let calls = call::read(origin, text.trim_start_matches('\u{feff}'))?;
        let steps = calls.iter().map(|c| Step::of_call(c, registry)).collect::<Result<_, _>>()?;
        Ok(Pipeline { steps, places: Places(calls.iter().filter_map(call::Call::place).collect()) })
    }

    /// The open parameters in the order of their first use.
    pub fn parameters(&self) -> Vec<Name> {
        let mut found: Vec<Name> = Vec::new();
        for number in self.clone().steps.iter_mut().flat_map(Step::numbers) {
            if let Number::Open(name) = number
                && !found.contains(name)
            {
                found.push(name.clone());
            }
        }
        found
    }

    /// Replaces some open parameters by values. A name that is not a parameter of the pipeline is
    /// an error.
    pub fn bind<N: AsRef<str>>(
        &self,
        values: impl IntoIterator<Item = (N, i64)>,
    ) -> Result<Self, Diagnostic> {
        let mut bound = self.clone();
        let known = self.parameters();
        for (name, value) in values {
            let name = name.as_ref();
            if !known.iter().any(|k| **k == *name) {
                let d =
                    Diagnostic::new("unknown-parameter", format!("the pipeline has no parameter `${name}`"));
                let have = known.iter().map(Name::as_str);
                return Err(match names::nearest(name, have.clone()) {
                    Some(near) => d.help(format!("did you mean `${near}`?")),
                    None if known.is_empty() => {
                        d.help(format!("no number of it is open: write `${name}` in place of one"))
                    }
                    None => d.help(format!("its parameters are {}", names::list(have))),
                });
            }
            for number in bound.steps.iter_mut().flat_map(Step::numbers) {
                if matches!(number, Number::Open(open) if **open == *name) {
                    *number = Number::Known(value);
                }
            }
        }
        Ok(bound)
    }

    /// The kernel after all steps. A refusal names the step; the given kernel remains unchanged.
    pub fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        // Steps ask much the same of kernels that are much alike.
        remembering(|| {
            let mut kernel = kernel.clone();
            for (k, step) in self.steps.iter().enumerate() {
                kernel = step.apply(&kernel).map_err(|d| self.refused(d, k, step, &kernel))?;
            }
            Ok(kernel)
        })
    }

    /// The kernel after all steps, without any check of legality. It is meant for tests which show
    /// that an illegal step really changes the results.
    pub fn apply_unjudged(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        remembering(|| raw_all(&self.steps, kernel))
    }

    /// The kernel after each step, with the time that the step took.
    pub fn apply_traced(&self, kernel: &LoopKernel) -> Result<Vec<Traced>, Diagnostic> {
        let mut kernel = kernel.clone();
        let mut trace = Vec::with_capacity(self.steps.len());
        for (k, step) in self.steps.iter().enumerate() {
            let start = Instant::now();
            kernel = step.apply(&kernel).map_err(|d| self.refused(d, k, step, &kernel))?;
            let microseconds = start.elapsed().as_secs_f64() * 1e6;
            trace.push(Traced { step: step.to_string(), kernel: kernel.clone(), microseconds });
        }
        Ok(trace)
    }

    /// Adds the step's number, text and location to its refusal: the location in the pipeline's
    /// text if the pipeline was parsed from one, otherwise in that of the kernel.
    fn refused(&self, diagnostic: Diagnostic, number: usize, step: &Step, kernel: &LoopKernel) -> Diagnostic {
        let named = name_step(diagnostic, number, step);
        kernel.locate(named.at(self.places.0.get(number).cloned()))
    }

    /// The kernel and the verdict after each step, up to the first one that is refused, with the
    /// basis of each verdict and the time that it took.
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::{Pipeline, Verdict};
    ///
    /// let kernel = LoopKernel::parse("\
    /// kernel shift(x: f32[n], y: f32[n], n: i32)
    /// domain { [i] : 1 <= i < n }
    /// x[i] = y[i - 1] {id=get}
    /// y[i] = x[i] {id=put}
    /// ")?;
    /// let explained = Pipeline::parse("split_iname(i, 32)\ntag_inames(i_inner: thread.x)")?.explain(&kernel);
    /// let verdicts: Vec<String> = explained
    ///     .steps
    ///     .iter()
    ///     .map(|s| match &s.outcome {
    ///         Ok(judged) => judged.verdict.to_string(),
    ///         Err(refusal) => refusal.to_string(),
    ///     })
    ///     .collect();
    /// assert_eq!(verdicts[0], "proved: a split in place keeps all executions and their order");
    /// assert!(verdicts[1].contains("put[i=1] writes y[1], get[i=2] must read it; get[i=2] runs first (n=3)"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(&self, kernel: &LoopKernel) -> Explanation {
        Explanation::of(&self.steps, kernel, &|d, number, kernel| match self.steps.get(number) {
            Some(step) => self.refused(d, number, step, kernel),
            None => d,
        })
    }

    /// Looks up the code of the user's own steps again, which a saved pipeline holds as text.
    pub fn resolve(&self, registry: &Registry) -> Result<Self, Diagnostic> {
        fn resolve(step: &Step, registry: &Registry) -> Result<Step, Diagnostic> {
            let all = |steps: &[Step]| steps.iter().map(|s| resolve(s, registry)).collect::<Result<_, _>>();
            Ok(match step {
                Step::User(user) if !user.is_resolved() => {
                    let calls = call::read("<pipeline>", user.text())?;
                    match calls.as_slice() {
                        [call] => Step::of_call(call, registry)?,
                        _ => step.clone(),
                    }
                }
                Step::Together(t) => Step::Together(crate::Together { steps: all(&t.steps)? }),
                Step::Composite(c) => {
                    Step::Composite(crate::Composite { name: c.name.clone(), steps: all(&c.steps)? })
                }
                _ => step.clone(),
            })
        }
        let steps = self.steps.iter().map(|s| resolve(s, registry)).collect::<Result<_, _>>()?;
        Ok(Pipeline { steps, places: self.places.clone() })
    }
}

impl<S: Into<Step>> FromIterator<S> for Pipeline {
    fn from_iter<I: IntoIterator<Item = S>>(steps: I) -> Self {
        Pipeline { steps: steps.into_iter().map(Into::into).collect(), places: Places::default() }
    }
}

impl std::str::FromStr for Pipeline {
    type Err = Diagnostic;
    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        Pipeline::parse(text)
    }
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}
