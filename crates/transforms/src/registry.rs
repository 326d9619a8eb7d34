//! The registry of a user's own steps, for pipelines in text form.

use std::{collections::BTreeMap, fmt, sync::Arc};

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};

use crate::{
    Call, Composite, Number, Pipeline, Step, Transform, UserStep, arguments::Args, user::FunctionStep,
};

type Make = dyn Fn(&[String]) -> Result<Arc<dyn Transform>, Diagnostic> + Send + Sync;

/// The arguments of a step that have keys, in their order.
type Keyed = [(String, String)];
type MakeKeyed = dyn Fn(&[String], &Keyed) -> Result<Arc<dyn Transform>, Diagnostic> + Send + Sync;

#[derive(Clone)]
enum Entry {
    Make(Arc<Make>),
    MakeKeyed(Arc<MakeKeyed>),
    Pipeline(Pipeline),
}

/// A user's own steps by name: a plain value that is passed to [`Pipeline::parse_with`] and
/// [`Pipeline::resolve`].
#[derive(Clone, Default)]
#[must_use = "its methods return a changed one"]
pub struct Registry {
    entries: BTreeMap<String, Entry>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.entries.keys()).finish()
    }
}

impl Registry {
    /// A registry without steps.
    pub fn new() -> Self {
        Registry::default()
    }

    /// Adds a function from kernel to kernel, written `name()`.
    pub fn function(
        self,
        name: &str,
        apply: impl Fn(&LoopKernel) -> Result<LoopKernel, Diagnostic> + Send + Sync + 'static,
    ) -> Self {
        let (apply, owned): (Arc<_>, String) = (Arc::new(apply), name.to_string());
        self.with(
            name,
            Entry::Make(Arc::new(move |_| {
                Ok(Arc::new(FunctionStep { name: owned.clone(), apply: apply.clone() }))
            })),
        )
    }

    /// Adds a transform that is constructed from its arguments as text, written `name(a, b)`.
    pub fn transform<T: Transform + 'static>(
        self,
        name: &str,
        make: impl Fn(&[String]) -> Result<T, Diagnostic> + Send + Sync + 'static,
    ) -> Self {
        self.with(
            name,
            Entry::Make(Arc::new(move |args| make(args).map(|t| Arc::new(t) as Arc<dyn Transform>))),
        )
    }

    /// As [`Registry::transform`], with arguments that may have keys, written `name(a, key=b)`:
    /// those without come first, then the others, each as its key and its value.
    pub fn keyed_transform<T: Transform + 'static>(
        self,
        name: &str,
        make: impl Fn(&[String], &[(String, String)]) -> Result<T, Diagnostic> + Send + Sync + 'static,
    ) -> Self {
        self.with(
            name,
            Entry::MakeKeyed(Arc::new(move |args, keyed| {
                make(args, keyed).map(|t| Arc::new(t) as Arc<dyn Transform>)
            })),
        )
    }

    /// Adds a sequence of steps, written `name(parameter=value)` with a value for each of its open
    /// parameters that is to be bound.
    pub fn pipeline(self, name: &str, pipeline: Pipeline) -> Self {
        self.with(name, Entry::Pipeline(pipeline))
    }

    fn with(mut self, name: &str, entry: Entry) -> Self {
        self.entries.insert(name.to_string(), entry);
        self
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    pub(crate) fn step_of(&self, call: &Call) -> Result<Option<Step>, Diagnostic> {
        let Some(entry) = self.entries.get(&call.name) else { return Ok(None) };
        let mut args = Args::of(call)?;
        Ok(Some(match entry {
            Entry::Make(make) => {
                let texts: Vec<String> = args.all_texts().into_iter().map(|(t, _)| t).collect();
                args.done()?;
                Step::User(UserStep::of(make(&texts)?))
            }
            Entry::MakeKeyed(make) => {
                let texts: Vec<String> = args.all_texts().into_iter().map(|(t, _)| t).collect();
                let keyed: Vec<_> =
                    args.all_keyed().into_iter().map(|(key, value, _)| (key, value)).collect();
                args.done()?;
                Step::User(UserStep::of(make(&texts, &keyed)?))
            }
            Entry::Pipeline(pipeline) => {
                let mut values: BTreeMap<Name, Number> = BTreeMap::new();
                let known = pipeline.parameters();
                for (key, value, span) in args.all_keyed() {
                    if !known.iter().any(|k| *k == *key) {
                        return Err(args.error_in(span, format!("`{}` has no parameter `{key}`", call.name)));
                    }
                    let Some(number) = Number::parse(&value) else {
                        return Err(
                            args.error_in(span, format!("expected an integer or `$name`, not `{value}`"))
                        );
                    };
                    values.insert(Name::new(&key), number);
                }
                args.done()?;
                let mut steps = pipeline.steps().to_vec();
                for number in steps.iter_mut().flat_map(Step::numbers) {
                    if let Number::Open(name) = number
                        && let Some(value) = values.get(name)
                    {
                        *number = value.clone();
                    }
                }
                Step::Composite(Composite { name: Name::new(&call.name), steps })
            }
        }))
    }
}
