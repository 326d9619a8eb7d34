//! A user's own transform as a step.

use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_legality::Judgement;
use serde::{Deserialize, Serialize};

use crate::{Step, Transform};

/// A user's own transform. Two of them are equal if their texts are. A saved pipeline keeps the
/// text; after loading, [`crate::Pipeline::resolve`] finds the transform of that text in a
/// [`crate::Registry`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UserStep {
    text: String,
    #[serde(skip)]
    transform: Option<Arc<dyn Transform>>,
}

impl UserStep {
    /// A step that is a user's transform; its text is the transform's `Display`.
    pub fn new(transform: impl Transform + 'static) -> Self {
        UserStep { text: transform.to_string(), transform: Some(Arc::new(transform)) }
    }

    /// A step that is a named function from kernel to kernel. Its text is `name()`.
    pub fn function(
        name: &str,
        apply: impl Fn(&LoopKernel) -> Result<LoopKernel, Diagnostic> + Send + Sync + 'static,
    ) -> Self {
        UserStep::new(FunctionStep { name: name.to_string(), apply: Arc::new(apply) })
    }

    pub(crate) fn of(transform: Arc<dyn Transform>) -> Self {
        UserStep { text: transform.to_string(), transform: Some(transform) }
    }

    pub(crate) fn is_resolved(&self) -> bool {
        self.transform.is_some()
    }

    /// Its text in a pipeline.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl PartialEq for UserStep {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
impl Eq for UserStep {}
impl Hash for UserStep {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl fmt::Display for UserStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Transform for UserStep {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        match &self.transform {
            // The library's steps produce well-formed kernels; nothing is known about a user's
            // step, so its result is validated.
            Some(transform) => {
                let after = transform.apply(kernel)?;
                after.validate().map_err(|found| {
                    let first = found.0.into_iter().next();
                    first.unwrap_or_else(|| {
                        Diagnostic::new("internal", "a kernel is refused without a diagnostic")
                    })
                })?;
                Ok(after)
            }
            None => Err(Diagnostic::new(
                "unresolved-step",
                format!("the step `{}` was loaded without its code", self.text),
            )
            .help("register the function and call `pipeline.resolve(&registry)`")),
        }
    }

    fn judgement(&self, before: &LoopKernel) -> Judgement {
        self.transform.as_ref().map_or(Judgement::Ask, |t| t.judgement(before))
    }

    fn notes(&self, before: &LoopKernel) -> Vec<String> {
        self.transform.as_ref().map_or_else(Vec::new, |t| t.notes(before))
    }
}

type Function = dyn Fn(&LoopKernel) -> Result<LoopKernel, Diagnostic> + Send + Sync;

/// A function as a transform.
pub(crate) struct FunctionStep {
    pub name: String,
    pub apply: Arc<Function>,
}

impl fmt::Debug for FunctionStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}()", self.name)
    }
}

impl fmt::Display for FunctionStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}()", self.name)
    }
}

impl Transform for FunctionStep {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        (self.apply)(kernel)
    }
}

impl Step {
    /// A user's own transform as a step.
    pub fn user(transform: impl Transform + 'static) -> Step {
        Step::User(UserStep::new(transform))
    }
}
