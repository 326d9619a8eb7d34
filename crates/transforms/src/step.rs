//! One step of a pipeline.

use std::fmt;

use loopwright_kernel_ir::{Diagnostic, KernelData, LoopKernel, Name};
use loopwright_legality::Judgement;

use crate::{
    Composite, Number, Parameter, Registry, Step, Together, UserStep,
    arguments::{Args, Argument},
    call::{Body, Call},
    judged::{Judged, apply_judged, apply_proved, pending, with_right_layouts},
    names,
    patterns::{self, Subject, is_pattern},
    together::raw_all,
};

/// A transformation of kernels: a step of the library or a user's own. Its `Display` form is its
/// text in a pipeline.
pub trait Transform: fmt::Display + fmt::Debug + Send + Sync {
    /// The transformed kernel, or the reason why there is none. The role and the map of each new
    /// instruction relate it to the declared kernel.
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic>;

    /// How the step is judged: by a comparison of the kernels before and after it, unless a theorem
    /// states that it is legal wherever it applies.
    fn judgement(&self, before: &LoopKernel) -> Judgement {
        let _ = before;
        Judgement::Ask
    }

    /// The choices that it makes for this kernel, which
    /// [`Pipeline::explain`](crate::Pipeline::explain) shows.
    fn notes(&self, before: &LoopKernel) -> Vec<String> {
        let _ = before;
        Vec::new()
    }
}

/// The text form of a step of the library. `step!` implements it (see [`crate::declare`]), unless
/// the step is declared `by hand`.
pub(crate) trait TextForm: Sized {
    /// The arguments in the order of the text; `None` if their text is the step's own.
    const PARAMETERS: Option<&'static [Parameter]> = None;

    /// Parses the step from its arguments.
    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic>;
    /// The arguments as they are printed.
    fn arguments(&self) -> Vec<String>;
    /// The numbers that may be open parameters.
    fn numbers(&mut self) -> Vec<&mut Number> {
        Vec::new()
    }
    /// Its lists of names, in which patterns may stand.
    fn lists(&mut self) -> Vec<List<'_>> {
        Vec::new()
    }
    /// Replaces patterns by the names that they stand for in a kernel.
    fn expand(&mut self, kernel: &KernelData) -> Result<(), Diagnostic> {
        for List { names, subject } in self.lists() {
            if let Some(subject) = subject {
                patterns::expand_names(kernel, subject, names)?;
            }
        }
        Ok(())
    }
}

/// A list of names of a step.
pub(crate) struct List<'s> {
    pub names: &'s mut Vec<Name>,
    /// What they are names of; `None` for names that the step gives itself.
    pub subject: Option<Subject>,
}

impl<'s> List<'s> {
    /// The list in a field, if it is one.
    pub fn of(value: &'s mut impl Argument, subject: Option<Subject>) -> Option<Self> {
        value.names().map(|names| List { names, subject })
    }
}

/// A step's name, its other names, the attributes of its structure, and its parameters.
pub(crate) type Documented =
    (&'static str, &'static [&'static str], &'static [&'static str], Option<&'static [Parameter]>);

/// A step that is declared by `step!` and parsed without registration.
pub(crate) trait BuiltIn: Transform + TextForm {
    /// Its name in pipelines, such as `split_iname`.
    const NAME: &'static str;
    /// Other names under which it is parsed.
    const ALIASES: &'static [&'static str];
    /// The attributes of its structure, as tokens: its documentation is among them.
    const ATTRIBUTES: &'static [&'static str];

    /// Parses the step if the call has its name.
    fn of_call(call: &Call) -> Option<Result<Self, Diagnostic>> {
        if call.name != Self::NAME && !Self::ALIASES.contains(&call.name.as_str()) {
            return None;
        }
        Some(Args::of(call).and_then(|mut args| {
            let mut step = Self::read(&mut args)?;
            for list in step.lists().into_iter().filter(|list| list.subject.is_none()) {
                if let Some(pattern) = list.names.iter().find(|name| is_pattern(name)) {
                    let message = format!("expected names, not `{pattern}`");
                    let help = "patterns stand for names that the kernel has already";
                    return Err(args.error(message).help(help));
                }
            }
            args.done()?;
            Ok(step)
        }))
    }
}

impl From<Together> for Step {
    fn from(step: Together) -> Step {
        Step::Together(step)
    }
}

impl From<Composite> for Step {
    fn from(step: Composite) -> Step {
        Step::Composite(step)
    }
}

impl From<UserStep> for Step {
    fn from(step: UserStep) -> Step {
        Step::User(step)
    }
}

impl Step {
    /// Parses a single step of the library; a text with several steps is an error.
    pub fn parse(text: &str) -> Result<Step, Diagnostic> {
        let calls = crate::call::read("<step>", text)?;
        match calls.as_slice() {
            [call] => Step::of_call(call, &Registry::default()),
            _ => Err(Diagnostic::new("pipeline-syntax", format!("expected one step, not {}", calls.len()))),
        }
    }

