//! Groups of steps.

use std::fmt;

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
use loopwright_legality::Judgement;
use serde::{Deserialize, Serialize};

use crate::{Step, Transform};

/// Steps that are judged as one, after the last of them.
///
/// In text: `together { step; step }`, with line ends or `;` between the steps.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Together {
    /// The steps in their order.
    pub steps: Vec<Step>,
}

/// A user's named list of steps. It prints, parses and serialises in expanded form, so that a saved
/// pipeline is self-contained.
///
/// In text: `name { step; step }`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Composite {
    /// Its name, chosen by the user.
    pub name: Name,
    /// Its steps in their order.
    pub steps: Vec<Step>,
}

impl Together {
    /// A group of these steps.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Together { steps: steps.into_iter().collect() }
    }
}

impl Composite {
    /// A composite step of this name.
    pub fn new(name: impl Into<Name>, steps: impl IntoIterator<Item = Step>) -> Self {
        Composite { name: name.into(), steps: steps.into_iter().collect() }
    }
}

/// Applies steps one after the other; a refusal names the step.
pub(crate) fn apply_all(steps: &[Step], kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
    let mut kernel = kernel.clone();
    for (k, step) in steps.iter().enumerate() {
        kernel = step.apply(&kernel).map_err(|d| name_step(d, k, step))?;
    }
    Ok(kernel)
}

/// Applies steps one after the other without judging them.
pub(crate) fn raw_all(steps: &[Step], kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
    let mut kernel = kernel.clone();
    for (k, step) in steps.iter().enumerate() {
        kernel = step.raw(&kernel).map_err(|d| name_step(d, k, step))?;
    }
    Ok(kernel)
}

/// The refusal with the step's number and text before its sentence.
pub(crate) fn name_step(mut d: Diagnostic, number: usize, step: &Step) -> Diagnostic {
    let text = match step {
        Step::Together(_) => "together".to_string(),
        Step::Composite(c) => c.name.to_string(),
        step => step.to_string(),
    };
    d.message = format!("step {}, `{text}`: {}", number + 1, d.message);
    d
}

fn write_group(f: &mut fmt::Formatter<'_>, name: &str, steps: &[Step]) -> fmt::Result {
    writeln!(f, "{name} {{")?;
    for step in steps {
        for line in step.to_string().lines() {
            writeln!(f, "    {line}")?;
        }
    }
    write!(f, "}}")
}

impl fmt::Display for Together {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_group(f, "together", &self.steps)
    }
}

impl fmt::Display for Composite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_group(f, &self.name, &self.steps)
    }
}

/// The steps without verdicts: the group is judged as a whole, as a [`Step`].
impl Transform for Together {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        raw_all(&self.steps, kernel)
    }
}

/// Each of its steps is judged.
impl Transform for Composite {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        apply_all(&self.steps, kernel)
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("each of its steps was judged")
    }
}
