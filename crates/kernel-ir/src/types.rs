//! Types of expressions.
use crate::KernelData;

/// Stands for the type of a temporary that is still to be inferred.
pub(crate) const UNTYPED: &str = "?";

pub(crate) fn infer_temporaries(_data: &mut KernelData) {}