    pub(crate) fn of_call(call: &Call, registry: &Registry) -> Result<Step, Diagnostic> {
        if let Some(step) = Step::built_in(call) {
            return step;
        }
        if let Body::Steps(calls) = &call.body {
            let steps =
                calls.iter().map(|c| Step::of_call(c, registry)).collect::<Result<Vec<_>, Diagnostic>>()?;
            return Ok(match call.name.as_str() {
                "together" => Step::Together(Together { steps }),
                name => Step::Composite(Composite { name: name.into(), steps }),
            });
        }
        if let Some(step) = registry.step_of(call)? {
            return Ok(step);
        }
        let name = &call.name;
        let end = call.span.start + name.len();
        let d = Diagnostic::new("unknown-step", format!("there is no step `{name}`"))
            .at(call.source.place(call.span.start..end));
        let known =
            Step::NAMES.iter().copied().chain(["together"]).chain(registry.names()).collect::<Vec<&str>>();
        Err(match (names::ours(name), names::nearest(name, known)) {
            _ if name == "auto" => d.help(
                "`auto()` is in a registry: `Pipeline::parse_with(text, &loopwright::automatic::registry())`",
            ),
            _ if name == "together" => d.help("write `together { step; step }`"),
            (Some(ours), _) if ours.starts_with(names::NO_STEP) => {
                d.help(format!("no step is needed: {}", &ours[names::NO_STEP.len()..]))
            }
            (Some(ours), _) if ours.contains(' ') => d.help(format!("it is called {ours} here")),
            (Some(ours), _) => d.help(format!("it is called `{ours}` here")),
            (None, Some(near)) => d.help(format!("did you mean `{near}`?")),
            (None, None) => d.help(format!("the steps are {}", names::list(Step::NAMES.iter().copied()))),
        })
    }
}

impl Step {
    /// The kernel after the step and the verdict. A composite step is judged step by step, and its
    /// verdict is that on the whole.
    pub fn judged(&self, kernel: &LoopKernel) -> Result<Judged, Diagnostic> {
        let step = self.expanded(kernel)?;
        apply_judged(step.transform(), matches!(self, Step::AssumeLegal(_)), kernel)
    }

    /// The kernel after the step, as [`Transform::apply`] makes it, but what is not proved is not
    /// replayed in search of a witness. For callers who ask about many steps and only want to know
    /// which are legal.
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::{Step, Transform};
    ///
    /// let shift = LoopKernel::parse("\
    /// kernel shift(x: f32[n], n: i32)
    /// assume 1 <= n
    /// domain { [i] : 1 <= i < n }
    /// x[i] = x[i - 1] {id=shift}
    /// ")?;
    /// let step = Step::parse("split_iname(i, 32)")?;
    /// assert_eq!(step.proved(&shift)?, step.apply(&shift)?);
    /// let (split, wrong) = (step.proved(&shift)?, Step::parse("tag_inames(i_inner: thread.x)")?);
    /// assert!(wrong.apply(&split).unwrap_err().witness.is_some());
    /// assert!(wrong.proved(&split).unwrap_err().witness.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Errors: those of the step; that it is not proved to be legal.
    pub fn proved(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        match self {
            Step::Composite(group) => group.steps.iter().try_fold(kernel.clone(), |k, step| step.proved(&k)),
            // What the user vouches for only has to be refuted by no replay.
            step if pending(kernel) || matches!(step, Step::AssumeLegal(_)) => {
                Ok(step.judged(kernel)?.kernel)
            }
            step => apply_proved(step.expanded(kernel)?.transform(), kernel),
        }
    }

    /// The step with the [patterns](crate::patterns) in its lists replaced by the names that they
    /// stand for in this kernel.
    ///
    /// Errors: a pattern that matches nothing, or does not parse.
    pub fn expanded(&self, kernel: &LoopKernel) -> Result<Step, Diagnostic> {
        let mut step = self.clone();
        step.expand(kernel)?;
        Ok(step)
    }

    /// The step's own transform, which applies it without a verdict.
    pub fn rule(&self) -> &dyn Transform {
        self.transform()
    }

    /// The kernel after the step without a verdict, for groups that are judged at their end.
    pub(crate) fn raw(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        match self {
            Step::Together(group) => raw_all(&group.steps, kernel),
            Step::Composite(group) => raw_all(&group.steps, kernel),
            step => with_right_layouts(step.expanded(kernel)?.transform().apply(kernel)?),
        }
    }
}

/// Applying a step judges it.
impl Transform for Step {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        match self {
            Step::Composite(composite) => composite.apply(kernel),
            step => Ok(step.judged(kernel)?.kernel),
        }
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        // Its own application has judged it.
        Judgement::Theorem("it was judged when it was applied")
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.transform(), f)
    }
}
