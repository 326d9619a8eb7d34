//! Steps as methods of a kernel.

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};

use crate::{Pipeline, Step, Transform, Transforms, judged::apply_judged};

/// Names as users write them: a text with commas, or a list.
pub trait IntoNames {
    /// The names in their order.
    fn into_names(self) -> Vec<Name>;
}

impl IntoNames for &str {
    fn into_names(self) -> Vec<Name> {
        self.split(',').map(str::trim).filter(|t| !t.is_empty()).map(Name::new).collect()
    }
}

impl<const N: usize> IntoNames for [&str; N] {
    fn into_names(self) -> Vec<Name> {
        self.into_iter().map(Name::new).collect()
    }
}

impl IntoNames for &[Name] {
    fn into_names(self) -> Vec<Name> {
        self.to_vec()
    }
}

impl IntoNames for Vec<Name> {
    fn into_names(self) -> Vec<Name> {
        self
    }
}

impl Transforms for LoopKernel {
    fn step(&self, step: impl Into<Step>) -> Result<Self, Diagnostic> {
        step.into().apply(self)
    }

    fn pipeline(&self, pipeline: &Pipeline) -> Result<Self, Diagnostic> {
        pipeline.apply(self)
    }

    fn transform(&self, transform: &dyn Transform) -> Result<Self, Diagnostic> {
        Ok(apply_judged(transform, false, self)?.kernel)
    }
}
