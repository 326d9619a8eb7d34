//! Marks arrays of which each element is touched once.

use std::fmt;

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
use loopwright_legality::Judgement;
use serde::{Deserialize, Serialize};

use crate::{Transform, call::Args, rewrite::edit_global, step::BuiltIn};

/// `cache_streaming(x)`: loads and stores of an array in global memory ask the caches to give its
/// lines up first.
///
/// # Meaning
///
/// What is read or written once takes the place of what is read again. The accesses become `__ldcs`
/// and `__stcs` (PTX's `ld.global.cs` and `st.global.cs`, vector accesses too): evict-first, likely
/// touched once. It is a hint that changes no value; the emulator's accesses stay what they are. An
/// array that threads of several blocks read again, as the factors of a product or offsets that are
/// searched, loses by it.
///
/// # Legality
///
/// Legal by theorem, of any array in global memory: arguments, and temporaries moved there by
/// [`SetAddressSpace`](crate::SetAddressSpace).
///
/// In text: `cache_streaming(x)`, a step for each array.
///
/// # Before and after
///
/// ```
/// use loopwright_kernel_ir::LoopKernel;
/// use loopwright_transforms::Pipeline;
///
/// let before = LoopKernel::parse("\
/// kernel axpy(x: f32[n], y: f32[n], a: f32, n: i32)
/// domain { [i] : 0 <= i < n }
/// y[i] = a * x[i] + y[i] {id=set}
/// ")?;
/// let steps = Pipeline::parse("cache_streaming(x)")?;
/// assert_eq!(steps.apply(&before)?.to_string(), "\
/// kernel axpy(x: f32[n] streaming, y: f32[n], a: f32, n: i32)
/// domain { [i] : 0 <= i < n }
/// y[i] = a * x[i] + y[i] {id=set, inames=i}
/// tree {
///     for i {
///         set
///     }
/// }
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CacheStreaming {
    /// The array.
    pub array: Name,
}

impl CacheStreaming {
    /// Marks an array.
    pub fn new(array: impl Into<Name>) -> Self {
        CacheStreaming { array: array.into() }
    }
}

impl BuiltIn for CacheStreaming {
    const NAME: &'static str = "cache_streaming";

    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        Ok(CacheStreaming { array: args.name("the array")? })
    }
}

impl Transform for CacheStreaming {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        edit_global(kernel, &self.array, |array| array.streaming = true)
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("what a cache keeps changes no value")
    }
}

impl fmt::Display for CacheStreaming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cache_streaming({})", self.array)
    }
}
