//! Marks arrays whose elements are accessed once as evict-first.

use loopwright_kernel_ir::{CacheHint, Diagnostic, LoopKernel, Name};
use loopwright_legality::Judgement;

use crate::{Transform, rewrite::edit_global};

step! {
    /// `cache_streaming(x)`: loads and stores of an array in global memory are evict-first.
    ///
    /// # Meaning
    ///
    /// Data that are accessed once would evict data that are reused. The accesses become `__ldcs`
    /// and `__stcs` (PTX's `ld.global.cs` and `st.global.cs`, also for vectors): evict-first,
    /// likely accessed once. This is a hint that changes no value and that the emulator ignores. It
    /// slows down accesses to arrays that several blocks reuse, such as the factors of a product or
    /// offsets that are searched.
    ///
    /// # Legality
    ///
    /// Legal by theorem for any array in global memory: arguments, and temporaries moved there by
    /// [`SetAddressSpace`](crate::SetAddressSpace).
    ///
    /// In text: `cache_streaming(x)`, one step for each array.
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
    pub struct CacheStreaming as "cache_streaming" {
        /// An array in global memory.
        pub array: Name = next("the array"),
    }
    table: "cache_streaming(x)" => "–",
    methods: {
        /// See [`CacheStreaming`].
        fn cache_streaming(&self, array: &str) -> Result<Self, Diagnostic> {
            self.step(CacheStreaming::new(array))
        }
    }
}

impl CacheStreaming {
    /// Marks the accesses of an array as streaming.
    pub fn new(array: impl Into<Name>) -> Self {
        CacheStreaming { array: array.into() }
    }
}

impl Transform for CacheStreaming {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        edit_global(kernel, &self.array, |array| array.hints.add(CacheHint::Streaming))
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("caching changes no value")
    }
}
